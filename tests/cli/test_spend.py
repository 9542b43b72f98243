"""``dpaudit spend``: statuses, what is shown, and messages that say what to do."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from dpaudit import Budget


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "budget.jsonl"


def make(dpaudit, *words):
    ran = dpaudit("spend", "new", "budget.jsonl", *(words or ("--epsilon", "1")))
    assert (ran.status, ran.out) == (0, "Made: budget.jsonl\n")


def add(dpaudit, *words):
    return dpaudit("spend", "add", "budget.jsonl", *words)


def test_from_nothing_to_a_spent_budget(dpaudit, file):
    make(dpaudit)
    ran = add(dpaudit, "laplace", "b=2", "sensitivity=1", "--by", "anna", "--about", "counts")
    assert (ran.status, ran.err) == (0, "")
    assert "epsilon spent: 0.5 of 1" in ran.out
    assert "fit after it: 1." in ran.out
    assert dpaudit("spend", "check", "budget.jsonl", "laplace", "b=2").status == 0
    assert dpaudit("spend", "check", "budget.jsonl", "laplace", "b=1").status == 1
    assert add(dpaudit, "laplace", "--set", "noise_scale=2").status == 0
    before = file.read_bytes()
    ran = add(dpaudit, "laplace", "b=200")
    assert (ran.status, ran.err) == (1, "")
    assert ran.out == (
        "budget.jsonl: laplace does not fit: epsilon would be 1.005 of 1; nothing was charged\n"
    )
    assert file.read_bytes() == before


def test_show_says_who_released_what_and_what_is_left(dpaudit, file):
    make(dpaudit, "--epsilon", "1", "--unit", "a patient", "--groups", "the ward")
    add(dpaudit, "laplace", "b=4", "--group", "east", "--by", "anna", "--about", "weekly [counts]")
    add(dpaudit, "laplace", "b=8")
    shown = dpaudit("spend", "show", "budget.jsonl").out
    for words in ("a patient", "the ward", "anna", "weekly [counts]", "[east]", "everybody else"):
        assert words in shown
    assert "Spent: epsilon = 0.375 of 1; left: 0.625." in shown
    assert "still fit: 5." in shown
    markdown = dpaudit("spend", "show", "budget.jsonl", "--markdown").out
    assert "| 1 | 20" in markdown
    assert "weekly \\[counts]" in markdown


def test_json_is_of_its_schema(dpaudit, file):
    make(dpaudit, "--epsilon", "2", "--delta", "1e-6")
    add(dpaudit, "gaussian", "sigma=9")
    document = json.loads(dpaudit("spend", "show", "budget.jsonl", "--json").out)
    schema = json.loads(dpaudit("schema", "spend").out)
    Draft202012Validator(schema).validate(document)
    assert document["schema"] == 1
    (limit,) = document["limits"]
    assert limit["spent"] + limit["left"] == pytest.approx(2.0)
    assert "Balle & Wang 2018" in dpaudit("spend", "show", "budget.jsonl").out
    assert document["planned"]["epsilon"] < limit["spent"] < document["odometer"]["epsilon"]
    charge = json.loads(add(dpaudit, "gaussian", "sigma=9", "--json").out)
    assert (charge["fits"], charge["entry"]["number"]) == (True, 2)


@pytest.mark.slow
def test_out_writes_what_others_read(dpaudit, file, tmp_path):
    make(dpaudit)
    add(dpaudit, "laplace", "b=4")
    assert dpaudit("spend", "show", "budget.jsonl", "--out", "spent").status == 0
    names = sorted(one.name for one in (tmp_path / "spent").iterdir())
    assert names == ["spend.json", "spend.md", "spend.png", "spend.svg"]


def test_verify_ends_with_one_where_a_line_was_changed(dpaudit, file):
    make(dpaudit)
    add(dpaudit, "laplace", "b=4")
    head = json.loads(dpaudit("spend", "show", "budget.jsonl", "--json").out)["head"]
    ran = dpaudit("spend", "verify", "budget.jsonl", "--head", head[:16])
    assert (ran.status, ran.out) == (0, f"Whole: 1 releases. Last line: {head}\n")
    file.write_text(file.read_text().replace('"noise_scale":4.0', '"noise_scale":9.0'))
    ran = dpaudit("spend", "verify", "budget.jsonl")
    assert ran.status == 1
    assert "line 2 was changed after it was written" in ran.out
    assert add(dpaudit, "laplace", "b=4").status == 2
    assert dpaudit("spend", "verify", "other.jsonl").status == 2


def test_verify_ends_with_two_where_the_budget_cannot_be_judged(dpaudit, file):
    """A writer that holds it, or a file that is none, is no line that somebody changed."""
    make(dpaudit)
    with Budget(file):
        ran = dpaudit("spend", "verify", "budget.jsonl", "--wait", "0.1")
    assert (ran.status, ran.out) == (2, "")
    assert dpaudit("spend", "verify", "budget.jsonl").status == 0
    for text in ('{"kind": "report"}', ""):
        file.write_text(text)
        ran = dpaudit("spend", "verify", "budget.jsonl")
        assert (ran.status, ran.out) == (2, "")


def test_a_torn_line_is_mended(dpaudit, file):
    make(dpaudit)
    add(dpaudit, "laplace", "b=4")
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"number":2,"rel')
    assert "The last line is torn" in dpaudit("spend", "show", "budget.jsonl").out
    ran = add(dpaudit, "laplace", "b=4")
    assert ran.status == 2
    assert "dpaudit spend mend FILE --nothing" in ran.err
    assert dpaudit("spend", "mend", "budget.jsonl").status == 2
    assert dpaudit("spend", "mend", "budget.jsonl", "--nothing", "--by", "ben").status == 0
    assert "epsilon spent: 0.5 of 1" in add(dpaudit, "laplace", "b=4").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new", "budget.jsonl"), "budget: got no limit, expected one limit"),
        (("new", "b.jsonl", "--epsilon", "x"), "--epsilon: got 'x', expected a number"),
        (("new", "b.jsonl", "--epsilon", "1", "--filter", "best"), "filter: got 'best'"),
        (("add", "none.jsonl", "laplace"), "none.jsonl: is not there; make it"),
        (("show", "."), "is no plain file"),
    ],
)
def test_what_cannot_be_done_is_one_line(dpaudit, file, words, said):
    ran = dpaudit("spend", *words)
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert said in ran.err


def test_a_curve_is_several_limits(dpaudit, file, tmp_path):
    (tmp_path / "curve.csv").write_text("epsilon,delta\n1,1e-3\n2,1e-6\n")
    make(dpaudit, "--curve", "curve.csv")
    shown = dpaudit("spend", "show", "budget.jsonl").out
    assert "epsilon = 1 at delta = 0.001 and epsilon = 2 at delta = 1e-6" in shown
    (tmp_path / "curve.csv").write_text("1;1e-3\n")
    assert dpaudit("spend", "new", "c.jsonl", "--curve", "curve.csv").status == 2
    (tmp_path / "curve.csv").write_bytes("epsilon,delta\n1,1e-3\n".encode("utf-16"))
    ran = dpaudit("spend", "new", "c.jsonl", "--curve", "curve.csv")
    assert (ran.status, "curve.csv: expected text in UTF-8" in ran.err) == (2, True)
