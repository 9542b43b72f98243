"""Operations entry by entry, written in the few functions that the checker knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dpaudit.proving.lowering.scalars import FUNCTIONS, Core, NotSampled, Scalar

_ONE = Fraction(1)
_HALF = Fraction(1, 2)
_TWO = Fraction(2)
_INF = float("inf")
_MOST_POWER = 16


def lower_add(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return a sum."""
    return core.sum([(_ONE, a), (_ONE, b)])


def lower_subtract(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return a difference."""
    return core.sum([(_ONE, a), (-_ONE, b)])


def lower_negate(core: Core, a: Scalar) -> Scalar:
    """Return a number with the other sign."""
    return core.sum([(-_ONE, a)])


def lower_less(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where a is less than b."""
    if a.number is not None and b.number is None:
        return lower_not(core, core.inside(b, -_INF, a.number, closed=True))
    apart, most = (
        (a, b.number) if b.number is not None else (lower_subtract(core, a, b), Fraction(0))
    )
    if apart.number is not None:
        return core.number(apart.number < most)
    return core.inside(apart, -_INF, most)


def lower_equal(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where two numbers are equal."""
    one, other = (b, a) if a.number is not None else (a, b)
    if other.number is None:
        one, other = lower_subtract(core, a, b), core.number(0)
    if one.number is not None:
        return core.number(one.number == other.number)
    return core.inside(one, other.number, other.number, closed=True, family="points")


def lower_not(core: Core, a: Scalar) -> Scalar:
    """Return 1 less a truth value."""
    return core.sum([(_ONE, core.number(1)), (-_ONE, a)])


def lower_truth(core: Core, a: Scalar) -> Scalar:
    """Return 1 where a number is not 0."""
    is_truth = a.node in core.truths or a.number in (0, 1)
    return a if is_truth else lower_not(core, lower_equal(core, a, core.number(0)))


def lower_where(core: Core, condition: Scalar, then: Scalar, other: Scalar) -> Scalar:
    """Return one number where a condition holds, and the other elsewhere."""
    sure = lower_truth(core, condition)
    if sure.number is not None:
        return then if sure.number else other
    if then.number is not None and other.number is not None:
        return core.sum([(then.number - other.number, sure), (_ONE, other)])
    if other.number == 0:
        return core.multiply(sure, then)
    if then.number == 0:
        return core.multiply(lower_not(core, sure), other)
    chosen = core.multiply(sure, lower_subtract(core, then, other))
    return lower_add(core, other, chosen)


def lower_power(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return a power: of a small whole number, or a square root."""
    n = b.number
    if n == _HALF:
        return core.function("sqrt", a)
    if n is None or n.denominator != 1 or abs(n) > _MOST_POWER:
        return lower_unknown("power", core, a, b)
    found = core.number(1)
    for _ in range(abs(int(n)) // 2):
        found = core.multiply(found, core.multiply(a, a))
    found = core.multiply(found, a) if n % 2 else found
    return found if n >= 0 else core.function("inverse", found)


def absolute(core: Core, a: Scalar) -> Scalar:
    """Return the larger of a number and its negative; 0 is no larger."""
    return core.extreme("maximum", [a, lower_negate(core, a), core.number(0)])


def lower_ceil(core: Core, a: Scalar) -> Scalar:
    """Return the least whole number that is no less."""
    return lower_negate(core, core.function("floor", lower_negate(core, a)))


def lower_trunc(core: Core, a: Scalar) -> Scalar:
    """Return a number without its fraction."""
    zero = core.number(0)
    above = core.function("floor", core.extreme("maximum", [a, zero]))
    below = core.function("floor", core.extreme("maximum", [lower_negate(core, a), zero]))
    return lower_subtract(core, above, below)


def lower_unknown(name: str, core: Core, *args: Scalar) -> Scalar:
    """Return a function that no rule bounds."""
    return core.add("other", args, function=name)


def lower_sign(core: Core, a: Scalar) -> Scalar:
    """Return the sign of a number."""
    zero = core.number(0)
    return lower_subtract(core, lower_less(core, zero, a), lower_less(core, a, zero))


def lower_expm1(core: Core, a: Scalar) -> Scalar:
    """Return ``exp(a) - 1``."""
    return lower_subtract(core, core.function("exp", a), core.number(1))


def lower_log1p(core: Core, a: Scalar) -> Scalar:
    """Return ``log(1 + a)``."""
    return core.function("log", lower_add(core, core.number(1), a))


def lower_tanh(core: Core, a: Scalar) -> Scalar:
    """Return ``1 - 2 / (1 + exp(2 a))``."""
    raised = core.function("exp", core.sum([(_TWO, a)]))
    under = core.function("inverse", lower_add(core, core.number(1), raised))
    return core.sum([(_ONE, core.number(1)), (-_TWO, under)])


def lower_xor(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where one of two truth values is 1."""
    return either(core, both(core, a, lower_not(core, lower_truth(core, b))),
                  both(core, lower_not(core, lower_truth(core, a)), b))  # fmt: skip


def both(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where two truth values are 1."""
    return core.extreme("minimum", [lower_truth(core, a), lower_truth(core, b)])


def either(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return 1 where one of two truth values is 1, or both are."""
    return core.extreme("maximum", [lower_truth(core, a), lower_truth(core, b)])


def lower_divide(core: Core, a: Scalar, b: Scalar) -> Scalar:
    """Return a quotient."""
    return core.multiply(a, core.function("inverse", b))


ENTRYWISE: Mapping[str, Callable[..., Scalar]] = {
    "add": lower_add,
    "subtract": lower_subtract,
    "multiply": lambda core, a, b: core.multiply(a, b),
    "divide": lower_divide,
    "maximum": lambda core, a, b: core.extreme("maximum", [a, b]),
    "minimum": lambda core, a, b: core.extreme("minimum", [a, b]),
    "less": lower_less,
    "less_equal": lambda core, a, b: lower_not(core, lower_less(core, b, a)),
    "equal": lower_equal,
    "not_equal": lambda core, a, b: lower_not(core, lower_equal(core, a, b)),
    "logical_and": both,
    "logical_or": either,
    "logical_xor": lower_xor,
    "logical_not": lambda core, a: lower_not(core, lower_truth(core, a)),
    "where": lower_where,
    "power": lower_power,
    "remainder": partial(lower_unknown, "remainder"),
    "absolute": absolute,
    "ceil": lower_ceil,
    "trunc": lower_trunc,
    "negative": lower_negate,
    "expm1": lower_expm1,
    "log1p": lower_log1p,
    "tan": partial(lower_unknown, "tan"),
    "sign": lower_sign,
    "tanh": lower_tanh,
    **{
        name: (lambda core, a, name=name: core.function(name, a))
        for name in FUNCTIONS - {"inverse"}
    },
}


def apply_sampling_coin(core: Core, name: str, args: tuple[Scalar, ...]) -> Scalar:
    """Return the product with a secret coin: no other operation on one is allowed.

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
