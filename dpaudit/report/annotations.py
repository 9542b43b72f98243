"""Commands that a job of GitHub Actions prints to put an annotation beside a line."""

from __future__ import annotations

from dpaudit.report.entries import Entries, Entry

_LEVELS = {
    "refuted": "error",
    "missing": "error",
    "withheld": "warning",
    "hint": "notice",
    "not refuted": "notice",
    "proved": "notice",
}


def github(entries: Entries) -> str:
    """Return one workflow command an audit, each on a line of its own."""
    return "".join(_command(entry, entries) for entry in entries.entries)


def _command(entry: Entry, entries: Entries) -> str:
    code = "" if entry.fault is None else f" ({entry.fault})"
    given = {"title": f"{entry.name}: {entry.standing}{code}"}
    path = None if entry.place is None else entry.place.under(entries.root)
    if entry.place is not None and path is not None:
        given = {"file": path, "line": str(entry.place.line), **given}
    said = ",".join(f"{name}={_property(value)}" for name, value in given.items())
    numbers = [] if entry.numbers is None else [entry.numbers]
    text = "\n".join([entry.text, *numbers, *entry.lines])
    level = "notice" if entry.is_accepted else _LEVELS[entry.outcome]
    return f"::{level} {said}::{_data(text)}\n"


def _data(text: str) -> str:
    r"""Return text as the end of a command: one line, whatever is in it.

    Examples
    --------
    >>> _data("100%\nof all")
    '100%25%0Aof all'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return text as a property of a command, which a comma or a colon would end.

    Examples
    --------
    >>> _property("mine:f, twice")
    'mine%3Af%2C twice'
    """
    return _data(text).replace(":", "%3A").replace(",", "%2C")
