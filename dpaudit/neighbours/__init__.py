"""Neighbour relations, and pairs of datasets that check themselves.

A pair is what an audit compares. Building one verifies that its two datasets really are neighbours
under the relation, so that a violation found later cannot be blamed on the pair.
"""

from dpaudit.neighbours.metrics import Metric, metric, relation
from dpaudit.neighbours.tables import (
    ADD_REMOVE_RECORD,
    RELATIONS,
    REPLACE_CELL,
    REPLACE_COLUMN,
    REPLACE_LABEL,
    REPLACE_RECORD,
    REPLACE_TUPLE,
    Pair,
    Relation,
    Side,
    Table,
    Tabular,
    compare,
)

__all__ = [
    "ADD_REMOVE_RECORD",
    "RELATIONS",
    "REPLACE_CELL",
    "REPLACE_COLUMN",
    "REPLACE_LABEL",
    "REPLACE_RECORD",
    "REPLACE_TUPLE",
    "Metric",
    "Pair",
    "Relation",
    "Side",
    "Table",
    "Tabular",
    "compare",
    "metric",
    "relation",
]
