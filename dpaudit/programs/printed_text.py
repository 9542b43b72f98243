"""Printed text of a program as an output: a number, a line of text, several numbers, or JSON."""

from __future__ import annotations

import json
import re
from typing import Any

from dpaudit.errors import MechanismError, VerbatimText, shorten_repr
from dpaudit.redaction import Record

LONGEST = 2**26  # bytes of an output
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I | re.A)
_EXPECTED = "a number, a line of text, several numbers, or JSON"
_EXACT = 2**53  # integers up to here are doubles


class NotAnOutput(ValueError):
    """A printed text that cannot be an output; the message says of which kind it is."""


def output_of(printed: bytes) -> Any:
    r"""Return the output that a program printed.

    Numbers are doubles, whether printed as 3 or as 3.0: many languages print both alike. Several
    numbers may be separated by blanks, tabs, commas, semicolons or ends of lines.

    Raises
    ------
    NotAnOutput
        It printed nothing, several lines of text, or what is no text.

    Examples
    --------
    >>> output_of(b"3\n"), output_of(b"1, 2.5\n"), output_of(b'{"n": 3}\n'), output_of(b"yes\n")
    (3.0, [1.0, 2.5], {'n': 3.0}, 'yes')
    >>> output_of(b"yes\nno\n")
    Traceback (most recent call last):
    dpaudit.programs.printed_text.NotAnOutput: 2 lines of text
    """
    if len(printed) > LONGEST:
        raise NotAnOutput(f"{len(printed)} bytes, of which {LONGEST} are allowed")
    try:
        text = printed.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise NotAnOutput("bytes that are not text in UTF-8") from None
    if not text:
        raise NotAnOutput("nothing")
    if _NUMBER.fullmatch(text):
        return number_of(text)
    if text[0] in '[{"' or text in ("true", "false", "null"):
        return json_of(text)
    if len(words := re.split(r"[\s,;]+", text)) > 1 and all(map(_NUMBER.fullmatch, words)):
        return [number_of(one) for one in words]
    if len(lines := text.splitlines()) > 1:
        raise NotAnOutput(f"{len(lines)} lines of text")
    return text


def number_of(text: str) -> float | int:
    """Return a number: a double, or an integer that no double is."""
    found = float(text)
    # CPython refuses to read integers of more than 4300 digits, in time that grows with their
    # square.
    if abs(found) < _EXACT or not re.fullmatch(r"[+-]?\d{1,4000}", text, re.A):
        return found
    # An integer that a double cannot hold stays one: rounded, two different outputs could
    # become the same.
    return found if int(found) == int(text) else int(text)


def json_of(text: str) -> Any:
    """Return the value of JSON, whose numbers are as `number_of` has them.

    Raises
    ------
    NotAnOutput
        It is no JSON, which has no NaN and no infinities.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise NotAnOutput("JSON that is nested too deeply") from None
    except ValueError:
        raise NotAnOutput("text that begins like JSON and is not JSON") from None


def _refuse_json_constant(constant: str) -> Any:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_int=number_of, parse_constant=_refuse_json_constant)


def make_printed_output_error(name: str, printed: bytes, why: NotAnOutput) -> MechanismError:
    """Return the error of an output that is none."""
    shown = Record(printed[:200].decode("utf-8", "replace"))
    more = "" if not printed.strip() else f" ({shown!r})"
    return MechanismError(
        f"program {shorten_repr(VerbatimText(name))}: printed {why}{more}, expected {_EXPECTED}"
    )
