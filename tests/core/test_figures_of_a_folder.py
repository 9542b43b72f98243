"""A folder of figures lists what came of every statement, whichever was drawn last."""

from dataclasses import replace

from dpaudit.ledger.figures import load_published_figures, read_figures
from dpaudit.plots import Curve, Panel
from dpaudit.reproduction.judgement import StatementJudgement
from dpaudit.reproduction.result import Reproduction, write_reproduction

CURVE = Curve(label="c", x=[1.0, 2.0], y=[1.0, 2.0])
PANEL = Panel(title="t", x_label="x", y_label="y", curves=(CURVE,))


def judged(name, held):
    return StatementJudgement(
        name=name, statement=f"it is {name}", held=held, evidence=f"{held} of it"
    )


def figure(name, *judgements):
    return Reproduction(
        figure=name, title="t", source="s", panels=(PANEL,), judgements=judgements, parameters={}
    )


def test_each_statement_has_what_came_of_it_in_all_panels(tmp_path):
    write_reproduction(
        figure("b", judged("fast", True), judged("small", None), judged("fast", False)), tmp_path
    )
    write_reproduction(figure("a", judged("fast", True), judged("fast", True)), tmp_path)
    found = read_figures(tmp_path / "figures.json")
    assert {key: run.held for key, run in found.items()} == {
        ("a", "fast"): True,
        ("b", "fast"): False,
        ("b", "small"): None,
    }
    assert found["b", "fast"].evidence == "True of it; False of it"


def test_a_figure_that_is_drawn_again_replaces_itself(tmp_path):
    first = figure("a", judged("fast", True), judged("small", True))
    write_reproduction(first, tmp_path)
    write_reproduction(replace(first, judgements=(judged("fast", None),)), tmp_path)
    found = read_figures(tmp_path / "figures.json")
    assert {key: run.held for key, run in found.items()} == {("a", "fast"): None}


def test_published_runs_are_of_statements_that_cards_make():
    from dpaudit.extension.registry import FIGURES

    cards = FIGURES.all()
    for figure_name, statement in load_published_figures():
        assert statement in cards[figure_name].statements
