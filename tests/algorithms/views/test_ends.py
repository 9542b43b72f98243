"""Both ends of a view hold where they are pressed: residuals, primes, directions, rounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpaudit.algorithms.problems.graphs import ring, star
from dpaudit.algorithms.views import view as view_module
from dpaudit.algorithms.views.features import ChangedFeatures, _bracket, _Diagonal
from dpaudit.algorithms.views.gossip import Gossip
from dpaudit.algorithms.views.numbers import Residues, ranks
from dpaudit.algorithms.views.releases import SharingView, view
from dpaudit.algorithms.views.view import PRIMES, View

from .test_features import changed, consensus_pair


def gossip_view(scales=1.3, rounds=2, about=(1, 0, 0)):
    network = Gossip(ring(3), rounds, scales).network()
    return View(network, network.coalition(1), about)


@pytest.mark.parametrize("off", [0.3, -0.3])
def test_both_ends_pay_for_what_the_whitening_leaves_over(off, monkeypatch):
    """With ``X'SX = (1 + off) 1`` the bracket may be wide, and holds."""
    exact, original = gossip_view().mu, view_module._whitening

    def rough(noise):
        left, error = original(noise)
        scaled = left * arb(1 + off).sqrt()
        size = arb(noise.nrows()).sqrt()
        return scaled, error + abs(arb(off)) * size

    monkeypatch.setattr(view_module, "_whitening", rough)
    found = gossip_view()._enclosed(40)
    assert found.lower < exact.lower <= exact.upper < found.upper


def test_ends_are_rounded_outwards():
    for scales in (1.3, 0.7, 3.0, Fraction(1, 7)):
        found = gossip_view(scales, rounds=1).mu
        assert Fraction(found.lower) <= 1 / Fraction(scales) <= Fraction(found.upper)
        assert found.upper <= math.nextafter(math.nextafter(found.lower, 9), 9)


@pytest.mark.parametrize("prime", PRIMES)
def test_a_noise_that_vanishes_modulo_one_prime_is_noise(prime):
    seen = gossip_view((prime, prime, prime))
    assert ranks(Residues(prime), seen.seen(Residues(prime))) == (0, 1)
    assert not seen.infinite
    assert 0.5 < prime * seen.mu.lower <= prime * seen.mu.upper < 2


def test_a_change_that_one_round_alone_hides_is_not_hidden_by_proof():
    """Noise that enters once hides what is sent once, and not what is sent again without it."""
    once = Gossip(ring(3), 1, (1, 1, 1), noise="initial").network()
    quiet = Gossip(ring(3), 1, (0, 1, 1), noise="initial").network()
    both = (once.rounds[0], quiet.rounds[0])
    for rounds, hidden in (((both[0],), True), (both, False), (both[::-1], False)):
        network = type(once)(rounds, once.senders, once.data_owners, once.hears, once.names)
        seen = View(network, network.eavesdropper(), [1, 0, 0])
        assert seen._drowned() is hidden


def test_a_coalition_hears_what_each_of_it_hears():
    network = Gossip(star(4), 2, (1, 1, 1, 1)).network()
    alone, together = network.coalition(1), network.coalition(2, 0)
    assert together.hears == (network.hears[0] | network.hears[2]) - {0, 2}
    assert alone.hears == network.hears[1]
    assert network.coalition(0, 2).hears == together.hears


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_what_either_law_is_off_by_is_paid_for(epsilon):
    shift, spread = np.array([0.4]), np.array([1.5])
    exact = _bracket(_Diagonal(shift, spread, 0.0, 0.0), epsilon, 2**12)
    for p, q in ((1e-2, 0.0), (0.0, 1e-2), (1e-3, 2e-3)):
        found = _bracket(_Diagonal(shift, spread, p, q), epsilon, 2**12)
        cost = p + math.exp(epsilon) * q
        assert found.lower == pytest.approx(max(0.0, exact.lower - cost), abs=1e-12)
        assert found.upper == pytest.approx(exact.upper + cost, abs=1e-12)


def test_features_that_change_back_cost_as_much():
    """Delta is that of the worse direction, whichever dataset is named first."""
    consensus, data, other = consensus_pair()
    forth, back = (changed(consensus, *one, (1,)) for one in ((data, other), (other, data)))
    for epsilon in (0.0, 0.4):
        one, two = forth.delta(epsilon), back.delta(epsilon)
        assert one.lower == pytest.approx(two.lower, abs=1e-6)
        assert one.upper == pytest.approx(two.upper, abs=1e-6)
        ways = [_bracket(pair, epsilon, 2**14) for pair in forth._pairs]
        assert abs(ways[0].lower - ways[1].lower) > ways[0].width + ways[1].width or epsilon == 0


def test_means_that_leave_the_space_of_the_noise_are_told_apart():
    """The columns of both noises span one space, and the change of the mean is not in it."""
    consensus, data, other = consensus_pair(rounds=2)
    networks = [consensus.network(one) for one in (data, data)]
    vectors = [consensus.data(one) for one in (data, other)]
    scales = np.full((2, 4), 0.4)
    scales[0] = 0.0
    quiet = consensus_pair(rounds=2, noise_scale=scales)[0]
    silent = [quiet.network(data)] * 2
    observer = networks[0].coalition(1)
    assert not ChangedFeatures(*networks, *vectors, observer, 0).told_apart
    assert ChangedFeatures(*silent, *vectors, observer, 0).told_apart


def test_a_label_of_minus_one_and_one_moves_by_two():
    """What the release says of one label is the view of a change of 2, and linear in it."""
    given = SharingView(features=((0.5, 0.2), (0.1, -0.7)), blocks=(1, 1), observer=(0,), about=1)
    network = given.network()
    halves = View(network, network.coalition(0), [0, 1]).mu
    assert given.change(1) == [0.0, 2.0]
    assert view(given).sensitivity == pytest.approx(2 * halves.upper)
