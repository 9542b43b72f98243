"""Neighbour relations accept exactly the pairs they name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.neighbours import (
    ADD_REMOVE_RECORD,
    RELATIONS,
    REPLACE_COLUMN,
    REPLACE_LABEL,
    REPLACE_RECORD,
    Pair,
    compare,
    relation,
)


def raises_no_pair():
    return pytest.raises(InvalidArgument, match=r"^pair: got ")


def dataset(features, labels=None, node_sizes=()):
    features = np.asarray(features, dtype=float)
    labels = np.ones(len(features)) if labels is None else labels
    return Dataset(features, labels, node_sizes=node_sizes)


@st.composite
def tables(draw, least=1):
    """Draw integer features, labels and node sizes: small values, so that rows repeat."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    rows, columns = sum(sizes), draw(st.integers(1, 3))
    values = st.integers(0, 2)
    features = [[draw(values) for _ in range(columns)] for _ in range(rows)]
    return np.array(features, dtype=float), np.array([draw(values) for _ in range(rows)]), sizes


# Pairs by construction: accepted, and refused after a second change


@given(tables(), st.data())
def test_replacing_one_record_makes_a_pair_and_two_do_not(table, data):
    features, labels, sizes = table
    row = data.draw(st.integers(0, len(features) - 1))
    changed, relabelled = features.copy(), labels.copy()
    if data.draw(st.booleans()):
        changed[row, data.draw(st.integers(0, features.shape[1] - 1))] += 5
    else:
        relabelled[row] += 5
    one, other = dataset(features, labels, sizes), dataset(changed, relabelled, sizes)
    assert Pair(one, other, REPLACE_RECORD).index == row
    assert Pair(one, other, REPLACE_RECORD).swapped().index == row
    if len(features) > 1:
        changed[(row + 1) % len(features), 0] += 7
        with raises_no_pair():
            Pair(one, dataset(changed, relabelled, sizes), REPLACE_RECORD)


@given(tables(), st.data())
def test_replacing_one_label_makes_a_pair_and_a_feature_does_not(table, data):
    features, labels, sizes = table
    row = data.draw(st.integers(0, len(features) - 1))
    relabelled = labels.copy()
    relabelled[row] += 5
    one, other = dataset(features, labels, sizes), dataset(features, relabelled, sizes)
    assert Pair(one, other, REPLACE_LABEL).index == row
    changed = features.copy()
    changed[row, 0] += 1
    with raises_no_pair():
        Pair(one, dataset(changed, relabelled, sizes), REPLACE_LABEL)
    relabelled[(row + 1) % len(labels)] += 7
    if len(labels) > 1:
        with raises_no_pair():
            Pair(one, dataset(features, relabelled, sizes), REPLACE_LABEL)


@given(tables(), st.data())
def test_replacing_one_column_makes_a_pair_and_a_label_does_not(table, data):
    features, labels, sizes = table
    column = data.draw(st.integers(0, features.shape[1] - 1))
    changed = features.copy()
    changed[:, column] += 5
    one, other = dataset(features, labels, sizes), dataset(changed, labels, sizes)
    assert Pair(one, other, REPLACE_COLUMN).index == column
    with raises_no_pair():
        Pair(one, dataset(changed, labels + 1, sizes), REPLACE_COLUMN)
    if features.shape[1] > 1:
        changed[0, (column + 1) % features.shape[1]] += 7
        with raises_no_pair():
            Pair(one, dataset(changed, labels, sizes), REPLACE_COLUMN)


@given(tables(), st.data())
def test_adding_one_record_anywhere_makes_a_pair_and_a_change_besides_does_not(table, data):
    features, labels, sizes = table
    node = data.draw(st.integers(0, len(sizes) - 1))
    row = data.draw(st.integers(sum(sizes[:node]), sum(sizes[: node + 1])))
    # Possibly a copy of a record that is there already.
    record = data.draw(st.sampled_from([*features.tolist(), [9.0] * features.shape[1]]))
    more = np.insert(features, row, record, axis=0)
    more_labels = np.insert(labels, row, data.draw(st.integers(0, 2)))
    more_sizes = [n + (i == node) for i, n in enumerate(sizes)]
    small, large = dataset(features, labels, sizes), dataset(more, more_labels, more_sizes)
    pair = Pair(small, large, ADD_REMOVE_RECORD)
    assert pair.swapped().index == pair.index
    np.testing.assert_array_equal(np.delete(more, pair.index, axis=0), features)
    np.testing.assert_array_equal(np.delete(more_labels, pair.index), labels)
    more[row] = 9  # unlike every other record
    more[(row + 1) % len(more), 0] += 7
    with raises_no_pair():
        Pair(small, dataset(more, more_labels, more_sizes), ADD_REMOVE_RECORD)


# One by one

FEATURES = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize("kind", RELATIONS.values(), ids=lambda kind: kind.name)
@pytest.mark.parametrize("wrap", [dataset, np.asarray], ids=["Dataset", "array"])
def test_identical_datasets_are_no_pair(kind, wrap):
    with raises_no_pair():
        Pair(wrap(FEATURES), wrap(FEATURES.copy()), kind)


@pytest.mark.parametrize("kind", [REPLACE_RECORD, REPLACE_LABEL, REPLACE_COLUMN])
@pytest.mark.parametrize("wrap", [dataset, np.asarray], ids=["Dataset", "array"])
def test_different_shapes_are_no_pair(kind, wrap):
    for other in (FEATURES[:2], FEATURES[:, :1]):
        with raises_no_pair():
            Pair(wrap(FEATURES), wrap(other), kind)


@pytest.mark.parametrize("kind", [REPLACE_RECORD, REPLACE_LABEL, REPLACE_COLUMN])
def test_a_different_split_over_nodes_is_no_pair(kind):
    changed = FEATURES.copy()
    changed[0, 0] = 9
    with pytest.raises(InvalidArgument, match="split alike over nodes"):
        Pair(dataset(FEATURES, node_sizes=(1, 2)), dataset(changed, node_sizes=(2, 1)), kind)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_plain_arrays_of_any_rank(row):
    for array in (FEATURES[:, 0], FEATURES, FEATURES.reshape(3, 1, 2)):
        changed = array.copy()
        changed[row] += 1
        assert Pair(array, changed, REPLACE_RECORD).index == row
        assert Pair(array, np.delete(array, row, axis=0), ADD_REMOVE_RECORD).index == row
        assert Pair(array.tolist(), changed.tolist(), REPLACE_RECORD).index == row


def test_one_record_may_be_added_to_none():
    for shape in ((0,), (0, 2), (0, 2, 3)):
        assert Pair(np.empty(shape), np.ones((1, *shape[1:])), ADD_REMOVE_RECORD).index == 0


def test_labels_on_one_side_only_are_no_pair():
    changed = FEATURES.copy()
    changed[0, 0] = 9
    for one, other in ((dataset(FEATURES), changed), (FEATURES, dataset(changed))):
        with raises_no_pair():
            Pair(one, other, REPLACE_RECORD)
        with raises_no_pair():
            Pair(one, other[:2] if isinstance(other, np.ndarray) else other, ADD_REMOVE_RECORD)
    single = np.array([[1.0, 2.0]])  # where numpy would broadcast the labels away
    for one, other in ((dataset(single), single + 1), (single, dataset(single + 1))):
        with raises_no_pair():
            Pair(one, other, REPLACE_RECORD)


@pytest.mark.parametrize(
    ("small", "large"), [((2, 1), (3, 1)), ((1, 2), (1, 3)), ((3,), (4,)), ((1, 1, 1), (1, 2, 1))]
)
def test_duplicates_are_told_apart_by_their_node_only(small, large):
    same = np.ones((4, 2))
    node = int(np.argmax(np.subtract(large, small)))
    pair = Pair(
        dataset(same[:3], node_sizes=small), dataset(same, node_sizes=large), ADD_REMOVE_RECORD
    )
    assert pair.neighbour.node_of(pair.index) == node


@pytest.mark.parametrize(
    ("small", "large"),
    [((2, 1), (1, 3)), ((3,), (2, 2)), ((3,), (1, 3)), ((1, 1, 1), (3, 1)), ((1, 1, 1), (2, 2, 1))],
)
def test_a_record_added_while_others_move_is_no_pair(small, large):
    rows = np.arange(10.0).reshape(5, 2)
    one = dataset(rows[: sum(small)], node_sizes=small)
    with raises_no_pair():
        Pair(one, dataset(rows[: sum(large)], node_sizes=large), ADD_REMOVE_RECORD)


def test_a_record_added_at_the_wrong_node_is_no_pair():
    """The first node grew by one, but what is new stands among the second node's rows."""
    small = dataset([[1.0], [2.0], [3.0], [4.0]], node_sizes=(2, 2))
    large = dataset([[1.0], [2.0], [3.0], [9.0], [4.0]], node_sizes=(3, 2))
    with raises_no_pair():
        Pair(small, large, ADD_REMOVE_RECORD)


def test_two_more_records_are_no_pair():
    with raises_no_pair():
        Pair(FEATURES[:1], FEATURES, ADD_REMOVE_RECORD)
    with raises_no_pair():
        Pair(FEATURES[:2], np.ones((3, 3)), ADD_REMOVE_RECORD)


@pytest.mark.parametrize("value", [None, 1.0, "a", object()])
def test_what_holds_no_records_is_refused_by_its_side(value):
    with pytest.raises(InvalidArgument, match=r"^dataset: got"):
        Pair(value, np.zeros(1), REPLACE_RECORD)
    with pytest.raises(InvalidArgument, match=r"^neighbour: got"):
        Pair(np.zeros(1), value, REPLACE_RECORD)


def test_relations_are_found_by_name():
    for name, kind in RELATIONS.items():
        assert relation(name) is kind
    with pytest.raises(UnknownName, match="did you mean 'replace-record'"):
        relation("replace-records")


def test_a_pair_is_described_in_one_line():
    pair = Pair(np.zeros(2), np.array([0.0, 1.0]), REPLACE_RECORD)
    assert compare(pair) == "one record (features and label) is replaced (index 1)"


def test_a_pair_seen_from_the_other_side_is_exchanged():
    pair = Pair(np.array([1.0, 2.0]), np.array([1.0, 5.0]), REPLACE_RECORD)
    other = pair.swapped()
    assert (other.dataset[1], other.neighbour[1], other.index) == (5.0, 2.0, 1)
