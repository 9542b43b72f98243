"""The checks that a bound had to pass, in a report."""

from __future__ import annotations

from pydantic import Field

from dpaudit.report.counts import ReportPart


class AssumptionCheck(ReportPart):
    """One assumption of the claim, checked on the audited instance."""

    name: str
    statement: str
    holds: bool
    evidence: str


class SelfCheck(ReportPart):
    """A test that ties the law that was audited to the code that ran."""

    name: str
    statement: str
    passed: bool
    statistic: float
    threshold: float
    evidence: str
    fault: str | None = Field(default=None, description="The code of its kind of fault.")
