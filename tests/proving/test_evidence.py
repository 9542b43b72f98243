"""Answers that others have: what is proved of known programs, and that nothing false ever is.

Some here; all in the slow suite.
"""

from dataclasses import asdict

import pytest

import dpaudit
from benchmarks.checkdp import run as checkdp
from benchmarks.dpriv_bench.functions import STATISTICS, VARIANTS
from benchmarks.dpriv_bench.questions import ADDITIVE, MECHANISMS, Question
from benchmarks.dpriv_bench.run import proof_of
from benchmarks.proofs import long_traces, page
from benchmarks.proofs.run import CLOSE, Row, proved
from benchmarks.proofs.subjects import SETS, programs
from tests.own_examples import load_example

examples, TWINS = load_example("checkdp"), load_example("replayed").TWINS

SUBJECTS = [
    pytest.param(one, id=f"{name}, {one.name}, {'true' if one.is_right else 'false'}")
    for name, subjects in SETS.items()
    for one in subjects()
]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_false_claim_is_not_proved(subject):
    assert not (proved(subject).is_proved and not subject.is_right)


# DPriv-Bench


@pytest.mark.parametrize("number", sorted(STATISTICS))
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_true_claim_is_proved_and_a_false_one_is_not(name, number):
    true, false = (
        proof_of(Question(STATISTICS[number], MECHANISMS[name], label)) for label in (True, False)
    )
    assert true.verdict == "proved"
    assert false.verdict == "withheld"


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda one: one.statistic.name)
@pytest.mark.parametrize("name", ADDITIVE)
def test_where_half_the_noise_is_enough_it_is_proved(name, variant):
    asked = Question(variant.statistic, MECHANISMS[name], label=False, records=variant.records)
    assert proof_of(asked).verdict == "proved"


# CheckDP


def test_there_are_eight_right_ones_and_nine_wrong_ones():
    assert [sum(not one.wrong for one in examples.PROGRAMS), len(examples.PROGRAMS)] == [8, 17]


def audited(name):
    (subject,) = (one for one in programs() if one.name == name)
    return checkdp.audited(subject, checkdp.Options())[0]


def test_half_the_noise_of_a_sum_is_refuted():
    assert audited("BadPartialSum") == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("subject", list(programs()), ids=lambda one: one.name)
def test_a_wrong_program_is_refuted_and_a_right_one_is_proved(subject):
    assert audited(subject.name) == ("proved" if subject.is_right else "refuted")


# The page


def row(**given):
    standard = {"name": "a | b", "function": "f", "claimed": 1.0, "delta": 0.0, "note": ""}
    standard |= {"relation": "replace-record", "is_right": True, "is_proved": True}
    return Row(**standard | {"epsilon": 1.0, "line": "", "seconds": 0.1} | given)


def written(*rows):
    long = asdict(long_traces.Measured(10**5, 1.0, 0.5, 4.0, 1.0))
    found = [asdict(one) | {"is_close": one.is_close} for one in rows]
    return page.written({"machine": "here", "sets": {"twins": found}, "long": long})


def test_the_page_counts_true_and_false_claims():
    text = written(
        row(),
        row(is_proved=False, epsilon=CLOSE, seconds=0.25),
        row(is_proved=False, epsilon=None, line="f.py:1 in f: sorts"),
        row(is_right=False, is_proved=False, epsilon=2.0),
    )
    assert "| twins | 3 | 1 | 2 | 1 | 0 | 0.25 |" in text
    assert "| a \\| b | `f` | 1; true | — | f.py:1 in f: sorts | 0.10 |" in text
    assert "program of 100,000 operations, reading the code takes\n4.0 CPU s" in text


def test_a_false_claim_that_is_proved_is_counted():
    assert "| twins | 0 | 0 | 0 | 1 | 1 | 0.10 |" in written(row(is_right=False))


# Time


@pytest.mark.slow
def test_a_long_trace_is_read_and_bounded():
    found = long_traces.measured()
    assert found.operations >= 10**5
    assert found.epsilon == pytest.approx(long_traces.ROUNDS / long_traces.EVERY / 10)


def test_sets_hold_what_they_say():
    twins = list(SETS["twins"]())
    assert len(twins) == 2 * (len(TWINS) - 2) == 66
    assert {one.relation for one in twins} == {"replace-record"}
    assert isinstance(dpaudit.Domain(**twins[0].domain), dpaudit.Domain)
