"""The expected excess risk of a run on a star, between two bounds that hold."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.algorithms.multistep.verify.star import (
    OUTSIDE,
    CentreLoss,
    CertificateStar,
    average,
    compute_point_diameter,
    noise_free,
    noise_of,
)
from dpaudit.verification import Document
from dpaudit.verification.reals import Number, Real, largest


@dataclass(frozen=True)
class RiskBounds:
    """Two bounds on the risk, and the claims' assumptions about the run."""

    least: Real
    most: Real
    assumptions: dict[str, tuple[Number, Number]]


def risk_of(document: Document, inner_steps: str) -> tuple[CertificateStar, RiskBounds]:
    """Return the star and its risk; ``inner_steps`` names the parameter that says l."""
    star, loss = CertificateStar(document, inner_steps), CentreLoss(document)
    centre, leaf, _, gap = noise_free(star, loss)
    outside, spread, _ = noise_of(star)
    found = largest(loss.pieces(average(centre[:-1])))
    points = [*centre, *(leaf if star.edges else []), loss.target]
    risk = RiskBounds(
        # Where noise changes a gradient no risk is below 0; the rest of the time it is the
        # noise-free one less its spread.
        least=largest(((1 - outside) * found - spread, 0)),
        # Where noise changes a gradient the risk is at most c_2 D = 1.
        most=found + spread + outside,
        assumptions={
            "Lipschitz objective": (max(loss.slopes), 1),
            "bounded models": (compute_point_diameter(points) + 2 * star.slack, 1),
            "clear of kinks": (2 * star.slack, gap),
            "noise stays inside": (outside, OUTSIDE),
        },
    )
    return star, risk
