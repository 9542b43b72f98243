"""How a probe calls a function: with what it asks for, as often as asked, and no longer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpaudit.scan.remote.probe as probe
from dpaudit.scan.remote.probe import draw_output_parts


def numbers(found, name="out"):
    return [one[name][1] for one in found]


def test_a_function_gets_its_parameters_and_what_it_asks_for():
    def plain(data, scale):
        return sum(data) * scale

    def random(data, rng):
        assert isinstance(rng, np.random.Generator)
        return 5.0

    assert numbers(draw_output_parts(plain, {"scale": 2.0}, [1.0, 2.0], 3, 9.0)) == [6.0] * 3
    assert numbers(draw_output_parts(random, {}, [1.0], 2, 9.0)) == [5.0] * 2


def test_a_function_that_draws_many_is_called_once():
    asked = []

    def many(data, trials):
        asked.append(trials)
        return [float(place) for place in range(trials)]

    assert numbers(draw_output_parts(many, {}, [1.0], 4, 9.0)) == [0.0, 1.0, 2.0, 3.0]
    assert asked == [4]


def test_where_many_at_once_fail_each_is_drawn_by_itself():
    def many(data, trials):
        if trials > 1:
            raise ValueError("not together")
        return [7.0]

    def bare(data, trials):
        return 8.0 if trials == 1 else None

    assert numbers(draw_output_parts(many, {}, [1.0], 3, 9.0)) == [7.0] * 3
    assert numbers(draw_output_parts(bare, {}, [1.0], 2, 9.0)) == [8.0] * 2


def test_what_is_raised_is_an_outcome():
    def broken(data):
        raise KeyError("a")

    (found,) = draw_output_parts(broken, {}, [1.0], 1, 9.0)
    assert found["type(out).__name__"] == ["code", "KeyError"]
    assert found["str(out)"] == ["code", "'a'"]


@pytest.mark.parametrize(("seconds", "count"), [(0.0, 1), (2.0, 2), (2.5, 3), (100.0, 5)])
def test_runs_end_when_the_time_is_over_and_there_is_one_at_least(monkeypatch, seconds, count):
    clock = itertools.count()
    monkeypatch.setattr(probe.time, "monotonic", lambda: float(next(clock)))
    assert len(draw_output_parts(lambda data: 1.0, {}, [1.0], 5, seconds)) == count
