"""One line about one result: its verdict, its numbers, and how its certificate stands."""

from __future__ import annotations

from collections.abc import Callable

from dpaudit.report.acceptance import format_acceptance
from dpaudit.sheet.subjects import SheetSubject
from dpaudit.verdicts import Verdict


def describe_result(one: SheetSubject) -> str:
    """Return the line of one result, with the state of its certificate."""
    return _LINES[one.verdict](one)


def _format_refuted_subject(one: SheetSubject) -> str:
    measured = f": {one.measured}" if one.measured else ""
    claimed = f" ({one.claimed} is claimed)" if one.claimed else ""
    accepted = "" if one.acceptance is None else f" {format_acceptance(one.acceptance)}"
    return f"REFUTED{measured}{claimed}. {format_certificate_state(one)}{accepted}"


def _format_withheld_subject(one: SheetSubject) -> str:
    return "WITHHELD: the audit cannot decide, because a check failed on which it depends."


def _not_refuted(one: SheetSubject) -> str:
    if one.command == "prove":
        return "NOT PROVED: the proof stopped, which says nothing about the claim."
    if not one.claimed:
        measured = f": {one.measured}" if one.measured else ""
        return f"NOTHING IS CLAIMED{measured}. No certificate stands behind it."
    return (
        f"NOT REFUTED: nothing that was tried contradicts the claim {one.claimed}, which is no "
        "evidence that it holds. There is no certificate."
    )


def _format_proved_subject(one: SheetSubject) -> str:
    if one.from_code:
        return f"PROVED from the code: {one.proved or one.claimed}. {format_certificate_state(one)}"
    return (
        f"PROVED by a theorem, as the report says: {one.proved or one.claimed}. There is no "
        "certificate of it."
    )


def _not_judged(one: SheetSubject) -> str:
    return f"NO CODE WAS AUDITED: {one.proved or 'no number'} follows from parameters alone."


_LINES: dict[Verdict | None, Callable[[SheetSubject], str]] = {
    "refuted": _format_refuted_subject,
    "withheld": _format_withheld_subject,
    "not refuted": _not_refuted,
    "proved": _format_proved_subject,
    None: _not_judged,
}


def format_certificate_state(one: SheetSubject) -> str:
    """Return the state of the certificate."""
    checked = one.certificate
    match checked.state:
        case "verified":
            return "Its certificate was checked again for this sheet and stands."
        case "fails":
            return f"ITS CERTIFICATE DOES NOT VERIFY ({checked.why})."
        case "reserved":
            return f"Its certificate stands with a reservation ({checked.why})."
        case "not checked":
            return f"Its certificate was not checked for this sheet: {checked.why}."
        case _:
            return "No certificate stands behind it."
