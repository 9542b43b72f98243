"""The option ``--format``: forms for other tools, on standard output or in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.ending import collect_failures
from dpaudit.cli.options import OUTPUT
from dpaudit.errors import DpauditError, InvalidArgument, VerbatimText, one_of
from dpaudit.redaction import are_shown

if TYPE_CHECKING:
    from dpaudit.report.entries import ReportEntries

JSON = "json"
NAMES = (JSON, "github", "junit", "sarif", "markdown")  # the table of dpaudit.report.formats

Format = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="FORMAT[=FILE]",
        help=f"Write {', '.join(NAMES[:-1])} or {NAMES[-1]}, into a file or else on standard "
        "output; may be given again.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True)
class Formats:
    """Formats that were asked for.

    Parameters
    ----------
    files
        Names of formats, each with its file.
    shown
        The one on standard output, in the place of tables; None if there is none.
    """

    files: Sequence[tuple[str, Path]] = ()
    shown: str | None = None


def formats_of(words: Sequence[str] | None, as_json: bool) -> Formats:
    """Return the formats that are asked for by ``--format`` and ``--json``.

    Raises
    ------
    InvalidArgument
        A format is unknown, or two are to go to standard output.

    Examples
    --------
    >>> formats_of(["sarif=a.sarif", "github"], as_json=False).shown
    'github'
    """
    files, shown = list[tuple[str, Path]](), [JSON] if as_json else []
    for word in words or ():
        name, separator, file = word.partition("=")
        if name not in NAMES:
            raise InvalidArgument("--format", name, one_of(NAMES, name))
        if separator and not file.strip():
            raise InvalidArgument("--format", word, f"the name of a file: {name}=FILE")
        if separator:
            files.append((name, Path(file)))
        else:
            shown.append(name)
    # Two formats on one stream would be a document of neither.
    if len(shown) > 1:
        expected = f"one format on standard output, and files for the others: {shown[1]}=FILE"
        raise InvalidArgument("--format", VerbatimText(" and ".join(shown)), expected)
    return Formats(files, shown[0] if shown else None)


def write_formats(formats: Formats, entries: ReportEntries, document: str) -> None:
    """Write the files that are asked for, each whole or not at all.

    Parameters
    ----------
    formats
        What is asked for.
    entries, document
        What there is to say, and the same as JSON.

    Raises
    ------
    DataError
        A file cannot be written; the others are.
    """
    from dpaudit.files import write_files

    # Every file is tried, so that one folder that is full does not cost the formats that could
    # have been written.
    failures = list[DpauditError]()
    for name, file in formats.files:
        content = render_format(name, entries, document).encode("utf-8")
        try:
            write_files(file.parent, {file: content}, private=are_shown())
        except DpauditError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def show_format(name: str, entries: ReportEntries, document: str) -> None:
    """Write one format to standard output."""
    text = render_format(name, entries, document).removesuffix("\n")
    if name in (JSON, "sarif"):
        streams.write_json(text)
        return
    encoding = getattr(streams.get_results_stream(), "encoding", None) or "utf-8"
    if name == "junit":  # XML has references for what an encoding lacks
        text = text.encode(encoding, "xmlcharrefreplace").decode(encoding)
    streams.write_result_text(text)


def give_formats(
    formats: Formats, entries: ReportEntries, document: str, failures: list[DpauditError]
) -> None:
    """Write the files that are asked for, and show the format that is, whatever cannot be written.

    Parameters
    ----------
    formats
        What is asked for.
    entries, document
        What there is to say, and the same as JSON.
    failures
        Takes what could not be written.
    """
    with collect_failures(failures):
        write_formats(formats, entries, document)
    if formats.shown is not None:
        with collect_failures(failures):
            show_format(formats.shown, entries, document)


def render_format(name: str, entries: ReportEntries, document: str) -> str:
    """Return the findings in one format."""
    from dpaudit.report.formats import FORMATS

    return document + "\n" if name == JSON else FORMATS[name](entries)
