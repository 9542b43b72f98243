"""A mechanism in processes of its own: other people's code, kept from ending or stalling a run.

In the program that audits stands a proxy, which has the methods that the mechanism has. Sent to a
worker it becomes the mechanism itself, of which every worker has one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

import dpaudit.mechanisms.foreign.answers as answers
import dpaudit.mechanisms.foreign.changed_modules as changed_modules
from dpaudit._references import build_referenced_object, load_reference, stop_here
from dpaudit._typing import Array
from dpaudit.domains import Domain
from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText
from dpaudit.execution.failures import CannotTravel, CodeFailed, TakesNoMore, WorkerEnded
from dpaudit.execution.keeper import the_keeper
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.execution.pool import Crew
from dpaudit.execution.processes import Limits
from dpaudit.execution.surveys import parcel_for_processes
from dpaudit.execution.tasks import libraries_here
from dpaudit.mechanisms.foreign.calling import When
from dpaudit.mechanisms.foreign.code_identity import CodeReference, make_code, outside_of, place_of
from dpaudit.mechanisms.foreign.fresh_inputs import PROCESS, require_seen
from dpaudit.mechanisms.foreign.in_worker import (
    from_pickle,
    identity_of,
    mechanism_of_this_process,
    nothing,
    pickle_referenced_object,
    start_mechanism,
)
from dpaudit.mechanisms.foreign.instances import (
    as_remembered,
    at_calls,
    is_changed,
    register_instance,
)
from dpaudit.mechanisms.foreign.observed import (
    AS_IT_IS,
    CodeMechanism,
    ObservationSettings,
    as_mechanism,
    make_with_layout,
    mechanism_called,
    without_parts,
)
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.mechanism import DIGITS, Mechanism, TiltedSample, Wraps, name_of
from dpaudit.mechanisms.outputs.layout import Layout
from dpaudit.neighbours import Pair
from dpaudit.search.engine import Search
from dpaudit.store.identity import identified
from dpaudit.store.sealing import Identity, Unidentified

_METHODS = (
    *("sample", "privacy_loss", "uniform_residuals"),
    *("loss_bounds", "loss_in_digits", "sample_tilted", "log_mgf_bounds", "neighbours"),
    *("sample_aimed", "log_payoff_bound"),
)
# What a mechanism with a law says of itself.
_FLAGS = ("loss_is_unbounded", "is_replayed")
# Of a proxy, and of others like it.
_OF_CODE = "code carried not_afresh worked_out outside".split()
_KNOWN = [*"start called_as one_a_process one_a_call".split(), *_OF_CODE]
_keys = count()
_ANY = Limits()
_ASKED = "it was asked for"


@dataclass(frozen=True, kw_only=True)
class Isolation:
    """Whether other people's code has processes of its own, and what a call of it may take.

    Parameters
    ----------
    in_process
        Run it in this process: for debuggers, and for what cannot be sent to another.
    limits
        Of a call; they need a process that can be ended.

    Examples
    --------
    >>> Isolation(in_process=True, limits=Limits(timeout=5.0))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: in_process: got True, expected False: only another process can \
be stopped
    """

    in_process: bool = False
    limits: Limits = _ANY

    def __post_init__(self) -> None:
        if self.in_process and self.limits != _ANY:
            expected = "False: only another process can be stopped"
            raise InvalidArgument("in_process", True, expected)


class Placed(NamedTuple):
    """A mechanism where it runs; why that is this process, if it is; what makes it elsewhere.

    ``remarks`` is what a mechanism that is no code of Python says of itself.
    """

    mechanism: Mechanism[Any]
    remark: str | None
    elsewhere: Callable[[], Mechanism[Any]] | None = None
    remarks: tuple[str, ...] = ()


class Isolated:
    """The proxy of a mechanism that runs in the workers of a crew.

    Parameters
    ----------
    crew
        Whose workers have the mechanism.
    made
        What makes it there, and its arguments, which pickle.

    Attributes
    ----------
    start
        Seconds that a worker took to import and make it.
    called_as
        How it is called, if it is other people's code that states no law.
    layout
        What stands where in its transcripts, once that is known.
    code
        Which code it is, as its worker found it.
    carried
        Names of values that went to its workers along with it: all of them have the same.
    worked_out
        Those of them that no source has: code gave them, and may have drawn them.
    not_afresh
        Why code of a file went along too, in place of being run afresh.
    outside
        What is called, if it is no code of Python.
    one_a_process, one_a_call
        Whether a process, or a call of other people's code, draws one output alone.
    """

    one_a_process = False
    one_a_call = False
    start = 0.0
    called_as: str | None = None
    layout: Layout | None = None
    code: CodeReference | None = None
    carried: tuple[str, ...] = ()
    not_afresh: tuple[str, ...] = ()
    worked_out: tuple[str, ...] = ()
    outside: Outside | None = None
    _without_layout: Isolated | None = None
    _at_all_calls: tuple[Isolated, When] | None = None

    def __init__(self, crew: Crew, made: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
        self.crew, self.made, self.key = crew, made, f"{id(crew)}.{next(_keys)}"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return mechanism_of_this_process, (self.key, *self.made)

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return transcripts; the generator goes on from where the mechanism left it."""
        found, state = self._call(answers.sample_with_state, dataset, trials, rng)
        rng.bit_generator.state = state
        return np.asarray(found)

    def laid_out(self, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]) -> Layout:
        """Return a layout of so many observations on each dataset."""
        given = list(datasets), trials, list(rngs)
        found = get_current_ledger().fact(
            "layout", lambda: self._call(answers.answer_layout, *given), (self, *given)
        )
        return answers.parse_layout_answer(found)

    def texts(
        self,
        datasets: Sequence[Any],
        trials: int,
        rngs: Sequence[Generator],
        codes: Sequence[float],
    ) -> dict[float, tuple[str, str]]:
        """Return kind and text of codes, as far as they turn up in so many observations."""
        given = list(datasets), trials, list(rngs), list(codes)
        found = get_current_ledger().fact(
            "texts", lambda: self._call(answers.answer_texts, *given), (self, *given)
        )
        return {code: (kind, text) for code, kind, text in found}

    def having(self, layout: Layout) -> Isolated:
        """Return the proxy, in the same workers, of the mechanism with a layout."""
        proxy = self._like((make_with_layout, (*self.made, layout)))
        proxy.layout, proxy._without_layout = layout, self
        return proxy

    def ignoring(self, names: Sequence[str]) -> Isolated:
        """Return the proxy, in the same workers, of the mechanism without parts of its outputs."""
        base = self._without_layout or self
        return base._like((without_parts, (*base.made, list(names))))

    def at_calls(self, when: When) -> Isolated:
        """Return the proxy, in the same workers, of the first or the later calls of instances."""
        base = self._without_layout or self
        proxy = base._like((at_calls, (*base.made, when)))
        proxy._at_all_calls = base, when
        return proxy

    def is_changed(self, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]) -> bool:
        """Return whether calls change the instance that is called, as its pickle shows."""
        base, given = self._without_layout or self, (list(datasets), trials, list(rngs))
        about = base, *given
        return bool(
            get_current_ledger().fact("changed", lambda: base._call(is_changed, *given), about)
        )

    def search(self, domain: Domain, *given: Any) -> Search:
        """Return what a search finds in a domain, given as to `Searching`."""
        found: Search = from_pickle(self._call(answers.pickle_search_result, domain, *given))
        return found

    def ask(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function of the mechanism and of arguments returns where the code runs.

        The answer is plain: numbers, arrays, text, and lists of these.
        """
        return self._call(question, *arguments)

    def make_derived_proxy(self, make: Callable[..., Any], *arguments: Any) -> Isolated:
        """Return the proxy, in the same workers, of what is made of the mechanism there."""
        base = self._without_layout or self
        proxy = _make_proxy(self.crew, (make, (*base.made, *arguments)))
        vars(proxy).update({one: vars(base)[one] for one in _OF_CODE if one in vars(base)})
        return proxy

    def _like(self, made: tuple[Callable[..., Any], tuple[Any, ...]]) -> Isolated:
        proxy = type(self)(self.crew, made)
        vars(proxy).update({one: vars(self)[one] for one in _KNOWN if one in vars(self)})
        return proxy

    @cached_property
    def __identity__(self) -> str:
        """What identifies the mechanism and its code, worked out where it is."""
        if self._without_layout is not None:
            return identified(self._without_layout, self.layout).digest
        if self._at_all_calls is not None:
            return identified(*self._at_all_calls).digest
        return self.__identified__.sealed()

    @cached_property
    def __identified__(self) -> Identity:
        """Its identity in parts, with what nobody can look at."""
        if self._without_layout is not None:
            return self._without_layout.__identified__
        if self._at_all_calls is not None:
            return self._at_all_calls[0].__identified__
        digest, *named, nothing = self._call(identity_of)
        if nothing is not None:
            raise Unidentified(nothing)
        return Identity(digest, *map(tuple, named))

    def way(self) -> float:
        """Return the seconds that a call takes which does nothing."""
        began = monotonic()
        self._call(start_mechanism)
        return monotonic() - began

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with add_mechanism_name(type(self).__name__):
            try:
                return self.crew.call(function, self, *arguments)
            except TakesNoMore as error:  # it had the mechanism already
                raise CodeFailed(error.after_calls()) from error


class _ProxyLaw(Isolated):
    def privacy_loss(self, transcripts: Array, pair: Pair[Any]) -> Array:
        return np.asarray(self._call(answers.answer_method, "privacy_loss", transcripts, pair))

    def uniform_residuals(self, transcripts: Array, dataset: Any) -> Array:
        return np.asarray(
            self._call(answers.answer_method, "uniform_residuals", transcripts, dataset)
        )


class _Bounds(_ProxyLaw):
    def loss_bounds(self, transcript: Array, pair: Pair[Any]) -> tuple[float, float]:
        low, high = self._call(answers.answer_method, "loss_bounds", transcript, pair)
        return float(low), float(high)


class _Digits(_ProxyLaw):
    def loss_in_digits(self, transcript: Array, pair: Pair[Any], digits: int = DIGITS) -> Any:
        return self._call(answers.in_digits, transcript, pair, digits)

    def losses_in_digits(self, transcripts: Array, pair: Pair[Any], digits: int = DIGITS) -> Any:
        return self._call(answers.all_in_digits, transcripts, pair, digits)


class _Tilted(_ProxyLaw):
    def sample_tilted(
        self, pair: Pair[Any], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        drawn = self._call(answers.answer_tilted_sample, "sample_tilted", pair, tilt, trials, rng)
        (transcripts, loss, log_mgf), state = drawn
        rng.bit_generator.state = state
        return TiltedSample(transcripts, loss, log_mgf, tilt)

    def log_mgf_bounds(self, pair: Pair[Any], tilt: float) -> tuple[float, float]:
        low, high = self._call(answers.answer_method, "log_mgf_bounds", pair, tilt)
        return float(low), float(high)


class _Aimed(_Tilted):
    def sample_aimed(
        self, pair: Pair[Any], aim: float, trials: int, rng: Generator
    ) -> TiltedSample:
        (transcripts, loss, weight), state = self._call(
            answers.answer_tilted_sample, "sample_aimed", pair, aim, trials, rng
        )
        rng.bit_generator.state = state
        return TiltedSample(transcripts, loss, weight, 0.0)

    def log_payoff_bound(self, pair: Pair[Any], aim: float, epsilon: float) -> float:
        return float(self._call(answers.answer_method, "log_payoff_bound", pair, aim, epsilon))


class _Neighbours(_ProxyLaw):
    def neighbours(self, pair: Pair[Any]) -> list[Pair[Any]]:
        found: list[Pair[Any]] = from_pickle(self._call(answers.answer_neighbours, pair))
        return found


def isolate_mechanism(
    given: Any, isolation: Isolation, reading: ObservationSettings = AS_IT_IS
) -> Placed:
    """Return a mechanism, or a function that is one, where it is to run.

    What cannot be sent to another process stays in this one, and the remark says why.

    Raises
    ------
    InvalidArgument
        It is no mechanism.
    MechanismError
        Its process ended while it was unpickled.
    """
    stop_here()
    _require_processes(isolation, reading)
    if isinstance(given, Outside):
        settled = given.settled(None if isolation.in_process else isolation.limits)
        require_seen(reading.fresh, settled)
        placed = _place_mechanism(settled, isolation, reading)
        return placed._replace(remarks=tuple(settled.remarks))
    return _place_mechanism(given, isolation, reading)


def _place_mechanism(given: Any, isolation: Isolation, reading: ObservationSettings) -> Placed:
    mechanism = as_mechanism(given, reading)
    if isolation.in_process:
        register_instance(mechanism, anew=True)
        again = lambda: isolate_mechanism(as_remembered(given), Isolation(), reading).mechanism  # noqa: E731
        return Placed(mechanism, _ASKED, again)
    if not hasattr(sys.modules["os"], "fork"):
        register_instance(mechanism, anew=True)
        return Placed(mechanism, "this system has no fork")
    crew = Crew(isolation.limits)
    try:
        return Placed(_send_mechanism(mechanism, crew), None)
    except CannotTravel as error:
        crew.close()
        if isolation.limits != _ANY:
            expected = f"one that can be sent to another process, to be stopped there ({error})"
            raise InvalidArgument(
                "mechanism", VerbatimText(name_of(mechanism)), expected
            ) from error
        return Placed(mechanism, f"it cannot be sent to another process ({error})")


def isolate_reference(
    reference: str, isolation: Isolation, reading: ObservationSettings = AS_IT_IS
) -> Placed:
    """Return the mechanism that ``"module:object"`` names, or what that makes, where it is to run.

    Raises
    ------
    InvalidArgument
        It cannot be imported, or is no mechanism.
    """
    stop_here()
    _require_processes(isolation, reading)
    if isolation.in_process:
        mechanism = mechanism_called(reference, reading)
        register_instance(mechanism, anew=True)
        return Placed(
            mechanism, _ASKED, lambda: isolate_reference(reference, Isolation(), reading).mechanism
        )
    with convert_import_failures("mechanism", reference):
        made = (mechanism_called, (reference, reading))
        return Placed(_make_proxy(Crew(isolation.limits), made), None)


def _require_processes(isolation: Isolation, reading: ObservationSettings) -> None:
    if isolation.in_process and reading.fresh == PROCESS:
        raise InvalidArgument("fresh", PROCESS, "something that one process can make (in_process)")


def make_isolated(what: str, reference: str, isolation: Isolation) -> Any:
    """Return the object that ``"module:object"`` names, or what it returns, made elsewhere.

    What it holds of other people's types is imported here too.

    Raises
    ------
    InvalidArgument
        It cannot be imported, called, or brought here.
    """
    if isolation.in_process:
        return build_referenced_object(what, reference, load_reference(what, reference))
    with convert_import_failures(what, reference), Crew(isolation.limits) as crew:
        return from_pickle(crew.call(pickle_referenced_object, what, reference))


def is_ours(mechanism: object) -> bool:
    """Return whether a mechanism is this package's: it is quick, and keeps no state."""
    if isinstance(mechanism, Isolated | Wraps):
        return False
    parts = (mechanism, getattr(mechanism, "process", mechanism))
    return all(type(part).__module__.startswith("dpaudit.") for part in parts)


@contextmanager
def add_mechanism_name(name: str) -> Iterator[None]:
    """Say whose process ended, or whose code failed, if one does."""
    try:
        yield
    except WorkerEnded as error:
        raise MechanismError(f"mechanism {name}: its process {error}") from error
    except CodeFailed as error:
        raise MechanismError(f"mechanism {name}: {error}") from error


@contextmanager
def convert_import_failures(what: str, reference: str) -> Iterator[None]:
    """Say what was to be imported when a process ended or its code failed."""
    try:
        yield
    except (WorkerEnded, CodeFailed) as error:
        ended = f"its process {error}" if isinstance(error, WorkerEnded) else error
        expected = f"something that can be imported ({ended})"
        raise InvalidArgument(what, reference, expected) from error


def _send_mechanism(mechanism: Mechanism[Any], crew: Crew) -> Isolated:
    """Return the proxy of a mechanism; what a worker cannot import or run afresh goes along."""
    owner = changed_modules.owner_of(mechanism)
    parcel = parcel_for_processes(mechanism, own_generators=True)
    try:
        proxy = _make_proxy(crew, (from_pickle, (parcel.blob,)))
    except CannotTravel:
        home = getattr(owner, "__module__", None) or ""
        if home not in sys.modules:
            raise
        parcel = parcel_for_processes(mechanism, own_generators=True, by_value=[home])
        proxy = _make_proxy(crew, (from_pickle, (parcel.blob,)))
    else:
        changed_modules.require_as_imported(owner, crew)
    proxy.carried, proxy.not_afresh = tuple(sorted(parcel.held.names)), parcel.not_afresh
    proxy.worked_out = tuple(sorted(parcel.held.worked_out))
    proxy.outside = outside_of(mechanism)
    return proxy


def _make_proxy(crew: Crew, made: tuple[Callable[..., Any], tuple[Any, ...]]) -> Isolated:
    """Return the proxy that has the methods of what is made in a worker."""
    name, has, flags, libraries, place, said = crew.call(_describe_mechanism, Isolated(crew, made))
    # Fresh processes, and the workers from now on, import the user's own code alone.
    the_keeper().preload(libraries)
    crew.close()
    bases = [kind for kind, needs in _KINDS if set(needs) <= set(has)] or [Isolated]
    kind: type[Isolated] = type(name, tuple(bases), dict(flags))
    proxy = kind(crew, made)
    proxy.called_as, proxy.one_a_process, proxy.one_a_call = said
    proxy.code = None if place is None else make_code(*place)
    crew.call(nothing)
    proxy.start = proxy.way()
    return proxy


_LAW = ("privacy_loss", "uniform_residuals")
_TILTED = (*_LAW, "sample_tilted", "log_mgf_bounds")
_KINDS: tuple[tuple[type[Isolated], tuple[str, ...]], ...] = (
    (_Aimed, (*_TILTED, "sample_aimed", "log_payoff_bound")),
    (_Tilted, _TILTED),
    (_Bounds, (*_LAW, "loss_bounds")),
    (_Digits, (*_LAW, "loss_in_digits")),
    (_Neighbours, (*_LAW, "neighbours")),
    (_ProxyLaw, _LAW),
)


def _describe_mechanism(mechanism: Any) -> tuple[Any, ...]:
    has = [name for name in _METHODS if hasattr(mechanism, name)]
    flags = {name: bool(getattr(mechanism, name, False)) for name in _FLAGS}
    said: tuple[str | None, bool, bool] = (None, False, False)
    if isinstance(mechanism, CodeMechanism):
        said = str(mechanism.calls.form), mechanism.one_a_process, mechanism.one_a_call
    return name_of(mechanism), has, flags, libraries_here(), place_of(mechanism), said
