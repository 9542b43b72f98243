"""Arrays whose entries are affine in private data and noise, as numpy's code takes arrays.

A `AffineForm` holds an id of each entry, and its number in the traced run. What moves entries about
(indexing, views, reshaping, joining, writing in place) is done to both arrays by numpy itself, so
that forms share memory exactly where arrays do. Sums, and products with public numbers, append a
block to the program. Whatever else asks for a number that is not public is refused, for good: there
is no branch on data or noise, no comparison, no conversion, no function that is not linear.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from dpaudit.affine.messages import is_constant, is_number, parts_of
from dpaudit.affine.program import NOWHERE, AffineProgram, Ids
from dpaudit.errors import DpauditError, InvalidArgument, VerbatimText
from dpaudit.freezing import tracked_noise


class NotAffine(DpauditError):
    """An operation that is not affine in data and noise.

    Parameters
    ----------
    place
        The line of the source.
    reason
        What it does there.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(f"{place}: {reason}")


class FormRules(Protocol):
    """The results of numpy's operators and functions on forms."""

    def operate(self, tracing: FormTracing, operator: Any, given: Any, options: Any) -> Any:
        """Return the result of a universal function, by its method, on forms and arrays."""

    def call(self, tracing: FormTracing, function: Any, args: Any, named: Any) -> Any:
        """Return the result of any other function of numpy on arguments that hold forms."""


@dataclass(eq=False)
class FormTracing:
    """One run on forms: the program that it writes, and the first thing that is not affine.

    Parameters
    ----------
    program
        What is formed.
    rules
        What operators and functions of numpy make of forms.
    refusal
        Place and reason of the first refusal.
    unit
        The coordinate that is 1, where public numbers that are added count as well.
    last_product
        The last product with a public array, for the rules.
    """

    rules: FormRules
    program: AffineProgram = field(default_factory=AffineProgram)
    refusal: tuple[str, str] | None = None
    unit: int | None = None
    last_product: Any = None

    def refuse(self, reason: str, place: str | None = None) -> NotAffine:
        """Note a refusal, for good, and return the error to raise for it."""
        here = place or tracked_noise.place()
        # For good: code that catches the error and goes on is refused at the end all the same.
        self.refusal = self.refusal or (here, reason)
        return NotAffine(here, reason)

    def public(self, value: Any) -> AffineForm:
        """Return public numbers as a form, an array of its own."""
        numbers, is_array = np.array(value), isinstance(value, np.ndarray)
        ids = np.full(numbers.shape, NOWHERE, dtype=np.int64)
        return AffineForm(self, ids, numbers, is_array=is_array)

    def form_of(self, value: Any) -> AffineForm:
        """Return a number, an array or nested lists of such as a form."""
        if isinstance(value, AffineForm):
            return value
        if isinstance(value, list | tuple) and holds_form(value):
            parts = [self.form_of(one) for one in value]
            ids = np.stack([one.ids for one in parts])
            return AffineForm(self, ids, np.stack([one.value for one in parts]))
        return self.public(value)


def holds_form(value: Any) -> bool:
    """Return whether nested lists and tuples hold a form."""
    if isinstance(value, list | tuple):
        return any(map(holds_form, value))
    return isinstance(value, AffineForm)


class AffineForm(NDArrayOperatorsMixin, tracked_noise.Symbolic):
    """Numbers that are affine in private data and noise.

    Parameters
    ----------
    tracing
        The run.
    ids
        The coordinate of each entry; -1 for a public number.
    value
        The numbers of the run.
    is_array
        Whether a form of no axes is an array that can be written into, and no number.
    """

    __array_priority__ = 3000.0

    def __init__(
        self, tracing: FormTracing, ids: Ids, value: NDArray[Any], *, is_array: bool = False
    ) -> None:
        self.tracing, self.ids, self.value = tracing, ids, value
        self.is_array = is_array or bool(ids.ndim)

    def __setattr__(self, name: str, value: Any) -> None:
        # A new attribute, such as .shape, would change the form and not the arrays behind it.
        if name not in _OWN:
            raise self.refusal(f"the code sets .{name} of an array")
        super().__setattr__(name, value)

    # --- what arrays have --------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.ids.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.ids.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.ids.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the numbers."""
        return self.value.dtype

    @property
    def T(self) -> AffineForm:
        """The transpose, which shares its memory."""
        return AffineForm(self.tracing, self.ids.T, self.value.T, is_array=self.is_array)

    @property
    def memory(self) -> tuple[Ids, NDArray[Any]]:
        """Ids and numbers, for views; copies of a number's, as nothing is written into it."""
        if self.is_array:
            return self.ids, self.value
        return self.ids.copy(), self.value.copy()

    @property
    def is_public(self) -> bool:
        """Whether no entry holds data or noise."""
        return bool((self.ids == NOWHERE).all())

    # --- operations --------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "at":  # in place, which no other method is
            return self.tracing.rules.operate(self.tracing, (ufunc, method), inputs, options)
        into = options.pop("out", None)
        # Entries that a mask leaves out hold whatever the memory held, which has no coordinate.
        where = options.pop("where", True)
        if where is not True:
            raise self.refusal("no rule covers a function of numpy with where=")
        found = self._apply(ufunc, method, inputs, options)
        return found if into is None else self._written(into, found)

    def _apply(self, ufunc: Any, method: str, inputs: Any, options: Any) -> Any:
        given = [one.value if _is_plain(one) else one for one in inputs]
        if not any(isinstance(one, AffineForm) for one in given):
            found = getattr(ufunc, method)(*given, **options)
            # Only doubles may later have data written into them; other arrays stay plain.
            is_array = isinstance(found, np.ndarray) and found.dtype == np.float64
            return self.tracing.public(found) if is_array else found
        return self.tracing.rules.operate(self.tracing, (ufunc, method), given, options)

    def _written(self, into: Any, found: Any) -> Any:
        target = into[0] if isinstance(into, tuple) else into
        if not isinstance(target, AffineForm):
            raise self.refusal(_INTO_PLAIN)
        if not target.is_array:  # numbers are not changed in place
            return found
        target[...] = found
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return self.tracing.rules.call(self.tracing, function, args, options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        found = np.asarray(self.plain(_INTO_PLAIN), dtype=dtype)
        # numpy may write into what it gets; the numbers of the form must not follow.
        return found.copy() if copy or copy is None else found

    def plain(self, reason: str) -> NDArray[Any]:
        """Return the numbers of a form that holds neither data nor noise; refuse any other."""
        if not self.is_public:
            raise self.refusal(reason)
        return self.value

    def refusal(self, reason: str) -> NotAffine:
        """Note a refusal, and return the error to raise for it."""
        return self.tracing.refuse(reason)

    # --- parts -------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> AffineForm:
        at = self._public_key(key)
        ids, value = (one[at] for one in self.memory)
        is_array = isinstance(ids, np.ndarray)
        return AffineForm(self.tracing, np.asarray(ids), np.asarray(value), is_array=is_array)

    def __setitem__(self, key: Any, value: Any) -> None:
        at, given = self._public_key(key), self.tracing.form_of(value)
        # An array of integers would truncate what is written into it, which is not linear.
        if not given.is_public and self.dtype != np.float64:
            raise self.refusal(
                f"the code writes into an array of {self.dtype}, which is not an array of doubles"
            )
        self.ids[at] = given.ids
        self.value[at] = given.value

    def _public_key(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(map(self._public_key, key))
        return (
            key.plain("a position depends on data or noise") if isinstance(key, AffineForm) else key
        )

    def __iter__(self) -> Iterator[AffineForm]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[at] for at in range(len(self)))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __copy__(self) -> AffineForm:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> AffineForm:
        return self.copy()

    # --- methods -----------------------------------------------------------------------------

    def copy(self, *order: Any, **named: Any) -> AffineForm:
        """Return the same entries in memory of their own."""
        ids, value = (one.copy(*order, **named) for one in (self.ids, self.value))
        return AffineForm(self.tracing, ids, value, is_array=self.is_array)

    def as_array(self) -> AffineForm:
        """Return an array of the same entries, of its own memory."""
        return AffineForm(self.tracing, self.ids.copy(), self.value.copy(), is_array=True)

    def copy_in_layout_of(self, array: NDArray[Any]) -> AffineForm:
        """Return the same entries in memory of their own, in the order of an array's."""
        if not self.ndim:
            return self
        ids, value = (np.empty_like(array, dtype=one.dtype) for one in (self.ids, self.value))
        ids[...], value[...] = self.ids, self.value
        return AffineForm(self.tracing, ids, value, is_array=True)

    def astype(self, dtype: Any, *, copy: bool = True) -> AffineForm:
        """Return the same entries as doubles."""
        # numpy returns the same array then, and code that writes into it writes into the
        # original.
        if np.dtype(dtype) == self.dtype and not copy:
            return self
        if self.is_public:
            return self.tracing.public(self.value.astype(dtype))
        if np.dtype(dtype) != np.float64:
            raise self.refusal(f"the code rounds numbers to {np.dtype(dtype)}")
        return self.copy()

    def tolist(self) -> Any:
        """Return nested lists of single forms."""
        return [one.tolist() for one in self] if self.ndim else self

    def item(self, *at: Any) -> AffineForm:
        """Return one entry."""
        return self.flatten()[at[0] if len(at) == 1 else 0] if len(at) < 2 else self[at]

    def fill(self, value: Any) -> None:
        """Write one number everywhere."""
        self[...] = value

    def flatten(self, *order: Any, **named: Any) -> AffineForm:
        """Return the entries in a row, in memory of their own."""
        return self._moved("flatten", order, named)

    def reshape(self, *shape: Any, **named: Any) -> AffineForm:
        """Return the entries in another shape."""
        return self._moved("reshape", shape, named)

    def transpose(self, *axes: Any) -> AffineForm:
        """Return the axes in another order."""
        return self._moved("transpose", axes, {})

    def _moved(self, method: str, given: Any, named: Any) -> AffineForm:
        ids, value = (getattr(one, method)(*given, **named) for one in self.memory)
        return AffineForm(self.tracing, ids, value, is_array=True)

    def __getattr__(self, name: str) -> Any:
        if name in _AS_FUNCTIONS:
            return lambda *given, **named: self.tracing.rules.call(
                self.tracing, _AS_FUNCTIONS[name], (self, *given), named
            )
        # Python and numpy probe for special methods; their absence is an answer, and no
        # refusal.
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OF_PUBLIC and self.is_public:
            return getattr(self.value, name)
        raise self.refusal(f"no rule covers .{name} of a value that depends on data or noise")

    # --- what only public numbers have ---------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self.plain("the code branches on data or noise"))

    def __float__(self) -> float:
        return float(self.plain("the code takes float() of a value that depends on data or noise"))

    def __int__(self) -> int:
        return int(self.plain("the code takes int() of a value that depends on data or noise"))

    def __complex__(self) -> complex:
        return complex(
            self.plain("the code takes complex() of a value that depends on data or noise")
        )

    def __index__(self) -> int:
        return operator.index(self.plain("a position depends on data or noise")[()])

    def __round__(self, *digits: Any) -> Any:
        number: Any = self.plain("the code rounds a value that depends on data or noise")[()]
        return round(number, *digits)

    def __contains__(self, value: Any) -> bool:
        return value in self.plain("the code compares data or noise")

    def __hash__(self) -> int:
        return hash(
            self.plain("the code takes hash() of a value that depends on data or noise")[()]
        )

    def __format__(self, form: str) -> str:
        return format(
            self.plain("the code writes a value that depends on data or noise as text")[()], form
        )

    def __str__(self) -> str:
        return str(self.value) if self.is_public else repr(self)

    def __repr__(self) -> str:
        return f"Form(shape={self.shape})"

    def __reduce__(self) -> Any:
        raise self.refusal("a value that depends on data or noise leaves the process")


_INTO_PLAIN = (
    "the code writes a value that depends on data or noise into an array of plain "
    "numbers, or uses it as one: make that array inside the function with numpy.zeros, "
    "or join its parts with numpy.stack"
)
_OWN = frozenset(("tracing", "ids", "value", "is_array"))
_METHODS = "sum mean cumsum dot ravel squeeze swapaxes take repeat trace diagonal compress"
_AS_FUNCTIONS = {name: getattr(np, name) for name in _METHODS.split()}
_OF_PUBLIC = frozenset(  # none of them returns memory of the array
    "max min argmax argmin argsort any all nonzero std var prod round clip searchsorted".split()
)


def _is_plain(value: Any) -> bool:
    return isinstance(value, AffineForm) and value.is_public


NOT_READ = (
    "a {}, which dpaudit does not look into: return arrays, numbers, lists or dictionaries of them"
)


def forms_in(value: Any) -> list[AffineForm]:
    """Return the forms of an output, in order."""
    return [one for one in parts_of(value) if isinstance(one, AffineForm)]


def ids_of(value: Any) -> Ids:
    """Return the coordinates of all forms of an output, those that hold data or noise.

    Raises
    ------
    InvalidArgument
        It holds something that is neither numbers nor text, which nobody looks into.
    """
    for one in parts_of(value):
        if not isinstance(one, AffineForm) and not is_number(one) and not is_constant(one):
            shown = VerbatimText(NOT_READ.format(type(one).__name__))
            raise InvalidArgument(
                "observers", shown, "the returned value of a function, or parts of it"
            )
    every: Ids = np.concatenate([NO_IDS, *(one.ids.ravel() for one in forms_in(value))])
    return np.asarray(every[every != NOWHERE])


NO_IDS: Ids = np.zeros(0, dtype=np.int64)
