"""The ledger on the command line: all of it, one paper, one cause, one row."""

import json
from types import SimpleNamespace

import jsonschema
import pytest

from dpaudit.cli import completion
from dpaudit.ledger import installed_papers
from dpaudit.ledger.rules import Cards
from dpaudit.ledger.verdicts import Ledger
from tests.ledger.invented import AUDITS, SIGN, fallen, paper, row

OTHER = paper(
    fallen("theirs", paper().rows[3].evidence, privacy=False),
    row("told", paper().rows[-1].evidence, standing="gloss"),
    name="smith2032",
    causes=(SIGN,),
)


@pytest.fixture(autouse=True)
def invented_papers(monkeypatch):
    claims = {name: SimpleNamespace(question=name == "asked") for name in AUDITS}
    monkeypatch.setattr(
        installed_papers, "make_installed_cards", lambda: Cards(claims=claims, figures={})
    )
    set_papers(monkeypatch, paper(), OTHER)


def set_papers(monkeypatch, *papers):
    monkeypatch.setattr(
        installed_papers, "make_installed_ledger", lambda reports=None: Ledger(papers, AUDITS)
    )


def document(dpaudit, *words):
    ran = dpaudit("ledger", *words, "--json")
    assert ran.status == 0, ran.err
    return json.loads(ran.out)


def test_the_document_is_of_its_schema_and_has_every_row(dpaudit):
    found = document(dpaudit)
    jsonschema.validate(found, json.loads(dpaudit("schema", "ledger").out))
    names = [one["name"] for part in found["papers"] for one in part["rows"]]
    assert names == [one.name for part in (paper(), OTHER) for one in part.rows]
    third = found["papers"][0]["rows"][3]
    assert (third["verdict"], third["cause"]) == ("refuted", "sign")
    assert third["findings"] == [
        {"left": "1/3", "relation": "<=", "right": "1/27", "instance": "one party", "holds": False}
    ]
    assert third["decided"] == ["1/3 <= 1/27 is false (one party)."]
    assert found["counts"]["faults"] == 2


def test_one_paper_and_one_cause_are_less(dpaudit):
    (only,) = document(dpaudit, "smith2032")["papers"]
    assert [one["name"] for one in only["rows"]] == ["theirs", "told"]
    both = document(dpaudit, "--cause", "sign")
    rows = [[one["name"] for one in part["rows"]] for part in both["papers"]]
    assert rows == [["third", "stronger", "abstract"], ["theirs"]]
    assert {one["cause"] for part in both["papers"] for one in part["rows"]} == {"sign"}


def test_the_terminal_shows_causes_verdicts_and_the_headline(dpaudit):
    shown = " ".join(dpaudit("ledger", "smith2031").out.split())
    for words in ("What is wrong", "The noise is too small.", "refuted as printed", "not settled"):
        assert words in shown
    assert "2 independent faults in one paper, of which 1 touches a privacy guarantee" in shown


def test_a_row_that_is_no_claim_has_a_page(dpaudit):
    shown = " ".join(dpaudit("show", "derived").out.split())
    assert "derived: eq. (derived)" in shown
    assert "Verdict: not settled" in shown
    assert "It was derived from third, which is refuted. Sum it over t." in shown
    shown = " ".join(dpaudit("show", "third").out.split())
    for words in ("Cause: sign (fault)", "Defence: It was meant", "1/3 <= 1/27 is false"):
        assert words in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("smith2030",), "paper: got 'smith2030', expected one of: smith2031, smith2032"),
        (("--cause", "singn"), "--cause: got 'singn'"),
        (("smith2032", "--cause", "noise"), "--cause: got 'noise', expected one of: sign"),
        (("smith2032", "--markdown"), "--markdown: got 'smith2032'"),
    ],
)
def test_what_is_not_there_is_named(dpaudit, words, said):
    ran = dpaudit("ledger", *words)
    assert ran.status == 2
    assert said in ran.err


def test_a_ledger_that_breaks_a_rule_is_not_shown(dpaudit, monkeypatch):
    set_papers(monkeypatch, paper(fallen("third", paper().rows[3].evidence, defence="")))
    ran = dpaudit("ledger", "smith2031")
    assert (ran.status, ran.out) == (2, "")
    assert "third: defence: got ''" in ran.err


def test_papers_are_listed_with_what_they_come_to(dpaudit):
    shown = " ".join(dpaudit("list", "papers").out.split())
    assert "independent faults in two papers" in shown


def test_papers_and_causes_complete():
    assert "hu2020" in completion.complete_papers("hu")
    assert completion.complete_causes("no such cause") == []
