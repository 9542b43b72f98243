"""Verdicts: what a certified number says about a claim, never that something is private."""

from __future__ import annotations

from decimal import ROUND_FLOOR
from typing import Literal

from dpaudit.report.formatting import number

Verdict = Literal["refuted", "not refuted"]

# A sensitivity is a ratio of computed floats; equality up to rounding is not a violation.
RELATIVE_ROUNDING = 1e-9


def judge(claimed: float, lower: float) -> Verdict:
    """Return whether a certified lower bound exceeds the claimed value.

    Examples
    --------
    >>> judge(claimed=20.0, lower=25.3)
    'refuted'
    >>> judge(claimed=1.0, lower=0.75)
    'not refuted'
    """
    return "refuted" if lower > claimed * (1 + RELATIVE_ROUNDING) else "not refuted"


def reason(quantity: str, claimed: float, lower: float, verdict: Verdict) -> str:
    """Return the verdict's reason in one sentence; the certified end is rounded down."""
    shown, claim = number(lower, rounding=ROUND_FLOOR), number(claimed)
    if verdict == "refuted":
        shown = number(lower, 6, ROUND_FLOOR) if shown == claim else shown
        return f"The certified lower bound {shown} exceeds the claimed {quantity} {claim}."
    share = f"; it reaches {min(lower / claimed, 1):.1%} of the claim" if claimed > 0 else ""
    return (
        f"The certified lower bound {shown} does not exceed the claimed {quantity} "
        f"{claim}{share}. This is not evidence that the claim holds."
    )
