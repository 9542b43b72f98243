"""Conditions on a table and its neighbour, each side moved alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.algorithms.tables.claims import predictions
from dpaudit.algorithms.tables.claims.predictions import PredictionPair

TABLE = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])


def changed(*rows):
    made = TABLE.copy()
    for row in rows:
        made[row] = 0.3, 0.4
    return made


@pytest.mark.parametrize(
    ("table", "neighbour", "values"),
    [
        (TABLE, TABLE, (5.0, 5.0, 0.0)),
        (TABLE, changed(0), (5.0, 2.0, 1.0)),
        (changed(0), TABLE, (2.0, 5.0, 1.0)),
        (TABLE, changed(1, 2), (5.0, 5.0, 2.0)),
        (TABLE, -TABLE, (5.0, 5.0, 3.0)),
    ],
)
def test_each_side_has_its_norm_and_the_two_differ_in_so_many_tuples(table, neighbour, values):
    theorem = SimpleNamespace(tuple_norm=4.5, conditions=lambda: ())
    found = predictions.compute_prediction_conditions(
        theorem, PredictionPair(table, neighbour, np.ones(2))
    )
    assert tuple(one.value for one in found) == pytest.approx(values)
    assert [one.limit for one in found] == [4.5, 4.5, 1.0]


def test_a_share_outside_of_columns_is_that_of_the_length():
    spanning = np.array([[[1.0], [0.0], [0.0]]] * 3)
    vectors = np.array([[3.0, 0.0, 4.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert predictions.compute_outside_sines(vectors, spanning) == pytest.approx([0.8, 0.0, 0.0])
    nothing = np.zeros((1, 3, 2))
    assert predictions.compute_outside_sines(vectors[:1], nothing) == pytest.approx([1.0])
