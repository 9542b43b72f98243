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
to ten digits where enough steps, or smooth ones, are composed.

**Elsewhere a tiny Gaussian release is added**, of ``mu = sqrt(v)``: with N(v/2, v) added to S, M
has another factor ``exp(s (s + 1) v / 2)``, which cuts the sum off at some ``U = 8 / mu`` whatever
the law. More is released, so delta grows, to ``delta_v``: an upper bound still. By how much? For a
loss ``S = epsilon + t`` the growth is that of the price of an option, of which the derivative by
the variance is known:

    E (1 - exp(-(t + Y)))_+ - (1 - exp(-t))_+  =  1/2 int_0^v n(t; -w/2, w) dw,   Y ~ N(v/2, v),

n(t; m, w) being the density of N(m, w) at t. Since ``n(t; -w/2, w) <= exp(-t/2 - t^2/(2v)) /
sqrt(2 pi w)`` for w <= v, the right-hand side is at most ``v exp(v/8) n(t; -v/2, v)``, and so

    delta_v(epsilon) - v exp(v/8) p_v(epsilon)  <=  delta(epsilon)  <=  delta_v(epsilon),

``p_v`` the density of ``S + N(v/2, v)``. The transform of ``exp(c x) p_v(x)`` is ``M_v(c - iu)``:
the same terms without their denominator. Both ends are off to second order in mu, and nothing is
asked of the law of S: it may have few steps, and small noise.

**Outputs that decide by themselves** are left out of the series, as no tilt should have to reach
them. With A the outputs of which some step's loss passes ``K > epsilon``,

    P(A) - e^epsilon Q(A)  <=  E_P (1 - exp(epsilon - S))_+ 1_A
                           <=  P(A) - e^epsilon Q(A) + e^epsilon Q(A, S < epsilon),

and by Chernoff's bound for the other steps the last term is at most ``e^epsilon q_K M(-1 - c)
exp(-c (K - epsilon))`` for any c > 0, q_K the sum of the steps' Q-probabilities of passing K: in A
the others would have to take away ``K - epsilon``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.events import Event
from dpaudit.accounting.grid.numerical import epsilon_of, from_attained_delta, from_attained_epsilon
from dpaudit.accounting.pairs.closed_forms import GaussianPair
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.accounting.pairs.pair import NEAR_ONE
from dpaudit.accounting.series.decided_outputs import split_off_decided_outputs
from dpaudit.errors import ConvergenceError

Complex = NDArray[np.complex128]

_AIM = 1e-13  # relative error aimed at
_WORST = 1e-6  # largest relative error that is worth an answer
_FEWEST_TERMS = 128
_MOST_TERMS = 2**14
_MOST_STEPS = 40
_MOST_WIDENINGS = 60
_REACH = 5
# Where a Gaussian release is added.
_AIM_ADDED = 1e-9  # relative error aimed at
_NARROW = 1e-7  # share of epsilon by which the ends may differ
_LEAST = 1e-2  # smallest epsilon that this share is taken of
_FAR = 8.0  # mu times the farthest frequency
_MOST_ADDED = 2**17  # terms at most
_WIDE = 5e-7  # share of epsilon beyond which a bracket is worth another try
_TAILS = 1e-9  # of delta: what is trimmed then
_GENTLER = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)  # of the saddle's order: what is tried
_ROUNDING = 4e-16  # relative error of a sum of terms
_MOST_TILT = 1e5  # largest tilt of the largest loss
_MOST_FACTOR = 1e13  # tilted mass that leaves digits
_KNOWN = 1e-12  # relative error of the probabilities of outputs that decide by themselves
_COARSE = 2**12  # cells of the grid that says where to begin
_FAR_OFF = 1.1  # factor of its lower end from which on short series lead on
_ROUGH = 1e-3  # relative width that is enough for those
_SLOPES = np.geomspace(0.05, 20, 25)


def bound_epsilon_by_inversion(event: Event, delta: float) -> Bracket:
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
        The series is too long, as laws have atoms; or the losses or moments are too large.

    Examples
    --------
    >>> from dpaudit.accounting.events import LaplaceRelease
    >>> release = LaplaceRelease(sensitivity=0.01, noise_scale=1.0, count=10_000)
    >>> bracket = bound_epsilon_by_inversion(release, 1e-5)
    >>> f"{bracket.lower:.8f}", f"{bracket.upper:.8f}"
    ('4.36799392', '4.36799392')
    """
    check.require_positive("delta", check.require_delta("delta", delta))
    ways = [_Inverse(pairs, delta) for pairs in Composition.of(event).directions]
    least = max(way.about.lower for way in ways)  # a direction that stays below decides nothing
    brackets = [way.bracket() for way in ways if way.about.upper >= least]
    return from_attained_epsilon(event, delta, Bracket.largest(brackets)).outward()


def bound_delta_by_inversion(event: Event, epsilon: float) -> Bracket:
    """Return a bracket of the delta to which the dominating pairs compose at ``epsilon >= 0``.

    Raises
    ------
    UnsupportedEvent, ConvergenceError
        As `bound_epsilon_by_inversion`.

    Examples
    --------
    >>> from dpaudit.accounting.events import GaussianRelease
    >>> bracket = bound_delta_by_inversion(GaussianRelease(sensitivity=1.0, noise_scale=1.0), 1.0)
    >>> f"{bracket.lower:.11f}", f"{bracket.upper:.11f}"  # exact: .126936737507
    ('0.12693673751', '0.12693673751')
    """
    epsilon = check.non_negative("epsilon", epsilon)
    brackets = [_bound_series_delta(pairs, epsilon) for pairs in Composition.of(event).directions]
    return from_attained_delta(event, epsilon, Bracket.largest(brackets)).outward(1.0)


def _bound_series_delta(pairs: Composition, epsilon: float) -> Bracket:
    if not pairs or epsilon >= pairs.largest:
        return Bracket.exactly(pairs.infinite_mass)
    about = _delta_about(pairs, epsilon)
    return _build_close_series(pairs, epsilon, about).delta(epsilon)


def _delta_about(pairs: Composition, epsilon: float) -> float:
    order = pairs.saddle(epsilon)
    about = pairs.log_moment(order) - order * epsilon - _compute_log_pole_height(order)
    return math.exp(min(max(about, -690.0), 0.0))


class _Inverse:
    """The epsilon of one direction: first about, on a coarse grid, and then closely."""

    def __init__(self, pairs: Composition, delta: float) -> None:
        self.pairs, self.delta = pairs, delta
        self.about = epsilon_of(pairs, delta, _COARSE) if pairs else Bracket.exactly(0.0)

    def bracket(self) -> Bracket:
        """Return the ends as close as they come, or raise `ConvergenceError`."""
        pairs, delta = self.pairs, self.delta
        if not pairs or not self.about.upper:
            return self.about
        if pairs.infinite_mass + pairs.trimmed(_AIM * delta).truncation_mass >= delta:
            raise ConvergenceError("inversion: delta is too close to the mass of infinite losses")
        found = self._from(self._start, _NARROW)
        if found.width > _WIDE * max(found.upper, _LEAST):
            found = self._from(found.upper, _NARROW / 20)
        return found

    def _from(self, epsilon: float, narrow: float) -> Bracket:
        pairs, delta, far = self.pairs, self.delta, epsilon > _FAR_OFF * self.about.lower
        for _ in range(_MOST_STEPS):
            if epsilon == math.inf:  # deltas so small that their quotients are none
                break
            series = _build_close_series(pairs, epsilon, delta, _ROUGH if far else narrow)
            near, epsilon = epsilon, _find_epsilon_by_newton(series, epsilon, delta)
            settled = abs(epsilon - near) * series.order < 1  # the series is still good there
            if settled and not (far and series.added):
                upper = min(pairs.largest, _find_sufficient_epsilon(series, epsilon, delta))
                return Bracket(min(_find_exceeded_epsilon(series, epsilon, delta), upper), upper)
            far = far and not settled
        raise ConvergenceError("inversion: Newton's method does not settle")

    @property
    def _start(self) -> float:
        if math.isfinite(self.about.upper):
            return self.about.upper
        return self.pairs.chernoff(math.log(self.delta))


def _find_epsilon_by_newton(series: _Series, epsilon: float, delta: float) -> float:
    """Return about the epsilon with this delta, moving no further than the series is good for."""
    start, slope = epsilon, series.slope(epsilon)
    for _ in range(_MOST_STEPS):
        found = series.delta(epsilon)
        excess = math.log(found.upper / delta) if found.upper > 0 else -1.0
        apart = math.log(found.upper / found.lower) if found.lower > 0 else 0.0
        if abs(excess) <= max(1e-2 * min(apart, 1e-2), 1e-14 * slope * epsilon):
            break
        if abs(excess) > 1e-2:
            slope = series.slope(epsilon)
        epsilon = max(epsilon + excess / slope, epsilon / 2)
        if abs(epsilon - start) * series.order > _REACH:
            break
    return epsilon


def _find_sufficient_epsilon(series: _Series, epsilon: float, delta: float) -> float:
    """Return an epsilon from which on delta is certainly not passed."""
    for step in _make_epsilon_steps(series, epsilon, math.log(series.delta(epsilon).upper / delta)):
        if series.delta(epsilon + step).upper <= delta:
            return epsilon + step
    raise ConvergenceError("inversion: no epsilon nearby is certain to be enough")


def _find_exceeded_epsilon(series: _Series, epsilon: float, delta: float) -> float:
    """Return an epsilon at which delta is certainly still passed, or 0."""
    lower = series.delta(epsilon).lower
    for step in _make_epsilon_steps(
        series, epsilon, math.log(delta / lower) if lower > 0 else math.inf
    ):
        if step >= epsilon or series.delta(epsilon - step).lower >= delta:
            return max(epsilon - step, 0.0)
    return 0.0


def _make_epsilon_steps(series: _Series, epsilon: float, excess: float) -> Iterator[float]:
    """Yield steps that make up for an excess of log delta: by the slope, then ever longer ones."""
    least, slope = 1e-14 * epsilon, series.slope(epsilon)
    said = excess / slope if excess < 1 else 0.0
    step = max(least, said * (1 + 1e-3))
    for _ in range(_MOST_WIDENINGS):
        yield step
        step *= 1.1 if step < 2 * said else 2.0


def _build_close_series(
    pairs: Composition, epsilon: float, delta: float, narrow: float = _NARROW
) -> _Series:
    """Return a series whose ends are close: without an added release, if that is short enough.

    Delta need only be about what it is at epsilon.
    """
    try:
        return _Series.around(pairs.trimmed(_AIM * delta), epsilon)
    except _TooLong:
        pairs = pairs.trimmed(_TAILS * delta)
        order = pairs.saddle(epsilon)
        if any(pair.atomic_share(order) for pair, _ in pairs):
            raise
        mu = math.sqrt(narrow * max(epsilon, _LEAST) / (1 + order))
        return _Series.around(pairs, epsilon, (mu, delta))


class _TooLong(ConvergenceError):
    """A series that more terms would make good."""


@dataclass(frozen=True)
class _Series:
    """The terms for one order and period, without the factor ``exp(i u epsilon)``.

    ``pairs`` are with the added release, whose v is ``added``, and without the outputs that decide
    by themselves: up to an epsilon of ``decided`` these bring ``doubt`` more than they surely do.
    """

    pairs: Composition
    line: _InversionLine
    terms: Complex
    errors: Array  # of the terms, at most
    cut: float  # of what is left out, relative to M(c)
    added: float
    decided: float
    doubt: float

    @property
    def order(self) -> float:
        """The order of the tilt."""
        return self.line.order

    @classmethod
    def around(
        cls, pairs: Composition, epsilon: float, added: tuple[float, float] | None = None
    ) -> _Series:
        """Return a series that is good at an epsilon, or raise `ConvergenceError`.

        Parameters
        ----------
        pairs, epsilon
            What is composed, and where.
        added
            Mu of a release that is added, which grows where it would take too many terms, and
            about which delta is to be told then.
        """
        most = pairs.largest
        pairs, decided, doubt = split_off_decided_outputs(pairs, epsilon)
        line = _InversionLine.at(pairs, _choose_series_order(pairs, epsilon, most), epsilon)
        mu = 0.0
        if added is not None:
            line, mu = _choose_shortest_line(line.order, pairs, epsilon, added)
            pairs = Composition(((GaussianPair(mu), 1), *pairs.parts))
            line = _InversionLine.at(
                pairs, line.order, epsilon, math.log(_AIM_ADDED) + math.log(added[1])
            )
        h = line.step
        count = math.ceil(_FAR / (h * mu)) + 1 if mu else _count_needed_terms(pairs, line.order, h)
        u: Array = h * np.arange(count, dtype=np.float64)
        terms, errors = _compute_damped_transform(pairs, line.order, u)
        cut = _bound_truncated_terms(pairs, line.order, h * (count - 1))
        return cls(pairs, line, terms, errors, cut, mu * mu, decided, doubt)

    def delta(self, epsilon: float) -> Bracket:
        """Return both ends of delta at an epsilon near the one the series was made for."""
        total, error = self._sum(self.terms, self.errors, epsilon, self.cut)
        slack = sum(n * pair.moment_error(self.order) for pair, n in self.pairs)
        slack += 8 * _ROUNDING * (abs(self.line.log_moment) + self.order * epsilon)
        factor = math.exp(min(self.line.log_moment - self.order * epsilon, 700.0))
        if factor > _MOST_FACTOR:
            raise ConvergenceError("inversion: no digits are left so far from the saddle point")
        upper = factor * (total + error) * (1 + slack)
        lower = factor * (total - error) * (1 - slack) - self.line.copies(epsilon)
        # The lower end pays for the copies and for the release that was added. The upper end pays
        # for neither, as both only add to delta.
        lower -= factor * (1 + slack) * self._growth(epsilon)
        known = self._known(epsilon)
        upper = min(1.0, known.upper + self.pairs.truncation_mass + max(upper, 0.0))
        return Bracket(min(known.lower + max(lower, 0.0), upper), upper)

    def _known(self, epsilon: float) -> Bracket:
        """Return the part of delta from outputs that are in no term."""
        betrayed, (p, q) = self.pairs.infinite_mass, self.pairs.beyond
        sure = p - math.exp(min(epsilon, 700.0)) * q
        error = _KNOWN * p
        most = sure + self.doubt if epsilon <= self.decided else p
        return Bracket(betrayed + max(sure - error, 0.0), betrayed + most + error)

    def slope(self, epsilon: float) -> float:
        """Return about how fast the logarithm of delta falls with epsilon."""
        step = 1e-4 / self.order
        here, there = self.delta(epsilon).upper, self.delta(epsilon + step).upper
        return math.log(here / there) / step if here > there > 0 else self.order

    def _sum(self, terms: Complex, errors: Array, at: float, cut: float) -> tuple[float, float]:
        """Return the sum of terms at an epsilon, relative to M(c), and how far it may be off."""
        h = self.line.step
        waves = terms * np.exp(1j * (h * at) * np.arange(len(terms)))
        total = (float(waves.real.sum()) - float(waves[0].real) / 2) * h / math.pi
        rounded = _ROUNDING * np.abs(terms) * (10 + at * h * np.arange(len(terms)))
        return total, cut + float((rounded + errors).sum()) * h / math.pi

    def _growth(self, epsilon: float) -> float:
        """Return a bound on how much the added release made delta grow, relative to M(c)."""
        if not self.added:
            return 0.0
        at = self.order - 1j * self.line.step * np.arange(len(self.terms))
        # beyond the last frequency U the density's terms sum to exp(-U^2 v / 2) / (pi U v) at most
        sharp, errors = np.asarray(self.terms * at * (at + 1)), self.errors * np.abs(at * (at + 1))
        total, error = self._sum(sharp, errors, epsilon, self.cut / self.added)
        return self.added * math.exp(self.added / 8) * (max(total, 0.0) + error)


@dataclass(frozen=True)
class _InversionLine:
    """An order, and a period that is good there: the sum holds little besides delta."""

    order: float
    log_moment: float
    farther: tuple[tuple[float, float], ...]  # larger orders and their log-moments
    period: float

    @classmethod
    def at(
        cls, pairs: Composition, order: float, epsilon: float, log_copies: float | None = None
    ) -> _InversionLine:
        """Return the line through an order, for copies of so much at most, about."""
        moment = pairs.log_moment(order)
        farther = tuple((c, pairs.log_moment(c)) for c in order * (1 + _SLOPES))
        if log_copies is None:
            log_copies = moment - order * epsilon - _compute_log_pole_height(order) + math.log(_AIM)
        return cls(
            order, moment, farther, _choose_series_period(order, farther, epsilon, log_copies)
        )

    @property
    def step(self) -> float:
        """Between frequencies."""
        return 2 * math.pi / self.period

    def log_bound(self, epsilon: float) -> float:
        """Return about the log of the bound that far exceeds delta if this line is a bad one."""
        return self.log_moment - self.order * epsilon - _compute_log_pole_height(self.order)

    def copies(self, epsilon: float) -> float:
        """Return a bound on the copies of delta that the series holds besides the one here."""
        left = math.exp(-self.order * self.period) / -math.expm1(-self.order * self.period)
        gone = (((self.order - c) * self.period, log - c * epsilon) for c, log in self.farther)
        right = min(bound + drop - math.log(-math.expm1(drop)) for drop, bound in gone)
        return left + math.exp(min(right, 0.0))


def _choose_shortest_line(
    order: float, pairs: Composition, epsilon: float, added: tuple[float, float]
) -> tuple[_InversionLine, float]:
    """Return the line on which the ends come closest, and the mu that so many terms allow there.

    Where losses far beyond epsilon weigh at the saddle, a smaller order has a shorter period.
    """
    mu, log_delta = added[0], math.log(added[1])
    error = 2 * NEAR_ONE * sum(n for pair, n in pairs if pair.quadrature)

    def apart(candidate: _InversionLine, needed: float) -> float:
        lost = min(candidate.log_bound(epsilon) - log_delta, 700.0)
        return needed**2 * (1 + candidate.order) + error * math.exp(lost) / candidate.order

    orders = [share * order for share in _GENTLER]
    lines = [
        _InversionLine.at(pairs, order, epsilon, log_delta + math.log(_AIM_ADDED))
        for order in orders
    ]
    fitted = [(one, max(mu, _FAR / (one.step * (_MOST_ADDED - 1)))) for one in lines]
    return min(fitted, key=lambda one: (apart(*one), one[0].period))


def _choose_series_order(pairs: Composition, epsilon: float, most: float) -> float:
    """Return the order of a series at an epsilon, or raise `ConvergenceError`."""
    order = pairs.saddle(epsilon)
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
    return order


def _compute_log_pole_height(order: float) -> float:
    return math.log(order) + math.log1p(order)


def _choose_series_period(
    order: float, farther: tuple[tuple[float, float], ...], epsilon: float, log_copies: float
) -> float:
    """Return a period whose copies of delta are at most ``exp(log_copies)``, about."""
    right = min((moment - c * epsilon - log_copies) / (c - order) for c, moment in farther)
    return max(-log_copies / order, right)


def _count_needed_terms(pairs: Composition, order: float, h: float) -> int:
    """Return how many terms are enough, or raise `ConvergenceError`."""
    width = h * math.exp(-_compute_log_pole_height(order))  # of the first term, relative to M(c)
    count = _FEWEST_TERMS
    while (
        _bound_truncated_terms(pairs, order, h * (count - 1)) > _AIM * width and count < _MOST_TERMS
    ):
        count *= 2
    left = _bound_truncated_terms(pairs, order, h * (count - 1)) / width
    if not left <= _WORST:
        raise _TooLong(
            f"inversion: what is left out may be {left:.1e} of the series, expected at most "
            f"{_WORST:.0e}: few steps, or laws with atoms; use the numerical accountant"
        )
    return count


def _compute_damped_transform(pairs: Composition, order: float, u: Array) -> tuple[Complex, Array]:
    """Return ``F(u) / M(c)`` of the finite losses, and how far each may be off."""
    at = order - 1j * u
    values = np.asarray(1 / (at * (at + 1)), dtype=np.complex128)
    sizes = np.abs(values)
    for pair, count in pairs:
        factors = np.conj(pair.characteristic(order, u))
        values = values * factors**count
        sizes = sizes * (np.abs(factors) + pair.characteristic_error(order, u)) ** count
    return values, np.maximum(sizes - np.abs(values), 0.0)


def _bound_truncated_terms(pairs: Composition, order: float, u: float) -> float:
    """Return a bound on the terms beyond u, relative to M(c)."""
    envelope = 1.0
    for pair, count in pairs:
        envelope *= pair.envelope(order, u) ** count
    return envelope / (math.pi * u)
