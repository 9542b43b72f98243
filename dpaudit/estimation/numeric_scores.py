"""Scores of arrays of numbers, each looked for by its own sign and nothing else.

One entry, or where all of them moved a little, tell two datasets apart otherwise than a pair of
entries that only together do, a remainder of integers, or how near an output is to where most are.
Each function here looks at outputs that certify nothing, shape ``(n, d)`` and ``(m, d)``, and
returns a score of others, or None where nothing of its kind stands out: far more than it would by
chance, whatever else is looked for, so that what certifies nothing costs hardly anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.estimation.event import choose_event

Score = Callable[[Array], Array]
Codes = NDArray[np.int64]

_CELLS = 2**22  # numbers of a side that are looked at
_ROWS = 2**14  # outputs of a side that are looked at
_FAR = 100.0  # spreads from the median that an entry counts: a rare huge one hides all others
_BY_CHANCE = 3.0  # standard errors beyond what the largest of many is by chance
_CHANCE = 1e-6  # a p-value that stands out, of all remainders or patterns that are looked at
_SEVERAL = 10  # entries from which on all of them are added
_MANY = 200  # entries up to which they are paired
# Entries in which a pattern of signs is looked for, at most.
_TOGETHER = 6  # entries whose covariance is looked at
_ORTHANTS = 10  # entries of a pattern of signs
_PER_PATTERN = 4  # outputs to every pattern
_MODULI = range(2, 33)
# Integer entries whose remainders are counted, at most.
_INTEGERS = 32
# Entries up to which nearness to a point is tried.
_CENTRED = 50
# Twelve halvings leave fewer than eight of the 2^14 outputs that are looked at.
_HALVINGS = 12
# Counts added to those of each code, so that no logarithm is infinite.
_SMOOTHING = 0.5
# Standard errors within which two frequencies count as equal.
_SAME = 2.0


@dataclass(frozen=True)
class Scaling:
    """Brings columns to one scale, about their medians, and far values nearer."""

    centre: Array
    spread: Array

    @classmethod
    def of(cls, rows: Array) -> Scaling:
        """Return the scaling of columns by quartiles, or by the largest deviation instead of 0."""
        low, centre, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
        spread = high - low
        rough = np.minimum(np.abs(rows - centre).max(axis=0), 1e150)
        return cls(centre, np.where(spread > 0, spread, np.where(rough > 0, rough, 1.0)))

    def among(self, columns: Sequence[int]) -> Scaling:
        """Return the scaling of some columns."""
        return Scaling(self.centre[list(columns)], self.spread[list(columns)])

    def __call__(self, rows: Array) -> Array:
        """Return scaled rows, shape as given."""
        with np.errstate(over="ignore", invalid="ignore"):
            # An infinite entry may become NaN here; it then counts as the median.
            return np.clip(np.nan_to_num((rows - self.centre) / self.spread), -_FAR, _FAR)


@dataclass(frozen=True)
class DirectionScore:
    """The coordinates of rows along a direction."""

    scaling: Scaling
    direction: Array

    def __call__(self, rows: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        return np.asarray(self.scaling(rows) @ self.direction)


@dataclass(frozen=True)
class ProductScore:
    """The product of two entries, of how far each is from its median."""

    scaling: Scaling
    columns: tuple[int, int]

    def __call__(self, rows: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        one, other = self.scaling(rows[:, self.columns]).T
        return np.asarray(one * other)


@dataclass(frozen=True)
class CovarianceScore:
    """The log-ratio of two normal laws of a few entries, of their own mean and covariance each."""

    scaling: Scaling
    columns: tuple[int, ...]
    means: tuple[Array, Array]
    inverses: tuple[Array, Array]

    def __call__(self, rows: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        scaled = self.scaling(rows[:, self.columns])
        far = [
            np.einsum("ij,jk,ik->i", scaled - mean, inverse, scaled - mean)
            for mean, inverse in zip(self.means, self.inverses, strict=True)
        ]
        return np.asarray(far[1] - far[0])


@dataclass(frozen=True)
class CodeScore:
    """The log-ratio of a code's frequencies on the two datasets."""

    code: Callable[[Array], Codes]
    ratios: Array

    def __call__(self, rows: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        return np.asarray(self.ratios[self.code(rows)])


@dataclass(frozen=True)
class SignPattern:
    """The entries that lie above their centre, as a number."""

    columns: tuple[int, ...]
    centres: Array

    def __call__(self, rows: Array) -> Codes:
        """Return codes below 2 to the number of entries, shape ``(R,)``."""
        above = rows[:, self.columns] > self.centres
        return np.asarray(above @ (1 << np.arange(len(self.columns))))


@dataclass(frozen=True)
class Remainder:
    """The remainder of an entry after a division; the divisor itself if it is no integer."""

    column: int
    modulus: int

    def __call__(self, rows: Array) -> Codes:
        """Return codes, shape ``(R,)``."""
        return _compute_remainder_codes(rows[:, self.column], self.modulus)


@dataclass(frozen=True)
class NearnessScore:
    """The difference of rows' distances to two points; None counts not."""

    scaling: Scaling
    to: Array | None
    away: Array | None

    def __call__(self, rows: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        scaled = self.scaling(rows)
        near = 0.0 if self.to is None else -_compute_point_distances(scaled, self.to)
        far = 0.0 if self.away is None else _compute_point_distances(scaled, self.away)
        return np.asarray(near + far)


def flatten_first_rows(on_p: Array, on_q: Array) -> tuple[Array, Array]:
    """Return as many rows of either side as are looked at, shape ``(n, d)`` each.

    Examples
    --------
    >>> [side.shape for side in flatten_first_rows(np.zeros((9, 2, 3)), np.zeros(9))]
    [(9, 6), (9, 1)]
    """
    p, q = (side.reshape(len(side), -1) for side in (on_p, on_q))
    most = max(1, min(_ROWS, _CELLS // p.shape[1]))
    return p[:most], q[:most]


def select_telling_entries(on_p: Array, on_q: Array, most: int) -> list[int]:
    """Return the entries in which sides differ most, by their means and by their spreads.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(2, 400, 9))
    >>> select_telling_entries(noise[0] + (np.arange(9) == 4), noise[1], 1)
    [4]
    """
    scaling = Scaling.of(np.concatenate([on_p, on_q]))
    p, q = scaling(on_p), scaling(on_q)
    errors = np.maximum(
        np.abs(_compute_mean_errors(p, q)), np.abs(_compute_mean_errors(p * p, q * q))
    )
    return sorted(np.argsort(-errors, kind="stable")[:most].tolist())


def fit_mean_difference(on_p: Array, on_q: Array) -> DirectionScore | None:
    """Return the direction of the difference of means, each entry weighed by its own spread.

    Unlike a regression it needs no more outputs than there are entries: what is wrong in each
    entry's weight is as much as that entry's mean is, and no more (naive Bayes).

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(2, 200, 300))
    >>> [fit_mean_difference(noise[0] + shift, noise[1]) is None for shift in (0.0, 0.1)]
    [True, False]
    """
    return _fit_direction(on_p, on_q, lambda errors: errors)


def fit_few_entries(on_p: Array, on_q: Array) -> DirectionScore | None:
    """Return that direction of the entries alone that differ more than any does by chance.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(2, 400, 300))
    >>> found = fit_few_entries(noise[0] + (np.arange(300) < 3), noise[1])
    >>> np.flatnonzero(found.direction)
    array([0, 1, 2])
    """
    return _fit_direction(on_p, on_q, _select_large_errors)


def _select_large_errors(errors: Array) -> Array:
    few = np.where(np.abs(errors) > math.sqrt(2 * math.log(len(errors))) + 1, errors, 0.0)
    return few if 1 < np.count_nonzero(few) < len(few) else np.zeros(len(few))


def _fit_direction(
    on_p: Array, on_q: Array, kept: Callable[[Array], Array]
) -> DirectionScore | None:
    """Return a direction learned on all, if one learned on a half stands out on the other."""
    if on_p.shape[1] < _SEVERAL or min(len(on_p), len(on_q)) < 4:
        return None
    scaling = Scaling.of(np.concatenate([on_p, on_q]))
    p, q = scaling(on_p), scaling(on_q)
    half = _compute_direction(p[::2], q[::2], kept)
    unseen = _compute_mean_errors((p[1::2] @ half)[:, None], (q[1::2] @ half)[:, None])
    # One-sided, as the direction that one half learned has to point the same way on the other.
    if unseen[0] <= _BY_CHANCE:
        return None
    direction = _compute_direction(p, q, kept)
    return DirectionScore(scaling, direction) if direction.any() else None


def _compute_direction(p: Array, q: Array, kept: Callable[[Array], Array]) -> Array:
    spread = np.sqrt(p.var(axis=0) + q.var(axis=0))
    return np.asarray(kept(_compute_mean_errors(p, q)) / np.where(spread > 0, spread, 1.0))


def fit_entry_product(on_p: Array, on_q: Array) -> ProductScore | None:
    """Return the product of the two entries whose products differ most, if any stands out.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(2, 400, 5))
    >>> fit_entry_product(noise[0], noise[1]) is None
    True
    >>> noise[0, :, 3] *= np.sign(noise[0, :, 3] * noise[0, :, 1])
    >>> fit_entry_product(noise[0], noise[1]).columns
    (1, 3)
    """
    if not 2 <= on_p.shape[1] <= _MANY:
        return None
    scaling, pairs = _find_dependent_pairs(on_p, on_q)
    return ProductScore(scaling.among(pairs[0]), pairs[0]) if pairs else None


def fit_normal_ratio(on_p: Array, on_q: Array) -> CovarianceScore | None:
    """Return the log-ratio of normal laws of the entries whose products stand out.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(2, 400, 5))
    >>> noise[0, :, 3] += noise[0, :, 1]
    >>> fit_normal_ratio(noise[0], noise[1]).columns
    (1, 3)
    """
    if not 2 <= on_p.shape[1] <= _MANY:
        return None
    scaling, pairs = _find_dependent_pairs(on_p, on_q)
    columns = tuple(sorted(dict.fromkeys(c for pair in pairs for c in pair))[:_TOGETHER])
    if not columns:
        return None
    own = scaling.among(columns)
    sides = [own(side[:, columns]) for side in (on_p, on_q)]
    means = sides[0].mean(axis=0), sides[1].mean(axis=0)
    return CovarianceScore(
        own, columns, means, (_invert_covariance(sides[0]), _invert_covariance(sides[1]))
    )


def _invert_covariance(side: Array) -> Array:
    covariance = np.atleast_2d(np.cov(side, rowvar=False))
    # Entries that move together have a singular covariance.
    ridge = 1e-6 * max(float(np.trace(covariance)), 1e-9) * np.eye(len(covariance))
    return np.asarray(np.linalg.inv(covariance + ridge), dtype=np.float64)


def _find_dependent_pairs(on_p: Array, on_q: Array) -> tuple[Scaling, list[tuple[int, int]]]:
    """Return the pairs of entries whose products stand out, the farthest first, and the scaling."""
    scaling = Scaling.of(np.concatenate([on_p, on_q]))
    moments = [_compute_pair_moments(scaling(side)) for side in (on_p, on_q)]
    spread = moments[0][1] + moments[1][1]
    apart = np.abs(moments[0][0] - moments[1][0])
    errors = apart / np.sqrt(np.where(spread > 0, spread, np.inf))
    first, second = np.triu_indices(on_p.shape[1], 1)
    far = errors[first, second]
    # About the largest of so many standard normal values, and some standard errors more.
    least = math.sqrt(2 * math.log(max(2, len(far)))) + _BY_CHANCE
    order = np.argsort(-far, kind="stable")
    return scaling, [(int(first[k]), int(second[k])) for k in order if far[k] > least]


def _compute_pair_moments(rows: Array) -> tuple[Array, Array]:
    """Return the mean products of entries, and the squares of their standard errors."""
    means = rows.T @ rows / len(rows)
    squares = rows * rows
    return means, (squares.T @ squares / len(rows) - means**2) / len(rows)


def fit_sign_pattern(on_p: Array, on_q: Array) -> CodeScore | None:
    """Return how often each pattern of entries above and below was seen, where these differ.

    Examples
    --------
    >>> signs = np.random.default_rng(0).normal(size=(2, 400, 3))
    >>> fit_sign_pattern(signs[0], signs[1]) is None
    True
    >>> signs[0, :, 2] *= np.sign(signs[0].prod(axis=1))
    >>> fit_sign_pattern(signs[0], signs[1])(signs[0]).round(1).min() > 0
    np.True_
    """
    pooled = np.concatenate([on_p, on_q])
    columns = tuple(np.flatnonzero(pooled.max(axis=0) > pooled.min(axis=0)).tolist())
    patterns = 1 << len(columns)
    if not 1 < len(columns) <= _ORTHANTS or patterns * _PER_PATTERN > len(pooled):
        return None
    code = SignPattern(columns, np.array([_choose_middle_value(pooled[:, c]) for c in columns]))
    counts = [np.bincount(code(side), minlength=patterns) for side in (on_p, on_q)]
    return (
        CodeScore(code, _compute_smoothed_log_ratios(*counts))
        if _compute_chi_square_p_value(*counts) < _CHANCE
        else None
    )


def _choose_middle_value(values: Array) -> float:
    """Return 0 if it is about the median, else that; between values where these are two."""
    low, median, high = np.quantile(values, [0.4, 0.5, 0.6])
    # A look at the first 64 values spares most columns a sort of all.
    if len(two := np.unique(values[:64])) == 2 and np.isin(values, two).all():
        return float(two.mean())
    return 0.0 if low < 0 < high else float(median)


def fit_remainder(on_p: Array, on_q: Array) -> CodeScore | None:
    """Return how often integers left each remainder, by the divisor that shows most.

    Examples
    --------
    >>> numbers = np.random.default_rng(0).integers(0, 10**6, (2, 900, 1)).astype(float)
    >>> fit_remainder(numbers[0], numbers[1]) is None
    True
    >>> fit_remainder(7 * numbers[0], numbers[1]).code.modulus
    7
    """
    pooled = np.concatenate([on_p, on_q])
    # From 2^53 on every double is an integer, and remainders say nothing.
    whole = (np.rint(pooled) == pooled).all(axis=0) & (np.abs(pooled).max(axis=0) < 2**53)
    # Of two neighbouring integers a threshold already tells all.
    whole &= pooled.max(axis=0) > pooled.min(axis=0) + 1
    tried = list(product(np.flatnonzero(whole)[:_INTEGERS].tolist(), _MODULI))
    if not tried:
        return None
    found = {one: _count_remainders(Remainder(*one), on_p, on_q) for one in tried}
    chances = {one: _compute_chi_square_p_value(*counts) for one, counts in found.items()}
    best = min(tried, key=lambda one: chances[one])
    if chances[best] >= _CHANCE / len(tried):
        return None
    return CodeScore(Remainder(*best), _compute_smoothed_log_ratios(*found[best]))


def _count_remainders(code: Remainder, on_p: Array, on_q: Array) -> list[Codes]:
    return [np.bincount(code(side), minlength=code.modulus + 1) for side in (on_p, on_q)]


def _compute_remainder_codes(values: Array, modulus: int) -> Codes:
    whole = (np.rint(values) == values) & (np.abs(values) < 2**53)
    return np.where(whole, np.mod(np.where(whole, values, 0), modulus), modulus).astype(np.int64)


def fit_nearness(on_p: Array, on_q: Array) -> NearnessScore | None:
    """Return how near rows are to where those of a side are centred, or densest, if that tells.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(2, 400, 2))
    >>> fit_nearness(points[0], points[1]) is None
    True
    >>> fit_nearness(points[0] * 0.1, points[1]) is None
    False
    """
    if not 2 <= on_p.shape[1] <= _CENTRED or min(len(on_p), len(on_q)) < 4:
        return None
    scaling = Scaling.of(np.concatenate([on_p, on_q]))
    halves = [scaling(side[::2]) for side in (on_p, on_q)]
    centres = [[np.median(half, axis=0), _find_densest_point(half)] for half in halves]
    found = [
        NearnessScore(scaling, to, away)
        for one, other in zip(*centres, strict=True)
        for to, away in ((one, other), (one, None), (None, other))
    ]
    return _select_best_nearness(found, on_p[1::2], on_q[1::2])


def _select_best_nearness(
    scores: Sequence[NearnessScore], on_p: Array, on_q: Array
) -> NearnessScore | None:
    """Return the score that promises most on one half of rows, if it stands out on the other."""
    (seen_p, seen_q), (unseen_p, unseen_q) = ((on_p[n::2], on_q[n::2]) for n in (0, 1))
    events = [choose_event(score(seen_p), score(seen_q), 0.0) for score in scores]
    best = int(np.argmax([event.promised for event in events]))
    score, event = scores[best], events[best]
    seen = _compute_rate_errors(event.happened(score(seen_p)), event.happened(score(seen_q)))
    unseen = _compute_rate_errors(event.happened(score(unseen_p)), event.happened(score(unseen_q)))
    stands_out = abs(unseen) > _BY_CHANCE and seen * unseen > 0
    return score if event.promised > 0 and stands_out else None


def _compute_rate_errors(on_p: Array, on_q: Array) -> float:
    """Return by how many standard errors two rates are apart, with a hit and a miss added."""
    rates = [(side.sum() + 1) / (len(side) + 2) for side in (on_p, on_q)]
    variances = [r * (1 - r) / len(side) for r, side in zip(rates, (on_p, on_q), strict=True)]
    return float((rates[0] - rates[1]) / math.sqrt(sum(variances)))


def _find_densest_point(points: Array) -> Array:
    """Return where points are densest: the median of the nearest half, again and again."""
    centre = np.median(points, axis=0)
    for _ in range(_HALVINGS):
        if len(points) < 8:
            break
        distances = _compute_point_distances(points, centre)
        points = points[distances <= np.median(distances)]
        centre = np.median(points, axis=0)
    return np.asarray(centre)


def _compute_point_distances(points: Array, centre: Array) -> Array:
    moved = points - centre
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", moved, moved)))


def _compute_mean_errors(p: Array, q: Array) -> Array:
    """Return by how many standard errors the means of columns are apart."""
    error = np.sqrt(p.var(axis=0) / len(p) + q.var(axis=0) / len(q))
    apart = p.mean(axis=0) - q.mean(axis=0)
    return np.asarray(np.where(error > 0, apart / np.where(error > 0, error, 1.0), 0.0))


def _compute_chi_square_p_value(of_p: Codes, of_q: Codes) -> float:
    """Return the p-value that codes are as frequent on both sides (Pearson's chi-square)."""
    from scipy.special import chdtrc  # late: it takes long to import

    both = of_p + of_q
    seen = both > 0
    p, q, both = of_p[seen], of_q[seen], both[seen]
    shares = p.sum() / both.sum(), q.sum() / both.sum()
    excess = sum(
        ((side - share * both) ** 2 / (share * both)).sum()
        for side, share in zip((p, q), shares, strict=True)
    )
    return float(chdtrc(max(1, len(both) - 1), excess))


def _compute_smoothed_log_ratios(of_p: Codes, of_q: Codes) -> Array:
    """Return log-ratios of frequencies, 0 where they may be the same."""
    sizes = of_p.sum(), of_q.sum()
    ratios = np.log((of_p + _SMOOTHING) / sizes[0]) - np.log((of_q + _SMOOTHING) / sizes[1])
    expected = (of_p + of_q) * sizes[0] / sum(sizes)
    error = np.sqrt(np.maximum(expected * sizes[1] / sum(sizes), 1e-9))
    same = np.abs(of_p - expected) <= _SAME * error
    return np.asarray(np.where(same, 0.0, ratios), dtype=np.float64)
