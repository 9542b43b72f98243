"""A scan as a page and as Markdown, through the templates of reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from typing import Any

from dpaudit.escaping import make_printable, one_line
from dpaudit.report.formatting import NONE, as_certain, format_integer, format_significant
from dpaudit.report.render import make_template_environment
from dpaudit.scan.finding import CarryingCounts, ClaimCheck, FloatingCheck
from dpaudit.scan.publication.published_scan import PublishedScan
from dpaudit.verdicts import VERDICTS

_DIGITS = 7  # of what a bound is worked out of again
_WORST = (*VERDICTS, NONE)  # none of a corner of numbers that a subject does not have


@dataclass(frozen=True)
class SubjectRow:
    """The lines of one subject, a relation and a claim each, and their joint conclusion."""

    subject: str
    lines: Sequence[ClaimCheck]

    @property
    def sentence(self) -> str:
        """The claims that held and those that did not, by relation."""
        return " ".join(_format_checked_lines(self.lines))


def render_scan_page(scan: PublishedScan, *, html: bool) -> str:
    """Return a scan as a page, or as Markdown; every text in it is escaped."""
    return render_filled_template(
        "scan.html.j2" if html else "scan.md.j2",
        html=html,
        scan=scan,
        outcome=format_scan_outcome(scan),
        surety=_format_scan_confidence(scan.certainty.confidence),
        rows=rows_of(scan.checked),
        corners=corners_of(scan.floating),
        certified=format_certified_bound,
        supported=format_supported_bound,
        no_verdict=NONE,
        corner_names=list(dict.fromkeys(one.corner for one in scan.floating)),
    )


def format_certified_bound(tested: CarryingCounts | None, lower: float, delta: float) -> str:
    """Return a certified bound with the counts that carry it, for who works it out again.

    Examples
    --------
    >>> format_certified_bound(CarryingCounts.of((90, 3), 100, True, 0.0, 1e-3), 2.0, 0.0)[:61]
    'ε ≥ 1.843 at δ = 0, by one exact test of 90 of 100 and 3 of 1'
    """
    if tested is None:
        return (
            f"ε ≥ {format_significant(lower, rounding=ROUND_FLOOR)} at δ = "
            f"{format_significant(delta)}"
        )
    which = "the complement of the event below" if tested.complement else "the event below"
    return (
        f"{_format_epsilon_bound(tested)}, by one exact test of {_format_event_counts(tested)} "
        f"fresh outputs in {which}, with an error probability of "
        f"{format_significant(tested.alpha, _DIGITS)}"
    )


def format_supported_bound(tested: CarryingCounts | None, lower: float | None) -> str:
    """Return a bound with its counts; without them there is a bound that nobody can check.

    Examples
    --------
    >>> format_supported_bound(None, 0.3), format_supported_bound(None, None)
    ('its counts were not kept', '—')
    """
    if tested is None:
        return NONE if lower is None else "its counts were not kept"
    return (
        f"{_format_epsilon_bound(tested)} ({_format_event_counts(tested)}, error probability "
        f"{format_significant(tested.alpha, _DIGITS)})"
    )


def _format_epsilon_bound(tested: CarryingCounts) -> str:
    return (
        f"ε ≥ {format_significant(tested.lower, rounding=ROUND_FLOOR)} at δ = "
        f"{format_significant(tested.delta, _DIGITS)}"
    )


def _format_event_counts(tested: CarryingCounts) -> str:
    runs = format_integer(tested.runs)
    return (
        f"{format_integer(tested.on_dataset)} of {runs} and "
        f"{format_integer(tested.on_neighbour)} of {runs}"
    )


def render_filled_template(template: str, *, html: bool, **values: Any) -> str:
    """Return a template of the report room with its values."""
    text = make_printable(
        make_template_environment(html=html).get_template(template).render(**values)
    )
    return text if html else re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def format_scan_outcome(scan: PublishedScan) -> str:
    """Return the outcome in one sentence: of withheld findings only the number."""
    where = f"{format_integer(len(scan.subjects))} subjects"
    counts = format_finding_count(len(scan.findings), scan.withheld).capitalize()
    return f"{counts}{format_undecided_subjects(scan.without_verdict)}. Looked at: {where}."


def format_undecided_subjects(subjects: int) -> str:
    """Return on how many subjects the verdict is withheld, as the end of a sentence.

    Examples
    --------
    >>> format_undecided_subjects(0), format_undecided_subjects(2)
    ('', '; the verdict on 2 subjects is withheld')
    """
    which = "1 subject" if subjects == 1 else f"{subjects} subjects"
    return f"; the verdict on {which} is withheld" if subjects else ""


def format_finding_count(findings: int, withheld: int) -> str:
    """Return how many findings there are, and how many more are under disclosure.

    Examples
    --------
    >>> format_finding_count(0, 0), format_finding_count(2, 1)
    ('no finding', '2 findings, 1 finding under disclosure')
    >>> format_finding_count(0, 1)
    '1 finding under disclosure'
    """
    public = "1 finding" if findings == 1 else f"{findings or 'no'} findings"
    hidden = "1 finding" if withheld == 1 else f"{withheld} findings"
    if not withheld:
        return public if findings else "no finding"
    disclosed = f"{hidden} under disclosure"
    return f"{public}, {disclosed}" if findings else disclosed


def rows_of(checked: Sequence[ClaimCheck]) -> list[SubjectRow]:
    """Return the table of relations, a row a subject, in the card's order."""
    by_subject = dict[str, list[ClaimCheck]]()
    for one in checked:
        by_subject.setdefault(one.subject, []).append(one)
    return [SubjectRow(subject, lines) for subject, lines in by_subject.items()]


def corners_of(floating: Sequence[FloatingCheck]) -> dict[str, dict[str, str]]:
    """Return how each corner of numbers came out, by subject: the worst over its relations."""
    found = dict[str, dict[str, str]]()
    for one in floating:
        lines = found.setdefault(one.subject, {})
        known = lines.get(one.corner, NONE)
        lines[one.corner] = min(known, one.verdict or NONE, key=_WORST.index)
    return found


def _format_checked_lines(lines: Sequence[ClaimCheck]) -> list[str]:
    verdicts = ", ".join(f"{one.verdict} under {one.relation}" for one in lines)
    if all(one.verdict == "withheld" for one in lines):
        return ["Withheld."]
    sentence = f"{verdicts[:1].upper()}{verdicts[1:]}."
    claimed = {one.claimed.relation for one in lines}
    if claimed == {None}:
        return [sentence, "The documentation does not say which relation."]
    named = " and ".join(sorted(one for one in claimed if one is not None))
    return [sentence, f"The documentation claims {named}."]


def _format_scan_confidence(confidence: float) -> str:
    return as_certain(confidence)


def release_name(scan: PublishedScan) -> str:
    """Return the name of a release's folder.

    Raises nothing: what is no letter, digit, dot, plus or underscore becomes a minus.
    """
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", one_line(f"{scan.package}-{scan.version}"))
