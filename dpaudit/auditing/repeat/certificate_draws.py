"""A certificate whose outputs are drawn again: its counts, its seed and its settings."""

from __future__ import annotations

import math

from dpaudit.extension.settings import Settings
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.formatting import value_of
from dpaudit.report.schema import Result


def statistical_certificate(result: Result, settings: Settings) -> Certificate | None:
    """Return counts, seed and settings of a refutation by drawing.

    Returns None where 0 was claimed or the number is infinite: there is no ratio to compare.
    ``dpaudit verify`` runs the audit again and compares every number.
    """
    if not value_of(result.claimed, result.kind) or not math.isfinite(result.measured.lower):
        return None
    return Certificate(
        claim=result.claim,
        source=result.source,
        relation=result.relation,
        parameters={"confidence": result.measured.confidence},
        instance={"settings": settings.document()},
        quantities=quantities_of(result),
        search={"seed": settings.seed, "trials": result.trials},
        kind="statistical",
    )


def quantities_of(result: Result) -> dict[str, float]:
    """Return the numbers of a result that its statistical certificate states."""
    bound, value = value_of(result.claimed, result.kind) or 0.0, result.measured.lower
    # A quotient says nothing where the bound is negative: -2 is below -1.
    # The floor avoids a division by 0 where both numbers are 0.
    excess = (value - bound) / max(abs(value), abs(bound), 1e-300)
    numbers = {"bound": bound, "value": value, "ratio": value / bound if bound > 0 else 1 + excess}
    return numbers | {f"count: {name}": float(n) for name, n in result.counts.items()}
