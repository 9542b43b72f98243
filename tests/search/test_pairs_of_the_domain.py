"""Every pair of a search is of the domain, to the last bit: nothing is beyond a stated end."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from numpy.random import default_rng

import dpaudit
from dpaudit.domains.columns import Integers, Numbers, value_at
from dpaudit.domains.domain import Domain
from dpaudit.domains.layouts import is_short
from dpaudit.errors import InvalidArgument
from dpaudit.search import making
from dpaudit.search.climbing import _generate_near_units
from dpaudit.search.edits import domain_around
from dpaudit.search.shrinking import _generate_simpler_units
from dpaudit.search.space import UnitPair, space_of

_ENDS = [(-3.1, -0.3), (0.1, 0.7), (-1.1, 2.2)]
_WHOLE = [(0, 2**62 - 1), (0, 2**53 + 3), (0, 2**63 - 1), (-(2**63), 2**63 - 1), (0, 2**60 - 1)]


def _moved(query, domain, relation="replace-record", calls=150, **given):
    return dpaudit.sensitivity(query, domain, relation, calls=calls, **given).at_least


def _pairs(space, count=300):
    rng = default_rng(0)
    some = making.make_search_units(space, rng)
    return list(islice(making.in_turn(space, some, rng, count), count))


@pytest.mark.parametrize(("low", "high"), _ENDS)
def test_the_last_share_of_a_range_is_its_end(low, high):
    ends = Numbers(low=low, high=high)
    assert [value_at(ends, share) for share in (0.0, 1.0)] == [low, high]
    assert all(low <= value_at(ends, n / 97) <= high for n in range(98))


@pytest.mark.parametrize(("low", "high"), _WHOLE)
def test_integers_are_made_as_integers_up_to_the_end(low, high):
    space = space_of(
        Domain(columns={"x": Integers(low=low, high=high)}, records=4), "replace-record"
    )
    for place in _pairs(space):
        assert space.allows(place)
        assert all(low <= one <= high for side in _cells(space, place) for one in side)
    assert any(max(side) == high for place in _pairs(space) for side in _cells(space, place))


def _cells(space, place):
    pair = space.pair(place)
    return [[int(one) for one in side["x"]] for side in (pair.dataset, pair.neighbour)]


def test_bounds_that_no_double_is_stay_what_they_are():
    bounds = (0, 2**53 + 3)
    made = Domain(bounds=bounds, integers=True, records=3)
    assert made.bounds == bounds
    assert made.numbers.high == 2**53 + 3
    assert Domain(bounds=bounds).numbers.high == 2.0**53 + 2  # the next one inwards
    assert _moved(lambda x: float((x > 2**53 + 3).sum()), made) == 0
    assert _moved(lambda x: float((x > 2**53 + 2).sum()), made) == pytest.approx(1)


def test_integers_beyond_64_bits_are_refused_and_so_are_such_as_no_array_with_gaps_holds():
    with pytest.raises(InvalidArgument, match=r"high: .*64 bits"):
        Domain(bounds=(0, 2**63), integers=True)
    with pytest.raises(InvalidArgument, match=r"bounds: .*gaps"):
        Domain(bounds=(0, 2**53 + 1), integers=True, missing=True)
    assert Domain(bounds=(0, 2**53), integers=True, missing=True).numbers.high == 2**53


@pytest.mark.parametrize(("low", "high"), _ENDS)
def test_a_count_of_what_is_beyond_a_bound_is_zero(low, high):
    domain = {"columns": {"x": Numbers(low=low, high=high)}, "records": 4}
    assert _moved(lambda d: float(((d.x > high) | (d.x < low)).sum()), domain) == 0
    assert _moved(lambda d: float((d.x >= high).sum()), domain) == pytest.approx(1)


def test_an_array_of_32_bits_is_held_to_bounds_as_well():
    dataset = np.array([0.0, 0.05, 0.02], dtype=np.float32)
    space = space_of(domain_around(dataset, "replace-record", bounds=(0, 0.1)), "replace-record")
    highest = max(float(np.max(space.pair(place).neighbour)) for place in _pairs(space))
    assert 0.1 - 1e-8 < highest <= 0.1 < float(np.float32(0.1))


def test_simpler_and_nearer_records_are_of_the_domain():
    space = space_of(Domain(bounds=(0.5, 9.25), records=(1, 4)), "replace-record")
    unit = ((7,),)  # an integer, as a list that was given may hold
    for made in (*_generate_simpler_units(space, unit), *_generate_near_units(space, unit)):
        assert all(space.layout.holds(record) for record in made)
    assert ((0.5,),) in list(_generate_simpler_units(space, unit))


def test_a_cell_of_another_record_leaves_a_record_as_long_as_it_may_be():
    space = space_of(Domain(norm=1.0, columns=2, records=3), "replace-cell")
    for place in _pairs(space, 100):
        assert space.allows(place)
    assert list(space.replacements(((0.0, 1.0),), [((0.8, 1.0),)])) == []  # no room is left
    (shorter,) = space.replacements(((0.0, 0.6),), [((1.0, 0.0),)])
    assert shorter == ((pytest.approx(0.8), 0.6),)
    assert math.hypot(*shorter[0]) <= 1
    for norm in (1e-3, 1.0, 7.0, 1e200):
        layout = Domain(norm=norm, columns=3).layout
        for share in (0.0, 0.1, 0.6, 0.99999999, 1.0):
            record = layout.with_cell((share * norm, 0.0, 0.0), 1, -norm)
            assert is_short(record, norm)
            assert record[1] == pytest.approx(-norm * math.sqrt(1 - share**2), abs=1e-7 * norm)


@pytest.mark.parametrize(
    ("domain", "place"),
    [
        (Domain(bounds=(0, 1), records=1), UnitPair((((0.0,),),), 0, ((1.5,),))),
        (Domain(norm=1.0, columns=2, records=1), UnitPair((((0.0, 0.0),),), 0, ((1.0, 1e-6),))),
        (Domain(bounds=(0, 1), records=1), UnitPair((((0.0,),),) * 2, 0, ((1.0,),))),
    ],
    ids=["bounds", "norm", "records"],
)
def test_a_pair_beyond_the_domain_is_none(domain, place):
    space = space_of(domain, "replace-record")
    with pytest.raises(InvalidArgument, match="pair: "):
        space.pair(place)


def test_a_pair_is_as_large_as_the_domain_says_on_both_sides():
    several = space_of(Domain(bounds=(0, 1), records=(2, 3)), "add-remove-record")
    one = (((0.0,),),)
    assert not several.allows(UnitPair(one * 2, 0, None))
    assert several.allows(UnitPair(one * 3, 0, None))
    exact = space_of(Domain(bounds=(0, 1), records=3), "add-remove-record")
    assert exact.allows(UnitPair(one * 3, 0, None))
    assert not exact.allows(UnitPair(one * 2, 0, None))
