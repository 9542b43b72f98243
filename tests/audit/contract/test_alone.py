"""Outputs that are drawn alone: as many as are needed, and judged as they should be."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from dpaudit.auditing.sampling.sampler import Certifying, Drawer, ProcessGrid
from dpaudit.auditing.sampling.separate_processes import (
    Against,
    _choose_process_counts,
    _compute_rate_p_value,
    _find_process_firsts,
    _SideCounts,
    check_lone_outputs,
    compute_hit_indicators,
    is_claim_refuted,
    is_scarce,
)
from dpaudit.estimation import independence
from dpaudit.estimation.independence import FALSE_ALARM
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.score_events import ScoreEvent, Tally, ThresholdEvent
from dpaudit.execution import Executor
from dpaudit.mechanisms.outputs.unit_draws import project_outputs
from dpaudit.neighbours import REPLACE_RECORD, Pair

ALPHA = 1e-6
ABOVE = ThresholdEvent(True, 0.0, 0.0)
QUICK = SimpleNamespace(
    sparing=False, startup_seconds=0.01, seconds_per_call=0.001, seconds_per_output=1e-6
)


def seen(rate, other, trials=100_000, epsilon=1.0, delta=0.0, above=True):
    """Return what is known after so many outputs a side at these rates."""
    hits = round(rate * trials), round(other * trials)
    tally = Tally(hits if above else hits[::-1], (trials, trials))
    return _SideCounts.of(tally, ThresholdEvent(above, 0.0, 0.0), Against(epsilon, delta, ALPHA))


def happening(hits, trials):
    return (np.arange(trials) < hits).astype(float)


@pytest.mark.parametrize("above", [True, False])
def test_the_favoured_side_is_that_of_the_event(above):
    one = seen(0.9, 0.1, trials=1000, above=above)
    assert (one.hits, one.trials) == ((900, 100), (1000, 1000))
    lower = joint_lower_bound(900, 100, 1000, 1000, delta=0.0, alpha=ALPHA)
    for epsilon, refuted in ((lower * 0.999, True), (lower * 1.001, False)):
        against = Against(epsilon, 0.0, ALPHA)
        assert replace(one, against=against).refutes(one.hits, one.trials) is refuted


@pytest.mark.parametrize(
    ("rate", "other"),
    [
        *((1.0, 0.0), (0.99, 0.01)),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((0.95, 0.02), (0.05, 0.0))),
    ],
)
def test_so_many_as_suffice_refute_nearly_always(rate, other):
    known, rng = seen(rate, other), np.random.default_rng(0)
    sizes = [2**k for k in range(4, 15)]
    enough = next(size for size in sizes if known.suffices(size))
    drawn = rng.binomial(enough, [rate, other], (60, 2))
    counts = set(map(tuple, drawn.tolist()))
    assert all(known.refutes(both, (enough, enough)) for both in counts)
    few = enough // 16
    assert not known.refutes((round(rate * few), round(other * few)), (few, few))


def test_what_suffices_has_to_refute():
    known = seen(1.0, 0.0)
    assert known.check("alone", (happening(128, 128), happening(0, 128))).passed
    flips = known.check("alone", (happening(94, 128), happening(34, 128)))
    assert (flips.passed, flips.threshold) == (False, 1.0)
    assert flips.statistic == joint_lower_bound(94, 34, 128, 128, delta=0.0, alpha=ALPHA)


def test_sides_may_have_different_numbers():
    known = seen(1.0, 0.0)
    assert known.check("alone", (happening(200, 200), happening(0, 128))).passed
    assert not known.check("alone", (happening(200, 200), happening(0, 0))).statistic > 1.0


def test_fewer_have_to_agree():
    known = seen(1.0, 0.0, epsilon=6.0)
    assert not known.suffices(512)
    assert known.check("alone", (happening(512, 512), happening(0, 512))).passed
    other = known.check("alone", (happening(506, 512), happening(6, 512)))
    assert not other.passed
    assert other.statistic < other.threshold


@pytest.mark.parametrize("rates", [(1.0, 0.0), (0.999, 0.001), (0.6, 0.3)])
def test_outputs_of_the_same_law_hardly_ever_disagree(rates):
    rng = np.random.default_rng(1)
    before, now = (rng.binomial(count, rates, (3000, 2)).tolist() for count in (2000, 256))
    against = Against(8.0, 0.0, ALPHA)
    found = [
        _SideCounts((p, q), (2000, 2000), ABOVE, against)._chance((a, b), (256, 256))
        for (p, q), (a, b) in zip(before, now, strict=True)
    ]
    assert np.mean(np.array(found) < 0.05) < 0.05


def test_what_is_scarce():
    trials = (1000, 1000)
    assert not is_scarce(Tally((500, 500), trials))
    assert is_scarce(Tally((500, 99), trials))
    assert is_scarce(Tally((901, 500), trials))
    assert not is_scarce(Tally((900, 100), trials))


def test_the_first_of_each_process():
    assert _find_process_firsts(np.array([3, 3, 5, 5, 5, 9])).tolist() == [
        True,
        False,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("epsilon", "trials", "changes", "sizes"),
    [
        (1.0, 4096, {}, (52, 16)),
        (3.0, 8192, {}, (292, 14)),
        (0.1, 4096, {}, (30, 16)),
        (1.0, 400, {}, (50, 16)),
        (5.0, 8192, {}, (512, 8)),
        (1.0, 4096, {"startup_seconds": 1.0}, (16, 16)),
        (1.0, 4096, {"seconds_per_call": 0.5}, (16, 1)),
        (1.0, 4096, {"startup_seconds": 1.0, "seconds_per_output": 1.0}, (52, 16)),
    ],
)
def test_how_many_are_drawn(epsilon, trials, changes, sizes):
    drawer = SimpleNamespace(**vars(QUICK) | changes)
    assert _choose_process_counts(drawer, seen(1.0, 0.0, epsilon=epsilon), trials) == sizes


def test_no_refutation_is_so_loose_that_a_coin_of_a_process_bears_it_out():
    # A coin that keeps a claim of 1 is told truly with probability .731.
    for alpha, processes in ((0.4, 26), (0.05, 26), (1e-3, 26), (1e-6, 52), (1e-12, 103)):
        known = seen(1.0, 0.0)
        asked = replace(known, against=known.against._replace(alpha=alpha))
        assert _choose_process_counts(QUICK, asked, 4096)[0] == processes
        assert 0.731**processes < min(1e-3, alpha)


def test_scores_are_rounded_as_the_event_was_chosen():
    counted = ScoreEvent(None, ThresholdEvent(True, 0.3, 0.0), 1e-9)
    drawn = Certifying((np.array([0.1 + 0.2, 0.3 - 1e-12]), np.array([0.1, 0.29])), None)
    on_p, on_q = compute_hit_indicators(counted, drawn)
    assert (on_p.tolist(), on_q.tolist()) == ([1.0, 1.0], [0.0, 0.0])
    assert not is_claim_refuted(counted, Tally.of((on_p, on_q)), Against(1.0, 0.0, ALPHA))


@pytest.mark.parametrize(("before", "of"), [(0, 40), (1, 40), (13, 40), (40, 40), (900, 1000)])
@pytest.mark.parametrize(("hits", "trials"), [(0, 16), (1, 16), (9, 16), (16, 16), (200, 256)])
def test_counts_are_as_likely_as_at_the_nearest_rate_that_fits_those_before(
    before, of, hits, trials
):
    small = FALSE_ALARM / 8
    low, high = proportion_confint(before, of, alpha=2 * small, method="beta")
    many, few = binom.sf(hits - 1, trials, high), binom.cdf(hits, trials, low)
    assert _compute_rate_p_value(hits, trials, before, of) == pytest.approx(
        min(many, few), rel=1e-6
    )


def test_a_chance_counts_both_sides_of_both_rates():
    seen = _SideCounts((30, 10), (40, 40), ABOVE, Against(1.0, 0.0, ALPHA))
    tails = [_compute_rate_p_value(50, 64, 30, 40), _compute_rate_p_value(45, 64, 10, 40)]
    assert seen._chance((50, 45), (64, 64)) == pytest.approx(4 * min(tails))
    assert seen._chance((48, 16), (64, 64)) == 1
    swapped = _SideCounts((10, 30), (40, 40), ABOVE, Against(1.0, 0.0, ALPHA))
    assert swapped._chance((45, 50), (64, 64)) == pytest.approx(4 * min(tails))


class _Bet:
    """What else refutes a claim: it takes note of what it is asked about."""

    def __init__(self):
        self.asked = []

    def suffices(self, size):
        return size >= 32

    def check(self, name, scores):
        self.asked.append((name, scores))
        return "the bet's own check"


@pytest.mark.parametrize("bet", [None, _Bet()])
def test_a_bet_that_refutes_is_checked_on_what_is_drawn_alone(bet):
    scores = [np.tile([1.0, 1.0, 1.0, -1.0], 128), np.tile([-1.0, -1.0, -1.0, 1.0], 128)]
    units = np.arange(512)
    outputs = [independence.Outputs(side, units, units // 16) for side in scores]
    drawn = SimpleNamespace(scores=scores, outputs=outputs)
    drawer = SimpleNamespace(**vars(QUICK), timed=False, draw_separately=lambda *_: drawn)
    wanted = ProcessGrid(8, 512)  # more than there is
    counted = ScoreEvent(lambda runs: runs, ABOVE)
    tally = Tally((7500, 2500), (10_000, 10_000))
    found, _, answers = check_lone_outputs(
        drawer, counted, tally, Against(0.5, 0.0, ALPHA, bet), wanted
    )
    assert answers is None
    assert ("the bet's own check" in found) is (bet is not None)
    assert bet is None or bet.asked == [("the divergence of outputs drawn alone", scores)]


def test_outputs_beside_scores_are_those_of_the_same_first_calls():
    pair = Pair(np.zeros(3), np.array([0.0, 0.0, 1.0]), REPLACE_RECORD)
    drawer = Drawer(Laplace(), pair, Executor(), seed=5, unit=1)
    scored, whole = drawer.draw_scores_and_outputs(first_entry, 6, 4, "beside", ProcessGrid(3, 2))
    wanted = np.flatnonzero((np.arange(24) < 12) & (np.arange(24) % 4 < 2))
    for side in (0, 1):
        rows = whole.scores[side]
        assert rows.shape == (6, 3)
        assert np.array_equal(rows[:, 0], scored.scores[side][wanted])
        assert np.array_equal(whole.outputs[side].processes, np.repeat([0, 1, 2], 2))
        assert np.allclose(whole.outputs[side].scores, project_outputs(rows))
    assert abs(np.mean(scored.scores[1]) - np.mean(scored.scores[0])) < 2
    alone = drawer.draw_separately(first_entry, 6, 4, "beside")
    assert np.array_equal(alone.scores[0], scored.scores[0])


class Laplace:
    """A vector with noise."""

    def sample(self, dataset, trials, rng):
        return dataset + rng.laplace(size=(trials, len(dataset)))


def first_entry(outputs):
    return outputs[:, 0]
