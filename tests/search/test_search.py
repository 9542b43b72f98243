"""The search for a pair: what it finds of statistics whose sensitivity is known, and of leaks."""

import datetime
import functools

import numpy as np
import pytest

from dpaudit.domains import Booleans, Categories, Dates, Domain, Integers, Numbers, Texts
from dpaudit.domains.columns import is_allowed_in_column
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import Pair
from dpaudit.search.constants import constants_of
from dpaudit.search.engine import search_pairs
from dpaudit.search.space import space_of

UNIT = Domain(bounds=(0, 1), records=6)
DAYS, TEXTS, FLAGS = (
    Domain(columns={name: column}, form="dicts", records=1)
    for name, column in (("day", Dates()), ("text", Texts()), ("flag", Booleans()))
)
LIMIT = 65
LISTED = [81, 82]


def noisy(query, scale=1.0, law="laplace"):
    def release(data, rng):
        return query(data) + getattr(rng, law)(scale=scale, size=np.shape(query(data)))

    return release


def best(query, domain=UNIT, relation="replace-record", **given):
    return search_pairs(noisy(query), domain, relation, code=query, **given).found[0]


# Of six records in [0, 1], one of which is replaced: the largest movement, by hand.
SENSITIVITY = {
    "sum": (lambda x: x.sum(), 1),
    "mean": (lambda x: x.mean(), 1 / 6),
    "largest": (lambda x: x.max(), 1),
    "smallest": (lambda x: x.min(), 1),
    "product": (lambda x: x.prod(), 1),
    "median of six": (np.median, 1 / 2),
    "variance": (lambda x: x.var(), 5 / 36),
    "sum of squares": (lambda x: (x**2).sum(), 1),
    "first": (lambda x: x[0], 1),
    "last": (lambda x: x[-1], 1),
    "steps": (lambda x: np.abs(np.diff(x)).sum(), 2),
    "histogram": (lambda x: np.histogram(x, bins=4, range=(0, 1))[0].astype(float), 2),
    "clipped": (lambda x: np.clip(x, 0.2, 0.7).sum(), 0.5),
    "alternating": (lambda x: x[::2].sum() - x[1::2].sum(), 1),
    "trimmed mean": (lambda x: np.sort(x)[1:-1].mean(), 1 / 4),
    "running sums": (np.cumsum, 6),
    "third moment": (lambda x: np.mean(x**3), 1 / 6),
}


@pytest.mark.parametrize("name", SENSITIVITY)
def test_the_largest_movement_of_a_statistic_is_found(name):
    query, expected = SENSITIVITY[name]
    found = best(query)
    assert found.kind == "movement"
    assert found.moved == pytest.approx(expected, rel=1e-6)


def test_a_movement_is_in_scales_and_of_gaussian_noise_a_euclidean_length():
    query = lambda x: np.array([x.sum(), x.sum()])  # noqa: E731
    laplace = search_pairs(noisy(query, 0.5), UNIT, "replace-record").found[0].moved
    gaussian = search_pairs(noisy(query, 0.5, "normal"), UNIT, "replace-record").found[0].moved
    assert laplace == pytest.approx(4)
    assert gaussian == pytest.approx(8**0.5)


@pytest.mark.parametrize("size", [5, 21])
def test_a_record_in_any_place_is_replaced(size):
    domain = Domain(bounds=(0, 1), records=size)
    assert best(lambda x: x[1::2].sum(), domain).moved == pytest.approx(1)


def test_a_quarter_of_many_records_may_stand_apart():
    query = lambda x: np.subtract(*np.percentile(x, [75, 25]))  # noqa: E731
    assert best(query, Domain(bounds=(0, 1), records=21)).moved == pytest.approx(1)


def test_of_a_choice_what_moves_all_scores_alike_shows_nothing():
    def choice(data, rng):
        return int(np.argmax(data.sum(axis=0) + rng.gumbel(size=2)))

    found = search_pairs(
        choice, Domain(bounds=(0, 1), columns=2, records=1), "replace-record"
    ).found[0]
    assert found.moved == 2
    (one,), (other,) = found.place.units[0], found.place.new
    assert sorted([one, other]) == [(0.0, 1.0), (1.0, 0.0)]


def test_a_record_is_removed_where_that_makes_neighbours():
    found = best(
        lambda x: float(len(x)), Domain(bounds=(0, 1), records=(2, 4)), "add-remove-record"
    )
    assert found.moved == 1
    assert found.place.new is None
    assert len(found.place.neighbour) == len(found.place.units) - 1


def test_labels_alone_differ_where_the_relation_says_so():
    domain = Domain(bounds=(0, 1), columns=2, labels=(-1, 1), records=3)
    found = best(lambda data: float(data[1].sum()), domain, "replace-label")
    assert found.moved == 2
    (one,), (other,) = found.place.units[found.place.place], found.place.new
    assert one[:2] == other[:2]


def test_all_records_of_a_user_move_together():
    total = lambda table: float(table["value"].sum())  # noqa: E731
    for records, moved in ((6, 3), (2, 2)):  # of two records no user has three
        domain = Domain(bounds=(0, 1), users=3, records=records)
        found = best(total, domain, "add-remove-user: user")
        assert found.moved == pytest.approx(moved)


def test_an_edge_of_a_graph_is_added():
    found = best(lambda graph: float(graph.number_of_edges()), Domain(nodes=4), "add-remove-edge")
    assert found.moved == 1


def test_every_pair_that_is_found_is_one_of_neighbours():
    for domain, relation in (
        (UNIT, "replace-record"),
        (Domain(bounds=(0, 1), columns=3, records=(1, 4)), "add-remove-record"),
        (Domain(bounds=(0, 1), columns=3, records=2), "replace-cell"),
    ):
        space = space_of(domain, relation)
        for one in search_pairs(noisy(np.sum), domain, relation, calls=400).found:
            assert isinstance(space.pair(one.place), Pair)


@pytest.mark.parametrize("seed", [0, 1])
def test_one_seed_finds_one_pair(seed):
    one, other = (best(np.var, seed=seed, calls=400) for _ in range(2))
    assert one == other


def test_no_more_calls_are_made_than_are_allowed():
    for calls in (50, 300):
        found = search_pairs(noisy(np.var), UNIT, "replace-record", calls=calls)
        assert found.calls <= calls + 20  # a pair that was begun is looked at to its end
        assert found.pairs


def _branch(x, rng):
    return x.sum() * (100 if (x == 0.37).any() else 1) / 100 + rng.laplace(scale=1)


def _total(x, rng):
    noise = rng.laplace(size=3)
    return {"parts": x[:3] + noise, "total": x.sum()}


def _key(x, rng):
    return {"sum": x.sum() + rng.laplace(scale=1e6)} | ({"large": 1} if x.max() > 0.9 else {})


def _error(x, rng):
    if x.min() > 0.99:
        raise ValueError("too large")
    return x.sum() + rng.laplace(scale=1e6)


def _scale(x, rng):
    return rng.laplace(scale=1.0 if x.max() < 0.5 else 2.0)


LEAKS = {
    "a branch at a constant": (_branch, "movement"),
    "a total beside noisy parts": (_total, "raw"),
    "a key": (_key, "structure"),
    "an exception": (_error, "structure"),
    "a scale": (_scale, "movement"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_leaks_are_found_and_named(name):
    function, kind = LEAKS[name]
    found = search_pairs(function, UNIT, "replace-record", observed=("exceptions",)).found[0]
    assert found.kind == kind
    assert found.size > 0.3


def test_a_function_of_nothing_shows_nothing():
    (found,) = search_pairs(lambda x, rng: rng.laplace(), UNIT, "replace-record").found
    assert (found.kind, found.size) == ("nothing", 0)


def test_a_category_that_code_names_is_found_among_many():
    domain = Domain(
        columns={"city": Categories(values=tuple(f"c{n}" for n in range(1000)))}, records=5
    )
    query = lambda table: float((table["city"] == "c777").sum())  # noqa: E731
    assert best(query, domain).moved == 1


def test_an_integer_that_code_compares_with_is_found():
    domain = Domain(columns={"age": Integers(low=0, high=120)}, records=4)
    query = lambda table: float((table["age"] == LIMIT).sum())  # noqa: E731
    assert best(query, domain, calls=400).moved == 1


def test_a_sum_that_nobody_clips_moves_as_far_as_numbers_may_go():
    found = search_pairs(noisy(np.sum), Domain(records=3), "replace-record")
    assert not found.is_bounded
    assert found.found[0].moved == pytest.approx(2e6)


def test_the_search_begins_at_a_dataset_that_is_given():
    lock = np.array([0.123, 0.456, 0.789])

    def query(x):
        return float((np.abs(x - lock) < 1e-12).sum() >= 2) * 5

    domain = Domain(bounds=(0, 1), records=3)
    found = best(query, domain, dataset=lock + np.array([0, 0, 0.1]))
    assert found.moved == 5


@pytest.mark.parametrize(
    ("domain", "dataset", "words"),
    [
        (UNIT, np.zeros(5), "dataset: got 5 records"),
        (UNIT, np.full(6, 2.0), "dataset: got other values in column 'value'"),
        (Domain(nodes=3), np.zeros(3), "relation"),
        (UNIT, np.zeros((6, 2)), "dataset: got records of 2 values"),
        (DAYS, [{"day": datetime.date(1999, 12, 31)}], "dataset: got other values in column 'day'"),
        (TEXTS, [{"text": "abcab"}], "dataset: got other values in column 'text'"),
        (TEXTS, [{"text": "d"}], "dataset: got other values in column 'text'"),
        (FLAGS, [{"flag": "yes"}], "dataset: got other values in column 'flag'"),
    ],
)
def test_a_dataset_that_contradicts_the_domain_is_refused(domain, dataset, words):
    with pytest.raises(InvalidArgument, match=words):
        space_of(domain, "replace-record", dataset=dataset)


@pytest.mark.parametrize(
    ("domain", "relation"),
    [
        (UNIT, "replace-label"),
        (UNIT, "add-remove-edge"),
        (UNIT, "add-remove-user: user"),
        (UNIT, "declared: anything"),
        (Domain(nodes=3), "replace-record"),
        (Domain(bounds=(0, 1), users=2), "replace-record"),
    ],
)
def test_a_relation_that_the_domain_has_no_neighbours_under_is_refused(domain, relation):
    with pytest.raises(InvalidArgument, match=r"^relation: got"):
        space_of(domain, relation)


def test_what_a_dataset_may_hold_is_no_contradiction():
    day = datetime.datetime(2000, 12, 31, 23, 59)
    held = [(Dates(), day), (Texts(), "abca"), (Booleans(), np.True_), (Texts(missing=True), None)]
    assert all(is_allowed_in_column(column, value) for column, value in held)


def test_constants_of_sets_come_in_one_order_in_every_process():
    words = frozenset({"alpha", "beta", "gamma", "delta", "epsilon"})

    def count(rows):
        return sum(row in words for row in rows)

    assert constants_of(count)[-5:] == ["alpha", "beta", "delta", "epsilon", "gamma"]


class Holder:
    least = 46

    def __init__(self, held):
        self.held, self.most = held, held[0]

    def count(self, data, rng):
        return sum(one in self.held or one > self.most or one == 45 for one in data)


def test_what_objects_hold_is_not_written_by_anybody():
    kept = np.float64(47.0)

    def closed(data, rng, of=(48.0,), over=49):
        return data.sum() + kept + over + 50 + LIMIT + len(LISTED)

    partial = functools.partial(closed, of=51.0)
    found = [set(constants_of(one, written=True)) for one in (Holder([44]).count, closed, partial)]
    assert {45, 46} <= found[0]
    assert 44 in constants_of(Holder([44]).count)
    assert all({49, 50, LIMIT} <= one for one in found[1:])
    assert not set.union(*found) & {44, 47.0, 48.0, 51.0, *LISTED}


def test_a_pair_at_a_value_that_an_object_holds_is_somebodys():
    held = Holder([0.3712])

    def leaks(data, rng):
        return 50.0 * sum(one in held.held for one in data) + rng.laplace()

    found = search_pairs(leaks, UNIT, "replace-record", calls=400).found[0]
    values = [*found.place.units, found.place.new]
    assert ((0.3712,),) in values
    assert not found.is_nobodys

    def plain(data, rng):
        return 50.0 * sum(one == 0.3712 for one in data) + rng.laplace()

    assert search_pairs(plain, UNIT, "replace-record", calls=400).found[0].is_nobodys


def test_constants_are_read_from_code_and_what_it_calls():
    inner = 41

    def helper(value, limit=43):
        return value > inner and value < limit and value != LIMIT

    def outer(data):
        """37 is in a docstring."""
        return sum(helper(one) for one in data if one not in (44, "text"))

    assert {41, 43, 44, "text", 65} <= set(constants_of(outer))
    assert not any("docstring" in str(one) for one in constants_of(outer))


@pytest.mark.parametrize(
    ("column", "value", "held"),
    [
        (Integers(low=0, high=9), 9, True),
        (Integers(low=0, high=9), 10, False),
        (Integers(low=0, high=9), 3.5, False),
        (Numbers(low=0, high=1), 1.0, True),
        (Numbers(low=0, high=1), -1e-9, False),
        (Numbers(low=0, high=1), float("nan"), False),
        (Numbers(missing=True), float("nan"), True),
        (Categories(values=("a",)), "b", False),
        (Categories(values=("a",)), None, False),
    ],
)
def test_what_a_column_holds(column, value, held):
    assert is_allowed_in_column(column, value) is held
