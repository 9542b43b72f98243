"""What ``dpaudit reproduce`` does: draws figures one after the other, writes and judges them."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Any

from rich.text import Text

import dpaudit.registry as registry
from dpaudit.execution import Silent
from dpaudit.report import prepare_directory
from dpaudit.reproduction.card import Figure
from dpaudit.reproduction.result import Reproduction, Request
from dpaudit.reproduction.terminal import lines
from dpaudit.residuals import recorded
from dpaudit.tables import console


def run(names: list[str], options: dict[str, Any], out: str, *, as_json: bool, quiet: bool) -> None:
    """Draw every figure, write it as soon as it is done, and print one line per statement."""
    cards = [registry.figure(name) for name in names]
    prepare_directory(out)
    finished = []
    for card in cards:
        reproduction = _drawn(card, options, quiet)
        from dpaudit.reproduction.write import write  # loads matplotlib

        paths = write(reproduction, out)
        finished.append(reproduction)
        if not as_json:
            _show(reproduction, str(paths["png"]))
    if as_json:
        document = {"figures": [asdict(reproduction) for reproduction in finished]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _drawn(card: Figure, options: dict[str, Any], quiet: bool) -> Reproduction:
    from dpaudit.progress import bar

    hidden = quiet or not sys.stderr.isatty()
    with nullcontext(Silent()) if hidden else bar(card.name) as progress:
        with recorded() as residuals:
            drawn = card.load()(Request(progress=progress, **options))
    return replace(drawn, solvers=residuals.lines())


def _show(reproduction: Reproduction, picture: str) -> None:
    console().print(Text(f"{reproduction.figure}: {reproduction.title}", style="bold"))
    for judgement in reproduction.judgements:
        for part in lines(judgement):
            console().print(part)
    for note in reproduction.notes:
        console().print(Text(f"  note: {note}", style="dim"))
    for line in reproduction.solvers:
        console().print(Text(f"  solver: {line}", style="dim"))
    console().print(Text(f"  {picture}"), soft_wrap=True)
