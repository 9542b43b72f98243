"""The score of broadcasts: exact where gradients are constant, better than a coarse one, sound."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.problems.losses import LINEAR
from dpaudit.attacks.canaries.audit import calibrate_multistep, claim_of, one_run_audit
from dpaudit.attacks.canaries.records import orthogonal_canaries
from dpaudit.attacks.canaries.scores import BroadcastLikelihood, Likelihood
from dpaudit.datasets import breast_cancer, split_evenly
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.one_run import draw_coins

NODES, DELTA = 3, 1e-5


@pytest.fixture(scope="module")
def data():
    return split_evenly(breast_cancer(), NODES, default_rng(0))


def run_of(algorithm, data, canaries, rng):
    """Return coins, all inner models of a run on them, and its broadcasts."""
    coins = draw_coins(len(canaries), rng)
    inner = algorithm.inner().sample(canaries.insert(data, coins), 1, rng)[0]
    shape = algorithm.iterations, algorithm.inner_steps, *inner.shape[1:]
    return coins, inner, inner.reshape(shape).mean(axis=1)


def brute_force(algorithm, data, canaries, inner, broadcasts):
    """Return every coin's log-likelihood ratio given the broadcasts, by one matrix a node.

    With a linear loss the inner models are ``L (c + noise)`` once the broadcasts' pull is put into
    c: L collects the products of the steps' factors. No filter, no recursion over variances.
    """
    others, count, inners = canaries.remove(data), algorithm.steps, algorithm.inner_steps
    state, laws = algorithm.start(others, 1), []
    for output in inner:
        still = replace(state, inner=np.zeros_like(state.inner))
        laws.append((state.iteration, state.inner_step, algorithm.step(still, others)))
        state = algorithm.advance(state, output[None])
    averaging = np.kron(np.eye(algorithm.iterations), np.full((1, inners), 1 / inners))
    ratios, sides = np.empty(len(canaries)), canaries.sides
    for node in range(NODES):
        eta = np.array([algorithm.eta(others, k, r)[node] for k, r, _ in laws])
        curvature = 2 * algorithm.penalty * algorithm.graph.degrees[node] + eta
        kept = (eta - algorithm.regulariser_weight / NODES) / curvature
        chain = np.array(
            [[np.prod(kept[j + 1 : i + 1]) * (j <= i) for j in range(count)] for i in range(count)]
        )
        seen = averaging @ chain
        scales = np.array([law.scale[node, 0] for *_, law in laws])
        units = scales / (2 * algorithm.loss.lipschitz * algorithm.noise_multiplier)
        slope = float(algorithm.loss.slope(np.zeros(1))[0])
        own = np.flatnonzero(canaries.nodes == node)
        middles = -slope * (sides[0][own] + sides[1][own]).sum(axis=0) / 2
        constant = np.stack([law.mean[0, node] for *_, law in laws]) + units[:, None] * middles
        above = broadcasts[:, node] - seen @ constant
        weighed = np.linalg.solve(seen @ np.diag(scales**2) @ seen.T, above)
        moved = seen @ units
        ratios[own] = -slope * (sides[0][own] - sides[1][own]) @ (moved @ weighed)
    return ratios


@pytest.mark.parametrize("partner", ["flipped", "empty"])
@pytest.mark.parametrize(("iterations", "inner_steps"), [(1, 1), (1, 4), (4, 3)])
def test_the_score_is_the_exact_ratio_for_a_linear_loss(data, partner, iterations, inner_steps):
    rng = default_rng(iterations)
    options = {"iterations": iterations, "inner_steps": inner_steps, "loss": LINEAR}
    algorithm = calibrate_multistep(8.0, DELTA, NODES, **options)
    canaries = orthogonal_canaries(data, 40, rng, partner)
    _, inner, broadcasts = run_of(algorithm, data, canaries, rng)
    scores = BroadcastLikelihood(algorithm, data)(broadcasts, canaries)
    exact = brute_force(algorithm, data, canaries, inner, broadcasts)
    assert np.abs(exact).max() > 0.1
    np.testing.assert_allclose(scores, exact, rtol=1e-6, atol=1e-9)


def test_one_inner_step_is_the_score_of_inner_models(data):
    rng = default_rng(1)
    algorithm = calibrate_multistep(8.0, DELTA, NODES, iterations=5, inner_steps=1)
    canaries = orthogonal_canaries(data, 40, rng)
    _, inner, broadcasts = run_of(algorithm, data, canaries, rng)
    found = BroadcastLikelihood(algorithm, data)(broadcasts, canaries)
    np.testing.assert_allclose(found, Likelihood(algorithm, data)(inner, canaries), rtol=1e-9)


def test_broadcasts_tell_nearly_as_many_coins_as_inner_models(data):
    algorithm, right = calibrate_multistep(10.0, DELTA, NODES), np.zeros(2)
    for seed in range(4):
        rng = default_rng(seed)
        canaries = orthogonal_canaries(data, 80, rng)
        coins, inner, broadcasts = run_of(algorithm, data, canaries, rng)
        seen = (
            (Likelihood(algorithm, data), inner),
            (BroadcastLikelihood(algorithm, data), broadcasts),
        )
        right += [np.mean((score(given, canaries) > 0) == (coins > 0)) / 4 for score, given in seen]
    assert right[1] > 0.75
    assert right[1] > right[0] - 0.05


@pytest.mark.slow
def test_a_run_without_the_canaries_certifies_nothing(data):
    class Silent:
        def sample(self, dataset, trials, rng):
            return algorithm.broadcast().sample(canaries.remove(data), trials, rng)

    algorithm, lower = calibrate_multistep(10.0, DELTA, NODES), []
    for seed in range(20):
        rng = default_rng(seed)
        canaries = orthogonal_canaries(data, 80, rng)
        found = one_run_audit(
            Silent(),
            BroadcastLikelihood(algorithm, data),
            data,
            canaries,
            claim_of(algorithm, "flipped"),
            delta=DELTA,
            plans=(50,),
            rng=rng,
        )
        lower.append(found.lower)
    assert np.mean(np.array(lower) > 0) <= 0.2
    assert max(lower) < 0.7


def test_the_output_of_another_view_is_refused(data):
    rng = default_rng(0)
    algorithm, canaries = calibrate_multistep(1.0, DELTA, NODES), orthogonal_canaries(data, 20, rng)
    _, inner, _ = run_of(algorithm, data, canaries, rng)
    with pytest.raises(InvalidArgument, match=r"^output: got 50 broadcasts"):
        BroadcastLikelihood(algorithm, data)(inner, canaries)
