"""Arrays, the dataset, and distances of arrays when one record changes."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

from .enclosures import INF, ONE, ZERO, root, rounded, size, times, total
from .entries import Entry, Ground

RECORDS = 2**40  # where their number is not public, there are no more


def strides(shape: Any) -> list[int]:
    found, step = [], 1
    for length in reversed(shape):
        found.append(step)
        step *= length
    return found[::-1]


class Array:
    """Entries in the order of C; where records are alike, the axis of records has two rows.

    ``far1``, ``far2`` bound the L1 distance and the squared L2 distance of the whole; ``own1`` and
    ``own2`` the L1 length and the squared L2 length of the entries of the changed record.
    """

    def __init__(self, shape: Any, items: list[Entry], axis: Any = None) -> None:
        self.shape, self.items, self.axis = tuple(shape), items, axis
        self.step = 0 if axis is None else strides(self.shape)[axis]
        self.far1 = self.far2 = self.own1 = self.own2 = INF

    def is_first(self, flat: int) -> bool:
        """Return whether an entry stands for itself alone: not for those of all other records."""
        return not self.step or flat // self.step % 2 == 0

    def like(self, other: Array, factor: Any = ONE) -> Array:
        """Take over the distances of an array whose entries these are, times a factor."""
        self.far1, self.own1 = times(factor, other.far1), times(factor, other.own1)
        self.far2, self.own2 = (
            times(factor * factor, other.far2),
            times(factor * factor, other.own2),
        )
        return self


class Frame:
    """What a program does when one record changes: the dataset, and distances."""

    def __init__(self, universe: Any, changed: Any, alike: bool, budget: list[int]) -> None:
        self.universe, self.changed, self.alike = universe, changed, alike
        self.adds = universe["change"] == "add-remove"
        self.count = universe["records"]
        self.others = None if self.count is None else self.count - 1
        self.ground = Ground(budget)
        self.arrays: list[Any] = []
        self.events: list[dict[str, Any]] = []
        self.owners: dict[Any, Any] = {}
        self.laws: dict[Any, Any] = {}
        if self.adds:
            self.weight = self.leaf("weight", (ZERO, ONE), (ONE, ONE), whole=True)
            self.before = self.leaf("size", (ZERO, F(RECORDS)), (ZERO, ZERO), whole=True)

    def leaf(
        self, name: Any, ends: Any, move: Any, *, whole: bool = False, local: bool = False
    ) -> Entry:
        key = ("leaf", name)
        if key not in self.ground.calls:
            found = self.ground.new("leaf", (), ends, move, whole=whole, local=local)
            self.ground.narrow(found)
            if ends[0] == ends[1]:
                found = self.ground.number(ends[0])
            self.ground.calls[key] = found
        return self.ground.calls[key]

    def times_row(self, array: Array, flat: int) -> Any:
        """Return of how many entries one stands."""
        if array.is_first(flat):
            return ONE
        return F(RECORDS if self.others is None else self.others)

    def is_own(self, array: Array, flat: int) -> bool:
        """Return whether an entry is the changed record's: it moves, or is there once more."""
        if self.adds:
            return array.axis is not None and array.is_first(flat)
        return array.items[flat].moves

    def distances(self, array: Array) -> tuple[Any, Any]:
        """Return bounds on the L1 distance and on the squared L2 distance."""
        sizes = [
            (self.times_row(array, i), size(one.move))
            for i, one in enumerate(array.items)
            if one.moves
        ]
        far1 = min(array.far1, total(times(n, far) for n, far in sizes))
        far2 = min(array.far2, total(times(n, times(far, far)) for n, far in sizes))
        number = total(n for n, _ in sizes)
        if not sizes:
            return ZERO, ZERO
        far1 = min(far1, root(times(number, far2), True))  # Cauchy and Schwarz
        return far1, min(far2, rounded(far1 * far1, True))

    def lengths(self, array: Array) -> tuple[Any, Any]:
        own = [
            (self.times_row(array, i), size(one.ends))
            for i, one in enumerate(array.items)
            if self.is_own(array, i)
        ]
        length1 = min(array.own1, total(times(n, far) for n, far in own))
        length2 = min(array.own2, total(times(n, times(far, far)) for n, far in own))
        length1 = min(length1, root(times(total(n for n, _ in own), length2), True))
        return length1, min(length2, rounded(length1 * length1, True))

    def apart(self, array: Array, length1: Any, length2: Any) -> tuple[Any, Any]:
        """Return how far two own parts of these lengths can be apart."""
        if self.adds:
            return length1, length2
        positive = all(
            one.ends[0] >= 0 for i, one in enumerate(array.items) if self.is_own(array, i)
        )
        return 2 * length1, (2 if positive else 4) * length2  # |u - v|^2 = |u|^2 + |v|^2 - 2 <u, v>

    def data(self, node: Any) -> Array:
        (part,) = [
            one for one in self.universe["parts"] if one["name"] == node["parameters"]["part"]
        ]
        shape = part["shape"][1:]
        rows = 2 if self.alike else self.count
        items: list[Entry] = []
        for row in range(rows):
            own = row == (0 if self.alike else self.changed[0])
            for cell, ends in enumerate(part["ends"]):
                if own and self.changed[1] is not None:
                    mine = self.changed[1] == (part["name"], cell)
                else:
                    mine = own and part["is_changed"]
                width = ends[1] - ends[0]
                move = (-width, width) if mine and not self.adds and width else (ZERO, ZERO)
                one = self.leaf(
                    (part["name"], row, cell),
                    ends,
                    move,
                    whole=part["is_integer"],
                    local=self.alike and not own,
                )
                one.tends = 1 if mine and not self.adds and self.single else 0
                items.append(one)
        found = Array((rows, *shape), items, 0 if self.alike else None)
        if part["norm"] < INF and (self.adds or part["is_changed"]):
            found.own2 = part["norm"] ** 2
            found.far2 = self.apart(found, INF, found.own2)[1] if not self.adds else INF
        return found

    @property
    def single(self) -> bool:
        """Whether one number changes, and no other."""
        if self.changed[1] is not None:
            return True
        return sum(len(one["ends"]) for one in self.universe["parts"] if one["is_changed"]) == 1
