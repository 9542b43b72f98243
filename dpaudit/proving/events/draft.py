"""A program with more nodes at its end, of which a proof asks how far they move.

Rules of events ask for the distance of values that no line of the function forms: a sum without its
noise, or that sum divided by the scale of the noise. A draft writes them in the language of the
program, after its last node, so that the same rules bound them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.program import EVALUATORS, Node, PathProgram, Shape

_UNKNOWN = frozenset({"data", "size", "draw", "decide"})


class Draft:
    """A copy of a program that grows.

    Parameters
    ----------
    program
        What stays as it is: all its nodes keep their numbers.

    Examples
    --------
    >>> program = PathProgram()
    >>> x = program.add("data", shape=(3,), part="")
    >>> draft = Draft(program)
    >>> half = draft.apply("divide", [x, draft.constant(2.0)])
    >>> draft.shape(half), len(program.nodes)
    ((3,), 1)
    """

    def __init__(self, program: PathProgram) -> None:
        # A copy: several readings append different nodes to one program.
        self.program = PathProgram(list(program.nodes), program.outputs)
        self.own = len(program.nodes)
        self._values: dict[int, NDArray[Any] | None] = {}

    def node(self, index: int) -> Node:
        """Return a node."""
        return self.program.nodes[index]

    def shape(self, index: int) -> Shape:
        """Return the shape of a node."""
        return self.program.nodes[index].shape

    def constant(self, value: Any) -> int:
        """Append public numbers."""
        given = np.asarray(value, dtype=float)
        return self.program.add("constant", shape=given.shape, value=given.tolist())

    def apply(self, operation: str, operands: Sequence[int], *, place: str = "?") -> int:
        """Append an operation on entries, of the shape and type that numpy gives it."""
        shape = broadcast_shapes(*(self.shape(one) for one in operands))
        return self.program.add(operation, operands, shape=shape, place=place)

    def move(self, node: Node, operands: Sequence[int], shape: Shape) -> int:
        """Append a node that moves entries as another one does, of other operands."""
        own = [self.node(one).dtype for one in operands]
        # The shape is an argument of its own here, since the operands may be of another one.
        given = {name: one for name, one in node.parameters.items() if name != "shape"}
        return self.program.add(
            node.operation,
            operands,
            shape=shape,
            dtype=own[0] if len(set(own)) == 1 else "float64",
            place=node.place,
            **given,
        )

    def broadcast(self, index: int, shape: Shape) -> int:
        """Return a node of a shape whose entries are those of another one."""
        if self.shape(index) == shape:
            return index
        node = self.node(index)
        return self.program.add(
            "broadcast", [index], shape=shape, dtype=node.dtype, place=node.place
        )

    def flatten(self, index: int) -> int:
        """Return a node with the entries of another one in a row."""
        node = self.node(index)
        if len(node.shape) == 1:
            return index
        shape = (size_of(node.shape),)
        return self.program.add("reshape", [index], shape=shape, dtype=node.dtype, place=node.place)

    def value(self, index: int) -> NDArray[Any] | None:
        """Return the value of a node that is made of constants alone, or None."""
        # Chains of constants are as long as loops are, and deeper than Python's recursion
        # limit.
        pending = [index]
        while pending:
            at = pending[-1]
            missing = [one for one in self.node(at).operands if one not in self._values]
            if at in self._values or not missing:
                pending.pop()
                self._values.setdefault(at, self._evaluate(self.node(at)))
            else:
                pending.extend(missing)
        return self._values[index]

    def _evaluate(self, node: Node) -> NDArray[Any] | None:
        if node.operation == "constant":
            return np.asarray(node.parameters["value"])
        operands = [self._values[one] for one in node.operands]
        if node.operation in _UNKNOWN or any(one is None for one in operands):
            return None
        with np.errstate(all="ignore"):
            return np.asarray(EVALUATORS[node.operation](*operands, **node.parameters))


def size_of(shape: Shape) -> int:
    """Return how many entries a shape of known lengths has."""
    return math.prod(one for one in shape if one is not None)


def is_known(shape: Iterable[int | None]) -> bool:
    """Return whether all lengths of a shape are public."""
    return None not in shape


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape of an operation on entries; None is a length beside 1 and itself alone.

    Examples
    --------
    >>> broadcast_shapes((None, 1), (4,))
    (None, 4)
    """
    if all(is_known(one) for one in shapes):
        return tuple(np.broadcast_shapes(*shapes))  # type: ignore[arg-type]
    rank = max(len(one) for one in shapes)
    padded = [(1,) * (rank - len(one)) + tuple(one) for one in shapes]
    return tuple(_common_length(lengths) for lengths in zip(*padded, strict=True))


def _common_length(lengths: Iterable[int | None]) -> int | None:
    # An unknown length broadcasts with 1 and with itself; next to any other number the trace
    # would have failed before.
    longer = {one for one in lengths if one != 1}
    return longer.pop() if longer else 1


def write_parameters(parameters: Mapping[str, Any]) -> str:
    """Return parameters as text that differs where any of their numbers does.

    Examples
    --------
    >>> write_parameters({"value": np.zeros(2)})
    "[('value', [0.0, 0.0])]"
    """
    plain = {
        k: one.tolist() if isinstance(one, np.ndarray) else one for k, one in parameters.items()
    }
    return repr(sorted(plain.items()))
