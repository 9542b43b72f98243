"""Tests of independence: rarely wrong on independent outputs, never blind to the usual slips."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kruskal, spearmanr

from dpaudit.estimation import independence
from dpaudit.estimation.independence import (
    FALSE_ALARM,
    Outputs,
    check_independence,
    compute_crowding_p_value,
    compute_group_ties_p_value,
    compute_heterogeneity_p_value,
    compute_normal_ranks,
    compute_repeated_calls_p_value,
    compute_serial_correlation_p_value,
    compute_trend_p_value,
    compute_variety,
)
from dpaudit.mechanisms.outputs.recurrence import variance_of_ties
from dpaudit.mechanisms.outputs.unit_draws import choose_compared_trials

LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "coin": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "geometric": lambda rng, n: rng.geometric(0.3, n).astype(float),
    "one in a hundred": lambda rng, n: (rng.random(n) < 0.01).astype(float),
    "one in a thousand": lambda rng, n: (rng.random(n) < 0.001) * rng.normal(size=n),
    "rounded": lambda rng, n: np.round(300 * rng.normal(size=n)),
    "always the same": lambda rng, n: np.ones(n),
}
CALLS, SIZE, PROCESSES = 64, 64, 8
UNITS = np.repeat(np.arange(CALLS), SIZE)
OF_PROCESS = UNITS * PROCESSES // CALLS


def outputs(scores):
    return Outputs(np.asarray(scores, dtype=float), UNITS, OF_PROCESS)


def independent(law, seed):
    """Return the checks of independent outputs, with an event that half of them are in."""
    rng = np.random.default_rng(seed)
    sides = [outputs(LAWS[law](rng, len(UNITS))) for _ in range(2)]
    hits = tuple((side.scores > np.median(sides[0].scores)).astype(float) for side in sides)
    return check_independence(*sides, hits)


def failing(on_p, on_q=None, seed=0):
    rng = np.random.default_rng(seed + 100)
    other = rng.normal(size=len(UNITS)) if on_q is None else on_q
    return [one.name for one in check_independence(outputs(on_p), outputs(other)) if not one.passed]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("audits", [60, pytest.param(4000, marks=pytest.mark.slow)])
def test_p_values_of_independent_outputs_are_none_too_small(law, audits):
    found = np.array([[one.statistic for one in independent(law, s)] for s in range(audits)])
    for level in (0.05, 0.01, 0.001):
        small = np.count_nonzero(found < level)
        expected = found.size * level
        assert small <= 1.3 * expected + 5 * np.sqrt(expected) + 3


@pytest.mark.slow
def test_good_mechanisms_are_hardly_ever_withheld():
    audits = 3000
    withheld = sum(
        not all(one.passed for one in independent(law, seed))
        for law in LAWS
        for seed in range(audits)
    )
    assert withheld <= 3 * FALSE_ALARM * audits * len(LAWS)


def test_the_share_of_each_check_adds_up():
    found = independent("normal", 0)
    assert sum(one.threshold for one in found) == pytest.approx(FALSE_ALARM)
    assert len({one.name for one in found}) == len(found)


@pytest.mark.parametrize("law", ["normal", "geometric", "coin"])
def test_heterogeneity_is_the_test_of_kruskal_and_wallis(law):
    scores = LAWS[law](np.random.default_rng(1), len(UNITS))
    expected = kruskal(*np.split(scores, CALLS)).pvalue
    assert compute_heterogeneity_p_value(compute_normal_ranks(scores), UNITS) == pytest.approx(
        expected, rel=1e-9
    )


def test_ranks_with_ties_correlate_as_spearmans():
    one, other = (LAWS["geometric"](np.random.default_rng(s), 500) for s in (1, 2))
    assert np.mean(compute_normal_ranks(one) * compute_normal_ranks(other)) == pytest.approx(
        spearmanr(one, other).statistic
    )
    assert compute_variety(compute_normal_ranks(np.array([1.0, 1.0, 2.0, 3.0]))) == 0.5


def test_differences_between_processes_are_not_differences_within():
    rng = np.random.default_rng(2)
    z = compute_normal_ranks(
        rng.normal(size=len(UNITS)) + 3 * rng.normal(size=PROCESSES)[OF_PROCESS]
    )
    assert compute_heterogeneity_p_value(z, OF_PROCESS) < 1e-100
    assert compute_heterogeneity_p_value(z, UNITS, OF_PROCESS) > 1e-3
    z = compute_normal_ranks(rng.normal(size=len(UNITS)) + rng.normal(size=CALLS)[UNITS])
    assert compute_heterogeneity_p_value(z, UNITS, OF_PROCESS) < 1e-30


@pytest.mark.parametrize("groups", [UNITS, OF_PROCESS])
def test_equal_outputs_meet_as_often_as_in_a_random_order(groups):
    rng, z = np.random.default_rng(3), np.random.default_rng(4).integers(0, 900, len(UNITS))
    sizes, counts = np.bincount(groups), np.unique(z, return_counts=True)[1]
    pairs = lambda of: np.sum(of * (of - 1)) / 2  # noqa: E731
    cells = (rng.permutation(z) * len(sizes) + groups for _ in range(1500))
    found = [pairs(np.unique(one, return_counts=True)[1]) for one in cells]
    share = pairs(sizes) / pairs(len(z))
    assert np.mean(found) == pytest.approx(pairs(counts) * share, rel=0.01)
    spread = variance_of_ties(counts, sizes, share)
    assert np.var(found) == pytest.approx(spread, rel=0.12)


def test_rare_outputs_are_compared_in_groups_that_have_some():
    rare = np.zeros(len(UNITS))
    rare[:40] = 1.0  # all of them in the first call
    assert compute_heterogeneity_p_value(compute_normal_ranks(rare), UNITS) < 1e-5
    alone = np.zeros(len(UNITS))
    alone[5] = 1.0
    assert compute_heterogeneity_p_value(compute_normal_ranks(alone), UNITS) == 1.0
    assert (
        compute_serial_correlation_p_value(compute_normal_ranks(alone), UNITS, 1)
        == compute_trend_p_value(compute_normal_ranks(alone), OF_PROCESS)
        == 1.0
    )


NOISE = np.random.default_rng(5).normal(size=len(UNITS))
CALL_NOISE = np.random.default_rng(6).normal(size=CALLS)
ORDER = np.arange(len(UNITS)) % (len(UNITS) // PROCESSES)
# Every call has each of its numbers twice, in any order; every process a list that it repeats.
TWICE = NOISE.reshape(-1, 2, SIZE // 2)[:, :1].repeat(2, axis=1).reshape(CALLS, SIZE)
SHUFFLED = np.random.default_rng(7).permuted(TWICE, axis=1).ravel()
POOLS = (
    np.random.default_rng(8)
    .permuted(
        np.concatenate([NOISE.reshape(8, -1)[:, :400], NOISE.reshape(8, -1)[:, :112]], axis=1),
        axis=1,
    )
    .ravel()
)
CHAIN = np.convolve(NOISE, [1, 1], "same")


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        (CALL_NOISE[UNITS], "outputs in one call and in others, dataset"),
        (NOISE + CALL_NOISE[UNITS], "outputs in one call and in others, dataset"),
        (NOISE + 0.5 * CALL_NOISE[OF_PROCESS], "outputs in one process and in others, dataset"),
        (np.tile(NOISE[: 8 * SIZE], 8), "outputs of whole calls, dataset"),
        (CHAIN, "outputs and the next ones, dataset"),
        (np.repeat(NOISE[: len(NOISE) // 2], 2) * np.tile([1, -1], len(NOISE) // 2), "outputs and"),
        (np.tile(NOISE.reshape(-1, 2, SIZE // 2)[:, :1], (1, 2, 1)).ravel(), "outputs half a call"),
        (SHUFFLED, "outputs that are equal, in one call, dataset"),
        (POOLS, "outputs that are equal, in one process, dataset"),
        (np.isin(np.arange(len(NOISE)), range(640, 656)), "outputs crowded in one call, dataset"),
        (np.isin(np.arange(len(NOISE)), range(0, 512, 20)), "outputs crowded in one process"),
        (NOISE + np.tile(NOISE[:SIZE], CALLS), "outputs at one place of a call, dataset"),
        (NOISE + ORDER / len(ORDER) * 8, "outputs in early and in late calls, dataset"),
    ],
    ids=[
        *("call", "part", "process", "again", "chain", "pairs", "halves", "twice", "pool"),
        *("rare", "rarer", "place", "drift"),
    ],
)
def test_every_dependence_is_seen_by_the_check_that_is_for_it(scores, name):
    assert any(one.startswith(name) for one in failing(scores))


def of_single_calls(scores):
    """Return outputs of which each is a call, as a program that is run for every one gives them."""
    return Outputs(scores, np.arange(len(scores)), np.repeat(np.arange(4), len(scores) // 4))


def failing_of_next(scores, other):
    sides = of_single_calls(scores), of_single_calls(other)
    return [
        one for one in check_independence(*sides) if not one.passed and "in succession" in one.name
    ]


def test_noise_that_is_seeded_by_a_clock_is_that_of_the_call_before():
    rng = np.random.default_rng(2)
    good, seconds = rng.laplace(size=100), np.repeat(rng.laplace(size=25), 4)
    assert failing_of_next(seconds, good)
    assert not any(failing_of_next(*rng.laplace(size=(2, 100))) for _ in range(40))
    assert not any(failing_of_next(*(rng.random((2, 100)) < 0.3) * 1.0) for _ in range(40))


LONG = 4 * SIZE
ONCE = np.random.default_rng(7).normal(size=(CALLS, LONG))


@pytest.mark.parametrize(
    ("calls", "name"),
    [
        (ONCE, None),
        (np.repeat(ONCE[:, :1], LONG, axis=1), "outputs in one call and in others, dataset"),
        (np.tile(ONCE[:, : LONG // 2], 2), "outputs half a call apart, dataset"),
        (np.repeat(ONCE[:, ::2], 2, axis=1) + ONCE, "outputs and the next ones, dataset"),
        (np.tile(ONCE[:8], (8, 1)), "outputs of whole calls, dataset"),
        (ONCE + np.arange(CALLS)[:, None] % 8 / 8, "outputs in early and in late calls, dataset"),
    ],
    ids=["none", "call", "halves", "pairs", "again", "drift"],
)
def test_of_long_calls_a_part_shows_as_much(calls, name):
    part = calls[:, choose_compared_trials(LONG, SIZE)].ravel()
    assert name in (failing(part) or [None])


@pytest.mark.parametrize("sign", [1, -1])
def test_noise_that_the_sides_share_is_seen(sign):
    assert failing(NOISE, sign * NOISE + 1) == ["outputs of the two datasets"]


def test_calls_of_few_values_may_repeat_one_another():
    assert compute_repeated_calls_p_value(outputs(np.ones(len(UNITS)))) == 1.0
    few = np.random.default_rng(0).integers(0, 2, 4 * CALLS).astype(float)
    short = Outputs(few, np.repeat(np.arange(CALLS), 4), np.zeros(4 * CALLS, dtype=int))
    assert compute_repeated_calls_p_value(short) == 1.0
    assert compute_repeated_calls_p_value(outputs(np.tile(NOISE[:SIZE], CALLS))) < 1e-100


def test_long_audits_are_looked_at_in_part(monkeypatch):
    monkeypatch.setattr(independence, "COMPARED", 1024)
    part = outputs(NOISE).first(1024)
    assert len(part.scores) == 1024
    assert np.bincount(part.processes).tolist() == [128] * PROCESSES
    assert all(one.passed for one in check_independence(outputs(NOISE), outputs(-NOISE[::-1])))


@pytest.mark.parametrize(("together", "apart"), [("process", "call"), ("call", "process")])
def test_rare_outputs_that_come_together_are_seen_where_they_do(together, apart):
    """Few of a thousand: one in each call of one process, or five in each of four calls."""
    units, processes = np.repeat(np.arange(64), 16), np.repeat(np.arange(8), 128)
    scores = np.zeros(1024)
    if together == "process":
        scores[np.arange(8) * 16] = 1.0
    else:
        for process in range(4):
            scores[process * 256 + np.arange(5)] = 1.0
    found = {one.name: one.p for one in independence._of_side(Outputs(scores, units, processes))}
    assert found[f"crowded in one {together}"] < 1e-3 < found[f"crowded in one {apart}"]


@pytest.mark.parametrize("seed", range(20))
def test_every_p_value_is_a_probability(seed):
    """Where groups are all alike, too, and sums of squares differ by rounding alone."""
    rng = np.random.default_rng(seed)
    for _ in range(150):
        size, each, count = (int(rng.integers(*ends)) for ends in ((4, 400), (1, 200), (1, 6)))
        z = compute_normal_ranks(np.arange(size) % int(rng.integers(1, 6)))
        units = np.arange(size) // min(each, size)
        processes = np.minimum(units * count // (units[-1] + 1), count - 1)
        found = [
            compute_heterogeneity_p_value(z, units),
            compute_heterogeneity_p_value(z, units, processes),
        ]
        found += [
            compute_crowding_p_value(z, units),
            compute_group_ties_p_value(z, units),
            compute_serial_correlation_p_value(z, units, 1),
            compute_trend_p_value(z, processes),
        ]
        assert all(0 <= one <= 1 for one in found), found


def test_whole_calls_are_looked_at_of_each_process():
    units, processes = np.repeat(np.arange(20), 10), np.repeat([0, 1], 100)
    part = Outputs(np.arange(200.0), units, processes).first(70)
    assert np.bincount(part.units)[[0, 2, 3, 10, 12]].tolist() == [10, 10, 0, 10, 10]
    assert len(part.scores) == 60
    one_call = Outputs(np.arange(200.0), processes, processes).first(70)
    assert one_call.scores.tolist() == [*range(35), *range(100, 135)]


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (np.nan, -np.nan), (0.0, 0.0)])
def test_calls_repeat_one_another_whatever_the_signs_of_zeros(one, other):
    call = np.where(np.arange(SIZE) % 2 == 0, one, NOISE[:SIZE])
    again = np.where(np.arange(SIZE) % 2 == 0, other, NOISE[:SIZE])
    both = Outputs(np.concatenate([call, again]), UNITS[: 2 * SIZE], np.zeros(2 * SIZE, dtype=int))
    assert compute_repeated_calls_p_value(both) < 1e-9
