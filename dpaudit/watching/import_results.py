"""Whether code refers to values that its import computed, and not only to written ones.

A module may read a file while it is imported. Of a function that refers to nothing of what came of
it, this tells nothing.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Container, Iterator
from functools import lru_cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from . import outside
from .names import is_plain, names_in

_CODE = (type, ModuleType, BuiltinFunctionType, FunctionType, MethodType, property)
_DEEP = 8
_BY_NAME = frozenset(
    "globals vars locals getattr eval exec __import__ import_module modules __subclasses__ "
    "__dict__ __globals__ __builtins__ __defaults__ __kwdefaults__ __closure__ __self__ "
    "__getattribute__ get_objects get_referrers _getframe currentframe f_back f_globals".split()
)


def refers_to_results(given: Any, own: Container[str] = ()) -> bool:
    """Return whether code refers to values that its import computed.

    Globals that are written in a module as they are, functions and classes are no results. Whatever
    it has in a closure, in a default, in an object or in a cache is one, and so is what it imports
    in a call or finds by a name that is worked out: nobody can say that no file gave it.

    Parameters
    ----------
    given
        A function, a class or an object that is called.
    own
        Top-level packages that are looked at as the user's own code, wherever they are installed.
    """
    return any(_Walk(own).through(given, 0))


class _Walk:
    """A walk through the values that code refers to, each object once.

    Parameters
    ----------
    own
        Top-level packages that are the user's own code.
    """

    def __init__(self, own: Container[str]) -> None:
        self.own, self.seen = own, set[int]()

    def through(self, value: Any, deep: int) -> Iterator[bool]:
        """Yield whether values that something refers to are results of an import."""
        if id(value) in self.seen or deep > _DEEP:
            return
        self.seen.add(id(value))
        if isinstance(value, partial):
            for one in (value.func, *value.args, *value.keywords.values()):
                yield from self.through(one, deep + 1)
        elif isinstance(value, MethodType):
            yield from self.through(value.__func__, deep + 1)
            yield from self.through(value.__self__, deep + 1)
        elif isinstance(value, FunctionType):
            yield from self._function(value, deep)
        elif isinstance(value, type):
            yield from self._class(value, deep)
        elif is_plain(value):
            yield value is not None  # a small number may be noise that was read from a file
        else:
            yield from self._object(value, deep)

    def _class(self, value: type, deep: int) -> Iterator[bool]:
        if self._is_users(value):
            for name, one in vars(value).items():
                if not name.startswith("__") or isinstance(one, FunctionType):
                    yield from self.through(getattr(one, "__func__", one), deep + 1)

    def _object(self, value: Any, deep: int) -> Iterator[bool]:
        if isinstance(value, (dict, list, tuple, set, frozenset)):
            members = [*value, *value.values()] if isinstance(value, dict) else list(value)
            for one in members[:1000]:
                yield from self.through(one, deep + 1)
        elif isinstance(value, _CODE):
            return
        elif self._is_users(type(value)):
            yield from self.through(type(value), deep + 1)
            for one in getattr(value, "__dict__", {}).values():
                yield from self.through(one, deep + 1)
        elif hasattr(value, "__wrapped__"):  # a cache
            yield _holds_answers(value)
            yield from self.through(value.__wrapped__, deep + 1)
        else:
            yield True  # an open file, a connection, a table: nobody knows what it holds

    def _function(self, function: FunctionType, deep: int) -> Iterator[bool]:
        if not self._is_users(function):
            return
        for cell in function.__closure__ or ():
            try:
                yield from self.through(cell.cell_contents, deep + 1)
            except ValueError:  # it is empty
                continue
        held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for one in (*held, *vars(function).values()):
            yield from self.through(one, deep + 1)
        yield _looks_elsewhere(function.__code__)
        names = names_in(function.__code__)
        for name in names & function.__globals__.keys():
            yield from self._global(name, function.__globals__, names, deep)

    def _global(
        self, name: str, space: dict[str, Any], names: set[str], deep: int
    ) -> Iterator[bool]:
        value = space[name]
        if isinstance(value, ModuleType):
            if self._is_own(getattr(value, "__file__", None) or "", value.__name__):
                yield "__getattr__" in vars(value)  # it works names out
                for other in (names - {name}) & vars(value).keys():
                    yield from self._global(other, vars(value), names, deep + 1)
        elif isinstance(value, _CODE) or hasattr(value, "__wrapped__"):
            yield from self.through(value, deep + 1)
        elif not name.startswith("__") and not _is_as_written(name, space):
            yield not (self._is_users(type(value)) and not any(self.through(value, deep + 1)))

    def _is_users(self, code: Any) -> bool:
        """Return whether a function or class is the user's own."""
        if isinstance(code, FunctionType):
            return self._is_own(code.__code__.co_filename, code.__module__)
        module = sys.modules.get(code.__module__ or "")
        if module is None:
            return True
        file = getattr(module, "__file__", None)
        return module.__name__ != "builtins" and (
            file is None or self._is_own(file, module.__name__)
        )

    def _is_own(self, file: str, module: str | None) -> bool:
        named = (module or "").partition(".")[0]
        return named in self.own or outside.place_of(file) == "user"


def _holds_answers(cache: Any) -> bool:
    """Return whether a cache of the standard library has answers already, or one nobody knows."""
    try:
        return bool(cache.cache_info().currsize)
    except AttributeError:
        return not isinstance(cache, FunctionType)


def _looks_elsewhere(code: CodeType) -> bool:
    """Return whether code imports in a call, or asks for names that nobody can read off it."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return (
        not _BY_NAME.isdisjoint(code.co_names)
        or any(one.opname == "IMPORT_NAME" for one in dis.get_instructions(code))
        or any(map(_looks_elsewhere, inner))
    )


def _is_as_written(name: str, space: dict[str, Any]) -> bool:
    """Return whether a global still has the value that its module's source writes down."""
    known = _written(str(space.get("__file__") or ""))
    if name not in known:
        return False
    try:
        return bool(known[name] is None or ast.literal_eval(known[name] or "") == space[name])
    except (ValueError, TypeError, SyntaxError):
        return False


@lru_cache(64)
def _written(file: str) -> dict[str, str | None]:
    """Return the globals that a file gives one value which is written there, and that value.

    It is None where a name is that of a file or a folder.
    """
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, str | None] = {}
    other: set[str] = set()
    for one in tree.body:
        for target, value in _find_assignments(one):
            if target in found or value is None or not _is_written(value):
                other.add(target)
            elif any(isinstance(part, ast.Call) for part in ast.walk(value)):
                found[target] = None
            else:
                found[target] = ast.unparse(value)
    anywhere = {name for one in ast.walk(tree) if isinstance(one, ast.Global) for name in one.names}
    return {name: value for name, value in found.items() if name not in other | anywhere}


def _find_assignments(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield names that a statement gives values, and the values; None where they are worked out."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
                continue
            for one in ast.walk(target):
                if isinstance(one, ast.Name):
                    yield one.id, None
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Expr)):
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                yield one.id, None


def _is_written(value: ast.expr | None) -> bool:
    """Return whether an expression is made of written values, and of the file's own path."""
    if value is None:
        return False
    calls = [one for one in ast.walk(value) if isinstance(one, ast.Call)]
    if any(not isinstance(one.func, ast.Name) or one.func.id not in _MAKES for one in calls):
        return False
    names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
    return names <= {*_MAKES, "__file__"}


_MAKES = frozenset(("Path",))
