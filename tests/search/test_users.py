"""Users with several records: bounds that are kept by record, by user, or not at all."""

import numpy as np
import pandas as pd
import pytest

import dpaudit
from dpaudit.domains import Categories, Domain, Numbers, domain_of
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours.found_relations import chosen_relation
from dpaudit.search.engine import search_pairs
from dpaudit.search.space import space_of

THREE = {"bounds": (0, 1), "users": 3, "records": (1, 4)}
BOTH = ("add-remove-user: user", "replace-user: user")
COLOURS = {"colour": Categories(values=("red", "green", "blue"))}


def by_record(table):
    """A user of three records moves this by three."""
    return table["value"].clip(0, 1).sum()


def by_user(table):
    return table.groupby("user")["value"].sum().clip(0, 1).sum() if len(table) else 0.0


def colours(table):
    """A user counts once for each colour, and for three of them if these are different."""
    pairs = table.drop_duplicates()
    return np.array([(pairs["colour"] == one).sum() for one in ("red", "green", "blue")])


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize(("query", "moved"), [(by_record, 3.0), (by_user, 1.0)])
def test_a_users_records_move_a_sum_as_far_as_its_bounds_allow(query, moved, relation):
    found = dpaudit.sensitivity(query, THREE, relation, calls=150)
    assert found.at_least == pytest.approx(moved)


def test_records_of_one_user_may_be_different():
    domain = {"columns": COLOURS, "users": 3}
    found = dpaudit.sensitivity(colours, domain, "add-remove-user: user", "l1", calls=200)
    assert found.at_least == pytest.approx(3.0)


def test_a_table_of_users_is_where_the_search_starts():
    table = pd.DataFrame({"user": ["a", "b", "a"], "value": [0.25, 0.5, 0.75]})
    space = space_of(domain_of(THREE), BOTH[0], dataset=table)
    assert space.starts == ((((0.25,), (0.75,)), ((0.5,),)),)
    many = pd.DataFrame({"user": [0] * 4, "value": [0.5] * 4})
    with pytest.raises(InvalidArgument, match="a user with 4 records, expected at most 3"):
        space_of(domain_of(THREE), BOTH[0], dataset=many)
    with pytest.raises(InvalidArgument, match="columns value, expected a table of the columns"):
        space_of(domain_of(THREE), BOTH[0], dataset=table[["value"]])
    with pytest.raises(InvalidArgument, match="other values in column 'value'"):
        space_of(domain_of(THREE), BOTH[0], dataset=table.assign(value=2.0))


def test_a_relation_names_the_column_of_users():
    def query(table):
        return float(len(table.query("patient >= 0")))

    found = dpaudit.sensitivity(query, THREE, "add-remove-user: patient", calls=100)
    assert found.at_least == pytest.approx(3.0)
    assert list(found.pair.dataset.columns) == ["patient", "value"]


def noisy(query):
    def release(table, rng):
        return float(query(table)) + rng.laplace()

    return release


@pytest.mark.slow
@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize(("query", "verdict"), [(by_record, "refuted"), (by_user, "not refuted")])
def test_an_audit_tells_a_bound_by_record_from_one_by_user(query, verdict, relation):
    table = pd.DataFrame({"user": [0, 1], "value": [0.25, 0.5]})
    for given in ({}, {"dataset": table}, {"relation": chosen_relation(relation)}):
        sound = {"domain": THREE, "relation": relation, "epsilon": 1.0, "trials": 1000}
        assert dpaudit.audit(noisy(query), **{**sound, **given}).verdict == verdict


def noisy_counts(table, rng):
    """A kind is there if its noisy count is high enough, however few users have it."""
    counts = {kind: len(rows) + rng.laplace() for kind, rows in table.groupby("kind")}
    return {kind: count for kind, count in counts.items() if count > 1}


def test_a_key_that_is_there_by_luck_is_not_taken_for_one_that_one_side_lacks():
    """Whether a kind of one record is shown is decided by the noise, on both sides alike."""
    kinds = {"value": Numbers(low=0, high=1), "kind": Categories(values=("a", "b", "c"))}
    domain = Domain(columns=kinds, users=3, records=(1, 5))
    found = search_pairs(noisy_counts, domain, "add-remove-user: user", calls=1000).found[0]
    pair = space_of(domain, "add-remove-user: user").pair(found.place)
    assert found.kind == "structure"
    assert set(pair.dataset["kind"]) > set(pair.neighbour["kind"])


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("records", [4, (2, 4), (3, 5)])
def test_records_of_a_domain_are_those_of_all_its_users(relation, records):
    domain = Domain(bounds=(0, 1), users=2, records=records)
    low, high = domain.sizes

    def beyond(table):
        return float(len(table) > high)

    def least(table):
        return float(len(table) < low)

    assert dpaudit.sensitivity(beyond, domain, relation, calls=200).at_least == 0
    if low < high or relation == BOTH[1]:
        assert dpaudit.sensitivity(least, domain, relation, calls=200).at_least == 0
    found = dpaudit.sensitivity(by_record, domain, relation, calls=200)
    assert found.at_least == pytest.approx(2.0)


def test_a_table_of_users_has_as_many_records_as_its_domain_says():
    table = pd.DataFrame({"user": [0, 0, 1, 1, 2], "value": [0.5] * 5})
    with pytest.raises(InvalidArgument, match=r"dataset: got 5 records, .*: 4 to 4"):
        space_of(Domain(bounds=(0, 1), users=2, records=4), BOTH[0], dataset=table)
    space = space_of(Domain(bounds=(0, 1), users=2, records=5), BOTH[0], dataset=table)
    assert [len(unit) for unit in space.starts[0]] == [2, 2, 1]


def test_users_are_fitted_to_the_records_that_there_may_be():
    space = space_of(Domain(bounds=(0, 1), users=2, records=5), BOTH[1])
    two, one = ((0.0,), (1.0,)), ((0.5,),)
    assert [len(unit) for unit in space.fitted((two,) * 4)] == [2, 2, 1]
    assert [len(unit) for unit in space.fitted((one,) * 2)] == [1] * 5
    assert space.fitted((two, two, one)) == (two, two, one)
