"""Numbers of a program on both sides, and their arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

from .enclosures import (
    GROWING,
    INF,
    ONE,
    STEPS,
    ZERO,
    NotVerified,
    add,
    hull,
    image,
    inverse,
    meet,
    mul,
    neg,
    power,
    root,
    size,
    slope,
)

TERMS = 120  # of a polynomial


class Entry:
    """A number: its ends, how far the second side is above the first, and what it is made of."""

    __slots__ = (
        "args",
        "bad",
        "ends",
        "key",
        "local",
        "made",
        "move",
        "noise",
        "op",
        "poly",
        "shown",
        "squares",
        "tends",
        "whole",
    )

    def __init__(self, key: int, op: str, args: Any, ends: Any, move: Any) -> None:
        self.key, self.op, self.args, self.ends, self.move = key, op, args, ends, move
        self.poly: Any = {(key,): ONE}
        self.whole = self.local = False
        self.bad: Any = None  # why the number may not be one
        self.noise: Any = None  # {draw: factor}, beside args[0], the centre
        self.shown: Any = None  # what it is once somebody has looked
        self.made: Any = None
        self.squares: Any = None  # numbers whose squares, times factors, it is the sum of, or less
        self.tends: Any = 0  # 1 or -1: grows or falls with the record's one number

    @property
    def moves(self) -> bool:
        return bool(self.move != (ZERO, ZERO))

    @property
    def constant(self) -> Any:
        return self.ends[0] if self.ends[0] == self.ends[1] and not self.noise else None


class Ground:
    """All numbers of one reading, each once: equal polynomials and equal calls are one entry."""

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
        for name, value in more.items():
            setattr(found, name, value)
        self.entries.append(found)
        return found

    def number(self, value: Any) -> Entry:
        value = value if isinstance(value, float) else F(value)
        key = ("number", value)
        if key not in self.calls:
            found = self.new("constant", (), (value, value), (ZERO, ZERO))
            found.whole = isinstance(value, F) and value.denominator == 1
            found.poly = {(): value} if value else {}
            if isinstance(value, float):
                found.bad, found.poly = "it is infinite", None
            self.calls[key] = found
        return self.calls[key]

    # polynomials: {keys of factors, in order: coefficient}

    def plus(self, terms: list[tuple[F, Entry]]) -> Any:
        found: dict[Any, Any] = {}
        for factor, entry in terms:
            if entry.poly is None:
                return None
            self.spend(len(entry.poly))
            for term, coefficient in entry.poly.items():
                value = found.get(term, ZERO) + factor * coefficient
                if value:
                    found[term] = value
                else:
                    found.pop(term, None)
            if len(found) > TERMS:
                return None
        return found

    def product(self, p: Any, q: Any) -> Any:
        if len(p) * len(q) > 4 * TERMS:
            return None
        self.spend(len(p) * len(q))
        found: dict[Any, Any] = {}
        for left, a in p.items():
            for right, b in q.items():
                term = tuple(sorted(left + right))
                found[term] = found.get(term, ZERO) + a * b
        found = {term: value for term, value in found.items() if value}
        return found if len(found) <= TERMS and all(len(term) <= 8 for term in found) else None

    def bounds(self, keys: Any) -> tuple[Any, Any]:
        """Return ends and movement of a product of entries."""
        ends, move = (ONE, ONE), (ZERO, ZERO)
        for key in dict.fromkeys(keys):
            entry, n = self.entries[key], keys.count(key)
            own = power(entry.ends, n)
            far = entry.move
            for _ in range(n - 1):  # a^n - b^n = (a - b) (sum of a^i b^j): n products of ends
                far = mul(far, entry.ends)
            far = mul(far, (F(n), F(n)))
            width = own[1] - own[0]
            far = meet(far, (-width, width)) if entry.moves else (ZERO, ZERO)
            move = add(mul(move, own), mul(ends, far))
            ends = mul(ends, own)
        width = ends[1] - ends[0]
        return ends, (meet(move, (-width, width)) if move != (ZERO, ZERO) else move)

    def of_poly(self, poly: Any, ends: Any, move: Any, **more: Any) -> Entry:
        """Return the entry of a polynomial: ends and movement are the best of two derivations."""
        if len(poly) == 1:
            ((term, coefficient),) = poly.items()
            if coefficient == 1 and len(term) == 1:
                alone: Entry = self.entries[term[0]]
                return alone
        if not poly or set(poly) == {()}:
            return self.number(poly.get((), ZERO))
        key = frozenset(poly.items())
        if key in self.calls:
            return self.calls[key]
        groups: dict[Any, list[Any]] = {}
        total = (ZERO, ZERO)
        for term, coefficient in poly.items():
            moving = tuple(one for one in term if self.entries[one].moves)
            still = tuple(one for one in term if not self.entries[one].moves)
            groups.setdefault(moving, []).append((coefficient, still))
        far = (ZERO, ZERO)
        for moving, rest in groups.items():
            factor = (ZERO, ZERO)
            for coefficient, still in rest:
                factor = add(factor, mul((coefficient, coefficient), self.bounds(still)[0]))
            own, shift = self.bounds(moving)
            total = add(total, mul(factor, own))
            far = add(far, mul(factor, shift)) if moving else far
        found = self.new("sum", (), meet(ends, total), meet(move, far), poly=poly, **more)
        self.narrow(found)
        members = {one for term in poly for one in term}
        found.local = any(self.entries[one].local for one in members)
        found.bad = next((self.entries[one].bad for one in members if self.entries[one].bad), None)
        integral = all(value.denominator == 1 for value in poly.values())
        found.whole = integral and all(self.entries[one].whole for one in members)
        self.calls[key] = found
        return found

    def narrow(self, entry: Entry) -> None:
        low, high = entry.ends
        if entry.moves and low > -INF and high < INF:
            entry.move = meet(entry.move, (low - high, high - low))

    def opaque(
        self,
        op: str,
        args: Any,
        ends: Any,
        move: Any,
        *,
        whole: bool = False,
        extra: Any = None,
        tends: int = 0,
    ) -> Entry:
        key = (op, extra, *(one.key for one in args))
        if key not in self.calls:
            if not any(one.moves for one in args):
                move = (ZERO, ZERO)
            bad = next((one.bad for one in args if one.bad), None)
            if ends is None:
                ends, bad = (-INF, INF), bad or f"{op} of what it may not have"
                move = (-INF, INF) if any(one.moves for one in args) else (ZERO, ZERO)
            found = self.new(op, tuple(args), ends, move, whole=whole, bad=bad, made=extra)
            found.local, found.tends = any(one.local for one in args), tends
            self.narrow(found)
            self.calls[key] = found
        return self.calls[key]

    # operations on plain numbers

    def sum(self, terms: list[tuple[F, Entry]]) -> Entry:
        """Return a sum of entries times public fractions."""
        terms = [(factor, one) for factor, one in terms if factor]
        if len(terms) == 1 and terms[0][0] == 1:
            return terms[0][1]
        ends = move = (ZERO, ZERO)
        for factor, one in terms:
            ends = add(ends, mul((factor, factor), one.ends))
            move = add(move, mul((factor, factor), one.move))
        poly = None if any(one.bad for _, one in terms) else self.plus(terms)
        signs = {(1 if f > 0 else -1) * one.tends for f, one in terms if one.moves}
        if len(signs) == 2 and 0 not in signs:  # one part rises while the other falls
            parts = [(ZERO, ZERO), (ZERO, ZERO)]
            for f, one in terms:
                if one.moves:
                    side = f * one.tends > 0
                    parts[side] = add(parts[side], mul((f, f), one.move))
            far = max(size(parts[0]), size(parts[1]))
            move = meet(move, (-far, far))
        tends = signs.pop() if len(signs) == 1 else 0
        if poly is not None:
            found = self.of_poly(poly, ends, move)
            if found.op == "sum":
                found.move, found.tends = meet(found.move, move), found.tends or tends
        else:
            whole = all(one.whole and factor.denominator == 1 for factor, one in terms)
            factors = tuple(factor for factor, _ in terms)
            found = self.opaque(
                "total",
                [one for _, one in terms],
                ends,
                move,
                whole=whole,
                extra=factors,
                tends=tends,
            )
        if found.squares is None and all(
            f > 0 and (one.squares is not None or (not one.moves and one.ends[0] >= 0))
            for f, one in terms
        ):
            found.squares = tuple((f * g, e) for f, one in terms for g, e in one.squares or ())
        return found

    def multiply(self, a: Entry, b: Entry) -> Entry:
        found = self.times(a, b)
        if a.key == b.key:
            found.ends, found.squares = meet(found.ends, power(a.ends, 2)), ((ONE, a),)
        return found

    def times(self, a: Entry, b: Entry) -> Entry:
        ends = mul(a.ends, b.ends)
        move = add(mul(a.move, b.ends), mul(a.ends, b.move))
        poly = None if a.poly is None or b.poly is None else self.product(a.poly, b.poly)
        if poly is not None and not a.bad and not b.bad:
            found = self.of_poly(poly, ends, move)
            if found.op == "sum":
                for one, other in ((a, b), (b, a)):
                    if one.constant is not None:
                        found.tends = other.tends * ((one.constant > 0) - (one.constant < 0))
            return found
        return self.opaque(
            "multiply",
            sorted((a, b), key=lambda one: one.key),
            ends,
            move,
            whole=a.whole and b.whole,
        )

    def divide(self, a: Entry, b: Entry) -> Entry:
        if b.constant is not None and b.constant and not b.bad:
            return self.sum([(1 / b.constant, a)])
        upside = inverse(b.ends)
        if upside is None:
            return self.opaque("divide", [a, b], None, None)
        far = neg(mul(b.move, mul(upside, upside)))
        ends = mul(a.ends, upside)
        move = add(mul(a.move, upside), mul(a.ends, far))
        return self.opaque("divide", [a, b], ends, move)

    def function(self, name: str, a: Entry) -> Entry:
        """Return a function of one number."""
        if name == "negative":
            return self.sum([(-ONE, a)])
        if name in STEPS - {"sign"} and a.whole:
            return a
        ends = image(name, a.ends)
        if ends is None:
            return self.opaque(name, [a], None, None)
        move = mul(slope(name, a.ends, ends), a.move) if name not in STEPS else (-INF, INF)
        far = size(a.move)
        if name == "sqrt" and far < INF:  # |sqrt a - sqrt b| is at most sqrt |a - b|
            move = meet(move, (-root(far, True), root(far, True)))
            move = meet(move, self.norm_move(a))
        if name in STEPS - {"sign"} and far < INF:
            most = F(math.ceil(far) + (name == "rint"))  # halves go to the even side
            move = meet(move, (-most, most))
        if name in GROWING:
            move = (
                max(move[0], ZERO if a.move[0] >= 0 else -INF),
                min(move[1], ZERO if a.move[1] <= 0 else INF),
            )
        tends = a.tends if name in GROWING else 0
        return self.opaque(
            name,
            [a],
            ends,
            move,
            whole=name in STEPS or (name == "absolute" and a.whole),
            tends=tends,
        )

    def norm_move(self, a: Entry) -> Any:
        """Return how far a Euclidean length moves: as the movements' Euclidean length at most."""
        if a.squares is None:
            return -INF, INF
        total = sum((f * size(one.move) ** 2 for f, one in a.squares if one.moves), ZERO)
        return -root(total, True), root(total, True)

    def compare(self, name: str, a: Entry, b: Entry) -> Entry:
        low, high = add(a.ends, neg(b.ends))
        if a.key == b.key:
            low = high = ZERO
        known = {
            "less": (high < 0, low >= 0),
            "less_equal": (high <= 0, low > 0),
            "equal": (low == high == 0, low > 0 or high < 0),
            "not_equal": (low > 0 or high < 0, low == high == 0),
        }[name]
        if any(known) and not (a.bad or b.bad):
            return self.number(int(known[0]))
        return self.opaque(name, [a, b], (ZERO, ONE), (-ONE, ONE), whole=True)

    def extreme(self, name: str, terms: list[Entry]) -> Entry:
        """Return the largest or smallest of numbers: it moves by no more than one of them."""
        unique = sorted({one.key: one for one in terms}.values(), key=lambda one: one.key)
        if len(unique) == 1:
            return unique[0]
        pick = max if name == "maximum" else min
        ends = pick(one.ends[0] for one in unique), pick(one.ends[1] for one in unique)
        move = min(one.move[0] for one in unique), max(one.move[1] for one in unique)
        tends = {one.tends for one in unique if one.moves}
        if name == "maximum" and not any(one.bad for one in unique):  # those that are never largest
            over = max(one.ends[0] for one in unique)
            rest = [one for one in unique if one.ends[1] > over or one.ends[0] == over]
        else:
            under = min(one.ends[1] for one in unique)
            rest = [one for one in unique if one.ends[0] < under or one.ends[1] == under]
        if len(rest) == 1 and not any(one.bad for one in unique):
            return rest[0]
        whole = all(one.whole for one in unique)
        return self.opaque(
            name, unique, ends, move, whole=whole, tends=tends.pop() if len(tends) == 1 else 0
        )

    def choose(self, condition: Entry, then: Entry, other: Entry) -> Entry:
        if condition.constant is not None and not condition.bad:
            return then if condition.constant else other
        if then.key == other.key:
            return self.opaque("where", [condition, then, other], then.ends, then.move)
        ends = hull(then.ends, other.ends)
        move = (-INF, INF) if condition.moves else hull(then.move, other.move)
        return self.opaque(
            "where", [condition, then, other], ends, move, whole=then.whole and other.whole
        )

    def truth(self, a: Entry) -> Entry:
        return (
            a
            if a.whole and a.ends[0] >= 0 and a.ends[1] <= 1
            else self.compare("not_equal", a, self.number(0))
        )

    def logic(self, name: str, a: Entry, b: Entry) -> Entry:
        a, b = self.truth(a), self.truth(b)
        both = self.multiply(a, b)
        if name == "logical_and":
            return both
        return self.sum([(ONE, a), (ONE, b), (F(-1 if name == "logical_or" else -2), both)])

    def raised(self, a: Entry, b: Entry) -> Entry:
        n = b.constant
        if n is None or b.bad or (n.denominator != 1 and n != F(1, 2)) or abs(n) > 64:
            raise NotVerified("power: the exponent is no small public whole number")
        if n == F(1, 2):
            return self.function("sqrt", a)
        found = self.number(1)
        for _ in range(abs(int(n))):
            found = self.multiply(found, a)
        if n > 1 and n % 2 == 0 and not a.bad:
            found.ends = meet(found.ends, power(a.ends, int(n)))
        return found if n >= 0 else self.divide(self.number(1), found)

    def remainder(self, a: Entry, b: Entry) -> Entry:
        c = b.constant
        if c is None or c <= 0 or isinstance(c, float):
            raise NotVerified("remainder: the divisor is no positive public number")
        if a.ends[0] >= 0 and a.ends[1] < c:
            return a
        whole = a.whole and b.whole
        return self.opaque("remainder", [a, b], (ZERO, c - 1 if whole else c), (-c, c), whole=whole)
