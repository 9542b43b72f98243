"""Counting: log-ratios of the frequencies of outcomes or, where they are many, of their entries.

Where outputs take few values, an outcome's score is the log-ratio of how often it was seen.
Else its entries are scored one by one, as though they were independent given the pattern of those
that take few values, and added up: of the entries themselves or of successive differences, each
counted by itself or all as though they had one law, whichever predicts outputs better that were
not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.attacks.distinguishers.counting import (
    FLAT,
    PER_OUTCOME,
    Coder,
    Steps,
    build_row_coder,
    fit_step_function,
    flatten_outputs,
    log_ratio,
)
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import Pair

HISTOGRAM = Distinguisher(
    name="histogram",
    statement=(
        "log-ratio of how often an outcome was seen on either dataset; of many outcomes, that of "
        "the entries or of their successive differences, added up"
    ),
    threat_model=(
        "can run the mechanism on both datasets and count what comes out; sees one output; "
        "wants to know which dataset produced it"
    ),
    needs_law=False,
    fit="dpaudit.attacks.distinguishers.histogram:fit",
    default=False,
    for_few_values=True,
)

# A column of up to so many distinct values is part of the pattern and not counted by itself.
_FEW_LEVELS = 16
# Limits on patterns: each has tables of its own, which need enough outputs to be counted on.
_MOST_PATTERNS = 64
_PER_PATTERN = 1000
_MOST_COLUMNS = 500
_MOST_COMPARED = 300_000  # outputs of a side on which kinds of counting are compared


@dataclass(frozen=True)
class Frequencies:
    """Scores outcomes by their smoothed log-ratio; 0 for one that was never seen."""

    numbers: Coder
    ratios: Array

    def __call__(self, outputs: Array) -> Array:
        """Return log-ratios, shape ``(R,)``."""
        return np.asarray(self.ratios[self.numbers(flatten_outputs(outputs))])


@dataclass(frozen=True)
class PatternScore:
    """Scores an output by its pattern, plus its other columns given the pattern.

    Columns are entries, or their successive differences along an output's first axis.
    ``tables[k][i]`` scores column ``counted[i]`` beside pattern k; a pattern that was never seen
    scores 0.
    """

    differences: bool
    shown: tuple[int, ...]
    counted: tuple[int, ...]
    patterns: Frequencies
    tables: tuple[tuple[Steps, ...], ...]

    def __call__(self, outputs: Array) -> Array:
        """Return sums of log-ratios, shape ``(R,)``."""
        table = _flatten_count_columns(outputs, self.differences)
        numbers = self.patterns.numbers(table[:, self.shown])
        score = self.patterns.ratios[numbers]
        # Indexing with an array has copied the ratios, so the sums below leave the table as it is.
        columns = np.ascontiguousarray(table[:, self.counted].T)
        for number, steps_of in enumerate(self.tables):
            own = numbers == number
            kept = slice(None) if own.all() else np.flatnonzero(own)
            for values, step in zip(columns, steps_of, strict=True):
                score[kept] += step(values[kept])
        return np.asarray(score)


@dataclass(frozen=True)
class _Kind:
    """The numbers that are counted: entries or differences, and whether all of them together."""

    differences: bool
    one_law: bool


@dataclass(frozen=True)
class Indifferent:
    """Scores everything 0: there was too much to count."""

    def __call__(self, outputs: Array) -> Array:
        """Return zeros, shape ``(R,)``."""
        return np.zeros(len(outputs))


def fit(
    mechanism: Mechanism[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> Frequencies | PatternScore | Indifferent:
    """Fit on outputs of both datasets, shape ``(R, ...)`` each; uses outputs alone.

    Raises
    ------
    InvalidArgument
        An output holds NaN or infinity, or there is none.

    Examples
    --------
    >>> score = fit(None, None, np.array([1.0] * 9 + [0.0]), np.zeros(10), None)
    >>> score(np.array([1.0, 0.0, 5.0])).round(2)
    array([ 2.94, -1.95,  0.  ])
    """
    for name, sample in (("on_dataset", on_dataset), ("on_neighbour", on_neighbour)):
        if not len(sample) or not np.isfinite(sample).all():
            raise InvalidArgument(name, VerbatimText("none, NaN or infinity"), "finite outputs")
    p, q = (np.asarray(sample, dtype=np.float64) for sample in (on_dataset, on_neighbour))
    of_outcomes = _count_output_frequencies(
        flatten_outputs(p), flatten_outputs(q), (len(p) + len(q)) / PER_OUTCOME
    )
    if of_outcomes is not None:
        return of_outcomes
    if p[0].size > _MOST_COLUMNS:
        return Indifferent()
    return _fit_additive_counts(p, q, _best_kind(p[:_MOST_COMPARED], q[:_MOST_COMPARED]))


def _count_output_frequencies(p: Array, q: Array, most: float) -> Frequencies | None:
    numbers = build_row_coder(np.concatenate([p, q]), most)
    if numbers is None:
        return None
    of_p, of_q = (np.bincount(numbers(side), minlength=numbers.size) for side in (p, q))
    # The last place is that of the number -1: what was never seen.
    return Frequencies(numbers, np.append(log_ratio(of_p, of_q, len(p), len(q)), 0.0))


def _best_kind(p: Array, q: Array) -> _Kind:
    """Return the kind that predicts half of the outputs best, from the other half."""
    several = p.ndim > 1 and p.shape[1] > 1
    kinds = [_Kind(d, o) for d in ((False, True) if several else (False,)) for o in (False, True)]
    if p[0].size == 1 or min(len(p), len(q)) < 2:
        return kinds[0]
    # The halves alternate, so that both see the same part of a long sample.
    scores = [_fit_additive_counts(p[::2], q[::2], kind) for kind in kinds]
    losses = [
        # The cross-entropy of telling the sides apart, with the score taken for a log-odds.
        np.logaddexp(0, -score(p[1::2])).mean() + np.logaddexp(0, score(q[1::2])).mean()
        for score in scores
    ]
    return kinds[int(np.argmin(losses))]


def _fit_additive_counts(p: Array, q: Array, kind: _Kind) -> PatternScore:
    sides = [_flatten_count_columns(side, kind.differences) for side in (p, q)]
    shown, patterns = _find_column_patterns(*sides)
    counted = tuple(i for i in range(sides[0].shape[1]) if i not in shown)
    numbers = [patterns.numbers(side[:, shown]) for side in sides]
    tables = tuple(
        tuple(_steps_given(sides, numbers, number, counted, kind.one_law))
        for number in range(patterns.numbers.size)
    )
    return PatternScore(kind.differences, shown, counted, patterns, tables)


def _find_column_patterns(p: Array, q: Array) -> tuple[tuple[int, ...], Frequencies]:
    """Return which columns take few values, and their patterns; none if patterns are many."""
    rows = np.concatenate([p, q])
    few = [
        i for i in range(rows.shape[1]) if build_row_coder(rows[:, [i]], _FEW_LEVELS) is not None
    ]
    most = min(_MOST_PATTERNS, len(rows) / _PER_PATTERN)
    found = _count_output_frequencies(p[:, few], q[:, few], most) if few else None
    if found is None:
        # A coder of no columns gives every row the number 0: one pattern, which says nothing.
        return (), Frequencies(Coder(np.empty(0), (), (), ()), np.zeros(2))
    return tuple(few), found


def _steps_given(
    sides: list[Array],
    numbers: list[NDArray[np.int64]],
    number: int,
    counted: tuple[int, ...],
    one_law: bool,
) -> Iterator[Steps]:
    """Yield a table for each column, of the outputs with this pattern."""
    p, q = (side[of == number][:, counted] for side, of in zip(sides, numbers, strict=True))
    if not p.size or not q.size:
        yield from repeat(FLAT, len(counted))
    elif one_law:
        yield from repeat(fit_step_function(p.ravel(), q.ravel()), len(counted))
    else:
        yield from (fit_step_function(p[:, i], q[:, i]) for i in range(len(counted)))


def _flatten_count_columns(outputs: Array, differences: bool) -> Array:
    values = np.asarray(outputs, dtype=np.float64)
    return flatten_outputs(np.diff(values, axis=1, prepend=0.0) if differences else values)
