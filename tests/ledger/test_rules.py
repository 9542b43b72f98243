"""Each rule of a ledger names what breaks it, and the invented paper breaks none."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from dpaudit.errors import DpauditError
from dpaudit.extension.ledger import (
    AuditEvidence,
    Consequence,
    CounterexampleEvidence,
    ReproductionEvidence,
)
from dpaudit.ledger.rules import Cards, find_errors, require_sound
from dpaudit.ledger.verdicts import Ledger
from tests.ledger.invented import AUDITS, CAUSES, HERE, INDEX, ROWS, SIGN, fallen, paper, row

CARDS = Cards(
    claims={name: SimpleNamespace(question=name == "asked") for name in AUDITS},
    figures={"figure1": SimpleNamespace(statements={"faster": "it is faster"})},
)
SQUARES, HOLE = f"{HERE}:squares_are_not_negative", f"{HERE}:proof_with_a_hole"
THIRD = CounterexampleEvidence(f"{HERE}:a_third_is_no_bound")


def errors(*papers, cards=CARDS):
    return [str(error) for error in find_errors(Ledger(papers, AUDITS), cards)]


def changed(name, **fields):
    """Return the invented paper with one row that is different."""
    return paper(*(replace(one, **fields) if one.name == name else one for one in ROWS))


def test_the_invented_paper_keeps_every_rule():
    assert errors(paper()) == []
    require_sound(Ledger([paper()], AUDITS), CARDS)


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (changed("third", cause=""), "third: cause: got ''"),
        (changed("third", defence=""), "third: defence: got ''"),
        (changed("audited", answer=""), "audited: answer: got ''"),
        (changed("third", cause="singn"), "third: cause: got 'singn', expected one of"),
        (changed("square", cause="sign"), "square: cause: got 'sign', expected none"),
        (changed("definition", repair="1/3"), "definition: repair: got '1/3', expected none"),
        (changed("square", repair_check=SQUARES), "square: repair_check: got"),
        (changed("third", repair_check=SQUARES), "third: repair: got '', expected one"),
        (changed("printed", repair_check=HOLE), "whose findings all hold (t = 2)"),
        (changed("printed", repair_check=f"{HERE}:undocumented_proof"), "proof in its docstring"),
        (changed("audited", evidence=AuditEvidence("audit")), "audited: claim: got 'audit'"),
        (changed("open", evidence=ReproductionEvidence("figure2", "faster")), "got 'figure2'"),
        (changed("open", evidence=ReproductionEvidence("figure1", "slower")), "got 'slower'"),
        (changed("derived", evidence=Consequence("tird", "It is so.")), "refers to: got 'tird'"),
        (changed("square", evidence=THIRD), "square: cause: got ''"),
        (changed("audited", privacy=False), "smith2031, cause: got 'noise'"),
        (changed("third", privacy=True), "smith2031, cause: got 'sign', expected privacy=True"),
        (paper(causes=(*CAUSES, replace(SIGN, name="unused"))), "cause: got 'unused'"),
        (paper(causes=(*CAUSES, SIGN)), "cause: got 'sign', expected a name of its own"),
        (paper(*(one for one in ROWS if one.name != "tried")), "claim: got 'tried'"),
    ],
)
def test_a_broken_rule_is_named(broken, named):
    found = errors(broken)
    assert any(named in said for said in found), found
    with pytest.raises(DpauditError):
        require_sound(Ledger([broken], AUDITS), CARDS)


def test_a_cause_may_stand_beside_what_is_not_settled():
    assert errors(changed("derived", cause="sign")) == []


def test_a_cause_of_one_name_is_of_one_nature():
    other = paper(
        fallen("theirs", THIRD, cause="index"),
        name="smith2032",
        causes=(replace(INDEX, nature="fault"),),
    )
    assert any("smith2032, cause: got 'index', a fault" in said for said in errors(paper(), other))
    same = paper(fallen("theirs", THIRD, cause="index"), name="smith2032", causes=(INDEX,))
    assert errors(paper(), same) == []


def test_a_cause_is_used_by_what_falls_with_a_row_of_another_paper():
    implied = row("theirs", Consequence("third", "At t = 1.", link="implies"))
    assert errors(paper(), paper(implied, name="smith2032", causes=())) == []
