"""A report's picture at the size of a stamp: the claimed, proved and measured numbers.

All stamps share one axis, on which the claim is the middle. How far a number is from there is its
distance to the claim over the sum of the sizes of both, as a share of the way to an edge: double
the claim is a third of it, and infinity all. Colours are those of the page, by its style.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from dpaudit.report.formatting import value_of
from dpaudit.report.schema import Result

WIDTH = 140
HEIGHT = 26
_MIDDLE = WIDTH / 2
_REACH = WIDTH / 2 - 14
_FADES = 6


def render_thumbnail(result: Result, words: str) -> str:
    """Return the picture of a result as one small ``svg`` element.

    Parameters
    ----------
    result
        What is drawn.
    words
        What a reader hears who cannot see it.
    """
    parts = "".join(_render_thumbnail_parts(result))
    return (
        f'<svg class="stamp" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(words, quote=True)}">{parts}</svg>'
    )


def place_of(value: float, claimed: float) -> float:
    """Return where a number stands beside the claimed one: -1 and 1 are the edges, 0 the claim.

    Examples
    --------
    >>> place_of(2.0, 1.0), place_of(1.0, 2.0), place_of(0.5, 0.0), place_of(-1.0, -2.0)
    (0.3333333333333333, -0.3333333333333333, 1.0, 0.3333333333333333)
    """
    if value == claimed:
        return 0.0
    if math.isinf(value) or math.isinf(claimed):
        return 1.0 if value > claimed else -1.0
    # Divided first, since the difference or the sum of two large doubles may overflow.
    scale = max(abs(value), abs(claimed))
    value, claimed = value / scale, claimed / scale
    return (value - claimed) / (abs(value) + abs(claimed))


def _render_thumbnail_parts(result: Result) -> Iterator[str]:
    claimed = value_of(result.claimed, result.kind)
    if claimed is None or math.isnan(claimed):
        return
    yield _render_box("beyond", _MIDDLE, 0, WIDTH - _MIDDLE, HEIGHT)
    yield _render_stroke("claim", f"M{_MIDDLE:g} 0V{HEIGHT}")
    proved = value_of(result.proved, result.kind)
    if proved is not None and not math.isnan(proved):
        yield _render_box("theorem", _convert_to_abscissa(proved, claimed) - 3.5, 3, 7, 7)
    if result.verdict != "withheld":
        yield from _render_interval_strokes(result.measured.lower, result.measured.upper, claimed)


def _render_interval_strokes(lower: float, upper: float | None, claimed: float) -> Iterator[str]:
    """Yield a certified interval; one without an upper end fades before the claim."""
    start = _convert_to_abscissa(lower, claimed)
    if upper is not None and math.isfinite(upper):
        end = _convert_to_abscissa(upper, claimed)
        split = _MIDDLE if start < _MIDDLE < end else end
        yield _render_stroke("bar", f"M{start:g} 17H{split:g}")
        yield _render_stroke("rest", f"M{split:g} 17H{end:g}")
        yield _render_stroke("end", f"M{end:g} 12V22")
    elif lower > claimed:
        yield _render_stroke("rest", f"M{start:g} 17H{WIDTH - 2}m-4-3.5l4 3.5l-4 3.5")
    else:
        yield from _render_fading_tail(start)
    yield _render_stroke("end", f"M{start:g} 12V22")


def _render_fading_tail(start: float) -> Iterator[str]:
    step = min(WIDTH / 6, 0.8 * (_MIDDLE - start)) / _FADES
    for part in range(_FADES if step > 0 else 0):
        path = f"M{start + part * step:.4g} 17h{step:.3g}"
        yield _render_stroke("bar", path, f' opacity="{1 - part / _FADES:.2g}"')


def _render_stroke(kind: str, path: str, look: str = "") -> str:
    return f'<path class="{kind}"{look} d="{path}"/>'


def _render_box(kind: str, x: float, y: float, width: float, height: float) -> str:
    size = f'width="{width:g}" height="{height:g}"'
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" {size}/>'


def _convert_to_abscissa(value: float, claimed: float) -> float:
    return round(_MIDDLE + _REACH * place_of(value, claimed), 2)
