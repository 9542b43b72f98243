"""How far single numbers move, found by a search in boxes: where the checker has to cut them.

Best first, each time along the number by which the move changes most. What is found is a tree of
cuts, which the checker follows; it bounds every box itself.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import Any

from dpaudit.proving import checker

_BOXES, _VARIABLES = 300, 7
_WORK = 30_000  # of one search
_NEAR = 10**11
_CORNERS, _PATIENCE = 32, 40

Tree = list[Any]
Variable = tuple[int, int]


class Searching(checker.Reading):
    """A reading that searches where the checker follows hints."""

    def __init__(self, instance: Any, changed: Any) -> None:
        super().__init__(instance, changed, ())
        self.found: list[Any] = []
        self._known: dict[int, Any] = {}

    def sharpened(self, entry: checker.Entry) -> checker.Entry:
        """Return an entry that moves no further than a search finds, and note the cuts."""
        if entry.key not in self._known:
            self._known[entry.key] = self._hint(entry)
        hint = self._known[entry.key]
        self.found.append(hint)
        self.hints = iter([hint])
        return super().sharpened(entry)

    def _hint(self, entry: checker.Entry) -> Any:
        args, terms = self.moving(entry)
        used = [args[k] for k in sorted({k for _, powers in terms for k, _ in powers})]
        variables = list(dict.fromkeys(v for one in used for v in self._variables(one)))
        if not entry.moves or entry.bad or not 0 < len(variables) <= _VARIABLES:
            return None
        if not self._is_curved(entry):
            return None
        if any(self.entries[key].ends.size == math.inf for key, _ in variables):
            return None
        work = self.work
        try:
            searches = [self._searches(entry, variables, sign)
                        for sign in (checker.ONE, -checker.ONE)[: 1 + self.adds]]  # fmt: skip
        except checker.NotVerified:
            return None
        finally:
            self.work = work
        return searches

    def _searches(self, entry: checker.Entry, variables: list[Variable], sign: Any) -> list[Any]:
        """Return a search of each side, or of both where something is on both."""
        sides: list[list[int]] = [[1, 0]]
        if all(side != 2 for _, side in variables):
            sides = [[1], [0]]
        found = []
        for own in sides:
            mine = [(k, side) for k, side in variables if side == 2 or side in own]
            tree = self._tree(entry, mine, sign, own)
            found.append([own, [list(one) for one in mine], tree])
        return found

    def _is_curved(self, entry: checker.Entry) -> bool:
        """Return whether a number is no sum of numbers of records."""
        moving = [one for keys in entry.poly for one in keys if self.entries[one].moves]
        is_linear = all(len(keys) <= 1 for keys in entry.poly)
        return not is_linear or any(self.entries[one].op != "leaf" for one in moving)

    def _variables(self, entry: checker.Entry) -> Iterator[Variable]:
        """Yield the numbers that decide an entry, once for each side where they move."""
        if entry.op in ("leaf", "others", "count", "coin") or not entry.moves:
            if entry.ends.low < entry.ends.high:
                yield from ((entry.key, side) for side in ((0, 1) if entry.moves else (2,)))
        elif entry.op in checker.FOLLOWED:
            for one in entry.args:
                yield from self._variables(one)

    def _tree(
        self, entry: checker.Entry, variables: list[Variable], sign: Any, sides: list[int]
    ) -> Tree:
        """Return the cuts after which the largest move is known to eleven digits."""
        tree: Tree = []
        first = {v: self.entries[v[0]].ends for v in variables}
        if not self._is_worth(entry, first, sign, sides):
            raise checker.NotVerified("rules are as good")
        self.work = _WORK
        heap: list[Any] = []
        best, count, pending = -math.inf, 0, [(first, tree)]
        while True:
            for box, leaf in pending:
                bound, reached, slopes = self.bounded(entry, box, sign, sides)
                best, count = max(best, reached), count + 1
                heapq.heappush(heap, (-bound, count, box, slopes, leaf))
            top, _, box, slopes, leaf = heap[0]
            if count > _BOXES or -top <= best + abs(best) / _NEAR or self.work < _WORK // 20:
                return tree
            if count > _PATIENCE and len(sides) == 2 and -top >= self._by_rules(entry, sign):
                raise checker.NotVerified("rules are as good")
            heapq.heappop(heap)
            wide = self._widest(box, slopes)
            leaf[:] = [variables.index(wide), [], []]
            (low, high), middle = box[wide], sum(box[wide]) / 2
            halves = checker.Interval(low, middle), checker.Interval(middle, high)
            pending = [({**box, wide: half}, leaf[k + 1]) for k, half in enumerate(halves)]

    def _by_rules(self, entry: checker.Entry, sign: Any) -> Any:
        """Return how far an entry moves by rules, less what does not count."""
        known = entry.move.high if sign > 0 else -entry.move.low
        return known - abs(known) / _NEAR

    def _is_worth(self, entry: checker.Entry, first: Any, sign: Any, sides: list[int]) -> bool:
        """Return whether no corner moves as far as rules say."""
        known = self._by_rules(entry, sign)
        for ends in itertools.islice(itertools.product(*first.values()), _CORNERS):
            corner = {v: checker.Interval(end, end) for v, end in zip(first, ends, strict=True)}
            self.work = _WORK
            if len(sides) == 2 and self.apart(entry, corner, sign, sides)[0].low >= known:
                return False
        return True

    def _widest(self, box: Any, slopes: Any) -> Variable:
        def weight(v: Variable) -> Any:
            steep = min(slopes.get(v, checker.STILL).size, 10**9)
            return checker.times(box[v].high - box[v].low, steep)

        variables: list[Variable] = list(box)
        return max(variables, key=weight)


def hints_of(instance: Any, path: Any, changed: Any) -> list[Any]:
    """Return the hints for one path when one record changes.

    Raises
    ------
    checker.NotVerified
        The checker does not follow the path.
    """
    reading = Searching(instance, changed)
    checker.read_path(reading, path)
    return reading.found
