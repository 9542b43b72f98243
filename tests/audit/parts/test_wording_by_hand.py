"""Words of an event by hand: on which side it is said, and in which runs a code is looked for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.auditing.explain.event_words import FeatureEvent, Words, first_said, plainness_of
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.mechanisms.outputs.features import OnePart
from dpaudit.mechanisms.outputs.layout import INFINITE, LayoutColumn
from dpaudit.mechanisms.outputs.leaves import ABSENT
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.redaction import set_records_shown


class Telling:
    """A mechanism that tells some codes, each from a certain call on."""

    def __init__(self, **since):
        self.since = {float(name[1:]): call for name, call in since.items()}
        self.calls = []

    def texts(self, datasets, runs, rngs, asked):
        streams = [rng.random() for rng in rngs]
        self.calls.append((datasets, runs, asked, streams))
        return {
            code: ("str", f"text {code:g}")
            for code, call in self.since.items()
            if code in asked and call <= len(self.calls)
        }


def words_of(mechanism, runs, columns=(), **more):
    drawer = SimpleNamespace(mechanism=mechanism, pair=Pair([1.0], [2.0], REPLACE_RECORD), seed=4)
    fresh = (np.zeros((runs, 2)), np.zeros((runs, 2)))
    layout = SimpleNamespace(columns=columns)
    return Words(layout, SimpleNamespace(ratios={}), drawer, fresh, 10.0, **more)


@pytest.mark.parametrize(
    ("runs", "since", "calls", "found"),
    [
        (10, {"c5": 1, "c7": 1}, 1, {5.0, 7.0}),
        (10, {"c5": 1, "c7": 2}, 1, {5.0}),  # 256 outputs, and no more
        (129, {"c5": 1, "c7": 2}, 2, {5.0, 7.0}),
        (128, {"c5": 1, "c7": 2}, 1, {5.0}),
        (1000, {"c5": 3, "c7": 1}, 3, {5.0, 7.0}),
        (1000, {"c5": 9}, 8, set()),  # 2048 of 2000
    ],
)
def test_codes_are_looked_for_in_twice_the_runs_that_were_counted(runs, since, calls, found):
    mechanism = Telling(**since)
    known = words_of(mechanism, runs).known([0.0, 5.0, 7.0, ABSENT.code])
    assert known == {code: ("str", f"text {code:g}") for code in found}
    assert len(mechanism.calls) == calls
    for datasets, drawn, asked, streams in mechanism.calls:
        assert (datasets, drawn, asked) == ([[1.0], [2.0]], 256, [5.0, 7.0])
        assert streams[0] != streams[1]


def test_no_run_is_drawn_for_what_is_no_text():
    mechanism = Telling()
    assert words_of(mechanism, 10).known([0.0, ABSENT.code]) == {}
    assert mechanism.calls == []


@pytest.mark.parametrize(
    ("above", "sign", "threshold", "usual", "words", "complement"),
    [
        (True, 1, 2.5, 5, "`output` > 2.5", False),
        (False, 1, 2.5, 5, "`output` < 2.5", False),
        (True, -1, 2.5, 5, "`output` < -2.5", False),
        (False, -1, -2.5, 5, "`output` > 2.5", False),
        (True, 1, 2.5, 11, "`output` < 2.5", True),
        (True, -1, 2.5, 11, "`output` > -2.5", True),
        (True, 1, 1e300, 5, "`output` is infinite or of another kind", False),
        (False, 1, 1e300, 5, "`output` is infinite or of another kind", True),
        (False, 1, -1e300, 5, "`output` is minus infinity", False),
        (True, 1, -1e300, 11, "`output` is minus infinity", True),
        (True, -1, 1e300, 5, "`output` is minus infinity", False),
    ],
)
def test_an_event_of_a_number_is_said_by_its_side_and_by_what_is_odd_beyond(
    above, sign, threshold, usual, words, complement
):
    told = words_of(None, 10, columns=[LayoutColumn("output", False, True)])
    odd = np.array([[INFINITE], [-INFINITE], [1.5e300], [0.0]])
    told = replace(told, fresh=(odd, odd))
    tried = FeatureEvent(OnePart(0, sign), (0,), ThresholdEvent(above, threshold, 0.0))
    with set_records_shown():
        assert told.of(tried, (usual, 12)) == (words, complement)


@pytest.mark.parametrize(
    ("above", "usual", "how"),
    [(True, 5, "farther"), (False, 5, "less far"), (True, 11, "less far")],
)
def test_a_distance_from_a_centre_is_said_with_its_centre(above, usual, how):
    told = words_of(None, 10, columns=[LayoutColumn("output", False, True)])
    tried = FeatureEvent(OnePart(0, 1, centre=4.0), (0,), ThresholdEvent(above, 1.5, 0.0))
    with set_records_shown():
        said = told.of(tried, (12, usual))
    assert said == (f"`output` {how} than 1.5 from 4", usual == 11)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("output.raised", 0),
        ("output.len", 1),
        ("output", 2),
        ("output.keys", 3),
        ("output.columns", 3),
        ("output.index", 3),
        ("output.the rest", 4),
        ("output.the values of the rest", 5),
    ],
)
def test_what_says_most_is_first_and_codes_before_numbers(path, place):
    assert first_said(path) == place
    assert plainness_of(LayoutColumn(path, True, True), None) == (place, False)
    assert plainness_of(LayoutColumn(path, False, True), None) == (place, True)
