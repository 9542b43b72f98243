"""Distances of the datasets of pairs, by somebody's own function, in the process of their code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution.failures import CannotTravel, CodeFailed, WorkerEnded
from dpaudit.execution.pool import Crew
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import Metric, Pair


def distances_of(
    metric: Metric, pairs: Sequence[Pair[Any]], isolation: Isolation | None = None
) -> list[float]:
    """Return how far the two datasets of each pair are apart.

    Parameters
    ----------
    metric
        What measures. Somebody's own is called in a process of its own, unless it cannot be sent
        to one.
    pairs
        What is measured.
    isolation
        Where that runs, and what it may take.

    Raises
    ------
    InvalidArgument
        A distance is 0, no finite number above 0, or another one in the other direction.

    Examples
    --------
    >>> from dpaudit.neighbours import metric
    >>> far = metric(lambda one, other: 2 * abs(one - other))
    >>> distances_of(far, [Pair(1.0, 4.0, far)])
    [6.0]
    """
    both = [(pair.dataset, pair.neighbour) for pair in pairs]
    isolation = isolation or Isolation()
    if not metric.is_own or isolation.in_process:
        return _measure_pairs(metric, both)
    try:
        with Crew(isolation.limits) as crew:
            found = crew.call(_measure_pairs, metric, both)
    except CannotTravel:
        return _measure_pairs(metric, both)
    except (WorkerEnded, CodeFailed) as error:
        given = VerbatimText(metric.distance)
        raise InvalidArgument("distance", given, f"one that can be measured ({error})") from error
    # The answer comes from a process of other people's code, and may be anything.
    if len(found) != len(both) or not all(0 < one < math.inf for one in found):
        raise InvalidArgument("distance", VerbatimText(metric.distance), "one number for each pair")
    return found


def _measure_pairs(metric: Metric, both: Sequence[tuple[Any, Any]]) -> list[float]:
    return [float(metric.between(*one)) for one in both]
