"""The join: against pandas and loops, what it refuses, and pairs of joined tables."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.joining import KeyedTable, join_tables
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import (
    ADD_REMOVE_RECORD,
    REPLACE_COLUMN,
    REPLACE_LABEL,
    REPLACE_RECORD,
    REPLACE_TUPLE,
    Pair,
)

PATIENTS = KeyedTable("patients", [[1.0, 2.0], [3.0, 4.0]], {"patient": ["a", "b"]})


def visits(patients=("b", "a", "b"), **keys):
    features = np.arange(len(patients))[:, None] + 1.0
    return KeyedTable("visits", features, {"patient": list(patients)} | keys)


@st.composite
def stars(draw):
    """Draw a fact table and two dimension tables whose keys are shuffled."""
    sizes = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    facts = draw(st.integers(1, 8))
    keys = [draw(st.permutations(range(10, 10 + size))) for size in sizes]
    used = [draw(st.lists(st.sampled_from(k), min_size=facts, max_size=facts)) for k in keys]
    return facts, keys, used


# The join


@pytest.mark.slow
@settings(deadline=None)
@given(stars())
def test_a_star_join_equals_a_loop_and_pandas(star):
    facts, keys, used = star
    rng = np.random.default_rng(facts)
    parts = [rng.standard_normal((n, 2)) for n in (facts, len(keys[0]), len(keys[1]))]
    tables = [
        KeyedTable("facts", parts[0], {"k": used[0], "l": used[1]}),
        KeyedTable("first", parts[1], {"k": keys[0]}),
        KeyedTable("second", parts[2], {"l": keys[1]}),
    ]
    data = join_tables(tables, np.ones(facts))
    assert data.rows == facts
    for j in range(facts):
        assert data.mappings[0][j] == j
        assert [data.mappings[i + 1][j] for i in (0, 1)] == [
            keys[i].index(used[i][j]) for i in (0, 1)
        ]
    frames = [
        pd.DataFrame({"k": used[0], "l": used[1], "a": parts[0][:, 0], "b": parts[0][:, 1]}),
        pd.DataFrame({"k": keys[0], "c": parts[1][:, 0], "d": parts[1][:, 1]}),
        pd.DataFrame({"l": keys[1], "e": parts[2][:, 0], "f": parts[2][:, 1]}),
    ]
    merged = frames[0].merge(frames[1], on="k").merge(frames[2], on="l")
    ours = np.hstack([data.joined(i) for i in range(3)])
    order = ["a", "b", "c", "d", "e", "f"]
    expected = merged.set_index("a").loc[parts[0][:, 0]].reset_index()[order]
    np.testing.assert_array_equal(ours, expected.to_numpy())
    for i in range(3):
        counts = [sum(data.mappings[i] == j) for j in range(data.tuples[i])]
        np.testing.assert_array_equal(data.counts(i), counts)


def test_many_to_many_joins_every_match_and_repeats_labels():
    left = KeyedTable("left", [[1.0], [2.0], [3.0]], {"k": [1, 2, 1]})
    right = KeyedTable("right", [[5.0], [6.0], [7.0], [8.0]], {"k": [1, 2, 1, 9]})
    data = join_tables([left, right], labels=[1, -1, 1], many_to_many=True)
    found = {(int(a), int(b)) for a, b in zip(*data.mappings, strict=True)}
    assert found == {(i, j) for i in range(3) for j in range(4) if [1, 2, 1][i] == [1, 2, 1, 9][j]}
    assert data.rows == len(found) == 5
    np.testing.assert_array_equal(data.counts(1), [2, 1, 2, 0])
    np.testing.assert_array_equal(
        data.labels[data.label_rows], np.array([1, -1, 1])[data.label_rows]
    )


def test_a_join_on_two_keys_and_a_chain():
    one = KeyedTable("one", [[1.0], [2.0], [3.0]], {"x": [0, 0, 1], "y": ["a", "b", "a"]})
    two = KeyedTable("two", np.eye(3), {"x": [1, 0, 0], "y": ["a", "b", "a"], "z": [7, 8, 8]})
    three = KeyedTable("three", [[1.0], [2.0]], {"z": [8, 7]})
    data = join_tables([one, two, three], [1, 1, -1, 1][:3])
    np.testing.assert_array_equal(data.mappings[1], [2, 1, 0])
    np.testing.assert_array_equal(data.mappings[2], [0, 0, 1])


def test_labels_may_live_with_another_table():
    data = join_tables([visits(), PATIENTS], labels=[1, -1], label_table="patients")
    np.testing.assert_array_equal(data.labels[data.label_rows], [-1, 1, -1])


# What is refused, by name, in one line

REFUSED = {
    "unknown key": (
        lambda: [visits(), KeyedTable("p", [[1.0]], {"person": [1]})],
        "keys of table 'p': got ..person.., expected a key column",
    ),
    "no keys": (lambda: [visits(), KeyedTable("p", [[1.0]], {})], "keys of table 'p'"),
    "duplicate key": (
        lambda: [visits(), KeyedTable("p", np.eye(3), {"patient": ["a", "b", "a"]})],
        "keys of table 'p': got patient='a' twice, expected every key once",
    ),
    "missing match": (
        lambda: [visits(("a", "c", "c")), PATIENTS],
        r"keys of table 'patients': got patient='c' not there \(2 rows\), expected a match",
    ),
    "types": (
        lambda: [visits((1, 2, 1)), PATIENTS],
        r"keys of table 'patients': got patient='a' \(str\), expected keys of one kind: .* 1 \(",
    ),
    "int and float": (
        lambda: [
            visits((2**53, 2**53 + 1, 2**53)),
            KeyedTable("p", [[1.0]], {"patient": [2.0**53]}),
        ],
        r"keys of table 'p': got patient=9007199254740992.0 \(float\), expected keys of one kind",
    ),
    "int and bool": (
        lambda: [visits((1, 1, 1)), KeyedTable("p", [[1.0]], {"patient": [True]})],
        r"keys of table 'p': got patient=True \(bool\), expected keys of one kind",
    ),
    "names": (lambda: [visits(), visits()], "tables: got .*different names"),
    "none": (list, r"tables: got \[\]"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
@pytest.mark.usefixtures("records_shown")
def test_a_join_that_fails_says_why(case):
    make, message = REFUSED[case]
    with pytest.raises(InvalidArgument, match=f"^{message}") as caught:
        join_tables(make(), labels=[1, 1, 1])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("features", "keys", "message"),
    [
        ([[np.nan]], {}, r"features of table 't'\[0, 0\]: got nan"),
        ([1.0], {}, "features of table 't': got 'shape"),
        (np.empty((0, 2)), {}, "features of table 't'"),
        (np.empty((2, 0)), {}, "features of table 't'"),
        ([[1.0]], {"k": [1, 2]}, "key 'k' of table 't': got shape"),
        ([[1.0], [2.0]], {"k": [1, None]}, "key 'k' of table 't', tuple 1: got None"),
        ([[1.0], [2.0]], {"k": [np.nan, 2]}, "key 'k' of table 't', tuple 0: got"),
        ([[1.0], [2.0]], {"k": ["x", float("nan")]}, "key 'k' of table 't', tuple 1: got nan"),
        ([[1.0], [2.0]], {"k": ["x", None]}, "key 'k' of table 't', tuple 1: got None"),
        ([[1.0], [2.0]], {"k": [pd.NaT, "x"]}, "key 'k' of table 't', tuple 0: got NaT"),
        (
            [[1.0], [2.0]],
            {"k": [1, "b"]},
            r"key 'k' of table 't', tuple 1: got 'b' \(str\), expected .* tuple 0 has 1 \(int\)",
        ),
        ([[1.0], [2.0]], {"k": [1, 1.0]}, r"key 'k' of table 't', tuple 1: got 1.0 \(float\)"),
        ([[1.0], [2.0]], {"k": [True, 1]}, r"key 'k' of table 't', tuple 1: got 1 \(int\)"),
        ([[1.0], [2.0]], {"k": [[1], [2, 3]]}, r"key 'k' of table 't', tuple 0: got \[1\] \(list"),
        ([[1.0]], {"k": "x"}, "key 'k' of table 't': got shape"),
        ([[1.0]], {3: [1]}, "key column: got 3"),
    ],
)
@pytest.mark.usefixtures("records_shown")
def test_a_bad_table_is_refused(features, keys, message):
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        KeyedTable("t", features, keys)


def test_long_keys_are_told_apart_to_the_last_digit():
    long = [2**53 + 1, 2**53, 2**70]
    other = KeyedTable("p", np.eye(3), {"patient": long[::-1]})
    np.testing.assert_array_equal(
        join_tables([visits(long), other], [1, 1, 1]).mappings[1], [2, 1, 0]
    )


@pytest.mark.parametrize(
    "keys",
    [
        ["nan", "b", "1"],
        np.array(["2020-01-01", "2021-01-01", "2020-01-02"], dtype="datetime64[ns]"),
        pd.Series([3, 1, 2], dtype="Int64"),
        pd.Categorical(["u", "v", "w"]),
        np.array([0.5, 0.25, -1.0]),
        [np.int64(4), 5, np.int8(6)],
    ],
    ids=lambda keys: str(type(keys[0]).__name__),
)
def test_keys_of_any_one_kind_join(keys):
    one, other = (
        KeyedTable(name, np.eye(3), {"k": k}) for name, k in (("a", keys), ("b", keys[::-1]))
    )
    np.testing.assert_array_equal(join_tables([one, other], [1, 1, 1]).mappings[1], [2, 1, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": ()}, "features"),
        ({"features": ([[1.0], [2.0]], [[np.inf]])}, r"features of table 1\[0, 0\]: got inf"),
        ({"mappings": ([0, 1],)}, "mappings: got 1 mappings"),
        ({"mappings": ([0, 1], [0])}, "mapping of table 1"),
        ({"mappings": ([0, 1], [0, 1])}, "mapping of table 1"),
        ({"mappings": ([0, -1], [0, 0])}, "mapping of table 0"),
        ({"mappings": ([0.0, 1.0], [0, 0])}, "mapping of table 0"),
        ({"mappings": ([], [])}, "mapping of table 0"),
        ({"labels": [1, 1, 1]}, "labels: got 3 values"),
        ({"labels": [1, np.nan]}, r"labels\[1\]: got nan"),
        ({"label_table": 2}, "label_table: got 2"),
    ],
)
def test_bad_joined_tables_are_refused(change, message):
    good = {
        "features": ([[1.0], [2.0]], [[3.0]]),
        "mappings": ([0, 1], [0, 0]),
        "labels": [1, -1],
    }
    JoinedTables(**good)
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        JoinedTables(**good | change)


def test_unknown_label_table():
    with pytest.raises(InvalidArgument, match="label_table: got 'doctors'"):
        join_tables([visits(), PATIENTS], [1, 1, 1], label_table="doctors")


# Pairs


@pytest.fixture
def data():
    return join_tables([visits(), PATIENTS], [1, -1, 1])


def test_replacing_a_tuple_makes_a_pair_and_a_second_does_not(data):
    changed = data.with_tuple(1, 0, [9.0, 2.0])
    pair = Pair(data, changed, REPLACE_TUPLE)
    assert data.locate(pair.index) == (1, 0)
    with pytest.raises(InvalidArgument, match="2 differing tuples"):
        Pair(data, changed.with_tuple(0, 1, [9.0]), REPLACE_TUPLE)
    with pytest.raises(InvalidArgument, match="0 differing tuples"):
        Pair(data, data.with_tuple(0, 0, data.features[0][0]), REPLACE_TUPLE)
    with pytest.raises(InvalidArgument, match="differing labels"):
        Pair(data, changed.with_label(0, -1), REPLACE_TUPLE)


def test_labels_and_columns_make_pairs_too(data):
    assert Pair(data, data.with_label(1, 1), REPLACE_LABEL).index == 1
    columns = data.with_tuple(1, 0, [1.0, 9.0]).with_tuple(1, 1, [3.0, 9.0])
    assert Pair(data, columns, REPLACE_COLUMN).index == 2


@pytest.mark.parametrize("kind", [REPLACE_RECORD, ADD_REMOVE_RECORD], ids=lambda k: k.name)
def test_records_are_not_tuples(kind, data):
    with pytest.raises(InvalidArgument, match="pair: got joined tables, expected plain records"):
        Pair(data, data.with_tuple(1, 0, [9.0, 2.0]), kind)


def test_the_join_is_public(data):
    other = join_tables([visits(("a", "a", "b")), PATIENTS], [1, -1, 1]).with_tuple(
        1, 0, [9.0, 2.0]
    )
    wider = JoinedTables(([[1.0]], [[1.0, 5.0]]), ([0], [0]), [1])
    same = JoinedTables(([[1.0, 0.0]], [[5.0]]), ([0], [0]), [1])
    for one, two in ((data, other), (wider, same)):
        with pytest.raises(InvalidArgument, match="joined differently"):
            Pair(one, two, REPLACE_TUPLE)
    with pytest.raises(InvalidArgument, match="pair: got"):
        Pair(data, np.zeros((5, 3)), REPLACE_COLUMN)
