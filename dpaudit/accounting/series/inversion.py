r"""Certified composition without any rounding: the characteristic function, inverted.

Let S be the total loss, M its moment generating function and ``D(x) = exp(c x) delta(x)`` for some
c > 0. The Fourier transform of D is ``F(u) = M(c - iu) / ((c - iu) (c + 1 - iu))``, and Poisson's
summation formula says, for every period P and ``h = 2 pi / P``,

    sum_m D(epsilon + m P) = (h / 2 pi) sum_k F(k h) exp(i k h epsilon).

No term on the left is negative: the sum on the right, which is the trapezoidal rule of the contour
integral, *is* an upper bound of ``exp(c epsilon) delta(epsilon)``. The copies on the left that make
it one are at most ``exp(-c n P)`` to the left of epsilon, as delta is at most 1, and Chernoff's
bound to its right; that gives the lower end. What is cut off at ``k h > U`` is at most

    M(c) / (pi U) prod_j (a_j + V_j / U)^{n_j},

where of step j, tilted by ``exp(c L)``, ``a_j`` is the share of atoms and ``V_j`` the total
variation of the rest's density. The sum converges geometrically, so a few hundred terms are exact
to ten digits where enough steps, or smooth ones, are composed; elsewhere there is no answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.events import Event
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.errors import ConvergenceError

Complex = NDArray[np.complex128]

# Relative error aimed at, and the largest that is still worth an answer.
_AIM, _WORST = 1e-13, 1e-6
_FEWEST_TERMS, _MOST_TERMS = 128, 2**14
_MOST_STEPS, _MOST_WIDENINGS, _REACH = 40, 60, 5
# Relative error of a sum of terms; largest tilt of the largest loss that is not clamped.
_ROUNDING, _MOST_TILT = 4e-16, 1e5
_SLOPES = np.geomspace(0.05, 20, 25)


def inverted_epsilon(event: Event, delta: float) -> Bracket:
    """Return a bracket of the smallest epsilon at which the dominating pairs compose to ``delta``.

    Parameters
    ----------
    event
        What was released.
    delta
        In (0, 1).

    Raises
    ------
    UnsupportedEvent
        Some release has no dominating pair.
    ConvergenceError
        The series is too long: few steps, or laws with atoms.

    Examples
    --------
    >>> from dpaudit.accounting.events import LaplaceRelease
    >>> release = LaplaceRelease(sensitivity=0.01, noise_scale=1.0, count=10_000)
    >>> bracket = inverted_epsilon(release, 1e-5)
    >>> f"{bracket.lower:.8f}", f"{bracket.upper:.8f}"
    ('4.36799392', '4.36799392')
    """
    check.positive("delta", check.delta("delta", delta))
    brackets = [_epsilon(pairs, delta) for pairs in Composition.of(event).directions]
    return Bracket(max(b.lower for b in brackets), max(b.upper for b in brackets))


def inverted_delta(event: Event, epsilon: float) -> Bracket:
    """Return a bracket of the delta to which the dominating pairs compose at ``epsilon >= 0``.

    Raises
    ------
    UnsupportedEvent, ConvergenceError
        As `inverted_epsilon`.

    Examples
    --------
    >>> from dpaudit.accounting.events import GaussianRelease
    >>> bracket = inverted_delta(GaussianRelease(sensitivity=1.0, noise_scale=1.0), 1.0)
    >>> f"{bracket.lower:.11f}", f"{bracket.upper:.11f}"  # exact: .126936737507
    ('0.12693673751', '0.12693673751')
    """
    epsilon = check.non_negative("epsilon", epsilon)
    brackets = [_delta(pairs, epsilon) for pairs in Composition.of(event).directions]
    return Bracket(max(b.lower for b in brackets), max(b.upper for b in brackets))


def _delta(pairs: Composition, epsilon: float) -> Bracket:
    if not pairs or epsilon >= pairs.largest:
        return Bracket.exactly(pairs.infinite_mass)
    about = _delta_about(pairs, epsilon)
    return _Series.around(pairs.trimmed(_AIM * about), epsilon).delta(epsilon)


def _delta_about(pairs: Composition, epsilon: float) -> float:
    order = pairs.saddle(epsilon)
    about = pairs.log_moment(order) - order * epsilon - _height(order)
    return math.exp(min(max(about, -690.0), 0.0))


def _epsilon(pairs: Composition, delta: float) -> Bracket:
    if not pairs or _delta(pairs, 0.0).upper <= delta:
        return Bracket.exactly(0.0)
    pairs = pairs.trimmed(_AIM * delta)
    if pairs.infinite_mass + pairs.trimmed_mass >= delta:
        raise ConvergenceError("inversion: delta is too close to the mass of infinite losses")
    epsilon = pairs.chernoff(math.log(delta))
    for _ in range(_MOST_STEPS):
        series = _Series.around(pairs, epsilon)
        near, epsilon = epsilon, _newton(series, epsilon, delta)
        if abs(epsilon - near) * series.order < 1:  # the series is still good there
            most = pairs.largest
            upper = min(most, _first(series, epsilon, delta))
            return Bracket(min(_last(series, epsilon, delta), upper), upper)
    raise ConvergenceError("inversion: Newton's method does not settle")


def _newton(series: _Series, epsilon: float, delta: float) -> float:
    """Return about the epsilon with this delta, moving no further than the series is good for."""
    start = epsilon
    for _ in range(_MOST_STEPS):
        found = series.delta(epsilon).upper
        step = math.log(found / delta) / series.order if found > 0 else -1 / series.order
        epsilon = max(epsilon + step, epsilon / 2)
        if abs(step) <= 1e-14 * epsilon or abs(epsilon - start) * series.order > _REACH:
            break
    return epsilon


def _first(series: _Series, epsilon: float, delta: float) -> float:
    """Return an epsilon from which on delta is certainly not passed."""
    step = 1e-14 * epsilon
    for _ in range(_MOST_WIDENINGS):
        if series.delta(epsilon + step).upper <= delta:
            return epsilon + step
        step *= 2
    raise ConvergenceError("inversion: no epsilon nearby is certain to be enough")


def _last(series: _Series, epsilon: float, delta: float) -> float:
    """Return an epsilon at which delta is certainly still passed, or 0."""
    step = 1e-14 * epsilon
    for _ in range(_MOST_WIDENINGS):
        if step >= epsilon:
            return 0.0
        if series.delta(epsilon - step).lower >= delta:
            return epsilon - step
        step *= 2
    return 0.0


@dataclass(frozen=True)
class _Series:
    """The terms for one order and period, without the factor ``exp(i u epsilon)``."""

    pairs: Composition
    order: float
    log_moment: float
    farther: tuple[tuple[float, float], ...]  # larger orders and their log-moments
    period: float
    terms: Complex
    cut: float  # of what is left out, relative to M(c)

    @classmethod
    def around(cls, pairs: Composition, epsilon: float) -> _Series:
        """Return a series that is good at an epsilon, or raise `ConvergenceError`."""
        order = pairs.saddle(epsilon)
        most = pairs.largest
        if math.isfinite(most) and order * most > _MOST_TILT:
            raise ConvergenceError(
                f"inversion: epsilon is within 1 / {order:.1e} of the largest loss {most:.6g}; "
                "use the numerical accountant"
            )
        if order > pairs.farthest_order:
            raise ConvergenceError(
                f"inversion: a moment of order {order:.1e} has no more than an upper bound; "
                "use the numerical accountant"
            )
        moment = pairs.log_moment(order)
        farther = tuple((c, pairs.log_moment(c)) for c in order * (1 + _SLOPES))
        about = moment - order * epsilon - _height(order)
        period = _period(order, farther, epsilon, about + math.log(_AIM))
        h = 2 * math.pi / period
        count = _length(pairs, order, h)
        u: Array = h * np.arange(count, dtype=np.float64)
        terms, cut = _transform(pairs, order, u), _cut(pairs, order, h * (count - 1))
        return cls(pairs, order, moment, farther, period, terms, cut)

    def delta(self, epsilon: float) -> Bracket:
        """Return both ends of delta at an epsilon near the one the series was made for."""
        h = 2 * math.pi / self.period
        waves = self.terms * np.exp(1j * (h * epsilon) * np.arange(len(self.terms)))
        total = (float(waves.real.sum()) - float(waves[0].real) / 2) * h / math.pi
        sizes = float(np.abs(self.terms).sum()) * h / math.pi
        phases = epsilon * h * len(self.terms)
        error = self.cut + sizes * _ROUNDING * (10 + phases)
        slack = sum(n * pair.moment_error(self.order) for pair, n in self.pairs)
        slack += 8 * _ROUNDING * (abs(self.log_moment) + self.order * epsilon)
        factor = math.exp(min(self.log_moment - self.order * epsilon, 700.0))
        upper = factor * (total + error) * (1 + slack)
        lower = factor * (total - error) * (1 - slack) - self._copies(epsilon)
        betrayed = self.pairs.infinite_mass
        upper = min(1.0, betrayed + self.pairs.trimmed_mass + max(upper, 0.0))
        return Bracket(min(betrayed + max(lower, 0.0), upper), upper)

    def _copies(self, epsilon: float) -> float:
        """Return a bound on the copies of delta that the series holds besides the one here."""
        left = math.exp(-self.order * self.period) / -math.expm1(-self.order * self.period)
        slopes = [(c - self.order, moment - c * epsilon) for c, moment in self.farther]
        right = min(
            bound - slope * self.period - math.log(-math.expm1(-slope * self.period))
            for slope, bound in slopes
        )
        return left + math.exp(min(right, 0.0))


def _height(order: float) -> float:
    return math.log(order) + math.log1p(order)


def _period(
    order: float, farther: tuple[tuple[float, float], ...], epsilon: float, log_copies: float
) -> float:
    """Return a period whose copies of delta are at most ``exp(log_copies)``, about."""
    left = -log_copies / order
    right = min((moment - c * epsilon - log_copies) / (c - order) for c, moment in farther)
    return max(left, right)


def _length(pairs: Composition, order: float, h: float) -> int:
    """Return how many terms are enough, or raise `ConvergenceError`."""
    width = h * math.exp(-_height(order))  # of the first term, relative to M(c)
    count = _FEWEST_TERMS
    while _cut(pairs, order, h * (count - 1)) > _AIM * width and count < _MOST_TERMS:
        count *= 2
    left = _cut(pairs, order, h * (count - 1)) / width
    if not left <= _WORST:
        raise ConvergenceError(
            f"inversion: what is left out may be {left:.1e} of the series, expected at most "
            f"{_WORST:.0e}: few steps, or laws with atoms; use the numerical accountant"
        )
    return count


def _transform(pairs: Composition, order: float, u: Array) -> Complex:
    """Return ``F(u) / M(c)`` of the finite losses."""
    at = order - 1j * u
    values = np.asarray(1 / (at * (at + 1)), dtype=np.complex128)
    for pair, count in pairs:
        values = values * np.conj(pair.characteristic(order, u)) ** count
    return values


def _cut(pairs: Composition, order: float, u: float) -> float:
    """Return a bound on the terms beyond u, relative to M(c)."""
    envelope = 1.0
    for pair, count in pairs:
        envelope *= pair.envelope(order, u) ** count
    return envelope / (math.pi * u)
