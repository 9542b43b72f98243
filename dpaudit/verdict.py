"""Verdicts: what a certified number says about a claim, never that something is private."""

from __future__ import annotations

from typing import Literal

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
    """Return the verdict's reason in one sentence."""
    if verdict == "refuted":
        return (
            f"The certified lower bound {lower:.4g} exceeds the claimed {quantity} {claimed:.4g}."
        )
    share = f"; it reaches {lower / claimed:.1%} of the claim" if claimed > 0 else ""
    return (
        f"The certified lower bound {lower:.4g} does not exceed the claimed {quantity} "
        f"{claimed:.4g}{share}. This is not evidence that the claim holds."
    )
