"""Numbers that attacks learn from, of outputs with discrete parts.

A column of numbers is one feature. Of a column of codes the feature is how much more often each was
seen on the dataset than on its neighbour, as a log-ratio; codes that were seen too seldom to tell
count nothing. All of it is learned on outputs that certify nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.mechanisms.outputs.layout import INFINITE, NAN, Layout

_BY_CHANCE = 2.0  # standard errors up to which counts of a code are the same


@dataclass(frozen=True)
class LogRatios:
    """The log-ratio of each code that was seen, in the order of the codes; 0 of any other."""

    codes: Array
    ratios: Array

    @classmethod
    def of(cls, on_p: Array, on_q: Array) -> LogRatios:
        """Return those of codes on the dataset and on its neighbour, shape ``(n,)`` each."""
        codes, place = np.unique(np.concatenate([on_p, on_q]), return_inverse=True)
        p, q = (np.bincount(one, minlength=len(codes)) for one in np.split(place, [len(on_p)]))
        ratios = np.log((p + 0.5) / (len(on_p) + 0.5)) - np.log((q + 0.5) / (len(on_q) + 0.5))
        same = np.abs(p - q) <= _BY_CHANCE * np.sqrt(p + q)
        return cls(codes, np.where(same, 0.0, ratios))

    def __call__(self, column: Array) -> Array:
        """Return the log-ratios of codes, shape as given."""
        # A code above all that were seen would point past the last one.
        place = np.minimum(np.searchsorted(self.codes, column), len(self.codes) - 1)
        found: Array = np.where(self.codes[place] == column, self.ratios[place], 0.0)
        return found


@dataclass(frozen=True)
class Features:
    """One number for each column of outputs; ``ratios`` are of the discrete ones, by column."""

    ratios: dict[int, LogRatios]

    @classmethod
    def of(cls, layout: Layout, on_p: Array, on_q: Array) -> Features:
        """Return the features of a layout, learned on outputs of both datasets."""
        discrete = [n for n, column in enumerate(layout.columns) if column.discrete]
        return cls({n: LogRatios.of(on_p[:, n], on_q[:, n]) for n in discrete})

    def __call__(self, outputs: Array) -> Array:
        """Return features, shape ``(R, columns)``."""
        found = outputs.reshape(len(outputs), -1).copy()
        for n, ratios in self.ratios.items():
            found[:, n] = ratios(found[:, n])
        return found


@dataclass(frozen=True)
class OfFeatures:
    """A score that was learned on features, as a score of outputs."""

    features: Features
    score: Callable[[Array], Array]

    def __call__(self, outputs: Array) -> Array:
        """Return the scores, shape ``(R,)``."""
        return self.score(self.features(outputs))


@dataclass(frozen=True)
class OnePart:
    """The feature of one column as a score, or how far it is from a centre, with a sign."""

    column: int
    sign: float = 1.0
    centre: float | None = None

    def __call__(self, features: Array) -> Array:
        """Return the scores, shape ``(R,)``."""
        found: Array = features.reshape(len(features), -1)[:, self.column]
        return self.sign * (found if self.centre is None else np.abs(found - self.centre))


@dataclass(frozen=True)
class OneOf:
    """The log-ratio of the two frequencies of a value, for a number of few values."""

    column: int
    ratios: LogRatios

    @classmethod
    def of(cls, column: int, on_p: Array, on_q: Array) -> OneOf:
        """Return it of one column of features of both sides, shape ``(n, columns)`` each."""
        return cls(column, LogRatios.of(on_p[:, column], on_q[:, column]))

    def __call__(self, features: Array) -> Array:
        """Return the scores, shape ``(R,)``."""
        return self.ratios(features[:, self.column])


@dataclass(frozen=True)
class OneValue:
    """Whether a number is one value, to the sign of a zero, as a score with a sign."""

    column: int
    value: float
    sign: float

    def __call__(self, features: Array) -> Array:
        """Return the sign or 0, shape ``(R,)``."""
        values = features[:, self.column]
        same = (values == self.value) & (np.signbit(values) == np.signbit(self.value))
        found: Array = np.where(same, self.sign, 0.0)
        return found


Part = OnePart | OneOf | OneValue
_FEW = 8  # values that are worth a name each


def few_valued_scores(layout: Layout, on_p: Array, on_q: Array) -> list[OneOf | OneValue]:
    """Return the scores of numbers of few values, and of values that are no usual numbers.

    Parameters
    ----------
    layout, on_p, on_q
        As of `one_part_scores`.
    """
    found = list[OneOf | OneValue]()
    for n in (n for n, column in enumerate(layout.columns) if not column.discrete):
        values = np.concatenate([on_p[:, n], on_q[:, n]])
        if 2 < len(np.unique(values)) <= _FEW:
            found.append(OneOf.of(n, on_p, on_q))
        special = [one for one in (NAN, INFINITE, -INFINITE) if (values == one).any()]
        # 0.0 and -0.0 are equal: only where both turn up is the sign an outcome.
        special += [-0.0] if len(set(np.signbit(values[values == 0]).tolist())) > 1 else []
        found += [OneValue(n, one, sign) for one in special for sign in (1.0, -1.0)]
    return found


def one_part_scores(layout: Layout, on_p: Array, on_q: Array) -> list[OnePart]:
    """Return the scores of single parts: each feature, and of numbers how far out they are.

    Numbers may be larger or smaller on the dataset: both are scores.

    Parameters
    ----------
    layout
        Which columns are discrete.
    on_p, on_q
        Features of outputs that certify nothing, shape ``(n, columns)``.
    """
    found = []
    for n, column in enumerate(layout.columns):
        values = np.concatenate([on_p[:, n], on_q[:, n]])
        if values.min() == values.max():
            continue
        if column.discrete:
            found.append(OnePart(n))
            continue
        centre = float(np.median(values))
        found += [OnePart(n, sign, out) for out in (None, centre) for sign in (1.0, -1.0)]
    return found


def select_farthest_scores(
    scores: list[OnePart], on_p: Array, on_q: Array, layout: Layout, most: int
) -> list[OnePart]:
    """Return the scores that tell two sides apart best: so many discrete ones, and of numbers.

    Scores that are as good stay in their order. What is missing is 0 among numbers, and best told
    by its code.
    """
    ordered = sorted(scores, key=lambda one: distance(one, on_p, on_q), reverse=True)
    discrete = [one for one in ordered if layout.columns[one.column].discrete]
    return [*discrete[:most], *[one for one in ordered if one not in discrete][:most]]


def distance(score: Callable[[Array], Array], on_p: Array, on_q: Array) -> float:
    """Return how far apart the distributions of a score are: the largest gap of rates.

    It is weighed as a gap of small rates is: by what chance would make of it.
    """
    p, q = np.sort(score(on_p)), np.sort(score(on_q))
    at: NDArray[np.float64] = np.concatenate([p, q])
    below_p = np.searchsorted(p, at, side="right") / len(p)
    below_q = np.searchsorted(q, at, side="right") / len(q)
    both = (below_p + below_q) / 2
    error = np.sqrt(np.maximum(both * (1 - both), 1 / (len(p) + len(q))))
    return float(np.max(np.abs(below_p - below_q) / error))
