"""What releases cost, against laws that are added up exactly: never less, and no more."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.proving.events.bound import Bound, bound_trace, cost_of_path
from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Part, Universe
from tests.proving.sketches import Sketch

UNIT = np.array(0.0), np.array(1.0)


def _universe(change: str = "replace", *, records: int | None = 5, whole: bool = False) -> Universe:
    part = Part("", (records,), *UNIT, is_integer=whole)
    return Universe((part,), records, change)  # type: ignore[arg-type]


def _bound(program: PathProgram, **given: object) -> Bound:
    return bound_trace(FunctionTrace(_universe(**given), (Path(program),)))  # type: ignore[arg-type]


LAWS: dict[str, stats.rv_continuous] = {
    "laplace": stats.laplace,
    "logistic": stats.logistic,
    "cauchy": stats.cauchy,
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_a_sum_costs_the_largest_log_ratio_of_densities(law: str, scale: float) -> None:
    own = Sketch()
    found = _bound(own.show(own("add", own.total(), own.scaled(law, scale)))).epsilon()
    t = np.linspace(-60, 60, 240_001)
    known = LAWS[law](scale=scale)
    exact = float(np.max(np.abs(known.logpdf(t) - known.logpdf(t - 1.0))))
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-6)


@pytest.mark.parametrize("law", ["laplace", "cauchy"])
def test_two_entries_cost_what_their_densities_do_together(law: str) -> None:
    own = Sketch()
    vector = own("concatenate", *(_row(own, own.total()) for _ in range(2)), shape=(2,), axis=0)
    noisy = own("add", vector, own.scaled(law, 2.0, (2,)), shape=(2,))
    t = np.linspace(-60, 60, 24_001)
    known = LAWS[law](scale=2.0)
    exact = 2 * float(np.max(np.abs(known.logpdf(t) - known.logpdf(t - 1.0))))
    found = _bound(own.show(noisy)).epsilon()
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-6)


def _row(own: Sketch, index: int) -> int:
    return own("reshape", index, shape=(1,))


def test_gaussian_noise_has_the_mu_of_its_distance() -> None:
    own = Sketch()
    found = _bound(own.show(own("add", own.total(), own.scaled("normal", 2.0))))
    assert found.mu == pytest.approx(0.5, rel=1e-12)
    assert found.rho == pytest.approx(0.125, rel=1e-12)
    assert found.epsilon(1e-5) == pytest.approx(GaussianDP(0.5).epsilon(1e-5), rel=1e-9)
    assert found.epsilon() == math.inf


def test_gaussian_noise_of_two_draws_has_the_sum_of_variances() -> None:
    own = Sketch()
    once = own("add", own.total(), own.scaled("normal", 3.0))
    found = _bound(own.show(own("subtract", once, own.scaled("normal", 4.0))))
    assert found.mu == pytest.approx(1 / 5, rel=1e-12)


def test_scales_by_entry_count_each_for_its_own() -> None:
    own = Sketch()
    vector = own("concatenate", *(_row(own, own.total()) for _ in range(2)), shape=(2,), axis=0)
    scales = own.constant([1.0, 4.0], (2,))
    noise = own("multiply", own.draw("laplace", (2,)), scales, shape=(2,))
    found = _bound(own.show(own("add", vector, noise, shape=(2,))))
    assert found.epsilon() == pytest.approx(1.25, rel=1e-12)


@pytest.mark.parametrize("law", ["exponential", "uniform", "gumbel"])
def test_noise_with_an_end_or_a_thin_tail_is_refused(law: str) -> None:
    own = Sketch()
    with pytest.raises(NotProved):
        _bound(own.show(own("add", own.total(), own.scaled(law, 2.0))))


@pytest.mark.parametrize("scale", [0.0, -0.0])
def test_noise_of_scale_0_is_refused(scale: float) -> None:
    own = Sketch()
    with pytest.raises(NotProved):
        _bound(own.show(own("add", own.total(), own.scaled("laplace", scale))))


def test_a_negative_scale_is_its_size() -> None:
    own = Sketch()
    assert _bound(own.show(own("add", own.total(), own.scaled("laplace", -2.0)))).epsilon() == (
        pytest.approx(0.5, rel=1e-12)
    )


def test_a_noisy_scale_without_a_bound_is_refused() -> None:
    own = Sketch()
    scale = own("add", own.total(), own.draw())
    noise = own("multiply", own.draw(), scale)
    with pytest.raises(NotProved):
        _bound(own.show(own("add", own.total(), noise)))


def test_a_noisy_scale_with_a_public_end_is_proved_by_it() -> None:
    own = Sketch()
    scale = own("maximum", own("add", own.total(), own.scaled("laplace", 2.0)), own.constant(4.0))
    noise = own("multiply", own.draw(), scale)
    found = _bound(own.show(own("add", own.total(), noise))).epsilon()
    assert found == pytest.approx(1 / 2 + 1 / 4, rel=1e-12)


# Whole numbers


def _geometric_difference(own: Sketch, p: float) -> int:
    one, other = (own.draw("geometric", p=p) for _ in range(2))
    return own("subtract", own("add", own.total(), one), other)


@pytest.mark.parametrize("p", [0.2, 0.7])
def test_a_difference_of_geometric_draws_costs_its_rate(p: float) -> None:
    own = Sketch()
    found = _bound(own.show(_geometric_difference(own, p)), whole=True).epsilon()
    k = np.arange(-60, 61)
    mass = stats.dlaplace(-math.log1p(-p)).logpmf
    exact = float(np.max(np.abs(mass(k) - mass(k - 1))))
    assert found == pytest.approx(exact, rel=1e-9)


def test_discrete_noise_on_numbers_that_are_not_whole_is_refused() -> None:
    own = Sketch()
    with pytest.raises(NotProved):
        _bound(own.show(_geometric_difference(own, 0.5)), whole=False)
    own = Sketch()
    half = own("multiply", own.total(), own.constant(0.5))
    noise = own.draw("discrete-laplace", rate=1.0)
    with pytest.raises(NotProved):
        _bound(own.show(own("add", half, noise)), whole=True)


def test_geometric_draws_of_other_laws_are_refused() -> None:
    own = Sketch()
    one, other = own.draw("geometric", p=0.5), own.draw("geometric", p=0.4)
    noisy = own("subtract", own("add", own.total(), one), other)
    with pytest.raises(NotProved):
        _bound(own.show(noisy), whole=True)


# Several releases


def test_counts_of_disjoint_groups_cost_what_one_does() -> None:
    own = Sketch(None)
    noisy = []
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.1)):
        above = own("less_equal", own.constant(low), own.records, shape=(None,))
        below = own("less", own.records, own.constant(high), shape=(None,))
        inside = own("logical_and", above, below, shape=(None,))
        count = own("sum", inside, axis=None)
        noisy.append(own("add", count, own.scaled("laplace", 2.0)))
    found = _bound(own.show(*noisy), change="add-remove", records=None).epsilon()
    assert 0.5 * (1 - 1e-9) <= found <= 1.5 * (1 + 1e-9)


def test_releases_of_one_record_each_cost_what_one_does() -> None:
    own = Sketch()
    noisy = [own("add", own.take(own.records, n), own.scaled("laplace", 2.0)) for n in range(5)]
    assert _bound(own.show(*noisy)).epsilon() == pytest.approx(0.5, rel=1e-9)
    own = Sketch()
    noisy = [own("add", own.take(own.records, n), own.scaled("normal", 2.0)) for n in range(5)]
    assert _bound(own.show(*noisy)).mu == pytest.approx(0.5, rel=1e-9)


def test_releases_add_up_and_halved_scales_are_not_proved() -> None:
    own = Sketch()
    noisy = [own("add", own.total(), own.scaled("laplace", 4.0)) for _ in range(4)]
    assert _bound(own.show(*noisy)).epsilon() == pytest.approx(1.0, rel=1e-12)
    own = Sketch()
    noisy = [own("add", own.total(), own.scaled("laplace", 2.0)) for _ in range(4)]
    assert _bound(own.show(*noisy)).epsilon() == pytest.approx(2.0, rel=1e-12)


def test_pure_and_gaussian_releases_cost_no_less_than_their_composition() -> None:
    own = Sketch()
    first = own("add", own.total(), own.scaled("laplace", 2.0))
    second = own("add", own.total(), own.scaled("normal", 2.0))
    found = _bound(own.show(first, second))
    epsilon = found.epsilon(1e-3)
    assert _composed_delta(0.5, 0.5, epsilon * 0.999) >= 1e-3 * 0.5
    assert _composed_delta(0.5, 0.5, epsilon) <= 1e-3 * (1 + 1e-6)


def _composed_delta(laplace: float, mu: float, epsilon: float) -> float:
    """Return the hockey-stick divergence of Laplace and Gaussian noise that both move."""

    def given(t: float) -> float:
        loss = abs(t - laplace) - abs(t)
        return 0.5 * math.exp(-abs(t)) * GaussianDP(mu).delta(max(epsilon - loss, 0.0))

    return float(integrate.quad(given, -40, 40, points=[0.0, laplace], limit=200)[0])


def test_a_later_release_may_depend_on_an_earlier_one() -> None:
    own = Sketch()
    first = own("add", own.total(), own.scaled("laplace", 2.0))
    coin = own("less", first, own.constant(2.0))
    asked = own("where", coin, own.total(), own("max", own.records, axis=None))
    found = _bound(own.show(first, own("add", asked, own.scaled("laplace", 2.0)))).epsilon()
    assert found == pytest.approx(1.0, rel=1e-9)


# Paths


def _path(own: Sketch, scales: tuple[float, ...], outcome: bool) -> Path:
    first = own("add", own.total(), own.scaled("laplace", 4.0))
    own("decide", own("less", first, own.constant(2.0)), outcome=outcome)
    later = [own("add", own.total(), own.scaled("normal", one)) for one in scales]
    return Path(own.show(first, *later), (outcome,))


def test_the_dearest_path_counts_and_deltas_are_not_compared() -> None:
    paths = (_path(Sketch(), (2.0,), True), _path(Sketch(), (4.0, 4.0, 4.0), False))
    found = bound_trace(FunctionTrace(_universe(), paths))
    assert found.epsilon(1e-5) == pytest.approx(0.25 + GaussianDP(0.5).epsilon(1e-5), rel=1e-9)
    assert found.epsilon() == math.inf


def test_a_claim_of_each_currency_is_proved_by_what_bounds_it() -> None:
    own = Sketch()
    found = _bound(own.show(own("add", own.total(), own.scaled("normal", 1.0))))
    assert found.proves(GaussianDP(1.0))
    assert not found.proves(GaussianDP(0.999))
    assert found.proves(ZeroConcentratedDP(0.5))
    assert not found.proves(ZeroConcentratedDP(0.499))
    assert not found.proves(PureDP(1.0))
    epsilon = GaussianDP(1.0).epsilon(1e-5)
    assert found.proves(ApproximateDP(epsilon, 1e-5))
    assert not found.proves(ApproximateDP(epsilon * 0.999, 1e-5))


# Selections: against integrals over the noise of the others.

_T = np.linspace(-40, 50, 6_001)
Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]
_CDF: dict[str, tuple[Curve, Curve]] = {
    "laplace": (stats.laplace.pdf, stats.laplace.cdf),
    "gumbel": (stats.gumbel_r.pdf, stats.gumbel_r.cdf),
    "exponential": (stats.expon.pdf, stats.expon.cdf),
    "logistic": (stats.logistic.pdf, stats.logistic.cdf),
}


def _chances(law: str, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability with which each score plus noise of scale 1 is the largest."""
    pdf, cdf = _CDF[law]
    found = []
    for n, score in enumerate(scores):
        others = np.prod([cdf(_T - one) for k, one in enumerate(scores) if k != n], axis=0)
        found.append(np.trapezoid(pdf(_T - score) * others, _T))
    return np.asarray(found)


def _selection(law: str, operation: str = "argmax", sign: str = "add") -> PathProgram:
    own = Sketch()
    scores = own(sign, own.records, own.draw(law, (5,)), shape=(5,))
    return own.show(own(operation, scores, axis=None))


def _columns(law: str) -> PathProgram:
    own = Sketch(5, 3)
    sums = own("sum", own.records, shape=(3,), axis=0)
    return own.show(own("argmax", own("add", sums, own.draw(law, (3,)), shape=(3,)), axis=None))


@pytest.mark.parametrize("law", _CDF)
def test_no_scores_are_chosen_from_at_a_higher_cost(law: str) -> None:
    part = Part("", (5, 3), np.zeros(3), np.ones(3))
    found = cost_of_path(_columns(law), Universe((part,), 5, "replace")).epsilon
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(25):
        scores = rng.choice([0.0, 1.0, 3.0, 8.0], size=3)
        moved = scores + rng.choice([-1.0, 1.0], size=3)
        ratios = np.log(_chances(law, scores) / _chances(law, moved))
        worst = max(worst, float(np.max(np.abs(ratios))))
    assert found == pytest.approx(2.0, rel=1e-9)
    assert 0.7 * found < worst <= found * (1 + 1e-4)


def test_one_score_that_moves_costs_half_of_all() -> None:
    assert _bound(_selection("gumbel")).epsilon() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("law", "operation", "sign", "proved"),
    [
        ("gumbel", "argmin", "subtract", True),
        ("gumbel", "argmin", "add", False),
        ("gumbel", "argmax", "subtract", False),
        ("exponential", "argmin", "subtract", True),
        ("exponential", "argmin", "add", False),
        ("laplace", "argmin", "add", True),
    ],
)
def test_the_smallest_is_the_largest_of_the_negatives(
    law: str, operation: str, sign: str, proved: bool
) -> None:
    program = _selection(law, operation, sign)
    if proved:
        assert _bound(program).epsilon() == pytest.approx(1.0, rel=1e-9)
    else:
        with pytest.raises(NotProved):
            _bound(program)


def test_a_selection_whose_scores_are_shown_is_a_release_of_all() -> None:
    own = Sketch()
    scores = own("add", own.records, own.draw("exponential", (5,)), shape=(5,))
    with pytest.raises(NotProved):
        _bound(own.show(own("argmax", scores, axis=None), own("max", scores, axis=None)))


def test_scores_with_noise_of_several_scales_have_no_rule_of_their_own() -> None:
    own = Sketch()
    scales = own.constant([1.0, 1.0, 1.0, 1.0, 0.1], (5,))
    noise = own("multiply", own.draw("gumbel", (5,)), scales, shape=(5,))
    scores = own("add", own.records, noise, shape=(5,))
    with pytest.raises(NotProved):
        _bound(own.show(own("argmax", scores, axis=None)))


# Draws by private probabilities


def _softmax(own: Sketch, slope: float, *, shifted: bool = False) -> int:
    scores = own("multiply", own.records, own.constant(slope), shape=(5,))
    if shifted:
        scores = own("subtract", scores, own("max", scores, axis=None), shape=(5,))
    weights = own("exp", scores, shape=(5,))
    return own("divide", weights, own("sum", weights, axis=None), shape=(5,))


@pytest.mark.parametrize("shifted", [False, True])
def test_a_choice_by_exponentials_costs_its_largest_log_ratio(shifted: bool) -> None:
    own = Sketch()
    p = _softmax(own, 0.5, shifted=shifted)
    own.program.add("draw", [p], shape=(), law="choice", number=0, count=5, replace=True)
    found = _bound(own.show(len(own.program.nodes) - 1)).epsilon()
    rng, worst = np.random.default_rng(2), 0.0
    for _ in range(300):
        x = rng.integers(0, 2, size=5).astype(float)
        y = np.where(np.arange(5) == 2, 1 - x[2], x)
        one, other = (np.exp(0.5 * v) / np.exp(0.5 * v).sum() for v in (x, y))
        worst = max(worst, float(np.max(np.abs(np.log(one / other)))))
    assert worst <= found <= 0.5 * (1 + 1e-9)


def test_probabilities_of_an_unknown_form_are_refused() -> None:
    own = Sketch()
    p = own("divide", own.records, own.constant(5.0), shape=(5,))
    own.program.add("draw", [p], shape=(), law="choice", number=0, count=5, replace=True)
    with pytest.raises(NotProved):
        _bound(own.show(len(own.program.nodes) - 1))


def test_a_coin_of_private_odds_costs_its_larger_log_ratio() -> None:
    own = Sketch()
    odds = own(
        "add", own("multiply", own.take(own.records, 0), own.constant(0.5)), own.constant(0.25)
    )
    own.program.add("draw", [odds], shape=(), law="bernoulli", number=0)
    found = _bound(own.show(len(own.program.nodes) - 1)).epsilon()
    assert found == pytest.approx(math.log(3), rel=1e-9)


def test_a_way_that_no_path_takes_is_refused() -> None:
    paths = (_path(Sketch(), (2.0,), True),)
    with pytest.raises(InvalidArgument):
        bound_trace(FunctionTrace(_universe(), paths))


@pytest.mark.parametrize("swapped", [False, True])
def test_a_uniform_draw_below_private_odds_is_such_a_coin(swapped: bool) -> None:
    own = Sketch()
    half = own("multiply", own.records, own.constant(0.5), shape=(5,))
    odds = own("add", half, own.constant(0.25), shape=(5,))
    sides = own.draw("uniform", (5,)), odds
    coins = own("less", *(sides[::-1] if swapped else sides), shape=(5,))
    assert _bound(own.show(coins)).epsilon() == pytest.approx(math.log(3), rel=1e-9)


def test_one_uniform_draw_below_two_private_odds_is_refused() -> None:
    own = Sketch()
    uniform = own.draw("uniform")
    coins = [own("less", uniform, own.take(own.records, n)) for n in range(2)]
    with pytest.raises(NotProved):
        _bound(own.show(*coins))


def test_odds_that_may_be_0_or_1_are_refused() -> None:
    own = Sketch()
    with pytest.raises(NotProved):
        _bound(own.show(own("less", own.draw("uniform"), own.take(own.records, 0))))


def test_a_private_coin_inside_of_a_noisy_sum_needs_no_odds() -> None:
    own = Sketch()
    coins = own("less", own.draw("uniform", (5,)), own.records, shape=(5,))
    noisy = own("add", own("sum", coins, axis=None), own.scaled("laplace", 2.0))
    assert _bound(own.show(noisy)).epsilon() == pytest.approx(0.5, rel=1e-9)


def test_one_uniform_draw_below_the_odds_of_all_records_is_refused() -> None:
    own = Sketch()
    half = own("multiply", own.records, own.constant(0.5), shape=(5,))
    odds = own("add", half, own.constant(0.25), shape=(5,))
    with pytest.raises(NotProved):
        _bound(own.show(own("less", own.draw("uniform"), odds, shape=(5,))))
