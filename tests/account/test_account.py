"""Accounts: accountants that contradict each other are an error, not an answer."""

from __future__ import annotations

import math

import pytest

import dpaudit.accounts.account as account
from dpaudit.accounting.accountants import Answer
from dpaudit.errors import ConvergenceError


def answer(name, lower=None, upper=None):
    return Answer(accountant=name, kind="bracket", source="a book", lower=lower, upper=upper)


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
    assert account._agree((PROVED, *others)) is None


@pytest.mark.parametrize("lower", [1.0 + 1e-8, 1.1, math.inf])
def test_a_lower_end_above_a_proved_upper_end_is_an_error(lower):
    other = answer("other", lower, math.inf)
    message = f"grid proves 1.0, other certifies at least {lower}; please report"
    for answers in ((PROVED, other), (other, PROVED)):
        with pytest.raises(ConvergenceError, match=message):
            account._agree(answers)


def test_without_a_proof_nothing_is_contradicted():
    assert account._agree(()) is None
    assert account._agree((answer("silent"), answer("certain", 3.0))) is None


def test_an_account_asks_whether_its_answers_agree(monkeypatch):
    from dpaudit.accounts.account import read_target

    monkeypatch.setattr(account, "ask_all", lambda *_: (PROVED, answer("other", 2.0, 3.0)))
    with pytest.raises(ConvergenceError, match="contradict each other"):
        account.account_for(read_target("gaussian", {}), 1e-5)
