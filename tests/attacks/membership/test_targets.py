"""What membership inference attacks: FDML and joined tables, against what is proved and chance."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.sharing.fdml import FDML
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.laws import LocalSteps, count_touched_tuples
from dpaudit.attacks.membership import study as membership
from dpaudit.attacks.membership.inference import infer_membership
from dpaudit.attacks.membership.targets import (
    PartLoss,
    calibrate_tables_admm,
    fdml_target,
    make_mislabelled_pair,
    make_opposed_pair,
    split_columns,
    split_columns_evenly,
    tables_claim,
    tables_target,
)
from dpaudit.datasets import breast_cancer, subset
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Silent, one_thread
from dpaudit.guarantees.kinds import PureDP

ALGORITHMS = ("multi-step", "fdml", "tables")
QUICK = {"iterations": 2, "inner_steps": 2, "shadow_runs": 60, "runs": 300}


@pytest.fixture(scope="module")
def people():
    return subset(breast_cancer(), 120, default_rng(0))


def rows(algorithm, **changes):
    given = membership.MembershipParameters(algorithm=algorithm, **(QUICK | changes))
    with one_thread():
        return membership.run(given, 0, Silent()).rows


def attack(target, rng, **changes):
    given = {"shadow_trials": 100, "trials": 400, "record": target.record}
    options = given | {"record_loss": target.loss} | changes
    return infer_membership(target.train, target.pair, target.claim, rng=rng, **options)


# Chance, and what is proved


@pytest.mark.sampled(1)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_much_noise_leaves_the_study_at_chance(algorithm):
    (row,) = rows(algorithm, epsilons=[1e-4], start_scales=[20.0], runs=500)
    assert row["lower"] <= 0 <= row["upper"]
    assert row["TPR lower"] <= 0.1
    assert row["TPR upper"] >= 0.02


@pytest.mark.sampled(1)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_study_stays_within_what_is_proved(algorithm):
    for row in rows(algorithm, epsilons=[1.0, 8.0], start_scales=[0.0, 0.5]):
        assert row["lower"] <= row["at most"] <= 1
        assert row["TPR lower"] <= row["TPR at most"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "least"), [("multi-step", 0.2), ("fdml", 0.8), ("tables", 0.4)]
)
def test_little_noise_is_seen(algorithm, least):
    (row,) = rows(algorithm, epsilons=[200.0], start_scales=[0.0], iterations=4)
    assert row["lower"] > least


def test_nothing_is_proved_of_fdml_and_all_is_allowed(people):
    algorithm = FDML(block_sizes=(15, 15), epochs=3, step_size=1.0)
    target = fdml_target(algorithm, people, "crafted")
    assert target.claim is None
    found = attack(target, default_rng(0))  # no randomness at all: the two losses differ
    assert found.best.advantage[1] == 1
    assert found.advantage_bound == found.rare.power_bound == 1
    assert not found.refuted


def test_fdml_that_never_sees_the_record_gives_chance(people):
    algorithm = FDML(block_sizes=(30,), epochs=2, step_size=1.0, start_scale=0.1)
    target = fdml_target(algorithm, people, "crafted")

    def blind(dataset, trials, rng):
        return target.train(target.pair.neighbour, trials, rng)

    low, _, high = attack(replace(target, train=blind), default_rng(1)).best.advantage
    assert low <= 0 <= high


def test_joined_tables_with_too_little_noise_are_caught(people):
    tables, algorithm = (
        split_columns(people, 2),
        calibrate_tables_admm(1.0, 1e-5, 2, iterations=4, local_steps=2),
    )
    quiet = replace(algorithm.solver, noise_multiplier=algorithm.solver.noise_multiplier / 20)
    honest = tables_target(algorithm, tables, "crafted")
    broken = tables_target(replace(algorithm, solver=quiet), tables, "crafted")
    assert not attack(honest, default_rng(2)).refuted
    assert attack(replace(broken, claim=honest.claim), default_rng(2)).refuted


# What is proved of tables joined one to one


@pytest.mark.parametrize("tables", [1, 2, 3])
def test_the_claim_on_tables_bounds_every_shift_and_counts_every_client(people, tables):
    data = split_columns(people, tables)
    algorithm = calibrate_tables_admm(4.0, 1e-5, tables, iterations=3, local_steps=2)
    pair, steps = make_opposed_pair(data, "crafted"), LocalSteps(algorithm)
    assert count_touched_tuples(pair) == (1,) * tables
    sigma = algorithm.solver.noise_multiplier
    expected = (2 / sigma) ** 2 * (6 + 4 * (tables - 1))
    claim = tables_claim(algorithm, tables)
    assert claim.mu**2 == pytest.approx(expected)
    assert claim.epsilon(1e-5) == pytest.approx(4.0)
    state, total = steps.start(pair.dataset, 1), 0.0
    rng = default_rng(3)
    for _ in range(steps.steps):
        law = steps.step(state, pair.dataset)
        total += float(np.sum((steps.shift(state, pair) / law.scale) ** 2))
        state = steps.advance(state, law.mean + law.scale * rng.standard_normal(law.mean.shape))
    assert 0 < total <= claim.mu**2


def test_tables_without_noise_have_no_claim():
    with pytest.raises(InvalidArgument, match="solver"):
        tables_claim(TablesADMM(iterations=2), 2)


# Pairs, records and losses


def test_a_tuple_is_judged_by_its_owners_block_alone():
    models = np.array([[[2.0], [9.0]], [[-2.0], [9.0]]])
    found = PartLoss(slice(1))(models, np.array([1.0]), 1.0)
    assert found == pytest.approx([math.log1p(math.exp(-2)), math.log1p(math.exp(2))])


def test_the_record_that_is_judged_is_the_one_inside(people):
    pair = make_mislabelled_pair(people, "real")
    target = fdml_target(FDML(block_sizes=(30,), epochs=1, step_size=1.0), people, "real")
    assert target.record[1] == pair.dataset.labels[0] == -people.labels[0]
    data = split_columns(people, 2)
    algorithm = calibrate_tables_admm(1.0, 1e-5, 2, iterations=2, local_steps=1)
    turned = tables_target(algorithm, data, "real").record
    assert np.array_equal(turned[0], -data.features[0][0])
    assert turned[1] == data.labels[0]


def test_the_columns_are_dealt_out_and_joined_again(people):
    data = split_columns(people, 4)
    assert data.widths == split_columns_evenly(30, 4) == (8, 8, 7, 7)
    assert np.array_equal(np.hstack([data.joined(i) for i in range(4)]), people.features)
    with pytest.raises(InvalidArgument, match="parties"):
        split_columns_evenly(3, 4)


def test_a_pair_of_tables_needs_to_be_told_the_record(people):
    pair = make_opposed_pair(split_columns(people, 2), "crafted")
    with pytest.raises(InvalidArgument, match="relation"):
        infer_membership(
            lambda d, t, r: np.zeros((t, 3)),
            pair,
            PureDP(1.0),
            shadow_trials=10,
            trials=10,
            rng=default_rng(0),
        )


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"algorithm": "fdml", "start_scales": [-1.0]}, "start_scales"),
        ({"algorithm": "fdml", "parties": 31}, "parties"),
        ({"algorithm": "tables", "parties": 31}, "parties"),
        ({"algorithm": "tables", "epsilons": [0.0]}, "epsilons"),
        ({"epsilons": [1e-300]}, "epsilons"),
        ({"epsilons": [math.inf]}, "epsilons"),
    ],
)
def test_a_bad_number_is_named(changes, name):
    with pytest.raises(InvalidArgument, match=name):
        membership.run(membership.MembershipParameters(**changes), 0, Silent())
