"""``dpaudit scores``: the command, its numbers as JSON, what it refuses."""

import json

import numpy as np
import pytest

import dpaudit
from dpaudit.cli.main import main
from dpaudit.cli.scores import _format_interval_cells
from dpaudit.verification import Reader

RNG = np.random.default_rng(4)


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, mean in (("in.csv", 2.0), ("out.csv", 0.0)):
        rows = map(str, RNG.normal(mean, 1, 400))
        (tmp_path / name).write_text("score\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_command_prints_all_numbers_and_their_intervals(folder, capsys):
    assert run("scores", "in.csv", "out.csv", "--epsilon", "0.5", "--out", "report") == 1
    shown = capsys.readouterr()
    for words in ("AUROC", "TPR at FPR 0.001", "accuracy", "advantage", "Estimates, not certified"):
        assert words in shown.out
    assert "400 outputs of 1 number, a header" in shown.err
    report = json.loads((folder / "report" / "report.json").read_text())["results"][0]
    found = report["parameters"]["scores"]
    assert found["auroc"][1] < 0.9214 < found["auroc"][2]
    assert any("dpaudit canary" in note for note in report["notes"])
    assert run(*report["rerun"].split()[1:], "--json") == 1
    again = json.loads(capsys.readouterr().out)["results"][0]
    assert again["parameters"] == report["parameters"]
    files = Reader(outputs=("in.csv", "out.csv"))
    (verdict,) = dpaudit.verify(folder / "report" / "certificate.json", files)
    assert verdict.refutes_as_published


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ([0.92144, 0.91239, 0.93001], ("0.9214", "0.9123 to 0.9301")),
        ([0.5, -0.12341, 0.99999], ("0.5", "-0.1235 to 1")),
        ([2e-5, 0.0, 4.00001e-5], ("2e-5", "0 to 4.001e-5")),
    ],
)
def test_an_interval_is_rounded_outwards(ends, shown):
    assert _format_interval_cells(ends) == shown


@pytest.mark.slow
def test_nothing_is_claimed_without_an_epsilon(folder, capsys):
    assert run("scores", "in.csv", "out.csv", "--json", "--fpr", "0.05") == 0
    result = json.loads(capsys.readouterr().out)["results"][0]
    assert result["standing"] == "question"
    assert result["measured"]["lower"] > 0.5
    assert [row[0] for row in result["parameters"]["scores"]["tpr at fpr"]] == [0.05]


@pytest.mark.slow
def test_sorted_scores_are_withheld_with_all_their_numbers(folder, capsys):
    rows = sorted(map(float, (folder / "in.csv").read_text().split()[1:]))
    (folder / "in.csv").write_text("\n".join(map(str, rows)))
    assert run("scores", "in.csv", "out.csv", "--json") == 2
    result = json.loads(capsys.readouterr().out)["results"][0]
    assert result["verdict"] == "withheld"
    assert "scores" not in result["parameters"]


WRONG = {
    ("--fpr", "1.5"): "expected false-positive rates between 0 and 1",
    ("--fpr", "a"): "expected rates such as 0.001,0.01",
    ("--epsilon", "-1"): "epsilon",
    ("--confidence", "2"): "confidence",
}


@pytest.mark.parametrize("given", WRONG)
def test_a_wrong_option_is_named(given, folder, capsys):
    assert run("scores", "in.csv", "out.csv", *given) == 2
    assert WRONG[given] in capsys.readouterr().err


def test_several_numbers_a_row_are_no_scores(folder, capsys):
    (folder / "wide.csv").write_text("".join(f"{x},{x / 3}\n" for x in RNG.normal(size=60)))
    assert run("scores", "wide.csv", "wide.csv") == 2
    assert "expected one score; --ignore leaves columns out" in capsys.readouterr().err
