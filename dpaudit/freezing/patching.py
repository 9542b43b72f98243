"""Primitives replaced wherever a loaded module holds them, and put back."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from . import packages, primitives, recorder, seeds, tensors, tracked_noise


@contextmanager
def patch_primitives(*functions: Any) -> Iterator[None]:
    """Replace the primitives wherever a module that is loaded holds them, inside the block.

    Generators that live already are replaced where a module's global, a closure or an attribute of
    what runs holds them.
    """
    undo: list[Callable[[], None]] = []
    try:
        replacements = primitives.replacements(undo)
        packages.replace(undo)
        tensors.replace(replacements, undo)
        _everywhere(replacements, undo, functions)
        yield
    finally:
        # Backwards, as what was replaced twice has its first value back last.
        for one in reversed(undo):
            one()


def _everywhere(
    replacements: dict[int, tuple[Any, Any]], undo: list[Callable[[], None]], functions: Any
) -> None:
    own = __name__.rpartition(".")[0]
    for function in functions:
        # Before anything is replaced, while the generators themselves are still there to be
        # compared.
        _note_twins(_find_reached_objects(function), undo)
    for name, module in list(sys.modules.items()):
        held = getattr(module, "__dict__", None)
        # This package keeps the primitives themselves: frozen draws are made with them.
        if isinstance(held, dict) and not name.startswith(own):
            if not tracked_noise.is_installed(getattr(module, "__file__", None) or "<"):
                _note_twins(held.values(), undo)
            _swap(held, replacements, undo)
    for held in _find_unlisted_globals(functions):
        _swap(held, replacements, undo)
    for function in functions:
        for cell in _cells(function):
            _swap_cell(cell, undo)
        kept = _attributes(function)
        for key, value in list(kept.items()):
            if (new := primitives.instead(value)) is not None:
                undo.append(partial(kept.__setitem__, key, value))
                kept[key] = new


def _cells(function: Any) -> Iterable[Any]:
    return getattr(function, "__closure__", None) or ()


def _attributes(function: Any) -> dict[str, Any]:
    """Return the attributes of the object that a method is bound to."""
    kept = getattr(getattr(function, "__self__", None), "__dict__", None)
    return kept if isinstance(kept, dict) else {}


def _find_reached_objects(function: Any) -> list[Any]:
    """Return the objects that a function reaches by its globals, its closure and its object."""
    held = [value for code in _codes(function) for value in _globals(code).values()]
    return [*held, *map(_content, _cells(function)), *_attributes(function).values()]


def _globals(code: Any) -> dict[str, Any]:
    held = getattr(inspect.unwrap(code), "__globals__", None)
    return held if isinstance(held, dict) else {}


def _find_unlisted_globals(functions: Any) -> Iterator[dict[str, Any]]:
    """Yield the globals of functions whose module nobody imported by name."""
    seen = {id(getattr(module, "__dict__", None)) for module in list(sys.modules.values())}
    for function in functions:
        for code in _codes(function):
            held = _globals(code)
            if id(held) not in seen:
                seen.add(id(held))
                yield held


def _codes(function: Any) -> Iterator[Any]:
    """Yield a function, or the methods of a class or of an instance's."""
    yield getattr(function, "__func__", function)
    kind = function if isinstance(function, type) else type(function)
    for one in (one for base in kind.__mro__ for one in vars(base).values()):
        if inspect.isfunction(one):
            yield one


def _note_twins(values: Iterable[Any], undo: list[Callable[[], None]]) -> None:
    """Note generators side by side that draw the same numbers, and whose stand-ins would not."""
    values = list(values)
    suspects = (value for value in values if type(value) in primitives.SUSPECTS)
    owners = {id(one): one for one in map(primitives.owner, suspects)}
    of_python = filter(seeds.is_of_python, values)
    if seeds.twins([*filter(primitives.is_generator, owners.values()), *of_python]):
        recorder.TWINS[0] = True
        undo.append(lambda: recorder.TWINS.__setitem__(0, False))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _swap(held: dict[str, Any], replacements: Any, undo: list[Callable[[], None]]) -> None:
    suspects = primitives.SUSPECTS  # modules hold a hundred thousand values, few of which are
    for key, value in [
        (key, value)
        for key, value in list(held.items())
        if type(value) in suspects or id(value) in replacements
    ]:
        found = replacements.get(id(value))
        new = found[1] if found is not None and found[0] is value else primitives.instead(value)
        if new is not None:
            undo.append(partial(held.__setitem__, key, value))
            held[key] = new


def _swap_cell(cell: Any, undo: list[Callable[[], None]]) -> None:
    value = _content(cell)
    if (new := primitives.instead(value)) is not None:
        cell.cell_contents = new
        undo.append(lambda: setattr(cell, "cell_contents", value))
