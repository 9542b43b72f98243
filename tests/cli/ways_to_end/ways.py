"""What a way to end is: its status, its row of docs/exit-statuses.md, and its last line."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "exit-statuses.md"
ROWS = [
    (int(status), what)
    for status, what in re.findall(
        r"^\| (\d+) \|[^|]*\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M
    )
]
JUDGED, REFUTED = "and no claim is refuted", "at least one claim is refuted"
ACCEPTED = "whatever is refuted is accepted"
USAGE, MISSING, WITHHELD = "wrong usage", "a verdict is missing", "a verdict is withheld"
THEIRS, STREAM = "other people's code", "standard output was closed"
WRITING = "could not be written"
INTERRUPTED, TERMINATED = "interrupted (SIGINT", "asked to terminate"
STANDS, FAILS = "and all stand", "at least one fails"
SOUND, UNSOUND = "and all are sound", "at least one is not sound"
STOOD, FELL = "on the pairs that were looked at", "a proof shows on a pair"
HELD_TO, FARTHER = "no pair moved the query", "a pair moves the query"
CONTRADICTED = "because a statement in the code does not hold"
FOUND_NOTHING, FOUND_SOMETHING = "no claim that the documentation", "at least one such claim"
AGREES, DISAGREES = "and in none do numbers disagree", "in at least one numbers disagree"
UNREAD = "a record cannot be read"
FITS, DOES_NOT_FIT = "or it would fit", "does not fit into what is left"
WHOLE, CHANGED = "every line of the budget is as", "a line was changed, is missing"
NOT_LINEAR = "the code is not linear"
NOT_PROVED, NO_PROOF = "the claim is not proved", "`--require proved`"
NOT_RUN = "the verdict on a subject is withheld"
OTHER_SYSTEM, NOT_IMPORTED = "the system is not POSIX", "cannot be imported"
WRITTEN = "all output was written"
SHOWN = r"Write the full report with --out DIRECTORY\."
FULL = r"error: standard output: cannot be written \(No space left on device\), so .*"
PIPE = r"error: standard output: cannot be written \(Broken pipe\), so .*"
# The files that hold records are named last.
HELD = r"(Certificate: .*check it with dpaudit verify .*|.*mode 0600\))"
INTERRUPT, TERMINATE = "interrupted", "terminated"
# What an audit says of a mechanism that counts its calls, as `doing` makes one.
LATER = "At the later calls:"
IN_THEIRS = r"in ways_to_end_\d+\.py, line \d+"


def left(code):
    return rf"error: .*ended the program with sys\.exit\({code}\) {IN_THEIRS}.*"


@dataclass(frozen=True)
class Way:
    ends: Callable
    status: int
    row: str
    line: str

    def complaints(self, ran):
        """Return what differs from the page in how a run ended."""
        expected = {
            f"status {self.status}": ran.status == self.status,
            f"a last line like {self.line}": re.fullmatch(self.line, ran.last),
            "no traceback": "Traceback" not in ran.err,
            "no error beside a judgement": self.status not in (0, 1) or "error:" not in ran.err,
            "no file half written": not list(ran.folder.rglob("*.part")),
            "one row of the page": [s for s, what in ROWS if self.row in what] == [self.status],
        }
        return [f"expected {what}: {ran}" for what, holds in expected.items() if not holds]


class Ways:
    """The ways of one module, which its test is parametrized with."""

    def __init__(self):
        self.cases = []

    @property
    def rows(self):
        return {case.values[0].row for case in self.cases}

    def end(self, status, row, line, *marks):
        """Register a way to end under the name of the function that goes it."""

        def register(function):
            self.add(function.__name__.removeprefix("_"), function, status, row, line, *marks)
            return function

        return register

    def add(self, name, ends, status, row, line, *marks):
        self.cases.append(pytest.param(Way(ends, status, row, line), id=name, marks=marks))
