"""Whether a function returns on plain data the values of its paths, with the same draws."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.affine.messages import is_constant, is_number, items_of
from dpaudit.freezing import primitives, recorder
from dpaudit.proving.program import OtherPath, PathProgram, evaluate_program
from dpaudit.proving.runs.datasets import datasets_of
from dpaudit.proving.runs.domain_parts import DatasetLayout
from dpaudit.proving.runs.draws import NotFollowed
from dpaudit.proving.runs.noise import PlainState, RunDraw
from dpaudit.proving.runs.steps import Steps, least_followed, record_steps
from dpaudit.proving.symbols.labels import Labels, Vocabulary
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

_ENOUGH = 400_000  # operations of all runs, beyond which there are fewer runs
_FEWEST = 3  # runs at least
_FOLLOWED = 20_000  # operations of runs whose instructions are followed
# Relative: what a different order of the same operations in doubles may change.
_CLOSE = 1e-9
# Relative to the largest number that was formed: terms that cancel leave its rounding behind.
_ROUNDING = 1e-13
UNLIKE = "it treats plain data and symbols differently: it reads types, or keeps state"
_FAILS = "it fails on plain data, but not on symbols"
_OTHER_DRAWS = "its noise on plain data differs from its noise on symbols"
_NO_PATH = "on plain data, noise selects branches that no path takes"


@dataclass(eq=False)
class PathOutput:
    """The value that a path returns: containers and constants, with the output number of each part.

    Parameters
    ----------
    skeleton
        Nested lists ``[kind, names, parts]``, ``["output", number]`` and ``["constant", text]``;
        ``["raises", error, []]`` of a path on which noise decides that there is none.
    nodes
        Of the outputs.
    vocabularies
        Of outputs that stand for other values than numbers, by their number.
    tracing
        The run, of which every output has to be.
    """

    skeleton: Any = None
    nodes: list[int] = field(default_factory=list)
    vocabularies: dict[int, Vocabulary] = field(default_factory=dict)
    tracing: SymbolTracing | None = None


def outline_symbols(value: Any, found: PathOutput, constant: Callable[[Any], int]) -> Any:
    """Return the skeleton of the value that a run on symbols returned, and note its outputs.

    Parameters
    ----------
    value
        What was returned.
    found
        Where outputs are noted.
    constant
        Returns the node of public numbers; raises where a value is none and is not followed.
    """
    if hasattr(type(value), "as_output"):
        value = value.as_output()
    if isinstance(value, Labels):
        found.vocabularies[len(found.nodes)] = value.vocabulary
        value = value.codes
    if isinstance(value, Symbol):
        if found.tracing is not None and value.tracing is not found.tracing:
            found.tracing.refuse("it returns a value that another call left")
        # The length of such an output is the number of records, which neighbours differ in.
        if None in value.dims:
            value.tracing.refuse(
                "it returns a number for each record, but neighbours differ in the number "
                "of records",
                "return sums over the records",
            )
        found.nodes.append(value.index)
        return ["output", len(found.nodes) - 1]
    if isinstance(value, set | frozenset):
        # A set has no order that two processes share.
        return ["set", sorted(repr(_to_plain_member(one)) for one in value), []]
    items = list(items_of(value))
    if items or isinstance(value, list | tuple | dict):
        parts = [outline_symbols(one, found, constant) for _, one in items]
        return [
            type(value).__name__.replace("RecordSymbols", "list"),
            _get_item_names(items),
            parts,
        ]
    if not is_number(value) and is_constant(value):
        return ["constant", repr(value)]
    found.nodes.append(constant(value))
    return ["output", len(found.nodes) - 1]


def _to_plain_member(value: Any) -> Any:
    """Return a member of a set: of a symbol the number that it is on this path."""
    if isinstance(value, Symbol):
        if value.is_public:
            return _to_plain_member(value.plain("")[()])
        hash(value)
        return getattr(value.tracing, "positions", {}).get(value.index)
    return value.item() if isinstance(value, np.generic) else value


def _get_item_names(items: Sequence[tuple[Any, Any]]) -> list[str]:
    return [repr(name) for name, _ in items]


def outline_plain(value: Any, skeleton: Any, found: list[Any]) -> bool:
    """Return whether a plain value has a skeleton, and note the numbers of its outputs."""
    kind = skeleton[0]
    if kind == "output":
        found.append(value)
        return True
    if kind == "constant":
        return not is_number(value) and bool(repr(value) == skeleton[1])
    if kind == "set":
        known = isinstance(value, set | frozenset)
        return known and sorted(repr(_to_plain_member(one)) for one in value) == skeleton[1]
    if hasattr(value, "to_numpy"):
        return False
    items = list(items_of(value))
    return (
        type(value).__name__ == kind
        and _get_item_names(items) == skeleton[1]
        and all(
            outline_plain(one, part, found)
            for (_, one), part in zip(items, skeleton[2], strict=True)
        )
    )


@dataclass(frozen=True, eq=False)
class Way:
    """A path with its return value and its draws."""

    program: PathProgram
    decisions: tuple[bool, ...]
    output: PathOutput
    steps: Steps = field(default_factory=Steps)

    def draws(self) -> list[Any]:
        """Return the nodes of its draws, in order."""
        return [one for one in self.program.nodes if one.operation == "draw"]


@dataclass(eq=False)
class PathComparison:
    """Plain runs of a function, each held against the path that its noise takes.

    Parameters
    ----------
    ways
        All paths, as `explore` yields them.
    layout
        The datasets.
    call
        Runs the function on a dataset and a generator.
    """

    ways: Sequence[Way]
    layout: DatasetLayout
    call: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        # Paths are explored with True first, so that inverted decisions are in the order of
        # their tuples and a path is found by bisection.
        self._keys = [tuple(not one for one in way.decisions) for way in self.ways]
        self._decided = [
            [one.index for one in way.program.nodes if one.operation == "decide"]
            for way in self.ways
        ]

    def run(self, count: int, seed: int) -> tuple[int, str | None]:
        """Return how many runs were alike, of so many at most, and the first difference."""
        longest = max(len(way.program.nodes) for way in self.ways)
        runs = int(np.clip(_ENOUGH // max(longest, 1), _FEWEST, max(count, _FEWEST)))
        rng = np.random.Generator(np.random.PCG64(seed))
        furthest = least_followed(way.steps for way in self.ways)
        for number, numbers in enumerate(datasets_of(self.layout, runs, rng)):
            is_followed = number < _FEWEST or number * longest <= _FOLLOWED
            steps = Steps(furthest) if is_followed else None
            reason = self._differs(numbers, int(rng.integers(2**62)), steps)
            if reason is not None:
                return number, reason
        return runs, None

    def _differs(
        self, numbers: dict[str, NDArray[np.float64]], seed: int, steps: Steps | None
    ) -> str | None:
        state = PlainState(seed)
        try:
            data = self.layout.build(numbers)
            with nullcontext() if steps is None else record_steps(steps):
                run = recorder.record(state, self.call, data, primitives.generator())
        except NotFollowed:
            return _OTHER_DRAWS
        if isinstance(run.raised, NotFollowed):
            return _OTHER_DRAWS
        # The program reads the types that the function was given, as integers divide otherwise
        # than doubles.
        given = {name: one.astype(self.layout.dtypes[name]) for name, one in numbers.items()}
        return self._held(run, given, state.drawn, steps)

    def _held(
        self, run: recorder.Run, numbers: dict[str, Any], drawn: list[RunDraw], steps: Steps | None
    ) -> str | None:
        """Return why an output is none that a path gives."""
        found = self._follow_choices(numbers, drawn)
        if isinstance(found, str):
            return found if run.error is None else f"{_FAILS}: {run.error}"
        way, values = found
        # A function that draws otherwise on plain data may draw by the records.
        if not _are_same_draws(way.draws(), drawn, exactly=True):
            return _OTHER_DRAWS
        # A line that no run on symbols came to may do anything for other data, whatever it did
        # for these.
        if steps is not None and not steps.seen <= way.steps.seen:
            return UNLIKE
        if way.output.skeleton[0] == "raises" or run.error is not None:
            is_same = way.output.skeleton == ["raises", str(run.error), []]
            return None if is_same else f"{_FAILS}: {run.error}"
        plain = list[Any]()
        if not outline_plain(run.value, way.output.skeleton, plain):
            return "its output on plain data differs from its output on symbols"
        for n, (one, node) in enumerate(zip(plain, way.output.nodes, strict=True)):
            vocabulary = way.output.vocabularies.get(n)
            if not _is_same(one, values[node], values, vocabulary):
                return UNLIKE
        return None

    def _follow_choices(
        self, numbers: dict[str, Any], drawn: list[RunDraw]
    ) -> tuple[Way, list[Any]] | str:
        """Return the path that draws take, and the values of its nodes."""
        at = 0
        while True:
            way = self.ways[at]
            usable = _select_usable_draws(way.draws(), drawn)
            try:
                return way, evaluate_program(way.program, numbers, usable, needed=way.output.nodes)
            except OtherPath as error:
                node = error.args[0] if error.args else -1
            # A draw of another shape than its node's does not fit what follows from it.
            except (IndexError, ValueError):
                return _OTHER_DRAWS
            if node not in self._decided[at]:
                return UNLIKE
            place = self._decided[at].index(node)
            key = (*self._keys[at][:place], not self._keys[at][place])
            at = bisect.bisect_left(self._keys, key)
            if at >= len(self.ways) or self._keys[at][: len(key)] != key:
                return _NO_PATH


def _select_usable_draws(nodes: Sequence[Any], drawn: Sequence[RunDraw]) -> list[Any]:
    """Return draws as far as they are those of a path."""
    found = list[Any]()
    for node, one in zip(nodes, drawn, strict=False):
        if not _is_same_draw(node, one):
            break
        found.append(one.numbers)
    return found


def _are_same_draws(nodes: Sequence[Any], drawn: Sequence[RunDraw], *, exactly: bool) -> bool:
    pairs = zip(nodes, drawn, strict=False)
    return len(nodes) == len(drawn) and all(_is_same_draw(*both) for both in pairs)


def _is_same_draw(node: Any, draw: RunDraw) -> bool:
    known = {name: one for name, one in node.parameters.items() if name not in ("law", "number")}
    own = {name: one for name, one in draw.parameters.items() if name in known}
    same = node.parameters["law"] == draw.law and len(node.shape) == draw.numbers.ndim
    pairs = zip(node.shape, draw.numbers.shape, strict=False)
    return bool(same) and own == known and all(one in (None, n) for one, n in pairs)


def _find_largest_finite(values: Sequence[Any]) -> float:
    """Return the largest finite number that was formed."""
    found = 0.0
    for one in values:
        if one.size and one.dtype.kind == "f":
            size = float(np.abs(one).max())
            if not np.isfinite(size):
                finite = one[np.isfinite(one)]
                size = float(np.abs(finite).max(initial=0.0))
            found = max(found, size)
    return found


def _is_same(plain: Any, value: Any, values: Sequence[Any], vocabulary: Vocabulary | None) -> bool:
    """Return whether a plain output is a node's value, within the rounding of all values."""
    if vocabulary is not None:
        plain = _encode_plain_values(plain, vocabulary)
    elif not is_number(plain):
        plain = plain.to_numpy() if hasattr(plain, "to_numpy") else None
    if plain is None:
        return False
    one, other = np.asarray(plain), np.asarray(value)
    if one.shape != other.shape or one.dtype.kind not in "biuf":
        return False
    one, other = one.astype(float), other.astype(float)
    if np.allclose(one, other, rtol=_CLOSE, atol=0.0, equal_nan=True):
        return True
    rounding = _ROUNDING * _find_largest_finite(values)
    return np.allclose(one, other, rtol=_CLOSE, atol=rounding, equal_nan=True)


def _encode_plain_values(plain: Any, vocabulary: Vocabulary) -> Any:
    """Return the numbers that stand for plain values."""
    flat = np.asarray(plain, dtype=object)
    found = [vocabulary.places.get(one, -1) for one in flat.ravel().tolist()]
    return np.array(found, dtype=float).reshape(flat.shape)
