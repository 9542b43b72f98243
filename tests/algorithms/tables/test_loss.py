"""Cross-entropy and the z-update: against scipy, 50 digits and a Newton method of another kind."""

import mpmath
import numpy as np
import pytest

from dpaudit.algorithms.tables.loss import LOGISTIC, TOLERANCE, CrossEntropy
from dpaudit.errors import ConvergenceError, InvalidArgument

LOSSES = [LOGISTIC, CrossEntropy(2), CrossEntropy(3), CrossEntropy(5)]
EACH = pytest.mark.parametrize("loss", LOSSES, ids=["logistic", "2", "3", "5"])


def newton(loss, linear, penalty):
    """Return the minimiser of one row by damped Newton on the d_c x d_c system."""
    z = np.zeros(len(linear))
    for _ in range(500):
        p = loss.probabilities(z)
        hessian = np.diag(p) - np.outer(p, p) + penalty * np.eye(len(z))
        step = np.linalg.solve(hessian, p + penalty * z - linear)
        # The third derivative along u is at most the range of u times the second.
        size = np.sqrt(2) * np.linalg.norm(step)
        z = z - step * (np.log1p(size) / size if size > 1e-8 else 1)
    return z


@pytest.mark.sampled(4)
@EACH
@pytest.mark.parametrize("penalty", [0.03, 0.1, 1.0, 50.0])
def test_the_z_update_agrees_with_newton_on_the_full_system(loss, penalty):
    rng = np.random.default_rng(0)
    linear = 2 * rng.standard_normal((2, 4, loss.outputs))
    scores = loss.minimise(linear, penalty)
    for index in np.ndindex(2, 4):
        expected = newton(loss, linear[index], penalty)
        np.testing.assert_allclose(scores[index], expected, rtol=1e-9, atol=1e-9)


@EACH
@pytest.mark.parametrize("penalty", [1e-6, 1e-3, 0.1, 1.0, 1e3])
@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1e4])
def test_the_residual_is_as_stated(loss, penalty, size):
    linear = size * np.random.default_rng(1).standard_normal((3, 50, loss.outputs))
    scores = loss.minimise(linear, penalty)
    gradient = loss.probabilities(scores) + penalty * scores - linear
    assert np.abs(gradient).max() <= TOLERANCE * (1 + np.abs(linear).max())


@EACH
def test_diverging_rows_raise(loss):
    linear = np.zeros((2, 3, loss.outputs))
    linear[1, 2] = np.inf
    with pytest.raises(ConvergenceError, match="z-update: got infinite scores"):
        loss.minimise(linear, 1.0)
    ordinary = np.random.default_rng(1).standard_normal(linear.shape)
    with pytest.raises(ConvergenceError, match=r"z-update: got a residual of .* in trial \d, row"):
        loss.minimise(ordinary, 1e-10)  # z is of size 1e10: its last digits are not enough


@EACH
def test_probabilities_are_the_gradient(loss):
    rng, step = np.random.default_rng(2), 1e-6
    scores, targets = rng.standard_normal((2, 7, loss.outputs))
    for k in range(loss.outputs):
        move = step * np.eye(loss.outputs)[k]
        up, down = (loss.value(scores + sign * move, targets) for sign in (1, -1))
        expected = (loss.probabilities(scores) - targets)[:, k]
        np.testing.assert_allclose((up - down) / (2 * step), expected, atol=1e-8)


def test_values_to_fifty_digits():
    rng = np.random.default_rng(3)
    with mpmath.workdps(50):
        for b, z in zip([1.0, -1.0] * 5, 20 * rng.standard_normal(10), strict=True):
            ours = LOGISTIC.value(np.array([[z]]), LOGISTIC.targets(np.array([[b]])))[0]
            assert ours == pytest.approx(float(mpmath.log1p(mpmath.exp(-b * z))), abs=1e-14)
        for scores in 20 * rng.standard_normal((5, 3)):
            ours = CrossEntropy(3).value(scores, np.eye(3)[1])
            total = mpmath.fsum(mpmath.exp(s) for s in scores)
            exact = mpmath.log(total) - mpmath.mpf(scores[1])
            assert float(ours) == pytest.approx(float(exact), abs=1e-13)


def test_labels_are_encoded_two_apart():
    np.testing.assert_array_equal(LOGISTIC.encode(np.array([-1.0, 1.0])), [[-1], [1]])
    np.testing.assert_array_equal(CrossEntropy(3).encode(np.array([0.0, 2.0])), np.eye(3)[[0, 2]])


@pytest.mark.parametrize(
    ("loss", "labels", "message"),
    [
        (LOGISTIC, [1.0, 0.0], r"labels\[1\]: got 0.0, expected -1 or \+1"),
        (CrossEntropy(3), [3.0], r"labels\[0\]: got 3.0, expected a class from 0 to 2"),
        (CrossEntropy(3), [0.5], r"labels\[0\]: got 0.5"),
    ],
)
@pytest.mark.usefixtures("records_shown")
def test_unknown_labels_are_refused(loss, labels, message):
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        loss.encode(np.array(labels))


def test_a_margin_is_for_two_classes():
    with pytest.raises(InvalidArgument, match="classes: got 3"):
        CrossEntropy(3, margin=True)
    with pytest.raises(InvalidArgument, match="classes: got 1"):
        CrossEntropy(1)
