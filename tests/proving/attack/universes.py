"""Universes at random: small ones, of every layout and relation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpaudit.proving.universe import Part, Universe

from .choices import Choices

ENDS = (
    (0.0, 1.0),
    (-2.0, 3.0),
    (-1.0, 1.0),
    (1.0, 4.0),
    (-3.0, -1.0),
    (0.0, 0.0),
    (-0.5, 0.25),
    (0.1, 0.7),
)
WHOLE_ENDS = ((0.0, 1.0), (-2.0, 2.0), (0.0, 3.0), (1.0, 2.0), (-3.0, -1.0), (0.0, 100.0))


def make_universe(choices: Choices) -> Universe:
    """Return datasets of up to six records, or of an unknown number, and a relation."""
    records = None if choices.happens(30) else choices.between(0, 6)
    parts = choices.one_of((_array, _array, _array, _labelled, _table))(choices, records)
    if records is None:
        relation, count = "add-remove-record", _count(choices)
        return Universe(parts, None, "add-remove", count, relation)
    return _replacing(choices, parts, records)


def _replacing(choices: Choices, parts: tuple[Part, ...], records: int) -> Universe:
    if len(parts) == 2 and parts[1].name == "y" and choices.happens(40):
        parts = (replace(parts[0], is_changed=False), parts[1])
        return Universe(parts, records, "replace", 1, "replace-label")
    if choices.happens(15):
        return Universe(parts, records, "replace", 1, "replace-cell", of_cells=True)
    return Universe(parts, records, "replace", _count(choices), "replace-record")


def _count(choices: Choices) -> int:
    return choices.between(2, 3) if choices.happens(20) else 1


def _array(choices: Choices, records: int | None) -> tuple[Part, ...]:
    row = (choices.between(1, 3),) if choices.happens(40) else ()
    return (make_part(choices, "", (records, *row)),)


def _labelled(choices: Choices, records: int | None) -> tuple[Part, ...]:
    width = choices.between(1, 3)
    return make_part(choices, "X", (records, width)), make_part(choices, "y", (records,))


def _table(choices: Choices, records: int | None) -> tuple[Part, ...]:
    names = "abc"[: choices.between(2, 3)]
    return tuple(make_part(choices, name, (records,)) for name in names)


def make_part(choices: Choices, name: str, shape: tuple[int | None, ...]) -> Part:
    """Return a part with ends, whole numbers, categories or a norm."""
    row = tuple(one for one in shape[1:] if one is not None)
    if choices.happens(20):
        return _whole(choices, name, shape, row)
    ends = [choices.one_of(ENDS) for _ in range(math.prod(row))]
    if choices.happens(50):
        ends = [ends[0]] * len(ends)
    low, high = (np.array([one[k] for one in ends]).reshape(row) for k in (0, 1))
    part = Part(name, shape, low, high)
    return _of_norm(choices, part) if row and choices.happens(40) else part


def _whole(
    choices: Choices, name: str, shape: tuple[int | None, ...], row: tuple[int, ...]
) -> Part:
    low, high = choices.one_of(WHOLE_ENDS)
    categories = None
    if not row and choices.happens(30):
        categories = tuple("uvwz"[: choices.between(1, 4)])
        low, high = 0.0, len(categories) - 1.0
    return Part(name, shape, np.full(row, low), np.full(row, high), True, categories=categories)


def _of_norm(choices: Choices, part: Part) -> Part:
    norm = choices.one_of((1.0, 2.0, 0.5))
    end = choices.one_of((math.inf, norm, 1.0))
    low = np.full(part.low.shape, -end)
    high = np.full(part.low.shape, end)
    return replace(part, low=low, high=high, norm=norm)
