"""Noise, and the events at which somebody looks at a number that it hides."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

from .enclosures import INF, ONE, ZERO, NotVerified, add, mul, rounded, times, total
from .entries import Entry
from .frames import Array
from .searches import Searches

SUPPORT = {"uniform": (ZERO, ONE), "exponential": (ZERO, INF)}


class Noise(Searches):
    """Entries with noise: a centre, and factors of draws."""

    def noisy(self, centre: Entry, noise: dict[Any, F]) -> Entry:
        noise = {draw: factor for draw, factor in noise.items() if factor}
        if not noise:
            return centre
        key = ("noisy", centre.key, tuple(sorted(noise.items())))
        calls = self.ground.calls
        if key not in calls:
            found = self.ground.new("noisy", (centre,), (-INF, INF), centre.move, bad=centre.bad)
            found.noise, found.poly, found.local = noise, None, centre.local
            found.whole = centre.whole
            calls[key] = found
        return calls[key]

    def centre(self, entry: Entry) -> Entry:
        found: Entry = entry.args[0] if entry.noise else entry
        return found

    def linear(self, name: str, a: Entry, b: Any) -> Any:
        """Return a sum or a public multiple of entries with noise; None if it is neither."""
        ground = self.ground
        if name in ("add", "subtract"):
            sign = F(1 if name == "add" else -1)
            if any(one.noise and one.args[0].constant is None for one in (a, b)):
                return None
            noise = dict(a.noise or {})
            for draw, factor in (b.noise or {}).items():
                noise[draw] = noise.get(draw, ZERO) + sign * factor
            return self.noisy(ground.sum([(ONE, self.centre(a)), (sign, self.centre(b))]), noise)
        if name == "negative":
            factor, one = -ONE, a
        elif name == "multiply" and (a.constant is not None or b.constant is not None):
            factor, one = (b.constant, a) if b.constant is not None else (a.constant, b)
        elif name == "divide" and b.constant:
            factor, one = 1 / b.constant, a
        else:
            return None
        if one.args[0].constant is None or isinstance(factor, float):
            return None
        noise = {draw: times(f, factor) for draw, f in one.noise.items()}
        return self.noisy(ground.sum([(factor, one.args[0])]), noise)

    def own(self, entry: Entry, owner: Any) -> None:
        for draw in entry.noise:
            if self.owners.setdefault(draw, owner) != owner:
                raise NotVerified("noise is used twice")

    def shown(self, array: Array, index: int) -> Array:
        """Return what an array is once somebody has looked at it: an event, and public numbers."""
        fresh = [one for one in dict.fromkeys(array.items) if one.noise and one.shown is None]
        hiding = [one for one in fresh if one.move != (ZERO, ZERO)]
        for one in fresh:
            if one.bad:
                raise NotVerified(f"node {index}: {one.bad}")
            self.own(one, one.key)
            if one.args[0].constant is not None and len(one.noise) == 1:
                ((draw, factor),) = one.noise.items()
                low, high = SUPPORT.get(self.laws[draw][0], (-INF, INF))
                ends = add(mul((low, high), (factor, factor)), one.args[0].ends)
                one.shown = self.ground.new("coin", (), ends, (ZERO, ZERO), local=one.local)
            else:
                one.shown = self.ground.new(
                    "public", (), (-INF, INF), (ZERO, ZERO), local=one.local
                )
            one.shown.whole = one.whole
        if hiding:
            self.released(array, hiding, index)
        return Array(
            array.shape, [one.shown if one.noise else one for one in array.items], array.axis
        )

    def hidden_by(self, entry: Entry) -> tuple[str, Any, Any]:
        """Return law, scale and squared scale of the noise of an entry."""
        laws = {self.laws[draw] for draw in entry.noise}
        factors = [abs(factor) for factor in entry.noise.values()]
        signs = {factor > 0 for factor in entry.noise.values()}
        if laws == {("normal", None)}:
            return "normal", None, sum(factor * factor for factor in factors)
        if laws in ({("laplace", None)}, {("logistic", None)}):  # others are as good as public
            return "laplace", max(factors), None
        if (
            laws == {("exponential", None)}
            and len(factors) == 2
            and len(signs) == 2
            and len(set(factors)) == 1
        ):
            return "laplace", factors[0], None  # their difference
        raise NotVerified("noise that no rule knows hides a record")

    def released(self, array: Array, hiding: list[Entry], index: int) -> None:
        known = [self.hidden_by(one) for one in hiding]
        scales = {(law, scale, square) for law, scale, square in known}
        (law, scale, square) = next(iter(scales))
        kin = {one.key for one in hiding}
        if len({law for law, _, _ in scales}) > 1:
            raise NotVerified(f"node {index}: noise of several laws in one array")
        places = [i for i, one in enumerate(array.items) if one.key in kin]
        moves = {one.key: self.sharpened(one.args[0]) for one in hiding}
        by_key = {one.key: found for one, found in zip(hiding, known, strict=True)}
        own = [
            (self.times_row(array, i), moves[array.items[i].key], by_key[array.items[i].key])
            for i in dict((array.items[i].key, i) for i in places).values()
        ]
        far1, far2 = self.distances(array)
        if law == "normal":
            cost = total(times(n, far * far / found[2]) for n, far, found in own)
            if len(scales) == 1:
                cost = min(cost, times(far2, 1 / square))
        else:
            cost = total(times(n, far / found[1]) for n, far, found in own)
            if len(scales) == 1:
                cost = min(cost, times(far1, 1 / scale))
        self.event(law, index, cost)

    def event(self, law: str, index: int, cost: Any) -> None:
        if not cost < INF:
            raise NotVerified(f"node {index}: nothing bounds how far the value moves")
        if cost:
            self.events.append({"node": index, "law": law, "cost": rounded(cost, True)})

    def selected(self, node: Any, array: Array, index: int) -> Any:
        """Return the event of an argmax of scores with noise; None if it is none."""
        sign = 1 if node["operation"] == "argmax" else -1
        if not all(one.noise and len(one.noise) == 1 and one.shown is None for one in array.items):
            return None
        pairs = [next(iter(one.noise.items())) for one in array.items]
        laws, factors = {self.laws[draw] for draw, _ in pairs}, {factor for _, factor in pairs}
        if len({draw for draw, _ in pairs}) < len(pairs) or len(factors) > 1 or len(laws) > 1:
            return None
        (law,), (factor,) = laws, factors
        if law not in (("gumbel", None), ("exponential", None), ("laplace", None)):
            return None
        if array.axis is not None or (law[0] != "laplace" and factor * sign < 0):
            return None
        for one in array.items:
            if one.bad:
                raise NotVerified(f"node {index}: {one.bad}")
            self.own(one, ("argmax", index))
        moves = [self.sharpened_ends(one.args[0]) for one in array.items]
        cost = (max(m[1] for m in moves) - min(m[0] for m in moves)) / abs(factor)
        self.event("argmax " + law[0], index, max(cost, ZERO))
        return self.ground.new(
            "public", (), (ZERO, F(len(array.items) - 1)), (ZERO, ZERO), whole=True
        )
