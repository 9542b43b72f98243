"""diffprivlib, audited on the real library: honest, and held to half of its epsilon."""

import numpy as np
import pytest

from dpaudit import Pair, relation
from dpaudit.adapters.diffprivlib import DiffprivlibMechanism, DiffprivlibRelease
from dpaudit.testing import assert_not_refuted


def importable():
    """Return whether it imports: next to a scikit-learn that it does not know, it does not."""
    try:
        import diffprivlib  # noqa: F401
    except ImportError:
        return False
    return True


pytestmark = pytest.mark.skipif(
    not importable(),
    reason="diffprivlib is not installed or does not import: pip install 'dpaudit[diffprivlib]'",
)

ONE = Pair(np.array([0.0]), np.array([1.0]), relation("replace-record"))
RECORDS = Pair(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]), relation("replace-record"))


def laplace(seed):
    from diffprivlib.mechanisms import Laplace

    return Laplace(epsilon=2.0, sensitivity=1.0, random_state=seed)


def geometric(seed):
    from diffprivlib.mechanisms import Geometric

    return Geometric(epsilon=2.0, sensitivity=1, random_state=seed)


def noisy_sum(dataset, seed):
    from diffprivlib import tools

    return tools.sum(dataset, epsilon=2.0, bounds=(0.0, 1.0), random_state=seed)


MECHANISMS = [
    (DiffprivlibMechanism(laplace), ONE),
    (DiffprivlibMechanism(geometric, query=lambda data: int(data[0])), ONE),
    (DiffprivlibRelease(noisy_sum), RECORDS),
]


@pytest.mark.parametrize(("mechanism", "pair"), MECHANISMS)
def test_it_keeps_its_epsilon_and_not_half_of_it(mechanism, pair):
    found = assert_not_refuted(mechanism, pair, 2.0, 0.0, trials=1500)
    assert found.measured.lower > 1.0
    with pytest.raises(AssertionError, match=r"^refuted"):
        assert_not_refuted(mechanism, pair, 1.0, 0.0, trials=1500)


@pytest.mark.parametrize(("mechanism", "pair"), MECHANISMS)
def test_one_seed_gives_one_result(mechanism, pair):
    first, again = (mechanism.sample(pair.dataset, 5, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_model_is_a_release_of_its_coefficients():
    from diffprivlib.models import LinearRegression

    def release(dataset, seed):
        bounds = {"bounds_X": (0.0, 1.0), "bounds_y": (0.0, 1.0)}
        model = LinearRegression(epsilon=1.0, random_state=seed, **bounds)
        return model.fit(dataset[:, None], dataset).coef_

    pair = Pair(np.linspace(0, 1, 9), np.append(np.linspace(0, 1, 9)[:-1], 0.0), RECORDS.relation)
    assert_not_refuted(DiffprivlibRelease(release), pair, 1.0, 0.0, trials=200)
