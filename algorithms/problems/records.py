"""Records of margin losses: the conditions on them, and the one in which two datasets differ.

Labels of -1 and 1 as in zhang2018's section 2.1, and norms of at most 1 as its Theorem 4.1 and the
Lemma 5 of Huang & Gong take for granted or ask for. Checks at the boundary refuse other records,
data where a search makes its own, and parameters that are no objects of this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import UnionType

from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_RECORD, Pair


@dataclass(frozen=True)
class Differing:
    """The record in which a pair differs, signed, and the node that holds it."""

    dataset: Dataset
    node: int
    old: Array
    new: Array

    @classmethod
    def of(cls, pair: Pair[Dataset]) -> Differing:
        """Read a pair under replace-record or replace-label; refuse any other."""
        if pair.relation not in (REPLACE_RECORD, REPLACE_LABEL):
            expected = f"{REPLACE_RECORD.name} or {REPLACE_LABEL.name}"
            raise InvalidArgument("relation", VerbatimText(pair.relation.name), expected)
        old = pair.dataset.signed_records[pair.index]
        new = pair.neighbour.signed_records[pair.index]
        # Labels enter by the signed record alone, so a replaced label is a replaced record.
        return cls(pair.dataset, pair.dataset.node_of(pair.index), old, new)


def check_records(dataset: Dataset, nodes: int, expected: str) -> None:
    """Raise `InvalidArgument` unless ``nodes`` nodes hold signed records of norm at most 1.

    ``expected`` is how a refusal names that number of nodes.

    Examples
    --------
    >>> check_records(Dataset([[0.6], [1.0]], [1, -1], node_sizes=(1, 1)), 3, "3 nodes")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: dataset: got 2 nodes, expected 3 nodes
    """
    if dataset.nodes != nodes:
        raise InvalidArgument("dataset", VerbatimText(f"{dataset.nodes} nodes"), expected)
    dataset.require_signed_labels()
    dataset.require_unit_rows()


def refuse_data(settings: Settings, why: str = "the search makes its own") -> None:
    """Raise `InvalidArgument` if the settings name data, which nothing would read.

    Examples
    --------
    >>> refuse_data(Settings())
    >>> refuse_data(Settings(data="adult"), "every run draws its own")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: data: got 'adult', expected worst-case: every run draws its own
    """
    if settings.data != WORST_CASE:
        raise InvalidArgument("data", settings.data, f"{WORST_CASE}: {why}")
    if settings.data_path is not None:
        raise InvalidArgument("data_path", settings.data_path, "nothing: no file is read")
    if settings.data_options:
        raise InvalidArgument("data_option", dict(settings.data_options), "nothing")


def require_instance_of(name: str, value: object, kind: type | UnionType, expected: str) -> None:
    """Raise `InvalidArgument` unless ``value`` is a ``kind``; ``expected`` says it in words.

    Examples
    --------
    >>> require_instance_of("graph", None, dict, "a Graph")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: graph: got None, expected a Graph
    """
    if not isinstance(value, kind):
        raise InvalidArgument(name, value, expected)
