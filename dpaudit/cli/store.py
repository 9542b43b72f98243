"""``dpaudit store``, ``resume`` and ``merge``: stored audits, and their continuation.

None of them imports code that a file names: code of the user's own is named on the command line.
What a store says of a command is typed fields (`dpaudit.cli.description`), and never words.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import dpaudit.cli.attack as attack
import dpaudit.cli.audit as audit
import dpaudit.cli.ending as ending
import dpaudit.cli.selftest as selftest
import dpaudit.cli.streams as streams
from dpaudit.cli.accepting import acceptances_of
from dpaudit.cli.backend_options import BackendName, Scheduler, executor_for
from dpaudit.cli.console import make_console
from dpaudit.cli.ending import ShowRecords, Traceback
from dpaudit.cli.formats import JSON, Format, formats_of
from dpaudit.cli.options import OUTPUT, Json, Quiet, integer_option, reference_of
from dpaudit.cli.pictures import Picture, PictureWidth, drawing_of
from dpaudit.cli.storing import FILE
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.escaping import one_line
from dpaudit.extension.setting_table import row_of

if TYPE_CHECKING:
    from dpaudit.cli.description import AttackCommand, SelftestCommand
    from dpaudit.cli.output import OutputOptions
    from dpaudit.execution import Executor
    from dpaudit.store.catalogue import StoreEntry
    from dpaudit.store.file import Store
    from dpaudit.store.keeping import Storing

store = typer.Typer(
    help="List, show, export or delete the outputs and results that audits stored.",
    invoke_without_command=True,
)
Place = Annotated[str | None, typer.Argument(help="A report's folder, or a store.")]
Kept = Annotated[str, typer.Argument(help="A report's folder, or a store.")]
Number = Annotated[int, typer.Argument(help="The number of the audit, as store ls shows it.")]


def show_help(context: typer.Context) -> None:
    """Show the help of a group of commands where none of them is named, which is no error."""
    if text := context.get_help():  # what typer shows itself leaves nothing
        streams.write_result_text(text)


@store.callback()
def _show_store_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show_help(context)


def _open_store(place: str | None) -> Store:
    from dpaudit.store.cache import usual_path
    from dpaudit.store.file import Store

    path = usual_path() if place is None else Path(place)
    if path is None:
        raise InvalidArgument("store", VerbatimText("nothing"), "a folder or a file")
    return Store(path / FILE if path.is_dir() else path, must_exist=True)


def ls(place: Place = None) -> None:
    """List the audits that a store keeps."""
    from dpaudit.store.catalogue import list_store_entries

    with _open_store(place) as opened:
        found = list_store_entries(opened)
    if not found:
        make_console().print("It keeps no audits.")
    for one in found:
        state = "ended" if one.ended else f"{one.units} of {one.planned} units so far"
        size = f"{one.size / 2**20:.1f} MiB, {one.seconds:.0f} s"
        line = f"{one.number}  {one_line(one.name)}: {state}, {size}, begun {one_line(one.began)}"
        make_console().print(line, soft_wrap=True, markup=False)


def show(place: Kept, number: Number) -> None:
    """Show a stored audit: its command, its machine, its stages."""
    from dpaudit.store.catalogue import list_audit_stages

    with _open_store(place) as opened:
        entry = _find_store_entry(opened, number)
        found = list_audit_stages(opened, number)
    lines = [
        one_line(entry.name),
        _format_command_line(entry, opened.path),
        "Begun on " + one_line(", ".join(f"{k} {v}" for k, v in entry.machine.items())),
        *(f"  {one_line(s.name)}: {s.trials} outputs, {s.kept} of {s.units} units" for s in found),
    ]
    for line in lines:
        make_console().print(line, soft_wrap=True, markup=False)


def _format_command_line(entry: StoreEntry, path: Path) -> str:
    """Return the command line of an audit, or that nobody knows it."""
    from dpaudit.cli.description import read_command
    from dpaudit.errors import DataError

    try:
        # The line is made anew from checked fields. A store that held a line of text could show
        # a command that whoever copies it did not expect.
        return one_line(read_command(entry.command, path).line)
    except DataError:
        return "a command that was begun in Python or is no such thing"


def _find_store_entry(opened: Store, number: int) -> StoreEntry:
    from dpaudit.store.catalogue import list_store_entries

    found = {one.number: one for one in list_store_entries(opened)}
    if number not in found:
        raise InvalidArgument("number", number, f"one of {sorted(found)}")
    return found[number]


def prune(
    place: Kept,
    everything: Annotated[
        bool, typer.Option("--all", help="Also delete audits that did not end.")
    ] = False,
) -> None:
    """Delete the audits that have ended; the file becomes smaller."""
    from dpaudit.store.catalogue import remove_ended_audits

    with _open_store(place) as opened:
        gone = remove_ended_audits(opened, all_of=everything)
    make_console().print(f"Deleted: {gone} audit{'s' if gone != 1 else ''}.")


def export(
    place: Kept,
    number: Number,
    file: Annotated[str, typer.Argument(help="The table to write, in .parquet or .csv.")],
) -> None:
    """Write a stored audit as a table."""
    from dpaudit.store.catalogue import export_audit_table

    with _open_store(place) as opened:
        _find_store_entry(opened, number)
        rows = export_audit_table(opened, number, Path(file))
    make_console().print(f"Written: {one_line(file)} ({rows} rows)", soft_wrap=True, markup=False)


for _command in (ls, show, prune, export):
    store.command(_command.__name__)(ending.convert_raised_errors(_command))


def resume(
    place: Annotated[str, typer.Argument(help="The folder of a report, or a store.")],
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Code of yours that the audit runs: module:function, or its file."),
    ] = None,
    workers: Annotated[
        int | None,
        integer_option("--workers", "Worker processes (every core); no number depends on it."),
    ] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Needed for an audit that was begun with it.")
    ] = False,
    backend: BackendName = None,
    scheduler: Scheduler = None,
    formats: Format = None,
    picture: Picture = None,
    picture_width: PictureWidth = None,
    as_json: Json = False,
    quiet: Quiet = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", metavar="FILE", help=row_of("baseline").help, rich_help_panel=OUTPUT
        ),
    ] = None,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
) -> int:
    """Go on with an interrupted command, or repeat one from its store.

    The store knows all computed results. Options say where results go, which machines compute,
    which refutations are accepted, and whether records are shown.

    Exit status: that of the command.
    """
    from dpaudit.cli.description import AuditCommand, read_command
    from dpaudit.cli.output import OutputOptions, resolve_worker_count
    from dpaudit.store.catalogue import list_store_entries
    from dpaudit.store.keeping import Storing

    with _open_store(place) as opened:
        found, path = list_store_entries(opened), opened.path
    if not found:
        raise InvalidArgument("resume", place, "a store that keeps an audit")
    chosen = next((one for one in reversed(found) if one.ended is None), found[-1])
    command = read_command(chosen.command, path)
    # Whoever can write to a store must not choose what code runs: the user names it again.
    _require_named(command.code, targets or [])
    out = place if Path(place).is_dir() else None
    if picture is not None and (not isinstance(command, AuditCommand) or command.every):
        raise InvalidArgument("--picture", picture, "nothing: no audit that is named is resumed")
    output = OutputOptions(
        directory=out,
        formats=formats_of(formats, as_json),
        drawing=drawing_of(picture, picture_width),
        quiet=quiet,
    )
    executor = executor_for(backend, scheduler, None, resolve_worker_count(workers))
    where = Storing(path, command.document())
    if baseline is not None and (not isinstance(command, AuditCommand) or command.every):
        raise InvalidArgument("baseline", baseline, "nothing: no audit that is named is resumed")
    if not isinstance(command, AuditCommand):
        return _run_stored_command(command, where, output, executor)
    # Without isolation the code runs in this process. A store must not switch that on, and
    # other processes would give other outputs.
    if (begun := command.processes.in_process) != in_process:
        expected = f"{begun}, as this audit was begun; say --in-process if you trust it"
        raise InvalidArgument("in_process", in_process, expected)
    return audit.carry_out(command, where, output, executor, acceptances_of({"baseline": baseline}))


def _run_stored_command(
    command: AttackCommand | SelftestCommand,
    where: Storing,
    output: OutputOptions,
    executor: Executor,
) -> int:
    """Carry out a command that runs no code of the user's, and return its status."""
    if output.formats.shown not in (None, JSON) or output.formats.files:
        expected = f"at most --json: {command.command} has no other option here"
        raise InvalidArgument("resume", VerbatimText("--format"), expected)
    if executor.backend is not None:
        raise InvalidArgument("backend", executor.backend.name, "nothing: this uses one machine")
    out, as_json, quiet = output.directory, output.as_json, output.quiet
    if command.command == "attack":
        given = (command.name, command.parameters, command.seed, out)
        attack.run(*given, as_json=as_json, quiet=quiet, where=where)
        return ending.FINE
    return selftest.run(
        full=command.full,
        seed=command.seed,
        workers=executor.workers,
        out=out,
        as_json=as_json,
        quiet=quiet,
        where=where,
    )


def _require_named(code: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse a command that runs code which the user did not name, or other code than was named."""
    # Both spellings of a function, with its file and as a module, are the same code.
    own, given = {reference_of(one): one for one in code}, set(map(reference_of, targets))
    if unnamed := [word for reference, word in own.items() if reference not in given]:
        expected = (
            f"the code that it runs, also named, if you trust it: "
            f"{shlex.join(map(one_line, unnamed))}"
        )
        raise InvalidArgument("resume", VerbatimText(shlex.join(targets) or "nothing"), expected)
    if unknown := [word for word in targets if reference_of(word) not in own]:
        expected = f"code that the command runs: {shlex.join(map(one_line, code)) or 'none'}"
        raise InvalidArgument("resume", shlex.join(unknown), expected)


def merge(
    stores: Annotated[list[str], typer.Argument(help="Stores, or folders of reports.")],
    into: Annotated[str, typer.Option("--into", metavar="FILE", help="The store to write.")],
) -> None:
    """Merge several stores into one, from which the command of the audit then goes on."""
    from dpaudit.store.catalogue import list_store_entries, merge_stores
    from dpaudit.store.file import Store

    # All stores are opened before the target is made, so that a wrong name leaves no empty
    # file.
    others = [_open_store(one) for one in stores]
    with Store(into) as target:
        merged = merge_stores(target, others)
        found = list_store_entries(target)
    for other in others:
        other.close()
    make_console().print(
        f"Merged: {merged.audits} new audits, {merged.results} new results of units."
    )
    for some in merged.others:
        said = (
            f"{one_line(some.audit)}: {some.store} and {into} disagree on "
            f"{some.count} of their decisions, such as layouts and the outputs that a second "
            f"gives. Those of {into} stand, and outputs that were drawn under the others are not "
            "used: let every share begin with a copy of share 0's store."
        )
        make_console().print(said, soft_wrap=True, markup=False)
    for one in found:
        if one.ended is None:
            said = f"{one_line(one.name)}: {one.units} of {one.planned} units so far. Go on with"
            make_console().print(said, soft_wrap=True, markup=False)
            words = f"  {_format_command_line(one, Path(into))} --store {shlex.quote(into)}"
            make_console().print(words, soft_wrap=True, markup=False)
