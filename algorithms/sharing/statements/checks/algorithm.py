r"""Statements about the sharing algorithm itself: its problem, its updates and its messages.

Numbers of eq. are hu2020's; hu2019 has the same text. ``S`` is ``sum_m D_m x_m``.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.algorithms.sharing.statements.checks.matrices import (
    Matrix,
    Row,
    add_matrices,
    compute_frobenius_square,
    identity_matrix,
    invert_matrix,
    make_fraction_column,
    make_fraction_matrix,
    multiply_matrices,
    scale_matrix,
    transpose_matrix,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial, Vector, make_unknowns, total, vectors

PENALTY = Fraction(2)  # rho of the run whose messages are read


def margins_by_party() -> tuple[Finding, ...]:
    """Prove that models on margins have the form (1): ``D^i x`` is the sum of the parties' parts.

    Support vector machines (hinge loss, ``||x||^2``), lasso (squared loss, ``||x||_1``), logistic
    regression, and boosting (exponential loss of fixed weak learners, each of one party's features)
    depend on records through ``D^i x`` alone, and their regularisers are sums over entries of x.
    The inner product of a record and x is the sum of those of their parts, whatever the split.
    """
    features = [f"a{k} x{k}" for k in range(4)]
    terms = [one * other for one, other in map(make_unknowns, features)]
    whole = sum(terms[1:], terms[0])
    parts = sum(terms[1:2], terms[0]) + sum(terms[3:], terms[2])
    return (make_identity_finding(whole, parts, "four features of two parties"),)


def check_copied_variable() -> tuple[Finding, ...]:
    """Prove that (3) and (4) have the minimum and minimisers of (1) and (2).

    A feasible point of (4) has ``z = sum_m D_m x_m``, so its value in (3) is that of x in (1); each
    x with that z is feasible. The terms that (5) adds, of ``S - z``, are 0 there. Checked with
    ``l(z) = ||z - b||^2 / 2``: (5) at ``z = S`` is the objective of (1).
    """
    s, y, label = vectors("S y b")
    rho, ridges = make_unknowns("rho R")

    def lagrangian(z: Vector) -> Polynomial:
        return (z - label).square / 2 + ridges + y @ (s - z) + rho / 2 * (s - z).square

    return (make_identity_finding(lagrangian(s), (s - label).square / 2 + ridges, "z = S"),)


def subtraction() -> tuple[Finding, ...]:
    """Prove line 4 of Algorithm 1, and count the operations that it saves.

    What is pulled less the party's own part is the sum over the others less z. It is one vector of
    N numbers, where the parts of the M - 1 other parties and z were M: less from M = 2 on.
    """
    own, other, another, z = vectors("own other another z")
    pulled = total((own, other, another)) - z
    rest = pulled - own - (other + another - z)
    return (
        make_identity_finding(rest.square, rest.square * 0, "three parties"),
        Finding(left=1, relation="<", right=2, instance="vectors of N numbers, M = 2"),
    )


def fewest_messages() -> tuple[Finding, ...]:
    """Return the pushes and pulls of a party in an iteration, against the fewest that suffice.

    It pushes N numbers, and pulls ``r = sum_k D_k x~_k - z`` and y, N each. But by (9) ``y^{t+1} =
    y^t + rho r^{t+1}``, so that y follows from what was pulled before, and need not be pulled: 2 N
    are enough. (With ``N = 3``.)
    """
    return (
        Finding(
            left=3 * 3,
            relation="<=",
            right=2 * 3,
            instance="numbers pushed and pulled by a party in an iteration, N = 3, against what "
            "suffices",
        ),
    )


def dual_from_residuals() -> tuple[Finding, ...]:
    """Prove that y need not be pulled: it is ``y^0`` plus rho times the residuals pulled."""
    start, first, second = vectors("y0 r1 r2")
    (rho,) = make_unknowns("rho")
    by_update = (start + rho * first) + rho * second
    rest = by_update - (start + rho * (first + second))
    return (make_identity_finding(rest.square, rest.square * 0, "two iterations"),)


def quadratic_program() -> tuple[Finding, ...]:
    """Prove that (6) is a quadratic program for ``R_m = ||x||^2 / 2``, strictly convex.

    Its objective is ``x'(lambda I + rho D'D)x/2 + (y + rho s)'D x`` and a constant, ``s`` being
    what the others and z leave. The first matrix is at least lambda I. (X_m has to be a polyhedron,
    as R^d is, for the word to be right.)
    """
    x, y, s, dx = vectors("x y s Dx")
    weight, rho = make_unknowns("lambda rho")
    objective = weight / 2 * x.square + y @ dx + rho / 2 * (s + dx).square
    quadratic = weight / 2 * x.square + rho / 2 * dx.square
    linear = (y + rho * s) @ dx
    return (make_identity_finding(objective, quadratic + linear + rho / 2 * s.square, "any x"),)


def one_scalar_per_sample() -> tuple[Finding, ...]:
    """Prove that (8) is one problem of a scalar for each sample, in which no feature occurs.

    For a loss ``l(z) = sum_i l_i(z_i)`` all three terms of (8) are sums over samples: a sum whose
    terms share no variable is least where each term is. The parties' features enter through
    ``S_i``, one number a sample, however many there are.
    """
    z, y, s = ([f"{name}{i}" for i in range(3)] for name in "zyS")
    (rho,) = make_unknowns("rho")
    zs, ys, sums = (make_unknowns(" ".join(names)) for names in (z, y, s))
    whole = (
        rho / 2 * sum((b * b - 2 * a * b + a * a for a, b in zip(zs, sums, strict=True)), rho * 0)
    )
    whole -= sum((a * b for a, b in zip(ys, zs, strict=True)), rho * 0)
    by_sample = sum(
        (rho / 2 * (b - a) ** 2 - c * a for a, b, c in zip(zs, sums, ys, strict=True)), rho * 0
    )
    return (make_identity_finding(whole, by_sample, "three samples, but for the loss"),)


def check_disclosed_features() -> tuple[Finding, ...]:
    """Return how far the centre is from a party's records, but for a rotation, after three updates.

    With ``R = ||x||^2 / 2`` a party's update gives ``lambda x + D'w = 0``, where ``w = y + rho
    (sum_{k != m} D_k x_k + D x - z)`` with its own new x: the centre knows w. The message is ``D x
    = -D D'w / lambda``. So N messages without noise whose w are independent give ``D D'``, all
    inner products of the party's records. Here ``D = ((1, 0), (3/5, 4/5))``, another party has the
    column (1, 1), ``lambda = 1``, ``rho = 2``, the loss is ``||z - (1, 0)||^2 / 2``, and all starts
    at 0. Hidden records would leave a distance above 0.
    """
    design = make_fraction_matrix([[1, 0], ["3/5", "4/5"]])
    found = gram_from_messages(
        *messages_of_a_run((design, make_fraction_column(1, 1)), make_fraction_column(1, 0), 3)
    )
    distance = compute_frobenius_square(
        add_matrices(found, scale_matrix(-1, multiply_matrices(design, transpose_matrix(design))))
    )
    return (
        Finding(
            left=0,
            relation="<",
            right=distance,
            instance="squared distance of the inner products that the centre computes from those "
            "of the party's records, N = d_m = M = 2",
        ),
    )


def messages_of_a_run(
    designs: tuple[Matrix, ...], target: Matrix, iterations: int
) -> tuple[Matrix, Matrix]:
    """Return the inputs of the first party's messages, and the messages, one column an iteration.

    All starts at 0, ``lambda = 1``, and the loss is ``||z - target||^2 / 2``. A message answers
    ``v = y + rho (sum_{k != m} D_k x_k - z)``.
    """
    dual = prediction = scale_matrix(0, target)
    sent = [prediction for _ in designs]
    answered, messages = list[Row](), list[Row]()
    for _ in range(iterations):
        states = [
            add_matrices(
                dual,
                scale_matrix(
                    PENALTY,
                    add_matrices(*sent, scale_matrix(-1, own), scale_matrix(-1, prediction)),
                ),
            )
            for own in sent
        ]
        sent = [
            _compute_exact_message(design, state)
            for design, state in zip(designs, states, strict=True)
        ]
        answered.append(transpose_matrix(states[0])[0])
        messages.append(transpose_matrix(sent[0])[0])
        pulled = add_matrices(target, dual, *(scale_matrix(PENALTY, each) for each in sent))
        prediction = scale_matrix(1 / (1 + PENALTY), pulled)
        dual = add_matrices(
            dual, scale_matrix(PENALTY, add_matrices(*sent, scale_matrix(-1, prediction)))
        )
    return transpose_matrix(tuple(answered)), transpose_matrix(tuple(messages))


def _compute_exact_message(design: Matrix, state: Matrix) -> Matrix:
    """Return ``D x`` for the minimiser x of (6)."""
    gram = scale_matrix(PENALTY, multiply_matrices(transpose_matrix(design), design))
    curved = invert_matrix(add_matrices(identity_matrix(len(gram)), gram))
    return scale_matrix(-1, multiply_matrices(design, curved, transpose_matrix(design), state))


def gram_from_messages(states: Matrix, messages: Matrix) -> Matrix:
    """Return ``D D'`` as the centre computes it from the last N columns of its knowledge."""
    size = len(states)
    # N messages to independent states determine the N by N matrix; here the last N serve.
    states, messages = (tuple(row[-size:] for row in each) for each in (states, messages))
    known = add_matrices(states, scale_matrix(PENALTY, messages))  # w
    return scale_matrix(-1, multiply_matrices(messages, invert_matrix(known)))


def limit_of_admm() -> tuple[Finding, ...]:
    """Return the loss of ADMM at a fixed point against that of the central minimiser.

    At a fixed point of (6), (8) and (9) ``S = z``, ``y = l'(z)`` and ``lambda x_m + D_m'y = 0``:
    these are the equations of the minimiser of (1), which is unique as ``||x||^2`` is strictly
    convex. So ADMM that has converged is the centrally trained model, on any data, and not better.
    On one sample, two parties with ``D_m = 1``, squared loss ``(z - 1)^2 / 2`` and ``lambda = 1``:
    ``x_1 = x_2 = 1/3``, and ``y = l'(2/3) = -1/3``.
    """
    fixed = solve_fixed_point(Fraction(1))
    central = Fraction(1, 3)
    return (
        Finding(
            left=(2 * fixed - 1) ** 2 / 2,
            relation="<",
            right=(2 * central - 1) ** 2 / 2,
            instance="loss at ADMM's fixed point against that of the central minimiser",
        ),
    )


def solve_fixed_point(penalty: Fraction) -> Fraction:
    """Return x of a fixed point of (6), (8) and (9) on that instance, for any rho.

    Unknowns x (both parties), z and y: ``x + y + rho (2 x - z) = 0``, ``z - 1 - y - rho (2 x - z) =
    0`` and ``2 x - z = 0``.
    """
    system = make_fraction_matrix(
        [
            [1 + 2 * penalty, -penalty, 1],
            [-2 * penalty, 1 + penalty, -1],
            [2, -1, 0],
        ]
    )
    return multiply_matrices(invert_matrix(system), make_fraction_column(0, 1, 0))[0][0]
