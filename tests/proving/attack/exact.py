"""The judge of suspects: a program on one dataset, in fractions where they do, else in balls.

An entry is a `Fraction`; a ball of `flint.arb` once a root, an exponential or the like was taken;
or a double where it is infinite or none, as numpy has it. It shares nothing with the evaluators of
doubles.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cmp_to_key, reduce
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dpaudit.proving.program import Node, PathProgram

DIGITS = 50
Entry: TypeAlias = Any
Entries = NDArray[Any]


class Undecided(ArithmeticError):
    """So many digits do not tell."""


def evaluate_exact(
    program: PathProgram, index: int, data: Mapping[str, Any], draws: Sequence[Any]
) -> dict[int, Entries]:
    """Return the entries of a node, and of those that it needs, on one dataset.

    Raises
    ------
    Undecided
        Balls overlap where one is to be less.
    """
    values: dict[int, Entries] = {}
    with ctx.workdps(DIGITS):
        for number in program.slice(index):
            node = program.nodes[number]
            found = _value(node, [values[one] for one in node.operands], data, draws)
            values[number] = _as_truth(found) if node.dtype == "bool" else found
    return values


def to_entries(value: Any) -> Entries:
    """Return an array of entries from numbers."""
    given = np.asarray(value)
    found = np.empty(given.shape, dtype=object)
    for place in np.ndindex(given.shape):
        found[place] = to_entry(given[place].item())
    return found


def to_entry(number: float) -> Entry:
    """Return a number as an entry."""
    return Fraction(number) if math.isfinite(number) else float(number)


def to_double(entry: Entry) -> float:
    """Return a double near an entry."""
    return float(entry.mid()) if isinstance(entry, arb) else float(entry)


def is_above(one: Entry, other: Entry) -> bool:
    """Return whether one is larger for certain."""
    if _is_special(one) or _is_special(other):
        return to_double(one) > to_double(other)
    if isinstance(one, arb) or isinstance(other, arb):
        return bool(to_ball(one) > to_ball(other))
    return bool(one > other)


def to_ball(entry: Entry) -> arb:
    """Return a ball that holds an entry."""
    if isinstance(entry, arb):
        return entry
    whole = Fraction(entry)
    return arb(fmpq(whole.numerator, whole.denominator))


def _value(
    node: Node, operands: list[Entries], data: Mapping[str, Any], draws: Sequence[Any]
) -> Entries:
    given, operation = node.parameters, node.operation
    if operation == "data":
        return to_entries(data[given["part"]])
    if operation == "size":
        return to_entries(len(next(iter(data.values()))))
    if operation == "constant":
        return to_entries(given["value"])
    if operation == "draw":
        return to_entries(draws[given["number"]])
    if operation == "decide":
        return operands[0]
    if operation in SCALAR:
        return _as_array(np.frompyfunc(SCALAR[operation], len(operands), 1)(*operands))
    if operation == "broadcast":
        records = len(next(iter(data.values())))
        return np.broadcast_to(operands[0], [records if n is None else n for n in node.shape])
    return _as_array(WHOLE[operation](*operands, **given))


def _as_truth(value: Entries) -> Entries:
    """Return truth values as numbers, of sums of them as well."""
    return _as_array(np.frompyfunc(lambda entry: Fraction(bool(entry != 0)), 1, 1)(value))


def _as_array(value: Any) -> Entries:
    found = np.empty((), dtype=object)
    if isinstance(value, np.ndarray):
        return value
    found[()] = value
    return found


# --- functions of entries


def _is_special(entry: Entry) -> bool:
    return isinstance(entry, float)


def _arithmetic(exact: Callable[..., Entry], double: Callable[..., Any]) -> Callable[..., Entry]:
    """Return a function that is exact on finite entries, and of numpy on others."""

    def apply(*entries: Entry) -> Entry:
        if any(map(_is_special, entries)):
            with np.errstate(all="ignore"):
                return to_entry(float(double(*map(to_double, entries))))
        if any(isinstance(one, arb) for one in entries):
            return exact(*map(to_ball, entries))
        return exact(*entries)

    return apply


def _divide(one: Any, other: Any) -> Entry:
    if isinstance(other, arb):
        if 0 in other:
            raise Undecided
        return one / other
    if other == 0:
        return math.nan if one == 0 else math.copysign(math.inf, one)
    return one / other


def _compare(one: Entry, other: Entry) -> int:
    """Return the sign of a difference."""
    if isinstance(one, arb) or isinstance(other, arb):
        left, right = to_ball(one), to_ball(other)
        if left > right or left < right:
            return 1 if left > right else -1
        if left.is_exact() and right.is_exact():
            return 0
        raise Undecided
    return int(one > other) - int(one < other)


def _truth(condition: Callable[[int], bool]) -> Callable[..., Entry]:
    def apply(one: Entry, other: Entry) -> Entry:
        if any(_is_special(entry) and math.isnan(entry) for entry in (one, other)):
            return Fraction(condition(2))
        if _is_special(one) or _is_special(other):
            one, other = to_double(one), to_double(other)
        return Fraction(condition(_compare(one, other)))

    return apply


def _larger(sign: int) -> Callable[..., Entry]:
    def apply(one: Entry, other: Entry) -> Entry:
        for entry in (one, other):
            if _is_special(entry) and math.isnan(entry):
                return math.nan
        if _is_special(one) or _is_special(other):
            difference = _compare(to_double(one), to_double(other))
        elif isinstance(one, arb) or isinstance(other, arb):
            left, right = to_ball(one), to_ball(other)
            return left.max(right) if sign > 0 else left.min(right)
        else:
            difference = _compare(one, other)
        return one if sign * difference >= 0 else other

    return apply


def _rounded(function: Callable[[Fraction], int]) -> Callable[..., Entry]:
    def apply(entry: Entry) -> Entry:
        if _is_special(entry):
            return entry
        if isinstance(entry, arb):
            ends = [Fraction(str(fmpq(*_pair(one)))) for one in (entry.lower(), entry.upper())]
            found = {function(one) for one in ends}
            if len(found) > 1:
                raise Undecided
            return Fraction(found.pop())
        return Fraction(function(entry))

    return apply


def _pair(ball: arb) -> tuple[int, int]:
    mantissa, exponent = ball.man_exp()
    number = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return number.numerator, number.denominator


def _transcendental(name: str, double: Callable[..., Any]) -> Callable[..., Entry]:
    def apply(entry: Entry) -> Entry:
        if _is_special(entry) or (name in _POLES and not _POLES[name](entry)):
            with np.errstate(all="ignore"):
                return to_entry(float(double(to_double(entry))))
        return getattr(to_ball(entry), name)()

    return apply


_POLES: dict[str, Callable[[Entry], bool]] = {
    "log": lambda entry: is_above(entry, Fraction(0)),
    "log1p": lambda entry: is_above(entry, Fraction(-1)),
    "sqrt": lambda entry: not is_above(Fraction(0), entry),
}


def _sqrt(entry: Entry) -> Entry:
    """Return a root, a fraction where it is one."""
    if isinstance(entry, Fraction) and entry >= 0:
        root = Fraction(math.isqrt(entry.numerator), math.isqrt(entry.denominator))
        if root * root == entry:
            return root
    if isinstance(entry, arb) and not entry > 0:
        raise Undecided
    return _transcendental("sqrt", np.sqrt)(entry)


def _remainder(one: Entry, other: Entry) -> Entry:
    if _is_special(one) or _is_special(other) or other == 0:
        return to_entry(float(np.remainder(to_double(one), to_double(other))))
    quotient = _rounded(math.floor)(SCALAR["divide"](one, other))
    return SCALAR["subtract"](one, SCALAR["multiply"](other, quotient))


def _power(one: Entry, other: Entry) -> Entry:
    if isinstance(one, Fraction) and isinstance(other, Fraction) and other.denominator == 1:
        if abs(other) < 64 and not (one == 0 and other < 0):
            return Fraction(one**other)
    if other == Fraction(1, 2):
        return _sqrt(one)
    if _is_special(one) or _is_special(other):
        return to_entry(float(np.power(to_double(one), to_double(other))))
    is_whole = isinstance(other, Fraction) and other.denominator == 1
    if isinstance(one, arb) and is_whole and 0 < other < 64:  # also where the ball holds 0
        return math.prod([one] * int(other), start=arb(1))
    if not is_above(one, Fraction(0)):
        return to_entry(float(np.power(to_double(one), to_double(other))))
    return to_ball(one) ** to_ball(other)


def _where(condition: Entry, one: Entry, other: Entry) -> Entry:
    return one if condition != 0 else other


def _logical(function: Callable[[bool, bool], bool]) -> Callable[..., Entry]:
    return lambda one, other: Fraction(function(one != 0, other != 0))


def _sign(entry: Entry) -> Entry:
    if _is_special(entry):
        return to_entry(float(np.sign(entry)))
    return Fraction(_compare(entry, Fraction(0)))


SCALAR: dict[str, Callable[..., Entry]] = {
    "add": _arithmetic(operator.add, np.add),
    "subtract": _arithmetic(operator.sub, np.subtract),
    "multiply": _arithmetic(operator.mul, np.multiply),
    "divide": _arithmetic(_divide, np.divide),
    "negative": _arithmetic(operator.neg, np.negative),
    "absolute": _arithmetic(abs, np.absolute),
    "minimum": _larger(-1),
    "maximum": _larger(1),
    "less": _truth(lambda sign: sign == -1),
    "less_equal": _truth(lambda sign: sign in (-1, 0)),
    "equal": _truth(lambda sign: sign == 0),
    "not_equal": _truth(lambda sign: sign != 0),
    "logical_and": _logical(operator.and_),
    "logical_or": _logical(operator.or_),
    "logical_xor": _logical(operator.xor),
    "logical_not": lambda entry: Fraction(entry == 0),
    "remainder": _remainder,
    "power": _power,
    "where": _where,
    "sign": _sign,
    "sqrt": _sqrt,
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "rint": _rounded(round),
    "trunc": _rounded(math.trunc),
    **{
        name: _transcendental(ball, getattr(np, name))
        for name, ball in (
            ("exp", "exp"),
            ("expm1", "expm1"),
            ("log", "log"),
            ("log1p", "log1p"),
            ("sin", "sin"),
            ("cos", "cos"),
            ("tan", "tan"),
            ("arctan", "atan"),
            ("tanh", "tanh"),
        )
    },
}


# --- functions of arrays


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction along axes, or all of them."""

    def apply(value: Entries, axis: Any, **given: Any) -> Any:
        axes = range(value.ndim) if axis is None else np.atleast_1d(axis) % value.ndim
        left = [one for one in range(value.ndim) if one not in list(axes)]
        shape = [value.shape[one] for one in left]
        moved = np.moveaxis(value, left, range(len(left))) if left else value
        found = np.empty(shape, dtype=object)
        for place in np.ndindex(*shape):
            found[place] = function(
                list(moved[place].ravel()) if left else list(moved.ravel()), **given
            )
        return found

    return apply


def _in_order(function: Callable[[list[Any]], list[Any]]) -> Callable[..., Any]:
    """Return a function from entries along an axis to as many."""

    def apply(value: Entries, axis: Any) -> Any:
        found = value.ravel() if axis is None else np.moveaxis(value, axis, -1)
        found = np.array(found)
        for place in np.ndindex(found.shape[:-1]):
            for number, entry in enumerate(function(list(found[place]))):
                found[(*place, number)] = entry
        return found if axis is None else np.moveaxis(found, -1, axis)

    return apply


def _add_up(entries: Iterable[Entry]) -> Entry:
    return reduce(SCALAR["add"], entries, Fraction(0))


def _sums(entries: list[Entry]) -> list[Entry]:
    return [_add_up(entries[: number + 1]) for number in range(len(entries))]


def _mean(entries: list[Entry]) -> Entry:
    return SCALAR["divide"](_add_up(entries), Fraction(len(entries)))


def _sort(entries: list[Entry]) -> list[Entry]:
    if any(map(_is_special, entries)):
        raise Undecided
    return sorted(entries, key=cmp_to_key(_compare))


def _quantile(entries: list[Entry], q: float, method: str) -> Entry:
    whole = _sort(entries)
    if not whole:
        return math.nan
    place = Fraction(q) * (len(whole) - 1)
    below, above = whole[math.floor(place)], whole[math.ceil(place)]
    if method in ("lower", "higher"):
        return below if method == "lower" else above
    if method == "nearest":
        return whole[round(place)]
    weight = place - math.floor(place)
    if method == "midpoint":
        weight = Fraction(1, 2) if weight else weight
    elif method != "linear":
        raise Undecided
    return _add_up([below, SCALAR["multiply"](weight, SCALAR["subtract"](above, below))])


def _position(sign: int) -> Callable[[list[Entry]], Entry]:
    def find(entries: list[Entry]) -> Entry:
        if any(map(_is_special, entries)):
            raise Undecided
        best = 0
        for number, entry in enumerate(entries):
            if sign * _compare(entry, entries[best]) > 0:
                best = number
        return Fraction(best)

    return find


def _matmul(one: Entries, other: Entries) -> Any:
    left = one[None, :] if one.ndim == 1 else one
    right = other[:, None] if other.ndim == 1 else other
    ahead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    found = np.empty((*ahead, left.shape[-2], right.shape[-1]), dtype=object)
    left = np.broadcast_to(left, (*ahead, *left.shape[-2:]))
    right = np.broadcast_to(right, (*ahead, *right.shape[-2:]))
    for *place, row, column in np.ndindex(found.shape):
        pairs = zip(left[(*place, row)], right[(*place, slice(None), column)], strict=True)
        found[(*place, row, column)] = _add_up(SCALAR["multiply"](*pair) for pair in pairs)
    found = found[..., 0] if other.ndim == 1 else found
    return (
        found[..., 0]
        if one.ndim == 1 and other.ndim == 1
        else (found[..., 0, :] if one.ndim == 1 else found)
    )


def _mesh(key: Sequence[Sequence[int] | None], shape: Sequence[int]) -> Any:
    whole = [range(n) if one is None else one for one, n in zip(key, shape, strict=True)]
    return np.ix_(*(np.asarray(one, dtype=int) for one in whole)) if whole else ()


def _assign(value: Entries, entry: Entries, key: Any) -> Entries:
    found = np.array(value)
    found[_mesh(key, value.shape)] = entry
    return found


def _reshape(value: Entries, shape: Sequence[int | None]) -> Entries:
    known = math.prod(one for one in shape if one is not None)
    return value.reshape([value.size // max(known, 1) if one is None else one for one in shape])


def _bin_counts(value: Entries, edges: Sequence[float]) -> Any:
    ends, found = [to_entry(one) for one in edges], [0] * (len(edges) - 1)
    for entry in value.ravel():
        if _is_special(entry):
            raise Undecided
        if _compare(entry, ends[0]) < 0 or _compare(entry, ends[-1]) > 0:
            continue
        within = sum(_compare(entry, one) >= 0 for one in ends)
        found[min(within, len(found)) - 1] += 1
    return to_entries(found)


WHOLE: dict[str, Callable[..., Any]] = {
    "sum": _along(_add_up),
    "prod": _along(lambda entries: reduce(SCALAR["multiply"], entries, Fraction(1))),
    "mean": _along(_mean),
    "max": _along(lambda entries: reduce(SCALAR["maximum"], entries)),
    "min": _along(lambda entries: reduce(SCALAR["minimum"], entries)),
    "median": _along(lambda entries: _quantile(entries, 0.5, "linear")),
    "quantile": _along(_quantile),
    "argmax": _along(_position(1)),
    "argmin": _along(_position(-1)),
    "sort": _in_order(_sort),
    "cumsum": _in_order(_sums),
    "matmul": _matmul,
    "take": lambda value, key: value[_mesh(key, value.shape)],
    "assign": _assign,
    "within": lambda value, low, high: value,
    "reshape": _reshape,
    "transpose": lambda value, axes: np.transpose(value, axes),
    "concatenate": lambda *values, axis: np.concatenate(values, axis=axis),
    "bin_counts": _bin_counts,
}
