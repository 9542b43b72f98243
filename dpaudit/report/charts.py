"""The common part of every figure: its look, and its export to SVG that can stand inside a page."""

from __future__ import annotations

import html
import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.escaping import one_line
from dpaudit.files import write_files
from dpaudit.palette import (
    BLUE,
    DRAWN,
    FAINT,
    GREEN,
    GRID,
    INK,
    ORANGE,
    PAGE,
    PINK,
    follow_reader,
    night_style,
)
from dpaudit.redaction import are_shown
from dpaudit.report.formatting import format_significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLAIMED: dict[str, Any] = {"color": ORANGE, "linestyle": (0, (5, 2)), "linewidth": 1.8}
PROVED: dict[str, Any] = {"color": BLUE, "linestyle": "solid", "linewidth": 1.8}
MEASURED: dict[str, Any] = {"color": INK, "linestyle": (0, (1, 1.2)), "linewidth": 2.0}
CLAIMED_MARK = "D"
PROVED_MARK = "s"
DATASET: dict[str, Any] = {"color": PINK, "fill": True, "alpha": 0.55}
NEIGHBOUR: dict[str, Any] = {"color": GREEN, "linewidth": 1.6}

_POINTS = 10  # size of letters
_LEAST_POINTS = 7  # smallest size of letters
_NARROWEST = 2.0  # inches
_LOWEST = 0.8  # share of the natural height
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and copied
    "svg.hashsalt": "dpaudit",  # one report, one sequence of bytes
    "pdf.fonttype": 42,  # text that publishers take
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "figure.facecolor": PAGE,
}
_PROLOGUE = re.compile(r"\A.*?(?=<svg )", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
# Inside a page this rule would reach every other element, so it moves to the root.
_GLOBAL_STYLE = re.compile(r"\s*<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')
_ROOT = re.compile(r"<svg [^>]*>")


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One set of axes that a result fills, in a report as in a figure of one's own.

    Parameters
    ----------
    name
        Which it is: ``"numbers"``, ``"delta"``, ``"trade_off"``, ...
    draw
        Called once with the axes.
    size
        Width and height in inches.
    label
        What it shows, in words, for a reader who cannot see it.
    """

    name: str
    draw: Callable[[Axes], None]
    size: tuple[float, float]
    label: str


def render_svg(picture: Picture, *, prefix: str) -> str:
    """Return a picture as one ``svg`` element.

    Parameters
    ----------
    picture
        What is drawn.
    prefix
        Put before every id, which must be unique in the page.
    """
    from matplotlib.figure import Figure

    with _own_style():
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure.add_subplot())
        text = _export_svg(figure)
    return _convert_to_inline_svg(text, picture.label, prefix)


def draw_pictures(
    pictures: Sequence[Picture],
    path: str | os.PathLike[str] | None = None,
    *,
    width: float | None = None,
    private: bool = False,
) -> NDArray[np.object_]:
    """Return the axes of a new figure with pictures one below the other; write it where asked.

    No state of matplotlib is changed, and no window opens: ``axes[0].figure`` is a figure that
    nothing else holds.

    Parameters
    ----------
    pictures
        From above to below, at least one.
    path
        A file that is written; its ending says whether as PDF, SVG or PNG.
    width
        Of the figure in inches; as wide as the widest picture by default. Letters of a narrow one
        shrink to seven points and no further.
    private
        Whether only the user may read the file, as of one that holds records.

    Returns
    -------
    numpy.ndarray
        Axes, shape ``(len(pictures),)``.

    Raises
    ------
    InvalidArgument
        The ending is none of these, or the width is less than 2 inches.
    DataError
        The file cannot be written.
    """
    from matplotlib.figure import Figure

    if path is not None:
        require_format("path", path)
    natural, heights = max(one.size[0] for one in pictures), [one.size[1] for one in pictures]
    scale = 1.0 if width is None else require_width("width", width) / natural
    # Letters shrink with a narrow figure and do not grow with a wide one: a page has one size
    # of text.
    with _own_style(min(scale, 1.0)):
        size = natural * scale, sum(heights) * max(scale, _LOWEST)
        # A `Figure` of its own instead of pyplot's, which keeps every figure alive and may open
        # windows.
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(pictures), 1, squeeze=False, height_ratios=heights)[:, 0]
        for picture, one in zip(pictures, axes, strict=True):
            picture.draw(one)
        if path is not None:
            _write_figure(figure, Path(path), private)
    return np.asarray(axes)


def require_width(name: str, width: float) -> float:
    """Return a width in inches in which letters can be read.

    Raises
    ------
    InvalidArgument
        It is less than 2.

    Examples
    --------
    >>> require_width("width", 3.3)
    3.3
    """
    if check.require_positive(name, width) < _NARROWEST:
        raise InvalidArgument(name, width, f"at least {_NARROWEST:g} inches")
    return width


def require_format(name: str, path: str | os.PathLike[str]) -> None:
    """Refuse a file of a figure whose ending names no format.

    Raises
    ------
    InvalidArgument
        It does not end in ``.pdf``, ``.svg`` or ``.png``.

    Examples
    --------
    >>> require_format("path", "one.pdf")
    """
    if _get_file_ending(path) not in _FORMATS:
        raise InvalidArgument(
            name, os.fspath(path), f"a file that ends in {_format_figure_formats()}"
        )


_FORMATS = ("pdf", "svg", "png")


def _format_figure_formats() -> str:
    return ", ".join(f".{one}" for one in _FORMATS[:-1]) + f" or .{_FORMATS[-1]}"


def _get_file_ending(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(os.fspath(path))[1].lower().removeprefix(".")


def _write_figure(figure: Figure, path: Path, private: bool) -> None:
    """Write a figure to a file, whole or not at all; the same figure gives the same bytes."""
    kind = _get_file_ending(path)
    # The moment of drawing would make two files of the same figure differ.
    dated = {"pdf": "CreationDate", "svg": "Date"}.get(kind)
    drawn = io.BytesIO()
    with _without_missing_glyphs():
        metadata = {} if dated is None else {dated: None}
        figure.savefig(drawn, format=kind, dpi=200, metadata=metadata)
    if not path.parent.is_dir():
        raise DataError(f"{one_line(str(path))}: not written (there is no such folder)")
    write_files(path.parent, {path: drawn.getvalue()}, private=private or are_shown())


@contextmanager
def _own_style(scale: float = 1.0) -> Iterator[None]:
    """Draw as reports do: the reader's own matplotlib settings must not change one.

    Letters have so much of their size, and seven points at least.
    """
    import matplotlib.style

    points = max(_LEAST_POINTS, _POINTS * scale)
    sizes = {"font.size": points, "legend.fontsize": 0.9 * points}
    with matplotlib.style.context(_STYLE | sizes, after_reset=True):
        yield


def number_ticks(axis: Any) -> None:
    """Label a linear axis in the notation of the report's numbers: no offset, no factor."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_significant(value, 6)))


def plain_ticks(axis: Any) -> None:
    """Label the decades of a logarithmic axis as text, in the notation of the report's numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(numticks=8))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _format_power_of_ten(value)))


def _format_power_of_ten(value: float) -> str:
    exponent = round(math.log10(value))
    return str(10**exponent) if 0 <= exponent <= 3 else f"1e{exponent}"


def _export_svg(figure: Figure) -> str:
    buffer = io.StringIO()
    with _without_missing_glyphs():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@contextmanager
def _without_missing_glyphs() -> Iterator[None]:
    """Say nothing of letters that the font lacks: a claim may be named in any script."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def _convert_to_inline_svg(text: str, label: str, prefix: str) -> str:
    """Make a whole SVG document part of a page: own ids, a text alternative, night colours."""
    # An element inside a page has no XML prologue and no document type, and the metadata name
    # the version of matplotlib, with which the bytes of a report would change.
    for unwanted in (_PROLOGUE, _METADATA, _GLOBAL_STYLE):
        text = unwanted.sub("", text, count=1)
    # Only inside tags: a label may say anything.
    text = re.sub(r"<[^>]+>", lambda tag: _REFERENCE.sub(rf"\1{prefix}-", tag.group()), text)
    text = follow_reader(text)
    style = night_style(text)
    return _ROOT.sub(lambda root: _render_svg_root(root.group(), label) + style, text, count=1)


def _render_svg_root(opening: str, label: str) -> str:
    box = re.search(r'viewBox="([^"]*)"', opening)
    assert box is not None, "matplotlib gives every figure a viewBox"
    safe = html.escape(one_line(label), quote=True)
    return (
        f'<svg class="{DRAWN}" viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'style="stroke-linejoin:round;stroke-linecap:butt" role="img" aria-label="{safe}">'
        f"<title>{safe}</title>"
    )
