"""Audits of mechanisms with a known answer: the broken ones are found out, no other is accused.

The ideal attack scores by the exact ratio of densities: what it does not find with so many trials,
no attack does, and what it finds and the linear classifier does not is left to better attacks.
"""

from functools import partial
from types import SimpleNamespace

import pytest

import dpaudit.extension.registry as registry
from dpaudit.algorithms.known_answer import KNOWN_ANSWERS
from dpaudit.algorithms.known_answer.answer import IDEAL
from dpaudit.auditing import audit_case
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP

CONFIDENCE = 1 - 1e-6
BROKEN = [name for name, answer in KNOWN_ANSWERS.items() if answer.broken]
CORRECT = [name for name, answer in KNOWN_ANSWERS.items() if not answer.broken]
# Broken in a way that a score linear in the output and its squares does not show.
HARD = ["laplace-floating-point", "svt-3"]

full_size = partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture
def audit(monkeypatch):
    """Return an audit of a known answer by name that prints what it certified."""
    installed = registry.DISTINGUISHERS
    with_ideal = SimpleNamespace(
        all=installed.all,
        get=lambda name: IDEAL if name == IDEAL.name else installed.get(name),
    )
    monkeypatch.setattr(registry, "DISTINGUISHERS", with_ideal)

    def run(name, trials, seed=0, attack="linear-classifier"):
        answer = KNOWN_ANSWERS[name]
        settings = Settings(
            epsilon=answer.claimed,
            delta=answer.delta,
            trials=trials,
            seed=seed,
            confidence=CONFIDENCE,
            distinguisher=attack,
        )
        result = audit_case(case(answer), settings, statement=card(answer), rerun="audit again")
        lower = result.measured.lower
        print(
            f"{name:26} claimed {answer.claimed:.4f} true {answer.true:.4f} best event "
            f"{answer.event:.4f} {attack} at {trials}: {lower:.4f} ({lower / answer.event:.2f})"
        )
        return result

    return run


def case(answer):
    return PrivacyCase(
        mechanism=answer.mechanism,
        pair=answer.pair,
        claimed=ApproximateDP(answer.claimed, answer.delta),
        at_delta=answer.delta,
        view="an output",
        data="the worst pair",
        default_trials=10_000,
        parameters={},
    )


def card(answer):
    return Statement(
        name=answer.name,
        title=answer.name,
        statement=f"({answer.claimed:g}, {answer.delta:g})-DP",
        source="the mechanism's",
        kind="privacy",
        relation=answer.pair.relation.name,
        assumptions={},
    )


@pytest.mark.parametrize(
    ("name", "trials"),
    [
        ("noisy-histogram-inverted", 3000),
        ("svt-5", 3000),
        *(full_size(name, 100_000) for name in BROKEN if name not in HARD),
    ],
)
def test_a_broken_mechanism_is_found_out(audit, name, trials):
    result = audit(name, trials)
    assert result.verdict == "refuted"
    assert result.measured.lower < KNOWN_ANSWERS[name].event


@pytest.mark.parametrize(
    ("name", "trials"),
    [
        ("laplace-floating-point", 2000),
        *(full_size(name, 100_000) for name in BROKEN),
    ],
)
def test_the_ideal_attack_finds_out_every_broken_mechanism(audit, name, trials):
    assert audit(name, trials, attack=IDEAL.name).verdict == "refuted"


@pytest.mark.parametrize("attack", ["linear-classifier", IDEAL.name])
@pytest.mark.parametrize(
    ("name", "trials", "seed"),
    [
        *((name, 1000, 0) for name in ("randomised-response", "svt-1")),
        *(full_size(name, 20_000, seed) for name in CORRECT for seed in range(3)),
    ],
)
def test_a_correct_mechanism_is_not_accused(audit, name, trials, seed, attack):
    result = audit(name, trials, seed, attack)
    assert result.verdict == "not refuted"
    assert result.measured.lower <= KNOWN_ANSWERS[name].event


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("randomised-response", 0.8),
        *(full_size(name, 0.7) for name in ("laplace", "noisy-max-1", "noisy-max-2")),
    ],
)
def test_what_is_certified_is_close(audit, name, least):
    assert audit(name, 10_000).measured.lower > least * KNOWN_ANSWERS[name].event
