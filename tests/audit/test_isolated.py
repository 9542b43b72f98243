"""Mechanisms in processes of their own: the same numbers, whatever shape they come in."""

from __future__ import annotations

import hashlib
import re
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import Executor, Limits, importable, units
from dpaudit.laws.steps import GaussianSteps
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import HasLaw, HasLossBounds, HasLossInDigits, Tiltable
from dpaudit.neighbours import REPLACE_RECORD, Pair

PAIR = (np.array([0.0, 1.0]), np.array([1.0, 1.0]))
IN_PROCESS = Isolation(in_process=True)
PAGE = Path(__file__).parents[2] / "docs" / "isolation.md"
HERE = Path(__file__).parent

with importable(HERE):
    from quick_mechanisms import Digits, Mean, Sum, noisy_sum, slow, slow_to_begin


@pytest.fixture(autouse=True)
def workers_find_mechanisms(monkeypatch):
    """Let workers import the mechanisms of this folder."""
    monkeypatch.syspath_prepend(HERE)


def audited(mechanism, **given):
    return dpaudit.audit(mechanism, *PAIR, **{"epsilon": 3.0, "trials": 400} | given)


def shapes():
    """Return mechanisms of every kind of object, all with the same outputs."""
    from sklearn.linear_model import LinearRegression  # slow to import

    scale = 0.5
    fitted = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])

    def closure(dataset, trials, rng):
        return dataset.sum() + rng.laplace(scale=scale, size=trials)

    def estimator(dataset, trials, rng):
        return fitted.predict(dataset.reshape(-1, 1)).sum() + rng.laplace(scale=0.5, size=trials)

    return {
        "function": noisy_sum,
        "closure": closure,
        "lambda": lambda data, trials, rng: data.sum() + rng.laplace(scale=scale, size=trials),
        "object": Sum(),
        "bound method": Sum().sample,
        "partial": partial(noisy_sum),
        "open estimator": estimator,
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", shapes())
def test_whatever_shape_it_has_it_runs_elsewhere_with_the_same_numbers(shape):
    apart, here = (audited(shapes()[shape], isolation=one) for one in (Isolation(), IN_PROCESS))
    assert not any("Not isolated" in note for note in apart.notes)
    assert any("Not isolated" in note and "asked for" in note for note in here.notes)
    assert (apart.measured, apart.counts, apart.unit) == (here.measured, here.counts, here.unit)


@pytest.mark.parametrize("workers", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_no_number_depends_on_the_workers(workers):
    found, other = (
        audited(noisy_sum, trials=500, executor=Executor(workers=count)) for count in (workers, 1)
    )
    for part in ("verdict", "reason", "measured", "counts", "unit", "trade_off"):
        assert getattr(found, part) == getattr(other, part)


def test_an_object_of_this_process_is_left_alone():
    mechanism = Sum()
    audited(mechanism, trials=100)
    assert mechanism.calls == 0
    audited(mechanism, trials=100, isolation=IN_PROCESS)
    assert mechanism.calls > 0


def test_every_worker_has_one_instance():
    placed = isolate_mechanism(Sum(), Isolation()).mechanism
    placed.crew.call(lambda it: it.sample(np.zeros(1), 1, RNG), placed)
    counted = [placed.crew.call(lambda it: it.function.calls, placed) for _ in range(2)]
    assert counted == [1, 1]
    placed.crew.close()


RNG = np.random.default_rng(0)


def test_what_cannot_be_sent_runs_here_and_the_report_says_so():
    lock = threading.Lock()

    def locked(dataset, trials, rng):
        with lock:
            return noisy_sum(dataset, trials, rng)

    found = audited(locked)
    (note,) = [note for note in found.notes if "Not isolated" in note]
    assert "cannot be sent to another process (TypeError: \"cannot pickle '_thread.lock'" in note
    assert found.measured == audited(noisy_sum).measured
    refuting = audited(locked, epsilon=0.5)
    assert refuting.verdict == "withheld"
    assert "name the mechanism as module:object" in refuting.reason
    with pytest.raises(InvalidArgument, match=r"^mechanism: got .* one that can be sent"):
        audited(locked, isolation=Isolation(limits=Limits(timeout=5.0)))
    with pytest.raises(InvalidArgument, match=r"^fresh: got 'process', .*cannot be sent"):
        audited(locked, fresh="process")


@pytest.mark.slow
def test_what_refutes_in_this_process_is_drawn_again_in_others():
    refuting, there = (audited(Sum(), epsilon=1.0, isolation=i) for i in (IN_PROCESS, Isolation()))
    assert refuting.verdict == "refuted"
    assert (refuting.measured, refuting.contract) == (there.measured, there.contract)
    assert any("fresh processes" in note for note in refuting.notes)


def test_a_generator_goes_on_where_the_mechanism_left_it():
    placed, mine, theirs = isolate_mechanism(noisy_sum, Isolation()).mechanism, *map(rng_of, (3, 3))
    for _ in range(2):
        expected = noisy_sum(PAIR[0], 5, mine)
        np.testing.assert_array_equal(placed.sample(PAIR[0], 5, theirs), expected)
    placed.crew.close()


def rng_of(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("mechanism", "protocols"),
    [
        (Sum(), ()),
        (GaussianSteps(Mean()), (HasLaw, Tiltable, HasLossBounds)),
        (Digits(Mean()), (HasLossInDigits,)),
    ],
    ids=["outputs", "law", "digits"],
)
def test_a_proxy_has_what_the_mechanism_has(mechanism, protocols):
    placed = isolate_mechanism(mechanism, Isolation()).mechanism
    assert isinstance(placed, IsolatedMechanism)
    assert type(placed).__name__ == type(mechanism).__name__
    for protocol in (HasLaw, Tiltable, HasLossBounds, HasLossInDigits):
        assert isinstance(placed, protocol) == isinstance(mechanism, protocol)
    assert all(isinstance(placed, protocol) for protocol in protocols)
    placed.crew.close()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("delta", [1e-5, 0.0])
@pytest.mark.parametrize("kind", [GaussianSteps, Digits])
def test_a_law_elsewhere_gives_the_same_interval(kind, delta):
    apart, here = (
        audited(kind(Mean()), delta=delta, isolation=one) for one in (Isolation(), IN_PROCESS)
    )
    assert "privacy loss" in apart.measured.estimator
    assert apart.measured == here.measured
    assert apart.self_checks == here.self_checks


def test_every_method_of_a_proxy_returns_what_the_mechanism_does():
    mechanism, pair = Digits(Mean()), Pair(*PAIR, REPLACE_RECORD)
    placed = isolate_mechanism(mechanism, Isolation()).mechanism
    outputs = mechanism.sample(PAIR[0], 4, rng_of(1))
    for method, given in (
        ("privacy_loss", (outputs, pair)),
        ("uniform_residuals", (outputs, PAIR[0])),
        ("log_mgf_bounds", (pair, 0.7)),
        ("loss_in_digits", (outputs[0], pair)),
        ("loss_bounds", (outputs[0], pair)),
    ):
        np.testing.assert_array_equal(
            getattr(placed, method)(*given), getattr(mechanism, method)(*given)
        )
    mine, theirs = rng_of(2), rng_of(2)
    tilted = mechanism.sample_tilted(pair, 0.7, 4, mine), placed.sample_tilted(pair, 0.7, 4, theirs)
    for part in ("outputs", "privacy_loss", "log_mgf"):
        np.testing.assert_array_equal(*(getattr(one, part) for one in tilted))
    assert mine.random() == theirs.random()
    placed.crew.close()


@pytest.mark.slow
def test_units_of_a_slow_mechanism_are_small_and_the_rerun_states_them(monkeypatch):
    quick = audited(noisy_sum, trials=1000)
    assert quick.unit == 32
    assert "unit" not in quick.rerun
    monkeypatch.setattr(units, "_SECONDS", 0.006)  # of a unit
    found = audited(slow, trials=1000, executor=Executor(workers=2))
    assert found.unit in (2, 4, 8)
    assert found.rerun.endswith(f", unit={found.unit})")
    assert audited(noisy_sum, trials=1000, unit=found.unit).measured == found.measured


def fails(dataset, trials, rng):
    raise KeyError("age")


def test_an_error_names_the_line_of_the_users_code():
    line = fails.__code__.co_firstlineno + 1
    with pytest.raises(MechanismError, match=rf"KeyError: .*test_isolated\.py, line {line}, exp"):
        audited(fails)


@pytest.mark.slow
def test_what_a_call_costs_is_not_what_a_trial_does(monkeypatch):
    monkeypatch.setattr(units, "_SECONDS", 0.1)  # of a unit
    assert audited(slow_to_begin, trials=400).unit == audited(noisy_sum, trials=400).unit == 16


@pytest.mark.parametrize("given", [{"unit": 0}, {"unit": 1.5}, {"unit": 64}])
def test_a_unit_that_is_none_is_refused(given):
    with pytest.raises(InvalidArgument, match=r"^unit: got"):
        audited(noisy_sum, **given)


def test_the_page_shows_what_runs():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    space = {}
    exec(compile(code, str(PAGE), "exec"), space)
    assert space["result"].verdict == "not refuted"


def test_the_code_is_told_without_a_read_of_its_own(tmp_path):
    text = "def f(data, trials, rng):\n    return data.sum() + rng.laplace(size=trials)\n"
    script = tmp_path / "script"  # what a mechanism reads and is no module may hold noise
    script.write_text(text)
    names = {"__name__": "somewhere"}
    exec(compile(text, str(script), "exec"), names)
    proxy = isolate_mechanism(names["f"], Isolation()).mechanism
    assert proxy.code == ("somewhere:f", hashlib.sha256(text.encode()).hexdigest())
    proxy.sample(np.zeros(1), 3, np.random.default_rng(0))
    assert proxy.crew.read_files == []
    proxy.crew.close()
    names = {"__name__": "somewhere"}
    exec(compile(text, "<a prompt>", "exec"), names)
    assert isolate_mechanism(names["f"], Isolation()).mechanism.code is None
