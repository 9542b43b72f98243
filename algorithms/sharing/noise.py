r"""The three places where ADMM sharing's noise is said to go, and the papers' noise scale.

| choice           | definition                      | noise in the message D x~ | source     |
|------------------|---------------------------------|---------------------------|------------|
| `ParameterNoise` | x~ = x + N(0, sigma^2 I_d)      | N(0, sigma^2 D D')        | hu2020 (7) |
| `WhitenedNoise`  | x~ = x + N(0, sigma^2 (D'D)^-1) | N(0, sigma^2 P)           | hu2019 (10)|
| `MessageNoise`   | D x~ := D x + N(0, sigma^2 I_N) | N(0, sigma^2 I_N)         | hu2020 7.2 |

P projects on the column space of D_m. The first two leave the message in that space, a subspace of
R^N of dimension at most d_m that depends on the data: the message has no density in R^N, and none
with respect to the law on a neighbour whose columns span another space. Such neighbours are told
apart by one message, whatever sigma is. The proof of hu2020's Theorem 1 treats the third.

Where D_m has dependent columns (one-hot groups do) (D'D)^-1 does not exist; the pseudo-inverse
takes its place here, which leaves ``D x~`` with covariance ``sigma^2 P`` all the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.sharing.vertical import Party
from dpaudit.errors import InvalidArgument


@dataclass(frozen=True)
class NoNoise:
    """Nothing is added: the non-private algorithm."""

    @property
    def scale(self) -> float:
        """Always 0."""
        return 0.0


@dataclass(frozen=True)
class _Scaled:
    """Noise of one standard deviation for all parties, or of one for each."""

    scale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        for scale in self.scale if isinstance(self.scale, tuple) else (self.scale,):
            check.non_negative("noise scale", scale)


@dataclass(frozen=True)
class ParameterNoise(_Scaled):
    """``x~ = x + N(0, scale^2 I)``: hu2020 eq. (7) as it is written.

    Formal guarantee: none; neighbours with other column spaces are told apart by one message.
    """


@dataclass(frozen=True)
class WhitenedNoise(_Scaled):
    """``x~ = x + N(0, scale^2 (D'D)^+)``: hu2019 eq. (10).

    Formal guarantee: none, as for `ParameterNoise`.
    """


@dataclass(frozen=True)
class MessageNoise(_Scaled):
    """``D x~ := D x + N(0, scale^2 I)``: what the proof of hu2020's Theorem 1 takes the noise for.

    Formal guarantee: none that holds for all histories, unless the models are held in a ball (see
    `dpaudit.algorithms.sharing.algorithm.SharingADMM.squared_shift_bounds`); a pair's privacy loss
    is exact.
    """


Noise = NoNoise | ParameterNoise | WhitenedNoise | MessageNoise


def party_scales(noise: Noise, parties: int) -> Array:
    """Return every party's standard deviation, shape ``(M,)``."""
    if isinstance(noise.scale, tuple) and len(noise.scale) != parties:
        raise InvalidArgument("noise scale", noise.scale, f"one for each of {parties} parties")
    return np.broadcast_to(np.asarray(noise.scale, dtype=np.float64), (parties,))


def model_noise(noise: Noise, party: Party, scale: float, trials: int, rng: Generator) -> Array:
    """Return what is added to the party's model before it is multiplied by D, shape ``(R, d_m)``.

    Examples
    --------
    >>> party = Party(np.array([[2.0], [0.0]]))
    >>> drawn = model_noise(WhitenedNoise(1.0), party, 1.0, 3, np.random.default_rng(0))
    >>> np.allclose(drawn, np.random.default_rng(0).standard_normal((3, 1)) / 2)
    True
    """
    match noise:
        case ParameterNoise():
            return scale * rng.standard_normal((trials, party.dimension))
        case WhitenedNoise():
            values, directions = party.singular_values, party.directions
            along = scale * rng.standard_normal((trials, len(values))) / values
            return np.asarray(along @ directions.T)
        case NoNoise() | MessageNoise():
            return np.zeros((trials, party.dimension))


def published_sensitivity(
    *,
    features: int,
    parties: int,
    penalty: float,
    regulariser_weight: float,
    regulariser_curvature: float,
    bound: float,
) -> float:
    """Return Lemma 1's ``C = 3 / (d_m rho) [lambda c_1 + (1 + M rho) b_1]``.

    It is the papers' claim, not a bound: the proof takes ``||(D'D)^-1||`` for ``1 / d_m``.

    Examples
    --------
    >>> published_sensitivity(
    ...     features=3,
    ...     parties=2,
    ...     penalty=1.0,
    ...     regulariser_weight=0.0,
    ...     regulariser_curvature=1.0,
    ...     bound=1.0,
    ... )
    3.0
    """
    check.integer("features", features, least=1)
    check.integer("parties", parties, least=1)
    check.positive("penalty", penalty)
    inner = regulariser_weight * regulariser_curvature + (1 + parties * penalty) * bound
    return 3 / (features * penalty) * inner


def published_noise_scale(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return Theorem 1's ``sigma = sqrt(2 ln(1.25 / delta)) C / epsilon``.

    Examples
    --------
    >>> round(published_noise_scale(1.0, 1e-5, 1.0), 4)
    4.8448
    """
    check.positive("epsilon", epsilon)
    check.probability("delta", delta)
    return math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / epsilon
