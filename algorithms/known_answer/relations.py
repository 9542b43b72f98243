"""Neighbours of mechanisms that are given answers of queries, or a vector, in place of records."""

from __future__ import annotations

import numpy as np

from dpaudit.errors import InvalidArgument, Shown
from dpaudit.neighbours import Relation, Table

_ROUNDING = 1e-9


def _one_answer(one: Table, other: Table) -> int:
    moved = _moved(one, other)
    if int((moved > 0).sum()) != 1:
        given = Shown(f"{int((moved > 0).sum())} differing answers")
        raise InvalidArgument("pair", given, "exactly one")
    return _at_most_one(moved, float(moved.max()))


def _every_answer(one: Table, other: Table) -> int:
    moved = _moved(one, other)
    return _at_most_one(moved, float(moved.max()))


def _euclidean(one: Table, other: Table) -> int:
    moved = _moved(one, other)
    return _at_most_one(moved, float(np.linalg.norm(moved)))


def _moved(one: Table, other: Table) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if one.features.shape != other.features.shape:
        given = Shown(f"shapes {one.features.shape} and {other.features.shape}")
        raise InvalidArgument("pair", given, "as many answers on both sides")
    return np.abs(one.features - other.features).ravel()


def _at_most_one(moved: np.ndarray[tuple[int], np.dtype[np.float64]], distance: float) -> int:
    if not 0 < distance <= 1 + _ROUNDING:
        raise InvalidArgument("pair", Shown(f"a distance of {distance:g}"), "above 0, at most 1")
    return int(np.argmax(moved))


ONE_ANSWER = Relation("one-answer", "one query's answer moves, by at most 1", _one_answer)
EVERY_ANSWER = Relation(
    "every-answer", "every query's answer moves, by at most 1 each", _every_answer
)
EUCLIDEAN = Relation("euclidean", "the vector moves by at most 1 in Euclidean norm", _euclidean)
