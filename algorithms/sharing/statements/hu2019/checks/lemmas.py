r"""Section 7.1 of hu2019: Lemmas 2 to 5 and every step of their proofs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    ExactProblem,
    compute_exact_lagrangian,
    compute_squared_norm,
    compute_squared_steps,
    make_fraction_numbers,
    run,
    subtract_numbers,
)
from dpaudit.algorithms.sharing.statements.hu2019.checks.instances import (
    equal_columns,
    make_bounded_models_problem,
    two_curvatures,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial, Vector, make_unknowns, total, vectors

# Lemma 2


def slope_is_dual() -> tuple[Finding, ...]:
    r"""Prove (13) and (21): ``grad l(z^{t+1}) = y^{t+1}`` after every iteration.

    Proof. ``z^{t+1}`` minimises the differentiable (7) over R^N, so that its slope is zero there:
    ``grad l(z^{t+1}) - y^t + rho (z^{t+1} - S) = 0`` with ``S = sum_m D_m x_m^{t+1}``, which is
    (21). So ``grad l(z^{t+1}) = y^t + rho (S - z^{t+1})``, and that is ``y^{t+1}`` by (8).
    Checked: the two expressions are the same, and on runs both sides are.
    """
    rho = make_unknowns("rho")[0]
    reached, z, y = vectors("S z y")
    by_optimality, by_update = y - rho * (z - reached), y + rho * (reached - z)
    found = [make_identity_finding((by_optimality - by_update).square, 0 * rho, "grad l(z) - y")]
    for problem in (two_curvatures(), make_bounded_models_problem()):
        # The first state is left out: its dual is a start and not yet the gradient of an update.
        for t, state in enumerate(run(problem, 4)[1:], start=1):
            apart = compute_squared_norm(
                subtract_numbers(problem.slope(state.prediction), state.dual)
            )
            words = f"||grad l(z) - y||^2, t = {t}, M = {len(problem.columns)}"
            found.append(Finding(left=apart, relation="=", right=Fraction(0), instance=words))
    return tuple(found)


def dual_moves_less() -> tuple[Finding, ...]:
    r"""Prove (14) from t = 1 on: ``||y^{t+1} - y^t||^2 <= L^2 ||z^{t+1} - z^t||^2``.

    Proof. For t >= 1 an iteration made ``y^t`` as well, so that (13) holds at t and at t + 1:
    ``y^{t+1} - y^t = grad l(z^{t+1}) - grad l(z^t)``, and the slope of l moves at most L times as
    far as z by Assumption 1.1.

    At t = 0 the dual variable is the start's, which no iteration made. From zero (6) leaves x at 0,
    as y and the gap are 0, so that ``y^1 = -rho z^1`` moves rho times as far as z, and rho is at
    least L. Checked on runs, t >= 1.
    """
    return tuple(
        Finding(
            left=compute_squared_steps(before, after)[2],
            relation="<=",
            right=problem.smoothness**2 * compute_squared_steps(before, after)[1],
            instance=f"||dy||^2 and L^2 ||dz||^2, t = {t}, M = {len(problem.columns)}",
        )
        for problem in (two_curvatures(), make_bounded_models_problem(), equal_columns(2, 3))
        # The start is left out here as well: its dual is not a gradient yet.
        for t, (before, after) in enumerate(pairwise(run(problem, 5)[1:]), start=1)
    )


# Lemma 3


def _make_symbolic_moves(parties: int) -> tuple[tuple[Vector, ...], tuple[Vector, ...], Vector]:
    names = [f"x_{m} u_{m}" for m in range(1, parties + 1)]
    found = [vectors(name) for name in names]
    return tuple(x for x, _ in found), tuple(u for _, u in found), vectors("z")[0]


def _build_lemma3_left_side(
    before: tuple[Vector, ...], moves: tuple[Vector, ...], z: Vector
) -> Polynomial:
    start = total(before) - z
    alone = [(start + u).square - start.square for u in moves]
    return (start + total(moves)).square - start.square - sum(alone[1:], alone[0])


def _cross_products(moves: tuple[Vector, ...]) -> Polynomial:
    own = [u.square for u in moves]
    return total(moves).square - sum(own[1:], own[0])


def first_line_of_lemma_3() -> tuple[Finding, ...]:
    r"""Prove the first equality of the proof of Lemma 3: a difference of squares is a product.

    Proof. ``||p||^2 - ||q||^2 = (p + q)'(p - q)``, with ``p - q`` the sum of all steps in the first
    bracket and the step of party m in those of the sum. Checked as polynomials in the inner
    products, M = 1 to 4.
    """
    found = []
    for parties in range(1, 5):
        before, moves, z = _make_symbolic_moves(parties)
        after = tuple(x + u for x, u in zip(before, moves, strict=True))
        right = (total(after) + total(before) - 2 * z) @ total(moves)
        for m, u in enumerate(moves):
            others = total(x for k, x in enumerate(before) if k != m)
            right = right - (2 * others + before[m] + after[m] - 2 * z) @ u
        found.append(
            make_identity_finding(
                _build_lemma3_left_side(before, moves, z), right, f"M = {parties}"
            )
        )
    return tuple(found)


def sign_of_cross_products() -> tuple[Finding, Finding]:
    """Return the left side of (15) for two equal steps, and the proof's term for it."""
    before, moves, z = _make_symbolic_moves(2)
    left = _build_lemma3_left_side(before, moves, z)
    values = {f"<u_{i}, u_{j}>": 1 for i, j in ((1, 1), (1, 2), (2, 2))}
    crossed = _cross_products(moves)
    instance = "M = 2, both steps 1"
    return (
        Finding(
            left=left.value(values), relation="=", right=-crossed.value(values), instance=instance
        ),
        make_identity_finding(
            left, crossed, "the left side of (15), and the cross products with a plus"
        ),
    )


def last_lines_of_lemma_3() -> tuple[Finding, ...]:
    r"""Prove the rest of the proof of Lemma 3, which starts from the wrong expression.

    Proof. ``-sum_{k != m} <u_k, u_m> = -||sum_m u_m||^2 + sum_m ||u_m||^2`` by expanding the
    square, and the first term of it is at most 0. Checked as polynomials, M = 1 to 4.
    """
    found = []
    for parties in range(1, 5):
        moves = _make_symbolic_moves(parties)[1]
        pairs = [a @ b for i, a in enumerate(moves) for j, b in enumerate(moves) if i != j]
        crossed = sum(pairs, 0 * make_unknowns("rho")[0])
        found.append(make_identity_finding(-crossed, -_cross_products(moves), f"M = {parties}"))
    return tuple(found)


def cost_of_parallel_steps() -> tuple[Finding, ...]:
    r"""Prove Lemma 3 with ``M - 1`` times its right side, and that this is the least multiple.

    Proof. The left side of (15) is ``||sum_m u_m||^2 - sum_m ||u_m||^2``, by
    `sign_of_cross_products`. ``M sum_m ||u_m||^2 - ||sum_m u_m||^2`` is ``sum_{k < m} ||u_k -
    u_m||^2 >= 0``, so that it is at most ``(M - 1) sum_m ||u_m||^2``, with equality for equal
    steps. Checked as polynomials, M = 1 to 5.
    """
    found = []
    for parties in range(1, 6):
        moves = _make_symbolic_moves(parties)[1]
        own = sum((u.square for u in moves), 0 * make_unknowns("rho")[0])
        apart = sum(
            ((a - b).square for a, b in combinations(moves, 2)), 0 * make_unknowns("rho")[0]
        )
        left = parties * own - total(moves).square
        found.append(make_identity_finding(left, apart, f"M = {parties}"))
    return tuple(found)


# Lemma 4


def two_halves() -> Finding:
    r"""Prove (16): a difference passes through a point in between.

    Proof. ``a - c = (a - b) + (b - c)``.
    """
    a, b, c = make_unknowns("a b c")
    return make_identity_finding(a - c, (a - b) + (b - c), "(16)")


def step_of_the_dual() -> Finding:
    r"""Prove the first two equalities of (17).

    Proof. The augmented Lagrangian is affine in y with the slope ``gap = sum_m D_m x_m - z``, and
    ``gap = (y^{t+1} - y^t) / rho`` by (8).
    """
    rho, rest = make_unknowns("rho rest")
    y, step = vectors("y dy")
    apart = step / rho

    def value(dual: Vector) -> Polynomial:
        return rest + dual @ apart

    return make_identity_finding(
        value(y + step) - value(y), step.square / rho, "(17), first two equalities"
    )


def smoothness_is_no_equality() -> tuple[Finding, Finding]:
    """Return ``||dy||^2 / rho`` and ``L^2 ||dz||^2 / rho`` on a loss with two curvatures, t = 1."""
    problem = two_curvatures()
    before, after = run(problem, 2)[1:]
    _, centre, dual = compute_squared_steps(before, after)
    left, right = dual / problem.penalty, problem.smoothness**2 * centre / problem.penalty
    instance = "one party, two samples with curvatures 1 and 1/2, rho = 3, t = 1"
    return (
        Finding(left=left, relation="=", right=right, instance=instance),
        Finding(left=left, relation="<=", right=right, instance=instance),
    )


def _compute_one_sample_lagrangian(
    problem: ExactProblem, models: tuple[Fraction, ...], z: Fraction, y: Fraction
) -> Fraction:
    """Return the augmented Lagrangian of one sample, without ridge."""
    apart = problem.reached(models)[0] - z
    return problem.loss((z,)) + y * apart + problem.penalty / 2 * apart**2


def order_of_the_blocks() -> tuple[Finding, Finding]:
    """Return both sides of the first inequality of (18), and of it with z^t in the first bracket.

    One party, rho = 3, t = 1. The printed right side takes the step of x at z^{t+1}, and the step
    of z from x^t to x^{t+1}: it is smaller by ``rho/2 (||S - z'||^2 - ||S' - z'||^2)``.
    """
    problem = equal_columns(1, 3)
    before, after = run(problem, 2)[1:]
    x, new = before.models, after.models
    z, later, y = before.prediction[0], after.prediction[0], before.dual[0]

    def value(models: tuple[Fraction, ...], point: Fraction) -> Fraction:
        return _compute_one_sample_lagrangian(problem, models, point, y)

    change = value(new, later) - value(x, z)
    first = value(new, later) - value(x, later)
    second = value(new, later) - y * problem.reached(new)[0]
    second -= value(x, z) - y * problem.reached(x)[0]
    right = first + second
    repaired = (value(new, z) - value(x, z)) + (value(new, later) - value(new, z))
    instance = "M = 1, rho = 3, c = 1, t = 1"
    return (
        Finding(left=change, relation="<=", right=right, instance=instance),
        Finding(left=change, relation="=", right=repaired, instance=f"{instance}, x moved at z^t"),
    )


def check_lost_penalty() -> tuple[Finding, Finding]:
    """Return the loss of parallel steps in the augmented Lagrangian, and the loss that (18) allows.

    It is ``rho/2 (||sum_m u_m||^2 - sum_m ||u_m||^2)``; (18) adds ``sum_m ||u_m||^2``. For two
    parties Lemma 3 is true, and what fails is the factor.
    """
    problem = equal_columns(2, 4)
    before, after = run(problem, 2)[1:]
    moves = subtract_numbers(after.models, before.models)
    own = compute_squared_norm(moves)
    cost = problem.penalty / 2 * (sum(moves) ** 2 - own)
    instance = "M = 2, rho = 4, c = 1, t = 1"
    allowed = Fraction(len(moves) - 1) * problem.penalty / 2 * own
    return (
        Finding(left=cost, relation="<=", right=own, instance=instance),
        Finding(
            left=cost, relation="<=", right=allowed, instance=f"{instance}, (M - 1) rho/2 times"
        ),
    )


def terms_of_the_subproblems() -> tuple[Finding, Finding]:
    """Return the bracket that (18) calls ``h(z^{t+1}) - h(z^t)``, as printed, and that difference.

    The printed one has ``sum_m D_m x_m^t`` at z^t, where h of (12) has ``sum_m D_m x_m^{t+1}``.
    """
    problem = equal_columns(1, 3)
    before, after = run(problem, 3)[2:]
    y = before.dual[0]

    def value(models: tuple[Fraction, ...], z: Fraction) -> Fraction:
        reached = problem.reached(models)[0]
        return _compute_one_sample_lagrangian(problem, models, z, y) - y * reached

    z, later = before.prediction[0], after.prediction[0]
    right = value(after.models, later) - value(after.models, z)
    printed = value(after.models, later) - value(before.models, z)
    moved = _compute_one_sample_lagrangian(
        problem, after.models, later, y
    ) - _compute_one_sample_lagrangian(problem, after.models, z, y)
    instance = "M = 1, rho = 3, c = 1, t = 2"
    return (
        Finding(left=printed, relation="=", right=right, instance=instance),
        Finding(
            left=moved, relation="=", right=right, instance=f"{instance}, z moved at x^{{t+1}}"
        ),
    )


def steps_of_the_subproblems() -> tuple[Finding, ...]:
    r"""Prove the last three steps of (18), each of its own right.

    Proof. A gamma-strongly convex g satisfies ``g(v) >= g(w) + <g'(w), v - w> + gamma/2 ||v -
    w||^2`` for a (sub)gradient g'(w); with ``w = x^{t+1}`` and ``v = x^t`` this is the first step,
    and checked: a quadratic of curvature gamma has equality. At the minimiser w over the convex X_m
    some (sub)gradient has ``<g'(w), v - w> >= 0`` for every v in X_m, which is the second.
    ``||D_m u||^2 = u'D_m'D_m u <= sigma_max(D_m'D_m) ||u||^2`` is the third.
    """
    gamma, constant = make_unknowns("gamma constant")
    w, v, b = vectors("w v b")

    def value(point: Vector) -> Polynomial:
        return gamma / 2 * point.square + b @ point + constant

    slope = gamma * w + b
    right = slope @ (w - v) - gamma / 2 * (w - v).square
    return (make_identity_finding(value(w) - value(v), right, "a quadratic of curvature gamma"),)


def fall_before_the_dual() -> Finding:
    """Return the change of (18) and its bound: M = 3, rho = 2, c = 1, t = 1."""
    problem = equal_columns(3, 2)
    before, after = run(problem, 2)[1:]
    models, centre, dual = compute_squared_steps(before, after)
    change = (
        compute_exact_lagrangian(problem, after)
        - compute_exact_lagrangian(problem, before)
        - dual / problem.penalty
    )
    bound = -(problem.moduli[0] / 2 - 1) * models - problem.modulus / 2 * centre
    return Finding(left=change, relation="<=", right=bound, instance="M = 3, rho = 2, c = 1, t = 1")


def fall_with_the_penalty() -> tuple[Finding, ...]:
    r"""Prove Lemma 4, and (18), with ``(M - 1) rho/2`` times ``sigma_max(D_m'D_m)``, for t >= 1.

    Proof. With ``a = sum_k D_k x_k^t - z^t`` and ``u_m = D_m (x_m^{t+1} - x_m^t)`` the step of x at
    z^t changes the augmented Lagrangian by

        sum_m [g_m(x_m^{t+1}) - g_m(x_m^t)] + rho/2 (||sum_m u_m||^2 - sum_m ||u_m||^2),

    as all that is linear in u is the same; checked as polynomials, M = 1 to 4. With ``dx_m``, dz
    and dy for steps, the brackets are at most ``-gamma_m/2 ||dx_m||^2``, and the step of z at
    x^{t+1} is at most ``-gamma/2 ||dz||^2`` (`steps_of_the_subproblems`); the last term is at most
    ``(M - 1) rho/2 sum_m sigma_max ||dx_m||^2`` (`cost_of_parallel_steps`). This is (18). The step
    of y adds ``||dy||^2/rho <= L^2/rho ||dz||^2`` (`step_of_the_dual`, (14)). Checked on runs.
    """
    found = [_step_of_models(parties) for parties in range(1, 5)]
    for parties, penalty, curvature in ((3, 2, 1), (3, 10, 9), (2, 4, 1)):
        problem = equal_columns(parties, penalty, curvature)
        for t, (before, after) in enumerate(pairwise(run(problem, 5)[1:]), start=1):
            models, centre, _ = compute_squared_steps(before, after)
            allowed = Fraction(parties - 1) * problem.penalty / 2 * models
            bound = allowed - problem.moduli[0] / 2 * models
            bound -= (problem.modulus / 2 - problem.smoothness**2 / problem.penalty) * centre
            change = compute_exact_lagrangian(problem, after) - compute_exact_lagrangian(
                problem, before
            )
            words = f"M = {parties}, rho = {penalty}, c = {curvature}, t = {t}"
            found.append(Finding(left=change, relation="<=", right=bound, instance=words))
    return tuple(found)


def _step_of_models(parties: int) -> Finding:
    """Return the change by parallel steps, and those of each g_m with their joint cost."""
    rho = make_unknowns("rho")[0]
    start, dual = vectors("a y")
    moves = _make_symbolic_moves(parties)[1]

    def change(step: Vector) -> Polynomial:
        return dual @ step + rho / 2 * ((start + step).square - start.square)

    alone = sum((change(u) for u in moves), 0 * rho)
    right = alone + rho / 2 * _cross_products(moves)
    return make_identity_finding(change(total(moves)), right, f"the step of x, M = {parties}")


# Lemma 5


def sum_left_out() -> Finding:
    """Return ``||D_m x_m - z||^2`` for one m, as (20) has it, and with the sum over m.

    Two parties with ``D_m x_m = 1``, and z = 2.
    """
    part, parties, z = make_fraction_numbers(1, 2, 2)
    return Finding(
        left=(parties * part - z) ** 2,
        relation="=",
        right=(part - z) ** 2,
        instance="||sum_m D_m x_m - z||^2 and ||D_m x_m - z||^2, M = 2",
    )


def check_bounded_below() -> tuple[Finding, ...]:
    r"""Prove (20) with the sum in it, and that the augmented Lagrangian is bounded below.

    Proof. Let ``S = sum_m D_m x_m``, after an iteration. A function whose slope is L-Lipschitz
    satisfies ``l(S) <= l(z) + <grad l(z), S - z> + L/2 ||S - z||^2``. By (13) y is grad l(z), and
    so ``l(z) + <y, S - z> + rho/2 ||S - z||^2 >= l(S) + (rho - L)/2 ||S - z||^2``. With the
    regularisers this is (20). Its right side is at least f, the lower bound of Assumption 1.3, for
    x is in the product of the X_m and ``rho >= L`` by 1.2(c). Checked: equality for a quadratic of
    curvature L.
    """
    smooth, rho = make_unknowns("L rho")
    z, reached, b = vectors("z S b")

    def loss(point: Vector) -> Polynomial:
        return smooth / 2 * (point - b).square

    slope, apart = smooth * (z - b), reached - z
    left = loss(z) + slope @ apart + rho / 2 * apart.square
    return (
        make_identity_finding(
            left, loss(reached) + (rho - smooth) / 2 * apart.square, "curvature L"
        ),
    )


def rising_lagrangian() -> tuple[Finding, Finding]:
    """Return changes of the augmented Lagrangian, said to be decreasing: M = 3, rho = 2, c = 1."""
    problem = equal_columns(3, 2)
    values = [compute_exact_lagrangian(problem, state) for state in run(problem, 3)[1:]]
    first, second = (
        Finding(left=later - one, relation="<=", right=Fraction(0), instance=f"t = {t}")
        for t, (one, later) in enumerate(pairwise(values), start=1)
    )
    return first, second
