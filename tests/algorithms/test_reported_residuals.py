"""Residuals of whole runs: each family's solvers say what they reached, and errors say where."""

import numpy as np
import pytest

from algorithms.consensus import ConsensusADMM
from algorithms.graphs import ring
from algorithms.regularisers import elastic_net
from algorithms.schedules import Constant
from algorithms.sharing import SharingADMM
from algorithms.sharing_noise import MessageNoise
from algorithms.vertical import Risk
from dpaudit.errors import ConvergenceError
from dpaudit.residuals import recorded

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
    with recorded() as residuals:
        run()
    return {entry.solver: entry for entry in residuals.reached}


@pytest.mark.parametrize("tolerance", [1e-12, 1e-4])
def test_penalty_perturbation_reports_every_argmin(make_data, tolerance):
    data = make_data((5, 4))
    view = consensus(tolerance=tolerance).penalty_perturbation()
    transcripts = []
    entry = reached(lambda: transcripts.append(view.sample(data, TRIALS, rng())))["argmin"]
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
    """With a last step that is far too long the reported distance passes the tolerance."""
    monkeypatch.setattr("algorithms.entrywise.ScalarProblem.last_step", 0.5)
    data = make_data((9,))
    entry = reached(lambda: sharing().messages().sample(data, TRIALS, rng()))["z-update"]
    assert entry.worst > entry.tolerance


def test_an_argmin_that_fails_is_placed(make_data, monkeypatch):
    monkeypatch.setattr("algorithms.solvers._MOST_PASSES", 0)
    with pytest.raises(ConvergenceError, match=r"^iteration 1, node 0: argmin: trial 0 "):
        consensus().penalty_perturbation().sample(make_data((5, 4)), TRIALS, rng())


def test_a_z_update_that_fails_is_placed(make_data, monkeypatch):
    monkeypatch.setattr("algorithms.entrywise._MOST_PASSES", 0)
    with pytest.raises(ConvergenceError, match=r"^step 1: z-update: trial 0 "):
        sharing().messages().sample(make_data((9,)), TRIALS, rng())


def test_a_party_that_fails_is_placed(make_data):
    risk = Risk(regulariser=elastic_net(0.3), regulariser_weight=0.1)
    with pytest.raises(ConvergenceError, match=r"^step \d: party 0: x-update: trial "):
        sharing(risk=risk, tolerance=1e-300).messages().sample(make_data((9,)), TRIALS, rng())
