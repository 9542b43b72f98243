"""Lines of the code that was audited, in a report."""

from __future__ import annotations

from pydantic import Field

from dpaudit.report.counts import ReportPart


class CodeLine(ReportPart):
    """A line that draws noise in a call on the audited pair."""

    file: str = Field(description="Its name without its folder.")
    line: int
    function: str
    text: str = Field(description="What stands there; empty where the source is not at hand.")
    fault: str | None = Field(
        default=None, description="The code of the kind of fault that is seen there."
    )

    @property
    def words(self) -> str:
        """The place, and the code there."""
        place = f"{self.file}:{self.line} in {self.function}"
        return f"{place}: {self.text}" if self.text else place
