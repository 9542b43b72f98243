"""Claims about any two datasets: the permitted loss between them grows with their distance.

Such a claim (metric differential privacy, geo-indistinguishability) is of epsilon a unit: any two
datasets x and x' lose at most epsilon times d(x, x'), and not only two that are neighbours.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dpaudit.neighbours.tables as tables
from dpaudit._references import load_reference
from dpaudit.errors import InvalidArgument, UnknownName, VerbatimText
from dpaudit.neighbours.distances import DISTANCES
from dpaudit.neighbours.tables import Relation
from dpaudit.standins import what_code_raised

_PREFIX = "metric:"
_SAME = 1e-9
_EXPECTED = "a distance: a finite number above 0, the same in both directions"


@dataclass(frozen=True)
class Metric(Relation):
    """Any two datasets, as far apart as a distance says.

    Parameters
    ----------
    distance
        What the distance is called.
    measure
        Returns how far two datasets are apart.
    is_own
        Whether somebody's own code measures. It is called where their code runs, and not where a
        pair is made.
    reference
        Its ``module:object``, if it was named so.
    """

    distance: str = ""
    measure: Callable[[Any, Any], Any] = field(default=math.dist, repr=False)
    is_own: bool = False
    reference: str | None = None

    def check(self, dataset: object, neighbour: object) -> int:
        """Return 0: any two datasets at a distance are a pair."""
        if not self.is_own:
            self.between(dataset, neighbour)
        return 0

    def between(self, dataset: object, neighbour: object) -> float:
        """Return how far two datasets are apart.

        Raises
        ------
        InvalidArgument
            It is 0, no finite number above 0, or not the same in both directions.
        """
        found = self.apart(dataset, neighbour)
        if found == 0:
            given = VerbatimText(f"two datasets at a distance ({self.distance}) of 0")
            raise InvalidArgument("pair", given, "two that are apart: at 0 nothing is claimed")
        return found

    def apart(self, dataset: object, neighbour: object) -> float:
        """Return how far two datasets are apart, which may be 0.

        Raises
        ------
        InvalidArgument
            It is no number, negative, infinite, or not the same in both directions.
        """
        there = self._measured(dataset, neighbour)
        # Somebody's own code may not be symmetric; our distances are by construction.
        back = self._measured(neighbour, dataset) if self.is_own else there
        if not math.isclose(there, back, rel_tol=_SAME):
            said = VerbatimText(
                f"{self.distance}, which is {there!r} one way and {back!r} the other"
            )
            raise InvalidArgument("distance", said, _EXPECTED)
        # The two directions may differ in their last digits: the larger distance allows more, so
        # that rounding refutes nothing.
        return max(there, back)

    def _measured(self, dataset: object, neighbour: object) -> float:
        try:
            found = self.measure(dataset, neighbour)
        except InvalidArgument:
            raise
        except Exception as error:
            both = (dataset, neighbour)
            said = what_code_raised(error, both, lambda made: self.measure(*made))
            given = VerbatimText(f"{self.distance}, which raises")
            raise InvalidArgument("distance", given, f"{_EXPECTED} ({said})") from error
        value = _to_distance_number(found)
        if value is None or not 0 <= value < math.inf:
            said = type(found).__name__ if value is None else repr(value)
            given = VerbatimText(f"{self.distance}, which returns {said}")
            raise InvalidArgument("distance", given, _EXPECTED)
        return value


def _to_distance_number(found: object) -> float | None:
    """Return a number, or an array of no axes that is one, as a double; None of anything else."""
    if isinstance(found, np.ndarray) and found.ndim == 0:
        found = found.item()
    if isinstance(found, bool) or not isinstance(found, numbers.Real):
        return None
    try:
        return float(found)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class _ReferencedDistance:
    """A distance that ``module:object`` names: imported where it is called first."""

    reference: str

    def __call__(self, dataset: Any, neighbour: Any) -> Any:
        return load_reference("distance", self.reference)(dataset, neighbour)


def metric(distance: Any) -> Metric:
    """Return the relation of a claim of epsilon for each unit of distance, for `dpaudit.audit`.

    Parameters
    ----------
    distance
        ``absolute``, ``euclidean``, ``manhattan``, ``chebyshev`` or ``hamming``; a function of two
        datasets that returns their distance; or the ``module:object`` of one.

    Raises
    ------
    InvalidArgument, UnknownName
        ``distance`` is neither a known name nor such a function.

    Examples
    --------
    >>> metric("euclidean").between([0.0, 0.0], [3.0, 4.0])
    5.0
    >>> metric("absolute").between([1.0], [1.0])
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: pair: got two datasets at a distance (absolute) of 0, expected \
two that are apart: at 0 nothing is claimed
    """
    if callable(distance):
        return _make_metric(
            getattr(distance, "__name__", type(distance).__name__), distance, own=True
        )
    if not isinstance(distance, str):
        expected = "a name, such as euclidean, or a function of two datasets"
        raise InvalidArgument("distance", distance, expected)
    if ":" in distance:
        return _make_metric(distance, _ReferencedDistance(distance), own=True, reference=distance)
    if distance not in DISTANCES:
        raise UnknownName("distance", distance, DISTANCES)
    return _make_metric(distance, DISTANCES[distance])


def metric_named(given: str) -> Metric | None:
    """Return the metric of a relation's name, such as ``"metric: euclidean"``; None of another.

    Examples
    --------
    >>> metric_named("metric: hamming").name, metric_named("replace-record")
    ('metric: hamming', None)
    """
    if not given.startswith(_PREFIX):
        return None
    return metric(given.removeprefix(_PREFIX).strip())


def relation(name: str) -> Relation:
    """Return the relation called ``name``; ``metric: euclidean`` for a claim a unit of distance.

    Examples
    --------
    >>> relation("replace-record").statement, relation("metric: euclidean").distance
    ('one record (features and label) is replaced', 'euclidean')
    """
    named = metric_named(name) if isinstance(name, str) else None
    return tables.relation(name) if named is None else named


def _make_metric(
    name: str,
    measure: Callable[[Any, Any], Any],
    *,
    own: bool = False,
    reference: str | None = None,
) -> Metric:
    return Metric(
        f"{_PREFIX} {name}",
        f"any two datasets, what is allowed grows with their distance ({name})",
        _refuse_metric_comparison,
        distance=name,
        measure=measure,
        is_own=own,
        reference=reference,
    )


def _refuse_metric_comparison(*_: Any) -> int:
    raise AssertionError("a metric compares no tables")
