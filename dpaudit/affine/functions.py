"""What functions of numpy do to forms: they move entries about, or are linear in them.

Functions that only move entries are applied to ids and to numbers alike, so that views stay views.
Where they fill up with 0, they are applied to ids one higher, as 0 has no coordinate. What else is
linear is a product with a public array. Everything else is refused, and so is every argument that
is not followed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.affine.contraction import Contraction, of_dot, of_einsum
from dpaudit.affine.form import (
    Form,
    Tracing,
    holds_form,
)
from dpaudit.affine.operations import contract, densely, is_double, operate
from dpaudit.affine.precise import invert
from dpaudit.affine.program import NOWHERE, Ids

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FILLING = {getattr(np, name) for name in ("tril", "triu", "diag", "diagflat", "resize")}
_MOVING = {
    getattr(np, name): 1
    for name in (
        "reshape ravel transpose swapaxes moveaxis rollaxis squeeze expand_dims broadcast_to "
        "concatenate stack vstack hstack dstack column_stack split array_split vsplit hsplit "
        "dsplit repeat tile roll flip fliplr flipud rot90 take take_along_axis delete atleast_1d "
        "atleast_2d atleast_3d diagonal diag diagflat tril triu resize copy block"
    ).split()
} | {np.append: 2}
"""Functions that move entries, and how many of their first arguments these are in."""
_HOW = frozenset(
    "shape newshape order axis axes source destination start reps repeats shift k offset "
    "axis1 axis2 indices_or_sections indices obj subok mode copy new_shape".split()
)
"""Arguments that say how entries move, and not of which type they are."""


def apply_function(tracing: Tracing, function: Any, args: Any, named: Any) -> Any:
    """Return what a function of numpy makes of arguments that hold forms."""
    into = named.get("out")
    if into is not None:
        found = apply_function(tracing, function, args, {**named, "out": None})
        return _write(tracing, into, found)
    named = {key: value for key, value in named.items() if key != "out"}
    if function in _MOVING:
        return _move(tracing, function, args, named)
    rule = _RULES.get(function)
    if rule is not None and _takes(rule, (tracing, *args), named):
        return rule(tracing, *args, **named)
    if (plain := _plainly((args, named))) is not None:
        return _apart(function(*plain[0], **plain[1]))
    name = getattr(function, "__name__", "?")
    given = "is given arguments that are not followed" if rule else "is not known to be linear"
    raise tracing.refuse(f"numpy.{name} {given}")


_signature = cache(inspect.signature)


def _takes(rule: Callable[..., Any], args: Any, named: Any) -> bool:
    """Return whether a rule has all these arguments, and results are doubles."""
    try:
        bound = _signature(rule).bind(*args, **named)
    except TypeError:
        return False
    return is_double(bound.arguments.get("dtype"))


def _apart(found: Any) -> Any:
    """Return a result in memory of its own: what is written into a form later is not in it."""
    if isinstance(found, list | tuple):
        return type(found)(map(_apart, found)) if not hasattr(found, "_fields") else found
    return found.copy() if isinstance(found, np.ndarray) and found.base is not None else found


def _write(tracing: Tracing, into: Any, found: Any) -> Any:
    if not isinstance(into, Form):
        raise tracing.refuse("what data or noise decide is written into an array of plain numbers")
    into[...] = found
    return into


def _plainly(value: Any) -> Any:
    """Return arguments with public forms as arrays; None where a form is not public."""
    if isinstance(value, Form):
        return value.value if value.is_public else None
    if isinstance(value, list | tuple):
        parts = [_plainly(one) for one in value]
        missing = any(a is None and b is not None for a, b in zip(parts, value, strict=True))
        return None if missing else type(value)(parts)
    if isinstance(value, dict):
        named = {key: _plainly(one) for key, one in value.items()}
        return (
            None if any(named[key] is None and value[key] is not None for key in value) else named
        )
    return value


def _move(tracing: Tracing, function: Any, args: Any, named: Any) -> Any:
    count, name = _MOVING[function], function.__name__
    positional, by_name = _plainly(list(args[count:])), _plainly(named)
    if positional is None or by_name is None:
        raise tracing.refuse(f"data or noise decide how numpy.{name} moves entries")
    if by_name.keys() - _HOW or any(map(_are_doubles, (*positional, *by_name.values()))):
        raise tracing.refuse(f"numpy.{name} is given arguments that are not followed")
    given = [_forms_of(tracing, one) for one in args[:count]]
    if function is np.diag and isinstance(given[0], Form) and given[0].ndim == 2:
        function = np.diagonal  # a view, as it is of numpy
    lift = int(function in _FILLING)
    ids = function(
        *[_each(one, partial(_lifted, by=lift)) for one in given], *positional, **by_name
    )
    value = function(*[_each(one, _value_of) for one in given], *positional, **by_name)
    if isinstance(ids, list):
        return [_form(tracing, a, b) for a, b in zip(ids, value, strict=True)]
    if isinstance(ids, tuple):
        raise tracing.refuse(f"numpy.{name} is given more than one array")
    return _form(tracing, ids - lift if lift else ids, value)


def _are_doubles(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "iub"


def _value_of(form: Form) -> NDArray[Any]:
    return form.memory[1]


def _lifted(form: Form, by: int) -> Ids:
    return form.ids + by if by else form.memory[0]


def _form(tracing: Tracing, ids: NDArray[Any], value: NDArray[Any]) -> Form:
    return Form(tracing, np.asarray(ids), np.asarray(value), is_array=isinstance(value, np.ndarray))


def _forms_of(tracing: Tracing, value: Any) -> Any:
    """Return an argument with forms for arrays, of a list each."""
    if isinstance(value, list | tuple) and holds_form(value):
        return [_forms_of(tracing, one) for one in value]
    return tracing.form_of(value)


def _each(value: Any, of: Callable[[Form], Any]) -> Any:
    return [_each(one, of) for one in value] if isinstance(value, list) else of(value)


# --- sums ------------------------------------------------------------------------------------


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    return tuple(int(one) % ndim for one in given)


def _sum(
    tracing: Tracing, value: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
) -> Any:
    form = tracing.form_of(value)
    axes, kept = _axes(axis, form.ndim), _LETTERS[: form.ndim]
    result = "".join(one for n, one in enumerate(kept) if n not in axes)
    shape = np.sum(form.ids, axis=axis, keepdims=keepdims).shape
    ones = np.ones([form.shape[one] for one in axes])
    letters = Contraction("".join(kept[one] for one in axes), kept, result)
    return contract(tracing, letters, ones, form, shape)


def _mean(
    tracing: Tracing, value: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
) -> Any:
    form = tracing.form_of(value)
    count = int(np.prod([form.shape[one] for one in _axes(axis, form.ndim)]))
    return _sum(tracing, form, axis, keepdims=keepdims) / count


def _average(tracing: Tracing, value: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return _mean(tracing, value, axis)
    form, given = tracing.form_of(value), np.asarray(weights, dtype=float)
    if given.shape != form.shape and given.ndim == 1 and axis is not None:
        given = np.moveaxis(given.reshape(-1, *[1] * (form.ndim - 1)), 0, int(axis))
    total = np.broadcast_to(given, form.shape).sum(axis)
    return _sum(tracing, form * given, axis) / total


def _cumsum(tracing: Tracing, value: Any, axis: Any = None, dtype: Any = None) -> Any:
    form = tracing.form_of(value)
    form, at = (form.flatten(), 0) if axis is None else (form, int(axis) % form.ndim)
    letters = _LETTERS[: form.ndim]
    ones = np.tril(np.ones((form.shape[at], form.shape[at])))
    result = letters.replace(letters[at], "z")
    return contract(
        tracing, Contraction("z" + letters[at], letters, result), ones, form, form.shape
    )


def _diff(tracing: Tracing, value: Any, n: int = 1, axis: int = -1) -> Any:
    found = tracing.form_of(value)
    for _ in range(n):
        moved: Any = np.moveaxis(found, axis, 0)  # type: ignore[type-var]
        found = np.moveaxis(moved[1:] - moved[:-1], 0, axis)
    return found


def _trace(tracing: Tracing, value: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return _sum(tracing, np.diagonal(tracing.form_of(value), offset, axis1, axis2), -1)


# --- products --------------------------------------------------------------------------------


def _sides(tracing: Tracing, one: Any, other: Any) -> tuple[Form, Any, bool]:
    """Return the form, the public array, and whether the form is the first."""
    left = (isinstance(one, Form) and not one.is_public) or holds_form(one)
    form, public = (one, other) if left else (other, one)
    form, public = tracing.form_of(form), densely(public)
    if isinstance(public, list | tuple) and holds_form(public):
        public = tracing.form_of(public)
    if isinstance(public, Form):
        public = public.plain("two arrays are multiplied that data or noise decide")
    return form, np.asarray(public), left


def _product(
    tracing: Tracing, letters: Callable[..., Contraction], apply: Any, one: Any, other: Any
) -> Any:
    form, public, left = _sides(tracing, one, other)
    if not form.ndim or not public.ndim:
        return form * public
    shape = np.shape(apply(*((form.ids, public) if left else (public, form.ids))))
    made = letters(public.ndim, form.ndim, form_is_left=left)
    return contract(tracing, made, public, form, shape)


def _dot(tracing: Tracing, one: Any, other: Any) -> Any:
    return _product(tracing, of_dot, np.dot, one, other)


def _vdot(tracing: Tracing, one: Any, other: Any) -> Any:
    return _dot(tracing, np.ravel(one), np.ravel(other))


def _inner(tracing: Tracing, one: Any, other: Any) -> Any:
    return _dot(tracing, one, np.moveaxis(other, -1, -2) if np.ndim(other) > 1 else other)


def _outer(tracing: Tracing, one: Any, other: Any) -> Any:
    return np.ravel(one)[:, None] * np.ravel(other)[None, :]


def _multiply_outer(tracing: Tracing, one: Any, other: Any) -> Any:
    return np.reshape(one, np.shape(one) + (1,) * np.ndim(other)) * other


def _kron(tracing: Tracing, one: Any, other: Any) -> Any:
    axes = max(np.ndim(one), np.ndim(other))
    left = np.reshape(one, (1,) * (axes - np.ndim(one)) + np.shape(one))
    right = np.reshape(other, (1,) * (axes - np.ndim(other)) + np.shape(other))
    spread = np.reshape(left, [n for size in left.shape for n in (size, 1)])
    product = spread * np.reshape(right, [n for size in right.shape for n in (1, size)])
    shape = [a * b for a, b in zip(left.shape, right.shape, strict=True)]
    return np.reshape(product, shape)


def _einsum(tracing: Tracing, text: Any, *operands: Any, optimize: Any = False) -> Any:
    if not isinstance(text, str) or not operands or "." in text:
        raise tracing.refuse("numpy.einsum is given more than letters and arrays")
    if len(operands) == 1:
        given, arrow, result = text.replace(" ", "").partition("->")
        moved = result if arrow else "".join(sorted(given))
        if len(set(given)) == len(given) and sorted(given) == sorted(moved):  # a view
            return np.transpose(*operands, [given.index(one) for one in moved])
        text, operands = f"{given},{arrow}{result}", (*operands, np.ones(()))
    if _plainly(operands) is not None:
        return np.einsum(text, *_plainly(operands))
    if len(operands) > 2:
        text, operands = _two_operands(tracing, text, operands)
    form, public, left = _sides(tracing, *operands)
    axes = (form.ndim, public.ndim) if left else (public.ndim, form.ndim)
    try:
        letters = of_einsum(text, 0 if left else 1, axes)
    except ValueError as error:
        raise tracing.refuse(str(error)) from None
    plain = np.einsum(text, *((form.value, public) if left else (public, form.value)))
    return contract(tracing, letters, public, form, plain.shape).laid_out_as(plain)


def _two_operands(tracing: Tracing, text: str, operands: Any) -> tuple[str, tuple[Any, Any]]:
    """Return an einsum whose public arrays are multiplied first, of what the rest needs."""
    given, arrow, result = text.replace(" ", "").partition("->")
    letters = given.split(",")
    forms = [n for n, one in enumerate(operands) if isinstance(one, Form) and not one.is_public]
    if len(forms) != 1 or not arrow or len(letters) != len(operands):
        raise tracing.refuse("numpy.einsum is given more than one array that data or noise decide")
    of_form = letters.pop(forms[0])
    public = [one for n, one in enumerate(operands) if n != forms[0]]
    kept = "".join(sorted(set("".join(letters)) & set(of_form + result)))
    made = np.einsum(f"{','.join(letters)}->{kept}", *_plainly(public))
    return f"{kept},{of_form}->{result}", (made, operands[forms[0]])


def _multi_dot(tracing: Tracing, arrays: Any) -> Any:
    *others, last = arrays
    for one in reversed(others):
        last = np.dot(one, last)
    return last


def _tensordot(tracing: Tracing, one: Any, other: Any, axes: Any = 2) -> Any:
    form, public, left = _sides(tracing, one, other)
    first, second = (form, public) if left else (public, form)
    pairs = (range(first.ndim - axes, first.ndim), range(axes)) if isinstance(axes, int) else axes
    over = [[int(n) for n in np.atleast_1d(list(one) if np.ndim(one) else one)] for one in pairs]
    of_first, of_second = _LETTERS[: first.ndim], list(_LETTERS[13 : 13 + second.ndim])
    for a, b in zip(*over, strict=True):
        of_second[b] = of_first[a]
    shared = set(of_first) & set(of_second)
    result = "".join(one for one in (*of_first, *of_second) if one not in shared)
    apply: Any = np.tensordot
    shape = apply(*((form.ids, public) if left else (public, form.ids)), axes=axes).shape
    both = [of_first, "".join(of_second)][:: -1 if left else 1]
    letters = Contraction(both[0], both[1], result)
    return contract(tracing, letters, public, form, shape)


def _convolve(tracing: Tracing, one: Any, other: Any, mode: str = "full") -> Any:
    form, public, _ = _sides(tracing, one, other)
    apply: Any = np.convolve
    return np.stack([apply(unit, public, mode) for unit in np.eye(form.size)], axis=1) @ form


def _solve(tracing: Tracing, matrix: Any, form: Any) -> Any:
    if isinstance(matrix, Form):
        matrix = matrix.plain("a matrix is inverted that data or noise decide")
    right = tracing.form_of(form)
    if right.is_public:
        return tracing.public(np.linalg.solve(matrix, right.value))
    return invert(np.array(matrix, dtype=float)) @ right


# --- the rest --------------------------------------------------------------------------------


def _where(tracing: Tracing, condition: Any, *both: Any) -> Any:
    if isinstance(condition, Form):
        condition = condition.plain("data or noise decide which of two numbers is taken")
    if len(both) != 2:
        raise tracing.refuse("numpy.where is not given both arrays")
    one, other = map(tracing.form_of, both)
    ids = np.where(condition, one.ids, other.ids)
    return Form(tracing, ids, np.where(condition, one.value, other.value))


def _pad(tracing: Tracing, value: Any, width: Any, mode: str = "constant", **named: Any) -> Any:
    form = tracing.form_of(value)
    apply: Any = np.pad
    if mode in ("edge", "reflect", "symmetric", "wrap") and not named:
        return Form(tracing, apply(form.ids, width, mode), apply(form.value, width, mode))
    if mode != "constant" or named.keys() - {"constant_values"}:
        raise tracing.refuse(f"numpy.pad of mode {mode} is given {', '.join(named) or 'no more'}")
    ids = apply(form.ids, width, constant_values=NOWHERE)
    return Form(tracing, ids, apply(form.value, width, **named))


def _like(make: Any) -> Any:
    def of_form(tracing: Tracing, value: Any, *given: Any, **named: Any) -> Form:
        return tracing.public(make(value.value, *given, **named))

    return of_form


def _of_shape(of: Any) -> Any:
    def of_form(tracing: Tracing, value: Any, *given: Any) -> Any:
        return of(tracing.form_of(value).ids, *given)

    return of_form


def _copyto(tracing: Tracing, into: Any, value: Any, **named: Any) -> None:
    if named or not isinstance(into, Form):
        raise tracing.refuse("numpy.copyto writes into an array of plain numbers")
    into[...] = value


_RULES: dict[Any, Callable[..., Any]] = {
    np.sum: _sum,
    np.mean: _mean,
    np.average: _average,
    np.cumsum: _cumsum,
    np.diff: _diff,
    np.trace: _trace,
    np.dot: _dot,
    np.vdot: _vdot,
    np.inner: _inner,
    np.outer: _outer,
    np.multiply.outer: _multiply_outer,
    np.kron: _kron,
    np.einsum: _einsum,
    np.tensordot: _tensordot,
    np.convolve: _convolve,
    np.linalg.solve: _solve,
    np.linalg.multi_dot: _multi_dot,
    np.where: _where,
    np.pad: _pad,
    np.zeros_like: _like(np.zeros_like),
    np.ones_like: _like(np.ones_like),
    np.empty_like: _like(np.zeros_like),
    np.full_like: _like(np.full_like),
    np.shape: _of_shape(np.shape),
    np.ndim: _of_shape(np.ndim),
    np.size: _of_shape(np.size),
    np.copyto: _copyto,
}


class _LinearRules:
    """The rules of what is linear."""

    operate = staticmethod(operate)
    call = staticmethod(apply_function)


LINEAR = _LinearRules()
