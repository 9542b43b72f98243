"""Programs at random: all operations of the table, and phrases that rules look for, also bent.

A program grows operation by operation, together with its value on one dataset, which says shapes
and dtypes as numpy has them. Where the number of records is not public, that dataset has
`UNKNOWN` of them, a length that nothing else has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpaudit.proving.program import EVALUATORS, OtherPath, PathProgram, Shape
from dpaudit.proving.universe import Universe

from .choices import Choices, Drawn
from .silence import silence_numpy
from .universes import make_universe

UNKNOWN = 11
_MOST_ENTRIES = 150
CONSTANTS = (0.5, 1.0, 2.0, -1.0, 0.0, 3.0, -2.0, 0.25, 0.1, -0.3, 10.0)
WHOLE = (1, 2, 3, -1, 0, 5)
LAWS = ("uniform", "normal", "laplace")
BINARY = "add subtract multiply divide minimum maximum".split()
RARE_BINARY = (
    "remainder power less less_equal equal not_equal logical_and logical_or logical_xor".split()
)
UNARY = "negative absolute sqrt exp log sign".split()
RARE_UNARY = "expm1 log1p sin cos tan arctan tanh floor ceil rint trunc logical_not".split()
REDUCTIONS = "sum mean max min median prod argmax argmin".split()
METHODS = "linear lower higher nearest midpoint".split()


class Unfit(Exception):
    """An operation does not fit its operands."""


class Growth:
    """A program as it grows.

    Parameters
    ----------
    choices
        What decides.
    universe
        The datasets.
    """

    def __init__(self, choices: Choices, universe: Universe) -> None:
        self.choices, self.universe = choices, universe
        self.program, self.samples = PathProgram(), list[NDArray[Any]]()
        self.draws = 0
        self.records = UNKNOWN if universe.records is None else universe.records
        self.parts = [self._part(k) for k in range(len(universe.parts))]

    def _part(self, index: int) -> int:
        part = self.universe.parts[index]
        shape = (self.records, *part.low.shape)
        ends = np.stack([part.low, part.high])
        middle = np.where(np.isfinite(ends), ends, 0.5).mean(axis=0)
        sample = np.broadcast_to(np.rint(middle) if part.is_integer else middle, shape)
        is_whole = part.is_integer and self.choices.happens(50)
        sample = sample.astype(int) if is_whole else np.asarray(sample, dtype=float)
        return self._append("data", (), sample, part=part.name)

    def _append(self, operation: str, operands: Sequence[int], sample: Any, **given: Any) -> int:
        sample = np.asarray(sample)
        if sample.size > _MOST_ENTRIES or sample.ndim > 3 or self._is_flat(sample):
            raise Unfit
        self.samples.append(sample)
        shape, place = self._shape(sample.shape), f"line {len(self.samples)}"
        given = {name: one for name, one in given.items() if name != "shape"}
        return self.program.add(
            operation, operands, shape=shape, dtype=sample.dtype.name, place=place, **given
        )

    def _is_flat(self, sample: NDArray[Any]) -> bool:
        """Return whether a length stems from an unknown number of records and is not it."""
        return self.universe.records is None and any(one > UNKNOWN for one in sample.shape)

    def _shape(self, shape: tuple[int, ...]) -> Shape:
        if self.universe.records is not None:
            return shape
        return tuple(None if one == UNKNOWN else one for one in shape)

    def add(self, operation: str, *operands: int, **given: Any) -> int:
        """Append an operation and return its number; raise `Unfit` where numpy would fail."""
        values = [self.samples[one] for one in operands]
        if "axis" in given and given["axis"] is not None and not values[0].ndim:
            raise Unfit  # numpy forgives an axis of a number
        try:
            value = EVALUATORS[operation](*values, **self._sized(given))
        except (ValueError, TypeError, IndexError, np.exceptions.AxisError) as error:
            raise Unfit from error
        return self._append(operation, operands, value, **given)

    def _sized(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return parameters with the length of the sample for an unknown one."""
        if "shape" not in given:
            return given
        shape = [UNKNOWN if one is None else one for one in given["shape"]]
        return given | {"shape": shape}

    def constant(self, value: Any) -> int:
        """Append public numbers."""
        return self._append("constant", (), np.asarray(value), value=value)

    def number(self, among: Sequence[float] = CONSTANTS) -> int:
        """Append one public number."""
        if self.choices.happens(15):
            return self.constant(self.choices.one_of(WHOLE))
        return self.constant(self.choices.one_of(among))

    def draw(self, shape: tuple[int, ...] = (), law: str = "uniform") -> int:
        """Append a fresh draw."""
        self.draws += 1
        value = np.full(shape, 0.5)
        return self._append("draw", (), value, law=law, number=self.draws - 1)

    def any_node(self) -> int:
        """Return an earlier node: a late one, more often, or a part of the dataset."""
        last = len(self.samples) - 1
        if self.choices.happens(25):
            return self.choices.one_of(self.parts)
        if self.choices.happens(60):
            return last - self.choices.below(min(4, last + 1))
        return self.choices.below(last + 1)

    def any_array(self) -> int:
        """Return an earlier node that has an axis."""
        return next(
            (one for one in (self.any_node() for _ in range(4)) if self.samples[one].ndim),
            self.parts[0],
        )

    def vector(self, length: int) -> int:
        """Append so many public numbers."""
        return self.constant([self.choices.one_of(CONSTANTS) for _ in range(length)])


# --- single operations


def _binary(growth: Growth) -> None:
    names = RARE_BINARY if growth.choices.happens(20) else BINARY
    growth.add(growth.choices.one_of(names), growth.any_node(), _other(growth))


def _other(growth: Growth) -> int:
    """Return a second operand: a node, a number, or numbers of a fitting length."""
    choices = growth.choices
    if choices.happens(45):
        return growth.any_node()
    shape = growth.samples[-1].shape
    fits = shape and shape[-1] not in (0, UNKNOWN)
    return growth.vector(shape[-1]) if fits and choices.happens(40) else growth.number()


def _reflected(growth: Growth) -> None:
    """Append an operation on a number and a node, in this order."""
    name = growth.choices.one_of(BINARY)
    growth.add(name, growth.number(), growth.any_node())


def _unary(growth: Growth) -> None:
    names = RARE_UNARY if growth.choices.happens(40) else UNARY
    growth.add(growth.choices.one_of(names), growth.any_node())


def _axis(growth: Growth, node: int) -> Any:
    choices, ndim = growth.choices, growth.samples[node].ndim
    if ndim == 0 or choices.happens(45):
        return None
    if ndim > 1 and choices.happens(20):
        return [0, 1]
    return choices.between(-ndim, ndim - 1)


def _reduce(growth: Growth) -> None:
    node = growth.any_array()
    name = growth.choices.one_of(REDUCTIONS[: 3 if growth.choices.happens(40) else None])
    axis = _axis(growth, node)
    if name.startswith("arg") and isinstance(axis, list):
        raise Unfit
    growth.add(name, node, axis=axis)


def _quantile(growth: Growth) -> None:
    node = growth.any_array()
    q = growth.choices.one_of((0.5, 0.25, 0.0, 1.0, 0.9, 1 / 3))
    method = growth.choices.one_of(METHODS)
    growth.add("quantile", node, axis=_axis(growth, node), q=q, method=method)


def _in_order(growth: Growth) -> None:
    node = growth.any_array()
    ndim = growth.samples[node].ndim
    if not ndim:
        raise Unfit
    name = growth.choices.one_of(("sort", "cumsum"))
    growth.add(name, node, axis=growth.choices.between(-ndim, ndim - 1))


def _where(growth: Growth) -> None:
    growth.add("where", _condition(growth), growth.any_node(), _other(growth))


def _condition(growth: Growth) -> int:
    name = growth.choices.one_of(("less", "less_equal", "equal", "not_equal"))
    return growth.add(name, growth.any_node(), growth.number())


def _key(growth: Growth, node: int) -> list[list[int] | None]:
    """Return positions of each axis, all of those of an unknown length."""
    choices, key = growth.choices, list[list[int] | None]()
    for length in growth.samples[node].shape:
        if length in (0, UNKNOWN) or choices.happens(40):
            key.append(None)
        else:
            key.append(_positions(choices, length))
    return key


def _positions(choices: Choices, length: int) -> list[int]:
    whole = list(range(length))
    return choices.one_of(
        (
            whole[:-1] or whole,
            whole[1:] or whole,
            whole[::-1],
            [choices.below(length)],
            [choices.below(length) for _ in range(choices.between(0, length + 1))],
            [*whole[1:], 0],
            whole[::2],
        )
    )


def _take(growth: Growth) -> None:
    node = growth.any_array()
    growth.add("take", node, key=_key(growth, node))


def _assign(growth: Growth) -> None:
    node = growth.any_array()
    growth.add("assign", node, _other(growth), key=_key(growth, node))


def _reshape(growth: Growth) -> None:
    node = growth.any_array()
    shape = list(growth.program.nodes[node].shape)
    size = growth.samples[node].size
    forms: list[list[int | None]] = [[*shape, 1], [1, *shape], [one for one in shape if one != 1]]
    if None not in shape:
        forms += [[size], list(shape[::-1])]
        if size and size % 2 == 0:
            forms.append([2, size // 2])
    growth.add("reshape", node, shape=growth.choices.one_of(forms))


def _broadcast(growth: Growth) -> None:
    node = growth.any_node()
    shape = list(growth.program.nodes[node].shape)
    known = growth.universe.records
    forms: list[list[int | None]] = [
        [2, *shape],
        [3, *shape],
        [2 if one == 1 else one for one in shape],
        [known, *shape],
    ]
    growth.add("broadcast", node, shape=growth.choices.one_of(forms))


def _transpose(growth: Growth) -> None:
    node = growth.any_array()
    ndim = growth.samples[node].ndim
    axes = list(range(ndim))[::-1]
    if ndim == 3 and growth.choices.happens(50):
        axes = [1, 0, 2]
    growth.add("transpose", node, axes=axes)


def _concatenate(growth: Growth) -> None:
    nodes = [growth.any_array() for _ in range(growth.choices.between(2, 3))]
    if growth.choices.happens(40):
        nodes = [nodes[0]] * 2
    ndim = growth.samples[nodes[0]].ndim
    if ndim == 0:
        raise Unfit
    axis = growth.choices.below(ndim)
    if UNKNOWN in growth.samples[nodes[0]].shape[axis : axis + 1]:
        raise Unfit  # twice a number of records is none that a shape can say
    growth.add("concatenate", *nodes, axis=axis)


def _matmul(growth: Growth) -> None:
    node, choices = growth.any_array(), growth.choices
    length = growth.samples[node].shape[-1:]
    if choices.happens(50) or not length or length[0] in (0, UNKNOWN):
        growth.add("matmul", node, growth.any_array())
        return
    columns = choices.between(1, 3)
    rows = [[choices.one_of(CONSTANTS) for _ in range(columns)] for _ in range(length[0])]
    growth.add("matmul", node, growth.constant(rows))


def _within(growth: Growth) -> None:
    """Append what has to lie between two numbers, and at times does not."""
    low, high = growth.choices.one_of(((-10.0, 10.0), (0.0, 1.0), (-1.0, 1.0), (-2.0, 3.0)))
    try:
        growth.add("within", growth.any_node(), low=low, high=high)
    except OtherPath as error:
        raise Unfit from error


def _bin_counts(growth: Growth) -> None:
    edges = growth.choices.one_of(((0.0, 0.5, 1.0), (-1.0, 0.0, 2.0), (-5.0, 5.0), (0, 1, 2, 3)))
    growth.add("bin_counts", growth.any_array(), edges=list(edges))


def _size(growth: Growth) -> None:
    growth._append("size", (), np.asarray(growth.records))


def _coin(growth: Growth) -> None:
    shape = growth.samples[growth.any_node()].shape
    if growth.choices.happens(50) or UNKNOWN in shape:
        shape = ()
    growth.draw(shape, growth.choices.one_of(LAWS))


def _narrow(growth: Growth) -> None:
    """Append a sum or product in whole numbers of few bits, in which it may wrap around."""
    node = growth.any_array()
    if growth.samples[node].dtype.kind != "i":
        raise Unfit
    name = growth.choices.one_of(("add", "multiply", "subtract"))
    found = growth.add(name, node, growth.any_node())
    if growth.samples[found].dtype.kind == "i":
        last = growth.program.nodes[found]
        dtype = growth.choices.one_of(("int8", "uint8", "int16"))
        growth.program.nodes[found] = replace(last, dtype=dtype)


SINGLE: tuple[tuple[int, Callable[[Growth], object]], ...] = (
    (20, _binary),
    (6, _reflected),
    (9, _unary),
    (14, _reduce),
    (3, _quantile),
    (4, _in_order),
    (4, _where),
    (6, _take),
    (4, _assign),
    (4, _reshape),
    (3, _broadcast),
    (3, _transpose),
    (3, _concatenate),
    (4, _matmul),
    (3, _bin_counts),
    (2, _within),
    (1, _size),
    (2, _coin),
    (2, _narrow),
)


@silence_numpy()
def grow(choices: Choices, universe: Universe, most: int = 25) -> PathProgram:
    """Return a program of 3 to so many operations, its last node for an output."""
    from .phrases import PHRASES  # which are made of what is here

    growth, table = Growth(choices, universe), weigh(SINGLE)
    phrases = weigh(PHRASES)
    for _ in range(choices.between(2, max(2, most // 3))):
        step = choices.one_of(phrases if choices.happens(35) else table)
        if len(growth.samples) >= most:
            break
        try:
            step(growth)
        except Unfit:
            continue
    growth.program.outputs = (len(growth.samples) - 1,)
    return growth.program


def weigh(
    table: Sequence[tuple[int, Callable[[Growth], object]]],
) -> list[Callable[[Growth], object]]:
    """Return steps, each as often as its weight says."""
    return [step for weight, step in table for _ in range(weight)]


@st.composite
def programs(draw: Any) -> tuple[Universe, PathProgram]:
    """Return a universe and a program, for Hypothesis to shrink."""
    choices = Drawn(draw)
    universe = make_universe(choices)
    return universe, grow(choices, universe)
