"""The strategies as the algorithms take them."""

import numpy as np
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.testing import graphs, joined_tables, schedules, tuple_pairs
from dpaudit.neighbours import REPLACE_TUPLE
from dpaudit.testing import Records, datasets

quick = settings(max_examples=15, deadline=None, derandomize=True)
ANY = settings(phases=(Phase.generate,), max_examples=1000, database=None, derandomize=True)


@quick
@given(st.data())
def test_consensus_runs_on_what_is_drawn(data):
    graph = data.draw(graphs((2, 3)))
    penalty = data.draw(schedules(3, graph.nodes))
    nodes, rows = graph.nodes, (graph.nodes, 5)
    records = data.draw(datasets(Records(rows=rows, columns=2, nodes=nodes)))
    algorithm = ConsensusADMM(graph=graph, iterations=3, penalty=penalty, noise_rate=2.0)
    mechanism = algorithm.penalty_perturbation()
    drawn = mechanism.sample(records, 2, np.random.default_rng(0))
    assert drawn.shape == (2, 3, graph.nodes, 2)


@quick
@given(joined_tables(Records(rows=(2, 4), nodes=(1, 2))), tuple_pairs(Records(unit=True)))
def test_joined_tables_and_their_pairs(tables, pair):
    assert isinstance(tables, JoinedTables)
    assert pair.relation is REPLACE_TUPLE
    table, row = pair.dataset.locate(pair.index)
    assert (pair.dataset.features[table][row] != pair.neighbour.features[table][row]).any()


def test_a_join_can_repeat_a_tuple():
    drawn = joined_tables(Records(rows=(2, 4), nodes=2))
    find(drawn, lambda tables: tables.counts(1).max() == 3, settings=ANY)
