"""A search with feedback in a scan: leaks that no edit of the card's data shows."""

import math
from functools import partial

import numpy as np
import pytest

import dpaudit.scan.candidates.ascent as ascent
from dpaudit.execution import Limits
from dpaudit.scan.candidates.ascent import CALLS, Ascent, PairGlimpses, calls_in, constants_of
from dpaudit.scan.remote.environments import VersionEnvironment
from dpaudit.scan.remote.foreign import Foreign
from dpaudit.scan.remote.guide import Glimpse, frozen_noise
from dpaudit.scan.scan import ScanBudget, file_of, scan_package


def found_in(toy, subjects, seed=0, confidence=1 - 1e-6):
    budget = ScanBudget(confidence=confidence, trials=600, seconds=120.0)
    result = scan_package(toy.package(*subjects), budget=budget, seed=seed, workers=1)
    assert not result.skipped
    return {one.subject for one in result.findings}


def test_leaks_at_constants_and_at_values_that_climbing_finds_are_found(toy, monkeypatch):
    names = {one.name for one in toy.HIDDEN}
    assert found_in(toy, toy.HIDDEN) == names
    monkeypatch.setattr(ascent, "CALLS", 0)
    assert found_in(toy, toy.HIDDEN) == set()


def test_who_is_correct_at_a_constant_is_not_accused(toy):
    assert found_in(toy, [toy.COUNTS_A_VALUE], confidence=0.95) == set()


@pytest.mark.slow
def test_nobody_correct_is_accused_at_any_seed(toy):
    subjects = (toy.COUNTS_A_VALUE, *toy.CORRECT)
    assert [found_in(toy, subjects, seed) for seed in range(20)] == [set()] * 20


@pytest.fixture
def searched(toy):
    """Return what searches of a subject find, by its name."""
    with VersionEnvironment(None, "1.0").crew(Limits()) as crew:

        def found(name, seed=0, guide=frozen_noise, **more):
            subject = next(one for one in toy.HIDDEN if one.name == name)
            given = {"distribution": "toy", "many": name != "peaks_unseen"}
            mechanism = Foreign(crew, file_of(toy.PACKAGE), name, {"epsilon": 1.0}, **given)
            return list(Ascent(subject, 0, seed, mechanism, guide, mechanism, **more).climbed())

        yield found


def sides(found):
    return [(one.candidate.pair.dataset, one.candidate.pair.neighbour) for one in found]


def test_a_pair_is_climbed_to_where_most_moves(searched):
    (found,) = searched("peaks_inside")
    assert found.moved == pytest.approx(30 * 0.8**4 * 0.2, rel=0.02)
    assert not found.is_of_outputs


def test_one_seed_gives_one_result(searched):
    one, same = (searched("median_of_many", 3) for _ in range(2))
    assert sides(one) == sides(same)


def test_outputs_are_compared_where_noise_is_not_intercepted(searched):
    found = searched("peaks_unseen")
    assert all(one.is_of_outputs for one in found)
    (pair,) = sides(found)
    changed = max(pair, key=len)[:]
    for one in min(pair, key=len):
        changed.remove(one)
    assert 0.5 < changed[0] < 1.0


def test_no_more_calls_are_made_than_stated(searched):
    calls = []

    def guide(mechanism, some):
        calls.extend(some)
        return [Glimpse(abs(math.fsum(p) - math.fsum(q))) for p, q in (one.pair for one in some)]

    searched("peaks_inside", guide=guide, calls=50)
    assert 20 <= len(calls) <= 50


def test_nothing_is_searched_for_when_it_is_late(searched):
    assert searched("peaks_inside", is_late=lambda: True) == []
    assert searched("peaks_inside", calls=1) == []


def test_a_dataset_that_is_not_allowed_shows_nothing():
    sight = PairGlimpses(lambda one, other: float(other), lambda *_: None, lambda one: one < 5, 100)
    sight.is_blind = False
    assert sight.of(sight.first(1), 3).moved == 3.0
    assert sight.of(sight.first(1), 7).kind == "nothing"
    assert sight.of(sight.first(7), 1).kind == "nothing"
    assert sight.runs == 6


def test_where_two_looks_at_one_dataset_differ_outputs_are_compared():
    def outputs(dataset, side):
        return dataset + np.random.default_rng(side).normal(size=8)

    sight = PairGlimpses(lambda *_: 1e3, outputs, lambda _: True, 100)
    near, far = (sight.of(sight.first(0.0), other) for other in (0.1, 50.0))
    assert sight.is_blind
    assert near.kind == far.kind == "output"
    assert far.size > 2 * near.size


def test_constants_are_those_of_the_code_that_runs(toy):
    with VersionEnvironment(None, "1.0").crew(Limits()) as crew:
        given = {"parameters": {"epsilon": 1.0}, "many": True, "distribution": "toy"}
        of = partial(Foreign, crew, file_of(toy.PACKAGE), **given)
        assert {0.61, 0.63} <= set(constants_of(of(function="marks_a_range"), [0.1, 0.2]))
        assert 0.61 not in constants_of(of(function="marks_a_value"), [0.1, 0.2])
        assert constants_of(of(function="there is none"), [0.1]) == []


def test_calls_are_as_many_as_the_time_allows():
    assert [calls_in(10.0, pace) for pace in (0.0, 1e-3, 0.1, 100.0)] == [CALLS, CALLS, 64, 0]
