"""``dpaudit reproduce``: files, lines and refusals."""

import json

import pytest

from algorithms.figures import huang2020_runs
from dpaudit.datasets import breast_cancer


@pytest.fixture(autouse=True)
def bundled_records(monkeypatch):
    monkeypatch.setattr(huang2020_runs, "adult", lambda path: breast_cancer())
    monkeypatch.setattr(huang2020_runs, "_EPSILONS", (0.5, 5.0))


def test_numbers_picture_and_a_line_a_statement(dpaudit, tmp_path):
    ran = dpaudit("reproduce", "huang2020-figure1", "--runs", "2", "--out", str(tmp_path))
    assert ran.status == 0
    assert "a larger epsilon gives a smaller empirical risk" in ran.out
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".json", ".png", ".svg"]
    written = json.loads((tmp_path / "huang2020-figure1.json").read_text())
    assert len(written["panels"][0]["curves"][0]["y"]) == 2
    assert (tmp_path / "huang2020-figure1.png").read_bytes().startswith(b"\x89PNG")
    rows = (tmp_path / "huang2020-figure1.csv").read_text().splitlines()
    assert rows[0] == "panel,curve,x,y,low,high"
    assert len(rows) == 3


def test_the_same_seed_writes_the_same_bytes(dpaudit, tmp_path):
    for name in ("one", "two"):
        dpaudit("reproduce", "huang2020-figure1", "--runs", "2", "--out", str(tmp_path / name))
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_an_unknown_figure(dpaudit, tmp_path):
    ran = dpaudit("reproduce", "huang2020-figure9", "--out", str(tmp_path))
    assert ran.status == 2
    assert "figure: got 'huang2020-figure9'" in ran.err
