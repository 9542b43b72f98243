"""The smallest pair on which a refutation still shows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import dpaudit
import dpaudit.redaction as redaction
from dpaudit.auditing.api import own_case
from dpaudit.auditing.explain.output_parts import resolve_case_layout
from dpaudit.auditing.pairs.smallest_pair import find_smallest_pair
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.execution import Executor
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import ADD_REMOVE_RECORD, Pair
from dpaudit.neighbours.found_relations import find_pair_relation
from dpaudit.neighbours.smaller import find_shared_records, size_of

VALUES = np.linspace(0.1, 1.0, 20)


def shrunk(mechanism, dataset, neighbour, trials=10_000, seed=0, epsilon=1.0):
    """Return the smallest pair found, drawn in this process."""
    pair, _, _ = find_pair_relation(dataset, neighbour)
    claimed = ApproximateDP(epsilon, 0.0)
    case, _ = own_case(mechanism, pair, claimed=claimed, isolation=Isolation(in_process=True))
    case = resolve_case_layout(case, seed, Executor(), lambda pace: trials).case
    drawer = make_drawer(case.mechanism, pair, Executor(), seed)
    return find_smallest_pair(case, drawer, 4 * trials, 0.05)


def clamped(data, trials, rng):
    """Return a noisy mean that is clamped to the range of the data."""
    return np.clip(data.mean() + rng.laplace(scale=0.25, size=trials), data.min(), data.max())


def largest_of_four(data, trials, rng):
    """Return nearly the largest value, where there are four records or more."""
    noise = 0.01 if len(data) >= 4 else 10.0
    return data.max() + rng.laplace(scale=noise, size=trials)


def with_error(data, trials, rng):
    """Return the sum with little noise, of five records or more."""
    if len(data) < 5:
        raise ValueError("too few records")
    return data.sum() + rng.laplace(scale=0.2, size=trials)


@pytest.mark.parametrize(
    ("mechanism", "left"), [(clamped, [2, 1]), (largest_of_four, [4, 3]), (with_error, None)]
)
def test_records_that_do_not_matter_are_left_out(mechanism, left):
    found = shrunk(mechanism, np.append(VALUES, 5.0), VALUES)
    least = 5 if left is None else left[1]
    assert left is None or found.records == left
    assert found.records[0] == found.records[1] + 1 <= 9
    assert found.records[1] >= least
    assert found.of == [21, 20]
    assert found.witness.refutes
    assert found.sentence.startswith(
        f"The smallest pair found that still shows the leak has {found.records[0]} and"
    )


def test_a_pair_that_is_as_small_as_it_can_be_stays():
    assert shrunk(clamped, np.array([1.0, 5.0]), np.array([1.0])) is None


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 40))]
)
def test_a_private_mechanism_is_refuted_on_no_smaller_pair(seed):
    def private(data, trials, rng):
        return np.clip(data, 0, 1).sum() + rng.laplace(size=trials)

    assert shrunk(private, np.append(VALUES, 1.0), VALUES, seed=seed) is None


def test_one_seed_finds_one_pair():
    pair = np.append(VALUES, 5.0), VALUES
    assert shrunk(largest_of_four, *pair) == shrunk(largest_of_four, *pair)


FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]}, index=[7, 8, 9])


@pytest.mark.parametrize(
    ("dataset", "neighbour", "shared"),
    [
        ([1, 2, 2, 3], [2, 2, 3], 3),
        (np.eye(3), np.eye(3)[:2], 2),
        (FRAME, FRAME.iloc[1:], 2),
        ((np.eye(3), np.zeros(3)), (np.eye(3)[:2], np.zeros(2)), 2),
        ([{"a": 1}, {"b": 2}], [{"a": 1}], 1),
    ],
    ids=["list", "array", "table", "labelled", "dicts"],
)
def test_every_part_of_what_is_shared_gives_neighbours(dataset, neighbour, shared):
    found = find_shared_records(Pair(dataset, neighbour, ADD_REMOVE_RECORD))
    assert len(found.places) == shared
    for kept in ([], [0], list(range(shared))):
        pair = found.keeping(kept)
        assert (size_of(pair.dataset), size_of(pair.neighbour)) == (len(kept) + 1, len(kept))
        assert type(pair.dataset) is type(dataset)


def test_what_has_no_records_to_leave_out_stays_as_it_is():
    held = find_pair_relation({"a": 1}, {"a": 2}, "declared: anything")[0]
    assert find_shared_records(held) is None
    matrix = sparse.csr_matrix(np.eye(2))
    assert find_shared_records(Pair(matrix, matrix[:1], ADD_REMOVE_RECORD)) is None


def test_records_are_shown_where_they_are_asked_for():
    pair = np.append(VALUES, 5.0), VALUES
    with redaction.set_records_shown():
        assert shrunk(clamped, *pair).sentence.endswith(
            "They are array([0.1, 5. ]) and array([0.1])."
        )
    assert "They are" not in shrunk(clamped, *pair).sentence


@pytest.mark.slow
def test_a_refutation_says_it():
    result = dpaudit.audit(clamped, np.append(VALUES, 5.0), VALUES, epsilon=1.0, trials=1000)
    assert result.verdict == "refuted"
    assert result.notes[-1] == result.smallest_pair.sentence


@pytest.mark.parametrize("trials", [10_000, 1000])
def test_all_tries_together_spend_what_is_given(monkeypatch, trials):
    """Which pair is tried depends on the tries before, so that any of them may err."""
    spent, seeds = [], []

    def of(case, drawer, alpha, **_):
        spent.append(alpha)
        seeds.append(drawer.seed)

    monkeypatch.setattr("dpaudit.auditing.pairs.smallest_pair.witness.of", of)
    assert shrunk(clamped, np.append(VALUES, 5.0), VALUES, trials=trials) is None
    assert 1 < len(spent) <= 8
    assert sum(spent) <= 0.05 * (1 + 1e-12)
    assert len(set(seeds)) == len(seeds)
