"""Consensus ADMM and its variants, held to a loop written from the papers."""

import numpy as np
import pytest

from dpaudit.algorithms.problems.schedules import Constant, Geometric
from dpaudit.algorithms.problems.smooth_losses import SMOOTH_LOSSES

from .loop import VARIANTS, Loop, make, noise_of, rng


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loss", SMOOTH_LOSSES.values(), ids=SMOOTH_LOSSES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_loop_agrees(variant, loss, small):
    algorithm, (mechanism, every) = make(loss=loss), VARIANTS[variant]
    outputs = mechanism(algorithm).sample(small, 4, rng(7))
    noise = noise_of(algorithm, small, 4, 7, every)
    loop = Loop(algorithm, small)
    expected = np.stack([loop.run(noise[:, r], variant, gamma=0.3) for r in range(4)])
    np.testing.assert_allclose(outputs, expected, atol=1e-7)
    assert np.abs(outputs).max() > 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"dual_step": 0.225},
        {"penalty": Constant(0.55)},
        {"loss_weight": 6.0},
        {"regulariser_weight": 0.8},
        {"noise_rate": Geometric(2.0, 1.0)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_loop_tells_other_parameters_apart(wrong, small):
    outputs = make(**wrong).penalty_perturbation().sample(small, 1, rng(7))
    expected = Loop(make(), small).run(noise_of(make(), small, 1, 7)[:, 0], "pp")
    assert np.abs(outputs[0] - expected).max() > 1e-3


def test_with_eta_equal_to_theta_penalty_perturbation_is_dual_variable_perturbation(small):
    algorithm = make(penalty=Constant(0.45), dual_step=0.45)
    outputs = algorithm.penalty_perturbation().sample(small, 3, rng(8))
    same = make(dual_step=0.45).dual_variable_perturbation().sample(small, 3, rng(8))
    np.testing.assert_array_equal(outputs, same)
    noise = noise_of(algorithm, small, 3, 8)
    on_the_dual = [Loop(algorithm, small).run(noise[:, r], "dvp") for r in range(3)]
    np.testing.assert_allclose(outputs, on_the_dual, atol=1e-7)
    other = make().penalty_perturbation().sample(small, 3, rng(8))
    assert np.abs(other - outputs).max() > 1e-2


def test_without_noise_every_variant_is_its_non_private_one(small):
    algorithm = make().without_noise()
    plain = algorithm.penalty_perturbation().sample(small, 2, rng())
    np.testing.assert_array_equal(plain[0], plain[1])
    np.testing.assert_array_equal(plain, algorithm.primal_perturbation().sample(small, 2, rng()))
    silence = np.zeros(plain.shape[1:])
    loop = Loop(algorithm, small)
    np.testing.assert_allclose(plain[0], loop.run(silence, "pp"), atol=1e-8)
    for variant, (mechanism, _) in VARIANTS.items():
        path = mechanism(algorithm).sample(small, 1, rng())[0]
        np.testing.assert_allclose(path, loop.run(silence, variant, gamma=0.3), atol=1e-8)
        quiet = mechanism(make(noise_rate=Constant(1e9))).sample(small, 1, rng())[0]
        np.testing.assert_allclose(path, quiet, atol=1e-6)


def test_the_measures_of_section_5(small):
    models = rng().standard_normal((2, 4, 4))
    loop = Loop(make(), small)
    for r in range(2):
        objective = sum(loop.O(i, models[r, i])[0] for i in range(4))
        average = np.mean([loop.value(loop.x[i] @ models[r, i]).mean() for i in range(4)])
        assert make().objective(models, small)[r] == pytest.approx(objective, rel=1e-12)
        assert make().average_loss(models, small)[r] == pytest.approx(average, rel=1e-12)


# R-ADMM: even broadcasts are functions of earlier ones


def test_even_broadcasts_are_recomputed_from_the_output_alone(small):
    algorithm, gamma = make(iterations=6), 0.3
    outputs = algorithm.recycled(gamma).sample(small, 5, rng(4))
    A, V = algorithm.graph.adjacency, algorithm.graph.degrees[:, None]
    eta = algorithm.penalty.values(6, 4)[:, :, None]
    f, lam, gradient = np.zeros((5, 4, 4)), np.zeros((5, 4, 4)), None
    for t in range(6):
        now = outputs[:, t]
        if t % 2:  # no dataset is in sight
            total = gradient + 2 * lam + eta[t] * (V * f - A @ f)
            np.testing.assert_allclose(now, f - total / (2 * eta[t] * V + gamma), atol=1e-9)
        else:
            gradient = eta[t] * (V * f + A @ f) - 2 * lam - 2 * eta[t] * V * now
        f, lam = now, lam + algorithm.dual_step / 2 * (V * now - A @ now)
