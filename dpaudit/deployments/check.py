"""One comparison of the statements of a record, with the arithmetic that decides it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from dpaudit.deployments.arithmetic import format_typed_number
from dpaudit.deployments.facts import Number
from dpaudit.report.counts import ReportPart

Outcome = Literal["agrees", "does not", "cannot be said", "caution"]


class Check(ReportPart):
    """The result of one comparison."""

    code: str = Field(description="Which comparison.")
    outcome: Outcome
    words: str = Field(description="The arithmetic, for a reader.")
    places: list[str] = Field(default=[], description="Where the numbers stand that were compared.")
    stated: float | None = None
    computed: float | None = None
    command: str = Field(default="", description="What prints the computed number.")


def make_check(
    code: str,
    outcome: Outcome,
    words: str,
    numbers: Iterable[Number] = (),
    *,
    stated: float | None = None,
    computed: float | None = None,
    command: str = "",
) -> Check:
    """Return a check, with the places of its numbers."""
    places = list(dict.fromkeys(one.place for one in numbers))
    return Check(
        code=code,
        outcome=outcome,
        words=words,
        places=places,
        stated=stated,
        computed=computed,
        command=command,
    )


def format_computed_number(value: float) -> str:
    """Return a computed number as a sentence shows it.

    Examples
    --------
    >>> (
    ...     format_computed_number(17.158308),
    ...     format_computed_number(0.30000000000000004),
    ...     format_computed_number(5e-9),
    ... )
    ('17.1583', '0.3', '5e-09')
    """
    return format(value, ".6g")


__all__ = ["Check", "Outcome", "format_computed_number", "format_typed_number", "make_check"]
