"""The page of every statement: what is wrong, all rows in order, and numbers that stay true."""

from fractions import Fraction

import pytest

from dpaudit.extension.ledger import Finding, OpenQuestion
from dpaudit.ledger.verdicts import JudgedRow, Ledger
from dpaudit.report.findings import deciding_words, finding_words, number_words
from dpaudit.report.statements import render_statements
from tests.ledger.invented import AUDITS, paper, row


@pytest.fixture(scope="module")
def page():
    return render_statements(Ledger([paper()], AUDITS))


def test_the_page_has_every_row_once_and_in_order(page):
    places = [page.index(f'<a id="{row.name}"></a>') for row in paper().rows]
    assert places == sorted(places)
    assert page.count("<a id=") == len(paper().rows)


def test_causes_come_first_with_what_falls_by_them(page):
    wrong, _, rest = page.partition("### All statements")
    assert (
        "- **noise** (fault, touches privacy). The noise is too small. It refutes one statement: "
        in wrong
    )
    assert wrong.index("**sign**") < wrong.index("**index** (misprint)")
    assert wrong.count('<a href="#third">') == 1
    assert "(cause: *sign*)" in rest


def test_a_refuted_row_has_its_numbers_the_defence_and_the_answer(page):
    row = page[page.index('<a id="third">') : page.index('<a id="printed">')]
    for words in (
        "✗ **refuted** (cause: *sign*)",
        "1/3 &lt;= 1/27 is false (one party).",
        "*Defence.* It was meant otherwise.",
        "*Answer.* It is printed so.",
    ):
        assert words in row
    assert "<details>" not in page[page.index('<a id="open">') :]


def test_a_part_that_is_proved_and_the_report_are_shown(page):
    row = page[page.index('<a id="audited">') : page.index('<a id="tried">')]
    assert "✗ **refuted, in part proved**" in row
    assert "small: claimed 1, found at least 2 (steps): proved" in row
    assert "[Report](../reports/audited/report.md)" in row


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (Finding(left=3, relation="=", right=Fraction(6, 2)), "3 = 3 is true"),
        (Finding(left=2, relation="<", right=2, instance="t = 1"), "2 < 2 is false (t = 1)"),
        (Finding(left=0.1, relation="<=", right=0.25), "0.1 <= 0.25 is true"),
        (
            Finding(left=Fraction(10**30 + 1, 3 * 10**30), relation="<=", right=Fraction(1, 3)),
            "about 0.3333 <= 1/3 is false",
        ),
        (
            Finding(left=1.00000001, relation="<=", right=1.00000002),
            "1.00000001 <= 1.00000002 is true",
        ),
        (Finding(left=10**400, relation="<=", right=1), "about 10^400 <= 1 is false"),
    ],
)
def test_numbers_are_exact_or_told_apart(finding, words):
    assert finding_words(finding) == words


def test_a_fraction_beyond_floats_has_its_power_of_ten():
    assert number_words(Fraction(7 * 10**500)) == "about 10^500"
    assert number_words(Fraction(-7, 10**500)) == "about -10^-500"


def test_of_many_findings_those_that_fail_are_shown_first():
    true = [Finding(left=n, relation="=", right=n, instance=f"n = {n}") for n in range(6)]
    false = Finding(left=1, relation="<", right=1, instance="last")
    judged = JudgedRow(
        row=row("many", OpenQuestion("none"), note="x is small"),
        paper="smith2031",
        verdict="refuted",
        findings=(*true, false),
    )
    shown = deciding_words(judged, 2)
    assert shown[:3] == ["1 < 1 is false (last).", "0 = 0 is true (n = 0).", "5 more hold."]
    assert shown[3:] == ["None.", "x is small."]
    assert len(deciding_words(judged)) == 9
