"""Numbers without error, and intervals that enclose those that have one."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction as F
from typing import Any

INF = math.inf
ZERO, ONE = F(0), F(1)
PRECISION = 60


class NotVerified(Exception):
    """Why a certificate is not verified."""


class NotAlike(Exception):
    """A program that does not treat records alike."""


def rounded(x: Any, up: bool) -> Any:
    """Return a number of 220 binary digits at least as large, or at most, unless it is short."""
    if isinstance(x, float):
        return x
    n, d = x.numerator, x.denominator
    if n.bit_length() + d.bit_length() < 700:
        return x
    shift = n.bit_length() - d.bit_length() - 220
    scaled = n * 2**-shift if shift < 0 else n
    divisor = d * 2**shift if shift > 0 else d
    whole = -(-scaled // divisor) if up else scaled // divisor
    return F(whole) * (F(2) ** shift)


def times(a: Any, b: Any) -> Any:
    """Return a product in which 0 times infinity is 0."""
    if not a or not b:
        return ZERO
    if isinstance(a, float) or isinstance(b, float):
        return INF if (a > 0) == (b > 0) else -INF
    return a * b


def mul(x: Any, y: Any) -> Any:
    if x[0] == x[1] and y[0] == y[1]:
        both = times(x[0], y[0])
        return rounded(both, False), rounded(both, True)
    ends = [times(a, b) for a in x for b in y]
    return rounded(min(ends), False), rounded(max(ends), True)


def add(x: Any, y: Any) -> Any:
    return rounded(x[0] + y[0], False), rounded(x[1] + y[1], True)


def neg(x: Any) -> Any:
    return -x[1], -x[0]


def size(x: Any) -> Any:
    return max(-x[0], x[1])


def meet(x: Any, y: Any) -> Any:
    return max(x[0], y[0]), min(x[1], y[1])


def hull(x: Any, y: Any) -> Any:
    return min(x[0], y[0]), max(x[1], y[1])


def power(x: Any, n: int) -> Any:
    """Return the ends of the n-th power, n at least 1."""
    ends = [e**n if not isinstance(e, float) else (INF if e > 0 or n % 2 == 0 else -INF) for e in x]
    low, high = min(ends), max(ends)
    if n % 2 == 0 and x[0] < 0 < x[1]:
        low = ZERO
    return rounded(low, False), rounded(high, True)


def inverse(x: Any) -> Any:
    if x[0] <= 0 <= x[1]:
        return None
    ends = [ZERO if isinstance(e, float) else 1 / e for e in (x[1], x[0])]
    return rounded(ends[0], False), rounded(ends[1], True)


def total(values: Any) -> Any:
    return rounded(sum(values, ZERO), True)


def root(x: Any, up: bool) -> Any:
    """Return a square root, rounded at 60 digits."""
    if isinstance(x, float):
        return x
    shift = max(0, 200 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    found = math.isqrt((x.numerator << (2 * shift)) // x.denominator)
    exact = found * found * x.denominator == x.numerator << (2 * shift)
    return F(found + (up and not exact), 1 << shift)


def decimal(x: F, up: bool, digits: int = PRECISION) -> Decimal:
    context = Context(digits, ROUND_CEILING if up else ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def series(name: str, x: Any, up: bool, digits: int = PRECISION) -> Any:
    """Return exp or log of a number, rounded: `decimal` rounds both to the nearest."""
    if isinstance(x, float):
        return x if x > 0 or name == "log" else ZERO
    if name == "log" and x <= 0:
        return -INF
    if name == "exp" and abs(x) > 20_000:
        return (INF if up else F(10) ** 8000) if x > 0 else (F(1, 10**8000) if up else ZERO)
    context = Context(digits, Emin=-(10**9), Emax=10**9)
    near = getattr(context, "exp" if name == "exp" else "ln")(decimal(x, up, digits))
    step = F(10) ** (near.adjusted() - digits + 2) if near else F(1, 10**digits)
    return F(near) + (step if up else -step)


def taylor(name: str, x: F) -> Any:
    """Return the ends of sin, cos or arctan of a number: alternating series, |x| at most 64."""
    if name == "arctan":
        if x < 0:
            return neg(taylor(name, -x))
        if x > F(1, 2):  # arctan x = 2 arctan(x / (1 + sqrt(1 + x^2)))
            below, above = (x / (1 + root(1 + x * x, up)) for up in (True, False))
            return 2 * taylor(name, below)[0], 2 * taylor(name, rounded(above, True))[1]
        x = F(round(x * 2**240), 2**240)  # arctan moves by no more than its argument
    elif abs(x) > 64:
        return -ONE, ONE
    else:
        x = F(round(x * 2**240), 2**240)
    total, term, n = ZERO, (x if name != "cos" else ONE), 1 if name != "cos" else 0
    while abs(term) > F(1, 2**220) or n < abs(x) + 2:
        total += term / n if name == "arctan" else term
        term = -term * x * x / (1 if name == "arctan" else (n + 1) * (n + 2))
        term = F(round(term * 2**300), 2**300)
        n += 2
    return total - F(1, 2**200), total + F(1, 2**200)


STEPS = {"sign", "floor", "ceil", "rint", "trunc"}
GROWING = {"exp", "expm1", "log", "log1p", "sqrt", "arctan", "tanh", "sign", "floor", "ceil"} | {
    "rint",
    "trunc",
}


def at(name: str, x: Any, up: bool) -> Any:
    """Return a growing function of a number, rounded."""
    if name in ("floor", "ceil", "rint", "trunc"):
        call: Any = {"floor": math.floor, "ceil": math.ceil, "rint": round, "trunc": math.trunc}[
            name
        ]
        return x if isinstance(x, float) else F(call(x))
    if name == "sign":
        return F((x > 0) - (x < 0))
    if name == "sqrt":
        return root(x, up)
    if name in ("exp", "expm1"):
        return series("exp", x, up) - (name == "expm1")
    if name in ("log", "log1p"):
        return series("log", x + (name == "log1p"), up)
    if isinstance(x, float):  # arctan, tanh
        return (ONE if name == "tanh" else F(16, 10)) * (1 if x > 0 else -1)
    if name == "tanh":
        both = [1 - 2 / (series("exp", 2 * x, side) + 1) for side in (False, True)]
        return rounded(both[up], up)
    return taylor("arctan", x)[up]


def image(name: str, x: Any) -> Any:
    """Return the ends of a function of one number over an interval; None where it has none."""
    if name == "negative":
        return neg(x)
    if name == "absolute":
        return (max(x[0], -x[1], ZERO), size(x))
    if name in ("sin", "cos"):
        if isinstance(x[0] + x[1], float):
            return -ONE, ONE
        slope = wave("cos" if name == "sin" else "sin", x)
        if slope[0] >= 0 or slope[1] <= 0:
            return hull(taylor(name, x[0]), taylor(name, x[1]))
        return wave(name, x)
    if name in ("log", "sqrt", "log1p") and (
        x[0] < -(name == "log1p") or (name != "sqrt" and x[0] == -(name == "log1p"))
    ):
        return None
    return at(name, x[0], False), at(name, x[1], True)


def wave(name: str, x: Any) -> Any:
    middle = rounded((x[0] + x[1]) / 2, False)
    low, high = taylor(name, middle)
    radius = rounded(max(x[1] - middle, middle - x[0]), True)
    return max(low - radius, -ONE), min(high + radius, ONE)


def slope(name: str, x: Any, value: Any) -> Any:
    """Return the ends of the derivative over an interval."""
    if name == "negative":
        return -ONE, -ONE
    if name == "absolute":
        return F(-1 if x[0] < 0 else 1), F(1 if x[1] > 0 else -1)
    if name in ("sin", "cos"):
        found = image("cos" if name == "sin" else "sin", x)
        return found if name == "sin" else neg(found)
    if name in ("exp", "expm1"):
        return add(value, (ZERO, ZERO) if name == "exp" else (ONE, ONE))
    if name in ("log", "log1p"):
        return inverse(add(x, (ONE, ONE)) if name == "log1p" else x) or (ZERO, INF)
    if name == "sqrt":
        return inverse(mul((F(2), F(2)), value)) or (ZERO, INF)
    if name == "tanh":
        return add((ONE, ONE), neg(power(value, 2)))
    if name == "arctan":
        return inverse(add((ONE, ONE), power(x, 2)))
    return (ZERO, ZERO) if x[0] == x[1] or value[0] == value[1] else (ZERO, INF)


def normal_tail(x: F, up: bool) -> Any:
    """Return the probability that a standard normal number is below x, rounded."""
    t = abs(x)
    pi = [
        16 * taylor("arctan", F(1, 5))[i] - 4 * taylor("arctan", F(1, 239))[1 - i] for i in (0, 1)
    ]
    least, most = (
        series("exp", -x * x / 2, side) / root(2 * pi[1 - side], not side) for side in (False, True)
    )
    if t > 12:  # t / (1 + t^2) < tail / density < 1 / t
        below, above = least * t / (1 + t * t), most / t
    else:
        bits, square = 400, x * x
        term = math.floor(t * 2**bits)
        sum_, n = term, 1
        while term or n < 2 * square:
            term = term * square.numerator // (square.denominator * (n + 2))
            sum_, n = sum_ + term, n + 2
        grown = F(sum_, 2**bits)
        error = F(1, 2**250)
        below = F(1, 2) - most * (grown + error)
        above = F(1, 2) - least * (grown - error)
    below, above = max(below, ZERO), max(above, ZERO)
    return rounded((1 - below if up else 1 - above) if x > 0 else (above if up else below), up)
