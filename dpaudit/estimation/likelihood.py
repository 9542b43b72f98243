r"""The likelihood bound on epsilon from counts of one event: it orders outcomes, it proves nothing.

| symbol | meaning                                                                                |
|--------|----------------------------------------------------------------------------------------|
| p, q   | probability of the event on the favoured dataset and on the other one                   |
| H(e)   | the pairs (p, q) that (e, delta)-indistinguishability allows                            |
| D(e)   | least ``n KL(x/n, p) + m KL(y/m, q)`` over H(e): how far the counts x, y are from it    |

H(e) lies under ``p*(q)``, the lesser of ``e^e q + delta`` and ``1 - e^-e (1 - q - delta)``.
What D minimises is convex along each of the two lines, so its least is where its slope changes
sign, or at the edge where they meet; whatever q is tried gives no less than the exact D. D grows
with x, falls with y, and falls with e. The likelihood bound is the e at which D is half the square
of a normal quantile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from dpaudit._typing import Array

_STEPS = 60  # steps of Newton's method
_NEAR = 1e-9  # relative change that ends it: a cost is off by the square of a share of q
_HALVINGS = 25
_FEW = 12  # numbers up to which it is the calls that take time
_AT_ONCE = 5  # halvings in one call for these
_LARGEST = 60.0


def compute_allowed_boundary(q: Any, epsilon: Any, delta: float) -> Array:
    """Return the largest p that epsilon and delta allow beside q, entry by entry.

    Examples
    --------
    >>> compute_allowed_boundary(np.array([0.0, 0.5, 1.0]), np.log(2), 0.0).round(3)
    array([0.  , 0.75, 1.  ])
    """
    # The exponential overflows a double beyond 709.
    direct = np.exp(np.minimum(epsilon, 700.0)) * q + delta
    complement = 1 - np.exp(-epsilon) * (1 - q - delta)
    return np.asarray(np.clip(np.minimum(direct, complement), 0.0, 1.0))


def distance(
    rate: Any, other: Any, trials: int, other_trials: int, epsilon: Any, delta: float
) -> Array:
    """Return D at epsilon for observed rates, all of one shape; 0 for rates that are allowed.

    Examples
    --------
    >>> bool(distance(np.array([0.9]), np.array([0.1]), 100, 100, 1.0, 0.0)[0] > 5)
    True
    >>> distance(np.array([0.2]), np.array([0.1]), 100, 100, 1.0, 0.0)
    array([0.])
    """
    rate, other, epsilon = np.broadcast_arrays(
        np.asarray(rate, float), np.asarray(other, float), np.asarray(epsilon, float)
    )
    found = np.zeros(rate.shape)
    far = ~(
        rate <= compute_allowed_boundary(other, epsilon, delta)
    )  # nothing is to be found for the others
    if far.any():
        found[far] = _compute_forbidden_distance(
            rate[far], other[far], trials, other_trials, epsilon[far], delta
        )
    return found


def _compute_forbidden_distance(
    rate: Array, other: Array, trials: int, other_trials: int, epsilon: Array, delta: float
) -> Array:
    """Return D for observed rates that are not allowed.

    The least over H(e) lies on a line that the rates violate, and not beyond the edge.
    """
    large = np.exp(np.minimum(epsilon, 700.0))
    edge = (1 - delta) / (1 + large)
    sizes = trials, other_trials
    direct = _to_line((rate, other), sizes, large, delta, edge)
    complement = _to_line((1 - other, 1 - rate), sizes[::-1], large, delta, edge)
    found = np.minimum(direct, complement)
    return np.where(np.isinf(found), 0.0, found)  # rounding alone put them beyond what is allowed


def _to_line(
    rates: tuple[Array, Array], sizes: tuple[int, int], slope: Array, delta: float, edge: Array
) -> Array:
    """Return the least ``n KL(x, p) + m KL(y, q)`` on ``p = slope q + delta`` with q to the edge.

    Infinite for rates that lie under the line. In r, the share of ``p - delta`` that the rate x
    has, the slope of the cost times positive numbers is a cubic that changes sign once.
    """
    rate, other = rates
    over = np.maximum(rate - delta, 0.0)
    violated = over > slope * other
    width = np.where(violated, over, 1.0) / slope
    least = np.where(violated, np.minimum(other / width, 1.0), 1.0)
    share = _find_cubic_root(_compute_slope_cubic((other, over, width), sizes, delta), least)
    q = np.minimum(share * width, edge)
    p = np.minimum(slope * q + delta, 1.0)
    found = sizes[0] * _compute_coin_divergence(rate, p) + sizes[1] * _compute_coin_divergence(
        other, q
    )
    return np.where(violated, found, np.inf)


def _compute_slope_cubic(
    at: tuple[Array, Array, Array], sizes: tuple[int, int], delta: float
) -> tuple[Array, Array, Array, Array]:
    """Return the coefficients, the constant first, of the slope of the cost."""
    other, over, width = at
    n, m = sizes
    square, product = over * over, over * (1 - 2 * delta)
    constant = delta * (1 - delta)
    return (
        -m * other * constant,
        -n * square + m * (width * constant - other * product),
        n * square * (1 + width) + m * (width * product + other * square),
        -(n + m) * square * width,
    )


def _find_cubic_root(cubic: tuple[Array, Array, Array, Array], least: Array) -> Array:
    """Return where cubics change sign between a number and 1: Newton's steps, else halvings."""
    c0, c1, c2, c3 = cubic
    low, high = least, np.ones_like(least)
    at = (low + high) / 2
    for _ in range(_STEPS):
        value = c0 + at * (c1 + at * (c2 + at * c3))
        low, high = np.where(value > 0, low, at), np.where(value > 0, at, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = at - value / (c1 + at * (2 * c2 + at * (3 * c3)))
        # A step that leaves the bracket, or is NaN, is replaced by a halving of the bracket.
        then = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        if (np.abs(then - at) <= _NEAR * at).all():
            break
        at = then
    return at


def likelihood_bound(
    rate: Any, other: Any, trials: int, other_trials: int, delta: float, exponent: Any
) -> Array:
    """Return the largest epsilon at which D is at least ``exponent`` nats; 0 if at none.

    Parameters
    ----------
    rate, other
        Observed rates of the event on the favoured dataset and on the other, of one shape.
    trials, other_trials
        How many trials they are rates of.
    delta
        At which epsilon is meant.
    exponent
        ``z^2 / 2`` for the normal quantile z of the error probability.

    Examples
    --------
    >>> likelihood_bound(np.array([0.9, 0.5]), np.array([0.1, 0.5]), 500, 500, 0.0, 1.35).round(1)
    array([2., 0.])
    """
    rate, other, exponent = np.broadcast_arrays(rate, other, exponent)

    def far(epsilon: Any) -> NDArray[np.bool_]:
        return np.asarray(distance(rate, other, trials, other_trials, epsilon, delta) >= exponent)

    low, high = np.zeros(rate.shape), np.full(rate.shape, _LARGEST)
    times = _AT_ONCE if rate.size <= _FEW else 1
    for _ in range(_HALVINGS // times):
        low, high = _halve_brackets(far, low, high, times)
    return np.where(far(0.0), low, 0.0)


def _halve_brackets(
    far: Callable[[Array], NDArray[np.bool_]], low: Array, high: Array, times: int
) -> tuple[Array, Array]:
    """Return the ends after so many halvings, with all middles that may come up tried at once."""
    ends, middles = [(low, high)], []
    for _ in range(times):
        middles.append([(a + b) / 2 for a, b in ends])
        halves = zip(ends, middles[-1], strict=True)
        ends = [half for (a, b), middle in halves for half in ((a, middle), (middle, b))]
    told = far(np.stack([middle for level in middles for middle in level]))
    at = np.zeros(low.shape, np.int64)
    for level in middles:
        middle, beyond = np.choose(at, level), np.choose(at, told[: len(level)])
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        at, told = 2 * at + beyond, told[len(level) :]
    return low, high


def largest_likelihood_bound(
    rate: Array, other: Array, trials: int, other_trials: int, delta: float, exponent: float
) -> tuple[int, float]:
    """Return which of the rates have the largest `likelihood_bound`, the first if several, and it.

    Bisected together, those that fall behind by one halving are never tried again.

    Examples
    --------
    >>> rate, other = np.array([0.5, 0.9, 0.8]), np.array([0.5, 0.1, 0.1])
    >>> at, bound = largest_likelihood_bound(rate, other, 500, 500, 0.0, 1.35)
    >>> at, round(bound, 1)
    (1, 2.0)
    """

    def far(among: NDArray[np.intp], epsilon: float) -> NDArray[np.intp]:
        found = distance(rate[among], other[among], trials, other_trials, epsilon, delta)
        return among[found >= exponent]

    ahead, low, high = far(np.arange(len(rate)), 0.0), 0.0, _LARGEST
    if not len(ahead):
        return 0, 0.0
    for _ in range(_HALVINGS):
        if len(ahead) <= _FEW:
            break
        middle = (low + high) / 2
        beyond = far(ahead, middle)
        ahead, low, high = (beyond, middle, high) if len(beyond) else (ahead, low, middle)
    bounds = likelihood_bound(rate[ahead], other[ahead], trials, other_trials, delta, exponent)
    best = int(np.argmax(bounds))
    return int(ahead[best]), float(bounds[best])


def _compute_coin_divergence(rate: Array, other: Array) -> Array:
    """Return the divergence of coins, infinite where the observed counts are impossible."""
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(rate > 0, xlogy(rate, rate) - rate * np.log(other), 0.0)
        miss = np.where(rate < 1, xlogy(1 - rate, 1 - rate) - (1 - rate) * np.log1p(-other), 0.0)
    return np.asarray(hit + miss)
