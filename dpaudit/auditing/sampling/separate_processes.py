"""Outputs that are drawn alone: one a call, the calls spread over many fresh processes.

Comparing calls and processes shows that outputs depend on one another only where outputs differ.
Eight coins that were tossed once a process may all have come up the same, and of an event that
nearly always, or hardly ever, happens, a thousand outputs may be one number a thousand times. So
what refutes is counted once more, on outputs of which no call has two, and on those that were the
first of their process: these are independent whatever a mechanism keeps, draws once a call, or
draws when it is imported or made. There are so many processes that a coin of randomised response
that satisfies the claim would hardly have come up the same in all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, betaincinv

from dpaudit._typing import Array
from dpaudit.auditing.estimators.group_sequential import alone_of
from dpaudit.auditing.sampling.sampler import Certifying, Drawer, ProcessGrid, first_of
from dpaudit.estimation.independence import FALSE_ALARM, Labels, check_independence
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.likelihood import distance
from dpaudit.estimation.orders import exponent
from dpaudit.estimation.score_events import ScoreEvent, Tally, ThresholdEvent
from dpaudit.estimation.self_check import CheckOutcome

# An event of which either side has fewer exceptions is counted once more.
_FEW = 100
_LEAST = 16
_MOST = 2**12
_PROCESSES = 512
_CALLS = 16
_ALONE = "the divergence of outputs drawn alone"
MARGIN = 4.5  # standard errors by which so many outputs refute as have to
# Of a slow mechanism: seconds, or a tenth of what the certifying outputs take if that is more.
_SPENT = 3.0
# Seconds that do not count: then no number depends on the clock.
_QUICK_START = 0.25  # of a process's start
_QUICK_CALL = 0.02  # of a call
_START = 0.02  # seconds that a process takes besides its imports
# A coin that every process keeps is drawn in so many of them that, though it keeps the claim, all
# agree no oftener than this, whatever error probability a refutation has.
_ACCUSED = 1e-3


class Refuting(Protocol):
    """A test that refutes a claim about more than one event, on scores."""

    @property
    def refuted(self) -> bool:
        """Return whether the counts refute the claim."""
        ...

    def suffices(self, trials: int) -> bool:
        """Return whether so many outputs a side would refute by far, at the rates seen."""
        ...

    def check(self, name: str, scores: tuple[Array, Array]) -> CheckOutcome:
        """Return whether other outputs agree, by their scores."""
        ...


class SeparateOutputs(NamedTuple):
    """The evidence of outputs drawn alone: checks, these outputs, and some of them in full.

    ``answers`` is None where there are not as many as were wanted.
    """

    checks: list[CheckOutcome]
    drawn: Certifying
    answers: Certifying | None


class Against(NamedTuple):
    """The claim that counts may refute, and the error probability of that.

    ``bet`` is what else refutes it, where the claim is about a divergence.
    """

    epsilon: float
    delta: float
    alpha: float
    bet: Refuting | None = None


def is_scarce(tally: Tally) -> bool:
    """Return whether so few outputs of a side are exceptions that calls cannot be compared.

    Examples
    --------
    >>> is_scarce(Tally((1000, 0), (1000, 1000))), is_scarce(Tally((200, 200), (400, 400)))
    (True, False)
    """
    return any(min(hits, of - hits) < _FEW for hits, of in zip(*tally, strict=True))


def compute_hit_indicators(counted: ScoreEvent, drawn: Certifying) -> tuple[Array, Array]:
    """Return 1 for each output in the event, of the dataset and of its neighbour."""
    return counted.happened(drawn.scores[0]), counted.happened(drawn.scores[1])


def is_claim_refuted(counted: ScoreEvent, tally: Tally, against: Against) -> bool:
    """Return whether counts refute the claim."""
    if against.bet is not None:
        return against.bet.refuted
    seen = _SideCounts.of(tally, counted.event, against)
    return seen.refutes(seen.hits, seen.trials)


def check_lone_outputs(
    drawer: Drawer, counted: ScoreEvent, tally: Tally, against: Against, wanted: ProcessGrid
) -> SeparateOutputs:
    """Return whether outputs that are drawn alone agree with the others about an event.

    Where so many as could be drawn are enough to refute the claim at the rates that were seen, they
    have to; else the rates have to agree.

    Parameters
    ----------
    drawer
        Of a mechanism that has processes of its own.
    counted
        What is counted.
    tally
        What was seen of it.
    against
        The claim.
    wanted
        Of how many processes and calls the outputs are looked at as well.
    """
    seen = _SideCounts.of(tally, counted.event, against)
    processes, calls = _choose_process_counts(drawer, seen, tally.trials[0])
    given = counted.score, processes, calls, "outputs drawn alone"
    answers: Certifying | None = None
    if wanted.processes <= processes and wanted.calls <= calls:
        drawn, answers = drawer.draw_scores_and_outputs(*given, wanted)
    else:
        drawn = drawer.draw_separately(*given)
    again = compute_hit_indicators(counted, drawn)
    # The first output of a process is on the side that its first pair begins with.
    order = np.array([first_of(process * calls) for process in range(processes)])
    first = [
        side[_find_process_firsts(out.processes) & (order[out.processes] == which)]
        for which, (side, out) in enumerate(zip(again, drawn.outputs, strict=True))
    ]
    checked = check_independence(*drawn.outputs, None if drawer.timed else again)
    found = [
        *(replace(one, name=f"alone: {one.name}") for one in checked),
        seen.check(f"outputs drawn alone, {len(again[0])} a side", again),
        seen.check(f"the first outputs of {processes} processes", (first[0], first[1])),
        *([against.bet.check(_ALONE, drawn.scores)] if against.bet is not None else []),
    ]
    return SeparateOutputs(found, drawn, answers)


@dataclass(frozen=True)
class _SideCounts:
    """Counts of the favoured side and of the other, and the claim that they refute."""

    hits: tuple[int, int]
    trials: tuple[int, int]
    event: ThresholdEvent
    against: Against

    @classmethod
    def of(cls, tally: Tally, event: ThresholdEvent, against: Against) -> _SideCounts:
        return cls(*tally.favoured(event), event, against)

    def refutes(self, hits: tuple[int, int], trials: tuple[int, int]) -> bool:
        """Return whether counts of so many outputs of each side refute the claim."""
        return self._lower(hits, trials) > self.against.epsilon

    def suffices(self, trials: int) -> bool:
        """Return whether so many outputs a side would refute by far, at the rates that were seen.

        By so many standard errors that others do with them, though these were seen by chance.
        """
        against = self.against
        favoured, other = (n / count for n, count in zip(self.hits, self.trials, strict=True))
        errors = math.sqrt(2 * exponent(against.alpha)) + MARGIN
        far = distance(favoured, other, trials, trials, against.epsilon, against.delta)
        return float(far) > errors**2 / 2

    def check(self, name: str, happened: tuple[Array, Array]) -> CheckOutcome:
        """Return whether other outputs agree."""
        hits, trials = Tally.of(happened).favoured(self.event)
        needed = min(trials) > 0 and self.suffices(min(trials))
        lower, chance = self._lower(hits, trials), self._chance(hits, trials)
        what, threshold = (lower, self.against.epsilon) if needed else (chance, FALSE_ALARM / 8)
        shown = f"the event happened in {hits[0]} of {trials[0]} and {hits[1]} of {trials[1]}"
        return CheckOutcome(
            name=name,
            statement="outputs of other calls and processes do not confirm the event: draw no "
            "noise when the mechanism is imported or made, or once for a whole call, "
            "and keep none",
            passed=bool(what > threshold if needed else what >= threshold),
            statistic=what,
            threshold=threshold,
            evidence=f"{shown}, which certifies {lower:.4g}; more than {threshold:.4g} is needed"
            if needed
            else f"{shown}, where as much or more differs by chance with p-value {chance:.3g}",
        )

    def _lower(self, hits: tuple[int, int], trials: tuple[int, int]) -> float:
        if not min(trials):
            return 0.0
        (x, y), (n, m), order = hits, trials, self.event.order
        delta, alpha = self.against.delta, self.against.alpha
        return joint_lower_bound(x, y, n, m, delta=delta, alpha=alpha, order=order)

    def _chance(self, hits: tuple[int, ...], trials: tuple[int, ...]) -> float:
        """Return a p-value of counts that come from the law of those that were seen."""
        pairs = zip(hits, trials, self.hits, self.trials, strict=True)
        return min(1.0, 4 * min(_compute_rate_p_value(*one) for one in pairs))


def _compute_rate_p_value(hits: int, trials: int, before: int, of: int) -> float:
    """Return how probable so few, or so many, are at the nearest rate that fits those before."""
    small = FALSE_ALARM / 8
    low = float(betaincinv(before, of - before + 1, small)) if before else 0.0
    high = float(betaincinv(before + 1, of - before, 1 - small)) if before < of else 1.0
    many = float(bdtrc(hits - 1, trials, high)) if hits else 1.0
    return min(many, float(bdtr(hits, trials, low)))


def _choose_process_counts(drawer: Drawer, seen: _SideCounts, trials: int) -> tuple[int, int]:
    """Return how many processes draw outputs alone, and how many each on either dataset."""
    against = seen.against
    surprise = -math.log(min(against.alpha, _ACCUSED))
    # About so many coins of randomised response at the claim's epsilon would all agree as rarely.
    coins = surprise * (1 + math.exp(min(against.epsilon, 9.0)))
    sizes = [2**k for k in range(4, 13)]
    processes = math.ceil(coins)
    room = _estimate_available_draws(drawer, trials)
    processes = max(_LEAST, min(processes, _PROCESSES, trials // 8, room[0]))
    enough = next((size for size in sizes if seen.suffices(size)), _LEAST)
    if against.bet is not None:
        enough = max(enough, next((n for n in sizes if against.bet.suffices(n)), _LEAST))
    calls = max(_CALLS, -(-min(enough, _MOST) // processes))
    return processes, max(1, min(calls, room[1] // processes))


def _estimate_available_draws(drawer: Drawer, trials: int) -> tuple[int, int]:
    """Return for how many processes, and for how many calls on either dataset, there is time.

    Where a time is the budget it is a share of what certifies, whatever the pace.
    """
    if drawer.sparing:
        return alone_of(trials)
    if drawer.startup_seconds < _QUICK_START and drawer.seconds_per_call < _QUICK_CALL:
        # Quick mechanisms are not timed at all, so that no number depends on the clock.
        return _PROCESSES, _MOST
    seconds = max(_SPENT, 0.2 * drawer.seconds_per_output * trials)
    each = drawer.startup_seconds + _START + 2 * drawer.seconds_per_call
    return int(seconds / each), int(seconds / max(2 * drawer.seconds_per_call, 1e-6))


def _find_process_firsts(processes: Labels) -> NDArray[np.bool_]:
    """Return which outputs are the first of their process."""
    return np.concatenate([[True], processes[1:] != processes[:-1]])
