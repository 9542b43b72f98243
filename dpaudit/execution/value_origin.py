"""Whether somebody wrote a value into the source, or code worked it out and may have drawn it.

A coin that was tossed when a program started is a truth value like any option: only the line that
assigned it tells. Sources are those of files, and of cells of a notebook.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import FunctionType
from typing import Any

_CELLS = ("<ipython-input", "ipykernel_")
_DEEP = 4  # names that stand for names
_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.withitem)


def is_worked_out(name: str, code: Any, *, unless_seen: bool) -> bool:
    """Return whether a call gave a value its name, as far as sources say.

    Parameters
    ----------
    name
        Of a variable or an attribute.
    code
        The function or class that has it.
    unless_seen
        What to say where no source assigns it.
    """
    trees = list(_parse_code_sources(code))
    found = [node for tree in trees for node in _find_assigned_values(tree, name)]
    if not found:
        return unless_seen
    return any(_has_call(node, trees, _DEEP) for node in found)


def _has_call(node: ast.AST, trees: list[ast.Module], deep: int) -> bool:
    """Return whether an expression calls something, or names the value of a call."""
    for part in ast.walk(node):
        if isinstance(part, (ast.Call, ast.Await, ast.Yield)):
            return True
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and deep:
            values = [one for tree in trees for one in _find_assigned_values(tree, part.id)]
            if any(one is not node and _has_call(one, trees, deep - 1) for one in values):
                return True
    return False


def _find_assigned_values(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """Yield the values that a source assigns to a name, or gives its parameter by default."""
    for node in ast.walk(tree):
        if isinstance(node, _STATEMENTS):
            value = _get_node_value(node)
            if value is not None and name in _get_target_names(node):
                yield value
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _find_parameter_defaults(node.args, name)


def _get_node_value(node: Any) -> ast.AST | None:
    for field in ("value", "iter", "context_expr"):
        if (found := getattr(node, field, None)) is not None:
            return found  # type: ignore[no-any-return]
    return None


def _get_target_names(node: Any) -> set[str]:
    kept = ("targets", "target", "optional_vars")
    held = [one for field in kept for one in _to_list(getattr(node, field, None))]
    parts = [part for one in held for part in ast.walk(one)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names | {part.attr for part in parts if isinstance(part, ast.Attribute)}


def _to_list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _find_parameter_defaults(given: ast.arguments, name: str) -> Iterator[ast.AST]:
    placed = [*given.posonlyargs, *given.args]
    pairs = [*zip(placed[::-1], given.defaults[::-1], strict=False)]
    pairs += [(one, of) for one, of in zip(given.kwonlyargs, given.kw_defaults, strict=True) if of]
    yield from (default for one, default in pairs if one.arg == name)


def _parse_code_sources(code: Any) -> Iterator[ast.Module]:
    """Yield the sources that may have assigned the names in code."""
    functions = [code] if isinstance(code, FunctionType) else list(vars(code).values())
    own = {one.__code__.co_filename for one in functions if isinstance(one, FunctionType)}
    cells = {file for file in list(linecache.cache) if any(one in file for one in _CELLS)}
    for file in sorted(own | cells):
        try:
            yield ast.parse("".join(linecache.getlines(file)))
        # A cell of a notebook may hold lines of a shell, which are no Python.
        except (SyntaxError, ValueError):  # such as lines of a shell in a notebook
            continue
