"""The verdicts of one command as a short table in Markdown, for a comment or a job's summary."""

from __future__ import annotations

from collections.abc import Sequence

from dpaudit.faults.catalogue import all_faults
from dpaudit.report.acceptance import format_acceptance
from dpaudit.report.entries import ReportEntries, ReportEntry
from dpaudit.report.render import markdown_text as md

MARK = "<!-- dpaudit -->"  # by which a comment is found again
_SIGNS = {"refuted": "❌", "withheld": "⚠️", "missing": "⚠️", "hint": "🔎"}
_MOST = 25_000  # characters of each half: code hosts refuse a comment of more than 65,536
_HEAD = ("| | Claim | Claimed | Proved | Measured | Verdict |", "|---|---|---|---|---|---|")


def render_brief(entries: ReportEntries) -> str:
    """Return the table, and below it the leaks; of many audits, as much as a comment takes."""
    rows = _select_fitting_lines(
        [*map(_render_brief_row, entries.entries)], "| | and {} more, in the report | | | | |"
    )
    lines = [MARK, f"**dpaudit**: {md(entries.summary)}", "", *_HEAD, *rows]
    wrong = [entry for entry in entries.entries if entry.outcome not in ("not refuted", "proved")]
    if wrong:
        reasons = [
            f"- **{md(one.name)}**: {md(_format_leak_reason(one))}{_render_fault_link(one)}"
            for one in wrong
        ]
        lines += ["", *_select_fitting_lines(reasons, "- and {} more, in the report")]
    if entries.surety is not None:
        lines += ["", entries.surety]
    return "\n".join([*lines, "", "*Not refuted* is no evidence that a claim holds."]) + "\n"


def _format_leak_reason(entry: ReportEntry) -> str:
    """Return the leak, and the baseline's entry for it."""
    known = "" if entry.acceptance is None else f" {format_acceptance(entry.acceptance)}"
    return f"{entry.headline}{known}"


def _render_fault_link(entry: ReportEntry) -> str:
    """Return a link to the kind of fault, or how its page is shown."""
    fault = None if entry.fault is None else all_faults().get(entry.fault)
    if fault is None:
        return ""
    code = fault.code if fault.address is None else f"[{fault.code}]({fault.address})"
    return f" ({code}: {md(fault.title)})"


def _select_fitting_lines(lines: Sequence[str], more: str) -> list[str]:
    """Return the lines that fit, and how many do not."""
    kept, used = list[str](), 0
    for count, line in enumerate(lines):
        used += len(line) + 1
        if used > _MOST:
            return [*kept, more.format(len(lines) - count)]
        kept.append(line)
    return kept


def _render_brief_row(entry: ReportEntry) -> str:
    numbers = (md(one) for one in entry.cells or ("", "", ""))
    verdict = f"**{'no result' if entry.outcome == 'missing' else entry.outcome}**"
    verdict += " (accepted)" if entry.is_accepted else ""
    sign = "☑️" if entry.is_accepted else _SIGNS.get(entry.outcome, "✔️")
    cells = (sign, md(entry.name), *numbers, verdict)
    return f"| {' | '.join(cells)} |"
