"""Exponential-norm noise of known epsilon, through its law: white box, at any delta."""

import numpy as np
import pytest

from dpaudit.accounting.events import ExponentialNormRelease
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon
from dpaudit.algorithms.known_answer.norm import ExponentialNorm
from dpaudit.auditing.exact import exact_loss
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.case import PrivacyCase
from dpaudit.guarantees.kinds import PureDP


def found(known, delta, trials=500):
    mechanism, pair = known.with_law(), known.pair()
    case = PrivacyCase(
        mechanism=mechanism,
        pair=pair,
        claimed=PureDP(known.claimed_epsilon),
        at_delta=delta,
        view="the vector",
        data="made",
        default_trials=trials,
        parameters={},
    )
    return exact_loss.exact_loss(case, make_drawer(mechanism, pair, Executor(), 0), trials, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 8])
def test_at_delta_zero_it_is_the_claim_and_no_more(dimension):
    known = ExponentialNorm(epsilon=1.0, dimension=dimension)
    one = found(known, 0.0)
    assert one.trusted
    assert 1 - 1e-6 < one.lower <= 1


@pytest.mark.slow
def test_at_a_delta_it_is_the_accountant_s():
    known = ExponentialNorm(epsilon=2.0, dimension=3)
    release = ExponentialNormRelease(sensitivity=1.0, noise_rate=2.0, dimension=3)
    truth = bound_proved_epsilon(release, 1e-2).upper
    one = found(known, 1e-2)
    assert one.trusted
    assert 0.95 * truth < one.lower <= truth <= one.upper < 1.05 * truth


def test_its_law_is_that_of_what_it_draws():
    known = ExponentialNorm(epsilon=1.5, dimension=4)
    law, pair = known.with_law(), known.pair()
    drawn = known.sample(pair.dataset, 200, np.random.default_rng(0))
    np.testing.assert_allclose(law.privacy_loss(drawn[:, None], pair), known.score(drawn))


def test_the_mistake_has_no_such_law():
    with pytest.raises(InvalidArgument, match="exponential_radius"):
        ExponentialNorm(exponential_radius=True).with_law()
