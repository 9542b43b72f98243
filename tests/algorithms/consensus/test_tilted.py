"""Penalty perturbation drawn tilted: weights, bounds, self-checks, and losses in 50 digits."""

import math
from dataclasses import dataclass, replace

import mpmath
import numpy as np
import pytest

from dpaudit.accounting.events import ExponentialNormRelease, Sequence
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon
from dpaudit.algorithms.consensus import law as consensus_law
from dpaudit.algorithms.consensus.digits import NodeNumbers
from dpaudit.algorithms.consensus.views import AimedPerturbation, PenaltyPerturbation
from dpaudit.algorithms.problems.records import Differing
from dpaudit.algorithms.problems.schedules import Constant
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC, SMOOTHED_HINGE
from dpaudit.auditing.exact import exact_loss
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.self_check import likelihood_ratio_checks
from dpaudit.execution import Executor
from dpaudit.extension.case import PrivacyCase
from dpaudit.guarantees.kinds import PureDP
from dpaudit.mechanisms.mechanism import Tiltable
from dpaudit.neighbours import REPLACE_RECORD, Pair

from .law import likelihood_z, make
from .loop import rng


def opposite(pair):
    data, index = pair.dataset, pair.index
    other = data.with_record(index, data.features[index], -data.labels[index])
    return Pair(data, other, REPLACE_RECORD)


def audited(mechanism, pair, delta=1e-3, trials=600, claimed=100.0):
    case = PrivacyCase(
        mechanism=mechanism,
        pair=pair,
        claimed=PureDP(claimed),
        at_delta=delta,
        view="all broadcasts",
        data="made",
        default_trials=trials,
        parameters={},
    )
    drawer = make_drawer(mechanism, pair, Executor(), 0)
    return exact_loss.exact_loss(case, drawer, trials, 0.05)


def failed(found):
    return [check.name for check in found.self_checks if not check.passed]


# The weights


@pytest.mark.parametrize(
    "loss",
    [LOGISTIC, *(pytest.param(loss, marks=pytest.mark.slow) for loss in (SMOOTHED_HINGE, LINEAR))],
    ids=lambda loss: loss.name,
)
def test_weights_carry_draws_back_to_the_law_without_a_tilt(pair, loss):
    """Probabilities of events of the output, tilted and weighed, against plain counts."""
    mechanism = make(loss=loss).penalty_perturbation()
    plain = mechanism.sample(pair.dataset, 4000, rng(0))
    sample = mechanism.sample_tilted(pair, 0.7, 4000, rng(1))
    weights = np.exp(sample.log_weight)
    for t, node, k in ((0, 1, 0), (2, 1, 2), (2, 0, 1)):
        limit = np.median(plain[:, t, node, k])
        terms = weights * (sample.outputs[:, t, node, k] > limit)
        error = math.sqrt(terms.var() / len(terms) + 0.25 / len(plain))
        assert terms.mean() == pytest.approx(0.5, abs=5 * error)


def test_the_tilt_raises_the_loss_and_both_ways_to_compute_it_agree(pair):
    mechanism = make().penalty_perturbation()
    for one in (pair, pair.swapped()):
        means = []
        for tilt in (0.0, 1.0, 4.0):
            sample = mechanism.sample_tilted(one, tilt, 500, rng(2))
            again = mechanism.privacy_loss(sample.outputs, one)
            np.testing.assert_allclose(sample.privacy_loss, again, rtol=1e-9, atol=1e-9)
            means.append(sample.privacy_loss.mean())
        assert means == sorted(means)
        assert abs(likelihood_z(mechanism, one, mechanism.sample(one.neighbour, 1000, rng(3)))) < 5


@pytest.mark.sampled(3)
@pytest.mark.parametrize("tilt", [0.0, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTHED_HINGE, LINEAR], ids=lambda loss: loss.name)
def test_no_weight_leaves_its_bounds(pair, loss, tilt):
    mechanism = make(loss=loss).penalty_perturbation()
    for one in (pair, opposite(pair)):
        low, high = mechanism.log_mgf_bounds(one, tilt)
        drawn = mechanism.sample_tilted(one, tilt, 500, rng(4)).log_mgf
        assert low - 1e-9 <= drawn.min() <= drawn.max() <= high + 1e-9


def test_the_bounds_are_sharp_where_the_shift_is_constant(pair):
    """Opposite records under the logistic loss, any records under the linear one."""
    for loss, one in ((LOGISTIC, opposite(pair)), (LINEAR, pair)):
        mechanism = make(loss=loss).penalty_perturbation()
        drawn = mechanism.sample_tilted(one, 3.0, 50, rng(5)).log_mgf
        assert np.ptp(drawn) < 1e-10
        assert mechanism.log_mgf_bounds(one, 3.0)[1] == pytest.approx(drawn[0], abs=1e-10)
    mechanism = make().penalty_perturbation()
    assert (
        mechanism.log_mgf_bounds(pair, 3.0)[1]
        > mechanism.sample_tilted(pair, 3.0, 50, rng(5)).log_mgf.max() + 0.1
    )


# The audit


@pytest.mark.slow
def test_opposite_records_have_both_ends_around_the_exact_epsilon(pair):
    one, algorithm = opposite(pair), make()
    record = Differing.of(one)
    stretch, rates = algorithm.stretch[:, record.node], algorithm.rates[:, record.node]
    size = algorithm.loss_weight / 4 * np.linalg.norm(record.old)  # four records at the node
    event = Sequence(
        tuple(
            ExponentialNormRelease(sensitivity=size / s, noise_rate=a, dimension=3)
            for s, a in zip(stretch, rates, strict=True)
        )
    )
    exact = bound_proved_epsilon(event, 1e-3).upper
    found = audited(algorithm.penalty_perturbation(), one, trials=300)
    assert failed(found) == []
    assert 0.95 * exact < found.lower <= exact <= found.upper < 1.05 * exact


@pytest.mark.slow
def test_where_the_shift_varies_there_is_a_lower_end_near_the_estimate_and_no_upper_one(pair):
    found = audited(make().penalty_perturbation(), pair, trials=300)
    assert failed(found) == []
    assert 0.9 * found.estimate < found.lower <= found.estimate
    assert found.upper is None
    assert "too loose" in found.upper_note


@pytest.mark.slow
def test_the_estimate_is_that_of_outputs_without_a_tilt(pair):
    """An oracle without weights: delta at the estimate, counted on plain outputs."""
    mechanism, delta = make().penalty_perturbation(), 0.05
    found = audited(mechanism, pair, delta=delta)
    deltas = []
    for one in (pair, pair.swapped()):
        loss = mechanism.privacy_loss(mechanism.sample(one.dataset, 6000, rng(6)), one)
        deltas.append(np.mean(-np.expm1(np.minimum(found.estimate - loss, 0.0))))
    assert max(deltas) == pytest.approx(delta, rel=0.15)


# Broken laws


@pytest.mark.parametrize(
    "factor", [pytest.param(-1, marks=pytest.mark.slow), 0], ids=["wrong sign", "none"]
)
def test_a_wrong_determinant_is_caught(pair, factor, monkeypatch):
    """By the other way to compute it, and, wherever it is used, by the likelihood ratio."""
    mechanism, true = make().penalty_perturbation(), consensus_law.log_determinant_drop
    monkeypatch.setattr(consensus_law, "log_determinant_drop", lambda *x: factor * true(*x))
    assert "loss of outputs of the dataset" in failed(audited(mechanism, pair, trials=200))
    losses = [
        mechanism.privacy_loss(mechanism.sample(side, 2000, rng(9)), pair)
        for side in (pair.dataset, pair.neighbour)
    ]
    assert not all(check.passed for check in likelihood_ratio_checks(*losses))


@dataclass(frozen=True)
class Changed:
    """Penalty perturbation with one of its methods replaced."""

    inner: PenaltyPerturbation
    change: object

    def sample(self, dataset, trials, source):
        return self.inner.sample(dataset, trials, source)

    def uniform_residuals(self, outputs, dataset):
        return self.inner.uniform_residuals(outputs, dataset)

    def privacy_loss(self, outputs, pair):
        return self.inner.privacy_loss(outputs, pair)

    def log_mgf_bounds(self, pair, tilt):
        return -math.inf, math.inf

    def sample_tilted(self, pair, tilt, trials, source):
        return self.change(self.inner.sample_tilted(pair, tilt, trials, source))


def heavier(sample):
    return replace(sample, log_mgf=sample.log_mgf + 0.3)


def reversed_loss(sample):
    return replace(sample, privacy_loss=-sample.privacy_loss)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("change", "check"),
    [(heavier, "weights of the tilted"), (reversed_loss, "loss of outputs")],
    ids=["wrong normaliser", "swapped direction"],
)
def test_wrong_weights_and_a_swapped_direction_are_caught(pair, change, check):
    broken = Changed(make().penalty_perturbation(), change)
    assert isinstance(broken, Tiltable)
    names = failed(audited(broken, pair, trials=200))
    assert any(name.startswith(check) for name in names), names


def test_an_aim_that_is_off_costs_no_soundness(pair, monkeypatch):
    """Any aim will do: the weight is exact, only more spread."""
    monkeypatch.setattr(
        AimedPerturbation, "_aim", lambda self, state: 0.5 * np.ones_like(state.models[:, 0])
    )
    mechanism = make().penalty_perturbation()
    weights = np.exp(mechanism.sample_tilted(pair, 0.5, 4000, rng(7)).log_weight)
    assert weights.mean() == pytest.approx(1, abs=5 * weights.std() / math.sqrt(len(weights)))


# Losses in 50 digits


@pytest.mark.parametrize("loss", [LOGISTIC, LINEAR], ids=lambda loss: loss.name)
def test_the_loss_in_digits_is_the_one_in_doubles(pair, loss):
    mechanism = make(loss=loss).penalty_perturbation()
    outputs = mechanism.sample(pair.dataset, 2, rng(8))
    for one in (pair, pair.swapped(), opposite(pair)):
        doubles = mechanism.privacy_loss(outputs, one)
        digits = [mechanism.loss_in_digits(output, one) for output in outputs]
        np.testing.assert_allclose([float(x) for x in digits], doubles, rtol=1e-11, atol=1e-12)
        low, high = mechanism.loss_bounds(outputs[0], one)
        assert low <= digits[0] <= high
        assert high - low <= 1e-15 * abs(low)
        more = mechanism.loss_in_digits(outputs[0], one, 80)
        assert abs(digits[0] - more) < mpmath.mpf(10) ** -45


def test_digits_know_two_losses():
    with pytest.raises(InvalidArgument, match="loss"):
        NodeNumbers.of(make(loss=SMOOTHED_HINGE), 1)


@pytest.mark.slow
def test_at_delta_zero_the_opposite_record_is_searched_too(pair):
    mechanism = make().penalty_perturbation()
    (further,) = mechanism.neighbours(pair)
    assert further.index == pair.index
    assert mechanism.neighbours(further) == ()
    found = audited(mechanism, pair, delta=0.0, trials=400, claimed=0.5)
    assert failed(found) == []
    assert found.lower > 0.5
    assert any(check.name == "largest loss" for check in found.self_checks)


@pytest.mark.slow
def test_a_loss_that_bounds_do_not_confirm_refutes_nothing(pair, monkeypatch):
    monkeypatch.setattr(PenaltyPerturbation, "loss_bounds", lambda *args: (0.7, 0.7), raising=True)
    found = audited(make().penalty_perturbation(), pair, delta=0.0, trials=300, claimed=0.5)
    assert failed(found) == ["largest loss"]
    assert not found.trusted


def test_without_noise_there_is_no_law_to_tilt(pair):
    with pytest.raises(InvalidArgument, match="noise"):
        make().without_noise().penalty_perturbation().sample_tilted(pair, 1.0, 2, rng(0))


def test_schedules_of_noise_reach_the_tilt(pair):
    """Twice the rate is twice the shift, in units of the noise."""
    sizes = []
    for rate in (1.0, 2.0):
        aimed = AimedPerturbation.of(make(noise_rate=Constant(rate)), pair)
        state = aimed.algorithm.start(pair.dataset, 1)
        sizes.append(np.linalg.norm(aimed._aim(state)))
    assert sizes[1] == pytest.approx(2 * sizes[0])
