"""Every answer of every kind beside its formula in 40 digits, at the ends of its domain as well."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction

import pytest
from flint import arb, ctx
from mpmath import mp

from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import gaussian, tangents
from dpaudit.guarantees.currency import currency_of, least_divergence
from dpaudit.guarantees.guarantee import GroupOf, Guarantee, require_fraction
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    _log_geometric_sum,
    bound_concentrated_epsilon,
    bound_concentrated_log_delta,
)


@pytest.fixture(autouse=True)
def _forty_digits():
    with mp.workdps(40):
        yield


def just_above(found: float, exact: mp.mpf, relative: float = 1e-12) -> bool:
    return bool(exact <= found <= exact + relative * (1 + abs(exact)))


def just_below(found: float, exact: mp.mpf, relative: float = 1e-12) -> bool:
    return bool(exact - relative * (1 + abs(exact)) <= found <= exact)


def points(count: int = 40, seed: int = 5) -> list[tuple[float, float, float]]:
    """Return an epsilon, a smaller one, and a probability, each time."""
    draw = random.Random(seed)
    large = [draw.uniform(0.05, 6) for _ in range(count)]
    return [(one, one * draw.random(), draw.uniform(0.001, 0.4)) for one in large]


# --- (epsilon, delta) -------------------------------------------------------------------------


def test_the_delta_of_a_point_is_that_of_its_dominating_pair():
    for large, small, delta in points():
        e, x, d = mp.mpf(large), mp.mpf(small), mp.mpf(delta)
        exact = d + (1 - d) * (mp.exp(e) - mp.exp(x)) / (1 + mp.exp(e))
        assert just_above(ApproximateDP(large, delta).delta(small), exact)


def test_the_epsilon_of_a_point_is_where_its_delta_is_reached():
    for large, small, delta in points(seed=6):
        claim = ApproximateDP(large, delta)
        target = claim.delta(small)
        e, d, t = mp.mpf(large), mp.mpf(delta), mp.mpf(target)
        exact = mp.log(mp.exp(e) - (t - d) / (1 - d) * (1 + mp.exp(e)))
        assert just_above(claim.epsilon(target), max(exact, mp.mpf(0)))


def test_a_point_at_its_ends():
    claim = ApproximateDP(1.0, 0.1)
    assert claim.delta(1.0) == claim.delta(700.0) == 0.1
    assert claim.epsilon(0.1) == 1.0
    assert claim.epsilon(math.nextafter(0.1, 0)) == math.inf
    assert claim.epsilon(math.nextafter(0.1, 1)) <= 1.0
    assert claim.epsilon(0.99) == 0.0
    assert ApproximateDP(0.0, 0.0).delta(0.0) == 0.0
    assert ApproximateDP(800.0, 0.0).delta(0.0) == 1.0


@pytest.mark.parametrize("rate", [0.0, 1e-6, 0.03, 0.2, 0.5, 0.9, 1.0])
def test_the_curve_of_a_point_is_its_higher_line(rate):
    for large, _, delta in points():
        e, d, r = mp.mpf(large), mp.mpf(delta), mp.mpf(rate)
        exact = max(0, 1 - d - mp.exp(e) * r, mp.exp(-e) * (1 - d - r))
        assert just_below(ApproximateDP(large, delta).trade_off(rate), exact)


@pytest.mark.parametrize("size", [2, 5])
def test_a_group_of_points_has_the_geometric_sum(size):
    for large, _, delta in points(seed=7):
        delta *= 1e-6
        group = ApproximateDP(large, delta).group(size)
        e = mp.mpf(large)
        exact = mp.mpf(delta) * sum(mp.exp(i * e) for i in range(size))
        if exact < 0.9:
            assert just_above(group.at_delta / float(exact), mp.mpf(1))
            assert just_above(group.at_epsilon, size * e)


def test_a_tiny_delta_is_multiplied_by_a_power_beyond_doubles():
    """Where exp(epsilon) overflows, and its product with delta or with a rate does not."""
    for large, delta in ((705.0, 1e-307), (720.0, 5e-324), (400.0, 1e-308), (760.0, 1e-323)):
        exact = mp.mpf(delta) * (1 + mp.exp(large))
        group = ApproximateDP(large, delta).group(2)
        assert isinstance(group, GroupOf) if exact >= 1 else just_above(group.at_delta, exact)
        rate = 1.5 * delta
        line = max(0, 1 - mp.mpf(delta) - mp.exp(large) * mp.mpf(rate))
        assert just_below(ApproximateDP(large, delta).trade_off(rate), line)


@pytest.mark.parametrize("epsilon", ["30.1", "300.1", "640.7", "0.7"])
def test_decimal_epsilons_are_rounded_for_the_number_that_was_written(epsilon):
    claim, e = ApproximateDP(float(epsilon), 0.0), mp.mpf(epsilon)
    for share in (0.1, 0.3, 0.5, 0.9, 0.99):
        rate = float(share * mp.exp(-e))
        for meant in (e, mp.mpf(float(epsilon))):
            line = max(1 - mp.exp(meant) * mp.mpf(rate), mp.exp(-meant) * (1 - mp.mpf(rate)))
            assert just_below(claim.trade_off(rate), line)
    for step in ("0.0001", "0.0003", "0.07"):
        smaller = e - mp.mpf(step)
        delta = (mp.exp(e) - mp.exp(smaller)) / (1 + mp.exp(e))
        assert just_above(claim.delta(float(smaller)), delta)


@pytest.mark.parametrize("epsilon", [0.0, 1e-14, 1e-6, 0.5, 30.0])
def test_the_geometric_sum_by_itself(epsilon):
    exact = mp.log(sum(mp.exp(i * mp.mpf(epsilon)) for i in range(7)))
    assert abs(_log_geometric_sum(epsilon, 7) - exact) < 1e-12


# --- pure, Gaussian -----------------------------------------------------------------------------


def normal_quantile(p: mp.mpf) -> mp.mpf:
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2.0, 30.0])
def test_a_pure_guarantee_has_the_mu_of_its_corner(epsilon):
    corner = 1 / (1 + mp.exp(mp.mpf(epsilon)))
    assert abs(PureDP(epsilon)._mu() + 2 * normal_quantile(corner)) < 1e-9
    assert ApproximateDP(epsilon, 0.0)._mu() == PureDP(epsilon)._mu()
    assert ApproximateDP(epsilon, 1e-9)._mu() == ApproximateDP(epsilon, 1e-9)._rho() == math.inf


def test_rho_of_pure_and_gaussian_guarantees_is_half_a_square():
    for value, _, _ in points():
        for one in (PureDP(value), ApproximateDP(value, 0.0), GaussianDP(value)):
            assert just_above(one._rho(), mp.mpf(value) ** 2 / 2, 1e-15)
        assert GaussianDP(value).as_zero_concentrated().rho == GaussianDP(value)._rho()
        assert PureDP(value).as_zero_concentrated().rho == PureDP(value)._rho()


@pytest.mark.parametrize("size", [3, 7])
def test_groups_are_rounded_up(size):
    for value, _, _ in points():
        assert just_above(GaussianDP(value).group(size).mu, size * mp.mpf(value), 1e-15)
        assert just_above(PureDP(value).group(size).at_epsilon, size * mp.mpf(value), 1e-15)
        rho = ZeroConcentratedDP(value).group(size).rho
        assert just_above(rho, size**2 * mp.mpf(value), 1e-15)


def normal(x: mp.mpf) -> mp.mpf:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def profile_of(mu: float, epsilon: float) -> mp.mpf:
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    return normal(m / 2 - e / m) - mp.exp(e) * normal(-m / 2 - e / m)


def test_the_gaussian_profile_is_enclosed():
    for mu, epsilon, delta in points(25):
        exact = profile_of(mu, epsilon)
        assert just_above(gaussian.delta_above(mu, epsilon), exact, 1e-15)
        assert just_below(GaussianDP(mu).delta_below(epsilon), exact, 1e-15)
        assert just_above(gaussian.log_delta_above(mu, epsilon), mp.log(exact), 1e-12)
        upper, lower = gaussian.epsilon_above(mu, delta), gaussian.epsilon_below(mu, delta)
        assert profile_of(mu, upper) <= delta
        assert lower == 0 or profile_of(mu, lower) > delta * (1 - mp.mpf(10) ** -15)
        assert lower <= upper <= lower + 1e-13 * (1 + lower)


def test_the_gaussian_curve_is_rounded_down():
    for mu, _, rate in points():
        exact = normal(-normal_quantile(mp.mpf(rate)) - mp.mpf(mu))
        assert just_below(gaussian.trade_off_below(mu, rate) / float(exact), mp.mpf(1), 1e-13)


@pytest.mark.parametrize("mu", [2000.0, 3e4])
def test_a_profile_far_out_is_enclosed_by_two_terms(mu):
    epsilon = mu * (mu / 2 + 3)
    with mp.workdps(60):
        x, y = mp.mpf(epsilon) / mu - mp.mpf(mu) / 2, mp.mpf(epsilon) / mu + mp.mpf(mu) / 2
        ratio = mp.sqrt(mp.pi / 2) * mp.exp(y * y / 2) * mp.erfc(y / mp.sqrt(2))
        exact = normal(-x) - mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi) * ratio
        assert just_above(gaussian.delta_above(mu, epsilon) / float(exact), mp.mpf(1), 1e-13)


@pytest.mark.parametrize("mu", [2**19 - 2, 2**19 + 3, 2**20 - 2, 2**23])
@pytest.mark.parametrize("x", [-3, 0, 2, 9])
def test_two_terms_of_a_profile_far_out_enclose_the_second_tail(mu, x):
    """The second tail is 1/y of the first there: in 200 digits nothing of it is rounded away."""
    epsilon = Fraction(mu) * (x + Fraction(mu, 2))
    with mp.workdps(200):
        low, high = mp.mpf(x), mp.mpf(x) + mu
        second = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator) * mp.erfc(
            high / mp.sqrt(2)
        )
        exact = (mp.erfc(low / mp.sqrt(2)) - second) / 2
        with ctx.workprec(2048):
            found = gaussian._enclose_gaussian_delta(Fraction(mu), epsilon)
            assert found.overlaps(arb(mp.nstr(exact, 150), 1e-140))
            assert found.rad() < 1e-21 * float(exact)


def test_without_a_shift_laws_are_one():
    assert gaussian.log_delta(0.0, 0.5) == -math.inf
    assert abs(gaussian.log_delta(0.0, -0.5) - math.log(-math.expm1(-0.5))) < 1e-15
    assert gaussian.delta_above(0.0, 0.0) == gaussian.delta_below(0.0, 0.0) == 0.0
    assert gaussian.epsilon_above(0.0, 0.3) == gaussian.epsilon_below(0.0, 0.3) == 0.0
    assert gaussian.trade_off_below(0.0, 0.3) == 0.7


@pytest.mark.parametrize(("rate", "missed"), [(0.0, 1.0), (1.0, 0.0)])
def test_a_gaussian_curve_at_its_ends(rate, missed):
    assert GaussianDP(1.0).trade_off(rate) == missed


# --- Renyi and concentrated ---------------------------------------------------------------------


@pytest.mark.parametrize("order", [1.3, 2.0, 17.0])
def test_one_order_says_what_its_formula_says(order):
    for divergence, epsilon, delta in points():
        a, d, e = mp.mpf(order), mp.mpf(divergence), mp.mpf(epsilon)
        guarantee = RenyiDP(order, divergence)
        log_delta = min(0, (a - 1) * (d - e + mp.log(1 - 1 / a)) - mp.log(a))
        assert just_above(guarantee.log_delta(epsilon), log_delta)
        exact = d + mp.log(1 - 1 / a) - (mp.log(mp.mpf(delta)) + mp.log(a)) / (a - 1)
        assert just_above(guarantee.epsilon(delta), max(exact, mp.mpf(0)))


@pytest.mark.parametrize("guarantee", [RenyiDP(2.0, 0.0), ZeroConcentratedDP(0.0)])
def test_laws_without_a_divergence_are_one(guarantee):
    assert guarantee.delta(0.0) == guarantee.epsilon(0.0) == 0.0
    assert guarantee.log_delta(0.0) == -math.inf
    assert guarantee._mu() == guarantee._rho() == 0.0


@pytest.mark.parametrize("guarantee", [RenyiDP(2.0, 0.1), ZeroConcentratedDP(0.1)])
def test_others_lose_any_epsilon_with_some_probability(guarantee):
    assert guarantee.epsilon(0.0) == guarantee._mu() == math.inf
    assert guarantee.delta(1e4) > 0
    assert guarantee.delta(0.0) <= 1


@pytest.mark.parametrize("order", [1.0, 0.5])
def test_an_order_of_one_is_none(order):
    with pytest.raises(InvalidArgument, match="order: got"):
        RenyiDP(order, 1.0)


@pytest.mark.parametrize("rho", [1e-3, 0.1, 2.0])
def test_a_concentrated_guarantee_takes_its_best_order(rho):
    """No order on a fine grid is better, and the answer is never below the best of them."""
    for epsilon in (0.5 * rho, 3 * rho, 10 * math.sqrt(rho)):
        exact = min(
            (a - 1) * (a * rho - epsilon + math.log1p(-1 / a)) - math.log(a)
            for a in (1 + 10 ** (k / 400) for k in range(-1600, 2400))
        )
        assert abs(bound_concentrated_log_delta(rho, epsilon) - min(0.0, exact)) < 1e-4 * abs(exact)
        undone = bound_concentrated_epsilon(rho, bound_concentrated_log_delta(rho, epsilon))
        assert undone <= epsilon * (1 + 1e-6) + 1e-9


def test_the_order_of_a_mild_concentrated_guarantee_is_bounded_by_a_closed_form():
    rho, log_delta = 1e-20, math.log(1e-13)  # its best order is beyond the grid
    exact = rho + 2 * math.sqrt(-rho * log_delta)
    assert exact <= bound_concentrated_epsilon(rho, log_delta) <= exact * (1 + 1e-14)


# --- what follows from what -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strong", "weak", "follows"),
    [
        (RenyiDP(3.0, 0.5), RenyiDP(2.0, 0.5), True),
        (RenyiDP(2.0, 0.5), RenyiDP(3.0, 0.5), False),
        (RenyiDP(3.0, 0.6), RenyiDP(2.0, 0.5), False),
        (ZeroConcentratedDP(0.25), RenyiDP(2.0, 0.5), True),  # by the order alone
        (PureDP(0.5), RenyiDP(9.0, 0.5), True),  # by pure DP alone
        (PureDP(0.51), RenyiDP(9.0, 0.5), False),
        (GaussianDP(0.5), GaussianDP(0.5), True),
        (ZeroConcentratedDP(0.5), ZeroConcentratedDP(0.5), True),
        (ZeroConcentratedDP(0.6), ZeroConcentratedDP(0.5), False),
        (PureDP(1.0), ApproximateDP(1.0, 0.0), True),
        (GaussianDP(1e-3), ApproximateDP(700.0, 0.0), False),
        (ApproximateDP(1.0, 1e-9), PureDP(700.0), False),
        (ApproximateDP(1.0, 0.0), PureDP(1.0), True),
    ],
)
def test_what_follows(strong, weak, follows):
    assert strong.implies(weak) is follows


# --- what every guarantee says ------------------------------------------------------------------


@dataclass(frozen=True)
class Steps(Guarantee):
    """A delta of 0.2 up to an epsilon of 1, of less than doubles hold up to 2, and 0 from there."""

    pure: float = 2.0

    def delta(self, epsilon):
        return 0.2 if epsilon < 1 else 0.0

    def epsilon(self, delta):
        return 0.0 if delta >= 0.2 else 1.0 if delta > 0 else self.pure


def test_a_delta_that_was_rounded_to_zero_counts_as_the_smallest_number():
    assert Steps().log_delta(0.5) == math.log(0.2)
    assert Steps().log_delta(1.5) == math.log(math.ulp(0.0))
    assert Steps().log_delta(2.0) == -math.inf


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_nothing_is_left_to_guess_where_the_prior_is_certain(prior):
    assert PureDP(1.0).success(prior) == 1.0
    assert PureDP(1.0).posterior(prior) == prior
    assert GaussianDP(1.0).posterior(prior, 0.1) == prior


def test_success_is_the_formula_rounded_up():
    for epsilon, _, rare in points():
        e, r = mp.mpf(epsilon), mp.mpf(rare)
        odds = (1 - r) / r
        gain = max(mp.mpf(0), (mp.exp(e) - odds) / (1 + mp.exp(e)))
        for prior in (rare, 1 - rare):
            found = PureDP(epsilon).success(prior)
            assert just_above(found, 1 - r + r * gain, 1e-9) or prior != rare
            assert abs(found - float(1 - r + r * gain)) < 1e-9


def test_a_share_of_outputs_lowers_the_belief_and_never_raises_it():
    claim = ApproximateDP(2.0, 0.0)
    all_outputs = claim.posterior(0.3)
    assert abs(all_outputs - 1 / (1 + 7 / 3 * math.exp(-2.0))) < 1e-12
    # where the truth is told with probability 0.88, half of the outputs say more
    assert claim.posterior(0.3, 1e-9) <= all_outputs
    assert claim.posterior(0.3, 0.95) < all_outputs - 0.01


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0])
def test_a_fraction_includes_its_ends(value):
    assert require_fraction("rate", value) == value


@pytest.mark.parametrize("value", [-1e-9, math.nextafter(1, 2), math.nan, True])
def test_what_is_no_fraction_is_refused(value):
    with pytest.raises(InvalidArgument, match="rate: got"):
        require_fraction("rate", value)


def test_a_group_of_a_group_is_their_product():
    assert GroupOf(PureDP(1.0), 2).group(3) == GroupOf(PureDP(1.0), 6)
    assert GroupOf(PureDP(1.0), 3)._mu() >= 3 * PureDP(1.0)._mu()
    assert GroupOf(PureDP(1.0), 3)._rho() == 4.5
    assert GroupOf(PureDP(0.1), 3).epsilon(0.0) == 0.3
    assert GroupOf(PureDP(0.1), 3).log_delta(0.3) == -math.inf
    assert GroupOf(PureDP(0.1), 3).log_delta(0.29) > -math.inf
    assert PureDP(0.5).replace_one() == PureDP(1.0)


# --- lines that no attack is above ----------------------------------------------------------------


def certain(epsilon: float) -> float:
    """Return log delta of (1, 0.05)-DP."""
    return math.log(ApproximateDP(1.0, 0.05).delta(epsilon))


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.26, 0.4, 0.7, 0.9])
def test_the_lowest_line_is_that_of_the_corner(rate):
    found = math.exp(tangents.find_tangent(certain, math.log(rate)).at(math.log(rate)))
    steep, shallow = 0.05 + math.e * rate, 1 - (0.95 - rate) / math.e
    assert abs(found - min(1.0, steep, shallow)) < 1e-6


def test_a_group_of_points_is_read_off_both_lines():
    """Two steps of (1, 0.05): e is 2 and delta 0.05 (1 + e) at the end, more before it."""
    delta = 0.05 * (1 + math.e)
    assert abs(math.exp(tangents.group_log_delta(certain, 2, 2.0)) - delta) < 1e-5
    assert abs(tangents.group_epsilon(certain, 2, math.log(1.0001 * delta)) - 2.0) < 1e-3
    before = math.exp(tangents.group_log_delta(certain, 2, 1.0))
    kink = 0.95 / (1 + math.e)  # of the curve, and the rate that its first line takes there
    rate = (kink - 0.05) / math.e
    assert abs(before - (0.05 + math.e * kink - math.e * rate)) < 1e-4
    assert tangents.group_epsilon(certain, 2, math.log(1e-3)) == math.inf


@pytest.mark.parametrize("above", [0.0, 1e-9, 0.5, 5.0, 39.0, 41.0, 800.0])
@pytest.mark.parametrize("below", [0.0, -1e-9, -0.5, -50.0, -800.0])
def test_two_lines_are_averaged_to_the_line_between_them(above, below):
    first, second = map(mp.mpf, tangents._log_weights(above, below))
    assert abs(mp.exp(first) + mp.exp(second) - 1) < 1e-7
    assert abs(mp.exp(first + above) + mp.exp(second + below) - 1) < 1e-7


def test_the_worst_loss_of_a_share_is_the_formula():
    exact = 1 - math.log(1 - 0.05 / 0.2)
    assert abs(tangents.worst_loss(certain, math.log(0.2)) - exact) < 1e-6
    assert tangents.worst_loss(certain, math.log(0.04)) == math.inf
    assert tangents._compute_tangent_loss(certain, math.log(0.04), 3.0) > 1e11


# --- currencies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1.5, 2.0, 6.0])
def test_the_least_divergence_with_an_event_is_that_of_two_outcomes(order):
    epsilon, delta = 1.2, 0.3

    def divergence(q):
        p = min(1.0, math.exp(epsilon) * q + delta)
        both = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
        return math.log(both) / (order - 1)

    most = 0.7 * math.exp(-epsilon)
    at = min(range(1, 20_001), key=lambda k: divergence(most * min(k / 20_000, 1.0))) / 20_000
    near = (min(1.0, at + k / 1e8) for k in range(-10_000, 10_001))
    exact = min(divergence(most * share) for share in near)
    found = least_divergence(order, epsilon, delta)
    assert exact * (1 - 1e-5) <= found < exact * (1 - 0.9e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (-1.0, 0.1), (2.0, 0.0)])
def test_an_event_of_nothing_has_no_divergence(epsilon, delta):
    assert least_divergence(2.0, epsilon, delta) == 0.0
    assert currency_of(GaussianDP(1.0)).value(epsilon, delta) == 0.0
    assert currency_of(ZeroConcentratedDP(1.0)).value(epsilon, delta) == 0.0


def test_rho_is_the_best_divergence_by_its_order():
    currency = currency_of(ZeroConcentratedDP(0.5))
    exact = max(least_divergence(a, 1.0, 0.2) / a for a in currency.orders)
    assert currency.value(1.0, 0.2) == exact > 0
    assert currency.share(1.0, 0.2) == exact / 0.5


def test_a_claim_of_nothing_is_passed_by_any_value():
    nothing = currency_of(ZeroConcentratedDP(0.0))
    assert nothing.share(0.0, 0.1) == 0.0
    assert nothing.share(1.0, 0.2) == 2.0 + nothing.value(1.0, 0.2) > 2


@pytest.mark.parametrize(
    ("other", "known"),
    [
        (RenyiDP(3.0, 0.2), 0.2),  # an order above
        (RenyiDP(1.5, 0.2), math.inf),  # an order below says nothing
        (RenyiDP(2.0, 0.2), 0.2),
        (ZeroConcentratedDP(0.1), 0.2),
        (PureDP(0.2), min(0.2, 2 * 0.02)),
        (ApproximateDP(0.2, 1e-9), math.inf),
    ],
)
def test_a_divergence_is_known_of_what_bounds_it(other, known):
    assert math.isclose(currency_of(RenyiDP(2.0, 1.0)).of(other, 0.0), known) or (
        known == math.inf == currency_of(RenyiDP(2.0, 1.0)).of(other, 0.0)
    )
