"""Runs of hu2019 with models in an interval may alternate for ever from three parties on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.sharing.claims.hu2019.alternation import (
    BoundedRun,
    make_settling_inequality,
)
from dpaudit.algorithms.sharing.claims.hu2019.convergence import CLAIM
from dpaudit.algorithms.sharing.claims.hu2019.iterations import IterationSetting
from dpaudit.algorithms.sharing.statements.hu2019.checks import exact_runs
from dpaudit.algorithms.sharing.statements.hu2019.checks.instances import (
    make_bounded_models_problem,
)
from dpaudit.algorithms.sharing.verify.hu2019.convergence import recompute
from dpaudit.errors import DataError, InvalidArgument

THREE = IterationSetting(
    parties=3, features=1, samples=1, regulariser_weight=0.0, loss_weight=9.0, penalty=10.0
)


def equal_columns(last=40, half_width=2.0, setting=THREE):
    return BoundedRun(
        setting=setting,
        half_width=half_width,
        designs=np.ones((setting.parties, 1)),
        labels=np.ones(1),
        last=last,
    )


def test_a_run_in_floats_is_that_in_exact_arithmetic():
    states = exact_runs.run(make_bounded_models_problem(), 12)[1:]
    for (x, z), exact in zip(equal_columns(12).states(), states, strict=True):
        assert x == pytest.approx([float(one) for one in exact.models])
        assert z == pytest.approx([float(one) for one in exact.prediction])


@pytest.mark.parametrize("last", [1000, 2000, 4000])
def test_steps_never_get_shorter(last):
    """30/7 in the limit, as far out as one looks."""
    run = equal_columns(last)
    (_, before), (_, after) = run.states()[-2:]
    assert float(np.linalg.norm(after - before)) == pytest.approx(30 / 7, rel=1e-9)
    assert run.limit() == pytest.approx(30 / 7)


def test_the_margin_by_hand():
    """``(30 a - 9 - 3 a) / (20 a)`` for a column of ones, with z inside the reach of S."""
    assert equal_columns(half_width=2.0).margin() == pytest.approx(45 / 40)
    assert equal_columns(half_width=9 / 7 + 1e-3).margin() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    "run",
    [
        equal_columns(setting=dataclasses.replace(THREE, parties=2)),
        equal_columns(setting=dataclasses.replace(THREE, parties=1)),
        equal_columns(setting=dataclasses.replace(THREE, loss_weight=0.5, penalty=2.0)),
    ],
    ids=["two parties", "one party", "settles all the same"],
)
def test_what_settles_is_not_refuted(run):
    """Nor is it by a step that has not got short yet: a hundred-millionth of one is allowed."""
    assert run.margin() < 1
    assert not make_settling_inequality(CLAIM, 1e-8, "").is_refuted_by(run)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_search_breaks_it_and_the_certificate_is_verified(audited, plain, judged, seed):
    found = audited(CLAIM, seed=seed, parameters={"half_width": 2.0})
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio == pytest.approx(found.result.measured.lower, rel=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [{"parties": 2}, {"parties": 1}, {"factor": 50.0}, {"penalty": 30.0, "parties": 2}],
)
def test_true_variants_are_not_refuted(audited, parameters):
    found = audited(CLAIM, parameters={"half_width": 2.0, **parameters})
    assert found.result.verdict == "not refuted"
    assert found.certificate is None


@pytest.fixture(scope="module")
def genuine(audited, plain):
    return plain(audited(CLAIM, trials=400, parameters={"half_width": 2.0}).certificate)


@pytest.mark.parametrize(
    ("value", "path", "named"),
    [
        (0.0, ("parameters", "half_width"), "parameters.half_width"),
        (2, ("parameters", "last"), "parameters.last"),
        (401, ("parameters", "last"), "parameters.last"),
        ("logistic", ("parameters", "loss"), "parameters.loss"),
        (2, ("parameters", "features"), "designs|features"),
        (1e12, ("parameters", "half_width"), "one at an end"),
    ],
)
def test_a_malformed_certificate_names_the_field(genuine, judged, changed, value, path, named):
    with pytest.raises(DataError, match=named):
        judged(changed(genuine, value, *path), recompute)


def test_a_penalty_with_which_nothing_alternates_is_seen(genuine, judged, changed):
    """The last models are at ends of the interval, and the inequality does not hold."""
    narrow = changed(genuine, 0.4, "parameters", "half_width")
    verdict = judged(narrow, recompute)
    assert verdict.failures


def test_bad_input_is_named(audited):
    with pytest.raises(InvalidArgument, match=r"^features: "):
        audited(CLAIM, parameters={"half_width": 2.0, "features": 2})
    with pytest.raises(InvalidArgument, match=r"^iterations: "):
        audited(CLAIM, parameters={"half_width": 2.0, "iterations": 3})


def test_bounds_that_z_leaves_would_break_the_proof():
    """Random states inside the bounds: one iteration always ends at the opposite corner."""
    run, rng = equal_columns(), default_rng(0)
    x, z = run.states()[-1]
    reached = x @ run.designs
    reach = np.maximum(np.abs(z), np.abs(reached))
    for inside in rng.uniform(-reach, reach, size=(200, 1)):
        for sign in (1, -1):
            pull = 9.0 * (inside - 1) + 10.0 * (sign * reached - inside)
            free = sign * x - run.designs @ pull / 10.0
            assert (sign * np.sign(x) * free <= -2).all()
