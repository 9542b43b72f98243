"""Observations as rows of doubles: which part is in which column.

A layout is made once, of observations that certify nothing, and then it is fixed. A part that is a
number has a column of numbers, one that is discrete a column of codes. Whatever else an observation
holds, or lacks, is in the last column, as one code: no outcome is refused and none is lost sight
of. Where all observations are arrays of finite numbers of one shape, they are rows as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.mechanisms.outputs.leaves import ABSENT, LeafToken, Part
from dpaudit.mechanisms.outputs.observations import (
    require_few_in_lists,
    split_observation,
)
from dpaudit.mechanisms.outputs.outcomes import Inexact, as_doubles
from dpaudit.mechanisms.outputs.steadiness import drifts_in, steady_in
from dpaudit.mechanisms.outputs.texts import (
    add_text_parts,
    choose_texts_of_numbers,
    choose_texts_to_open,
    find_numbers_by_path,
)

MOST = 4096  # columns
# What stands in an array of numbers for what is no finite number: far from what people add up.
NAN = 1e300
INFINITE = 2e300
_ODD = 4e300
EXACTLY = "="  # before the name of a part that is the only one to be left out


class OtherOutputs(ValueError):
    """Outputs that are not as many as were asked for."""


@dataclass(frozen=True)
class LayoutColumn:
    """A column: the path of a part, and whether it holds codes of discrete values there.

    ``everywhere`` says that every observation had the part when the layout was made: its path
    then is no secret of one of them. ``length`` says that the numbers are lengths of texts,
    ``clock`` that they are the seconds that calls took; ``steady`` that on either dataset every
    observation had the same, and not on both the same; ``drifts`` that each was beyond the one
    before, as of a counter.
    """

    path: str
    discrete: bool
    everywhere: bool = True
    length: bool = False
    clock: bool = False
    steady: bool = False
    drifts: bool = False


@dataclass(frozen=True)
class Plain:
    """Arrays of finite numbers, of one shape.

    A later output of another kind is stored in their rows as numbers from 1e300 on.

    Parameters
    ----------
    shape
        Of one observation.
    kind
        Of what types it is made (`kind_of`): another is something else.
    steady, drifts
        Which entries of the flattened array are so (`LayoutColumn`).
    """

    shape: tuple[int, ...]
    kind: str = "float"
    steady: tuple[int, ...] = field(default=(), repr=False)
    drifts: tuple[int, ...] = field(default=(), repr=False)

    @property
    def columns(self) -> tuple[LayoutColumn, ...]:
        """One for each entry, in the order of the flattened array."""
        return tuple(
            LayoutColumn(
                f"output[{', '.join(map(str, index))}]" if index else "output",
                False,
                steady=number in self.steady,
                drifts=number in self.drifts,
            )
            for number, index in enumerate(np.ndindex(self.shape))
        )

    def rows(self, observations: Any, trials: int) -> Array:
        """Return ``trials`` observations as an array of finite doubles."""
        if kinds_of(observations) == {self.kind}:
            found = doubles_of(observations)
            if found.shape == (trials, *self.shape):
                return _replace_non_finite(found)
        return np.stack([self._row(one) for one in observations])

    def _row(self, observation: Any) -> Array:
        found = doubles_of(observation) if kind_of(observation) == self.kind else np.empty(0)
        if found.shape == self.shape:
            return _replace_non_finite(found)
        code = LeafToken("odd", str(sorted(split_observation(observation).items()))).code
        # A code is at most 16: odd outputs lie between _ODD and twice that, and are finite.
        return np.full(self.shape, _ODD * (1 + code / 16))


def doubles_of(given: Any) -> Array:
    """Return something as doubles, empty if that would lose some of it."""
    try:
        return as_doubles(given)
    except (Inexact, ValueError, TypeError, OverflowError):
        return np.empty(0)


def kind_of(observation: Any) -> str:
    """Return the types of a number, an array or a list of these, as text; empty for other things.

    Examples
    --------
    >>> kind_of(1.0), kind_of((1.0, 2.0)), kind_of(np.zeros(3)), kind_of("1.0")
    ('float', 'tuple of float', 'array <f8', '')
    """
    kind = type(observation)
    # Only these types themselves: a subclass, such as an enumeration, is another outcome.
    if kind in _NUMBERS:
        return kind.__name__
    if kind is np.ndarray:
        return f"array {observation.dtype.str}" if observation.dtype.kind in "biuf" else ""
    if issubclass(kind, np.generic):
        return _KINDS.get(observation.dtype.kind, "")
    if kind is list or kind is tuple:
        require_few_in_lists(observation)
        inner = kinds_of(observation)
        return f"{kind.__name__} of {inner.pop()}" if len(inner) == 1 and "" not in inner else ""
    return ""


_NUMBERS = frozenset((float, int, bool))
_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float"}


def kinds_of(observations: Any) -> set[str]:
    """Return the types of observations as texts; those of an array's rows are all alike."""
    if type(observations) is np.ndarray and observations.dtype.kind in "biuf":
        return {"rows " + observations.dtype.str}
    if not isinstance(observations, list | tuple):
        return {""}
    types = set(map(type, observations))
    if types <= _NUMBERS:
        return {one.__name__ for one in types}
    return set(map(kind_of, observations))


def _replace_non_finite(found: Array) -> Array:
    if not np.isfinite(found).all():
        return np.nan_to_num(found, nan=NAN, posinf=INFINITE, neginf=-INFINITE)
    return found


@dataclass(frozen=True)
class PartLayout:
    """Observations of any kind, by their parts.

    Parameters
    ----------
    columns
        Of what varied or is a number, and two for all the rest: which parts it has, and all of it.
    usual
        The codes of discrete parts that were the same in all observations.
    ignored
        Names of parts that are left out (`is_ignored`).
    opened
        Paths of texts that are read inside (`dpaudit.mechanisms.outputs.texts`).
    numbered
        Paths of texts of which the numbers are read: all else in them is always the same.
    """

    columns: tuple[LayoutColumn, ...]
    usual: dict[str, float]
    ignored: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    numbered: tuple[str, ...] = ()

    def with_clock(self, path: str) -> PartLayout:
        """Return the layout where the number at a path is how long a call took."""
        columns = [replace(one, clock=one.path == path) for one in self.columns]
        return replace(self, columns=tuple(columns))

    def without(self, names: Sequence[str]) -> PartLayout:
        """Return the layout without parts: the one that the same observations would have made."""
        kept, rest = self.columns[:-2], self.columns[-2:]
        columns = (*(one for one in kept if not is_ignored(one.path, names)), *rest)
        usual = {one: code for one, code in self.usual.items() if not is_ignored(one, names)}
        ignored = (*self.ignored, *names)
        return PartLayout(columns, usual, ignored, self.opened, self.numbered)

    def rows(self, observations: Any, trials: int) -> Array:
        """Return ``trials`` observations as rows, one column a part."""
        place, found = self._place, np.zeros((trials, len(self.columns)))
        for row, one in zip(found, observations, strict=True):
            self._fill(row, self._read(one), place)
        return found

    def _fill(
        self, row: Array, found: dict[str, tuple[Part, ...]], place: dict[tuple[str, bool], int]
    ) -> None:
        rest = self._rest(row, found, place)
        if rest:  # what never comes twice is still seen to be there
            row[-2], row[-1] = (token.code for token in _make_rest_tokens(rest))

    def tokens(self, observation: Any) -> tuple[LeafToken, ...]:
        """Return the tokens inside texts, and of the two columns for the rest, if there is any."""
        found = self._read(observation)
        rest = self._rest(np.zeros(len(self.columns)), found, self._place)
        texts = (*self.opened, *self.numbered)
        inside = [one for path, one in found.items() if path.startswith(texts)]
        tokens = (part for one in inside for part in one if isinstance(part, LeafToken))
        return (*tokens, *(_make_rest_tokens(rest) if rest else ()))

    def _read(self, observation: Any) -> dict[str, tuple[Part, ...]]:
        return get_kept_parts(observation, self.ignored, self.opened, self.numbered)

    @property
    def _place(self) -> dict[tuple[str, bool], int]:
        return {(one.path, one.discrete): n for n, one in enumerate(self.columns[:-2])}

    def _rest(
        self, row: Array, found: dict[str, tuple[Part, ...]], place: dict[tuple[str, bool], int]
    ) -> list[tuple[str, str]]:
        """Fill the columns of a row that have a path; return the paths and values of the rest."""
        rest = list[tuple[str, str]]()
        for path, values in found.items():
            for value in values:
                discrete = isinstance(value, LeafToken)
                number = value.code if isinstance(value, LeafToken) else float(value)
                if (column := place.get((path, discrete))) is not None:
                    row[column] = number
                elif not discrete or self.usual.get(path) != number:
                    rest.append((path, f"{'code' if discrete else 'number'} {number!r}"))
        for path, discrete in place:
            if discrete and path not in found:
                row[place[path, discrete]] = ABSENT.code
            elif not discrete and path not in found and (path, True) not in place:
                rest.append((path, "absent"))
        rest += [(path, "as usual no more") for path in self.usual if not _has_code(found, path)]
        return rest


def _make_rest_tokens(rest: list[tuple[str, str]]) -> tuple[LeafToken, ...]:
    """Return tokens for the parts without a column: of their kinds, and of their values."""
    kinds = sorted((path, what.split(" ")[0]) for path, what in rest)
    return LeafToken("rest", str(kinds)), LeafToken("rest", str(sorted(rest)))


def _has_code(found: dict[str, tuple[Part, ...]], path: str) -> bool:
    return any(isinstance(one, LeafToken) for one in found.get(path, ()))


Layout = Plain | PartLayout


def find_clock_columns(layout: Layout | None) -> list[int]:
    """Return the columns that say how long a call took."""
    columns = layout.columns if isinstance(layout, PartLayout) else ()
    return [n for n, column in enumerate(columns) if column.clock]


def layout_of(
    sides: Sequence[Any],
    ignored: Sequence[str] = (),
    drifting: Callable[[Sequence[Array]], tuple[int, ...]] | None = None,
) -> Layout:
    """Return a layout for observations, some of each dataset, without the parts that are ignored.

    ``drifting`` returns which columns drift, if the observations were not made in this order.

    Raises
    ------
    InvalidArgument
        Nothing has such a name.

    Examples
    --------
    >>> layout_of([np.zeros((2, 3)), np.ones((2, 3))])
    Plain(shape=(3,), kind='rows <f8')
    >>> [one.path for one in layout_of([[{"a": 1.0}], [{"a": None}]]).columns]
    ['a', 'a', 'the rest', 'the values of the rest']
    >>> [one.path for one in layout_of([[{"a": 1.0, "at": 7.5}]], ["at"]).columns][:1]
    ['a']
    """
    plain = None if ignored else _find_plain_layout(sides)
    if plain is not None:
        return plain
    _require_named(sides, ignored)
    every = [one for side in sides for one in side]
    numbered = _choose_numbered(every, ignored)
    opened = choose_texts_to_open(get_kept_parts(one, ignored) for one in every)
    opened = tuple(one for one in opened if one not in numbered)
    found = _find_parted_layout([get_kept_parts(one, ignored, opened, numbered) for one in every])
    found = replace(found, ignored=tuple(ignored), opened=opened, numbered=numbered)
    return _with_looks(found, sides, drifting or drifts_in)


def _choose_numbered(observations: Sequence[Any], ignored: Sequence[str]) -> tuple[str, ...]:
    parts = list(map(split_observation, observations))
    found = choose_texts_of_numbers(parts, list(map(find_numbers_by_path, parts)))
    return tuple(one for one in found if not is_ignored(one, ignored))


def get_kept_parts(
    observation: Any,
    ignored: Sequence[str],
    opened: Sequence[str] = (),
    numbered: Sequence[str] = (),
) -> dict[str, tuple[Part, ...]]:
    """Return the parts of an observation that are not ignored, by path; some texts are opened."""
    parts = split_observation(observation)
    found = add_text_parts(parts, opened)
    if numbered:
        numbers = find_numbers_by_path(parts)
        inside = {f"{at}{end}": one for at in numbered for end, one in numbers.get(at, {}).items()}
        found = {**inside, **found}
    if not ignored:
        return found
    return {path: one for path, one in found.items() if not is_ignored(path, ignored)}


def is_ignored(path: str, ignored: Sequence[str]) -> bool:
    """Return whether a part, or a container of it, has one of these names, wherever it is.

    Leaving out what an observer sees is a function of what he sees: what is certified of the rest
    holds for the whole.

    Examples
    --------
    >>> [is_ignored(one, ["at"]) for one in ("at", "at.year", "output[0]['at']", "format", "data")]
    [True, True, True, False, False]
    """
    return any(
        path == name.removeprefix(EXACTLY)
        or path.startswith((f"{name}[", f"{name}."))
        or f"['{name}']" in path
        or path.endswith(f".{name}")
        or f".{name}." in path
        or f".{name}[" in path
        for name in ignored
    )


def _require_named(sides: Sequence[Any], ignored: Sequence[str]) -> None:
    """Refuse names that no part has."""
    parts = [split_observation(one) for side in sides for one in side]
    counts = Counter(path for one in parts for path in one)
    counts.update(
        f"{path}{end}"
        for one in parts
        for path, inside in find_numbers_by_path(one).items()
        for end in inside
    )
    everywhere = sum(map(len, sides))
    for name in ignored:
        if not any(is_ignored(path, [name]) for path in counts):
            known = sorted(path for path, count in counts.items() if count == everywhere)
            raise InvalidArgument("ignore", name, f"names of parts: some of {', '.join(known)}")


def _with_looks(
    layout: PartLayout,
    sides: Sequence[Any],
    drifting: Callable[[Sequence[Array]], tuple[int, ...]],
) -> PartLayout:
    rows = [layout.rows(list(side), len(side)) for side in sides]
    steady, drifts = steady_in(rows), drifting(rows)
    columns = [
        replace(one, steady=n in steady, drifts=n in drifts and not one.discrete)
        for n, one in enumerate(layout.columns)
    ]
    return replace(layout, columns=tuple(columns))


def _find_plain_layout(sides: Sequence[Any]) -> Plain | None:
    kinds = set[str]().union(*map(kinds_of, sides))
    if len(kinds) > 1 or "" in kinds:
        return None
    arrays = [doubles_of(side) for side in sides]
    shapes = {array.shape[1:] for array in arrays}
    if len(shapes) > 1 or not all(np.isfinite(one).all() and one.size for one in arrays):
        return None
    flat = [one.reshape(len(one), -1) for one in arrays]
    return Plain(shapes.pop(), kinds.pop(), steady_in(flat), drifts_in(flat))


def _find_parted_layout(observed: Sequence[dict[str, tuple[Part, ...]]]) -> PartLayout:
    numbers, tokens = Counter[str](), dict[str, Counter[float]]()
    for one in observed:
        for path, values in one.items():
            for value in values:
                if isinstance(value, LeafToken):
                    tokens.setdefault(path, Counter())[value.code] += 1
                else:
                    numbers[path] += 1
    usual = {
        path: next(iter(codes)) for path, codes in tokens.items() if _is_usual(codes, observed)
    }
    varies = [path for path in tokens if path not in usual]
    varies += [path for path in numbers if path not in tokens and numbers[path] < len(observed)]
    found = [*((path, True) for path in varies), *((path, False) for path in numbers)]
    present = Counter(path for one in observed for path in one)
    lengths = {path for one in observed for path, values in one.items() if _is_text(values)}
    columns = [
        LayoutColumn(path, code, present[path] == len(observed), path in lengths and not code)
        for path, code in found
    ]
    rest = (LayoutColumn("the rest", True), LayoutColumn("the values of the rest", True))
    # A part without a column is not lost: it counts in the rest.
    return PartLayout((*columns[:MOST], *rest), usual)


def _is_text(values: tuple[Part, ...]) -> bool:
    return any(isinstance(one, LeafToken) and one.kind in ("str", "bytes") for one in values)


def _is_usual(codes: Counter[float], observed: Sequence[Any]) -> bool:
    return len(codes) == 1 and codes.total() == len(observed)


def require_observation_count(observations: Any, trials: int) -> Any:
    """Return observations, of a table its rows, if they are as many as were asked for.

    Of a column its entries: which index they have says nothing of an output.

    Raises
    ------
    OtherOutputs
        They are not.
    """
    if hasattr(observations, "to_dict") and hasattr(observations, "columns"):
        names = list(observations.columns)
        if len(set(names)) < len(names):  # a dict would keep one of those that are named alike
            names = [f"{name}#{names[:n].count(name) + 1}" for n, name in enumerate(names)]
            observations = observations.set_axis(names, axis="columns")
        observations = observations.to_dict("records")
    elif hasattr(observations, "to_numpy") and hasattr(observations, "index"):
        observations = observations.to_numpy()
    shape = getattr(observations, "shape", None)
    if shape is None and not hasattr(observations, "__len__"):
        raise OtherOutputs(f"returned no sequence, expected {trials} outputs: one output a trial")
    if shape is not None and (not shape or shape[0] != trials or 0 in shape):
        expected = f"expected ({trials}, ...): one output a trial"
        raise OtherOutputs(f"returned shape {tuple(shape)}, {expected}")
    if len(observations) != trials:
        expected = f"expected {trials}: one output a trial"
        raise OtherOutputs(f"returned {len(observations)} outputs, {expected}")
    return observations
