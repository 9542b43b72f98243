"""The strongest guarantee that can be proved about an event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import dpaudit._check as check
from dpaudit.accounting.composition import gaussian_bracket, gaussian_guarantee
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    GaussianRelease,
    Sequence,
    get_releases,
)
from dpaudit.accounting.grid.numerical import (
    LEAST_CELLS,
    chernoff_delta,
    numerical_delta,
    numerical_epsilon,
)
from dpaudit.accounting.optimal import OptimalComposition, make_optimal_composition
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.accounting.renyi import RenyiCurveDP
from dpaudit.accounting.series.inversion import bound_delta_by_inversion, bound_epsilon_by_inversion
from dpaudit.accounting.sharing import get_alternatives
from dpaudit.errors import ConvergenceError, UnsupportedEvent
from dpaudit.guarantees import rounding
from dpaudit.guarantees.kinds import GaussianDP, GroupOf, Guarantee

_POINTS = 256
# The last point of a table is where delta is down to this; beyond it the guarantee itself is asked.
_LEAST_DELTA = 1e-14
_LARGE = (0.5, 0.9, 0.999, 1 - 1e-9)  # deltas that may stay


@dataclass(frozen=True)
class TabulatedDP(Guarantee):
    """The chords of a guarantee's profile: an upper bound of it, since it is convex.

    Delta is a convex function of ``exp(epsilon)``, so between two points it is below the line
    through them; beyond the last point it stays at what it was there.

    Parameters
    ----------
    exact
        The guarantee that is asked, at 256 epsilons.

    Examples
    --------
    >>> from dpaudit.guarantees.kinds import GaussianDP
    >>> table = TabulatedDP(GaussianDP(1.0))
    >>> bool(GaussianDP(1.0).epsilon(1e-5) <= table.epsilon(1e-5) < 4.39)
    True
    """

    exact: Guarantee

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        epsilon = check.non_negative("epsilon", epsilon)
        k = int(np.searchsorted(self._epsilons, epsilon, side="right"))
        # Delta never rises with epsilon, so that the last point holds for all that is beyond.
        if k == len(self._epsilons):
            return self._at(k - 1)
        low, high = self._epsilons[k - 1], self._epsilons[k]
        share = _compute_expm1_ratio(epsilon - low, high - low)
        chord = self._at(k - 1) + share * (self._at(k) - self._at(k - 1))
        return min(1.0, rounding.bound_above(chord, self._at(k - 1)))

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``, beyond the table that of the guarantee itself."""
        delta = check.require_delta("delta", delta)
        # Below the table no chord reaches, and extrapolating one would claim too little.
        if delta < self._at(len(self._epsilons) - 1):
            return self.exact.epsilon(delta)
        if self._at(0) <= delta:
            return 0.0
        k = self._first_below(delta)
        drop = self._at(k - 1) - self._at(k)
        share = (self._at(k - 1) - delta) / drop if drop else 0.0
        low, high = self._epsilons[k - 1], self._epsilons[k]
        wide = high - low > _WIDE  # where exponentials leave the doubles
        if wide:
            return high
        return min(
            high, rounding.bound_above(low + math.log1p(share * math.expm1(high - low)), high)
        )

    def _first_below(self, delta: float) -> int:
        """Return a point whose delta is at most the one given, where that before it is above."""
        above, below = 0, len(self._epsilons) - 1
        while below - above > 1:
            middle = (above + below) // 2
            above, below = (above, middle) if self._at(middle) <= delta else (middle, below)
        return below

    @cached_property
    def _epsilons(self) -> list[float]:
        far = self.exact.epsilon(_LEAST_DELTA)
        if far == math.inf:  # more than that stays at every epsilon
            asked = map(self.exact.epsilon, _LARGE)
            far = 2 * max(1.0, next((one for one in asked if one < math.inf), 1.0))
        return [float(epsilon) for epsilon in np.linspace(0.0, max(far, 1e-9), _POINTS)]

    @cached_property
    def _deltas(self) -> dict[int, float]:
        return {}

    def _at(self, k: int) -> float:
        """Return delta at a point of the table: worked out when it is asked for, and once."""
        if k not in self._deltas:
            self._deltas[k] = self.exact.delta(self._epsilons[k])
        return self._deltas[k]


# Equal releases whose composition is summed exactly.
_MOST = 100_000
# Of a grid that is asked for a whole table.
_GROUP_CELLS = 2**13


@dataclass(frozen=True)
class NumericalDP(Guarantee):
    """The guarantee of the composition of dominating pairs: the upper ends of its brackets.

    By inversion of the characteristic function where that settles, to about 12 digits; else on a
    grid.

    Parameters
    ----------
    event
        A sequence of releases that have dominating pairs.
    cells
        Points of the grid, which is then always used; None leaves both to the accountant.

    Raises
    ------
    UnsupportedEvent
        Some release has no dominating pair.

    Examples
    --------
    >>> from dpaudit.accounting.events import LaplaceRelease
    >>> proved = NumericalDP(LaplaceRelease(sensitivity=0.1, noise_scale=1.0, count=100))
    >>> round(proved.epsilon(1e-5), 4), round(proved.epsilon(0.0), 4)
    (4.2203, 10.0)
    """

    event: Event
    cells: int | None = None

    def __post_init__(self) -> None:
        if self.cells is not None:
            check.require_integer("cells", self.cells, least=LEAST_CELLS)
        Composition.of(self.event)

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        epsilon = check.non_negative("epsilon", epsilon)
        if epsilon not in self._known:
            self._known[epsilon] = self._delta(epsilon)
        return self._known[epsilon]

    @cached_property
    def _known(self) -> dict[float, float]:
        """Delta by epsilon: an advantage and a success ask for the same one."""
        return {}

    def _delta(self, epsilon: float) -> float:
        if self.cells is None:
            try:
                return bound_delta_by_inversion(self.event, epsilon).upper
            except ConvergenceError:
                pass
        return numerical_delta(self.event, epsilon, self.cells).upper

    def delta_within(self, epsilon: float, slack: float) -> float:
        """Return Chernoff's bound of delta where that is no more than the slack."""
        bound = chernoff_delta(self.event, check.non_negative("epsilon", epsilon))
        return bound if bound <= slack else self.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta`` in [0, 1)."""
        return self.bracket(delta).upper

    def bracket(self, delta: float) -> Bracket:
        """Return both ends of epsilon: how much of it is the accountant's own error."""
        delta = check.require_delta("delta", delta)
        if self.cells is None and delta > 0:
            try:
                return bound_epsilon_by_inversion(self.event, delta)
            except ConvergenceError:
                pass
        return numerical_epsilon(self.event, delta, self.cells)

    def _group(self, size: int) -> Guarantee:
        # A group asks for delta at hundreds of epsilons, each of which would be a composition of
        # its own: chords of a table are an upper bound that costs little.
        return GroupOf(TabulatedDP(NumericalDP(self.event, self.cells or _GROUP_CELLS)), size)

    def __str__(self) -> str:
        return f"NumericalDP of {len(get_releases(self.event))} kinds of release"


@dataclass(frozen=True)
class WorstOf(Guarantee):
    """The guarantee that holds if any one of several guarantees does, no matter which.

    Parameters
    ----------
    guarantees
        At least one.
    """

    guarantees: tuple[Guarantee, ...]

    def delta(self, epsilon: float) -> float:
        """Return the largest of the deltas."""
        return max(one.delta(epsilon) for one in self.guarantees)

    def log_delta(self, epsilon: float) -> float:
        """Return the largest of the log-deltas."""
        return max(one.log_delta(epsilon) for one in self.guarantees)

    def epsilon(self, delta: float) -> float:
        """Return the largest of the epsilons."""
        return max(one.epsilon(delta) for one in self.guarantees)


def proved_guarantee(event: Event) -> Guarantee:
    """Return the strongest guarantee there is a theorem for.

    Exact for Gaussian releases and for equal (epsilon, delta)-DP ones; composition of dominating
    pairs where all releases have them; else Renyi accounting.

    Raises
    ------
    UnsupportedEvent
        No theorem covers the event.

    Examples
    --------
    >>> proved_guarantee(GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=25))
    GaussianDP(mu=1.0)
    """
    ways = get_alternatives(event)
    # The worst way may be another one at every delta, so that no single way may be picked
    # beforehand.
    if len(ways) > 1:
        return WorstOf(tuple(proved_guarantee(way) for way in ways))
    event = ways[0] if ways else Sequence(())
    parts = get_releases(event)
    if all(isinstance(part, GaussianRelease) for part in parts):
        return gaussian_guarantee(event)
    match parts:
        # One kind of release has as many states as copies; several kinds multiply, and go to the
        # grid.
        case (ApproximateRelease(epsilon=epsilon, delta=delta, count=count),) if count <= _MOST:
            return make_optimal_composition(epsilon, delta, count)
    try:
        return NumericalDP(event)
    # Where only moments are known, such as of zero-concentrated releases, there is no law to
    # compose.
    except UnsupportedEvent:
        return RenyiCurveDP(event)


def bound_proved_epsilon(event: Event, delta: float) -> Bracket:
    """Return the strongest proved epsilon, with a lower end that says how close it is.

    The lower end is a bound on what the dominating pairs compose to, or 0 where only an upper bound
    is known.

    Raises
    ------
    UnsupportedEvent
        No theorem covers the event.

    Examples
    --------
    >>> bound_proved_epsilon(ApproximateRelease(epsilon=0.5, count=3), 0.0)
    Bracket(lower=1.5, upper=1.5)
    """
    if len(ways := get_alternatives(event)) > 1:
        return Bracket.largest([bound_proved_epsilon(way, delta) for way in ways])
    event = ways[0] if ways else Sequence(())
    match guarantee := proved_guarantee(event):
        case NumericalDP():
            return guarantee.bracket(delta)
        case GaussianDP():
            return Bracket(*gaussian_bracket(event, delta))
        case OptimalComposition():
            upper = guarantee.epsilon(delta)
            return Bracket(min(guarantee.epsilon_below(delta), upper), upper)
    return Bracket(0.0, guarantee.epsilon(delta))


def bound_worst_proved_epsilon(events: tuple[Event, ...], delta: float) -> float:
    """Return the largest proved epsilon over alternatives, of which one happens.

    That is how a record's node, of which it has only one, is accounted for.
    """
    return max((proved_guarantee(event).epsilon(delta) for event in events), default=0.0)


_WIDE = 700.0


def _compute_expm1_ratio(part: float, whole: float) -> float:
    """Return ``expm1(part) / expm1(whole)`` for ``part`` from 0 to ``whole``.

    Examples
    --------
    >>> _compute_expm1_ratio(1.0, 2.0) == math.expm1(1.0) / math.expm1(2.0)
    True
    >>> (
    ...     round(_compute_expm1_ratio(709.0, 710.0), 9),
    ...     _compute_expm1_ratio(0.0, 800.0),
    ...     _compute_expm1_ratio(800.0, 800.0),
    ... )
    (0.367879441, 0.0, 1.0)
    """
    if whole <= _WIDE:
        return math.expm1(part) / math.expm1(whole)
    return math.exp(part - whole) * -math.expm1(-part)
