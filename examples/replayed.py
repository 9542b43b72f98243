"""Mechanisms with a flaw and their repaired twins, as `dpaudit replay` tells them apart.

Every twin claims to be epsilon-differentially private (with the delta of its row) for records that
are numbers in [0, 1], where one record is replaced, or added where the two datasets say so. Run it:

    dpaudit replay examples.replayed:mean_unclipped --dataset values.csv --neighbour other.csv \
        --epsilon 1
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

EPSILON = 1.0


@dataclass(frozen=True)
class Twin:
    """A flaw, the mechanism that has it, the one that has not, and a pair that shows it."""

    flaw: str
    broken: Callable[..., Any]
    repaired: Callable[..., Any]
    dataset: Any
    neighbour: Any
    epsilon: float = EPSILON
    delta: float = 0.0


# Sensitivity


def mean_unclipped(data, rng: Generator):
    return data.mean() + rng.laplace(scale=1 / (len(data) * EPSILON))


def mean_clipped(data, rng: Generator):
    return np.clip(data, 0, 1).mean() + rng.laplace(scale=1 / (len(data) * EPSILON))


def sum_clipped_after(data, rng: Generator):
    return np.clip(data.sum(), 0, len(data)) + rng.laplace(scale=1 / EPSILON)


def sum_clipped_before(data, rng: Generator):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON)


def sum_with_scale_of_a_mean(data, rng: Generator):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / (len(data) * EPSILON))


def mean_with_scale_of_a_mean(data, rng: Generator):
    return np.clip(data, 0, 1).sum() / len(data) + rng.laplace(scale=1 / (len(data) * EPSILON))


def histogram_with_half_the_sensitivity(data, rng: Generator):
    counts, _ = np.histogram(data, bins=4, range=(0, 1))
    return counts + rng.laplace(scale=1 / EPSILON, size=4)


def histogram_of_replaced_records(data, rng: Generator):
    counts, _ = np.histogram(data, bins=4, range=(0, 1))
    return counts + rng.laplace(scale=2 / EPSILON, size=4)


def gaussian_for_one_coordinate(data, rng: Generator):
    scale = math.sqrt(2 * math.log(1.25 / 1e-5)) / EPSILON
    moments = [np.clip(data, 0, 1) ** k for k in range(1, 17)]
    return [one.sum() + rng.normal(scale=scale) for one in moments]


def gaussian_for_all_coordinates(data, rng: Generator):
    scale = math.sqrt(16) * math.sqrt(2 * math.log(1.25 / 1e-5)) / EPSILON
    moments = [np.clip(data, 0, 1) ** k for k in range(1, 17)]
    return [one.sum() + rng.normal(scale=scale) for one in moments]


def epsilon_in_place_of_its_inverse(data, rng: Generator):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=EPSILON / 4)


def inverse_of_epsilon(data, rng: Generator):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON)


def variance_from_an_exact_mean(data, rng: Generator):
    values = np.clip(data, 0, 1)
    return ((values - values.mean()) ** 2).sum() / 2 + rng.laplace(scale=1 / (8 * EPSILON))


def variance_from_the_second_moment(data, rng: Generator):
    values = np.clip(data, 0, 1)
    return (values**2).sum() + rng.laplace(scale=1 / EPSILON)


# Budget


def budget_spent_twice(data, rng: Generator):
    values = np.clip(data, 0, 1)
    scale = 1 / EPSILON
    return values.sum() + rng.laplace(scale=scale), (values**2).sum() + rng.laplace(scale=scale)


def budget_shared(data, rng: Generator):
    values = np.clip(data, 0, 1)
    scale = 2 / EPSILON
    return values.sum() + rng.laplace(scale=scale), (values**2).sum() + rng.laplace(scale=scale)


def one_noise_for_two_values(data, rng: Generator):
    values, noise = np.clip(data, 0, 1), rng.laplace(scale=2 / EPSILON)
    return {"sum": values.sum() + noise, "squares": (values**2).sum() + noise}


def one_noise_for_each_value(data, rng: Generator):
    values, noise = np.clip(data, 0, 1), rng.laplace(scale=2 / EPSILON, size=2)
    return {"sum": values.sum() + noise[0], "squares": (values**2).sum() + noise[1]}


def releases_without_end(data, rng: Generator):
    return [np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON) for _ in range(8)]


def one_release_shown_often(data, rng: Generator):
    return [np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON)] * 8


# Values that have no noise


def maximum_beside_a_noisy_sum(data, rng: Generator):
    values = np.clip(data, 0, 1)
    return {"sum": values.sum() + rng.laplace(scale=1 / EPSILON), "largest": values.max()}


def bound_beside_a_noisy_sum(data, rng: Generator):
    values = np.clip(data, 0, 1)
    return {"sum": values.sum() + rng.laplace(scale=1 / EPSILON), "largest": 1.0}


def noise_that_is_not_used(data, rng: Generator):
    total = np.clip(data, 0, 1).sum()
    total + rng.laplace(scale=1 / EPSILON)
    return total


def noise_that_is_used(data, rng: Generator):
    total = np.clip(data, 0, 1).sum()
    total += rng.laplace(scale=1 / EPSILON)
    return total


def labels_of_the_data(data, rng: Generator):
    return {name: data.count(name) + rng.laplace(scale=1 / EPSILON) for name in sorted(set(data))}


def labels_that_are_public(data, rng: Generator):
    return {name: data.count(name) + rng.laplace(scale=1 / EPSILON) for name in ("a", "b", "c")}


def mean_of_nothing(data, rng: Generator):
    chosen = [min(max(one, 0.0), 1.0) for one in data if one >= 0.5]
    mean = sum(chosen) / len(chosen) if chosen else math.nan
    return mean + rng.laplace(scale=1 / EPSILON)


def mean_of_nothing_is_a_constant(data, rng: Generator):
    chosen = [min(max(one, 0.0), 1.0) for one in data if one >= 0.5]
    mean = sum(chosen) / len(chosen) if chosen else 0.5
    return mean + rng.laplace(scale=1 / EPSILON)


def refusal_of_a_record(data, rng: Generator):
    if data.max() > 1:
        raise ValueError("a record is above 1")
    return data.sum() + rng.laplace(scale=1 / EPSILON)


def clipping_of_a_record(data, rng: Generator):
    return np.minimum(data, 1).sum() + rng.laplace(scale=1 / EPSILON)


def as_many_outputs_as_large_values(data, rng: Generator):
    large = int((data > 0.5).sum())
    return rng.laplace(scale=1 / EPSILON, size=large)


def as_many_outputs_as_asked(data, rng: Generator):
    return rng.laplace(scale=1 / EPSILON, size=4)


# Parameters and control flow from data


def bounds_from_the_data(data, rng: Generator):
    low, high = data.min(), data.max()
    return data.sum() + rng.laplace(scale=(high - low) / EPSILON)


def bounds_from_the_caller(data, rng: Generator):
    low, high = 0.0, 1.0
    return np.clip(data, low, high).sum() + rng.laplace(scale=(high - low) / EPSILON)


def answer_clipped_to_the_data(data, rng: Generator):
    noisy = np.clip(data, 0, 1).mean() + rng.laplace(scale=1 / (len(data) * EPSILON))
    return min(max(noisy, data.min()), data.max())


def answer_clipped_to_the_bounds(data, rng: Generator):
    noisy = np.clip(data, 0, 1).mean() + rng.laplace(scale=1 / (len(data) * EPSILON))
    return min(max(noisy, 0.0), 1.0)


def divided_by_a_private_count(data, rng: Generator):
    large = data[data > 0.5]
    return (large.sum() + rng.laplace(scale=1 / EPSILON)) / max(len(large), 1)


def divided_by_a_noisy_count(data, rng: Generator):
    large = data[data > 0.5]
    total = large.sum() + rng.laplace(scale=2 / EPSILON)
    return total / max(len(large) + rng.laplace(scale=2 / EPSILON), 1.0)


def less_noise_for_many(data, rng: Generator):
    scale = 1 / EPSILON if data.mean() > 0.5 else 0.1 / EPSILON
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=10 * scale)


def same_noise_for_all(data, rng: Generator):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON)


def no_noise_for_a_small_sum(data, rng: Generator):
    total = np.clip(data, 0, 1).sum()
    return total + rng.laplace(scale=1 / EPSILON) if total > 3 else 0.0


def small_noisy_sum_is_hidden(data, rng: Generator):
    total = np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON)
    return total if total > 3 else 0.0


def exact_threshold(data, rng: Generator):
    noisy = len(data) + rng.laplace(scale=1 / EPSILON)
    return noisy if data.sum() > 3 else -1.0


def noisy_threshold(data, rng: Generator):
    noisy = np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON)
    return noisy if noisy > 3 else -1.0


# Randomness


def seed_in_the_source(data):
    rng = np.random.default_rng(20_240_229)
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON)


def seed_of_the_system(data):
    rng = np.random.default_rng()
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPSILON)


def seed_used_twice(data, rng: Generator):
    seed, values = int(rng.integers(2**31)), np.clip(data, 0, 1)
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    scale = 2 / EPSILON
    return values.sum() + first.laplace(scale=scale), (values**2).sum() + second.laplace(
        scale=scale
    )


def seeds_of_their_own(data, rng: Generator):
    values, scale = np.clip(data, 0, 1), 2 / EPSILON
    first, second = (np.random.default_rng(int(rng.integers(2**31))) for _ in range(2))
    return values.sum() + first.laplace(scale=scale), (values**2).sum() + second.laplace(
        scale=scale
    )


def global_numpy_unclipped(data):
    return data.sum() + np.random.laplace(0.0, 1 / EPSILON)  # noqa: NPY002


def global_numpy_clipped(data):
    return np.clip(data, 0, 1).sum() + np.random.laplace(0.0, 1 / EPSILON)  # noqa: NPY002


def centre_as_argument_unclipped(data):
    return np.random.RandomState().laplace(data.sum(), 1 / EPSILON)


def centre_as_argument_clipped(data):
    return np.random.RandomState().laplace(np.clip(data, 0, 1).sum(), 1 / EPSILON)


def _laplace_of_uniform(scale: float) -> float:
    u = random.random() - 0.5
    return -scale * math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


def standard_library_unclipped(data):
    return sum(data) + _laplace_of_uniform(1 / EPSILON)


def standard_library_clipped(data):
    return sum(min(max(one, 0.0), 1.0) for one in data) + _laplace_of_uniform(1 / EPSILON)


def gauss_of_the_standard_library_unclipped(data):
    scale = math.sqrt(2 * math.log(1.25 / 1e-5)) / EPSILON
    return random.gauss(float(sum(data)), scale)


def gauss_of_the_standard_library_clipped(data):
    scale = math.sqrt(2 * math.log(1.25 / 1e-5)) / EPSILON
    return random.gauss(float(sum(min(max(one, 0.0), 1.0) for one in data)), scale)


def secrets_unclipped(data):
    system = secrets.SystemRandom()
    return sum(data) + system.expovariate(EPSILON) - system.expovariate(EPSILON)


def secrets_clipped(data):
    system = secrets.SystemRandom()
    total = sum(min(max(one, 0.0), 1.0) for one in data)
    return total + system.expovariate(EPSILON) - system.expovariate(EPSILON)


def answer_told_truly_too_often(data):
    return [int(one > 0.5) if secrets.randbelow(100) < 98 else secrets.randbelow(2) for one in data]


def randomised_response(data):
    return [int(one > 0.5) if secrets.randbelow(100) < 46 else secrets.randbelow(2) for one in data]


def scipy_unclipped(data):
    return stats.laplace.rvs(loc=data.sum(), scale=1 / EPSILON)


def scipy_clipped(data):
    return stats.laplace.rvs(loc=np.clip(data, 0, 1).sum(), scale=1 / EPSILON)


def scipy_frozen_law_for_two(data):
    values, noise = np.clip(data, 0, 1), stats.laplace(scale=1 / EPSILON)
    return np.array([values.sum(), (values**2).sum()]) + noise.rvs(size=2)


def scipy_frozen_law_for_each(data):
    values, noise = np.clip(data, 0, 1), stats.laplace(scale=2 / EPSILON)
    return np.array([values.sum(), (values**2).sum()]) + noise.rvs(size=2)


# After the noise, and choices


def rounded_with_half_the_noise(data, rng: Generator):
    return round(int((data > 0.5).sum()) + rng.laplace(scale=0.5 / EPSILON))


def rounded_with_the_noise(data, rng: Generator):
    return round(int((data > 0.5).sum()) + rng.laplace(scale=1 / EPSILON))


def choice_with_too_little_noise(data, rng: Generator):
    counts, _ = np.histogram(data, bins=2, range=(0, 1))
    return int(np.argmax(counts + rng.gumbel(scale=0.25 / EPSILON, size=2)))


def choice_by_the_exponential_mechanism(data, rng: Generator):
    counts, _ = np.histogram(data, bins=2, range=(0, 1))
    return int(np.argmax(counts + rng.gumbel(scale=2 / EPSILON, size=2)))


def comparison_with_too_little_noise(data, rng: Generator):
    return bool((data > 0.5).sum() + rng.laplace(scale=0.2 / EPSILON) > 3.5)


def comparison_with_noise(data, rng: Generator):
    return bool((data > 0.5).sum() + rng.laplace(scale=1 / EPSILON) > 3.5)


VALUES = np.array([0.2, 0.9, 0.6, 1.0, 0.7, 0.1])
OTHERS = np.array([0.2, 0.9, 0.6, 1.0, 0.7, 0.8])
FEWER_LARGE = np.array([0.2, 0.9, 0.6, 0.0, 0.7, 0.1])
OUTSIDE = np.array([0.2, 0.9, 0.6, 1.0, 0.7, 40.0])
MIDDLE = np.array([0.4, 0.5, 0.6, 0.5, 0.45, 0.5])
FARTHER = np.array([0.4, 0.5, 0.6, 0.5, 0.45, 0.9])
NEAR_THREE = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.6])
BELOW_THREE = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.1])
NAMES, MORE_NAMES = ["a", "a", "b", "a"], ["a", "a", "b", "a", "c"]
FEW_LARGE, NONE_LARGE = [0.1, 0.2, 0.9], [0.1, 0.2, 0.3]
_GAUSSIAN = 1e-5

TWINS = (
    Twin("unclipped", mean_unclipped, mean_clipped, VALUES, OUTSIDE),
    Twin("order of clip and sum", sum_clipped_after, sum_clipped_before, VALUES, OUTSIDE),
    Twin("wrong divisor", sum_with_scale_of_a_mean, mean_with_scale_of_a_mean, VALUES, FEWER_LARGE),
    Twin(
        "histogram of replaced records",
        histogram_with_half_the_sensitivity,
        histogram_of_replaced_records,
        VALUES,
        OTHERS,
    ),
    Twin(
        "coordinates not counted",
        gaussian_for_one_coordinate,
        gaussian_for_all_coordinates,
        VALUES,
        FEWER_LARGE,
        delta=_GAUSSIAN,
    ),
    Twin("scale upside down", epsilon_in_place_of_its_inverse, inverse_of_epsilon, VALUES, OTHERS),
    Twin(
        "exact mean inside",
        variance_from_an_exact_mean,
        variance_from_the_second_moment,
        np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
        np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.5]),
    ),
    Twin("budget spent twice", budget_spent_twice, budget_shared, VALUES, FEWER_LARGE),
    Twin(
        "noise reused for two", one_noise_for_two_values, one_noise_for_each_value, VALUES, OTHERS
    ),
    Twin("a release a call", releases_without_end, one_release_shown_often, VALUES, FEWER_LARGE),
    Twin(
        "maximum of the data",
        maximum_beside_a_noisy_sum,
        bound_beside_a_noisy_sum,
        MIDDLE,
        FARTHER,
    ),
    Twin("noise not used", noise_that_is_not_used, noise_that_is_used, VALUES, OTHERS),
    Twin("labels from data", labels_of_the_data, labels_that_are_public, NAMES, MORE_NAMES),
    Twin("NaN", mean_of_nothing, mean_of_nothing_is_a_constant, FEW_LARGE, NONE_LARGE),
    Twin("exception", refusal_of_a_record, clipping_of_a_record, VALUES, OUTSIDE),
    Twin(
        "size from data", as_many_outputs_as_large_values, as_many_outputs_as_asked, VALUES, OTHERS
    ),
    Twin("bounds from data", bounds_from_the_data, bounds_from_the_caller, MIDDLE, FARTHER),
    Twin(
        "clipped to the data",
        answer_clipped_to_the_data,
        answer_clipped_to_the_bounds,
        MIDDLE,
        FARTHER,
    ),
    Twin("private count", divided_by_a_private_count, divided_by_a_noisy_count, VALUES, OTHERS),
    Twin("scale from data", less_noise_for_many, same_noise_for_all, MIDDLE, FARTHER),
    Twin(
        "branch without noise",
        no_noise_for_a_small_sum,
        small_noisy_sum_is_hidden,
        NEAR_THREE,
        BELOW_THREE,
    ),
    Twin("exact threshold", exact_threshold, noisy_threshold, NEAR_THREE, BELOW_THREE),
    Twin("seed in the source", seed_in_the_source, seed_of_the_system, VALUES, OTHERS),
    Twin("seed used twice", seed_used_twice, seeds_of_their_own, VALUES, OTHERS),
    Twin("global numpy", global_numpy_unclipped, global_numpy_clipped, VALUES, OUTSIDE),
    Twin(
        "centre as argument",
        centre_as_argument_unclipped,
        centre_as_argument_clipped,
        VALUES,
        OUTSIDE,
    ),
    Twin("standard library", standard_library_unclipped, standard_library_clipped, VALUES, OUTSIDE),
    Twin(
        "gauss of the standard library",
        gauss_of_the_standard_library_unclipped,
        gauss_of_the_standard_library_clipped,
        VALUES,
        OUTSIDE,
        delta=_GAUSSIAN,
    ),
    Twin("secrets", secrets_unclipped, secrets_clipped, VALUES, OUTSIDE),
    Twin("randomised response", answer_told_truly_too_often, randomised_response, VALUES, OTHERS),
    Twin("scipy", scipy_unclipped, scipy_clipped, VALUES, OUTSIDE),
    Twin("law of scipy", scipy_frozen_law_for_two, scipy_frozen_law_for_each, VALUES, FEWER_LARGE),
    Twin("rounded", rounded_with_half_the_noise, rounded_with_the_noise, VALUES, OTHERS),
    Twin(
        "choice",
        choice_with_too_little_noise,
        choice_by_the_exponential_mechanism,
        np.array([0.2, 0.3, 0.9, 0.8]),
        np.array([0.2, 0.3, 0.9, 0.1]),
    ),
    Twin(
        "comparison", comparison_with_too_little_noise, comparison_with_noise, VALUES, FEWER_LARGE
    ),
)
