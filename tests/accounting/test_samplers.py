"""Batches as they are made: laws above and below, against quadrature, draws and broken twins."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom

from dpaudit.accounting.events import (
    RELATIONS,
    BatchedGaussian,
    GaussianRelease,
    PoissonSubsampledGaussian,
    ShuffledGaussian,
)
from dpaudit.accounting.grid.numerical import (
    _bound_grid_epsilon,
    _bound_on_grids,
    bound_attained_epsilon,
    numerical_delta,
    numerical_epsilon,
)
from dpaudit.accounting.pairs.composition import Composition
from dpaudit.accounting.pairs.mixtures import (
    FixedSizeReplacement,
    Mixture,
    MixturePair,
    ShuffledMaximum,
    make_fixed_size_pair,
    make_fixed_size_redraw_pair,
    make_replacement_draw_pair,
    poisson_replaced,
)
from dpaudit.accounting.pairs.ratios import RatioPair, mirror_ratio_laws, round_cells_to_ratios
from dpaudit.accounting.series.inversion import bound_epsilon_by_inversion
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon
from dpaudit.errors import ConvergenceError, InvalidArgument

LINE = np.linspace(-30, 30, 200_001)
STEP = LINE[1] - LINE[0]
EPSILONS = (0.0, 0.3, 1.0, 2.5)


def density(weights, means, sigma):
    parts = zip(weights, means, strict=True)
    terms = (w * np.exp(-(((LINE - m) / sigma) ** 2) / 2) for w, m in parts)
    return sum(terms) / (sigma * math.sqrt(2 * math.pi))


def hockey_stick(p, q, epsilon):
    """Return the divergence on a fine line: an oracle that knows no pair."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * STEP)


def batched(sampling, relation, count=1, batch=30, noise=0.8):
    return BatchedGaussian(
        records=100,
        batch_size=batch,
        noise_multiplier=noise,
        sampling=sampling,
        relation=relation,
        count=count,
    )


def worst(epsilon, draws):
    """Return the largest divergence over random terms of either order: no more than is proved."""
    found = (hockey_stick(*pair, epsilon) for p, q in draws for pair in ((p, q), (q, p)))
    return max(found)


def terms(rng, relation):
    u, w = rng.choice([-1, 1, rng.uniform(-1, 1)], 2)
    v = {"zero-out-record": 0.0, "replace-record": rng.choice([-1, 1, rng.uniform(-1, 1)])}
    return u, v.get(relation), w


def neighbours_in_poisson(rng, relation, sigma, ratio):
    u, v, _ = terms(rng, relation)
    shift = 0.0 if v is None else v
    weights = (1 - ratio, ratio)
    return density(weights, (0, u), sigma), density(weights, (0, shift), sigma)


def neighbours_in_fixed(rng, relation, sigma, ratio):
    u, v, w = terms(rng, relation)
    weights = (1 - ratio, ratio)
    second = density((1.0,), (0,), sigma) if v is None else density(weights, (0, v - w), sigma)
    return density(weights, (0, u - w), sigma), second


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("sampling", "drawn"), [("poisson", neighbours_in_poisson), ("fixed", neighbours_in_fixed)]
)
def test_no_neighbours_lose_more_and_some_lose_it(sampling, drawn, relation):
    rng = np.random.default_rng(5)
    some = [drawn(rng, relation, 0.8, 0.3) for _ in range(40)]
    for epsilon in EPSILONS:
        bracket = numerical_delta(batched(sampling, relation), epsilon)
        most = worst(epsilon, some)
        assert most <= bracket.upper * (1 + 1e-6)
        assert most >= bracket.lower * (1 - 1e-4)


def test_terms_of_half_the_size_are_not_enough():
    """Negative control: what a replaced record in a fixed batch moves is 2, not 1."""
    rng = np.random.default_rng(5)
    some = [neighbours_in_fixed(rng, "replace-record", 0.8, 0.3) for _ in range(40)]
    halved = numerical_delta(batched("fixed", "replace-record", noise=1.6), 1.0)
    assert worst(1.0, some) > 1.5 * halved.upper


def test_draws_with_replacement_count_every_time():
    """A batch of 2 out of 4: drawn 0, 1 or 2 times; another record's place is taken each time."""
    weights = (9 / 16, 6 / 16, 1 / 16)
    p, q = density(weights, (0, 2, 4), 1.5), density((1.0,), (0,), 1.5)
    event = {"records": 4, "batch_size": 2, "noise_multiplier": 1.5}
    for epsilon in EPSILONS:
        exact = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        for relation in RELATIONS:
            one = BatchedGaussian(sampling="fixed-replacement", relation=relation, **event)
            bracket = numerical_delta(one, epsilon)
            if relation == "add-remove-record":
                assert bracket.lower <= exact * (1 + 1e-9)
                assert bracket.upper - bracket.lower <= 1e-5
            assert exact <= bracket.upper + 1e-9


@pytest.mark.parametrize("count", [1, 50])
def test_a_poisson_pair_in_cells_is_the_one_in_closed_form(count):
    closed = PoissonSubsampledGaussian(sampling_ratio=0.02, noise_multiplier=0.7, count=count)
    exact = bound_epsilon_by_inversion(closed, 1e-6)
    mixture = Mixture((0.98, 0.02), (0.0, 1 / 0.7))
    above, below = (
        _bound_on_grids(
            Composition(((RatioPair(MixturePair(mixture, upper=upper)), count),)),
            partial(_bound_grid_epsilon, delta=1e-6),
            None,
        )
        for upper in (True, False)
    )
    assert below.lower <= exact.upper
    assert exact.lower <= above.upper
    assert below.lower == pytest.approx(above.upper, rel=1e-3)


@pytest.mark.parametrize(
    "source", [make_fixed_size_pair(10, 3, 1.7), make_fixed_size_redraw_pair(10, 3, 1.7)], ids=repr
)
def test_a_mirrored_law_is_one_law_both_ways(source):
    law = source.law(1e-20)
    q = np.exp(law.log_masses)
    finite = np.isfinite(law.log_ratios)
    p = np.exp(law.log_masses[finite] + law.log_ratios[finite])
    assert q.sum() == pytest.approx(1, abs=1e-9)
    assert p.sum() + law.infinite == pytest.approx(1, abs=1e-9)
    for a in (0.3, 1.0, 2.0):
        forward = np.maximum(np.exp(law.log_ratios) - a, 0) @ q + law.infinite
        back = np.maximum(1 - a * np.exp(law.log_ratios), 0) @ q
        assert forward == pytest.approx(back, abs=1e-9)


def test_a_law_above_keeps_both_masses_and_spreads():
    edges = np.log([0.1, 0.5, 1.0, 4.0])
    q = np.array([0.3, 0.4, 0.2])
    p = q * np.array([0.2, 0.9, 3.0])
    law = round_cells_to_ratios(np.log(p), np.log(q), np.append(edges[:-1], np.inf), upper=True)
    masses, ratios = np.exp(law.log_masses), np.exp(law.log_ratios)
    assert masses.sum() == pytest.approx(q.sum())
    assert masses @ ratios + law.infinite == pytest.approx(p.sum())
    for a in (0.05, 0.3, 0.9, 2.0, 10.0):
        spread = np.maximum(ratios - a, 0) @ masses + law.infinite
        assert spread >= np.maximum(p / q - a, 0) @ q - 1e-12


@pytest.mark.parametrize("weights", [(0.9,), (0.5, 0.2), (0.6, 0.4), (1.0,), (1e-3,)])
def test_weights_that_are_missing_are_an_infinite_ratio_and_no_ratio(weights):
    """Where more was drawn than is looked at, one law has outputs that the other has not."""
    one = round_cells_to_ratios(np.log([0.25]), np.log([0.1]), np.log([1.0, 2.5]), upper=False)
    law = mirror_ratio_laws([(weight, replace(one, infinite=0.03)) for weight in weights])
    missing = 1 - 0.97 * sum(weights)
    assert law.infinite == pytest.approx(missing, abs=1e-15)
    assert law.vanishing == pytest.approx(missing, abs=1e-15)
    q = np.exp(law.log_masses)
    finite = np.isfinite(law.log_ratios)
    assert q.sum() == pytest.approx(1)
    assert q[finite] @ np.exp(law.log_ratios[finite]) + law.infinite == pytest.approx(1)


def test_a_record_that_is_drawn_more_often_than_is_looked_at_is_told():
    source = FixedSizeReplacement((0.5, 0.3), 1.0, lost=0.2)
    law = source.law(1e-20)
    assert law.infinite == pytest.approx(0.4, abs=1e-9)  # of those that are drawn at all
    assert law.vanishing == pytest.approx(0.4, abs=1e-9)
    assert make_fixed_size_pair(10, 5, 1.0).law(1e-20).infinite < 1e-9


def test_what_is_left_of_a_mirrored_law_is_at_one():
    nothing = mirror_ratio_laws(
        [(1.0, round_cells_to_ratios(np.log([0.1]), np.log([0.05]), np.log([1, 3]), upper=False))]
    )
    assert np.exp(nothing.log_masses[nothing.log_ratios == 0]).sum() == pytest.approx(0.85)


# Shuffled epochs


@pytest.mark.parametrize("relation", ["zero-out-record", "replace-record"])
def test_the_largest_output_is_as_drawn(relation):
    """Draws of whole epochs, whose other terms are all -1, against the law of the largest."""
    rng, batches, sigma, epochs = np.random.default_rng(3), 20, 0.7, 40_000
    means = {True: 2.0, False: 1.0 if relation == "zero-out-record" else 0.0}
    noise = sigma * rng.standard_normal((2, epochs, batches))
    at = rng.integers(batches, size=(2, epochs, 1))
    law = ShuffledMaximum(batches, 2 / sigma, means[False] / sigma)
    edges = np.linspace(-10, 15, 400)
    for side, mean in enumerate(means.values()):
        sums = noise[side]
        np.put_along_axis(sums, at[side], np.take_along_axis(sums, at[side], 1) + mean, 1)
        largest = np.sort(sums.max(axis=1)) / sigma
        below = np.exp(law._log_masses(edges, mean / sigma)).cumsum()[:-1]
        drawn = np.searchsorted(largest, edges) / epochs
        assert np.abs(drawn - below).max() < 2.5 / math.sqrt(epochs)


def exact_of_two(sigma, first, second, epsilon):
    """Return the divergence of two batches by quadrature over the plane."""
    y = np.linspace(-8 * sigma, 2 + 8 * sigma, 1501)

    def law(mean):
        one, none = (np.exp(-(((y - m) / sigma) ** 2) / 2) for m in (mean, 0.0))
        return (np.outer(one, none) + np.outer(none, one)) / (4 * math.pi * sigma**2)

    gap = np.maximum(law(first) - math.exp(epsilon) * law(second), 0)
    return float(gap.sum() * (y[1] - y[0]) ** 2)


@pytest.mark.parametrize(("relation", "other"), [("zero-out-record", 1), ("replace-record", 0)])
def test_two_batches_lose_no_less_than_is_certified(relation, other):
    sigma = 0.9
    event = ShuffledGaussian(batches=2, noise_multiplier=sigma, relation=relation)
    for epsilon in (0.5, 2.0, 4.0):
        lower = numerical_delta(event, epsilon).lower
        exact = exact_of_two(sigma, 2, other, epsilon)
        assert 0.5 * exact <= lower <= exact * (1 + 1e-6)


def test_the_event_bound_of_one_threshold_is_no_better():
    """The bound of Chua et al. 2024, with the best threshold, is below that of the whole law."""
    sigma, batches, epsilon = 0.6, 100, 7.0
    c = np.linspace(0, 12, 4001) / sigma
    rest = (batches - 1) * np.log(ndtr(c))
    p, q = (-np.expm1(np.log(ndtr(c - mean / sigma)) + rest) for mean in (2, 1))
    single = float((p - math.exp(epsilon) * q).max())
    event = ShuffledGaussian(batches=batches, noise_multiplier=sigma)
    bracket = numerical_delta(event, epsilon)
    assert 0 < single <= bracket.lower * (1 + 1e-3)
    assert bracket.lower <= bracket.upper


def test_shuffling_loses_more_than_poisson_claims():
    """At sigma = .6 and batches of 1% an epoch loses twice what is claimed."""
    poisson = PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=0.6, count=100)
    shuffled = ShuffledGaussian(batches=100, noise_multiplier=0.6)
    claimed = bound_epsilon_by_inversion(poisson, 1e-5).upper
    assert claimed < 3.82
    assert 8.0 < bound_attained_epsilon(shuffled, 1e-5) < 8.0037
    whole = GaussianRelease(sensitivity=1.0, noise_scale=0.6)
    assert (
        bound_epsilon_by_inversion(shuffled, 1e-5).upper
        == bound_epsilon_by_inversion(whole, 1e-5).upper
    )


def test_a_shift_that_is_too_large_contradicts_the_upper_end(monkeypatch):
    """Negative control: with a record that moves its batch by 3, the ends change places."""
    honest = ShuffledMaximum._log_masses

    def broken(self, edges, mean):
        return honest(self, edges, 1.5 * mean if mean == self.shift else mean)

    monkeypatch.setattr(ShuffledMaximum, "_log_masses", broken)
    with pytest.raises(ConvergenceError, match="expected them in order"):
        numerical_epsilon(ShuffledGaussian(batches=101, noise_multiplier=0.6), 1e-5)


# Composition and refusals


@pytest.mark.parametrize("sampling", ["poisson", "fixed", "fixed-replacement"])
def test_epsilon_grows_with_steps_and_falls_with_noise(sampling):
    def upper(count, noise):
        return numerical_epsilon(batched(sampling, "replace-record", count, 3, noise), 1e-5).upper

    assert upper(1, 2.0) < upper(10, 2.0) < upper(10, 1.5)


@pytest.mark.parametrize("noise", [0.05, 1e6])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sampling", ["poisson", "fixed", "fixed-replacement"])
def test_extreme_noise_has_ordered_ends(sampling, relation, noise):
    bracket = numerical_epsilon(batched(sampling, relation, 2, 3, noise), 1e-5)
    assert 0 <= bracket.lower <= bracket.upper


def test_a_record_that_is_drawn_very_often_is_refused():
    event = batched("fixed-replacement", "add-remove-record", batch=100, noise=0.05)
    with pytest.raises(ConvergenceError, match="the noise is too small"):
        numerical_epsilon(event, 1e-5)


def test_whole_batches_are_not_sampled():
    event = batched("fixed", "replace-record", batch=100)
    whole = GaussianRelease(sensitivity=2.0, noise_scale=0.8)
    assert bound_epsilon_by_inversion(event, 1e-5) == bound_epsilon_by_inversion(whole, 1e-5)
    assert poisson_replaced(1.0, 1.0).q.means == (-1.0,)


def normal_epsilon(mu, delta):
    """Return the epsilon of N(0, 1) against N(mu, 1) at a delta."""

    def lost(epsilon):
        one, other = (ndtr(end - epsilon / mu) for end in (mu / 2, -mu / 2))
        return one - math.exp(epsilon) * other - delta

    return brentq(lost, 0, 60, xtol=1e-12)


@pytest.mark.parametrize(
    ("sampling", "relation", "records", "batch", "moves"),
    [
        ("fixed", "zero-out-record", 100, 100, (1.0, 1.0)),
        ("fixed", "replace-record", 100, 100, (2.0, 2.0)),
        ("fixed", "add-remove-record", 100, 100, (1.0, 2.0)),
        ("fixed-replacement", "add-remove-record", 1, 1, (1.0, 2.0)),
        ("fixed-replacement", "zero-out-record", 1, 1, (1.0, 2.0)),
        ("fixed-replacement", "replace-record", 1, 1, (2.0, 2.0)),
    ],
)
def test_where_nobodys_place_is_taken_a_record_moves_a_sum_by_its_own_term(
    sampling, relation, records, batch, moves
):
    event = BatchedGaussian(
        records=records, batch_size=batch, noise_multiplier=2.5, sampling=sampling,
        relation=relation,
    )  # fmt: skip
    lower, upper = (normal_epsilon(moved / 2.5, 0.01) for moved in moves)
    found = bound_proved_epsilon(event, 0.01)
    assert found.lower <= lower * (1 + 1e-9)
    assert upper <= found.upper * (1 + 1e-9)
    assert (found.lower, found.upper) == pytest.approx((lower, upper), rel=1e-5)
    assert bound_attained_epsilon(event, 0.01) == pytest.approx(lower, rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 101}, "batch_size: got 101, expected at most the number of records, 100"),
        ({"sampling": "shuffle"}, "sampling: got 'shuffle'"),
        ({"relation": "cousins"}, "relation: got 'cousins'"),
        ({"noise_multiplier": 0.0}, "noise_multiplier: got 0.0"),
    ],
)
def test_what_is_no_batch_is_refused(changes, message):
    given = {"records": 100, "batch_size": 10, "noise_multiplier": 1.0} | changes
    with pytest.raises(InvalidArgument, match=message):
        BatchedGaussian(**given)


def test_a_shuffled_epoch_has_batches_of_one_size():
    with pytest.raises(InvalidArgument, match="relation: got 'add-remove-record'"):
        ShuffledGaussian(batches=3, noise_multiplier=1.0, relation="add-remove-record")


@pytest.mark.parametrize(("records", "batch"), [(1, 1), (1, 5), (3, 5)])
def test_a_record_that_is_drawn_k_times_moves_the_sum_k_times_as_far(records, batch):
    """The only record there is, is drawn every time: what never happens moves nothing else."""
    drawn = make_replacement_draw_pair(records, batch, 0.25).p
    chances = binom.pmf(range(batch + 1), batch, 1 / records)
    assert dict(zip(drawn.means, drawn.weights, strict=True)) == pytest.approx(
        {0.25 * k: chance for k, chance in enumerate(chances) if chance}
    )
