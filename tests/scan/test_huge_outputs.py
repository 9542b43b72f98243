"""Outputs of a package that are too large to be sent: cut where they are made, within a second."""

import dataclasses
import time

import numpy as np
import pytest

from dpaudit.scan.remote import child

MANY, LONG, SENT = 10**6, 200_000_000, 200_000


@dataclasses.dataclass
class Model:
    weights: object


HUGE = {
    "dict": lambda: dict.fromkeys(range(MANY), 1.0),
    "list": lambda: [(1.0, "a")] * MANY,
    "lists": lambda: [[1.0] * 10] * 10**5,
    "deep lists": lambda: {"a": [[1.0] * 10**4] * 100},
    "set": lambda: set(range(MANY)),
    "text": lambda: "x" * LONG,
    "bytes": lambda: bytes(LONG),
    "a field": lambda: Model(dict.fromkeys(range(MANY), 1.0)),
    "an array": lambda: np.zeros(10 * MANY),
}
FILE = """
def given(data):
    return data()


def failing(data):
    raise ValueError(data())
"""


def drawn(tmp_path, function, output):
    (tmp_path / "subjects.py").write_text(FILE)
    task = {"file": str(tmp_path / "subjects.py"), "function": function, "parameters": {}}
    made = output()
    began = time.process_time()
    found = child.sampled(task | {"data": lambda: made}, 1, np.random.default_rng(0))
    assert time.process_time() - began < 1
    assert len(str(found)) < SENT
    return found


@pytest.mark.parametrize("kind", HUGE)
def test_what_is_too_large_is_cut_within_a_second(tmp_path, kind):
    drawn(tmp_path, "given", HUGE[kind])


def test_a_long_message_of_an_exception_is_cut(tmp_path):
    assert "ValueError" in str(drawn(tmp_path, "failing", HUGE["text"]))


def test_what_is_cut_off_still_tells_two_outputs_apart(tmp_path):
    one, other = (dict.fromkeys(range(10**4), 1.0) for _ in range(2))
    other[10**4 - 1] = 2.0
    first, second, third = (drawn(tmp_path, "given", lambda v=v: v) for v in (one, other, one))
    assert str(first) != str(second)
    assert str(first) == str(third)
