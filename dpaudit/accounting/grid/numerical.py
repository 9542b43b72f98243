"""Bracketed numerical composition of any sequence of releases that have dominating pairs.

The losses of the steps add up. Their laws, tilted by ``exp(order L)`` with the order of the saddle
point for the question at hand, are rounded onto one grid both ways
(`dpaudit.accounting.grid.convolution`) and convolved by FFT. What the upper end rests on, besides
the rounding upwards:

* mass outside the windows of the grid and mass wrapped around by the cyclic convolution, both at
  most their Chernoff bounds under the tilt;
* the rounding errors of the transform, in the l2 norm: ``count`` times that of one transform.

Both are added before the tilt is taken back, where they weigh at most ``exp(-order epsilon)``.

The lower end is a test's: cells are outputs of a mechanism that lost information, and for every
threshold on the sum of cell numbers ``delta >= P(A) - exp(epsilon) Q(A)``. The best threshold
counts; outputs in which some step left its window are in no test. So both ends are off to second
order in the spacing only. Where delta is so small that the difference loses its digits, the law
rounded downwards takes its place. A single release is not transformed: nothing wraps around.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import dpaudit._check as check
from dpaudit.accounting.events import Event
from dpaudit.accounting.grid.convolution import (
    Convolution,
    RoundedLaw,
    convolve_laws,
    round_loss_law,
)
from dpaudit.accounting.grid.curves import LowerCurve, UpperCurve
from dpaudit.accounting.pairs.composition import MANY, Bracket, Composition
from dpaudit.accounting.pairs.pair import DominatingPair
from dpaudit.errors import ConvergenceError

# Where the search for an order begins. Chernoff's bound holds at any order, so that this limits how
# close it is, not whether it holds.
LEAST_ORDER = 1e-6
# Of the tilted mass: what the windows leave out.
LEFT_OUT = 1e-15
_FARTHEST = 1e12
_STEEPEST = 500.0  # logarithm of what a tilt may change by within a cell: doubles end at 709


def search_valley_minimum(
    function: Callable[[float], float], start: float, factor: float, gain: float, farthest: float
) -> float:
    """Return about where a function with one valley is least, by multiplying with ``factor``.

    It stops once two factors brought less than the gain: every order gives a bound that holds.
    """
    best, at, since, x = math.inf, start, 0, start
    while since < 2 and x < farthest:
        value = function(x)
        # The first finite value counts as a gain, whatever its size: infinity less a share of
        # infinity compares with nothing.
        since = 0 if value < best - gain * abs(best) or not math.isfinite(best) else since + 1
        if value < best:
            best, at = value, x
        x *= factor
    return at


@dataclass(frozen=True)
class Window:
    """The range of the tilted total loss, and the orders of its Chernoff bounds."""

    low: float
    high: float
    down: float
    up: float


def window_of(
    log_mgf: Callable[[float], float],
    order: float,
    about: Callable[[float], float] | None = None,
) -> Window:
    """Return the window outside which the tilted law has a mass that may be left out.

    A function near the logarithm of the moments chooses the orders, if one is given.
    """
    room = -math.log(LEFT_OUT)

    def beyond(log_mgf: Callable[[float], float], sign: int) -> Callable[[float], float]:
        here = log_mgf(order)
        return lambda h: (log_mgf(order + sign * h) - here + room) / h

    up, down = (
        search_valley_minimum(beyond(about or log_mgf, sign), LEAST_ORDER, 2.0, 0.02, _FARTHEST)
        for sign in (1, -1)
    )
    # The ends are computed by all laws, also where some of them chose the orders: a window by an
    # approximate moment would be no bound.
    return Window(-beyond(log_mgf, -1)(down), beyond(log_mgf, 1)(up), down, up)


def spacing_of(pairs: Composition, at_least: float) -> float:
    """Return a spacing of about this size on which a lattice all pairs share would fall."""
    lattices = {pair.lattice for pair, _ in pairs}
    # On a lattice that all laws share, no atom is moved by rounding. Different lattices need not
    # have a common spacing.
    lattice = lattices.pop() if len(lattices) == 1 else None
    if lattice is None or lattice < at_least:
        return at_least
    return lattice / math.floor(lattice / at_least)


def step_window(
    pair: DominatingPair,
    order: float,
    window: Window,
    total: int,
    tried: int = 8,
) -> tuple[float, float]:
    """Return the window of one step's tilted loss, up to its share of the mass left out.

    So many orders are tried for each end: equal steps have sqrt(total) times those of the whole.
    """
    here = float(pair.log_mgf(np.array(order)))
    room = math.log(total) - math.log(LEFT_OUT)
    even = math.sqrt(total)
    reach = np.geomspace(1.0, 4 * even, tried)
    ups, downs = window.up * reach, window.down * reach
    # A moment of an order out of reach may be infinite less infinite. Such an order bounds nothing,
    # and the others still do.
    high = np.nanmin((pair.log_mgf(order + ups) - here + room) / ups)
    low = np.nanmax(-(pair.log_mgf(order - downs) - here + room) / downs)
    return float(max(low, -pair.reversed().largest)), float(min(high, pair.largest))


# A transform of this many points takes some milliseconds.
CELLS = 2**16
MORE_CELLS = 2**19
LEAST_CELLS = 2**8
# Relative width of a bracket from which on the finer grid is not tried.
_NARROW = 1e-3
_ROUNDING = 1e-15  # relative: a loss that is taken for the end of its cell
_SMALLEST = math.ulp(0.0)
_UNDERFLOW = -760.0
# How close to the mass of infinite losses a delta may come before their difference has no digits
# left.
_ULPS = 1e-13
# Tails are cut anew once delta is known, because their share of it is what matters. Six rounds take
# the tail from 1e-12 to 1e-130, or to less.
_MOST_TRIMS = 6
# Shares of delta for tails that are cut off: the more is cut off, the finer is the grid.
_SHARE = 1e-8
_LARGER_SHARE = 1e-5


def numerical_epsilon(event: Event, delta: float, cells: int | None = None) -> Bracket:
    """Return a bracket of the smallest epsilon at which the dominating pairs compose to ``delta``.

    Parameters
    ----------
    event
        What was released.
    delta
        In [0, 1).
    cells
        Points of the grid, at least 256; more make the bracket narrower. By default 2^16, and 2^19
        where that leaves it wider than a part in a thousand.

    Raises
    ------
    UnsupportedEvent
        Some release has no dominating pair.

    Examples
    --------
    >>> from dpaudit.accounting.events import ApproximateRelease
    >>> bracket = numerical_epsilon(ApproximateRelease(epsilon=0.1, count=1000), 1e-5)
    >>> round(bracket.lower, 3), round(bracket.upper, 3)
    (17.787, 17.787)
    """
    delta = check.require_delta("delta", delta)
    found = _bound_worst_direction(event, partial(_bound_grid_epsilon, delta=delta), cells)
    return found.outward(Composition.of(event).largest)


def numerical_delta(event: Event, epsilon: float, cells: int | None = None) -> Bracket:
    """Return a bracket of the delta to which the dominating pairs compose at ``epsilon >= 0``.

    Examples
    --------
    >>> from dpaudit.accounting.events import GaussianRelease
    >>> bracket = numerical_delta(GaussianRelease(sensitivity=1.0, noise_scale=1.0), 1.0)
    >>> round(bracket.lower, 6), round(bracket.upper, 6)  # exact: .126936737507
    (0.126937, 0.126937)
    """
    epsilon = check.non_negative("epsilon", epsilon)
    return _bound_worst_direction(
        event, partial(_bound_grid_delta, epsilon=epsilon), cells
    ).outward(1.0)


def chernoff_delta(event: Event, epsilon: float) -> float:
    """Return about the least of Chernoff's bounds of delta at ``epsilon >= 0``, without a grid.

    Examples
    --------
    >>> from dpaudit.accounting.events import GaussianRelease
    >>> release = GaussianRelease(sensitivity=1.0, noise_scale=1.0)
    >>> chernoff_delta(release, 6.0) / numerical_delta(release, 6.0).upper < 7
    True
    """
    return max(
        _bound_delta_by_chernoff(pairs, epsilon) for pairs in Composition.of(event).directions
    )


def _bound_delta_by_chernoff(pairs: Composition, epsilon: float) -> float:
    if epsilon >= pairs.largest:
        return pairs.infinite_mass
    if pairs.out_of_range:
        return 1.0

    def bound(order: float) -> float:
        return pairs.log_moment(order) + _compute_log_hinge_peak(order) - order * epsilon

    return min(
        1.0, pairs.infinite_mass + math.exp(min(bound(_choose_chernoff_order(pairs, bound)), 0.0))
    )


def bound_attained_epsilon(event: Event, delta: float) -> float:
    """Return a lower bound on the epsilon that some neighbours attain."""
    return _bound_on_grids(
        Composition.attained(event), partial(_bound_grid_epsilon, delta=delta), None
    ).lower


def from_attained_epsilon(event: Event, delta: float, found: Bracket) -> Bracket:
    """Return the upper end, with a lower end of the attained composition where that is another."""
    return _from_attained(event, partial(_bound_grid_epsilon, delta=delta), found)


def from_attained_delta(event: Event, epsilon: float, found: Bracket) -> Bracket:
    """Return the same for a bracket of delta."""
    return _from_attained(event, partial(_bound_grid_delta, epsilon=epsilon), found)


def _from_attained(
    event: Event, answer: Callable[..., Bracket], found: Bracket, cells: int | None = None
) -> Bracket:
    attained = Composition.attained(event)
    if attained == Composition.of(event):
        return found
    return _make_ordered_bracket(_bound_on_grids(attained, answer, cells).lower, found.upper)


def _bound_worst_direction(
    event: Event, answer: Callable[..., Bracket], cells: int | None
) -> Bracket:
    """Return the larger of both directions' answers, from a finer grid where that is needed."""
    if cells is not None:
        check.require_integer("cells", cells, least=LEAST_CELLS)
    # Both directions have to hold: neighbours may be exchanged, and a profile is the larger of
    # both.
    found = _bound_on_grids(Composition.of(event), answer, cells)
    return _from_attained(event, answer, found, cells)


def _bound_on_grids(
    composed: Composition, answer: Callable[..., Bracket], cells: int | None
) -> Bracket:
    ways = composed.directions
    attempts = [(CELLS, _SHARE), (MORE_CELLS, _SHARE)] if cells is None else [(cells, _SHARE)]
    if cells is None and any(pairs.trimmed(_LARGER_SHARE) != pairs for pairs in ways):
        attempts[1:1] = [(CELLS, _LARGER_SHARE)]
        attempts += [(MORE_CELLS, _LARGER_SHARE)]
    lower, upper = 0.0, math.inf
    for size, share in attempts:
        brackets = [answer(pairs, cells=size, share=share) for pairs in ways]
        lower = max(lower, *(bracket.lower for bracket in brackets))
        # Every grid proves its own bracket, so that ends of different grids may be combined. Of the
        # two directions the larger upper end counts, and of the lower ends any.
        upper = min(upper, max(bracket.upper for bracket in brackets))
        if upper - lower <= _NARROW * upper or upper == math.inf:
            break
    return _make_ordered_bracket(lower, upper)


def epsilon_of(pairs: Composition, delta: float, cells: int = CELLS) -> Bracket:
    """Return a bracket of the epsilon of one direction."""
    return _bound_grid_epsilon(pairs, delta, cells, _SHARE)


def _bound_grid_epsilon(pairs: Composition, delta: float, cells: int, share: float) -> Bracket:
    betrayed, most = pairs.infinite_mass, pairs.largest
    # So close to the mass of infinite losses the remainder has no digits: the finite losses all
    # count, and epsilon is their largest. Below that mass no epsilon is enough.
    if most == 0 or delta <= betrayed * (1 + _ULPS) or delta == 0:
        least = most if delta >= betrayed * (1 - _ULPS) else math.inf
        return Bracket(least, most if delta >= betrayed else math.inf)
    if pairs.distance <= delta:  # too rarely drawn for any epsilon above 0
        return Bracket.exactly(0.0)
    if pairs.out_of_range:
        return Bracket(0.0, most)
    pairs = pairs.trimmed(share * (delta - betrayed))
    lost = betrayed + pairs.truncation_mass
    if not lost < delta:  # a delta of about 1e-300: no tail is that rare
        return Bracket(0.0, most)
    log_delta = math.log(delta - lost)

    def bound(order: float, of: Composition = pairs) -> float:
        return (of.log_moment(order) + _compute_log_hinge_peak(order) - log_delta) / order

    order = _choose_chernoff_order(pairs, partial(bound, of=pairs.some))
    above, below = _build_delta_curves(pairs, order, cells, (lost, betrayed))
    # Three proved bounds, of which the least counts: the grid, Chernoff, and the largest loss.
    upper = max(0.0, min(above.epsilon(delta), bound(order), most))
    return _make_ordered_bracket(max(0.0, below.epsilon(delta)), upper)


def _bound_grid_delta(pairs: Composition, epsilon: float, cells: int, share: float) -> Bracket:
    betrayed = pairs.infinite_mass
    if epsilon >= pairs.largest:
        return Bracket.exactly(betrayed)
    if pairs.out_of_range:
        return Bracket(betrayed, min(1.0, betrayed + pairs.largest))
    tail, answer = 1e-12, Bracket(0.0, 1.0)
    for _ in range(_MOST_TRIMS):
        answer = _delta_without_tails(pairs.trimmed(tail), epsilon, cells, betrayed)
        lost = pairs.trimmed(tail).truncation_mass
        if lost <= 10 * share * answer.upper:
            break
        tail = max(1e-300, min(share / 10 * answer.upper, 1e-3 * tail**1.5))
    return answer


def _delta_without_tails(
    pairs: Composition, epsilon: float, cells: int, betrayed: float
) -> Bracket:
    def bound(order: float, of: Composition = pairs) -> float:
        return of.log_moment(order) + _compute_log_hinge_peak(order) - order * epsilon

    order = _choose_chernoff_order(pairs, partial(bound, of=pairs.some))
    lost = betrayed + pairs.truncation_mass
    if bound(order) < _UNDERFLOW:
        return Bracket(betrayed, min(lost + _SMALLEST, 1.0))
    above, below = _build_delta_curves(pairs, order, cells, (lost, betrayed))
    upper = min(above.delta(epsilon), lost + math.exp(min(bound(order), 0.0)), 1.0)
    return _make_ordered_bracket(max(0.0, below.delta(epsilon)), max(upper, _SMALLEST))


def _make_ordered_bracket(lower: float, upper: float) -> Bracket:
    """Return the bracket; ends that cross by more than rounding are an error of this module."""
    if lower > upper * (1 + 1e-9) + _SMALLEST:
        raise ConvergenceError(f"numerical: got ends {lower} and {upper}, expected them in order")
    return Bracket(min(lower, upper), upper)


def _compute_log_hinge_peak(order: float) -> float:
    """Return ``log max_x exp(-order x) (1 - exp(-x))``."""
    if order < 1:  # 1 / order may overflow
        return (order * math.log(order) if order > 0 else 0.0) - (1 + order) * math.log1p(order)
    return -order * math.log1p(1 / order) - math.log1p(order)


def _choose_chernoff_order(pairs: Composition, bound: Callable[[float], float]) -> float:
    """Return about the order whose Chernoff bound is least."""
    most = pairs.largest  # beyond 1e7 / most the tilt sees nothing but its last digits
    farthest = 1e7 / most if math.isfinite(most) else _FARTHEST
    farthest = min(farthest, pairs.farthest_order)
    near = search_valley_minimum(bound, LEAST_ORDER, 2.0, 1e-3, farthest)
    orders = np.minimum(np.geomspace(near / 1.7, near * 1.7, 7), farthest)
    return float(min(orders.tolist(), key=bound))


def _build_delta_curves(
    pairs: Composition, order: float, cells: int, lost: tuple[float, float]
) -> tuple[UpperCurve, LowerCurve]:
    some, tried = pairs.some, 8 if len(pairs) <= MANY else 2
    window = window_of(pairs.log_moment, order, some.log_moment)
    # 16 cells on either side stay empty: rounding up moves every step's mass by up to a cell, and
    # the windows are open at both ends.
    spacing = spacing_of(pairs, (window.high - window.low) / (cells - 32))
    # A tilt that changes by more than a double holds within one cell is replaced by a smaller one,
    # as any order is sound. Half of the limit leaves room for the other spacing of that order.
    if order * spacing > _STEEPEST:
        return _build_delta_curves(pairs, _STEEPEST / (2 * spacing), cells, lost)
    steps: list[tuple[RoundedLaw, int]] = [
        (
            round_loss_law(
                pair, step_window(pair, order, window, pairs.steps, tried), spacing, order
            ),
            count,
        )
        for pair, count in pairs
    ]
    first, tails = math.floor(window.low / spacing) - 16, (window.down, window.up)

    def law(part: str, start: int, side: int, left_out: float = 0.0) -> Convolution:
        tilted = [(getattr(step, part), count) for step, count in steps]
        return convolve_laws(tilted, start, cells, spacing, tails, left_out, side)

    # Cells count as their lower ends, so that their sum lies lower by the mean drift. Without this
    # shift the law would be wrapped around the grid.
    start = first - round(sum(count * step.drift for step, count in steps))
    p, q = law("cells_p", start, -1), law("cells_q", start, 1)
    blur = _ROUNDING * math.fsum(count * step.reach(spacing) for step, count in steps)
    below = LowerCurve(p, q, order, lost[1], blur)
    return UpperCurve(law("above", first, 1, 4 * LEFT_OUT), order, lost[0]), below
