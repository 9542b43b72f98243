"""What a certificate of canaries states: every number in its range, and one entry a plan."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.auditing.samples.canary_table import CanaryTable
from dpaudit.errors import DataError
from dpaudit.estimation import canaries as plans
from dpaudit.reals import Real
from dpaudit.verification import Document, Reader, canaries
from dpaudit.verification.canaries import _chosen_plan, _other_plan, _read_stated_canaries, p_value

PARAMETERS = {
    "canaries": 10, "included": 5, "coins": 10, "design": "independent", "delta": 0.0,
    "epsilon": 1.0, "alpha": 0.05,
}  # fmt: skip
INSTANCE = {"guesses": [4, 6], "correct": [3, 6], "shares": [0.5, 0.5]}


def document(parameters=(), instance=(), **given):
    return Document(
        path="c.json", quantities={}, assumptions={}, kind="canaries",
        parameters=PARAMETERS | dict(parameters), instance=INSTANCE | dict(instance),
        **{"claim": "canaries"} | given,
    )  # fmt: skip


def test_a_certificate_is_read_as_it_stands():
    found = _read_stated_canaries(document())
    assert (found.coins, found.rows, found.included, found.design) == (10, 10, 5, "independent")
    assert (found.guesses, found.correct, found.shares) == ((4, 6), (3, 6), (0.5, 0.5))
    assert (float(found.claimed), float(found.delta), float(found.alpha)) == (1.0, 0.0, 0.05)


@pytest.mark.parametrize(
    "parameters",
    [
        {"canaries": 0}, {"canaries": True}, {"included": 10}, {"included": 0}, {"coins": 1.0},
        {"design": "coins"}, {"delta": -0.1}, {"epsilon": -1.0}, {"alpha": 0.0},
    ],
)  # fmt: skip
def test_a_parameter_outside_its_range_is_refused(parameters):
    with pytest.raises(DataError, match=f"parameters.{next(iter(parameters))}"):
        _read_stated_canaries(document(parameters))


@pytest.mark.parametrize(
    ("instance", "name"),
    [
        ({"guesses": [True, 6]}, "guesses"),
        ({"guesses": [4.0, 6]}, "guesses"),
        ({"guesses": "46"}, "guesses"),
        ({"correct": [True, 6]}, "correct"),
        ({"correct": [3]}, "shares"),
        ({"guesses": [], "correct": [], "shares": []}, "shares"),
        ({"shares": [0.5]}, "shares"),
        ({"shares": [0.0, 0.5]}, "shares"),
        ({"shares": [0.5, 1.1]}, "shares"),
        ({"correct": [5, 6]}, "correct"),
        ({"correct": [-1, 6]}, "correct"),
        ({"guesses": [0, 6], "correct": [0, 6]}, "correct"),
        ({"guesses": [4, 11]}, "correct"),
    ],
)
def test_an_entry_outside_its_range_is_refused(instance, name):
    with pytest.raises(DataError, match=f"instance.{name}"):
        _read_stated_canaries(document(instance=instance))
    ends = {"guesses": [4, 10], "correct": [4, 0], "shares": [0.5, 1.0]}
    assert _read_stated_canaries(document(instance=ends)).correct == (4, 0)


def test_only_certificates_of_canaries_are_read_so():
    with pytest.raises(DataError, match="claim"):
        _read_stated_canaries(document(claim="another"))
    with pytest.raises(DataError, match="kind"):
        _read_stated_canaries(Document(**vars(document()) | {"kind": "sensitivity"}))


def exact(correct, guesses, coins, epsilon, delta):
    """Return the bound of the module's docstring, by a sum over all counts."""
    p = 1 / (1 + math.exp(-epsilon))
    mass = [math.comb(guesses, k) * p**k * (1 - p) ** (guesses - k) for k in range(guesses + 1)]
    above = sum(mass[correct:])
    return above + coins * delta * above * (1 - above) / (correct * mass[correct])


@pytest.mark.parametrize("correct", [1, 3, 6])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_a_p_value_is_the_theorems(correct, epsilon, delta):
    found = p_value(correct, 6, 20, Real(epsilon), Real(delta))
    assert float(found) == pytest.approx(exact(correct, 6, 20, epsilon, delta), rel=1e-9)
    assert float(p_value(0, 6, 20, Real(epsilon), Real(delta))) == 1.0


@pytest.mark.parametrize(
    ("guesses", "other"), [(None, False), ((4, 6), False), ((6, 4), False), ((4,), True)]
)
def test_a_plan_is_the_readers_in_any_order_or_a_reservation(guesses, other):
    usual = [one.share for one in plans.make_plans([4, 6])]
    stated = _read_stated_canaries(document(instance={"shares": usual}))
    reader = Reader(seed=1, guesses=guesses)
    assert bool(_other_plan(stated, reader)) is other
    assert bool(_chosen_plan(stated, reader)) is (guesses is None)
    uneven = _read_stated_canaries(document(instance={"shares": [0.4, 0.6]}))
    assert _other_plan(uneven, Reader(seed=1, guesses=(4, 6)))


@pytest.mark.parametrize(
    ("game", "size", "least", "most"),
    [
        ([(1.0, True), (2.0, False)], 0, 0, 0),
        ([(1.0, True), (2.0, False)], 1, 1, 1),
        ([(1.0, True), (1.0, False)], 1, 0, 1),
        ([(1.0, True), (2.0, True), (2.0, False), (3.0, True)], 2, 1, 2),
        ([(1.0, False), (2.0, True), (2.0, True)], 2, 1, 1),
        ([(1.0, True), (2.0, False), (2.0, False)], 2, 1, 1),
        ([(1.0, True), (2.0, True), (2.0, False)], 3, 2, 2),
    ],
)
def test_the_last_of_the_first_guesses_may_be_tied(game, size, least, most):
    assert canaries._bound_right_guesses(game, size) == (least, most)


def test_counts_that_are_not_those_of_the_scores_are_told():
    table = SimpleNamespace(
        scores=list(range(10)), included=SimpleNamespace(sum=lambda: 5), digest="d"
    )
    stated = _read_stated_canaries(document())

    def told(parameters=(), instance=(), ranges=((2, 4), (5, 6))):
        given = document(parameters, {"sha256": "d"} | dict(instance))
        found = canaries._compare_canary_statements(given, stated, table, list(ranges))
        return [one.partition(":")[0] for one in found]

    assert told() == []
    assert told(instance={"sha256": "e"}) == ["sha256"]
    assert told({"canaries": 11}) == ["canaries"]
    assert told({"included": 4}) == ["included"]
    assert told({"coins": 5}) == ["coins"]
    assert told(ranges=((4, 4), (5, 6))) == ["correct"]
    assert told(ranges=((2, 2), (5, 6))) == ["correct"]
    assert told(ranges=((3, 3), (6, 6))) == []


@pytest.mark.parametrize("guesses", [(4, 11), (11, 4), (11,), (10, 11, 9)])
def test_no_plan_has_more_guesses_than_the_scores_have_coins(guesses):
    scores = CanaryTable(scores=np.arange(10.0), included=np.arange(10) % 2 == 0, group=None)
    ends = tuple(min(10, size) for size in guesses)
    stated = replace(_read_stated_canaries(document()), guesses=ends)
    assert len(canaries._count_plan_ranges(document(), stated, scores)) == len(guesses)
    with pytest.raises(DataError, match=r"instance\.guesses: .*at most 10, as"):
        canaries._count_plan_ranges(document(), replace(stated, guesses=guesses), scores)


def test_pairs_have_a_coin_for_two_scores():
    coins = np.arange(10) % 2 == 0
    scores = CanaryTable(scores=np.arange(10.0), included=coins, group=np.arange(10) // 2)
    stated = replace(_read_stated_canaries(document()), design="pairs", guesses=(5,))
    assert canaries._count_plan_ranges(document(), stated, scores) == [(0, 0)]
    with pytest.raises(DataError, match="expected at most 5"):
        canaries._count_plan_ranges(document(), replace(stated, guesses=(5, 6)), scores)
    alone = replace(scores, group=None)
    with pytest.raises(DataError, match="has no pairs"):
        canaries._count_plan_ranges(document(), stated, alone)
