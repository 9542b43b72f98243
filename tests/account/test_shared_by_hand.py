"""Releases that share something, and releases that might: each number in fractions or by hand."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from mpmath import mp

from dpaudit.accounting.calibrate import calibrate
from dpaudit.accounting.discrete_events import GaussianMixtureRelease, RandomizedResponse
from dpaudit.accounting.events import (
    AllocatedGaussian,
    ApproximateRelease,
    BatchedGaussian,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    PrivateSelection,
    Sequence,
    ShuffledGaussian,
    get_releases,
    repeat_event,
)
from dpaudit.accounting.samples import (
    SampleRelease,
    _as_gaussian,
    _split_into_layers,
    if_shared,
    join_ways,
    repeat_way,
    ways_of,
    worse_reading,
)
from dpaudit.accounting.sharing import (
    count_sampled_releases,
    get_alternatives,
    one_budget,
    one_sample,
    sampler_of,
)
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.accounts.sharing import _tree_event, _with_noise, compute_event_totals, tables_of
from dpaudit.errors import InvalidArgument


def batch(noise: float, count: int = 1, ratio: float = 0.1) -> PoissonSubsampledGaussian:
    return PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=count)


def sampled_laplace(shift: float, scale: float, count: int = 1, ratio: float = 0.1):
    return PoissonSubsampledLaplace(
        sampling_ratio=ratio, sensitivity=shift, noise_scale=scale, count=count
    )


def laplace(shift: float, scale: float, count: int = 1) -> LaplaceRelease:
    return LaplaceRelease(sensitivity=shift, noise_scale=scale, count=count)


def gaussian(shift: float, scale: float, count: int = 1) -> GaussianRelease:
    return GaussianRelease(sensitivity=shift, noise_scale=scale, count=count)


def readings(value: float) -> tuple[Fraction, Fraction]:
    short = Fraction(f"{value:.12g}")
    meant = short if float(short) == value else Fraction(value)
    return min(meant, Fraction(value)), max(meant, Fraction(value))


def level(shift: float, scale: float) -> Fraction:
    """Return a quotient from the worse reading, but for one that a double stands for."""
    (low, high), (below, above) = readings(shift), readings(scale)
    meant = (low if high == shift else high) / (below if above == scale else above)
    return meant if Fraction(f"{float(meant):.12g}") == meant else high / below


def draws(count: int, seed: int = 2) -> list[tuple[float, float]]:
    draw = random.Random(seed)
    return [(round(draw.uniform(0.2, 5), 3), draw.uniform(0.2, 5)) for _ in range(count)]


# --- one sample -----------------------------------------------------------------------------------


def test_the_joint_noise_of_one_sample_is_rounded_down():
    for one, other in draws(40):
        found = one_sample([batch(one, 3), batch(other, 2)], 7)
        least = 1 / (3 / readings(one)[0] ** 2 + 2 / readings(other)[0] ** 2)
        square = Fraction(found.noise_multiplier) ** 2
        assert least * (1 - Fraction(1, 10**14)) <= square <= least
        assert found.count == 7
        assert found.sampling_ratio == 0.1


def test_the_levels_of_one_sample_add_up_and_are_rounded_up():
    for one, other in draws(40):
        found = one_sample([sampled_laplace(one, other, 3), sampled_laplace(1.0, one, 2)], 5)
        worst = 3 * level(one, other) + 2 * level(1.0, one)
        assert worst <= Fraction(found.sensitivity) <= worst * (1 + Fraction(1, 10**14))
        assert (found.noise_scale, found.count) == (1.0, 5)


def test_one_release_of_a_sample_is_itself():
    assert one_sample([batch(0.3)], 4) == batch(0.3, 4)
    assert one_sample([batch(0.3), batch(9.0, 0)], 4) == batch(0.3, 4)


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [batch(1.0, 0)],
        [batch(1.0), batch(1.0, ratio=0.2)],
        [batch(1.0), sampled_laplace(1.0, 1.0)],
        [gaussian(1.0, 1.0)],
    ],
)
def test_what_is_not_of_one_sample_is_refused(parts):
    with pytest.raises(InvalidArgument, match="release: got"):
        one_sample(parts)


def test_samplers_are_compared_without_their_noise():
    assert sampler_of(sampled_laplace(2.0, 3.0, 4)) == sampler_of(sampled_laplace(5.0, 6.0))
    assert sampler_of(batch(2.0, 4)) == sampler_of(batch(5.0))
    assert sampler_of(batch(2.0)) != sampler_of(batch(2.0, ratio=0.2))
    assert sampler_of(gaussian(2.0, 1.0)) == gaussian(2.0, 1.0)


# --- one budget -----------------------------------------------------------------------------------


def test_a_budget_is_spent_where_the_noise_is_least():
    """3 of 4 go to two releases of 1.5 with scale 0.5, and what is left, 1, to the other."""
    parts = [laplace(2.0, 1.0, 5), laplace(1.5, 0.5, 2)]
    assert one_budget("l1", 4.0, parts).epsilon == 3 / 0.5 + 1.0
    assert one_budget("l1", 1.0, parts).epsilon == 2.0
    assert one_budget("l1", 100.0, parts).epsilon == 6.0 + 10.0
    assert one_budget("l1", 0.0, parts).epsilon == 0.0


def test_a_budget_of_squares_is_spent_where_the_noise_is_least():
    parts = [gaussian(2.0, 1.0, 5), gaussian(1.5, 0.5, 2)]
    found = one_budget("l2", 3.0, parts)  # of 9, 4.5 go to the second and the rest to the first
    assert found.noise_scale == 1.0
    assert found.sensitivity == pytest.approx(math.sqrt(4.5 / 0.25 + 4.5), rel=1e-14)
    assert found.sensitivity >= math.sqrt(4.5 / 0.25 + 4.5) * (1 - 1e-16)


def test_budgets_are_rounded_up_from_the_worse_reading():
    few = itertools.product((0.3, 0.7, 0.9, 1.1, 2.3), (0.7, 1.3, 1.7, 2.9))
    for one, other in [*draws(40, seed=3), *few]:
        worst = readings(one)[1] / readings(other)[0]
        pure = one_budget("l1", one, [laplace(9.0, other)])
        assert level(one, other) <= Fraction(pure.epsilon) or pure.epsilon == level(one, other)
        square = Fraction(one_budget("l2", one, [gaussian(9.0, other)]).sensitivity) ** 2
        assert worst**2 <= square


@pytest.mark.parametrize(
    ("norm", "parts"),
    [
        ("l1", []),
        ("l1", [gaussian(1.0, 1.0)]),
        ("l1", [laplace(1.0, 1.0), gaussian(1.0, 1.0)]),
        ("l2", [laplace(1.0, 1.0), gaussian(1.0, 1.0)]),
        ("l1", [laplace(1.0, 1.0), ApproximateRelease(epsilon=1.0)]),
    ],
)
def test_a_budget_holds_releases_of_its_norm_alone(norm, parts):
    with pytest.raises(InvalidArgument, match="release: got"):
        one_budget(norm, 1.0, parts)


# --- disjoint data --------------------------------------------------------------------------------

ONE, TWO = gaussian(1.0, 2.0), laplace(1.0, 3.0)


def test_a_record_is_in_one_part_of_each_partition():
    both = Parallel((ONE, TWO))
    assert get_alternatives(both) == (ONE, TWO)
    assert get_alternatives(replace(both, count=3)) == (
        replace(ONE, count=3),
        replace(TWO, count=3),
    )
    assert get_alternatives(replace(both, count=0)) == ()
    assert get_alternatives(Sequence((ONE, TWO))) == (Sequence((ONE, TWO)),)
    every = get_alternatives(Sequence((both, ONE, both)))
    assert [one.events for one in every] == [
        (a, ONE, b) for a, b in itertools.product((ONE, TWO), repeat=2)
    ]
    nested = get_alternatives(Sequence((Parallel(()), ONE, both)))
    assert [one.events for one in nested] == [(ONE, ONE), (ONE, TWO)]


def test_256_combinations_are_counted_and_no_more():
    sixteen = Parallel(tuple(gaussian(1.0, 1.0 + k) for k in range(16)))
    assert len(get_alternatives(Sequence((sixteen, sixteen)))) == 256
    with pytest.raises(InvalidArgument, match="at most 256"):
        get_alternatives(Sequence((sixteen, sixteen, Parallel((ONE, TWO)))))


def test_sampled_parts_are_those_of_the_worst_group():
    groups = Parallel((ONE, Sequence((batch(1.0), batch(2.0)))))
    assert count_sampled_releases(groups) == 2
    assert count_sampled_releases(Parallel((ONE, TWO))) == 0
    kinds = [
        BatchedGaussian(records=9, batch_size=3, noise_multiplier=1.0),
        AllocatedGaussian(batches=3, noise_multiplier=1.0),
        ShuffledGaussian(batches=3, noise_multiplier=1.0),
        sampled_laplace(1.0, 1.0),
        batch(1.0),
    ]
    assert count_sampled_releases(Sequence((*kinds, ONE, TWO))) == 5


def test_equal_releases_are_counted_together_and_repeated_together():
    event = Sequence((replace(ONE, count=2), TWO, Sequence((ONE, replace(TWO, count=0)))))
    assert get_releases(event) == (replace(ONE, count=3), TWO)
    assert get_releases(repeat_event(event, 2)) == (replace(ONE, count=6), replace(TWO, count=2))
    assert repeat_event(ONE, 0).count == 0
    partition = Parallel((ONE, TWO), 2)
    assert repeat_event(partition, 3) == Parallel((ONE, TWO), 6)
    assert repeat_event(Sequence((partition, ONE)), 3).events == (
        Parallel((ONE, TWO), 6),
        replace(ONE, count=3),
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: PrivateSelection(base=ONE, runs=1.0),
        lambda: PrivateSelection(base=ONE, runs=1.0, law="logarithmic"),
        lambda: PrivateSelection(base=ONE, runs=0.0, law="poisson"),
        lambda: BatchedGaussian(records=9, batch_size=10, noise_multiplier=1.0),
        lambda: BatchedGaussian(records=9, batch_size=3, noise_multiplier=0.049),
        lambda: AllocatedGaussian(batches=0, noise_multiplier=1.0),
        lambda: ShuffledGaussian(batches=2, noise_multiplier=1.0, relation="add-remove-record"),
        lambda: batch(1.0, ratio=1.1),
        lambda: sampled_laplace(1.0, 1.0, ratio=1.1),
        lambda: RandomizedResponse(truth=0.3),
        lambda: RandomizedResponse(truth=1.0),
        lambda: GaussianMixtureRelease(
            sensitivities=(0.0, 1.0), probabilities=(0.5, 0.4), noise_scale=1.0
        ),
        lambda: GaussianMixtureRelease(sensitivities=(), probabilities=(), noise_scale=1.0),
        lambda: GaussianMixtureRelease(
            sensitivities=(41.0,), probabilities=(1.0,), noise_scale=1.0
        ),
    ],
)
def test_what_is_no_release_is_refused(make):
    with pytest.raises(InvalidArgument):
        make()


def test_what_is_just_a_release_is_one():
    assert PrivateSelection(base=ONE, runs=0.5, law="poisson").runs == 0.5
    assert BatchedGaussian(records=9, batch_size=9, noise_multiplier=0.05).ratio == 1.0
    assert batch(1.0, ratio=1.0).sampling_ratio == 1.0
    assert RandomizedResponse(truth=0.25, categories=4).truth == 0.25
    thirds = BatchedGaussian(records=3, batch_size=1, noise_multiplier=1.0).ratio
    assert Fraction(thirds) > Fraction(1, 3) > Fraction(math.nextafter(thirds, 0))
    assert ShuffledGaussian(batches=2, noise_multiplier=1.0).sensitivity == 1.0
    replaced = ShuffledGaussian(batches=2, noise_multiplier=1.0, relation="replace-record")
    assert replaced.sensitivity == 2.0


# --- releases that might be of one sample --------------------------------------------------------


def shared_of(*drawn: SampleRelease):
    return if_shared([drawn])


def test_rounds_are_of_all_that_are_left():
    """Three of a, two of b, five of c: two rounds of all, one of a and c, two of c alone."""
    a, b, c = batch(1.0, 3), batch(2.0, 2), batch(3.0, 5)
    noise = [(1 + 1 / 4 + 1 / 9) ** -0.5, (1 + 1 / 9) ** -0.5, 3.0]
    layers = _split_into_layers([a, b, c])
    assert [one.count for one in layers] == [2, 1, 2]
    assert [one.noise_multiplier for one in layers] == pytest.approx(noise, rel=1e-12)
    (double,) = _split_into_layers([a, a])
    assert (double.count, double.noise_multiplier) == (3, pytest.approx(0.5**0.5))


def test_releases_share_a_sample_unless_all_of_them_say_that_they_do_not():
    one = batch(2.0, 2)
    shared = shared_of(SampleRelease(one), SampleRelease(one))
    assert shared.exact
    assert shared.event.noise_multiplier == pytest.approx(2**0.5)
    assert shared_of(SampleRelease(one, True), SampleRelease(one, True)) is None
    assert shared_of(SampleRelease(one, True), SampleRelease(one)) is not None
    assert shared_of(SampleRelease(one)) is None
    assert shared_of(SampleRelease(one), SampleRelease(batch(2.0, ratio=0.2))) is None
    assert shared_of(SampleRelease(one), SampleRelease(replace(one, count=0))) is None
    assert shared_of(SampleRelease(ONE), SampleRelease(ONE)) is None


def test_what_shares_nothing_stays_beside_what_does():
    one = batch(2.0)
    event = shared_of(SampleRelease(ONE), SampleRelease(one), SampleRelease(one)).event
    assert event.events[0] == ONE
    assert event.events[1].noise_multiplier == pytest.approx(2**0.5)


@pytest.mark.parametrize("order", [1, -1])
def test_a_mixed_round_is_not_exact_whatever_comes_after_it(order):
    mixed = [SampleRelease(batch(2.0)), SampleRelease(sampled_laplace(1.0, 1.0))]
    plain = [SampleRelease(batch(2.0, ratio=0.2)), SampleRelease(batch(3.0, ratio=0.2))]
    groups = [mixed, plain][::order]
    assert not shared_of(*groups[0], *groups[1]).exact
    assert shared_of(*plain).exact


def test_of_groups_each_that_might_share_counts():
    one = batch(2.0)
    ways = [(SampleRelease(one), SampleRelease(one)), (SampleRelease(ONE),)]
    found = if_shared(ways)
    assert found.event.events[1] == Sequence((ONE,))
    assert if_shared([(SampleRelease(ONE),), (SampleRelease(TWO),)]) is None
    mixed = (SampleRelease(one), SampleRelease(sampled_laplace(1.0, 1.0)))
    assert not if_shared([ways[0], mixed]).exact


def test_an_event_is_read_as_it_was_written():
    one = batch(2.0, 2)
    event = Sequence((one, Parallel((ONE, one), 3)))
    assert ways_of(event) == (
        (SampleRelease(one), SampleRelease(replace(ONE, count=3))),
        (SampleRelease(one), SampleRelease(replace(one, count=6))),
    )
    assert join_ways([((SampleRelease(ONE),),), (), ((SampleRelease(TWO),),)]) == (
        (SampleRelease(ONE), SampleRelease(TWO)),
    )
    assert repeat_way((SampleRelease(one, True),), 4) == (SampleRelease(batch(2.0, 8), True),)


def test_the_worse_of_two_readings_holds_both():
    event = Sequence((batch(2.0), batch(2.0)))
    worse = worse_reading(event)
    assert isinstance(worse, Parallel)
    assert worse.events[1] == event
    assert worse.events[0].noise_multiplier == pytest.approx(2**0.5)
    assert worse_reading(event, "independent") == event


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 5.0, 30.0])
def test_laplace_noise_is_made_of_gaussian_noise_that_is_no_larger(epsilon):
    found = _as_gaussian(sampled_laplace(epsilon, 1.0, 4))
    with mp.workdps(40):
        corner = 1 / (1 + mp.exp(mp.mpf(epsilon)))
        mu = 1 / mp.mpf(found.noise_multiplier)
        assert mp.ncdf(-mu / 2) <= corner < mp.ncdf(-mu * (1 - mp.mpf(10) ** -9) / 2)
    assert (found.count, found.sampling_ratio) == (4, 0.1)
    assert _as_gaussian(batch(2.0)) == batch(2.0)


def test_far_out_the_bound_of_its_tail_stands_in():
    found = 1 / _as_gaussian(sampled_laplace(800.0, 1.0)).noise_multiplier
    assert found == pytest.approx(2 * math.sqrt(1600.0))
    with mp.workdps(60):
        assert mp.ncdf(-mp.mpf(found) / 2) <= mp.exp(-800)


# --- files, trees, calibration --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leaves", "height"), [(1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (8, 4), (9, 5), (1024, 11)]
)
def test_a_record_is_in_a_node_of_every_level_of_a_tree(leaves, height):
    from dpaudit.accounts.sharing import TreeParameters

    event = _tree_event(TreeParameters(leaves=leaves, count=3, noise="laplace", sensitivity=2.0))
    assert event == laplace(2.0, 1.0, 3 * height)


def test_noise_of_rounds_is_multiplied_and_rounded_down():
    for one, other in draws(40, seed=5):
        found = _with_noise(gaussian(1.0, one), other)
        assert Fraction(found.noise_scale) <= Fraction(one) * Fraction(other)
        assert found.noise_scale == pytest.approx(one * other, rel=1e-14)
        assert _with_noise(batch(one), other).noise_multiplier == found.noise_scale
    assert _with_noise(batch(0.3), 1) == batch(0.3)


def test_totals_are_of_the_worst_group():
    groups = Parallel((gaussian(1.0, 2.0), gaussian(1.0, 1.0)))
    assert compute_event_totals(groups) == {"mu": 1.0, "rho": 0.5}
    assert compute_event_totals(Parallel((gaussian(1.0, 2.0), TWO))) == {"mu": None, "rho": 0.125}


@pytest.mark.parametrize("document", [{}, {"releases": []}, {"release": 3}])
def test_a_file_of_something_else_is_refused(document):
    with pytest.raises(InvalidArgument, match=r"one\.toml"):
        tables_of(document, "one.toml")


def test_calibration_ends_on_the_private_side():
    for target in (0.7, 1.3, 2.0):
        found = calibrate(lambda v: gaussian(1.0, v), target, 1e-5)
        assert found.epsilon <= target
        assert proved_guarantee(found.event).epsilon(1e-5) == found.epsilon
        pure = calibrate(lambda v: ApproximateRelease(epsilon=v), target, 0.0, more_noise=-1)
        assert pure.value <= target
        assert pure.value == pytest.approx(target, rel=1e-8)


def test_nothing_at_all_has_no_sampled_part():
    assert count_sampled_releases(Parallel((batch(1.0),), count=0)) == 0
    assert count_sampled_releases(Parallel((batch(1.0),))) == 1
