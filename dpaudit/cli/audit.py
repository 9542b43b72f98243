"""``dpaudit audit``: audits one after the other, shown and written as a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.asking as asking
import dpaudit.cli.completion as completion
from dpaudit.cli.accepting import Acceptances, acceptances_of
from dpaudit.cli.audited_code import ROWS
from dpaudit.cli.backend_options import BackendName, Scheduler, Shard, executor_for
from dpaudit.cli.batch import Batch
from dpaudit.cli.ending import ShowRecords, Traceback
from dpaudit.cli.formats import Format, Formats, formats_of
from dpaudit.cli.options import MACHINE, Json, Quiet, folder_option, integer_option, reference_of
from dpaudit.cli.output import OutputOptions, resolve_worker_count
from dpaudit.cli.pictures import Picture, PictureWidth, drawing_of
from dpaudit.cli.setting_options import takes, values_of
from dpaudit.cli.storing import NoStore, Store, resolve_storing, store_draws
from dpaudit.errors import InvalidArgument, UnknownName, VerbatimText
from dpaudit.extension.setting_table import (
    AcceptanceSettings,
    AuditSettings,
    Door,
    ProcessSettings,
    names_of,
    row_of,
    rows_of,
)
from dpaudit.redaction import are_shown

if TYPE_CHECKING:
    from dpaudit.auditing.repeat.plan import CommandPlan
    from dpaudit.auditing.run import PreparedAudit
    from dpaudit.auditing.samples.output_audit import PreparedOutputs
    from dpaudit.auditing.specification.audits_file import Specification
    from dpaudit.cli.description import AuditCommand
    from dpaudit.execution import Executor
    from dpaudit.extension.settings import Settings
    from dpaudit.mechanisms.foreign.isolation import Isolation
    from dpaudit.report.entries import SourceLine
    from dpaudit.report.schema import Result
    from dpaudit.store.keeping import Storing


_ROWS = rows_of(door=Door.COMMAND)


@takes(_ROWS)
def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Claims by name, TOML files that specify audits, or module:function.",
            autocompletion=completion.complete_targets,
        ),
    ] = None,
    watch: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="Instead of targets: outputs to bet on, as lines DATASET|NEIGHBOUR,NUMBER,... or "
            'as JSON: {"dataset": ...}.',
        ),
    ] = None,
    outputs: Annotated[
        bool,
        typer.Option(
            "--outputs",
            help="The targets are files of outputs on two datasets, one output a line: two files, "
            "or one file with a column named dataset.",
        ),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Audit every installed claim, with a report for each in --out (reports)."
        ),
    ] = False,
    workers: Annotated[
        int | None,
        integer_option(
            "--workers", "Worker processes (every core); no number depends on it.", MACHINE
        ),
    ] = None,
    out: Annotated[str | None, folder_option("Write the report into this directory.")] = None,
    backend: BackendName = None,
    scheduler: Scheduler = None,
    shard: Shard = None,
    store: Store = None,
    no_store: NoStore = False,
    formats: Format = None,
    picture: Picture = None,
    picture_width: PictureWidth = None,
    as_json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
    **given: Any,
) -> int:
    """Audit claims, or mechanisms of your own, and say which claims are refuted.

    A target is the name of a claim, a file of audits (.toml), or module:function (or
    file.py:function), a mechanism of your own, with --dataset, --neighbour and --epsilon. With
    --outputs the targets are files of outputs that were drawn elsewhere.

    Exit status: 0 if no claim is refuted, 1 if one is and no baseline accepts it, 2 if a verdict
    is missing.
    """
    values = values_of(_ROWS, given)
    # Accepted refutations are taken out first, so that they are no settings of an audit: they
    # change the exit status and no number.
    accepted = {n: values.pop(n) for n in names_of(AcceptanceSettings) if n in values}
    elsewhere = {"backend": backend, "scheduler": scheduler, "shard": shard}
    if every and picture is not None:
        raise InvalidArgument("--picture", picture, "nothing with --all, whose reports hold theirs")
    output = OutputOptions(
        directory=out,
        formats=formats_of(formats, as_json),
        drawing=drawing_of(picture, picture_width),
        quiet=quiet,
    )
    if watch is not None:
        if every or targets or outputs:
            raise InvalidArgument("watch", watch, "no targets and no --all: the stream is audited")
        if workers is not None:
            raise InvalidArgument("workers", workers, "nothing with --watch, which uses one core")
        beside = {**accepted, **elsewhere, "store": store}
        return _audit_stream(watch, values, beside, output, show_records=show_records)
    _require_one_kind_of_target(targets, every, values)
    if targets and not outputs and asking.are_data(targets):
        outputs = asking.are_outputs(targets, values.get("epsilon"))
    if every:
        _refuse_beside_all(accepted, outputs, values, elsewhere)
    from dpaudit.cli.description import AuditCommand

    command = {"targets": targets or [], "every": every, "outputs": outputs}
    described = AuditCommand.of({**command, **values})
    folder = (out or "reports") if every else out
    kept = resolve_storing(store, no_store, folder, described.document(), shard)
    executor = executor_for(backend, scheduler, shard, resolve_worker_count(workers))
    return carry_out(described, kept, output, executor, acceptances_of(accepted))


def _audit_stream(
    watch: str,
    values: Mapping[str, Any],
    beside: Mapping[str, Any],
    output: OutputOptions,
    *,
    show_records: bool,
) -> int:
    """Audit a stream, which takes the settings of an audit and nothing beside them."""
    from dpaudit.cli import watch as stream

    settings = {name: values[name] for name in names_of(AuditSettings) if name in values}
    flags = {_format_flag(name): one for name, one in beside.items()}
    own = {row_of(name).flag: one for name, one in values.items() if name not in settings}
    _refuse_beside_watch({**flags, **own})
    shown = {"show_records": True} if show_records else {}
    return stream.run(watch, {**settings, **shown}, output)


def _refuse_beside_watch(given: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing to a stream: it is read once, here, and kept nowhere."""
    for flag, value in given.items():
        if value is not None:
            raise InvalidArgument(flag, value, "nothing with --watch, which reads outputs only")


def _require_one_kind_of_target(
    targets: list[str] | None, every: bool, values: Mapping[str, Any]
) -> None:
    """Refuse a command line that names no target, or targets of two kinds."""
    outside = _get_outside_flags(values)
    if outside and (every or targets):
        raise InvalidArgument("targets", targets or "--all", f"none beside {outside[0]}")
    if not outside and every == bool(targets):
        raise InvalidArgument("targets", targets or [], "names of claims or files, or else --all")


def _refuse_beside_all(
    accepted: Mapping[str, Any],
    outputs: bool,
    values: Mapping[str, Any],
    elsewhere: Mapping[str, Any],
) -> None:
    """Refuse options that mean nothing to an audit of all claims, some of which are searched."""
    for name, value in accepted.items():
        expected = "nothing with --all: of audits that are named"
        raise InvalidArgument(_format_flag(name), value, expected)
    if outputs:
        raise InvalidArgument("--outputs", VerbatimText("--all"), "files of outputs")
    for name in ("time", "looks"):
        if name in values:
            expected = "nothing with --all: some claims are searched"
            raise InvalidArgument("time", values[name], expected)
    for name, value in elsewhere.items():
        if value is not None:
            raise InvalidArgument(
                name, value, "nothing with --all, whose audits share this machine"
            )


def _format_flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def carry_out(
    described: AuditCommand,
    where: Storing | None,
    output: OutputOptions,
    executor: Executor,
    acceptances: Acceptances,
) -> int:
    """Carry out a command that is described, and return the exit status."""
    overrides = described.overrides | ({"show_records": True} if are_shown() else {})
    if described.every:
        from dpaudit.cli import publish

        return publish.run(overrides, executor.workers, output, where)
    isolation = isolation_of(described.processes)
    if described.outputs:
        from dpaudit.cli.outputs import run_outputs

        with store_draws(where):
            return run_outputs(described, overrides, executor, output, acceptances)
    with store_draws(where):
        named = list(map(reference_of, described.targets))
        return run(named, overrides, executor, output, isolation, described.own, acceptances)


def isolation_of(asked: ProcessSettings) -> Isolation:
    """Return the isolation that options ask for."""
    from dpaudit.execution.processes import Limits
    from dpaudit.mechanisms.foreign.isolation import Isolation

    memory = asked.memory
    # Written so that NaN is refused as well.
    if memory is not None and not memory >= 1:
        raise InvalidArgument("memory", memory, "at least 1 MiB")
    size = None if memory is None else int(memory * 2**20)
    return Isolation(in_process=asked.in_process, limits=Limits(timeout=asked.timeout, memory=size))


def run(
    targets: list[str],
    overrides: dict[str, Any],
    executor: Executor,
    output: OutputOptions,
    isolation: Isolation,
    own: Mapping[str, Any] | None = None,
    acceptances: Acceptances | None = None,
) -> int:
    """Run every audit and return the exit status.

    All targets are read and prepared before the first audit starts, and share the error
    probability of the report. One that fails, then or later, is named and the others run. With
    --out the report is written whenever an audit ends.

    Raises
    ------
    UnknownName, DataError, InvalidArgument
        A target is no claim or file of audits, or an option is wrong; nothing has run.
    KeyboardInterrupt
        Somebody stopped it; what had ended is shown and written.
    """
    from dpaudit.auditing.repeat.plan import CommandPlan
    from dpaudit.files import prepare_directory

    own = own or {}
    plan = CommandPlan({**overrides, **own}, tuple(targets))
    subjects: Sequence[str | None] = [None] if _get_outside_flags(own) else targets
    if own and not any(map(_is_own, subjects)):
        expected = "nothing: it is of a target module:function, and there is none"
        raise InvalidArgument(f"--{next(iter(own))}", next(iter(own.values())), expected)
    asked = [
        audit
        for target in subjects
        for audit in _resolve_target_audits(target, overrides, plan, isolation, own)
    ]
    batch = Batch(
        names=[one.name for one in asked],
        # The place of a mechanism is found by reading its source, which only other tools'
        # formats need.
        places=[one.where() for one in asked] if output.formats != Formats() else [],
        replays=[one.replay for one in asked],
        named=[one.named for one in asked],
        baselines=[(acceptances or Acceptances()).of_audit(one.baseline) for one in asked],
        executor=executor,
        output=output,
    )
    # The error probability is shared out among the audits that can run, and before the first
    # one draws: a share that depended on results would be no share.
    ready = _split_audit_confidence(asked, _prepare_audits(asked, batch))
    if output.directory is not None and ready:
        prepare_directory(output.directory)
    return batch.run(ready)


@dataclass(frozen=True)
class AuditRequest:
    """A requested audit: its name, its preparation, and whether it sets its own confidence.

    A file may say at what confidence one of its audits has to hold, and which ``baseline`` it has.
    ``where`` finds its place in the source, and ``named`` are the settings that name what it is of.
    """

    name: str
    prepare: Callable[[], PreparedAudit | PreparedOutputs]
    own_confidence: bool = False
    where: Callable[[], SourceLine | None] = lambda: None
    replay: Callable[[Result], str | None] = lambda _: None
    baseline: Path | None = None
    named: Mapping[str, Any] = field(default_factory=dict)


def _resolve_target_audits(
    target: str | None,
    overrides: dict[str, Any],
    plan: CommandPlan,
    isolation: Isolation,
    own: Mapping[str, Any],
) -> list[AuditRequest]:
    """Return the audits of a target, without a look at their contents yet.

    Where options name what is audited, there is none.
    """
    import dpaudit.auditing.specification.audits_file as audits_file
    from dpaudit.extension.settings import Settings

    path = Path(target or "")
    if target is None or _is_own(target):
        # Names on the command line are relative to the current folder, as names in a file are
        # relative to the file; a file that is not there gives the folder.
        path = Path.cwd() / audits_file.COMMAND_LINE
        specified: list[Specification] = [
            audits_file.of_command_line(target, own, overrides.get("epsilon"))
        ]
    elif target.endswith(".toml"):
        specified = audits_file.read_specification(path)
    else:
        return [_make_claim_request(target, Settings(**overrides))]
    return [
        replace(
            _make_specified_request(one, path, overrides, plan, isolation),
            where=partial(_find_audit_line, one, path, None if _is_own(target) else number),
            replay=partial(_format_replay_command, target, {**overrides, **own}),
            baseline=audits_file.baseline_of(one, path),
            named=_get_named_settings(one, path),
        )
        for number, one in enumerate(specified)
    ]


def _format_replay_command(
    target: str | None, given: Mapping[str, Any], result: Result
) -> str | None:
    """Return the command that replays a refuted mechanism of one's own; None where none can."""
    from dpaudit.auditing.repeat.plan import replay_command

    epsilon, claimed = result.claimed.epsilon, result.verdict == "refuted"
    if target is None or not _is_own(target) or epsilon is None or not claimed:
        return None
    return replay_command(target, {**given, "epsilon": epsilon, "delta": result.claimed.delta})


def _get_named_settings(one: Specification, path: Path) -> dict[str, Any]:
    """Return the settings that name the audited code and data, with files named as from here."""
    import dpaudit.auditing.specification.audit_tables as audit_tables

    if not isinstance(one, audit_tables.MechanismAudit) or path.resolve().parent != Path.cwd():
        return {}
    given = {row.name: getattr(one.own, row.name) for row in ROWS}
    files = {name: given.pop(name) for name in ("dataset", "neighbour")}
    named = {name: file for name, file in files.items() if isinstance(file, str)}
    return {"mechanism": one.mechanism, **given, **named}


def _find_audit_line(one: Specification, path: Path, number: int | None) -> SourceLine | None:
    """Return the line of the mechanism of an audit, or else of its table in the file."""
    import dpaudit.auditing.specification.audit_tables as audit_tables
    import dpaudit.auditing.specification.source_places as source_places

    found = None
    if isinstance(one, audit_tables.MechanismAudit) and one.mechanism is not None:
        found = source_places.place_of(one.mechanism, path.resolve().parent)
    return found if found is not None or number is None else source_places.table_of(path, number)


def _is_own(target: str | None) -> bool:
    """Return whether a target is a mechanism of one's own: ``module:object``, or by options."""
    return target is None or (":" in target and not target.endswith(".toml"))


def _get_outside_flags(given: Mapping[str, Any]) -> list[str]:
    """Return the flags that name a mechanism which is no code of Python."""
    from dpaudit.auditing.specification.audits_file import OUTSIDE

    return [row_of(name).flag for name in OUTSIDE if name in given]


def _make_claim_request(
    name: str, settings: Settings, own_confidence: bool = False
) -> AuditRequest:
    from dpaudit.auditing.run import prepare_claim
    from dpaudit.extension.registry import CLAIMS

    if name not in CLAIMS:
        raise UnknownName("claim", name, CLAIMS)
    return AuditRequest(name, partial(prepare_claim, name, settings), own_confidence)


def _make_specified_request(
    specified: Specification,
    path: Path,
    overrides: dict[str, Any],
    plan: CommandPlan,
    isolation: Isolation,
) -> AuditRequest:
    import dpaudit.auditing.specification.audit_tables as audit_tables
    import dpaudit.auditing.specification.audits_file as audits_file
    from dpaudit.auditing.samples.output_audit import OutputsAudit

    if isinstance(specified, OutputsAudit):
        ready = partial(specified.prepared, dict(overrides), path, plan)
        # A confidence that the file states is one that the audit has to keep; one from the
        # command line is for all audits together.
        at_own = "confidence" in specified.model_fields_set - overrides.keys()
        return AuditRequest(specified.name or "drawn outputs", ready, at_own)
    settings = audits_file.settings_of(specified, overrides)
    own = "confidence" in specified.settings.keys() - overrides.keys()
    if isinstance(specified, audit_tables.ClaimAudit):
        return _make_claim_request(specified.claim, settings, own)
    given = (specified, settings, path, plan, isolation)
    prepare = partial(audits_file.prepare_mechanism_audit, *given)
    return AuditRequest(specified.name or specified.called, prepare, own)


def _prepare_audits(
    asked: list[AuditRequest], batch: Batch
) -> dict[int, PreparedAudit | PreparedOutputs]:
    """Return by their place the audits that can be prepared; the others have failed."""
    ready = {}
    for place, one in enumerate(asked):
        with batch.attempt(place):
            ready[place] = one.prepare()
    return ready


def _split_audit_confidence(
    asked: list[AuditRequest], ready: dict[int, PreparedAudit | PreparedOutputs]
) -> dict[int, PreparedAudit | PreparedOutputs]:
    """Give every audit its share of the report's error probability."""
    from dpaudit.auditing.outcome.error_budget import Spender, split_error_probability

    spenders = [
        Spender(audit.settings, audit.draws, asked[place].own_confidence)
        for place, audit in ready.items()
    ]
    return {
        place: replace(audit, settings=settings)
        for (place, audit), settings in zip(
            ready.items(), split_error_probability(spenders), strict=True
        )
    }
