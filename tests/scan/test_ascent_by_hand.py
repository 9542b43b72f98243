"""Parts of a search with feedback in a scan, one by one, and no process of any package."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.random import SeedSequence

import dpaudit.scan.candidates.ascent as ascent
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.freezing.glimpse import CHANGED, UNSEEN
from dpaudit.scan.candidates.ascent import CALLS, Ascent, PairGlimpses, calls_in, constants_of
from dpaudit.search.showing import NOTHING

ADD, REPLACE = "add-remove-record", "replace-record"


@pytest.mark.parametrize(
    ("seconds", "pace", "count"),
    [
        (1.0, 1.0, 1),
        (0.99, 1.0, 0),
        (0.0, 1.0, 0),
        (-1.0, 1.0, 0),
        (2.0, 1.0, 2),
        (3.9, 1.0, 2),
        (4.0, 1.0, 4),
        (CALLS - 0.5, 1.0, 128),
        (float(CALLS), 1.0, CALLS),
        (5.0, 0.0, CALLS),
        (1e-9, 0.0, 1),
    ],
)
def test_calls_are_all_or_a_power_of_two(seconds, pace, count):
    assert calls_in(seconds, pace) == count


@pytest.mark.parametrize(
    ("moved", "kind"),
    [
        (CHANGED, "structure"),
        (math.nextafter(CHANGED, 0), "raw"),
        (math.nextafter(UNSEEN, math.inf), "raw"),
        (math.nextafter(UNSEEN, 0), "movement"),
        (1e-300, "movement"),
    ],
)
def test_what_a_glimpse_shows_is_of_its_kind(moved, kind):
    sight = PairGlimpses(lambda *_: moved, None, lambda _: True, 9, is_blind=False)
    found = sight.of(sight.first(0), 1)
    assert (found.size, found.kind) == (moved, kind)


def test_what_does_not_move_shows_nothing():
    sight = PairGlimpses(lambda *_: 0.0, None, lambda _: True, 9)
    assert sight.of(sight.first(0), 1) is NOTHING
    assert sight.is_blind is False


def test_calls_end_at_the_most_that_are_allowed():
    sight = PairGlimpses(lambda *_: 1.0, None, lambda _: True, 3, is_blind=False)
    first = sight.first(0)
    assert (sight.runs, sight.is_over) == (1, False)
    assert sight.of(first, 1).size == 1.0
    assert (sight.runs, sight.is_over) == (2, False)
    assert sight.of(first, 2) is NOTHING
    assert (sight.runs, sight.is_over) == (3, True)


def test_outputs_are_drawn_where_no_noise_says_how_far_and_of_a_dataset_once():
    drawn = []

    def outputs(dataset, side):
        drawn.append((dataset, side))
        return np.full(8, dataset) + np.random.default_rng(side).normal(size=8)

    seeing = PairGlimpses(lambda one, other: UNSEEN, outputs, lambda _: True, 99, is_blind=False)
    first = seeing.first(0.0)
    assert seeing.of(first, 60.0).kind == seeing.of(first, 90.0).kind == "output"
    assert drawn == [(0.0, 0), (60.0, 1), (90.0, 1)]
    blind = PairGlimpses(lambda one, other: 5.0, outputs, lambda _: True, 99)
    assert blind.of(blind.first(1.0), 60.0).kind == "output"
    assert blind.is_blind is True


def test_a_dataset_that_is_not_allowed_says_nothing_of_whether_noise_is_seen():
    sight = PairGlimpses(lambda *_: 5.0, None, lambda one: one > 0, 9)
    assert sight.first(-1) is None
    assert sight.is_blind is None
    assert sight.of(None, 1) is NOTHING


# The searches of one subject


def subject(**given):
    plain = {
        "name": "tools.sum",
        "code": "total",
        "claims": (PackageClaim(where="the documentation", epsilon=1.0),),
        "relations": (ADD,),
        "datasets": ([0.25, 0.75, 0.5],),
        "parameters": ({"top": 0.0}, {"top": 1.0}),
        "nan": False,
    }
    return Subject(**plain | given)


class Seen:
    """Says how far sums are apart, and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, mechanism, candidates):
        self.asked += candidates
        sides = [(one.pair.dataset, one.pair.neighbour) for one in candidates]
        return [SimpleNamespace(moved=abs(math.fsum(p) - math.fsum(q))) for p, q in sides]


@pytest.fixture
def searches(monkeypatch):
    monkeypatch.setattr(ascent, "constants_of", lambda *_: [])
    guide = Seen()

    def made(card, **given):
        return guide, Ascent(card, 1, 0, SimpleNamespace(), guide, SimpleNamespace(), **given)

    return made


def test_the_setting_is_the_one_of_its_place(searches):
    _, found = searches(subject())
    assert found.parameters == {"top": 1.0}


def test_a_search_stays_within_what_the_documentation_allows_at_the_setting(searches):
    allowed = []

    def domain(data, given):
        allowed.append((given["top"], max(map(float, data), default=0.0)))
        return len(data) < 4

    guide, found = searches(subject(domain=domain))
    climbed = list(found.climbed())
    assert climbed
    assert {top for top, _ in allowed} == {1.0}
    for one in guide.asked:
        assert len(one.pair.dataset) < 4
        assert len(one.pair.neighbour) < 4


def test_what_is_found_is_the_largest_movement_within_the_data(searches):
    guide, found = searches(subject())
    (one,) = found.climbed()
    assert one.moved == pytest.approx(0.75)
    assert not one.is_of_outputs
    assert (one.candidate.setting, one.candidate.group) == (1, -1)
    assert (one.candidate.relation, one.candidate.given) == (ADD, None)
    assert one.candidate.edit == "a pair that a search made of dataset 1"
    p, q = one.candidate.pair.dataset, one.candidate.pair.neighbour
    assert abs(math.fsum(p) - math.fsum(q)) == one.moved
    assert {(a.setting, a.group, a.relation) for a in guide.asked} == {(1, -1, ADD)}


def test_bounds_of_the_setting_are_those_of_the_search(searches):
    _, found = searches(subject(bounds=lambda given: (0.0, 8.0 * given["top"])))
    (one,) = found.climbed()
    assert one.moved == pytest.approx(8.0)


def test_each_relation_is_searched_and_one_that_cannot_be_is_passed_over(searches, monkeypatch):
    _, found = searches(subject(relations=(ADD, REPLACE), datasets=([1.0, 2.0, 4.0],)))
    moved = {one.candidate.relation: one.moved for one in found.climbed()}
    assert moved == {ADD: 4.0, REPLACE: 3.0}
    around = ascent.domain_around

    def of_replacements(dataset, relation, **given):
        if relation == ADD:
            raise InvalidArgument("relation", relation, "another")
        return around(dataset, relation, **given)

    monkeypatch.setattr(ascent, "domain_around", of_replacements)
    assert [one.candidate.relation for one in found.climbed()] == [REPLACE]


def test_a_search_starts_from_the_last_dataset_of_several_records(searches):
    _, found = searches(subject(datasets=([9.0], [1.0, 2.0], [3.0, 4.0], [7.0])))
    assert found._datasets() == [[3.0, 4.0]]
    _, none = searches(subject(datasets=([9.0], [])))
    assert none._datasets() == list(none.climbed()) == []


@pytest.mark.parametrize(("calls", "searched"), [(19, False), (20, True)])
def test_too_few_calls_are_no_search(searches, calls, searched):
    guide, found = searches(subject(), calls=calls)
    list(found.climbed())
    assert bool(guide.asked) is searched
    assert len(guide.asked) <= calls


def test_when_it_is_late_nobody_is_asked(searches):
    guide, found = searches(subject(), is_late=lambda: True)
    assert list(found.climbed()) == guide.asked == []
    late = iter([False] + [True] * 1000)
    guide, found = searches(subject(), is_late=lambda: next(late))
    assert list(found.climbed()) == guide.asked == []


def test_outputs_of_a_search_have_streams_of_their_own(searches):
    _, found = searches(subject())
    asked = []
    found.drawing.observations = lambda dataset, count, seed: asked.append((dataset, count, seed))
    sight = found._sight(ADD, 10, SeedSequence(5))
    for side in (0, 1, 0):
        sight.outputs([1.0], side)
    words = [int(one) for one in SeedSequence(5).generate_state(2)]
    assert [one[:2] for one in asked] == [([1.0], 8)] * 3
    assert [one[2].entropy for one in asked] == [[words[0], 1], [words[1], 1], [words[0], 1]]
    assert sight.most == 10


class Crew:
    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def draw(self, task, units, workers):
        self.asked.append((task, units, workers))
        if isinstance(self.answer, Exception):
            raise self.answer
        return [[self.answer]]


def test_constants_are_those_of_one_call_and_none_where_it_fails():
    crew = Crew((1.5, "a"))
    mechanism = SimpleNamespace(
        crew=crew, distribution="tools", task=lambda data: {"data": data, "distribution": "none"}
    )
    assert constants_of(mechanism, [1.0]) == [1.5, "a"]
    ((task, units, workers),) = crew.asked
    assert task.value == {"data": [1.0], "distribution": "tools"}
    assert (len(units), workers) == (1, 1)
    crew.answer = MechanismError("it ended")
    assert constants_of(mechanism, [1.0]) == []
    crew.answer = InvalidArgument("a", 1, "2")
    assert constants_of(mechanism, [1.0]) == []
    crew.answer = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        constants_of(mechanism, [1.0])
