"""First calls of copies: each stands for that of another instance, unless all repeat some noise."""

from __future__ import annotations

from dataclasses import replace

from dpaudit.auditing.evidence import Evidence
from dpaudit.auditing.result import stated_in_claim
from dpaudit.errors import MechanismError
from dpaudit.estimation.self_check import SelfCheck
from dpaudit.execution.failures import CodeFailed, OutOfTime, WorkerEnded
from dpaudit.execution.ledger import current
from dpaudit.extension.case import PrivacyCase
from dpaudit.laws.instances import REPEATED, copies_repeat
from dpaudit.laws.isolated import Isolated, named
from dpaudit.laws.mechanism import name_of
from dpaudit.laws.observed import Observed
from dpaudit.neighbours import Side


def of_first_calls(evidence: Evidence, case: PrivacyCase, seed: int) -> Evidence:
    """Return evidence that refutes by first calls with a check of the copies that made them."""
    claimed = stated_in_claim(case, case.claimed)
    if not evidence.trusted or not evidence.lower > claimed or not _is_repeated(case, seed):
        return evidence
    check = SelfCheck(
        name="first calls",
        statement=REPEATED,
        passed=False,
        statistic=1.0,
        threshold=0.0,
        evidence="answers of copies that were made after one call, two and more",
    )
    return replace(evidence, contract=(*evidence.contract, check))


def _is_repeated(case: PrivacyCase, seed: int) -> bool:
    mechanism, dataset = case.mechanism, case.pair.on(Side.DATASET)
    with named(name_of(mechanism)):
        match mechanism:
            case Observed():
                return copies_repeat(_itself, (mechanism,), dataset, seed)
            case Isolated():
                about = mechanism, dataset, seed
                return current().fact("repeated", lambda: _elsewhere(*about), about)
    return False


def _itself(mechanism: Observed) -> Observed:
    return mechanism


def _elsewhere(mechanism: Isolated, dataset: object, seed: int) -> bool:
    try:
        return bool(mechanism.crew.call(copies_repeat, *mechanism.made, dataset, seed))
    except (MechanismError, WorkerEnded, CodeFailed, OutOfTime):
        return False
