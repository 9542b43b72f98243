"""A search for neighbours that move a query further than its bound, as an assertion.

| symbol           | name       | meaning                                                    |
|------------------|------------|------------------------------------------------------------|
| ``q(D) - q(D')`` | `query`    | what neighbours may not move by more than its bound        |
| C                | ``bound``  | the claimed sensitivity                                    |
| norm over C      | ``ratio``  | what the search makes large                                |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, settings, target
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy
from numpy.random import default_rng

import dpaudit._check as check
import dpaudit.redaction as redaction
from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText
from dpaudit.neighbours import Pair, Relation, Table, compare
from dpaudit.neighbours.found_relations import chosen_relation
from dpaudit.neighbours.records import Bounds
from dpaudit.redaction import Record
from dpaudit.search.engine import CALLS, Hunt
from dpaudit.search.norms import Norm, norm_of
from dpaudit.search.sensitivity import (
    CHANGED,
    answer_of,
    first_digit,
    hunt_of,
    measure_answer_movement,
    require_function,
)
from dpaudit.search.showing import PairSignal as Seen
from dpaudit.search.space import UnitPair
from dpaudit.verdicts import judge_claimed_number

Query = Callable[[Any], Any]
Bound = float | Callable[[Pair[Any]], float]

# Where few neighbours of the best pair are new, Hypothesis looks for one without end: with a number
# that means nothing there always is one, and the search ends after the examples it was given.
_COUNTER = st.integers(0, 255)


@dataclass(frozen=True)
class _Movement:
    """The movement of the query on one pair; ``certain`` is the part beyond rounding."""

    pair: Pair[Any]
    distance: float
    certain: float
    bound: float

    @property
    def ratio(self) -> float:
        return self.distance / self.bound

    @property
    def violates(self) -> bool:
        return judge_claimed_number(self.bound, self.certain) == "refuted"

    @property
    def size(self) -> tuple[int, float]:
        """Order of simplicity: numbers in the dataset, then the sum of their absolute values."""
        tables = [Table.of("pair", side) for side in (self.pair.dataset, self.pair.neighbour)]
        sizes = [np.abs(table.features) for table in tables]
        return sum(values.size for values in sizes), sum(float(values.sum()) for values in sizes)


class _Violation(Exception):
    """Carries the violating pair through Hypothesis, which shrinks it."""

    def __init__(self, movement: _Movement) -> None:
        super().__init__()
        self.movement = movement


def assert_sensitivity(
    query: Query,
    bound: Bound,
    pairs: SearchStrategy[Pair[Any]] | Iterable[Pair[Any]] | None = None,
    *,
    domain: Any = None,
    relation: Relation | str | None = None,
    dataset: Any = None,
    bounds: Bounds | None = None,
    search_calls: int = CALLS,
    norm: str | Norm = "l2",
    max_examples: int = 300,
    derandomize: bool = True,
    show_records: bool = False,
) -> float:
    """Raise `AssertionError` when neighbours are found that move a query further than its bound.

    A search can refute a bound and never prove it. Rounding is not a violation: a relative 1e-9 of
    the bound and a few units in the last place of the query's answers are let pass.

    Parameters
    ----------
    query
        A function of a dataset that returns a number or an array, of one shape for both sides of a
        pair.
    bound
        The claimed sensitivity: a number above 0, or a function of the pair that returns one.
    pairs
        A Hypothesis strategy, such as `dpaudit.testing.pairs` returns, in which the search looks
        for a large ratio of movement to bound; or pairs, all of which are tried.
    domain, relation, dataset, bounds, search_calls
        The arguments of `dpaudit.sensitivity`, in place of ``pairs``: the same search finds the
        same pair.
    norm
        ``l1``, ``l2`` or ``linf`` of all entries of the difference, or a function of it.
    max_examples
        The number of pairs that the search tries, besides those that shrink a violation.
    derandomize
        True if every run tries the same pairs.
    show_records
        True to let the assertion hold a pair that was given, or found near given records. A pair
        that a search made is always shown: it is nobody's data.

    Returns
    -------
    float
        The largest ratio found, so that a test can also assert that a bound is attained.

    Raises
    ------
    AssertionError
        The query moves by more than the bound; the message shows the smallest such pair, its
        movement, the bound and their ratio.
    InvalidArgument
        An argument does not fit its description here.
    MechanismError
        The query's answers are of different shapes, are not finite, or change from call to call.

    Examples
    --------
    >>> from dpaudit.testing import Records, pairs
    >>> mean = lambda records: records.mean(axis=0)
    >>> four = pairs("replace-record", Records(rows=4, labels=None))
    >>> round(assert_sensitivity(mean, 2 / 4, four), 6)
    1.0
    >>> box = dict(bounds=(-1, 1), records=4)
    >>> round(assert_sensitivity(np.mean, 2 / 4, domain=box, relation="replace-record"), 6)
    1.0
    >>> assert_sensitivity(mean, 1 / 4, four)
    Traceback (most recent call last):
    AssertionError: the query moves by 0.5 between neighbours (l2), more than the bound 0.25
      ratio: 2
      pair: one record (features and label) is replaced (index 0)
      dataset: array([[1.],
           [0.],
           [0.],
           [0.]])
      neighbour: array([[-1.],
           [ 0.],
           [ 0.],
           [ 0.]])
    """
    if not callable(query):
        raise InvalidArgument("query", query, "a function of a dataset")
    if not callable(bound):
        check.require_positive("bound", bound)
    check.require_integer("max_examples", max_examples, least=1)
    if not isinstance(derandomize, bool):
        raise InvalidArgument("derandomize", derandomize, "True or False")
    name, chosen = norm_of(norm)

    def measure(pair: Pair[Any]) -> _Movement:
        return _measure_movement(query, bound, chosen, pair)

    made_up = isinstance(pairs, SearchStrategy)
    alone = {"domain": domain, "relation": relation, "dataset": dataset, "bounds": bounds}
    with redaction.run(show_records):
        if pairs is None:
            seed = 0 if derandomize else int(default_rng().integers(2**31))
            hunt = _hunt(query, bound, chosen, calls=search_calls, seed=seed, **alone)
            best, violation, made_up = _hunt_largest_movement(measure, hunt)
        elif given_name := next((name for name, one in alone.items() if one is not None), None):
            raise InvalidArgument(given_name, VerbatimText("both"), f"either {given_name} or pairs")
        elif isinstance(pairs, SearchStrategy):
            best, violation = _search_largest_movement(measure, pairs, max_examples, derandomize)
        else:
            best, violation = _try_given_pairs(measure, pairs)
        if violation is not None:
            # Only a query that returns the same answer twice has a sensitivity; a random one
            # moves by its noise.
            require_function(query, violation.pair)
            raise AssertionError(_message(violation, name, made_up))
    return best


def _measure_movement(query: Query, bound: Bound, norm: Norm, pair: Pair[Any]) -> _Movement:
    if not isinstance(pair, Pair):
        raise InvalidArgument(
            "pairs", redaction.convert_stray_argument(pair), "dpaudit.Pair objects"
        )
    one, other = (answer_of(query, side) for side in (pair.dataset, pair.neighbour))
    moved = measure_answer_movement(one, other, norm)
    limit = check.require_positive("bound", bound(pair) if callable(bound) else bound)
    return _Movement(pair, moved.distance, moved.certain, limit)


def _hunt(
    query: Query,
    bound: Bound,
    norm: Norm,
    *,
    domain: Any,
    relation: Any,
    dataset: Any,
    **given: Any,
) -> Hunt:
    """Return the search of `dpaudit.sensitivity`, with movements in units of the bound."""
    if domain is None and dataset is None:
        expected = "a Hypothesis strategy for pairs, pairs, a domain or a dataset"
        raise InvalidArgument("pairs", None, expected)
    named = chosen_relation(relation)
    if named is None:
        raise InvalidArgument("relation", None, "what makes neighbours, to look for them")

    def unit(one: Any, other: Any) -> float:
        limit = bound(Pair(one, other, named)) if callable(bound) else bound
        return check.require_positive("bound", limit)

    return hunt_of(query, domain, relation, norm, dataset=dataset, unit=unit, **given)


def _hunt_largest_movement(
    measure: Callable[[Pair[Any]], _Movement], hunt: Hunt
) -> tuple[float, _Movement | None, bool]:
    """Return the largest ratio, the smallest pair beyond the bound, and whether that is nobody's.

    Raises
    ------
    MechanismError
        The pair that moved further than the bound does so no more.
    """
    found = hunt.result().found[:1]
    best = max((measure(hunt.space.orient_pair(one.place)).ratio for one in found), default=0.0)
    beyond = [one for one in hunt.best if judge_claimed_number(1.0, one[0].size) == "refuted"]
    for _, place in sorted(beyond, key=_simplicity):
        try:
            violation = measure(hunt.space.orient_pair(place))
        except InvalidArgument:
            continue  # no neighbours
        if not violation.violates:
            raise MechanismError(CHANGED)
        return best, violation, hunt.space.is_nobodys(place)
    return best, None, False


def _simplicity(one: tuple[Seen, UnitPair]) -> tuple[int, float, float]:
    """Order pairs: by units, then by how far they move, then by the sizes of numbers."""
    seen, place = one
    cells = [cell for unit in place.units for record in unit for cell in record]
    numbers = [abs(one) for one in cells if isinstance(one, int | float) and math.isfinite(one)]
    return len(place.units), -round(seen.size, 9), float(sum(numbers))


def _search_largest_movement(
    measure: Callable[[Pair[Any]], _Movement],
    pairs: SearchStrategy[Pair[Any]],
    max_examples: int,
    derandomize: bool,
) -> tuple[float, _Movement | None]:
    best = 0.0

    @settings(
        max_examples=max_examples,
        derandomize=derandomize,
        # Examples of an earlier run would make a test depend on the machine's history.
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.target, Phase.shrink),
        report_multiple_bugs=False,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.nested_given),
        verbosity=Verbosity.quiet,
    )
    @given(st.tuples(_COUNTER, pairs))
    def holds(drawn: tuple[int, Pair[Any]]) -> None:
        nonlocal best
        movement = measure(drawn[1])
        best = max(best, movement.ratio)
        target(movement.ratio)
        if movement.violates:
            raise _Violation(movement)

    try:
        holds()
    except _Violation as found:
        return best, found.movement
    except Flaky:
        # Hypothesis runs a failing example again, and calls it flaky where it passes: the
        # answer has changed.
        raise MechanismError(CHANGED) from None
    return best, None


def _try_given_pairs(
    measure: Callable[[Pair[Any]], _Movement], pairs: object
) -> tuple[float, _Movement | None]:
    if not isinstance(pairs, Iterable):
        raise InvalidArgument(
            "pairs",
            redaction.convert_stray_argument(pairs),
            "a Hypothesis strategy for pairs, or pairs",
        )
    movements = [measure(pair) for pair in pairs]
    if not movements:
        raise InvalidArgument("pairs", VerbatimText("no pairs"), "at least one")
    violating = [movement for movement in movements if movement.violates]
    smallest = min(violating, key=lambda movement: movement.size, default=None)
    return max(movement.ratio for movement in movements), smallest


def _message(movement: _Movement, norm: str, made_up: bool) -> str:
    pair = movement.pair
    one, other = (side if made_up else Record(side) for side in (pair.dataset, pair.neighbour))
    shown = made_up or redaction.are_shown()
    distance, ratio = (
        f"{value:.9g}" if shown else f"at least {first_digit(value):g}"
        for value in (movement.distance, movement.ratio)
    )
    return (
        f"the query moves by {distance} between neighbours ({norm}), more than the "
        f"bound {movement.bound:.9g}\n"
        f"  ratio: {ratio}\n"
        f"  pair: {compare(pair)}\n"
        f"  dataset: {one!r}\n"
        f"  neighbour: {other!r}"
    )
