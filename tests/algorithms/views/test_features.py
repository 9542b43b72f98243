"""Neighbours that differ in features: a bracket of delta, held to draws of runs."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dpaudit.affine.features import _bound_quadratic_delta
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import ring, star
from dpaudit.algorithms.problems.sample_losses import SQUARED as SQUARED_SAMPLE
from dpaudit.algorithms.problems.smooth_losses import SQUARED
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.algorithms.views.consensus import GaussianConsensus
from dpaudit.algorithms.views.sharing import LinearSharing
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import ConvergenceError, InvalidArgument

from .runs import differentiated, make_data, relabelled

# --- consensus ADMM ------------------------------------------------------------------------------


def halved(data, row=0):
    features = data.features.copy()
    features[row] *= 0.5
    return Dataset(features, data.labels, node_sizes=data.node_sizes)


def consensus_pair(graph=None, rounds=4, noise_scale=0.4):
    graph = graph or ring(4)
    data = make_data(graph)
    algorithm = ConsensusADMM(graph=graph, iterations=rounds, loss=SQUARED, dual_step=0.4)
    return GaussianConsensus(algorithm, noise_scale), data, halved(data)


def changed(consensus, data, other, who):
    here, there = (consensus.fixed_network(one) for one in (data, other))
    return here.against(there, *who)


@pytest.mark.parametrize("who", [(), (1,), (2,)])
def test_delta_is_that_of_draws_with_the_densities_of_runs(who):
    consensus, data, other = consensus_pair()
    found = changed(consensus, data, other, who)
    network = consensus.network(data)
    seen = network.coalition(*who) if who else network.eavesdropper()
    rows, columns = network.locate_view(network.view(seen, [0.0] * 4))
    laws = []
    for one in (data, other):
        slopes, sent = differentiated(lambda z, d=one: consensus.messages(d, z), (4, 4, 1))
        part = slopes[np.ix_(rows, columns)]
        laws.append(multivariate_normal(sent[rows], part @ part.T))
    rng = np.random.default_rng(1)
    for epsilon in (0.0, 0.3):
        estimates = []
        for here, there in (laws, laws[::-1]):
            drawn = here.rvs(200_000, random_state=rng)
            losses = here.logpdf(drawn) - there.logpdf(drawn)
            gains = np.maximum(0.0, -np.expm1(np.minimum(epsilon - losses, 0)))
            estimates.append((gains.mean(), gains.std() / np.sqrt(len(gains))))
        mean, error = max(estimates)
        bracket = found.delta(epsilon)
        assert bracket.lower - 4 * error < mean < bracket.upper + 4 * error
        assert 0 < bracket.lower
        assert bracket.width < 1e-3


def test_there_is_no_mu():
    assert not hasattr(changed(*consensus_pair(), (1,)), "mu")


def test_an_observer_who_is_the_node_or_sees_no_noise_tells_them_apart():
    assert changed(*consensus_pair(), (0,)).delta(5.0).lower == 1.0
    scales = np.full((4, 4), 0.4)
    scales[2, 0] = 0.0
    quiet = consensus_pair(noise_scale=scales)
    assert changed(*quiet, (1, 3)).told_apart
    assert changed(*quiet, (1,)).delta(1.0).upper < 1  # node 3's noise is in it


def test_who_hears_nothing_of_it_learns_nothing():
    one = consensus_pair(star(4), rounds=1)
    data = one[1], halved(one[1], row=2)  # a record of leaf 1
    unheard = changed(one[0], *data, (2,))
    assert unheard.delta(0.0).upper < 1e-6


def test_features_that_change_back_cost_as_much():
    """Delta is that of the worse direction, whichever dataset is named first."""
    consensus, data, other = consensus_pair()
    forth, back = (changed(consensus, *one, (1,)) for one in ((data, other), (other, data)))
    for epsilon in (0.0, 0.4):
        one, two = forth.delta(epsilon), back.delta(epsilon)
        assert one.lower == pytest.approx(two.lower, abs=1e-6)
        assert one.upper == pytest.approx(two.upper, abs=1e-6)
        ways = [_bound_quadratic_delta(pair, epsilon, 2**14) for pair in forth._pairs]
        assert abs(ways[0].lower - ways[1].lower) > ways[0].width + ways[1].width or epsilon == 0


def test_means_that_leave_the_space_of_the_noise_are_told_apart():
    """The columns of both noises span one space, and the change of the mean is not in it."""
    consensus, data, _ = consensus_pair(rounds=2)
    scales = np.full((2, 4), 0.4)
    scales[0] = 0.0
    quiet = consensus_pair(rounds=2, noise_scale=scales)[0]
    assert not changed(consensus, data, relabelled(data), (1,)).told_apart
    assert changed(quiet, data, relabelled(data), (1,)).told_apart


# --- ADMM sharing --------------------------------------------------------------------------------


def test_a_party_s_column_gets_a_bracket():
    rng = np.random.default_rng(4)
    features = rng.normal(size=(2, 3)) / 2
    moved = features.copy()
    moved[:, 0] *= 0.8
    data, other = (Dataset(one, [1.0, -1.0]) for one in (features, moved))
    risk = Risk(loss=SQUARED_SAMPLE, scaling="sum", regulariser_weight=0.5)
    sharing = LinearSharing(
        SharingADMM(block_sizes=(1, 2), iterations=4, risk=risk, noise=MessageNoise(0.5))
    )
    found = changed(sharing, data, other, (1,)).delta(0.1)
    assert 0 < found.lower <= found.upper < 0.5
    assert found.width < 1e-3
    assert changed(sharing, data, other, (0,)).told_apart  # the column is its own


# --- refusals ------------------------------------------------------------------------------------


def test_bad_arguments_are_refused():
    consensus, data, other = consensus_pair()
    found = changed(consensus, data, other, (1,))
    with pytest.raises(InvalidArgument, match="epsilon"):
        found.delta(-1.0)
    here = consensus.fixed_network(data)
    with pytest.raises(InvalidArgument, match="pair: got 12 numbers"):
        here.against(consensus.fixed_network(other).first(2), 1)


def test_what_cannot_be_diagonalised_is_refused():
    scales = np.full((4, 4), 0.4)
    scales[:, 0] = 1e-150
    with pytest.raises(ConvergenceError):
        changed(*consensus_pair(noise_scale=scales), ()).delta(1.0)
