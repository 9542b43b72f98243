"""The audits of one command: those that ended, those that failed, and the report that grows."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpaudit.cli.clock as clock
import dpaudit.cli.streams as streams
from dpaudit.cli.audited_code import format_verify_command
from dpaudit.cli.console import budget_line, make_console, verdict_lines
from dpaudit.cli.ending import Interruption, collect_failures, print_error, report_failures
from dpaudit.cli.formats import JSON, show_format, write_formats
from dpaudit.cli.output import (
    OutputOptions,
    compute_exit_status,
    format_ended_count,
    make_withheld_errors,
    print_lines,
)
from dpaudit.cli.progress import progress_bar
from dpaudit.cli.storing import count_taken, format_private_files
from dpaudit.escaping import one_line
from dpaudit.redaction import are_shown

if TYPE_CHECKING:
    from dpaudit.auditing.audit_outcome import AuditOutcome
    from dpaudit.auditing.run import PreparedAudit
    from dpaudit.auditing.samples.output_audit import PreparedOutputs
    from dpaudit.auditing.specification.baseline import Baseline
    from dpaudit.errors import DpauditError
    from dpaudit.execution import Executor
    from dpaudit.refutation import Certificate
    from dpaudit.report.document import ReportPaths
    from dpaudit.report.entries import ReportEntries, SourceLine
    from dpaudit.report.schema import Report, Result


@dataclass
class Batch:
    """Audits by their place in the command.

    Parameters
    ----------
    names
        Of all that were asked for.
    places
        Where they belong in the source; empty if nobody asks.
    replays
        Of each, what returns the command that replays it; empty where there are none.
    named
        Of each, what is audited, by the names of settings; empty where nobody knows.
    executor, output
        Who computes, and where results go.
    baselines
        Of each, the refutations that are accepted; empty if none are.
    """

    names: Sequence[str]
    executor: Executor
    output: OutputOptions
    places: Sequence[SourceLine | None] = ()
    baselines: Sequence[Baseline | None] = ()
    replays: Sequence[Callable[[Result], str | None]] = ()
    named: Sequence[Mapping[str, Any]] = ()
    root: Path = field(default_factory=Path.cwd)
    began: float = field(default_factory=clock.get_start_moment)
    ended: dict[int, AuditOutcome] = field(default_factory=dict)
    failures: list[DpauditError] = field(default_factory=list)
    paths: ReportPaths | None = None
    shares: list[str] = field(default_factory=list)
    _in_report: int = 0
    _failed: dict[int, str] = field(default_factory=dict)

    @property
    def results(self) -> list[Result]:
        """The results, in the order of the request."""
        return [self.ended[place].result for place in sorted(self.ended)]

    @property
    def missing(self) -> list[str]:
        """The names of those that gave no result."""
        return [one_line(n) for place, n in enumerate(self.names) if place not in self.ended]

    def name_of(self, place: int) -> str | None:
        """Return the name that a failure needs: none where there is one audit only."""
        return one_line(self.names[place]) if len(self.names) > 1 else None

    @contextlib.contextmanager
    def attempt(self, place: int) -> Iterator[None]:
        """Record an exception of the block as the failure of one audit."""
        failed = len(self.failures)
        with collect_failures(self.failures, self.name_of(place)):
            yield
        if len(self.failures) > failed:
            self._failed[place] = str(self.failures[-1])

    def run(self, ready: Mapping[int, PreparedAudit | PreparedOutputs]) -> int:
        """Run the audits, show the results, and return the exit status.

        Raises
        ------
        KeyboardInterrupt
            Somebody stopped it; what had ended is written and shown.
        """
        interrupt = None
        try:
            for place, audit in ready.items():
                self._run_one(place, audit)
        # An interrupt ends the audits that are left, but what was certified before stays
        # certified: it is written and shown before the interrupt goes on.
        except KeyboardInterrupt as error:
            interrupt = error
        self._finish()
        if interrupt is None and self.shares and not self.failures and not self.ended:
            return 0  # nothing is wrong, and there is no verdict yet
        if interrupt is None:
            return report_failures(compute_exit_status(self.results), self.failures)
        for failure in self.failures:
            print_error(failure)
        several = len(self.names) > 1 and self.missing
        raise (
            Interruption(format_ended_count(len(self.ended), self.missing))
            if several
            else interrupt
        )

    def _run_one(self, place: int, audit: PreparedAudit | PreparedOutputs) -> None:
        from dpaudit.execution.executor import ShareDrawn

        with self.attempt(place):
            try:
                with progress_bar(audit.claim.name, shown=not self.output.quiet) as progress:
                    # The time of starting up and importing counts for the first audit alone;
                    # for a later one it is not part of what its user waited for.
                    since = None if self.ended or self.failures else self.began
                    found = audit.run(replace(self.executor, progress=progress, since=since))
            # A share of the outputs decides nothing: its exception is no failure.
            except ShareDrawn as drawn:
                self.shares.append(f"{one_line(self.names[place])}: {drawn}.")
                return
            self.ended[place] = self._compared(place, found)
        if place in self._failed:
            return
        with collect_failures([]):  # it is tried again at the end
            self._write()
        if found.interrupted:
            raise KeyboardInterrupt

    def _compared(self, place: int, found: AuditOutcome) -> AuditOutcome:
        """Return an audit with the judgement of its baseline."""
        baseline = self.baselines[place] if self.baselines else None
        if baseline is None:
            return found
        with collect_failures(self.failures, self.name_of(place)):
            found = replace(found, result=baseline.judge(found.result))
        return found

    def _format_unmatched_entries(self) -> list[str]:
        """Return the notes on accepted refutations without an audit."""
        distinct = {id(one): one for one in self.baselines if one is not None}
        return [line for one in distinct.values() for line in one.unmatched(self.missing)]

    def _report(self) -> Report:
        from dpaudit.auditing.outcome.error_budget import whole_report
        from dpaudit.report.schema import Environment
        from dpaudit.store.keeping import where_stored

        spent = time.monotonic() - self.began
        environment = Environment.of_this_machine(self.executor.workers, spent)
        environment = environment.model_copy(update={"taken": count_taken(where_stored())})
        whole = whole_report(self.results, environment, self.missing)
        return whole.model_copy(update={"unmatched": self._format_unmatched_entries()})

    def _write(self) -> None:
        """Write the report, if one was asked for and something is new."""
        from dpaudit.report.document import write_report

        if self.output.directory is None or self._in_report == len(self.ended):
            return
        found = [self.ended[place].certificate for place in sorted(self.ended)]
        certificates = [one for one in found if one is not None]
        self.paths = write_report(
            self._report(), self.output.directory, certificates, holds_records=are_shown()
        )
        self._in_report = len(self.ended)

    def _finish(self) -> None:
        """Write the rest, then show everything; each step may fail by itself."""
        for line in self._beyond():
            streams.write_to_stderr(line)
        if self.output.formats.files and not self.shares:
            with collect_failures(self.failures):
                write_formats(self.output.formats, self._entries(), self._document())
        if self.output.drawing is not None and not self.shares:
            with collect_failures(self.failures):
                self.output.drawing.draw_results(self.results)
        if not self.ended and (self.shares or self.output.formats.shown in (None, JSON)):
            return
        with collect_failures(self.failures):
            self._write()
        with collect_failures(self.failures):
            self._show()
        self.failures.extend(make_withheld_errors(self.results))

    def _beyond(self) -> list[str]:
        """Return the notes on shares, and on the workers."""
        there = self.executor.backend
        told = [] if there is None or not there.done else [there.said]
        if not self.shares:
            return told
        following = "With all shares: dpaudit merge STORES --into FILE, and go on from it."
        return [*told, *self.shares, following]

    def _document(self) -> str:
        return self._report().model_dump_json(indent=2)

    def _entries(self) -> ReportEntries:
        """Return the entries for other tools: one for each requested audit."""
        from dpaudit.report.entries import entries_of

        places = self.places or [None] * len(self.names)
        found = [self.ended.get(place) for place in range(len(self.names))]
        audits = [
            (name, None if one is None else one.result, self._why(place), places[place])
            for place, (name, one) in enumerate(zip(self.names, found, strict=True))
        ]
        return entries_of(self._report(), audits, self.root)

    def _why(self, place: int) -> str | None:
        """Return why an audit gave no result, if that is known."""
        return self._failed.get(place)

    def _replays(self) -> list[str]:
        """Return the commands that replay refuted audits."""
        both = ((self.replays[place], one) for place, one in self.ended.items() if self.replays)
        commands = (replay(one.result) for replay, one in both)
        return [one for one in commands if one is not None]

    def _certificates(self) -> tuple[list[Certificate], list[Mapping[str, Any]]]:
        """Return the certificates, and for each the settings that name its code and data."""
        places = [n for n in sorted(self.ended) if self.ended[n].certificate is not None]
        kept = [one for n in places if (one := self.ended[n].certificate) is not None]
        return kept, [self.named[n] if self.named else {} for n in places]

    def _show(self) -> None:
        from dpaudit.report.acceptance import format_unmatched_entry

        report, shown = self._report(), self.output.formats.shown
        if shown is not None:
            if shown == JSON:
                streams.write_json(self._document())
            else:
                show_format(shown, self._entries(), self._document())
            for line in [
                *map(format_unmatched_entry, report.unmatched),
                *_format_held_files(self.paths),
            ]:
                streams.write_to_stderr(line)
            return
        for part in verdict_lines(report.results):
            make_console().print(part)
        print_lines([f"To see what leaks: {one}" for one in self._replays()], self.output)
        print_lines([format_unmatched_entry(one) for one in report.unmatched], self.output)
        if len(report.budget) > 1:
            make_console().print(budget_line(report))
        if self.output.directory is None:
            make_console().print("Write the full report with --out DIRECTORY.", style="dim")
            print_lines(_format_held_files(None), self.output)
        elif self.paths is not None:
            print_lines(_format_report_places(self.paths, *self._certificates()), self.output)


def _format_report_places(
    paths: ReportPaths, kept: Sequence[Certificate], named: Sequence[Mapping[str, Any]]
) -> list[str]:
    lines = [f"Report: {paths.html}"]
    if paths.certificate is not None:
        check = format_verify_command(paths.certificate, kept, named)
        lines.append(f"Certificate: {paths.certificate}; check it with {check}")
    return [*lines, *_format_held_files(paths)]


def _format_held_files(paths: ReportPaths | None) -> list[str]:
    """Return the notes on files that hold records or outputs, if there are any."""
    from dpaudit.store.keeping import where_stored

    return format_private_files(where_stored(), [] if paths is None else list(paths.all))
