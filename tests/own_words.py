"""Where code reads back what it wrote as words: facts are fields, and sentences are for people."""

from __future__ import annotations

import ast
from collections.abc import Iterable

# Names under which the house keeps what a person is to read.
WORDS = frozenset(
    "caveat edit evidence headline label note notes purpose reason remark said sentence sentences "
    "stage statement title verdict why words".split()
)
_ASKS = frozenset(
    "count endswith find index partition removeprefix removesuffix rpartition rsplit split "
    "startswith".split()
)
_PATTERNS = frozenset("findall finditer fullmatch match search split sub".split())
_SAME = frozenset("casefold lower strip upper".split())  # what they return are the words still


def reads_words(nodes: Iterable[ast.AST]) -> list[str]:
    """Return where a part of words decides: a prefix, a pattern, a part between colons, a slice."""
    return [f"line {node.lineno}: {ast.unparse(node)}" for node in nodes if _reads(node)]


def _reads(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=asked, value=value), args=given):
            return (asked in _ASKS and _are_words(value)) or (
                asked in _PATTERNS and any(map(_are_words, given))
            )
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[value]):
            return isinstance(left, ast.Constant | ast.JoinedStr | ast.Name) and _are_words(value)
        case ast.Subscript(value=value, slice=ast.Slice()):
            return _are_words(value)
    return False


def _are_words(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in WORDS
        case ast.Subscript(value=value):
            return _are_words(value)
        case ast.Call(func=ast.Attribute(attr=same, value=value)) if same in _SAME:
            return _are_words(value)
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return _are_words(value)
    return False
