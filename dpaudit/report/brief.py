"""The verdicts of one command as a short table in Markdown, for a comment or a job's summary."""

from __future__ import annotations

from dpaudit.report.entries import Entries, Entry
from dpaudit.report.render import markdown_text as md

MARK = "<!-- dpaudit -->"  # by which a comment is found again
_SIGNS = {"refuted": "❌", "violated": "❌", "withheld": "⚠️", "missing": "⚠️", "hint": "🔎"}
_HEAD = ("| | Claim | Claimed | Proved | Measured | Verdict |", "|---|---|---|---|---|---|")


def brief(entries: Entries) -> str:
    """Return the table, and below it what leaked."""
    lines = [MARK, f"**dpaudit**: {md(entries.summary)}", "", *_HEAD, *map(_row, entries.entries)]
    wrong = [entry for entry in entries.entries if entry.outcome != "not refuted"]
    if wrong:
        lines += ["", *(f"- **{md(one.name)}**: {md(one.headline)}" for one in wrong)]
    if entries.surety is not None:
        lines += ["", entries.surety]
    return "\n".join([*lines, "", "*Not refuted* is no evidence that a claim holds."]) + "\n"


def _row(entry: Entry) -> str:
    numbers = (md(one) for one in entry.cells or ("", "", ""))
    verdict = f"**{'no result' if entry.outcome == 'missing' else entry.outcome}**"
    cells = (_SIGNS.get(entry.outcome, "✔️"), md(entry.name), *numbers, verdict)
    return f"| {' | '.join(cells)} |"
