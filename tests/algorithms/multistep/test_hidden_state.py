"""Bounds for observers who see no inner model, against linear algebra over all the noise."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.stats import norm, ortho_group

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.averages import broadcast_mu
from dpaudit.algorithms.multistep.hidden_state import (
    InnerLoops,
    averages_mu,
    composition_mu,
    last_affine_mu,
    last_mu,
    of_directions,
)
from dpaudit.algorithms.problems.graphs import complete, ring, star
from dpaudit.algorithms.problems.losses import LINEAR
from dpaudit.algorithms.views.multistep import LinearMultiStep
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.neighbours import REPLACE_RECORD, Pair

from .affine import Affine, chain, figure_1, mahalanobis

CLOSE = 1e-9


def loops_of(rng, iterations=3, inner_steps=4, stiffness=None):
    """Return loops with weights in no order."""
    return InnerLoops(
        weights=np.exp(rng.uniform(-2, 2, size=(iterations, inner_steps))),
        stiffness=float(np.exp(rng.uniform(-2, 2))) if stiffness is None else stiffness,
        noise_multiplier=float(np.exp(rng.uniform(-1, 3))),
    )


def rows_of(loops, curvature):
    return chain(loops.weights, loops.stiffness, loops.noise_multiplier, curvature)


# --- affine instances: the formula is the covariance of all the noise -----------------------------


@pytest.mark.parametrize("seed", range(20))
def test_averages_and_last_models_agree_with_the_covariance(seed):
    rng = default_rng(seed)
    loops = loops_of(rng)
    for curvature in (0.0, 0.3, 1.0):
        rows = rows_of(loops, curvature)
        averages = mahalanobis(rows.mean(axis=1))
        assert averages_mu(loops, curvature) == pytest.approx(averages, rel=CLOSE)
        last = mahalanobis(rows[:, -1])
        assert last_affine_mu(loops, curvature) == pytest.approx(last, rel=CLOSE)
        everything = mahalanobis(rows.reshape(loops.steps, -1))
        assert composition_mu(loops) == pytest.approx(everything, rel=CLOSE)


@pytest.mark.parametrize("inner_steps", range(1, 13))
def test_a_quadratic_in_one_feature_at_every_number_of_inner_steps(inner_steps):
    loops = InnerLoops(weights=np.full((1, inner_steps), 1.0), stiffness=1.0, noise_multiplier=5.0)
    for curvature in (0.0, 0.25, 0.75):
        a = (1 - curvature) / 2
        shift, spread = (1 - a**inner_steps) / (1 - a), (1 - a ** (2 * inner_steps)) / (1 - a * a)
        exact = shift / math.sqrt(spread) / 5
        assert last_affine_mu(loops, curvature) == pytest.approx(exact, rel=1e-12)
        assert last_mu(loops, curvature, curvature) == pytest.approx(exact, rel=1e-12)
        inputs = np.array([(1 - a**s) / (1 - a) for s in range(1, inner_steps + 1)])
        average = inputs.sum() / math.sqrt((inputs**2).sum()) / 5
        assert averages_mu(loops, curvature) == pytest.approx(average, rel=1e-12)


def random_affine(seed, message, features=2):
    """Return an oracle of random Hessians on a random graph, and the loops of node 0."""
    rng = default_rng(seed)
    graph = (ring(3), star(3), complete(2))[seed % 3]
    n, low, high = graph.nodes, 0.1, 1.5
    spectra = rng.uniform(low, high, size=(n, features))
    turns = [ortho_group(features, seed=rng).rvs() for _ in range(n)]
    change = rng.standard_normal(features)
    change *= rng.uniform(0.3, 1.0) / np.linalg.norm(change)
    weights = np.exp(rng.uniform(-1, 1.5, size=(3, 3, n)))
    penalty, sigma = float(rng.uniform(0.05, 2)), 4.0
    oracle = Affine(
        adjacency=graph.adjacency,
        weights=weights,
        penalty=penalty,
        sigma=sigma,
        shares=np.ones(n),
        hessians=np.array([q.T @ np.diag(h) @ q for q, h in zip(turns, spectra, strict=True)]),
        change=change,
        message=message,
    )
    loops = InnerLoops(
        weights=weights[:, :, 0],
        stiffness=float(2 * penalty * graph.degrees[0]),
        noise_multiplier=sigma,
    )
    return oracle, loops, spectra[0], turns[0] @ change, (low, high)


@pytest.mark.parametrize("seed", range(12))
def test_in_a_network_directions_add_up_and_the_pull_cancels(seed):
    oracle, loops, spectrum, along, _ = random_affine(seed, "average")
    sent, final = oracle.mus()
    mus = [averages_mu(loops, h) for h in spectrum]
    assert of_directions(mus, along) == pytest.approx(sent, rel=CLOSE)
    assert final < composition_mu(loops)
    oracle, loops, spectrum, along, _ = random_affine(seed, "last")
    sent, final = oracle.mus()
    mus = [last_affine_mu(loops, h) for h in spectrum]
    assert of_directions(mus, along) == pytest.approx(sent, rel=CLOSE)
    assert final < composition_mu(loops)


@pytest.mark.parametrize("seed", range(40))
def test_no_random_network_with_quadratic_losses_is_above_the_bound_for_last_models(seed):
    oracle, loops, _, _, (low, high) = random_affine(seed, "last")
    assert oracle.mus()[0] <= last_mu(loops, low, high) * (1 + CLOSE)


def test_an_exact_view_of_the_network_is_the_same():
    """Fractions, and another derivation: `dpaudit.algorithms.views`."""
    data = Dataset(np.ones((3, 1)), [1, -1, 1], node_sizes=(1, 1, 1))
    algorithm = MultiStepADMM(
        graph=ring(3), iterations=3, inner_steps=2, noise_multiplier=2.0, loss=LINEAR
    )
    linear = LinearMultiStep(algorithm, seen="broadcast")
    whole = linear.network(data)
    view = whole.view(whole.eavesdropper(), [Fraction(2), 0, 0])
    found = averages_mu(InnerLoops.of(algorithm, data, 0), 1e-4 / 3)
    assert found == pytest.approx(float(view.mu.upper), rel=CLOSE)


# --- the averages ---------------------------------------------------------------------------------


def test_linear_losses_have_the_law_that_is_audited():
    data = Dataset(np.tile([1.0, 0.0], (7, 1)), np.ones(7), node_sizes=(2, 1, 4))
    pair = Pair(data, data.with_record(0, data.features[0], -1.0), REPLACE_RECORD)
    for message, mu in (("average", averages_mu), ("last", last_affine_mu)):
        algorithm = MultiStepADMM(
            graph=star(3), iterations=4, inner_steps=3, noise_multiplier=7.0, penalty=0.3,
            loss=LINEAR, regulariser_weight=0.6, message=message,
        )  # fmt: skip
        loops = InnerLoops.of(algorithm, data, 0)
        assert mu(loops, 0.2) == pytest.approx(broadcast_mu(algorithm, pair), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("nodes", [5, 100])
def test_at_the_size_of_figure_1_averaging_gains_a_tenth_and_no_proof_could_gain_more(
    epsilon, nodes
):
    loops = InnerLoops.of(*figure_1(epsilon, nodes), 0)
    proved, attained = (
        GaussianDP(mu).epsilon(1e-5)
        for mu in (composition_mu(loops), averages_mu(loops, 1e-4 / nodes))
    )
    assert 1.04 < proved / attained < 1.13


@pytest.mark.parametrize("seed", range(5))
def test_averages_of_one_step_and_of_stiff_nodes_are_worth_all_inner_models(seed):
    rng = default_rng(seed)
    assert averages_mu(loops := loops_of(rng, 5, 1), 0.5) == pytest.approx(composition_mu(loops))
    loops = loops_of(rng, 5, 4, stiffness=1e6)
    assert averages_mu(loops, 0.5) == pytest.approx(composition_mu(loops), rel=1e-3)


# --- the last models ------------------------------------------------------------------------------

numbers = st.floats(0.05, 20.0)


@st.composite
def smooth_loops(draw):
    weights = draw(st.lists(numbers, min_size=1, max_size=6))
    convexity = draw(st.floats(0.0, 2.0))
    loops = InnerLoops(
        weights=np.array([weights]), stiffness=draw(numbers), noise_multiplier=draw(numbers)
    )
    return loops, convexity, convexity + draw(st.floats(0.0, 30.0))


@settings(deadline=None, max_examples=200)
@given(smooth_loops(), st.floats(0.0, 1.0))
def test_between_every_quadratic_of_the_class_and_composition(asked, share):
    loops, convexity, smoothness = asked
    bound = last_mu(loops, convexity, smoothness)
    curvature = convexity + share * (smoothness - convexity)
    assert last_affine_mu(loops, curvature) <= bound * (1 + CLOSE)
    assert bound <= composition_mu(loops) * (1 + CLOSE)


def best_of_all_blocks(factors, scales):
    """Return the least sum of the theorem, over every division into blocks that is feasible."""
    steps, best = len(factors), math.inf
    for cuts in itertools.product([False, True], repeat=steps - 1):
        ends = [*(i + 1 for i, cut in enumerate(cuts) if cut), steps]
        shifts, first = np.zeros(steps), 0
        for end in ends:
            after = [math.prod(factors[r + 1 : end]) for r in range(first, end)]
            weight = np.array(after) * np.array(scales[first:end])
            shifts[first:end] = weight * weight.sum() / (weight**2).sum()
            shifts[first:end] *= scales[first:end]
            first = end
        gap, feasible = 0.0, True
        for factor, scale, shift in zip(factors, scales, shifts, strict=True):
            gap = factor * gap + scale - shift
            feasible &= gap >= -1e-9 * scale
        if feasible:
            best = min(best, float(((shifts / scales) ** 2).sum()))
    return best


@settings(deadline=None, max_examples=150)
@given(smooth_loops())
def test_the_shifts_are_the_best_there_are(asked):
    loops, convexity, smoothness = asked
    (factors,), scales = loops.factors(convexity, smoothness).tolist(), 1 / loops.curvatures[0]
    least = best_of_all_blocks(factors, scales)
    mu = last_mu(loops, convexity, smoothness) * loops.noise_multiplier
    assert mu**2 == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_no_feasible_shifts_do_better(seed):
    """Shifts drawn at random obey the theorem; none of them is below the bound."""
    rng = default_rng(seed)
    loops = loops_of(rng, 1, 5)
    smoothness = float(rng.uniform(0, 12))
    (factors,), scales = loops.factors(0.0, smoothness), 1 / loops.curvatures[0]
    best = math.inf
    for _ in range(3_000):
        gap, total = 0.0, 0.0
        for step, (factor, scale) in enumerate(zip(factors, scales, strict=True)):
            reach = factor * gap + scale
            shift = reach if step == 4 else reach * rng.random()
            gap, total = reach - shift, total + (shift / scale) ** 2
        best = min(best, total)
    assert last_mu(loops, 0.0, smoothness) * loops.noise_multiplier <= math.sqrt(best)


@pytest.mark.parametrize("seed", range(10))
def test_attained_by_a_quadratic_where_weights_are_long_and_grow_slowly(seed):
    rng = default_rng(seed)
    weights = 1.0 + np.cumsum(rng.uniform(0, 0.5, size=(3, 6)), axis=1)
    loops = InnerLoops(weights=weights, stiffness=1.0, noise_multiplier=3.0)
    assert last_mu(loops, 0.2, 1.5) == pytest.approx(last_affine_mu(loops, 0.2), rel=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("inner_steps", [10, 25])
def test_at_least_half_as_much_again_below_composition_where_nodes_are_stiff(ratio, inner_steps):
    """Stated beforehand: constant eta <= 2 rho |V|, smoothness <= 2 eta, 10 inner steps or more."""
    loops = InnerLoops(weights=np.ones((20, inner_steps)), stiffness=ratio, noise_multiplier=100.0)
    for smoothness in (0.0, 1.0, 2.0):
        assert composition_mu(loops) > 1.5 * last_mu(loops, 0.0, smoothness)
        proved, seen = (
            GaussianDP(mu).epsilon(1e-5)
            for mu in (last_mu(loops, 0.0, smoothness), composition_mu(loops))
        )
        assert seen > 1.5 * proved


def test_a_tail_that_forgets_or_explodes_is_no_trouble():
    forgets = InnerLoops(weights=np.ones((1, 3_000)), stiffness=0.0, noise_multiplier=1.0)
    assert last_mu(forgets, 1.0, 1.0) == 1.0
    assert last_mu(forgets, 0.9, 1.1) == pytest.approx(math.sqrt(1.1 / 0.9), rel=1e-12)
    assert last_mu(forgets, 0.0, 1e9) == pytest.approx(composition_mu(forgets), rel=1e-6)


# One feature, a nonlinear loss: the law of the last model by quadrature.


def densities(slope_of_pair, loops, grid):
    """Return the density of w^l on a grid under both gradients, from a public start at 0."""
    width = grid[1] - grid[0]
    laws = []
    for gradient in slope_of_pair:
        law, start = None, 0.0
        for eta in loops.weights[0]:
            unit = loops.stiffness + eta
            deviation = loops.noise_multiplier / unit
            if law is None:
                law = norm.pdf(grid, (eta * start - gradient(np.array(start))) / unit, deviation)
            else:
                mean = (eta * grid - gradient(grid)) / unit
                law = norm.pdf(grid[:, None], mean[None, :], deviation) @ law * width
        laws.append(law)
    return laws


KINKED = {
    "quadratic": (lambda w: 0.5 * w, lambda w: 0.5 * w + 1.0),
    "logistic label": (
        lambda w: 0.5 / (1 + np.exp(-w)) + 0.1 * w,
        lambda w: -0.5 / (1 + np.exp(w)) + 0.1 * w,
    ),
    "clipped": (
        lambda w: np.clip(w, -0.5, 0.5) + 0.1 * w,
        lambda w: np.clip(w + 3.0, -0.5, 0.5) + 0.1 * w,
    ),
    "clipped apart": (
        lambda w: np.clip(w - 0.5, -0.5, 0.5),
        lambda w: np.clip(w + 0.5, -0.5, 0.5),
    ),
}
CLASS = {
    "quadratic": (0.5, 0.5),
    "logistic label": (0.1, 0.225),
    "clipped": (0.1, 1.1),
    "clipped apart": (0.0, 1.0),
}


@pytest.mark.parametrize("inner_steps", [1, 2, 4])
@pytest.mark.parametrize("name", KINKED)
def test_the_exact_law_of_a_nonlinear_chain_is_within_the_bound(name, inner_steps):
    loops = InnerLoops(
        weights=0.7 + 0.4 * np.arange(inner_steps)[None], stiffness=0.5, noise_multiplier=0.8
    )
    grid = np.linspace(-12, 12, 1_601)
    p, q = densities(KINKED[name], loops, grid)
    width = grid[1] - grid[0]
    assert p.sum() * width == pytest.approx(1, abs=1e-7)
    bound = GaussianDP(last_mu(loops, *CLASS[name]))
    less = GaussianDP(0.9 * bound.mu)
    broken = False
    for epsilon in (0.0, 0.25, 0.5, 1.0, 2.0):
        for one, other in ((p, q), (q, p)):
            exact = float(np.maximum(one - math.exp(epsilon) * other, 0).sum() * width)
            assert exact <= bound.delta(epsilon) + 1e-4  # of the quadrature
            broken |= exact > less.delta(epsilon) + 1e-4
    assert broken or name != "quadratic"  # where the bound is attained, a smaller one is broken


def turned(w):
    """Flat where the loop starts, of slope 3 where the first step lands, flat beyond."""
    return 20 + 3 * np.clip(w + 5, -10, 0)


def turned_neighbour(w):
    """Above by 1 at the start, below by 1 where the first step lands."""
    return turned(w) + np.clip((w + 2) / 2, -1, 1)


def test_steps_that_overshoot_leak_what_the_smoothness_allows():
    """``eta - beta`` is -2 and ``C`` 2: the first shift changes its sign, and so does the second.

    The bound is attained, and one with the factor of the convexity alone is broken.
    """
    loops = InnerLoops(weights=np.ones((1, 2)), stiffness=1.0, noise_multiplier=1.0)
    grid = np.linspace(-25, 10, 1_751)
    p, q = densities((turned, turned_neighbour), loops, grid)
    width = grid[1] - grid[0]
    assert p.sum() * width == pytest.approx(1, abs=1e-7)
    bound, flat = (GaussianDP(last_mu(loops, 0.0, beta)) for beta in (3.0, 0.0))
    assert bound.mu == pytest.approx(math.sqrt(2), rel=1e-12)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        exact = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * width)
        assert exact == pytest.approx(bound.delta(epsilon), abs=1e-4)
        assert exact > flat.delta(epsilon) + 1e-3


@settings(deadline=None, max_examples=100)
@given(smooth_loops())
def test_a_step_s_factor_is_the_steepest_of_all_quadratics(asked):
    loops, convexity, smoothness = asked
    curvatures = np.linspace(convexity, smoothness, 21)
    steepest = np.max([np.abs(loops.kept(float(h))) for h in curvatures], axis=0)
    assert loops.factors(convexity, smoothness) == pytest.approx(steepest, rel=1e-12)


# --- refusals -------------------------------------------------------------------------------------


def test_bad_input_is_named():
    for wrong in (np.zeros((0, 0)), np.array([[0.0]]), np.array([[-1.0, 1.0]])):
        with pytest.raises(InvalidArgument, match=r"^weights: "):
            InnerLoops(weights=wrong, stiffness=1.0, noise_multiplier=1.0)
    algorithm, sizes = figure_1()
    with pytest.raises(InvalidArgument, match=r"^node: "):
        InnerLoops.of(algorithm, sizes, 5)
    with pytest.raises(InvalidArgument, match=r"^noise_multiplier: "):
        InnerLoops.of(algorithm.without_noise(), sizes, 0)
    with pytest.raises(InvalidArgument, match=r"^batch_size: "):
        InnerLoops.of(replace(algorithm, batch_size=3), sizes, 0)
    with pytest.raises(InvalidArgument, match=r"^message: "):
        replace(algorithm, message="first")
    loops = InnerLoops.of(algorithm, sizes, 4)
    for smoothness in (0.5, math.inf):
        with pytest.raises(InvalidArgument, match=r"^smoothness: "):
            last_mu(loops, 1.0, smoothness)
    with pytest.raises(InvalidArgument, match=r"^curvature: "):
        averages_mu(loops, -1.0)
    with pytest.raises(InvalidArgument, match=r"^change: "):
        of_directions([1.0, 1.0], [1.0, 1.0])
