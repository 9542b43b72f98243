"""``dpaudit table``: the counts of a paper's attack in, a certified lower bound out."""

from __future__ import annotations

import shlex
import time
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from dpaudit.cli.canary import end_with
from dpaudit.cli.ending import ShowRecords, Traceback
from dpaudit.cli.formats import Format, formats_of
from dpaudit.cli.options import Json, Quiet, folder_option, integer_option, number_option
from dpaudit.cli.output import OutputOptions
from dpaudit.cli.pictures import Picture, PictureWidth, drawing_of
from dpaudit.errors import InvalidArgument, VerbatimText

if TYPE_CHECKING:
    from dpaudit.estimation.attack_table import AttackRow

_EXPECTED = "for each row --hits N --of N --false-hits N --of N"
_COUNTED = ("--hits", "--false-hits")
_written: ContextVar[tuple[str, ...]] = ContextVar("_written", default=())


class TableCommand(TyperCommand):
    """Remembers the order of counts, as each option collects its values in a list of its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse words, after the names of the counts among them were kept in their order."""
        names = [word.partition("=")[0] for word in args]
        _written.set(tuple(name for name in names if name in (*_COUNTED, "--of")))
        return super().parse_args(ctx, args)


def table(
    file: Annotated[
        str | None,
        typer.Argument(help="A .csv file: hits, runs, other_hits, other_runs; or a 2 x 2 table."),
    ] = None,
    hits: Annotated[
        list[int] | None,
        integer_option("--hits", 'Runs with the target for which the attack says "in".'),
    ] = None,
    of: Annotated[
        list[int] | None,
        integer_option("--of", "The number of such runs, after each count."),
    ] = None,
    false_hits: Annotated[
        list[int] | None,
        integer_option("--false-hits", 'Runs without the target for which it says "in".'),
    ] = None,
    delta: Annotated[
        float,
        number_option("--delta", "The delta at which epsilon is bounded (1e-5); it is printed."),
    ] = 1e-5,
    epsilon: Annotated[
        float | None,
        number_option("--epsilon", "Claimed epsilon (no default: nothing is claimed)."),
    ] = None,
    confidence: Annotated[
        float, number_option("--confidence", "Confidence of all rows together (0.95).")
    ] = 0.95,
    out: Annotated[str | None, folder_option("Write the report into this directory.")] = None,
    formats: Format = None,
    picture: Picture = None,
    picture_width: PictureWidth = None,
    as_json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
) -> int:
    """Certify a lower bound on epsilon from the counts of an attack, as papers print them.

    Of several rows, such as thresholds of one attack, the best one is taken; all hold together,
    in whatever order.

    Exit status: 0 if no claim is refuted, 1 if one is, 2 if a number is malformed.
    """
    from dpaudit.auditing.files.attack_table_files import read_attack_table
    from dpaudit.auditing.samples.attack_tables import TableClaim, certify_table, check_claim
    from dpaudit.files import prepare_directory

    began, wanted = time.monotonic(), formats_of(formats, as_json)
    asked, drawing = TableClaim(delta, epsilon, confidence), drawing_of(picture, picture_width)
    check_claim(asked)
    given = _make_option_rows(hits, of, false_hits)
    if (file is None) == (not given):
        raise InvalidArgument(
            "FILE", VerbatimText(file or "no file"), f"a file of counts, or {_EXPECTED}"
        )
    rows = given if file is None else read_attack_table(Path(file))
    if out is not None:
        prepare_directory(out)
    result = certify_table(rows, asked, file or "given by the caller")
    result = result.model_copy(
        update={"rerun": _format_table_command(rows, asked.epsilon, delta, confidence)}
    )
    output = OutputOptions(directory=out, formats=wanted, drawing=drawing, quiet=quiet)
    return end_with(result, output, began, ())


def _make_option_rows(
    hits: list[int] | None, of: list[int] | None, false_hits: list[int] | None
) -> tuple[AttackRow, ...]:
    """Return the rows that the options spell out, in their order."""
    from dpaudit.estimation.attack_table import AttackRow

    first, runs, other = hits or [], of or [], false_hits or []
    if not len(first) == len(other) == len(runs) / 2:
        got = f"{len(first)} --hits, {len(other)} --false-hits and {len(runs)} --of"
        raise InvalidArgument("--of", VerbatimText(got), _EXPECTED)
    written = _written.get()
    counted = written[::2]
    if "--of" in counted:
        raise InvalidArgument("--of", VerbatimText(" ".join(written)), _EXPECTED)
    by_side = {
        side: [number for name, number in zip(counted, runs, strict=True) if name == side]
        for side in _COUNTED
    }
    rows = zip(first, by_side["--hits"], other, by_side["--false-hits"], strict=True)
    return tuple(AttackRow(*row) for row in rows)


def _format_table_command(
    rows: tuple[AttackRow, ...], epsilon: float | None, delta: float, confidence: float
) -> str:
    words = ["dpaudit", "table"]
    for row in rows:
        words += ["--hits", str(row.hits), "--of", str(row.trials)]
        words += ["--false-hits", str(row.other_hits), "--of", str(row.other_trials)]
    claim = [] if epsilon is None else ["--epsilon", repr(epsilon)]
    return shlex.join([*words, "--delta", repr(delta), *claim, "--confidence", repr(confidence)])
