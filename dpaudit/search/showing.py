"""The evidence of a pair from a few runs with the same noise.

A *run* is frozen: every random primitive that is known is intercepted, and the k-th draw of a kind
is the same on both datasets. Four things tell two datasets apart, the first ones beyond any noise:

| what       | two runs with the same noise                                                   |
|------------|--------------------------------------------------------------------------------|
| structure  | have other keys, shapes, types, exceptions, warnings, or calls of primitives    |
| raw        | return another value where no noise reaches: the same for every noise           |
| invariant  | have another combination of parts that no noise reaches, but for rounding; or a  |
|            | number that is between the steps in which the noise moves it                    |
| movement   | have other centres: how far apart they are, in scales of the noise             |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

import dpaudit.freezing.glimpse as glimpse
import dpaudit.search.lattices as lattices
from dpaudit._typing import Array
from dpaudit.freezing import primitives, recorder
from dpaudit.freezing.outputs import Output, flatten_output
from dpaudit.freezing.patching import patch_primitives
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call
from dpaudit.search.choices import choice_size
from dpaudit.search.comparisons import ComparisonLog, answers_of
from dpaudit.search.invariants import Invariants, invariants_of, outputs_for
from dpaudit.search.lattices import Lattices

Function = Callable[[Any, Any], Any]
Kind = Literal["nothing", "movement", "output", "invariant", "raw", "structure"]
_BEYOND: dict[Kind, float] = {"invariant": 2e5, "raw": 1e6, "structure": 1e7}
# Two noises tell what noise moves from what it does not; most pairs need no more.
_NOISES = (1, 2)  # seeds of two noises that are compared
_MORE = range(3, 9)  # further ones, where these do not do
_OTHERS = range(2, 7)  # noises for which structures have to differ, too
_FAR = 1e5  # of a shift that no noise pays for
_CERTAIN = 6.0  # spreads of rounding from which on a movement is none of it
_LARGE = 18.0  # powers of ten of them that count as 1
_SCALES = 4.0  # movement that a factor of e in a scale counts as
_LARGEST = 50.0  # movement that a scale of 0 counts as


class PairSignal(NamedTuple):
    """The evidence of a pair: its kind, and its size as a number to maximise."""

    size: float
    kind: Kind
    moved: float = 0.0


NOTHING = PairSignal(0.0, "nothing")


class First(NamedTuple):
    """A dataset, a run on it with its output, and the values that no noise changed.

    ``spread`` is how far numbers moved from one noise to another, at least the scale of the noise;
    ``still`` are combinations of numbers, NaN where the noise changed one. ``other`` is the output
    with another noise.
    """

    dataset: Any
    run: Run
    output: Output
    fixed: dict[str, Any]
    spread: Array
    other: Output
    still: Array | None = None


@dataclass(kw_only=True)
class Showing:
    """Runs of a function, counted; the primitives are intercepted meanwhile.

    Parameters
    ----------
    call
        A function of data and a generator.
    most, runs
        How many it may make, and how many it made.
    warns, raises
        Whether warnings and exceptions are looked at; else a pair on which code raises shows
        nothing.
    is_blind
        Whether outputs differ though the noise is the same: it comes from elsewhere. None before
        any run.
    """

    call: Function
    most: int
    warns: bool = False
    raises: bool = False
    runs: int = 0
    is_blind: bool | None = None
    invariants: Invariants | None = None
    farthest: float = _CERTAIN
    lattices: Lattices | None = None
    farthest_between: float = 0.0
    noise: int = _NOISES[0]
    comparisons: ComparisonLog = field(default_factory=ComparisonLog)

    @property
    def is_over(self) -> bool:
        """Whether no run is left."""
        return self.runs >= self.most

    def run(self, dataset: Any, noise: int | None = None) -> Run:
        """Return a run with a noise, by default the one with which pairs are compared."""
        self.runs += 1
        given = self.noise if noise is None else noise
        return recorder.call_recorded(self.call, dataset, given, primitives.generator())

    def first(self, dataset: Any) -> First:
        """Return the observation of a dataset by runs with two noises."""
        run, other = (self.run(dataset, noise) for noise in (self.noise, _NOISES[1]))
        self.comparisons.note(other)
        one, then = _flatten_run_output(run), _flatten_run_output(other)
        if self.is_blind is None and not run.error:
            self.is_blind = not _is_output_equal(one, _flatten_run_output(self.run(dataset)))
        fixed = _select_unchanged_values(_get_values_by_path(one), _get_values_by_path(then))
        spread = _compute_output_spread(run, one, then)
        return First(dataset, run, one, fixed, spread, then, self._still(one, then))

    def look_for_invariants(self, dataset: Any, share: float) -> None:
        """Look for invariants in numbers that noise moves, for a share of the runs at most.

        Combinations of several, and what lies between the steps in which noise moves them.
        """
        if self.invariants is not None or self.lattices is not None:
            return
        first = self.run(dataset, _NOISES[0])
        self._choose_noise(dataset, first)
        one = _flatten_run_output(first)
        if not one.numbers or all(
            _is_output_equal(one, _flatten_run_output(self.run(dataset, n))) for n in _OTHERS
        ):
            return
        most = int(share * self.most)
        alone = len(one.numbers) == 1
        count = min(most, lattices.OUTPUTS) if alone else outputs_for(len(one.numbers), most)
        others = [_flatten_run_output(self.run(dataset, noise)) for noise in range(2, count + 1)]
        if all(other.paths == one.paths for other in others):
            self.lattices = lattices.lattices_of([one, *others])
            numbers = np.array([each.numbers for each in (one, *others)])
            self.invariants = invariants_of(one.paths, numbers)

    def _choose_noise(self, dataset: Any, first: Run) -> None:
        """Choose the noise with which most is compared: code that stops early shows nothing."""
        most = len(answers_of(first))
        for noise in _MORE if most else ():
            if (compared := len(answers_of(self.run(dataset, noise)))) > most:
                self.noise, most = noise, compared

    def _still(self, one: Output, then: Output) -> Array | None:
        """Return the combinations of an output that are the same for another noise."""
        if self.invariants is None:
            return None
        here, there = (self.invariants.of(each) for each in (one, then))
        if here is None or there is None:
            return None
        return np.where(self.invariants.held(here, there), here, np.nan)

    def _compare_combinations(self, first: First, neighbour: Any, output: Output) -> float:
        """Return how far combinations that no noise reaches are apart; 0 if rounding may do it.

        What is farther apart than all before has to be the same for another noise there, too.
        """
        there = None if self.invariants is None else self.invariants.of(output)
        if self.invariants is None or first.still is None or there is None:
            return 0.0
        apart = self.invariants.apart(first.still, there)
        # Only what beats all before costs another run; the rest decides nothing.
        if apart.max() > self.farthest:
            again = self._still(output, _flatten_run_output(self.run(neighbour, _NOISES[1])))
            apart = np.zeros(1) if again is None else self.invariants.apart(first.still, again)
            self.farthest = max(self.farthest, float(apart.max()))
        largest = float(apart.max())
        return _BEYOND["invariant"] * (1 + _log_share(largest)) if largest > _CERTAIN else 0.0

    def _between(self, first: First, neighbour: Any, output: Output) -> float:
        """Return how far a number is between the steps of the noise; 0 if noise may do it.

        What is farther than all before has to be so for another noise, too.
        """
        if self.lattices is None:
            return 0.0
        apart = self.lattices.apart(first.output, output)
        if apart > self.farthest_between:
            again = _flatten_run_output(self.run(neighbour, _NOISES[1]))
            inside = ((first.output, first.other), (output, again))
            if any(self.lattices.apart(*both) for both in inside):
                return 0.0
            self.farthest_between = apart
        return _BEYOND["invariant"] * (1 + apart) if apart else 0.0

    def of(self, first: First, neighbour: Any) -> PairSignal:
        """Return the evidence of runs about a dataset and a neighbour."""
        there = self.run(neighbour)
        if not self.raises and (first.run.error or there.error):
            return NOTHING
        output = _flatten_run_output(there)
        warned = self.warns and first.run.warned != there.warned
        if (
            warned
            or _has_other_calls(first.run, there)
            or first.output.structure != output.structure
        ):
            return self._of_structure(first, neighbour, there)
        if self.is_blind:
            return self._by_outputs(first.dataset, neighbour)
        chosen = self._size_of_choice(first, there)
        size, moved = chosen or (movement(first.run, there),) * 2
        if _is_output_equal(first.output, output):
            return PairSignal(size, "movement", moved) if size else NOTHING
        if (raw := self._raw(first, neighbour, output)) is not None:
            return PairSignal(_BEYOND["raw"] + raw + moved, "raw", moved)
        if combined := self._compare_combinations(first, neighbour, output):
            return PairSignal(combined, "invariant", moved)
        if between := self._between(first, neighbour, output):
            return PairSignal(between, "invariant", moved)
        if not chosen:  # by how much the number of an item moved says nothing
            size = max(size, _shift(first, output))
        if size:
            return PairSignal(size, "movement" if moved else "output", moved)
        return self._by_outputs(first.dataset, neighbour)

    def _of_structure(self, first: First, neighbour: Any, run: Run) -> PairSignal:
        """Return that structures differ: for every noise that is tried, or for this one alone.

        Then it may be a choice of noisy values that shows in the structure, as it is of code that
        stops after a comparison.
        """
        here, there = {first.output.structure}, {_flatten_run_output(run).structure}
        for noise in _OTHERS:
            if here & there:
                break
            here.add(_flatten_run_output(self.run(first.dataset, noise)).structure)
            there.add(_flatten_run_output(self.run(neighbour, noise)).structure)
        chosen = self._size_of_choice(first, run)
        if not here & there and (chosen is None or self.comparisons.end is None):
            return PairSignal(_BEYOND["structure"], "structure")
        if chosen is not None:
            return PairSignal(chosen[0], "movement", chosen[1]) if chosen[0] else NOTHING
        return PairSignal(_BEYOND["raw"] / 2, "structure")

    def _size_of_choice(self, first: First, there: Run) -> tuple[float, float] | None:
        """Return how well a choice tells runs apart, and how far it moved; None if it is none."""
        sizes = (
            one(first.run, first.output, there) for one in (choice_size, self.comparisons.size)
        )
        return max((size for size in sizes if size is not None), default=None)

    def _raw(self, first: First, neighbour: Any, output: Output) -> float | None:
        """Return how large a share of a value moved that no noise reaches; None if none did."""
        fixed, there = first.fixed, _get_values_by_path(output)
        found: float | None = None
        # A value that differs for one noise may follow from it; what no noise reaches differs
        # for all.
        for noise in (2, *_MORE):
            changes = [path for path in fixed if there.get(path, fixed[path]) != fixed[path]]
            if not changes:
                return None
            found = max(_compute_relative_change(fixed[path], there[path]) for path in changes)
            then = [
                _get_values_by_path(_flatten_run_output(self.run(one, noise)))
                for one in (first.dataset, neighbour)
            ]
            fixed, there = (
                _select_unchanged_values(*both) for both in zip((fixed, there), then, strict=True)
            )
        return found

    def _by_outputs(self, dataset: Any, neighbour: Any) -> PairSignal:
        """Return how far medians of a few outputs are apart, in their spread."""
        found = [
            [_flatten_run_output(self.run(one, noise)).numbers for noise in range(1, 6)]
            for one in (dataset, neighbour)
        ]
        if len({len(numbers) for side in found for numbers in side} | {0}) != 2:
            return PairSignal(1e-3, "output")  # of none, or of one number now and two then
        sides = [np.array(side) for side in found]
        apart = np.abs(np.median(sides[0], axis=0) - np.median(sides[1], axis=0))
        spread = sum(np.median(np.abs(one - np.median(one, axis=0)), axis=0) for one in sides)
        over = np.divide(apart, spread, out=np.zeros_like(apart), where=np.asarray(spread) > 0)
        return PairSignal(1e-3 + float(np.nan_to_num(over).max()) * 1e-2, "output")


_NONE = object()


def _select_unchanged_values(before: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in before.items() if then.get(path, _NONE) == value}


@contextmanager
def intercept_primitives(
    call: Function, function: Any, most: int, *, observed: Sequence[str] = ()
) -> Iterator[Showing]:
    """Intercept the primitives inside the block."""
    warns, raises = "warnings" in observed, "exceptions" in observed
    with patch_primitives(call, function):
        yield Showing(call=call, most=most, warns=warns, raises=raises)


def _flatten_run_output(run: Run) -> Output:
    return flatten_output(run.value, run.error)


def _has_other_calls(one: Run, other: Run) -> bool:
    if one.error != other.error:
        return True
    return [(c.kind, c.shape) for c in one.calls] != [(c.kind, c.shape) for c in other.calls]


def _is_output_equal(one: Output, other: Output) -> bool:
    # NaN is the same output as NaN here, although it is not equal to itself.
    numbers = np.array_equal(np.array(one.numbers), np.array(other.numbers), equal_nan=True)
    return numbers and one.texts == other.texts


def _get_values_by_path(output: Output) -> dict[str, Any]:
    """Return numbers and texts by their paths; NaN equals NaN."""
    numbers = zip(output.paths, (repr(one) for one in output.numbers), strict=True)
    return {**dict(numbers), **dict(zip(output.text_paths, output.texts, strict=True))}


def _log_share(apart: float) -> float:
    """Return how large a number beyond 1 is, as a share of a large number."""
    return min(1.0, float(np.log10(apart)) / _LARGE)


def _compute_relative_change(one: str, other: str) -> float:
    try:
        here, there = float(one), float(other)
    except ValueError:
        return 1.0
    largest = max(abs(here), abs(there))
    share = abs(here - there) / largest if largest else 0.0
    return share if np.isfinite(share) else 1.0


def movement(one: Run, other: Run) -> float:
    """Return how far the centres of two runs are apart, in scales of their noise.

    Of Laplace noise and others the absolute movements of entries are added up, of Gaussian noise
    the squares; the root of the squares of all Gaussian calls is added to the sums of the others,
    and so is how far scales are apart that should be the same.
    """
    total, squares = 0.0, 0.0
    for here, there in zip(one.calls, other.calls, strict=True):
        moved = glimpse.compute_scaled_movement(
            *_at_the_end(here, there), squared=here.kind == "normal"
        )
        total += _SCALES * _measure_scale_log_ratio(here.scale, there.scale)
        if moved is None:
            continue
        if here.kind == "normal":
            squares += moved**2
        else:
            total += moved
    return float(total + squares**0.5)


def _at_the_end(one: Call, other: Call) -> tuple[Call, Call]:
    """Return two calls whose noise met values, of as many, up to the last of either."""
    count = min(len(one.meetings), len(other.meetings))
    if len(one.meetings) == len(other.meetings):
        return one, other
    if not count:
        return one, other
    kept = [[*each.meetings[: count - 1], each.meetings[-1]] for each in (one, other)]
    return replace(one, meetings=kept[0]), replace(other, meetings=kept[1])


def _compute_output_spread(run: Run, one: Output, other: Output) -> Array:
    scales = [np.abs(np.asarray(call.scale, float)).max(initial=0.0) for call in run.calls]
    least = max((float(scale) for scale in scales if np.isfinite(scale)), default=0.0)
    if len(one.numbers) != len(other.numbers):
        return np.full(len(one.numbers), least)
    with np.errstate(invalid="ignore"):
        apart = np.abs(np.array(one.numbers) - np.array(other.numbers))
        return np.asarray(np.maximum(apart, least), dtype=np.float64)


def _shift(first: First, output: Output) -> float:
    """Return how far an output moved though the noise is the same, in its spread.

    What is added after the noise shows here alone.
    """
    with np.errstate(all="ignore"):
        apart = np.abs(np.array(first.output.numbers) - np.array(output.numbers))
        over = np.where(first.spread > 0, apart / first.spread, 0.0)
    return min(float(np.nan_to_num(over, nan=0.0, posinf=_FAR).max(initial=0.0)), _FAR)


def _measure_scale_log_ratio(one: Any, other: Any) -> float:
    """Return the largest difference of logarithms of two scales."""
    if (
        one is None
        or other is None
        or np.array_equal(one, other)
        or np.shape(one) != np.shape(other)
    ):
        return 0.0
    with np.errstate(all="ignore"):
        ratios = np.abs(np.log(np.asarray(one, float)) - np.log(np.asarray(other, float)))
    return float(np.nan_to_num(ratios, nan=0.0, posinf=_LARGEST).max(initial=0.0))
