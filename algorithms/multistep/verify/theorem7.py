r"""Re-checks a violation of Theorem 7 of Huang & Gong (eq. 24) from the certificate alone.

A star of n nodes; the loss at its centre is ``f(w) = max(right (w_1 - u), -left (w_1 - u),
up (w_2 - v), 0)``, at the leaves 0; D = c_2 = c_1 = c_0 = 1, d = 2, no regulariser. The noise-free
run is computed step by step, all leaves being alike. Noise passes through a linear map, as long as
it changes no gradient: every noise term is followed to the end, and the squares of its effects add
up to variances v. No iterate or dual moves by more than ``slack`` but for a probability p, the sum
of ``exp(-slack^2 / 2v)``, exact for two features of variance v each. Then the gradients are those
of the noise-free run, and the left side of eq. (24) is its noise-free value less mean deviations.
Otherwise no term of it is below 0, as ``f >= 0 = f(u, v)``.
"""

from __future__ import annotations

from dpaudit.algorithms.multistep.verify.star import (
    OUTSIDE,
    CentreLoss,
    CertificateStar,
    average,
    compute_point_diameter,
    compute_point_distance_square,
    noise_free,
    noise_of,
)
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, largest, length, sqrt


def recompute(document: Document) -> Outcome:
    """Return every assumption, and both sides of eq. (24).

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> parameters = {
    ...     "nodes": 2, "iterations": 1, "inner_steps": 1, "records": 10**9, "epsilon": 1.0,
    ...     "delta": 1e-5, "steepest": "sum", "penalty": 1.0, "beta": 1.0, "slack": 1e-4,
    ...     "factor": 1.0,
    ... }
    >>> outcome = recompute(
    ...     Document(
    ...         path="c.json",
    ...         claim="huang2020-theorem7",
    ...         kind="property",
    ...         parameters=parameters,
    ...         quantities={},
    ...         assumptions={},
    ...         instance={"target": [0.5, 0.0], "slopes": [1.0, 1.0, 1.0]},
    ...     )
    ... )
    >>> round(float(outcome.quantities["risk"]), 6), round(float(outcome.quantities["bound"]), 4)
    (0.5, 5.4142)
    """
    return verify_utility_sides(document, document.positive("factor"))


def verify_utility_sides(document: Document, factor: Real | int = 1) -> Outcome:
    """Return every assumption, and both sides of eq. (24), the right one times a factor."""
    document.require_kind("property")
    star = CertificateStar(document)
    loss = CentreLoss(document)
    centre, leaf, duals, gap = noise_free(star, loss)
    outside, spread_centre, spread_leaf = noise_of(star)
    beta = document.positive("beta")
    slack, edges = star.slack, star.edges
    # Eq. (22) averages all models but the last ones.
    mean, mean_leaf = (average(path[:-1]) for path in (centre, leaf))
    risk = largest(loss.pieces(mean))
    violation = 2 * edges * beta * length(compute_point_distance_square(mean, mean_leaf))
    lost = spread_centre + 2 * edges * beta * (spread_centre + spread_leaf)
    value = largest(((1 - outside) * (risk + violation) - lost, 0))
    bound = factor * (
        star.nodes * sqrt(2) * star.share / sqrt(star.steps)
        + 2 * edges * (star.rho + beta**2 / star.rho) / star.iterations
    )
    points = [*centre, *(leaf if edges else []), loss.target]
    return Outcome(
        assumptions={
            "Lipschitz objective": (max(loss.slopes), 1),
            "bounded models": (compute_point_diameter(points) + 2 * slack, 1),
            "bounded duals": (largest(duals) + slack, beta),
            "clear of kinks": (2 * slack, gap),
            "noise stays inside": (outside, OUTSIDE),
        },
        quantities={
            "risk": risk,
            "violation": violation,
            "value": value,
            "bound": bound,
            "ratio": value / bound,
        },
        summary=f"expected excess risk and violation are at least {float(value):.6g}, where "
        f"{float(bound):.6g} is claimed",
    )
