"""What is proved of an event: which end is known, of which direction, of which alternative."""

from dpaudit.accounting.events import GaussianRelease, LaplaceRelease, ZeroConcentratedRelease
from dpaudit.accounting.pairs.closed_forms import LaplacePair, SubsampledGaussianPair
from dpaudit.accounting.pairs.composition import Composition
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon, bound_worst_proved_epsilon
from dpaudit.guarantees.kinds import GaussianDP


def test_a_renyi_bound_says_nothing_from_below():
    bracket = bound_proved_epsilon(ZeroConcentratedRelease(rho=0.5), 1e-5)
    assert bracket.lower == 0 < 4 < bracket.upper


def test_an_exact_guarantee_is_both_ends():
    exact = GaussianDP(1.0).epsilon(1e-5)
    bracket = bound_proved_epsilon(GaussianRelease(sensitivity=1.0, noise_scale=1.0), 1e-5)
    assert bracket.lower < bracket.upper == exact < bracket.lower * (1 + 1e-15)


def test_of_alternatives_the_worst_is_proved():
    little, much = (LaplaceRelease(sensitivity=1.0, noise_scale=scale) for scale in (4.0, 0.5))
    assert (
        bound_worst_proved_epsilon((little, much), 0.0)
        == bound_worst_proved_epsilon((much, little), 0.0)
        == 2.0
    )
    assert bound_worst_proved_epsilon((), 0.0) == 0.0


def test_one_part_that_is_not_symmetric_asks_for_both_directions():
    laplace = LaplacePair(0.5)
    drawn = SubsampledGaussianPair(ratio=0.1, scale_of_noise=1.0, removal=True, tail=1e-12)
    assert len(Composition(((laplace, 3),)).directions) == 1
    for parts in ((laplace, 1), (drawn, 1)), ((drawn, 1), (laplace, 1)):
        first, second = Composition(parts).directions
        assert first == Composition(parts)
        assert [pair for pair, _ in second] == [pair.reversed() for pair, _ in first]
