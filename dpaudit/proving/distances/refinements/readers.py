"""Operations on arrays of polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.proving.distances.refinements.polynomials import (
    ONE,
    AtomPolynomial,
    AtomTable,
    Rational,
    add_all,
    make_constant_polynomial,
)
from dpaudit.proving.distances.refinements.symbols import (
    MOST_ENTRIES,
    MOST_RECORDS,
    Entries,
    PolynomialArray,
    Summation,
    Unread,
    build_entries,
)
from dpaudit.proving.program import Node, open_mesh

# Entry by entry


def _align_symbols(operands: Sequence[PolynomialArray]) -> tuple[list[Entries], int | None]:
    """Return arrays that broadcast to one shape, and where that has the axis of records."""
    depth = max(one.entries.ndim for one in operands)
    # Broadcasting aligns axes at their ends, so shorter arrays are counted from the right.
    places = {one.axis + depth - one.entries.ndim for one in operands if one.axis is not None}
    if len(places) > 1:
        raise Unread
    axis = places.pop() if places else None
    if axis is None:
        return [one.entries for one in operands], None
    return [
        one.entries if one.axis is not None else _squeeze_records(one, axis - depth)
        for one in operands
    ], axis


def _squeeze_records(symbols: PolynomialArray, axis: int) -> Entries:
    """Return an array that is the same for all records as one row."""
    entries = symbols.entries
    if entries.ndim < -axis or entries.shape[axis] == 1:
        return entries
    # Without rows, nothing says what one row would hold.
    if not entries.shape[axis]:
        raise Unread
    first: Entries = np.take(entries, [0], axis=axis)
    if not all(
        a == b
        for a, b in zip(entries.flat, np.broadcast_to(first, entries.shape).flat, strict=True)
    ):
        raise Unread
    return first


def _make_entrywise_reader(
    function: Callable[..., AtomPolynomial],
) -> Callable[..., PolynomialArray]:
    def read(reading: Summation, node: Node, operands: list[PolynomialArray]) -> PolynomialArray:
        arrays, axis = _align_symbols(operands)
        if axis is not None and node.shape[axis] != reading.count:
            raise Unread  # one record that broadcasting repeats stands in several rows
        together = np.broadcast_arrays(*arrays)
        return PolynomialArray(
            build_entries(
                together[0].shape,
                lambda place: function(reading.table, *(a[place] for a in together)),
            ),
            axis,
        )

    return read


def _make_function_reader(
    name: str, exactly: Callable[..., Any] | None = None
) -> Callable[..., AtomPolynomial]:
    """Return a reader of a function: exact of constants, where that can be, an atom elsewhere."""

    def read(table: AtomTable, *operands: AtomPolynomial) -> AtomPolynomial:
        numbers = [one.constant for one in operands]
        # Functions without an exact version, such as exp, stay atoms even of constants: a
        # rational would claim digits that the program's double does not have.
        if exactly is not None and all(one is not None for one in numbers):
            return make_constant_polynomial(exactly(*numbers))
        return table.enter(name, operands)

    return read


def _read_divide(table: AtomTable, one: AtomPolynomial, other: AtomPolynomial) -> AtomPolynomial:
    number = other.constant
    if number is None:
        return one * table.enter("reciprocal", (other,))
    if number == 0:
        raise Unread
    return one.scale(Fraction(1) / number)


def _read_power(table: AtomTable, base: AtomPolynomial, exponent: AtomPolynomial) -> AtomPolynomial:
    number = exponent.constant
    if number == Fraction(1, 2):
        return table.enter("sqrt", (base,))
    # A power is expanded, and the number of its terms grows with the exponent.
    if number is None or Fraction(number).denominator != 1 or not -8 <= number <= 8:
        raise Unread
    base = base if number >= 0 else _read_divide(table, ONE, base)
    return math.prod([base] * abs(int(number)), start=ONE)


def _make_comparison_reader(
    name: str, exactly: Callable[[Rational], bool]
) -> Callable[..., AtomPolynomial]:
    """Return a reader of a comparison: known where the difference is a constant."""

    def read(table: AtomTable, one: AtomPolynomial, other: AtomPolynomial) -> AtomPolynomial:
        # Values that are formed alike cancel: x + 1 < x + 2 is decided, whatever x is.
        difference = (one - other).constant
        if difference is not None:
            return make_constant_polynomial(exactly(difference))
        return table.enter(name, (one, other))

    return read


def _choose_extreme(name: str, function: Callable[..., Rational]) -> Callable[..., AtomPolynomial]:
    apply = _make_function_reader(name, function)

    def read(table: AtomTable, one: AtomPolynomial, other: AtomPolynomial) -> AtomPolynomial:
        # Both sides are one value, so no tie can hide a choice.
        return one if one == other else apply(table, one, other)

    return read


def _read_where(
    table: AtomTable, condition: AtomPolynomial, one: AtomPolynomial, other: AtomPolynomial
) -> AtomPolynomial:
    number = condition.constant
    if number is not None:
        return one if number else other
    return one if one == other else table.enter("where", (condition, one, other))


_equal = _make_comparison_reader("equal", lambda difference: difference == 0)


def _not_equal(table: AtomTable, one: AtomPolynomial, other: AtomPolynomial) -> AtomPolynomial:
    return ONE - _equal(table, one, other)


# Along axes


def _sort_axes(axis: Any, depth: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(depth))
    chosen = axis if isinstance(axis, list | tuple) else [axis]
    return tuple(sorted(one % depth for one in chosen))


def _reduce_symbols(
    symbols: PolynomialArray,
    axes: tuple[int, ...],
    fold: Callable[[list[AtomPolynomial]], AtomPolynomial],
) -> PolynomialArray:
    """Fold entries along axes, which are lost."""
    rest = [one for one in range(symbols.entries.ndim) if one not in axes]
    moved = symbols.entries.transpose([*rest, *axes])
    shape = moved.shape[: len(rest)]
    flat = moved.reshape(*shape, -1) if moved.size else moved.reshape(*shape, 0)
    entries = build_entries(shape, lambda place: fold(list(flat[place])))
    return PolynomialArray(entries, rest.index(symbols.axis) if symbols.axis in rest else None)


def _read_sum(reading: Summation, node: Node, operands: list[PolynomialArray]) -> PolynomialArray:
    symbols = operands[0]
    axes = _sort_axes(node.parameters["axis"], symbols.entries.ndim)
    if symbols.axis not in axes:
        return _reduce_symbols(symbols, axes, add_all)
    return _reduce_symbols(symbols, axes, lambda several: reading.sum_records(add_all(several)))


def _read_mean(reading: Summation, node: Node, operands: list[PolynomialArray]) -> PolynomialArray:
    symbols = operands[0]
    axes = _sort_axes(node.parameters["axis"], symbols.entries.ndim)
    count = math.prod(symbols.entries.shape[one] for one in axes)
    if symbols.axis in axes:
        if reading.count is None:
            raise Unread
        count *= reading.count
    if count == 0:
        raise Unread
    total = _read_sum(reading, node, operands)
    entries = build_entries(
        total.entries.shape, lambda place: total.entries[place].scale(Fraction(1, count))
    )
    return PolynomialArray(entries, total.axis)


def _read_prod(_reading: Summation, node: Node, operands: list[PolynomialArray]) -> PolynomialArray:
    symbols = operands[0]
    axes = _sort_axes(node.parameters["axis"], symbols.entries.ndim)
    # A mean over an unknown number of records divides by a private number.
    if symbols.axis in axes:
        raise Unread
    return _reduce_symbols(symbols, axes, lambda several: math.prod(several, start=ONE))


def _read_cumsum(
    _reading: Summation, node: Node, operands: list[PolynomialArray]
) -> PolynomialArray:
    symbols, axis = operands[0], node.parameters["axis"]
    # A running sum along the records gives every record another share in every entry, so the
    # rows are not alike.
    if not isinstance(axis, int) or symbols.axis == axis % symbols.entries.ndim:
        raise Unread
    return PolynomialArray(
        np.add.accumulate(symbols.entries, axis=axis, dtype=object), symbols.axis
    )


# Order


def _order_statistic(reading: Summation, inner: AtomPolynomial, place: int) -> AtomPolynomial:
    """Return the number at a place, from 0, of a sorted column of alike functions of records."""
    # The theorem of order statistics needs numbers that depend on one record each.
    if not reading.is_of_row_alone(inner):
        raise Unread
    return reading.table.enter("order", (inner,), place)


def _along_records(reading: Summation, node: Node, symbols: PolynomialArray) -> int:
    """Return the number of records, where an operation goes along them and nothing else."""
    # Sorting gives one atom for each record, and thousands of them would use up the effort of a
    # question before any bound is found.
    if reading.count is None or symbols.axis is None or reading.count > 10 * MOST_RECORDS:
        raise Unread
    if _sort_axes(node.parameters["axis"], symbols.entries.ndim) != (symbols.axis,):
        raise Unread
    return reading.count


def _make_extreme_reader(name: str) -> Callable[..., PolynomialArray]:
    def read(reading: Summation, node: Node, operands: list[PolynomialArray]) -> PolynomialArray:
        symbols = operands[0]
        axes = _sort_axes(node.parameters["axis"], symbols.entries.ndim)
        if symbols.axis in axes:
            count = _along_records(reading, node, symbols)
            place = count - 1 if name == "maximum" else 0
            return _reduce_symbols(
                symbols, axes, lambda several: _order_statistic(reading, several[0], place)
            )
        # A fold of maxima is nested as deep as it has entries, and every level branches in the
        # search.
        if math.prod(symbols.entries.shape[one] for one in axes) > 8:
            raise Unread
        return _reduce_symbols(
            symbols, axes, lambda several: _fold_polynomials(EXTREMES[name], reading, several)
        )

    return read


def _fold_polynomials(
    function: Callable[..., AtomPolynomial], reading: Summation, several: list[AtomPolynomial]
) -> AtomPolynomial:
    if not several:
        raise Unread
    result = several[0]
    for one in several[1:]:
        result = function(reading.table, result, one)
    return result


def _read_quantile(
    reading: Summation, node: Node, operands: list[PolynomialArray]
) -> PolynomialArray:
    """Read a quantile that is interpolated linearly; of an even number, a median is one."""
    q = node.parameters.get("q", 0.5)
    if node.parameters.get("method", "linear") != "linear" or not isinstance(q, int | float):
        raise Unread
    count = _along_records(reading, node, operands[0])
    # numpy interpolates at q (n - 1), between the two numbers of the sorted column around it.
    place = Fraction(q) * (count - 1)
    if not 0 <= place <= count - 1:
        raise Unread
    low = math.floor(place)
    share = place - low

    def read(several: list[AtomPolynomial]) -> AtomPolynomial:
        first = _order_statistic(reading, several[0], low).scale(1 - share)
        if share == 0:
            return first
        return first + _order_statistic(reading, several[0], low + 1).scale(share)

    return _reduce_symbols(operands[0], (operands[0].axis or 0,), read)


def _read_sort(reading: Summation, node: Node, operands: list[PolynomialArray]) -> PolynomialArray:
    symbols = operands[0]
    count = _along_records(reading, node, symbols)
    axis = symbols.axis or 0
    shape = tuple(count if k == axis else n for k, n in enumerate(symbols.entries.shape))

    def read(place: tuple[int, ...]) -> AtomPolynomial:
        row = tuple(0 if k == axis else one for k, one in enumerate(place))
        return _order_statistic(reading, symbols.entries[row], place[axis])

    return PolynomialArray(build_entries(shape, read))


# Where entries stand


def _read_take(reading: Summation, node: Node, operands: list[PolynomialArray]) -> PolynomialArray:
    symbols, key = operands[0], list(node.parameters["key"])
    if not key:  # one number, of which numpy would take the object out
        return symbols
    if symbols.axis is not None and key[symbols.axis] is not None:
        # Only all rows in their order are still one row for each record.
        if list(key[symbols.axis]) != list(range(reading.count or 0)) or reading.count is None:
            raise Unread
        key[symbols.axis] = None
    return PolynomialArray(symbols.entries[open_mesh(key, symbols.entries.shape)], symbols.axis)


def _read_assign(
    _reading: Summation, node: Node, operands: list[PolynomialArray]
) -> PolynomialArray:
    if any(one.axis is not None for one in operands):
        raise Unread
    entries = operands[0].entries.copy()
    entries[open_mesh(node.parameters["key"], entries.shape)] = operands[1].entries
    return PolynomialArray(entries)


def _read_reshape(
    reading: Summation, node: Node, operands: list[PolynomialArray]
) -> PolynomialArray:
    symbols, shape = operands[0], node.shape
    if symbols.axis is None:
        return PolynomialArray(symbols.entries.reshape([one or 0 for one in shape]))
    before = math.prod(symbols.entries.shape[: symbols.axis])
    rest = math.prod(symbols.entries.shape[symbols.axis + 1 :])
    for axis, length in enumerate(shape):
        first, last = shape[:axis], shape[axis + 1 :]
        # The records keep their axis only if equally many entries stand before and behind it;
        # elsewhere a reshape would mix entries of different records.
        known = None not in first and None not in last
        if (
            length == reading.count
            and known
            and _count_product_entries(first) == before
            and _count_product_entries(last) == rest
        ):
            new = [one or 0 for one in (*first, 1, *last)]
            return PolynomialArray(symbols.entries.reshape(new), axis)
    raise Unread


def _count_product_entries(shape: Sequence[int | None]) -> int:
    return math.prod(one or 0 for one in shape)


def _read_broadcast(
    reading: Summation, node: Node, operands: list[PolynomialArray]
) -> PolynomialArray:
    symbols = operands[0]
    if symbols.axis is None:
        if None in node.shape or _count_product_entries(node.shape) > MOST_ENTRIES:
            raise Unread
        return PolynomialArray(
            np.broadcast_to(symbols.entries, [one or 0 for one in node.shape]).copy()
        )
    axis = symbols.axis + len(node.shape) - symbols.entries.ndim
    if node.shape[axis] != reading.count:
        raise Unread
    shape = [1 if k == axis else one or 0 for k, one in enumerate(node.shape)]
    return PolynomialArray(np.broadcast_to(symbols.entries, shape).copy(), axis)


def _read_transpose(
    _reading: Summation, node: Node, operands: list[PolynomialArray]
) -> PolynomialArray:
    symbols = operands[0]
    axes = node.parameters["axes"]
    order = list(axes) if axes is not None else list(range(symbols.entries.ndim))[::-1]
    order = [one % symbols.entries.ndim for one in order]
    axis = None if symbols.axis is None else order.index(symbols.axis)
    return PolynomialArray(symbols.entries.transpose(order), axis)


def _read_concatenate(
    _reading: Summation, node: Node, operands: list[PolynomialArray]
) -> PolynomialArray:
    axis = node.parameters["axis"] % max(operands[0].entries.ndim, 1)
    places = {one.axis for one in operands}
    # Rows that are joined end to end are twice as many as there are records.
    if len(places) > 1 or axis in places:
        raise Unread
    return PolynomialArray(
        np.concatenate([one.entries for one in operands], axis=axis), places.pop()
    )


def _read_matmul(
    reading: Summation, _node: Node, operands: list[PolynomialArray]
) -> PolynomialArray:
    one, other = operands
    if max(one.entries.ndim, other.entries.ndim) > 2 or 0 in (one.entries.ndim, other.entries.ndim):
        raise Unread
    if not one.entries.size or not other.entries.size:
        raise Unread
    left = one.entries.reshape(-1, one.entries.shape[-1])
    right = other.entries.reshape(other.entries.shape[0], -1)
    left_contracts, right_contracts = one.axis == one.entries.ndim - 1, other.axis == 0
    # A product that adds up along the records of one factor alone meets an axis of another
    # meaning.
    if left_contracts != right_contracts and (one.axis is not None or other.axis is not None):
        if left_contracts or right_contracts:
            raise Unread
    if left.shape[1] != right.shape[0]:
        raise Unread

    def read(place: tuple[int, ...]) -> AtomPolynomial:
        total = add_all(a * b for a, b in zip(left[place[0]], right[:, place[1]], strict=True))
        return reading.sum_records(total) if left_contracts else total

    whole = build_entries((left.shape[0], right.shape[1]), read)
    shape = one.entries.shape[:-1] + other.entries.shape[1:]
    axis = None
    if not left_contracts:
        axis = 0 if one.axis == 0 else len(shape) - 1 if other.axis == 1 else None
        # An outer product of records with records has two axes of records.
        if one.axis is not None and other.axis is not None:
            raise Unread
    return PolynomialArray(whole.reshape(shape), axis)


TRUTHS = frozenset(
    "less less_equal equal not_equal logical_and logical_or logical_not take assign reshape "
    "broadcast transpose concatenate where".split()
)
"""What is read of truth values; sums of them as such are no sums of numbers."""
EXTREMES: dict[str, Callable[..., AtomPolynomial]] = {
    "maximum": _choose_extreme("maximum", max),
    "minimum": _choose_extreme("minimum", min),
}
ENTRYWISE: dict[str, Callable[..., AtomPolynomial]] = {
    "add": lambda _table, one, other: one + other,
    "subtract": lambda _table, one, other: one - other,
    "multiply": lambda _table, one, other: one * other,
    "negative": lambda _table, one: -one,
    "divide": _read_divide,
    "power": _read_power,
    **EXTREMES,
    "less": _make_comparison_reader("less", lambda difference: difference < 0),
    "less_equal": _make_comparison_reader("less_equal", lambda difference: difference <= 0),
    "equal": _equal,
    "not_equal": _not_equal,
    "logical_and": _make_function_reader(
        "logical_and", lambda one, other: bool(one) and bool(other)
    ),
    "logical_or": _make_function_reader("logical_or", lambda one, other: bool(one) or bool(other)),
    "logical_not": _make_function_reader("logical_not", lambda one: not one),
    "where": _read_where,
    "absolute": _make_function_reader("absolute", abs),
    "sign": _make_function_reader("sign", lambda one: (one > 0) - (one < 0)),
    "floor": _make_function_reader("floor", math.floor),
    "ceil": _make_function_reader("ceil", math.ceil),
    "rint": _make_function_reader("rint", round),
    "trunc": _make_function_reader("trunc", math.trunc),
    **{
        name: _make_function_reader(name)
        for name in ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "arctan", "tanh")
    },
}
READERS: dict[str, Callable[[Summation, Node, list[PolynomialArray]], PolynomialArray]] = {
    **{name: _make_entrywise_reader(function) for name, function in ENTRYWISE.items()},
    "sum": _read_sum,
    "mean": _read_mean,
    "prod": _read_prod,
    "cumsum": _read_cumsum,
    "max": _make_extreme_reader("maximum"),
    "min": _make_extreme_reader("minimum"),
    "median": _read_quantile,
    "quantile": _read_quantile,
    "sort": _read_sort,
    "take": _read_take,
    "assign": _read_assign,
    "reshape": _read_reshape,
    "broadcast": _read_broadcast,
    "transpose": _read_transpose,
    "concatenate": _read_concatenate,
    "matmul": _read_matmul,
}
"""How an operation of a program is read, by name."""
