"""Acceptance by a baseline: the accepted refutation, the reason, and the change since then."""

from __future__ import annotations

from decimal import ROUND_FLOOR
from typing import Literal

from pydantic import Field

from dpaudit.report.counts import ReportPart
from dpaudit.report.formatting import format_significant

State = Literal["accepted", "worse", "expired", "changed", "not refuted", "withheld"]


class Acceptance(ReportPart):
    """The entry of a baseline that a result has, and its present state.

    ``accepted`` is the one state in which a refutation does not decide the exit status: the claim
    is the one that was accepted, the certified lower end is at most ``up_to``, and the entry has
    not expired. ``changed`` says that the entry of this name is about another claim.
    """

    state: State
    reason: str
    since: str = Field(description="The day on which it was accepted.")
    until: str | None = Field(default=None, description="The last day on which it is accepted.")
    was: float = Field(description="The certified lower end of then.")
    up_to: float = Field(description="The largest certified lower end that is accepted.")
    now: float = Field(
        description="That of this result, at the confidence of then where counts give it."
    )
    differs: list[str] = Field(
        default=[], description="What is another than in the entry, of one that is changed."
    )


def format_acceptance(acceptance: Acceptance) -> str:
    """Return the state of an accepted refutation, in a sentence or two.

    Examples
    --------
    >>> known = {"reason": "rewritten in May", "since": "2031-03-01", "was": 1.905, "up_to": 2.0}
    >>> format_acceptance(Acceptance(state="accepted", now=1.905, **known))
    'Accepted on 2031-03-01 (rewritten in May) up to 2: was at least 1.905, is at least 1.905 now.'
    >>> print(format_acceptance(Acceptance(state="worse", now=3.81, **known)))
    Worse than the refutation that was accepted on 2031-03-01 (rewritten in May) up to 2: was at \
least 1.905, is at least 3.81 now. It is refuted again.
    """
    moved = (
        f"was at least {_format_floored(acceptance.was)}, is at least "
        f"{_format_floored(acceptance.now)} now"
    )
    entry = f"on {acceptance.since} ({acceptance.reason})"
    most = f"up to {format_significant(acceptance.up_to)}"
    match acceptance.state:
        case "accepted":
            last = "" if acceptance.until is None else f" It is accepted until {acceptance.until}."
            return f"Accepted {entry} {most}: {moved}.{last}"
        case "worse":
            return (
                f"Worse than the refutation that was accepted {entry} {most}: {moved}. It is "
                f"refuted again."
            )
        case "expired":
            return f"Accepted {entry} until {acceptance.until}, which is over: {moved}."
        case "changed":
            other = ", ".join(acceptance.differs)
            return (
                f"The refutation accepted {entry} is of another claim: {other}. It does not "
                f"count here."
            )
        case "not refuted":
            was = f"was at least {_format_floored(acceptance.was)}"
            return f"Accepted {entry}, and no longer refuted ({was}): delete its entry."
        case _:
            return f"Accepted {entry}, and the verdict is withheld now."


def format_unmatched_entry(entry: str) -> str:
    """Return the note on a baseline's entry without an audit."""
    return f"No audit of this command is the accepted {entry}: delete its entry if it is gone."


def _format_floored(value: float) -> str:
    # A certified lower end is rounded down wherever it is shown: rounded up, it would say more
    # than was certified.
    return format_significant(value, rounding=ROUND_FLOOR)
