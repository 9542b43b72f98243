"""Pairs and laws of ratios by hand: both sides, both directions, and the ends of each."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpaudit.accounting.discrete_events import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    GaussianMixtureRelease,
    RandomizedResponse,
)
from dpaudit.accounting.events import (
    ADD_REMOVE,
    REPLACE,
    ZERO_OUT,
    AllocatedGaussian,
    ApproximateRelease,
    BatchedGaussian,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    Sequence,
    ShuffledGaussian,
)
from dpaudit.accounting.pairs import closed_forms
from dpaudit.accounting.pairs.allocation import AllocationRatio
from dpaudit.accounting.pairs.closed_forms import (
    GaussianPair,
    LaplacePair,
    RandomizedResponsePair,
    SubsampledGaussianPair,
)
from dpaudit.accounting.pairs.composition import (
    Bracket,
    Composition,
    _build_attained_pair,
    _build_dominating_pair,
)
from dpaudit.accounting.pairs.finite import (
    BoundedRatioPair,
    DiscreteGaussianRatios,
    DiscreteLaplaceRatios,
    ResponseRatios,
    SampledLaplaceRatios,
)
from dpaudit.accounting.pairs.mixtures import (
    ORIGIN,
    Mixture,
    MixturePair,
    ShuffledMaximum,
    _compute_draw_probabilities,
    make_fixed_size_pair,
    make_fixed_size_redraw_pair,
    make_replacement_draw_pair,
    make_sampled_mixture_pair,
    poisson_replaced,
)
from dpaudit.accounting.pairs.pair import compute_tilted_log_moments, farthest_moment
from dpaudit.accounting.pairs.ratios import (
    LEAST_TAIL,
    RatioPair,
    Ratios,
    mirror_ratio_laws,
    round_cells_to_ratios,
)
from dpaudit.errors import InvalidArgument

LEVELS = (1.0, 1.05, 1.5, 3.0, 8.0)


def divergence(law: Ratios, level: float, *, removal: bool) -> float:
    """Return the hockey-stick divergence of a law, of P from Q or of Q from P."""
    q, ratio = np.exp(law.log_masses), np.exp(law.log_ratios)
    if removal:
        return float(q @ np.maximum(ratio - level, 0)) + law.infinite
    return float(q @ np.maximum(1 - level * ratio, 0))


@dataclass(frozen=True)
class Stated:
    """Three ratios with a slack."""

    upper: bool

    def law(self, tail: float) -> Ratios:
        return Ratios(np.log([0.4, 0.5, 0.1]), np.array([-np.inf, 0.0, 1.5]), 0.25, 0.01)


@pytest.mark.parametrize("upper", [True, False])
def test_losses_give_way_to_the_side_on_which_the_law_is(upper):
    side = 1 if upper else -1
    pair = RatioPair(Stated(upper))
    removal, addition = pair._atoms(), pair.reversed()._atoms()
    np.testing.assert_allclose(removal.losses, [0.01 * side, 1.5 + 0.01 * side])
    np.testing.assert_allclose(np.exp(removal.log_masses), [0.5, 0.1 * math.exp(1.5)])
    np.testing.assert_allclose(addition.losses, [-1.5 + 0.01 * side, 0.01 * side])
    np.testing.assert_allclose(np.exp(addition.log_masses), [0.1, 0.5])


def test_what_has_no_finite_loss_is_lost_above_and_dropped_below():
    above, below = RatioPair(Stated(True)), RatioPair(Stated(False))
    assert above.truncation_mass == 0.25
    assert above.reversed().truncation_mass == pytest.approx(0.4)
    assert below.truncation_mass == below.reversed().truncation_mass == 0.0
    assert not above.symmetric


@pytest.mark.parametrize("tail", [0.9, 0.01, 1e-3, 1e-19, 1e-21, 1e-40, 1e-41, 1e-300, 0.0])
def test_tails_are_no_heavier_than_they_are_asked_to_be(tail):
    found = RatioPair(Stated(True)).trimmed(tail).tail
    assert found <= max(tail, LEAST_TAIL) * (1 + 1e-9)
    assert found >= 1e-20 * max(tail, LEAST_TAIL) * (1 - 1e-9) / 100


def cells(upper: bool) -> Ratios:
    p, q = np.array([0.05, 0.25, 0.7]), np.array([0.5, 0.3, 0.2])
    edges = np.log([1e-300, 0.5, 1.5, 9.0])
    edges[0], edges[-1] = -np.inf, np.inf
    return round_cells_to_ratios(np.log(p), np.log(q), edges, upper=upper)


def test_cells_keep_the_masses_of_both_laws():
    for law in (cells(True), cells(False)):
        q, ratio = np.exp(law.log_masses), np.exp(law.log_ratios)
        assert math.isclose(q.sum(), 1.0)
        assert math.isclose(q @ ratio + law.infinite, 1.0)


def test_cells_become_their_means_below_and_their_ends_above():
    below, above = cells(False), cells(True)
    np.testing.assert_allclose(np.exp(below.log_ratios), [0.1, 0.25 / 0.3, 3.5])
    ends, masses = np.exp(above.log_ratios), np.exp(above.log_masses)
    np.testing.assert_allclose(ends, [0, 0.5, 0.5, 1.5, 1.5])
    np.testing.assert_allclose(masses, [0.4, 0.1, 0.2, 0.1, 0.2])
    assert math.isclose(above.infinite, 0.7 - 0.2 * 1.5)
    assert below.infinite == 0


@pytest.mark.parametrize("removal", [True, False])
def test_the_law_above_is_further_apart_at_every_level(removal):
    for level in LEVELS:
        low, high = (divergence(cells(up), level, removal=removal) for up in (False, True))
        assert low <= high + 1e-15


def test_a_mirrored_law_is_its_own_reverse_and_has_the_profile_it_was_made_of():
    one = Ratios(np.log([0.1, 0.05]), np.log([1.5, 4.0]), 0.02)
    other = Ratios(np.log([0.08]), np.log([2.0]))
    found = mirror_ratio_laws([(0.25, one), (0.7, other)])
    lost = 0.25 * 0.02 + 0.05
    assert math.isclose(found.infinite, lost)
    assert math.isclose(np.exp(found.log_masses).sum(), 1.0)
    assert math.isclose(np.exp(found.log_masses) @ np.exp(found.log_ratios), 1 - lost)
    assert math.isclose(found.vanishing, lost)
    for level in LEVELS:
        halves = (divergence(law, level, removal=True) for law in (one, other))
        exact = 0.05 + sum(w * h for w, h in zip((0.25, 0.7), halves, strict=True))
        assert math.isclose(divergence(found, level, removal=True), exact)
        assert math.isclose(divergence(found, level, removal=False), exact)


# --- discrete noise, answers, samples ---------------------------------------------------------


def integers(log_mass, shift):
    outputs = range(-400, 401)
    noise = {k: math.exp(log_mass(k)) for k in range(-1000, 1001)}
    total = math.fsum(noise.values())
    return [noise[k - shift] / total for k in outputs], [noise[k] / total for k in outputs]


def answers(truth, categories):
    other = (1 - truth) / (categories - 1)
    rest = [other] * (categories - 2)
    return [truth, other, *rest], [other, truth, *rest]


SOURCES = {
    "Laplace": (lambda up: DiscreteLaplaceRatios(3, 2.5, up), integers(lambda k: -abs(k) / 2.5, 3)),
    "Laplace by one": (
        lambda up: DiscreteLaplaceRatios(1, 0.7, up),
        integers(lambda k: -abs(k) / 0.7, 1),
    ),
    "Gaussian": (
        lambda up: DiscreteGaussianRatios(2, 3.0, up),
        integers(lambda k: -((k / 3) ** 2) / 2, 2),
    ),
    "two answers": (lambda up: ResponseRatios(0.8, 2, up), answers(0.8, 2)),
    "five answers": (lambda up: ResponseRatios(0.5, 5, up), answers(0.5, 5)),
}


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("name", SOURCES)
def test_ratios_of_discrete_laws_are_those_of_their_masses(name, removal):
    make, (p, q) = SOURCES[name]
    first, second = (p, q) if removal else (q, p)
    for level in LEVELS:
        exact = math.fsum(max(a - level * b, 0) for a, b in zip(first, second, strict=True))
        low, high = (divergence(make(up).law(1e-14), level, removal=removal) for up in (0, 1))
        assert low - 1e-13 <= exact <= high + 1e-13
        assert high - low <= 1e-11
    for law in (make(up).law(1e-14) for up in (False, True)):
        masses = np.exp(law.log_masses)
        assert math.isclose(masses.sum(), 1, rel_tol=1e-12)
        assert math.isclose(masses @ np.exp(law.log_ratios), 1, rel_tol=1e-12)


def test_tails_of_discrete_gaussian_noise_are_lost_above_alone():
    assert DiscreteGaussianRatios(2, 3.0, True).law(1e-6).infinite == 1e-6
    assert DiscreteGaussianRatios(2, 3.0, False).law(1e-6).infinite == 0.0


def sampled_laplace(ratio, shift, level, removal):
    """Return the divergence of Laplace noise on a sample: of the event up to where it is reached.

    Between 0 and the shift the ratio of the noise alone is ``exp(2 y - shift)``.
    """
    need = level if removal else 1 / level
    y = (shift + math.log((need - (1 - ratio)) / ratio)) / 2
    assert 0 < y < shift
    q = math.exp(-y) / 2
    p = (1 - ratio) * q + ratio * (1 - math.exp(y - shift) / 2)
    return p - level * q if removal else (1 - q) - level * (1 - p)


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize(("ratio", "shift"), [(0.2, 1.5), (0.9, 0.3), (1.0, 2.0)])
def test_ratios_of_laplace_noise_on_a_sample_enclose_it(ratio, shift, removal):
    low, high = (SampledLaplaceRatios(ratio, shift, up).law(1e-14) for up in (False, True))
    for level in (1.0, 1.05, 1.12):
        exact = sampled_laplace(ratio, shift, level, removal)
        below, above = (divergence(law, level, removal=removal) for law in (low, high))
        assert below <= exact + 1e-15
        assert exact <= above + 1e-15
        assert above - below < 1e-6
        assert divergence(low, level, removal=removal) < exact * (1 + 1e-13)


def largest_of(release):
    ((pair, _),) = Composition.of(release).parts
    return pair.largest, pair.reversed().largest


def test_the_largest_losses_of_both_directions_are_their_own():
    sampled = PoissonSubsampledLaplace(sampling_ratio=0.2, sensitivity=1.5, noise_scale=1.0)
    removal, addition = largest_of(sampled)
    assert removal == pytest.approx(math.log(0.8 + 0.2 * math.exp(1.5)), rel=1e-14)
    assert addition == pytest.approx(-math.log(0.8 + 0.2 * math.exp(-1.5)), rel=1e-12)
    ((pair, _),) = Composition.of(sampled).parts
    assert pair._atoms().losses.max() <= removal
    assert pair.reversed()._atoms().losses.max() <= addition
    assert largest_of(DiscreteLaplaceRelease(sensitivity=3, noise_scale=1.5)) == (2.0, 2.0)
    response = RandomizedResponse(truth=0.6, categories=4)
    assert largest_of(response) == pytest.approx((math.log(4.5),) * 2, rel=1e-14)
    assert largest_of(LaplaceRelease(sensitivity=3.0, noise_scale=2.0)) == (1.5, 1.5)
    assert largest_of(ApproximateRelease(epsilon=0.7, delta=0.1)) == (0.7, 0.7)
    batch = PoissonSubsampledGaussian(sampling_ratio=0.2, noise_multiplier=1.0)
    assert largest_of(batch) == (math.inf, pytest.approx(-math.log(0.8)))


def test_a_mixture_leaves_out_what_has_no_weight():
    release = GaussianMixtureRelease(
        sensitivities=(0.0, 3.0, 2.0), probabilities=(0.25, 0.0, 0.75), noise_scale=2.0
    )
    ((pair, _),) = Composition.of(release).parts
    assert pair == RatioPair(MixturePair(Mixture((0.25, 0.75), (0.0, 1.0))))
    assert _build_attained_pair(release) == RatioPair(replace(pair.source, upper=False))


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("ratio", [0.1, 1.0])
def test_mixtures_enclose_their_gaussian_tails(ratio, removal):
    """Of a half-line where the ratio crosses a level, in closed form."""
    shift = 0.8
    pair = make_sampled_mixture_pair(ratio, shift)
    low, high = (replace(pair, upper=up).law(1e-14) for up in (False, True))
    for level in (1.0, 1.02, 1.05):
        need = level if removal else 1 / level
        if need <= 1 - ratio:
            continue
        y = math.log((need - (1 - ratio)) / ratio) / shift + shift / 2
        p = (1 - ratio) * norm.sf(y) + ratio * norm.sf(y - shift)
        q = norm.sf(y)
        exact = p - level * q if removal else (1 - q) - level * (1 - p)
        below, above = (divergence(law, level, removal=removal) for law in (low, high))
        assert below <= exact + 1e-12
        assert exact <= above + 1e-12
        assert above - below < 1e-5


def test_mixtures_of_samplers_as_they_are_written():
    half = Mixture((0.8, 0.2), (0.0, 0.5))
    assert make_sampled_mixture_pair(0.2, 0.5) == MixturePair(half)
    assert make_sampled_mixture_pair(1.0, 0.5) == MixturePair(Mixture((1.0,), (0.5,)))
    assert poisson_replaced(0.2, 0.5) == MixturePair(half, Mixture((0.8, 0.2), (0.0, -0.5)))
    whole = MixturePair(Mixture((1.0,), (0.5,)), Mixture((1.0,), (-0.5,)))
    assert poisson_replaced(1.0, 0.5) == whole
    assert replace(MixturePair(half), lost=0.1).law(1e-14).infinite >= 0.1


@pytest.mark.parametrize(("records", "batch"), [(10, 3), (100, 100), (7, 7)])
def test_draws_with_replacement_are_binomial(records, batch):
    weights, lost = _compute_draw_probabilities(records, batch)
    np.testing.assert_allclose(weights, binom.pmf(np.arange(len(weights)), batch, 1 / records))
    assert math.isclose(sum(weights) + lost, 1.0, rel_tol=1e-13)
    assert 0 <= lost < 1e-10


def test_draws_that_are_not_told_apart_are_lost():
    weights, lost = _compute_draw_probabilities(3, 200)  # 67 on average, of which 64 are told apart
    assert len(weights) == 65
    assert math.isclose(lost, binom.sf(64, 200, 1 / 3))


def sampled_gaussian(ratio, shift, level):
    """Return the divergence of a sampled pair, of the outputs above a threshold."""
    y = math.log((level - (1 - ratio)) / ratio) / shift + shift / 2
    return ratio * norm.sf(y - shift) + (1 - ratio - level) * norm.sf(y)


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize(
    ("pair", "weights"),
    [
        (make_fixed_size_pair(100, 20, 0.5), {1: 0.2}),
        (
            make_fixed_size_redraw_pair(20, 3, 0.5),
            {k: float(binom.pmf(k, 3, 0.05)) for k in (1, 2, 3)},
        ),
    ],
)
def test_a_replaced_record_of_a_batch_loses_the_same_both_ways(pair, weights, removal):
    """The mean over how often it is there, given that it is, of pairs that are there at all."""
    there = sum(weights.values())
    law = pair.law(1e-14)
    for level in (1.0, 1.02, 1.05):
        each = (w / there * sampled_gaussian(there, 0.5 * k, level) for k, w in weights.items())
        exact = math.fsum(each)
        assert exact <= divergence(law, level, removal=removal) + 1e-13
        assert divergence(law, level, removal=removal) <= exact + 1e-5


def test_what_is_drawn_too_often_to_be_told_is_lost():
    pair = make_fixed_size_redraw_pair(3, 200, 0.05)
    lost = binom.sf(64, 200, 1 / 3)
    assert pair.lost == pytest.approx(lost)
    added = make_replacement_draw_pair(3, 200, 0.05)
    assert added.lost == pair.lost
    assert added.p.weights == pair.weights
    assert added.p.means == pytest.approx(0.05 * np.arange(65))
    assert (added.q, added.upper) == (ORIGIN, True)


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("order", [-2.0, 0.5, 6.0])
def test_parts_of_a_tilted_law_have_their_masses_and_how_far_their_densities_vary(removal, order):
    """From each point on, and up to the next one; a density ends where its part does."""
    pair = SubsampledGaussianPair(0.2, 1.5, removal)
    y, masses, density = pair.tilted(order)
    least, varied = closed_forms._bound_tilted_parts(pair, order)
    cells = np.minimum(masses[1:], masses[:-1]) * np.diff(y)
    steps = np.abs(np.diff(density))
    count = len(cells)
    assert len(least) == len(varied) == 2 * count
    assert least[0] == 1.0
    for n in (0, 1, count // 2, count - 1):
        above, below = cells[n:].sum(), cells[: n + 1].sum()
        assert n == 0 or least[n] == pytest.approx(
            (1 - closed_forms._LESS) * above, rel=1e-9, abs=1e-290
        )
        assert least[count + n] == pytest.approx(
            (1 - closed_forms._LESS) * below, rel=1e-9, abs=1e-290
        )
        to_end = steps[n:].sum() + density[n] + density[-1]
        from_begin = steps[: n + 1].sum() + density[0] + density[n + 1]
        assert varied[n] == pytest.approx(closed_forms._MARGIN * to_end, rel=1e-9, abs=1e-290)
        assert varied[count + n] == pytest.approx(
            closed_forms._MARGIN * from_begin, rel=1e-9, abs=1e-290
        )


# --- which pair dominates which release -------------------------------------------------------


def batched(sampling, relation, size=20, noise=4.0):
    return BatchedGaussian(
        records=100, batch_size=size, noise_multiplier=noise, sampling=sampling, relation=relation
    )


@pytest.mark.parametrize(
    ("sampling", "relation", "size", "pair"),
    [
        ("poisson", ADD_REMOVE, 20, SubsampledGaussianPair(0.2, 4.0)),
        ("poisson", ZERO_OUT, 20, SubsampledGaussianPair(0.2, 4.0)),
        ("poisson", REPLACE, 20, RatioPair(poisson_replaced(0.2, 0.25))),
        ("poisson", ADD_REMOVE, 100, GaussianPair(0.25)),
        ("poisson", REPLACE, 100, RatioPair(poisson_replaced(1.0, 0.25))),
        ("fixed", ADD_REMOVE, 20, SubsampledGaussianPair(0.2, 2.0)),
        ("fixed", REPLACE, 20, RatioPair(make_fixed_size_pair(100, 20, 0.5))),
        ("fixed", ZERO_OUT, 20, RatioPair(make_fixed_size_pair(100, 20, 0.5))),
        ("fixed", ADD_REMOVE, 100, GaussianPair(0.5)),
        ("fixed", REPLACE, 100, GaussianPair(0.5)),
        (
            "fixed-replacement",
            REPLACE,
            20,
            RatioPair(make_fixed_size_redraw_pair(100, 20, 0.5)),
        ),
    ],
)
def test_batches_have_the_pair_of_their_sampler(sampling, relation, size, pair):
    assert _build_dominating_pair(batched(sampling, relation, size)) == pair


def test_a_record_drawn_twice_counts_twice_as_much():
    source = _build_dominating_pair(batched("fixed-replacement", ADD_REMOVE)).source
    weights, lost = _compute_draw_probabilities(100, 20)
    np.testing.assert_allclose(source.p.means, 0.5 * np.arange(len(weights)))
    assert source.p.weights == weights
    assert (source.lost, source.q) == (lost, Mixture((1.0,), (0.0,)))


def test_what_is_attained_is_no_more_than_some_neighbours_lose():
    replaced, zeroed = (
        _build_attained_pair(batched("fixed", r)).source for r in (REPLACE, ZERO_OUT)
    )
    assert replaced == MixturePair(Mixture((0.8, 0.2), (0.0, 0.5)), upper=False)
    assert zeroed.q == Mixture((0.8, 0.2), (0.0, 0.25))
    assert not zeroed.upper
    assert not _build_attained_pair(batched("poisson", REPLACE)).source.upper
    assert _build_attained_pair(batched("poisson", ADD_REMOVE)) == SubsampledGaussianPair(0.2, 4.0)


@pytest.mark.parametrize(
    ("release", "pair", "attained"),
    [
        (
            AllocatedGaussian(batches=8, noise_multiplier=4.0),
            RatioPair(AllocationRatio(8, 4.0)),
            RatioPair(AllocationRatio(8, 4.0, upper=False)),
        ),
        (
            AllocatedGaussian(batches=8, noise_multiplier=0.08),
            GaussianPair(12.5),
            RatioPair(ShuffledMaximum(8, 12.5, 0.0)),
        ),
        (
            ShuffledGaussian(batches=8, noise_multiplier=4.0),
            GaussianPair(0.25),
            RatioPair(ShuffledMaximum(8, 0.5, 0.25)),
        ),
        (
            ShuffledGaussian(batches=8, noise_multiplier=4.0, relation=REPLACE),
            GaussianPair(0.5),
            RatioPair(ShuffledMaximum(8, 0.5, 0.0)),
        ),
    ],
)
def test_epochs_have_a_pair_above_and_one_below(release, pair, attained):
    assert _build_dominating_pair(release) == pair
    assert _build_attained_pair(release) == attained


@pytest.mark.parametrize("batches", [1, 2, 3, 5, 8])
def test_the_ratio_of_an_epoch_has_the_mean_and_spread_of_its_batches(batches):
    """Its mean under Q is 1, and its variance that of one batch over their number."""
    exact = math.expm1(1 / 1.5**2) / batches
    spreads = []
    for upper in (False, True):
        law = AllocationRatio(batches, 1.5, upper=upper).law(1e-12)
        masses, ratios = np.exp(law.log_masses), np.exp(law.log_ratios)
        assert math.isclose(masses.sum(), 1, rel_tol=1e-8)
        assert math.isclose(masses @ ratios + law.infinite, 1, rel_tol=1e-8)
        assert law.infinite < 1e-9
        spreads.append(float(masses @ (ratios - 1) ** 2))
    assert spreads[0] <= exact * (1 + 1e-7)
    assert spreads[0] == pytest.approx(exact, rel=1e-2)
    assert spreads[1] == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize(("shift", "other"), [(1.0, 0.5), (1.0, 0.0)])
def test_the_largest_output_of_an_epoch_by_its_distribution_functions(shift, other):
    low = ShuffledMaximum(3, shift, other).law(1e-14)
    y = np.linspace(-6, 9, 30_001)
    p, q = (np.diff(norm.cdf(y - mean) * norm.cdf(y) ** 2) for mean in (shift, other))
    for level in (1.0, 1.2, 2.0):
        exact = float(np.maximum(p - level * q, 0).sum())
        assert divergence(low, level, removal=True) <= exact + 1e-6
        assert divergence(low, level, removal=True) >= exact - 1e-4


@pytest.mark.parametrize(
    ("release", "pair"),
    [
        (LaplaceRelease(sensitivity=0.3, noise_scale=0.1), LaplacePair(3.0)),
        (LaplaceRelease(sensitivity=0.0, noise_scale=1.0), None),
        (ApproximateRelease(epsilon=0.0), None),
        (ApproximateRelease(epsilon=0.0, delta=0.1), RandomizedResponsePair(0.0, 0.1)),
        (ApproximateRelease(epsilon=0.3), RandomizedResponsePair(0.3)),
        (DiscreteGaussianRelease(sensitivity=0, noise_scale=1.0), None),
        (DiscreteLaplaceRelease(sensitivity=0, noise_scale=1.0), None),
        (PoissonSubsampledLaplace(sampling_ratio=0.1, sensitivity=0.0), None),
        (
            ObjectivePerturbation(
                sensitivity=0.0, noise_rate=1.0, dimension=2, log_determinant=0.2
            ),
            RandomizedResponsePair(0.2),
        ),
        (ObjectivePerturbation(sensitivity=0.0, noise_rate=1.0, dimension=2), None),
    ],
)
def test_what_reveals_nothing_has_no_pair(release, pair):
    assert _build_dominating_pair(release) == pair


# --- compositions -------------------------------------------------------------------------------


def two(*parts) -> Composition:
    return Composition(parts)


def test_a_composition_sums_what_its_pairs_have():
    some, other = RandomizedResponsePair(0.1, 0.1), RandomizedResponsePair(0.3, 0.2)
    composed = two((some, 2), (other, 1))
    assert composed.steps == 3
    assert composed.largest == 0.5
    assert math.isclose(composed.infinite_mass, 1 - 0.9**2 * 0.8)
    assert composed.infinite_mass >= 1 - 0.9**2 * 0.8
    assert composed.distance == 3.0
    at = np.array(0.7)
    moment = 2 * some.log_mgf(at) + other.log_mgf(at)
    assert math.isclose(composed.log_moment(0.7), float(moment))


def test_the_two_directions_of_a_composition_exchange_every_pair():
    sampled = SubsampledGaussianPair(0.2, 1.0)
    composed = two((GaussianPair(0.5), 1), (sampled, 3))
    forth, back = composed.directions
    assert forth == composed
    assert back == two((GaussianPair(0.5), 1), (sampled.reversed(), 3))
    assert two((GaussianPair(0.5), 1)).directions == (two((GaussianPair(0.5), 1)),)


def test_tails_are_shared_by_all_copies_and_both_ends():
    sampled = SubsampledGaussianPair(0.2, 1.0)
    trimmed = two((sampled, 3), (sampled.reversed(), 2)).trimmed(1e-6)
    assert math.isclose(trimmed.truncation_mass, 1e-6)
    assert all(pair.tail == 1e-7 for pair, _ in trimmed)


@pytest.mark.parametrize("ratio", [0.02, 0.2, 0.95])
@pytest.mark.parametrize("removal", [True, False])
def test_the_interval_of_a_sample_leaves_out_two_tails(removal, ratio):
    pair = SubsampledGaussianPair(ratio, 2.0, removal=removal, tail=1e-3)
    low, high = pair.interval
    share = ratio if removal else 0.0
    below = (1 - share) * norm.cdf(low / 2) + share * norm.cdf((low - 1) / 2)
    above = (1 - share) * norm.sf(high / 2) + share * norm.sf((high - 1) / 2)
    assert 0 < below <= 1e-3
    assert 0 < above <= 1e-3
    assert pair.truncation_mass == 2e-3


@pytest.mark.parametrize("removal", [True, False])
def test_losses_of_a_sample_and_their_outputs(removal):
    pair = SubsampledGaussianPair(0.2, 2.0, removal=removal)
    y = np.linspace(-6, 6, 41)
    at = y if removal else -y
    ratio = 0.8 + 0.2 * norm.pdf(at, 1, 2) / norm.pdf(at, 0, 2)
    loss = np.log(ratio) if removal else -np.log(ratio)
    np.testing.assert_allclose(pair.loss(y), loss, rtol=1e-10)
    np.testing.assert_allclose(pair.position(loss), y, rtol=1e-8, atol=1e-8)
    density = norm.pdf(y, 0, 2) * (ratio if removal else 1.0)
    np.testing.assert_allclose(np.exp(pair.log_density(y)), density, rtol=1e-10)
    assert pair.distance == 0.2


def test_what_is_cut_off_beyond_a_loss_has_a_probability_under_both_laws():
    pair = SubsampledGaussianPair(0.2, 2.0).up_to(0.3)
    (y,) = pair.position(np.array([0.3]))
    p, q = pair.beyond
    assert math.isclose(q, norm.sf(y / 2))
    assert math.isclose(p, 0.8 * norm.sf(y / 2) + 0.2 * norm.sf((y - 1) / 2))
    assert pair.largest == 0.3
    composed = two((pair, 3))
    np.testing.assert_allclose(composed.beyond, [1 - (1 - p) ** 3, 1 - (1 - q) ** 3])
    assert SubsampledGaussianPair(0.2, 2.0).beyond == (0.0, 0.0)
    addition = SubsampledGaussianPair(0.2, 2.0, removal=False)
    assert addition.up_to(0.1) == addition


@pytest.mark.parametrize("order", [0.5, 1.0, 7.0])
def test_moments_of_closed_forms(order):
    """Of the law under P: densities and atoms, summed up."""
    at = np.array(order)
    mu = 0.7
    assert math.isclose(float(GaussianPair(mu).log_mgf(at)), order * (order + 1) * mu**2 / 2)
    s = 1.3
    loss = np.linspace(-s, s, 200_001)
    middle = np.trapezoid(np.exp(order * loss + (loss - s) / 2) / 4, loss)
    ends = (math.exp(order * s) + math.exp(-order * s - s)) / 2
    assert math.isclose(float(LaplacePair(s).log_mgf(at)), math.log(middle + ends), rel_tol=1e-8)
    share = ends / (middle + ends)
    assert math.isclose(LaplacePair(s).atomic_share(order), share, rel_tol=1e-8)
    e, d = 0.6, 0.05
    truth = 1 / (1 + math.exp(-e))
    moment = (1 - d) * (truth * math.exp(order * e) + (1 - truth) * math.exp(-order * e))
    pair = RandomizedResponsePair(e, d)
    assert math.isclose(float(pair.log_mgf(at)), math.log(moment))
    assert (pair.infinite_mass, pair.lattice) == (d, e)
    assert RandomizedResponsePair(0.0, d).lattice is None


@pytest.mark.parametrize(
    "pair",
    [
        GaussianPair(0.7),
        LaplacePair(1.3),
        RandomizedResponsePair(0.6, 0.1),
        SubsampledGaussianPair(0.2, 1.0),
        SubsampledGaussianPair(0.2, 1.0, removal=False),
    ],
    ids=str,
)
def test_characteristic_functions_are_those_of_the_atoms_and_below_their_envelope(pair):
    order, frequencies = 1.2, np.array([0.4, 2.0, 9.0])
    atoms = pair.atoms(np.linspace(-14.0, 14.0, 1001))
    tilted = np.exp(atoms.log_masses + order * atoms.losses)
    waves = np.exp(1j * np.outer(frequencies, atoms.losses)) @ tilted / tilted.sum()
    found = pair.characteristic(order, frequencies)
    np.testing.assert_allclose(found, waves, atol=1e-9)
    for frequency, value in zip(frequencies.tolist(), found.tolist(), strict=True):
        assert abs(value) <= pair.envelope(order, frequency) + 1e-12


def test_the_density_between_the_atoms_varies_as_much_as_is_said_and_not_a_third_of_it():
    order, s = 0.7, 1.3
    pair = LaplacePair(s)
    norm_of = 2 * math.exp(float(pair.log_mgf(np.array(order))))
    u = np.linspace(0.5, 60, 2000)
    c = order + 1j * u
    ends = (np.exp(c * s) + np.exp(-(c + 1) * s)) / norm_of
    rest = np.abs(pair.characteristic(order, u) - ends)
    assert np.all(rest <= pair.variation(order) / u)
    assert np.max(rest * u) > pair.variation(order) / 3


@pytest.mark.parametrize(
    ("low", "high", "order", "bound"),
    [(-2.0, 3.0, 1e9, 3e9), (-2.0, 3.0, -1e9, 2e9), (1.0, 2.0, -1e9, 0.0), (-2.0, -1.0, 1e9, 0.0)],
)
def test_moments_beyond_what_is_resolved_are_bounded_by_the_farther_end(low, high, order, bound):
    assert abs(order) > farthest_moment(low, high)
    assert compute_tilted_log_moments(None, low, high, np.array([order])).tolist() == [bound]


def test_gaussian_releases_become_one_pair_and_a_whole_sample_is_one():
    event = Sequence(
        (
            GaussianRelease(sensitivity=3.0, noise_scale=10.0),
            PoissonSubsampledGaussian(sampling_ratio=1.0, noise_multiplier=5.0, count=4),
            LaplaceRelease(sensitivity=1.0, noise_scale=2.0, count=4),
        )
    )
    assert Composition.of(event) == two((GaussianPair(0.5), 1), (LaplacePair(0.5), 4))
    assert Composition.attained(event) == Composition.of(event)


@pytest.mark.parametrize(
    ("pairs", "out"),
    [
        (((LaplacePair(1e-101), 3),), True),
        (((LaplacePair(1e-101), 3), (LaplacePair(1.0), 1)), False),
        (((GaussianPair(1e-101), 1), (LaplacePair(1.0), 1)), True),
        (((LaplacePair(1e8), 1),), True),
        (((GaussianPair(1.0), 1),), False),
    ],
)
def test_losses_beyond_what_is_composed_are_told_apart(pairs, out):
    assert two(*pairs).out_of_range is out


# --- brackets -------------------------------------------------------------------------------------


def test_ends_that_were_rounded_give_way_outwards_and_never_beyond_the_most():
    found = Bracket(1 / 3, 2 / 3).outward(0.9)
    assert found.lower < 1 / 3
    assert 2 / 3 < found.upper < 2 / 3 + 1e-14
    assert Bracket(0.2, 0.9).outward(0.9).upper == 0.9
    assert Bracket(0.9, 0.9).outward(0.9) == Bracket(0.9, 0.9)  # a number that was written
    known = Bracket(1 / 3, 1 / 3).outward(1 / 3)
    assert known.lower < known.upper == 1 / 3
    assert Bracket(0.5, math.inf).outward(2.0).upper == math.inf
    assert Bracket(0.5, math.inf).outward(2.0).lower < 0.5
    assert Bracket(math.inf, math.inf).outward(2.0) == Bracket(math.inf, math.inf)


def test_the_largest_of_several_values_has_both_ends_of_its_own():
    assert Bracket.largest([Bracket(0.1, 0.9), Bracket(0.3, 0.5)]) == Bracket(0.3, 0.9)
    assert Bracket(math.inf, math.inf).width == 0
    assert Bracket(0.25, 0.5).width == 0.25
    for value in (0.25, 0.5, 0.3):
        assert Bracket(0.25, 0.5).contains(value)
    assert not Bracket(0.25, 0.5).contains(0.2)
    assert not Bracket(0.25, 0.5).contains(0.6)
    for ends in ((0.5, 0.25), (math.nan, 1.0)):
        with pytest.raises(InvalidArgument, match="lower"):
            Bracket(*ends)


def test_pairs_of_both_sides_are_of_their_side():
    releases = [
        RandomizedResponse(truth=0.7),
        DiscreteLaplaceRelease(sensitivity=2, noise_scale=1.0),
        DiscreteGaussianRelease(sensitivity=2, noise_scale=1.0),
        PoissonSubsampledLaplace(sampling_ratio=0.3),
    ]
    for release, upper in itertools.product(releases, (True, False)):
        pair = _build_dominating_pair(release) if upper else _build_attained_pair(release)
        assert pair.source.upper is upper
        assert isinstance(pair, BoundedRatioPair) or release is releases[2]
