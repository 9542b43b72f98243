"""The blocks of a page that are quick: they draw no outputs, and need no block that does.

A page is followed from its top. A block that is not quick is left out, and so is every block below
that uses a name or a file of it.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path

from .blocks import Block, blocks

COMMANDS = {
    *("account", "calibrate", "deployment", "explain", "list", "new", "schema", "sensitivity"),
    *("show", "spend", "table", "views"),
}
"""Commands of dpaudit that draw no outputs."""

DEAR = {
    *("audit", "audit_claim", "audit_membership", "judge", "run_claim", "replay", "find_pairs"),
    *("assert_sensitivity", "assert_not_refuted"),
}
"""Calls that draw outputs."""


def quick_blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page that are quick, in order."""
    absent: set[str] = set()
    for block in blocks(page):
        bound = _bound(block)
        if block.mark or not _is_quick(block) or absent & (_needed(block) - bound):
            absent |= bound
        else:
            absent -= bound
            yield block


def _is_quick(block: Block) -> bool:
    if block.language == "console":
        commands = re.findall(r"^\$ (?:dpaudit )?([\w-]+)", block.text, flags=re.M)
        return set(commands) <= COMMANDS
    calls = [node.func for node in _run_at_once(_tree(block)) if isinstance(node, ast.Call)]
    return not DEAR & {getattr(one, "attr", getattr(one, "id", "")) for one in calls}


def _run_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs as a file is imported: no bodies of functions, nor what only programs run."""
    for child in ast.iter_child_nodes(node):
        program = isinstance(child, ast.If) and "__name__" in ast.unparse(child.test)
        if not program and not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
            yield from _run_at_once(child)


def _tree(block: Block) -> ast.Module:
    """Return the Python of a block, without what it prints; nothing of another language."""
    text = block.text if block.language == "python" else ""
    if ">>>" in text:
        text = "".join(one.source for one in doctest.DocTestParser().get_examples(text))
    return ast.parse(text)


def _needed(block: Block) -> set[str]:
    """Return the names of other blocks that Python reads, and the files that any block names."""
    found = set(re.findall(r"[\w/-]+\.\w+", block.text)) if block.language == "console" else set()
    for node in ast.walk(_tree(block)):
        if isinstance(node, ast.Name) and not block.file:
            found.add(node.id)
        elif isinstance(node, ast.Import):
            found |= {f"{one.name}.py" for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(f"{node.module}.py")
    return found


def _bound(block: Block) -> set[str]:
    """Return the names that a block gives to something; those of a file stay in it."""
    if block.file:
        return {block.file}
    found = set()
    for node in ast.walk(_tree(block)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {one.asname or one.name for one in node.names}
    return found
