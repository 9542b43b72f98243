"""The page and its picture: what was read where, and what was published over what is exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpaudit.plots import Curve, Panel, render_picture

if TYPE_CHECKING:
    from benchmarks.published.run import Conversion, Every, Growth, Once, Promise

_SAME = 1e-9  # squares that differ by less are called equal

_TEMPLATE = Path(__file__).with_name("page.md")


def written(
    *,
    nodes: Sequence[Once],
    once: Sequence[Once],
    every: Sequence[Every],
    growth: Sequence[Growth],
    conversions: Sequence[Conversion],
    promises: Sequence[Promise],
) -> str:
    """Return the page as Markdown; of ``nodes``, with noise once, ``once`` are shown."""
    return _TEMPLATE.read_text(encoding="utf-8").format(
        counts=counted(nodes),
        once=lines(map(once_line, once)),
        loosest=loosest(every),
        every=lines(map(every_line, every)),
        growth=lines(map(growth_line, growth)),
        conversions=lines(map(conversion_line, conversions)),
        promises=lines(map(promise_line, promises)),
    )


def lines(rows: Iterable[str]) -> str:
    """Return the lines of a table."""
    return "".join(f"{row}\n" for row in rows)


def once_line(row: Once) -> str:
    """Return a line of the table of noise once."""
    published, exact = row.epsilons
    cells = [
        row.graph,
        *map(str, (row.nodes, row.rounds, row.distance)),
        short(row.published),
        short(row.exact),
        marked(row.ratio),
        short(row.later),
        short(row.misread),
        short(published),
        short(exact),
    ]
    return _line(cells)


def every_line(row: Every) -> str:
    """Return a line of the table of noise in every round."""
    cells = [
        row.graph,
        *map(str, (row.nodes, row.distance)),
        *map(short, (row.summed, row.factored, row.exact)),
        marked(row.summed / row.exact),
        marked(row.factored / row.exact),
        *map(short, row.epsilons),
    ]
    return _line(cells)


def growth_line(row: Growth) -> str:
    """Return a line of the table of growth."""
    per = (row.exact / row.rounds, row.summed, row.summed / row.rounds**2)
    return _line([str(row.rounds), short(row.exact), *map(short, per)])


def conversion_line(row: Conversion) -> str:
    """Return a line of the table of conversions."""
    ratio = marked(row.promised / row.exact)
    return _line([f"{row.promised:g}", short(row.rho), short(row.exact), ratio])


def promise_line(row: Promise) -> str:
    """Return a line of the table of what one theorem promises."""
    who = f"a node, {row.distance} edges away" if row.distance > 1 else "a neighbour"
    numbers = (f"{row.promised:g}", short(row.exact), marked(row.promised / row.exact))
    return _line([who if row.distance else "an observer of all messages", *numbers])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def short(value: float | Fraction) -> str:
    """Return four digits.

    Examples
    --------
    >>> short(Fraction(1, 3)), short(1.0), short(0.000012345), short(55865.67)
    ('0.3333', '1', '1.234e-05', '5.587e+04')
    """
    return f"{float(value):.4g}"


def marked(ratio: float) -> str:
    """Return a ratio, bold where it is below 1.

    Examples
    --------
    >>> marked(0.5), marked(1 - 1e-12), marked(2.0)
    ('**0.5**', '1', '2')
    """
    return f"**{short(ratio)}**" if ratio < 1 - _SAME else short(ratio)


def counted(nodes: Sequence[Once]) -> str:
    """Return how many nodes have a published number below an exact one, and how far below."""
    here = sum(row.published < row.exact - _SAME for row in nodes)
    kind = sum(row.published < row.later - _SAME for row in nodes)
    read = sum(row.published < row.misread - _SAME for row in nodes)
    least = min(nodes, key=lambda row: row.ratio)
    times, where = f"{1 / least.ratio:.0f}", f"{least.graph}, {least.distance} edges away"
    return (
        f"The graphs below have {len(nodes)} nodes about whom the observer learns something. The\n"
        f"published number is below the exact one for **{here}**, for {kind} of them even in the\n"
        f"kindest reading, and for {read} if messages are misread. The exact square is up to\n"
        f"{times} times the published one ({where})."
    )


def loosest(rows: Sequence[Every]) -> str:
    """Return how loose the two are, nearby and far."""
    apart = max(rows, key=lambda row: row.summed / row.exact)
    near = max(rows, key=lambda row: row.factored / row.exact)
    above = sum(row.factored > row.rounds + _SAME for row in rows)
    far = [row.factored / row.exact for row in rows if row.distance > 1]
    times, where = (
        f"{apart.summed / apart.exact:.0f}",
        f"{apart.graph}, {apart.distance} edges away",
    )
    return (
        f"The sum is up to {times} times too large ({where}).\n"
        f"From two edges on, *factored* is at most {max(far):.9f} times the exact square.\n"
        "For a neighbour, it adds up absolute values of entries with different signs, and is\n"
        f"up to {short(near.factored / near.exact)} times too large ({near.graph}).\n"
        f"In {above} rows it is above the number of rounds, which is a bound by itself."
    )


def drawn(once: Sequence[Once], every: Sequence[Every], graph: str) -> str:
    """Return the picture of one graph, as SVG."""
    return render_picture(
        f"What node 0 learns: {graph}", panels(once, every, graph), "svg"
    ).decode()


def panels(once: Sequence[Once], every: Sequence[Every], graph: str) -> tuple[Panel, Panel]:
    """Return squares of mu by distance on one graph, in both settings."""
    alone = [row for row in once if row.graph == graph]
    again = [row for row in every if row.graph == graph]
    names = {"sum": "summed", "factored": "factored", "exact": "exact"}
    return (
        _panel("noise once", alone, {"published": "published", "exact": "exact"}),
        _panel("noise in every round", again, names),
    )


def _panel(title: str, rows: Sequence[Once] | Sequence[Every], names: Mapping[str, str]) -> Panel:
    return Panel(
        title=title,
        x_label="edges away",
        y_label="square of mu",
        curves=tuple(_curve(rows, label, name) for label, name in names.items()),
        log_y=True,
    )


def _curve(rows: Sequence[Once] | Sequence[Every], label: str, name: str) -> Curve:
    values = [float(getattr(row, name)) for row in rows]
    return Curve(label=label, x=[row.distance for row in rows], y=values)
