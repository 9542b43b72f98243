"""``dpaudit selftest``: what it shows, writes and returns."""

import json
import threading
from dataclasses import replace

import pytest

import dpaudit.selftest.answers as answers
import dpaudit.selftest.run as selftest_run
import dpaudit.selftest.verdicts.counting as counting
from dpaudit.attacks.distinguishers.known_answers import SUITE
from dpaudit.cli.main import main
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.selftest.black_box import SelfTestBudget
from dpaudit.selftest.estimators import CASES, CONTROLS
from dpaudit.selftest.run import QUICK, SelfTest, run
from dpaudit.selftest.write import (
    answer_columns,
    answer_rows,
    format_selftest_sentences,
    make_selftest_document,
)

BUDGET = SelfTestBudget(learning=2000, judging=1000, choosing=2000, certifying=2000, least=2000)
CHEAP = [case for case in CASES if case.estimator == "one run"]
CAUGHT = [case for case in CONTROLS if case.estimator == "exact loss, lower end 5% too large"]
CAUGHT = [replace(case, share=2.0) for case in CAUGHT]


class Entry:
    """An installed entry point."""

    name, group, value = (
        "known",
        answers.GROUP,
        "dpaudit.attacks.distinguishers.known_answers:SUITE",
    )


@pytest.fixture
def small(monkeypatch):
    return made_small(monkeypatch)


def made_small(monkeypatch):
    """Make a self-test of a few audits, on what is installed or not."""
    monkeypatch.setattr(answers, "entry_points", lambda group: [Entry])
    monkeypatch.setattr(selftest_run, "CASES", CHEAP)
    monkeypatch.setattr(selftest_run, "CONTROLS", CAUGHT)
    quick = replace(QUICK, audits=50, budget=BUDGET)
    monkeypatch.setattr(selftest_run, "QUICK", quick)
    monkeypatch.setattr(counting, "_QUICK", 1)
    chosen = {"laplace", "svt-5"}
    few = lambda published: {  # noqa: E731
        name: one for name, one in SUITE.answers(published=published).items() if name in chosen
    }
    suite = replace(SUITE, answers=few, learners=SUITE.learners[:2])
    monkeypatch.setattr(answers, "load_reference", lambda what, reference: suite)
    return quick


def status(*arguments):
    with pytest.raises(SystemExit) as left:
        main(["selftest", "--workers", "1", *arguments])
    return left.value.code


def test_it_passes_and_writes_four_files_that_agree(small, tmp_path, capsys):
    assert status("--out", str(tmp_path)) == 0
    shown = capsys.readouterr().out
    assert "Passed." in shown
    assert "caught" in shown
    found = json.loads((tmp_path / "selftest.json").read_text(encoding="utf-8"))
    assert found["passed"]
    assert [one["name"] for one in found["known_answers"]] == ["laplace", "svt-5"]
    assert found["known_answers"][1]["true_epsilon"] is None  # infinite
    page = (tmp_path / "selftest.html").read_text(encoding="utf-8")
    text = (tmp_path / "selftest.md").read_text(encoding="utf-8")
    for part in ("laplace", "svt-5", "one run", "broken, refuted", "correct, not refuted"):
        assert part in page
        assert part in text
    assert "<svg" in page
    assert (tmp_path / "selftest.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_json_is_the_same_document(small, capsys):
    assert status("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"]
    assert {one["made_unsound"] for one in found["estimators"]} == {True, False}


@pytest.mark.slow  # starting workers takes longer than all the rest
def test_no_number_depends_on_workers(small):
    from dpaudit.execution import Silent

    def numbers(found):
        told = make_selftest_document(found, 1)
        for one in (*told["estimators"], *told["known_answers"]):
            del one["cpu_seconds"]
        return told["estimators"], told["known_answers"]

    assert numbers(run(small, 0, 1, Silent())) == numbers(run(small, 0, 2, Silent()))


@pytest.mark.slow
def test_an_unsound_estimator_fails_it(small, monkeypatch, capsys):
    monkeypatch.setattr(selftest_run, "CASES", [*CHEAP, *CAUGHT])
    monkeypatch.setattr(selftest_run, "CONTROLS", ())
    assert status() == 1
    assert "errs too often" in capsys.readouterr().out


@pytest.mark.slow
def test_a_control_that_is_not_caught_fails_it(small, monkeypatch, capsys):
    monkeypatch.setattr(selftest_run, "CONTROLS", CHEAP[:1])
    assert status() == 1
    assert "was not caught" in capsys.readouterr().out


@pytest.fixture(scope="module")
def measured():
    from dpaudit.execution import Silent

    with pytest.MonkeyPatch.context() as patched:
        return run(made_small(patched), 0, 1, Silent())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lower", "full", "said"),
    [
        ("laplace", 1.1, False, "certified more than the true value"),
        ("laplace", 1.001, True, None),  # a miss, as one in twenty may be
        ("svt-5", 0.5, True, "broken and was not refuted"),
        ("svt-5", 0.5, False, None),  # too few outputs to ask for it
        ("laplace", 0.9, True, None),
    ],
)
def test_what_fails_a_known_answer(measured: SelfTest, name, lower, full, said):
    one = next(one for one in measured.measured if one.name == name)
    changed = replace(one, found=replace(one.found, lower=lower, nearly_certain=lower - 0.02))
    result = replace(measured, full=full, measured=(changed,))
    assert (said is None) == (result.failures == ())
    assert said is None or said in result.failures[0]


def test_without_known_answers_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(answers, "entry_points", lambda group: [])
    with pytest.raises(DpauditError, match="no installed package has known answers"):
        answers.load_known_answers(published=False)


def test_what_is_no_suite_is_refused(monkeypatch):
    monkeypatch.setattr(answers, "entry_points", lambda group: [Entry])
    monkeypatch.setattr(answers, "load_reference", lambda what, reference: 7)
    with pytest.raises(InvalidArgument, match=r"^entry point known: got 7"):
        answers.load_known_answers(published=True)


@pytest.mark.parametrize(("option", "name"), [("--seed", "seed"), ("--workers", "workers")])
def test_bad_numbers_are_one_line(option, name, capsys):
    with pytest.raises(SystemExit) as left:
        main(["selftest", option, "-1"])
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {name}: ")


@pytest.mark.slow
def test_a_correct_answer_that_is_missed_is_shown_as_a_miss(measured: SelfTest):
    one = next(one for one in measured.measured if one.name == "laplace")
    changed = replace(one, found=replace(one.found, lower=1.01, nearly_certain=0.9))
    (row,) = answer_rows(replace(measured, measured=(changed,)))
    assert row[-1] == "correct, refuted; a miss, of which 5% may occur"


@pytest.mark.slow
def test_many_misses_are_too_many(measured: SelfTest):
    one = next(one for one in measured.measured if one.name == "laplace")
    changed = replace(one, found=replace(one.found, lower=1.01, nearly_certain=0.9))
    failed = replace(measured, measured=(changed,) * 10).failures
    assert failed == ("10 of 10 bounds on known answers are above the truth: too many",)


@pytest.mark.slow
def test_another_tool_is_named_only_where_it_has_a_number(measured: SelfTest):
    told = replace(measured, measured=tuple(replace(o, published=0.5) for o in measured.measured))
    for result, said in ((measured, False), (told, True)):
        assert ("DP-Sniper" in answer_columns(result)) == said
        assert ("DP-Sniper" in " ".join(format_selftest_sentences(result))) == said
        assert len(answer_rows(result)[0]) == len(answer_columns(result))


def failed_thread(name, error):
    thread = threading.Thread(name=name)
    return threading.ExceptHookArgs((type(error), error, None, thread))


def test_an_interrupt_shows_no_traceback_of_the_pool(monkeypatch):
    shown = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    with pytest.raises(KeyboardInterrupt), selftest_run._quiet_when_interrupted():
        raise KeyboardInterrupt
    threading.excepthook(failed_thread("ExecutorManagerThread", KeyError(5)))
    assert not shown
    threading.excepthook(failed_thread("ExecutorManagerThread", OSError()))
    threading.excepthook(failed_thread("another", KeyError(5)))
    assert len(shown) == 2


def test_without_an_interrupt_threads_fail_as_before(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", before := [].append)
    with selftest_run._quiet_when_interrupted():
        assert threading.excepthook is not before
    assert threading.excepthook is before
    with pytest.raises(OSError, match="full"), selftest_run._quiet_when_interrupted():
        raise OSError("full")
    assert threading.excepthook is before
