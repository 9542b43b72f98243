"""Section 2.2: consensus by ADMM, and how its updates become simpler.

The vectors are ``w_i, w_j`` (models), ``z`` (auxiliary variables) and ``gamma`` (multipliers).
"""

from __future__ import annotations

from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import (
    Polynomial,
    Vector,
    make_polynomial,
    make_unknown,
    make_unknowns,
    total,
    vectors,
)

RHO = make_unknown("rho")


def consensus_problem() -> Finding:
    """Show that problem (4) is problem (1) where the graph is connected.

    By (4b) neighbours have equal models. On a connected graph any two nodes are joined by a path,
    so that all models equal one ``w``, and every ``w`` is allowed, with ``z = w``. Of equal models
    (4a) is the sum of all losses and ``n`` times ``lambda / n phi(w)``, which is (1).
    """
    # Three nodes stand for any number: each adds one loss and one share of the regulariser.
    nodes = 3
    weight, penalty = make_unknowns("lambda phi")
    losses = [make_unknown(f"loss{node}") for node in range(nodes)]
    local = sum((loss + weight / nodes * penalty for loss in losses), make_polynomial(0))
    whole = sum(losses, make_polynomial(0)) + weight * penalty
    return make_identity_finding(local, whole, "(4a) at equal models, three nodes")


def equal_multipliers() -> tuple[Finding, ...]:
    """Show that multipliers that start at 0 stay equal, and that z stays half way.

    By induction. If both multipliers of ``(i, j)`` are ``gamma``, the gradient of (6) in
    ``z`` is ``gamma - gamma + rho (z - w_i) + rho (z - w_j)``, which is 0 at ``(w_i + w_j) / 2``
    alone. From there (7c) and (7d) subtract ``rho (w_i - z)`` and ``rho (z - w_j)``, which are
    both ``rho (w_i - w_j) / 2``.
    """
    one, other, direction = vectors("w_i w_j v")
    middle = (one + other) / 2
    slope = RHO * (middle - one) + RHO * (middle - other)
    first, second = RHO * (one - middle), RHO * (middle - other)
    return (
        make_identity_finding(
            slope @ direction, make_polynomial(0), "gradient of (6) at the middle"
        ),
        make_identity_finding(
            (first - second) @ direction, make_polynomial(0), "steps (7c) and (7d)"
        ),
        make_identity_finding(
            first @ direction, RHO / 2 * ((one - other) @ direction), "step of (9b)"
        ),
    )


def simple_updates() -> tuple[Finding, ...]:
    """Show that (7) becomes (9): of w_i, (6) and (8) differ by a constant.

    Of the pair ``(i, j)``, (6) has ``- <gamma_ij, w_i>``, of ``(j, i)`` it has
    ``+ <gamma_ji, w_i>``. Here ``gamma_ji = - gamma_ij``: both start at 0 and change by
    ``rho (w_i - w_j) / 2`` with opposite signs. Both squares have the same ``z``. So what (6) and
    (8) have at one ``w_i`` and at another differs by the same: they have the same minimiser. (9b)
    is the sum over neighbours of what (7c) subtracts.
    """
    one, other, here, there, direction = vectors("w_i w_j a b v")
    step = RHO / 2 * ((one - other) @ direction)
    opposite = RHO / 2 * ((other - one) @ direction)
    return (
        make_identity_finding(opposite, -step, "steps of gamma_ji and gamma_ij"),
        make_identity_finding(
            _build_equation6_terms(here) - _build_equation8_terms(here),
            _build_equation6_terms(there) - _build_equation8_terms(there),
            "(6) less (8) at two points, two neighbours",
        ),
    )


_MIDDLES = vectors("z1 z2")
_MULTIPLIERS = vectors("g1 g2")
_OTHERS = vectors("w1 w2")


def _build_equation6_terms(model: Vector) -> Polynomial:
    """Return the terms of (6) of two neighbours, from both directions, without the losses."""
    return sum(
        (
            -(multiplier @ (model - middle))
            - multiplier @ (middle - other)
            + multiplier @ (other - middle)
            + multiplier @ (middle - model)
            + RHO * ((model - middle).square + (other - middle).square)
            for middle, multiplier, other in zip(_MIDDLES, _MULTIPLIERS, _OTHERS, strict=True)
        ),
        make_polynomial(0),
    )


def _build_equation8_terms(model: Vector) -> Polynomial:
    """Return the terms of (8) of two neighbours, without the loss."""
    squares = sum(((model - middle).square for middle in _MIDDLES), make_polynomial(0))
    return -2 * (total(_MULTIPLIERS) @ model) + RHO * squares
