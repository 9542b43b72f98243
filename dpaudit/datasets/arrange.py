"""Records arranged for an audit: dealt to nodes, and paired with a neighbour of real records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument


def split_evenly(dataset: Dataset, nodes: int, rng: np.random.Generator) -> Dataset:
    """Deal the records to nodes at random, as evenly as they go.

    Parameters
    ----------
    dataset
        ``N`` records; which nodes held them before does not matter.
    nodes
        How many nodes, at most ``N``.
    rng
        Permutes the records.

    Returns
    -------
    Dataset
        The same records in a random order; the node sizes differ by at most one.

    Raises
    ------
    InvalidArgument
        There are more nodes than records, or ``rng`` is no generator.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(7), [1, 1, 1, 1, -1, -1, -1])
    >>> split_evenly(data, 3, np.random.default_rng(0)).node_sizes
    (3, 2, 2)
    """
    count = len(dataset.labels)
    nodes = _require_record_count("nodes", nodes, count)
    order = _require_generator(rng).permutation(count)
    each, over = divmod(count, nodes)
    return _select_dataset_rows(
        dataset, order, tuple(each + (node < over) for node in range(nodes))
    )


def split_unevenly(
    dataset: Dataset, nodes: int, rng: np.random.Generator, *, concentration: float = 1.0
) -> Dataset:
    """Deal the records to nodes at random, in sizes proportional to a Dirichlet draw.

    Every node gets one record; the others are shared out in the drawn proportions.

    Parameters
    ----------
    dataset
        ``N`` records; which nodes held them before does not matter.
    nodes
        How many nodes, at most ``N``.
    rng
        Permutes the records, then draws the proportions.
    concentration
        The Dirichlet parameter of every node, above 0: near 0 one node holds almost
        all records, 1 makes all proportions equally likely, a large value is nearly even.

    Returns
    -------
    Dataset
        The same records in a random order; every node holds at least one.

    Raises
    ------
    InvalidArgument
        There are more nodes than records, the concentration is not above 0, or ``rng`` is no
        generator.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(20), np.ones(20))
    >>> split = split_unevenly(data, 3, np.random.default_rng(0), concentration=0.5)
    >>> sum(split.node_sizes), min(split.node_sizes) >= 1
    (20, True)
    """
    count = len(dataset.labels)
    nodes = _require_record_count("nodes", nodes, count)
    concentration = check.require_positive("concentration", concentration)
    order = _require_generator(rng).permutation(count)
    shares = rng.dirichlet(np.full(nodes, concentration))
    # Rounding the running total keeps the sizes summing to the number of records.
    ends = np.rint(np.cumsum(shares) * (count - nodes)).astype(np.int64)
    ends[-1] = count - nodes
    sizes = 1 + np.diff(np.minimum(ends, count - nodes), prepend=0)
    return _select_dataset_rows(dataset, order, tuple(sizes.tolist()))


def subset(dataset: Dataset, records: int, rng: np.random.Generator) -> Dataset:
    """Draw some of the records at random, without replacement.

    Parameters
    ----------
    dataset
        ``N`` records.
    records
        How many to draw, at most ``N``.
    rng
        Draws them.

    Returns
    -------
    Dataset
        The drawn records in random order, held by one node: draw first, then split.

    Raises
    ------
    InvalidArgument
        More records are asked for than there are, or ``rng`` is no generator.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(5), [1, 1, 1, -1, -1])
    >>> subset(data, 2, np.random.default_rng(0)).features.shape
    (2, 5)
    """
    count = len(dataset.labels)
    records = _require_record_count("records", records, count)
    return _select_dataset_rows(
        dataset, _require_generator(rng).permutation(count)[:records], (records,)
    )


def _select_dataset_rows(
    dataset: Dataset, rows: NDArray[np.int64], sizes: tuple[int, ...]
) -> Dataset:
    features, labels = dataset.features[rows], dataset.labels[rows]
    return replace(dataset, features=features, labels=labels, node_sizes=sizes)


def _require_record_count(name: str, value: object, records: int) -> int:
    number = check.require_integer(name, value, least=1)
    if number > records:
        raise InvalidArgument(name, value, f"at most the number of records, {records}")
    return number


def _require_generator(rng: object) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise InvalidArgument("rng", rng, "a numpy.random.Generator")
    return rng


# Records of one block of distances: with 1000 candidates, 33 MB of doubles.
_TILE = 4096


def most_distant_records(
    dataset: Dataset, rng: Generator, candidates: int = 1000
) -> tuple[int, int]:
    """Return two rows whose signed records ``b a`` are furthest apart.

    At a model of 0 every margin loss with a slope there moves by that distance when one replaces
    the other, so this is the natural pair for a deployment audit.

    Parameters
    ----------
    dataset
        At least two records.
    rng
        Draws the candidates for one of the two; the other is searched among all records.
    candidates
        How many; all of them in small data.

    Examples
    --------
    >>> data = Dataset([[1.0, 0.0], [0.6, 0.8], [1.0, 0.0]], [1, 1, -1])
    >>> sorted(most_distant_records(data, np.random.default_rng(0)))
    [0, 2]
    """
    records = dataset.signed_records
    # By a power of two, so that squares neither overflow nor vanish and no digit changes.
    records = np.ldexp(records, -int(np.frexp(np.abs(records).max(initial=0.0))[1]))
    check.require_integer("records", len(records), least=2)
    chosen = np.sort(
        rng.permutation(len(records))[: check.require_integer("candidates", candidates, 1)]
    )
    squares = np.einsum("nd,nd->n", records, records)
    best, pair = -1.0, (0, 1)
    for start in range(0, len(records), _TILE):
        tile = records[start : start + _TILE]
        distance = (
            # By the squares and one product of matrices. Differences of all pairs would take an
            # array of another axis; the digits that cancel here matter only between nearly equal
            # records.
            squares[chosen, None] + squares[start : start + _TILE] - 2 * (records[chosen] @ tile.T)
        )
        itself = np.flatnonzero((chosen >= start) & (chosen < start + len(tile)))
        distance[itself, chosen[itself] - start] = -np.inf
        at = int(np.argmax(distance))
        if distance.flat[at] > best:
            best = float(distance.flat[at])
            pair = int(chosen[at // len(tile)]), start + at % len(tile)
    return pair


def replacement_pair(dataset: Dataset, replaced: int, replacement: int) -> tuple[Dataset, Dataset]:
    """Return the data without record ``replacement``, and the same with it in ``replaced``'s place.

    Both datasets hold one record less than ``dataset``, all of them real.

    Examples
    --------
    >>> data = Dataset([[1.0], [0.5], [0.2]], [1, 1, -1])
    >>> one, other = replacement_pair(data, replaced=2, replacement=0)
    >>> one.features.ravel(), other.features.ravel()
    (array([0.5, 0.2]), array([0.5, 1. ]))
    """
    kept = np.delete(np.arange(len(dataset.labels)), replacement)
    one = Dataset(dataset.features[kept], dataset.labels[kept], name=dataset.name)
    row = int(np.searchsorted(kept, replaced))
    label = float(dataset.labels[replacement])
    return one, one.with_record(row, dataset.features[replacement], label)
