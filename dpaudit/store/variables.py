"""Variables of the environment that code names, as their values may be a mechanism's parameters.

Found by reading, where the name stands beside ``environ`` or ``getenv``; a name that is worked out
while code runs is not seen. Variables that say where a program runs, and on how much of a machine,
are nobody's parameters: they differ from one share of an audit to the next.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType

_ACCESS = {"environ", "getenv", "environb", "getenvb"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_PLACES = re.compile(
    r"(HOME|PATH|PYTHONPATH|PWD|USER|LOGNAME|HOSTNAME|SHELL|TERM|TMP|TEMP|TMPDIR|XDG_\w+|\w+_THREADS"
    r"|CUDA_VISIBLE_DEVICES|SLURM_\w+|DPAUDIT_\w+|KUBERNETES_\w+|GITHUB_\w+|JOB_COMPLETION_INDEX)"
)


def of_the_law(names: Iterable[str]) -> set[str]:
    """Return the names of variables that may be parameters of what code draws.

    Examples
    --------
    >>> of_the_law({"SCALE", "HOME", "SLURM_JOB_ID"})
    {'SCALE'}
    """
    return {name for name in names if not _OF_PLACES.fullmatch(name)}


def variables_of(code: CodeType) -> set[str]:
    """Return the texts of a function's code that may name variables, if it reads any.

    Examples
    --------
    >>> def noisy(x):
    ...     import os
    ...     return x + float(os.environ["SCALE"])
    >>> variables_of(noisy.__code__), variables_of(of_the_law.__code__)
    ({'SCALE'}, set())
    """
    if not _ACCESS & {*code.co_names}:
        return set()
    return {one for one in code.co_consts if isinstance(one, str) and _NAME.fullmatch(one)}


@lru_cache(maxsize=1024)
def _named(source: bytes) -> frozenset[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(_read(tree))


def variables_in(path: Path) -> frozenset[str]:
    """Return the variables that the code of a file names; none where it is no code."""
    try:
        source = path.read_bytes()
    except OSError:
        return frozenset()
    return _named(source) if b"env" in source else frozenset()


def _read(tree: ast.AST) -> Iterator[str]:
    """Yield names beside ``environ`` in brackets, calls and comparisons, and in ``getenv``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _is_access(node.value):
            yield from _texts(node.slice)
        elif isinstance(node, ast.Call) and (_is_access(node.func) or _is_method(node.func)):
            yield from (text for one in node.args[:1] for text in _texts(one))
        elif isinstance(node, ast.Compare) and any(map(_is_access, node.comparators)):
            yield from _texts(node.left)


def _is_access(node: ast.AST) -> bool:
    name = getattr(node, "id", None) or getattr(node, "attr", None)
    return name in _ACCESS


def _is_method(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and _is_access(node.value)


def _texts(node: ast.AST) -> Iterator[str]:
    value = getattr(node, "value", None)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str) and _NAME.fullmatch(value):
        yield value
