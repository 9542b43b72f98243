"""Programs on many datasets at once: every value has a first axis, that of the datasets.

`evaluate` of `dpaudit.proving.program` takes one dataset at a time. That both say the same is a
test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.program import EVALUATORS, Node, PathProgram

Values = NDArray[Any]


def evaluate_stacked(
    program: PathProgram,
    data: Mapping[str, Values],
    draws: Sequence[Any],
    forced: Mapping[int, Values] | None = None,
    upto: int | None = None,
) -> tuple[list[Values], NDArray[np.bool_]]:
    """Return the values of all nodes, and which datasets stay on the path of the program.

    Parameters
    ----------
    program
        What is evaluated.
    data
        The parts, datasets first.
    draws
        By their number, datasets first, or 1 for all of them.
    forced
        What nodes are said to be: noisy values of another run.
    upto
        The last node that is needed.
    """
    many = len(next(iter(data.values())))
    values: list[Values] = []
    stays = np.ones(many, dtype=bool)
    for node in program.nodes[: None if upto is None else upto + 1]:
        if forced is not None and node.index in forced:
            values.append(forced[node.index])
            continue
        value = _value(node, [values[one] for one in node.operands], data, draws)
        if node.operation == "decide":
            stays &= np.broadcast_to(value.astype(bool), (many,)) == node.parameters["outcome"]
        values.append(value)
    return values, stays


def _value(
    node: Node, operands: list[Values], data: Mapping[str, Values], draws: Sequence[Any]
) -> Values:
    given, operation = node.parameters, node.operation
    if operation == "data":
        return data[given["part"]]
    if operation == "size":
        return np.full(1, next(iter(data.values())).shape[1])
    if operation == "constant":
        return np.asarray(given["value"])[None]
    if operation == "draw":
        return np.asarray(draws[given["number"]])
    if operation == "decide":
        return operands[0]
    if operation == "broadcast":
        return _broadcast(operands[0], node.shape, next(iter(data.values())).shape[1])
    found = OTHERS.get(operation) or _elementwise(operation)
    return _fit(np.asarray(found(*operands, **given)), np.dtype(node.dtype))


def _fit(value: Values, dtype: np.dtype[Any]) -> Values:
    """Return a value in its dtype; whole numbers that would wrap around stay as they are."""
    if value.dtype == dtype:
        return value
    if dtype.kind in "iu":
        ends, floats = np.iinfo(dtype), value.astype(float)
        if not ((floats >= ends.min) & (floats <= ends.max)).all():
            return value
    return value.astype(dtype)


def _elementwise(operation: str) -> Callable[..., Values]:
    """Return a function of numpy with its operands' shapes filled up behind the datasets."""
    function = EVALUATORS[operation]

    def apply(*operands: Values) -> Values:
        if len(operands) == 1:
            return np.asarray(function(operands[0]))
        return np.asarray(function(*_align(operands)))

    return apply


def _align(operands: Sequence[Values]) -> list[Values]:
    most = max(one.ndim for one in operands)
    return [one if one.ndim == most else _fill(one, most) for one in operands]


def _fill(value: Values, ndim: int) -> Values:
    return value.reshape(value.shape[0], *(1,) * (ndim - value.ndim), *value.shape[1:])


def _reduced(operation: str) -> Callable[..., Values]:
    function = EVALUATORS[operation]

    def apply(value: Values, axis: Any, **given: Any) -> Values:
        if axis is None:
            return np.asarray(function(value.reshape(len(value), -1), axis=1, **given))
        many = [axis] if isinstance(axis, int) else list(axis)
        behind = [one + 1 if one >= 0 else one for one in many]
        return np.asarray(function(value, axis=behind[0] if len(behind) == 1 else behind, **given))

    return apply


def _cumsum(value: Values, axis: Any) -> Values:
    return _reduced("cumsum")(value, axis)


def _matmul(one: Values, other: Values) -> Values:
    is_row, is_column = one.ndim == 2, other.ndim == 2
    one = one[:, None, :] if is_row else one
    other = other[:, :, None] if is_column else other
    found = np.matmul(*_align((one, other)))
    found = found[..., 0] if is_column else found
    return found[..., 0] if is_row and is_column else (found[..., 0, :] if is_row else found)


def _take(value: Values, key: Sequence[Sequence[int] | None]) -> Values:
    for axis, positions in enumerate(key, start=1):
        if positions is not None:
            value = np.take(value, np.asarray(positions, dtype=int), axis)
    return value


def _assign(value: Values, entry: Values, key: Sequence[Sequence[int] | None]) -> Values:
    many = max(len(value), len(entry))
    found = np.array(np.broadcast_to(value, (many, *value.shape[1:])))
    whole = [range(n) if one is None else one for one, n in zip(key, value.shape[1:], strict=True)]
    mesh = np.ix_(np.arange(many), *(np.asarray(one, dtype=int) for one in whole))
    found[mesh] = _fill(entry, found.ndim)
    return found


def _reshape(value: Values, shape: Sequence[int | None]) -> Values:
    known = int(np.prod([one for one in shape if one is not None]))
    size = value[0].size // max(known, 1)
    return value.reshape(len(value), *(size if one is None else one for one in shape))


def _broadcast(value: Values, shape: Sequence[int | None], records: int) -> Values:
    whole = [records if one is None else one for one in shape]
    return np.broadcast_to(_fill(value, len(shape) + 1), (len(value), *whole))


def _transpose(value: Values, axes: Sequence[int]) -> Values:
    return np.transpose(value, (0, *(one + 1 for one in axes)))


def _concatenate(*values: Values, axis: int) -> Values:
    many = max(map(len, values))
    whole = [np.broadcast_to(one, (many, *one.shape[1:])) for one in values]
    return np.concatenate(whole, axis=axis + 1 if axis >= 0 else axis)


def _bin_counts(value: Values, edges: Sequence[float]) -> Values:
    ends, flat = np.asarray(edges), value.reshape(len(value), -1)
    within = (flat[..., None] >= ends[:-1]) & (flat[..., None] < ends[1:])
    within[..., -1] |= flat == ends[-1]
    return np.asarray(within.sum(axis=1))


OTHERS: dict[str, Callable[..., Values]] = {
    **{
        name: _reduced(name)
        for name in ("sum prod max min mean median argmax argmin quantile sort".split())
    },
    "cumsum": _cumsum,
    "matmul": _matmul,
    "take": _take,
    "within": lambda value, low, high: value,
    "assign": _assign,
    "reshape": _reshape,
    "transpose": _transpose,
    "concatenate": _concatenate,
    "bin_counts": _bin_counts,
}
