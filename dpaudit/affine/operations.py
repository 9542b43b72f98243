"""Sums of forms, and their products with public numbers: operators append them to a program."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dpaudit.affine.contraction import (
    Contraction,
    Nonzero,
    find_nonzero_entries,
    matrix_of,
    of_matmul,
)
from dpaudit.affine.form import AffineForm, FormTracing
from dpaudit.affine.kinds import DOUBLES, SparseMatrix
from dpaudit.affine.program import NOWHERE, BlockTerm, Ids

_EXACT = 2**53  # whole numbers up to here are doubles


def apply_ufunc(tracing: FormTracing, operator: Any, given: Any, options: Any) -> Any:
    """Return the result of a universal function of numpy, by its method, on forms and arrays."""
    ufunc, method = operator
    follows = not options.keys() - {"dtype"} and is_double(options.get("dtype"))
    if method == "__call__" and ufunc in _OPERATIONS and follows:
        return _OPERATIONS[ufunc](tracing, *given)
    if operator in _IN_PLACE:
        return _add_in_place(tracing, _IN_PLACE[operator], *given)
    if operator in _FINITE:
        return _FINITE[operator](np.where(given[0].ids == NOWHERE, given[0].value, 0.0))
    if operator in _METHODS:
        function, by_default = _METHODS[operator]
        return tracing.rules.call(tracing, function, tuple(given), by_default | options)
    named = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    raise tracing.refuse(f"numpy.{named} is not linear")


def is_double(dtype: Any) -> bool:
    """Return whether results of a type are not rounded to anything but doubles."""
    return dtype is None or np.dtype(dtype) == np.float64


def numbers_of(tracing: FormTracing, value: Any) -> NDArray[Any]:
    """Return public numbers as doubles or fractions that are exactly these, or refuse them."""
    if isinstance(value, AffineForm):
        value = value.plain("the code multiplies two numbers that depend on data or noise")
    found = np.asarray(value)
    if found.dtype == object:
        return _map_array_entries(found, lambda one: _parse_factor(tracing, one))
    if found.dtype.kind == "b" or (found.dtype.kind in "iu" and _are_doubles(found)):
        return found.astype(float)
    if found.dtype.kind in "iu":
        return _map_array_entries(found.astype(object), Fraction)
    if found.dtype.kind != "f" or not np.isfinite(found).all():
        raise tracing.refuse(f"a factor is not a finite real number: {found.dtype}")
    # Longer doubles would be rounded here, and the program would not be the function's.
    if found.dtype.itemsize > 8 and np.any(found.astype(float) != found):
        raise tracing.refuse(f"a factor is not a double: {found.dtype}")
    return found.astype(float)


def _map_array_entries(values: NDArray[Any], of: Callable[[Any], Any]) -> NDArray[Any]:
    found = np.empty(values.size, dtype=object)
    found[:] = [of(one) for one in values.ravel().tolist()]
    return found.reshape(values.shape)


def _are_doubles(whole: NDArray[Any]) -> bool:
    return all(abs(int(one)) <= _EXACT for one in (whole.max(initial=0), whole.min(initial=0)))


def _parse_factor(tracing: FormTracing, value: Any) -> Fraction:
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise tracing.refuse(f"a factor is not a number but {type(value).__name__}") from None


def doubles_of(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return fractions as the nearest doubles."""
    return np.asarray(numbers, dtype=float)


def _add_forms(tracing: FormTracing, one: Any, other: Any, sign: float = 1.0) -> AffineForm:
    left, right = _real_form(tracing, one), _real_form(tracing, other)
    value = left.value + right.value if sign > 0 else left.value - right.value
    ids = [np.broadcast_to(form.ids, value.shape) for form in (left, right)]
    return combine_coordinates(
        tracing, value, [(ids[0], None), (ids[1], None if sign > 0 else -1.0)]
    )


def _add_in_place(tracing: FormTracing, sign: float, into: Any, index: Any, added: Any) -> None:
    """Add numbers to places of an array, to each as often as it is named."""
    if not isinstance(into, AffineForm):
        raise tracing.refuse(
            "the code adds a value that depends on data or noise to an array of plain numbers"
        )
    places = np.arange(into.size).reshape(into.shape)[index]
    form = tracing.form_of(added)
    ids, value = (np.broadcast_to(one, places.shape).flatten() for one in (form.ids, form.value))
    # One after the other, since a place may be named twice.
    for n, place in enumerate(places.ravel().tolist()):
        at = np.unravel_index(place, into.shape)
        into[at] = _add_forms(
            tracing, into[at], AffineForm(tracing, ids[n : n + 1], value[n : n + 1])[0], sign
        )


def _real_form(tracing: FormTracing, value: Any) -> AffineForm:
    form = count_offsets(tracing, tracing.form_of(value))
    if form.is_public:
        numbers = doubles_of(numbers_of(tracing, form.value))
        return AffineForm(tracing, form.ids, numbers)
    return form


def count_offsets(tracing: FormTracing, form: AffineForm, *, zeros: bool = False) -> AffineForm:
    """Return a form whose public numbers are multiples of the coordinate that is 1, if any is."""
    public = (form.ids == NOWHERE) & (zeros | (form.value != 0))
    if tracing.unit is None or not public.any():
        return form
    numbers = numbers_of(tracing, form.value[public])
    ids, value = form.ids.copy(), np.array(form.value, dtype=float)
    ids[public] = tracing.program.add_sum(BlockTerm(np.full(len(numbers), tracing.unit), numbers))
    return AffineForm(tracing, ids, value)


def combine_coordinates(
    tracing: FormTracing, value: NDArray[Any], parts: list[tuple[Ids, float | None]]
) -> AffineForm:
    """Return entries that are sums of coordinates, each times a number; public ones stay so."""
    counted = [(ids.ravel(), factor) for ids, factor in parts if (ids != NOWHERE).any()]
    shape = value.shape
    if not counted:
        return _make_aligned_form(tracing, np.full(shape, NOWHERE, dtype=np.int64), value)
    if len(counted) == 1 and counted[0][1] is None:
        return _make_aligned_form(tracing, counted[0][0].reshape(shape), value)
    some = np.logical_or.reduce([ids != NOWHERE for ids, _ in counted])
    terms = [
        BlockTerm(ids[some], None if factor is None else np.full(int(some.sum()), factor))
        for ids, factor in counted
    ]
    return _scatter_form_ids(tracing, tracing.program.add_sum(*terms), some, value)


def _scatter_form_ids(
    tracing: FormTracing, found: Ids, some: NDArray[np.bool_], value: NDArray[Any]
) -> AffineForm:
    ids = np.full(value.size, NOWHERE, dtype=np.int64)
    ids[some] = found
    return _make_aligned_form(tracing, ids.reshape(value.shape), value)


def _make_aligned_form(tracing: FormTracing, ids: Ids, value: NDArray[Any]) -> AffineForm:
    """Return a form whose ids lie in memory as its numbers do: a view of one is of both."""
    numbers = np.asarray(value, dtype=float)
    placed = np.empty_like(numbers, dtype=np.int64, subok=False)
    placed[...] = ids
    return AffineForm(tracing, placed, numbers)


def _scale_form(
    tracing: FormTracing, form: Any, factor: Any, *, divides: bool = False
) -> AffineForm:
    numbers = numbers_of(tracing, factor)
    if divides and np.any(doubles_of(numbers) == 0):
        raise tracing.refuse("the code divides a value that depends on data or noise by 0")
    doubles = doubles_of(numbers)
    value = np.asarray(form.value / doubles if divides else form.value * doubles)
    ids = np.broadcast_to(form.ids, value.shape).ravel()
    each = np.broadcast_to(numbers, value.shape).ravel()
    # Times 0 nothing is left of a coordinate, so the entry is public.
    some = (ids != NOWHERE) & (each != 0)
    if not some.any():
        return _make_aligned_form(tracing, np.full(value.shape, NOWHERE, dtype=np.int64), value)
    made = tracing.program.add_sum(BlockTerm(ids[some], each[some], divides))
    return _scatter_form_ids(tracing, made, some, value)


def _multiply_forms(tracing: FormTracing, one: Any, other: Any) -> AffineForm:
    if isinstance(one, AffineForm) and isinstance(other, AffineForm):
        return _multiply_entries(tracing, one, other)
    return (
        _scale_form(tracing, one, other)
        if isinstance(one, AffineForm)
        else _scale_form(tracing, other, one)
    )


def _multiply_entries(tracing: FormTracing, one: AffineForm, other: AffineForm) -> AffineForm:
    """Return products of which each has one public factor: a scaled sum of both."""
    shape = np.broadcast_shapes(one.shape, other.shape)
    both = np.broadcast_to(one.ids, shape) != NOWHERE, np.broadcast_to(other.ids, shape) != NOWHERE
    if (both[0] & both[1]).any():
        raise tracing.refuse("the code multiplies two numbers that depend on data or noise")
    first = _scale_form(tracing, one, np.where(both[1], 0.0, np.broadcast_to(other.value, shape)))
    second = _scale_form(tracing, other, np.where(both[0], 0.0, np.broadcast_to(one.value, shape)))
    product = one.value * other.value
    public = np.where(both[0] | both[1], 0.0, product)
    ids = combine_coordinates(tracing, first.value, [(first.ids, None), (second.ids, None)]).ids
    moved = np.empty_like(product, dtype=float)
    moved[...] = np.where(both[0], first.value, np.where(both[1], second.value, public))
    return _make_aligned_form(tracing, ids, moved)


def _divide_form(tracing: FormTracing, one: Any, other: Any) -> AffineForm:
    if isinstance(other, AffineForm):
        other = other.plain("the code divides by a value that depends on data or noise")
    return _scale_form(tracing, one, other, divides=True)


def apply_matrix(
    tracing: FormTracing, matrix: SparseMatrix, form: AffineForm, shape: tuple[int, ...]
) -> AffineForm:
    """Return a matrix times a form that is flattened."""
    form = form if form.is_public else count_offsets(tracing, form)
    ids, value = form.ids.flatten(), form.value.ravel()  # what is written later is not in it
    found = DOUBLES.mix(matrix, value[:, None])[:, 0]
    used = np.zeros(matrix.rows, dtype=np.bool_)
    used[matrix.at_row[ids[matrix.at_column] != NOWHERE]] = True
    if not used.any():
        made = np.full(matrix.rows, NOWHERE, dtype=np.int64)
    else:
        made = tracing.program.add_sum(BlockTerm(ids, matrix=matrix))
        made = np.where(used, made, NOWHERE)
    return AffineForm(tracing, made.reshape(shape), found.reshape(shape))


def _apply_matmul(tracing: FormTracing, one: Any, other: Any) -> Any:
    left = isinstance(one, AffineForm)
    if left and isinstance(other, AffineForm):
        raise tracing.refuse("the code multiplies two arrays that depend on data or noise")
    form, public = (one, other) if left else (other, one)
    public = public if issparse(public) else np.asarray(public)
    batch = np.broadcast_shapes(form.shape[:-2], public.shape[:-2])
    form, public = (_broadcast_stack(part, batch) for part in (form, public))
    letters = of_matmul(public.ndim, form.ndim, form_is_left=left)
    shape = _shape_of_matmul(*((form.shape, public.shape) if left else (public.shape, form.shape)))
    return contract_form(tracing, letters, public, form, shape)


def _broadcast_stack(array: Any, batch: tuple[int, ...]) -> Any:
    """Return matrices as often as a product of stacks of them takes them."""
    if array.ndim <= 2 or array.shape[:-2] == batch:
        return array
    return np.broadcast_to(array, (*batch, *array.shape[-2:]))


def _shape_of_matmul(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a product, as `numpy.matmul` does without forming it."""
    if one[-1] != other[-2 if len(other) > 1 else 0]:
        raise ValueError(f"matmul: shapes {one} and {other} do not match")
    batch = np.broadcast_shapes(one[:-2], other[:-2])
    return batch + one[-2:-1] + (other[-1:] if len(other) > 1 else ())


class Product(NamedTuple):
    """A product that was formed: its coordinates and its matrix."""

    letters: Contraction
    shape: tuple[int, ...]
    public: NDArray[Any] | Nonzero
    matrix: SparseMatrix


def contract_form(
    tracing: FormTracing, letters: Contraction, public: Any, form: AffineForm, shape: Any
) -> AffineForm:
    """Return a product of a public array and a form, of a shape.

    The matrix of the last product is taken again for equal arrays, so that it is held once.
    """
    given = _nonzero_of(tracing, public) if issparse(public) else np.asarray(public)
    last: Product | None = tracing.last_product
    if last is None or not _are_equal(last, Product(letters, form.shape, given, last.matrix)):
        entries = (
            given
            if isinstance(given, Nonzero)
            else find_nonzero_entries(numbers_of(tracing, given))
        )
        own = given if isinstance(given, Nonzero) else given.copy()
        try:
            made = matrix_of(letters, entries, form.shape)
        except ValueError as error:
            raise tracing.refuse(str(error)) from None
        last = tracing.last_product = Product(letters, form.shape, own, made)
    return apply_matrix(tracing, last.matrix, form, shape)


def _are_equal(one: Product, other: Product) -> bool:
    """Return whether two products are of the same matrix."""
    if (one.letters, one.shape) != (other.letters, other.shape):
        return False
    if isinstance(one.public, Nonzero) or isinstance(other.public, Nonzero):
        return (
            isinstance(one.public, Nonzero)
            and isinstance(other.public, Nonzero)
            and one.public.shape == other.public.shape
            and np.array_equal(one.public.numbers, other.public.numbers)
            and all(map(np.array_equal, one.public.places, other.public.places))
        )
    kinds = {one.public.dtype.kind, other.public.dtype.kind}
    # Only of doubles does equality mean the same exact numbers; fractions and large integers
    # may compare equal after a conversion.
    return kinds == {"f"} and np.array_equal(one.public, other.public)


def _nonzero_of(tracing: FormTracing, public: Any) -> Nonzero:
    """Return the nonzeros of a sparse matrix of scipy."""
    made = public.tocoo()
    numbers = numbers_of(tracing, made.data)
    some = np.flatnonzero(numbers)
    return Nonzero(tuple(one[some] for one in made.coords), numbers[some], made.shape)


def to_dense(value: Any) -> Any:
    """Return a sparse matrix of scipy as an array; anything else as it is."""
    is_sparse = not isinstance(value, AffineForm) and hasattr(value, "toarray")
    return value.toarray() if is_sparse else value


_OPERATIONS: dict[Any, Callable[..., Any]] = {
    np.add: _add_forms,
    np.subtract: lambda tracing, one, other: _add_forms(tracing, one, other, -1.0),
    np.negative: lambda tracing, one: _scale_form(tracing, one, -1.0),
    np.positive: lambda tracing, one: one.copy(),
    np.multiply: _multiply_forms,
    np.true_divide: _divide_form,
    np.matmul: _apply_matmul,
}
_IN_PLACE = {(np.add, "at"): 1.0, (np.subtract, "at"): -1.0}
# Sums of finitely many numbers are finite.
_FINITE = {(one, "__call__"): one for one in (np.isfinite, np.isnan, np.isinf)}
# The functions that they are, and what these are given by default.
_METHODS: dict[Any, tuple[Any, dict[str, Any]]] = {
    (np.add, "reduce"): (np.sum, {"axis": 0}),
    (np.add, "accumulate"): (np.cumsum, {"axis": 0}),
    (np.multiply, "outer"): (np.multiply.outer, {}),
}
