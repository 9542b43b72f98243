"""Results as rows of a table in LaTeX, for a paper: no package is needed, amsmath neither.

Columns are the name, what is claimed, what is proved, what was measured, and the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dpaudit.escaping import one_line
from dpaudit.report.formatting import (
    INFINITE,
    NONE,
    ResultNumbers,
    format_result_label,
    make_shown_numbers,
)
from dpaudit.report.schema import Result

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "[": "{[}",  # after the end of a row it would be the room below it
    "*": "{*}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{one: "\\" + one for one in "$&#%_"},
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "μ": r"$\mu$",
    "\u03c1": r"$\rho$",
    INFINITE: r"$\infty$",
    NONE: "---",
}
_POWER = re.compile(r"(?:(-?[\d.]+)e(-?\d+))")


def escape_latex(text: str) -> str:
    r"""Return text as LaTeX sets it: nothing in it is a command.

    Examples
    --------
    >>> print(escape_latex("50% of a_b & c"))
    50\% of a\_b \& c
    """
    # One pass over the letters: replacements one after the other would escape the backslashes
    # and braces of those before.
    return "".join(_SPECIAL.get(one, one) for one in one_line(text))


def format_number(shown: str) -> str:
    r"""Return a number as it is shown as LaTeX sets it: powers of ten, no letter e.

    Examples
    --------
    >>> print(format_number("1.5e-7"), format_number("1e-5"), format_number("3.51"))
    $1.5 \cdot 10^{-7}$ $10^{-5}$ 3.51
    """
    power = _POWER.fullmatch(shown)
    if power is None:
        return escape_latex(shown)
    factor = "" if power[1] == "1" else rf"{power[1]} \cdot "
    return f"${factor}10^{{{power[2]}}}$"


def format_row(cells: Iterable[str]) -> str:
    r"""Return cells, which are LaTeX already, as a row of a table.

    Examples
    --------
    >>> print(format_row(["sum", "1", "refuted"]))
    sum & 1 & refuted \\
    """
    return " & ".join(cells) + r" \\"


def row_of_result(result: Result) -> str:
    """Return the name, the three numbers and the verdict of a result as a row."""
    shown = make_shown_numbers(result)
    cells = (
        _format_latex_stated(shown, shown.claimed, shown.claimed_delta),
        _format_latex_stated(shown, shown.proved, shown.proved_delta),
        _format_latex_measured(shown),
    )
    return format_row([escape_latex(format_result_label(result)), *cells, result.verdict])


def _format_latex_stated(shown: ResultNumbers, value: str, delta: str | None) -> str:
    if value == NONE:
        return escape_latex(value)
    at = "" if delta in (None, "0") else rf" at $\delta = {format_number(delta).strip('$')}$"
    return f"{escape_latex(shown.sign)} {format_number(value)}{at}"


def _format_latex_measured(shown: ResultNumbers) -> str:
    """Return the interval, with how sure it is."""
    lower = format_number(shown.lower)
    if shown.lower == NONE:
        return lower
    known = (
        f"at least {lower}" if shown.upper is None else f"[{lower}, {format_number(shown.upper)}]"
    )
    return f"{known} ({escape_latex(shown.surety)})"
