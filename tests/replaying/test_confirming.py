"""What replays look at once more: laws that other noise changes, whichever draw is spared."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.replaying import confirming
from dpaudit.replaying.confirming import (
    _find_changed_numbers,
    exceeds,
    select_confirmed_laws,
    without_constants,
)
from dpaudit.replaying.events import OutputCondition, ReplayEvent
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw

DRAWS = [StandardDraw("laplace(0;)#0", n) for n in range(5)]


def laws(*centres, structure="[f]"):
    numbers = [
        NumberLaw("laplace", one, 1.0, draw) for one, draw in zip(centres, DRAWS, strict=False)
    ]
    return Laws(structure, (), [f"output[{n}]" for n in range(len(numbers))], numbers)


def event(*places):
    return ReplayEvent(
        "all of", "dataset", tuple(OutputCondition(n, True, 0.0) for n in places), 0.5, 0.01
    )


@pytest.fixture
def far(monkeypatch):
    """Return what is spared where runs are made, and change numbers where a test asks for it."""
    said = {
        "asked": [],
        "wrong": lambda data, spared: set(),
        "structure": "[f]",
        "drawn": True,
        "two": 2.0,
    }

    def runs(function, data, spared, first, *_):
        said["asked"].append((data, spared))
        wrong = said["wrong"](data, spared)
        centres = [0.0, 1.0, said["two"] if data == "other" else 2.0, 3.0, 4.0]
        outputs = [
            SimpleNamespace(
                structure=said["structure"],
                numbers=[centre + z + 5.0 * (n in wrong) for n, centre in enumerate(centres)],
            )
            for z in (0.25, -1.5, 3.0)
        ]
        return SimpleNamespace(outputs=outputs, runs=[])

    def draws(side):
        names = DRAWS if said["drawn"] else []
        return SimpleNamespace(names=names, columns=[np.array([0.25, -1.5, 3.0]) for _ in names])

    monkeypatch.setattr(confirming, "runs_that_spare", runs)
    monkeypatch.setattr(confirming, "draws_of", draws)
    return said


WHOLE = laws(0.0, 1.0, 2.0, 3.0, 4.0)


def entries(*places):
    return frozenset().union(*(DRAWS[n].entries for n in places))


def test_all_draws_of_an_event_are_spared_together_and_the_first_three_alone(far):
    assert _find_changed_numbers(WHOLE, event(0, 1, 2, 3), None, "d", 1) == set()
    assert {spared for _, spared in far["asked"]} == {
        entries(0, 1, 2, 3), entries(0), entries(1), entries(2),
    }  # fmt: skip


@pytest.mark.parametrize("spared", [(0, 1), (0,), (1,)])
def test_a_number_that_changes_with_any_of_these_is_wrong(far, spared):
    far["wrong"] = lambda data, held: {1, 4} if held == entries(*spared) else set()
    assert _find_changed_numbers(WHOLE, event(0, 1), None, "d", 1) == {
        1
    }  # the last is none of the event's


def test_other_structures_and_draws_that_are_gone_are_wrong(far):
    far["structure"] = "[f, f]"
    assert _find_changed_numbers(WHOLE, event(0, 2), None, "d", 1) == {0, 2}
    far["structure"], far["drawn"] = "[f]", False
    assert _find_changed_numbers(WHOLE, event(0, 2), None, "d", 1) == {0, 2}
    gone = laws(0.0, 1.0)
    gone.numbers[1] = None
    far["drawn"] = True
    assert _find_changed_numbers(gone, event(0, 1), None, "d", 1) == {1}


@pytest.mark.parametrize("where", ["own", "other"])
def test_what_other_noise_changes_on_either_dataset_is_no_law_on_both(far, where):
    both, far["two"] = (laws(0.0, 1.0, 2.0), laws(0.0, 1.0, 9.0)), 9.0
    assert select_confirmed_laws(both, None, ("own", "other"), (0.5, 0.0), 1) is both
    assert None not in [*both[0].numbers, *both[1].numbers]
    far["wrong"] = lambda data, spared: {2} if data == where else set()
    made = select_confirmed_laws(both, None, ("own", "other"), (0.5, 0.0), 1)
    assert [law is None for law in made[0].numbers] == [False, False, True]
    assert [law is None for law in made[1].numbers] == [False, False, True]
    assert without_constants(made, 0.0) is None


def test_nothing_is_run_below_the_claim(far):
    both, far["two"] = (laws(0.0, 1.0, 2.0), laws(0.0, 1.0, 4.0)), 4.0
    assert without_constants(both, 0.0).epsilon(0.0) == pytest.approx(2.0)
    assert select_confirmed_laws(both, None, ("own", "other"), (2.5, 0.0), 1) is both
    assert far["asked"] == []
    assert select_confirmed_laws(both, None, ("own", "other"), (1.5, 0.0), 1) is both
    assert {data for data, _ in far["asked"]} == {"own", "other"}
    assert None not in [*both[0].numbers, *both[1].numbers]


@pytest.mark.parametrize(("wrong", "left"), [(3, 3), (4, 1)])
def test_after_four_events_that_were_wrong_only_constants_are_left(monkeypatch, wrong, left):
    both = laws(*range(5)), laws(*range(10, 15))
    for one in both:
        one.numbers.append(NumberLaw("constant", 1.0))
        one.paths.append("output[5]")
    seen = []

    def changed(side, found, *_):
        place = found.conditions[0].place
        seen.append(place)
        return {place} if len(seen) <= 2 * wrong else set()

    monkeypatch.setattr(confirming, "_find_changed_numbers", changed)
    made = select_confirmed_laws(both, None, ("own", "other"), (0.5, 0.0), 1)
    assert len(seen) == 8  # of either dataset, four times
    for side in made:
        assert len([law for law in side.numbers if law is not None]) == left
        assert side.numbers[5].constant


def test_constants_are_no_laws_of_an_event():
    both = laws(0.0), laws(0.0)
    both[0].numbers[0], both[1].numbers[0] = NumberLaw("constant", 1.0), NumberLaw("constant", 2.0)
    assert without_constants(both, 0.0) is None
    assert both[0].numbers[0].constant  # and stay where they were


@pytest.mark.parametrize(("epsilon", "more"), [(1.9, True), (2.0, False), (2.1, False)])
def test_an_event_has_to_prove_more_than_is_claimed(epsilon, more):
    both = laws(0.0), laws(2.0)
    found = without_constants(both, 0.0)
    assert found.epsilon(0.0) == pytest.approx(2.0)
    assert exceeds(found, both, (epsilon, 0.0)) is more
