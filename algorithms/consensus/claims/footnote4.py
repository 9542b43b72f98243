r"""The direction in which the Jacobian enters the density of the broadcast.

In (60) the noise of a node is a one-to-one function ``E = g^-1(F)`` of what it broadcasts, so that

    density of F at f  =  density of E at g^-1(f)  *  |det J(g^-1)(f)|.

Footnote 4 says that Zhang & Zhu 2017 and Chaudhuri et al. 2011 have the determinant to the power
-1. It is right of the formula: integrate over f and substitute ``e = g^-1(f)``: with the power 1
the integral is that of the density of E, which is 1. With the power -1 it is ``|det J|^-2`` where J
is constant, as for the squared loss, and a density that does not integrate to 1 is none. (A
determinant that is written for g in place of g^-1 needs the power -1. What the earlier papers write
is not audited here: only the formula that the footnote ascribes to them.)

The Jacobian is ``-(1 + rho / (2 eta V N)) 1 - C / (2 eta V B) sum_n L'' x_n x_n'``, as after (63).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from dpaudit._typing import Array
from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings
    from dpaudit.refutation import Inequality

# Small whole numbers make an instance that a reader can check by hand.
_LARGEST = 3  # of an entry
_ROUNDING = 1e-12


class FootnoteParameters(Parameters):
    """The size of a node's data, and the power of the determinant."""

    records: int = Field(3, ge=1, le=50, description="B, of the node")
    dimension: int = Field(2, ge=1, le=10, description="d")
    power: int = Field(1, ge=-1, le=1, description="of |det J(g^-1)|: 1 in (60), -1 as ascribed")
    budget: int = Field(1_000, ge=1, description="evaluated nodes, unless --trials is given")


@dataclass(frozen=True, kw_only=True, eq=False)
class IntegerNode:
    """Records of whole numbers and public parameters; the loss is squared, L'' = 1."""

    features: Array
    stretch: float
    loss_weight: float
    ridge: float


def compute_inverse_jacobian(node: IntegerNode) -> float:
    """Return ``|det J(g^-1)|``, the same at every f.

    Examples
    --------
    >>> compute_inverse_jacobian(
    ...     IntegerNode(features=np.ones((1, 1)), stretch=2.0, loss_weight=1.0, ridge=1.0)
    ... )
    2.0
    """
    count, dimension = node.features.shape
    curved = node.loss_weight / count * node.features.T @ node.features / node.stretch
    return float(np.linalg.det((1 + node.ridge / node.stretch) * np.eye(dimension) + curved))


def prepare_footnote4_search(settings: Settings, parameters: FootnoteParameters) -> SearchCase:
    """Return the audit: a search over records and parameters of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_footnote4_search(Settings(), FootnoteParameters()).attain(200, default_rng(0)).ratio
    1.0
    """
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.extension.case import SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    claim = make_density_total_inequality(parameters)
    return SearchCase(
        bound=0.0,
        attain=lambda trials, rng: searched(
            claim,
            lambda budget, draws: find_worst_density_node(parameters, budget, draws),
            trials,
            rng,
            seed=settings.seed,
        ),
        view="one broadcast of a node, with the squared loss",
        data=f"{parameters.records} records of whole numbers up to {_LARGEST}",
        relation=CLAIM.relation,
        pair="none: the statement is about one dataset",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="total probability less 1, in absolute value",
        effort="evaluated nodes",
        proved=(0.0, _PROOF) if parameters.power == 1 else None,
        notes=("With a constant Jacobian the total is |det J| to the power less 1.",),
    )


_PROOF = "substitute e = g^-1(f) in the integral over f"


def measure_total_deviation(parameters: FootnoteParameters, node: IntegerNode) -> float:
    """Return by how much the integral over all f differs from 1; 0 up to rounding."""
    # A constant Jacobian comes out of the integral, and the rest is the density of E integrated in
    # f: |det|^-1.
    found = abs(compute_inverse_jacobian(node) ** (parameters.power - 1) - 1)
    return 0.0 if found <= _ROUNDING else found


def make_density_total_inequality(parameters: FootnoteParameters) -> Inequality[IntegerNode]:
    """Return the statement as an inequality: the difference from 1 is at most 0."""
    from dpaudit.refutation import Evidence, Inequality

    def evidence(node: IntegerNode) -> Evidence:
        total = compute_inverse_jacobian(node) ** (parameters.power - 1)
        return Evidence(
            parameters=parameters.model_dump(include={"records", "dimension", "power"}),
            instance=vars(node),
            quantities={"determinant": compute_inverse_jacobian(node), "total": total},
            kind="property",
            relation=CLAIM.relation,
        )

    return Inequality(
        name=CLAIM.name,
        source=CLAIM.source,
        sides=lambda node: (measure_total_deviation(parameters, node), 0.0),
        conditions=lambda node: (),
        scale=lambda node: 1.0,
        words=lambda node: (
            f"records {node.features.astype(int).tolist()}, 2 eta V = {node.stretch:g}, C = "
            f"{node.loss_weight:g}, rho/N = {node.ridge:g}: |det J| = "
            f"{compute_inverse_jacobian(node):.4g}"
        ),
        because=lambda node: "With this power the formula does not integrate to 1.",
        evidence=evidence,
    )


def find_worst_density_node(
    parameters: FootnoteParameters, budget: int, rng: Generator
) -> IntegerNode:
    """Return the node whose total is farthest from 1."""
    shape = parameters.records, parameters.dimension
    drawn = (
        IntegerNode(
            features=rng.integers(-_LARGEST, _LARGEST + 1, size=shape).astype(np.float64),
            stretch=float(rng.integers(1, 9)),
            loss_weight=float(rng.integers(1, 9)),
            ridge=float(rng.integers(0, 5)),
        )
        for _ in range(budget)
    )
    return max(drawn, key=lambda node: measure_total_deviation(parameters, node))


CLAIM = Claim(
    name="zhang2018-footnote4",
    title="The power of the Jacobian",
    statement=(
        "The density of what a node broadcasts is that of its noise at g^-1(f) times |det "
        "J(g^-1(f))|, eq. (60); with |det J(g^-1(f))|^-1, as the footnote says that earlier papers "
        "have it, it is wrong."
    ),
    source=(
        "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms, "
        "ICML 2018, eq. (60) and footnote 4"
    ),
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_footnote4_search,
    parameters=FootnoteParameters,
    scope="Tried with squared losses, whose Jacobian is constant; of the formula it has a proof.",
    published={
        "the other power": Variant(
            settings={"parameters": {"power": -1}},
            scope="Of the formula that the footnote calls wrong: it would stand with the Jacobian "
            "of g in place of g^-1.",
        ),
    },
)
