"""Audits of questions say what the labels say: some of them here, all in the slow suite."""

import pytest

from benchmarks.dpriv_bench import page
from benchmarks.dpriv_bench.functions import VARIANTS
from benchmarks.dpriv_bench.questions import EPSILON, MECHANISMS, RECORDS, Question
from benchmarks.dpriv_bench.run import Audits, Options, asked_of, decided, said_of

STANDARD = Options()


def test_audits_of_some_questions_say_what_the_labels_say():
    # Most sensitive from an end of [0, 1] to the middle.
    holds, fails = (said_of(one, STANDARD) for one, _ in asked_of("laplace", [19]))
    assert holds[0] == "proved"
    assert fails[0] == "refuted"
    assert holds[1] < EPSILON < fails[1] < 2 * EPSILON
    # Of six records half the noise is enough: the pair that moves it by 1/2 is found.
    (one,) = (one for one in VARIANTS if one.statistic.number == 21)
    asked = Question(one.statistic, MECHANISMS["laplace"], label=False, records=one.records)
    verdict, lower = said_of(asked, STANDARD)
    assert verdict == "proved"
    assert EPSILON / 2 < lower < EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_all_questions_are_decided_as_the_labels_say(name):
    rows = [vars(decided(name, one, Audits(STANDARD, {}), why)) for one, why in asked_of(name)]
    asked, variants = ([row for row in rows if bool(row["why"]) is of] for of in (False, True))
    assert len(asked) == 98
    assert [row for row in asked if not page.agrees(row)] == []
    assert {row["verdict"] for row in variants} <= {"not refuted", "proved"}
    assert {row["records"] for row in asked} == {RECORDS}
