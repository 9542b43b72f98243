r"""Identities of zhang2018's sections 2 and 3 and of its appendices A and B, as polynomials.

Three nodes stand for N. Every equation here is a sum over nodes and pairs of neighbours of the same
summand, and compares, for any node, a node's terms with its neighbours' terms: a difference between
its sides would show at a node with two neighbours, of which one has no other. The graph is not
chosen: ``a_ij`` is an unknown, so ``V_i = sum_j a_ij`` is a polynomial, and all graphs on three
nodes are covered at once. Models are vectors of no particular dimension
(`dpaudit.polynomials`), and convex functions appear by their gradients alone, as unknown vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpaudit.algorithms.consensus.statements.checks.stacked_rows import (
    NODES,
    PROBE,
    Matrix,
    Rows,
    add_scaled_matrix,
    add_stacked_rows,
    check_same_vectors,
    compute_stacked_inner,
    make_diagonal_matrix,
    make_symmetric_matrix,
    make_unknown_rows,
    multiply_stacked_rows,
    multiply_symbol_matrices,
    subtract_stacked_rows,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import (
    Polynomial,
    Vector,
    make_polynomial,
    make_unknown,
    total,
    vectors,
)

ADJACENCY = make_symmetric_matrix("a", diagonal=False)
DEGREES: Matrix = tuple(
    tuple(sum(ADJACENCY[i], make_polynomial(0)) if i == j else make_polynomial(0) for j in NODES)
    for i in NODES
)
LAPLACIAN = add_scaled_matrix(DEGREES, ADJACENCY, -1)
SIGNLESS = add_scaled_matrix(DEGREES, ADJACENCY)
THETA = make_unknown("theta")
ETA = make_diagonal_matrix("eta")
_STEP: Matrix = tuple(tuple(THETA if i == j else make_polynomial(0) for j in NODES) for i in NODES)
EXCESS = add_scaled_matrix(ETA, _STEP, -1)


def check_same_rows(left: Rows, right: Rows, instance: str) -> tuple[Finding, ...]:
    """Return that stacked vectors are the same, node by node."""
    return tuple(
        check_same_vectors(a, b, f"{instance}, node {i + 1}")
        for i, (a, b) in enumerate(zip(left, right, strict=True))
    )


def sum_over_neighbours(node: int, terms: Sequence[Vector]) -> Vector:
    """Return the sum over the neighbours of a node, of one term for each node."""
    return total(terms[j] * ADJACENCY[node][j] for j in NODES)


def differentiate_quadratic(
    objective: Callable[[Vector], Polynomial], at: Vector, along: Vector
) -> Polynomial:
    """Return the derivative of a quadratic objective along a vector, as a polynomial.

    With ``q(x + h) - q(x - h)`` the even part drops out, so half of it is the derivative.
    """
    return (objective(at + along) - objective(at - along)) / 2


# --- sections 2 and 3, appendix A ---------------------------------------------------------------


def pair_updates() -> tuple[Finding, ...]:
    r"""Prove (27) to (31), which follow from (5), (6) and (7).

    Of (3), w_ij enters ``-(lambda^a)'w + (lambda^b)'w + (eta/2)(||f_i - w||^2 + ||w - f_j||^2)``,
    which is strictly convex in w, so (5) is where its gradient vanishes: the line above (27).
    Solving for w gives (27). Put into (6) and (7) it gives (28) and (29), whose right sides are the
    same: so ``lambda^a(t) = lambda^b(t)`` for t >= 1, and for t = 0 as both are zero. Exchanging i
    and j changes the sign of the right side of (28) if it does that of ``lambda(t)``: by induction
    from zero, ``lambda_ji = -lambda_ij``. With equal duals (27) is (30), and (28) is (31).
    """
    w, fi, fj, a, b = vectors("w f_i f_j lambda^a lambda^b")
    eta = make_unknown("eta")

    def lagrangian(at: Vector) -> Polynomial:
        squares = (fi - at).square + (at - fj).square
        return a @ (fi - at) + b @ (at - fj) + squares * eta / 2

    def solution(one: Vector, other: Vector) -> Vector:
        return (one - other) / (2 * eta) + (fi + fj) / 2

    condition = b - a + (2 * w - fi - fj) * eta
    solved, equal = solution(a, b), (fi + fj) / 2
    half = (a + b) / 2 + (fi - fj) * eta / 2
    (dual,) = vectors("lambda")
    return (
        make_identity_finding(
            differentiate_quadratic(lagrangian, w, PROBE), condition @ PROBE, "KKT condition of (5)"
        ),
        check_same_vectors(b - a + (2 * solved - fi - fj) * eta, Vector({}), "(27)"),
        check_same_vectors(a + (fi - solved) * eta, half, "(28)"),
        check_same_vectors(b + (solved - fj) * eta, half, "(29)"),
        check_same_vectors(
            -(dual + (fi - fj) * eta / 2), -dual + (fj - fi) * eta / 2, "lambda_ji = -lambda_ij"
        ),
        check_same_vectors(solution(dual, dual), equal, "(30)"),
        check_same_vectors(dual + (fi - equal) * eta, dual + (fi - fj) * eta / 2, "(31)"),
    )


def check_simplified_lagrangian() -> tuple[Finding, ...]:
    r"""Prove (32), (33), (8) and (9), for a network.

    With ``lambda^a_ij = lambda^b_ij = lambda_ij`` and ``w_ij = (f_i(t) + f_j(t)) / 2``, (3) is (32)
    term by term. A sum over ordered pairs is the same with i and j exchanged; ``lambda_ji =
    -lambda_ij`` turns ``-lambda_ij'f_j`` into ``lambda_ij'f_i``, and the second square into the
    first, which gives (33). Of (33), f_i enters in ``O_i + 2 lambda_i'f_i + eta sum_j ||f_i -
    (f_i(t) + f_j(t))/2||^2`` alone: (4) is (8). Summing (31) over the neighbours j of i gives (9).

    (8) holds from t = 0 on if ``w_ij(0) = (f_i(0) + f_j(0))/2``, which the text does not say; with
    another w(0) it holds from t = 1 on.
    """
    eta, models, old = make_unknown("eta"), make_unknown_rows("f"), make_unknown_rows("g")
    pairs = [(i, j) for i in NODES for j in NODES if i != j]
    duals = {(i, j): _make_antisymmetric_dual(i, j) for i, j in pairs}
    middle = {(i, j): (old[i] + old[j]) / 2 for i, j in pairs}

    def over(term: Callable[[int, int], Polynomial]) -> Polynomial:
        return sum((term(i, j) * ADJACENCY[i][j] for i, j in pairs), make_polynomial(0))

    first = over(lambda i, j: duals[i, j] @ (models[i] - middle[i, j]))
    second = over(lambda i, j: duals[i, j] @ (middle[i, j] - models[j]))
    left = over(lambda i, j: (models[i] - middle[i, j]).square * eta / 2)
    right = over(lambda i, j: (middle[i, j] - models[j]).square * eta / 2)
    both = over(lambda i, j: duals[i, j] @ (models[i] - models[j]))
    mine = 2 * over(lambda i, j: duals[i, j] @ models[i])
    pulled = over(lambda i, j: (models[i] - middle[i, j]).square * eta)

    def update(i: int) -> Finding:
        mine = [_make_antisymmetric_dual(i, j) for j in NODES]
        moves = [models[i] - models[j] for j in NODES]
        later = [dual + move * eta / 2 for dual, move in zip(mine, moves, strict=True)]
        right = sum_over_neighbours(i, mine) + sum_over_neighbours(i, moves) * eta / 2
        return check_same_vectors(sum_over_neighbours(i, later), right, f"(9), node {i + 1}")

    return (
        make_identity_finding(first + second + left + right, both + left + right, "(32)"),
        make_identity_finding(both, mine, "second term of (32)"),
        make_identity_finding(right, left, "last term of (32)"),
        make_identity_finding(first + second + left + right, mine + pulled, "(33)"),
        *map(update, NODES),
    )


def _make_antisymmetric_dual(i: int, j: int) -> Vector:
    """Return lambda_ij: that of (j, i) with the other sign, and zero of a node with itself."""
    low, high = sorted((i, j))
    (one,) = vectors(f"lambda{low}{high}")
    return one * ((i < j) - (i > j))


def equivalent_problem() -> Finding:
    r"""Prove that (2) is (1) on a connected network.

    ``f_i = w_ij = f_j`` makes neighbours equal, and so, along paths, all nodes. Conversely w_ij =
    f_i = f_j is feasible. Where all models are f_c the objective of (2) is
    ``sum_i (C/B_i) sum_n L + N (rho/N) R(f_c)``, that of (1).
    """
    rho, regulariser, number = (make_unknown(name) for name in ("rho", "R", "N"))
    shares = number * (rho / number * regulariser)
    return make_identity_finding(shares, rho * regulariser, "N summands (rho/N) R(f_c)")


def own_constraint_penalties() -> tuple[Finding, ...]:
    r"""Prove the updates of section 3.1, with ``eta_ij`` in (4), (5) and theta in (6), (7).

    With equal duals, as in (28) and (29), w_ij is again the mean of f_i and f_j, whatever eta_ij
    is; (6) and (7) then move both duals by ``(theta/2)(f_i - f_j)``. In (4), f_i appears in the
    constraints of the pairs (i, j) and (j, i), with eta_ij and eta_ji.
    """
    fi, fj, old, dual = vectors("f_i f_j old lambda")
    one, other = make_unknown("eta_ij"), make_unknown("eta_ji")
    mean = (fi + fj) / 2
    condition = (2 * mean - fi - fj) * one
    squares = (fi - old).square * one / 2 + (old - fi).square * other / 2
    return (
        check_same_vectors(condition, Vector({}), "w_ij is the mean"),
        check_same_vectors(dual + (fi - mean) * THETA, dual + (fi - fj) * THETA / 2, "(6)"),
        check_same_vectors(dual + (mean - fj) * THETA, dual + (fi - fj) * THETA / 2, "(7)"),
        make_identity_finding(squares, (fi - old).square * (one + other) / 2, "penalty of node i"),
    )


def stationarity() -> tuple[Finding, ...]:
    r"""Prove (12): the gradient of (10).

    The objective of (10) is convex and differentiable, so its minimisers are where its gradient is
    zero. That of ``2 lambda_i'f + eta_i sum_j ||f - (f_i(t) + f_j(t))/2||^2`` is
    ``2 lambda_i + eta_i sum_j (2 f - (f_i(t) + f_j(t)))``; the gradient of O stands beside it.
    """
    models, old, duals = make_unknown_rows("f"), make_unknown_rows("g"), make_unknown_rows("lambda")

    def part(i: int) -> Finding:
        def objective(at: Vector) -> Polynomial:
            squares = (
                (at - (old[i] + old[j]) / 2).square * ADJACENCY[i][j] for j in NODES if j != i
            )
            return 2 * (duals[i] @ at) + ETA[i][i] * sum(squares, make_polynomial(0))

        pull = sum_over_neighbours(i, [2 * models[i] - old[i] - old[j] for j in NODES]) * ETA[i][i]
        found = differentiate_quadratic(objective, models[i], PROBE)
        return make_identity_finding(found, (2 * duals[i] + pull) @ PROBE, f"(12), node {i + 1}")

    return tuple(map(part, NODES))


def check_stacked_updates() -> tuple[Finding, ...]:
    """Prove (13) and (14): row i of each is (12), and twice (11), of node i."""
    new, old, duals, slopes = (
        make_unknown_rows("f"),
        make_unknown_rows("g"),
        make_unknown_rows("lambda"),
        make_unknown_rows("o"),
    )
    doubled = tuple(2 * dual for dual in duals)
    matrix = add_stacked_rows(
        slopes,
        doubled,
        tuple(
            2 * row for row in multiply_stacked_rows(multiply_symbol_matrices(ETA, DEGREES), new)
        ),
        multiply_stacked_rows(
            tuple(tuple(-x for x in row) for row in multiply_symbol_matrices(ETA, SIGNLESS)), old
        ),
    )
    single = tuple(
        slopes[i]
        + 2 * duals[i]
        + sum_over_neighbours(i, [2 * new[i] - old[i] - old[j] for j in NODES]) * ETA[i][i]
        for i in NODES
    )
    moved = add_stacked_rows(
        doubled, tuple(row * THETA for row in multiply_stacked_rows(LAPLACIAN, new))
    )
    alone = tuple(
        2 * (duals[i] + sum_over_neighbours(i, [new[i] - new[j] for j in NODES]) * THETA / 2)
        for i in NODES
    )
    return (*check_same_rows(matrix, single, "(13)"), *check_same_rows(moved, alone, "(14)"))


def laplacian_squares() -> tuple[Finding, ...]:
    r"""Prove that ``D -+ A`` are semi-definite, and the null space of ``D - A``.

    ``x'(D -+ A) x = sum_{i<j} a_ij (x_i -+ x_j)^2`` is a sum of squares. With the minus sign it is
    zero only if ``x_i = x_j`` for all neighbours, along paths for all nodes: x is a multiple of 1.
    """
    x = [make_unknown(f"x{i}") for i in NODES]
    pairs = [(i, j) for i in NODES for j in NODES if i < j]

    def form(matrix: Matrix) -> Polynomial:
        return sum((x[i] * matrix[i][j] * x[j] for i in NODES for j in NODES), make_polynomial(0))

    differences = sum((ADJACENCY[i][j] * (x[i] - x[j]) ** 2 for i, j in pairs), make_polynomial(0))
    sums = sum((ADJACENCY[i][j] * (x[i] + x[j]) ** 2 for i, j in pairs), make_polynomial(0))
    return (
        make_identity_finding(form(LAPLACIAN), differences, "D - A"),
        make_identity_finding(form(SIGNLESS), sums, "D + A"),
    )


# --- with a square root of D - A ---------------------------------------------------------------
# R is any symmetric matrix, and D - A its square; D is any diagonal matrix, and D + A = 2 D - R^2.

_ROOT = make_symmetric_matrix("r")
_SQUARE = multiply_symbol_matrices(_ROOT, _ROOT)
_DIAGONAL = make_diagonal_matrix("v")
_SUM = add_scaled_matrix(add_scaled_matrix(_DIAGONAL, _DIAGONAL), _SQUARE, -1)


def check_rooted_updates() -> tuple[Finding, ...]:
    r"""Prove (15) and (16), and that Y(t) exists.

    ``Lambda(0) = 0``, and (14) adds ``(D - A)`` times something: ``2 Lambda(t)`` is in the range of
    ``D - A``, which is that of its root R, so ``2 Lambda = R Y`` has a solution. It is unique in
    the range of R, and (16) is what (14) says of that one: R times (16) is (14), and both sides of
    (16) are in the range of R, on which R is one-to-one. Put ``2 Lambda(t) = R Y(t+1) - theta
    (D - A) f(t+1)`` into (13): it is (15), as ``D + A = 2 D - (D - A)``.
    """
    new, old, slopes, duals = (
        make_unknown_rows("f"),
        make_unknown_rows("g"),
        make_unknown_rows("o"),
        make_unknown_rows("y"),
    )
    later = add_stacked_rows(duals, tuple(row * THETA for row in multiply_stacked_rows(_ROOT, new)))
    thirteen = add_stacked_rows(
        slopes,
        multiply_stacked_rows(_ROOT, duals),
        tuple(
            2 * row for row in multiply_stacked_rows(multiply_symbol_matrices(ETA, _DIAGONAL), new)
        ),
        tuple(-row for row in multiply_stacked_rows(multiply_symbol_matrices(ETA, _SUM), old)),
    )
    fifteen = add_stacked_rows(
        slopes,
        multiply_stacked_rows(_ROOT, later),
        multiply_stacked_rows(multiply_symbol_matrices(EXCESS, _SQUARE), new),
        multiply_stacked_rows(multiply_symbol_matrices(ETA, _SUM), subtract_stacked_rows(new, old)),
    )
    squared = add_stacked_rows(
        multiply_stacked_rows(_ROOT, duals),
        tuple(row * THETA for row in multiply_stacked_rows(_SQUARE, new)),
    )
    return (
        *check_same_rows(thirteen, fifteen, "(13) and (15)"),
        *check_same_rows(multiply_stacked_rows(_ROOT, later), squared, "R times (16) and (14)"),
    )


def differences_from_optimum() -> tuple[Finding, ...]:
    """Prove (34) and (35): (15) less (17), and (16), in which ``R f* = 0`` may be subtracted."""
    new, old, best = make_unknown_rows("f"), make_unknown_rows("g"), make_unknown_rows("b")
    slopes, flat, duals, limit = (
        make_unknown_rows("o"),
        make_unknown_rows("p"),
        make_unknown_rows("y"),
        make_unknown_rows("z"),
    )
    rest = add_stacked_rows(
        multiply_stacked_rows(multiply_symbol_matrices(EXCESS, _SQUARE), new),
        multiply_stacked_rows(multiply_symbol_matrices(ETA, _SUM), subtract_stacked_rows(new, old)),
    )
    left = subtract_stacked_rows(
        add_stacked_rows(slopes, multiply_stacked_rows(_ROOT, duals), rest),
        add_stacked_rows(flat, multiply_stacked_rows(_ROOT, limit)),
    )
    right = add_stacked_rows(
        subtract_stacked_rows(slopes, flat),
        multiply_stacked_rows(_ROOT, subtract_stacked_rows(duals, limit)),
        rest,
    )
    moved = add_stacked_rows(duals, tuple(row * THETA for row in multiply_stacked_rows(_ROOT, new)))
    shifted = add_stacked_rows(
        duals,
        tuple(
            row * THETA for row in multiply_stacked_rows(_ROOT, subtract_stacked_rows(new, best))
        ),
        tuple(row * THETA for row in multiply_stacked_rows(_ROOT, best)),
    )
    return (
        *check_same_rows(left, right, "(34)"),
        *check_same_rows(moved, shifted, "(35) plus theta R f*"),
    )


def monotone_step() -> tuple[Finding, ...]:
    r"""Prove (36), (37) and (38), for penalties of the nodes' own.

    The gradient of a convex function is monotone, which is the inequality above (36); (34) gives
    the gradients' difference, hence (36). R is symmetric and ``R (f(t+1) - f*)`` is ``(Y(t+1) -
    Y(t)) / theta`` by (35): (37). With J's blocks the first and the third term of (36) are
    ``-<Z(t+1) - Z*, J(t+1)(Z(t+1) - Z(t))>``, and ``(D - A) f* = 0`` turns the second into that of
    (38). Nothing here needs a semi-definite product: only (39) does.
    """
    gap, change, duals = (
        make_unknown_rows("f"),
        make_unknown_rows("c"),
        make_unknown_rows("y"),
    )  # f(t+1) - f*, f(t+1) - f(t), Y(t+1) - Y*
    rise = tuple(row * THETA for row in multiply_stacked_rows(_ROOT, gap))  # Y(t+1) - Y(t)
    rooted = compute_stacked_inner(gap, multiply_stacked_rows(_ROOT, duals))
    weighted = compute_stacked_inner(
        gap, multiply_stacked_rows(multiply_symbol_matrices(ETA, _SUM), change)
    )
    held = compute_stacked_inner(
        gap, multiply_stacked_rows(multiply_symbol_matrices(EXCESS, _SQUARE), gap)
    )
    product = compute_stacked_inner(duals, rise) / THETA + weighted
    return (
        make_identity_finding(
            rooted,
            compute_stacked_inner(multiply_stacked_rows(_ROOT, gap), duals),
            "(37), R is symmetric",
        ),
        make_identity_finding(rooted, compute_stacked_inner(rise, duals) / THETA, "(37), by (35)"),
        make_identity_finding(rooted + held + weighted, product + held, "(36) and (38)"),
    )


def cosine_rule(metric: Matrix) -> Finding:
    """Return that ``2 <a, M (a - b)>`` is ``||a||^2 + ||a - b||^2 - ||b||^2`` in a metric M."""
    new, old = make_unknown_rows("f"), make_unknown_rows("g")
    change = subtract_stacked_rows(new, old)
    left = 2 * compute_stacked_inner(new, multiply_stacked_rows(metric, change))
    norms = [
        compute_stacked_inner(stack, multiply_stacked_rows(metric, stack))
        for stack in (new, change, old)
    ]
    return make_identity_finding(left, norms[0] + norms[1] - norms[2], "any two states")


def check_shared_cosine_rule() -> tuple[Finding, ...]:
    """Prove that (39) may be written with squares where all nodes share one penalty."""
    eta = make_unknown("eta")
    shared = tuple(tuple(entry * eta for entry in row) for row in SIGNLESS)
    return (cosine_rule(shared), cosine_rule(make_diagonal_matrix("unit")))


def own_cosine_rule() -> Finding:
    """Show that (39) may not be written with squares: ``W (D + A)`` is not symmetric."""
    return cosine_rule(multiply_symbol_matrices(ETA, SIGNLESS))


def check_shared_forms() -> tuple[Finding, ...]:
    r"""Prove that ``(w - theta)(D - A)`` and ``(w' - w)(D + A)`` are semi-definite: one penalty.

    Their forms are ``w - theta >= 0``, or ``w' - w >= 0``, times sums of squares over the edges. So
    the last term of (38) is not negative, and (38) gives (39), which is (19).
    """
    gap, over = make_unknown_rows("f"), make_unknown("w-theta")
    pairs = [(i, j) for i in NODES for j in NODES if i < j]

    def squares(sign: int) -> Polynomial:
        terms = (ADJACENCY[i][j] * (gap[i] + gap[j] * sign).square for i, j in pairs)
        return over * sum(terms, make_polynomial(0))

    held = [
        compute_stacked_inner(gap, multiply_stacked_rows(matrix, gap)) * over
        for matrix in (LAPLACIAN, SIGNLESS)
    ]
    return (
        make_identity_finding(held[0], squares(-1), "(w - theta)(D - A)"),
        make_identity_finding(held[1], squares(1), "(w' - w)(D + A)"),
    )


def young_steps() -> tuple[Finding, ...]:
    r"""Prove (51) and the inequality above it, for any ``mu > 1``.

    ``(mu - 1)(mu ||C||^2 + mu/(mu-1) ||E||^2 - ||C + E||^2) = ||(mu - 1) C - E||^2 >= 0``. Used
    twice, on (34), once with a further factor mu: that is (51).
    """
    c, e = vectors("C E")
    over = make_unknown("mu-1")
    mu = over + 1
    gap = mu * over * c.square + mu * e.square - over * (c + e).square
    twice = mu * (mu * e.square + mu * over * c.square) - mu * over * (c + e).square
    return (
        make_identity_finding(
            gap, (over * c - e).square, "(mu - 1) times the difference of the sides"
        ),
        make_identity_finding(
            twice, mu * (over * c - e).square, "the same times mu, as (51) uses it"
        ),
    )
