"""The result that is reported: from a privacy case and its evidence, or from a search.

A verdict says what a certified number means for a claim, never that something is private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import Any

import numpy as np

import dpaudit.auditing.estimators.metric_claims as metric_claims
import dpaudit.auditing.explain.carrying_event as carrying
import dpaudit.auditing.outcome.declared_release as declared_release
import dpaudit.estimation.independence as independence
import dpaudit.faults.codes as codes
from dpaudit.accounting.strongest_guarantee import TabulatedDP
from dpaudit.auditing.explain.output_parts import UNVARYING
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.estimation.self_check import CheckOutcome as ComputedCheck
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.currency import Currency
from dpaudit.guarantees.kinds import GaussianDP, Guarantee
from dpaudit.mechanisms.foreign.code_identity import code_of
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.neighbours.found_relations import DeclaredRelation, depends_on_reading
from dpaudit.report.counts import BinCounts, ScoreCounts, WealthPath
from dpaudit.report.document import Result
from dpaudit.report.formatting import format_significant, share_of
from dpaudit.report.schema import (
    AssumptionCheck,
    BudgetEntry,
    CarryingEvent,
    Claimed,
    CodeFile,
    DeltaCurves,
    Measured,
    ModelBased,
    PairSearch,
    ProofStop,
    Proved,
    SelfCheck,
    TradeOffCurves,
)
from dpaudit.verdicts import RELATIVE_ROUNDING, Verdict, judge_claimed_number


def format_verdict_reason(
    quantity: str,
    claimed: float,
    lower: float,
    verdict: Verdict,
    subject: str = "The certified lower bound",
    *,
    long: bool = False,
    cap: float | None = None,
    proved: float | None = None,
) -> str:
    """Return the verdict's reason in one sentence; the certified end is rounded down.

    A ``long`` name of the quantity comes after its number; ``cap`` is the most that so many outputs
    can certify, and ``proved`` what a theorem gives, which is rounded up.

    Examples
    --------
    >>> format_verdict_reason("epsilon", 20.0, 20.0001, "refuted")
    'The certified lower bound 20.0001 exceeds the claimed epsilon 20.'
    >>> format_verdict_reason("epsilon", 1.0, 0.5, "proved", proved=0.75)[:73]
    'A theorem proves at most 0.75, which does not exceed the claimed epsilon '
    """
    claim = format_significant(claimed)
    stated = f"{claim}, the claimed {quantity}" if long else f"the claimed {quantity} {claim}"
    if verdict == "refuted":
        return f"{subject} {_format_number_above(lower, claimed)} exceeds {stated}."
    shown = format_significant(lower, rounding=ROUND_FLOOR)
    if verdict == "proved" and proved is not None:
        return (
            f"A theorem proves at most {_format_number_within(proved, claimed)}, which does not "
            "exceed "
            f"{stated}. {subject} {shown} agrees with it."
        )
    share = f"; it reaches {share_of(max(lower, 0.0), claimed)} of the claim" if claimed > 0 else ""
    return (
        f"{subject} {shown} does not exceed {stated}{share}. "
        f"This is not evidence that the claim holds.{_at_most(cap, claimed)}"
    )


def _at_most(cap: float | None, claimed: float) -> str:
    """Return the most that so many outputs can show, and whether that is too little."""
    if cap is None:
        return ""
    few = "" if cap > claimed else ", which is not enough to refute the claim"
    return (
        " This many outputs can certify at most "
        f"{format_significant(cap, rounding=ROUND_FLOOR)}{few}."
    )


def _format_number_above(lower: float, claimed: float) -> str:
    """Return ``lower``, rounded down, with the digits that show it above the claim."""
    for digits in range(4, 12):
        # The claim is compared as it is printed: a number that looks equal would contradict the
        # verdict.
        shown = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(f"{lower:.12g}")
        if shown > Decimal(f"{claimed:.4g}"):
            return format_significant(lower, digits, ROUND_FLOOR)
    return format_significant(lower, 12, ROUND_FLOOR)


def _format_number_within(proved: float, claimed: float) -> str:
    """Return the proved number, rounded up, with the digits that show it within the claim."""
    for digits in range(4, 12):
        shown = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(f"{proved:.12g}")
        if shown <= Decimal(f"{claimed:.4g}"):
            return format_significant(proved, digits, ROUND_CEILING)
    return (
        format_significant(claimed)
        if math.isclose(proved, claimed)
        else format_significant(proved, 12, ROUND_CEILING)
    )


_ABOUT_DOUBLES = (
    "The verdict is about outputs as doubles, with all their bits; a proof about real numbers does "
    "not decide it."
)
_RATES = tuple(np.concatenate([np.geomspace(1e-6, 0.05, 40), np.linspace(0.06, 1, 48)]).tolist())


def privacy_result(
    claim: Statement,
    case: PrivacyCase,
    evidence: MeasurementEvidence,
    settings: Settings,
    rerun: str,
    pair_search: PairSearch | None = None,
) -> Result:
    """Return the result of a privacy audit.

    A failed self-check means that the law is not that of the code, a broken contract that bounds on
    outputs say nothing: the numbers computed with them are withheld, and so is the verdict.
    """
    claimed = convert_to_claim_number(case, case.claimed)
    # Where a check failed nothing is certified, whatever was counted.
    lower = evidence.lower if evidence.trusted else 0.0
    # A theorem about real numbers decides nothing about doubles.
    theorems = replace(case, proved=None, pair_ceiling=None) if settings.are_bits_tried else case
    proved = _for_all_neighbours(theorems)
    verdict = judge_claimed_number(claimed, lower, proved=proved, trusted=evidence.trusted)
    said = _privacy_reason(
        evidence,
        claimed,
        lower,
        verdict,
        case.assumptions,
        _compute_proved_ceiling(theorems),
        _get_claim_quantity(case),
        _get_declared_bound(theorems),
        proved,
    )
    event = carrying_event(evidence, verdict)
    carried = [] if event is None else [event.sentence]
    refuted = verdict == "refuted"
    return Result(
        claim=claim.name,
        kind="privacy",
        statement=claim.statement,
        source=claim.source,
        verdict=verdict,
        reason=" ".join([said, *(carried if refuted else [])]),
        fault=_fault_of_checks(evidence),
        claimed=Claimed(**_make_privacy_fields(case, claimed)),
        a_unit=metric_claims.in_document(case),
        proved=_make_proved(case),
        proof_stop=_proof_stop(case),
        requires_proof=case.requires_proof,
        quantity=None if _is_epsilon(case) else _require_claim_currency(case).symbol,
        measured=_make_measured(case, evidence, settings, lower),
        trials=evidence.trials,
        seed=settings.seed,
        view=case.view,
        relation=case.pair.relation.name,
        pair=metric_claims.of_pair(case),
        data=case.data,
        parameters=to_plain_json(case.parameters),
        assumptions=assumption_checks(claim, case.assumptions),
        self_checks=[_self_check(check) for check in evidence.self_checks],
        contract=[SelfCheck(**asdict(check)) for check in evidence.contract],
        budget=[BudgetEntry(purpose=p, alpha=a) for p, a in evidence.budget.items()],
        delta_curves=_delta_curves(case, evidence),
        trade_off=_trade_off(case, evidence),
        model_based=[ModelBased(**asdict(one)) for one in evidence.model_based],
        wealth=None if evidence.wealth is None else WealthPath(**asdict(evidence.wealth)),
        scores=None if evidence.scores is None else ScoreCounts(**asdict(evidence.scores)),
        carrying_event=event,
        bin_counts=_bin_counts(evidence),
        pair_search=pair_search,
        unvarying=case.unvarying,
        law=evidence.law,
        notes=[
            *([] if refuted else carried),
            *([_ABOUT_DOUBLES] if settings.are_bits_tried else []),
            *case.notes,
            *evidence.notes,
        ],
        counts=evidence.counts,
        unit=evidence.unit,
        repeatable=evidence.repeatable,
        code=_code_file(case),
        observe=[] if case.reading is None else list(case.reading.observe),
        rerun=rerun,
    )


def _code_file(case: PrivacyCase) -> CodeFile | None:
    """Return the file of a mechanism of one's own; None of an installed claim, or of no file."""
    if case.reading is None:
        return None
    mechanism = case.mechanism
    found = mechanism.code if isinstance(mechanism, IsolatedMechanism) else code_of(mechanism)
    return None if found is None else CodeFile(**found._asdict())


def _self_check(check: ComputedCheck) -> SelfCheck:
    """Return a check of the law as a report has it: one that failed shows that code has another."""
    return SelfCheck(**{**asdict(check), "fault": None if check.passed else codes.OTHER_LAW})


def _fault_of_checks(evidence: MeasurementEvidence) -> str | None:
    """Return the kind of fault that checks which failed show, if they decide one."""
    failed = [check for check in evidence.contract if not check.passed]
    if not failed:
        return None if evidence.trusted else codes.OTHER_LAW
    # A check with a cause of its own says more than a test of independence, which only shows that
    # something depends.
    seen = (one.fault for one in failed if one.fault and not independence.is_from_here(one))
    return next(seen, None) or independence.fault_of(failed)


def carrying_event(evidence: MeasurementEvidence, verdict: Verdict) -> CarryingEvent | None:
    """Return the event that carries a bound, None where nothing is certified or none does."""
    if evidence.carrying is None or not evidence.trusted or evidence.carrying.epsilon == 0:
        return None
    return carrying.in_document(evidence.carrying, verdict == "refuted")


def _bin_counts(evidence: MeasurementEvidence) -> BinCounts | None:
    """Return the counts of bins that carry a bound, None where nothing is certified by any."""
    if evidence.bins is None or not evidence.trusted or evidence.bins.bound == 0:
        return None
    return BinCounts(**asdict(evidence.bins))


def to_plain_json(value: Any) -> Any:
    """Return ``value`` as JSON reads it back: lists, plain numbers, text for the rest.

    A finished audit must be writable whatever a third party puts into its parameters.

    Examples
    --------
    >>> to_plain_json({"sizes": (1, np.int64(2)), "where": len})
    {'sizes': [1, 2], 'where': '<built-in function len>'}
    """
    match value:
        case Mapping():
            return {str(key): to_plain_json(item) for key, item in value.items()}
        case np.ndarray() | np.generic():
            return to_plain_json(value.tolist())
        case list() | tuple() | set():
            return [to_plain_json(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _make_measured(
    case: PrivacyCase, evidence: MeasurementEvidence, settings: Settings, lower: float
) -> Measured:
    ceiling = case.pair_ceiling
    withheld = None if evidence.trusted else "a check failed: nothing is certified"
    return Measured(
        lower=lower,
        upper=evidence.upper if evidence.trusted else None,
        # Without a budget the number was computed and not estimated.
        confidence=settings.confidence if evidence.budget else 1.0,
        estimate=evidence.estimate if evidence.trusted else None,
        estimator=evidence.estimator,
        upper_note=withheld or evidence.upper_note,
        cap=evidence.cap,
        pair_ceiling=None if ceiling is None else convert_to_claim_number(case, ceiling.guarantee),
    )


def _privacy_reason(
    evidence: MeasurementEvidence,
    claimed: float,
    lower: float,
    verdict: Verdict,
    assumptions: Iterable[AssumptionOutcome],
    ceiling: float | None,
    name: str = "epsilon",
    declared: float | None = None,
    proved: float | None = None,
) -> str:
    if broken_contract := [check for check in evidence.contract if not check.passed]:
        return (
            f"Nothing is certified, because {broken_contract[0].statement} (failed check: "
            f"{broken_contract[0].name})."
        )
    if not evidence.trusted:
        failed = [check.name for check in evidence.self_checks if not check.passed]
        return (
            f"Nothing is certified: the self-check of the {', '.join(failed)} failed, so the "
            "code that ran does not have the law that the audit used."
        )
    broken = [outcome.name for outcome in assumptions if not outcome.holds]
    caveat = f" Assumptions that do not hold here: {', '.join(broken)}." if broken else ""
    if verdict == "refuted" and evidence.self_checks:
        caveat += " The bound rests on the stated law, which no self-check contradicted."
    if declared is not None:
        caveat += (
            f" {declared_release.format_release_comparison(claimed, declared, lower)}".rstrip()
        )
        ceiling = None
    if ceiling is not None and lower > ceiling * (1 + RELATIVE_ROUNDING):
        caveat += (
            f" The bound also exceeds the proved {format_significant(ceiling)}: either the proof "
            "or the law is wrong, or this is one of the few audits that the confidence allows "
            "to err."
        )
    long, cap = name[-1].isdigit(), evidence.cap
    said = format_verdict_reason(name, claimed, lower, verdict, long=long, cap=cap, proved=proved)
    return f"{said}{caveat} {evidence.remark}".rstrip()


def _for_all_neighbours(case: PrivacyCase) -> float | None:
    """Return the bound of a theorem for all neighbours of the run mechanism; None without one.

    What is proved of a release as declared is nothing about the code, what is proved of a pair
    nothing about others, and a theorem says nothing where an assumption does not hold.
    """
    if case.proved is None or case.proved.declared:
        return None
    if not all(outcome.holds for outcome in case.assumptions):
        return None
    return convert_to_claim_number(case, case.proved.guarantee)


def _compute_proved_ceiling(case: PrivacyCase) -> float | None:
    """Return the smallest epsilon that is proved for the pair, if any is."""
    proofs = [proof for proof in (case.proved, case.pair_ceiling) if proof is not None]
    return min((convert_to_claim_number(case, proof.guarantee) for proof in proofs), default=None)


def _make_proved(case: PrivacyCase) -> Proved | None:
    if (proof := case.proved) is None:
        return None
    value = convert_to_claim_number(case, proof.guarantee)
    if case.currency is not None and math.isinf(value):
        return None
    return Proved(**_make_privacy_fields(case, value), source=proof.source, declared=proof.declared)


def _proof_stop(case: PrivacyCase) -> ProofStop | None:
    return None if case.proof_stop is None else ProofStop(**asdict(case.proof_stop))


def convert_to_claim_number(case: PrivacyCase, guarantee: Guarantee) -> float:
    """Return a guarantee in the number of a case's claim."""
    if case.currency is None:
        return guarantee.epsilon(case.at_delta)
    # The claim itself is shown in the number that was stated, without a conversion that rounds.
    if guarantee == case.claimed:
        return case.currency.claimed(case.at_delta)
    return case.currency.of(guarantee, case.at_delta)


def _get_declared_bound(case: PrivacyCase) -> float | None:
    """Return the proved bound for the declared release, if there is one."""
    if case.proved is None or not case.proved.declared:
        return None
    return convert_to_claim_number(case, case.proved.guarantee)


def _is_epsilon(case: PrivacyCase) -> bool:
    return _get_claim_quantity(case) == "epsilon"


def _get_claim_quantity(case: PrivacyCase) -> str:
    return "epsilon" if case.currency is None else case.currency.name


def _require_claim_currency(case: PrivacyCase) -> Currency:
    assert case.currency is not None
    return case.currency


def _make_privacy_fields(case: PrivacyCase, value: float) -> dict[str, Any]:
    """Return a number of a claim about privacy as it is reported."""
    return {"epsilon": value, "delta": case.at_delta} if _is_epsilon(case) else {"value": value}


def assumption_checks(
    claim: Statement, outcomes: Iterable[AssumptionOutcome]
) -> list[AssumptionCheck]:
    """Return the outcomes with the claim's statements of them."""
    return [
        AssumptionCheck(
            name=outcome.name,
            statement=claim.assumptions.get(outcome.name, outcome.name),
            holds=outcome.holds,
            evidence=outcome.evidence,
        )
        for outcome in outcomes
    ]


def _delta_curves(case: PrivacyCase, evidence: MeasurementEvidence) -> DeltaCurves | None:
    epsilons = evidence.epsilons
    if not epsilons:
        # A claim of 0 would leave the plot without width.
        top = case.claimed.epsilon(case.at_delta) * 1.6 or 1.0
        epsilons = tuple(np.linspace(0.0, top, 41).tolist())
    band = evidence.band if evidence.trusted else None
    return DeltaCurves(
        epsilon=list(epsilons),
        claimed=_compute_curve_deltas(_get_plotted_guarantee(case), epsilons),
        proved=None
        if case.proved is None
        else _compute_curve_deltas(case.proved.guarantee, epsilons),
        band_lower=None if band is None else list(band.lower),
        band_upper=None if band is None else list(band.upper),
        band_confidence=None if band is None else band.confidence,
    )


def _get_plotted_guarantee(case: PrivacyCase) -> Guarantee:
    """Return the claim as curves show it: from a table where it takes long to ask."""
    quick = case.currency is None or isinstance(case.claimed, GaussianDP)
    return case.claimed if quick else TabulatedDP(case.claimed)


def _of_proof(case: PrivacyCase) -> Guarantee | None:
    """Return the proved guarantee as curves show it: of a declared release, from a table."""
    if case.proved is None or not case.proved.declared:
        return None if case.proved is None else case.proved.guarantee
    return TabulatedDP(case.proved.guarantee)


def _compute_curve_deltas(guarantee: Guarantee, epsilons: Sequence[float]) -> list[float]:
    return [guarantee.delta(epsilon) for epsilon in epsilons]


def _trade_off(case: PrivacyCase, evidence: MeasurementEvidence) -> TradeOffCurves:
    claimed, proved = _get_plotted_guarantee(case), _of_proof(case)
    return TradeOffCurves(
        false_positive_rate=list(_RATES),
        claimed=list(_rates_of(claimed)),
        proved=None if proved is None else list(_rates_of(proved)),
        measured=None if evidence.roc is None else _estimate_rates_on_grid(*evidence.roc),
    )


@lru_cache(maxsize=64)
def _rates_of(guarantee: Guarantee) -> tuple[float, ...]:
    """Return the rates of a guarantee; one claim may have many audits."""
    return tuple(guarantee.trade_off(rate) for rate in _RATES)


def _estimate_rates_on_grid(
    false_positive: Sequence[float], false_negative: Sequence[float]
) -> list[float | None] | None:
    """Return the false-negative rates at `_RATES`, None outside the rates that were seen."""
    if not false_positive:
        return None
    curve = np.interp(_RATES, false_positive, false_negative, left=np.nan, right=np.nan)
    return [None if np.isnan(value) else float(value) for value in curve]


def with_relation(result: Result, case: PrivacyCase) -> Result:
    """Return a result that says by which relation the two are neighbours, if none was named.

    Of a claim a unit of distance it says how far they are apart.
    Of a refutation also what another relation would say of it and whether nobody stated bounds, and
    of what is not refuted whether its outputs varied at all.
    """
    relation = case.pair.relation
    more = list[str]()
    if case.relation_was_read:
        more = [f"The smallest relation that explains the difference is {relation.name}."]
        if result.verdict == "refuted":
            more += _on_another_reading(case, result.measured.lower)
    elif isinstance(relation, DeclaredRelation):
        more = [f"Neighbours: {relation.statement}."]
    if (said := metric_claims.format_pair_distance(result)) is not None:
        more.append(said)
    if result.verdict == "refuted" and case.caveat is not None:
        more.append(case.caveat)
    if result.verdict == "not refuted" and result.unvarying:
        more.append(UNVARYING)
    notes = [note for note in result.notes if note not in more]
    return result.model_copy(update={"reason": " ".join([result.reason, *more]), "notes": notes})


def _on_another_reading(case: PrivacyCase, lower: float) -> list[str]:
    claimed = convert_to_claim_number(case, case.claimed)
    allowed = convert_to_claim_number(case, case.claimed.group(2))
    other = depends_on_reading(case.pair.relation, claimed, allowed, lower)
    return [] if other is None else [other]
