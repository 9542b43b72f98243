"""Every kind of guarantee asked both ways: an epsilon for its own delta is there, and no larger."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from dpaudit.accounting.events import (
    ApproximateRelease,
    DiscreteGaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    RandomizedResponse,
    Sequence,
    ZeroConcentratedRelease,
)
from dpaudit.accounting.optimal import OptimalComposition
from dpaudit.accounting.renyi import RenyiCurveDP
from dpaudit.accounting.strongest_guarantee import NumericalDP, TabulatedDP, WorstOf
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    GroupOf,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.guarantees.profile import PrivacyProfile


def between(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def some_epsilon(draw: random.Random) -> float:
    return draw.choice([0.0, between(draw, 1e-9, 1), between(draw, 0.1, 30), 700.0])


def some_delta(draw: random.Random) -> float:
    tiny, ordinary = between(draw, 1e-300, 1e-12), between(draw, 1e-12, 1)
    return draw.choice([0.0, tiny, ordinary, 0.1, 0.28, 1 - between(draw, 1e-12, 0.1)])


def approximate(draw: random.Random) -> ApproximateDP:
    return ApproximateDP(some_epsilon(draw), some_delta(draw))


def gaussian(draw: random.Random) -> GaussianDP:
    return GaussianDP(draw.choice([0.0, between(draw, 1e-9, 0.01), between(draw, 0.01, 1e3)]))


def concentrated(draw: random.Random) -> ZeroConcentratedDP:
    return ZeroConcentratedDP(
        draw.choice([0.0, between(draw, 1e-12, 0.01), between(draw, 0.01, 99)])
    )


def renyi(draw: random.Random) -> RenyiDP:
    return RenyiDP(1 + between(draw, 1e-3, 1e3), some_epsilon(draw))


def optimal(draw: random.Random) -> OptimalComposition:
    count = draw.choice([1, 2, 3])
    parts = (
        ApproximateRelease(
            epsilon=draw.choice([0.0, 0.1, 0.5, between(draw, 1e-6, 5)]),
            delta=draw.choice([0.0, 0.1, 0.2, 0.3, 1e-5, between(draw, 1e-300, 0.5)]),
            count=draw.choice([1, 1, 2, 10, 60]),
        )
        for _ in range(count)
    )
    return OptimalComposition(tuple(parts))


def of_orders(draw: random.Random) -> RenyiCurveDP:
    events = (
        LaplaceRelease(sensitivity=1.0, noise_scale=between(draw, 0.2, 20), count=3),
        ZeroConcentratedRelease(rho=between(draw, 1e-4, 10)),
        PoissonSubsampledGaussian(sampling_ratio=0.3, noise_multiplier=between(draw, 0.5, 5)),
    )
    return RenyiCurveDP(draw.choice(events))


def numerical(draw: random.Random) -> NumericalDP:
    one = LaplaceRelease(sensitivity=1.0, noise_scale=between(draw, 0.2, 20))
    failing = ApproximateRelease(epsilon=between(draw, 0.01, 3), delta=some_delta(draw))
    events = (
        one,
        Sequence((failing, one)),
        DiscreteGaussianRelease(sensitivity=1, noise_scale=between(draw, 0.3, 9)),
        RandomizedResponse(truth=draw.uniform(0.5, 1), count=2),
    )
    return NumericalDP(draw.choice(events))


def tabulated(draw: random.Random) -> TabulatedDP:
    return TabulatedDP(draw.choice([approximate, gaussian, concentrated])(draw))


def group(draw: random.Random) -> GroupOf:
    return GroupOf(approximate(draw), draw.choice([1, 2, 3, 8]))


def worst(draw: random.Random) -> WorstOf:
    return WorstOf((gaussian(draw), approximate(draw), concentrated(draw)))


def points(draw: random.Random) -> PrivacyProfile:
    number = draw.choice([1, 2, 5])
    asked = ((between(draw, 0.01, 5), between(draw, 1e-9, 0.5)) for _ in range(number))
    return PrivacyProfile.of_points(asked)


def function(draw: random.Random) -> PrivacyProfile:
    rate, jump = between(draw, 0.1, 10), between(draw, 0.1, 2)
    falling = lambda epsilon: math.exp(-rate * epsilon) / 2  # noqa: E731
    steps = lambda epsilon: 0.25 if epsilon < jump else 0.125  # noqa: E731
    return PrivacyProfile(draw.choice([falling, steps]))


def trade_off(draw: random.Random) -> PrivacyProfile:
    own = ApproximateDP(between(draw, 0.1, 3), 0.1), PureDP(between(draw, 0.1, 3))
    return PrivacyProfile.of_trade_off(draw.choice([*own, GaussianDP(0.7)]).trade_off)


# What is rounded where: how far the two ways may be apart, and from which delta on they are asked
Made = Callable[[random.Random], Guarantee]
CLASSES: dict[str, tuple[Made, float, float]] = {
    "approximate": (approximate, 1e-9, 0.0),
    "pure": (lambda draw: PureDP(some_epsilon(draw)), 1e-9, 0.0),
    "gaussian": (gaussian, 1e-9, 0.0),
    "concentrated": (concentrated, 1e-7, 0.0),
    "renyi": (renyi, 1e-9, 0.0),
    "optimal": (optimal, 1e-6, 0.0),
    "of all orders": (of_orders, 1e-6, 0.0),
    "numerical": (numerical, 1e-6, 1e-200),
    "tabulated": (tabulated, 1e-9, 1e-14),  # the last delta of a table stays
    "group": (group, 1e-6, 0.0),
    "worst of several": (worst, 1e-7, 0.0),
    "points": (points, 1e-9, 0.0),
    "function": (function, 1e-9, 0.0),
    "trade-off": (trade_off, 1e-6, 1e-6),
}
UNITS = 5e-16  # of an epsilon: a double next to it may be as near to a delta that is steep there
DEAR = ("of all orders", "numerical", "trade-off", "group")


def disagreements(guarantee: Guarantee, draw: random.Random, off: float, least: float) -> list[str]:
    found = []
    for epsilon in (0.0, 0.1, 0.25, 1.7, 3.0, between(draw, 1e-6, 1), 1000.0):
        delta = guarantee.delta(epsilon)
        if least < delta < 1 or delta == 0:
            back = guarantee.epsilon(delta)
            if not back <= epsilon * (1 + off) + off:
                found.append(f"delta({epsilon!r}) = {delta!r}, whose epsilon is {back!r}")
    for delta in (some_delta(draw), some_delta(draw), 0.28, 0.1, 1e-5):
        epsilon = guarantee.epsilon(delta)
        if delta >= least and epsilon < math.inf:
            back = guarantee.delta(epsilon * (1 + UNITS))
            if not back <= delta * (1 + off) + 5e-324:
                found.append(f"epsilon({delta!r}) = {epsilon!r}, whose delta is {back!r}")
    return found


def of_seeds(name: str, seeds: range) -> list[str]:
    made, off, least = CLASSES[name]
    found = []
    for seed in seeds:
        draw = random.Random(f"{name} {seed}")
        guarantee = made(draw)
        found += [f"{guarantee}: {one}" for one in disagreements(guarantee, draw, off, least)]
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_an_epsilon_and_its_delta_agree(name):
    assert of_seeds(name, range(1 if name in DEAR else 25)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_an_epsilon_and_its_delta_agree_for_many(name):
    assert of_seeds(name, range(25, 50 if name in DEAR else 800)) == []


def test_every_class_of_guarantee_is_asked():
    def kinds(kind):
        return {kind, *(one for sub in kind.__subclasses__() for one in kinds(sub))}

    asked = {type(made(random.Random(0))) for made, *_ in CLASSES.values()}
    named = {kind for kind in kinds(Guarantee) if kind.__module__.startswith("dpaudit.")}
    assert asked == named - {Guarantee}


class LateDelta(GaussianDP):
    """A guarantee whose delta is a part in 10^6 too small for its epsilon."""

    def delta(self, epsilon: float) -> float:
        return super().delta(epsilon) * (1 - 1e-6)


def test_a_delta_that_is_a_little_too_small_is_seen():
    draw = random.Random(1)
    assert disagreements(GaussianDP(1.0), draw, 1e-9, 0.0) == []
    assert disagreements(LateDelta(1.0), draw, 1e-9, 0.0) != []


def test_a_curve_through_one_point_has_its_epsilon():
    """A flat curve meets its delta from there on: the first place counts, not the last."""
    curve = PrivacyProfile.of_points([(0.2, 0.03), (2.0, 1e-5)])
    assert curve.epsilon(0.03) == pytest.approx(0.2, abs=1e-9)
    assert curve.epsilon(1e-5) == pytest.approx(2.0, abs=1e-9)
    assert curve.epsilon(9e-6) == math.inf


def test_the_rounding_of_a_trade_off_function_leaves_its_epsilons_finite():
    curve = PrivacyProfile.of_trade_off(ApproximateDP(1.0, 0.1).trade_off)
    assert 0.1 <= curve.delta(1.0) <= 0.1 + 3e-12
    assert curve.epsilon(curve.delta(1.0)) == pytest.approx(1.0, abs=1e-6)
    pure = PrivacyProfile.of_trade_off(PureDP(1.0).trade_off)
    assert pure.epsilon(pure.delta(1.5)) <= 1.0 + 1e-6


def test_a_guarantee_is_named_by_what_it_was_made_of():
    table = TabulatedDP(GaussianDP(1.0))
    before = str(table)
    table.delta(0.3)
    assert str(table) == before == "TabulatedDP(exact=GaussianDP(mu=1))"


def test_a_table_of_what_mostly_fails_answers():
    table = TabulatedDP(ApproximateDP(0.5, 0.9))
    assert table.epsilon(0.95) <= 0.5
    assert 0.9 <= table.delta(1.0) <= 0.9 * (1 + 1e-12)
    assert TabulatedDP(ApproximateDP(0.5, 1 - 1e-12)).delta(0.0) <= 1


def test_between_points_a_curve_is_the_chord_over_the_exponential():
    """Of (0, 0.5) and (log 3, 0.1): over x = exp(epsilon) the chord is 0.5 - 0.2 (x - 1)."""
    curve = PrivacyProfile.of_points([(math.log(3), 0.1), (0.0, 0.5)])
    for x in (1.25, 2.0, 2.75):
        alone = 0.1 + 0.9 * (3 - x) / 4
        assert curve.delta(math.log(x)) == pytest.approx(min(0.5 - 0.2 * (x - 1), alone), abs=1e-12)
    assert curve.delta(math.log(2.0)) < 0.1 + 0.9 / 4
    assert (curve.delta(0.0), curve.delta(9.0)) == (0.5, 0.1)


@pytest.mark.parametrize("mu", [0.05, 0.7, 3.0])
def test_a_trade_off_function_is_enclosed_from_above(mu):
    for claim in (GaussianDP(mu), ApproximateDP(mu, 0.02)):
        curve = PrivacyProfile.of_trade_off(claim.trade_off)
        for epsilon in (0.0, 0.3 * mu, mu, 3 * mu):
            assert -1e-12 <= curve.delta(epsilon) - claim.delta(epsilon) < 1e-8


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 0.5 + 0.01 * x,
        lambda x: (1 - x * x) / 2,
        lambda x: max(0.0, 0.9 - x, 0.4 - 0.1 * x) - (0.01 if 0.2 < x < 0.21 else 0.0),
    ],
    ids=["rises", "is concave", "has a dent"],
)
def test_what_rises_or_is_not_convex_is_no_trade_off_function(function):
    with pytest.raises(InvalidArgument, match="trade-off function"):
        PrivacyProfile.of_trade_off(function).delta(0.5)
