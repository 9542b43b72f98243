"""What ``dpaudit audit`` does: audits one after the other, shows them, writes the report."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dpaudit._validate as check
import dpaudit.registry as registry
import dpaudit.specification as specification
from dpaudit.audit.run import audit_case, audit_claim, rerun_command
from dpaudit.errors import DpauditError
from dpaudit.execution import Executor, Progress, Silent, available_cores
from dpaudit.report import prepare_directory, write_report
from dpaudit.report.schema import Environment, Report, Result
from dpaudit.settings import Settings
from dpaudit.specification import ClaimAudit, Specification
from dpaudit.tables import console, verdict_lines

_PACKAGES = ("numpy", "scipy", "statsmodels", "scikit-learn", "joblib", "networkx", "pydantic")
Audit = Callable[[Executor], Result]


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where results go: a directory for the report, JSON on standard output, a progress bar."""

    directory: str | None
    as_json: bool
    quiet: bool


def run(targets: list[str], overrides: dict[str, Any], workers: int | None, output: Output) -> int:
    """Run every audit and return the exit status.

    All targets are read before the first audit starts. When one fails later, the results of those
    before it are shown and written all the same.
    """
    workers = available_cores() if workers is None else check.integer("workers", workers, least=1)
    audits = [audit for target in targets for audit in _audits(target, overrides)]
    if output.directory is not None:
        prepare_directory(output.directory)
    began, results = time.monotonic(), []
    failure: BaseException | None = None
    for name, audit in audits:
        try:
            results.append(_watched(name, audit, workers, output))
        except (DpauditError, KeyboardInterrupt) as error:
            failure = error
            break
    if results:
        report = Report(results=results, environment=_environment(workers, began))
        _show(report, output)
    if failure is not None:
        raise failure
    return _status(results)


def _status(results: list[Result]) -> int:
    for result in results:
        failed = [check.name for check in result.self_checks if not check.passed]
        if failed:
            raise DpauditError(
                f"{result.claim}: the law does not match the code (failed: {', '.join(failed)}), "
                "so nothing was certified; repair the mechanism's law, or use --estimator event"
            )
    return int(any(result.verdict == "refuted" for result in results))


def _audits(target: str, overrides: dict[str, Any]) -> list[tuple[str, Audit]]:
    if not target.endswith(".toml"):
        registry.claim(target)
        settings = Settings(**overrides)
        return [(target, lambda executor: audit_claim(target, settings, executor))]
    path = Path(target)
    return [_specified(s, path, overrides) for s in specification.read_specification(path)]


def _specified(
    specified: Specification, path: Path, overrides: dict[str, Any]
) -> tuple[str, Audit]:
    settings = specification.settings_of(specified, overrides)
    if isinstance(specified, ClaimAudit):
        registry.claim(specified.claim)
        return specified.claim, lambda executor: audit_claim(specified.claim, settings, executor)
    card, case = specification.mechanism_case(specified, settings, path)
    rerun = rerun_command(str(path), settings)
    return card.name, lambda executor: audit_case(card, case, settings, executor, rerun)


def _watched(name: str, audit: Audit, workers: int, output: Output) -> Result:
    if output.quiet or not sys.stderr.isatty():
        return audit(Executor(workers=workers, progress=Silent()))
    from dpaudit.progress import bar

    with bar(name) as progress:
        shown: Progress = progress
        return audit(Executor(workers=workers, progress=shown))


def _environment(workers: int, began: float) -> Environment:
    return Environment(
        dpaudit=version("dpaudit"),
        python=platform.python_version(),
        packages={package: version(package) for package in _PACKAGES},
        cores=available_cores(),
        workers=workers,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - began, 2),
    )


def _show(report: Report, output: Output) -> None:
    """Show the results, then write them: what cannot be written has at least been seen."""
    if output.as_json:
        sys.stdout.write(report.model_dump_json(indent=2) + "\n")
    else:
        for part in verdict_lines(report.results):
            console().print(part)
    if output.directory is not None:
        page = f"Report: {write_report(report, output.directory).html}"
        if not output.as_json:
            console().print(page, soft_wrap=True, markup=False)
    elif not output.as_json:
        console().print("Write the full report with --out DIRECTORY.", style="dim")
