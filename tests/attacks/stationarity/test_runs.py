"""How close the attack comes, against laws of chance that are exact."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng
from scipy.stats import binom, kstest

from dpaudit.attacks.stationarity.figures import draw_cosine_figure
from dpaudit.attacks.stationarity.likelihood import (
    INTEGRATED,
    KNOWN,
    PROFILE,
    estimate_likeliest_records,
)
from dpaudit.attacks.stationarity.measures import (
    Closeness,
    chance_above,
    chance_quantile,
    match_estimates_to_records,
    most_by_chance,
    rarely_more,
)
from dpaudit.attacks.stationarity.runs import (
    AVERAGED,
    ESTIMATORS,
    EXACT,
    MEAN,
    UNIFORM,
    Setting,
    build_closeness_table,
    draw_uniform_directions,
    estimate_of,
    measure_estimator_closeness,
    run_of,
    runs_of,
)
from dpaudit.errors import DataError, InvalidArgument

BLIND = (AVERAGED, KNOWN, INTEGRATED)
RUNS = 12
SMALL = Setting(nodes=2, dimension=4, records=10, iterations=6, loss_weight=10.0)


def cosines(close):
    return np.array([each.cosine for each in close])


# The laws of chance


@pytest.mark.parametrize("dimension", [2, 3, 10, 104])
def test_chance_is_the_exact_law_of_a_cosine(dimension):
    for cosine in (-0.9, -0.2, 0.0, 0.3, 0.6, 0.95):
        density = lambda c: (1 - c * c) ** (mpmath.mpf(dimension - 3) / 2)  # noqa: E731
        whole = mpmath.quad(density, [-1, 0, 1])
        exact = mpmath.quad(density, [cosine, (1 + cosine) / 2, 1]) / whole
        assert chance_above(cosine, dimension) == pytest.approx(float(exact), rel=1e-6, abs=1e-30)
    sample = draw_uniform_directions(4000, dimension, default_rng(0))[:, 0]
    law = np.vectorize(lambda c: 1 - chance_above(float(c), dimension))
    assert kstest(sample, law).pvalue > 1e-4


def test_quantiles_invert_the_law():
    for probability in (0.5, 0.05, 1e-6):
        assert chance_above(chance_quantile(probability, 10), 10) == pytest.approx(probability)


def test_the_count_by_chance_is_the_least_one_that_is_rarely_exceeded():
    for runs, dimension in ((20, 10), (20, 3), (100, 10)):
        most = most_by_chance(runs, 0.6, dimension, 1e-9)
        guess = chance_above(0.6, dimension)
        assert binom.sf(most, runs, guess) <= 1e-9 < binom.sf(most - 1, runs, guess)
    assert most_by_chance(3, 0.6, 104, 1e-9) == 1


def test_a_fair_coin_rarely_exceeds_its_count():
    for runs, error in ((20, 1e-6), (100, 1e-6), (150, 1e-3)):
        most = rarely_more(runs, 0.5, error)
        assert binom.sf(most, runs, 0.5) <= error < binom.sf(most - 1, runs, 0.5)
    assert rarely_more(5, 0.5, 1e-6) == 5  # five coins are all heads more often than that


def test_estimates_are_matched_in_the_order_that_suits_them():
    wanted = np.eye(3)[:2]
    close = match_estimates_to_records(np.array([[0.0, 0.5, 0.0], [0.9, 0.1, 0.0]]), wanted)
    assert sorted(round(each.cosine, 3) for each in close) == [0.994, 1.0]
    assert Closeness.of(np.zeros(2), np.ones(2)).cosine == 0.0


# What is required of the attack


# Two nodes and a quarter of the iterations at twice the rate: there is as much to learn.
SIZES = [
    (replace(Setting(), nodes=2, iterations=50, noise_rate=60.0), 8),
    pytest.param((Setting(), 20), marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES, ids=["small", "full"])
def close(request):
    setting, runs = request.param
    return measure_estimator_closeness(setting, ESTIMATORS, runs, 0)


@pytest.mark.slow
def test_the_attack_finds_the_record_with_and_without_the_penalties(close):
    medians = {name: float(np.median(cosines(each))) for name, each in close.items()}
    print({name: round(median, 3) for name, median in medians.items()})
    assert medians[KNOWN] >= 0.8
    assert medians[KNOWN] >= medians[AVERAGED]
    assert medians[PROFILE] >= 0.7
    assert medians[INTEGRATED] >= 0.7


@pytest.mark.slow
def test_guesses_that_see_nothing_are_at_chance(close):
    for name in (MEAN, UNIFORM):
        found = int(np.sum(cosines(close[name]) > 0.6))
        assert found <= most_by_chance(len(close[name]), 0.6, 10, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "size",
    [
        {"nodes": 2, "iterations": 50, "noise_rate": 150.0},
        pytest.param({"iterations": 100, "noise_rate": 100.0}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_scale_is_found_where_the_penalties_are_known(size):
    close = measure_estimator_closeness(Setting(norm=0.6, **size), (AVERAGED, KNOWN), 10, 0)
    errors = {name: np.median([c.norm_error for c in each]) for name, each in close.items()}
    assert errors[KNOWN] < 0.3 < errors[AVERAGED]


@pytest.mark.slow
@pytest.mark.parametrize("blind", [{"participates": False}, {"noise_rate": 1e-3}])
def test_what_reveals_nothing_leaves_the_attack_at_chance(blind):
    for name, each in measure_estimator_closeness(replace(SMALL, **blind), BLIND, RUNS, 1).items():
        law = np.vectorize(lambda c: 1 - chance_above(float(c), 4))
        assert kstest(cosines(each), law).pvalue > 1e-5, name


@pytest.mark.slow
@pytest.mark.parametrize("blind", [{"participates": False}, {"noise_rate": 1e-3}])
def test_what_reveals_nothing_leaves_the_attack_at_chance_at_full_size(blind):
    for name, each in measure_estimator_closeness(
        replace(Setting(), **blind), BLIND, 100, 1
    ).items():
        law = np.vectorize(lambda c: 1 - chance_above(float(c), 10))
        assert kstest(cosines(each), law).pvalue > 1e-5, name


@pytest.mark.slow
def test_the_same_attack_on_the_same_data_is_above_chance():
    for name, each in measure_estimator_closeness(
        replace(SMALL, noise_rate=300.0), BLIND, RUNS, 1
    ).items():
        law = np.vectorize(lambda c: 1 - chance_above(float(c), 4))
        assert kstest(cosines(each), law).pvalue < 1e-9, name


def test_without_noise_two_iterations_are_enough():
    close = measure_estimator_closeness(Setting(noise_rate=None, iterations=2), (EXACT,), 10, 0)
    assert all(1 - each.cosine < 1e-10 and each.norm_error < 1e-6 for each in close[EXACT])


@pytest.mark.slow
@pytest.mark.parametrize("method", [KNOWN, PROFILE])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_two_missing_records_are_found_jointly(method, seed):
    setting = Setting(
        dimension=6, records=20, loss_weight=20.0, iterations=50, noise_rate=1e4, missing=2
    )
    run = run_of(setting, default_rng(seed))
    conditions = run.conditions if method == KNOWN else run.conditions.private()
    found = estimate_likeliest_records(
        conditions, default_rng(0), missing=2, method=method, starts=6
    )
    assert all(
        each.cosine > 0.95 for each in match_estimates_to_records(found.records, run.records)
    )


# The runs, the table and the picture


@pytest.mark.slow
def test_a_run_does_not_depend_on_how_many_there_are_or_who_attacks():
    few = measure_estimator_closeness(SMALL, (KNOWN,), 2, 5)[KNOWN]
    many = measure_estimator_closeness(SMALL, (AVERAGED, KNOWN), 4, 5)[KNOWN]
    assert few == many[:2]
    assert measure_estimator_closeness(SMALL, (KNOWN,), 2, 6)[KNOWN] != few


def test_the_attacker_is_not_told_the_missing_record():
    run, _ = next(iter(runs_of(SMALL, 1, 0)))
    assert len(run.conditions.others) == SMALL.records - 1
    assert not (np.abs(run.conditions.others - run.record) < 1e-9).all(axis=1).any()


@pytest.mark.slow
def test_the_table_and_its_picture(tmp_path):
    rows = build_closeness_table(SMALL, iterations=(2, 6), rates=(0.1, 1000.0), runs=3, seed=0)
    assert len(rows) == 2 * 2 * len(BLIND)
    whole = measure_estimator_closeness(replace(SMALL, noise_rate=1000.0), (KNOWN,), 3, 0)[KNOWN]
    by_key = {(row.noise_rate, row.iterations, row.estimator): row for row in rows}
    assert by_key[1000.0, 6, KNOWN].cosines == tuple(cosines(whole))
    for name in BLIND:
        assert by_key[1000.0, 6, name].median > 0.9
        assert by_key[0.1, 6, name].median < 0.6
    for ending in (".png", ".svg"):
        path = draw_cosine_figure(rows, tmp_path / f"curve{ending}", SMALL.dimension)
        assert path.stat().st_size > 5_000
    with pytest.raises(InvalidArgument, match=r"^path: got curve.txt"):
        draw_cosine_figure(rows, tmp_path / "curve.txt", SMALL.dimension)
    with pytest.raises(DataError, match="cannot be written"):
        draw_cosine_figure(rows, tmp_path / "none" / "curve.png", SMALL.dimension)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"norm": 1.5}, "norm"),
        ({"spread": 0.9}, "spread"),
        ({"growth": 0.9}, "growth"),
        ({"missing": 50}, "missing"),
        ({"nodes": 1}, "nodes"),
    ],
)
def test_bad_input_is_named(changes, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        Setting(**changes)


def test_an_unknown_estimator_is_named():
    run = run_of(SMALL, default_rng(0))
    with pytest.raises(InvalidArgument, match=r"^estimator: got 'best', expected one of: averaged"):
        estimate_of(run, "best", default_rng(0))
