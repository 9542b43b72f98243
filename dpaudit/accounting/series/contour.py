r"""Delta and epsilon by an integral through the saddle point: estimates, at any delta, not bounds.

With M the moment generating function of the total loss and any c > 0,

    delta(epsilon) = (1/pi) Re int_0^inf M(c + iu) exp(-(c + iu) epsilon)
                                         / ((c + iu) (c + iu + 1)) du.

At c where the integrand is least along the real axis it falls off fastest along the imaginary one,
and nothing cancels, so delta = 1e-300 costs no more than .1. The trapezoidal rule converges
exponentially, the nearest pole being c away. Laws with atoms do not fall off; where the tail of the
integral may still count, the estimate is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.events import Event
from dpaudit.accounting.pairs.composition import Composition
from dpaudit.errors import ConvergenceError

Complex = NDArray[np.complex128]

_NODES = 256
_MOST_BLOCKS = 40
_MOST_STEPS = 40
_SETTLED = 1e-12
_TOLERATED = 1e-8


def contour_log_delta(event: Event, epsilon: float) -> float:
    """Return an estimate of ``log delta`` at ``epsilon >= 0``: the larger of both directions.

    Raises
    ------
    UnsupportedEvent
        Some release has no dominating pair.
    ConvergenceError
        The integral does not settle: the law has atoms that weigh too much.

    Examples
    --------
    >>> from dpaudit.accounting.events import GaussianRelease
    >>> release = GaussianRelease(sensitivity=1.0, noise_scale=1.0)
    >>> round(math.exp(contour_log_delta(release, 1.0)), 12)
    0.126936737507
    """
    epsilon = check.non_negative("epsilon", epsilon)
    ways = Composition.of(event).directions
    return min(0.0, max(_log_delta(pairs, epsilon) for pairs in ways))


def contour_epsilon(event: Event, delta: float) -> float:
    """Return an estimate of the least epsilon at ``delta`` in (0, 1).

    Raises
    ------
    UnsupportedEvent, ConvergenceError
        As `contour_log_delta`.

    Examples
    --------
    >>> from dpaudit.accounting.events import ExponentialNormRelease
    >>> release = ExponentialNormRelease(sensitivity=0.5, noise_rate=1.0, dimension=105, count=50)
    >>> round(contour_epsilon(release, 1e-5), 6)
    1.319479
    """
    log_delta = math.log(check.require_positive("delta", check.require_delta("delta", delta)))
    return max(
        _estimate_contour_epsilon(pairs, log_delta) for pairs in Composition.of(event).directions
    )


def _estimate_contour_epsilon(pairs: Composition, log_delta: float) -> float:
    betrayed = _log_betrayed(pairs)
    if betrayed >= log_delta:
        return math.inf
    if not pairs or _log_delta(pairs, 0.0) <= log_delta:
        return 0.0
    # What is cut off is so small a share of delta that the estimate does not see it.
    pairs = pairs.trimmed(1e-13 * math.exp(log_delta))
    epsilon = pairs.chernoff(log_delta)
    for _ in range(_MOST_STEPS):  # Newton's method, on the line that suits the last epsilon
        line = _ContourLine.through(pairs, pairs.saddle(epsilon))
        value, slope = line.log_delta(epsilon)
        step = (float(np.logaddexp(betrayed, value)) - log_delta) / -slope
        # A step of Newton's method from far off may pass 0, where there is no saddle point.
        epsilon = max(epsilon + step, epsilon / 2)
        if abs(step) <= 1e-13 * epsilon:
            break
    return epsilon


def _log_delta(pairs: Composition, epsilon: float) -> float:
    betrayed = _log_betrayed(pairs)
    if not pairs or epsilon >= pairs.largest:
        return betrayed
    order = pairs.saddle(epsilon)
    about = pairs.log_moment(order) - order * epsilon
    line = _ContourLine.through(
        pairs.trimmed(1e-13 * math.exp(min(max(about, -690.0), 0.0))), order
    )
    return float(np.logaddexp(betrayed, line.log_delta(epsilon)[0]))


def _log_betrayed(pairs: Composition) -> float:
    betrayed = pairs.infinite_mass
    return math.log(betrayed) if betrayed else -math.inf


@dataclass(frozen=True)
class _ContourLine:
    """Values on the line of integration, without the factor ``exp(-i u epsilon)``."""

    order: float
    log_scale: float
    step: float
    frequencies: Array
    values: Complex

    @classmethod
    def through(cls, pairs: Composition, order: float) -> _ContourLine:
        """Return the line through an order, long enough, or raise `ConvergenceError`."""
        step = _choose_contour_step(pairs, order)
        _require_small_remainder(_least_tail(pairs, order, step))
        parts: list[Complex] = []
        for block in range(_MOST_BLOCKS):
            u: Array = step * np.arange(block * _NODES, (block + 1) * _NODES, dtype=np.float64)
            values, envelope = _compute_contour_integrand(pairs, order, u)
            parts.append(values)
            tail = envelope * order * (order + 1) / (step * len(parts) * _NODES) / step
            if tail < _SETTLED:
                break
        _require_small_remainder(tail)
        frequencies = step * np.arange(len(parts) * _NODES, dtype=np.float64)
        moment = pairs.log_moment(order)
        return cls(order, moment, step, frequencies, np.concatenate(parts))

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """Return the logarithm of the integral's value at epsilon, and its derivative."""
        waves = self.values * np.exp(-1j * self.frequencies * epsilon)
        # The trapezoidal rule: the integral is over half a line, and its first node is an end.
        waves[0] /= 2
        integral = float(waves.real.sum()) * self.step / math.pi
        sloped = waves * (self.order + 1j * self.frequencies)
        slope = -float(sloped.real.sum()) * self.step / math.pi
        if not integral > 0:
            raise ConvergenceError(f"contour: the integral is {integral:.1e}, expected above 0")
        height = self.log_scale - self.order * epsilon
        scale = height - math.log(self.order) - math.log1p(self.order)
        return scale + math.log(integral), slope / integral


def _require_small_remainder(tail: float) -> None:
    if not tail < _TOLERATED:
        raise ConvergenceError(
            f"contour: the rest of the integral may be {tail:.1e} of it, expected at most "
            f"{_TOLERATED:.0e}: the loss has atoms; use the numerical accountant"
        )


def _least_tail(pairs: Composition, order: float, step: float) -> float:
    """Return the least mass beyond the longest line: as atoms never cancel, no work helps."""
    share = math.prod(pair.atomic_share(order) ** count for pair, count in pairs)
    return share * order * (order + 1) / (step * _MOST_BLOCKS * _NODES) / step


def _choose_contour_step(pairs: Composition, order: float) -> float:
    """Return a step that resolves the pole next to the line and the peak on it."""
    # The second difference of the log-moment is the variance of the tilted loss. A step that is a
    # share of the order stays inside the domain of the moments.
    h = order / 50
    above, here, below = (pairs.log_moment(order + h * k) for k in (1, 0, -1))
    variance = max((above - here) + (below - here), 0.0) / (h * h)  # of the tilted loss
    return min(order / 6, 1 / (12 * math.sqrt(variance)) if variance else math.inf)


def _compute_contour_integrand(pairs: Composition, order: float, u: Array) -> tuple[Complex, float]:
    """Return values relative to that at 0, and a bound on their size from here on."""
    at = order + 1j * u
    values: Complex = (order / at) * ((order + 1) / (at + 1))
    envelope = 1.0
    for pair, count in pairs:
        ratio = pair.characteristic(order, u)
        values = values * ratio**count
        envelope *= max(float(np.abs(ratio).max()), pair.atomic_share(order)) ** count
    return values, envelope
