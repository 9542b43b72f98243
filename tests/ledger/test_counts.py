"""The headline says what the rows say."""

from dataclasses import replace

from dpaudit.extension.ledger import CounterexampleEvidence
from dpaudit.ledger.counts import count_rows
from dpaudit.ledger.verdicts import Ledger
from tests.ledger.invented import AUDITS, HERE, INDEX, SIGN, fallen, paper

THIRD = CounterexampleEvidence(f"{HERE}:a_third_is_no_bound")


def count(*papers):
    return count_rows(Ledger(papers, AUDITS).judge_all())


def test_each_row_counts_once_and_each_cause_once():
    counts = count(paper())
    assert (counts.faults, counts.private_faults, counts.misprints, counts.others) == (2, 1, 1, 0)
    assert (counts.proved, counts.private_proved) == (3, 2)
    assert (counts.refuted, counts.repaired, counts.not_settled) == (5, 1, 3)
    assert counts.stipulated == 1
    assert counts.statements + counts.stipulated == len(paper().rows)


def test_a_fault_that_was_handed_on_is_one():
    later = paper(fallen("theirs", THIRD), name="smith2032", causes=(SIGN,))
    both = count(paper(), later)
    assert (both.papers, both.faults, both.refuted) == (2, 2, 6)


def test_a_cause_counts_where_a_row_falls_by_it_and_as_what_it_is():
    natures = {"reading": (0, 0, 1), "assumption": (0, 0, 1), "fault": (1, 0, 0)}
    for nature, expected in natures.items():
        cause = replace(INDEX, nature=nature)
        counts = count(paper(fallen("one", THIRD, cause="index"), causes=(cause, SIGN)))
        assert (counts.faults, counts.misprints, counts.others) == expected


def test_the_headline_has_every_count():
    assert count(paper()).headline == (
        "2 independent faults in one paper, of which 1 touches a privacy guarantee; 1 misprint and "
        "0 readings or assumptions stand apart. Of 11 statements, 3 are proved (2 of them about "
        "privacy), 5 are refuted as printed (1 of them repaired), and 3 are not settled."
    )
