"""The attack on functions: read, proved, run on hard datasets, and replayed on neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import InvalidArgument
from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.events.bound import Bound, bound_trace
from dpaudit.proving.program import OtherPath, evaluate_program
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.reading import read_trace
from dpaudit.proving.trace import FunctionTrace

from .choices import Stream
from .costs import compare_cost
from .pairs import Data, Neighbours, constants_of
from .replays import additive_releases, search_losses
from .search import CHEAP, Attack, Effort, Outcome
from .silence import silence_numpy
from .sources import Source, as_seen, load_source, write_source

RUNS = 12  # of the reader's own comparison: the attack has its own
_PLAIN_RUNS = 8
_MOST_PATHS = 3
_DELTA = 1e-9


class Fixed:
    """A generator that gives standard draws of a stream, shifted and scaled; it notes each.

    Parameters
    ----------
    seed
        Of the stream.
    """

    def __init__(self, seed: int) -> None:
        self.stream, self.draws = np.random.default_rng(seed), list[NDArray[np.float64]]()

    def _located(self, law: str, loc: Any, scale: Any, size: Any) -> Any:
        if size is None:
            size = np.broadcast_shapes(np.shape(loc), np.shape(scale)) or None
        drawn = getattr(self.stream, law)(size=size)
        self.draws.append(np.asarray(drawn))
        return loc + scale * drawn

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return Laplace noise."""
        return self._located("laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return normal noise."""
        return self._located("normal", loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return Gumbel noise."""
        return self._located("gumbel", loc, scale, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return logistic noise."""
        return self._located("logistic", loc, scale, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Return uniform noise."""
        return self._located("uniform", low, np.subtract(high, low), size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Return exponential noise."""
        return self._located("exponential", 0.0, scale, size)

    def standard_normal(self, size: Any = None) -> Any:
        """Return standard normal noise."""
        return self._located("normal", 0.0, 1.0, size)


def attack_function(seed: int, effort: Effort = CHEAP, runs: int = RUNS) -> Outcome:
    """Return what the attack on the function of a seed came to."""
    source, outcome = write_source(Stream(seed)), Outcome(stage="refused")
    function = load_source(source, f"attacked_{seed}.py")
    with silence_numpy(), effort.spend():
        try:
            trace = read_trace(function, source.domain, source.relation, runs=runs)
        except (NotProved, InvalidArgument):
            return outcome
        for path in trace.paths[:_MOST_PATHS]:
            outcome.merge(Attack(path.program, trace.universe, Analysis, seed).run(effort))
        outcome.stage = "traced"
        with suppress(NotProved):
            bound = bound_trace(trace)
            outcome.stage = "proved"
            found = find_faults(source, function, trace, bound, seed)
            outcome.findings += [f"{one}: {as_seen(source)}" for one in found]
    return outcome


def find_faults(
    source: Source, function: Callable[..., Any], trace: FunctionTrace, bound: Bound, seed: int
) -> Iterator[str]:
    """Yield what is wrong with the proof of a function."""
    if source.is_false and math.isfinite(bound.epsilon(_DELTA)):
        yield "a false function is proved"
    yield from find_unlike(function, trace, seed)
    yield from find_loss(trace, bound, seed)


# --- plain runs


def find_unlike(function: Callable[..., Any], trace: FunctionTrace, seed: int) -> Iterator[str]:
    """Yield on what dataset a function does something else than its program."""
    rng = np.random.default_rng([seed, 3])
    constants = constants_of(trace.paths[0].program)
    neighbours = Neighbours(trace.universe, constants, rng)
    records = trace.universe.records
    pairs = neighbours.make(_PLAIN_RUNS, int(rng.integers(2, 7)) if records is None else records)
    for number in range(_PLAIN_RUNS):
        for data in pairs.pair(number):
            if not _is_alike(function, trace, data, int(rng.integers(2**31))):
                yield f"a program unlike its function on {data}"
                return


def _is_alike(function: Callable[..., Any], trace: FunctionTrace, data: Data, seed: int) -> bool:
    fixed = Fixed(seed)
    given = {name: value.copy() for name, value in data.items()}
    (plain,) = given.values()
    if not len(plain):
        return True
    whole = trace.universe.parts[0]
    try:
        found = function(plain.astype(int) if _is_whole(trace, whole.name) else plain, fixed)
    except Exception:
        return False
    for path in trace.paths:
        try:
            values = evaluate_program(path.program, data, fixed.draws)
        except (OtherPath, IndexError):
            continue
        outputs = [np.ravel(values[one]) for one in path.program.outputs]
        return _are_close(list(_flat(found)), np.concatenate([*outputs, np.zeros(0)]))
    return False


def _is_whole(trace: FunctionTrace, name: str) -> bool:
    nodes = trace.paths[0].program.nodes
    return any(
        node.operation == "data" and node.parameters["part"] == name and node.dtype[:3] == "int"
        for node in nodes
    )


def _flat(value: Any) -> Any:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _flat(one)
    else:
        yield from np.ravel(np.asarray(value, dtype=float))


def _are_close(one: Sequence[float], other: NDArray[Any]) -> bool:
    if len(one) != len(other):
        return False
    return bool(np.allclose(one, other.astype(float), rtol=1e-8, atol=1e-8, equal_nan=True))


# --- losses


def find_loss(trace: FunctionTrace, bound: Bound, seed: int) -> Iterator[str]:
    """Yield a loss above the bound, if a replay of an additive path finds one."""
    for path in trace.paths[:_MOST_PATHS]:
        releases = additive_releases(path.program)
        if not releases:
            continue
        cost = compare_cost(
            path.program, bound, *search_losses(path.program, trace.universe, releases, seed)
        )
        if cost.is_beaten:
            yield f"a loss of {cost.found}, where {cost.proved} is proved"
