r"""The proof of Lemma 1 (hu2020, section 7.1; hu2019, section 7.3), step by step.

| paper       | name        | meaning                                  | shape    |
|-------------|-------------|------------------------------------------|----------|
| D, D'       | ``here``, ``there`` | neighbours, with unit rows       | (N, 2)   |
| v           | ``pull``    | ``y + rho (sum_{k != m} D_k x~_k - z)``  | (N, 1)   |
| x, x'       | ``model``   | ``-(lambda I + rho D'D)^-1 D'v``         | (2, 1)   |

The regulariser is ``||x||^2 / 2``, so that ``R'(x) = x`` and ``c_1 = 1``; there is one party where
nothing else is said, so that ``v = y - rho z``, and ``y = v/2``, ``z = -v/(2 rho)``. All norms are
at most b_1 = 1, which `Update.hypotheses` lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpaudit.algorithms.sharing.statements.checks.matrices import (
    Matrix,
    add_matrices,
    compute_frobenius_square,
    compute_inner_product,
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
from dpaudit.polynomials import make_unknowns, vectors

_SHORT = (Fraction(12, 13), Fraction(5, 13))  # a unit row with a small second entry


@dataclass(frozen=True, kw_only=True)
class Update:
    """Two neighbouring designs and the state in which both parties' models are computed."""

    here: Matrix
    there: Matrix
    pull: Matrix
    penalty: Fraction = Fraction(1)
    weight: Fraction = Fraction(1)

    def model(self, design: Matrix) -> Matrix:
        """Return the minimiser of eq. (6) on a design."""
        gram = scale_matrix(self.penalty, multiply_matrices(transpose_matrix(design), design))
        curved = add_matrices(scale_matrix(self.weight, identity_matrix(len(gram))), gram)
        return scale_matrix(
            -1, multiply_matrices(invert_matrix(curved), transpose_matrix(design), self.pull)
        )

    def bracket(self, design: Matrix) -> Matrix:
        """Return ``lambda R'(x) + D'v``, the bracket of the proof, on a design."""
        return add_matrices(
            scale_matrix(self.weight, self.model(design)),
            multiply_matrices(transpose_matrix(design), self.pull),
        )

    def spread(self, design: Matrix) -> Matrix:
        """Return ``D (rho D'D)^-1``."""
        gram = scale_matrix(self.penalty, multiply_matrices(transpose_matrix(design), design))
        return multiply_matrices(design, invert_matrix(gram))

    @property
    def phi1(self) -> Matrix:
        """Phi_1 of the proof."""
        change = add_matrices(self.bracket(self.there), scale_matrix(-1, self.bracket(self.here)))
        return multiply_matrices(self.spread(self.here), change)

    @property
    def phi2(self) -> Matrix:
        """Phi_2 of the proof."""
        change = add_matrices(self.spread(self.there), scale_matrix(-1, self.spread(self.here)))
        return multiply_matrices(change, self.bracket(self.there))

    @property
    def movement(self) -> Matrix:
        """``D x - D' x'``."""
        here, there = (multiply_matrices(d, self.model(d)) for d in (self.here, self.there))
        return add_matrices(here, scale_matrix(-1, there))

    @property
    def hypotheses(self) -> tuple[Finding, ...]:
        """Assumption 1 and the neighbours of Definition 1, with b_1 = 1."""
        # With y = v/2 and z = -v / (2 rho), y - rho z is v.
        state = (
            compute_frobenius_square(self.pull) / 4,
            compute_frobenius_square(self.pull) / (2 * self.penalty) ** 2,
        )
        models = (
            compute_frobenius_square(self.model(design)) for design in (self.here, self.there)
        )
        return (
            *neighbouring_designs(self.here, self.there),
            Finding(left=max(state), relation="<=", right=1, instance="||y||^2 and ||z||^2"),
            Finding(left=max(models), relation="<=", right=1, instance="||x||^2 and ||x'||^2"),
        )


def few_records() -> Update:
    """Return two records, of which the second has the sign of its short entry changed."""
    return Update(
        here=make_fraction_matrix([[1, 0], _SHORT]),
        there=make_fraction_matrix([[1, 0], [_SHORT[0], -_SHORT[1]]]),
        pull=make_fraction_column("-4356/3125", "4394/3125"),
    )


def many_records() -> Update:
    """Return that record with four copies of each unit vector: D'D has eigenvalues 4 and 5."""
    copies = [[1, 0]] * 4 + [[0, 1]] * 4
    return Update(
        here=make_fraction_matrix([_SHORT, *copies]),
        there=make_fraction_matrix([[_SHORT[0], -_SHORT[1]], *copies]),
        pull=make_fraction_column(1, *[0] * 8),
        weight=Fraction(1, 100),
    )


def stationary_point() -> tuple[Finding, ...]:
    """Return the condition from which the proof starts, on a bounded set: it fails at the border.

    ``D = 1``, ``lambda = 1/4``, ``rho = 1/2``, ``y = 1``, ``z = -1`` and ``X = [-1, 1]``, which
    Assumption 1.1 asks for with ``b_1 = 1``. So ``v = y - rho z = 3/2``, the minimum on all of R is
    at ``-v / (lambda + rho) = -2``, and on X at -1. The printed right side is ``-(lambda x + v) /
    rho``.
    """
    weight, penalty, pull = Fraction(1, 4), Fraction(1, 2), Fraction(3, 2)
    model = max(-pull / (weight + penalty), Fraction(-1))
    printed = -(weight * model + pull) / penalty
    return (
        Finding(
            left=model,
            relation="=",
            right=printed,
            instance="D x at the border of X = [-1, 1], and the printed right side",
        ),
    )


def interior_stationary_point() -> tuple[Finding, ...]:
    """Prove the condition where X is all of R^d and the columns of D are independent.

    A minimum of a differentiable function on all of R^d has gradient 0: ``lambda R'(x) + D'v + rho
    D'D x = 0``. As D'D can be inverted, ``x = -(rho D'D)^-1 [lambda R'(x) + D'v]``; multiply by D.
    """
    update = few_records()
    return tuple(
        Finding(
            left=compute_frobenius_square(
                add_matrices(
                    multiply_matrices(design, update.model(design)),
                    multiply_matrices(update.spread(design), update.bracket(design)),
                )
            ),
            relation="=",
            right=0,
            instance="squared norm of D x + D (rho D'D)^-1 [lambda R'(x) + D'v]",
        )
        for design in (update.here, update.there)
    )


def decomposition() -> tuple[Finding, ...]:
    """Prove (11) from the conditions before it.

    Write A and A' for ``D (rho D'D)^-1`` on the two designs, b and b' for the brackets. The left
    side is ``-A b + A' b'``; ``Phi_1 = A (b' - b)`` and ``Phi_2 = (A' - A) b'``. All are linear in
    the entries of A and A', so it is enough to look at one entry of each and one of b and b'.
    """
    a, b, other_a, other_b = make_unknowns("A b A' b'")
    left = -a * b + other_a * other_b
    right = a * (other_b - b) + (other_a - a) * other_b
    update = few_records()
    parts = add_matrices(update.phi1, update.phi2, scale_matrix(-1, update.movement))
    return (
        make_identity_finding(left, right, "any entries"),
        Finding(
            left=compute_frobenius_square(parts),
            relation="=",
            right=0,
            instance="squared norm of Phi_1 + Phi_2 - (D x - D' x') on two records",
        ),
    )


def triangle() -> tuple[Finding, ...]:
    """Prove that the largest movement is at most the largest ``||Phi_1||`` plus ``||Phi_2||``.

    For each pair (11) and the triangle inequality give ``||movement|| <= ||Phi_1|| + ||Phi_2||``,
    and each is at most its own largest value. The triangle inequality is Cauchy and Schwarz's:
    ``||u||^2 ||v||^2 - <u, v>^2 >= 0``, which is ``||u||^2`` times the square of the part of v
    that is orthogonal to u.
    """
    u, v = vectors("u v")
    orthogonal = v * u.square - u * (u @ v)
    return (
        make_identity_finding(
            orthogonal.square,
            u.square * (u.square * v.square - (u @ v) ** 2),
            "any u and v",
        ),
    )


def phi2_bound() -> tuple[Finding, ...]:
    """Return the bound on Phi_2, squared, on two records."""
    update = few_records()
    share = Fraction(2, 2) / update.penalty  # 2 / (d_m rho)
    return (
        Finding(
            left=compute_frobenius_square(update.phi2),
            relation="<=",
            right=share**2 * compute_frobenius_square(update.bracket(update.there)),
            instance="||Phi_2||^2, two records, d_m = 2",
        ),
    )


def bracket_bound() -> tuple[Finding, ...]:
    """Return the bound on the bracket that is to follow from the mean value theorem, squared.

    ``y = (3/5, 4/5)`` and ``z = 0``, so that ``v = y`` and ``||y|| = 1``; ``lambda = 1/100``.
    And what comes of it: Lemma 1 is false by this step alone.
    """
    records = few_records()
    update = Update(
        here=records.here,
        there=records.there,
        pull=make_fraction_column("3/5", "4/5"),
        weight=Fraction(1, 100),
    )
    return (
        Finding(
            left=compute_frobenius_square(update.bracket(update.there)),
            relation="<=",
            right=(update.weight + 1) ** 2,
            instance="||lambda R'(x') + D''y||^2, two records, lambda = 1/100",
        ),
        *movement_of_orthogonal_designs(),
    )


def phi1_bound() -> tuple[Finding, ...]:
    """Return the bound on Phi_1, squared, on nine records.

    It takes ``||D (D'D)^-1||``, which is 1 over the least singular value, for at most
    ``||(D'D)^-1||``, which is 1 over its square. It fails where that value is above 1: here the
    eigenvalues of D'D are 4 and 5, ``||(D'D)^-1|| = 1/4``, and ``||y|| + rho ||z|| = ||v|| = 1``.
    """
    update = many_records()
    claimed = (update.weight + 1) / 4 / update.penalty
    return (
        Finding(
            left=compute_frobenius_square(update.phi1),
            relation="<=",
            right=claimed**2,
            instance="||Phi_1||^2, nine records, least eigenvalue 4",
        ),
    )


def check_repaired_phi1_bound() -> tuple[Finding, ...]:
    """Prove ``||Phi_1|| <= ||D (D'D)^-1|| / rho [lambda ||R''|| ||x - x'|| + ||v||]``.

    Phi_1 is that matrix times ``lambda (R'(x') - R'(x)) + (D' - D)'v``, and norms are
    submultiplicative and add up; the mean value theorem gives the first term, ``||D' - D|| <= 1``
    the second. The spectral norm of ``D (D'D)^-1`` has the square ``||(D'D)^-1||``. On the nine
    records: ``||Phi_1||^2 <= (1/4) (2 lambda + 1)^2``.
    """
    update = many_records()
    # The paper bounds the norm of the bracket's change by this, for models of norm at most b_1 = 1.
    bracket = 2 * update.weight + 1  # ||x - x'|| <= 2 b_1
    return (
        *triangle(),
        Finding(
            left=compute_frobenius_square(update.phi1),
            relation="<=",
            right=bracket**2 / 4 / update.penalty**2,
            instance="||Phi_1||^2, nine records",
        ),
    )


def norm_of_the_inverse() -> tuple[Finding, ...]:
    """Return ``||(D'D)^-1||`` of two columns, from below by half the trace, and ``1/d_m``."""
    design = few_records().here
    gram = invert_matrix(multiply_matrices(transpose_matrix(design), design))
    return (
        Finding(
            left=(gram[0][0] + gram[1][1]) / 2,
            relation="<=",
            right=Fraction(1, 2),
            instance="half the trace of (D'D)^-1 of two records, against 1/d_m",
        ),
    )


def others_bound() -> tuple[Finding, ...]:
    """Return ``||D_k x~_k||^2 <= ||x~_k||^2`` for another party with one column of ones."""
    design, model = make_fraction_column(1, 1), make_fraction_column(1)
    return (
        Finding(
            left=compute_frobenius_square(multiply_matrices(design, model)),
            relation="<=",
            right=compute_frobenius_square(model),
            instance="||D_k x~_k||^2, two records, D_k = (1, 1)', x~_k = 1",
        ),
    )


def movement_of_orthogonal_designs() -> tuple[Finding, ...]:
    """Return the movement against C where ``D'D = d_m I`` on both designs, as the proof takes it.

    All steps of the proof are right there, also ``||(D'D)^-1|| = 1/d_m``, but for the one by the
    mean value theorem, which takes ``||D''v||`` for at most ``||v||``.

    D has 8 copies of the block of `orthogonal_records`, N = 256 and d_m = 16; of D' one copy is the
    changed block. Let ``M = 1``, ``R = 0``, ``rho = 2``, ``y = -D_1/4`` and ``z = D_1/4``, which
    have the norm ``b_1 = 1``: ``v = -(1 + rho) D_1/4``. The minimum is ``x = (s, 0, ..., 0)`` under
    D, with the message ``s D_1``, ``s = (1 + 1/rho)/4``; under D' the message is the projection of
    ``s D_1`` on the columns of D', and x' its coordinates. Only column 1 changes, so that ``Phi_1 =
    D_1 (D''v - D'v)_1 / (d_m rho)`` and ``Phi_2 = (D_1' - D_1)(D''v)_1 / (d_m rho)``. As all
    eigenvalues are equal, ``gamma_m >= 2 sigma_max``.
    """
    block, changed = orthogonal_records()
    copies, size, rho = 8, len(block[0]), Fraction(2)
    gram, cross = (multiply_matrices(transpose_matrix(each), block) for each in (block, changed))
    pulled = scale_matrix(-(1 + rho) / 4, add_matrices(scale_matrix(copies - 1, gram), cross))
    bracket = transpose_matrix(pulled)[:1]  # D''v
    state = 1 + rho  # ||y|| + rho ||z|| = ||v||
    reach = state / rho / 4  # s
    coordinates = scale_matrix(-1 / (size * rho), bracket)  # x'
    moved = bracket[0][0] + state / 4 * size  # (D''v - D'v)_1
    share = 1 / (size * rho)
    return (
        *neighbouring_designs(block, changed),
        *(_equal_eigenvalues(each, Fraction(size, copies)) for each in (block, changed)),
        Finding(
            left=max(reach**2, compute_frobenius_square(coordinates)),
            relation="<=",
            right=1,
            instance="||x||^2 and ||x'||^2",
        ),
        Finding(
            left=share**2 * bracket[0][0] ** 2,
            relation="<=",
            right=(2 * share) ** 2 * compute_frobenius_square(bracket),
            instance="||Phi_2||^2 and its bound, D'D = 16 I",
        ),
        Finding(
            left=share**2 * size * moved**2,
            relation="<=",
            right=(share * state) ** 2,
            instance="||Phi_1||^2 and its bound, D'D = 16 I",
        ),
        Finding(
            left=compute_frobenius_square(bracket),
            relation="<=",
            right=state**2,
            instance="||D''v||^2 and ||v||^2, D'D = 16 I",
        ),
        Finding(
            left=size * (reach**2 - compute_frobenius_square(coordinates)),
            relation="<=",
            right=(3 * share * state) ** 2,
            instance="||D x - D' x'||^2 and C^2, N = 256, D'D = 16 I, M = 1, rho = 2",
        ),
    )


def movement_by_the_slope() -> tuple[Finding, ...]:
    """Return ``||lambda R'(x')||`` against ``lambda c_1``, and the movement that comes of it.

    The designs are those of `movement_of_orthogonal_designs`, D'D = d_m I on both, with ``M = 1``,
    ``rho = 2`` and ``y = z = 0``, so that ``v = 0``, ``Phi_1 = 0``, and every other step of the
    proof is right. ``lambda R`` is linear, with the slope ``k = -rho d_m`` in the first entry: it
    is convex, it has the second derivative 0, so that ``c_1 = 0``, and a lower bound where X_m is
    bounded. The minimum is ``x = x' = (1, 0, ..., 0)`` on both, of norm ``b_1 = 1``. The messages
    are D_1 and D_1'.
    """
    block, changed = orthogonal_records()
    size, copies, rho = len(block[0]), 8, Fraction(2)
    slope = -rho * size
    gradient = slope + rho * size  # k + rho D'D x, its first entry; the others are 0
    apart = add_matrices(block, scale_matrix(-1, changed))
    return (
        *neighbouring_designs(block, changed),
        *(_equal_eigenvalues(each, Fraction(size, copies)) for each in (block, changed)),
        Finding(left=gradient, relation="=", right=0, instance="the gradient of (6) at x"),
        Finding(
            left=slope**2, relation="<=", right=0, instance="||lambda R'(x')||^2 and (lambda c_1)^2"
        ),
        Finding(
            left=compute_frobenius_square(apart),
            relation="<=",
            right=(3 * (1 + rho) / (size * rho)) ** 2,
            instance="||D x - D' x'||^2 and C^2, N = 256, D'D = 16 I, M = 1, rho = 2, R linear",
        ),
    )


def orthogonal_records() -> tuple[Matrix, Matrix]:
    """Return 32 records in 16 orthogonal columns of entries +-1/4, and a neighbour of them.

    They are columns 0 and 8 to 22 of the signs ``(-1)^(bits of i and j)``, ``i, j = 0, ..., 31``.
    Of column 0 the neighbour has the other sign in rows 0, 8, 16 and 24, over which every other
    column adds up to 0: they stay orthogonal.
    """
    columns = (0, *range(8, 23))
    signs = [[(-1) ** (i & j).bit_count() for j in columns] for i in range(32)]
    here = scale_matrix(Fraction(1, 4), make_fraction_matrix(signs))
    there = tuple((-row[0], *row[1:]) if i % 8 == 0 else row for i, row in enumerate(here))
    return here, there


def neighbouring_designs(here: Matrix, there: Matrix) -> tuple[Finding, ...]:
    """Return the conditions of Assumption 1.3 and Definition 1 on two designs."""
    # A set, so that one row of another norm would show.
    rows = {compute_inner_product(row, row) for design in (here, there) for row in design}
    columns = zip(transpose_matrix(here), transpose_matrix(there), strict=True)
    changed = sum(one != other for one, other in columns)
    distance = compute_frobenius_square(add_matrices(here, scale_matrix(-1, there)))
    return (
        Finding(left=Fraction(len(rows - {1})), relation="=", right=0, instance="unit rows"),
        Finding(left=changed, relation="=", right=1, instance="columns that differ"),
        Finding(left=distance, relation="<=", right=1, instance="||D - D'||^2"),
    )


def _equal_eigenvalues(design: Matrix, value: Fraction) -> Finding:
    gram = multiply_matrices(transpose_matrix(design), design)
    apart = compute_frobenius_square(
        add_matrices(gram, scale_matrix(-value, identity_matrix(len(gram))))
    )
    return Finding(left=apart, relation="=", right=0, instance=f"||D'D - {value} I||^2")


def last_bound() -> tuple[Finding, ...]:
    """Prove the last step of the chain: all norms are at most b_1.

    ``lambda c_1 + ||y|| + rho ||z|| + rho sum_{k != m} ||x~_k||`` rises in each norm; at b_1 it is
    ``lambda c_1 + b_1 + rho b_1 + rho (M - 1) b_1``.
    """
    weight, curvature, penalty, parties, bound = make_unknowns("lambda c rho M b")
    left = weight * curvature + bound + penalty * bound + penalty * (parties - 1) * bound
    right = weight * curvature + (1 + parties * penalty) * bound
    return (make_identity_finding(left, right, "norms at b_1"),)


def check_repaired_bound() -> tuple[Finding, ...]:
    """Prove that ``||D x - D' x'|| <= (1/rho + 1 + (M - 1) sqrt(N)) b_1``, whatever D and D' are.

    Let R be convex and least at 0, and X convex with 0 in it. Write ``u = D x`` and ``w = -v/rho``.
    By optimality of x in (6) ``g = -D'(v + rho u)`` is a subgradient at x of lambda R on X, of
    which 0 is one at 0; subgradients are monotone, so ``<g, x> >= 0``, which is ``<w - u, u> >=
    0``. That says that u lies in the ball whose diameter is the segment from 0 to w, and so does
    u', for which v is the same: they are at most ``||w|| = ||v||/rho`` apart. And ``||v|| <= ||y||
    + rho ||z|| + rho sum_{k != m} ||D_k|| ||x~_k||``, where ``||D_k|| <= sqrt(N)`` for rows of norm
    1.
    """
    u, w = vectors("u w")
    half = Fraction(1, 2)
    return (
        make_identity_finding(
            (u - half * w).square, w.square / 4 - (w - u) @ u, "the ball, for any u and w"
        ),
        *rows_of_norm_one(),
    )


def rows_of_norm_one() -> tuple[Finding, ...]:
    """Prove that ``||D x|| <= sqrt(N) ||x||``, and so for D', where D has N rows of norm 1.

    Each entry of D x is the inner product of a row of norm 1 and x, at most ``||x||`` in size by
    Cauchy and Schwarz; the sum of N squares is at most ``N ||x||^2``. The transpose has the same
    spectral norm. N equal rows attain it.
    """
    return triangle()
