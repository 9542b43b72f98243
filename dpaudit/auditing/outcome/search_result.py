"""The result that is reported of a search against a claimed bound."""

from __future__ import annotations

from typing import Any

from dpaudit.auditing.outcome.result import assumption_checks, format_verdict_reason, to_plain_json
from dpaudit.extension.case import SearchCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.refutation import WorstInstance
from dpaudit.report.document import Result
from dpaudit.report.formatting import format_significant
from dpaudit.report.schema import BudgetEntry, Claimed, Measured, Proved
from dpaudit.verdicts import Verdict, judge_claimed_number

_NO_UPPER = "a search finds no upper end; a proved bound is one"


def search_result(
    claim: Statement,
    case: SearchCase,
    attained: WorstInstance,
    settings: Settings,
    trials: int,
    rerun: str,
) -> Result:
    """Return the result of a search against a claimed bound.

    Every evaluated instance is exact, so no error probability is spent. Where the bound is the same
    for all instances the worst ratio is shown times it; a property has its bound on the instance,
    unless the ratio of its sides is what is claimed.
    """
    bound, lower = case.bound, attained.ratio * case.bound
    of_instance = claim.kind != "sensitivity" and not case.is_ratio
    if attained.scale is not None or of_instance:
        bound, lower = attained.bound, attained.value
    verdict = _of_search(case, attained, bound, lower)
    stated: dict[str, Any] = {**_make_claimed_fields(claim, case, bound), "strict": attained.strict}
    return Result(
        claim=claim.name,
        kind=claim.kind,
        quantity=case.quantity,
        statement=claim.statement,
        source=claim.source,
        verdict=verdict,
        reason=_search_reason(claim, case, attained, bound, lower, verdict),
        claimed=Claimed(**stated),
        proved=case.proved
        and Proved(source=case.proved[1], **_make_claimed_fields(claim, case, case.proved[0])),
        measured=Measured(
            lower=lower,
            upper=None,
            confidence=attained.confidence,
            estimate=lower,
            estimator=_get_search_estimator(claim, case, attained),
            upper_note=_NO_UPPER if attained.confidence == 1 else "what is counted has none",
        ),
        trials=trials,
        seed=settings.seed,
        view=case.view,
        relation=case.relation,
        pair=case.pair,
        data=case.data,
        parameters=to_plain_json(case.parameters),
        assumptions=assumption_checks(claim, case.assumptions),
        self_checks=[],
        budget=_get_count_budget(attained),
        notes=[*case.notes, *_format_found_notes(attained)],
        counts={case.effort: trials},
        rerun=rerun,
    )


def _of_search(case: SearchCase, attained: WorstInstance, bound: float, lower: float) -> Verdict:
    """Return the verdict on a bound: the proved number has to be within that of every instance."""
    if attained.refutes:
        return "refuted"
    proved = None if case.proved is None else case.proved[0]
    if not all(outcome.holds for outcome in case.assumptions):
        proved = None
    # A bound that must be strict is not proved by one that equals it.
    if attained.strict and proved is not None and proved >= min(bound, case.bound):
        proved = None
    verdict = judge_claimed_number(min(bound, case.bound), lower, proved=proved)
    # A search refutes by a ratio to the instance's own bound, which stood.
    return "not refuted" if verdict == "refuted" else verdict


def _search_reason(
    claim: Statement,
    case: SearchCase,
    attained: WorstInstance,
    bound: float,
    lower: float,
    verdict: Verdict,
) -> str:
    name = {"privacy": "epsilon", "sensitivity": "sensitivity"}.get(claim.kind, case.quantity)
    subject = "Found by search:" if attained.confidence == 1 else "Measured:"
    property_ = claim.kind == "property"
    if attained.strict and verdict == "refuted" and lower <= bound:
        sentence = (
            f"{subject} {format_significant(lower)} is not below "
            f"{format_significant(bound)}, the claimed {name}."
        )
    else:
        proved = None if case.proved is None else case.proved[0]
        sentence = format_verdict_reason(
            str(name), bound, lower, verdict, subject, long=property_, proved=proved
        )
    return sentence if attained.because is None else f"{sentence} {attained.because}"


def _get_search_estimator(claim: Statement, case: SearchCase, attained: WorstInstance) -> str:
    names = {"privacy": "epsilon", "sensitivity": "movement"}
    name = names.get(claim.kind, case.quantity or "value")
    return f"{name}, counted" if attained.confidence < 1 else f"largest {name} found by search"


def _make_claimed_fields(claim: Statement, case: SearchCase, value: float) -> dict[str, Any]:
    match claim.kind:
        case "privacy":
            return {"epsilon": value, "delta": case.at_delta}
        case "sensitivity":
            return {"sensitivity": value}
        case "property":
            return {"value": value}


def _get_count_budget(attained: WorstInstance) -> list[BudgetEntry]:
    """Return the budget entries of a count; a computed number spends nothing."""
    if attained.confidence == 1:
        return []
    return [BudgetEntry(purpose="a count that chance alone exceeds", alpha=1 - attained.confidence)]


def _format_found_notes(attained: WorstInstance) -> list[str]:
    notes = [f"Found at: {attained.instance}."]
    if attained.minimal is not None:
        notes.append(f"Smallest instance that breaks the claim: {attained.minimal}.")
    return notes
