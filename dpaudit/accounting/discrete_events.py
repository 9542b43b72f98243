"""Events whose noise is discrete, or whose law is a mixture: mathematics and public parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import dpaudit._check as check
from dpaudit.errors import InvalidArgument

# The law of discrete Gaussian noise lists every integer within some tens of scales and the shift.
_MOST_SCALE = 1e4
_MOST_SHIFT = 1_000_000


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse:
    """``count`` answers, each the truth with some probability, else another one at random.

    Parameters
    ----------
    truth
        Probability of the true answer: at least that of any other, below 1.
    categories
        The number of possible answers.
    count
        The number of such answers of a record.
    """

    truth: float
    categories: int = 2
    count: int = 1

    def __post_init__(self) -> None:
        check.require_integer("categories", self.categories, least=2)
        # At a truth of 1 the answer is the record itself, and no epsilon is finite. Below 1 /
        # categories the answer speaks for another record, and the ratio is another one.
        if not 1 / self.categories <= check.require_positive("truth", self.truth) < 1:
            expected = f"a number from 1 / {self.categories} to below 1"
            raise InvalidArgument("truth", self.truth, expected)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceRelease:
    """``count`` adaptive releases of an integer, noise of mass proportional to ``exp(-|k| / b)``.

    Ghosh, Roughgarden & Sundararajan 2009. Each coordinate of a vector is a release of its own.

    Parameters
    ----------
    sensitivity
        The largest difference of the integer between neighbours.
    noise_scale
        The scale b, at most 10,000.
    count
        The number of such releases.
    """

    sensitivity: int
    noise_scale: float
    count: int = 1

    def __post_init__(self) -> None:
        _check_integer_noise(self.sensitivity, self.noise_scale)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianRelease:
    """``count`` adaptive releases of an integer with noise of mass as ``exp(-k^2 / (2 sigma^2))``.

    Canonne, Kamath & Steinke 2020. Each coordinate of a vector is a release of its own.

    Parameters
    ----------
    sensitivity
        The largest difference of the integer between neighbours.
    noise_scale
        The parameter sigma, at most 10,000.
    count
        The number of such releases.
    """

    sensitivity: int
    noise_scale: float
    count: int = 1

    def __post_init__(self) -> None:
        _check_integer_noise(self.sensitivity, self.noise_scale)
        check.require_integer("count", self.count, least=0)


def _check_integer_noise(sensitivity: int, scale: float) -> None:
    if check.require_integer("sensitivity", sensitivity, least=0) > _MOST_SHIFT:
        raise InvalidArgument("sensitivity", sensitivity, f"at most {_MOST_SHIFT:,}")
    if not 0.05 <= check.require_positive("noise_scale", scale) <= _MOST_SCALE:
        raise InvalidArgument("noise_scale", scale, f"a number from 0.05 to {_MOST_SCALE:,.0f}")


@dataclass(frozen=True, kw_only=True)
class GaussianMixtureRelease:
    """``count`` adaptive releases with Gaussian noise of a query whose sensitivity is random.

    One neighbour has ``sum p_i N(s_i, sigma^2)``, the other N(0, sigma^2), in either order: such as
    a record that is in none, one or several places of a random batch.

    Parameters
    ----------
    sensitivities, probabilities
        The s_i, at least 0, and the p_i, which add up to 1.
    noise_scale
        The standard deviation sigma of the noise.
    count
        The number of such releases.
    """

    sensitivities: tuple[float, ...]
    probabilities: tuple[float, ...]
    noise_scale: float
    count: int = 1

    def __post_init__(self) -> None:
        for name in ("sensitivities", "probabilities"):
            for value in getattr(self, name):
                check.non_negative(name, value)
        if len(self.sensitivities) != len(self.probabilities) or not self.sensitivities:
            expected = f"as many as probabilities, {len(self.probabilities)}, and one at least"
            raise InvalidArgument("sensitivities", len(self.sensitivities), expected)
        # Probabilities are doubles: ten times 0.1 need not add up to 1.
        if abs(math.fsum(self.probabilities) - 1) > 1e-12:
            expected = "numbers that add up to 1"
            raise InvalidArgument("probabilities", self.probabilities, expected)
        ratio = max(self.sensitivities) / check.require_positive("noise_scale", self.noise_scale)
        if ratio > 40:
            expected = "at least a fortieth of the largest sensitivity"
            raise InvalidArgument("noise_scale", self.noise_scale, expected)
        check.require_integer("count", self.count, least=0)
