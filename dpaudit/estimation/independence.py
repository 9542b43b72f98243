r"""Tests that outputs were drawn independently of one another, from one law on either dataset.

Every bound on outputs assumes that. The scores of one side come as units, which one call drew, and
these in processes, each with an import and an instance of its own. A table of the names:

| symbol | name    | meaning                                                     |
|--------|---------|-------------------------------------------------------------|
| s      | scores  | of one side, all units one after the other                   |
| U, m   |         | units of a side, trials in each                              |
| z      |         | ranks of s, ties alike, with mean 0 and variance 1           |
| w      | variety | the probability that an output is not the commonest one      |

Under independence z is exchangeable: whatever groups the places of the outputs form, how they are
spread over them is chance. The tests are those of Kruskal and Wallis (1952) over units, processes
and places within a call, serial correlations within a call, a trend within a process, the
correlation of the two sides, units that repeat one another, and rare outputs that came together.
Each is asymptotic, and is made
only where so many outputs differ that its tail is what it says; groups are joined until they have
enough.

What no test here can see: dependence between outputs that this audit never drew side by side (noise
that changes from day to day), or that is too weak for these trials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, chdtrc, ndtr

from dpaudit._typing import Array
from dpaudit.estimation.dependences import (
    CHAINED,
    KEPT,
    MOVING,
    ONCE,
    PAIRED,
    SEEDED,
    SHARED,
    TWICE,
    Dependence,
)
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.faults.codes import NOISE_SHARED_IN_CALL, STATE_KEPT
from dpaudit.mechanisms.outputs.recurrence import equal_pairs, variance_of_ties

# With so small a probability is any of the tests of one audit to fail by chance.
FALSE_ALARM = 3e-4
_PLAINLY = FALSE_ALARM / 100  # a p-value below this shows a dependence, and one above does not
# Of the rarer outputs.
_IN_GROUP = 10  # in a group
_IN_TREND = 100  # in a trend
_PAIRS = 200  # pairs of them that meet by chance
_ALIKE = 8  # ties are counted where so many outputs are equal at most
_SUCCESSION = 4  # calls of one output each that a clock may give the same noise
COMPARED = 2**17  # trials of a side that are looked at
_REPEATED = 1e-9  # probability of units that repeat one another by chance

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Outputs:
    """The draws of one side: a score of every trial, and its process and call.

    Parameters
    ----------
    scores
        Shape ``(n,)``.
    units, processes
        The number of the unit and of the process of each trial, shape ``(n,)``, in the order in
        which they were drawn.
    """

    scores: Array
    units: Labels
    processes: Labels

    def first(self, most: int = COMPARED) -> Outputs:
        """Return as many whole units of every process, at most so many trials.

        Of a unit that is larger than that, its first trials.
        """
        if len(self.scores) <= most:
            return self
        # Each process keeps as many, as comparisons between processes need all of them.
        share = most // len(np.unique(self.processes))
        place, of_unit = (_compute_group_positions(one) for one in (self.processes, self.units))
        begins = place - of_unit
        ends = begins + np.bincount(self.units)[self.units]
        keep = (place < share) & ((ends <= share) | (begins == 0))
        return Outputs(self.scores[keep], self.units[keep], self.processes[keep])


def join_draws(parts: Sequence[Outputs]) -> Outputs:
    """Return the outputs of several draws as one: their units and processes are others.

    Examples
    --------
    >>> one = Outputs(np.zeros(2), np.array([0, 1]), np.array([0, 0]))
    >>> join_draws([one, one]).units.tolist(), join_draws([one, one]).processes.tolist()
    ([0, 1, 2, 3], [0, 0, 1, 1])
    """
    scores = np.concatenate([part.scores for part in parts])
    units = _one_after_the_other([part.units for part in parts])
    return Outputs(scores, units, _one_after_the_other([part.processes for part in parts]))


def _one_after_the_other(parts: Sequence[Labels]) -> Labels:
    counts = np.cumsum([0, *(int(part.max()) + 1 for part in parts[:-1])])
    return np.concatenate([part + count for part, count in zip(parts, counts, strict=True)])


def check_independence(
    on_p: Outputs, on_q: Outputs, hits: tuple[Array, Array] | None = None
) -> list[CheckOutcome]:
    """Return the checks of two sides' scores, and of the event that is certified on them.

    Formal guarantee: on independent outputs one of them fails with probability about
    `FALSE_ALARM`; what the event says of each output, ``hits``, is tested as a score is.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> units, processes = np.repeat(np.arange(64), 100), np.repeat(np.arange(8), 800)
    >>> good = [Outputs(rng.normal(size=6400), units, processes) for _ in range(2)]
    >>> all(check.passed for check in check_independence(*good))
    True
    >>> once = [Outputs(np.repeat(rng.normal(size=64), 100), units, processes) for _ in range(2)]
    >>> [check.name for check in check_independence(*once) if not check.passed][:1]
    ['outputs in one call and in others, dataset']
    """
    found = _of_sides("outputs", on_p, on_q)
    if hits is not None:
        events = (replace(on_p, scores=hits[0]), replace(on_q, scores=hits[1]))
        found += _of_sides("the event", *events)
    # The union bound: all tests together have one probability of a false alarm.
    return [_make_independence_check(one, FALSE_ALARM / len(found)) for one in found]


class _DependenceFinding(NamedTuple):
    """A comparison, its probability by chance, and the dependence if it is not chance."""

    name: str
    p: float
    fault: Dependence


def _make_independence_check(found: _DependenceFinding, threshold: float) -> CheckOutcome:
    passed = bool(found.p >= threshold)
    return CheckOutcome(
        name=found.name,
        statement=found.fault.words,
        passed=passed,
        statistic=found.p,
        threshold=threshold,
        evidence=f"p-value {found.p:.3g}; below {threshold:.1g} it fails",
        fault=None if passed else found.fault.code,
    )


def fault_of(checks: Sequence[CheckOutcome]) -> str | None:
    """Return the kind of fault that the checks of this module decide; None if they do not.

    One dependence makes several tests fail. The one that it was made for has the smallest p-value:
    a trend is few groups' and one direction's, noise of one call is that of many groups. Where two
    kinds have the smallest, as both are 0, none is decided, unless one follows from the other:
    processes are made of calls.

    Parameters
    ----------
    checks
        Any; those that did not come from here say nothing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> units, processes = np.repeat(np.arange(64), 100), np.repeat(np.arange(8), 800)
    >>> once = [Outputs(np.repeat(rng.normal(size=64), 100), units, processes) for _ in range(2)]
    >>> fault_of(check_independence(*once)), fault_of([])
    ('DPA014', None)
    """
    failed = [one for one in checks if not one.passed and is_from_here(one)]
    least = min((one.statistic for one in failed), default=0.0)
    codes = {one.fault for one in failed if one.statistic == least}
    if codes == {NOISE_SHARED_IN_CALL, STATE_KEPT}:
        return NOISE_SHARED_IN_CALL
    return codes.pop() if len(codes) == 1 else None


def is_from_here(check: CheckOutcome) -> bool:
    """Return whether a check is one of this module: a p-value beside a share of `FALSE_ALARM`."""
    return check.fault is not None and 0 < check.threshold <= FALSE_ALARM


def _of_sides(what: str, on_p: Outputs, on_q: Outputs) -> list[_DependenceFinding]:
    found = [
        _DependenceFinding(f"{what} {one.name}, {name}", one.p, one.fault)
        for side, name in ((on_p, "dataset"), (on_q, "neighbour"))
        for one in _of_side(side.first())
    ]
    return [
        *found,
        _DependenceFinding(
            f"{what} of the two datasets",
            compute_side_correlation_p_value(on_p.scores, on_q.scores),
            SHARED,
        ),
    ]


def _of_side(side: Outputs) -> Iterator[_DependenceFinding]:
    z, place = compute_normal_ranks(side.scores), _compute_group_positions(side.units)
    within = compute_heterogeneity_p_value(z, side.units, side.processes)
    between = compute_heterogeneity_p_value(z, side.processes)
    # What a process keeps is in each of its calls, and tests of calls see it as well.
    is_kept = between < _PLAINLY <= within
    yield _DependenceFinding("in one call and in others", within, ONCE)
    yield _DependenceFinding("in one process and in others", between, KEPT)
    yield _DependenceFinding("of whole calls", compute_repeated_calls_p_value(side), SEEDED)
    yield _DependenceFinding(
        "crowded in one call",
        compute_crowding_p_value(z, side.units),
        _select_call_fault(ONCE, is_kept),
    )
    yield _DependenceFinding(
        "crowded in one process", compute_crowding_p_value(z, side.processes), KEPT
    )
    yield _DependenceFinding(
        "that are equal, in one call",
        compute_group_ties_p_value(z, side.units),
        _select_call_fault(TWICE, is_kept),
    )
    yield _DependenceFinding(
        "that are equal, in one process", compute_group_ties_p_value(z, side.processes), KEPT
    )
    for words, lag in _get_lags(side.units):
        yield _DependenceFinding(
            words,
            compute_serial_correlation_p_value(z, side.units, lag),
            _select_call_fault(PAIRED, is_kept),
        )
    if int(np.bincount(side.units).max()) == 1:  # no call has a next output, its process has
        together = compute_group_ties_p_value(z, _in_succession(side.processes), len(z))
        yield _DependenceFinding("that are equal, in calls in succession", together, CHAINED)
    yield _DependenceFinding(
        "at one place of a call", compute_heterogeneity_p_value(z, place), SEEDED
    )
    yield _DependenceFinding(
        "in early and in late calls", compute_trend_p_value(z, side.processes), MOVING
    )


def _select_call_fault(fault: Dependence, is_kept: bool) -> Dependence:
    """Return the fault of calls; of noise that a process keeps, under its code."""
    return fault._replace(code=KEPT.code) if is_kept else fault


def _get_lags(units: Labels) -> list[tuple[str, int]]:
    size = int(np.bincount(units).max())
    return [("and the next ones", 1), ("half a call apart", max(2, size // 2))]


def compute_normal_ranks(scores: Array) -> Array:
    """Return ranks with ties alike, mean 0 and variance 1; zeros where all are alike.

    Examples
    --------
    >>> compute_normal_ranks(np.array([3.0, 1.0, 1.0])).round(3)
    array([ 1.414, -0.707, -0.707])
    """
    _, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    z = middle[which.ravel()] - (len(scores) + 1) / 2
    spread = math.sqrt(float(np.mean(z**2)))
    return np.asarray(z / spread if spread else np.zeros(len(scores)))


def compute_variety(z: Array) -> float:
    """Return the share of outputs that are not the commonest one.

    Examples
    --------
    >>> compute_variety(np.array([0.0, 0.0, 0.0, 1.0]))
    0.25
    """
    _, counts = np.unique(z, return_counts=True)
    return float(1 - counts.max() / len(z))


def compute_heterogeneity_p_value(z: Array, groups: Labels, within: Labels | None = None) -> float:
    """Return the p-value of Kruskal and Wallis; 1 where there is nothing to compare.

    Groups are joined, the next ones first, until the rarer outputs are ten in each.

    Parameters
    ----------
    z
        Ranks, shape ``(n,)``.
    groups
        Of each, shape ``(n,)``, numbered from 0.
    within
        Larger groups, each of several ``groups``: differences between these do not count.
    """
    share = compute_variety(z)
    if share == 0:
        return 1.0
    joined = _merge_groups(groups, math.ceil(_IN_GROUP / share), within)
    between, count = _compute_between_groups(z, joined)
    if within is not None:
        further, fewer = _compute_between_groups(z, within)
        # Where all groups are alike the two sums differ by rounding, either way.
        between, count = max(0.0, between - further), count - fewer + 1
    if count < 2:
        return 1.0
    return float(chdtrc(count - 1, (len(z) - 1) * between / float(np.sum(z**2))))


def compute_crowding_p_value(z: Array, groups: Labels) -> float:
    """Return the p-value of the most outputs of one group that are not the commonest one.

    Where few are, no variance tells whether they came together. It is at most what the binomial
    law says of each group, times the groups; that of a spread without replacement is less.

    Examples
    --------
    >>> rare = np.isin(np.arange(512), range(8, 16)).astype(float)
    >>> (
    ...     compute_crowding_p_value(rare, np.arange(512) // 8) < 1e-9,
    ...     compute_crowding_p_value(rare, np.arange(512) % 64) > 0.5,
    ... )
    (True, True)
    """
    _, which = np.unique(z, return_inverse=True)
    rare = which.ravel() != np.bincount(which.ravel()).argmax()
    found = np.bincount(groups, weights=rare)
    sizes = np.bincount(groups)
    chance = bdtrc(found - 1, sizes, float(rare.mean()))[found > 0]
    return min(1.0, len(sizes) * float(chance.min(initial=1.0)))


def compute_group_ties_p_value(z: Array, groups: Labels, alike: int = _ALIKE) -> float:
    """Return the p-value of pairs of equal outputs that stand in one group.

    Of values of which there are ``alike`` at most.

    Their number has the mean and variance of a random order (Mantel 1967); the p-value is the
    larger of the normal law's, for pairs that share outputs, and of the binomial one's, for rare
    pairs.

    Examples
    --------
    >>> z = np.tile(np.arange(50.0), 2)
    >>> (
    ...     compute_group_ties_p_value(z, np.arange(100) % 50 // 5) < 1e-9,
    ...     compute_group_ties_p_value(z, np.arange(100) // 10),
    ... )
    (True, 1.0)
    """
    _, which, counts = np.unique(z, return_inverse=True, return_counts=True)
    few = counts[which.ravel()] <= alike
    if not few.all():  # what is common says little of its place, and has other tests
        return compute_group_ties_p_value(z[few], groups[few], alike)
    pairs, sizes = equal_pairs(counts), np.bincount(groups)
    if not pairs or len(z) < 4:
        return 1.0
    cells = which.ravel() * len(sizes) + groups
    found = equal_pairs(np.unique(cells, return_counts=True)[1])
    share = equal_pairs(sizes) / equal_pairs(np.array([len(z)]))
    spread = math.sqrt(max(0.0, variance_of_ties(counts, sizes, share)))
    normal = float(ndtr(-(found - pairs * share) / spread)) if spread else 1.0
    return max(normal, float(bdtrc(found - 1, pairs, share)) if found else 1.0)


def _in_succession(processes: Labels) -> Labels:
    """Return groups of calls in succession, of one process each."""
    place = _compute_group_positions(processes) // _SUCCESSION
    labels = processes * (len(processes) + 1) + place
    return np.asarray(np.unique(labels, return_inverse=True)[1].ravel(), dtype=np.int64)


def _merge_groups(groups: Labels, least: int, within: Labels | None) -> Labels:
    """Return larger groups of at least so many, none of which crosses those of ``within``."""
    sizes = np.bincount(groups)
    each = max(1, math.ceil(least / max(1.0, float(np.median(sizes[sizes > 0])))))
    if within is None:
        joined = groups // each
    else:
        first = np.full(int(within.max()) + 1, int(groups.max()) + 1)
        np.minimum.at(first, within, groups)
        joined = within * (int(groups.max()) + 1) + (groups - first[within]) // each
    return _without_small(joined, least, within)


def _without_small(joined: Labels, least: int, within: Labels | None) -> Labels:
    """Return the groups, numbered anew, the small ones as parts of those before them."""
    _, numbers, sizes = np.unique(joined, return_inverse=True, return_counts=True)
    owner = np.zeros(len(sizes), dtype=np.int64)
    if within is not None:
        owner[numbers] = within
    target = np.arange(len(sizes))
    for i in np.flatnonzero(sizes < least):
        if i > 0 and owner[i - 1] == owner[i]:
            target[i] = target[i - 1]
    return np.asarray(target[numbers], dtype=np.int64)


def _compute_between_groups(z: Array, groups: Labels) -> tuple[float, int]:
    """Return the sum of squares between groups, and how many there are."""
    sizes = np.bincount(groups)
    filled = sizes > 0
    sums = np.bincount(groups, weights=z)[filled]
    return float(np.sum(sums**2 / sizes[filled])), int(filled.sum())


def compute_serial_correlation_p_value(z: Array, units: Labels, lag: int) -> float:
    """Return the two-sided p-value of the correlation of outputs ``lag`` apart in a call."""
    if len(z) <= lag:
        return 1.0
    same = units[lag:] == units[:-lag]
    return _test_correlation(z[lag:][same], z[:-lag][same], compute_variety(z) ** 2)


def compute_trend_p_value(z: Array, processes: Labels) -> float:
    """Return the two-sided p-value of a trend in the order of the draws of each process."""
    if len(z) * compute_variety(z) < _IN_TREND:
        return 1.0
    order = _compute_group_positions(processes).astype(np.float64)
    sums, sizes = np.bincount(processes, weights=order), np.bincount(processes)
    order -= (sums / np.maximum(sizes, 1))[processes]
    spread = math.sqrt(float(np.sum(order**2)))
    return _two_sided(float(order @ z) / spread) if spread else 1.0


def compute_repeated_calls_p_value(side: Outputs) -> float:
    """Return the probability of calls that returned the same outputs as another, 1 if none did."""
    parts = np.split(side.scores, np.flatnonzero(np.diff(side.units)) + 1)
    seen: dict[bytes, int] = {}
    for part in parts:
        # Bytes can be looked up; any NaN equals another here, and 0.0 equals -0.0.
        key = np.where(np.isnan(part), np.nan, part + 0.0).tobytes()
        seen[key] = seen.get(key, 0) + 1
    shortest = min((len(key) // 8 for key, count in seen.items() if count > 1), default=0)
    if not shortest:
        return 1.0
    _, counts = np.unique(side.scores, return_counts=True)
    alike = float(np.sum((counts / len(side.scores)) ** 2))
    # Any two calls may be the ones that repeat: fewer pairs than the square of their number.
    log_p = 2 * math.log(len(parts)) + shortest * math.log(alike)
    return 1.0 if log_p > math.log(_REPEATED) else math.exp(max(log_p, -700.0))


def compute_side_correlation_p_value(on_p: Array, on_q: Array) -> float:
    """Return the p-value of the correlation of two sides' scores, place by place.

    Examples
    --------
    >>> one = np.random.default_rng(0).normal(size=1000)
    >>> (
    ...     compute_side_correlation_p_value(one, one + 1) < 1e-9,
    ...     compute_side_correlation_p_value(one, one[::-1]) > 1e-3,
    ... )
    (True, True)
    """
    size = min(len(on_p), len(on_q), COMPARED)
    one, other = compute_normal_ranks(on_p[:size]), compute_normal_ranks(on_q[:size])
    return _test_correlation(one, other, compute_variety(one) * compute_variety(other))


def _test_correlation(one: Array, other: Array, meeting: float) -> float:
    """Return a p-value where enough of the rarer outputs meet by chance, else 1."""
    if len(one) * meeting < _PAIRS:
        return 1.0
    return _two_sided(float(one @ other) / math.sqrt(len(one)))


def _two_sided(statistic: float) -> float:
    return float(2 * ndtr(-abs(statistic)))


def _compute_group_positions(groups: Sequence[int] | Labels) -> Labels:
    """Return how many of the same group stand before each, where a group stands together."""
    labels = np.asarray(groups)
    starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
    lengths = np.diff(np.concatenate([starts, [len(labels)]]))
    return np.asarray(np.arange(len(labels)) - np.repeat(starts, lengths), dtype=np.int64)
