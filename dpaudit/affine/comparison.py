"""Whether a function computes on plain numbers the values that it computed on forms.

Of each run with other draws and other private data, small and large, every number that is returned
has to be that of the program within the rounding of its summands.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.affine.covariance import read_parameters
from dpaudit.affine.form import NO_IDS, AffineForm, FormTracing, NotAffine, forms_in
from dpaudit.affine.inputs import AdaptiveInputs, InputCall, PlainCall, PlainSource, numbers_in
from dpaudit.affine.kinds import DOUBLES, SIZES
from dpaudit.affine.messages import make_value_outline, map_parts
from dpaudit.affine.program import AffineProgram
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.freezing import primitives, recorder
from dpaudit.freezing.tracked_noise import Call

Function = Callable[[Any, Any], Any]
Look = Callable[[Any], Any]
CORRELATED = "multivariate_normal"
_ENOUGH = 20_000_000  # coordinates of all runs that are compared, beyond which there are fewer
# The fewest runs are one for each pair of decades of private data. The tolerance is relative to the
# summands of a number (thousands of roundings in another order, but no term that was left out), the
# rounding to the number itself: several thousand units in the last place.
_FEWEST = 3
_TOLERANCE = 1e-9
_ROUNDING = 1e-12
_MOST_OFFSET = 1e9  # times what data and noise usually come to: beyond it, digits of these are lost
_DECADES = (-2, 1), (1, 4), (4, 9)  # of private data, in turn


class _PlainState(recorder.State):
    """A run on plain numbers whose draws are remembered."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn = list[NDArray[np.float64]]()

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return the draws of a call, as numbers."""
        # The same draws as a traced run would make of this seed, so that only the arithmetic
        # can differ.
        draw = np.asarray(recorder.frozen(self, call.kind, call.shape, call.key), dtype=float)
        self.drawn.append(draw.ravel())
        value = np.asarray(location + scale * draw, dtype=float)
        return value if value.ndim else float(value)

    def form_other(self, call: Call, draw: Any, given: dict[str, Any]) -> Any:
        """Return noise of a covariance by the normals that forms have too."""
        if call.kind != CORRELATED:
            return super().form_other(call, draw, given)
        noise = read_parameters(given)
        normals = np.asarray(recorder.frozen(self, "normal", noise.shape, call.key), dtype=float)
        self.drawn.append(normals.ravel())
        return noise.of(normals)


@dataclass(frozen=True)
class TraceFacts:
    """The facts with which runs are compared."""

    tracing: FormTracing
    output: Any
    calls: tuple[InputCall, ...]
    looks: Mapping[str, Look]
    looked: Mapping[str, Any]

    @property
    def program(self) -> AffineProgram:
        """The numbers that a run formed."""
        return self.tracing.program

    @property
    def rounds(self) -> list[tuple[int, int]]:
        """Part and round of each adaptive input."""
        return [(one.part, one.step) for one in self.calls]

    @property
    def seen(self) -> Any:
        """All numbers that are compared: outputs, and all values that inputs may depend on."""
        return [self.output, [one.arguments for one in self.calls], self.looked]


@dataclass(frozen=True)
class RunAgreement:
    """The number of runs that agreed, and the first disagreement."""

    runs: int
    reason: str | None = None


_UNLIKE = "it treats plain arrays and forms differently: it reads types, or keeps state"
_DROWNED = "it adds noise to a number that is 10^9 times as large, so digits of the noise are lost"
_OTHERWISE = (
    "with other numbers its output has another form, other texts or numbers of another shape"
)


def compare_runs(
    function: Function, traced: TraceFacts, private: Any, seed: int, most: int
) -> RunAgreement:
    """Return whether runs on plain numbers, so many at most, return the traced values."""
    rng = np.random.Generator(np.random.PCG64(seed))
    count = int(np.clip(_ENOUGH // max(traced.program.size, 1), _FEWEST, max(most, _FEWEST)))
    runs, once = list[_PlainRun](), _run_plainly if traced.tracing.unit is None else _run_with_data
    normals, numbers = (len(traced.program.leaves(kind)) for kind in ("noise", "data"))
    expected = make_value_outline(traced.seen)
    while len(runs) < count:
        decades = _DECADES[len(runs) % len(_DECADES)]
        run = once(function, private, rng, decades, traced.looks)
        if run is None:
            return RunAgreement(count, "it fails on plain arrays")
        if len(run.noise) != normals:
            return RunAgreement(count, "on plain arrays it draws a different number of normals")
        if run.rounds != traced.rounds or len(run.data) != numbers:
            return RunAgreement(count, "on plain arrays it takes different inputs")
        if run.outline != expected:
            return RunAgreement(count, _OTHERWISE)
        runs.append(run)
    return RunAgreement(count, _why_unlike(traced, runs))


def _why_unlike(traced: TraceFacts, runs: list[_PlainRun]) -> str | None:
    """Return why runs return something else than was traced; None if they do not.

    Each number of each run has to be within rounding of the summands that it is made of, so that no
    large number hides what becomes of a small one. Offsets are any, unless they count, or are so
    large that rounding takes what is added to them.
    """
    ids = np.concatenate([NO_IDS, *(one.ids.ravel() for one in forms_in(traced.seen))])
    if any(one.output.shape != ids.shape for one in runs):
        return _UNLIKE
    data, noise, outputs = (
        np.stack([getattr(one, name) for one in runs], axis=1)
        for name in ("data", "noise", "output")
    )
    # The median over runs, so that a single small draw does not make an offset look large.
    usual = np.median(traced.program.values(SIZES, ids, 0 * data, np.abs(noise)), axis=1)
    with np.errstate(all="ignore"):
        offsets = outputs - traced.program.values(DOUBLES, ids, data, noise)
        summands = traced.program.values(SIZES, ids, np.abs(data), np.abs(noise))
        least = np.abs(offsets) - _ROUNDING * (summands + np.abs(outputs))
        # Every run has to show it: in one alone, the offset may be large by chance of its data.
        drowned = least.min(axis=1, initial=np.inf) > _MOST_OFFSET * usual
        # A constant that the function adds is the same in every run, and no view depends on it.
        apart = np.abs(offsets - (offsets[:, :1] if traced.tracing.unit is None else 0.0))
        rounding = _ROUNDING * (np.abs(outputs) + np.abs(outputs[:, :1]))
        enough = apart <= _TOLERANCE * (summands + summands[:, :1]) + rounding
    if drowned[usual > 0].any():
        return _DROWNED
    # NaN fails every comparison, yet `enough` compares only what is finite on both sides.
    alike = np.isfinite(outputs).all() and np.isfinite(summands).all() and enough.all()
    return None if alike else _UNLIKE


@dataclass(frozen=True)
class _PlainRun:
    """A run on plain numbers: private data with inputs, draws, and all that is compared, in rows.

    ``rounds`` are part and round of each adaptive input, ``outline`` what it returns and asks.
    """

    data: NDArray[np.float64]
    noise: NDArray[np.float64]
    output: NDArray[np.float64]
    rounds: list[tuple[int, int]]
    outline: Any


def _run_plainly(
    function: Function,
    private: Any,
    rng: Generator,
    decades: tuple[int, int],
    looks: Mapping[str, Look],
) -> _PlainRun | None:
    """Return a run on plain numbers of other private data, of a size; None if it fails."""
    spread = 10.0 ** rng.uniform(*decades), int(rng.integers(2**31))
    scale, parts, calls = spread[0], itertools.count(), list[PlainCall]()

    def draw_input(value: Any) -> Any:
        if isinstance(value, AdaptiveInputs):
            return value.with_source(PlainSource(value, next(parts), spread, calls))
        # Private data of several sizes: a function that branches on small or large numbers is
        # found out.
        found = scale * rng.standard_normal(np.shape(value))
        return found if np.ndim(found) else float(found)

    given = map_parts(private, draw_input)
    state = _PlainState(int(rng.integers(2**62)))
    run = recorder.record(state, function, given, primitives.generator())
    looked = _look_plainly(run, looks)
    if looked is None:
        return None
    seen = [run.value, [one.arguments for one in calls], looked]
    data = numbers_in([given, [one.value for one in calls]])
    rounds = [(one.part, one.step) for one in calls]
    return _PlainRun(
        data, numbers_in(state.drawn), numbers_in(seen), rounds, make_value_outline(seen)
    )


def _run_with_data(
    function: Function,
    private: Any,
    rng: Generator,
    decades: tuple[int, int],
    looks: Mapping[str, Look],
) -> _PlainRun | None:
    """Return a run on these data and other noise; None if it fails."""
    state = _PlainState(int(rng.integers(2**62)))
    run = recorder.record(state, function, copy_of(private), primitives.generator())
    looked = _look_plainly(run, looks)
    if looked is None:
        return None
    seen = [run.value, [], looked]
    return _PlainRun(
        np.ones(1), numbers_in(state.drawn), numbers_in(seen), [], make_value_outline(seen)
    )


def look_at(output: Any, name: str, look: Look) -> Any:
    """Return an observer's view of a copy of an output, or name the observer that fails.

    Raises
    ------
    NotAffine
        It is not linear.
    InvalidArgument
        It fails.
    """
    try:
        return look(copy_of(output))
    except NotAffine:
        raise
    # An observer is somebody's code, and may raise anything.
    except Exception as error:
        given = VerbatimText(f"{name}, which raises {type(error).__name__}: {error}")
        raise InvalidArgument("observers", given, "functions of the returned value") from error


def _look_plainly(run: recorder.Run, looks: Mapping[str, Look]) -> dict[str, Any] | None:
    """Return the observers' views of a plain output; None if there is none."""
    if run.error is not None:
        return None
    return {name: look_at(run.value, name, look) for name, look in looks.items()}


def copy_of(data: Any) -> Any:
    """Return a nested value whose arrays have memory of their own."""
    return map_parts(
        data, lambda one: one.copy() if isinstance(one, np.ndarray | AffineForm) else one
    )
