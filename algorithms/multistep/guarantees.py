r"""Releases of multi-step DP-ADMM and DP-ADMM 2019, beside Theorem 6 of Huang & Gong.

Every noisy inner model is Gaussian given those before it, with a mean that one record moves by at
most Lemma 5's ``s`` and a standard deviation of ``sigma s``. So ``t l`` steps are exactly
``mu = sqrt(t l) / sigma``-Gaussian DP (Dong, Roth & Su 2022), and T steps of DP-ADMM 2019 are
``sqrt(T) / sigma``: the algorithms' own ``event``. It is the view of somebody who sees every inner
model; what only sees the averages is covered by post-processing.

**Theorem 6**, eq. (20), states (epsilon, delta)-DP for ``epsilon = c_0 sqrt(2 t l ln(1.25/delta)) /
sigma``, for *arbitrary* epsilon. In terms of the exact law that is
``mu = epsilon / (c_0 sqrt(2 ln(1.25/delta)))``, and at ``c_0 = 1`` the exact epsilon of a mu-GDP
release is below it only up to some epsilon (8.42 at delta = 1e-5): the proof rests on Dwork & Roth
2014, Theorem A.1, which asks for epsilon in (0, 1). The proof of its Theorem 4 has
``c_0 = sqrt(ln(1/delta) / ln(1.25/delta))``, a little below 1, and breaks a little earlier.

**No constant saves it.** "There exists a c_0" is no way out. For any c_0 and delta < 1 put
``k = c_0 sqrt(2 ln(1.25/delta))``; where Lemma 5 is attained the law is Gaussian with ``mu =
epsilon / k``, and the exact delta at the claimed epsilon is

    Phi(epsilon/(2k) - k) - e^epsilon Phi(-epsilon/(2k) - k).

As epsilon grows the first term tends to 1. By ``Phi(-x) <= phi(x)/x`` and ``e^epsilon phi(epsilon/
(2k) + k) = phi(epsilon/(2k) - k)`` the second is at most ``phi(epsilon/(2k) - k) / (epsilon/(2k) +
k)``, which tends to 0. So it exceeds delta from some epsilon on: 107 for c_0 = 2 and delta =
1e-5, 968 and 4,282 for 5 and 10 (`theorem6_holds_up_to`).

DP-ADMM's own article is not among this project's papers: it has no published formula here.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

import dpaudit._check as check
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP

# Where the crossing is looked for: relative to the exact value the formula grows like epsilon^-1.
_LEAST = 1e-6
_MOST = 1e6


def theorem6_epsilon(
    *, noise_multiplier: float, steps: int, delta: float, constant: float = 1.0
) -> float:
    """Return eq. (20) solved for epsilon: ``c_0 sqrt(2 t l ln(1.25/delta)) / sigma``.

    Parameters
    ----------
    noise_multiplier
        ``sigma``.
    steps
        ``t l``.
    delta
        In [0, 1); at 0 the formula has no answer, which is infinity.
    constant
        ``c_0``, which the theorem leaves open.

    Raises
    ------
    InvalidArgument
        An argument is outside its domain.

    Examples
    --------
    >>> round(theorem6_epsilon(noise_multiplier=4.8448, steps=1, delta=1e-5), 4)
    1.0
    """
    check.require_positive("noise_multiplier", noise_multiplier)
    check.require_integer("steps", steps, least=0)
    check.require_positive("constant", constant)
    if check.require_delta("delta", delta) == 0:
        return math.inf
    return constant * math.sqrt(2 * steps * math.log(1.25 / delta)) / noise_multiplier


def theorem6_holds_up_to(delta: float, constant: float = 1.0) -> float:
    """Return the largest epsilon for which Theorem 6 is true of a loss that attains Lemma 5.

    Parameters
    ----------
    delta
        In (0, 1).
    constant
        ``c_0``.

    Returns
    -------
    float
        Infinite if it is true throughout, 0 if it is false already for small epsilon.

    Examples
    --------
    >>> round(theorem6_holds_up_to(1e-5), 2)
    8.42
    """
    check.require_probability("delta", delta)
    unit = check.require_positive("constant", constant) * math.sqrt(2 * math.log(1.25 / delta))

    def excess(epsilon: float) -> float:
        return GaussianDP(epsilon / unit).epsilon(delta) - epsilon

    # Below this epsilon both sides are near 0 and their order is settled.
    if excess(_LEAST) > 0:
        return 0.0
    if excess(_MOST) < 0:
        return math.inf
    return float(brentq(excess, _LEAST, _MOST, xtol=1e-12, rtol=1e-12))


def theorem4_constant(delta: float) -> float:
    """Return the ``c_0`` of Theorem 4's proof: ``sqrt(ln(1/delta) / ln(1.25/delta))``.

    Examples
    --------
    >>> round(theorem4_constant(1e-5), 4)
    0.9904
    """
    check.require_probability("delta", delta)
    return math.sqrt(math.log(1 / delta) / math.log(1.25 / delta))


def chosen_constant(delta: float, c0: float, *, of_proof: bool) -> float:
    """Return the ``c_0`` that was given, or that of the proof of Theorem 4.

    Raises
    ------
    InvalidArgument
        Both were asked for.

    Examples
    --------
    >>> chosen_constant(1e-5, 2.0, of_proof=False)
    2.0
    """
    if not of_proof:
        return c0
    if c0 != 1:
        raise InvalidArgument("c0", c0, "nothing beside c0_of_proof")
    return theorem4_constant(delta)
