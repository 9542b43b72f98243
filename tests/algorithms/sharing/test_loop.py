"""ADMM sharing, held to a loop written from the papers."""

import numpy as np
import pytest

from dpaudit.algorithms.problems.sample_losses import LOGISTIC, SAMPLE_LOSSES, SQUARED
from dpaudit.algorithms.sharing.noise import MessageNoise, NoNoise, ParameterNoise, WhitenedNoise
from dpaudit.algorithms.sharing.vertical import Risk, column_slices, split_into_parties

from .setting import NOISES, make, make_data, rng


@pytest.fixture(scope="module")
def reference(load_benchmark):
    return load_benchmark("_reference_sharing")


def looped(reference, algorithm, data, iterates, trial):
    """Run the loop with the very noise of a batched trial."""
    owners = split_into_parties(data, algorithm.block_sizes)
    xi = np.stack([(i.perturbed - i.models)[trial] for i in iterates])
    clean = [
        [
            i.perturbed[trial, columns] @ party.design.T
            for columns, party in zip(column_slices(algorithm.block_sizes), owners, strict=True)
        ]
        for i in iterates
    ]
    loop = reference.LoopSharing(
        blocks=[party.design for party in owners],
        labels=data.labels,
        derivative=reference.DERIVATIVES[algorithm.risk.loss.name],
        weight=algorithm.risk.sample_weight(len(data.labels)),
        lam=algorithm.risk.regulariser_weight,
        rho=algorithm.penalty,
    )
    return loop.trial(xi, np.stack([i.state.messages[trial] for i in iterates]) - np.array(clean))


def loop_gap(reference, algorithm, data, other=None):
    """Return the largest difference to the loop, which may run another configuration."""
    iterates, gap = list(algorithm.iterates(data, 3, rng())), 0.0
    for trial in range(3):
        sent = looped(reference, other or algorithm, data, iterates, trial)
        for name in ("messages", "gap", "dual"):
            batched = np.stack([getattr(i.state, name)[trial] for i in iterates])
            gap = max(gap, np.abs(batched - getattr(sent, "y" if name == "dual" else name)).max())
        gap = max(gap, np.abs(np.stack([i.models[trial] for i in iterates]) - sent.x).max())
    return gap


# Every noise beside a mean, every loss beside a sum: no noise knows how losses are summed.
SCALED = [
    pytest.param(noise, scaling, id=f"{name}-{scaling}", marks=[pytest.mark.slow] * later)
    for name, noise in {"none": NoNoise(), **NOISES}.items()
    for scaling in ("mean", "sum")
    for later in [scaling == "sum" and name != "none"]
]


@pytest.mark.parametrize(("noise", "scaling"), SCALED)
@pytest.mark.parametrize("loss", SAMPLE_LOSSES.values(), ids=SAMPLE_LOSSES.keys())
def test_batched_and_loop_agree(reference, loss, noise, scaling):
    algorithm = make(risk=Risk(loss=loss, scaling=scaling, regulariser_weight=0.4), noise=noise)
    assert loop_gap(reference, algorithm, make_data()) < 1e-9


@pytest.mark.parametrize(
    "change",
    [
        {"penalty": 0.71},
        {"risk": Risk(scaling="sum", regulariser_weight=0.41)},
        {"risk": Risk(loss=SQUARED, scaling="sum", regulariser_weight=0.4)},
    ],
    ids=["penalty", "weight", "loss"],
)
def test_the_loop_tells_parameters_apart(reference, change):
    algorithm = make(noise=MessageNoise(0.3))
    assert loop_gap(reference, algorithm, make_data(), make(**change)) > 1e-4


@pytest.mark.parametrize("noise", [ParameterNoise, WhitenedNoise, MessageNoise])
def test_noise_of_scale_0_is_the_non_private_algorithm(noise):
    data = make_data()
    quiet = make(noise=noise(0.0)).network().sample(data, 2, rng())
    np.testing.assert_array_equal(quiet, make().network().sample(data, 2, rng()))
    np.testing.assert_array_equal(quiet[0], quiet[1])


def test_the_centre_keeps_hu2019_lemma_2():
    """``grad l(z) = y`` after every iteration, with any noise (eq. 13)."""
    data = make_data()
    for noise in NOISES.values():
        for i in make(noise=noise).iterates(data, 3, rng()):
            slopes, _ = LOGISTIC.derivatives(i.state.prediction, data.labels)
            np.testing.assert_allclose(slopes, i.state.dual, atol=1e-11)
