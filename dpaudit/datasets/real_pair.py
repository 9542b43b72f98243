"""A neighbouring pair made of real records only, as different as the data allow."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit.datasets.dataset import Dataset

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
    check.integer("records", len(records), least=2)
    chosen = np.sort(rng.permutation(len(records))[: check.integer("candidates", candidates, 1)])
    squares = np.einsum("nd,nd->n", records, records)
    best, pair = -1.0, (0, 1)
    for start in range(0, len(records), _TILE):
        tile = records[start : start + _TILE]
        distance = (
            squares[chosen, None] + squares[start : start + _TILE] - 2 * (records[chosen] @ tile.T)
        )
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
