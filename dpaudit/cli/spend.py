"""``dpaudit spend``: a file that records the spending of releases of one dataset over time."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.completion as completion
import dpaudit.cli.ending as ending
import dpaudit.cli.streams as streams
from dpaudit.cli.options import Json, folder_option, number_option, pairs
from dpaudit.cli.store import show_help

if TYPE_CHECKING:
    from dpaudit.spending.budget import Budget
    from dpaudit.spending.judging import Charge

spend = typer.Typer(
    help="Keep the spending of one dataset's releases in a file.",
    invoke_without_command=True,
)


@spend.callback()
def _show_spend_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show_help(context)


File = Annotated[str, typer.Argument(help="The file of a budget, such as budget.jsonl.")]
Release = Annotated[
    str,
    typer.Argument(
        help="A release by name, see list; or a TOML file of releases.",
        autocompletion=completion.complete_releases,
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE...", help="Parameters of the release: sigma=4 sensitivity=1."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter, as for account."),
]
Group = Annotated[
    list[str] | None,
    typer.Option("--group", help="The disjoint group whose data are in it; may be given again."),
]
Samples = Annotated[
    str | None,
    typer.Option("--samples", help="independent: each release draws a secret sample of its own."),
]
AtDelta = Annotated[
    float | None,
    number_option(
        "--at-delta", "Charge the epsilon that the accountants prove of it at this delta."
    ),
]
By = Annotated[str | None, typer.Option("--by", help="The person who releases.")]
About = Annotated[
    str | None, typer.Option("--about", help="A description of the release, in words.")
]
Wait = Annotated[float, number_option("--wait", "Seconds to wait for other writers (60).")]


def new(
    file: File,
    epsilon: Annotated[float | None, number_option("--epsilon", "The budget.")] = None,
    delta: Annotated[
        float, number_option("--delta", "The delta at which epsilon is limited (0, pure DP).")
    ] = 0.0,
    rho: Annotated[
        float | None, number_option("--rho", "A budget of zero-concentrated DP instead.")
    ] = None,
    mu: Annotated[float | None, number_option("--mu", "A budget of Gaussian DP instead.")] = None,
    curve: Annotated[
        str | None,
        typer.Option(
            "--curve",
            metavar="FILE.csv",
            help="A file of several limits, one epsilon,delta a line.",
        ),
    ] = None,
    filter_: Annotated[
        str,
        typer.Option(
            "--filter",
            help="The sum of spending: any, basic, gaussian, zcdp or renyi; or planned, if no "
            "parameter of a release depends on an earlier output.",
        ),
    ] = "any",
    own_delta: Annotated[
        float | None,
        number_option("--own-delta", "The part of delta for releases with a delta of their own."),
    ] = None,
    order: Annotated[
        list[float] | None,
        number_option("--order", "An order of Renyi divergences; may be given again."),
    ] = None,
    unit: Annotated[
        str, typer.Option("--unit", help="The unit of privacy, in words.")
    ] = "a person",
    relation: Annotated[
        str, typer.Option("--relation", help="The relation of neighbours: add-remove, replace, ...")
    ] = "add-remove",
    period: Annotated[
        str | None, typer.Option("--period", help="The data that the budget is about, in words.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option("--groups", help="The groups, in words: a record is always in the same one."),
    ] = None,
    by: By = None,
) -> None:
    """Make the file of a budget; its settings cannot be changed later.

    Such as: dpaudit spend new budget.jsonl --epsilon 3 --delta 1e-6
    """
    from dpaudit.spending.budget import Budget

    Budget.create(
        file,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mu=mu,
        curve=[] if curve is None else _read_curve(Path(curve)),
        filter=filter_,
        own_delta=own_delta,
        orders=order,
        unit=unit,
        relation=relation,
        period=period,
        partition=groups,
        by=by,
    )
    streams.write_result_text(f"Made: {file}")


def _read_curve(path: Path) -> list[tuple[float, float]]:
    """Return the epsilons and deltas of a file, with or without a line of names."""
    from dpaudit.errors import DataError

    try:
        rows = [row for row in csv.reader(path.read_text("utf-8").splitlines()) if row]
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{path}: expected text in UTF-8, lines of epsilon,delta") from None
    points = []
    for place, row in enumerate(rows, start=1):
        if place == 1 and [one.strip() for one in row] == ["epsilon", "delta"]:
            continue
        try:
            epsilon, delta = map(float, row)
        except ValueError:
            raise DataError(f"{path}: line {place}: expected epsilon,delta") from None
        points.append((epsilon, delta))
    return points


def add(
    file: File,
    release: Release,
    words: Words = None,
    set_: Set = None,
    group: Group = None,
    samples: Samples = None,
    at_delta: AtDelta = None,
    by: By = None,
    about: About = None,
    released: Annotated[
        bool,
        typer.Option(
            "--released", help="The release is out already: charge it even if it does not fit."
        ),
    ] = False,
    wait: Wait = 60.0,
    as_json: Json = False,
) -> int:
    """Charge a release, before it is made.

    Such as: dpaudit spend add budget.jsonl gaussian sigma=4 sensitivity=1 --about counts

    Exit status: 0 if it is charged, and on the disk; 1 if it does not fit, and nothing was
    charged.
    """
    from dpaudit.errors import BudgetExceeded

    budget = _open_budget(file, wait)
    said: dict[str, Any] = {"samples": samples, "groups": group or (), "at_delta": at_delta}
    said |= _parse_release_parameters(words, set_)
    try:
        found = budget.charge(release, by=by, about=about, released=released, **said)
    except BudgetExceeded as error:
        if as_json:
            _show_charge(budget.check(release, **said), "Would be charged", as_json=True)
        else:
            streams.write_result_text(str(error))
        return ending.REFUTED
    _show_charge(found, "Charged", as_json=as_json)
    return ending.FINE


def check(
    file: File,
    release: Release,
    words: Words = None,
    set_: Set = None,
    group: Group = None,
    samples: Samples = None,
    at_delta: AtDelta = None,
    wait: Wait = 60.0,
    as_json: Json = False,
) -> int:
    """Say whether a release would fit, and how many times; nothing is charged.

    Exit status: 0 if it fits, 1 if it does not.
    """
    found = _open_budget(file, wait).check(
        release,
        samples=samples,
        groups=group or (),
        at_delta=at_delta,
        **_parse_release_parameters(words, set_),
    )
    _show_charge(found, "Would be charged", as_json=as_json)
    return ending.FINE if found.fits else ending.REFUTED


def show(
    file: File,
    out: Annotated[
        str | None, folder_option("Write JSON, Markdown and a picture into this directory.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Json = False,
    wait: Wait = 60.0,
) -> None:
    """Show the spent budget by every method, the rest of it, and every release."""
    from dpaudit.spending.display import as_json_text, as_markdown, write_shown

    found = _open_budget(file, wait).overview()
    written = None if out is None else write_shown(found, Path(out))
    if as_json:
        streams.write_json(as_json_text(found))
        return
    if markdown:
        streams.write_result_text(as_markdown(found).rstrip())
        return
    from dpaudit.cli.console import make_console
    from dpaudit.cli.spend_page import render_spend_page

    for shown in render_spend_page(found):
        make_console().print(shown)
    if written is not None:
        streams.write_result_text(str(written))


def verify(
    file: File,
    head: Annotated[
        str | None,
        typer.Option(
            "--head", help="A digest that show printed earlier: check that its line is still there."
        ),
    ] = None,
    wait: Wait = 60.0,
) -> int:
    """Check that no line was changed, lost, or charged too little.

    Exit status: 0 if the file is whole, 1 if it is not.
    """
    from dpaudit.spending.chain import BrokenChain

    try:
        chain = _open_budget(file, wait).verify(head)
    except BrokenChain as error:
        streams.write_result_text(str(error))
        return ending.REFUTED
    torn = "; the last line is torn" if chain.torn.pieces else ""
    streams.write_result_text(
        f"Whole: {len(chain.entries)} releases{torn}. Last line: {chain.head}"
    )
    return ending.FINE


def mend(
    file: File,
    release: Annotated[
        str | None, typer.Argument(help="The release on the torn line, as for add.")
    ] = None,
    words: Words = None,
    nothing: Annotated[
        bool, typer.Option("--nothing", help="Its writer released nothing: charge nothing.")
    ] = False,
    group: Group = None,
    samples: Samples = None,
    by: By = None,
    about: About = None,
    wait: Wait = 60.0,
) -> None:
    """State the content of an unreadable torn line; the line with this statement stays."""
    from dpaudit.errors import InvalidArgument, VerbatimText

    if nothing == (release is not None):
        raise InvalidArgument("RELEASE", VerbatimText(release or "none"), "a release, or --nothing")
    found = _open_budget(file, wait).mend(
        release,
        samples=samples,
        groups=group or (),
        by=by,
        about=about,
        **_parse_release_parameters(words, None),
    )
    _show_charge(found, "Charged", as_json=False)


def _open_budget(file: str, wait: float) -> Budget:
    from dpaudit.spending.budget import Budget

    return Budget(file, wait=wait)


def _parse_release_parameters(
    words: Sequence[str] | None, set_: Sequence[str] | None
) -> dict[str, Any]:
    return pairs("KEY=VALUE", [*(words or ()), *(set_ or ())])


def _show_charge(found: Charge, what: str, *, as_json: bool) -> None:
    from dpaudit.spending.display import charge_lines, charge_text

    if as_json:
        streams.write_json(charge_text(found))
        return
    for line in charge_lines(found, what):
        streams.write_result_text(line)


for _command in (new, add, check, show, verify, mend):
    spend.command(_command.__name__)(ending.convert_raised_errors(_command))
