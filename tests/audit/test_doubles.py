"""What lowest bits certify stands beside the verdict: found where they tell, and never oftener."""

import re

import numpy as np
import pytest

import dpaudit
from dpaudit.attacks.distinguishers.lowest_bits import LOWEST_BITS
from dpaudit.auditing.distinguishers.lowest_bits import certify_lowest_bits
from tests.audit.quick_mechanisms import noisy_sum


def certified(p, q, alpha=0.05, tried=()):
    said = certify_lowest_bits(p, q, [0], (0.0, alpha), np.random.default_rng(5), tried)
    found = re.search(r"certify (?:at least ([\d.]+)|nothing) ", said[0])
    return float(found[1] or 0)


@pytest.mark.slow
def test_lowest_bits_of_a_right_sum_tell_it_apart_and_the_verdict_stands():
    pair = np.array([1.0]), np.array([0.0])
    result = dpaudit.audit(noisy_sum, *pair, epsilon=2.0, trials=1000)
    assert result.verdict == "not refuted"
    (said,) = [note for note in result.notes if note.startswith("Doubles: ")]
    assert float(re.search(r"at least ([\d.]+)", said)[1]) > 2.5 > result.measured.lower


def test_noise_on_a_grid_of_its_own_tells_nothing_by_its_lowest_bits():
    steps = np.random.default_rng(0).geometric(2**-8, (4, 2000))
    p, q = (steps[0] - steps[1]) / 2**8 + 1.0, (steps[2] - steps[3]) / 2**8
    assert certified(p, q) == 0
    noise = np.random.default_rng(0).laplace(size=(2, 2000))
    assert certified(noise[0] + 1, noise[1]) > 3


def test_bits_of_one_law_certify_anything_no_oftener_than_they_may():
    rng = np.random.default_rng(1)
    lower = [certified(*rng.laplace(size=(2, 400)), alpha=0.2) for _ in range(20)]
    assert sum(one > 0 for one in lower) <= 10  # at most 4 are due: more than 10 once in 2,000


@pytest.mark.parametrize(
    ("p", "tried"),
    [(np.arange(900.0), ()), (np.linspace(0, 1, 900), [LOWEST_BITS]), (np.linspace(0, 1, 99), ())],
)
def test_integers_few_outputs_and_audits_that_read_bits_have_no_such_line(p, tried):
    assert certify_lowest_bits(p, p, [0], (0.0, 0.05), np.random.default_rng(0), tried) == ()
    assert certify_lowest_bits(
        np.linspace(0, 1, 900), np.linspace(0, 1, 900), [0], (0.0, 0.05), np.random.default_rng(0)
    )
