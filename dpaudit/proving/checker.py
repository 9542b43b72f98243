"""Checks a proof from code: a certificate of kind ``proof``, by rules of its own.

Run it by itself: ``python checker.py proof.json``. It needs the standard library and nothing else,
shares nothing with what wrote the file, and believes no number of it: shapes, ends, distances and
events are derived again, in fractions, rounded outwards where they are roots or logarithms. The
statement is about the program in the file; whether a function is that program is another question,
which ``dpaudit verify --mechanism`` answers. What no rule here follows is not verified.

One record changes, and all others are the same on both sides. Each number of the program is an
`Entry`: its ends, by how much the second side is above the first (its move), and a polynomial of
other entries, in which what is alike on both sides cancels. With one more or one fewer record, the
changed record has a weight that is 0 on one side and 1 on the other. Where a program treats records
alike, row 0 is the one that changes, and row 1 stands for each of the others; elsewhere every
record changes in turn. Of k records that change, each does after the other: costs are k times as
large.

Where a noisy number is looked at there is an event, and after it the number is public; what is
returned has to be the same on both sides. Laplace noise of scale b costs (L1 distance) / b,
Gaussian noise the square of (L2 distance) / sigma, and an argmax with Gumbel, Laplace or
exponential noise (largest move - smallest move) / scale, as adding a number to all scores changes
no argmax. Costs add up along a path, and the largest path counts: pure epsilon, rho and squared mu
are filters.
"""

from __future__ import annotations

import heapq
import json
import math
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction as F
from functools import wraps
from itertools import pairwise, product
from typing import Any

# fmt: off
INF, ZERO, ONE, TWO = math.inf, F(0), F(1), F(2)
BYTES, NODES, WORK = 16 * 2**20, 200_000, 400_000  # of a file, and of what is done about it
TERMS, BOXES, VARIABLES, VALUES = 120, 300, 7, 64  # of a polynomial, a search, an enumeration
RECORDS = 2**40  # where their number is not public, there are no more
SLACK = 1 + F(1, 10**9)  # digits beyond it belong to the rounding of the code's own constants
DIGITS = 60


class NotVerified(Exception):
    """Why a certificate is not verified."""


class NotAlike(Exception):
    """A program does not treat records alike."""


# --- numbers: fractions, and intervals of them ----------------------------------------------------

def rounded(x: Any, up: bool) -> Any:
    """Return a number of 220 binary digits on the asked side of a long one."""
    if isinstance(x, float) or x.numerator.bit_length() + x.denominator.bit_length() < 700:
        return x
    unit = TWO ** (x.numerator.bit_length() - x.denominator.bit_length() - 220)
    return (math.ceil(x / unit) if up else math.floor(x / unit)) * unit

def times(a: Any, b: Any) -> Any:
    """Return a product, in which 0 times infinity is 0."""
    if not a or not b:
        return ZERO
    if isinstance(a, float) or isinstance(b, float):
        return INF if (a > 0) == (b > 0) else -INF
    return a * b

def outward(ends: Any) -> Any:
    return rounded(min(ends), False), rounded(max(ends), True)

def mul(x: Any, y: Any) -> Any:
    return outward([times(a, b) for a in x for b in y])

def scale(factor: Any, x: Any) -> Any:
    return outward([times(factor, x[0]), times(factor, x[1])])

def add(x: Any, y: Any) -> Any:
    return rounded(x[0] + y[0], False), rounded(x[1] + y[1], True)

def size(x: Any) -> Any:
    return max(-x[0], x[1])

def meet(x: Any, y: Any) -> Any:
    return max(x[0], y[0]), min(x[1], y[1])

def hull(*intervals: Any) -> Any:
    return min(x[0] for x in intervals), max(x[1] for x in intervals)

def power(x: Any, n: int) -> Any:
    ends = [e**n if isinstance(e, F) else (INF if e > 0 or n % 2 == 0 else -INF) for e in x]
    return outward([*ends, ZERO] if n % 2 == 0 and x[0] < 0 < x[1] else ends)

def total(values: Any) -> Any:
    return rounded(sum(values, ZERO), True)

def root(x: Any, up: bool) -> Any:
    """Return a square root with 60 digits."""
    if isinstance(x, float):
        return x
    shift = max(0, 200 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    found = math.isqrt((x.numerator << 2 * shift) // x.denominator)
    exact = found * found * x.denominator == x.numerator << 2 * shift
    return F(found + (up and not exact), 1 << shift)

def series(name: str, x: Any, up: bool) -> Any:
    """Return exp or log of a number: `decimal` rounds both to the nearest."""
    if isinstance(x, float):
        return x if x > 0 or name == "log" else ZERO
    if name == "exp" and abs(x) > 20_000:
        return (INF if up else F(10) ** 8000) if x > 0 else (F(1, 10**8000) if up else ZERO)
    side = ROUND_CEILING if up else ROUND_FLOOR
    context = Context(DIGITS, side, Emin=-(10**9), Emax=10**9)
    given = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    near = given.exp(context) if name == "exp" else given.ln(context)
    step = F(10) ** (near.adjusted() - DIGITS + 2) if near else F(1, 10**DIGITS)
    return F(near) + (step if up else -step)

STEPS: dict[str, Any] = {"floor": math.floor, "ceil": math.ceil, "rint": round, "trunc": math.trunc}
SMOOTH = {"inverse", "sqrt", "exp", "log", "absolute", "arctan", "sin", "cos"}

def image(name: str, x: Any) -> Any:
    """Return the ends of a function of one number over an interval; None if it has none."""
    if name == "absolute":
        return max(x[0], -x[1], ZERO), size(x)
    if name == "inverse":
        ends = [ZERO if isinstance(e, float) else 1 / e for e in x if e]
        return None if x[0] <= 0 <= x[1] else outward(ends)
    if name in ("sin", "cos", "arctan"):
        return (-ONE, ONE) if name != "arctan" else (F(-8, 5), F(8, 5))
    if name in STEPS:
        return tuple(e if isinstance(e, float) else F(STEPS[name](e)) for e in x)
    if name == "exp":
        return series(name, x[0], False), series(name, x[1], True)
    if name == "sqrt":
        return None if x[0] < 0 else (root(x[0], False), root(x[1], True))
    return None if x[0] <= 0 else (series("log", x[0], False), series("log", x[1], True))

def slope(name: str, x: Any, value: Any) -> Any:
    """Return the ends of the derivative over an interval."""
    if name == "absolute":
        return F(-1 if x[0] < 0 else 1), F(1 if x[1] > 0 else -1)
    if name == "inverse":
        return scale(-ONE, power(value, 2))
    if name in ("sin", "cos", "arctan"):
        return -ONE, ONE
    if name == "exp":
        return value
    return image("inverse", x if name == "log" else scale(TWO, value)) or (ZERO, INF)


# --- numbers of the program, on both sides --------------------------------------------------------

class Entry:
    """A number: its ends, how far the second side is above the first, and what it is made of."""

    def __init__(self, key: int, op: str, args: Any, ends: Any, move: Any) -> None:
        self.key, self.op, self.args, self.ends, self.move = key, op, args, ends, move
        self.poly: Any = {(key,): ONE}  # keys of factors: coefficient
        self.whole = self.local = False  # whether it is an integer, and of each other record
        self.bad: Any = None  # why it may be no number
        self.noise: Any = None  # {draw: factor}, beside the centre args[0]
        self.shown: Any = None  # what it is once somebody has looked
        self.squares: Any = None  # it is at least the sum of squares of entries, times factors
        self.ball: Any = (
            None  # (group, member, radius, l1): with others of its group it lies in one
        )
        self.extra: Any = None

    @property
    def moves(self) -> bool:
        return bool(self.move != (ZERO, ZERO))

    @property
    def constant(self) -> Any:
        return self.ends[0] if self.ends[0] == self.ends[1] and not self.noise else None


class Ground:
    """All numbers, each once: equal polynomials are one entry, and equal calls."""

    def __init__(self, budget: list[int]) -> None:
        self.entries: list[Entry] = []
        self.calls: dict[Any, Entry] = {}
        self.budget = budget

    def spend(self, work: int) -> None:
        self.budget[0] -= work
        if self.budget[0] < 0:
            raise NotVerified("it is too large to be checked in a minute")

    def new(self, op: str, args: Any, ends: Any, move: Any, **more: Any) -> Entry:
        self.spend(1)
        found = Entry(len(self.entries), op, args, ends, move)
        vars(found).update(more)
        if found.moves and ends[0] > -INF and ends[1] < INF:
            found.move = meet(move, (ends[0] - ends[1], ends[1] - ends[0]))
        self.entries.append(found)
        return found

    def number(self, value: Any) -> Entry:
        if (key := ("number", value)) not in self.calls:
            finite = isinstance(value, F)
            self.calls[key] = self.new(
                "number", (), (value, value), (ZERO, ZERO), bad=None if finite else "infinite",
                whole=finite and value.denominator == 1,
                poly=({(): value} if value else {}) if finite else None)
        return self.calls[key]

    def bounds(self, keys: Any) -> Any:
        """Return ends and move of a product of entries."""
        ends, move = (ONE, ONE), (ZERO, ZERO)
        for key in dict.fromkeys(keys):
            one, n = self.entries[key], keys.count(key)
            own, far = power(one.ends, n), one.move  # a^n - b^n = (a - b) (sum of n products)
            for _ in range(n - 1):
                far = mul(far, one.ends)
            far = meet(scale(F(n), far), (own[0] - own[1], own[1] - own[0])) if one.moves else far
            move, ends = add(mul(move, own), mul(ends, far)), mul(ends, own)
        return ends, move

    def of_poly(self, poly: Any, ends: Any, move: Any) -> Entry:
        """Return the entry of a polynomial: ends and move are the best of two derivations."""
        ((term, coefficient), *more) = list(poly.items()) or [((), ZERO)]
        if not more and (not term or (coefficient == 1 and len(term) == 1)):
            return self.entries[term[0]] if term else self.number(coefficient)
        key = frozenset(poly.items())
        if key not in self.calls:
            groups: dict[Any, Any] = {}
            for term, coefficient in poly.items():
                moving = tuple(one for one in term if self.entries[one].moves)
                still = [one for one in term if not self.entries[one].moves]
                part = scale(coefficient, self.bounds(still)[0])
                groups[moving] = add(groups.get(moving, (ZERO, ZERO)), part)
            value = far = (ZERO, ZERO)
            for moving, factor in groups.items():
                own, shift = self.bounds(moving)
                value, far = add(value, mul(factor, own)), add(far, mul(factor, shift))
            members = [self.entries[one] for term in poly for one in term]
            self.calls[key] = self.new(
                "sum", (), meet(ends, value), meet(move, far), poly=poly,
                local=any(one.local for one in members),
                whole=all(one.whole for one in members)
                and all(one.denominator == 1 for one in poly.values()))
        found = self.calls[key]
        found.ends, found.move = meet(found.ends, ends), meet(found.move, move)
        return found

    def opaque(
        self, op: str, args: Any, ends: Any, move: Any, extra: Any = None, **more: Any
    ) -> Entry:
        """Return the entry of a call that is no polynomial."""
        if (key := (op, extra, *(one.key for one in args))) not in self.calls:
            bad = next((one.bad for one in args if one.bad), None)
            if ends is None:
                ends, move, bad = (-INF, INF), (-INF, INF), bad or f"{op} of what has none"
            if not any(one.moves for one in args):
                move = (ZERO, ZERO)
            elif bad:  # 0 times what is no number is none
                move = (-INF, INF)
            local = any(one.local for one in args)
            more = {"bad": bad, "extra": extra, "local": local, **more}
            self.calls[key] = self.new(op, tuple(args), ends, move, **more)
        return self.calls[key]

    def sum(self, terms: Any) -> Entry:
        """Return a sum of entries times public fractions."""
        terms = [(factor, one) for factor, one in terms if factor]
        if len(terms) == 1 and terms[0][0] == 1:
            return terms[0][1]  # type: ignore[no-any-return]
        ends, move = (ZERO, ZERO), (ZERO, ZERO)
        poly: Any = {}
        for factor, one in terms:
            ends, move = add(ends, scale(factor, one.ends)), add(move, scale(factor, one.move))
            if poly is not None:
                for term, coefficient in (one.poly or {}).items():
                    poly[term] = poly.get(term, ZERO) + factor * coefficient
                poly = None if one.bad or one.poly is None or len(poly) > 2 * TERMS else poly
        self.spend(len(terms) + len(poly or ()))
        poly = poly and {term: value for term, value in poly.items() if value}
        if poly is not None and len(poly) <= TERMS:
            found = self.of_poly(poly, ends, move)
        else:
            whole = all(one.whole and factor.denominator == 1 for factor, one in terms)
            factors = tuple(factor for factor, _ in terms)
            found = self.opaque(
                "total", [one for _, one in terms], ends, move, factors, whole=whole
            )
        if found.squares is None and all(
            f > 0 and (one.squares or (not one.moves and one.ends[0] >= 0)) for f, one in terms):
            found.squares = tuple((f * g, e) for f, one in terms for g, e in one.squares or ())
        return found

    def multiply(self, a: Entry, b: Entry) -> Entry:
        for value, factor in ((a, b), (b, a)):
            if (known := self.limit(factor)) and any(
                    one is value and f >= 1 for f, one in known[1].args[0].squares):
                return self.clipped(value, factor, *known)
        if ONE in (a.constant, b.constant) and not a.bad and not b.bad:
            return b if a.constant == 1 else a
        ends = power(a.ends, 2) if a is b else mul(a.ends, b.ends)
        move = add(mul(a.move, b.ends), mul(a.ends, b.move))
        poly = None
        if not a.bad and not b.bad and a.poly is not None and b.poly is not None \
                and len(a.poly) * len(b.poly) <= 4 * TERMS:
            self.spend(len(a.poly) * len(b.poly))
            poly = dict[Any, Any]()
            for (left, p), (right, q) in product(a.poly.items(), b.poly.items()):
                term = tuple(sorted(left + right))
                poly[term] = poly.get(term, ZERO) + p * q
            poly = {term: value for term, value in poly.items() if value}
        if poly is not None and len(poly) <= TERMS and all(len(term) <= 8 for term in poly):
            found = self.of_poly(poly, ends, move)
        else:
            both = sorted((a, b), key=lambda one: one.key)
            found = self.opaque("product", both, ends, move, whole=a.whole and b.whole)
        if a is b:
            found.squares = ((ONE, a),)
        return found

    def limit(self, factor: Entry) -> Any:
        """Return (c, length) where a factor is a number from 0 to c / length."""
        if factor.op == "minimum":  # the others are numbers where the length is 0
            for one in factor.args:
                rest = [other.constant or 0 for other in factor.args if other is not one]
                if all(isinstance(x, F) and x > 0 for x in rest) and (found := self.ratio(one)):
                    return found
        return None if factor.bad else self.ratio(factor)

    def ratio(self, entry: Entry) -> Any:
        """Return (c, length) where an entry is at most c / length: c over a length or more."""
        known, inner = ONE, entry
        if entry.op == "product":
            inner, other = sorted(entry.args, key=lambda one: one.op == "number")
            known = other.constant or ZERO
        elif entry.op == "sum" and len(entry.poly) == 1:
            ((term, known),) = entry.poly.items()
            inner = self.entries[term[0]] if len(term) == 1 else entry
        found = self.over(inner.args[0]) if inner.op == "inverse" and known > 0 else None
        return found and (known * found[0], found[1])

    def over(self, entry: Entry) -> Any:
        """Return (c, length) where an entry is at least a Euclidean length over c."""
        if entry.bad:
            return None
        if entry.op == "sqrt" and entry.args[0].squares:
            return ONE, entry
        if entry.op == "maximum":
            return next(filter(None, map(self.over, entry.args)), None)
        terms = [(t, c) for t, c in entry.poly.items() if t] if entry.op == "sum" else []
        if len(terms) == 1 and len(terms[0][0]) == 1 and terms[0][1] > 0 <= entry.poly.get((), 0):
            found = self.over(self.entries[terms[0][0][0]])
            return found and (found[0] / terms[0][1], found[1])
        return None

    def clipped(self, value: Entry, factor: Entry, most: F, length: Entry) -> Entry:
        """Return a value times a limit of the length of a row: all of them lie in a ball."""
        ends, move = (-most, most), (-2 * most, 2 * most)
        if not factor.bad:
            ends = meet(ends, mul(value.ends, factor.ends))
            move = meet(move, add(mul(value.move, factor.ends), mul(value.ends, factor.move)))
        ball = ((length.key, factor.key), value.key, most * most, None)
        return self.opaque("clipped", [value, factor], ends, move, bad=value.bad, ball=ball)

    def function(self, name: str, a: Entry) -> Entry:
        """Return a function of one number."""
        if name in STEPS and a.whole:
            return a
        if name == "inverse" and a.constant and not a.bad:
            return self.number(1 / a.constant)
        ends, far = image(name, a.ends), size(a.move)
        if ends is None:
            return self.opaque(name, [a], None, None)
        if name in STEPS:  # halves go to the even side
            far = far if isinstance(far, float) else F(math.ceil(far) + (name == "rint"))
            return self.opaque(name, [a], ends, (-far, far), whole=True)
        move = mul(slope(name, a.ends, ends), a.move)
        if name == "sqrt":  # |sqrt a - sqrt b| <= sqrt |a - b|; a length moves as its parts do
            far = root(far, True)
            if a.squares is not None:
                far = min(
                    far,
                    root(
                        total(
                            f * times(size(e.move), size(e.move)) for f, e in a.squares if e.moves
                        ),
                        True,
                    ),
                )
            move = meet(move, (-far, far))
        return self.opaque(name, [a], ends, move, whole=name == "absolute" and a.whole)

    def compare(self, name: str, a: Entry, b: Entry) -> Entry:
        """Return 1 where a is less than b, or where they are equal, and 0 elsewhere."""
        known = verdict(name, add(a.ends, scale(-ONE, b.ends)) if a is not b else (ZERO, ZERO))
        if known is not None and not (a.bad or b.bad):
            return self.number(known)
        ball = (("equal", a.key), b.key, ONE, ONE) if name == "equal" and b.op == "number" else None
        return self.opaque(name, [a, b], (ZERO, ONE), (-ONE, ONE), whole=True, ball=ball)

    def extreme(self, name: str, parts: Any) -> Entry:
        """Return the largest or smallest of numbers: it moves by no more than one of them."""
        parts = sorted(set(parts), key=lambda one: one.key)
        pick, bad = (max if name == "maximum" else min), any(one.bad for one in parts)
        ends = pick(one.ends[0] for one in parts), pick(one.ends[1] for one in parts)
        alone = [one for one in parts if not bad and all(
            one is other or (one.ends[0] >= other.ends[1] if name == "maximum"
                             else one.ends[1] <= other.ends[0]) for other in parts)]
        if alone:
            return alone[0]  # type: ignore[no-any-return]
        whole = all(one.whole for one in parts)
        return self.opaque(name, parts, ends, hull(*(one.move for one in parts)), whole=whole)

    def where(self, condition: Entry, then: Entry, other: Entry) -> Entry:
        if condition.constant is not None and not condition.bad:
            return then if condition.constant else other
        chosen = self.multiply(self.truth(condition), self.sum([(ONE, then), (-ONE, other)]))
        found = self.sum([(ONE, other), (ONE, chosen)])
        if found.op == "sum":
            found.ends = meet(found.ends, hull(then.ends, other.ends))
            if not condition.moves:
                found.move = meet(found.move, hull(then.move, other.move))
        return found

    def truth(self, a: Entry) -> Entry:
        if a.whole and a.ends[0] >= 0 and a.ends[1] <= 1:
            return a
        return self.sum(
            [(ONE, self.number(ONE)), (-ONE, self.compare("equal", a, self.number(ZERO)))]
        )

    def raised(self, a: Entry, b: Entry) -> Entry:
        n = b.constant
        if n == F(1, 2):
            return self.function("sqrt", a)
        if not isinstance(n, F) or n.denominator != 1 or abs(n) > 16:
            return self.unknown("power", [a, b])
        found = self.number(ONE)
        for _ in range(abs(int(n)) // 2):
            found = self.multiply(found, self.multiply(a, a))
        found = self.multiply(found, a) if n % 2 else found
        return found if n >= 0 else self.function("inverse", found)

    def remainder(self, a: Entry, b: Entry) -> Entry:
        c, whole = b.constant, a.whole and b.whole
        if not isinstance(c, F) or c <= 0:
            return self.unknown("remainder", [a, b])
        if a.ends[0] >= 0 and a.ends[1] < c:
            return a
        return self.opaque("remainder", [a, b], (ZERO, c - whole), (-c, c), whole=whole)

    def unknown(self, name: str, args: Any, extra: Any = None) -> Entry:
        """Return what no rule bounds: it does harm only where it moves."""
        return self.opaque(name, args, (-INF, INF), (-INF, INF), extra)


def verdict(name: str, x: Any) -> Any:
    """Return whether an interval of differences is below 0, or 0, as a number; None if unknown."""
    sure = x[1] < 0 if name == "less" else x[0] == x[1] == 0
    never = x[0] >= 0 if name == "less" else x[0] > 0 or x[1] < 0
    return ONE if sure else ZERO if never else None


ENTRYWISE: dict[str, Any] = {
    "add": lambda g, a, b: g.sum([(ONE, a), (ONE, b)]),
    "subtract": lambda g, a, b: g.sum([(ONE, a), (-ONE, b)]),
    "multiply": lambda g, a, b: g.multiply(a, b),
    "divide": lambda g, a, b: g.multiply(a, g.function("inverse", b)),
    "maximum": lambda g, a, b: g.extreme("maximum", [a, b]),
    "minimum": lambda g, a, b: g.extreme("minimum", [a, b]),
    "less": lambda g, a, b: g.compare("less", a, b),
    "less_equal": lambda g, a, b: g.sum([(ONE, g.number(ONE)), (-ONE, g.compare("less", b, a))]),
    "equal": lambda g, a, b: g.compare("equal", a, b),
    "not_equal": lambda g, a, b: g.sum([(ONE, g.number(ONE)), (-ONE, g.compare("equal", a, b))]),
    "logical_and": lambda g, a, b: g.multiply(g.truth(a), g.truth(b)),
    "logical_or": lambda g, a, b: g.extreme("maximum", [g.truth(a), g.truth(b)]),
    "logical_xor": lambda g, a, b: g.sum(
        [(ONE, g.truth(a)), (ONE, g.truth(b)), (-TWO, g.multiply(g.truth(a), g.truth(b)))]
    ),
    "logical_not": lambda g, a: g.sum([(ONE, g.number(ONE)), (-ONE, g.truth(a))]),
    "where": lambda g, a, b, c: g.where(a, b, c),
    "power": lambda g, a, b: g.raised(a, b),
    "remainder": lambda g, a, b: g.remainder(a, b),
    "negative": lambda g, a: g.sum([(-ONE, a)]),
    "expm1": lambda g, a: g.sum([(ONE, g.function("exp", a)), (-ONE, g.number(ONE))]),
    "log1p": lambda g, a: g.function("log", g.sum([(ONE, g.number(ONE)), (ONE, a)])),
    "tan": lambda g, a: g.unknown("tan", [a]),
    "sign": lambda g, a: g.sum(
        [(ONE, g.compare("less", g.number(ZERO), a)), (-ONE, g.compare("less", a, g.number(ZERO)))]
    ),
    "tanh": lambda g, a: g.sum(
        [
            (ONE, g.number(ONE)),
            (
                -TWO,
                g.function(
                    "inverse",
                    g.sum([(ONE, g.number(ONE)), (ONE, g.function("exp", g.sum([(TWO, a)])))]),
                ),
            ),
        ]
    ),
    **{
        name: (lambda g, a, name=name: g.function(name, a))
        for name in {*SMOOTH, *STEPS} - {"inverse"}
    },
}


# --- arrays, and the reading of a program when one record changes ---------------------------------

class Array:
    """Entries in the order of C; ``axis`` is that of records where they are alike: two rows."""

    def __init__(self, shape: Any, items: Any, axis: Any = None) -> None:
        self.shape, self.items, self.axis = tuple(shape), list(items), axis
        self.step = strides(self.shape)[axis] if axis is not None else 0

    def is_first(self, flat: int) -> bool:
        return not self.step or flat // self.step % 2 == 0

def strides(shape: Any) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]

def places(key: Any, steps: Any) -> list[int]:
    return [
        sum(p) for p in product(*([i * s for i in at] for at, s in zip(key, steps, strict=True)))
    ]


class Reading(Ground):
    """What a program does when one record changes."""

    def __init__(self, universe: Any, changed: Any, alike: bool, budget: list[int]) -> None:
        super().__init__(budget)
        self.universe, self.changed, self.alike = universe, changed, alike
        self.adds, self.count = universe["change"] == "add-remove", universe["records"]
        self.others = F(RECORDS if self.adds else self.count - 1)
        self.events, self.owners, self.laws = list[Any](), dict[Any, Any](), dict[Any, str]()
        self.of_rows = set[Any]()  # draws that stand for those of all other records
        self.weight = self.new("leaf", (), (ZERO, ONE), (ONE, ONE), whole=True)
        self.before = self.number(self.others)
        if self.adds:
            self.before = self.new("leaf", (), (ZERO, self.others), (ZERO, ZERO), whole=True)

    def data(self, name: str) -> Array:
        (part,) = (one for one in self.universe["parts"] if one["name"] == name)
        items, rows = [], range(2 if self.alike else self.count)
        for row, (cell, ends) in product(rows, enumerate(part["ends"])):
            key, own = ("leaf", name, row, cell), row == self.changed[0]
            mine = own and part["is_changed"] and self.changed[1] in (None, (name, cell))
            if key not in self.calls:
                self.calls[key] = self.number(ends[0]) if ends[0] == ends[1] else self.new(
                    "leaf", (), ends, (-INF, INF) if mine and not self.adds else (ZERO, ZERO),
                    whole=part["is_integer"], local=self.alike and not own,
                    ball=(("data", name, row), cell, times(part["norm"], part["norm"]), None))
            items.append(self.calls[key])
        return Array((len(rows), *part["shape"][1:]), items, 0 if self.alike else None)

    def drawn(self, node: Any) -> Array:
        given, shape = node["parameters"], list(node["shape"])
        rows = self.alike and bool(shape) and shape[0] == self.count
        shape[:1] = [2] if rows else shape[:1]
        self.spend(math.prod(shape))
        draws = [(given["number"], place) for place in range(math.prod(shape))]
        law = given["law"] if given.keys() == {"law", "number"} else "unknown"
        self.laws.update(dict.fromkeys(draws, law))
        self.of_rows.update(draws[len(draws) // 2 :] if rows else ())
        items = [self.noisy(self.number(ZERO), {draw: ONE}) for draw in draws]
        return Array(shape, items, 0 if rows else None)

    # --- shapes

    def together(self, arrays: Any) -> Any:
        """Return arrays broadcast to one shape."""
        rank = max(len(one.shape) for one in arrays)
        axes = {one.axis + rank - len(one.shape) for one in arrays if one.axis is not None}
        if len(axes) > 1:
            raise NotAlike
        axis = axes.pop() if axes else None
        arrays = [self.compressed(one, axis, rank) for one in arrays]
        shapes = [(1,) * (rank - len(one.shape)) + one.shape for one in arrays]
        target = [max(ns, key=lambda n: (n != 1, n)) for ns in zip(*shapes, strict=True)]
        return [self.stretched(one, target, axis) for one in arrays]

    def compressed(self, array: Array, axis: Any, rank: int) -> Array:
        """Return two rows of an array that has a row for each record, all alike."""
        axis = -1 if axis is None else axis - rank + len(array.shape)
        if axis < 0 or array.axis is not None or array.shape[axis] == 1:
            return array
        key = [range(n) for n in array.shape]
        rows = [self.picked(array, [*key[:axis], [i], *key[axis + 1 :]]).items for i in key[axis]]
        if len(rows) != self.count or len(rows) < 2 or any(row != rows[0] for row in rows):
            raise NotAlike
        found = self.picked(array, [*key[:axis], [0, 1], *key[axis + 1 :]])
        return Array(found.shape, found.items, axis)

    def stretched(self, array: Array, target: Any, axis: Any) -> Array:
        shape = (1,) * (len(target) - len(array.shape)) + array.shape
        if len(shape) != len(target) or any(
            n not in (1, m) for n, m in zip(shape, target, strict=True)
        ):
            raise NotVerified("shapes do not fit together")
        steps = [0 if n == 1 else step for n, step in zip(shape, strides(shape), strict=True)]
        self.spend(math.prod(target) // 4)
        return Array(target, [array.items[i] for i in places(map(range, target), steps)], axis)

    def picked(self, array: Array, key: Any) -> Array:
        self.spend(math.prod(map(len, key)) // 4)
        found = places(key, strides(array.shape))
        return Array([len(at) for at in key], [array.items[i] for i in found], array.axis)

    def positions(self, key: Any, array: Array) -> Any:
        if len(key) != len(array.shape) or (array.axis is not None and key[array.axis] is not None):
            raise NotAlike
        return [range(n) if at is None else [range(n)[i] for i in at]
                for at, n in zip(key, array.shape, strict=True)]

    def axes(self, axis: Any, array: Array) -> list[int]:
        listed: Any = axis if isinstance(axis, list) else [axis]
        listed = range(len(array.shape)) if axis is None else listed
        found = sorted({range(len(array.shape))[one] for one in listed})
        if len(found) != len(listed):
            raise NotVerified("an axis twice")
        return found

    def arranged(self, name: str, given: Any, arrays: Any) -> Array:
        """Return entries in another order or shape."""
        items: Any
        array: Array = arrays[0]
        axis: Any = array.axis
        rank = len(array.shape)
        if name == "take":
            return self.picked(array, self.positions(given["key"], array))
        if name == "transpose":
            axes = list(range(rank))[::-1] if given["axes"] is None else given["axes"]
            if sorted(axes) != list(range(rank)):
                raise NotVerified("transpose: no order of the axes")
            shape, steps = [array.shape[i] for i in axes], strides(array.shape)
            items = [array.items[i] for i in places(map(range, shape), [steps[i] for i in axes])]
            return Array(shape, items, None if axis is None else axes.index(axis))
        if name == "broadcast":
            target = list(given["shape"])
            if None in target:
                axis = target.index(None)
            elif axis is not None:
                axis += len(target) - rank
            if axis is not None:
                target[axis] = 2
            return self.stretched(array, target, axis)
        if name == "reshape":
            return self.reshaped(array, list(given["shape"]))
        if name == "assign":
            key = self.positions(given["key"], array)
            value = self.stretched(arrays[1], [len(at) for at in key], None)
            found = places(key, strides(array.shape))
            if axis is not None or arrays[1].axis is not None or len(set(found)) < len(found):
                raise NotAlike
            items = {**dict(enumerate(array.items)), **dict(zip(found, value.items, strict=True))}
            return Array(array.shape, [items[i] for i in range(len(items))])
        (along,) = self.axes(given["axis"], array)
        if any(one.axis != axis or one.axis == along or one.shape[:along] != array.shape[:along]
               or one.shape[along + 1 :] != array.shape[along + 1 :] for one in arrays):
            raise NotAlike
        rows = [(one.items, math.prod(one.shape[along:])) for one in arrays]
        outer = range(math.prod(array.shape[:along]))
        items = [one for i in outer for part, n in rows for one in part[i * n : (i + 1) * n]]
        length = sum(one.shape[along] for one in arrays)
        return Array((*array.shape[:along], length, *array.shape[along + 1 :]), items, axis)

    def reshaped(self, array: Array, shape: Any) -> Array:
        """Return an array of another shape; what is before and after records keeps its size."""
        axis = array.axis
        if axis is not None:
            sides = [math.prod(array.shape[:axis]), math.prod(array.shape[axis + 1 :])]
            wide = [one or 0 for one in shape]
            axis = next((i for i, n in enumerate(shape) if n == self.count and sides == [
                math.prod(wide[:i]), math.prod(wide[i + 1 :])]), None)
            if axis is None:
                raise NotAlike
            shape[axis] = 2
        if math.prod(shape) != len(array.items) or any(n < 0 for n in shape):
            raise NotVerified("reshape: another number of entries")
        return Array(shape, array.items, axis)

    # --- sums and other reductions

    def of_others(self, entry: Entry) -> Entry:
        """Return the sum of an entry over all records but the one that changes."""
        many = (ZERO if self.adds else self.others, self.others)
        if entry.poly is None or entry.bad:
            found = self.opaque("others", [entry], mul(many, entry.ends), mul(many, entry.move))
        else:
            poly: dict[Any, Any] = {}
            for term, coefficient in entry.poly.items():
                near = [self.entries[one] for one in term if self.entries[one].local]
                rest = [one for one in term if not self.entries[one].local]
                own, far = self.bounds([one.key for one in near])
                whole = all(one.whole for one in near)
                atom = self.opaque("others", near, mul(many, own), mul(many, far), whole=whole) \
                    if near else self.before
                atom.local = False
                for more, factor in atom.poly.items():
                    place = tuple(sorted((*rest, *more)))
                    poly[place] = poly.get(place, ZERO) + coefficient * factor
            poly = {term: value for term, value in poly.items() if value}
            found = self.of_poly(poly, mul(many, entry.ends), mul(many, entry.move))
        found.local = False
        if entry.squares is not None and not self.adds:
            found.squares = tuple((f * self.others, one) for f, one in entry.squares)
        return found

    def reduced(self, name: str, given: Any, array: Array) -> Array:
        axes, axis, rank = self.axes(given["axis"], array), array.axis, len(array.shape)
        left = [i for i in range(rank) if i not in axes]
        steps = strides(array.shape)
        outer, inner = (places([range(array.shape[i]) for i in group], [steps[i] for i in group])
                        for group in (left, axes))
        self.spend(len(outer) * len(inner) // 4)
        records = axis in axes
        lengths = [self.count if i == axis else array.shape[i] for i in axes]
        number = 0 if None in lengths else math.prod(lengths)
        if name != "sum" and not number:
            raise NotVerified(f"{name} of nothing, or of an unknown number")
        shape, items = [array.shape[i] for i in left], []
        factor = F(1, number) if name == "mean" else ONE
        q = given.get("q", F(1, 2))
        for start in outer:
            part = [(array.items[start + i], array.is_first(start + i)) for i in inner]
            if name in ("sum", "mean"):
                items.append(
                    self.sum(
                        [
                            (
                                factor,
                                self.of_others(one)
                                if records and not first
                                else self.multiply(one, self.weight)
                                if records and self.adds
                                else one,
                            )
                            for one, first in part
                        ]
                    )
                )
            elif records and name not in ("max", "min", "median", "quantile"):
                raise NotAlike
            else:
                kept = [one for one, first in part if first or not records or self.others]
                one = self.of_part(name, kept, number, q)
                if records:  # a number of all records, whatever one of the others is
                    one = self.opaque(
                        "of rows", [one], one.ends, one.move, (name, q), whole=one.whole
                    )
                    one.local = False
                items.append(one)
        return Array(shape, items, None if records or axis is None else left.index(axis))

    def of_part(self, name: str, part: Any, number: int, q: Any) -> Entry:
        """Return a reduction of numbers.

        A quantile moves by no more than the largest move. Where one number alone moves, the two in
        order that it interpolates stay between neighbours of the others: max(t, 1 - t) times the
        width at most.
        """
        if name in ("max", "min"):
            return self.extreme("maximum" if name == "max" else "minimum", part)
        if name == "prod":
            found = self.number(ONE)
            for one in part:
                found = self.multiply(found, one)
            return found
        if name in ("argmax", "argmin"):
            far = F(number - 1)
            return self.opaque(name, part, (ZERO, far), (-far, far), whole=True)
        if not isinstance(q, F) or not 0 <= q <= 1:
            raise NotVerified("quantile: no rule knows several at once")
        ends, move = hull(*(one.ends for one in part)), hull(*(one.move for one in part))
        moving, share = [one for one in part if one.moves], q * (number - 1) % 1
        if len(moving) == 1 and not moving[0].local:
            far = times(max(share, 1 - share), ends[1] - ends[0])
            move = meet(move, (-far, far))
        return self.opaque("order", part, ends, move, (q, number))

    def matrices(self, a: Array, b: Array) -> Array:
        """Return a product of matrices or vectors: a sum of products along a new last axis."""
        m, n = len(a.shape), len(b.shape)
        if m > 2 or n > 2 or not m or not n:
            raise NotVerified("matmul: no rule knows more than two axes")
        b = self.arranged("transpose", {"axes": None}, [b])
        left = Array((*a.shape[:-1], *[1] * (n - 1), a.shape[-1]), a.items,
                     None if a.axis is None else a.axis + (n - 1) * (a.axis == m - 1))
        both = self.together([left, b])
        cells = [self.multiply(*pair) for pair in zip(both[0].items, both[1].items, strict=True)]
        return self.reduced("sum", {"axis": -1}, Array(both[0].shape, cells, both[0].axis))

    def counted(self, array: Array, edges: Any) -> Array:
        """Return how many entries lie in each bin: of one entry, they lie in a ball."""
        if len(edges) < 2 or any(not a < b for a, b in pairwise(edges)):
            raise NotVerified("bin_counts: edges that do not grow")
        items = [self.opaque("bin", [one], (ZERO, ONE), (-ONE, ONE), (n, *edges), whole=True,
                             ball=(("bin", one.key, *edges), n, ONE, ONE))
                 for one in array.items for n in range(len(edges) - 1)]
        cells = Array((*array.shape, len(edges) - 1), items, array.axis)
        return self.reduced("sum", {"axis": list(range(len(array.shape)))}, cells)

    # --- noise, and what happens where somebody looks

    def noisy(self, centre: Entry, noise: dict[Any, F]) -> Entry:
        noise = {draw: factor for draw, factor in noise.items() if factor}
        if (key := ("noisy", centre.key, *sorted(noise.items()))) not in self.calls:
            self.calls[key] = (
                centre
                if not noise
                else self.new(
                    "noisy",
                    (centre,),
                    (-INF, INF),
                    centre.move,
                    bad=centre.bad,
                    noise=noise,
                    poly=None,
                    local=centre.local or not self.of_rows.isdisjoint(noise),
                    whole=centre.whole,
                )
            )
        return self.calls[key]

    def linear(self, name: str, group: Any) -> Any:
        """Return a sum with noise, or a public multiple of noise; None if it is neither."""
        a, b = group[0], group[-1]
        if any(one.noise and one.args[0].constant is None for one in group):
            return None  # it hides something already
        centres = [one.args[0] if one.noise else one for one in group]
        if name in ("add", "subtract"):
            sign = ONE if name == "add" else -ONE
            noise = dict(a.noise or {})
            for draw, factor in (b.noise or {}).items():
                noise[draw] = noise.get(draw, ZERO) + sign * factor
            return self.noisy(self.sum([(ONE, centres[0]), (sign, centres[1])]), noise)
        one, other = (b, a) if name == "multiply" and b.noise else (a, b)
        factor = -ONE if name == "negative" else other.constant
        if (
            name not in ("negative", "multiply", "divide")
            or not isinstance(factor, F)
            or not factor
        ):
            return None
        factor = 1 / factor if name == "divide" else factor
        return (
            self.noisy(
                self.sum([(factor, one.args[0])]), {d: f * factor for d, f in one.noise.items()}
            )
            if one.noise
            else None
        )

    def own(self, draws: Any, owner: Any) -> None:
        for draw in draws:
            if self.owners.setdefault(draw, owner) != owner:
                raise NotVerified("noise is used twice")

    def shown(self, array: Array, index: int) -> Array:
        """Return what an array is once somebody has looked: an event, and public numbers."""
        fresh = [one for one in dict.fromkeys(array.items) if one.noise and one.shown is None]
        for one in fresh:
            if one.bad and one.moves:
                raise NotVerified(f"node {index}: {one.bad}")
            self.own(one.noise, one.key)
            ends: Any = (-INF, INF)
            if one.args[0].constant is not None and len(one.noise) == 1:
                ((draw, factor),) = one.noise.items()
                ends = {"uniform": (ZERO, ONE), "exponential": (ZERO, INF)}.get(
                    self.laws[draw], ends
                )
                ends = add(scale(factor, ends), one.args[0].ends)
            one.shown = self.new("coin", (), ends, (ZERO, ZERO), local=one.local, whole=one.whole,
                                 extra=tuple(one.noise))
        hiding = [one for one in fresh if one.moves]
        if hiding:
            self.released(hiding, index)
        return Array(
            array.shape, [one.shown if one.noise else one for one in array.items], array.axis
        )

    def hidden_by(self, entry: Entry) -> Any:
        """Return the law that noise has, and its scale, or its variance if it is normal."""
        laws, factors = {self.laws[draw] for draw in entry.noise}, list(entry.noise.values())
        if laws == {"normal"}:
            return "normal", sum(f * f for f in factors)
        if laws in ({"laplace"}, {"logistic"}):  # others than the widest are as good as public
            return "laplace", max(map(abs, factors))
        if laws == {"exponential"} and len(factors) == 2 and sum(factors) == 0:
            return "laplace", abs(factors[0])  # their difference
        raise NotVerified("noise that no rule knows hides a record")

    def released(self, hiding: Any, index: int) -> None:
        """Note an event: each entry costs by itself, or those of a ball together."""
        groups: dict[Any, Any] = {}
        for one in hiding:
            (law, width), centre = self.hidden_by(one), self.sharp(one.args[0])
            members = self.members(centre)
            group = next(iter(members)).ball[0] if members else one.key
            weight = self.others if one.local else ONE
            groups.setdefault((law, width, group), []).append((centre, members, weight))
        for name in ("laplace", "normal"):
            self.event(
                name,
                index,
                total(
                    self.group_cost(law, width, rows)
                    for (law, width, _), rows in groups.items()
                    if law == name
                ),
            )

    def members(self, centre: Entry) -> dict[Entry, F]:
        """Return {entry of a ball: factor} where a centre moves by a sum of these; else nothing."""
        found = {}
        for term, factor in (centre.poly or {}).items():
            if any(self.entries[one].moves for one in term):
                rest = [self.entries[one] for one in term if one != self.weight.key]
                if len(rest) != 1 or not rest[0].ball or isinstance(rest[0].ball[2], float) \
                        or (self.weight.key in term) != self.adds:
                    return {}
                found[rest[0]] = factor
        return found if len({one.ball[0] for one in found}) == 1 else {}

    def group_cost(self, law: str, width: F, rows: Any) -> Any:
        """Return what centres cost that move by a public matrix times a vector of a ball.

        The squared L2 norm of a matrix is at most its largest row sum times its largest column sum;
        |u - v|^2 = |u|^2 + |v|^2 - 2 <u, v>, which is less where both are positive.
        """
        far1 = total(times(weight, size(one.move)) for one, _, weight in rows)
        far2 = total(
            times(weight, times(size(one.move), size(one.move))) for one, _, weight in rows
        )
        columns: dict[Any, Any] = {}
        for _, members, _ in rows:
            for one, factor in members.items():
                columns[one] = columns.get(one, ZERO) + abs(factor)
        if columns:
            ball = next(iter(columns)).ball
            wide = max(sum(map(abs, members.values())) for _, members, _ in rows) * max(
                columns.values()
            )
            apart = 1 if self.adds else 2 if all(one.ends[0] >= 0 for one in columns) else 4
            far2 = min(far2, wide * apart * ball[2])
            if ball[3]:
                far1 = min(far1, max(columns.values()) * ball[3] * (1 if self.adds else 2))
        far1 = min(far1, root(times(total(row[2] for row in rows), far2), True))  # Cauchy, Schwarz
        return (
            times(min(far2, times(far1, far1)), 1 / width)
            if law == "normal"
            else times(far1, 1 / width)
        )

    def event(self, law: str, index: int, cost: Any) -> None:
        if not cost < INF:
            raise NotVerified(f"node {index}: nothing bounds how far the value moves")
        if cost:
            self.events.append((index, law, rounded(cost, True)))

    def selected(self, name: str, array: Array, index: int) -> Any:
        """Return the public result of an argmax of scores with noise; None if it is none."""
        sign = 1 if name == "argmax" else -1
        noise = [one.noise or {} for one in array.items]
        draws, factors = (
            {d for one in noise for d in one},
            {f * sign for one in noise for f in one.values()},
        )
        laws = {self.laws[draw] for draw in draws}
        if (
            any(len(one) != 1 for one in noise)
            or len(draws) < len(noise)
            or array.axis is not None
            or len(laws) > 1
            or len(factors) > 1
            or not laws <= {"gumbel", "exponential", "laplace"}
        ):
            return None
        (law,), (factor,) = laws, factors
        if any(one.bad for one in array.items) or (law != "laplace" and factor < 0):
            return None
        self.own(draws, ("argmax", index))
        moves = [self.sharp(one.args[0]).move for one in array.items]
        cost = max(x[1] for x in moves) - min(x[0] for x in moves)
        self.event("argmax", index, max(cost / abs(factor), ZERO))
        return self.new("coin", (), (ZERO, F(len(noise) - 1)), (ZERO, ZERO), whole=True)

    # --- the largest move of one number, by a search in boxes

    def sharp(self, entry: Entry) -> Entry:
        """Return an entry whose move is the best of its rules and of a search."""
        boxes: dict[Any, Any] = {}
        moving = [t for t in entry.poly or {} if any(self.entries[one].moves for one in t)]
        linear = all(len(term) == 1 and self.entries[term[0]].op == "leaf" for term in moving)
        if not linear and all(self.variables(t, boxes) for t in moving) and len(boxes) <= VARIABLES:
            high = self.largest(entry, boxes, ONE)
            low = -self.largest(entry, boxes, -ONE) if self.adds else -high
            entry.move = meet(entry.move, (low, high))
        return entry

    def variables(self, keys: Any, boxes: dict[Any, Any]) -> bool:
        """Collect the numbers that decide entries; return whether a search can follow them all."""
        for one in (self.entries[key] for key in keys):
            if one.bad:
                return False
            if one.op == "number":
                continue
            if one is self.weight:
                boxes[one.key, 0], boxes[one.key, 1] = (ZERO, ZERO), (ONE, ONE)
            elif one.op == "leaf" or not one.moves:
                for side in (0, 1) if one.moves else (2,):
                    boxes[one.key, side] = one.ends
            elif one.op == "sum":
                if not all(self.variables(term, boxes) for term in one.poly):
                    return False
            elif one.op not in FOLLOWED or not self.variables([a.key for a in one.args], boxes):
                return False
            if len(boxes) > VARIABLES or isinstance(size(one.ends), float):
                return False
        return True

    def largest(self, entry: Entry, boxes: Any, sign: F) -> Any:
        """Return a number that the move, times a sign, is never above."""
        sides = {side for _, side in boxes}
        if sides == {0, 1}:  # no number is on both sides: each is searched by itself
            return total(self.largest(entry, {v: x for v, x in boxes.items() if v[1] == side}, sign)
                         for side in (0, 1))
        best, heap, pending = -INF, list[Any](), [dict(boxes)]
        for left in reversed(range(BOXES)):
            for box in pending:
                if (found := self.bounded(entry, box, sign)) is None:
                    return INF
                best = max(best, found[1])
                heapq.heappush(heap, (-found[0], len(heap), id(box), box, found[2]))
            top, _, _, box, slopes = heap[0]
            if not left or -top <= best + abs(best) / 10**11:
                break
            heapq.heappop(heap)
            wide = max(
                box,
                key=lambda v: times(
                    box[v][1] - box[v][0], min(size(slopes.get(v, (ZERO, ZERO))), 10**9)
                ),
            )
            (low, high), middle = box[wide], sum(box[wide]) / 2
            pending = [{**box, wide: (low, middle)}, {**box, wide: (middle, high)}]
        return -heap[0][0]

    def bounded(self, entry: Entry, box: Any, sign: F) -> Any:
        """Return a bound from above, a value that is reached, and slopes; shrink the box."""
        while True:
            if (found := self.difference(entry, box, sign)) is None:
                return None
            value, slopes = found
            steep = [
                v
                for v, (a, b) in box.items()
                if a < b and v in slopes and (slopes[v][0] >= 0 or slopes[v][1] <= 0)
            ]
            for v in steep:
                box[v] = (box[v][1],) * 2 if slopes[v][0] >= 0 else (box[v][0],) * 2
            if not steep:
                break
        inner = self.difference(entry, {v: ((a + b) / 2,) * 2 for v, (a, b) in box.items()}, sign)
        reach = total(
            times(size(slopes.get(v, (ZERO, ZERO))), (b - a) / 2) for v, (a, b) in box.items()
        )
        return inner and (min(value[1], inner[0][1] + reach), inner[0][0], slopes)

    def difference(self, entry: Entry, box: Any, sign: F) -> Any:
        """Return the move of an entry over a box, and its slopes."""
        parts = []
        for term, coefficient in entry.poly.items():
            near = [one for one in term if self.entries[one].moves]
            rest = [one for one in term if not self.entries[one].moves]
            if near:
                here = {side for _, side in box}
                sides = [(F(2 * side - 1), self.of_term(near, box, side)) for side in {0, 1} & here]
                still = self.of_term(rest, box, 0)
                if still is None or any(one is None for _, one in sides):
                    return None
                parts.append((coefficient * sign, both(plus(sides), still)))
        return plus(parts)

    def of_term(self, keys: Any, box: Any, side: int) -> Any:
        found: Any = ((ONE, ONE), {})
        for key in dict.fromkeys(keys):
            if (one := self.of_entry(self.entries[key], box, side)) is None:
                return None
            n = list(keys).count(key)
            if n > 1:
                steep = scale(F(n), power(one[0], n - 1))
                one = power(one[0], n), {v: mul(steep, g) for v, g in one[1].items()}
            found = both(found, one)
        return found

    def of_entry(self, entry: Entry, box: Any, side: int) -> Any:
        """Return ends and slopes of an entry on one side over a box; None where it has none."""
        self.spend(10)
        place = (entry.key, side if entry.moves else 2)
        if place in box:
            return box[place], {place: (ONE, ONE)}
        if entry.op in ("sum", "number"):
            terms = [(c, self.of_term(t, box, side)) for t, c in entry.poly.items()]
            return None if any(one is None for _, one in terms) else plus(terms)
        args = [self.of_entry(one, box, side) for one in entry.args]
        if None in args:
            return None
        name, (x, slopes) = entry.op, args[0]
        if name in SMOOTH:
            if (value := image(name, x)) is None:
                return None
            steep = slope(name, x, value)
            return value, {v: mul(steep, g) for v, g in slopes.items()}
        every = {v for one in args for v in one[1]}
        if name in ("less", "equal"):
            known = verdict(name, add(x, scale(-ONE, args[1][0])))
            return (
                ((known, known), {})
                if known is not None
                else ((ZERO, ONE), dict.fromkeys(every, (-INF, INF)))
            )
        sign = 1 if name == "maximum" else -1
        pick = max if sign > 0 else min
        value = pick(one[0][0] for one in args), pick(one[0][1] for one in args)
        alive = [one for one in args if one[0][sign > 0] * sign >= value[sign < 0] * sign]
        return value, {v: hull(*(one[1].get(v, (ZERO, ZERO)) for one in alive)) for v in every}

    # --- operations

    def value(self, index: int, node: Any, arrays: Any) -> Array:
        """Return what a node is."""
        name, given = node["operation"], node["parameters"]
        if name in ("data", "draw"):
            if any(one.moves or one.bad for array in arrays for one in array.items):
                raise NotVerified(f"node {index}: records decide a law")
            return self.data(given["part"]) if name == "data" else self.drawn(node)
        if name == "size":
            return Array(
                (),
                [
                    self.sum(
                        [(ONE, self.before), (ONE, self.weight if self.adds else self.number(ONE))]
                    )
                ],
            )
        if name == "constant":
            return Array(
                node["shape"], [self.number(one) for one in flat(given["value"], node["shape"])]
            )
        if (
            name in ("argmax", "argmin")
            and len(arrays[0].shape) == 1
            and given["axis"] in (None, 0, -1)
        ):
            if (chosen := self.selected(name, arrays[0], index)) is not None:
                return Array((), [chosen])
        if name in ("take", "transpose", "broadcast", "reshape", "assign", "concatenate"):
            return self.arranged(name, given, arrays)
        noisy = any(one.noise for array in arrays for one in array.items)
        if noisy and name in ("add", "subtract", "multiply", "divide", "negative"):
            both = self.together(arrays)
            groups = list(zip(*(one.items for one in both), strict=True))
            items = [self.linear(name, group) if any(one.noise for one in group)
                     else ENTRYWISE[name](self, *group) for group in groups]
            if None not in items:
                return Array(both[0].shape, items, both[0].axis)
        arrays = [self.shown(one, index) for one in arrays] if noisy else arrays
        if name in ("decide", "within"):
            return Array(
                arrays[0].shape,
                [self.inside(one, given) for one in arrays[0].items],
                arrays[0].axis,
            )
        if name in ("sum", "prod", "max", "min", "mean", "median", "argmax", "argmin", "quantile"):
            return self.reduced(name, given, arrays[0])
        if name == "matmul":
            return self.matrices(*arrays)
        if name == "bin_counts":
            return self.counted(arrays[0], given["edges"])
        arrays = self.together(arrays)
        groups = list(zip(*(one.items for one in arrays), strict=True))
        return Array(
            arrays[0].shape, [ENTRYWISE[name](self, *group) for group in groups], arrays[0].axis
        )

    def inside(self, entry: Entry, given: Any) -> Entry:
        low, high = given.get("low", -INF), given.get("high", INF)
        known = low <= entry.ends[0] and entry.ends[1] <= high
        return entry if known else self.opaque("within", [entry], None, None, (low, high))


FOLLOWED = {*SMOOTH, "maximum", "minimum", "less", "equal"}

def plus(terms: Any) -> Any:
    value, slopes = (ZERO, ZERO), dict[Any, Any]()
    for factor, (x, g) in terms:
        value = add(value, scale(factor, x))
        for v, one in g.items():
            slopes[v] = add(slopes.get(v, (ZERO, ZERO)), scale(factor, one))
    return value, slopes

def both(a: Any, b: Any) -> Any:
    slopes = {v: mul(a[1].get(v, (ZERO, ZERO)), b[0]) for v in {**a[1], **b[1]}}
    for v, g in b[1].items():
        slopes[v] = add(slopes[v], mul(g, a[0]))
    return mul(a[0], b[0]), slopes


# --- what events cost together --------------------------------------------------------------------

def normal(x: F, up: bool) -> Any:
    """Return the probability that a standard normal number is below x, rounded."""
    t, square, bits = abs(x), x * x, 400
    pi = F(
        "3.14159265358979323846264338327950288419716939937510582097494"
    )  # and at most 1e-59 more
    least = series("exp", -square / 2, False) / root(2 * pi + F(1, 10**58), True)
    most = series("exp", -square / 2, True) / root(2 * pi, False)
    if t > 12:  # t / (1 + t^2) < tail / density < 1 / t
        below, above = least * t / (1 + square), most / t
    else:
        term, n = math.floor(t * 2**bits), 1
        grown = F(term)
        while term or n < 2 * square:  # density times t + t^3 / 3 + t^5 / 15 + ... from 0 to t
            term = term * square.numerator // (square.denominator * (n + 2))
            grown, n = grown + term, n + 2
        grown, error = grown / 2**bits, F(1, 2**250)
        below, above = F(1, 2) - most * (grown + error), F(1, 2) - least * (grown - error)
    below, above = max(below, ZERO), max(above, ZERO)
    return rounded((1 - below if up else 1 - above) if x > 0 else above if up else below, up)

def delta_of_mu(epsilon: F, square: F) -> Any:
    """Return the delta of Gaussian noise with a squared mu, rounded up."""
    mus = [root(square, up) for up in (True, False)]
    first = max(-epsilon / mu + mu / 2 for mu in mus)
    second = min(-epsilon / mu - mu / 2 for mu in mus)
    return normal(first, True) - series("exp", epsilon, False) * normal(second, False)

def delta_of_rho(epsilon: F, rho: F) -> Any:
    """Return a delta of rho-zCDP (Canonne, Kamath, Steinke 2020), rounded up, at the best order."""
    def at(a: float) -> float:
        return (
            (a - 1) * (a * float(rho) - float(epsilon)) - math.log(a - 1) + a * math.log1p(-1 / a)
        )

    order = F(min((1 + 10 ** (k / 200) for k in range(-800, 1600)), key=at))
    exponent = (order - 1) * (order * rho - epsilon) + order * series("log", 1 - 1 / order, True)
    return series("exp", exponent, True) / (order - 1)


class Cost:
    """What the events of one path cost: pure epsilon, squared mu, and rho of all."""

    def __init__(self, events: Any, count: int = 1) -> None:
        pure = [cost * count for _, law, cost in events if law != "normal"]
        self.pure = total(pure)
        self.square = total(cost * count * count for _, law, cost in events if law == "normal")
        self.rho = total(x * x / 2 for x in pure) + self.square / 2

    def join(self, other: Cost) -> None:
        self.pure, self.square = max(self.pure, other.pure), max(self.square, other.square)
        self.rho = max(self.rho, other.rho)

    def holds(self, claim: Any) -> bool:
        """Return whether a claim follows: by pure epsilon, by Gaussian noise, or by zCDP."""
        if "mu" in claim:
            return not self.pure and self.square <= (claim["mu"] * SLACK) ** 2
        if "rho" in claim:
            return bool(self.rho <= claim["rho"] * SLACK)
        epsilon, delta = claim["epsilon"] * SLACK, claim["delta"]
        if self.pure <= epsilon and not self.square:
            return True
        return bool(delta > 0 and (delta >= 1 or (self.pure < epsilon and (
            delta_of_mu(epsilon - self.pure, self.square) <= delta)) or (self.rho < 10_000 and (
            delta_of_rho(epsilon, self.rho) <= delta))))


# --- the file -------------------------------------------------------------------------------------

PARAMETERS: dict[str, Any] = {
    "data": "part", "size": "", "constant": "value", "draw": None, "decide": "outcome",
    "within": "low high", "quantile": "axis q method", "take": "key", "assign": "key",
    "reshape": "shape", "broadcast": "shape", "transpose": "axes", "concatenate": "axis",
    "bin_counts": "edges", "matmul": "", **dict.fromkeys(ENTRYWISE, ""),
    **dict.fromkeys("sum prod max min mean median argmax argmin".split(), "axis"),
}
RANGES = {"float64": (-INF, INF), "bool": (0, 1),
          **{f"uint{n}": (0, 2**n - 1) for n in (8, 16, 32, 64)},
          **{f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)}}

def exact(value: Any) -> Any:
    """Return the number that a file writes: a number, "p/q", or an infinity."""
    if value in ("Infinity", "-Infinity"):
        return INF if value == "Infinity" else -INF
    if type(value) not in (bool, int, float, str) or len(str(value)) > 2000 or (
            isinstance(value, str) and not set(value) <= set("0123456789/-")):
        raise NotVerified("a number that is none")
    return F(value)

def exactly(value: Any) -> Any:
    return [exactly(one) for one in value] if isinstance(value, list) else exact(value)

def flat(value: Any, shape: Any) -> list[Any]:
    if shape and (not isinstance(value, list) or len(value) != shape[0]):
        raise NotVerified("a constant of another shape")
    return [one for item in value for one in flat(item, shape[1:])] if shape else [exact(value)]

def fields(given: Any, names: str) -> Any:
    if not isinstance(given, dict) or set(given) != set(names.split()):
        raise NotVerified(f"an object has other fields than {names}")
    return given

def whole(value: Any, least: int = 0, most: int = 10**9) -> int:
    if type(value) is not int or not least <= value <= most:
        raise NotVerified("a number that is no index, length or count")
    return value

def once(pairs: Any) -> Any:
    if len(dict(pairs)) < len(pairs):
        raise NotVerified("an object names something twice")
    return dict(pairs)

def universe_of(given: Any) -> Any:
    """Return the datasets and neighbours that a file states."""
    fields(given, "parts records change count relation of_cells")
    whole(given["count"], 1, 10**6)
    if given["change"] == "replace":
        whole(given["records"], 1, 10**7)
    elif given["change"] != "add-remove" or given["records"] is not None or given["of_cells"]:
        raise NotVerified("no rule knows this change")
    parts = []
    for one in given["parts"]:
        fields(one, "name shape low high is_integer norm categories is_changed")
        n, norm = math.prod(map(whole, one["shape"][1:])), exact(one["norm"])
        ends = [
            meet((exact(a), exact(b)), (-norm, norm))
            for a, b in zip(one["low"], one["high"], strict=True)
        ]
        if one["shape"][0] != given["records"] or len(ends) != n or any(a > b for a, b in ends):
            raise NotVerified("the shape of a part, or its ends")
        parts.append({**one, "ends": ends, "norm": norm})
    changed = [one["name"] for one in parts if one["is_changed"]]
    if (given["relation"] == "replace-label") != (len(changed) < len(parts)) or not changed:
        raise NotVerified("what changes is not what the relation says")
    removes, cells = given["relation"].startswith("add-remove"), given["relation"] == "replace-cell"
    users = given["relation"].endswith("-user")
    if removes != (given["change"] == "add-remove") or bool(given["of_cells"]) != cells:
        raise NotVerified("the change is not that of the relation")
    if given["count"] != 1 and not users:
        raise NotVerified("more records change than by the relation")
    if len({one["name"] for one in parts}) < len(parts) or not parts:
        raise NotVerified("parts of the same name, or none")
    return {**given, "parts": parts}

def node_of(index: int, given: Any) -> Any:
    """Return a node that can be followed, with its numbers as fractions."""
    fields(given, "operation operands parameters shape dtype place")
    name, parameters = given["operation"], given["parameters"]
    if name not in PARAMETERS or given["dtype"] not in RANGES:
        raise NotVerified(f"node {index}: no rule knows {name} of {given['dtype']}")
    if PARAMETERS[name] is not None:
        fields(parameters, PARAMETERS[name])
    for one in given["operands"]:
        whole(one, 0, index - 1)
    for one in given["shape"]:
        whole(0 if one is None else one)
    if parameters.get("method", "linear") != "linear":
        raise NotVerified(f"node {index}: no rule knows this quantile")
    numbers = {k: exactly(v) for k, v in parameters.items() if k in ("low", "high", "q", "edges")}
    return {**given, "parameters": {**parameters, **numbers}}

def fits(node: Any, array: Array, count: Any) -> bool:
    """Return whether an array has the shape and the range that its node states."""
    (low, high), shape = RANGES[node["dtype"]], list(array.shape)
    if array.axis is not None:
        shape[array.axis] = count
    integral = node["dtype"] == "float64" or all(
        one.bad or (one.whole and not one.noise) for one in array.items)
    ends = [one.args[0].ends if one.noise else one.ends for one in array.items if not one.bad
            and (one.moves or one.ends != (-INF, INF) or one.noise)]
    return integral and shape == node["shape"] and all(low <= a and b <= high for a, b in ends)

def read_path(universe: Any, path: Any, changed: Any, alike: bool, budget: list[int]) -> Any:
    """Return the events of one path when one record changes."""
    reading, (nodes, outputs) = Reading(universe, changed, alike, budget), path
    ends = {*outputs, *(i for i, one in enumerate(nodes) if one["operation"] == "decide")}
    pending, needed = list(ends), set(ends)
    while pending:
        more = set(nodes[pending.pop()]["operands"]) - needed
        pending, needed = [*pending, *more], needed | more
    arrays: dict[int, Array] = {}
    for index in sorted(needed):
        found = reading.value(
            index, nodes[index], [arrays[one] for one in nodes[index]["operands"]]
        )
        if not fits(nodes[index], found, universe["records"]):
            raise NotVerified(f"node {index}: its shape or range is not what the file states")
        arrays[index] = reading.shown(found, index) if index in outputs else found
        rows = reading.adds and arrays[index].axis is not None  # they tell how many there are
        if index in ends and (rows or any(one.moves for one in arrays[index].items)):
            raise NotVerified(f"node {index}: a record is returned, or decides")
    return reading.events

def is_complete(paths: Any, start: int = 0) -> bool:
    """Return whether paths are all ways through one program: each decision goes both ways."""
    first = paths[0][0]
    place = next((i for i in range(start, len(first)) if first[i]["operation"] == "decide"), None)
    if place is None:
        return len(paths) == 1
    alike = {k: v for k, v in first[place].items() if k != "parameters"}
    sides: dict[Any, Any] = {True: [], False: []}
    for path in paths:
        node = path[0][place] if place < len(path[0]) else {}
        if (
            path[0][start:place] != first[start:place]
            or {k: v for k, v in node.items() if k != "parameters"} != alike
        ):
            return False
        sides[node["parameters"]["outcome"]].append(path)
    return all(side and is_complete(side, place + 1) for side in sides.values())

def refusing(function: Any) -> Any:
    """Let a function verify nothing where a file is written as none should be."""
    @wraps(function)
    def called(given: Any) -> Any:
        try:
            return function(given)
        except NotAlike:
            raise NotVerified("no rule knows how it treats records") from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError,
                RecursionError, MemoryError) as error:
            raise NotVerified(f"it is not as it has to be ({type(error).__name__})") from error
    return called

@refusing
def check_instance(instance: Any) -> Any:
    """Return what a program costs, and its events as (path, node, law, cost).

    Raises
    ------
    NotVerified
        No rule bounds it, or the file is not what it has to be.
    """
    universe, budget, paths = universe_of(instance["universe"]), [WORK], []
    if not 0 < sum(len(one["nodes"]) for one in instance["paths"]) <= NODES:
        raise NotVerified("no nodes, or too many")
    for path in instance["paths"]:
        fields(path, "nodes outputs skeleton")
        nodes = [node_of(i, one) for i, one in enumerate(path["nodes"])]
        paths.append((nodes, [whole(one, 0, len(nodes) - 1) for one in path["outputs"]]))
    if not is_complete(paths):
        raise NotVerified("a decision goes one way, and no path the other")
    cells: Any = [None]
    if universe["of_cells"]:
        cells = [
            (one["name"], i)
            for one in universe["parts"]
            for i in range(len(one["ends"]))
            if one["is_changed"]
        ]
    cost, events = Cost([]), dict[Any, Any]()
    for n, path in enumerate(paths):
        try:
            runs = [read_path(universe, path, (0, cell), True, budget) for cell in cells]
        except NotAlike:
            if universe["change"] == "add-remove" or universe["records"] > 2000:
                raise NotVerified(
                    "it does not treat records alike, and they are too many"
                ) from None
            runs = [read_path(universe, path, (row, cell), False, budget)
                    for row in range(universe["records"]) for cell in cells]
        for found in runs:
            cost.join(Cost(found, universe["count"]))
            for index, law, own in found:
                events[n, index, law] = max(own, events.get((n, index, law), ZERO))
    return cost, [(*place, own) for place, own in sorted(events.items())]

@refusing
def check(document: Any) -> str:
    """Return the statement of a certificate that holds, or raise `NotVerified`."""
    instance = fields(document["instance"], "mechanism universe paths events claim versions")
    claim = {name: exact(one) for name, one in instance["claim"].items()}
    if document["kind"] != "proof" or set(claim) not in ({"epsilon", "delta"}, {"mu"}, {"rho"}) \
            or any(not 0 <= one <= 10**6 for one in claim.values()):
        raise NotVerified("no certificate of a proof, or no claim that a rule knows")
    cost, derived = check_instance(instance)
    stated = {(one["path"], one["node"], one["law"]): exact(one["cost"])
              for one in instance["events"]}
    if len(stated) != len(derived) or any(own > stated[*place] * SLACK for *place, own in derived):
        raise NotVerified("its events are not those that are derived")
    if not cost.holds(claim):
        raise NotVerified("its events cost more than it claims")
    said = ", ".join(f"{name} = {float(one):.12g}" for name, one in claim.items())
    many = (
        f"{instance['universe']['count']} of {instance['universe']['records'] or 'any number of'}"
    )
    ends = "; ".join(dict.fromkeys(map(ends_of, instance["universe"]["parts"])))
    change = instance["universe"]["change"]
    return f"{said}, for all neighbours by {change} of {many} records, {ends}"

def ends_of(part: Any) -> str:
    """Return between which ends numbers of a part are, in words."""
    low, high = min(part["low"], key=exact), max(part["high"], key=exact)
    norm = "" if exact(part["norm"]) == INF else f", of norm {part['norm']} at most"
    return f"{part['name'] or 'numbers'} in [{low}, {high}]{norm}"

def main(arguments: list[str]) -> int:
    """Check files, print a line for each certificate, and return 0 if all hold."""
    status = 0
    for path in arguments:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(BYTES + 1)
            if len(text) > BYTES:
                raise NotVerified("the file is too large")
            content = json.loads(text, object_pairs_hook=once, parse_constant=exact)
            for one in content if isinstance(content, list) else [content]:
                print(f"{path}: verified: {check(one)}")
        except (NotVerified, OSError, ValueError, RecursionError) as error:
            print(f"{path}: not verified: {error}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
