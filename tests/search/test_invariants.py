"""Combinations of parts that no noise reaches: found, told from noise, and ranked above it."""

import numpy as np
import pytest

from dpaudit.domains import Domain
from dpaudit.freezing.outputs import flatten_output
from dpaudit.search.engine import search_pairs
from dpaudit.search.invariants import Invariants, invariants_of, outputs_for

TEN = Domain(bounds=(0, 1), records=10)


def noises(parts, seed=0, scale=40.0):
    count = outputs_for(parts, 400)
    return scale * np.random.default_rng(seed).laplace(size=(count, parts))


def found(outputs):
    paths = [f"p{n}" for n in range(outputs.shape[1])]
    return invariants_of(paths, outputs)


@pytest.mark.parametrize("decimals", [None, 1, 2])
def test_a_total_of_parts_is_found_with_its_weights(decimals):
    noise = noises(3)
    outputs = np.column_stack([noise, noise.sum(axis=1) + 7])
    if decimals is not None:
        outputs = outputs.round(decimals)
    (row,) = found(outputs).weights
    assert np.abs(row) == pytest.approx(np.ones(4))
    assert np.sign(row[:3]) == pytest.approx(-np.sign(row[3]) * np.ones(3))


def test_integer_weights_of_two_noises_in_three_parts_are_found():
    one, other = noises(2).T
    outputs = np.column_stack([3 * one - 2 * other, one + other, 5 * one + 4 * other])
    (row,) = found(outputs).weights
    assert row / row[0] == pytest.approx([1, 22, -5])  # 3 + 22 = 25, -2 + 22 = 20


def test_noise_that_cancels_in_each_block_is_found_in_each():
    noise = noises(30).reshape(-1, 3, 10)
    outputs = (noise - noise.mean(axis=2, keepdims=True)).reshape(-1, 30)
    weights = found(outputs).weights
    blocks = np.kron(np.eye(3), np.ones(10)).tolist()
    assert sorted(weights.tolist()) == [pytest.approx(one) for one in sorted(blocks)]


@pytest.mark.parametrize("parts", [2, 10, 60])
@pytest.mark.parametrize("decimals", [None, 1])
def test_of_noise_of_its_own_in_every_part_nothing_is_found(parts, decimals):
    for seed in range(5):
        outputs = noises(parts, seed)
        assert found(outputs if decimals is None else outputs.round(decimals)) is None


def test_of_few_outputs_of_many_parts_the_usual_sums_are_found():
    noise = noises(40)[:26].reshape(26, 4, 10)
    outputs = (noise - noise.mean(axis=2, keepdims=True)).reshape(26, 40)
    kept = found(outputs).weights
    assert [1.0] * 10 + [0.0] * 30 in kept.tolist()
    assert np.abs(outputs @ kept.T).max() < 1e-9


def test_large_steps_hide_a_total():
    noise = noises(3, scale=1.0)
    assert found(np.column_stack([noise, noise.sum(axis=1)]).round()) is None


def test_parts_that_are_no_numbers_or_always_the_same_count_nothing():
    noise = noises(1)
    outputs = np.column_stack([noise, np.full_like(noise, np.nan), np.full_like(noise, 3.0)])
    assert found(outputs) is None


def test_a_combination_is_none_of_an_output_that_lacks_a_part():
    total = Invariants(("output['a']", "output['b']"), np.array([[1.0, -1.0]]), np.array([1e-12]))
    assert total.of(flatten_output({"a": 5.0})) is None
    assert total.of(flatten_output({"b": 2.0, "c": 0.0, "a": 5.0})).tolist() == [3.0]
    assert total.held(np.array([3.0]), np.array([3.0])).all()
    assert not total.held(np.array([3.0]), np.array([3.1])).any()


def centred(values, rng):
    noise = rng.laplace(scale=100, size=10)
    return np.round(values + noise - noise.mean(), 1)


def shared(values, rng):
    noise = rng.laplace(scale=100)
    return {"sum": values.sum() + noise, "top": values.max() + noise}


@pytest.mark.parametrize("function", [centred, shared])
def test_a_search_ends_where_a_combination_moves_the_most(function):
    best = search_pairs(function, TEN, "replace-record", calls=400).found[0]
    assert best.kind == "invariant"
    sides = [[one[0][0] for one in side] for side in (best.place.units, best.place.neighbour)]
    sums = [sum(side) - max(side) * (function is shared) for side in sides]
    assert abs(sums[0] - sums[1]) == pytest.approx(1)


def test_what_is_the_same_on_both_sides_is_no_finding():
    def consistent(values, rng):
        noisy = values[:3] + rng.laplace(scale=20, size=3)
        return {"parts": noisy, "total": noisy.sum()}

    assert {
        one.kind for one in search_pairs(consistent, TEN, "replace-record", calls=400).found
    } == {"movement"}


def test_a_combination_that_holds_on_one_side_alone_is_not_beyond_noise():
    def sometimes(values, rng):
        noise = rng.laplace(scale=20, size=2)
        return [noise[0], noise[0] + (noise[1] if values[0] > 0.9 else 0.0)]

    found = search_pairs(sometimes, TEN, "replace-record", calls=400).found
    assert "invariant" not in {one.kind for one in found}
