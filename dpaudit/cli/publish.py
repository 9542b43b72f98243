"""``dpaudit audit --all``: every installed claim, one report each, and an index of them all.

The published audits of a claim are the one with default settings and those it names itself
(`dpaudit.extension.claim.Claim.published`). Each runs in one process; workers share the audits out,
which changes no number. A claim whose audit fails is named at the end, and the others are kept.

The confidence is that of the whole index, all its reports together: the audits that draw share its
error probability, as those of any other command do (`dpaudit.auditing.budget`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

import dpaudit.extension.registry as registry
from dpaudit.auditing.budget import Spender, shared, whole_report
from dpaudit.auditing.run import Audited, prepared_claim, run_claim
from dpaudit.cli.console import console, verdict_table
from dpaudit.cli.output import Output, processes, say, status
from dpaudit.cli.progress import progress_bar
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.execution import Executor, Progress, one_thread
from dpaudit.extension.claim import Claim
from dpaudit.extension.settings import Settings
from dpaudit.report.document import prepare_directory, write_index, write_report
from dpaudit.report.schema import Environment, Result

Asked = tuple[str, str | None, Settings]  # a claim, the variant's name, how it is audited


@dataclass(frozen=True, kw_only=True)
class Published:
    """One audit of the published report: its claim, its variant, and its outcome."""

    claim: str
    variant: str | None
    outcome: Audited | str
    seconds: float


FOLDER = "reports"


def run(overrides: dict[str, Any], workers: int | None, output: Output) -> int:
    """Audit every installed claim, write a report each and an index; return the exit status.

    An interrupt ends it early; what was found by then is written all the same.

    Raises
    ------
    DpauditError
        Some audits failed; what the others found is written all the same.
    """
    refuse_other_settings(overrides)
    workers, directory = processes(workers), output.directory or FOLDER
    prepare_directory(directory)
    found, failure = list[Published](), None
    with progress_bar("every claim", shown=not output.quiet) as progress:
        try:
            for one in audit_all(overrides, workers, progress):
                found.append(one)  # an interrupt keeps those before it
        except KeyboardInterrupt as interrupt:
            failure = interrupt
    if failure is not None and not found:
        raise failure
    page = write_all(found, directory, workers)
    results = [one.outcome.result for one in found if isinstance(one.outcome, Audited)]
    _show_all(results, page, output)
    if failure is not None:
        raise failure
    if failed := failures(found):
        raise DpauditError("; ".join(failed))
    return status(results)


def _show_all(results: list[Result], page: Path, output: Output) -> None:
    if output.as_json:
        sys.stdout.write(page.with_suffix(".json").read_text(encoding="utf-8"))
        return
    console().print(verdict_table(results))
    say([f"Index: {page}"], output)


def published_settings(
    claim: Claim, overrides: Mapping[str, Any]
) -> Iterator[tuple[str | None, Settings]]:
    """Yield the variants of a claim and their settings; the default one has no name.

    Examples
    --------
    >>> from dpaudit.extension.registry import CLAIMS
    >>> [name for name, _ in published_settings(CLAIMS.get("hu2020-lemma1"), {})][0] is None
    True
    """
    yield None, Settings(**overrides)
    for variant, changes in claim.published.items():
        yield variant, Settings(**{**changes, **overrides})


def audit_all(
    overrides: Mapping[str, Any], workers: int, progress: Progress
) -> Iterator[Published]:
    """Run the published audits of every installed claim; yield them in the claims' order.

    Parameters
    ----------
    overrides
        Settings that replace the claims' own in every audit: trials, seed, confidence, delta.
    workers
        Processes; no number depends on it.
    progress
        Receives how many audits are done.
    """
    asked = sharing(
        [
            (name, variant, settings)
            for name, claim in registry.CLAIMS.all().items()
            for variant, settings in published_settings(claim, overrides)
        ]
    )
    progress.start("auditing", len(asked))
    for published in Parallel(n_jobs=workers, return_as="generator")(
        delayed(_audited)(*one) for one in asked
    ):
        progress.advance(1)
        yield published


def sharing(asked: list[Asked]) -> list[Asked]:
    """Return the audits with their shares of one error probability, that of the whole index.

    Each is prepared to see whether it draws; one that cannot be prepared will say so when it runs.
    """
    spenders = [Spender(settings, _draws(claim, settings)) for claim, _, settings in asked]
    return [
        (claim, variant, settings)
        for (claim, variant, _), settings in zip(asked, shared(spenders), strict=True)
    ]


def _draws(claim: str, settings: Settings) -> bool:
    try:
        return prepared_claim(claim, settings).draws
    except DpauditError:
        return False


def write_all(found: list[Published], directory: str, workers: int) -> Path:
    """Write a folder for each claim, and the index; return the index page.

    Raises
    ------
    DataError
        A file cannot be written.
    """
    prepare_directory(directory)
    folder = Path(directory)
    by_claim: dict[str, list[Published]] = {}
    for one in found:
        by_claim.setdefault(one.claim, []).append(one)
    reports = {}
    for claim, audits in by_claim.items():
        good = [a.outcome for a in audits if isinstance(a.outcome, Audited)]
        if not good:
            continue
        spent = sum(a.seconds for a in audits)
        report = whole_report([a.result for a in good], Environment.of_this_machine(workers, spent))
        certificates = [a.certificate for a in good if a.certificate is not None]
        write_report(report, folder / claim, certificates)
        reports[claim] = (report, [a.certificate is not None for a in good])
    return write_index(reports, folder)


def failures(found: list[Published]) -> list[str]:
    """Return a line for each audit that gave no result."""
    return [
        f"{one.claim}{'' if one.variant is None else f' ({one.variant})'}: {one.outcome}"
        for one in found
        if isinstance(one.outcome, str)
    ]


def refuse_other_settings(overrides: Mapping[str, Any]) -> None:
    """Raise `InvalidArgument` on settings that cannot mean the same for every claim."""
    shared = ("trials", "seed", "confidence", "delta")
    for name, value in overrides.items():
        if name not in shared:
            raise InvalidArgument(name, value, f"nothing with --all, which takes {_listed(shared)}")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}"


def _audited(claim: str, variant: str | None, settings: Settings) -> Published:
    began = time.monotonic()
    outcome: Audited | str
    try:
        with one_thread():
            found = run_claim(claim, settings, Executor())
        named = found.result.model_copy(update={"variant": variant})
        outcome = replace(found, result=named)
    except DpauditError as error:
        outcome = str(error)
    seconds = time.monotonic() - began
    return Published(claim=claim, variant=variant, outcome=outcome, seconds=seconds)
