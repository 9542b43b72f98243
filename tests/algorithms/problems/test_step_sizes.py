"""Step sizes: eq. (23) as printed equals the form with the noise multiplier."""

import numpy as np
import pytest

from dpaudit.algorithms.multistep.algorithm import compute_theorem6_multiplier
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.losses import LOGISTIC
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.errors import InvalidArgument

SIZES = (5, 2, 9)
PUBLISHED = {"epsilon": 0.7, "delta": 1e-5}


@pytest.fixture(scope="module")
def published(reference):
    """Return eq. (23) as printed for three nodes, t = 3, l = 2, c_0 = 1.3 and diameter 4."""

    def make(c_2):
        return reference.published_eta(
            **PUBLISHED, steps=6, sizes=SIZES, d=3, diameter=4.0, c_0=1.3, c_1=1.0, c_2=c_2
        )

    return make


@pytest.fixture(scope="module")
def algorithm(make_algorithm):
    sigma = compute_theorem6_multiplier(**PUBLISHED, steps=6, constant=1.3)
    rule = DecayingStepSize(diameter=4.0)
    return make_algorithm(graph=complete(3), noise_multiplier=sigma, step_size=rule)


def test_equation_23_equals_its_published_form(algorithm, published, make_data):
    data = make_data(SIZES)
    # The sum of all L_i has slope at most n c_1 for the losses and lambda D for the regulariser.
    eta = published(c_2=3 * 1.0 + algorithm.regulariser_weight * 4.0)
    for k in (1, 2, 3):
        for r in (1, 2):
            expected = [eta(k, r, i) for i in range(3)]
            np.testing.assert_allclose(algorithm.eta(data, k, r), expected, rtol=1e-13)


def test_a_given_lipschitz_constant_takes_the_place_of_the_derived_one(published):
    rule = DecayingStepSize(diameter=4.0, objective_lipschitz=2.5)
    sigma = compute_theorem6_multiplier(**PUBLISHED, steps=6, constant=1.3)
    noise = np.sqrt(3) * 2 * sigma / np.array(SIZES)
    weights = rule.weights(4, objective_lipschitz=99.0, regulariser_weight=9.0, noise=noise)
    expected = [published(c_2=2.5)(2, 2, i) for i in range(3)]
    np.testing.assert_allclose(weights, expected, rtol=1e-13)


def test_the_published_noise_multiplier_is_equation_20(reference):
    ours = compute_theorem6_multiplier(0.5, 1e-6, steps=12, constant=1.7)
    theirs = reference.published_sigma(epsilon=0.5, delta=1e-6, steps=12, c_0=1.7)
    assert ours == pytest.approx(theirs, rel=1e-14)


def test_the_lipschitz_constant_bounds_the_objective(algorithm, make_data, make_algorithm):
    """``n c_1 + lambda D`` is no less than any slope of ``sum_i L_i`` in a ball of diameter D."""
    data, rng = make_data(SIZES), np.random.default_rng(0)
    ends = rng.standard_normal((2, 500, 3))
    ends *= 2.0 / np.linalg.norm(ends, axis=-1, keepdims=True)  # on the sphere of diameter 4
    one, other = (np.repeat(end[:, None, :], 3, axis=1) for end in ends)
    rise = np.abs(algorithm.objective(one, data) - algorithm.objective(other, data))
    slope = rise / np.linalg.norm(ends[0] - ends[1], axis=-1)
    assert slope.max() <= 3 * LOGISTIC.lipschitz + algorithm.regulariser_weight * 4.0


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: ConstantStepSize(0.0), "step_size"),
        (lambda: ConstantStepSize(np.nan), "step_size"),
        (lambda: DecayingStepSize(diameter=-1.0), "diameter"),
        (lambda: DecayingStepSize(objective_lipschitz=0.0), "objective_lipschitz"),
        (lambda: compute_theorem6_multiplier(0.0, 1e-5, 1), "epsilon"),
        (lambda: compute_theorem6_multiplier(1.0, 1.0, 1), "delta"),
    ],
)
def test_bad_parameters_are_refused(make, name):
    with pytest.raises(InvalidArgument) as refusal:
        make()
    assert refusal.value.name == name
