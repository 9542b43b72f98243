"""Audits by looks: planned beforehand, one error probability for all, the same numbers again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.estimators.group_sequential import (
    Look,
    LookClock,
    compute_epsilon_ceiling,
    format_look_plan,
    make_look_seed,
    run_looks,
)
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.orders import ORDERS
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.foreign.isolation import Isolation

PAIR = np.array([1.0]), np.array([0.0])
HERE = Isolation(in_process=True)


def noisy(dataset, trials, rng):
    return dataset.sum() + rng.laplace(scale=0.9, size=trials)


class Machine:
    """A clock that a look moves on: a start, and so many seconds a trial."""

    def __init__(self, start, pace):
        self.seconds, self.start, self.pace = 0.0, start, pace

    def looks(self, budget, probed=None, trials=10_000):
        found = []
        pace = (self.pace if probed is None else probed) / 8
        for look in LookClock(budget, trials, pace, 0.0, lambda: self.seconds).plan_looks():
            self.seconds += self.start + look.trials * self.pace
            found.append(look)
        return found


MACHINES = [(1.0, 1e-6), (0.0, 1e-3), (5.0, 1e-5), (0.1, 0.05), (3.0, 1e-9), (20.0, 1e-6)]


@pytest.mark.parametrize("budget", [0.5, 10.0, 60.0, 3600.0])
@pytest.mark.parametrize(("start", "pace"), MACHINES)
def test_looks_spend_one_error_probability_and_about_the_time(start, pace, budget):
    machine = Machine(start, pace)
    found = machine.looks(budget)
    assert sum(look.share for look in found) <= 1
    assert [look.share for look in found[:-1]] == [0.2 / 2**k for k in range(1, len(found))]
    assert all(one.trials <= two.trials for one, two in pairwise(found))
    assert machine.seconds <= max(1.05 * budget, start + found[0].trials * pace)
    if start < budget / 5:
        assert found[-1].share == 0.8
        assert machine.seconds > budget / 3


@pytest.mark.parametrize("error", [0.1, 10.0])
def test_a_wrong_pace_of_the_probe_is_mended_by_looks(error):
    machine = Machine(0.5, 1e-6)
    machine.looks(60.0, probed=error * 1e-6)
    assert 30 < machine.seconds < 63


def evidence(lower, trials=100, trusted=True):
    found = CheckOutcome(
        name="one", statement="two", passed=trusted, statistic=0.0, threshold=0.0, evidence="three"
    )
    return MeasurementEvidence(
        lower=lower,
        upper=None,
        estimate=None,
        estimator="event bound",
        trials=trials,
        budget={"a test": 0.01},
        counts={},
        contract=(found,),
    )


def above_one(evidence):
    return evidence.lower - 1.0


@pytest.mark.parametrize(
    ("lowers", "trusted", "count", "shown"),
    [
        ([0.1, 0.3, 0.2], True, 3, 0.3),
        ([0.1, 1.3, 2.0], True, 2, 1.3),
        ([0.4, 0.2, 2.0], False, 1, 0.4),
    ],
)
def test_a_refutation_or_a_broken_contract_ends_it(lowers, trusted, count, shown):
    looks = [Look(100, 0.1), Look(800, 0.05), Look(6400, 0.8)]

    def measure(number, look):
        assert look == looks[number - 1]
        return evidence(lowers[number - 1], look.trials, trusted)

    found, made = run_looks(iter(looks), measure, above_one)
    assert (made, found.lower, len(found.budget)) == (looks[:count], shown, count)
    assert found.trusted is trusted


def test_what_a_broken_look_saw_is_not_shown_as_an_earlier_ones():
    found, _ = run_looks(
        iter([Look(100, 0.1), Look(200, 0.8)]),
        lambda number, look: evidence(0.5 / number, trusted=number == 1),
        above_one,
    )
    assert not found.trusted


def timed_audit():
    """Return an audit that had a second, or more where a busy machine takes it."""
    for seconds in (1.0, 2.0, 4.0):
        with suppress(InvalidArgument):
            return dpaudit.audit(noisy, *PAIR, epsilon=3.0, time=seconds, isolation=HERE)
    return dpaudit.audit(noisy, *PAIR, epsilon=3.0, time=8.0, isolation=HERE)


def test_the_looks_of_a_report_give_the_same_numbers():
    timed = timed_audit()
    assert ", looks=(" in timed.rerun
    names = {"mechanism": noisy, "dataset": PAIR[0], "neighbour": PAIR[1], "dpaudit": dpaudit}
    again = eval(timed.rerun[:-1] + ", isolation=HERE)", names | {"HERE": HERE})
    assert again.measured == timed.measured
    assert (again.counts, again.rerun) == (timed.counts, timed.rerun)


def test_each_look_is_certified_with_its_share_of_fresh_outputs():
    looks = ((1000, 0.1), (2000, 0.8))
    given = {"epsilon": 3.0, "isolation": HERE}
    both = dpaudit.audit(noisy, *PAIR, **given, looks=looks)
    assert [one.alpha for one in both.budget] == pytest.approx([0.005, 0.04])
    hits, other = (both.counts[f"event, {side} hits"] for side in ("favoured", "other"))
    alpha = 0.05 * dict(looks)[both.trials]
    found = joint_lower_bound(hits, other, both.trials, both.trials, delta=0.0, alpha=alpha)
    assert both.measured.lower == pytest.approx(found, rel=1e-6)
    first = dpaudit.audit(noisy, *PAIR, **given, looks=looks[:1])
    other = dpaudit.audit(noisy, *PAIR, **given, looks=((1000, 0.1), (1000, 0.8)))
    assert first.trials == 1000
    assert max(first.measured.lower, 0) <= other.measured.lower
    assert make_look_seed(0, 2) != 0


@pytest.mark.parametrize(
    "change",
    [
        {"time": 0.0},
        {"looks": ()},
        {"looks": ((100, 0.6), (200, 0.6))},
        {"looks": ((3, 0.5),)},
        {"looks": ((100, 0.0),)},
        {"time": 1.0, "until_refuted": True},
    ],
)
def test_what_is_no_plan_is_refused(change):
    with pytest.raises(InvalidArgument):
        Settings(**change)


def test_a_certificate_states_looks_and_never_a_time():
    settings = Settings(looks=[[100, 0.5]])
    assert Settings.read(settings.document()) == replace(settings, looks=((100, 0.5),))
    assert "looks" not in Settings().document()


@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_what_a_plan_says_is_what_no_outputs_can_beat(delta):
    counts = [(hits, other) for hits in range(0, 26, 5) for other in range(0, 26, 5)]
    found = [
        joint_lower_bound(*one, 25, 25, delta=delta, alpha=0.05, order=order)
        for one in counts
        for order in ORDERS
    ]
    assert max(found) == pytest.approx(compute_epsilon_ceiling(25, 0.05, delta))


def test_a_plan_says_what_is_out_of_reach():
    assert "too few to refute it" in format_look_plan(100, 0.05, (9.0, 0.0), 1e-5, None)
    assert "too few" not in format_look_plan(100, 0.05, (1.0, 0.0), 1e-5, None)
    assert "too few to refute it" in format_look_plan(100, 0.05, (3.6, 0.5), 1e-5, None)
