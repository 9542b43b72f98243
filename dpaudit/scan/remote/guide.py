"""The guide to pairs that deserve a second look, by runs with frozen noise (`dpaudit.freezing`).

One run on the dataset and one on each neighbour, with the same noise: what moves against the scale
of its noise, or changes its calls, is looked at. It is a guide and no more: what certifies is drawn
with the package's own noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dpaudit.freezing as freezing
from dpaudit.errors import DpauditError
from dpaudit.execution.processes import TaskReference
from dpaudit.execution.units import Unit
from dpaudit.scan.candidates.pairs import SubjectCandidate
from dpaudit.scan.remote.foreign import SCRIPT, Foreign

_FOLDER = str(Path(freezing.__file__).resolve().parent)


class Glimpse(NamedTuple):
    """The evidence about a pair from a run with frozen noise.

    ``moved`` is how far what noise is added to moved, in scales of the noise, 0 if nobody knows;
    ``declared`` the epsilon that the mechanisms whose value moved state together.
    """

    moved: float = 0.0
    declared: float = 0.0


def frozen_noise(mechanism: Foreign, candidates: Sequence[SubjectCandidate]) -> list[Glimpse]:
    """Return the evidence of a run with frozen noise about each pair.

    It runs in the mechanism's own processes, which replace primitives meanwhile: what draws outputs
    has others.
    """
    worth = list[Glimpse]()
    # Candidates of a group share the dataset, whose run is then made once for all of its
    # neighbours.
    for _, group in groupby(candidates, key=lambda one: one.group):
        worth += _of_group(mechanism, list(group))
    return worth


def _of_group(mechanism: Foreign, some: Sequence[SubjectCandidate]) -> list[Glimpse]:
    task = mechanism.task(some[0].pair.dataset) | {
        "freezing": _FOLDER,
        "neighbours": [one.pair.neighbour for one in some],
    }
    # The noise is frozen, so that the seed decides nothing.
    unit = Unit(1, np.random.SeedSequence(0))
    try:
        ((found,),) = mechanism.crew.draw(TaskReference(f"{SCRIPT}:moved", task), [unit], 1)
    except DpauditError:  # a process that ends, or code that cannot be recorded
        return [Glimpse()] * len(some)
    return [Glimpse(*map(float, one)) for one in found]
