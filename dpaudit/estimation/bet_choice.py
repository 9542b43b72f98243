"""The choice of a bet on a divergence: bins, ratios and side, from outputs that certify nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.optimize import isotonic_regression

from dpaudit._typing import Array
from dpaudit.estimation.divergence import (
    Bins,
    Rates,
    RenyiBet,
    choose_renyi_bet,
    estimate_bet_bound,
)

_HUGE = 1e100  # scores beyond it count as that


@dataclass(frozen=True)
class BetChoice:
    """A bet on a divergence, with the bins that it counts and which side it favours.

    ``above`` is whether the dataset is favoured; ``promised`` what the outputs that chose it
    suggest, over the order where the largest ratio of both is looked for.
    """

    bins: Bins
    above: bool
    bet: RenyiBet
    promised: float

    def lower(self, on_p: Array, on_q: Array, alpha: float) -> float:
        """Return the divergence that fresh counts certify, of dataset and neighbour, by unit."""
        sides = (on_p, on_q)
        first, second = (sides[which] for which in _get_favoured_order(self.above))
        return self.bet.lower(first, second, alpha)

    def decisive(self, on_p: Array, on_q: Array, alpha: float) -> tuple[Array, Array]:
        """Return the counts that carry `lower`, of the favoured dataset and of the other."""
        sides = (on_p, on_q)
        first, second = (sides[which] for which in _get_favoured_order(self.above))
        return self.bet.decisive(first, second, alpha)


def choose_bet(
    scores_p: Array,
    scores_q: Array,
    orders: Sequence[float],
    trials: int,
    alpha: float,
) -> BetChoice:
    """Return the bet on the divergence, over its order if there are several, that promises most.

    Log-ratios of bins are as counted, or a polynomial of the score; what is fitted to one half of
    the scores is judged by the other.

    Parameters
    ----------
    scores_p, scores_q
        Scores of outputs that certify nothing, on dataset and neighbour, shape ``(R,)``.
    orders
        One, or several of which the one with the largest divergence over order is taken.
    trials
        How many outputs of each side will certify.
    alpha
        Error probability.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(1, 1, (2, 20_000)), rng.normal(0, 1, (2, 20_000))
    >>> chosen = choose_bet(p[0], q[0], [2.0], 20_000, 0.05)
    >>> counts = [chosen.bins.counts(side[1]) for side in (p, q)]
    >>> 0.8 < chosen.lower(*counts, 0.05) < 1.0  # the truth is 1
    True
    """
    # Bins may come from all scores: the halves judge log-ratios alone, and fresh counts certify.
    bins = Bins.of(scores_p, scores_q)
    # The halves interleave, so that a drift along the outputs falls on both alike.
    halves = [[bins.counts(side[half::2]) for side in (scores_p, scores_q)] for half in (0, 1)]
    centres = _compute_bin_centres(bins, np.concatenate([scores_p, scores_q]))
    judge = _Judge(halves, centres, (trials, trials), alpha, len(orders) > 1)
    # Two fits choose side and order, and all fits are tried for that choice alone: far fewer tries
    # than all combinations.
    first = [_Try(*one) for one in product((True, False), orders, _FIRST_FITS)]
    best = max(first, key=judge.promised)
    best = max((replace(best, fit=fit) for fit in _FITS), key=judge.promised)
    return BetChoice(bins, best.above, judge.bet(best, halves), judge.promised(best))


_Halves = Sequence[Sequence[Array]]
_Fit = Callable[[Sequence[Array], Array], Array]


@dataclass(frozen=True)
class _Try:
    """The favoured side, the order, and the way to fit log-ratios."""

    above: bool
    order: float
    fit: _Fit


@dataclass(frozen=True)
class _Judge:
    """Judges tries: a fit to one half of the outputs is judged by the other half."""

    halves: _Halves
    centres: Array
    sizes: tuple[int, int]
    alpha: float
    over_order: bool

    def bet(self, tried: _Try, halves: _Halves) -> RenyiBet:
        """Return the bet of a try on these halves, one or both."""
        counts = [
            np.sum([half[which] for half in halves], axis=0)
            for which in _get_favoured_order(tried.above)
        ]
        ratios = tried.fit(counts, self.centres)
        return choose_renyi_bet(
            ratios, _estimate_bin_rates(counts), self.sizes, tried.order, self.alpha
        )

    def promised(self, tried: _Try) -> float:
        """Return the promise of both halves, over the order if that counts."""
        one, other = self.halves
        found = 0.0
        for fitted, fresh in ((one, other), (other, one)):
            rates = _estimate_bin_rates(
                [fresh[which] for which in _get_favoured_order(tried.above)]
            )
            found += (
                estimate_bet_bound(self.bet(tried, [fitted]), rates, self.sizes, self.alpha) / 2
            )
        return found / tried.order if self.over_order else found


def _get_favoured_order(above: bool) -> tuple[int, int]:
    """Return which of the two is favoured, and which is the other."""
    return (0, 1) if above else (1, 0)


def _compute_counted_log_ratios(counts: Sequence[Array], centres: Array) -> Array:
    # Half a count in each bin keeps the logarithm finite where one side saw none.
    first, second = ((one + 0.5) / one.sum() for one in counts)
    return np.asarray(np.log(first / second))


def _fit_polynomial_ratios(degree: int, counts: Sequence[Array], centres: Array) -> Array:
    """Return a polynomial of the score, within the range of the counted log-ratios."""
    ratios = _compute_counted_log_ratios(counts, centres)
    # A polynomial with as many coefficients as there are bins reproduces their noise.
    if len(ratios) <= degree + 1:
        return ratios
    fitted = np.polynomial.Polynomial.fit(
        centres, ratios, degree, w=np.sqrt(_compute_ratio_weights(counts))
    )
    # Near the ends, where counts are few, a polynomial leaves the range of what was counted.
    return np.asarray(np.clip(fitted(centres), ratios.min(), ratios.max()))


def _fit_rising_ratios(counts: Sequence[Array], centres: Array) -> Array:
    """Return the rising function of the score that is closest to the counts."""
    found = isotonic_regression(
        _compute_counted_log_ratios(counts, centres), weights=_compute_ratio_weights(counts)
    )
    return np.asarray(found.x)


def _fit_falling_ratios(counts: Sequence[Array], centres: Array) -> Array:
    return _fit_rising_ratios([one[::-1] for one in counts], centres[::-1])[::-1]


def _compute_coarse_log_ratios(together: int, counts: Sequence[Array], centres: Array) -> Array:
    """Return the log-ratios of so many bins together, which vary less."""
    groups = np.arange(len(centres)) // together
    return _compute_counted_log_ratios(
        [np.bincount(groups, one).astype(np.float64) for one in counts], centres
    )[groups]


def _compute_ratio_weights(counts: Sequence[Array]) -> Array:
    """Return 1 over about the variance of each log-ratio that was counted."""
    return np.asarray(1 / (1 / (counts[0] + 0.5) + 1 / (counts[1] + 0.5)))


_FIRST_FITS: tuple[_Fit, ...] = (
    partial(_fit_polynomial_ratios, 1),
    partial(_compute_coarse_log_ratios, 3),
)
_FITS: tuple[_Fit, ...] = (
    *_FIRST_FITS,
    partial(_fit_polynomial_ratios, 2),
    partial(_fit_polynomial_ratios, 3),
    partial(_compute_coarse_log_ratios, 8),
    _compute_counted_log_ratios,
    _fit_rising_ratios,
    _fit_falling_ratios,
)


def _estimate_bin_rates(counts: Sequence[Array]) -> Rates:
    """Return the probabilities of bins: half a count more is shared by all."""
    first, second = ((one + 0.5 / len(one)) / (one.sum() + 0.5) for one in counts)
    return first, second


def _compute_bin_centres(bins: Bins, scores: Array) -> Array:
    """Return a score in the middle of each bin."""
    # An infinite score would put the middle of an outer bin at infinity.
    ends = np.clip([scores.min(), scores.max()], -_HUGE, _HUGE)
    edges = np.clip(np.concatenate([ends[:1], bins.thresholds, ends[1:]]), *ends)
    middle: Array = edges[:-1] / 2 + edges[1:] / 2
    return middle
