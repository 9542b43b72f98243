"""Two runs with the same noise side by side: how far values moved, and mechanisms' declarations.

Plain, as all of this folder.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import primitives, recorder
from .outputs import flatten_output
from .patching import patch_primitives
from .recorder import Run
from .tracked_noise import Call

CHANGED = 1e6  # for calls that are others, or errors: more than any number moves
# For an output that moves though no recorded noise explains it, and for a value with noise of scale
# 0 that moves: there by up to twice as much, the more the larger a share of it moves.
UNSEEN = 1e3
_NAMES = ("rng", "generator", "random_state")


def make_single_call(
    function: Callable[..., Any], parameters: dict[str, Any]
) -> Callable[[Any, Any], Any]:
    """Return a function of data and a generator, with its parameters, that returns one output."""
    names = inspect.signature(function).parameters
    asked = [name for name in names if name in _NAMES]

    def run(data: Any, rng: Any) -> Any:
        given = {**parameters, **dict.fromkeys(asked, rng)}
        if "trials" in names:
            return function(data, **given, trials=1)[0]
        return function(data, **given)

    return run


def glimpses(
    function: Callable[..., Any],
    data: Any,
    neighbours: Iterable[Any],
    parameters: dict[str, Any],
) -> list[tuple[float, float]]:
    """Return the evidence of one frozen run about each neighbour.

    Parameters
    ----------
    function, parameters
        ``f(data, **parameters)``, which may ask for a generator by the name ``rng``.
    data, neighbours
        A dataset, and others that are compared with it.

    Returns
    -------
    list of tuple
        How far values moved that noise is added to, in scales of it; and the epsilon that
        mechanisms whose value moved declare together.

    Examples
    --------
    >>> def release(data, rng):
    ...     return sum(data) + rng.laplace(scale=2.0)
    >>> glimpses(release, [1, 2], [[1, 2], [1, 5]], {})
    [(0.0, 0.0), (1.5, 0.0)]
    """
    call = make_single_call(function, parameters)
    with patch_primitives(call, function):
        return _compare_neighbour_runs(call, data, neighbours)


def _compare_neighbour_runs(
    call: Callable[[Any, Any], Any], data: Any, neighbours: Iterable[Any]
) -> list[tuple[float, float]]:
    """Return how runs on neighbours differ from that on a dataset; primitives are replaced."""
    runs = [
        recorder.call_recorded(call, one, 1, primitives.generator()) for one in (data, *neighbours)
    ]
    return [(_movement(runs[0], run), _get_declared_epsilon(runs[0], run)) for run in runs[1:]]


class Glimpses:
    """Glimpses of functions whose primitives stay replaced from one to the next, until `close`.

    To replace them takes longer than many runs do. They are replaced anew for another function, and
    where a run has imported something.
    """

    def __init__(self) -> None:
        self._patches = contextlib.ExitStack()
        self._known: tuple[int, int] | None = None

    def of(
        self,
        function: Callable[..., Any],
        data: Any,
        neighbours: Iterable[Any],
        parameters: dict[str, Any],
    ) -> list[tuple[float, float]]:
        """Return the result of `glimpses`."""
        # A run that imports a module has brought in primitives that nothing stands in for yet.
        if self._known != (id(function), len(sys.modules)):
            self.close()
            self._patches.enter_context(patch_primitives(function))
            self._known = (id(function), len(sys.modules))
        return _compare_neighbour_runs(make_single_call(function, parameters), data, neighbours)

    def close(self) -> None:
        """Put all primitives back."""
        self._patches.close()
        self._known = None


def _movement(run: Run, other: Run) -> float:
    """Return how far apart two runs with the same noise are."""
    calls = [[(one.kind, one.shape) for one in each.calls] for each in (run, other)]
    if run.error != other.error or calls[0] != calls[1] or run.warned != other.warned:
        return CHANGED
    moves = [compute_scaled_movement(*both) for both in zip(run.calls, other.calls)]  # noqa: B905
    total = sum(one for one in moves if one is not None)
    if not total and flatten_output(run.value, run.error) != flatten_output(
        other.value, other.error
    ):
        return UNSEEN
    # Below what other calls count for: no movement of a value may outrank those.
    return float(min(total, CHANGED / 2))


def _get_declared_epsilon(run: Run, other: Run) -> float:
    """Return the epsilon that mechanisms declare whose value is another in the other run."""
    both = zip(run.calls, other.calls)  # noqa: B905
    return float(
        sum(one.declared.get("epsilon", 0.0) for one, then in both if _is_call_moved(one, then))
    )


def _is_call_moved(one: Call, other: Call) -> bool:
    here, then = one.location, other.location
    return here is not None and then is not None and not np.array_equal(here, then)


def compute_scaled_movement(one: Call, other: Call, *, squared: bool = False) -> float | None:
    """Return by how many scales the centre of a noise moved, None where nobody saw.

    Movements of entries are added up, or else their squares, of which that is the root.
    """
    found = [
        _over(here.centre, then.centre, one.scale, here.factor, squared)
        for here, then in zip(one.meetings, other.meetings)  # noqa: B905
    ]
    if not found and one.location is not None and other.location is not None:
        found = [_over(one.location, other.location, _scale(one), 1.0, squared)]
    return max((value for value in found if value is not None), default=None)


def _scale(one: Call) -> Any:
    """Return the scale of a noise: of a mechanism of a package, the declared one."""
    said = one.declared
    if one.scale is None and said.get("epsilon", 0.0) > 0 and "sensitivity" in said:
        return said["sensitivity"] / said["epsilon"]
    return one.scale


def _over_of_numbers(one: Any, other: Any, scale: Any, factor: Any) -> float | None:
    """Return how many scales two finite numbers are apart, None where that needs more care."""
    try:
        apart = abs(float(one) - float(other))
        unit = abs((1.0 if scale is None else float(scale)) * float(factor))
    except (TypeError, ValueError, OverflowError):
        return None
    if not apart < math.inf or not 0 < unit < math.inf:
        return None
    over = apart / unit
    return over if over < math.inf else None


def _same(one: Any, other: Any) -> Any:
    """Return which numbers are the same; one that is missing on both sides is."""
    return (one == other) | (np.isnan(one) & np.isnan(other))


def _over(one: Any, other: Any, scale: Any, factor: Any, squared: bool) -> float | None:
    if all(np.shape(given) == () for given in (one, other, scale, factor)):
        moved = _over_of_numbers(one, other, scale, factor)
        if moved is not None:
            return moved
    try:
        here, there = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
        with np.errstate(invalid="ignore"):
            # Infinity less itself is no number, and did not move.
            apart = np.where(_same(here, there), 0.0, np.abs(here - there))
        unit = np.abs(np.asarray(1.0 if scale is None else scale, dtype=float) * factor)
        units = np.broadcast_to(unit, apart.shape)
    except (TypeError, ValueError):  # of no numbers, or of other shapes
        return None
    if not (apart > 0).any():
        return float(np.nan_to_num(apart, nan=UNSEEN).sum())
    # Noise of scale 0 hides nothing: the more of the value moves, the more a search should like it.
    if not units[apart > 0].all():
        largest = max(float(np.abs(np.asarray(each, dtype=float)).max()) for each in (one, other))
        return UNSEEN * (1 + float(apart.max()) / max(largest, 1e-300))
    over = np.divide(apart, units, out=np.zeros_like(apart), where=apart != 0)
    found = np.nan_to_num(over, nan=UNSEEN, posinf=UNSEEN)
    return float(np.sqrt((found**2).sum()) if squared else found.sum())
