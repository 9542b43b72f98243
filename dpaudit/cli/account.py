"""What ``dpaudit account`` and ``dpaudit calibrate`` do."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import dpaudit._validate as check
from dpaudit.accounting.accountants import Answer
from dpaudit.accounts.account import Account, Target, account_for, read_target
from dpaudit.cli.console import console
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.report.formatting import number

_DIGITS = 8


def account(
    word: str,
    changes: Mapping[str, Any],
    delta: float,
    out: str | None,
    *,
    group: int | None = None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Ask every accountant, show the answers, and write and draw them where asked to."""
    delta = check.delta("delta", delta)
    target = read_target(word, changes)
    if group is not None:
        check.integer("group", group, least=1)
    result = account_for(target, delta, group)
    if as_json:
        sys.stdout.write(json.dumps(result.document(), indent=2) + "\n")
    else:
        for shown in _page(result):
            console().print(shown)
    if out is not None:
        _write(target, result, Path(out), quiet=quiet, as_json=as_json)


def _page(result: Account) -> Iterator[Text | Table]:
    yield Text(f"{result.name}: {result.title}", style="bold")
    yield Text(f"Neighbours: {result.relation}. delta = {result.delta:g}")
    table = Table(title="epsilon by accountant", title_justify="left", title_style="bold")
    for column in ("accountant", "epsilon", "kind", "source"):
        table.add_column(column, no_wrap=column == "epsilon")
    if result.published is not None:
        said = result.published
        at = "" if said.delta == result.delta else f" at delta = {said.delta:g}"
        shown = number(said.epsilon, _DIGITS) + at
        table.add_row("published", shown, "formula", escape(said.source))
    for answer in result.answers:
        if answer.refusal is None:
            name = Text(answer.accountant, style="bold" if answer == result.proved else "")
            table.add_row(name, _shown(answer), answer.kind, escape(answer.source))
    yield table
    yield from _words(result)


def _shown(answer: Answer) -> str:
    """Return the answer, bounds rounded to the side on which they still hold."""
    if answer.estimate is not None:
        return number(answer.estimate, _DIGITS)
    upper = number(answer.upper, _DIGITS, ROUND_CEILING)
    if answer.lower is None or answer.lower == answer.upper:
        return upper
    return f"[{number(answer.lower, _DIGITS, ROUND_FLOOR)}, {upper}]"


def _words(result: Account) -> Iterator[Text]:
    if result.proved is None:
        yield Text("Nothing is proved about this sequence.")
    else:
        upper = number(result.proved.upper, _DIGITS, ROUND_CEILING)
        yield Text(f"Proved: epsilon = {upper} at delta = {result.delta:g}.", style="bold")
        yield from _against(result)
    guesses = ", ".join(
        f"{number(chance, 4, ROUND_CEILING)} from {prior:g}"
        for prior, chance in result.meaning.success
    )
    advantage = number(result.meaning.advantage, 4, ROUND_CEILING)
    yield Text(
        f"No attack has a true-positive rate more than {advantage} above its false-positive rate. "
        "The best chance to tell which of two neighbours it was, from what was believed before: "
        f"{guesses}."
    )
    if result.meaning.group is not None:
        size, epsilon = result.meaning.group
        shown = number(epsilon, _DIGITS, ROUND_CEILING)
        yield Text(f"For groups of {size}: epsilon = {shown} at delta = {result.delta:g}.")
    silent = [answer.accountant for answer in result.answers if answer.refusal is not None]
    if silent:
        yield Text(f"No answer from: {', '.join(silent)} (--json says why).", style="dim")


def _against(result: Account) -> Iterator[Text]:
    said, proved = result.published, result.proved
    if said is None or proved is None or proved.upper is None:
        return
    if said.note:
        yield Text(f"Of the published number: {said.note}")
    if said.delta <= result.delta and 0 < said.epsilon < math.inf and proved.upper > 0:
        yield Text(f"That is {said.epsilon / proved.upper:.3g} times below the published number.")


def _write(target: Target, result: Account, folder: Path, *, quiet: bool, as_json: bool) -> None:
    from dpaudit.accounts.curves import panels
    from dpaudit.cli.progress import bar
    from dpaudit.drawing.figures import picture, table  # loads matplotlib
    from dpaudit.execution import Silent
    from dpaudit.report import prepare_directory
    from dpaudit.report.document import write_files

    prepare_directory(str(folder))
    hidden = quiet or not sys.stderr.isatty()
    with nullcontext(Silent()) if hidden else bar(target.name) as progress:
        drawn = panels(target, result.delta, progress)
    title, name = f"{result.name}: {result.title}", f"account-{result.name}"
    contents = {
        folder / f"{name}.json": (json.dumps(result.document(), indent=2) + "\n").encode(),
        folder / f"{name}.csv": table(drawn).encode(),
        folder / f"{name}.png": picture(title, drawn, "png"),
        folder / f"{name}.svg": picture(title, drawn, "svg"),
    }
    write_files(folder, contents)
    if not as_json:
        console().print(Text(str(folder / f"{name}.png")), soft_wrap=True)


def find_noise(
    word: str, changes: Mapping[str, Any], epsilon: float, delta: float, *, as_json: bool
) -> None:
    """Solve for the noise parameter that just meets a target, and show it."""
    from dpaudit.accounting.calibrate import calibrate

    check.positive("epsilon", epsilon)
    target = read_target(word, changes)
    if len(target.parts) > 1:
        given = Shown(f"{len(target.parts)} releases")
        raise InvalidArgument(word, given, "a single release: which one's noise is meant?")
    part = target.parts[0]
    noise = part.card.noise
    if noise in changes:
        raise InvalidArgument("--set", Shown(noise), "other parameters: this one is solved for")
    waiting = Console(stderr=True).status(f"solving for {noise}")
    with waiting if sys.stderr.isatty() else nullcontext():
        found = calibrate(
            lambda value: part.having(**{noise: value}).event,
            epsilon,
            delta,
            more_noise=part.card.more_noise,
        )
    result = {
        "release": part.card.name,
        "parameters": part.having(**{noise: found.value}).parameters.model_dump(),
        "noise": noise,
        "value": found.value,
        "target": {"epsilon": epsilon, "delta": delta},
        "proved": {"epsilon": found.epsilon, "delta": delta},
    }
    if as_json:
        sys.stdout.write(json.dumps(result, indent=2) + "\n")
        return
    for line in _calibrated(result, part.card.relation, changes):
        console().print(line, soft_wrap=True)


def _calibrated(
    result: dict[str, Any], relation: str, changes: Mapping[str, Any]
) -> Iterator[Text]:
    setting = f"{result['noise']}={result['value']!r}"  # all digits: it errs to the private side
    yield Text(setting, style="bold")
    proved = number(result["proved"]["epsilon"], _DIGITS, ROUND_CEILING)
    delta = result["proved"]["delta"]
    yield Text(f"Proved with it: ({proved}, {delta:g})-DP; neighbours: {relation}.")
    given = [f"{name}={json.dumps(value)}" for name, value in changes.items()]
    words = ["dpaudit", "account", result["release"], "--delta", repr(delta)]
    words += [word for pair in (*given, setting) for word in ("--set", pair)]
    yield Text(f"Check it: {shlex.join(words)}", style="dim")
