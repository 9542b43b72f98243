"""The values of expressions of code, as far as they follow without running it.

Names are resolved against the values that the code would find, or against what its source binds
once, so that ``from os import environ as e`` and ``NAME = "SCALE"`` beside ``os.environ[NAME]`` are
understood. Nothing of the user's is called: paths and text alone are put together.
"""

from __future__ import annotations

import ast
import importlib
import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from types import CodeType, MethodType, ModuleType
from typing import Any, NamedTuple

UNKNOWN = object()
_ENVIRONMENTS = (
    os.environ,
    getattr(os, "environb", os.environ),
    getattr(sys.modules.get("posix"), "environ", os.environ),
)
_PATHS = {"parent", "name", "stem", "suffix", "parents"}
_MAKE_PATHS = {"resolve", "absolute", "with_name", "with_suffix", "joinpath", "expanduser"}
# What paths and text raise on other people's values, and these on a comparison.
FAILS = (
    *(TypeError, ValueError, AttributeError, LookupError, ArithmeticError, OSError),
    RecursionError,
)
_PURE = (Path, PurePath, str, os.fspath, os.path.join, os.path.dirname, os.path.abspath,
         os.path.realpath, os.path.expanduser, os.path.basename)  # fmt: skip


@lru_cache(maxsize=1024)
def parse_source(source: bytes | str) -> ast.Module:
    """Return the tree of source; an empty one where it is no code."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def nodes_of(code: CodeType) -> list[ast.AST]:
    """Return the piece of source that a function's code is of; several lambdas of one line."""
    lines = linecache.getlines(code.co_filename)
    if not lines:
        return []
    found = _by_line("".join(lines)).get(code.co_firstlineno, ())
    return [node for node in found if getattr(node, "name", "<lambda>") == code.co_name]


@lru_cache(maxsize=256)
def _by_line(source: str) -> Mapping[int, tuple[ast.AST, ...]]:
    found: dict[int, tuple[ast.AST, ...]] = {}
    for node in ast.walk(parse_source(source)):
        if isinstance(node, _FUNCTIONS):
            decorators = getattr(node, "decorator_list", [])
            line = min([node.lineno, *(one.lineno for one in decorators)])
            found[line] = (*found.get(line, ()), node)
    return found


def split_module_pieces(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the functions of a module, each with those inside it, and the code outside."""
    outside: list[ast.stmt] = []
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _FUNCTIONS):
            yield node
        elif isinstance(node, ast.ClassDef):
            waiting += node.body
        else:
            outside.append(node)
    yield ast.Module(outside[::-1], [])


def constants(tree: ast.Module) -> dict[str, Any]:
    """Return the values of a module's names, as far as its source shows them."""
    found: dict[str, Any] = {}
    for node in tree.body:
        for name, value in bound_by(node):
            found[name] = (
                ExpressionEvaluator(found).of(value) if isinstance(value, ast.AST) else value
            )
    return found


class ImportSymbol(NamedTuple):
    """An imported object that is not at hand, by its name."""

    name: str


def bound_by(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield names that a statement binds, with the expression or the module's value."""
    match node:
        case ast.Import(names=names):
            for alias in names:
                top = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or top, sys.modules.get(top, ImportSymbol(top))
        case ast.ImportFrom(module=module, names=names, level=0) if module:
            home = sys.modules.get(module)
            for alias in names:
                unknown = ImportSymbol(f"{module}.{alias.name}")
                yield alias.asname or alias.name, getattr(home, alias.name, unknown)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.AST() as value):
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value


class ExpressionEvaluator:
    """Works out expressions from names, paths and text; nothing else is ever called."""

    def __init__(self, scope: Mapping[str, Any]) -> None:
        self.scope = scope

    def of(self, node: ast.AST | None) -> Any:
        """Return the value of an expression, ``UNKNOWN`` if it cannot be worked out."""
        try:
            return self._of(node)
        except FAILS:
            return UNKNOWN

    def _of(self, node: ast.AST | None) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name in self.scope:
                    return self.scope[name]
                known = sys.modules["builtins"]
                return getattr(known, name, UNKNOWN)
            case ast.Attribute(value=base, attr=attr):
                return self._attribute(self.of(base), attr)
            case ast.Subscript(value=base, slice=key):
                held, place = self.of(base), self.of(key)
                plain = isinstance(held, dict | list | tuple) or is_environment(held)
                return held[place] if plain and place is not UNKNOWN else UNKNOWN
            case ast.BinOp(left=left, op=ast.Add() | ast.Div() as op, right=right):
                one, other = self.of(left), self.of(right)
                if UNKNOWN in (one, other):
                    return UNKNOWN
                return one + other if isinstance(op, ast.Add) else one / other
            case ast.JoinedStr(values=values):
                parts = [self._part(one) for one in values]
                return UNKNOWN if UNKNOWN in parts else "".join(map(str, parts))
            case ast.Call(func=func, args=args):
                return self._call(func, [self.of(one) for one in args])
        return UNKNOWN

    def _part(self, node: ast.expr) -> Any:
        """Return a part of a formatted text; one that is written in a format is not worked out."""
        if not isinstance(node, ast.FormattedValue):
            return self.of(node)
        as_it_is = node.conversion == -1 and node.format_spec is None
        return self.of(node.value) if as_it_is else UNKNOWN

    def _attribute(self, base: Any, attr: str) -> Any:
        if isinstance(base, ImportSymbol):
            return ImportSymbol(f"{base.name}.{attr}")
        if isinstance(base, ModuleType) and attr == "__dict__":
            return vars(base)
        if isinstance(base, (ModuleType, type)):
            return getattr(base, attr, ImportSymbol(f"{base.__name__}.{attr}"))
        if isinstance(base, PurePath) and attr in _PATHS:
            return getattr(base, attr)
        if is_environment(base):
            return getattr(base, attr, UNKNOWN)
        return UNKNOWN

    def _call(self, func: ast.AST, given: list[Any]) -> Any:
        if UNKNOWN in given:
            return UNKNOWN
        if isinstance(func, ast.Attribute) and func.attr in _MAKE_PATHS:
            base = self.of(func.value)
            return getattr(base, func.attr)(*given) if isinstance(base, PurePath) else UNKNOWN
        target = self.of(func)
        if target is getattr and len(given) == 2:
            return self._attribute(*given)
        if target is vars and given and isinstance(given[0], ModuleType):
            return vars(given[0])
        if target in (__import__, importlib.import_module):
            top = given[0].partition(".")[0] if target is __import__ else given[0]
            return sys.modules.get(top, ImportSymbol(top))
        if target in _PURE or target is os.getenv or is_of_environment(target, "get"):
            return target(*given)
        return UNKNOWN


def is_environment(value: Any) -> bool:
    """Return whether a value is the environment of this process."""
    return any(value is one for one in _ENVIRONMENTS)


def is_of_environment(value: Any, *names: str) -> bool:
    """Return whether a value is a method of the environment, of one of these names."""
    own = isinstance(value, MethodType) and is_environment(value.__self__)
    return own and (not names or value.__name__ in names)
