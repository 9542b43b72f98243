"""Checks of inclusion: quiet on coins, whatever the scores are, and loud on what is none."""

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.estimation import inclusion
from dpaudit.estimation.inclusion import FALSE_ALARM, check_inclusion, no_drift

ROWS = 1000


@pytest.fixture
def rng():
    return np.random.default_rng(20260119)


def failed(scores, included, group=None, design="independent"):
    group = np.zeros(len(scores), dtype=np.int64) if group is None else group
    return {one.name for one in check_inclusion(scores, included, group, design) if not one.passed}


@pytest.fixture
def coins(rng):
    return rng.random(ROWS) < 0.5


@pytest.fixture
def scores(rng, coins):
    return rng.normal(size=ROWS) + 3 * coins


@pytest.mark.parametrize(
    "shown",
    [
        np.asarray,
        lambda s: s.astype(np.float32).astype(float),
        lambda s: s.astype(np.float16).astype(float),
        lambda s: np.round(s, 2),
        lambda s: np.round(s, 4),
        np.round,
        lambda s: np.clip(s, -1, 1),
        np.sign,
        lambda s: 0 * s,
    ],
)
def test_coins_pass_however_scores_are_written(shown, scores, coins):
    assert failed(shown(scores), coins) == set()


def test_false_alarms_are_rare(rng):
    found = 0
    for _ in range(300):
        coins = rng.random(300) < 0.5
        found += bool(failed(rng.normal(size=300) + 2 * coins, coins))
    assert binom.sf(found - 1, 300, 3 * FALSE_ALARM) > 1e-6


@pytest.mark.parametrize("order", ["included", "score"])
def test_sorted_rows_say_nothing_of_order(order, scores, coins):
    by = np.argsort(coins if order == "included" else scores, kind="stable")
    assert failed(scores[by], coins[by]) == set()


def test_other_designs_are_told_from_coins(rng, scores, coins):
    few = rng.random(ROWS) < 0.3
    assert failed(scores, few) == {"balance"}
    assert failed(scores, few, design="fixed-size") == set()
    assert failed(scores, np.arange(ROWS) % 2 == 0) == {"order"}
    assert failed(scores, np.arange(ROWS) // 10 % 2 == 0) == {"order"}
    drifting = rng.random(ROWS) < np.linspace(0.3, 0.7, ROWS)
    assert "order" in failed(scores, drifting)


@pytest.mark.parametrize("copies", [30, 200, 500])
def test_a_canary_that_is_listed_twice_is_found(copies, scores, coins, rng):
    rows = np.concatenate([np.arange(ROWS), np.arange(copies)])
    rows = rng.permutation(rows)
    assert failed(scores[rows], coins[rows]) == {"duplicates"}
    small = scores.astype(np.float16).astype(float)
    assert failed(small[rows], coins[rows]) <= {"duplicates"}


def test_equal_canaries_with_coins_of_their_own_pass(rng):
    coins = rng.random(ROWS) < 0.5
    assert failed(np.repeat(rng.normal(size=ROWS // 2), 2), coins) == set()


def test_one_coin_a_run_is_found(rng):
    runs = np.repeat(np.arange(20), 50)
    one_a_run = (rng.permutation(20) < 10)[runs]
    assert "runs" in failed(rng.normal(size=ROWS), one_a_run, runs, "runs")
    half = np.concatenate([rng.permutation(50) < 25 for _ in range(20)])
    assert "runs" in failed(rng.normal(size=ROWS), half, runs, "runs")
    assert failed(rng.normal(size=ROWS), rng.random(ROWS) < 0.5, runs, "runs") == set()


def test_the_place_in_a_pair_is_a_coin(rng):
    pairs = np.repeat(np.arange(500), 2)
    first = rng.random(500) < 0.5
    fair = np.stack([first, ~first], axis=1).ravel()
    assert failed(rng.normal(size=ROWS), fair, pairs, "pairs") == set()
    first = rng.random(500) < 0.7
    unfair = np.stack([first, ~first], axis=1).ravel()
    assert failed(rng.normal(size=ROWS), unfair, pairs, "pairs") == {"balance"}
    assert failed(rng.normal(size=ROWS), pairs % 1 == np.arange(ROWS) % 2, pairs, "pairs") == set()


def test_a_drift_of_scores_is_seen(scores, coins):
    assert no_drift(scores, coins)[0]
    assert not no_drift(scores + np.linspace(0, 3, ROWS), coins)[0]


def test_rows_that_are_sorted_in_every_run_say_nothing_of_order(scores, coins):
    runs = np.repeat(np.arange(10), ROWS // 10)
    by = np.lexsort((scores, runs))
    assert failed(scores[by], coins[by], runs, "runs") == set()
    assert "order" in failed(scores[by], coins[by])


def test_ties_where_scores_end_are_no_duplicates(monkeypatch):
    monkeypatch.setattr(inclusion, "FALSE_ALARM", 2.0)  # the coins of all ties are compared
    coins = np.ones(6, dtype=bool)
    for scores, p in (([0, 0, 1, 2, 3, 3], 1.0), ([0, 1, 1, 2, 2, 3], 0.25)):
        found = inclusion._check_equal_scores(np.array(scores, dtype=float), coins)
        assert found.statistic == p
