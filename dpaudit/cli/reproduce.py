"""``dpaudit reproduce``: figures of the papers drawn again, one after the other, and judged.

A judgement on the terminal: the verdict, and a table of the other settings that were tried.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.console import make_cell, make_console
from dpaudit.cli.ending import ShowRecords
from dpaudit.cli.options import Json, Quiet, folder_option, integer_option
from dpaudit.cli.progress import progress_bar
from dpaudit.formats import add_schema

if TYPE_CHECKING:
    from dpaudit.extension.figure import Figure
    from dpaudit.reproduction.judgement import AlternativeSetting, StatementJudgement
    from dpaudit.reproduction.result import Reproduction


def reproduce(
    figures: Annotated[
        list[str],
        typer.Argument(
            help="Figures by name; see list.", autocompletion=completion.complete_figures
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", "--data-path", help="The data's file or directory (default: $DPAUDIT_DATA)."
        ),
    ] = None,
    runs: Annotated[
        int | None, integer_option("--runs", "Independent runs to average over (the figure's).")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's own size.")] = False,
    seed: Annotated[int, integer_option("--seed", "The only source of randomness.")] = 0,
    out: Annotated[str, folder_option("The directory of the numbers and pictures.")] = "figures",
    as_json: Json = False,
    quiet: Quiet = False,
    show_records: ShowRecords = False,
) -> None:
    """Draw figures of the papers again and judge the papers' statements about them."""
    options = {"data_path": data, "runs": runs, "full": full, "seed": seed}
    run(figures, options, out, as_json=as_json, quiet=quiet)


def run(names: list[str], options: dict[str, Any], out: str, *, as_json: bool, quiet: bool) -> None:
    """Draw every figure, write it as soon as it is done, and print one line per statement."""
    from dpaudit.extension.registry import FIGURES
    from dpaudit.files import prepare_directory
    from dpaudit.reproduction.result import write_reproduction

    # All names are looked up first, so that a wrong one ends the command before hours of
    # drawing.
    cards = [FIGURES.get(name) for name in names]
    prepare_directory(out)
    finished = []
    for card in cards:
        reproduction = _run_figure(card, options, quiet)
        paths = write_reproduction(reproduction, out)
        finished.append(reproduction)
        if not as_json:
            _print_reproduction(reproduction, str(paths["png"]))
    if as_json:
        document = {"figures": [add_schema("figure", asdict(one)) for one in finished]}
        streams.write_result_text(json.dumps(document, indent=2))


def _run_figure(card: Figure, options: dict[str, Any], quiet: bool) -> Reproduction:
    from dpaudit.mechanisms.residuals import record_residuals
    from dpaudit.reproduction.result import FigureRequest

    with progress_bar(card.name, shown=not quiet) as progress, record_residuals() as residuals:
        drawn = card.load()(FigureRequest(progress=progress, **options))
    return replace(drawn, solvers=residuals.lines())


def _print_reproduction(reproduction: Reproduction, picture: str) -> None:

    make_console().print(Text(f"{reproduction.figure}: {reproduction.title}", style="bold"))
    for judgement in reproduction.judgements:
        for part in render_judgement(judgement):
            make_console().print(part)
    for note in reproduction.notes:
        make_console().print(Text(f"  note: {note}", style="dim"))
    for line in reproduction.solvers:
        make_console().print(Text(f"  solver: {line}", style="dim"))
    make_console().print(Text(f"  {picture}"), soft_wrap=True)


def render_judgement(judgement: StatementJudgement) -> Iterator[Text | Padding]:
    """Yield the verdict, how many other settings agree, and a table of those that do not.

    Under a statement that did not hold, the table is of all. A setting without the drawn one's
    caveat, or with one of its own, is in it too.
    """
    from dpaudit.reproduction.judgement import OUTCOMES

    outcome, tried = OUTCOMES[judgement.held], judgement.tried
    yield Text(f"  {outcome}: {judgement.statement} ({judgement.evidence})")
    if judgement.caveat:
        yield Text(f"    caveat: {judgement.caveat}")
    if not tried:
        return
    yield Text(f"    also tried: {_format_held_count(tried)} other settings{_free_of(judgement)}")
    shown = [each for each in tried if not _is_agreeing(judgement, each)]
    if shown:
        yield Padding(_make_settings_table(judgement.measure, shown), (0, 0, 0, 4))


def _is_agreeing(judgement: StatementJudgement, each: AlternativeSetting) -> bool:
    return bool(judgement.held and each.held) and each.caveat == judgement.caveat


def _format_held_count(tried: Sequence[AlternativeSetting]) -> str:
    return f"held at {sum(each.held is True for each in tried)} of {len(tried)}"


def _free_of(judgement: StatementJudgement) -> str:
    """Return, where there is a caveat, how many settings without one agree."""
    if not (judgement.caveat or any(each.caveat for each in judgement.tried)):
        return ""
    return (
        f"; {_format_held_count([each for each in judgement.tried if not each.caveat])} "
        "without a caveat"
    )


def _make_settings_table(measure: str, tried: Sequence[AlternativeSetting]) -> Table:
    """Return a column for each parameter where all settings have the same, else one for all."""
    from dpaudit.reproduction.judgement import OUTCOMES, in_words

    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    names = list(tried[0].setting)
    alike = all(list(each.setting) == names for each in tried)
    for name in names if alike else ["setting"]:
        table.add_column(make_cell(name), justify="right" if alike else "left")
    table.add_column(make_cell(measure), justify="right")
    table.add_column("outcome", no_wrap=True)
    if any(each.caveat for each in tried):
        table.add_column("caveat")
    for each in tried:
        values = each.setting.values() if alike else [in_words(each.setting)]
        cells = [
            *map(_format_setting_cell, values),
            _format_setting_cell(each.number),
            OUTCOMES[each.held],
            make_cell(each.caveat),
        ]
        table.add_row(*cells[: len(table.columns)])
    return table


def _format_setting_cell(value: object) -> str | Text:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return make_cell(str(value))
