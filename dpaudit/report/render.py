"""Reports, and the index of many, as pages to print and as Markdown: both say the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dpaudit.escaping import make_printable, one_line
from dpaudit.faults.catalogue import all_faults
from dpaudit.report.acceptance import format_acceptance, format_unmatched_entry
from dpaudit.report.formatting import (
    NO_CLAIM,
    NONE,
    fault_codes,
    format_integer,
    format_model_based,
    format_percent,
    format_result_label,
    format_seconds,
    format_significant,
    format_taken,
    get_divisor,
    is_search,
    make_shown_numbers,
    select_wealth_landmarks,
    setting,
    verdict_words,
    why_unproved,
)
from dpaudit.report.groups import MARKS
from dpaudit.report.schema import Report, Result
from dpaudit.report.thumbnails import render_thumbnail

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
        (index, result, make_shown_numbers(result), _render_result_figures(result, index))
        for index, result in enumerate(report.results, start=1)
    ]
    template = make_template_environment(html=True).get_template("report.html.j2")
    page = template.render(report=report, results=results, overview=_render_overview_figure(report))
    return make_printable(page)


def render_markdown(report: Report) -> str:
    """Return ``report`` as Markdown, without the figures.

    Every text in the report is escaped, so that a table row stays one row.
    """
    results = [
        (index, result, make_shown_numbers(result))
        for index, result in enumerate(report.results, start=1)
    ]
    template = make_template_environment(html=False).get_template("report.md.j2")
    text = template.render(report=report, results=results)
    return re.sub(r"\n{3,}", "\n\n", make_printable(text)).rstrip("\n") + "\n"


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
    # Ampersands come first, as the next line makes entities that have to stay.
    line = _ENTITY.sub("&amp;", one_line(str(text)))
    line = line.replace("<", "&lt;").replace(">", "&gt;")
    line = _MARKDOWN_SPECIAL.sub(r"\\\1", line)
    return _MARKDOWN_OPENER.sub(_escape_opener, line)


def format_code_block(text: str, language: str = "sh") -> str:
    """Return ``text`` as a Markdown code block that it cannot end.

    Examples
    --------
    >>> print(format_code_block("dpaudit run"))
    ```sh
    dpaudit run
    ```
    """
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def format_report_summary(report: Report) -> str:
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
    return f"{_format_refutation_count(report.results)}{left}."


def _format_refutation_count(results: Sequence[Result]) -> str:
    """Return how many of some results are refuted, as the begin of a sentence."""
    total = len(results)
    refuted = sum(result.verdict == "refuted" for result in results)
    if any(result.variant is not None for result in results):
        return f"{refuted or 'None'} of {total} audits refuted their claims"
    if all(verdict_words(result) == NO_CLAIM for result in results):
        return "No number is claimed, so there is no verdict, only a measurement"
    if total == 1:
        ends = {"refuted": "refuted", "proved": "proved"}
        return f"The claim audited was {ends.get(results[0].verdict, 'not refuted')}"
    which = f"{refuted} of {total}" if refuted else f"None of the {total}"
    return f"{which} claims {'were' if refuted > 1 else 'was'} refuted"


def _escape_opener(match: re.Match[str]) -> str:
    opener = match.group(1)
    # A digit cannot be escaped in Markdown; the point after it can, which is where the
    # backslash goes.
    return opener + "\\" if opener.isdigit() else "\\" + opener


def _render_result_figures(result: Result, index: int) -> Mapping[str, str]:
    """Return the figures of a result; a report that grows draws those of each result once."""
    # The key is the JSON, since a result holds dictionaries and lists and has no hash.
    return _render_cached_figures(result.model_dump_json(), index)


@lru_cache(maxsize=64)
def _render_cached_figures(document: str, index: int) -> Mapping[str, str]:
    from dpaudit.report.charts import render_svg
    from dpaudit.report.pictures import show_result

    shown = show_result(Result.model_validate_json(document))
    return {
        one.name: render_svg(one, prefix=f"r{index}-{_make_figure_id(one.name)}") for one in shown
    }


def _make_figure_id(name: str) -> str:
    return name.replace("_", "-")


def _render_overview_figure(report: Report) -> str | None:
    import dpaudit.report.figures as figures

    ratios = any(get_divisor(result) is not None for result in report.results)
    return figures.render_overview(report.results) if ratios and len(report.results) > 1 else None


@lru_cache(maxsize=2)
def make_template_environment(*, html: bool) -> Environment:
    """Return the templates of pages, or of Markdown, with the filters they use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dpaudit.report"),
        autoescape=html,
        # A field that a template misspells is an error; by default Jinja would print nothing in
        # its place.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., object]] = {
        "label": format_result_label,
        "verdict": verdict_words,
        "duration": format_seconds,
        "number": format_significant,
        "at_least": partial(format_significant, rounding=ROUND_FLOOR),
        "at_most": partial(format_significant, rounding=ROUND_CEILING),
        "count": format_integer,
        "percent": format_percent,
        "setting": setting,
        "md": markdown_text,
        "fenced": format_code_block,
        "modelled": format_model_based,
        "landmarks": select_wealth_landmarks,
        "why_unproved": why_unproved,
        "describe": format_acceptance,
        "unmatched_line": format_unmatched_entry,
        "fault_codes": fault_codes,
        "thumbnail": render_thumbnail,
    }
    environment.filters.update(filters)
    # Not "none": in a template that is the literal, whatever a global of that name holds.
    environment.globals |= {
        "summary": format_report_summary,
        "fault_of": all_faults().get,
        "kept_before": format_taken,
        "missing_from": missing_from,
        "nothing": NONE,
        "marks": MARKS,
        "searched": is_search,
    }
    return environment
