"""A largest score that is found two at a time costs what a selection does, and no other code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from dpaudit.proving.events.bound import Bound, bound_trace
from dpaudit.proving.events.tournaments import join_tournament
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Part, Universe
from tests.proving.sketches import Sketch

SCORES, SCALE = 4, 2.0
Write = Callable[[Sketch, tuple[bool, ...]], tuple[int, ...]]


def _scores(own: Sketch) -> list[int]:
    sums = own("sum", own.records, shape=(SCORES,), axis=0)
    return [own("add", own.take(sums, n), own.scaled("laplace", SCALE)) for n in range(SCORES)]


def _best_so_far(own: Sketch, outcomes: tuple[bool, ...]) -> tuple[int, ...]:
    """Write a loop that keeps the best score, and returns its place."""
    scores, best = _scores(own), 0
    for n, outcome in enumerate(outcomes, 1):
        own("decide", own("less", scores[best], scores[n]), outcome=outcome)
        best = n if outcome else best
    return (own.constant(float(best)),)


def _smallest_so_far(own: Sketch, outcomes: tuple[bool, ...]) -> tuple[int, ...]:
    scores, best = _scores(own), 0
    for n, outcome in enumerate(outcomes, 1):
        own("decide", own("less", scores[n], scores[best]), outcome=outcome)
        best = n if outcome else best
    return (own.constant(float(best)),)


def _how_often_it_changed(own: Sketch, outcomes: tuple[bool, ...]) -> tuple[int, ...]:
    _best_so_far(own, outcomes)
    return (own.constant(float(sum(outcomes))),)


def _with_the_first_beside(own: Sketch, outcomes: tuple[bool, ...]) -> tuple[int, ...]:
    (best,) = _best_so_far(own, outcomes)
    return best, own.constant(float(outcomes[0]))


def _best_from_infinity(own: Sketch, outcomes: tuple[bool, ...]) -> tuple[int, ...]:
    scores, best, place = _scores(own), own.constant(-math.inf), 0
    for n, outcome in enumerate(outcomes):
        own("decide", own("less", best, scores[n]), outcome=outcome)
        best, place = (scores[n], n) if outcome else (best, place)
    return (own.constant(float(place)),)


def _trace(write: Write, decisions: int) -> FunctionTrace:
    paths = []
    for outcomes in itertools.product([True, False], repeat=decisions):
        own = Sketch(3, SCORES)
        paths.append(Path(own.show(*write(own, outcomes)), outcomes))
    part = Part("", (3, SCORES), np.zeros(SCORES), np.ones(SCORES))
    return FunctionTrace(Universe((part,), 3, "replace"), tuple(paths))


def _bound(write: Write, decisions: int = SCORES - 1) -> Bound:
    return bound_trace(_trace(write, decisions))


@pytest.mark.parametrize(
    ("write", "decisions"),
    [(_best_so_far, 3), (_smallest_so_far, 3), (_best_from_infinity, 4)],
)
def test_a_place_costs_what_a_selection_does(write: Write, decisions: int) -> None:
    assert _bound(write, decisions).epsilon() == pytest.approx(2 / SCALE, rel=1e-9)


@pytest.mark.parametrize("write", [_how_often_it_changed, _with_the_first_beside])
def test_what_more_than_the_place_says_is_paid_by_score(write: Write) -> None:
    assert join_tournament(_trace(write, 3).paths) is None
    assert _bound(write).epsilon() == pytest.approx(SCORES / SCALE, rel=1e-9)


def test_a_score_that_is_not_compared_leaves_the_place_open() -> None:
    def write(own: Sketch, outcomes: tuple[bool, ...]) -> tuple[int, ...]:
        scores = _scores(own)
        own("decide", own("less", scores[0], scores[1]), outcome=outcomes[0])
        own("decide", own("less", scores[2], scores[3]), outcome=outcomes[1])
        return (own.constant(float(outcomes[0])),)

    assert join_tournament(_trace(write, 2).paths) is None


def test_scores_of_whole_noise_may_be_equal_and_are_left_apart() -> None:
    def write(own: Sketch, outcomes: tuple[bool, ...]) -> tuple[int, ...]:
        scores = [own("add", own.total(), own.draw("discrete-laplace", rate=1.0)) for _ in range(2)]
        own("decide", own("less", scores[0], scores[1]), outcome=outcomes[0])
        return (own.constant(float(outcomes[0])),)

    assert join_tournament(_trace(write, 1).paths) is None
