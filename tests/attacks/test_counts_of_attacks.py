"""Numbers that attacks report, by hand: which runs are counted, and what each of them may err."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta

from dpaudit.attacks.canaries import audit
from dpaudit.attacks.canaries.audit import (
    CanaryAudit,
    _estimate_weakest_gaussian,
    _p_value,
    claim_of,
)
from dpaudit.attacks.canaries.records import (
    Canaries,
    _assign_canaries_to_nodes,
    sample_mislabelled_canaries,
)
from dpaudit.attacks.canaries.scores import Margin
from dpaudit.attacks.distinguishers.column_space import ColumnSpaceScore, compute_relative_residuals
from dpaudit.attacks.distinguishers.message_support import (
    MessageSupportParameters,
    _format_distinguished_rows,
    _measure_median_residual,
    _measure_told_right,
)
from dpaudit.attacks.membership.inference import (
    MeanMarginLoss,
    MembershipInference,
    Operating,
    Rate,
    _best_threshold,
    _measure_operating_point,
    infer_membership,
)
from dpaudit.attacks.membership.targets import (
    _split_trials_into_blocks,
    make_mislabelled_pair,
    make_opposed_pair,
    split_columns,
    split_columns_evenly,
)
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.one_run import claim_p_value, gaussian_lower_bound
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.neighbours import REPLACE_LABEL, Pair

ALPHA = 0.05


def rate_of(hits, trials=100, lower=0.0, upper=1.0):
    return Rate(hits=hits, trials=trials, lower=lower, upper=upper)


def operating_of(inside=(0.5, 0.75), outside=(0.125, 0.25), power=1.0):
    return Operating(
        threshold=0.0,
        true_positive=rate_of(50, lower=inside[0], upper=inside[1]),
        false_positive=rate_of(20, lower=outside[0], upper=outside[1]),
        power_bound=power,
    )


def test_an_advantage_lies_between_the_far_ends_of_both_rates():
    assert operating_of().advantage == pytest.approx((0.25, 0.3, 0.625))
    assert rate_of(30, 120).estimate == 0.25


@pytest.mark.parametrize(
    ("best", "rare", "bound", "refuted"),
    [
        ({}, {}, 0.25, False),
        ({}, {}, 0.249, True),
        ({"power": 0.5}, {}, 1.0, False),
        ({"power": 0.499}, {}, 1.0, True),
        ({}, {"power": 0.499}, 1.0, True),
        ({}, {"inside": (0.9, 1.0)}, 0.5, False),  # the advantage is that of the best alone
    ],
)
def test_either_rate_or_the_advantage_refutes(best, rare, bound, refuted):
    found = MembershipInference(
        best=operating_of(**best),
        rare=operating_of(**rare),
        target_rate=0.05,
        advantage_bound=bound,
        confidence=0.95,
    )
    assert found.refuted is refuted


@pytest.mark.parametrize(
    ("inside", "outside", "threshold"),
    [
        ([0.1, 0.2, 0.9], [0.3, 0.4], 0.2),
        ([0.5], [0.1, 0.2], 0.5),  # no threshold has an advantage: the first of none
        ([0.1, 0.1, 0.3, 0.3], [0.1, 0.5, 0.5, 0.5, 0.5], 0.3),
        ([0.2, 0.2], [0.2, 0.2], 0.2),
    ],
)
def test_the_best_threshold_has_the_greatest_advantage(inside, outside, threshold):
    one, other = np.array(inside), np.array(outside)
    found = _best_threshold(one, other)
    advantage = lambda at: np.mean(one <= at) - np.mean(other <= at)  # noqa: E731
    assert advantage(found) == max(advantage(at) for at in np.concatenate([one, other]))
    assert found == threshold


@pytest.mark.parametrize("claim", [None, ApproximateDP(1.0, 1e-3), GaussianDP(0.5)])
def test_losses_at_the_threshold_are_in_and_every_interval_has_its_share(claim):
    inside, outside = np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.5, 0.6, 0.7, 0.8, 0.9])
    found = _measure_operating_point(0.5, inside, outside, claim, ALPHA)
    assert (found.true_positive.hits, found.true_positive.trials) == (3, 4)
    assert (found.false_positive.hits, found.false_positive.trials) == (1, 5)
    share = ALPHA / 4  # one of two rates, and one of two ends
    assert found.true_positive.lower == pytest.approx(beta.ppf(share, 3, 2))
    assert found.true_positive.upper == pytest.approx(beta.ppf(1 - share, 4, 1))
    assert found.false_positive.upper == pytest.approx(beta.ppf(1 - share, 2, 4))
    allowed = 1.0 if claim is None else claim.true_positive_rate(found.false_positive.upper)
    assert found.power_bound == allowed
    assert found.threshold == 0.5


def test_thresholds_are_of_shadow_runs_and_rates_of_fresh_ones():
    calls = []

    def train(dataset, trials, rng):
        calls.append((float(dataset.labels[0]), trials))
        shift = 1.0 if dataset.labels[0] < 0 else 0.0
        return np.full((trials, 2), shift + len(calls))

    data = Dataset(np.eye(2), np.ones(2))
    pair = Pair(data.with_record(0, [1.0, 0.0], -1.0), data, REPLACE_LABEL)
    seen = []

    def loss(models, features, label):
        seen.append((features.tolist(), label))
        return models[:, 0]

    found = infer_membership(
        train,
        pair,
        None,
        shadow_trials=20,
        trials=30,
        record_loss=loss,
        rng=np.random.default_rng(0),
    )
    assert calls == [(-1.0, 20), (1.0, 20), (-1.0, 30), (1.0, 30)]
    assert seen == [([1.0, 0.0], -1.0)] * 4
    assert (found.best.threshold, found.rare.threshold) == (2.0, 2.0)
    assert (found.best.true_positive.hits, found.best.true_positive.trials) == (0, 30)
    assert found.best.true_positive.upper == pytest.approx(1 - (ALPHA / 8) ** (1 / 30))
    assert found.advantage_bound == 1.0


def test_a_loss_is_that_of_the_mean_model():
    models = np.array([[[1.0, 0.0], [3.0, 2.0]], [[0.0, 1.0], [0.0, 5.0]]])
    found = MeanMarginLoss()(models, np.array([1.0, -2.0]), -1.0)
    np.testing.assert_allclose(found, np.log1p(np.exp([2 - 2 * 1.0, 0 - 2 * 3.0])))


def test_a_record_has_the_wrong_label_inside_and_the_right_one_outside():
    data = Dataset([[0.6, 0.8], [0.1, 0.2]], [1, -1])
    pair = make_mislabelled_pair(data, "real")
    assert (pair.dataset.labels[0], pair.neighbour.labels[0]) == (-1.0, 1.0)
    assert pair.dataset.features.tolist() == data.features.tolist()
    crafted = make_mislabelled_pair(data, "crafted")
    least = np.linalg.svd(data.features)[2][-1]
    np.testing.assert_allclose(crafted.dataset.features[0], least)
    turned = make_opposed_pair(split_columns(data, 2), "real")
    assert turned.dataset.features[0].tolist() == [[-0.6], [0.1]]
    assert turned.neighbour.features[0].tolist() == [[0.6], [0.1]]


def test_runs_and_columns_are_dealt_out_whole():
    assert sum(_split_trials_into_blocks(1)) == 1
    blocks = _split_trials_into_blocks(10_001)
    assert sum(blocks) == 10_001
    assert len(set(blocks[:-1])) <= 1
    assert split_columns_evenly(7, 3) == (3, 2, 2)
    assert split_columns_evenly(3, 3) == (1, 1, 1)
    with pytest.raises(InvalidArgument, match="parties: got 4"):
        split_columns_evenly(3, 4)


@pytest.mark.parametrize(
    ("high", "hits"), [((30, 1), (90, 20)), ((49, 20), (80, 10))], ids=["dataset", "neighbour"]
)
def test_messages_are_told_by_the_event_of_the_pilot_on_fresh_ones(high, hits):
    parameters = MessageSupportParameters(messages=100, confidence=0.95, delta=0.0)
    pilots = [np.where(np.arange(50) < count, 1.0, -1.0) for count in high]
    fresh = [np.where(np.arange(100) < count, 1.0, -1.0) for count in (90, 20)]
    found = _measure_told_right(parameters, *pilots, *fresh)
    assert found["told right"] == (90 + 80) / 200
    expected = joint_lower_bound(*hits, 100, 100, delta=0.0, alpha=ALPHA)
    assert found["certified epsilon"] == pytest.approx(expected)


def test_the_larger_of_both_residuals_is_told():
    line, plane = np.eye(3)[:, :1], np.eye(3)[:, :2]
    score = ColumnSpaceScore(line, plane, None)
    on_line = np.tile([2.0, 0.0, 0.0], (4, 1, 1))
    on_plane = np.tile([3.0, 4.0, 0.0], (4, 1, 1))
    assert _measure_median_residual(score, (on_line, on_plane), (line, plane)) == 0.0
    assert _measure_median_residual(score, (on_line, on_plane), (plane, line)) == pytest.approx(0.8)
    assert _measure_median_residual(score, (on_plane, on_line), (line, plane)) == pytest.approx(0.8)
    np.testing.assert_allclose(compute_relative_residuals(on_plane, line), 0.8)


def test_what_all_messages_certify_is_said_of_those_told_apart():
    parameters = MessageSupportParameters(messages=100, confidence=0.95)
    rows = [
        {"noise on": "parameter", "sigma": 1.0, "told right": 1.0},
        {"noise on": "whitened", "sigma": 2.0, "told right": 0.75},
        {"noise on": "message", "sigma": 3.0, "told right": 1.0},
    ]
    apart, missed = _format_distinguished_rows(parameters, rows)
    assert "parameter at sigma = 1)" in apart
    assert "message" not in apart.split("the message stays")[0]
    most = -math.log(20 ** (1 / 200) - 1)
    assert f"{most:.3g} at the most" in apart
    assert "whitened at sigma = 2" in missed
    assert "0.75 are told right" in missed


def test_several_plans_pay_for_the_p_value_and_the_least_of_them_counts():
    claim = ApproximateDP(1.0, 1e-5)
    counts = [(15, 20), (48, 50)]
    least = min(claim_p_value(right, plan, 100, claim) for right, plan in counts)
    assert _p_value(counts, 100, claim) == pytest.approx(2 * least)
    assert _p_value([(0, 20), (0, 50)], 100, claim) == 1.0
    bounds = [gaussian_lower_bound(right, plan, 100, alpha=0.01) for right, plan in counts]
    assert _estimate_weakest_gaussian(counts, 100, 0.01).mu == max(bounds) > min(bounds)


def test_one_run_is_judged_at_the_confidence_and_on_its_own_coins(monkeypatch):
    asked = {}
    coins = np.where(np.arange(300) % 3, 1, -1).astype(np.int8)
    canaries = Canaries(np.eye(300), np.ones(300), np.zeros(300, dtype=int))
    data = Dataset(np.eye(300) / 2, np.ones(300))
    monkeypatch.setattr(audit, "draw_coins", lambda count, rng: coins)

    def sampled(mechanism, dataset, trials, rng):
        asked["labels"] = dataset.labels[300:]
        return np.zeros((1, 1))

    monkeypatch.setattr(audit, "draw_checked_sample", sampled)
    found = audit.one_run_audit(
        None,
        lambda output, canaries: coins.astype(float),
        data,
        canaries,
        ApproximateDP(1.0, 1e-5),
        delta=1e-5,
        confidence=0.9,
        plans=(20, 50, 400),
        rng=None,
    )
    assert asked["labels"].tolist() == coins.tolist()
    assert (found.guesses, found.correct, found.canaries) == (50, 50, 300)
    mu = gaussian_lower_bound(50, 50, 300, alpha=0.05)
    assert found.if_gaussian == pytest.approx(GaussianDP(mu).epsilon(1e-5))
    assert found.claimed == 1.0
    assert found.p_value == pytest.approx(2 * claim_p_value(50, 50, 300, ApproximateDP(1.0, 1e-5)))


@pytest.mark.parametrize(("lower", "refuted"), [(1.0, False), (1.001, True)])
def test_only_a_bound_above_the_claim_refutes(lower, refuted):
    found = CanaryAudit(
        lower=lower,
        if_gaussian=2.0,
        claimed=1.0,
        p_value=0.5,
        guesses=20,
        correct=19,
        canaries=100,
        delta=1e-5,
        confidence=0.95,
        seconds=0.0,
    )
    assert found.refuted is refuted
    assert ("which is refuted" in found.words) is refuted


def test_an_empty_partner_halves_what_is_proved():
    algorithm = audit.calibrate_multistep(2.0, 1e-5, 3, iterations=4, inner_steps=9)
    mu = 6 / algorithm.noise_multiplier
    assert claim_of(algorithm, "flipped").mu == pytest.approx(mu)
    assert claim_of(algorithm, "empty").mu == pytest.approx(mu / 2)
    assert claim_of(algorithm, "flipped").epsilon(1e-5) == pytest.approx(2.0)


@pytest.mark.parametrize("partner", ["flipped", "empty"])
def test_a_coin_puts_the_canary_or_its_partner_behind_its_node(partner):
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    canaries = Canaries(features, np.array([1.0, -1.0, 1.0]), np.array([0, 1, 1]), partner)
    data = Dataset([[0.5, 0.0], [0.0, 0.5], [0.1, 0.1]], [1, 1, -1], node_sizes=(2, 1))
    found = canaries.insert(data, np.array([-1, 1, -1], dtype=np.int8))
    assert found.node_sizes == (3, 3)
    zero = partner == "empty"
    assert found.features[2].tolist() == ([0.0, 0.0] if zero else [1.0, 0.0])
    assert found.features[4].tolist() == [0.0, 1.0]
    assert found.features[5].tolist() == ([0.0, 0.0] if zero else [0.6, 0.8])
    assert found.labels[[2, 4, 5]].tolist() == ([1, -1, 1] if zero else [-1, -1, -1])
    with_canary, without = canaries.sides
    np.testing.assert_array_equal(with_canary, [[1, 0], [0, -1], [0.6, 0.8]])
    np.testing.assert_array_equal(without, 0 * with_canary if zero else -with_canary)
    assert not canaries.remove(data).features[[2, 4, 5]].any()


def test_canaries_are_dealt_evenly_and_wrong_labels_are_wrong():
    data = Dataset(np.eye(6) / 2, [1, 1, 1, -1, -1, -1], node_sizes=(2, 2, 2))
    assert _assign_canaries_to_nodes(data, 5).tolist() == [0, 0, 1, 1, 2]
    found = sample_mislabelled_canaries(data, 6, np.random.default_rng(0))
    rows = np.argmax(found.features, axis=1)
    assert sorted(rows.tolist()) == list(range(6))
    assert (found.labels == -data.labels[rows]).all()


def test_a_margin_is_that_of_the_own_node_less_the_mean_of_all():
    canaries = Canaries(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0]), np.array([0, 1]))
    first = np.full((2, 2), 9.0)
    last = np.array([[3.0, 1.0], [1.0, 5.0]])
    found = Margin()(np.stack([first, last]), canaries)
    assert found.tolist() == [3.0 - 2.0, -2.0 * (5.0 - 3.0)]
