"""The store of a command's outputs, and the words that repeat the command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.options import OUTPUT
from dpaudit.escaping import one_line

if TYPE_CHECKING:
    from dpaudit.report.schema import Taken
    from dpaudit.store.keeping import Storing

FILE = "store.sqlite"
Store = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Keep the drawn outputs in this file, to go on after an interruption (in --out, else "
        "in the user's cache, if they take more than a second).",
        rich_help_panel=OUTPUT,
    ),
]
NoStore = Annotated[
    bool,
    typer.Option("--no-store", help="Store none of the drawn outputs.", rich_help_panel=OUTPUT),
]


def resolve_storing(
    store: str | None,
    no_store: bool,
    out: str | None,
    command: Mapping[str, Any],
    shard: str | None = None,
) -> Storing | None:
    """Return the store of a command's outputs, None if it has none; of a share, a file at once.

    What is kept says what the command is, in typed fields, for `dpaudit resume`.

    Raises
    ------
    InvalidArgument
        Both a file and none are asked for, or a share is and no file.
    """
    from dpaudit.errors import InvalidArgument, VerbatimText
    from dpaudit.store.cache import usual_path
    from dpaudit.store.keeping import Storing

    if shard is not None:
        if no_store or (store is None and out is None):
            raise InvalidArgument("shard", shard, "a --store FILE, or --out, that keeps the share")
        return Storing(Path(store or Path(out or "") / FILE), command)

    if no_store:
        if store is not None:
            raise InvalidArgument("store", store, f"{VerbatimText('nothing')} with --no-store")
        return None
    if store is not None:
        return Storing(Path(store), command)
    if out is not None:
        return Storing(Path(out) / FILE, command, at_once=False)
    if (usual := usual_path()) is None:
        return None
    # A cache that nobody asked for is written for slow audits alone, and kept for a limited
    # time, as its outputs may be records.
    return Storing(usual, command, at_once=False, in_the_end=False, for_a_while=True)


def count_taken(where: Storing | None) -> Taken | None:
    """Return the amount taken from a store so far, None if nothing was."""
    from dpaudit.report.schema import Taken

    if where is None or not (where.taken or where.decided):
        return None
    left_out = sorted(where.left_out)
    return Taken(outputs=where.taken, decisions=where.decided, left_out=left_out)


def tell_taken(where: Storing | None) -> None:
    """State how many outputs came from a store and were not drawn again, if any did."""
    from dpaudit.report.formatting import format_taken

    if where is not None and (taken := count_taken(where)) is not None:
        place = one_line(str(where.path))
        streams.write_to_stderr(f"Taken from {place}, and not drawn again: {format_taken(taken)}.")


def format_private_files(where: Storing | None, files: Sequence[Path] = ()) -> list[str]:
    """Return the notes on files that hold records or outputs, a store among them."""
    from dpaudit.redaction import are_shown

    named = list(map(str, files)) if are_shown() else []
    named += [str(where.path)] if where is not None and where.is_open else []
    return [f"Holds records: {', '.join(named)} (mode 0600)"] if named else []


@contextmanager
def store_draws(where: Storing | None) -> Iterator[None]:
    """Keep the draws of the block, and state in the end how many came from the store."""
    from dpaudit.store.keeping import use_storing

    try:
        with use_storing(where):
            yield
    finally:
        tell_taken(where)
