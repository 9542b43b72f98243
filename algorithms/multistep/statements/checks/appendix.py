"""The appendix, eq. (27) to (38): the proof's claims about one iteration in Theorem 7.

Every identity is one between polynomials in ``rho``, ``eta`` and inner products of the vectors of
`dpaudit.algorithms.multistep.statements.checks.iteration`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

from dpaudit.algorithms.multistep.statements.checks.iteration import (
    NEXT,
    RHO,
    TARGET,
    ZERO,
    Numbers,
    SymbolicIteration,
    make_named_vector,
    sum_of,
    values_of,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial, Vector, make_unknowns, total, vectors

SIZES = ((1, 1), (2, 1), (2, 2), (3, 1))  # inner steps and neighbours


# --- (27) and (28) --------------------------------------------------------------------------------


def maximum_and_expectation() -> tuple[Finding, ...]:
    """Show that (27) fails where models are random, and holds with the maximum inside.

    Two nodes, ``w^_1 - w^_2`` is 1 or -1 with probability 1/2 each, ``beta = 1``: each ordered
    pair has a violation of 1 in every run, and ``E <gamma, w^_1 - w^_2> = 0`` for every gamma.

    Inside the expectation it is an identity. By Cauchy-Schwarz ``- <gamma, v> <= beta ||v||`` for
    ``||gamma|| <= beta``, and ``gamma = - beta v / ||v||`` attains it.
    """
    runs, pairs = (Fraction(1), Fraction(-1)), 2
    violation = sum(pairs * abs(run) for run in runs) / len(runs)
    # The expectation is linear in gamma, so its maximum over [-1, 1] is at an end.
    ends = (Fraction(-1), Fraction(1))  # of gamma, in which the expectation is linear
    largest = pairs * max(sum(-gamma * run for run in runs) / len(runs) for gamma in ends)
    (v,), (beta, norm) = vectors("v"), make_unknowns("beta norm")
    attained = (-(-beta * v / norm) @ v).substitute({"<v, v>": norm**2})
    where = "w^_1 - w^_2 = 1 or -1, beta = 1"
    return (
        Finding(left=violation, relation="=", right=largest, instance=where),
        make_identity_finding(attained, beta * norm, "repaired: attained for every v"),
    )


def convex_average() -> Finding:
    """Prove (28): a convex function of an average, and Definition 1.

    ``w^_i`` is the average of ``t l`` models, so that ``L_i(w^_i)`` is at most the average of their
    losses (Jensen), and each ``L_i(w~) - L_i(w*)`` is at most ``<grad L_i(w~), w~ - w*>`` by (2).
    The products with gamma are linear: equal on both sides.
    """
    models, others = vectors("a1 a2 a3"), vectors("b1 b2 b3")
    (multiplier,) = vectors("gamma")
    average = (total(models) - total(others)) / 3
    each = sum_of(multiplier @ (a - b) for a, b in zip(models, others, strict=True))
    return make_identity_finding(multiplier @ average, each / 3, "product with gamma, three models")


# --- (29) to (32) ---------------------------------------------------------------------------------


def noise_joins() -> tuple[Finding, ...]:
    """Show that (29) fails pathwise, and holds with the model before the step.

    Its right side is ``<grad L, w~^r - w*> + <xi, w~^r - p>``, where ``p`` is the point in its
    second product: ``w^{k,r+1}`` as printed, where ``w~^{k,r}`` is needed.
    """
    it = SymbolicIteration(1, 0, corrected=False)
    # One dimension, no neighbours: unknowns that are not named here are 0.
    numbers = {"eta0": 1, "w0": 0, "noise0": 1, "w1": 0}  # L(w) = w from 0: w^{k,1} = -1
    values = values_of(numbers, it)
    left, right = (side.value(values) for side in _noise_joins(it, it.models[1] - it.noise(0)))
    where = "L(w) = w, w~ = 0, w* = 0, eta = 1, noise 1, no neighbours"
    return (
        Finding(left=left, relation="=", right=right, instance=where),
        noise_joins_repaired(),
    )


def noise_joins_repaired() -> Finding:
    """Prove (29) with ``w~^{k,r}`` in its second product: both sides are one polynomial."""
    it = SymbolicIteration(1, 0)
    return make_identity_finding(
        *_noise_joins(it, it.models[0]), "repaired: any gradient, models and noise"
    )


def _noise_joins(it: SymbolicIteration, rest: Vector) -> tuple[Polynomial, Polynomial]:
    first, second = it.models
    slope, added = it.gradient(0), it.added(0)
    left = slope @ (first - TARGET)
    gain = (slope + added) @ (second - TARGET) + (slope + added) @ (first - second)
    return left, gain + added @ (TARGET - rest)


def noise_as_gradient() -> tuple[Finding, ...]:
    """Show that (30) fails with its ``xi_i``, and holds with the one that (39) has.

    By the update, ``grad L - 2 gamma + 2 rho sum_j (w~^r - (w~_i + w~_j) / 2) + x`` is
    ``u (w~^r - w~^{r+1})`` for ``x = - u xi^{k,r+1}`` and no other ``x``. The proof has
    ``xi^{k,r} / u``. In (39) the norm is that of ``u xi``.
    """
    it = SymbolicIteration(1, 0, corrected=False)
    numbers = {"eta0": 2, "w0": 0, "noise0": 1, "w1": 0, "target": -1}  # L(w) = 2 w
    values = values_of(numbers, it)
    left, _, right = (side.value(values) for side in _lines_of_30(it))
    where = "L(w) = 2 w, w~ = 0, w* = -1, eta = 2, noise 1, no neighbours"
    return (
        Finding(left=left, relation="=", right=right, instance=where),
        *noise_as_gradient_repaired(),
    )


def noise_as_gradient_repaired() -> tuple[Finding, ...]:
    """Prove (30) with the ``xi_i`` of (39): all three lines are one polynomial.

    Neighbours enter by sums over ``j`` alone; written out for up to two.
    """
    return tuple(
        make_identity_finding(lines[0], line, f"repaired: line {i}, |N_i| = {neighbours}")
        # Eq. (30) has three lines; the second and the third are compared with the first.
        for neighbours, lines in enumerate(
            _lines_of_30(SymbolicIteration(1, count)) for count in range(3)
        )
        for i, line in enumerate(lines[1:], start=2)
    )


def _lines_of_30(it: SymbolicIteration) -> tuple[Polynomial, Polynomial, Polynomial]:
    first, second = it.models
    away, slope, held = second - TARGET, it.gradient(0) + it.added(0), it.held(0)
    middle = (slope - 2 * held) @ away + 2 * (held @ away)
    last = it.weight(0) * ((first - second) @ away) + 2 * (held @ away)
    return slope @ away, middle, last


def three_points() -> Finding:
    """Prove (31): ``2 <a - b, b - c> = ||a - c||^2 - ||b - c||^2 - ||a - b||^2``."""
    first, second = vectors("w0 w1")
    left = (first - second) @ (second - TARGET)
    squares = (first - TARGET).square - (second - TARGET).square - (first - second).square
    return make_identity_finding(left, squares / 2, "any three vectors")


def pull_of_neighbours() -> tuple[Finding, ...]:
    """Prove (32), for any number of inner steps and of neighbours.

    For one ``j`` and one ``r``, with ``v = w~^{k,r+1} - w*``, and by ``gamma^{k-1} = gamma^k +
    rho / 2 (w~_i^k - w~_j^k) = gamma^k + rho (w~_i^k - a)``, where ``a`` is the middle after the
    iteration and ``b`` the one before,

        <gamma^{k-1} - rho (w~^r - b), v> = <gamma^k - rho (w~^{r+1} - w~_i^k)
                                             - rho (w~^r - w~^{r+1}) - rho (a - b), v>.

    This is the first identity below. Sum over ``j``, and average over ``r``: the mean of ``v`` is
    ``w~_i^k - w*``, which takes its place beside ``gamma^k`` and ``a - b``, as these do not depend
    on ``r``. The other identities are all of (32), written out for a few sizes.
    """
    return (
        _one_pull(),
        *(
            make_identity_finding(
                *_build_pull_polynomials(SymbolicIteration(*size)), SymbolicIteration(*size).words()
            )
            for size in SIZES
        ),
    )


def _one_pull() -> Finding:
    model, later, sent, v = vectors("w w' sent v")
    it = SymbolicIteration(1, 1)
    old, b, a = it.dual(0), it.before(0), (sent + make_named_vector("later0")) / 2
    new = old - RHO / 2 * (sent - make_named_vector("later0"))
    left = (old - RHO * (model - b)) @ v
    right = (new - RHO * (later - sent) - RHO * (model - later) - RHO * (a - b)) @ v
    return make_identity_finding(left, right, "one inner step, one neighbour, any v")


def _build_pull_polynomials(it: SymbolicIteration) -> tuple[Polynomial, Polynomial]:
    away = [it.models[r + 1] - TARGET for r in it.rounds]
    left = sum_of(2 * (it.held(r) @ away[r]) for r in it.rounds) / it.steps
    scatter, moved = (
        sum_of(-2 * it.neighbours * RHO * (first @ second) for first, second in products) / it.steps
        for products in (
            [(it.models[r + 1] - it.sent, away[r]) for r in it.rounds],
            [(it.models[r] - it.models[r + 1], away[r]) for r in it.rounds],
        )
    )
    duals = 2 * sum_of(it.new_dual(j) @ (it.sent - TARGET) for j in it.others)
    shift = total(it.after(j) - it.before(j) for j in it.others)
    return left, scatter + duals + moved - 2 * RHO * (shift @ (it.sent - TARGET))


# --- (33) to (36) ---------------------------------------------------------------------------------


def scatter() -> tuple[Finding, ...]:
    """Show that the sum of (33) is 0 for ``l = 1``, and never above 0.

    Both sums are minus the sum of ``||w~^{r+1} - w~_i^k||^2``, as these differences add up to 0.
    With one inner step the one model is its own average.
    """
    one = SymbolicIteration(1, 1)
    # With one step the model is its own average, whatever the numbers are.
    alone = _build_scatter_polynomial(one).value(
        values_of({"w1": 1, "target": 3, "eta0": 1, "rho": 1}, one)
    )
    return (
        Finding(left=alone, relation="<", right=0, instance="l = 1, w~_i^{k,1} = 1, w* = 3"),
        *scatter_repaired(),
        *(_double_sum(SymbolicIteration(steps, 1)) for steps in (1, 2, 3)),
    )


def scatter_repaired() -> tuple[Finding, ...]:
    """Prove (33) with "at most 0": the sum is minus that of ``||w~^{r+1} - w~_i^k||^2``.

    ``<w~^{r+1} - w~_i^k, w* - w~^{r+1}>`` is ``<w~^{r+1} - w~_i^k, w* - w~_i^k>`` less that square,
    and the first factors add up to 0. Written out for up to three inner steps.
    """
    return tuple(_scatter_identity(SymbolicIteration(steps, 1)) for steps in (1, 2, 3))


def _build_scatter_polynomial(it: SymbolicIteration) -> Polynomial:
    return sum_of((w - it.sent) @ (TARGET - w) for w in it.models[1:])


def _scatter_identity(it: SymbolicIteration) -> Finding:
    squares = sum_of((w - it.sent).square for w in it.models[1:])
    return make_identity_finding(
        _build_scatter_polynomial(it), -squares, f"repaired: minus a sum of squares, l = {it.steps}"
    )


def _double_sum(it: SymbolicIteration) -> Finding:
    pairs = ((w, a) for w in it.models[1:] for a in it.models[1:])
    double = sum_of((w - a) @ (TARGET - w) for w, a in pairs)
    return make_identity_finding(
        _build_scatter_polynomial(it), double / it.steps, f"repaired: double sum, l = {it.steps}"
    )


def common_ground() -> tuple[Finding, ...]:
    """Prove (34): its right side less its left side is half a square.

    With ``a`` and ``b`` the middles after and before, ``2 <a - b, w* - w~> = ||b - w*||^2 -
    ||a - w*||^2 + ||a - w~||^2 - ||b - w~||^2``; (34) drops the last square. The equality below it
    is ``gamma^{k-1} - gamma^k = rho / 2 (w~_i^k - w~_j^k)``, by (15).
    """
    it = SymbolicIteration(1, 1)
    a, b = it.after(0), it.before(0)
    left = (a - b) @ (TARGET - it.sent)
    squares = (b - TARGET).square - (a - TARGET).square
    gap = ((it.sent - make_named_vector("later0")) / 2).square
    moved = (it.dual(0) - it.new_dual(0)).square
    dropped = (b - it.sent).square / 2
    return (
        make_identity_finding((squares + gap) / 2 - left, dropped, "right side less left side"),
        make_identity_finding(
            squares / 2 + gap / 2, squares / 2 + moved / (2 * RHO**2), "the equality"
        ),
    )


def young() -> Finding:
    """Prove (35): its right side less its left side is a square over ``2 eta``.

    ``||u||^2 / (2 eta) + eta / 2 ||v||^2 - <u, v> = ||u - eta v||^2 / (2 eta)``, and eta is
    positive by (23).
    """
    u, v = vectors("u v")
    (eta,) = make_unknowns("eta")
    slack = u.square / (2 * eta) + eta / 2 * v.square - u @ v
    return make_identity_finding(
        slack, (u - eta * v).square / (2 * eta), "any u and v, eta other than 0"
    )


def gain() -> tuple[Finding, ...]:
    """Show that (36) fails as printed, and holds with the terms of (30), (31) and (32).

    What is repaired, and the proof, is in `gain_repaired`.
    """
    return (
        _refute_printed_gain(),
        _next_model(),
        *gain_repaired(),
    )


def gain_repaired() -> tuple[Finding, ...]:
    """Prove (36) repaired: the right side less the left side is a sum of squares.

    Repaired are ``xi_i`` as in (30), which leaves ``<xi_i, w* - w~^{k,r}>`` as in (29), a minus
    before ``||w~^{k,r+1} - w*||^2``, as (31) has, and ``w~_i^k`` in the last term, as (32) has.
    Then the right side less the left side is a sum of squares with positive coefficients, those
    that (33), (34) and (35) drop:

        2 rho |N_i| / l sum_r ||w~^{r+1} - w~_i^k||^2 + rho sum_j ||b_j - w~_i^k||^2
        + 1/l sum_r ||grad L + xi - eta (w~^r - w~^{r+1})||^2 / (2 eta).

    In ``r`` and ``j`` this is the sum of (29) to (35), which hold for each. Written out for a few
    sizes.
    """
    return tuple(slack_of_gain(*size) for size in SIZES)


# As printed, all three changes at once: xi_i, the sign, and the last model.
def _refute_printed_gain() -> Finding:
    it = SymbolicIteration(1, 0, corrected=False)
    # eta = 1/2 and L(w) = -7 w from 0: w^{k,1} = 14, noise 4.
    numbers: Numbers = {"eta0": Fraction(1, 2), "w0": 0, "w1": 18, "noise0": 4, "rho": 1}
    left, right = _build_gain_sides(it, it.models[1] - it.noise(0), sign=1, last=NEXT)
    values = values_of(numbers, it)
    where = "L(w) = -7 w, w~ = w* = 0, eta = 1/2, noise 4, no neighbours"
    return Finding(
        left=left.value(values), relation="<=", right=right.value(values), instance=where
    )


def _next_model() -> Finding:
    it = SymbolicIteration(1, 1)
    # L = 0, all models 0, gamma_ij^{k-1} = 1 and noise -1, so that w~_i^k = 0; w~_i^{k+1} = -2.
    numbers: Numbers = {"eta0": 1, "rho": Fraction(1, 2), "gamma0": 1, "noise0": -1, "next": -2}
    left, right = _build_gain_sides(it, it.models[0], sign=-1, last=NEXT)
    values = values_of(numbers, it)
    where = "w~_i^{k+1} = -2 alone printed, all else repaired; L = 0, gamma = 1, one neighbour"
    return Finding(
        left=left.value(values), relation="<=", right=right.value(values), instance=where
    )


def slack_of_gain(steps: int, neighbours: int) -> Finding:
    """Return that the slack of (36) repaired is a sum of squares, for one size."""
    it = SymbolicIteration(steps, neighbours)
    left, right = _build_gain_sides(it, None, sign=-1, last=it.sent)
    scattered = sum_of((w - it.sent).square for w in it.models[1:])
    apart = sum_of((it.before(j) - it.sent).square for j in it.others)
    halves = sum_of(
        (it.gradient(r) + it.added(r) - it.eta(r) * (it.models[r] - it.models[r + 1])).square
        / (2 * it.eta(r))
        for r in it.rounds
    )
    dropped = 2 * it.neighbours * RHO * scattered / it.steps + RHO * apart + halves / it.steps
    return make_identity_finding(right - left, dropped, f"repaired: slack, {it.words()}")


def _build_gain_sides(
    it: SymbolicIteration, rest: Vector | None, *, sign: int, last: Vector
) -> tuple[Polynomial, Polynomial]:
    """Return both sides of (36); ``rest`` is None for the model before each step."""
    left = sum_of(it.gradient(r) @ (it.models[r] - TARGET) for r in it.rounds) / it.steps
    steps = sum_of(
        it.eta(r) / 2 * (it.models[r] - TARGET).square
        + sign * (it.eta(r) / 2 * (it.models[r + 1] - TARGET).square)
        + (it.gradient(r) + it.added(r)).square / (2 * it.eta(r))
        + it.added(r) @ (TARGET - (it.models[r] if rest is None else rest))
        for r in it.rounds
    )
    pairs = sum_of(
        RHO * ((it.before(j) - TARGET).square - (it.after(j) - TARGET).square)
        + (it.dual(j) - it.new_dual(j)).square / RHO
        + 2 * (it.new_dual(j) @ (last - TARGET))
        for j in it.others
    )
    return left, steps / it.steps + pairs


# --- (37), (38), and the sentence below (39) ------------------------------------------------------


def duals_of_pairs() -> tuple[Finding, ...]:
    """Prove (37), where duals start at 0, as section 2.2 has it.

    The first equality holds for each pair. The second exchanges ``i`` and ``j`` in the sum of
    ``<gamma_ij^k, w~_j^k - w*>``: ``gamma_ji^k = - gamma_ij^k``, as both start at 0 and change by
    ``rho / 2 (w~_i^k - w~_j^k)`` with opposite signs. Written out for three nodes.
    """
    one, other, dual, fixed = vectors("w1 w2 gamma fixed")
    pair = -(dual @ (one - TARGET)) + dual @ (other - TARGET) + (dual - fixed) @ (one - other)
    left, right = _duals_of_three()
    return (
        make_identity_finding(-(fixed @ (one - other)), pair, "the first equality, each pair"),
        make_identity_finding(left, right, "the second equality, three nodes"),
    )


def _duals_of_three() -> tuple[Polynomial, Polynomial]:
    models = vectors("w1 w2 w3")
    duals = {
        pair: make_named_vector("gamma{}{}".format(*pair)) for pair in combinations(range(3), 2)
    }
    # The dual of (j, i) is minus that of (i, j); fixed multipliers need not be.
    duals |= {(j, i): -dual for (i, j), dual in duals.items()}
    pairs = tuple(permutations(range(3), 2))
    fixed = {pair: make_named_vector("fixed{}{}".format(*pair)) for pair in pairs}
    left = sum_of(-(fixed[i, j] @ (models[i] - models[j])) for i, j in pairs)
    right = sum_of(
        -2 * (duals[i, j] @ (models[i] - TARGET))
        + (duals[i, j] - fixed[i, j]) @ (models[i] - models[j])
        for i, j in pairs
    )
    return left, right


def dual_step() -> tuple[Finding, ...]:
    """Prove (38): (15) for one pair, and (31) for multipliers.

    ``(w~_i^k - w~_j^k) / 2 = (gamma^{k-1} - gamma^k) / rho``, and ``2 <c - d, b - c> =
    ||b - d||^2 - ||c - d||^2 - ||b - c||^2``.
    """
    it = SymbolicIteration(1, 1)
    (fixed,) = vectors("fixed")
    old, new = it.dual(0), it.new_dual(0)
    left = (new - fixed) @ (it.sent - make_named_vector("later0")) / 2
    squares = (old - fixed).square - (new - fixed).square - (old - new).square
    return (
        make_identity_finding(left, (new - fixed) @ (old - new) / RHO, "the first equality"),
        make_identity_finding(left, squares / (2 * RHO), "the second equality"),
    )


def noise_without_mean() -> Finding:
    """Prove that ``E <xi_i, w* - w_i^{k,r}> = 0``.

    ``w_i^{k,r}`` is computed before its noise is drawn, which is independent of everything before
    it and has the same law as its negative. Whatever the point is, two opposite draws cancel.
    """
    draw, point = vectors("xi w")
    opposite = draw @ (TARGET - point) + -draw @ (TARGET - point)
    return make_identity_finding(opposite, ZERO, "a draw and its negative, any point")
