"""A certificate as a verifier reads it, and the outcome that the verifier returns.

What writes certificates (`dpaudit.refutation`) is not imported here on purpose.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from pathlib import Path
from typing import Any, TypeGuard

import dpaudit.verdicts as verdicts
from dpaudit.errors import DataError, InvalidArgument, VerbatimText, shorten_repr
from dpaudit.formats import make_later_schema_error, schema_of
from dpaudit.redaction import Record
from dpaudit.verification.reals import Number, Real

FORMAT = "dpaudit-certificate"
VERSION = 1
_WORDS = ("claim", "kind", "source", "relation")
_MAPPINGS = ("parameters", "quantities", "instance")
_LARGEST = 16 * 2**20  # bytes of a file


@dataclass(frozen=True, kw_only=True)
class Document:
    """A certificate as it was read: every number is the exact double of the file.

    Parameters
    ----------
    path
        Where it was read, for messages.
    claim, kind
        The claim it refutes, and the sort of evidence.
    source, relation
        Where the claim stands and what its neighbours are, as the file has it.
    parameters, quantities, instance
        As plain numbers and nested lists.
    assumptions
        The number and the limit that the file states for each.

    Examples
    --------
    >>> document = Document(
    ...     path="c.json",
    ...     claim="c",
    ...     parameters={},
    ...     quantities={},
    ...     instance={"dual": [1, 0.5]},
    ...     assumptions={},
    ... )
    >>> document.array("dual", (2,))
    [1.0, 0.5]
    >>> document.array("dual", (3,))
    Traceback (most recent call last):
    dpaudit.errors.DataError: c.json: instance.dual: got length 2, expected numbers of shape (3,)
    """

    path: str
    claim: str
    parameters: Mapping[str, Any]
    quantities: Mapping[str, Any]
    instance: Mapping[str, Any]
    assumptions: Mapping[str, tuple[float, float]]
    kind: str = "sensitivity"
    source: str = ""
    relation: str = ""

    def number(self, part: str, name: str) -> float:
        """Return a number of ``parameters`` or ``quantities``, or raise `DataError`."""
        return self._number(f"{part}.{name}", getattr(self, part).get(name), "a number")

    def count(self, name: str) -> int:
        """Return a parameter that is an integer of at least 1, or raise `DataError`."""
        value = self.parameters.get(name)
        if type(value) is not int or value < 1:
            raise DataError(
                f"{self.path}: parameters.{name}: got {shorten_repr(value)}, expected an integer "
                "of at "
                "least 1"
            )
        return value

    def positive(self, *names: str) -> Any:
        """Return parameters that are above 0 as `Real`, one alone without its tuple."""
        return self._read_bounded_parameters(names, lambda value: value > 0, "above 0")

    def at_least(self, least: float, *names: str) -> Any:
        """Return parameters that are at least ``least`` as `Real`, one alone without its tuple."""
        return self._read_bounded_parameters(
            names, lambda value: value >= least, f"at least {least:g}"
        )

    def choice(self, name: str, *options: str) -> str:
        """Return a parameter that is one of a few names, or raise `DataError`."""
        value = self.parameters.get(name)
        if isinstance(value, str) and value in options:
            return value
        raise self.refused(f"parameters.{name}", value, " or ".join(map(repr, options)))

    def require_kind(self, kind: str) -> None:
        """Raise `DataError` unless the evidence is of this kind."""
        if self.kind != kind:
            raise self.refused("kind", self.kind, repr(kind))

    def refused(self, name: str, value: object, expected: str) -> DataError:
        """Return the error that names a value of the file and the expected one."""
        settings = name.startswith("instance.settings")
        if name.startswith("instance.") and not settings and not isinstance(value, VerbatimText):
            value = Record(value)  # somebody's, where the certificate is about their data
        return DataError(f"{self.path}: {name}: got {shorten_repr(value)}, expected {expected}")

    def _read_bounded_parameters(
        self, names: Sequence[str], inside: Callable[[float], bool], words: str
    ) -> Any:
        for name in names:
            value = self.number("parameters", name)
            if not inside(value):
                raise self.refused(f"parameters.{name}", value, words)
        numbers = tuple(Real(self.number("parameters", name)) for name in names)
        return numbers if len(numbers) > 1 else numbers[0]

    def array(self, name: str, shape: tuple[int, ...]) -> Any:
        """Return an array of the instance as nested lists of that shape, or raise `DataError`."""
        return self._shaped(f"instance.{name}", self.instance.get(name), shape, shape)

    def _shaped(self, name: str, value: Any, left: tuple[int, ...], shape: tuple[int, ...]) -> Any:
        expected = f"numbers of shape {shape}"
        if not left:
            return self._number(name, value, expected)
        if not isinstance(value, list):
            raise self.refused(name, value, expected)
        if len(value) != left[0]:
            raise DataError(f"{self.path}: {name}: got length {len(value)}, expected {expected}")
        return [self._shaped(name, item, left[1:], shape) for item in value]

    def _number(self, name: str, value: Any, expected: str) -> float:
        if not _is_json_double(value):
            raise self.refused(name, value, expected)
        return float(value)


def read(path: str | Path) -> tuple[Document, ...]:
    """Return the certificates in a file: an object is one, a list is several.

    Raises
    ------
    DataError
        The file cannot be read, is larger than 16 MiB, or is no certificate of this version.
    InvalidArgument
        ``path`` is no name of a file.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgument("path", path, "the name of a file")
    try:
        text = _read_certificate_text(Path(path))
        content = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_keys
        )
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}){_suggest_certificate_file(path)}"
        ) from error
    except (ValueError, RecursionError) as error:  # bad bytes, bad JSON, NaN
        said = f"{path}: is not JSON ({shorten_repr(str(error))}){_suggest_certificate_file(path)}"
        raise DataError(said) from error
    if not isinstance(content, list):
        return (_parse_certificate(str(path), content),)
    if not content:
        raise DataError(f"{path}: is not a certificate (an empty list)")
    return tuple(_parse_certificate(f"{path}[{i}]", one) for i, one in enumerate(content))


def _suggest_certificate_file(path: str | Path, content: object = None) -> str:
    """Return which file to verify where a report or a folder was named; else nothing."""
    named = Path(path)
    folder = named if named.is_dir() else named.parent
    is_report = named.suffix in (".html", ".md") or (
        isinstance(content, dict) and "results" in content
    )
    if not (named.is_dir() or is_report):
        return ""
    beside = folder / "certificate.json"
    if beside.is_file():
        return f"; its certificate is {beside}: verify that"
    what = "the folder" if named.is_dir() else "a report"
    return f"; {what} has no certificate.json, as one has where a claim was refuted"


def _read_certificate_text(path: Path) -> str:
    """Return the content of a regular file of moderate size; no pipe is waited for."""
    # Without O_NONBLOCK the call would wait for a writer when the path is a FIFO. The status is
    # taken from the open file, so that nobody can swap the path between the check and the
    # reading.
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path}: is not a regular file{_suggest_certificate_file(path)}")
        if status.st_size > _LARGEST:
            raise DataError(f"{path}: has {status.st_size} bytes, expected at most {_LARGEST}")
        return file.read()


def _parse_certificate(path: str, content: Any) -> Document:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        said = f"{path}: is not a certificate (expected format {FORMAT!r})"
        raise DataError(f"{said}{_suggest_certificate_file(path, content)}")
    schema_of(path, content, "certificate")
    version = content.get("version")
    if type(version) is int and version > VERSION:
        raise make_later_schema_error(
            path, f"version {shorten_repr(version, width=20)}", str(VERSION)
        )
    if type(version) is not int or version != VERSION:
        raise DataError(f"{path}: version: got {shorten_repr(version)}, expected {VERSION}")
    for name in _WORDS:
        if not isinstance(content.get(name), str):
            raise DataError(
                f"{path}: {name}: got {shorten_repr(content.get(name))}, expected words"
            )
    for name in _MAPPINGS:
        if not isinstance(content.get(name), dict):
            raise DataError(
                f"{path}: {name}: got {shorten_repr(content.get(name))}, expected an object"
            )
    return Document(
        path=path,
        assumptions=_parse_assumptions(path, content.get("assumptions")),
        **{name: content[name] for name in (*_WORDS, *_MAPPINGS)},
    )


def _parse_assumptions(path: str, listed: Any) -> dict[str, tuple[float, float]]:
    expected = "a list of objects with a name of its own, value and limit"
    if not isinstance(listed, list):
        raise DataError(f"{path}: assumptions: got {shorten_repr(listed)}, expected {expected}")
    found: dict[str, tuple[float, float]] = {}
    for item in listed:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise DataError(f"{path}: assumptions: got {shorten_repr(item)}, expected {expected}")
        value, limit = item.get("value"), item.get("limit")
        if not (_is_json_double(value) and _is_json_double(limit)) or item["name"] in found:
            raise DataError(f"{path}: assumptions: got {shorten_repr(item)}, expected {expected}")
        found[item["name"]] = (float(value), float(limit))
    return found


def format_rounded_down(bound: float, above: float = -math.inf) -> str:
    """Return a bound from below with six digits, none of which says more than there is.

    With more where six would not show that it is above another number.

    Examples
    --------
    >>> (
    ...     format_rounded_down(1.9999999),
    ...     format_rounded_down(0.1),
    ...     format_rounded_down(-1.23456789e-9),
    ... )
    ('1.99999', '0.1', '-1.23457e-9')
    >>> format_rounded_down(2.00000004, above=2.0)
    '2.00000004'
    """
    for digits in range(6, 54):  # a double has so many at most
        down = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal_from_float(bound)
        if bound <= above or float(down) > above:
            break
    return f"{down.normalize():g}"


def _is_json_double(value: Any) -> TypeGuard[float]:
    """Return whether JSON gave a number that is a finite double."""
    # The exact type refuses booleans. The comparison is false of NaN and of infinities, and
    # Python compares an integer of any length with a double exactly, where float() would
    # overflow.
    return type(value) in (int, float) and abs(value) < 1e300


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names something twice: a reader might look at the other one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object names something twice")
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a finite number")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a verifier: its recomputed numbers, each enclosed or without error.

    Parameters
    ----------
    assumptions
        The number and the limit of each; the limit is the verifier's, not the file's.
    quantities
        ``ratio``, true over claimed or another number that is above 1 where the claim fails, among
        others; ``ratio`` has to be proved above 1.
    summary
        What was verified, for people; by default how often the ratio is the claimed bound.
    residuals
        Assumptions whose value is what rounding leaves of 0, such as by how much a unit vector is
        not one: below its limit, no digit of it has to be that of the file.
    reservations
        What keeps it from refuting the claim as published, such as a constant that is not the
        paper's. A ``factor`` below 1 is added by `dpaudit.verification.judge`.
    """

    assumptions: Mapping[str, tuple[Number, Number]]
    quantities: Mapping[str, Number]
    summary: str | None = None
    residuals: frozenset[str] = frozenset()
    reservations: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a certificate stands: every failure in a sentence, and the recomputed numbers.

    With ``reservations`` the numbers of the certificate are right, but what they break is not the
    claim as published: they say what differs. A certificate that ``proves`` refutes nothing: what
    it states holds.
    """

    claim: str
    failures: tuple[str, ...]
    ratio: float
    summary: str
    reservations: tuple[str, ...] = ()
    proves: bool = False

    @property
    def verified(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def refutes_as_published(self) -> bool:
        """Whether it refutes the claim itself, not one that was made stricter."""
        return self.verified and not self.reservations and not self.proves

    @property
    def on_the_claim(self) -> verdicts.Verdict:
        """The verdict of the certificate on the claim as published.

        One that fails says nothing of it, and one with reservations is about another.
        """
        if not self.verified:
            return "withheld"
        if self.reservations:
            return "not refuted"
        return "proved" if self.proves else "refuted"
