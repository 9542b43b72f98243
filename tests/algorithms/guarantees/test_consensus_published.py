"""Consensus ADMM: the published formula by hand, and Figure 2 beside what is proved."""

import math

import numpy as np
import pytest

from dpaudit.accounting.events import ExponentialNormRelease, Sequence
from dpaudit.accounting.grid.numerical import numerical_epsilon
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.algorithms.consensus import releases as parameters
from dpaudit.algorithms.consensus.guarantees import node_updates
from dpaudit.algorithms.consensus.releases import node_updates as updates_of
from dpaudit.algorithms.consensus.releases import penalty_perturbation, publish_theorem41_epsilon
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
from dpaudit.datasets import Dataset

from .runs import algorithm


def test_the_published_formula_by_hand():
    """C (1.4 c_1 + alpha) / (eta V B): 1750 * 3.35 / (0.5 * 4 * 9044) = 5862.5 / 18088."""
    constant = parameters.PenaltyPerturbationParameters(
        penalty_ratio=1.0, rate_ratio=1.0, iterations=1
    )
    assert publish_theorem41_epsilon(constant, 0.0).epsilon == pytest.approx(
        5862.5 / 18088, rel=1e-12
    )
    grown = parameters.PenaltyPerturbationParameters(
        penalty_ratio=1.1, rate_ratio=1.2, iterations=2
    )
    second = 1750 * (0.35 + 3.6) / (0.55 * 4 * 9044)
    assert publish_theorem41_epsilon(grown, 0.0).epsilon == pytest.approx(
        5862.5 / 18088 + second, rel=1e-12
    )
    assert updates_of(constant)[0].published_bound == pytest.approx(5862.5 / 18088, rel=1e-12)


def test_the_published_formula_is_the_algorithm_s():
    run = algorithm(LOGISTIC, 3, 4)
    data = Dataset(np.zeros((7, 3)), np.ones(7), node_sizes=(5, 2))
    sums = [sum(u.published_bound for u in node) for node in node_updates(run, (5, 2))]
    assert max(sums) == pytest.approx(run.published_bounds(data)[-1], rel=1e-12)


@pytest.mark.parametrize(
    "options", [{"records": 100}, {"penalty_ratio": 0.99}, {"loss": "smoothed-hinge"}]
)
def test_where_the_theorem_s_conditions_fail_it_has_no_answer(options):
    given = parameters.PenaltyPerturbationParameters(**options)
    assert publish_theorem41_epsilon(given, 1e-5).epsilon == math.inf
    assert proved_guarantee(penalty_perturbation(given)).epsilon(0.0) < math.inf


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise_rate", "factor"), [(3.0, 15.0), pytest.param(5.0, 15.0, marks=pytest.mark.slow)]
)
def test_figure_2_after_50_iterations(noise_rate, factor):
    given = parameters.PenaltyPerturbationParameters(noise_rate=noise_rate)
    published = publish_theorem41_epsilon(given, 1e-5).epsilon
    proved = numerical_epsilon(penalty_perturbation(given), 1e-5, 2**14)
    assert proved.upper < published / factor
    assert proved.upper - proved.lower < 1e-3
    pure = sum(each.pure_bound() for each in updates_of(given))
    assert pure < published
    assert proved_guarantee(penalty_perturbation(given)).epsilon(0.0) == pytest.approx(pure)


def published(q1, q2, *, iterations=50, first=0, c1=0.25, factor=1.4, degree=4):
    """Return eq. (26) at Figure 2's setting, summed term by term."""
    return sum(
        1750 * (factor * c1 + 3 * q2**t) / (0.5 * q1**t * degree * 9044)
        for t in range(first, first + iterations)
    )


READINGS = {
    "as printed": (published(1.02, 1.01), 12.60),
    "exchanged": (published(1.01, 1.02), 20.00),
    "49 iterations": (published(1.02, 1.01, iterations=49), 12.41),
    "51 iterations": (published(1.02, 1.01, iterations=51), 12.79),
    "from t = 1": (published(1.02, 1.01, first=1), 12.47),
    "penalty alone": (published(1.02, 1.0), 10.39),
    "noise alone": (published(1.0, 1.01), 20.40),
    "noise in the ratio": (published(1.0, 1.01 / 1.02), 13.21),
    "without c_1": (published(1.02, 1.01, c1=0.0), 11.52),
    "twice 1.4": (published(1.02, 1.01, factor=2.8), 13.69),
    "degree 3": (published(1.02, 1.01, degree=3), 16.80),
    "degree 5": (published(1.02, 1.01, degree=5), 10.08),
}


@pytest.mark.parametrize("reading", READINGS)
def test_no_reading_of_1_02_and_1_01_gives_16_2(reading):
    value, written = READINGS[reading]
    assert value == pytest.approx(written, abs=0.006)
    assert abs(value - 16.2) > 0.5


def test_16_2_is_dual_variable_perturbation_with_one_noise_rate():
    dvp = parameters.Consensus(rate_ratio=1.0)
    assert publish_theorem41_epsilon(dvp, 0.0).epsilon == pytest.approx(16.2, abs=0.006)
    assert publish_theorem41_epsilon(dvp, 0.0).epsilon == pytest.approx(
        50 * 1750 * 3.35 / 18088, rel=1e-12
    )
    pp = parameters.PenaltyPerturbationParameters(rate_ratio=1.01)
    assert publish_theorem41_epsilon(pp, 0.0).epsilon == pytest.approx(
        READINGS["as printed"][0], rel=1e-12
    )
    assert published(1.02, 1.01, iterations=71) == pytest.approx(16.20, abs=0.006)


def test_the_logarithm_of_65_is_no_other_reading_either():
    a = [1750 * 0.25 / (9044 * (0.2 + 4 * 1.02**t)) for t in range(50)]
    total = published(1.02, 1.01, c1=0.0) - 2 * sum(math.log1p(-each) for each in a)
    assert total == pytest.approx(12.27, abs=0.006)


@pytest.mark.slow
def test_what_is_proved_of_penalty_perturbation_lies_above_what_losses_reach():
    """Opposite records and an almost linear loss: full shifts, no determinant, exactly composed."""
    updates = updates_of(parameters.PenaltyPerturbationParameters())

    def reached(share):
        releases = [
            ExponentialNormRelease(
                sensitivity=share * u.sensitivity, noise_rate=u.noise_rate, dimension=104
            )
            for u in updates
        ]
        return proved_guarantee(Sequence(tuple(releases))).epsilon(1e-5)

    linear = parameters.PenaltyPerturbationParameters(loss="linear")
    proved = proved_guarantee(
        penalty_perturbation(parameters.PenaltyPerturbationParameters())
    ).epsilon(1e-5)
    assert reached(1.0) == pytest.approx(0.7300, abs=1e-4)
    assert proved_guarantee(penalty_perturbation(linear)).epsilon(1e-5) == pytest.approx(
        reached(1.0), rel=1e-6
    )
    assert reached(0.5) == pytest.approx(0.3428, abs=1e-4)
    assert reached(1.0) < proved == pytest.approx(0.9005, abs=1e-4)
