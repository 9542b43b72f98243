"""The index of many reports: the whole table on one page, as HTML, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpaudit.report.document import write_files
from dpaudit.report.formatting import Numbers, label, numbers, printable, value_of
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
    results = [
        (name, result, numbers(result), has)
        for name, (report, certified) in reports.items()
        for result, has in zip(report.results, certified, strict=True)
    ]
    entries = [_entry(*row) for row in results]
    contents = {
        page: render_index(results, html=True),
        folder / "index.md": render_index(results, html=False),
        folder / "index.json": json.dumps(entries, indent=2, allow_nan=False) + "\n",
    }
    write_files(folder, {path: text.encode("utf-8") for path, text in contents.items()})
    return page


def render_index(results: list[tuple[str, Result, Numbers, bool]], *, html: bool) -> str:
    """Return the index as a page, or as Markdown."""
    name = "index.html.j2" if html else "index.md.j2"
    refuted = sum(result.verdict == "refuted" for _, result, _, _ in results)
    text = templates(html=html).get_template(name).render(results=results, refuted=refuted)
    return printable(text)


def _entry(name: str, result: Result, shown: Numbers, certified: bool) -> dict[str, Any]:
    return {
        "claim": result.claim,
        "variant": result.variant,
        "label": label(result),
        "kind": result.kind,
        "verdict": result.verdict,
        "unit": shown.unit,
        "claimed": _number(value_of(result.claimed, result.kind)),
        "proved": _number(value_of(result.proved, result.kind)),
        "lower": _number(result.measured.lower),
        "upper": _number(result.measured.upper),
        "reason": result.reason,
        "report": f"{name}/report.html",
        "certificate": f"{name}/certificate.json" if certified else None,
        "rerun": result.rerun,
    }


def _number(value: float | None) -> float | str | None:
    """Return a number as the reports write it: infinities are words."""
    infinite = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    return value if value is None else infinite.get(value, value)
