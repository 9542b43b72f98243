"""Reports, and the index of many, as pages to print and as Markdown: both say the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dpaudit.faults.catalogue import all_faults
from dpaudit.report.acceptance import describe, unmatched_line
from dpaudit.report.formatting import (
    NO_CLAIM,
    NONE,
    count,
    divisor,
    duration,
    fault_codes,
    kept_before,
    label,
    landmarks,
    modelled,
    number,
    numbers,
    percent,
    searched,
    setting,
    verdict_words,
    why_unproved,
)
from dpaudit.report.groups import MARKS
from dpaudit.report.schema import Report, Result
from dpaudit.report.thumbnails import thumbnail
from dpaudit.text import one_line, printable

if TYPE_CHECKING:
    from jinja2 import Environment

_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_MARKDOWN_OPENER = re.compile(r"^([-+#=]|\d+(?=[.)](?:\s|$)))")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BACKTICKS = re.compile(r"`+")


def render_html(report: Report) -> str:
    """Return ``report`` as one HTML page that needs nothing else: no network, no script.

    Every text in the report is escaped, whoever wrote it; figures stand in the page as SVG.
    """
    results = [
        (index, result, numbers(result), _figures(result, index))
        for index, result in enumerate(report.results, start=1)
    ]
    template = templates(html=True).get_template("report.html.j2")
    page = template.render(report=report, results=results, overview=_overview(report))
    return printable(page)


def render_markdown(report: Report) -> str:
    """Return ``report`` as Markdown, without the figures.

    Every text in the report is escaped, so that a table row stays one row.
    """
    results = [
        (index, result, numbers(result)) for index, result in enumerate(report.results, start=1)
    ]
    template = templates(html=False).get_template("report.md.j2")
    text = template.render(report=report, results=results)
    return re.sub(r"\n{3,}", "\n\n", printable(text)).rstrip("\n") + "\n"


def missing_audits(there: int, names: Sequence[str], words: str) -> str:
    """Return how many of all audits are there, and which are not; nothing if all are."""
    counted = f"{there} of {there + len(names)}"
    return f"{words.format(counted)}. Missing: {'; '.join(names)}." if names else ""


def missing_from(report: Report) -> str:
    """Return which audits the report lacks, in words; nothing if it lacks none."""
    names = [one_line(name) for name in report.missing]
    return missing_audits(len(report.results), names, "Only {} audits gave a verdict")


def markdown_text(text: object) -> str:
    r"""Return ``text`` as one line of Markdown that shows exactly these characters.

    Examples
    --------
    >>> print(markdown_text("a | b <script>"))
    a \| b &lt;script&gt;
    """
    line = _ENTITY.sub("&amp;", one_line(str(text)))
    line = line.replace("<", "&lt;").replace(">", "&gt;")
    line = _MARKDOWN_SPECIAL.sub(r"\\\1", line)
    return _MARKDOWN_OPENER.sub(_escaped_opener, line)


def fenced(text: str, language: str = "sh") -> str:
    """Return ``text`` as a Markdown code block that it cannot end.

    Examples
    --------
    >>> print(fenced("dpaudit run"))
    ```sh
    dpaudit run
    ```
    """
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def summary(report: Report) -> str:
    """Return the outcome of the whole report in one sentence.

    It never says more than what was found: a claim that was not refuted was not shown to hold.
    """
    total = len(report.results)
    withheld = sum(result.verdict == "withheld" for result in report.results)
    if total == 0:
        return "No claim was audited."
    if withheld == total:
        return "The verdict is withheld." if total == 1 else f"All {total} verdicts are withheld."
    left = f"; {withheld} {'is' if withheld == 1 else 'are'} withheld" if withheld else ""
    accepted = sum(result.is_accepted for result in report.results)
    if accepted:
        left += f"; {accepted} refutation{' is' if accepted == 1 else 's are'} accepted"
    return f"{_refutations(report.results)}{left}."


def _refutations(results: Sequence[Result]) -> str:
    """Return how many of some results are refuted, as the begin of a sentence."""
    total = len(results)
    refuted = sum(result.verdict == "refuted" for result in results)
    if any(result.variant is not None for result in results):
        return f"{refuted or 'None'} of {total} audits refuted what they looked at"
    if all(verdict_words(result) == NO_CLAIM for result in results):
        return "Nothing is claimed, so that there is no verdict: what was measured stands alone"
    if total == 1:
        ends = {"refuted": "refuted", "proved": "proved"}
        return f"The claim audited was {ends.get(results[0].verdict, 'not refuted')}"
    which = f"{refuted} of {total}" if refuted else f"None of the {total}"
    return f"{which} claims {'were' if refuted > 1 else 'was'} refuted"


def _escaped_opener(match: re.Match[str]) -> str:
    opener = match.group(1)
    return opener + "\\" if opener.isdigit() else "\\" + opener


def _figures(result: Result, index: int) -> Mapping[str, str]:
    """Return the figures of a result; a report that grows draws those of each result once."""
    return _drawn(result.model_dump_json(), index)


@lru_cache(maxsize=64)
def _drawn(document: str, index: int) -> Mapping[str, str]:
    from dpaudit.report.charts import render_svg
    from dpaudit.report.pictures import show_result

    shown = show_result(Result.model_validate_json(document))
    return {one.name: render_svg(one, prefix=f"r{index}-{_id(one.name)}") for one in shown}


def _id(name: str) -> str:
    return name.replace("_", "-")


def _overview(report: Report) -> str | None:
    import dpaudit.report.figures as figures

    ratios = any(divisor(result) is not None for result in report.results)
    return figures.overview(report.results) if ratios and len(report.results) > 1 else None


@lru_cache(maxsize=2)
def templates(*, html: bool) -> Environment:
    """Return the templates of pages, or of Markdown, with the filters they use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dpaudit.report"),
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., object]] = {
        "label": label,
        "verdict": verdict_words,
        "duration": duration,
        "number": number,
        "at_least": partial(number, rounding=ROUND_FLOOR),
        "at_most": partial(number, rounding=ROUND_CEILING),
        "count": count,
        "percent": percent,
        "setting": setting,
        "md": markdown_text,
        "fenced": fenced,
        "modelled": modelled,
        "landmarks": landmarks,
        "why_unproved": why_unproved,
        "describe": describe,
        "unmatched_line": unmatched_line,
        "fault_codes": fault_codes,
        "thumbnail": thumbnail,
    }
    environment.filters.update(filters)
    # Not "none": in a template that is the literal, whatever a global of that name holds.
    environment.globals |= {
        "summary": summary,
        "fault_of": all_faults().get,
        "kept_before": kept_before,
        "missing_from": missing_from,
        "nothing": NONE,
        "marks": MARKS,
        "searched": searched,
    }
    return environment
