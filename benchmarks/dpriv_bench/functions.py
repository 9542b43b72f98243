"""The 49 statistics of DPriv-Bench's category 1, and the sensitivity that each is said to have.

Which statistics they are, and what is claimed of each, is taken from the function bank of
DPriv-Bench (Wang and others, arXiv 2604.15851); the code is ours. Data are n numbers in [0, 1], and
neighbours differ in one of them, which is replaced.

A statistic with a parameter in its definition is several. Its parameter is set here so that the
claim is attained, and the formula names it: of a sum of squares about mu, say, the claim is the
truth for mu = 0 and 1 alone.

Symbols: ``x`` the records, x_1 to x_n, shape ``(n,)``; ``n`` their number; ``m`` their mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Query = Callable[[Any], float]


class Sensitivity(NamedTuple):
    """A claimed sensitivity as an expression of n: in Python for the reader, and as a function."""

    words: str
    at: Callable[[int], float]


class Statistic(NamedTuple):
    """A function of records, with its number in DPriv-Bench and its claimed sensitivity."""

    number: int
    name: str
    formula: str
    claimed: Sensitivity
    query: Query


STATISTICS: dict[int, Statistic] = {}

SIXTEENTH = Sensitivity("1 / 16", lambda n: 1 / 16)
QUARTER = Sensitivity("1 / 4", lambda n: 1 / 4)
HALF = Sensitivity("1 / 2", lambda n: 1 / 2)
ONE = Sensitivity("1", lambda n: 1.0)
TWO = Sensitivity("2", lambda n: 2.0)
LOG_TWO = Sensitivity("log(2)", lambda n: math.log(2))
OTHERS = Sensitivity("n - 1", lambda n: n - 1.0)
ALL = Sensitivity("n", float)


def statistic(
    number: int, formula: str, words: str | Sensitivity, at: Callable[[int], float] | None = None
) -> Callable[[Query], Query]:
    """Return a decorator that enters a function into the table of statistics."""
    claimed = words if isinstance(words, Sensitivity) else Sensitivity(words, at or _missing)

    def enter(query: Query) -> Query:
        name = query.__name__.replace("_", " ")
        STATISTICS[number] = Statistic(number, name, formula, claimed, query)
        return query

    return enter


def _missing(n: int) -> float:
    raise NotImplementedError("a sensitivity in words alone")


# Sums and means


@statistic(1, "sum of x_i", ONE)
def total(x):
    return x.sum()


@statistic(5, "sum of x_i / n", "1 / n", lambda n: 1 / n)
def mean(x):
    return x.mean()


@statistic(10, "sum of (x_i - mu)^2, mu = 1", ONE)
def squares_about_a_point(x):
    return ((x - 1) ** 2).sum()


@statistic(11, "sum of x_i^2", ONE)
def squares(x):
    return (x**2).sum()


@statistic(12, "sum of x_i^3", ONE)
def cubes(x):
    return (x**3).sum()


@statistic(13, "sum of sqrt(x_i)", ONE)
def roots(x):
    return np.sqrt(x).sum()


@statistic(14, "sum of log(1 + x_i)", LOG_TWO)
def logarithms(x):
    return np.log1p(x).sum()


@statistic(15, "sum of exp(x_i)", "e - 1", lambda n: math.e - 1)
def exponentials(x):
    return np.exp(x).sum()


@statistic(16, "sum of sin(pi x_i)", ONE)
def sines(x):
    return np.sin(np.pi * x).sum()


@statistic(17, "sum of cos(pi x_i)", TWO)
def cosines(x):
    return np.cos(np.pi * x).sum()


@statistic(18, "sum of arctan(x_i)", "pi / 4", lambda n: math.pi / 4)
def arctangents(x):
    return np.arctan(x).sum()


@statistic(19, "sum of x_i (1 - x_i)", QUARTER)
def bernoulli_variances(x):
    return (x * (1 - x)).sum()


@statistic(20, "sum of x_i^2 (1 - x_i)^2", SIXTEENTH)
def squared_bernoulli_variances(x):
    return ((x * (1 - x)) ** 2).sum()


@statistic(39, "sum of 1 / (1 + x_i^2)", HALF)
def reciprocals(x):
    return (1 / (1 + x**2)).sum()


@statistic(
    40,
    "sum of 1 / (1 + exp(-x_i))",
    "(1 - exp(-1)) / (2 * (1 + exp(-1)))",
    lambda n: (1 - math.exp(-1)) / (2 * (1 + math.exp(-1))),
)
def logistics(x):
    return (1 / (1 + np.exp(-x))).sum()


@statistic(42, "sum of |x_i - 1/2|", HALF)
def distances_from_the_middle(x):
    return np.abs(x - 0.5).sum()


@statistic(48, "-sum of x_i log(x_i + d), d = 2", "log(3)", lambda n: math.log(3))
def shifted_entropy(x):
    return -(x * np.log(x + 2)).sum()


# Sums in which places differ


@statistic(27, "sum of x_(2i-1) - x_(2i), i = 1 to floor(n/2)", ONE)
def differences_of_pairs(x):
    pairs = len(x) // 2
    return (x[0 : 2 * pairs : 2] - x[1 : 2 * pairs : 2]).sum()


@statistic(29, "sum of i x_i", ALL)
def weights_by_place(x):
    return (np.arange(1, len(x) + 1) * x).sum()


@statistic(44, "sum of x_p(i), p = the reversal", ONE)
def total_of_a_permutation(x):
    return x[::-1].sum()


@statistic(46, "sum of x_i, i even", ONE)
def even_places(x):
    return x[1::2].sum()


@statistic(47, "sum of x_i / i", ONE)
def harmonic_weights(x):
    return (x / np.arange(1, len(x) + 1)).sum()


@statistic(49, "sum of |x_i - i/n|", ONE)
def distances_from_a_ramp(x):
    return np.abs(x - np.arange(1, len(x) + 1) / len(x)).sum()


# Neighbouring places and pairs of records


@statistic(7, "sum of |x_i - x_(i+1)|, i < n", TWO)
def total_variation(x):
    return np.abs(np.diff(x)).sum()


@statistic(25, "sum of x_i x_(i+1), i < n", TWO)
def products_of_neighbours(x):
    return (x[:-1] * x[1:]).sum()


@statistic(26, "sum of x_i x_j, i < j", OTHERS)
def products_of_pairs(x):
    return (x.sum() ** 2 - (x**2).sum()) / 2


@statistic(36, "sqrt(sum of (x_i - x_(i+1))^2), x_(n+1) = x_1", "sqrt(2)", lambda n: math.sqrt(2))
def length_of_a_cycle(x):
    return np.sqrt(((x - np.roll(x, -1)) ** 2).sum())


@statistic(43, "sum of (x_i - x_(i+1))^2, i < n", TWO)
def squared_steps(x):
    return (np.diff(x) ** 2).sum()


# Spread about the mean


@statistic(8, "sum of |x_i - m|", "2 * (n - 1) / n", lambda n: 2 * (n - 1) / n)
def absolute_deviations(x):
    return np.abs(x - x.mean()).sum()


@statistic(9, "sum of (x_i - m)^2", "(n - 1) / n", lambda n: (n - 1) / n)
def squared_deviations(x):
    return ((x - x.mean()) ** 2).sum()


# Functions of all records at once


@statistic(2, "product of x_i", ONE)
def product(x):
    return x.prod()


@statistic(6, "sqrt(sum of x_i^2)", ONE)
def euclidean_norm(x):
    return np.sqrt((x**2).sum())


@statistic(28, "(sum of x_i)^2", "2 * n - 1", lambda n: 2 * n - 1.0)
def squared_total(x):
    return x.sum() ** 2


@statistic(35, "log(1 + sum of x_i^2)", LOG_TWO)
def logarithm_of_squares(x):
    return np.log1p((x**2).sum())


@statistic(37, "sum of x_i^2 / (1 + sum of x_i)", HALF)
def squares_over_total(x):
    return (x**2).sum() / (1 + x.sum())


@statistic(38, "exp(-sum of x_i^2)", "1 - exp(-1)", lambda n: 1 - math.exp(-1))
def exponential_of_squares(x):
    return np.exp(-(x**2).sum())


@statistic(
    41,
    "sum of exp(x_i) x_i / sum of exp(x_i)",
    "e / (e + n - 1)",
    lambda n: math.e / (math.e + n - 1),
)
def softmax_mean(x):
    return (np.exp(x) * x).sum() / np.exp(x).sum()


# Order


@statistic(3, "max of x_i", ONE)
def largest(x):
    return x.max()


@statistic(4, "min of x_i", ONE)
def smallest(x):
    return x.min()


@statistic(21, "median of x_i, half way between the two in the middle for n even", ONE)
def median(x):
    return np.median(x)


@statistic(22, "Q3 - Q1, quantiles interpolated linearly between records", ONE)
def interquartile_range(x):
    return np.quantile(x, 0.75) - np.quantile(x, 0.25)


@statistic(45, "rank of x_k, the number of smaller records and one, k = 1", OTHERS)
def rank_of_the_first(x):
    return 1.0 + (x < x[0]).sum()


# Counts and conditions


@statistic(23, "number of x_i > 0.5", ONE)
def count_above_a_half(x):
    return float((x > 0.5).sum())


@statistic(24, "number of x_i in [a, b], a = 0.2, b = 0.6", ONE)
def count_in_an_interval(x):
    return float(((x >= 0.2) & (x <= 0.6)).sum())


@statistic(31, "sum of 1[x_i > 0.7]", ONE)
def count_above_seven_tenths(x):
    return float((x > 0.7).sum())


@statistic(30, "1[sum of x_i > n/2]", ONE)
def majority(x):
    return float(x.sum() > len(x) / 2)


@statistic(32, "product of 1[x_i > t], t = 0.3", ONE)
def all_above(x):
    return float((x > 0.3).all())


@statistic(33, "1[x_1 > x_2]", ONE)
def first_above_second(x):
    return float(x[0] > x[1])


@statistic(34, "number of x_i > 0.5, modulo 2", ONE)
def parity_of_a_count(x):
    return float((x > 0.5).sum() % 2)


# Where the claim is larger than the truth


class Variant(NamedTuple):
    """A case of a statistic in which one record moves it by half of the claim or less.

    There the claim labelled false is true: half the noise of the claimed sensitivity is enough.

    Attributes
    ----------
    moves
        The true sensitivity.
    why
        What it depends on.
    """

    statistic: Statistic
    records: int
    moves: float
    why: str


def _squares_about_the_middle(x):
    return ((x - 0.5) ** 2).sum()


VARIANTS = (
    Variant(STATISTICS[21], 6, 0.5, "n is even: the median is half way between two records"),
    Variant(
        STATISTICS[22],
        7,
        0.5,
        "quartiles interpolated between records move by 1 where n - 1 is a multiple of 4, by 1/2 "
        "where n - 3 is, else by 3/4",
    ),
    Variant(
        Statistic(
            10,
            "squares about the middle",
            "sum of (x_i - mu)^2, mu = 1/2",
            ONE,
            _squares_about_the_middle,
        ),
        5,
        0.25,
        "the sensitivity is the larger of mu^2 and (1 - mu)^2, and 1 for mu = 0 and 1 alone",
    ),
)
