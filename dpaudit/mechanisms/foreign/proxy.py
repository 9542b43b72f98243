"""The proxy of a mechanism: in the program that audits it has the methods that the mechanism has.

Sent to a worker it becomes the mechanism itself, of which every worker has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import count
from time import monotonic
from typing import Any

import numpy as np
from numpy.random import Generator

import dpaudit.mechanisms.foreign.answers as answers
from dpaudit._typing import Array
from dpaudit.domains import Domain
from dpaudit.errors import MechanismError
from dpaudit.execution.failures import CodeFailed, TakesNoMore
from dpaudit.execution.keeper import the_keeper
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.execution.pool import Crew
from dpaudit.execution.tasks import libraries_here
from dpaudit.mechanisms.foreign.calling import When
from dpaudit.mechanisms.foreign.code_identity import CodeReference, make_code, place_of
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism, make_with_layout, without_parts
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.in_worker import (
    from_pickle,
    identity_of,
    mechanism_of_this_process,
    nothing,
    start_mechanism,
)
from dpaudit.mechanisms.foreign.instances import at_calls, is_changed
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.mechanism import DIGITS, ForeignCode, TiltedSample, name_of
from dpaudit.mechanisms.outputs.layout import Layout
from dpaudit.neighbours import Pair
from dpaudit.search.engine import Search
from dpaudit.store.identity import identified
from dpaudit.store.sealing import Identity, UnidentifiedValue

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


class IsolatedMechanism(ForeignCode):
    """The proxy of a mechanism that runs in the workers of a crew.

    Parameters
    ----------
    crew
        Whose workers have the mechanism.
    made
        A function that makes the mechanism in a worker, and its arguments; all of them pickle.

    Attributes
    ----------
    start
        Seconds that a worker took to import and make it.
    called_as
        How it is called, if it is other people's code that states no law.
    layout
        What stands where in its outputs, once that is known.
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
    outside: Outside | None = None
    layout: Layout | None = None
    code: CodeReference | None = None
    carried: tuple[str, ...] = ()
    not_afresh: tuple[str, ...] = ()
    worked_out: tuple[str, ...] = ()
    _without_layout: IsolatedMechanism | None = None
    _at_all_calls: tuple[IsolatedMechanism, When] | None = None

    def __init__(self, crew: Crew, made: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
        # An id may come back once a crew is collected; the count does not.
        self.crew, self.made, self.key = crew, made, f"{id(crew)}.{next(_keys)}"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return mechanism_of_this_process, (self.key, *self.made)

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return outputs; the generator goes on from where the mechanism left it."""
        found, state = self._call(answers.sample_with_state, dataset, trials, rng)
        # The worker drew from a copy: without this the next call would repeat its draws.
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

    def having(self, layout: Layout) -> IsolatedMechanism:
        """Return the proxy, in the same workers, of the mechanism with a layout."""
        proxy = self._like((make_with_layout, (*self.made, layout)))
        proxy.layout, proxy._without_layout = layout, self
        return proxy

    def ignoring(self, names: Sequence[str]) -> IsolatedMechanism:
        """Return the proxy, in the same workers, of the mechanism without parts of its outputs."""
        base = self._without_layout or self
        return base._like((without_parts, (*base.made, list(names))))

    def at_calls(self, when: When) -> IsolatedMechanism:
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

    def find_process_marks(
        self, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]
    ) -> list[str]:
        """Return the paths of parts that are one value in a process and another one in another.

        Such a part is a process's number, or a name drawn at import: no noise, but outputs of one
        process have it in common, and so would be taken for dependent by whatever reads it. What an
        observer sees without it is a function of what he sees, so a bound on the rest holds.

        Parameters
        ----------
        datasets, trials, rngs
            How many answers other people's code gives on each dataset, with which generators: in a
            process that it has, and in one more if anything is the same in all of the first.

        Raises
        ------
        MechanismError
            The code failed, or its process ended.
        """
        given = answers.answer_fixed_parts, self, list(datasets), trials, list(rngs)
        with add_mechanism_name(type(self).__name__):
            try:
                here = self.crew.call(*given)
                if not here:
                    return []
                with Crew(self.crew.limits) as another, another.by(self.crew.until):
                    there = another.call(*given)
            except TakesNoMore as error:
                raise MechanismError(error.after_calls()) from error
        return [path for path, value in here.items() if there.get(path, value) != value]

    def search(self, domain: Domain, *given: Any) -> Search:
        """Return the result of a search in a domain, given as to `Searching`."""
        found: Search = from_pickle(self._call(answers.pickle_search_result, domain, *given))
        return found

    def ask(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function of the mechanism and of arguments, where the code runs.

        The answer is plain: numbers, arrays, text, and lists of these.
        """
        return self._call(question, *arguments)

    def make_derived_proxy(self, make: Callable[..., Any], *arguments: Any) -> IsolatedMechanism:
        """Return the proxy, in the same workers, of an object made of the mechanism there."""
        base = self._without_layout or self
        proxy = make_proxy(self.crew, (make, (*base.made, *arguments)))
        vars(proxy).update({one: vars(base)[one] for one in _OF_CODE if one in vars(base)})
        return proxy

    def _like(self, made: tuple[Callable[..., Any], tuple[Any, ...]]) -> IsolatedMechanism:
        proxy = type(self)(self.crew, made)
        vars(proxy).update({one: vars(self)[one] for one in _KNOWN if one in vars(self)})
        return proxy

    @cached_property
    def __identity__(self) -> str:
        """The identity of the mechanism and its code, computed in the process that runs it."""
        if self._without_layout is not None:
            return identified(self._without_layout, self.layout).digest
        if self._at_all_calls is not None:
            return identified(*self._at_all_calls).digest
        return self.__identified__.sealed()

    @cached_property
    def __identified__(self) -> Identity:
        """Its identity in parts, with the parts that nobody can look at."""
        if self._without_layout is not None:
            return self._without_layout.__identified__
        if self._at_all_calls is not None:
            return self._at_all_calls[0].__identified__
        digest, *named, nothing = self._call(identity_of)
        if nothing is not None:
            raise UnidentifiedValue(nothing)
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


class _ProxyLaw(IsolatedMechanism):
    def privacy_loss(self, outputs: Array, pair: Pair[Any]) -> Array:
        return np.asarray(self._call(answers.answer_method, "privacy_loss", outputs, pair))

    def uniform_residuals(self, outputs: Array, dataset: Any) -> Array:
        return np.asarray(self._call(answers.answer_method, "uniform_residuals", outputs, dataset))


class _Bounds(_ProxyLaw):
    def loss_bounds(self, output: Array, pair: Pair[Any]) -> tuple[float, float]:
        low, high = self._call(answers.answer_method, "loss_bounds", output, pair)
        return float(low), float(high)


class _Digits(_ProxyLaw):
    def loss_in_digits(self, output: Array, pair: Pair[Any], digits: int = DIGITS) -> Any:
        return self._call(answers.in_digits, output, pair, digits)

    def losses_in_digits(self, outputs: Array, pair: Pair[Any], digits: int = DIGITS) -> Any:
        return self._call(answers.all_in_digits, outputs, pair, digits)


class _TiltedProxy(_ProxyLaw):
    def sample_tilted(
        self, pair: Pair[Any], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        drawn = self._call(answers.answer_tilted_sample, "sample_tilted", pair, tilt, trials, rng)
        (outputs, loss, log_mgf), state = drawn
        rng.bit_generator.state = state
        return TiltedSample(outputs, loss, log_mgf, tilt)

    def log_mgf_bounds(self, pair: Pair[Any], tilt: float) -> tuple[float, float]:
        low, high = self._call(answers.answer_method, "log_mgf_bounds", pair, tilt)
        return float(low), float(high)


class _AimedProxy(_TiltedProxy):
    def sample_aimed(
        self, pair: Pair[Any], aim: float, trials: int, rng: Generator
    ) -> TiltedSample:
        (outputs, loss, weight), state = self._call(
            answers.answer_tilted_sample, "sample_aimed", pair, aim, trials, rng
        )
        rng.bit_generator.state = state
        return TiltedSample(outputs, loss, weight, 0.0)

    def log_payoff_bound(self, pair: Pair[Any], aim: float, epsilon: float) -> float:
        return float(self._call(answers.answer_method, "log_payoff_bound", pair, aim, epsilon))


class _Neighbours(_ProxyLaw):
    def neighbours(self, pair: Pair[Any]) -> list[Pair[Any]]:
        found: list[Pair[Any]] = from_pickle(self._call(answers.answer_neighbours, pair))
        return found


def make_proxy(crew: Crew, made: tuple[Callable[..., Any], tuple[Any, ...]]) -> IsolatedMechanism:
    """Return the proxy that has the methods of the object made in a worker."""
    name, has, flags, libraries, place, said = crew.call(
        _describe_mechanism, IsolatedMechanism(crew, made)
    )
    # Fresh processes, and the workers from now on, import the user's own code alone.
    the_keeper().preload(libraries)
    crew.close()
    bases = [kind for kind, needs in _KINDS if set(needs) <= set(has)] or [IsolatedMechanism]
    kind: type[IsolatedMechanism] = type(name, tuple(bases), dict(flags))
    proxy = kind(crew, made)
    proxy.called_as, proxy.one_a_process, proxy.one_a_call = said
    proxy.code = None if place is None else make_code(*place)
    crew.call(nothing)
    proxy.start = proxy.way()
    return proxy


_LAW = ("privacy_loss", "uniform_residuals")
_TILTED = (*_LAW, "sample_tilted", "log_mgf_bounds")
# Python wants derived classes before their bases, so that the most special kinds come first.
_KINDS: tuple[tuple[type[IsolatedMechanism], tuple[str, ...]], ...] = (
    (_AimedProxy, (*_TILTED, "sample_aimed", "log_payoff_bound")),
    (_TiltedProxy, _TILTED),
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
