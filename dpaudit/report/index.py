"""The index of many reports: the whole table on one page, as HTML, Markdown and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit.report.document import write_files
from dpaudit.report.formatting import Numbers, label, number, numbers, percent, printable, value_of
from dpaudit.report.render import templates
from dpaudit.report.schema import Report, Result


def write_index(reports: Mapping[str, tuple[Report, Sequence[bool]]], folder: Path) -> Path:
    """Write ``index.html``, ``index.md`` and ``index.json``; return the HTML page.

    Parameters
    ----------
    reports
        By the name of their folder: the report, and for each result whether it has a certificate.
    folder
        Where the folders are.

    Raises
    ------
    DataError
        If a file cannot be written.
    """
    page = folder / "index.html"
    rows = [
        Row(folder=name, place=place, result=result, shown=numbers(result), certified=has)
        for name, (report, certified) in reports.items()
        for place, (result, has) in enumerate(zip(report.results, certified, strict=True), start=1)
    ]
    contents = {
        page: render_index(rows, html=True),
        folder / "index.md": render_index(rows, html=False),
        folder / "index.json": json.dumps([_entry(row) for row in rows], indent=2, allow_nan=False)
        + "\n",
    }
    write_files(folder, {path: text.encode("utf-8") for path, text in contents.items()})
    return page


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the index: which folder, the place in that report, and what was found there."""

    folder: str
    place: int
    result: Result
    shown: Numbers
    certified: bool


def render_index(rows: Sequence[Row], *, html: bool) -> str:
    """Return the index as a page, or as Markdown."""
    name = "index.html.j2" if html else "index.md.j2"
    words = {"outcome": _outcome(rows), "surety": _surety(rows)}
    text = templates(html=html).get_template(name).render(rows=rows, **words)
    return printable(text)


def _outcome(rows: Sequence[Row]) -> str:
    refuted = sum(row.result.verdict == "refuted" for row in rows)
    claims = len({row.result.claim for row in rows})
    audited = "1 claim was" if claims == 1 else f"{claims} claims were"
    return f"{refuted} of {len(rows)} audits refuted what they looked at; {audited} audited."


def _surety(rows: Sequence[Row]) -> str:
    """Return what the confidence of the whole index is, and how it is shared."""
    spent = [row.result.alpha for row in rows if row.result.alpha > 0]
    if not spent:
        return "Every number was computed without drawing: none is left to chance."
    alpha = math.fsum(spent)
    drawn = "1 audit that draws" if len(spent) == 1 else f"{len(spent)} audits that draw"
    return (
        f"All of it together holds at {percent(1 - alpha)} confidence: the {drawn} share one error "
        f"probability of {number(alpha)}, at most {number(max(spent))} each, and the other "
        f"{len(rows) - len(spent)} were computed and spend none. Each report alone holds at what "
        "it states, which is more."
    )


def _entry(row: Row) -> dict[str, Any]:
    result = row.result
    return {
        "claim": result.claim,
        "variant": result.variant,
        "label": label(result),
        "kind": result.kind,
        "verdict": result.verdict,
        "unit": row.shown.unit,
        "claimed": _number(value_of(result.claimed, result.kind)),
        "proved": _number(value_of(result.proved, result.kind)),
        "lower": _number(result.measured.lower),
        "upper": _number(result.measured.upper),
        "alpha": result.alpha,
        "reason": result.reason,
        "report": f"{row.folder}/report.html",
        "certificate": f"{row.folder}/certificate.json" if row.certified else None,
        "rerun": result.rerun,
    }


def _number(value: float | None) -> float | str | None:
    """Return a number as the reports write it: infinities are words."""
    infinite = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    return value if value is None else infinite.get(value, value)
