"""Correct bounds pass and are attained; halved ones are refuted, by a small pair."""

import math
import re

import numpy as np
import pytest
from hypothesis import strategies as st

import dpaudit
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.neighbours import RELATIONS, REPLACE_RECORD, Pair
from dpaudit.search.sensitivity import first_digit
from dpaudit.testing import Records, assert_sensitivity, pairs
from dpaudit.testing.movement import _measure_movement, _Movement

ARRAYS = Records(labels=None)
SMALL_RECORDS = Records(rows=(1, 2), columns=(1, 2))


def total(records):
    return records.sum(axis=0)


def signed_total(data):
    return data.labels @ data.features


def row_sums(data):
    return data.features.sum(axis=1)


def joined_total(data):
    return data.as_table().features.sum(axis=0)


# Relation, query, its exact sensitivity for records of norm at most 1.
QUERIES = {
    "replace-record": (signed_total, 2.0),
    "add-remove-record": (signed_total, 1.0),
    "replace-label": (signed_total, 2.0),
    "replace-column": (row_sums, lambda pair: 2 * math.sqrt(len(pair.dataset.labels))),
    "replace-tuple": (joined_total, 2.0),
}
NAMED = pytest.mark.parametrize("relation", QUERIES)


def times(factor, bound):
    return (lambda pair: factor * bound(pair)) if callable(bound) else factor * bound


def refused(*arguments, **options):
    with pytest.raises(AssertionError) as caught:
        assert_sensitivity(*arguments, **options)
    return str(caught.value)


def test_every_relation_has_a_query():
    assert set(QUERIES) == set(RELATIONS)


@pytest.mark.sampled(1)
@NAMED
def test_an_exact_bound_is_attained_and_holds(relation):
    query, bound = QUERIES[relation]
    ratio = assert_sensitivity(query, bound, pairs(relation, SMALL_RECORDS))
    assert ratio == pytest.approx(1, abs=1e-9)


@pytest.mark.sampled(1)
@NAMED
def test_a_doubled_bound_holds_and_a_halved_one_is_refuted(relation):
    query, bound = QUERIES[relation]
    drawn = pairs(relation)
    assert 0.4 < assert_sensitivity(query, times(2, bound), drawn, max_examples=60) <= 0.5 + 1e-9
    message = refused(query, times(0.5, bound), drawn)
    for words in ("moves by", "bound", "ratio: ", "pair: ", "dataset: ", "neighbour: "):
        assert words in message


@pytest.mark.sampled(2)
@NAMED
def test_a_bound_one_per_cent_too_small_is_refuted(relation):
    query, bound = QUERIES[relation]
    drawn = pairs(relation, SMALL_RECORDS)
    assert "ratio: 1.0" in refused(query, times(0.99, bound), drawn)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("norm", "bound"),
    [("l1", 2 * math.sqrt(2)), ("l2", 2.0), ("linf", 2.0), (np.linalg.norm, 2.0)],
)
def test_every_norm_from_both_sides(norm, bound):
    drawn = pairs("replace-record", Records(columns=2, rows=(1, 2), labels=None))
    assert assert_sensitivity(total, bound, drawn, norm=norm) > 0.999
    refused(total, bound * 0.99, drawn, norm=norm)


def test_the_violating_pair_is_as_small_as_can_be():
    message = refused(total, 1.0, pairs("replace-record", ARRAYS))
    assert message == (
        "the query moves by 2 between neighbours (l2), more than the bound 1\n"
        "  ratio: 2\n"
        "  pair: one record (features and label) is replaced (index 0)\n"
        "  dataset: array([[1.]])\n"
        "  neighbour: array([[-1.]])"
    )


def test_a_violation_that_needs_three_records_keeps_no_more():
    def query(records):
        return records.sum() if len(records) >= 3 else 0.0

    drawn = pairs("replace-record", Records(labels=None, rows=(1, 6), columns=(1, 3)))
    lines = refused(query, 0.5, drawn).split("dataset: ")[1].split("neighbour: ")
    shown = [eval(text.strip(), {"array": np.array}) for text in lines]
    assert [array.shape for array in shown] == [(3, 1), (3, 1)]
    assert np.abs(shown).sum() <= 2


def test_the_same_test_looks_at_the_same_pairs():
    drawn = pairs("replace-record", Records(columns=3, labels=None))

    def ratio(derandomize=True):
        skewed = lambda records: np.cos(records).sum()  # noqa: E731
        return assert_sensitivity(skewed, 3, drawn, max_examples=50, derandomize=derandomize)

    assert ratio() == ratio()
    assert 0 < ratio(derandomize=False) <= 1


@pytest.mark.parametrize("columns", [1, (1, 2)])
def test_the_search_calls_the_query_as_often_as_asked(columns):
    """Where few pairs are new, Hypothesis would go on looking for them."""
    calls = []

    def query(records):
        calls.append(1)
        return total(records)

    drawn = pairs("add-remove-record", Records(rows=(2, 4), columns=columns, labels=None))
    assert assert_sensitivity(query, 1.0, drawn, max_examples=60) > 0.9
    assert len(calls) == 120


# Rounding


def test_rounding_is_no_violation():
    drawn = pairs("replace-record", Records(labels=None, columns=1))
    assert_sensitivity(lambda records: 1e9 + total(records), 2.0, drawn, max_examples=100)
    assert_sensitivity(total, 2.0 * (1 - 1e-10), drawn, max_examples=100)
    refused(total, 2.0 * (1 - 1e-6), drawn)


def test_huge_and_tiny_movements_are_measured():
    for scale in (1e-200, 1e200):
        drawn = pairs("replace-record", Records(labels=None, columns=2))
        query = lambda records, scale=scale: scale * total(records)  # noqa: E731
        assert assert_sensitivity(query, 2 * scale, drawn, max_examples=60) > 0.7
        refused(query, scale, drawn)


# Pairs in a list

SMALL = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)
LARGE = Pair(np.array([0.0, 5.0]), np.array([3.0, 5.0]), REPLACE_RECORD)


def test_all_pairs_of_a_list_are_tried():
    assert assert_sensitivity(np.sum, 3.0, iter([SMALL, LARGE])) == 1.0
    assert "array([3., 5.])" in refused(np.sum, 2.0, [SMALL, LARGE], show_records=True)


def test_the_smallest_violating_pair_of_a_list_is_shown():
    assert "dataset: array([0.])" in refused(np.sum, 0.5, [LARGE, SMALL], show_records=True)
    assert _Movement(SMALL, 1.0, 1.0, 0.5).size < _Movement(LARGE, 3.0, 3.0, 0.5).size


def test_a_pair_that_was_given_is_nobodys_to_show():
    told = refused(np.sum, 2.0, [SMALL, LARGE])
    assert re.search(r"dataset: values of shape \(2,\) #\w{8}\n  neighbour: values of shape", told)
    assert "5" not in re.sub(r"#\w{8}|1\.5", "", told)


# What cannot be searched


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": 3}, "query: got 3, expected a function of a dataset"),
        ({"bound": 0}, "bound: got 0, expected a finite number above 0"),
        ({"bound": lambda pair: math.inf}, "bound: got inf, expected a finite number above 0"),
        ({"pairs": 3}, "pairs: got 3, expected a Hypothesis strategy"),
        ({"pairs": []}, "pairs: got no pairs, expected at least one"),
        ({"pairs": [3]}, "pairs: got 3, expected dpaudit.Pair objects"),
        ({"pairs": st.integers()}, "pairs: got 0, expected dpaudit.Pair objects"),
        ({"norm": "l3"}, "norm: got 'l3', expected one of: l1, l2, linf"),
        ({"norm": lambda difference: math.nan}, "norm: got nan"),
        ({"max_examples": 0}, "max_examples: got 0, expected an integer, at least 1"),
        ({"derandomize": 0}, "derandomize: got 0, expected True or False"),
    ],
)
def test_a_bad_argument_is_named(arguments, words):
    given = {"query": np.sum, "bound": 1.0, "pairs": [SMALL]} | arguments
    with pytest.raises(InvalidArgument) as caught:
        assert_sensitivity(**given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (lambda records: records, "answers of shapes (1, 1) and (2, 1) on neighbours"),
        (lambda records: math.nan, "query: answer"),
        (lambda records: "a", "query: answer: got text of 1 characters #"),
    ],
)
def test_a_query_without_comparable_answers_is_refused(query, words):
    with pytest.raises(MechanismError) as caught:
        assert_sensitivity(query, 1.0, pairs("add-remove-record", ARRAYS), max_examples=10)
    assert words in str(caught.value)


def test_a_random_query_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(MechanismError, match="expected a deterministic function"):
        assert_sensitivity(lambda records: rng.normal(), 1.0, pairs("replace-record", ARRAYS))


def test_an_error_of_the_query_itself_comes_through():
    with pytest.raises(ZeroDivisionError):
        assert_sensitivity(lambda records: 1 // 0, 1.0, pairs("replace-record", ARRAYS))


def test_what_is_certain_of_a_movement_is_less_by_its_rounding():
    pair = Pair(np.array([1.0, 2.0]), np.array([1.0, 5.0]), REPLACE_RECORD)
    found = _measure_movement(
        lambda data: 1e9 * data, 4e9, lambda moved: float(np.abs(moved).max()), pair
    )
    rounding = 16 * np.finfo(np.float64).eps * 5e9
    assert (found.distance, found.bound, found.ratio) == (3e9, 4e9, 0.75)
    assert 0 < found.distance - found.certain == pytest.approx(rounding, rel=0.2)


# A domain, or a dataset, in place of pairs

BOX = {"bounds": (-1, 1), "records": (1, 4)}
MOVED = {
    "sum": (np.sum, 2.0),
    "median": (np.median, 2.0),  # of one record
    "variance": (np.var, 1.0),
    "sums": (lambda x: np.array([x.sum(), -x.sum()]), 2 * math.sqrt(2)),
}


@pytest.mark.parametrize("name", MOVED)
def test_the_search_of_a_domain_is_that_of_a_sensitivity(name):
    query, moved = MOVED[name]
    given = {"domain": BOX, "relation": "replace-record"}
    found = dpaudit.sensitivity(query, **given)
    ratio = assert_sensitivity(query, moved, **given)
    assert ratio == pytest.approx(float(found) / moved, rel=1e-12)
    assert ratio == pytest.approx(1, rel=1e-9)
    refused(query, moved / 2, **given)


def test_beside_a_dataset_both_find_the_same_and_no_record_is_shown():
    data = np.array([0.3217, 0.4111, 0.4379])
    given = {"dataset": data, "bounds": (0, 1), "relation": "replace-record"}
    found = dpaudit.sensitivity(np.median, None, **given)
    assert assert_sensitivity(np.median, 1.0, **given) == pytest.approx(found.at_least)
    assert found.at_least == pytest.approx(1)
    message = refused(np.median, 0.5, **given)
    assert "dataset: array([" in message
    locked = lambda x: float(np.isin(x, data).sum() == 3)  # noqa: E731
    message = refused(locked, 0.5, **given)
    assert "0.3217" not in message
    assert "0.3217" in refused(locked, 0.5, show_records=True, **given)


def test_the_smallest_pair_beyond_a_bound_is_shown():
    message = refused(np.sum, 1.0, domain=BOX, relation="replace-record")
    assert "dataset: array([-1.])" in message
    assert "neighbour: array([1.])" in message


def test_a_bound_that_depends_on_the_pair_is_one_of_a_domain_too():
    given = {"domain": BOX, "relation": "replace-record"}
    by_size = lambda pair: 2 / len(pair.dataset)  # noqa: E731
    assert assert_sensitivity(np.mean, by_size, **given) == pytest.approx(1)
    message = refused(np.mean, lambda pair: 1 / len(pair.dataset), **given)
    assert "ratio: 2" in message


def test_a_query_that_changes_is_named_whoever_looks():
    rng = np.random.default_rng(0)
    with pytest.raises(MechanismError, match="deterministic"):
        assert_sensitivity(
            lambda x: 9.0 * (rng.random() < 0.02), 1.0, domain=BOX, relation="replace-record"
        )


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "pairs"),
        ({"domain": BOX}, "relation"),
        ({"domain": BOX, "relation": "replace-record", "pairs": []}, "domain"),
        ({"dataset": np.zeros(2), "pairs": []}, "dataset"),
        ({"relation": "replace-record", "pairs": []}, "relation"),
        ({"domain": 7, "relation": "replace-record"}, "domain"),
        ({"domain": BOX, "relation": "replace-record", "search_calls": 0}, "calls"),
    ],
)
def test_where_to_look_is_said_once(given, name):
    with pytest.raises(InvalidArgument, match=rf"^{name}: got"):
        assert_sensitivity(np.sum, 2.0, **given)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(7712391.0, "7e+06"), (0.999, "0.9"), (1.0, "1"), (9.99e-5, "9e-05"), (math.inf, "inf")],
)
def test_a_number_is_rounded_down_to_its_first_digit(value, shown):
    assert f"{first_digit(value):g}" == shown
    assert float(shown) <= value


def test_how_far_a_query_moves_beside_a_dataset_tells_one_digit_of_it():
    given = {"dataset": np.array([77123.91, 3.0, 5.0]), "relation": "replace-record"}
    with pytest.raises(AssertionError, match=r"moves by at least 7e\+06 ") as failed:
        assert_sensitivity(lambda data: float(data.sum()), 1.0, **given)
    assert "77123" not in str(failed.value)
    assert "771239" not in str(failed.value)
    with pytest.raises(AssertionError, match="7712391"):
        assert_sensitivity(lambda data: float(data.sum()), 1.0, show_records=True, **given)
