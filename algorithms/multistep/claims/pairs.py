"""The pairs of neighbours on which the claims of Huang & Gong are audited."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, default_rng

from dpaudit.algorithms.multistep.claims.parameters import Parameters
from dpaudit.datasets import (
    Dataset,
    load,
    most_distant_records,
    replacement_pair,
    split_evenly,
    split_unevenly,
    subset,
)
from dpaudit.errors import InvalidArgument
from dpaudit.execution import stream
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.neighbours import REPLACE_RECORD, Pair


def worst_pair(nodes: int) -> Pair[Dataset]:
    """Return two opposite unit records at the first of so many nodes."""
    features = np.tile([1.0, 0.0], (2 * nodes, 1))
    data = Dataset(features, np.ones(2 * nodes), node_sizes=(2,) * nodes, name=WORST_CASE)
    return Pair(data, data.with_record(0, data.features[0], -1.0), REPLACE_RECORD)


def real_pairs(settings: Settings, parameters: Parameters) -> list[Pair[Dataset]]:
    """Return the pair of real records furthest apart, and as many others as were asked for.

    Raises
    ------
    InvalidArgument
        More pairs are asked for than there are records.
    """
    data = load(settings.data, path=settings.data_path, **settings.data_options)
    data.require_signed_labels()
    rng = default_rng(stream(settings.seed, "pair"))
    if parameters.records is not None:
        data = subset(data, parameters.records, rng)
    chosen = [most_distant_records(data, rng)]
    chosen += _other_replacements(data, (settings.candidate_pairs or 1) - 1, chosen[0][0], rng)
    return [
        Pair(_dealt(one, settings, parameters), _dealt(other, settings, parameters), REPLACE_RECORD)
        for one, other in (replacement_pair(data, *rows) for rows in chosen)
    ]


def _other_replacements(
    data: Dataset, count: int, taken: int, rng: Generator
) -> list[tuple[int, int]]:
    """Return records drawn to be replaced, each with the record furthest from it."""
    others = np.delete(np.arange(len(data.labels)), taken)
    if count > len(others):
        given = count + 1
        raise InvalidArgument("pairs", given, f"at most the {len(others) + 1} records")
    records = data.signed_records
    drawn = rng.permutation(others)[:count]
    return [
        (int(row), int(np.argmax(np.linalg.norm(records - records[row], axis=1)))) for row in drawn
    ]


def _dealt(data: Dataset, settings: Settings, parameters: Parameters) -> Dataset:
    """Deal records to nodes; the same seed gives both datasets of a pair the same order."""
    deal = split_evenly if parameters.split == "even" else split_unevenly
    return deal(data, parameters.nodes, default_rng(stream(settings.seed, "split")))
