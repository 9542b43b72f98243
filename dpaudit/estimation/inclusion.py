"""Designs of inclusion of canaries: evidence in the rows of a table against fair coins.

A bound on one run takes the coins as fair and independent. Nothing else is assumed, least of all
of scores. What data can contradict is tested, each check at an error probability of 1e-4:

* **balance**: as many are included as fair coins let be;
* **order**: neither runs of equal coins nor a drift of them along the rows (Wald & Wolfowitz 1940;
  Wilcoxon 1945). Rows that were sorted by inclusion or score say nothing of it;
* **duplicates**: rows with equal scores have coins of their own. A canary that is listed twice has
  one coin, which would count twice. Ties are looked at where there are more than a smooth density
  on the grid of the scores gives, the lowest and the highest score apart, where scores end;
* **runs**: each has coins of its own (a chi-squared test of how many are included in each).

Of pairs, where one of each is included by construction, the check is which of the two comes first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, chdtr, chdtrc, ndtr, pdtrc

from dpaudit._typing import Array
from dpaudit.estimation.canaries import Design
from dpaudit.estimation.self_check import CheckOutcome

Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]

FALSE_ALARM = 1e-4
_FEW = 30  # rows below which nothing is said of order
_NEIGHBOURS = 5  # distinct scores on either side that show how dense they are


def check_inclusion(
    scores: Array, included: Flags, group: Codes, design: Design
) -> list[CheckOutcome]:
    """Return the checks of a design.

    Parameters
    ----------
    scores, included, group
        Shape ``(n,)``, in the order of the rows; ``group`` numbers pairs or runs, from 0.
    design
        What is said of the coins.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> coins, one = rng.random(1000) < 0.5, np.zeros(1000, dtype=np.int64)
    >>> [
    ...     check.passed
    ...     for check in check_inclusion(rng.normal(size=1000), coins, one, "independent")
    ... ]
    [True, True, True]
    >>> every_other = np.arange(1000) % 2 == 0
    >>> [c.passed for c in check_inclusion(rng.normal(size=1000), every_other, one, "independent")]
    [True, False, True]
    """
    if design == "pairs":
        return [_first_of_pairs(included, group), _check_equal_scores(scores, included)]
    alone = group if design == "runs" else np.zeros_like(group)
    made = [_check_coin_order(scores, included, alone), _check_equal_scores(scores, included)]
    if design != "fixed-size":
        made = [_check_balance(included, "canaries are included by fair coins"), *made]
    return [*made, _check_run_coins(included, group)] if design == "runs" else made


def no_drift(scores: Array, included: Flags) -> tuple[bool, str]:
    """Return whether scores of either side keep their level along the rows, and the evidence."""
    found = [_compute_rank_trend(scores[included == side]) for side in (True, False)]
    least = min(found)
    return least >= FALSE_ALARM / 2, f"the smaller of two p-values of a trend is {least:.2g}"


def _make_inclusion_check(name: str, statement: str, p: float, evidence: str) -> CheckOutcome:
    return CheckOutcome(
        name=name,
        statement=statement,
        passed=p >= FALSE_ALARM,
        statistic=p,
        threshold=FALSE_ALARM,
        evidence=evidence,
    )


def _check_balance(included: Flags, statement: str) -> CheckOutcome:
    heads, n = int(included.sum()), len(included)
    p = min(1.0, 2 * min(float(bdtr(heads, n, 0.5)), _at_least(heads, n)))
    return _make_inclusion_check("balance", statement, p, f"{heads} of {n}, p-value {p:.2g}")


def _at_least(heads: int, n: int) -> float:
    return 1.0 if heads == 0 else float(bdtrc(heads - 1, n, 0.5))


def _first_of_pairs(included: Flags, group: Codes) -> CheckOutcome:
    _, first = np.unique(group, return_index=True)
    ahead = included[first]
    statement = "which of a pair is included is a fair coin's"
    if len(ahead) >= _FEW and ahead.all() | (~ahead).all():
        evidence = "every pair has the included one in the same place: its order says nothing"
        return _make_inclusion_check("order", statement, 1.0, evidence)
    return _check_balance(ahead, statement)


def _check_coin_order(scores: Array, included: Flags, group: Codes) -> CheckOutcome:
    """Test runs of equal coins and their drift, within groups; the smaller p-value, twice."""
    statement = "coins of canaries that follow each other are independent"
    shuffled = [
        included[rows]
        for rows in (np.flatnonzero(group == one) for one in range(int(group.max()) + 1))
        if len(rows) > 1 and not _is_sorted_by_inclusion(scores[rows], included[rows])
    ]
    if sum(map(len, shuffled)) < _FEW:
        evidence = "rows are few, or sorted: their order says nothing of the coins"
        return _make_inclusion_check("order", statement, 1.0, evidence)
    runs, drift = (
        _two_sided(map(_compute_runs_statistic, shuffled)),
        _two_sided(map(_compute_drift_statistic, shuffled)),
    )
    p = min(1.0, 2 * min(runs, drift))
    said = f"p-values: runs of equal coins {runs:.2g}, drift {drift:.2g}"
    return _make_inclusion_check("order", statement, p, said)


def _is_sorted_by_inclusion(scores: Array, included: Flags) -> bool:
    changes = int((included[1:] != included[:-1]).sum())
    steps = np.diff(scores)
    return changes <= 1 or bool((steps >= 0).all() or (steps <= 0).all())


def _compute_runs_statistic(coins: Flags) -> tuple[float, float]:
    """Return how many more runs there are than independent coins give, and the variance."""
    n, k = len(coins), int(coins.sum())
    seen = 1 + int((coins[1:] != coins[:-1]).sum())
    product = 2.0 * k * (n - k)
    return seen - 1 - product / n, product * (product - n) / (n * n * (n - 1.0))


def _compute_drift_statistic(coins: Flags) -> tuple[float, float]:
    """Return by how much the places of included rows sum to more than by chance, and variance."""
    n, k = len(coins), int(coins.sum())
    places = float(np.flatnonzero(coins).sum()) + k
    return places - k * (n + 1) / 2, k * (n - k) * (n + 1) / 12


def _two_sided(found: map[tuple[float, float]]) -> float:
    excess, variance = np.array(list(found)).sum(axis=0)
    return float(2 * ndtr(-abs(excess) / math.sqrt(variance))) if variance > 0 else 1.0


def _check_equal_scores(scores: Array, included: Flags) -> CheckOutcome:
    """Test that ties are as many as the scores' grid gives, or else have coins of their own."""
    statement = "rows with equal scores have coins of their own"
    order = np.argsort(scores, kind="stable")
    values, starts, times = np.unique(scores[order], return_index=True, return_counts=True)
    tied = _find_tied_values(values, times)
    by_grid = _by_chance(values, tied)
    first = starts[tied]
    alike = int((included[order[first]] == included[order[first + 1]]).sum())
    coins = _at_least(alike, len(first))
    said = f"{len(first)} values repeat, with equal coins {alike}; p-value {coins:.2g}"
    if by_grid >= FALSE_ALARM:
        return _make_inclusion_check(
            "duplicates", statement, 1.0, f"{len(first)} values repeat, as by chance"
        )
    return _make_inclusion_check("duplicates", statement, coins, said)


def ties_by_chance(numbers: Array) -> float:
    """Return the p-value of so many values that repeat, if their density on their grid is smooth.

    Examples
    --------
    >>> numbers = np.random.default_rng(0).normal(size=500)
    >>> ties_by_chance(numbers), ties_by_chance(np.tile(numbers, 2)) < 1e-9
    (1.0, True)
    """
    values, times = np.unique(numbers, return_counts=True)
    return _by_chance(values, _find_tied_values(values, times))


def _find_tied_values(values: Array, times: Codes) -> Flags:
    """Return which values repeat, the lowest and the highest apart, where scores end."""
    tied = (times > 1) & (values > values[0]) & (values < values[-1])
    return np.asarray(tied)


def _by_chance(values: Array, tied: Flags) -> float:
    return float(pdtrc(int(tied.sum()) - 1, _ties_by_grid(values))) if tied.any() else 1.0


def _ties_by_grid(values: Array) -> float:
    """Return how many values repeat by chance, if their density is smooth.

    A score falls on the same step of its grid as one of its neighbours with about the step over
    the mean gap around it. The step is the smallest gap, or that of numbers with so few digits.
    """
    gaps = np.diff(values)
    width = min(2 * _NEIGHBOURS + 1, len(gaps))
    around = np.convolve(gaps, np.ones(width) / width, mode="same")
    step = np.maximum(gaps.min(), _compute_binary_spacing(values)[:-1])
    return float(np.minimum(1.0, step / np.maximum(around, step)).sum()) + 1.0


def _compute_binary_spacing(values: Array) -> Array:
    """Return the distance of each number from the next that has as few binary digits as all have.

    Examples
    --------
    >>> _compute_binary_spacing(np.array([1.0, 1.5, 4.0]))
    array([0.5, 0.5, 2. ])
    """
    mantissa, exponent = np.frexp(values)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = whole & -whole  # its last digit that is not 0
    digits = 53 - int(np.log2(lowest[whole > 0].min(initial=2**52)))
    return np.asarray(np.ldexp(1.0, exponent - digits))


def _check_run_coins(included: Flags, group: Codes) -> CheckOutcome:
    """Test that as many are included in each run as fair coins let be: no more even, no less."""
    sizes = np.bincount(group)
    several = sizes > 1
    kept = np.bincount(group, weights=included)[several]
    n = sizes[several].astype(np.float64)
    statement = "every run has coins of its own"
    if len(n) < 2:
        return _make_inclusion_check(
            "runs", statement, 1.0, "fewer than two runs of several canaries"
        )
    squares = float(((kept - n / 2) ** 2 / (n / 4)).sum())
    p = min(1.0, 2 * min(float(chdtr(len(n), squares)), float(chdtrc(len(n), squares))))
    said = f"chi-squared {squares:.4g} of {len(n)} runs, p-value {p:.2g}"
    return _make_inclusion_check("runs", statement, p, said)


def _compute_rank_trend(scores: Array) -> float:
    """Return the p-value of a correlation between ranks of scores and places."""
    n = len(scores)
    if n < _FEW:
        return 1.0
    ranks = np.argsort(np.argsort(scores, kind="stable"), kind="stable")
    correlation = float(np.corrcoef(ranks, np.arange(n))[0, 1])
    return float(2 * ndtr(-abs(correlation) * math.sqrt(n - 1)))
