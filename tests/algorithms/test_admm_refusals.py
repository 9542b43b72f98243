"""What consensus ADMM, ADMM sharing and FDML refuse: by name, value and what was expected."""

import numpy as np
import pytest

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import ring
from dpaudit.algorithms.problems.schedules import Constant, Geometric, TableSchedule
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.fdml import FDML
from dpaudit.algorithms.sharing.noise import MessageNoise, ParameterNoise
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import REPLACE_RECORD, Pair


def rng():
    return np.random.default_rng(0)


def consensus(**options):
    return ConsensusADMM(**({"graph": ring(2), "iterations": 3, "noise_rate": 2.0} | options))


def sharing(**options):
    usual = {"block_sizes": (2, 1), "iterations": 2, "noise": MessageNoise(0.3)}
    return SharingADMM(**(usual | options))


VIEWS = {
    "penalty": lambda: consensus().penalty_perturbation(),
    "dual": lambda: consensus().dual_variable_perturbation(),
    "primal": lambda: consensus().primal_perturbation(),
    "recycled": lambda: consensus().recycled(),
    "messages": lambda: sharing().messages(),
    "unlawful messages": lambda: sharing(noise=ParameterNoise(0.3)).messages(),
    "network": lambda: sharing().network(),
    "models": lambda: sharing().models(),
    "fdml": lambda: FDML(block_sizes=(2, 1), epochs=2, step_size=0.1),
}
CONSENSUS = ("penalty", "dual", "primal", "recycled")


def data_for(view, make_data):
    return make_data((5, 4) if view in CONSENSUS else (9,))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("trials", [-1, 2.0, None])
def test_numbers_of_trials_are_refused_by_name(view, trials, make_data):
    with pytest.raises(InvalidArgument, match=rf"^trials: got {trials}, expected an integer, at"):
        VIEWS[view]().sample(data_for(view, make_data), trials, rng())


@pytest.mark.parametrize("view", VIEWS)
def test_no_trials_are_no_outputs(view, make_data):
    assert len(VIEWS[view]().sample(data_for(view, make_data), 0, rng())) == 0


def test_numbers_are_schedules(make_data):
    data = make_data((5, 4))
    numbers = consensus(penalty=0.7, noise_rate=1.5, dual_step=0.6)
    schedules = consensus(penalty=Constant(0.7), noise_rate=Constant(1.5), dual_step=Constant(0.6))
    np.testing.assert_array_equal(
        numbers.penalty_perturbation().sample(data, 3, rng()),
        schedules.penalty_perturbation().sample(data, 3, rng()),
    )
    np.testing.assert_array_equal(
        numbers.dual_variable_perturbation().sample(data, 3, rng()),
        schedules.dual_variable_perturbation().sample(data, 3, rng()),
    )


@pytest.mark.parametrize("name", ["penalty", "dual_step", "noise_rate"])
@pytest.mark.parametrize("value", [-0.5, 0.0, "half", np.nan, [0.5], {"a": 1.0}, Constant])
def test_what_is_no_schedule_is_refused_by_name(name, value):
    with pytest.raises(InvalidArgument, match=f"^{name}: got .*, expected a finite number above 0"):
        consensus(**{name: value})


@pytest.mark.parametrize("name", ["penalty", "dual_step", "noise_rate"])
def test_a_schedule_that_does_not_fit_is_refused_by_both_names(name):
    with pytest.raises(InvalidArgument, match=rf"^{name}\.table: got shape \(1, 1\), expected"):
        consensus(**{name: TableSchedule(((1.0,),))})
    with pytest.raises(InvalidArgument, match=rf"^{name}\.first: got 3 numbers, expected"):
        consensus(**{name: Geometric((1.0, 2.0, 3.0), 1.0)})


def test_a_bad_constant_says_what_it_is():
    with pytest.raises(InvalidArgument, match=r"^Constant\.value: got -1, expected"):
        Constant(-1)


@pytest.mark.parametrize(
    ("make", "name", "value", "expected"),
    [
        (consensus, "graph", None, "a Graph"),
        (consensus, "loss", "logistic", "a SmoothLoss"),
        (consensus, "penalty", None, "a finite number above 0"),
        (sharing, "noise", 0.3, "NoNoise"),
        (sharing, "risk", "logistic", "a Risk"),
        (lambda **risk: FDML(block_sizes=(1,), epochs=1, step_size=1.0, **risk), "risk", 1, "a Ri"),
        (Risk, "loss", "logistic", "a SampleLoss"),
        (Risk, "regulariser", "l2", "a Regulariser"),
    ],
)
def test_objects_of_another_kind_are_refused_by_name(make, name, value, expected):
    with pytest.raises(InvalidArgument, match=f"^{name}: got {value!r}, expected {expected}"):
        make(**{name: value})


@pytest.mark.parametrize("view", CONSENSUS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_outputs_that_are_not_finite_have_no_density(view, bad, make_data):
    data, mechanism = make_data((5, 4)), VIEWS[view]()
    pair = Pair(data, data.with_record(6, data.features[6] / 2, data.labels[6]), REPLACE_RECORD)
    outputs = mechanism.sample(data, 4, rng())
    outputs[2, 0, 1, 0] = bad
    for ask in (
        lambda: mechanism.privacy_loss(outputs, pair),
        lambda: mechanism.uniform_residuals(outputs, data),
    ):
        with pytest.raises(InvalidArgument, match=r"^outputs\[2\]: got a number that is not f"):
            ask()
