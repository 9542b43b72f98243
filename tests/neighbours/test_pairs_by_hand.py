"""Relations, candidates and smaller pairs of datasets of a few records, each worked out by hand."""

from __future__ import annotations

import math
from contextlib import nullcontext
from datetime import date

import numpy as np
import pandas as pd
import pytest

from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import (
    ADD_REMOVE_RECORD,
    REPLACE_CELL,
    REPLACE_COLUMN,
    REPLACE_LABEL,
    REPLACE_RECORD,
    Pair,
    Side,
    Table,
    compare,
    relation,
)
from dpaudit.neighbours.cells import (
    compute_record_surplus,
    find_added_record,
    find_replaced_cell,
    find_replaced_column,
    find_replaced_label,
    find_replaced_record,
    make_cells,
    user_records,
    value_key,
)
from dpaudit.neighbours.found_relations import (
    ADD_REMOVE_EDGE,
    REPLACE_NODE,
    DeclaredRelation,
    are_readable,
    chosen_relation,
    depends_on_reading,
    difference_in_words,
    find_pair_relation,
    format_relation_words,
    is_usual,
)
from dpaudit.neighbours.records import (
    _numeric_columns,
    is_missing,
    make_unseen_value,
    records_of,
    standing_out,
)
from dpaudit.neighbours.smaller import find_shared_records, size_of
from dpaudit.redaction import set_records_shown
from dpaudit.search.edits import find_edited_neighbours


def coded(dataset, neighbour):
    found = make_cells(dataset, neighbour)
    return found.dataset.tolist(), found.neighbour.tolist()


# --- cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        ("1", 1, False),
        (b"a", "a", False),
        (None, math.nan, False),
        (math.nan, float("nan"), True),
        (2**53, 2.0**53, True),
        (2**53 + 1, 2.0**53, False),
        ((1, 2), [1, 2], True),
        ((1, 2), (2, 1), False),
        ({1, 2}, {2, 1}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({1}, [1], False),
        (np.zeros((1, 2)), np.zeros((2, 1)), False),
        (np.zeros((0, 2)), np.zeros((0, 3)), False),
        (np.zeros(2), np.zeros(2), True),
    ],
)
def test_values_are_told_apart_by_what_they_are(one, other, same):
    assert (value_key(one) == value_key(other)) is same
    left, right = coded([one, "x"], [other, "x"])
    assert (left == right) is same


def test_columns_of_numbers_merge_none_of_them():
    assert coded(np.array([2**53, 1]), np.array([2**53 + 1, 1])) == ([[1], [0]], [[2], [0]])
    assert (
        coded(np.array([math.nan, 1.0]), np.array([math.nan, 2.0]))[0][0]
        == (coded(np.array([math.nan, 1.0]), np.array([math.nan, 2.0]))[1][0])
    )
    left, right = coded(np.array([2**53, 1]), np.array([2.0**53, 4.0]))
    assert left[0] == right[0]
    left, right = coded(np.array([2**53 + 1, 1]), np.array([2.0**53, 4.0]))
    assert left[0] != right[0]


def test_a_missing_key_is_no_value():
    left, right = coded([{"a": 1, "b": None}], [{"a": 1}])
    assert sum(x != y for x, y in zip(left[0], right[0], strict=True)) == 1
    assert coded([{"a": 1}, {"b": 2}], [{"a": 1}]) is not None


@pytest.mark.parametrize(
    "dataset",
    [
        (np.zeros((3, 2)), np.zeros(2)),  # labels of other records
        (np.zeros((3, 2)), np.zeros((3, 1))),
        np.array(1.0),
        {"a": [1, 2], "b": [1]},
        {"a": 1},
        {},
        object(),
    ],
)
def test_what_has_no_records_of_cells_is_none(dataset):
    assert make_cells(dataset, dataset) is None


def test_labels_are_the_column_that_is_called_so():
    table, labels = np.zeros((3, 2)), np.arange(3)
    assert make_cells((table, labels), (table, labels)).labels == 2
    assert make_cells(table, table).labels is None


def test_columns_of_one_name_are_several():
    one = pd.DataFrame([[1, 5, 0], [2, 6, 0]], columns=["a", "a", "b"])
    other = pd.DataFrame([[1, 7, 0], [2, 6, 0]], columns=["a", "a", "b"])
    found = make_cells(one, other)
    assert found.dataset.shape == (2, 3)
    assert (found.dataset != found.neighbour).sum() == 1
    assert (find_replaced_cell(found), find_replaced_column(found)) == (0, 1)


# --- which cells differ ---------------------------------------------------------------------------

ROWS = [(1, "a"), (2, "b"), (3, "c"), (2, "b")]


def edited(*changes):
    rows = [list(row) for row in ROWS]
    for record, cell, value in changes:
        rows[record][cell] = value
    return [tuple(row) for row in rows]


def test_the_record_that_was_replaced_is_told_wherever_it_stands():
    assert find_replaced_record(make_cells(ROWS, edited((2, 0, 9), (2, 1, "z")))) == 2
    moved = [*reversed(ROWS[1:]), (9, "z")]
    assert find_replaced_record(make_cells(ROWS, moved)) == 0
    for other in (ROWS, edited((0, 0, 8), (2, 0, 9)), ROWS[:3], list(reversed(ROWS))):
        with pytest.raises(InvalidArgument, match="exactly one"):
            find_replaced_record(make_cells(ROWS, other))


def test_one_cell_is_one_cell():
    assert find_replaced_cell(make_cells(ROWS, edited((1, 1, "z")))) == 1
    for other in (ROWS, edited((1, 0, 7), (1, 1, "z")), edited((0, 0, 7), (1, 0, 7)), ROWS[:3]):
        with pytest.raises(InvalidArgument, match="exactly one"):
            find_replaced_cell(make_cells(ROWS, other))
    with pytest.raises(InvalidArgument, match="several entries"):
        find_replaced_cell(make_cells([1, 2], [1, 3]))


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("name", ["replace-cell", "replace-column", "replace-label"])
def test_one_rule_holds_of_datasets_and_of_features_with_labels(name, width):
    table, labels = np.arange(3.0 * width).reshape(3, width) / 10, np.array([-1.0, 1.0, 1.0])
    cell, label, every = table.copy(), labels.copy(), -labels
    cell[1, 0], label[1] = 0.9, -1.0
    may = {
        "replace-cell": [width > 1, False, False],
        "replace-column": [True, False, False],
        "replace-label": [False, True, False],
    }[name]
    others = ((cell, labels), (table, label), (table, every))
    for (features, given), neighbours in zip(others, may, strict=True):
        pairs = (
            ((table, labels), (features, given)),
            (Dataset(table, labels), Dataset(features, given)),
        )
        for one, other in pairs:
            with nullcontext() if neighbours else pytest.raises(InvalidArgument, match=r"^pair: "):
                assert Pair(one, other, relation(name)).index in (0, 1)


def test_a_label_is_no_feature():
    table, labels = np.arange(6.0).reshape(3, 2), np.arange(3)
    other_labels, other_table = labels.copy(), table.copy()
    other_labels[1], other_table[1, 0] = 9, 9
    assert find_replaced_label(make_cells((table, labels), (table, other_labels))) == 1
    with pytest.raises(InvalidArgument, match="differing features"):
        find_replaced_label(make_cells((table, labels), (other_table, labels)))
    with pytest.raises(InvalidArgument, match="without labels"):
        find_replaced_label(make_cells(table, other_table))


def test_one_column_is_one_column():
    assert find_replaced_column(make_cells(ROWS, edited((0, 1, "y"), (2, 1, "z")))) == 1
    for other in (ROWS, edited((0, 0, 7), (2, 1, "z")), ROWS[:3]):
        with pytest.raises(InvalidArgument, match="exactly one"):
            find_replaced_column(make_cells(ROWS, other))


@pytest.mark.parametrize("swapped", [False, True])
def test_the_last_of_equal_records_counts_as_the_one_that_was_added(swapped):
    def found(one, other):
        return find_added_record(make_cells(other, one) if swapped else make_cells(one, other))

    assert found(ROWS, [ROWS[0], ROWS[3], ROWS[2]]) == 3
    assert found(ROWS, ROWS[1:]) == 0
    assert found(ROWS[:1], []) == 0
    for other in (ROWS, ROWS[2:], [*ROWS[:2], (7, "z")]):
        with pytest.raises(InvalidArgument, match="one record more"):
            found(ROWS, other)


def test_what_one_side_has_more_often():
    more, less = compute_record_surplus(make_cells(["a", "a", "b"], ["a", "c"]))
    assert (more.total(), less.total()) == (2, 1)
    assert difference_in_words(["a", "a", "b"], ["a", "c"]) == "the two differ in 2 of 3 records"
    assert difference_in_words(["a", "c"], ["a", "a", "b"]) == "the two differ in 2 of 3 records"
    assert "cannot be counted" in difference_in_words(object(), object())


VISITS = [("u", 1), ("v", 2), ("u", 3), ("w", 4)]


def test_users_are_added_whole_and_replaced_on_both_sides():
    without = [visit for visit in VISITS if visit[0] != "u"]
    assert user_records(make_cells(VISITS, without), "0", added=True) == 0
    assert user_records(make_cells(without, VISITS), "0", added=True) == 0
    assert user_records(make_cells(VISITS[:3], VISITS), "0", added=True) == 3
    changed = [("u", 1), ("v", 2), ("u", 9), ("w", 4)]
    assert user_records(make_cells(VISITS, changed), "0", added=False) == 0
    assert find_pair_relation(VISITS, changed, "replace-user: 0").pair.index == 0
    assert find_pair_relation(VISITS, without, "add-remove-user: 0").pair.index == 0
    for other, added in ((without, False), (changed, True), (VISITS[1:], True)):
        with pytest.raises(InvalidArgument, match="records of one user"):
            user_records(make_cells(VISITS, other), "0", added=added)
    for other in (VISITS, VISITS[:2]):
        with pytest.raises(InvalidArgument, match=r"records of [02] users"):
            user_records(make_cells(VISITS, other), "0", added=True)


# --- what a caller names or declares ------------------------------------------------------------


@pytest.mark.parametrize(
    "given", ["declared:", "declared:  ", "replace-user:", "drop-user: who", "x-user: y"]
)
def test_what_names_no_relation_is_refused(given):
    with pytest.raises(InvalidArgument, match="relation"):
        chosen_relation(given)


def test_relations_by_name_by_function_and_by_words():
    assert chosen_relation(None) is None
    assert chosen_relation("replace-cell") is REPLACE_CELL
    assert chosen_relation("add-remove-edge") is ADD_REMOVE_EDGE
    assert chosen_relation(REPLACE_LABEL) is REPLACE_LABEL
    assert format_relation_words(chosen_relation("declared: a visit")) == "a visit"
    assert format_relation_words(REPLACE_CELL) == "one entry of one record is replaced"
    users = chosen_relation("replace-user: who")
    assert users.statement == "the records of one user (who) are replaced"
    with pytest.raises(InvalidArgument, match="relation"):
        relation(3)


@pytest.mark.parametrize(("answer", "holds"), [(None, True), (True, True), (1, True), (0, False)])
def test_a_function_that_checks_refuses_by_what_it_returns(answer, holds):
    declared = chosen_relation(lambda one, other: answer)
    if holds:
        assert declared.check(1, 2) == 0
    else:
        with pytest.raises(InvalidArgument, match="no neighbours"):
            declared.check(1, 2)
    assert DeclaredRelation("any", "", declared.difference).check(1, 2) == 0


def test_a_generator_is_no_dataset():
    with pytest.raises(InvalidArgument, match="neighbour: got"):
        find_pair_relation([1], iter([1, 2]))
    with pytest.raises(InvalidArgument, match="dataset: got"):
        find_pair_relation(iter([1, 2]), [1])


def test_what_nobody_named_was_read_and_what_somebody_named_was_not():
    assert find_pair_relation([1, 2], [1, 3]).was_read
    assert not find_pair_relation([1, 2], [1, 3], "replace-record").was_read
    named = find_pair_relation([1, 2], [1, 3], "replace-record")
    assert named.words is None
    declared = find_pair_relation([1, 2], [7, 8, 9], "declared: a visit")
    assert (declared.was_read, declared.words) == (
        False,
        "Neighbours: a visit, as the caller declares.",
    )
    unread = find_pair_relation(object(), object())
    assert not unread.was_read
    one_column = find_pair_relation(np.array([[1.0], [2.0]]), np.array([[1.0], [3.0]]))
    assert one_column.pair.relation is REPLACE_RECORD
    with pytest.raises(InvalidArgument, match="2 differing records"):
        find_pair_relation(
            np.array([[1.0], [2.0]]), np.array([[7.0], [8.0]])
        )  # no column of several


def test_one_readable_side_does_not_make_both_readable():
    assert are_readable([1], [1])
    assert not are_readable([1], object())
    assert not are_readable(object(), [1])


@pytest.mark.parametrize(
    ("name", "usual"),
    [("replace-record", True), ("add-remove-record", True), ("replace-label", False)],
)
def test_a_relation_of_one_record_is_usual(name, usual):
    assert is_usual([1, 2], [1, 3], relation(name)) is usual


def test_the_finest_relation_is_usual():
    table, other = np.zeros((2, 2)), np.array([[0.0, 0.0], [0.0, 1.0]])
    assert is_usual(table, other, REPLACE_CELL)
    assert not is_usual(table, other, REPLACE_COLUMN)
    assert not is_usual(np.zeros(2), np.ones(2), REPLACE_CELL)
    assert is_usual(None, None, ADD_REMOVE_EDGE)
    assert is_usual(None, None, REPLACE_NODE)
    assert not is_usual(None, None, chosen_relation("declared: a node"))


@pytest.mark.parametrize(
    ("found", "lower", "allowed", "depends"),
    [
        (REPLACE_RECORD, 1.0, 2.0, False),  # nothing is refuted
        (REPLACE_RECORD, math.nextafter(1.0, 2), 2.0, True),
        (REPLACE_RECORD, 2.0, 2.0, True),
        (REPLACE_RECORD, math.nextafter(2.0, 3), 2.0, False),  # refuted under both
        (REPLACE_CELL, 1.5, 2.0, True),
        (ADD_REMOVE_RECORD, 1.5, 2.0, False),
        (REPLACE_RECORD, 1.5, math.inf, True),
    ],
)
def test_a_refutation_depends_on_the_reading_between_one_step_and_two(
    found, lower, allowed, depends
):
    words = depends_on_reading(found, 1.0, allowed, lower)
    assert (words is not None) is depends
    if words and math.isinf(allowed):
        assert "no epsilon for two steps at this delta" in words


# --- tables ---------------------------------------------------------------------------------------


def dataset(rows, labels, sizes):
    return Dataset(features=np.array(rows, float), labels=np.array(labels, float), node_sizes=sizes)


def test_a_pair_keeps_copies_that_nobody_changes():
    given = np.array([1.0, 2.0])
    pair = Pair(given, np.array([1.0, 5.0]), REPLACE_RECORD)
    given[0] = 7
    assert pair.dataset.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        pair.neighbour[0] = 9.0
    assert pair.on(Side.DATASET).tolist() == [1.0, 2.0]
    assert pair.swapped().on(Side.DATASET).tolist() == [1.0, 5.0]
    assert pair.seen_from(Side.DATASET) is pair


def test_the_record_that_was_added_is_at_the_node_that_grew():
    small = dataset([[0, 0], [1, 0], [0, 1]], [1, -1, 1], (1, 2))
    first = dataset([[9, 9], [0, 0], [1, 0], [0, 1]], [1, 1, -1, 1], (2, 2))
    last = dataset([[0, 0], [1, 0], [0, 1], [9, 9]], [1, -1, 1, 1], (1, 3))
    assert Pair(first, small, ADD_REMOVE_RECORD).index == 0
    assert Pair(small, first, ADD_REMOVE_RECORD).index == 0
    assert Pair(small, last, ADD_REMOVE_RECORD).index == 3
    equal = dataset([[0, 0], [0, 0], [0, 0]], [1, 1, 1], (1, 2))
    more = dataset([[0, 0], [0, 0], [0, 0], [0, 0]], [1, 1, 1, 1], (2, 2))
    assert Pair(equal, more, ADD_REMOVE_RECORD).index < 2  # the node that grew is the first
    more = dataset([[0, 0], [0, 0], [0, 0], [0, 0]], [1, 1, 1, 1], (1, 3))
    assert 1 <= Pair(equal, more, ADD_REMOVE_RECORD).index < 4
    moved = dataset([[0, 0], [0, 0], [0, 0], [0, 0]], [1, 1, 1, 1], (3, 1))
    with pytest.raises(InvalidArgument, match="at one node"):
        Pair(equal, moved, ADD_REMOVE_RECORD)
    other_label = dataset([[9, 9], [0, 0], [1, 0], [0, 1]], [1, 1, 1, 1], (2, 2))
    with pytest.raises(InvalidArgument, match="more than one differing record"):
        Pair(other_label, small, ADD_REMOVE_RECORD)


def test_what_relations_leave_alone_has_to_be_the_same():
    one = dataset([[0, 0], [1, 0]], [1, -1], (2,))
    cell = dataset([[0, 0], [1, 7]], [1, -1], (2,))
    label = dataset([[0, 0], [1, 0]], [1, 1], (2,))
    both = dataset([[0, 0], [1, 7]], [1, 1], (2,))
    split = dataset([[0, 0], [1, 7]], [1, -1], (1, 1))
    assert Pair(one, cell, REPLACE_CELL).index == 1
    assert Pair(one, cell, REPLACE_COLUMN).index == 1
    assert Pair(one, label, REPLACE_LABEL).index == 1
    assert Pair(one, both, REPLACE_RECORD).index == 1
    for other, name in (
        (both, REPLACE_CELL),
        (both, REPLACE_COLUMN),
        (both, REPLACE_LABEL),
        (split, REPLACE_RECORD),
        (one, REPLACE_RECORD),
    ):
        with pytest.raises(InvalidArgument, match="pair: got"):
            Pair(one, other, name)


@pytest.mark.parametrize("data", [[math.inf], [[math.nan]], "a", 3.0])
def test_a_table_is_of_finite_numbers(data):
    with pytest.raises(InvalidArgument, match="one: got"):
        Table.of("one", data)


def test_a_difference_in_one_line():
    added = Pair(np.array([[1.0], [2.0]]), np.array([[1.0]]), ADD_REMOVE_RECORD)
    with set_records_shown():
        assert compare(added).endswith("(index 1): [2.0] and None")
        column = Pair(np.zeros((2, 2)), np.array([[0, 3.0], [0, 4.0]]), REPLACE_COLUMN)
        assert compare(column).endswith("(index 1): [0.0, 0.0] and [3.0, 4.0]")


# --- smaller pairs --------------------------------------------------------------------------------


def test_shared_records_are_counted_as_often_as_both_have_them():
    pair = Pair(["a", "a", "b"], ["a", "b", "c"], REPLACE_RECORD)
    shared = find_shared_records(pair)
    assert shared.places == ((0, 0), (2, 1))
    kept = shared.keeping([1])
    assert (kept.dataset, kept.neighbour) == (["a", "b"], ["b", "c"])
    none = shared.keeping([])
    assert (none.dataset, none.neighbour) == (["a"], ["c"])


def test_records_of_declared_relations_and_of_other_kinds_are_not_taken_out():
    declared = find_pair_relation(["a", "b"], ["a", "c"], "declared: a visit").pair
    assert find_shared_records(declared) is None
    assert find_shared_records(Pair(("a", "b"), ("a", "c"), REPLACE_RECORD)) is None


def test_tables_and_labels_are_taken_out_together():
    table, labels = np.arange(6.0).reshape(3, 2), np.array([1, 2, 3])
    other = labels.copy()
    other[2] = 9
    pair = Pair((table, labels), (table, other), REPLACE_LABEL)
    shared = find_shared_records(pair)
    assert shared.places == ((0, 0), (1, 1))
    kept = shared.keeping([1])
    assert kept.dataset[0].tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert kept.neighbour[1].tolist() == [2, 9]
    assert (size_of(pair.dataset), size_of(["a"])) == (3, 1)
    frame = pd.DataFrame({"x": [1, 2, 3]})
    framed = find_shared_records(Pair(frame, frame.iloc[:2], ADD_REMOVE_RECORD)).keeping([0])
    assert framed.dataset["x"].tolist() == [1, 3]
    assert framed.neighbour["x"].tolist() == [1]


# --- candidates -----------------------------------------------------------------------------------


def edits(data, name, **options):
    made = find_edited_neighbours(data, name, rng=np.random.default_rng(0), **options)
    return {one.edit: one for one in made}


def test_what_stands_out_is_removed():
    made = edits(np.array([3.0, 1.0, 2.0, 9.0, 2.0]), "add-remove-record", most=99)
    removed = {name: one.pair.neighbour.tolist() for name, one in made.items()}
    assert removed["the record with the largest value removed"] == [3, 1, 2, 2]
    assert removed["the record with the smallest value removed"] == [3, 2, 9, 2]
    assert removed["the only record with its value removed"] == [1, 2, 9, 2]
    assert removed["one of 2 equal records removed"] == [3, 1, 9, 2]
    assert removed["the last record removed"] == [3, 1, 2, 9]
    assert len(removed["one at the upper bounds added"]) == 6
    assert removed["one at the upper bounds added"][-1] == 9
    assert removed["one at the lower bounds added"][-1] == 1
    assert not any(one.given for one in made.values())


@pytest.mark.parametrize(
    ("data", "single"),
    [
        ([1.0, 2.0, 3.0], []),  # every number is the only one of its value
        ([1.0, 2.0, 2.0, 3.0, 4.0], [0, 3]),  # two of them at most
        ([2.0, 2.0, 1.0], [2]),
        (["a", "b", "c"], [0, 1]),
        (["b", "a", "b"], [1]),
        (["a", "a"], []),
    ],
)
def test_what_is_the_only_one_of_its_value_stands_out(data, single):
    read = records_of(data)
    found = list(standing_out(read.rows, read.numeric, read.names))
    assert [k for what, k in found if what.startswith("the only record")] == single
    assert found[-2:] == [("the last record", len(data) - 1), ("the first record", 0)]


@pytest.mark.parametrize(
    "data",
    [[], np.zeros(0), np.zeros((0, 2)), np.zeros((2, 1, 1)), pd.DataFrame({"x": []}), "text", 1.5],
)
def test_of_what_holds_no_records_no_neighbour_is_made(data):
    for name in ("add-remove-record", "replace-record"):
        with pytest.raises(InvalidArgument, match="dataset"):
            edits(data, name)


def test_bounds_that_are_declared_are_reached_by_column():
    table = np.array([[1.0, 5.0], [2.0, 6.0]])
    made = edits(table, "replace-record", bounds={0: (-7.0, 7.0)}, most=99)
    highest = made["a record replaced by one at the upper bounds"].pair.neighbour
    lowest = made["a record replaced by one at the lower bounds"].pair.neighbour
    assert [7.0, 6.0] in highest.tolist()
    assert [-7.0, 5.0] in lowest.tolist()
    with pytest.raises(InvalidArgument, match="low <= high"):
        edits(table, "replace-record", bounds=(1.0, 0.0))


def test_a_number_may_be_missing_where_one_is_or_where_that_is_said():
    assert not any(one.given for one in edits(np.array([1.0, 2.0]), "replace-record").values())
    for data, options in ((np.array([1.0, math.nan]), {}), (np.array([1.0, 2.0]), {"nan": True})):
        made = edits(data, "add-remove-record", **options)
        assert math.isnan(made["one without 0 added"].pair.neighbour[-1])
        assert made["one without 0 added"].given == "missing value"


def test_a_kind_that_nobody_has_is_told_as_new():
    made = edits([("a", 1), ("b", 2)], "replace-record")
    other = made["a record replaced by one with another 0"]
    assert other.given == "new value"
    assert any(row[0] not in ("a", "b") for row in other.pair.neighbour)


def test_only_so_many_and_no_neighbour_twice_nor_the_dataset_itself():
    assert (
        len(
            find_edited_neighbours(
                [1, 2, 3], "replace-record", most=2, rng=np.random.default_rng(1)
            )
        )
        == 2
    )
    made = edits([5, 5, 6], "replace-record", most=99)
    keys = [value_key(one.pair.neighbour) for one in made.values()]
    assert len(set(keys)) == len(keys)
    assert value_key([5, 5, 6]) not in keys
    with pytest.raises(InvalidArgument, match="without such neighbours"):
        edits([5, 5], "replace-record")
    with pytest.raises(InvalidArgument, match="relation"):
        edits([1, 2], "replace-column")


def test_rows_of_a_table_keep_their_labels():
    frame = pd.DataFrame({"x": [1, 2, 9]}, index=["p", "q", "r"])
    made = edits(frame, "add-remove-record", most=99)
    removed = made["the record with the largest value removed"].pair.neighbour
    assert removed.index.tolist() == ["p", "q"]
    added = made["one at the upper bounds added"].pair.neighbour
    assert added.index.tolist()[:3] == ["p", "q", "r"]
    assert added.index[3] not in ("p", "q", "r")
    numbered = edits(pd.DataFrame({"x": [1, 2, 9]}), "add-remove-record")
    assert numbered["the record with the smallest value removed"].pair.neighbour.index.tolist() == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("column", "numeric"),
    [
        ([1, 2.0, np.int8(3)], True),
        ([1, math.nan], True),
        ([True, False], False),
        ([1, None], False),
        ([1, math.inf], False),
        ([1, 10**400], False),
        (["1"], False),
    ],
)
def test_numbers_that_doubles_reach_are_numeric(column, numeric):
    assert _numeric_columns([[one] for one in column]) == (numeric,)


@pytest.mark.parametrize(
    ("column", "new"),
    [
        ([True, True], False),
        ([None, False], True),
        ([3, 5, None], 12),
        (["a"], "a value that no record has"),
        ([b"a"], b"a value that no record has"),
        ([object()], None),
        ([pd.Timestamp("2020-01-01")], pd.Timestamp("2020-01-08")),
        ([date(2020, 1, 1), None, date(2020, 3, 1)], date(2020, 3, 8)),
        ([date(2020, 1, 9), date.max], date(2020, 1, 2)),
        ([date.min, date.max], None),
    ],
)
def test_a_value_that_no_record_has(column, new):
    assert make_unseen_value(column) == new


@pytest.mark.parametrize(
    ("value", "missing"), [(None, True), (math.nan, True), (pd.NA, True), (0, False)]
)
def test_what_is_missing_is_none_or_not_itself(value, missing):
    assert is_missing(value) is missing
    assert not is_missing(np.array([math.nan]))
