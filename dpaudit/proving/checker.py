"""Checks a proof from code: a certificate of kind ``proof``, by rules of its own.

Run it by itself: ``python checker.py proof.json``. It needs the standard library and nothing else,
shares nothing with what wrote the file, and believes no number of it: ends, distances and events
are derived again, in fractions, rounded outwards where they are roots or logarithms. The statement
is about the program in the file; ``dpaudit verify --mechanism`` sees whether a function is that.

A node of a program is one real number: {"operation", "operands", "parameters", "place"}. If a
program is `alike`, it treats all records alike, and a node that depends on one (``data`` of row
None) is a number of each record, here the pair of the record that changes and of any other;
elsewhere every record changes in turn. `RULES` lists what is done entry by entry, and beside it
there are: ``data``, ``number``, ``sum`` (of operands times factors), ``product``, ``total`` and
``rows`` (over all records, or over those of a Poisson sample), ``decide`` (by which a path parts),
``other`` (a function that no rule bounds, of public numbers), and what makes numbers public, by
noise that nothing else uses: ``release`` (a centre plus draws times factors), ``choose`` (the
place of the largest noisy score) and ``respond`` (an answer by the odds of a whole number).

An `Entry` is a number on both sides: its ends, by how much the second side is above the first (its
move), and a polynomial of other entries, in which what is alike cancels. With one record more, the
changed record has a weight that is 0 on one side and 1 on the other. Laplace noise of scale b costs
(L1 distance) / b, Gaussian noise the square of (L2 distance) / sigma, a choice (largest move -
smallest move) / scale, an answer its largest log-ratio, and a Poisson sample of rate q turns e into
log(1 + q (exp(e) - 1)). Costs add up along a path, and the largest path counts: pure epsilon, rho,
squared mu and Renyi divergences are filters. Of k records, each changes after the other: k times.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction as F
from functools import reduce, wraps
from itertools import pairwise, permutations, product
from typing import Any, NamedTuple

INF, ZERO, ONE, DIGITS = math.inf, F(0), F(1), 60
BYTES, NODES, WORK = 16 * 2**20, 200_000, 400_000  # of a file, and of what is done about it
BITS = 50_000  # of a numerator and a denominator together
TERMS, VALUES = 120, 64  # of a polynomial, and of a number that an answer is about
RECORDS = 2**40  # where their number is not public, there are no more
PRODUCT = ((ONE, ((0, 1), (1, 1))),)
SUM = ((ONE, ((0, 1),)), (ONE, ((1, 1),)))
SLACK = 1 + F(1, 10**9)  # digits beyond it belong to the rounding of the code's own constants


class NotVerified(Exception):
    """Why a certificate is not verified."""


# --- numbers: fractions, infinities, and intervals of them ----------------------------------------


def rounded(x: Any, up: bool) -> Any:
    """Return a number of 220 binary digits on the asked side of a long one."""
    if isinstance(x, float) and x != x:
        raise NotVerified("infinity less infinity")
    if isinstance(x, float) or x.numerator.bit_length() + x.denominator.bit_length() < 700:
        return x
    unit = F(2) ** (x.numerator.bit_length() - x.denominator.bit_length() - 220)
    return (math.ceil(x / unit) if up else math.floor(x / unit)) * unit


def short(x: F) -> F:
    """Return a fraction that is not too long to be computed with."""
    if x.numerator.bit_length() + x.denominator.bit_length() > BITS:
        raise NotVerified("a number that is too long")
    return x


def times(a: Any, b: Any) -> Any:
    """Return a product, in which 0 times infinity is 0."""
    if not a or not b:
        return ZERO
    if isinstance(a, float) or isinstance(b, float):
        return INF if (a > 0) == (b > 0) else -INF
    return a * b


class Interval(NamedTuple):
    """All numbers between two."""

    low: Any
    high: Any

    def __add__(self, other: Any) -> Interval:
        low, high = self.low + other.low, self.high + other.high
        return Interval(rounded(low, False), rounded(high, True))

    def __sub__(self, other: Interval) -> Interval:
        return self + Interval(-other.high, -other.low)

    def __mul__(self, other: Any) -> Interval:
        others = other if isinstance(other, Interval) else (other,)
        return outward([times(a, b) for a in self for b in others])

    def power(self, n: int) -> Interval:
        ends = [
            short(e) ** n if isinstance(e, F) else (INF if e > 0 or n % 2 == 0 else -INF)
            for e in self
        ]
        ends += [ZERO] if n and n % 2 == 0 and self.low < 0 < self.high else []
        return outward(ends) if n else UNIT

    def meet(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def join(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def size(self) -> Any:
        return max(-self.low, self.high)


def outward(ends: list[Any]) -> Interval:
    return Interval(rounded(min(ends), False), rounded(max(ends), True))


STILL, UNIT, SHARE = Interval(ZERO, ZERO), Interval(ONE, ONE), Interval(ZERO, ONE)
REACH, ANY = Interval(-ONE, ONE), Interval(-INF, INF)


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
    context = Context(DIGITS, ROUND_CEILING if up else ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
    given = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    near = given.exp(context) if name == "exp" else given.ln(context)
    step = F(10) ** (near.adjusted() - DIGITS + 2) if near else F(1, 10**DIGITS)
    return F(near) + (step if up else -step)


# --- rules: the ends of functions, and how steep they are -----------------------------------------

STEPS = {"floor", "rint"}
SMOOTH = "maximum minimum less equal inverse sqrt exp log sin cos arctan".split()
CHOICES = {"maximum", "minimum", "order", "within"}  # whose value is that of an argument
FUNCTIONS, FOLLOWED = {*SMOOTH, *STEPS}, {*SMOOTH, "poly", "norm", "bin"}


def rule(op: str, xs: list[Interval], extra: Any) -> tuple[Interval | None, list[Any]]:
    """Return ends, None where it may be no number, and by how much each argument moves a function.

    That is an interval of quotients; None where it moves as far as one of these arguments does.
    """
    x = xs[0]
    match op.removeprefix("rows "):
        case "poly":  # by the mean value theorem: a slope is between those of the argument's ends
            parts = [[(k, n, xs[k].power(n)) for k, n in powers] for _, powers in extra]
            slopes = [STILL] * len(xs)
            for (factor, _), part in zip(extra, parts, strict=True):
                for k, n, _ in part:
                    rest = [one for other, _, one in part if other != k]
                    steep = math.prod(rest, start=xs[k].power(n - 1) * (factor * n))
                    slopes[k] = slopes[k] + steep
            values = [
                math.prod((p for *_, p in part), start=Interval(f, f))
                for (f, _), part in zip(extra, parts, strict=True)
            ]
            return reduce(Interval.__add__, values, STILL), slopes
        case "others":  # a sum over other records: of so many
            return x * extra[0], [extra[0]]
        case "norm":
            squares = reduce(
                Interval.__add__, (one.power(2) * f for one, f in zip(xs, extra, strict=True))
            )
            ends = Interval(root(squares.low, False), root(squares.high, True))
            steep = [REACH.meet(one * over(ends)) for one in xs]
            return ends, [one * f for one, f in zip(steep, extra, strict=True)]
        case "clip":  # the first of a vector that is shortened to a length
            return (x * SHARE).meet(Interval(-extra[0], extra[0])), [ANY] * len(xs)
        case "maximum":
            ends = Interval(max(x.low for x in xs), max(x.high for x in xs))
            return ends, [None if x.high >= ends.low else STILL for x in xs]
        case "minimum":
            ends = Interval(min(x.low for x in xs), min(x.high for x in xs))
            return ends, [None if x.low <= ends.high else STILL for x in xs]
        case "order":
            return reduce(Interval.join, xs), [None] * len(xs)
        case "less":
            return decided(x.high < xs[1].low, x.low >= xs[1].high, 2)
        case "equal":
            far = x.high < xs[1].low or xs[1].high < x.low
            return decided(x.low == x.high == xs[1].low == xs[1].high, far, 2)
        case "bin":  # the last bin has both of its ends
            low, high = extra[1][extra[0] : extra[0] + 2]
            both = extra[0] == len(extra[1]) - 2
            below = x.high <= high if both else x.high < high
            above = x.low > high if both else x.low >= high
            return decided(low <= x.low and below, x.high < low or above, 1)
        case "within":
            inside = extra[0] <= x.low and x.high <= extra[1]
            return (x if inside else None), [UNIT if inside else ANY]
        case "inverse" if x.low > 0 or x.high < 0:
            return over(x), [over(x).power(2) * -ONE]
        case "exp":
            ends = Interval(series("exp", x.low, False), series("exp", x.high, True))
            return ends, [ends]
        case "log" if x.low > 0:
            return Interval(series("log", x.low, False), series("log", x.high, True)), [over(x)]
        case "sqrt" if x.low >= 0:
            ends = Interval(root(x.low, False), root(x.high, True))
            return ends, [over(ends * F(2))]
        case "sin" | "cos" | "arctan":
            far = ONE if op != "arctan" else F(8, 5)
            return Interval(-far, far), [Interval(ZERO if op == "arctan" else -ONE, ONE)]
        case "floor" | "rint":
            return Interval(
                *(
                    e if isinstance(e, float) else F(math.floor(e) if op == "floor" else round(e))
                    for e in x
                )
            ), [ANY]
    return (ANY if op == "other" else None), [ANY] * len(xs)


def decided(sure: bool, never: bool, count: int) -> tuple[Interval, list[Any]]:
    """Return 1, 0, or either."""
    slope = STILL if sure or never else ANY
    return UNIT if sure else STILL if never else SHARE, [slope] * count


def over(x: Interval) -> Interval:
    """Return 1 over numbers that have one sign, or are 0 at the lower end."""
    ends = [ZERO if isinstance(e, float) else 1 / e if e else INF for e in x]
    return outward(ends)


def applied(op: str, jets: list[Any], extra: Any) -> Any:
    """Return ends and slopes of a function of what has both, or None where it may be no number."""
    if None in jets:
        return None
    ends, slopes = rule(op, [one[0] for one in jets], extra)
    found: dict[Any, Interval] = {}
    for v in {v for one in jets for v in one[1]}:
        moves = [(slope, one[1].get(v, STILL)) for slope, one in zip(slopes, jets, strict=True)]
        free = [move for slope, move in moves if slope is None]
        parts = [slope * move for slope, move in moves if slope is not None]
        found[v] = reduce(Interval.__add__, parts, reduce(Interval.join, free) if free else STILL)
    return None if ends is None else (ends, found)


# --- numbers of the program, on both sides --------------------------------------------------------


@dataclass(eq=False)
class Entry:
    """A number: its ends, how far the second side is above the first, and what it is made of."""

    key: int
    op: str
    extra: Any
    args: tuple[Entry, ...]
    ends: Interval
    move: Interval
    poly: dict[tuple[int, ...], F]  # keys of factors: coefficient
    bad: str | None  # why it may be no number
    local: bool  # whether it is of each other record
    samples: frozenset[Any]  # by which the record that changes may come into it
    whole: bool = False  # whether it is an integer
    ball: Any = None  # (group, squared radius, radius in L1) of a ball with others of its group

    @property
    def moves(self) -> bool:
        return self.move != STILL


class Reading:
    """What a program does when one record changes: (row, cell), or (0, cell) where all are alike.

    There a node is a list: of one number, or of that of row 0 and of one that stands for any other.
    """

    def __init__(self, instance: Any, changed: Any, hints: Any) -> None:
        self.entries, self.calls, self.work = list[Entry](), dict[Any, Entry](), WORK
        self.universe, self.draws = instance["universe"], instance["draws"]
        self.alike, self.adds = instance["alike"], self.universe["change"] == "add-remove"
        self.changed = changed
        self.others = F(RECORDS if self.adds else self.universe["records"] - 1)
        self.many = Interval(ZERO if self.adds else self.others, self.others)
        self.uses: dict[int, Any] = {}
        self.hints, self.hiding, self.events = iter(hints), list[Any](), list[Any]()

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise NotVerified("it is too large to be checked")

    def new(self, key: Any, args: Any, ends: Interval, move: Interval, **more: Any) -> Entry:
        """Return the entry of a key, (operation, parameter, ...): a new one at first."""
        if key not in self.calls:
            self.spend(1 + len(args))
            if move != STILL and ends.size != INF:
                move = move.meet(Interval(ends.low - ends.high, ends.high - ends.low))
            known: dict[str, Any] = {
                "poly": {(len(self.entries),): ONE},
                "bad": next((one.bad for one in args if one.bad), None),
                "local": any(one.local for one in args),
                "samples": frozenset[Any]().union(*(one.samples for one in args)),
            }
            fields = (len(self.entries), key[0], key[1], tuple(args), ends, move)
            self.entries.append(Entry(*fields, **known | more))
            self.calls[key] = self.entries[-1]
        return self.calls[key]

    def number(self, value: F) -> Entry:
        known = {"poly": {(): short(value)} if value else {}, "whole": value.denominator == 1}
        return self.new(("number", value), (), Interval(value, value), STILL, **known)

    def call(self, op: str, args: Any, extra: Any = None, **more: Any) -> Entry:
        """Return the entry of a function of others."""
        key = (op, extra, *(one.key for one in args))
        if key in self.calls:
            return self.calls[key]
        jets = [(one.ends, {0: one.move}) for one in args]
        ends, slopes = applied(op, jets, extra) or (None, dict[int, Interval]())
        bad = next((one.bad for one in args if one.bad), None)
        if not bad and ends and ends.low == ends.high:
            return self.number(ends.low)
        bad = bad or (None if ends else f"{op} of what may have none")
        move = STILL if not any(one.moves for one in args) else ANY if bad else slopes[0]
        return self.new(key, args, ends or ANY, move, **{"bad": bad, **more})

    def function(self, op: str, args: list[Entry], extra: Any = None, ball: Any = None) -> Entry:
        """Return a function of `rule`, or the one argument that it is."""
        a, slopes = args[0], rule(op, [one.ends for one in args], extra)[1]
        far: Any = INF
        if not any(one.bad for one in args):
            alone = [one for one, slope in zip(args, slopes, strict=True) if slope != STILL]
            one_of = op in CHOICES and len(alone) == 1 and ANY not in slopes
            if (op in STEPS and a.whole) or one_of:
                return alone[0]
        known = all(one.whole for one in args) and op in ("maximum", "minimum", "within")
        known = known or op in STEPS or op in ("less", "equal", "bin")
        if op == "bin" or (op == "equal" and args[1].op == "number"):
            ball = ((op, a.key, extra[1] if op == "bin" else None), ONE, ONE)
        found = self.call(op, args, extra, whole=known, ball=ball)
        if op in STEPS and a.move.size != INF:
            far = F(math.ceil(a.move.size) + (op == "rint"))
        if op == "sqrt":  # |sqrt a - sqrt b| <= sqrt |a - b|
            far = root(a.move.size, True)
        return self.closer(found, far)

    def closer(self, found: Entry, far: Any) -> Entry:
        """Return an entry that moves no further than so far."""
        if found.moves and not found.bad:
            found.move = found.move.meet(Interval(-far, far))
        return found

    def polynomial(self, args: list[Entry], terms: Any) -> Entry:
        """Return a polynomial (factor, ((argument, exponent), ...)), ...: the best of two forms."""
        direct, poly = self.call("poly", args, terms), dict[Any, F]()
        if any(one.bad for one in args):
            return direct
        for factor, powers in terms:
            grown = {(): factor}
            for other in [args[k].poly for k, n in powers for _ in range(n)]:
                if len(grown) * len(other) > 4 * TERMS:
                    return direct
                wider: dict[Any, F] = {}
                for (left, p), (right, q) in product(grown.items(), other.items()):
                    keys = tuple(sorted(left + right))
                    wider[keys] = wider.get(keys, ZERO) + p * q
                grown = wider
            for keys, own in grown.items():
                poly[keys] = poly.get(keys, ZERO) + own
        return self.settled(poly, direct)

    def settled(self, poly: Any, direct: Entry) -> Entry:
        """Return the entry of a polynomial of entries; an entry of the same value has ends too."""
        poly = {keys: short(f) for keys, f in sorted(poly.items()) if f}
        ((keys, factor), *more) = list(poly.items()) or [((), ZERO)]
        if not more and (not keys or (factor == 1 and len(keys) == 1)):
            return self.entries[keys[0]] if keys else self.number(factor)
        if len(poly) > TERMS:
            return direct
        members = sorted({one for keys in poly for one in keys})
        args = [self.entries[one] for one in members]
        known = all(one.whole for one in args) and all(f.denominator == 1 for f in poly.values())
        terms = [
            (f, tuple((members.index(one), keys.count(one)) for one in dict.fromkeys(keys)))
            for keys, f in poly.items()
        ]
        found = self.call("poly", args, tuple(terms), poly=poly, whole=known)
        found.poly, found.whole = poly, known
        found.ends, found.move = found.ends.meet(direct.ends), found.move.meet(direct.move)
        return found

    # --- nodes

    def values(self, index: int, node: Any, args: list[Any]) -> list[Entry]:
        """Return what a node is, on each row."""
        name, given, wide = node["operation"], node["parameters"], max(map(len, args), default=1)
        wide = 2 if self.alike and (name == "data" or given.get("each")) else wide
        rows = [[one[i % len(one)] for one in args] for i in range(wide)]
        if name in ("total", "rows"):
            return [getattr(self, name)(given, *rows[0], *rows[-1])]
        if name in ("release", "respond", "choose"):
            if given["each"] is not (wide == 2) or (name == "choose" and wide == 2):
                raise NotVerified(f"node {index}: one draw for all records")
            self.use(given["draws"], index, given["each"])
            return [getattr(self, name)(index, given, row, i) for i, row in enumerate(rows)]
        return [self.entry(name, given, row, i) for i, row in enumerate(rows)]

    def entry(self, name: str, given: Any, args: list[Entry], row: int) -> Entry:
        """Return what a node is on one row."""
        match name:
            case "number":
                return self.number(finite(given["value"]))
            case "data":
                return self.data(given, row)
            case "poly":
                return self.polynomial(args, terms_of(given["terms"], len(args)))
            case "decide":
                return args[0]
            case "other":
                return self.call(name, args, repr(sorted(given.items())))
            case "order":
                extra = share_of(given["by"])
                return self.narrowed(self.function(name, args, extra), args, len(args), extra)
            case "clip":
                most, margin = finite(given["by"]), finite(given["margin"])
                if not (most > 0 and margin >= 0):
                    raise NotVerified("a length that is none")
                ball = (("clip", margin, *sorted(one.key for one in args)), most * most, None)
                return self.call(name, args, (most, margin), ball=ball)
            case "norm":
                far = [times(one.move.size, one.move.size) for one in args]
                found = self.call(name, args, (ONE,) * len(args))
                return self.closer(found, root(total(far), True))
            case "within":
                found = self.function(name, args, (exact(given["low"]), exact(given["high"])))
                wrong = given["whole"] and not found.whole
                return self.call("broken", args) if wrong else found
            case "bin":
                edges = tuple(exact(one) for one in given["edges"])
                if any(not a < b for a, b in pairwise(edges)):
                    raise NotVerified("edges that do not grow")
                return self.function(name, args, (whole(given["bin"], 0, len(edges) - 2), edges))
        if name not in FUNCTIONS:
            raise NotVerified(f"no rule knows {name}")
        return self.function(name, args)

    def data(self, given: Any, place: int) -> Entry:
        """Return a number of a record, which may move if it is the one that changes."""
        name, row, cell = given["part"], given["row"], whole(given["cell"])
        part = next(one for one in self.universe["parts"] if one["name"] == name)
        ends, own = Interval(*part["ends"][cell]), (place if self.alike else row) == self.changed[0]
        if (row is not None) if self.alike else whole(row) >= self.universe["records"]:
            raise NotVerified("a record that is none")
        mine = own and not self.adds and part["is_changed"]
        mine = mine and self.changed[1] in (None, (name, cell)) and ends.low < ends.high
        ball = (("data", name, row, place), times(part["norm"], part["norm"]), None)
        known = {"whole": part["is_integer"], "ball": ball, "local": self.alike and not own}
        move, key = ANY if mine else STILL, ("leaf", (name, row, cell), place)
        return self.new(key, (), ends, move, **known)

    # --- all records

    def total(self, given: Any, own: Entry, other: Entry) -> Entry:
        """Return a sum over all records: its terms are products of others' numbers and of ours."""
        sample = given["sample"]
        if not self.alike or (sample is not None and not self.adds):
            raise NotVerified("a sum over records, or samples of them, which are not alike")
        self.use([] if sample is None else [sample], "sample", each=True)
        count, poly = self.number(self.others), dict[Any, F]()
        if self.adds:
            key = ("weight", sample)
            known = {"whole": True, "samples": frozenset([sample])}
            weight = self.new(key, (), SHARE, UNIT if sample is None else SHARE, **known)
            count = self.new(("count", sample), (), self.many, STILL, whole=True)
            own = self.polynomial([own, weight], PRODUCT)
        for keys, factor in other.poly.items() if not other.bad else [((other.key,), ONE)]:
            near = [self.entries[one] for one in keys if self.entries[one].local]
            part, atom = self.number(ONE), count
            for one in near:
                part = self.polynomial([part, one], PRODUCT)
            if near:
                known = {"local": False, "whole": part.whole}
                atom = self.call("others", [part], (self.many, sample), **known)
            rest = tuple(one for one in keys if not self.entries[one].local)
            for more, own_factor in atom.poly.items():
                place = tuple(sorted(rest + more))
                poly[place] = poly.get(place, ZERO) + factor * own_factor
        direct = self.call("others", [other], (self.many, sample), local=False, whole=other.whole)
        return self.polynomial([own, self.settled(poly, direct)], SUM)

    def rows(self, given: Any, own: Entry, other: Entry) -> Entry:
        """Return the largest, smallest, a quantile or the length of a number of each record."""
        name, parts = given["of"], [own, other][: 2 if self.others else 1]
        if self.adds or not self.alike or name not in ("maximum", "minimum", "order", "norm"):
            raise NotVerified("of an unknown number of records")
        extra: Any = (ONE, self.others)[: len(parts)]
        extra = extra if name == "norm" else share_of(given["by"])
        found = self.call(f"rows {name}", parts, extra, local=False)
        if name == "norm":
            far = total(
                f * times(e.move.size, e.move.size) for f, e in zip(extra, parts, strict=True)
            )
            return self.closer(found, root(far, True))
        return self.narrowed(found, parts, self.others + 1, extra) if name == "order" else found

    def narrowed(self, found: Entry, parts: list[Entry], count: Any, q: F) -> Entry:
        """Return a quantile: if one number alone moves, it stays between two of the others."""
        moving = [one for one in parts if one.moves]
        share, width = q * (count - 1) % 1, found.ends.high - found.ends.low
        alone = len(moving) == 1 and not moving[0].local
        return self.closer(found, times(max(share, 1 - share), width)) if alone else found

    # --- what becomes public

    def use(self, draws: Any, user: Any, each: bool) -> None:
        for draw in draws:
            if self.uses.setdefault(whole(draw), user) != user or len({*draws}) < len(draws):
                raise NotVerified("noise is used twice")
            law, is_each = self.draws[draw]["law"], self.draws[draw]["each"]
            if is_each is not each or (law == "sample") != (user == "sample"):
                raise NotVerified("one draw for several records")

    def public(self, key: Any, row: int, ends: Interval = ANY, integer: bool = False) -> Entry:
        return self.new(("coin", key, row), (), ends, STILL, whole=integer, local=row == 1)

    def release(self, index: int, given: Any, args: list[Entry], row: int) -> Entry:
        """Return a number plus noise, which is public, and note what it hides."""
        laws, (centre,) = [self.draws[draw] for draw in given["draws"]], args
        factors = [finite(one) for one in given["factors"]]
        if len(factors) != len(laws) or not factors:
            raise NotVerified("as many factors as draws")
        names, law, width = [one["law"] for one in laws], "laplace", ZERO
        if {*names} == {"normal"}:
            law, width = "normal", sum((f * f for f in factors), ZERO)
        elif {*names} in ({"laplace"}, {"logistic"}):  # the widest hides, whatever others add
            width = max(map(abs, factors))
        elif names == ["exponential"] * 2 and sum(factors) == 0:  # their difference is Laplace
            width = abs(factors[0])
        elif names == ["discrete-laplace"] and abs(factors[0]) == 1 and centre.whole:
            width = 1 / exact(laws[0]["rate"])
        elif names == ["geometric"] * 2 and laws[0] == laws[1] and {*factors} == {ONE, -ONE}:
            width = -1 / series("log", 1 - exact(laws[0]["p"]), False) if centre.whole else ZERO
        if centre.moves:
            if centre.bad or width <= 0:
                why = centre.bad or "noise that no rule knows hides a record"
                raise NotVerified(f"node {index}: {why}")
            weight = self.others if row else ONE
            self.hiding.append((index, law, width, self.sharpened(centre), weight))
        known = {*names} <= {"geometric", "discrete-laplace"} and centre.whole
        return self.public(index, row, integer=known and all(f.denominator == 1 for f in factors))

    def members(self, centre: Entry) -> dict[Entry, F]:
        """Return {entry of a ball: |factor|} where a centre moves by a sum of these, or nothing."""
        found: dict[Entry, F] = {}
        for keys, factor in centre.poly.items():
            ones = [self.entries[one] for one in keys]
            rest = [one for one in ones if one.op != "weight"]
            if any(one.moves for one in ones):
                if len(rest) != 1 or not rest[0].ball or len(ones) - len(rest) != self.adds:
                    return {}
                found[rest[0]] = found.get(rest[0], ZERO) + abs(factor)  # by several weights
        return found if len({one.ball for one in found}) == 1 else {}

    def close(self) -> list[Any]:
        """Return the events: each entry costs by itself, or those of a ball together."""
        groups: dict[Any, Any] = {}
        for place, (index, law, width, centre, weight) in enumerate(self.hiding):
            members = self.members(centre)
            ball = next(iter(members)).ball if members else None
            if not ball or (law != "normal" and not ball[2]):
                ball = place
            samples = centre.samples if len(centre.samples) == 1 else {None}
            sample = next(iter(samples))
            row = (index, centre, members, weight)
            groups.setdefault((law, width, ball, sample), []).append(row)
        for (law, width, _, sample), rows in groups.items():
            self.event(rows[0][0], law, self.cost(law, width, rows), sample)
        return self.events

    def cost(self, law: str, width: F, rows: Any) -> Any:
        """Return what centres cost that move by a public matrix times a vector of a ball.

        The squared L2 norm of a matrix is at most its largest row sum times its largest column sum;
        |u - v|^2 = |u|^2 + |v|^2 - 2 <u, v>, which is less where both are positive.
        """
        moves = [(one.move.size, weight) for _, one, _, weight in rows]
        far1 = total(times(weight, size) for size, weight in moves)
        far2 = total(times(weight, times(size, size)) for size, weight in moves)
        columns: dict[Entry, F] = {}
        for _, _, members, _ in rows:
            for one, factor in members.items():
                columns[one] = columns.get(one, ZERO) + factor
        if columns:
            most, (_, square, wide) = max(columns.values()), next(iter(columns)).ball
            apart = 1 if self.adds else 2 if all(one.ends.low >= 0 for one in columns) else 4
            line = max(sum(members.values()) for _, _, members, _ in rows)
            many = max(weight for _, weight in moves)  # of records, each with a ball of its own
            far2 = min(far2, times(line * most * apart * many, square))
            far1 = min(far1, most * wide * many * (1 if self.adds else 2)) if wide else far1
        count = total(weight for _, weight in moves)
        far1 = min(far1, root(times(count, far2), True))  # Cauchy, Schwarz
        return times(min(far2, times(far1, far1)) if law == "normal" else far1, 1 / width)

    def event(self, index: int, law: str, cost: Any, sample: Any = None) -> None:
        if not 0 <= cost < INF:
            raise NotVerified(f"node {index}: nothing bounds how far the value moves")
        if cost:
            self.events.append((index, law, rounded(cost, True), sample))

    def choose(self, index: int, given: Any, scores: list[Entry], _: int) -> Entry:
        """Return the place of the largest score with noise of its own: a shift of all is none."""
        laws, factor = {self.draws[draw]["law"] for draw in given["draws"]}, finite(given["factor"])
        known = laws in ({"laplace"}, {"gumbel"}, {"exponential"}) and factor > 0
        if not known or len(given["draws"]) != len(scores) or any(one.bad for one in scores):
            raise NotVerified(f"node {index}: no rule knows this choice")
        moves = [self.sharpened(one).move for one in scores]
        far = max(x.high for x in moves) - min(x.low for x in moves)
        self.event(index, "choice", max(far / factor, ZERO))
        return self.public(index, 0, Interval(ZERO, F(len(scores) - 1)), integer=True)

    def respond(self, index: int, given: Any, args: list[Entry], row: int) -> Entry:
        """Return an answer that is drawn by the odds of a whole number: (number, answer, odds)."""
        odds, (truth,) = dict[int, dict[F, F]](), args
        for one, answer, share in given["odds"]:
            odds.setdefault(whole(one, -VALUES, VALUES), {})[finite(answer)] = finite(share)
        count = sum(map(len, odds.values()))
        if count < len(given["odds"]) or any(
            sum(law.values()) != 1 or min(law.values()) <= 0 for law in odds.values()
        ):
            raise NotVerified(f"node {index}: odds that do not add up to 1")
        covered = min(odds) <= truth.ends.low and truth.ends.high <= max(odds)
        if not truth.whole or truth.bad or not covered or len(odds) <= max(odds) - min(odds):
            raise NotVerified(f"node {index}: an answer about other numbers")
        worst: Any = ONE
        for one, other in permutations(odds, 2):
            if abs(one - other) <= truth.move.size:
                same = odds[one].keys() == odds[other].keys()
                ratios = [share / odds[other][k] for k, share in odds[one].items() if same]
                worst = max([worst, *ratios]) if same else INF
        weight = self.others if row else ONE
        cost = series("log", worst, True) if worst > 1 else ZERO
        self.event(index, "answer", times(weight, cost))
        return self.public(index, row)

    # --- the largest move of one number, by a search in boxes whose cuts the file has

    def sharpened(self, entry: Entry) -> Entry:
        """Return an entry whose move is the best of its rules and of what the next hint shows.

        That is, up and down, searches of both sides together or each by itself: [sides, variables,
        tree], and a tree is [] or [which variable is cut in the middle, tree below, tree above].
        """
        far = []
        for sign, searches in zip((ONE, -ONE), next(self.hints, None) or (), strict=False):
            if sorted(side for sides, *_ in searches for side in sides) != [0, 1]:
                raise NotVerified("a search that is not of both sides")
            boxes = [{(k, n): self.entries[k].ends for k, n in one[1]} for one in searches]
            if entry.bad or any(x.size == INF for box in boxes for x in box.values()):
                raise NotVerified("a search without ends")
            pairs = zip(boxes, searches, strict=True)
            far.append(total(self.worst(entry, b, one[2], sign, one[0]) for b, one in pairs))
        if far and (not self.adds or len(far) == 2) and entry.moves:
            found = Interval(-far[-1], far[0])
            entry.move = entry.move.meet(found.join(STILL) if entry.samples - {None} else found)
        return entry

    def at(self, box: Any, side: int, samples: Any) -> Any:
        """Return the function that gives ends and slopes of entries on one side in a box.

        The record that is added is in one sample, but of several it may be in some alone.
        """
        done: dict[int, Any] = {}

        def jet(one: Entry) -> Any:
            v = (one.key, side if one.moves else 2)
            if v in box:
                return box[v], {v: UNIT}
            if one.op == "weight":
                is_in = one.extra is None or len(samples) == 1
                return Interval(F(side) if is_in else ZERO, F(side)), {}
            if one.op not in FOLLOWED:
                return one.ends, {}
            if one.key not in done:
                self.spend(5)
                done[one.key] = applied(one.op, [jet(a) for a in one.args], one.extra)
            return done[one.key]

        return jet

    def moving(self, entry: Entry) -> Any:
        """Return the terms of a number that move, of a list of entries."""
        if entry.op != "poly":
            return (entry,), ((ONE, ((0, 1),)),)
        args = entry.args
        return args, tuple(one for one in entry.extra if any(args[k].moves for k, _ in one[1]))

    def apart(self, entry: Entry, box: Any, sign: F, sides: Any) -> Any:
        """Return the ends and slopes of a move times a sign, or of one side's part of it."""
        args, terms = self.moving(entry)
        used, jets = {k for _, powers in terms for k, _ in powers}, []
        for side in sides:
            jet = self.at(box, side, entry.samples)
            parts = [jet(one) if k in used else (one.ends, {}) for k, one in enumerate(args)]
            jets.append(applied("poly", parts, terms))
        factors = [(sign if side else -sign, ((k, 1),)) for k, side in enumerate(sides)]
        found = applied("poly", jets, factors)
        if not found:
            raise NotVerified("a search meets what may be no number")
        return found[0], {v: found[1].get(v, STILL) for v in box}

    def worst(self, entry: Entry, box: Any, tree: Any, sign: F, sides: Any) -> Any:
        """Return a number that a move in a box, times a sign, is never above."""
        if not tree:
            return self.bounded(entry, box, sign, sides)[0]
        self.bounded(entry, box, sign, sides)
        v = list(box)[tree[0]]
        middle = (box[v].low + box[v].high) / 2
        halves = Interval(box[v].low, middle), Interval(middle, box[v].high)
        parts = zip(halves, tree[1:], strict=True)
        return max(self.worst(entry, {**box, v: x}, more, sign, sides) for x, more in parts)

    def bounded(self, entry: Entry, box: Any, sign: F, sides: Any) -> Any:
        """Return a bound of a move in a box, one that is reached, and slopes; shrink the box."""
        steep: Any = [None]
        while steep:  # where it rises or falls in a number, that number is at an end
            ends, slopes = self.apart(entry, box, sign, sides)
            wide = [v for v, x in box.items() if x.low < x.high]
            steep = [v for v in wide if slopes[v].low >= 0 or slopes[v].high <= 0]
            for v in steep:
                end = box[v].high if slopes[v].low >= 0 else box[v].low
                box[v] = Interval(end, end)
        middle = {v: Interval(*[(x.low + x.high) / 2] * 2) for v, x in box.items()}
        inner = self.apart(entry, middle, sign, sides)[0] if wide else ends
        reach = total(times(slopes[v].size, (x.high - x.low) / 2) for v, x in box.items())
        return min(ends.high, inner.high + reach), inner.low, slopes


# --- what events cost together --------------------------------------------------------------------


def normal(x: F, up: bool) -> Any:
    """Return the probability that a standard normal number is below x, rounded."""
    t, square, bits = abs(x), x * x, 400
    pi = F("3.14159265358979323846264338327950288419716939937510582097494")  # and 1e-59 at most
    least = series("exp", -square / 2, False) / root(2 * pi + F(1, 10**58), True)
    most = series("exp", -square / 2, True) / root(2 * pi, False)
    if t > 12:  # t / (1 + t^2) < tail / density < 1 / t
        below, above = least * t / (1 + square), most / t
    else:
        term, n, error = math.floor(t * 2**bits), 1, F(1, 2**250)
        grown = F(term)
        while term or n < 2 * square:  # density times t + t^3 / 3 + t^5 / 15 + ... from 0 to t
            term = term * square.numerator // (square.denominator * (n + 2))
            grown, n = grown + term, n + 2
        below = max(F(1, 2) - most * (grown / 2**bits + error), ZERO)
        above = F(1, 2) - least * (grown / 2**bits - error)
    return rounded((1 - below if up else 1 - above) if x > 0 else above if up else below, up)


def delta_of_mu(epsilon: F, square: F) -> Any:
    """Return the delta of Gaussian noise with a squared mu, rounded up."""
    mus = [root(square, up) for up in (True, False)]
    first = max(-epsilon / mu + mu / 2 for mu in mus)
    second = min(-epsilon / mu - mu / 2 for mu in mus)
    return normal(first, True) - series("exp", epsilon, False) * normal(second, False)


class Cost:
    """What the events of one path cost: pure epsilon, squared mu, rho, and Renyi divergences."""

    def __init__(self, events: Any, count: int = 1, rates: Any = ()) -> None:
        groups: dict[Any, Any] = {None: []}
        for _, law, cost, sample in events:
            groups.setdefault(sample, []).append((law, cost))
        plain, square = groups.pop(None), ZERO
        samples = list[Any]()  # (rate, squared mu) of Gaussian noise, alone with its coins
        for sample, group in groups.items():
            spent = total(cost for law, cost in group if law != "normal")
            if all(law != "normal" for law, _ in group):
                inner = 1 + times(rates[sample], series("exp", spent, True) - 1)
                plain.append(("sample", series("log", inner, True)))
            elif len(group) == count == 1:
                samples.append((rates[sample], group[0][1]))
                square += group[0][1]
            else:
                plain += group
        pure = [cost * count for law, cost in plain if law != "normal"]
        whole_square = total(cost for law, cost in plain if law == "normal") * count**2
        self.pure, self.square = total(pure), whole_square + square
        rho = total(x * x / 2 for x in pure) + whole_square / 2
        self.rho, self.paths = rho + square / 2, [(rho, samples)]

    def join(self, other: Cost) -> None:
        self.pure, self.square = max(self.pure, other.pure), max(self.square, other.square)
        self.rho, self.paths = max(self.rho, other.rho), self.paths + other.paths

    def holds(self, claim: Any) -> bool:
        """Return whether a claim follows: by pure epsilon, Gaussian noise, zCDP, or Renyi sums."""
        if "mu" in claim:
            return not self.pure and self.square <= (claim["mu"] * SLACK) ** 2
        if "rho" in claim:
            return bool(self.rho <= claim["rho"] * SLACK)
        epsilon, delta = claim["epsilon"] * SLACK, claim["delta"]
        if "order" in claim:
            return bool(self.delta(epsilon, claim["order"]) <= delta)
        if (self.pure <= epsilon and not self.square) or delta >= 1:
            return True
        known = delta > 0 and self.pure < epsilon and self.square < 10_000
        return bool(known and delta_of_mu(epsilon - self.pure, self.square) <= delta)

    def delta(self, epsilon: F, order: F) -> Any:
        """Return a delta by Renyi divergences of an order (Canonne, Kamath, Steinke 2020)."""
        if not (1 < order <= 2000 and self.rho < 10_000):
            return ONE
        far = max(
            order * rho + total(sampled(order, *one) for one in more) for rho, more in self.paths
        )
        exponent = (order - 1) * (far - epsilon) + order * series("log", 1 - 1 / order, True)
        return series("exp", exponent, True) / (order - 1)


def sampled(order: F, rate: F, square: F) -> Any:
    """Return the divergence of Gaussian noise on a Poisson sample (Mironov et al. 2019)."""
    n, terms = int(order), list[Any]()
    if n != order:
        return INF
    for k in range(n + 1):
        odds = math.comb(n, k) * (1 - rate) ** (n - k) * rate**k
        terms.append(times(odds, series("exp", k * (k - 1) * square / 2, True)))
    return series("log", total(terms), True) / (order - 1)


# --- the file -------------------------------------------------------------------------------------


def exact(value: Any) -> Any:
    """Return the number that a file writes: a number, "p/q", or an infinity."""
    if value in ("Infinity", "-Infinity"):
        return INF if value == "Infinity" else -INF
    if (
        type(value) not in (bool, int, float, str)
        or len(str(value)) > 2000
        or (isinstance(value, str) and not set(value) <= set("0123456789/-"))
    ):
        raise NotVerified("a number that is none")
    return F(value)


def finite(value: Any) -> F:
    """Return a number that is no infinity."""
    found = exact(value)
    if not isinstance(found, F):
        raise NotVerified("a constant that is infinite")
    return found


def share_of(value: Any) -> F:
    """Return a rate, or a place between the smallest and the largest."""
    found = finite(value)
    if not 0 <= found <= 1:
        raise NotVerified("a share that is not between 0 and 1")
    return found


def terms_of(given: Any, count: int) -> Any:
    """Return (factor, ((argument, exponent), ...)), ...: each argument once in a term."""
    terms = []
    for factor, powers in given:
        pairs = tuple((whole(k, 0, count - 1), whole(n, 1, 16)) for k, n in powers)
        if len(dict(pairs)) < len(pairs):
            raise NotVerified("an argument twice in a term")
        terms.append((finite(factor), pairs))
    return tuple(terms)


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


def is_filled(ends: Interval) -> bool:
    """Return whether there are numbers between two ends."""
    return bool(ends.low <= ends.high and ends.low < INF and ends.high > -INF)


def universe_of(given: Any) -> Any:
    """Return the datasets and neighbours that a file states."""
    fields(given, "parts records change count relation of_cells")
    adds, parts, relation = given["change"] == "add-remove", [], given["relation"]
    whole(given["count"], 1, 10**6)
    if not adds or given["records"] is not None:
        whole(given["records"], 1, 10**7)
    for one in given["parts"]:
        fields(one, "name shape low high is_integer norm categories is_changed")
        n, norm = math.prod(map(whole, one["shape"][1:])), exact(one["norm"])
        lows, highs = ([exact(value) for value in one[side]] for side in ("low", "high"))
        ends = [
            Interval(a, b).meet(Interval(-norm, norm)) for a, b in zip(lows, highs, strict=True)
        ]
        if {type(one["is_changed"]), type(one["is_integer"])} != {bool}:
            raise NotVerified("a part that is neither changed nor not, or neither whole nor not")
        if one["shape"][0] != given["records"] or len(ends) != n or not all(map(is_filled, ends)):
            raise NotVerified("the shape of a part, or its ends")
        parts.append({**one, "ends": ends, "norm": norm})
    changed = [one["name"] for one in parts if one["is_changed"]]
    if (
        given["change"] not in ("replace", "add-remove")
        or adds != (given["records"] is None)
        or adds != relation.startswith("add-remove")
        or given["of_cells"] is not (relation == "replace-cell")
        or (given["count"] != 1 and not relation.endswith("-user"))
        or (relation == "replace-label") != (len(changed) < len(parts))
        or not changed
        or len({one["name"] for one in parts}) < len(parts)
        or not relation.replace("-", "").isalpha()
    ):
        raise NotVerified("what changes is not what the relation says")
    return {**given, "parts": parts}


def read_path(reading: Reading, path: Any) -> Any:
    """Return the events of one path when one record changes."""
    values = list[list[Entry]]()
    ends = {whole(one, 0, len(path["nodes"]) - 1) for one in path["outputs"]}
    for index, node in enumerate(path["nodes"]):
        fields(node, "operation operands parameters place")
        args = [values[whole(one, 0, index - 1)] for one in node["operands"]]
        values.append(reading.values(index, node, args))
        wide = reading.adds and len(values[-1]) > 1  # rows tell how many there are
        is_seen = index in ends or node["operation"] == "decide"
        if is_seen and (wide or any(one.moves for one in values[-1])):
            raise NotVerified(f"node {index}: a record is returned, or decides")
    return reading.close()


def changes(instance: Any) -> list[Any]:
    """Return what may change: a row, and one of its cells or None for all."""
    cells, universe = list[Any]([None]), instance["universe"]
    if universe["of_cells"]:
        cells = [(one["name"], i) for one in universe["parts"] for i in range(len(one["ends"]))]
    rows = range(1 if instance["alike"] else whole(universe["records"], 1, 2000))
    return [(row, cell) for row in rows for cell in cells]


def is_complete(paths: Any, start: int = 0) -> bool:
    """Return whether paths are all ways through one program: each decision goes both ways."""
    first, sides = paths[0], dict[Any, Any]({True: [], False: []})
    place = next((i for i in range(start, len(first)) if first[i]["operation"] == "decide"), None)
    if place is None:
        return len(paths) == 1
    for path in paths:
        outcome = path[place]["parameters"]["outcome"] if place < len(path) else None
        same = {**first[place], "parameters": {"outcome": outcome}}
        if path[start : place + 1] != [*first[start:place], same]:
            return False
        sides[outcome].append(path)
    return all(side and is_complete(side, place + 1) for side in sides.values())


def refusing(function: Any) -> Any:
    """Let a function verify nothing where a file is written as none should be."""

    @wraps(function)
    def called(given: Any) -> Any:
        try:
            return function(given)
        except NotVerified:
            raise
        except Exception as error:
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
    universe, paths = universe_of(instance["universe"]), instance["paths"]
    if not 0 < sum(len(one["nodes"]) for one in paths) <= NODES:
        raise NotVerified("no nodes, or too many")
    if not is_complete([one["nodes"] for one in paths]):
        raise NotVerified("a decision goes one way, and no path the other")
    instance = {**instance, "universe": universe}
    rates = [share_of(one["rate"]) if one["law"] == "sample" else None for one in instance["draws"]]
    cost, events = Cost([]), dict[Any, Any]()
    for n, path in enumerate(paths):
        fields(path, "nodes outputs hints skeleton")
        for changed, hints in zip(changes(instance), path["hints"], strict=True):
            found = read_path(Reading(instance, changed, hints), path)
            cost.join(Cost(found, universe["count"], rates))
            for index, law, own, _ in found:
                events[n, index, law] = max(own, events.get((n, index, law), ZERO))
    return cost, [(*place, own) for place, own in sorted(events.items())]


@refusing
def check(document: Any) -> str:
    """Return the statement of a certificate that holds, or raise `NotVerified`."""
    names = "mechanism universe alike draws paths events claim versions"
    instance = fields(document["instance"], names)
    claim = {name: exact(one) for name, one in instance["claim"].items()}
    known = {*claim} - {"order"} in ({"epsilon", "delta"}, {"mu"}, {"rho"})
    known = known and all(0 <= x <= 10**6 and (float(x) or not x) for x in claim.values())
    if document["kind"] != "proof" or not known:
        raise NotVerified("no certificate of a proof, or no claim that a rule knows")
    cost, derived = check_instance(instance)
    stated = {
        (one["path"], one["node"], one["law"]): exact(one["cost"]) for one in instance["events"]
    }
    if len(stated) != len(derived) or any(own > stated[*place] * SLACK for *place, own in derived):
        raise NotVerified("its events are not those that are derived")
    if not cost.holds(claim):
        raise NotVerified("its events cost more than it claims")
    given, said = instance["universe"], [f"{name} = {float(x):.12g}" for name, x in claim.items()]
    many = f"{given['count']} of {given['records'] or f'up to {RECORDS}'} records"
    ends = []
    for one in given["parts"]:
        low, high = min(one["low"], key=exact), max(one["high"], key=exact)
        kind = ("" if one["is_changed"] else "public ") + "whole " * one["is_integer"]
        named = f"{one['name']!r}, {kind}numbers" if one["name"] else f"{kind}numbers"
        ends.append(f"{named} in [{low}, {high}], of norm {one['norm']}")
    by = f"{given['relation']}, which is to {given['change']} {many}"
    return f"{', '.join(said)}, for all neighbours by {by}, {'; '.join(ends)}"


def main(arguments: list[str]) -> int:
    """Check files, print a line for each certificate, and return 0 if all hold."""
    status = 0 if arguments else 1
    for path in arguments:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(BYTES + 1)
            if len(text) > BYTES:
                raise NotVerified("the file is too large")
            content = json.loads(text, object_pairs_hook=once, parse_constant=exact)
            documents = content if isinstance(content, list) else [content]
            if not documents:
                raise NotVerified("it holds no certificate")
            for one in documents:
                print(f"{path}: verified: {check(one)}")
        except (NotVerified, OSError, ValueError, RecursionError) as error:
            print(f"{path}: not verified: {error}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
