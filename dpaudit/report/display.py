"""A single result where somebody looks at it: in a terminal, a notebook, a figure or a paper."""

from __future__ import annotations

import textwrap

from dpaudit.escaping import make_printable
from dpaudit.notebook import own_prefix, render_notebook_table, render_piece
from dpaudit.report.figures import three_numbers
from dpaudit.report.formatting import (
    NONE,
    ResultNumbers,
    fault_words,
    format_result_label,
    make_shown_numbers,
    noise_words,
    why_unproved,
)
from dpaudit.report.latex import row_of_result
from dpaudit.report.pictures import draw_result
from dpaudit.report.schema import Result as Result
from dpaudit.report.views import draw_figure, render_latex, render_notebook, render_text

_WIDTH = 96

draw_figure.register(Result, draw_result)
render_latex.register(Result, row_of_result)


@render_text.register
def as_text(result: Result) -> str:
    """Return a result as a few lines."""
    shown = make_shown_numbers(result)
    lines = [
        f"{format_result_label(result)}: {result.verdict}",
        f"  claimed   {_format_stated_number(shown, shown.claimed, shown.claimed_delta)}",
        f"  proved    {_format_stated_number(shown, shown.proved, shown.proved_delta)} "
        f"{shown.proved_of or ''}",
        f"  measured  {shown.measured} {shown.surety}",
        *_wrap_result_text(result.reason),
        *_wrap_result_text(why_unproved(result) or ""),
        *(f"  {line}" for line in (*noise_words(result), *fault_words(result))),
    ]
    return make_printable("\n".join(line.rstrip() for line in lines))


def _wrap_result_text(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )


@render_notebook.register
def as_html(result: Result) -> str:
    """Return a result as a piece of HTML: its three numbers as a table and as a picture."""
    shown = make_shown_numbers(result)
    rows = (
        ("claimed", _format_stated_number(shown, shown.claimed, shown.claimed_delta)),
        (
            "proved",
            f"{_format_stated_number(shown, shown.proved, shown.proved_delta)} "
            f"{shown.proved_of or ''}",
        ),
        ("measured", f"{shown.measured} {shown.surety}"),
    )
    title = f"{format_result_label(result)}: {result.verdict}"
    # Identifiers in a notebook are those of one page: two results with the same prefix would
    # share clip paths.
    picture = three_numbers(result, prefix=own_prefix(f"{title} {rows} {result.seed}"))
    caption = "What is claimed, what is proved, what was measured"
    said = [one for one in (result.reason, why_unproved(result)) if one is not None]
    said += [*noise_words(result), *fault_words(result)]
    return render_piece(
        title, said, render_notebook_table(caption, ("", shown.unit), rows), picture
    )


def _format_stated_number(shown: ResultNumbers, value: str, delta: str | None) -> str:
    if value == NONE:
        return value
    return f"{shown.sign} {value}" + ("" if delta is None else f" at delta = {delta}")
