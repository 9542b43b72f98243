"""From a search and what it attained to the result that is reported."""

from __future__ import annotations

from typing import Any

from dpaudit.audit.assemble import assumption_checks, plain
from dpaudit.case import Attained, SearchCase
from dpaudit.claims import Claim
from dpaudit.refutation.inequality import exceeds
from dpaudit.report.schema import BudgetEntry, Claimed, Measured, Proved, Result
from dpaudit.settings import Settings
from dpaudit.verdict import Verdict, reason

_NO_UPPER = "a search finds no upper end; a proved bound is one"


def search_result(
    claim: Claim,
    case: SearchCase,
    attained: Attained,
    settings: Settings,
    trials: int,
    rerun: str,
) -> Result:
    """Return the result of a search against a claimed bound.

    Every evaluated instance is exact, so no error probability is spent. Where the bound is the same
    for all instances the worst ratio is shown times it; a property has its bound on the instance.
    """
    bound, lower = case.bound, attained.ratio * case.bound
    if attained.scale is not None or claim.kind != "sensitivity":
        bound, lower = attained.bound, attained.value
    verdict: Verdict = "refuted" if exceeds(attained.ratio) else "not refuted"
    return Result(
        claim=claim.name,
        kind=claim.kind,
        quantity=case.quantity,
        statement=claim.statement,
        source=claim.source,
        verdict=verdict,
        reason=_search_reason(claim, case, attained, bound, lower, verdict),
        claimed=Claimed(**_stated(claim, case, bound)),
        proved=case.proved
        and Proved(source=case.proved[1], **_stated(claim, case, case.proved[0])),
        measured=Measured(
            lower=lower,
            upper=None,
            confidence=attained.confidence,
            estimate=lower,
            estimator=_estimator(claim, case, attained),
            upper_note=_NO_UPPER if attained.confidence == 1 else "what is counted has none",
        ),
        trials=trials,
        seed=settings.seed,
        view=case.view,
        relation=case.relation,
        pair=case.pair,
        data=case.data,
        parameters=plain(case.parameters),
        assumptions=assumption_checks(claim, case.assumptions),
        self_checks=[],
        budget=_chance(attained),
        notes=[*case.notes, *_found(attained)],
        counts={case.effort: trials},
        rerun=rerun,
    )


def _search_reason(
    claim: Claim, case: SearchCase, attained: Attained, bound: float, lower: float, verdict: Verdict
) -> str:
    name = {"privacy": "epsilon", "sensitivity": "sensitivity"}.get(claim.kind, case.quantity)
    subject = "Found by search:" if attained.confidence == 1 else "Measured:"
    property_ = claim.kind == "property"
    sentence = reason(str(name), bound, lower, verdict, subject, long=property_)
    return sentence if attained.because is None else f"{sentence} {attained.because}"


def _estimator(claim: Claim, case: SearchCase, attained: Attained) -> str:
    names = {"privacy": "epsilon", "sensitivity": "movement"}
    name = names.get(claim.kind, case.quantity or "value")
    return f"{name}, counted" if attained.confidence < 1 else f"largest {name} found by search"


def _stated(claim: Claim, case: SearchCase, value: float) -> dict[str, Any]:
    match claim.kind:
        case "privacy":
            return {"epsilon": value, "delta": case.at_delta}
        case "sensitivity":
            return {"sensitivity": value}
        case "property":
            return {"value": value}


def _chance(attained: Attained) -> list[BudgetEntry]:
    """Return what a count spends; what was computed spends nothing."""
    if attained.confidence == 1:
        return []
    return [BudgetEntry(purpose="a count that chance alone exceeds", alpha=1 - attained.confidence)]


def _found(attained: Attained) -> list[str]:
    notes = [f"Found at: {attained.instance}."]
    if attained.minimal is not None:
        notes.append(f"Smallest instance that breaks the claim: {attained.minimal}.")
    return notes
