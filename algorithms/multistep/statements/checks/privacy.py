"""Theorems 4 and 6: composition, the condition on a constant, and noise that is enough.

Written are ``L = ln(1/delta)``, ``M = ln(1.25/delta)``, and ``mu`` for the ratio of the distance of
two Gaussian laws to their standard deviation.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns


def no_constant_of_composition() -> tuple[Finding, ...]:
    """Show that no ``c_0`` keeps delta in Theorem 4.

    With probability ``delta`` an algorithm shows which dataset it has, else it says nothing: it is
    ``(0, delta)``-DP, so ``(epsilon, delta)``-DP. Of two independent runs at least one shows it
    with probability ``1 - (1 - delta)^2``, and this event has probability 0 on the other dataset:
    whatever ``epsilon' = c_0 sqrt(2) epsilon`` is, it counts in full against delta.
    """
    delta = Fraction(1, 10)
    # The event that an output shows the dataset, in at least one of two runs.
    shown = 1 - (1 - delta) ** 2
    return (
        Finding(left=delta, relation="<=", right=delta, instance="one run is (0, 1/10)-DP"),
        Finding(left=shown, relation="<=", right=delta, instance="two runs, every c_0"),
    )


def log_moment() -> tuple[Finding, ...]:
    """Show that the log moment is that of a Gaussian mechanism, and not of every private one.

    For ``epsilon = 0`` it is claimed to be 0: ``E (P/Q)^tau <= 1``. On two outcomes let ``P`` have
    ``1/2 + delta`` and ``1/2 - delta``, and ``Q`` 1/2 each: no event differs by more than delta.
    For ``tau = 1`` the moment is ``1 + 4 delta^2``.

    Of a Gaussian mechanism with ``sigma = sqrt(2 M) / epsilon`` it is ``tau (tau + 1) /
    (2 sigma^2)``, as claimed with ``t = 1``.
    """
    delta, half = Fraction(1, 10), Fraction(1, 2)
    one, other = (half + delta, half - delta), (half, half)
    apart = sum(max(p - q, Fraction(0)) for p, q in zip(one, other, strict=True))
    moment = sum(p * p / q for p, q in zip(one, other, strict=True))
    tau, epsilon, m = make_unknowns("tau epsilon M")
    gaussian = tau * (tau + 1) / (2 * (2 * m / epsilon**2))
    return (
        Finding(left=apart, relation="<=", right=delta, instance="(0, 1/10)-DP"),
        Finding(left=moment, relation="<=", right=1, instance="E (P/Q)^tau, tau = 1"),
        make_identity_finding(
            gaussian, tau * (tau + 1) * epsilon**2 / (4 * m), "repaired: Gaussian mechanisms"
        ),
    )


def tail_bound() -> tuple[Finding, ...]:
    """Show that the tail bound needs ``epsilon' = a + 2 sqrt(a L)``, where the proof drops ``a``.

    With ``a = t epsilon^2 / (4 M)`` the bound is ``ln delta >= min over tau of a tau (tau + 1) -
    tau epsilon'``, and the minimum is ``- (epsilon' - a)^2 / (4 a)``. The proof has ``epsilon' = 2
    sqrt(a L)``: for ``a = 1`` and ``L = 4`` the exponent is -9/4, and has to be at most -4.
    """
    a, level = Fraction(1), Fraction(4)  # epsilon' = 2 sqrt(a L) = 4
    epsilon = Fraction(4)
    least = -((epsilon - a) ** 2) / (4 * a)
    return (
        Finding(
            left=least, relation="<=", right=-level, instance="exponent at a = 1, ln(1/delta) = 4"
        ),
        *_check_tail_quadratic(),
    )


def _check_tail_quadratic() -> tuple[Finding, Finding]:
    a, tau, epsilon, root = make_unknowns("a tau epsilon root")
    centre = (epsilon - a) / (2 * a)
    square = a * (tau - centre) ** 2 - (epsilon - a) ** 2 / (4 * a)
    exponent = -((epsilon - a) ** 2) / (4 * a)
    enough = exponent.substitute({"epsilon": a + 2 * root})
    return (
        make_identity_finding(a * tau * (tau + 1) - tau * epsilon, square, "the minimum over tau"),
        make_identity_finding(
            enough, -(root**2) / a, "repaired: epsilon' = a + 2 root, root^2 = a L"
        ),
    )


def large_epsilon() -> tuple[Finding, ...]:
    """Show that one update with the noise of (20) is not private enough at a large epsilon.

    A Gaussian mechanism with ``sigma = sqrt(2 M) / epsilon`` has ``mu = epsilon / sqrt(2 M)``. At
    ``epsilon = 4 M`` this gives ``mu = sqrt(8 M)`` and ``epsilon = mu^2 / 2``, where its exact
    delta, ``Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)``, is ``1/2 - e^(mu^2/2)
    Phi(-mu)``, at least ``1/2 - 1/(2 mu)``, as ``Phi(-mu) <= e^(-mu^2/2) / (sqrt(2 pi) mu)``. For
    delta = 1e-5, ``M = ln 125000`` is above 11 and ``mu`` above 9.
    """
    return (*_check_log_level(), _exact_delta(Fraction(9), "epsilon = 4 ln(125000)"))


def no_constant_of_noise() -> tuple[Finding, ...]:
    """Show that no ``c_0`` of (20) serves every epsilon.

    The worst case of Lemma 5, a record whose gradient is constant, moves every one of ``t l``
    updates by its sensitivity. For ``l = 1`` all noisy models are broadcast: the run is one
    Gaussian pair with ``mu = sqrt(t l) / sigma = epsilon / (c_0 sqrt(2 M))``. At ``epsilon =
    4 c_0^2 M``, ``epsilon = mu^2 / 2`` and ``mu = c_0 sqrt(8 M)``, and as for one update its exact
    delta is at least ``1/2 - 1/(2 mu)``, which is above 1e-5 for every ``c_0 >= 1/4``, where ``mu``
    is above 2. A smaller ``c_0`` has less noise, and fails where 1/4 does.
    """
    findings = (
        _exact_delta(9 * c0, f"c_0 = {c0}, epsilon = 4 c_0^2 ln(125000)")
        # mu = c_0 sqrt(8 M), and sqrt(8 M) is above 9.
        for c0 in (Fraction(1, 4), Fraction(1), Fraction(10), Fraction(1000))
    )
    return (*_check_log_level(), *findings)


def _check_log_level() -> tuple[Finding, ...]:
    """Return that ``ln 125000`` is above 11, as ``e < 11/4``, and ``sqrt(8 * 11)`` above 9."""
    return (
        Finding(
            left=Fraction(11, 4) ** 11,
            relation="<",
            right=125_000,
            instance="(11/4)^11, above e^11",
        ),
        Finding(left=81, relation="<", right=8 * 11, instance="9^2 and 8 * 11"),
    )


def _exact_delta(mu: Fraction, instance: str) -> Finding:
    """Return that a lower bound on the exact delta is at most 1e-5."""
    least = Fraction(1, 2) - 1 / (2 * mu)
    return Finding(left=least, relation="<=", right=Fraction(1, 100_000), instance=instance)


def enough_noise() -> Finding:
    """Prove that some noise makes all of Algorithm 1 ``(epsilon, delta)``-DP, by some c_0 in (20).

    Let ``epsilon > 0``, ``0 < delta < 1`` and ``sigma = sqrt(t l / 2) / (sqrt(L + epsilon) -
    sqrt(L))``. By Lemma 5 each of ``t l`` updates is a Gaussian mechanism whose noise is ``sigma``
    times its sensitivity: ``1 / (2 sigma^2)``-zCDP, and all of them, composed adaptively,
    ``rho = t l / (2 sigma^2) = (sqrt(L + epsilon) - sqrt(L))^2``-zCDP (Bun & Steinke 2016). What is
    sent and the duals are functions of them. ``rho``-zCDP implies ``(rho + 2 sqrt(rho L),
    delta)``-DP, and ``rho + 2 sqrt(rho L)`` is ``epsilon``: with ``a^2 = L`` and ``b^2 = L +
    epsilon``, ``(b - a)^2 + 2 (b - a) a = b^2 - a^2``. It is the noise of (20) with ``c_0 =
    epsilon / (2 sqrt(M) (b - a)) = (b + a) / (2 sqrt(M))``, which is free of t and l.
    """
    a, b = make_unknowns("a b")
    return make_identity_finding(
        (b - a) ** 2 + 2 * (b - a) * a, b**2 - a**2, "rho + 2 sqrt(rho L) = epsilon"
    )


def weaker_guarantees() -> Finding:
    """Prove that a smaller epsilon or delta is a stronger guarantee.

    With ``q`` for ``Pr[M(D') in O]``, and ``x <= x'`` for ``e^epsilon <= e^epsilon'``, the right
    side of (10) grows by ``(x' - x) q + (delta' - delta)``, which is at least 0: what keeps (10)
    with the smaller numbers keeps it with the larger ones.
    """
    q, small, large, few, many = make_unknowns("q x y d f")
    grown = (large * q + many) - (small * q + few)
    return make_identity_finding(grown, (large - small) * q + (many - few), "right sides of (10)")
