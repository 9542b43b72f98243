"""Every statement of TablePuppet."""

from __future__ import annotations

from dpaudit.extension.ledger import Paper

PAPER = Paper(
    name="tablepuppet",
    title="TablePuppet, appendix",
    citation="TablePuppet",
    causes=(),
    rows=(),
)
