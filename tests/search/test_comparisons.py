"""How well comparisons of noisy values tell two datasets apart, by their exact probabilities."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import laplace, norm

import dpaudit
from dpaudit.freezing import primitives, recorder
from dpaudit.freezing.outputs import flatten_output
from dpaudit.freezing.patching import patch_primitives
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.search.comparisons import (
    ComparisonAnswer,
    ComparisonLog,
    End,
    NoiseEntry,
    answers_of,
    certifiable_loss,
    comparison_size,
)
from dpaudit.search.showing import intercept_primitives
from tests.search.selections import BROKEN, REPAIRED

HERE = Isolation(in_process=True)


def law_of_answers(centres, limit_scale, scale, law=laplace):
    """Return the probability of every series of answers, by a fine sum over the limit's noise."""
    limits = laplace.ppf((np.arange(4000) + 0.5) / 4000) * limit_scale
    over = law.sf((limits[:, None] - centres) / scale) if scale else centres >= limits[:, None]
    found = []
    for answers in itertools.product((True, False), repeat=len(centres)):
        found.append(np.where(answers, over, 1 - over).prod(axis=1).mean())
    return np.array(found)


def by_all_sets(one, other, outputs=2_000):
    """Return the largest loss of answers in the order of their ratios, less two errors."""
    found = 0.0
    for p, q in ((one, other), (other, one)):
        order = np.argsort(p / np.maximum(q, 1e-300))[::-1]
        high, low = (np.clip(np.cumsum(side[order])[:-1], 1 / outputs, 1) for side in (p, q))
        errors = np.sqrt(((1 - high) / high + (1 - low) / low) / outputs)
        found = max(found, float((np.log(high / low) - 2 * errors).max()))
    return found


def answers(centres, limit_scale, scale, is_normal=False):
    limit = NoiseEntry(0, 0, False)
    own = ({NoiseEntry(n + 1, 0, is_normal): scale} if scale else {} for n in range(len(centres)))
    return [
        ComparisonAnswer(centre, {limit: -limit_scale, **held})
        for centre, held in zip(centres, own, strict=True)
    ]


@pytest.mark.parametrize(
    ("here", "there"),
    [([0.5, -0.5], [-0.5, 0.5]), ([1, 0, 1, 0], [0, 1, 0, 1]), ([0, 0, 0], [1, 1, 1])],
    ids=["two", "four", "all up"],
)
@pytest.mark.parametrize(("limit_scale", "scale"), [(2.0, 2.0), (2.0, 0.5), (1.0, 0.0)])
def test_the_loss_is_that_of_the_exact_law(here, there, limit_scale, scale):
    exact = [law_of_answers(np.array(one), limit_scale, scale) for one in (here, there)]
    best = by_all_sets(*exact)
    found = certifiable_loss(*(answers(one, limit_scale, scale) for one in (here, there)))
    assert found == pytest.approx(best, abs=0.12 + 0.12 * best)


def test_normal_noise_is_told_from_laplaces():
    exact = [law_of_answers(np.array(one), 1.0, 1.0, norm) for one in ([2.0, -2.0], [-2.0, 2.0])]
    sides = [answers(one, 1.0, 1.0, is_normal=True) for one in ([2.0, -2.0], [-2.0, 2.0])]
    best = by_all_sets(*exact)
    assert certifiable_loss(*sides) == pytest.approx(best, abs=0.12 + 0.12 * best)


def runs_of(function, *datasets):
    with patch_primitives(function, function):
        return [
            recorder.call_recorded(function, one, 1, primitives.generator()) for one in datasets
        ]


def size_of(function, one, other):
    runs = runs_of(function, np.array(one), np.array(other))
    return comparison_size(runs[0], flatten_output(runs[0].value, runs[0].error), runs[1])


FORMS = {
    "limit second": lambda x, limit, noise: [bool(v + noise[n] > limit) for n, v in enumerate(x)],
    "limit first": lambda x, limit, noise: [bool(limit < v + noise[n]) for n, v in enumerate(x)],
    "not below": lambda x, limit, noise: [bool(v + noise[n] >= limit) for n, v in enumerate(x)],
    "array": lambda x, limit, noise: x + noise >= limit,
    "array last": lambda x, limit, noise: limit <= x + noise,
    "difference": lambda x, limit, noise: (x + noise) - 1.0 > limit - 1.0,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_what_is_compared_is_seen_in_every_form(form):
    def release(x, rng):
        return form(x, 3.0 + rng.laplace(scale=2.0), rng.laplace(scale=4.0, size=len(x)))

    (run,) = runs_of(release, np.array([1.0, 5.0]))
    found = sorted(answers_of(run), key=lambda one: abs(one.centre))
    frozen = form(np.array([1.0, 5.0]), 3.0, np.zeros(2))
    assert list(frozen) == [False, True]
    assert len(found) == 2
    assert all(2.0 in map(abs, one.weights.values()) for one in found)
    size, moved = size_of(release, [1.0, 5.0], [2.0, 4.0])
    # Of an entry of an array nobody knows the noise: then the unit is that of the limit.
    assert round(moved, 9) == (0.5 if isinstance(run.value, list) else 0.25)
    assert size > size_of(release, [1.0, 5.0], [1.0, 5.0])[0]


def test_a_comparison_gives_what_plain_numbers_give():
    def release(x, rng):
        noisy, plain = rng.laplace(), x[0]
        return [noisy < plain, noisy <= plain, plain < noisy, noisy > np.float64(plain)]

    below, least, above, more = runs_of(release, np.array([100.0]))[0].value
    assert (below, least, above, more) == (True, True, False, False)
    assert all(isinstance(one, bool | np.bool_) for one in (below, least, above, more))
    (run,) = runs_of(lambda x, rng: rng.laplace() < "text", np.zeros(1))
    assert (run.error, run.calls[0].comparisons) == ("TypeError", [])


def test_one_that_rises_and_one_that_falls_tell_more_than_two_that_rise():
    def release(x, rng):
        limit = rng.laplace(scale=2.0)
        return [bool(one >= limit) for one in x.tolist()]

    apart, together = (size_of(release, [0.0, 1.0], one) for one in ([1.0, 0.0], [1.0, 2.0]))
    assert apart[1] == together[1] == 0.5
    assert apart[0] > 4
    assert together[0] < 0.6
    assert size_of(release, [0.0, 1.0], [0.0, 1.0]) == (0.0, 0.0)


def stopped(x, rng, limit_scale=2.0):
    limit, found = rng.laplace(scale=limit_scale), []
    for one in x.tolist():
        found.append(bool(one >= limit))
        if found[-1]:
            break
    return found


def test_an_end_is_seen_of_runs_and_what_comes_after_it_tells_nothing():
    seen = ComparisonLog()
    for run in runs_of(stopped, np.full(4, -99.0), np.array([-99.0, 99.0, -99.0, -99.0])):
        seen.note(run)
    assert (seen.longest, seen.end, seen.is_certain) == (4, End(False, 1), True)
    falls, rises = ([2.0, 0.0], [1.0, 1.0]), ([0.0, 2.0], [1.0, 1.0])
    limit = NoiseEntry(0, 0, False)
    for (one, other), least, most in ((falls, 0.2, 1.0), (rises, 4.0, 7.0)):
        sides = [
            [ComparisonAnswer(-centre, {limit: 2.0}) for centre in side] for side in (one, other)
        ]
        assert least < certifiable_loss(*sides, End(False, 1)) < most
        assert certifiable_loss(*sides) > 4.0


def test_code_that_goes_on_after_such_an_answer_has_no_end():
    def release(x, rng):
        limit = rng.laplace()
        return [bool(one >= limit) for one in x.tolist()]

    seen = ComparisonLog()
    for x in ([-99.0] * 4, [-99.0, 99.0], [99.0, -99.0, -99.0]):
        seen.note(*runs_of(release, np.array(x)))
    assert not seen.is_certain


def test_a_number_of_numpy_keeps_its_noise():
    def above(x, rng):
        limit = 0.5 + rng.laplace(scale=2.0)
        return [one + rng.laplace(scale=4.0) >= limit for one in x]

    (run,) = runs_of(above, np.array([0.0, 1.0]))
    found = answers_of(run)
    assert [one.centre for one in found] == [-0.5, 0.5]
    assert [sorted(one.weights.values()) for one in found] == [[-2.0, 4.0]] * 2


def test_pairs_are_compared_with_noise_before_which_code_does_not_stop():
    def first_above(x, rng):
        limit = rng.laplace(scale=2.0)
        return next((k for k, one in enumerate(x) if one + rng.laplace(scale=2.0) > limit), None)

    x = np.zeros(6)
    with intercept_primitives(first_above, first_above, 100) as shows:
        before = len(answers_of(shows.run(x)))
        shows.look_for_invariants(x, 0.1)
        assert len(answers_of(shows.run(x))) > before


def test_an_answer_that_shows_its_noise_counts_by_its_comparisons():
    def gap(x, rng):
        limit = rng.laplace(scale=2.0)
        noisy = [one + rng.laplace(scale=2.0) for one in x]
        return [one - limit if one > limit else 0.0 for one in noisy]

    rising, falling = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    assert size_of(gap, rising, falling)[0] > 2 * size_of(gap, rising, rising + 1)[0]


def test_noise_on_both_sides_of_a_comparison_cancels():
    def release(x, rng):
        noise = rng.laplace()
        return [bool(one + noise >= 0.5 + noise) for one in x.tolist()]

    (run,) = runs_of(release, np.array([1.0]))
    assert list(answers_of(run)[0].weights.values()) == [0.0]


def test_an_output_that_holds_a_noisy_number_is_no_series_of_answers():
    def release(x, rng):
        noisy = float(x[0]) + rng.laplace()
        return noisy > 0, noisy

    assert size_of(release, [0.0], [1.0]) is None


def audited(function, domain, **given):
    sound = {"domain": domain, "relation": "replace-record", "epsilon": 1.0, "isolation": HERE}
    return dpaudit.audit(function, **{**sound, **given})


@pytest.mark.slow
@pytest.mark.parametrize("function", BROKEN, ids=lambda function: function.__name__)
def test_broken_selections_fall_with_nearly_every_seed(function):
    found = [audited(function, BROKEN[function], seed=seed).verdict for seed in range(10)]
    assert found.count("refuted") >= 9


@pytest.mark.slow
@pytest.mark.parametrize("function", REPAIRED, ids=lambda function: function.__name__)
def test_repaired_selections_stand_with_every_seed(function):
    given = {"confidence": 0.999999, "trials": 3000}
    found = [audited(function, REPAIRED[function], seed=seed, **given) for seed in range(20)]
    assert {one.verdict for one in found} == {"not refuted"}
    assert math.isclose(found[0].claimed.epsilon, 1.0)
