"""Drafts of issues for the maintainers of a package: plain text that a person may send.

A draft says exactly what was run, what the documentation promises and where, what happens instead,
how anybody sees it with the package alone, and what would mend it. Drafts stand in ``disclosure/``,
which git ignores, in files that their owner alone can read: what has no public thread is told to
the maintainers first.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from decimal import ROUND_FLOOR
from pathlib import Path

from dpaudit.escaping import make_printable, one_line
from dpaudit.files import write_files
from dpaudit.report.formatting import format_significant
from dpaudit.report.render import format_code_block
from dpaudit.scan.finding import ScanFinding, ScanResult
from dpaudit.scan.publication.known_findings import PackageNotes, Thread

FOLDER = "disclosure"
_COLUMNS = 100
_SUGGESTIONS = {
    "structure": "The shape, keys, classes, type, missing values, warnings and exceptions of what "
    "is published should follow from public parameters alone: taken as an argument, or computed "
    "with privacy.",
    "distribution": "The noise should be scaled to the largest change that one record can make "
    "under the relation that is claimed, over everything that is published.",
    "floating point": "Noise in floating point should be made safe: snapping, discrete noise on a "
    "grid that does not depend on the data, or rounding to a granularity set before.",
}
_RELATIONS = {
    "replace-record": "one record replaced by another",
    "add-remove-record": "one record added or removed",
}


def write_drafts(result: ScanResult, folder: Path, known: PackageNotes | None = None) -> list[Path]:
    """Write a draft for each finding; return their paths.

    Parameters
    ----------
    result
        The scan, with its reproductions.
    folder
        Usually ``disclosure``.
    known
        Public threads, which a draft about what they are about names.

    Raises
    ------
    DataError
        A draft cannot be written.
    """
    known = known or PackageNotes()
    drafts = {
        folder / f"{_make_finding_name(one)}-{place}.md": render_issue_draft(
            one, result, known.threads_of(one)
        )
        for place, one in enumerate(result.findings, start=1)
    }
    if drafts:
        contents = {path: text.encode("utf-8") for path, text in drafts.items()}
        contents[folder / ".gitignore"] = b"*\n"  # in whatever repository the folder is
        write_files(folder, contents, private=True)
    return list(drafts)


def _make_finding_name(finding: ScanFinding) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", one_line(f"{finding.package}-{finding.version}"))


def render_issue_draft(
    finding: ScanFinding, result: ScanResult, threads: Sequence[Thread] = ()
) -> str:
    """Return the draft of an issue about one finding."""
    parts = [
        f"# {_format_issue_title(finding)}",
        _wrap_issue_paragraph(
            f"Hello, and thank you for {result.distribution}. While checking version "
            f"{finding.version} we saw {finding.subject} behave in a way that its documentation "
            "does not seem to allow. It may well be that we misread it; then please tell us."
        ),
        "## What is documented",
        _wrap_issue_paragraph(_format_documented_claim(finding)),
        "## What happens",
        _wrap_issue_paragraph(_format_observed_finding(finding)),
        *_render_reproduction_lines(finding),
        "## What might mend it",
        _wrap_issue_paragraph(finding.remedy or _SUGGESTIONS[finding.kind]),
        "## Versions",
        _format_version_list(result),
        *_render_related_threads(threads),
        _wrap_issue_paragraph(
            f"Found by dpaudit {result.dpaudit}, by drawing outputs on two neighbouring datasets. "
            f"The bound holds at {_format_floored_confidence(finding.confidence)} confidence, "
            "for all that was "
            "checked of this release together."
        ),
    ]
    # Names and texts come from the package under audit, and could hold control characters that
    # a terminal obeys.
    return make_printable("\n\n".join(parts)) + "\n"


def _format_issue_title(finding: ScanFinding) -> str:
    at = "" if not finding.at_delta else f" at delta = {finding.at_delta:g}"
    return (
        f"{finding.subject}: epsilon is at least {_format_floored_epsilon(finding.lower)}{at} on "
        "one pair of "
        f"neighbours, where {finding.claimed.words} is documented"
    )


def _format_floored_epsilon(value: float) -> str:
    # The bound is rounded down, so that the title claims no more than the counts certify.
    return format_significant(value, 3, ROUND_FLOOR)


def _format_documented_claim(finding: ScanFinding) -> str:
    claimed = finding.claimed
    relation = (
        f"for neighbours by {_RELATIONS.get(claimed.relation, claimed.relation)}"
        if claimed.relation
        else "(we found no statement of which datasets are neighbours)"
    )
    return f"{claimed.words} {relation}. Where: {claimed.where}."


def _format_observed_finding(finding: ScanFinding) -> str:
    event = finding.event
    return (
        f"Two datasets that differ in {_RELATIONS.get(finding.relation, finding.relation)} "
        f"({finding.edit}) can be told apart: {event.words} in {event.on_dataset} of {event.runs} "
        f"outputs on the first and in {event.on_neighbour} of {event.runs} on the second. With "
        f"the setting {finding.parameters} the datasets were {finding.dataset} and "
        f"{finding.neighbour}. Counts on fresh outputs certify that epsilon is at least "
        f"{_format_floored_epsilon(finding.lower)} at delta = {finding.at_delta:g}."
    )


def _render_reproduction_lines(finding: ScanFinding) -> list[str]:
    if finding.reproduction is None:
        return []
    printed = (finding.reproduced or "").rstrip()
    return [
        "## To reproduce",
        format_code_block(finding.reproduction.rstrip(), "python"),
        "It prints, in an environment that holds the package and what it requires:",
        format_code_block(printed, "text"),
    ]


def _format_version_list(result: ScanResult) -> str:
    required = {one.partition("==")[0].lower() for one in result.environment.requirements}
    named = {result.distribution.lower(), "numpy", "scipy", "scikit-learn", *required}
    versions = {
        name: one for name, one in result.environment.versions.items() if name.lower() in named
    }
    shown = {result.distribution: result.version, "Python": result.environment.python} | versions
    return "\n".join(f"- {name} {version}" for name, version in shown.items())


def _render_related_threads(threads: Sequence[Thread]) -> list[str]:
    if not threads:
        return []
    lines = [f"- {one.title}: {' '.join(one.url)}" for one in threads]
    return ["## Related", "\n".join(lines)]


def _format_floored_confidence(confidence: float) -> str:
    return format_significant(confidence, 10, ROUND_FLOOR)


def _wrap_issue_paragraph(text: str) -> str:
    return textwrap.fill(one_line(text), _COLUMNS, break_long_words=False, break_on_hyphens=False)
