"""Whether code is plain numpy: its return value follows from its arguments and it keeps nothing.

Only what is listed here may occur, in the code itself and in functions that it calls: other code
may count its calls, read a clock or change a module, and one run says nothing of the next. Memory
that nobody wrote yet (`numpy.empty`) may hold what an earlier call left there.
"""

from __future__ import annotations

import builtins
import dis
import math
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

_ATOMS = (int, float, complex, str, bytes, type(None), np.generic)
_BUILTINS = frozenset(
    "abs bool dict enumerate float int len list max min range reversed round sum tuple zip".split()
)
_ATTRIBUTES = frozenset(
    """
    T abs all any append arange array asarray astype clip concatenate copy cos cumsum diag dot e
    exp expm1 extend eye float64 full full_like hstack hypot identity inf insert inv items
    keys laplace linalg log log1p log2 logspace linspace matmul max maximum mean min minimum ndim
    newaxis norm normal ones ones_like outer pi pop prod ravel reshape round shape sign sin size
    solve sqrt square stack standard_normal std sum tanh trace transpose values var vstack where
    zeros zeros_like
    """.split()
)
_STORES = frozenset(
    """
    DELETE_ATTR DELETE_GLOBAL DELETE_NAME IMPORT_FROM IMPORT_NAME IMPORT_STAR LOAD_BUILD_CLASS
    LOAD_NAME LOAD_SUPER_ATTR STORE_ATTR STORE_GLOBAL STORE_NAME
    """.split()
)
_NAMED = frozenset(("LOAD_ATTR", "LOAD_METHOD"))


def is_plain_numpy(function: Any) -> bool:
    """Return whether a function and whatever it calls is plain numpy.

    Examples
    --------
    >>> is_plain_numpy(lambda data, rng: data.mean() + rng.standard_normal())
    True
    >>> is_plain_numpy(lambda data, rng: print(data))
    False
    """
    return _is_plain(function, set())


def _is_atom(value: Any) -> bool:
    """Return whether a value never changes: a record of numpy does."""
    return isinstance(value, _ATOMS) and not isinstance(value, np.void)


def is_plain_data(data: Any) -> bool:
    """Return whether data are arrays and numbers alone."""
    if type(data) in (list, tuple):
        return all(map(is_plain_data, data))
    if type(data) is np.ndarray:
        return data.dtype.kind in "biuf"
    return _is_atom(data)


def _is_plain(function: Any, seen: set[FunctionType]) -> bool:
    if function in seen:
        return True
    seen.add(function)
    # Cells and attributes can be changed from call to call, and by other code.
    if type(function) is not FunctionType or function.__closure__ or vars(function):
        return False
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if not all(map(_is_constant, defaults)):
        return False
    return all(
        _is_plain_code(one, function.__globals__, seen)
        for one in _iterate_code_objects(function.__code__)
    )


def _iterate_code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    # Inner functions and comprehensions are constants of the code that makes them.
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _iterate_code_objects(one)


def _is_plain_code(code: CodeType, held: dict[str, Any], seen: set[FunctionType]) -> bool:
    for step in dis.get_instructions(code):
        if step.opname in _STORES:
            return False
        if step.opname in _NAMED and step.argval not in _ATTRIBUTES:
            return False
        if step.opname == "LOAD_GLOBAL" and not _is_plain_global(step.argval, held, seen):
            return False
    return True


def _is_plain_global(name: str, held: dict[str, Any], seen: set[FunctionType]) -> bool:
    # Globals hide builtins: a module that defines its own `sum` means that one.
    if name not in held:
        return name in _BUILTINS and hasattr(builtins, name)
    value = held[name]
    if value is np or value is math or _is_constant(value):
        return True
    return type(value) is FunctionType and _is_plain(value, seen)


def _is_constant(value: Any) -> bool:
    return all(map(_is_constant, value)) if type(value) is tuple else _is_atom(value)
