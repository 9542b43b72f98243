"""The parts of functions, classes and objects that an identity is taken of."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterable, Iterator
from functools import cached_property
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

_OF_DISPATCH = frozenset(vars(functools.singledispatch(lambda one: one)))


def cells_of(function: FunctionType) -> list[Any]:
    """Return the cells of a function's closure."""
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not set yet
            found.append("(empty)")
    return found


def names_in(code: CodeType) -> set[str]:
    """Return the names that a function and those inside it use."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*map(names_in, inner))


def is_its_authors(name: str, value: Any) -> bool:
    """Return whether a name of a class is its author's, and not one that Python adds."""
    if name.startswith("__") and name.endswith("__"):
        kinds = (FunctionType, staticmethod, classmethod, property, functools.partial, MethodType)
        return isinstance(value, (*kinds, BuiltinFunctionType)) or name == "__slots__"
    return name != "_abc_impl" and not isinstance(value, MemberDescriptorType)


def attributes_of(value: Any) -> tuple[Any, ...]:
    """Return the attributes of an object of a class that extends Python's containers."""
    own = getattr(value, "__dict__", None)
    return (dict(sorted(own.items())),) if own else ()


def functions_in(value: Any) -> list[Any]:
    """Return the functions that a property, or a method of a class, is made of."""
    names = ("__func__", "fget", "fset", "func", "dispatcher")
    return [one for name in names if (one := getattr(value, name, None)) is not None]


def registrations_of(function: FunctionType) -> list[tuple[Any, Any]] | None:
    """Return the functions of `functools.singledispatch` for each type; None for others.

    Attributes that somebody gave it are among them.
    """
    held = vars(function)
    if function.__globals__ is not vars(functools) or "registry" not in held:
        return None
    known = sorted(held["registry"].items(), key=lambda one: _name_of(one[0]))
    own = [(name, one) for name, one in sorted(held.items()) if name not in _OF_DISPATCH]
    return [*known, *own]


def _name_of(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def as_array(value: Any) -> Any:
    """Return the numbers of a tensor of torch or an array of jax; None for other objects."""
    kind = type(value)
    top = kind.__module__.partition(".")[0]
    if top == "torch" and hasattr(value, "detach") and hasattr(value, "cpu"):
        return value.detach().cpu().numpy()
    if top in ("jax", "jaxlib") and hasattr(value, "__array__"):
        return np.asarray(value)
    return None


def without_caches(kind: type, state: Any) -> Any:
    """Return a state without properties that were worked out and kept."""
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
        return tuple(without_caches(kind, one) for one in state)
    if not isinstance(state, dict):
        return state
    caches = caches_of(kind)
    left = {n: v for n, v in state.items() if n not in caches and n != "__networkx_cache__"}
    return dict(sorted(left.items(), key=lambda item: str(item[0])))


def caches_of(kind: type) -> set[str]:
    """Return the names of properties that are worked out once and kept."""
    own = (pair for one in kind.__mro__ for pair in vars(one).items())
    return {name for name, one in own if isinstance(one, cached_property)}


def generate_cached_answers(function: Any) -> Iterator[Any]:
    """Yield the questions to a function that keeps its answers, and the answers."""
    pairs: Iterable[tuple[Any, Any]]
    # CPython keeps answers of a bounded cache in a linked list of its own type, and those of an
    # unbounded one in a plain dictionary. The garbage collector alone reaches either.
    if function.cache_parameters()["maxsize"] is None:
        kept = [one for one in gc.get_referents(function) if type(one) is dict]
        pairs = (pair for one in kept if one is not vars(function) for pair in one.items())
    else:  # the places of a list, of which each holds two
        held = [one for one in gc.get_referents(function) if not _is_machinery(function, one)]
        pairs = zip(held[::2], held[1::2], strict=False)
    for asked, answer in pairs:
        yield [_convert_cache_key(asked), _convert_cache_key(answer)]


def _is_machinery(function: Any, held: Any) -> bool:
    """Return whether an object belongs to a cache itself, and is nothing that it keeps."""
    if type(held) is dict:
        inside = {type(one).__name__ for one in held.values()}
        return held is vars(function) or inside <= {"_lru_list_elem"}
    of_functools = isinstance(held, type) and held.__module__ == "functools"
    return of_functools or held is function.__wrapped__ or type(held) is object


def _convert_cache_key(key: Any) -> Any:
    """Return arguments as plain values: the mark before named ones is an object."""
    if isinstance(key, tuple):
        return tuple("(mark)" if type(one) is object else one for one in key)
    return key


def is_method(function: FunctionType) -> bool:
    """Return whether a function stands in a class, under a name that Python itself never calls."""
    head, _, name = function.__qualname__.rpartition(".")
    inside = bool(head) and not head.endswith("<locals>")
    return inside and not (name.startswith("__") and name.endswith("__"))


def holds_numbers(value: Any) -> bool:
    """Return whether code may ask for a value of a module by a name that it computes."""
    plain = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset, np.ndarray)
    return isinstance(value, (FunctionType, type, functools.partial, *plain)) or not (
        isinstance(value, ModuleType) or type(value).__module__ in ("typing", "__future__")
    )


def reduces_itself(kind: type) -> bool:
    """Return whether a class says itself how its objects are pickled."""
    own = [vars(one) for one in kind.__mro__[:-1]]
    return any(name in one for one in own for name in ("__reduce__", "__reduce_ex__"))


def is_function(value: Any) -> bool:
    """Return whether a value is a function of Python's."""
    return isinstance(value, FunctionType)


def home_of(value: Any) -> str | None:
    """Return the module that a function or class is of."""
    return value.__module__ if isinstance(value, (FunctionType, type)) else None
