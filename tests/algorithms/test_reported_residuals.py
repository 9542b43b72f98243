"""Residuals of whole runs: each family's solvers say what they reached, and errors say where."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpaudit.algorithms.consensus import views as consensus_views
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import ring
from dpaudit.algorithms.problems.regularisers import elastic_net
from dpaudit.algorithms.problems.schedules import Constant
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.algorithms.sharing.proximal import minimise_quadratic
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets import Dataset
from dpaudit.errors import ConvergenceError
from dpaudit.mechanisms.residuals import record_residuals
from dpaudit.neighbours import REPLACE_RECORD, Pair

TRIALS, ITERATIONS = 4, 3


def rng():
    return np.random.default_rng(5)


def consensus(**options):
    defaults = {"graph": ring(2), "iterations": ITERATIONS, "noise_rate": Constant(2.0)}
    return ConsensusADMM(**(defaults | options))


def sharing(**options):
    defaults = {"block_sizes": (2, 1), "iterations": ITERATIONS, "noise": MessageNoise(0.3)}
    return SharingADMM(**(defaults | options))


def reached(run):
    with record_residuals() as residuals:
        run()
    return {entry.solver: entry for entry in residuals.reached}


@pytest.mark.parametrize("tolerance", [1e-12, 1e-4])
def test_penalty_perturbation_reports_every_argmin(make_data, tolerance):
    data = make_data((5, 4))
    view = consensus(tolerance=tolerance).penalty_perturbation()
    outputs = []
    entry = reached(lambda: outputs.append(view.sample(data, TRIALS, rng())))["argmin"]
    assert entry.problems == TRIALS * ITERATIONS * data.nodes
    assert entry.tolerance == tolerance
    assert 0 <= entry.worst <= tolerance


def test_a_looser_tolerance_is_seen_in_what_is_reported(make_data):
    data = make_data((5, 4))
    worst = [
        reached(lambda t=t: consensus(tolerance=t).penalty_perturbation().sample(data, 50, rng()))
        for t in (1e-12, 1e-3)
    ]
    assert worst[1]["argmin"].worst > 100 * worst[0]["argmin"].worst


@pytest.mark.parametrize(
    ("options", "solver"),
    [
        ({"risk": Risk(regulariser=elastic_net(0.3), regulariser_weight=0.1)}, "x-update"),
        ({"risk": Risk(regulariser_weight=0.1), "radius": 0.05}, "x-update in a ball"),
        ({"risk": Risk(regulariser_weight=0.1)}, "z-update"),
    ],
)
def test_sharing_reports_its_solvers(make_data, options, solver):
    data = make_data((9,))
    found = reached(lambda: sharing(**options).messages().sample(data, TRIALS, rng()))
    assert found[solver].worst <= found[solver].tolerance
    # the first z-update starts from noise, the first x-update from nothing
    assert found["z-update"].problems == TRIALS * ITERATIONS * 9


def test_distances_of_the_z_update_are_true(make_data, monkeypatch):
    """With a last step that is far too long the measured distance passes the tolerance."""
    monkeypatch.setattr("dpaudit.algorithms.sharing.entrywise.ScalarProblem.last_step", 0.5)
    data = make_data((9,))
    expected = (
        r"^step 1: z-update: trial 0 has a distance beyond rounding of .*, expected at most 1"
    )
    with pytest.raises(ConvergenceError, match=expected):
        reached(lambda: sharing().messages().sample(data, TRIALS, rng()))


@pytest.mark.parametrize("radius", [None, 0.05])
def test_closed_forms_report_their_stationarity(make_data, radius):
    algorithm = sharing(risk=Risk(regulariser_weight=0.1), radius=radius)
    data = make_data((9,))
    entry = reached(lambda: algorithm.messages().sample(data, TRIALS, rng()))["x-update"]
    assert entry.problems == TRIALS * ITERATIONS * 2
    assert 0 < entry.worst <= entry.tolerance == algorithm.tolerance


@pytest.mark.parametrize("eps", [1e-9, 1e-12, 3e-14])
def test_nearly_dependent_columns_without_a_ridge_are_refused(eps):
    source = np.random.default_rng(0)
    a, b = source.standard_normal((2, 40)) / 10
    data = Dataset(np.stack([a, a + eps * b, b[::-1]], axis=1), source.choice([-1.0, 1.0], 40))
    algorithm = sharing(risk=Risk(regulariser_weight=0.0))
    expected = r"^step 2: party 0: x-update: trial \d is at residual .* in closed form .*, expected"
    with pytest.raises(ConvergenceError, match=expected):
        algorithm.messages().sample(data, TRIALS, rng())
    ridge = sharing(risk=Risk(regulariser_weight=1e-4))
    assert reached(lambda: ridge.messages().sample(data, TRIALS, rng()))["x-update"].worst < 1e-12


def test_an_argmin_that_fails_is_placed(make_data, monkeypatch):
    monkeypatch.setattr("dpaudit.algorithms.consensus.margin_problem._MOST_PASSES", 0)
    with pytest.raises(ConvergenceError, match=r"^iteration 1, node 0: argmin: trial 0 "):
        consensus().penalty_perturbation().sample(make_data((5, 4)), TRIALS, rng())


def test_a_z_update_that_fails_is_placed(make_data, monkeypatch):
    monkeypatch.setattr("dpaudit.algorithms.sharing.entrywise._MOST_PASSES", 0)
    with pytest.raises(ConvergenceError, match=r"^step 1: z-update: trial 0 "):
        sharing().messages().sample(make_data((9,)), TRIALS, rng())


@pytest.mark.parametrize("party", [0, 1])
def test_a_party_that_fails_is_placed(make_data, monkeypatch, party):
    turns = itertools.cycle([0, 1])

    def minimise_for_others(problem, *args):
        """Minimise a quadratic, but ask of one of the two parties what nobody reaches."""
        impossible = replace(problem, tolerance=-1.0, most_steps=1)
        return minimise_quadratic(impossible if next(turns) == party else problem, *args)

    monkeypatch.setattr(
        "dpaudit.algorithms.sharing.algorithm.minimise_quadratic", minimise_for_others
    )
    risk = Risk(regulariser=elastic_net(0.3), regulariser_weight=0.1)
    with pytest.raises(ConvergenceError, match=rf"^step 1: party {party}: x-update: trial "):
        sharing(risk=risk).messages().sample(make_data((9,)), TRIALS, rng())


@pytest.mark.parametrize("view", ["models", "network"])
def test_a_z_update_that_fails_outside_a_law_is_placed(make_data, monkeypatch, view):
    monkeypatch.setattr("dpaudit.algorithms.sharing.entrywise._MOST_PASSES", 0)
    with pytest.raises(ConvergenceError, match=r"^iteration 1: z-update: trial 0 "):
        getattr(sharing(), view)().sample(make_data((9,)), TRIALS, rng())


def test_a_ball_that_fails_is_placed(make_data, monkeypatch):
    monkeypatch.setattr("dpaudit.algorithms.sharing.proximal._MOST_SECULAR_STEPS", 1)
    algorithm = sharing(radius=1e-3)
    with pytest.raises(
        ConvergenceError, match=r"^iteration 2: party 0: x-update: trial \d is at n"
    ):
        algorithm.models().sample(make_data((9,)), TRIALS, rng())
    with pytest.raises(ConvergenceError, match=r"^step 2: party 0: x-update: trial \d is at norm"):
        algorithm.messages().sample(make_data((9,)), TRIALS, rng())


@pytest.mark.parametrize("calls", [0, 1])
def test_a_density_of_primal_perturbation_that_fails_is_placed(make_data, monkeypatch, calls):
    data, left = make_data((5, 4)), [calls]
    pair = Pair(data, data.with_record(6, data.features[6] / 2, data.labels[6]), REPLACE_RECORD)
    view = consensus().primal_perturbation()
    outputs = view.sample(data, TRIALS, rng())
    honest = consensus_views.minimise_margin_problem

    def failing(*args):
        if not left[0]:
            raise ConvergenceError("argmin: trial 0 stopped")
        left[0] -= 1
        return honest(*args)

    monkeypatch.setattr(consensus_views, "minimise_margin_problem", failing)
    where = "iteration 1, node 1: " + "neighbour: " * calls
    with pytest.raises(ConvergenceError, match=f"^{where}argmin: trial 0 stopped$"):
        view.privacy_loss(outputs, pair)
