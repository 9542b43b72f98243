"""Primitives replaced wherever a loaded module holds them, and put back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from . import packages, primitives, tensors


@contextmanager
def patched(*functions: Any) -> Iterator[None]:
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
        for one in reversed(undo):
            one()


def _everywhere(
    replacements: dict[int, tuple[Any, Any]], undo: list[Callable[[], None]], functions: Any
) -> None:
    own = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        held = getattr(module, "__dict__", None)
        if isinstance(held, dict) and not name.startswith(own):
            _swap(held, replacements, undo)
    for function in functions:
        for cell in getattr(function, "__closure__", None) or ():
            _swap_cell(cell, undo)
        for held in (getattr(getattr(function, "__self__", None), "__dict__", None),):
            if isinstance(held, dict):
                for key, value in list(held.items()):
                    if (new := primitives.instead(value)) is not None:
                        undo.append(partial(held.__setitem__, key, value))
                        held[key] = new


def _swap(held: dict[str, Any], replacements: Any, undo: list[Callable[[], None]]) -> None:
    for key, value in list(held.items()):
        found = replacements.get(id(value))
        new = found[1] if found is not None and found[0] is value else primitives.instead(value)
        if new is not None:
            undo.append(partial(held.__setitem__, key, value))
            held[key] = new


def _swap_cell(cell: Any, undo: list[Callable[[], None]]) -> None:
    try:
        value = cell.cell_contents
    except ValueError:  # empty
        return
    if (new := primitives.instead(value)) is not None:
        cell.cell_contents = new
        undo.append(lambda: setattr(cell, "cell_contents", value))
