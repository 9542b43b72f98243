"""The primitives of numpy, of the standard library and of scipy, and their replacements."""

from __future__ import annotations

import inspect
import os
import random
import sys
from collections.abc import Callable
from types import BuiltinMethodType, MethodType
from typing import Any

import numpy as np

from . import recorder, seeds, tracked_noise
from .recorder import OWN, SYSTEM, Stream, active
from .seeds import LARGEST_SEED, identity, share, stream_of

Undo = list[Callable[[], None]]
_GENERATOR = np.random.Generator
_RANDOM_STATE = np.random.RandomState
_PCG64 = np.random.PCG64
_MT19937 = np.random.MT19937
_BIT_GENERATOR = np.random.BitGenerator
_RANDOM = random.Random
_URANDOM = os.urandom
_BOUND = (MethodType, BuiltinMethodType)
SUSPECTS = frozenset({np.random.Generator, np.random.RandomState, *_BOUND})
"""The types of generators, and of what may be bound to one: nothing stands in for other values."""
_NO_DRAW = frozenset(
    "seed get_state set_state spawn bit_generator poisson_lam_max getstate setstate".split()
)
# Of laws with location and scale: the kind, the names and defaults of the two.
_LOCATED: dict[str, tuple[str, tuple[tuple[str, float], ...]]] = {
    "laplace": ("laplace", (("loc", 0.0), ("scale", 1.0))),
    "normal": ("normal", (("loc", 0.0), ("scale", 1.0))),
    "gumbel": ("gumbel", (("loc", 0.0), ("scale", 1.0))),
    "logistic": ("logistic", (("loc", 0.0), ("scale", 1.0))),
    "uniform": ("uniform", (("low", 0.0), ("high", 1.0))),
    "exponential": ("exponential", (("scale", 1.0),)),
    "standard_normal": ("normal", ()),
    "standard_exponential": ("exponential", ()),
    "standard_cauchy": ("cauchy", ()),
    "random": ("uniform", ()),
    "random_sample": ("uniform", ()),
    "ranf": ("uniform", ()),
    "sample": ("uniform", ()),
    "rand": ("uniform", ()),
    "randn": ("normal", ()),
}


def _bound(name: str, kept: Any, given: Any) -> dict[str, Any]:
    """Return the arguments of a primitive of numpy by name."""
    names = [one for one, _ in kept]
    if name in ("rand", "randn"):
        return {"size": tuple(given[0]) or None}
    extra = ["dtype", "method", "out"] if name == "standard_exponential" else ["dtype", "out"]
    order = [*names, "size", *(extra if name.startswith(("standard", "random")) else ())]
    found: dict[str, Any] = dict(zip(order, given[0], strict=False))
    unknown = set(given[1]) - set(order)
    if unknown or len(given[0]) > len(order):
        raise TypeError(f"{name}() got an unexpected argument {sorted(unknown) or given[0]}")
    return {**found, **given[1]}


def _size(size: Any) -> tuple[Any, ...] | None:
    if size is None:
        return None
    return (
        tuple(map(tracked_noise.length, size))
        if np.iterable(size)
        else (tracked_noise.length(size),)
    )


def _numpy_located(state: Any, stream: Stream, title: str, name: str, given: Any) -> Any:
    kind, kept = _LOCATED[name]
    found = _bound(name, kept, given)
    values = [tracked_noise.numbers(found.get(one, default), one) for one, default in kept]
    if name == "uniform":
        location, scale = values[0], values[1] - values[0]
    else:
        location, scale = values if len(values) == 2 else (0.0, *values, 1.0)[:2]
    is_known = not isinstance(scale, tracked_noise.Symbolic)
    if is_known and name != "uniform" and np.any(np.asarray(scale) < 0):
        raise ValueError("scale < 0")
    into = found.get("out")
    size = np.shape(into) if into is not None else _size(found.get("size"))
    _, value = recorder.draw_located(state, stream, kind, title, location, scale, size)
    if into is not None:
        into[...] = tracked_noise.plain(value)
        return into
    if np.dtype(found.get("dtype")) == np.float32:
        return tracked_noise.plain(value).astype(np.float32) if np.ndim(value) else float(value)
    return value


def _numpy_opaque(state: Any, stream: Stream, title: str, name: str, given: Any, base: Any) -> Any:
    def draw(fresh: Any) -> Any:
        positional, named = _all_plain(given)
        if state.far and (found := _at_an_end(state, fresh, name, positional, named)) is not None:
            return found[0]
        source = fresh if base is _GENERATOR else _legacy(fresh)
        return getattr(source, name)(*positional, **named)

    parameters = {**{str(n): one for n, one in enumerate(given[0])}, **given[1]}
    size = given[1].get("size")
    return recorder.opaque(state, stream, name, title, draw, parameters, _size(size) or ())


def _all_plain(given: Any) -> Any:
    return [tracked_noise.plain(x) for x in given[0]], {
        k: tracked_noise.plain(x) for k, x in given[1].items()
    }


def _at_an_end(state: Any, fresh: Any, name: str, given: Any, named: Any) -> tuple[Any] | None:
    """Return the first or the last value that can be drawn, None where nobody knows them."""
    low_end = not state.up(fresh)
    if name in ("integers", "randint") and not named and len(given) in (1, 2):
        low, high = (0, given[0]) if len(given) == 1 else given
        return (int(low) if low_end else int(high) - 1,)
    if name == "choice" and len(given) == 1 and not set(named) - {"p"}:
        options = range(given[0]) if isinstance(given[0], int) else given[0]
        weights = named.get("p")
        possible = [n for n in range(len(options)) if weights is None or weights[n] > 0]
        return (options[possible[0 if low_end else -1]],)
    return None


def _legacy(fresh: Any) -> Any:
    return _RANDOM_STATE(_MT19937(int(fresh.integers(2**63))))


def _method(name: str, base: Any, original: Any, title: str) -> Any:
    def method(self: Any, *given: Any, **named: Any) -> Any:
        state = active()
        if state is None:
            return original(self, *given, **named)
        stream = getattr(self, "_stream", OWN)
        if name in _LOCATED and not (name == "sample" and base is _GENERATOR):
            return _numpy_located(state, stream, title, name, (given, named))
        return _numpy_opaque(state, stream, title, name, (given, named), base)

    method.__name__ = name
    return method


class _AnyInstance(type):
    """The class of a stand-in: an instance of the original class is one of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        original: type = cls.__mro__[1]
        return isinstance(instance, original)


def _stand_in(base: Any, name: str) -> Any:
    methods = {
        one: _method(one, base, getattr(base, one), f"numpy.random.{name}.{one}")
        for one in dir(base)
        if not one.startswith("_") and one not in _NO_DRAW and callable(getattr(base, one))
    }
    return methods


def _frozen_bits(kind: Any, seed: Any = None) -> Any:
    """Return bits for draws beyond the intercepted ones; of a module that loads its own."""
    state = recorder._STATE[0]
    if state is None or state.loading:
        return kind(seed)
    return kind(np.random.SeedSequence(LARGEST_SEED + abs(state.run.seed)))


def _own_init_generator(self: Any, bit_generator: Any) -> None:
    _GENERATOR.__init__(self, bit_generator)
    self._stream = stream_of(bit_generator, type(bit_generator))


def _own_init_state(self: Any, seed: Any = None) -> None:
    given = isinstance(seed, _BIT_GENERATOR)
    _RANDOM_STATE.__init__(self, seed if given else _frozen_bits(_MT19937, seed))
    self._stream = stream_of(seed, _RANDOM_STATE)


def _seeded(self: Any, seed: Any = None) -> None:
    if active() is None:
        _RANDOM_STATE.seed(self, seed)
    self._stream = Stream.of_seed(seed, identity(seed, _RANDOM_STATE))


_bits = _GENERATOR.bit_generator.__get__


def _get_bits(self: Any) -> Any:
    """Return the bits of a generator to code that asks for them: it may keep their state."""
    if not tracked_noise.in_library():
        recorder.note_copy()
    return _bits(self)


def _make_noted_method(original: Any) -> Any:
    """Return a method that takes or sets the state of a generator, and is noted."""

    def method(self: Any, *given: Any, **named: Any) -> Any:
        recorder.note_copy()
        return original(self, *given, **named)

    method.__name__ = original.__name__
    return method


def _copying(base: Any) -> dict[str, Any]:
    names = "__reduce__ __getstate__ __setstate__ get_state set_state".split()
    return {name: _make_noted_method(getattr(base, name)) for name in names if hasattr(base, name)}


OwnGenerator: Any = _AnyInstance(
    "Generator",
    (_GENERATOR,),
    {
        "__init__": _own_init_generator,
        "bit_generator": property(_get_bits),
        **_copying(_GENERATOR),
        **_stand_in(_GENERATOR, "Generator"),
    },
)
OwnRandomState: Any = _AnyInstance(
    "RandomState",
    (_RANDOM_STATE,),
    {
        "__init__": _own_init_state,
        "seed": _seeded,
        **_copying(_RANDOM_STATE),
        **_stand_in(_RANDOM_STATE, "RandomState"),
    },
)


def own_default_rng(seed: Any = None) -> Any:
    """Stand in for `numpy.random.default_rng`."""
    if isinstance(seed, _GENERATOR):
        return instead(seed) or seed
    if isinstance(seed, _RANDOM_STATE):
        return generator(getattr(seed, "_stream", OWN))
    stream = stream_of(seed, _PCG64)
    made = generator(stream, seed)
    share(_bits(made), stream)
    return made


def generator(stream: Stream = OWN, seed: Any = None) -> Any:
    """Return a generator whose draws are recorded and frozen."""
    made = _GENERATOR.__new__(OwnGenerator)
    given = isinstance(seed, _BIT_GENERATOR)
    _GENERATOR.__init__(made, seed if given else _frozen_bits(_PCG64, seed))
    made._stream = stream
    return made


def random_state() -> Any:
    """Return a generator of the old kind whose draws are recorded and frozen."""
    made = _RANDOM_STATE.__new__(OwnRandomState)
    _RANDOM_STATE.__init__(made, _frozen_bits(_MT19937))
    made._stream = Stream()
    return made


def is_generator(value: Any) -> bool:
    """Return whether a value is a generator of numpy that nothing stands in for yet."""
    return type(value) in (_GENERATOR, _RANDOM_STATE)


def owner(value: Any) -> Any:
    """Return the generator that a bound method of one draws from, anything else as it is."""
    if type(value) not in _BOUND or not is_generator(value.__self__):
        return value
    return value.__self__


def instead(value: Any) -> Any:
    """Return the stand-in for a generator that lives already, or for a method bound to one.

    None for anything else.
    """
    if (held := owner(value)) is not value:
        return getattr(instead(held), value.__name__)
    if not is_generator(value):
        return None
    made = generator() if type(value) is _GENERATOR else random_state()
    made._stream = seeds.stream_of_living(value)
    return made


def replacements(undo: Undo) -> dict[int, tuple[Any, Any]]:
    """Return the replacements by the identity of the original; classes of Python in place."""
    found: dict[int, tuple[Any, Any]] = {}

    def replace(old: Any, new: Any) -> None:
        found[id(old)] = (old, new)

    everyones = random_state()
    replace(np.random.mtrand._rand, everyones)
    for name in dir(np.random):
        one = getattr(np.random, name)
        if getattr(one, "__self__", None) is np.random.mtrand._rand and name not in _NO_DRAW:
            replace(one, getattr(everyones, name))
    replace(np.random.seed, everyones.seed)
    for name in ("get_state", "set_state"):
        replace(getattr(np.random, name), getattr(everyones, name))
    for name, of in (("ranf", "random_sample"), ("sample", "random_sample")):
        replace(getattr(np.random, name), getattr(everyones, of))
    replace(np.random.default_rng, own_default_rng)
    replace(_GENERATOR, OwnGenerator)
    replace(_RANDOM_STATE, OwnRandomState)
    _standard_library(replace, undo)
    _scipy(undo)
    return found


# The standard library


_OF_RANDOM: dict[str, Any] = {
    "random": ("uniform", lambda: (0.0, 1.0)),
    "gauss": ("normal", lambda mu=0.0, sigma=1.0: (mu, sigma)),
    "normalvariate": ("normal", lambda mu=0.0, sigma=1.0: (mu, sigma)),
    "uniform": ("uniform", lambda a, b: (a, b - a)),
    "expovariate": ("exponential", lambda lambd=1.0: (0.0, 1.0 / lambd)),
}
_OTHERS = (
    *("triangular", "betavariate", "gammavariate", "lognormvariate", "vonmisesvariate"),
    *("paretovariate", "weibullvariate", "randrange", "randint", "choice", "choices", "sample"),
    *("shuffle", "getrandbits", "randbytes", "_randbelow", "binomialvariate"),
)


def _python_method(name: str, title: str, original: Any, of_instance: Any = None) -> Any:
    """Return the stand-in for a method of `random.Random`, or for a function of the module."""

    def method(*given: Any, **named: Any) -> Any:
        state = active()
        if state is None:
            return original(*given, **named)
        own = given if of_instance is not None else given[1:]
        instance = of_instance if of_instance is not None else given[0]
        is_seeded = not isinstance(instance, random.SystemRandom)
        stream = _streams.get(id(instance), OWN) if is_seeded else SYSTEM
        if name in _OF_RANDOM:
            kind, of = _OF_RANDOM[name]
            location, scale = of(*own, **named)
            _, value = recorder.draw_located(state, stream, kind, title, location, scale, None)
            return value

        def draw(fresh: Any) -> Any:
            if state.far and (found := _end_of_python(state, fresh, name, own)) is not None:
                return found[0]
            source = _RANDOM(int(fresh.integers(2**63)))
            return getattr(source, name)(*map(tracked_noise.plain, own), **named)

        parameters = {**{str(n): one for n, one in enumerate(own)}, **named}
        return recorder.opaque(state, stream, name, title, draw, parameters)

    method.__name__ = name
    return method


def _end_of_python(state: Any, fresh: Any, name: str, given: Any) -> tuple[Any] | None:
    low_end = not state.up(fresh)
    if name in ("randrange", "_randbelow") and len(given) == 1:
        return (0 if low_end else given[0] - 1,)
    if name == "randint":
        return (given[0] if low_end else given[1],)
    if name == "getrandbits":
        return (0 if low_end else 2 ** given[0] - 1,)
    if name == "choice":
        return (given[0][0 if low_end else -1],)
    return None


_streams: dict[int, Stream] = {}  # of instances of random.Random, by id, for the time of a patch


def _standard_library(replace: Callable[[Any, Any], None], undo: Undo) -> None:
    everyones = random.random.__self__  # type: ignore[attr-defined]
    names = [name for name in (*_OF_RANDOM, *_OTHERS) if hasattr(_RANDOM, name)]
    for kind in (_RANDOM, random.SystemRandom):
        for name in names:
            if kind is _RANDOM or name in vars(kind):
                title = f"random.{kind.__name__}.{name}"
                _set(kind, name, _python_method(name, title, getattr(kind, name)), undo)
    for name in names:
        if (function := vars(random).get(name)) is not None:
            stand_in = _python_method(name, f"random.{name}", function, everyones)
            replace(function, stand_in)
    _seeding(replace, everyones, undo)
    secrets = sys.modules.get("secrets")
    system = getattr(secrets, "_sysrand", None)
    for name, of in (
        ("randbelow", "_randbelow"),
        ("choice", "choice"),
        ("randbits", "getrandbits"),
    ):
        function = getattr(secrets, name, None)
        if function is not None:
            stand_in = _python_method(of, f"secrets.{name}", function, system)
            replace(function, stand_in)
    replace(_URANDOM, _own_urandom)
    undo.append(_streams.clear)


def _seeding(replace: Callable[[Any, Any], None], everyones: Any, undo: Undo) -> None:
    original = _RANDOM.seed

    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        if active() is not None:
            _streams[id(self)] = Stream.of_seed(a, identity(a, _RANDOM))
        original(self, a, version)

    def seed_everyones(a: Any = None, version: int = 2) -> None:
        seed(everyones, a, version)

    for name in ("getstate", "setstate"):
        noted = _make_noted_method(getattr(_RANDOM, name))
        _set(_RANDOM, name, noted, undo)
        replace(vars(random)[name], noted.__get__(everyones))
    # The user's global generator has its state back after a run that seeds it.
    state = everyones.getstate()
    undo.append(lambda: everyones.setstate(state))
    _set(_RANDOM, "seed", seed, undo)
    replace(random.seed, seed_everyones)


def _set(kind: Any, name: str, value: Any, undo: Undo) -> None:
    """Set an attribute of a class of Python, and remember how it was."""
    own = name in vars(kind)
    old = inspect.getattr_static(kind, name)
    setattr(kind, name, value)
    undo.append(lambda: setattr(kind, name, old) if own else delattr(kind, name))


def _own_urandom(size: int) -> bytes:
    state = active()
    if state is None:
        return _URANDOM(size)
    drawn: bytes = recorder.opaque(
        state, OWN, "bytes", "os.urandom", lambda fresh: fresh.bytes(size), {"size": size}
    )
    return drawn


# scipy

_OF_SCIPY = {
    "laplace": "laplace",
    "norm": "normal",
    "uniform": "uniform",
    "expon": "exponential",
    "gumbel_r": "gumbel",
    "logistic": "logistic",
    "cauchy": "cauchy",
}


def _scipy(undo: Undo) -> None:
    home = sys.modules.get("scipy.stats._distn_infrastructure")
    if home is None:
        return
    for kind in (home.rv_generic, home.rv_discrete):
        if "rvs" in vars(kind):
            _set(kind, "rvs", _scipy_rvs(kind.rvs), undo)


def _scipy_rvs(original: Any) -> Any:
    def rvs(self: Any, *given: Any, **named: Any) -> Any:
        state = active()
        if state is None:
            return original(self, *given, **named)
        title = f"scipy.stats.{self.name}.rvs"
        source = named.pop("random_state", None)
        stream = OWN if source is None else _stream_of_argument(source)
        if self.name in _OF_SCIPY:
            _, location, scale, size = self._parse_args_rvs(*given, **named)
            kind = _OF_SCIPY[self.name]
            shape = None if np.ndim(size) == 0 and size == 1 else _size(size)
            _, value = recorder.draw_located(state, stream, kind, title, location, scale, shape)
            return value

        def draw(fresh: Any) -> Any:
            return original(self, *given, random_state=_legacy(fresh), **named)

        parameters = {**{str(n): one for n, one in enumerate(given)}, **named}
        if not _is_of_scipy(self):
            parameters["distribution"] = self
        return recorder.opaque(state, stream, self.name, title, draw, parameters)

    return rvs


def _is_of_scipy(distribution: Any) -> bool:
    """Return whether a distribution is one of the library, which no data made."""
    return getattr(sys.modules["scipy.stats"], distribution.name or "", None) is distribution


def _stream_of_argument(source: Any) -> Stream:
    own = getattr(source, "_stream", None)
    return own if own is not None else stream_of(source, _RANDOM_STATE)
