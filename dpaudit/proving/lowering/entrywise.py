"""What is done entry by entry, by the few functions that the checker knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dpaudit.proving.lowering.scalars import FUNCTIONS, Core, NotSampled, Scalar

_ONE, _HALF, _TWO = Fraction(1), Fraction(1, 2), Fraction(2)
_INF = float("inf")
_MOST_POWER = 16


def add(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return a sum."""
    return core.sum([(_ONE, a), (_ONE, b)])


def subtract(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return a difference."""
    return core.sum([(_ONE, a), (-_ONE, b)])


def negate(core: Core, a: Scalar) -> Scalar:
    """Return a number with the other sign."""
    return core.sum([(-_ONE, a)])


def less(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where a is less than b."""
    if a.number is not None and b.number is None:
        return opposite(core, core.inside(b, -_INF, a.number, closed=True))
    apart, most = (a, b.number) if b.number is not None else (subtract(core, a, b), Fraction(0))
    if apart.number is not None:
        return core.number(apart.number < most)
    return core.inside(apart, -_INF, most)


def equal(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where two numbers are equal."""
    one, other = (b, a) if a.number is not None else (a, b)
    if other.number is None:
        one, other = subtract(core, a, b), core.number(0)
    if one.number is not None:
        return core.number(one.number == other.number)
    return core.inside(one, other.number, other.number, closed=True, family="points")


def opposite(core: Core, a: Scalar) -> Scalar:
    """Return 1 less a truth value."""
    return core.sum([(_ONE, core.number(1)), (-_ONE, a)])


def truth(core: Core, a: Scalar) -> Scalar:
    """Return 1 where a number is not 0."""
    is_truth = a.node in core.truths or a.number in (0, 1)
    return a if is_truth else opposite(core, equal(core, a, core.number(0)))


def where(core: Core, condition: Scalar, then: Scalar, other: Scalar) -> Scalar:
    """Return one number where a condition holds, and the other elsewhere."""
    sure = truth(core, condition)
    if sure.number is not None:
        return then if sure.number else other
    if then.number is not None and other.number is not None:
        return core.sum([(then.number - other.number, sure), (_ONE, other)])
    if other.number == 0:
        return core.multiply(sure, then)
    if then.number == 0:
        return core.multiply(opposite(core, sure), other)
    chosen = core.multiply(sure, subtract(core, then, other))
    return add(core, other, chosen)


def power(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return a power: of a small whole number, or a square root."""
    n = b.number
    if n == _HALF:
        return core.function("sqrt", a)
    if n is None or n.denominator != 1 or abs(n) > _MOST_POWER:
        return unknown("power", core, a, b)
    found = core.number(1)
    for _ in range(abs(int(n)) // 2):
        found = core.multiply(found, core.multiply(a, a))
    found = core.multiply(found, a) if n % 2 else found
    return found if n >= 0 else core.function("inverse", found)


def absolute(core: Core, a: Scalar) -> Scalar:
    """Return the larger of a number and its negative; 0 is no larger."""
    return core.extreme("maximum", [a, negate(core, a), core.number(0)])


def ceil(core: Core, a: Scalar) -> Scalar:
    """Return the least whole number that is no less."""
    return negate(core, core.function("floor", negate(core, a)))


def trunc(core: Core, a: Scalar) -> Scalar:
    """Return a number without its fraction."""
    zero = core.number(0)
    above = core.function("floor", core.extreme("maximum", [a, zero]))
    below = core.function("floor", core.extreme("maximum", [negate(core, a), zero]))
    return subtract(core, above, below)


def unknown(name: str, core: Core, *args: Scalar) -> Scalar:
    """Return a function that no rule bounds."""
    return core.add("other", args, function=name)


def sign(core: Core, a: Scalar) -> Scalar:
    """Return the sign of a number."""
    zero = core.number(0)
    return subtract(core, less(core, zero, a), less(core, a, zero))


def expm1(core: Core, a: Scalar) -> Scalar:
    """Return ``exp(a) - 1``."""
    return subtract(core, core.function("exp", a), core.number(1))


def log1p(core: Core, a: Scalar) -> Scalar:
    """Return ``log(1 + a)``."""
    return core.function("log", add(core, core.number(1), a))


def tanh(core: Core, a: Scalar) -> Scalar:
    """Return ``1 - 2 / (1 + exp(2 a))``."""
    raised = core.function("exp", core.sum([(_TWO, a)]))
    under = core.function("inverse", add(core, core.number(1), raised))
    return core.sum([(_ONE, core.number(1)), (-_TWO, under)])


def exclusive(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where one of two truth values is 1."""
    return either(core, both(core, a, opposite(core, truth(core, b))),
                  both(core, opposite(core, truth(core, a)), b))  # fmt: skip


def both(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where two truth values are 1."""
    return core.extreme("minimum", [truth(core, a), truth(core, b)])


def either(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where one of two truth values is 1, or both are."""
    return core.extreme("maximum", [truth(core, a), truth(core, b)])


def divide(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return a quotient."""
    return core.multiply(a, core.function("inverse", b))


ENTRYWISE: Mapping[str, Callable[..., Scalar]] = {
    "add": add,
    "subtract": subtract,
    "multiply": lambda core, a, b: core.multiply(a, b),
    "divide": divide,
    "maximum": lambda core, a, b: core.extreme("maximum", [a, b]),
    "minimum": lambda core, a, b: core.extreme("minimum", [a, b]),
    "less": less,
    "less_equal": lambda core, a, b: opposite(core, less(core, b, a)),
    "equal": equal,
    "not_equal": lambda core, a, b: opposite(core, equal(core, a, b)),
    "logical_and": both,
    "logical_or": either,
    "logical_xor": exclusive,
    "logical_not": lambda core, a: opposite(core, truth(core, a)),
    "where": where,
    "power": power,
    "remainder": partial(unknown, "remainder"),
    "absolute": absolute,
    "ceil": ceil,
    "trunc": trunc,
    "negative": negate,
    "expm1": expm1,
    "log1p": log1p,
    "tan": partial(unknown, "tan"),
    "sign": sign,
    "tanh": tanh,
    **{
        name: (lambda core, a, name=name: core.function(name, a))
        for name in FUNCTIONS - {"inverse"}
    },
}


def sampled(core: Core, name: str, args: tuple[Scalar, ...]) -> Scalar:
    """Return what a secret coin is multiplied by: nothing else may be done with one.

    Raises
    ------
    NotSampled
        Something else is done.
    """
    coins = [one for one in args if one.sample is not None]
    if name == "where" and args[0] in coins and args[2].number == 0:
        name, args = "multiply", args[:2]
    if name == "multiply" and len(coins) == 1:
        parts = [replace(one, sample=None) for one in args]
        return replace(core.multiply(*parts), sample=coins[0].sample, number=None, is_local=True)
    raise NotSampled("the coins of a sample are seen")
