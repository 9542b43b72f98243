"""The proof beside a claim in a report, or the line that stopped it."""

from __future__ import annotations

from pydantic import Field

from dpaudit.report.counts import Probability, ReportPart


class Proved(ReportPart):
    """The guarantee of a theorem for the mechanism as configured, with the theorem's source."""

    epsilon: float | None = None
    delta: Probability | None = None
    sensitivity: float | None = None
    value: float | None = None
    source: str
    declared: bool = Field(
        default=False,
        description="Whether it is about a release that was declared, which the code may not be.",
    )


class ProofStop(ReportPart):
    """The place where a proof from the code stopped: the line, the reason, and a remedy."""

    place: str
    reason: str
    cure: str = ""
    fault: str | None = Field(
        default=None, description="The code of its kind of fault, where it is one."
    )
