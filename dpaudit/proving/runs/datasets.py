"""Datasets of a universe as numbers: corners, ties, odd records, and such as are drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.proving.runs.domain_parts import DatasetLayout
from dpaudit.proving.universe import Part

Numbers = dict[str, NDArray[np.float64]]
_FAR = 100.0  # how far numbers go that nobody bounds
_STEPS = 16  # in which ends are apart, for numbers whose sums are exact
_STYLES = ("low", "high", "halves", "steps", "uniform", "ties", "odd", "middle")


def datasets_of(layout: DatasetLayout, count: int, rng: Generator) -> Iterator[Numbers]:
    """Yield so many datasets, as the numbers of each part by its name.

    Parameters
    ----------
    layout
        What datasets may be.
    count
        How many.
    rng
        The only source of randomness.

    Examples
    --------
    >>> from dpaudit.domains.domain import Domain
    >>> from dpaudit.proving.runs.domain_parts import layout_of
    >>> layout = layout_of(Domain(bounds=(0, 2), records=2), "replace-record")
    >>> [one[""].tolist() for one in datasets_of(layout, 2, np.random.default_rng(0))]
    [[0.0, 0.0], [2.0, 2.0]]
    """
    low, high = _get_neighbour_sizes(layout)
    for number in range(count):
        records = int(rng.integers(low, high + 1))
        style = _STYLES[number % len(_STYLES)]
        yield {
            part.name: _draw_part_rows(layout, part, records, style, rng)
            for part in layout.universe.parts
        }


def _get_neighbour_sizes(layout: DatasetLayout) -> tuple[int, int]:
    """Return the fewest and the most records of two neighbours."""
    low, high = layout.sizes
    # Neighbours of datasets of one size have one record more or fewer, so those sizes are tried
    # too.
    is_fixed = layout.universe.records is not None or low < high
    return (low, high) if is_fixed else (max(low - 1, 0), high + 1)


def _draw_part_rows(
    layout: DatasetLayout, part: Part, records: int, style: str, rng: Generator
) -> NDArray[np.float64]:
    shape = (records, *(one or 1 for one in part.shape[1:]))
    if part.categories is None and part.name in layout.values:
        # Such a part holds these numbers alone, and none in between.
        values = np.array([float(one) for one in layout.values[part.name]])
        return np.asarray(values[_draw_value_indices(style, shape, rng, len(values) - 1)])
    low, high = _get_finite_ends(part)
    found = _draw_styled_numbers(low, high, shape, style, rng, is_whole=part.is_integer)
    return _clip_row_norms(found, part.norm)


def _draw_value_indices(
    style: str, shape: tuple[int, ...], rng: Generator, most: int
) -> NDArray[np.int64]:
    low, high = np.zeros(()), np.asarray(float(most))
    return _draw_styled_numbers(low, high, shape, style, rng, is_whole=True).astype(np.int64)


def _get_finite_ends(part: Part) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ends that are finite."""
    low, high = np.asarray(part.low, dtype=float), np.asarray(part.high, dtype=float)
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0) - _FAR)
    high = np.where(np.isfinite(high), high, low + 2 * _FAR)
    return low, high


def _draw_styled_numbers(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    shape: tuple[int, ...],
    style: str,
    rng: Generator,
    *,
    is_whole: bool,
) -> NDArray[np.float64]:
    """Return numbers between two ends, as a style has them."""
    share = _draw_styled_shares(style, shape, rng)
    found = low + share * (high - low)
    found = np.rint(found) if is_whole else found
    return np.asarray(np.clip(found, low, high))


def _draw_styled_shares(style: str, shape: tuple[int, ...], rng: Generator) -> NDArray[np.float64]:
    """Return how far between the ends each number is."""
    if style in ("low", "high", "middle"):
        return np.full(shape, {"low": 0.0, "high": 1.0, "middle": 0.5}[style])
    if style == "halves":
        return (rng.random(shape) < 0.5).astype(float)
    if style == "uniform":
        return rng.random(shape)
    steps = rng.integers(0, _STEPS + 1, size=shape) / _STEPS
    if style == "ties":
        few = rng.integers(0, _STEPS + 1, size=2) / _STEPS
        return few[rng.integers(0, 2, size=shape)]
    if style == "odd":
        found = np.full(shape, float(rng.integers(0, 2)))
        if not len(found):
            return found
        found[int(rng.integers(0, shape[0]))] = rng.integers(0, _STEPS + 1) / _STEPS
        return found
    return np.asarray(steps)


def _clip_row_norms(rows: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Return rows of at most a length: longer ones are made shorter."""
    if not np.isfinite(norm) or rows.ndim < 2:
        return rows
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    # A little shorter than the norm, since the division and the product round.
    factor = np.where(lengths > norm, norm / np.maximum(lengths, norm) * (1 - 1e-14), 1.0)
    return np.asarray(rows * factor)
