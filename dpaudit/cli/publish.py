"""``dpaudit audit --all``: every installed claim, one report each, and an index of them all.

The published audits of a claim are the one with default settings and those it names itself
(`dpaudit.extension.claim.Claim.published`). Each runs in one process; workers share the audits out,
which changes no number. Reports are written as audits end; those that gave no result are named.

The confidence is that of the whole index, all its reports together: the audits that draw share its
error probability, as those of any other command do (`dpaudit.auditing.outcome.error_budget`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

import dpaudit.cli.streams as streams
import dpaudit.extension.registry as registry
from dpaudit.auditing.audit_outcome import AuditOutcome
from dpaudit.auditing.outcome.error_budget import Spender, split_error_probability, whole_report
from dpaudit.auditing.run import prepare_claim, run_claim
from dpaudit.cli.console import make_console, verdict_table
from dpaudit.cli.ending import (
    Interruption,
    add_error_name,
    collect_failures,
    print_error,
    report_failures,
)
from dpaudit.cli.formats import JSON, show_format, write_formats
from dpaudit.cli.output import (
    OutputOptions,
    compute_exit_status,
    format_ended_count,
    make_withheld_errors,
    print_lines,
    resolve_worker_count,
)
from dpaudit.cli.progress import progress_bar
from dpaudit.cli.storing import store_draws
from dpaudit.errors import DpauditError, InvalidArgument, calls_of
from dpaudit.execution import Executor, Progress, end_with, one_thread
from dpaudit.extension.claim import Claim
from dpaudit.extension.settings import Settings
from dpaudit.files import prepare_directory
from dpaudit.report.catalogue import Catalogue
from dpaudit.report.document import write_index, write_report
from dpaudit.report.entries import ReportEntries, entries_of
from dpaudit.report.formatting import label_of
from dpaudit.report.index import MissingAudit
from dpaudit.report.schema import Environment, Report, Result, Standing
from dpaudit.store.keeping import Storing

Asked = tuple[str, str | None, Settings]  # a claim, the variant's name, how it is audited


@dataclass(frozen=True, kw_only=True)
class VariantAudit:
    """One audit of the published report: its claim, its variant, and its outcome."""

    claim: str
    variant: str | None
    outcome: AuditOutcome | DpauditError
    seconds: float

    @property
    def key(self) -> tuple[str, str | None]:
        """The claim and the variant."""
        return self.claim, self.variant


FOLDER = "reports"


def run(
    overrides: dict[str, Any],
    workers: int | None,
    output: OutputOptions,
    where: Storing | None = None,
) -> int:
    """Audit every installed claim, write a report each and an index; return the exit status.

    Whenever an audit ends, the report of its claim and the index are written. What is drawn is kept
    ``where`` somebody says.

    Raises
    ------
    KeyboardInterrupt
        Somebody stopped it; what had ended is written and shown.
    """
    refuse_other_settings(overrides)
    workers, directory = resolve_worker_count(workers), output.directory or FOLDER
    prepare_directory(directory)
    gallery = Gallery(get_published_keys(overrides), Path(directory), workers)
    failures, interrupt = list[DpauditError](), None
    with progress_bar("every claim", shown=not output.quiet) as progress:
        try:
            with collect_failures(failures):
                for one in audit_all(overrides, workers, progress, where):
                    gallery.keep(one)
        except KeyboardInterrupt as error:
            interrupt = error
    # An interrupt before the first audit ended leaves an earlier index as it was.
    if gallery.found:
        failures += gallery.write_everything()
        with collect_failures(failures):
            _show_all(gallery, output)
    failures += [*gallery.failures, *make_withheld_errors(gallery.results)]
    if interrupt is None:
        return report_failures(compute_exit_status(gallery.results), failures)
    for failure in failures:
        print_error(failure)
    raise Interruption(
        format_ended_count(len(gallery.results), list(gallery.missing))
    ) from interrupt


def _show_all(gallery: Gallery, output: OutputOptions) -> None:
    # What is shown is read back from the file, so that the terminal and the folder cannot say
    # two things.
    formats, document = output.formats, gallery.page.with_suffix(".json").read_text("utf-8")
    if formats.files:
        write_formats(formats, gallery.entries(), document.rstrip())
    if formats.shown == JSON:
        streams.write_json(document.rstrip())
        return
    if formats.shown is not None:
        show_format(formats.shown, gallery.entries(), document)
        return
    make_console().print(verdict_table(gallery.results))
    print_lines([f"Index: {gallery.page}"], output)


class Gallery:
    """A folder with a report for each claim, and an index that names the missing ones.

    Parameters
    ----------
    keys
        Claim and variant of every audit that was asked for.
    folder
        Where; it is there already.
    workers
        How many compute, for the reports to say.
    """

    def __init__(self, keys: Sequence[tuple[str, str | None]], folder: Path, workers: int) -> None:
        self.keys, self.folder, self.workers = list(keys), folder, workers
        self.page = folder / "index.html"
        self.found: dict[tuple[str, str | None], VariantAudit] = {}
        self._reports: dict[str, tuple[Report, list[bool]]] = {}
        self._unwritten: set[str] = set()
        self._catalogue = Catalogue.installed()

    def keep(self, one: VariantAudit) -> None:
        """Take an audit that ended, and write the report of its claim and the index.

        What cannot be written now is tried again in the end.
        """
        if not self.found and self.page.with_suffix(".json").exists():
            # An earlier index would speak of reports that are replaced from now on.
            with collect_failures([]):
                write_index({}, self.folder, self.missing, self._catalogue)
        self.found[one.key] = one
        self._unwritten.add(one.claim)
        self.write_everything()

    def write_everything(self) -> list[DpauditError]:
        """Write the report of every claim of which something is new, and the index.

        Return an error for each that cannot be written.
        """
        failures = list[DpauditError]()
        for claim in sorted(self._unwritten):
            with collect_failures(failures):
                self._write(claim)
                self._unwritten.discard(claim)
        with collect_failures(failures):
            write_index(self._in_order(), self.folder, self.missing, self._catalogue)
        if not self.missing:
            with collect_failures(failures):
                judged = self._catalogue.add_ledger_counts(self.folder)
                write_index(self._in_order(), self.folder, {}, judged)
        return failures

    def _write(self, claim: str) -> None:
        ended = [self.found[key] for key in self.keys if key[0] == claim and key in self.found]
        good = [one.outcome for one in ended if isinstance(one.outcome, AuditOutcome)]
        if not good:
            return
        spent = sum(one.seconds for one in ended)
        environment = Environment.of_this_machine(self.workers, spent)
        report = whole_report([one.result for one in good], environment, self._without(claim))
        certificates = [one.certificate for one in good if one.certificate is not None]
        write_report(report, self.folder / claim, certificates)
        self._reports[claim] = (report, [one.certificate is not None for one in good])

    def entries(self) -> ReportEntries:
        """Return the entries for other tools: one for each requested audit."""
        there = {label_of(*key): self.found[key].outcome for key in self.keys if key in self.found}
        results = {n: one.result for n, one in there.items() if isinstance(one, AuditOutcome)}
        spent = sum(one.seconds for one in self.found.values())
        environment = Environment.of_this_machine(self.workers, spent)
        report = whole_report(list(results.values()), environment, list(self.missing))
        names = [label_of(*key) for key in self.keys]
        why = {name: one.why for name, one in self.missing.items()}
        audits = [(name, results.get(name), why.get(name), None) for name in names]
        return entries_of(report, audits, Path.cwd())

    def _without(self, claim: str) -> list[str]:
        """Return the audits of a claim that gave no result, or none yet."""
        there = {key for key, one in self.found.items() if isinstance(one.outcome, AuditOutcome)}
        return [label_of(*key) for key in self.keys if key[0] == claim and key not in there]

    def _in_order(self) -> dict[str, tuple[Report, list[bool]]]:
        claims = dict.fromkeys(claim for claim, _ in self.keys)
        return {claim: self._reports[claim] for claim in claims if claim in self._reports}

    @property
    def results(self) -> list[Result]:
        """The results, in the order of the request."""
        ended = [self.found[key].outcome for key in self.keys if key in self.found]
        return [one.result for one in ended if isinstance(one, AuditOutcome)]

    @property
    def failures(self) -> list[DpauditError]:
        """An error for each audit that gave no result, which names it."""
        ended = [self.found[key] for key in self.keys if key in self.found]
        return [
            add_error_name(one.outcome, label_of(*one.key))
            for one in ended
            if isinstance(one.outcome, DpauditError)
        ]

    @property
    def missing(self) -> dict[str, MissingAudit]:
        """Each audit that was asked for and gave no result, and why."""
        why = {key: self._why_missing(key) for key in self.keys}
        return {label_of(*key): said for key, said in why.items() if said is not None}

    def _why_missing(self, key: tuple[str, str | None]) -> MissingAudit | None:
        if key not in self.found:
            return MissingAudit("not run")
        outcome = self.found[key].outcome
        if isinstance(outcome, DpauditError):
            return MissingAudit(f"failed: {outcome}", failed=True)
        if key[0] in self._reports:
            return None
        return MissingAudit("failed: its report could not be written", failed=True)


def get_published_keys(overrides: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Return claim and variant of every audit that is published.

    Examples
    --------
    >>> ("hu2020-lemma1", None) in get_published_keys({})
    True
    """
    return [(claim, variant) for claim, variant, _ in _get_published_audits(overrides)]


def _get_published_audits(overrides: Mapping[str, Any]) -> list[Asked]:
    return [
        (name, variant, settings)
        for name, claim in registry.CLAIMS.all().items()
        for variant, settings in get_published_settings(claim, overrides)
    ]


def get_published_settings(
    claim: Claim, overrides: Mapping[str, Any]
) -> Iterator[tuple[str | None, Settings]]:
    """Yield the variants of a claim and their settings; the default one has no name.

    Examples
    --------
    >>> from dpaudit.extension.registry import CLAIMS
    >>> [name for name, _ in get_published_settings(CLAIMS.get("hu2020-lemma1"), {})][0] is None
    True
    """
    yield None, Settings(**overrides)
    for name, variant in claim.published.items():
        yield name, Settings(**{**variant.settings, **overrides})


def audit_all(
    overrides: Mapping[str, Any],
    workers: int,
    progress: Progress,
    where: Storing | None = None,
) -> Iterator[VariantAudit]:
    """Run the published audits of every installed claim; yield each as it ends.

    Parameters
    ----------
    overrides
        Settings that replace the claims' own in every audit: trials, seed, confidence, delta.
    workers
        Processes; no number depends on it.
    progress
        Receives how many audits are done.
    where
        Where what is drawn is kept.
    """
    # The shares are fixed before the first audit draws, and depend on no result.
    asked = split_index_confidence(_get_published_audits(overrides))
    progress.start("auditing", len(asked))
    ending = {"initializer": end_with, "initargs": (os.getpid(),)}
    for published in Parallel(n_jobs=workers, return_as="generator_unordered", **ending)(
        delayed(_run_published_audit)(*one, where) for one in asked
    ):
        progress.advance(1)
        yield published


def split_index_confidence(asked: list[Asked]) -> list[Asked]:
    """Return the audits with their shares of one error probability, that of the whole index.

    Each is prepared to see whether it draws; one that cannot be prepared will say so when it runs.
    """
    spenders = [
        Spender(settings, _is_drawing_outputs(claim, settings)) for claim, _, settings in asked
    ]
    return [
        (claim, variant, settings)
        for (claim, variant, _), settings in zip(
            asked, split_error_probability(spenders), strict=True
        )
    ]


def _is_drawing_outputs(claim: str, settings: Settings) -> bool:
    draws = False
    with collect_failures([]):
        draws = prepare_claim(claim, settings).draws
    return draws


def refuse_other_settings(overrides: Mapping[str, Any]) -> None:
    """Raise `InvalidArgument` on settings that cannot mean the same for every claim."""
    shared = ("trials", "seed", "confidence", "delta")
    for name, value in overrides.items():
        if name not in shared:
            raise InvalidArgument(
                name, value, f"nothing with --all, which takes {_join_names(shared)}"
            )


def _join_names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}"


def _run_published_audit(
    claim: str, variant: str | None, settings: Settings, where: Storing | None
) -> VariantAudit:
    began = time.monotonic()
    failures, found = list[DpauditError](), list[AuditOutcome]()
    # One thread in each worker: the workers already use every core, and a sum that several
    # threads share out has other last digits.
    with collect_failures(failures), one_thread(), store_draws(where):
        found.append(run_claim(claim, settings, Executor()))
    outcome = (
        _to_portable_error(failures[0])
        if failures
        else _set_published_variant(found[0], claim, variant)
    )
    seconds = time.monotonic() - began
    return VariantAudit(claim=claim, variant=variant, outcome=outcome, seconds=seconds)


def _to_portable_error(error: DpauditError) -> DpauditError:
    """Return an error that keeps its traceback across a process border, as a note."""
    portable = DpauditError(str(error))
    # A traceback cannot be pickled, and the text of one can.
    portable.add_note(calls_of(error))
    return portable


def _set_published_variant(found: AuditOutcome, claim: str, variant: str | None) -> AuditOutcome:
    own = registry.CLAIMS.get(claim)
    update = {"variant": variant, "standing": _get_published_standing(own, variant)}
    scope = own.scope if variant is None else own.published[variant].scope
    return replace(found, result=found.result.model_copy(update=update | {"scope": scope or None}))


def _get_published_standing(claim: Claim, variant: str | None) -> Standing:
    """Return whether an audit is about the claim as printed, a variant of it, or a question."""
    if claim.question:
        return "question"
    return "claim" if variant is None or claim.published[variant].printed else "variant"
