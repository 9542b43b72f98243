"""The movement of a query between neighbours of a domain: at least."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.domains.reading import domain_of
from dpaudit.errors import DpauditError, InvalidArgument, MechanismError, what_happened
from dpaudit.freezing.recorder import fresh_copy
from dpaudit.neighbours.found_relations import chosen_relation
from dpaudit.neighbours.metrics import Metric
from dpaudit.neighbours.records import Bounds
from dpaudit.neighbours.tables import Pair, Relation
from dpaudit.search.constants import constants_of
from dpaudit.search.distance_search import DistanceHunt, PairAtDistance, Range
from dpaudit.search.edits import domain_around
from dpaudit.search.engine import CALLS, Hunt
from dpaudit.search.norms import Norm, norm_of
from dpaudit.search.showing import NOTHING, PairSignal
from dpaudit.search.space import space_apart, space_of

CHANGED = "query: different answers on the same dataset, expected a deterministic function"
_AGAIN = 4  # calls on the pair that was found
_UNITS = 16  # in the last place, which rounding may explain
_ROUNDING = _UNITS * float(np.finfo(np.float64).eps)

# By what the longest distance is divided for the unit of the next search: the first one is about
# that distance, the second about a twentieth of it, the last about two hundredths.
_SHORTER = (20.0, 200.0, math.inf)


@dataclass(frozen=True)
class SensitivityResult:
    """The largest movement of a query that a search found: no bound, but a lower end of it.

    Parameters
    ----------
    at_least
        The movement, less what the rounding of two answers may add to it.
    norm
        Of which norm.
    pair
        The neighbours between which it moves so far; None if it never moved.
    pairs
        At how many pairs the search looked.
    apart
        Of a distance in the place of a relation: how far the two datasets are apart. The movement
        is that of a unit of distance, then.
    is_nobodys
        Whether the pair holds no value that follows from records of somebody.
    """

    at_least: float
    norm: str
    pair: Pair[Any] | None
    pairs: int
    apart: float | None = None
    is_nobodys: bool = False

    def __float__(self) -> float:
        return self.at_least

    def __str__(self) -> str:
        a_unit = "" if self.apart is None else " a unit of distance"
        return f"at least {self.at_least:.9g} ({self.norm}){a_unit}, of {self.pairs} pairs"


def first_digit(value: float) -> float:
    """Return a number rounded down to one digit: more of a movement would tell of records.

    Examples
    --------
    >>> first_digit(0.0379), first_digit(5.0), first_digit(0.0)
    (0.03, 5.0, 0.0)
    """
    if not 0 < value < math.inf:
        return value
    # 17 digits tell every two doubles apart, so that to cut them never rounds up.
    digit, exponent = f"{value:.16e}".split("e")
    return float(f"{digit[0]}e{exponent}")


class AnswerDistance(NamedTuple):
    """The distance of two answers, and the part of it that rounding cannot explain."""

    distance: float
    certain: float


def answer_of(query: Callable[[Any], Any], dataset: Any) -> NDArray[np.floating[Any]]:
    """Return the answer of a query as an array of one dimension at least.

    One of 32 or 16 bits stays such: its last place says how far it is rounded.

    Raises
    ------
    MechanismError
        It is not finite, or nothing that can be subtracted.
    """
    answer = query(fresh_copy(dataset))
    try:
        found = np.atleast_1d(check.finite_array("answer", answer, ndim=np.ndim(answer)))
    except InvalidArgument as error:
        raise MechanismError(f"query: {error}") from None
    own = np.asarray(answer).dtype
    return found.astype(own) if own.kind == "f" and own.itemsize < found.itemsize else found


def _rounding_of(*answers: NDArray[Any]) -> float:
    """Return how far answers may be rounded, relatively: of the one with the fewest digits."""
    return _UNITS * max(float(np.finfo(one.dtype).eps) for one in answers)


def _compute_query_answer(query: Callable[[Any], Any], dataset: Any) -> NDArray[np.floating[Any]]:
    """Return the answer of a query, which may fail: its error is told as that of any code."""
    try:
        return answer_of(query, dataset)
    except DpauditError:
        raise
    except Exception as error:
        raise MechanismError(f"query: {what_happened(error)}") from error


def measure_answer_movement(one: NDArray[Any], other: NDArray[Any], norm: Norm) -> AnswerDistance:
    """Return how far two answers are apart.

    Raises
    ------
    MechanismError
        They are of different shapes.
    """
    if one.shape != other.shape:
        raise MechanismError(
            f"query: answers of shapes {one.shape} and {other.shape} on neighbours, "
            "expected the same shape on both"
        )
    rounding = _rounding_of(one, other)
    one, other = one.astype(np.float64), other.astype(np.float64)
    distance = check.non_negative("norm", norm(one - other))
    return AnswerDistance(
        distance, distance - rounding * norm(np.maximum(np.abs(one), np.abs(other)))
    )


def require_function(
    query: Callable[[Any], Any], pair: Pair[Any]
) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
    """Return a query's answers on a pair; refuse one that answers otherwise when it is asked again.

    A random query, and one that counts its calls, moves between any two datasets, and between two
    calls on one.

    Raises
    ------
    MechanismError
        It is no function of its data.
    """
    one, other = (_compute_query_answer(query, side) for side in (pair.dataset, pair.neighbour))
    # In reverse order, so that code which alternates or counts its calls does not repeat itself.
    second, first = (_compute_query_answer(query, side) for side in (pair.neighbour, pair.dataset))
    if not (_are_same(one, first) and _are_same(other, second)):
        raise MechanismError(CHANGED)
    return one, other


def _are_same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether answers are the same but for rounding, as threads may add in any order."""
    if one.shape != other.shape:
        return False
    rounding = _rounding_of(one, other)
    one, other = one.astype(np.float64), other.astype(np.float64)
    return bool((np.abs(one - other) <= rounding * np.maximum(np.abs(one), np.abs(other))).all())


class _First(NamedTuple):
    dataset: Any
    answer: NDArray[np.floating[Any]]


class _Measure:
    """Looks at pairs: how far a query moves, in units of a bound where there is one."""

    is_blind: bool | None = False

    def __init__(
        self, query: Callable[[Any], Any], norm: Norm, most: int, unit: Callable[[Any, Any], float]
    ) -> None:
        self.query, self.norm, self.most, self.unit, self.runs = query, norm, most, unit, 0

    @property
    def is_over(self) -> bool:
        return self.runs >= self.most

    def look_for_invariants(self, dataset: Any, share: float) -> None:
        """Look for nothing: an answer without noise has none."""

    def first(self, dataset: Any) -> _First:
        return _First(dataset, self._answer(dataset))

    def of(self, first: _First, neighbour: Any) -> PairSignal:
        certain = measure_answer_movement(first.answer, self._answer(neighbour), self.norm).certain
        if certain <= 0:
            return NOTHING
        return PairSignal(certain / self.unit(first.dataset, neighbour), "movement", certain)

    def _answer(self, dataset: Any) -> NDArray[np.floating[Any]]:
        self.runs += 1
        return _compute_query_answer(self.query, dataset)


def _get_unit_distance(dataset: Any, neighbour: Any) -> float:
    return 1.0


def hunt_of(
    query: Callable[[Any], Any],
    domain: Any,
    relation: Relation | str,
    norm: Norm,
    *,
    dataset: Any = None,
    bounds: Bounds | None = None,
    calls: int = CALLS,
    seed: int = 0,
    unit: Callable[[Any, Any], float] = _get_unit_distance,
) -> Hunt:
    """Return the search for the pair that moves a query most, as `sensitivity` takes all else.

    Parameters
    ----------
    unit
        What a movement between two datasets is measured in.
    """
    if not callable(query):
        raise InvalidArgument("query", query, "a function of a dataset")
    check.require_integer("calls", calls, least=2)
    if domain is not None and bounds is not None:
        raise InvalidArgument("bounds", bounds, "either bounds or domain")
    if domain is None and dataset is None:
        raise InvalidArgument("domain", None, "what datasets may be, or a dataset in its place")
    if domain is None:
        made, start = domain_around(dataset, relation, bounds=bounds), None
    else:
        made, start = domain_of(domain).made(default_rng(seed)), dataset
    space = space_of(made, relation, dataset=start, **_find_query_constants(query))
    return Hunt(space, _Measure(query, norm, calls, unit), default_rng(seed))


def _find_query_constants(query: Callable[[Any], Any]) -> dict[str, Any]:
    return {"constants": constants_of(query), "written": constants_of(query, written=True)}


def _a_unit(
    query: Callable[[Any], Any],
    domain: Any,
    metric: Metric,
    norm: tuple[str, Norm],
    *,
    dataset: Any,
    bounds: Bounds | None,
    calls: int,
    seed: int,
) -> SensitivityResult:
    """Return the largest movement a unit of distance, of pairs at several distances."""
    if not callable(query):
        raise InvalidArgument("query", query, "a function of a dataset")
    check.require_integer("calls", calls, least=2)
    if domain is None or bounds is not None:
        expected = "a domain, and no bounds beside it, with a distance"
        raise InvalidArgument("domain", domain, expected)
    made, (name, measured) = domain_of(domain).made(default_rng(seed)), norm
    space = space_apart(made, metric, dataset=dataset, **_find_query_constants(query))
    seen, unit = list[PairAtDistance](), math.inf
    for shorter in _SHORTER:
        sight = _Measure(query, measured, max(2, calls // len(_SHORTER)), _get_unit_distance)
        hunt = DistanceHunt(space, Range(metric, unit), sight, default_rng(seed))
        hunt.result()
        seen += hunt.seen
        unit = max((one.apart for one in seen), default=1.0) / shorter
    best = max(seen, key=lambda one: one.rank, default=None)
    if best is None or not best.shown.size:
        return SensitivityResult(0.0, name, None, len(seen))
    pair, is_nobodys = space.pair(best.place), space.is_nobodys(best.place)
    moved = measure_answer_movement(*require_function(query, pair), measured).certain
    # Rounded down for the division and for the distance, which may itself be rounded.
    certain = min(moved, best.shown.size) / best.apart * (1 - _ROUNDING)
    return SensitivityResult(certain, name, pair, len(seen), best.apart, is_nobodys)


def sensitivity(
    query: Callable[[Any], Any],
    domain: Any,
    relation: Relation | str,
    norm: str | Norm = "l2",
    *,
    dataset: Any = None,
    bounds: Bounds | None = None,
    calls: int = CALLS,
    seed: int = 0,
) -> SensitivityResult:
    """Return the largest movement of a query between neighbours that a search finds.

    A search finds lower ends: the sensitivity is at least this.

    Parameters
    ----------
    query
        A function of a dataset that returns a number or an array, of one shape for all datasets.
    domain, relation
        The datasets that are possible, as `dpaudit.domains.domain_of` takes them, and the relation
        of neighbours. With ``dataset``, the domain may be None, as in `dpaudit.audit`. A distance
        in the place of a relation, such as ``metric: euclidean``, gives pairs at several distances,
        and the movement for one unit.
    norm
        ``l1``, ``l2`` or ``linf`` of all entries of the difference, or a function of it.
    dataset
        The dataset at which the search starts.
    bounds
        The bounds of numbers, with ``dataset``.
    calls
        The number of calls of the query that the search may make.
    seed
        The seed of the search: the same seed gives the same result.

    Returns
    -------
    Sensitivity
        The largest movement that was found, with its pair; ``float()`` returns the movement.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here.
    MechanismError
        The query raises an error, or its answers have different shapes, are not finite, or
        differ on one dataset.

    Examples
    --------
    >>> found = sensitivity(np.mean, dict(bounds=(0, 1), records=4), "replace-record")
    >>> round(found.at_least, 9), found.norm, found.pair.relation.name
    (0.25, 'l2', 'replace-record')
    >>> found = sensitivity(lambda x: 3 * x, dict(bounds=(0, 9), records=2), "metric: euclidean")
    >>> round(found.at_least, 9)
    3.0
    """
    name, measured = norm_of(norm)
    check.require_integer("calls", calls, least=2)
    # The pair that is found is asked again, with the calls that are kept for it.
    looking = max(2, calls - _AGAIN)
    given: dict[str, Any] = {"dataset": dataset, "bounds": bounds, "calls": looking, "seed": seed}
    if isinstance(chosen := chosen_relation(relation), Metric):
        return _a_unit(query, domain, chosen, (name, measured), **given)
    hunt = hunt_of(query, domain, relation, measured, **given)
    found = hunt.result()
    best = next((one for one in found.found if one.kind != "nothing"), None)
    if best is None:
        return SensitivityResult(0.0, name, None, found.pairs)
    pair = hunt.space.orient_pair(best.place)
    # The smaller of what the search saw and what the pair shows now: the result is a lower end,
    # whichever of the two was the luckier rounding.
    moved = min(
        best.moved, measure_answer_movement(*require_function(query, pair), measured).certain
    )
    return SensitivityResult(moved, name, pair, found.pairs, is_nobodys=best.is_nobodys)
