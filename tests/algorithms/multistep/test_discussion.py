"""Section 4.2 and Note 1: the rate without privacy, larger l, and utility with batches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dpaudit.algorithms.multistep.claims import inner_steps, note1, section42
from dpaudit.algorithms.multistep.claims.discussion import Both, least_risk, most_risk, over_t
from dpaudit.algorithms.multistep.claims.star import SLACK, StarSetting, compute_utility_sides
from dpaudit.algorithms.multistep.claims.utility import UtilityRun
from dpaudit.algorithms.multistep.verify import inner_steps as inner_steps_verifier
from dpaudit.algorithms.multistep.verify import note1 as note1_verifier
from dpaudit.algorithms.multistep.verify import section42 as section42_verifier
from dpaudit.errors import DataError, InvalidArgument

RATE, LARGER, BATCHES = section42.CLAIM, inner_steps.CLAIM, note1.CLAIM
VERIFIERS = {
    RATE.name: section42_verifier.recompute,
    LARGER.name: inner_steps_verifier.recompute,
    BATCHES.name: note1_verifier.recompute,
}
SMALL = {
    RATE.name: {"iterations": 100, "constant": 0.5},
    LARGER.name: {"iterations": 10},
    BATCHES.name: {},
}


def named(given):
    return getattr(given, "name", str(given))


def quick(card, **further):
    return {"parameters": SMALL[card.name] | further, "trials": 1_500 if card == BATCHES else 600}


@pytest.mark.parametrize("card", [RATE, LARGER, BATCHES], ids=named)
def test_the_published_claims_are_refuted_and_verified(audited, plain, judged, card):
    found = audited(card, **quick(card))
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), VERIFIERS[card.name])
    assert verdict.failures == ()
    assert verdict.ratio > 1
    assert {one.name for one in found.result.assumptions} == set(card.assumptions)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("card", [RATE, LARGER, BATCHES], ids=named)
def test_the_default_budget_refutes_on_three_seeds(audited, card, seed):
    assert audited(card, seed=seed).result.verdict == "refuted"


@pytest.mark.parametrize(
    ("card", "true"),
    [
        (RATE, {"constant": 10.0}),
        (LARGER, {"factor": 1e6}),
        (BATCHES, {"lipschitz": "node"}),
        (BATCHES, {"factor": 5.0}),
    ],
    ids=named,
)
def test_true_variants_are_not_refuted(audited, card, true):
    found = audited(card, **quick(card, **true))
    assert found.result.verdict == "not refuted"
    assert found.certificate is None


def kink(iterations, inner=1, records=10**12):
    """Return runs of one node that jumps over its target, and creeps back."""
    star = StarSetting(
        nodes=1, iterations=iterations, inner_steps=inner, records=records, epsilon=1.0, delta=1e-5
    )
    batch = {
        "penalty": np.ones(1),
        "target": np.array([[0.2, 0.0]]),
        "slopes": np.array([[1.0, 0.2, 0.5]]),
    }
    return UtilityRun(star, batch)


def test_the_error_falls_like_the_root_of_t_and_not_like_t():
    """The error times t is twice as large when t is four times as large, about."""
    risks = {}
    for around in (25, 100, 400):
        found = [float(kink(t).both.risk[0]) for t in range(around - 9, around + 1)]
        risks[around] = np.mean(found) * around
    assert 1.4 < risks[100] / risks[25] < 3.5
    assert 1.4 < risks[400] / risks[100] < 3.5


def test_what_eq_24_has_over_t():
    star = StarSetting(nodes=3, iterations=5, inner_steps=2, records=10**9, epsilon=1.0, delta=1e-5)
    batch = {
        "penalty": np.array([0.7]), "target": np.array([[0.5, 0.1]]), "slopes": np.ones((1, 3))
    }  # fmt: skip
    found = compute_utility_sides(star, batch)
    beta = found.beta[0]
    # |N_i| is 2 at the centre and 1 at the two leaves
    by_hand = (1 + sum(degree * (0.7 + beta**2 / 0.7) for degree in (2, 1, 1))) / 5
    assert over_t(star, found)[0] == pytest.approx(by_hand, rel=1e-12)


def test_the_bounds_on_a_risk_hold_of_runs_with_noise():
    """Drawn: noisy steps of one node, whose risk is between the two bounds."""
    found = kink(30, records=10**6)
    star, (target,), (slopes,) = found.star, found.batch["target"], found.batch["slopes"]
    rng, runs = np.random.default_rng(0), 20_000
    w, total = np.zeros((runs, 2)), np.zeros((runs, 2))
    for k, r in star.schedule:
        total += w
        along, across = (w - target).T
        pieces = np.stack([slopes[0] * along, -slopes[1] * along, slopes[2] * across, 0 * along])
        active = pieces.argmax(axis=0)
        slope = np.array([[slopes[0], 0], [-slopes[1], 0], [0, slopes[2]], [0, 0]])[active]
        eta = star.eta(k, r)
        w = w - slope / eta + star.noise / np.sqrt(2) / eta * rng.standard_normal((runs, 2))
    along, across = (total / star.steps - target).T
    risk = np.stack([slopes[0] * along, -slopes[1] * along, slopes[2] * across, 0 * along]).max(0)
    error = 4 * risk.std() / np.sqrt(runs)
    assert least_risk(found) <= risk.mean() + error
    assert risk.mean() - error <= most_risk(found)
    assert most_risk(found) - least_risk(found) < 4 * SLACK


def test_both_runs_have_the_same_loss_and_penalty():
    both = Both(kink(20, inner=4), dataclasses.replace(kink(20).star, inner_steps=2))
    assert both.fewer.batch is both.many.batch
    assert both.fewer.star.inner_steps == 2


@pytest.mark.parametrize(
    ("card", "value", "path", "named"),
    [
        (RATE, 0.0, ("parameters", "constant"), "constant"),
        (RATE, 0.0, ("parameters", "beta"), "beta"),
        (LARGER, 5, ("parameters", "fewer_steps"), "parameters.fewer_steps"),
        (LARGER, 0.0, ("parameters", "factor"), "factor"),
        (LARGER, 401, ("parameters", "iterations"), "parameters.iterations"),
        (BATCHES, [-1.0, 0.0, 0.0], ("instance", "slopes"), "instance.slopes"),
    ],
    ids=named,
)
def test_a_malformed_certificate_names_the_field(
    audited, plain, judged, changed, card, value, path, named
):
    document = changed(plain(audited(card, **quick(card)).certificate), value, *path)
    with pytest.raises(DataError, match=named):
        judged(document, VERIFIERS[card.name])


@pytest.mark.parametrize("card", [RATE, LARGER, BATCHES], ids=named)
def test_a_steeper_loss_and_a_kink_are_seen(audited, plain, judged, changed, card):
    document = plain(audited(card, **quick(card)).certificate)
    steep = changed(document, lambda old: [2 * one for one in old], "instance", "slopes")
    assert judged(steep, VERIFIERS[card.name]).failures
    slack = changed(document, 0.9, "parameters", "slack")
    assert judged(slack, VERIFIERS[card.name]).failures


def test_bad_input_is_named(audited):
    with pytest.raises(InvalidArgument, match=r"^fewer_steps: "):
        audited(LARGER, parameters={"fewer_steps": 5})
    for card in (RATE, LARGER, BATCHES):
        with pytest.raises(InvalidArgument, match=r"^data: "):
            audited(card, data="breast-cancer")
