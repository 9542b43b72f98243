"""First calls of copies: which evidence rests on them, and where copies are asked."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.auditing.sampling import first_calls
from dpaudit.errors import MechanismError
from dpaudit.execution.failures import DrawTimeout
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism

from .common import PAIR, case_of, check_of, evidence_of


@pytest.fixture
def repeats(monkeypatch):
    """Let copies repeat noise, and note what was asked."""
    asked = []

    def copies_repeat(make, arguments, dataset, seed):
        asked.append((make(*arguments), dataset, seed))
        return True

    monkeypatch.setattr(first_calls, "copies_repeat", copies_repeat)
    return asked


def own():
    return as_mechanism(lambda data, rng: data.sum() + rng.laplace())


@pytest.mark.parametrize(
    ("lower", "trusted", "checked"),
    [(1.0 + 1e-9, True, True), (1.0, True, False), (0.5, True, False), (2.0, False, False)],
)
def test_what_refutes_by_first_calls_alone_is_checked(lower, trusted, checked, repeats):
    mechanism = own()
    evidence = evidence_of(lower, contract=(check_of(trusted),))
    found = first_calls.of_first_calls(evidence, case_of(mechanism=mechanism), 7)
    assert repeats == ([(mechanism, PAIR.dataset, 7)] if checked else [])
    if not checked:
        assert found is evidence
        return
    assert not found.trusted
    assert found.lower == lower
    assert found.contract[:-1] == evidence.contract
    check = found.contract[-1]
    assert (check.name, check.passed, check.statistic, check.threshold) == (
        "first calls", False, 1.0, 0.0,
    )  # fmt: skip
    assert "after one call, two and more" in check.evidence


def test_copies_that_repeat_nothing_leave_evidence_as_it_is(monkeypatch):
    monkeypatch.setattr(first_calls, "copies_repeat", lambda *_: False)
    evidence = evidence_of(2.0)
    assert first_calls.of_first_calls(evidence, case_of(mechanism=own()), 7) is evidence
    assert first_calls.of_first_calls(evidence, case_of(mechanism=SimpleNamespace()), 7) is evidence


@pytest.mark.parametrize("answer", [True, False, MechanismError("raised"), DrawTimeout()])
def test_a_mechanism_elsewhere_is_asked_there_and_what_fails_says_nothing(monkeypatch, answer):
    asked = []

    def call(function, *given):
        asked.append((function, given))
        if isinstance(answer, Exception):
            raise answer
        return answer

    made = (np.sum, (1, 2))
    mechanism = IsolatedMechanism(SimpleNamespace(call=call), made)
    ledger = SimpleNamespace(fact=lambda name, make, about: make())
    monkeypatch.setattr(first_calls, "get_current_ledger", lambda: ledger)
    monkeypatch.setattr(first_calls, "name_of", lambda _: "own")
    found = first_calls._is_repeated(case_of(mechanism=mechanism), 7)
    assert found is (answer is True)
    assert asked == [(first_calls.copies_repeat, (*made, PAIR.dataset, 7))]
