"""Pairs of a subject: which are made, in which groups, and which are left out."""

from __future__ import annotations

import numpy as np
import pytest

import dpaudit.scan.candidates.pairs as pairs
from dpaudit.errors import InvalidArgument
from dpaudit.extension.package import MadePair, PackageClaim, Subject
from dpaudit.scan.candidates.pairs import make_subject_pairs, size_in_records

ADD, REPLACE = "add-remove-record", "replace-record"


def subject(**given):
    plain = {
        "name": "tools.sum",
        "code": "total",
        "claims": (PackageClaim(where="the documentation", epsilon=1.0),),
        "relations": (ADD,),
    }
    return Subject(**plain | given)


def stated(dataset, neighbour, relation=ADD):
    return MadePair(
        dataset=dataset, neighbour=neighbour, relation=relation, edit="as the card says"
    )


def shown(found):
    return [(one.setting, one.group, one.pair.dataset, one.pair.neighbour) for one in found]


def test_the_pairs_of_a_card_come_in_its_order_and_direction():
    both = (stated([1.0], [1.0, 2.0]), stated([5.0, 6.0], [5.0]))
    found = make_subject_pairs(subject(pairs=both), 0, most=3)
    assert shown(found) == [(0, 0, [1.0], [1.0, 2.0]), (0, 1, [5.0, 6.0], [5.0])]
    assert all(one.stated for one in found)
    assert {(one.relation, one.edit, one.given) for one in found} == {
        (ADD, "as the card says", None)
    }


def test_a_dataset_is_a_group_under_all_relations_and_settings_have_their_own():
    card = subject(
        parameters=({"n": 1}, {"n": 2}),
        datasets=lambda given: ([float(given["n"])] * 2, [7.0, 8.0, 9.0]),
        relations=(ADD, REPLACE),
        pairs=lambda given: (stated([0.0], [0.0, float(given["n"])]),),
    )
    found = make_subject_pairs(card, 0, most=4)
    groups = {(one.group, one.setting, one.stated) for one in found}
    assert groups == {
        *((0, 0, False), (1, 0, False), (2, 0, True)),
        *((3, 1, False), (4, 1, False), (5, 1, True)),
    }
    by_relation = {(one.group, one.relation) for one in found}
    assert {(0, ADD), (0, REPLACE), (1, ADD), (1, REPLACE), (2, ADD)} <= by_relation
    assert (2, REPLACE) not in by_relation
    held = {one.group: one.pair.dataset for one in found if not one.stated}
    assert len(held) == 4


def test_pairs_that_say_the_same_are_one_and_others_are_not():
    same = (stated([1.0], [1.0, 2.0]), stated([1.0], [1.0, 2.0]), stated([1.0, 2.0], [1.0]))
    found = make_subject_pairs(subject(pairs=same), 0, most=1)
    assert shown(found) == [(0, 0, [1.0], [1.0, 2.0]), (0, 2, [1.0, 2.0], [1.0])]
    settings = subject(pairs=same[:1], parameters=({"n": 1}, {"n": 2}))
    assert [one.setting for one in make_subject_pairs(settings, 0, most=1)] == [0, 1]


@pytest.mark.parametrize("refused", [[1.0], [1.0, 2.0]])
def test_either_side_has_to_be_allowed_at_its_setting(refused):
    both = (stated([1.0], [1.0, 2.0]), stated([3.0], [3.0, 4.0]))
    card = subject(
        pairs=both,
        parameters=({"strict": False}, {"strict": True}),
        domain=lambda data, given: not given["strict"] or data != refused,
    )
    assert [(one.setting, one.pair.dataset) for one in make_subject_pairs(card, 0, most=1)] == [
        (0, [1.0]),
        (0, [3.0]),
        (1, [3.0]),
    ]


def test_new_numbers_are_within_the_bounds_of_the_setting():
    card = subject(
        parameters=({"high": 2.0},),
        datasets=([0.0, 1.0, 2.0],),
        bounds=lambda given: (0.0, given["high"]),
        relations=(REPLACE,),
        nan=False,
    )
    found = make_subject_pairs(card, 0, most=50)
    held = np.concatenate([np.asarray(one.pair.neighbour) for one in found])
    assert (held.min(), held.max()) == (0.0, 2.0)
    assert not np.isnan(held).any()
    missing = make_subject_pairs(subject(datasets=([0.0, 1.0, 2.0],)), 0, most=50)
    assert any(one.given == "missing value" for one in missing)
    assert {one.family for one in missing} >= {"ordinary", "missing value"}
    assert [shown([one]) for one in make_subject_pairs(card, 0, most=50)] == [
        shown([one]) for one in found
    ]


def test_no_more_are_made_of_a_dataset_than_asked():
    card = subject(datasets=([0.0, 1.0, 2.0], [5.0, 6.0]))
    for most in (1, 3):
        found = make_subject_pairs(card, 0, most=most)
        assert [sum(one.group == group for one in found) for group in (0, 1)] == [most, most]


def test_a_dataset_of_which_no_neighbours_can_be_made_is_passed_over():
    card = subject(datasets=(object(), [1.0, 2.0]))
    assert {one.group for one in make_subject_pairs(card, 0, most=2)} == {1}
    with pytest.raises(InvalidArgument, match=r"datasets of tools\.sum"):
        make_subject_pairs(subject(datasets=(object(),)), 0, most=2)


def test_a_pair_of_another_relation_than_the_subjects_is_refused():
    with pytest.raises(InvalidArgument, match=f"one of the relations of tools.sum: {ADD}"):
        make_subject_pairs(subject(pairs=(stated([1.0], [2.0], REPLACE),)), 0, most=1)


def test_readable_data_have_to_be_neighbours_and_of_others_the_card_answers():
    with pytest.raises(InvalidArgument):
        make_subject_pairs(subject(pairs=(stated([1.0], [1.0, 2.0, 3.0]),)), 0, most=1)
    pair = pairs._make_card_pair({"a": {"b": 1}}, {"a": {"b": 2}}, ADD)
    assert (pair.dataset, pair.neighbour) == ({"a": {"b": 1}}, {"a": {"b": 2}})
    assert pair.relation.name == ADD


@pytest.mark.parametrize(
    ("dataset", "size"), [([], 0), ([1.0], 1), ([1.0, 2.0], 2), (np.zeros((3, 2)), 3), (5, 2)]
)
def test_a_dataset_of_unknown_size_is_of_more_than_few_records(dataset, size):
    assert size_in_records(dataset) == size
