"""`dpaudit.sensitivity`: at least the movement of the pair that it names."""

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidArgument, MechanismError

FOUR = {"bounds": (-1, 1), "records": 4}


def sums(data):
    return np.array([data.sum(), -2 * data.sum()])


@pytest.mark.parametrize(
    ("norm", "expected"),
    [("l1", 6), ("l2", 2 * 5**0.5), ("linf", 4), (lambda moved: float(moved[0] ** 2), 4)],
)
def test_the_movement_is_measured_in_the_norm_that_is_named(norm, expected):
    found = dpaudit.sensitivity(sums, FOUR, "replace-record", norm)
    assert float(found) == found.at_least == pytest.approx(expected)
    assert not callable(norm) or found.norm == "norm of the test's own"


def test_the_movement_is_that_of_the_pair():
    found = dpaudit.sensitivity(np.median, FOUR, "replace-record")
    assert isinstance(found.pair, dpaudit.Pair)
    moved = abs(np.median(found.pair.dataset) - np.median(found.pair.neighbour))
    assert moved == 1
    assert found.at_least == pytest.approx(1, rel=1e-14)
    assert found.at_least < 1  # a lower end: two answers are rounded
    assert str(found).startswith("at least 1 (l2), of ")


def test_what_never_moves_has_no_pair():
    found = dpaudit.sensitivity(len, FOUR, "replace-record")
    assert (found.at_least, found.pair) == (0.0, None)
    assert found.pairs > 10


def test_rounding_is_no_movement():
    found = dpaudit.sensitivity(lambda x: 1e9 + 1e-12 * x[0], FOUR, "replace-record")
    assert found.pair is None


def test_a_query_may_change_what_it_is_given():
    def query(x):
        x.sort()
        return 10 * x[-1] + x[0]

    given = np.array([0.5, -0.25, 0.75, 0.125])
    found = dpaudit.sensitivity(
        query, None, "replace-record", dataset=given, bounds=(-1, 1), calls=200
    )
    assert given.tolist() == [0.5, -0.25, 0.75, 0.125]
    assert found.at_least == pytest.approx(20)


def test_the_query_is_called_no_more_than_it_may_be():
    seen = []
    dpaudit.sensitivity(lambda x: seen.append(1) or x.var(), FOUR, "replace-record", calls=60)
    assert 40 < len(seen) <= 62


def test_a_dataset_that_is_given_is_looked_at():
    lock = np.array([0.25, -0.125])

    def query(x):
        return float((x == lock).sum() == 1)

    given = {"dataset": lock, "calls": 300}
    assert dpaudit.sensitivity(query, {**FOUR, "records": 2}, "replace-record", **given).pair
    with pytest.raises(InvalidArgument, match=r"dataset: got 2 records"):
        dpaudit.sensitivity(query, FOUR, "replace-record", **given)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (lambda x: np.zeros(int(x[0] > 0) + 1), "of shapes"),
        (lambda x: float("nan"), "query: answer"),
        (lambda x: "text", "query: answer"),
    ],
)
def test_answers_that_nobody_can_subtract_are_named(query, words):
    with pytest.raises(MechanismError, match=words):
        dpaudit.sensitivity(query, FOUR, "replace-record")


# A unit of distance


@pytest.mark.parametrize(
    ("query", "distance", "norm", "expected"),
    [
        (lambda x: 3 * x, "euclidean", "l2", 3.0),
        (lambda x: 3 * x, "manhattan", "l2", 3.0),
        (lambda x: 3 * x, "euclidean", "l1", 3 * 2**0.5),
        (lambda x: x.max(), "chebyshev", "l2", 1.0),
        (lambda x: np.minimum(x, 0.5).sum(), "manhattan", "l1", 1.0),  # far ones move less
        (lambda x: 0.0, "euclidean", "l2", 0.0),
    ],
)
def test_the_movement_a_unit_of_distance_is_found_and_never_exceeded(
    query, distance, norm, expected
):
    domain = {"bounds": (0, 10), "records": 2}
    found = dpaudit.sensitivity(query, domain, f"metric: {distance}", norm)
    assert found.at_least <= expected
    assert found.at_least == pytest.approx(expected, rel=1e-6)
    assert "a unit of distance" in str(found) if expected else found.pair is None


def test_the_distance_is_that_of_the_pair():
    found = dpaudit.sensitivity(
        lambda x: 2 * x, {"bounds": (0, 10), "records": 2}, "metric: manhattan", "l1"
    )
    one, other = found.pair.dataset, found.pair.neighbour
    assert found.apart == pytest.approx(np.abs(one - other).sum())
    assert found.at_least * found.apart == pytest.approx(np.abs(2 * one - 2 * other).sum())


def test_a_distance_of_somebodys_own_measures_too():
    squared = dpaudit.metric(lambda x, y: float(np.abs(x - y).max() ** 2))
    near = dpaudit.sensitivity(lambda x: x, {"bounds": (0, 10), "records": 1}, squared)
    assert near.at_least > 1 / 5  # x over x squared: the nearer the more


@pytest.mark.parametrize(
    ("given", "name"),
    [({"domain": None, "dataset": np.zeros(2)}, "domain"), ({"query": 3}, "query")],
)
def test_what_a_distance_needs_is_named(given, name):
    sound = {"query": len, "domain": FOUR, "relation": "metric: euclidean"}
    with pytest.raises(InvalidArgument, match=name):
        dpaudit.sensitivity(**{**sound, **given})


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"query": 3}, "query"),
        ({"norm": "l3"}, "norm"),
        ({"domain": 7}, "domain"),
        ({"relation": "replace"}, "relation"),
        ({"calls": 0}, "calls"),
        ({"bounds": (0, 1)}, "bounds"),
        ({"domain": None}, "domain"),
    ],
)
def test_bad_arguments_are_named(given, name):
    sound = {"query": len, "domain": FOUR, "relation": "replace-record"}
    with pytest.raises(dpaudit.DpauditError, match=name):
        dpaudit.sensitivity(**{**sound, **given})


@pytest.mark.parametrize("relation", ["replace-record", "metric: euclidean"])
def test_a_query_that_answers_otherwise_the_next_time_has_no_sensitivity(relation):
    rng, calls = np.random.default_rng(0), []

    def noisy(data):
        return data.sum() + rng.normal()

    def counted(data):
        calls.append(data)
        return float(len(calls))

    for query in (noisy, counted):
        with pytest.raises(MechanismError, match="different answers on the same dataset"):
            dpaudit.sensitivity(query, FOUR, relation, calls=200)


def test_answers_that_differ_in_their_last_bits_are_one():
    calls = []

    def total(data):
        calls.append(data)
        return float(data.sum()) * (1 + 1e-16 * (len(calls) % 2))

    assert dpaudit.sensitivity(total, FOUR, "replace-record").at_least == pytest.approx(2)


def test_what_a_query_raises_is_said_as_that_of_any_code():
    def query(x):
        return {}["key"] if x.sum() > 1 else 0.0

    with pytest.raises(MechanismError, match=r"query: .*KeyError"):
        dpaudit.sensitivity(query, {"bounds": (0, 1), "records": 3}, "replace-record")
