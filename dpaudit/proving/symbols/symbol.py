"""Arrays of a program, as numpy's code takes arrays.

A `Symbol` stands for an array, or a number, whose entries depend on records or noise. Operators,
functions and methods of numpy write operations into a `PathProgram`. Arrays that a function makes
itself are symbols with a known value, so that others can be written into them; what is made of
such alone stays plain numbers, by numpy itself.

A symbol is a whole *cell* of memory or a view of another symbol. A cell knows the node that holds
its present entries: writing makes another node, and views read from what the cell holds then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

import dpaudit.faults.codes as codes
from dpaudit.freezing import tracked_noise
from dpaudit.proving.program import Node, PathProgram, Shape
from dpaudit.proving.refusals import NotProved, ProofRefusal
from dpaudit.proving.symbols.keys import FEW, compute_content_digest, key_of, name_of
from dpaudit.proving.symbols.memory import Cell, ViewStep

FROM_DATA = 1
FROM_DRAWS = 2
"""What flows into a node, as bits."""
_NUMBERS = "biuf"
_FRESH = frozenset(("data", "draw", "decide", "size"))


class SymbolRules(Protocol):
    """The rules of numpy's operators, functions and indices for symbols."""

    def operate(
        self, tracing: SymbolTracing, ufunc: Any, method: str, given: Any, options: Any
    ) -> Any:
        """Return the result of a universal function, by its method, on symbols and arrays."""

    def call(self, tracing: SymbolTracing, function: Any, args: Any, named: Any) -> Any:
        """Return the result of any other function of numpy on arguments that hold symbols."""

    def take(self, symbol: Symbol, key: Any) -> Any:
        """Return entries of a symbol."""

    def write(self, symbol: Symbol, key: Any, value: Any) -> None:
        """Write entries of a symbol."""

    def method(self, symbol: Symbol, name: str) -> Callable[..., Any] | None:
        """Return a method of arrays, or nothing for one that is not followed."""


@dataclass(eq=False)
class SymbolTracing:
    """One run on symbols: the program that it writes, and the first thing that is not followed.

    Parameters
    ----------
    rules
        What operators and functions of numpy make of symbols.
    program
        What is formed.
    refusal
        The first one, which is final.
    taints
        Of each node what flows into it: `FROM_DATA`, `FROM_DRAWS`, both or neither.
    known
        The nodes that there are, by what they are.
    place
        The line whose operations are written; empty for the one that is under way.
    call, is_over
        The number of the run, and whether no more is written: what code holds of another run, in
        a cache say, is none of this one.
    """

    rules: SymbolRules
    program: PathProgram = field(default_factory=PathProgram)
    refusal: ProofRefusal | None = None
    taints: list[int] = field(default_factory=list)
    known: dict[Any, int] = field(default_factory=dict)
    place: str = ""
    call: int = 0
    is_over: bool = False

    def add(
        self,
        operation: str,
        operands: Sequence[Symbol | int],
        shape: Shape,
        dtype: Any,
        **parameters: Any,
    ) -> Symbol:
        """Append an operation and return its value; an equal one that is there is taken again."""
        numbers = [one.index if isinstance(one, Symbol) else one for one in operands]
        if operation in ("reshape", "broadcast"):
            parameters["shape"] = list(shape)
        made = np.dtype(dtype)
        node = self.node(operation, numbers, shape, made, parameters)
        return Symbol.of_node(self, node, made, is_ordered=operation in _FRESH)

    def node(
        self,
        operation: str,
        operands: Sequence[int],
        shape: Shape,
        dtype: np.dtype[Any],
        parameters: Mapping[str, Any],
    ) -> int:
        """Append an operation and return its number; an equal one that is there is taken again."""
        if self.is_over:
            self.refuse(_OF_ANOTHER)
        given = tuple(operands)
        key = (operation, given, shape, dtype, key_of(parameters))
        is_pure = operation not in _FRESH and key[-1] is not None
        if is_pure and (found := self.known.get(key)) is not None:
            return found
        index = len(self.program.nodes)
        place = self.place or tracked_noise.place()
        node = Node(index, operation, given, parameters, shape, name_of(dtype), place)
        self.program.nodes.append(node)
        self.taints.append(self._taint_of(operation, given))
        if is_pure:
            self.known[key] = index
        return index

    def _taint_of(self, operation: str, operands: Sequence[int]) -> int:
        if operation in ("data", "size"):
            return FROM_DATA
        taint = FROM_DRAWS if operation == "draw" else 0
        for one in operands:
            taint |= self.taints[one]
        return taint

    def constant(self, value: Any) -> Symbol:
        """Return public numbers, as they are now."""
        numbers = np.array(value)
        if numbers.dtype.kind not in _NUMBERS:
            self.refuse(f"the code computes with {type(value).__name__}, which is not a number")
        return self.public(numbers, is_array=isinstance(value, np.ndarray))

    def public(self, value: NDArray[Any], *, is_array: bool | None = None) -> Symbol:
        """Return public numbers whose memory is the symbol's from now on."""
        return Symbol(self, Cell(None, value), value.shape, value.dtype, is_array=is_array)

    def constant_node(self, value: NDArray[Any]) -> int:
        """Return the node of public numbers, as they are now."""
        content = value.tobytes()
        key = (
            value.dtype,
            value.shape,
            content if value.size <= FEW else compute_content_digest(content),
        )
        if (found := self.known.get(key)) is None:
            given = {"value": value.copy()}
            found = self.node("constant", (), value.shape, value.dtype, given)
            self.known[key] = found
        return found

    def size(self) -> Symbol:
        """Return the number of records, where it is not public."""
        found = self.known.get("size")
        if found is None:
            found = self.known["size"] = self.node("size", (), (), np.dtype(np.int64), {})
        return Symbol.of_node(self, found, np.dtype(np.int64), is_weak=True)

    def symbol_of(self, value: Any) -> Symbol:
        """Return a number, an array or nested lists of such as a symbol."""
        if isinstance(value, Symbol):
            return value
        if isinstance(value, list | tuple) and holds_symbol(value):
            found = self.rules.call(self, np.stack, (list(map(self.symbol_of, value)),), {})
            return found if isinstance(found, Symbol) else self.constant(found)
        return self.constant(value)

    def refuse(self, reason: str, cure: str = "", fault: str | None = None) -> NoReturn:
        """Note a refusal, for good, and raise it."""
        found = ProofRefusal(tracked_noise.place(), reason, cure, fault)
        self.refusal = self.refusal or found
        raise NotProved(found)

    def decide(self, symbol: Symbol) -> bool:
        """Return how a condition on noise is decided on this path."""
        self.refuse("the code branches on noise")

    def position(self, symbol: Symbol) -> int:
        """Return which whole number noise has drawn on this path."""
        self.refuse("a position depends on noise", "use numpy.where or a sum over all positions")


def holds_symbol(value: Any) -> bool:
    """Return whether nested lists and tuples hold a symbol."""
    if isinstance(value, list | tuple):
        return any(map(holds_symbol, value))
    return isinstance(value, Symbol)


class Symbol(NDArrayOperatorsMixin, tracked_noise.Symbolic):
    """An array, or a number, of a program.

    Parameters
    ----------
    tracing
        The run.
    cell
        Its memory, which views share.
    dims
        Lengths of the axes; None is the number of records, where that is not public.
    dtype
        Of numpy's.
    parent, step
        Of a view: of which symbol, and how.
    is_array
        Whether a symbol of no axes is an array that can be written into, and no number.
    is_weak
        Whether it is a number of Python's, which takes the type of arrays that it meets.
    """

    __array_priority__ = 3000.0
    is_scale = True

    tracing: SymbolTracing
    program: PathProgram
    cell: Cell
    dims: Shape
    dtype: np.dtype[Any]
    parent: Symbol | None
    step: ViewStep | None
    is_array: bool
    is_weak: bool
    cached: tuple[int, int]
    call: int

    def __init__(
        self,
        tracing: SymbolTracing,
        cell: Cell,
        dims: Shape,
        dtype: np.dtype[Any],
        *,
        parent: Symbol | None = None,
        step: ViewStep | None = None,
        is_array: bool | None = None,
        is_weak: bool = False,
    ) -> None:
        self.__dict__.update(
            tracing=tracing,
            program=tracing.program,
            cell=cell,
            dims=dims,
            dtype=dtype,
            parent=parent,
            step=step,
            is_array=bool(dims) or bool(is_array),
            is_weak=is_weak,
            cached=(-1, -1),
            call=tracing.call,
        )

    @classmethod
    def of_node(
        cls,
        tracing: SymbolTracing,
        node: int,
        dtype: np.dtype[Any] | None = None,
        *,
        is_array: bool = False,
        is_weak: bool = False,
        is_ordered: bool = False,
    ) -> Symbol:
        """Return a node's value, in memory of its own, which may lie in any order."""
        held = tracing.program.nodes[node]
        cell = Cell(node, is_ordered=is_ordered or len(held.shape) < 2)
        kind = np.dtype(held.dtype) if dtype is None else dtype
        return cls(tracing, cell, held.shape, kind, is_array=is_array, is_weak=is_weak)

    def __setattr__(self, name: str, value: Any) -> None:
        self.tracing.refuse(f"the code sets .{name} of an array", "use numpy.reshape or a copy")

    def share(self, dims: Shape, step: ViewStep, *, is_array: bool = True) -> Symbol:
        """Return entries that share this memory; those of a number are copied, as it stays."""
        held = self if self.is_array else self._apart()
        return Symbol(
            self.tracing, held.cell, dims, self.dtype, parent=held, step=step, is_array=is_array
        )

    def _apart(self) -> Symbol:
        value = self.value
        cell = Cell(self.index) if value is None else Cell(None, value.copy())
        return Symbol(self.tracing, cell, self.dims, self.dtype)

    # --- what it holds now -------------------------------------------------------------------

    @property
    def value(self) -> NDArray[Any] | None:
        """The public numbers that it holds, in its memory; None where it holds others."""
        if self.cell.value is None or self.parent is None or self.step is None:
            return self.cell.value
        found: NDArray[Any] = np.asarray(self.step.apply(self.parent.value))
        return found

    @property
    def index(self) -> int:
        """The node that holds its present entries."""
        if self.program is not self.tracing.program:
            self.tracing.refuse("the code uses an array of an earlier call: it keeps state")
        version, node = self.cached
        if self.call != self.tracing.call:
            self._renew()
        elif version == self.cell.version:
            return node
        node = self._read()
        self.__dict__["cached"] = (self.cell.version, node)
        return node

    def _renew(self) -> None:
        """Belong to the present call, where another one left public numbers; refuse any others."""
        if self.cell.value is None:
            self.tracing.refuse(_OF_ANOTHER)
        self.__dict__["call"] = self.tracing.call

    def _read(self) -> int:
        if self.cell.value is not None:
            return self.tracing.constant_node(np.asarray(self.value))
        if self.parent is not None and self.step is not None:
            parent, around = self.parent.index, self.tracing.place
            self.tracing.place = self.step.place
            try:
                return self.step.emit(parent)
            finally:
                self.tracing.place = around
        return -1 if self.cell.node is None else self.cell.node

    @property
    def taint(self) -> int:
        """The sources that flow into the value: bits of `FROM_DATA` and `FROM_DRAWS`."""
        return 0 if self.cell.value is not None else self.tracing.taints[self.index]

    @property
    def is_private(self) -> bool:
        """Whether records flow into it, hidden by noise or not."""
        return bool(self.taint & FROM_DATA)

    @property
    def is_public(self) -> bool:
        """Whether neither records nor noise flow into it."""
        return self.cell.value is not None

    # --- what arrays have --------------------------------------------------------------------

    @property
    def shape(self) -> Any:
        """Lengths of the axes; the number of records is a symbol where it is not public."""
        if None in self.dims:
            return tuple(self.tracing.size() if one is None else one for one in self.dims)
        return self.dims

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def size(self) -> Any:
        """Number of entries: a symbol, where the number of records is not public."""
        found: Any = 1
        for one in self.shape:
            found = one if type(found) is int and found == 1 else found * one
        return found

    @property
    def T(self) -> Any:
        """The transpose, which shares its memory."""
        return self.tracing.rules.call(self.tracing, np.transpose, (self,), {})

    # --- operations --------------------------------------------------------------------------

    def __pow__(self, other: Any) -> Any:
        if self.dims and self.dtype.kind == "b" and type(other) is int and other == 2:
            return np.square(self)  # as the operator does, other than numpy.power
        return np.power(self, other)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return self.tracing.rules.operate(self.tracing, ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return self.tracing.rules.call(self.tracing, function, args, options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.plain(_INTO_PLAIN), dtype=dtype)

    def plain(self, reason: str) -> NDArray[Any]:
        """Return the numbers of a symbol that is public; refuse any other."""
        if self.cell.value is None:
            self.tracing.refuse(reason)
        return np.asarray(self.value)

    def length(self) -> int | None:
        """Return how many draws it says that there are; None for one for each record."""
        if not self.is_public and self.tracing.program.nodes[self.index].operation == "size":
            return None
        return operator.index(self)

    def __getitem__(self, key: Any) -> Any:
        return self.tracing.rules.take(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracing.rules.write(self, key, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("real", "itemsize"):
            return self if name == "real" else self.dtype.itemsize
        tracing: SymbolTracing = self.__dict__["tracing"]
        if (found := tracing.rules.method(self, name)) is not None:
            return found
        if not hasattr(np.ndarray if self.is_array else np.float64, name):
            raise AttributeError(name)
        tracing.refuse(f"no rule covers .{name} of a value that depends on records or noise")

    def __iter__(self) -> Iterator[Any]:
        if not self.dims:
            raise TypeError("iteration over a 0-d array")
        return (self[at] for at in range(len(self)))

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("len() of unsized object")
        if self.dims[0] is None:
            self.tracing.refuse(
                "the code reads the number of records, in which neighbours differ",
                "sum over the records, and add noise to their number",
            )
        return self.dims[0]

    def __copy__(self) -> Symbol:
        return self.copy()  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self.copy()  # type: ignore[no-any-return]

    # --- what only public numbers have -------------------------------------------------------

    def __bool__(self) -> bool:
        if self.is_public or any(one != 1 for one in self.dims):
            return bool(self.plain("the code uses an array of several entries as a condition"))
        if not self.taint & FROM_DRAWS:
            cure = "use numpy.where, numpy.clip, numpy.minimum or numpy.maximum"
            reason = "the code branches on records"
            self.tracing.refuse(reason, cure, codes.BRANCH_ON_RECORD)
        return self.tracing.decide(self)

    def __float__(self) -> float:
        return float(
            self.plain("the code takes float() of a value that depends on records or noise")
        )

    def __int__(self) -> int:
        return int(self.plain("the code takes int() of a value that depends on records or noise"))

    def __complex__(self) -> complex:
        return complex(
            self.plain("the code takes complex() of a value that depends on records or noise")
        )

    def __index__(self) -> int:
        if self.is_public:
            return operator.index(self.plain("")[()])
        if not self.taint & FROM_DRAWS:
            self.tracing.refuse(
                "a position or a length depends on records",
                "use numpy.where or a sum over positions",
            )
        return self.tracing.position(self)

    def __round__(self, *digits: Any) -> Any:
        if self.dims:
            raise TypeError("type numpy.ndarray doesn't define __round__ method")
        return self.tracing.rules.call(self.tracing, np.round, (self, *digits), {})

    def __contains__(self, value: Any) -> bool:
        return value in self.plain(
            "the code checks whether a number is in an array that depends on records or noise"
        )

    def __hash__(self) -> int:
        if not self.is_public and self.taint & FROM_DRAWS:
            return hash(self.tracing.position(self))
        return hash(
            self.plain("the code takes hash() of a value that depends on records or noise")[()]
        )

    def __format__(self, form: str) -> str:
        return format(
            self.plain("the code writes a value that depends on records or noise as text")[()], form
        )

    def __str__(self) -> str:
        return str(self.plain("the code writes a value that depends on records or noise as text"))

    def __repr__(self) -> str:
        return repr(self.plain("the code writes a value that depends on records or noise as text"))

    def __reduce__(self) -> Any:
        self.tracing.refuse("a value that depends on records or noise leaves the process")


_OF_ANOTHER = "the code uses a value that another call computed from records or noise"
_INTO_PLAIN = (
    "the code uses a value that depends on records or noise as an array of plain "
    "numbers, or writes it into one: make that array inside the function with numpy.zeros"
)
