r"""Section 7.3 of hu2019: the proof of Lemma 1, step by step."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.algorithms.sharing.statements.checks.lemma1 import movement_of_orthogonal_designs
from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    compute_fraction_inner,
    compute_squared_norm,
    make_fraction_numbers,
)
from dpaudit.algorithms.sharing.statements.hu2019.checks.instances import at_rest, equal_columns
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns, vectors

FOUR_ONES = make_fraction_numbers(1, 1, 1, 1)  # a column of rows of length 1: d_m = 1, N = 4


def message_at_constraint() -> tuple[Finding, Finding]:
    """Return both sides of the first display, with a constraint that is active and without one.

    M = 1, D = 1, rho = 3, R = 0, at ``y = -1/2`` and ``z = 1/2``.
    """
    problem, state = at_rest()
    y, z, rho = state.dual[0], state.prediction[0], problem.penalty
    right = -(y - rho * z) / rho
    free = state.models[0] - (y + rho * (state.models[0] - z)) / equal_columns(1, 3).moduli[0]
    instance = "D_m x_m and the right side, M = 1, rho = 3"
    return (
        Finding(
            left=state.models[0],
            relation="=",
            right=right,
            instance=f"{instance}, X = [-1/2, 1/2]",
        ),
        Finding(left=free, relation="=", right=right, instance=f"{instance}, no constraint"),
    )


def message_in_two_parts() -> tuple[Finding, ...]:
    r"""Prove the second display and (43), and the triangle inequality after it.

    Proof. With ``A = D (rho D'D)^-1``, B the same of the neighbour, and a, b the two brackets of
    the first display, ``-A a + B b = A (b - a) + (B - A) b``; and ``b - a`` is ``lambda`` times the
    difference of R' plus ``(D' - D)'y + rho (D' - D)'(sum - z)``, as both brackets have the same y
    and z. The norm of a sum is at most the sum of norms, and a maximum of a sum at most the sum of
    the maxima. Checked: both equations, A a, A b and B b as vectors.
    """
    aa, ab, bb = vectors("Aa Ab Bb")
    first = make_identity_finding(
        (bb - aa - ((ab - aa) + (bb - ab))).square, 0 * make_unknowns("o")[0], "(43)"
    )
    weight, rho = make_unknowns("lambda rho")
    here, there, own, others, w, v = vectors("R' R'' D'y D''y D'w D''w")
    a, b = weight * here + own + rho * w, weight * there + others + rho * v
    right = weight * (there - here) + (others - own) + rho * (v - w)
    return first, make_identity_finding((b - a - right).square, 0 * rho, "b - a")


def inverse_of_a_design() -> Finding:
    """Return ``||(D'D)^-1||`` and ``1/d_m`` for the two rows (1, 0) and (0, 1) of length 1."""
    return Finding(
        left=Fraction(1), relation="=", right=Fraction(1, 2), instance="D_m = I, N = d_m = 2"
    )


def second_part() -> tuple[Finding, ...]:
    """Return rho^2 times the squares of both sides of the bound on Phi_2: N = d_m = 2.

    ``D = [[1, 0], [12/13, 5/13]]``, the neighbour has -5/13; ``y = (0, 1)``, and R' and what the
    others send are 0. For square D the matrix ``D (D'D)^-1`` is the inverse of D'.
    """
    slope, entry = make_fraction_numbers("12/13", "5/13")
    bracket = (slope, -entry)  # D''y of the neighbour
    moved = (bracket[0] - slope / entry * bracket[1], bracket[1] / entry)  # inverse of D'
    part = (-moved[0], 1 - moved[1])  # the neighbour's own inverse gives y back
    instance = "rho^2 ||Phi_2||^2 and (2/d_m)^2 ||bracket||^2, D = [[1, 0], [12/13, 5/13]]"
    return (
        Finding(
            left=compute_squared_norm((slope, entry)),
            relation="=",
            right=Fraction(1),
            instance="length of a row",
        ),
        Finding(
            left=(2 * entry) ** 2,
            relation="<=",
            right=Fraction(1),
            instance="||D_m - D_m'||^2",
        ),
        Finding(
            left=compute_squared_norm(part),
            relation="<=",
            right=compute_squared_norm(bracket),
            instance=instance,
        ),
    )


def check_projected_dual() -> tuple[Finding, ...]:
    """Return ``||D_m''v||`` and ``||v||`` where all else in the proof is right.

    Assumption 1.2 (b) holds, as ``D_m'D_m = d_m I`` on both designs and rho is 2.
    """
    return movement_of_orthogonal_designs()


def first_part() -> tuple[Finding, ...]:
    """Return rho^2 times the squares of both sides of the bound on Phi_1: N = 9, d_m = 2.

    Four rows (1, 0), four (0, 1), and ``r = (12/13, 5/13)``, of which the neighbour has -5/13 in
    the second column: ``D'D = 4 I + r r'`` has the eigenvalues 4 and 5, and the inverse
    ``(I - r r'/5) / 4``. y is 1 in the last row, R' and what the others send are 0.
    """
    row = make_fraction_numbers("12/13", "5/13")
    change = (Fraction(0), -2 * row[1])  # (D' - D)'y
    along = compute_fraction_inner(row, change)
    inverse = tuple((v - r * along / 5) / 4 for v, r in zip(change, row, strict=True))
    return (
        Finding(
            left=compute_squared_norm(change),
            relation="<=",
            right=Fraction(1),
            instance="||D_m - D_m'||^2",
        ),
        Finding(
            left=compute_fraction_inner(change, inverse),
            relation="<=",
            right=Fraction(1, 4) ** 2,
            instance="rho^2 ||Phi_1||^2 and (||(D'D)^-1|| ||y||)^2, D'D = 4 I + r r'",
        ),
    )


def message_of_others() -> Finding:
    """Return ``||D_k x_k||`` and ``||x_k||`` for a column of four ones and the model 1."""
    model = Fraction(1)
    sent = tuple(entry * model for entry in FOUR_ONES)
    return Finding(
        left=compute_squared_norm(sent),
        relation="<=",
        right=model**2,
        instance="||D_k x_k||^2 and ||x_k||^2, N = 4, d_k = 1",
    )


def sum_of_bounds() -> Finding:
    r"""Prove that ``||y|| + rho ||z|| + rho sum_{k != m} ||x_k||`` is at most ``(1 + M rho) b_1``.

    Proof. Each of the norms is at most b_1 by Assumption 2.1, as far as that holds, and there are
    ``M - 1`` other parties: ``b_1 + rho b_1 + rho (M - 1) b_1 = (1 + M rho) b_1``.
    """
    rho, bound, parties = make_unknowns("rho b_1 M")
    left = bound + rho * bound + rho * (parties - 1) * bound
    return make_identity_finding(
        left, (1 + parties * rho) * bound, "the sum with b_1 for every norm"
    )
