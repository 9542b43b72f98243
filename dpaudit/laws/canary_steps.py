r"""All noisy gradients of DP-SGD as a mechanism with a law: their evidence on one canary.

The canary is a record that one dataset has and its neighbour has not. Its gradient is Dirac: at
every step it is the clipping norm C times one unit vector e, in which no other record has a part.
A step sums clipped gradients, takes the canary with probability q, and adds N(0, (C s)^2 I). Along
e, in units of C, a step is then independent of everything else,

    with the canary     p = (1 - q) N(0, s^2) + q N(1, s^2)
    without it          r = N(0, s^2)

and all other coordinates have, given the steps before, the same law on both sides. So the privacy
loss of *all* noisy gradients is that of the T numbers along e. It is the largest that Poisson
sampling allows where a record is added or removed: the pair attains what accountants prove.

    loss of a step      l(x) = log(p/r) = log(1 - q + q exp((x - 1/2) / s^2))
    with the canary     tilted law  p exp(theta l) = r g^(theta + 1),    g = exp(l)
    without it          tilted law  r exp(-theta l) = r g^(-theta)
    log-moments         K = log E_r g^a,  a = theta + 1 or -theta: the same for every output

Tilted draws are exact. For integers ``a >= 0``, ``r g^a`` is a mixture of N(k, s^2), k = 0..a; in
between, ``g^f <= 1 - f + f g`` (arithmetic and geometric mean) makes a mixture of two of these an
envelope. As l is convex, for ``a < 0`` its tangent anywhere gives one, a Gaussian; the best touches
where the law is largest. Without sampling all are Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.random import Generator
from scipy.optimize import brentq
from scipy.special import expit, gammaln, logsumexp, ndtr

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.mechanisms.mechanism import TiltedSample
from dpaudit.neighbours import Pair

DatasetT = TypeVar("DatasetT")
# Of a quadrature.
_POINTS = 40  # points in a standard deviation
_WIDTH = 40.0  # standard deviations on either side


def log_ratios(seen: Array, *, sampling_ratio: float, noise_multiplier: float) -> Array:
    """Return ``l(x)``, the log-ratio of a step's number with the canary and without it.

    Its sum over the steps is the most powerful score of a Dirac canary; for any other it is a score
    like others.

    Parameters
    ----------
    seen
        Noisy sums of clipped gradients along the canary's, in units of the clipping norm; any
        shape.
    sampling_ratio, noise_multiplier
        As `CanarySteps` has them.

    Examples
    --------
    >>> log_ratios(np.array([0.5, 1.5]), sampling_ratio=0.5, noise_multiplier=1.0).round(4)
    array([0.    , 0.6201])
    """
    exponent = (np.asarray(seen, dtype=np.float64) - 0.5) / noise_multiplier**2
    if sampling_ratio == 1:
        return exponent
    absent, taken = math.log1p(-sampling_ratio), math.log(sampling_ratio)
    return np.asarray(np.logaddexp(absent, taken + exponent))


@dataclass(frozen=True)
class CanarySteps(Generic[DatasetT]):
    """DP-SGD of which every noisy gradient is seen, along the gradient of a Dirac canary.

    Outputs have shape ``(R, steps)``: noisy sums of clipped gradients, times the canary's unit
    gradient, divided by the clipping norm.

    Formal guarantee: none of its own. Where `train` is what the module docstring describes, the
    privacy loss is exact, and that of all noisy gradients; an audit tests the law on what `train`
    returns.

    Parameters
    ----------
    train
        ``train(dataset, trials, rng)`` runs the code, and returns such outputs.
    holds
        Whether a dataset has the canary.
    steps
        How many noisy gradients.
    sampling_ratio
        Probability with which the canary is in a step's batch, in (0, 1].
    noise_multiplier
        Standard deviation of the noise over the clipping norm.

    Raises
    ------
    InvalidArgument
        A number is outside its domain.

    Examples
    --------
    >>> def train(records, trials, rng):
    ...     batches = rng.random((trials, 8, len(records))) < 0.2
    ...     return batches @ records + rng.standard_normal((trials, 8))
    >>> law = CanarySteps(train, np.any, 8, sampling_ratio=0.2, noise_multiplier=1.0)
    >>> law.sample(np.array([0.0, 1.0]), 3, np.random.default_rng(0)).shape
    (3, 8)
    """

    loss_is_unbounded: ClassVar[bool] = True  # of one side: where the canary is

    train: Callable[[DatasetT, int, Generator], Array]
    holds: Callable[[DatasetT], Any]
    steps: int
    _: KW_ONLY
    sampling_ratio: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        if check.require_positive("sampling_ratio", self.sampling_ratio) > 1:
            raise InvalidArgument("sampling_ratio", self.sampling_ratio, "a number in (0, 1]")
        check.require_positive("noise_multiplier", self.noise_multiplier)
        check.require_integer("steps", self.steps, least=1)

    def sample(self, dataset: DatasetT, trials: int, rng: Generator) -> Array:
        """Return the shown steps along the canary, shape ``(trials, steps)``."""
        return self.train(dataset, trials, rng)

    def privacy_loss(self, outputs: Array, pair: Pair[DatasetT]) -> Array:
        """Return ``log p / q`` of each output, shape ``(R,)``."""
        sign = 1 if self._added(pair) else -1
        return np.asarray(sign * self._loss(self._require_outputs(outputs)).sum(axis=1))

    def uniform_residuals(self, outputs: Array, dataset: DatasetT) -> Array:
        """Return the distribution functions of the steps at the outputs, ``(R, steps)``."""
        seen = self._require_outputs(outputs)
        absent = np.asarray(ndtr(seen / self.noise_multiplier))
        if not self.holds(dataset):
            return absent
        present = ndtr((seen - 1) / self.noise_multiplier)
        return np.asarray((1 - self.sampling_ratio) * absent + self.sampling_ratio * present)

    def sample_tilted(
        self, pair: Pair[DatasetT], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return outputs of the law on ``pair.dataset`` tilted towards a large privacy loss.

        They are drawn from the law and not by `train`, of which `sample` tests the law.
        """
        power = self._power(pair, tilt)
        seen = self._draw(power, trials * self.steps, rng).reshape(trials, self.steps)
        log_mgf = np.full(trials, self.steps * self._log_moment(power))
        return TiltedSample(seen, self.privacy_loss(seen, pair), log_mgf, tilt)

    def log_mgf_bounds(self, pair: Pair[DatasetT], tilt: float) -> tuple[float, float]:
        """Return the sum of the log-moments twice: it is the same for every output."""
        total = self.steps * self._log_moment(self._power(pair, tilt))
        return total, total

    def _added(self, pair: Pair[DatasetT]) -> bool:
        here, there = bool(self.holds(pair.dataset)), bool(self.holds(pair.neighbour))
        if here == there:
            raise InvalidArgument(
                "pair", VerbatimText("both or neither"), "one side that has the canary"
            )
        return here

    def _power(self, pair: Pair[DatasetT], tilt: float) -> float:
        """Return ``a`` of ``r g^a``."""
        return tilt + 1 if self._added(pair) else -tilt

    def _require_outputs(self, outputs: Array) -> Array:
        if outputs.ndim != 2 or outputs.shape[1] != self.steps:
            given = VerbatimText(f"shape {outputs.shape}")
            raise InvalidArgument("outputs", given, f"shape (trials, {self.steps})")
        return outputs

    def _loss(self, seen: Array) -> Array:
        """Return ``l(x)``."""
        return log_ratios(
            seen, sampling_ratio=self.sampling_ratio, noise_multiplier=self.noise_multiplier
        )

    def _log_moment(self, power: float) -> float:
        """Return ``log E_r g^a``, by the trapezoidal rule: exact to a few units in the last place.

        The integrand is analytic and vanishes at both ends, where the rule converges geometrically.
        """
        scale = self.noise_multiplier
        least, most = min(0.0, power) - _WIDTH * scale, max(0.0, power) + _WIDTH * scale
        # Near the real line the loss has poles at s^2 (log((1 - q) / q) + i pi) + 1/2.
        step = min(scale, scale**2) / _POINTS
        points = np.linspace(least, most, math.ceil((most - least) / step) + 1)
        log_density = -((points / scale) ** 2) / 2 + power * self._loss(points)
        spacing = (points[1] - points[0]) / (scale * math.sqrt(2 * math.pi))
        return float(logsumexp(log_density) + math.log(spacing))

    def _draw(self, power: float, count: int, rng: Generator) -> Array:
        """Return draws of the law with density proportional to ``r g^a``, shape ``(count,)``."""
        if self.sampling_ratio == 1:
            return power + self.noise_multiplier * rng.standard_normal(count)
        propose = self._below if power < 0 else self._above
        accepted = np.empty(0)
        while len(accepted) < count:
            seen, log_chance = propose(power, max(1024, count - len(accepted)), rng)
            # random() may return 0 and never 1, so that the logarithm of what it leaves of 1 is
            # finite.
            accepted = np.append(accepted, seen[np.log1p(-rng.random(len(seen))) < log_chance])
        return accepted[:count]

    def _below(self, power: float, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return draws of the envelope of ``r g^a``, a < 0, and their log-probabilities."""
        centre = self._peak(power)
        seen = centre + self.noise_multiplier * rng.standard_normal(count)
        tangent = float(self._loss(np.array(centre))) + self._slope(centre) * (seen - centre)
        # Rounding may put a loss below its tangent, of which it is never less.
        return seen, np.minimum(0.0, power * (self._loss(seen) - tangent))

    def _peak(self, power: float) -> float:
        """Return where ``r g^a`` is largest, a < 0: between there and 0 its slope changes sign."""

        def slope(x: float) -> float:
            return power * self._slope(x) - x / self.noise_multiplier**2

        return float(brentq(slope, power, 0.0, xtol=1e-12))

    def _slope(self, x: float) -> float:
        """Return the derivative of ``l``: the probability that the canary was taken, over s^2."""
        odds = math.log(self.sampling_ratio) - math.log1p(-self.sampling_ratio)
        taken = expit(odds + (x - 0.5) / self.noise_multiplier**2)
        return float(taken) / self.noise_multiplier**2

    def _above(self, power: float, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return draws of the envelope of ``r g^a``, a >= 0, and their log-probabilities."""
        whole, part = divmod(power, 1.0)
        lower, upper = (self._log_weights(int(whole) + more, int(whole) + 2) for more in (0, 1))
        with np.errstate(divide="ignore"):
            log_weights = np.logaddexp(np.log1p(-part) + lower, np.log(part) + upper)
        weights = np.exp(log_weights - logsumexp(log_weights))
        centres = rng.choice(len(weights), size=count, p=weights)
        seen = centres + self.noise_multiplier * rng.standard_normal(count)
        loss = self._loss(seen)
        # log(1 - f + f g), of which g^f is never more
        mean = np.log1p(part * np.expm1(np.minimum(loss, 700.0)))
        # Beyond 600 the term f g dwarfs the rest, and g itself may soon overflow.
        return seen, part * loss - np.where(loss > 600, np.log(max(part, 1e-300)) + loss, mean)

    def _log_weights(self, power: int, size: int) -> Array:
        """Return the log-weights of N(k, s^2) in ``r g^a`` for an integer a, k = 0..size-1."""
        k = np.arange(power + 1)
        ways = gammaln(power + 1) - gammaln(k + 1) - gammaln(power - k + 1)
        log_weights = (
            ways
            + k * math.log(self.sampling_ratio)
            + (power - k) * math.log1p(-self.sampling_ratio)
            + k * (k - 1) / (2 * self.noise_multiplier**2)
        )
        return np.pad(log_weights, (0, size - len(k)), constant_values=-np.inf)
