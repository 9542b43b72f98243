"""Functions of numpy on forms: they move entries about, or are linear in them.

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
    AffineForm,
    FormTracing,
    holds_form,
)
from dpaudit.affine.operations import apply_ufunc, contract_form, is_double, to_dense
from dpaudit.affine.precise import invert_precisely
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


def apply_function(tracing: FormTracing, function: Any, args: Any, named: Any) -> Any:
    """Return the result of a function of numpy on arguments that hold forms."""
    into = named.get("out")
    if into is not None:
        found = apply_function(tracing, function, args, {**named, "out": None})
        return _write_into_form(tracing, into, found)
    named = {key: value for key, value in named.items() if key != "out"}
    if function in _MOVING:
        return _move_entries(tracing, function, args, named)
    rule = _RULES.get(function)
    if rule is not None and _is_rule_applicable(rule, (tracing, *args), named):
        return rule(tracing, *args, **named)
    if (plain := _to_public_arguments((args, named))) is not None:
        return _copy_result(function(*plain[0], **plain[1]))
    name = getattr(function, "__name__", "?")
    given = "is given arguments that are not followed" if rule else "is not known to be linear"
    raise tracing.refuse(f"numpy.{name} {given}")


_signature = cache(inspect.signature)


def _is_rule_applicable(rule: Callable[..., Any], args: Any, named: Any) -> bool:
    """Return whether a rule has all these arguments, and results are doubles."""
    try:
        bound = _signature(rule).bind(*args, **named)
    except TypeError:
        return False
    return is_double(bound.arguments.get("dtype"))


def _copy_result(found: Any) -> Any:
    """Return a result in memory of its own, which later writes into a form do not reach."""
    if isinstance(found, list | tuple):
        return type(found)(map(_copy_result, found)) if not hasattr(found, "_fields") else found
    return found.copy() if isinstance(found, np.ndarray) and found.base is not None else found


def _write_into_form(tracing: FormTracing, into: Any, found: Any) -> Any:
    if not isinstance(into, AffineForm):
        raise tracing.refuse(
            "the code writes a value that depends on data or noise into an array of plain numbers"
        )
    into[...] = found
    return into


def _to_public_arguments(value: Any) -> Any:
    """Return arguments with public forms as arrays; None where a form is not public."""
    if isinstance(value, AffineForm):
        return value.value if value.is_public else None
    if isinstance(value, list | tuple):
        parts = [_to_public_arguments(one) for one in value]
        missing = any(a is None and b is not None for a, b in zip(parts, value, strict=True))
        return None if missing else type(value)(parts)
    if isinstance(value, dict):
        named = {key: _to_public_arguments(one) for key, one in value.items()}
        return (
            None if any(named[key] is None and value[key] is not None for key in value) else named
        )
    return value


def _move_entries(tracing: FormTracing, function: Any, args: Any, named: Any) -> Any:
    count, name = _MOVING[function], function.__name__
    positional, by_name = _to_public_arguments(list(args[count:])), _to_public_arguments(named)
    if positional is None or by_name is None:
        raise tracing.refuse(f"the way that numpy.{name} moves entries depends on data or noise")
    # A fill value or a second array of doubles would end up among the entries without a
    # coordinate.
    if by_name.keys() - _HOW or any(map(_are_doubles, (*positional, *by_name.values()))):
        raise tracing.refuse(f"no rule covers these arguments of numpy.{name}")
    given = [_forms_of(tracing, one) for one in args[:count]]
    if function is np.diag and isinstance(given[0], AffineForm) and given[0].ndim == 2:
        function = np.diagonal  # a view, as it is of numpy
    lift = int(function in _FILLING)
    ids = function(
        *[_map_nested_forms(one, partial(_lift_form_ids, by=lift)) for one in given],
        *positional,
        **by_name,
    )
    value = function(*[_map_nested_forms(one, _value_of) for one in given], *positional, **by_name)
    if isinstance(ids, list):
        return [_make_moved_form(tracing, a, b) for a, b in zip(ids, value, strict=True)]
    if isinstance(ids, tuple):
        raise tracing.refuse(f"no rule covers numpy.{name} of more than one array")
    return _make_moved_form(tracing, ids - lift if lift else ids, value)


def _are_doubles(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "iub"


def _value_of(form: AffineForm) -> NDArray[Any]:
    return form.memory[1]


def _lift_form_ids(form: AffineForm, by: int) -> Ids:
    return form.ids + by if by else form.memory[0]


def _make_moved_form(tracing: FormTracing, ids: NDArray[Any], value: NDArray[Any]) -> AffineForm:
    return AffineForm(
        tracing, np.asarray(ids), np.asarray(value), is_array=isinstance(value, np.ndarray)
    )


def _forms_of(tracing: FormTracing, value: Any) -> Any:
    """Return an argument with forms for arrays, of a list each."""
    if isinstance(value, list | tuple) and holds_form(value):
        return [_forms_of(tracing, one) for one in value]
    return tracing.form_of(value)


def _map_nested_forms(value: Any, of: Callable[[AffineForm], Any]) -> Any:
    return [_map_nested_forms(one, of) for one in value] if isinstance(value, list) else of(value)


# --- sums ------------------------------------------------------------------------------------


def _normalise_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    return tuple(int(one) % ndim for one in given)


def _apply_sum(
    tracing: FormTracing, value: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
) -> Any:
    form = tracing.form_of(value)
    axes, kept = _normalise_axes(axis, form.ndim), _LETTERS[: form.ndim]
    result = "".join(one for n, one in enumerate(kept) if n not in axes)
    shape = np.sum(form.ids, axis=axis, keepdims=keepdims).shape
    ones = np.ones([form.shape[one] for one in axes])
    letters = Contraction("".join(kept[one] for one in axes), kept, result)
    return contract_form(tracing, letters, ones, form, shape)


def _apply_mean(
    tracing: FormTracing, value: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
) -> Any:
    form = tracing.form_of(value)
    count = int(np.prod([form.shape[one] for one in _normalise_axes(axis, form.ndim)]))
    return _apply_sum(tracing, form, axis, keepdims=keepdims) / count


def _apply_average(tracing: FormTracing, value: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return _apply_mean(tracing, value, axis)
    form, given = tracing.form_of(value), np.asarray(weights, dtype=float)
    if given.shape != form.shape and given.ndim == 1 and axis is not None:
        given = np.moveaxis(given.reshape(-1, *[1] * (form.ndim - 1)), 0, int(axis))
    total = np.broadcast_to(given, form.shape).sum(axis)
    return _apply_sum(tracing, form * given, axis) / total


def _apply_cumsum(tracing: FormTracing, value: Any, axis: Any = None, dtype: Any = None) -> Any:
    form = tracing.form_of(value)
    form, at = (form.flatten(), 0) if axis is None else (form, int(axis) % form.ndim)
    letters = _LETTERS[: form.ndim]
    ones = np.tril(np.ones((form.shape[at], form.shape[at])))
    result = letters.replace(letters[at], "z")
    return contract_form(
        tracing, Contraction("z" + letters[at], letters, result), ones, form, form.shape
    )


def _apply_diff(tracing: FormTracing, value: Any, n: int = 1, axis: int = -1) -> Any:
    found = tracing.form_of(value)
    for _ in range(n):
        moved: Any = np.moveaxis(found, axis, 0)  # type: ignore[type-var]
        found = np.moveaxis(moved[1:] - moved[:-1], 0, axis)
    return found


def _apply_trace(
    tracing: FormTracing, value: Any, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Any:
    return _apply_sum(tracing, np.diagonal(tracing.form_of(value), offset, axis1, axis2), -1)


# --- products --------------------------------------------------------------------------------


def _split_form_and_public(
    tracing: FormTracing, one: Any, other: Any
) -> tuple[AffineForm, Any, bool]:
    """Return the form, the public array, and whether the form is the first."""
    left = (isinstance(one, AffineForm) and not one.is_public) or holds_form(one)
    form, public = (one, other) if left else (other, one)
    form, public = tracing.form_of(form), to_dense(public)
    if isinstance(public, list | tuple) and holds_form(public):
        public = tracing.form_of(public)
    if isinstance(public, AffineForm):
        public = public.plain("the code multiplies two arrays that depend on data or noise")
    return form, np.asarray(public), left


def _apply_product(
    tracing: FormTracing, letters: Callable[..., Contraction], apply: Any, one: Any, other: Any
) -> Any:
    form, public, left = _split_form_and_public(tracing, one, other)
    if not form.ndim or not public.ndim:
        return form * public
    # numpy itself says which shape the product has, and raises where shapes do not fit.
    shape = np.shape(apply(*((form.ids, public) if left else (public, form.ids))))
    made = letters(public.ndim, form.ndim, form_is_left=left)
    return contract_form(tracing, made, public, form, shape)


def _apply_dot(tracing: FormTracing, one: Any, other: Any) -> Any:
    return _apply_product(tracing, of_dot, np.dot, one, other)


def _apply_vdot(tracing: FormTracing, one: Any, other: Any) -> Any:
    return _apply_dot(tracing, np.ravel(one), np.ravel(other))


def _apply_inner(tracing: FormTracing, one: Any, other: Any) -> Any:
    return _apply_dot(tracing, one, np.moveaxis(other, -1, -2) if np.ndim(other) > 1 else other)


def _apply_outer(tracing: FormTracing, one: Any, other: Any) -> Any:
    return np.ravel(one)[:, None] * np.ravel(other)[None, :]


def _multiply_outer(tracing: FormTracing, one: Any, other: Any) -> Any:
    return np.reshape(one, np.shape(one) + (1,) * np.ndim(other)) * other


def _apply_kron(tracing: FormTracing, one: Any, other: Any) -> Any:
    axes = max(np.ndim(one), np.ndim(other))
    left = np.reshape(one, (1,) * (axes - np.ndim(one)) + np.shape(one))
    right = np.reshape(other, (1,) * (axes - np.ndim(other)) + np.shape(other))
    spread = np.reshape(left, [n for size in left.shape for n in (size, 1)])
    product = spread * np.reshape(right, [n for size in right.shape for n in (1, size)])
    shape = [a * b for a, b in zip(left.shape, right.shape, strict=True)]
    return np.reshape(product, shape)


def _apply_einsum(tracing: FormTracing, text: Any, *operands: Any, optimize: Any = False) -> Any:
    if not isinstance(text, str) or not operands or "." in text:
        raise tracing.refuse("no rule covers numpy.einsum with more than letters and arrays")
    if len(operands) == 1:
        given, arrow, result = text.replace(" ", "").partition("->")
        moved = result if arrow else "".join(sorted(given))
        if len(set(given)) == len(given) and sorted(given) == sorted(moved):  # a view
            return np.transpose(*operands, [given.index(one) for one in moved])
        text, operands = f"{given},{arrow}{result}", (*operands, np.ones(()))
    if _to_public_arguments(operands) is not None:
        return np.einsum(text, *_to_public_arguments(operands))
    if len(operands) > 2:
        text, operands = _two_operands(tracing, text, operands)
    form, public, left = _split_form_and_public(tracing, *operands)
    axes = (form.ndim, public.ndim) if left else (public.ndim, form.ndim)
    try:
        letters = of_einsum(text, 0 if left else 1, axes)
    except ValueError as error:
        raise tracing.refuse(str(error)) from None
    plain = np.einsum(text, *((form.value, public) if left else (public, form.value)))
    return contract_form(tracing, letters, public, form, plain.shape).copy_in_layout_of(plain)


def _two_operands(tracing: FormTracing, text: str, operands: Any) -> tuple[str, tuple[Any, Any]]:
    """Return an einsum that multiplies public arrays first, over the letters the rest needs."""
    given, arrow, result = text.replace(" ", "").partition("->")
    letters = given.split(",")
    forms = [
        n for n, one in enumerate(operands) if isinstance(one, AffineForm) and not one.is_public
    ]
    if len(forms) != 1 or not arrow or len(letters) != len(operands):
        raise tracing.refuse(
            "no rule covers numpy.einsum of more than one array that depends on data or noise"
        )
    of_form = letters.pop(forms[0])
    public = [one for n, one in enumerate(operands) if n != forms[0]]
    kept = "".join(sorted(set("".join(letters)) & set(of_form + result)))
    # Letters that only public arrays have are summed at once, and the form meets one array
    # alone.
    made = np.einsum(f"{','.join(letters)}->{kept}", *_to_public_arguments(public))
    return f"{kept},{of_form}->{result}", (made, operands[forms[0]])


def _multi_dot(tracing: FormTracing, arrays: Any) -> Any:
    *others, last = arrays
    for one in reversed(others):
        last = np.dot(one, last)
    return last


def _apply_tensordot(tracing: FormTracing, one: Any, other: Any, axes: Any = 2) -> Any:
    form, public, left = _split_form_and_public(tracing, one, other)
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
    return contract_form(tracing, letters, public, form, shape)


def _apply_convolve(tracing: FormTracing, one: Any, other: Any, mode: str = "full") -> Any:
    form, public, _ = _split_form_and_public(tracing, one, other)
    apply: Any = np.convolve
    return np.stack([apply(unit, public, mode) for unit in np.eye(form.size)], axis=1) @ form


def _apply_solve(tracing: FormTracing, matrix: Any, form: Any) -> Any:
    if isinstance(matrix, AffineForm):
        matrix = matrix.plain("the code inverts a matrix that depends on data or noise")
    right = tracing.form_of(form)
    # numpy's own result, to the last digit: the function goes on with these numbers.
    if right.is_public:
        return tracing.public(np.linalg.solve(matrix, right.value))
    # The inverse is found with more digits than doubles have, since its rounding would look
    # like noise that reaches where it does not.
    return invert_precisely(np.array(matrix, dtype=float)) @ right


# --- the rest --------------------------------------------------------------------------------


def _apply_where(tracing: FormTracing, condition: Any, *both: Any) -> Any:
    if isinstance(condition, AffineForm):
        condition = condition.plain("the choice between two numbers depends on data or noise")
    if len(both) != 2:
        raise tracing.refuse("no rule covers numpy.where without both arrays")
    one, other = map(tracing.form_of, both)
    ids = np.where(condition, one.ids, other.ids)
    return AffineForm(tracing, ids, np.where(condition, one.value, other.value))


def _apply_pad(
    tracing: FormTracing, value: Any, width: Any, mode: str = "constant", **named: Any
) -> Any:
    form = tracing.form_of(value)
    apply: Any = np.pad
    if mode in ("edge", "reflect", "symmetric", "wrap") and not named:
        return AffineForm(tracing, apply(form.ids, width, mode), apply(form.value, width, mode))
    if mode != "constant" or named.keys() - {"constant_values"}:
        raise tracing.refuse(
            f"no rule covers numpy.pad of mode {mode} with "
            f"{', '.join(named) or 'no other argument'}"
        )
    # What fills up is public, whatever its value.
    ids = apply(form.ids, width, constant_values=NOWHERE)
    return AffineForm(tracing, ids, apply(form.value, width, **named))


def _make_like_rule(make: Any) -> Any:
    def of_form(tracing: FormTracing, value: Any, *given: Any, **named: Any) -> AffineForm:
        return tracing.public(make(value.value, *given, **named))

    return of_form


def _of_shape(of: Any) -> Any:
    def of_form(tracing: FormTracing, value: Any, *given: Any) -> Any:
        return of(tracing.form_of(value).ids, *given)

    return of_form


def _apply_copyto(tracing: FormTracing, into: Any, value: Any, **named: Any) -> None:
    if named or not isinstance(into, AffineForm):
        raise tracing.refuse("numpy.copyto writes into an array of plain numbers")
    into[...] = value


_RULES: dict[Any, Callable[..., Any]] = {
    np.sum: _apply_sum,
    np.mean: _apply_mean,
    np.average: _apply_average,
    np.cumsum: _apply_cumsum,
    np.diff: _apply_diff,
    np.trace: _apply_trace,
    np.dot: _apply_dot,
    np.vdot: _apply_vdot,
    np.inner: _apply_inner,
    np.outer: _apply_outer,
    np.multiply.outer: _multiply_outer,
    np.kron: _apply_kron,
    np.einsum: _apply_einsum,
    np.tensordot: _apply_tensordot,
    np.convolve: _apply_convolve,
    np.linalg.solve: _apply_solve,
    np.linalg.multi_dot: _multi_dot,
    np.where: _apply_where,
    np.pad: _apply_pad,
    np.zeros_like: _make_like_rule(np.zeros_like),
    np.ones_like: _make_like_rule(np.ones_like),
    np.empty_like: _make_like_rule(np.zeros_like),
    np.full_like: _make_like_rule(np.full_like),
    np.shape: _of_shape(np.shape),
    np.ndim: _of_shape(np.ndim),
    np.size: _of_shape(np.size),
    np.copyto: _apply_copyto,
}


class _LinearRules:
    """The rules of linear operations."""

    operate = staticmethod(apply_ufunc)
    call = staticmethod(apply_function)


LINEAR = _LinearRules()
