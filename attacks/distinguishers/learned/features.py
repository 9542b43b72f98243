"""Features of a learned distinguisher: maps, fitted on labelled outputs.

Every map first brings the entries to one scale, robustly, so that no unit and no heavy tail
matters. All maps are vectorised over outputs, shape ``(R, ...)`` to ``(R, features)``, and
pickle.

Innovations of a time series, and their sums: where a small, steady drift shows.

Step t of an output is regressed, within either class, on the two steps before it and on the
mean of all before it; what the regression leaves, divided by its spread, is the innovation. If the
steps are Gaussian given the past, linearly, innovations are white, and a drift that is as large as
the noise allows at every step is seen in their sum: a few features in place of hundreds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array

# With so few features their squares, or their values clipped, are features too.
FEW = 200
_FARTHEST = 1e6
_SHARPNESS = (0.5, 2.0, 8.0)
# So many halvings leave fewer than eight of the outputs that a choice is made on.
_HALVINGS = 12


class FeatureMap(Protocol):
    """A fitted feature map."""

    def __call__(self, outputs: Array) -> Array:
        """Return features, shape ``(R, F)``."""
        ...


FitMap = Callable[[Array, NDArray[np.int64]], FeatureMap | None]


@dataclass(frozen=True)
class Scaling:
    """Brings columns to one scale: their median to 0, their usual spread to 1."""

    centre: Array
    spread: Array

    @classmethod
    def of(cls, values: Array) -> Scaling:
        """Return the scaling of columns, shape ``(R, F)``; constant ones keep a spread of 1.

        Examples
        --------
        >>> Scaling.of(np.array([[1.0], [2.0], [3.0]]))(np.array([[4.0]]))
        array([[2.]])
        """
        low, centre, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        spread = high - low
        # Deviations are taken of numbers within 1: the square of a huge entry would overflow.
        scale = np.maximum(np.abs(values).max(axis=0), 1e-290)
        rough = (values / scale).std(axis=0) * scale
        # The quartiles of a column coincide where half of its values are equal; then the deviation
        # of the rest is the scale.
        spread = np.where(spread > 1e-9 * scale, spread, rough)
        return cls(centre, np.where(spread > 1e-12 * scale, spread, scale))

    def __call__(self, values: Array) -> Array:
        """Return the scaled columns, at most a million spreads from 0."""
        with np.errstate(over="ignore"):
            scaled = (values - self.centre) / self.spread
        return np.asarray(np.clip(scaled, -_FARTHEST, _FARTHEST))


def flatten_feature_outputs(outputs: Array) -> Array:
    """Return one row an output, as floats.

    Examples
    --------
    >>> flatten_feature_outputs(np.ones((3, 2, 2), dtype=bool)).shape
    (3, 4)
    """
    values = np.asarray(outputs, dtype=np.float64)
    return values.reshape(len(values), -1)


@dataclass(frozen=True)
class Entries:
    """All entries and, when few, their squares."""

    scaling: Scaling

    def __call__(self, outputs: Array) -> Array:
        """Return entries, shape ``(R, F)``."""
        scaled = self.scaling(flatten_feature_outputs(outputs))
        return np.hstack([scaled, scaled**2]) if scaled.shape[1] <= FEW else scaled


@dataclass(frozen=True)
class Series:
    """Differences along the first axis of an output, and running sums of its entries."""

    differences: Scaling
    sums: Scaling

    def __call__(self, outputs: Array) -> Array:
        """Return differences (with squares when few) and sums, shape ``(R, F)``."""
        differences, running = _compute_series_columns(outputs)
        steps, sums = self.differences(differences), self.sums(running)
        squares = [steps**2] if steps.shape[1] <= FEW else []
        return np.hstack([steps, sums, *squares])


@dataclass(frozen=True)
class ClippedFeatures:
    """Entries, and differences along the first axis, through sigmoids: heavy tails count once."""

    scaling: Scaling
    ordered: bool

    def __call__(self, outputs: Array) -> Array:
        """Return sigmoids of a few sharpnesses, shape ``(R, F)``."""
        scaled = self.scaling(_build_feature_columns(outputs, self.ordered))
        return np.hstack([np.tanh(k * scaled) for k in _SHARPNESS])


@dataclass(frozen=True)
class Summaries:
    """Numbers that do not depend on the order of entries: of values, and of differences."""

    scaling: Scaling
    size: int
    ordered: bool

    def __call__(self, outputs: Array) -> Array:
        """Return summaries, shape ``(R, F)``."""
        values = flatten_feature_outputs(outputs)
        scaled = self.scaling(_build_feature_columns(outputs, self.ordered))
        parts = [scaled[:, : self.size], scaled[:, self.size :]]
        tables = [_summarise_columns(part) for part in parts if part.shape[1]]
        # Ties and zeros are counted before scaling, which rounds.
        ties = (np.diff(np.sort(values, axis=1), axis=1) == 0).sum(axis=1)
        return np.hstack([*tables, np.stack([(values == 0).sum(axis=1), ties], axis=1)])


@dataclass(frozen=True)
class Radial:
    """Distances to where the outputs of either dataset are centred, and how they compare."""

    scaling: Scaling
    centres: Array

    def __call__(self, outputs: Array) -> Array:
        """Return distances, logarithms and their differences, shape ``(R, 5 K)``."""
        scaled = self.scaling(flatten_feature_outputs(outputs))
        near = np.stack([_compute_centre_distances(scaled, c) for c in self.centres], axis=1)
        # A distance may be 0, at a centre.
        logs = np.log(near + 1e-12)
        # Centres alternate between the two labels, as `fit_radial` stacks them.
        between = near[:, ::2] - near[:, 1::2], logs[:, ::2] - logs[:, 1::2]
        return np.hstack([near, logs, *between])


def fit_entries(outputs: Array, labels: NDArray[np.int64]) -> Entries:
    """Fit `Entries`.

    Examples
    --------
    >>> fit_entries(np.arange(4.0), np.array([0, 0, 1, 1]))(np.arange(3.0)).shape
    (3, 2)
    """
    return Entries(Scaling.of(flatten_feature_outputs(outputs)))


def fit_series(outputs: Array, labels: NDArray[np.int64]) -> Series | None:
    """Fit `Series`; None where outputs have no axis to go along.

    Examples
    --------
    >>> fit_series(np.ones((4, 3)), np.array([0, 0, 1, 1]))(np.ones((2, 3))).shape
    (2, 8)
    """
    if not _has_output_axis(outputs):
        return None
    differences, sums = _compute_series_columns(outputs)
    return Series(Scaling.of(differences), Scaling.of(sums))


def fit_clipped(outputs: Array, labels: NDArray[np.int64]) -> ClippedFeatures | None:
    """Fit `ClippedFeatures`; None where there would be too many features.

    Examples
    --------
    >>> fit_clipped(np.eye(4), np.array([0, 0, 1, 1]))(np.ones((2, 4))).shape
    (2, 21)
    """
    columns = _build_feature_columns(outputs, _has_output_axis(outputs))
    if columns.shape[1] > 2 * FEW:
        return None
    return ClippedFeatures(Scaling.of(columns), _has_output_axis(outputs))


def fit_summaries(outputs: Array, labels: NDArray[np.int64]) -> Summaries | None:
    """Fit `Summaries`; None for scalars, which are their own summary.

    Examples
    --------
    >>> fit_summaries(np.eye(4), np.array([0, 0, 1, 1]))(np.ones((2, 4))).shape
    (2, 22)
    """
    size = flatten_feature_outputs(outputs[:1]).shape[1]
    if size == 1:
        return None
    columns = _build_feature_columns(outputs, _has_output_axis(outputs))
    return Summaries(
        _make_common_scaling(Scaling.of(columns), size), size, _has_output_axis(outputs)
    )


def fit_radial(outputs: Array, labels: NDArray[np.int64]) -> Radial | None:
    """Fit `Radial`; None for scalars.

    Examples
    --------
    >>> fit_radial(np.eye(4), np.array([0, 0, 1, 1]))(np.ones((2, 4))).shape
    (2, 18)
    """
    if flatten_feature_outputs(outputs[:1]).shape[1] == 1:
        return None
    scaling = Scaling.of(flatten_feature_outputs(outputs))
    sides = [scaling(flatten_feature_outputs(outputs[labels == side])) for side in (1, 0)]
    kinds = (lambda s: s.mean(axis=0), lambda s: np.median(s, axis=0), _estimate_mode)
    return Radial(scaling, np.stack([kind(side) for kind in kinds for side in sides]))


def _estimate_mode(points: Array) -> Array:
    """Return where points are densest: the median of the nearest half, again and again."""
    centre = np.median(points, axis=0)
    for _ in range(_HALVINGS):
        if len(points) < 8:
            break
        distances = _compute_centre_distances(points, centre)
        points = points[distances <= np.median(distances)]
        centre = np.median(points, axis=0)
    return np.asarray(centre)


def _compute_centre_distances(points: Array, centre: Array) -> Array:
    moved = points - centre
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", moved, moved)))


def _has_output_axis(outputs: Array) -> bool:
    return outputs.ndim > 1 and outputs.shape[1] > 1


def _compute_series_columns(outputs: Array) -> tuple[Array, Array]:
    values = np.asarray(outputs, dtype=np.float64)
    # The first difference is the first entry itself.
    start = np.zeros_like(values[:, :1])
    return flatten_feature_outputs(np.diff(values, axis=1, prepend=start)), flatten_feature_outputs(
        # The first sum is left out: it is that entry again.
        np.cumsum(values, axis=1)[:, 1:]
    )


def _build_feature_columns(outputs: Array, ordered: bool) -> Array:
    values = np.asarray(outputs, dtype=np.float64)
    return np.hstack(
        [flatten_feature_outputs(values), flatten_feature_outputs(np.diff(values, axis=1))]
        if ordered
        else [flatten_feature_outputs(values)]
    )


def _make_common_scaling(scaling: Scaling, size: int) -> Scaling:
    """Return one scale for all values, and one for all differences: they are to be compared."""
    parts = [part for part in np.split(scaling.spread, [size]) if part.size]
    spread = np.concatenate([np.full_like(part, np.median(part)) for part in parts])
    return Scaling(scaling.centre, spread)


def _summarise_columns(part: Array) -> Array:
    absolute = np.abs(part)
    columns = [
        part.mean(axis=1),
        part.std(axis=1),
        part.min(axis=1),
        part.max(axis=1),
        np.median(part, axis=1),
        absolute.mean(axis=1),
        np.sqrt((part**2).mean(axis=1)),
        *(np.tanh(k * part).mean(axis=1) for k in _SHARPNESS),
    ]
    return np.stack(columns, axis=1)


# Outputs for each coefficient of a regression: with fewer it would fit the noise.
_PER_COEFFICIENT = 8
_RIDGE = 1e-9


@dataclass(frozen=True)
class Drift:
    """Sums of innovations over time, of their sigmoids and of their squares, entry by entry."""

    scaling: Scaling
    coefficients: tuple[Array, ...]
    spread: Array

    def __call__(self, outputs: Array) -> Array:
        """Return sums of innovations, shape ``(R, 4 m)`` for steps of m entries."""
        steps = _scale_output_steps(self.scaling, outputs)
        left = np.stack(
            [
                steps[:, t] - _build_past_regressors(steps, t) @ c
                for t, c in enumerate(self.coefficients)
            ],
            axis=1,
        )
        left /= self.spread
        half = len(self.coefficients) // 2
        # The square root brings sums of independent innovations to a variance of 1 whatever the
        # length.
        count = np.sqrt(len(self.coefficients))
        tables = left.sum(axis=1), left[:, :half].sum(axis=1), np.tanh(left).sum(axis=1)
        return np.asarray(np.hstack([*tables, (left**2 - 1).sum(axis=1)]) / count)


def fit_drift(outputs: Array, labels: NDArray[np.int64]) -> Drift | None:
    """Fit `Drift`; None where there is no time axis, or too little to learn a regression from.

    Examples
    --------
    >>> walks = np.random.default_rng(0).normal(size=(400, 5, 2)).cumsum(axis=1)
    >>> fit_drift(walks, np.repeat([1, 0], 200))(walks[:3]).shape
    (3, 8)
    """
    if outputs.ndim < 2 or outputs.shape[1] < 2:
        return None
    width = flatten_feature_outputs(outputs[:1, 0]).shape[1]
    # A step is regressed on three blocks of its own width: two steps and a mean.
    if 3 * width * _PER_COEFFICIENT > len(outputs):
        return None
    scaling = Scaling.of(flatten_feature_outputs(outputs))
    steps = _scale_output_steps(scaling, outputs)
    # Class means are taken off first, so that the regression learns the noise and not the
    # difference that is looked for.
    for side in (0, 1):
        steps[labels == side] -= steps[labels == side].mean(axis=0)
    coefficients = tuple(
        _fit_ridge_coefficients(_build_past_regressors(steps, t), steps[:, t])
        for t in range(steps.shape[1])
    )
    left = [
        (steps[:, t] - _build_past_regressors(steps, t) @ c).std(axis=0)
        for t, c in enumerate(coefficients)
    ]
    spread = np.stack(left)
    return Drift(scaling, coefficients, np.where(spread > 1e-6, spread, 1.0))


def _scale_output_steps(scaling: Scaling, outputs: Array) -> Array:
    scaled = scaling(flatten_feature_outputs(outputs))
    return scaled.reshape(len(outputs), outputs.shape[1], -1)


def _build_past_regressors(steps: Array, time: int) -> Array:
    """Return the regressors of step ``time``, shape ``(R, columns)``; none at first."""
    if time == 0:
        return np.zeros((len(steps), 1))
    recent = [steps[:, t] for t in range(max(0, time - 2), time)]
    return np.hstack([*recent, steps[:, :time].mean(axis=1)])


def _fit_ridge_coefficients(past: Array, step: Array) -> Array:
    gram = past.T @ past
    # The ridge keeps the system regular where the past is all zeros, as it is before the first
    # step.
    ridge = _RIDGE * max(float(np.trace(gram)), 1e-290) / len(gram)
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), past.T @ step))
