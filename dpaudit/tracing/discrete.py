r"""Laws of noisy values that are one of countably many: choices, whole numbers, public draws.

| symbol | name      | meaning                                                         |
|--------|-----------|-----------------------------------------------------------------|
| v      | ``value`` | the noisy value, the same in both runs                          |
| p, q   |           | probabilities of the values on the dataset and on the neighbour |
| a      | ``ratio`` | of neighbouring probabilities of discrete Laplace noise         |
| theta  | ``tilt``  | draws come from ``p^(1 + theta) q^(-theta)``, scaled            |

Where q is 0 and p is not, the loss is infinite. Tilted draws leave such values out: the weights
then bound probabilities on the dataset from below, which is all that a lower end needs.

Discrete Laplace noise has the probabilities ``(1 - a) / (1 + a) a^|k|`` of whole k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp

from dpaudit._typing import Array
from dpaudit.reals import Real, log, sqrt
from dpaudit.tracing.steps import LAWS, MixedGaussian, NoiseLaw

_NEAR = 1e-6  # of the least distance of two values: what rounding may change
_DIGITS = 1e-9  # relative: values that are closer are not told apart
_FAR = 10_000  # steps, beyond which no discrete noise is drawn


@dataclass(frozen=True, eq=False)
class Chances:
    """The probabilities of the values that each entry of a choice may have.

    Parameters
    ----------
    options, chances
        Shape ``(*shape, k)``; values may come twice.
    """

    options: Array
    chances: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.options.shape[:-1]

    @property
    def refusal(self) -> str | None:
        """Why no value has this law, if none has."""
        total = self.chances.sum(axis=-1)
        fits = (self.chances >= 0).all() and np.allclose(total, 1.0, rtol=0, atol=1e-6)
        if not (fits and np.isfinite(self.options).all()):
            return "options that are not numbers, or probabilities that do not add up to 1"
        return None

    def __len__(self) -> int:
        return len(self.options)

    def extend_by(self, longer: Chances) -> Chances:
        """Return these entries, and then those that a longer choice has beyond them."""
        options, chances = (longer.options[len(self) :], longer.chances[len(self) :])
        return Chances(
            np.concatenate([self.options, options]), np.concatenate([self.chances, chances])
        )

    def widened(self, times: float) -> Chances:
        """Return the same possible values, each as likely as the others."""
        possible = (self.chances > 0).astype(float)
        return Chances(self.options, possible / possible.sum(axis=-1, keepdims=True))

    def law_of(self, index: tuple[int, ...]) -> dict[float, float]:
        """Return the probability of each possible value of an entry."""
        if (found := self._laws.get(index)) is None:
            found = self._laws[index] = {}
            pairs = zip(self.options[index].tolist(), self.chances[index].tolist(), strict=True)
            for value, chance in pairs:
                if chance > 0:
                    found[value] = found.get(value, 0.0) + chance
        return found

    @cached_property
    def _laws(self) -> dict[tuple[int, ...], dict[float, float]]:
        """Laws of entries that were asked for: an output asks for each of them often."""
        return {}


class Choice:
    """Entries that are independent, each one of finitely many numbers."""

    is_unbounded = False

    def draw(self, own: Chances, rng: Generator) -> Array:
        """Return one option an entry."""
        below = np.cumsum(own.chances, axis=-1)
        # Times the last sum, which may be a rounding below 1: else a draw beyond it would have no
        # option.
        which = (rng.random((*own.shape, 1)) * below[..., -1:] > below).sum(axis=-1)
        return np.asarray(np.take_along_axis(own.options, which[..., None], axis=-1)[..., 0])

    def settle(self, value: Array, own: Chances) -> Array | None:
        """Return the nearest options, None where the nearest ones are others."""
        found = np.empty(own.shape)
        for index in np.ndindex(own.shape):
            options = np.array(list(own.law_of(index)))
            nearest = options[np.argmin(np.abs(options - value[index]))]
            # Written so that a value that is no number is refused, too.
            if not abs(nearest - value[index]) <= _NEAR * _least_gap(options):
                return None
            found[index] = nearest
        return found

    def loss(self, value: Array, own: Chances, other: Chances) -> float:
        """Return ``log p - log q``, infinite where the neighbour never has the value."""
        ratios = [
            _log_chance(p, v) - _log_chance(q, v)
            for v, p, q in _generate_entry_laws(value, own, other)
        ]
        return float(sum(ratios))

    def enclosed_loss(self, value: Array, own: Chances, other: Chances) -> Real:
        """Return the loss with its error bound; an infinite one has none."""
        total = Real(0.0)
        for v, p, q in _generate_entry_laws(value, own, other):
            total = (
                total
                + log(Real(_get_value_probability(p, v)))
                - log(Real(_get_value_probability(q, v)))
            )
        return total

    def tilted(
        self, own: Chances, other: Chances, tilt: float, rng: Generator
    ) -> tuple[Array, float, float]:
        """Return values drawn tilted among those that both sides have."""
        value, sums = np.empty(own.shape), np.zeros(2)
        for index in np.ndindex(own.shape):
            p, q = own.law_of(index), other.law_of(index)
            value[index], loss, log_mgf = _draw_tilted_entry(p, q, tilt, rng)
            sums += loss, log_mgf
        return value, float(sums[0]), float(sums[1])

    def divergence(self, own: Chances, other: Chances) -> float:
        """Return the expected loss over the values that both sides have."""
        entries = _generate_entry_laws(np.zeros(own.shape), own, other)
        return math.fsum(
            chance * (math.log(chance) - math.log(q[v]))
            for _, p, q in entries
            for v, chance in p.items()
            if v in q
        )

    def moved(self, own: Chances, other: Chances) -> float:
        """Return the total variation of all entries, added up."""
        entries = _generate_entry_laws(np.zeros(own.shape), own, other)
        return math.fsum(
            sum(abs(p.get(v, 0.0) - q.get(v, 0.0)) for v in {*p, *q}) / 2 for _, p, q in entries
        )

    def scale(self, own: Chances) -> Array:
        """Return the least distance of two options of each entry."""
        gaps = [_least_gap(np.array(list(own.law_of(at)))) for at in np.ndindex(own.shape)]
        return np.array(gaps, dtype=float).reshape(own.shape)

    def uniforms(self, value: Array, own: Chances, rng: Generator) -> Array:
        """Return a uniform draw between the distribution function before and at each value."""
        inside = rng.random(own.shape)
        for index in np.ndindex(own.shape):
            law, v = own.law_of(index), float(value[index])
            below = sum(chance for one, chance in law.items() if one < v)
            inside[index] = below + inside[index] * law.get(v, 0.0)
        return inside


def _generate_entry_laws(value: Array, own: Chances, other: Chances) -> Any:
    """Yield each entry's value, and its probabilities on both sides."""
    for index in np.ndindex(own.shape):
        yield float(value[index]), own.law_of(index), other.law_of(index)


def _get_value_probability(law: dict[float, float], value: float) -> float:
    """Return the probability of a value; of one that differs in its last digits, the same."""
    if value in law:
        return law[value]
    # Both sides compute their options from their own data: what is the same number may differ in
    # its last digits, and taking it for impossible would make the loss infinite.
    near = _DIGITS * (1 + abs(value))
    return math.fsum(chance for one, chance in law.items() if abs(one - value) <= near)


def _log_chance(law: dict[float, float], value: float) -> float:
    chance = _get_value_probability(law, value)
    return math.log(chance) if chance > 0 else -math.inf


def _draw_tilted_entry(
    p: dict[float, float], q: dict[float, float], tilt: float, rng: Generator
) -> tuple[float, float, float]:
    """Return a value, its loss and ``log sum p^(1 + tilt) q^(-tilt)``; all of p if none is of q."""
    shared = [v for v in p if v in q]
    if not shared:
        value = list(p)[int(rng.choice(len(p), p=np.array(list(p.values())) / sum(p.values())))]
        return value, math.inf, math.inf
    losses = np.array([math.log(p[v]) - math.log(q[v]) for v in shared])
    logs = np.log([p[v] for v in shared]) + tilt * losses
    log_mgf = float(logsumexp(logs))
    which = int(rng.choice(len(shared), p=_normalise_chances(np.exp(logs - log_mgf))))
    return shared[which], float(losses[which]), log_mgf


def _normalise_chances(chances: Array) -> Array:
    # numpy refuses probabilities that do not add up to 1 within its tolerance.
    return np.asarray(chances / chances.sum())


def _least_gap(options: Array) -> float:
    """Return the least distance of two values, 1 where there is one alone."""
    gaps = np.diff(np.sort(options))
    return float(gaps.min()) if len(gaps) else 1.0


def have_near_misses(own: Chances, other: Chances) -> bool:
    """Return whether a value of one side is one of the other's but for the last digits."""
    for index in np.ndindex(own.shape):
        one, two = (np.sort(list(side.law_of(index))) for side in (own, other))
        at = np.searchsorted(two, one)
        for shift in (-1, 0):
            near = np.abs(two[np.clip(at + shift, 0, len(two) - 1)] - one)
            if ((near > 0) & (near <= _DIGITS * (1 + np.abs(one)))).any():
                return True
    return False


@dataclass(frozen=True, eq=False)
class SteppedValue:
    """Centre and ratio of values with discrete Laplace noise, and the sign and size of a step."""

    centre: Array
    ratio: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.centre.shape

    @property
    def refusal(self) -> str | None:
        """Why no value has this law, if none has."""
        whole = (self.centre == np.round(self.centre)).all() and (np.abs(self.centre) < 2**52).all()
        if not (whole and (self.ratio > 0).all() and (self.ratio < 1).all()):
            return "discrete noise is added to a number that is not whole, or has no scale"
        return None

    def widened(self, times: float) -> SteppedValue:
        """Return the same centre with noise that is wider, and varies."""
        scale = np.maximum(-times / np.log(self.ratio), 1.0)
        return SteppedValue(self.centre, np.exp(-1 / scale))


class DiscreteLaplace:
    """A whole number with discrete Laplace noise, of entries that are independent."""

    is_unbounded = False

    def draw(self, own: SteppedValue, rng: Generator) -> Array:
        """Return the centre and a difference of geometric draws."""
        one, other = (rng.geometric(1 - own.ratio, size=own.shape) for _ in range(2))
        return np.asarray(own.centre + (one - other))

    def settle(self, value: Array, own: SteppedValue) -> Array | None:
        """Return the nearest whole numbers, None where these are others."""
        nearest = np.round(value)
        return np.asarray(nearest) if (np.abs(nearest - value) <= _NEAR).all() else None

    def loss(self, value: Array, own: SteppedValue, other: SteppedValue) -> float:
        """Return the log-probability on the dataset over that on the neighbour."""
        here, there = (self._log_chance(value, one) for one in (own, other))
        return float(np.sum(here - there))

    def _log_chance(self, value: Array, own: SteppedValue) -> Array:
        shift = np.abs(value - own.centre)
        ratio = own.ratio
        return np.asarray(np.log1p(-ratio) - np.log1p(ratio) + shift * np.log(ratio))

    def enclosed_loss(self, value: Array, own: SteppedValue, other: SteppedValue) -> Real:
        """Return the loss with its error bound."""
        total = Real(0.0)
        for sign, one in ((1.0, own), (-1.0, other)):
            for v, x, a in zip(value.flat, one.centre.flat, one.ratio.flat, strict=True):
                each = self._enclose_log_probability(
                    abs(Real(float(v)) - Real(float(x))), Real(float(a))
                )
                total = total + Real(sign) * each
        return total

    def _enclose_log_probability(self, shift: Real, ratio: Real) -> Real:
        """Return the log-probability of so many steps from the centre."""
        return log(1 - ratio) - log(1 + ratio) + shift * log(ratio)

    def tilted(
        self, own: SteppedValue, other: SteppedValue, tilt: float, rng: Generator
    ) -> tuple[Array, float, float]:
        """Return values drawn tilted, from all that are not far from both centres."""
        value, log_mgf = np.empty(own.shape), 0.0
        for index in np.ndindex(own.shape):
            ends = sorted((float(own.centre[index]), float(other.centre[index])))
            # exp(-745) is the smallest double: steps beyond it are never drawn. Leaving out more
            # only lowers what the weights bound from below.
            reach = min(_FAR, math.ceil(745.0 / -math.log(float(own.ratio[index]))) + 1)
            support = np.arange(ends[0] - reach, ends[1] + reach + 1)
            p, q = (self._log_chance_at(support, one, index) for one in (own, other))
            logs = p + tilt * (p - q)
            value[index] = support[
                int(
                    rng.choice(len(support), p=_normalise_chances(_exponentiate_shifted_logs(logs)))
                )
            ]
            log_mgf += float(logsumexp(logs))
        return value, self.loss(value, own, other), log_mgf

    def _log_chance_at(self, support: Array, own: SteppedValue, index: tuple[int, ...]) -> Array:
        entry = SteppedValue(own.centre[index], own.ratio[index])
        return self._log_chance(support, entry)

    def divergence(self, own: SteppedValue, other: SteppedValue) -> float:
        """Return the expected loss, as that of Laplace noise of the same scale."""
        apart = np.abs(other.centre - own.centre) * -np.log(own.ratio)
        return float(np.sum(LAWS["laplace"].mean_loss(apart)))

    def moved(self, own: SteppedValue, other: SteppedValue) -> float:
        """Return how far the centre moves."""
        return float(np.abs(other.centre - own.centre).sum())

    def scale(self, own: SteppedValue) -> Array:
        """Return the scale of the exponential that the probabilities follow."""
        return np.asarray(-1 / np.log(own.ratio))

    def uniforms(self, value: Array, own: SteppedValue, rng: Generator) -> Array:
        """Return a uniform draw between the distribution function before and at each value."""
        before, at = (self._below(value - own.centre + one, own.ratio) for one in (-1.0, 0.0))
        return np.asarray(before + rng.random(own.shape) * (at - before))

    def _below(self, steps: Array, ratio: Array) -> Array:
        # Below the centre the tail itself is the probability: as 1 minus a number next to 1 it
        # would have no digits.
        tail = ratio ** np.where(steps < 0, -steps, steps + 1) / (1 + ratio)
        return np.asarray(np.where(steps < 0, tail, 1 - tail))


class RoundedLaplace(DiscreteLaplace):
    """A whole number with Laplace noise that is rounded: of scale s, ``ratio`` is ``exp(-1 / s)``.

    Rounded noise is 0 with probability ``1 - a^(1/2)``, and otherwise k with
    ``a^|k| (a^(-1/2) - a^(1/2)) / 2``.
    """

    def draw(self, own: SteppedValue, rng: Generator) -> Array:
        """Return the centre and rounded Laplace draws."""
        scale = self.scale(own)
        return np.asarray(own.centre + np.round(scale * rng.laplace(size=own.shape)))

    def _log_chance(self, value: Array, own: SteppedValue) -> Array:
        shift, half = np.abs(value - own.centre), np.log(own.ratio) / 2
        away = 2 * shift * half + np.log(np.sinh(-half))
        return np.asarray(np.where(shift == 0, np.log(-np.expm1(half)), away))

    def _enclose_log_probability(self, shift: Real, ratio: Real) -> Real:
        root = sqrt(ratio)
        if shift == 0:
            return log(1 - root)
        return shift * log(ratio) + log((1 / root - root) / 2)

    def _below(self, steps: Array, ratio: Array) -> Array:
        tail = ratio ** (np.where(steps < 0, -steps, steps + 1) - 0.5) / 2
        return np.asarray(np.where(steps < 0, tail, 1 - tail))


def _exponentiate_shifted_logs(logs: Array) -> Array:
    return np.asarray(np.exp(logs - logs.max()))


@dataclass(frozen=True, eq=False)
class CommonDraw:
    """A draw that is known to be made alike on both sides: its method, and its arguments.

    ``make_widely`` draws what is possible without regard to how likely it is; None where it is not
    known what is: then nobody can look for a rare draw that an output hides.
    """

    make: Callable[[Generator], Any]
    given: bytes
    shape: tuple[int, ...]
    make_widely: Callable[[Generator], Any] | None
    refusal: str | None = None

    def widened(self, times: float) -> CommonDraw:
        """Return the draw made widely."""
        return self if self.make_widely is None else replace(self, make=self.make_widely)


class Public:
    """A draw that no dataset changes: its loss is 0, whatever its law."""

    is_unbounded = False

    def draw(self, own: CommonDraw, rng: Generator) -> Array:
        """Return a draw."""
        return np.asarray(own.make(rng), dtype=float)

    def settle(self, value: Array, own: CommonDraw) -> Array | None:
        """Return the value."""
        return value

    def loss(self, value: Array, own: CommonDraw, other: CommonDraw) -> float:
        """Return 0."""
        return 0.0

    def enclosed_loss(self, value: Array, own: CommonDraw, other: CommonDraw) -> Real:
        """Return 0."""
        return Real(0.0)

    def tilted(
        self, own: CommonDraw, other: CommonDraw, tilt: float, rng: Generator
    ) -> tuple[Array, float, float]:
        """Return a draw as it is."""
        return self.draw(own, rng), 0.0, 0.0

    def divergence(self, own: CommonDraw, other: CommonDraw) -> float:
        """Return 0."""
        return 0.0

    moved = divergence

    def scale(self, own: CommonDraw) -> Array:
        """Return a width so small that values stand in outputs themselves."""
        return np.full(own.shape, _NEAR)

    def uniforms(self, value: Array, own: CommonDraw, rng: Generator) -> Array:
        """Return none: the law is not known."""
        return np.empty(0)


KINDS: dict[str, NoiseLaw] = {
    **LAWS,
    "normal of a matrix": MixedGaussian(),
    "choice": Choice(),
    "discrete laplace": DiscreteLaplace(),
    "rounded laplace": RoundedLaplace(),
    "public": Public(),
}
"""Every law that is read, by the kind of its noisy values."""
