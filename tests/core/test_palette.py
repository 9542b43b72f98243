"""Pictures follow their reader into the night, wherever they are shown."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dpaudit.palette import AT_NIGHT, BLACK, DRAWN, INK, ORANGE, PAGE, with_night
from dpaudit.plots import Curve, Panel, render_picture

ROOT = Path(__file__).parents[2]
PAINT = re.compile(r"(?:fill|stroke): (?!none|var\()([^;\"]+)")


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_what_is_read_stands_out_from_the_page_by_day_and_by_night():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    for colour in (INK, BLACK, ORANGE):
        assert contrast(colour, PAGE) >= 4.5
        assert contrast(AT_NIGHT[colour], AT_NIGHT[PAGE]) >= 4.5


def drawn():
    curves = tuple(Curve(label=str(n), x=[0, 1], y=[n, 1]) for n in range(7))
    panel = Panel(title="t", x_label="x", y_label="y", curves=curves)
    return render_picture("t", (panel,), "svg").decode("utf-8")


@pytest.mark.parametrize(
    "svg",
    [drawn(), *(path.read_text("utf-8") for path in (ROOT / "docs" / "pictures").glob("*.svg"))],
)
def test_every_colour_of_a_picture_has_one_for_the_night(svg):
    root = ElementTree.fromstring(svg)
    assert root.get("class") == DRAWN
    assert PAINT.findall(svg) == []
    for name in set(re.findall(r"var\((--drawn-\w+)", svg)):
        assert f"{name}:#" in svg
    assert svg.count("prefers-color-scheme") == 1


def test_a_colour_without_a_pendant_is_left():
    svg = '<svg a="b"><path style="fill: #123456; stroke: #ffffff"/></svg>'
    assert "fill: #123456" in with_night(svg)
    assert f"stroke: var(--drawn-ffffff, {PAGE})" in with_night(svg)
