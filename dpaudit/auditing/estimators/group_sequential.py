"""An audit by looks: ever more fresh outputs, with one error probability for all of them.

A look is a whole audit on outputs of its own: its event is chosen, and certified, on outputs
that no other look has. Each spends a share of the error probability that is set before it draws, so
that the bounds of all looks hold together with the confidence that was asked for, whatever decided
on the number of looks and on their sizes. With a time as the budget the rule is:

* The first look has the usual number of trials, fewer if they took more than a fifth of the time,
  100 at least. It is the only one where a fifth of the time is too short for 100, and has as many
  as fit; where these could not refute the claim, that is said at once and nothing is audited.
* While the time left is worth much more, the next has eight times as many, and look number k that
  is not the last spends ``0.2 / 2^k`` of the error probability.
* The last has as many as the time left allows by the pace of those before, and spends 0.8.
* A look that refutes, or whose outputs break the contract, ends the audit.

The report holds the looks that were taken; given in place of the time, they give the same numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import NamedTuple

import numpy as np

from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.estimation.joint import largest_lower_bound
from dpaudit.execution import stream
from dpaudit.execution.failures import DrawTimeout
from dpaudit.execution.ledger import get_current_ledger

_GROWTH = 8  # times as many trials as the look before
_WORTH = 24  # times as many that the time left has to allow for a look that is not the last
# Shares of the error probability.
_EARLY = 0.2  # for all looks before the last
_LAST = 0.8  # for the last look
_FIRST = 0.2  # of the time, at most
DRAWN = 4  # outputs of either dataset to a trial: certifying, thresholds, learning
_BEFORE = 20  # outputs that come first, as one worker draws some of them
_SAME = 20  # outputs that show what varies
_PROCESSES = 10  # processes that all these outputs come from
_KEPT_BACK = 0.85  # of the time left: what a look takes is only estimated
_LEAST = 100
_OVER = 2.0  # seconds by which a look may take longer than planned
SLOW = 1 / 256  # seconds of an output from which on nothing else takes time
FEW = 200  # trials below which an event of one part is chosen on half as many outputs
CHOOSING = 10  # outputs that choose it at least


class Look(NamedTuple):
    """So many trials, and their share of the error probability."""

    trials: int
    share: float


Measure = Callable[[int, Look], MeasurementEvidence]


class Slowly(NamedTuple):
    """The workers that draw slow outputs: their number, and the start-up seconds of each."""

    workers: int
    start: float

    def seconds(self, trials: int, pace: float) -> float:
        """Return the seconds that a look of so many trials takes."""
        drawn = DRAWN * trials if trials >= FEW else 2 * (trials + chosen_on(trials))
        processes, calls = alone_of(trials)
        outputs = _BEFORE + drawn + 2 * calls + _SAME
        return (outputs * pace + (_PROCESSES + processes) * self.start) / self.workers

    def fitting(self, seconds: float, pace: float) -> int:
        """Return how many trials fit in so many seconds, at the most; 0 if none do."""
        fitting = [trials for trials in _make_look_sizes() if self.seconds(trials, pace) <= seconds]
        return fitting[-1] if fitting else 0


def alone_of(trials: int) -> tuple[int, int]:
    """Return how many processes repeat a refutation by so many trials, and their calls a side."""
    return max(16, min(64, trials // 8)), max(16, trials // 4)


def chosen_on(trials: int) -> int:
    """Return on how many outputs of each dataset an event is chosen where there are few trials."""
    return max(CHOOSING, trials // 2)


def _make_look_sizes() -> Iterator[int]:
    """Yield numbers of trials, ever more of them, in steps of two digits."""
    yield from range(4, 100)
    yield from (n * 10**zeros for zeros in range(1, 8) for n in range(10, 100))


@dataclass
class LookClock:
    """Says which looks fit in so many seconds.

    Parameters
    ----------
    seconds
        In all, from ``began`` on.
    trials
        Of the first look, if they fit.
    pace
        Seconds that an output takes, as a probe saw it.
    slow
        Who draws slow outputs, if they are: nothing else takes time then.
    """

    seconds: float
    trials: int
    pace: float
    began: float
    now: Callable[[], float] = monotonic
    slow: Slowly | None = None

    @property
    def until(self) -> float:
        """When draws are cut off, as a moment of `time.monotonic`: a little after the time is over.

        What a look takes besides its draws is not planned, such as an import.
        """
        return self.began + self.seconds + _OVER - get_current_ledger().seconds

    def probed(self, pace: float, slow: Slowly | None) -> None:
        """Note the pace that a probe measured."""
        self.pace, self.slow = max(pace, 1e-9), slow

    def plan_looks(self) -> Iterator[Look]:
        """Yield the looks; the time of a look is known when the next one is asked for."""
        look = self.first
        before = Look(0, 0.0), 0.0
        for number in range(2, 64):
            planned = look
            # The plan of a look is kept in the ledger: a run that goes on must not decide by
            # another clock.
            trials, share = get_current_ledger().fact(f"look {number - 1}", lambda: tuple(planned))  # noqa: B023
            look = Look(int(trials), share)
            began = self.now()
            yield look
            took = get_current_ledger().fact(
                f"look {number - 1}, seconds",
                lambda: self.now() - began,  # noqa: B023
                measures=True,
            )
            # The last look has nothing left to spend after it.
            if look.share == _LAST:
                return
            more = self._marginal(look, took, *before)
            before, look = (look, took), self._next(look, took, more, number)
            if look.trials < before[0].trials:
                return

    @cached_property
    def first(self) -> Look:
        """The first look: the only one where two do not fit; of no trials if none fits."""
        if self.slow is not None:
            # Divided back, as the share is taken off again where the last look is sized.
            fitting = self.slow.fitting(_KEPT_BACK * self._left(), self.pace) / _KEPT_BACK
        else:
            fitting = self._left() / (2 * DRAWN * max(self.pace, 1e-9))
        least = _LEAST if self.slow is None else 0
        if _FIRST * fitting < _LEAST:
            return Look(
                max(least, _round_trials_down(min(self.trials, _KEPT_BACK * fitting))), _LAST
            )
        return Look(_round_trials_down(min(self.trials, _FIRST * fitting)), _EARLY / 2)

    def require(self, alpha: float, claimed: tuple[float, float]) -> None:
        """Refuse a time in which slow outputs cannot refute the claim, whatever they are.

        Parameters
        ----------
        alpha
            Error probability of all looks.
        claimed
            The epsilon that may be refuted, and its delta.

        Raises
        ------
        InvalidArgument
            There is too little; the message says how much would do.
        """
        look, (epsilon, delta) = self.first, claimed
        if self.slow is None or look.trials >= FEW:
            return
        share = alpha * _LAST
        if look.trials and compute_epsilon_ceiling(look.trials, share, delta) > epsilon:
            return
        sizes = list(_make_look_sizes())  # the more trials, the larger what they certify
        place = bisect_right(
            sizes, epsilon, key=lambda trials: compute_epsilon_ceiling(trials, share, delta)
        )
        enough = sizes[place] if place < len(sizes) else None
        raise InvalidArgument(
            "time", VerbatimText(f"{self.seconds:g}"), self._instead(enough, claimed)
        )

    def _instead(self, enough: int | None, claimed: tuple[float, float]) -> str:
        assert self.slow is not None
        epsilon, _ = claimed
        took = f"an output takes {self.pace:.3g} s"
        if enough is None:
            return f"another claim: {took}, and no number of outputs refutes {epsilon:g}"
        spent = get_current_ledger().seconds + self.now() - self.began
        seconds = spent + self.slow.seconds(enough, self.pace) / _KEPT_BACK
        return (
            f"at least {math.ceil(seconds)} seconds: {took}, and it takes {enough} outputs of each "
            f"dataset to refute an epsilon of {epsilon:g}, whatever leaks"
        )

    def _left(self) -> float:
        """Return the seconds that are left, after those before an interruption too."""
        return self.until - _OVER - self.now()

    def _marginal(self, look: Look, took: float, before: Look, earlier: float) -> float:
        """Return the seconds of a further trial: much of the time of a short look is fixed.

        By two looks, or by twice what the probe saw; some share of what it took at least.
        """
        whole = took / look.trials
        if before.trials:
            return max((took - earlier) / (look.trials - before.trials), whole / 10)
        return min(whole, max(4 * DRAWN * self.pace, whole / 50))

    def _next(self, look: Look, took: float, pace: float, number: int) -> Look:
        """Return the next look, smaller than the one before if there is no time for it."""
        left = _KEPT_BACK * self._left()
        fitting = look.trials + (left - took) / pace if left > took else 0
        if self.slow is not None:  # by what the look before took beside what was planned
            slower = max(1.0, took / self.slow.seconds(look.trials, self.pace))
            fitting = self.slow.fitting(_KEPT_BACK * left / slower, self.pace)
        slow = took + (_GROWTH - 1) * look.trials * pace > left / 2
        if not slow and fitting >= _WORTH * look.trials:
            return Look(_GROWTH * look.trials, _EARLY / 2**number)
        return Look(_round_trials_down(fitting), _LAST)


def _round_trials_down(trials: float) -> int:
    """Return a number of trials rounded down to two digits."""
    count = int(trials)
    unit: int = 10 ** max(0, len(str(count)) - 2)
    return count // unit * unit


def run_looks(
    looks: Iterator[Look], measure: Measure, beyond: Callable[[MeasurementEvidence], float]
) -> tuple[MeasurementEvidence, list[Look]]:
    """Return the evidence of the best of the looks, and those that were taken.

    Parameters
    ----------
    looks
        At least one.
    measure
        Returns the evidence of look number 1, 2, ...
    beyond
        How far above the claim evidence is: what refutes is above 0.

    Raises
    ------
    DrawTimeout
        The time was over before the first look ended. One that is cut off later counts for nothing.
    """
    found: list[tuple[Look, MeasurementEvidence]] = []
    for number, look in enumerate(looks, start=1):
        try:
            evidence = measure(number, look)
        except DrawTimeout:
            if not found:
                raise
            break
        found.append((look, evidence))
        # To go on after outputs that broke the contract would only add outputs of the same kind.
        if not evidence.trusted or beyond(evidence) > 0 or evidence.interrupted:
            break
    return _merge_look_evidence(found, beyond), [look for look, _ in found]


def _merge_look_evidence(
    found: list[tuple[Look, MeasurementEvidence]], beyond: Callable[[MeasurementEvidence], float]
) -> MeasurementEvidence:
    """Return the joint evidence of the looks: the last one if it is broken, else the best."""
    last = found[-1][1]
    best = last
    # What a broken contract or an upper end says is of the last look alone.
    if last.trusted and last.upper is None:
        best = max((evidence for _, evidence in found), key=beyond)
    budget = {
        f"look {number}: {purpose}": alpha
        for number, (_, evidence) in enumerate(found, start=1)
        for purpose, alpha in evidence.budget.items()
    }
    sizes = ", ".join(f"{look.trials} ({look.share:g})" for look, _ in found)
    note = (
        f"Looks of fresh outputs, their number on each dataset and share of the error probability: "
        f"{sizes}; the one shown has {best.trials}."
    )
    return replace(best, budget=budget, notes=(note, *best.notes))


def make_look_seed(seed: int, number: int) -> int:
    """Return the seed of a look, which for the first one is that of the audit.

    Examples
    --------
    >>> make_look_seed(7, 1), make_look_seed(7, 2) == make_look_seed(7, 3)
    (7, False)
    """
    # The first look has the audit's own seed, so that an audit without a time gives the same
    # numbers.
    if number == 1:
        return seed
    return int(stream(seed, f"look {number}").generate_state(1, np.uint64)[0])


def compute_epsilon_ceiling(trials: int, alpha: float, delta: float) -> float:
    """Return the largest epsilon that so many trials a side can certify, all of them right.

    Examples
    --------
    >>> (
    ...     round(compute_epsilon_ceiling(10_000, 0.05, 0.0), 2),
    ...     round(compute_epsilon_ceiling(100, 0.05, 0.5), 2),
    ... )
    (8.79, 3.48)
    """
    return largest_lower_bound(trials, trials, delta=delta, alpha=alpha)


def format_look_plan(
    trials: int,
    alpha: float,
    claimed: tuple[float, float],
    pace: float,
    seconds: float | None,
    workers: int = 1,
) -> str:
    """Return the power and the duration of a run, in words for a person who waits.

    Parameters
    ----------
    trials, alpha
        Of the run.
    claimed
        The epsilon that may be refuted, and its delta.
    pace
        Seconds that an output takes.
    seconds
        The time that was given instead of trials.
    workers
        Who share the outputs.

    Examples
    --------
    >>> print(format_look_plan(10_000, 0.05, (1.0, 0.0), 1e-4, None))
    10,000 outputs can certify an epsilon of 8.8 at most; 1 is claimed. A probe drew 10,000 \
outputs a second: about 8 s.
    """
    quick = pace < 1
    rate = f"A probe drew {1 / max(pace, 1e-9):,.0f} outputs a second"
    rate = rate if quick else f"A probe took {pace:.2g} s an output"
    epsilon, delta = claimed
    if seconds is not None:
        fitting = max(
            1, _round_trials_down(_KEPT_BACK * seconds * workers / (DRAWN * max(pace, 1e-9)))
        )
        most = compute_epsilon_ceiling(fitting, _LAST * alpha, delta)
        return (
            f"{rate}: up to {seconds:g} s are used, in looks at ever more outputs. These are about "
            f"{fitting:,} outputs, which can certify an epsilon of {most:.2g} at most; {epsilon:g} "
            "is claimed."
        )
    most = compute_epsilon_ceiling(trials, alpha, delta)
    short = "" if most > epsilon else ": too few to refute it"
    return (
        f"{trials:,} outputs can certify an epsilon of {most:.2g} at most; {epsilon:g} is "
        f"claimed{short}. {rate}: about {format_duration(2 * DRAWN * trials * pace)}."
    )


def format_duration(seconds: float) -> str:
    """Return about how long something takes, in words."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
