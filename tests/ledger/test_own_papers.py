"""The ledger of the five papers keeps its rules, and every page says what its rows say."""

import json
import re
from collections import Counter

import pytest

from dpaudit.extension.ledger import AuditEvidence
from dpaudit.extension.registry import CLAIMS, FIGURES, PAPERS, RELEASES
from dpaudit.ledger.counts import count_rows
from dpaudit.ledger.figures import load_published_figures
from dpaudit.ledger.installed_papers import make_installed_cards, make_installed_ledger
from dpaudit.ledger.rules import find_errors
from dpaudit.report.statements import render_statements
from tests.ledger.pages import HEADED, REPORTS, STATEMENTS, headlines_of, with_headline


@pytest.fixture(scope="module")
def ledger():
    return make_installed_ledger()


@pytest.fixture(scope="module")
def judged(ledger):
    return ledger.judge_all()


def test_every_rule_is_kept(ledger):
    assert [str(error) for error in find_errors(ledger, make_installed_cards())] == []


def texts_of(row):
    """Return the sentences of a row."""
    said = [getattr(row.evidence, name, "") for name in ("step", "reason")]
    return " ".join([row.statement, row.repair, row.defence, row.answer, row.note, *said])


def test_sentences_name_rows_that_are_there(judged):
    """By their names: a place such as "the row before" is another one where a row is added."""
    known = {one.row.name for one in judged} | {*CLAIMS} | {*FIGURES} | {*RELEASES}
    for one in judged:
        said = texts_of(one.row)
        assert not re.search(r"\b(?:row before|next rows?|row above)\b", said), one.row.name
        named = re.findall(r"\b(?:hu2019|hu2020|huang2020|tables|zhang2018)-[a-z][\w-]*\w", said)
        assert {*named} <= known, one.row.name


def test_every_paper_has_rows():
    assert len(PAPERS.all()) == 5
    assert all(paper.rows for paper in PAPERS.all().values())


def test_every_claim_of_a_row_was_audited_as_printed(judged):
    rows = [one for one in judged if isinstance(one.row.evidence, AuditEvidence)]
    assert rows
    assert [one.row.name for one in rows if not one.audits] == []


def test_every_published_run_of_a_figure_decides_a_row(judged):
    runs = {(run.figure, run.statement) for one in judged if (run := one.figure_run)}
    assert runs == set(load_published_figures())


def test_the_page_of_every_statement_is_the_ledger(ledger):
    assert STATEMENTS.read_text(encoding="utf-8") == render_statements(ledger), "make statements"


@pytest.mark.parametrize(
    "page", [*HEADED, STATEMENTS, REPORTS / "index.md"], ids=lambda page: page.name
)
def test_pages_have_the_headline_that_the_rows_give(judged, page):
    expected = count_rows(judged).headline
    assert headlines_of(page.read_text(encoding="utf-8")) == [expected], "make statements"


def test_the_command_has_the_same_headline(judged, dpaudit):
    (caption,) = re.findall(
        r"\d+ independent faults.*", " ".join(dpaudit("list", "papers").out.split())
    )
    assert caption == count_rows(judged).headline


def test_the_headline_counts_the_rows(dpaudit):
    """The document's rows, counted again by nothing of the ledger's."""
    found = json.loads(dpaudit("ledger", "--json").out)
    papers, counts = found["papers"], found["counts"]
    verdicts = Counter(row["verdict"] for paper in papers for row in paper["rows"])
    private = [row for paper in papers for row in paper["rows"] if row["privacy"]]
    causes = {cause["name"]: cause["nature"] for paper in papers for cause in paper["causes"]}
    falling = {row["cause"] for row in private if row["verdict"] == "refuted"}
    faults = {name for name, nature in causes.items() if nature == "fault"}
    assert (counts["proved"], counts["refuted"]) == (verdicts["proved"], verdicts["refuted"])
    assert counts["not_settled"] == verdicts["not settled"]
    assert counts["private_proved"] == sum(row["verdict"] == "proved" for row in private)
    assert (counts["faults"], counts["private_faults"]) == (len(faults), len(faults & falling))
    assert counts["misprints"] == sum(nature == "misprint" for nature in causes.values())
    assert counts["misprints"] + counts["others"] + counts["faults"] == len(causes)


def test_a_headline_is_replaced_once_and_read_back():
    page = "# T\n\n**3 independent faults in two\npapers. Of 4, 2.** Rest **bold**.\n"
    assert headlines_of(page) == ["3 independent faults in two papers. Of 4, 2."]
    again = with_headline(page, "7 independent faults in six papers.")
    assert again == "# T\n\n**7 independent faults in six papers.** Rest **bold**.\n"
