"""``dpaudit views``: who learns how much about whom from a linear recursion."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.console import make_cell, make_console
from dpaudit.cli.ending import FINE, ShowRecords, Traceback
from dpaudit.cli.options import (
    Json,
    folder_option,
    number_option,
    reference_of,
    word_option,
)
from dpaudit.cli.pictures import Picture, PictureWidth, drawing_of
from dpaudit.cli.progress import show_spinner
from dpaudit.cli.setting_options import takes, values_of
from dpaudit.errors import DataError, DpauditError, InvalidArgument
from dpaudit.extension.setting_table import Door, Group, ProcessSettings, names_of, rows_of

if TYPE_CHECKING:
    from dpaudit.affine.report import ViewsReport

_ROWS = rows_of(door=Door.VIEWS)
_SHAPE = (
    "a shape such as 5 or 5,3, the word number, a .csv or .npy file, or NAME= with one of these"
)
_MOST_ROWS = 40
_KEYS = ("function", "private", "observers", "about", "norm", "radius", "delta", "seed")


@takes(_ROWS)
def views(
    target: Annotated[
        str,
        typer.Argument(
            help="The module:function of private data and a generator, which runs; or a TOML file.",
            autocompletion=completion.complete_targets,
        ),
    ],
    private: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]SHAPE",
            help="The shape of the private data: 5, or 5,3, or number, or a .csv or .npy file of "
            "that shape; for a dictionary, again for each of its keys.",
            rich_help_panel=Group.DATA.value,
        ),
    ] = None,
    observers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]WHO,...",
            help="An observer: a key of the returned value, a participant, or several who share "
            "their views (default: each).",
            rich_help_panel=Group.DATA.value,
        ),
    ] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="The data that change: a key or an index of the private data (default: each).",
            rich_help_panel=Group.DATA.value,
        ),
    ] = None,
    norm: Annotated[
        str | None,
        word_option("--norm", "The norm of the change: l2, l1, or box for every number (l2)."),
    ] = None,
    radius: Annotated[
        float | None, number_option("--radius", "The most by which the data change (1).")
    ] = None,
    delta: Annotated[
        float | None, number_option("--delta", "The delta at which epsilon is shown (1e-5).")
    ] = None,
    out: Annotated[
        str | None, folder_option("Write report, picture and certificate into this directory.")
    ] = None,
    picture: Picture = None,
    picture_width: PictureWidth = None,
    as_json: Json = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
    **given: Any,
) -> int:
    """Say who learns how much about whom from code that is linear in data and Gaussian noise.

    The code runs once, on arrays that remember how they depend on data and noise: exact numbers for
    every observer. An operation that is not linear is refused, with its line.
    """
    import dpaudit._check as check
    from dpaudit.cli.audit import isolation_of
    from dpaudit.files import prepare_directory

    options = {
        "private": private,
        "observers": observers,
        "about": about,
        "norm": norm,
        "radius": radius,
        "delta": delta,
    }
    asked = {name: one for name, one in options.items() if one is not None}
    if target.endswith(".toml"):
        stated = _read_views_file(target)
        # Options come after the file, so that they override it.
        asked = stated | asked
        target = str(asked.pop("function"))
    delta = check.require_delta("delta", asked.pop("delta", 1e-5))
    drawing = drawing_of(picture, picture_width)
    if out is not None:
        prepare_directory(out)
    values = values_of(_ROWS, given)
    isolation = isolation_of(
        ProcessSettings(**{one: values[one] for one in names_of(ProcessSettings) if one in values})
    )
    asked |= {"seed": values["seed"]} if "seed" in values else {}
    found = _find_views_report(target, asked, isolation)
    written = [] if out is None else found.save(out, delta)
    if drawing is not None:
        drawing.draw(found)
        written.append(drawing.file)
    if as_json:
        streams.write_result_text(json.dumps(found.document(delta), indent=2))
        return FINE
    for line in _render_views_report(found, delta):
        make_console().print(line, soft_wrap=isinstance(line, Text))
    for path in written:
        make_console().print(Text(str(path)), soft_wrap=True)
    return FINE


def _find_views_report(target: str, asked: dict[str, Any], isolation: Any) -> ViewsReport:
    """Return the views of the reader's function, which runs in its own process."""
    from dpaudit.affine.form import NotAffine
    from dpaudit.affine.isolated_views import report_elsewhere
    from dpaudit.execution import importable

    if ":" not in target:
        raise InvalidArgument("target", target, "module:function")
    reference = reference_of(target)
    shape = _shape_of(_to_option_words("private", asked.pop("private", None)))
    given = {name: one for name, one in asked.items() if name in ("norm", "radius", "seed")}
    given |= {"observers": _parse_observers(_to_option_words("observers", asked.get("observers")))}
    given |= {"about": _parse_about(_to_option_words("about", asked.get("about")), shape)}
    with show_spinner(f"reading {reference}"), importable(Path.cwd()):
        try:
            return report_elsewhere(reference, shape, isolation, **given)
        except NotAffine as error:
            said = f"not linear: {error}; dpaudit audit {reference} measures what it shows"
            raise DpauditError(said) from error


def _read_views_file(path: str) -> dict[str, Any]:
    """Return the content of a TOML file: the function, and the same names as the options."""
    from dpaudit.toml import read_document

    found = read_document(Path(path))
    unknown = [name for name in found if name not in _KEYS]
    if unknown or "function" not in found:
        wrong = unknown[0] if unknown else "function"
        raise DataError(f"{path}: {wrong}: expected function and some of: {', '.join(_KEYS[1:])}")
    return found


def _to_option_words(name: str, value: Any) -> list[str]:
    """Return the list of an option or a file, as words of the command line."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [f"{key}={_join_with_commas(one)}" for key, one in value.items()]
    if isinstance(value, list) and all(type(one) is int for one in value) and name == "private":
        return [_join_with_commas(value)]
    return [_join_with_commas(one) for one in (value if isinstance(value, list) else [value])]


def _join_with_commas(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


# --- shapes and names -----------------------------------------------------------------------------


def _shape_of(words: list[str]) -> dict[str, Any]:
    """Return the shape of private data, as certificates have it."""
    if not words:
        raise InvalidArgument("--private", None, _SHAPE)
    named = [one.rpartition("=") for one in words]
    if len(named) == 1 and not named[0][1]:
        return {"array": _one_shape(words[0])}
    if not all(name for name, _, _ in named):
        raise InvalidArgument("--private", " ".join(words), "one shape, or NAME=SHAPE for each")
    return {"dict": [[name, {"array": _one_shape(shape)}] for name, _, shape in named]}


def _one_shape(word: str) -> list[int]:
    if word == "number":
        return []
    if Path(word).suffix in (".csv", ".npy"):
        return _shape_of_file(Path(word))
    try:
        shape = [int(one) for one in word.split(",")]
    except ValueError:
        shape = [0]
    if min(shape) < 1:
        raise InvalidArgument("--private", word, _SHAPE)
    return shape


def _shape_of_file(path: Path) -> list[int]:
    """Return the shape of the records of a file; nothing else of it is used."""
    import numpy as np

    from dpaudit.auditing.specification.audits_file import records_from

    records = records_from(path)
    shape = list(np.shape(records))
    # A file with one column holds a list of numbers, which the function takes as a vector.
    return shape[:1] if len(shape) == 2 and shape[1] == 1 else shape


def _parse_observers(words: list[str]) -> dict[str, Any] | None:
    """Return the observers by name: each is a list of participants who share their views."""
    if not words:
        return None
    named = [(name or who, who.split(",")) for name, _, who in (w.rpartition("=") for w in words)]
    return dict(named)


def _parse_about(words: list[str], shape: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return whose data change, by name: keys of a dictionary, indices of an array."""
    if not words:
        return None
    if "dict" in shape:
        return {word: word for word in words}
    try:
        return {word: int(word) for word in words}
    except ValueError:
        raise InvalidArgument("--about", " ".join(words), "indices of the private data") from None


def _render_views_report(found: ViewsReport, delta: float) -> Iterator[Text | Table]:
    yield Text(f"{found.name}: who learns how much", style="bold")
    for line in found.sentences():
        yield Text(line)
    table = Table()
    for column in found.columns(delta):
        table.add_column(column, overflow="fold")
    ordered = found.worst_first
    for one in ordered[:_MOST_ROWS]:
        table.add_row(*(make_cell(text) for text in found.row(one, delta)))
    yield table
    if len(ordered) > _MOST_ROWS:
        yield Text(f"{len(ordered) - _MOST_ROWS} more, none of a larger mu: --out writes them.")
    for line in found.remarks():
        yield Text(line)
