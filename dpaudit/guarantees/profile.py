"""A whole curve as a guarantee: delta at every epsilon, points of it, or a trade-off function."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText, what_happened
from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.guarantees.kinds import ApproximateDP

_FARTHEST = 1e4  # beyond this epsilon no curve is looked at
_CELLS = 100  # cells of rates
_ROUNDS = 16  # how often they are refined
_NEAR = 1e-12  # how close an epsilon is found
_FLAT = 1e-7  # how far before it a curve counts as flat
_CLOSE = 1e-9  # how close a supremum is enclosed
_ROUNDING = 1e-12  # by how much values may be off


@dataclass(frozen=True)
class PrivacyProfile(Guarantee):
    """A curve: for every epsilon at least 0 the delta that is claimed, in both directions.

    Parameters
    ----------
    function
        A function that returns delta in [0, 1] at an epsilon, and never a larger delta at a larger
        epsilon.
    name
        The name in reports.

    Examples
    --------
    >>> import math
    >>> curve = PrivacyProfile(lambda epsilon: math.exp(-3 * epsilon) / 2)
    >>> curve.delta(0.0), round(curve.epsilon(0.01), 4)
    (0.5, 1.304)
    """

    function: Callable[[float], float]
    name: str = "a curve delta(epsilon)"

    @classmethod
    def of_points(cls, points: Iterable[Sequence[float]]) -> PrivacyProfile:
        """Return the curve that follows from several (epsilon, delta) that are all claimed.

        Between two of them delta is at most the chord over ``exp(epsilon)``, in which every profile
        is convex (a supremum of linear functions); left and right of them, and everywhere, what
        each (epsilon, delta) implies by itself.

        Raises
        ------
        InvalidArgument
            There are none, or one is not (epsilon, delta).

        Examples
        --------
        >>> curve = PrivacyProfile.of_points([(0.5, 1e-2), (1.0, 1e-5)])
        >>> curve.delta(1.0), curve.delta(2.0), round(curve.delta(0.75), 6)
        (1e-05, 1e-05, 0.005626)
        """
        claimed = _CurveKnots.of(points)
        return cls(claimed, f"a curve through {len(claimed.points)} points")

    @classmethod
    def of_trade_off(cls, function: Callable[[float], float]) -> PrivacyProfile:
        """Return the curve of a trade-off function (Dong, Roth & Su 2022, Proposition 2.12).

        ``delta(epsilon) = sup over rates x of 1 - f(x) - exp(epsilon) x``, enclosed from above, so
        that nobody is held to more than was claimed.

        Parameters
        ----------
        function
            The least false-negative rate at a false-positive rate in [0, 1]; it never rises.

        Examples
        --------
        >>> from dpaudit.guarantees.kinds import GaussianDP
        >>> curve = PrivacyProfile.of_trade_off(GaussianDP(1.0).trade_off)
        >>> 0 <= curve.delta(1.0) - GaussianDP(1.0).delta(1.0) < 1e-6
        True
        """
        return cls(_OfTradeOff(function), "a trade-off function")

    def delta(self, epsilon: float) -> float:
        """Return the delta that is claimed at ``epsilon >= 0``.

        Raises
        ------
        InvalidArgument
            The function fails, or returns no number in [0, 1].
        """
        epsilon = check.non_negative("epsilon", epsilon)
        if epsilon not in self._known:
            self._known[epsilon] = self._asked(epsilon)
        return self._known[epsilon]

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The (epsilon, delta) that were claimed, if it is a curve through points."""
        return self.function.points if isinstance(self.function, _CurveKnots) else ()

    @cached_property
    def _known(self) -> dict[float, float]:
        """The answers so far: a function may take long."""
        return {}

    def _asked(self, epsilon: float) -> float:
        try:
            delta = float(self.function(epsilon))
        # The function may be one of ours, and says by itself what was wrong.
        except InvalidArgument:
            raise
        except Exception as error:  # it is the caller's code
            raise InvalidArgument(
                "claim", VerbatimText(what_happened(error)), "a curve that returns delta"
            ) from error
        if not 0 <= delta <= 1:
            given = VerbatimText(f"delta({epsilon:g}) = {delta:g}")
            raise InvalidArgument("claim", given, "a curve that returns numbers in [0, 1]")
        return delta

    def epsilon(self, delta: float) -> float:
        """Return nearly the smallest epsilon with at most this delta, never less; or infinity."""
        delta = check.require_delta("delta", delta)
        if delta not in self._found:
            self._found[delta] = self._least(delta)
        return self._found[delta]

    @cached_property
    def _found(self) -> dict[float, float]:
        return {}

    def _least(self, delta: float) -> float:
        if self.delta(0.0) <= delta:
            return 0.0
        if self.delta(_FARTHEST) > delta:
            return math.inf
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
        near = float(brentq(lambda e: self.delta(e) - delta, low, high, xtol=_NEAR, rtol=1e-11))
        least = high
        for margin in (1e-8, 1e-10, 0.0):  # a curve may jump
            if self.delta(shifted := min(high, near * (1 + margin) + _NEAR)) <= delta:
                least = shifted
        before = max(low, least * (1 - _FLAT) - _FLAT)
        flat = self.delta(before) <= delta
        return self._first(delta, low, before) if flat else least

    def _first(self, delta: float, low: float, high: float) -> float:
        """Return where the curve comes down to a delta, which it has from there to ``high``."""
        while high - low > _NEAR * (1 + high):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _CurveKnots:
    """The profile that several (epsilon, delta) imply together."""

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, given: Iterable[Sequence[float]]) -> _CurveKnots:
        try:
            pairs = sorted((float(epsilon), float(delta)) for epsilon, delta in given)
        except (TypeError, ValueError):
            raise InvalidArgument(
                "curve", VerbatimText("what was given"), "(epsilon, delta) pairs"
            ) from None
        if not pairs:
            raise InvalidArgument(
                "curve", VerbatimText("no points"), "at least one (epsilon, delta)"
            )
        for epsilon, delta in pairs:
            check.non_negative("epsilon", epsilon)
            check.require_delta("delta", delta)
        return cls(tuple(pairs))

    def __call__(self, epsilon: float) -> float:
        alone = min(ApproximateDP(*point).delta(epsilon) for point in self.points)
        at = bisect_right([e for e, _ in self.points], epsilon)
        if not 0 < at < len(self.points):
            return alone
        (low, above), (high, below) = self.points[at - 1 : at + 1]
        share = math.expm1(epsilon - low) / math.expm1(high - low) if high < 700 else 0.0
        return min(alone, above + share * (below - above))


@dataclass(frozen=True)
class _OfTradeOff:
    """The profile of a trade-off function, from above.

    ``h(x) = 1 - f(x) - exp(epsilon) x`` is concave, so that on a cell of rates it is below the
    lines through the two points on the left of the cell, and through the two on its right. Deltas
    are multiples of 1e-12, rounded up, so that the rounding of values is none of a curve's shape.
    """

    function: Callable[[float], float]

    def __call__(self, epsilon: float) -> float:
        slope = math.exp(min(epsilon, 700.0))
        # h(0) is at least 0, and h is below that from 1/slope on.
        low, high, best = 0.0, min(1.0, 1 / slope), 1.0
        for _ in range(_ROUNDS):
            edges = np.linspace(low, high, _CELLS + 1)
            h = 1 - self._at(edges) - slope * edges
            above = _from_above(h)
            best = min(best, float(above.max()))
            if best - float(h.max()) <= _CLOSE:
                break
            # A cell whose bound is below a value that was seen cannot hold the supremum. Two cells
            # more on either side keep the neighbours that the bounds of the outermost cells need.
            kept = np.flatnonzero(above > h.max())
            low, high = edges[max(kept[0] - 2, 0)], edges[min(kept[-1] + 3, _CELLS)]
        return min(1.0, math.ceil(max(0.0, best) / _ROUNDING + 0.01) * _ROUNDING)

    def _at(self, rates: Array) -> Array:
        values = np.array([float(self.function(float(rate))) for rate in rates])
        falls, bends = np.diff(values), np.diff(values, 2)
        # The bounds from above rest on the function being convex. It is only looked at where it is
        # asked for, but at all of these points.
        if not (np.all(falls <= _ROUNDING) and np.all(bends >= -_ROUNDING)):
            given = VerbatimText("a function that rises somewhere, or is not convex")
            raise InvalidArgument("claim", given, "a trade-off function: convex, and never rising")
        return values


def _from_above(h: Array) -> Array:
    """Return an upper bound of a concave function on each cell between equally spaced points."""
    steps = np.diff(h)
    rising = np.concatenate([[math.inf], np.maximum(0, steps[:-1])]) + h[:-1]
    falling = np.concatenate([np.maximum(0, -steps[1:]), [math.inf]]) + h[1:]
    found: Array = np.minimum(rising, falling)
    return found
