"""Numbers that remember that they are noise, so that the values they are added to are seen.

A float or an array that an intercepted primitive returned is of a subclass. Its arithmetic is that
of plain numbers, to the last bit. Where it is added to a number that is no noise, the sum without
its noise, the *centre*, is noted with the place in the source; where it is compared with a number,
so is their difference without the noise. Whatever else is done to it gives plain numbers.
"""

from __future__ import annotations

import sys
import sysconfig
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

MOST_MEETINGS = 64  # of one call
_LIBRARIES = frozenset(("numpy", "scipy", "torch", "random", "secrets", "contextlib"))
_HERE = __name__.rpartition(".")[0]
_ROOMS = ("affine", "laws", "mechanisms", "proving", "replaying", "tracing")
_OURS = (_HERE, *(f"dpaudit.{room}." for room in _ROOMS))


@dataclass
class Meeting:
    """A sum of a value and noise: where it was made, its centre, and the factor of the noise."""

    place: str
    centre: Any
    factor: Any


@dataclass
class Comparison:
    """A value with noise compared with another: their difference, with and without the noise.

    ``terms`` are the numbers of the calls whose noise is in the difference, and what it is times.
    """

    difference: Any
    centre: Any
    terms: tuple[tuple[int, Any], ...]


@dataclass
class Call:
    """One call of a random primitive.

    Parameters
    ----------
    index, kind, name
        Its number in the run, the law, and what was called.
    place, stack
        Where in the source, and the calls around it, outermost first.
    shape, location, scale
        Of what is drawn; location and scale are None of a law that has none.
    key
        Which frozen draw it is: the k-th of its kind and shape.
    draw
        The standard draw, or the noise that a mechanism of a package added.
    parameters
        Whatever else it was called with, as text.
    declared
        What a mechanism says of itself: sensitivity, epsilon, delta.
    parent
        The number of the mechanism of a package inside which it was made.
    source
        Where its bits come from: the generator that the function was given, one that lived before
        and was seeded, the system, or any other.
    """

    index: int
    kind: str
    name: str
    place: str
    stack: tuple[str, ...]
    shape: tuple[int, ...]
    key: str
    location: Any = None
    scale: Any = None
    draw: Any = None
    parameters: dict[str, str] = field(default_factory=dict)
    declared: dict[str, float] = field(default_factory=dict)
    parent: int | None = None
    source: str = "other"
    meetings: list[Meeting] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)

    def meet(self, centre: Any, factor: Any) -> None:
        """Note that the noise was added to a value."""
        if len(self.meetings) < MOST_MEETINGS:
            self.meetings.append(Meeting(place(), np.array(centre, dtype=float), factor))

    def compare(self, comparison: Comparison) -> None:
        """Note that a value with the noise was compared with another."""
        if len(self.comparisons) < MOST_MEETINGS:
            self.comparisons.append(comparison)


def frames() -> list[str]:
    """Return the calls of other people's code that are under way, outermost first.

    Those of installed packages are left out, but where there is no other code.
    """
    found, installed = list[str](), list[str]()
    for file, line, name in _calls():
        (installed if is_installed(file) else found).append(_line_of(file, line, name))
    return (found or installed)[::-1]


def _calls() -> Iterator[tuple[str, int, str]]:
    """Yield file, line and name of calls of other people's code, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(_OURS):
            if frame.f_code.co_name == "record":
                break
        elif module.partition(".")[0] not in _LIBRARIES:
            yield frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]


@lru_cache(maxsize=4096)
def _line_of(file: str, line: int, name: str) -> str:
    short = file.replace("\\", "/").rpartition("/")[2]
    return f"{short}:{line} in {name}"


_STANDARD = sysconfig.get_paths()["stdlib"]
_PACKAGES = {"site-packages", "dist-packages"}


def in_library() -> bool:
    """Return whether the innermost line that is not of these modules is of a library."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back  # type: ignore[assignment]
    file = "<" if frame is None else frame.f_code.co_filename
    return file.startswith("<") or is_installed(file)


@lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Return whether a file is Python's or an installed package's; code of no file is neither's."""
    folders = file.replace("\\", "/").split("/")[:-1]
    return file.startswith(("<frozen", _STANDARD)) or not _PACKAGES.isdisjoint(folders)


def innermost() -> tuple[str, int, str]:
    """Return file, line and name of the innermost code of other people that is under way."""
    found = list(_calls())
    own = (one for one in found if not is_installed(one[0]))
    return next(own, found[0] if found else ("", 0, ""))


def place() -> str:
    """Return the innermost line of other people's code that is under way."""
    first = None
    for file, line, name in _calls():
        if not is_installed(file):
            return _line_of(file, line, name)
        first = first or _line_of(file, line, name)
    return first or "?"


_FLOAT = np.dtype(float)
_LINEAR = {
    np.add: "sum",
    np.subtract: "sum",
    np.multiply: "product",
    np.true_divide: "product",
    np.negative: "product",
}


_COMPARING = (np.greater, np.greater_equal, np.less, np.less_equal)


class Symbolic(ABC):
    """Numbers that stand for those of many runs: noise is added to them as to any number.

    Attributes
    ----------
    is_scale
        Whether noise may be multiplied by them, where they are the scale of a law.
    """

    is_scale = False

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""

    @abstractmethod
    def plain(self, reason: str) -> Any:
        """Return the numbers if they are those of every run; or refuse them, for a reason."""

    def length(self) -> int | None:
        """Return how many draws it says that there are; None for one for each record."""
        return int(self.plain("the number of draws depends on data or noise"))


def numbers(value: Any, name: str) -> Any:
    """Return a parameter of a law as numbers; a location, or a scale, may stand for many runs'."""
    if isinstance(value, Symbolic):
        if name == "loc" or value.is_scale:
            return value
        value = value.plain(f"the {name} of noise depends on data or noise")
    found = plain(value)
    return np.asarray(found) if np.ndim(found) else float(found)


def length(size: Any) -> int | None:
    """Return how many draws there are to be; None for one for each record."""
    return size.length() if isinstance(size, Symbolic) else int(size)


def plain(value: Any) -> Any:
    """Return a number without its memory."""
    if isinstance(value, NoisyArray):
        return value.view(np.ndarray)
    if isinstance(value, NoisyScalar):
        return np.float64(value)
    return float(value) if isinstance(value, Noisy) else value


def follow_operation(ufunc: Any, inputs: tuple[Any, ...], result: Any) -> Any:
    """Return the result of one operation with its memory, if it is a linear one of one noise."""
    noisy = [one for one in inputs if isinstance(one, _KINDS) and one.call is not None]
    kind = _LINEAR.get(ufunc)
    # Of a sum of two noises no single call could tell the centre.
    if len(noisy) != 1 or kind is None or getattr(result, "dtype", _FLOAT).kind != "f":
        return result
    one = noisy[0]
    # A number over noise is not linear in it.
    if (call := one.call) is None or (ufunc is np.true_divide and inputs[0] is not one):
        return result
    centre = ufunc(*(np.asarray(one.centre) if given is one else given for given in inputs))
    if kind == "sum":
        factor = -one.factor if ufunc is np.subtract and inputs[0] is not one else one.factor
        call.meet(centre, factor)
    else:
        factor = ufunc(*(one.factor if given is one else given for given in inputs))
    return remembering(result, call, centre, factor)


def note_comparison(inputs: tuple[Any, ...]) -> None:
    """Note that two numbers are compared of which one is noise, or has some."""
    noisy = [one for one in inputs if isinstance(one, _KINDS) and one.call is not None]
    sides = [np.asarray(plain(one)) for one in inputs]
    if not noisy or not all(side.dtype.kind in "biuf" for side in sides):
        return
    centres = [
        one.centre if any(one is its for its in noisy) else side
        for one, side in zip(inputs, sides)  # noqa: B905
    ]
    terms = tuple(
        (one.call.index, one.factor if one is inputs[0] else -one.factor)
        for one in noisy
        if one.call is not None
    )
    if (call := noisy[0].call) is not None:
        call.compare(Comparison(_apart(*sides), _apart(*centres), terms))


def _apart(one: Any, other: Any) -> Any:
    return np.subtract(np.asarray(one, float), np.asarray(other, float))


def remembering(value: Any, call: Call, centre: Any, factor: Any = 1.0) -> Any:
    """Return a float or an array of floats that remembers the call that made it noise."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim:
        made: Any = value.view(NoisyArray)
    elif type(value) is float:
        made = Noisy(value)
    elif type(value) is np.float64:
        made = NoisyScalar(value)
    else:
        return value
    made.call, made.centre, made.factor = call, centre, factor
    return made


def _scalar(ufunc: Any, swapped: bool, exact: Callable[[float, Any], Any]) -> Any:
    def operation(self: Any, other: Any) -> Any:
        if isinstance(other, np.ndarray | np.generic):
            return ufunc(other, self) if swapped else ufunc(self, other)
        result = exact(float(self), plain(other))
        if result is NotImplemented or not isinstance(other, int | float):
            return result
        return follow_operation(ufunc, (other, self) if swapped else (self, other), result)

    return operation


def _make_comparison(exact: Callable[[float, Any], Any]) -> Any:
    def operation(self: Any, other: Any) -> Any:
        if (result := exact(self, other)) is not NotImplemented:
            note_comparison((self, other))
        return result

    return operation


class Noisy(float):
    """A float that is noise, or a value with noise."""

    __slots__ = ("call", "centre", "factor")
    call: Call | None
    centre: Any
    factor: Any

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _apply_plain_operation(ufunc, method, inputs, options)

    __add__ = _scalar(np.add, False, float.__add__)
    __radd__ = _scalar(np.add, True, float.__radd__)
    __sub__ = _scalar(np.subtract, False, float.__sub__)
    __rsub__ = _scalar(np.subtract, True, float.__rsub__)
    __mul__ = _scalar(np.multiply, False, float.__mul__)
    __rmul__ = _scalar(np.multiply, True, float.__rmul__)
    __truediv__ = _scalar(np.true_divide, False, float.__truediv__)
    __lt__ = _make_comparison(float.__lt__)
    __le__ = _make_comparison(float.__le__)
    __gt__ = _make_comparison(float.__gt__)
    __ge__ = _make_comparison(float.__ge__)

    def __neg__(self) -> Any:
        return follow_operation(np.negative, (self,), -float(self))

    def __reduce__(self) -> Any:
        return float, (float(self),)

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def _through(ufunc: Any, swapped: bool = False) -> Any:
    def operation(self: Any, other: Any) -> Any:
        return ufunc(other, self) if swapped else ufunc(self, other)

    return operation


class NoisyScalar(np.float64):
    """A number of numpy's that is noise, or a value with noise."""

    call: Call | None = None
    centre: Any = None
    factor: Any = 1.0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _apply_plain_operation(ufunc, method, inputs, options)

    __add__ = _through(np.add)
    __radd__ = _through(np.add, swapped=True)
    __sub__ = _through(np.subtract)
    __rsub__ = _through(np.subtract, swapped=True)
    __mul__ = _through(np.multiply)
    __rmul__ = _through(np.multiply, swapped=True)
    __truediv__ = _through(np.true_divide)
    __lt__ = _through(np.less)
    __le__ = _through(np.less_equal)
    __gt__ = _through(np.greater)
    __ge__ = _through(np.greater_equal)

    def __neg__(self) -> Any:
        return np.negative(self)

    def __reduce__(self) -> Any:
        return np.float64, (float(self),)

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class NoisyArray(np.ndarray[Any, Any]):
    """An array of noise, or of values with noise; a part of it has no memory."""

    call: Call | None = None
    centre: Any = None
    factor: Any = 1.0

    def __array_finalize__(self, made_from: Any) -> None:
        # numpy calls this for every view and slice, of which nobody knows which entries of the
        # noise they have.
        self.call = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _apply_plain_operation(ufunc, method, inputs, options)

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()


_KINDS = (Noisy, NoisyScalar, NoisyArray)


def _apply_plain_operation(
    ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return the result on plain numbers; into a given array, if there is one."""
    into = options.get("out")
    if into is not None:
        options["out"] = tuple(map(plain, into))
        inputs = tuple(_copy_given_operand(one, into) for one in inputs)
    result = getattr(ufunc, method)(*map(plain, inputs), **options)
    if method != "__call__":
        return result
    if ufunc in _COMPARING:
        note_comparison(inputs)
        return result
    if into is None:
        return follow_operation(ufunc, inputs, result)
    after = follow_operation(ufunc, inputs, result)
    target = into[0]
    if isinstance(target, NoisyArray):
        kept = isinstance(after, NoisyArray)
        target.call = after.call if kept else None
        target.centre, target.factor = (after.centre, after.factor) if kept else (None, 1.0)
    return target


def _copy_given_operand(given: Any, into: tuple[Any, ...]) -> Any:
    """Return an operand as it was before the result is written over it."""
    if type(given) is np.ndarray and any(given is one for one in into):
        return given.copy()
    return given
