"""Checks a proof from code: a certificate of kind ``proof``, by rules of its own.

Run it by itself: ``python checker.py proof.json``. It needs the standard library and nothing else,
shares nothing with what wrote the file, and believes no number of it: ends, distances and events
are derived again, in fractions, rounded outwards where they are roots or logarithms. The statement
is about the program in the file; ``dpaudit verify --mechanism`` sees whether a function is that.

A node of a program is one real number: {"operation", "operands", "parameters", "place"}. If a
program is `alike`, it treats all records alike, and a node that depends on one (``data`` of row
None) is a number of each record, here the pair of the record that changes and of any other;
elsewhere every record changes in turn. `apply_rule` lists what is done to numbers, and beside it
there are: ``data``, ``number``, ``total`` and ``rows`` (a sum and a quantile over all records, a
sum over those of a Poisson sample too), ``decide`` (by which a path parts), ``within`` (what the
code lets through), and what makes numbers public, by noise that nothing else uses: ``release`` (a
centre plus draws times factors), ``choose`` (the place of the largest noisy score) and ``respond``
(an answer by the odds of a whole number).

An `CheckerEntry` is a number on both sides: its ends, and by how much the second side is above the
first, its move. Nothing is simplified here: the writer multiplies polynomials out, so that what is
alike on both sides cancels before it is bounded. With one record more, the changed record has a
weight that is 0 on one side and 1 on the other. Laplace noise of scale b costs
(L1 distance) / b, Gaussian noise the square of (L2 distance) / sigma, a choice (largest move -
smallest move) / scale, an answer its largest log-ratio, and a Poisson sample of rate q turns e into
log(1 + q (exp(e) - 1)). Costs add up along a path, and the largest path counts: pure epsilon, rho,
squared mu and Renyi divergences are filters. Of k records, each changes after the other: k times.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction as F
from functools import reduce
from itertools import permutations
from typing import Any, NamedTuple

INF = math.inf
ZERO = F(0)
ONE = F(1)
DIGITS = 60
BYTES = 16 * 2**20  # of a file
NODES = 200_000  # in all paths of a file
WORK = 400_000  # operations that checking it may take
BITS = 50_000  # of a number
VALUES = 64  # largest value that an answer is about
RECORDS = 2**40  # where their number is not public, there are no more
SLACK = 1 + F(1, 10**9)  # digits beyond it belong to the rounding of the code's own constants
RELATIONS = (
    "replace-record replace-cell replace-label replace-user add-remove-record add-remove-user"
)


class NotVerified(Exception):
    """Why a certificate is not verified."""


# --- numbers: fractions, infinities, and intervals of them ----------------------------------------


def round_long_fraction(x: Any, up: bool) -> Any:
    """Return a number of 220 binary digits on the asked side of a long one."""
    if isinstance(x, float):
        if x != x:
            raise NotVerified("infinity less infinity")
        return x
    above, below = x.numerator.bit_length(), x.denominator.bit_length()
    # Short fractions stay exact, so that what cancels exactly is seen to.
    if above + below < 700:
        return x
    if above + below > BITS:
        raise NotVerified("a number that is too long")
    unit = F(2) ** (above - below - 220)
    return (math.ceil(x / unit) if up else math.floor(x / unit)) * unit


def total(values: Any) -> Any:
    return round_long_fraction(sum(values, ZERO), True)


def multiply_extended(a: Any, b: Any) -> Any:
    """Return a product, in which 0 times infinity is 0."""
    # An unbounded factor of a move that is 0 moves nothing.
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
        return make_outward_interval([self.low + other.low, self.high + other.high])

    def __mul__(self, other: Any) -> Interval:
        return make_outward_interval([multiply_extended(a, b) for a in self for b in other])

    def power(self, n: int) -> Interval:
        ends = [
            round_long_fraction(e, True) ** n if isinstance(e, F) else e if n % 2 else INF
            for e in self
        ]
        least = [ZERO] if n % 2 == 0 and self.low < 0 < self.high else []
        return make_outward_interval(ends + least) if n else as_interval(ONE)

    def meet(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def join(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def size(self) -> Any:
        return max(-self.low, self.high)


def make_outward_interval(ends: list[Any]) -> Interval:
    return Interval(round_long_fraction(min(ends), False), round_long_fraction(max(ends), True))


def as_interval(x: Any) -> Interval:
    return Interval(x, x)


STILL = as_interval(ZERO)
SHARE = Interval(ZERO, ONE)
REACH = Interval(-ONE, ONE)
ANY = Interval(-INF, INF)


def evaluated(name: str, x: Any, up: bool) -> Any:
    """Return sqrt, exp or log of a number: `decimal` rounds each to the nearest."""
    if isinstance(x, float):
        return x if x > 0 else ZERO
    # Beyond, decimal takes long. e^20000 is above 10^8000, so these are ends that hold.
    if name == "exp" and abs(x) > 20_000:
        return (INF if up else F(10) ** 8000) if x > 0 else (F(1, 10**8000) if up else ZERO)
    context = Context(DIGITS, ROUND_CEILING if up else ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
    given = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    near = getattr(context, "ln" if name == "log" else name)(given)
    # An exact root stays exact: one step outwards would keep a distance of 1 from being 1.
    if name == "sqrt" and F(near) ** 2 == x:
        return F(near)
    # Ten units of the last digit, where the rounding to the nearest leaves half a unit.
    step = F(10) ** (near.adjusted() - DIGITS + 2) if near else F(1, 10**DIGITS)
    return F(near) + (step if up else -step)


def monotone(name: str, x: Interval) -> Interval:
    return Interval(evaluated(name, x.low, False), evaluated(name, x.high, True))


def compute_interval_inverse(x: Interval) -> Interval:
    """Return 1 over numbers that have one sign, or are 0 at the lower end."""
    return make_outward_interval([ZERO if isinstance(e, float) else 1 / e if e else INF for e in x])


# --- rules: the ends of functions, and how steep they are -----------------------------------------

FUNCTIONS = frozenset("inverse exp log sqrt sin cos arctan floor rint place other".split())


def apply_rule(op: str, xs: list[Interval], extra: Any) -> tuple[Interval | None, list[Interval]]:
    """Return ends, None where it may be no number, and the quotients by which each argument counts.

    They are between the derivatives of a function: by the mean value theorem it moves by a sum of
    its arguments' moves times such numbers.
    """
    x = xs[0] if xs else STILL
    match op:
        case "poly":
            return polynomial_rule(xs, extra)
        case "order":
            return order_rule(xs, *extra)
        case "others":  # a sum over other records: of so many
            return x * extra, [extra]
        case "place":  # of the first that is the largest
            return Interval(ZERO, F(len(xs) - 1)), [ANY] * len(xs)
        case "clip":  # the first of a vector that is shortened to a length
            return (x * SHARE).meet(Interval(-extra[0], extra[0])), [ANY] * len(xs)
        case "inside":  # 1 in an interval, which has its lower end, and 0 elsewhere
            low, high, closed = extra
            sure = low <= x.low and (x.high <= high if closed else x.high < high)
            never = x.high < low or (x.low > high if closed else x.low >= high)
            return as_interval(F(sure)) if sure or never else SHARE, [
                STILL if sure or never else ANY
            ]
        case "inverse" if x.low > 0 or x.high < 0:
            return compute_interval_inverse(x), [
                compute_interval_inverse(x).power(2) * as_interval(-ONE)
            ]
        case "exp":
            return monotone("exp", x), [monotone("exp", x)]
        case "log" if x.low > 0:
            return monotone("log", x), [compute_interval_inverse(x)]
        case "sqrt" if x.low >= 0:
            return monotone("sqrt", x), [
                compute_interval_inverse(monotone("sqrt", x) * as_interval(F(2)))
            ]
        case "sin" | "cos" | "arctan":
            return REACH * as_interval(F(8, 5) if op == "arctan" else ONE), [REACH]
        case "floor" | "rint":
            near = math.floor if op == "floor" else round
            return Interval(*(e if isinstance(e, float) else F(near(e)) for e in x)), [ANY]
    return None, [ANY] * len(xs)


def polynomial_rule(xs: list[Interval], terms: Any) -> tuple[Interval, list[Interval]]:
    """Bound a sum of products: each factor counts as often as the others of its term say."""
    ends, slopes = STILL, [STILL] * len(xs)
    for factor, powers in terms:
        parts = {k: xs[k].power(n) for k, n in powers}
        ends += math.prod(parts.values(), start=as_interval(factor))
        for k, n in powers:
            rest = [one for other, one in parts.items() if other != k]
            slopes[k] += math.prod(rest, start=xs[k].power(n - 1) * as_interval(factor * n))
    return ends, slopes


def order_rule(xs: list[Interval], by: F, counts: Any) -> tuple[Interval, list[Interval]]:
    """Bound a quantile of numbers, each so often: the smallest is by 0, the largest by 1.

    It is a mean of two neighbours in order, and rises with each of the numbers: what is surely
    below or above these two does not count, and of the others each as much as one of the two.
    """
    place = by * (sum(counts) - 1)
    near = [Interval(*(ranked([one[i] for one in xs], counts, k) for i in (0, 1)))
            for k in (math.floor(place), math.ceil(place))]  # fmt: skip
    share = place % 1
    most = [Interval(ZERO, min(ONE, count * max(share, 1 - share))) for count in counts]
    slopes = [steep if x.high >= near[0].low and x.low <= near[1].high else STILL
              for x, steep in zip(xs, most, strict=True)]  # fmt: skip
    return near[0] * as_interval(1 - share) + near[1] * as_interval(share), slopes


def ranked(values: list[Any], counts: Any, place: int) -> Any:
    """Return which of values, each so often, has so many below it."""
    for value, count in sorted(zip(values, counts, strict=True)):
        place -= count
        if place < 0:
            return value
    raise NotVerified("a place beyond the largest")


def apply_to_jets(op: str, jets: list[Any], extra: Any) -> Any:
    """Return ends and slopes of a function of others', or None where it may be no number."""
    if None in jets:
        return None
    ends, slopes = apply_rule(op, [one[0] for one in jets], extra)
    found: dict[Any, Interval] = {}
    for v in {v for one in jets for v in one[1]}:
        moves = [(slope, one[1].get(v, STILL)) for slope, one in zip(slopes, jets, strict=True)]
        found[v] = reduce(Interval.__add__, (slope * move for slope, move in moves), STILL)
        if op == "order":  # it moves by a mean of what counts
            found[v] = found[v].meet(reduce(Interval.join, (m for s, m in moves if s != STILL)))
    return None if ends is None else (ends, found)


def farthest(op: str, args: Any) -> Any:
    """Return how far some functions move at most, whatever their slopes."""
    far = args[0].move.size if args else ZERO
    if op == "sqrt":  # |sqrt a - sqrt b| <= sqrt |a - b|
        return evaluated("sqrt", far, True)
    return math.ceil(far) + F(op == "rint") if op in ("floor", "rint") and far < INF else INF


def is_whole(op: str, args: Any, extra: Any) -> bool:
    """Return whether a function of numbers is an integer."""
    if op == "poly":
        fits = all(factor.denominator == 1 for factor, _ in extra)
    else:
        fits = op == "others" or (op == "order" and extra[0] * (sum(extra[1]) - 1) % 1 == 0)
    return op in ("floor", "rint", "inside", "place") or (fits and all(one.whole for one in args))


# --- numbers of the program, on both sides --------------------------------------------------------


@dataclass(eq=False)
class CheckerEntry:
    """A number: its ends, how far the second side is above the first, and its operands."""

    key: int
    op: str
    extra: Any
    args: tuple[CheckerEntry, ...]
    ends: Interval | None  # None where it may be no number
    move: Interval
    local: bool  # whether it is of each other record
    samples: frozenset[Any]  # by which the record that changes may come into it
    whole: bool  # whether it is an integer
    ball: Any = None  # (group, squared radius, radius in L1) of a ball with others of its group

    @property
    def moves(self) -> bool:
        return self.move != STILL


class CheckerReading:
    """The effect of one changed record on a program: (row, cell), or (0, cell) if all are alike.

    There a node is a list: of one number, or of that of row 0 and of one that stands for any other.
    """

    def __init__(self, instance: Any, changed: Any, hints: Any) -> None:
        self.universe, self.draws = instance["universe"], instance["draws"]
        self.alike, self.adds, self.changed = instance["alike"], self.universe["adds"], changed
        self.others = F(RECORDS if self.adds else self.universe["records"] - 1)
        self.entries, self.work, self.hints = list[CheckerEntry](), WORK, iter(hints)
        self.known, self.uses, self.families = (
            dict[Any, CheckerEntry](),
            dict[int, Any](),
            dict[Any, Any](),
        )
        self.hiding, self.events = list[Any](), list[Any]()

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise NotVerified("it is too large to be checked")

    def new(
        self, op: str, args: Any, extra: Any, ends: Any, move: Interval, **more: Any
    ) -> CheckerEntry:
        """Return the entry of a function of others: the same for the same, a new one at first."""
        # Equal functions of equal numbers are one entry: this is how the two sides of x - x
        # come to cancel.
        key = (op, extra, *(one.key for one in args))
        if key not in self.known:
            self.spend(1 + len(args))
            if ends and move != STILL and ends.size < INF:
                # Two numbers between the same ends are no further apart than these.
                move = move.meet(Interval(ends.low - ends.high, ends.high - ends.low))
            known: dict[str, Any] = {
                "local": any(one.local for one in args),
                "samples": frozenset[Any]().union(*(one.samples for one in args)),
                "whole": is_whole(op, args, extra),
            }
            fields = (len(self.entries), op, extra, tuple(args), ends, move)
            self.entries.append(CheckerEntry(*fields, **known | more))
            self.known[key] = self.entries[-1]
        return self.known[key]

    def number(self, value: F) -> CheckerEntry:
        return self.new(
            "number", (), value, as_interval(value), STILL, whole=value.denominator == 1
        )

    def call(self, op: str, args: Any, extra: Any = None, **more: Any) -> CheckerEntry:
        """Return a function of others; one that may be no number moves nobody knows how far."""
        found = apply_to_jets(op, [one.ends and (one.ends, {0: one.move}) for one in args], extra)
        if found is None:
            move = ANY if any(one.moves for one in args) else STILL
            return self.new(op, args, extra, None, move, **more)
        ends, far = found[0], farthest(op, args)
        if ends.low == ends.high:
            return self.number(ends.low)
        move = found[1].get(0, STILL).meet(Interval(-far, far))
        return self.new(op, args, extra, ends, move, **more)

    def polynomial(self, args: list[CheckerEntry], terms: Any) -> CheckerEntry:
        """Return a polynomial: a sum of sums is a sum of like terms too, and moves as the best."""
        found = defaultdict[Any, F](F)
        for factor, powers in terms:
            ones = Counter[int]()
            for k, n in powers:
                ones[args[k].key] += n
            # Only a polynomial that stands by itself in a term is merged: multiplied out,
            # powers would grow.
            inner = self.entries[min(ones)] if sum(ones.values()) == 1 else None
            if inner and inner.op == "poly" and inner.ends:
                for own, parts in inner.extra:
                    found[tuple((inner.args[k].key, n) for k, n in parts)] += factor * own
            else:
                found[tuple(sorted(ones.items()))] += factor
        keys = sorted({key for powers in found for key, _ in powers})
        place = {key: k for k, key in enumerate(keys)}
        flat = [(f, tuple((place[k], n) for k, n in powers)) for powers, f in found.items() if f]
        direct = self.call("poly", args, terms)
        best = self.call("poly", [self.entries[k] for k in keys], tuple(flat))
        if best.ends and direct.ends:
            best.ends, best.move = best.ends.meet(direct.ends), best.move.meet(direct.move)
        return best

    # --- nodes

    def values(self, index: int, node: Any, args: list[Any]) -> list[CheckerEntry]:
        """Return the entries of a node, one for each row."""
        name, given, wide = node["operation"], node["parameters"], max(map(len, args), default=1)
        wide = 2 if self.alike and (name == "data" or given.get("each")) else wide
        rows = [[one[i % len(one)] for one in args] for i in range(wide)]
        if name in ("total", "rows"):
            return [getattr(self, name)(given, *rows[0], *rows[-1])]
        if name in ("release", "respond", "choose"):
            # One draw that hides the numbers of all records is gone once two of them are
            # subtracted.
            if given["each"] is not (wide == 2) or (name == "choose" and wide == 2):
                raise NotVerified(f"node {index}: one draw for all records")
            self.use(given["draws"], index, given["each"])
            return [getattr(self, name)(index, given, row, i) for i, row in enumerate(rows)]
        return [self.entry(name, given, row, i) for i, row in enumerate(rows)]

    def entry(self, name: str, given: Any, args: list[CheckerEntry], row: int) -> CheckerEntry:
        """Return the entry of a node on one row."""
        match name:
            case "number":
                return self.number(require_finite_fraction(given["value"]))
            case "data":
                return self.data(given, row)
            case "decide":
                return args[0]
            case "poly":
                return self.polynomial(args, terms_of(given["terms"], len(args)))
            case "order":
                return self.call(
                    name, args, (require_finite_fraction(given["by"], 0, 1), (1,) * len(args))
                )
            case "clip":
                most, margin = (
                    require_finite_fraction(given["by"], F(1, 10**300)),
                    require_finite_fraction(given["margin"], 0),
                )
                ball = (("clip", margin, *sorted(one.key for one in args)), most * most, None)
                return self.call(name, args, (most, margin), ball=ball)
            case "inside":
                return self.inside(args[0], given)
            case "within":
                return self.within(args[0], given)
        if name not in FUNCTIONS:
            raise NotVerified(f"no rule knows {name}")
        return self.call(name, args)

    def data(self, given: Any, place: int) -> CheckerEntry:
        """Return a number of a record, which may move if it is the one that changes."""
        name, row, cell = given["part"], given["row"], require_whole_number(given["cell"])
        part = next(one for one in self.universe["parts"] if one["name"] == name)
        ends, own = part["ends"][cell], (place if self.alike else row) == self.changed[0]
        if (
            (row is not None)
            if self.alike
            else require_whole_number(row) >= self.universe["records"]
        ):
            raise NotVerified("a record that is none")
        # A record that is added does not move: its weight goes from 0 to 1 instead.
        mine = own and not self.adds and part["is_changed"]
        mine = mine and self.changed[1] in (None, (name, cell)) and ends.low < ends.high
        ball = (("data", name, row, place), multiply_extended(part["norm"], part["norm"]), None)
        known = {"whole": part["is_integer"], "ball": ball, "local": self.alike and not own}
        return self.new("leaf", (), (name, row, cell, place), ends, ANY if mine else STILL, **known)

    def inside(self, one: CheckerEntry, given: Any) -> CheckerEntry:
        """Return whether a number is in a set; of a family of disjoint sets, it is in one alone."""
        key = (one.key, json.dumps(given["family"]))
        low, high, closed = own = (
            parse_exact_number(given["low"]),
            parse_exact_number(given["high"]),
            given["closed"] is True,
        )
        sets = self.families.setdefault(key, set())
        for a, b, has_b in sets - {own}:
            # A number in two sets would move two counts, and the ball of the family has room
            # for one.
            if not (high < a or b < low or (high == a and not closed) or (b == low and not has_b)):
                raise NotVerified("sets of one family that overlap")
        sets.add(own)
        return self.call("inside", [one], own, ball=(("inside", *key), ONE, ONE))

    def within(self, one: CheckerEntry, given: Any) -> CheckerEntry:
        """Return a number that the code lets through, which it has to do on both sides."""
        low, high, ends = (
            parse_exact_number(given["low"]),
            parse_exact_number(given["high"]),
            one.ends,
        )
        if ends and low <= ends.low and ends.high <= high and (one.whole or not given["whole"]):
            return one
        # A number that is rounded to its type counts as none where it may not fit; one that
        # the code has to let through decides the shapes that the program takes for granted.
        if given["whole"] is not True:
            raise NotVerified("a number may lie beyond the ends that its line needs")
        return self.call("within", [one])

    # --- all records

    def total(self, given: Any, own: CheckerEntry, other: CheckerEntry) -> CheckerEntry:
        """Return a sum over all records, or over those of a sample."""
        sample, many = given["sample"], Interval(ZERO if self.adds else self.others, self.others)
        if not self.alike or (sample is not None and not self.adds):
            raise NotVerified("a sum over records, or samples of them, which are not alike")
        self.use([] if sample is None else [sample], "sample", each=True)
        rest, powers = self.call("others", [other], many, local=False), [(0, 1), (2, 1)]
        parts = [own, rest, self.weight(sample)] if self.adds else [own, rest]
        terms = (ONE, tuple(powers[: 1 + self.adds])), (ONE, ((1, 1),))
        return self.polynomial(parts, terms)

    def weight(self, sample: Any) -> CheckerEntry:
        """Return 1 where the record that is added takes part, and 0 elsewhere."""
        move, samples = as_interval(ONE) if sample is None else SHARE, frozenset([sample])
        return self.new("weight", (), sample, SHARE, move, whole=True, samples=samples)

    def rows(self, given: Any, own: CheckerEntry, other: CheckerEntry) -> CheckerEntry:
        """Return a quantile of a number of each record."""
        if self.adds or not self.alike:
            raise NotVerified("of an unknown number of records")
        parts, counts = ([own, other], (1, int(self.others))) if self.others else ([own], (1,))
        return self.call(
            "order", parts, (require_finite_fraction(given["by"], 0, 1), counts), local=False
        )

    # --- what becomes public

    def use(self, draws: Any, user: Any, each: bool) -> None:
        for draw in draws:
            # Noise that hides two values cancels in their difference.
            if self.uses.setdefault(require_whole_number(draw), user) != user or len(
                {*draws}
            ) < len(draws):
                raise NotVerified("noise is used twice")
            law, is_each = self.draws[draw]["law"], self.draws[draw]["each"]
            if is_each is not each or (law == "sample") != (user == "sample"):
                raise NotVerified("one draw for several records")

    def public(
        self, key: Any, row: int, ends: Interval = ANY, integer: bool = False
    ) -> CheckerEntry:
        return self.new("coin", (), (key, row), ends, STILL, whole=integer, local=row == 1)

    def release(self, index: int, given: Any, args: list[CheckerEntry], row: int) -> CheckerEntry:
        """Return a number plus noise, which is public, and note the number that it hides."""
        laws, (centre,) = [self.draws[draw] for draw in given["draws"]], args
        factors = [require_finite_fraction(one) for one in given["factors"]]
        if len(factors) != len(laws) or not factors:
            raise NotVerified("as many factors as draws")
        law, width = width_of(laws, factors, centre.whole)
        if centre.moves:
            if width <= 0 or centre.ends is None:
                raise NotVerified(
                    f"node {index}: no rule covers noise on a value that is not a number"
                )
            weight = self.others if row else ONE
            self.hiding.append((index, law, width, self.sharpen_entry(centre), weight))
        known = centre.whole and {one["law"] for one in laws} <= {"geometric", "discrete-laplace"}
        return self.public(index, row, integer=known and all(f.denominator == 1 for f in factors))

    def terms(self, entry: CheckerEntry) -> list[Any]:
        """Return the moving terms of a number: (factor, {entry: exponent}) of a sum."""
        if entry.op != "poly":
            return [(ONE, {entry: 1})] if entry.moves else []
        listed = [(f, {entry.args[k]: n for k, n in powers}) for f, powers in entry.extra]
        return [(factor, ones) for factor, ones in listed if any(one.moves for one in ones)]

    def members(self, centre: CheckerEntry) -> dict[CheckerEntry, F]:
        """Return {entry of a ball: |factor|} where a centre moves by a sum of these, or nothing."""
        found = defaultdict[CheckerEntry, F](F)
        for factor, ones in self.terms(centre):
            rest = [one for one in ones if one.op != "weight"]
            # A ball bounds its own vector. A product with anything else that moves is not in
            # it.
            if len(rest) != 1 or not rest[0].ball or sum(ones.values()) != 1 + self.adds:
                return {}
            found[rest[0]] += abs(factor)  # by several weights
        return found if len({one.ball for one in found}) == 1 else {}

    def close(self) -> list[Any]:
        """Return the events: each entry costs by itself, or those of a ball together."""
        groups = defaultdict[Any, list[Any]](list)
        for place, (index, law, width, centre, weight) in enumerate(self.hiding):
            members = self.members(centre)
            ball = next(iter(members)).ball if members else None
            if not ball or (law != "normal" and not ball[2]):
                ball = place
            # A record that comes in by two coins, or by none, takes part more often than one
            # coin says.
            sample = next(iter(centre.samples)) if len(centre.samples) == 1 else None
            groups[law, width, ball, sample].append((index, centre, members, weight))
        for (law, width, _, sample), rows in groups.items():
            self.event(rows[0][0], law, cost_of(law, width, rows, self.adds), sample)
        return self.events

    def event(self, index: int, law: str, cost: Any, sample: Any = None) -> None:
        if not 0 <= cost < INF:
            raise NotVerified(f"node {index}: nothing bounds how far the value moves")
        if cost:
            self.events.append((law, round_long_fraction(cost, True), sample))

    def choose(self, index: int, given: Any, scores: list[CheckerEntry], _: int) -> CheckerEntry:
        """Return the place of the largest score with noise of its own: a shift of all is none."""
        laws, factor = (
            {self.draws[draw]["law"] for draw in given["draws"]},
            require_finite_fraction(given["factor"]),
        )
        known = laws in ({"laplace"}, {"gumbel"}, {"exponential"}) and factor > 0
        if not known or len(given["draws"]) != len(scores) or not all(one.ends for one in scores):
            raise NotVerified(f"node {index}: no rule knows this choice")
        moves = [self.sharpen_entry(one).move for one in scores]
        # A shift of all scores changes no place, so only how far they move apart counts.
        far = max(x.high for x in moves) - min(x.low for x in moves)
        self.event(index, "choice", max(far / factor, ZERO))
        return self.public(index, 0, Interval(ZERO, F(len(scores) - 1)), integer=True)

    def respond(self, index: int, given: Any, args: list[CheckerEntry], row: int) -> CheckerEntry:
        """Return an answer that is drawn by the odds of a whole number: (number, answer, odds)."""
        odds, (truth,) = defaultdict[int, dict[F, F]](dict), args
        for one, answer, share in given["odds"]:
            odds[require_whole_number(one, -VALUES, VALUES)][require_finite_fraction(answer)] = (
                require_finite_fraction(share, F(1, 10**300))
            )
        sums = {sum(law.values()) for law in odds.values()}
        if sums != {1} or sum(map(len, odds.values())) < len(given["odds"]):
            raise NotVerified(f"node {index}: odds that do not add up to 1")
        low, high, worst = min(odds), max(odds), ONE
        inside = truth.ends and low <= truth.ends.low and truth.ends.high <= high
        if not truth.whole or not inside or len(odds) <= high - low:
            raise NotVerified(f"node {index}: an answer about other numbers")
        for one, other in permutations(odds, 2):
            if abs(one - other) <= truth.move.size:
                if odds[one].keys() != odds[other].keys():
                    raise NotVerified(f"node {index}: an answer that one record alone gives")
                worst = max(worst, *(share / odds[other][k] for k, share in odds[one].items()))
        cost = evaluated("log", worst, True) if worst > 1 else ZERO
        self.event(index, "answer", multiply_extended(self.others if row else ONE, cost))
        return self.public(index, row)

    # --- the largest move of one number, by a search in boxes whose cuts the file has

    def sharpen_entry(self, entry: CheckerEntry) -> CheckerEntry:
        """Return an entry whose move is the best of its rules and of the next hint.

        That is searches up and down, [variables, tree]: numbers on side 0, 1 or on both, which is
        2, and a tree is [] or [which of them is cut in the middle, tree below, tree above].
        """
        far = []
        for sign, (variables, tree) in zip((ONE, -ONE), next(self.hints, None) or (), strict=False):
            box = {(k, side): self.entries[k].ends for k, side in variables}
            if entry.ends is None or any(not x or x.size == INF for x in box.values()):
                raise NotVerified("a search without ends")
            far.append(self.worst(entry, box, tree, sign))
        # Replaced records may be exchanged, so a search upwards bounds the moves downwards too;
        # an added one goes in one direction.
        if far and (not self.adds or len(far) == 2) and entry.moves:
            found = Interval(-far[-1], far[0])
            entry.move = entry.move.meet(found.join(STILL) if entry.samples - {None} else found)
        return entry

    def at(self, box: Any, side: int, samples: Any) -> Any:
        """Return the function that gives ends and slopes of entries on one side in a box.

        The record that is added is in one sample, but of several it may be in some alone.
        """
        done: dict[int, Any] = {}

        def jet(one: CheckerEntry) -> Any:
            v = (one.key, side if one.moves else 2)
            if v in box:
                return box[v], {v: as_interval(ONE)}
            if one.op == "weight":
                is_in = one.extra is None or len(samples) == 1
                return Interval(F(side) if is_in else ZERO, F(side)), {}
            if not one.args or (not one.local and any(a.local for a in one.args)):
                return one.ends and (one.ends, {})
            if one.key not in done:
                self.spend(5)
                done[one.key] = apply_to_jets(one.op, [jet(a) for a in one.args], one.extra)
            return done[one.key]

        return jet

    def apart(self, entry: CheckerEntry, box: Any, sign: F) -> Any:
        """Return the ends and slopes of a move times a sign: terms that stay are left out."""
        listed = self.terms(entry)
        args, jets = list({one for _, ones in listed for one in ones}), list[Any]()
        terms = [(f, [(args.index(one), n) for one, n in ones.items()]) for f, ones in listed]
        for side in (0, 1):
            jet = self.at(box, side, entry.samples)
            jets.append(apply_to_jets("poly", [jet(one) for one in args], terms))
        found = apply_to_jets("poly", jets, ((-sign, ((0, 1),)), (sign, ((1, 1),))))
        if not found:
            raise NotVerified("a search meets what may be no number")
        return found[0], {v: found[1].get(v, STILL) for v in box}

    def worst(self, entry: CheckerEntry, box: Any, tree: Any, sign: F) -> Any:
        """Return a number that a move in a box, times a sign, is never above."""
        bound = self.bounded(entry, box, sign)[0]
        if not tree:
            return bound
        v = list(box)[tree[0]]
        middle = (box[v].low + box[v].high) / 2
        halves = Interval(box[v].low, middle), Interval(middle, box[v].high)
        parts = zip(halves, tree[1:], strict=True)
        return max(self.worst(entry, {**box, v: x}, more, sign) for x, more in parts)

    def bounded(self, entry: CheckerEntry, box: Any, sign: F) -> Any:
        """Return a bound of a move in a box, one that is reached, and slopes; shrink the box."""
        steep: Any = [None]
        while steep:  # where it rises or falls in a number, that number is at an end
            ends, slopes = self.apart(entry, box, sign)
            wide = [v for v, x in box.items() if x.low < x.high]
            steep = [v for v in wide if slopes[v].low >= 0 or slopes[v].high <= 0]
            box |= {
                v: as_interval(box[v].high if slopes[v].low >= 0 else box[v].low) for v in steep
            }
        middle = {v: as_interval((x.low + x.high) / 2) for v, x in box.items()}
        inner = self.apart(entry, middle, sign)[0] if wide else ends
        reach = total(
            multiply_extended(slopes[v].size, (x.high - x.low) / 2) for v, x in box.items()
        )
        return min(ends.high, inner.high + reach), inner.low, slopes


# --- what events cost, one by one and together ----------------------------------------------------


def width_of(laws: Any, factors: list[F], is_whole: bool) -> tuple[str, Any]:
    """Return the law of a sum of noise, and its scale or squared sigma: 0 if it hides nothing."""
    names, law = sorted({one["law"] for one in laws}), laws[0]
    pair = len(laws) == 2 and sum(factors) == 0
    match names:
        case ["normal"]:
            return "normal", sum(f * f for f in factors)
        case ["laplace"] | ["logistic"]:  # the widest hides, whatever others add
            return "laplace", max(map(abs, factors))
        case ["exponential"] if pair:  # their difference is Laplace
            return "laplace", abs(factors[0])
        case ["discrete-laplace"] if is_whole and len(laws) == 1 and abs(factors[0]) == 1:
            return "laplace", 1 / parse_exact_number(law["rate"])
        case ["geometric"] if is_whole and pair and laws[0] == laws[1] and abs(factors[0]) == 1:
            return "laplace", -1 / evaluated(
                "log", 1 - require_finite_fraction(law["p"], F(1, 10**9)), False
            )
    # No other sum of draws hides anything, as far as the rules here know.
    return "laplace", ZERO


def cost_of(law: str, width: F, rows: Any, adds: bool) -> Any:
    """Return the cost of centres that move by a public matrix times a vector of a ball.

    The squared L2 norm of a matrix is at most its largest row sum times its largest column sum;
    |u - v|^2 = |u|^2 + |v|^2 - 2 <u, v>, which is less where both are positive.
    """
    moves = [(one.move.size, weight) for _, one, _, weight in rows]
    far1 = total(multiply_extended(weight, size) for size, weight in moves)
    far2 = total(multiply_extended(weight, multiply_extended(size, size)) for size, weight in moves)
    columns = defaultdict[CheckerEntry, F](F)
    for _, _, members, _ in rows:
        for one, factor in members.items():
            columns[one] += factor
    if columns:
        most, (_, square, wide) = max(columns.values()), next(iter(columns)).ball
        apart = 1 if adds else 2 if all((one.ends or ANY).low >= 0 for one in columns) else 4
        line = max(sum(members.values()) for _, _, members, _ in rows)
        many = max(weight for _, weight in moves)  # of records, each with a ball of its own
        far2 = min(far2, multiply_extended(line * most * apart * many, square))
        far1 = min(far1, most * wide * many * (1 if adds else 2)) if wide else far1
    count = total(weight for _, weight in moves)
    far1 = min(far1, evaluated("sqrt", multiply_extended(count, far2), True))  # Cauchy, Schwarz
    return multiply_extended(
        min(far2, multiply_extended(far1, far1)) if law == "normal" else far1, 1 / width
    )


def compute_normal_cdf(x: F) -> Interval:
    """Return ends of the probability that a standard normal number is below x.

    It is 1/2 and its density times x + x^3 / 3 + x^5 / 15 + ...; beyond 12 it is 0 or 1, nearly.
    """
    t, n = min(abs(x), F(12)), 1
    term = grown = t
    while term > F(1, 2**300) or n < 2 * t * t:  # in the end the rest is less than a term
        n += 2
        term = F(math.floor(term * t * t / n * 2**400), 2**400)
        grown += term
    pi = F("3.14159265358979323846264338327950288419716939937510582097494")
    roots = monotone("sqrt", Interval(2 * pi, 2 * pi + F(1, 10**58)))
    half = (
        monotone("exp", as_interval(-t * t / 2))
        * compute_interval_inverse(roots)
        * Interval(grown, grown + F(1, 2**250))
    )
    found = (as_interval(F(1, 2)) + half * as_interval(F(1 if x > 0 else -1))).meet(SHARE)
    return found if t == abs(x) else found.join(as_interval(F(x > 0)))


def delta_of_mu(epsilon: F, square: F) -> Any:
    """Return the delta of Gaussian noise with a squared mu, rounded up."""
    mus = [evaluated("sqrt", square, up) for up in (True, False)]
    first = max(-epsilon / mu + mu / 2 for mu in mus)
    second = min(-epsilon / mu - mu / 2 for mu in mus)
    return (
        compute_normal_cdf(first).high
        - evaluated("exp", epsilon, False) * compute_normal_cdf(second).low
    )


class Cost:
    """The cost of the events of paths: pure epsilon, squared mu, rho, and Renyi divergences."""

    def __init__(self) -> None:
        self.pure, self.square, self.rho, self.paths = ZERO, ZERO, ZERO, list[Any]()

    def add_path(self, events: Any, count: int, rates: Any) -> None:
        """Add the events of a path; Gaussian noise that is alone with a sample gains by it."""
        groups, pure, square = defaultdict[Any, Any](list), list[Any](), ZERO
        for law, cost, sample in events:
            groups[sample].append((law, cost))
        samples = list[Any]()
        for sample, group in groups.items():
            spent = [cost for law, cost in group if law != "normal"]
            widths = [cost for law, cost in group if law == "normal"]
            if sample is not None and not widths:
                inner = 1 + multiply_extended(
                    rates[sample], evaluated("exp", total(spent), True) - 1
                )
                spent = [evaluated("log", inner, True)]
            # The theorem of samples is of one Gaussian release and of one record.
            if sample is not None and len(group) == len(widths) == count == 1:
                samples.append((rates[sample], *widths))
            else:
                pure += [cost * count for cost in spent]
                square += total(widths) * count**2
        rho = total(x * x / 2 for x in pure) + square / 2
        every = square + total(own for _, own in samples)
        self.pure, self.square = max(self.pure, total(pure)), max(self.square, every)
        self.rho = max(self.rho, rho + (every - square) / 2)
        self.paths.append((rho, samples))

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
        exponent = (order - 1) * (far - epsilon) + order * evaluated("log", 1 - 1 / order, True)
        return evaluated("exp", exponent, True) / (order - 1)


def sampled(order: F, rate: F, square: F) -> Any:
    """Return the divergence of Gaussian noise on a Poisson sample (Mironov et al. 2019)."""
    n, terms = int(order), list[Any]()
    if n != order:
        return INF
    for k in range(n + 1):
        odds = math.comb(n, k) * (1 - rate) ** (n - k) * rate**k
        terms.append(multiply_extended(odds, evaluated("exp", k * (k - 1) * square / 2, True)))
    return evaluated("log", total(terms), True) / (order - 1)


# --- the file -------------------------------------------------------------------------------------


def parse_exact_number(value: Any) -> Any:
    """Return the number that a file writes: a number, "p/q", or an infinity."""
    if value in ("Infinity", "-Infinity"):
        return float(value)
    if (
        type(value) not in (int, float, str)
        or len(str(value)) > 2000
        # Fraction also reads "1e999999999", which would fill the memory.
        or (isinstance(value, str) and not set(value) <= set("0123456789/-"))
    ):
        raise NotVerified("a number that is none")
    return F(value)


def require_finite_fraction(value: Any, low: Any = -INF, high: Any = INF) -> F:
    """Return a number that is no infinity, and between two others."""
    found = parse_exact_number(value)
    if not isinstance(found, F) or not low <= found <= high:
        raise NotVerified("a number that is infinite, or outside its range")
    return found


def require_whole_number(value: Any, least: int = 0, most: int = 10**9) -> int:
    if type(value) is not int or not least <= value <= most:
        raise NotVerified("a number that is no index, length or count")
    return value


def terms_of(given: Any, count: int) -> Any:
    """Return (factor, ((argument, exponent), ...)), ...: each argument once in a term."""
    terms = []
    for factor, powers in given:
        pairs = parse_unique_object(
            (require_whole_number(k, 0, count - 1), require_whole_number(n, 1, 16))
            for k, n in powers
        )
        terms.append((require_finite_fraction(factor), tuple(pairs.items())))
    return tuple(terms)


def parse_unique_object(pairs: Any) -> Any:
    """Return a dictionary of pairs that names nothing twice."""
    listed = list(pairs)
    if len(dict(listed)) < len(listed):
        raise NotVerified("it names something twice")
    return dict(listed)


def require_fields(given: Any, names: str) -> Any:
    if not isinstance(given, dict) or set(given) != set(names.split()):
        raise NotVerified(f"an object has other fields than {names}")
    return given


def universe_of(given: Any) -> Any:
    """Return the datasets and neighbours that a file states."""
    require_fields(given, "parts records count relation")
    relation, adds = given["relation"], given["relation"].startswith("add-remove")
    parts = [part_of(one, given["records"]) for one in given["parts"]]
    changed = [one["name"] for one in parts if one["is_changed"]]
    require_whole_number(given["count"], 1, 10**6 if relation.endswith("-user") else 1)
    if (
        relation not in RELATIONS.split()
        or adds != (given["records"] is None)
        or not (adds or require_whole_number(given["records"], 1, 10**7))
        # A part that is stated not to change is believed only where the relation says so.
        or (relation == "replace-label") != (len(changed) < len(parts))
        or not changed
        or len({one["name"] for one in parts}) < len(parts)
    ):
        raise NotVerified("the change does not obey the relation")
    return {**given, "parts": parts, "adds": adds}


def part_of(given: Any, records: Any) -> Any:
    """Return an array of the datasets, with the ends of each of its cells."""
    require_fields(given, "name shape low high is_integer norm categories is_changed")
    pairs, norm = zip(given["low"], given["high"], strict=True), parse_exact_number(given["norm"])
    ends = [
        Interval(parse_exact_number(a), parse_exact_number(b)).meet(Interval(-norm, norm))
        for a, b in pairs
    ]
    if {type(given["is_changed"]), type(given["is_integer"])} != {bool}:
        raise NotVerified("a part that is neither changed nor not, or neither whole nor not")
    rows, *shape = given["shape"]
    filled = all(x.low <= x.high and x.low < INF and x.high > -INF for x in ends)
    if rows != records or len(ends) != math.prod(map(require_whole_number, shape)) or not filled:
        raise NotVerified("the shape of a part, or its ends")
    return {**given, "ends": ends, "norm": norm}


def read_path(reading: CheckerReading, path: Any) -> Any:
    """Return the events of one path when one record changes."""
    values = list[list[CheckerEntry]]()
    ends = {require_whole_number(one, 0, len(path["nodes"]) - 1) for one in path["outputs"]}
    for index, node in enumerate(path["nodes"]):
        require_fields(node, "operation operands parameters place")
        args = [values[require_whole_number(one, 0, index - 1)] for one in node["operands"]]
        values.append(reading.values(index, node, args))
        wide = reading.adds and len(values[-1]) > 1  # rows tell how many there are
        is_seen = index in ends or node["operation"] == "decide"
        if is_seen and (wide or any(one.moves for one in values[-1])):
            raise NotVerified(f"node {index}: a record is returned, or decides")
    return reading.close()


def get_possible_changes(instance: Any) -> list[Any]:
    """Return the possible changes: a row, and one of its cells or None for all."""
    cells, universe = list[Any]([None]), instance["universe"]
    if universe["relation"] == "replace-cell":
        cells = [(one["name"], i) for one in universe["parts"] for i in range(len(one["ends"]))]
    rows = range(1 if instance["alike"] else require_whole_number(universe["records"], 1, 2000))
    return [(row, cell) for row in rows for cell in cells]


def is_complete(paths: Any, start: int = 0) -> bool:
    """Return whether paths are all ways through one program: each decision goes both ways."""
    first, sides = paths[0], dict[Any, Any]({True: [], False: []})
    place = next((i for i in range(start, len(first)) if first[i]["operation"] == "decide"), None)
    if place is None:
        return len(paths) == 1
    for path in paths:
        outcome = path[place]["parameters"]["outcome"] if place < len(path) else None
        # Up to the decision both sides have to be one program, or a path could leave out what
        # costs most.
        same = {**first[place], "parameters": {"outcome": outcome}}
        if path[start : place + 1] != [*first[start:place], same]:
            return False
        sides[outcome].append(path)
    return all(side and is_complete(side, place + 1) for side in sides.values())


@contextmanager
def refuse_malformed() -> Any:
    """Let nothing be verified where a file is written as none should be."""
    try:
        yield
    except NotVerified:
        raise
    # Whatever a forged file makes fail here, nothing of it is verified.
    except Exception as error:
        raise NotVerified(f"it is not as it has to be ({type(error).__name__})") from error


@refuse_malformed()
def check_instance(instance: Any) -> Cost:
    """Return the cost of a program; `NotVerified` if no rule bounds it, or it is no program."""
    universe, paths, cost = universe_of(instance["universe"]), instance["paths"], Cost()
    if not 0 < sum(len(one["nodes"]) for one in paths) <= NODES:
        raise NotVerified("no nodes, or too many")
    if not is_complete([one["nodes"] for one in paths]):
        raise NotVerified("a decision goes one way, and no path the other")
    instance = {**instance, "universe": universe}
    draws = instance["draws"]
    rates = [
        require_finite_fraction(one["rate"], 0, 1) if one["law"] == "sample" else None
        for one in draws
    ]
    for path in paths:
        require_fields(path, "nodes outputs hints skeleton")
        for changed, hints in zip(get_possible_changes(instance), path["hints"], strict=True):
            cost.add_path(
                read_path(CheckerReading(instance, changed, hints), path), universe["count"], rates
            )
    return cost


@refuse_malformed()
def check_proof_certificate(document: Any) -> str:
    """Return the statement of a certificate that holds, or raise `NotVerified`."""
    names = "mechanism universe alike draws paths claim versions"
    instance = require_fields(document["instance"], names)
    claim = {
        name: require_finite_fraction(one, 0, 10**6) for name, one in instance["claim"].items()
    }
    known = {*claim} - {"order"} in ({"epsilon", "delta"}, {"mu"}, {"rho"})
    if document["kind"] != "proof" or not known or any(x and not float(x) for x in claim.values()):
        raise NotVerified("no certificate of a proof, or no claim that a rule knows")
    if not check_instance(instance).holds(claim):
        raise NotVerified("its events cost more than it claims")
    given, said = instance["universe"], [f"{name} = {float(x):.12g}" for name, x in claim.items()]
    many = f"{given['count']} of {given['records'] or f'up to {RECORDS}'} records"
    by = f"{given['relation']}, of {many}"
    return f"{', '.join(said)}, for all neighbours by {by}, {'; '.join(map(told, given['parts']))}"


def told(part: Any) -> str:
    """Return the kind of a part's numbers."""
    low, high = min(part["low"], key=parse_exact_number), max(part["high"], key=parse_exact_number)
    kind = ("" if part["is_changed"] else "public ") + "whole " * part["is_integer"]
    named = f"{part['name']!r}, {kind}numbers" if part["name"] else f"{kind}numbers"
    return f"{named} in [{low}, {high}], of norm {part['norm']}"


def main(arguments: list[str]) -> int:
    """Check files, print a line for each certificate, and return 0 if all hold."""
    status = 0 if arguments else 1
    for path in arguments:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(BYTES + 1)
            content = json.loads(
                text, object_pairs_hook=parse_unique_object, parse_constant=parse_exact_number
            )
            if not content or len(text) > BYTES:
                raise NotVerified("it holds no certificate, or is too large")
            for one in content if isinstance(content, list) else [content]:
                print(f"{path}: verified: {check_proof_certificate(one)}")
        except (NotVerified, OSError, ValueError, RecursionError) as error:
            print(f"{path}: not verified: {error}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
