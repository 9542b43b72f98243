"""The guide to pairs and events that deserve a black-box audit, from a few calls with frozen noise.

Plain, as all of this folder: it runs in the environment of the audited package. What it says is a
guess that nobody has to believe: an audit counts the events on outputs of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .glimpse import compute_scaled_movement, make_single_call
from .observing import ObservedRuns, SideRuns, observe_runs

_MOST_EVENTS = 8


def guide(
    function: Callable[..., Any],
    pairs: Iterable[tuple[Any, Any]],
    *,
    runs: int = 6,
    parameters: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the evidence of frozen noise about each pair, those first that most deserve an audit.

    Parameters
    ----------
    function
        ``f(data, **parameters)``, which may ask for a generator by the name ``rng``.
    pairs
        Datasets and neighbours.
    runs
        Calls with frozen noise on each dataset.
    parameters
        Public parameters.

    Returns
    -------
    list of dict
        ``pair`` (its number), ``score``, ``moved`` (the largest movement over scale of a noisy
        call, None if none was seen), ``calls`` (whether the calls of primitives differ),
        ``intercepted`` (whether the same frozen noise gives the same output), and ``events``: dicts
        of ``part`` (a path into the output), ``test`` (``structure``, ``constant``, ``above`` or
        ``below``), ``favours`` (``dataset`` or ``neighbour``) and ``level``.

    Examples
    --------
    >>> def release(data, rng):
    ...     return {"sum": sum(data) + rng.laplace(), "largest": max(data)}
    >>> found = guide(release, [([1, 2], [1, 2]), ([1, 2], [1, 9])])
    >>> found[0]["pair"], found[0]["events"][0]["part"], found[0]["moved"]
    (1, "output['largest']", 7.0)
    """
    run = make_single_call(function, parameters or {})
    found = []
    for number, (dataset, neighbour) in enumerate(pairs):
        seen = observe_runs(run, dataset, neighbour, runs=runs, far=2, plain=1)
        found.append({"pair": number, **_describe_observation(seen)})
    return sorted(found, key=lambda one: -one["score"])


def _describe_observation(seen: ObservedRuns) -> dict[str, Any]:
    events = _events(*seen.sides)
    moved = _find_largest_call_movement(*seen.sides)
    worth = {"structure": 1e6, "constant": 1e5}
    score = max([worth.get(one["test"], one.get("by", 0.0)) for one in events], default=0.0)
    return {
        "score": max(score, moved or 0.0),
        "moved": moved,
        "calls": _signs(seen.dataset) != _signs(seen.neighbour),
        "intercepted": seen.dataset.repeated and seen.neighbour.repeated,
        "events": events[:_MOST_EVENTS],
    }


def _signs(side: SideRuns) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(call.place, call.name, call.shape) for call in side.runs[0].calls]


def _events(one: SideRuns, other: SideRuns) -> list[dict[str, Any]]:
    """Return events, those first that tell most: structures, constants, then shifts."""
    structures = [{output.structure for output in side.outputs} for side in (one, other)]
    if structures[0] != structures[1]:
        return [{"part": "output", "test": "structure", "favours": "dataset", "level": None}]
    if len(structures[0]) > 1:
        return []
    shifts = []
    a, b = (np.array([output.numbers for output in side.outputs]) for side in (one, other))
    for n, path in enumerate(one.outputs[0].paths):
        shifts += _shift(path, a[:, n], b[:, n])
    for n, path in enumerate(one.outputs[0].text_paths):
        texts = [{output.texts[n] for output in side.outputs} for side in (one, other)]
        if not texts[0] & texts[1]:
            shifts.append({"part": path, "test": "constant", "favours": "dataset", "level": None})
    shifts.sort(key=lambda event: (event["test"] != "constant", -event.get("by", 0.0)))
    return shifts


def _shift(path: str, a: Any, b: Any) -> list[dict[str, Any]]:
    """Return the movement of one number under frozen noise, in spreads of its own."""
    same = [bool(((side == side[0]) | np.isnan(side)).all()) for side in (a, b)]
    missing = bool(np.isnan(a).all()) != bool(np.isnan(b).all())
    if missing or (same[0] and same[1] and a[0] != b[0] and not np.isnan(a[0])):
        return [{"part": path, "test": "constant", "favours": "dataset", "level": float(a[0])}]
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return []
    moved = float(np.median(b - a))
    # Medians, as a few runs of noise with heavy tails say nothing by their means.
    spread = float(np.median(np.abs(a - np.median(a))))
    if moved == 0 or spread == 0:
        return []
    middle = float((np.median(a) + np.median(b)) / 2)
    test = "above" if moved < 0 else "below"
    by = min(abs(moved) / spread, 1e4)
    return [{"part": path, "test": test, "favours": "dataset", "level": middle, "by": by}]


def _find_largest_call_movement(one: SideRuns, other: SideRuns) -> float | None:
    """Return the largest movement over scale of a noisy call of the runs with the same noise."""
    there = {call.key: call for call in other.runs[0].calls}
    found = []
    for call in one.runs[0].calls:
        if (with_it := there.get(call.key)) is None:
            continue
        found.append(compute_scaled_movement(call, with_it))
    known = [one for one in found if one is not None and math.isfinite(one)]
    return max(known, default=None)
