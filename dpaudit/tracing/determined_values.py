"""Noisy values read off outputs: where outputs determine them, as an affine function of each.

An event of noisy values is an event of outputs only where these tell the values. The map is learned
on some runs and held to every further one: whoever uses it compares what it reads with the values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency, ks_2samp

from dpaudit._typing import Array
from dpaudit.freezing.outputs import flatten_output

CLOSE = 1e-6  # of the scale of a value's own noise: what rounding may change
MOST = 400  # numbers of an output of which affine maps are learned
SOME = 11  # runs that show where values stand in outputs themselves
_COLUMNS = 50  # numbers of outputs that are compared
_RARE = 1e-5  # how often outputs of one distribution are taken for others
_FEW = 10  # values of a number that are counted
_OFTEN = 10  # of two samples together: what is rarer is compared together
EXTRA = 10  # runs beyond as many as an affine map has coefficients


@dataclass(frozen=True)
class RunOutput:
    """An output as a fixed part, and numbers, shape ``(m,)``."""

    fixed: tuple[str, ...]
    numbers: Array

    @classmethod
    def of(cls, value: Any, error: str | None) -> RunOutput:
        """Return the value or the exception of a run."""
        if error is None and type(value) is np.ndarray and value.dtype == float:
            return cls((f"array{value.shape}",), value.ravel().copy())
        found = flatten_output(value, error)
        return cls((found.structure, *found.texts), np.array(found.numbers, dtype=float))


@dataclass(frozen=True, eq=False)
class ReadOff:
    """The map from outputs to noisy values: ``numbers @ matrix + offset``.

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

    def values(self, outcome: RunOutput) -> Array | None:
        """Return the noisy values of an output, shape ``(k,)``; None of one of another form.

        Of outputs of many runs at once, numbers of shape ``(runs, m)``, those of each.
        """
        if outcome.fixed != self.fixed:
            return None
        if self.places is not None:
            return np.asarray(outcome.numbers[..., self.places])
        assert self.matrix is not None
        assert self.offset is not None
        return np.asarray(outcome.numbers @ self.matrix + self.offset)

    def agrees(self, outcome: RunOutput, values: Array, scales: Array) -> bool:
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


def runs_to_learn(outcome: RunOutput) -> int:
    """Return how many runs show how values are read off such outputs, whatever affine way it is."""
    # An affine map of m numbers has m + 1 coefficients, and needs as many runs; the extra ones can
    # contradict it.
    return min(len(outcome.numbers), MOST) + 1 + EXTRA


def learn_read_off(outcomes: list[RunOutput], values: list[Array], scales: Array) -> ReadOff | None:
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
    places = _find_value_indices(numbers, noisy)
    if places is not None:
        return ReadOff(fixed, places)
    if numbers.shape[1] > MOST:
        return None
    return _fit_affine_read_off(fixed, numbers, noisy, outcomes, scales)


def _find_value_indices(numbers: Array, noisy: Array) -> Array | None:
    """Return where each value stands itself, in every run."""
    # Reversed, so that the first place of a value that stands in several wins.
    where = {value: at for at, value in reversed(list(enumerate(numbers[0].tolist())))}
    places = [where.get(value, -1) for value in noisy[0].tolist()]
    if -1 in places:
        return None
    if not np.array_equal(numbers[:, places], noisy):  # values of a few are in many places
        if numbers.shape[1] > MOST or noisy.shape[1] > MOST:
            return None
        equal = (numbers[:, :, None] == noisy[:, None, :]).all(axis=0)
        if not equal.any(axis=0).all():
            return None
        return np.asarray(np.argmax(equal, axis=0))
    return np.array(places, dtype=int)


def _fit_affine_read_off(
    fixed: tuple[str, ...], numbers: Array, noisy: Array, outcomes: list[RunOutput], scales: Array
) -> ReadOff | None:
    # The last runs only judge: a map that was fitted to them would agree with them by construction.
    learning = len(numbers) - EXTRA // 2
    if learning < numbers.shape[1] + 2:
        return None
    x, y = numbers[:learning], noisy[:learning]
    middle, spread = x.mean(axis=0), x.std(axis=0)
    # Outputs may hold numbers of very different sizes. Unscaled, the cut at small singular values
    # would drop the small ones.
    scaled = np.where(spread > 0, (x - middle) / np.where(spread > 0, spread, 1.0), 0.0)
    found, *_ = np.linalg.lstsq(scaled, y - y.mean(axis=0), rcond=1e-10)
    matrix = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)[:, None] * found
    made = ReadOff(fixed, None, matrix, y.mean(axis=0) - middle @ matrix)
    pairs = zip(outcomes[learning:], noisy[learning:], strict=True)
    return made if all(made.agrees(*one, scales) for one in pairs) else None


def are_distributed_alike(ones: Sequence[RunOutput], others: Sequence[RunOutput]) -> bool:
    """Return whether two samples of outputs may be of one distribution, by all that is plain.

    What does not vary by number, and each of the first numbers, is compared: one test in 100,000
    rejects what is of one distribution.
    """
    if not _are_as_often([one.fixed for one in ones], [one.fixed for one in others]):
        return False
    usual = Counter(one.fixed for one in ones).most_common(1)[0][0]
    first, second = (
        np.array([one.numbers for one in side if one.fixed == usual]) for side in (ones, others)
    )
    if not len(second):
        return False
    columns = range(min(first.shape[1], _COLUMNS))
    level = _RARE / max(1, len(columns))
    return all(_may_be_alike(first[:, at], second[:, at], level) for at in columns)


def _may_be_alike(ones: Array, others: Array, level: float) -> bool:
    """Return whether numbers may be of one distribution: by their counts where these are few."""
    ones, others = np.nan_to_num(ones), np.nan_to_num(others)
    if len(np.unique([*ones, *others])) <= _FEW:
        return _are_as_often(ones.tolist(), others.tolist())
    return float(ks_2samp(ones, others, method="asymp").pvalue) > level


def _are_as_often(ones: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return whether values may be as frequent in two samples of one size."""
    count, also = Counter(ones), Counter(others)
    # The chi-squared approximation needs counts that are not too small: rare values are one cell
    # together.
    common = [value for value in {*count, *also} if count[value] + also[value] >= _OFTEN]
    table = [[side[value] for value in common] for side in (count, also)]
    rest = [len(side) - sum(row) for side, row in zip((ones, others), table, strict=True)]
    full = np.array([[*row, one] for row, one in zip(table, rest, strict=True)])
    full = full[:, full.sum(axis=0) > 0]
    return full.shape[1] < 2 or float(chi2_contingency(full).pvalue) > _RARE
