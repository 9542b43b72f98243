"""Answers of a service: the part of them that is the output."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable
from email.message import Message
from typing import Any, NamedTuple

from dpaudit.errors import MechanismError
from dpaudit.redaction import Record

_DEEPEST = 64  # levels of JSON
_SHOWN = 200  # characters
_EXACT = 2**53
# zlib reads the wrapper off the window: 31 is gzip, 15 is zlib's own, which RFC 9110 calls
# deflate, and -15 is bare deflate, which many servers send under that name.
_ENCODINGS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}  # windows of zlib


class ServiceAnswer(NamedTuple):
    """An answer: its status, its headers by lower-case names, and its body."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes


def output_of(answer: ServiceAnswer, read: str | None) -> Any:
    r"""Return the output that an answer holds.

    Parameters
    ----------
    answer
        JSON, a number, or a text.
    read
        The name of a member, a JSON pointer (RFC 6901) such as ``/result/count``, or
        ``header:NAME``; by default all that the body holds.

    Raises
    ------
    MechanismError
        The answer has no such part, is no text in its charset, is nested too deeply, or holds what
        is no number of JSON.

    Examples
    --------
    >>> answer = ServiceAnswer(200, "OK", {}, b'{"result": {"count": 3.5}, "took": 0.1}')
    >>> output_of(answer, "/result/count"), output_of(answer, "took")
    (3.5, 0.1)
    >>> output_of(answer._replace(body=b" 12.25\n"), None)
    12.25
    """
    if read is not None and read.lower().startswith("header:"):
        return _read_answer_header(answer, read.partition(":")[2].strip())
    value = _parse_answer_body(answer)
    found = value if read is None else _select_answer_part(value, read)
    _require_finite(found)
    return found


def decode_content(body: bytes, encoding: str, most: int) -> bytes | None:
    """Return a body as it was before a content encoding; None where it has too many bytes.

    Raises
    ------
    MechanismError
        The encoding is unknown, or the body is not so encoded.

    Examples
    --------
    >>> import gzip
    >>> body = gzip.compress(b"3.5")
    >>> decode_content(body, "gzip", 100), decode_content(body, "gzip", 2)
    (b'3.5', None)
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in _ENCODINGS:
        known = "identity, which was asked for, gzip or deflate"
        raise MechanismError(f"answered with the content encoding {encoding}, expected {known}")
    for window in _ENCODINGS[encoding]:
        try:
            return _inflate_body(body, window, most)
        except zlib.error:
            continue
    raise MechanismError(
        f"answered with bytes that are not {encoding}, which its content encoding states"
    )


def _inflate_body(body: bytes, window: int, most: int) -> bytes | None:
    reading = zlib.decompressobj(window)
    # One byte more than is allowed: a small body may inflate to gigabytes, and this shows it
    # without inflating it.
    found = reading.decompress(body, most + 1)
    if len(found) > most:
        return None
    if not reading.eof:
        raise zlib.error("it ends too early")
    return found


def format_answer_beginning(answer: ServiceAnswer) -> str:
    """Return the beginning of a body, which a message shows where records are shown."""
    return str(Record(answer.body[:_SHOWN].decode("utf-8", "replace")))


def _read_answer_header(answer: ServiceAnswer, name: str) -> Any:
    found = answer.headers.get(name.lower())
    if found is None:
        raise MechanismError(f"read: the answer has no header {name}")
    return _parse_answer_number(found)


def _parse_answer_body(answer: ServiceAnswer) -> Any:
    text = _text(answer)
    if not text:
        raise MechanismError("the answer is empty")
    try:
        found = json.loads(text, parse_int=_integer, parse_constant=_refuse_constant)
    except RecursionError:
        raise MechanismError("the answer is JSON that is nested too deeply") from None
    except ValueError:
        if "json" in answer.headers.get("content-type", ""):
            raise MechanismError(
                f"the answer is no JSON: {format_answer_beginning(answer)}"
            ) from None
        found = _parse_answer_number(text)
    _require_shallow(found)
    return found


def _integer(text: str) -> float | int:
    """Return a double where one is exact: 3 and 3.0 are written alike by many services."""
    found = float(text)
    return found if abs(found) < _EXACT else int(text)


def _text(answer: ServiceAnswer) -> str:
    """Return the text of a body, in UTF-8 or else in the charset that the answer names."""
    named = Message()
    named["content-type"] = answer.headers.get("content-type", "")
    charset = named.get_content_charset()
    # UTF-8 comes first whatever charset is named: text in another charset that is valid UTF-8
    # is rare, and servers often name a default that is wrong.
    for one in ("utf-8-sig", charset or ""):
        try:
            return answer.body.decode(one).strip()
        except (UnicodeDecodeError, LookupError):
            continue
    other = "names no charset" if charset is None else f"is not text in {charset}, which it states"
    raise MechanismError(f"the answer is no UTF-8 and {other}: {format_answer_beginning(answer)}")


def _refuse_constant(name: str) -> Any:
    raise MechanismError(f"the answer holds {name}, which is not a number in JSON")


def _require_finite(found: Any) -> None:
    if isinstance(found, float) and not math.isfinite(found):
        raise MechanismError("the answer is a number beyond all doubles, expected a finite number")
    for one in _get_parts(found):
        _require_finite(one)


def _parse_answer_number(text: str) -> Any:
    """Return a number, where a text is one; a text is an output as well."""
    try:
        found = float(text)
    except ValueError:
        return text
    _require_finite(found)
    return found


def _require_shallow(value: Any, level: int = 0) -> None:
    if level > _DEEPEST:
        raise MechanismError(f"the answer is JSON that is nested in more than {_DEEPEST} levels")
    for one in _get_parts(value):
        _require_shallow(one, level + 1)


def _get_parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _select_answer_part(value: Any, read: str) -> Any:
    steps = read[1:].split("/") if read.startswith("/") else [read]
    for step in steps:
        # In this order, as RFC 6901 asks: the other one would turn "~01" into a slash.
        value = _select_answer_member(value, step.replace("~1", "/").replace("~0", "~"), read)
    return value


def _select_answer_member(value: Any, name: str, read: str) -> Any:
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    there = "nothing"
    if isinstance(value, dict):
        there = ", ".join(sorted(map(str, value))[:8]) or there
    elif isinstance(value, list):
        there = f"a list of {len(value)}"
    raise MechanismError(f"read: the answer has nothing at {read}: there is {there}")
