"""Which tests reach a module: read off the imports of every source, without running any.

An edge leads from a file to each module that it imports, at its top or inside a function, and to
those it names in another way: ``"module:object"``, a module by its name alone, a name that
``dpaudit`` hands on, and in a test a claim or attack by the name of its entry point (with the
verifier that belongs to it), or all packages where it reads which there are.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

from .faults import ROOT

_INSIDE = ("algorithms", "attacks")


class Reach:
    """The graph of imports of a working tree."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        folders = [root / name for name in ("dpaudit", *_INSIDE)]
        self.modules = {
            _module(path.relative_to(root)): path for one in folders for path in one.rglob("*.py")
        }
        self.tests = sorted((root / "tests").rglob("*.py"))

    def tests_of(self, path: Path) -> list[Path]:
        """Return the test files that reach a module, the likeliest to tell first.

        A file named after the module, then the nearest, and among equals the smallest.
        """
        far = self._distances(_module(path))
        reaching = [one for one in self._test_files if one in far]
        return sorted(
            reaching, key=lambda one: (path.stem not in one.stem, far[one], one.stat().st_size)
        )

    @cached_property
    def _test_files(self) -> list[Path]:
        return [one for one in self.tests if one.name.startswith("test_")]

    def _distances(self, module: str) -> dict[Path, int]:
        far = {self.modules[module]: 0}
        front = [self.modules[module]]
        while front:
            ahead = [one for path in front for one in self._importers.get(path, ())]
            front = []
            for one in ahead:
                if one not in far:
                    far[one] = 1 + min(far[i] for i in self._imports[one] if i in far)
                    front.append(one)
        return far

    @cached_property
    def _imports(self) -> dict[Path, set[Path]]:
        found = {path: set(self._of(path)) for path in (*self.modules.values(), *self.tests)}
        for path in self.tests:
            around = (one / "conftest.py" for one in path.parents)
            found[path] |= {one for one in around if one in found and self._uses(path, one)}
        return found

    def _uses(self, path: Path, conftest: Path) -> bool:
        """Return whether a test file names a function of a ``conftest.py`` above it: a fixture."""
        words = set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
        tree = ast.parse(conftest.read_text(encoding="utf-8"))
        fixtures = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
        return path != conftest and bool(fixtures & words)

    @cached_property
    def _importers(self) -> dict[Path, list[Path]]:
        found: dict[Path, list[Path]] = {}
        for path, imported in self._imports.items():
            for one in imported:
                found.setdefault(one, []).append(path)
        return found

    def _of(self, path: Path) -> Iterator[Path]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        unused = {id(n) for one in ast.walk(tree) if _for_types(one) for n in ast.walk(one)}
        for node in ast.walk(tree):
            if id(node) not in unused:
                yield from self._named(node, path)

    def _named(self, node: ast.AST, path: Path) -> Iterator[Path]:
        match node:
            case ast.Import(names=names):
                for one in names:
                    yield from self._modules(one.name)
            case ast.ImportFrom(level=0, module=str(module), names=names):
                for one in names:
                    yield from self._modules(f"{module}.{one.name}")
                    if one.name == "PACKAGES" and path.is_relative_to(self.root / "tests"):
                        yield from self._packages
            case ast.ImportFrom(level=level, module=module, names=names) if level:
                base = path.parents[level - 1]
                ends = [module] if module else [one.name for one in names]
                for end in ends:
                    beside = base.joinpath(*end.split(".")).with_suffix(".py")
                    yield from [beside] if beside.exists() else []
            case ast.Attribute(value=ast.Name(id="dpaudit"), attr=name) if name in self._handed_on:
                yield from self._modules(self._handed_on[name])
            case ast.Constant(value=str(text)):
                yield from self._by_words(text, path.is_relative_to(self.root / "tests"))

    def _modules(self, name: str) -> Iterator[Path]:
        package, _, last = name.rpartition(".")
        helper = self.root.joinpath(*package.split(".")).with_suffix(".py")
        if name.startswith("tests.") and helper.exists():
            yield helper
        elif package == "dpaudit" and last in self._handed_on:
            yield from self._modules(self._handed_on[last])
        elif name in self.modules:
            yield self.modules[name]
        elif package in self.modules:
            yield self.modules[package]

    def _by_words(self, text: str, in_test: bool) -> Iterator[Path]:
        if text in self.modules:
            yield self.modules[text]
        homes = re.findall(r"\b(dpaudit(?:\.\w+)+):\w+", text)
        if in_test:  # other names of entry points are words like any other
            homes += [self._registered.get(w, "") for w in text.split() if "-" in w]
        for home in filter(None, homes):
            yield from self._modules(home)
            yield from self._modules(re.sub(r"(?<=\.)claims(?=\.)", "verify", home))

    @cached_property
    def _homes(self) -> dict[str, dict[str, str]]:
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
        found: dict[str, dict[str, str]] = project["project"]["entry-points"]
        return found

    @cached_property
    def _registered(self) -> dict[str, str]:
        groups = self._homes.values()
        return {name: home.partition(":")[0] for one in groups for name, home in one.items()}

    @cached_property
    def _packages(self) -> list[Path]:
        """Cards of packages, which nobody imports by their names."""
        homes = self._homes["dpaudit.packages"].values()
        return [one for home in homes for one in self._modules(home.partition(":")[0])]

    @cached_property
    def _handed_on(self) -> dict[str, str]:
        """Names of ``dpaudit`` that are imported when they are first used, and their homes."""
        tree = ast.parse(self.modules["dpaudit"].read_text(encoding="utf-8"))
        typed = [n for one in tree.body if _for_types(one) for n in ast.walk(one)]
        return {
            alias.name: f"{node.module}"
            for node in typed
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }


@cache
def reach() -> Reach:
    """Return the graph of this working tree."""
    return Reach()


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    inside = ("dpaudit", *parts) if parts[0] in _INSIDE else parts
    return ".".join(inside[:-1] if inside[-1] == "__init__" else inside)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
