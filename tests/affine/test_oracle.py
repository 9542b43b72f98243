"""The oracle itself, on recursions whose mu is known by hand."""

import numpy as np
import pytest

from tests.affine import oracle

PRIVATE, ONE = np.zeros(2), np.array([1.0, 0.0])


def seen(output):
    return output


def learned(recursion, change=ONE):
    return oracle.mu(recursion, PRIVATE, seen, change)


def test_a_message_has_its_change_over_its_noise():
    assert learned(lambda x, rng: x[0] + rng.normal(scale=0.5)) == pytest.approx(2.0, rel=1e-14)
    assert learned(lambda x, rng: 3 * x[0] + rng.normal(1.0, 2.0)) == pytest.approx(1.5, rel=1e-14)


def test_fresh_noise_adds_up_and_the_same_noise_does_not():
    def fresh(x, rng):
        return [x[0] + rng.standard_normal() for _ in range(9)]

    def same(x, rng):
        noise = rng.standard_normal()
        return [x[0] + noise for _ in range(9)]

    assert learned(fresh) == pytest.approx(3.0, rel=1e-14)
    assert learned(same) == pytest.approx(1.0, rel=1e-14)


def test_noise_that_cancels_hides_nothing():
    def cancelled(x, rng):
        noise = rng.standard_normal()
        return {"plus": x[0] + noise, "minus": [x[0] - noise]}

    assert learned(cancelled) == np.inf
    assert learned(cancelled, np.array([0.0, 1.0])) == 0.0


def test_a_hidden_number_blurs():
    def blurred(x, rng):
        noise = rng.standard_normal(2)
        return x[0] + noise[0] + 2 * noise[1]

    assert learned(blurred) == pytest.approx(1 / np.sqrt(5), rel=1e-14)


def test_a_rank_that_doubles_do_not_decide_is_no_answer():
    def close(x, rng):
        first, second = rng.standard_normal(2)
        return [x[0] + first, x[0] + first + 1e-9 * second]

    with pytest.raises(AssertionError, match="rank undecided"):
        learned(close)
