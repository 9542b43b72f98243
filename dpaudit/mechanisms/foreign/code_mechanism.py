"""Other people's code as a mechanism, whatever it takes and returns.

`Calls` draws observations, and a layout makes rows of doubles of them. Code that states its law
(`dpaudit.HasLaw`) already returns arrays, and stays as it is.
"""

from __future__ import annotations

import copy
import inspect
import os
import platform
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from time import perf_counter
from typing import Any, Literal

from numpy.random import Generator

from dpaudit._references import build_referenced_object, load_reference
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.mechanisms.foreign.calling import Calls, form_of, read_observation
from dpaudit.mechanisms.foreign.fresh_inputs import PROCESS, fresh_of, require_fresh
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.mechanism import (
    ForeignCode,
    HasLaw,
    Mechanism,
    Wraps,
    convert_mechanism_errors,
    name_of,
)
from dpaudit.mechanisms.outputs.layout import (
    Layout,
    OtherOutputs,
    PartLayout,
    doubles_of,
    get_kept_parts,
    kinds_of,
    layout_of,
    require_observation_count,
)
from dpaudit.mechanisms.outputs.leaves import LeafToken, Part
from dpaudit.mechanisms.outputs.observations import split_observation
from dpaudit.mechanisms.outputs.reads import Read, read_of
from dpaudit.mechanisms.outputs.tensors import host_array

Observable = Literal["exceptions", "warnings", "time"]
_OBSERVABLE: tuple[Observable, ...] = ("exceptions", "warnings", "time")
_SECONDS = "seconds"  # the path of the time that a call took


@dataclass(frozen=True)
class CodeMechanism(Wraps, ForeignCode):
    """A mechanism made of other people's code.

    Parameters
    ----------
    calls
        The code, and how it is called.
    layout
        What stands where in an output; None until it was made of observations.
    watched
        What else is observed: exceptions, warnings, the time a call took.
    ignored
        Names of parts that are left out.
    """

    calls: Calls
    layout: Layout | None = None
    watched: tuple[Observable, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def function(self) -> Any:
        """The code itself."""
        return self.calls.function

    @property
    def called_as(self) -> str:
        """The form of a call, with the roles of its arguments."""
        return str(self.calls.form)

    @property
    def outside(self) -> Outside | None:
        """The called program or service, if it is no code of Python."""
        return self.function if isinstance(self.function, Outside) else None

    @property
    def has_returned(self) -> bool:
        """Whether an earlier call of this process returned."""
        return self.calls.has_returned

    @property
    def one_a_process(self) -> bool:
        """Whether every output is to come from a process of its own."""
        return self.calls.fresh is not None and self.calls.fresh.what == PROCESS

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Any:
        """Return outputs, shape ``(trials, ...)``; without a layout, observations."""
        found = self.observations(dataset, trials, rng)
        if self.layout is None:
            return found
        return self.layout.rows(self._as_many(found, trials), trials)

    def called(self, trials: int) -> str:
        """Return how it is called, for messages: with the number of outputs that it is to draw."""
        form = self.calls.form
        if form.method == "sample":
            return f"sample(dataset, {trials}, rng)"
        return str(form).replace("trials", str(trials))

    def observations(self, dataset: Any, trials: int, rng: Generator) -> Any:
        """Return ``trials`` observations as they are; one call each if more than outputs count."""
        if not self.watched:
            return host_array(self.calls.observations(dataset, trials, rng))
        with self.calls.generators(rng):
            if "time" in self.watched:  # what a first call takes, or one after another dataset's
                self.observe(dataset, copy.deepcopy(rng))
            return [self.observe(dataset, rng) for _ in range(trials)]

    def observe(self, dataset: Any, rng: Generator) -> dict[str, Any]:
        """Return the output of one call, and everything else that the audit observes."""
        seen: dict[str, Any] = {}
        with warnings.catch_warnings(record=True) as caught:
            # Python shows a warning once for each place: only the first call would have it.
            warnings.simplefilter("always")
            began = perf_counter()
            try:
                found = self.calls.one(dataset, rng)
            except Exception as error:
                if "exceptions" not in self.watched:
                    raise
                found = error
            seconds = perf_counter() - began
        seen["output"] = self._only(found)
        if "warnings" in self.watched:
            seen["warnings"] = sorted({f"{one.category.__name__}: {one.message}" for one in caught})
        if "time" in self.watched:
            seen[_SECONDS] = seconds
        return seen

    def _only(self, found: Any) -> Any:
        """Return the one output of a call that was asked for one."""
        if not self.calls.form.many or isinstance(found, Exception):
            return found
        many = self._as_many(found, 1)
        return many[0] if self.calls.read is None else read_observation(self.calls.read, many[0])

    def laid_out(self, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]) -> Layout:
        """Return a layout of so many observations on each dataset."""
        found = layout_of(
            [
                self._draw_observations(one, trials, rng)
                for one, rng in zip(datasets, rngs, strict=True)
            ],
            self.ignored,
        )
        if "time" in self.watched and isinstance(found, PartLayout):
            return found.with_clock(_SECONDS)
        return found

    def having(self, layout: Layout) -> CodeMechanism:
        """Return the mechanism whose outputs have a layout."""
        return replace(self, layout=layout)

    @property
    def one_a_call(self) -> bool:
        """Whether a call draws one output, and nothing depends on which call was before it."""
        return not self.calls.form.many and "time" not in self.watched

    def read(self, dataset: Any, rng: Generator) -> Read:
        """Return the reading of one observation for a layout."""
        (found,) = self._draw_observations(dataset, 1, rng)
        return read_of(found, f"{platform.node()} {os.getpid()}", self.ignored)

    def glance(self, dataset: Any, trials: int, rng: Generator) -> tuple[str, float]:
        """Return a digest of so many observations, and the seconds that one of them took."""
        began = perf_counter()
        found = self._draw_observations(dataset, trials, rng)
        seconds = (perf_counter() - began) / trials
        kinds, rows = kinds_of(found), doubles_of(found)
        if "" not in kinds and rows.size:
            told = repr((sorted(kinds), rows.shape)).encode() + rows.tobytes()
        else:
            read = [sorted(self._kept(one).items()) for one in found]
            told = repr(read).encode("utf-8", "surrogatepass")
        return blake2b(told, digest_size=16).hexdigest(), seconds

    def find_fixed_parts(
        self, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]
    ) -> dict[str, list[float]]:
        """Return the parts that are the same in all of so many observations on each dataset."""
        read = [
            {path: list(map(_to_part_number, values)) for path, values in self._kept(one).items()}
            for dataset, rng in zip(datasets, rngs, strict=True)
            for one in self._draw_observations(dataset, trials, rng)
        ]
        return {
            path: value
            for path, value in read[0].items()
            if all(one.get(path) == value for one in read[1:])
        }

    def _kept(self, observation: Any) -> dict[str, tuple[Part, ...]]:
        return get_kept_parts(observation, self.ignored)

    def _draw_observations(self, dataset: Any, trials: int, rng: Generator) -> Any:
        """Return so many observations, or refuse a return value of another kind."""
        # The copy repeats the same draws, and leaves the generator as it is.
        with convert_mechanism_errors(
            self, trials, dataset, lambda made: self.observations(made, trials, copy.deepcopy(rng))
        ):
            found = self.observations(dataset, trials, rng)
        return self._as_many(found, trials)

    def _as_many(self, found: Any, trials: int) -> Any:
        try:
            return require_observation_count(found, trials)
        except OtherOutputs as error:
            raise MechanismError(
                f"mechanism {name_of(self)}: {self.called(trials)} {error}"
            ) from None

    def texts(
        self,
        datasets: Sequence[Any],
        trials: int,
        rngs: Sequence[Generator],
        codes: Sequence[float],
    ) -> dict[float, tuple[str, str]]:
        """Return kind and text of codes, as far as they turn up in so many observations."""
        found = dict[float, tuple[str, str]]()
        for one, rng in zip(datasets, rngs, strict=True):
            for observation in self._draw_observations(one, trials, rng):
                for part in self._tokens(observation):
                    if part.code in codes:
                        found[part.code] = (part.kind, part.text)
        return found

    def _tokens(self, observation: Any) -> Iterator[LeafToken]:
        """Yield the discrete values of an observation, and those without a column."""
        for part in (part for both in split_observation(observation).values() for part in both):
            if isinstance(part, LeafToken):
                yield part
        if isinstance(self.layout, PartLayout):
            yield from self.layout.tokens(observation)


def _to_part_number(part: Part) -> float:
    return part.code if isinstance(part, LeafToken) else float(part)


def make_with_layout(
    make: Callable[..., Any], arguments: tuple[Any, ...], layout: Layout
) -> CodeMechanism:
    """Return a mechanism of the arguments, with a layout."""
    found: CodeMechanism = make(*arguments)
    return found.having(layout)


def without_parts(
    make: Callable[..., Any], arguments: tuple[Any, ...], names: Sequence[str]
) -> CodeMechanism:
    """Return a mechanism of the arguments whose outputs lack some parts."""
    found: CodeMechanism = make(*arguments)
    return replace(found, ignored=(*found.ignored, *names))


@dataclass(frozen=True)
class ObservationSettings:
    """The form of a call of other people's code, and its observations.

    Parameters
    ----------
    form
        How it is called, such as ``"f(data, rng)"``; by default as its signature says.
    read
        A function of what it returned, the name of an attribute, or several; of an estimator, of
        the fitted copy.
    observe
        What counts besides outputs: some of ``exceptions``, ``warnings`` and ``time``.
    ignore
        Names of parts of an output that are left out: time stamps, counters and the like.
    fresh
        What is made anew for every output: `dpaudit.mechanisms.foreign.fresh_inputs.Fresh`.

    Examples
    --------
    >>> ObservationSettings(observe=("errors",))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: observe: got ['errors'], expected some of exceptions, \
warnings, time
    """

    form: str | None = None
    read: Any = None
    observe: Sequence[str] = ()
    ignore: Sequence[str] = ()
    fresh: Any = None

    def __post_init__(self) -> None:
        asked: Any = self.observe
        given = (asked,) if isinstance(asked, str) else tuple(asked)
        if not set(given) <= set(_OBSERVABLE):
            raise InvalidArgument("observe", list(given), f"some of {', '.join(_OBSERVABLE)}")
        # A frozen dataclass cannot assign to its own fields in the usual way.
        object.__setattr__(self, "observe", tuple(one for one in _OBSERVABLE if one in given))
        object.__setattr__(self, "ignore", _require_part_names(self.ignore))
        require_fresh(self.fresh)

    @property
    def watched(self) -> tuple[Observable, ...]:
        """The observations besides outputs, in order."""
        return tuple(one for one in _OBSERVABLE if one in self.observe)


def _require_part_names(given: Any) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(one, str) and one for one in found):
        raise InvalidArgument("ignore", given, "names of parts of an output, such as ('at', 'id')")
    return found


AS_IT_IS = ObservationSettings()


def as_mechanism(given: Any, reading: ObservationSettings = AS_IT_IS) -> Mechanism[Any]:
    """Return an object that states its law as it is, and other people's code as a mechanism.

    Parameters
    ----------
    given
        A function, an object with ``sample`` or ``fit``, or a class.
    reading
        How it is called, and what is looked at.

    Raises
    ------
    InvalidArgument
        It is nothing of the kind.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = as_mechanism(lambda data, rng: sum(data) + rng.normal())
    >>> len(mechanism.sample([1.0, 2.0], 3, np.random.default_rng(0)))
    3
    """
    if _is_more(given) and reading == AS_IT_IS:
        found: Mechanism[Any] = given
        return found
    form, read, fresh = form_of(given, reading.form), reading.read, reading.fresh
    if isinstance(given, Outside):
        given, read, fresh = given.read_as(read, fresh)
    calls = Calls(given, form, read, None if fresh is None else fresh_of(fresh, given))
    return CodeMechanism(calls, None, reading.watched, tuple(reading.ignore))


def _is_more(given: Any) -> bool:
    """Return whether an object is more than something to draw from, or this package's own."""
    if isinstance(given, type) or not isinstance(given, Mechanism):
        return False
    ours = type(given).__module__.startswith("dpaudit.")
    return ours or isinstance(given, HasLaw) or hasattr(given, "neighbours")


def mechanism_called(reference: str, reading: ObservationSettings = AS_IT_IS) -> Mechanism[Any]:
    """Return the mechanism that ``"module:object"`` names, or that it returns when called.

    What takes no arguments makes it: a class with ``sample``, or a function.
    """
    found = load_reference("mechanism", reference)
    makes = not _is_called(found) if isinstance(found, type) else _takes_nothing(found)
    made = build_referenced_object("mechanism", reference, found) if makes else found
    try:
        return as_mechanism(made, reading)
    except InvalidArgument as error:
        if error.name != "mechanism":
            raise
        raise InvalidArgument("mechanism", reference, error.expected) from None


def _is_called(found: type) -> bool:
    """Return whether instances of a class are made for every output: not where they sample."""
    own_call = any("__call__" in vars(kind) for kind in found.__mro__)
    return not hasattr(found, "sample") and (hasattr(found, "fit") or own_call)


def _takes_nothing(found: Any) -> bool:
    if hasattr(found, "sample") or hasattr(found, "fit") or not callable(found):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(one.default is not one.empty or one.kind in _ANY for one in parameters)


_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
