"""The user's own modules, taken along to processes on machines that do not have them.

What is taken is found by reading: the modules that a pickled task names, and those that their code
imports, wherever it does so, as far as they are files of the user's. Installed packages are not: a
worker has to have them. There the modules are imported from memory, before any file of that name,
and have no folder: code that reads a file beside itself needs a folder that all machines share.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import pickle
import pickletools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from dpaudit._packages import is_installed, package_of
from dpaudit.errors import InvalidArgument, VerbatimText

_OURS = "dpaudit"
_PACKAGE = "__init__.py"
_MOST = 32 * 2**20  # bytes of source
# The source of a module, and whether it is a package.
Modules = dict[str, tuple[bytes, bool]]


def modules_of(blob: bytes) -> Modules:
    """Return the user's modules that a pickled object needs, by their names.

    Raises
    ------
    InvalidArgument
        They are too large to be taken along.

    Examples
    --------
    >>> modules_of(pickle.dumps(ast.parse))
    {}
    """
    files = find_user_sources(word.partition(":")[0] for word in _read_pickled_texts(blob)).files
    found: Modules = {
        name: (path.read_bytes(), path.name == _PACKAGE) for name, path in files.items()
    }
    for name in list(found):  # a folder without __init__.py is a package there as well
        for parent in _get_parent_modules(name):
            found.setdefault(parent, (b"", True))
    size = sum(len(source) for source, _ in found.values())
    if size > _MOST:
        given = VerbatimText(f"modules of {size / 2**20:.0f} MiB")
        raise InvalidArgument("backend", given, "at most 32 MiB of modules; install them there")
    return found


class Sources(NamedTuple):
    """Files of the user's modules, by name, and the installed packages that their code imports."""

    files: dict[str, Path]
    packages: frozenset[str]


def find_user_sources(names: Iterable[str]) -> Sources:
    """Return the user's modules among names, and all that their code imports, wherever it does.

    Examples
    --------
    >>> find_user_sources(["ast", "no such module"])
    Sources(files={}, packages=frozenset())
    """
    files, packages, waiting, seen = dict[str, Path](), set[str](), set(names), set[str]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        if (path := _file_of(name)) is not None:
            files[name] = path
            waiting |= {*find_file_imports(path, name), *_get_parent_modules(name)} - seen
        elif _is_installed(name.partition(".")[0]):
            packages.add(name.partition(".")[0])
    return Sources(files, frozenset(packages))


def import_late_modules(names: Iterable[str]) -> list[ModuleType]:
    """Return the modules of these names, and those that they are in; the user's are imported first.

    Code that has these names would import them a moment later. What cannot be is left to that code.

    Examples
    --------
    >>> [module.__name__ for module in import_late_modules(["ast", "ast.parse", "no such module"])]
    ['ast']
    """
    both = sorted({*names, *(parent for one in names for parent in _get_parent_modules(one))})
    for name in both:
        if name not in sys.modules and _file_of(name) is not None:
            with suppress(Exception, SystemExit):
                importlib.import_module(name)
    found = (sys.modules.get(name) for name in both)
    return [one for one in found if isinstance(one, ModuleType)]


def find_file_imports(path: Path, name: str) -> set[str]:
    """Return the names in a module's code that may be modules."""
    return set(_find_code_imports(path.read_bytes(), name, is_package=path.name == _PACKAGE))


@lru_cache(maxsize=1024)
def _is_installed(top: str) -> bool:
    """Return whether a name is of a package beside the standard library."""
    if not top.isidentifier() or top == _OURS or top in sys.stdlib_module_names:
        return False
    spec = _find_module_spec(top)
    return spec is not None and package_of(spec.origin or "") is not None


def _read_pickled_texts(blob: bytes) -> Iterator[str]:
    """Yield the text in a pickle, and in pickles inside it."""
    for operation, given, _ in pickletools.genops(blob):
        if isinstance(given, str):
            yield from given.split(" ")[:2] if operation.name == "GLOBAL" else (given,)
        elif isinstance(given, bytes) and given[:1] == b"\x80":
            try:
                yield from list(_read_pickled_texts(given))
            except ValueError:  # other bytes
                continue


def _file_of(name: str) -> Path | None:
    """Return the file of a user's module; None if it is installed, or none."""
    top, *rest = name.split(".")
    if not all(part.isidentifier() for part in (top, *rest)) or top == _OURS:
        return None
    if top in sys.stdlib_module_names or (spec := _find_module_spec(top)) is None:
        return None
    if spec.origin is None:  # a folder without __init__.py, or several
        homes = [Path(one) for one in spec.submodule_search_locations or ()]
        stems = [one.joinpath(*rest) for one in homes if not is_installed(str(one / _PACKAGE))]
        return _find_module_source(stems) if rest else None
    path = Path(spec.origin)
    if is_installed(spec.origin) or path.suffix != ".py":
        return None
    if not rest:
        return path
    if path.name != _PACKAGE:
        return None
    return _find_module_source([path.parent.joinpath(*rest)])


def _find_module_source(stems: Sequence[Path]) -> Path | None:
    """Return the first file there is of a module, whose path without its end is one of these."""
    both = (path for stem in stems for path in (stem.with_suffix(".py"), stem / _PACKAGE))
    return next((one for one in both if one.is_file()), None)


def _find_module_spec(top: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(top)
    except (ImportError, ValueError):  # ValueError: a module that was made, without a spec
        return None


def _get_parent_modules(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _find_code_imports(source: bytes, name: str, *, is_package: bool) -> Iterator[str]:
    """Yield the names that code imports, anywhere in it; some are of no module."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _resolve_import_base(node, name, is_package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        # Any text may be a name that the code imports by itself; what is no module is found out
        # later.
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value.partition(":")[0]  # as in import_module("helper")
            yield _resolve_module_name(named, name, is_package) if named.startswith(".") else named


def _resolve_import_base(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    return _resolve_module_name(f"{'.' * node.level}{node.module or ''}", name, is_package)


def _resolve_module_name(named: str, name: str, is_package: bool) -> str:
    """Return the whole name of a module, as a module calls it that has a name.

    Examples
    --------
    >>> (
    ...     _resolve_module_name(".other", "package.one", False),
    ...     _resolve_module_name("other", "package.one", False),
    ... )
    ('package.other', 'other')
    """
    rest = named.lstrip(".")
    if not (level := len(named) - len(rest)):
        return rest
    parts = name.split(".")
    kept = len(parts) - level + is_package
    return ".".join([*parts[: max(kept, 0)], *([rest] if rest else [])])


# There


class _Loader(SourceLoader):
    """Loads a module from its source."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules

    def get_filename(self, fullname: str) -> str:
        """Return a name for tracebacks."""
        _, is_package = self.modules[fullname]
        end = "/__init__.py" if is_package else ".py"
        return f"<taken along>/{fullname.replace('.', '/')}{end}"

    def get_data(self, path: str) -> bytes:
        """Return the source of the module with this file name; there are no other files."""
        for name, (source, _) in self.modules.items():
            if self.get_filename(name) == path:
                return source
        raise OSError(f"{path}: a module that was taken along has no files beside it")

    def is_package(self, fullname: str) -> bool:
        """Return whether it is a package."""
        return self.modules[fullname][1]


class _ModuleFinder(MetaPathFinder):
    """Finds the modules that were taken along."""

    def __init__(self, modules: Modules) -> None:
        self.modules, self.loader = modules, _Loader(modules)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the specification of a module that was taken along."""
        if fullname not in self.modules:
            return None
        return importlib.util.spec_from_loader(fullname, self.loader)


class PackedTask:
    r"""A pickled task with the modules it needs: unpickles as the task.

    Examples
    --------
    >>> modules = {"taken_along": (b"def double(x): return 2 * x", False)}
    >>> inner = b"ctaken_along\ndouble\n."
    >>> pickle.loads(pickle.dumps(PackedTask(modules, inner)))(21)
    42
    """

    def __init__(self, modules: Mapping[str, tuple[bytes, bool]], blob: bytes) -> None:
        self.modules, self.blob = dict(modules), blob

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _unpickle_with_modules, (self.modules, self.blob)

    @property
    def digest(self) -> str:
        """The digest of the modules: processes that imported others are not for this task."""
        hashed = hashlib.blake2b(digest_size=16)
        # Sorted, so that the digest does not depend on the order in which imports were found.
        for name, (source, is_package) in sorted(self.modules.items()):
            hashed.update(f"{name}:{is_package}:{len(source)}:".encode() + source)
        return hashed.hexdigest()


def _unpickle_with_modules(modules: Modules, blob: bytes) -> Any:
    known = [one for one in sys.meta_path if isinstance(one, _ModuleFinder)]
    if not any(one.modules == modules for one in known):
        # One finder at a time: an older one would hand out modules of another task.
        sys.meta_path[:] = [
            _ModuleFinder(modules),
            *(one for one in sys.meta_path if not isinstance(one, _ModuleFinder)),
        ]
    return pickle.loads(blob)
