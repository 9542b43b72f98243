"""A user's records and outputs in messages: marked where they enter one, shown if it is asked for.

Whoever puts into a message what a dataset holds, or what a mechanism returned, wraps it in a
`Record`. How that is shown is decided here and nowhere else: by kind, shape and a salted hash, or,
inside `set_records_shown`, as it is. A run has one salt, which nothing writes down: equal values
have equal hashes within a run and not across runs, and nobody can try values to see which has a
hash.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import numbers
import secrets
import struct
from collections.abc import Iterator, Mapping, Set
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

# Enough for a reader to see which values of a run are equal.
_BYTES = 4  # of a hash


@dataclass(frozen=True)
class Policy:
    """Whether records are shown, and the salt of this run's hashes."""

    shown: bool = False
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)


_USUAL = Policy()  # where no run has begun
_policy: ContextVar[Policy] = ContextVar("records", default=_USUAL)


def get_policy() -> Policy:
    """Return the policy that holds here, for another process of the same run."""
    return _policy.get()


def set_policy(chosen: Policy) -> Policy:
    """Let a policy hold from here on, in a process that works for another; return it."""
    _policy.set(chosen)
    return chosen


@contextlib.contextmanager
def apply_policy(chosen: Policy) -> Iterator[None]:
    """Let a policy hold inside the block."""
    before = _policy.set(chosen)
    try:
        yield
    finally:
        _policy.reset(before)


@contextlib.contextmanager
def set_records_shown(shown: bool = True) -> Iterator[None]:
    """Show records inside the block, or hide them; its hashes are those of a run of its own.

    Examples
    --------
    >>> with set_records_shown():
    ...     print(f"got {Record([1.5, 2.0])}")
    got [1.5, 2.0]
    """
    with apply_policy(Policy(shown=shown)):
        yield


@contextlib.contextmanager
def run(shown: bool = False) -> Iterator[None]:
    """Let the block be a run of its own, or a part of the one around it, which keeps its salt."""
    around = _policy.get()
    inside = around is not _USUAL
    with apply_policy(
        dataclasses.replace(around, shown=around.shown or shown) if inside else Policy(shown)
    ):
        yield


def show_records() -> None:
    """Show records from here to the end of the block that hides them."""
    _policy.set(dataclasses.replace(_policy.get(), shown=True))


def are_shown() -> bool:
    """Return whether records are shown here."""
    return _policy.get().shown


class Record:
    """A value of a dataset or of an output, as a message may say it.

    Examples
    --------
    >>> Record([[1.5, 2.0], [0.0, 1.0]])  # doctest: +ELLIPSIS
    values of shape (2, 2) #...
    >>> repr(Record("Alice")) == repr(Record("Alice")) != repr(Record("Bob"))
    True
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        return _format_plain_value(self._value) if are_shown() else format_hidden_value(self._value)


def convert_stray_argument(value: object) -> object:
    """Return an argument that should be no dataset, marked if it may be one by mistake."""
    return value if isinstance(value, _NO_DATA) or callable(value) else Record(value)


_NO_DATA = (str, bytes, int, float, type(None))


def format_message_value(value: object) -> str:
    """Return a message's words for a value: arrays, and containers of them, are records always."""
    return repr(Record(value)) if _holds_an_array(value) else repr(value)


def format_hidden_value(value: object) -> str:
    """Return kind, shape and salted hash of a value; a missing or infinite one tells nobody.

    Examples
    --------
    >>> (
    ...     format_hidden_value(None),
    ...     format_hidden_value(""),
    ...     format_hidden_value("NaN"),
    ...     format_hidden_value(1) == format_hidden_value(1.0) != format_hidden_value(2),
    ... )
    ('None', "''", "'NaN'", True)
    """
    if value is None or _is_blank(value):
        return _format_plain_value(value)
    key = _policy.get().salt
    digest = hashlib.blake2b(_to_canonical_bytes(value), key=key, digest_size=_BYTES).hexdigest()
    return f"{_format_value_kind(value)} #{digest}"


def compute_data_fingerprint(value: Any, salt: bytes) -> str:
    """Return a hash of data for a file, with the file's own salt, of 64 bytes at most.

    Whoever has the data sees that they are the same; nobody else learns what they are, unless there
    are few that they could be.

    Examples
    --------
    >>> compute_data_fingerprint([0.0, 1.0], b"a") == compute_data_fingerprint(
    ...     [0, 1], b"a"
    ... ) != compute_data_fingerprint([0, 1], b"b")
    True
    """
    return hashlib.blake2b(_to_canonical_bytes(value), key=salt, digest_size=16).hexdigest()


def _format_plain_value(value: Any) -> str:
    """Return a value as Python writes it; a numpy number without its type."""
    if isinstance(value, numbers.Number) and hasattr(value, "item"):
        return repr(value.item())
    return repr(value)


def _is_blank(value: object) -> bool:
    if isinstance(value, float | str):
        with contextlib.suppress(ValueError):
            return not math.isfinite(float(value))
        return not str(value).strip()
    return False


def _format_value_kind(value: Any) -> str:
    if isinstance(value, bool | numbers.Number):
        return "a number"
    if isinstance(value, str | bytes):
        return f"text of {len(value)} characters"
    shape = getattr(value, "shape", None)
    if shape is None and isinstance(value, list | tuple):
        shape = _get_nested_shape(value)
    if isinstance(shape, tuple):
        return f"values of shape {shape}" if shape else "a value"
    features = getattr(getattr(value, "features", None), "shape", None)
    kind = type(value).__name__
    return f"{kind} of shape {features}" if isinstance(features, tuple) else kind


def _get_nested_shape(value: list[Any] | tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the shape of nested lists; None where rows differ."""
    inner = [_get_nested_shape(one) if isinstance(one, list | tuple) else () for one in value]
    first = inner[0] if inner else ()
    if first is None or any(one != first for one in inner):
        return None
    return (len(value), *first)


def _to_canonical_bytes(value: Any) -> bytes:
    """Return bytes that equal values share, whichever types hold them, and no others."""
    if isinstance(value, bool | numbers.Real):
        with contextlib.suppress(OverflowError):
            # Beyond 2**53 doubles are no longer apart by 1, and integers that differ would have
            # the bytes of one double.
            if isinstance(value, numbers.Integral) and int(float(value)) != int(value):
                return b"i" + str(int(value)).encode() + b"."
            # Adding 0.0 makes -0.0 and 0.0, which are equal, the same bytes.
            return b"n" + struct.pack("<d", float(value) + 0.0)
    if isinstance(value, str | bytes):
        text = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        # The length stands first, or ["ab", "c"] and ["a", "bc"] would have the same bytes.
        return b"t" + struct.pack("<Q", len(text)) + text
    if (parts := _split_structure(value)) is not None:
        return parts[0] + _to_canonical_bytes(parts[1])
    if hasattr(value, "tolist"):
        return _to_canonical_bytes(value.tolist())
    if hasattr(value, "isoformat"):
        return b"d" + _to_canonical_bytes(value.isoformat())
    if isinstance(value, Set):
        return b"{" + b"".join(sorted(map(_to_canonical_bytes, value))) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b"".join(map(_to_canonical_bytes, value)) + b"]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [getattr(value, one.name) for one in dataclasses.fields(value)]
        return b"(" + b"".join(map(_to_canonical_bytes, fields)) + b")"
    kind = b"o" + _to_canonical_bytes(type(value).__qualname__)
    held = getattr(value, "__dict__", None)
    if held and not callable(value):
        return kind + _to_canonical_bytes(_flatten_items(held))
    written = repr(value)
    # An address is another one in each process, so that equal objects would get different
    # hashes.
    return kind + (b"." if " at 0x" in written else _to_canonical_bytes(written))


def _split_structure(value: Any) -> tuple[bytes, list[Any]] | None:
    """Return a letter and the parts of a table, a graph or a mapping, unlike a list of them."""
    if hasattr(value, "tocoo"):  # sparse
        return b"s", [value.shape, value.toarray()]
    if hasattr(value, "columns") and hasattr(value, "to_dict"):  # a table
        rows = value.to_numpy(dtype=object).tolist()
        return b"f", [list(value.columns), list(value.index), rows]
    if hasattr(value, "nodes") and hasattr(value, "number_of_edges"):
        return b"g", [list(value.nodes(data=True)), list(value.edges(data=True))]
    return (b"m", _flatten_items(value)) if isinstance(value, Mapping) else None


def _flatten_items(value: Mapping[Any, Any]) -> list[Any]:
    return [part for item in value.items() for part in item]


def _holds_an_array(value: object) -> bool:
    if getattr(value, "ndim", 0) and hasattr(value, "__array__"):
        return True
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return False
    return any(
        hasattr(getattr(value, one.name, None), "__array__") for one in dataclasses.fields(value)
    )
