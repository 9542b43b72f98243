"""What comes back as a cache gives it, and what laws on few values have of their own."""

import numpy as np
import pytest

from dpaudit.auditing.service.answer_checks import format_repetition_cure
from dpaudit.auditing.service.nonce_check import of_one_law
from dpaudit.auditing.specification.service_settings import headers_of, refuse_without_url
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.repetition import find_repetition
from dpaudit.extension.setting_table import OwnSettings
from dpaudit.services import Service

RNG = np.random.default_rng


def noisy(n, scale, seed=0):
    """Return answers on two datasets whose counts differ by one."""
    return np.array([[42.0], [41.0]]) + RNG(seed).laplace(scale=scale, size=(2, n))


@pytest.mark.parametrize("digits", [None, 2, 0])
@pytest.mark.parametrize("scale", [0.2, 0.4, 0.7, 1, 3, 30, 2000])
@pytest.mark.parametrize("n", [100, 2000])
def test_answers_that_are_drawn_anew_do_not_come_back(n, scale, digits):
    found = [noisy(n, scale, seed) for seed in range(8)]
    rounded = found if digits is None else [np.round(one, digits) for one in found]
    assert sum(find_repetition(one).pattern is not None for one in rounded) <= 1


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9, 0.98])
@pytest.mark.parametrize("digits", [None, 2])
def test_a_cache_is_seen_whatever_share_it_answers(share, digits):
    for seed in range(3):
        both = noisy(2000, 1.0, seed)
        both = both if digits is None else np.round(both, digits)
        kept = np.where(RNG(seed + 99).random((2, 2000)) < share, both[:, :1], both)
        assert find_repetition(kept).pattern is not None


@pytest.mark.parametrize("kept", [20, 60, 120, 300])
@pytest.mark.parametrize("n", [100, 400, 2000])
def test_caches_that_keep_many_values_each_are_a_pool(kept, n):
    for seed in range(3):
        values, rng = noisy(kept, 1.0, seed), RNG(seed + 99)
        pools = np.stack([rng.choice(side, n) for side in values])
        found = find_repetition(pools).pattern
        assert found is not None or (n, kept) == (100, 300)


@pytest.mark.parametrize("law", ["few on both", "whole numbers", "far apart", "singles"])
def test_values_that_their_law_repeats_are_no_pool(law):
    """Twenty prices, integers beside one another or far apart, and numbers of 32 bits."""
    alarms = 0
    for seed in range(40):
        rng = RNG(seed)
        prices = rng.lognormal(size=20)
        both = {
            "few on both": np.stack([rng.choice(prices, 300) for _ in range(2)]),
            "whole numbers": np.array([[0.0], [1.0]]) + rng.geometric(0.05, size=(2, 300)),
            "far apart": np.array([[0.0], [1000.0]]) + rng.geometric(0.05, size=(2, 300)),
            "singles": rng.laplace(size=(2, 300)).astype(np.float32).astype(float),
        }[law]
        alarms += find_repetition(both).pattern is not None
    assert alarms <= 1


def test_one_answer_and_few_answers_have_names():
    assert find_repetition([np.full(50, 3.1), np.full(50, 2.9)]).pattern == "same"
    assert find_repetition([np.full(50, 3.0), np.full(50, 3.0)]).pattern == "same"
    few = RNG(0).choice([1.1, 2.2], 50), RNG(1).choice([3.3, 4.4], 50)
    assert find_repetition(few).pattern == "few"
    coins = RNG(0).random((2, 500)) < [[0.75], [0.25]]
    assert find_repetition(coins.astype(float)).pattern is None


def test_each_part_of_an_answer_is_looked_at():
    times = RNG(0).random((2, 300))
    kept = np.repeat([[42.3], [41.2]], 300, axis=1)
    assert find_repetition(np.stack([times, kept], axis=2)).pattern == "same"
    assert find_repetition(np.stack([times, kept * 0], axis=2)).pattern is None


def test_one_law_is_one_law_and_another_is_another():
    same = [of_one_law(*noisy(256, 1.0, seed).round() - [[42], [41]]) for seed in range(20)]
    assert min(same) > 1e-4
    kept = np.where(RNG(5).random(256) < 0.4, 45.0, noisy(256, 1.0)[0].round())
    assert of_one_law(noisy(256, 1.0, 3)[0].round(), kept) < 1e-6


def test_a_cure_names_places_that_the_request_has():
    assert "body:nonce" in format_repetition_cure(Service("http://host/", body={"a": 1}))
    assert "body:nonce" not in format_repetition_cure(Service("http://host/"))
    assert "not part of the key" in format_repetition_cure(Service("http://host/", fresh="query:n"))


def test_settings_of_a_service_need_one():
    with pytest.raises(InvalidArgument, match=r"^rate: got 5\.0"):
        refuse_without_url(OwnSettings(rate=5.0))
    with pytest.raises(InvalidArgument, match=r"^header: "):
        headers_of(["X-Tenant blue"])
