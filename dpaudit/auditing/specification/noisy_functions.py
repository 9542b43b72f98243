"""Functions of a project that look as if they draw noise: read off sources, which are not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GENERATORS = frozenset({"rng", "generator", "random_state", "gen", "prng"})
_NOISE = frozenset(
    "laplace normal standard_normal exponential standard_exponential gumbel geometric binomial "
    "multivariate_normal gauss normalvariate expovariate randomise add_noise".split()
)
_ELSEWHERE = frozenset("tests test build dist node_modules site-packages venv env docs".split())
_MOST_FILES = 2000
_LARGEST = 2**20


@dataclass(frozen=True)
class NoisyFunction:
    """A function that may be a mechanism.

    Parameters
    ----------
    reference
        ``module:function``, as an audit names it.
    line
        Where it begins.
    takes_generator
        Whether a parameter is a generator by its name; else its body draws noise.
    """

    reference: str
    line: int
    takes_generator: bool


def find_noisy_functions(folder: Path) -> list[NoisyFunction]:
    """Return the functions of modules below a folder that take a generator or draw noise.

    Those that take a generator come first. Tests, environments and hidden folders are left out, and
    so is what begins with an underscore or takes no data.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     _ = Path(name, "sums.py").write_text("def noisy(x, rng): return x + rng.normal()")
    ...     [one.reference for one in find_noisy_functions(Path(name))]
    ['sums:noisy']
    """
    found = [
        one for file in _find_own_sources(folder) for one in _find_noisy_functions(file, folder)
    ]
    return sorted(found, key=lambda one: (not one.takes_generator, one.reference))


def _find_own_sources(folder: Path) -> Iterator[Path]:
    files = (file for file in sorted(folder.rglob("*.py")) if _is_own(file.relative_to(folder)))
    for _, file in zip(range(_MOST_FILES), files, strict=False):
        yield file


def _is_own(path: Path) -> bool:
    """Return whether a source is a module of the project's own, by its name."""
    if path.name.startswith(("test_", "conftest", "setup")) or path.name.endswith("_test.py"):
        return False
    parts = path.with_suffix("").parts
    return all(part.isidentifier() and part not in _ELSEWHERE for part in parts)


def _find_noisy_functions(file: Path, folder: Path) -> Iterator[NoisyFunction]:
    try:
        tree = ast.parse(file.read_bytes() if file.stat().st_size <= _LARGEST else b"")
    # A source of a newer Python, or a template, is no reason to stop.
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    parts = list(file.relative_to(folder).with_suffix("").parts)
    # A folder src is where packages lie, and no part of their names.
    parts = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or not module:
            continue
        names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        # The first parameter is the data.
        takes = bool(_GENERATORS.intersection(names[1:]))
        if names and names[0] not in _GENERATORS and (takes or _is_drawing_noise(node)):
            yield NoisyFunction(f"{module}:{node.name}", node.lineno, takes)


def _is_drawing_noise(node: ast.FunctionDef) -> bool:
    """Return whether the body calls something that is named as noise is."""
    called = (one.func for one in ast.walk(node) if isinstance(one, ast.Call))
    return any(isinstance(one, ast.Attribute) and one.attr in _NOISE for one in called)
