"""Hints about single numbers' movements, from a search in boxes: places for the checker to cut.

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

_BOXES = 300
_VARIABLES = 7
_WORK = 30_000  # of one search
_NEAR = 10**11
_CORNERS = 32
_PATIENCE = 40

Tree = list[Any]
Variable = tuple[int, int]


class Searching(checker.CheckerReading):
    """A reading that searches where the checker follows hints."""

    def __init__(self, instance: Any, changed: Any) -> None:
        super().__init__(instance, changed, ())
        self.found: list[Any] = []
        self._known: dict[int, Any] = {}

    def sharpen_entry(self, entry: checker.CheckerEntry) -> checker.CheckerEntry:
        """Return an entry that moves no further than a search finds, and note the cuts."""
        if entry.key not in self._known:
            self._known[entry.key] = self._hint(entry)
        hint = self._known[entry.key]
        self.found.append(hint)
        self.hints = iter([hint])
        return super().sharpen_entry(entry)

    def _hint(self, entry: checker.CheckerEntry) -> Any:
        if not entry.moves or entry.ends is None:
            return None
        used = dict.fromkeys(one for _, ones in self.terms(entry) for one in ones)
        variables = list(dict.fromkeys(v for one in used for v in self._variables(one)))
        if not 0 < len(variables) <= _VARIABLES:
            return None
        if not self._is_curved(entry):
            return None
        if any(self._ends(key).size == math.inf for key, _ in variables):
            return None
        work, signs = self.work, (checker.ONE, -checker.ONE)[: 1 + self.adds]
        listed = [list(one) for one in variables]
        try:
            searches = [[listed, self._tree(entry, variables, sign)] for sign in signs]
        except checker.NotVerified:
            return None
        finally:
            self.work = work
        return searches

    def _is_curved(self, entry: checker.CheckerEntry) -> bool:
        """Return whether a number is no sum of numbers of records."""
        terms = [ones for _, ones in self.terms(entry)]
        return any(sum(ones.values()) > 1 or one.op != "leaf" for ones in terms for one in ones)

    def _ends(self, key: int) -> checker.Interval:
        return self.entries[key].ends or checker.ANY

    def _variables(self, entry: checker.CheckerEntry) -> Iterator[Variable]:
        """Yield the numbers that decide an entry, once for each side where they move."""
        ends, is_sum = self._ends(entry.key), not entry.local and any(a.local for a in entry.args)
        if entry.op != "weight" and (not entry.args or is_sum or not entry.moves):
            if ends.low < ends.high:
                yield from ((entry.key, side) for side in ((0, 1) if entry.moves else (2,)))
        else:
            for one in entry.args:
                yield from self._variables(one)

    def _tree(self, entry: checker.CheckerEntry, variables: list[Variable], sign: Any) -> Tree:
        """Return the cuts after which the largest move is known to eleven digits."""
        tree: Tree = []
        first = {v: self._ends(v[0]) for v in variables}
        if not self._is_worth(entry, first, sign):
            raise checker.NotVerified("rules are as good")
        self.work = _WORK
        heap: list[Any] = []
        best, count, pending = -math.inf, 0, [(first, tree)]
        while True:
            for box, leaf in pending:
                bound, reached, slopes = self.bounded(entry, box, sign)
                best, count = max(best, reached), count + 1
                heapq.heappush(heap, (-bound, count, box, slopes, leaf))
            top, _, box, slopes, leaf = heap[0]
            if count > _BOXES or -top <= best + abs(best) / _NEAR or self.work < _WORK // 20:
                return tree
            if count > _PATIENCE and -top >= self._by_rules(entry, sign):
                raise checker.NotVerified("rules are as good")
            heapq.heappop(heap)
            wide = self._widest(box, slopes)
            leaf[:] = [variables.index(wide), [], []]
            (low, high), middle = box[wide], sum(box[wide]) / 2
            halves = checker.Interval(low, middle), checker.Interval(middle, high)
            pending = [({**box, wide: half}, leaf[k + 1]) for k, half in enumerate(halves)]

    def _by_rules(self, entry: checker.CheckerEntry, sign: Any) -> Any:
        """Return how far an entry moves by rules, less a part too small to count."""
        known = entry.move.high if sign > 0 else -entry.move.low
        return known - abs(known) / _NEAR

    def _is_worth(self, entry: checker.CheckerEntry, first: Any, sign: Any) -> bool:
        """Return whether no corner moves as far as rules say."""
        known = self._by_rules(entry, sign)
        for ends in itertools.islice(itertools.product(*first.values()), _CORNERS):
            corner = {v: checker.as_interval(end) for v, end in zip(first, ends, strict=True)}
            self.work = _WORK
            if self.apart(entry, corner, sign)[0].low >= known:
                return False
        return True

    def _widest(self, box: Any, slopes: Any) -> Variable:
        def weight(v: Variable) -> Any:
            steep = min(slopes.get(v, checker.STILL).size, 10**9)
            return checker.multiply_extended(box[v].high - box[v].low, steep)

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
