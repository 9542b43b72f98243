"""Notebooks as Markdown: their text, their code, and what they showed when they were executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat


def as_markdown(path: Path) -> str:
    """Return a notebook as a page: nothing of it is run again."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell: Any) -> list[str]:
    if cell.cell_type != "code":
        return [cell.source]
    return [_fenced("python", cell.source), *map(_shown, cell.outputs)]


def _shown(output: Any) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        shown = f'<div class="shown" tabindex="0">{data["text/html"]}</div>'  # it may scroll
        return _fenced("{raw} html", shown)
    return _fenced("text", output.get("text") or data.get("text/plain", ""))


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"
