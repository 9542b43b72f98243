r"""Statements on ADMM over joined tables, decided in exact arithmetic.

| paper    | name             | meaning                                            |
|----------|------------------|----------------------------------------------------|
| f_i, h   | ``f``            | predictions of table i                             |
| s        |                  | what the other tables predict, less z              |
| S        |                  | the sum of all predictions for a row of the join   |
| n_i, N   |                  | tuples of a table, rows of the join                |
| G_i(j)   |                  | rows of the join that tuple j is in                |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial, Vector, make_unknowns, vectors

_JOIN = (0, 1, 0, 2)  # the tuple in each of four rows; tuples 3 and 4 are in none
_TUPLES = 5


# --- the updates ----------------------------------------------------------------------------------


def auxiliary_variables() -> tuple[Finding, ...]:
    """Prove that (26) has the minimum of the problem that it rewrites.

    On its constraint ``z_j = S_j``, so that a feasible point's value is that of its models, and
    each model has one feasible z. The terms that (27) adds are then 0. Checked for one row of the
    join, with ``l(z) = ||z - y||^2 / 2``: (27) at ``z = S`` is the objective of (2).
    """
    s, multiplier, label = vectors("S lambda y")
    rho, ridges = make_unknowns("rho R")

    def lagrangian(z: Vector) -> Polynomial:
        gap = s - z
        return (z - label).square / 2 + ridges + multiplier @ gap + rho / 2 * gap.square

    return (make_identity_finding(lagrangian(s), (s - label).square / 2 + ridges, "z = S"),)


def minimum_over_multipliers() -> tuple[Finding, ...]:
    """Return the minimum of (26) against a value of L in (27), which has lambda under its "min".

    ``N = M = 1``, squared loss ``(z - y)^2 / 2`` with ``y = 0``, no regulariser: (26) is least, 0,
    at ``h = z = 0``. At ``h = 1``, ``z = 0``, ``rho = 2`` and ``lambda = -10`` L is ``0 - 10 + 1``.
    It has no minimum in lambda wherever ``h`` is not z.
    """
    multiplier, prediction, rho = Fraction(-10), Fraction(1), Fraction(2)
    value = multiplier * prediction + rho / 2 * prediction**2
    return (
        Finding(
            left=0,
            relation="<=",
            right=value,
            instance="minimum of (26), and L at lambda = -10, h = 1, z = 0, rho = 2",
        ),
    )


def residual_of_other_models() -> tuple[Finding, ...]:
    """Return (28) as printed, with table i's f for all tables, against the term that (29) needs.

    (29) comes from (27) if ``s_i + f_i`` is the sum of all predictions less z. Two tables,
    ``f_1(theta; T) = theta T`` and ``f_2(theta; T) = 2 theta T``, all parameters and tuples 1, ``z
    = 0``.
    """
    predictions: tuple[Callable[[int], int], ...] = (lambda theta: theta, lambda theta: 2 * theta)
    first, second = predictions
    return (
        Finding(
            left=first(1) + first(1),
            relation="=",
            right=first(1) + second(1),
            instance="s_1 as printed, plus f_1, and the sum of both predictions, z = 0",
        ),
    )


def residual_of_all() -> tuple[Finding, ...]:
    """Prove that with f_k for f_i in (28) ``s_i + f_i`` is the term of (27): ``S - z``."""
    first, second, third, z = vectors("f1 f2 f3 z")
    rest = (first + third - z) + second - (first + second + third - z)
    return (make_identity_finding(rest.square, rest.square * 0, "three tables, i = 2"),)


def models_apart() -> tuple[Finding, ...]:
    """Prove (29): with all else as it is, L depends on theta_i through the terms of (29) alone.

    The terms of (27) with ``S - z = s + f`` are ``lambda'(s + f) + rho/2 ||s + f||^2``; those of
    (29) leave out ``lambda's``, in which no theta_i occurs. In (29) of one table no new model of
    another occurs, so that all clients may update at once.
    """
    f, s, multiplier = vectors("f s lambda")
    (rho,) = make_unknowns("rho")
    whole = multiplier @ (s + f) + rho / 2 * (s + f).square
    printed = multiplier @ f + rho / 2 * (s + f).square
    return (make_identity_finding(whole - printed, multiplier @ s, "one row of the join"),)


def predictions_apart() -> tuple[Finding, ...]:
    """Prove (30): L depends on z_j through its terms alone, ``1/N`` and ``lambda'S`` apart.

    No two rows' z share a term, so that each is minimised by itself.
    """
    total, z, multiplier = vectors("S z lambda")
    (rho,) = make_unknowns("rho")
    whole = multiplier @ (total - z) + rho / 2 * (total - z).square
    printed = rho / 2 * (total - z).square - multiplier @ z
    return (make_identity_finding(whole - printed, multiplier @ total, "one row of the join"),)


def dual_is_the_slope() -> tuple[Finding, ...]:
    """Prove (31) is a step of the dual, to where it is the loss's slope at the new z.

    The gradient of (30) at its minimum, ``g - lambda - rho (S - z)`` with g the loss's, is 0; (31)
    sets the new lambda to ``lambda + rho (S - z)``, which is g. L rises in lambda along ``(S -
    z)/N``.
    """
    slope, multiplier, total, z = vectors("g lambda S z")
    (rho,) = make_unknowns("rho")
    new = multiplier + rho * (total - z)
    gradient = slope - multiplier - rho * (total - z)
    rest = new + gradient - slope
    return (make_identity_finding(rest.square, rest.square * 0, "one row of the join"),)


@dataclass(frozen=True)
class Epoch:
    """Two models, and the server's z and lambda, of one row of the join."""

    models: tuple[Fraction, Fraction]
    z: Fraction
    multiplier: Fraction


def check_shifted_epochs() -> tuple[Finding, ...]:
    """Prove that (32) to (34) are the updates (29) to (31), begun at z and lambda for theta.

    Put t for t + 1 in (30) and (31): these are (32) and (33), as theta^t, lambda^{t-1} stand in
    both. (34) is (29): it uses lambda^t and s^t, of theta^t and z^t. So one sequence of updates,
    theta, z, lambda, theta, z, lambda, ..., is read off from another place on, and from the first
    theta both give the same numbers. Where z^0 and lambda^0 are of no theta^0, the first theta is
    (29)'s alone. Here: five epochs of two tables, one row, squared losses, ``f_1 = theta``, ``f_2 =
    2 theta``.
    """
    start = Epoch((Fraction(1), Fraction(-1)), Fraction(2), Fraction(1, 2))
    printed = list(islice(models_first(start), 5))
    shifted = list(islice(server_first(printed[0].models, start.multiplier), 5))
    return tuple(
        Finding(
            left=sum(map(abs, _compare_epochs(one, other)), Fraction(0)),
            relation="=",
            right=0,
            instance=f"difference of theta, z and lambda, epoch {t}",
        )
        for t, (one, other) in enumerate(zip(printed, shifted, strict=True), start=1)
    )


def models_first(epoch: Epoch) -> Iterator[Epoch]:
    """Yield the epochs of (29), (30) and (31)."""
    while True:
        models = _minimise_epoch_models(epoch)
        epoch = _run_server_update(models, epoch.multiplier)
        yield epoch


def server_first(models: tuple[Fraction, Fraction], multiplier: Fraction) -> Iterator[Epoch]:
    """Yield the epochs of (32), (33) and (34), each before its (34)."""
    while True:
        epoch = _run_server_update(models, multiplier)
        yield epoch
        models, multiplier = _minimise_epoch_models(epoch), epoch.multiplier


_SLOPES = (1, 2)  # f_1 = theta, f_2 = 2 theta; beta R = theta^2 / 2, rho = 1, y = 1


def _minimise_epoch_models(epoch: Epoch) -> tuple[Fraction, Fraction]:
    """Return both minimisers of ``theta^2/2 + lambda a theta + (s + a theta)^2/2``."""
    first, second = (a * theta for a, theta in zip(_SLOPES, epoch.models, strict=True))
    gaps = (second - epoch.z, first - epoch.z)
    new = [-a * (epoch.multiplier + s) / (1 + a * a) for a, s in zip(_SLOPES, gaps, strict=True)]
    return new[0], new[1]


def _run_server_update(models: tuple[Fraction, Fraction], multiplier: Fraction) -> Epoch:
    """Return z, the minimiser of ``(z - 1)^2/2 - lambda z + (S - z)^2/2``, and the new lambda."""
    total = sum((a * theta for a, theta in zip(_SLOPES, models, strict=True)), Fraction(0))
    z = (1 + multiplier + total) / 2
    return Epoch(models, z, multiplier + total - z)


def _compare_epochs(one: Epoch, other: Epoch) -> Iterator[Fraction]:
    yield from (a - b for a, b in zip(one.models, other.models, strict=True))
    yield from (one.z - other.z, one.multiplier - other.multiplier)


# --- what is saved --------------------------------------------------------------------------------


def check_reduced_update() -> tuple[Finding, ...]:
    """Prove (35) to (38): the sum over rows of the join is that over tuples, but for a constant.

    Expand the square: ``lambda'f + rho/2 ||s + f||^2 = (lambda + rho s)'f + rho/2 ||f||^2 + rho/2
    ||s||^2``, of which the last has no theta. The rest depends on the row j only through ``lambda_j
    + rho s_j`` and the tuple. Rows of one tuple share f: their sum is ``(sum of lambda + rho s)'f +
    rho/2 |G| ||f||^2``, which is (38) with Y of (36) and G of (37). A tuple in no row adds 0 to
    both. So the two objectives differ by a constant, whatever theta, f, R and the loss, and have
    the same minimisers.
    """
    f, first, second, one, two = vectors("f s1 s2 lambda1 lambda2")
    (rho,) = make_unknowns("rho")
    rows = ((one, first), (two, second))
    whole = sum((m @ f + rho / 2 * (s + f).square for m, s in rows), rho * 0)
    pull = one + rho * first + two + rho * second
    reduced = pull @ f + 2 * rho / 2 * f.square
    constant = rho / 2 * (first.square + second.square)
    return (make_identity_finding(whole, reduced + constant, "a tuple in two rows of the join"),)


def fewer_terms() -> tuple[Finding, ...]:
    """Prove that (35) has no more terms than the join has rows, and at most n_i.

    The sets G_i(j) are a partition of the N rows: each row has one tuple. So at most N of them, and
    at most n_i, are not empty; an empty one adds 0, and need not be looked at. (As printed the sum
    is over all n_i, also where most tuples are in no row.)
    """
    counts = Counter(_JOIN)
    return (
        Finding(left=sum(counts.values()), relation="=", right=len(_JOIN), instance="rows"),
        Finding(left=len(counts), relation="<=", right=len(_JOIN), instance="terms, N = 4"),
        Finding(left=len(counts), relation="<=", right=_TUPLES, instance="terms, n_i = 5"),
    )


def fewer_numbers() -> tuple[Finding, ...]:
    """Prove that with ``n_i <= N`` less is sent: ``n_i (d_c + 1)`` numbers for ``N (2 d_c + 1)``.

    Before, lambda and s_i have ``N d_c`` numbers each and the sets G_i(j) name N rows; afterwards
    Y_i has ``n_i d_c`` and G_i n_i. The difference is ``(N - n_i)(d_c + 1) + N d_c``.
    """
    rows, tuples, classes = make_unknowns("N n d_c")
    before, after = rows * (2 * classes + 1), tuples * (classes + 1)
    difference = (rows - tuples) * (classes + 1) + rows * classes
    return (make_identity_finding(before - after, difference, "numbers that are no longer sent"),)


# --- privacy --------------------------------------------------------------------------------------


def labels() -> tuple[Finding, ...]:
    """Prove Theorem 1 for labels that are one-hot, signs, or of L1 norm up to 1.

    Laplace noise of standard deviation ``lambda`` has the scale b with ``2 b^2 = lambda^2``: for
    ``lambda = 2 sqrt(2)/epsilon``, ``b = 2/epsilon``. Its density is proportional to
    ``exp(-|u|/b)``, and coordinates are independent, so the loss of an output o between labels y
    and y' is ``sum_k (|o_k - y'_k| - |o_k - y_k|) / b``. By the triangle inequality each term is at
    most ``|y_k - y'_k|``, and the sum at most ``||y - y'||_1 <= 2``: the loss is at most ``2/b =
    epsilon`` for every output, so the noisy label is epsilon-DP. Other labels are independent of
    it. What is computed from noisy labels is so too, by post-processing. For one-hot labels and ``o
    = y`` the loss is epsilon: no smaller one is true.
    """
    (epsilon,) = make_unknowns("epsilon")
    scale = 2 / epsilon
    here, there = (1, 0), (0, 1)
    moved = sum(abs(o - b) - abs(o - a) for o, a, b in zip(here, here, there, strict=True))
    return (
        make_identity_finding(
            2 * scale**2, 8 / epsilon**2, "variance of a coordinate, any epsilon"
        ),
        make_identity_finding(2 / scale, epsilon, "the largest loss"),
        *_check_label_triangle(),
        Finding(left=moved, relation="=", right=2, instance="one-hot labels, o = y: attained"),
    )


def _check_label_triangle() -> Iterator[Finding]:
    """Yield ``|o - y'| - |o - y| <= |y - y'|`` for o below, between and above ``y = 0, y' = 1``."""
    for output in (Fraction(-1), Fraction(1, 3), Fraction(2)):
        yield Finding(
            left=abs(output - 1) - abs(output),
            relation="<=",
            right=1,
            instance=f"|o - y'| - |o - y|, y = 0, y' = 1, o = {output}",
        )


def movement_of_another_client() -> tuple[Finding, ...]:
    """Return how far a tuple of one client moves another one's step, and the counted movement.

    Two tables of one column, ``f = theta T``, ``rho = 1``, squared loss with ``y = 0``, ``beta =
    0``. The first table has one tuple, x, in both rows of the join; the second has two tuples, 1
    and 1, one a row. Before the round ``theta = (1, 0)`` and ``lambda = 0``. The server computes
    ``z = S/2`` with ``S = x``, so that ``lambda = x/2`` and ``s_2 = x - x/2``: client 2 gets ``Y =
    lambda + s_2 = x`` for each tuple, and the gradient of each is x times 1, clipped to C = 1. For
    ``x = 1`` and ``x' = -1`` their sum moves from 2 to -2. The accounting by client, which is
    Theorem 1 of [7] for each, has 0 for what happens at a client whose tuples do not change.
    """
    here, there = (compute_clipped_client_sum(Fraction(x), 2) for x in (1, -1))
    return (
        Finding(
            left=abs(here - there),
            relation="<=",
            right=0,
            instance="movement of client 2's sum of clipped gradients, in C, x = 1 and x' = -1",
        ),
    )


def compute_clipped_client_sum(x: Fraction, joined: int) -> Fraction:
    """Return the sum over client 2's tuples that are joined with x, in units of C."""
    z = x / 2
    multiplier = x - z
    pull = multiplier + (x - z)
    return joined * max(Fraction(-1), min(Fraction(1), pull))


def constants_at_full_batches() -> tuple[Finding, ...]:
    """Return the privacy loss at the end of the range of epsilon, for r = 1, against epsilon.

    Let every step's clipped sum move by C, as the removal of a tuple with large gradients does.
    With ``r = 1``, ``epsilon = c_1 tau`` and ``sigma = c_2 sqrt(tau L) / epsilon``, ``L =
    ln(1/delta)``, the tau steps are one Gaussian release with ``mu^2 = tau / sigma^2 = c_1^2 tau^2
    / (c_2^2 L)``. Its privacy loss is normal with mean ``mu^2/2``. Where that exceeds epsilon by
    several mu, nearly all outputs exceed epsilon, and delta is near 1. It grows like tau^2 and
    epsilon like tau, so that it does for every c_1, c_2 and delta below 1. Here ``c_1 = 1``, ``c_2
    = 4``, ``delta = 10^-5`` (``L < 12``, as ``e^12 > 2.7^12 > 10^5``) and ``tau = 10^4``.
    """
    steps, first, second, log = Fraction(10**4), 1, 4, 12
    mean = (first * steps / second) ** 2 / log / 2
    epsilon = first * steps
    return (
        Finding(
            left=10**5,
            relation="<",
            right=Fraction(27, 10) ** 12,
            instance="1/delta, and e^12 from below",
        ),
        Finding(
            left=mean,
            relation="<=",
            right=epsilon,
            instance="mean privacy loss from below, and epsilon, tau = 10000, r = 1",
        ),
    )
