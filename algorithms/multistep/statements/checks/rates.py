"""Theorem 7, eq. (39), (40), and the readings of its bound in section 4.2."""

from __future__ import annotations

import math
from fractions import Fraction

from dpaudit.algorithms.multistep.statements.checks import appendix
from dpaudit.datasets.census import ADULT_FEATURES, COMPLETE_RECORDS, FILE_RECORDS
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns

_SHALLOW = Fraction(1, 4)  # slope of the loss to the left of its minimum; 1 to the right


def second_moment() -> tuple[Finding, ...]:
    """Show that (39) fails where ``c_2`` is a constant of the sum, and holds of every node's own.

    Two nodes, ``L_1(w) = w`` and ``L_2 = 0``: their sum is 1-Lipschitz, and (39) has ``c_2^2 / n^2
    = 1/4`` for the square of a gradient of ``L_1``, which is 1. The noise's share is the same on
    both sides: ``u xi`` has ``d u^2 s^2 sigma^2``, with ``u s = 2 c_1 / m`` by Lemma 5. If every
    ``n L_i`` is ``c_2``-Lipschitz, each square is at most ``c_2^2 / n^2``: (39) with "at most".
    """
    nodes, whole, own = 2, Fraction(1), Fraction(1)
    c0, c1, m, epsilon, d, steps, log = make_unknowns("c0 c1 m epsilon d tl M")
    sigma = c0**2 * steps * 2 * log / epsilon**2
    where = "L_1(w) = w, L_2 = 0, without the noise's share"
    each = nodes * own  # of n L_1
    return (
        Finding(left=own**2, relation="=", right=(whole / nodes) ** 2, instance=where),
        Finding(
            left=own**2, relation="<=", right=(each / nodes) ** 2, instance=f"repaired: {where}"
        ),
        make_identity_finding(
            d * (2 * c1 / m) ** 2 * sigma,
            d * c0**2 * c1**2 * steps * 8 * log / (epsilon**2 * m**2),
            "the noise's share",
        ),
    )


def double_sum() -> tuple[Finding, ...]:
    """Show that the last step of (40) needs a larger constant than ``sqrt(2)`` for ``l >= 2``.

    With (39), one node and ``G`` for the root in (23), what the second line of (40) has is
    ``G D / (t l)`` times ``S / (2 sqrt(2)) + sqrt(2 t l) / 2``, where ``S`` is the sum of
    ``1 / sqrt(k r)`` over ``k <= t`` and ``r <= l``. It is at most ``sqrt(2) G D / sqrt(t l)`` if
    and only if ``S <= 2 sqrt(t l)``. But ``S`` is a product of two sums, near ``2 sqrt(t)`` and
    ``2 sqrt(l)``: it is about ``4 sqrt(t l)``, and at most that, so that ``3 / sqrt(2)`` would do.
    For ``l = 1`` it is at most ``2 sqrt(t)``. Sums are rounded, down where they fail.
    """
    # 81 has a rational root, so that both sides of the comparison are fractions.
    square = Fraction(9 * 9)
    half, full = (factor * _compute_fraction_root(square) for factor in (2, 4))
    return (
        Finding(
            left=_inverse_roots(9, -1) ** 2, relation="<=", right=half, instance="S at t = l = 9"
        ),
        Finding(
            left=_inverse_roots(9, 1) ** 2,
            relation="<=",
            right=full,
            instance="repaired: S at t = l = 9",
        ),
        Finding(
            left=_inverse_roots(81, 1), relation="<=", right=half, instance="S at t = 81, l = 1"
        ),
    )


def _compute_fraction_root(square: Fraction) -> Fraction:
    return Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))


def _inverse_roots(count: int, up: int) -> Fraction:
    """Return the sum of ``1 / sqrt(k)`` for k up to ``count``, to hundredths; up is 1 or -1."""
    digits = 10**6
    # For a lower sum roots are rounded up, for an upper one down.
    roots = (math.isqrt(digits**2 * k) + (up < 0) for k in range(1, count + 1))
    exact = sum((Fraction(digits, root) for root in roots), Fraction(0))
    return Fraction(up * math.ceil(up * 100 * exact), 100)


def one_step() -> tuple[Finding, ...]:
    """Prove Theorem 7 for one node and ``l = 1``, where its hypotheses hold.

    Let ``a_k`` be the squared distance of ``w~^{k,1}`` from ``w*``, at most ``D^2``, and ``G`` the
    root in (23), so that (39) holds with at most, and ``eta_k = sqrt(2 k) G / D``. By (36)
    repaired, whose slack is the first identity below, and as noise has mean 0 given the model
    before it, the sum of the errors at ``w~^{k,0}`` is in expectation at most that of ``eta_k
    (a_{k-1} - a_k) / 2 + G^2 / (2 eta_k)``. These weights grow with k: the first sum is at most
    ``eta_t D^2 / 2 = sqrt(2 t) G D / 2``. And ``1 / sqrt(k) <= 2 (sqrt(k) - sqrt(k - 1))``, by the
    second identity with ``x^2 - y^2 = 1``, so that the second sum is at most ``G D sqrt(t) /
    sqrt(2)``. Together they are ``sqrt(2) G D sqrt(t)``; (28) makes it the error at the average,
    times t.
    """
    x, y = make_unknowns("x y")
    growth = 2 * x * (x - y) - (x**2 - y**2)
    return (
        appendix.slack_of_gain(1, 0),
        make_identity_finding(growth, (x - y) ** 2, "x times the difference"),
    )


def order() -> tuple[Finding, ...]:
    """Show that without privacy the error of a fixed problem falls like ``1 / sqrt(t)``.

    One node, ``l = 1``, no noise, ``L(w) = max(w, - s w)`` with ``s = 1/4``, so ``c_2 = 1``; ``D =
    1``, start at ``w* = 0``. Write ``d_k = 1 / eta^{k,1} = 1 / sqrt(2 k)`` and ``w_k`` for the
    model after ``k`` updates: ``w_k = w_{k-1} - d_k`` if ``w_{k-1} >= 0`` (at 0 the subgradient is
    1), else ``w_k = w_{k-1} + s d_k``. (22) averages ``w_0 .. w_{t-1}``.

    *Jumps.* A model that is not below 0 is ``w_0``, or came from below by ``s d_k`` and is below
    ``s d_k``. As ``d_k <= sqrt(2) d_{k+1}``, a jump in update ``j`` leads to a model between
    ``-d_j`` and ``-(1 - sqrt(2) s) d_j``, which is below ``-0.64 d_j``. All models are in ``[-0.71,
    0.18]``.

    *A cycle* is from one jump to the next. The ``i``-th model after that of a jump is below ``(s i
    - 0.64) d_j``; for ``i = 0, 1, 2`` this is negative, and these models have sizes that add up to
    at least ``(3 * 0.64 - 3 s) d_j = 1.17 d_j``. Others below 0 add to it; the one that is not
    takes away less than ``s d_j``. So minus the sum of a cycle's models is above ``0.92 d_j``. A
    cycle climbs less than ``d_j + s d_j``, in steps of ``s d_k``: its ``d_k``, with ``d_j``, add up
    to less than ``d_j + (1 + s) d_j / s = 6 d_j``. So minus its sum is above 0.15 times that.

    *All of them.* Models of a last cycle that is not over are below 0, and its ``d_k`` add up to
    less than ``6 d_1``. All ``d_k`` with ``k < t`` add up to at least ``sqrt(2) (sqrt(t) - 1)``. So
    the average ``w^`` has ``- t w^ >= 0.15 (sqrt(2) (sqrt(t) - 1) - 6 d_1)``, and as ``L(w^) >=
    - s w^``,

        t (L(w^) - L(w*)) >= (sqrt(t) - 5) / 20.

    For every ``C`` this is above ``C`` from ``t = (20 C + 6)^2`` on: no ``O(1/t)``.

    Beside it stands what runs show, rounded down: with 16 times as many iterations, 12,800 and not
    800, the error times ``t`` is 3.7 times as large, close to the root.
    """
    return (
        *(_refute_rate_constant(constant) for constant in (1, 10, 1000)),
        *(_of_run(iterations) for iterations in (50, 800, 12_800)),
        *_check_rate_constants(),
    )


def _refute_rate_constant(constant: int) -> Finding:
    root = 20 * constant + 6
    words = f"least error times t at t = {root**2}, C = {constant}"
    return Finding(left=Fraction(root - 5, 20), relation="<=", right=constant, instance=words)


def _of_run(iterations: int) -> Finding:
    """Return that the bound is below the error of a run, rounded down to thousandths."""
    # The run is in doubles; what their rounding could add comes off before it is rounded down.
    shown = round_down(error_times_iterations(iterations) - 1e-6)
    least = Fraction(math.isqrt(iterations) - 5, 20)
    words = f"least error times t, and that of a run, t = {iterations}"
    return Finding(left=least, relation="<=", right=shown, instance=words)


def round_down(number: float | Fraction) -> Fraction:
    """Return the largest multiple of 1/1000 that is not above a number."""
    return Fraction(math.floor(1000 * number), 1000)


def _check_rate_constants() -> tuple[Finding, ...]:
    """Return the numbers of the proof, with ``sqrt(2)`` between 1.41 and 1.415."""
    s, root, above = _SHALLOW, Fraction(141, 100), Fraction(1415, 1000)
    low, share, cycle = Fraction(64, 100), Fraction(15, 100), 1 + (1 + s) / s
    ends = s * share * (above + cycle * above / 2)
    return (
        Finding(left=low, relation="<=", right=1 - above * s, instance="0.64 and 1 - sqrt(2) s"),
        Finding(left=2 * s, relation="<", right=low, instance="two climbs after a jump"),
        Finding(left=cycle * share, relation="<=", right=3 * low - 3 * s - s, instance="a cycle"),
        Finding(left=Fraction(1, 20), relation="<=", right=s * share * root, instance="root of t"),
        Finding(left=ends, relation="<=", right=Fraction(5, 20), instance="what both ends take"),
    )


def error_times_iterations(iterations: int) -> float:
    """Return the error of a run of that many iterations, times their number.

    Examples
    --------
    >>> 3.5 < error_times_iterations(12_800) / error_times_iterations(800) < 4.1
    True
    """
    shallow, model, total = float(_SHALLOW), 0.0, 0.0
    for k in range(1, iterations + 1):
        total += model
        model -= (1.0 if model >= 0 else -shallow) / math.sqrt(2 * k)
    return max(total, -shallow * total)


def bound_and_epsilon() -> Finding:
    """Prove that the bound of (24) falls as epsilon grows.

    What is below its root is ``a + b / epsilon^2`` with ``b > 0``. For ``e < e'`` the difference is
    ``b (e' - e) (e' + e) / (e e')^2``, a product of positive numbers.
    """
    a, b, low, high = make_unknowns("a b e f")
    difference = (a + b / low**2) - (a + b / high**2)
    return make_identity_finding(
        difference, b * (high - low) * (high + low) / (low * high) ** 2, "e < f"
    )


def bound_and_steps() -> Finding:
    """Prove that the bound of (24) falls as l grows.

    Its first term is ``sqrt(2) D`` times the root of ``a / (t l) + b``, where ``a = c_2^2 / n^2``
    and ``b t l`` is the noise's share; the others are free of l. For ``l < l'`` the difference
    below the root is ``a (l' - l) / (t l l')``, which is positive.
    """
    a, b, t, few, many = make_unknowns("a b t l k")
    difference = (a / (t * few) + b) - (a / (t * many) + b)
    return make_identity_finding(difference, a * (many - few) / (t * few * many), "l < k")


def sum_over_nodes() -> tuple[Finding, ...]:
    """Show that the bound is ``n^2`` times the one it is compared to, or ``n`` times per node.

    With ``N = n m`` records, ``m`` at each of ``n`` nodes, the sum over nodes of ``1 / m_i`` is
    ``n^2 / N``. The objective (1) adds up the mean losses of ``n`` nodes; the mean loss of all
    records is a share ``1 / n`` of it, and has ``n / N``. No constant bounds this for all networks.
    """
    nodes, records = 100, 10_000
    whole = sum((Fraction(nodes, records) for _ in range(nodes)), Fraction(0))
    alone = Fraction(1, records)
    return (
        Finding(left=alone * records, relation="=", right=1, instance="n = 1: in units of 1/N"),
        Finding(
            left=whole / nodes * records,
            relation="<=",
            right=10,
            instance="n = 100, N = 10,000, of the mean loss: C = 10",
        ),
        Finding(
            left=whole * records,
            relation="<=",
            right=1000,
            instance="n = 100, N = 10,000, of (1): C = 1000",
        ),
    )


def check_fixed_network() -> Finding:
    """Prove that for a fixed number of nodes with as many records each the bounds have one order.

    With ``m`` records at each of ``n`` nodes ``N = n m``, and the sum over nodes of ``1 / m_i`` is
    ``n / m``, which is ``n^2`` times ``1 / N``: a constant where n is one.
    """
    nodes, each = make_unknowns("n m")
    return make_identity_finding(
        nodes / each, nodes**2 / (nodes * each), "sum of 1 / m_i and n^2 / N"
    )


_SQUARED_WEIGHT = 2  # 2 k r at k = r = 1, of (23)


def steps_that_help() -> tuple[Finding, ...]:
    """Prove that on some data two inner steps have a smaller error than one.

    One node, one feature, ``L(w) = |w|``, first model 1, ``t = 1`` and ``c_2 = D = 1``. For ``l =
    1`` (22) averages ``r = 0`` alone: the error is 1. For ``l = 2`` it averages 1 and ``1 -
    1/eta``, where (23) has ``eta^2 = 2`` without noise. As ``(2/3)^2 < 1/2 <= 1`` the step is above
    2/3 and at most 1, and the error at most ``1 - (2/3) / 2``. Noise ``e`` adds ``E|e| / 2`` at
    most, which is less than what is left while ``E|e| < 2/3``, and moves eta by little if it is
    small: a large epsilon has such noise.
    """
    least, squared = Fraction(2, 3), Fraction(1, _SQUARED_WEIGHT)
    return (
        Finding(left=least**2, relation="<", right=squared, instance="(2/3)^2 < 1/eta^2"),
        Finding(left=squared, relation="<=", right=1, instance="1/eta^2 <= 1"),
        Finding(left=1 - least / 2, relation="<", right=1, instance="errors of l = 2 and l = 1"),
    )


def lipschitz_constant() -> tuple[Finding, ...]:
    """Show that ``n + mu D / n`` is no Lipschitz constant of the sum of ``L_i``; ``n + mu D`` is.

    One feature, all records ``a = 1 - 10^-6`` with label -1, ``W = [0, D]``: at ``w = D`` the
    derivative of the sum is ``n a / (1 + e^(-a D)) + mu D``, as each of ``n`` nodes has ``mu / n``
    of the regulariser. It is above ``n a (1 - 2^-D) + mu D``. For ``n = 100``, ``mu = 0.0001`` and
    ``D = 20`` this exceeds the constant. Losses have slopes below 1, and ``||w|| <= D``, as ``W``
    has 0 in it: ``n + mu D`` suffices.
    """
    nodes, weight, diameter = 100, Fraction(1, 10_000), 20
    record = 1 - Fraction(1, 10**6)
    slope = nodes * record * (1 - Fraction(1, 2**diameter)) + weight * diameter
    where = "n = 100, mu = 0.0001, D = 20, least derivative at D"
    return (
        Finding(left=slope, relation="<=", right=nodes + weight * diameter / nodes, instance=where),
        Finding(
            left=slope,
            relation="<=",
            right=nodes + weight * diameter,
            instance=f"repaired: {where}",
        ),
    )


def check_unbounded_noise() -> tuple[Finding, ...]:
    """Show that models with Gaussian noise leave every bounded set.

    Two draws of one coordinate are further apart than ``D`` with positive probability, whatever
    ``D`` and their standard deviation ``s sigma`` are: the density is positive everywhere. Of one
    draw with standard deviation 1 the probability of being above 2 is 0.0227, rounded down below.
    """
    above = round_down(math.erfc(2 / math.sqrt(2)) / 2)
    where = "probability of a draw above 2 standard deviations"
    return (Finding(left=above, relation="<=", right=0, instance=where),)


def records_of_adult() -> tuple[Finding, ...]:
    """Count the records of Adult, those without a missing value, and the features made of them.

    Both files together have the first number; the loader of Adult does what section 5.2 says, and
    counts the others. It divides rows by their norm where that is above 1.
    """
    return (
        Finding(left=sum(FILE_RECORDS), relation="=", right=48_842, instance="both files"),
        Finding(left=COMPLETE_RECORDS, relation="=", right=45_222, instance="complete records"),
        Finding(left=len(ADULT_FEATURES), relation="=", right=104, instance="features"),
    )
