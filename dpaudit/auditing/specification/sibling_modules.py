"""Modules beside a specification: they are found last, so one may have a name that is taken.

The folder of a specification stands at the end of the import path. A file ``secrets.py`` in it
hides no library, whatever else the folder holds, and cannot be imported by that name: whoever names
it is told where the other one lies.
"""

from __future__ import annotations

import ast
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from dpaudit.errors import InvalidArgument


class HiddenModule(UserWarning):
    """A module beside a specification that another of the same name keeps from being imported."""


def require_reachable(
    references: Mapping[str, str | None], folder: Path, loaded: Mapping[str, ModuleType]
) -> None:
    """Refuse references to a module of the folder that would import another one of that name.

    Modules that they import in their turn are a warning: which of the two is meant, only their
    author knows.

    Parameters
    ----------
    references
        ``module:object`` by what it is for; None for none.
    folder
        Where the modules may lie; it is on the import path.
    loaded
        The modules that the process which imports them has already.

    Raises
    ------
    InvalidArgument
        One is hidden.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     _ = Path(name, "sys.py").write_text("class Sum: pass")
    ...     require_reachable({"pair": "sys:PAIR"}, Path(name), {})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: pair: got 'sys:PAIR', expected a module whose name is free: \
.../sys.py cannot be imported, as sys is Python's own; rename it
    """
    siblings = _SiblingModules(folder, loaded)
    for what, reference in references.items():
        if reference is None:
            continue
        name = _get_top_level_name(reference.partition(":")[0])
        if hidden := siblings.hidden(name):
            expected = f"a module whose name is free: {hidden}"
            raise InvalidArgument(what, reference, expected)
        for said in siblings.hidden_imports(name):
            warnings.warn(said, HiddenModule, stacklevel=2)


@dataclass(frozen=True)
class _SiblingModules:
    """The modules of a folder, and those that come before them."""

    folder: Path
    loaded: Mapping[str, ModuleType]

    def hidden(self, name: str) -> str | None:
        """Return, in words, the obstacle to importing a module of the folder, if there is one."""
        own = self._own(name)
        other = None if own is None else self._other(name)
        if own is None or (other is not None and os.path.samefile(own, other)):
            return None
        library = name in sys.stdlib_module_names or other is None
        whose = " ".join([*["Python's own"] * library, *([other] if other else [])])
        return f"{own} cannot be imported, as {name} is {whose}; rename it"

    def hidden_imports(self, name: str) -> Iterator[str]:
        """Yield the imports of the folder's modules, or of theirs in turn, that hide others."""
        left, seen = [name], {name}
        while left:
            for imported in _find_imported_modules(self._own(left.pop())):
                if imported in seen:
                    continue
                seen.add(imported)
                if hidden := self.hidden(imported):
                    yield hidden
                else:
                    left.append(imported)

    def _own(self, name: str) -> str | None:
        """Return the file of the folder's module of that name; None if it has none."""
        found = PathFinder.find_spec(name, [str(self.folder)])
        return None if found is None or not found.has_location else found.origin

    def _other(self, name: str) -> str | None:
        """Return the file that the name imports; None for a module that has no file."""
        if name in self.loaded:
            return getattr(self.loaded[name], "__file__", None)
        # importlib.util.find_spec would import the parents of a dotted name, and so run code.
        for finder in sys.meta_path:
            if (found := finder.find_spec(name, None)) is not None:
                return found.origin if found.has_location else None
        return None


def _find_imported_modules(file: str | None) -> Iterator[str]:
    """Yield the first parts of the names that a source file imports; none where it has faults."""
    if file is None or not file.endswith(".py"):
        return
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (_get_top_level_name(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield _get_top_level_name(node.module)


def _get_top_level_name(name: str) -> str:
    return name.partition(".")[0]
