"""For other people's test suites: strategies for Hypothesis, and two assertions about privacy.

`assert_sensitivity` searches for neighbours that move a query further than its claimed bound;
`assert_not_refuted` audits a mechanism and fails when its claimed epsilon is refuted. Everything
here needs the extra ``dpaudit[testing]``.
"""

try:
    import hypothesis  # noqa: F401
except ModuleNotFoundError as error:
    from dpaudit.errors import DpauditError

    if error.name != "hypothesis":
        raise
    raise DpauditError(
        "hypothesis: got no installed library, expected version 6.100 or newer: "
        "pip install 'dpaudit[testing]'"
    ) from None

from dpaudit.domains.columns import (
    Booleans,
    Categories,
    Column,
    Dates,
    Integers,
    Numbers,
    Texts,
)
from dpaudit.domains.schemas import Schema
from dpaudit.testing.admm import AdmmState, Edges, admm_states, connected_graphs, penalties
from dpaudit.testing.audits import assert_not_refuted
from dpaudit.testing.data import datasets, joined, vectors
from dpaudit.testing.movement import assert_sensitivity
from dpaudit.testing.neighbouring import pairs
from dpaudit.testing.records import Records, TableJoin
from dpaudit.testing.tabular import frame_pairs, frames

__all__ = [
    "AdmmState",
    "Booleans",
    "Categories",
    "Column",
    "Dates",
    "Edges",
    "Integers",
    "Numbers",
    "Records",
    "Schema",
    "TableJoin",
    "Texts",
    "admm_states",
    "assert_not_refuted",
    "assert_sensitivity",
    "connected_graphs",
    "datasets",
    "frame_pairs",
    "frames",
    "joined",
    "pairs",
    "penalties",
    "vectors",
]
