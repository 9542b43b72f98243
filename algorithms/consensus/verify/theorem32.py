"""Re-checks a violation of zhang2018's Theorem 3.2 from the certificate alone.

One step of M-ADMM from ``Lambda(0) = 0`` on ``O_i(f) = m_i f^2/2 - b_i f``: the claim is
``(1 + delta) ||Z(1) - Z*||_J^2 <= ||Z(0) - Z*||_J^2`` with the delta of eq. (23). Both sides are
divided by the right one if all nodes share a penalty, and otherwise, as that can be negative, by
the size of the start. Singular values are roots of eigenvalues of Gram matrices. Notation in
`dpaudit.algorithms.consensus.verify.networks`.
"""

from __future__ import annotations

from dpaudit.algorithms.consensus.verify.networks import (
    build_signed_laplacian,
    first_step,
    read_node_numbers,
    read_quadratic_network,
    singular_values,
)
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Matrix, Real, diagonal, smallest


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> document = Document(
    ...     path="c.json", claim="zhang2018-theorem32", kind="property", quantities={},
    ...     assumptions={},
    ...     parameters={
    ...         "nodes": 2, "dual_step": 1.0, "factor": 1.0, "penalties": "shared",
    ...         "rate": "printed",
    ...     },
    ...     instance={
    ...         "adjacency": [[0, 1], [1, 0]], "penalty": [1.25, 1.25], "curvature": [0.1, 0.1],
    ...         "slope": [0.0, 0.0], "start": [1.0, 1.0], "mu": 1.25,
    ...     },
    ... )
    >>> round(float(recompute(document).quantities["ratio"]), 4)
    1.2761
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
    slope, start = (read_node_numbers(document, name, nodes) for name in ("slope", "start"))
    step = first_step(adjacency, theta, penalty, curvature, slope, start)
    delta = compute_contraction_rate_real(adjacency, theta, penalty, curvature, mu, printed)
    unit = step.before if shared else step.size
    if not unit > 0:
        raise document.refused("instance", "a start at the optimum", "a distance above 0")
    value, bound = (1 + delta) * step.after / unit, factor * step.before / unit
    ratio = value / bound if shared else 1 + value - bound
    return Outcome(
        assumptions=assumptions | {"mu above 1": (1, mu)},
        quantities={
            "before": step.before,
            "after": step.after,
            "size": step.size,
            "rate": delta,
            "value": value,
            "bound": bound,
            "ratio": ratio,
        },
        summary=(
            f"(1 + delta) ||Z(1) - Z*||^2 is {float(value):.6g} where at most {float(bound):.6g} "
            f"is claimed (delta = {float(delta):.6g}; in units of "
            f"{'||Z(0) - Z*||^2' if shared else 'the size of the start'})"
        ),
        reservations=() if printed else ("a rate that is not that of eq. (23)",),
    )


def compute_contraction_rate_real(
    adjacency: Matrix,
    theta: Real,
    penalty: list[Real],
    curvature: list[Real],
    mu: Real,
    printed: bool,
) -> Real:
    """Return delta of eq. (23), or the one that is proved for a shared penalty."""
    lap, signless = build_signed_laplacian(adjacency, -1), build_signed_laplacian(adjacency, 1)
    above = singular_values(diagonal([one - theta for one in penalty]) * lap)
    tilde = singular_values(diagonal(penalty) * signless)[0]
    # Singular values descend; the last one is 0 on a connected graph.
    reach = theta * singular_values(lap)[-2]
    numerator = 2 * min(curvature) + (2 * above[-2] if printed else 0)
    squares = mu**2 * max(curvature) ** 2 + mu * above[0] ** 2
    return smallest((reach / (mu**2 * tilde), numerator / (squares / (reach * (mu - 1)) + tilde)))
