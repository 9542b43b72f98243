r"""What ADMM sharing releases with noise on its messages, beside hu2020's Theorem 1, Corollary 1.

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

import dpaudit._validate as check
from dpaudit.accounting.composition import advanced, gaussian_guarantee, optimal
from dpaudit.accounting.events import GaussianRelease


def message_event(*, sensitivity: float, noise_scale: float, iterations: int) -> GaussianRelease:
    """Return what one party's T messages release: T - 1 Gaussian steps.

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
    count = check.integer("iterations", iterations, least=1) - 1
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
        Lemma 1's C (`dpaudit.algorithms.sharing.noise.published_sensitivity`).
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
    check.positive("noise_scale", noise_scale)
    if check.delta("delta", delta) == 0:
        return math.inf
    epsilon = math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / noise_scale
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
    epsilon, share = _iteration(sensitivity, noise_scale, iterations, delta)
    return advanced(epsilon, share, iterations, delta / 2)[0] if epsilon <= 1 else math.inf


def corollary1_optimal_epsilon(
    *, sensitivity: float, noise_scale: float, iterations: int, delta: float
) -> float:
    """Return what follows from Theorem 1 for T iterations by optimal composition, same split."""
    epsilon, share = _iteration(sensitivity, noise_scale, iterations, delta)
    return optimal(epsilon, share, iterations).epsilon(delta) if epsilon <= 1 else math.inf


def corollary1_gaussian_epsilon(
    *, sensitivity: float, noise_scale: float, iterations: int, delta: float
) -> float:
    """Return the exact epsilon of T Gaussian iterations: no use is made of Theorem 1."""
    event = GaussianRelease(sensitivity=sensitivity, noise_scale=noise_scale, count=iterations)
    return gaussian_guarantee(event).epsilon(delta)


def _iteration(
    sensitivity: float, noise_scale: float, iterations: int, delta: float
) -> tuple[float, float]:
    """Return the epsilon and delta of an iteration by Theorem 1."""
    share = check.delta("delta", delta) / (2 * check.integer("iterations", iterations, least=1))
    one = theorem1_epsilon(sensitivity=sensitivity, noise_scale=noise_scale, delta=share)
    return one, share
