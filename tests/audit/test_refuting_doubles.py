"""Lowest bits of doubles: a note by default, and a refutation where somebody asks for it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import dpaudit
from dpaudit.errors import InvalidArgument
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.foreign.isolation import Isolation

SIDES = np.zeros(3), np.array([0.0, 0.0, 1.0])


def add_noise(data, rng):
    """The noise fits its claim in real numbers, but 1 + Laplace is rounded, and 0 + it is not."""
    return float(data.sum()) + rng.laplace(scale=1.0)


def add_rounded_noise(data, rng):
    """Multiples of 2**-10 are exact: no bit is rounded away."""
    return float(data.sum()) + np.floor(rng.laplace(scale=1.0) * 1024) / 1024


def audit_doubles(mechanism, doubles, **given):
    asked = {"epsilon": 1.0, "trials": 400, "isolation": Isolation(in_process=True)} | given
    return dpaudit.audit(mechanism, *SIDES, doubles=doubles, **asked)


def test_bits_count_where_somebody_asks():
    asked = {"epsilon": 20.0, "confidence": 0.999}
    assert audit_doubles(add_noise, "refute", **asked).measured.lower > 1
    assert audit_doubles(add_noise, "report", **asked).measured.lower < 1


@pytest.mark.slow
def test_bits_refute_where_somebody_asks():
    result = audit_doubles(add_noise, "refute", confidence=0.999)
    assert result.verdict == "refuted"
    assert result.measured.lower > 1
    assert "doubles='refute'" in result.rerun
    assert any(note.startswith("The verdict is about outputs as doubles") for note in result.notes)


def test_bits_are_a_note_otherwise():
    result = audit_doubles(add_noise, "report")
    assert result.verdict == "not refuted"
    assert any(note.startswith("Doubles:") for note in result.notes)
    assert "doubles" not in result.rerun


def test_noise_without_a_leak_in_its_bits_stands():
    assert audit_doubles(add_rounded_noise, "refute", confidence=0.999).verdict == "not refuted"


def test_a_theorem_about_real_numbers_does_not_prove_doubles():
    found = audit_domain("refute", 20.0)
    assert found.verdict == "not refuted"
    assert found.proved.epsilon == pytest.approx(1.0)
    assert found.measured.lower > 1
    assert "either the proof" not in found.reason


@pytest.mark.slow
@pytest.mark.parametrize(("doubles", "verdict"), [("report", "proved"), ("refute", "refuted")])
def test_a_proof_and_bits_of_one_mechanism_differ(doubles, verdict):
    assert audit_domain(doubles, 1.0).verdict == verdict


def audit_domain(doubles, epsilon):
    return dpaudit.audit(
        add_noise,
        domain={"bounds": (0, 1), "records": 3},
        relation="replace-record",
        epsilon=epsilon,
        trials=400,
        search_calls=50,
        doubles=doubles,
        isolation=Isolation(in_process=True),
    )


@pytest.mark.parametrize(
    "given", [{"doubles": "both"}, {"estimator": "exact-loss"}, {"distinguisher": "histogram"}]
)
def test_what_does_not_go_with_doubles_is_refused(given):
    with pytest.raises(InvalidArgument):
        Settings(**({"doubles": "refute"} | given))


def test_certificates_state_doubles_only_where_bits_may_refute():
    assert "doubles" not in Settings().document()
    assert Settings.read(Settings(doubles="refute").document()).are_bits_tried


def ignore_data(data, rng):
    return rng.laplace() + 0.3


@pytest.mark.slow
def test_bits_of_noise_that_ignores_the_data_rarely_certify_anything():
    """Of 80 audits at an error probability of .05 at most the binomial's 99.9% end do."""
    found = [audit_doubles(ignore_data, "refute", seed=seed).measured.lower for seed in range(80)]
    assert sum(lower > 0 for lower in found) <= binom.ppf(0.999, 80, 0.05)
