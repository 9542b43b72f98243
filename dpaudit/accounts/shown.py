"""An account where somebody looks at it: in a notebook."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

from dpaudit.accounting.accountants import Answer
from dpaudit.accounts.sharing import of_own_samples
from dpaudit.notebook import piece, table
from dpaudit.report.formatting import NONE, number

if TYPE_CHECKING:
    from dpaudit.accounts.account import Account

_DIGITS = 6


def as_html(found: Account) -> str:
    """Return every answer as a table, and what the best of them means as sentences."""
    answered = [row(one) for one in found.answers if one.refusal is None]
    silent = ", ".join(one.accountant for one in found.answers if one.refusal is not None)
    columns = ("accountant", "at least", "at most", "estimate")
    parts = [table(f"Epsilon at delta = {found.delta:g}", columns, answered)]
    sentences = [*_meaning(found), *([f"Without a theorem for it: {silent}."] if silent else [])]
    return piece(f"{found.title} ({found.name})", sentences, *parts)


def row(answer: Answer) -> tuple[str, str, str, str]:
    """Return an answer's ends, rounded outwards.

    Examples
    --------
    >>> row(Answer(accountant="numerical", kind="bracket", source="", lower=1.23456789,
    ...     upper=1.23456789))
    ('numerical', '1.23456', '1.23457', '—')
    """
    lower = NONE if answer.lower is None else number(answer.lower, _DIGITS, ROUND_FLOOR)
    upper = NONE if answer.upper is None else number(answer.upper, _DIGITS, ROUND_CEILING)
    return answer.accountant, lower, upper, _estimate(answer)


def _estimate(answer: Answer) -> str:
    return NONE if answer.estimate is None else number(answer.estimate, _DIGITS)


def _meaning(found: Account) -> list[str]:

    if found.proved is None or found.proved.upper is None:
        return ["Nothing is proved of it."]
    upper = number(found.proved.upper, _DIGITS, ROUND_CEILING)
    prior, success = found.meaning.success[0]
    return [
        f"Proved: epsilon = {upper} at delta = {found.delta:g} ({found.proved.accountant}).",
        *of_own_samples(found.own_samples, _DIGITS),
        f"Who gives both of two neighbouring datasets a probability of {prior:g} guesses the right "
        f"one with a probability of at most {number(success, 4, ROUND_CEILING)}.",
    ]
