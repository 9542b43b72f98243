"""hu2020's Theorem 1: refuted in all three places of the noise, true with a true sensitivity."""

import math

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.sharing.claims.hu2020.column_space import (
    Message,
    distance,
    message_of,
    smallest_support,
    support_conditions,
    support_space,
)
from dpaudit.algorithms.sharing.claims.hu2020.message import OneMessage, Theorem1
from dpaudit.algorithms.sharing.claims.hu2020.theorem1 import CLAIM, Hu2020Theorem1Parameters
from dpaudit.algorithms.sharing.claims.hu2020.update import UpdateSetting, make_lemma1_sensitivity
from dpaudit.algorithms.sharing.noise import ParameterNoise, WhitenedNoise, model_noise
from dpaudit.algorithms.sharing.verify.hu2020.theorem1 import recompute
from dpaudit.algorithms.sharing.vertical import Party
from dpaudit.auditing import audit_claim
from dpaudit.datasets import Dataset
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import REPLACE_COLUMN, Pair
from dpaudit.refutation import maximise

SMALL = {"features": 8, "budget": 2_000}


# Noise on the message


@pytest.mark.slow
def test_the_default_audit_certifies_three_times_the_claim(audited, plain, judged):
    found = audited(CLAIM, trials=2_000)
    result = found.result
    assert result.verdict == "refuted"
    assert all(check.passed for check in result.self_checks)
    assert result.measured.lower >= 3 * result.claimed.epsilon
    assert result.measured.lower <= result.measured.pair_ceiling <= result.proved.epsilon
    assert {a.name for a in result.assumptions} <= set(CLAIM.assumptions)
    assert all(a.holds for a in result.assumptions)
    assert found.certificate.kind == "approximate-dp"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio == pytest.approx(result.measured.pair_ceiling, rel=1e-5)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_with_a_sensitivity_that_holds_it_is_not_refuted(audited, seed):
    parameters = {"features": 4, "budget": 500, "sensitivity": "corrected"}
    found = audited(CLAIM, parameters=parameters, seed=seed, trials=500)
    assert found.result.verdict == "proved"
    assert found.certificate is None
    assert found.result.measured.upper <= found.result.proved.epsilon < 1


def test_far_more_than_claimed_is_not_refuted(audited):
    parameters = {"features": 4, "budget": 500, "factor": 3.0}
    result = audited(CLAIM, parameters=parameters, seed=7, trials=500).result
    assert result.verdict == "proved"


def test_half_of_what_is_true_is_refuted(audited, plain, judged):
    parameters = SMALL | {"sensitivity": "corrected", "factor": 0.5}
    found = audited(CLAIM, parameters=parameters, trials=2_000)
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert "0.5 times what the source states" in verdict.summary


def test_other_parties_enter_the_message(audited, plain, judged):
    found = audited(CLAIM, parameters=SMALL | {"parties": 2, "samples": 24}, trials=1_000)
    assert found.result.verdict == "refuted"
    assert judged(plain(found.certificate), recompute).failures == ()


def test_the_exact_profile_agrees_with_mpmath(law):
    numbers, instance = law["quantities"], law["instance"]
    mu = mpmath.mpf(numbers["movement"]) / mpmath.mpf(numbers["noise scale"])
    shifts = [mu / 2 - instance["epsilon"] / mu, -mu / 2 - instance["epsilon"] / mu]
    delta = mpmath.ncdf(shifts[0]) - mpmath.exp(instance["epsilon"]) * mpmath.ncdf(shifts[1])
    assert numbers["exact delta over claimed delta"] == pytest.approx(float(delta) / 1e-5, rel=1e-8)
    assert delta > 1e-5


def test_the_message_is_that_of_the_lemma():
    rng = default_rng(0)
    design = rng.standard_normal((6, 3))
    neighbour = design * [-1, 1, 1]
    setting = UpdateSetting(features=3, samples=6, penalty=2.0, regulariser_weight=0.3)
    message = OneMessage(
        setting=setting, dual=rng.standard_normal(6), gap=rng.standard_normal(6), noise_scale=0.7
    )
    labels = np.ones(6)
    pair = Pair(Dataset(design, labels), Dataset(neighbour, labels), REPLACE_COLUMN)
    here, there = (message.step(4, data).mean for data in (pair.dataset, pair.neighbour))
    assert message.shift(4, pair) == pytest.approx(there - here, abs=1e-12)
    square = message.squared_shift_bounds(pair)[0]
    assert square == pytest.approx(np.sum((there - here)[0] ** 2) / 0.49, rel=1e-10)
    with pytest.raises(InvalidArgument, match=r"^dataset: "):
        message.check(Dataset(design.T, np.ones(3)))


def test_the_published_noise_scale():
    setting, noise = UpdateSetting(features=32, samples=64), {"variant": "message", "factor": 1.0}
    theorem = Theorem1(setting=setting, sensitivity="published", epsilon=0.5, delta=1e-5, **noise)
    claimed = make_lemma1_sensitivity(setting).claimed
    assert theorem.noise_scale == pytest.approx(math.sqrt(2 * math.log(1.25e5)) * claimed / 0.5)


# Noise on the model


@pytest.fixture(scope="module")
def support(audited, plain):
    found = audited(CLAIM, parameters={"variant": "parameter", "features": 6}, trials=300)
    assert found.result.verdict == "refuted"
    return plain(found.certificate)


@pytest.mark.parametrize("variant", ["parameter", "whitened"])
def test_no_epsilon_is_finite_with_noise_on_the_model(audited, plain, judged, variant):
    found = audited(CLAIM, parameters={"variant": variant, "features": 12})
    result = found.result
    assert result.verdict == "refuted"
    assert result.measured.lower == math.inf
    assert "column space" in result.reason
    assert any("Smallest instance" in note for note in result.notes)
    assert found.certificate.kind == "support"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert "no finite epsilon" in verdict.summary


def test_no_factor_makes_it_true(audited):
    parameters = {"variant": "parameter", "features": 4, "factor": 1e6}
    assert audited(CLAIM, parameters=parameters, trials=200).result.verdict == "refuted"


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("variant", ["parameter", "whitened"])
def test_columns_that_span_everything_separate_nothing(audited, variant, seed):
    parameters = {"variant": variant, "features": 5, "samples": 5}
    found = audited(CLAIM, parameters=parameters, trials=300, seed=seed)
    assert found.result.verdict == "not refuted"
    assert found.certificate is None


@pytest.mark.parametrize("noise", [ParameterNoise(0.5), WhitenedNoise(0.5)])
def test_messages_of_the_algorithm_lie_on_one_side_only(noise):
    """The noise of the algorithm itself, and distances by least squares instead of QR."""
    setting = UpdateSetting(features=4, samples=8)
    found = maximise(support_space(setting), 200, default_rng(0))
    pair = message_of(found.instance, 1.0)
    model = model_noise(noise, Party(pair.design), 0.5, 100, default_rng(1))
    messages = (model @ pair.design.T).T
    for design, on_space in ((pair.design, True), (pair.neighbour, False)):
        fitted = design @ np.linalg.lstsq(design, messages, rcond=None)[0]
        off = np.linalg.norm(messages - fitted, axis=0) / np.linalg.norm(messages, axis=0)
        assert (off < 1e-10).all() if on_space else (off > 1e-6).all()


def test_the_distance_found_is_the_largest_of_all_models():
    setting = UpdateSetting(features=3, samples=7)
    found = maximise(support_space(setting), 200, default_rng(0))
    best = message_of(found.instance, 1.0)
    assert distance(best) == pytest.approx(found.ratio, rel=1e-9)
    for model in default_rng(1).standard_normal((50, 3)):
        other = Message(design=best.design, neighbour=best.neighbour, model=model)
        assert distance(other) <= found.ratio * (1 + 1e-12)
    assert all(condition.holds for condition in support_conditions(best))


def test_the_smallest_pair_has_two_columns_and_three_rows():
    assert smallest_support(0).startswith("d_m = 2, N = 3; rows along ")


# Certificates that were tampered with


@pytest.fixture(scope="module")
def law(audited, plain):
    return plain(audited(CLAIM, parameters=SMALL, trials=1_000).certificate)


def first_rows(factor):
    return lambda rows: [[factor * value for value in rows[0]], *rows[1:]]


TAMPERED_LAW = {
    "an epsilon too large": (
        lambda e: 1.01 * e,
        ("instance", "epsilon"),
        "claimed delta is exceeded: ",
    ),
    "less noise": (0.5, ("parameters", "epsilon"), "noise scale"),
    "another delta": (1e-6, ("parameters", "delta"), "noise scale"),
    "another sensitivity": ("corrected", ("parameters", "sensitivity"), "noise scale"),
    "another factor": (0.1, ("parameters", "factor"), "claimed epsilon"),
    "a longer row": (first_rows(1.001), ("instance", "design"), "unit rows"),
    "a long dual": (lambda y: [9 * v for v in y], ("instance", "dual"), "bounded dual"),
    "another ratio": (99.0, ("quantities", "ratio"), "ratio"),
    "another movement": (0.1, ("quantities", "movement"), "movement"),
}


@pytest.mark.parametrize("how", TAMPERED_LAW)
def test_a_tampered_law_is_named(law, judged, changed, how):
    value, path, named = TAMPERED_LAW[how]
    verdict = judged(changed(law, value, *path), recompute)
    assert any(failure.startswith(named) for failure in verdict.failures)


TAMPERED_SUPPORT = {
    "a longer row": (first_rows(1.001), ("instance", "design"), "unit rows"),
    "another model": (lambda x: [-1.0, *x[1:]], ("instance", "model"), "distance"),
    "another delta": (0.1, ("parameters", "delta"), "ratio"),
    "another distance": (0.5, ("quantities", "distance from the neighbour's columns"), "distance"),
}


@pytest.mark.parametrize("how", TAMPERED_SUPPORT)
def test_a_tampered_support_is_named(support, judged, changed, how):
    value, path, named = TAMPERED_SUPPORT[how]
    verdict = judged(changed(support, value, *path), recompute)
    assert any(failure.startswith(named) for failure in verdict.failures)


def test_a_pair_with_one_column_space_is_no_evidence(support, judged, changed):
    def flipped(rows):
        return [[-row[0], *row[1:]] for row in support["instance"]["design"]]

    verdict = judged(changed(support, flipped, "instance", "neighbour"), recompute)
    assert any(f.startswith("output off the neighbour's columns") for f in verdict.failures)
    assert any(f.startswith("close neighbours") for f in verdict.failures)


def test_a_message_that_is_off_by_rounding_is_no_evidence(support, judged, changed):
    def nearly(rows):
        moved = [[one[0] * (1 + 1e-9 * row), *one[1:]] for row, one in enumerate(rows)]
        return [[value / math.hypot(*one) for value in one] for one in moved]

    design = nearly(support["instance"]["design"])
    verdict = judged(changed(support, design, "instance", "neighbour"), recompute)
    named = "output off the neighbour's columns: "
    (off,) = [failure for failure in verdict.failures if failure.startswith(named)]
    assert 1e-12 < float(off.removeprefix(named + "1e-06 is above ")) < 1e-7


def test_dependent_columns_are_no_evidence(support, judged, changed):
    def doubled(rows):
        norms = [math.hypot(*row[1:], row[1]) for row in rows]
        return [[row[1] / n, *(v / n for v in row[1:])] for row, n in zip(rows, norms, strict=True)]

    verdict = judged(changed(support, doubled, "instance", "design"), recompute)
    assert any(f.startswith("independent columns: ") for f in verdict.failures)


MALFORMED = {
    "kind": ("pure-dp", ("kind",)),
    "parameters.variant": ("parameter", ("parameters", "variant")),
    "parameters.sensitivity": ("none", ("parameters", "sensitivity")),
    "parameters.epsilon": (1.5, ("parameters", "epsilon")),
    "parameters.delta": (0.0, ("parameters", "delta")),
    "parameters.factor": (-1.0, ("parameters", "factor")),
    "parameters.features": (3, ("parameters", "features")),
    "instance.epsilon": ("1", ("instance", "epsilon")),
}


@pytest.mark.parametrize("field", MALFORMED)
def test_a_malformed_certificate_names_the_field(law, judged, changed, field):
    value, path = MALFORMED[field]
    expected = "instance.design" if field == "parameters.features" else field
    with pytest.raises(DataError, match=expected):
        judged(changed(law, value, *path), recompute)


def test_a_message_of_zero_is_refused(support, judged, changed):
    zero = changed(support, lambda x: [0.0] * len(x), "instance", "model")
    with pytest.raises(DataError, match=r"instance\.model"):
        judged(zero, recompute)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"data": "breast-cancer"}, "data"),
        ({"epsilon": 2.0}, "epsilon"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"parameters": {"variant": "model"}}, "variant"),
        ({"parameters": {"factor": 0}}, "factor"),
    ],
)
def test_bad_input_is_named(audited, asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audited(CLAIM, **asked)


def test_a_case_is_the_same_for_the_same_seed():
    parameters = Hu2020Theorem1Parameters(features=4, budget=200)
    one, other = (CLAIM.prepare(Settings(seed=5), parameters) for _ in range(2))
    assert np.array_equal(one.pair.dataset.features, other.pair.dataset.features)


@pytest.mark.parametrize("variant", ["parameter", "whitened"])
def test_messages_that_are_sent_refute_noise_on_the_model(variant):
    """The column-space attack errs on no message, so 300 of each certify ln(600 / 3)."""
    settings = Settings(
        estimator="event",
        distinguisher="column-space",
        trials=300,
        parameters={"variant": variant, "features": 8},
    )
    result = audit_claim("hu2020-theorem1", settings)
    assert result.verdict == "refuted"
    assert result.measured.lower == pytest.approx(math.log(200), abs=0.1)
    assert result.trials == 300
