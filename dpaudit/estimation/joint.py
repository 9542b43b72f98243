"""One exact test for both counts of an event: sharper than an interval for each.

| symbol   | name                       | meaning                                                |
|----------|----------------------------|--------------------------------------------------------|
| p, q     |                            | probability of the event on the dataset, the neighbour |
| x, n     | ``hits``, ``trials``       | how often it was seen, of how many, on the dataset     |
| y, m     | ``other_hits``, ...        | the same on the neighbour                              |
| p*(q)    | `compute_allowed_boundary`                 | the largest p that epsilon and delta allow
beside q    |
| l(x, y)  | `make_ranking`                  | orders the outcomes; grows with x, falls with y
 |

If the pair is (epsilon, delta)-indistinguishable then ``p <= p*(q)``, by the event and by its
complement. Outcomes at least as extreme as the observed one are those of l(X, Y) >= l(x, y): for
every y, all x from some ``x_min(y)`` on. A region that holds more of them is as good: it holds all
outcomes that would exclude as much. Its probability grows with p and falls with q, so

    P-value(epsilon) = beta + sup_{q in C} P(X >= x_min(Y)),  X ~ Bin(n, p*(q)),  Y ~ Bin(m, q),

with C a confidence interval for q of error probability beta, a fiftieth of alpha (Berger & Boos
1994). It rises with epsilon, and every epsilon at which it is at most alpha is excluded (Buehler
1957). One error probability covers both counts and both constraints.

The supremum is bounded by cells: on ``q_1 <= q <= q_2`` no tail exceeds that of p*(q_2) with q_1.

Any order will do that is fixed before the counts are seen (`dpaudit.estimation.orders`); in
Buehler's form a bound is not below the one that orders, at the error probability that beta leaves.

With all 2n outputs right the p-value is ``(1 + e^-epsilon)^(-2n)``, but for beta: epsilon is at
least ``-ln(alpha^(-1/(2n)) - 1)``, about ``ln(2n / 3)`` at 95%, which no test on outputs can beat.

Tails at many counts at once are sums of binomial probabilities where these are few, and come from
the incomplete beta function elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, gammaln, xlog1py, xlogy

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.estimation.likelihood import compute_allowed_boundary
from dpaudit.estimation.orders import ORDERS, Counts, HitCounts, make_ranking
from dpaudit.estimation.score_events import Order


def compute_binomial_pmf(k: Counts, n: int, p: float) -> Array:
    """Return ``P(Bin(n, p) = k)`` for each k in 0, ..., n.

    Examples
    --------
    >>> compute_binomial_pmf(np.array([0, 1, 2]), 2, 0.5).round(9)
    array([0.25, 0.5 , 0.25])
    """
    return np.asarray(np.exp(log_ways(k, n) + xlogy(k, p) + xlog1py(n - k, -p)))


def log_ways(k: Counts, n: int) -> Array:
    """Return the logarithm of n over k, for each k."""
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def upper_tails(least: Array, n: int, p: float) -> Array:
    """Return ``P(Bin(n, p) >= k)`` for each k.

    Examples
    --------
    >>> upper_tails(np.array([0.0, 1.0, 3.0]), 2, 0.5)
    array([1.  , 0.75, 0.  ])
    """
    # The incomplete beta function has no value at a shape of 0: outside, tails are known.
    tails = np.where(least <= 0, 1.0, 0.0)
    inside = (least > 0) & (least <= n)
    return np.asarray(betainc(least, n - least + 1, p, out=tails, where=inside))


def lower_tails(most: Array, n: int, p: float) -> Array:
    """Return ``P(Bin(n, p) <= k)`` for each k.

    Examples
    --------
    >>> lower_tails(np.array([-1.0, 0.0, 2.0]), 2, 0.5)
    array([0.  , 0.25, 1.  ])
    """
    # Clipped, as betainc has no value at a shape of 0; the ends are set by hand.
    inside = np.clip(most, 0, n - 1)
    tails = betainc(n - inside, inside + 1, 1 - p)
    return np.where(most < 0, 0.0, np.where(most >= n, 1.0, tails))


_SUMMED = 8  # probabilities that are summed for a tail, for each count that it is wanted at
_TABLE = 2**17  # hits whose ways are kept: of more, rounding is larger, too
_ROUNDED = 1 + 1e-8  # times which a sum of probabilities is no less than the exact one
_CELLS = 24
_STRIDE = 4  # of the cells' edges, where the peak is looked for first
_NUISANCE = 0.02  # share of the error probability that goes to the interval for q
_ROUNDS = 40
_MOST_CELLS = 400  # undecided cells
_AT_ONCE = 16  # parts that one is cut into
_LEFT_OUT = 1e-6  # of alpha: the tails of a count that are added whole instead of summed over
_ONE_BY_ONE = 1000  # numbers of other hits up to which each is counted by itself
_GROUPS = 150  # groups that are counted alike where there are more
_EVEN = 0.1  # share of the groups that are spread evenly, wherever the others are
# The rarest of the four counts, between which one order may be ahead of the other by over .01.
_RARE = range(1, 101)


def joint_lower_bound(
    hits: int,
    other_hits: int,
    trials: int,
    other_trials: int,
    *,
    delta: float,
    alpha: float,
    order: Order = "likelihood",
) -> float:
    """Return the largest epsilon that the counts of one event exclude; 0 if they exclude none.

    Formal guarantee: with probability at least ``1 - alpha`` the result is at most the epsilon of
    the pair at ``delta`` (both directions), if event and order were chosen on other outputs.

    Parameters
    ----------
    hits, trials
        On the dataset, which the event favours.
    other_hits, other_trials
        On the neighbour.
    delta
        At which epsilon is bounded.
    alpha
        Error probability.
    order
        Which outcomes count as more extreme than others (`choose_order`).

    Raises
    ------
    InvalidArgument
        A count is not an integer between 0 and its trials, or a probability not one.

    Examples
    --------
    >>> found = joint_lower_bound(500, 0, 500, 500, delta=0.0, alpha=0.05)
    >>> import math
    >>> math.isclose(found, -math.log(20 ** (1 / 1000) - 1), rel_tol=0.01)
    True
    >>> few = {"hits": 300, "other_hits": 10, "trials": 4830, "other_trials": 4830}
    >>> orders = ("likelihood", "interval")
    >>> [round(joint_lower_bound(**few, delta=0.0, alpha=0.05, order=o), 2) for o in orders]
    [2.37, 2.84]
    """
    _require(hits, trials, other_hits, other_trials)
    check.require_delta("delta", delta)
    check.require_probability("alpha", alpha)
    return _lower_bound(HitCounts(hits, other_hits, trials, other_trials), delta, alpha, order)


def choose_order(
    rates: tuple[float, float], trials: tuple[int, int], *, delta: float, alpha: float
) -> Order:
    """Return the order whose bound is the larger at these rates, "likelihood" if neither is.

    Parameters
    ----------
    rates
        Of the event on the dataset that it favours and on the other one: of outputs that
        certify nothing.
    trials
        How many outputs of each will certify.
    delta, alpha
        At which epsilon is bounded, and the error probability.

    Examples
    --------
    >>> choose_order((0.06, 0.002), (5000, 5000), delta=0.0, alpha=0.05)
    'interval'
    >>> choose_order((0.6, 0.2), (5000, 5000), delta=0.0, alpha=0.05)
    'likelihood'
    """
    hits, other_hits = (round(rate * many) for rate, many in zip(rates, trials, strict=True))
    if min(other_hits, trials[0] - hits) not in _RARE:
        return "likelihood"
    outcome = HitCounts(hits, other_hits, *trials)
    return max(ORDERS, key=lambda order: _lower_bound(outcome, delta, alpha, order))


def largest_lower_bound(trials: int, other_trials: int, *, delta: float, alpha: float) -> float:
    """Return the largest bound of so many outputs, all of them right, in whichever order.

    Examples
    --------
    >>> round(largest_lower_bound(10_000, 10_000, delta=0.0, alpha=0.05), 2)
    8.79
    """
    counts = (trials, 0, trials, other_trials)
    return max(joint_lower_bound(*counts, delta=delta, alpha=alpha, order=o) for o in ORDERS)


@lru_cache(maxsize=64)  # what certifies an event is asked for again where its outputs are checked
def _lower_bound(outcome: HitCounts, delta: float, alpha: float, order: Order) -> float:
    test = _Test.of(outcome, delta, alpha, order)
    # Where no epsilon, not even 0, is excluded, there is nothing to search for.
    if test is None or test.log_peak(0.0) > 0:
        return 0.0
    epsilon, step = _find_alpha_crossing(test), test.resolution
    # The crossing is a guess of floating point. An epsilon is returned only once every cell of q is
    # proved to stay within alpha.
    while epsilon > step:
        rate = test.counterexample(epsilon - step)
        if rate is None:
            return epsilon - step
        # Undecided is not proved: a larger step gives up more of the bound.
        if math.isnan(rate):
            step *= 2
        else:
            epsilon = test.crossing_at(rate, epsilon - step)
    return 0.0


def _find_alpha_crossing(test: _Test) -> float:
    """Return about where the p-value reaches alpha: near the rank of the counts."""
    low = high = test.observed
    step = 16 * test.resolution
    while low > 0 and test.log_peak(low) > 0:
        low, step = max(0.0, low - step), 2 * step
    step = 16 * test.resolution
    while test.log_peak(high) <= 0:
        high, step = high + step, 2 * step
    return float(brentq(test.log_peak, low, high, xtol=test.resolution / 4))


def _split_cells(left: Array, right: Array, parts: Array) -> tuple[Array, Array]:
    """Return cells cut into about so many parts each, two at least."""
    count = np.clip(np.nan_to_num(1.2 * parts), 2, _AT_ONCE).astype(np.int64)
    cells = [np.linspace(*one) for one in zip(left, right, count + 1, strict=True)]
    return np.concatenate([c[:-1] for c in cells]), np.concatenate([c[1:] for c in cells])


@dataclass(frozen=True)
class _Test:
    """The region of extreme outcomes, and the probabilities of it that matter.

    ``least[i]`` is the fewest hits with which ``first + i`` other hits are extreme, ``trials + 1``
    if none; other numbers of other hits are too rare to matter.
    """

    trials: int
    other_trials: int
    delta: float
    alpha: float
    first: int
    least: Counts
    edges: Array
    reach: float  # standard deviations of a count that are summed over
    observed: float  # a little less than the epsilon by which the order ranks the counts
    resolution: float  # in epsilon: about a hundredth of a standard error

    @classmethod
    def of(cls, outcome: HitCounts, delta: float, alpha: float, order: Order) -> _Test | None:
        """Return the test of these counts, or None if they suggest no epsilon above 0."""
        rank = make_ranking(order, outcome, delta, alpha)
        if rank.rank == 0:
            return None
        n, m, beta = outcome.trials, outcome.other_trials, _NUISANCE * alpha
        edges = _make_interval_edges(outcome.other_hits, m, beta)
        reach = math.sqrt(2 * math.log(1 / (_LEFT_OUT * alpha)))
        # Both ends of the window rise with q wherever they are inside 0 to m, so that the windows
        # of the outer edges hold all others.
        (first, _), (_, last) = (
            _choose_count_window(m, float(q), reach) for q in (edges[0], edges[-1])
        )
        least = rank.region(np.arange(first, last + 1))
        found = (first, least, edges, reach, rank.rank, rank.resolution)
        return cls(n, m, delta, alpha - beta, *found)

    def log_peak(self, epsilon: float) -> float:
        """Return the logarithm of the largest tail found over alpha: above 0 excludes nothing."""
        # The floor keeps the logarithm finite where no outcome is extreme.
        grid, peak = self.edges[::_STRIDE], 1e-300
        for _ in range(3):
            values = self.tail(compute_allowed_boundary(grid, epsilon, self.delta), grid)
            at = int(np.argmax(values))
            peak = max(peak, float(values[at]))
            grid = np.linspace(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)], 9)
        return math.log(peak / self.alpha)

    def crossing_at(self, rate: float, most: float) -> float:
        """Return the epsilon at which the tail beside one rate reaches alpha: above it at most."""

        def excess(epsilon: float) -> float:
            q = np.array([rate])
            return math.log(
                max(
                    float(self.tail(compute_allowed_boundary(q, epsilon, self.delta), q)[0]), 1e-300
                )
            )

        level = math.log(self.alpha)
        if excess(0.0) >= level:
            return 0.0
        return float(brentq(lambda e: excess(e) - level, 0.0, most, xtol=self.resolution / 4))

    def counterexample(self, epsilon: float) -> float | None:
        """Return a rate of other hits beside which the p-value at epsilon is above alpha.

        None if there is none, proved on every cell; NaN if that is not decided.
        """
        left, right = self.edges[:-1], self.edges[1:]
        for _ in range(_ROUNDS):
            # The tail grows with p and falls with q: p of the right edge beside q of the left
            # bounds the cell.
            bounds = self.tail(compute_allowed_boundary(right, epsilon, self.delta), left)
            undecided = bounds > self.alpha
            if not undecided.any():
                return None
            left, right, bounds = left[undecided], right[undecided], bounds[undecided]
            middle = (left + right) / 2
            there = self.tail(compute_allowed_boundary(middle, epsilon, self.delta), middle)
            if (there > self.alpha).any():
                return float(middle[np.argmax(there)])
            # Cells that no double divides any more cannot be decided.
            if len(left) > _MOST_CELLS or (middle <= left).any():
                return math.nan
            left, right = _split_cells(
                left, right, (bounds - there) / np.maximum(self.alpha - there, 0)
            )
        return math.nan

    def tail(self, p: Array, q: Array) -> Array:
        """Return the probability of an extreme outcome for each pair (p, q), shape as given."""
        return np.array([self._one_tail(*one) for one in zip(p.tolist(), q.tolist(), strict=True)])

    def _one_tail(self, p: float, q: float) -> float:
        m = self.other_trials
        first, last = _choose_count_window(m, q, self.reach)
        if last - first > _ONE_BY_ONE:
            return self._bound_grouped_tail(p, q, first, last)
        place = slice(first - self.first, last + 1 - self.first)
        hits = self._hits_reached(self.least[place], p)
        others = _compute_binomial_from_ways(self._others[place], first, m, q)
        # Rounding counts against the bound, and so does all that the window leaves out.
        return min(
            1.0, _ROUNDED * float(others @ hits) + _compute_binomial_tails(first, last, m, q)
        )

    @cached_property
    def _others(self) -> Array:
        """The logarithm of how many ways there are to each number of other hits."""
        return log_ways(np.arange(len(self.least)) + self.first, self.other_trials)

    @cached_property
    def _hits(self) -> tuple[int, Array]:
        """The fewest extreme hits, and the logarithm of how many ways there are from there on."""
        fewest = max(int(self.least[0]), 0)
        return fewest, log_ways(np.arange(fewest, self.trials + 1), self.trials)

    def _hits_reached(self, least: Counts, p: float) -> Array:
        """Return the probability of so many hits for each of ever larger numbers."""
        fewest, most = max(int(least[0]), 0), max(int(least[-1]), 0)
        # A sum of too many terms is slower than betainc, and rounds worse.
        if self.trials > _TABLE or most - fewest > _SUMMED * len(least):
            return upper_tails(least.astype(np.float64), self.trials, p)
        start, ways = self._hits
        each = _compute_binomial_from_ways(
            ways[fewest - start : most - start], fewest, self.trials, p
        )
        beyond = upper_tails(np.array([float(most)]), self.trials, p)
        sums = np.cumsum(np.concatenate([beyond, each[::-1]]))[::-1]
        return np.asarray(sums[np.maximum(least, fewest) - fewest])

    def _bound_grouped_tail(self, p: float, q: float, first: int, last: int) -> float:
        """Return a little more than the tail: groups of other hits count as their fewest.

        The fewest extreme hits grow with the other hits, so each group's first reaches most.
        """
        m = self.other_trials
        starts = self._starts(p, q, first, last)
        probabilities = np.diff(lower_tails(np.append(starts, last + 1.0) - 1, m, q))
        least = self.least[starts - self.first].astype(np.float64)
        reached = upper_tails(least, self.trials, p)
        return min(1.0, float(probabilities @ reached) + _compute_binomial_tails(first, last, m, q))

    def _starts(self, p: float, q: float, first: int, last: int) -> Counts:
        """Return where groups of other hits start: more where the tail comes from.

        What groups add to it is their width times how probable the other hits are there and how
        fast the hits that are reached fall; by normal laws.
        """
        n, m = self.trials, self.other_trials
        y = np.linspace(first, last, 4 * _GROUPS).astype(np.int64)
        hits = (self.least[y - self.first] - n * p) / math.sqrt(n * p * (1 - p) + 1)
        others = (y - m * q) / math.sqrt(m * q * (1 - q) + 1)
        # The square root of the product, as it makes the least of the sum.
        weight = np.exp(-(np.clip(hits, -9, 9) ** 2 + others**2) / 4)
        share = np.cumsum(weight) / weight.sum()
        even = np.arange(1, len(y) + 1) / len(y)
        among = (1 - _EVEN) * share + _EVEN * even
        starts = y[np.searchsorted(among, np.arange(_GROUPS) / _GROUPS)]
        return np.concatenate([[first], starts[np.diff(starts, prepend=first) > 0]])


def _compute_binomial_from_ways(ways: Array, first: int, n: int, p: float) -> Array:
    """Return ``P(Bin(n, p) = k)`` for each k from ``first`` on, by the logarithms of their ways."""
    k = np.arange(first, first + len(ways))
    # At 0 and 1 a logarithm is infinite, which only xlogy and xlog1py multiply by 0 to 0.
    if not 0 < p < 1:
        return compute_binomial_pmf(k, n, p)
    return np.exp(ways + (k * math.log(p) + (n - k) * math.log1p(-p)))


def _compute_binomial_tails(first: int, last: int, n: int, p: float) -> float:
    """Return the probability of a count below ``first`` or above ``last``."""
    below = betainc(n - first + 1, first, 1 - p) if first > 0 else 0.0
    above = betainc(last + 1, n - last, p) if last < n else 0.0
    return float(below + above)


def _choose_count_window(m: int, q: float, reach: float) -> tuple[int, int]:
    """Return the counts that are summed over: those beyond are as rare as the mass left out."""
    spread = reach * math.sqrt(m * q * (1 - q)) + 0.7 * reach**2
    return max(0, math.floor(m * q - spread)), min(m, math.ceil(m * q + spread))


def _require(hits: int, trials: int, other_hits: int, other_trials: int) -> None:
    check.require_integer("trials", trials, least=1)
    check.require_integer("other_trials", other_trials, least=1)
    for name, count, of in (("hits", hits, trials), ("other_hits", other_hits, other_trials)):
        check.require_integer(name, count, least=0)
        if count > of:
            raise InvalidArgument(name, count, f"at most the {of} trials")


def _make_interval_edges(hits: int, trials: int, beta: float) -> Array:
    """Return edges of cells that cover the Clopper-Pearson interval of a count."""
    low, high = clopper_pearson(hits, trials, beta)
    # A geometric grid cannot start at 0. Both grids are there, as the peak may lie at any scale of
    # q.
    inner = np.geomspace(max(low, high * 1e-9), high, _CELLS)
    return np.unique(np.concatenate([[low], np.linspace(low, high, _CELLS), inner, [high]]))
