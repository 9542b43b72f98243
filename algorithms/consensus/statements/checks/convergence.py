r"""The gaps in the proof of zhang2018's Theorem 3.1, and the steps that hold.

Two faults are independent.

**Products that are not semi-definite.** ``(W - theta I)(D - A)`` and ``W (D + A)`` are products of
semi-definite matrices. Their eigenvalues are not negative, but unless W is a multiple of the
identity they are not symmetric, and their quadratic forms take negative values. Two nodes with the
penalties 1 and 2 show it (`OWN`).

**Penalties without a bound.** ``eta_i(t) < infinity`` for all t lets penalties grow for ever. The
right side of (43) is then infinite, and M-ADMM stops before the optimum. Two nodes with ``O_i(f) =
f^2/2 - f`` and ``eta(t) = 2^(t-1)`` show it (`GROWING`): both models are f(t) with

    1 - f(t) = prod_{k=1..t} 1 / (1 + 2^-k)  >=  prod_{k=1..n} 1 / (1 + 2^-k) * (1 - 2^-n),

for all t >= n, as ``prod_{k>n} (1 + 2^-k)^-1 >= prod_{k>n} (1 - 2^-k) >= 1 - sum_{k>n} 2^-k``. The
optimum is 1, and so is the distance at the start.

Where all nodes share one penalty that stays below a bound, both are gone:
`check_bounded_convergence`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpaudit.algorithms.consensus.statements.checks.stacked_rows import (
    NODES,
    multiply_symbol_matrices,
)
from dpaudit.algorithms.consensus.statements.checks.stacking import DEGREES, ETA, SIGNLESS
from dpaudit.algorithms.consensus.statements.checks.two_nodes import (
    Two,
    TwoNodes,
    TwoNodeStep,
    compute_excess_product,
    compute_signless_product,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_polynomial

_WORDS = "two nodes, theta = 1, eta = (1, 2)"
# Numbers are fractions throughout, so a finding is an exact comparison and no rounding decides it.
_ONE = Fraction(1)
_TWO = Fraction(2)
_PENALTIES: Two = (_ONE, _TWO)
_STEPS = 3  # of the growing penalties

# O_1 = f, which is convex, and O_2 = f^2/2 - f.
OWN = TwoNodes(
    penalties=_PENALTIES,
    dual_step=_ONE,
    curvatures=(Fraction(0), _ONE),
    slopes=(-_ONE, _ONE),
    models=(-_ONE, Fraction(0)),
)
# O_i = f^2/2, which is strongly convex: f* = 0.
STRONG = TwoNodes(
    penalties=_PENALTIES,
    dual_step=_ONE,
    curvatures=(_ONE, _ONE),
    slopes=(Fraction(0), Fraction(0)),
    models=(Fraction(3), Fraction(-2)),
)
GROWING = TwoNodes(
    penalties=(_ONE, _ONE),
    dual_step=_ONE,
    curvatures=(_ONE, _ONE),
    slopes=(_ONE, _ONE),
    models=(Fraction(0), Fraction(0)),
)


def excess_form() -> Finding:
    """Refute that ``(W - theta I)(D - A)`` is positive semi-definite."""
    # The first node has no excess, so the form is -x_2 (x_1 - x_2): below 0 where x_1 > x_2 > 0.
    along = (_TWO, _ONE)
    value = compute_excess_product(_PENALTIES, _ONE, along, along)
    return Finding(left=Fraction(0), relation="<=", right=value, instance=f"{_WORDS}, x = (2, 1)")


def growth_form() -> Finding:
    """Refute that ``(W(t+1) - W(t))(D + A)`` is positive semi-definite, as eta_2 grows by 1."""
    # The form is x_2 (x_1 + x_2): below 0 where the two have opposite signs and the first is the
    # longer.
    along = (_TWO, -_ONE)
    value = compute_signless_product((Fraction(0), _ONE), along, along)
    words = "two nodes, eta_2 grows from 1 to 2, x = (2, -1)"
    return Finding(left=Fraction(0), relation="<=", right=value, instance=words)


def inequality19() -> Finding:
    """Refute (19), which is (39): with penalties of their own the inner product is above 0."""
    step = TwoNodeStep.of(OWN)
    words = f"{_WORDS}, O_1 = f, O_2 = f^2/2 - f, from f = (-1, 0)"
    return Finding(left=step.inner, relation="<=", right=Fraction(0), instance=words)


def check_equation38() -> tuple[Finding, ...]:
    """Show (38) on the instance that refutes (39): it holds there, with equality."""
    step = TwoNodeStep.of(OWN)
    left = step.inner + step.held
    return (Finding(left=left, relation="<=", right=Fraction(0), instance=_WORDS),)


def equation40() -> Finding:
    """Refute (40), and (42) too: with penalties that stay, ``W(t+1) - W(t) = 0`` adds nothing."""
    step = TwoNodeStep.of(replace(STRONG, slopes=(_ONE, Fraction(0)), models=(_TWO, Fraction(0))))
    fall = step.distance_before - step.after.distance
    words = f"{_WORDS}, O_1 = f^2/2 - f, O_2 = f^2/2, from f = (2, 0)"
    return Finding(left=step.moved, relation="<=", right=fall, instance=words)


def equation41() -> tuple[Finding, ...]:
    r"""Prove (41), given U.

    ``W(t+1) - W(t)`` and ``D + A`` have no negative entries, so neither has their product M:
    ``x'M x <= sum_ij M_ij |x_i| |x_j| <= U^2 1'M 1``, component by component of the models. M need
    not be semi-definite.
    """
    # Entries of different signs, for which bounding by absolute values loses something.
    growth, along = (Fraction(0), _ONE), (Fraction(3), Fraction(-2))
    left = compute_signless_product(growth, along, along)
    right = 9 * compute_signless_product(growth, (_ONE, _ONE), (_ONE, _ONE))
    return (Finding(left=left, relation="<=", right=right, instance="x = (3, -2), U = 3"),)


def growing_penalties() -> tuple[TwoNodes, ...]:
    """Return the states of two nodes whose penalties double, from t = 0 on.

    Examples
    --------
    >>> [str(state.models[0]) for state in growing_penalties()[:3]]
    ['0', '1/3', '7/15']
    """
    states = [GROWING]
    for t in range(_STEPS):
        eta = Fraction(2**t)
        states.append(states[-1].after((eta, eta)))
    return tuple(states)


def share_left() -> Fraction:
    """Return a share of the distance at the start that is left for ever (module docstring)."""
    # What n steps leave, times the least that all later ones leave of it.
    return (1 - growing_penalties()[-1].models[0]) * (1 - Fraction(1, 2**_STEPS))


def convergence() -> Finding:
    """Refute that models reach the optimum: the rest of ``|f(0) - f*|`` is above 0."""
    words = "two nodes, O_i = f^2/2 - f, theta = 1, eta(t) = 2^(t-1)"
    return Finding(left=share_left(), relation="<=", right=Fraction(0), instance=words)


def equation43() -> tuple[Finding, ...]:
    """Refute that the right side of (43) is finite as every eta_i(t) is.

    U is at least ``|f(0) - f*| = 1``, and the sum up to t has ``U^2 ||1||^2 = 4 eta(t) U^2``. It
    would be finite if it stopped growing; it doubles with every t.
    """
    ones, size = (_ONE, _ONE), range(1, 6)
    sides = [compute_signless_product((Fraction(2**t),) * 2, ones, ones) for t in size]
    return tuple(
        Finding(left=later, relation="<=", right=now, instance=f"eta(t) = 2^(t-1), t = {t + 1}")
        # The last sum has no successor to be compared with.
        for t, now, later in zip(size, sides, sides[1:], strict=False)
    )


def equation46() -> Finding:
    """Refute (46) and (48): the gradient of O_i at the limit is not zero.

    All models are equal and ``Y(t) = 0``, so that only ``grad O_i(f^s) = f^s - 1`` is left of (46).
    The term ``W(t+1)(D + A)(f(t+1) - f(t))`` of (15), which it drops, does not tend to zero.
    """
    words = "two nodes, O_i = f^2/2 - f, theta = 1, eta(t) = 2^(t-1)"
    return Finding(left=share_left(), relation="=", right=Fraction(0), instance=words)


def vanishing_steps() -> tuple[Finding, ...]:
    """Refute that differences which tend to zero make a sequence converge.

    ``y(t) = 1 + 1/2 + ... + 1/t`` has the differences ``1/t``, whose squares even have a finite
    sum, and passes any bound: ``y(2^k) >= 1 + k/2``.
    """
    sums, powers = Fraction(0), []
    for t in range(1, 2**4 + 1):
        sums += Fraction(1, t)
        # A power of two has one binary digit.
        if t & (t - 1) == 0:
            powers.append(sums)
    return tuple(
        Finding(left=value, relation="<=", right=1 + Fraction(k, 2), instance=f"y({2**k})")
        # At 1 and 2 the bound is met with equality, which would refute nothing.
        for k, value in enumerate(powers[2:], start=2)
    )


def two_cases() -> tuple[Finding, ...]:
    r"""Prove that (44) and (45) leave the two cases.

    By (16) ``sqrt(D - A) f(t+1)`` is the difference of Y over theta, which tends to zero by (45):
    f(t) is ``1 c(t)'`` plus what tends to zero. Then f(t+1) - f(t) tends to ``1 (c(t+1) - c(t))'``,
    whose square in W (D + A) is ``||c(t+1) - c(t)||^2 1'W (D + A) 1``: where (44) sends it to zero,
    the first factor tends to zero or the second does along some iterations. Checked is the second
    one, ``2 sum_i eta_i V_i``, on every graph of three nodes.
    """
    entries = [entry for row in multiply_symbol_matrices(ETA, SIGNLESS) for entry in row]
    return (
        make_identity_finding(
            sum(entries, make_polynomial(0)),
            2 * sum((ETA[i][i] * DEGREES[i][i] for i in NODES), make_polynomial(0)),
            "1'W (D + A) 1",
        ),
    )


def second_statement() -> Finding:
    """Show that ``W D 1`` is not ``sum_i eta_i V_i``: it is the vector of these summands."""
    words = "two nodes, eta = (1, 2): first entry of W D 1, and the sum"
    return Finding(left=_ONE, relation="=", right=sum(_PENALTIES, Fraction(0)), instance=words)


def second_statement_repaired() -> tuple[Finding, ...]:
    """Prove that the second case cannot be: every entry of ``W (D + A) 1`` is at least 2 theta.

    Entry i is ``2 eta_i V_i``, on every graph, and each ``V_i >= 1`` in a connected network of two
    nodes or more. Checked are the entries on every graph of three nodes, and the bound on two.
    """
    ones = (_ONE, _ONE)
    weighted = multiply_symbol_matrices(ETA, SIGNLESS)
    units: tuple[Two, Two] = ((_ONE, Fraction(0)), (Fraction(0), _ONE))
    entries = [compute_signless_product(_PENALTIES, unit, ones) for unit in units]
    return (
        *(
            make_identity_finding(
                sum(weighted[i], make_polynomial(0)),
                2 * ETA[i][i] * DEGREES[i][i],
                f"entry {i + 1} of W (D + A) 1",
            )
            for i in NODES
        ),
        *(
            Finding(left=Fraction(2), relation="<=", right=entry, instance=_WORDS)
            for entry in entries
        ),
    )


def same_optimum() -> tuple[Finding, ...]:
    r"""Prove Lemma 3.1.

    Let ``f* = 1 f_c'`` with f_c optimal. Then (18) holds, and ``sum_i grad O_i(f_c) = 0``: every
    column of the stacked gradient is orthogonal to 1, so in the range of ``D - A``, whose null
    space 1 spans; ``(D - A) X = -grad`` has a solution, and ``Y* = sqrt(D - A) X`` satisfies (17).
    Conversely (18) makes f* consensual, and 1 times (17) is ``sum_i grad O_i(f_c) = 0``, which for
    convex functions means that f_c is optimal. Checked is the first part on two nodes.
    """
    state = OWN
    best, dual = state.optimum, state.dual - state.dual_gap
    gradients = [m * best - b for m, b in zip(state.curvatures, state.slopes, strict=True)]
    signs = (1, -1)
    return tuple(
        Finding(left=gradient + sign * dual, relation="=", right=Fraction(0), instance=_WORDS)
        for gradient, sign in zip(gradients, signs, strict=True)
    )


def check_bounded_convergence() -> tuple[Finding, ...]:
    r"""Prove Theorem 3.1 for one penalty of all nodes that does not fall and stays below a bound.

    ``W (D + A) = w (D + A)`` and ``(w - theta)(D - A)`` are semi-definite, so (19) and (40) hold.
    As ``w(t+1) (D + A) <= (w(t+1)/w(t)) w(t) (D + A)``, (39) gives ``||Z(t+1) - Z*||_{J(t+1)}^2 <=
    (w(t+1)/w(t)) ||Z(t) - Z*||_{J(t)}^2``, and the product of these factors is at most
    ``w(infinity)/w(0)``: Y is bounded, and so are ``(D - A) f(t)``, by (16), and the models' mean,
    by the norm, as ``(D + A) 1 = 2 D 1`` is not zero. So U is finite, (42) sums to (43), whose
    right side is finite, and (44), (45) follow. Let Z' be a limit of Z along some iterations. By
    (45) and (16) ``sqrt(D - A) f' = 0``. By (44) the last term of (15) tends to zero there, and ``W
    (D - A) f`` does, as W is bounded: Z' satisfies (17), (18). The first argument, with Z' for Z*,
    says that ``||Z(t) - Z'||_{J(t)}^2 / w(t)`` does not rise, and along those iterations it tends
    to 0: so it tends to 0, Y(t) to Y', and ``(D + A)(f(t) - f')`` and ``(D - A) f(t)`` to 0, whose
    sum is ``2 D (f(t) - f')``. Z(t) converges to Z', an optimum.

    Checked is one step of the instance that refutes (40), with the penalty 2 at both nodes and
    with one that rises to it: (39), and the factor.
    """
    shared, rising = (_TWO, _TWO), (_ONE, _ONE)
    start = replace(STRONG, penalties=rising)
    step = TwoNodeStep.of(start, shared)
    factor = _TWO * start.distance
    after = step.after.distance
    return (
        Finding(left=step.inner, relation="<=", right=Fraction(0), instance="(39), w = 1, then 2"),
        Finding(left=after, relation="<=", right=factor, instance="factor 2, w = 1, then 2"),
    )


def check_bounded_limit() -> tuple[Finding, ...]:
    r"""Prove (46) and (48) for bounded penalties, where ``(Y(t), f(t))`` converges.

    ``W(t+1)(D + A)(f(t+1) - f(t))`` is a bounded matrix times what tends to zero, and so is
    ``(W(t+1) - theta I)(D - A) f(t+1)``, as (47) holds: of (15) the gradient and ``sqrt(D - A) Y``
    are left. Checked is that the gradient of the instance that refutes (46) falls once its penalty
    stays at 2: to less than what is left with penalties that double.
    """
    state = GROWING
    # One step with the penalty 1, then eight with the 2 at which it stays.
    for eta in (_ONE, *(_TWO,) * 8):
        state = state.after((eta, eta))
    left = 1 - state.models[0]
    return (Finding(left=left, relation="<", right=share_left(), instance="eta = 1, 2, 2, ..."),)


def without_condition_on_theta() -> tuple[Finding, ...]:
    r"""Prove that the condition on theta serves the privacy bound alone.

    Of it follows (64), by which the determinants in (61) are bounded.
    `check_bounded_convergence` asks nothing of theta but ``0 < theta <= eta``: no c_1, B, C or rho
    is in it, so that with any theta
    above 0 M-ADMM with one penalty that stays below a bound converges. Checked is one step with
    theta = eta = 1/8 on ``O_i = f^2/2``, of which a loss has the curvature c_1 = 1/2 (B = C) and
    the regulariser rho/N = 1/2: 2 c_1 is not below ``rho/N + 2 theta``.
    """
    half, theta = Fraction(1, 2), Fraction(1, 8)
    state = replace(STRONG, penalties=(theta, theta), dual_step=theta)
    step = TwoNodeStep.of(state)
    return (
        Finding(left=half + 2 * theta, relation="<", right=2 * half, instance="not the condition"),
        Finding(left=step.inner, relation="<=", right=Fraction(0), instance="(39), theta = 1/8"),
        Finding(
            left=step.after.distance,
            relation="<",
            right=step.distance_before,
            instance="||Z - Z*||^2 after and before, theta = 1/8",
        ),
    )
