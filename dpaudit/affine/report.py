"""The report of every view: as a table, pictures, files, and a row in LaTeX."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.view import delta_of, epsilon_of
from dpaudit.escaping import one_line
from dpaudit.files import prepare_directory, write_files
from dpaudit.formats import add_schema, to_json
from dpaudit.notebook import render_notebook_table as html_table
from dpaudit.notebook import render_piece
from dpaudit.plots import Curve, Grid, Panel, draw_grid, draw_panel
from dpaudit.report.charts import Picture, draw_pictures
from dpaudit.report.formatting import format_significant
from dpaudit.report.latex import escape_latex, format_number, format_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UPPER = "upper view"
COLUMNS = ("whose data", "who looks", "mu")
_DIGITS = 10
_EPSILON_DIGITS = 8
_SAME = 1e-9  # relative width of a bracket that is shown as one number
_MOST_ROWS = 40  # of a table on a terminal
_MOST_CURVES = 7  # of a picture: as many as it has colours
_POINTS = 80
_LEAST_DELTA = 1e-12
_WIDTH = 6.4
_CELL = 0.3
_HEIGHT = 4.0


@dataclass(frozen=True)
class ObserverFinding:
    """The knowledge of one observer about one part of the private data.

    Parameters
    ----------
    about, observer
        Whose data change, and who looks.
    mu
        Of the largest change, between two ends that hold.
    proof
        How it is known whether mu is finite: "exact", or "primes".
    is_upper
        Whether the upper end is that of an observer who is given what adaptive inputs depend on.
    hangs_on_digits
        Whether digits beyond the eleventh of the seen numbers decide mu.
    """

    about: str
    observer: str
    mu: Bracket
    proof: str = "exact"
    is_upper: bool = False
    hangs_on_digits: bool = False

    @property
    def is_infinite(self) -> bool:
        """Whether noise hides nothing."""
        return math.isinf(self.mu.lower)


@dataclass(frozen=True)
class ViewsReport:
    """The knowledge of every observer about each part of the private data, as plain values.

    Parameters
    ----------
    name
        Of the function.
    findings
        In the order of parts and observers.
    change
        By how much private data may change, in words.
    compared
        With how many runs on plain numbers the traced run was compared.
    certificate
        What others can check again; None where the views are too large for it, or adaptive.
    is_adaptive
        Whether inputs depend on what happened.
    """

    name: str
    findings: Sequence[ObserverFinding]
    change: str
    compared: int
    certificate: Mapping[str, Any] | None = None
    is_adaptive: bool = False

    @property
    def worst_first(self) -> list[ObserverFinding]:
        """The findings, those with the largest mu first."""
        return sorted(self.findings, key=lambda one: -_round_to_nine_digits(one.mu.upper))

    # --- words -------------------------------------------------------------------------------

    def sentences(self) -> Iterator[str]:
        """Yield the sentences above a table."""
        yield f"Neighbours differ in the data of one row below, {self.change}."
        yield f"Read from one run of {self.name}; {self.compared} on plain numbers confirm it."

    def remarks(self) -> Iterator[str]:
        """Yield the remarks below a table."""
        exposed = dict[str, list[str]]()
        for one in self.findings:
            if one.is_infinite:
                exposed.setdefault(one.observer, []).append(one.about)
        alike = dict[str, list[str]]()
        for observer, parts in exposed.items():
            alike.setdefault(_format_name_list(parts), []).append(observer)
        for parts_of, observers in alike.items():
            yield (
                f"From {_format_name_list(observers)} noise hides nothing about {parts_of}: mu "
                "is infinite."
            )
        if hanging := dict.fromkeys(one.observer for one in self.findings if one.hangs_on_digits):
            yield (
                "Digits beyond the eleventh decide what these learn: "
                f"{_format_name_list(list(hanging))}."
            )
            yield "If the code rounds constants, write them as fractions.Fraction."
        unproved = sum(one.proof != "exact" for one in self.findings)
        if unproved:
            yield (
                f"Whether mu is finite is known for {unproved} of {len(self.findings)} views from "
                "ranks modulo three primes, and not proved."
            )
        if self.is_adaptive:
            yield from self._remarks_on_inputs()
        elif self.certificate is None:
            yield "No certificate: the views are too large to check again with exact numbers."
        elif (missing := len(self.findings) - len(self.certificate["instance"]["views"])) > 0:
            yield f"The certificate leaves out {missing} views, which are too large for it."

    def _remarks_on_inputs(self) -> Iterator[str]:
        upper = sum(one.is_upper for one in self.findings)
        if upper:
            yield (
                f"{UPPER}: inputs depend on values that these observers do not see. The upper end "
                "is for an observer who sees them, the lower end for fixed inputs."
            )
        yield "No certificate: inputs are adaptive."

    def row(self, one: ObserverFinding, delta: float) -> tuple[str, str, str, str]:
        """Return a finding as a row of a table: about, observer, mu and epsilon at a delta."""
        found = epsilon_of(one.mu, delta)
        observer = f"{one.observer} ({UPPER})" if one.is_upper else one.observer
        return (
            one.about,
            observer,
            format_mu_bracket(one.mu),
            format_mu_bracket(found, _EPSILON_DIGITS),
        )

    def columns(self, delta: float) -> tuple[str, str, str, str]:
        """Return the heads of a table."""
        return (*COLUMNS, f"epsilon at delta = {delta:g}")

    def text(self, delta: float = 1e-5) -> str:
        """Return all of it as lines of text."""
        ordered = self.worst_first
        cells = [self.columns(delta), *(self.row(one, delta) for one in ordered[:_MOST_ROWS])]
        cells = [tuple(map(one_line, row)) for row in cells]  # type: ignore[misc]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        if len(ordered) > _MOST_ROWS:
            lines.append(f"... {len(ordered) - _MOST_ROWS} more, none of a larger mu")
        said = [*map(one_line, self.sentences())], [*map(one_line, self.remarks())]
        return "\n".join(
            [f"{one_line(self.name)}: who learns how much", *said[0], *lines, *said[1]]
        )

    def markdown(self, delta: float = 1e-5) -> str:
        """Return all of it as a page of Markdown."""
        rows = [self.columns(delta), *(self.row(one, delta) for one in self.worst_first)]
        table = [f"| {' | '.join(map(_in_a_cell, row))} |" for row in rows]
        table.insert(1, "|---|---|---|---|")
        lines = [f"# {_in_a_cell(self.name)}: who learns how much", ""]
        lines += [*map(_in_a_cell, self.sentences()), "", *table, ""]
        return "\n".join([*lines, *map(_in_a_cell, self.remarks())]).rstrip() + "\n"

    def html(self, delta: float = 1e-5) -> str:
        """Return all of it as a piece of a notebook."""
        rows = [self.row(one, delta) for one in self.worst_first]
        made = html_table("Who learns how much", self.columns(delta), rows)
        return render_piece(self.name, [*self.sentences(), *self.remarks()], made)

    def to_latex(self, delta: float = 1e-5) -> str:
        r"""Return a row in LaTeX for each view: about, observer, mu and epsilon at a delta."""
        rows = [self.row(one, delta) for one in self.worst_first]
        cells = ([*map(escape_latex, row[:2]), *map(format_number, row[2:])] for row in rows)
        return "\n".join(map(format_row, cells))

    # --- files -------------------------------------------------------------------------------

    def document(self, delta: float = 1e-5) -> dict[str, Any]:
        """Return all of it as plain JSON values; infinite numbers are the string "Infinity"."""
        content = {
            "function": self.name,
            "change": self.change,
            "compared": self.compared,
            "delta": delta,
            "adaptive": self.is_adaptive,
            "views": [
                {
                    "about": one.about,
                    "observer": one.observer,
                    "mu": _to_json_ends(one.mu),
                    "epsilon": _to_json_ends(epsilon_of(one.mu, delta)),
                    "proof": one.proof,
                    "upper_view": one.is_upper,
                }
                for one in self.findings
            ],
        }
        return add_schema("views", content)

    @classmethod
    def from_document(
        cls, content: Mapping[str, Any], certificate: Mapping[str, Any] | None
    ) -> ViewsReport:
        """Return the report that a document holds."""
        findings = [
            ObserverFinding(
                one["about"],
                one["observer"],
                Bracket(*map(float, one["mu"])),
                one["proof"],
                one["upper_view"],
            )
            for one in content["views"]
        ]
        name, change, compared = (content[key] for key in ("function", "change", "compared"))
        return cls(name, findings, change, compared, certificate, content["adaptive"])

    def save(self, folder: str | os.PathLike[str], delta: float = 1e-5) -> list[Path]:
        """Write the report, its picture and the certificate into a folder; return the files.

        Raises
        ------
        DataError
            The folder or a file in it cannot be written.
        """
        prepare_directory(folder)
        place = Path(folder)
        files = {
            "views.md": self.markdown(delta),
            "views.json": json.dumps(self.document(delta), indent=2) + "\n",
        }
        if self.certificate is not None:
            files["certificate.json"] = json.dumps(self.certificate, allow_nan=False) + "\n"
        gone = [] if self.certificate is not None else [place / "certificate.json"]
        write_files(place, {place / name: text.encode() for name, text in files.items()}, gone)
        pictures = [place / f"views.{ending}" for ending in ("png", "pdf")]
        for path in pictures:
            self.figure(path)
        return [*(place / name for name in files), *pictures]

    # --- pictures ----------------------------------------------------------------------------

    def grid(self, delta: float | None = None) -> Grid:
        """Return mu, or epsilon at a delta: a row for whose data, a column for who looks."""
        title = "mu" if delta is None else f"epsilon at delta = {delta:g}"
        numbers = {
            (one.about, one.observer): (
                one.mu if delta is None else epsilon_of(one.mu, delta)
            ).upper
            for one in self.findings
        }
        rows, columns = (list(dict.fromkeys(one[n] for one in numbers)) for n in (0, 1))
        return Grid(
            title=f"who learns how much: {title}",
            x_label="who looks",
            y_label="whose data",
            rows=rows,
            columns=columns,
            values=[[numbers[about, observer] for observer in columns] for about in rows],
        )

    def curves(self) -> Panel:
        """Return delta against epsilon of the largest finite mu; views of one mu share a curve."""
        alike = dict[float, list[ObserverFinding]]()
        for one in self.worst_first:
            if 0 < one.mu.upper < math.inf:
                alike.setdefault(_round_to_nine_digits(one.mu.upper), []).append(one)
        drawn = list(alike.values())[:_MOST_CURVES]
        top = epsilon_of(drawn[0][0].mu, 1e-6).upper if drawn else 1.0
        epsilons = np.linspace(0.0, top, _POINTS).tolist()
        return Panel(
            title="delta at each epsilon",
            x_label="epsilon",
            y_label="delta",
            curves=tuple(
                _make_delta_curve(_format_views_label(views), views[0].mu, epsilons)
                for views in drawn
            ),
            log_y=True,
        )

    def figure(
        self, path: str | os.PathLike[str] | None = None, *, width: float | None = None
    ) -> NDArray[np.object_]:
        """Return matplotlib axes with the table of mu and the curves; write a file where asked.

        Parameters
        ----------
        path
            A file to write, which ends in ``.pdf``, ``.svg`` or ``.png``.
        width
            Of the figure in inches, say 3.3 for one column of two.

        Returns
        -------
        numpy.ndarray
            Axes, shape ``(2,)``, or ``(1,)`` where no mu is finite. The figure is
            ``axes[0].figure``.

        Raises
        ------
        InvalidArgument
            The file ends otherwise, or the width is below 2 inches.
        DataError
            The file cannot be written.
        """
        grid, panel = self.grid(), self.curves()
        natural = max(_WIDTH, 2 + 0.5 * len(grid.columns))
        pictures = [
            Picture(
                name="grid",
                draw=partial(_draw_grid, grid=grid),
                size=(natural, 2.0 + _CELL * len(grid.rows)),
                label=f"mu of {len(grid.columns)} observers about {len(grid.rows)} parts.",
            )
        ]
        if panel.curves:
            label = f"delta against epsilon, {len(panel.curves)} curves."
            draw = partial(draw_panel, panel=panel)
            pictures.append(Picture(name="delta", draw=draw, size=(natural, _HEIGHT), label=label))
        return draw_pictures(pictures, path, width=width)


def format_mu_bracket(bracket: Bracket, digits: int = _DIGITS) -> str:
    """Return a number rounded up, or its two ends rounded outwards where they differ.

    Examples
    --------
    >>> (
    ...     format_mu_bracket(Bracket(0.5, 0.5)),
    ...     format_mu_bracket(Bracket(1.0, 1.5)),
    ...     format_mu_bracket(Bracket.exactly(math.inf)),
    ... )
    ('0.5', '[1, 1.5]', 'infinite')
    """
    if math.isinf(bracket.lower):
        return "infinite"
    upper = format_significant(bracket.upper, digits, ROUND_CEILING)
    if bracket.width <= _SAME * bracket.lower:
        return upper
    return f"[{format_significant(bracket.lower, digits, ROUND_FLOOR)}, {upper}]"


def _round_to_nine_digits(value: float) -> float:
    """Return a number with nine digits, by which numbers that differ by rounding are alike."""
    return float(f"{value:.9g}")


def _format_views_label(views: Sequence[ObserverFinding]) -> str:
    first, more = views[0], len(views) - 1
    return f"{first.observer} about {first.about}" + (f" and {more} more" if more else "")


def _draw_grid(axes: Axes, grid: Grid) -> None:
    draw_grid(axes, grid)
    axes.grid(visible=False)


def _make_delta_curve(name: str, mu: Bracket, epsilons: Sequence[float]) -> Curve:
    points = [(one, delta_of(mu, one).upper) for one in epsilons]
    seen = [(x, y) for x, y in points if y > _LEAST_DELTA]
    return Curve(label=name, x=[x for x, _ in seen], y=[y for _, y in seen])


def _to_json_ends(bracket: Bracket) -> list[float | str]:
    found: list[float | str] = to_json([bracket.lower, bracket.upper], non_finite="Infinity")
    return found


def _format_name_list(names: Sequence[str], most: int = 8) -> str:
    """Return names with commas between them, the first few of many."""
    rest = len(names) - most
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:most])} and {rest} more"


def _in_a_cell(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace("|", "\\|")
