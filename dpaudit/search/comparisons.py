"""Comparisons of noisy values, by how well they tell two datasets apart.

A sparse vector answers a query by whether it, with noise, is above a limit with noise. Nothing of
the noise gets out, and all comparisons of a limit have its noise, so how far one of them moved says
little: what tells most is a query that rises while another falls. So it is the loss that all the
answers together could certify that counts: their law is computed from what was compared and which
noise was in it. After which answer the code stops is seen of runs that compare less than others.
Noise in several comparisons takes a number of values, given one of which those are
independent. Other laws than the normal one are taken for Laplace's, which they resemble.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from scipy.special import logsumexp, ndtr, ndtri

from dpaudit._typing import Array
from dpaudit.freezing.outputs import Output
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Comparison
from dpaudit.search.choices import loss_of_sets

_MOST = 24  # comparisons
_POINTS = 64  # values of a noise that several comparisons share
_EACH = 2  # answers for each value and side
# Probabilities are kept so far from 0 and 1, so that no logarithm is infinite.
_RAREST = 1e-9
_OF_MOVEMENT = 1e-3  # so that there is a way up where nothing can be certified yet
# Always the same draws: two pairs are compared by their data, and not by the luck of a sample.
_SEED = 0


class NoiseEntry(NamedTuple):
    """One number of the noise of a call."""

    call: int
    entry: int
    is_normal: bool


class ComparisonAnswer(NamedTuple):
    """One comparison: the difference of two numbers, and by how much each draw moves it."""

    centre: float
    weights: dict[NoiseEntry, float]
    is_above: bool = True


class End(NamedTuple):
    """The answer after which code compares no more: the so manieth that is above, or is not."""

    is_above: bool
    number: int

    def of(self, answers: Array) -> Array:
        """Return which answers are given, shape ``(R, k)`` as theirs."""
        alike = answers == self.is_above
        return np.asarray(np.cumsum(alike, axis=1) - alike < self.number)


@dataclass
class ComparisonLog:
    """The comparisons of runs so far: the most that they show, and the answer that stopped them."""

    longest: int = 0
    end: End | None = None
    is_certain: bool = True

    def note(self, run: Run) -> None:
        """Note how far a run went on."""
        above = [one.is_above for one in answers_of(run)]
        if above and len(above) < self.longest and self.end is None:
            self.end = End(above[-1], above.count(above[-1]))
        self.longest = max(self.longest, len(above))
        if self.end is not None and not self.end.of(np.array([above]))[0].all():
            self.is_certain = False  # it went on after such an answer

    def size(self, run: Run, output: Output, other: Run) -> tuple[float, float] | None:
        """Return the result of `comparison_size`, for code that stops as it was seen to."""
        for one in (run, other):
            self.note(one)
        return comparison_size(run, output, other, self.end if self.is_certain else None)


def answers_of(run: Run) -> list[ComparisonAnswer]:
    """Return the first comparisons of a run, those of a call together."""
    found = list[ComparisonAnswer]()
    for call in run.calls:
        for one in call.comparisons:
            found.extend(_generate_comparison_answers(run, one))
            if len(found) >= _MOST:
                return found[:_MOST]
    return found


def _generate_comparison_answers(run: Run, one: Comparison) -> Iterator[ComparisonAnswer]:
    centres = np.atleast_1d(np.asarray(one.centre, float))
    above = np.broadcast_to(one.difference, centres.shape) > 0
    weights: list[dict[NoiseEntry, float]] = [{} for _ in range(centres.size)]
    for index, factor in one.terms:
        call = run.calls[index]
        entries = np.arange(max(1, int(np.prod(call.shape)))).reshape(call.shape or (1,))
        unit = np.asarray(1.0 if call.scale is None else call.scale, float) * factor
        try:
            entries, units = (np.broadcast_to(each, centres.shape) for each in (entries, unit))
        except ValueError:  # compared with many at once
            return
        for n, (entry, each) in enumerate(zip(entries.flat, units.flat, strict=True)):
            draw = NoiseEntry(index, int(entry), call.kind == "normal")
            weights[n][draw] = weights[n].get(draw, 0.0) + float(each)
    yield from (
        ComparisonAnswer(float(centre), held, bool(is_above))
        for centre, held, is_above in zip(centres.flat, weights, above.flat, strict=True)
    )


def comparison_size(
    run: Run, output: Output, other: Run, end: End | None = None
) -> tuple[float, float] | None:
    """Return how well comparisons tell two runs apart, and how far one moved, in scales.

    None where an output holds more than answers: numbers that are not whole, unless noisy values
    were compared with one noisy limit, as then most of what moved stays inside. None also where
    the runs did not compare noisy values of the same noise.
    """
    is_whole = all(float(number).is_integer() for number in output.numbers)
    if not is_whole and not _has_limit(answers_of(run)):
        return None
    both = list(zip(answers_of(run), answers_of(other), strict=False))
    # Answers of other noise are other comparisons, and their centres have no common meaning.
    both = [(a, b) for a, b in both if a.weights.keys() == b.weights.keys() and _is_finite(a, b)]
    if not both:
        return None
    moved = max(_measure_answer_shift(*pair) for pair in both)
    sides = [[pair[side] for pair in both] for side in (0, 1)]
    loss = certifiable_loss(sides[0], sides[1], end) if moved else 0.0
    return loss + _OF_MOVEMENT * moved, moved


def _has_limit(answers: list[ComparisonAnswer]) -> bool:
    """Return whether several answers have noise in common, and each some of its own."""
    shared, own = _split_shared_draws(answers)
    return len(answers) > 1 and bool(shared) and None not in own


def _is_finite(*answers: ComparisonAnswer) -> bool:
    return all(np.isfinite([one.centre, *one.weights.values()]).all() for one in answers)


def _measure_answer_shift(one: ComparisonAnswer, other: ComparisonAnswer) -> float:
    """Return how far a difference moved, in the largest scale of its noise; 0 if it has none."""
    unit = max(map(abs, one.weights.values()))
    return abs(one.centre - other.centre) / unit if unit else 0.0


def certifiable_loss(
    here: list[ComparisonAnswer], there: list[ComparisonAnswer], end: End | None = None
) -> float:
    """Return the loss that all answers together would certify of two datasets; 0 if none.

    Those after an end count nothing.

    Examples
    --------
    >>> limit = NoiseEntry(0, 0, False)
    >>> rising, falling = (ComparisonAnswer(centre, {limit: 1.0}) for centre in (0.5, -0.5))
    >>> certifiable_loss([rising, falling], [rising, falling])
    0.0
    >>> certifiable_loss([rising, falling], [falling, rising]) > 4
    True
    """
    order = _split_shared_draws(here)
    sides = [_compute_answer_chances(answers, order) for answers in (here, there)]
    seen = np.concatenate([_draw_side_answers(chances, n) for n, chances in enumerate(sides)])
    given = np.ones_like(seen) if end is None else end.of(seen)
    laws = [_log_law(chances, seen, given) for chances in sides]
    # Half of the answers were drawn on either side: each is weighed against the mixture of both.
    shares = np.logaddexp(*laws) - np.log(2) + np.log(len(seen))
    return loss_of_sets(*(law - shares for law in laws))


def _split_shared_draws(
    answers: list[ComparisonAnswer],
) -> tuple[list[NoiseEntry], list[NoiseEntry | None]]:
    """Return the draws of several answers, and of each answer the one that no other has."""
    often: dict[NoiseEntry, int] = {}
    for answer in answers:
        for draw in answer.weights:
            often[draw] = often.get(draw, 0) + 1
    own = [next((d for d in one.weights if often[d] == 1), None) for one in answers]
    return [draw for draw in often if draw not in own], own


def _compute_answer_chances(
    answers: list[ComparisonAnswer], order: tuple[list[NoiseEntry], list[NoiseEntry | None]]
) -> Array:
    """Return the probability of each answer for values of the others' noise, shape ``(S, k)``."""
    shared, own = order
    weights = np.array([[one.weights.get(draw, 0.0) for draw in shared] for one in answers])
    weights = weights.reshape(len(answers), len(shared))
    noise = _sample_standard_noise(tuple(draw.is_normal for draw in shared))
    levels = np.array([one.centre for one in answers]) + noise @ weights.T
    units = [0.0 if d is None else abs(one.weights[d]) for one, d in zip(answers, own, strict=True)]
    normal = np.array([d is not None and d.is_normal for d in own])
    # An answer without noise of its own is certain: its level over almost nothing.
    over = levels / np.maximum(units, 1e-300)
    with np.errstate(over="ignore"):
        tail = np.exp(-np.abs(over)) / 2
    chances = np.where(normal, ndtr(over), np.where(over > 0, 1 - tail, tail))
    return np.asarray(np.clip(chances, _RAREST, 1 - _RAREST))


@lru_cache(maxsize=64)
def _sample_standard_noise(normal: tuple[bool, ...]) -> Array:
    """Return values of standard noise, each column equally spread over its law."""
    rng, ranks = default_rng(_SEED), (np.arange(_POINTS) + 0.5) / _POINTS
    columns = [rng.permutation(ranks) for _ in normal]
    laws = [
        ndtri(c) if n else _compute_laplace_quantiles(c)
        for c, n in zip(columns, normal, strict=True)
    ]
    return np.stack(laws, axis=1) if laws else np.zeros((_POINTS, 0))


def _compute_laplace_quantiles(ranks: Array) -> Array:
    return np.asarray(np.sign(ranks - 0.5) * -np.log1p(-2 * np.abs(ranks - 0.5)))


def _draw_side_answers(chances: Array, side: int) -> Array:
    """Return answers that one side may give, shape ``(R, k)``."""
    rng = default_rng((_SEED, side))
    return np.concatenate([rng.random(chances.shape) < chances for _ in range(_EACH)])


def _log_law(chances: Array, answers: Array, given: Array) -> Array:
    """Return the logarithm of the probability of the answers that are given, shape ``(R,)``."""
    above, below = (np.where(given, one, 0.0) for one in (answers, 1.0 - answers))
    law = above @ np.log(chances).T + below @ np.log1p(-chances).T
    return np.asarray(logsumexp(law, axis=1) - np.log(len(chances)))
