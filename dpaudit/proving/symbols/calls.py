"""Functions of numpy that no rule bounds, for values that are public as noise was added to them.

Whatever a function does to public numbers is public. So these are operations of programs as they
are: `numpy.linalg.solve` of a noisy Gram matrix, say. Their results have shapes that are known
from those of the operands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

_OF_LINALG = (
    "inv pinv solve lstsq det slogdet cholesky eigh eigvalsh svd svdvals qr matrix_power cond "
    "tensorsolve matrix_norm"
)
_OF_NUMPY = (
    "argsort argpartition partition lexsort cumprod interp unwrap cross gradient polyfit "
    "correlate nanargmax nanargmin"
)
_OPERATORS = (
    "arcsin arccos arctan2 sinh cosh arcsinh arccosh arctanh cbrt logaddexp2 spacing nextafter "
    "signbit float_power"
)


def _make_call_table() -> dict[str, Callable[..., Any]]:
    rooms = {"": _OF_NUMPY, "linalg.": _OF_LINALG}
    found = dict[str, Callable[..., Any]]()
    for prefix, names in rooms.items():
        room = np.linalg if prefix else np
        for name in names.split():
            if hasattr(room, name):
                found[f"numpy.{prefix}{name}"] = getattr(room, name)
    found.update({f"numpy.{name}": getattr(np, name) for name in _OPERATORS.split()})
    return found


FUNCTIONS = _make_call_table()
"""By the name that a program has for each."""
NAMES = {function: name for name, function in FUNCTIONS.items()}


def apply_call(
    *operands: Any,
    function: str,
    given: Sequence[Any],
    named: Mapping[str, Any],
    part: int | None,
) -> Any:
    """Return a part of a function's result.

    Parameters
    ----------
    operands
        Arrays, which stand where ``given`` or ``named`` hold ``{"operand": place}``.
    function
        Its name.
    given, named
        Its arguments.
    part
        Which of several results is meant; None for the only one.

    Examples
    --------
    >>> matrix = np.diag([2.0, 4.0])
    >>> given = [{"operand": 0}]
    >>> apply_call(matrix, function="numpy.linalg.inv", given=given, named={}, part=None).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    args = [_resolve_call_argument(one, operands) for one in given]
    by_name = {name: _resolve_call_argument(one, operands) for name, one in named.items()}
    found = FUNCTIONS[function](*args, **by_name)
    return found if part is None else found[part]


def _resolve_call_argument(value: Any, operands: Sequence[Any]) -> Any:
    if isinstance(value, Mapping):
        return operands[value["operand"]]
    if isinstance(value, list | tuple):
        return [_resolve_call_argument(one, operands) for one in value]
    return value
