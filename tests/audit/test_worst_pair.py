"""Pairs are ranked by their losses in both directions, by the size of these."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.estimators.worst_pair as worst_pair
from dpaudit.auditing.estimators.worst_pair import _from_losses
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.guarantees import gaussian
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.neighbours import Side

DELTA = 1e-5
CASE = SimpleNamespace(at_delta=DELTA)


class Losses:
    """Gives losses of either side, in place of a drawer."""

    def __init__(self, on_dataset, on_neighbour):
        self.on = {Side.DATASET: on_dataset, Side.NEIGHBOUR: on_neighbour}

    def losses(self, side, trials, purpose):
        return self.on[side][:trials]


def gaussian_losses(mu, rng, count=200_000):
    """Return losses of N(mu, 1) against N(0, 1), log p over q on both sides."""
    z = rng.normal(size=(2, count))
    return mu * z[0] + mu**2 / 2, mu * z[1] - mu**2 / 2


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_losses_of_gaussian_noise_promise_what_it_spends(mu):
    found = _from_losses(CASE, Losses(*gaussian_losses(mu, np.random.default_rng(3))), 200_000, "")
    assert found == pytest.approx([gaussian.epsilon_at(mu, np.log(DELTA))] * 2, rel=0.02)


def test_each_direction_is_that_of_its_own_losses():
    rng = np.random.default_rng(4)
    small, large = gaussian_losses(0.5, rng)[0], gaussian_losses(2.0, rng)[1]
    found = _from_losses(CASE, Losses(small, large), 200_000, "")
    expected = [gaussian.epsilon_at(mu, np.log(DELTA)) for mu in (0.5, 2.0)]
    assert found == pytest.approx(expected, rel=0.03)


def memory(tried, mechanism, pair, on_p, on_q, rng):
    """Learn which outputs the dataset had, by heart."""
    known = set(on_p.ravel().tolist())
    return [(None, lambda on: np.array([float(one in known) for one in on.ravel()]))]


@pytest.mark.parametrize("leaks", [False, True])
def test_pairs_are_ranked_on_outputs_that_no_attack_has_learned_on(monkeypatch, leaks):
    """What is known by heart tells nothing of other outputs, unless all outputs are alike."""
    rng = np.random.default_rng(5)

    def outputs(side, trials, purpose):
        if leaks:
            return np.full((trials, 1), float(side is Side.DATASET))
        return rng.normal(size=(trials, 1))

    monkeypatch.setattr(worst_pair, "for_mechanism", lambda *_: [])
    monkeypatch.setattr(worst_pair, "fit_distinguishers", memory)
    case = PrivacyCase(
        mechanism=None,
        pair=None,
        claimed=ApproximateDP(1.0, 0.0),
        at_delta=0.0,
        view="v",
        data="d",
        default_trials=1,
        parameters={},
    )
    drawer = SimpleNamespace(seed=0, outputs=outputs)
    found = worst_pair._from_events(case, drawer, Settings(), 400, "ranking")
    assert found > 2.0 if leaks else found < 0.1
