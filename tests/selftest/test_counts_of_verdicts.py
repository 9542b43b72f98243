"""Which verdicts are errors: of private mechanisms those that refute, of broken ones the others."""

from __future__ import annotations

import math
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from dpaudit.errors import MechanismError
from dpaudit.selftest import run as run_module
from dpaudit.selftest import write
from dpaudit.selftest.run import CERTAIN, FULL, QUICK, Rate, SelfTest
from dpaudit.selftest.verdicts import counting, mechanisms
from dpaudit.selftest.verdicts.counting import KEPT, NOMINAL, VARYING

SEEDS = range(4, 6)


@pytest.fixture
def asked(monkeypatch):
    """Return what is asked of an audit; one of the first mechanism refutes."""
    given = []

    @contextmanager
    def folder():
        yield "module"

    def refuted(reference, seed):
        given.append((reference, seed))
        return reference in {f"module:{of[0].__name__}" for of in (PRIVATE, BROKEN)}

    monkeypatch.setattr(counting, "_copy_mechanisms_folder", folder)
    monkeypatch.setattr(counting, "_is_refuted", refuted)
    return given


PRIVATE, BROKEN = mechanisms.PRIVATE, mechanisms.BROKEN


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize(("verdicts", "functions"), [(KEPT, PRIVATE), (VARYING, BROKEN)])
def test_every_mechanism_is_audited_with_every_seed(asked, verdicts, functions, full):
    wrong, audits = verdicts.errors(SEEDS, full=full)
    names = [one.__name__ for one in functions][: None if full else 3]
    assert asked == [(f"module:{name}", seed) for seed in SEEDS for name in names]
    assert audits == 2 * len(names)
    assert wrong == (2 if verdicts.private else 2 * (len(names) - 1))


@pytest.mark.parametrize(("said", "refuted"), [("refuted", True), ("not refuted", False)])
def test_a_refutation_of_the_claim_of_one_counts(monkeypatch, said, refuted):
    given = {}

    class Result:
        verdict = said

    def audited(case, settings, statement):
        given.update(claimed=case.claimed, settings=settings)
        return Result()

    monkeypatch.setattr(counting, "audit_case", audited)
    with counting._copy_mechanisms_folder() as module:
        assert counting._is_refuted(f"{module}:{PRIVATE[0].__name__}", 7) is refuted
    assert given["claimed"].epsilon(0.0) == 1.0
    assert (given["settings"].seed, given["settings"].delta) == (7, 0.0)
    assert given["settings"].confidence == 1 - 1e-6


def test_noise_that_a_process_keeps_is_no_refutation(monkeypatch):
    def refused(*_, **__):
        raise MechanismError("it keeps noise")

    monkeypatch.setattr(counting, "audit_case", refused)
    with counting._copy_mechanisms_folder() as module:
        assert counting._is_refuted(f"{module}:{PRIVATE[0].__name__}", 7) is False


@pytest.mark.parametrize("size", [QUICK, FULL], ids=["quick", "full"])
def test_errors_are_judged_at_the_error_probability_of_one_audit(asked, size):
    found = run_module._test_verdicts_case(KEPT, size, 3)
    seeds = {seed for _, seed in asked}
    assert min(seeds) == 3
    assert len(seeds) == (run_module._SEEDS if size.full else 1)
    (rate,) = found.rates
    assert (rate.misses, rate.audits, rate.nominal) == (len(seeds), len(asked), NOMINAL)
    assert not found.sound
    assert (found.true, found.control, found.law) == (1.0, False, "private mechanisms")


@pytest.mark.parametrize("alpha", [0.05, 1e-3])
def test_a_rate_is_sound_up_to_its_luck_and_no_further(alpha):
    counts = [n for n in range(400) if Rate(n, 400, alpha).sound]
    assert counts == list(range(len(counts)))
    assert 400 * alpha <= counts[-1] <= 400 * alpha + 6 * (400 * alpha) ** 0.5 + 4
    assert CERTAIN < 1e-3


def test_only_answers_whose_truth_is_finite_can_be_missed():
    answers = [(math.inf, False)] * 95 + [(1.0, True)] * 5
    measured = tuple(
        SimpleNamespace(event=event, missed=missed, wrong=False, broken=False)
        for event, missed in answers
    )
    found = SelfTest(full=False, seed=0, tested=(), measured=measured, seconds=0.0)
    assert (found.misses.misses, found.misses.audits) == (5, 5)
    assert "too many" in found.failures[0]
    none = SelfTest(full=False, seed=0, tested=(), measured=measured[:95], seconds=0.0)
    assert none.misses is None


def test_what_may_hardly_ever_err_leaves_the_picture_of_rates_its_scale():
    """An interval of a third over a millionth made dots of all others."""
    about = {"law": "l", "true": 1.0, "closeness": None, "seconds": 0.0, "control": False}
    rare = run_module.EstimatorTest(estimator="rare", rates=(Rate(0, 18, 1e-6),), **about)
    usual = run_module.EstimatorTest(estimator="usual", rates=(Rate(50, 1000, 0.05),), **about)
    axes = Figure().subplots()
    write._draw_error_rates(
        axes, SelfTest(full=False, seed=0, tested=(rare, usual), measured=(), seconds=0.0)
    )
    assert axes.get_xlim()[1] < 3
    assert [text.get_text() for text in axes.texts] == ["0 of 18, of which 1e-6 may err"]
