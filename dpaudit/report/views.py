"""Displays of results: looked up by type, and registered by the module that renders.

A result is data and imports nothing that draws; `dpaudit.report` imports what renders it.
"""

from __future__ import annotations

import os
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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


@singledispatch
def render_latex(result: Any) -> str:
    """Return a result as a row of a table in LaTeX."""
    raise TypeError(f"nothing renders a {type(result).__name__}")


@singledispatch
def draw_figure(
    result: Any, path: str | os.PathLike[str] | None = None, *, width: float | None = None
) -> NDArray[np.object_]:
    """Return the axes of a figure of a result, and write it to a file where one is named."""
    raise TypeError(f"nothing draws a {type(result).__name__}")
