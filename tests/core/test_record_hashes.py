"""Hashes of records: equal values share one whichever types hold them, others have another."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse

from dpaudit import redaction
from dpaudit.redaction import (
    Record,
    compute_data_fingerprint,
    convert_stray_argument,
    format_hidden_value,
    format_message_value,
    set_records_shown,
)


@dataclass
class Point:
    x: float
    y: float


class Plain:
    def __init__(self, **held):
        vars(self).update(held)


class Written:
    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


EQUAL = [
    (1, 1.0),
    (1, np.int64(1)),
    (True, 1),
    (0.0, -0.0),
    ("a", b"a"),
    ([1, 2], (1.0, 2.0)),
    ([[1.0, 2.0]], np.array([[1, 2]])),
    (np.float32(0.5), 0.5),
    ({1, 2, 3}, frozenset((3, 2, 1))),
    (sparse.csr_matrix(np.eye(2)), sparse.coo_matrix(np.eye(2))),
    (Plain(a=1.0), Plain(a=1)),
    ([[1, 2], [3]], [np.array([1.0, 2.0]), np.array([3])]),
    ([[1], 2], [np.array([1]), np.array(2)]),
    ({"a": [1, 2]}, {"a": np.array([1, 2])}),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]})),
    (math.nan, np.float64("nan")),
]
DIFFERENT = [
    (1, 2),
    (1.0, 1.0 + 2**-52),
    (1, -1),
    ("a", "b"),
    ("ab", ["a", "b"]),
    (["ab", "c"], ["a", "bc"]),
    ([1, [2]], [[1], 2]),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ([], [[]]),
    ({1, 2}, [1, 2]),
    ({1: 2, 3: 4}, {1: 4, 3: 2}),
    ({"a": 1}, ["a", 1]),
    ({1: {2: 3}}, {1: [2, 3]}),
    (pd.DataFrame({"a": [1]}), [["a"], [0], [[1]]]),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}).T),
    (sparse.csr_matrix(np.eye(2)), [(2, 2), np.eye(2)]),
    (nx.path_graph(1), [[(0, {})], []]),
    ([[1], 2], [[1, 2]]),
    ([[1, 2], [3, 4]], [[1, 2, [3, 4]]]),
    ([[[1], [2]], [[3]]], [[[1]], [2], [[3]]]),
    ([[], [1]], [[[1]]]),
    ([{1}, 2], [{1, 2}]),
    ([{"a": 1}, "b", 2], [{"a": 1, "b": 2}]),
    ([Point(1.0, 2.0), 3.0], [Point(1.0, 2.0), 3.0, 4.0]),
    ([[None], 1], [[None, 1]]),
    ([object(), "a"], [Written("a")]),
    ([Written("a"), "b"], [Written("at\x01" + 7 * "\x00" + "b")]),
    ("1", 1),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.zeros(6), np.zeros((2, 3))),
    (Point(1.0, 2.0), Point(2.0, 1.0)),
    (Plain(a=1), Plain(a=2)),
    (Plain(a=1), Plain(b=1)),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}, index=[5])),
    (sparse.csr_matrix(np.eye(2)), sparse.csr_matrix(2 * np.eye(2))),
    (sparse.csr_matrix((1, 2)), sparse.csr_matrix((2, 1))),
    (nx.path_graph(3), nx.path_graph(4)),
    (nx.Graph([(0, 1), (2, 3)]), nx.Graph([(0, 2), (1, 3)])),
    (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    (Decimal("1.5"), Decimal("1.6")),
    (len, max),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_values_have_one_hash_whichever_types_hold_them(one, other):
    assert compute_data_fingerprint(one, b"s") == compute_data_fingerprint(other, b"s")
    assert compute_data_fingerprint(one, b"s") != compute_data_fingerprint(one, b"t")
    assert len(compute_data_fingerprint(one, b"s")) == 32


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_values_have_another_hash(one, other):
    assert compute_data_fingerprint(one, b"s") != compute_data_fingerprint(other, b"s")


def test_an_edge_s_weight_is_a_part_of_a_graph():
    one, other = nx.path_graph(3), nx.path_graph(3)
    other.edges[0, 1]["weight"] = 2.0
    assert compute_data_fingerprint(one, b"s") != compute_data_fingerprint(other, b"s")
    other = nx.path_graph(3)
    other.nodes[0]["label"] = 1
    assert compute_data_fingerprint(one, b"s") != compute_data_fingerprint(other, b"s")


@pytest.mark.parametrize("value", [None, "", "  ", "NaN", "inf", math.nan, math.inf, -math.inf])
def test_what_is_missing_or_not_finite_is_shown(value):
    assert format_hidden_value(value) == repr(value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.5, "a number"),
        (True, "a number"),
        ("Alice", "text of 5 characters"),
        (b"ab", "text of 2 characters"),
        ([[1, 2, 3], [4, 5, 6]], "values of shape (2, 3)"),
        ([[1, 2, 3], [4, 5]], "list"),
        ([1, [2]], "list"),
        ([], "values of shape (0,)"),
        (np.zeros((4, 0)), "values of shape (4, 0)"),
        (np.array(1.5), "a value"),
        ({"a": 1}, "dict"),
        (Plain(features=np.zeros((5, 2))), "Plain of shape (5, 2)"),
        (Plain(a=1), "Plain"),
    ],
)
def test_a_record_tells_its_kind_and_shape_alone(value, kind):
    shown = repr(Record(value))
    assert shown.partition(" #")[0] == kind
    assert len(shown.partition(" #")[2]) == 8
    with set_records_shown():
        assert repr(Record(value)) == repr(value)
        with set_records_shown(False):
            assert repr(Record(value)) != repr(value)


def test_hashes_are_those_of_a_run():
    with redaction.run():
        first = format_hidden_value("Alice")
        assert format_hidden_value("Alice") == first
        with redaction.run():  # a part of it
            assert format_hidden_value("Alice") == first
        with redaction.run(shown=True):
            assert redaction.are_shown()
            assert format_hidden_value("Alice") == first
        assert not redaction.are_shown()
        own = redaction.get_policy()
    with redaction.run():
        assert format_hidden_value("Alice") != first
        with redaction.apply_policy(own):
            assert format_hidden_value("Alice") == first
    with redaction.set_records_shown():
        assert format_hidden_value("Alice") != first


def test_records_are_shown_to_the_end_of_the_block_that_hides_them():
    with redaction.run():
        before = format_hidden_value("Alice")
        redaction.show_records()
        assert redaction.are_shown()
        assert format_hidden_value("Alice") == before
        with redaction.run():
            assert redaction.are_shown()
    assert not redaction.are_shown()


def test_what_may_be_data_by_mistake_is_marked():
    for value in ("a", b"a", 1, 1.5, None, len):
        assert convert_stray_argument(value) is value
    for value in ([1], np.zeros(2), {"a": 1}):
        assert isinstance(convert_stray_argument(value), Record)
    assert format_message_value(1.5) == "1.5"
    assert format_message_value([1.5]) == "[1.5]"
    assert format_message_value(np.float64(1.5)) == repr(np.float64(1.5))
    for value in (np.zeros(2), Point(np.zeros(2), 1.0)):
        assert " #" in format_message_value(value)
    assert format_message_value(Point(1.0, 2.0)) == repr(Point(1.0, 2.0))


@pytest.mark.parametrize("wrap", [list, np.array])
def test_integers_that_one_double_stands_for_differ(wrap):
    first, second = (compute_data_fingerprint(wrap([2**53 + n]), b"a") for n in (0, 1))
    assert first != second == compute_data_fingerprint([2**53 + 1], b"a")


@pytest.mark.parametrize(
    ("value", "known"),
    [
        (np.array([[0.5, -0.0], [1e300, 2.0]]), "067c2e5f3a45b5891b30d7755fc40e3d"),
        ([0.5, 1.5], "7bb2fec38d75bbeb9ede04ed78cf9c41"),
        ([1, -2, 2**53, 2**60, True], "53a3351eb71c78ff789d12aa49fa5cb4"),
        (["ab", "c"], "4bfab49284a5af253bfbbf0dc649d188"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", None]}), "9daf2b84e96ca7358ea2b5df6cfe33d2"),
        ({"a": 1}, "123d37d1745f9d8e67a4d75a40ac3493"),
    ],
)
def test_fingerprints_in_certificates_stay_as_they_are(value, known):
    assert compute_data_fingerprint(value, b"salt") == known
