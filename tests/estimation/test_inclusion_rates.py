"""Every check of inclusion, at an error probability that shows: quiet on coins, loud on each side.

At 1e-4, the default, no test of a few hundred tables sees a p-value that is twice too small. The
p-values themselves are looked at here, at 5%.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.estimation import inclusion
from dpaudit.estimation.inclusion import _compute_runs_statistic, check_inclusion, no_drift

ALPHA, TABLES, ROWS = 0.05, 1000, 120
PAIRS = np.repeat(np.arange(ROWS // 2), 2)
RUNS = np.repeat(np.arange(6), ROWS // 6)


def p_values(scores, included, group=None, design="independent"):
    """Return the p-value of every check by its name."""
    group = np.zeros(len(scores), dtype=np.int64) if group is None else group
    return {one.name: one.statistic for one in check_inclusion(scores, included, group, design)}


def fair(rng):
    return rng.random(ROWS) < 0.5


def paired(rng):
    first = rng.random(ROWS // 2) < 0.5
    return np.stack([first, ~first], axis=1).ravel()


def repeated(scores, rng):
    """Return scores of which a third is listed twice, far apart from any grid."""
    return np.concatenate([scores[: 2 * ROWS // 3], scores[: ROWS // 3]])[rng.permutation(ROWS)]


DESIGNS = {
    "independent": (fair, None),
    "runs": (fair, RUNS),
    "pairs": (paired, PAIRS),
}


@pytest.mark.parametrize("design", DESIGNS)
def test_no_check_alarms_oftener_than_it_says(design):
    draw, group = DESIGNS[design]
    rng = np.random.default_rng(7)
    alarms: dict[str, int] = {}
    for _ in range(TABLES):
        included = draw(rng)
        scores = rng.normal(size=ROWS) + 2 * included
        for name, p in p_values(scores, included, group, design).items():
            alarms[name] = alarms.get(name, 0) + (p < ALPHA)
    most = binom.ppf(0.99999, TABLES, ALPHA)
    assert {name: count for name, count in alarms.items() if count > most} == {}


def test_rows_that_are_listed_twice_alarm_at_their_rate():
    rng = np.random.default_rng(8)
    alarms = sum(
        p_values(repeated(rng.normal(size=ROWS), rng), fair(rng))["duplicates"] < ALPHA
        for _ in range(TABLES)
    )
    assert alarms <= binom.ppf(0.99999, TABLES, ALPHA)


def of_rate(rate):
    return lambda rng: rng.random(ROWS) < rate


def drifting(start, end):
    return lambda rng: rng.random(ROWS) < np.linspace(start, end, ROWS)


def sticking(stays):
    def draw(rng):
        changes = rng.random(ROWS) > stays
        return (np.cumsum(changes) + rng.integers(2)) % 2 == 0

    return draw


def in_runs(rate):
    """Return coins of runs that lean to one side each, or are more even than coins are."""

    def draw(rng):
        if rate is None:
            half = np.arange(ROWS // 6) < ROWS // 12
            return np.concatenate([rng.permutation(half) for _ in range(6)])
        lean = np.where(np.arange(6) % 2 == 0, rate, 1 - rate)
        return rng.random(ROWS) < lean[RUNS]

    return draw


@pytest.mark.parametrize(
    ("name", "draw", "group", "design"),
    [
        ("balance", of_rate(0.3), None, "independent"),
        ("balance", of_rate(0.7), None, "independent"),
        ("order", sticking(0.75), None, "independent"),
        ("order", sticking(0.25), None, "independent"),
        ("order", drifting(0.15, 0.85), None, "independent"),
        ("order", drifting(0.85, 0.15), None, "independent"),
        ("runs", in_runs(0.2), RUNS, "runs"),
        ("runs", in_runs(None), RUNS, "runs"),
    ],
)
def test_a_check_sees_what_is_off_on_either_side(name, draw, group, design):
    rng = np.random.default_rng(9)
    seen = 0
    for _ in range(60):
        included = draw(rng)
        seen += p_values(rng.normal(size=ROWS), included, group, design)[name] < ALPHA
    assert seen > 45


def test_a_list_in_falling_order_says_nothing_of_the_coins():
    rng = np.random.default_rng(10)
    scores, included = -np.sort(rng.normal(size=ROWS)), drifting(0.05, 0.95)(rng)
    assert p_values(scores, included)["order"] == 1
    assert p_values(rng.permutation(scores), included)["order"] < ALPHA


@pytest.mark.parametrize("pairs", [14, 15, 19])
def test_few_pairs_that_are_all_in_one_order_are_no_coins(pairs):
    included = np.tile([True, False], pairs)
    group = np.repeat(np.arange(pairs), 2)
    p = p_values(np.arange(2.0 * pairs), included, group, "pairs")["balance"]
    assert p == pytest.approx(2 * 0.5**pairs)


def test_a_coin_that_never_fell_one_way_has_the_p_value_of_all_ways():
    for kept in (False, True):
        p = p_values(np.arange(12.0), np.full(12, kept))["balance"]
        assert p == pytest.approx(2 * 0.5**12)


def test_runs_of_one_canary_say_nothing_of_the_coins_of_a_run():
    rng = np.random.default_rng(11)
    scores, included = rng.normal(size=ROWS), fair(rng)
    assert p_values(scores, included, np.arange(ROWS), "runs")["runs"] == 1
    assert p_values(scores, included, np.zeros(ROWS, dtype=np.int64), "runs")["runs"] == 1
    uneven = np.ones(ROWS, dtype=bool)
    assert p_values(scores, uneven, np.zeros(ROWS, dtype=np.int64), "runs")["runs"] == 1


def test_runs_of_one_canary_are_balanced_together():
    rng = np.random.default_rng(16)
    included = np.arange(ROWS) % 10 > 0
    found = p_values(rng.normal(size=ROWS), rng.permutation(included), np.arange(ROWS), "runs")
    assert found["runs"] == 1
    assert found["balance"] < 1e-9


def test_the_order_of_coins_is_looked_at_within_each_run():
    rng = np.random.default_rng(17)
    scores, turns = rng.normal(size=ROWS), np.arange(ROWS) % 2
    alike = np.repeat(fair(rng)[: ROWS // 2], 2)  # of either run, what the other has
    assert p_values(scores, alike, turns, "runs")["order"] > 1e-3
    assert p_values(scores, alike)["order"] < 1e-9
    every_other = np.arange(ROWS) // 2 % 2 == turns  # in either run, and never four alike
    assert p_values(scores, every_other, turns, "runs")["order"] < 1e-9


def test_runs_of_coins_have_the_moments_of_all_orders():
    counts = []
    for places in combinations(range(9), 4):
        coins = np.isin(np.arange(9), places)
        counts.append(1 + np.count_nonzero(coins[1:] != coins[:-1]))
    excess, variance = _compute_runs_statistic(coins)
    assert counts[-1] - excess == pytest.approx(np.mean(counts))
    assert variance == pytest.approx(np.var(counts))


@pytest.mark.parametrize("side", [True, False])
def test_a_level_that_drifts_on_one_side_alone_is_seen(side):
    rng = np.random.default_rng(12)
    included = fair(rng)
    scores = rng.normal(size=ROWS) + np.where(included == side, np.linspace(0, 4, ROWS), 0)
    assert not no_drift(scores, included)[0]
    assert no_drift(rng.permutation(scores), included)[0]


def test_levels_that_stand_drift_no_oftener_than_it_says(monkeypatch):
    monkeypatch.setattr(inclusion, "FALSE_ALARM", ALPHA)
    rng = np.random.default_rng(13)
    alarms = sum(not no_drift(rng.normal(size=ROWS), fair(rng))[0] for _ in range(TABLES))
    least, most = binom.ppf([0.001, 0.9999], TABLES, ALPHA)
    assert least / 2 < alarms <= most
