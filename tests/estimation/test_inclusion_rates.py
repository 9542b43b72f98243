"""Every check of inclusion, at an error probability that shows: quiet on coins, loud on each side.

At 1e-4, the default, no test of a few hundred tables sees a p-value that is twice too small. The
p-values themselves are looked at here, at 5%.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.estimation.inclusion import checks

ALPHA, TABLES, ROWS = 0.05, 1000, 120
PAIRS = np.repeat(np.arange(ROWS // 2), 2)
RUNS = np.repeat(np.arange(6), ROWS // 6)


def p_values(scores, included, group=None, design="independent"):
    """Return the p-value of every check by its name."""
    group = np.zeros(len(scores), dtype=np.int64) if group is None else group
    return {one.name: one.statistic for one in checks(scores, included, group, design)}


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
