"""Verdicts: what a certified number says about a claim, never that something is private."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal
from typing import Literal

from dpaudit.refutation.inequality import RELATIVE_ROUNDING
from dpaudit.report.formatting import number

Verdict = Literal["refuted", "not refuted"]


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


def reason(
    quantity: str,
    claimed: float,
    lower: float,
    verdict: Verdict,
    subject: str = "The certified lower bound",
    *,
    long: bool = False,
) -> str:
    """Return the verdict's reason in one sentence; the certified end is rounded down.

    A ``long`` name of the quantity comes after its number.

    Examples
    --------
    >>> reason("epsilon", 20.0, 20.0001, "refuted")
    'The certified lower bound 20.0001 exceeds the claimed epsilon 20.'
    """
    claim = number(claimed)
    stated = f"{claim}, the claimed {quantity}" if long else f"the claimed {quantity} {claim}"
    if verdict == "refuted":
        return f"{subject} {_shown_above(lower, claimed)} exceeds {stated}."
    shown = number(lower, rounding=ROUND_FLOOR)
    share = f"; it reaches {min(lower / claimed, 1):.1%} of the claim" if claimed > 0 else ""
    return (
        f"{subject} {shown} does not exceed {stated}{share}. "
        "This is not evidence that the claim holds."
    )


def _shown_above(lower: float, claimed: float) -> str:
    """Return ``lower``, rounded down, with the digits that show it above the claim."""
    for digits in range(4, 12):
        shown = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(f"{lower:.12g}")
        if shown > Decimal(f"{claimed:.4g}"):
            return number(lower, digits, ROUND_FLOOR)
    return number(lower, 12, ROUND_FLOOR)
