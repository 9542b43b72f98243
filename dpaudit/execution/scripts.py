"""Files of the user's code that no process can import by a name, and that each runs afresh.

A program's script is one, and a module that was loaded from a file. As `multiprocessing` does where
it spawns, a worker runs such a file again, as a module that is not ``__main__``, and only up to its
first call into dpaudit. What the code draws when it starts is then drawn anew in every process.

A name of the file may have changed since: in the program another value stands there than a fresh
run gives it. Code that names it is not the file's any more, and travels as it is.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from dpaudit._references import up_to_dpaudit
from dpaudit.errors import what_happened
from dpaudit.execution.failures import CodeFailed
from dpaudit.execution.fingerprints import close_look, find_names_of_code

MAIN = "__mp_main__"  # as multiprocessing names a script that another process runs again
_SCRIPTS = ("__main__", MAIN)
_OURS = "dpaudit"


class ScriptSource(NamedTuple):
    """A file that is run again: its path, its name and package, and the program's arguments."""

    path: str
    name: str
    package: str | None
    arguments: tuple[str, ...]


def source_of(module: ModuleType) -> ScriptSource | None:
    """Return the file that makes a module which no process can import by its name.

    Examples
    --------
    >>> print(source_of(sys))
    None
    """
    file, name = getattr(module, "__file__", None), module.__name__
    if not isinstance(file, str) or name.partition(".")[0] == _OURS or not Path(file).is_file():
        return None
    package = getattr(module, "__package__", None)
    path = str(Path(file).resolve())
    if name in _SCRIPTS:
        return ScriptSource(path, MAIN, package, tuple(sys.argv))
    if not file.endswith(".py") or "-packages" in file or _find_importable_file(name) == path:
        return None
    return ScriptSource(path, name, package, ())


def _find_importable_file(name: str) -> str | None:
    """Return the file that another process would import under a name."""
    parent = name.rpartition(".")[0]
    if parent and not _is_found(parent):
        return None
    inside = list(getattr(sys.modules.get(parent), "__path__", ())) if parent else None
    spec = PathFinder.find_spec(name, inside)
    if spec is None:  # such as a package that is installed in place
        spec = next(
            (one for finder in _get_editable_finders() if (one := finder(name, inside))), None
        )
    return None if spec is None or spec.origin is None else str(Path(spec.origin).resolve())


def _is_found(package: str) -> bool:
    """Return whether another process would find a package: one that pytest made, it would not."""
    # A package is found only where the one around it is.
    parent = package.rpartition(".")[0]
    if parent and not _is_found(parent):
        return False
    inside = list(getattr(sys.modules.get(parent), "__path__", ())) if parent else None
    found = PathFinder.find_spec(package, inside) is not None
    return found or any(one(package, inside) for one in _get_editable_finders())


def _get_editable_finders() -> list[Callable[..., Any]]:
    """Return the finders of packages installed in place: every Python has them at its start."""
    return [
        one.find_spec
        for one in sys.meta_path
        if (getattr(one, "__module__", None) or "").startswith("__editable__")
    ]


# In a worker


def load_from_source(source: Sequence[Any], qualname: str) -> Any:
    """Return the object of a file under a name; the file runs once in a process."""
    found: Any = run(ScriptSource(*source))
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def run(source: ScriptSource) -> ModuleType:
    """Return the module of a file, which is run up to its first call into dpaudit."""
    # A file is run once in a process: its objects must be the same for all tasks.
    known = sys.modules.get(source.name)
    if known is not None and getattr(known, "__file__", None) == source.path:
        return known
    module = _make_source_module(source)
    code = compile(_read_script_bytes(source), source.path, "exec", dont_inherit=True)
    # Classes look up their own module while the file runs, so that its names are registered before.
    before = {name: sys.modules.get(name) for name in (source.name, *_get_module_aliases(source))}
    sys.modules.update(dict.fromkeys(before, module))
    if source.name == MAIN:
        sys.argv[:] = source.arguments
    try:
        with up_to_dpaudit(source.name):
            exec(code, module.__dict__)
    except BaseException:
        _put_back(before)
        raise
    return module


def _put_back(before: dict[str, ModuleType | None]) -> None:
    """Let names stand for the modules that they were, or for none: not for one half of a run."""
    for name, module in before.items():
        if module is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module


def _get_module_aliases(source: ScriptSource) -> tuple[str, ...]:
    return ("__main__",) if source.name == MAIN else ()


def _make_source_module(source: ScriptSource) -> ModuleType:
    spec = importlib.util.spec_from_file_location(source.name, source.path)
    if source.name == MAIN or spec is None:
        module = ModuleType(source.name)
        module.__file__ = source.path
    else:
        module = importlib.util.module_from_spec(spec)
    module.__package__ = source.package
    return module


def _read_script_bytes(source: ScriptSource) -> bytes:
    """Return the content of a file, of one that was taken along to another machine too."""
    for finder in sys.meta_path:
        if source.name in (taken := getattr(finder, "modules", {})):
            return bytes(taken[source.name][0])
    # A module that was taken along to this machine has no file here.
    return Path(source.path).read_bytes()


def looks_of(source: Sequence[Any]) -> dict[str, str]:
    """Return the fingerprints of all names that a fresh run of a file defines, by name.

    Raises
    ------
    CodeFailed
        Its code does.
    """
    try:
        module = run(ScriptSource(*source))
    except BaseException as error:  # other people's code
        raise CodeFailed(what_happened(error)) from error
    return {name: close_look(value) for name, value in list(vars(module).items())}


# In the program


@dataclass(frozen=True)
class Survey:
    """The names of a file after fresh runs; the reason if it cannot be run."""

    runs: tuple[dict[str, str], ...]
    words: str = ""

    def differing(self, owner: Any, module: ModuleType) -> list[str]:
        """Return names that code needs, and that fresh runs of the file lack or give otherwise.

        What fresh runs do not agree on, such as a number that is drawn there, may differ.
        """
        top = owner.__qualname__.partition(".")[0]
        needed, waiting = set[str](), {top}
        while waiting:
            name = waiting.pop()
            needed.add(name)
            waiting |= find_names_of_code(vars(module).get(name), module.__name__) - needed
        return sorted(name for name in needed & vars(module).keys() if self._is_other(name, module))

    def _is_other(self, name: str, module: ModuleType) -> bool:
        # A name that some run lacks may be set in one branch only.
        if any(name not in run for run in self.runs):
            return True
        fresh = {run[name] for run in self.runs}
        return len(fresh) == 1 and close_look(vars(module)[name]) not in fresh


_surveys: dict[tuple[ScriptSource, float], Survey] = {}


def survey_of(source: ScriptSource) -> Survey | None:
    """Return the survey of a file as it is now; None before anybody made one."""
    return _surveys.get(_make_survey_key(source))


def register_survey(source: ScriptSource, found: Survey) -> None:
    """Record the survey of a file's fresh runs."""
    _surveys[_make_survey_key(source)] = found


def _make_survey_key(source: ScriptSource) -> tuple[ScriptSource, float]:
    # With the time of its last change, as an edited file needs to be looked at again.
    return source, Path(source.path).stat().st_mtime
