"""Parts of an end-to-end number, primitives alone, and the guide of a black-box audit."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.replaying.parts as parts_module
from dpaudit.errors import InvalidArgument
from dpaudit.freezing.guide import guide
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.replaying.parts import PrimitiveGroup, audit_part, make_replay_parts, total

HERE = Isolation(in_process=True)


def test_parts_add_up_by_kind(replay_here):
    def release(data, rng):
        sums = [data.sum() + rng.laplace(scale=8.0) for _ in range(4)]
        return [*sums, data.max() + rng.laplace(scale=2.0), 1.0 + rng.laplace()]

    found = make_replay_parts(replay_here(release, np.array([0.0]), np.array([1.0]), epsilon=2.0))
    assert [(one.count, one.epsilon) for one in found] == [(4, 0.125), (1, 0.5)]
    assert {one.label for one in found} == {"proved by its law"}
    assert total(found) == pytest.approx(1.0)


def test_a_part_without_a_law_is_unknown(replay_here):
    def release(data, rng):
        return int(data.sum() + rng.geometric(0.5) - rng.geometric(0.5))

    found = make_replay_parts(replay_here(release, np.array([0.0]), np.array([1.0])))
    assert "unknown" in {one.label for one in found}
    assert total(found) is None


def test_a_primitive_alone_is_audited(replay_here):
    part = PrimitiveGroup(
        name="own", kind="own", scale=None, moved=1.0, count=2, epsilon=None, label="unknown"
    )
    right = audit_part(
        part, lambda v, rng: v + rng.laplace(), epsilon=1.0, trials=200, isolation=HERE
    )
    wrong = audit_part(
        part, lambda v, rng: v + rng.laplace(scale=0.2), epsilon=1.0, trials=400, isolation=HERE
    )
    assert (right.label, right.audited.verdict, total([right])) == ("audited", "not refuted", 2.0)
    assert wrong.audited.verdict == "refuted"
    assert wrong.epsilon > 1.0
    with pytest.raises(InvalidArgument, match="part"):
        audit_part(PrimitiveGroup(**{**vars(part), "moved": None}), lambda v, rng: v, epsilon=1.0)


@pytest.mark.parametrize(
    ("verdict", "lower", "epsilon", "label"),
    [
        ("not refuted", 0.4, 1.0, "audited"),
        ("proved", 0.4, 1.0, "audited"),
        ("refuted", 2.5, 2.5, "audited"),
        ("withheld", 2.5, None, "unknown"),
    ],
)
def test_a_part_spends_what_its_audit_says_and_nothing_if_it_says_nothing(
    monkeypatch, verdict, lower, epsilon, label
):
    said = SimpleNamespace(verdict=verdict, measured=SimpleNamespace(lower=lower))
    monkeypatch.setattr(parts_module, "audit", lambda *_, **__: said)
    part = PrimitiveGroup(
        name="own", kind="own", scale=1.0, moved=1.0, count=3, epsilon=0.1, label="unknown"
    )
    found = audit_part(part, None, epsilon=1.0)
    assert (found.epsilon, found.label, found.audited) == (epsilon, label, said)
    assert total([part, found]) == (None if epsilon is None else 0.3 + 3 * epsilon)
    at_delta = audit_part(part, None, epsilon=1.0, delta=1e-6)
    assert (at_delta.epsilon, total([part, at_delta])) == (epsilon, None)


def test_a_total_is_rounded_up_and_none_where_a_part_is_unknown():
    part = PrimitiveGroup(
        name="own", kind="own", scale=1.0, moved=1.0, count=3, epsilon=0.1, label="unknown"
    )
    assert total([]) == 0
    assert total([part]) == 0.3
    assert total([part, replace(part, epsilon=None)]) is None


def test_the_guide_ranks_pairs_and_names_events():
    def release(data, epsilon, rng):
        if max(data) > 50:
            raise ValueError("too large")
        return {"sum": sum(data) + rng.laplace(scale=1 / epsilon), "n": len(data)}

    pairs = [([1, 2], [1, 2]), ([1, 2], [1, 3]), ([1, 2], [1, 2, 3]), ([1, 2], [1, 99])]
    found = guide(release, pairs, parameters={"epsilon": 2.0})
    assert [one["pair"] for one in found] == [3, 2, 1, 0]
    assert found[0]["events"][0]["test"] == "structure"
    assert found[1]["events"][0]["part"] == "output['n']"
    assert (found[2]["moved"], found[2]["events"][0]["test"]) == (2.0, "below")
    assert found[3]["events"] == []


def test_the_guide_tells_draws_that_are_not_intercepted():
    state = iter(range(10**6))
    (found,) = guide(lambda data: sum(data) + next(state), [([1], [2])])
    assert not found["intercepted"]


def test_the_guide_takes_many_trials():
    def many(data, trials, rng):
        return [sum(data) + rng.normal() for _ in range(trials)]

    (found,) = guide(many, [([0.0], [3.0])])
    assert found["moved"] == 3.0
