"""Units of work, what values look like in two processes, and answers that are none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.auditing.sampling import probe
from dpaudit.execution import failures
from dpaudit.execution.failures import format_exit_status, gone, is_answer
from dpaudit.execution.fingerprints import (
    cells_of,
    close_look,
    codes_of,
    compute_look_fingerprint,
    find_names_of_code,
    names_of,
)
from dpaudit.execution.machine import digest_of_files
from dpaudit.execution.units import Unit, plan_units, stream, unit_size


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ((1, 8), 256),
        ((256 * 128, 8), 256),
        ((256 * 128 * 2, 8), 512),
        ((256 * 128 * 2 - 1, 8), 256),
        ((2**17 * 128 * 4, 8), 2**17),
        ((10_000, 2**26), 1),
        ((10_000, 2**27), 1),
        ((10_000, 2**25), 2),
        ((10_000, 0), 256),
        ((10_000, 8, 1.0), 1),
        ((10_000, 8, 2.0), 1),
        ((10_000, 8, 0.3), 2),
        ((10_000, 8, 1e-9), 256),
    ],
)
def test_a_unit_is_the_largest_power_of_two_within_all_limits(given, size):
    assert unit_size(*given) == size


@pytest.mark.parametrize(
    ("trials", "size"), [(16, 8), (160, 8), (256, 16), (4096, 256), (100_000, 512)]
)
def test_a_short_stage_has_several_units_where_they_are_compared(trials, size):
    assert unit_size(trials, 8, several=True) == size


@pytest.mark.parametrize("trials", [500, 1000, 2000, 3500, 7000, 50_000, 100_000, 123_457])
def test_a_program_is_asked_often_enough_to_compare_its_calls(trials):
    assert unit_size(trials, 8, several=True, coarse=True) <= trials // probe._FEWEST_CALLS


@pytest.mark.parametrize(
    ("trials", "size", "sizes"), [(7, 3, [3, 3, 1]), (6, 3, [3, 3]), (2, 3, [2])]
)
def test_units_cover_all_trials_each_with_its_own_stream(trials, size, sizes):
    units = plan_units(trials, size, stream(5, "a"), which=2)
    assert [one.trials for one in units] == sizes
    assert {one.which for one in units} == {2}
    draws = {float(one.generator().random()) for one in units}
    assert len(draws) == len(units)
    assert [one.seed.spawn_key[-1] for one in units] == list(range(len(sizes)))
    assert units[0].generator().random() == units[0].generator().random()


def test_streams_are_of_a_seed_and_of_all_names_in_their_order():
    def first(seed, *names):
        return float(Unit(1, stream(seed, *names)).generator().random())

    same = first(5, "a", "b")
    assert first(5, "a", "b") == same
    others = {first(6, "a", "b"), first(5, "b", "a"), first(5, "a"), first(5, "a", "b", "c")}
    assert len(others | {same}) == 5


# Looks


def scaled(x, scale=1.0):
    return x * scale


class One:
    scale = 1.0

    def draw(self):
        return 1.0


class Other:
    scale = 2.0

    def draw(self):
        return 1.0


def closed(scale):
    return lambda x: x * scale


def with_default(scale):
    def inner(x, scale=scale):
        return x * scale

    return inner


DIFFERENT = {
    "numbers": (1.0, 2.0),
    "whole and not": (1, 1.0),
    "truth": (True, 1),
    "text": ("a", "b"),
    "text and bytes": ("a", b"a"),
    "nothing": (None, 0),
    "arrays": (np.zeros(2), np.ones(2)),
    "dtypes": (np.zeros(2, np.float32), np.zeros(2)),
    "shapes": (np.zeros((1, 2)), np.zeros((2, 1))),
    "containers": ((1, 2), [1, 2]),
    "order": ((1, 2), (2, 1)),
    "classes": (One, Other),
    "code": (lambda x: x + 1, lambda x: x + 2),
    "names": (lambda x: np.cos(x), lambda x: np.sin(x)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_different_looks_different(name):
    one, other = DIFFERENT[name]
    assert (
        compute_look_fingerprint(one)
        == compute_look_fingerprint(one)
        != compute_look_fingerprint(other)
    )


def test_code_looks_by_what_it_encloses_where_it_is_looked_at_closely():
    assert compute_look_fingerprint(closed(1.0)) == compute_look_fingerprint(closed(2.0))
    assert close_look(closed(1.0)) == close_look(closed(1.0)) != close_look(closed(2.0))
    assert close_look(with_default(1.0)) != close_look(with_default(2.0))
    assert close_look({"a": 1.0}) != close_look({"a": 2.0})
    assert close_look(np) == "module numpy"
    assert compute_look_fingerprint(object()) == ""


def test_a_set_in_code_has_one_order():
    def has(x):
        return x in {"one", "two", "three"}

    assert "'one', 'three', 'two'" in compute_look_fingerprint(has)


def test_what_code_names_is_read_off_all_of_it():
    def outer(x):
        def inner(y):
            return np.cumsum(y)

        return inner(x).mean()

    assert {"cumsum", "mean"} <= set(names_of(outer.__code__))
    assert cells_of(closed(3.0)) == {"scale": 3.0}
    assert cells_of(scaled) == {}
    assert list(codes_of(One().draw)) == [One.draw.__code__]
    assert One.draw.__code__ in list(codes_of(One))
    assert list(codes_of(3)) == []
    assert find_names_of_code(One(), __name__) >= {"One"}
    assert find_names_of_code(scaled, "elsewhere") == set()


def test_files_are_known_by_name_content_and_order(tmp_path):
    for name, text in (("a", "1"), ("b", "2"), ("c", "1")):
        (tmp_path / name).write_text(text)
    a, b, c = (tmp_path / name for name in "abc")
    known = {digest_of_files(of) for of in ([a], [b], [c], [a, b], [b, a], [], [a, tmp_path / "x"])}
    assert len(known) == 7
    assert digest_of_files([a]) == digest_of_files(iter([a]))


# Answers


VALUE = {"value": [1, 2], "seconds": 0.5}
FAILED = dict.fromkeys(("module", "name", "words", "calls", "told"), "x")


@pytest.mark.parametrize(
    ("message", "units", "right"),
    [
        (VALUE, 2, True),
        (VALUE, 3, True),
        (VALUE, 1, False),
        (VALUE | {"value": []}, 1, False),
        (VALUE | {"value": 3}, 1, False),
        ({"value": 3}, 0, True),
        ({"value": [1]}, 1, False),
        (VALUE | {"seconds": "1"}, 2, False),
        ({}, 0, False),
        ({"failed": FAILED}, 1, True),
        ({"failed": FAILED | {"more": "x"}}, 1, True),
        ({"failed": {"name": "x"}}, 1, False),
        ({"failed": FAILED | {"words": 3}}, 1, False),
        ({"failed": "x"}, 1, False),
    ],
)
def test_an_answer_has_as_many_values_as_units_at_most(message, units, right):
    assert is_answer(message, units) is right


def test_how_a_process_ended_is_told_by_its_status():
    assert "status 3" in format_exit_status(3)
    assert "SIGKILL" in format_exit_status(-9)
    assert "of 64 MiB" in format_exit_status(-9, 64 * 2**20)
    assert "compiled" in format_exit_status(-11)
    assert "no name" in format_exit_status(-200)
    assert "channel" in format_exit_status(failures.CLOSED)
    assert "does not answer" in gone(None)
    assert "status 0" in gone(0)
    assert math.isfinite(failures.CLOSED)
