"""Statements of a person about a package's findings: public threads, an embargo, peers' reports.

It stands in one TOML file a package beside the gallery:

    embargo = true                  # until a person lifts it: false, or the date from which on

    [[thread]]
    subject = "models.*"            # a name of the card, or a pattern of names; or several
    event = "classes_"              # a regular expression that the event's words must hold
    edit = "missing"                # one that the edit of the pair must hold; optional
    title = "classes are published"
    url = ["https://.../issues/1"]
    state = "open"

    [[peer]]
    tool = "another tool"
    says = "what it reported of this package"
    reference = "where"

A finding that no thread matches is under disclosure: nothing of it is published while the embargo
stands. The file itself is published, so it names no finding that has no thread.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, field_validator

from dpaudit.errors import DataError, shorten_repr
from dpaudit.escaping import one_line
from dpaudit.report.counts import ReportPart
from dpaudit.scan.finding import ScanFinding


class Thread(ReportPart):
    """A public place where a finding is known, and which findings it is about."""

    subject: str | list[str] = Field(
        min_length=1, description="A name of the card, or a pattern of names; or several."
    )
    event: str = Field(min_length=1, description="What the event's words must hold.")
    edit: str = Field(default="", description="What the edit of the pair must hold.")
    title: str = Field(min_length=1)
    url: list[str] = Field(min_length=1)
    state: str = ""

    @field_validator("event", "edit")
    @classmethod
    def _compiles(cls, given: str) -> str:
        try:
            re.compile(given)
        except re.error as error:
            raise ValueError(f"is no regular expression: {error}") from None
        return given

    def names_any(self, subjects: Iterable[str]) -> bool:
        """Return whether it is about one of these subjects."""
        return any(map(self._names, subjects))

    def _names(self, subject: str) -> bool:
        patterns = [self.subject] if isinstance(self.subject, str) else self.subject
        return any(fnmatchcase(subject, one) for one in patterns)

    def is_about(self, finding: ScanFinding) -> bool:
        """Return whether the thread is about a finding: subject, event and edit."""
        return (
            self._names(finding.subject)
            and re.search(self.event, finding.event.words) is not None
            and re.search(self.edit, finding.edit) is not None
        )


class Peer(ReportPart):
    """The report of another tool about the same package, and its place."""

    tool: str
    says: str
    reference: str


class PackageNotes(ReportPart):
    """All that is stated of one package."""

    # The default is the safe one: a missing file or key publishes nothing.
    embargo: bool | date = True
    thread: list[Thread] = Field(default=[])
    peer: list[Peer] = Field(default=[])

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the statements of a file; a missing file states nothing.

        Raises
        ------
        DataError
            It is not valid: the message says where.
        """
        try:
            return cls._of(path, tomllib.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: is not valid TOML: {shorten_repr(str(error))}") from None

    @classmethod
    def _of(cls, path: Path, content: Mapping[str, Any]) -> Self:
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise DataError(one_line(f"{path}: {where}: {first['msg']}")) from None

    def lifted(self, today: date | None = None) -> bool:
        """Return whether findings without a thread may be published.

        Examples
        --------
        >>> PackageNotes().lifted(), PackageNotes(embargo=False).lifted()
        (False, True)
        >>> PackageNotes(embargo=date(2027, 1, 31)).lifted(date(2027, 1, 30))
        False
        """
        if isinstance(self.embargo, bool):
            return not self.embargo
        # UTC, so that an embargo ends at the same moment for whoever publishes.
        return (today or datetime.now(UTC).date()) >= self.embargo

    def threads_of(self, finding: ScanFinding) -> list[Thread]:
        """Return the public threads about a finding."""
        return [one for one in self.thread if one.is_about(finding)]
