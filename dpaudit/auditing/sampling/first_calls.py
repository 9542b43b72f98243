"""First calls of copies: each stands for that of another instance, unless all repeat some noise."""

from __future__ import annotations

from dataclasses import replace

from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.outcome.result import convert_to_claim_number
from dpaudit.errors import MechanismError
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.execution.failures import CodeFailed, DrawTimeout, WorkerEnded
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.instances import REPEATED, copies_repeat
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import name_of
from dpaudit.neighbours import Side


def of_first_calls(
    evidence: MeasurementEvidence, case: PrivacyCase, seed: int
) -> MeasurementEvidence:
    """Return evidence that refutes by first calls with a check of the copies that made them."""
    claimed = convert_to_claim_number(case, case.claimed)
    # Only what refutes is looked at more closely: nothing else is claimed by it.
    if not evidence.trusted or not evidence.lower > claimed or not _is_repeated(case, seed):
        return evidence
    check = CheckOutcome(
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
    with add_mechanism_name(name_of(mechanism)):
        match mechanism:
            case CodeMechanism():
                return copies_repeat(_get_same_mechanism, (mechanism,), dataset, seed)
            case IsolatedMechanism():
                about = mechanism, dataset, seed
                return get_current_ledger().fact(
                    "repeated", lambda: _run_repeat_check_in_worker(*about), about
                )
    return False


def _get_same_mechanism(mechanism: CodeMechanism) -> CodeMechanism:
    return mechanism


def _run_repeat_check_in_worker(mechanism: IsolatedMechanism, dataset: object, seed: int) -> bool:
    try:
        return bool(mechanism.crew.call(copies_repeat, *mechanism.made, dataset, seed))
    # Nothing is said of copies where the code cannot be asked.
    except (MechanismError, WorkerEnded, CodeFailed, DrawTimeout):
        return False
