"""Forms that stand for arrays which a function makes itself, and functions of scipy on forms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from dpaudit.affine.form import AffineForm, FormTracing, NotAffine, holds_form
from dpaudit.freezing import constructors

# Functions that take lists for arrays, of which numpy does not ask the entries what they are.
_OF_ARRAYS = (
    *("sum", "mean", "average", "cumsum", "diff", "dot", "vdot", "inner", "outer", "kron"),
    *("tensordot", "convolve", "roll", "flip", "take", "repeat", "tile", "reshape", "ravel"),
    *("transpose", "squeeze", "pad", "broadcast_to", "atleast_1d", "atleast_2d"),
    *("shape", "ndim", "size"),
)
# Functions of scipy that are linear in the columns of one argument, and which one that is.
_OF_COLUMNS = {
    **{f"linalg.{name}": 1 for name in ("solve", "cho_solve", "lu_solve", "solve_triangular")},
    **{f"linalg.{name}": 1 for name in ("solve_toeplitz", "matmul_toeplitz", "solveh_banded")},
    "linalg.solve_banded": 2,
    "signal.lfilter": 2,
}
_FULL = np.full
_FULL_LIKE = np.full_like


def own_constructors(tracing: FormTracing, function: Any) -> AbstractContextManager[None]:
    """Let constructors of numpy that code of no library calls return forms.

    So do functions that code has imported by name: they are replaced in modules of no library, and
    where the globals of ``function`` hold them.
    """
    rooms = ("scipy.linalg", "scipy.signal")
    return constructors.replace_functions(_make_form_replacements(tracing), function, rooms)


def _make_form_replacements(tracing: FormTracing) -> Iterator[tuple[Any, Any]]:
    """Yield functions and their replacements."""
    of_arrays = [getattr(np, name) for name in _OF_ARRAYS]
    yield from constructors.common_replacements(_Forms(tracing), of_arrays)
    for path, place in _OF_COLUMNS.items():
        room, name = path.split(".")
        if (module := sys.modules.get(f"scipy.{room}")) is not None:
            yield getattr(module, name), _make_column_mapper(tracing, getattr(module, name), place)


@dataclass(frozen=True)
class _Forms:
    """Forms as stand-ins of arrays."""

    tracing: FormTracing

    def holds(self, value: Any) -> bool:
        """Return whether nested lists and tuples hold a form."""
        return holds_form(value)

    def of(self, value: Any) -> AffineForm:
        """Return a number, an array or nested lists of such as a form."""
        return self.tracing.form_of(value)

    def own(self, found: AffineForm) -> AffineForm:
        """Return an array of the same entries, of its own memory."""
        return found.as_array()

    def lying_in_rows(self, found: AffineForm) -> AffineForm:
        """Return an array that lies row after row: itself, or a copy."""
        return found if found.value.flags.c_contiguous and found.ndim else found.as_array()

    def is_array(self, found: AffineForm) -> bool:
        """Return whether a form is an array, and no number."""
        return found.is_array

    def is_hidden(self, value: Any) -> bool:
        """Return whether something is a form that holds data or noise."""
        return isinstance(value, AffineForm) and not value.is_public

    def of_made(self, made: Any) -> Any:
        """Return an array of doubles as a form, and any other as it is."""
        return made if made.dtype.kind in "biu" else self.tracing.public(made)

    def of_converted(self, value: Any, made: Any) -> Any:
        """Return an array of plain numbers as it is."""
        return made

    def refusal(self, reason: str) -> NotAffine:
        """Note a refusal, and return the error to raise for it."""
        return self.tracing.refuse(reason)

    def make(self, original: Any, given: Any, named: Any) -> AffineForm:
        """Return an array of the shape of a form, or one that is full of a form."""
        first, *others = given
        fill = others[0] if others else named.get("fill_value")
        # numpy would ask a form for one number to fill the array with, and lose what it depends
        # on.
        if original in (_FULL, _FULL_LIKE) and holds_form([fill]):
            form = self.tracing.form_of(fill)
            shape = first if original is _FULL else np.shape(first)
            ids, value = (np.broadcast_to(one, shape) for one in (form.ids, form.value))
            return AffineForm(self.tracing, ids.copy(), value.copy())
        made = original(first.value if isinstance(first, AffineForm) else first, *others, **named)
        return self.tracing.form_of(made)


def _make_column_mapper(
    tracing: FormTracing, original: Callable[..., Any], place: int
) -> Callable[..., Any]:
    """Return the map of a form's columns that maps all unit vectors alike."""

    @wraps(original)
    def apply(*given: Any, **named: Any) -> Any:
        if len(given) <= place or not holds_form(given[place]):
            return original(*given, **named)
        form = tracing.form_of(given[place])
        if original.__name__ == "lfilter":
            if named.keys() - {"axis"} or named.get("axis", -1) % max(form.ndim, 1):
                reason = "scipy.signal.lfilter has a state, or does not run along the first axis"
                raise tracing.refuse(reason)
            named = {"axis": 0}
        before, after = given[:place], given[place + 1 :]
        # A linear function is known by what it does to the unit vectors; the entries of its
        # matrix are rounded as the function's own are.
        found = original(*before, np.eye(len(form)), *after, **named) @ form
        return found.copy_in_layout_of(original(*before, form.value, *after, **named))

    return apply
