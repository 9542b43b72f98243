"""What an algorithm with a margin loss asks of the records its nodes hold.

Labels of -1 and 1 as in zhang2018's section 2.1, and norms of at most 1 as its Theorem 4.1 and the
Lemma 5 of Huang & Gong take for granted or ask for.
"""

from __future__ import annotations

from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, Shown


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
        raise InvalidArgument("dataset", Shown(f"{dataset.nodes} nodes"), expected)
    dataset.require_signed_labels()
    dataset.require_unit_rows()
