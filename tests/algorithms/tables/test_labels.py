"""Theorem 1: the exact law of noisy labels, and that epsilon is reached and never passed."""

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.labels import LabelRelease
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import PureDP
from dpaudit.mechanisms.mechanism import HasLaw
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_TUPLE, Pair

EPSILONS = [0.1, 1.0, 5.0]
CASES = [(LOGISTIC, [1, -1, 1], -1.0), (CrossEntropy(3), [0, 2, 1], 1.0)]
EACH = pytest.mark.parametrize(("loss", "labels", "other"), CASES, ids=["sign", "one-hot"])


def rng(seed=0):
    return np.random.default_rng(seed)


def pair_of(labels, other):
    data = JoinedTables((np.eye(3),), ([0, 1, 2, 2],), labels)
    return Pair(data, data.with_label(2 if len(set(labels)) == 2 else 0, other), REPLACE_LABEL)


def exact_loss(released, old, new, epsilon):
    """Return ``log p / q`` of one label to 50 digits, from the paper's standard deviation."""
    with mpmath.workdps(50):
        scale = 2 * mpmath.sqrt(2) / mpmath.mpf(epsilon) / mpmath.sqrt(2)
        log_p, log_q = (
            mpmath.fsum(
                mpmath.log(mpmath.exp(-abs(mpmath.mpf(o) - mpmath.mpf(m)) / scale) / (2 * scale))
                for o, m in zip(released, mean, strict=True)
            )
            for mean in (old, new)
        )
        return float(log_p - log_q)


@EACH
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_privacy_loss_is_the_ratio_of_densities(loss, labels, other, epsilon):
    release, pair = LabelRelease(epsilon=epsilon, loss=loss), pair_of(labels, other)
    assert isinstance(release, HasLaw)
    outputs = release.sample(pair.dataset, 50, rng())
    ours = release.privacy_loss(outputs, pair)
    old, new = (loss.encode(d.labels)[pair.index] for d in (pair.dataset, pair.neighbour))
    exact = [exact_loss(row[pair.index], old, new, epsilon) for row in outputs]
    np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-13 * max(1, epsilon))


@EACH
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon_is_reached_and_never_passed(loss, labels, other, epsilon):
    release, pair = LabelRelease(epsilon=epsilon, loss=loss), pair_of(labels, other)
    for one in (pair, pair.swapped()):
        losses = release.privacy_loss(release.sample(one.dataset, 20_000, rng()), one)
        assert losses.max() <= epsilon * (1 + 1e-12)
        assert losses.max() == pytest.approx(epsilon, rel=1e-12)
        assert losses.min() == pytest.approx(-epsilon, rel=1e-12)
        # Beyond the true label in every coordinate that differs: a half for each of them.
        coordinates = 1 if loss.margin else 2
        reached = np.mean(losses > epsilon * (1 - 1e-9))
        assert reached == pytest.approx(0.5**coordinates, abs=0.02)
    assert release.guarantee == PureDP(epsilon)


@EACH
def test_noise_of_half_the_deviation_is_refuted(loss, labels, other):
    pair = pair_of(labels, other)
    weak = LabelRelease(epsilon=2.0, loss=loss)
    assert weak.privacy_loss(weak.sample(pair.dataset, 1000, rng()), pair).max() > 1.9


@EACH
def test_the_noise_has_the_stated_deviation(loss, labels, other):
    release, data = LabelRelease(epsilon=0.5, loss=loss), pair_of(labels, other).dataset
    outputs = release.sample(data, 20_000, rng())
    noise = outputs - loss.encode(data.labels)
    assert release.deviation == pytest.approx(2 * np.sqrt(2) / 0.5, rel=1e-15)
    assert noise.std() == pytest.approx(release.deviation, rel=0.03)
    residuals = release.uniform_residuals(outputs, data)
    assert residuals.shape == (20_000, 3 * loss.outputs)
    assert stats.kstest(residuals.ravel(), "uniform").pvalue > 1e-3
    other_scale = LabelRelease(epsilon=0.55, loss=loss).uniform_residuals(outputs, data)
    assert stats.kstest(other_scale.ravel(), "uniform").pvalue < 1e-6


def test_what_the_law_does_not_cover_is_refused():
    pair = pair_of([1, -1, 1], -1.0)
    release = LabelRelease(epsilon=1.0, loss=LOGISTIC)
    with pytest.raises(InvalidArgument, match=r"outputs: got shape \(2, 3, 2\)"):
        release.privacy_loss(np.zeros((2, 3, 2)), pair)
    moved = Pair(pair.dataset, pair.dataset.with_tuple(0, 0, [9, 9, 9]), REPLACE_TUPLE)
    with pytest.raises(InvalidArgument, match="relation: got replace-tuple"):
        release.privacy_loss(np.zeros((2, 3, 1)), moved)
    with pytest.raises(InvalidArgument, match="epsilon: got 0"):
        LabelRelease(epsilon=0, loss=LOGISTIC)
