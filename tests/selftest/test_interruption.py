"""A self-test that is interrupted inside a case: what it had worked out is not worked out again."""

import pytest

from dpaudit.execution.ledger import RunLedger, set_current_ledger
from dpaudit.selftest.estimators import CASES
from dpaudit.selftest.run import QUICK, _certify_case_audits

CASE = next(one for one in CASES if one.estimator == "one run" and one.quick)


class Remembering(RunLedger):
    """Keeps facts, and is interrupted when it has so many."""

    def __init__(self, most):
        self.most, self.facts = most, {}

    def fact(self, name, compute, about=None):
        if name not in self.facts:
            if len(self.facts) == self.most:
                raise KeyboardInterrupt
            self.facts[name] = compute()
        return self.facts[name]


def certified(ledger):
    with set_current_ledger(ledger):
        return _certify_case_audits(CASE, CASE.audits(QUICK.audits), 0.05, 0).tolist()


def test_a_case_goes_on_from_its_parts():
    interrupted, whole = Remembering(3), Remembering(1000)
    with pytest.raises(KeyboardInterrupt):
        certified(interrupted)
    before, interrupted.most = set(interrupted.facts), 1000
    assert len(before) == 3
    assert certified(interrupted) == certified(whole)
    assert len(whole.facts) > 10


def test_parts_do_not_repeat_each_other():
    ledger = Remembering(1000)
    certified(ledger)
    first, second, *_ = ledger.facts.values()
    assert first.tolist() != second.tolist()
