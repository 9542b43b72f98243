"""Neighbours that differ in features: a bracket, held to quadrature and to draws."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import ring, star
from dpaudit.algorithms.problems.sample_losses import SQUARED as SQUARED_SAMPLE
from dpaudit.algorithms.problems.smooth_losses import SQUARED
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.algorithms.views.consensus import GaussianConsensus
from dpaudit.algorithms.views.features import ChangedFeatures, _bracket, _Diagonal
from dpaudit.algorithms.views.sharing import LinearSharing
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP

from .runs import differentiated, make_data


def diagonal(shift, spread):
    return _Diagonal(np.atleast_1d(shift), np.atleast_1d(spread), 0.0, 0.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("pair", [(0.5, 2.0), (0.0, 0.5), (1.0, 1.3), (-1.0, 0.2), (0.3, 1 - 1e-9)])
def test_one_coordinate_is_a_quadrature(pair, epsilon):
    shift, spread = pair

    def beyond(z):
        other = norm.pdf(z, shift, math.sqrt(spread))
        return max(0.0, norm.pdf(z) - math.exp(epsilon) * other)

    exact = quad(beyond, -9, 9, limit=2000, points=np.linspace(-8, 8, 40))[0]
    found = _bracket(diagonal(shift, spread), epsilon, 2**16)
    assert found.lower - 1e-9 <= exact <= found.upper + 1e-9
    assert found.width < 1e-3


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_equal_spreads_are_the_gaussian_profile(mu):
    for epsilon in (0.0, 1.0, 3.0):
        found = _bracket(diagonal([0.6 * mu, 0.8 * mu], [1.0, 1.0]), epsilon, 2**16)
        assert found.contains(GaussianDP(mu).delta(epsilon))
        assert found.width < 1e-3


def test_more_cells_are_closer():
    pair = diagonal([0.3, 0.1, 0.0], [1.2, 0.9, 1.5])
    widths = [_bracket(pair, 0.2, cells).width for cells in (2**10, 2**14, 2**18)]
    assert widths[0] > 8 * widths[1] > 64 * widths[2]


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
    networks = [consensus.network(one) for one in (data, other)]
    observer = networks[0].coalition(*who) if who else networks[0].eavesdropper()
    vectors = [consensus.data(one) for one in (data, other)]
    return ChangedFeatures(*networks, *vectors, observer, 0)


@pytest.mark.parametrize("who", [(), (1,), (2,)])
def test_delta_is_that_of_draws_with_the_densities_of_runs(who):
    consensus, data, other = consensus_pair()
    found = changed(consensus, data, other, who)
    laws = []
    for one in (data, other):
        slopes, sent = differentiated(lambda z, d=one: consensus.broadcasts(d, z), (4, 4, 1))
        view = found._views[0]
        part = slopes[np.ix_(view.rows, view.columns)]
        laws.append(multivariate_normal(sent[view.rows], part @ part.T))
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
    networks = [one[0].network(each) for each in data]
    vectors = [one[0].data(each) for each in data]
    unheard = ChangedFeatures(*networks, *vectors, networks[0].coalition(2), 1)
    assert unheard.delta(0.0).upper < 1e-6


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
    networks = [sharing.network(one) for one in (data, other)]
    vectors = [sharing.data(one) for one in (data, other)]
    found = ChangedFeatures(*networks, *vectors, networks[0].coalition(1), 0).delta(0.1)
    assert 0 < found.lower <= found.upper < 0.5
    assert found.width < 1e-3


# --- refusals ------------------------------------------------------------------------------------


def test_bad_arguments_are_refused():
    consensus, data, other = consensus_pair()
    found = changed(consensus, data, other, (1,))
    with pytest.raises(InvalidArgument, match="epsilon"):
        found.delta(-1.0)
    shorter = consensus.network(data).first(2)
    with pytest.raises(InvalidArgument, match="there"):
        ChangedFeatures(found.here, shorter, *(found.data_here,) * 2, found.observer, 0)


def test_what_cannot_be_diagonalised_is_refused():
    scales = np.full((4, 4), 0.4)
    scales[:, 0] = 1e-150
    with pytest.raises(ConvergenceError):
        changed(*consensus_pair(noise_scale=scales), ()).delta(1.0)
