from __future__ import annotations

import io

from rich.console import Console

from dpaudit.cli.console import verdict_table

from . import samples


def shown(*results, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(verdict_table(results))
    return console.file.getvalue()


def test_rows_fit_100_columns():
    text = shown(samples.refuted(), samples.result(), samples.open_ended(), samples.sensitivity())
    assert max(map(len, text.splitlines())) <= 100
    assert "ε = 25.44" in text
    assert "[25.31, 25.55]" in text
    assert "at least 0.412" in text
    assert "L2 = 0.0574" in text
    assert "not refuted" in text


def test_markup_and_control_characters_have_no_effect():
    text = shown(samples.result(claim="[bold]x[/bold] [/] \x1b[31m"))
    assert "[bold]x[/bold] [/]" in text
    assert "\x1b" not in text


def test_names_stay_whole_beside_their_variants():
    text = shown(samples.searched(variant="a long variant of the claim"), width=80)
    assert "hu2019-lemma4" in text
    assert "at most" in text


def test_verdict_stays_whole_on_a_narrow_terminal():
    assert "not refuted" in shown(samples.hostile(), width=80)
