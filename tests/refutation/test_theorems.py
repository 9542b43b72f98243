"""General sensitivity theorems: sound on random pairs, attained, and their halves refuted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from dpaudit import Pair
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_COLUMN, REPLACE_RECORD
from dpaudit.refutation import (
    bounded_mean,
    clipped_sum,
    gradient_step,
    strongly_convex_minimiser,
)

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
        assert not lemma.refuted_by(pair)


@given(added())
def test_adding_moves_a_clipped_sum_by_at_most_the_clip(pair):
    assert not clipped_sum(clip=1.5, relation=ADD_REMOVE_RECORD).refuted_by(pair)


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
    assert not lemma.refuted_by(pair)
    assert replace(lemma, claimed=lemma.claimed / 2).refuted_by(pair)


def test_what_breaks_an_assumption_refutes_nothing():
    lemma = bounded_mean(bound=0.5, records=2)
    assert lemma.broken(OPPOSITE) == ("bounded records",)
    assert not lemma.refuted_by(OPPOSITE)
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
