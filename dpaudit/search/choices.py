"""Choices among noisy values, by how well they tell two datasets apart.

A function that returns the largest of noisy scores shows nothing of a shift that all scores share,
and little of an item that is hardly ever chosen. So what counts is the loss that outputs could
certify: the choice is taken for that of Gumbel noise, whose probabilities are proportional to
``exp(score / scale)``, which other noise resembles; of all sets of items with the largest ratios
it is the logarithm of a ratio of probabilities, less two standard errors of so many outputs; what
would not come up among them counts as if it came up once.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from dpaudit._typing import Array
from dpaudit.freezing.outputs import Output
from dpaudit.freezing.recorder import Run

_OUTPUTS = 2_000  # a side, of which a loss is to be certified
_ERRORS = 2.0  # standard errors
_OF_MOVEMENT = 1e-3  # so that there is a way up where nothing can be certified yet


def compute_choice_scores(run: Run) -> tuple[Array, Array] | None:
    """Return scores and noise in scales of the noise, of all calls together; None if of no kind."""
    centres, noises = list[Array](), list[Array]()
    for call in run.calls:
        if not call.meetings or call.draw is None:
            continue
        meeting = call.meetings[-1]
        unit = np.asarray(1.0 if call.scale is None else call.scale, dtype=float) * meeting.factor
        centre, unit, noise = np.broadcast_arrays(meeting.centre, unit, np.asarray(call.draw))
        # Without a scale there is nothing to measure a movement in.
        if not np.isfinite(centre).all() or not np.isfinite(unit).all() or not unit.all():
            return None
        centres.append((centre / np.abs(unit)).ravel())
        noises.append((noise * np.sign(unit)).ravel())
    found = np.concatenate(centres or [np.zeros(0)]), np.concatenate(noises or [np.zeros(0)])
    return found if len(found[0]) > 1 else None


def certifiable_loss(one: Array, other: Array) -> float:
    """Return the loss that choices by two vectors of scores, in scales, would certify; 0 if none.

    Examples
    --------
    >>> round(certifiable_loss(np.array([0.0, 1.0]), np.array([1.0, 0.0])), 2)
    0.92
    >>> certifiable_loss(np.array([0.0, 1.0]), np.array([5.0, 6.0]))
    0.0
    """
    return loss_of_sets(log_softmax(one), log_softmax(other))


def loss_of_sets(here: Array, there: Array) -> float:
    """Return the loss that sets of items would certify, of logarithms of their probabilities."""
    # Neyman and Pearson: the best sets are those of the items with the largest ratios. A stable
    # order makes ties come out alike on every machine.
    order = np.argsort(here - there, kind="stable")
    return max(
        _estimate_largest_loss(here[order], there[order]),
        _estimate_largest_loss(there[order[::-1]], here[order[::-1]]),
    )


def _estimate_largest_loss(rare: Array, frequent: Array) -> float:
    """Return the largest certifiable loss of the first items, up to all but one."""
    # What would not come up in so many outputs counts as if it came up once.
    low, high = (
        np.clip(np.cumsum(np.exp(one))[:-1], 1 / _OUTPUTS, 1.0) for one in (rare, frequent)
    )
    errors = np.sqrt(((1 - low) / low + (1 - high) / high) / _OUTPUTS)
    return float((np.log(high / low) - _ERRORS * errors).max(initial=0.0))


def choice_size(run: Run, output: Output, other: Run) -> tuple[float, float] | None:
    """Return how well choices tell two runs apart, and how far scores moved against one another.

    None where an output is no choice among noisy scores that both runs show.
    """
    if not _may_choose(output):
        return None
    here, there = compute_choice_scores(run), compute_choice_scores(other)
    if here is None or there is None or here[0].shape != there[0].shape:
        return None
    moved = float(np.ptp(here[0] - there[0]))
    losses = [
        certifiable_loss(sign * here[0], sign * there[0])
        for sign in _find_choice_signs(*here, output)
    ]
    return (max(losses) + _OF_MOVEMENT * moved, moved) if losses else None


def _may_choose(output: Output) -> bool:
    """Return whether an output is one whole number, or one text."""
    whole = all(float(number).is_integer() for number in output.numbers)
    return whole and len(output.numbers) + len(output.texts) == 1


def _find_choice_signs(centres: Array, noises: Array, output: Output) -> tuple[int, ...]:
    """Return 1 where the largest was chosen, -1 where the least was; a text may be of either."""
    if not output.numbers:
        return (1, -1)
    noisy = {1: np.argmax(centres + noises), -1: np.argmin(centres + noises)}
    return tuple(sign for sign, item in noisy.items() if output.numbers[0] == item)
