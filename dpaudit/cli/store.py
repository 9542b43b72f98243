"""``dpaudit store``, ``resume`` and ``merge``: what was kept, and going on from it.

None of them imports code that a file names: code of the user's own is named on the command line.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import dpaudit.cli.ending as ending
from dpaudit.cli.console import console
from dpaudit.cli.storing import FILE, without_places
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.text import one_line

if TYPE_CHECKING:
    from dpaudit.store.catalogue import Entry
    from dpaudit.store.file import Store

store = typer.Typer(help="What audits have kept.", no_args_is_help=True)
Place = Annotated[str | None, typer.Argument(help="A report's folder, or a store.")]
Number = Annotated[int, typer.Argument(help="Of the audit, as store ls has it.")]
_LOOKS = re.compile(r"\d+:[\d.e-]+(,\d+:[\d.e-]+)*")
_COMMANDS = ("audit", "attack", "selftest")


def _opened(place: str | None) -> Store:
    from dpaudit.store.cache import usual_path
    from dpaudit.store.file import Store

    path = usual_path() if place is None else Path(place)
    if path is None:
        raise InvalidArgument("store", Shown("nothing"), "a folder or a file")
    return Store(path / FILE if path.is_dir() else path, must_exist=True)


def ls(place: Place = None) -> None:
    """List the audits that a store keeps."""
    from dpaudit.store.catalogue import entries

    with _opened(place) as opened:
        found = entries(opened)
    if not found:
        console().print("It keeps no audits.")
    for one in found:
        state = "ended" if one.ended else f"{one.units} of {one.planned} units so far"
        size = f"{one.size / 2**20:.1f} MiB, {one.seconds:.0f} s"
        line = f"{one.number}  {one_line(one.name)}: {state}, {size}, begun {one_line(one.began)}"
        console().print(line, soft_wrap=True, markup=False)


def show(place: Annotated[str, typer.Argument()], number: Number) -> None:
    """Show what a store keeps of an audit: its command, its machine, its stages."""
    from dpaudit.store.catalogue import stages

    with _opened(place) as opened:
        entry = _entry(opened, number)
        found = stages(opened, number)
    lines = [
        one_line(entry.name),
        f"dpaudit {one_line(shlex.join(entry.command))}",
        "Begun on " + one_line(", ".join(f"{k} {v}" for k, v in entry.machine.items())),
        *(f"  {one_line(s.name)}: {s.trials} trials, {s.kept} of {s.units} units" for s in found),
    ]
    for line in lines:
        console().print(line, soft_wrap=True, markup=False)


def _entry(opened: Store, number: int) -> Entry:
    from dpaudit.store.catalogue import entries

    found = {one.number: one for one in entries(opened)}
    if number not in found:
        raise InvalidArgument("number", number, f"one of {sorted(found)}")
    return found[number]


def prune(
    place: Annotated[str, typer.Argument()],
    everything: Annotated[bool, typer.Option("--all", help="Those that did not end too.")] = False,
) -> None:
    """Forget the audits that ended; the file becomes smaller."""
    from dpaudit.store.catalogue import prune as forget

    with _opened(place) as opened:
        gone = forget(opened, all_of=everything)
    console().print(f"Forgotten: {gone} audit{'s' if gone != 1 else ''}.")


def export(
    place: Annotated[str, typer.Argument()],
    number: Number,
    file: Annotated[str, typer.Argument(help="Ends in .parquet or .csv.")],
) -> None:
    """Write what is kept of an audit as a table."""
    from dpaudit.store.catalogue import export as write

    with _opened(place) as opened:
        _entry(opened, number)
        rows = write(opened, number, Path(file))
    console().print(f"Written: {one_line(file)} ({rows} rows)", soft_wrap=True, markup=False)


for _command in (ls, show, prune, export):
    store.command(_command.__name__)(ending.carried(_command))


def resume(
    place: Annotated[str, typer.Argument(help="The folder of a report, or a store.")],
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Code of yours that the audit runs: module:function, or its file."),
    ] = None,
) -> int:
    """Go on with the command that was interrupted, or repeat it from what was kept.

    Exit status: that of the command.
    """
    from dpaudit.cli.main import carried_out
    from dpaudit.store.catalogue import entries

    with _opened(place) as opened:
        found, path = entries(opened), opened.path
    if not found:
        raise InvalidArgument("resume", place, "a store that keeps an audit")
    chosen = next((one for one in reversed(found) if one.ended is None), found[-1])
    words = without_places(_allowed(chosen.command, targets or []))
    out = ["--out", place] if Path(place).is_dir() else []
    return carried_out([*words, *out, "--store", str(path)])


def _allowed(words: tuple[str, ...], targets: list[str]) -> list[str]:
    """Return the words of a command; refuse code that the user did not name."""
    if not words or words[0] not in _COMMANDS:
        raise InvalidArgument("resume", Shown(shlex.join(words)), f"one of {', '.join(_COMMANDS)}")
    code = [word for word in words[1:] if _may_be_code(word)]
    if unnamed := [word for word in code if word not in targets]:
        expected = f"the code it runs named too, if you trust it: {shlex.join(unnamed)}"
        raise InvalidArgument("resume", Shown(shlex.join(targets) or "nothing"), expected)
    if unknown := [word for word in targets if word not in code]:
        given = shlex.join(unknown)
        raise InvalidArgument("resume", given, f"code that the command runs: {shlex.join(code)}")
    return list(words)


def _may_be_code(word: str) -> bool:
    return word.endswith(".toml") or (":" in word and not _LOOKS.fullmatch(word))


def merge(
    stores: Annotated[list[str], typer.Argument(help="Stores, or folders of reports.")],
    into: Annotated[str, typer.Option("--into", metavar="FILE", help="The store to write.")],
) -> None:
    """Put what several stores keep into one; the command of the audit then goes on from it."""
    from dpaudit.store.catalogue import entries
    from dpaudit.store.catalogue import merge as put_together
    from dpaudit.store.file import Store

    others = [_opened(one) for one in stores]
    with Store(into) as target:
        audits, results = put_together(target, others)
        found = entries(target)
    for other in others:
        other.close()
    console().print(f"Merged: {audits} new audits, {results} new results of units.")
    for one in found:
        if one.ended is None:
            said = f"{one_line(one.name)}: {one.units} of {one.planned} units so far. Go on with"
            console().print(said, soft_wrap=True, markup=False)
            words = f"  dpaudit {one_line(shlex.join(one.command))} --store {shlex.quote(into)}"
            console().print(words, soft_wrap=True, markup=False)
