"""Commands that a job of GitHub Actions prints to put an annotation beside a line."""

from __future__ import annotations

from dpaudit.report.entries import ReportEntries, ReportEntry

_LEVELS = {
    "refuted": "error",
    "missing": "error",
    "withheld": "warning",
    "hint": "notice",
    "not refuted": "notice",
    "proved": "notice",
}


def render_github_commands(entries: ReportEntries) -> str:
    """Return one workflow command an audit, each on a line of its own."""
    return "".join(_render_workflow_command(entry, entries) for entry in entries.entries)


def _render_workflow_command(entry: ReportEntry, entries: ReportEntries) -> str:
    code = "" if entry.fault is None else f" ({entry.fault})"
    given = {"title": f"{entry.name}: {entry.standing}{code}"}
    path = None if entry.place is None else entry.place.under(entries.root)
    if entry.place is not None and path is not None:
        given = {"file": path, "line": str(entry.place.line), **given}
    said = ",".join(f"{name}={_escape_command_property(value)}" for name, value in given.items())
    numbers = [] if entry.numbers is None else [entry.numbers]
    text = "\n".join([entry.text, *numbers, *entry.lines])
    level = "notice" if entry.is_accepted else _LEVELS[entry.outcome]
    return f"::{level} {said}::{_escape_command_data(text)}\n"


def _escape_command_data(text: str) -> str:
    r"""Return text as the end of a command: one line, whatever is in it.

    Examples
    --------
    >>> _escape_command_data("100%\nof all")
    '100%25%0Aof all'
    """
    # The percent sign comes first, or the escapes of the other two would be escaped again. An
    # unescaped line break would let a text begin a workflow command of its own.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_command_property(text: str) -> str:
    """Return text as a property of a command, which a comma or a colon would end.

    Examples
    --------
    >>> _escape_command_property("mine:f, twice")
    'mine%3Af%2C twice'
    """
    return _escape_command_data(text).replace(":", "%3A").replace(",", "%2C")
