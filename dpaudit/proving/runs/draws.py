"""Draws of laws without location and scale: the request of a call, and its return value.

A run on symbols and a run on plain numbers read a call alike, so that the draws of one are those of
the other: `DrawRequest` has a law, its parameters and a shape, and says what the caller is given
for a draw, which is an array of numbers or the symbol of one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.freezing import tracked_noise
from dpaudit.freezing.tracked_noise import Call
from dpaudit.proving.program import Shape
from dpaudit.proving.symbols.labels import label_of
from dpaudit.proving.symbols.symbol import Symbol, holds_symbol

Array = NDArray[Any]
Given = Mapping[str, Any]


class NotFollowed(Exception):
    """A draw of which no program is written.

    Parameters
    ----------
    reason, cure
        As of a `Refusal`.
    """

    def __init__(self, reason: str, cure: str = "") -> None:
        self.reason, self.cure = reason, cure
        super().__init__(reason)


def _get_same_draw(draw: Any) -> Any:
    return draw


_LEAST_ODDS = 1e-15  # of a success: below, whole numbers of 64 bits end before the draws do


@dataclass(frozen=True, eq=False)
class DrawRequest:
    """One draw as a caller asks for it.

    Parameters
    ----------
    law, parameters, shape, dtype
        Of the node, as `dpaudit.proving.program` has them.
    sample
        Draws numbers of that law and shape; it is given the operands as well.
    operands
        What it depends on besides: numbers, or the symbols of such.
    present
        What the caller gets for the draw.
    """

    law: str
    parameters: Mapping[str, Any]
    shape: Shape
    sample: Callable[..., Any]
    operands: tuple[Any, ...] = ()
    present: Callable[[Any], Any] = _get_same_draw
    dtype: str = "int64"
    is_weak: bool = False


def read_call(call: Call, given: Given) -> DrawRequest:
    """Return the request of a primitive's call.

    Raises
    ------
    NotFollowed
        There is no law for it.
    """
    reader = _READERS.get(call.kind)
    if reader is None or (call.kind == "sample" and call.name.startswith("numpy")):
        raise NotFollowed(f"no rule covers the law from which {call.name} draws")
    is_python = call.name.startswith(("random.", "secrets."))
    is_scipy = call.name.startswith("scipy.")
    arguments = Arguments(given, call.name, is_python=is_python, is_scipy=is_scipy)
    asked: DrawRequest = reader(arguments)
    arguments.refuse_others()
    return asked


@dataclass(eq=False)
class Arguments:
    """The arguments of a primitive, by names or positions; each is read once."""

    given: Given
    title: str
    is_python: bool = False
    is_scipy: bool = False
    read: set[str] = field(default_factory=set)

    def get(self, place: int | None, name: str, default: Any = None) -> Any:
        """Return an argument by its place or its name."""
        key = str(place)
        if place is not None and key in self.given:
            self.read.add(key)
            return self.given[key]
        self.read.add(name)
        return self.given.get(name, default)

    def number(self, place: int | None, name: str, default: Any = None) -> Any:
        """Return a public number, or refuse one that records or noise decide."""
        return self.public(self.get(place, name, default), name)

    def public(self, value: Any, name: str) -> Any:
        """Return a number that no record and no noise decides."""
        if isinstance(value, Symbol):
            return value.plain(f"{name} of {self.title} depends on records or noise")[()]
        if holds_symbol(value):
            raise NotFollowed(f"{name} of {self.title} depends on records or noise")
        return tracked_noise.plain(value)

    def whole(self, place: int | None, name: str, default: Any = None) -> int:
        """Return a public whole number."""
        return operator.index(self.number(place, name, default))

    def refuse_location(self, place: int) -> None:
        """Refuse a location, which no law of whole numbers has here."""
        if self.number(place, "loc", 0) != 0:
            raise NotFollowed(f"the code gives {self.title} a location", "add it to the draw")

    def shape(self, place: int | None) -> Any:
        """Return the shape that ``size`` says."""
        size = self.get(place, "size")
        # scipy returns a number for size=1, where numpy returns an array of one entry.
        if self.is_scipy and size is not None and np.ndim(size) == 0 and size == 1:
            size = None
        if size is None:
            return ()
        given = size if isinstance(size, tuple | list | np.ndarray) else (size,)
        return tuple(one.length() if isinstance(one, Symbol) else int(one) for one in given)

    def refuse_others(self) -> None:
        """Refuse a call with arguments that nobody has read."""
        # An argument that nobody has read could change the law.
        others = [one for one in self.given if one not in self.read]
        if others:
            raise NotFollowed(f"no rule covers these arguments of {self.title}")


# --- whole numbers ---------------------------------------------------------------------------


def _of_range(low: int, high: int, shape: Any, *, is_python: bool) -> DrawRequest:
    """Return the request for whole numbers from ``low`` to ``high``, without it."""
    if not low < high:
        raise NotFollowed("the range of a draw holds no whole number")
    # Sums and differences of two such draws still fit into 64 bits.
    if max(-low, high) > 2**62:
        raise NotFollowed("the code draws whole numbers beyond 2**62")

    def sample(rng: Generator) -> Any:
        return rng.integers(low, high, size=shape or None)

    given = {"low": low, "high": high}
    return DrawRequest(
        "integers", given, shape, sample, present=_as_of(is_python), is_weak=is_python
    )


def _as_of(is_python: bool) -> Callable[[Any], Any]:
    """Return the conversion to a number of Python's, for a draw that is no symbol."""
    if not is_python:
        return _get_same_draw
    return lambda draw: draw if isinstance(draw, Symbol) else draw.item()


def _parse_integers_call(given: Arguments) -> DrawRequest:
    if given.is_scipy:
        low, high = given.whole(0, "low"), given.whole(1, "high")
        given.refuse_location(2)
        return _of_range(low, high, given.shape(3), is_python=False)
    low, high = given.whole(0, "low"), given.number(1, "high")
    shape = given.shape(2)
    dtype = np.dtype(given.get(3, "dtype", np.int64))
    more = bool(given.number(4, "endpoint", default=False))
    if dtype != np.int64 and dtype != np.dtype(int):
        raise NotFollowed(f"{given.title} draws numbers of {dtype}", "leave out dtype=")
    low, high = (0, low) if high is None else (low, operator.index(high))
    return _of_range(low, high + more, shape, is_python=given.is_python)


def _random_range(given: Arguments) -> DrawRequest:
    start, stop, step = given.whole(0, "start"), given.number(1, "stop"), given.whole(2, "step", 1)
    if step != 1:
        raise NotFollowed(f"the code gives {given.title} a step", "multiply the draw")
    low, high = (0, start) if stop is None else (start, operator.index(stop))
    return _of_range(low, high, (), is_python=True)


def _random_integer(given: Arguments) -> DrawRequest:
    if not given.is_python:
        return _parse_integers_call(given)
    return _of_range(given.whole(0, "a"), given.whole(1, "b") + 1, (), is_python=True)


def _parse_randbelow_call(given: Arguments) -> DrawRequest:
    return _of_range(0, given.whole(0, "exclusive_upper_bound"), (), is_python=True)


def _parse_randbits_call(given: Arguments) -> DrawRequest:
    return _of_range(0, 1 << given.whole(0, "k"), (), is_python=True)


def _get_probability_operand(given: Arguments, value: Any, name: str = "p") -> tuple[Any, ...]:
    """Return an operand where records or noise decide a probability, nothing elsewhere."""
    if isinstance(value, Symbol) and not value.is_public:
        return (value,)
    if holds_symbol(value):
        return (value[0].tracing.symbol_of(value),) if isinstance(value, list) else ()
    return ()


def _make_count_parser(
    law: str, count_place: int | None, count: int | None
) -> Callable[..., DrawRequest]:
    """Return the parser of a count of successes: of ``n`` tries, or of one."""

    def read(given: Arguments) -> DrawRequest:
        tries = given.whole(count_place, "n") if count is None else count
        place = 0 if count_place is None else count_place + 1
        p = given.get(place, "p", 0.5 if given.is_python else None)
        if given.is_scipy:
            given.refuse_location(place + 1)
        shape = given.shape(place + 1)
        operands = _get_probability_operand(given, p)
        known = {} if operands else {"p": _to_plain_probabilities(given.public(p, "p"))}
        of_one = {} if law == "bernoulli" else {"n": tries}
        shape = shape or np.broadcast_shapes(*(one.dims for one in operands))

        def sample(rng: Generator, *by: Any) -> Any:
            return rng.binomial(tries, by[0] if by else known["p"], size=shape or None)

        return DrawRequest(
            law, {**of_one, **known}, shape, sample, operands, _as_of(given.is_python),
            is_weak=given.is_python,
        )  # fmt: skip

    return read


def _to_plain_probabilities(p: Any) -> Any:
    found = np.asarray(p, dtype=float)
    return float(found) if not found.ndim else found.tolist()


def _parse_geometric_call(given: Arguments) -> DrawRequest:
    p = _to_plain_probabilities(given.number(0, "p"))
    if given.is_scipy:
        given.refuse_location(1)
    _require_noise(given, p)
    shape = given.shape(1)
    return DrawRequest(
        "geometric", {"p": p}, shape, lambda rng: rng.geometric(p, size=shape or None)
    )


def _require_noise(given: Arguments, p: Any) -> None:
    """Refuse geometric draws that are all 1, or so large that whole numbers end before."""
    if not np.all((np.asarray(p) >= _LEAST_ODDS) & (np.asarray(p) < 1)):
        raise NotFollowed(f"{given.title} cannot draw with these odds", "give odds from 0 to 1")


def _parse_poisson_call(given: Arguments) -> DrawRequest:
    mean = _to_plain_probabilities(given.number(0, "mu" if given.is_scipy else "lam", 1.0))
    shape = given.shape(1)
    return DrawRequest(
        "poisson", {"mean": mean}, shape, lambda rng: rng.poisson(mean, size=shape or None)
    )


def _discrete_laplace(given: Arguments) -> DrawRequest:
    rate = float(given.number(0, "a"))
    given.refuse_location(1)
    _require_noise(given, -np.expm1(-rate))
    shape = given.shape(2)

    def sample(rng: Generator) -> Any:
        p = -np.expm1(-rate)
        return rng.geometric(p, size=shape or None) - rng.geometric(p, size=shape or None)

    return DrawRequest("discrete-laplace", {"rate": rate}, shape, sample)


def _parse_gamma_call(given: Arguments) -> DrawRequest:
    if given.is_scipy:
        raise NotFollowed(f"no rule covers {given.title}", "draw with a generator of numpy")
    order, scale = float(given.number(0, "shape")), given.number(1, "scale", 1.0)
    return _of_order(given, order, scale, 2)


def _standard_gamma(given: Arguments) -> DrawRequest:
    return _of_order(given, float(given.number(0, "shape")), 1.0, 1)


def _of_order(given: Arguments, order: float, scale: Any, place: int) -> DrawRequest:
    shape = given.shape(place)
    return DrawRequest(
        "gamma", {"order": order}, shape, lambda rng: rng.standard_gamma(order, size=shape or None),
        present=lambda draw: draw * scale, dtype="float64",
    )  # fmt: skip


# --- choices ---------------------------------------------------------------------------------


def _parse_choice_call(given: Arguments) -> DrawRequest:
    options = given.get(0, "seq" if given.is_python else "a")
    count, present = _parse_options(given, options)
    if given.is_python:
        asked = _of_range(0, count, (), is_python=True)
        return DrawRequest(asked.law, asked.parameters, (), asked.sample, present=present)
    shape = given.shape(1)
    again = bool(given.number(2, "replace", default=True))
    p = given.get(3, "p")
    given.number(None, "shuffle", default=True)
    given.number(None, "axis", 0)
    return _of_options(given, count, shape, p, present, again=again)


def _parse_choices_call(given: Arguments) -> DrawRequest:
    count, present = _parse_options(given, given.get(0, "population"))
    weights, shape = given.get(1, "weights"), (given.whole(None, "k", 1),)
    if isinstance(weights, list) and holds_symbol(weights):
        total = weights[0].tracing.symbol_of(weights)
        weights = total / total.sum()
    elif weights is not None:
        weights = np.asarray(given.public(weights, "weights"), dtype=float)
        weights = weights / weights.sum()
    asked = _of_options(given, count, shape, weights, present, again=True)
    one_by_one = lambda draw: [present(draw[n]) for n in range(shape[0])]  # noqa: E731
    return DrawRequest(asked.law, asked.parameters, shape, asked.sample, asked.operands, one_by_one)


def _of_options(
    given: Arguments,
    count: int,
    shape: Any,
    p: Any,
    present: Callable[[Any], Any],
    *,
    again: bool,
) -> DrawRequest:
    operands = () if p is None else _get_probability_operand(given, p)
    known = None if p is None or operands else _to_plain_probabilities(given.public(p, "p"))
    if p is None and again:
        asked = _of_range(0, count, shape, is_python=False)
        return DrawRequest(asked.law, asked.parameters, shape, asked.sample, present=present)
    # The items that are left change the probabilities of each further draw.
    if not again and (operands or known is not None):
        raise NotFollowed(f"{given.title} draws without replacement by probabilities")

    def sample(rng: Generator, *by: Any) -> Any:
        weights = by[0] if by else known
        if weights is not None:
            # numpy refuses probabilities that miss the sum of 1 by rounding.
            weights = np.asarray(weights) / np.sum(weights)
        return rng.choice(count, size=shape or None, replace=again, p=weights)

    parameters: dict[str, Any] = {"count": count, "replace": again}
    if known is not None:
        parameters["p"] = known
    return DrawRequest("choice", parameters, shape, sample, operands, present)


def _parse_options(given: Arguments, options: Any) -> tuple[int, Callable[[Any], Any]]:
    """Return how many options there are, and the function that makes one of its number."""
    if isinstance(options, int | np.integer):
        return int(options), _get_same_draw
    # A copy, because the function may write into its array after the draw.
    if isinstance(options, Symbol) and options.is_public:
        options = options.plain("").copy()
    if isinstance(options, Symbol) or holds_symbol(options):
        raise NotFollowed(
            f"{given.title} chooses among values that depend on records or noise",
            "choose a public position",
        )
    if not isinstance(options, Sequence | np.ndarray | range):
        raise NotFollowed(f"{given.title} chooses from a {type(options).__name__}")
    if isinstance(options, np.ndarray) and options.ndim != 1:
        raise NotFollowed(f"{given.title} chooses rows of an array", "choose a public position")
    return len(options), lambda draw: _get_option(options, draw)


def _get_option(options: Any, draw: Any) -> Any:
    """Return the option of a number: itself, or a symbol that stands for all."""
    if not isinstance(draw, Symbol):
        if np.ndim(draw):
            return np.asarray(options)[np.asarray(draw)]
        return options[int(draw)]
    return label_of(draw, list(options))


def _parse_permutation_call(given: Arguments) -> DrawRequest:
    count = given.get(0, "x")
    if not isinstance(count, int | np.integer):
        raise NotFollowed(
            f"{given.title} reorders its argument",
            "draw a permutation of positions",
        )
    size = int(count)
    return DrawRequest("permutation", {"count": size}, (size,), lambda rng: rng.permutation(size))


def _in_place(given: Arguments) -> DrawRequest:
    raise NotFollowed(
        f"{given.title} reorders its argument",
        "take entries at a permutation of positions: x[rng.permutation(n)]",
    )


_READERS: dict[str, Callable[[Arguments], DrawRequest]] = {
    "integers": _parse_integers_call,
    "randint": _random_integer,
    "random_integers": _parse_integers_call,
    "randrange": _random_range,
    "_randbelow": _parse_randbelow_call,
    "getrandbits": _parse_randbits_call,
    "binomial": _make_count_parser("binomial", 0, None),
    "binomialvariate": _make_count_parser("binomial", 0, None),
    "binom": _make_count_parser("binomial", 0, None),
    "bernoulli": _make_count_parser("bernoulli", None, 1),
    "geometric": _parse_geometric_call,
    "geom": _parse_geometric_call,
    "poisson": _parse_poisson_call,
    "dlaplace": _discrete_laplace,
    "gamma": _parse_gamma_call,
    "standard_gamma": _standard_gamma,
    "choice": _parse_choice_call,
    "choices": _parse_choices_call,
    "permutation": _parse_permutation_call,
    "permuted": _in_place,
    "shuffle": _in_place,
}
"""What reads a call, by the kind that a primitive has when it is intercepted."""
