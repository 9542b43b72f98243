"""Generators that draw the same numbers: those that have the same state at the start.

A number, the list that holds it alone and a number of numpy seed one generator; of another class,
the same number seeds another.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import recorder, tracked_noise
from .recorder import Stream

LARGEST_SEED = 2**64  # what the system's entropy gives is larger
_WORDS = 4  # and has more words
# As they were before anything was patched.
_BITS = np.random.BitGenerator
_STATE = np.random.RandomState
_RANDOM = random.Random
_MT19937 = np.random.MT19937
_seed_of_python = _RANDOM.seed
_state_of_python = _RANDOM.getstate


def identity(source: Any, of: Any) -> str:
    """Return the identity that generators share if they draw the same numbers.

    Parameters
    ----------
    source
        A seed, a sequence of seeds, or bits that are there already.
    of
        The class of generator that it seeds: `numpy.random.RandomState`, `random.Random`, or a
        class of bits.

    Examples
    --------
    >>> identity(5, np.random.PCG64) == identity([5], np.random.PCG64)
    True
    >>> identity(5, np.random.PCG64) == identity(5, np.random.RandomState)
    False
    """
    try:
        return hashlib.sha256(_state(source, of)).hexdigest()
    except (TypeError, ValueError, OverflowError):  # a bad seed: whoever uses it is told
        return f"{of.__name__} {source!r}"


def _state(source: Any, of: Any) -> bytes:
    if of is _RANDOM:
        made = _RANDOM.__new__(_RANDOM)
        _seed_of_python(made, source)
        return repr(_state_of_python(made)).encode()
    if isinstance(source, _BITS):
        return _written(source.state)
    if of is _STATE:
        state = _STATE(_MT19937(0))  # made of a seed, it would ask for entropy first
        state.seed(source)
        return _written(state.get_state(legacy=False))
    return _written(of(source).state)


def _written(state: Any) -> bytes:
    if isinstance(state, dict):
        return b"{%s}" % b",".join(_written(one) for pair in sorted(state.items()) for one in pair)
    return state.tobytes() if isinstance(state, np.ndarray) else repr(state).encode()


def stream_of(source: Any, of: Any) -> Stream:
    """Return the stream of bits or of a seed; who shares the bits shares the stream."""
    if source is None:
        return Stream(source="system")
    if isinstance(source, tracked_noise.Symbolic):
        source = source.plain("the seed of a generator depends on data or noise")[()]
    if isinstance(source, _BITS):
        state = recorder._STATE[0]
        if state is not None and id(source) in state.bits:
            return state.bits[id(source)][1]
        stream = _stream_of_seed(getattr(source, "seed_seq", None), identity(source, of))
        share(source, stream)
        return stream
    return _stream_of_seed(source, identity(source, of))


def _stream_of_seed(source: Any, shared: str) -> Stream:
    entropy = getattr(source, "entropy", source)
    # Entropy of the system is 128 bits long. A number this large is hardly ever written into
    # source.
    if entropy is None or (isinstance(entropy, int) and entropy >= LARGEST_SEED):
        return Stream.of_entropy(shared)
    if np.ndim(entropy) and len(np.ravel(entropy)) > _WORDS:
        return Stream.of_entropy(shared)
    child = getattr(source, "spawn_key", ())
    return Stream.of_seed((entropy, child) if child else entropy, shared)


def share(bits: Any, stream: Stream) -> None:
    """Note where bits draw from, for who takes them out of a generator."""
    state = recorder._STATE[0]
    if state is not None:
        state.bits[id(bits)] = (bits, stream)


def is_seeded(generator: Any) -> bool:
    """Return whether a generator of numpy was given a seed of the source, as far as it shows.

    Examples
    --------
    >>> is_seeded(np.random.default_rng(5)), is_seeded(np.random.default_rng())
    (True, False)
    >>> is_seeded(np.random.RandomState(5)), is_seeded(np.random.RandomState())
    (True, False)
    """
    if isinstance(generator, _STATE):
        _, key, place, *_ = generator.get_state(legacy=True)
        # The first word of this state is the seed itself, so that it shows whether a seed was given
        # and nothing drawn since.
        return place == len(key) and bool((key == _first_state(int(key[0]))).all())
    source = getattr(generator.bit_generator, "seed_seq", None)
    entropy = getattr(source, "entropy", None)
    if isinstance(entropy, int):
        return entropy < LARGEST_SEED
    return entropy is not None and len(np.ravel(entropy)) <= _WORDS


def stream_of_living(generator: Any) -> Stream:
    """Return the stream of a generator that lives; of the old kind, nobody knows its seed."""
    if is_seeded(generator):
        return recorder.SEEDED
    return recorder.OWN if isinstance(generator, _STATE) else recorder.SYSTEM


def _first_state(seed: int) -> Any:
    """Return the state of a generator of the old kind that nobody has drawn from."""
    state: Any = _STATE(_make_seeded_bits(seed)).get_state(legacy=True)
    return state[1]


def _make_seeded_bits(seed: int) -> Any:
    bits = _MT19937(0)
    bits._legacy_seeding(seed)
    return bits


def is_of_python(value: Any) -> bool:
    """Return whether a value is a generator of the standard library that a seed decides."""
    return type(value) is _RANDOM


def twins(generators: Iterable[Any]) -> bool:
    """Return whether two generators that live already, and are not one, draw the same numbers.

    Examples
    --------
    >>> one, same, other = map(np.random.default_rng, (5, 5, 6))
    >>> twins([one, other, one]), twins([one, other, same])
    (False, True)
    """
    bits = {id(one): one for one in map(_bits_of, generators)}
    shared = [_shared(one) for one in bits.values()]
    return len(set(shared)) < len(shared)


def _shared(bits: Any) -> str:
    if isinstance(bits, _RANDOM):
        return hashlib.sha256(repr(_state_of_python(bits)).encode()).hexdigest()
    return identity(bits, type(bits))


def _bits_of(one: Any) -> Any:
    if isinstance(one, _RANDOM):
        return one
    return one._bit_generator if isinstance(one, _STATE) else one.bit_generator
