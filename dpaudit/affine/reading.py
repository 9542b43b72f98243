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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.affine.comparison import (
    CORRELATED,
    Function,
    Look,
    TraceFacts,
    compare_runs,
    copy_of,
    look_at,
)
from dpaudit.affine.constructors import own_constructors
from dpaudit.affine.covariance import read_parameters
from dpaudit.affine.form import NOT_READ, AffineForm, FormTracing, NotAffine, ids_of
from dpaudit.affine.functions import LINEAR
from dpaudit.affine.inputs import (
    AdaptiveInputs,
    InputCall,
    SymbolicSource,
)
from dpaudit.affine.messages import (
    format_shapes,
    is_constant,
    is_number,
    map_parts,
    parts_of,
)
from dpaudit.affine.operations import count_offsets
from dpaudit.affine.program import AffineProgram
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution.threads import one_thread
from dpaudit.freezing import patching, primitives, recorder
from dpaudit.freezing.tracked_noise import Call
from dpaudit.standins import what_code_raised

RUNS = 200


@dataclass(frozen=True, eq=False)
class Recursion:
    """A function as it was read: its program, and the coordinates of its output.

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
    looks
        What each function of the output returned.
    """

    program: AffineProgram
    private: Any
    output: Any
    compared: int
    places: tuple[str, ...]
    calls: tuple[InputCall, ...] = ()
    looks: Mapping[str, Any] = field(default_factory=dict)


class _AffineRunState(recorder.State):
    """A run whose normals are coordinates of a program."""

    def __init__(self, tracing: FormTracing, seed: int) -> None:
        super().__init__(seed)
        self.tracing = tracing
        self.formed = set[int]()
        self.places = list[str]()
        self.calls = list[InputCall]()

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return the draws of a call, as forms."""
        if call.kind != "normal":
            self.formed.add(call.index)
            raise self.tracing.refuse(f"the noise of {call.name} is not Gaussian", call.place)
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

    def _normals(self, call: Call, shape: tuple[int, ...]) -> AffineForm:
        self.formed.add(call.index)
        # Whoever reads the source knows what such a generator draws.
        if call.key.startswith("seed ") or call.parameters.get("by"):
            raise self.tracing.refuse("a generator with a fixed seed draws no noise", call.place)
        draw = recorder.frozen(self, "normal", shape, call.key)
        size = int(np.prod(shape, dtype=np.int64))
        ids = self.tracing.program.add_leaf("noise", size)
        self.places += [call.place] * size
        return AffineForm(self.tracing, ids.reshape(shape), np.asarray(draw, dtype=float))


def read_recursion(
    function: Function,
    private: Any,
    *,
    seed: int = 0,
    runs: int = RUNS,
    looks: Mapping[str, Look] | None = None,
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
    looks
        Functions of what it returns, by name: each is given a copy, and compared as well.

    Raises
    ------
    NotAffine
        The function does something else to its data or noise: the line, and what it is.
    InvalidArgument
        The private data are no numbers, or the function fails on them.

    Examples
    --------
    >>> from dpaudit.affine.kinds import DOUBLES
    >>> found = read_recursion(lambda x, rng: x.sum() + rng.normal(scale=2.0), np.zeros(2))
    >>> found.program.coefficients(DOUBLES, found.output.ids.ravel()).tolist()
    [[2.0, 1.0, 1.0]]
    """
    return _read_traced_recursion(FormTracing(LINEAR), function, private, (seed, runs), looks or {})


def read_noise(
    function: Function,
    data: Any,
    *,
    seed: int = 0,
    runs: int = RUNS,
    looks: Mapping[str, Look] | None = None,
) -> Recursion:
    """Return the recursion that a function is for these data: in its noise alone.

    The data stay numbers, so that the function may do to them what it likes. The only private
    number of the program is 1, and what it is multiplied by is the mean of a coordinate, exactly.

    Parameters
    ----------
    function, seed, runs, looks
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
    >>> from dpaudit.affine.kinds import DOUBLES
    >>> found = read_noise(lambda x, rng: x * x * (x + rng.normal()), 3.0)
    >>> found.program.coefficients(DOUBLES, found.output.ids.ravel()).tolist()
    [[9.0, 27.0]]
    """
    tracing = FormTracing(LINEAR)
    tracing.unit = int(tracing.program.add_leaf("data", 1)[0])
    return _read_traced_recursion(tracing, function, data, (seed, runs), looks or {})


def _read_traced_recursion(
    tracing: FormTracing,
    function: Function,
    private: Any,
    effort: tuple[int, int],
    looks: Mapping[str, Look],
) -> Recursion:
    seed, runs = effort
    # Sums of several threads are added up in any order, which would look like another function.
    with one_thread(), patching.patch_primitives(function):
        state, given = _trace_function(tracing, function, private, seed)
        output = _forms_of_output(tracing, state.run.value, _place_of(function))
        looked = {
            name: _trace_output_look(tracing, name, look, output) for name, look in looks.items()
        }
        traced = TraceFacts(tracing, output, tuple(state.calls), looks, looked)
        compared = compare_runs(function, traced, private, seed, runs)
    if compared.reason is not None:
        raise NotAffine(_place_of(function), compared.reason)
    places = tuple(state.places)
    return Recursion(tracing.program, given, output, compared.runs, places, traced.calls, looked)


def _trace_output_look(tracing: FormTracing, name: str, look: Look, output: Any) -> Any:
    """Return the result of a function of the output, with forms for numbers."""
    found = look_at(output, name, look)
    ids_of(found)
    if any(one is None for one in parts_of(found)):
        raise InvalidArgument("observers", name, "a function that returns parts of the output")
    found = _forms_of_output(tracing, found, name)
    if tracing.refusal is not None:
        raise NotAffine(*tracing.refusal)
    return found


def _place_of(function: Function) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    return name if code is None else f"{Path(code.co_filename).name}:{code.co_firstlineno} {name}"


def _trace_function(
    tracing: FormTracing, function: Function, private: Any, seed: int
) -> tuple[_AffineRunState, Any]:
    state = _AffineRunState(tracing, seed)
    given = _private_forms(tracing, private, state.calls)
    with own_constructors(tracing, function):
        recorder.record(state, function, given, primitives.generator())
    run = state.run
    if tracing.refusal is None:
        # Draws of another thread, or of a copy, are not among those that became coordinates.
        if run.elsewhere or run.copied:
            tracing.refuse("another thread draws, or a generator is copied", "?")
        elif any(call.index not in state.formed for call in run.calls):
            tracing.refuse("no rule covers a draw", run.calls[-1].place)
    if tracing.refusal is not None:
        raise NotAffine(*tracing.refusal)
    if run.raised is not None:
        name = "private" if tracing.unit is None else "pair"
        raise _make_failed_run_error(name, function, private, run.raised) from run.raised
    return state, given


def _make_failed_run_error(
    argument: str, function: Function, private: Any, raised: BaseException
) -> InvalidArgument:
    """Return the error of a function that fails on data, with their shapes and its line."""
    said = what_code_raised(raised, private, lambda made: function(made, np.random.default_rng(0)))
    name = getattr(function, "__name__", type(function).__name__)
    expected = f"shapes on which {name} runs: {said}"
    return InvalidArgument(argument, VerbatimText(format_shapes(private)), expected)


def _private_forms(tracing: FormTracing, private: Any, calls: list[InputCall]) -> Any:
    parts = itertools.count()
    if tracing.unit is not None:
        return copy_of(private)

    def form_of(value: Any) -> Any:
        if isinstance(value, AdaptiveInputs):
            return value.with_source(SymbolicSource(tracing, value, next(parts), calls))
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all():
            expected = "finite numbers, arrays, lists and dicts of them"
            raise InvalidArgument("private", value, expected)
        if isinstance(value, np.ndarray | np.generic) and numbers.dtype != np.float64:
            given = VerbatimText(f"numbers of {numbers.dtype}, to which code may round")
            raise InvalidArgument("private", given, "doubles: an array of dtype float")
        ids = tracing.program.add_leaf("data", numbers.size).reshape(numbers.shape)
        return AffineForm(tracing, ids, numbers.astype(float))

    return map_parts(private, form_of)


def _forms_of_output(tracing: FormTracing, output: Any, place: str) -> Any:
    """Return an output with every number as a form; texts and other constants stay as they are."""

    def form_of(value: Any) -> Any:
        if isinstance(value, AffineForm) or is_number(value):
            return count_offsets(tracing, tracing.form_of(value), zeros=True)
        if not is_constant(value):
            raise tracing.refuse(f"it returns {NOT_READ.format(type(value).__name__)}", place)
        return value

    return map_parts(output, form_of)
