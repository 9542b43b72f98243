"""An account where somebody looks at it: in a notebook."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpaudit.accounting.accountants import AccountantAnswer
from dpaudit.accounts.sharing import of_own_samples
from dpaudit.notebook import render_notebook_table, render_piece
from dpaudit.palette import INK
from dpaudit.report.charts import PROVED, PROVED_MARK, Picture, draw_pictures, number_ticks
from dpaudit.report.formatting import NONE, format_significant
from dpaudit.report.latex import escape_latex, format_number, format_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpaudit.accounts.account import Account

_DIGITS = 6


def as_html(found: Account) -> str:
    """Return every answer as a table, and the meaning of the best of them as sentences."""
    answered = [format_answer_row(one) for one in found.answers if one.refusal is None]
    silent = ", ".join(one.accountant for one in found.answers if one.refusal is not None)
    columns = ("accountant", "at least", "at most", "estimate")
    parts = [render_notebook_table(f"Epsilon at delta = {found.delta:g}", columns, answered)]
    sentences = [
        *_format_account_meaning(found),
        *([f"Without a theorem for it: {silent}."] if silent else []),
    ]
    return render_piece(f"{found.title} ({found.name})", sentences, *parts)


def format_answer_row(answer: AccountantAnswer) -> tuple[str, str, str, str]:
    """Return an answer's ends, rounded outwards.

    Examples
    --------
    >>> format_answer_row(
    ...     AccountantAnswer(
    ...         accountant="numerical",
    ...         kind="bracket",
    ...         source="",
    ...         lower=1.23456789,
    ...         upper=1.23456789,
    ...     )
    ... )
    ('numerical', '1.23456', '1.23457', '—')
    """
    lower = NONE if answer.lower is None else format_significant(answer.lower, _DIGITS, ROUND_FLOOR)
    upper = (
        NONE if answer.upper is None else format_significant(answer.upper, _DIGITS, ROUND_CEILING)
    )
    return answer.accountant, lower, upper, _format_answer_estimate(answer)


def _format_answer_estimate(answer: AccountantAnswer) -> str:
    return NONE if answer.estimate is None else format_significant(answer.estimate, _DIGITS)


def _format_account_meaning(found: Account) -> list[str]:

    if found.proved is None or found.proved.upper is None:
        return ["No accountant proves a bound for it."]
    upper = format_significant(found.proved.upper, _DIGITS, ROUND_CEILING)
    prior, success = found.meaning.success[0]
    return [
        f"Proved: epsilon = {upper} at delta = {found.delta:g} ({found.proved.accountant}).",
        *of_own_samples(found.own_samples, _DIGITS),
        f"An attacker who gives two neighbouring datasets a probability of {prior:g} each "
        "guesses the right one with a probability of at most "
        f"{format_significant(success, 4, ROUND_CEILING)}.",
    ]


def draw_account(
    found: Account, path: str | os.PathLike[str] | None = None, *, width: float | None = None
) -> NDArray[np.object_]:
    """Return the axes of a picture of every answer; write it where asked."""
    answered = [one for one in found.answers if one.refusal is None]
    shown = Picture(
        name="answers",
        draw=partial(_draw_answers, answers=answered, delta=found.delta),
        size=(6.0, 1.2 + 0.3 * max(len(answered), 1)),
        label=f"Epsilon of {found.title} at delta = {found.delta:g}, by accountant.",
    )
    return draw_pictures([shown], path, width=width)


def _draw_answers(axes: Axes, answers: Sequence[AccountantAnswer], delta: float) -> None:
    """Draw brackets as bars, upper bounds as bars from 0, estimates as rings."""
    for place, one in enumerate(answers):
        if one.upper is not None and math.isfinite(one.upper):
            low = one.lower or 0.0
            axes.plot([low, one.upper], [place, place], color=PROVED["color"], lw=2.5)
            axes.plot([one.upper], [place], PROVED_MARK, color=PROVED["color"])
        if one.estimate is not None and math.isfinite(one.estimate):
            axes.plot([one.estimate], [place], "o", mfc="none", color=INK)
    axes.set_yticks(range(len(answers)), [one.accountant for one in answers])
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.set_xlabel(f"epsilon at delta = {format_significant(delta)}")
    axes.grid(axis="y", visible=False)
    number_ticks(axes.xaxis)


def row_of_account(found: Account) -> str:
    """Return the release, the epsilon proved at delta, and the accountant as a row in LaTeX."""
    proved = found.proved
    upper = NONE if proved is None else format_significant(proved.upper, _DIGITS, ROUND_CEILING)
    delta = format_number(format_significant(found.delta)).strip("$")
    epsilon = rf"{format_number(upper)} at $\delta = {delta}$"
    by = NONE if proved is None else proved.accountant
    return format_row([escape_latex(found.title), epsilon, escape_latex(by)])
