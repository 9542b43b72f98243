"""Section 3: one inner update of a node, and how far a record moves it.

The vectors are ``w`` (the model ``w~_i^{k,r}``), ``own`` and ``other`` (what was sent last),
``gamma`` (the dual ``gamma_i``) and ``g`` (the gradient of ``L_i`` at ``w``), the unknowns ``rho``,
``eta`` (that is ``eta_i^{k,r+1}``) and ``m`` (records).
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import (
    Vector,
    make_unknown,
    make_unknowns,
    make_vector,
    on_line,
    total,
    vectors,
)

RHO = make_unknown("rho")
ETA = make_unknown("eta")
MODEL = make_vector("w")
OWN = make_vector("own")
DUAL = make_vector("gamma")
GRADIENT = make_vector("g")
DIRECTION = make_vector("v")
OTHERS = vectors("other1 other2")
# Two neighbours stand for any number: they enter by sums alone.
WEIGHT = 2 * len(OTHERS) * RHO + ETA


def linear_term() -> tuple[Finding, ...]:
    """Show by a linear loss that (11) has a wrong sign, and that the other one is right.

    ``L(w) = w`` is its own first-order approximation. At ``w~ = 0`` and ``w = 1`` (11) has
    ``L(0) + <1, 0 - 1>`` besides its proximal term, which is no part of ``L``.
    """
    loss, slope, here, there = Fraction(1), Fraction(1), Fraction(0), Fraction(1)
    where = "linear part at w = 1 of L(w) = w from w~ = 0"
    return (
        Finding(left=loss, relation="=", right=slope * (here - there), instance=where),
        Finding(
            left=loss, relation="=", right=slope * (there - here), instance=f"repaired: {where}"
        ),
    )


def slope_of_approximation(point: Vector, sign: int) -> Vector:
    """Return the gradient of (12) in ``w_i``, without its constants.

    ``sign`` is that of the gradient of the loss: -1 as (12) is printed, 1 as it is repaired.
    """
    pull = total(point - (OWN + other) / 2 for other in OTHERS)
    return sign * GRADIENT + ETA * (point - MODEL) - 2 * DUAL + 2 * RHO * pull


def build_weighted_minimiser(sign: int) -> Vector:
    """Return ``2 rho |N_i| + eta`` times where that gradient is 0."""
    return -sign * GRADIENT + 2 * DUAL + RHO * total(OWN + other for other in OTHERS) + ETA * MODEL


def ascent() -> tuple[Finding, ...]:
    """Show that (13a) ascends with (12) as printed, and descends with its repair.

    One node without neighbours, ``L(w) = w``, ``w~ = 0``, ``eta = 1``: the minimiser of (12) as
    printed is ``w~ + 1``, at which the loss is larger than at ``w~``.
    """
    alone = on_line({"w": 0, "own": 0, "other1": 0, "other2": 0, "gamma": 0, "g": 1, "v": 1})
    values = {**alone, "rho": Fraction(0), "eta": Fraction(1)}
    printed, repaired = (
        (build_weighted_minimiser(sign) @ DIRECTION).value(values) / WEIGHT.value(values)
        for sign in (-1, 1)
    )
    where = "L after and before (13a), L(w) = w, w~ = 0, eta = 1"
    return (
        Finding(left=printed, relation="<=", right=0, instance=where),
        Finding(left=repaired, relation="<=", right=0, instance=f"repaired: {where}"),
    )


def check_closed_form() -> tuple[Finding, ...]:
    """Show that (18) is false as printed, and right with a gradient and one index of eta.

    Printed is ``L`` for its gradient, and ``eta^{k,r}`` in the denominator. One node without
    neighbours, ``L(w) = w``, ``w~ = 0``, ``eta^{k,r} = 1``, ``eta^{k,r+1} = 2``: (18) is
    ``(- L(0) + 2 * 0) / 1 = 0``, and the repaired (12), ``w + w^2``, has its minimum at -1/2.

    Repaired, the gradient of (12) is its value at 0 plus ``2 rho |N_i| + eta`` times the point, and
    the numerator of (18) is minus that value: the gradient is 0 there, and (12) is strictly convex,
    so that no other point is a minimiser.
    """
    loss, gradient, model, eta, later = (Fraction(one) for one in (0, 1, 0, 1, 2))
    printed, minimum = (-loss + later * model) / eta, (-gradient + later * model) / later
    where = "(18), L(w) = w at w~ = 0, eta^{k,r} = 1, eta^{k,r+1} = 2"
    (point,) = vectors("p")
    at_zero = slope_of_approximation(total(()), 1)
    # The gradient is affine in the point, so its value at 0 and its growth are all of it.
    grown = slope_of_approximation(point, 1) - at_zero
    return (
        Finding(left=printed, relation="=", right=minimum, instance=where),
        make_identity_finding(
            grown @ DIRECTION, (WEIGHT * point) @ DIRECTION, "repaired: gradient of (12)"
        ),
        make_identity_finding(
            -at_zero @ DIRECTION, build_weighted_minimiser(1) @ DIRECTION, "repaired: numerator"
        ),
    )


def distance() -> Finding:
    """Show that a larger eta moves an update less, given everything before it.

    ``(2 rho |N_i| + eta) (w_i^{k,r+1} - w~_i^{k,r})`` is free of eta: the movement is a vector that
    does not depend on eta, divided by ``2 rho |N_i| + eta``.
    """
    moved = build_weighted_minimiser(1) - WEIGHT * MODEL
    pull = total(OWN + other - 2 * MODEL for other in OTHERS)
    fixed = -GRADIENT + 2 * DUAL + RHO * pull
    return make_identity_finding(
        moved @ DIRECTION, fixed @ DIRECTION, "weighted movement, two neighbours"
    )


def movement() -> tuple[Finding, ...]:
    """Prove (19): two updates differ by two gradients of one record, over the weight and m_i.

    Datasets that differ in one record have the same ``m_i``, and given all earlier outputs
    everything in (18) is equal but one summand of the gradient of ``L_i``:
    ``(2 rho |N_i| + eta) (w - w') = (grad l' - grad l) / m_i``. Its norm is at most
    ``2 c_1 / m_i``, as both gradients are no longer than ``c_1``, the Lipschitz constant:
    ``||a - b||^2 + ||a + b||^2 = 2 ||a||^2 + 2 ||b||^2``. Equality is attained where
    ``grad l' = - grad l`` is as long as that.
    """
    (records,) = make_unknowns("m")
    rest, old, new = vectors("rest old new")

    def compute_update(record: Vector) -> Vector:
        """Return the weighted update with a gradient of this record among others."""
        return build_weighted_minimiser(1) + GRADIENT - (rest + record / records)

    difference = (compute_update(old) - compute_update(new)) @ DIRECTION
    return (
        make_identity_finding(
            difference, ((new - old) / records) @ DIRECTION, "difference of two updates"
        ),
        make_identity_finding(
            (old - new).square,
            2 * old.square + 2 * new.square - (old + new).square,
            "norm of a difference of two gradients",
        ),
    )


def cost() -> tuple[Finding, ...]:
    """Count gradients of records in one iteration of a node: ``l m_i``, or ``l s`` with batches.

    Algorithm 1 computes a gradient of ``L_i`` in each of ``l`` inner steps, which has ``m_i``
    summands; a batch has ``s``. So the count grows with ``l``, and batches of fewer than ``m_i``
    records need fewer. Counted for ``l`` of 2 and 3, ``m_i = 5`` and ``s = 1``.
    """
    records, batch = 5, 1

    def gradients(steps: int, size: int) -> int:
        """Count the records over the inner loop."""
        return sum(size for _ in range(steps))

    return (
        Finding(
            left=gradients(2, records),
            relation="<",
            right=gradients(3, records),
            instance="l = 2 and 3",
        ),
        Finding(
            left=gradients(3, batch),
            relation="<",
            right=gradients(3, records),
            instance="batches of 1 and all",
        ),
    )
