"""Outputs that are too large for an audit: refused by name before anything of them is read."""

import dataclasses
import time

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.mechanisms.outputs.layout import kinds_of
from dpaudit.mechanisms.outputs.observations import require_few, split_observation

MANY, LONG = 10**6, 200_000_000


@dataclasses.dataclass
class Released:
    model: object


HUGE = {
    "dict": lambda: dict.fromkeys(range(MANY), 1.0),
    "list": lambda: [(1.0, "a")] * MANY,
    "set": lambda: set(range(MANY)),
    "str": lambda: "x" * LONG,
    "bytes": lambda: bytes(LONG),
    "dict of dicts": lambda: {key: {"a": 1.0} for key in range(MANY)},
    "a field": lambda: Released(dict.fromkeys(range(MANY), 1.0)),
    "an array in a dict": lambda: {"weights": np.zeros(MANY)},
}


@pytest.mark.parametrize("kind", HUGE)
def test_what_is_too_large_is_refused_within_a_second(kind):
    output = HUGE[kind]()
    began = time.process_time()
    with pytest.raises(MechanismError, match="expected at most 200,000 parts"):
        split_observation(output)
    assert time.process_time() - began < 1


def test_many_small_containers_are_refused_as_soon_as_there_are_too_many():
    with pytest.raises(MechanismError, match="of more than 200,000 parts"):
        split_observation({"a": [[1.0] * 10**4] * 100})


def test_what_can_be_read_is_read_whole():
    found = split_observation({"a": np.arange(10**4), "text": "x" * 10**6})
    assert found["a[9999]"][0] == 9999
    assert len(found["text"][1].text) == 10**6


def test_a_long_message_of_an_exception_is_cut():
    ((length, _),) = [
        one for path, one in split_observation(ValueError("x" * LONG)).items() if "mess" in path
    ]
    assert length < 10**6


def _counts(data, rng):
    return dict.fromkeys(range(MANY), 1.0)


@pytest.mark.parametrize("in_process", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_an_audit_names_it(in_process):
    with pytest.raises(MechanismError, match=r"dict of 1,000,000 entries.*return an array"):
        dpaudit.audit(
            _counts,
            [0.0],
            neighbour=[1.0],
            epsilon=1.0,
            trials=200,
            isolation=Isolation(in_process=in_process),
        )


def _lists(data, rng):
    return [[rng.laplace()] * 10] * 10**5


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ([[1.0] * 10] * 10**5, "a list of 1,000,000 entries in 100,000 others"),
        ([[[1.0] * 10] * 100] * 1000, "a list of 1,000,000 entries in 100,000 others"),
        (([1.0] * 200_001,), "a tuple of 200,001 entries in 1 others"),
    ],
)
def test_lists_in_lists_are_counted_before_they_are_read(output, words):
    began = time.process_time()
    with pytest.raises(MechanismError, match=words):
        kinds_of([output])
    assert time.process_time() - began < 1


def test_lists_that_can_be_read_and_long_lists_of_numbers_are_arrays():
    assert kinds_of([[[1.0] * 10] * 10**4]) == {"list of list of float"}
    assert kinds_of([[1.0] * 10**6]) == {"list of float"}


def test_an_audit_of_many_lists_ends_at_once():
    began = time.process_time()
    given = {"epsilon": 1.0, "trials": 200, "isolation": Isolation(in_process=True)}
    with pytest.raises(MechanismError, match=r"1,000,000 entries.*return an array of numbers"):
        dpaudit.audit(_lists, [0.0], [1.0], **given)
    assert time.process_time() - began < 5


def _model(data, rng):
    return Released(dict.fromkeys(range(MANY), 1.0))


def _models(data, rng):
    return {name: Released(dict.fromkeys(range(10**5), 1.0)) for name in "abc"}


def _array(data, rng):
    return rng.laplace(size=10**6)


@pytest.mark.parametrize("in_process", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (_lists, "1,000,000 entries in 100,000 others"),
        (_counts, "dict of 1,000,000 entries"),
        (_model, "dict of 1,000,000 entries"),
        (_models, "dict of more than 200,000 parts"),
        (_array, "an array of 1,000,000 entries.*at most 200,000 parts"),
    ],
)
def test_a_replay_names_it(mechanism, words, in_process):
    given = {"epsilon": 1.0, "isolation": Isolation(in_process=in_process)}
    with pytest.raises(MechanismError, match=words):
        dpaudit.replay(mechanism, [0.0], [1.0], **given)


def test_what_a_replay_can_look_at_is_none_of_it():
    for output in ([1.0] * 10**5, np.zeros(10**5), {"a": [1.0, 2.0]}, "text"):
        require_few(output)
