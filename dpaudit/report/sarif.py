"""SARIF 2.1.0: refutations, at the line of the mechanism, for code scanning and editors.

What was not refuted is no result: tools show every result as something to mend.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpaudit.faults.catalogue import all_faults
from dpaudit.faults.pages import format_fault_essentials, page_of
from dpaudit.report.acceptance import Acceptance
from dpaudit.report.entries import ReportEntries, ReportEntry, SourceLine
from dpaudit.report.findings import format_sentence

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"

# Of outcomes: the rule's name and level, its title, and what to do.
_RULES: dict[str, tuple[str, str, str, str]] = {
    "refuted": (
        "refuted-claim",
        "error",
        "A claimed guarantee is refuted.",
        "The mechanism leaks more than it claims: a certified lower bound is above the claim. "
        "Compare the noise "
        "with the sensitivity, or claim less.",
    ),
    "withheld": (
        "withheld-verdict",
        "warning",
        "The audit could not decide a claim.",
        "A check failed on which every bound depends: outputs are not independent, the stated law "
        "is "
        "not that of the code, a declared sensitivity does not hold, or nothing was released.",
    ),
    "missing": (
        "failed-audit",
        "error",
        "An audit gave no result.",
        "The mechanism, its data or the specification cannot be audited as they are.",
    ),
    "hint": (
        "hint",
        "note",
        "A place to look at.",
        "Nothing is refuted yet: an output may still be private.",
    ),
}


def make_sarif_log(entries: ReportEntries) -> str:
    """Return the log of one run."""
    found = [one for one in entries.entries if one.outcome in _RULES and not one.is_notification]
    run: dict[str, Any] = {
        "tool": {"driver": _make_sarif_driver(entries)},
        "invocations": [_make_sarif_invocation(entries)],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder it ran in."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_make_sarif_result(entry, entries) for entry in found],
    }
    log = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _make_sarif_invocation(entries: ReportEntries) -> dict[str, Any]:
    """Return how the run went, with a notification for each part of it that has no verdict."""
    complete = all(entry.outcome != "missing" for entry in entries.entries)
    told = [_make_notification(one, entries.root) for one in entries.entries if one.is_notification]
    notified = {"toolExecutionNotifications": told} if told else {}
    return {"executionSuccessful": complete, **notified}


def _make_notification(entry: ReportEntry, root: Path) -> dict[str, Any]:
    name, level, *_ = _RULES[entry.outcome]
    return {
        "descriptor": {"id": name},
        "level": level,
        "message": {"text": f"{entry.name}: {entry.text}"},
        "locations": _list_sarif_locations(entry, root),
    }


def _make_sarif_driver(entries: ReportEntries) -> dict[str, Any]:
    rules = [_make_outcome_rule(*one) for one in _RULES.values()]
    rules += [_rule_of(code) for code in _find_fault_codes(entries)]
    driver = {"name": "dpaudit", "version": entries.version, "rules": rules}
    told = {one.outcome for one in entries.entries if one.is_notification}
    described = [_make_outcome_rule(*_RULES[one]) for one in _RULES if one in told]
    return {**driver, "notifications": described} if described else driver


def _make_outcome_rule(name: str, level: str, short: str, full: str) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": full},
        "defaultConfiguration": {"level": level},
    }


def _find_fault_codes(entries: ReportEntries) -> list[str]:
    """Return the kinds of fault that were found, each once."""
    found = {one.fault for one in entries.entries if one.outcome in _RULES}
    return [code for code in all_faults() if code in found]


def _rule_of(code: str) -> dict[str, Any]:
    """Return the rule of a kind of fault, with its page as help."""
    fault = all_faults()[code]
    where = {} if fault.uri is None else {"helpUri": fault.uri}
    return {
        "id": code,
        "shortDescription": {"text": format_sentence(fault.title)},
        "fullDescription": {"text": fault.why},
        **where,
        "help": {"text": format_fault_essentials(fault), "markdown": page_of(fault)},
        "defaultConfiguration": {"level": "error"},
    }


def _make_sarif_result(entry: ReportEntry, entries: ReportEntries) -> dict[str, Any]:
    name, level, *_ = _RULES[entry.outcome]
    index, codes = list(_RULES).index(entry.outcome), _find_fault_codes(entries)
    about = _compute_fingerprint(name, entry)
    if entry.fault in codes:
        name, index = str(entry.fault), len(_RULES) + codes.index(str(entry.fault))
    numbers = "" if entry.numbers is None else f" ({entry.numbers})"
    repeat = {} if entry.repeat is None else {"repeat": entry.repeat}
    accepted = {} if entry.acceptance is None else _make_baseline_fields(entry, entry.acceptance)
    return {
        "ruleId": name,
        "ruleIndex": index,
        "level": level,
        "message": {"text": "\n".join([f"{entry.name}: {entry.text}{numbers}", *entry.lines])},
        "locations": _list_sarif_locations(entry, entries.root),
        "partialFingerprints": {"audit/v1": about},
        **accepted,
        "properties": {**entry.values, **repeat},
    }


# Of what a baseline says of a refutation: what that is beside the run before.
_STATES = {"accepted": "unchanged", "expired": "unchanged", "worse": "updated", "changed": "new"}


def _make_baseline_fields(entry: ReportEntry, acceptance: Acceptance) -> dict[str, Any]:
    """Return the baseline's fields: the change, and the acceptance, which hides the finding."""
    stated = {"baselineState": _STATES.get(acceptance.state, "updated")}
    if not entry.is_accepted:
        return stated
    why = {"kind": "external", "status": "accepted", "justification": acceptance.reason}
    return {**stated, "suppressions": [why]}


def _list_sarif_locations(entry: ReportEntry, root: Path) -> list[dict[str, Any]]:
    """Return the line that an entry is about, or the function of a package by its name."""
    if entry.place is not None:
        return [_make_sarif_location(entry.place, root)]
    if entry.component is None:
        return []
    return [{"logicalLocations": [{"fullyQualifiedName": entry.component, "kind": "function"}]}]


def _make_sarif_location(place: SourceLine, root: Path) -> dict[str, Any]:
    path = place.under(root)
    # A file outside the folder has no path relative to it; its whole address is given instead.
    where = {"uri": place.file.resolve().as_uri()}
    if path is not None:
        where = {"uri": quote(path), "uriBaseId": _ROOT}
    region = {"startLine": place.line}
    return {"physicalLocation": {"artifactLocation": where, "region": region}}


def _compute_fingerprint(rule: str, entry: ReportEntry) -> str:
    """Return a fingerprint that a finding keeps while lines above it move."""
    # The fingerprint is made of the outcome's rule and not of the kind of fault: a finding
    # stays the same one when a later version recognises its kind.
    about = f"{rule}\n{entry.name}".encode("utf-8", "backslashreplace")
    return hashlib.sha256(about).hexdigest()
