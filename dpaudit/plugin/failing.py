"""The message of a test that fails: at most a dozen lines, the first of which names the leak."""

from __future__ import annotations

import re
import textwrap

from dpaudit.escaping import make_printable
from dpaudit.report.acceptance import format_acceptance
from dpaudit.report.formatting import (
    as_certain,
    fault_words,
    make_shown_numbers,
    noise_words,
    why_unproved,
)
from dpaudit.report.schema import Result

_WIDTH = 96  # columns
_EACH = 2  # lines that a sentence may take
_SENTENCES = re.compile(r"(?<=[.;]) (?=[A-Z])")
_LEAKED = "What leaked"


def format_test_failure(result: Result, place: str, again: str, snippet: str | None = None) -> str:
    """Return why a test fails.

    Parameters
    ----------
    result
        That refutes the claim, or withholds a verdict.
    place, again
        Where the audit was asked for, and what repeats it.
    snippet
        Python that shows the line that leaks, to be pasted above the audit; None if there is none.
    """
    first, *said = _SAID[result.verdict](result)
    leading = [first, *noise_words(result), *fault_words(result)]
    lines = [
        *said,
        *([] if result.acceptance is None else [format_acceptance(result.acceptance)]),
        f"pair: {result.relation}; {result.pair}",
        f"at: {place}",
    ]
    pasted = [] if snippet is None else [f"to see what leaks, paste above {place}:", snippet]
    before, after = (
        [part for line in some for part in _wrap_line(line)] for some in (leading, lines)
    )
    return make_printable("\n".join([*before, *pasted, *after, f"again: {again}"]))


def format_test_claim(result: Result) -> str:
    """Return the claim, as text for a line or a machine."""
    shown = make_shown_numbers(result)
    delta = "" if shown.claimed_delta is None else f" at delta = {shown.claimed_delta}"
    return f"{_get_quantity_name(result)} = {shown.claimed}{delta}"


def _format_leak(result: Result) -> list[str]:
    shown = make_shown_numbers(result)
    leads, (first, *more) = _of_outputs(result)
    measured = (
        f"{_get_quantity_name(result)} is at least {shown.lower} at "
        f"{_format_confidence(result)} confidence"
    )
    return [
        first if leads else f"{_LEAKED}, {first[:1].lower()}{first[1:]}",
        f"refuted: {measured}; claimed: {format_test_claim(result)}",
        *([" ".join(more)] if more else []),
        "next: compare the noise with the sensitivity; dpaudit replay names the line that leaks",
    ]


def _of_outputs(result: Result) -> tuple[bool, list[str]]:
    """Return the event that leaked, in plain words where there are any; else the losses.

    And whether the first sentence says itself that it is what leaked.
    """
    event, witness = result.carrying_event, result.witness
    carried = [] if event is None else _SENTENCES.split(event.sentence)
    if event is not None and event.plain:
        return True, carried
    if witness is not None and witness.lower > 0:
        return witness.refutes, [*_SENTENCES.split(witness.sentence), *carried]
    if event is not None:
        return False, carried
    return True, [
        f"{_LEAKED}: outputs tell the two datasets apart by more than the claim, by the law that "
        "the mechanism states, which no check of its draws contradicts."
    ]


def _format_withheld_claim(result: Result) -> list[str]:
    failed = [check for check in (*result.contract, *result.self_checks) if not check.passed]
    return [
        f"withheld: nothing can be said of the claim {format_test_claim(result)}",
        result.reason,
        *(f"{check.name}: {check.evidence}" for check in failed[:3]),
    ]


def _format_unproved_claim(result: Result) -> list[str]:
    stop = why_unproved(result) or f"{make_shown_numbers(result).proved} is what is proved"
    return [f"not proved: {format_test_claim(result)} is claimed, and not refuted", stop]


_SAID = {
    "refuted": _format_leak,
    "withheld": _format_withheld_claim,
    "not refuted": _format_unproved_claim,
}


def _get_quantity_name(result: Result) -> str:
    return "epsilon" if result.quantity is None else result.quantity


def _format_confidence(result: Result) -> str:
    return as_certain(result.measured.confidence)


def _wrap_line(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH, subsequent_indent="  ", max_lines=_EACH, placeholder=" ...")
