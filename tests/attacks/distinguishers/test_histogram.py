"""Counting as an attack: against known answers, on every shape of output, and its refusals."""

import pickle

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.known_answer import KNOWN_ANSWERS
from dpaudit.attacks.distinguishers.histogram import (
    HISTOGRAM,
    Frequencies,
    Indifferent,
    PatternScore,
    fit,
)
from dpaudit.attacks.distinguishers.linear_classifier import fit as fit_linear
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.event import choose_event, event_bound


def certified(answer, fit_attack, trials, seed, alpha=0.05):
    """Return what an attack certifies: it learns, a threshold is set, fresh outputs count."""
    rng, pair = default_rng([seed, trials]), answer.pair

    def draw(count):
        return [answer.mechanism.sample(d, count, rng) for d in (pair.dataset, pair.neighbour)]

    score = fit_attack(answer.mechanism, pair, *draw(trials // 2), rng)
    # Rounded, as in an audit: last bits of a score are not what is tested.
    setting, fresh = ([score(x).round(9) for x in draw(n)] for n in (trials // 2, trials))
    event = choose_event(*setting, answer.delta)
    return event_bound(*fresh, event, answer.delta, alpha).lower


def pattern(trials, seed):
    """Return five bits whose parity is all that tells the datasets apart."""
    rng = default_rng(seed)
    p, q = rng.integers(0, 2, (2, trials, 5))
    p[:, 4] = p[:, :4].sum(axis=1) % 2 ^ (rng.random(trials) < 0.1)
    return p, q


def test_a_parity_is_seen_that_no_linear_score_sees():
    (p, q), fresh = pattern(3000, 0), pattern(3000, 1)
    scores = [attack(None, None, p, q, default_rng(0)) for attack in (fit, fit_linear)]
    counted, linear = (np.mean(s(fresh[0]) > 0) - np.mean(s(fresh[1]) > 0) for s in scores)
    assert counted == pytest.approx(0.4, abs=0.05)
    assert abs(linear) < 0.1


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["svt-5", "noisy-max-2", "truncated-geometric", "randomised-response"]
)
def test_few_outcomes_are_told_about_as_well_as_by_their_law(name):
    answer = KNOWN_ANSWERS[name]
    found = certified(answer, fit, 4000, 0)
    ideal = certified(answer, lambda m, pair, p, q, rng: m.score, 4000, 0)
    assert 0.8 * ideal < found <= answer.event


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["noisy-max-3", "noisy-max-4", "laplace-half-noise"])
def test_bins_of_one_number_certify_as_much_as_its_law(name):
    answer = KNOWN_ANSWERS[name]
    found = certified(answer, fit, 8000, 0)
    ideal = certified(answer, lambda m, pair, p, q, rng: m.score, 8000, 0)
    assert 0.75 * ideal < found <= answer.event


CORRECT = [name for name, answer in KNOWN_ANSWERS.items() if not answer.broken]


QUICK = ("laplace", "rappor", "truncated-geometric", "svt-2")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CORRECT]
)
def test_no_correct_mechanism_is_accused(name):
    answer = KNOWN_ANSWERS[name]
    for seed in range(1 if name in QUICK else 3):
        assert certified(answer, fit, 1000, seed, alpha=1e-6) <= answer.true


def test_equal_laws_certify_nothing():
    rng = default_rng(0)
    for draw in (lambda n: rng.integers(0, 5, n), rng.standard_normal):
        score = fit(None, None, draw(500), draw(500), rng)
        event = choose_event(score(draw(500)), score(draw(500)), 0.0)
        assert event_bound(score(draw(500)), score(draw(500)), event, 0.0, 1e-6).lower == 0


def test_unseen_outcomes_score_nothing_and_last_bits_do_not_matter():
    p, q = np.repeat([[0.1 + 0.2, 1.0], [0.0, 1.0]], [6, 4], axis=0), np.tile([0.0, 1.0], (10, 1))
    score = fit(None, None, p, q, default_rng(0))
    assert score(np.array([[7.0, 7.0]]))[0] == 0
    values = score(np.array([[0.3, 1.0], [0.1 + 0.2, 1.0], [-0.0, 1.0], [0.0, 1.0]]))
    assert values[0] == values[1] > 0 > values[3]
    assert values[2] == 0  # -0 was not seen, and is not 0


@pytest.mark.parametrize(
    ("draw", "kind"),
    [
        (lambda rng, n: rng.integers(0, 9, n), Frequencies),
        (lambda rng, n: rng.random((n, 3)) < 0.5, Frequencies),
        (lambda rng, n: rng.standard_normal(n), PatternScore),
        (lambda rng, n: rng.standard_normal((n, 1)), PatternScore),
        (lambda rng, n: rng.standard_normal((n, 2, 3, 2)), PatternScore),
        (lambda rng, n: rng.standard_normal((n, 501)), Indifferent),
    ],
)
def test_every_shape_has_a_score_that_pickles(draw, kind):
    rng = default_rng(1)
    p, q, fresh = draw(rng, 200), draw(rng, 200), draw(rng, 50)
    score = fit(None, None, p, q, rng)
    assert isinstance(score, kind)
    assert score(fresh).shape == (50,)
    assert np.isfinite(score(fresh)).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(score))(fresh), score(fresh))
    np.testing.assert_array_equal(fit(None, None, p, q, default_rng(9))(fresh), score(fresh))


@pytest.mark.slow
def test_differences_are_added_where_they_tell_and_entries_where_they_do():
    """Sums of independent numbers are told by their differences, independent numbers as such."""
    rng = default_rng(2)
    p, q = rng.laplace(0, 3, (20_000, 6)), rng.laplace(1, 3, (20_000, 6))
    assert not fit(None, None, p, q, rng).differences
    assert fit(None, None, p.cumsum(axis=1), q.cumsum(axis=1), rng).differences


def test_the_sum_is_the_exact_loss_up_to_what_was_counted():
    rng = default_rng(3)
    p, q = rng.laplace(0, 3, (100_000, 4)), rng.laplace(1, 3, (100_000, 4))
    score = fit(None, None, p, q, rng)
    exact = (np.abs(p - 1) - np.abs(p)).sum(axis=1) / 3
    assert np.corrcoef(score(p), exact)[0, 1] > 0.98


def test_a_number_is_judged_by_the_pattern_beside_it():
    """Which way a number moves depends on a bit: neither of them tells anything alone."""
    rng = default_rng(4)

    def draw(side, count):
        bit = rng.integers(0, 2, count)
        return np.stack([bit, rng.normal(side * (2 * bit - 1), 1.0)], axis=1)

    score = fit(None, None, draw(1, 10_000), draw(-1, 10_000), rng)
    assert isinstance(score, PatternScore)
    assert score.shown == (0,)
    assert np.mean(score(draw(1, 4000)) > 0) > 0.8 > 0.2 > np.mean(score(draw(-1, 4000)) > 0)
    assert score(np.array([[7.0, 0.0]]))[0] == 0  # a pattern that was never seen


@pytest.mark.slow
def test_more_patterns_than_can_be_counted_are_added_up_too():
    answer = KNOWN_ANSWERS["rappor-one-time"]
    found = certified(answer, fit, 20_000, 0)
    ideal = certified(answer, lambda m, pair, p, q, rng: m.score, 20_000, 0)
    assert 0.8 * ideal < found <= answer.event


@pytest.mark.slow
def test_numeric_sparse_vectors_are_found_out():
    answer = KNOWN_ANSWERS["svt-3"]
    assert answer.claimed < certified(answer, fit, 60_000, 0, alpha=0.05) <= answer.event


@pytest.mark.parametrize("bad", [np.array([np.nan, 1.0]), np.array([np.inf, 1.0]), np.array([])])
def test_what_cannot_be_counted_is_refused(bad):
    with pytest.raises(InvalidArgument, match=r"^on_neighbour: "):
        fit(None, None, np.ones(2), bad, default_rng(0))


def test_the_card_loads_this_code():
    assert HISTOGRAM.load() is not None
    assert not HISTOGRAM.needs_law


@pytest.mark.slow
def test_entries_of_one_law_are_counted_together():
    """Thirty entries that each tell next to nothing: their one law is known thirty times better."""
    rng = default_rng(4)
    p, q = (rng.laplace(answer, 60, (20_000, 30)) for answer in (0.0, 1.0))
    score = fit(None, None, p, q, rng)
    assert len(set(map(id, score.tables[0]))) == 1
    fresh = rng.laplace(0, 60, (20_000, 30))
    exact = (np.abs(fresh - 1) - np.abs(fresh)).sum(axis=1) / 60
    assert np.corrcoef(score(fresh), exact)[0, 1] > 0.9


def test_entries_of_different_laws_are_counted_apart():
    rng = default_rng(5)
    centres = np.array([0.0, 40.0, -40.0])
    p, q = (rng.laplace(centres + shift, 3, (20_000, 3)) for shift in (0.0, 1.0))
    assert len(set(map(id, fit(None, None, p, q, rng).tables[0]))) == 3
