"""The 49 statistics: values by a second implementation, sensitivities by brute force."""

import math
from itertools import combinations, pairwise, product
from statistics import fmean, median, quantiles

import numpy as np
import pytest

from benchmarks.dpriv_bench.functions import STATISTICS, VARIANTS

GRID = (0.0, 0.5, 1.0)  # where every one of them is most sensitive
POINT = (0.31, 0.86, 0.55, 0.12, 0.72)
NUMBERS = sorted(STATISTICS)


def steps(x):
    return [a - b for a, b in pairwise(x)]


def weighed(x):
    return [math.exp(one) for one in x]


# One number at a time, from the list of formulas alone.
BY_HAND = {
    1: sum,
    2: math.prod,
    3: max,
    4: min,
    5: fmean,
    6: lambda x: math.hypot(*x),
    7: lambda x: sum(map(abs, steps(x))),
    8: lambda x: sum(abs(a - fmean(x)) for a in x),
    9: lambda x: sum((a - fmean(x)) ** 2 for a in x),
    10: lambda x: sum((1 - a) ** 2 for a in x),
    11: lambda x: sum(a * a for a in x),
    12: lambda x: sum(a**3 for a in x),
    13: lambda x: sum(math.sqrt(a) for a in x),
    14: lambda x: sum(math.log(1 + a) for a in x),
    15: lambda x: sum(weighed(x)),
    16: lambda x: sum(math.sin(math.pi * a) for a in x),
    17: lambda x: sum(math.cos(math.pi * a) for a in x),
    18: lambda x: sum(math.atan(a) for a in x),
    19: lambda x: sum(a - a * a for a in x),
    20: lambda x: sum((a - a * a) ** 2 for a in x),
    21: median,
    22: lambda x: (lambda cut: cut[2] - cut[0])(quantiles(x, n=4, method="inclusive")),
    23: lambda x: sum(1 for a in x if a > 0.5),
    24: lambda x: sum(1 for a in x if 0.2 <= a <= 0.6),
    25: lambda x: sum(a * b for a, b in pairwise(x)),
    26: lambda x: sum(a * b for a, b in combinations(x, 2)),
    27: lambda x: sum(a - b for a, b in zip(x[::2], x[1::2], strict=False)),
    28: lambda x: sum(a * b for a, b in product(x, x)),
    29: lambda x: sum(i * a for i, a in enumerate(x, 1)),
    30: lambda x: 1 if fmean(x) > 0.5 else 0,
    31: lambda x: sum(1 for a in x if a > 0.7),
    32: lambda x: math.prod(1 if a > 0.3 else 0 for a in x),
    33: lambda x: 1 if x[0] > x[1] else 0,
    34: lambda x: sum(1 for a in x if a > 0.5) % 2,
    35: lambda x: math.log(1 + math.hypot(*x) ** 2),
    36: lambda x: math.hypot(*steps([*x, x[0]])),
    37: lambda x: sum(a * a for a in x) / (1 + sum(x)),
    38: lambda x: math.exp(-(math.hypot(*x) ** 2)),
    39: lambda x: sum(1 / (1 + a * a) for a in x),
    40: lambda x: sum((1 + math.tanh(a / 2)) / 2 for a in x),
    41: lambda x: sum(w * a for w, a in zip(weighed(x), x, strict=True)) / sum(weighed(x)),
    42: lambda x: sum(max(a - 0.5, 0.5 - a) for a in x),
    43: lambda x: sum(a * a for a in steps(x)),
    44: sum,
    45: lambda x: sorted(x).index(x[0]) + 1,
    46: lambda x: sum(a for i, a in enumerate(x, 1) if i % 2 == 0),
    47: lambda x: sum(a / i for i, a in enumerate(x, 1)),
    48: lambda x: -sum(a * math.log(a + 2) for a in x),
    49: lambda x: sum(abs(a - i / len(x)) for i, a in enumerate(x, 1)),
}


def largest_move(statistic, records, grid=GRID):
    """Return how far one record moves a statistic at most, over a whole grid of datasets."""
    values = np.array([statistic.query(np.array(x)) for x in product(grid, repeat=records)])
    values = values.reshape((len(grid),) * records)
    return max(np.ptp(values, axis=place).max() for place in range(records))


def test_there_are_49_of_them_with_names_of_their_own():
    assert list(range(1, 50)) == NUMBERS
    assert len({one.name for one in STATISTICS.values()}) == 49
    assert all(one.number == number for number, one in STATISTICS.items())


@pytest.mark.parametrize("records", [4, 5])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_statistic_is_what_its_formula_says(number, records):
    point = POINT[:records]
    expected = BY_HAND[number](list(point))
    assert STATISTICS[number].query(np.array(point)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("number", NUMBERS)
def test_of_five_records_the_claimed_sensitivity_is_the_true_one(number):
    statistic = STATISTICS[number]
    assert largest_move(statistic, 5) == pytest.approx(statistic.claimed.at(5), rel=1e-12)


@pytest.mark.parametrize("number", NUMBERS)
def test_between_the_points_of_the_grid_it_moves_no_further(number):
    statistic, rng = STATISTICS[number], np.random.default_rng(number)
    for _ in range(50):
        x, place, new = rng.random(5), rng.integers(5), rng.random()
        moved = statistic.query(np.where(np.arange(5) == place, new, x)) - statistic.query(x)
        assert abs(moved) <= statistic.claimed.at(5) + 1e-12


@pytest.mark.parametrize("number", NUMBERS)
def test_an_expression_in_words_is_the_one_that_is_computed(number):
    claimed, known = STATISTICS[number].claimed, vars(math)
    for n in (2, 5, 17):
        assert eval(claimed.words, {}, {**known, "n": n}) == pytest.approx(claimed.at(n))


# Where a claimed sensitivity is larger than the true one; everywhere else it is the truth.
SMALLER = {(3, 22): 0.5, (4, 21): 0.5, (4, 22): 0.75, (6, 21): 0.5, (6, 22): 0.75, (7, 22): 0.5}


@pytest.mark.parametrize("records", [3, 4])
@pytest.mark.parametrize("number", NUMBERS)
def test_of_other_numbers_of_records_it_is_the_true_one_or_larger(number, records):
    statistic = STATISTICS[number]
    expected = SMALLER.get((records, number), statistic.claimed.at(records))
    assert largest_move(statistic, records) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("number", "records", "moved"), [(*key[::-1], moved) for key, moved in SMALLER.items()]
)
def test_median_and_quartiles_move_less_for_some_numbers_of_records(number, records, moved):
    # Both are linear between orders of records, so corners are enough.
    assert largest_move(STATISTICS[number], records, (0.0, 1.0)) == moved


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda one: one.statistic.name)
def test_half_of_the_noise_is_enough_for_a_variant(variant):
    grid = GRID if variant.records == 5 else (0.0, 1.0)
    assert largest_move(variant.statistic, variant.records, grid) == variant.moves
    assert variant.moves <= variant.statistic.claimed.at(variant.records) / 2
