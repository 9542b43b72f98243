"""The audited code, as a person who checks it names it: options of ``verify`` and ``sheet``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpaudit.cli.setting_options import values_of
from dpaudit.errors import InvalidArgument
from dpaudit.extension.setting_table import Group, OwnSettings, row_of

if TYPE_CHECKING:
    from dpaudit.mechanisms.foreign.outside import Outside
    from dpaudit.refutation import Certificate

_OF_CODE = ("program", "protocol", "url")
_REQUESTS = ("method", "header", "body", "rate", "patience", "version_header")
_PAIR = ("dataset", "neighbour", "relation")
_READING = ("form", "read", "observe", "ignore", "fresh")
_MEANINGS = {
    "program": "The audited program in place of --mechanism, written as for audit; it runs",
    "url": "The audited service in place of --mechanism, written as for audit; it gets requests",
    "dataset": "The records, .csv, .json or .npy; of a service that holds the data, their name",
    "neighbour": "The neighbour's records, or their name",
}
ROWS = tuple(
    replace(row, meaning=_MEANINGS.get(row.name, row.meaning), left="")
    for row in map(row_of, (*_OF_CODE, *_REQUESTS, *_PAIR, *_READING))
)

Mechanism = Annotated[
    str | None,
    typer.Option(
        help="The module:object (or file.py:object) that was audited; its code runs.",
        rich_help_panel=Group.MECHANISM.value,
    ),
]
Outputs = Annotated[
    list[str] | None,
    typer.Option(help="For an audit of drawn outputs: each of its files, to be counted again."),
]
DataPath = Annotated[
    str | None, typer.Option(help="The folder of a dataset's files (default: $DPAUDIT_DATA).")
]


def read_reader_options(
    mechanism: str | None,
    outputs: Sequence[str] | None,
    data_path: str | None,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the choices of a certificate's reader, by their names there.

    Raises
    ------
    InvalidArgument
        Two things are named at once, or an option is of something that is not named.
    """
    from dpaudit.cli.options import reference_of

    values = values_of(ROWS, dict(given))
    outside = _make_outside(OwnSettings(**values), mechanism)
    named = outside if outside is not None or mechanism is None else reference_of(mechanism)
    found = {
        "mechanism": named,
        "outputs": outputs or None,
        "data_path": data_path,
        **{name: values[name] for name in ("relation", *_READING) if name in values},
        **_load_named_records(values, named),
    }
    return {name: one for name, one in found.items() if one is not None}


def _make_outside(own: OwnSettings, mechanism: str | None) -> Outside | None:
    """Return the program or the service that options name; None where they name none."""
    from dpaudit.auditing.specification.service_settings import refuse_without_url, service_of

    named = {"--mechanism": mechanism, "--command": own.program, "--url": own.url}
    both = [flag for flag, one in named.items() if one is not None]
    if len(both) > 1:
        raise InvalidArgument(both[1], named[both[1]], f"nothing beside {both[0]}")
    if own.protocol is not None and own.program is None:
        raise InvalidArgument("--protocol", own.protocol, "nothing without --command")
    if own.url is not None:
        return service_of(own)
    refuse_without_url(own)
    return None if own.program is None else _make_named_program(own)


def _make_named_program(own: OwnSettings) -> Outside:
    from dpaudit.auditing.specification.audits_file import records_from
    from dpaudit.programs import Program

    found: Outside = Program(own.program or "", protocol=own.protocol, folder=Path.cwd())
    for file in map(Path, filter(None, (own.dataset, own.neighbour))):
        found = found.with_file(records_from(file), file)
    return found


def _load_named_records(values: Mapping[str, Any], named: Any) -> dict[str, Any]:
    """Return the records of the files that are named, or the names of a service's datasets."""
    from dpaudit.auditing.specification.audits_file import records_from

    given = {name: values[name] for name in ("dataset", "neighbour") if name in values}
    if given and named is None:
        name = next(iter(given))
        expected = "nothing without --mechanism, --command or --url"
        raise InvalidArgument(f"--{name}", given[name], expected)
    # A service holds the data itself and takes a name; everything else takes the records of a
    # file.
    if getattr(named, "names_datasets", False):
        return given
    return {name: records_from(Path(file)) for name, file in given.items()}


def add_current_folder_to_path(mechanism: str | None) -> AbstractContextManager[None]:
    """Let a mechanism's module lie in the folder where the command is run."""
    if mechanism is None:
        return nullcontext()
    from dpaudit.execution import importable

    return importable(Path.cwd())


# The command that checks a certificate


def format_verify_command(
    path: Path, certificates: Sequence[Certificate], named: Sequence[Mapping[str, Any]]
) -> str:
    """Return the command that checks certificates again, with the names of audited code and data.

    Parameters
    ----------
    path
        Of their file.
    certificates
        Those of functions, programs and services, and of files of outputs, need more than the file.
    named
        Of each its settings by their names, as far as they are known; else there are placeholders.
    """
    both = list(zip(certificates, named, strict=True))
    own = [one for one in both if one[0].kind == "mechanism"]
    files = [one for one in both if one[0].kind == "outputs"]
    words = [
        "dpaudit",
        "verify",
        str(path),
        *_format_mechanism_options(own),
        *_format_output_file_options(files),
    ]
    return shlex.join(words)


_Named = tuple["Certificate", Mapping[str, Any]]


def _format_mechanism_options(own: Sequence[_Named]) -> list[str]:
    """Return the options that name the mechanisms of certificates, and the datasets if needed."""
    from dpaudit.auditing.repeat.plan import option_words

    if not own:
        return []
    first = own[0][1]
    # One command checks all certificates of a file, and has one mechanism. Where they are about
    # several, its place is left for the reader to fill in.
    given = first if all(one == first for _, one in own) else {}
    held = all({"made", "data"} & one.instance["pair"].keys() for one, _ in own)
    outside = any(given.get(name) is not None for name in ("program", "url"))
    words = [] if outside else ["--mechanism", given.get("mechanism") or "module:object"]
    known = {
        "dataset": "FILE",
        "neighbour": "FILE",
        **_find_metric_relation([one for one, _ in own]),
        **given,
    }
    left_out = ("dataset", "neighbour") if held else ()
    rows = (row for row in ROWS if row.name not in left_out)
    return [*words, *(word for row in rows for word in option_words(row, known.get(row.name)))]


def _find_metric_relation(own: Sequence[Certificate]) -> dict[str, str]:
    """Return the relation of certificates, if it is one distance that all of them have."""
    relations = {one.relation for one in own}
    named = len(relations) == 1 and own[0].relation.startswith("metric:")
    return {"relation": own[0].relation} if named else {}


def _format_output_file_options(own: Sequence[_Named]) -> list[str]:
    """Return the options that name files of outputs."""
    counts = [len(one.instance["sha256"]) for one, _ in own]
    known = own[0][1].get("outputs") if len(own) == 1 else None
    files = known or ["FILE"] * max(counts, default=0)
    return [word for file in files for word in ("--outputs", file)]
