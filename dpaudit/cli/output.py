"""Destinations of audits' results, and the exit status that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpaudit.cli.console import make_console
from dpaudit.cli.formats import JSON, Formats
from dpaudit.cli.pictures import FigureFile
from dpaudit.errors import DpauditError
from dpaudit.verdicts import status_of

if TYPE_CHECKING:
    from dpaudit.report.schema import Result


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Destinations of results: a directory for the report, formats of other tools, a picture."""

    directory: str | None
    formats: Formats = field(default_factory=Formats)
    drawing: FigureFile | None = None
    quiet: bool

    @property
    def as_json(self) -> bool:
        """Whether standard output is JSON."""
        return self.formats.shown == JSON


def resolve_worker_count(asked: int | None) -> int:
    """Return how many worker processes are asked for: every core by default."""
    import dpaudit._check as check
    from dpaudit.execution import available_cores

    return available_cores() if asked is None else check.require_integer("workers", asked, least=1)


def compute_exit_status(results: Sequence[Result]) -> int:
    """Return the exit status of verdicts (`dpaudit.verdicts`); accepted results do not count.

    Examples
    --------
    >>> compute_exit_status([])
    0
    """
    # A baseline accepts a refutation, and not that a required proof is missing.
    counted = [one for one in results if one.misses_proof or not one.is_accepted]
    return status_of("withheld" if one.misses_proof else one.verdict for one in counted)


def make_withheld_errors(results: Sequence[Result]) -> list[DpauditError]:
    """Return an error for each withheld result, and for each that misses a required proof.

    Examples
    --------
    >>> make_withheld_errors([])
    []
    """
    from dpaudit.report.formatting import format_result_label

    return [
        DpauditError(f"{format_result_label(result)}: {_format_withheld_reason(result)}")
        for result in results
        if result.verdict == "withheld" or result.misses_proof
    ]


def _format_withheld_reason(result: Result) -> str:
    if result.misses_proof:
        return f"a proof is required, and there is none: {_what_stopped(result)}"
    if contract := [check for check in result.contract if not check.passed]:
        return f"withheld, as {contract[0].statement}"
    failed = ", ".join(check.name for check in result.self_checks if not check.passed)
    return (
        f"the law does not match the code (failed: {failed}), so nothing was certified; repair "
        "the mechanism's law, or use --estimator event"
    )


def print_lines(lines: list[str], output: OutputOptions) -> None:
    """Print lines, unless the output is for machines."""
    if output.formats.shown is None:
        for line in lines:
            make_console().print(line, soft_wrap=True)


def format_ended_count(ended: int, missing: Sequence[str]) -> str:
    """Return how many of all requested audits ended, and which are missing.

    Examples
    --------
    >>> format_ended_count(1, ["b", "c"])
    '1 of 3 ended; missing: b, c'
    """
    return f"{ended} of {ended + len(missing)} ended; missing: {', '.join(missing)}"


def _what_stopped(result: Result) -> str:
    """Return why nothing is proved, or that more than the claim is."""
    from dpaudit.report.formatting import make_shown_numbers, why_unproved

    if (words := why_unproved(result)) is not None:
        return words
    if result.proved is None:
        return "nothing is proved without a domain and a relation"
    shown = make_shown_numbers(result)
    return f"{shown.proved} is proved, and {shown.claimed} is claimed"
