r"""The proof of Theorem 1 (hu2020, section 7.2; hu2019, section 7.4), step by step.

| paper    | name        | meaning                                                    | shape  |
|----------|-------------|------------------------------------------------------------|--------|
| D_m xi   | u           | noise on the message, N(0, sigma^2 I) where nothing is said | (N,)  |
|          | w           | ``D x - D' x'``, at most C long                            | (N,)   |
| L        | ``log``     | ``ln(1.25/delta)``                                         | scalar |
| sigma    |             | ``sqrt(2 L) C / epsilon``                                  | scalar |
| r        |             | ``2 C L / epsilon - C/2``                                  | scalar |

So ``r / sigma = (4 L - epsilon) / (2 sqrt(2 L))``, and the exponent of the Gaussian tail is
``r^2 / (2 sigma^2) = (4 L - epsilon)^2 / (16 L)``. The paper prints ln(1.25/sigma) where it means
ln(1.25/delta), which is read as such here.

Numbers with e or pi are replaced by rationals on the safe side: ``E_BELOW < e < E_ABOVE``, ``e^2 <
E_SQUARED_ABOVE``, and ``PI_BELOW < pi < PI_ABOVE``.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.algorithms.sharing.statements.checks.lemma1 import neighbouring_designs
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial, make_unknowns, vectors

# Rationals that are known to be on one side of e and pi let a finding decide exactly; a double
# would only decide up to rounding.
E_BELOW = Fraction(27, 10)
E_ABOVE = Fraction(68, 25)
E_SQUARED_ABOVE = Fraction(37, 5)
PI_BELOW = Fraction(314, 100)
PI_ABOVE = Fraction(315, 100)
_LONG = Fraction(12, 13)
_SHORT = Fraction(5, 13)
NEIGHBOURS = (
    ((_LONG, _SHORT), (Fraction(1), Fraction(0)), (_LONG, _SHORT)),
    ((_LONG, _SHORT), (Fraction(1), Fraction(0)), (_LONG, -_SHORT)),
)


def loss_of_an_output() -> tuple[Finding, ...]:
    """Prove that the privacy loss is that of the noise, at the two values that give the output.

    Under D the output o comes from the noise ``u = o - D x``, under D' from ``o - D' x' = u + w``:
    a shift does not change a density, so ``p(o | D) / p(o | D')`` is the ratio of the densities of
    the noise at u and at ``u + w``. That is the reading of ``P(D xi) / P(D' xi)`` here; what the
    display calls ``x~`` beside xi has to be x, as ``x~`` has the noise in it.
    """
    output, here, there = vectors("o Dx D'x'")
    shift = here - there
    noise = output - here
    return (
        make_identity_finding(
            (output - there - noise - shift).square, noise.square * 0, "any output"
        ),
    )


def laws_of_the_noise() -> tuple[Finding, ...]:
    """Return one entry of the covariances of ``D xi`` and of ``D' xi`` with xi as (7) draws it.

    Their covariances are ``sigma^2 D D'`` and the same of the neighbour. For the rows (1, 0) and
    (12/13, +-5/13), which are neighbours of Definition 1, one changes the second; for d_m = 2 the
    entry that belongs to (5/13, 12/13) and that row shows it.
    """
    first, second, changed = (
        (Fraction(5, 13), Fraction(12, 13)),
        (Fraction(12, 13), Fraction(5, 13)),
        (Fraction(12, 13), Fraction(-5, 13)),
    )
    here, there = (
        sum((a * b for a, b in zip(first, row, strict=True)), Fraction(0))
        for row in (second, changed)
    )
    return (
        Finding(
            left=here,
            relation="=",
            right=there,
            instance="covariance of two entries over sigma^2, under D and under D'",
        ),
    )


def check_separated_neighbours() -> tuple[Finding, ...]:
    """Return the probability of an event under two neighbours, whatever sigma is.

    Three records in two columns, of which the last has the sign of its short entry changed. With
    noise on the model the message is ``D x~``, in the column space of D. ``w = (1, 0, -1)`` is
    normal to it, as the first and last record are equal, so that ``w'D x~ = 0`` for certain. Under
    D' ``w'D' x~`` is ``10/13`` times the second entry of x~, a Gaussian of variance above 0: the
    same event has probability 0. So ``1 <= e^epsilon 0 + delta`` is needed.
    """
    here, there = NEIGHBOURS
    seen = [
        tuple(one - other for one, other in zip(d[0], d[2], strict=True)) for d in (here, there)
    ]
    # A linear form of continuous noise is 0 for certain if its coefficients are all 0, and
    # otherwise with probability 0.
    certain = [Fraction(int(not any(row))) for row in seen]
    return (
        *neighbouring_designs(here, there),
        Finding(
            left=certain[0],
            relation="<=",
            right=1000 * certain[1] + Fraction(99, 100),
            instance="P(S | D) against e^epsilon P(S | D') + delta, e^epsilon = 1000, delta = 0.99",
        ),
    )


def loss_in_numbers() -> tuple[Finding, ...]:
    """Return the loss against the printed one, for noise across the movement.

    ``u = (1, 0)``, ``w = (0, 1)``, ``sigma = 1``: the loss is ``(2 <u, w> + ||w||^2) / 2``, and the
    printed one, with ``||u||`` for the number that the noise is not, ``(2 ||u|| ||w|| + ||w||^2) /
    2``.
    """
    along, across, length = Fraction(0), Fraction(1), Fraction(1)
    return (
        Finding(
            left=(2 * along + length**2) / 2,
            relation="=",
            right=(2 * across * length + length**2) / 2,
            instance="loss at two entries of noise, u = (1, 0) and w = (0, 1)",
        ),
    )


def exact_loss() -> tuple[Finding, ...]:
    """Prove that the loss is ``(2 <u, w> + ||w||^2) / (2 sigma^2)``.

    The density at u is proportional to ``exp(-||u||^2 / (2 sigma^2))``.
    """
    u, w = vectors("u w")
    (sigma,) = make_unknowns("sigma")
    loss = ((u + w).square - u.square) / (2 * sigma**2)
    return (make_identity_finding(loss, (2 * (u @ w) + w.square) / (2 * sigma**2), "any u and w"),)


def check_printed_loss_bound() -> tuple[Finding, ...]:
    """Return the bound by C, and the equation after it, as printed.

    The bound has the absolute value of a sum: with ``C = 1``, ``w = 1/2`` and noise ``-1/2`` the
    sum on the right is 0. (``2 sigma^2 = 1``.) The equation lost epsilon^2: with ``C = 1``, ``L =
    1/4`` and noise 0, its sides are ``1 / (2 * 2 L)`` and ``epsilon^2 / (4 L)``, at ``epsilon =
    1/2``.
    """
    noise, moved, claimed = Fraction(-1, 2), Fraction(1, 2), Fraction(1)
    log, epsilon = Fraction(1, 4), Fraction(1, 2)
    return (
        Finding(
            left=abs(2 * noise * moved + moved**2),
            relation="<=",
            right=abs(2 * noise * claimed + claimed**2),
            instance="|2 u w + w^2| against |2 u C + C^2|, u = -1/2, w = 1/2, C = 1",
        ),
        Finding(
            left=1 / (2 * 2 * log),
            relation="=",
            right=epsilon**2 / (4 * log),
            instance="the two printed fractions at u = 0, C = 1, ln(1.25/delta) = 1/4, "
            "epsilon = 1/2",
        ),
    )


def loss_bound() -> tuple[Finding, ...]:
    """Prove the repaired bound by C, u being the noise along w.

    ``|loss| <= (2 |u| C + C^2) / (2 sigma^2) = (2 |u| + C) epsilon^2 / (4 C L)``.

    ``|2 u w + w^2| <= 2 |u| |w| + |w|^2``, which rises in ``|w| <= C``. Put in ``sigma^2 = 2 L C^2
    / epsilon^2``.
    """
    noise, claimed, log, epsilon = make_unknowns("u C L epsilon")
    variance = 2 * log * claimed**2 / epsilon**2
    left = (2 * noise * claimed + claimed**2) / (2 * variance)
    right = (2 * noise + claimed) * epsilon**2 / (4 * claimed * log)
    return (make_identity_finding(left, right, "any noise, C, L and epsilon"),)


def length_that_suffices() -> tuple[Finding, ...]:
    """Prove that ``|u| <= 2 C L / epsilon - C/2`` makes the repaired bound at most epsilon.

    The bound rises in ``|u|``, and at that length it is epsilon.
    """
    claimed, log, epsilon = make_unknowns("C L epsilon")
    length = 2 * claimed * log / epsilon - claimed / 2
    bound = (2 * length + claimed) * epsilon**2 / (4 * claimed * log)
    return (make_identity_finding(bound, epsilon, "noise of that length"),)


def half_of_the_tail() -> tuple[Finding, ...]:
    """Prove that ``P(u >= r) <= delta/2`` gives (12) for one entry: the noise is symmetric.

    For ``r >= 0`` the events ``u >= r`` and ``u <= -r`` have one probability p, and ``P(|u| >= r) =
    2 p``, so that p is at most ``delta/2`` exactly if (12) holds. ``r = C (4 L - epsilon) / (2
    epsilon)`` is above 0: for ``delta <= 1/2``, ``L > 9/10``, and epsilon is at most 1.
    """
    tail, delta = make_unknowns("p delta")
    return (
        make_identity_finding(2 * tail - delta, 2 * (tail - delta / 2), "p of one side"),
        _log_above_nine_tenths(),
        Finding(
            left=Fraction(1),
            relation="<",
            right=4 * Fraction(9, 10),
            instance="epsilon <= 1 against 4 L",
        ),
    )


def tail_bound() -> tuple[Finding, ...]:
    """Prove ``P(u > r) <= sigma / (r sqrt(2 pi)) exp(-r^2 / (2 sigma^2))`` for r > 0.

    For ``u >= r`` one has ``1 <= u/r``; so the integral of the density over ``u > r`` is at most
    that of ``u/r`` times the density, whose antiderivative is ``-sigma^2/r`` times the density. At
    r the density is ``exp(-r^2 / (2 sigma^2)) / (sigma sqrt(2 pi))``.
    """
    sigma, reach, density = make_unknowns("sigma r density")
    at_the_end = sigma**2 / reach * density
    return (
        make_identity_finding(
            at_the_end, (sigma / reach) * (sigma * density), "the integral's end, density at r"
        ),
    )


def _build_tail_exponents() -> tuple[Polynomial, Polynomial]:
    """Return ``r^2 / (2 sigma^2)``, and the printed exponent."""
    claimed, log, epsilon = make_unknowns("C L epsilon")
    reach = claimed * (4 * log - epsilon) / (2 * epsilon)
    variance = 2 * log * claimed**2 / epsilon**2
    return reach**2 / (2 * variance), (4 * log - epsilon) ** 2 / (8 * log)


def check_printed_exponent() -> tuple[Finding, ...]:
    """Return the exponent of the tail at r and the printed one, and both sides of the next step.

    The proof's next step, ``-(4 L - epsilon)^2 / (16 L) < ln(sqrt(2 pi) delta / 2)`` with the
    exponent as it is, says by ``exp(-L) = 0.8 delta`` that ``0.8 exp(epsilon/2 - epsilon^2 / (16
    L)) < sqrt(2 pi) / 2``. It fails at ``epsilon = 1`` and ``L >= 10``. Squared, the left side is
    at least ``0.64 e (1 - 1/80)``, as ``exp(-1/(8 L)) >= 1 - 1/(8 L)``; the right side is ``pi /
    2``.
    """
    at = {"L": 2, "epsilon": 1, "C": 1}
    exponent, printed = (each.value(at) for each in _build_tail_exponents())
    return (
        Finding(
            left=exponent,
            relation="=",
            right=printed,
            instance="r^2 / (2 sigma^2) and the printed exponent, epsilon = 1, ln(1.25/delta) = 2",
        ),
        Finding(
            left=Fraction(64, 100) * E_BELOW * (1 - Fraction(1, 80)),
            relation="<",
            right=PI_ABOVE / 2,
            instance="the next step, squared: 0.64 e^(1 - 1/(8 L)) from below, pi/2 from above, "
            "epsilon = 1, delta below 1/20000",
        ),
    )


def exponent() -> tuple[Finding, ...]:
    """Prove that the exponent is half of the printed one, and name its terms.

    ``(4 L - epsilon)^2 / (16 L) = L - epsilon/2 + epsilon^2 / (16 L)``.
    """
    exact, printed = _build_tail_exponents()
    log, epsilon = make_unknowns("L epsilon")
    return (
        make_identity_finding(2 * exact, printed, "twice the exponent"),
        make_identity_finding(exact, log - epsilon / 2 + epsilon**2 / (16 * log), "the exponent"),
    )


def tail_of_one_entry() -> tuple[Finding, ...]:
    """Prove ``P(u >= r) <= delta/2`` for one entry of noise, epsilon in (0, 1] and delta <= 1/4.

    r falls with epsilon, so let epsilon be 1 (sigma is 1 in these units: what counts is ``t = r /
    sigma``, which falls too). The tail bound and the exponent give, with ``exp(-L) = 0.8 delta``,

        P <= 0.8 delta exp(1/2 - 1/(16 L)) / (t sqrt(2 pi)) <= 0.8 sqrt(e) / (t sqrt(2 pi)) delta.

    That is at most ``delta/2`` if ``t >= 1.6 sqrt(e) / sqrt(2 pi)``, or ``t^2 >= 1.28 e / pi``. And
    ``t^2 = 2 L - 1 + 1/(8 L) > 2 L - 1``, where ``L = ln(1.25/delta) >= ln 5 > 8/5``, as ``e^8 <
    5^5 = 3125``.
    """
    # e^8 is the fourth power of e^2, so one rational bound serves both.
    return (
        Finding(
            left=E_SQUARED_ABOVE**4, relation="<", right=Fraction(5) ** 5, instance="e^8 and 5^5"
        ),
        Finding(
            left=Fraction(128, 100) * E_ABOVE / PI_BELOW,
            relation="<=",
            right=2 * Fraction(8, 5) - 1,
            instance="1.28 e / pi against 2 L - 1, at delta = 1/4",
        ),
    )


def check_repaired_theorem() -> tuple[Finding, ...]:
    """Prove Theorem 1 for N independent entries of noise on the message, and delta up to 1/4.

    Let ``||D x - D' x'|| <= C``. The loss at noise u is ``(2 <u, w> + ||w||^2) / (2 sigma^2)``,
    where ``<u, w> / ||w||`` is one Gaussian number of standard deviation sigma, in whatever
    dimension. Where it is at most r the loss is at most epsilon; it exceeds r with probability at
    most ``delta/2``. So any set of outputs S has ``P(S | D) <= P(S and loss <= epsilon | D) +
    delta/2 <= e^epsilon P(S | D') + delta``. (The loss has to be bounded above alone.)
    """
    return (*exact_loss(), *loss_bound(), *length_that_suffices(), *tail_of_one_entry())


def equation13() -> tuple[Finding, ...]:
    """Prove (13) for ``delta <= 49/100``.

    The first step: the denominator falls with epsilon, and epsilon is at most 1. The second is,
    with ``s = sqrt(2 L)``, ``2 s < 2 s^2 - 1``; the difference ``2 s^2 - 2 s - 1 = 2 (s - 1/2)^2 -
    3/2`` rises for ``s >= 1/2``, and is above 0 at ``s = 1367/1000``. It is that large where ``L >=
    0.935 > s^2/2``, that is where ``delta <= 1.25 exp(-0.935)``: 0.49 is, as ``exp(0.935) = e /
    exp(0.065)`` and ``exp(0.065) >= 1 + 0.065 + 0.065^2/2``.
    """
    (s,) = make_unknowns("s")
    difference = 2 * s**2 - 2 * s - 1
    least, small = Fraction(1367, 1000), Fraction(65, 1000)
    return (
        make_identity_finding(difference, 2 * (s - Fraction(1, 2)) ** 2 - Fraction(3, 2), "any s"),
        Finding(left=0, relation="<", right=difference.value({"s": least}), instance="s = 1.367"),
        Finding(left=least**2 / 2, relation="<", right=1 - small, instance="L = s^2/2 and 0.935"),
        Finding(
            left=E_ABOVE / (1 + small + small**2 / 2),
            relation="<=",
            right=Fraction(125, 49),
            instance="e^0.935 and 1.25/delta at delta = 0.49",
        ),
    )


def step_with_the_printed_exponent() -> tuple[Finding, ...]:
    """Prove the step as it is printed, for ``delta <= 1/2``: with an exponent twice as large.

    ``(4 L - epsilon)^2 / (8 L) = 2 L - epsilon + epsilon^2 / (8 L)`` has to exceed ``-ln(sqrt(2 pi)
    delta / 2) = L - ln(1.25 sqrt(2 pi) / 2)``. As ``L > 9/10`` and epsilon is at most 1, ``L -
    epsilon > -1/10``, and the logarithm is above 2/5: ``exp(4/5) < 9/4 < 1.25^2 pi / 2``, by ``e^4
    < (9/4)^5``.
    """
    return (
        _log_above_nine_tenths(),
        Finding(
            left=E_SQUARED_ABOVE**2,
            relation="<",
            right=Fraction(9, 4) ** 5,
            instance="e^4, (9/4)^5",
        ),
        Finding(
            left=Fraction(9, 4),
            relation="<",
            right=Fraction(25, 16) * PI_BELOW / 2,
            instance="9/4 and 1.25^2 pi / 2",
        ),
    )


def probability_of_a2() -> tuple[Finding, ...]:
    """Return how probable A_2 is, from below, against delta.

    Its threshold is ``exp(ln(sqrt(2 pi) delta/2)) / sqrt(2 pi) = delta/2``. A Gaussian density is
    at most ``1 / (sigma sqrt(2 pi)) < 2 / (5 sigma)``, so ``|u| <= delta/2`` has a probability
    below ``2 delta / (5 sigma)``. At ``epsilon = 1``, ``C = 1`` and ``delta = 10^-5``, ``sigma^2 =
    2 L > 16``.
    """
    delta = Fraction(1, 10**5)
    return (
        Finding(
            left=1 - 2 * delta / (5 * 4),
            relation="<=",
            right=delta,
            instance="P(A_2) from below, one entry, C = epsilon = 1, delta = 1/100000",
        ),
    )


def _log_above_nine_tenths() -> Finding:
    """Return that ``L > 9/10`` for ``delta <= 1/2``: ``e^9 < 2.5^10``."""
    return Finding(
        left=E_SQUARED_ABOVE**4 * E_ABOVE,
        relation="<",
        right=Fraction(5, 2) ** 10,
        instance="e^9 and 2.5^10",
    )
