"""What the attacker writes down is what the algorithm did, and its likelihoods are the law's."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.law import noise_behind
from dpaudit.algorithms.consensus.process import replay
from dpaudit.algorithms.problems.graphs import complete, ring
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.smooth_losses import SMOOTHED_HINGE
from dpaudit.attacks.stationarity.inversion import (
    build_stationarity_conditions,
    estimate_averaged_direction,
)
from dpaudit.attacks.stationarity.likelihood import (
    INTEGRATED,
    KNOWN,
    METHODS,
    PROFILE,
    Determinant,
    cost_of,
    estimate_likeliest_records,
    into_ball,
    objective_of,
    out_of_ball,
)
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import REPLACE_RECORD, Pair

NODES, RECORDS, FEATURES, NODE = 4, 6, 3, 2


def algorithm_of(graph=None, **changes):
    return ConsensusADMM(
        **{
            "graph": graph or ring(NODES),
            "iterations": 5,
            "penalty": Geometric((0.6, 0.7, 0.8, 0.9), 1.1),
            "dual_step": 0.5,
            "noise_rate": Geometric(20.0, 1.05),
            "loss_weight": 4.0,
            "regulariser_weight": 0.1,
        }
        | changes
    )


VARIANTS = {
    "PP": algorithm_of(),
    "DVP": algorithm_of(penalty=0.5),
    "PP, own dual steps": algorithm_of(dual_step=Geometric((0.4, 0.5, 0.6, 0.55), 1.0)),
    "PP, all neighbours": algorithm_of(complete(NODES)),
}


def records(seed=0):
    rng = default_rng(seed)
    features = rng.standard_normal((NODES * RECORDS, FEATURES))
    features /= np.linalg.norm(features, axis=1, keepdims=True) * rng.uniform(1, 2)
    labels = rng.choice([-1.0, 1.0], len(features))
    return Dataset(features, labels, node_sizes=(RECORDS,) * NODES)


def output(algorithm, data, seed=1):
    return algorithm.penalty_perturbation().sample(data, 1, default_rng(seed))


def seen(algorithm, data, missing=1, seed=1):
    """Return the conditions and the missing records of NODE, its first ones."""
    signed = data.signed_records[data.rows_of(NODE)]
    broadcasts = output(algorithm, data, seed)[0]
    conditions = build_stationarity_conditions(
        algorithm, broadcasts, NODE, signed[missing:], missing
    )
    return conditions, signed[:missing]


# The conditions


@pytest.mark.parametrize("missing", [1, 2])
@pytest.mark.parametrize("algorithm", VARIANTS.values(), ids=VARIANTS)
def test_with_the_true_records_the_conditions_give_the_noise(algorithm, missing):
    data = records()
    conditions, wanted = seen(algorithm, data, missing)
    noise = conditions.moves - conditions.shares[:, None] * conditions.gradient(wanted)
    signed = data.signed_records[data.rows_of(NODE)]
    for state, broadcast in replay(algorithm, output(algorithm, data), data):
        t = state.iteration
        problem = algorithm.problem(data, t, NODE)
        pull = algorithm.pull(state)[:, NODE]
        drawn = noise_behind(problem, broadcast[:, NODE], pull, signed)[0]
        np.testing.assert_allclose(
            noise[t - 1], drawn / algorithm.stretch[t - 1, NODE], rtol=1e-9, atol=1e-12
        )


def test_without_noise_the_conditions_give_none():
    conditions, wanted = seen(algorithm_of().without_noise(), records())
    noise = conditions.moves - conditions.shares[:, None] * conditions.gradient(wanted)
    assert np.abs(noise).max() < 1e-11


def test_nothing_but_the_shares_looks_at_the_penalties():
    data, algorithm = records(), algorithm_of()
    broadcasts = output(algorithm, data)[0]
    others = data.signed_records[data.rows_of(NODE)][1:]
    true = build_stationarity_conditions(algorithm, broadcasts, NODE, others).private()
    other = build_stationarity_conditions(
        replace(algorithm, penalty=7.0), broadcasts, NODE, others
    ).private()
    for name, value in vars(true).items():
        assert np.array_equal(value, getattr(other, name)), name
    found = [estimate_likeliest_records(c, default_rng(0)).records for c in (true, other)]
    assert np.array_equal(*found)


def test_shares_are_at_most_the_largest():
    for algorithm in (algorithm_of(), algorithm_of(penalty=0.5)):
        conditions, _ = seen(algorithm, records())
        assert (conditions.shares <= conditions.largest * (1 + 1e-12)).all()


def test_the_first_iterations_are_those_of_a_shorter_run():
    conditions, _ = seen(algorithm_of(), records())
    shorter, _ = seen(algorithm_of(iterations=3), records())
    for name, value in vars(conditions.first(3)).items():
        np.testing.assert_allclose(value, getattr(shorter, name)) if name != "loss" else None


# The likelihoods


@pytest.mark.sampled(2)
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
@pytest.mark.parametrize("algorithm", VARIANTS.values(), ids=VARIANTS)
def test_with_known_penalties_it_is_the_law_of_the_algorithm(algorithm, seed):
    """Differences between records are the exact privacy loss, determinants included."""
    data, rng = records(seed), default_rng(seed)
    row = data.rows_of(NODE).start
    other = into_ball(rng.standard_normal((1, FEATURES)))
    pair = Pair(data, data.with_record(row, other[0], 1.0), REPLACE_RECORD)
    mechanism = algorithm.penalty_perturbation()
    loss = mechanism.privacy_loss(output(algorithm, data), pair)[0]
    conditions, wanted = seen(algorithm, data)
    objective = objective_of(conditions, KNOWN)
    assert objective(other)[0] - objective(wanted)[0] == pytest.approx(loss, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("missing", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_gradients_are_those_of_finite_differences(method, missing):
    conditions, _ = seen(algorithm_of(), records(), missing)
    objective = objective_of(conditions, method)
    point = into_ball(default_rng(5).standard_normal((missing, FEATURES)))
    slope, step = objective(point)[1], 1e-6
    for place in np.ndindex(*point.shape):
        move = np.zeros_like(point)
        move[place] = step
        difference = (objective(point + move)[0] - objective(point - move)[0]) / (2 * step)
        assert slope[place] == pytest.approx(difference, rel=1e-5, abs=1e-6)


def test_the_ball_and_its_derivative():
    free = default_rng(0).standard_normal((3, 4)) * np.array([[1e-3], [1.0], [30.0]])
    inside = into_ball(free)
    assert (np.linalg.norm(inside, axis=1) <= 1).all()
    np.testing.assert_allclose(inside[0], free[0], rtol=1e-5)
    slope = default_rng(1).standard_normal((3, 4))
    for place in np.ndindex(*free.shape):
        move = np.zeros_like(free)
        move[place] = 1e-6
        change = (into_ball(free + move) - into_ball(free - move)) / 2e-6
        assert out_of_ball(free, slope)[place] == pytest.approx((slope * change).sum(), abs=1e-6)
    assert np.isfinite(out_of_ball(np.zeros((1, 4)), slope[:1])).all()


def test_the_profile_is_the_least_cost_over_shares():
    conditions, wanted = seen(algorithm_of(), records())
    brackets = conditions.gradient(wanted)
    best = 0.0
    for t, largest in enumerate(conditions.largest):
        shares = np.linspace(0, largest, 20_001)[:, None]
        noise = np.linalg.norm(conditions.moves[t] - shares * brackets[t], axis=1)
        best += conditions.rates[t] * noise.min()
    assert cost_of(conditions.private(), PROFILE)(brackets)[0] == pytest.approx(best, rel=1e-6)


def test_the_integrated_cost_is_the_integral():
    conditions, wanted = seen(algorithm_of(), records())
    brackets, total = conditions.gradient(wanted), mpmath.mpf(0)
    for t, largest in enumerate(conditions.largest):

        def density(share, t=t):
            noise = conditions.moves[t] - float(share) * brackets[t]
            return mpmath.exp(-conditions.rates[t] * float(np.linalg.norm(noise)))

        pieces = list(np.linspace(0, largest, 9))
        total -= mpmath.log(mpmath.quad(density, pieces) / largest)
    value = cost_of(conditions.private(), INTEGRATED)(brackets)[0]
    assert value == pytest.approx(float(total), rel=1e-4)


def test_a_known_determinant():
    conditions, wanted = seen(algorithm_of(), records(), 2)
    value = Determinant.of(conditions)(wanted)[0]
    total = 0.0
    for t, model in enumerate(conditions.models):
        sides = []
        for held in (conditions.others, np.concatenate([conditions.others, wanted])):
            curve = conditions.loss.curvature(held @ model)
            hessian = conditions.weight * (held.T * curve) @ held
            ridge = conditions.ridge + 1 / conditions.shares[t]
            sides.append(np.linalg.slogdet(hessian + ridge * np.eye(FEATURES))[1])
        total += sides[1] - sides[0]
    assert value == pytest.approx(total, rel=1e-10)


# What is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node": 4}, "node: got 4, expected one of the 4 nodes, counted from 0"),
        ({"node": -1}, "node: got -1, expected an integer, at least 0"),
        ({"missing": 0}, "missing: got 0, expected an integer, at least 1"),
        ({"broadcasts": np.zeros((5, 3, 3))}, "broadcasts: got shape .*, expected shape"),
        ({"broadcasts": np.full((5, 4, 3), np.nan)}, "broadcasts"),
        ({"known_records": np.zeros((5, 2))}, "known_records: got shape .*, expected records of 3"),
    ],
)
def test_bad_input_is_named(changes, message):
    given = {"broadcasts": np.zeros((5, 4, 3)), "node": 0, "known_records": np.zeros((5, 3))}
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        build_stationarity_conditions(algorithm_of(), **(given | changes))


def test_what_private_penalties_do_not_allow_is_refused():
    conditions = seen(algorithm_of(), records())[0].private()
    with pytest.raises(InvalidArgument, match=r"^penalties: got private ones"):
        estimate_averaged_direction(conditions)
    with pytest.raises(InvalidArgument, match=r"^penalties: got private ones"):
        estimate_likeliest_records(conditions, default_rng(0), method=KNOWN)
    with pytest.raises(InvalidArgument, match=r"^method: got 'best', expected one of: known, "):
        estimate_likeliest_records(conditions, default_rng(0), method="best")
    with pytest.raises(InvalidArgument, match=r"^iterations: got 9, expected at most the 5"):
        conditions.first(9)


def test_a_likelihood_asks_for_noise_and_for_the_logistic_loss():
    quiet, _ = seen(algorithm_of().without_noise(), records())
    with pytest.raises(InvalidArgument, match=r"^noise_rate: got None"):
        estimate_likeliest_records(quiet, default_rng(0))
    hinge, _ = seen(algorithm_of(loss=SMOOTHED_HINGE), records())
    with pytest.raises(InvalidArgument, match=r"^loss: got 'smoothed-hinge'"):
        estimate_likeliest_records(hinge, default_rng(0))
