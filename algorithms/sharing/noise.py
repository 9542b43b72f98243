"""The three places where ADMM sharing's noise is said to go, and the release of each.

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

**The event.** With N(0, sigma^2 I) on the message ``D_m x_m``, a party's messages are Gaussian
given the history. The first is ``0 + noise`` on any data, as x = 0 solves eq. (6) at the start, so
T iterations are ``T - 1`` Gaussian releases. Their sensitivity is a parameter here: Lemma 1, which
is to bound it, is false, as its proof takes ``||(D'D)^-1||`` for ``1/d_m``. What holds is this: if
each x_m is held in a ball of radius b and the neighbours' designs have spectral norms at most
``||D||``, then ``||D x - D' x'|| <= 2 ||D|| b`` (`ball_sensitivity`); rows of norm at most 1 give
``||D|| <= sqrt(N)``. With noise on the models instead of the messages no event is offered: the
message lies in the column space of the data, and neighbours are told apart by one message.

**As published.** Theorem 1: with ``sigma = sqrt(2 ln(1.25/delta)) C / epsilon``, C of Lemma 1, one
iteration is (epsilon, delta)-DP for epsilon in (0, 1]. Corollary 1: T of them are
``(sqrt(2 T ln(1/delta')) epsilon + T epsilon (exp(epsilon) - 1), T delta + delta')``-DP. Here half
of the total delta goes to delta', half in equal parts to the iterations.

**With the same premise** (C a true bound) two accountants improve on Corollary 1: the optimal
composition of what Theorem 1 says about an iteration, and exact Gaussian composition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.composition import compose_advanced, gaussian_guarantee
from dpaudit.accounting.events import GaussianRelease
from dpaudit.accounting.optimal import make_optimal_composition
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
class _ScaledNoise:
    """Noise of one standard deviation for all parties, or of one for each."""

    scale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        for scale in self.scale if isinstance(self.scale, tuple) else (self.scale,):
            check.non_negative("noise scale", scale)


@dataclass(frozen=True)
class ParameterNoise(_ScaledNoise):
    """``x~ = x + N(0, scale^2 I)``: hu2020 eq. (7) as it is written.

    Formal guarantee: none; neighbours with other column spaces are told apart by one message.
    """


@dataclass(frozen=True)
class WhitenedNoise(_ScaledNoise):
    """``x~ = x + N(0, scale^2 (D'D)^+)``: hu2019 eq. (10).

    Formal guarantee: none, as for `ParameterNoise`.
    """


@dataclass(frozen=True)
class MessageNoise(_ScaledNoise):
    """``D x~ := D x + N(0, scale^2 I)``: the noise in the proof of hu2020's Theorem 1.

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
    """Return the noise on the party's model before its product with D, shape ``(R, d_m)``.

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
            # Noise divided by the singular values is white once D is applied to it; directions that
            # D does not see get none.
            along = scale * rng.standard_normal((trials, len(values))) / values
            return np.asarray(along @ directions.T)
        case NoNoise() | MessageNoise():
            return np.zeros((trials, party.dimension))


def compute_published_sensitivity(
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
    >>> compute_published_sensitivity(
    ...     features=3,
    ...     parties=2,
    ...     penalty=1.0,
    ...     regulariser_weight=0.0,
    ...     regulariser_curvature=1.0,
    ...     bound=1.0,
    ... )
    3.0
    """
    check.require_integer("features", features, least=1)
    check.require_integer("parties", parties, least=1)
    check.require_positive("penalty", penalty)
    inner = regulariser_weight * regulariser_curvature + (1 + parties * penalty) * bound
    return 3 / (features * penalty) * inner


def compute_published_noise_scale(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return Theorem 1's ``sigma = sqrt(2 ln(1.25 / delta)) C / epsilon``.

    Examples
    --------
    >>> round(compute_published_noise_scale(1.0, 1e-5, 1.0), 4)
    4.8448
    """
    check.require_positive("epsilon", epsilon)
    check.require_probability("delta", delta)
    return math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / epsilon


def message_event(*, sensitivity: float, noise_scale: float, iterations: int) -> GaussianRelease:
    """Return the release of one party's T messages: T - 1 Gaussian steps.

    Formal guarantee: exact, under the premise that ``sensitivity`` bounds ``||D x - D' x'||`` for
    every history; under replace-column, with public labels.

    Parameters
    ----------
    sensitivity
        Of ``D_m x_m``: see `ball_sensitivity`. Lemma 1's value is not a bound.
    noise_scale
        ``sigma``.
    iterations
        ``T``, at least 1.

    Raises
    ------
    InvalidArgument
        An argument is outside its domain.

    Examples
    --------
    >>> message_event(sensitivity=2.0, noise_scale=8.0, iterations=17).count
    16
    """
    # The first message is its noise alone, whatever the data: the run starts at 0, where the local
    # minimiser is 0 as well.
    count = check.require_integer("iterations", iterations, least=1) - 1
    return GaussianRelease(sensitivity=sensitivity, noise_scale=noise_scale, count=count)


def ball_sensitivity(*, spectral_norm: float, radius: float) -> float:
    """Return ``2 ||D|| b``: a bound on the sensitivity for models held in a ball.

    Examples
    --------
    >>> ball_sensitivity(spectral_norm=3.0, radius=0.5)
    3.0
    """
    check.non_negative("spectral_norm", spectral_norm)
    return 2 * spectral_norm * check.non_negative("radius", radius)


def theorem1_epsilon(*, sensitivity: float, noise_scale: float, delta: float) -> float:
    """Return Theorem 1 solved for epsilon; infinite where it exceeds 1, the theorem's range.

    Parameters
    ----------
    sensitivity
        Lemma 1's C (`dpaudit.algorithms.sharing.noise.compute_published_sensitivity`).
    noise_scale
        ``sigma``.
    delta
        Of one iteration; at 0 the theorem has no answer, which is infinity.

    Examples
    --------
    >>> round(theorem1_epsilon(sensitivity=1.0, noise_scale=9.6896, delta=1e-5), 4)
    0.5
    >>> theorem1_epsilon(sensitivity=1.0, noise_scale=4.0, delta=1e-5)
    inf
    """
    check.non_negative("sensitivity", sensitivity)
    check.require_positive("noise_scale", noise_scale)
    # The logarithm of 1.25 / delta has no value at 0, where no Gaussian noise is enough.
    if check.require_delta("delta", delta) == 0:
        return math.inf
    epsilon = math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / noise_scale
    # The theorem that calibrates this noise is proved for epsilon up to 1 only; beyond it there is
    # no statement to give.
    return epsilon if epsilon <= 1 else math.inf


def corollary1_epsilon(
    *, sensitivity: float, noise_scale: float, iterations: int, delta: float
) -> float:
    """Return Corollary 1's epsilon' at the total ``delta = T delta_1 + delta'``, split in halves.

    Infinite where Theorem 1 has no answer for an iteration.

    Examples
    --------
    >>> one = {"sensitivity": 1.0, "noise_scale": 50.0, "iterations": 20}
    >>> round(corollary1_epsilon(**one, delta=1e-5), 4)
    2.7156
    >>> round(corollary1_optimal_epsilon(**one, delta=1e-5), 4)
    1.9112
    >>> round(corollary1_gaussian_epsilon(**one, delta=1e-5), 4)
    0.3017
    """
    epsilon, share = _compute_iteration_budget(sensitivity, noise_scale, iterations, delta)
    return compose_advanced(epsilon, share, iterations, delta / 2)[0] if epsilon <= 1 else math.inf


def corollary1_optimal_epsilon(
    *, sensitivity: float, noise_scale: float, iterations: int, delta: float
) -> float:
    """Return the epsilon of Theorem 1 after T iterations by optimal composition, same split."""
    epsilon, share = _compute_iteration_budget(sensitivity, noise_scale, iterations, delta)
    return (
        make_optimal_composition(epsilon, share, iterations).epsilon(delta)
        if epsilon <= 1
        else math.inf
    )


def corollary1_gaussian_epsilon(
    *, sensitivity: float, noise_scale: float, iterations: int, delta: float
) -> float:
    """Return the exact epsilon of T Gaussian iterations: no use is made of Theorem 1."""
    event = GaussianRelease(sensitivity=sensitivity, noise_scale=noise_scale, count=iterations)
    return gaussian_guarantee(event).epsilon(delta)


def _compute_iteration_budget(
    sensitivity: float, noise_scale: float, iterations: int, delta: float
) -> tuple[float, float]:
    """Return the epsilon and delta of an iteration by Theorem 1."""
    # Half of delta is shared by the iterations; the composition takes the other half.
    share = check.require_delta("delta", delta) / (
        2 * check.require_integer("iterations", iterations, least=1)
    )
    one = theorem1_epsilon(sensitivity=sensitivity, noise_scale=noise_scale, delta=share)
    return one, share
