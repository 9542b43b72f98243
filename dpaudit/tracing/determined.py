"""Noisy values read off outputs: where outputs determine them, as an affine function of each.

An event of noisy values is an event of outputs only where these tell the values. The map is learned
on some runs and held to every further one: whoever uses it compares what it reads with the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.freezing.outputs import flattened

CLOSE = 1e-6  # of the scale of a value's own noise: what rounding may change
MOST = 400  # numbers of an output of which affine maps are learned
SOME = 11  # runs that show where values stand in outputs themselves
EXTRA = 10  # runs beyond as many as an affine map has coefficients


@dataclass(frozen=True)
class Outcome:
    """An output as what does not vary, and numbers, shape ``(m,)``."""

    fixed: tuple[str, ...]
    numbers: Array

    @classmethod
    def of(cls, value: Any, error: str | None) -> Outcome:
        """Return what a run returned or raised."""
        if error is None and type(value) is np.ndarray and value.dtype == float:
            return cls((f"array{value.shape}",), value.ravel().copy())
        found = flattened(value, error)
        return cls((found.structure, *found.texts), np.array(found.numbers, dtype=float))


@dataclass(frozen=True, eq=False)
class ReadOff:
    """How noisy values are read off outputs: ``numbers @ matrix + offset``.

    Parameters
    ----------
    fixed
        What is the same in every output.
    matrix, offset
        Shapes ``(m, k)`` and ``(k,)``; or None, where each value stands somewhere itself.
    places
        Where: shape ``(k,)``.
    """

    fixed: tuple[str, ...]
    places: Array | None
    matrix: Array | None = None
    offset: Array | None = None

    def values(self, outcome: Outcome) -> Array | None:
        """Return the noisy values of an output, shape ``(k,)``; None of one of another form."""
        if outcome.fixed != self.fixed:
            return None
        if self.places is not None:
            return np.asarray(outcome.numbers[self.places])
        assert self.matrix is not None
        assert self.offset is not None
        return np.asarray(outcome.numbers @ self.matrix + self.offset)

    def agrees(self, outcome: Outcome, values: Array, scales: Array) -> bool:
        """Return whether an output tells these values, each far closer than its noise is wide.

        A value beside a far larger one is held to its own noise: what is close for the other may be
        anything for this one. Values that stand in the output themselves are equal.
        """
        found = self.values(outcome)
        if found is None or found.shape != values.shape or not np.isfinite(found).all():
            return False
        if self.places is not None:
            return bool(np.array_equal(found, values))
        return bool((np.abs(found - values) <= CLOSE * scales).all())


def runs_to_learn(outcome: Outcome) -> int:
    """Return how many runs show how values are read off such outputs, whatever affine way it is."""
    return min(len(outcome.numbers), MOST) + 1 + EXTRA


def learn(outcomes: list[Outcome], values: list[Array], scales: Array) -> ReadOff | None:
    """Return how values are read off outputs, or None where these runs show no way.

    Parameters
    ----------
    outcomes, values
        Of some runs, the last few of which only judge.
    scales
        The least of the noise of each value, shape ``(k,)``.
    """
    fixed = outcomes[0].fixed
    if any(one.fixed != fixed for one in outcomes):
        return None
    numbers, noisy = np.stack([one.numbers for one in outcomes]), np.stack(values)
    if not np.isfinite(numbers).all():
        return None
    places = _places(numbers, noisy)
    if places is not None:
        return ReadOff(fixed, places)
    if numbers.shape[1] > MOST:
        return None
    return _affine(fixed, numbers, noisy, outcomes, scales)


def _places(numbers: Array, noisy: Array) -> Array | None:
    """Return where each value stands itself, in every run."""
    where = {value: at for at, value in reversed(list(enumerate(numbers[0].tolist())))}
    places = [where.get(value, -1) for value in noisy[0].tolist()]
    if -1 in places or not np.array_equal(numbers[:, places], noisy):
        return None
    return np.array(places, dtype=int)


def _affine(
    fixed: tuple[str, ...], numbers: Array, noisy: Array, outcomes: list[Outcome], scales: Array
) -> ReadOff | None:
    learning = len(numbers) - EXTRA // 2
    if learning < numbers.shape[1] + 2:
        return None
    x, y = numbers[:learning], noisy[:learning]
    middle, spread = x.mean(axis=0), x.std(axis=0)
    scaled = np.where(spread > 0, (x - middle) / np.where(spread > 0, spread, 1.0), 0.0)
    found, *_ = np.linalg.lstsq(scaled, y - y.mean(axis=0), rcond=1e-10)
    matrix = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)[:, None] * found
    made = ReadOff(fixed, None, matrix, y.mean(axis=0) - middle @ matrix)
    pairs = zip(outcomes[learning:], noisy[learning:], strict=True)
    return made if all(made.agrees(*one, scales) for one in pairs) else None
