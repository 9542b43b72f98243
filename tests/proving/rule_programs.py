"""Random programs and datasets, and what rules say of them against what neighbours do.

A program is grown operation by operation on a sample of the data, so that its shapes are those of
numpy. The number of records of a universe that adds some stands in shapes as None.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.distances.facts import Facts
from dpaudit.proving.program import EVALUATORS, PathProgram, evaluate_program
from dpaudit.proving.universe import Part, Universe

SAMPLE = 11
TOLERANCE = 1e-9
LARGEST = 1e9
Data = dict[str, Any]


@dataclass
class Grown:
    """A program, with the values of a sample."""

    universe: Universe
    program: PathProgram
    values: list[Any]


def make_universe(rng: np.random.Generator) -> Universe:
    """Return datasets of one or two parts with ends of all kinds, and a relation."""
    is_added = rng.random() < 0.3
    records = None if is_added else int(rng.integers(1, 6))
    inner = [(), (2,), (3,), (2, 2)][rng.integers(4)]
    parts = [_make_part(rng, "X", records, inner)]
    if rng.random() < 0.5:
        parts.append(_make_part(rng, "y", records, ()))
    change: Any = "add-remove" if is_added else "replace"
    if not is_added and len(parts) == 2 and rng.random() < 0.2:
        parts[0] = _public_part(parts[0])
    count = int(rng.choice([1, 1, 2, 3]))
    return Universe(
        tuple(parts), records, change, count, of_cells=not is_added and rng.random() < 0.15
    )


def _make_part(
    rng: np.random.Generator, name: str, records: int | None, inner: tuple[int, ...]
) -> Part:
    ends = [(0.0, 1.0), (-1.0, 1.0), (-2.0, 3.0), (1.0, 2.0), (-3.0, -1.0), (0.0, 4.0)]
    low, high = ends[rng.integers(len(ends))]
    norm = float(rng.choice([math.inf, 1.5])) if low <= 0 <= high and inner else math.inf
    is_integer = bool(rng.random() < 0.25)
    return Part(
        name,
        (records, *inner),
        np.full(inner, low),
        np.full(inner, high),
        is_integer=is_integer and math.isinf(norm),
        norm=norm,
    )


def _public_part(part: Part) -> Part:
    return Part(part.name, part.shape, part.low, part.high, part.is_integer, part.norm, None, False)


def draw_records(rng: np.random.Generator, part: Part, count: int) -> Any:
    """Return records of a part: corners, ties, values between."""
    shape = (count, *(length or 0 for length in part.shape[1:]))
    kind = rng.integers(3)
    if kind == 0:
        found: Any = np.where(rng.random(shape) < 0.5, part.low, part.high)
    elif kind == 1:
        found = rng.uniform(part.low, part.high, size=shape)
    else:
        found = np.round(rng.uniform(part.low, part.high, size=shape))
    if part.is_integer:
        found = np.round(found)
    if math.isfinite(part.norm):
        lengths = np.sqrt(np.square(found).reshape(count, -1).sum(axis=1))
        shrink = np.minimum(1.0, part.norm / np.maximum(lengths, 1e-9))
        found = found * shrink.reshape(-1, *[1] * (len(shape) - 1))
    return found


def draw_dataset(rng: np.random.Generator, universe: Universe, count: int) -> Data:
    """Return a dataset of so many records."""
    return {part.name: draw_records(rng, part, count) for part in universe.parts}


def draw_neighbours(rng: np.random.Generator, universe: Universe) -> tuple[Data, Data, list[int]]:
    """Return a pair of neighbours, and which records they differ in."""
    if universe.change == "add-remove":
        size, more = int(rng.integers(0, 6)), int(rng.integers(1, universe.count + 1))
        data = draw_dataset(rng, universe, size + more)
        gone = rng.choice(size + more, size=more, replace=False)
        fewer = {name: np.delete(one, gone, axis=0) for name, one in data.items()}
        return data, fewer, sorted(int(one) for one in gone)
    size = universe.records or 0
    data = draw_dataset(rng, universe, size)
    differ = int(rng.integers(1, min(universe.count, size) + 1)) if size else 0
    at = sorted(int(one) for one in rng.choice(size, size=differ, replace=False))
    return data, _replace(rng, universe, data, at), at


def _replace(rng: np.random.Generator, universe: Universe, data: Data, at: list[int]) -> Data:
    other = {name: one.copy() for name, one in data.items()}
    for record in at:
        changed = [part for part in universe.parts if part.is_changed]
        if universe.of_cells:
            changed = [changed[rng.integers(len(changed))]] if changed else []
        for part in changed:
            fresh = draw_records(rng, part, 1)[0]
            if universe.of_cells and part.shape[1:]:
                cell = tuple(int(rng.integers(n or 1)) for n in part.shape[1:])
                row = other[part.name][record].copy()
                row[cell] = fresh[cell]
                if math.sqrt(float(np.square(row).sum())) > part.norm:
                    continue
                fresh = row
            other[part.name][record] = fresh
    return other


def grow(rng: np.random.Generator, universe: Universe, steps: int) -> Grown:
    """Return a random program of so many operations at most."""
    count = SAMPLE if universe.records is None else universe.records
    sample = draw_dataset(rng, universe, count)
    grown = Grown(universe, PathProgram(), [])
    for part in universe.parts:
        dtype = "int64" if part.is_integer and rng.random() < 0.3 else "float64"
        add(grown, "data", [], sample[part.name], dtype=dtype, part=part.name)
    for _ in range(steps):
        STEPS[int(rng.integers(len(STEPS)))](rng, grown)
    return grown


def add(
    grown: Grown, operation: str, operands: list[int], found: Any, *, dtype: str = "", **given: Any
) -> int:
    """Append an operation whose value of the sample was found."""
    found = np.asarray(found)
    kind = dtype or found.dtype.name
    grown.values.append(found.astype(kind))
    shape = tuple(_symbolic(grown, n) for n in found.shape)
    return grown.program.add(operation, operands, shape=shape, dtype=kind, **given)


def _symbolic(grown: Grown, length: int) -> int | None:
    return None if grown.universe.records is None and length == SAMPLE else length


def compute(grown: Grown, operation: str, operands: list[int], **given: Any) -> int | None:
    """Append an operation if numpy knows it of the sample."""
    with np.errstate(all="ignore"):
        try:
            value = EVALUATORS[operation](*(grown.values[one] for one in operands), **given)
        except (ValueError, TypeError, IndexError):
            return None
    if np.size(value) > 400 or np.asarray(value).ndim > 4:
        return None
    return add(grown, operation, operands, value, **given)


def constant(grown: Grown, value: Any) -> int:
    """Append public numbers."""
    return add(grown, "constant", [], value, value=np.asarray(value))


def pick(rng: np.random.Generator, grown: Grown) -> int:
    """Return one of the values, the last ones more often."""
    count = len(grown.values)
    return int(count - 1 - min(int(rng.exponential(3.0)), count - 1))


def _unary(rng: np.random.Generator, grown: Grown) -> None:
    name = rng.choice(
        "negative absolute sqrt exp expm1 log log1p sin cos tan arctan tanh sign floor ceil rint "
        "trunc logical_not".split()
    )
    compute(grown, str(name), [pick(rng, grown)])


def _number(rng: np.random.Generator) -> float:
    return float(rng.choice([0.0, 0.5, 1.0, -1.0, 2.0, -0.3, 3.0, 1.7]))


def _second(rng: np.random.Generator, grown: Grown, one: int) -> int:
    """Return a second operand: a number, public numbers of a shape, or a value."""
    kind = rng.integers(4)
    shape = np.shape(grown.values[one])
    if kind == 0 or (kind == 1 and SAMPLE in shape):
        return constant(grown, _number(rng))
    if kind == 1:
        return constant(grown, rng.choice([0.5, -1.0, 2.0, 1.0], size=shape[-1:]))
    return pick(rng, grown)


def _binary(rng: np.random.Generator, grown: Grown) -> None:
    name = rng.choice(
        "add subtract multiply divide minimum maximum remainder less less_equal equal not_equal "
        "logical_and logical_or logical_xor add subtract multiply maximum minimum".split()
    )
    one = pick(rng, grown)
    operands = [one, _second(rng, grown, one)]
    rng.shuffle(operands)
    compute(grown, str(name), operands)


def _power(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    if rng.random() < 0.2:
        compute(grown, "power", [constant(grown, float(rng.choice([0.5, 2.0]))), one])
        return
    exponents = [0, 1, 2, 3, 4, 0.5, 1.5, -1.0, 2.0, [1.0, 2.0]]
    compute(grown, "power", [one, constant(grown, exponents[rng.integers(len(exponents))])])


def _where(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    condition = compute(grown, "less", [one, _second(rng, grown, one)])
    if condition is not None:
        compute(grown, "where", [condition, pick(rng, grown), _second(rng, grown, one)])


def _axis(rng: np.random.Generator, value: Any) -> Any:
    if value.ndim == 0 or rng.random() < 0.3:
        return None
    if value.ndim > 1 and rng.random() < 0.2:
        return [0, value.ndim - 1]
    return int(rng.integers(value.ndim))


def _reduce(rng: np.random.Generator, grown: Grown) -> None:
    name = str(rng.choice("sum sum sum prod max min mean median argmax argmin".split()))
    one = pick(rng, grown)
    axis = _axis(rng, grown.values[one])
    if name.startswith("arg") and isinstance(axis, list):
        axis = axis[0]
    compute(grown, name, [one], axis=axis)


def _quantile(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    q = [0.25, 0.5, 0.9, [0.1, 0.5]][rng.integers(4)]
    method = str(rng.choice(["linear", "lower", "nearest", "hazen"]))
    compute(grown, "quantile", [one], axis=_axis(rng, grown.values[one]), q=q, method=method)


def _order(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    if grown.values[one].ndim:
        axis = int(rng.integers(grown.values[one].ndim))
        compute(grown, str(rng.choice(["sort", "cumsum"])), [one], axis=axis)


def _take(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    compute(grown, "take", [one], key=_key(rng, grown.values[one], has_repeats=True))


def _key(rng: np.random.Generator, value: Any, *, has_repeats: bool) -> list[list[int] | None]:
    key: list[list[int] | None] = []
    for length in value.shape:
        if rng.random() < 0.4 or length == 0 or length == SAMPLE:
            key.append(None)
            continue
        size = int(rng.integers(1, length + 1))
        at = rng.choice(length, size=size, replace=has_repeats and rng.random() < 0.3)
        key.append([int(one) for one in at])
    return key


def _reshape(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    shape = list(grown.values[one].shape)
    kind = rng.integers(4)
    if kind == 0:
        shape = [-1]
    elif kind == 1:
        shape.insert(int(rng.integers(len(shape) + 1)), 1)
    elif kind == 2:
        shape = [n for n in shape if n != 1]
    else:
        shape = shape[::-1]
    found = grown.values[one].reshape(shape)
    target = tuple(_symbolic(grown, n) for n in found.shape)
    if grown.universe.records is not None or target.count(None) == _nones(grown, one):
        add(grown, "reshape", [one], found)


def _nones(grown: Grown, index: int) -> int:
    return grown.program.nodes[index].shape.count(None)


def _transpose(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    axes = [int(axis) for axis in rng.permutation(grown.values[one].ndim)]
    compute(grown, "transpose", [one], axes=axes)


def _broadcast(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    shape = [int(rng.integers(1, 4)) if n == 1 else n for n in grown.values[one].shape]
    if rng.random() < 0.5:
        shape.insert(0, int(rng.integers(1, 4)))
    if np.prod(shape) <= 400:
        add(grown, "broadcast", [one], np.broadcast_to(grown.values[one], shape))


def _concatenate(rng: np.random.Generator, grown: Grown) -> None:
    one, other = pick(rng, grown), pick(rng, grown)
    if grown.values[one].ndim == 0:
        one = _as_row(grown, one)
    if grown.values[other].ndim == 0:
        other = _as_row(grown, other)
    axis = int(rng.integers(grown.values[one].ndim))
    if SAMPLE not in (grown.values[one].shape + grown.values[other].shape)[axis : axis + 1]:
        compute(grown, "concatenate", [one, other], axis=axis)


def _as_row(grown: Grown, one: int) -> int:
    return add(grown, "reshape", [one], grown.values[one].reshape(1))


def _assign(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    value = grown.values[one]
    if rng.random() < 0.5 and SAMPLE not in value.shape:
        one = constant(grown, np.zeros(value.shape))
    key = _key(rng, value, has_repeats=False)
    other = pick(rng, grown)
    if grown.values[other].dtype == grown.values[one].dtype:
        compute(grown, "assign", [one, other], key=key)


def _matmul(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    shape = grown.values[one].shape
    if not shape or SAMPLE in shape[-1:]:
        return
    kind = rng.integers(3)
    numbers = rng.choice([0.5, -1.0, 2.0, 0.0], size=(2, shape[-1]))
    if kind == 0:
        compute(grown, "matmul", [one, constant(grown, numbers[0])])
    elif kind == 1:
        compute(grown, "matmul", [one, constant(grown, numbers.T)])
    else:
        first = shape[-2] if len(shape) > 1 else shape[0]
        if first != SAMPLE:
            weights = constant(grown, rng.choice([0.5, -1.0, 2.0], size=(2, first)))
            compute(grown, "matmul", [weights, one])


def _gram(rng: np.random.Generator, grown: Grown) -> None:
    one, other = pick(rng, grown), pick(rng, grown)
    if rng.random() < 0.5:
        other = one
    if not 1 <= grown.values[one].ndim <= 2:
        return
    turned = compute(grown, "transpose", [one], axes=list(range(grown.values[one].ndim))[::-1])
    if turned is not None:
        compute(grown, "matmul", [turned, other])


def _bin_counts(rng: np.random.Generator, grown: Grown) -> None:
    edges = [[-1.0, 0.0, 1.0], [0.0, 0.5, 1.0, 2.0], [-3.0, 3.0]][rng.integers(3)]
    one = pick(rng, grown)
    if grown.values[one].dtype != np.bool_:
        compute(grown, "bin_counts", [one], edges=edges)


def length_of(grown: Grown, one: int, axes: list[int], kind: int) -> int | None:
    """Append the lengths of vectors along axes, which keep an axis of length 1."""
    sizes = (
        compute(grown, "multiply", [one, one]) if kind == 2 else compute(grown, "absolute", [one])
    )
    if sizes is None:
        return None
    total = compute(grown, "sum", [sizes], axis=axes)
    if total is not None and kind == 2:
        total = compute(grown, "sqrt", [total])
    if total is None:
        return None
    kept = [1 if axis in axes else n for axis, n in enumerate(grown.values[one].shape)]
    return add(grown, "reshape", [total], grown.values[total].reshape(kept))


def _clip(rng: np.random.Generator, grown: Grown) -> None:
    one = pick(rng, grown)
    value = grown.values[one]
    if value.ndim == 0 or value.dtype != np.float64:
        return
    axes = sorted(rng.choice(value.ndim, size=int(rng.integers(1, value.ndim + 1)), replace=False))
    length = length_of(grown, one, [int(axis) for axis in axes], int(rng.integers(1, 3)))
    if length is None:
        return
    bound, single = constant(grown, float(rng.choice([0.5, 1.0, 2.0]))), constant(grown, 1.0)
    kind = int(rng.integers(9))
    if kind == 6:
        _guard(grown, one, length)
    elif kind == 7:
        _normalise(grown, one, axes)
    elif kind == 8:
        _weigh(grown, one)
    elif kind == 0:
        factor = compute(grown, "divide", [bound, length])
        factor = compute(grown, "minimum", [single, factor or 0])
        compute(grown, "multiply", [one, factor or 0])
    elif kind == 1:
        divisor = compute(
            grown, "maximum", [single, compute(grown, "divide", [length, bound]) or 0]
        )
        compute(grown, "divide", [one, divisor or 0])
    elif kind == 2:
        divisor = compute(grown, "maximum", [length, bound])
        compute(grown, "multiply", [one, compute(grown, "divide", [bound, divisor or 0]) or 0])
    elif kind == 3:
        condition = compute(grown, "less", [bound, length])
        quotient = compute(grown, "divide", [bound, length])
        factor = compute(grown, "where", [condition or 0, quotient or 0, single])
        compute(grown, "multiply", [one, factor or 0])
    elif kind == 4:
        slack = compute(grown, "add", [length, constant(grown, 0.1)])
        compute(grown, "divide", [one, slack or 0])
    else:
        slack = compute(grown, "add", [length, constant(grown, 0.1)])
        factor = compute(
            grown, "minimum", [single, compute(grown, "divide", [bound, slack or 0]) or 0]
        )
        compute(grown, "multiply", [one, factor or 0])


def _guard(grown: Grown, one: int, length: int) -> None:
    """Append a vector divided by its length, and 0 where that is 0."""
    zero = constant(grown, 0.0)
    is_long = compute(grown, "less", [zero, length])
    quotient = compute(grown, "divide", [one, length])
    compute(grown, "where", [is_long or 0, quotient or 0, zero])


def _normalise(grown: Grown, one: int, axes: Any) -> None:
    """Append exponentials divided by their sum along axes."""
    powers = compute(grown, "exp", [one])
    total = compute(grown, "sum", [powers or 0], axis=[int(axis) for axis in axes])
    if powers is None or total is None:
        return
    kept = [1 if axis in axes else n for axis, n in enumerate(grown.values[one].shape)]
    total = add(grown, "reshape", [total], grown.values[total].reshape(kept))
    compute(grown, "divide", [powers, total])


def _weigh(grown: Grown, one: int) -> None:
    """Append a matrix of products of rows, each with a weight of its own."""
    value = grown.values[one]
    if value.ndim != 2:
        return
    weight = compute(grown, "take", [one], key=[None, [0]])
    weight = compute(grown, "absolute", [weight or 0])
    rows = compute(grown, "multiply", [one, weight or 0])
    turned = compute(grown, "transpose", [one], axes=[1, 0])
    compute(grown, "matmul", [turned or 0, rows or 0])


def _size(rng: np.random.Generator, grown: Grown) -> None:
    count = SAMPLE if grown.universe.records is None else grown.universe.records
    add(grown, "size", [], np.asarray(count), dtype="int64")


STEPS: tuple[Callable[[np.random.Generator, Grown], None], ...] = (
    _unary,
    _unary,
    _binary,
    _binary,
    _binary,
    _power,
    _where,
    _reduce,
    _reduce,
    _quantile,
    _order,
    _take,
    _reshape,
    _transpose,
    _broadcast,
    _concatenate,
    _assign,
    _matmul,
    _gram,
    _bin_counts,
    _clip,
    _size,
)


def find_breach(grown: Grown, analysis: Analysis, pair: tuple[Data, Data, list[int]]) -> str:
    """Return which value of two neighbours is beyond what rules say; empty where none is."""
    data, other, at = pair
    universe = grown.universe
    try:
        with warnings.catch_warnings(action="ignore"):
            first, second = (evaluate_program(grown.program, one, ()) for one in (data, other))
    except (ValueError, IndexError):
        return ""
    for node, one, two in zip(grown.program.nodes, first, second, strict=True):
        facts = analysis.facts(node.index)
        if facts.refusal is not None:
            continue
        if max(np.abs(each, dtype=float).max(initial=0) for each in (one, two)) > LARGEST:
            return ""  # beyond what doubles tell apart: bounds are of real numbers
        found = _breach_of_ends(facts, one) or _breach_of_ends(facts, two)
        if not found and None in node.shape:
            found = _breach_of_added(facts, one, two, at, universe)
        elif not found:
            found = _breach_of_change(facts, one.astype(float), two.astype(float), at)
        if found:
            return f"{node.index} {node.operation}{node.operands}: {found}"
    return ""


def _exceeds(value: Any, bound: Any) -> bool:
    return bool(np.any(value > bound + TOLERANCE * (1 + np.abs(bound))))


def _breach_of_ends(facts: Facts, value: Any) -> str:
    value = np.asarray(value, dtype=float)
    if not np.isfinite(value).all():
        return "is no number"
    if _exceeds(value, np.broadcast_to(facts.high, value.shape)):
        return f"high {facts.high}: {value}"
    if _exceeds(-value, -np.broadcast_to(facts.low, value.shape)):
        return f"low {facts.low}: {value}"
    if facts.is_integer and (value != np.round(value)).any():
        return f"whole: {value}"
    return _breach_of_norms(facts, value)


def _breach_of_norms(facts: Facts, value: Any) -> str:
    rows = value.reshape(1, -1)
    if facts.rows is not None:
        moved = np.moveaxis(value, facts.rows.axis, 0)
        rows = moved.reshape(len(moved), math.prod(moved.shape[1:]))
    for kind, bound in facts.norms.items():
        lengths = np.abs(rows).sum(axis=1) if kind == 1 else np.sqrt(np.square(rows).sum(axis=1))
        if _exceeds(lengths, bound):
            return f"norm {kind} {bound}: {lengths}"
    return ""


def _breach_of_change(facts: Facts, one: Any, two: Any, at: list[int]) -> str:
    apart = np.abs(one - two)
    allowed = np.broadcast_to(facts.change, apart.shape).copy()
    if facts.rows is not None and apart.size:
        moved = np.moveaxis(allowed, facts.rows.axis, 0)
        records = facts.rows.records
        columns = (np.arange(len(moved)),) if records is None else records
        stands = np.zeros(len(moved), dtype=bool)
        for column in columns:
            stands |= np.isin(column, at)
        moved[~stands] = 0.0
    if _exceeds(apart, allowed):
        return f"change {facts.change}: {apart}"
    lengths = np.array([apart.sum(), np.sqrt(np.square(apart).sum()), apart.max(initial=0.0)])
    bounds = np.array([facts.distance.l1, facts.distance.l2, facts.distance.linf])
    if _exceeds(lengths, bounds):
        return f"distance {facts.distance}: {lengths}"
    if len(at) == 1:
        moves = facts.moves[:, 0 if facts.moves.shape[1] == 1 else at[0]]
        if _exceeds(lengths, moves):
            return f"moves {moves}: {lengths}"
    return ""


def _breach_of_added(facts: Facts, one: Any, two: Any, at: list[int], universe: Universe) -> str:
    """Return how a row moves that both datasets have, where rows are those of records."""
    if facts.rows is None:
        return ""
    rows, fewer = (np.moveaxis(each, facts.rows.axis, 0).astype(float) for each in (one, two))
    both = np.delete(rows, at, axis=0)
    if both.shape != fewer.shape or (both.size and np.abs(both - fewer).max() > TOLERANCE):
        return "a row of another record moves"
    return ""


def search(seed: int, pairs: int = 8) -> str:
    """Return how neighbours break rules on the random program of a seed; empty if they do not."""
    rng = np.random.default_rng([seed, 20_261_127])
    universe = make_universe(rng)
    grown = grow(rng, universe, int(rng.integers(3, 16)))
    analysis = Analysis(grown.program, universe)
    for _ in range(pairs):
        found = find_breach(grown, analysis, draw_neighbours(rng, universe))
        if found:
            return f"seed {seed}: {found}"
    return ""
