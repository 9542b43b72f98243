"""What hu2020's proof of Theorem 1 says of Gaussian noise, against 50 digits and by search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from dpaudit.algorithms.sharing.claims.hu2020 import density, equation12
from dpaudit.algorithms.sharing.claims.hu2020.equation12 import (
    Equation12Parameters,
    Level,
    compute_noise_tail,
)
from dpaudit.algorithms.sharing.verify.hu2020 import density as density_verifier
from dpaudit.algorithms.sharing.verify.hu2020 import equation12 as equation12_verifier
from dpaudit.errors import DataError, InvalidArgument

TAIL, DENSITY = equation12.CLAIM, density.CLAIM
VERIFIERS = {TAIL.name: equation12_verifier.recompute, DENSITY.name: density_verifier.recompute}


def named(given):
    return getattr(given, "name", str(given))


FALSE = [
    (TAIL, {}),
    (TAIL, {"entries": 2}),
    (TAIL, {"part": "A_2", "entries": 1}),
    (DENSITY, {}),
    (DENSITY, DENSITY.published["1 entry"].settings["parameters"]),
]
TRUE = [
    (TAIL, {"entries": 1}, 1e-5),
    (TAIL, {"entries": 1}, 0.46),
    (TAIL, {"entries": 2, "factor": 1.32}, 1e-5),
    (DENSITY, DENSITY.published["large units"].settings["parameters"], 1e-5),
    (DENSITY, {"factor": 1.6}, 1e-5),
]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("card", "parameters"), FALSE, ids=named)
def test_what_is_false_is_refuted_and_verified(audited, plain, judged, card, parameters, seed):
    found = audited(card, seed=seed, parameters=parameters)
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), VERIFIERS[card.name])
    assert verdict.failures == ()
    assert verdict.ratio > 1


@pytest.mark.parametrize(("card", "parameters", "delta"), TRUE, ids=named)
def test_what_is_true_is_not_refuted(audited, card, parameters, delta):
    found = audited(card, parameters=parameters, delta=delta)
    assert found.result.verdict == "not refuted"
    assert found.certificate is None


@given(st.floats(1e-9, 0.9), st.floats(1e-3, 1.0), st.integers(1, 40))
def test_the_probability_of_long_noise_to_50_digits(delta, epsilon, entries):
    with mp.workdps(50):
        spread = mp.sqrt(2 * mp.log(mp.mpf("1.25") / delta))
        least = spread - epsilon / (2 * spread)
        exact = mp.gammainc(mp.mpf(entries) / 2, max(least, 0) ** 2 / 2, regularized=True)
        found = compute_noise_tail(
            Level(epsilon=epsilon, delta=delta), Equation12Parameters(entries=entries)
        )
        assert found == pytest.approx(float(exact), rel=1e-9)


@given(st.floats(1e-300, 0.46), st.floats(1e-6, 1.0))
def test_one_entry_of_noise_is_as_seldom_long_as_the_proof_says(delta, epsilon):
    """P(|X| >= t) is at most delta up to delta = 0.46, and so is each step of the docstring."""
    with mp.workdps(50):
        x = mp.log(mp.mpf("1.25") / delta)
        t = mp.sqrt(2 * x) - epsilon / (2 * mp.sqrt(2 * x))
        assert t >= mp.sqrt(2 * x) - 1 / (2 * mp.sqrt(2 * x)) > mp.mpf("1.0525")
        bound = 2 * mp.exp(-(t**2) / 2) / (t * mp.sqrt(2 * mp.pi))
        assert mp.erfc(t / mp.sqrt(2)) <= bound <= mp.mpf("1.0525") * delta / t <= delta


def test_of_one_entry_it_is_false_for_a_delta_near_1():
    level = Level(epsilon=1.0, delta=0.97)
    assert compute_noise_tail(level, Equation12Parameters(entries=1)) > level.delta


@pytest.mark.parametrize(("delta", "holds"), [(1e-6, True), (0.4916, True), (0.4918, False)])
def test_equation_13_is_true_up_to_a_delta_of_0_4917(delta, holds):
    x = np.log(1.25 / delta)
    assert (np.sqrt(2 * x) * 2 / ((4 * x - 1) * np.sqrt(2 * np.pi)) < 1 / np.sqrt(2 * np.pi)) == (
        holds
    )


@given(st.floats(1e-9, 1 - 1e-9), st.floats(1e-3, 1.0))
def test_the_exponent_is_as_small_as_the_proof_says_for_every_delta(delta, epsilon):
    """The line after (13): it needs no small delta."""
    x = np.log(1.25 / delta)
    assert -((4 * x - epsilon) ** 2) / (8 * x) < np.log(np.sqrt(2 * np.pi) * delta / 2)


@given(st.floats(1e-3, 1.0), st.floats(0, 20), st.integers(1, 8))
def test_densities_to_50_digits(sensitivity, far, entries):
    epsilon, delta = 0.7, 1e-4
    scale = sensitivity * np.sqrt(2 * np.log(1.25 / delta)) / epsilon
    found, allowed = density.compute_density_sides(
        epsilon, delta, sensitivity, far * scale, entries
    )
    with mp.workdps(50):
        s = sensitivity * mp.sqrt(2 * mp.log(mp.mpf("1.25") / delta)) / epsilon
        others = mp.npdf(0, 0, s) ** (entries - 1)
        here = others * mp.npdf(far * scale, 0, s)
        there = others * mp.npdf(far * scale + sensitivity, 0, s)
        assert float(found) == pytest.approx(float(here), rel=1e-9)
        assert float(allowed) == pytest.approx(float(mp.exp(epsilon) * there + delta), rel=1e-9)


# The certificates


@pytest.mark.parametrize(
    ("card", "value", "path", "named"),
    [
        (TAIL, "sensitivity", ("kind",), "kind"),
        (TAIL, 20_000, ("parameters", "entries"), "parameters.entries"),
        (TAIL, "A_3", ("parameters", "part"), "parameters.part"),
        (TAIL, 1.0, ("parameters", "delta"), "parameters.delta"),
        (TAIL, 0.0, ("parameters", "epsilon"), "parameters.epsilon"),
        (DENSITY, "sensitivity", ("kind",), "kind"),
        (DENSITY, 200, ("parameters", "entries"), "parameters.entries"),
        (DENSITY, 1.0, ("parameters", "delta"), "parameters.delta"),
        (DENSITY, [1.0], ("instance", "offset"), "instance.offset"),
    ],
)
def test_a_malformed_certificate_names_the_field(
    audited, plain, judged, changed, card, value, path, named
):
    document = changed(plain(audited(card, trials=300).certificate), value, *path)
    with pytest.raises(DataError, match=named):
        judged(document, VERIFIERS[card.name])


@pytest.mark.parametrize("card", [TAIL, DENSITY], ids=named)
def test_an_epsilon_above_1_is_seen(audited, plain, judged, changed, card):
    document = changed(plain(audited(card, trials=300).certificate), 2.0, "parameters", "epsilon")
    assert judged(document, VERIFIERS[card.name]).failures


@pytest.mark.parametrize("card", [TAIL, DENSITY], ids=named)
def test_bad_input_is_named(audited, card):
    with pytest.raises(InvalidArgument, match=r"^epsilon: "):
        audited(card, epsilon=2.0)
    with pytest.raises(InvalidArgument, match=r"^data: "):
        audited(card, data="breast-cancer")


def test_limits_of_the_searches_are_named(audited):
    with pytest.raises(InvalidArgument, match=r"^delta: "):
        audited(TAIL, delta=1e-13)
    with pytest.raises(InvalidArgument, match=r"^most_sensitivity: "):
        audited(DENSITY, parameters={"least_sensitivity": 2.0})
