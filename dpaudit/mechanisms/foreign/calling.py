"""Calls of other people's code: the roles of its arguments as data, trials and randomness.

People have functions of the data alone, of the data and a generator, vectorised ones that take how
many outputs to draw, objects with ``sample``, estimators with ``fit``, and classes that make any of
these. The signature is read, what was read is said in one line, and ``form`` overrules it.
"""

from __future__ import annotations

import copy
import inspect
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import Generator, RandomState

from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.mechanisms.foreign.fresh_inputs import Fresh
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.outputs.layout import require_observation_count
from dpaudit.redaction import convert_stray_argument

Role = Literal["data", "trials", "rng"]
_TRIALS = frozenset(
    "trials n_trials num_trials ntrials size n n_samples num_samples nsamples samples repeats "
    "n_repeats repetitions reps runs n_runs num_runs draws n_draws num_draws how_many".split()
)
_RNG = frozenset(
    "rng gen generator prng random_generator random_state randomstate np_random np_rng seed "
    "random_seed".split()
)
_SHORT = frozenset("r g rs rnd rand random".split())  # a generator, of what has no default
_GENERATORS = ("Generator", "RandomState", "Generator | None", "RandomState | None")
_HINT = (
    "the meaning of {} is unknown: fix it with functools.partial, or name each argument with, "
    "for example, form='f(data, trials, rng)'"
)
_LABELS = frozenset("y labels label targets target y_train".split())
_OF_LABELS = (
    "the meaning of {} is unknown: data with labels are one argument, a pair: wrap the "
    "function, as in def release(data, rng): return f(*data, rng=rng)"
)
_ROLES: tuple[Role, ...] = ("data", "trials", "rng")
_WRITTEN = re.compile(r"(?P<method>\w+)\((?P<roles>[\w,]*)\)")
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
_NAMED = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True)
class Argument:
    """An argument: its value, the name of its parameter, and whether it is given by name."""

    role: Role
    name: str
    by_name: bool = False

    def of(self, given: Any) -> Any:
        """Return randomness as the parameter asks for it: a seed, or a generator of old."""
        if self.role != "rng":
            return given
        if self.name == "seed":
            # Seeds of numpy's older generators have 32 bits at most.
            return int(given.integers(2**32))
        if self.name == "random_state":
            return np.random.RandomState(np.random.MT19937(int(given.integers(2**63))))
        return given


@dataclass(frozen=True)
class CallForm:
    """The form of a call.

    Parameters
    ----------
    method
        The name of the method that is called; empty for the object itself.
    arguments
        In their order.
    made
        Whether a class is made anew for every call.

    Examples
    --------
    >>> str(form_of(lambda records, rng: 0))
    'f(data, rng)'
    """

    method: str
    arguments: tuple[Argument, ...]
    made: bool = False

    @property
    def many(self) -> bool:
        """Whether one call returns as many outputs as it is told."""
        return any(one.role == "trials" for one in self.arguments)

    def __str__(self) -> str:
        shown = [f"{one.name}={one.role}" if one.by_name else one.role for one in self.arguments]
        return f"{self.method or 'f'}({', '.join(shown)})"


def form_of(given: Any, written: str | None = None) -> CallForm:
    """Return how something is called, from its signature or as it is written.

    Parameters
    ----------
    given
        A function, a bound method, an object with ``sample`` or ``fit``, or a class.
    written
        For example ``"f(data, rng)"``: the words data, trials and rng in their order, after the
        name of the method, which is ``f`` for the object itself.

    Raises
    ------
    InvalidArgument
        It cannot be called, or its arguments cannot be told apart.

    Examples
    --------
    >>> str(form_of(lambda x, trials, rng: 0)), str(form_of(lambda x, *, seed=None: 0))
    ('f(data, trials, rng)', 'f(data, seed=rng)')
    >>> str(form_of(sorted, "f(data)"))
    'f(data)'
    """
    if written is None and isinstance(given, Outside):
        written = given.form
    if written is not None:
        return _as_written(given, written)
    if isinstance(given, type):
        _require_made(given)
    for method, arguments in _METHODS.items():
        if callable(getattr(given, method, None)):
            return CallForm(method, arguments, made=isinstance(given, type))
    if isinstance(given, type):
        if not any("__call__" in vars(kind) for kind in given.__mro__):
            raise InvalidArgument("mechanism", convert_stray_argument(given), _EXPECTED)
        return replace(_parse_call_form(given.__call__, bound=False), made=True)
    if not callable(given):
        raise InvalidArgument("mechanism", convert_stray_argument(given), _EXPECTED)
    return _parse_call_form(given)


def _require_made(given: type) -> None:
    """Refuse a class that nobody can make without arguments."""
    try:
        inspect.signature(given).bind()
    except (TypeError, ValueError):
        expected = f"{_EXPECTED} that takes no arguments (this one needs some: give an instance)"
        raise InvalidArgument("mechanism", convert_stray_argument(given), expected) from None


_METHODS = {
    "sample": tuple(Argument(role, role) for role in _ROLES),
    "fit": (Argument("data", "data"),),
}
_EXPECTED = (
    "an object with a method sample(dataset, trials, rng) or fit, a function of the data, or a "
    "class of one"
)


def _as_written(given: Any, written: str) -> CallForm:
    found = _WRITTEN.fullmatch(written.replace(" ", ""))
    roles = found["roles"].split(",") if found else []
    if found is None or not set(roles) <= set(_ROLES) or "data" not in roles:
        expected = "such as f(data), f(data, rng) or f(data, trials, rng), in the order it takes"
        raise InvalidArgument("form", written, expected)
    method = "" if found["method"] == "f" else found["method"]
    arguments = tuple(Argument(role, role) for role in _ROLES for one in roles if one == role)
    ordered = tuple(sorted(arguments, key=lambda one: roles.index(one.role)))
    return CallForm(method, ordered, made=isinstance(given, type))


def _parse_call_form(function: Callable[..., Any], *, bound: bool = True) -> CallForm:
    """Return how a function is called: required arguments by place, randomness also by name.

    An optional argument for the number of outputs is left alone: it might mean something else.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())[0 if bound else 1 :]
    except (TypeError, ValueError):  # of a builtin, nobody knows
        return CallForm("", _METHODS["fit"])
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, _EITHER)]
    required = [one for one in places if one.default is one.empty]
    roles = _roles_of(required, function)
    found = [Argument(role, one.name) for role, one in zip(roles, required, strict=True)]
    for one in parameters:
        role, needed = _find_argument_role(one), one.default is one.empty
        by_name = one.kind in (_EITHER, _NAMED) and one not in required and role not in roles
        if by_name and (role == "rng" or (role == "trials" and needed)):
            found.append(Argument(role, one.name, by_name=True))
    return CallForm("", tuple(found))


def _find_argument_role(one: inspect.Parameter) -> Role:
    # Where evaluation of annotations is postponed, an annotation is text.
    if str(one.annotation).endswith(_GENERATORS) or one.annotation in (Generator, RandomState):
        return "rng"
    name = one.name.lower().strip("_")
    if name in _RNG or (name in _SHORT and one.default is one.empty):
        return "rng"
    return "trials" if name in _TRIALS else "data"


def _roles_of(required: list[inspect.Parameter], function: Callable[..., Any]) -> tuple[Role, ...]:
    """Return the roles of required arguments, by name; the data may have any, and are first.

    Nothing is guessed: a number of bins that is given how many outputs to draw is no error, and
    its outputs are those of something else.
    """
    roles = list(map(_find_argument_role, required))
    if roles and "data" not in roles:
        roles[0] = "data"
    twice = [one.name for n, one in enumerate(required) if roles[n] in roles[:n]]
    if twice or not roles:
        called = getattr(function, "__qualname__", type(function).__name__)
        shown = VerbatimText(f"{called}({', '.join(one.name for one in required)})")
        known = "one whose arguments are the data and, optionally, trials and rng"
        expected = f"{known}: {_format_argument_hint(twice[0])}" if twice else known
        raise InvalidArgument("mechanism", shown, expected)
    return tuple(roles)


def _format_argument_hint(name: str) -> str:
    """Return advice on an argument that is neither data, trials nor a generator."""
    return (_OF_LABELS if name.lower() in _LABELS else _HINT).format(name)


When = Literal["first", "later"]  # calls of an instance
_called_before: set[int] = set()  # instances that had their first call in this process, by id
_returned: set[int] = set()  # what was called in this process and returned, by its id


@dataclass(frozen=True)
class Calls:
    """Other people's code, and how it is called to draw observations.

    Parameters
    ----------
    function
        A function, an object or a class.
    form
        How it is called.
    read
        What is looked at: a function of what was returned (of an estimator, of the fitted copy), or
        the name of an attribute, or several.
    fresh
        What is made anew before every output; None for nothing.
    when, again
        Of an instance that calls change: whether outputs are those of its first call or of its
        later ones, and what makes another one that was not called yet.
    """

    function: Any
    form: CallForm
    read: Any = None
    fresh: Fresh | None = None
    when: When | None = None
    again: Callable[[], Any] | None = None

    def observations(self, dataset: Any, trials: int, rng: Generator) -> Any:
        """Return ``trials`` observations: an array, or a list of whatever they are.

        Code that is given no ``rng`` may draw from the global generators of numpy and of the
        standard library: these are then set from it.
        """
        with self.generators(rng):
            if (self.fresh is not None or self.when == "first") and self.form.many:
                return [self._first(self.one(dataset, rng)) for _ in range(trials)]
            if not self.form.many:
                return [self.one(dataset, rng) for _ in range(trials)]
            self._call_before(dataset, rng)
            many = self._call(dataset, trials, rng)
        if self.read is None:
            return many
        return [read_observation(self.read, one) for one in require_observation_count(many, trials)]

    @property
    def has_returned(self) -> bool:
        """Whether an earlier call of this process returned, of one and the same object."""
        return not self.form.made and id(self.function) in _returned

    def generators(self, rng: Generator) -> AbstractContextManager[None]:
        """Set the global generators for some calls, of code that is given none."""
        given = any(one.role == "rng" for one in self.form.arguments)
        return nullcontext() if given else _global_generators(rng)

    def one(self, dataset: Any, rng: Generator) -> Any:
        """Return one observation; of code that draws several, the value it returns for one."""
        if self.when == "first" and self.again is not None:
            return replace(self, function=self.again(), when=None).one(dataset, rng)
        self._call_before(dataset, rng)
        if self.fresh is not None:
            self.fresh.make(self.function, rng)
        if self.form.many:
            return self._call(dataset, 1, rng)
        if self.form.method == "fit":
            found = self._fitted(dataset, rng)
        else:
            found = self._call(dataset, 1, rng)
        return found if self.read is None else read_observation(self.read, found)

    def _call_before(self, dataset: Any, rng: Generator) -> None:
        """Let an instance of which later calls count have its first one."""
        if self.when == "later" and id(self.function) not in _called_before:
            _called_before.add(id(self.function))
            with suppress(Exception):  # what every call raises, the next one does
                replace(self, when=None).one(dataset, rng)

    def _first(self, many: Any) -> Any:
        """Return the one output of a call that was asked for one, as it is looked at."""
        found = require_observation_count(many, 1)[0]
        return found if self.read is None else read_observation(self.read, found)

    def _call(self, dataset: Any, trials: int, rng: Generator) -> Any:
        values: dict[Role, Any] = {"data": _copy_dataset(dataset), "trials": trials, "rng": rng}
        form = self.form
        target = self.function() if form.made else self.function
        method = getattr(target, form.method) if form.method else target
        placed, named = [], {}
        for one in form.arguments:
            if one.by_name:
                named[one.name] = one.of(values[one.role])
            else:
                placed.append(one.of(values[one.role]))
        if self.fresh is not None:
            named |= self.fresh.arguments(self.function, rng)
        found = method(*placed, **named)
        if self.when is not None or self.again is None:  # else one for one call, with an id no more
            _returned.add(id(self.function))
        return found

    def _fitted(self, dataset: Any, rng: Generator) -> Any:
        """Return a fresh copy of an estimator, fitted with randomness of its own."""
        model = self.function() if self.form.made else _clone_unfitted(self.function)
        _set_estimator_seeds(model, rng)
        parameters: dict[str, Any] = getattr(model, "get_params", dict)()
        if "random_state" in parameters and parameters["random_state"] is None:
            model.set_params(random_state=int(rng.integers(2**32)))
        data = _copy_dataset(dataset)
        fitted = model.fit(*data) if isinstance(data, tuple) else model.fit(data)
        return model if fitted is None else fitted


def read_observation(read: Any, found: Any) -> Any:
    """Return the observed part: ``read(found)``, or attributes by their names."""
    if isinstance(read, str | list | tuple):
        names = [read] if isinstance(read, str) else read
        return {name: getattr(found, name) for name in names}
    return read(found)


_COPIED = (list, dict, set)
_ATOMS = frozenset((int, float, complex, bool, str, bytes, type(None)))
_SMALL = 2**16  # entries of an array that is copied for every call
_flat: dict[int, tuple[Any, bool]] = {}  # whether data hold nothing that can be changed, by id


def _copy_dataset(dataset: Any) -> Any:
    """Return data that a call may change for itself; of large arrays the array itself."""
    kind = type(dataset)
    if kind in _COPIED:
        return dataset.copy() if _is_flat(dataset) else copy.deepcopy(dataset)
    if kind in _ATOMS:
        return dataset
    if kind is tuple:
        return tuple(map(_copy_dataset, dataset))
    if isinstance(dataset, np.ndarray):
        return dataset.copy() if dataset.size <= _SMALL else dataset
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(dataset, pandas.DataFrame | pandas.Series):
        return dataset.copy()
    try:
        return copy.deepcopy(dataset)
    except (TypeError, ValueError, AttributeError, RuntimeError, copy.Error):  # it cannot be
        return dataset


def _is_flat(dataset: Any) -> bool:
    """Return whether the members of a container are numbers and text alone."""
    # An id may be that of another object by now, so that the object itself is compared, too.
    known = _flat.get(id(dataset))
    if known is None or known[0] is not dataset:
        members = dataset.values() if isinstance(dataset, dict) else dataset
        while len(_flat) > 8:
            _flat.pop(next(iter(_flat)))
        known = _flat[id(dataset)] = (dataset, all(type(one) in _ATOMS for one in members))
    return known[1]


def _set_estimator_seeds(model: Any, rng: Generator) -> None:
    """Give generators that an estimator holds numbers of their own: a copy has the same again."""
    for held in list(getattr(model, "__dict__", {}).values()):
        if isinstance(held, Generator):
            fresh = type(held.bit_generator)(int(rng.integers(2**63)))
            held.bit_generator.state = fresh.state
        elif isinstance(held, np.random.RandomState | random.Random):
            held.seed(int(rng.integers(2**32)))


def _clone_unfitted(model: Any) -> Any:
    # Whoever has an estimator of scikit-learn has imported it: nobody else pays for the import.
    if hasattr(model, "get_params") and "sklearn" in sys.modules:
        from sklearn.base import clone

        return clone(model)
    return copy.deepcopy(model)


@contextmanager
def _global_generators(rng: Generator) -> Iterator[None]:
    """Give the global generators numbers that follow from ``rng``, and then their own again.

    Nothing is taken from ``rng`` itself: they are seeded by a copy.
    """
    seeds = copy.deepcopy(rng).integers(2**32, size=8, dtype=np.uint32)
    numpy_state, state = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(seeds[:4])  # noqa: NPY002
    random.seed(seeds[4:].tobytes())
    try:
        yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(state)


def function_of(mechanism: Any) -> Any:
    """Return the function, object or class that a mechanism calls; itself if it has one."""
    calls = getattr(mechanism, "calls", None)
    return calls.function if isinstance(calls, Calls) else mechanism
