"""``dpaudit calibrate``: the least noise that meets a target."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING
from typing import Annotated, Any

import typer
from rich.text import Text

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.account import DIGITS
from dpaudit.cli.console import make_console
from dpaudit.cli.options import (
    BatchSize,
    Epochs,
    Json,
    Records,
    RelationName,
    Rounds,
    Runs,
    SamplingName,
    SelectionName,
    Steps,
    number_option,
    pairs,
    select_given_options,
)
from dpaudit.cli.progress import show_spinner
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.report.formatting import format_significant


def calibrate(
    release: Annotated[
        str,
        typer.Argument(
            help="A release by name, see list; or a TOML file.",
            autocompletion=completion.complete_releases,
        ),
    ],
    epsilon: Annotated[float, number_option("--epsilon", "The epsilon to reach.")] = 1.0,
    delta: Annotated[
        float, number_option("--delta", "The delta to reach (1e-5), which is printed.")
    ] = 1e-5,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another parameter; see show."),
    ] = None,
    epochs: Epochs = None,
    steps: Steps = None,
    rounds: Rounds = None,
    batch_size: BatchSize = None,
    records: Records = None,
    sampling: SamplingName = None,
    relation: RelationName = None,
    runs: Runs = None,
    selection: SelectionName = None,
    as_json: Json = False,
) -> None:
    """Find the least noise with which a release is provably (epsilon, delta)-DP."""
    changes = pairs("--set", set_) | select_given_options(
        epochs=epochs,
        steps=steps,
        rounds=rounds,
        batch_size=batch_size,
        records=records,
        sampling=sampling,
        relation=relation,
        runs=runs,
        selection=selection,
    )
    run(release, changes, epsilon, delta, as_json=as_json)


def run(
    word: str, changes: Mapping[str, Any], epsilon: float, delta: float, *, as_json: bool
) -> None:
    """Solve for the noise parameter that just meets a target, and show it."""
    import dpaudit._check as check
    from dpaudit.accounting.calibrate import calibrate
    from dpaudit.accounts.target import read_target

    check.require_positive("epsilon", epsilon)
    target = read_target(word, changes)
    if len(target.parts) > 1:
        given = VerbatimText(f"{len(target.parts)} releases")
        raise InvalidArgument(
            word, given, "a single release: calibrate solves for the noise of one"
        )
    part = target.parts[0]
    noise = part.card.noise
    if noise in changes:
        raise InvalidArgument(
            "--set", VerbatimText(noise), "other parameters: this one is solved for"
        )
    with show_spinner(f"solving for {noise}"):
        solved = calibrate(
            lambda value: replace(target, parts=(part.having(**{noise: value}),)).event,
            epsilon,
            delta,
            more_noise=part.card.more_noise,
            samples="independent",  # the event is the worse of both where nothing says so
        )
    found = part.having(**{noise: solved.value})
    result = {
        "release": part.card.name,
        "parameters": found.parameters.model_dump(),
        "noise": noise,
        "value": solved.value,
        "target": {"epsilon": epsilon, "delta": delta},
        "proved": {"epsilon": solved.epsilon, "delta": delta},
    }
    if as_json:
        streams.write_result_text(json.dumps(result, indent=2))
        return
    with_noise = replace(target, parts=(found,))
    said = [*with_noise.words, *with_noise.remarks(0.0)]
    for line in _render_calibration(result, part.relation, changes, said):
        make_console().print(line, soft_wrap=True)


def _render_calibration(
    result: dict[str, Any], relation: str, changes: Mapping[str, Any], said: list[str]
) -> Iterator[Text]:

    setting = f"{result['noise']}={result['value']!r}"  # all digits: it errs to the private side
    yield Text(setting, style="bold")
    proved = format_significant(result["proved"]["epsilon"], DIGITS, ROUND_CEILING)
    delta = result["proved"]["delta"]
    yield Text(f"Proved with it: ({proved}, {delta:g})-DP; neighbours: {relation}.")
    for line in said:
        yield Text(line)
    settings = [f"{name}={json.dumps(value)}" for name, value in changes.items()]
    words = ["dpaudit", "account", result["release"], "--delta", repr(delta)]
    words += [word for pair in (*settings, setting) for word in ("--set", pair)]
    yield Text(f"Check it: {shlex.join(words)}", style="dim")
