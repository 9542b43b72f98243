"""Broken laws of the private variants are caught."""

from functools import cache

import numpy as np
import pytest

from dpaudit.algorithms.consensus import law as consensus_law
from dpaudit.algorithms.consensus import process as consensus_process
from dpaudit.algorithms.consensus import views as consensus_views
from dpaudit.auditing.exact.law_checks import digits_checks
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.execution import Executor
from dpaudit.laws.exponential_norm import convert_noise_to_uniforms, draw_exponential_norm_noise

from .law import MECHANISMS, TRIALS, everywhere, likelihood_z, make, oracle_error, residual_p_values
from .loop import rng


@pytest.fixture(scope="module")
def drawn(pair):
    """Return a variant's outputs of the neighbour and of the dataset, drawn once."""

    @cache
    def of(variant):
        mechanism = MECHANISMS[variant](make())
        sides = (pair.neighbour, rng(2)), (pair.dataset, rng(3))
        return [mechanism.sample(side, TRIALS, source) for side, source in sides]

    return of


def wrong_determinant(factor):
    true = consensus_law.log_determinant_drop
    return lambda *args: factor * true(*args)


def wrong_shift(factor):
    true = consensus_law.noise_shift
    return lambda *args: factor * true(*args)


@pytest.mark.sampled(1)
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
@pytest.mark.parametrize("variant", ["pp", pytest.param("recycled", marks=pytest.mark.slow)])
def test_a_broken_loss_is_caught(variant, name, broken, pair, drawn, monkeypatch):
    mechanism = MECHANISMS[variant](make())
    outputs, back = drawn(variant)
    monkeypatch.setattr(consensus_law, name, broken)
    scores = [
        likelihood_z(mechanism, pair, outputs),
        likelihood_z(mechanism, pair.swapped(), back),
    ]
    assert max(map(abs, scores)) > 5
    few = make().penalty_perturbation().sample(pair.dataset, 2, rng())
    assert oracle_error(make(), pair, few) > 1e-3


@pytest.mark.parametrize(("factor", "right"), [(1, True), (0, False), (-1, False)])
def test_an_audit_sees_a_determinant_that_its_law_forgets(factor, right, pair, monkeypatch):
    monkeypatch.setattr(consensus_law, "log_determinant_drop", wrong_determinant(factor))
    drawer = make_drawer(make().penalty_perturbation(), pair, Executor(workers=1), 0)
    (check,) = digits_checks(drawer)
    assert check.passed is right


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.5, -1.0])
def test_a_wrong_minimiser_shift_of_primal_perturbation_is_caught(factor, pair, drawn, monkeypatch):
    mechanism = make().primal_perturbation()
    outputs, _ = drawn("pvp")
    true = consensus_views.norm_gain
    monkeypatch.setattr(consensus_views, "norm_gain", lambda e, shift: true(e, factor * shift))
    assert abs(likelihood_z(mechanism, pair, outputs)) > 5


@pytest.mark.sampled(2)
@everywhere
@pytest.mark.parametrize("off", [-1, 1])
def test_a_gamma_of_the_wrong_shape_is_caught(variant, off, pair, monkeypatch):
    def draw_wrongly(shape, rate, source):
        longer = draw_exponential_norm_noise((*shape[:-1], shape[-1] + off), rate, source)
        noise = draw_exponential_norm_noise(shape, rate, source)
        norms = np.linalg.norm(longer, axis=-1) / np.linalg.norm(noise, axis=-1)
        return noise * norms[..., None]

    monkeypatch.setattr(consensus_process, "draw_exponential_norm_noise", draw_wrongly)
    mechanism = MECHANISMS[variant](make())
    outputs = mechanism.sample(pair.dataset, 4000, rng(4))
    assert min(residual_p_values(mechanism, outputs, pair.dataset)) < 1e-4


def noise_error(algorithm, data):
    """Return how far the noise behind broadcasts is from the noise that was drawn."""
    outputs = algorithm.penalty_perturbation().sample(data, 200, rng(6))
    rates = algorithm.noise_rate.values(3, 3)
    source = rng(6)
    drawn = [draw_exponential_norm_noise((200, 3, 3), rates[t], source) for t in range(3)]
    expected = [convert_noise_to_uniforms(noise, rates[t]) for t, noise in enumerate(drawn)]
    found = algorithm.penalty_perturbation().uniform_residuals(outputs, data)
    return float(np.abs(found - np.stack(expected, axis=1).reshape(200, -1)).max())


def test_residuals_give_back_the_noise_unless_the_solver_is_loose(pair):
    assert noise_error(make(), pair.dataset) < 1e-8
    assert noise_error(make(tolerance=1e-3), pair.dataset) > 1e-4


def test_a_loose_solver_bends_the_law(pair):
    """Stopping early adds an error that depends on the data: the law no longer is the noise's."""
    loose = make(tolerance=0.2).penalty_perturbation()
    outputs = loose.sample(pair.dataset, TRIALS, rng(4))
    assert min(residual_p_values(loose, outputs, pair.dataset)) < 1e-4
