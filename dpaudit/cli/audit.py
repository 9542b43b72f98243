"""What ``dpaudit audit`` does: audits one after the other, shows them, writes the report."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dpaudit._validate as check
import dpaudit.auditing.specification as specification
from dpaudit.auditing.budget import Spender, shared, whole_report
from dpaudit.auditing.rerun import repeated_command
from dpaudit.auditing.run import Audited, Prepared, prepared_claim
from dpaudit.auditing.specification import ClaimAudit, Specification
from dpaudit.cli.console import console, verdict_lines
from dpaudit.errors import DpauditError
from dpaudit.execution import Executor, Progress, Silent, available_cores
from dpaudit.extension.settings import Settings
from dpaudit.report import budget_line, prepare_directory, verdict_table, write_report
from dpaudit.report.environment import environment
from dpaudit.report.schema import Report, Result

PUBLISHED = "reports"


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where results go: a directory for the report, JSON on standard output, a progress bar."""

    directory: str | None
    as_json: bool
    quiet: bool


def run(targets: list[str], overrides: dict[str, Any], workers: int | None, output: Output) -> int:
    """Run every audit and return the exit status.

    All targets are read and prepared before the first audit starts, and share the error
    probability of the report. When one fails later, the results of those before it are shown and
    written all the same.
    """
    workers = _workers(workers)
    repeated = repeated_command(targets, overrides)
    read = [audit for target in targets for audit in _audits(target, overrides, repeated)]
    audits = _sharing(read)
    if output.directory is not None:
        prepare_directory(output.directory)
    began, found = time.monotonic(), list[Audited]()
    failure: BaseException | None = None
    for audit in audits:
        try:
            found.append(_watched(audit, workers, output))
        except DpauditError as error:
            failure = error if len(audits) == 1 else _named(error, audits[len(found) :])
            break
        except KeyboardInterrupt as error:
            failure = error
            break
        if found[-1].interrupted:
            failure = KeyboardInterrupt()
            break
    results = [audited.result for audited in found]
    if found:
        report = whole_report(results, environment(workers, time.monotonic() - began))
        _show(report, found, output)
    if failure is not None:
        raise failure
    return _status(results)


def run_all(overrides: dict[str, Any], workers: int | None, output: Output) -> int:
    """Audit every installed claim, write a report each and an index; return the exit status.

    An interrupt ends it early; what was found by then is written all the same.

    Raises
    ------
    DpauditError
        Some audits failed; what the others found is written all the same.
    """
    from dpaudit.auditing import publish

    publish.refuse_other_settings(overrides)
    workers, directory = _workers(workers), output.directory or PUBLISHED
    prepare_directory(directory)
    found, failure = list[publish.Published](), None
    with progress_bar("every claim", shown=not output.quiet) as progress:
        try:
            for one in publish.audit_all(overrides, workers, progress):
                found.append(one)  # an interrupt keeps those before it
        except KeyboardInterrupt as interrupt:
            failure = interrupt
    if failure is not None and not found:
        raise failure
    page = publish.write_all(found, directory, workers)
    results = [one.outcome.result for one in found if isinstance(one.outcome, Audited)]
    _show_all(results, page, output)
    if failure is not None:
        raise failure
    if failed := publish.failures(found):
        raise DpauditError("; ".join(failed))
    return _status(results)


def _show_all(results: list[Result], page: Path, output: Output) -> None:
    if output.as_json:
        sys.stdout.write(page.with_suffix(".json").read_text(encoding="utf-8"))
        return
    console().print(verdict_table(results))
    _line([f"Index: {page}"], output)


def _workers(asked: int | None) -> int:
    return available_cores() if asked is None else check.integer("workers", asked, least=1)


def _status(results: list[Result]) -> int:
    for result in results:
        failed = [check.name for check in result.self_checks if not check.passed]
        if failed:
            raise DpauditError(
                f"{result.claim}: the law does not match the code (failed: {', '.join(failed)}), "
                "so nothing was certified; repair the mechanism's law, or use --estimator event"
            )
    return int(any(result.verdict == "refuted" for result in results))


def _audits(target: str, overrides: dict[str, Any], repeated: str) -> list[tuple[Prepared, bool]]:
    """Return the audits of a target, and whether each states a confidence of its own."""
    if not target.endswith(".toml"):
        return [(prepared_claim(target, Settings(**overrides)), False)]
    path = Path(target)
    specified = specification.read_specification(path)
    return [_specified(one, path, overrides, repeated) for one in specified]


def _specified(
    specified: Specification, path: Path, overrides: dict[str, Any], repeated: str
) -> tuple[Prepared, bool]:
    settings = specification.settings_of(specified, overrides)
    own = specified.confidence is not None and "confidence" not in overrides
    if isinstance(specified, ClaimAudit):
        return prepared_claim(specified.claim, settings), own
    return specification.prepared_mechanism(specified, settings, path, repeated), own


def _sharing(audits: list[tuple[Prepared, bool]]) -> list[Prepared]:
    """Give every audit its share of the report's error probability."""
    spenders = [Spender(audit.settings, audit.draws, own) for audit, own in audits]
    return [
        replace(audit, settings=settings)
        for (audit, _), settings in zip(audits, shared(spenders), strict=True)
    ]


def _named(error: DpauditError, left: list[Prepared]) -> DpauditError:
    """Return the error of the first of these audits with its name and those that did not run."""
    failed, *missing = [one.claim.name for one in left]
    after = f"; not run: {', '.join(missing)}" if missing else ""
    return DpauditError(f"{failed}: {error}{after}")


def _watched(audit: Prepared, workers: int, output: Output) -> Audited:
    with progress_bar(audit.claim.name, shown=not output.quiet) as progress:
        return audit.run(Executor(workers=workers, progress=progress))


@contextmanager
def progress_bar(name: str, *, shown: bool) -> Iterator[Progress]:
    """Show a bar on a terminal while the block runs, and nothing elsewhere."""
    if not shown or not sys.stderr.isatty():
        yield Silent()
        return
    from dpaudit.cli.progress import bar

    with bar(name) as progress:
        yield progress


def _show(report: Report, found: list[Audited], output: Output) -> None:
    """Show the results, then write them: what cannot be written has at least been seen."""
    if output.as_json:
        sys.stdout.write(report.model_dump_json(indent=2) + "\n")
    else:
        for part in verdict_lines(report.results):
            console().print(part)
        if len(report.budget) > 1:
            console().print(budget_line(report), markup=False)
    if output.directory is not None:
        certificates = [one.certificate for one in found if one.certificate is not None]
        paths = write_report(report, output.directory, certificates)
        lines = [f"Report: {paths.html}"]
        if paths.certificate is not None:
            lines.append(f"Certificate: {paths.certificate}; check it with dpaudit verify")
        _line(lines, output)
    elif not output.as_json:
        console().print("Write the full report with --out DIRECTORY.", style="dim")


def _line(lines: list[str], output: Output) -> None:
    if not output.as_json:
        for line in lines:
            console().print(line, soft_wrap=True, markup=False)
