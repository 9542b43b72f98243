"""Which parts of outputs vary, on each side alone, and which of them an event reads."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.auditing.sampling.constant_parts import (
    CallOutputs,
    _find_unvarying_columns,
    _is_read,
    _is_varying_within_process,
    _nearly_one,
)
from dpaudit.estimation.score_events import ScoreEvent, ThresholdEvent

OWNERS = np.repeat(np.arange(4), 5)  # four processes, five answers each
ONE = np.full(20, 7.0)
BY_PROCESS = OWNERS + 1.0


def with_others(values, *places):
    """Return values of which those in some places are others."""
    found = values.copy()
    found[list(places)] += 0.5
    return found


@pytest.mark.parametrize(
    ("values", "varies"),
    [
        (ONE, False),
        (BY_PROCESS, False),
        (with_others(ONE, 0, 5, 10, 15), False),  # the first of each process
        (with_others(ONE, 2), False),  # two changes: a glitch
        (with_others(ONE, 2, 4), True),  # three of them
        (with_others(ONE, 4, 9, 14), True),
        (with_others(ONE, 4, 9), False),
        (ONE * (1 + 1e-13 * np.arange(20)), False),  # last bits
        (np.random.default_rng(1).normal(size=20), True),
    ],
)
def test_answers_vary_where_a_process_gives_others_after_its_first(values, varies):
    assert _is_varying_within_process(values, OWNERS) is varies
    assert _is_varying_within_process(-values, OWNERS) is varies


@pytest.mark.parametrize(
    ("places", "one"), [((), True), ((3, 4), True), ((3, 4, 5), False), ((0, 9, 19), False)]
)
def test_all_but_a_few_answers_are_one(places, one):
    assert _nearly_one(with_others(ONE, *places)) is one


def counted(column, *, above=True, threshold=7.2):
    return ScoreEvent(lambda rows: rows[:, column], ThresholdEvent(above, threshold, 0.0))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("above", [True, False])
def test_an_event_reads_the_column_that_changes_it_on_either_side(side, above):
    rows = [np.stack([ONE, ONE], axis=1), np.stack([ONE + 1, ONE + 1], axis=1)]
    if side:
        rows = rows[::-1]
    found = CallOutputs((rows[0], rows[1]), (OWNERS, OWNERS))
    assert _is_read(found, counted(0, above=above), 0, by_score=False)
    assert not _is_read(found, counted(0, above=above), 1, by_score=False)
    far = counted(0, above=above, threshold=100.0)
    assert not _is_read(found, far, 0, by_score=False)
    assert _is_read(found, far, 0, by_score=True)
    assert not _is_read(found, far, 1, by_score=True)


def test_a_column_that_is_read_on_one_side_alone_is_read():
    """The other column decides there, whatever this one is."""

    def score(rows):
        return np.where(rows[:, 1] > 0, rows[:, 0], 0.0)

    open_, closed = np.ones(20), np.zeros(20)
    one = ScoreEvent(score, ThresholdEvent(True, 7.2, 0.0))
    rows = np.stack([ONE, open_], axis=1), np.stack([ONE + 1, closed], axis=1)
    for sides in (rows, rows[::-1]):
        assert _is_read(CallOutputs(sides, (OWNERS, OWNERS)), one, 0, by_score=False)


NOISE = np.random.default_rng(2).normal(size=20)


@pytest.mark.parametrize(
    ("values", "other", "kept", "same"),
    [
        (ONE, ONE + 1, [], [0, 1]),
        (BY_PROCESS + 7, ONE, [0], [0, 1]),
        (ONE, BY_PROCESS + 7, [0], [0, 1]),
        (ONE + 1, NOISE, [], [0]),
        (NOISE, ONE + 1, [], [1]),
        (NOISE + 7, NOISE[::-1] + 7, [], []),
        (ONE, ONE, [], []),
    ],
)
def test_what_never_varies_is_kept_by_processes_or_one_on_a_side(values, other, kept, same):
    rows = values[:, None], other[:, None]
    found = CallOutputs(rows, (OWNERS, OWNERS))
    assert _find_unvarying_columns(found, counted(0), by_score=True) == (
        kept,
        [(n, 0) for n in same],
    )


def test_each_side_has_the_processes_of_its_own_answers():
    """Of one side every process gave one answer, so that none of its answers can be compared."""
    rows = NOISE[:, None], NOISE[::-1][:, None]
    alone = np.arange(20)
    for owners, side in (((alone, OWNERS), 0), ((OWNERS, alone), 1)):
        _, same = _find_unvarying_columns(CallOutputs(rows, owners), counted(0), by_score=True)
        assert same == [(side, 0)]
