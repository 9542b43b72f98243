"""Outputs of a scan as numbers, where they are some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.execution import stream
from dpaudit.neighbours import Pair, Side
from dpaudit.scan.remote.foreign import Foreign


def count_finite_hits(
    observed: Any, score: Callable[[Array], Array], event: ThresholdEvent, shape: tuple[int, ...]
) -> int:
    """Return how many fresh outputs are in the event; one that is no finite number is in none."""
    # Outputs that are no finite numbers were dropped before the fit, which knows no score for
    # them; as members of no event they count against it on either side alike.
    # The fit saw finite numbers alone and has no score for others; they count as hits on neither
    # side.
    rows = [np.asarray(one, dtype=np.float64) for one in observed if is_finite_number(one)]
    kept = [one for one in rows if one.shape == shape and np.isfinite(one).all()]
    if not kept:
        return 0
    return int(event.hits(score(np.stack(kept))))


def is_finite_number(one: Any) -> bool:
    """Return whether an output is a double, or an array of them; integers have no such bits."""
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype.kind == "f"
    return isinstance(one, float)


def convert_to_numbers(observed: Any) -> Array | None:
    """Return observations as an array of doubles, None if they are no numbers of one shape."""
    if not all(map(is_finite_number, observed)):
        return None
    rows = [np.asarray(one, dtype=np.float64) for one in observed]
    return np.stack(rows) if len({one.shape for one in rows}) == 1 else None


def observe_in_turn(
    mechanism: Foreign, pair: Pair[Any], count: int, seed: int, purpose: str
) -> tuple[Any, Any]:
    """Return observations of both sides, drawn in turn: a state between calls tells nothing."""
    datasets = [pair.on(side) for side in Side]
    return mechanism.observed_in_turn(datasets, count, stream(seed, purpose))
