"""Modules that were changed since their import: no other code is judged than the user means."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidArgument
from dpaudit.execution import importable
from dpaudit.execution.fingerprints import compute_look_fingerprint
from dpaudit.mechanisms.foreign.changed_modules import changes, compute_fingerprints, owner_of
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism

HERE = Path(__file__).parent
PAIR = (np.array([0.0]), np.array([1.0]))

with importable(HERE):
    import changing


@pytest.fixture(autouse=True)
def workers_find_it(monkeypatch):
    monkeypatch.syspath_prepend(HERE)


MECHANISMS = {
    "function": lambda: changing.noisy_sum,
    "object": changing.Sum,
    "bound method": lambda: changing.Sum().sample,
    "partial": lambda: partial(changing.noisy_sum),
}


def placed(mechanism):
    found = isolate_mechanism(mechanism, Isolation()).mechanism
    found.crew.close()
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCALE", 0.1),
        ("WEIGHTS", np.array([1.0, 0.0])),
        ("noise", lambda trials, rng: np.zeros(trials)),
    ],
)
def test_what_its_code_names_must_be_as_it_was_imported(monkeypatch, kind, name, value):
    assert placed(MECHANISMS[kind]()).start > 0
    monkeypatch.setattr(changing, name, value)
    with pytest.raises(InvalidArgument, match=rf"^mechanism: .* changing has another {name} than"):
        placed(MECHANISMS[kind]())


def test_a_class_attribute_must_be_as_it_was_imported(monkeypatch):
    monkeypatch.setattr(changing.Sum, "factor", 2.0)
    with pytest.raises(InvalidArgument, match="changing has another Sum than"):
        placed(changing.Sum())


@pytest.mark.parametrize("name", ["LATER", "AT_IMPORT", "UNUSED", "ANYTHING"])
def test_what_is_set_later_differs_anyway_or_is_not_used_may_change(monkeypatch, name):
    monkeypatch.setattr(changing, name, 12.5)
    assert placed(changing.Sum()).start > 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("scale", "verdict"), [(0.2, "refuted"), (1.0, "not refuted")])
def test_a_function_that_is_made_here_takes_the_change_along(scale, verdict):
    def noisier(dataset, trials, rng):
        return dataset.sum() + rng.laplace(scale=scale, size=trials)

    assert dpaudit.audit(noisier, *PAIR, epsilon=1.0, trials=1000).verdict == verdict


def test_the_owner_is_what_is_imported():
    owners = [owner_of(as_mechanism(make())) for make in MECHANISMS.values()]
    assert owners == [changing.noisy_sum, changing.Sum, changing.Sum, changing.noisy_sum]
    assert compute_fingerprints(lambda: changing.SCALE) == {}


def test_only_what_all_fresh_imports_agree_on_was_changed():
    assert changes({"a": "1"}, [{"a": "2"}, {"a": "2"}]) == ["a"]
    assert changes({"a": "1"}, [{"a": "2"}, {"a": "3"}]) == []
    assert changes({"a": "1", "b": ""}, [{"a": "1", "b": "2"}]) == []


def test_sets_of_constants_look_the_same_in_whatever_order():
    def is_either(value):
        return value in {0, 8}

    code = is_either.__code__
    consts = [frozenset([8, 0]) if one == {0, 8} else one for one in code.co_consts]
    other = FunctionType(code.replace(co_consts=tuple(consts)), globals())
    assert repr(other.__code__.co_consts) != repr(code.co_consts)  # as text has by hash seed
    assert compute_look_fingerprint(other) == compute_look_fingerprint(is_either)
    consts = [frozenset([8, 1]) if one == {0, 8} else one for one in code.co_consts]
    assert compute_look_fingerprint(
        FunctionType(code.replace(co_consts=tuple(consts)), {})
    ) != compute_look_fingerprint(is_either)
