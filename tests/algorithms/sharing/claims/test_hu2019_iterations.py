"""The batched iterations of hu2019's lemmas against the algorithm and against enclosures."""

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.problems.sample_losses import SAMPLE_LOSSES, sample_loss_called
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.claims.hu2019.dual_step import dual_step
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    IterationSetting,
    Problems,
    compute_problem_conditions,
    run_sharing_iterations,
    starting_point,
)
from dpaudit.algorithms.sharing.claims.hu2019.lagrangian import (
    compute_batched_lagrangian,
    make_decrease_measure,
)
from dpaudit.algorithms.sharing.claims.hu2019.search import Window, build_lemma_space
from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    LOSSES,
    CertificateProblem,
    CertificateState,
    run_sharing_iteration,
)
from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    compute_lagrangian_real as exact_lagrangian,
)
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.verification.reals import Matrix, Real, largest, precision, vector

SETTINGS = [
    IterationSetting(
        parties=3, features=2, samples=4, penalty=10.0, regulariser_weight=0.3, loss=loss
    )
    for loss in SAMPLE_LOSSES
]


def drawn(setting, seed=0, count=5):
    window = Window(any_start=True)
    searched = build_lemma_space(setting, dual_step, window)
    batch, _ = searched.evaluate(searched.start(count, default_rng(seed)))
    problems = Problems(setting=setting, designs=batch["designs"], labels=batch["labels"])
    start = starting_point(problems, batch["models"], batch["prediction"], batch["dual"])
    return problems, start


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.loss)
def test_iterations_are_those_of_the_algorithm(setting):
    problems, start = drawn(setting)
    zero = starting_point(
        problems, *(np.zeros_like(a) for a in (start.models, start.prediction, start.dual))
    )
    points = run_sharing_iterations(problems, zero, 4)
    for b in range(len(problems.labels)):
        data = Dataset(np.concatenate(list(problems.designs[b]), axis=1), problems.labels[b])
        algorithm = SharingADMM(
            block_sizes=(2, 2, 2),
            iterations=4,
            penalty=setting.penalty,
            risk=Risk(loss=sample_loss_called(setting.loss), scaling="sum", regulariser_weight=0.3),
        )
        for point, seen in zip(
            points[1:], algorithm.iterates(data, 1, default_rng(0)), strict=True
        ):
            assert point.models[b].ravel() == pytest.approx(seen.models[0], abs=1e-10)
            assert point.prediction[b] == pytest.approx(seen.state.prediction[0], abs=1e-10)
            assert point.dual[b] == pytest.approx(seen.state.dual[0], abs=1e-9)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.loss)
def test_iterations_and_lagrangians_agree_with_enclosures(setting):
    problems, start = drawn(setting, seed=1, count=2)
    points = run_sharing_iterations(problems, start, 3)
    values = [compute_batched_lagrangian(problems, point)[0] for point in points]
    for b in range(2):
        with precision(60):
            problem = CertificateProblem(
                loss=LOSSES[setting.loss],
                weight=Real(1),
                rho=Real(setting.penalty),
                ridge=Real(setting.regulariser_weight),
                designs=[Matrix(design.tolist()) for design in problems.designs[b]],
                labels=[Real(label) for label in problems.labels[b].tolist()],
            )
            state = CertificateState(
                models=[vector(model.tolist()) for model in start.models[b]],
                prediction=vector(start.prediction[b].tolist()),
                dual=vector(start.dual[b].tolist()),
            )
            for point, value in zip(points, values, strict=True):
                assert float(exact_lagrangian(problem, state)) == pytest.approx(value[b], rel=1e-10)
                exact = [float(z) for z in state.prediction.entries()]
                assert point.prediction[b] == pytest.approx(exact, abs=1e-10)
                state = run_sharing_iteration(problem, state)
            assert float(largest(problem.moduli)) == pytest.approx(
                problems.moduli[b].max(), rel=1e-12
            )
            assert float(problem.smoothness) == pytest.approx(setting.smoothness, rel=1e-14)
            assert float(problem.modulus) == pytest.approx(setting.modulus, rel=1e-14)


@pytest.mark.parametrize("name", SAMPLE_LOSSES)
def test_losses_of_the_verifier_are_those_of_the_algorithm(name):
    loss, exact = sample_loss_called(name), LOSSES[name]
    for z in (-3.0, -0.2, 0.0, 0.4, 1.0, 2.5):
        for b in (-1.0, 1.0):
            one, label = np.array([z]), np.array([b])
            assert float(exact.value(Real(z), Real(b))) == pytest.approx(loss.value(one, label)[0])
            slope = loss.derivatives(one, label)[0][0]
            assert float(exact.slope(Real(z), Real(b))) == pytest.approx(slope)


HARD = [
    IterationSetting(features=3, penalty=2.01, regulariser_weight=0.0),
    IterationSetting(features=3, penalty=1.1, regulariser_weight=0.05),
    IterationSetting(features=1, samples=1, penalty=2.0, regulariser_weight=0.0),
    IterationSetting(features=4, samples=4, penalty=100.0, regulariser_weight=0.0, loss="sigmoid"),
    IterationSetting(features=2, penalty=0.4, regulariser_weight=5.0, loss="logistic"),
]


@pytest.mark.parametrize("setting", HARD)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_search_stays_inside_assumption_1(setting, seed):
    rng = default_rng(seed)
    searched = build_lemma_space(
        setting, make_decrease_measure("published"), Window(any_start=True)
    )
    batch, _ = searched.evaluate(searched.start(20, rng))
    for _ in range(10):
        batch, _ = searched.evaluate(searched.move(batch, np.full(20, 0.5), rng))
        problems = Problems(setting=setting, designs=batch["designs"], labels=batch["labels"])
        assert [c.name for c in compute_problem_conditions(problems) if not c.holds] == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"parties": 0}, "parties"),
        ({"features": 5}, "samples: got 4, expected at least features = 5"),
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": 1.0}, "penalty: got 1.0, expected at least L = 1"),
        ({"penalty": 1.5, "regulariser_weight": 0.0}, "penalty: .*Assumption 1.2b"),
        ({"penalty": 2.0, "regulariser_weight": 0.0}, "penalty: .* above it for several"),
        ({"regulariser_weight": -0.1}, "regulariser_weight"),
        ({"loss_weight": 0.0}, "loss_weight"),
    ],
)
def test_settings_outside_assumption_1_are_refused(changed, named):
    with pytest.raises(InvalidArgument, match=named):
        IterationSetting(**changed)
