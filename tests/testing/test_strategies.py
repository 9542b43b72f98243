"""What the strategies draw is what was asked for, and shrinks to something small."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.neighbours import RELATIONS, REPLACE_LABEL, Pair, Relation
from dpaudit.testing import (
    Records,
    TableJoin,
    admm_states,
    connected_graphs,
    datasets,
    joined,
    pairs,
    penalties,
    vectors,
)

quick = settings(max_examples=10, deadline=None, derandomize=True)
SMALL = settings(database=None, derandomize=True, deadline=None)
ANY = settings(SMALL, phases=(Phase.generate,), max_examples=1000)

DESCRIPTIONS = (
    Records(),
    Records(labels=None),
    Records(unit=True, columns=(1, 4)),
    Records(rows=(3, 6), nodes=(1, 3), labels=(0, 1, 2), norm=0.3),
    Records(rows=(1, 2), columns=1, labels=None, norm=7.0),
    Records(rows=(2, 5), columns=3, unit=True, labels=None),
)
COMBINATIONS = [
    (relation, records)
    for relation in RELATIONS
    for records in DESCRIPTIONS
    if records.labels or relation not in ("replace-label", "replace-tuple")
]


def minimal(strategy, condition=lambda drawn: True):
    return find(strategy, condition, settings=SMALL)


def tables_of(data):
    if isinstance(data, TableJoin):
        return data.tables, data.labels
    return ((data.features,), data.labels) if isinstance(data, Dataset) else ((data,), None)


def require(data, records):
    tables, labels = tables_of(data)
    for table in tables:
        norms = np.linalg.norm(table, axis=1)
        assert norms.max() <= records.norm
        assert (np.sqrt((table[:, ::-1] ** 2).sum(axis=1)) <= records.norm).all()
        if records.unit:
            np.testing.assert_allclose(norms, records.norm, rtol=1e-12)
    assert labels is None or set(labels) <= set(records.labels)


def within(count, limits):
    low, high = limits if isinstance(limits, tuple) else (limits, limits)
    return low <= count <= high


@pytest.mark.parametrize("records", DESCRIPTIONS, ids=repr)
@quick
@given(data=st.data())
def test_a_dataset_is_as_described(records, data):
    drawn = data.draw(datasets(records))
    require(drawn, records)
    assert isinstance(drawn, Dataset) == (records.labels is not None)
    (features,), _ = tables_of(drawn)
    assert within(features.shape[0], records.rows)
    assert within(features.shape[1], records.columns)
    if isinstance(drawn, Dataset):
        assert within(drawn.nodes, records.nodes)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("relation", "records"), COMBINATIONS, ids=repr)
@quick
@given(data=st.data())
def test_a_pair_is_as_described(relation, records, data):
    pair = data.draw(pairs(relation, records))  # the pair has checked itself
    assert pair.relation is RELATIONS[relation]
    for side in (pair.dataset, pair.neighbour):
        require(side, records)
        assert all(within(len(table), records.rows) for table in tables_of(side)[0])


def test_every_relation_is_covered():
    assert {relation for relation, _ in COMBINATIONS} == set(RELATIONS)
    for relation in RELATIONS.values():
        drawn = find(pairs(relation), lambda pair: True, settings=ANY)
        assert isinstance(drawn, Pair)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_pair_shrinks_to_one_small_record(relation):
    pair = minimal(pairs(relation))
    numbers = [table for side in (pair.dataset, pair.neighbour) for table in tables_of(side)[0]]
    assert max(table.size for table in numbers) <= 1 + (relation == "add-remove-record")
    assert max(np.abs(table).max() for table in numbers) <= 1
    assert pair.index == int(relation == "add-remove-record")  # of equal records, the last


@pytest.mark.parametrize(
    ("relation", "condition"),
    [
        ("replace-record", lambda p: (p.dataset.features == p.neighbour.features).all()),
        ("replace-record", lambda p: (p.dataset.labels == p.neighbour.labels).all()),
        ("replace-record", lambda p: p.index == 3),
        ("replace-record", lambda p: p.dataset.nodes == 2 and p.index > p.dataset.node_sizes[0]),
        ("add-remove-record", lambda p: len(p.dataset.labels) > len(p.neighbour.labels)),
        ("add-remove-record", lambda p: len(p.dataset.labels) < len(p.neighbour.labels)),
        ("add-remove-record", lambda p: p.index == 2),
        ("replace-label", lambda p: p.index == 2),
        ("replace-column", lambda p: (p.dataset.features != p.neighbour.features).sum() > 2),
        ("replace-column", lambda p: p.index == 2),
        ("replace-tuple", lambda p: len(p.dataset.tables) == 2 and p.index >= 2),
        ("replace-tuple", lambda p: len(set(p.dataset.mappings[0])) == 3),
    ],
)
def test_no_kind_of_pair_is_left_out(relation, condition):
    find(pairs(relation, Records(rows=(2, 5), nodes=(1, 2))), condition, settings=ANY)


@pytest.mark.slow
def test_unit_rows_under_replace_column_differ_in_signs():
    pair = minimal(pairs("replace-column", Records(unit=True, rows=3, columns=2)))
    np.testing.assert_array_equal(np.abs(pair.dataset.features), np.abs(pair.neighbour.features))


@quick
@given(pairs("replace-column", Records(unit=True, rows=(2, 3), columns=(1, 3))))
def test_a_column_of_unit_rows_is_another_by_its_signs_alone(pair):
    sides = pair.dataset.features, pair.neighbour.features
    np.testing.assert_array_equal(*map(np.abs, sides))
    assert len(set(np.nonzero(sides[0] != sides[1])[1])) == 1


@quick
@given(vectors((2, 3, 4), norm=2.0), vectors((3, 1), norm=1e-100, unit=True))
def test_vectors_have_their_norms_along_the_last_axis(bounded, unit):
    assert bounded.shape == (2, 3, 4)
    assert np.linalg.norm(bounded, axis=-1).max() <= 2.0
    np.testing.assert_allclose(np.abs(unit), 1e-100, rtol=1e-12)


@quick
@given(connected_graphs((1, 6)))
def test_a_graph_is_connected_and_listed_once(drawn):
    graph = nx.Graph(list(drawn.edges))
    graph.add_nodes_from(range(drawn.nodes))
    assert nx.is_connected(graph)
    assert list(drawn.edges) == sorted({(a, b) for a, b in drawn.edges if a < b})


@pytest.mark.parametrize(
    "wanted", [nx.path_graph(4), nx.cycle_graph(4), nx.star_graph(3), nx.complete_graph(4)]
)
def test_any_connected_graph_can_come_up(wanted):
    edges = {tuple(sorted(edge)) for edge in wanted.edges}
    find(connected_graphs(4), lambda drawn: set(drawn.edges) == edges, settings=ANY)


def test_graphs_shrink_to_a_star():
    assert minimal(connected_graphs(4)).edges == ((0, 1), (0, 2), (0, 3))


@pytest.mark.parametrize("shape", [(), (3,), (4, 2)])
@quick
@given(data=st.data())
def test_penalties_stay_between_their_ends_and_do_not_fall(shape, data):
    drawn = data.draw(penalties(shape, low=0.1, high=0.7))
    assert drawn.shape == shape
    assert (drawn >= 0.1).all()
    assert (drawn <= 0.7).all()
    if len(shape) == 2:
        assert (np.diff(drawn, axis=0) >= 0).all()


def test_a_schedule_may_rise_at_one_node_only():
    found = minimal(penalties((2, 2)), lambda p: p[1, 0] > p[0, 0] and p[1, 1] == p[0, 1])
    assert found[1, 0] > found[0, 0]
    assert found[1, 1] == found[0, 1]


@pytest.mark.parametrize("dual", ["primal", "prediction"])
@quick
@given(data=st.data())
def test_a_state_has_its_shapes_and_norms(dual, data):
    state = data.draw(admm_states(nodes=2, columns=3, rows=4, dual=dual, dual_norm=0.5))
    assert state.primal.shape == (2, 3)
    assert state.prediction.shape == (4,)
    assert state.dual.shape == getattr(state, dual).shape
    for vector, norm in ((state.primal, 1), (state.dual, 0.5), (state.prediction, 1)):
        assert np.linalg.norm(vector, axis=-1).max() <= norm


REFUSALS = [
    (lambda: Records(rows=(3, 2)), "rows: got (3, 2), expected an integer from 1"),
    (lambda: Records(rows=1.5), "rows: got 1.5, expected an integer from 1"),
    (lambda: Records(columns=(1, 2, 3)), "columns: got (1, 2, 3)"),
    (lambda: Records(columns=True), "columns: got True"),
    (lambda: Records(nodes=2), "rows: got (1, 4), expected at least one row for each of 2 nodes"),
    (lambda: Records(nodes=2, labels=None), "nodes: got (2, 2), expected 1"),
    (lambda: Records(norm=0), "norm: got 0, expected a finite number above 0"),
    (lambda: Records(norm=1e200), "norm: got 1e+200, expected a number from 1e-100"),
    (lambda: Records(unit=1), "unit: got 1, expected True or False"),
    (lambda: Records(labels=()), "labels: got (), expected different numbers"),
    (lambda: Records(labels=(1, 1)), "labels: got (1, 1), expected different numbers"),
    (lambda: Records(labels=("a",)), "labels: got values of shape (1,) #"),
    (lambda: datasets(3), "records: got 3, expected a dpaudit.testing.Records"),
    (lambda: joined(Records(labels=None)), "labels: got None"),
    (lambda: pairs("replace-tuple", Records(labels=None)), "labels: got None"),
    (lambda: pairs("replace-label", Records(labels=(1,))), "labels: got (1.0,)"),
    (lambda: pairs("add-remove-record", Records(rows=3)), "rows: got 3, expected (least, most)"),
    (lambda: pairs(Relation("own", "s", REPLACE_LABEL.difference)), "relation: got 'own'"),
    (lambda: pairs("replace-rekord"), "did you mean 'replace-record'"),
    (lambda: pairs(3), "neighbours: got 3"),
    (lambda: pairs(Relation("replace-label", "s", len)), "neighbours: got Relation("),
    (lambda: vectors(()), "shape: got (), expected a tuple of at least one length"),
    (lambda: vectors([2]), "shape: got [2], expected a tuple of at least one length"),
    (lambda: vectors(3), "shape: got 3, expected a tuple of at least one length"),
    (lambda: vectors((2, 0)), "shape: got 0, expected an integer, at least 1"),
    (lambda: vectors((2,), norm=-1), "norm: got -1"),
    (lambda: connected_graphs(0), "nodes: got 0"),
    (lambda: penalties((1, 2, 3)), "shape: got (1, 2, 3)"),
    (lambda: penalties(low=0), "low: got 0, expected a finite number above 0"),
    (lambda: penalties(low=3.0), "low: got 3.0, expected at most high, 2.5"),
    (lambda: admm_states(dual="both"), "dual: got 'both', expected one of: primal, prediction"),
    (lambda: admm_states(dual_norm=0), "dual_norm: got 0"),
]


@pytest.mark.parametrize(("refused", "words"), REFUSALS, ids=[words for _, words in REFUSALS])
def test_a_bad_argument_is_named(refused, words):
    with pytest.raises((InvalidArgument, UnknownName)) as caught:
        refused()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
