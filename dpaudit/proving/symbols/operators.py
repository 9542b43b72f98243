"""Universal functions of numpy on symbols, as operations of the core language.

The type of a result is the one that numpy's own loops have for the types of the operands, so that
numbers that wrap around are seen by whoever reads the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dpaudit.proving.program import Shape
from dpaudit.proving.symbols import special, structure
from dpaudit.proving.symbols.opaque import call_opaquely, can_call
from dpaudit.proving.symbols.preconditions import require_finite, require_sign
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing, holds_symbol


def apply_ufunc_method(
    tracing: SymbolTracing, ufunc: Any, method: str, given: Any, options: Any
) -> Any:
    """Return the result of a universal function, by its method, on symbols and arrays."""
    options = {key: value for key, value in options.items() if value is not None or key == "axis"}
    into = options.pop("out", None)
    into = into[0] if isinstance(into, tuple) and len(into) == 1 else into
    if into is not None and not isinstance(into, Symbol):
        tracing.refuse(
            "the code writes a value that depends on records or noise into an array of plain "
            "numbers",
            "make that array inside the function with numpy.zeros",
        )
    where = options.pop("where", True)
    if method != "__call__":
        return _by_method(tracing, ufunc, method, given, {**options, "where": where}, into)
    found = apply_ufunc_rule(tracing, ufunc, given, options)
    if into is None:
        if where is not True:
            tracing.refuse(
                f"the code gives numpy.{ufunc.__name__} where= without out=", "use numpy.where"
            )
        return found
    return write_result(tracing, into, found, where)


def write_result(tracing: SymbolTracing, into: Symbol, found: Any, where: Any = True) -> Symbol:
    """Write a result into an array, as ``out=`` does; a number is not changed in place."""
    if not into.is_array:
        return tracing.symbol_of(found)
    result = tracing.symbol_of(found)
    if not np.can_cast(result.dtype, into.dtype, "same_kind"):
        raise TypeError(f"Cannot cast ufunc output from {result.dtype} to {into.dtype}")
    if where is not True:
        result = tracing.symbol_of(np.where(where, result, into))
    into[...] = result
    return into


def apply_ufunc_rule(
    tracing: SymbolTracing, ufunc: Any, given: Sequence[Any], options: Any = None
) -> Any:
    """Return the result of a universal function on symbols and numbers."""
    if ufunc is np.multiply and any(isinstance(one, list | tuple) for one in given):
        if not all(isinstance(one, list | tuple) or shape_of(one) for one in given):
            tracing.refuse(
                "the number of times that a list is repeated depends on records or noise"
            )
    given = [tracing.symbol_of(one) if isinstance(one, list) else one for one in given]
    if all(one.is_public for one in given if isinstance(one, Symbol)):
        return _of_public(tracing, ufunc, given, options or {})
    if ufunc is np.matmul:
        return tracing.rules.call(tracing, np.matmul, tuple(given), options or {})
    rule = _RULES.get(ufunc)
    if rule is None and (made := special.rule_of(ufunc)) is not None:
        rule = _make_composed_rule(made)
    if rule is None and not options and can_call(ufunc, given):
        return call_opaquely(tracing, ufunc, given, {})
    if rule is None or (options and options.keys() - {"dtype", "casting"}):
        tracing.refuse(
            f"no rule covers numpy.{ufunc.__name__} of a value that depends on records or noise"
        )
    dtype = (options or {}).get("dtype")
    operands = [_to_operand(tracing, one) for one in given]
    return rule(tracing, operands, None if dtype is None else np.dtype(dtype))


def _of_public(tracing: SymbolTracing, ufunc: Any, given: Sequence[Any], options: Any) -> Any:
    """Return numpy's result on public numbers, as symbols that can be written into."""
    plain = [
        one.value
        if isinstance(one, Symbol) and one.is_array
        else one.plain("")[()]
        if isinstance(one, Symbol)
        else one
        for one in given
    ]
    found = ufunc(*plain, **options)
    return wrap_arrays(tracing, found)


def wrap_arrays(tracing: SymbolTracing, found: Any) -> Any:
    """Return arrays that numpy made as symbols, and anything else as it is."""
    if isinstance(found, tuple):
        return tuple(wrap_arrays(tracing, one) for one in found)
    if isinstance(found, np.ndarray) and found.dtype.kind in "biuf":
        return tracing.public(found if found.base is None else found.copy(), is_array=True)
    return found


def _to_operand(tracing: SymbolTracing, value: Any) -> Symbol | bool | int | float:
    """Return a number of Python's as it is, and anything else as a symbol."""
    if isinstance(value, Symbol) or type(value) in (bool, int, float):
        return value  # type: ignore[no-any-return]
    return tracing.symbol_of(value)


# --- types and shapes ------------------------------------------------------------------------


def type_of(value: Any) -> Any:
    """Return numpy's type of an operand."""
    if isinstance(value, Symbol):
        return _WEAK.get(value.dtype.kind, value.dtype) if value.is_weak else value.dtype
    return value.dtype if hasattr(value, "dtype") else type(value)


_WEAK: dict[str, Any] = {"f": float, "i": int, "b": bool}


@lru_cache(maxsize=4096)
def resolve_loop_types(
    ufunc: Any, types: tuple[Any, ...], dtype: Any = None
) -> tuple[np.dtype[Any], ...]:
    """Return the types of operands and results of numpy's loop."""
    known = tuple(np.dtype(bool) if one is bool else one for one in types)
    if all(one in (int, float) for one in known):
        known = tuple(np.dtype(one) for one in known)
    given = (*known, *[None] * ufunc.nout)
    if dtype is None:
        return tuple(ufunc.resolve_dtypes(given))
    signature = (*[None] * ufunc.nin, dtype)
    return tuple(ufunc.resolve_dtypes(given, signature=signature))


def broadcast_symbol_shapes(tracing: SymbolTracing, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of an operation on operands; the number of records meets itself or 1."""
    if len(shapes) == 2 and (shapes[0] == shapes[1] or not shapes[1]):
        return shapes[0]
    if not any(None in one for one in shapes):
        return np.broadcast_shapes(*shapes)  # type: ignore[arg-type]
    axes = max(map(len, shapes))
    found = list[int | None]()
    for axis in range(-axes, 0):
        lengths = {one[axis] for one in shapes if len(one) >= -axis} - {1}
        # Whether shapes fit would depend on how many records there are.
        if None in lengths and len(lengths) > 1:
            tracing.refuse(
                "the code combines an array of a fixed length with an array of all records, and "
                "neighbours differ in the number of records"
            )
        if len(lengths) > 1:
            raise ValueError("operands could not be broadcast together")
        found.append(lengths.pop() if lengths else 1)
    if found.count(None) > 1:
        tracing.refuse(
            "the code forms pairs of records, but neighbours differ in the number of records"
        )
    return tuple(found)


def node_of(tracing: SymbolTracing, operand: Any, dtype: np.dtype[Any]) -> int:
    """Return the node of an operand; a number of Python's is of the type of numpy's loop."""
    if isinstance(operand, Symbol):
        return operand.index
    if isinstance(operand, int) and dtype.kind in "iu" and not _is_within_dtype(operand, dtype):
        raise OverflowError(f"Python integer {operand} out of bounds for {dtype}")
    return tracing.constant_node(np.asarray(operand, dtype=dtype))


def _is_within_dtype(number: int, dtype: np.dtype[Any]) -> bool:
    ends = np.iinfo(dtype)
    return int(ends.min) <= number <= int(ends.max)


def shape_of(operand: Any) -> Shape:
    """Return the shape of a symbol or a number."""
    return operand.dims if isinstance(operand, Symbol) else ()


def is_weak(operand: Any) -> bool:
    """Return whether an operand is a number of Python's."""
    return operand.is_weak if isinstance(operand, Symbol) else type(operand) in (bool, int, float)


# --- rules -----------------------------------------------------------------------------------

Rule = Callable[[SymbolTracing, list[Any], Any], Any]


def emit_entrywise(
    tracing: SymbolTracing,
    operation: str,
    operands: Sequence[Any],
    types: Sequence[np.dtype[Any]],
    result: np.dtype[Any],
) -> Symbol:
    """Write an operation on entries one by one."""
    nodes = [node_of(tracing, one, kind) for one, kind in zip(operands, types, strict=True)]
    shape = broadcast_symbol_shapes(tracing, [shape_of(one) for one in operands])
    node = tracing.node(operation, nodes, shape, result, {})
    weak = not shape and all(map(is_weak, operands))
    return Symbol.of_node(
        tracing, node, result, is_weak=weak, is_ordered=all(map(_is_ordered, operands))
    )


def _is_ordered(operand: Any) -> bool:
    """Return whether an operand lies row after row, as far as that is known."""
    return not isinstance(operand, Symbol) or structure.is_ordered(operand)


def _make_direct_rule(operation: str, ufunc: Any, *, is_swapped: bool = False) -> Rule:
    def rule(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
        loop = resolve_loop_types(ufunc, tuple(map(type_of, operands)), dtype)
        types = loop[: ufunc.nin]
        given, kinds = (operands[::-1], types[::-1]) if is_swapped else (operands, types)
        return emit_entrywise(tracing, operation, given, kinds, loop[-1])

    return rule


def _make_arithmetic_rule(operation: str, ufunc: Any, of_truth: str) -> Rule:
    """Return a rule by which truth values are combined, and numbers computed with."""
    of_numbers = _make_direct_rule(operation, ufunc)

    def rule(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
        if resolve_loop_types(ufunc, tuple(map(type_of, operands)), dtype)[-1].kind != "b":
            return of_numbers(tracing, operands, dtype)
        return _make_logical_rule(of_truth, getattr(np, of_truth))(tracing, operands, None)

    return rule


def _emit_product(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    """Return a product; that of a value with itself is a square, of which more is known."""
    one, other = operands
    if isinstance(one, Symbol) and isinstance(other, Symbol) and one.dtype.kind != "b":
        # As a square it is never negative, which a product of two values does not show.
        if one.index == other.index and dtype is None:
            return emit_square(tracing, one)
    return _PRODUCT(tracing, operands, dtype)


def emit_square(tracing: SymbolTracing, symbol: Symbol) -> Symbol:
    """Write the squares of entries."""
    two = symbol.dtype.type(2)
    return emit_entrywise(
        tracing, "power", [symbol, tracing.constant(two)], [symbol.dtype] * 2, symbol.dtype
    )


def _refuse_complex(tracing: SymbolTracing, base: Any, exponent: Any) -> None:
    """Refuse a power by a fraction that is complex where Python's number is below 0."""
    # Python's own ** gives a complex number for a negative base, where numpy gives NaN.
    weak = isinstance(base, Symbol) and base.is_weak and not base.is_public
    known = exponent.value if isinstance(exponent, Symbol) else exponent
    if weak and (known is None or np.any(np.trunc(known) != known)):
        tracing.refuse(
            "the code takes a power of a number that may be below 0",
            "use numpy.sqrt or numpy.power",
        )


def _emit_power(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    """Return a power; numpy has none of whole numbers by those below 0."""
    loop = resolve_loop_types(np.power, tuple(map(type_of, operands)), dtype)
    _refuse_complex(tracing, *operands)
    if loop[-1].kind in "iu":
        exponent = operands[1].value if isinstance(operands[1], Symbol) else operands[1]
        if exponent is None:
            tracing.refuse("the exponent of a power of whole numbers depends on records or noise")
        if np.any(np.less(exponent, 0)):
            raise ValueError("Integers to negative integer powers are not allowed.")
    return _make_direct_rule("power", np.power)(tracing, operands, dtype)


def _make_logical_rule(operation: str, ufunc: Any) -> Rule:
    def rule(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
        truth = [truth_of(tracing, one) for one in operands]
        return emit_entrywise(tracing, operation, truth, [_BOOL] * len(truth), _BOOL)

    return rule


def truth_of(tracing: SymbolTracing, value: Any) -> Any:
    """Return which entries are not 0."""
    if not isinstance(value, Symbol):
        return bool(value)
    return value if value.dtype.kind == "b" else structure.convert_symbol(value, _BOOL)


def _make_bitwise_rule(ufunc: Any, of_truth: str) -> Rule:
    logical = _make_logical_rule(of_truth, getattr(np, of_truth))

    def rule(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
        if resolve_loop_types(ufunc, tuple(map(type_of, operands)), dtype)[-1].kind != "b":
            tracing.refuse(
                f"no rule covers numpy.{ufunc.__name__}, which works on the bits of numbers"
            )
        return logical(tracing, operands, None)

    return rule


def _make_composed_rule(build: Callable[..., Any]) -> Rule:
    """Return a rule that is written with numpy's own operators, for doubles."""

    def rule(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
        symbols = [one if isinstance(one, Symbol) else tracing.constant(one) for one in operands]
        return build(*map(_as_double, symbols))

    return rule


def _as_double(symbol: Symbol) -> Symbol:
    if symbol.dtype.kind == "f":
        return symbol
    return structure.convert_symbol(symbol, np.dtype(np.float64))


def _floor_divide(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    loop = resolve_loop_types(np.floor_divide, tuple(map(type_of, operands)), dtype)
    if loop[-1].kind not in "iuf":
        tracing.refuse("no rule covers numpy.floor_divide of truth values")
    quotient = _make_direct_rule("divide", np.true_divide)(tracing, operands, None)
    node = tracing.node("floor", (quotient.index,), quotient.dims, loop[-1], {})
    return Symbol.of_node(tracing, node, loop[-1], is_weak=quotient.is_weak)


def _emit_divmod(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    return (
        apply_ufunc_rule(tracing, np.floor_divide, operands),
        apply_ufunc_rule(tracing, np.remainder, operands),
    )


def _copy_operand(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    return structure.copy_symbol(operands[0])


def _emit_converted_square(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    kind = resolve_loop_types(np.square, (type_of(operands[0]),), dtype)[-1]
    return emit_square(tracing, structure.convert_symbol(operands[0], kind))


def _emit_reciprocal(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    if operands[0].dtype.kind != "f":
        tracing.refuse("numpy.reciprocal of whole numbers is 0")
    return apply_ufunc_rule(tracing, np.true_divide, [1.0, operands[0]])


def _differs_from_itself(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    """Return that a number is none, or infinite: never, unless a rule refuses the number."""
    one = require_finite(tracing, operands[0])
    return emit_entrywise(tracing, "not_equal", [one, one], [one.dtype] * 2, _BOOL)


def _equals_itself(tracing: SymbolTracing, operands: list[Any], dtype: Any) -> Any:
    one = require_finite(tracing, operands[0])
    return emit_entrywise(tracing, "equal", [one, one], [one.dtype] * 2, _BOOL)


def _compose_hypot(one: Any, other: Any) -> Any:
    return np.sqrt(one**2 + other**2)


def _compose_logaddexp(one: Any, other: Any) -> Any:
    return np.maximum(one, other) + np.log1p(np.exp(-np.abs(one - other)))


def _compose_copysign(one: Any, other: Any) -> Any:
    return np.where(require_sign(other) < 0, -np.abs(one), np.abs(one))


def _compose_heaviside(one: Any, other: Any) -> Any:
    return np.where(one < 0, 0.0, np.where(one > 0, 1.0, other))


def _compose_fmod(one: Any, other: Any) -> Any:
    return one - other * np.trunc(one / other)


_BOOL = np.dtype(np.bool_)
_PRODUCT = _make_arithmetic_rule("multiply", np.multiply, "logical_and")
_SAME = (
    "minimum maximum remainder less less_equal equal not_equal negative sqrt exp expm1 log log1p "
    "sin cos tan arctan tanh sign floor ceil rint trunc absolute subtract"
).split()
_RULES: dict[Any, Rule] = {
    **{getattr(np, name): _make_direct_rule(name, getattr(np, name)) for name in _SAME},
    np.add: _make_arithmetic_rule("add", np.add, "logical_or"),
    np.multiply: _emit_product,
    np.power: _emit_power,
    np.true_divide: _make_direct_rule("divide", np.true_divide),
    np.float_power: _make_direct_rule("power", np.float_power),
    np.fmin: _make_direct_rule("minimum", np.fmin),
    np.fmax: _make_direct_rule("maximum", np.fmax),
    np.fabs: _make_direct_rule("absolute", np.fabs),
    np.greater: _make_direct_rule("less", np.greater, is_swapped=True),
    np.greater_equal: _make_direct_rule("less_equal", np.greater_equal, is_swapped=True),
    **{
        getattr(np, name): _make_logical_rule(name, getattr(np, name))
        for name in ("logical_and", "logical_or", "logical_xor", "logical_not")
    },
    np.bitwise_and: _make_bitwise_rule(np.bitwise_and, "logical_and"),
    np.bitwise_or: _make_bitwise_rule(np.bitwise_or, "logical_or"),
    np.bitwise_xor: _make_bitwise_rule(np.bitwise_xor, "logical_xor"),
    np.invert: _make_bitwise_rule(np.invert, "logical_not"),
    np.floor_divide: _floor_divide,
    np.divmod: _emit_divmod,
    np.positive: _copy_operand,
    np.conjugate: _copy_operand,
    np.square: _emit_converted_square,
    np.reciprocal: _emit_reciprocal,
    np.isnan: _differs_from_itself,
    np.isinf: _differs_from_itself,
    np.isfinite: _equals_itself,
    np.hypot: _make_composed_rule(_compose_hypot),
    np.logaddexp: _make_composed_rule(_compose_logaddexp),
    np.copysign: _make_composed_rule(_compose_copysign),
    np.heaviside: _make_composed_rule(_compose_heaviside),
    np.fmod: _make_composed_rule(_compose_fmod),
    np.exp2: _make_composed_rule(lambda one: np.power(2.0, one)),
    np.log2: _make_composed_rule(lambda one: np.log(one) / math.log(2.0)),
    np.log10: _make_composed_rule(lambda one: np.log(one) / math.log(10.0)),
    np.deg2rad: _make_composed_rule(lambda one: one * (math.pi / 180.0)),
    np.radians: _make_composed_rule(lambda one: one * (math.pi / 180.0)),
    np.rad2deg: _make_composed_rule(lambda one: one * (180.0 / math.pi)),
    np.degrees: _make_composed_rule(lambda one: one * (180.0 / math.pi)),
}


# --- methods of universal functions ----------------------------------------------------------


def _by_method(
    tracing: SymbolTracing, ufunc: Any, method: str, given: Any, options: Any, into: Any
) -> Any:
    if options["where"] is True:
        del options["where"]
    if method == "at":
        return _add_at_entries(tracing, ufunc, *given)
    function = _METHODS.get((ufunc, method))
    if function is None or (method == "outer" and options):
        tracing.refuse(f"no rule covers numpy.{ufunc.__name__}.{method}")
    if method == "outer":
        one, other = (tracing.symbol_of(each) for each in given)
        spread = structure.reshape_symbol(one, one.dims + (1,) * other.ndim)
        found = apply_ufunc_rule(tracing, ufunc, [spread, other])
    else:
        if len(given) > 1:
            options.update(zip(("axis", "dtype"), given[1:], strict=False))
        found = tracing.rules.call(tracing, function, given[:1], {"axis": 0, **options})
    return found if into is None else write_result(tracing, into, found)


def _add_at_entries(tracing: SymbolTracing, ufunc: Any, target: Any, key: Any, *value: Any) -> None:
    """Add to entries one after another, so that one that is named twice is changed twice."""
    if (
        not isinstance(target, Symbol)
        or ufunc not in (np.add, np.subtract)
        or (holds_symbol(key) and not key.is_public)
    ):
        tracing.refuse(f"no rule covers numpy.{ufunc.__name__}.at", "use numpy.bincount")
    at = np.arange(math.prod(one or 0 for one in target.dims)).reshape(
        tuple(one or 0 for one in target.dims)
    )[structure.plain_key(key)]
    # `at` adds once for each time that an entry is named; the assignment below adds once.
    if None in target.dims or len(np.unique(at)) != at.size:
        tracing.refuse(f"numpy.{ufunc.__name__}.at names an entry twice", "use numpy.bincount")
    target[key] = apply_ufunc_rule(tracing, ufunc, [target[key], *value])


_METHODS: dict[Any, Any] = {
    (np.add, "reduce"): np.sum,
    (np.add, "accumulate"): np.cumsum,
    (np.multiply, "reduce"): np.prod,
    (np.minimum, "reduce"): np.min,
    (np.maximum, "reduce"): np.max,
    (np.logical_or, "reduce"): np.any,
    (np.logical_and, "reduce"): np.all,
    **{(one, "outer"): one for one in (np.add, np.subtract, np.multiply, np.true_divide)},
    **{(one, "outer"): one for one in (np.less, np.less_equal, np.greater, np.greater_equal)},
    **{(one, "outer"): one for one in (np.equal, np.minimum, np.maximum)},
}
