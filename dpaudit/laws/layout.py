"""Observations as rows of doubles: which part is in which column.

A layout is made once, of observations that certify nothing, and then it is fixed. A part that is a
number has a column of numbers, one that is discrete a column of codes. Whatever else an observation
holds, or lacks, is in the last column, as one code: no outcome is refused and none is lost sight
of. Where all observations are arrays of finite numbers of one shape, they are rows as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.laws.observations import ABSENT, Part, Token, parts
from dpaudit.laws.outcomes import Inexact, as_doubles

_MOST = 4096  # columns
# What stands in an array of numbers for what is no finite number: far from what people add up.
_NAN, _INFINITE, _ODD = 1e300, 2e300, 4e300


class OtherOutputs(ValueError):
    """Outputs that are not as many as were asked for."""


@dataclass(frozen=True)
class Column:
    """A column: the path of a part, and whether it holds codes of what is discrete there.

    ``everywhere`` says that every observation had the part when the layout was made: its path
    then is no secret of one of them.
    """

    path: str
    discrete: bool
    everywhere: bool = True


@dataclass(frozen=True)
class Plain:
    """Arrays of finite numbers, of one shape.

    What turns up later and is something else stands in their rows as numbers from 1e300 on.
    """

    shape: tuple[int, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """One for each entry, in the order of the flattened array."""
        return tuple(
            Column(f"output[{', '.join(map(str, index))}]" if index else "output", False)
            for index in np.ndindex(self.shape)
        )

    def rows(self, observations: Any, trials: int) -> Array:
        """Return ``trials`` observations as an array of finite doubles."""
        try:
            found = as_doubles(observations)
        except (Inexact, ValueError, TypeError, OverflowError):
            found = np.empty(0)
        if found.shape == (trials, *self.shape):
            return _finite(found)
        return np.stack([self._row(one) for one in observations])

    def _row(self, observation: Any) -> Array:
        try:
            found = as_doubles(observation)
        except (Inexact, ValueError, TypeError, OverflowError):
            found = np.empty(0)
        if found.shape == self.shape:
            return _finite(found)
        code = Token("odd", str(sorted(parts(observation).items()))).code
        return np.full(self.shape, _ODD * (1 + code / 16))


def _finite(found: Array) -> Array:
    if not np.isfinite(found).all():
        return np.nan_to_num(found, nan=_NAN, posinf=_INFINITE, neginf=-_INFINITE)
    return found


@dataclass(frozen=True)
class Parted:
    """Observations of any kind, by their parts.

    Parameters
    ----------
    columns
        Of what varied or is a number, and the last for all the rest.
    usual
        The codes of discrete parts that were the same in all observations.
    """

    columns: tuple[Column, ...]
    usual: dict[str, float]

    def rows(self, observations: Any, trials: int) -> Array:
        """Return ``trials`` observations as rows, one column a part."""
        place = {(one.path, one.discrete): n for n, one in enumerate(self.columns[:-1])}
        found = np.zeros((trials, len(self.columns)))
        for row, one in zip(found, observations, strict=True):
            self._fill(row, parts(one), place)
        return found

    def _fill(
        self, row: Array, found: dict[str, tuple[Part, ...]], place: dict[tuple[str, bool], int]
    ) -> None:
        rest = list[tuple[str, str]]()
        for path, values in found.items():
            for value in values:
                discrete = isinstance(value, Token)
                number = value.code if isinstance(value, Token) else float(value)
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
        row[-1] = Token("rest", str(sorted(rest))).code if rest else 0.0


def _has_code(found: dict[str, tuple[Part, ...]], path: str) -> bool:
    return any(isinstance(one, Token) for one in found.get(path, ()))


Layout = Plain | Parted


def layout_of(sides: Sequence[Any]) -> Layout:
    """Return a layout for observations, some of each dataset.

    Examples
    --------
    >>> layout_of([np.zeros((2, 3)), np.ones((2, 3))])
    Plain(shape=(3,))
    >>> [one.path for one in layout_of([[{"a": 1.0}], [{"a": None}]]).columns]
    ['a', 'a', 'the rest']
    """
    return _plain(sides) or _parted([parts(one) for side in sides for one in side])


def _plain(sides: Sequence[Any]) -> Plain | None:
    try:
        arrays = [as_doubles(side) for side in sides]
    except (Inexact, ValueError, TypeError, OverflowError):
        return None
    shapes = {array.shape[1:] for array in arrays}
    finite = all(np.isfinite(array).all() and array.size for array in arrays)
    return Plain(shapes.pop()) if finite and len(shapes) == 1 else None


def _parted(observed: Sequence[dict[str, tuple[Part, ...]]]) -> Parted:
    numbers, tokens = Counter[str](), dict[str, Counter[float]]()
    for one in observed:
        for path, values in one.items():
            for value in values:
                if isinstance(value, Token):
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
    columns = [Column(*one, everywhere=present[one[0]] == len(observed)) for one in found]
    return Parted((*columns[:_MOST], Column("the rest", True)), usual)


def _is_usual(codes: Counter[float], observed: Sequence[Any]) -> bool:
    return len(codes) == 1 and codes.total() == len(observed)


def counted(observations: Any, trials: int) -> Any:
    """Return observations, of a table its rows, if they are as many as were asked for.

    Raises
    ------
    OtherOutputs
        They are not.
    """
    if hasattr(observations, "to_dict") and hasattr(observations, "columns"):
        observations = observations.to_dict("records")
    shape = getattr(observations, "shape", None)
    if shape is None and not hasattr(observations, "__len__"):
        raise OtherOutputs(f"returned no sequence, expected {trials} outputs: one output a trial")
    if shape is not None and (not shape or shape[0] != trials or 0 in shape):
        expected = f"expected ({trials}, ...): one transcript a trial"
        raise OtherOutputs(f"returned shape {tuple(shape)}, {expected}")
    if len(observations) != trials:
        expected = f"expected {trials}: one output a trial"
        raise OtherOutputs(f"returned {len(observations)} outputs, {expected}")
    return observations
