"""Distances by hand and in fractions, and what is refused of a distance."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpaudit
from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.guarantees.kinds import PureDP, RenyiDP
from dpaudit.guarantees.scaling import at_distance
from dpaudit.mechanisms.foreign.distance_calls import distances_of
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import Metric, Pair, metric, relation
from dpaudit.neighbours.distances import DISTANCES

POINTS = st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3)
BY_HAND = [
    ("absolute", 3, 5.5, 2.5),
    ("absolute", [2**60], [2**60 + 1], 1.0),
    ("euclidean", [0.0, 0.0], [3.0, 4.0], 5.0),
    ("euclidean", np.zeros((2, 2)), np.ones((2, 2)), 2.0),
    ("euclidean", [1e200, 0.0], [-1e200, 0.0], 2e200),
    ("euclidean", [5e-324], [0.0], 5e-324),
    ("manhattan", (0, 0), (3, -4), 7.0),
    ("manhattan", pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [2, 4]}), 3.0),
    ("manhattan", [2**53 + 1, 0.5], [2**53 - 1, 0.5], 2.0),
    (
        "chebyshev",
        pd.DataFrame({"a": [2**53 + 1], "b": [0.5]}),
        pd.DataFrame({"a": [2**53], "b": [1.0]}),
        1.0,
    ),
    ("chebyshev", [0, 0, 0], [1, -4, 2], 4.0),
    ("chebyshev", [], [], 0.0),
    ("hamming", "karolin", "kathrin", 3.0),
    ("hamming", [1, 2, 3], [1, 5, 6], 2.0),
    ("hamming", np.zeros((3, 2)), np.array([[0, 0], [0, 1], [1, 1]]), 2.0),
    ("hamming", ["a", "b"], ["b", "a"], 2.0),
]


@pytest.mark.parametrize(("name", "one", "other", "apart"), BY_HAND)
def test_distances_by_hand(name, one, other, apart):
    assert metric(name).apart(one, other) == apart
    assert metric(name).apart(other, one) == apart


@given(POINTS, POINTS)
def test_distances_are_the_least_doubles_that_are_not_below(one, other):
    moved = [abs(Fraction(a) - Fraction(b)) for a, b in zip(one, other, strict=True)]
    exact = {"manhattan": sum(moved), "chebyshev": max(moved)}
    for name, value in exact.items():
        found = DISTANCES[name](one, other)
        assert found >= value
        assert not found or Fraction(math.nextafter(found, 0.0)) < value
    squares, root = sum(by**2 for by in moved), DISTANCES["euclidean"](one, other)
    assert root == math.inf or Fraction(root) ** 2 >= squares
    if 0 < root < math.inf:
        assert Fraction(math.nextafter(root, 0.0)) ** 2 < squares


@pytest.mark.parametrize(
    ("name", "one", "other", "said"),
    [
        ("euclidean", [1.0], [1.0], "distance .euclidean. of 0"),
        ("euclidean", [1.0], [1.0, 2.0], "same shape"),
        ("euclidean", [1.0], [math.nan], "finite numbers"),
        ("manhattan", ["a"], ["b"], "finite numbers"),
        ("manhattan", [1e308], [-1e308], "returns inf"),
        ("absolute", [1.0, 2.0], [1.0, 3.0], "datasets of one number"),
        ("hamming", "a", "ab", "as many on both sides"),
        ("hamming", 1, 2, "no records"),
    ],
)
def test_a_pair_without_a_distance_is_refused(name, one, other, said):
    with pytest.raises(InvalidArgument, match=said):
        Pair(one, other, metric(name))


WRONG = {
    "returns nan": lambda one, other: math.nan,
    "returns inf": lambda one, other: math.inf,
    "returns -1.0": lambda one, other: -1,
    "returns str": lambda one, other: "far",
    "returns NoneType": lambda one, other: None,
    "returns list": lambda one, other: [1.0],
    "returns bool": lambda one, other: True,
    "which raises": lambda one, other: 1 / 0,
    "1.0 one way and 2.0 the other": lambda one, other: one + 1,
    "of 0": lambda one, other: 0,
}


@pytest.mark.parametrize("said", WRONG)
def test_a_function_that_is_no_distance_is_refused(said):
    for isolation in (Isolation(in_process=True), *[Isolation()] * (said == "which raises")):
        own = metric(WRONG[said])
        with pytest.raises(InvalidArgument, match=said) as caught:
            distances_of(own, [Pair(0.0, 1.0, own)], isolation)
        assert "<lambda>" in str(caught.value)


def test_somebodys_distance_is_called_where_their_code_runs():
    called = []

    def far(one, other):
        called.append(1)
        return 3 * abs(one - other)

    own = metric(far)
    pairs = [Pair(0.0, 1.0, own), Pair(2.0, 0.0, own)]
    assert not called  # a pair alone asks nobody
    assert distances_of(own, pairs) == [3.0, 6.0]
    assert not called  # it was in another process
    assert distances_of(own, pairs, Isolation(in_process=True)) == [3.0, 6.0]
    assert len(called) == 4  # both ways


def test_a_distance_that_ends_its_process_is_refused():
    def ends(one, other):
        import os

        os._exit(3)

    own = metric(ends)
    with pytest.raises(InvalidArgument, match="distance: got ends, expected one that can be"):
        distances_of(own, [Pair(0.0, 1.0, own)])


def test_metrics_are_relations_by_name():
    named = relation("metric: euclidean")
    assert isinstance(named, Metric)
    assert named == pickle.loads(pickle.dumps(named)) == dpaudit.metric("euclidean")
    assert metric("mine:far").reference == "mine:far"
    assert metric("mine:far").is_own
    with pytest.raises(UnknownName, match="did you mean 'euclidean'"):
        relation("metric: euclid")
    with pytest.raises(InvalidArgument, match="a name, such as euclidean"):
        metric(3)


def test_what_is_claimed_grows_with_the_distance():
    assert at_distance(dpaudit.ApproximateDP(0.1, 1e-6), 3.0) == dpaudit.ApproximateDP(0.3, 1e-6)
    assert at_distance(PureDP(0.5), 4.0) == PureDP(2.0)
    assert at_distance(dpaudit.GaussianDP(0.5), 4.0) == dpaudit.GaussianDP(2.0)
    assert at_distance(dpaudit.ZeroConcentratedDP(0.5), 4.0) == dpaudit.ZeroConcentratedDP(8.0)
    third = at_distance(PureDP(1.0), 1 / 3).at_epsilon
    assert Fraction(third) >= Fraction(1 / 3)
    for given_, distance in ((RenyiDP(2.0, 1.0), 2.0), (PureDP(1e300), 1e300), (PureDP(1.0), 0.0)):
        with pytest.raises(InvalidArgument):
            at_distance(given_, distance)


@pytest.mark.parametrize("larger", ["there", "back"])
def test_of_two_measures_that_agree_up_to_rounding_the_larger_counts(larger):
    far = math.nextafter(2.0, 3)
    own = metric(lambda one, other: far if (one < other) == (larger == "there") else 2.0)
    assert own.apart(0, 1) == own.apart(1, 0) == far
