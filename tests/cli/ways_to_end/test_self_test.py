"""Self-tests."""

import json
from dataclasses import replace

import pytest

import dpaudit.selftest.run as selftest_run
from dpaudit.selftest import answers
from dpaudit.selftest.estimators import CASES

from .runs import interrupt, leave, nothing
from .ways import INTERRUPT, INTERRUPTED, MISSING, SOUND, UNSOUND, Ways

WAYS = Ways()


def selftest(here, *deeds):
    """Run a self-test of one estimator, or one that does something, after the other."""
    (cheap, *_) = (case for case in CASES if case.estimator == "one run")

    def doing(deed):
        def run(*arguments):
            deed()
            return cheap.run(*arguments)

        return run

    cases = [
        replace(cheap, law=f"law {i}", run=doing(deed), share=1.0) for i, deed in enumerate(deeds)
    ]
    here.monkeypatch.setattr(selftest_run, "CASES", cases)
    here.monkeypatch.setattr(selftest_run, "CONTROLS", ())
    here.monkeypatch.setattr(selftest_run, "VERDICTS", ())
    here.monkeypatch.setattr(selftest_run, "QUICK", replace(selftest_run.QUICK, audits=5))
    here.monkeypatch.setattr(answers, "load_known_answers", lambda published: [])
    return here.run("selftest", "--workers", "1", "--out", "out")


@WAYS.end(0, SOUND, "Report: .*selftest.html")
def _a_self_test_that_is_sound(here):
    return selftest(here, nothing)


@WAYS.end(1, UNSOUND, "Report: .*selftest.html")
def _a_self_test_that_is_not(here):
    here.monkeypatch.setattr(selftest_run.EstimatorTest, "sound", False)
    return selftest(here, nothing)


@WAYS.end(2, MISSING, "error: one run on law 0: failed: ended the program with sys.exit.0.*")
def _a_self_test_with_one_that_leaves(here):
    ran = selftest(here, leave, nothing)
    written = json.loads((here.folder / "out" / "selftest.json").read_text())
    assert not written["passed"]
    assert "Unfinished, 1 of 2. Missing: one run on law 0" in " ".join(ran.out.split())
    return ran


@WAYS.end(
    130, INTERRUPTED, "interrupted: 1 of 3 ended; missing: one run on law 1, one run on law 2"
)
def _an_interrupt_of_a_self_test(here):
    ran = selftest(here, nothing, interrupt, nothing)
    written = json.loads((here.folder / "out" / "selftest.json").read_text())
    assert (written["passed"], written["interrupted"]) == (False, True)
    assert [one["name"][-1] for one in written["missing"]] == ["1", "2"]
    return ran


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_of_a_self_test_before_anything_ended(here):
    return selftest(here, interrupt, nothing)


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
