"""The words of Definition 3 say more than its inequality; corrected, they follow from it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dpaudit.algorithms.multistep.claims.composition import (
    CompositionSettings,
    compute_composition_conditions,
    gaussian_mu,
)
from dpaudit.algorithms.multistep.claims.definition3 import CLAIM
from dpaudit.algorithms.multistep.claims.ratios import (
    bound_corrected_tail,
    compute_exceeded_probability,
    gaussian_exceeded,
    least_upper_bound,
)
from dpaudit.algorithms.multistep.verify.definition3 import recompute
from dpaudit.errors import DataError, InvalidArgument

CORRECTED = {"version": "corrected", "multiple": 2.0}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("epsilon", "least"), [(0.0, 0.9), (1.0, 0.7), (3.0, 0.9)])
def test_the_search_breaks_it_and_the_certificate_is_verified(
    audited, plain, judged, epsilon, least, seed
):
    found = audited(CLAIM, epsilon=epsilon, seed=seed)
    assert found.result.verdict == "refuted"
    assert least < found.result.measured.lower <= found.result.proved.value
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio > 1e4


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_half_of_the_corrected_bound_is_refuted(audited, plain, judged, seed):
    found = audited(CLAIM, seed=seed, parameters=CORRECTED | {"factor": 0.5})
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert "a corrected probability" in verdict.reservations


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "asked",
    [
        {"delta": 0.0},
        {"delta": 0.0, "epsilon": 0.0},
        {"parameters": CORRECTED},
        {"delta": 0.2, "parameters": CORRECTED},
        {"parameters": {"mechanism": "gaussian"}},
        {"epsilon": 5.0, "parameters": {"mechanism": "gaussian"}},
        {"parameters": {"factor": 73_107.0}},
    ],
    ids=str,
)
def test_what_is_true_is_not_refuted(audited, asked, seed):
    found = audited(CLAIM, seed=seed, **asked)
    assert found.result.verdict == "proved"
    assert found.certificate is None


def test_a_gaussian_mechanism_breaks_it_at_a_large_epsilon(audited, plain, judged):
    found = audited(CLAIM, epsilon=8.0, parameters={"mechanism": "gaussian"})
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio == pytest.approx(found.result.measured.lower / 1e-5)


@given(st.data(), st.integers(2, 6), st.floats(0, 4), st.floats(1, 4))
def test_no_laws_exceed_the_least_upper_bound(data, outcomes, epsilon, multiple):
    whole = st.lists(st.integers(0, 50), min_size=outcomes, max_size=outcomes).filter(any)
    one, other = (np.array(data.draw(whole), dtype=float) for _ in range(2))
    one, other = one / one.sum(), other / other.sum()
    free = CompositionSettings(epsilon=epsilon, delta=0.0, count=1, c0=multiple)
    delta = max(condition.value for condition in compute_composition_conditions(free, one, other))
    if 0 < delta < 1:
        setting = CompositionSettings(epsilon=epsilon, delta=delta, count=1, c0=multiple)
        probability = float(compute_exceeded_probability(setting, one, other))
        assert probability <= least_upper_bound(setting) * (1 + 1e-9)
        assert probability <= bound_corrected_tail(setting) * (1 + 1e-9)


@given(st.floats(0.3, 4), st.just(1.0) | st.floats(1.5, 3), st.floats(1e-6, 0.5))
def test_the_least_upper_bound_is_approached_by_two_outcomes(epsilon, multiple, delta):
    setting = CompositionSettings(epsilon=epsilon, delta=delta, count=1, c0=multiple)
    p = least_upper_bound(setting) * (1 - 1e-6)
    q = p * math.exp(-setting.claimed_epsilon) * (1 - 1e-8)
    one, other = np.array([p, 1 - p]), np.array([q, 1 - q])
    assert all(
        condition.value <= delta * (1 + 1e-9)
        for condition in compute_composition_conditions(setting, one, other)
    )
    assert compute_exceeded_probability(setting, one, other) == p


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_the_gaussian_loss_has_the_law_that_is_used(epsilon):
    setting = CompositionSettings(epsilon=epsilon, delta=1e-5, count=1)
    mu = gaussian_mu(setting)
    edge = epsilon / mu + mu / 2  # the loss at x ~ N(mu, 1) is mu x - mu^2 / 2
    assert gaussian_exceeded(setting) == pytest.approx(norm.sf(edge - mu))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"delta": 1.0}, "delta"),
        ({"delta": 0.0, "parameters": {"mechanism": "gaussian"}}, "mechanism"),
        ({"parameters": {"version": "corrected"}}, "multiple"),
        ({"epsilon": 0.0, "parameters": CORRECTED}, "multiple"),
        ({"data": "adult"}, "data"),
    ],
    ids=str,
)
def test_settings_without_a_meaning_are_refused(audited, asked, named):
    with pytest.raises(InvalidArgument, match=named):
        audited(CLAIM, **asked)


@pytest.mark.parametrize(
    ("value", "path", "named"),
    [
        ("sensitivity", ("kind",), "kind"),
        (1.0, ("parameters", "delta"), "parameters.delta"),
        (0.5, ("parameters", "multiple"), "parameters.multiple"),
        ("corrected", ("parameters", "version"), "parameters.version"),
        ("other", ("parameters", "mechanism"), "parameters.mechanism"),
        ([0.5, 0.4, 0.0, 0.0], ("instance", "one"), "instance.one"),
        ([1.5, -0.5, 0.0, 0.0], ("instance", "other"), "instance.other"),
    ],
)
def test_a_malformed_certificate_names_the_field(
    audited, plain, judged, changed, value, path, named
):
    document = changed(plain(audited(CLAIM).certificate), value, *path)
    with pytest.raises(DataError, match=named):
        judged(document, recompute)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (1e-9, ("parameters", "delta")),
        (0.1, ("parameters", "epsilon")),
        ([0.25, 0.25, 0.25, 0.25], ("instance", "one")),
        (0.9, ("quantities", "probability")),
    ],
)
def test_another_mechanism_is_seen(audited, plain, judged, changed, value, path):
    document = changed(plain(audited(CLAIM).certificate), value, *path)
    assert judged(document, recompute).failures
