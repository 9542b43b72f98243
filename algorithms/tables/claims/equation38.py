r"""The update that a client solves, with duplicated tuples put together, is the one it stands for.

| paper        | code      | meaning                                        | shape        |
|--------------|-----------|------------------------------------------------|--------------|
| N, n_i, d_c  |           | rows of the join, tuples of table i, classes   |              |
| p_i(j)       | ``mapping`` | the tuple of table i in row j of the join    | (N,)         |
| lambda       | ``dual``  | dual variables                                 | (N, d_c)     |
| s_i          | ``gap``   | what the other tables leave                    | (N, d_c)     |
| f_i(theta)   | ``here``, ``there`` | predictions of every tuple, at two models | (n_i, d_c) |

(34) sums ``lambda_j' f(T_p(j)) + rho/2 ||s_j + f(T_p(j))||^2`` over the rows of the join, (38) sums
``Y_j' f(T_j) + rho G_j / 2 ||f(T_j)||^2`` over the tuples of the table, with (36) and (37).

It is true. Proof: expand the square; ``rho/2 sum_j ||s_j||^2`` does not depend on theta, and all
other terms depend on j only through ``lambda_j + rho s_j`` and p(j): sum over the rows of a tuple
first. So the two objectives differ by a constant, and have the same minimisers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

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

_LARGEST = 3  # of an entry
Counts = Literal["published", "none", "squared"]


class Equation38Parameters(Parameters):
    """The sizes of the join, and which counts the reduced update has."""

    rows: int = Field(6, ge=1, le=50, description="N, of the join")
    tuples: int = Field(3, ge=1, le=50, description="n_i, of the table")
    classes: int = Field(2, ge=1, le=20, description="d_c")
    counts: Counts = Field(
        "published", description="G_i of (37); none: 1 for all; squared: as in a slip of a factor"
    )
    budget: int = Field(2_000, ge=1, description="evaluated joins, unless --trials is given")


@dataclass(frozen=True, kw_only=True, eq=False)
class Join:
    """A join, the state of the server, and predictions at two models."""

    penalty: float
    mapping: Array
    dual: Array
    gap: Array
    here: Array
    there: Array


def compute_update_objectives(
    join: Join, predicted: Array, counts: Counts
) -> tuple[list[float], list[float]]:
    """Return the terms of (34) and of (38), both times N and without the regulariser.

    Examples
    --------
    >>> one = np.ones((2, 1))
    >>> join = Join(
    ...     penalty=2.0, mapping=np.array([0, 0]), dual=one, gap=0 * one, here=one[:1],
    ...     there=one[:1],
    ... )
    >>> whole, reduced = compute_update_objectives(join, one[:1], "published")
    >>> sum(whole), sum(reduced)
    (4.0, 4.0)
    """
    places, rho = join.mapping.astype(int), join.penalty
    rows = predicted[places]
    whole = [*(join.dual * rows).sum(axis=1), *(rho / 2 * ((join.gap + rows) ** 2).sum(axis=1))]
    pulls = np.zeros_like(predicted)
    np.add.at(pulls, places, join.dual + rho * join.gap)
    number = np.bincount(places, minlength=len(predicted)).astype(np.float64)
    number = {"published": number, "none": np.ones_like(number), "squared": number**2}[counts]
    squares = (predicted**2).sum(axis=1)
    reduced = [*(pulls * predicted).sum(axis=1), *(rho / 2 * number * squares)]
    return list(map(float, whole)), list(map(float, reduced))


def compare_update_objectives(join: Join, counts: Counts) -> tuple[float, float]:
    """Return by how much the two differences between two models differ, and the size of it all.

    Examples
    --------
    >>> one = np.ones((2, 1))
    >>> join = Join(
    ...     penalty=2.0, mapping=np.array([0, 0]), dual=one, gap=one, here=one[:1],
    ...     there=3 * one[:1],
    ... )
    >>> [compare_update_objectives(join, counts)[0] for counts in ("published", "none")]
    [0.0, 8.0]
    """
    found = [
        compute_update_objectives(join, predicted, counts) for predicted in (join.here, join.there)
    ]
    whole, reduced = (sum(there) - sum(here) for here, there in zip(*found, strict=True))
    size = 1 + sum(abs(term) for both in found for terms in both for term in terms)
    return abs(whole - reduced), size


def prepare_equation38_search(settings: Settings, parameters: Equation38Parameters) -> SearchCase:
    """Return the audit: a search over joins with entries of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_equation38_search(Settings(), Equation38Parameters()).attain(
    ...     500, default_rng(0)
    ... ).ratio
    1.0
    """
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.extension.case import SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    claim = make_equation38_inequality(parameters)
    return SearchCase(
        bound=0.0,
        attain=lambda trials, rng: searched(
            claim,
            lambda budget, draws: find_worst_join(parameters, budget, draws),
            trials,
            rng,
            seed=settings.seed,
        ),
        view="one update of a client",
        data=f"joins of {parameters.rows} rows with whole numbers up to {_LARGEST}",
        relation=CLAIM.relation,
        pair="none: the statement is about one dataset",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="difference between the two updates' differences",
        effort="evaluated joins",
        proved=(0.0, _PROOF) if parameters.counts == "published" else None,
        notes=("Objectives are compared at two models: a constant between them is no difference.",),
    )


_PROOF = "expand the square, and sum over the rows of a tuple first"


def make_equation38_inequality(parameters: Equation38Parameters) -> Inequality[Join]:
    """Return the statement as an inequality: the difference is at most 0."""
    from dpaudit.refutation import Evidence, Inequality

    def evidence(join: Join) -> Evidence:
        difference, size = compare_update_objectives(join, parameters.counts)
        return Evidence(
            parameters=parameters.model_dump(include={"rows", "tuples", "classes", "counts"}),
            instance=vars(join),
            quantities={"difference": difference, "size": size},
            kind="property",
            relation=CLAIM.relation,
        )

    return Inequality(
        name=CLAIM.name,
        source=CLAIM.source,
        sides=lambda join: (compare_update_objectives(join, parameters.counts)[0], 0.0),
        conditions=lambda join: (),
        scale=lambda join: compare_update_objectives(join, parameters.counts)[1],
        words=lambda join: (
            f"rows of tuples {join.mapping.astype(int).tolist()}, rho = {join.penalty:g}: the "
            f"differences differ by {compare_update_objectives(join, parameters.counts)[0]:g}"
        ),
        because=lambda join: "The counts are not those of (37).",
        evidence=evidence,
    )


def find_worst_join(parameters: Equation38Parameters, budget: int, rng: Generator) -> Join:
    """Return the join with the largest difference for its size."""
    drawn = (_draw_integer_join(parameters, rng) for _ in range(budget))
    return max(
        drawn, key=lambda join: np.divide(*compare_update_objectives(join, parameters.counts))
    )


def _draw_integer_join(parameters: Equation38Parameters, rng: Generator) -> Join:
    def whole(count: int) -> Array:
        shape = count, parameters.classes
        return rng.integers(-_LARGEST, _LARGEST + 1, size=shape).astype(np.float64)

    return Join(
        penalty=float(rng.integers(1, 2 * _LARGEST + 1)),
        mapping=rng.integers(parameters.tuples, size=parameters.rows).astype(np.float64),
        dual=whole(parameters.rows),
        gap=whole(parameters.rows),
        here=whole(parameters.tuples),
        there=whole(parameters.tuples),
    )


CLAIM = Claim(
    name="tables-equation38",
    title="The reduced update is the whole one",
    statement=(
        "argmin_theta (beta R(theta) + 1/N sum over the N rows of the join of [lambda_j' "
        "f(T_p(j)) + rho/2 ||s_j + f(T_p(j))||^2]) = argmin_theta (beta R(theta) + 1/N sum over "
        "the n_i tuples of [Y_j' f(T_j) + rho G_j / 2 ||f(T_j)||^2]), with Y_j the sum of lambda_g "
        "+ rho s_g over the rows g of tuple j, and G_j their number."
    ),
    source="TablePuppet, appendix B, eq. (35) to (38)",
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_equation38_search,
    parameters=Equation38Parameters,
    scope="Tried on small joins, some tuples of which are in no row; it has a proof.",
    published={
        "more tuples than rows": Variant(
            settings={"parameters": {"rows": 3, "tuples": 8}},
            scope="Tried where most tuples are in no row of the join.",
            printed=True,
        ),
        "without counts": Variant(
            settings={"parameters": {"counts": "none"}},
            scope="Of another update, that forgets how often a tuple is joined; it would stand if "
            "every tuple were in one row.",
        ),
    },
)
