"""Runs of a function with every random primitive that is known intercepted and its noise frozen.

The frozen noise of a run is decided by one number, its *seed*: the k-th call of a kind and shape
gets the same standard draw in every run of the same seed, whatever its location and scale are. A
generator that was given a seed of its own in the source starts over wherever it is made again.
A *probe* below 0 asks for draws that are far out instead, to see what no noise reaches.
"""

from __future__ import annotations

import copy
import math
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from . import tracked_noise
from .tracked_noise import Call

FAR = 1e4  # scales, of the draws of a probe
_ENDS = (2.0**-53, 1.0 - 2.0**-53)
_DEEPEST = 40.0  # scales of inverted noise, beyond which a uniform draw is at its end
# The classes as they were before anything was patched.
Generator = np.random.Generator
PCG64 = np.random.PCG64
SeedSequence = np.random.SeedSequence
_MOST_CALLS = 200_000
_SMALL = 64  # numbers of a draw that is remembered
_PATIENCE = 2_000  # calls of a run whose draws are far out, the others are ordinary


class TooMany(RuntimeError):
    """A run that makes more calls of primitives than are recorded."""


@dataclass
class Run:
    """One run: its output or its error, and every call of a primitive in order.

    ``error`` is the name of what was ``raised``.
    ``elsewhere`` says whether another thread called one, which is not recorded; ``copied`` whether
    the state of a generator was taken out, so that draws may come again which are recorded as new.
    """

    seed: int
    value: Any = None
    error: str | None = None
    calls: list[Call] = field(default_factory=list)
    seeds: list[tuple[str, str]] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    elsewhere: bool = False
    copied: bool = False
    raised: BaseException | None = None


class State:
    """The draws of a run so far."""

    def __init__(
        self,
        seed: int,
        spared: frozenset[tuple[str, int]] = frozenset(),
        patience: int = _PATIENCE,
        reach: float = FAR,
    ) -> None:
        self.run = Run(seed)
        self.spared, self.patience, self.reach = spared, patience, reach
        self.bits: dict[int, tuple[Any, Stream]] = {}  # bit generators, and where they draw from
        self.counters: dict[str, int] = {}
        self.thread = threading.get_ident()
        self.inside = 0  # what an intercepted primitive itself calls is not recorded
        self.parents: list[int] = []
        self.seeded: dict[str, int] = {}  # what generators share that draw the same
        self.followed: dict[str, list[Any]] = {}  # what generators of a seed have drawn
        self.loading = False

    def counted(self, key: str, counters: dict[str, int] | None = None) -> str:
        """Return the name of the next frozen draw of a kind and shape."""
        kept = self.counters if counters is None else counters
        number = kept[key] = kept.get(key, -1) + 1
        return f"{key}#{number}"

    def number_of(self, identity: str) -> tuple[int, bool]:
        """Return the number of the seed that generators share, and whether it was known before."""
        known = identity in self.seeded
        return self.seeded.setdefault(identity, len(self.seeded)), known

    def follow(self, stream: Stream, call: Any) -> None:
        """Note a generator that draws otherwise than another one of the same seed did.

        Then they draw from the same bits, and what is recorded of them is neither equal nor apart.
        """
        drawn = self.followed.setdefault(stream.name, [])
        if stream.made == len(drawn):
            drawn.append(call)
        self.run.copied |= bool(drawn[stream.made] != call)
        stream.made += 1

    def fresh(self, key: str) -> Any:
        """Return a generator of numpy that gives the frozen draw of a name."""
        # Two runs with far draws have one stream: what goes up in the one goes down in the other.
        seed = abs(self.run.seed) // 2 if self.run.seed < 0 else self.run.seed
        # A draw follows from the seed and its name alone, not from how many were made before: a
        # call that one dataset makes more than the other shifts no later draw.
        # A checksum, since Python's hash of a text differs from process to process.
        return Generator(PCG64(SeedSequence([seed, zlib.crc32(key.encode())])))

    def stack(self) -> list[str]:
        """Return the calls around a draw, outermost first."""
        return tracked_noise.frames()

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return the draws of a call of a law with location and scale: frozen, and remembered.

        A run that reads more than frozen noise (`dpaudit.tracing`) returns what it needs instead.
        """
        call.draw = frozen(self, call.kind, call.shape, call.key)
        value = np.asarray(location + scale * call.draw, dtype=float)
        return tracked_noise.remembering(value if value.ndim else float(value), call, location)

    def form_other(self, call: Call, draw: Callable[[Any], Any], given: dict[str, Any]) -> Any:
        """Return the draws of a call of any other law: frozen, from its own bits."""
        return draw(self.fresh(call.key))

    @property
    def far(self) -> bool:
        """Whether draws are to be far out: of two such runs, one has outputs that the other lacks.

        Not for ever: a loop that rejects such draws would not end.
        """
        if self.run.seed >= 0 or len(self.run.calls) > self.patience:
            return False
        inside = self.run.calls[self.parents[-1]].key if self.parents else None
        return inside is None or all(key != inside for key, _ in self.spared)

    def up(self, fresh: Any, shape: tuple[int, ...] = ()) -> Any:
        """Return which draws are far up; the others are far down."""
        return (fresh.random(shape) < 0.5) != bool(self.run.seed % 2)


_STATE: list[State | None] = [None]
TWINS = [False]
"""Whether two generators that lived before draw the same numbers, and their stand-ins do not."""


def active() -> State | None:
    """Return the run that records; None outside, inside of a primitive, and in other threads."""
    state = _STATE[0]
    # Another thread's calls come in an order that differs from run to run: they are not frozen, and
    # the run says so.
    if state is not None and state.thread != threading.get_ident():
        state.run.elsewhere = True
        return None
    return None if state is None or state.inside else state


def switch_to(state: State | None) -> None:
    """Let another run record from here on, as where two runs take turns; None lets none."""
    _STATE[0] = state


def note_copy() -> None:
    """Note that somebody takes the state of a generator, or sets it."""
    if (state := active()) is not None:
        state.run.copied = True


@contextmanager
def hidden(state: State) -> Iterator[None]:
    """Record nothing inside the block."""
    state.inside += 1
    try:
        yield
    finally:
        state.inside -= 1


@dataclass
class Stream:
    """The source of a generator's draws: the run's own stream, or one of a seed in the source."""

    name: str = ""
    counters: dict[str, int] | None = None
    made: int = 0  # calls of a generator of a seed
    source: str = "other"  # "given", "seeded" or "system", as a `Call` says

    @classmethod
    def of_seed(cls, seed: Any, identity: str) -> Stream:
        """Return the stream of a seed, and note that one was given."""
        state = active()
        if seed is None or state is None:
            return cls(source="system")
        text = repr(seed) if len(repr(seed)) < 80 else f"{type(seed).__name__}"
        state.run.seeds.append((text, tracked_noise.place()))
        number, known = state.number_of(identity)
        if state.loading:  # two of one seed go on side by side, from call to call
            state.run.copied |= known and not tracked_noise.in_library()
            return cls(f"import {number} ")
        return cls(f"seed {number} ", {})

    @classmethod
    def of_entropy(cls, identity: str) -> Stream:
        """Return the run's stream, for entropy of the system; none of it comes twice."""
        if (state := active()) is not None and state.number_of(identity)[1]:
            note_copy()
        return cls(source="system")


OWN = Stream()
GIVEN = Stream(source="given")
SEEDED = Stream(source="seeded")
SYSTEM = Stream(source="system")


def begin(
    state: State, stream: Stream, kind: str, name: str, shape: tuple[int, ...], **given: Any
) -> Call:
    """Return a new call of the run."""
    calls = state.run.calls
    if len(calls) >= _MOST_CALLS:
        raise TooMany(f"more than {_MOST_CALLS} calls of random primitives")
    tail = ",".join(map(str, shape[1:]))
    # A longer vector begins with the shorter one: one record more has one draw more.
    key = state.counted(f"{stream.name}{kind}({len(shape)};{tail})", stream.counters)
    stack = state.stack()
    parent = state.parents[-1] if state.parents else None
    where = stack[-1] if stack else "?"
    call = Call(len(calls), kind, name, where, tuple(stack), shape, key, parent=parent, **given)
    call.source = stream.source
    if stream.counters is not None:
        state.follow(stream, (name, shape, dict(call.parameters)))
    if state.loading and not tracked_noise.in_library():
        call.parameters["by"] = "user"
    calls.append(call)
    return call


_STANDARD = {
    "laplace": lambda g, shape: g.laplace(size=shape),
    "normal": lambda g, shape: g.standard_normal(shape),
    "uniform": lambda g, shape: g.random(shape),
    "exponential": lambda g, shape: g.standard_exponential(shape),
    "gumbel": lambda g, shape: g.gumbel(size=shape),
    "logistic": lambda g, shape: g.logistic(size=shape),
    "cauchy": lambda g, shape: g.standard_cauchy(shape),
}


def standard_draw(kind: str, rng: Any, shape: tuple[int, ...]) -> Any:
    """Return draws of a law with location and scale, at 0 and of scale 1."""
    return _STANDARD[kind](rng, shape)


def frozen(state: State, kind: str, shape: tuple[int, ...], key: str) -> Any:
    """Return the frozen draw of a law with location and scale."""
    if state.far or state.run.seed < 0 or math.prod(shape) > _SMALL:
        return standard(state, kind, state.fresh(key), shape, key)
    return _small_draw(state.run.seed, kind, shape, key).copy()


@lru_cache(maxsize=4096)  # a search runs with the same noise a thousand times
def _small_draw(seed: int, kind: str, shape: tuple[int, ...], key: str) -> Any:
    return np.asarray(_STANDARD[kind](State(seed).fresh(key), shape))


def standard(state: State, kind: str, fresh: Any, shape: tuple[int, ...], key: str = "") -> Any:
    """Return the standard draw of a law with location and scale; a spared draw is not far out."""
    if not state.far:
        return np.asarray(_STANDARD[kind](fresh, shape))
    up = state.up(fresh, shape)
    if kind == "uniform":
        # Inverting a uniform draw to Laplace noise gives about ``reach`` scales at this end, and
        # never an infinite value.
        end = max(_ENDS[0], 0.5 * np.exp(-min(state.reach, _DEEPEST)))
        drawn = np.where(up, 1.0 - end, end)
    else:
        far = state.reach * (1.0 + fresh.random(shape))
        drawn = np.where(up, far, 1.0 / far if kind == "exponential" else -far)
    entries = [entry for name, entry in state.spared if name == key and entry < drawn.size]
    if entries:
        ordinary = np.asarray(_STANDARD[kind](fresh, shape))
        drawn = np.array(drawn)
        drawn.flat[entries] = ordinary.flat[entries]
    return drawn


def draw_located(
    state: State,
    stream: Stream,
    kind: str,
    name: str,
    location: Any,
    scale: Any,
    shape: tuple[int, ...] | None,
) -> tuple[Call, Any]:
    """Return a draw of a law with location and scale, and its call."""
    whole = _shape_of_both(location, scale) if shape is None else shape
    if isinstance(location, tracked_noise.Symbolic):
        call, noise = draw_located(state, stream, kind, name, 0.0, scale, whole)
        return call, location + noise
    if isinstance(scale, tracked_noise.Symbolic):
        call, noise = draw_located(state, stream, kind, name, 0.0, 1.0, whole)
        found = scale * noise
        return call, found + location if np.any(np.asarray(location) != 0) else found
    location, scale = tracked_noise.plain(location), tracked_noise.plain(scale)
    given = {"location": np.array(location, float), "scale": np.array(scale, float)}
    call = begin(state, stream, kind, name, whole, **given)
    return call, state.form(call, location, scale)


def _shape_of_both(one: Any, other: Any) -> tuple[Any, ...]:
    shapes = [_shape(one), _shape(other)]
    for shape in shapes:
        if any(isinstance(length, tracked_noise.Symbolic) for length in shape):
            return tuple(n.length() if isinstance(n, tracked_noise.Symbolic) else n for n in shape)
    return np.broadcast_shapes(*shapes)


def _shape(value: Any) -> tuple[Any, ...]:
    return value.shape if isinstance(value, tracked_noise.Symbolic) else np.shape(value)


def opaque(
    state: State,
    stream: Stream,
    kind: str,
    name: str,
    draw: Callable[[Any], Any],
    parameters: dict[str, Any],
    shape: tuple[int, ...] = (),
) -> Any:
    """Return the draws of another primitive, from frozen bits; its parameters go through."""
    words = {key: describe_parameter(value) for key, value in parameters.items()}
    call = begin(state, stream, kind, name, shape, parameters=words)
    with hidden(state):
        value = state.form_other(call, draw, parameters)
    numbers = (
        np.asarray(value) if isinstance(value, int | float | np.ndarray | np.generic) else None
    )
    if numbers is not None and numbers.dtype.kind in "iuf":
        call.draw, call.shape = numbers.astype(float), numbers.shape
    return value


def describe_parameter(value: Any) -> str:
    """Return a parameter as text: numbers as they are, of anything else its kind and size."""
    if isinstance(value, tracked_noise.Symbolic):
        return type(value).__name__
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)[:60]
    return (
        f"{type(value).__name__} of {np.shape(value) if hasattr(value, 'shape') else _size(value)}"
    )


def _size(value: Any) -> str:
    try:
        return str(len(value))
    except TypeError:
        return "no size"


def call_recorded(
    function: Callable[..., Any],
    data: Any,
    seed: int,
    rng: Any,
    *,
    spared: frozenset[tuple[str, int]] = frozenset(),
    patience: int = _PATIENCE,
    reach: float = FAR,
) -> Run:
    """Run a function of data and a generator once; nothing that it raises gets out.

    Of a run with draws that are far out, those are spared whose name and entry are given, and
    those after so many calls. The others are between ``reach`` and twice as many scales out.
    """
    return record(State(seed, spared, patience, reach), function, data, rng)


def record(state: State, function: Callable[..., Any], data: Any, rng: Any) -> Run:
    """Run a function once as a state says; nothing that it raises gets out."""
    _STATE[0] = state
    run = state.run
    run.copied = TWINS[0]
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run.value = function(fresh_copy(data), rng)
    except KeyboardInterrupt:
        raise
    # Other people's code may raise anything, also what ends a program. Of all that, only the
    # keyboard gets out.
    except BaseException as error:
        run.error, run.raised = type(error).__name__, error
        if isinstance(error, TooMany):
            raise
    finally:
        _STATE[0] = None
    run.warned = sorted({one.category.__name__ for one in caught})
    return run


def load_recorded(load: Callable[[], Any], seed: int = 0) -> tuple[Any, int, bool]:
    """Return the loaded object, and how many primitives non-library code calls meanwhile.

    And whether a generator was copied, or two were made that draw the same. Generators that are
    made then keep the seed that they are given; what is drawn follows from ``seed``.
    """
    state = State(seed)
    state.loading = True
    _STATE[0] = state
    try:
        loaded = load()
        drawn = sum(call.parameters.get("by") == "user" for call in state.run.calls)
        return loaded, drawn, state.run.copied
    finally:
        _STATE[0] = None


def fresh_copy(data: Any) -> Any:
    """Return data that a run may change."""
    try:
        return copy.deepcopy(data)
    except Exception:
        return data
