r"""The gaps in the proof of zhang2018's Theorem 3.2, and the steps that hold.

All instances are two nodes with the functions ``m f^2 / 2``, so that ``m_i = M_i = m`` is exact.
Then ``sigma_min(D - A) = 2`` is the one nonzero singular value, ``sigma-_max = sigma-_min`` that of
``(W - theta I)(D - A)``, and their squares are rational: those of ``W (D + A)`` and ``(W - theta I)
(D - A)`` are ``2 sum eta_i^2`` and ``2 sum (eta_i - theta)^2``.

What holds with one penalty of all nodes is `check_shared_contraction` and `check_proved_rate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpaudit.algorithms.consensus.statements.checks.convergence import STRONG
from dpaudit.algorithms.consensus.statements.checks.stacked_rows import (
    compute_stacked_inner,
    make_diagonal_matrix,
    make_unknown_rows,
    multiply_stacked_rows,
)
from dpaudit.algorithms.consensus.statements.checks.two_nodes import (
    Two,
    TwoNodes,
    TwoNodeStep,
    compute_signless_product,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial, make_polynomial, make_unknown, make_unknowns

_WORDS = "two nodes, theta = 1, eta = (1, 2), O_i = f^2/2, from f = (3, -2)"
_MU = Fraction(2)
_DELTA = Fraction(1, 8)
_NONZERO = Fraction(2)  # sigma_min(D - A)
_ZERO = Fraction(0)
_ONE = Fraction(1)


def compute_squared_signless(penalties: Two) -> Fraction:
    """Return ``sigma~_max^2``, of ``W (D + A)``, which has rank one."""
    return 2 * (penalties[0] ** 2 + penalties[1] ** 2)


def compute_squared_excess(penalties: Two, dual_step: Fraction) -> Fraction:
    """Return ``sigma-_max^2``, of ``(W - theta I)(D - A)``, which has rank one."""
    return compute_squared_signless((penalties[0] - dual_step, penalties[1] - dual_step))


@dataclass(frozen=True, kw_only=True)
class RateSides:
    """The two sides of (22), as symmetric matrices ``(x_11, x_12, x_22)``; forms compare them."""

    left: tuple[Fraction, Fraction, Fraction]
    right: tuple[Fraction, Fraction, Fraction]

    def gap(self, delta: Fraction) -> tuple[Fraction, Fraction]:
        """Return trace and determinant of ``right - delta left``, at least 0 if (22) holds."""
        a, b, c = (right - delta * left for left, right in zip(self.left, self.right, strict=True))
        return a + c, a * c - b**2


def compute_equation22_sides(
    state: TwoNodes, mu: Fraction, squared: Fraction | None = None
) -> RateSides:
    """Return both sides of (22), the left one without delta, for equal curvatures.

    ``squared`` stands for ``sigma-_max^2``, as ``sigma~_max^2`` does in (54).
    """
    eta, theta, m = state.penalties, state.dual_step, state.curvatures[0]
    bar = compute_squared_excess(eta, theta) if squared is None else squared
    squares = mu * bar + mu**2 * m**2
    common = squares / (theta * _NONZERO * (mu - 1))
    one, two = (x - theta for x in eta)
    return RateSides(
        left=(common + eta[0], (eta[0] + eta[1]) / 2, common + eta[1]),
        right=(2 * one + 2 * m, -(one + two), 2 * two + 2 * m),
    )


def meets_conditions() -> tuple[Finding, ...]:
    """Show that delta = 1/8 and mu = 2 meet (21) and (22) on the instance of `contraction`."""
    eta, theta = STRONG.penalties, STRONG.dual_step
    squared = (_DELTA * _MU**2 / (theta * _NONZERO)) ** 2 * compute_squared_signless(eta)
    trace, determinant = compute_equation22_sides(STRONG, _MU).gap(_DELTA)
    return (
        Finding(left=squared, relation="<=", right=_ONE, instance=f"square of (21), {_WORDS}"),
        Finding(left=_ZERO, relation="<=", right=trace, instance=f"trace of (22), {_WORDS}"),
        Finding(left=_ZERO, relation="<=", right=determinant, instance=f"determinant, {_WORDS}"),
    )


def contraction() -> tuple[Finding, ...]:
    """Refute the contraction of Theorem 3.2 for a delta that meets (21) and (22).

    Conditions (21) and (22) do not depend on models and slopes: they are those of `STRONG`.
    """
    step = TwoNodeStep.of(replace(STRONG, slopes=(_ONE, _ZERO), models=(_MU, _ZERO)))
    words = (
        "two nodes, theta = 1, eta = (1, 2), O_1 = f^2/2 - f, O_2 = f^2/2, from f = (2, 0), "
        "delta = 1/8, mu = 2"
    )
    left = (1 + _DELTA) * step.after.distance
    failing = Finding(left=left, relation="<=", right=step.distance_before, instance=words)
    return (*meets_conditions(), failing)


def equation55() -> tuple[Finding, ...]:
    """Refute (55): its right side is below 0, as a "squared norm" of ``W (D + A)`` is."""
    step = TwoNodeStep.of(STRONG)
    right = step.moved + 2 * step.curved + 2 * step.held
    left = _DELTA * step.after.distance
    return (
        *meets_conditions(),
        Finding(left=left, relation="<=", right=right, instance=f"{_WORDS}, delta = 1/8, mu = 2"),
    )


def equation56() -> Finding:
    """Refute (56): the squares stand for ``2 <a, J b>``, which they are not without symmetry."""
    step = TwoNodeStep.of(replace(STRONG, slopes=(_ONE, _ZERO), models=(_ZERO, _ZERO)))
    right = step.distance_before - step.after.distance - 2 * step.curved - 2 * step.held
    words = "two nodes, theta = 1, eta = (1, 2), O_1 = f^2/2 - f, O_2 = f^2/2, from f = (0, 0)"
    return Finding(left=step.moved, relation="<=", right=right, instance=words)


def equation52() -> tuple[Finding, ...]:
    r"""Refute (52), and the display before it, with mu = 2.

    Both have ``||f(t+1) - f(t)||^2`` in ``W (D + A)`` on the right, which is below 0 here, times a
    factor with ``sigma~_max``, the root of 10, which is at least 3: with 3 in its place the right
    sides are larger than they are. What is added to both sides of (52) is left out.
    """
    step, eta = TwoNodeStep.of(STRONG), STRONG.penalties
    left = step.after.dual_gap**2
    change = compute_signless_product(eta, step.change, step.change)
    gaps = sum((gap**2 for gap in step.after.gaps), _ZERO)
    # sigma~_max is the root of 10; the rational 3 is below it, and `change` is below 0, so this
    # side is larger than the true one.
    first = _MU**2 * 3 / _NONZERO * change
    squares = {
        "the display before (52)": compute_squared_excess(eta, _ONE),
        "(52)": compute_squared_signless(eta),
    }
    return tuple(
        Finding(
            left=left,
            relation="<=",
            right=first + (_MU**2 + _MU * square) / (_NONZERO * (_MU - 1)) * gaps,
            instance=f"{name}, {_WORDS}, mu = 2",
        )
        for name, square in squares.items()
    )


def equation53() -> tuple[Finding, ...]:
    """Prove (53): it is (21), one iteration later, which delta(t) is chosen to satisfy."""
    return meets_conditions()[:1]


def inner_before_equation56() -> tuple[Finding, ...]:
    """Prove the line above (56): (49) with the gradients' difference of (34), (38) once more.

    On quadratics (49) is an equality where ``m_i`` is the curvature, and so is the line.
    """
    step = TwoNodeStep.of(STRONG)
    left = step.inner + step.held
    return (Finding(left=left, relation="<=", right=-step.curved, instance=_WORDS),)


def check_summed_inequalities() -> tuple[Finding, ...]:
    """Prove that the sum of (55) and (56) is the contraction: terms on both sides drop out."""
    moved, held, before = make_unknowns("moved held before")
    right = (moved + held) + (before - moved - held)
    return (make_identity_finding(right, before, "right sides of (55) and (56)"),)


def check_summed_assumption() -> tuple[Finding, ...]:
    r"""Prove (49) and (50): (20), and its second line squared, summed over the nodes.

    A Frobenius product of stacked rows is the sum of the rows' products, and D_m and D_M are
    diagonal: the right sides are ``sum_i m_i ||f_i^1 - f_i^2||^2`` and that with ``M_i^2``.
    """
    gaps = make_unknown_rows("gap")
    return tuple(
        make_identity_finding(
            compute_stacked_inner(gaps, multiply_stacked_rows(make_diagonal_matrix(name), gaps)),
            sum(
                (make_unknown(f"{name}{i}") * gap.square for i, gap in enumerate(gaps)),
                make_polynomial(0),
            ),
            f"right side of {where}",
        )
        for name, where in (("m", "(49)"), ("M^2_", "(50)"))
    )


def largest_singular_value() -> tuple[Finding, ...]:
    """Prove ``||C_1 C_2||^2 <= sigma_max(C_1)^2 ||C_2||^2``, column by column.

    In the basis of right singular vectors, with the singular values ``s_i``, the difference of the
    sides is ``sum_i (sigma_max^2 - s_i^2) x_i^2``, whose summands are at least 0.
    """
    values, parts, most = _in_singular_basis()
    left = sum((s**2 * x**2 for s, x in zip(values, parts, strict=True)), make_polynomial(0))
    right = most**2 * sum((x**2 for x in parts), make_polynomial(0))
    slack = sum(
        ((most**2 - s**2) * x**2 for s, x in zip(values, parts, strict=True)), make_polynomial(0)
    )
    return (make_identity_finding(right - left, slack, "three singular values"),)


def _in_singular_basis() -> tuple[tuple[Polynomial, ...], tuple[Polynomial, ...], Polynomial]:
    """Return three singular values, a vector along their right vectors, and a bound on them."""
    return make_unknowns("s_1 s_2 s_3"), make_unknowns("x_1 x_2 x_3"), make_unknown("sigma")


def norm_of_product() -> Finding:
    """Refute ``||C_1 C_2||^2 <= sigma_max(C_1) ||C_2||^2_{C_1'}`` for any C_1: here it is -1."""
    square, form = _ONE, -_ONE  # |-1 * 1|^2, and 1 * (-1) * 1
    return Finding(left=square, relation="<=", right=form, instance="C_1 = -1, C_2 = 1")


def least_singular_value() -> Finding:
    """Refute ``sigma_min(C_1)^2 ||C_2||^2 <= ||C_1 C_2||^2`` with the smallest nonzero value."""
    diagonal, along = (_ONE, _ZERO), (_ZERO, _ONE)
    square = sum((d * x) ** 2 for d, x in zip(diagonal, along, strict=True))
    words = "C_1 = diag(1, 0), C_2 = (0, 1)': sigma_min(C_1) = 1"
    return Finding(left=_ONE, relation="<=", right=Fraction(square), instance=words)


# Both nodes at the same distance of the optimum, where D - A is zero.
AGREEING = TwoNodes(
    penalties=(Fraction(5, 4), Fraction(5, 4)),
    dual_step=_ONE,
    curvatures=(Fraction(1, 8), Fraction(1, 8)),
    slopes=(_ZERO, _ZERO),
    models=(_ONE, _ONE),
)
_CLOSE = "two nodes, theta = 1, eta = 5/4, O_i = f^2/16, mu = 3/2"


def compute_equation23_rate(state: TwoNodes, mu: Fraction) -> Fraction:
    """Return (23) where all penalties are one number w and all curvatures another.

    ``sigma~_max = 2 w`` and ``sigma-_max = sigma-_min = 2 (w - theta)`` are then rational.

    Examples
    --------
    >>> compute_equation23_rate(AGREEING, Fraction(3, 2))
    Fraction(16, 45)
    """
    (w, _), theta, m = state.penalties, state.dual_step, state.curvatures[0]
    tilde, bar = 2 * w, 2 * (w - theta)
    first = theta * _NONZERO / (mu**2 * tilde)
    squares = mu**2 * m**2 + mu * bar**2
    second = (2 * m + 2 * bar) / (squares / (theta * _NONZERO * (mu - 1)) + tilde)
    return min(first, second)


def refute_equation23() -> Finding:
    """Refute that (23) meets (22), along the direction in which all nodes agree."""
    mu = Fraction(3, 2)
    sides = compute_equation22_sides(AGREEING, mu)
    (a, b, c), (d, e, f) = sides.left, sides.right
    # The form x'M x at x = (1, 1), where all nodes agree.
    left = compute_equation23_rate(AGREEING, mu) * (a + 2 * b + c)
    return Finding(left=left, relation="<=", right=d + 2 * e + f, instance=f"{_CLOSE}, x = (1, 1)")


def equation54() -> tuple[Finding, ...]:
    """Refute that a delta which meets (22) meets (54), with sigma~_max: delta = 1/12 does not."""
    delta, mu = Fraction(1, 12), Fraction(3, 2)
    printed = compute_equation22_sides(AGREEING, mu, compute_squared_signless(AGREEING.penalties))
    return tuple(
        Finding(left=_ZERO, relation="<=", right=value, instance=f"{name}, {_CLOSE}, delta = 1/12")
        for name, sides in (("(22)", compute_equation22_sides(AGREEING, mu)), ("(54)", printed))
        for value in sides.gap(delta)
    )


def last_line() -> Finding:
    """Refute that the last line of appendix C, with sigma~_min and sigma~_max, meets (54)."""
    mu, m = Fraction(3, 2), AGREEING.curvatures[0]
    tilde = 2 * AGREEING.penalties[0]
    squares = mu**2 * m**2 + mu * tilde**2
    second = (2 * m + 2 * tilde) / (squares / (_NONZERO * (mu - 1)) + tilde)
    # The smaller of (21)'s bound and the last line's, as in (23).
    delta = min(_NONZERO / (mu**2 * tilde), second)
    sides = compute_equation22_sides(AGREEING, mu, tilde**2)
    (a, b, c), (d, e, f) = sides.left, sides.right
    left, right = delta * (a + 2 * b + c), d + 2 * e + f
    return Finding(left=left, relation="<=", right=right, instance=f"{_CLOSE}, x = (1, 1)")


def falling_rate() -> Finding:
    """Refute that the rate decreases as penalties increase: from eta = 1 to 5/4 it rises."""
    mu = Fraction(3, 2)
    lower = replace(AGREEING, penalties=(_ONE, _ONE))
    words = "two nodes, theta = 1, O_i = f^2/16, mu = 3/2, eta = 5/4 and 1"
    return Finding(
        left=compute_equation23_rate(AGREEING, mu),
        relation="<=",
        right=compute_equation23_rate(lower, mu),
        instance=words,
    )


def singular_values_grow() -> tuple[Finding, ...]:
    r"""Prove that larger penalties have larger ``sigma-_max`` and ``sigma~_max``.

    ``||W X v||^2 = sum_i eta_i^2 (X v)_i^2`` grows with every eta_i, for every v, and so does its
    largest value on unit vectors; likewise with ``eta_i - theta >= 0``. Where every eta_i grows the
    largest value does so strictly: its v has an entry of ``X v`` that is not 0. Checked are what
    one summand gains, ``(eta' - eta)(eta' + eta) (X v)_i^2``, and squares on two nodes, as one
    penalty grows.
    """
    eta, more, entry = make_unknowns("eta eta' (Xv)_i")
    gain = (more - eta) * (more + eta) * entry**2
    later = (_ONE, Fraction(3))
    return (
        Finding(
            left=compute_squared_signless(STRONG.penalties),
            relation="<",
            right=compute_squared_signless(later),
            instance="sigma~_max^2, eta = (1, 2) and (1, 3)",
        ),
        Finding(
            left=compute_squared_excess(STRONG.penalties, _ONE),
            relation="<",
            right=compute_squared_excess(later, _ONE),
            instance="sigma-_max^2, eta = (1, 2) and (1, 3), theta = 1",
        ),
        make_identity_finding(
            more**2 * entry**2 - eta**2 * entry**2, gain, "one summand of ||W X v||^2"
        ),
    )


def second_term_bound() -> tuple[Finding, ...]:
    r"""Prove the bound on the second term of (23), and that it falls with ``sigma-_max``.

    Of the denominator ``(mu^2 M_O^2 + mu s^2)/(r (mu - 1)) + sigma~`` with ``r = theta
    sigma_min(D - A)`` only ``mu s^2 / (r (mu - 1))`` is left, and what is left out is not negative.
    The bound ``K (2 m_o + 2 sigma-_min) / s^2`` falls in s with everything else held fixed. (It is
    an upper bound: that it falls says nothing on the term. And ``sigma-_min`` grows as well.)
    """
    square, rest, mu, over, reach = (make_unknown(x) for x in ("s^2", "rest", "mu", "mu-1", "r"))
    whole = (mu * square + rest) / (reach * over)
    kept = mu * square / (reach * over)
    return (make_identity_finding(whole - kept, rest / (reach * over), "what is left out"),)


def rate_terms() -> tuple[Finding, ...]:
    """Prove that the first term of (23) falls as ``sigma~_max`` grows: it is a constant over it.

    ``c/s - c/s' = c (s' - s) / (s s')``, which is above 0 where ``s' > s``.
    """
    constant, small, large = make_unknowns("c s s'")
    gap = constant / small - constant / large
    return (
        make_identity_finding(gap, constant * (large - small) / (small * large), "at s and s'"),
    )


def semidefinite_norm() -> tuple[Finding, ...]:
    r"""Prove ``||M C||^2 <= sigma_max(M) ||C||^2_M`` for a symmetric, semi-definite M.

    ``M^2 <= sigma_max(M) M``, eigenvalue by eigenvalue: in the basis of eigenvectors the difference
    of the sides is ``sum_i s_i (sigma_max - s_i) x_i^2``. Checked are this, and ``D + A`` of two
    nodes, with ``sigma_max = 2``, along (3, -2).
    """
    values, parts, most = _in_singular_basis()
    pairs = list(zip(values, parts, strict=True))
    squares = sum((s**2 * x**2 for s, x in pairs), make_polynomial(0))
    forms = sum((most * s * x**2 for s, x in pairs), make_polynomial(0))
    slack = sum((s * (most - s) * x**2 for s, x in pairs), make_polynomial(0))
    along: Two = (Fraction(3), -_MU)
    left = 2 * sum(along, _ZERO) ** 2
    right = _MU * compute_signless_product((_ONE, _ONE), along, along)
    return (
        make_identity_finding(forms - squares, slack, "three eigenvalues"),
        Finding(left=left, relation="<=", right=right, instance="D + A, x = (3, -2)"),
    )


def least_on_range() -> tuple[Finding, ...]:
    r"""Prove ``sigma_min(C_1)^2 ||C_2||^2 <= ||C_1 C_2||^2`` off the null space of C_1.

    There every column is a sum of right singular vectors whose singular values are not zero.
    Checked is ``D - A`` of two nodes, with ``sigma_min = 2``, along (1, -1).
    """
    along: Two = (_ONE, -_ONE)
    left = _NONZERO**2 * sum((x**2 for x in along), _ZERO)
    right = 2 * (along[0] - along[1]) ** 2
    return (Finding(left=left, relation="<=", right=right, instance="D - A, x = (1, -1)"),)


def check_shared_contraction() -> tuple[Finding, ...]:
    r"""Prove (52) to (56) and the contraction for one penalty w of all nodes.

    ``M = w (D + A)`` and ``(w - theta)(D - A)`` are symmetric and semi-definite, J is symmetric.
    For such an M ``||M x||^2 <= sigma_max(M) x'M x``: with (50), (51), and ``sigma_min(D - A) ||Y -
    Y*||^2 <= ||sqrt(D - A)(Y - Y*)||^2``, as Y(t) and Y* are in the range of ``D - A``, this is the
    display before (52). (21) and (22) turn (52) into (55). The line above (56) is (56), as ``2 <a,
    J b>`` is a sum of squares where J is symmetric; and (55) and (56) add up.

    Checked are all of these on the instances that refute them, with the penalty 2 at both nodes.
    """
    state = replace(STRONG, penalties=(_MU, _MU))
    step, change = (
        TwoNodeStep.of(state),
        compute_signless_product(state.penalties, *2 * (TwoNodeStep.of(state).change,)),
    )
    gaps = sum((gap**2 for gap in step.after.gaps), _ZERO)
    squares = _MU**2 + _MU * compute_squared_excess(state.penalties, _ONE)
    tilde = 2 * state.penalties[0]
    bound52 = _MU**2 * tilde / _NONZERO * change + squares / (_NONZERO * (_MU - 1)) * gaps
    held = 2 * step.curved + 2 * step.held
    delta = Fraction(1, 8)
    trace, determinant = compute_equation22_sides(state, _MU).gap(delta)
    # (21) asks that this be at most 1.
    first = delta * _MU**2 * tilde / _NONZERO
    fall = step.distance_before - step.after.distance
    sides = {
        "(21)": (first, _ONE),
        "trace of (22)": (_ZERO, trace),
        "determinant of (22)": (_ZERO, determinant),
        "the display before (52)": (step.after.dual_gap**2, bound52),
        "(55)": (delta * step.after.distance, change + held),
        "(56)": (step.moved, fall - held),
        "contraction": ((1 + delta) * step.after.distance, step.distance_before),
    }
    return tuple(
        Finding(left=left, relation="<=", right=right, instance=f"{name}, eta = (2, 2), mu = 2")
        for name, (left, right) in sides.items()
    )


def check_proved_rate() -> tuple[Finding, ...]:
    r"""Prove that (23) with ``2 m_o`` in place of ``2 m_o + 2 sigma-_min`` meets (21) and (22).

    For one penalty. It meets (21) as it is at most the first term. In (22) ``2 (w - theta)(D - A)``
    is semi-definite: the right side is at least ``2 m_o I``, and the left one at most delta times
    the denominator of (23), as ``w (D + A) <= sigma~_max I``. Checked where all nodes agree, and by
    trace and determinant in every direction.
    """
    mu, m = Fraction(3, 2), AGREEING.curvatures[0]
    sides = compute_equation22_sides(AGREEING, mu)
    (a, b, c), (d, e, f) = sides.left, sides.right
    left = smaller_rate(AGREEING, mu) * (a + 2 * b + c)
    trace, determinant = sides.gap(smaller_rate(AGREEING, mu))
    return (
        Finding(left=left, relation="<=", right=d + 2 * e + f, instance=f"{_CLOSE}, m = {m}"),
        Finding(left=_ZERO, relation="<=", right=trace, instance=f"trace of (22), {_CLOSE}"),
        Finding(left=_ZERO, relation="<=", right=determinant, instance=f"determinant, {_CLOSE}"),
    )


def smaller_rate(state: TwoNodes, mu: Fraction) -> Fraction:
    """Return (23) with ``2 m_o`` in place of ``2 m_o + 2 sigma-_min``."""
    (w, _), theta, m = state.penalties, state.dual_step, state.curvatures[0]
    tilde, bar = 2 * w, 2 * (w - theta)
    squares = mu**2 * m**2 + mu * bar**2
    second = 2 * m / (squares / (theta * _NONZERO * (mu - 1)) + tilde)
    return min(theta * _NONZERO / (mu**2 * tilde), second)


def falling_smaller_rate() -> tuple[Finding, ...]:
    r"""Prove that the smaller rate falls as one penalty of all nodes rises.

    Its numerators do not depend on penalties, and its denominators grow with ``sigma~_max`` and
    ``sigma-_max`` (`singular_values_grow`). Checked is the instance that refutes it of (23).
    """
    mu = Fraction(3, 2)
    before = replace(AGREEING, penalties=(_ONE, _ONE))
    later, earlier = smaller_rate(AGREEING, mu), smaller_rate(before, mu)
    return (Finding(left=later, relation="<", right=earlier, instance="eta = 5/4 and 1"),)


def bars_for_tildes() -> tuple[Finding, ...]:
    """Prove (54) with sigma-_max: it is (22), one iteration later, as delta is chosen to meet."""
    return equation54()[:2]
