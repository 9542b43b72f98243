"""Products of public arrays with affine ones, as sparse matrices: whatever `numpy.einsum` can say.

``einsum("ij,jk->ik", public, form)`` makes each entry of the result a sum over those of the form.
For every entry of the public array that is not 0, and every choice of the letters that it lacks,
one number stands in the row of the result and in the column of the form.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpaudit.affine.kinds import SparseMatrix


class Contraction(NamedTuple):
    """Letters of the axes: of the public array, of the form, and of the result."""

    public: str
    form: str
    result: str


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Nonzero(NamedTuple):
    """The nonzeros of a public array: their places by axis, their values, and the array's shape."""

    places: tuple[NDArray[Any], ...]
    numbers: NDArray[Any]
    shape: tuple[int, ...]


def find_nonzero_entries(public: NDArray[Any]) -> Nonzero:
    """Return the nonzeros of an array."""
    # np.nonzero refuses arrays without axes.
    if not public.ndim:
        return Nonzero((), public.reshape(1)[public.reshape(1) != 0], ())
    places = np.nonzero(public)
    return Nonzero(places, public[places], public.shape)


def matrix_of(letters: Contraction, public: Nonzero, shape: tuple[int, ...]) -> SparseMatrix:
    """Return the matrix that takes a form of a shape, flattened, to the result, flattened.

    Examples
    --------
    >>> made = matrix_of(
    ...     Contraction("ij", "j", "i"), find_nonzero_entries(np.array([[1.0, 2.0]])), (2,)
    ... )
    >>> made.rows, made.columns, made.numbers.tolist()
    (1, 2, [1.0, 2.0])
    """
    sizes = dict(zip(letters.form, shape, strict=True))
    for one, size in zip(letters.public, public.shape, strict=True):
        if sizes.setdefault(one, size) != size:
            raise ValueError(f"axes of {sizes[one]} and of {size} are summed over, or broadcast")
    free = [one for one in letters.form if one not in letters.public]
    count, where = len(public.numbers), public.places
    at = {one: where[n][:, None] for n, one in enumerate(letters.public)}
    width = int(np.prod([sizes[one] for one in free], dtype=np.int64))
    grid = np.indices([sizes[one] for one in free]).reshape(len(free), width)
    at |= {one: grid[n][None, :] for n, one in enumerate(free)}
    rows = _compute_flat_indices([(at[one], sizes[one]) for one in letters.result], (count, width))
    columns = _compute_flat_indices([(at[one], sizes[one]) for one in letters.form], (count, width))
    numbers = np.repeat(public.numbers, width)
    # A sparse matrix has its entries row after row.
    order = np.argsort(rows, kind="stable")
    total = int(np.prod([sizes[one] for one in letters.result], dtype=np.int64))
    return SparseMatrix(
        total, int(np.prod(shape, dtype=np.int64)), rows[order], columns[order], numbers[order]
    )


def _compute_flat_indices(
    axes: list[tuple[NDArray[Any], int]], shape: tuple[int, int]
) -> NDArray[np.int64]:
    """Return the place in a flattened array for each choice of the letters."""
    places = np.zeros(shape, dtype=np.int64)
    for index, size in axes:
        places = places * size + index
    return places.ravel()


def of_matmul(public: int, form: int, *, form_is_left: bool) -> Contraction:
    """Return the letters of ``public @ form``, or of ``form @ public``, of so many axes."""
    left, right = (form, public) if form_is_left else (public, form)
    if not left or not right:
        raise ValueError("matmul: scalars have no axes to sum over")
    batch = _LETTERS[: max(left - 2, right - 2, 0)]
    of_left = batch[len(batch) - max(left - 2, 0) :] + ("xk" if left > 1 else "k")
    of_right = batch[len(batch) - max(right - 2, 0) :] + ("ky" if right > 1 else "k")
    result = batch + ("x" if left > 1 else "") + ("y" if right > 1 else "")
    return Contraction(*((of_right, of_left) if form_is_left else (of_left, of_right)), result)


def of_dot(public: int, form: int, *, form_is_left: bool) -> Contraction:
    """Return the letters of `numpy.dot`: the last axis with the last but one."""
    left, right = (form, public) if form_is_left else (public, form)
    of_left = _LETTERS[: left - 1] + "z"
    more = _LETTERS[left - 1 : left - 1 + right - 1]
    of_right = more[:-1] + "z" + more[-1:] if right > 1 else "z"
    result = (of_left + of_right).replace("z", "")
    return Contraction(*((of_right, of_left) if form_is_left else (of_left, of_right)), result)


def of_einsum(text: str, form_at: int, axes: tuple[int, int]) -> Contraction:
    """Return the letters of an `numpy.einsum` of two operands, of which one is a form.

    Raises
    ------
    ValueError
        The letters are not those of two operands of so many axes, or repeat in one of them.
    """
    given, _, result = text.replace(" ", "").partition("->")
    operands = given.split(",")
    if "->" not in text:
        joined = "".join(operands)
        result = "".join(sorted(one for one in set(joined) if joined.count(one) == 1))
    if len(operands) != 2 or "." in text or tuple(map(len, operands)) != axes:
        raise ValueError(f"einsum: {text!r} is not of two operands of {axes} axes")
    # A letter that repeats takes a diagonal, which this table of letters cannot say.
    if any(len(set(one)) < len(one) for one in (*operands, result)):
        raise ValueError(f"einsum: {text!r} repeats a letter in one operand")
    return Contraction(operands[1 - form_at], operands[form_at], result)
