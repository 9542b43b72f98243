"""Where the results of audits go, and the exit status they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.cli.console import console
from dpaudit.errors import DpauditError

if TYPE_CHECKING:
    from dpaudit.report.schema import Result


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where results go: a directory for the report, JSON on standard output, a progress bar."""

    directory: str | None
    as_json: bool
    quiet: bool


def processes(asked: int | None) -> int:
    """Return how many worker processes are asked for: every core by default."""
    import dpaudit._validate as check
    from dpaudit.execution import available_cores

    return available_cores() if asked is None else check.integer("workers", asked, least=1)


def status(results: list[Result]) -> int:
    """Return the exit status: 1 if a claim is refuted, else 0.

    Raises
    ------
    DpauditError
        A law does not match its code.
    """
    for result in results:
        failed = [check.name for check in result.self_checks if not check.passed]
        if failed:
            raise DpauditError(
                f"{result.claim}: the law does not match the code (failed: {', '.join(failed)}), "
                "so nothing was certified; repair the mechanism's law, or use --estimator event"
            )
    return int(any(result.verdict == "refuted" for result in results))


def say(lines: list[str], output: Output) -> None:
    """Print lines, unless the output is JSON."""
    if not output.as_json:
        for line in lines:
            console().print(line, soft_wrap=True, markup=False)
