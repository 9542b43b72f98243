"""A dual step that varies over iterations and nodes, held to the scalar one and to loops."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.process import ConsensusState
from dpaudit.algorithms.problems.graphs import Graph, ring
from dpaudit.algorithms.problems.schedules import Constant, Geometric, TableSchedule, as_schedule
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import REPLACE_RECORD, Pair

THETA = TableSchedule(
    ((0.3, 0.5, 0.4), (0.6, 0.2, 0.1), (0.5, 0.7, 0.9), (0.2, 0.4, 0.3), (0.8, 0.1, 0.6))
)
VARIANTS = {
    "PP": lambda a: a.penalty_perturbation(),
    "DVP": lambda a: a.dual_variable_perturbation(),
    "PVP": lambda a: a.primal_perturbation(),
    "recycled": lambda a: a.recycled(0.3),
}


def rng(seed=0):
    return np.random.default_rng(seed)


def make(**options):
    defaults = {
        "graph": ring(3),
        "iterations": 5,
        "penalty": Geometric((0.55, 0.65, 0.9), 1.1),
        "dual_step": THETA,
        "noise_rate": Constant(2.0),
        "loss_weight": 3.0,
        "regulariser_weight": 0.2,
    }
    return ConsensusADMM(**(defaults | options))


def records(seed=0):
    source = rng(seed)
    features = source.uniform(-0.5, 0.5, (12, 3))
    return Dataset(features, source.choice([-1.0, 1.0], 12), node_sizes=(4, 3, 5))


@pytest.fixture(scope="module")
def pair():
    data = records()
    return Pair(data, data.with_record(2, [0.5, -0.4, 0.1], 1.0), REPLACE_RECORD)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_constant_schedule_is_the_scalar_to_the_last_bit(variant, pair):
    scalar, schedule = (VARIANTS[variant](make(dual_step=s)) for s in (0.45, Constant(0.45)))
    outputs = scalar.sample(pair.dataset, 6, rng(1))
    np.testing.assert_array_equal(schedule.sample(pair.dataset, 6, rng(1)), outputs)
    np.testing.assert_array_equal(
        schedule.privacy_loss(outputs, pair), scalar.privacy_loss(outputs, pair)
    )
    np.testing.assert_array_equal(
        schedule.uniform_residuals(outputs, pair.dataset),
        scalar.uniform_residuals(outputs, pair.dataset),
    )


def test_two_nodes_by_hand():
    """``lambda_i`` grows by ``theta_i(t) / 2`` times the difference of the broadcasts."""
    algorithm = make(
        graph=Graph(2, ((0, 1),)),
        iterations=2,
        penalty=Constant(1.0),
        dual_step=TableSchedule(((0.5, 1.0), (2.0, 0.25))),
    )
    zero = np.zeros((1, 2, 1))
    state = algorithm.advance(ConsensusState(zero, zero, zero, 1), np.array([[[3.0], [1.0]]]))
    # theta(1)/2 = 0.25, 0.5; the differences are 2 and -2.
    np.testing.assert_array_equal(state.dual, [[[0.5], [-1.0]]])
    # eta (f_i + f_j) - 2 lambda = 4 - 1, 4 + 2.
    np.testing.assert_array_equal(algorithm.pull(state), [[[3.0], [6.0]]])
    state = algorithm.advance(state, np.array([[[1.0], [5.0]]]))
    # theta(2)/2 = 1, 0.125; the differences are -4 and 4.
    np.testing.assert_array_equal(state.dual, [[[0.5 - 4.0], [-1.0 + 0.5]]])


@pytest.mark.parametrize("name", ["PP", "DVP"])
def test_broadcasts_solve_equation_25_with_the_duals_of_a_loop(name):
    """The stationarity of every noiseless broadcast, with duals that a loop over nodes keeps."""
    data, algorithm = records(), make(noise_rate=None)
    models = VARIANTS[name](algorithm).sample(data, 1, rng())[0]
    eta = (THETA if name == "DVP" else algorithm.penalty).values(5, 3)
    theta, lam, last = np.array(THETA.table), np.zeros((3, 3)), np.zeros((3, 3))
    for t in range(5):
        for i in range(3):
            u = data.signed_records[data.rows_of(i)]
            gradient = -(3.0 / len(u)) * (u / (1 + np.exp(u @ models[t, i]))[:, None]).sum(axis=0)
            gradient += 0.2 / 3 * models[t, i] + 2 * lam[i]
            for j in set(range(3)) - {i}:
                gradient += 2 * eta[t, i] * (models[t, i] - (last[i] + last[j]) / 2)
            np.testing.assert_allclose(gradient, 0, atol=1e-10)
        for i in range(3):
            for j in set(range(3)) - {i}:
                lam[i] = lam[i] + theta[t, i] / 2 * (models[t, i] - models[t, j])
        last = models[t]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("variant", VARIANTS)
def test_residuals_are_uniform_under_the_schedule_and_not_under_another(variant):
    data, mechanism = records(), VARIANTS[variant](make())
    outputs = mechanism.sample(data, 2000, rng(2))
    other = make(dual_step=3.0, penalty=THETA if variant == "DVP" else make().penalty)
    wrong = other.penalty_perturbation() if variant == "DVP" else VARIANTS[variant](other)
    right = mechanism.uniform_residuals(outputs, data)
    assert min(stats.kstest(column, "uniform").pvalue for column in right.T) > 1e-4
    if variant != "recycled":  # it refuses even broadcasts that another dual step would make
        off = wrong.uniform_residuals(outputs, data)
        assert min(stats.kstest(column, "uniform").pvalue for column in off.T) < 1e-8
    else:
        with pytest.raises(InvalidArgument, match="even broadcast"):
            wrong.uniform_residuals(outputs, data)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_mean_of_the_likelihood_ratio_is_one(variant, pair):
    mechanism = VARIANTS[variant](make(loss_weight=0.3))
    outputs = mechanism.sample(pair.dataset, 4000, rng(3))
    ratios = np.exp(-mechanism.privacy_loss(outputs, pair))
    assert abs(ratios.mean() - 1) < 5 * ratios.std() / len(ratios) ** 0.5
    assert ratios.std() > 1e-3


@pytest.mark.slow
def test_a_step_that_varies_over_iterations_reaches_the_same_minimum():
    data = records()
    ends = [
        make(iterations=400, penalty=Constant(0.6), dual_step=step, noise_rate=None)
        .penalty_perturbation()
        .sample(data, 1, rng())[0, -1]
        for step in (0.4, TableSchedule(np.tile([[0.2], [0.6]], (200, 3))))
    ]
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)


@pytest.mark.slow
def test_steps_that_differ_between_nodes_weight_the_nodes():
    """At the limit ``sum_i grad O_i / theta_i = 0``, so the plain minimum is missed."""
    data, theta = records(), (0.2, 0.6, 0.4)
    base = make(iterations=600, penalty=Constant(0.6), dual_step=0.4, noise_rate=None)
    end, plain = (
        replace(base, dual_step=step).penalty_perturbation().sample(data, 1, rng())[0, -1]
        for step in (Geometric(theta, 1.0), 0.4)
    )
    np.testing.assert_allclose(end, np.tile(end[0], (3, 1)), atol=1e-8)
    gradients = []
    for i in range(3):
        u = data.signed_records[data.rows_of(i)]
        slope = -(u / (1 + np.exp(u @ end[0]))[:, None]).sum(axis=0)
        gradients.append(3.0 / len(u) * slope + 0.2 / 3 * end[0])
    weighted = sum(g / t for g, t in zip(gradients, theta, strict=True))
    np.testing.assert_allclose(weighted, 0, atol=1e-7)
    assert np.abs(end - plain).max() > 1e-2


def test_theorem_41_is_asked_at_every_node_and_iteration():
    data = records()
    steady = Geometric((0.5, 0.6, 0.8), 1.05)
    assert make(dual_step=steady, loss_weight=0.5).meets_theorem41(data)
    late = TableSchedule(
        np.vstack([np.full((4, 3), 0.5), [[0.5, 0.5, 1.4]]])
    )  # above eta_3(5) = 1.32
    assert not make(dual_step=late, loss_weight=0.5).meets_theorem41(data)
    # 2 c_1 < (B/C)(rho/N + 2 theta V) needs theta > 0.108 where B = 3, C = 3.
    small = TableSchedule(np.vstack([np.full((4, 3), 0.2), [[0.2, 0.10, 0.2]]]))
    assert not make(dual_step=small).meets_theorem41(data)
    assert make(dual_step=0.2).meets_theorem41(data)


def test_theorem_41_takes_a_penalty_that_falls():
    assert make(penalty=Geometric(0.9, 0.95), dual_step=0.5).meets_theorem41(records())


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (0.0, "dual_step"),
        ("fast", "dual_step"),
        (None, "dual_step"),
        (TableSchedule(((1.0,),)), "dual_step.table"),
    ],
)
def test_a_bad_step_is_refused_by_name(step, name):
    with pytest.raises(InvalidArgument) as refusal:
        make(dual_step=step)
    assert refusal.value.name == name


def test_a_schedule_is_taken_as_it_is():
    assert as_schedule("dual_step", THETA) is THETA
