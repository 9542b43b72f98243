"""Places of audits in the source: the line of the mechanism, else that of the audit's table.

Sources are read and never run: what they hold is about to run in another process, if anywhere.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpaudit.report.entries import SourceLine

_MOST = 5  # names that import from each other
_TABLE = re.compile(r"(?m)^\s*\[{1,2}\s*audit\s*\]{1,2}")


def place_of(reference: str, folder: Path) -> SourceLine | None:
    r"""Return the line that defines ``module:object``; None where no source shows it.

    Parameters
    ----------
    reference
        The object; its module is looked for as an import would, and last in ``folder``.
    folder
        Of the specification, or where the command runs.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     _ = Path(name, "own_sums.py").write_text("scale = 2\n\ndef noisy(x): pass\n")
    ...     found = place_of("own_sums:noisy", Path(name))
    ...     found.file.name, found.line, place_of("own_sums:gone", Path(name))
    ('own_sums.py', 3, None)
    """
    module, _, attribute = reference.partition(":")
    return _find_definition(module, attribute.split("."), [*map(Path, sys.path), folder], _MOST)


def table_of(file: Path, number: int) -> SourceLine:
    """Return the line of a specification's table, counted from 0; the first line if unseen."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return SourceLine(file, 1)
    starts = [found.end() for found in _TABLE.finditer(text)]
    return SourceLine(file, text.count("\n", 0, starts[number]) + 1 if number < len(starts) else 1)


def _find_definition(
    module: str, names: Sequence[str], folders: Sequence[Path], left: int
) -> SourceLine | None:
    file = next(_find_module_files(module, folders), None)
    tree = None if file is None else _parse_source_file(file)
    if file is None or tree is None or not left:
        return None
    body: Sequence[ast.stmt] = tree.body
    node: ast.stmt | None = None
    for number, name in enumerate(names):
        node = _find_defining_statement(body, name)
        # A relative import would need the package, which a file alone does not tell.
        if isinstance(node, ast.ImportFrom) and number == 0 and not node.level and node.module:
            original = next(one.name for one in node.names if (one.asname or one.name) == name)
            elsewhere = _find_definition(node.module, [original, *names[1:]], folders, left - 1)
            return elsewhere or SourceLine(file, node.lineno)
        if node is None:
            return None
        if not isinstance(node, ast.ClassDef):
            break
        body = node.body
    return None if node is None else SourceLine(file, node.lineno)


def _find_module_files(module: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the sources that a module could be, in the order of an import."""
    parts = module.split(".")
    for folder in folders:
        for path in (
            folder.joinpath(*parts, "__init__.py"),
            folder.joinpath(*parts[:-1], f"{parts[-1]}.py"),
        ):
            if path.is_file():
                yield path


def _parse_source_file(file: Path) -> ast.Module | None:
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _find_defining_statement(body: Sequence[ast.stmt], name: str) -> ast.stmt | None:
    """Return the last statement of a body that gives a name its value."""
    return next((node for node in reversed(body) if name in _get_assigned_names(node)), None)


def _get_assigned_names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Assign():
            yield from (one.id for one in node.targets if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.ImportFrom() | ast.Import():
            yield from (one.asname or one.name for one in node.names)
