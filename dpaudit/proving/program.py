"""The program that a traced function is: a list of operations on arrays of real numbers.

Every reading of a function speaks this language, and nothing else: the tracer writes it, the rules
bound it, the checker reads it from a certificate, and the generator of attacks makes it. An
operation is one of those below. Its operands are earlier nodes; its parameters are public, and can
be written as JSON. Truth values are the numbers 0 and 1. Axis 0 of what stems from records is the
axis of records until an operation takes it away; where the number of records is not public, its
length in a shape is None, and no operation may ask for it.

* ``data``: the part ``part`` of the dataset. ``size``: the number of records. ``constant``: the
  public numbers ``value``.
* ``draw``: fresh noise of a ``law``; ``number`` says which draw of the run it is.
* Of two operands, as numpy has them: ``add subtract multiply divide minimum maximum remainder power
  less less_equal equal not_equal logical_and logical_or logical_xor``.
* Of one: ``negative absolute sqrt exp expm1 log log1p sin cos tan arctan tanh sign floor ceil rint
  trunc logical_not``. Of three: ``where`` (condition, then, otherwise).
* Along ``axis`` (a number, several, or None for all; there is no keepdims): ``sum prod max min mean
  median argmax argmin``, ``quantile`` with ``q`` and ``method``; ``sort`` and ``cumsum`` along one.
* ``matmul``, as numpy has it.
* ``take``: the entries at the product of positions, ``key`` having of each axis a list of positions
  or None for all; no axis is lost. ``assign`` (array, value): a copy of the array whose entries at
  ``key`` are those of the value. ``reshape`` and ``broadcast`` to ``shape``, ``transpose`` by
  ``axes``, ``concatenate`` along ``axis``.
* ``within``: the value, which has to lie between ``low`` and ``high``: a rule that cannot show it
  knows nothing. Where it does not lie there, the program is not what the function does.
* ``call``: a ``part`` of what a ``function`` of `dpaudit.proving.symbols.calls` gives, or all for
  None. Of its arguments ``given`` and ``named``, operands have their places. No rule bounds it: it
  is for what is public.
* ``bin_counts``: how many of the numbers lie in each bin between ``edges``, as numpy counts them.
* ``decide``: the ``outcome`` of a condition on public noise, by which this path goes on.

``draw`` has a standard law (``normal``, ``laplace``, ``exponential``, ``gumbel``, ``uniform``,
``logistic``, ``cauchy``: location 0 and scale 1; uniform from 0 to 1), scaled by later nodes;
discrete laws (``geometric``, ``discrete-laplace``, ``discrete-gaussian``, ``binomial``,
``bernoulli``, ``poisson``, ``integers``, ``permutation``, ``choice``) have parameters, and
probabilities that depend on records are an operand. ``number`` says which draw of the run it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpaudit.proving.symbols.calls import apply_call

Shape = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class Node:
    """One operation of a program.

    Parameters
    ----------
    index
        Its number.
    operation
        One of the table of `dpaudit.proving.program`.
    operands
        Numbers of earlier nodes.
    parameters
        Public ones, by name.
    shape
        Of the value; None is the number of records, where that is not public.
    dtype
        Of numpy's: ``float64``, ``int64``, ``bool``, ... What does not fit in it wraps around.
    place
        The line of the source.
    """

    index: int
    operation: str
    operands: tuple[int, ...]
    parameters: Mapping[str, Any]
    shape: Shape
    dtype: str
    place: str


@dataclass(eq=False)
class PathProgram:
    """All that one path through a function forms, in order.

    Parameters
    ----------
    nodes
        The operations.
    outputs
        The nodes that are returned, in the order of `parts_of`.
    """

    nodes: list[Node] = field(default_factory=list)
    outputs: tuple[int, ...] = ()

    def add(
        self,
        operation: str,
        operands: Sequence[int] = (),
        *,
        shape: Shape,
        dtype: str = "float64",
        place: str = "?",
        **parameters: Any,
    ) -> int:
        """Append an operation and return its number; one that reshapes does so to ``shape``."""
        index = len(self.nodes)
        if operation in ("reshape", "broadcast"):
            parameters["shape"] = list(shape)
        known = tuple(int(one) for one in operands)
        self.nodes.append(Node(index, operation, known, parameters, shape, dtype, place))
        return index

    def uses(self) -> list[list[int]]:
        """Return of each node the nodes that have it for an operand, in order."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for node in self.nodes:
            for one in dict.fromkeys(node.operands):
                found[one].append(node.index)
        return found

    def slice(self, index: int) -> list[int]:
        """Return the numbers of the nodes on which one depends, in order, and its own."""
        needed, pending = {index}, [index]
        while pending:
            for one in self.nodes[pending.pop()].operands:
                if one not in needed:
                    needed.add(one)
                    pending.append(one)
        return sorted(needed)


class OtherPath(Exception):
    """On these data and draws a condition decides otherwise than on this path."""


def evaluate_program(
    program: PathProgram,
    data: Mapping[str, Any],
    draws: Sequence[Any],
    *,
    needed: Collection[int] | None = None,
) -> list[Any]:
    """Return the value of every node for a dataset and draws.

    Parameters
    ----------
    program
        What is evaluated.
    data
        The parts of the dataset, by name, as arrays of numbers.
    draws
        By their ``number``; those that are not needed may be missing at the end.
    needed
        The nodes whose values are; of any other, its largest finite number is held once no
        operation asks for more. None for all.

    Raises
    ------
    OtherPath
        A condition decides otherwise than the program says.

    Examples
    --------
    >>> program = PathProgram()
    >>> x = program.add("data", shape=(3,), part="")
    >>> total = program.add("sum", [x], shape=(), axis=None)
    >>> evaluate_program(program, {"": np.array([1.0, 2.0, 3.0])}, ())[total].item()
    6.0
    """
    values: list[Any] = []
    done = [()] * len(program.nodes) if needed is None else _find_unneeded_nodes(program, needed)
    with np.errstate(all="ignore"):
        for node, gone in zip(program.nodes, done, strict=True):
            operands = [values[one] for one in node.operands]
            found = _evaluate_node(node, operands, data, draws)
            # Numbers wrap around here as they do in the function, so that a comparison sees it.
            values.append(found if found.dtype == node.dtype else found.astype(node.dtype))
            for one in gone:
                values[one] = _get_largest_finite(values[one])
    return values


def _find_unneeded_nodes(program: PathProgram, needed: Collection[int]) -> list[Sequence[int]]:
    """Return of each node the nodes for whose values no later operation asks."""
    last = {one: node.index for node in program.nodes for one in (node.index, *node.operands)}
    kept, found = set(needed), list[Sequence[int]]([()] * len(program.nodes))
    for one, at in last.items():
        if one not in kept:
            found[at] = (*found[at], one)
    return found


def _get_largest_finite(value: Any) -> Any:
    """Return the largest finite number of an array, for all of it."""
    if value.size < 2 or value.dtype.kind != "f":
        return value if value.size < 2 else np.zeros(())
    size = np.abs(value).max()
    return size if np.isfinite(size) else np.abs(value[np.isfinite(value)]).max(initial=0.0)


def _evaluate_node(
    node: Node, operands: list[Any], data: Mapping[str, Any], draws: Sequence[Any]
) -> Any:
    given = node.parameters
    if node.operation == "data":
        return np.asarray(data[given["part"]])
    if node.operation == "size":
        return np.asarray(len(next(iter(data.values()))))
    if node.operation == "constant":
        return np.asarray(given["value"])
    if node.operation == "draw":
        return np.asarray(draws[given["number"]])
    if node.operation == "broadcast" and None in node.shape:
        records = len(next(iter(data.values()), ()))
        return np.broadcast_to(operands[0], [records if one is None else one for one in node.shape])
    if node.operation == "decide":
        if bool(operands[0]) != given["outcome"]:
            raise OtherPath(node.index)
        return operands[0]
    return np.asarray(EVALUATORS[node.operation](*operands, **given))


def _to_axis_tuple(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list | tuple) else axis


def _make_reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value, axis: function(value, axis=_to_axis_tuple(axis))


def _evaluate_sort(value: Any, axis: Any) -> Any:
    return np.sort(value, axis=axis)


def _evaluate_quantile(value: Any, axis: Any, q: Any, method: str) -> Any:
    return np.quantile(value, q, axis=_to_axis_tuple(axis), method=method)  # type: ignore[call-overload]


def open_mesh(key: Sequence[Sequence[int] | None], shape: Sequence[int]) -> Any:
    """Return the index of numpy that takes the product of positions of each axis.

    Examples
    --------
    >>> np.arange(6).reshape(2, 3)[open_mesh([None, [2, 0]], (2, 3))].tolist()
    [[2, 0], [5, 3]]
    """
    whole = [range(n) if one is None else one for one, n in zip(key, shape, strict=True)]
    return np.ix_(*(np.asarray(one, dtype=int) for one in whole)) if whole else ()


def _evaluate_take(value: Any, key: Any) -> Any:
    return value[open_mesh(key, value.shape)]


def _evaluate_assign(value: Any, entry: Any, key: Any) -> Any:
    found = np.array(value)
    found[open_mesh(key, found.shape)] = entry
    return found


def _require_within(value: Any, low: float, high: float) -> Any:
    # Written so that NaN fails.
    if not np.all((value >= low) & (value <= high)):
        raise OtherPath
    return value


def _resolve_record_shape(shape: Any, size: int) -> list[int]:
    """Return a shape with the number of records in its place."""
    known = math.prod(one for one in shape if one is not None)
    return [size // max(known, 1) if one is None else one for one in shape]


EVALUATORS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in (
            "add subtract multiply divide minimum maximum remainder power less less_equal equal "
            "not_equal logical_and logical_or logical_xor negative absolute sqrt exp expm1 log "
            "log1p sin cos tan arctan tanh sign floor ceil rint trunc logical_not where matmul"
        ).split()
    },
    **{
        name: _make_reduction(getattr(np, name))
        for name in "sum prod max min mean median cumsum argmax argmin".split()
    },
    "sort": _evaluate_sort,
    "quantile": _evaluate_quantile,
    "take": _evaluate_take,
    "within": _require_within,
    "call": apply_call,
    "assign": _evaluate_assign,
    "reshape": lambda value, shape: value.reshape(_resolve_record_shape(shape, value.size)),
    "transpose": lambda value, axes: np.transpose(value, axes),
    "broadcast": lambda value, shape: np.broadcast_to(value, shape),
    "concatenate": lambda *values, axis: np.concatenate(values, axis=axis),
    "bin_counts": lambda value, edges: np.histogram(value, bins=np.asarray(edges))[0],
}
"""What the operations of arrays do to plain numbers, by name."""
