r"""Section 7.1 of hu2019: the three parts of the theorem on limit points, (21) to (31)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    compute_exact_gap,
    compute_squared_steps,
    make_fraction_numbers,
    run,
)
from dpaudit.algorithms.sharing.statements.hu2019.checks.instances import (
    equal_columns,
    make_bounded_models_problem,
    make_limit_cycle,
    two_curvatures,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns, vectors


def steps_follow() -> tuple[Finding, ...]:
    r"""Prove the end of Part 1: where steps of z vanish, so do those of y, and the gap.

    Proof. ``||y^{t+1} - y^t|| <= L ||z^{t+1} - z^t||`` for t >= 1 by (14), and the gap is
    ``(y^{t+1} - y^t)/rho`` by (8). Checked on runs: the first entries of both.
    """
    return tuple(
        Finding(
            left=compute_exact_gap(problem, after)[0],
            relation="=",
            right=(after.dual[0] - before.dual[0]) / problem.penalty,
            instance=f"gap and dy/rho, t = {t}",
        )
        for problem in (two_curvatures(), make_bounded_models_problem())
        for t, (before, after) in enumerate(pairwise(run(problem, 4)), start=1)
    )


def check_exact_alternation() -> tuple[Finding, Finding]:
    """Check exactly that `make_bounded_models_problem` alternates as `make_limit_cycle` says."""
    problem = make_bounded_models_problem()
    states, (first, second) = run(problem, 40), make_limit_cycle()
    as_said = sum(state.models[0] == 2 * (-1) ** t for t, state in enumerate(states) if t >= 4)
    moved = run(problem, 1, first)[1], run(problem, 1, second)[1]
    away = sum(
        (sum(compute_squared_steps(*pair)) for pair in zip(moved, (second, first), strict=True)),
        Fraction(0),
    )
    return (
        Finding(
            left=Fraction(as_said),
            relation="=",
            right=Fraction(37),
            instance="iterations of 4 to 40 after which x_m is 2 (-1)^t, M = 3, rho = 10, c = 9",
        ),
        Finding(
            left=away,
            relation="=",
            right=Fraction(0),
            instance="distance from the next state of each limit point to the other one",
        ),
    )


def gap_of_a_limit_point() -> tuple[Finding, ...]:
    """Return the gap at a limit point of a run, which Part 2 says is 0."""
    problem, (point, _) = make_bounded_models_problem(), make_limit_cycle()
    return (
        *check_exact_alternation(),
        Finding(
            left=abs(compute_exact_gap(problem, point)[0]),
            relation="=",
            right=Fraction(0),
            instance="|sum_m D_m x_m* - z*| at the limit point x_m* = 2, z* = 15/7",
        ),
    )


def distance_of_bounded_models() -> tuple[Finding, ...]:
    """Return how far the run of `make_bounded_models_problem` stays from Z*, the stationary points.

    There ``sum_m x_m = z``, ``y = 9 (z - 1)``, and every x_m minimises ``y x`` over [-2, 2]. If y
    were positive every x_m would be -2 and z = -6, with y negative; if negative z = 6, with y
    positive. So y = 0 and z = 1: the distance is at least ``|z - 1|``.
    """
    far = min(abs(point.prediction[0] - 1) for point in make_limit_cycle())
    return (
        *check_exact_alternation(),
        Finding(left=far, relation="=", right=Fraction(0), instance="distance to Z*, in the limit"),
    )


def distance_of_a_subsequence() -> tuple[Finding, ...]:
    """Return gamma^2, the squared distance of (28), and the bound of (31) on it: ``(gamma/2)^2``.

    Of every second state of the run of `make_bounded_models_problem`, which converges to the first
    point of `make_limit_cycle`. Z* has ``z = 1``, ``y = 0`` and every x in the cube with the sum 1
    (`distance_of_bounded_models`), so that a point p with equal models x is nearest to the one with
    equal models 1/3: ``gamma^2 = 3 (x - 1/3)^2 + (z - 1)^2 + y^2``.
    """
    point, _ = make_limit_cycle()
    (z,), (y,) = point.prediction, point.dual
    far = 3 * (point.models[0] - Fraction(1, 3)) ** 2 + (z - 1) ** 2 + y**2
    return (
        *check_exact_alternation(),
        Finding(
            left=far,
            relation="<=",
            right=far / 4,
            instance="gamma^2, of every second state in the limit, and (gamma/2)^2",
        ),
    )


def products_of_a_limit_point() -> tuple[Finding, ...]:
    """Return the left side of (24) at x_m = -2, at a limit point of a run: R = 0."""
    point, _ = make_limit_cycle()
    product = (Fraction(-2) - point.models[0]) * point.dual[0]
    return (
        *check_exact_alternation(),
        Finding(
            left=Fraction(0),
            relation="<=",
            right=product,
            instance="<x_m - x_m*, D_m'y*> at x_m = -2, x_m* = 2, y* = 72/7",
        ),
    )


def rewritten_products() -> Finding:
    r"""Prove that (24) and (25) are equivalent.

    Proof. ``<x - x*, D_m'y> = <y, D_m x> - <y, D_m x*>``: they are the same inequality. Checked
    with ``u = D_m x`` and ``u* = D_m x*``.
    """
    u, rest, y = vectors("u u* y")
    return make_identity_finding((u - rest) @ y, y @ u - y @ rest, "(24), (25)")


def sequential_conditions(ridge: Fraction = Fraction(0)) -> tuple[Finding, Finding]:
    """Return the product of (22) at an x_m of X_m, and of the condition that (6) has.

    M = 2, rho = 3, c = 1, the second party at t = 1. With ``v`` the vector that x_m - x_m^{t+1} is
    multiplied by, ``x_m = x_m^{t+1} - v`` makes the product ``-||v||^2``.
    """
    wide = None if ridge >= 0 else (Fraction(-10), Fraction(10))  # keeps the objective bounded
    problem = equal_columns(2, 3, ridge=ridge, interval=wide)
    before, after = run(problem, 2)[1:]
    rho, y, z = problem.penalty, before.dual[0], before.prediction[0]
    own = ridge * after.models[1] + y
    printed = own + rho * (after.models[0] + after.models[1] - z)
    parallel = own + rho * (before.models[0] + after.models[1] - z)
    instance = f"0 and the product, M = 2, m = 2, rho = 3, t = 1, lambda R'' = {ridge}"
    return (
        Finding(left=Fraction(0), relation="<=", right=-(printed**2), instance=instance),
        Finding(
            left=Fraction(0),
            relation="<=",
            right=-(parallel**2),
            instance=f"{instance}, with x_k^t for every k other than m",
        ),
    )


def sequential_conditions_of_nonconvex() -> tuple[Finding, Finding]:
    """Return the same of (26), where ``lambda R_m = -x^2 / 4`` is smooth and not convex."""
    return sequential_conditions(Fraction(-1, 2))


def check_bounded_iterates() -> tuple[Finding, ...]:
    r"""Prove that with compact X_m the sequences have limit points, without any theorem before it.

    Proof. x is in a compact set. Let the curvature of l lie in ``[-mu, L]``, ``0 <= mu <= L``, so
    that ``gamma = rho - mu`` where mu > 0 is the best. With (13) and (8), for t >= 1,

        grad l(z') + rho z' = grad l(z) + rho S',        S' = sum_m D_m x_m^{t+1}.

    ``J = (grad l + rho)^-1`` exists. ``grad l(a) - grad l(b) = H (a - b)`` with a symmetric H whose
    eigenvalues lie in ``[-mu, L]``, so that ``grad l o J`` is Lipschitz with the largest
    ``|h/(h + rho)|`` of them as its constant, at most ``q = max(L/(rho + L), mu/(rho - mu))``. It
    is below 1: ``rho (rho - mu) > 2 L^2 >= 2 mu^2``, and ``rho (rho - mu) - 2 mu^2`` is ``(rho - 2
    mu)(rho + mu)``, so that ``rho > 2 mu``. So ``grad l(z')`` is a q-contraction of ``grad l(z)``
    plus a bounded term, and stays bounded; y is that slope, and ``z' = S' - (y' - y)/rho`` is
    bounded as well. Bounded sequences in R^n have limit points. Checked: the factorisation.
    """
    rho, mu = make_unknowns("rho mu")
    return (
        make_identity_finding(
            rho * (rho - mu) - 2 * mu**2, (rho - 2 * mu) * (rho + mu), "rho > 2 mu"
        ),
    )


def subsequence_that_stays() -> Finding:
    """Return the distance of a subsequence from Z* in the limit, said to be above 0.

    The sequence 0, 1, 0, 1, ... does not converge to ``Z* = {0}``. Its subsequence of even places
    converges, as (27) asks, and its distance from Z* tends to 0.
    """
    sequence = [Fraction(t % 2) for t in range(20)]
    return Finding(
        left=Fraction(0),
        relation="<",
        right=max(map(abs, sequence[::2])),
        instance="0 and the distance of 0, 0, 0, ... from Z* = {0}",
    )


def distance_to_a_set() -> Finding:
    r"""Prove (30): no point of a set is nearer than the set.

    Proof. ``dist(p; Z*)`` is the infimum of ``||p - q||`` over q in Z*, and the point is one q.
    Checked for ``p = 3`` and ``Z* = {0, 2}``.
    """
    point, members = Fraction(3), make_fraction_numbers(0, 2)
    return Finding(
        left=min(abs(point - q) for q in members),
        relation="<=",
        right=abs(point - members[0]),
        instance="p = 3, Z* = {0, 2}, the member 0",
    )
