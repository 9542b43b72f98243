"""Accounts: accountants that contradict each other are an error, not an answer."""

from __future__ import annotations

import math
from typing import get_args

import pytest

import dpaudit
import dpaudit.accounts.account as account
from dpaudit.accounting.accountants import AccountantAnswer
from dpaudit.accounting.events import (
    ApproximateRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    Release,
    Sequence,
)
from dpaudit.accounts.releases import KINDS
from dpaudit.accounts.target import AccountTarget, read_target
from dpaudit.errors import ConvergenceError, DpauditError


def answer(name, lower=None, upper=None):
    return AccountantAnswer(
        accountant=name, kind="bracket", source="a book", lower=lower, upper=upper
    )


PROVED = answer("grid", 0.9, 1.0)


@pytest.mark.parametrize(
    "others",
    [
        (),
        (answer("other", 1.0, 1.2),),
        (answer("other", 1.0 + 1e-10, 1.2),),  # rounding
        (answer("loose", None, 2.0), answer("silent")),
        (answer("trivial", 0.0, math.inf),),
    ],
)
def test_answers_that_overlap_agree(others):
    assert account._require_consistent_answers((PROVED, *others)) is None


@pytest.mark.parametrize("lower", [1.0 + 1e-8, 1.1, math.inf])
def test_a_lower_end_above_a_proved_upper_end_is_an_error(lower):
    other = answer("other", lower, math.inf)
    message = f"grid proves 1.0, other certifies at least {lower}; please report"
    for answers in ((PROVED, other), (other, PROVED)):
        with pytest.raises(ConvergenceError, match=message):
            account._require_consistent_answers(answers)


def test_without_a_proof_nothing_is_contradicted():
    assert account._require_consistent_answers(()) is None
    assert account._require_consistent_answers((answer("silent"), answer("certain", 3.0))) is None


def test_an_account_asks_whether_its_answers_agree(monkeypatch):
    from dpaudit.accounts.target import read_target

    monkeypatch.setattr(account, "ask_all", lambda *_: (PROVED, answer("other", 2.0, 3.0)))
    with pytest.raises(ConvergenceError, match="contradict each other"):
        account.account_for(read_target("gaussian", {}), 1e-5)


def test_the_front_door_answers_what_a_target_is_answered():
    named = dpaudit.account("gaussian", delta=1e-5, noise_scale=2.0, count=3)
    target = read_target("gaussian", {"noise_scale": 2.0, "count": 3})
    assert named.document() == account.account_for(target, 1e-5).document()


@pytest.mark.slow
def test_an_event_is_accounted_for_like_the_release_of_its_kind():
    event = LaplaceRelease(sensitivity=0.5, noise_scale=2.0, count=4)
    named = dpaudit.account("laplace", 1e-6, group=2, sensitivity=0.5, noise_scale=2.0, count=4)
    assert dpaudit.account(event, 1e-6, group=2).document() == named.document()


def test_a_sequence_is_accounted_for_as_all_of_its_releases():
    approximate = ApproximateRelease(epsilon=0.5, delta=1e-7, count=2)
    laplace = LaplaceRelease(sensitivity=0.5, noise_scale=2.0)
    found = dpaudit.account(Sequence((approximate, laplace)), 1e-5)
    assert (found.name, found.title) == ("event", "a sequence of 2 releases")
    assert [given["kind"] for given in found.parameters] == ["approximate", "laplace"]
    assert found.answers[1].upper == pytest.approx(1.25)  # the sum of the epsilons


def test_every_kind_of_event_has_a_card():
    assert set(KINDS) == set(get_args(Release))
    for kind, card in KINDS.items():
        event = card.event(card.parameters())
        assert type(event) is kind
        assert AccountTarget.of(event).event == event


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("gaussian", 1.0), {}, "delta: got 1.0"),
        (("gaussian",), {"group": 0}, "group: got 0"),
        (("gaussian",), {"noise": 1.0}, "parameter: got 'noise'"),
        (("gauss",), {}, "gaussian"),
        ((LaplaceRelease(sensitivity=1, noise_scale=1),), {"count": 2}, "the event has its own"),
        ((Sequence(()),), {}, "no release"),
        ((LaplaceRelease(sensitivity=1, noise_scale=1, count=0),), {}, "no release"),
        (
            (
                Sequence(
                    (
                        PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=1),
                        ObjectivePerturbation(sensitivity=1, noise_rate=1, dimension=2),
                    )
                ),
            ),
            {},
            "one neighbour relation",
        ),
    ],
)
def test_the_front_door_refuses(arguments, options, message):
    with pytest.raises(DpauditError, match=message):
        dpaudit.account(*arguments, **options)
