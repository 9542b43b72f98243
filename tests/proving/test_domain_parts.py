"""The universe of a domain: the ends of every part, the change, and datasets that build back."""

from typing import Any

import numpy as np
import pytest

from dpaudit.domains.columns import Booleans, Categories, Integers, Numbers, Texts
from dpaudit.domains.domain import Domain
from dpaudit.neighbours.records import records_of
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.datasets import datasets_of
from dpaudit.proving.runs.domain_parts import layout_of, layout_of_universe, universe_of

TABLE: dict[str, Any] = {
    "age": Integers(low=0, high=120),
    "sex": Categories(values=("f", "m")),
    "smokes": Booleans(),
    "income": Numbers(low=0.0, high=9.0),
    "word": Texts(longest=3),
}
DOMAINS = {
    "array": (Domain(bounds=(-1, 2), records=5), "replace-record"),
    "integers": (Domain(bounds=(0, 9), records=5, integers=True), "replace-record"),
    "list": (Domain(bounds=(0, 1), records=4, form="list"), "replace-record"),
    "matrix": (Domain(bounds=(-1, 1), columns=3, norm=1.5, records=4), "replace-record"),
    "labels": (Domain(bounds=(0, 1), columns=2, labels=(-1, 1), records=4), "replace-label"),
    "text labels": (Domain(bounds=(0, 1), columns=2, labels=("a", "b"), records=4), "replace-cell"),
    "table": (Domain(columns=TABLE, records=4), "replace-record"),
    "dicts": (Domain(columns=TABLE, records=4, form="dicts"), "replace-record"),
    "users": (Domain(columns=TABLE, users=3), "add-remove-user: user"),
    "value": (Domain(bounds=(0, 1), form="value"), "replace-record"),
    "any size": (Domain(bounds=(0, 1)), "add-remove-record"),
    "texts": (Domain(around=["a", "b", "a"]), "add-remove-record"),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_datasets_are_of_the_domain(name: str) -> None:
    domain, relation = DOMAINS[name]
    layout = layout_of(domain, relation)
    built = [layout.build(one) for one in datasets_of(layout, 24, np.random.default_rng(0))]
    assert type(built[0]) is type(domain.example())
    if name not in ("value", "texts", "users", "table", "dicts"):  # these hold other texts
        layouts = domain.layout
        rows = [tuple(row) for one in built for row in records_of(one).rows]
        assert all(map(layouts.holds, rows))


def test_ends_and_shapes_are_those_of_the_domain() -> None:
    found = universe_of(*DOMAINS["table"])
    assert [one.name for one in found.parts] == list(TABLE)
    assert [float(one.low) for one in found.parts] == [0, 0, 0, 0, -1]
    assert [float(one.high) for one in found.parts] == [120, 1, 1, 9, -1]
    assert [one.is_integer for one in found.parts] == [True, True, True, False, True]
    matrix = universe_of(*DOMAINS["matrix"]).part("")
    assert (matrix.shape, matrix.norm, matrix.low.tolist()) == ((4, 3), 1.5, [-1, -1, -1])


def test_relations_say_what_changes() -> None:
    labels = universe_of(*DOMAINS["labels"])
    assert [one.is_changed for one in labels.parts] == [False, True]
    assert universe_of(*DOMAINS["text labels"]).of_cells
    users = universe_of(*DOMAINS["users"])
    assert (users.count, users.change, users.records) == (3, "add-remove", None)
    of_fixed = universe_of(Domain(columns=TABLE, users=2, records=6), "replace-user: user")
    assert (of_fixed.count, of_fixed.change, of_fixed.records) == (2, "replace", 6)


@pytest.mark.parametrize(
    ("domain", "relation"),
    [
        (Domain(bounds=(0, 1)), "replace-record"),
        (Domain(columns=TABLE, users=2), "replace-user: user"),
        (Domain(bounds=(0, 1), missing=True, records=3), "replace-record"),
        (Domain(nodes=4), "replace-node"),
        (Domain(make=lambda rng: rng.random(3)), "replace-record"),
        (Domain(bounds=(0, 1), form="value"), "add-remove-record"),
    ],
)
def test_other_domains_are_refused(domain: Domain, relation: str) -> None:
    with pytest.raises(NotProved):
        universe_of(domain, relation)


def test_numbers_without_bounds_have_infinite_ends() -> None:
    found = universe_of(Domain(around=np.array([0.5, 2.0])), "replace-record").part("")
    assert (float(found.low), float(found.high)) == (-np.inf, np.inf)


def test_a_universe_alone_has_arrays() -> None:
    universe = universe_of(*DOMAINS["labels"])
    layout = layout_of_universe(universe)
    for one in datasets_of(layout, 8, np.random.default_rng(0)):
        features, labels = layout.build(one)
        assert features.shape == (4, 2)
        assert labels.shape == (4,)
