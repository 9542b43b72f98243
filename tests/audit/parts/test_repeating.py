"""A mechanism that repeats itself: what tells its two outputs apart, and when nothing is said."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.estimators.deterministic as deterministic
import dpaudit.auditing.sampling.constant_parts as constant_parts
import dpaudit.auditing.sampling.separate_processes as separate_processes
from dpaudit.auditing.sampling.separate_processes import Against
from dpaudit.errors import MechanismError
from dpaudit.estimation.score_events import Tally
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP

from .common import ALPHA, case_of, certifying_of, check_of

SIDES = [(3.0, 1.0), (1.0, 3.0), (-2.0, 2.0), (2.0, -2.0)]


@pytest.fixture
def audited(monkeypatch):
    """Return the evidence of outputs in 8 processes, and what was drawn alone for it."""
    asked = {}

    def drawn(score, processes, calls, purpose):
        asked["first"] = (processes, calls)
        return asked["outputs"]

    def drawn_alone(drawer, counted, tally, against, wanted):
        asked.update(counted=counted, tally=tally, against=against)
        scores = (counted.score(side[:, None]) for side in asked["outputs"].scores)
        return separate_processes.SeparateOutputs(
            [check_of(True, "alone")], certifying_of(*scores), None
        )

    def same(drawer, counted, known, *, by_score):
        asked["by score"] = by_score
        return constant_parts.Sameness((check_of(True, "same"),), "Always the same.")

    monkeypatch.setattr(separate_processes, "check_lone_outputs", drawn_alone)
    monkeypatch.setattr(constant_parts, "check_sameness", same)

    def run(on_p, on_q, claim=None):
        asked["outputs"] = certifying_of(on_p, on_q)
        claim = ApproximateDP(1.0, 1e-3) if claim is None else claim
        drawer = SimpleNamespace(draw_separately=drawn, mechanism=SimpleNamespace(), sparing=False)
        evidence = deterministic.bound_repeating_event(case_of(claim, 1e-3), drawer, 1000, ALPHA)
        return evidence, asked

    return run


@pytest.mark.parametrize(("on_p", "on_q"), SIDES)
def test_the_event_happens_on_the_dataset_alone_whichever_output_is_larger(on_p, on_q):
    counted = deterministic._telling_apart(certifying_of([on_p] * 4, [on_q] * 4))
    happened = [counted.happened(counted.score(np.full((4, 1), one))) for one in (on_p, on_q)]
    assert [one.tolist() for one in happened] == [[1.0] * 4, [0.0] * 4]


@pytest.mark.parametrize(("on_p", "on_q"), SIDES)
def test_outputs_that_differ_are_judged_as_counts_of_all_and_none(on_p, on_q, audited):
    evidence, asked = audited(np.full(2000, on_p), np.full(2000, on_q))
    assert asked["first"] == (8, 2)
    assert asked["tally"] == Tally((1000, 0), (1000, 1000))
    assert asked["against"] == Against(1.0, 1e-3, ALPHA)
    assert asked["by score"] is False
    assert evidence.lower > 5
    assert [one.name for one in evidence.contract] == ["same", "alone"]
    assert evidence.remark == "Always the same."
    assert evidence.notes[-1].startswith("For one dataset the mechanism returns the same output")
    assert evidence.counts["certifying, per dataset"] == 2000


def test_outputs_that_are_alike_tell_nothing(audited):
    evidence, asked = audited(np.full(100, 2.0), np.full(100, 2.0))
    assert asked["tally"] == Tally((1000, 1000), (1000, 1000))
    assert evidence.lower == 0.0


@pytest.mark.parametrize("side", [0, 1])
def test_processes_that_differ_on_either_side_have_randomness_of_their_own(side, audited):
    sides = [np.full(16, 1.0), np.full(16, 2.0)]
    sides[side][-1] += 1.0
    with pytest.raises(MechanismError, match="same outputs came from two different generators"):
        audited(*sides)


def test_a_curve_is_judged_in_its_own_number(audited):
    evidence, _ = audited(np.full(2000, 3.0), np.full(2000, 1.0), claim=GaussianDP(1.0))
    assert GaussianDP(evidence.lower).epsilon(1e-3) == pytest.approx(evidence.carrying.epsilon)
    assert evidence.at_delta == 1e-3
