"""A claim a unit of distance, as the claim on each pair: numbers by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.auditing.estimators import metric_claims
from dpaudit.auditing.outcome.default_statement import make_case_statement
from dpaudit.errors import InvalidArgument
from dpaudit.extension.case import DistanceClaim, Proof, SearchCase
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.neighbours import Pair, metric

from .common import case_of

STRAIGHT = metric("euclidean")


def case_at(claimed, *points, relation=STRAIGHT, **more):
    """Return a case of pairs of the origin and points."""
    pairs = [Pair(np.zeros(2), np.array(point), relation) for point in points]
    first, *others = [replace(case_of(claimed, **more), pair=pair) for pair in pairs]
    return replace(first, candidates=tuple(others))


@pytest.mark.parametrize(
    ("a_unit", "near", "far"),
    [
        (ApproximateDP(0.5, 1e-3), ApproximateDP(2.5, 1e-3), ApproximateDP(0.25, 1e-3)),
        (GaussianDP(0.5), GaussianDP(2.5), GaussianDP(0.25)),
        (ZeroConcentratedDP(0.5), ZeroConcentratedDP(12.5), ZeroConcentratedDP(0.125)),
    ],
)
def test_each_pair_has_the_claim_at_its_own_distance(a_unit, near, far):
    case = case_at(a_unit, (3.0, 4.0), (0.0, 0.5))
    found = metric_claims.at_distances(case)
    (other,) = found.candidates
    assert (found.claimed, other.claimed) == (near, far)
    assert found.a_unit == DistanceClaim(claimed=a_unit, distance="euclidean", apart=5.0)
    assert other.a_unit == DistanceClaim(claimed=a_unit, distance="euclidean", apart=0.5)
    is_point = isinstance(a_unit, ApproximateDP)
    assert found.at_delta == (1e-3 if is_point else found.at_delta)
    assert (found.currency is None) is is_point
    assert metric_claims.in_document(found).model_dump() == {
        "distance": "euclidean",
        "claimed": 0.5,
        "apart": 5.0,
    }
    assert metric_claims.of_pair(found) == "two datasets that are 5 apart (euclidean)"
    result = SimpleNamespace(a_unit=metric_claims.in_document(found))
    assert (
        metric_claims.format_pair_distance(result)
        == "The two are 5 apart (euclidean), at 0.5 a unit."
    )


def test_other_claims_stay_and_say_nothing_of_a_distance():
    case = case_of()
    assert metric_claims.at_distances(case) is case
    assert metric_claims.in_document(case) is None
    assert metric_claims.format_pair_distance(SimpleNamespace(a_unit=None)) is None
    assert "apart" not in metric_claims.of_pair(case)


def test_a_unit_of_one_distance_is_claimed_and_nothing_is_proved_beside_it():
    proof = Proof(guarantee=PureDP(0.6), source="a theorem")
    with pytest.raises(InvalidArgument, match="release"):
        metric_claims.at_distances(replace(case_at(PureDP(0.5), (3.0, 4.0)), proved=proof))
    case = case_at(ApproximateDP(0.5, 0.0), (3.0, 4.0))
    other = case_at(ApproximateDP(0.5, 0.0), (3.0, 4.0), relation=metric("manhattan"))
    with pytest.raises(InvalidArgument, match="pairs of one distance"):
        metric_claims.at_distances(replace(case, candidates=(other,)))


@pytest.mark.parametrize(
    ("claim", "number"),
    [
        (ApproximateDP(0.5, 1e-3), 0.5),
        (GaussianDP(0.25), 0.25),
        (ZeroConcentratedDP(0.75), 0.75),
    ],
)
def test_a_claim_a_unit_has_one_number(claim, number):
    assert metric_claims.number_of(claim) == number
    with pytest.raises(InvalidArgument, match="epsilon, mu or rho"):
        metric_claims.number_of(RenyiDP(2.0, 1.0))


def a_bound(quantity, at_delta=None):
    return SearchCase(
        bound=0.125,
        attain=lambda budget, rng: None,
        view="all",
        data="none",
        relation="replace-record",
        pair="none",
        default_trials=1,
        parameters={},
        quantity=quantity,
        at_delta=at_delta,
    )


@pytest.mark.parametrize(
    ("case", "name", "kind", "statement"),
    [
        (
            case_of(ApproximateDP(0.5, 1e-3), 1e-3, mechanism=SimpleNamespace()),
            "SimpleNamespace",
            "privacy",
            "the mechanism is (0.5, 0.001)-DP",
        ),
        (a_bound(None), "sensitivity", "sensitivity", "the sensitivity is at most 0.125"),
        (a_bound(None, 0.0), "epsilon", "privacy", "the epsilon is at most 0.125"),
        (a_bound("sensitivity", 0.0), "sensitivity", "sensitivity", "the sensitivity is at most"),
        (a_bound("decay"), "decay", "property", "the decay is at most 0.125"),
    ],
)
def test_a_case_that_nobody_put_in_words_says_what_it_claims(case, name, kind, statement):
    found = make_case_statement(case)
    assert (found.name, found.kind, found.relation) == (name, kind, "replace-record")
    assert found.statement.startswith(statement)
