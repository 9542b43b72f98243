r"""The squared norm after parallel steps.

With ``u_m = x_m^{t+1} - x_m^t`` the left side of (15) is

    ||sum_m u_m||^2 - sum_m ||u_m||^2  =  + sum_{k != m} <u_k, u_m>,

where the proof has a minus before the sum: expand ``||a + sum_m u_m||^2 - ||a||^2 - sum_m
(||a + u_m||^2 - ||a||^2)`` with ``a = sum_m x_m^t - z``; all that is linear in u cancels. So (15)
says ``||sum_m u_m||^2 <= 2 sum_m ||u_m||^2``. It holds for M <= 2, and is false for three equal
steps: 9 > 6. For every M

    left side  <=  (M - 1) sum_m ||u_m||^2

by the inequality of Cauchy and Schwarz, ``||sum_m u_m||^2 <= M sum_m ||u_m||^2``, with equality for
equal steps: the corrected lemma.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import PAPER
from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings
    from dpaudit.refutation import Inequality

_LARGEST = 3  # of an entry


class Lemma3Parameters(Parameters):
    """The numbers of vectors and of their entries, and the audited version of the lemma."""

    factor: float = Field(1.0, gt=0, description="the right side is multiplied by this")
    parties: int = Field(3, ge=1, le=100, description="M")
    dimension: int = Field(1, ge=1, le=100, description="entries of every vector")
    version: Literal["published", "corrected"] = Field(
        "published", description="the right side as it is, or times M - 1"
    )
    budget: int = Field(2_000, ge=1, description="evaluated instances, unless --trials is given")


@dataclass(frozen=True, kw_only=True, eq=False)
class IterationVectors:
    """Vectors before and after an iteration, shape ``(M, d)`` each, and z, shape ``(d,)``."""

    before: Array
    after: Array
    z: Array


def compute_lemma3_sides(steps: IterationVectors) -> tuple[float, float]:
    """Return both sides of (15), as they are printed.

    Examples
    --------
    >>> compute_lemma3_sides(
    ...     IterationVectors(before=np.zeros((3, 1)), after=np.ones((3, 1)), z=np.zeros(1))
    ... )
    (6.0, 3.0)
    """
    before, after = steps.before, steps.after
    start = before.sum(axis=0) - steps.z
    moved = after - before

    def square(vector: Array) -> float:
        return float(vector @ vector)

    alone = sum(square(start + one) - square(start) for one in moved)
    left = square(after.sum(axis=0) - steps.z) - square(start) - alone
    return left, sum(map(square, moved))


def prepare_lemma3_search(settings: Settings, parameters: Lemma3Parameters) -> SearchCase:
    """Return the audit: a search over vectors of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_lemma3_search(Settings(), Lemma3Parameters()).attain(500, default_rng(0)).ratio
    2.0
    """
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.extension.case import SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    claim = make_lemma3_inequality(parameters)
    return SearchCase(
        # One vector has no products with others: its multiple would be 0, and so would the right
        # side.
        bound=parameters.factor
        * (_get_lemma3_multiple(parameters) if parameters.parties > 1 else 1.0),
        attain=lambda trials, rng: searched(
            claim,
            lambda budget, draws: find_worst_steps(parameters, budget, draws),
            trials,
            rng,
            seed=settings.seed,
            # Numbers are small already, so no smaller instance is looked for.
            smallest=lambda _: None,
        ),
        view="vectors before and after an iteration",
        data=f"{parameters.parties} vectors of whole numbers up to {_LARGEST}",
        relation=CLAIM.relation,
        pair="none: the lemma is about single vectors",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="left side of (15) over the sum of squared steps",
        effort="evaluated instances",
    )


def _get_lemma3_multiple(parameters: Lemma3Parameters) -> float:
    return float(parameters.parties - 1) if parameters.version == "corrected" else 1.0


def make_lemma3_inequality(parameters: Lemma3Parameters) -> Inequality[IterationVectors]:
    """Return the lemma as an inequality, both sides divided by the sum of squared steps."""
    from dpaudit.refutation import Evidence, Inequality

    bound = parameters.factor * _get_lemma3_multiple(parameters)

    def compute_ratio(steps: IterationVectors) -> tuple[float, float]:
        left, right = compute_lemma3_sides(steps)
        return left / right, bound

    def evidence(steps: IterationVectors) -> Evidence:
        left, right = compute_lemma3_sides(steps)
        own = parameters.model_dump(include={"parties", "dimension", "version", "factor"})
        return Evidence(
            parameters=own,
            instance=vars(steps),
            quantities={"left side": left, "right side": bound * right},
            kind="property",
            relation=CLAIM.relation,
        )

    return Inequality(
        name=CLAIM.name,
        source=CLAIM.source,
        sides=compute_ratio,
        conditions=lambda steps: (),
        words=lambda steps: (
            f"from {steps.before.astype(int).tolist()} to {steps.after.astype(int).tolist()} with "
            f"z = {steps.z.astype(int).tolist()}: {compute_lemma3_sides(steps)[0]:g} against "
            f"{compute_lemma3_sides(steps)[1]:g}"
        ),
        because=lambda steps: (
            "The proof reverses the sign of the products of different steps: equal steps of three "
            "vectors make their sum nine times as long in square, not at most six."
        ),
        evidence=evidence,
    )


def find_worst_steps(parameters: Lemma3Parameters, budget: int, rng: Generator) -> IterationVectors:
    """Return the instance with the largest ratio, of several the one with the shortest steps."""
    shape = (budget, parameters.parties, parameters.dimension)
    before, after = rng.integers(-_LARGEST, _LARGEST + 1, size=(2, *shape)).astype(np.float64)
    z = rng.integers(-_LARGEST, _LARGEST + 1, size=(budget, shape[2])).astype(np.float64)
    after[:, 0] += (after == before).all(axis=(1, 2))[:, None]  # something moves
    moved = after - before
    # Everything linear in the steps cancels, so the search looks at the sum of steps alone.
    right = np.square(moved).sum(axis=(1, 2))
    ratio = np.square(moved.sum(axis=1)).sum(axis=1) / right
    # Of equal ratios the instance with the shortest steps reads best.
    best = np.lexsort((right, -ratio))[0]
    return IterationVectors(before=before[best], after=after[best], z=z[best])


CLAIM = Claim(
    name="hu2019-lemma3",
    title="What parallel steps add to a squared norm",
    statement=(
        "(||sum_m x_m^{t+1} - z||^2 - ||sum_m x_m^t - z||^2) - sum_m (||sum_{k != m} x_k^t + "
        "x_m^{t+1} - z||^2 - ||sum_m x_m^t - z||^2) <= sum_m ||x_m^{t+1} - x_m^t||^2."
    ),
    source=f"{PAPER}, supplement, Lemma 3, eq. (15)",
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_lemma3_search,
    parameters=Lemma3Parameters,
    scope="It would stand for one or two vectors.",
    published={
        "2 parties": Variant(
            settings={"parameters": {"parties": 2}},
            scope="Tried with two vectors, where it is true.",
            printed=True,
        ),
        "corrected": Variant(
            settings={"parameters": {"version": "corrected", "parties": 5}},
            scope="Of the lemma with M - 1 times the right side, which has a proof.",
        ),
    },
)
