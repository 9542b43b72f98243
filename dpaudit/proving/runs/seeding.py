"""Seeds that code gives to generators of the whole process while it is imported.

What they draw afterwards is no noise, and nothing of it shows in the generators themselves: so the
source of the modules that a function reaches by its names is looked at.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from dpaudit.freezing import tracked_noise

_SEEDING = frozenset(("seed", "Random", "RandomState"))


def find_seeding_line(function: Any) -> str | None:
    """Return the line that seeds a generator while a module that a function reaches is loaded."""
    for names in _find_reached_namespaces(getattr(inspect.unwrap(function), "__globals__", {})):
        file = names.get("__file__")
        if isinstance(file, str) and file.endswith(".py") and not tracked_noise.is_installed(file):
            try:
                line = _line_of_seed(file, Path(file).stat().st_mtime)
            except (OSError, SyntaxError, ValueError):
                continue
            if line is not None:
                return f"{Path(file).name}:{line}"
    return None


def _find_reached_namespaces(names: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the names of a module, and those of all modules of no library that it has names of."""
    pending, seen = [names], {id(names)}
    while pending:
        held = pending.pop()
        yield held
        for value in list(held.values()):
            home = value if isinstance(value, ModuleType) else _home_of(value)
            file = getattr(home, "__file__", None) or "<frozen"
            if home is None or id(vars(home)) in seen or tracked_noise.is_installed(file):
                continue
            seen.add(id(vars(home)))
            pending.append(vars(home))


def _home_of(value: Any) -> ModuleType | None:
    name = getattr(value, "__module__", None) if callable(value) else None
    return sys.modules.get(name) if isinstance(name, str) else None


@lru_cache(maxsize=4096)
def _line_of_seed(file: str, time: float) -> int | None:
    tree = ast.parse(Path(file).read_bytes())
    return next(filter(None, map(_find_seeding_call_line, _run_on_import(tree))), None)


def _run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the code that runs when a module is loaded: all but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _run_on_import(child)


def _find_seeding_call_line(node: ast.AST) -> int | None:
    """Return the line of a call that seeds a generator."""
    if not isinstance(node, ast.Call) or not (node.args or node.keywords):
        return None
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    first = node.args[0] if node.args else None
    is_none = isinstance(first, ast.Constant) and first.value is None
    return node.lineno if name in _SEEDING and not is_none else None
