"""Audits of judged functions, and what is asked of their results."""

from __future__ import annotations

import math
from typing import Any

import dpaudit
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.report.schema import Result
from tests.tracing.judged import Judged

READS_LAWS = "law" in Result.model_fields
# So that of some thousand true statements, none is false by chance.
CERTAIN = 1 - 1e-7
SLACK = 1e-6  # of epsilons from quadrature, beside closed forms


def audit_judged(case: Judged, **given: Any) -> Result | None:
    """Return the result of an audit, None where the mechanism is refused.

    Claimed is what is true of the outputs, or what so few outputs cannot refute where nothing is:
    to explain a refutation takes long.
    """
    epsilon = case.epsilon if math.isfinite(case.epsilon) else 100.0
    chosen = {"epsilon": epsilon + SLACK, "trials": 1000, "confidence": CERTAIN, **given}
    for estimator in ("exact-loss", "auto"):  # the second where no law is read
        try:
            return dpaudit.audit(
                case.mechanism, case.dataset, case.neighbour, delta=case.delta,
                **{"estimator": estimator, **chosen, **case.given},
            )  # fmt: skip
        except InvalidArgument:
            continue
        except MechanismError:
            return None
    raise AssertionError("an audit of outputs is refused")


def has_law(result: Result | None) -> bool:
    """Return whether a law was read from the code."""
    return result is not None and getattr(result, "law", None) is not None


def false_ends(case: Judged, result: Result | None) -> list[str]:
    """Return which ends of a result are false of the outputs, or of what they may be."""
    if result is None or result.verdict == "withheld":
        return []
    lower, upper = result.measured.lower, result.measured.upper
    false = [f"lower {lower} > {case.epsilon}"] if lower > case.epsilon + SLACK else []
    if upper is not None and upper < case.least_epsilon - SLACK:
        false.append(f"upper {upper} < {case.least_epsilon}")
    return false
