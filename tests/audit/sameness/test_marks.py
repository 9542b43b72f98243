"""Numbers and names of processes beside what is released: they are left out, and noise is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_reference

PAIR = [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]


@pytest.fixture(autouse=True)
def marked(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import marked

    return marked


def audited(mechanism):
    given = {"epsilon": 1.0, "trials": 600, "confidence": 0.9999, "seed": 0}
    return dpaudit.audit(mechanism, *PAIR, **given)


def marks_of(name, trials=6):
    mechanism = isolate_reference(f"marked:{name}", Isolation()).mechanism
    try:
        return mechanism.find_process_marks(
            PAIR, trials, [np.random.default_rng(n) for n in range(2)]
        )
    finally:
        mechanism.crew.close()


def test_what_differs_from_process_to_process_alone_is_a_mark():
    assert marks_of("coins") == ["id[0]", "id[1]", "other"]
    assert marks_of("kept_noise") == ["id"]  # its value is another one on the other dataset


@pytest.mark.sampled(1)
def test_too_little_noise_beside_the_number_of_a_process_is_refuted(marked):
    found = audited(marked.little_noise)
    assert found.verdict == "refuted", found.reason
    assert any(note.startswith("Left out: id (") and "ignore=" in note for note in found.notes)


@pytest.mark.slow
@pytest.mark.sampled(1)
def test_enough_noise_beside_a_name_is_measured_and_not_accused(marked):
    found = audited(marked.enough_noise)
    assert found.verdict == "not refuted", found.reason
    assert 0.2 < found.measured.lower <= 1.0


def test_noise_that_is_kept_is_withheld_and_the_cure_is_named(marked):
    found = audited(marked.kept_noise_twice)
    assert found.verdict == "withheld"
    assert "of sum, twice, parts that are no noise" in found.reason
    assert "ignore=" in found.reason


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("mechanism", "verdict"), [("exact", "refuted"), ("kept_noise", "withheld")]
)
def test_exact_values_are_refuted_and_kept_noise_is_not(marked, mechanism, verdict):
    assert audited(getattr(marked, mechanism)).verdict == verdict
