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

    from dpaudit.selftest.run import SelfTest

_OURS, _OTHERS, _WRONG = "#0072B2", "#E69F00", "#D55E00"  # Okabe and Ito
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
    """Draw certified over the best event's epsilon; over the claimed one where it is infinite."""
    names = []
    for place, one in enumerate(result.measured):
        base = one.event if one.closeness is not None else one.found.lower
        unbounded = f"{one.name} (true: ∞, certified: {one.found.lower:.2g})"
        names.append(one.name if one.closeness is not None else unbounded)
        colour = _WRONG if one.wrong else _OURS
        axes.barh(place, one.found.lower / base, height=0.6, color=colour)
        if one.published is not None:
            mark = min(one.published / base, _LARGEST)
            axes.plot(mark, place, "D", color=_OTHERS, markeredgecolor="black", markersize=5)
    axes.plot([], [], "D", color=_OTHERS, markeredgecolor="black", label="DP-Sniper, published")
    axes.axvline(1.0, color="black", linewidth=1)
    axes.axvline(0.97, color="black", linewidth=0.7, linestyle=":", label="97%")
    axes.set_xlim(0, _LARGEST)
    axes.set_xlabel("certified over the best event's exact epsilon (∞: over itself)")
    axes.legend(loc="lower right", fontsize=8)
    _named(axes, names, "Known answers, from outputs alone")


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
