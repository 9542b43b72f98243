r"""Section 4 of hu2019: definitions, assumptions, and the fate of a guarantee."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    Numbers,
    compute_fraction_inner,
    compute_squared_norm,
    make_fraction_numbers,
    subtract_numbers,
)
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial, make_unknowns

# Rows of length 1 that differ in the sign of the second column's last entry: N = 3, d_m = 2.
DESIGN = (
    make_fraction_numbers("12/13", "5/13"),
    make_fraction_numbers(1, 0),
    make_fraction_numbers("12/13", "5/13"),
)
NEIGHBOUR = (*DESIGN[:2], make_fraction_numbers("12/13", "-5/13"))
NORMAL = make_fraction_numbers(1, 0, -1)  # of the column space of DESIGN


def little_more_than_one() -> Finding:
    r"""Prove that ``exp(epsilon)`` is about ``1 + epsilon``: they differ by at most epsilon^2.

    Proof. For epsilon in [0, 1] ``e^epsilon - 1 - epsilon = sum_{k >= 2} epsilon^k / k!``, which is
    at most ``epsilon^2 sum_{k >= 2} 1/k!``, and the sum is at most ``1/2 + 1/6 (1 + 1/4 + 1/16 +
    ...) = 1/2 + 2/9``.
    """
    tail = Fraction(1, 2) + Fraction(1, 6) / (1 - Fraction(1, 4))
    return Finding(
        left=tail, relation="<=", right=Fraction(1), instance="bound on sum_{k >= 2} 1/k!"
    )


def entry_of_any_value() -> Finding:
    """Return the privacy loss of an entry that changes by 10, and the epsilon of Definition 1.

    An entry with Laplace noise of scale ``1/epsilon`` obeys Definition 1, of entries that are at
    most 1 apart. Two values 10 apart are told apart at ``10 epsilon``.
    """
    epsilon, change = Fraction(1, 2), Fraction(10)
    return Finding(
        left=change * epsilon,
        relation="<=",
        right=epsilon,
        instance="largest log ratio, one entry that changes by 10, Laplace noise of scale 2",
    )


def failing_share() -> tuple[Finding, Finding]:
    """Return how likely outputs are at which the guarantee of epsilon = 0 fails, and delta.

    Of the laws (3/4, 1/4) and (1/4, 3/4) over two outputs. They differ in total variation by 1/2:
    the mechanism is (0, 1/2)-differentially private, which is the second finding. The first output
    is more likely under the first law, and comes with probability 3/4.
    """
    one, other = make_fraction_numbers("3/4", "1/4"), make_fraction_numbers("1/4", "3/4")
    fails = sum((p for p, q in zip(one, other, strict=True) if p > q), Fraction(0))
    apart = sum((max(p - q, Fraction(0)) for p, q in zip(one, other, strict=True)), Fraction(0))
    delta = Fraction(1, 2)
    return (
        Finding(left=fails, relation="<=", right=delta, instance="P(an output with p > q), delta"),
        Finding(left=apart, relation="<=", right=delta, instance="largest P(S) - Q(S), and delta"),
    )


def check_neighbour_designs() -> tuple[Finding, ...]:
    """Return that the two designs meet Assumptions 1.1 and 2.3 and Definition 2.

    ``d_m = 2``, N = 3; one column differs, and by less than 1.
    """
    moved = tuple(
        subtract_numbers(row, other) for row, other in zip(DESIGN, NEIGHBOUR, strict=True)
    )
    lengths = tuple(
        Finding(
            left=compute_squared_norm(row),
            relation="=",
            right=Fraction(1),
            instance="squared norm of a row",
        )
        for row in (*DESIGN, *NEIGHBOUR)
    )
    ranks = tuple(
        Finding(
            left=Fraction(0),
            relation="<",
            right=_compute_gram_determinant(rows),
            instance="determinant of D_m'D_m",
        )
        for rows in (DESIGN, NEIGHBOUR)
    )
    kept = compute_squared_norm(tuple(row[0] for row in moved))
    size = sum((compute_squared_norm(row) for row in moved), Fraction(0))
    return (
        *lengths,
        *ranks,
        Finding(left=kept, relation="=", right=Fraction(0), instance="change of the first column"),
        Finding(left=size, relation="<=", right=Fraction(1), instance="||D_m - D_m'||^2"),
    )


def _compute_gram_determinant(rows: tuple[Numbers, ...]) -> Fraction:
    one, two = zip(*rows, strict=True)
    return (
        compute_squared_norm(one) * compute_squared_norm(two)
        - compute_fraction_inner(one, two) ** 2
    )


def one_sided_message() -> tuple[Finding, ...]:
    """Return the probability of an event under two neighbours, where no sigma and epsilon help.

    With (10) the message is ``D_m (x_m + xi)``, in the column space of D_m. For the design here
    ``w = (1, 0, -1)`` is normal to that space, so that the event ``w'message = 0`` has probability
    1. Under the neighbour ``w'message`` is ``10/13`` times the second entry of ``x_m + xi``, which
    has a normal law with a variance above 0: the event has probability 0, and
    ``1 <= e^epsilon 0 + delta`` fails for every epsilon, every delta below 1 and every sigma.
    """
    here, there = (
        tuple(compute_fraction_inner(NORMAL, column) for column in zip(*rows, strict=True))
        for rows in (DESIGN, NEIGHBOUR)
    )
    surely = Fraction(int(compute_squared_norm(here) == 0))
    never = Fraction(
        int(compute_squared_norm(there) == 0)
    )  # whether the event is certain there too
    delta = Fraction(99, 100)
    return (
        *check_neighbour_designs(),
        Finding(
            left=surely,
            relation="<=",
            right=1000 * never + delta,
            instance="P(S | D_m) and e^epsilon P(S | D_m') + delta, e^epsilon = 1000, delta = .99",
        ),
    )


def variance_of_a_message() -> tuple[Finding, Finding]:
    """Return variance and covariance of two entries of D_m xi, and those of N(0, sigma^2).

    The covariance of ``D_m xi`` is ``sigma^2 D_m (D_m'D_m)^-1 D_m'``, a projection: for the column
    (1, 1) and sigma = 1 every entry of it is 1/2. It is the identity where d_m = N alone.
    """
    column = make_fraction_numbers(1, 1)
    share = column[0] * column[1] / compute_squared_norm(column)
    return (
        Finding(
            left=share, relation="=", right=Fraction(1), instance="variance of an entry, N = 2"
        ),
        Finding(left=share, relation="=", right=Fraction(0), instance="covariance of two entries"),
    )


def achievable_penalty() -> tuple[Finding, ...]:
    r"""Prove that Assumption 1.2 holds for every rho above an explicit number.

    With L and L_m of Assumptions 1.1 and 1.4 (L_m = 0 for a convex R_m), let ``s_m`` and ``S_m`` be
    the least and the largest eigenvalue of D_m'D_m, ``s_m > 0`` by 1.1, and

        rho > max(2 L, max_m (2 S_m + lambda L_m) / s_m).

    - (6) is ``lambda R_m``, whose curvature is at least ``-lambda L_m``, plus a quadratic with
      Hessian ``rho D_m'D_m >= rho s_m``: strongly convex with a modulus of at least
      ``rho s_m - lambda L_m > 2 S_m > 0``. This is 1.2(a) for x and 1.2(b).
    - (7) is l, whose curvature is at least -L, plus ``rho/2 ||z||^2`` and a linear term: strongly
      convex with ``gamma >= rho - L > 0``. This is 1.2(a) for z.
    - ``rho gamma - 2 L^2 >= rho (rho - L) - 2 L^2 = (rho - 2 L)(rho + L) > 0``, and
      ``rho >= L``. This is 1.2(c).
    """
    rho, smooth = make_unknowns("rho L")
    return (
        make_identity_finding(
            rho * (rho - smooth) - 2 * smooth**2, (rho - 2 * smooth) * (rho + smooth), "1.2(c)"
        ),
    )


def prediction_beyond_bound() -> Finding:
    """Return ``|z|`` after a draw of the noise that can happen, and the bound b_1.

    One party, one sample, D = 1, the squared loss with label 0, y = 0 and x = 0: by (10)
    ``z = rho xi / (1 + rho)``. xi has a normal law, which exceeds every number with a probability
    above 0: at rho = 3, ``b_1 = 100`` and xi = 200, z is 150.
    """
    rho, draw, bound = make_fraction_numbers(3, 200, 100)
    return Finding(
        left=rho * draw / (1 + rho), relation="<=", right=bound, instance="|z|, and b_1 = 100"
    )


def more_rounds_cost_more() -> tuple[Finding, Finding]:
    r"""Prove that epsilon' of (11) and ``T delta + delta'`` grow with T.

    Proof. From T to T + 1 the square of the first term of (11) grows by ``2 ln(1/delta')
    epsilon^2``, the second term by ``epsilon (e^epsilon - 1)``, and ``T delta`` by delta: all are
    above 0 for epsilon > 0 and delta' < 1. What grows linearly is the number of messages, and with
    it the second term. Checked, with unknowns for ``ln(1/delta')`` and ``e^epsilon``.
    """
    rounds, logarithm, epsilon, power = make_unknowns("T ln(1/delta') epsilon e^epsilon")

    def first_squared(count: Polynomial) -> Polynomial:
        return 2 * count * logarithm * epsilon**2

    def second(count: Polynomial) -> Polynomial:
        return count * epsilon * (power - 1)

    return (
        make_identity_finding(
            first_squared(rounds + 1) - first_squared(rounds),
            2 * logarithm * epsilon**2,
            "growth of the first term's square",
        ),
        make_identity_finding(
            second(rounds + 1) - second(rounds), epsilon * (power - 1), "growth of the second term"
        ),
    )


def fewer_than_twenty_rounds() -> tuple[Finding, ...]:
    """Return epsilon' of (11) at T = 19 from below, against two numbers that confine a risk.

    At epsilon = 1 and ``delta' = 1e-5`` ``ln(1/delta')`` is above 11.5, as ``2.72^23 < 1e10``, so
    that the first term's square is above ``2 * 19 * 11.5 = 437`` and the term above 20.9; and ``e -
    1 > 1.718``. The first number is ``ln 999 < 7``, as ``2.7^7 > 999``: with epsilon' above it an
    output may leave one of two datasets that are equally likely with more than 99.9%. The second is
    19, what the guarantees of 19 epochs add up to; at any epsilon the first term alone is above ``T
    epsilon`` for T up to 23.
    """
    logarithm, root = Fraction(23, 2), Fraction(209, 10)
    least = root + 19 * Fraction(1718, 1000)
    words = "epsilon' of (11) from below, T = 19, epsilon = 1, delta' = 1e-5"
    return (
        Finding(left=least, relation="<=", right=Fraction(7), instance=f"{words}, and ln 999 < 7"),
        Finding(left=least, relation="<=", right=Fraction(19), instance=f"{words}, and T epsilon"),
        Finding(
            left=root**2,
            relation="<=",
            right=2 * 19 * logarithm,
            instance="20.9^2, and the square of the first term, from below",
        ),
        Finding(
            left=Fraction(272, 100) ** 23,
            relation="<",
            right=Fraction(10) ** 10,
            instance="e^23 from above, and (1/delta')^2",
        ),
        Finding(
            left=Fraction(999),
            relation="<",
            right=Fraction(27, 10) ** 7,
            instance="999, and e^7 from below",
        ),
    )
