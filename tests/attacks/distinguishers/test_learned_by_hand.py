"""What the learned attack decides between candidates, number by number."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression

from dpaudit.attacks.distinguishers import histogram
from dpaudit.attacks.distinguishers.histogram import _best_kind
from dpaudit.attacks.distinguishers.learned.classifiers import (
    _estimate_log_ratio_promise,
    _make_lasso_factory,
    _make_logistic_factory,
    _measure_score_merit,
    _sample_balanced_rows,
    _wilson,
    compute_decision_scores,
)
from dpaudit.attacks.distinguishers.learned.features import Scaling


@pytest.mark.parametrize("strength", [0.01, 1.0, 30.0])
def test_a_classifier_is_as_strict_as_its_name_says(strength):
    assert _make_logistic_factory(strength)(0).C == strength
    assert _make_lasso_factory(strength)(0).alpha == strength


def test_decisions_are_log_odds_or_what_a_line_says():
    features, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    fitted = LogisticRegression().fit(features, labels)
    linear = fitted.intercept_[0] + fitted.coef_[0, 0] * features[:, 0]
    np.testing.assert_allclose(compute_decision_scores(fitted, features), linear)
    chances = np.array([[0.25, 0.75], [1.0, 0.0]])
    trees = SimpleNamespace(predict_proba=lambda _: chances)
    expected = [math.log(3.0), math.log(1e-12)]
    np.testing.assert_allclose(compute_decision_scores(trees, features), expected)
    line = Lasso(alpha=1e-9).fit(features, 2.0 * features[:, 0])
    np.testing.assert_allclose(
        compute_decision_scores(line, features), 2.0 * features[:, 0], atol=1e-6
    )
    both = SimpleNamespace(decision_function=lambda _: [7.0], predict_proba=lambda _: chances)
    assert compute_decision_scores(both, features).tolist() == [7.0]


def test_ties_go_to_the_scores_of_which_label_1_has_the_higher():
    """Of pairs of one score of each label: those won, counted twice, and ties, once."""
    labels = np.array([1, 1, 1, 0, 0])
    scores = np.array([3.0, 1.0, 5.0, 1.0, 4.0])
    won = sum(p > q for p in (3, 1, 5) for q in (1, 4))
    tied = sum(p == q for p in (3, 1, 5) for q in (1, 4))
    assert _measure_score_merit(scores, labels)[1] == pytest.approx((2 * won + tied) / 3)
    assert _measure_score_merit(-scores, labels)[1] == pytest.approx(
        (2 * (6 - won - tied) + tied) / 3
    )


def test_scores_promise_the_ratio_of_rates_on_either_side():
    many = np.repeat([0.0, 1.0], [100, 900]), np.repeat([0.0, 1.0], [900, 100])
    low, high = _wilson(np.array([0.9]), 1000, -2.0)[0], _wilson(np.array([0.1]), 1000, 2.0)[0]
    square = 4 / 1000
    for rate, end, sign in ((0.9, low, -1), (0.1, high, 1)):
        root = math.sqrt(rate * (1 - rate) * square + square**2 / 4)
        assert end == pytest.approx((rate + square / 2 + sign * root) / (1 + square))
    # A score that is rare on the neighbour promises as much as one that is rare on the dataset.
    labels, rare, half = np.repeat([1, 0], 1000), np.arange(1000) < 10, np.arange(1000) < 500
    found = [
        _measure_score_merit(np.concatenate(one) * 1.0, labels)[0]
        for one in ((half, rare), (~rare, ~half))
    ]
    assert found[0] == pytest.approx(found[1])
    assert math.log(10) < found[0] < math.log(50)
    assert _measure_score_merit(np.concatenate([rare, half]) * 1.0, labels)[0] == 0.0
    assert 0 < _estimate_log_ratio_promise(*many) <= math.log(9)
    assert _estimate_log_ratio_promise(many[0], many[0]) == 0.0


def test_so_many_of_either_label_are_taken_and_those_of_label_1_first():
    labels = np.array([0] * 50 + [1] * 30)
    taken = _sample_balanced_rows(labels, 20, np.random.default_rng(0))
    assert labels[taken].tolist() == [1] * 20 + [0] * 20
    assert len(set(taken.tolist())) == 40
    assert len(_sample_balanced_rows(labels, 99, np.random.default_rng(0))) == 80


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_a_spread_of_last_bits_is_none_at_any_scale(scale):
    noise = np.array([1.0, 1 + 1e-14, 1 - 1e-14, 1.0, 1.0])
    values = np.column_stack([np.arange(5.0), noise]) * scale
    found = Scaling.of(values)
    np.testing.assert_allclose(found.centre, [2.0 * scale, scale])
    np.testing.assert_allclose(found.spread, [2.0 * scale, scale])


def of_one_law(differences, count=4000):
    """Return samples of few columns, each of other shape or not, whose differences tell or not."""
    rng = np.random.default_rng(3)
    p, q = rng.laplace(size=(2, count, 3))
    p[:, :] += 0.4
    return (np.cumsum(p, axis=1), np.cumsum(q, axis=1)) if differences else (p, q)


@pytest.mark.parametrize("differences", [False, True])
def test_entries_of_one_law_are_counted_together_where_that_predicts_best(differences):
    kind = _best_kind(*of_one_law(differences))
    assert (kind.differences, kind.one_law) == (differences, True)


def test_one_number_or_one_output_has_the_first_kind():
    first = histogram._Kind(False, False)
    assert _best_kind(np.zeros((9, 1)), np.ones((9, 1))) == first
    assert _best_kind(np.zeros((1, 3)), np.ones((9, 3))) == first
