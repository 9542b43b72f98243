"""Observations of one run, in parts: any value that a mechanism returns, by path.

An observation is a tree of containers: numbers, text and other values at its leaves, under paths
such as ``groups['b']``, ``coef_[3]`` or ``len``. A number is a double. Everything else is discrete,
and so is what the tree itself tells: types, keys, lengths, what is missing. A discrete value is
kept as a token, a hash of 48 bits that is a double too.

Formal guarantee: parts are a fixed function of an observation. An event of parts is therefore an
event of observations, and what counts of it certify holds for the mechanism, whatever the function
merges.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import re
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Set
from typing import Any

import numpy as np

from dpaudit.errors import MechanismError
from dpaudit.mechanisms.outputs.leaves import ADDRESS, LeafToken, Part, convert_leaf, text_of
from dpaudit.mechanisms.outputs.tensors import host_array

_DEEP = 12  # containers in one another; below, the text of what there is
_KEY = re.compile(r"\['([A-Za-z_]\w*)'\]")
_SIMPLE = "biuf"  # kinds of arrays whose entries are numbers
# What is read of one output: of more nothing could be kept of as many outputs as an audit draws.
_MOST = 200_000  # parts
_LONGEST = 2**24  # letters or bytes of one part
_TOLD = 2**16  # letters of an exception's message


class PartsOf(dict[str, tuple["float | LeafToken", ...]]):
    """The parts of an observation, read where it was made.

    Parameters
    ----------
    parts
        By path.
    numbers
        Of each text that has numbers these, and what is around them, by its path.
    """

    def __init__(
        self,
        parts: Mapping[str, tuple[float | LeafToken, ...]],
        numbers: Mapping[str, dict[str, tuple[float | LeafToken, ...]]] | None = None,
    ) -> None:
        super().__init__(parts)
        self.numbers = numbers or {}


class _Member(enum.Enum):
    IN = "in"


_IN = _Member.IN  # what a set holds of each of its members


def split_observation(observation: Any) -> dict[str, tuple[Part, ...]]:
    """Return the parts of an observation by path: a number, a token, or a number with a token.

    The token of a number says what the double does not: that it is no number, or what was rounded.

    Examples
    --------
    >>> split_observation({"a": 1.5, "b": {3: None}})["b[3]"]
    (LeafToken(kind='NoneType', text='None'),)
    >>> split_observation([2.0, float("nan")])["output[1]"]
    (LeafToken(kind='number', text='nan'),)

    Raises
    ------
    MechanismError
        There are more of them than an audit can read, or it shows what it holds only once.
    """
    if type(observation) is PartsOf:
        return observation
    found = dict[str, tuple[Part, ...]]()
    for path, part in _find_parts(observation, "", ()):
        found[_find_free_path(_format_path(path), found)] = part
        if len(found) > _MOST:
            raise _too_much(observation, f"of more than {_MOST:,} parts")
    return found


def _too_much(value: Any, what: str) -> MechanismError:
    return MechanismError(
        f"returned a {type(value).__qualname__} {what}, expected at most {_MOST:,} parts, and "
        f"{_LONGEST:,} letters or bytes in one: return an array of numbers, or audit what is made "
        f"of it"
    )


def _require_readable(value: Any) -> None:
    """Refuse a container or a text that is too large before anything of it is looked at."""
    if isinstance(value, str | bytes | bytearray):
        if len(value) > _LONGEST:
            raise _too_much(value, f"of {len(value):,} {_unit_of(value)}")
    elif isinstance(value, Mapping | Set | list | tuple) and len(value) > _MOST:
        raise _too_much(value, f"of {len(value):,} entries")
    elif isinstance(value, np.ndarray) and value.size > _MOST:
        raise _too_much(value, f"of {value.size:,} entries that is no array of numbers by itself")


def require_few_in_lists(value: list[Any] | tuple[Any, ...]) -> None:
    """Refuse lists in lists that hold too much in all; a list of numbers alone is an array.

    Nothing is opened of which there is too much, however deep it lies.

    Raises
    ------
    MechanismError
        They hold more entries than an audit can read.
    """
    level = [one for one in value if isinstance(one, list | tuple)]
    for _ in range(_DEEP):
        if (entries := sum(map(len, level))) > _MOST:
            raise _too_much(value, f"of {entries:,} entries in {len(level):,} others")
        level = [inner for one in level for inner in one if isinstance(inner, list | tuple)]


def require_few(value: Any) -> None:
    """Refuse an output of too many parts, an array as well: of each a law is looked for.

    Raises
    ------
    MechanismError
        It has more of them than a replay can look at.
    """
    if isinstance(value, list | tuple):
        require_few_in_lists(value)
    if isinstance(value, np.ndarray):
        if value.size > _MOST:
            raise MechanismError(
                f"returned an array of {value.size:,} entries, expected at most {_MOST:,} parts: "
                f"look at some of them (read=), or at what is made of it"
            )
        return
    for number, _ in enumerate(_find_parts(value, "", ())):  # in fields and under keys, too
        if number == _MOST:
            raise _too_much(value, f"of more than {_MOST:,} parts")


def _unit_of(value: str | bytes | bytearray) -> str:
    return "letters" if isinstance(value, str) else "bytes"


def _find_free_path(path: str, taken: Mapping[str, object]) -> str:
    """Return the path, with a number where another part has the same one."""
    if path not in taken:
        return path
    return next(new for n in itertools.count(2) if (new := f"{path}#{n}") not in taken)


def _format_path(path: str) -> str:
    """Return the path as people write it: ``groups['b']`` of a dict, ``output[3]`` of a list."""
    if (key := _KEY.match(path)) is not None:
        return key[1] + path[key.end() :]
    return f"output{path}" if path.startswith("[") else path.removeprefix(".")


def _find_parts(
    value: Any, path: str, around: tuple[int, ...]
) -> Iterator[tuple[str, tuple[Part, ...]]]:
    _require_readable(value)
    if (found := convert_leaf(value)) is not None:
        yield path or "output", found
        return
    # A container may hold itself.
    if len(around) == _DEEP or id(value) in around:
        yield path or "output", (text_of(value),)
        return
    for matches, opened in _CONTAINERS:
        if matches(value):
            for name, part, inside in opened(value):
                if isinstance(part, LeafToken):
                    yield _join_path(path, name), (part,)
                elif inside:
                    yield from _find_parts(part, path + name, (*around, id(value)))
                else:
                    yield _join_path(path, name), (float(part),)
            return
    yield path or "output", (text_of(value),)


def _join_path(path: str, name: str) -> str:
    """Return the path of a fact about a container, not of a member."""
    return f"{path}.{name}" if path else name


# Containers: what is told about them, and what is in them

_Opened = Iterator[tuple[str, Any, bool]]


def _of_mapping(value: Mapping[Any, Any]) -> _Opened:
    """Yield the set of keys, and the value at each; their order tells nothing."""
    # Keys of several types do not compare with one another; their names do.
    named = sorted(((_format_member_name(key), key) for key in value), key=lambda one: one[0])
    yield "keys", LeafToken("keys", ", ".join(name for name, _ in named)), False
    for name, key in named:
        yield f"[{name}]", value[key], True


def _of_set(value: Set[Any]) -> _Opened:
    names = sorted(map(_format_member_name, value))
    yield "keys", LeafToken("set", ", ".join(names)), False
    yield "len", len(value), False
    for name in names:
        yield f"[{name}]", _IN, True


def _format_member_name(key: Any) -> str:
    """Return how a key or a member of a set is named, without an address."""
    return ADDRESS.sub("", repr(key))


def _of_sequence(value: Any) -> _Opened:
    yield "type", LeafToken("type", type(value).__qualname__), False
    yield "len", len(value), False
    for number, one in enumerate(value):
        yield f"[{number}]", one, True


def _of_named(value: Any) -> _Opened:
    yield "type", LeafToken("type", type(value).__qualname__), False
    for name in value._fields:
        yield f".{name}", getattr(value, name), True


def _of_dataclass(value: Any) -> _Opened:
    yield "type", LeafToken("type", type(value).__qualname__), False
    for field in dataclasses.fields(value):
        yield f".{field.name}", getattr(value, field.name), True


def _of_array(value: Any) -> _Opened:
    """Yield shape and kind of an array, and its entries, masked ones as missing."""
    array = np.asanyarray(host_array(value))
    yield "shape", LeafToken("shape", str(array.shape)), False
    yield "dtype", LeafToken("dtype", str(array.dtype)), False
    if array.dtype.names:
        for name in array.dtype.names:
            yield f"['{name}']", array[name], True
        return
    if array.ndim and array.dtype.kind == "O":
        yield "len", len(array), False
    entries = array.tolist() if array.dtype.kind in _SIMPLE and array.itemsize <= 8 else None
    # From a masked array tolist() makes None of what is masked, whose stored values mean nothing.
    flat = array.reshape(-1) if entries is None else np.ravel(np.asarray(entries, dtype=object))
    if entries is None and array.dtype.kind == "c":
        flat = flat.tolist()
    for index, one in zip(np.ndindex(array.shape), flat, strict=True):
        if one is np.ma.masked:
            one = None
        where = ", ".join(map(str, index))
        yield (f"[{where}]" if where else ""), one, True


def _of_complex(value: Any) -> _Opened:
    yield ".real", value.real, True
    yield ".imag", value.imag, True


def _of_frame(value: Any) -> _Opened:
    """Yield the labels of a table and its columns."""
    yield "columns", LeafToken("columns", ", ".join(map(repr, value.columns))), False
    yield "len", len(value), False
    yield "index", LeafToken("index", ", ".join(map(repr, value.index[:1000]))), False
    for number, name in enumerate(value.columns):
        column = value.iloc[:, number]
        yield f"[{name!r}]", _ColumnEntries(column), True


@dataclasses.dataclass(frozen=True)
class _ColumnEntries:
    """The entries of a pandas column, apart from its index."""

    series: Any


def _of_column(value: _ColumnEntries) -> _Opened:
    dtype = value.series.dtype
    yield "dtype", LeafToken("dtype", str(dtype)), False
    if (categories := getattr(dtype, "categories", None)) is not None:
        yield "categories", LeafToken("categories", ", ".join(map(repr, categories))), False
    for number, one in enumerate(value.series.tolist()):
        yield f"[{number}]", one, True


def _of_series(value: Any) -> _Opened:
    """Yield the entries of a pandas series by their labels, and the labels."""
    yield "index", LeafToken("index", ", ".join(map(repr, value.index))), False
    yield "dtype", LeafToken("dtype", str(value.dtype)), False
    labels = list(value.index)
    # Labels that repeat would give several entries one path.
    named = len(set(map(repr, labels))) == len(labels)
    for number, (label, one) in enumerate(zip(labels, value.tolist(), strict=True)):
        yield f"[{label!r}]" if named else f"[{number}]", one, True


def _of_index(value: Any) -> _Opened:
    yield from _of_sequence(list(value))


def _of_sparse(value: Any) -> _Opened:
    coordinates = value.tocoo()
    yield "shape", LeafToken("shape", str(value.shape)), False
    yield "nnz", int(value.nnz), False
    stored = zip(*(axis.tolist() for axis in coordinates.coords), strict=True)
    for index, one in zip(stored, coordinates.data.tolist(), strict=True):
        yield f"[{', '.join(map(str, index))}]", one, True


def _of_exception(value: BaseException) -> _Opened:
    yield "raised", LeafToken("raised", type(value).__qualname__), False
    yield ".message", str(value)[:_TOLD], True


def _of_object(value: Any) -> _Opened:
    """Yield the type and the attributes of an object; of a fitted model, the learned ones."""
    yield "type", LeafToken("type", type(value).__qualname__), False
    held = _get_object_attributes(value)
    # By the convention of scikit-learn what was learned ends in an underscore.
    fitted = [name for name in held if name.endswith("_") and not name.startswith("_")]
    learned = fitted if hasattr(value, "fit") else []
    for name in sorted(learned or held):
        if not callable(held[name]):
            yield f".{name}", held[name], True


def _get_object_attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object by name, those of slots too."""
    slots = [
        name
        for kind in type(value).__mro__
        for name in _get_slot_names(kind)
        if hasattr(value, name)
    ]
    return {name: getattr(value, name) for name in slots} | dict(getattr(value, "__dict__", {}))


def _get_slot_names(kind: type) -> tuple[str, ...]:
    found = vars(kind).get("__slots__", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    return tuple(_mangle_name(kind, name) for name in names if not name.endswith("__"))


def _mangle_name(kind: type, name: str) -> str:
    """Return the name of an attribute outside its class, where that of a private one differs."""
    owner = kind.__name__.lstrip("_")
    return f"_{owner}{name}" if owner and name.startswith("__") else name


def _of_graph(value: Any) -> _Opened:
    """Yield the nodes and the edges of a graph with their attributes."""
    yield "type", LeafToken("type", type(value).__qualname__), False
    yield "number_of_edges", int(value.number_of_edges()), False  # of several alike, too
    yield ".nodes", dict(value.nodes(data=True)), True
    ends = {
        f"{_format_member_name(one)}, {_format_member_name(other)}": data
        for one, other, data in value.edges(data=True)
    }
    yield ".edges", ends, True


def _of_state(value: Any) -> _Opened:
    """Yield the state that an object of compiled code offers when it is copied."""
    yield "type", LeafToken("type", type(value).__qualname__), False
    yield ".state", _get_reduced_state(value), True


def _get_reduced_state(value: Any) -> Any:
    """Return the state that an object offers for a copy of it, None if there is none."""
    # An object with a representation of its own is told by that.
    if not ADDRESS.search(object.__repr__(value)) or isinstance(value, Iterator | Coroutine):
        return None
    try:
        found = value.__reduce_ex__(2)
    except Exception:  # it cannot be copied
        return None
    return found[2] if isinstance(found, tuple) and len(found) > 2 else None


def _is_pandas(value: Any, kind: str) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, kind))


def _is_array_like(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (
        (hasattr(value, "__array__") or hasattr(value, "__dlpack_device__"))
        and not isinstance(value, type)
    )


_CONTAINERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], _Opened]], ...] = (
    (lambda value: isinstance(value, _ColumnEntries), _of_column),
    # Columns come first, as they are dataclasses, too; the last entries match nearly anything.
    (lambda value: isinstance(value, complex | np.complexfloating), _of_complex),
    (lambda value: isinstance(value, Mapping), _of_mapping),
    (lambda value: isinstance(value, Set), _of_set),
    (lambda value: isinstance(value, tuple) and hasattr(value, "_fields"), _of_named),
    (lambda value: isinstance(value, list | tuple | range), _of_sequence),
    (lambda value: _is_pandas(value, "DataFrame"), _of_frame),
    (lambda value: _is_pandas(value, "Series"), _of_series),
    (lambda value: _is_pandas(value, "Index"), _of_index),
    (lambda value: hasattr(value, "tocoo"), _of_sparse),
    (lambda value: hasattr(value, "nodes") and hasattr(value, "number_of_edges"), _of_graph),
    (_is_array_like, _of_array),
    (lambda value: isinstance(value, BaseException), _of_exception),
    (
        lambda value: dataclasses.is_dataclass(value) and not isinstance(value, type),
        _of_dataclass,
    ),
    (lambda value: bool(_get_object_attributes(value)) and not callable(value), _of_object),
    (lambda value: not callable(value) and _get_reduced_state(value) is not None, _of_state),
)
