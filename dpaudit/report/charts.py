"""What every figure shares: its look, and its export to SVG that can stand inside a page."""

from __future__ import annotations

import html
import io
import math
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpaudit.report.formatting import number
from dpaudit.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#1a1a1a", "#5f6670"
# From the palette of Okabe and Ito: told apart by colour-blind readers; line style and marker
# differ as well, for print in greys.
CLAIMED: dict[str, Any] = {"color": "#C44E00", "linestyle": (0, (5, 2)), "linewidth": 1.8}
PROVED: dict[str, Any] = {"color": "#0072B2", "linestyle": "solid", "linewidth": 1.8}
MEASURED: dict[str, Any] = {"color": INK, "linestyle": (0, (1, 1.2)), "linewidth": 2.0}
CLAIMED_MARK, PROVED_MARK = "D", "s"
DATASET: dict[str, Any] = {"color": "#CC79A7", "fill": True, "alpha": 0.55}
NEIGHBOUR: dict[str, Any] = {"color": "#005A43", "linewidth": 1.6}

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and copied
    "svg.hashsalt": "dpaudit",  # one report, one sequence of bytes
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d5d9de",
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "white",
}
_PROLOGUE = re.compile(r"\A.*?(?=<svg )", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
# Inside a page this rule would reach every other element, so it moves to the root.
_GLOBAL_STYLE = re.compile(r"\s*<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')
_ROOT = re.compile(r"<svg [^>]*>")


def picture(
    draw: Callable[[Axes], None], *, size: tuple[float, float], label: str, prefix: str
) -> str:
    """Return the SVG of one set of axes that ``draw`` fills.

    Parameters
    ----------
    draw
        Called once with the axes.
    size
        Width and height in inches.
    label
        What the picture shows, in words, for a reader who cannot see it.
    prefix
        Put before every id, which must be unique in the page.
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    # The reader's own matplotlib settings must not change a report: start from the defaults.
    with matplotlib.style.context(_STYLE, after_reset=True):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        text = _export(figure)
    return _inline(text, label, prefix)


def number_ticks(axis: Any) -> None:
    """Label a linear axis in the notation of the report's numbers: no offset, no factor."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value, 6)))


def plain_ticks(axis: Any) -> None:
    """Label the decades of a logarithmic axis as text, in the notation of the report's numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(numticks=8))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))


def _power(value: float) -> str:
    exponent = round(math.log10(value))
    return str(10**exponent) if 0 <= exponent <= 3 else f"1e{exponent}"


def _export(figure: Figure) -> str:
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # A claim may be named in any script; the browser has the letters this font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _inline(text: str, label: str, prefix: str) -> str:
    """Make a whole SVG document part of a page: no prologue, own ids, a text alternative."""
    for unwanted in (_PROLOGUE, _METADATA, _GLOBAL_STYLE):
        text = unwanted.sub("", text, count=1)
    # Only inside tags: a label may say anything.
    text = re.sub(r"<[^>]+>", lambda tag: _REFERENCE.sub(rf"\1{prefix}-", tag.group()), text)
    return _ROOT.sub(lambda root: _root(root.group(), label), text, count=1)


def _root(opening: str, label: str) -> str:
    box = re.search(r'viewBox="([^"]*)"', opening)
    assert box is not None, "matplotlib gives every figure a viewBox"
    safe = html.escape(one_line(label), quote=True)
    return (
        f'<svg viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'style="stroke-linejoin:round;stroke-linecap:butt" role="img" aria-label="{safe}">'
        f"<title>{safe}</title>"
    )
