"""Outputs that are too large for an audit: refused by name before anything of them is read."""

import dataclasses
import time

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import MechanismError
from dpaudit.laws.isolated import Isolation
from dpaudit.laws.observations import parts

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
        parts(output)
    assert time.process_time() - began < 1


def test_many_small_containers_are_refused_as_soon_as_there_are_too_many():
    with pytest.raises(MechanismError, match="of more than 200,000 parts"):
        parts({"a": [[1.0] * 10**4] * 100})


def test_what_can_be_read_is_read_whole():
    found = parts({"a": np.arange(10**4), "text": "x" * 10**6})
    assert found["a[9999]"][0] == 9999
    assert len(found["text"][1].text) == 10**6


def test_a_long_message_of_an_exception_is_cut():
    ((length, _),) = [one for path, one in parts(ValueError("x" * LONG)).items() if "mess" in path]
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
