"""A recursion read from one run of plain code, and compared with runs on plain numbers.

The code runs once on forms (`dpaudit.affine.form`), with the draws of its generators as normals of
their own. That says what it does to arrays. Whether it does the same to plain ones is tried on 200
runs, with other draws and other private data, small and large: every number that is returned has to
be that of the forms, within rounding. So code that asks for a type, or keeps state between calls,
is caught.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.affine.constructors import own_constructors
from dpaudit.affine.covariance import read_parameters
from dpaudit.affine.form import Form, NotAffine, Tracing
from dpaudit.affine.functions import LINEAR
from dpaudit.affine.inputs import (
    AdaptiveInputs,
    InputCall,
    PlainCall,
    PlainSource,
    SymbolicSource,
    numbers_in,
)
from dpaudit.affine.kinds import DOUBLES, SIZES
from dpaudit.affine.messages import is_constant, is_number, map_parts, outline, parts_of
from dpaudit.affine.operations import count_offsets
from dpaudit.affine.program import NOWHERE, Ids, Program
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.freezing import patching, primitives, recorder
from dpaudit.freezing.tracked import Call

Function = Callable[[Any, Any], Any]
RUNS = 200
_ENOUGH = 20_000_000  # coordinates of all runs that are compared, beyond which there are fewer
CORRELATED = "multivariate_normal"
_FEWEST, _TOLERANCE, _ROUNDING = 3, 1e-9, 1e-12
_MOST_OFFSET = 1e9  # times what data and noise usually come to: beyond it, digits of these are lost
_DECADES = (-2, 1), (1, 4), (4, 9)  # of private data, in turn


@dataclass(frozen=True, eq=False)
class Recursion:
    """What a function does: its program, and which coordinates its output holds.

    Parameters
    ----------
    program
        All that it formed.
    private
        The private data, of the shapes that were given, as forms.
    output
        What it returned, with forms for numbers.
    compared
        How many runs on plain numbers it was compared with.
    places
        The line of each normal, shape ``(K,)``.
    calls
        The adaptive inputs that it took, in order.
    """

    program: Program
    private: Any
    output: Any
    compared: int
    places: tuple[str, ...]
    calls: tuple[InputCall, ...] = ()


class _State(recorder.State):
    """A run whose normals are coordinates of a program."""

    def __init__(self, tracing: Tracing, seed: int) -> None:
        super().__init__(seed)
        self.tracing = tracing
        self.formed = set[int]()
        self.places = list[str]()
        self.calls = list[InputCall]()

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return what a call draws, as forms."""
        if call.kind != "normal":
            self.formed.add(call.index)
            raise self.tracing.refuse(f"noise of {call.name} is not Gaussian", call.place)
        normals = self._normals(call, call.shape)
        return normals * np.asarray(scale, dtype=float) + np.asarray(location, dtype=float)

    def form_other(self, call: Call, draw: Any, given: dict[str, Any]) -> Any:
        """Return noise of a covariance, as forms; refuse any other draw."""
        if call.kind != CORRELATED:
            reason = (
                f"a draw of {call.name} is not Gaussian noise; if it is public, draw it outside"
            )
            raise self.tracing.refuse(reason, call.place)
        try:
            noise = read_parameters(given)
        except ValueError as error:
            raise self.tracing.refuse(str(error), call.place) from None
        return noise.of(self._normals(call, noise.shape))

    def _normals(self, call: Call, shape: tuple[int, ...]) -> Form:
        self.formed.add(call.index)
        if call.key.startswith("seed ") or call.parameters.get("by"):
            raise self.tracing.refuse("a generator of a fixed seed draws no noise", call.place)
        draw = recorder.frozen(self, "normal", shape, call.key)
        size = int(np.prod(shape, dtype=np.int64))
        ids = self.tracing.program.add_leaf("noise", size)
        self.places += [call.place] * size
        return Form(self.tracing, ids.reshape(shape), np.asarray(draw, dtype=float))


class _PlainState(recorder.State):
    """A run on plain numbers whose draws are remembered."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn = list[NDArray[np.float64]]()

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return what a call draws, as numbers."""
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


def read_recursion(
    function: Function, private: Any, *, seed: int = 0, runs: int = RUNS
) -> Recursion:
    """Return the recursion that a function is.

    Parameters
    ----------
    function
        Of private data and a `numpy.random.Generator`.
    private
        Numbers, arrays, and lists, tuples and dictionaries of them. Their shapes count.
    seed
        Of the draws; no coefficient depends on it.
    runs
        On plain numbers, with which it is compared; fewer where there are many coordinates.

    Raises
    ------
    NotAffine
        The function does something else to its data or noise: the line, and what it is.
    InvalidArgument
        The private data are no numbers, or the function fails on them.

    Examples
    --------
    >>> found = read_recursion(lambda x, rng: x.sum() + rng.normal(scale=2.0), np.zeros(2))
    >>> found.program.coefficients(DOUBLES, found.output.ids.ravel()).tolist()
    [[2.0, 1.0, 1.0]]
    """
    return _read(Tracing(LINEAR), function, private, seed, runs)


def read_noise(function: Function, data: Any, *, seed: int = 0, runs: int = RUNS) -> Recursion:
    """Return the recursion that a function is for these data: in its noise alone.

    The data stay numbers, so that the function may do to them what it likes. The only private
    number of the program is 1, and what it is multiplied by is the mean of a coordinate, exactly.

    Parameters
    ----------
    function, seed, runs
        As for `read_recursion`.
    data
        What the function is called with.

    Raises
    ------
    NotAffine
        The function does something to its noise that is not linear.
    InvalidArgument
        The function fails on these data.

    Examples
    --------
    >>> found = read_noise(lambda x, rng: x * x * (x + rng.normal()), 3.0)
    >>> found.program.coefficients(DOUBLES, found.output.ids.ravel()).tolist()
    [[9.0, 27.0]]
    """
    tracing = Tracing(LINEAR)
    tracing.unit = int(tracing.program.add_leaf("data", 1)[0])
    return _read(tracing, function, data, seed, runs)


def _read(tracing: Tracing, function: Function, private: Any, seed: int, runs: int) -> Recursion:
    with patching.patched(function):
        state, given = _trace(tracing, function, private, seed)
        output = _forms_of_output(tracing, state.run.value, _place_of(function))
        traced = _Traced(tracing, output, tuple(state.calls))
        compared = _compare(function, traced, private, seed, runs)
    if compared.reason is not None:
        raise NotAffine(_place_of(function), compared.reason)
    places = tuple(state.places)
    return Recursion(tracing.program, given, output, compared.runs, places, traced.calls)


def _place_of(function: Function) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    return name if code is None else f"{Path(code.co_filename).name}:{code.co_firstlineno} {name}"


def _trace(tracing: Tracing, function: Function, private: Any, seed: int) -> tuple[_State, Any]:
    state = _State(tracing, seed)
    given = _private_forms(tracing, private, state.calls)
    with own_constructors(tracing, function):
        recorder.record(state, function, given, primitives.generator())
    run = state.run
    if tracing.refusal is None:
        if run.elsewhere or run.copied:
            tracing.refuse("another thread draws, or a generator is copied", "?")
        elif any(call.index not in state.formed for call in run.calls):
            tracing.refuse("a draw is not followed", run.calls[-1].place)
    if tracing.refusal is not None:
        raise NotAffine(*tracing.refusal)
    if run.raised is not None:
        raised = Shown(f"raises {run.error}: {run.raised}")
        raise InvalidArgument("function", raised, "one that runs on arrays") from run.raised
    return state, given


def _private_forms(tracing: Tracing, private: Any, calls: list[InputCall]) -> Any:
    parts = itertools.count()
    if tracing.unit is not None:
        return _copy_of(private)

    def form_of(value: Any) -> Any:
        if isinstance(value, AdaptiveInputs):
            return value.with_source(SymbolicSource(tracing, value, next(parts), calls))
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all():
            expected = "finite numbers, arrays, lists and dicts of them"
            raise InvalidArgument("private", value, expected)
        if isinstance(value, np.ndarray | np.generic) and numbers.dtype != np.float64:
            given = Shown(f"numbers of {numbers.dtype}, to which code may round")
            raise InvalidArgument("private", given, "doubles: an array of dtype float")
        ids = tracing.program.add_leaf("data", numbers.size).reshape(numbers.shape)
        return Form(tracing, ids, numbers.astype(float))

    return map_parts(private, form_of)


def _forms_of_output(tracing: Tracing, output: Any, place: str) -> Any:
    """Return an output with every number as a form; texts and other constants stay as they are."""

    def form_of(value: Any) -> Any:
        if isinstance(value, Form) or is_number(value):
            return count_offsets(tracing, tracing.form_of(value), zeros=True)
        if not is_constant(value):
            raise tracing.refuse(f"it returns {_NOT_READ.format(type(value).__name__)}", place)
        return value

    return map_parts(output, form_of)


_NOT_READ = "a {}, which nobody looks into: return arrays, numbers, lists or dictionaries of them"


def forms_in(value: Any) -> list[Form]:
    """Return the forms of an output, in order."""
    return [one for one in parts_of(value) if isinstance(one, Form)]


def ids_of(value: Any) -> Ids:
    """Return the coordinates of all forms of an output, those that hold data or noise.

    Raises
    ------
    InvalidArgument
        It holds something that is neither numbers nor text, which nobody looks into.
    """
    for one in parts_of(value):
        if not isinstance(one, Form) and not is_number(one) and not is_constant(one):
            shown = Shown(_NOT_READ.format(type(one).__name__))
            raise InvalidArgument("observers", shown, "what a function returns, or parts of it")
    every: Ids = np.concatenate([_NONE, *(one.ids.ravel() for one in forms_in(value))])
    return np.asarray(every[every != NOWHERE])


_NONE = np.zeros(0, dtype=np.int64)


# --- runs on plain numbers -------------------------------------------------------------------


@dataclass(frozen=True)
class _Traced:
    """What runs are compared with."""

    tracing: Tracing
    output: Any
    calls: tuple[InputCall, ...]

    @property
    def program(self) -> Program:
        """What was formed."""
        return self.tracing.program

    @property
    def rounds(self) -> list[tuple[int, int]]:
        """Part and round of each adaptive input."""
        return [(one.part, one.step) for one in self.calls]

    @property
    def seen(self) -> Any:
        """All whose numbers are compared: outputs, and what inputs may depend on."""
        return [self.output, [one.arguments for one in self.calls]]


@dataclass(frozen=True)
class _Comparison:
    """How many runs were alike, and what was not."""

    runs: int
    reason: str | None = None


_UNLIKE = "it does something else to plain arrays than to forms: it asks for types, or keeps state"
_DROWNED = (
    "it adds a number to noise that is 10^9 times as large, so that digits of the noise are lost"
)
_OTHERWISE = "it returns something else, or texts or numbers of another shape, from other numbers"


def _compare(
    function: Function, traced: _Traced, private: Any, seed: int, most: int
) -> _Comparison:
    rng = np.random.Generator(np.random.PCG64(seed))
    count = int(np.clip(_ENOUGH // max(traced.program.size, 1), _FEWEST, max(most, _FEWEST)))
    runs, once = list[_PlainRun](), _run_plainly if traced.tracing.unit is None else _run_with_data
    normals, numbers = (len(traced.program.leaves(kind)) for kind in ("noise", "data"))
    expected = outline(traced.seen)
    while len(runs) < count:
        run = once(function, private, rng, _DECADES[len(runs) % len(_DECADES)])
        if run is None:
            return _Comparison(count, "it fails on plain arrays")
        if len(run.noise) != normals:
            return _Comparison(count, "it draws another number of normals on plain arrays")
        if run.rounds != traced.rounds or len(run.data) != numbers:
            return _Comparison(count, "it asks for other inputs on plain arrays")
        if run.outline != expected:
            return _Comparison(count, _OTHERWISE)
        runs.append(run)
    if _is_drowned_by_offsets(traced, runs):
        return _Comparison(count, _DROWNED)
    return _Comparison(count, None if _are_alike(traced, runs) else _UNLIKE)


def _is_drowned_by_offsets(traced: _Traced, runs: list[_PlainRun]) -> bool:
    """Return whether a public number is so large that rounding takes what is added to it."""
    ids = np.concatenate([_NONE, *(one.ids.ravel() for one in forms_in(traced.seen))])
    data, noise, outputs = (
        np.stack([getattr(one, name) for one in runs], axis=1)
        for name in ("data", "noise", "output")
    )
    usual = np.median(traced.program.values(SIZES, ids, 0 * data, np.abs(noise)), axis=1)
    with np.errstate(all="ignore"):
        offsets = np.abs(outputs - traced.program.values(DOUBLES, ids, data, noise))
        moved = traced.program.values(SIZES, ids, np.abs(data), np.abs(noise))
        least = (offsets - _ROUNDING * (moved + np.abs(outputs))).min(axis=1, initial=np.inf)
    return bool((least > _MOST_OFFSET * usual)[usual > 0].any())


def _are_alike(traced: _Traced, runs: list[_PlainRun]) -> bool:
    """Return whether all outputs are those of the forms; offsets are any, unless they count.

    Each number of each run within rounding of the summands that it is made of, so that no large
    number hides what becomes of a small one.
    """
    ids = np.concatenate([_NONE, *(one.ids.ravel() for one in forms_in(traced.seen))])
    if any(one.output.shape != ids.shape for one in runs):
        return False
    data, noise, outputs = (
        np.stack([getattr(one, name) for one in runs], axis=1)
        for name in ("data", "noise", "output")
    )
    with np.errstate(all="ignore"):
        offsets = outputs - traced.program.values(DOUBLES, ids, data, noise)
        summands = traced.program.values(SIZES, ids, np.abs(data), np.abs(noise))
        apart = np.abs(offsets - (offsets[:, :1] if traced.tracing.unit is None else 0.0))
        rounding = _ROUNDING * (np.abs(outputs) + np.abs(outputs[:, :1]))
        enough = apart <= _TOLERANCE * (summands + summands[:, :1]) + rounding
    return bool(np.isfinite(outputs).all() and np.isfinite(summands).all() and enough.all())


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
    function: Function, private: Any, rng: Generator, decades: tuple[int, int]
) -> _PlainRun | None:
    """Return a run on plain numbers of other private data, of a size; None if it fails."""
    spread = 10.0 ** rng.uniform(*decades), int(rng.integers(2**31))
    scale, parts, calls = spread[0], itertools.count(), list[PlainCall]()

    def drawn(value: Any) -> Any:
        if isinstance(value, AdaptiveInputs):
            return value.with_source(PlainSource(value, next(parts), spread, calls))
        found = scale * rng.standard_normal(np.shape(value))
        return found if np.ndim(found) else float(found)

    given = map_parts(private, drawn)
    state = _PlainState(int(rng.integers(2**62)))
    run = recorder.record(state, function, given, primitives.generator())
    if run.error is not None:
        return None
    seen = [run.value, [one.arguments for one in calls]]
    data = numbers_in([given, [one.value for one in calls]])
    rounds = [(one.part, one.step) for one in calls]
    return _PlainRun(data, numbers_in(state.drawn), numbers_in(seen), rounds, outline(seen))


def _run_with_data(
    function: Function, private: Any, rng: Generator, decades: tuple[int, int]
) -> _PlainRun | None:
    """Return a run on these data and other noise; None if it fails."""
    state = _PlainState(int(rng.integers(2**62)))
    run = recorder.record(state, function, _copy_of(private), primitives.generator())
    if run.error is not None:
        return None
    seen = [run.value, []]
    return _PlainRun(np.ones(1), numbers_in(state.drawn), numbers_in(seen), [], outline(seen))


def _copy_of(data: Any) -> Any:
    return map_parts(data, lambda one: one.copy() if isinstance(one, np.ndarray) else one)
