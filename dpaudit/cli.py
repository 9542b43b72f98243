"""The command line. Commands import what they need when they run: help and lists stay quick."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="dpaudit",
    help="Audits differential-privacy claims: what is claimed, what can be proved, what was "
    "measured.",
    epilog="Exit status: 0 nothing refuted, 1 something refuted, 2 wrong usage or input.",
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _parser(flag: str, kind: type, expected: str) -> Any:
    """Return a parser whose refusal names the option, the value and what was expected."""

    def parse(text: str) -> Any:
        from dpaudit.errors import InvalidArgument

        try:
            return kind(text)
        except ValueError:
            raise InvalidArgument(flag, text, expected) from None

    return parse


def _number(flag: str, meaning: str) -> Any:
    parser = _parser(flag, float, "a number")
    return typer.Option(flag, parser=parser, metavar="NUMBER", help=meaning)


def _integer(flag: str, meaning: str) -> Any:
    parser = _parser(flag, int, "an integer")
    return typer.Option(flag, parser=parser, metavar="INTEGER", help=meaning)


_INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.command("list")
def list_command(as_json: Json = False) -> None:
    """List the claims, attacks and figures that are installed."""
    import dpaudit.registry as registry

    claims, attacks = registry.claims(), registry.attacks()
    figures, releases = registry.figures(), registry.releases()
    if as_json:
        document = {
            "claims": [{"name": n, "kind": c.kind, "title": c.title} for n, c in claims.items()],
            "attacks": [{"name": n, "statement": a.statement} for n, a in attacks.items()],
            "figures": [{"name": n, "title": f.title} for n, f in figures.items()],
            "releases": [{"name": n, "title": r.title} for n, r in releases.items()],
        }
        typer.echo(json.dumps(document, indent=2))
        return
    from dpaudit.tables import attack_table, claim_table, console, figure_table, release_table

    console().print(claim_table(claims.values()))
    console().print(attack_table(attacks.values()))
    console().print(figure_table(figures.values()))
    console().print(release_table(releases.values()))


@app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(help="Name of a claim or of a release.")],
) -> None:
    """Show a claim's statement and assumptions, or a release, and the parameters."""
    import dpaudit.registry as registry
    from dpaudit.tables import claim_page, console, release_page

    releases = registry.releases()
    if name in releases:
        pages = release_page(releases[name], releases[name].load_parameters())
    else:
        card = registry.claim(name)
        pages = claim_page(card, card.load_parameters())
    for part in pages:
        console().print(part)


@app.command("audit")
def audit_command(
    targets: Annotated[
        list[str], typer.Argument(help="Claims by name, or TOML files that specify audits.")
    ],
    epsilon: Annotated[float | None, _number("--epsilon", "Claimed epsilon [default: 1].")] = None,
    delta: Annotated[float | None, _number("--delta", "Claimed delta [default: 1e-5].")] = None,
    data: Annotated[
        str | None,
        typer.Option(help="worst-case, breast-cancer, adult, a9a, csv, libsvm [worst-case]."),
    ] = None,
    data_path: Annotated[
        str | None, typer.Option(help="The data's file or directory [default: $DPAUDIT_DATA].")
    ] = None,
    data_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Passed to the data's loader.")
    ] = None,
    trials: Annotated[
        int | None, _integer("--trials", "Certifying transcripts per dataset [the claim's].")
    ] = None,
    confidence: Annotated[
        float | None, _number("--confidence", "Of all that is certified about a claim [0.95].")
    ] = None,
    seed: Annotated[
        int | None, _integer("--seed", "The only source of randomness [default: 0].")
    ] = None,
    workers: Annotated[
        int | None, _integer("--workers", "Worker processes [every core]; no number depends on it.")
    ] = None,
    out: Annotated[str | None, typer.Option(help="Write the report into this directory.")] = None,
    estimator: Annotated[
        str | None, typer.Option(help="auto, exact-loss or event [default: auto].")
    ] = None,
    attack: Annotated[str | None, typer.Option(help="The only attack to try.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the claim; see show."),
    ] = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Audit claims, or mechanisms of your own, and say which claims are refuted."""
    import dpaudit.command as command

    given = {
        "epsilon": epsilon,
        "delta": delta,
        "data": data,
        "data_path": data_path,
        "trials": trials,
        "confidence": confidence,
        "seed": seed,
        "estimator": estimator,
        "attack": attack,
        "data_options": _pairs("--data-option", data_option),
        "parameters": _pairs("--set", set_),
    }
    overrides = {name: value for name, value in given.items() if value not in (None, {})}
    output = command.Output(directory=out, as_json=as_json, quiet=quiet)
    raise typer.Exit(command.run(targets, overrides, workers, output))


@app.command("reproduce")
def reproduce_command(
    figures: Annotated[list[str], typer.Argument(help="Figures by name; see list.")],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", "--data-path", help="The data's file or directory [default: $DPAUDIT_DATA]."
        ),
    ] = None,
    runs: Annotated[
        int | None, _integer("--runs", "Independent runs to average over [the figure's].")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's own size.")] = False,
    seed: Annotated[int, _integer("--seed", "The only source of randomness.")] = 0,
    out: Annotated[str, typer.Option(help="Where the numbers and pictures go.")] = "figures",
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Draw figures of the papers again and judge what the papers say of them."""
    from dpaudit.reproduction import command

    options = {"data_path": data, "runs": runs, "full": full, "seed": seed}
    command.run(figures, options, out, as_json=as_json, quiet=quiet)


@app.command("account")
def account_command(
    release: Annotated[str, typer.Argument(help="A release by name, see list; or a TOML file.")],
    delta: Annotated[float, _number("--delta", "At which epsilon is asked.")] = 1e-5,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the release; see show."),
    ] = None,
    group: Annotated[
        int | None,
        _integer("--group", "Also for datasets this many steps apart; 2 replaces a record."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Write the numbers and draw them into this directory.")
    ] = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Say what can be proved about a sequence of releases: every accountant, side by side."""
    import dpaudit.account.command as command

    changes = _pairs("--set", set_)
    command.account(release, changes, delta, out, group=group, as_json=as_json, quiet=quiet)


@app.command("calibrate")
def calibrate_command(
    release: Annotated[str, typer.Argument(help="A release by name, see list; or a TOML file.")],
    epsilon: Annotated[float, _number("--epsilon", "The target.")] = 1.0,
    delta: Annotated[float, _number("--delta", "The target.")] = 1e-5,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another parameter; see show."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the least noise with which a release is provably (epsilon, delta)-DP."""
    import dpaudit.account.command as command

    command.find_noise(release, _pairs("--set", set_), epsilon, delta, as_json=as_json)


@app.command("verify")
def verify_command(
    files: Annotated[list[str], typer.Argument(help="Certificates, as JSON files.")],
    as_json: Json = False,
) -> None:
    """Re-check certificates in 50-digit arithmetic: exit status 0 if all stand, 1 if one fails."""
    from dpaudit.verify import command

    raise typer.Exit(command.run(files, as_json=as_json))


@app.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of a report."""
    from dpaudit.report.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@app.command("version")
def version_command() -> None:
    """Print the version."""
    from importlib.metadata import version

    typer.echo(version("dpaudit"))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every expected failure is one line and exit status 2."""
    from dpaudit.errors import DpauditError

    try:
        status = app(arguments, standalone_mode=False)
    except typer.TyperException as error:
        message = error.format_message()
        message = message.partition("Value error, ")[2] or message or _help()
        hint = "" if "\n" in message else "; dpaudit --help shows the usage"
        typer.echo(message if "\n" in message else f"error: {message}{hint}", err=True)
        sys.exit(2)
    except DpauditError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except Exception as error:  # the last resort: never a traceback, never the status of a verdict
        typer.echo(f"error: {_unexpected(error)}", err=True)
        if os.environ.get("DPAUDIT_DEBUG"):
            raise
        raise SystemExit(2) from None
    if status == _INTERRUPTED:
        typer.echo("interrupted", err=True)
    sys.exit(status or 0)


def _help() -> str:
    return typer.main.get_command(app).get_help(typer.Context(typer.main.get_command(app)))


def _unexpected(error: Exception) -> str:
    from dpaudit.errors import shorten

    what = f"{type(error).__name__}: {shorten(str(error))}"
    return f"something unforeseen, {what}; DPAUDIT_DEBUG=1 shows where"


def _pairs(flag: str, words: list[str] | None) -> dict[str, Any]:
    """Read KEY=VALUE words; a value that is JSON is taken as such, any other as text."""
    from dpaudit.errors import InvalidArgument

    found: dict[str, Any] = {}
    for word in words or ():
        key, separator, value = word.partition("=")
        if not separator or not key:
            raise InvalidArgument(flag, word, "KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except json.JSONDecodeError:
            found[key] = value
    return found
