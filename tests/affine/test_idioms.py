"""Ways in which linear recursions are written: each is read, and has the mu of the oracle."""

import numpy as np
import pytest
from scipy import signal

import dpaudit
from dpaudit.affine.form import NotAffine
from tests.affine import oracle
from tests.affine.idioms import IDIOMS, WEIGHTS
from tests.affine.whole_programs import PROGRAMS


def everything(output):
    return output


@pytest.mark.parametrize("name", [*IDIOMS, *PROGRAMS])
def test_an_idiom_has_the_mu_of_the_oracle(name, capsys):
    function = (IDIOMS | PROGRAMS)[name]
    expected = oracle.mu(function, np.zeros(4), everything, WEIGHTS)
    found = dpaudit.views(
        function, private=np.zeros(4), observers={"all": everything}, change=WEIGHTS
    ).mu("all")
    assert [found.lower, found.upper] == pytest.approx([expected] * 2, rel=1e-9)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, rng: x + rng.multivariate_normal(x, np.ones((2, 2))), "full rank"),
        (lambda x, rng: x + rng.multivariate_normal(x, [[1, 0.5], [0, 1]]), "not symmetric"),
        (
            lambda x, rng: x + rng.multivariate_normal(x, np.diag(x)),
            "the covariance of noise depends on",
        ),
        (
            lambda x, rng: x + np.random.default_rng(1).multivariate_normal([0, 0], np.eye(2)),
            "fixed seed",
        ),
    ],
)
def test_noise_of_a_covariance_that_tells_nothing_is_refused(function, reason):
    with pytest.raises(NotAffine, match=reason):
        dpaudit.views(function, private=np.zeros(2))


def test_a_release_of_correlated_outputs_has_the_mu_of_its_covariance():
    covariance, move = np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([1.0, 1.0])

    def release(x, rng):
        return x * move + rng.multivariate_normal([0.0, 0.0], covariance)

    expected = np.sqrt(move @ np.linalg.solve(covariance, move))
    found = dpaudit.views(release, private=0.0).mu("output")
    assert [found.lower, found.upper] == pytest.approx([expected] * 2, rel=1e-12)


def test_a_filter_with_a_state_or_along_another_axis_is_refused():
    def with_a_state(x, rng):
        return signal.lfilter([1.0], [1.0, 0.5], x + rng.standard_normal(2), zi=[1.0])[0]

    def along_rows(x, rng):
        return signal.lfilter([1.0], [1.0, 0.5], x[None, :] + rng.standard_normal((1, 2)))

    for function in (with_a_state, along_rows):
        with pytest.raises(NotAffine, match="lfilter has a state, or does not run along"):
            dpaudit.views(function, private=np.zeros(2))
