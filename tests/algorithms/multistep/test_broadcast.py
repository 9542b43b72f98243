"""What multi-step DP-ADMM broadcasts: an exact law, checked against a matrix and the code."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.multistep.averages import Averages, ExactBroadcast, broadcast_mu
from dpaudit.algorithms.multistep.claims.broadcast import Broadcast, prepare_broadcast_audit
from dpaudit.auditing import audit_claim
from dpaudit.errors import InvalidArgument
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.laws.steps import GaussianSteps

BROADCAST = "huang2020-broadcast"
SMALL = {"nodes": 2, "iterations": 2, "inner_steps": 3}
VARIANTS = [
    {},
    {"iterations": 2, "inner_steps": 25},
    {"inner_steps": 1},
    {"graph": "star", "penalty": 3.0, "regulariser_weight": 0.5},
    {"step_size": 1.0, "nodes": 3, "graph": "ring"},
]


def by_matrix(algorithm, pair):
    """Return mu from the t x t covariance of the node's averages, its known pull left out."""
    node, size = pair.dataset.node_of(pair.index), pair.dataset.node_sizes
    steps, count = algorithm.steps, algorithm.inner_steps
    effect, mean, noise = np.zeros((steps + 1, steps)), np.zeros(steps + 1), np.zeros(steps)
    for s in range(steps):
        eta = algorithm.eta(pair.dataset, s // count + 1, s % count + 1)
        unit = 2 * algorithm.penalty * algorithm.graph.degrees[node] + eta[node]
        kept = (eta[node] - algorithm.regulariser_weight / len(size)) / unit
        effect[s + 1] = kept * effect[s]
        effect[s + 1, s] = 1.0
        mean[s + 1] = kept * mean[s] - 1 / unit
        noise[s] = algorithm.noise_multiplier * algorithm.sensitivity(pair.dataset, eta)[node]
    average = np.kron(np.eye(algorithm.iterations), np.ones((1, count)) / count)
    moved = pair.dataset.signed_records - pair.neighbour.signed_records
    shift = average @ mean[1:] * np.linalg.norm(moved[pair.index]) / size[node]
    root = average @ effect[1:] * noise
    return math.sqrt(shift @ np.linalg.solve(root @ root.T, shift))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_law_agrees_with_the_covariance_matrix(variant):
    (instance,) = Broadcast(**variant).instances(Settings())
    mu = broadcast_mu(instance.algorithm, instance.pair)
    assert mu == pytest.approx(by_matrix(instance.algorithm, instance.pair), rel=1e-10)
    inner = math.sqrt(instance.algorithm.steps) / instance.algorithm.noise_multiplier
    assert mu <= inner * (1 + 1e-12)
    if variant.get("inner_steps") == 1:
        assert mu == pytest.approx(inner, rel=1e-12)


@pytest.mark.parametrize("variant", VARIANTS[:4])
def test_the_law_s_own_draws_have_the_moments_of_the_code_s(variant):
    (instance,) = Broadcast(**variant).instances(Settings(epsilon=20.0))
    law = Averages(instance.algorithm)
    one = GaussianSteps(law).sample(instance.pair.dataset, 4_000, default_rng(0))
    other = ExactBroadcast(law).sample(instance.pair.dataset, 4_000, default_rng(1))
    scale = other.std(axis=0)
    assert np.abs(one.mean(axis=0) - other.mean(axis=0)).max() < 0.1 * scale.max()
    assert one.std(axis=0) == pytest.approx(scale, rel=0.08)


@pytest.mark.parametrize(
    ("epsilon", "parameters"),
    [
        (20.0, SMALL),
        *(pytest.param(epsilon, {}, marks=pytest.mark.slow) for epsilon in (1.0, 20.0)),
    ],
)
def test_the_audit_finds_the_exact_epsilon_with_a_law_that_passes_its_checks(epsilon, parameters):
    asked = Settings(epsilon=epsilon, trials=1_000, parameters=parameters)
    result = audit_claim(BROADCAST, asked)
    assert result.verdict == "proved"
    assert all(check.passed for check in result.self_checks)
    measured = result.measured
    assert measured.lower <= measured.pair_ceiling <= measured.upper
    assert measured.lower > 0.97 * measured.pair_ceiling
    assert measured.pair_ceiling < result.claimed.epsilon
    (instance,) = Broadcast(**parameters).instances(Settings(epsilon=epsilon))
    exact = GaussianDP(by_matrix(instance.algorithm, instance.pair)).epsilon(1e-5)
    assert measured.pair_ceiling == pytest.approx(exact, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "verdict"), [(0.85, "refuted")])
def test_less_than_what_the_averages_leak_is_refuted(factor, verdict):
    asked = Settings(trials=500, parameters=SMALL | {"factor": factor})
    result = audit_claim(BROADCAST, asked)
    assert result.verdict == verdict


def test_other_losses_have_an_event_bound():
    asked = Settings(epsilon=20.0, trials=300, parameters=SMALL | {"loss": "logistic"})
    result = audit_claim(BROADCAST, asked)
    assert result.verdict == "proved"
    assert result.measured.estimator.startswith("event bound")


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
@pytest.mark.parametrize(
    "true", [{"factor": 2.0}, pytest.param({"c0": 2.0}, marks=pytest.mark.slow)], ids=str
)
def test_a_run_with_more_noise_or_a_larger_claim_is_not_refuted(true, seed):
    asked = Settings(trials=300, seed=seed, parameters=SMALL | true)
    assert audit_claim(BROADCAST, asked).verdict == "proved"


def test_bad_input_is_named():
    with pytest.raises(InvalidArgument, match=r"^batch_size: "):
        prepare_broadcast_audit(Settings(), Broadcast(batch_size=1))
    with pytest.raises(InvalidArgument, match=r"^loss: "):
        Averages(Broadcast(loss="hinge").algorithm(Settings()))
    with pytest.raises(InvalidArgument, match=r"^view: "):
        audit_claim(BROADCAST, Settings(parameters={"view": "inner"}))


def test_every_candidate_pair_is_asked_about_the_averages():
    asked = Settings(data="breast-cancer", candidate_pairs=2)
    case = prepare_broadcast_audit(asked, Broadcast(**SMALL))
    assert len(case.candidates) == 2
    for candidate in case.candidates:
        assert candidate.claimed == case.claimed
        assert candidate.certify is None
