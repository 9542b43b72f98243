"""The lines of a file of spending: each is JSON and names the digest of the line before it.

The digest of a line is the SHA-256 of its bytes without the digest itself, which stands last. What
was edited, lost from the middle or put in between does not fit the chain. Whoever rewrites all that
follows can make it fit again, and lines lost from the end are not seen: the digest of the last
line, written down elsewhere, shows both.

A line that a writer was kept from finishing is *torn*: it has no end. Its writer has reported no
success. What a release costs stands first in a line, so that of most torn lines it can be read, and
then it counts; otherwise nothing can be added until somebody says what it was.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, ValidationError, field_validator

from dpaudit.errors import DataError, shorten_repr
from dpaudit.escaping import one_line
from dpaudit.formats import SCHEMAS, schema_of
from dpaudit.report.counts import ReportPart
from dpaudit.spending.filters import Terms

KIND = "spend"
_MARK = ',"digest":"'
_END = len(_MARK) + 64 + len('"}')
_AFTER_PRICE = b',"charged_at":'  # no string holds it: the quotes of a string are escaped


class ReleaseGuarantee(ReportPart):
    """An (epsilon, delta) that stands for a release, as the accountants proved it."""

    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)


class Header(ReportPart):
    """The first line: whose budget it is, and all that is fixed before the first release."""

    schema_: int = Field(default=SCHEMAS[KIND], alias="schema", ge=1)
    kind: str = KIND
    id: str = Field(description="Of this file: another one has another.")
    terms: Terms
    unit: str = Field(description="Whose privacy: a person, a device, a person in a month.")
    relation: str = Field(description="Between neighbours.")
    period: str | None = Field(default=None, description="Which data it is about, in words.")
    partition: str | None = Field(
        None, description="What groups are, in words: a record is in one of them, always."
    )
    charged_at: str
    by: str | None = None


class ChainEntry(ReportPart):
    """One line: a release, and who is charged."""

    number: int = Field(ge=1)
    release: tuple[dict[str, Any], ...] = Field(
        description="Kinds with their parameters; none where a torn line was nothing."
    )
    samples: str | None = None
    stated: ReleaseGuarantee | None = Field(
        default=None, description="As what it is charged, if not itself."
    )
    groups: tuple[str, ...] = Field(default=(), description="Who is charged; everybody if empty.")
    charged_at: str = Field(description="By the writer's clock; the order is the file's.")
    by: str | None = None
    about: str | None = None
    released: bool = Field(default=False, description="Whether it was out already.")
    torn: str | None = Field(default=None, description="Digest of torn lines before it.")

    @field_validator("groups")
    @classmethod
    def _named(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted({name_of_group(one) for one in groups}))


def name_of_group(text: str) -> str:
    r"""Return the name of a group, the same however its spaces and accents are written.

    Examples
    --------
    >>> name_of_group(" the north\t"), name_of_group("Zu\u0308rich") == "Z\u00fcrich"
    ('the north', True)
    """
    return unicodedata.normalize("NFC", one_line(text))


@dataclass(frozen=True)
class Torn:
    """The rest of lines that no writer finished.

    Parameters
    ----------
    pieces
        Their bytes, without ends.
    entries
        What each one charges, as far as that can be read.
    """

    pieces: tuple[bytes, ...] = ()
    entries: tuple[ChainEntry, ...] = ()

    @property
    def is_read(self) -> bool:
        """Whether the charge of every piece is known, and all are one release."""
        charged = {one.model_dump_json() for one in self.entries}  # a second one seals the first
        return len(self.pieces) == len(self.entries) and len(charged) <= 1

    @property
    def digest(self) -> str:
        """The digest of all pieces."""
        return hashlib.sha256(b"\n".join(self.pieces)).hexdigest()


@dataclass(frozen=True)
class Chain:
    """The content of a file.

    Parameters
    ----------
    header, entries
        Its lines.
    digests
        Of the header and of every entry.
    torn
        What is torn at the end.
    lacks_end
        Whether the last line is whole but for its end.
    size
        How many bytes.
    """

    header: Header
    entries: tuple[ChainEntry, ...]
    digests: tuple[str, ...]
    torn: Torn = field(default_factory=Torn)
    lacks_end: bool = False
    size: int = 0

    @property
    def head(self) -> str:
        """The digest of the last line."""
        return self.digests[-1]

    @property
    def charged(self) -> tuple[ChainEntry, ...]:
        """All that counts: entries, and the charges of torn lines."""
        return (*self.entries, *self.torn.entries)


def write_line(content: ReportPart, previous: str) -> bytes:
    """Return a line with the digest of the one before it and its own, without its end.

    Examples
    --------
    >>> entry = ChainEntry(number=1, release=(), charged_at="2031-01-01T00:00:00Z")
    >>> len(json.loads(write_line(entry, "0" * 64))["digest"])
    64
    """
    document = content.model_dump(mode="json", by_alias=True) | {"previous": previous}
    # The digest is of these very bytes: a reader that serialised the document again might write
    # them otherwise.
    body = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return f'{body[:-1]}{_MARK}{_compute_line_digest(body)}"}}'.encode()


def _compute_line_digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


class BrokenChain(DataError):
    """A budget that was read, and that is not as it was written, or is charged too little."""


def read_chain(content: bytes, name: str) -> Chain:
    """Return the content of a file, every line checked against the one before.

    Parameters
    ----------
    content
        The whole file.
    name
        What messages call it.

    Raises
    ------
    DataError
        It is no file of spending.
    BrokenChain
        A line was changed, is missing or is out of place.
    """
    # What follows the last newline has no end: it is empty, or a line that nobody finished.
    *whole, rest = content.split(b"\n")
    lines = [*whole, rest] if rest else whole
    if lines and _is_whole(lines[0].removesuffix(b"\r")):
        _check_ends(lines[0], name)
    if len(lines) > 1 and not _is_whole(lines[0]):
        raise DataError(
            f"{name}: has no whole first line, and others follow: it is no budget, or one that was "
            "changed after it was written; bring back the file as it was"
        )
    if not lines or not _is_whole(lines[0]):
        raise DataError(
            f"{name}: has no whole first line, so that it is no budget, or one whose making was "
            "interrupted before anything was charged; remove it and make it again: "
            "dpaudit spend new"
        )
    header = _read_header(lines[0], name)
    return _read_entries(header, lines, name, ends=not rest, size=len(content))


def _check_ends(line: bytes, name: str) -> None:
    """Refuse a file to which a system or an editor gave ends of its own."""
    if line.endswith(b"\r"):
        raise BrokenChain(
            f"{name}: its lines end as Windows ends them (CRLF), and were written to end in LF; "
            "bring back the file as it was (in Git: a line `*.jsonl -text` in .gitattributes, and "
            "check it out again)"
        )


def _is_whole(line: bytes) -> bool:
    """Return whether a line ends as one does that its writer finished."""
    return len(line) > _END and line[-_END:].startswith(_MARK.encode()) and line.endswith(b'"}')


def _read_header(line: bytes, name: str) -> Header:
    document = _read_line(line, "", name, 1)
    if document.get("kind") != KIND:
        raise DataError(f"{name}: is no budget: its first line has no kind {KIND!r}")
    schema_of(name, document, KIND)
    try:
        return Header.model_validate(document)
    except ValidationError as error:
        raise DataError(f"{name}: line 1: {_format_first_chain_error(error)}") from None


def _read_entries(header: Header, lines: list[bytes], name: str, *, ends: bool, size: int) -> Chain:
    entries: list[ChainEntry] = []
    digests = [_digest_of(lines[0])]
    pieces: list[bytes] = []
    for place, line in enumerate(lines[1:], start=2):
        if not line.strip():  # an editor's
            continue
        # A torn line is no error yet: whoever was kept from finishing it has reported no success,
        # and the next writer seals it.
        if not _is_whole(line):
            pieces.append(line)
            continue
        document = _read_line(line, digests[-1], name, place)
        entry = _read_entry(document, name, place)
        _check_place(entry, len(entries) + 1, Torn(tuple(pieces)), name, place)
        entries.append(entry)
        digests.append(_digest_of(line))
        # The entry that was just read names these pieces by their digest: they are settled.
        pieces = []
    torn = Torn(
        tuple(pieces), tuple(one for piece in pieces if (one := _salvage_torn_entry(piece)))
    )
    lacks_end = not ends and not pieces
    return Chain(header, tuple(entries), tuple(digests), torn, lacks_end, size)


def _digest_of(line: bytes) -> str:
    return line[-66:-2].decode("ascii", "replace")


def _read_line(line: bytes, previous: str, name: str, place: int) -> dict[str, Any]:
    """Return the content of a whole line, without its digest and its link, which are checked."""
    body = (line[:-_END] + b"}").decode("utf-8", "replace")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    # The digest first: of a line that was changed nothing else may be believed.
    if _compute_line_digest(body) != _digest_of(line) or not isinstance(document, dict):
        raise BrokenChain(
            f"{name}: line {place} was changed after it was written: its digest does not "
            "match its content; bring back the file as it was"
        )
    if document.pop("previous", None) != previous:
        raise BrokenChain(
            f"{name}: line {place} does not follow the line before it: a line is missing, was put "
            "in, or two copies of the file were merged; bring back one file with all lines"
        )
    return document


def _read_entry(document: dict[str, Any], name: str, place: int) -> ChainEntry:
    try:
        return ChainEntry.model_validate(document)
    except ValidationError as error:
        raise BrokenChain(f"{name}: line {place}: {_format_first_chain_error(error)}") from None


def _check_place(entry: ChainEntry, number: int, torn: Torn, name: str, place: int) -> None:
    if entry.number != number:
        raise BrokenChain(f"{name}: line {place}: number: got {entry.number}, expected {number}")
    if entry.torn != (torn.digest if torn.pieces else None):
        raise BrokenChain(
            f"{name}: line {place} stands after lines that are damaged, and not for them; bring "
            "back the file as it was"
        )


def _salvage_torn_entry(piece: bytes) -> ChainEntry | None:
    """Return the charge of a torn line, or None if that cannot be read."""
    price, mark, _ = piece.partition(_AFTER_PRICE)
    if not mark:
        return None
    try:
        # All that a release costs stands before the mark: closed there, the rest of the line is not
        # needed.
        document = json.loads(price + b"}")
        return ChainEntry.model_validate(document | {"charged_at": "", "about": "a torn line"})
    except (ValueError, RecursionError):
        return None


def _format_first_chain_error(error: ValidationError) -> str:
    """Return the first thing that is wrong, with its place and its value."""
    found = error.errors()[0]
    where = ".".join(map(str, found["loc"]))
    return f"{where}: got {shorten_repr(found['input'])}, expected otherwise ({found['msg']})"
