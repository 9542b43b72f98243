"""``dpaudit table``: the counts of an attack in, a certified bound and its certificate out."""

import json

import pytest

from dpaudit import audit_table
from dpaudit.report.document import read_report

ROW = ("--hits", "471", "--of", "500", "--false-hits", "23", "--of", "500")
WEAK = ("--hits", "30", "--of", "500", "--false-hits", "20", "--of", "500")
TWO_BY_TWO = "outcome,with_target,without_target\nguessed in,471,23\nguessed out,29,477\n"


def lower(ran):
    (result,) = json.loads(ran.out)["results"]
    return result["measured"]["lower"]


def test_a_table_of_a_paper_is_one_certified_number(dpaudit, tmp_path):
    ran = dpaudit("table", *ROW, "--epsilon", "2", "--out", str(tmp_path / "r"))
    assert (ran.status, ran.err) == (1, "")
    (result,) = read_report(tmp_path / "r" / "report.json").results
    assert 2.60 < result.measured.lower < 2.64
    again = dpaudit(*result.rerun.split()[1:], "--json")
    assert (again.status, lower(again)) == (1, result.measured.lower)
    assert dpaudit("verify", str(tmp_path / "r" / "certificate.json")).status == 0


@pytest.mark.parametrize(
    "text",
    [
        TWO_BY_TWO,
        TWO_BY_TWO.replace(",", ";"),
        "outcome,with_target,without_target\nguessed out,29,477\nguessed in,471,23\n",
        "target,guessed in,guessed out\nwith,471,29\nwithout,23,477\n",
        "run,said out,said in\nnon-members,477,23\nmembers,29,471\n",
        "outcome,without target,with target\nguessed in,23,471\nguessed out,477,29\n",
        "said,non-members,members\nno,477,29\nyes,23,471\n",
        "hits,runs,other_hits,other_runs\n471,500,23,500\n",
        "threshold,hits,runs,false_hits,false_runs\n0.5,471,500,23,500\n",
        "runs\thits\tother_runs\tother_hits\n500\t471\t500\t23\n",
    ],
)
def test_a_file_says_the_same_as_options(dpaudit, tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    one, other = (
        dpaudit("table", str(tmp_path / "t.csv"), "--json"),
        dpaudit("table", *ROW, "--json"),
    )
    assert one.status == other.status == 0
    assert lower(one) == lower(other)


def test_each_count_goes_with_the_runs_that_follow_it(dpaudit):
    hits, others = ("--hits", "471", "--of=600"), ("--false-hits", "23", "--of", "500")
    shown = [dpaudit("table", *words) for words in ((*hits, *others), (*others, *hits))]
    assert shown[0].out == shown[1].out
    assert "471 of 600 runs" in " ".join(shown[0].out.split())
    apart = dpaudit("table", "--of", "600", "--hits", "471", "--of", "500", "--false-hits", "23")
    assert apart.status == 2
    assert "--of: got --of --hits --of --false-hits, expected for each row" in apart.err


def test_several_rows_say_the_same_in_either_order(dpaudit):
    found = {lower(dpaudit("table", *rows, "--json")) for rows in ((*ROW, *WEAK), (*WEAK, *ROW))}
    (both,) = found
    assert both < lower(dpaudit("table", *ROW, "--json"))


def test_a_true_claim_is_not_refuted(dpaudit):
    ran = dpaudit("table", *ROW, "--epsilon", "3")
    assert ran.status == 0
    assert "not refuted" in ran.out


def test_a_refutation_that_no_certificate_can_show_says_so():
    result = audit_table([(471, 500, 23, 500)], delta=1e-5, epsilon=2.61)
    assert result.verdict == "refuted"
    assert result.certificate is None
    assert any("No certificate" in one for one in result.notes)


def test_an_attack_that_predicts_the_other_side_is_told(dpaudit):
    ran = dpaudit(
        "table", "--hits", "2", "--of", "50", "--false-hits", "40", "--of", "50", "--json"
    )
    (result,) = json.loads(ran.out)["results"]
    (direction,) = result["assumptions"]
    assert (ran.status, result["measured"]["lower"], direction["holds"]) == (0, 0.0, False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("table",), "FILE: got no file"),
        (("table", "--hits", "1", "--of", "2"), "--of: got 1 --hits, 0 --false-hits and 1 --of"),
        (("table", *ROW[:3], "400", *ROW[4:]), "hits: got 471, expected at most the 400 runs"),
        (("table", *ROW, "--epsilon", "-1"), "epsilon: got -1"),
        (("table", *ROW, "--confidence", "1"), "confidence: got 1"),
        (("table", *ROW, "--delta", "2"), "delta: got 2"),
        (("table", "--hits", "1.5", *ROW[2:]), "--hits: got '1.5', expected an integer"),
        (("spend", "new", "b.jsonl", "--order", "x"), "--order: got 'x', expected a number"),
        (("table", "missing.csv"), "missing.csv: cannot be read"),
    ],
)
def test_what_is_malformed_is_named(dpaudit, words, said):
    ran = dpaudit(*words)
    assert ran.status == 2
    assert said in ran.err


def test_columns_may_have_blanks_and_capitals(dpaudit, tmp_path):
    text = "Attack;Hits;Runs;Other hits;Other-runs\nLiRA;471;500;23;500\n"
    (tmp_path / "t.csv").write_text(text)
    ran = dpaudit("table", str(tmp_path / "t.csv"), "--json")
    assert json.loads(ran.out)["results"][0]["measured"]["lower"] == pytest.approx(2.628, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "is no table of an attack"),
        ("attack,TP,FP\nLiRA,471,23\nloss,300,100\n", "its first line is 'attack, TP, FP', exp"),
        ("hits,runs,other_hits,other_runs\n", "is no table of an attack"),
        ("hits,runs,other_hits,other_runs\n4,x,1,5\n", "line 2: runs: got 'x', expected a count"),
        ("hits,runs,other_hits,other_runs\n4,3,1,5\n", "line 2: hits: got 4"),
        ("o,a,b\nin,1,471,23\nout,29,477\n", "line 2: has 4 cells, and the first line 3"),
        ("o,a,b\nin,1,-2\nout,3,4\n", "line 2: counts: got '-2', expected a count"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(dpaudit, tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    ran = dpaudit("table", str(tmp_path / "t.csv"))
    assert ran.status == 2
    assert said in ran.err


def test_where_nothing_is_claimed_there_is_no_verdict_on_it(dpaudit, tmp_path):
    counts = ("table", "--hits", "471", "--of", "500", "--false-hits", "23", "--of", "500")
    shown = dpaudit(*counts, "--out", str(tmp_path / "report"))
    assert shown.status == 0
    pages = [(tmp_path / "report" / f"report.{kind}").read_text() for kind in ("html", "md")]
    for text in (shown.out, *pages):
        assert "no claim" in text
        assert "ε = —" not in text
    head, _, _ = pages[1].partition("## 1.")
    assert "no number is claimed" in head.lower()
    assert "**not refuted**" not in pages[1]
    claimed = dpaudit(*counts, "--epsilon", "9")
    assert "not refuted" in claimed.out
    assert "no claim" not in claimed.out
