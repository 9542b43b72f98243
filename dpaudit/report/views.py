"""How a result shows itself: looked up by its type, and registered by the module that renders.

A result is data and imports nothing that draws; `dpaudit.report` imports what renders it.
"""

from __future__ import annotations

import os
from functools import singledispatch
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaudit.report.document import ReportPaths


@singledispatch
def save_report(result: Any, directory: str | os.PathLike[str]) -> ReportPaths:
    """Write a result as a report of its own."""
    raise TypeError(f"nothing writes a {type(result).__name__}")


@singledispatch
def render_text(result: Any) -> str:
    """Return a result as a few lines."""
    raise TypeError(f"nothing renders a {type(result).__name__}")


@singledispatch
def render_notebook(result: Any) -> str:
    """Return a result as a piece of a notebook."""
    raise TypeError(f"nothing renders a {type(result).__name__}")
