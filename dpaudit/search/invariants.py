"""Combinations of parts that no noise reaches, though it reaches every one of the parts.

A total beside noisy parts that add up to it, noise that is taken out of a sum of ten, two parts
with the same noise: some combination of the parts is the same for every noise, or is so up to
rounding where parts are rounded. Twenty outputs decide, more where there are more parts.

Parts are measured in what rounding does to them. Of centred outputs the directions in which nothing
but rounding is left span all such combinations; they are brought to few parts each (row echelon
form), and their weights to fractions of small numbers where those do as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpaudit._typing import Array
from dpaudit.freezing.outputs import Output

OUTPUTS = 20  # that decide, of few parts
_BEYOND = 8  # outputs more than parts, for all combinations of them
_CONTROLS = 6  # outputs that what was found of the others has to hold on
_DECIMALS = range(7)
_LAST_BITS = 64 * float(np.finfo(np.float64).eps)
# Spreads of rounding that a combination has.
_LOOSE = 2.5  # as a root mean square
_FAR = 6.0  # at its end
# Weights of a twelfth cover halves, thirds, quarters and sixths, such as averages of few parts
# have.
_DENOMINATOR = 12
_PRECISION = 1e-3
_LEAST = 1e-9  # of a weight that counts
_QUIETER = 0.05  # of the noise of its parts that a combination may keep: else it is none
_MOST_PARTS = 500


@dataclass(frozen=True)
class Invariants:
    """Combinations of parts that are the same for every noise, up to rounding.

    Parameters
    ----------
    paths
        Of the parts.
    weights
        Of the parts in each combination, shape ``(k, d)``.
    rounding
        The standard deviation that rounding gives each combination, shape ``(k,)``.
    """

    paths: tuple[str, ...]
    weights: Array
    rounding: Array

    def of(self, output: Output) -> Array | None:
        """Return the combinations of an output, shape ``(k,)``; None if it lacks a part."""
        if tuple(output.paths) == self.paths:
            parts = np.array(output.numbers)
        else:
            held = dict(zip(output.paths, output.numbers, strict=True))
            if any(path not in held for path in self.paths):
                return None
            parts = np.array([held[path] for path in self.paths])
        with np.errstate(all="ignore"):
            return np.asarray(self.weights @ parts)

    def apart(self, here: Array, there: Array) -> Array:
        """Return how far combinations are apart, in units of their rounding."""
        with np.errstate(all="ignore"):
            found = np.abs(here - there) / self.rounding
        return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0))

    def held(self, here: Array, there: Array) -> Array:
        """Return which combinations are the same for two noises."""
        return np.asarray(self.apart(here, there) <= 2 * _FAR)


def outputs_for(parts: int, most: int) -> int:
    """Return how many outputs decide on so many parts, of at most so many.

    Examples
    --------
    >>> outputs_for(3, 100), outputs_for(40, 100), outputs_for(400, 100)
    (26, 54, 26)
    """
    wanted = max(OUTPUTS, parts + _BEYOND) + _CONTROLS
    return wanted if wanted <= most else min(most, OUTPUTS + _CONTROLS)


def invariants_of(paths: Sequence[str], outputs: Array) -> Invariants | None:
    """Return the invariants of one dataset's outputs whose parts vary.

    Parameters
    ----------
    paths
        Of the parts.
    outputs
        For as many noises, shape ``(n, d)``.

    Examples
    --------
    >>> noise = 50 * np.random.default_rng(0).normal(size=(26, 2))
    >>> parts = np.column_stack([noise[:, 0] + 1, 3 * noise[:, 0] - noise[:, 1], noise[:, 1]])
    >>> found = invariants_of(["a", "b", "c"], np.round(parts, 1))
    >>> found.weights.tolist()
    [[1.0, -0.3333333333333333, -0.3333333333333333]]
    """
    kept = _select_noisy_parts(outputs)
    if kept.sum() < 2 or len(outputs) <= _CONTROLS + 2 or kept.sum() > _MOST_PARTS:
        return None
    parts = outputs[:, kept]
    rounding = _estimate_part_rounding(parts)
    rows = [
        one for one in _generate_combinations(parts, rounding) if _is_still(one, parts, rounding)
    ]
    if not rows:
        return None
    names = tuple(path for path, is_kept in zip(paths, kept, strict=True) if is_kept)
    weights = np.array(rows)
    return Invariants(names, weights, np.sqrt((weights * rounding) ** 2 @ np.ones(len(names))))


def _select_noisy_parts(outputs: Array) -> Array:
    """Return which parts are finite numbers that are not the same for every noise."""
    finite = np.isfinite(outputs).all(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(finite & (np.ptp(outputs, axis=0) > 0))


def _estimate_part_rounding(parts: Array) -> Array:
    """Return the standard deviation that rounding gives each part, shape ``(d,)``."""
    last_bits = _LAST_BITS * float(np.abs(parts).max())
    steps = np.array([_find_decimal_step(part) for part in parts.T])
    # A rounding error is uniform over one step, of which the standard deviation is step /
    # sqrt(12).
    return np.asarray(np.hypot(steps / 12**0.5, last_bits))


def _find_decimal_step(part: Array) -> float:
    """Return the power of ten that all numbers are multiples of; 0 if there is none."""
    for decimals in _DECIMALS:
        near = np.abs(part - np.round(part, decimals)).max()
        if near <= _LAST_BITS * max(1.0, float(np.abs(part).max())):
            return 10.0**-decimals
    return 0.0


def _generate_combinations(parts: Array, rounding: Array) -> Iterator[Array]:
    """Yield weights of combinations that may be the same for every noise."""
    # The last outputs are held back as controls: nothing is fitted to them.
    learned = parts[:-_CONTROLS]
    # With so few outputs some combination of the parts is always still, by counting dimensions.
    if len(learned) < parts.shape[1] + 2:
        yield from _generate_usual_weights(parts.shape[1])
        return
    centred = (learned - learned.mean(axis=0)) / rounding
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    still = directions[sizes <= _LOOSE * len(learned) ** 0.5] / rounding
    for row in _reduce_to_echelon(still):
        plain = _round_to_fractions(row)
        yield plain if _is_still(plain, parts, rounding) else row


def _generate_usual_weights(count: int) -> Iterator[Array]:
    """Yield sums of all parts, of blocks of them, of every so manieth, and differences of two."""
    yield np.ones(count)
    for size in (one for one in range(2, count) if count % one == 0):
        blocks = np.arange(count) // size
        yield from ((blocks == n).astype(float) for n in range(count // size))
        turns = np.arange(count) % (count // size)
        yield from ((turns == n).astype(float) for n in range(count // size))
    for sign in (-1.0, 1.0):
        yield from np.eye(count)[:-1] + sign * np.eye(count, k=1)[:-1]


def _reduce_to_echelon(rows: Array) -> Iterator[Array]:
    """Yield rows of the same span in which each has a part that no other has, with weight 1."""
    left = rows.copy()
    for n in range(len(left)):
        pivot = int(np.argmax(np.abs(left[n])))
        # Neither a row of zeros nor one of NaN has a pivot.
        if not abs(left[n, pivot]) > 0:
            return
        left[n] /= left[n, pivot]
        others = np.arange(len(left)) != n
        left[others] -= np.outer(left[others, pivot], left[n])
    yield from np.where(np.abs(left) > _LEAST, left, 0.0)


def _round_to_fractions(row: Array) -> Array:
    """Return weights as fractions of small numbers, where they are near to some."""
    plain = [float(Fraction(float(one)).limit_denominator(_DENOMINATOR)) for one in row]
    return np.where(np.abs(plain - row) <= _PRECISION * np.maximum(1.0, np.abs(row)), plain, row)


def _is_still(weights: Array, parts: Array, rounding: Array) -> bool:
    """Return whether nothing but rounding is left of the noise of the parts, on the controls too.

    And whether it is much less than that of the parts: large steps leave nothing to be told.
    """
    found = parts @ weights
    far = np.abs(found - np.median(found[:-_CONTROLS]))
    allowed = float(np.hypot.reduce(weights * rounding))
    noise = float(np.hypot.reduce(weights * parts.std(axis=0)))
    quiet = allowed <= _QUIETER * noise
    return bool(quiet and far.max() <= _FAR * allowed and (weights != 0).sum() > 1)
