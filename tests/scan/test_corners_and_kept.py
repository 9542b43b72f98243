"""Numbers at corners, families of pairs, and outputs that may share noise, on small cases."""

from __future__ import annotations

import contextlib
import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.scan.certification.floating as floating
import dpaudit.scan.certification.keeping as keeping
from dpaudit.execution.failures import DrawTimeout
from dpaudit.extension.package import MadePair, PackageClaim, Subject
from dpaudit.guarantees.kinds import ApproximateDP, PureDP
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.scan.candidates.corners import (
    _convert_like_dataset,
    _is_numbers,
    _is_value_allowed,
    _is_within_bounds,
    _list_saturating_values,
    _parse_number_bounds,
    corner_pairs,
)
from dpaudit.scan.candidates.pairs import SubjectCandidate, make_subject_pairs
from dpaudit.scan.certification.certify import SampleSizes
from dpaudit.scan.certification.finite_numbers import convert_to_numbers, is_finite_number
from dpaudit.scan.certification.floating import FloatingScan, of_bits
from dpaudit.scan.certification.keeping import (
    KEPT,
    CountedOutputs,
    RefutationLook,
    _is_another,
    _is_steady,
)

CLAIM = PackageClaim(epsilon=1.0, where="it")
ADDED, REPLACED = "add-remove-record", "replace-record"


def subject(**given):
    usual = {"name": "sum", "code": "f", "claims": (CLAIM,), "additive": True}
    return Subject(**{**usual, **given})


# Corners


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((0.0, 1.0), (0.0, 1.0)),
        ([0, 3], (0, 3)),
        ((0.0, "a"), None),
        ((0.0, 1.0, 2.0), None),
        (None, None),
        (3.0, None),
        (((0, 1), (0, 1)), None),
    ],
)
def test_bounds_are_two_numbers(given, found):
    assert _parse_number_bounds(given) == found


@pytest.mark.parametrize(
    ("value", "inside"),
    [(0.0, True), (1.0, True), (-1e-9, False), (1 + 1e-9, False), (math.nan, False)],
)
def test_values_are_within_their_bounds_ends_included(value, inside):
    assert _is_within_bounds(value, (0.0, 1.0)) is inside


def test_either_bound_saturates_unless_they_are_equal():
    assert _list_saturating_values((0.0, 2.0)) == ((2.0, 0.0), (0.0, 2.0))
    assert _list_saturating_values((2.0, 2.0)) == ()


@pytest.mark.parametrize(
    ("dataset", "values", "fits"),
    [
        ([1.0], (0.5, 2.0), True),
        ([1.0], (0.5, 2), False),
        ([1.0, 2], (1, 2), False),
        ([1], (1, 2**63), True),
        ([1], (1, 2**63 + 1), False),
        ([1], (-(2**63), 0), True),
        ([1], (0.5, 1), False),
        ([1], (0.0, -0.0), False),
        (np.array([1]), (1, 2), True),
        (np.array([1.0]), (1.0, -0.0), True),
        (np.array([1.0]), (1, 2), False),
    ],
)
def test_values_stand_among_records_of_their_kind(dataset, values, fits):
    assert _is_value_allowed(dataset, *values) is fits


@pytest.mark.parametrize(
    ("dataset", "numbers"),
    [
        ([1, 2.0], True), ([], False), ([True], False), (["a"], False), ((1, 2), False),
        (np.array([1.0]), True), (np.array([]), False), (np.eye(2), False),
        (np.array(["a"]), False), (np.array([True]), False),
    ],
)  # fmt: skip
def test_a_dataset_of_numbers_is_flat_and_not_empty(dataset, numbers):
    assert _is_numbers(dataset) is numbers


def test_records_keep_their_kind():
    assert _convert_like_dataset([1, 2], [3.0, 4]) == [3, 4]
    assert all(type(one) is float for one in _convert_like_dataset([1.0, 2], [3, 4]))
    assert _convert_like_dataset(np.array([1], dtype=np.int32), [5, 6]).dtype == np.int32


def edits(**given):
    return {
        (one.corner.name, one.relation): (list(one.pair.dataset), list(one.pair.neighbour))
        for one in corner_pairs(subject(**given), {})
    }


def test_one_record_is_at_the_corner_on_either_relation():
    found = edits(datasets=([0.25, 0.75],), bounds=(0.0, 1.0))
    assert found["saturation", REPLACED] == ([0.0, 0.0], [0.0, 1.0])
    assert found["saturation", ADDED] == ([0.0, 0.0, 1.0], [0.0, 0.0])
    assert found["subnormals", REPLACED][0] == [0.75, 0.0]
    assert 0 < found["subnormals", REPLACED][1][1] < 1e-300
    assert found["subnormals", ADDED][1] == [0.75, 0.0]
    assert edits(datasets=([0.25], [0.5, 0.75, 1.0]), bounds=(0.0, 1.0))["saturation", ADDED] == (
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0],
    )  # of the last, which is the largest
    assert edits(datasets=([0.25, 0.75],), bounds=None) == {}


# Families


@pytest.mark.parametrize(
    ("dataset", "neighbour", "given", "family"),
    [
        ([1.0, 2.0], [1.0, 3.0], None, "ordinary"),
        ([1.0, 2.0], [1.0, 3.0], "new value", "new value"),
        ([1.0, 2.0], [1.0, None], "missing value", "missing value"),
        ([1.0], [3.0], None, "few records"),
        ([1.0, 2.0], [1.0], "new value", "few records"),
        ([1.0], [1.0, 2.0], None, "few records"),
        ([1.0], [None], "missing value", "missing value"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], None, "ordinary"),
    ],
)
def test_a_family_is_what_was_done_to_a_record(dataset, neighbour, given, family):
    pair = SimpleNamespace(dataset=dataset, neighbour=neighbour)
    assert SubjectCandidate(0, 0, pair, ADDED, "one", given=given).family == family


def test_pairs_of_one_dataset_share_a_group_and_equal_pairs_are_one():
    pair = MadePair(dataset=[1.0, 2.0, 3.0], neighbour=[1.0, 2.0, 8.5], relation=REPLACED, edit="x")
    one = subject(datasets=([1.0, 2.0, 3.0], [5.0, 6.0]), pairs=(pair, pair), bounds=(0.0, 9.0))
    found = make_subject_pairs(one, 0, most=4)
    by_group = {}
    for each in found:
        by_group.setdefault(each.group, []).append(each)
    assert all(len({str(each.pair.dataset) for each in some}) == 1 for some in by_group.values())
    assert len(by_group) == 3
    assert [each.edit for each in found if each.stated] == ["x"]
    keys = [(each.relation, str(each.pair.dataset), str(each.pair.neighbour)) for each in found]
    assert len(keys) == len(set(keys))
    assert {each.relation for each in found} == {ADDED, REPLACED}


# Numbers that have bits


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1.0, True), (1, False), (True, False), ("1", False), (np.float32(1), True),
        (np.int64(1), False), (np.array([1.0]), True), (np.array([1]), False), (None, False),
    ],
)  # fmt: skip
def test_integers_and_truths_have_no_bits_of_doubles(value, number):
    assert is_finite_number(value) is number


def test_observations_are_numbers_where_all_are_of_one_shape():
    assert convert_to_numbers([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert convert_to_numbers([np.ones(2), np.ones(3)]) is None
    assert convert_to_numbers([1.0, 2]) is None
    assert convert_to_numbers([np.ones(2)] * 3).shape == (3, 2)
    assert all(one.of_bits for one in of_bits())


class Steady:
    """A mechanism that draws nothing."""

    many, parameters = False, {}


@pytest.mark.parametrize(
    ("choosing", "left", "trials", "sizes"),
    [
        (400, 4, 600, (312, 600)),
        (400, 10, 1000, (200, 250)),
        (400, 1, 3000, (400, 2500)),
        (400, 100, 1000, (200, 200)),
        (2000, 10, 1000, (375, 750)),
        (2000, 4, 900, (900, 900)),
    ],
)
def test_a_corner_takes_its_share_of_the_time(monkeypatch, choosing, left, trials, sizes):
    """A hundred seconds are left, for so many hypotheses; an output takes a hundredth of one.

    That of bits has three times as much.
    """
    now = iter([0.0, 0.0, 0.16])
    monkeypatch.setattr(floating, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(floating, "observe_in_turn", lambda *_: None)
    one = FloatingScan(subject(), lambda _: None, [], 0, trials, 1e-3, 100.0)
    one._left = left
    assert one._sizes(Steady(), SimpleNamespace(pair=None), choosing) == SampleSizes(*sizes)


def test_without_an_end_a_corner_takes_all_that_it_may():
    one = FloatingScan(subject(trials=300), lambda _: None, [], 0, 1000, 1e-3)
    assert one._sizes(Steady(), None, 400) == SampleSizes(300, 300)


@pytest.mark.parametrize("refuted", [False, True])
def test_what_was_refuted_already_is_not_looked_at_in_digits(monkeypatch, refuted):
    seen = []
    monkeypatch.setattr(
        FloatingScan, "_one", lambda _, ran, mechanism, corner, some, claim: seen.append(some)
    )
    other = PackageClaim(epsilon=2.0, where="there")
    one = subject(claims=(CLAIM, other), relations=(ADDED,))
    scan = FloatingScan(
        one, lambda _: None, [], 0, 100, 0.1, refuted=lambda *given: refuted and given[2] is CLAIM
    )
    candidates = [SimpleNamespace(relation=ADDED), SimpleNamespace(relation=REPLACED)]
    left = scan._left
    scan._look(None, None, 0, floating.CORNERS[1], candidates)
    assert len(seen) == 2 - refuted
    assert all(some == candidates[:1] for some in seen)
    assert scan._left == left - 2


def test_the_most_promising_event_beyond_the_claim_is_chosen():
    class Card:
        name = "card"

        def load(self):
            return lambda mechanism, pair, p, q, rng: lambda rows: rows

    p, q = (np.arange(100) < 60).astype(float), (np.arange(100) < 10).astype(float)
    halves = [(p, p), (q, q)]
    found, _ = floating._choose_distinguisher_event(
        Card(), None, None, halves, ApproximateDP(1.0, 0.1), 0
    )
    assert found.point == (1.0, 0.1)
    assert found.beyond == found.event.promised - 1.0
    pure, _ = floating._choose_distinguisher_event(Card(), None, None, halves, PureDP(1.0), 0)
    assert pure.beyond > found.beyond


# What may be kept


ONE = np.ones(40)
NOISE = np.random.default_rng(6).normal(size=40)


@pytest.mark.parametrize(
    ("others", "steady"), [(0, True), (2, True), (3, False), (20, False), (40, True)]
)
def test_a_part_is_steady_with_a_glitch_or_two(others, steady):
    values = np.ones(40)
    values[:others] = 7.0
    assert _is_steady(values) is steady


@pytest.mark.parametrize(("hits", "another"), [(40, False), (20, True), (0, True), (39, False)])
def test_rates_that_no_chance_explains_are_of_another_law(hits, another):
    one = CountedOutputs(np.stack([NOISE], axis=1), 40)
    assert _is_another(one, CountedOutputs(np.stack([NOISE[::-1]], axis=1), hits)) is another


def look(draws, *, hits=lambda rows: len(rows), watched=None):
    closed = []
    crew = SimpleNamespace(
        close=lambda: closed.append(1), patient=lambda seconds: contextlib.nullcontext()
    )
    mechanism = SimpleNamespace(crew=crew, watched=watched)
    pair = Pair([0.0], [1.0], REPLACE_RECORD)
    drawn = []

    def draw(count, purpose):
        drawn.append((count, purpose))
        return draws(len(drawn), count)

    made_look = RefutationLook(
        mechanism, pair, 0, draw, lambda rows: CountedOutputs(np.asarray(rows), hits(rows))
    )
    return made_look, drawn, closed


def sides(first, second, count=40):
    return np.full((count, 1), first), np.full((count, 1), second)


def seen(first, second):
    return [CountedOutputs(one, len(one)) for one in sides(first, second)]


def test_where_nothing_varied_at_least_two_new_processes_are_asked(monkeypatch):
    now = iter([0.0, *[99.0] * 50])
    monkeypatch.setattr(keeping.time, "monotonic", lambda: next(now))
    one, drawn, closed = look(lambda place, count: sides(1.0, 2.0, count))
    assert not one._differs_elsewhere(seen(1.0, 2.0))
    assert drawn == [(8, "process 0"), (8, "process 1")]
    assert len(closed) == 2


@pytest.mark.parametrize("at", [1, 2, 24, 25])
def test_a_process_that_answers_otherwise_is_enough_among_24(monkeypatch, at):
    monkeypatch.setattr(keeping.time, "monotonic", lambda: 0.0)
    one, drawn, _ = look(lambda place, count: sides(1.0, 5.0 if place == at else 2.0, count))
    assert one._differs_elsewhere(seen(1.0, 2.0)) is (at <= 24)
    assert len(drawn) == min(at, 24)
    if at <= 24:
        again, _, _ = look(lambda place, count: sides(1.0, 5.0 if place == at else 2.0, count))
        assert again.why_kept(seen(1.0, 2.0)) == KEPT


def test_where_the_event_varies_one_new_process_is_enough():
    one, drawn, _ = look(lambda place, count: sides(1.0, 2.0, count), hits=lambda rows: 4)
    given = [CountedOutputs(np.full((40, 1), 1.0), 20), CountedOutputs(np.full((40, 1), 2.0), 20)]
    assert not one._differs_elsewhere(given)
    assert len(drawn) == 1


def test_where_there_is_no_time_for_new_processes_none_is_another():
    def over(place, count):
        raise DrawTimeout("over")

    one, drawn, _ = look(over)
    assert not one._differs_elsewhere(seen(1.0, 2.0))
    assert len(drawn) == 1


def test_what_was_touched_or_is_another_at_another_time_may_hold_noise():
    touched, _, _ = look(None, watched=lambda *_: ([("file", "/a/key.txt")], sides(1.0, 2.0, 3)))
    assert "kept outside the call (file " in touched._outside(seen(1.0, 2.0))
    clean, _, _ = look(None, watched=lambda *_: ([], sides(1.0, 2.0, 3)))
    assert clean._outside(seen(1.0, 2.0)) == ""
    for other in (sides(1.0, 2.5, 3), sides(0.5, 2.0, 3)):
        moved, _, _ = look(None, watched=lambda *_, other=other: ([], other))
        assert "(clock " in moved._outside(seen(1.0, 2.0))

    def late(*_):
        raise DrawTimeout("over")

    hurried, _, _ = look(None, watched=late)
    assert "no time was left to check" in hurried._outside(seen(1.0, 2.0))
    same, _, _ = look(None, watched=late)
    assert same._outside(seen(1.0, 1.0)) == ""


@pytest.mark.parametrize(
    ("hits", "processes"),
    [((20, 20), 1), ((40, 20), 1), ((20, 0), 1), ((40, 0), 24), ((40, 40), 24), ((0, 0), 24)],
)
def test_where_the_event_varies_on_either_side_one_new_process_is_enough(
    monkeypatch, hits, processes
):
    monkeypatch.setattr(keeping.time, "monotonic", lambda: 0.0)
    one, drawn, _ = look(lambda place, count: sides(1.0, 2.0, count))
    given = [CountedOutputs(rows, count) for rows, count in zip(sides(1.0, 2.0), hits, strict=True)]
    again = iter(range(10**6))  # as many hits as those that were counted, in new processes
    made = RefutationLook(
        one.mechanism, one.pair, 0, one.draw,
        lambda rows: CountedOutputs(np.asarray(rows), len(rows) * hits[next(again) % 2] // 40),
    )  # fmt: skip
    assert not made._differs_elsewhere(given)
    assert len(drawn) == processes


@pytest.mark.parametrize("part", [0, 1, 2])
def test_any_part_that_is_another_at_another_time_may_be_noise(part):
    given = [CountedOutputs(np.full((40, 3), value), 40) for value in (1.0, 2.0)]
    later = [np.full((3, 3), value) for value in (1.0, 2.0)]
    still, _, _ = look(None, watched=lambda *_: ([], later))
    assert still._outside(given) == ""
    later[1][:, part] += 0.5
    moved, _, _ = look(None, watched=lambda *_: ([], later))
    assert "(clock " in moved._outside(given)
