r"""Section 7.4 of hu2019: the proof of Theorem 1, step by step.

``C`` is the bound on the difference Delta of two messages, ``ell = ln(1.25/delta)`` and
``sigma = C sqrt(2 ell) / epsilon``; ``c = sigma epsilon / C`` is ``sqrt(2 ell)``.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    compute_fraction_inner,
    compute_squared_norm,
    make_fraction_numbers,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns


def loss_without_means() -> tuple[Finding, Finding]:
    """Return the log ratio of two normal densities at an output, and of the noise's at one value.

    One entry, sigma = 1, means 1 apart, the noise 1: the ratio of two outputs' densities is that
    of the noise at two values, 1 and 2. At one value it is 1, for the proof gives both noises one
    law.
    """
    noise, apart = Fraction(1), Fraction(1)
    left = ((noise + apart) ** 2 - noise**2) / 2
    instance = "|ln P(output | D) / P(output | D')| and the last expression, sigma = 1, Delta = 1"
    return (
        Finding(left=left, relation="=", right=Fraction(0), instance=instance),
        Finding(
            left=left,
            relation="=",
            right=(2 * noise * apart + apart**2) / 2,
            instance="the first, and the noise's at values Delta apart",
        ),
    )


def product_of_a_number() -> tuple[Finding, Finding]:
    """Return the log ratio for noise of two entries, and with a product of lengths.

    ``n = (1, 0)`` is at a right angle to ``Delta = (0, 1)``, sigma = 1.
    """
    noise, apart = make_fraction_numbers(1, 0), make_fraction_numbers(0, 1)
    moved = tuple(n + a for n, a in zip(noise, apart, strict=True))
    left = (compute_squared_norm(moved) - compute_squared_norm(noise)) / 2
    instance = "log ratio of N(0, I) at n and n + Delta, n = (1, 0), Delta = (0, 1)"
    return (
        Finding(
            left=left,
            relation="=",
            right=Fraction(2 * 1 * 1 + 1, 2),
            instance=f"{instance}, and (2 |n| |Delta| + |Delta|^2)/2",
        ),
        Finding(
            left=left,
            relation="=",
            right=(2 * compute_fraction_inner(noise, apart) + compute_squared_norm(apart)) / 2,
            instance=f"{instance}, and (2 <n, Delta> + |Delta|^2)/2",
        ),
    )


def noise_below_zero() -> tuple[Finding, Finding]:
    """Return ``|2 n Delta + Delta^2|`` and ``|2 n C + C^2|`` for a negative n, and with ``|n|``.

    C = 1, ``Delta = 1/2 <= C``, ``n = -1/2``.
    """
    noise, apart, bound = make_fraction_numbers("-1/2", "1/2", 1)
    left = abs(2 * noise * apart + apart**2)
    instance = "C = 1, Delta = 1/2, n = -1/2"
    return (
        Finding(
            left=left, relation="<=", right=abs(2 * noise * bound + bound**2), instance=instance
        ),
        Finding(
            left=left,
            relation="<=",
            right=2 * abs(noise) * bound + bound**2,
            instance=f"{instance}, |n| in place of n",
        ),
    )


def logarithm_of_sigma() -> Finding:
    """Return 1 and ``1.25/sigma``, which has to be above it for ``ln(1.25/sigma)`` to be positive.

    C = 1, epsilon = 1 and delta = 1e-5: ``sigma = sqrt(2 ln(125000)) > 4``, as ``e^8 < 125000``.
    """
    return Finding(
        left=Fraction(1),
        relation="<",
        right=Fraction(5, 4) / 4,
        instance="1 and an upper bound on 1.25/sigma, C = epsilon = 1, delta = 1e-5",
    )


def check_cancelled_bound() -> tuple[Finding, Finding]:
    r"""Prove the last equality of the privacy loss, and its value at the bound r of the noise.

    Proof. ``(2 n C + C^2) / (2 C^2 2 ell / epsilon^2) = (2 n + C) epsilon^2 / (4 C ell)``. At
    ``n = r = 2 C ell / epsilon - C/2`` this is epsilon; for ``|n| <= r`` its absolute value is
    at most that of ``2 |n| + C``, and so at most epsilon. Checked: both, with ell for the
    logarithm.
    """
    noise, bound, epsilon, ell = make_unknowns("n C epsilon ell")
    left = (2 * noise * bound + bound**2) * epsilon**2 / (4 * bound**2 * ell)
    right = (2 * noise + bound) * epsilon**2 / (4 * bound * ell)
    reach = 2 * bound * ell / epsilon - bound / 2
    return (
        make_identity_finding(left, right, "the cancelled loss"),
        make_identity_finding(right.substitute({"n": reach}), epsilon, "the loss at r"),
    )


def tail_of_a_vector() -> Finding:
    r"""Return logarithms of both sides of (44), where the message has two entries of noise.

    With (10) ``D_m xi`` is a normal vector in the d_m-dimensional column space, and for d_m = 2 its
    length obeys ``P(||D_m xi|| >= r) = exp(-r^2 / (2 sigma^2)) = exp(-ell + epsilon/2 -
    epsilon^2/(16 ell))``, where ``delta = 5/4 exp(-ell)``. (44) says ``epsilon/2 - epsilon^2/(16
    ell) <= ln(5/4)``. At epsilon = 1 and delta = 1e-5 ell is above 11, and ``ln(5/4) < 1/4``.
    """
    return Finding(
        left=Fraction(1, 2) - Fraction(1, 16 * 11),
        relation="<=",
        right=Fraction(1, 4),
        instance="ln of P(||D_m xi|| >= r) and of delta, + ell - ln(5/4) + 1/4: d_m = 2",
    )


def half_of_the_tail() -> tuple[Finding, ...]:
    r"""Prove ``P(n >= r) <= delta/2`` of one entry, ``n ~ N(0, sigma^2)``, for delta <= 2/5.

    With it (44) holds of one entry, and of the component of ``D_m xi`` along a direction: by
    symmetry ``P(|n| >= r) = 2 P(n >= r)``.

    Proof. ``s = r/sigma = c - epsilon/(2 c)``, and ``s^2 = c^2 - epsilon + epsilon^2/(4 c^2)``.
    By the tail bound and ``exp(-c^2/2) = delta/1.25``,

        P(n >= r) <= exp(-s^2/2) / (s sqrt(2 pi)) <= (delta/1.25) exp(epsilon/2) / (s sqrt(2 pi)),

    which is at most ``delta/2`` if ``s >= 2 sqrt(e) / (1.25 sqrt(2 pi))`` for epsilon <= 1. That
    number is below ``2 * 1.65 / (1.25 * 2.5)``. For delta <= 2/5 ``ell >= ln(3.125) >= 9/8``, so
    that ``c >= 3/2`` and ``s >= 3/2 - 1/3``, as s grows with c and falls with epsilon.
    """
    c, epsilon = make_unknowns("c epsilon")
    s = c - epsilon / (2 * c)
    series = sum((Fraction(9, 8) ** k / math.factorial(k) for k in range(11)), Fraction(0))
    rest = Fraction(1, 1000)
    return (
        make_identity_finding(s**2, c**2 - epsilon + epsilon**2 / (4 * c**2), "s^2"),
        Finding(
            left=series + rest,
            relation="<=",
            right=Fraction(25, 8),
            instance="e^(9/8), from above, and 1.25/delta at delta = 2/5",
        ),
        Finding(
            left=2 * Fraction(165, 100) / (Fraction(5, 4) * Fraction(5, 2)),
            relation="<=",
            right=Fraction(3, 2) - Fraction(1, 3),
            instance="what s has to reach, from above, and s, from below",
        ),
        Finding(
            left=Fraction(272, 100),
            relation="<=",
            right=Fraction(165, 100) ** 2,
            instance="e < 2.72, and 1.65^2",
        ),
        Finding(
            left=Fraction(5, 2) ** 2,
            relation="<=",
            right=2 * Fraction(314, 100),
            instance="2.5^2, and 2 pi > 6.28",
        ),
    )


def normal_tail() -> Finding:
    r"""Prove the tail bound ``P(n > r) <= sigma / (r sqrt(2 pi)) exp(-r^2/(2 sigma^2))``, r > 0.

    Proof. With ``s = r/sigma``, ``P = integral_s^inf phi(u) du <= integral_s^inf (u/s) phi(u) du =
    phi(s)/s``: there ``u/s >= 1``, and ``-phi`` has the derivative ``u phi(u)``, since the exponent
    ``-u^2/2`` has the derivative -u. Checked: that derivative, as a difference quotient at h = 0.
    """
    u, h = make_unknowns("u h")
    quotient = (-((u + h) ** 2) / 2 + u**2 / 2) / h
    return make_identity_finding(quotient.substitute({"h": 0}), -u, "derivative of -u^2/2")


def exponent_of_the_tail() -> tuple[Finding, ...]:
    r"""Return ``r^2/(2 sigma^2)`` and the exponent that is printed, and the tail and its bound.

    At ``ln(1.25/delta) = 12`` and epsilon = 1, with ``s = r/sigma``: the exponent ``s^2/2`` is half
    of what is printed. ``P(n >= r) >= phi(s) s/(1 + s^2)``, for ``phi(s)/s - integral_s^inf phi/u^2
    du`` is P, and the integral at most ``P/s^2``. The printed bound is ``phi(s) exp(-s^2/2) / s``,
    so that P over it is at least ``s^2 exp(s^2/2) / (1 + s^2) >= s^2 (1 + s^2/2) / (1 + s^2)``.
    """
    ell, epsilon = Fraction(12), Fraction(1)
    square_of_s = (4 * ell - epsilon) ** 2 / (8 * ell)
    instance = "r^2/(2 sigma^2), and the printed exponent, ln(1.25/delta) = 12, epsilon = 1"
    return (
        Finding(
            left=square_of_s / 2,
            relation="=",
            right=(4 * ell - epsilon) ** 2 / (8 * ell),
            instance=instance,
        ),
        Finding(
            left=square_of_s / 2,
            relation="=",
            right=(4 * ell - epsilon) ** 2 / (16 * ell),
            instance=f"{instance}, with 16 for 8",
        ),
        Finding(
            left=square_of_s * (1 + square_of_s / 2) / (1 + square_of_s),
            relation="<=",
            right=Fraction(1),
            instance="P(n >= r) over the printed bound, from below, and 1",
        ),
    )


def factor_of_the_tail() -> tuple[Finding, Finding]:
    r"""Prove (45), with delta for sigma, for delta <= 2/5.

    Proof. With ``c = sqrt(2 ell)`` it says ``2 c < 2 c^2 - 1`` (and ``epsilon <= 1`` is the first
    inequality of it). ``2 c^2 - 2 c - 1 = 2 (c - 3/2)(c + 1/2) + 1/2``, which is positive for
    ``c >= 3/2``, and `half_of_the_tail` has that for delta <= 2/5.
    """
    c = make_unknowns("c")[0]
    right = 2 * (c - Fraction(3, 2)) * (c + Fraction(1, 2)) + Fraction(1, 2)
    return (
        make_identity_finding(2 * c**2 - 2 * c - 1, right, "(45)"),
        Finding(
            left=Fraction(0),
            relation="<",
            right=right.value({"c": Fraction(3, 2)}),
            instance="2 c^2 - 2 c - 1 at c = 3/2",
        ),
    )


def logarithm_of_the_tail() -> tuple[Finding, ...]:
    r"""Prove ``-(4 ell - epsilon)^2/(8 ell) < ln(sqrt(2 pi) delta/2)`` for delta <= 2/5.

    It does not follow from (45), and is of no use: the exponent of the tail has 16 where this has
    8, and with 16 the inequality is false at epsilon = 1 for delta = 1e-5.

    Proof. The left side is ``-2 ell + epsilon - epsilon^2/(8 ell) <= -2 ell + 1``; the right side
    is ``-ell + ln(1.25 sqrt(2 pi)/2) > -ell``, as ``1.25 * 2.5 / 2 > 1``. And ``-2 ell + 1 < -ell``
    for ``ell >= 9/8``, which delta <= 2/5 gives.
    """
    ell, epsilon = make_unknowns("ell epsilon")
    expanded = 2 * ell - epsilon + epsilon**2 / (8 * ell)
    return (
        make_identity_finding((4 * ell - epsilon) ** 2 / (8 * ell), expanded, "the exponent"),
        Finding(
            left=Fraction(1),
            relation="<",
            right=Fraction(5, 4) * Fraction(5, 2) / 2,
            instance="1, and less than 1.25 sqrt(2 pi)/2",
        ),
        Finding(left=Fraction(1), relation="<", right=Fraction(9, 8), instance="1, and ell"),
    )


def event_of_small_noise() -> Finding:
    """Return a lower bound on P(A_2), and delta.

    ``exp(ln(sqrt(2 pi) delta/2))/sqrt(2 pi)`` is ``delta/2``, so that A_1 is an interval of length
    delta: ``P(A_1) <= delta / (sigma sqrt(2 pi)) <= delta (2/5) / sigma``. At C = epsilon = 1 and
    delta = 1e-5 sigma is above 4.
    """
    delta = Fraction(1, 100_000)
    return Finding(
        left=1 - delta * Fraction(2, 5) / 4,
        relation="<=",
        right=delta,
        instance="P(A_2), from below, and delta, C = epsilon = 1, delta = 1e-5",
    )
