"""Audits of claims in other currencies than epsilon: whole curves, mu, rho, Renyi divergences."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

import dpaudit
from dpaudit import GaussianDP, PrivacyProfile, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.auditing.outcome.claim_point import choose_claim_delta
from dpaudit.auditing.outcome.claims import resolve_guarantee
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.event import bound_of_counts, choose_event, event_bound
from dpaudit.estimation.score_events import Tally
from dpaudit.guarantees.currency import currency_of
from dpaudit.mechanisms.foreign.isolation import Isolation

ONE, OTHER = np.array([0.0, 1.0]), np.array([1.0, 1.0])
EXACT = GaussianDP(1.0)
ALPHA = 0.05


def gaussian(dataset, trials, rng):
    return dataset.sum() + rng.normal(size=trials)


def once_a_call(dataset, trials, rng):
    return np.full(trials, dataset.sum() + rng.normal())


def audited(claim, mechanism=gaussian, **asked):
    given = {
        "trials": 10_000,
        "relation": "replace-record",
        "isolation": Isolation(in_process=True),
    }
    return dpaudit.audit(mechanism, ONE, OTHER, claim=claim, **{**given, **asked})


@pytest.mark.parametrize(
    ("claim", "truth", "least"),
    [
        (GaussianDP(1.0), 1.0, 0.93),
        (ZeroConcentratedDP(0.5), 0.5, 0.85),
        (RenyiDP(2.0, 1.0), 1.0, 0.75),
    ],
    ids=str,
)
def test_a_true_claim_is_measured_in_its_own_number(claim, truth, least):
    result = audited(claim)
    assert result.verdict == "not refuted"
    assert least * truth < result.lower < truth
    assert result.claimed.value == truth
    assert result.claimed.epsilon is None
    assert math.isclose(result.alpha, 0.05)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (GaussianDP(0.8), "exceeds the claimed mu 0.8."),
        (ZeroConcentratedDP(0.25), "exceeds the claimed rho 0.25."),
        (RenyiDP(2.0, 0.4), "exceeds 0.4, the claimed Renyi divergence of order 2."),
    ],
    ids=str,
)
def test_a_claim_of_too_little_is_refuted(claim, said):
    result = audited(claim, isolation=None, trials=4000)
    assert result.verdict == "refuted"
    assert said in result.reason


def test_a_curve_is_audited_at_a_delta_that_the_certifying_outputs_did_not_choose():
    result = audited(PrivacyProfile(EXACT.delta))
    delta = result.claimed.delta
    assert result.verdict == "not refuted"
    assert math.isclose(result.claimed.epsilon, EXACT.epsilon(delta), rel_tol=1e-8)
    assert 0.8 * result.claimed.epsilon < result.lower < result.claimed.epsilon
    assert any("chosen on outputs that certify nothing" in note for note in result.notes)


@pytest.mark.slow
@pytest.mark.parametrize("where", [0.3, 1.0, 1.6])
def test_a_curve_that_is_understated_at_one_point_is_refuted(where):
    epsilons = [where, *np.linspace(0.0, 5.0, 26)]
    shares = [0.8] + 26 * [1.0]
    points = [(e, share * EXACT.delta(e)) for e, share in zip(epsilons, shares, strict=True)]
    assert audited(PrivacyProfile.of_points(points[1:]), trials=100_000).verdict == "not refuted"
    assert audited(PrivacyProfile.of_points(points), trials=100_000).verdict == "refuted"


@pytest.mark.parametrize("claim", [GaussianDP(1.0), ZeroConcentratedDP(0.5)], ids=str)
def test_noise_that_is_drawn_once_a_call_refutes_nothing(claim):
    result = audited(claim, once_a_call, trials=1000)
    assert result.verdict == "withheld"
    assert result.lower == 0


@pytest.mark.parametrize(
    ("pilots", "audits"), [(2, 8), pytest.param(50, 200, marks=pytest.mark.slow)]
)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("claim", [EXACT, PrivacyProfile(EXACT.delta)], ids=["mu", "curve"])
def test_a_bound_at_a_point_that_was_chosen_is_rarely_above_the_truth(claim, pilots, audits):
    currency, wrong = currency_of(claim), 0
    for seed in range(pilots):
        rng = np.random.default_rng(seed)
        on_p, on_q = rng.normal(1, 1, 500), rng.normal(0, 1, 500)
        delta = choose_claim_delta(on_p[None], on_q[None], currency)
        event = choose_event(on_p, on_q, delta)
        sign = 1 if event.above else -1
        rates = [norm.cdf(sign * (mean - event.threshold)) for mean in (1, 0)]
        counts = rng.binomial(1000, rates, (audits, 2)).tolist()
        for on_one, on_other in counts:
            bound = bound_of_counts(Tally((on_one, on_other), (1000, 1000)), event, delta, ALPHA)
            wrong += currency.value(bound.lower, delta) > currency.claimed(delta) * (1 + 1e-9)
    assert wrong <= binom.isf(1e-6, pilots * audits, ALPHA)


@pytest.mark.parametrize("alpha", [1e-6, pytest.param(0.05, marks=pytest.mark.slow)])
def test_a_point_is_chosen_where_a_bound_is_there_for_certain(alpha):
    # Next to the total variation distance the most promising point holds for lucky seeds alone.
    trials, currency, found = 10_000, currency_of(GaussianDP(0.3)), []
    for seed in range(12 if alpha < ALPHA else 4):
        rng = np.random.default_rng(seed)
        on_p, on_q = rng.laplace(1, 0.5, trials // 2), rng.laplace(0, 0.5, trials // 2)
        fresh = rng.laplace(1, 0.5, trials), rng.laplace(0, 0.5, trials)
        delta = choose_claim_delta(on_p[None], on_q[None], currency, (trials, alpha))
        event = choose_event(on_p, on_q, delta)
        lower = event_bound(*fresh, event, delta, alpha).lower
        found.append(currency.value(lower, delta))
    assert 0.9 * 1.8 < min(found)
    assert max(found) < 1.8


def test_a_point_that_the_certifying_counts_choose_is_caught():
    # On laws that are the same: the largest of many bounds is above 0 far too often.
    wrong = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        on_p, on_q = rng.normal(size=(2, 300))
        events = [(delta, choose_event(on_p, on_q, delta)) for delta in (0.0, 0.02, 0.06, 0.1)]
        wrong += any(event_bound(on_p, on_q, e, d, ALPHA).lower > 0 for d, e in events)
    assert wrong > binom.isf(1e-3, 16, ALPHA)


def leaking(dataset, trials, rng):
    return np.full(trials, dataset.sum())


POINTS = PrivacyProfile.of_points([(1.0, 0.08), (2.0, 0.01)])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("claim", "least"),
    [
        (GaussianDP(1.0), 4.5),
        (ZeroConcentratedDP(0.5), 4.4),
        (RenyiDP(1.05, 0.1), 4.5),
        (RenyiDP(16.0, 0.1), 3.6),
        (RenyiDP(32.0, 0.1), 3.6),
        (POINTS, 5.5),
    ],
    ids=str,
)
def test_an_output_that_is_the_data_is_refuted_by_far(claim, least):
    result = audited(claim, leaking, trials=1000, isolation=None)
    assert result.verdict == "refuted", result.reason
    assert result.lower > least
    assert result.witness.refutes
    assert "never occurred on the " in result.reason
    most = result.witness.ceiling
    assert most is None if claim_of_orders(claim) else most >= result.lower - 1e-9
    assert ("can certify is a mu of" in result.reason) == isinstance(claim, GaussianDP)


def claim_of_orders(claim):
    return isinstance(claim, ZeroConcentratedDP | RenyiDP)


@pytest.mark.parametrize("claim", [GaussianDP(1.0), ZeroConcentratedDP(0.5), RenyiDP(4.0, 1.0)])
def test_extreme_epsilons_have_a_value(claim):
    currency = currency_of(claim)
    assert currency.value(1.0, 0.0) == 0.0
    values = [currency.value(epsilon, 0.5) for epsilon in (1.0, 10.0, 800.0, math.inf)]
    assert values == sorted(values)
    assert math.isfinite(values[-1])


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ({"kind": "gaussian", "noise_scale": 2.0}, "the code is not that release"),
        ({"kind": "gaussian", "noise_scale": 0.5}, "the claim may be miscalculated"),
        ({"kind": "gaussian", "noise_scale": 1.0}, None),
    ],
)
def test_a_declared_release_is_compared_and_decides_nothing(release, said):
    result = audited(GaussianDP(1.0), release=release)
    assert result.verdict == "not refuted"
    assert result.proved.declared
    assert math.isclose(result.proved.value, 1 / release["noise_scale"])
    assert ("release as declared" in result.reason) == (said is not None)
    assert said is None or said in result.reason


def test_several_looks_certify_in_the_number_of_the_claim():
    curve = PrivacyProfile(GaussianDP(0.5).delta)
    result = audited(curve, looks=[(500, 0.1), (4000, 0.8)], isolation=None)
    assert result.verdict == "refuted"
    assert result.claimed.epsilon < result.lower < EXACT.epsilon(result.claimed.delta)


def test_a_pure_guarantee_is_the_same_as_its_epsilon():
    as_claim = audited(PureDP(3.0), trials=500)
    as_epsilon = audited(None, trials=500, epsilon=3.0)
    assert as_claim.measured == as_epsilon.measured
    assert as_claim.claimed == as_epsilon.claimed


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"claim": GaussianDP(1.0), "epsilon": 1.0}, "epsilon"),
        ({"claim": GaussianDP(1.0), "delta": 1e-5}, "delta"),
        ({"claim": None}, "epsilon"),
        ({"claim": 1.0}, "claim"),
        ({"claim": PrivacyProfile(lambda e: 1.0)}, "claim"),
        ({"claim": GaussianDP(1.0), "release": {"noise_scale": 1.0}}, "release"),
        ({"claim": GaussianDP(1.0), "release": []}, "release"),
    ],
)
def test_what_is_no_claim_or_no_release_is_named(asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audited(asked.pop("claim"), **asked)


@pytest.mark.parametrize(
    ("epsilon", "delta", "name"), [(None, 1e-5, "delta"), (1.0, 0.0, "epsilon")]
)
def test_a_claim_stands_alone_and_nothing_beside_it_is_dropped(epsilon, delta, name):
    with pytest.raises(InvalidArgument, match=f"{name}: got and a claim"):
        resolve_guarantee(epsilon, delta, GaussianDP(1.0))
    assert resolve_guarantee(None, 0.0, GaussianDP(1.0)) == GaussianDP(1.0)
