"""The rate of (23): whether it meets (22), and whether it falls as penalties grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from dpaudit.algorithms.consensus.claims import equation23, section3
from dpaudit.algorithms.consensus.claims.networks import Family, build_network_space
from dpaudit.algorithms.consensus.claims.rates import grow_penalties
from dpaudit.algorithms.consensus.quadratics import compute_contraction_rate, forms_22
from dpaudit.algorithms.consensus.verify import equation23 as verifier23
from dpaudit.algorithms.consensus.verify import section3 as verifier3
from dpaudit.errors import DataError, InvalidArgument

CARDS = {"23": equation23.CLAIM, "3": section3.CLAIM}
VERIFIERS = {"23": verifier23.recompute, "3": verifier3.recompute}


def networks(seed, nodes, *, shared=True, count=1):
    """Return a batch of instances as a search draws them."""
    family = Family(nodes=nodes, dual_step=0.5, shared=shared)
    drawn = build_network_space(family, lambda batch: np.ones(len(batch["over"])))
    batch, _ = drawn.evaluate(drawn.start(count, np.random.default_rng(seed)))
    return family, batch


def matrices(batch, theta):
    """Return both sides of (22) as matrices, the left one without delta, to 50 digits."""
    adjacency, penalty, curvature = (batch[n][0] for n in ("adjacency", "penalty", "curvature"))
    degree = np.diag(adjacency.sum(axis=1))
    lap, signless = mp.matrix(degree - adjacency), mp.matrix(degree + adjacency)
    weights, mu = mp.diag(list(map(mp.mpf, penalty))), mp.mpf(float(batch["mu"][0]))
    excess = (weights - theta * mp.eye(len(penalty))) * lap
    largest = max(mp.svd_r(excess, compute_uv=False))
    least = sorted(mp.svd_r(lap, compute_uv=False))[1]
    curved = mp.diag([mu * largest**2 + mu**2 * mp.mpf(m) ** 2 for m in curvature])
    left = curved / (theta * least * (mu - 1)) + weights * signless
    return left, 2 * excess + 2 * mp.diag(list(map(mp.mpf, curvature)))


@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans())
def test_the_forms_are_those_of_the_matrices_to_50_digits(seed, nodes, shared):
    family, batch = networks(seed, nodes, shared=shared)
    left, right, size = forms_22(batch, family.dual_step)
    with mp.workdps(50):
        along = mp.matrix(list(map(mp.mpf, batch["start"][0])))
        one, other = matrices(batch, mp.mpf(family.dual_step))
        unit = float(size[0])
        assert left[0] == pytest.approx(float((along.T * one * along)[0]), abs=1e-9 * unit)
        assert right[0] == pytest.approx(float((along.T * other * along)[0]), abs=1e-9 * unit)


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_the_smaller_rate_meets_22_for_one_penalty(seed, nodes):
    """No direction breaks it: right less left has no eigenvalue below 0."""
    family, batch = networks(seed, nodes)
    delta = compute_contraction_rate(batch, family.dual_step, proved=True)[0]
    with mp.workdps(30):
        left, right = matrices(batch, mp.mpf(family.dual_step))
        values = mp.eigsy(right - mp.mpf(delta) * left, eigvals_only=True)
        assert min(values) >= -1e-9 * max(map(abs, values))


@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans())
def test_both_rates_meet_21(seed, nodes, proved):
    family, batch = networks(seed, nodes)
    adjacency, penalty = batch["adjacency"][0], batch["penalty"][0]
    degree, mu = np.diag(adjacency.sum(axis=1)), batch["mu"][0]
    tilde = np.linalg.svd(penalty[:, None] * (degree + adjacency), compute_uv=False)[0]
    least = np.linalg.svd(degree - adjacency, compute_uv=False)[-2]
    delta = compute_contraction_rate(batch, family.dual_step, proved=proved)[0]
    assert delta * mu**2 * tilde <= family.dual_step * least * (1 + 1e-12)


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_the_smaller_rate_falls_for_one_penalty(seed, nodes):
    family, batch = networks(seed, nodes)
    later = {**batch, "penalty": grow_penalties(family, batch)["later"]}
    assert (later["penalty"] >= batch["penalty"]).all()
    after, before = (
        compute_contraction_rate(one, family.dual_step, proved=True)[0] for one in (later, batch)
    )
    assert after <= before * (1 + 1e-12)


def test_two_nodes_whose_rate_grows_tenfold():
    """All singular values are 2 (w - theta), so that (23) is a function of one number."""
    batch = {
        "adjacency": np.array([[[0.0, 1.0], [1.0, 0.0]]]),
        "curvature": np.full((1, 2), 1e-3),
        "mu": np.array([1.5]),
    }

    def delta(w):
        return compute_contraction_rate(
            {**batch, "penalty": np.full((1, 2), w)}, 1.0, proved=False
        )[0]

    def formula(w, m=1e-3, mu=1.5):
        sigma = 2 * (w - 1)
        below = (mu**2 * m**2 + mu * sigma**2) / (2 * (mu - 1)) + 2 * w
        return min(2 / (mu**2 * 2 * w), (2 * m + 2 * sigma) / below)

    assert [delta(w) for w in (1.001, 1.1, 3.0)] == pytest.approx(
        [formula(w) for w in (1.001, 1.1, 3.0)], rel=1e-9
    )
    assert delta(1.1) > 10 * delta(1.001)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("key", CARDS)
@pytest.mark.parametrize("parameters", [{}, {"penalties": "own"}], ids=["shared", "own"])
def test_the_printed_rate_is_refuted_and_verified(audited, plain, judged, key, parameters, seed):
    found = audited(CARDS[key], seed=seed, parameters=parameters)
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), VERIFIERS[key])
    assert verdict.failures == ()
    assert verdict.ratio > 1


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("key", CARDS)
def test_the_smaller_rate_is_proved(audited, key, seed):
    """What is claimed, proved and found are one ratio; 1 + delta alone exceeds what is proved."""
    found = audited(CARDS[key], seed=seed, parameters={"rate": "proved"}).result
    assert found.verdict == "proved"
    assert found.proved.value == found.claimed.value == 1
    assert 0.5 < found.measured.lower <= 1 + 1e-12


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "refuted"), (1.5, "not refuted")])
def test_the_ratio_of_rates_is_what_is_shown(audited, factor, verdict):
    """The verifier, in digits of its own, finds the ratio that the report shows."""
    found = audited(CARDS["3"], parameters={"factor": factor})
    assert found.result.verdict == verdict
    assert found.result.claimed.value == factor
    if verdict == "refuted":
        stated = found.certificate.quantities
        assert found.result.measured.lower == pytest.approx(
            (1 + stated["rate after"]) / (1 + stated["rate before"]), rel=1e-12
        )
        assert found.result.measured.lower < 1 + stated["rate after"]


@pytest.mark.parametrize(
    ("key", "value", "path", "named"),
    [
        ("23", 1.0, ("instance", "mu"), "instance.mu"),
        ("23", [0.0, 0.0, 0.0], ("instance", "start"), "instance.start"),
        ("23", "theirs", ("parameters", "rate"), "parameters.rate"),
        ("3", 0.5, ("instance", "mu"), "instance.mu"),
        ("3", [0.1, 0.1, 0.1], ("instance", "later"), "instance.later"),
        ("3", [50.0, 50.0, 51.0], ("instance", "later"), "instance.later"),
    ],
)
def test_a_malformed_certificate_names_the_field(
    audited, plain, judged, changed, key, value, path, named
):
    document = changed(plain(audited(CARDS[key], trials=300).certificate), value, *path)
    with pytest.raises(DataError, match=named):
        judged(document, VERIFIERS[key])


@pytest.mark.parametrize("key", CARDS)
def test_a_penalty_below_theta_and_unequal_ones_are_seen(audited, plain, judged, changed, key):
    document = plain(audited(CARDS[key], trials=300).certificate)
    low = changed(document, 1e6, "parameters", "dual_step")
    assert judged(low, VERIFIERS[key]).failures
    if key == "23":
        unequal = changed(document, lambda old: [old[0] + 1, *old[1:]], "instance", "penalty")
        assert judged(unequal, VERIFIERS[key]).failures


@pytest.mark.parametrize("key", CARDS)
def test_data_are_refused(audited, key):
    with pytest.raises(InvalidArgument, match=r"^data: "):
        audited(CARDS[key], data="breast-cancer")
