"""The search for pairs at several distances, of numbers and of anything else."""

import math

import numpy as np
import pytest

from dpaudit.domains import Categories, Domain, Texts
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import metric
from dpaudit.search.distance_search import Range, search_apart
from dpaudit.search.space import space_apart

PLANE = Domain(bounds=(-10, 10), records=2)
EUCLIDEAN = metric("euclidean")


def found_in(function, domain, distance, unit=2.0, **given):
    within = Range(metric(distance), unit)
    space = space_apart(domain, within.metric)
    found = search_apart(function, domain, within, **{"calls": 600, **given})
    pairs = [space.pair(one.place) for one in found.found]
    return found, [(pair, within.metric.between(pair.dataset, pair.neighbour)) for pair in pairs]


def polar(x, rng):
    angle = rng.uniform(0, 2 * np.pi)
    return x + rng.gamma(2.0, 2.0) * np.array([np.cos(angle), np.sin(angle)])


def test_pairs_are_near_between_and_far():
    found, pairs = found_in(polar, PLANE, "euclidean")
    apart = sorted(one for _, one in pairs)
    assert apart[0] <= 1.1
    assert apart[-1] >= 5.0
    assert sum(1.5 <= one <= 4.5 for one in apart) >= 1
    assert found.calls <= 610
    for pair, _ in pairs:
        assert all(-10 <= one.min() and one.max() <= 10 for one in (pair.dataset, pair.neighbour))


def test_a_seed_finds_the_same():
    one, again, other = (found_in(polar, PLANE, "euclidean", seed=s)[0] for s in (1, 1, 2))
    assert one == again
    assert one != other


def test_noise_of_each_number_moves_most_along_the_diagonal():
    def release(x, rng):
        return x + rng.laplace(scale=2.0, size=2)

    _, pairs = found_in(release, PLANE, "euclidean")
    for pair, apart in pairs:
        moved = np.abs(pair.dataset - pair.neighbour)
        assert moved.sum() == pytest.approx(math.sqrt(2) * apart, rel=0.1)
        assert 1.5 <= apart <= 8.0  # a loss of which outputs tell that it is too large


def test_a_value_that_no_noise_reaches_is_found_at_any_distance():
    def release(x, rng):
        return x + rng.laplace(scale=2.0), bool(x > 37)

    found, pairs = found_in(release, Domain(bounds=(0, 100), form="value"), "absolute")
    assert found.found[0].kind == "raw"
    pair, _ = pairs[0]
    assert (pair.dataset > 37) != (pair.neighbour > 37)


def test_integers_stay_integers():
    _, pairs = found_in(
        lambda x, rng: x + rng.laplace(),
        Domain(bounds=(0, 8), integers=True, form="value"),
        "absolute",
        unit=10.0,
    )
    assert {type(side) for pair, _ in pairs for side in (pair.dataset, pair.neighbour)} == {int}
    assert max(apart for _, apart in pairs) == 8.0


def test_pairs_of_no_numbers_differ_in_several_places():
    domain = Domain(columns={"x": Categories(values=("a", "b", "c"))}, form="dicts", records=6)

    def release(records, rng):
        return sum(one["x"] == "a" for one in records) + rng.laplace()

    found, pairs = found_in(release, domain, "hamming", unit=1.0)
    assert {1.0, 2.0, 3.0} <= {apart for _, apart in pairs} | {1.0, 2.0}
    assert max(one.moved for one in found.found) >= 3.0


def test_texts_of_two_lengths_are_no_pair_where_places_are_counted():
    texts = Domain(columns={"t": Texts(alphabet="ab", longest=3)}, form="value")
    _, pairs = found_in(lambda text, rng: text[:1], texts, "hamming", unit=1.0)
    assert pairs[0][0].dataset[:1] != pairs[0][0].neighbour[:1]
    assert all(len(pair.dataset) == len(pair.neighbour) for pair, _ in pairs)
    numbers = Domain(columns={"t": Categories(values=("a", "b"))}, form="value")
    with pytest.raises(InvalidArgument, match="no finite numbers"):
        found_in(lambda text, rng: text, numbers, "euclidean")


def test_a_dataset_of_no_numbers_is_where_the_search_starts():
    words = tuple(f"word {n}" for n in range(300))
    domain = Domain(columns={"x": Categories(values=words)}, form="dicts", records=3)

    def release(records, rng):
        secret = sorted(one["x"][-2:] for one in records[1:]) == ["33", "44"]
        return rng.laplace(), secret

    given_ = [{"x": f"word {n}"} for n in (7, 133, 244)]
    found, pairs = found_in(release, domain, "hamming", unit=1.0, dataset=given_)
    assert found.found[0].kind == "raw"
    assert pairs[0][0].dataset == given_
    assert not found.found[0].place.is_made


def test_a_dataset_is_where_the_search_starts():
    at = np.array([3.25, -1.5])
    space = space_apart(PLANE, EUCLIDEAN, dataset=at)
    assert space.starts == ((((3.25,), (-1.5,)),),)
    with pytest.raises(InvalidArgument, match="3 records, expected what the domain allows: 2"):
        space_apart(PLANE, EUCLIDEAN, dataset=np.zeros(3))
    with pytest.raises(InvalidArgument, match="other values in column"):
        space_apart(PLANE, EUCLIDEAN, dataset=np.array([0.0, 11.0]))
    value = Domain(bounds=(0, 9), form="value")
    assert space_apart(value, EUCLIDEAN, dataset=4.5).starts == ((((4.5,),),),)


@pytest.mark.parametrize("given", [{"nodes": 3}, {"users": 2}])
def test_what_has_no_distance_is_refused(given):
    with pytest.raises(InvalidArgument, match="expected nothing, with a distance"):
        space_apart(Domain(**given), EUCLIDEAN)


def test_no_loss_at_any_distance_is_looked_for_all_over_the_domain():
    _, pairs = found_in(polar, PLANE, "euclidean", unit=math.inf)
    assert max(apart for _, apart in pairs) > 10
