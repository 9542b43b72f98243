r"""Section 7.2 of hu2019: the bounds on V^t, and their consequences, (32) to (42)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    ExactProblem,
    compute_exact_gap,
    compute_exact_lagrangian,
    compute_exact_residual,
    compute_squared_steps,
    party_slope,
    run,
)
from dpaudit.algorithms.sharing.statements.hu2019.checks.instances import at_rest, equal_columns
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns, vectors

HALF = Fraction(1, 2)


def _clip_to_half_interval(point: Fraction) -> Fraction:
    return min(max(point, -HALF), HALF)


def check_fixed_point_with_constraint() -> tuple[Finding, Finding]:
    """Return both sides of (32) at rest on the constraint, and with prox of R_m on X_m.

    R = 0, so that prox as printed is the identity.
    """
    problem, state = at_rest()
    x, moved = state.models[0], state.models[0] - party_slope(problem, state, 0)
    instance = "M = 1, X = [-1/2, 1/2], at rest at x = z = 1/2"
    return (
        Finding(left=x, relation="=", right=moved, instance=instance),
        Finding(
            left=x,
            relation="=",
            right=_clip_to_half_interval(moved),
            instance=f"{instance}, prox on X",
        ),
    )


def prox_step_with_constraint() -> tuple[Finding, Finding]:
    """Return both sides of (33) where nothing moves, and with prox of R_m on X_m."""
    problem, state = at_rest()
    x, moved = state.models[0], state.models[0] - party_slope(problem, state, 0)
    instance = "M = 1, X = [-1/2, 1/2], at rest at x = z = 1/2"
    return (
        Finding(left=abs(x - moved), relation="<=", right=Fraction(0), instance=instance),
        Finding(
            left=abs(x - _clip_to_half_interval(moved)),
            relation="<=",
            right=Fraction(0),
            instance=f"{instance}, prox on X",
        ),
    )


def prox_steps() -> tuple[Finding, ...]:
    r"""Prove (33) with ``prox`` of the sum of ``lambda R_m`` and the indicator of X_m.

    Proof. Let P be that prox, which does not expand distances for convex R_m and X_m, and
    ``g(x) = D_m'y^t + rho D_m'(sum_{k != m} D_k x_k^t + D_m x - z^t)``. By the optimality of (6)
    ``x' = P(x' - g(x'))``. So ``||x - P(x - g(x))|| <= ||x - x'|| + ||P(x' - g(x')) - P(x - g(x))||
    <= ||x - x'|| + ||x' - x|| + ||g(x') - g(x)||``, and ``g(x') - g(x) = rho D_m'D_m (x' - x)``.
    Checked on runs with R = 0 and X = [-2, 2]: both sides for the first party.
    """
    low, high = Fraction(-2), Fraction(2)
    problem = equal_columns(3, 10, 9, interval=(low, high))
    found = []
    for t, (before, after) in enumerate(pairwise(run(problem, 8)[1:]), start=1):
        x = before.models[0]
        shifted = min(max(x - party_slope(problem, before, 0), low), high)
        bound = (2 + problem.penalty) * abs(after.models[0] - x)
        words = f"(33), M = 3, X = [-2, 2], t = {t}"
        found.append(Finding(left=abs(x - shifted), relation="<=", right=bound, instance=words))
    return tuple(found)


def slope_with_constraint() -> Finding:
    """Return the left side of (34), said to be 0, at rest on the constraint: R is not convex.

    ``lambda R = -x^2 / 8`` and X = [-1/2, 1/2].
    """
    _, state = at_rest()
    problem = equal_columns(1, 3, ridge=Fraction(-1, 4), interval=(-HALF, HALF))
    apart = sum(compute_squared_steps(state, run(problem, 1, state)[1]), Fraction(0))
    left = party_slope(problem, state, 0) + apart  # apart is 0: it is at rest
    return Finding(
        left=left,
        relation="=",
        right=Fraction(0),
        instance="M = 1, X = [-1/2, 1/2], lambda R = -x^2/8, at rest at x = z = 1/2",
    )


def check_lost_weight() -> tuple[Finding, ...]:
    """Return both sides of (35), and of it with lambda L_m in place of L_m.

    lambda = 2 and R smooth with L_m = 1: ``R' = x`` for ``|x| <= 1``, where the run stays, and
    beyond it goes down and up with slopes -1 and 1, so that R is bounded and not convex. M = 1,
    rho = 6: (6) is strongly convex with the modulus ``6 - 2 = 4 >= 2``.
    """
    weight, smooth = Fraction(2), Fraction(1)
    problem = equal_columns(1, 6, ridge=weight * smooth)
    before, after = run(problem, 2)[1:]
    largest = max(abs(state.models[0]) for state in (before, after))
    left, moved = abs(party_slope(problem, before, 0)), abs(after.models[0] - before.models[0])
    instance = "M = 1, rho = 6, lambda = 2, L_m = 1, t = 1"
    return (
        Finding(
            left=left, relation="<=", right=(smooth + problem.penalty) * moved, instance=instance
        ),
        Finding(
            left=left,
            relation="<=",
            right=(weight * smooth + problem.penalty) * moved,
            instance=f"{instance}, with lambda L_m",
        ),
        Finding(left=largest, relation="<=", right=Fraction(1), instance="|x|, where R' is x"),
    )


def loss_for_its_slope() -> Finding:
    """Return ``l(z)`` and ``grad l(z)`` at z = 1/4, which (36) puts for one another."""
    problem = equal_columns(1, 3)
    z = run(problem, 1)[1].prediction
    return Finding(
        left=problem.loss(z),
        relation="=",
        right=problem.slope(z)[0],
        instance="l(z^1) and grad l(z^1), M = 1, rho = 3",
    )


def slope_by_prediction() -> tuple[Finding, ...]:
    r"""Prove (36) with grad l in place of l.

    Proof. ``grad_z L^t = grad l(z) - y + rho (z - S)`` with ``S = sum_m D_m x_m^t``. (21) says
    ``0 = grad l(z') - y + rho (z' - S')``. The difference is ``grad l(z) - grad l(z')`` plus
    ``rho (z - z') + rho (S' - S)``: at most ``L + rho`` times ``||z' - z||``, and rho times the sum
    of ``||D_m (x_m' - x_m)||``. Checked: the difference, as vectors.
    """
    rho = make_unknowns("rho")[0]
    here, there, y, z, later, reached, moved = vectors("g g' y z z' S S'")
    left = (here - y + rho * (z - reached)) - (there - y + rho * (later - moved))
    right = (here - there) + rho * (z - later) + rho * (moved - reached)
    return (
        make_identity_finding((left - right).square, 0 * rho, "the difference of the two slopes"),
    )


def gap_one_step_early() -> tuple[Finding, ...]:
    """Return the two sides of (37), and with the steps from t - 1 to t: M = 1, c = 1."""
    found = []
    for penalty in (2, 3):
        problem = equal_columns(1, penalty)
        states = run(problem, 3)
        for t in (1, 2):
            left = abs(compute_exact_gap(problem, states[t])[0])
            ahead, behind = (
                abs(b.prediction[0] - a.prediction[0]) / problem.penalty
                for a, b in ((states[t], states[t + 1]), (states[t - 1], states[t]))
            )
            words = f"M = 1, rho = {penalty}, c = 1, t = {t}"
            found.append(Finding(left=left, relation="<=", right=ahead, instance=words))
            if t > 1:  # Lemma 2 at t - 1
                words = f"{words}, steps to t"
                found.append(Finding(left=left, relation="<=", right=behind, instance=words))
    return tuple(found)


def residual_at_rest() -> tuple[Finding, ...]:
    """Return V^t and the right side of (38) where nothing moves, for every C_1.

    V^t as the proof bounds it: with prox of R_m in (33), without X_m. R = 0, so that its first part
    is the slope by x_m. With prox of R_m on X_m both sides are 0.
    """
    problem, state = at_rest()
    moved = sum(compute_squared_steps(state, run(problem, 1, state)[1])[:2], Fraction(0))
    whole = compute_exact_residual(problem, state)
    instance = "M = 1, X = [-1/2, 1/2], at rest at x = z = 1/2"
    return (
        Finding(
            left=party_slope(problem, state, 0) ** 2,
            relation="<=",
            right=moved,
            instance=f"V^t from below, and squared steps, {instance}",
        ),
        Finding(
            left=whole, relation="<=", right=moved, instance=f"the same, prox on X, {instance}"
        ),
    )


def first_constant(problem: ExactProblem) -> Fraction:
    """Return C_1 of (38) by `residual_by_steps`, for columns of length 1."""
    rho, smooth, count = problem.penalty, problem.smoothness, len(problem.columns) + 1
    shared = count * (1 + 1 / rho**2)
    models = (2 + max(problem.moduli)) ** 2 + shared * rho**2
    return max(models, shared * (smooth + rho) ** 2)


def residual_by_steps() -> tuple[Finding, ...]:
    r"""Prove (38) for t >= 1, its prox on X_m: ``V^t <= C_1 (||dz||^2 + sum_m ||dx_m||^2)``.

    V^t is taken, as the proof does, to be the sum of the squares that (33) or (35), (36) and (37)
    bound; its definition is in a theorem that the text does not have. The first are ``x_m - P(x_m -
    g(x_m))``. For a convex R_m P is the prox of ``lambda R_m`` and the indicator of X_m, and g the
    slope of the rest; for a smooth one P is the nearest point of X_m, and g has ``lambda grad R_m``
    in it, so that where there is no constraint this is the slope.

    Proof. With ``s_m = sigma_max(D_m'D_m)``, the first is at most ``a_m ||dx_m||``. For a convex
    R_m that is (33), which `prox_steps` proves, with ``a_m = 2 + rho s_m``. For a smooth one the
    same steps, from ``x' = P(x' - g(x'))``, give ``2 ||dx_m|| + ||g(x') - g(x)||``, and so ``a_m =
    2 + lambda L_m + rho s_m``. By (36) the second is at most ``b = (L + rho) ||dz|| + rho sum_m
    sqrt(s_m) ||dx_m||``. For the third (37) is not needed: by (13) ``grad_z L^t = grad l(z^t) - y^t
    - rho gap = -rho gap``, so that the gap is at most ``b / rho``. ``b^2 <= (M + 1) ((L + rho)^2
    ||dz||^2 + rho^2 sum_m s_m ||dx_m||^2)``. So

        C_1 = max(max_m (a_m^2 + (M + 1)(1 + 1/rho^2) rho^2 s_m), (M + 1)(1 + 1/rho^2)(L + rho)^2).

    Checked: grad_z L, and both sides on runs, the first of them with a constraint.
    """
    rho = make_unknowns("rho")[0]
    slope, apart = vectors("g gap")
    dual = slope  # by (13)
    left = (slope - dual - rho * apart).square
    found = [
        make_identity_finding(left, rho**2 * apart.square, "||grad_z L||^2 and rho^2 ||gap||^2")
    ]
    wide = (Fraction(-2), Fraction(2))
    for problem in (equal_columns(3, 10, 9, interval=wide), equal_columns(2, 3)):
        for t, (before, after) in enumerate(pairwise(run(problem, 6)[1:]), start=1):
            models, centre, _ = compute_squared_steps(before, after)
            bound = first_constant(problem) * (models + centre)
            words = f"(38), M = {len(problem.columns)}, rho = {problem.penalty}, t = {t}"
            value = compute_exact_residual(problem, before)
            found.append(Finding(left=value, relation="<=", right=bound, instance=words))
    return tuple(found)


def second_constant(problem: ExactProblem) -> Fraction:
    """Return C_2 as (39) prints it."""
    dual = problem.modulus / 2 - problem.smoothness**2 / problem.penalty
    return min(sum(problem.moduli, Fraction(0)) / 2, dual)


def fall_by_the_constant() -> Finding:
    """Return the right and the left side of (39) where Lemma 4 is true: ``(M - 1) rho = 2``.

    M = 2, rho = 2, c = 1, t = 1: ``gamma_m/2 - sigma_max = 0``, and C_2 = 1.
    """
    problem = equal_columns(2, 2)
    before, after = run(problem, 2)[1:]
    models, centre, _ = compute_squared_steps(before, after)
    return Finding(
        left=second_constant(problem) * (models + centre),
        relation="<=",
        right=compute_exact_lagrangian(problem, before) - compute_exact_lagrangian(problem, after),
        instance="C_2 times the squared steps and the fall, M = 2, rho = 2, c = 1, t = 1",
    )


def falls_and_steps() -> tuple[Finding, ...]:
    r"""Prove (39) with another C_2, where ``(M - 1) rho`` is small enough for it to be positive.

    Proof. Lemma 4 with ``(M - 1) rho / 2`` times sigma_max, which has a proof, is (39) with ``C_2 =
    min(min_m (gamma_m - (M - 1) rho sigma_max(D_m'D_m)) / 2, gamma/2 - L^2/rho)``. It is positive
    by 1.2(b) and (c) where ``(M - 1) rho < 2``. Checked on a run with M = 1.
    """
    problem = equal_columns(1, 3)
    found = []
    for t, (before, after) in enumerate(pairwise(run(problem, 5)[1:]), start=1):
        models, centre, _ = compute_squared_steps(before, after)
        least = min(
            problem.moduli[0] / 2, problem.modulus / 2 - problem.smoothness**2 / problem.penalty
        )
        found.append(
            Finding(
                left=least * (models + centre),
                relation="<=",
                right=compute_exact_lagrangian(problem, before)
                - compute_exact_lagrangian(problem, after),
                instance=f"(39), M = 1, rho = 3, t = {t}",
            )
        )
    return tuple(found)


def residual_by_fall() -> Finding:
    """Return both sides of (40), its brackets put in: V^t, and a multiple of a fall that is a rise.

    M = 3, rho = 2, c = 1, t = 1.
    """
    problem = equal_columns(3, 2)
    before, after = run(problem, 2)[1:]
    fall = compute_exact_lagrangian(problem, before) - compute_exact_lagrangian(problem, after)
    constant = first_constant(problem) / second_constant(problem)
    return Finding(
        left=compute_exact_residual(problem, before),
        relation="<=",
        right=constant * fall,
        instance="V^t and (C_1/C_2)(L^t - L^{t+1}), M = 3, rho = 2, c = 1, t = 1",
    )


def sum_of_residuals() -> Finding:
    """Return both sides of (41) at T = 12: M = 3, rho = 10, c = 9.

    f = 0, as the models can reach every label and there is no regulariser.
    """
    problem = equal_columns(3, 10, 9)
    states = run(problem, 12)[1:]
    values = [compute_exact_residual(problem, state) for state in states]
    constant = first_constant(problem) / second_constant(problem)
    return Finding(
        left=sum(values, Fraction(0)),
        relation="<=",
        right=constant * compute_exact_lagrangian(problem, states[0]),
        instance="sum of V^t and (C_1/C_2)(L^1 - f), T = 12, M = 3, rho = 10, c = 9",
    )
