"""``dpaudit reproduce``: files, lines and refusals."""

import csv
import io
import json
from dataclasses import replace

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from rich.console import Console

import dpaudit.plots as plots
from dpaudit.algorithms.multistep.figures import runs as huang2020_runs
from dpaudit.cli.reproduce import render_judgement
from dpaudit.datasets import breast_cancer
from dpaudit.plots import Curve, Panel
from dpaudit.reproduction.judgement import AlternativeSetting, StatementJudgement
from dpaudit.reproduction.result import Reproduction, write_reproduction


@pytest.fixture(autouse=True)
def bundled_records(monkeypatch):
    monkeypatch.setattr(huang2020_runs, "adult", lambda path: breast_cancer())
    monkeypatch.setattr(huang2020_runs, "_EPSILONS", (0.5, 5.0))
    monkeypatch.setattr(huang2020_runs, "_DIAMETERS", (5.0, 20.0))
    monkeypatch.setattr(huang2020_runs, "_ITERATIONS", (20, 50))


@pytest.mark.sampled(2)
def test_numbers_picture_and_a_line_a_statement(dpaudit, tmp_path):
    ran = dpaudit("reproduce", "huang2020-figure1", "--runs", "2", "--out", str(tmp_path))
    assert ran.status == 0
    assert "a larger epsilon gives a smaller empirical risk" in ran.out
    name = "huang2020-figure1"
    assert {path.name for path in tmp_path.iterdir()} == {
        "figures.json",
        *(f"{name}{end}" for end in (".csv", "-statements.csv", ".json", ".png", ".svg")),
    }
    written = json.loads((tmp_path / "huang2020-figure1.json").read_text())
    assert len(written["panels"][0]["curves"][0]["y"]) == 2
    assert (tmp_path / "huang2020-figure1.png").read_bytes().startswith(b"\x89PNG")
    rows = (tmp_path / "huang2020-figure1.csv").read_text().splitlines()
    assert rows[0] == "panel,curve,x,y,low,high"
    assert len(rows) == 3


@pytest.mark.slow
def test_the_same_seed_writes_the_same_bytes(dpaudit, tmp_path):
    for name in ("one", "two"):
        dpaudit("reproduce", "huang2020-figure1", "--runs", "2", "--out", str(tmp_path / name))
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_an_unknown_figure(dpaudit, tmp_path):
    ran = dpaudit("reproduce", "huang2020-figure9", "--out", str(tmp_path))
    assert ran.status == 2
    assert "figure: got 'huang2020-figure9'" in ran.err


@pytest.mark.slow
def test_what_was_tried_is_in_the_files_and_on_the_terminal(dpaudit, tmp_path):
    ran = dpaudit("reproduce", "huang2020-figure1", "--runs", "2", "--out", str(tmp_path))
    (judged,) = json.loads((tmp_path / "huang2020-figure1.json").read_text())["judgements"]
    tried = judged["tried"]
    assert {"D": 5.0, "iterations": 50} in [each["setting"] for each in tried]
    held = sum(each["held"] is True for each in tried)
    assert f"also tried: held at {held} of {len(tried)} other settings" in ran.out
    text = (tmp_path / "huang2020-figure1-statements.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["setting"] for row in rows][:1] == ["as drawn"]
    assert len(rows) == 1 + len(tried)
    assert float(rows[0]["number"]) == judged["number"]
    assert {row["outcome"] for row in rows} <= {"held", "did not hold", "could not be judged"}


@pytest.mark.parametrize("runs", ["0", "1001", str(10**12)])
def test_runs_beyond_reason_are_refused_by_name(dpaudit, tmp_path, runs):
    ran = dpaudit("reproduce", "huang2020-figure1", "--runs", runs, "--out", str(tmp_path))
    assert ran.status == 2
    assert ran.err.startswith(f"error: runs: got {runs}, expected an integer")


JUDGED = StatementJudgement(
    statement="it [is] fast",
    held=False,
    evidence="3 s",
    number=3.0,
    measure="seconds",
    tried=(
        AlternativeSetting(setting={"C": 1750.0}, number=2.5, held=True),
        AlternativeSetting(setting={"rho": 0.1}, number=None, held=None),
    ),
)


def printed(judgement):
    shown = Console(width=100, record=True, file=io.StringIO())
    for part in render_judgement(judgement):
        shown.print(part)
    return shown.export_text()


def test_all_that_was_tried_stands_under_a_statement_that_did_not_hold():
    text = printed(JUDGED)
    assert "did not hold: it [is] fast (3 s)" in text
    assert "held at 1 of 2 other settings" in text
    assert [line.split() for line in text.splitlines()[-2:]] == [
        ["C", "=", "1750", "2.5", "held"],
        ["rho", "=", "0.1", "-", "could", "not", "be", "judged"],
    ]


def test_a_caveat_stands_with_its_setting():
    tried = (
        AlternativeSetting(setting={"C": 400.0}, number=4.0, held=True),
        AlternativeSetting(setting={"C": 800.0}, number=4.5, held=True, caveat="beyond [it]"),
    )
    judged = replace(JUDGED, held=True, caveat="beyond [it]", tried=tried)
    text = printed(judged)
    assert "caveat: beyond [it]" in text
    assert "held at 2 of 2 other settings; held at 1 of 1 without a caveat" in text
    assert "400" in text
    assert "800" not in text
    rows = [line.split() for line in printed(replace(judged, held=False)).splitlines()]
    assert rows[-1] == ["800", "4.5", "held", "beyond", "[it]"]
    plain = replace(judged, caveat="", tried=tried[:1])
    assert "caveat" not in printed(plain)


def test_a_caveat_is_in_the_files(tmp_path):
    (tmp_path / "figures").mkdir()
    judged = replace(JUDGED, caveat="beyond it")
    panel = Panel(
        title="p", x_label="x", y_label="y", curves=(Curve(label="c", x=[1, 2], y=[1.0, 2.0]),)
    )
    drawn = Reproduction(
        figure="f", title="t", source="s", panels=(panel,), judgements=(judged,), parameters={}
    )
    paths = write_reproduction(drawn, tmp_path / "figures")
    rows = list(csv.DictReader(io.StringIO(paths["statements"].read_text())))
    assert [row["caveat"] for row in rows] == ["beyond it", "", ""]
    assert json.loads(paths["json"].read_text())["judgements"][0]["caveat"] == "beyond it"


def test_a_legend_covers_no_curve():
    curves = tuple(Curve(label=f"curve {n}", x=[0, 1], y=[0.0, float(n)]) for n in range(8))
    panels = [Panel(title=t, x_label="x", y_label="y", curves=curves) for t in ("a", "b", "c")]
    figure = plots._draw_figure("title", panels)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [axes.get_legend().get_window_extent(canvas.get_renderer()) for axes in figure.axes]
    inside = [axes.get_window_extent() for axes in figure.axes]
    assert len(boxes) == 3
    assert not any(box.overlaps(area) for box in boxes for area in inside)
    assert all(figure.bbox.contains(box.x0, box.y0) for box in boxes)


def test_a_place_that_is_not_there_is_refused_by_name(dpaudit, tmp_path):
    gone = str(tmp_path / "gone")
    ran = dpaudit("reproduce", "hu2020-figure2", "--data", gone, "--out", str(tmp_path / "out"))
    assert ran.status == 2
    assert ran.err.startswith(f"error: data_path: got '{gone}', expected gisette's file")


def test_settings_of_the_same_parameters_have_a_column_for_each():
    tried = tuple(
        AlternativeSetting(setting={"C": c, "T": 30}, number=c / 100, held=False)
        for c in (50.0, 1750.0)
    )
    rows = [line.split() for line in printed(replace(JUDGED, tried=tried)).splitlines()]
    assert rows[-3][:3] == ["C", "T", "seconds"]
    assert rows[-1] == ["1750", "30", "17.5", "did", "not", "hold"]


def test_only_what_differs_stands_under_a_statement_that_held():
    text = printed(replace(JUDGED, held=True))
    assert "1750" not in text
    assert "could not be judged" in text
    assert "tried" not in printed(replace(JUDGED, tried=()))
