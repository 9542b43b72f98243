"""JUnit's XML: a test case an audit, for whatever shows the results of tests.

There is no one standard. What is written here is valid by the schema of Jenkins, and by the older
and stricter one of Ant's reports, in which a test case holds an outcome and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

from dpaudit.escaping import make_printable
from dpaudit.report.entries import ReportEntries, ReportEntry

SUITE = "dpaudit"
_KINDS = {
    "refuted": "failure",
    "withheld": "error",
    "missing": "error",
}
# Characters that XML 1.0 cannot hold, whichever way they are written.
_NEVER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(entries: ReportEntries) -> str:
    """Return the document: a refuted claim is a failure, an audit without a verdict an error."""
    counts = Counter(map(_get_junit_kind, entries.entries))
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {
            "name": SUITE,
            "package": SUITE,
            "id": "0",
            # The schema's type of a timestamp is a date and a time without an offset.
            "timestamp": entries.created.partition("+")[0],
            # The name of the machine would make two runs differ, and tells others where it ran.
            "hostname": "localhost",
            "tests": str(len(entries.entries)),
            "failures": str(counts["failure"]),
            "errors": str(counts["error"]),
            "time": f"{entries.seconds:.3f}",
        },
    )
    _add_properties(suite, entries)
    for entry in entries.entries:
        _add_test_case(suite, entry)
    ElementTree.SubElement(suite, "system-out").text = _to_xml_text(
        "\n".join(map(_format_case_text, entries.entries))
    )
    # Ant's schema asks for the element even where it is empty.
    ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _add_properties(suite: ElementTree.Element, entries: ReportEntries) -> None:
    said = {"dpaudit": entries.version, "summary": entries.summary, "surety": entries.surety}
    values = {
        f"{entry.name}.{name}": str(value)
        for entry in entries.entries
        for name, value in {
            "verdict": entry.standing,
            "fault": entry.fault,
            **entry.values,
        }.items()
        if value is not None
    }
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in {**said, **values}.items():
        if value is not None:
            given = {"name": _to_xml_text(name), "value": _to_xml_text(value)}
            ElementTree.SubElement(properties, "property", given)


def _add_test_case(suite: ElementTree.Element, entry: ReportEntry) -> None:
    given = {"name": _to_xml_text(entry.name), "classname": SUITE, "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", given)
    if (kind := _get_junit_kind(entry)) is not None:
        said = {"message": _to_xml_text(entry.headline), "type": entry.outcome}
        ElementTree.SubElement(case, kind, said).text = _to_xml_text(_format_case_text(entry))


def _get_junit_kind(entry: ReportEntry) -> str | None:
    """Return the kind of an outcome in JUnit's words; one that is accepted fails nothing."""
    return None if entry.is_accepted else _KINDS.get(entry.outcome)


def _format_case_text(entry: ReportEntry) -> str:
    lines = [f"{entry.name}: {entry.standing}", entry.text, entry.numbers, *entry.lines]
    lines += [None if entry.repeat is None else f"Repeat: {entry.repeat}"]
    return "\n".join(line for line in lines if line)


def _to_xml_text(text: str) -> str:
    r"""Return text that XML can hold.

    Examples
    --------
    >>> _to_xml_text("a\x00b\ufffe")
    'a�b�'
    """
    return _NEVER.sub("\ufffd", make_printable(text))
