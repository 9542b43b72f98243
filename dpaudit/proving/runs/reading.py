"""The reading of a function: runs on symbols, compared with runs on plain data.

The function runs once for each way in which noise may decide, on symbols in place of records and of
draws. Whether it does the same to plain data is tried on 200 datasets, corners among them, with
draws of their own: what it returns has to be what the path gives that these draws take, and each
draw has to be the path's. So code that asks for a type, or keeps state between calls, is caught.
"""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path as File
from types import CodeType
from typing import Any

import numpy as np

from dpaudit.affine.messages import is_number
from dpaudit.domains.domain import Domain
from dpaudit.execution.threads import one_thread
from dpaudit.freezing import patching, primitives, recorder
from dpaudit.neighbours.tables import Relation
from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.code_state import (
    CodeState,
    find_changed_name,
    find_kept_state,
    unread_name,
)
from dpaudit.proving.runs.comparison import UNLIKE, PathComparison, PathOutput, Way, outline_symbols
from dpaudit.proving.runs.domain_parts import DatasetLayout, layout_of, layout_of_universe
from dpaudit.proving.runs.noise import SymbolicState
from dpaudit.proving.runs.paths import MOST_PATHS, PathTracing, explore_paths
from dpaudit.proving.runs.seeding import find_seeding_line
from dpaudit.proving.runs.steps import Steps, record_steps
from dpaudit.proving.symbols.constructors import own_constructors
from dpaudit.proving.symbols.numpy_rules import NUMPY
from dpaudit.proving.symbols.records import Data
from dpaudit.proving.symbols.shadows import own_builtins
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Universe

RUNS = 200
_MOST_TWICE = 20_000  # operations
_NOT_READ = "it reaches {}, which may keep state for the next call, and which the proof cannot read"
_KEPT = "a call changes {} for the next call"
_CURE_OF_KEPT = "return the values to keep, and leave globals and attributes unchanged"
_ASKS = "it reads the type or identity of an object, or where or when it runs"
_CURE_OF_ASKING = "use isinstance, and pass anything else that it needs as an argument"
_CATCHES = "it catches exceptions, which may occur only for rare records that no run meets"
_CURE_OF_CATCHING = "move try, with and finally out of the function"
_LOST = "it runs code that none of its names leads to, which may keep state for the next call"
_GENERATORS = ("rng", "generator", "random_state")


def read_trace(
    function: Callable[..., Any],
    given: Domain | Universe | DatasetLayout,
    relation: Relation | str = "replace-record",
    *,
    records: int | None = None,
    seed: int = 0,
    runs: int = RUNS,
    most_paths: int = MOST_PATHS,
) -> FunctionTrace:
    """Return the trace of a function on all datasets.

    Parameters
    ----------
    function
        Of a dataset and, if it asks for one, a `numpy.random.Generator`.
    given, relation
        What datasets may be, and which are neighbours; a `Universe` says both.
    records
        How many records datasets have, of a domain that allows several numbers of them.
    seed
        Of what is drawn for the comparison; no program depends on it.
    runs
        On plain data, with which it is compared; fewer where a path is long.
    most_paths
        How many ways noise may decide at most.

    Raises
    ------
    NotProved
        It does what no program says, or something else to plain data: the line, and what it is.

    Examples
    --------
    >>> found = read_trace(lambda x, rng: x.sum() + rng.laplace(), Domain(bounds=(0, 1), records=3))
    >>> [node.operation for node in found.paths[0].program.nodes]
    ['data', 'sum', 'draw', 'add']
    """
    layout = _layout_of(given, relation, records)
    data, tracing = Data(layout), PathTracing(NUMPY)
    reader = _SymbolReader(function, data, tracing, seed)
    with one_thread(), patching.patch_primitives(function):
        try:
            ways = reader.read_ways(most_paths)
        finally:
            tracing.end()
        grown = data.grown()
        compared, reason = reader.compare(ways, grown, runs)
    if reason is not None:
        raise NotProved.at(place_of(function), reason)
    paths = tuple(Path(way.program, way.decisions) for way in ways)
    skeletons = tuple(way.output.skeleton for way in ways)
    return FunctionTrace(grown.universe, paths, compared, source_of(function), skeletons)


def _layout_of(given: Any, relation: Relation | str, records: int | None) -> DatasetLayout:
    if isinstance(given, DatasetLayout):
        return given
    if isinstance(given, Universe):
        return layout_of_universe(given)
    return layout_of(given, relation, records=records)


@dataclass(eq=False)
class _SymbolReader:
    """A function that is run on symbols.

    Parameters
    ----------
    function, data, tracing
        What is run, on what, and where it writes what it does.
    seed
        Of the run's state.
    """

    function: Callable[..., Any]
    data: Data
    tracing: PathTracing
    seed: int

    def __post_init__(self) -> None:
        self.call = make_data_call(self.function)

    def read_ways(self, most: int) -> list[Way]:
        """Return all paths; the first is run twice, as nothing may be kept between calls.

        Not where it is long: then the plain runs, of which each comes after another, have to do.
        """
        function = self.function
        with (
            own_constructors(self.tracing, function),
            own_builtins(function),
            self._refuse_threads(),
        ):
            before = find_kept_state(self.function)
            ways = [
                Way(program, decisions, *found)
                for program, decisions, found in explore_paths(self.tracing, self._run, most)
            ]
            self._refuse_state(before, {code for way in ways for code in way.steps.codes})
            if len(ways[0].program.nodes) > _MOST_TWICE:
                return ways
            self.tracing.start(ways[0].decisions)
            self._run()
        if not are_same(ways[0].program, self.tracing.program):
            raise NotProved.at(place_of(self.function), UNLIKE)
        return ways

    def _refuse_state(self, before: CodeState, codes: Collection[CodeType]) -> None:
        """Refuse state that may differ for the next call, and code that nobody looked for."""
        place, after = place_of(self.function), find_kept_state(self.function)
        if (name := unread_name(before)) is not None:
            raise NotProved.at(place, _NOT_READ.format(name), _CURE_OF_KEPT)
        if (name := find_changed_name(before, after)) is not None:
            raise NotProved.at(place, _KEPT.format(name), _CURE_OF_KEPT)
        if (code := next(filter(partial(_is_lost, after), codes), None)) is not None:
            line = f"{File(code.co_filename).name}:{code.co_firstlineno} {code.co_name}"
            raise NotProved.at(line, _LOST, "call it by a name in a module, a class or a list")

    def compare(self, ways: list[Way], layout: DatasetLayout, runs: int) -> tuple[int, str | None]:
        """Return how many plain runs agree with the paths, and why another one does not.

        What the first ones leave in caches, no later one may change.
        """
        comparison = PathComparison(ways, layout, self.call)
        count, reason = comparison.run(1, self.seed)
        if reason is not None:
            return count, reason
        before = find_kept_state(self.function)
        found = comparison.run(runs, self.seed)
        self._refuse_state(before, ())
        return found

    @contextmanager
    def _refuse_threads(self) -> Iterator[None]:
        """Refuse threads inside the block: nobody follows in which order they write."""
        start = threading.Thread.start

        def refuse(_: threading.Thread) -> None:
            self.tracing.refuse("the code starts a thread, whose operations have no fixed order")

        threading.Thread.start = refuse  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            threading.Thread.start = start  # type: ignore[method-assign]

    def _run(self) -> tuple[PathOutput, Steps]:
        tracing, steps = self.tracing, Steps()
        state = SymbolicState(tracing, self.seed, partial(find_seeding_line, self.function))

        def call_on_symbols(_: None, rng: Any) -> Any:
            return self.call(self.data.symbols(tracing), rng)

        with record_steps(steps):
            run = recorder.record(
                state, call_on_symbols, None, primitives.generator(recorder.GIVEN)
            )
        self._check(run, state)
        if steps.asks:
            raise NotProved.at(place_of(self.function), f"{_ASKS} ({steps.asks})", _CURE_OF_ASKING)
        if steps.catches:
            raise NotProved.at(steps.catches, _CATCHES, _CURE_OF_CATCHING)
        output = PathOutput(tracing=tracing)
        if run.raised is not None:
            output.skeleton = ["raises", str(run.error), []]
        else:
            output.skeleton = outline_symbols(run.value, output, self._constant)
        self._raise_refusal()
        tracing.program.outputs = tuple(output.nodes)
        return output, steps

    def _check(self, run: recorder.Run, state: SymbolicState) -> None:
        self._raise_refusal()
        place = place_of(self.function)
        if run.raised is not None and not self.tracing.outcomes:
            raise NotProved.at(place, f"it raises {run.error}: {run.raised}") from run.raised
        if run.elsewhere or run.copied:
            raise NotProved.at(place, "another thread draws, or a generator is copied")
        missing = [call for call in run.calls if call.index not in state.formed]
        if missing:
            raise NotProved.at(missing[0].place, f"no rule covers this draw of {missing[0].name}")

    def _raise_refusal(self) -> None:
        if self.tracing.refusal is not None:
            raise NotProved(self.tracing.refusal)

    def _constant(self, value: Any) -> int:
        if not is_number(value):
            kind = type(value).__name__
            reason = f"it returns a {kind}, which the proof does not look into"
            raise NotProved.at(
                place_of(self.function), reason, "return arrays, numbers, lists or dictionaries"
            )
        return self.tracing.constant_node(np.asarray(value))


def _is_lost(state: CodeState, code: CodeType) -> bool:
    """Return whether code of a file was found by no name; a module's own code is no function."""
    is_of_file = not code.co_filename.startswith("<") and code.co_name != "<module>"
    return is_of_file and code not in state.codes


def make_data_call(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Return a function of data and a generator, which it passes on if it is asked for one."""
    names = _parameters_of(function)
    asked = [one.name for one in names if one.name in _GENERATORS]
    if asked:
        return lambda data, rng: function(data, **dict.fromkeys(asked, rng))
    needed = [
        one
        for one in names
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    return function if len(needed) > 1 else lambda data, rng: function(data)


def _parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function; of one that passes arguments on, those of the other."""
    own = list(inspect.signature(function, follow_wrapped=False).parameters.values())
    if any(one.kind is one.VAR_POSITIONAL for one in own):
        return list(inspect.signature(function).parameters.values())
    return own


def place_of(function: Callable[..., Any]) -> str:
    """Return the line at which a function begins."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    return (
        name if code is None else f"{File(code.co_filename).name}:{code.co_firstlineno} in {name}"
    )


def source_of(function: Callable[..., Any]) -> str:
    """Return the SHA-256 of the file that a function is in; nothing where there is none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    try:
        return hashlib.sha256(File(code.co_filename).read_bytes()).hexdigest() if code else ""
    except OSError:
        return ""


def are_same(one: PathProgram, other: PathProgram) -> bool:
    """Return whether two programs are the same, node by node."""
    return (
        len(one.nodes) == len(other.nodes)
        and one.outputs == other.outputs
        and all(map(_are_alike, one.nodes, other.nodes))
    )


def _are_alike(one: Any, other: Any) -> bool:
    same = (one.operation, one.operands, one.shape, one.dtype, one.place) == (
        other.operation,
        other.operands,
        other.shape,
        other.dtype,
        other.place,
    )
    return same and _are_same_parameters(one.parameters, other.parameters)


def _are_same_parameters(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(value, other[name], equal_nan=True)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else np.array_equal(value, other[name])
        if isinstance(value, np.ndarray)
        else value == other[name]
        for name, value in one.items()
    )
