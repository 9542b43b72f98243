"""Re-checks that the rate of zhang2018's (23) breaks (22), along one direction.

Singular values are roots of eigenvalues of Gram matrices. Notation in
`dpaudit.algorithms.consensus.verify.networks`.
"""

from __future__ import annotations

from dpaudit.algorithms.consensus.verify.networks import (
    build_signed_laplacian,
    read_node_numbers,
    read_quadratic_network,
    singular_values,
)
from dpaudit.algorithms.consensus.verify.theorem32 import compute_contraction_rate_real
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, diagonal, dot, total, vector


def recompute(document: Document) -> Outcome:
    """Return every assumption, and both forms of (22), recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> document = Document(
    ...     path="c.json", claim="zhang2018-equation23", kind="property", quantities={},
    ...     assumptions={},
    ...     parameters={
    ...         "nodes": 2, "dual_step": 1.0, "factor": 1.0, "penalties": "shared",
    ...         "rate": "printed",
    ...     },
    ...     instance={
    ...         "adjacency": [[0, 1], [1, 0]], "penalty": [1.5, 1.5], "curvature": [0.125, 0.125],
    ...         "start": [1.0, 1.0], "mu": 2.0,
    ...     },
    ... )
    >>> round(float(recompute(document).quantities["ratio"]), 4)
    2.6875
    """
    document.require_kind("property")
    nodes, theta, adjacency, assumptions = read_quadratic_network(document)
    factor, shared = document.positive("factor"), "one penalty" in assumptions
    printed = document.choice("rate", "printed", "proved") == "printed"
    penalty, curvature = (
        read_node_numbers(document, name, nodes) for name in ("penalty", "curvature")
    )
    mu = Real(document.array("mu", ()))
    if mu <= 1:
        raise document.refused("instance.mu", float(mu), "a number above 1")
    along = read_node_numbers(document, "start", nodes)
    # Along 0 both forms are 0, and the inequality would say nothing.
    if not total(one * one for one in along) > 0:
        raise document.refused("instance.start", 0.0, "a direction")
    lap, signless = build_signed_laplacian(adjacency, -1), build_signed_laplacian(adjacency, 1)
    excess, line = diagonal([one - theta for one in penalty]) * lap, vector(along)
    # The verifier works the rate out from the matrices, in balls, and takes no number of the
    # search.
    largest = singular_values(excess)[0]
    reach = theta * singular_values(lap)[-2]
    weights = [mu * largest**2 + mu**2 * one**2 for one in curvature]
    common = total(w * x * x for w, x in zip(weights, along, strict=True)) / (reach * (mu - 1))
    mixed = dot(along, (diagonal(penalty) * signless * line).entries())
    held = dot(along, (excess * line).entries())
    own = total(m * x * x for m, x in zip(curvature, along, strict=True))
    delta = compute_contraction_rate_real(adjacency, theta, penalty, curvature, mu, printed)
    # For one penalty the right side is above 0 and a ratio can be stated; for penalties of the
    # nodes' own the forms may have either sign.
    unit = 2 * held + 2 * own if shared else common + abs(mixed) + 2 * abs(held) + 2 * own
    if not unit > 0:
        raise document.refused("instance", float(unit), "a right side of (22) above 0")
    value, bound = delta * (common + mixed) / unit, factor * (2 * held + 2 * own) / unit
    return Outcome(
        assumptions=assumptions | {"mu above 1": (1, mu)},
        quantities={
            "rate": delta,
            "value": value,
            "bound": bound,
            "ratio": value / bound if shared else 1 + value - bound,
        },
        summary=(
            f"along one direction the left side of (22) is {float(value):.6g} where at most "
            f"{float(bound):.6g} is claimed, with delta = {float(delta):.6g}"
        ),
        reservations=() if printed else ("a rate that is not that of eq. (23)",),
    )
