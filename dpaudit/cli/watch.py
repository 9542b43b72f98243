"""``dpaudit audit --watch``: reads a stream, bets, and reports changes.

Everything that has come is bet on at once, and no line waits for others: a refutation ends the
watch while the mechanism still runs.
"""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from decimal import ROUND_FLOOR
from io import BufferedReader
from pathlib import Path
from typing import Any

import dpaudit.cli.streams as streams
from dpaudit.auditing.estimators.sequential import evidence_of
from dpaudit.auditing.outcome.error_budget import whole_report
from dpaudit.auditing.outcome.result import format_verdict_reason
from dpaudit.auditing.samples.stream import StreamWatch, read_numbered_lines
from dpaudit.cli.console import make_console, verdict_lines
from dpaudit.cli.ending import collect_failures, one_line, print_error
from dpaudit.cli.formats import show_format, write_formats
from dpaudit.cli.output import OutputOptions, print_lines
from dpaudit.errors import DataError, DpauditError, InvalidArgument
from dpaudit.estimation.sequential.game import BettingTarget
from dpaudit.extension.setting_table import Door, names_of
from dpaudit.extension.settings import Settings
from dpaudit.files import prepare_directory
from dpaudit.neighbours import Side
from dpaudit.report.counts import WealthPath
from dpaudit.report.document import Result, write_report
from dpaudit.report.entries import entries_of
from dpaudit.report.formatting import format_integer, format_significant
from dpaudit.report.schema import BudgetEntry, Claimed, Environment, Measured
from dpaudit.verdicts import judge_claimed_number

_CHUNK = 2**16
_TAKES = names_of(door=Door.STREAM)


def run(source: str, overrides: Mapping[str, Any], output: OutputOptions) -> int:
    """Watch a file, or standard input for ``-``; return 1 as soon as the claim is refuted.

    The result is shown, and written with ``--out``, however the watch ends: at the end of the
    stream, by an interrupt, or at a line that cannot be read.

    Raises
    ------
    InvalidArgument
        An option means nothing to a stream.
    DataError
        The stream cannot be read, a line is malformed, or it holds no output of one side.
    """
    given = {name: value for name, value in overrides.items() if name != "show_records"}
    for name, value in given.items():
        if name not in _TAKES:
            raise InvalidArgument(name, value, "nothing with --watch, which reads outputs only")
    # Other doors have a delta of their own by default. A stream states a claim of its user,
    # which is pure unless delta is given.
    settings, began = Settings(**{"delta": 0.0, **given}), time.monotonic()
    target = BettingTarget(settings.epsilon, settings.delta, 1 - settings.confidence)
    watch = StreamWatch(target, settings.distinguisher, settings.seed)
    if output.directory is not None:
        prepare_directory(output.directory)
    failure: BaseException | None = None
    try:
        with one_line(), _open_watched_source(source) as stream:
            _watch_stream(watch, stream, source, output)
    except (DpauditError, KeyboardInterrupt) as error:
        failure = error
    failures = list[DpauditError]()
    if watch.bettor.pairs:
        with collect_failures(failures):
            _report_watch(watch, settings, source, output, time.monotonic() - began)
    if failure is not None:
        for one in failures:
            print_error(one)
        raise failure
    if failures:
        raise failures[0]
    if not watch.bettor.pairs:
        raise DataError(f"{_format_source_name(source)}: {_format_missing_outputs(watch)}")
    return int(watch.bettor.refuted_after > 0)


@contextmanager
def _open_watched_source(source: str) -> Iterator[BufferedReader]:
    if source == "-":
        if sys.stdin is None:
            raise DataError("standard input: is closed, expected outputs, or the name of a file")
        yield sys.stdin.buffer  # type: ignore[misc]  # a BufferedReader wherever it is a stream
        return
    try:
        file = open(source, "rb")
    except OSError as error:
        reason = f"cannot be read ({error.strerror}), expected a file of outputs, or -"
        raise DataError(f"{source}: {reason}") from None
    with file:
        yield file


def _watch_stream(
    watch: StreamWatch, stream: BufferedReader, source: str, output: OutputOptions
) -> None:
    """Bet on a stream until the claim falls or the stream ends; report changes."""
    said = (0.0, 0.0)
    for lines in read_numbered_lines(_read_chunks(stream, source)):
        try:
            fallen = watch.take(lines)
        except DataError as error:
            # A line that cannot be read after the claim has fallen changes nothing: wealth that
            # once reached the limit refutes for good.
            fallen = watch.bettor.refuted_after > 0
            if not fallen:
                raise DataError(f"{_format_source_name(source)}: {error}") from None
        said = _say_change(watch, said, output)
        if fallen:
            return


def _read_chunks(stream: BufferedReader, source: str) -> Iterator[bytes]:
    try:
        # `read1` returns what is there, where `read` would wait until a chunk is full, and with
        # it the first bet.
        yield from iter(lambda: stream.read1(_CHUNK), b"")
    except OSError as error:
        raise DataError(
            f"{_format_source_name(source)}: cannot be read on ({error.strerror})"
        ) from None


def _say_change(
    watch: StreamWatch, said: tuple[float, float], output: OutputOptions
) -> tuple[float, float]:
    """Report a risen lower bound, or wealth that doubled or halved; return these numbers."""
    bettor = watch.bettor
    now = (bettor.lower, bettor.log_wealth)
    if now[0] <= said[0] and abs(now[1] - said[1]) < math.log(2):
        return said
    if output.formats.shown is None and not output.quiet:
        lower = format_significant(now[0], rounding=ROUND_FLOOR)
        streams.write_now(
            f"{format_integer(bettor.pairs)} pairs: wealth "
            # The exponential of a double overflows beyond 709.
            f"{format_significant(math.exp(min(now[1], 700)), 3)} of "
            f"{format_significant(1 / bettor.target.alpha, 6)}, epsilon at least {lower}"
        )
    return now


def _report_watch(
    watch: StreamWatch, settings: Settings, source: str, output: OutputOptions, seconds: float
) -> None:
    report = whole_report(
        [_make_watch_result(watch, settings, source)], Environment.of_this_machine(1, seconds)
    )
    failures, said = list[DpauditError](), list[str]()
    if output.directory is not None:
        with collect_failures(failures):
            said.append(f"Report: {write_report(report, output.directory).html}")
    formats, document = output.formats, report.model_dump_json(indent=2)
    entries = entries_of(report, [("watched stream", report.results[0], None, None)], Path.cwd())
    if formats.files:
        with collect_failures(failures):
            write_formats(formats, entries, document)
    if output.drawing is not None:
        with collect_failures(failures):
            output.drawing.draw_results(report.results)
    if formats.shown is not None:
        show_format(formats.shown, entries, document)
    else:
        for part in verdict_lines(report.results):
            make_console().print(part)
        print_lines(said, output)
    if failures:
        raise failures[0]


def _make_watch_result(watch: StreamWatch, settings: Settings, source: str) -> Result:
    evidence = evidence_of(watch.bettor, [one.name for one in watch.distinguishers], None)
    verdict = judge_claimed_number(settings.epsilon, evidence.lower)
    wealth, cap = evidence.wealth, evidence.cap
    said = format_verdict_reason("epsilon", settings.epsilon, evidence.lower, verdict, cap=cap)
    return Result(
        claim="watched stream",
        kind="privacy",
        statement=f"the mechanism is ({settings.epsilon:g}, {settings.delta:g})-DP",
        source="the command line",
        verdict=verdict,
        reason=f"{said} {evidence.remark}",
        claimed=Claimed(epsilon=settings.epsilon, delta=settings.delta),
        proved=None,
        measured=Measured(
            lower=evidence.lower,
            upper=None,
            confidence=settings.confidence,
            estimator=evidence.estimator,
            upper_note=evidence.upper_note,
            cap=cap,
        ),
        trials=watch.bettor.pairs,
        seed=settings.seed,
        view=watch.view,
        relation="as fed",
        pair="the two datasets that the stream names",
        data=f"outputs from {_format_source_name(source)}",
        parameters={},
        assumptions=[],
        self_checks=[],
        budget=[BudgetEntry(purpose=p, alpha=a) for p, a in evidence.budget.items()],
        wealth=None if wealth is None else WealthPath(**asdict(wealth)),
        notes=[*evidence.notes, _format_unmatched_outputs(watch), _TRUST],
        counts=evidence.counts | _count_watched_outputs(watch),
        rerun=_format_watch_command(settings, source),
    )


def _format_source_name(source: str) -> str:
    return "standard input" if source == "-" else source


def _format_watch_command(settings: Settings, source: str) -> str:
    words = ["dpaudit", "audit", "--watch", source]
    for name in _TAKES:
        value = getattr(settings, name)
        words += [] if value is None else [f"--{name}", str(value)]
    return shlex.join(words)


_TRUST = (
    "This rests on the stream: that its lines are independent outputs of one mechanism on two "
    "fixed neighbouring datasets, each labelled with its dataset."
)


def _count_watched_outputs(watch: StreamWatch) -> dict[str, int]:
    return {
        "outputs of the dataset": watch.outputs[Side.DATASET],
        "outputs of the neighbour": watch.outputs[Side.NEIGHBOUR],
    }


def _format_unmatched_outputs(watch: StreamWatch) -> str:
    dropped = f", {format_integer(watch.left_out)} were left out" if watch.left_out else ""
    return f"{format_integer(watch.waiting)} outputs of one side still wait for the other{dropped}."


def _format_missing_outputs(watch: StreamWatch) -> str:
    if not any(watch.outputs.values()):
        return "an empty stream, expected lines such as dataset,0.5"
    if all(watch.outputs.values()):
        return f"fewer than {watch.least} outputs of one side, expected as many of each or more"
    missing = next(side for side, seen in watch.outputs.items() if not seen)
    return f"no output of the {missing.value}, expected outputs of both sides"
