r"""The proof of zhang2018's Theorem 4.1, line by line: section 4 and appendices D and E.

A node's signed records are ``u_n = y_n x_n``, of norm at most 1: ``y L'(y f'x) x = L'(u'f) u``, and
``y^2 = 1``. Gradients are unknown vectors where their form does not matter; where it does, L is a
cubic with unknown coefficients, whose second derivative is linear: every equation in L' and L'' at
two points or fewer holds for all losses if it does for those.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from dpaudit.algorithms.consensus.statements.checks.stacked_rows import PROBE, check_same_vectors
from dpaudit.algorithms.consensus.statements.checks.stacking import differentiate_quadratic
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import (
    Polynomial,
    Vector,
    make_polynomial,
    make_unknown,
    make_unknowns,
    total,
    vectors,
)

_NEIGHBOURS = range(3)
_ETA = make_unknown("eta")
_WEIGHT = make_unknown("C/B")
_RIDGE = make_unknown("rho/N")
_DEGREE = len(_NEIGHBOURS)
_ZERO = Fraction(0)
_ONE = Fraction(1)
_HALF = Fraction(1, 2)
# The 1.4 of eq. (26), as printed.
_LOG = Fraction(14, 10)


def dual_noise() -> tuple[Finding, ...]:
    r"""Prove that noise in the penalty is noise ``eta V epsilon`` in the dual variable.

    ``eta sum_j ||f + e - m_j||^2 - eta sum_j ||f - m_j||^2 - 2 eta V e'f`` does not depend on f:
    its derivative along any vector is zero. So (24) and the display after (25) differ by a constant
    and have the same minimiser. With ``eta_i(t+1) = theta`` nothing else changes.
    """
    f, noise = vectors("f epsilon")
    middle = vectors(" ".join(f"m{j}" for j in _NEIGHBOURS))

    def penalty(at: Vector) -> Polynomial:
        return sum(((at - m).square for m in middle), make_polynomial(0)) * _ETA

    def noisy_penalty(at: Vector) -> Polynomial:
        return penalty(at + noise)

    def right(at: Vector) -> Polynomial:
        return penalty(at) + 2 * _ETA * _DEGREE * (noise @ at)

    return (
        make_identity_finding(
            differentiate_quadratic(noisy_penalty, f, PROBE),
            differentiate_quadratic(right, f, PROBE),
            "three neighbours",
        ),
    )


def gamma_norm() -> tuple[Finding, ...]:
    r"""Prove that a Gamma(d, 1/alpha) norm and a uniform direction give ``exp(-alpha ||e||)``.

    In polar coordinates the density ``c exp(-alpha ||e||)`` is ``c r^(d-1) exp(-alpha r)`` in the
    norm r times a constant in the direction: independent, the direction uniform, the norm of the
    Gamma law with shape d and scale 1/alpha. Checked is the mean norm of both, ``d / alpha``, with
    ``int r^k exp(-alpha r) dr = k! / alpha^(k+1)``.
    """
    (alpha,) = make_unknowns("alpha")

    def integral(power: int) -> Polynomial:
        return factorial(power) / alpha ** (power + 1)

    return tuple(
        make_identity_finding(integral(d) / integral(d - 1), d / alpha, f"mean norm, d = {d}")
        for d in range(1, 5)
    )


def logistic_loss() -> tuple[Finding, ...]:
    r"""Prove ``|L'| <= 1`` and ``0 < L'' <= 1/4`` for the logistic loss.

    With ``s = 1 / (1 + exp(z))`` in (0, 1), ``L' = -s`` and ``L'' = s (1 - s)``, which is above 0
    and ``1/4 - L'' = (s - 1/2)^2``.
    """
    (s,) = make_unknowns("s")
    return (make_identity_finding(Fraction(1, 4) - s * (1 - s), (s - _HALF) ** 2, "1/4 - L''"),)


def noise_behind() -> tuple[Finding, ...]:
    r"""Prove (58), and the equation of appendix E that it calls (67).

    The gradient of (24) is ``g + 2 lambda + eta sum_j (2 f + 2 e - f_i - f_j)``, with g that of O;
    it is zero at the minimiser, and only there. Solved for e it is (58). With the first record's
    part of g on the other side it is appendix E's equation.
    """
    f, own, dual, first, rest = vectors("f f_i lambda g_1 g_rest")
    others = vectors(" ".join(f"f_{j}" for j in _NEIGHBOURS))
    stretch = 2 * _ETA * _DEGREE
    pulls = total(2 * f - own - other for other in others)
    noise = -(first + rest + 2 * dual) / stretch - pulls / (2 * _DEGREE)
    moved = total(2 * f + 2 * noise - own - other for other in others)
    condition = first + rest + 2 * dual + moved * _ETA
    left = noise + first / stretch
    right = -(rest + 2 * dual) / stretch - pulls / (2 * _DEGREE)
    return (
        check_same_vectors(condition, Vector({}), "(58) in the gradient of (24)"),
        check_same_vectors(left, right, "appendix E"),
    )


def _build_cubic_slope(record: Vector, at: Vector) -> Polynomial:
    """Return ``L'(u'f)`` of a cubic L."""
    margin = record @ at
    a, b, c = make_unknowns("a b c")
    return a + b * margin + c * margin**2 / 2


def _build_cubic_bend(record: Vector, at: Vector) -> Polynomial:
    """Return ``L''(u'f)`` of the same."""
    b, c = make_unknowns("b c")
    return b + c * (record @ at)


def jacobian() -> tuple[Finding, ...]:
    r"""Prove the Jacobian after (63), and that G is the difference of two of them.

    Differentiate (58) along h: ``L'(u'f) u`` gives ``L''(u'f) (u'h) u``, ``rho/N R`` its Hessian
    (here ``R = ||f||^2 / 2``), and ``(1/2V) sum_j 2 f`` gives h. H is minus the Jacobian; with the
    other record it is ``H + G``.
    """
    f, old, new = vectors("f u u^")
    stretch = 2 * _ETA * _DEGREE

    def noise(at: Vector, record: Vector) -> Vector:
        return -(record * _build_cubic_slope(record, at) * _WEIGHT + at * _RIDGE) / stretch - at

    def minus_jacobian(record: Vector) -> Vector:
        bent = record * (_build_cubic_bend(record, f) * (record @ PROBE)) * _WEIGHT
        return (bent + PROBE * _RIDGE) / stretch + PROBE

    # L' of a cubic is quadratic in f: half of a central difference is its derivative without error.
    change = (noise(f + PROBE, old) - noise(f - PROBE, old)) / 2
    rank_two = new * (_build_cubic_bend(new, f) * (new @ PROBE)) - old * (
        _build_cubic_bend(old, f) * (old @ PROBE)
    )
    changed = minus_jacobian(old) + rank_two * _WEIGHT / stretch
    return (
        check_same_vectors(change, -minus_jacobian(old), "Jacobian"),
        check_same_vectors(minus_jacobian(new), changed, "H + G"),
    )


def noise_shift() -> tuple[Finding, ...]:
    r"""Prove (62), the line after it, and (63).

    The densities of E at both points have one normalisation, and ``||e^|| - ||e|| <= ||e^ - e||``.
    By (58), ``2 eta V (e^ - e) = (C/B)(L'(u'f) u - L'(u^'f) u^)``, and the norm of the bracket is
    at most 2, as ``|L'| <= 1`` and records have norm at most 1: ``||e^ - e|| <= C / (eta V B)``.
    Summed over t, times alpha_i(t), this is (63).
    """
    old, new, common = vectors("u u^ common")
    first, second = make_unknowns("L'(u'f) L'(u^'f)")
    stretch = 2 * _ETA * _DEGREE
    noises = [
        -(u * slope * _WEIGHT + common) / stretch for u, slope in ((old, first), (new, second))
    ]
    shift = (old * first - new * second) * _WEIGHT / stretch
    bound = 2 * _WEIGHT / stretch
    return (
        check_same_vectors(noises[1] - noises[0], shift, "e^ - e"),
        make_identity_finding(bound, _WEIGHT / (_ETA * _DEGREE), "two over 2 eta V"),
    )


def small_share() -> tuple[Finding, ...]:
    r"""Prove (64): the share is below 1/2.

    ``eta >= theta`` makes ``(B/C)(rho/N + 2 eta V)`` at least ``(B/C)(rho/N + 2 theta V) > 2 c_1``.
    Checked are what eta adds, and c_1 = 1/4, B = C, rho/N = 0, V = 1, theta = 1/2 and eta = 1.
    """
    step, over, degree = make_unknowns("theta eta-theta V")
    grown = (_RIDGE + 2 * (step + over) * degree) / _WEIGHT
    c1, theta, eta = Fraction(1, 4), _HALF, _ONE
    return (
        Finding(left=2 * c1, relation="<", right=2 * theta, instance="2 c_1 < 2 theta V"),
        Finding(left=c1 / (2 * eta), relation="<", right=_HALF, instance="(64)"),
        make_identity_finding(
            grown - (_RIDGE + 2 * step * degree) / _WEIGHT,
            2 * over * degree / _WEIGHT,
            "what eta adds to (B/C)(rho/N + 2 theta V)",
        ),
    )


def eigenvalues() -> tuple[Finding, ...]:
    r"""Prove the bounds on eigenvalues between (64) and (65), and (65).

    H is at least ``(rho/(2 eta V N) + 1) I``, as R is 1-strongly convex and ``L'' > 0``. G is a
    difference of two semi-definite matrices of norm at most ``k = C c_1 / (2 eta V B)``: its
    eigenvalues lie in [-k, k], at most one of each sign is not zero, and those of ``H^-1 G``, which
    is similar to ``H^-1/2 G H^-1/2``, in [-a, a] with ``a = k / (rho/(2 eta V N) + 1)``. That is
    (64)'s share, at most 1/2. ``det(I + H^-1 G)`` is the product of two factors of at least
    ``1 - a``: (65). (Where d >= 2, one of the eigenvalues of ``H^-1 G`` is at most 0 and one at
    least 0, and the line before (65) holds. In one dimension take 0 for the one that is missing.)
    Checked are a as a share of (64), and two factors of which one is above 1.
    """
    c1, stretch = make_unknown("c_1"), 2 * _ETA * _DEGREE
    share = (_WEIGHT * c1 / stretch) / c1 * c1
    whole = share / _WEIGHT * (_RIDGE + stretch)
    a, b = Fraction(1, 2), Fraction(1, 4)
    return (
        make_identity_finding(whole, c1 * (_RIDGE / stretch + 1), "k (B/C)(rho/N + 2 eta V)"),
        Finding(left=(1 - a) ** 2, relation="<=", right=(1 - a) * (1 + b), instance="-1/2, 1/4"),
    )


def logarithm_at_zero() -> Finding:
    """Refute ``-ln(1 - x) < 1.4 x`` on [0, 1/2]: at x = 0 both sides are 0."""
    return Finding(left=_ZERO, relation="<", right=_LOG * 0, instance="x = 0")


def logarithm() -> tuple[Finding, ...]:
    r"""Prove ``-ln(1 - x) < 1.4 x`` for 0 < x <= 1/2, with which (65) gives (66).

    ``-ln(1 - x)`` is convex and 0 at 0: at most ``2 x ln 2`` on [0, 1/2], and ``2 ln 2 < 1.4``. The
    latter from ``ln 2 = sum_k 1/(k 2^k) <= sum_{k<=n} 1/(k 2^k) + 1/((n+1) 2^n)``. In (66), with
    the share ``a = c_1 / ((B/C)(rho/N + 2 eta V))``, ``2.8 a <= 1.4 C c_1 / (eta V B)``, which
    leaves out ``rho/N >= 0`` of the denominator.
    """
    n = 8
    # The terms after the n-th are below a geometric series of the first of them.
    series = sum((Fraction(1, k * 2**k) for k in range(1, n + 1)), _ZERO)
    above = series + Fraction(1, (n + 1) * 2**n)
    left = 2 * _LOG / (2 * _ETA * _DEGREE)
    return (
        Finding(left=2 * above, relation="<", right=_LOG, instance="2 ln 2, from above"),
        make_identity_finding(left, _LOG / (_ETA * _DEGREE), "2.8 over 2 eta V"),
    )


def total_bound() -> tuple[Finding, ...]:
    """Prove the last two lines of appendix D: the exponents of (63) and (66) add up to (26)'s."""
    rate, c1 = make_unknowns("alpha c_1")
    base = _WEIGHT / (_ETA * _DEGREE)
    left = _LOG * c1 * base + base * rate
    return (make_identity_finding(left, base * (_LOG * c1 + rate), "summand of (26)"),)


def average_noise() -> tuple[Finding, ...]:
    r"""Prove that the mean of the noise tends to 0 if rates stay above one number.

    The noise has mean 0 by symmetry, ``E ||e||^2 = d (d + 1) / alpha^2``, and is independent over
    iterations: the mean of T of them has a mean square of at most ``d (d + 1) / (alpha^2 T)``, and
    by Chebyshev's inequality is near 0 with high probability. Checked is ``E ||e||^2`` of the Gamma
    law of `gamma_norm`.
    """
    (alpha,) = make_unknowns("alpha")
    return tuple(
        make_identity_finding(
            factorial(d + 1) / alpha ** (d + 2) / (factorial(d - 1) / alpha**d),
            d * (d + 1) / alpha**2,
            f"mean square of the norm, d = {d}",
        )
        for d in range(1, 4)
    )


def check_mirrored_record() -> tuple[Finding, ...]:
    r"""Refute that ``(x, y)`` can be found: ``(-x, -y)`` gives all broadcasts the same law.

    Everything depends on ``u = y x``, which is the same of both, while x is not: what tells x from
    -x would have to see a difference between two runs that have none. Shown are the difference
    that is to be told, x against -x, and what is seen of it, y x against (-y)(-x).
    """
    y, x = make_unknowns("y x")
    return (
        make_identity_finding(y * x, (-y) * (-x), "y x, all that is seen"),
        make_identity_finding(x, -x, "x, which is to be found"),
    )


def computable_side() -> tuple[Finding, ...]:
    r"""Prove that the right side of appendix E's equation can be computed with eta and theta known.

    It has records 2 to B, which the attacker knows, all broadcasts, and ``lambda_i(t-1)``. By (11),
    from ``lambda_i(0) = 0``, that is ``(theta/2) sum_s sum_j (f_i(s) - f_j(s))``. Checked is this
    sum over two iterations.
    """
    (theta,) = make_unknowns("theta")
    gaps = vectors("gap1 gap2")
    dual = Vector({})
    for gap in gaps:
        dual = dual + gap * theta / 2
    return (check_same_vectors(dual, total(gaps) * theta / 2, "lambda_i(2)"),)


def chain_rule() -> tuple[Finding, ...]:
    r"""Prove (57), (59) and (61): the loss of a run is a sum over the updates of one node.

    The density of a sequence is a product of conditional densities: (57) is this product over that
    of the neighbour, and f(0) has one law on both. Given all broadcasts so far ({f_v(r)} is short
    for those of all nodes, section 2.2), noise is independent between nodes, so the conditional
    density is a product over nodes; of a node whose data are the same the ratio is 1: (59). Each
    conditional density is (60). Checked is the cancelling, with two iterations and two nodes.
    """
    p, q, r, s, e, d = make_unknowns("p_1 p_2 q_1 q_2 start other")
    left = (e * p * d * q * d) / (e * r * d * s * d)
    return (make_identity_finding(left, (p / r) * (q / s), "two iterations"),)


def change_of_variables() -> tuple[Finding, ...]:
    r"""Prove that F and E are one-to-one, and (60).

    For every f there is one e, (58). For every e there is one f: (24) is strongly convex, with
    modulus ``rho/N + 2 eta V > 0``, and has one minimiser. As ``e = g^-1(f)`` is differentiable
    with an invertible Jacobian, ``P(F in S) = P(E in g^-1(S)) = int_S p_E(g^-1(f)) |det J| df``:
    (60). Checked is a squared loss in one dimension, ``e = 1/2 - 2 f``, and noise with the density
    ``3/4 (1 - e^2)`` on [-1, 1]: the integral of (60) over [0, 1/2], by the coefficients of the
    polynomial in f, and the probability of the noise between -1/2 and 1/2. With the power -1 of the
    Jacobian's size 2 it would be a fourth of that.
    """
    density = {0: Fraction(3, 4), 2: -Fraction(3, 4)}
    intercept, size = _HALF, Fraction(2)
    probability = sum(
        (c * (_HALF ** (k + 1) - (-_HALF) ** (k + 1)) / (k + 1) for k, c in density.items()), _ZERO
    )
    f = make_unknown("f")
    along = sum((c * (intercept - size * f) ** k for k, c in density.items()), make_polynomial(0))
    integral = _integrate_polynomial(along * size, _HALF)
    return (
        Finding(left=integral, relation="=", right=probability, instance="P(F in [0, 1/2])"),
        Finding(
            left=_integrate_polynomial(along / size, _HALF), relation="=", right=probability / 4
        ),
    )


def _integrate_polynomial(density: Polynomial, end: Fraction) -> Fraction:
    """Return the integral of a polynomial in f from 0 to an end."""
    # Monomials hold f alone, so the sum of their powers is the degree.
    powers = {sum(power for _, power in monomial): value for monomial, value in density}
    return sum((c * end ** (k + 1) / (k + 1) for k, c in powers.items()), _ZERO)
