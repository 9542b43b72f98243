"""The colours of pictures, in daylight and at night: a picture in a page follows its reader's.

From the palette of Okabe and Ito: told apart by colour-blind readers; line style and marker differ
as well, for print in greys.
"""

from __future__ import annotations

import re

PAGE = "#ffffff"
INK = "#1a1a1a"
FAINT = "#5f6670"
GRID = "#d5d9de"
ORANGE = "#c44e00"
BLUE = "#0072b2"
PINK = "#cc79a7"
GREEN = "#005a43"
BEYOND = "#f6e3d6"
BEYOND_WORDS = "#7a3200"
COUNTED = "#eceff1"
EDGE = "#9aa3ad"
# What matplotlib itself takes for what carries no data.
FRAME = "#cccccc"  # frames of legends
LATTICE = "#b0b0b0"  # grids
BLACK = "#000000"  # all that has no colour
VERMILION = "#d55e00"
TEAL = "#009e73"
AMBER = "#e69f00"
SKY = "#56b4e9"

AT_NIGHT = {
    PAGE: "#14171a",
    INK: "#e9ebee",
    FAINT: "#a7afb9",
    GRID: "#363c44",
    ORANGE: "#f0985c",
    BLUE: "#6fb9ea",
    PINK: "#dd9cc0",
    GREEN: "#5fd0ae",
    BEYOND: "#3b2a1f",
    BEYOND_WORDS: "#f3b58c",
    COUNTED: "#262b31",
    EDGE: "#7f8994",
    FRAME: "#454c55",
    LATTICE: "#3f464e",
    BLACK: "#e9ebee",
    VERMILION: "#ff9a52",
    TEAL: "#3fc79b",
    AMBER: "#f0b43c",
    SKY: "#8accf5",
}
DRAWN = "dpaudit-drawn"
"""The class of a picture that has both."""

_ROOT = re.compile(r"<svg (?=[^>]*>)")
_PAINT = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})")


def follow_reader(body: str) -> str:
    """Return SVG whose known colours are variables, which `night_style` sets.

    Examples
    --------
    >>> follow_reader('<path style="fill: #ffffff; stroke: #123456"/>')
    '<path style="fill: var(--drawn-ffffff, #ffffff); stroke: #123456"/>'
    """
    return _PAINT.sub(lambda paint: f"{paint[1]}: {render_css_colour(paint[2])}", body)


def render_css_colour(colour: str) -> str:
    """Return a colour as CSS that follows the reader, where it has a pendant."""
    return f"var({_format_css_variable(colour)}, {colour})" if colour in AT_NIGHT else colour


def night_style(colours: str, more: str = "") -> str:
    """Return the ``style`` element of a picture: the colours that occur in a text, at night.

    Its rule reaches such pictures only, so that it may stand inside any page; paper has daylight.
    """
    rules = [
        f"{_format_css_variable(day)}:{night}"
        for day, night in AT_NIGHT.items()
        if _format_css_variable(day) in colours
    ]
    rule = f".{DRAWN}{{{';'.join([*rules, more] if more else rules)}}}"
    return f"<style>@media screen and (prefers-color-scheme:dark){{{rule}}}</style>"


def with_night(svg: str) -> str:
    """Return a whole SVG document that follows its reader; shapes without a colour are ink.

    Examples
    --------
    >>> with_night('<svg width="1"><g style="stroke: #b0b0b0"/></svg>')[:41]
    '<svg class="dpaudit-drawn" width="1"><sty'
    """
    body = follow_reader(svg)
    style = night_style(body, f"fill:{AT_NIGHT[BLACK]}")
    body = _ROOT.sub(f'<svg class="{DRAWN}" ', body, count=1)
    opening = body.index(">", body.index(f'class="{DRAWN}"')) + 1
    return body[:opening] + style + body[opening:]


def _format_css_variable(colour: str) -> str:
    return f"--drawn-{colour[1:]}"
