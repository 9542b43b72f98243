"""Sensitivity of a strategy: how far ``C x`` moves when a record's rows become 0.

A record's rows are vectors ``u_j`` of any length d, of norm at most 1, for the rounds j of its
pattern P, and ``C x`` moves by

    || sum_{j in P} c_j u_j' ||_F^2  =  sum_{i, j in P} <u_i, u_j> G_ij,    G = C'C.

The sensitivity is the square root of the largest value of that over all patterns and all rows. As
``|<u_i, u_j>| <= 1``, the largest is at most ``sum_{i, j in P} |G_ij|``, and with ``u_j = s_j u``
for signs s it is at least ``sum s_i s_j G_ij``. The two meet where signs make all terms at least 0:
above all where G has no entry below 0, as of every named strategy.

The largest value over patterns:

* *single*: the largest ``G_jj``.
* *cyclic*: a pattern for each first round; one where a worst pattern begins in round 0
  (`dpaudit.accounting.matrices.strategies.Toeplitz`).
* *minimum separation b, at most k rounds*. Let q be the pattern ``0, b, 2b, ...`` Of any other
  pattern p the a-th round is ``p_a >= q_a`` and the gap ``p_c - p_a >= q_c - q_a``. Where G falls
  in both, at least 0 (Toeplitz, coefficients that never rise), q is the worst, as ``G(p_a, p_c) <=
  G(q_a, q_c)`` (Kalinin & Lampert 2024). Where columns b apart are orthogonal (a band of b), it is
  the largest sum of ``G_jj``, found step by step from the last round. Where patterns are few, all
  are gone through. Elsewhere it is enclosed: ``sum_{i, j in P} |G_ij| <= sum_{i in P} w_i`` with
  ``w_i`` the largest sum of ``|G_ij|`` over a pattern with i in it, so that it is at most the
  largest sum of ``w_i`` (Choquette-Choo et al. 2023), of a tree also by how many rounds a node can
  have (`dpaudit.accounting.matrices.strategies.Tree`); the lower end is the best of some patterns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from flint import arb, fmpq

from dpaudit._typing import Array
from dpaudit.accounting.matrices.participation import Participation, Pattern
from dpaudit.accounting.matrices.strategies import Entry, Strategy, compute_entry_size
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees import rounding

# These limits bound exact work that grows with the square of the rounds, or faster.
_MOST_PATTERNS = 5_000  # that are gone through one by one
_MOST_ROUNDS = 2_000  # of which all inner products are looked at
_MOST_SIGNED = 500  # likewise, where entries have both signs
_MOST_STEPS = 20  # to a better pattern
# Its inverse is twice the relative error of one operation on doubles.
_ULPS = 2.0**52


@dataclass(frozen=True)
class SquaredSensitivity:
    """An enclosed square of a sensitivity.

    Parameters
    ----------
    lower, upper
        Numbers that it is not below, and not above.
    pattern
        One that attains the lower end.
    """

    lower: Entry
    upper: Entry
    pattern: Pattern

    @classmethod
    def exactly(cls, value: Entry, pattern: Pattern) -> SquaredSensitivity:
        """Return a square that is known."""
        return cls(value, value, pattern)


def compute_squared_sensitivity(
    strategy: Strategy, participation: Participation
) -> SquaredSensitivity:
    """Return the square of the sensitivity to a record of rows of norm at most 1.

    Raises
    ------
    InvalidArgument
        There are too many rounds for this strategy and participation.

    Examples
    --------
    >>> from dpaudit.accounting.matrices.strategies import Toeplitz, Tree
    >>> compute_squared_sensitivity(Tree(8), Participation()).upper
    4
    >>> thrice = Participation(kind="cyclic", separation=2)
    >>> compute_squared_sensitivity(Toeplitz(6, [fmpq(1), fmpq(1)]), thrice)
    SquaredSensitivity(lower=6, upper=6, pattern=(0, 2, 4))
    """
    epochs = participation.epochs(strategy.rounds)
    first = participation.cycle(strategy.rounds, 0)
    if participation.kind == "cyclic":
        starts = strategy.starts[: participation.separation]
        cycles = (participation.cycle(strategy.rounds, start) for start in starts)
        return square_of_patterns(strategy, cycles)
    # Of one round the pattern has no inner products: the longest column is exact for every strategy
    # and kind.
    if epochs == 1:
        return _merge_largest_squares(_of_pattern(strategy, (start,)) for start in strategy.longest)
    if strategy.is_decreasing:
        return _of_pattern(strategy, first)
    return _compute_separated_square(strategy, participation)


def square_of_patterns(strategy: Strategy, patterns: Iterable[Pattern]) -> SquaredSensitivity:
    """Return it where a record has one of some patterns, or less of it.

    Examples
    --------
    >>> from dpaudit.accounting.matrices.strategies import Tree
    >>> square_of_patterns(Tree(4), [(0, 1), (3,)]).upper
    10
    """
    return _merge_largest_squares(_of_pattern(strategy, one) for one in patterns)


def _compute_separated_square(
    strategy: Strategy, participation: Participation
) -> SquaredSensitivity:
    """Return it for a minimum separation, of a strategy whose G is not known to fall."""
    rounds = strategy.rounds
    most = _MOST_ROUNDS if strategy.is_nonnegative else _MOST_SIGNED
    if rounds > most:
        return _bound_square_by_strategy(strategy, participation, most)
    if participation.number(rounds) <= _MOST_PATTERNS:
        patterns = participation.generate_separated_patterns(rounds, strategy.starts)
        return square_of_patterns(strategy, patterns)
    # Rounds of one pattern are never closer than the separation, so that all their inner products
    # are 0 and squares add up.
    if strategy.is_orthogonal(participation.separation):
        squares = [strategy.inner(one, one) for one in range(rounds)]
        return SquaredSensitivity.exactly(
            *participation.heaviest(squares, participation.epochs(rounds))
        )
    return _bound_square_by_patterns(strategy, participation)


def _bound_square_by_strategy(
    strategy: Strategy, participation: Participation, most: int
) -> SquaredSensitivity:
    """Return a bracket from the strategy's own bound on patterns, or raise `InvalidArgument`."""
    first = participation.cycle(strategy.rounds, 0)
    upper = strategy.bound_separated_square(participation.separation, len(first))
    if upper is None:
        expected = f"at most {most} for min-separation, of this C"
        raise InvalidArgument("rounds", strategy.rounds, expected)
    return SquaredSensitivity(_of_pattern(strategy, first).lower, upper, first)


def _of_pattern(strategy: Strategy, pattern: Pattern) -> SquaredSensitivity:
    """Return it where a record has this one pattern."""
    if len(pattern) == 1:
        return SquaredSensitivity.exactly(strategy.inner(*pattern, *pattern), pattern)
    if strategy.is_nonnegative:
        return SquaredSensitivity.exactly(strategy.square(pattern), pattern)
    gram = strategy.gram(pattern)
    entries = [entry for row in gram for entry in row]
    upper = sum(
        (one if one >= 0 else -one if one < 0 else compute_entry_size(one) for one in entries),
        fmpq(0),
    )
    return SquaredSensitivity(strategy.square(pattern, best_signs(gram)), upper, pattern)


def best_signs(gram: Sequence[Sequence[Entry]]) -> list[int]:
    """Return signs s for which ``sum s_i s_j G_ij`` is large: the largest where no term is below 0.

    Examples
    --------
    >>> best_signs([[2, -1, 0], [-1, 2, -1], [0, -1, 2]])
    [1, -1, 1]
    """
    table = np.array([[float(entry) for entry in row] for row in gram])
    np.fill_diagonal(table, 0.0)
    # Where the graph of the entries has signs that fit, these are the best ones, and the lower end
    # meets the upper one. Elsewhere single flips improve them; each lowers nothing, and any signs
    # give a lower bound.
    signs = _find_component_signs(table)
    for _ in range(len(signs)):
        gains = signs * (table @ signs)
        if not gains.min() < 0:
            break
        signs[gains.argmin()] *= -1
    # All signs may be flipped together. The first is made 1, so that equal tables have equal signs.
    return [int(sign) for sign in signs * signs[0]]


def _find_component_signs(table: Array) -> Array:
    """Return signs that follow the links of a graph from its first node, component by component."""
    signs = np.zeros(len(table))
    for start in range(len(table)):
        if signs[start]:
            continue
        signs[start], unseen = 1.0, [start]
        while unseen:
            one = unseen.pop()
            linked = np.flatnonzero((table[one] != 0) & (signs == 0))
            signs[linked] = signs[one] * np.sign(table[one, linked])
            unseen += linked.tolist()
    return signs


def _bound_square_by_patterns(
    strategy: Strategy, participation: Participation
) -> SquaredSensitivity:
    """Return a bracket where patterns are many and columns far apart are not orthogonal."""
    rounds, gap = strategy.rounds, participation.separation
    epochs = participation.epochs(rounds)
    with np.errstate(over="ignore"):  # a sum that overflows is refused
        table = strategy.magnitudes()
    near = np.abs(np.subtract.outer(np.arange(rounds), np.arange(rounds))) < gap
    # Rounds closer than the separation are in no pattern with this one. Leaving them in would be
    # sound and far too large.
    others = participation.largest_sums(np.where(near, 0.0, table), epochs - 1)
    weights = np.diagonal(table) + others
    total = float(participation.largest_sums(weights[None], epochs)[0])
    if not math.isfinite(total):
        expected = "entries whose squares doubles have room for, where patterns are many"
        raise InvalidArgument("strategy", VerbatimText("larger entries"), expected)
    upper = Fraction(total)
    # A sum over a pattern rounds once for each of its rounds, and there are two such sums, of
    # numbers at least 0: the factor is twice what all of it may be off.
    upper *= 1 + (2 * epochs + 4) / Fraction(_ULPS)
    # The upper end is proved without any pattern. These are guesses at a heavy one, and each gives
    # a lower end.
    starts = [weights, table.sum(axis=1), table[0] + 1]
    patterns = {_search_heavy_pattern(table, participation, start) for start in starts}
    patterns |= {_build_heavy_pattern(table, participation), participation.cycle(rounds, 0)}
    best = square_of_patterns(strategy, sorted(patterns))
    known = strategy.bound_separated_square(gap, epochs)
    above = fmpq(upper.numerator, upper.denominator)
    return SquaredSensitivity(
        best.lower, above if known is None else min(above, known), best.pattern
    )


def _search_heavy_pattern(table: Array, participation: Participation, weights: Array) -> Pattern:
    """Return a pattern that is the heaviest under the weights that its own rounds give.

    ``sum_{i, j in P} G_ij`` is convex in the indicator of P: no step to such a pattern lowers it.
    """
    epochs, pattern = participation.epochs(len(table)), None
    for _ in range(_MOST_STEPS):
        _, found = participation.heaviest(weights.tolist(), epochs)
        if found == pattern:
            break
        pattern, weights = found, table[list(found)].sum(axis=0)
    return found


def _build_heavy_pattern(table: Array, participation: Participation) -> Pattern:
    """Return a pattern that takes, one by one, the round that adds most."""
    free, gain = np.ones(len(table), dtype=np.bool_), np.diagonal(table).copy()
    found: list[int] = []
    while free.any() and len(found) < participation.epochs(len(table)):
        one = int(np.where(free, gain, -1.0).argmax())
        found.append(one)
        free[max(0, one - participation.separation + 1) : one + participation.separation] = False
        gain += 2 * table[one]
    return tuple(sorted(found))


def _merge_largest_squares(squares: Iterable[SquaredSensitivity]) -> SquaredSensitivity:
    """Return the largest of several, which may overlap."""
    return reduce(_merge_two_squares, squares)


def _merge_two_squares(one: SquaredSensitivity, other: SquaredSensitivity) -> SquaredSensitivity:
    pattern = one.pattern if float(one.lower) >= float(other.lower) else other.pattern
    return SquaredSensitivity(
        _compute_larger_entry(one.lower, other.lower),
        _compute_larger_entry(one.upper, other.upper),
        pattern,
    )


def _compute_larger_entry(one: Entry, other: Entry) -> Entry:
    if one >= other:
        return one
    if one < other:
        return other
    return arb(one).max(arb(other))


def root_up(square: Entry) -> float:
    """Return a double that stands for no less than the square root."""
    if isinstance(square, fmpq):
        return rounding.root_up(Fraction(int(square.p), int(square.q)))
    return rounding.round_ball_up(square.upper().sqrt())


def root_down(square: Entry) -> float:
    """Return a double that stands for no more than the square root of a number at least 0."""
    if isinstance(square, fmpq):
        return rounding.root_down(Fraction(int(square.p), int(square.q)))
    return rounding.round_ball_down(square.nonnegative_part().lower().sqrt())
