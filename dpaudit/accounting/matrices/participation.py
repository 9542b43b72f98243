"""Participation: the rounds in which a record may enter, as sets called patterns.

A record may also stay away from any of the rounds of its pattern, so that only patterns count that
are in no other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from flint import arb

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument

Pattern = tuple[int, ...]
_MOST_STEPS = 10**8  # of the search for largest sums, each a comparison


@dataclass(frozen=True, kw_only=True)
class Participation:
    """The patterns of participation in a number of rounds.

    Parameters
    ----------
    kind
        ``single``: one round. ``min-separation``: rounds at least ``separation`` apart. ``cyclic``:
        rounds r, r + separation, r + 2 separation, ... to the last, for an r below ``separation``.
    separation
        b.
    most
        Rounds of a record, at most; None: as many as fit.
    """

    kind: str = "single"
    separation: int = 1
    most: int | None = None

    def epochs(self, rounds: int) -> int:
        """Return in how many rounds of a run a record is at most.

        Raises
        ------
        InvalidArgument
            ``most`` is not what the kind has.

        Examples
        --------
        >>> Participation(kind="min-separation", separation=3).epochs(10)
        4
        >>> Participation(kind="cyclic", separation=3, most=3).epochs(10)
        Traceback (most recent call last):
        dpaudit.errors.InvalidArgument: participations: got 3, expected 4 (one in 3 of 10 rounds), \
or none
        """
        fitting = -(-rounds // self.separation)
        if self.kind == "min-separation":
            # Rounds ``separation`` apart: one in each of ``ceil(rounds / separation)`` blocks at
            # most.
            return fitting if self.most is None else min(self.most, fitting)
        only = 1 if self.kind == "single" else fitting
        if self.most not in (None, only):
            why = f"one in {self.separation} of {rounds} rounds" if only > 1 else self.kind
            raise InvalidArgument("participations", self.most, f"{only} ({why}), or none")
        return only

    def cycle(self, rounds: int, first: int) -> Pattern:
        """Return the rounds from a first one that are ``separation`` apart, as many as allowed."""
        return tuple(range(first, rounds, self.separation))[: self.epochs(rounds)]

    def number(self, rounds: int) -> int:
        """Return how many sets of rounds a minimum separation allows, the empty one left out.

        Examples
        --------
        >>> Participation(kind="min-separation", separation=2, most=2).number(4)
        7
        """
        lost = self.separation - 1
        sizes = range(1, self.epochs(rounds) + 1)
        # Taking the forced gaps out of a pattern maps it to any set of as many of the rounds that
        # are left, one to one.
        return sum(comb(rounds - (size - 1) * lost, size) for size in sizes)

    def generate_separated_patterns(self, rounds: int, starts: Sequence[int]) -> Iterator[Pattern]:
        """Yield every pattern of a minimum separation that begins in one of these rounds.

        Each has as many rounds as are allowed, or none fits behind its last.
        """
        most = self.epochs(rounds)
        unfinished: list[Pattern] = [(start,) for start in starts]
        while unfinished:
            pattern = unfinished.pop()
            later = range(pattern[-1] + self.separation, rounds)
            if len(pattern) == most or not later:
                yield pattern
            else:
                unfinished += [(*pattern, one) for one in later]

    def largest_sums(self, weights: Array, most: int) -> Array:
        """Return numbers that no sum of weights over a pattern of so many rounds is above.

        They are the largest sums up to one rounding for each round of a pattern, where these take
        no more than some seconds; else the smaller of two that leave out the number of rounds, or
        how far apart they are.

        Parameters
        ----------
        weights
            At least 0, shape ``(rows, rounds)``; each row is a problem of its own.
        most
            Rounds of a pattern, at most; at least 1.

        Returns
        -------
        sums
            Shape ``(rows,)``.

        Examples
        --------
        >>> apart = Participation(kind="min-separation", separation=2)
        >>> apart.largest_sums(np.array([[3.0, 5.0, 3.0, 1.0]]), 2)
        array([6.])
        """
        rounds = weights.shape[1]
        fitting = -(-rounds // self.separation)
        # As many as fit are allowed: the number of rounds is no constraint, and one pass is enough.
        if most >= fitting:
            return self._sums_of_any_number(weights)
        if most * weights.size > _MOST_STEPS:
            # Either relaxation allows more patterns than there are, so that its largest sum is not
            # below the true one; the smaller of both is closer.
            largest = -np.partition(-weights, most - 1, axis=1)[:, :most]
            return np.asarray(np.minimum(self._sums_of_any_number(weights), largest.sum(axis=1)))
        # As many rows as one step beyond the last round can look up: sums from there on are 0.
        fewer: Array = np.zeros((rounds + self.separation, len(weights)))
        for _ in range(most):
            best = np.zeros_like(fewer)
            for one in reversed(range(rounds)):
                with_it = weights[:, one] + fewer[one + self.separation]
                best[one] = np.maximum(with_it, best[one + 1])
            fewer = best
        return np.asarray(fewer[0])

    def _sums_of_any_number(self, weights: Array) -> Array:
        """Return the largest sums over patterns of as many rounds as fit."""
        rows, rounds = weights.shape
        best: Array = np.zeros((rounds + self.separation, rows))
        for one in reversed(range(rounds)):
            best[one] = np.maximum(weights[:, one] + best[one + self.separation], best[one + 1])
        return np.asarray(best[0])

    def heaviest(self, weights: Sequence[Any], most: int) -> tuple[Any, Pattern]:
        """Return the largest sum of numbers at least 0 over patterns, and a pattern that has it.

        Where balls do not tell which of two sums is larger, the sum holds both, and the pattern is
        one of them.

        Examples
        --------
        >>> Participation(kind="min-separation", separation=2).heaviest([3, 5, 3, 1], 2)
        (6, (0, 2))
        """
        rounds = len(weights)
        unlimited = most >= -(-rounds // self.separation)
        fewer: list[Any] = [0] * (rounds + self.separation)
        uses: list[list[bool]] = []
        for _ in range(1 if unlimited else most):
            best: list[Any] = [0] * (rounds + self.separation)
            uses.append([False] * rounds)
            for one in reversed(range(rounds)):
                with_it = weights[one] + (best if unlimited else fewer)[one + self.separation]
                best[one], uses[-1][one] = _select_larger_sum(with_it, best[one + 1])
            fewer = best
        return fewer[0], self._follow_choices(uses, rounds, unlimited=unlimited)

    def _follow_choices(self, uses: list[list[bool]], rounds: int, *, unlimited: bool) -> Pattern:
        """Return the pattern of a largest sum, read off whether a sum from a round on uses it."""
        found: list[int] = []
        one = 0
        while one < rounds and uses:
            if uses[-1][one]:
                found.append(one)
                one += self.separation
                uses = uses if unlimited else uses[:-1]
            else:
                one += 1
        return tuple(found)


def _select_larger_sum(with_it: Any, without: Any) -> tuple[Any, bool]:
    """Return the larger of two sums, and whether it is the first."""
    if with_it >= without:
        return with_it, True
    if with_it < without:
        return without, False
    # Two balls that overlap are not ordered. Their maximum encloses the larger one whichever it is;
    # the choice of a pattern may be either.
    return arb(with_it).max(arb(without)), True
