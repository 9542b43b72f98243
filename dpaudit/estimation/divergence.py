r"""The Renyi bound: a divergence of some order from outputs alone, by one bet on binned scores.

For every bounded function g of an output (Birrell et al. 2021, Theorem 3.1; here by Hoelder's
inequality), with ``r = a / (a - 1)``,

    D_a(P || Q) >= r log E_P[exp((a - 1) g)] - log E_Q[exp(a g)],

and equality at g = log dP/dQ. Here g is constant on bins of a score. Bins, g and stakes are fixed
on outputs that certify nothing; the counts of fresh ones then bound both means at once. Let
``A, B`` be the two means, X and Y the functions whose means they are. For a slope c > 0 the excess
``t = c A - B`` is bet on: for a stake s and a centre m,

    W(t) = prod_i (1 + s/n (c X_i - m - t)) * prod_j (1 - s/n' (Y_j - m)),   E W(c A - B) <= 1,

as ``1 + x <= exp(x)``. By Markov's inequality the least t with ``W(t) < 1/alpha`` is below the true
excess but for a probability of alpha. Of all means with an excess of at least t, the least
divergence is at ``A = r t / (c (r - 1))``:

    d(t) = (r - 1) log(t / (r - 1)) + r log(r / c).

One spend for both means, and no variance is estimated: the bound holds for any counts. By Ville's
inequality it holds after every unit of outputs at once, so that the best of them counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.optimize import brentq

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument

Rates = tuple[Array, Array]

_BINS = 96
_CLIPS = 16  # heights at which a log-ratio is cut, one of which is taken
_SHARES = (1.0, 0.7, 0.5, 0.35)  # of a log-ratio: rare outputs that weigh much tell too little
_BORNE = 3.0  # standard deviations of a cost that a bet has to bear
_MOST_STAKED = 0.9  # of what leaves every factor positive
_LARGEST = 600.0  # of an exponent


@dataclass(frozen=True)
class Bins:
    """A partition of the line: bin k holds scores from threshold ``k - 1`` up to below ``k``.

    ``thresholds`` ascend, shape ``(K - 1,)``.
    """

    thresholds: Array

    @classmethod
    def of(cls, on_p: Array, on_q: Array, most: int = _BINS) -> Bins:
        """Return bins of about equally many scores, finer towards both ends; or one a value.

        Examples
        --------
        >>> Bins.of(np.array([0.0, 1.0]), np.array([1.0, 3.0])).thresholds.tolist()
        [0.5, 2.0]
        """
        pooled = np.sort(np.concatenate([on_p, on_q]))
        values = np.unique(pooled)
        if len(values) > most:
            ends = np.geomspace(4, len(pooled) / 2, most // 4)
            places = [ends, len(pooled) - ends, np.linspace(0, len(pooled), most // 2 + 1)]
            at = np.concatenate(places).astype(np.int64).clip(0, len(pooled) - 1)
            values = np.unique(pooled[at])
        return cls(_compute_value_midpoints(pooled, values[1:]))

    def __len__(self) -> int:
        return len(self.thresholds) + 1

    def counts(self, scores: Array) -> Array:
        """Return how many scores are in each bin, shape ``(K,)``.

        Examples
        --------
        >>> Bins(np.array([0.0, 1.0])).counts(np.array([-1.0, 0.0, 2.0, 3.0])).tolist()
        [1.0, 1.0, 2.0]
        """
        which = np.searchsorted(self.thresholds, scores, side="right")
        return np.bincount(which, minlength=len(self.thresholds) + 1).astype(np.float64)


def _compute_value_midpoints(ordered: Array, values: Array) -> Array:
    """Return the middles between values and the next ones below that are there."""
    # The caller leaves out the least value, so that each value here has one below it.
    below = ordered[np.searchsorted(ordered, values) - 1]
    # Each is halved first, as the sum of two large scores may overflow.
    middle = values / 2 + below / 2
    # Where no double lies between the two, the bin starts at the value itself.
    return np.where((middle > below) & np.isfinite(middle), middle, values)


@dataclass(frozen=True)
class RenyiBet:
    """The bet on a divergence: everything that is fixed before the counts are seen.

    Parameters
    ----------
    order
        Of the divergence of the favoured side from the other: above 1, finite.
    log_ratios
        g on each bin, shape ``(K,)``.
    slope, centre, stake
        c, m and s of the module's text.
    trials
        How many outputs of the favoured side and of the other will certify.
    """

    order: float
    log_ratios: Array
    slope: float
    centre: float
    stake: float
    trials: tuple[int, int]

    @property
    def gains(self) -> Array:
        """``exp((a - 1) g)`` on each bin."""
        return np.exp((self.order - 1) * self.log_ratios)

    @property
    def costs(self) -> Array:
        """``exp(a g)`` on each bin."""
        return np.exp(self.order * self.log_ratios)

    def log_wealths(self, excess: float, favoured: Array, other: Array) -> Array:
        """Return the logarithm of W after each unit; minus infinity where a factor may be none.

        Parameters
        ----------
        excess
            t.
        favoured, other
            Array in each bin up to the end of each unit, shape ``(U, K)``.
        """
        n, m = self.trials
        up = self.stake / n * (self.slope * self.gains - self.centre - excess)
        down = -self.stake / m * (self.costs - self.centre)
        # A factor of 0 or less is no bet, so that nothing is claimed at such an excess.
        if min(up.min(), down.min()) <= -1:
            return np.full(len(favoured), -math.inf)
        found: Array = favoured @ np.log1p(up) + other @ np.log1p(down)
        return found

    def lower(self, favoured: Array, other: Array, alpha: float) -> float:
        """Return the divergence that counts certify with error probability ``alpha``; at least 0.

        Parameters
        ----------
        favoured, other
            Array in each bin of the favoured side and of the other, unit by unit in the order in
            which they were planned, shape ``(U, K)``; or of all units together, shape ``(K,)``.
        alpha
            Error probability.

        Raises
        ------
        InvalidArgument
            ``alpha`` is not a number in (0, 1), or there is not one count a bin.
        """
        check.require_probability("alpha", alpha)
        for name, counts in (("favoured", favoured), ("other", other)):
            if np.shape(counts)[-1] != len(self.log_ratios):
                expected = f"{len(self.log_ratios)} counts a unit, one a bin"
                raise InvalidArgument(name, np.shape(counts), expected)
        return self._least(favoured, other, -math.log(alpha), 1e-12)

    def decisive(self, favoured: Array, other: Array, alpha: float) -> tuple[Array, Array]:
        """Return the counts that carry `lower`: up to the unit after which the wealth was largest.

        Shape ``(K,)`` each; `lower` of them is that of all units.
        """
        seen = [np.cumsum(np.atleast_2d(one), axis=0) for one in (favoured, other)]
        excess = self._excess(seen, -math.log(alpha), 1e-12)
        last = int(np.argmax(self.log_wealths(excess, *seen)))
        return seen[0][last], seen[1][last]

    def about(self, favoured: Array, other: Array, alpha: float) -> float:
        """Return roughly the result of `lower`, sooner: to compare bets with."""
        return self._least(favoured, other, -math.log(alpha), 1e-4)

    def _least(self, favoured: Array, other: Array, goal: float, precision: float) -> float:
        seen = [np.cumsum(np.atleast_2d(one), axis=0) for one in (favoured, other)]
        excess = self._excess(seen, goal, precision)
        return max(0.0, self.divergence(excess)) if excess > 0 else 0.0

    def divergence(self, excess: float) -> float:
        """Return the least divergence of means with an excess of at least this, above 0."""
        r = self.order / (self.order - 1)
        # (r - 1) log(t / (r - 1)) + r log(r / c), where r may be large
        return (r - 1) * math.log(excess * r / ((r - 1) * self.slope)) + math.log(r / self.slope)

    def _excess(self, seen: Sequence[Array], goal: float, precision: float) -> float:
        """Return nearly the least excess whose wealth never reaches the goal, or 0."""

        def beyond(excess: float) -> float:
            # The search for a root needs finite values.
            return max(float(self.log_wealths(excess, *seen).max()), -1e300) - goal

        if beyond(0.0) < 0:
            return 0.0
        high = float(self.slope * self.gains.max())
        while beyond(high) >= 0:
            high *= 2
        # The root that is found may lie on either side of the true one: twice its tolerance is
        # taken off, so that the bound is never above what was certified.
        found = float(brentq(beyond, 0.0, high, xtol=precision * high, rtol=precision))
        return max(0.0, found - 2 * precision * (found + high))


def choose_renyi_bet(
    log_ratios: Array, rates: Rates, sizes: tuple[int, int], order: float, alpha: float
) -> RenyiBet:
    """Return the bet that promises most, of log-ratios cut at several heights.

    Parameters
    ----------
    log_ratios
        Of the favoured side over the other, in each bin, shape ``(K,)``.
    rates
        Estimated probabilities of the bins on the favoured side and on the other, from outputs
        that certify nothing; shape ``(K,)`` each.
    sizes
        How many outputs of each side will certify.
    order, alpha
        Of the divergence, and the error probability.

    Examples
    --------
    >>> p = np.array([0.75, 0.25])  # randomised response, epsilon = log 3
    >>> rates, sizes = (p, p[::-1]), (100_000, 100_000)
    >>> bet = choose_renyi_bet(np.log(p / p[::-1]), rates, sizes, 2.0, 0.05)
    >>> truth = math.log(p @ (p / p[::-1]))
    >>> 0.9 * truth < estimate_bet_bound(bet, rates, sizes, 0.05) < truth
    True
    """
    cuts = np.unique(np.quantile(log_ratios, np.linspace(0.4, 1.0, _CLIPS)))
    shapes = [share * np.minimum(log_ratios, cut) for share in _SHARES for cut in cuts]
    best = max((_Cut.of(one, rates, sizes, order, alpha) for one in shapes), key=_get_cut_promise)
    bets = [best.bet(*one) for one in product((0.0, 2.0, 5.0, 12.0), (1.0, 0.5, 0.2))]
    return max(bets, key=lambda bet: estimate_bet_bound(bet, rates, sizes, alpha))


def resize_renyi_bet(bet: RenyiBet, rates: Rates, trials: int, alpha: float) -> RenyiBet:
    """Return a bet on the same log-ratios for so many outputs of each side, at such rates."""
    cut = _Cut(bet.log_ratios, rates, (trials, trials), bet.order, alpha, 0.0)
    return cut.bet(_BORNE)


def standard_errors(bet: RenyiBet, rates: Rates, trials: int, claimed: float) -> float:
    """Return by how many standard errors so many outputs at such rates exceed a divergence.

    Examples
    --------
    >>> p = np.array([0.75, 0.25])
    >>> bet = choose_renyi_bet(np.log(p / p[::-1]), (p, p[::-1]), (1000, 1000), 2.0, 0.05)
    >>> truth = math.log(p @ (p / p[::-1]))
    >>> standard_errors(bet, (p, p[::-1]), 1000, truth) < 1e-6
    True
    >>> standard_errors(bet, (p, p[::-1]), 1000, truth / 2) > 5
    True
    """
    r = bet.order / (bet.order - 1)
    gain, cost = float(rates[0] @ bet.gains), float(rates[1] @ bet.costs)
    slope = r * cost / gain
    least = (r - 1) * slope / r * math.exp((claimed - math.log(r / slope)) / (r - 1))
    cut = _Cut(bet.log_ratios, rates, (trials, trials), bet.order, 0.5, 0.0)
    spread = cut._spread(slope, gain, cost)
    return (slope * gain - cost - least) / math.sqrt(max(spread, 1e-300))


def _get_cut_promise(cut: _Cut) -> float:
    return cut.promised


def estimate_bet_bound(bet: RenyiBet, rates: Rates, sizes: tuple[int, int], alpha: float) -> float:
    """Return the bound of a bet if the other side costs more than such rates expect.

    Of many bets the best looks better than it is, and most so where few outputs tell: it has to
    bear a cost of some standard deviations more.
    """
    other = sizes[1] * rates[1]
    # The dearest bin bears what the rates do not expect: one output, and some deviations of all
    # costs.
    other[np.argmax(bet.log_ratios)] += 1 + _BORNE * math.sqrt(float(other @ bet.costs**2))
    return bet.about(sizes[0] * rates[0], other, alpha)


@dataclass(frozen=True)
class _Cut:
    """Log-ratios that are cut at some height, and about the bound that a bet on them certifies."""

    log_ratios: Array
    rates: Rates
    sizes: tuple[int, int]
    order: float
    alpha: float
    promised: float

    @classmethod
    def of(
        cls, log_ratios: Array, rates: Rates, sizes: tuple[int, int], order: float, alpha: float
    ) -> _Cut:
        # A constant changes nothing; so none is too large for a double.
        ratios = np.maximum(log_ratios - log_ratios.max(), -_LARGEST / order)
        cut = cls(ratios, rates, sizes, order, alpha, 0.0)
        bet = cut.bet(_BORNE)
        gain, cost = float(rates[0] @ bet.gains), float(rates[1] @ bet.costs)
        excess = bet.slope * gain - cost + math.log(alpha) / bet.stake
        excess -= bet.stake * cut._spread(bet.slope, gain, bet.centre) / 2
        promised = bet.divergence(excess) if excess > 0 else -math.inf
        return replace(cut, promised=promised)

    def bet(self, further: float = 0.0, share: float = 1.0) -> RenyiBet:
        """Return the bet at such rates, or at a cost of so many standard deviations more.

        ``share`` is that of the stake that is best where the law of the bet is nearly normal.
        """
        gains = np.exp((self.order - 1) * self.log_ratios)
        costs = np.exp(self.order * self.log_ratios)
        gain, cost = float(self.rates[0] @ gains), float(self.rates[1] @ costs)
        several = 1 + math.sqrt(self.sizes[1] * float(self.rates[1] @ costs**2))
        cost += further * several / self.sizes[1]
        slope = self.order / (self.order - 1) * cost / gain
        spread = self._spread(slope, gain, cost)
        stake = math.sqrt(-2 * math.log(self.alpha) / max(spread, 1e-300))
        # Every factor stays positive: of the dearest cost, and of the least gain.
        most = self.sizes[1] / max(1 - cost, 1e-300)
        most = min(most, self.sizes[0] / max(slope * (gain - float(gains.min())), 1e-300))
        stake = share * min(stake, _MOST_STAKED * most)
        return RenyiBet(self.order, self.log_ratios, slope, cost, stake, self.sizes)

    def _spread(self, slope: float, gain: float, cost: float) -> float:
        """Return the variance of the terms of a bet, of so many outputs."""
        gains = np.exp((self.order - 1) * self.log_ratios)
        costs = np.exp(self.order * self.log_ratios)
        favoured = slope**2 * float(self.rates[0] @ (gains - gain) ** 2) / self.sizes[0]
        return favoured + float(self.rates[1] @ (costs - cost) ** 2) / self.sizes[1]
