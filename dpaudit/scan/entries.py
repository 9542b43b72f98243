"""Entries of a scan for tools: one for each finding, claims that held, and verdicts withheld.

All of it is what the terminal shows to who ran the scan: no script and no draft of an issue, and
nothing that was refuted under a relation that the documentation does not claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_FLOOR
from pathlib import Path

from dpaudit.escaping import one_line
from dpaudit.faults.catalogue import fault_line
from dpaudit.formats import to_json
from dpaudit.report.entries import ReportEntries, ReportEntry
from dpaudit.report.formatting import as_certain, format_significant
from dpaudit.scan.accountants.document import AccountantScan, AnswerGroup
from dpaudit.scan.accountants.page import format_closing_sentence, format_group_sentence
from dpaudit.scan.finding import ScanFinding, ScanResult
from dpaudit.scan.publication.pages import format_finding_count, format_undecided_subjects

_DIGITS = 4  # of a certified bound


def make_scan_entries(result: ScanResult, root: Path) -> ReportEntries:
    """Return an entry for every finding, every subject that held, and every withheld one.

    Parameters
    ----------
    result
        The scan.
    root
        The folder that it ran in.
    """
    count = format_finding_count(len(result.findings), 0).capitalize()
    sure = as_certain(result.certainty.confidence)
    return ReportEntries(
        entries=[*_list_findings(result), *_list_held(result), *_list_withheld(result)],
        summary=f"{count}{format_undecided_subjects(len(result.withheld))}.",
        surety=f"All findings together at {sure} confidence.",
        root=root,
        version=result.dpaudit,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=result.seconds,
    )


def make_accountant_entries(result: AccountantScan, root: Path) -> ReportEntries:
    """Return an entry for every group of false claims, and every method that makes none.

    Parameters
    ----------
    result
        The scan of an accountant.
    root
        The folder that it ran in.
    """
    name, said = result.accountant, "no answer makes a false claim."
    false = [_make_group_entry(result, one) for one in result.violations]
    wrong = {one.method for one in result.violations}
    held = [
        _make_held_entry(name, one.name, said) for one in result.methods if one.name not in wrong
    ]
    return ReportEntries(
        entries=[*_number_equal_names(false), *held],
        summary=format_closing_sentence(result),
        surety=None,
        root=root,
        version=result.dpaudit,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=result.seconds,
    )


def _list_findings(result: ScanResult) -> list[ReportEntry]:
    return _number_equal_names([_make_finding_entry(result, one) for one in result.findings])


def _make_finding_entry(result: ScanResult, one: ScanFinding) -> ReportEntry:
    words = one_line(_format_finding_text(one))
    values = {"claimed": one.claimed.epsilon, "lower": one.lower, "delta": one.at_delta}
    return ReportEntry(
        name=_name_subject(result.package, one.subject),
        outcome="refuted",
        headline=words,
        text=words,
        cells=(one.claimed.words, "", _format_bound(one.lower, one.at_delta)),
        values=to_json(
            {name: each for name, each in values.items() if each is not None},
            non_finite="Infinity",
        ),
        fault=one.fault,
        lines=tuple(map(one_line, _list_finding_lines(result, one))),
        component=one_line(f"{one.package}.{one.subject}"),
    )


def _format_finding_text(one: ScanFinding) -> str:
    event = one.event
    return (
        f"{event.words} in {event.on_dataset} of {event.runs} outputs on the dataset and in "
        f"{event.on_neighbour} of {event.runs} on its neighbour ({one.edit}); "
        f"{_format_bound(one.lower, one.at_delta)}, where {one.claimed.words} is claimed."
    )


def _format_bound(lower: float, delta: float) -> str:
    shown = format_significant(lower, _DIGITS, ROUND_FLOOR)
    return f"ε ≥ {shown} at δ = {format_significant(delta)}"


def _list_finding_lines(result: ScanResult, one: ScanFinding) -> Iterator[str]:
    """Yield the remaining lines of the terminal about a finding."""
    yield f"Release: {result.distribution} {one.version}"
    yield f"Call: {one.subject} with {one.parameters}"
    yield f"Neighbours: {one.relation}"
    yield f"Dataset: {one.dataset}"
    yield f"Neighbour: {one.neighbour}"
    yield f"Claimed: {one.claimed.words}: {one.claimed.where}"
    if one.fault is not None:
        yield fault_line(one.fault)


def _number_equal_names(entries: list[ReportEntry]) -> list[ReportEntry]:
    """Return entries that are told apart by their names: of equal ones the later are numbered."""
    seen, named = Counter[str](), list[ReportEntry]()
    for one in entries:
        seen[one.name] += 1
        number = seen[one.name]
        # Tools such as JUnit readers merge entries of one name, and would show one finding
        # instead of two.
        named.append(one if number == 1 else replace(one, name=f"{one.name} ({number})"))
    return named


def _list_held(result: ScanResult) -> list[ReportEntry]:
    """Return the subjects of which no claim is refuted or withheld."""
    # A subject that is withheld is not one that held: nothing was decided of it.
    others = {one.subject for one in result.findings} | result.withheld.keys()
    subjects = dict.fromkeys(one.subject for one in result.checked)
    said = "nothing that was tried contradicts what is claimed."
    return [_make_held_entry(result.package, one, said) for one in subjects if one not in others]


def _make_held_entry(package: str, subject: str, said: str) -> ReportEntry:
    return ReportEntry(
        name=_name_subject(package, subject), outcome="not refuted", headline=said, text=said
    )


def _list_withheld(result: ScanResult) -> list[ReportEntry]:
    return [
        ReportEntry(
            name=_name_subject(result.package, subject),
            outcome="withheld",
            headline=one_line(why),
            text=one_line(why),
            component=one_line(f"{result.package}.{subject}"),
            is_notification=True,
        )
        for subject, why in result.withheld.items()
    ]


def _name_subject(package: str, subject: str) -> str:
    return one_line(f"{package}: {subject}")


def _make_group_entry(result: AccountantScan, group: AnswerGroup) -> ReportEntry:
    words = one_line(format_group_sentence(group))
    lines = (
        f"Release: {result.distribution} {result.version}",
        f"Stated: {group.states}, {group.relation}: {group.where}",
    )
    return ReportEntry(
        name=_name_subject(result.accountant, group.method),
        outcome="refuted",
        headline=words,
        text=words,
        lines=tuple(map(one_line, lines)),
        component=one_line(f"{result.accountant}.{group.method}"),
    )
