"""The exact-loss audit at delta = 0: the largest loss over outputs, computed once more with bounds.

With delta = 0 a guarantee holds for every output, so one output with a loss above epsilon refutes
it, and the supremum of the loss over outputs is the pair's epsilon. Nothing is estimated, so no
error probability is spent: what a search finds is a lower end whatever the search missed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator, default_rng

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.auditing.exact.law_checks import plain_losses, residual_trials, side_checks
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.estimation.event import error_rates
from dpaudit.estimation.self_check import CheckOutcome, likelihood_ratio_checks
from dpaudit.execution import one_thread, stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.mechanism import DIGITS, HasLossBounds, HasLossInDigits, Tiltable
from dpaudit.neighbours import Pair, Side
from dpaudit.reals import SECONDS
from dpaudit.redaction import are_shown


@dataclass(frozen=True, eq=False)
class Peak:
    """An output, its loss, and how many losses were computed on the way."""

    loss: float
    output: Array
    evaluated: int


def search_largest_loss(
    loss: Callable[[Array], Array], starts: Array, budget: int, rng: Generator
) -> Peak:
    """Return the output with the largest loss that an ascent from ``starts`` meets.

    Every climber tries, in turns, a step along the difference of two others (which keeps to the
    directions in which the starts differ), a step towards the best and beyond, and a small step in
    any direction; it moves when that raises its loss. Step sizes follow what succeeded.

    Parameters
    ----------
    loss
        Outputs, shape ``(R, ...)``, to losses, shape ``(R,)``.
    starts
        Shape ``(R, ...)``, at least one.
    budget
        Losses that may be computed, those of the starts included.

    Examples
    --------
    >>> cone = lambda x: 1 - np.linalg.norm(x - 3.0, axis=1)
    >>> starts = np.random.default_rng(0).standard_normal((20, 2))
    >>> round(search_largest_loss(cone, starts, 4000, np.random.default_rng(1)).loss, 3)
    1.0
    """
    check.require_integer("budget", budget, least=1)
    if not len(starts):
        raise InvalidArgument("starts", VerbatimText("none"), "at least one output")
    values = _compute_output_losses(loss, starts)
    # Climbers step towards the first quarter, which is the best of the starts.
    order = np.argsort(-values, kind="stable")  # the best are first: steps go towards them
    points, values, spent = starts[order], values[order], len(starts)
    sizes = np.full(len(points), 0.5)
    moves, turn = (_step_by_differences, _step_towards_best, _step_at_random), 0
    while spent + len(points) <= budget:
        tried = moves[turn % len(moves)](points, sizes, rng)
        found = _compute_output_losses(loss, tried)
        better = found > values
        points[better], values[better] = tried[better], found[better]
        sizes *= np.where(better, 1.5, 0.85)
        sizes = np.clip(sizes, 1e-9, 4.0)
        spent, turn = spent + len(points), turn + 1
    best = int(np.argmax(values))
    return Peak(float(values[best]), points[best], spent)


def _compute_output_losses(loss: Callable[[Array], Array], outputs: Array) -> Array:
    values = np.asarray(loss(outputs), dtype=np.float64)
    # An output on which the loss is no number is no witness.
    return np.where(np.isnan(values), -np.inf, values)


def _step_by_differences(points: Array, sizes: Array, rng: Generator) -> Array:
    one, other = (points[rng.permutation(len(points))] for _ in range(2))
    return np.asarray(points + _reshape_step_sizes(sizes, points) * (one - other))


def _step_towards_best(points: Array, sizes: Array, rng: Generator) -> Array:
    reach = _reshape_step_sizes(sizes * 2 * rng.random(len(points)), points)
    goal = points[rng.integers(0, max(1, len(points) // 4))]
    return np.asarray(points + reach * (goal - points))


def _step_at_random(points: Array, sizes: Array, rng: Generator) -> Array:
    axes = tuple(range(1, points.ndim))
    length = np.sqrt(np.mean(points**2, axis=axes, keepdims=True))
    step = length * rng.standard_normal(points.shape)
    return np.asarray(points + _reshape_step_sizes(sizes, points) * step)


def _reshape_step_sizes(sizes: Array, points: Array) -> Array:
    return sizes.reshape(-1, *([1] * (points.ndim - 1)))


# Tilts that are tried, one after the other: each four times the last.
_RUNGS = 16
_FACTOR = 4.0
# Relative; far above what the rounding of a long sum does, and far below what a wrong term does.
_MISMATCH = 1e-7
# Digits that follow on 50: with the first, squares and products of doubles are exact.
MORE_DIGITS = (1300, 2600)
_AGREEMENT = 1e-12  # of these two, as a share of the loss
# Outputs that climb: those with the largest losses.
_CLIMBERS = 24
_GRID = 41


@runtime_checkable
class HasNeighbours(Protocol):
    """A mechanism that knows further neighbours of a pair's dataset within the claim's class."""

    def neighbours(self, pair: Pair[Any]) -> Sequence[Pair[Any]]:
        """Return pairs whose dataset is that of ``pair``."""
        ...


@dataclass(frozen=True, eq=False)
class Winner:
    """The output with the largest loss, the pair on which it has it, and the likelier side."""

    peak: Peak
    pair: Pair[Any]
    side: str

    def __str__(self) -> str:
        size = float(np.linalg.norm(self.peak.output))
        shown = f", has norm {size:.6g}, and" if are_shown() else ","
        return (
            f"The output with the largest loss, {self.peak.loss:.10g}{shown} has the larger "
            f"density on {self.side}. It is a number of the output, not an estimate: no error "
            "probability is spent."
        )


def largest_loss(case: PrivacyCase, drawer: Drawer, trials: int) -> MeasurementEvidence:
    """Return the largest exact loss over outputs and neighbours as a lower end at delta = 0.

    Parameters
    ----------
    case
        Its mechanism must have a law that can be drawn tilted.
    drawer
        Draws from it, on the case's pair, to check the law.
    trials
        Losses that the search may compute.

    Notes
    -----
    Nothing is refuted by rounding. Where the mechanism encloses losses (`HasLossBounds`), the lower
    end is that of the winner's, rounded down. Where it only computes them in more digits
    (`HasLossInDigits`), one above the claim counts if more and more digits agree, and the report
    says that they have no error bound. Otherwise the number is held at what is claimed.
    """
    checking = min(max(trials // 5, 200), 2000)
    plain = plain_losses(drawer, checking)
    # Linear algebra on several threads may add in another order, and so find another winner.
    with one_thread():
        winner = largest_over_outputs(case, drawer.mechanism, drawer.seed, trials)
    claimed = case.claimed.epsilon(0.0)
    enough = residual_trials(drawer, min(trials, checking))
    recomputed = certified_loss(drawer.mechanism, winner, claimed)
    # Never the number that the search saw in doubles alone, unless it is below the claim.
    lower = recomputed.lower
    checks = [*likelihood_ratio_checks(*plain.values()), *recomputed.checks]
    for side in Side:
        checks += side_checks(drawer, side, 1.0, enough)
    return MeasurementEvidence(
        lower=lower,
        upper=None,
        upper_note="a search over outputs finds no upper end; a proved bound is one",
        estimate=max(0.0, winner.peak.loss),
        estimator="largest exact privacy loss of an output",
        trials=trials,
        budget={},
        counts={
            "evaluated outputs": winner.peak.evaluated,
            "checking the law, per dataset": checking + enough,
        },
        self_checks=tuple(checks),
        epsilons=_choose_loss_epsilons(claimed, lower),
        roc=error_rates(*plain.values()),
        remark=recomputed.reservation if lower > claimed else "",
        notes=(
            str(winner),
            *recomputed.notes,
            *([_UNBOUNDED] if _is_loss_unbounded(drawer.mechanism) else []),
        ),
    )


@dataclass(frozen=True)
class RecomputedEvidence:
    """The evidence against a claim, the checks behind it, and its notes."""

    lower: float
    checks: tuple[CheckOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    reservation: str = ""


def certified_loss(mechanism: object, winner: Winner, claimed: float) -> RecomputedEvidence:
    """Return the winner's loss as far as it is proved, or has at least been computed once more."""
    loss = max(0.0, winner.peak.loss)
    try:
        if isinstance(mechanism, HasLossBounds):
            return _make_enclosed_loss(
                loss, mechanism.loss_bounds(winner.peak.output, winner.pair), claimed
            )
        if loss > claimed and isinstance(mechanism, HasLossInDigits):
            return _in_digits(loss, _digits_that_agree(mechanism, winner), claimed)
    # A mechanism may have such code for some of its parameters only.
    except InvalidArgument:  # no such code for this loss function
        pass
    return RecomputedEvidence(min(loss, claimed), notes=(_NO_DIGITS,) if loss > claimed else ())


def _make_enclosed_loss(
    loss: float, ends: tuple[float, float], claimed: float
) -> RecomputedEvidence:
    """Return the value of a loss that lies between two ends."""
    low, high = ends
    # Ends that are infinite, crossed or NaN prove nothing.
    if not math.isfinite(low) or not low <= high:
        return RecomputedEvidence(min(loss, claimed), notes=(_NOT_ENCLOSED,))
    found = f"between {low:.15g} and {high:.15g}"
    statement = "the output's loss, computed once more with an error bound, is the one found"
    check = _check_recomputed_loss(loss, min(max(loss, low), high), statement, found, claimed)
    # Whichever is lower: the search and the enclosure both have to bear out what is certified.
    return RecomputedEvidence(max(0.0, min(loss, low)), (check,))


def _in_digits(loss: float, found: tuple[float, float], claimed: float) -> RecomputedEvidence:
    """Return the value of a loss that was computed with many digits, and with more."""
    least, gap = min(found), abs(found[0] - found[1])
    shown = f"{least:.15g} in {MORE_DIGITS[-1]} digits"
    statement = "the output's loss, computed once more in many digits, is the one found"
    check = _check_recomputed_loss(loss, least, statement, shown, claimed)
    # NaN, of digits that ran out of time, must not pass as agreement.
    if not gap <= _AGREEMENT * abs(least):
        return RecomputedEvidence(min(loss, claimed), (check,), (_NO_AGREEMENT,))
    # The conversion to a double may have rounded up.
    below = math.nextafter(least, -math.inf)
    return RecomputedEvidence(max(0.0, min(loss, below)), (check,), (), _NO_BOUND)


def _digits_that_agree(mechanism: HasLossInDigits[Any], winner: Winner) -> tuple[float, float]:
    """Return the losses with the most digits but one, and with the most; nan after a minute."""
    began, found = time.monotonic(), [math.nan, math.nan]
    for digits in (DIGITS, *MORE_DIGITS):
        if time.monotonic() - began > SECONDS:
            return found[-1], math.nan
        found.append(float(mechanism.loss_in_digits(winner.peak.output, winner.pair, digits)))
    return found[-2], found[-1]


def _check_recomputed_loss(
    loss: float, other: float, statement: str, found: str, claimed: float
) -> CheckOutcome:
    gap = abs(other - loss) / (1 + abs(loss))
    return CheckOutcome(
        name="largest loss",
        statement=statement,
        passed=bool(gap <= _MISMATCH),
        statistic=gap,
        threshold=_MISMATCH,
        evidence=f"{found}, {loss:.15g} by the search; {claimed:.15g} is claimed",
    )


def largest_over_outputs(
    case: PrivacyCase, mechanism: Tiltable[Any], seed: int, trials: int
) -> Winner:
    """Return the winner over outputs, both directions, and the neighbours the mechanism knows.

    Starts are drawn tilted ever more; the best then climb. Half the budget is for either.
    """
    claimed = case.claimed.epsilon(0.0)
    further = mechanism.neighbours(case.pair) if isinstance(mechanism, HasNeighbours) else ()
    pairs = [both for pair in (case.pair, *further) for both in _get_pair_directions(pair)]
    each = max(2, trials // (2 * _RUNGS * len(pairs)))
    found = [
        _draw_tilted_starts(mechanism, pair, each, claimed, _make_loss_generator(seed, str(number)))
        for number, (pair, _) in enumerate(pairs)
    ]
    best = int(np.argmax([losses.max() for _, losses in found]))
    (starts, losses), (pair, side) = found[best], pairs[best]
    drawn = sum(len(each) for _, each in found)
    if (
        _is_loss_unbounded(mechanism) and losses.max() > claimed
    ):  # an ascent would end where rounding does
        top = int(np.argmax(losses))
        return Winner(Peak(float(losses[top]), starts[top], drawn), pair, side)
    first = starts[np.argsort(-losses, kind="stable")[:_CLIMBERS]]
    budget = max(len(first), trials - drawn)
    peak = search_largest_loss(
        lambda outputs: mechanism.privacy_loss(outputs, pair),
        first,
        budget,
        _make_loss_generator(seed, "ascent"),
    )
    return Winner(Peak(peak.loss, peak.output, peak.evaluated + drawn), pair, side)


def _make_loss_generator(seed: int, purpose: str) -> Generator:
    return default_rng(stream(seed, "largest loss", purpose))


def _get_pair_directions(pair: Pair[Any]) -> list[tuple[Pair[Any], str]]:
    return [(pair.seen_from(side), f"the {side.value}") for side in Side]


def _draw_tilted_starts(
    mechanism: Tiltable[Any], pair: Pair[Any], each: int, claimed: float, rng: Generator
) -> tuple[Array, Array]:
    """Return outputs drawn with ever larger tilts, and their losses.

    Where the loss has no bound, a loss above the claim is large enough.
    """
    outputs: list[Array] = []
    losses: list[Array] = []
    for rung in range(_RUNGS):
        drawn = mechanism.sample_tilted(pair, _FACTOR**rung, each, rng).outputs
        outputs.append(drawn)
        losses.append(np.asarray(mechanism.privacy_loss(drawn, pair), dtype=np.float64))
        if _is_loss_unbounded(mechanism) and losses[-1].max() > claimed:
            break
    return np.concatenate(outputs), np.concatenate(losses)


def _is_loss_unbounded(mechanism: object) -> bool:
    return bool(getattr(mechanism, "loss_is_unbounded", False))


_UNBOUNDED = (
    "Under Gaussian noise that moves, the loss of an output has no bound: one output far enough "
    "out refutes any epsilon at delta = 0, and the number shown is only as far as the search went."
)
_NO_DIGITS = (
    "The mechanism cannot compute this loss with an error bound, nor in more digits, so nothing "
    "above the claim is certified."
)
_NOT_ENCLOSED = (
    "This loss could not be enclosed, so nothing above the claim is certified; what was found "
    "rests on doubles."
)
_NO_AGREEMENT = (
    f"Losses of this output in {MORE_DIGITS[0]:,} and in {MORE_DIGITS[1]:,} digits do not agree, "
    "so nothing above the claim is certified."
)
_NO_BOUND = (
    "The loss was computed by code of the mechanism's own, in digits that agree with yet more of "
    "them but have no error bound."
)


def _choose_loss_epsilons(claimed: float, lower: float) -> tuple[float, ...]:
    top = max([e for e in (claimed, lower) if math.isfinite(e)] + [1e-6])
    return tuple(np.linspace(0.0, 1.4 * top, _GRID).tolist())
