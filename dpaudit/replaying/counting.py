"""Events counted on real runs, in which nothing is replaced: differences under any noise.

An event is chosen on a few runs, and certified on fresh ones: a true claim is then refuted with a
probability of at most ``1 - confidence``, whatever primitives were not intercepted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.freezing.observing import Function, really
from dpaudit.freezing.outputs import Output

ALPHA = 1e-6  # the error probability of all counts
# Three constants at most, and one event that is chosen by guidance: they share the error
# probability.
COUNTS = 4  # at most
# Runs on each dataset.
_LEAST = 64
_MOST = 4000
GUIDED = 2000  # runs, of which a quarter chooses the event
_SECONDS = 2.0


@dataclass(frozen=True)
class OutputEvent:
    """An event that can be seen on one output: its structure, a text, or a number is a constant.

    Parameters
    ----------
    what
        ``"structure"``, ``"text"`` or ``"number"``.
    favours
        ``"dataset"`` or ``"neighbour"``.
    value
        The constant.
    place
        Which text, or which number.
    """

    what: str
    favours: str
    value: Any
    place: int = 0

    def happened(self, output: Output) -> bool:
        """Return whether an output is in the event."""
        return bool(self.value_in(output) == self.value)

    def value_in(self, output: Output) -> Any:
        """Return the value of an output in its place."""
        return _get_event_value(output, self.what, self.place)


def _get_event_value(output: Output, what: str, place: int) -> Any:
    """Return the value in an event, a missing number as text: it is not equal to itself."""
    if what == "structure":
        return output.structure
    held: Sequence[Any] = output.texts if what == "text" else output.numbers
    found = held[place] if place < len(held) else None
    return "nan" if isinstance(found, float) and math.isnan(found) else found


def constants(dataset: Sequence[Output], neighbour: Sequence[Output]) -> Iterator[OutputEvent]:
    """Yield the values that are the same in all outputs on one dataset and in none on the other."""
    for favours, own, others in (
        ("dataset", dataset, neighbour),
        ("neighbour", neighbour, dataset),
    ):
        sizes = (("structure", 1), ("text", len(own[0].texts)), ("number", len(own[0].numbers)))
        for what, size in sizes:
            for place in range(size):
                seen = OutputEvent(what, favours, _get_event_value(own[0], what, place), place)
                if all(map(seen.happened, own)) and not any(map(seen.happened, others)):
                    yield seen


@dataclass(frozen=True)
class OutputEventCount:
    """The frequency of an event on fresh outputs, and the epsilon that it certifies.

    Of an event that is chosen from many, ``seen`` has no value: it says what the event is about.
    """

    seen: OutputEvent
    hits: int
    other_hits: int
    runs: int
    epsilon: float


def count_needed_runs(epsilon: float, delta: float, alpha: float = ALPHA / COUNTS) -> int:
    """Return how many outputs of each side refute a claim if all are as they were, at most so many.

    Examples
    --------
    >>> count_needed_runs(1.0, 0.0), count_needed_runs(50.0, 0.0)
    (64, 4000)
    """
    runs = _LEAST
    while runs < _MOST and not _is_enough_runs(runs, epsilon, delta, alpha):
        runs *= 2
    return min(runs, _MOST)


def most_of_counts(epsilon: float, delta: float, pairs: int) -> float:
    """Return the most that a count of a replay certifies, of so many pairs, if every output tells.

    Examples
    --------
    >>> 5 < most_of_counts(1.0, 0.0, 1) < 5.5
    True
    """
    alpha = ALPHA / (COUNTS * pairs)
    runs = max(count_needed_runs(epsilon, delta, alpha), GUIDED - GUIDED // 4)
    return joint_lower_bound(runs, 0, runs, runs, delta=delta, alpha=alpha)


def _is_enough_runs(runs: int, epsilon: float, delta: float, alpha: float) -> bool:
    return joint_lower_bound(runs, 0, runs, runs, delta=delta, alpha=alpha) > epsilon


def count_event(
    function: Function,
    data: tuple[Any, Any],
    seen: OutputEvent,
    runs: int,
    delta: float,
    seed: int,
    alpha: float = ALPHA / COUNTS,
) -> OutputEventCount:
    """Return the counts of an event on fresh outputs; on fewer where they take long."""
    own, other = data if seen.favours == "dataset" else data[::-1]
    hits = other_hits = made = 0
    end = time.monotonic() + _SECONDS
    while made < runs and (made < 8 or time.monotonic() < end):
        for n in _draw_side_order(seed, made):
            happened = seen.happened(really(function, (own, other)[n], seed + 2 * made + n))
            hits, other_hits = hits + (happened and n == 0), other_hits + (happened and n == 1)
        made += 1
    lower = joint_lower_bound(hits, other_hits, made, made, delta=delta, alpha=alpha)
    return OutputEventCount(seen, hits, other_hits, made, lower)


def _draw_side_order(seed: int, made: int) -> tuple[int, int]:
    """Return which dataset is first, by chance: of every other call some code keeps count."""
    first = int(np.random.default_rng((seed, made)).integers(2))
    return first, 1 - first


def find_guided_event(
    function: Function,
    data: tuple[Any, Any],
    delta: float,
    runs: int,
    seed: int,
    alpha: float = ALPHA / COUNTS,
) -> tuple[str, OutputEventCount] | None:
    """Return the event of one number or text that tells most, chosen on a part of the runs.

    For outputs that have no law here, such as a comparison or a choice.
    """
    end = time.monotonic() + _SECONDS
    outputs: tuple[list[Output], list[Output]] = ([], [])
    while len(outputs[0]) < runs and time.monotonic() < end:
        made = len(outputs[0])
        for n in _draw_side_order(seed, made):
            outputs[n].append(really(function, data[n], seed + 2 * made + n))
    made = len(outputs[0])
    if made < 2 * _LEAST:
        return None
    # The event is chosen on these runs and certified on the others alone: certified on the same
    # ones, it would fit their chance.
    half = made // 4
    chosen = _choose_test([side[:half] for side in outputs], delta)
    if chosen is None:
        return None
    (words, what, place, test), favours = chosen
    rest = [side[half:] for side in outputs]
    own, other = rest if favours == "dataset" else rest[::-1]
    hits, other_hits = sum(map(test, own)), sum(map(test, other))
    lower = joint_lower_bound(hits, other_hits, len(own), len(other), delta=delta, alpha=alpha)
    seen = OutputEvent(what, favours, None, place)
    return words, OutputEventCount(seen, hits, other_hits, len(own), lower)


# An event in words, what it is about, in which place, and whether an output is in it.
_Test = tuple[str, str, int, Callable[[Output], bool]]


def _choose_test(outputs: Sequence[list[Output]], delta: float) -> tuple[_Test, str] | None:
    best: tuple[float, tuple[_Test, str]] | None = None
    count = len(outputs[0])
    for test in _make_output_tests(outputs):
        hits = [sum(map(test[3], side)) for side in outputs]
        for favours, (a, b) in (("dataset", hits), ("neighbour", hits[::-1])):
            # A rough bound that only ranks: nothing is certified on the runs that choose.
            lower = joint_lower_bound(a, b, count, count, delta=delta, alpha=0.5)
            if best is None or lower > best[0]:
                best = lower, (test, favours)
    return None if best is None or best[0] <= 0 else best[1]


def _make_output_tests(outputs: Sequence[list[Output]]) -> Iterator[_Test]:
    first = outputs[0][0]
    for place, path in list(enumerate(first.paths))[:16]:
        values = [o.numbers[place] for side in outputs for o in side if place < len(o.numbers)]
        finite = [one for one in values if math.isfinite(one)]
        for level in np.unique(np.quantile(finite, [0.02, 0.2, 0.5, 0.8, 0.98])) if finite else ():
            bound = float(level)
            yield f"{path} at or above a level", "number", place, _at_least(place, bound, True)
            yield f"{path} below a level", "number", place, _at_least(place, bound, False)
    for place, path in list(enumerate(first.text_paths))[:8]:
        values_seen = {o.texts[place] for side in outputs for o in side if place < len(o.texts)}
        for value in sorted(values_seen)[:16]:
            seen = OutputEvent("text", "dataset", value, place)
            yield f"{path} is one of its values", "text", place, seen.happened
    for structure in sorted({o.structure for side in outputs for o in side})[:8]:
        seen = OutputEvent("structure", "dataset", structure)
        yield "the structure is one that it has", "structure", 0, seen.happened


def _at_least(place: int, level: float, above: bool) -> Callable[[Output], bool]:
    def test(output: Output) -> bool:
        if place >= len(output.numbers):
            return False
        return (output.numbers[place] >= level) == above

    return test
