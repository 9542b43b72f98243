"""Re-checks that the rate of zhang2018's (23) grows with the penalties.

Singular values are roots of eigenvalues of Gram matrices. Notation in
`dpaudit.algorithms.consensus.verify.networks`.
"""

from __future__ import annotations

from dpaudit.algorithms.consensus.verify.networks import read_node_numbers, read_quadratic_network
from dpaudit.algorithms.consensus.verify.theorem32 import compute_contraction_rate_real
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real


def recompute(document: Document) -> Outcome:
    """Return every assumption, and the rates before and after the penalties grew.

    Raises
    ------
    DataError
        A parameter is outside its domain, a penalty falls, or an array does not have the shape they
        say.

    Examples
    --------
    >>> document = Document(
    ...     path="c.json", claim="zhang2018-section3", kind="property", quantities={},
    ...     assumptions={},
    ...     parameters={
    ...         "nodes": 2, "dual_step": 1.0, "factor": 1.0, "penalties": "shared",
    ...         "rate": "printed",
    ...     },
    ...     instance={
    ...         "adjacency": [[0, 1], [1, 0]], "penalty": [1.0, 1.0], "later": [1.25, 1.25],
    ...         "curvature": [0.125, 0.125], "mu": 1.5,
    ...     },
    ... )
    >>> {name: round(float(value), 4) for name, value in recompute(document).quantities.items()}
    {'rate before': 0.1228, 'rate after': 0.3556, 'value': 1.3556, 'bound': 1.1228, 'ratio': 1.2073}
    """
    document.require_kind("property")
    nodes, theta, adjacency, assumptions = read_quadratic_network(document)
    factor = document.positive("factor")
    printed = document.choice("rate", "printed", "proved") == "printed"
    penalty, curvature = (
        read_node_numbers(document, name, nodes) for name in ("penalty", "curvature")
    )
    later = read_node_numbers(document, "later", nodes)
    mu = Real(document.array("mu", ()))
    if mu <= 1:
        raise document.refused("instance.mu", float(mu), "a number above 1")
    # The sentence compares a network with itself after its penalties grew.
    if any(after < before for after, before in zip(later, penalty, strict=True)):
        raise document.refused("instance.later", list(map(float, later)), "no smaller penalty")
    if "one penalty" in assumptions and max(later) - min(later) > 0:
        raise document.refused("instance.later", list(map(float, later)), "one penalty of all")
    before, after = (
        compute_contraction_rate_real(adjacency, theta, one, curvature, mu, printed)
        for one in (penalty, later)
    )
    value, bound = 1 + after, factor * (1 + before)
    return Outcome(
        assumptions=assumptions | {"mu above 1": (1, mu)},
        quantities={
            "rate before": before,
            "rate after": after,
            "value": value,
            "bound": bound,
            "ratio": value / bound,
        },
        summary=(
            f"with larger penalties 1 + delta is {float(value):.6g} where at most "
            f"{float(bound):.6g} is claimed"
        ),
        reservations=() if printed else ("a rate that is not that of eq. (23)",),
    )
