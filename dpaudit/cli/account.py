"""``dpaudit account``: every accountant's answer to one sequence of releases."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.console import make_cell, make_console
from dpaudit.cli.options import (
    BatchSize,
    Epochs,
    Json,
    NoiseMultiplier,
    Quiet,
    Records,
    RelationName,
    Rounds,
    Runs,
    SamplingName,
    SelectionName,
    Steps,
    folder_option,
    integer_option,
    number_option,
    pairs,
    select_given_options,
)
from dpaudit.cli.pictures import FigureFile, Picture, PictureWidth, drawing_of
from dpaudit.cli.progress import progress_bar
from dpaudit.report.formatting import format_significant

if TYPE_CHECKING:
    from dpaudit.accounting.accountants import AccountantAnswer
    from dpaudit.accounts.account import Account
    from dpaudit.accounts.target import AccountTarget

DIGITS = 8  # of a number that is shown
_CLOSE = 1e-2  # share of a bracket's upper end that is not worth a sentence


def account(
    release: Annotated[
        str,
        typer.Argument(
            help="A release by name, see list; or a TOML file of releases, and of rounds, budgets "
            "and groups that share something.",
            autocompletion=completion.complete_releases,
        ),
    ],
    delta: Annotated[
        float,
        number_option("--delta", "The delta at which epsilon is bounded (1e-5); it is printed."),
    ] = 1e-5,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the release; see show."),
    ] = None,
    group: Annotated[
        int | None,
        integer_option("--group", "Also for datasets this many steps apart; 2 replaces a record."),
    ] = None,
    epochs: Epochs = None,
    steps: Steps = None,
    rounds: Rounds = None,
    batch_size: BatchSize = None,
    records: Records = None,
    noise_multiplier: NoiseMultiplier = None,
    sampling: SamplingName = None,
    relation: RelationName = None,
    runs: Runs = None,
    selection: SelectionName = None,
    out: Annotated[
        str | None, folder_option("Write the numbers and draw them into this directory.")
    ] = None,
    picture: Picture = None,
    picture_width: PictureWidth = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Bound the privacy loss of a sequence of releases: every accountant, side by side."""
    changes = pairs("--set", set_) | select_given_options(
        epochs=epochs,
        steps=steps,
        rounds=rounds,
        batch_size=batch_size,
        records=records,
        noise_multiplier=noise_multiplier,
        sampling=sampling,
        relation=relation,
        runs=runs,
        selection=selection,
    )
    drawing = drawing_of(picture, picture_width)
    run(release, changes, delta, out, group=group, drawing=drawing, as_json=as_json, quiet=quiet)


def run(
    word: str,
    changes: Mapping[str, Any],
    delta: float,
    out: str | None,
    *,
    group: int | None = None,
    drawing: FigureFile | None = None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Ask every accountant, write and draw the answers where asked to, and show them."""
    import dpaudit._check as check
    from dpaudit.accounts.account import account_for
    from dpaudit.accounts.target import read_target

    delta = check.require_delta("delta", delta)
    target = read_target(word, changes)
    if group is not None:
        check.require_integer("group", group, least=1)
    result = account_for(target, delta, group)
    written = [] if out is None else [_write_account(target, result, Path(out), quiet=quiet)]
    if drawing is not None:
        drawing.draw(result)
        written.append(drawing.file)
    if as_json:
        streams.write_result_text(json.dumps(result.document(), indent=2))
        return
    for shown in _render_account_page(result):
        make_console().print(shown)
    for file in written:
        make_console().print(Text(str(file)), soft_wrap=True)


def _render_account_page(result: Account) -> Iterator[Text | Table]:

    yield Text(f"{result.name}: {result.title}", style="bold")
    yield Text(f"Neighbours: {result.relation}. delta = {result.delta:g}")
    for words in result.words:
        yield Text(words)
    table = Table(title="epsilon by accountant", title_justify="left", title_style="bold")
    for column in ("accountant", "epsilon", "kind", "source"):
        table.add_column(column, no_wrap=column == "epsilon")
    if result.published is not None:
        published = result.published
        at = "" if published.delta == result.delta else f" at delta = {published.delta:g}"
        shown = format_significant(published.epsilon, DIGITS) + at
        table.add_row("published", shown, "formula", make_cell(published.source))
    for answer in result.answers:
        if answer.refusal is None:
            name = Text(answer.accountant, style="bold" if answer == result.proved else "")
            table.add_row(name, _format_answer(answer), answer.kind, make_cell(answer.source))
    yield table
    yield from _render_account_sentences(result)


def _format_answer(answer: AccountantAnswer) -> str:
    """Return the answer, bounds rounded to the side on which they still hold."""
    # An estimate bounds nothing, so that it has no side to which it would have to be rounded.
    if answer.estimate is not None:
        return format_significant(answer.estimate, DIGITS)
    upper = format_significant(answer.upper, DIGITS, ROUND_CEILING)
    if answer.lower is None or answer.lower == answer.upper:
        return upper
    return f"[{format_significant(answer.lower, DIGITS, ROUND_FLOOR)}, {upper}]"


def _render_account_sentences(result: Account) -> Iterator[Text]:

    if result.proved is None:
        yield Text("Nothing is proved about this sequence.")
    else:
        upper = format_significant(result.proved.upper, DIGITS, ROUND_CEILING)
        yield Text(f"Proved: epsilon = {upper} at delta = {result.delta:g}.", style="bold")
        yield from _render_totals(result)
        # Where it is unknown whether releases share a sample, the ends are the worse of two
        # readings, and no neighbours are known to attain the lower one.
        if result.own_samples is None:
            yield from _render_attained_bound(result.proved)
        yield from _render_published_comparison(result)
    guesses = ", ".join(
        f"{format_significant(chance, 4, ROUND_CEILING)} for a prior of {prior:g}"
        for prior, chance in result.meaning.success
    )
    advantage = format_significant(result.meaning.advantage, 4, ROUND_CEILING)
    yield Text(
        f"No attack has a true-positive rate more than {advantage} above its false-positive rate. "
        f"The best chance to name the right one of two neighbours: {guesses}."
    )
    for remark in result.remarks:
        yield Text(remark)
    if result.meaning.group is not None:
        size, epsilon = result.meaning.group
        shown = format_significant(epsilon, DIGITS, ROUND_CEILING)
        yield Text(f"For groups of {size}: epsilon = {shown} at delta = {result.delta:g}.")
    silent = [answer.accountant for answer in result.answers if answer.refusal is not None]
    if silent:
        yield Text(f"No answer from: {', '.join(silent)} (--json says why).", style="dim")


def _render_totals(result: Account) -> Iterator[Text]:
    """Yield the total of all releases in the currencies that add up, where they have one."""
    known = {name: value for name, value in result.total.items() if value is not None}
    if known:
        said = (
            f"{name} = {format_significant(value, DIGITS, ROUND_CEILING)}"
            for name, value in known.items()
        )
        yield Text(f"In total: {', '.join(said)}.")


def _render_attained_bound(proved: AccountantAnswer) -> Iterator[Text]:
    """Yield a line on the gap between the certain loss and the proved number, where it is wide."""
    lower, upper = proved.lower, proved.upper
    if lower is not None and upper is not None and lower < (1 - _CLOSE) * upper < math.inf:
        shown = format_significant(lower, DIGITS, ROUND_FLOOR)
        yield Text(f"The truth may be less, but not below {shown}.")


def _render_published_comparison(result: Account) -> Iterator[Text]:

    published, proved = result.published, result.proved
    if published is None or proved is None or proved.upper is None:
        return
    if published.note:
        yield Text(f"About the published number: {published.note}")
    # A number that is published at a larger delta is another statement, and smaller for that
    # reason alone.
    if published.delta <= result.delta and 0 < published.epsilon < math.inf and proved.upper > 0:
        ratio = published.epsilon / proved.upper
        yield Text(f"The proved epsilon is {ratio:.3g} times below the published number.")


def _write_account(target: AccountTarget, result: Account, folder: Path, *, quiet: bool) -> Path:
    """Write the numbers and their curves; return the picture."""
    from dpaudit.accounts.curves import build_account_panels
    from dpaudit.files import prepare_directory, write_files
    from dpaudit.plots import Grid, Panel, render_curves_csv, render_picture

    prepare_directory(str(folder))
    with progress_bar(target.name, shown=not quiet) as progress:
        drawn: list[Panel | Grid] = [*build_account_panels(target, result.delta, progress)]
        drawn += target.grids(result.delta)
    title, name = f"{result.name}: {result.title}", f"account-{result.name}"
    contents = {
        folder / f"{name}.json": (json.dumps(result.document(), indent=2) + "\n").encode(),
        folder / f"{name}.csv": render_curves_csv(drawn).encode(),
        folder / f"{name}.png": render_picture(title, drawn, "png"),
        folder / f"{name}.svg": render_picture(title, drawn, "svg"),
    }
    write_files(folder, contents)
    return folder / f"{name}.png"
