r"""hu2020's Theorem 1 with noise on the model: the message lies in the design's column space.

| paper | name                  | meaning                                   | shape    |
|-------|-----------------------|-------------------------------------------|----------|
| D, D' | ``design, neighbour`` | differ in one column; unit rows           | (N, d_m) |
| x~    | ``model``             | a perturbed model; any is possible        | (d_m,)   |
| D x~  |                       | the message                               | (N,)     |
| P'    |                       | projector on col(D')                      | (N, N)   |

With noise on the model, ``x~ = x + N(0, sigma^2 I)`` (hu2020, eq. 7) or ``x + N(0, sigma^2
(D'D)^-1)`` (hu2019, eq. 10), the message ``D x~`` lies in col(D) with probability 1. It has a
density on col(D'), under D'. Where D and D' have independent columns and col(D) is not col(D'),
the two spaces meet in a proper subspace of col(D'), which has probability 0 there. So the event
"the message lies in col(D)" has probability 1 under D and 0 under D': delta is 1 at every epsilon,
whatever sigma is.

Of designs with independent columns this separates all neighbours with ``N > d_m`` but special ones.
For ``N = d_m`` both spaces are R^N: nothing is separated this way, and with whitened noise the
message is ``N(D x, sigma^2 I)``. Designs with dependent columns are left out, as ``(D'D)^-1`` does
not exist for them (with noise on the model they are separated all the same, also where N is d_m:
a design of rank 1 and a neighbour of rank 2).

Neighbours are so in the Frobenius norm, as Definition 1 of the sensitivity has it, and in the sum
of all entries' distances, as hu2019 defines neighbours for its privacy.

Two audits: `support_case` refutes without a message, as supports differ; `make_sent_message_case`
counts messages of one run of ADMM sharing, so that any attack can be tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator, default_rng

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.composition import compose_advanced
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.claims.hu2020.message import Theorem1
from dpaudit.algorithms.sharing.claims.hu2020.search import build_update_space, flip_neighbour_signs
from dpaudit.algorithms.sharing.claims.hu2020.update import ROUNDING, UpdateSetting
from dpaudit.algorithms.sharing.noise import Noise, ParameterNoise, WhitenedNoise
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, SearchCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.neighbours import REPLACE_COLUMN, Pair
from dpaudit.refutation import (
    Condition,
    Evidence,
    Inequality,
    Space,
    WorstInstance,
    maximise,
    minimal,
    searched,
)
from dpaudit.refutation.search import Batch

if TYPE_CHECKING:
    from dpaudit.algorithms.sharing.claims.hu2020.corollary1 import MessageRunParameters

SEPARATED = 1e-6  # least relative distance from col(D') that is told from rounding
_INDEPENDENT = 1e-3  # least pivot of a design, relative to its largest
_BUDGET = 500  # of the search for the smallest pair
_PAIRS = 1_000
_SENT_PAIRS = 200
_SENT = 2_000
_ENFORCED = (
    "unit rows",
    "unit rows of the neighbour",
    "one column differs",
    "close neighbours",
    "close neighbours entry by entry",
    "independent columns",
)
_BECAUSE = (
    "The message lies in the column space of the design; the neighbour's spans another, so that a "
    "message of the one has probability 0 under the other: delta is 1 at every epsilon."
)


@dataclass(frozen=True, kw_only=True)
class Finite:
    """A claim that the message has a finite epsilon: (claimed, delta)-DP.

    Parameters
    ----------
    setting
        Of the update whose result is sent.
    variant
        Where the noise goes: ``parameter`` or ``whitened``.
    claimed, delta
        What is claimed.
    stated
        The parameters that a certificate states.
    """

    setting: UpdateSetting
    variant: str
    claimed: float
    delta: float
    stated: dict[str, Any]

    @classmethod
    def of(cls, theorem: Theorem1) -> Finite:
        """Return the claim of the theorem about one message."""
        return cls(
            setting=theorem.setting,
            variant=theorem.variant,
            claimed=theorem.claimed,
            delta=theorem.delta,
            stated=theorem.stated(),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """Two designs and a model; shapes in the module docstring."""

    design: Array
    neighbour: Array
    model: Array


def support_space(setting: UpdateSetting) -> Space:
    """Return the designs and neighbours of Lemma 1's search; the ratio is the largest distance.

    That is the sine of the largest angle between the column spaces, 0 where columns are dependent.

    Examples
    --------
    >>> from dpaudit.refutation import maximise
    >>> found = maximise(
    ...     support_space(UpdateSetting(features=2, samples=4)), 200, np.random.default_rng(0)
    ... )
    >>> found.ratio > 0.9
    True
    """
    lemma = build_update_space(setting, 1.0)
    return Space(start=lemma.start, move=lemma.move, evaluate=_evaluate_column_spaces)


def message_of(batch: Batch, bound: float) -> Message:
    """Return the instance of one row of an evaluated batch; its model has norm ``bound``."""
    neighbour = flip_neighbour_signs(batch["design"][None], batch["score"][None], entrywise=True)[0]
    left, upper = np.linalg.qr(batch["design"])
    # The least singular value of the overlap is the cosine of the largest angle between the spaces;
    # its direction lies farthest outside col(D').
    overlap = np.linalg.qr(neighbour)[0].T @ left
    farthest = np.linalg.svd(overlap)[2][-1]  # of col(D), in the coordinates of ``left``
    model = np.linalg.solve(upper, farthest)
    length = float(np.linalg.norm(model))
    return Message(design=batch["design"], neighbour=neighbour, model=bound / length * model)


def distance(message: Message) -> float:
    """Return the distance of ``D x~`` from col(D'), relative to its length.

    Examples
    --------
    >>> here, there = np.array([[1.0], [0.0]]), np.array([[0.6], [0.8]])
    >>> round(distance(Message(design=here, neighbour=there, model=np.ones(1))), 12)
    0.8
    """
    sent = message.design @ message.model
    basis = np.linalg.qr(message.neighbour)[0]
    rest = sent - basis @ (basis.T @ sent)
    rest -= basis @ (basis.T @ rest)  # once more: rounding leaves the space the first time
    return float(np.linalg.norm(rest) / np.linalg.norm(sent))


def support_conditions(message: Message) -> tuple[Condition, ...]:
    """Return the assumptions on the pair, and that the message separates it, as numbers."""
    design, neighbour = message.design, message.neighbour
    differs = (design != neighbour).any(axis=0)
    found: dict[str, tuple[Any, Any]] = {
        "unit rows": (_off_unit(design), ROUNDING),
        "unit rows of the neighbour": (_off_unit(neighbour), ROUNDING),
        "one column differs": (int(differs.sum()), 1),
        "close neighbours": (np.linalg.norm(design - neighbour), 1.0),
        "close neighbours entry by entry": (np.abs(design - neighbour).sum(), 1.0),
        "independent columns": (_count_dependent_columns(design), 0),
        "independent columns of the neighbour": (_count_dependent_columns(neighbour), 0),
        # True by construction, as the message is made of the design's columns; the verifier
        # computes it.
        "output on the dataset's columns": (0.0, 1e-30),
        "output off the neighbour's columns": (SEPARATED, distance(message)),
    }
    return tuple(
        Condition(name=name, value=float(value), limit=float(limit))
        for name, (value, limit) in found.items()
    )


@cache
def smallest_support(seed: int) -> str | None:
    """Return the smallest pair with other column spaces, in words, or None if none is found.

    Examples
    --------
    >>> smallest_support(0)
    'd_m = 2, N = 3; rows along (1, 2) (0, 1) (1, 0), of which the first has its first sign flipped'
    """
    separates = Inequality(
        name="one column space",
        source=__name__,
        sides=_compute_separation_sides,
        conditions=_small_conditions,
    )
    found = minimal(_small_rows(), separates, budget=_BUDGET, seed=seed)
    if found is None:
        return None
    rows = " ".join(f"({', '.join(map(str, row))})" for row in found)
    return (
        f"d_m = {len(found[0])}, N = {len(found)}; rows along {rows}, of which the first has its "
        "first sign flipped"
    )


def _compute_separation_sides(rows: list[list[int]]) -> tuple[float, float]:
    """Return how far the flip of one sign turns the column space, and the least that counts."""
    design, neighbour = _small_pair(rows)
    return float(_compute_space_sines(design[None], neighbour[None])[0]), SEPARATED


def _small_conditions(rows: list[list[int]]) -> tuple[Condition, ...]:
    design, neighbour = _small_pair(rows)
    # A row of zeros cannot be scaled to norm 1.
    zero = sum(not any(row) for row in rows)
    moved = float(np.abs(design - neighbour).sum())
    return (
        Condition(name="rows of zeros", value=zero, limit=0.0),
        Condition(name="close neighbours", value=moved, limit=1.0),
    )


def _small_pair(rows: list[list[int]]) -> tuple[Array, Array]:
    """Return the rows made unit rows, and the same with the first entry's sign flipped."""
    design = np.array(rows, dtype=np.float64)
    lengths = np.linalg.norm(design, axis=1, keepdims=True)
    # Rows of zeros are refused by a condition; until then they only must not divide by 0.
    design /= np.where(lengths > 0, lengths, 1.0)
    neighbour = design.copy()
    neighbour[0, 0] *= -1
    return design, neighbour


@st.composite
def _small_rows(draw: st.DrawFn) -> list[list[int]]:
    features = draw(st.integers(2, 3))
    samples = draw(st.integers(3, 4))
    row = st.lists(st.integers(0, 3), min_size=features, max_size=features)
    return draw(st.lists(row, min_size=samples, max_size=samples))


def _evaluate_column_spaces(batch: Batch) -> tuple[Batch, Array]:
    neighbour = flip_neighbour_signs(batch["design"], batch["score"], entrywise=True)
    return batch, _compute_space_sines(batch["design"], neighbour)


def _compute_space_sines(design: Array, neighbour: Array) -> Array:
    """Return the sine of the largest angle from col(D) to col(D'), shape ``(B,)``.

    It is the norm of ``(I - P') Q`` for an orthonormal basis Q of col(D): not a root of 1 less the
    square of a cosine, which has no digits left where the angle is small.
    """
    (basis, upper), (other, other_upper) = np.linalg.qr(design), np.linalg.qr(neighbour)
    if design.shape[1] <= design.shape[2]:  # both spaces are all of R^N, or columns depend
        return np.zeros(len(design))
    outside = basis - other @ (np.swapaxes(other, 1, 2) @ basis)
    sines = np.linalg.norm(outside, ord=2, axis=(1, 2))
    # Of nearly dependent columns the column space itself is rounding.
    independent = (_compute_pivot_ratios(upper) >= _INDEPENDENT) & (
        _compute_pivot_ratios(other_upper) >= _INDEPENDENT
    )
    # A sine that rounding put above 1 is 1.
    return np.where(independent & (sines > SEPARATED), np.minimum(sines, 1.0), 0.0)


def _compute_pivot_ratios(upper: Array) -> Array:
    """Return the smallest pivot over the largest, shape ``(B,)``."""
    sizes = np.abs(np.diagonal(upper, axis1=1, axis2=2))
    return np.asarray(sizes.min(axis=1) / np.maximum(sizes.max(axis=1), 1e-300))


def _count_dependent_columns(design: Array) -> int:
    """Return how many columns nearly depend on those before them."""
    if design.shape[0] < design.shape[1]:
        return int(design.shape[1] - design.shape[0])
    sizes = np.abs(np.diagonal(np.linalg.qr(design)[1]))
    dependent = sizes <= SEPARATED * np.linalg.norm(design, axis=0)
    return int(dependent.sum())


def _off_unit(rows: Array) -> float:
    return float(np.abs(np.linalg.norm(rows, axis=-1) - 1).max())


# The audit by supports


def support_case(
    claim: Statement, theorem: Finite, *, seed: int, parameters: dict[str, Any]
) -> SearchCase:
    """Return the search for a pair whose messages lie in different column spaces."""

    def attain(trials: int, rng: Generator) -> WorstInstance:
        return searched(
            finite_epsilon(claim, theorem),
            partial(_find_farthest_message, theorem.setting),
            trials,
            rng,
            seed=seed,
            smallest=lambda message: smallest_support(seed),
        )

    return SearchCase(
        bound=theorem.claimed,
        attain=attain,
        view=f"{theorem.variant}: one D_m x~_m with noise on x_m",
        data="designs with unit rows and independent columns, improved by the search",
        relation=REPLACE_COLUMN.name,
        pair="found by the search: the signs of some entries of one column are flipped",
        default_trials=_PAIRS,
        parameters=parameters,
        at_delta=theorem.delta,
        effort="evaluated pairs",
        assumptions=tuple(
            AssumptionOutcome(name=name, holds=True, evidence="checked on the pair found")
            for name in _ENFORCED
        ),
        notes=("No scale of the noise enters: the message's support alone tells the two apart.",),
    )


def finite_epsilon(claim: Statement, theorem: Finite) -> Inequality[Message | None]:
    """Return the theorem as an inequality: a message that separates a pair makes epsilon infinite.

    None stands for a search in which no pair was separated.
    """
    return Inequality(
        name=claim.name,
        source=claim.source,
        # An infinite epsilon is above any claim; without a separated pair nothing is shown.
        sides=lambda message: (0.0 if message is None else math.inf, theorem.claimed),
        conditions=lambda message: () if message is None else support_conditions(message),
        words=_format_separating_message,
        because=lambda message: _BECAUSE,
        evidence=partial(_make_support_evidence, theorem),
    )


def _find_farthest_message(setting: UpdateSetting, budget: int, rng: Generator) -> Message | None:
    found = maximise(support_space(setting), budget, rng)
    return message_of(found.instance, setting.bound) if found.ratio > SEPARATED else None


def _format_separating_message(message: Message | None) -> str:
    if message is None:
        return "no pair was separated"
    close = float(np.linalg.norm(message.design - message.neighbour))
    return (
        f"||D - D'||_F = {close:.4g}; a message D x~ is {distance(message):.4g} of its length away "
        "from the neighbour's column space"
    )


def _make_support_evidence(theorem: Finite, message: Message | None) -> Evidence | None:
    if message is None:
        return None
    return Evidence(
        parameters=theorem.stated,
        instance=vars(message),
        quantities={
            "distance from the neighbour's columns": distance(message),
            "delta at every epsilon": 1.0,
            "ratio": 1 / theorem.delta,
        },
        kind="support",
        relation=REPLACE_COLUMN.name,
    )


def run_case(
    claim: Statement, settings: Settings, variant: str, parameters: MessageRunParameters
) -> SearchCase:
    """Return the audit of a run by its first message; hu2020's Corollary 1 and hu2019's.

    From ``x = y = z = 0`` the first update leaves x at 0, the least of the regulariser, so that
    the message is noise alone, and in the column space.
    """
    refuse_data(settings)
    check.require_probability("delta", settings.delta)
    if not 0 < settings.epsilon <= 1:
        raise InvalidArgument("epsilon", settings.epsilon, "in (0, 1]: Theorem 1's range")
    features, rounds, slack = parameters.features, parameters.rounds, parameters.slack
    # The first message has no part of the penalty or the regulariser: the model is 0 before the
    # noise.
    setting = UpdateSetting(features=features, samples=parameters.samples or 2 * features)
    bound, delta = compose_advanced(settings.epsilon, settings.delta, rounds, slack)
    stated = {
        "features": setting.features,
        "samples": setting.samples,
        "variant": variant,
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "iterations": rounds,
        "slack": slack,
        "factor": parameters.factor,
    }
    theorem = Finite(
        setting=setting,
        variant=variant,
        claimed=parameters.factor * bound,
        delta=delta,
        stated=stated,
    )
    public = parameters.model_dump(mode="json")
    return support_case(claim, theorem, seed=settings.seed, parameters=public)


# The audit by messages that are sent


def make_sent_message_case(
    theorem: Theorem1, *, seed: int, parameters: dict[str, Any]
) -> PrivacyCase:
    """Return the audit of the first message on a pair whose column spaces are far apart.

    Examples
    --------
    >>> theorem = Theorem1(
    ...     setting=UpdateSetting(features=4, samples=8),
    ...     variant="whitened",
    ...     sensitivity="published",
    ...     epsilon=1.0,
    ...     delta=1e-5,
    ...     factor=1.0,
    ... )
    >>> case = make_sent_message_case(theorem, seed=0, parameters={})
    >>> case.mechanism.sample(case.pair.dataset, 3, np.random.default_rng(0)).shape
    (3, 1, 1, 8)
    """
    setting, scale = theorem.setting, theorem.noise_scale
    found = maximise(support_space(setting), _SENT_PAIRS, default_rng(stream(seed, "pair")))
    message = message_of(found.instance, setting.bound)
    # Labels do not enter the first message; Assumption 1 only wants them to be -1 or 1.
    labels = np.resize([1.0, -1.0], setting.samples)
    here, there = (Dataset(design, labels) for design in (message.design, message.neighbour))
    noise: Noise = WhitenedNoise(scale)
    if theorem.variant == "parameter":
        noise = ParameterNoise(scale)
    algorithm = SharingADMM(
        block_sizes=(setting.features,),
        iterations=1,
        penalty=setting.penalty,
        risk=Risk(scaling="sum", regulariser_weight=setting.regulariser_weight),
        noise=noise,
    )
    return PrivacyCase(
        mechanism=algorithm.messages(),
        pair=Pair(here, there, REPLACE_COLUMN),
        claimed=ApproximateDP(theorem.claimed, theorem.delta),
        at_delta=theorem.delta,
        view=f"{theorem.variant}: the first D_m x~_m of one party, with noise on x_m",
        data="designs with unit rows, improved by the search for supports that differ",
        default_trials=_SENT,
        parameters=parameters | {"noise_scale": scale},
        notes=(
            f"The best of {_SENT_PAIRS} pairs: a message lies {distance(message):.3g} of its "
            "length outside the other column space.",
        ),
    )
