"""The steps of a search, each worked out by hand: which pairs it makes, in which order, and why."""

from __future__ import annotations

import math
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit import Domain
from dpaudit.domains import Integers, Numbers
from dpaudit.domains.columns import is_allowed_in_column
from dpaudit.neighbours import metric
from dpaudit.search import climbing, distance_search, making, shrinking
from dpaudit.search.distance_search import Range
from dpaudit.search.edits import domain_around, find_edited_neighbours, of_new
from dpaudit.search.engine import Hunt
from dpaudit.search.norms import norm_of
from dpaudit.search.sensitivity import measure_answer_movement, sensitivity
from dpaudit.search.showing import PairSignal
from dpaudit.search.space import UnitPair, space_apart, space_of
from dpaudit.testing import assert_sensitivity

A, B, C, D = (((float(n),),) for n in range(4))


def space(relation="replace-record", **given):
    return space_of(Domain(**{"bounds": (0, 3), "records": 4} | given), relation)


@pytest.fixture
def rng():
    return np.random.default_rng(20261126)


# --- ascent ---------------------------------------------------------------------------------------


def test_datasets_of_other_sizes_have_the_unit_that_differs_in_front():
    found = list(climbing._generate_resized_pairs(space(records=(2, 5)), UnitPair((A, B, C), 1, D)))
    assert [one.units for one in found] == [(B, A), (B, A, C, A), (B, A, C, A, C)]
    assert {(one.place, one.new) for one in found} == {(0, D)}


def test_no_dataset_is_smaller_or_larger_than_it_may_be():
    assert list(climbing._generate_resized_pairs(space(records=3), UnitPair((A, B, C), 1, D))) == []
    alone = list(climbing._generate_resized_pairs(space(records=(1, 2)), UnitPair((A,), 0, D)))
    assert [one.units for one in alone] == [(A, A)]
    removed = list(
        climbing._generate_resized_pairs(
            space("add-remove-record", records=(1, 3)), UnitPair((A, B), 0, None)
        )
    )
    assert [one.units for one in removed] == [(A, B, B)]


def test_of_a_group_the_unit_that_differs_is_none(rng):
    for made in climbing._generate_group_pairs(UnitPair((A, B, C), 1, D), [D], rng):
        assert made.units[1] == B
        assert made.new == D
        assert {made.units[0], made.units[2]} <= {A, C, D}
    whole = next(climbing._generate_group_pairs(UnitPair((A, B, C), 1, D), [D], rng))
    assert whole.units == (D, B, D)


def test_a_step_is_a_share_of_the_range_both_ways_and_ends_at_the_bounds():
    assert list(climbing._generate_stepped_cells(0.5, Numbers(low=0, high=1))) == pytest.approx(
        [0, 1, 0.25, 0.75, 0.4, 0.6, 0.49, 0.51]
    )
    assert list(climbing._generate_stepped_cells(9, Integers(low=0, high=10))) == [
        4,
        10,
        6,
        10,
        8,
        10,
    ]
    assert list(climbing._generate_stepped_cells(None, Numbers(low=0, high=1, missing=True))) == []
    assert (
        list(climbing._generate_stepped_cells(math.nan, Numbers(low=0, high=1, missing=True))) == []
    )


def test_a_climb_takes_what_shows_more_and_never_what_shows_as_much(rng):
    def sized(place):
        return PairSignal(sum(unit[0][0] for unit in place.units), "movement", 0.0)

    start = UnitPair((A, A, A, A), 0, B)
    where = space()
    found, shown = climbing.climb_from_pair(
        where, start, sized(start), [A, D], sized, lambda: False, rng
    )
    assert (found.units, shown.size) == ((D, D, D, D), 12.0)
    flat = climbing.climb_from_pair(
        where,
        start,
        PairSignal(1.0, "movement", 0.0),
        [A, D],
        lambda _: PairSignal(1.0, "movement", 0.0),
        lambda: False,
        rng,
    )
    assert flat[0] == start


# --- pairs that are made --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relation", "records", "sizes"),
    [
        ("replace-record", (1, 8), [3, 1, 8, 2]),
        ("replace-record", 4, [4]),
        ("add-remove-record", (1, 8), [3, 2, 8]),
        ("add-remove-record", (0, 2), [2, 1]),
    ],
)
def test_sizes_are_a_middle_one_and_the_ends(relation, records, sizes):
    assert making.choose_dataset_sizes(space(relation, records=records)) == sizes


def test_two_values_stand_in_every_share_of_a_dataset():
    found = list(making._of_two(A, B, 8))
    assert [made.count(B) for made in found] == [1, 4, 7, 2, 3, 6]
    assert all(len(made) == 8 and made == tuple(sorted(made, reverse=True)) for made in found)


def test_records_rise_from_end_to_end_and_fall_between_the_ends():
    rising, falling, *_ = making._generate_ordered_datasets(space(), 4)
    assert rising == (A, B, C, D)
    assert [unit[0][0] for unit in falling] == pytest.approx([2.4, 1.8, 1.2, 0.6])


def test_cells_at_ends_change_to_the_other_end_and_others_stay():
    where = space(columns=3)
    assert making._make_opposite_unit(where, ((0.0, 3.0, 1.0),)) == ((3.0, 0.0, 1.0),)


def test_the_one_odd_unit_of_a_dataset_is_the_first_to_differ():
    assert making._find_odd_unit((A, A, B, A)) == [2]
    assert making._find_odd_unit((A, A, A)) == []
    assert making._find_odd_unit((A,)) == []
    first = next(making.generate_pair_places(space(), (A, A, B, A), [C, D]))
    assert (first.place, first.new) == (2, C)


def test_pairs_of_datasets_take_turns_and_edits_come_first():
    where = space(records=2)
    edited = iter([UnitPair((A, B), 0, C)] * 30)
    found = list(islice(making.in_turn(where, [A, D], np.random.default_rng(0), 3, [edited]), 60))
    assert found[0] == UnitPair((A, B), 0, C)
    per_dataset = [one.units for one in found if one != found[0]]
    assert len({*per_dataset}) == 3
    assert per_dataset[:2] == [per_dataset[0]] * 2


# --- edits ----------------------------------------------------------------------------------------


def test_records_at_either_bound_have_the_numbers_that_are_stated_or_held():
    where = space_of(domain_around(np.array([[1.0, 5.0], [2.0, 9.0]]), "add-remove-record"),
                     "add-remove-record")  # fmt: skip
    upper, lower = islice(of_new(where, np.random.default_rng(0)), 2)
    assert upper.words == "one at the upper bounds added"
    assert (upper.place.units[-1], lower.place.units[-1]) == (((2.0, 9.0),), ((1.0, 5.0),))
    stated = domain_around(np.array([1.0, 5.0]), "replace-record", bounds=(0, 7))
    upper, lower = islice(of_new(space_of(stated, "replace-record"), np.random.default_rng(0)), 2)
    assert (upper.place.new, lower.place.new) == (((7.0,),), ((0.0,),))


def test_no_candidate_is_beyond_what_a_dataset_holds(rng):
    for relation in ("replace-record", "add-remove-record"):
        for one in find_edited_neighbours(np.array([1.0, 5.0, 9.0]), relation, rng=rng, most=100):
            both = np.concatenate([one.pair.dataset, one.pair.neighbour])
            assert both.min() >= 1
            assert both.max() <= 9
    assert (
        len(find_edited_neighbours(np.array([1.0, 5.0, 9.0]), "add-remove-record", rng=rng, most=2))
        == 2
    )


# --- the space ------------------------------------------------------------------------------------


def test_one_cell_of_another_unit_is_taken_the_first_that_differs():
    where = space("replace-cell", columns=2)
    here, there = ((1.0, 2.0),), ((1.0, 3.0),)
    assert list(where.replacements(here, [there, here, ((0.0, 3.0),)])) == [
        there,
        ((0.0, 2.0),),
    ]


def test_a_label_is_no_cell_and_the_only_one_that_is_a_label():
    for relation, columns in (("replace-cell", (0, 1)), ("replace-label", (2,))):
        assert space(relation, columns=2, labels=(0, 1)).columns == columns
    assert space("replace-record", columns=2, labels=(0, 1)).columns == (0, 1, 2)


def test_a_record_that_is_removed_leaves_none_and_a_user_an_empty_unit():
    assert list(space("add-remove-record", records=(1, 3)).replacements(A, [B])) == [None]
    domain = Domain(columns={"x": Numbers()}, users=2, records=3)
    users = space_of(domain, "add-remove-user: user")
    assert list(users.replacements(A, [B])) == [()]


def test_the_ends_of_a_dataset_are_not_beyond_it():
    where = space_of(domain_around(np.array([1.0, 5.0]), "replace-record"), "replace-record")
    inside = UnitPair(where.starts[0], 0, ((5.0,),))
    assert not where.is_beyond(inside)
    for value in (5.5, 0.5):
        assert where.is_beyond(inside._replace(new=((value,),)))
        assert where.is_beyond(UnitPair((((value,),), inside.units[1]), 1, ((5.0,),)))


def test_a_pair_beside_a_dataset_is_nobodys_only_where_it_was_made():
    where = space_of(domain_around(np.array([1.0, 5.0]), "replace-record"), "replace-record")
    place = UnitPair(where.starts[0], 0, ((5.0,),))
    assert not where.is_nobodys(place)
    assert where.is_nobodys(place._replace(is_made=True))
    assert space().is_nobodys(UnitPair((A, B, C, D), 0, B))


@pytest.mark.parametrize(
    ("column", "value", "held"),
    [
        (Integers(low=0, high=9), 0, True),
        (Integers(low=0, high=9), 9, True),
        (Integers(low=0, high=9), 10, False),
        (Numbers(low=0, high=1), 1.0, True),
        (Numbers(low=0, high=1), math.nextafter(1.0, 2), False),
        (Numbers(low=0, high=1), math.nan, False),
        (Numbers(low=0, high=1, missing=True), math.nan, True),
    ],
)
def test_a_column_holds_its_ends_and_nothing_past_them(column, value, held):
    assert is_allowed_in_column(column, value) is held


@pytest.mark.parametrize(("records", "held"), [(1, False), (2, True), (3, True), (4, False)])
def test_a_dataset_has_as_many_records_as_the_domain_says(records, held):
    domain = Domain(bounds=(0, 1), records=(2, 3))
    try:
        space_of(domain, "replace-record", dataset=np.zeros(records))
    except ValueError:
        assert not held
    else:
        assert held


# --- fewer and simpler records --------------------------------------------------------------------


def test_parts_that_are_left_out_cover_all_of_it():
    assert list(shrinking._without_a_part([1, 2, 3, 4, 5], 2)) == [[4, 5], [1, 2, 3]]
    assert list(shrinking._without_a_part([1, 2, 3], 3)) == [[2, 3], [1, 3], [1, 2]]


@pytest.mark.parametrize("is_made", [True, False])
def test_a_shorter_pair_differs_where_it_did_and_is_made_of_the_same(is_made):
    at = UnitPair((A, B, C, D), 2, A, is_made)
    where = space(records=(1, 4))
    found = shrinking._of_fewer(where, at, lambda one: B in one.units, lambda: False)
    assert found == UnitPair((B, C), 1, A, is_made)


def test_a_pair_has_no_fewer_records_than_the_domain_lets_it():
    for relation, fewest in (("replace-record", 2), ("add-remove-record", 3)):
        where = space(relation, records=(2, 4))
        new = None if where.removes else D
        found = shrinking._of_fewer(
            where, UnitPair((A, B, C, D), 0, new), lambda _: True, lambda: False
        )
        assert len(found.units) == fewest


def test_other_records_become_the_one_that_most_of_them_are():
    (simplest, usual) = shrinking._generate_alike_pairs(space(), UnitPair((C, A, C, B), 1, D), 0)
    assert simplest.units == (A, A, A, A)
    assert usual.units == (C, A, C, C)


def test_a_simpler_number_has_the_type_of_its_own():
    column = Integers(low=0, high=9)
    assert list(shrinking._simpler_cells(0, column, 0)) == []
    assert [type(one) for one in shrinking._simpler_cells(0.0, column, 0)][:1] == [int]
    numbers = Numbers(low=-1, high=2)
    assert list(shrinking._simpler_cells(1.234, numbers, 0.0)) == [0.0, -1.0, 2.0, 1.0, 1.2, 1.23]
    assert list(shrinking._simpler_cells(2.0, numbers, 0.0)) == [0.0]


# --- movements ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "length"), [("l1", 7.0), ("l2", 5.0), ("linf", 4.0)])
def test_norms_by_hand(name, length):
    norm = norm_of(name)[1]
    assert norm(np.array([3.0, -4.0])) == length
    assert norm(np.zeros(2)) == 0
    large = norm(np.array([3e200, -4e200]))
    assert large == pytest.approx(length * 1e200, rel=1e-12)


def test_what_rounding_may_add_to_a_movement_is_not_certain():
    one, other = np.array([1e6]), np.array([1e6 + 1])
    distance, certain = measure_answer_movement(one, other, norm_of("l2")[1])
    assert distance == 1
    assert 1 - 1e-8 < certain < 1
    assert measure_answer_movement(other, one, norm_of("l2")[1]) == (distance, certain)
    assert measure_answer_movement(np.zeros(1), np.zeros(1), norm_of("l2")[1]).certain == 0


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_rounding_is_that_of_the_type_of_answers(kind):
    domain = Domain(bounds=(0, 1), records=3)
    query = lambda x: x.astype(kind).mean()  # noqa: E731
    found = sensitivity(query, domain, "replace-record", calls=60)
    assert 1 / 3 - 20 * np.finfo(kind).eps <= found.at_least <= 1 / 3
    with pytest.raises(AssertionError):  # what is no rounding is none
        assert_sensitivity(query, 0.3, domain=domain, relation="replace-record", search_calls=60)
    assert_sensitivity(query, 1 / 3, domain=domain, relation="replace-record", search_calls=60)


def test_answers_of_two_types_are_rounded_as_the_shorter_one():
    one, other = np.array([1.0]), np.array([1 + 1e-6], dtype=np.float32)
    assert measure_answer_movement(one, other, norm_of("l2")[1]).certain < 0
    assert measure_answer_movement(one, one + 1e-6, norm_of("l2")[1]).certain > 0.99e-6


def test_a_sensitivity_is_below_the_truth_by_no_more_than_rounding():
    found = sensitivity(
        lambda data: 1e9 + data.sum(), dict(bounds=(0, 1), records=2), "replace-record"
    )
    assert 1 - 1e-4 < found.at_least < 1


# --- any distance ---------------------------------------------------------------------------------


def apart_of(size, distance=2.0, kind="movement", moved=1.0, width=1, band=0):
    units = (((0.0,) * 3,),)
    new = (((1.0,) * width + (0.0,) * (3 - width)),)
    return distance_search.PairAtDistance(
        UnitPair(units, 0, new), distance, band, PairSignal(size, kind, moved)
    )


def test_what_no_noise_pays_for_is_not_measured_in_distances():
    assert apart_of(6.0).rank == 3.0
    assert apart_of(6.0, kind="raw").rank == apart_of(6.0, kind="structure").rank == 6.0
    assert [apart_of(1.0, width=width).width for width in (1, 2, 3)] == [1, 2, 3]


def hunt(unit, **given):
    within = Range(metric("euclidean"), unit)
    where = space_apart(Domain(bounds=(0, 8), records=2), within.metric)
    return distance_search.DistanceHunt(where, within, None, np.random.default_rng(0))


def test_each_band_of_distances_is_twice_the_last():
    assert [hunt(2.0)._band(one) for one in (1.0, 2.0, 4.0, 16.0)] == [-1, 0, 1, 3]
    assert [hunt(math.inf)._band(one) for one in (1.0, 2.0)] == [0, 1]


@pytest.mark.parametrize(
    ("distance", "worth"), [(0.24, False), (0.25, True), (18.0, True), (18.1, False)]
)
def test_distances_at_which_few_outputs_tell_nothing_are_left_out(distance, worth):
    assert hunt(2.0)._is_worth(distance) is worth
    assert hunt(math.inf)._is_worth(distance)


def test_of_movements_the_largest_a_unit_stay_and_of_these_those_that_outputs_tell_apart():
    near, middle = apart_of(0.2, distance=0.1), apart_of(4.0, distance=2.0)
    far, weak = apart_of(40.0, distance=20.0), apart_of(1.0, distance=2.0)
    assert hunt(1.0)._best_moved([near, middle, far, weak]) == [middle]
    assert hunt(1.0)._best_moved([near, far, weak]) == [near, far]
    assert hunt(1.0)._best_moved([]) == []


def test_pairs_of_numbers_are_at_the_distances_that_are_looked_for():
    made = hunt(1.0).made
    assert made.targets(2) == [1.0, 0.25, 3.0, 0.5, 2.0, 6.0]
    assert hunt(math.inf).made.targets(2)[0] == pytest.approx(math.sqrt(128) / 2)
    for half in (True, False):
        (found,) = made._at((4.0, 4.0), (1.0, -1.0), 2.0, half=half)
        assert made._distance(found) == pytest.approx(2.0)
        here = np.array(found.units[0]).ravel()
        assert here == pytest.approx([4 - math.sqrt(0.5), 4 + math.sqrt(0.5)] if half else [4, 4])


def test_ways_lead_inwards():
    made = hunt(1.0).made
    inwards, first, against, wide, last = made._ways(2, (8.0, 0.0))
    assert (inwards, first, last) == ((-1.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
    assert (against, wide) == ((1.0, 1.0), (-8.0, 8.0))


def test_pairs_that_only_outputs_show_are_those_of_neighbours_the_best_and_the_edits_in_turn():
    best, edit, far = UnitPair((A, B), 0, C), UnitPair((A, B), 1, D), UnitPair((A, C), 1, D)
    hunt = SimpleNamespace(
        seen={},
        edits={n: SimpleNamespace(place=one) for n, one in enumerate((edit, best, far))},
        _leaders=lambda count: [(PairSignal(2.0, "output", 0.0), best)][:count],
        _are_neighbours=lambda place: place in (best, edit),
    )
    assert [place for _, place in Hunt._many(hunt)] == [best, edit]
