"""Relations of data of any kind: the finest is found, and what obeys none is refused."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.neighbours.cells import differ_in_one_edge, differ_in_one_node, make_cells
from dpaudit.neighbours.found_relations import (
    chosen_relation,
    declare_relation,
    depends_on_reading,
    find_pair_relation,
)

FRAME = pd.DataFrame({"g": ["a", "a", "b"], "x": [1.0, 2.0, np.nan]})
X, Y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
PATH = nx.path_graph(4)
VISITS = [{"who": who, "what": what} for who, what in zip("aabbb", "uvwxy", strict=True)]


def changed(array, place, value):
    copy = np.array(array)
    copy[place] = value
    return copy


def with_edge(graph, *edge):
    copy = graph.copy()
    copy.add_edge(*edge)
    return copy


def with_weight(graph, *edge):
    copy = graph.copy()
    copy.edges[edge]["weight"] = 2.0
    return copy


def with_colour(graph, node):
    copy = graph.copy()
    copy.nodes[node]["colour"] = "red"
    return copy


FOUND = {
    "large integers": ([2**53, 1], [2**53 + 1, 1], "replace-record"),
    "arrays of several lengths": ([np.zeros(2), np.zeros(3)], [np.zeros(2)], "add-remove-record"),
    "a number of several": (np.array([1.0, 2.0]), np.array([1.0, 3.0]), "replace-record"),
    "an entry of a row": (X, changed(X, (1, 0), 9.0), "replace-cell"),
    "a row": (X, changed(X, 1, 9.0), "replace-record"),
    "a row less": (X, X[:2], "add-remove-record"),
    "a column": (X, changed(X, (slice(None), 1), 9.0), "replace-column"),
    "a NaN": (np.array([1.0, np.nan]), np.array([2.0, np.nan]), "replace-record"),
    "text": (["a", "b"], ["a", "c"], "replace-record"),
    "text in another order": (["a", "b", "c"], ["c", "d", "a"], "replace-record"),
    "a text less in another order": (["a", "b", "c"], ["c", "a"], "add-remove-record"),
    "nothing left": (["a"], [], "add-remove-record"),
    "dicts": (VISITS, VISITS[1:], "add-remove-record"),
    "a key of a dict": ([{"a": 1, "b": 2}], [{"a": 1}], "replace-cell"),
    "tuples": ([(1, "x"), (2, "y")], [(1, "x"), (2, "z")], "replace-cell"),
    "arrays of text": (np.array(["a", "b"]), np.array(["a", "long"]), "replace-record"),
    "a table": (FRAME, FRAME.assign(x=[1.0, 5.0, np.nan]), "replace-cell"),
    "a row of a table": (FRAME, FRAME.iloc[:2], "add-remove-record"),
    "another index": (FRAME, FRAME.iloc[1:].reset_index(drop=True), "add-remove-record"),
    "a category": (FRAME.astype({"g": "category"}), FRAME.iloc[1:], "add-remove-record"),
    "a series": (FRAME["g"], FRAME["g"].iloc[:2], "add-remove-record"),
    "a dict of columns": ({"a": [1, 2], "b": [3, 4]}, {"a": [1], "b": [3]}, "add-remove-record"),
    "a label": ((X, Y), (X, changed(Y, 1, 7)), "replace-label"),
    "a labelled row": ((X, Y), (X[1:], Y[1:]), "add-remove-record"),
    "a feature": ((X, Y), (changed(X, (1, 0), 9.0), Y), "replace-cell"),
    "a row and its label": ((X, Y), (changed(X, 1, 9), changed(Y, 1, 7)), "replace-record"),
    "sparse rows": (scipy.sparse.eye_array(3), scipy.sparse.eye_array(4, 3), "add-remove-record"),
    "an edge": (PATH, with_edge(PATH, 0, 3), "add-remove-edge"),
    "images": (np.zeros((3, 4, 4)), changed(np.zeros((3, 4, 4)), 1, 1.0), "replace-record"),
    "something else": (object(), object(), "declared"),
}


@pytest.mark.parametrize(("dataset", "neighbour", "name"), FOUND.values(), ids=FOUND)
def test_the_finest_relation_is_found(dataset, neighbour, name):
    pair, words, _ = find_pair_relation(dataset, neighbour)
    assert pair.relation.name == name
    assert name in words or "as the caller declares" in words
    again, _, _ = find_pair_relation(neighbour, dataset)
    assert again.relation.name == name


@pytest.mark.parametrize(
    ("dataset", "neighbour", "words"),
    [
        (["a", "b"], ["c", "d"], "2 differing records"),
        (["a", "b"], ["b", "a"], "2 differing records"),
        (["a", "b", "c"], ["a"], "3 and 1 records, 2 of them on one side only"),
        (FRAME, FRAME, "0 differing records"),
        (FRAME, FRAME.rename(columns={"x": "y"}), "records of two kinds"),
        (FRAME, ["a"], "records of two kinds"),
        ((X, Y), (X + 1, Y), "3 differing records"),
        (PATH, with_edge(with_edge(PATH, 0, 3), 0, 2), "2 differing edges"),
        (PATH, nx.path_graph(5), "other nodes"),
        (PATH, with_weight(PATH, 0, 1), "1 differing edges"),
        (PATH, with_weight(with_edge(PATH, 0, 3), 0, 1), "2 differing edges"),
        (PATH, with_colour(with_edge(PATH, 0, 3), 0), "other nodes"),
        ([2**53, 1, 3], [2**53 + 1, 1, 4], "2 differing records"),
        (np.array([[2**53, 1], [1, 2]]), np.array([[2**53 + 1, 1], [1, 3]]), "2 differing records"),
        (np.array([2**53, 1]), [2**53 + 1.0, 4], "records"),
        (FRAME[["x"]].rename(columns={"x": "y"}), FRAME[["x"]].iloc[1:], "records of two kinds"),
    ],
)
def test_what_obeys_none_is_refused_with_its_difference(dataset, neighbour, words):
    with pytest.raises(InvalidArgument, match=words):
        find_pair_relation(dataset, neighbour)


@pytest.mark.parametrize(
    ("relation", "holds"),
    [
        ("add-remove-user: who", [(VISITS, VISITS[2:]), (VISITS, VISITS[:2])]),
        ("replace-user: who", [(VISITS, [*VISITS[:3], {"who": "b", "what": "z"}])]),
    ],
)
def test_all_records_of_one_user(relation, holds):
    for dataset, neighbour in holds:
        assert find_pair_relation(dataset, neighbour, relation)[0].relation.name == relation[:-5]
    for wrong in (VISITS, VISITS[1:4], VISITS[3:]):
        with pytest.raises(InvalidArgument):
            find_pair_relation(VISITS, wrong, "add-remove-user: who")
    with pytest.raises(InvalidArgument, match="one of the columns"):
        find_pair_relation(VISITS, VISITS[2:], "add-remove-user: whose")


def test_what_is_declared_is_not_checked_and_what_checks_is_asked():
    pair, words, _ = find_pair_relation(["a", "b"], ["c", "d"], "declared: one household")
    assert isinstance(pair, Pair)
    assert "one household, as the caller declares" in words
    assert (
        find_pair_relation([1, 2], [5, 6], lambda one, other: len(one) == len(other))[0].index == 0
    )
    with pytest.raises(InvalidArgument, match="no neighbours"):
        find_pair_relation([1, 2], [5], lambda one, other: len(one) == len(other))
    with pytest.raises(InvalidArgument, match="ZeroDivisionError"):
        find_pair_relation([1], [5], lambda one, other: 1 // 0)
    with pytest.raises(UnknownName, match="replace-record"):
        find_pair_relation([1], [5], "cousins")


def test_a_refutation_between_the_claim_and_twice_depends_on_the_reading():
    replaced, _, _ = find_pair_relation(["a"], ["b"])
    removed, _, _ = find_pair_relation(["a"], [])
    assert "the claim allows an epsilon of 2 for two steps" in depends_on_reading(
        replaced.relation, 1.0, 2.0, 1.5
    )
    unbounded = depends_on_reading(replaced.relation, 1.0, np.inf, 6.0)
    assert (
        "two steps apart, and the claim states no epsilon for two steps at this delta" in unbounded
    )
    assert "does not refute" not in unbounded
    assert depends_on_reading(replaced.relation, 1.0, 2.0, 2.5) is None
    assert depends_on_reading(removed.relation, 1.0, 2.0, 1.5) is None


records = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=2, max_size=5)


@given(records, st.integers(0, 4), st.tuples(st.integers(4, 6), st.sampled_from("cd")))
def test_one_edit_is_a_pair_and_two_are_none(dataset, place, new):
    place %= len(dataset)
    edited = [*dataset[:place], new, *dataset[place + 1 :]]
    assert find_pair_relation(dataset, edited)[0].relation.name in (
        "replace-record",
        "replace-cell",
    )
    assert find_pair_relation(dataset, [*dataset, new])[0].relation.name == "add-remove-record"
    with pytest.raises(InvalidArgument):
        find_pair_relation(dataset, [*edited, new])
    with pytest.raises(InvalidArgument):
        find_pair_relation(dataset, [*dataset, new, new])


def edges(kind, *pairs, nodes=range(4)):
    """Return a graph, which lists the ends of an edge in the order of its nodes."""
    graph = kind()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(pairs)
    return graph


def test_an_edge_of_a_graph_has_no_direction_and_one_of_a_directed_graph_has():
    whole, turned = ((0, 1), (1, 2), (2, 3)), ((1, 0), (2, 1))
    plain, directed = nx.Graph, nx.DiGraph
    assert differ_in_one_edge(edges(plain, *whole), edges(plain, *turned))
    assert differ_in_one_edge(edges(plain, *turned), edges(plain, *whole))
    back = edges(plain, *whole, nodes=range(3, -1, -1))
    assert set(back.edges).isdisjoint(whole)
    assert differ_in_one_edge(back, edges(plain, *whole[:2]))
    assert differ_in_one_edge(edges(directed, *whole), edges(directed, *whole[:2]))
    with pytest.raises(InvalidArgument, match="differing edges"):
        differ_in_one_edge(edges(directed, *whole), edges(directed, *turned))
    both = edges(directed, *whole, (1, 0))
    assert differ_in_one_edge(both, edges(directed, *whole))
    with pytest.raises(InvalidArgument, match="one edge more"):
        differ_in_one_edge(edges(plain, *whole), edges(plain, *whole))
    with pytest.raises(InvalidArgument, match="2 differing edges"):
        differ_in_one_edge(edges(plain, (0, 1)), edges(plain, (0, 2)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([2**53 + 1]), np.array([2.0**53])),
        (np.array([2**63], np.uint64), np.array([2**63 - 1], np.int64)),
        (np.array([-(2**53) - 1]), np.array([-(2.0**53)])),
    ],
)
def test_integers_that_one_double_stands_for_are_not_equal_in_columns_of_two_types(one, other):
    found = make_cells(one, other)
    assert found.dataset.tolist() != found.neighbour.tolist()
    small = make_cells(np.array([2**52]), np.array([2.0**52]))
    assert small.dataset.tolist() == small.neighbour.tolist()


@pytest.mark.parametrize(
    "named",
    [
        "add-remove-edge",
        "replace-node",
        "add-remove-user: COLUMN",
        "metric: DISTANCE",
        "replace-record",
    ],
)
def test_an_unknown_relation_lists_all_that_there_are(named):
    with pytest.raises(UnknownName) as raised:
        chosen_relation("replace")
    assert named in raised.value.known


def test_an_unknown_distance_is_refused_as_one():
    with pytest.raises(UnknownName) as raised:
        chosen_relation("metric: euclid")
    assert raised.value.kind != "relation"


def test_names_of_datasets_are_neighbours_as_declared_and_no_records():
    for name in ("replace-record", "add-remove-user: patient", "add-remove-edge"):
        pair = find_pair_relation("with", "without", declare_relation(name)).pair
        assert pair.relation.statement.endswith(", as the caller declares")
        with pytest.raises(InvalidArgument):
            find_pair_relation("with", "without", name)
    unread = find_pair_relation("with", "without").pair.relation
    again = find_pair_relation("with", "without", f"declared: {unread.statement}").pair.relation
    assert again.statement == unread.statement


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([True, 2], [1, 3]),
        ([0.0, 2.0], [-0.0, 3.0]),
        (np.array([0.0, 2.0]), np.array([-0.0, 3.0])),
        (np.array([True, False]), np.array([1, 1])),
        ([(True, "a"), (2, "b")], [(1, "a"), (3, "b")]),
        ([[0.0, "a"], [2.0, "b"]], [[-0.0, "a"], [3.0, "b"]]),
    ],
)
def test_records_that_code_tells_apart_differ(one, other):
    with pytest.raises(InvalidArgument, match="pair"):
        Pair(one, other, REPLACE_RECORD)
    changed = one.copy()
    changed[1] = other[1]
    Pair(one, changed, REPLACE_RECORD)


def test_attributes_of_a_graph_are_part_of_it():
    one, other = nx.path_graph(3), nx.path_graph(3)
    other.remove_edge(0, 1)
    assert differ_in_one_edge(one, other)
    assert differ_in_one_node(one, other)
    other.graph["secret"] = 1
    for differ in (differ_in_one_edge, differ_in_one_node):
        with pytest.raises(InvalidArgument, match="attributes"):
            differ(one, other)
