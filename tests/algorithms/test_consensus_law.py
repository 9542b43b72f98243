"""The laws of the private variants: 50 digits, normalisation, residuals; and broken laws.

Every check is a function of the mechanism, so that broken ones go through the very same check and
have to fail it.
"""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy import stats

from algorithms import consensus_law, consensus_process, consensus_views
from algorithms.consensus import ConsensusADMM
from algorithms.graphs import Graph, complete, star
from algorithms.margin_problem import MarginProblem
from algorithms.norm_noise import draw, uniforms
from algorithms.schedules import Constant, Geometric
from algorithms.smooth_losses import LOGISTIC, SMOOTHED_HINGE
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.self_check import likelihood_ratio_checks
from dpaudit.mechanism import HasLaw
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_LABEL, REPLACE_RECORD, Pair

TRIALS = 20_000


def rng(seed=0):
    return np.random.default_rng(seed)


def make(**options):
    """Return a setting in which one record moves noise and determinant alike."""
    defaults = {
        "graph": complete(3),
        "iterations": 3,
        "penalty": Geometric(0.25, (1.0, 1.2, 1.1)),
        "dual_step": 0.2,
        "noise_rate": Geometric((0.9, 0.8, 1.0), 1.1),
        "loss_weight": 8.0,
        "regulariser_weight": 0.3,
    }
    return ConsensusADMM(**(defaults | options))


@pytest.fixture(scope="module")
def pair():
    """Return a pair whose record, at node 1, shrinks: the determinants differ systematically."""
    source = rng(5)
    features = source.standard_normal((12, 3))
    features /= np.linalg.norm(features, axis=1, keepdims=True) * (1 + 1e-12)
    data = Dataset(features, source.choice([-1.0, 1.0], 12), node_sizes=(3, 4, 5))
    return Pair(data, data.with_record(4, [0.1, 0.05, -0.1], -data.labels[4]), REPLACE_RECORD)


MECHANISMS = {
    "pp": lambda a: a.penalty_perturbation(),
    "dvp": lambda a: a.dual_variable_perturbation(),
    "pvp": lambda a: a.primal_perturbation(),
    "recycled": lambda a: a.recycled(0.2),
}
everywhere = pytest.mark.parametrize("variant", MECHANISMS)


# The 50-digit oracle: eq. (58)-(61) as printed, all nodes, determinants in full


def log_density(algorithm, data, path, slope, curvature, only_odd=False):
    """Return ``sum_t sum_i log p(f_i(t) | past)`` up to the noise's constant."""
    n, d = data.nodes, data.dimension
    C, rho = mpmath.mpf(algorithm.loss_weight), mpmath.mpf(algorithm.regulariser_weight)
    eta = algorithm.penalty.values(algorithm.iterations, n).tolist()
    alpha = algorithm.noise_rate.values(algorithm.iterations, n).tolist()
    theta = mpmath.mpf(algorithm.dual_step)
    vector = lambda values: mpmath.matrix([mpmath.mpf(float(v)) for v in values])  # noqa: E731
    f, lam = [vector(np.zeros(d))] * n, [vector(np.zeros(d))] * n
    neighbours = [np.flatnonzero(row) for row in algorithm.graph.adjacency]
    total = mpmath.mpf(0)
    for t in range(algorithm.iterations):
        new = [vector(row) for row in path[t]]
        for i in range(n):
            if only_odd and t % 2:
                continue
            rows, V, two = data.rows_of(i), len(neighbours[i]), 2 * mpmath.mpf(eta[t][i])
            B = data.node_sizes[i]
            loss, hessian = vector(np.zeros(d)), mpmath.zeros(d)
            for x, y in zip(data.features[rows], data.labels[rows], strict=True):
                x, y = vector(x), mpmath.mpf(float(y))
                margin = y * (new[i].T * x)[0]
                loss += y * slope(margin) * x
                hessian += curvature(margin) * x * x.T
            e = -(C / B * loss + rho / n * new[i] + 2 * lam[i]) / (two * V)
            for j in neighbours[i]:
                e -= (2 * new[i] - f[i] - f[j]) / (2 * V)
            jacobian = (C / B * hessian + rho / n * mpmath.eye(d)) / (two * V) + mpmath.eye(d)
            total += -mpmath.mpf(alpha[t][i]) * mpmath.norm(e) + mpmath.log(mpmath.det(jacobian))
        f = new
        for i in range(n):
            for j in neighbours[i]:
                lam[i] = lam[i] + theta / 2 * (f[i] - f[j])
    return total


def logistic_slope(m):
    return -1 / (1 + mpmath.exp(m))


def logistic_curvature(m):
    return 1 / ((1 + mpmath.exp(m)) * (1 + mpmath.exp(-m)))


def oracle_error(algorithm, pair, transcripts, only_odd=False):
    """Return the largest relative error of the privacy loss."""
    mechanism = algorithm.recycled(0.2) if only_odd else algorithm.penalty_perturbation()
    loss = mechanism.privacy_loss(transcripts, pair)
    worst = 0.0
    with mpmath.workdps(50):
        for value, path in zip(loss, transcripts, strict=True):
            p, q = (
                log_density(algorithm, data, path, logistic_slope, logistic_curvature, only_odd)
                for data in (pair.dataset, pair.neighbour)
            )
            worst = max(worst, float(abs((mpmath.mpf(float(value)) - (p - q)) / (p - q))))
    return worst


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_agrees_with_fifty_digits(seed):
    source = rng(seed)
    d, sizes = int(source.integers(1, 5)), tuple(source.integers(1, 6, 3).tolist())
    features = source.standard_normal((sum(sizes), d))
    features /= np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True)) * (1 + 1e-12)
    data = Dataset(features, source.choice([-1.0, 1.0], sum(sizes)), node_sizes=sizes)
    row = int(source.integers(sum(sizes)))
    other = data.with_record(row, features[row] * source.uniform(-0.5, 0.9), data.labels[row])
    pair = Pair(data, other, REPLACE_RECORD)
    algorithm = make(
        graph=star(3),
        penalty=Geometric(source.uniform(0.2, 2, 3), source.uniform(1, 1.2, 3)),
        loss_weight=float(source.uniform(0.5, 10)),
        noise_rate=Geometric(source.uniform(0.5, 5, 3), 0.9),
    )
    transcripts = algorithm.penalty_perturbation().sample(data, 3, source)
    assert oracle_error(algorithm, pair, transcripts) < 1e-9
    recycled = algorithm.recycled(0.2).sample(data, 2, source)
    assert oracle_error(algorithm, pair, recycled, only_odd=True) < 1e-9


def test_a_tiny_difference_keeps_its_digits(pair):
    moved = pair.dataset.features[4] * (1 - 1e-7)
    near = Pair(
        pair.dataset,
        pair.dataset.with_record(4, moved, pair.dataset.labels[4]),
        REPLACE_RECORD,
    )
    transcripts = make().penalty_perturbation().sample(pair.dataset, 3, rng(1))
    assert oracle_error(make(), near, transcripts) < 1e-6
    loss = make().penalty_perturbation().privacy_loss(transcripts, near)
    assert 0 < np.abs(loss).max() < 1e-5


def test_the_determinant_is_that_of_the_full_matrices(pair):
    records, changed = (
        data.signed_records[data.rows_of(1)] for data in (pair.dataset, pair.neighbour)
    )
    models = rng().standard_normal((7, 3))
    for loss in (LOGISTIC, SMOOTHED_HINGE):
        problem = MarginProblem(loss=loss, weight=2.0, curvature=0.6)
        drop = consensus_law.log_determinant_drop(problem, models, records, records[1], changed[1])
        full = [
            np.linalg.slogdet(problem.hessians(models, signed))[1] for signed in (records, changed)
        ]
        np.testing.assert_allclose(drop, full[0] - full[1], atol=1e-12)
        assert np.abs(drop).max() > 0.1


def test_blocks_of_trials_do_not_matter(pair, monkeypatch):
    transcripts = make().penalty_perturbation().sample(pair.dataset, 50, rng())
    loss = make().penalty_perturbation().privacy_loss(transcripts, pair)
    monkeypatch.setattr("algorithms.margin_problem._BLOCK", 1)
    again = make().penalty_perturbation().privacy_loss(transcripts, pair)
    np.testing.assert_allclose(again, loss, atol=1e-13)


# The law is a law


def likelihood_z(mechanism, pair, transcripts):
    """Return the z-score of ``E_Q e^L = 1`` on transcripts of Q."""
    ratio = np.exp(mechanism.privacy_loss(transcripts, pair))
    return float((ratio.mean() - 1) / (ratio.std() / np.sqrt(len(ratio))))


def residual_p_values(mechanism, transcripts, data):
    """Return p-values of uniformity of norms, directions and angles, and of no correlation."""
    residuals = mechanism.uniform_residuals(transcripts, data)
    kinds = residuals.reshape(-1, data.dimension).T
    p_values = [float(stats.kstest(kind, "uniform").pvalue) for kind in kinds]
    correlation = np.corrcoef(residuals.T)[np.triu_indices(residuals.shape[1], k=1)]
    squares = len(residuals) * np.sum(correlation**2)
    return [*p_values, float(stats.chi2.sf(squares, len(correlation)))]


@everywhere
@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTHED_HINGE], ids=lambda loss: loss.name)
def test_the_likelihood_ratio_is_normalised(variant, loss, pair):
    mechanism = MECHANISMS[variant](make(loss=loss))
    assert isinstance(mechanism, HasLaw)
    on_q = mechanism.sample(pair.neighbour, TRIALS, rng(2))
    on_p = mechanism.sample(pair.dataset, TRIALS, rng(3))
    assert abs(likelihood_z(mechanism, pair, on_q)) < 4
    assert abs(likelihood_z(mechanism, pair.swapped(), on_p)) < 4
    losses = [mechanism.privacy_loss(transcripts, pair) for transcripts in (on_p, on_q)]
    assert all(check.passed for check in likelihood_ratio_checks(*losses))
    assert losses[0].mean() > 0.05


@everywhere
def test_residuals_are_uniform_and_independent_on_the_dataset_alone(variant, pair):
    mechanism = MECHANISMS[variant](make())
    transcripts = mechanism.sample(pair.dataset, 4000, rng(4))
    assert min(residual_p_values(mechanism, transcripts, pair.dataset)) > 1e-4
    noisy = 2 if variant == "recycled" else 3
    assert mechanism.uniform_residuals(transcripts, pair.dataset).shape == (4000, noisy * 9)
    elsewhere = mechanism.sample(pair.neighbour, TRIALS, rng(5))
    assert min(residual_p_values(mechanism, elsewhere, pair.dataset)) < 1e-4


@everywhere
def test_a_swapped_pair_negates_the_loss(variant, pair):
    mechanism = MECHANISMS[variant](make())
    transcripts = mechanism.sample(pair.dataset, 50, rng())
    loss = mechanism.privacy_loss(transcripts, pair)
    swapped = mechanism.privacy_loss(transcripts, pair.swapped())
    np.testing.assert_allclose(swapped, -loss, atol=1e-9)


def test_the_published_bound_holds_where_its_condition_does(pair):
    algorithm = make(loss_weight=1.0, penalty=Constant(0.3))
    assert algorithm.meets_theorem41(pair.dataset)
    mechanism = algorithm.penalty_perturbation()
    bound = algorithm.published_bounds(pair.dataset)[-1]
    for one in (pair, pair.swapped()):
        loss = mechanism.privacy_loss(mechanism.sample(one.dataset, 2000, rng()), one)
        assert 0.1 * bound < np.abs(loss).max() <= bound


def test_only_the_node_of_the_record_counts(pair):
    """Other nodes' records cancel: changing them on both sides changes no loss."""
    mechanism = make().penalty_perturbation()
    transcripts = mechanism.sample(pair.dataset, 20, rng())
    one, other = (
        data.with_record(9, [0.2, 0.2, 0.1], 1.0) for data in (pair.dataset, pair.neighbour)
    )
    elsewhere = Pair(one, other, REPLACE_RECORD)
    np.testing.assert_array_equal(
        mechanism.privacy_loss(transcripts, elsewhere), mechanism.privacy_loss(transcripts, pair)
    )


# Recycled: only odd iterations cost


def test_even_iterations_of_recycled_admm_cost_nothing(pair):
    longer = make(iterations=4)
    transcripts = longer.recycled(0.2).sample(pair.dataset, 30, rng())
    whole = longer.recycled(0.2).privacy_loss(transcripts, pair)
    shorter = make(iterations=3).recycled(0.2).privacy_loss(transcripts[:, :3], pair)
    np.testing.assert_array_equal(whole, shorter)
    first = make(iterations=1).recycled(0.2).privacy_loss(transcripts[:, :1], pair)
    assert np.abs(whole - first).max() > 0.01


def test_an_even_broadcast_that_is_no_function_of_the_past_is_refused(pair):
    mechanism = make(iterations=4).recycled(0.2)
    transcripts = mechanism.sample(pair.dataset, 5, rng())
    transcripts[3, 1, 0, 0] += 1e-4
    with pytest.raises(InvalidArgument, match=r"transcripts\[3, 1\]: got .* off"):
        mechanism.privacy_loss(transcripts, pair)
    with pytest.raises(InvalidArgument, match=r"transcripts\[3, 1\]"):
        mechanism.uniform_residuals(transcripts, pair.dataset)


# Broken laws are caught


def wrong_determinant(factor):
    true = consensus_law.log_determinant_drop
    return lambda *args: factor * true(*args)


def wrong_shift(factor):
    true = consensus_law.noise_shift
    return lambda *args: factor * true(*args)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("log_determinant_drop", wrong_determinant(0)),
        ("log_determinant_drop", wrong_determinant(-1)),  # Zhang & Zhu's mapping: footnote 4
        ("noise_shift", wrong_shift(0.5)),
        ("noise_shift", wrong_shift(-1)),
    ],
    ids=["no determinant", "inverse determinant", "half a shift", "shift of the wrong sign"],
)
@pytest.mark.parametrize("variant", ["pp", "recycled"])
def test_a_broken_loss_is_caught(variant, name, broken, pair, monkeypatch):
    mechanism = MECHANISMS[variant](make())
    transcripts = mechanism.sample(pair.neighbour, TRIALS, rng(2))
    back = mechanism.sample(pair.dataset, TRIALS, rng(3))
    monkeypatch.setattr(consensus_law, name, broken)
    scores = [
        likelihood_z(mechanism, pair, transcripts),
        likelihood_z(mechanism, pair.swapped(), back),
    ]
    assert max(map(abs, scores)) > 5
    few = make().penalty_perturbation().sample(pair.dataset, 2, rng())
    assert oracle_error(make(), pair, few) > 1e-3


@pytest.mark.parametrize("factor", [0.5, -1.0])
def test_a_wrong_minimiser_shift_of_primal_perturbation_is_caught(factor, pair, monkeypatch):
    mechanism = make().primal_perturbation()
    transcripts = mechanism.sample(pair.neighbour, TRIALS, rng(2))
    true = consensus_views.norm_gain
    monkeypatch.setattr(consensus_views, "norm_gain", lambda e, shift: true(e, factor * shift))
    assert abs(likelihood_z(mechanism, pair, transcripts)) > 5


@everywhere
@pytest.mark.parametrize("off", [-1, 1])
def test_a_gamma_of_the_wrong_shape_is_caught(variant, off, pair, monkeypatch):
    def draw_wrongly(shape, rate, source):
        longer = draw((*shape[:-1], shape[-1] + off), rate, source)
        noise = draw(shape, rate, source)
        norms = np.linalg.norm(longer, axis=-1) / np.linalg.norm(noise, axis=-1)
        return noise * norms[..., None]

    monkeypatch.setattr(consensus_process, "draw", draw_wrongly)
    mechanism = MECHANISMS[variant](make())
    transcripts = mechanism.sample(pair.dataset, 4000, rng(4))
    assert min(residual_p_values(mechanism, transcripts, pair.dataset)) < 1e-4


def noise_error(algorithm, data):
    """Return how far the noise behind broadcasts is from the noise that was drawn."""
    transcripts = algorithm.penalty_perturbation().sample(data, 200, rng(6))
    rates = algorithm.noise_rate.values(3, 3)
    source = rng(6)
    drawn = [draw((200, 3, 3), rates[t], source) for t in range(3)]
    expected = [uniforms(noise, rates[t]) for t, noise in enumerate(drawn)]
    found = algorithm.penalty_perturbation().uniform_residuals(transcripts, data)
    return float(np.abs(found - np.stack(expected, axis=1).reshape(200, -1)).max())


def test_residuals_give_back_the_noise_unless_the_solver_is_loose(pair):
    assert noise_error(make(), pair.dataset) < 1e-8
    assert noise_error(make(tolerance=1e-3), pair.dataset) > 1e-4


def test_a_loose_solver_bends_the_law(pair):
    """Stopping early adds an error that depends on the data: the law no longer is the noise's."""
    loose = make(tolerance=0.2).penalty_perturbation()
    transcripts = loose.sample(pair.dataset, TRIALS, rng(4))
    assert min(residual_p_values(loose, transcripts, pair.dataset)) < 1e-4


# Refusals


@everywhere
def test_without_noise_there_is_no_law(variant, pair):
    mechanism = MECHANISMS[variant](make().without_noise())
    transcripts = mechanism.sample(pair.dataset, 2, rng())
    with pytest.raises(InvalidArgument, match="noise_rate: got None"):
        mechanism.privacy_loss(transcripts, pair)
    with pytest.raises(InvalidArgument, match="noise_rate: got None"):
        mechanism.uniform_residuals(transcripts, pair.dataset)


@everywhere
def test_what_has_no_law_here_is_refused(variant, pair):
    mechanism = MECHANISMS[variant](make())
    transcripts = mechanism.sample(pair.dataset, 2, rng())
    with pytest.raises(InvalidArgument, match=r"transcripts: got shape \(2, 2, 3, 3\)"):
        mechanism.privacy_loss(transcripts[:, :2], pair)
    shorter = replace(
        pair.dataset,
        features=pair.dataset.features[1:],
        labels=pair.dataset.labels[1:],
        node_sizes=(2, 4, 5),
    )
    with pytest.raises(InvalidArgument, match="relation: got add-remove-record"):
        mechanism.privacy_loss(transcripts, Pair(pair.dataset, shorter, ADD_REMOVE_RECORD))
    long_record = pair.dataset.with_record(4, [3.0, 0.0, 0.0], 1.0)
    with pytest.raises(InvalidArgument, match=r"norm of features\[4\]"):
        mechanism.privacy_loss(transcripts, Pair(pair.dataset, long_record, REPLACE_RECORD))


def test_a_flipped_label_is_a_neighbour_too(pair):
    flipped = pair.dataset.with_record(4, pair.dataset.features[4], -pair.dataset.labels[4])
    flip = Pair(pair.dataset, flipped, REPLACE_LABEL)
    transcripts = make().penalty_perturbation().sample(pair.dataset, 2, rng())
    assert oracle_error(make(), flip, transcripts) < 1e-9


def test_two_nodes_are_enough():
    data = Dataset([[1.0], [0.5], [-0.5]], [1, -1, 1], node_sizes=(2, 1))
    algorithm = make(
        graph=Graph(2, ((0, 1),)), penalty=Constant(0.5), noise_rate=Constant(1.0), iterations=1
    )
    mechanism = algorithm.penalty_perturbation()
    residuals = mechanism.uniform_residuals(mechanism.sample(data, 4000, rng()), data)
    assert stats.kstest(residuals.ravel(), "uniform").pvalue > 1e-4
