"""Which questions accountants are asked: every coordinate of the grid, as a table says it."""

from __future__ import annotations

from collections import Counter

import pytest

from dpaudit.scan.accountants.cases import (
    PARAMETERS,
    AccountantQuestion,
    make_question_grid,
    make_release_part,
)

GRID = make_question_grid()
COUNTS = {
    ("approximate", "advantage"): 1,
    ("approximate", "delta"): 8,
    ("approximate", "epsilon"): 30,
    ("approximate", "renyi"): 12,
    ("approximate", "spent"): 504,
    ("concentrated", "advantage"): 1,
    ("concentrated", "delta"): 8,
    ("concentrated", "epsilon"): 33,
    ("concentrated", "renyi"): 12,
    ("discrete-gaussian", "advantage"): 2,
    ("discrete-gaussian", "delta"): 16,
    ("discrete-gaussian", "epsilon"): 35,
    ("discrete-gaussian", "renyi"): 24,
    ("discrete-laplace", "advantage"): 1,
    ("discrete-laplace", "delta"): 8,
    ("discrete-laplace", "epsilon"): 22,
    ("discrete-laplace", "renyi"): 12,
    ("gaussian", "advantage"): 3,
    ("gaussian", "delta"): 24,
    ("gaussian", "epsilon"): 94,
    ("gaussian", "noise"): 32,
    ("gaussian", "renyi"): 36,
    ("laplace", "advantage"): 2,
    ("laplace", "delta"): 16,
    ("laplace", "epsilon"): 82,
    ("laplace", "noise"): 32,
    ("laplace", "renyi"): 24,
    ("laplace", "spent"): 4,
    ("mixed", "epsilon"): 3,
    ("mixed", "spent"): 12,
    ("pure", "advantage"): 3,
    ("pure", "delta"): 24,
    ("pure", "epsilon"): 80,
    ("pure", "errors"): 3,
    ("pure", "renyi"): 36,
    ("pure", "spent"): 4,
    ("response", "advantage"): 2,
    ("response", "delta"): 16,
    ("response", "epsilon"): 66,
    ("response", "renyi"): 24,
    ("sampled", "advantage"): 4,
    ("sampled", "delta"): 20,
    ("sampled", "epsilon"): 92,
    ("sampled", "noise"): 12,
    ("sampled", "renyi"): 51,
}


def test_as_many_questions_are_asked_as_the_grid_says():
    assert Counter(one.asks for one in GRID) == {
        "epsilon": 537, "spent": 524, "renyi": 231, "delta": 140, "noise": 76, "advantage": 19,
        "errors": 3,
    }  # fmt: skip
    assert Counter(one.kind for one in GRID) == {
        "approximate": 555, "gaussian": 189, "sampled": 179, "laplace": 160, "pure": 150,
        "response": 108, "discrete-gaussian": 77, "concentrated": 54, "discrete-laplace": 43,
        "mixed": 15,
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "asks"), COUNTS)
def test_of_one_kind_each_question_is_asked_as_often(kind, asks):
    found = [one for one in GRID if (one.kind, one.asks) == (kind, asks)]
    assert len(found) == COUNTS[kind, asks]


ORDERS = {1.0001, 1.1, 1.5, 2.0, 2.5, 3.0, 8.0, 32.0, 33.3, 256.0, 1024.0, 1e5}
DELTAS = {0.0, 1e-300, 1e-100, 1e-20, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.1, 0.5, 0.9, 1.0}


@pytest.mark.parametrize(
    ("asks", "at", "epsilon"),
    [
        ("epsilon", DELTAS, {0.0}),
        ("delta", {0.0, 1e-6, 0.1, 1.0, 5.0, 20.0, 100.0, 800.0}, {0.0}),
        ("renyi", ORDERS, {0.0}),
        ("spent", {0.0, 1e-9, 1e-5, 0.01}, {0.0}),
        ("noise", {1e-20, 1e-12, 1e-8, 1e-5, 0.1}, {0.01, 0.5, 1.0, 2.0, 8.0, 10.0, 100.0}),
        ("errors", {0.8, 0.95, 0.99}, {0.0}),
        ("advantage", {0.0}, {0.0}),
    ],
)
def test_questions_are_asked_at_ordinary_numbers_and_at_ends(asks, at, epsilon):
    found = [one for one in GRID if one.asks == asks]
    assert {one.at for one in found} == at
    assert {one.epsilon for one in found} == epsilon


NOISES = {0.0, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 100.0, 1e6}
OWN = {0.0, 1e-6, 0.1, 1.0, 2.0, 10.0, 100.0, 800.0}


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        ("gaussian", "noise", NOISES | {1e4}),
        ("laplace", "noise", NOISES | {4.0}),
        ("discrete-laplace", "noise", {0.5, 1.0, 2.0, 3.0}),
        ("discrete-gaussian", "noise", {0.5, 1.0, 2.0, 3.0}),
        ("response", "epsilon", OWN),
        ("pure", "epsilon", OWN | {0.5}),
        ("approximate", "epsilon", {0.0, 1e-3, 0.1, 0.5, 1.0, 5.0, 10.0}),
        ("approximate", "delta", {0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 0.01, 0.2}),
        ("concentrated", "rho", {0.0, 1e-6, 0.005, 0.5, 50.0}),
        ("sampled", "ratio", {0.0, 1e-9, 1e-6, 0.01, 0.1, 1.0}),
        ("sampled", "noise", {0.0, 0.5, 0.6, 1.0, 4.0}),
    ],
)
def test_releases_have_ordinary_parameters_and_ends(kind, name, values):
    parts = [one for question in GRID for one in question.parts if one["kind"] == kind]
    assert {one[name] for one in parts} == values


def test_releases_are_repeated_from_none_to_a_million_times():
    counts = {one["count"] for question in GRID for one in question.parts}
    assert counts == {0, 1, 2, 3, 10, 20, 30, 100, 1000, 10_000, 1_000_000}


def test_a_question_is_of_delta_1e_5_where_no_other_is_asked_for():
    assert AccountantQuestion((make_release_part("gaussian", 1.0),)) == AccountantQuestion(
        (make_release_part("gaussian", 1.0),), "epsilon", 1e-5
    )


def test_a_part_has_its_parameters_in_order_and_a_count():
    for kind, names in PARAMETERS.items():
        values = [float(place) for place in range(1, len(names) + 1)]
        made = dict(make_release_part(kind, *values, count=7))
        assert made == {"kind": kind, **dict(zip(names, values, strict=True)), "count": 7}
    assert dict(make_release_part("pure", 1.0))["count"] == 1
    with pytest.raises(ValueError, match=r"zip\(\)"):
        make_release_part("sampled", 0.1)


@pytest.mark.parametrize(
    ("asks", "said"),
    [
        ("epsilon", "epsilon at delta 0.5"),
        ("delta", "delta at epsilon 0.5"),
        ("renyi", "Renyi divergence of order 0.5"),
        ("noise", "noise for epsilon 3 at delta 0.5"),
        ("advantage", "advantage"),
        ("spent", "spent with a slack of 0.5"),
        ("errors", "errors of a lower bound at a confidence of 0.5"),
    ],
)
def test_a_question_is_said_with_its_numbers(asks, said):
    release = (make_release_part("sampled", 0.01, 2.0, count=10), make_release_part("pure", 1.5))
    one = AccountantQuestion(release, asks, 0.5, 3.0)
    words = "10 x sampled (ratio 0.01, noise 2) and 1 x pure (epsilon 1.5)"
    assert str(one) == f"{said} of {words}"
    assert one.kind == "mixed"
    assert AccountantQuestion(release[:1]).kind == "sampled"
    assert one.plain() == {
        "release": [
            {"kind": "sampled", "ratio": 0.01, "noise": 2.0, "count": 10},
            {"kind": "pure", "epsilon": 1.5, "count": 1},
        ],
        "asks": asks,
        "at": 0.5,
        "epsilon": 3.0,
    }
