"""Outputs of a self-test: no purpose and no side shares them, and one luck is shared by all."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.execution import Silent
from dpaudit.selftest import run as run_module
from dpaudit.selftest.answers import Learner
from dpaudit.selftest.black_box import (
    BlackBoxResult,
    SelfTestBudget,
    _AnswerDraws,
    _best_rule,
    _Rule,
    audit,
)
from dpaudit.selftest.run import CERTAIN, QUICK, KnownAnswerAudit, Rate, SelfTest, run

SMALL = SelfTestBudget(learning=3000, judging=500, choosing=3000, certifying=3000, least=500)


class Uniform:
    """A mechanism that returns the draws of its generator."""

    def sample(self, dataset, trials, rng):
        return rng.random((trials, 1))


ANSWER = SimpleNamespace(
    name="uniform",
    mechanism=Uniform(),
    pair=SimpleNamespace(dataset=np.array([0.0]), neighbour=np.array([1.0])),
    delta=0.0,
)


def test_every_purpose_and_side_has_a_stream_of_its_own():
    draws = _AnswerDraws(ANSWER, seed=1)
    purposes = ("learning", "judging", "choosing", "certifying")
    found = [
        draws.outputs(side, 50, purpose).ravel() for side, purpose in product((0, 1), purposes)
    ]
    assert len(np.unique(np.concatenate(found))) == 8 * 50


def test_attacks_are_judged_and_certified_on_outputs_that_taught_nothing():
    taught, scored = [], []

    def fit(mechanism, pair, on_p, on_q, rng):
        taught.extend([on_p.ravel(), on_q.ravel()])

        def score(outputs):
            scored.append(outputs.ravel().copy())
            return outputs.ravel()

        return score

    attack = SimpleNamespace(name="watching", load=lambda: fit)
    audit(ANSWER, [Learner(attack)], SMALL, (0.05, 1e-8), 0)
    assert len(taught) == 2
    assert np.intersect1d(np.concatenate(taught), np.concatenate(scored)).size == 0
    # Judged, chosen by and certified on: each output is scored once.
    everything = np.concatenate(scored)
    assert len(np.unique(everything)) == len(everything)


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.5), (0.9, 0.99), (0.5, 0.1), (0.99, 0.9)])
def test_an_event_favours_the_dataset_above_a_threshold_and_the_neighbour_below(p, q):
    trials = 1000
    below = np.array([[round(p * trials)], [round(q * trials)]])
    promise, rule, rates = _best_rule(np.array([0.0]), below, trials, 0.0)
    assert (promise > 0) is (p < q)
    if p < q:
        assert rates == pytest.approx((1 - p, 1 - q) if rule.above else (q, p))
    above, under = (_Rule(way, 0.0).hits(below, trials) for way in (True, False))
    assert above == (trials - below[0, 0], trials - below[1, 0])
    assert under == (below[1, 0], below[0, 0])


def test_known_answers_share_one_error_probability(monkeypatch):
    spent = []

    def measured(answer, learners, budget, alphas, seed):
        spent.append(alphas)
        raise run_module.MechanismError("only the error probabilities are looked at")

    monkeypatch.setattr(run_module, "_measure_known_answer", measured)
    monkeypatch.setattr(run_module, "CASES", ())
    monkeypatch.setattr(run_module, "CONTROLS", ())
    monkeypatch.setattr(run_module, "VERDICTS", ())
    monkeypatch.setattr(
        run_module,
        "_run_all_tasks",
        lambda tasks, *_: ([run_module._run_kept_task(*one) for one in tasks], False),
    )
    found = run(QUICK, 0, 1, Silent())
    assert len(spent) == len(found.missing) > 1
    assert sum(certain for _, certain in spent) == pytest.approx(CERTAIN)
    assert {alpha for alpha, _ in spent} == {run_module.ALPHA}


def answer_with(*, lower, nearly=None, claimed=1.0, true=1.0, event=1.0):
    found = BlackBoxResult(
        lower=lower,
        nearly_certain=lower if nearly is None else nearly,
        attack="any",
        hits=1,
        other_hits=0,
        trials=10,
        seconds=0.0,
    )
    about = {"name": "a", "claimed": claimed, "true": true, "event": event, "delta": 0.0}
    return KnownAnswerAudit(**about, published=None, found=found)


def failures(*outcomes, full=True):
    tested = tuple(one for one in outcomes if isinstance(one, run_module.EstimatorTest))
    answers = tuple(one for one in outcomes if isinstance(one, KnownAnswerAudit))
    return SelfTest(full=full, seed=0, tested=tested, measured=answers, seconds=0.0).failures


@pytest.mark.parametrize(
    ("given", "full", "said"),
    [
        ({"lower": 0.9}, True, None),
        # Of sound bounds one in twenty is above the truth, and no bound of a millionth.
        ({"lower": 1.1, "nearly": 0.9}, True, None),
        ({"lower": 1.2, "nearly": 1.1}, True, "certified more"),
        ({"lower": 1.5, "true": 2.0, "event": 2.0}, True, None),
        ({"lower": 0.5, "true": 2.0, "event": 2.0}, True, "is broken and was not refuted"),
        ({"lower": 0.5, "true": 2.0, "event": 2.0}, False, None),
    ],
)
def test_which_known_answers_fail_a_self_test(given, full, said):
    found = [one for one in failures(answer_with(**given), full=full) if "of 1 bounds" not in one]
    assert found == [] if said is None else said in found[0]
    assert len(found) == (said is not None)


def estimator(misses, control):
    rates = tuple(Rate(n, 1000, alpha) for n, alpha in zip(misses, (0.05, 1e-7), strict=True))
    about = {"estimator": "e", "law": "l", "true": 1.0, "closeness": None, "seconds": 0.0}
    return run_module.EstimatorTest(**about, rates=rates, control=control)


@pytest.mark.parametrize(
    ("misses", "control", "fails"),
    [
        ((50, 0), False, False),
        ((200, 0), False, True),
        ((50, 20), False, True),  # sound at one error probability and not at the other
        ((200, 0), True, False),
        ((50, 0), True, True),
    ],
)
def test_which_estimators_fail_a_self_test(misses, control, fails):
    assert (len(failures(estimator(misses, control))) == 1) is fails
