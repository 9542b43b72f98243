"""The self-test at a glance: how much of the truth is certified, how often estimators err."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Literal

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpaudit.selftest.run import Measured, SelfTest

_OURS, _OTHERS, _WRONG, _ENDLESS = "#0072B2", "#E69F00", "#D55E00", "#999999"  # Okabe and Ito
_LARGEST = 1.3


def draw(result: SelfTest, kind: Literal["png", "svg"]) -> bytes:
    """Return the picture: shares of the truth on the left, error rates on the right."""
    height = 1.5 + 0.27 * max(len(result.measured), len(result.tested))
    figure = Figure(figsize=(13.0, height), layout="constrained")
    left, right = figure.subplots(1, 2)
    _shares(left, result)
    _rates(right, result)
    return _saved(figure, kind)


def _shares(axes: Axes, result: SelfTest) -> None:
    """Draw certified over the best event's epsilon; a hatched bar where that is infinite."""
    for place, one in enumerate(result.measured):
        if one.closeness is None:
            _endless(axes, place, one)
        else:
            axes.barh(place, one.closeness, height=0.6, color=_WRONG if one.wrong else _OURS)
            _published(axes, place, one)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.axvline(0.97, color="black", linewidth=0.7, linestyle=":", label="97%")
    if any(one.published is not None for one in result.measured):
        label = "DP-Sniper, another tool: published, at 90% confidence"
        axes.plot([], [], "D", color=_OTHERS, markeredgecolor="black", label=label)
    axes.set_xlim(0, _LARGEST)
    axes.set_xlabel("certified over the best event's exact epsilon")
    axes.figure.legend(loc="outside lower left", ncols=2, fontsize=8, frameon=False)
    _named(axes, [one.name for one in result.measured], "Known answers, from outputs alone")


def _endless(axes: Axes, place: int, one: Measured) -> None:
    """Draw what has no share of the truth: the certified number is written."""
    axes.barh(
        place, _LARGEST, height=0.6, color="white", edgecolor=_ENDLESS, hatch="////", linewidth=0.5
    )
    said = f"best event: ∞; certified: {one.found.lower:.3g}"
    if one.published is not None:
        said += f"; DP-Sniper: {one.published:.3g}"
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    axes.text(0.03, place, said, va="center", fontsize=8, bbox=box)


def _published(axes: Axes, place: int, one: Measured) -> None:
    if one.published is not None:
        mark = min(one.published / one.event, _LARGEST)
        axes.plot(mark, place, "D", color=_OTHERS, markeredgecolor="black", markersize=5)


def _rates(axes: Axes, result: SelfTest) -> None:
    """Draw observed over nominal error rates at the first error probability."""
    for place, one in enumerate(result.tested):
        rate = one.rates[0]
        low, high = (end / rate.nominal for end in rate.interval)
        seen = rate.observed / rate.nominal
        colour = _OURS if one.sound else _WRONG
        axes.errorbar(
            seen, place, xerr=[[seen - low], [high - seen]], fmt="o", color=colour, capsize=3
        )
    names = [
        f"{one.estimator}; {one.law}" + (" (made unsound)" if one.control else "")
        for one in result.tested
    ]
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("observed over nominal error rate")
    _named(axes, names, "Estimators: how often they err")


def _named(axes: Axes, names: list[str], title: str) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize=10)


def _saved(figure: Figure, kind: Literal["png", "svg"]) -> bytes:
    drawn = io.BytesIO()
    if kind == "png":
        FigureCanvasAgg(figure)
        figure.savefig(drawn, format="png", dpi=110, metadata={"Software": None})
        return drawn.getvalue()
    FigureCanvasSVG(figure)
    with rc_context({"svg.hashsalt": "selftest", "svg.fonttype": "none"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    # Inside a page there is no prologue.
    return re.sub(rb"\A.*?(?=<svg )", b"", drawn.getvalue(), flags=re.DOTALL)
