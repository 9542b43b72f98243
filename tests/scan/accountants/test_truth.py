"""Our own brackets and second opinions, against each other and against quadrature."""

import math

import mpmath
import pytest
from mpmath import mpf
from scipy.integrate import quad
from scipy.stats import norm

from dpaudit.scan.accountants import exact
from dpaudit.scan.accountants.cases import AccountantQuestion, make_question_grid, make_release_part
from dpaudit.scan.accountants.truth import ADD, REPLACE, Truth, bracket_of

CASES = (
    (make_release_part("gaussian", 2.0, count=9), 1.0),
    (make_release_part("laplace", 1.5), 0.3),
    (make_release_part("discrete-laplace", 2.0, count=4), 0.7),
    (make_release_part("discrete-gaussian", 2.0, count=4), 0.5),
    (make_release_part("discrete-gaussian", 0.7), 0.5),
    (make_release_part("response", 1.0, count=7), 2.0),
    (make_release_part("approximate", 0.3, 1e-3, count=5), 0.4),
    (make_release_part("sampled", 0.1, 0.8), 0.2),
)


def laplace_by_integral(shift, epsilon):
    """Return delta of two Laplace laws of scale 1 by the definition."""

    def excess(x):
        p, q = math.exp(-abs(x - shift)) / 2, math.exp(-abs(x)) / 2
        return max(0.0, p - math.exp(epsilon) * q)

    return quad(excess, -40, 40 + shift, points=[0, shift / 2, shift], limit=400)[0]


@pytest.mark.parametrize(("release", "epsilon"), CASES, ids=lambda x: str(x)[:60])
def test_closed_forms_lie_in_the_brackets(release, epsilon):
    truth = Truth((release,))
    bracket, second = truth.delta(epsilon), truth.second_delta(epsilon)
    assert "closed form" in second[1]
    assert bracket.lower * (1 - 1e-9) <= second[0] <= bracket.upper * (1 + 1e-9)
    inverse = truth.epsilon(float(second[0]))
    assert inverse.lower - 1e-6 <= epsilon <= inverse.upper + 1e-6


def test_discrete_laplace_by_its_own_masses():
    noise, epsilon = 2.0, 0.2
    masses = {x: math.tanh(0.5 / noise) * math.exp(-abs(x) / noise) for x in range(-400, 401)}
    direct = sum(max(0.0, masses[x - 1] - math.exp(epsilon) * masses[x]) for x in range(-399, 400))
    assert float(
        exact.compute_closed_form_delta(dict(make_release_part("discrete-laplace", noise)), epsilon)
    ) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("order", [1.5, 2.0, 5.0])
@pytest.mark.parametrize(("ratio", "noise"), [(0.1, 1.0), (0.5, 2.0)])
def test_renyi_divergence_of_a_sampled_release_by_quadrature(order, ratio, noise):
    def integrand(x):
        mixed = 1 - ratio + ratio * math.exp((2 * x - 1) / (2 * noise**2))
        return norm.pdf(x / noise) / noise * mixed**order

    moment = quad(integrand, -30, 40, epsabs=0, epsrel=1e-12, limit=500)[0]
    found = exact.compute_closed_form_renyi(dict(make_release_part("sampled", ratio, noise)), order)
    assert float(found) == pytest.approx(math.log(moment) / (order - 1), rel=1e-8)


@pytest.mark.parametrize("ratio", [1e-9, 0.01])
def test_renyi_divergence_of_a_large_order_is_less_than_of_all_records(ratio):
    """The last term of the sum alone is nearly all of it: the sample costs log(ratio)."""
    order = 100_000
    bracket = Truth((make_release_part("sampled", ratio, 1.0),)).renyi(order)
    alone = order / 2 + order / (order - 1) * math.log(ratio)
    assert bracket.lower <= alone * (1 + 1e-10)
    assert bracket.upper == pytest.approx(alone, rel=1e-9)
    assert bracket.upper < order / 2 - 4


def test_where_no_closed_form_is_known_the_lower_end_is_that_of_a_smaller_order():
    bracket = Truth((make_release_part("sampled", 0.1, 1.0),)).renyi(60.5)
    assert bracket.lower == pytest.approx(
        Truth((make_release_part("sampled", 0.1, 1.0),)).renyi(60.0).lower
    )
    assert bracket.lower < bracket.upper < bracket.lower * 1.01
    few = Truth((make_release_part("sampled", 0.5, 1000.0),)).renyi(
        500_000.0
    )  # too many terms count
    assert few.lower == 0 < few.upper


@pytest.mark.parametrize(
    "release",
    [
        make_release_part("laplace", 1.3),
        make_release_part("response", 0.8),
        make_release_part("discrete-gaussian", 1.1),
    ],
)
def test_renyi_divergence_tends_to_that_of_a_large_order(release):
    orders = [1.0001, 2.0, 30.0, 1e4]
    values = [float(exact.compute_closed_form_renyi(dict(release), order)) for order in orders]
    assert values == sorted(values)
    assert Truth((release,)).renyi(2.0).contains(values[1])


def test_sums_of_discrete_gaussians_have_the_moments_of_sums():
    first, masses = exact.discrete_gaussian(mpf(2), 6)
    with mpmath.workdps(60):
        total = mpmath.fsum(masses)
        second = mpmath.fsum(mass * (first + k) ** 2 for k, mass in enumerate(masses))
        one_first, one = exact.discrete_gaussian(mpf(2), 1)
        single = mpmath.fsum(mass * (one_first + k) ** 2 for k, mass in enumerate(one))
        assert abs(total - 1) < mpf(10) ** -50
        assert abs(second - 6 * single) < mpf(10) ** -50


@pytest.mark.parametrize(
    ("kind", "reveals"), [("laplace", laplace_by_integral), ("gaussian", None)]
)
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.5])
def test_a_replaced_record_moves_the_query_twice_as_far(kind, reveals, epsilon):
    """Its closed form is the one at half the noise, and for Laplace noise the integral as well."""
    noise = 1.25
    both = exact.compute_closed_form_delta(dict(make_release_part(kind, noise)), epsilon, 2)
    assert both == exact.compute_closed_form_delta(
        dict(make_release_part(kind, noise / 2)), epsilon
    )
    if reveals is not None:
        assert float(both) == pytest.approx(reveals(2 / noise, epsilon), abs=1e-9)


def test_a_replaced_record_is_at_least_as_revealing():
    for release in (
        (make_release_part("gaussian", 3.0),),
        (make_release_part("laplace", 3.0),),
        (make_release_part("sampled", 0.1, 1.0),),
    ):
        question = AccountantQuestion(release)
        added, replaced = bracket_of(question, ADD), bracket_of(question, REPLACE)
        assert replaced.lower >= added.lower
    assert replaced.upper == math.inf  # of a sample only a lower end is known


@pytest.mark.parametrize("ratio", [0.05, 1.0])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_of_a_sample_in_which_a_record_is_replaced_no_upper_end_is_known(ratio, relation):
    truth = Truth(
        (make_release_part("gaussian", 8.0), make_release_part("sampled", ratio, 4.0)), relation
    )
    unknown = relation == REPLACE and ratio < 1
    delta, epsilon = truth.delta(0.1), truth.epsilon(1e-5)
    assert 0 < delta.lower < 0.5
    assert 0 < epsilon.lower < 10
    assert (delta.upper == 1.0) == (epsilon.upper == math.inf) == unknown


def test_nothing_is_revealed_without_a_release_and_everything_without_noise():
    assert Truth((make_release_part("gaussian", 1.0, count=0),)).epsilon(1e-5).upper == 0
    assert Truth((make_release_part("sampled", 0.0, 0.0),)).epsilon(1e-5).upper == 0
    assert Truth((make_release_part("laplace", 0.0),)).epsilon(0.5).lower == math.inf
    assert Truth((make_release_part("laplace", 0.0),)).epsilon(1.0).upper == 0


def test_zero_concentration_lies_between_the_gaussian_release_and_the_conversion():
    bracket = Truth((make_release_part("concentrated", 0.5),)).epsilon(1e-5)
    assert bracket.lower == pytest.approx(4.377178, abs=1e-6)
    assert bracket.lower < bracket.upper < 5.5


@pytest.mark.slow
def test_every_question_of_the_grid_has_a_bracket():
    missing = [
        (question, found)
        for question in make_question_grid()
        if isinstance(found := bracket_of(question, ADD), str)
        and question.asks not in ("noise", "spent")
    ]
    assert {question.kind for question, _ in missing} <= {"mixed", "approximate", "concentrated"}
