"""Code that its calls change: the output of its first call, and those of its later ones.

An instance, or a module by its globals, may count its calls, fill a cache or spend a budget. Then
its first output has a law of its own, which a process draws once and its later calls hide. Whether
calls change anything is seen by a pickle of the code: the user's own modules go into it with the
globals, class attributes, defaults and closures that are referred to, generators and the caches of
`functools` left out. Both laws can be drawn: the first with another copy for every call, the later
ones with what a first call, which does not count, has left.

Copies stand for other instances where they have what another instance would have. A generator that
somebody wrote by hand, a key and a counter, is no generator to a pickle: all copies draw the same
from it, and so do copies that are made after one call, two, three. That is seen by their answers.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

import dpaudit.watching.outside as outside
from dpaudit._typing import Array
from dpaudit.execution.failures import CannotTravel
from dpaudit.execution.parcels import parcel_of
from dpaudit.freezing.outputs import flatten_output
from dpaudit.mechanisms.foreign.calling import Calls, When
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism

_LARGEST = 2**25  # bytes of a pickle that is kept and compared
REPEATED = (
    "copies of the instance repeat noise that it brings along, as from a key and a counter of its "
    "own: pass the class, of which an instance is made for every output"
)
_CHAINS = 4  # chains of calls, one after the other
_STATES = 8  # calls of a chain, with a copy after each
_ROUNDS = 64  # answers of each copy
_FEWEST = 8  # answers of each copy at least
_SECONDS = 5.0  # seconds for all the answers
_LONGEST = 10.0  # seconds for the fewest answers
_OTHER = 1e-6  # p-value of laws that differ
_ALIKE = 1e-3  # p-value of laws that may be one
_TWO_LAWS = 16 / 28  # of pairs of states differ at most, where these have two laws in turn
# What has not been called yet: the object, so that its id stays its own, and its pickle.
_made_as: dict[tuple[int, str], tuple[Any, bytes]] = {}
# The same of what `Pristine` keeps, as it was when it was kept last.
_kept: dict[tuple[int, str], tuple[Any, bytes]] = {}


def register_instance(mechanism: object, *, anew: bool = False) -> None:
    """Take note of an instance as it is before its first call, or as it is now."""
    if isinstance(mechanism, CodeMechanism) and _may_change(mechanism.calls):
        function = mechanism.calls.function
        known = not anew and _make_instance_key(function) in _made_as
        if not known and (blob := _pickle_called(function)) is not None:
            _made_as[_make_instance_key(function)] = function, blob


def as_remembered(given: Any) -> Any:
    """Return the code as it was before its first call: itself, if no call has changed it."""
    known = _made_as.get(_make_instance_key(given))
    unchanged = known is None or known[0] is not given or _pickle_called(given) == known[1]
    return given if unchanged or known is None else _unpickle_copy(known[1])


def is_changed(
    mechanism: object, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]
) -> bool:
    """Return whether calls change the called code; it is called if it was not before.

    Parameters
    ----------
    mechanism
        Other people's code.
    datasets, trials, rngs
        On which, how often and with which generators.
    """
    if not isinstance(mechanism, CodeMechanism) or mechanism.one_a_process:
        return False
    calls = mechanism.calls
    before = _made_as.get(_make_instance_key(calls.function))
    if before is None or not _may_change(calls):
        return False
    if not calls.has_returned:
        for dataset, rng in zip(datasets, rngs, strict=True):
            mechanism.observations(dataset, trials, rng)
    return _pickle_called(calls.function) != before[1]


class Pristine:
    """Code of this process as it is before a call: makes copies of it, and tells a change.

    Parameters
    ----------
    calls
        Of the code. None were made yet, or `keep` was called before they were.
    again
        Whether some were made: then what was kept counts, where this process has it.
    """

    def __init__(self, calls: Calls, *, again: bool = False) -> None:
        self._calls = calls
        kept = _kept.get(_make_instance_key(calls.function)) if again else None
        changing = _may_change(calls)
        self._blob = kept[1] if kept else _pickle_called(calls.function) if changing else None

    def keep(self) -> None:
        """Keep it as it is now for those who come after the calls of this process."""
        if self._blob is not None:
            _kept[_make_instance_key(self._calls.function)] = self._calls.function, self._blob

    @property
    def is_changed(self) -> bool:
        """Whether calls have changed the called code, as its pickle shows."""
        return self._blob is not None and _pickle_called(self._calls.function) != self._blob

    def first(self) -> Calls:
        """Return calls each of which is the first one, of another copy."""
        blob = self._blob
        return (
            self._calls
            if blob is None
            else replace(self._calls, when="first", again=lambda: _unpickle_copy(blob))
        )


# What copies bring along


def copies_repeat(
    make: Callable[..., Any], arguments: tuple[Any, ...], dataset: Any, seed: int
) -> bool:
    """Return `carries_noise` of a mechanism made of arguments, of first calls alone."""
    calls: Calls | None = getattr(make(*arguments), "calls", None)
    return calls is not None and calls.when == "first" and carries_noise(calls, dataset, seed)


def carries_noise(calls: Calls, dataset: Any, seed: int) -> bool:
    """Return whether copies of an instance bring noise along that they repeat.

    Copies that are made after one call, two and more then answer around other numbers, up and down,
    and around the same ones whatever noise the calls before had. A state that noise has gone into
    is another one after other noise, what counts or fades goes one way, and code that leaks at
    some of its calls has two laws. Of calls that take long nothing is said.

    Parameters
    ----------
    calls
        Each the first of another copy.
    dataset, seed
        On which, and with which generators.
    """
    if calls.again is None:
        return False
    began = time.monotonic()
    try:
        chains = [_pickle_call_states(calls, dataset, [seed, n], began) for n in range(_CHAINS)]
        answers = _collect_chain_answers(calls, chains, dataset, seed, began)
    except Exception:  # of the instance's own, such as a budget that is spent
        return False
    return answers is not None and any(map(_is_repeated, np.moveaxis(answers, -1, 0)))


def _pickle_call_states(calls: Calls, dataset: Any, seed: list[int], began: float) -> list[bytes]:
    """Return pickles of a copy after its calls, fewer where these take too long."""
    assert calls.again is not None
    rng, copy, found = default_rng(seed), calls.again(), list[bytes]()
    own = replace(calls, function=copy, when=None, again=None)
    for _ in range(_STATES):
        _get_answer_numbers(own, dataset, rng)
        if (blob := _pickle_called(copy)) is None or time.monotonic() > began + _LONGEST:
            break
        found.append(blob)
    return found


def _collect_chain_answers(
    calls: Calls, chains: Sequence[Sequence[bytes]], dataset: Any, seed: int, began: float
) -> Array | None:
    """Return numbers of answers, of each chain, state and round; None of too few, or other ones."""
    if any(len(chain) < _STATES for chain in chains):
        return None
    rng, rounds = default_rng([seed, _CHAINS]), list[Any]()
    while len(rounds) < _ROUNDS:
        if time.monotonic() > began + (_SECONDS if len(rounds) >= _FEWEST else _LONGEST):
            break
        rounds.append([[_of_copy(calls, blob, dataset, rng) for blob in one] for one in chains])
    sizes = {len(one) for part in rounds for chain in part for one in chain}
    if len(rounds) < _FEWEST or len(sizes) > 1:
        return None
    return np.moveaxis(np.array(rounds, dtype=float), 0, 2)


def _of_copy(calls: Calls, blob: bytes, dataset: Any, rng: Generator) -> Sequence[float]:
    own = replace(calls, function=_unpickle_copy(blob), when=None, again=None)
    return _get_answer_numbers(own, dataset, rng)


def _get_answer_numbers(calls: Calls, dataset: Any, rng: Generator) -> Sequence[float]:
    with calls.generators(rng):
        return flatten_output(calls.one(dataset, rng)).numbers


def _is_repeated(answers: Array) -> bool:
    """Return it of one number of the answers, of shape ``(chains, states, rounds)``."""
    from scipy.stats import kruskal

    centres = np.median(answers, axis=(0, 2))
    steps = np.diff(centres)
    if not np.isfinite(answers).all() or (steps >= 0).all() or (steps <= 0).all():
        return False
    states = np.moveaxis(answers, 1, 0)
    if not kruskal(*states.reshape(len(states), -1)).pvalue < _OTHER:
        return False
    least = _ALIKE / len(states)
    if not all(np.ptp(chains) == 0 or kruskal(*chains).pvalue > least for chains in states):
        return False
    pairs = [one.ravel() for one in states]
    # The test is not defined where all numbers are the same.
    differ = [kruskal(*pair).pvalue < _ALIKE for pair in combinations(pairs, 2) if np.ptp(pair) > 0]
    return bool(sum(differ) > _TWO_LAWS * math.comb(len(states), 2))


def at_calls(make: Callable[..., Any], arguments: tuple[Any, ...], when: When) -> CodeMechanism:
    """Return a mechanism of the arguments whose outputs are those of its first or later calls."""
    made: CodeMechanism = make(*arguments)
    register_instance(made)
    again = partial(_make_other_instance, make, arguments, made.calls.function)
    return replace(made, calls=replace(made.calls, when=when, again=again))


def with_calls(mechanism: CodeMechanism, when: When) -> CodeMechanism:
    """Return a mechanism of this process whose outputs are those of its first or later calls."""
    return at_calls(_get_mechanism, (mechanism,), when)


def _get_mechanism(mechanism: CodeMechanism) -> CodeMechanism:
    return mechanism


def _make_other_instance(make: Callable[..., Any], arguments: tuple[Any, ...], known: Any) -> Any:
    """Return another instance, with generators of its own, that was not called yet."""
    found = make(*arguments).calls.function
    if _make_instance_key(found) == _make_instance_key(known):
        kept = _made_as.get(_make_instance_key(known))
        return found if kept is None else _unpickle_copy(kept[1])
    blob = _pickle_called(found)
    return found if blob is None else _unpickle_copy(blob)


def _make_instance_key(function: Any) -> tuple[int, str]:
    """Return a key that tells objects apart, and methods by their object."""
    if isinstance(function, MethodType):
        return id(function.__self__), function.__name__
    return id(function), ""


def _may_change(calls: Calls) -> bool:
    """Return whether calls can leave anything to the next ones: of an estimator each has a copy."""
    return calls.form.method != "fit" and not isinstance(calls.function, BuiltinFunctionType)


def _pickle_called(function: Any) -> bytes | None:
    """Return the pickle of the called code, but for its generators; None if it has none.

    Modules of the user's are in it with what of them is referred to, where that can be pickled.
    """
    how = partial(parcel_of, own_generators=True, at_most=_LARGEST, names_held=False)
    # Globals of the user's modules may hold state, so that these are tried first.
    for by_value in (_find_home_modules(function), ()):
        try:
            return how(function, by_value=by_value).blob
        except CannotTravel:
            continue
    return None


def _find_home_modules(function: Any) -> list[str]:
    """Return the names of the user's own modules that the called code comes from, and uses."""
    waiting, found = [_home_of(function)], dict[str, None]()
    while waiting:
        module = sys.modules.get(waiting.pop())
        if module is None or module.__name__ in found or not _is_users(module):
            continue
        found[module.__name__] = None
        waiting += map(_home_of, list(vars(module).values()))
    return list(found)


def _home_of(value: Any) -> str:
    """Return the name of the module that something is, or comes from."""
    inner = getattr(value, "__self__", value) if isinstance(value, MethodType) else value
    if isinstance(inner, ModuleType):
        return inner.__name__
    home = getattr(inner, "__module__", None) or getattr(type(inner), "__module__", None)
    return home if isinstance(home, str) else ""


def _is_users(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    ours = module.__name__.partition(".")[0] in ("dpaudit", "__main__")
    return not ours and isinstance(file, str) and outside.place_of(file) == "user"


def _unpickle_copy(blob: bytes) -> Any:
    import cloudpickle

    return cloudpickle.loads(blob)
