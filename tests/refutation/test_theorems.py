"""General sensitivity theorems: sound on random pairs, attained, and their halves refuted."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from dpaudit import Pair
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_COLUMN, REPLACE_RECORD
from dpaudit.refutation import (
    bounded_mean,
    clipped_sum,
    gradient_step,
    strongly_convex_minimiser,
)
from dpaudit.refutation.inequality import Condition, Evidence, Inequality, find_broken_conditions
from dpaudit.refutation.worst_instance import WorstInstance, searched

ENTRIES = st.floats(-3, 3, width=32)


@st.composite
def replaced(draw, count=3, dimension=2):
    rows = st.lists(ENTRIES, min_size=dimension, max_size=dimension)
    data = np.array(draw(st.lists(rows, min_size=count, max_size=count)))
    other = data.copy()
    other[0] = draw(rows.filter(lambda row: list(data[0]) != row))
    return Pair(data, other, REPLACE_RECORD)


@st.composite
def added(draw):
    pair = draw(replaced())
    return Pair(pair.dataset, pair.dataset[:-1], ADD_REMOVE_RECORD)


def logistic_gradients(data, model):
    margins = data @ model
    return -data / (1 + np.exp(margins))[:, None]


def logistic_fit(data):
    """Averages the logistic loss, plus half the squared norm: 1-strongly convex."""

    def objective(model):
        slope = logistic_gradients(data, model).mean(axis=0) + model
        return np.logaddexp(0, -data @ model).mean() + model @ model / 2, slope

    return minimize(objective, np.zeros(data.shape[1]), jac=True, tol=1e-12).x


MINIMISER = strongly_convex_minimiser(
    lipschitz=5.0, strong_convexity=1.0, records=3, fit=logistic_fit, gradients=logistic_gradients
)


@pytest.mark.slow
@given(replaced())
def test_replacing_moves_no_query_farther_than_its_lemma_allows(pair):
    for lemma in (
        bounded_mean(bound=5.0, records=3),
        clipped_sum(clip=1.5, relation=REPLACE_RECORD),
        gradient_step(lipschitz=5.0, step_size=0.3, records=3, gradients=lambda d: d),
        MINIMISER,
    ):
        assert lemma.broken(pair) == ()
        assert not lemma.is_refuted_by(pair)


@given(added())
def test_adding_moves_a_clipped_sum_by_at_most_the_clip(pair):
    assert not clipped_sum(clip=1.5, relation=ADD_REMOVE_RECORD).is_refuted_by(pair)


OPPOSITE = Pair(np.array([[2.0], [0.0]]), np.array([[-2.0], [0.0]]), REPLACE_RECORD)
ATTAINED = {
    "mean": (bounded_mean(bound=2.0, records=2), OPPOSITE),
    "replaced": (clipped_sum(clip=1.0, relation=REPLACE_RECORD), OPPOSITE),
    "removed": (
        clipped_sum(clip=1.0, relation=ADD_REMOVE_RECORD),
        Pair(np.array([[0.0], [2.0]]), np.array([[0.0]]), ADD_REMOVE_RECORD),
    ),
    "step": (
        gradient_step(lipschitz=2.0, step_size=0.3, records=2, gradients=lambda d: d),
        OPPOSITE,
    ),
    # A linear loss -x w with w^2 / 2: the minimiser is the mean, each gradient is the record.
    "minimiser": (
        strongly_convex_minimiser(
            lipschitz=2.0,
            strong_convexity=1.0,
            records=2,
            fit=lambda d: d.mean(axis=0),
            gradients=lambda d, w: -d,
        ),
        OPPOSITE,
    ),
}


@pytest.mark.parametrize("name", ATTAINED)
def test_every_bound_is_attained_and_its_half_refuted(name):
    lemma, pair = ATTAINED[name]
    assert lemma.ratio(pair) == pytest.approx(1.0, rel=1e-12)
    assert not lemma.is_refuted_by(pair)
    assert replace(lemma, claimed=lemma.claimed / 2).is_refuted_by(pair)


def test_what_breaks_an_assumption_refutes_nothing():
    lemma = bounded_mean(bound=0.5, records=2)
    assert lemma.broken(OPPOSITE) == ("bounded records",)
    assert not lemma.is_refuted_by(OPPOSITE)
    fewer = bounded_mean(bound=2.0, records=3)
    assert fewer.broken(OPPOSITE) == ("enough records",)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: bounded_mean(bound=0.0, records=2), "bound"),
        (lambda: bounded_mean(bound=1.0, records=0), "records"),
        (lambda: clipped_sum(clip=float("nan"), relation=REPLACE_RECORD), "clip"),
        (lambda: clipped_sum(clip=1.0, relation=REPLACE_COLUMN), "relation"),
    ],
)
def test_bad_arguments_are_named(make, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        make()


@pytest.mark.parametrize(
    ("value", "holds"),
    [(1.0, True), (math.nextafter(1.0, 2.0), False), (-math.inf, True), (math.nan, False)],
)
def test_an_assumption_holds_up_to_its_limit_and_no_further(value, holds):
    condition = Condition(name="at most 1", value=value, limit=1.0)
    assert condition.holds is holds
    assert find_broken_conditions((condition,)) == (() if holds else ("at most 1",))


@pytest.mark.parametrize(
    ("sides", "scale", "ratio"),
    [
        ((3.0, 2.0), None, 1.5),
        ((3.0, 2.0), 4.0, 1.25),
        ((-3.0, -2.0), 4.0, 0.75),
        ((math.inf, 2.0), None, math.inf),
        ((1.0, 0.0), None, None),
        ((1.0, -2.0), None, None),
        ((1.0, 2.0), 0.0, None),
        ((1.0, 2.0), math.nan, None),
        ((math.nan, 2.0), None, None),
        ((1.0, math.nan), 1.0, None),
    ],
)
def test_an_excess_is_compared_to_what_is_above_0(sides, scale, ratio):
    claim = Inequality(
        name="one",
        source="an example",
        sides=lambda _: sides,
        conditions=lambda _: (),
        scale=None if scale is None else lambda _: scale,
    )
    if ratio is None:
        with pytest.raises(MechanismError, match="expected"):
            claim.ratio(0)
    else:
        assert claim.ratio(0) == ratio
        assert claim.is_refuted_by(0) is (ratio > 1)


@pytest.mark.parametrize(("value", "refuted"), [(0.4, False), (1.0, False), (3.0, True)])
def test_only_what_is_refuted_has_a_reason_a_smallest_instance_and_a_certificate(value, refuted):
    in_reach = Condition(name="below 9", value=value, limit=9.0)
    of_evidence = Condition(name="an output", value=0.0, limit=0.0)
    claim = Inequality(
        name="one",
        source="an example",
        sides=lambda x: (x, 1.0),
        conditions=lambda x: (in_reach,),
        scale=lambda x: 2.0,
        because=lambda x: f"as {x:g} is more",
        evidence=lambda x: Evidence(parameters={}, instance={}, conditions=(of_evidence,)),
    )
    rng = np.random.default_rng(0)
    found = searched(claim, lambda *_: value, 7, rng, seed=3, smallest=lambda x: f"{x:g}")
    assert (found.value, found.bound, found.scale) == (value, 1.0, 2.0)
    assert found.refutes is refuted
    assert found.ratio == 1 + (value - 1.0) / 2.0
    if not refuted:
        assert (found.because, found.minimal, found.certificate) == (None, None, None)
        return
    assert (found.because, found.minimal) == ("as 3 is more", "3")
    assert found.certificate.conditions == (in_reach, of_evidence)
    assert found.certificate.search == {"seed": 3, "budget": 7}
    assert found.certificate.quantities == {"ratio": 2.0}


@pytest.mark.parametrize(
    ("value", "strict", "refutes"),
    [(1.0, False, False), (1.0, True, True), (0.9, True, False), (1.1, False, True)],
)
def test_a_strict_bound_is_broken_where_it_is_met(value, strict, refutes):
    for scale in (None, 4.0):
        assert (
            WorstInstance(value=value, bound=1.0, instance="", strict=strict, scale=scale).refutes
            is refutes
        )
