"""Each kind of evidence gives its verdict, and none that says the contrary is believed."""

from dataclasses import replace

import pytest

from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.extension.ledger import (
    AuditEvidence,
    Consequence,
    CounterexampleEvidence,
    ProofEvidence,
    ReproductionEvidence,
)
from dpaudit.ledger.audits import load_published_audits, read_audits
from dpaudit.ledger.figures import FigureRun
from dpaudit.ledger.verdicts import Ledger
from tests.ledger import invented
from tests.ledger.invented import AUDITS, HERE, ROWS, audit, fallen, paper, row

EXPECTED = {
    "definition": "stipulated",
    "square": "proved",
    "corollary": "proved",
    "third": "refuted",
    "printed": "refuted as printed, repaired by 1/3",
    "derived": "not settled",
    "stronger": "refuted",
    "abstract": "refuted",
    "audited": "refuted, in part proved",
    "tried": "not settled, in part proved",
    "standing": "proved",
    "open": "not settled",
}


@pytest.fixture(scope="module")
def ledger():
    return Ledger([paper()], AUDITS)


@pytest.mark.parametrize(("name", "words"), EXPECTED.items())
def test_evidence_gives_its_verdict(ledger, name, words):
    assert ledger.judge(name).verdict_words == words


def test_every_row_of_the_invented_paper_is_expected(ledger):
    assert [one.row.name for one in ledger.judge_all()] == list(EXPECTED)


def test_a_row_falls_by_the_cause_of_the_one_that_it_implies(ledger):
    assert ledger.judge("stronger").cause == ledger.judge("third").cause == invented.SIGN
    assert ledger.judge("abstract").defence == "It was meant otherwise."
    assert ledger.judge("derived").cause is None
    assert ledger.judge("derived").decided_by == ledger.judge("third")


@pytest.mark.parametrize(("link", "verdict"), [("implies", "not settled"), ("restates", "proved")])
def test_what_implies_a_proved_row_is_not_proved_by_that(link, verdict):
    rows = (invented.ROWS[1], row("other", Consequence("square", "Square it.", link=link)))
    assert Ledger([paper(*rows)], {}).judge("other").verdict == verdict


def test_the_part_that_is_proved_is_named(ledger):
    assert [one.variant for one in ledger.judge("audited").partial_proofs] == ["small"]
    assert ledger.judge("standing").partial_proofs == ()


def test_a_repair_that_is_proved_has_the_findings_of_its_proof(ledger):
    printed = next(one for one in ROWS if one.name == "printed")
    proved = replace(printed, repair_check=f"{HERE}:squares_are_not_negative")
    (found,) = Ledger([paper(proved)], AUDITS).judge("printed").repair_findings
    assert found.holds
    assert ledger.judge("printed").repair_findings == ()


def test_variants_count_for_nothing(ledger):
    assert [one.standing for one in ledger.judge("standing").audits] == ["claim"]


def test_a_row_of_another_paper_can_be_followed():
    later = row("later", Consequence("square", "The same text."))
    ledger = Ledger([paper(later, name="smith2032", causes=()), paper()], AUDITS)
    assert ledger.judge("later").verdict == "proved"
    assert ledger.judge("later").decided_by.paper == "smith2031"


def test_a_check_runs_when_it_is_asked_for_and_once():
    invented.CALLS.clear()
    from dpaudit.ledger.checks import run_check

    run_check.cache_clear()
    ledger = Ledger([paper()], AUDITS)
    ledger.judge("third")
    assert invented.CALLS == []
    ledger.judge("corollary")
    ledger.judge_all()
    assert invented.CALLS == ["squares"]


def test_a_claim_without_a_published_audit_is_not_settled():
    assert Ledger([paper(row("a", AuditEvidence("none")))], {}).judge("a").verdict == "not settled"


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (ProofEvidence(f"{HERE}:proof_with_a_hole"), "whose findings all hold (t = 2)"),
        (ProofEvidence(f"{HERE}:undocumented_proof"), "a proof in its docstring"),
        (ProofEvidence(f"{HERE}:failing_check"), "ArithmeticError"),
        (ProofEvidence(f"{HERE}:empty_check"), "one Finding or several"),
        (ProofEvidence(f"{HERE}:check_with_a_word"), "one Finding or several"),
        (ProofEvidence(f"{HERE}:no_such_check"), "can be imported"),
        (ProofEvidence(f"{HERE}:HERE"), "a function without arguments"),
        (CounterexampleEvidence(f"{HERE}:squares_are_not_negative"), "that does not hold"),
        (AuditEvidence("asked"), "not a question"),
    ],
)
def test_evidence_that_does_not_show_its_verdict_names_the_row(evidence, words):
    with pytest.raises(InvalidArgument) as refused:
        Ledger([paper(row("equation7", evidence))], AUDITS).judge("equation7")
    assert str(refused.value).startswith("equation7: ")
    assert words in str(refused.value)


def test_a_check_and_published_audits_do_not_contradict_one_another():
    proof = row("audited", ProofEvidence(f"{HERE}:squares_are_not_negative"))
    with pytest.raises(InvalidArgument, match=r"audited: .*no published audit that refutes it"):
        Ledger([paper(proof)], AUDITS).judge("audited")
    refutation = fallen("held", CounterexampleEvidence(f"{HERE}:a_third_is_no_bound"))
    for audits, contradict in (
        ([audit("held", "proved")], True),
        ([audit("held", "proved"), audit("held", "refuted", variant="large")], False),
    ):
        ledger = Ledger([paper(refutation)], {"held": audits})
        if contradict:
            with pytest.raises(InvalidArgument, match=r"held: .*that allow it"):
                ledger.judge("held")
        else:
            assert ledger.judge("held").verdict == "refuted"


def test_an_unknown_row_and_a_circle_are_named():
    rows = (
        row("a", Consequence("b", "One.")),
        row("b", Consequence("c", "Two.")),
        row("c", Consequence("a", "Three.")),
        row("d", Consequence("square", "It is in no paper here.")),
    )
    ledger = Ledger([paper(*rows)], {})
    with pytest.raises(InvalidArgument, match=r"a -> b -> c -> a"):
        ledger.judge("a")
    with pytest.raises(UnknownName, match="row that d refers to: got 'square'"):
        ledger.judge("d")
    with pytest.raises(UnknownName, match="row: got 'e'"):
        ledger.judge("e")


@pytest.mark.parametrize(
    ("held", "stand_in", "verdict"),
    [
        (True, "", "reproduced"),
        (False, "", "differs"),
        (None, "", "not settled"),
        (True, "made data", "not settled"),
        (False, "made data", "not settled"),
    ],
)
def test_a_figure_that_is_drawn_again_refutes_nothing(held, stand_in, verdict):
    shown = row("figure", ReproductionEvidence("figure1", "faster", stand_in), standing="figure")
    again = row("again", Consequence("figure", "The abstract says so.", link="restates"))
    run = FigureRun(figure="figure1", statement="faster", held=held, evidence="3 epochs")
    ledger = Ledger([paper(shown, again)], {}, {("figure1", "faster"): run})
    assert ledger.judge("figure").verdict == ledger.judge("again").verdict == verdict
    assert ledger.judge("figure").figure_run == run
    assert Ledger([paper(shown)], {}).judge("figure").verdict == "not settled"


def test_two_rows_of_one_name_are_refused():
    with pytest.raises(InvalidArgument, match=r"smith2032, row: got 'square'.* in smith2031"):
        Ledger([paper(), paper(invented.ROWS[1], name="smith2032")], {})


def test_published_audits_are_read_with_their_infinities(tmp_path):
    audits = load_published_audits()
    printed = [one for one in audits["hu2019-theorem1"] if one.standing == "claim"]
    assert [(one.verdict, one.lower) for one in printed] == [("refuted", float("inf"))]
    (tmp_path / "index.json").write_text('{"schema": 1, "audits": [{"label": "x"}]}')
    from dpaudit.errors import DataError

    with pytest.raises(DataError, match="not the index"):
        read_audits(tmp_path / "index.json")
    with pytest.raises(DataError, match="cannot be read"):
        read_audits(tmp_path / "gone.json")
