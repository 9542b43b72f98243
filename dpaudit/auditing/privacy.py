"""The audit of a privacy case: prepare the pair, measure it, judge and explain."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

import dpaudit.auditing.calls as calls
import dpaudit.auditing.estimators.worst_pair as worst_pair
import dpaudit.auditing.explain.noise_lines as noise_lines
import dpaudit.auditing.explain.output_parts as output_parts
import dpaudit.auditing.explain.witness as witness
import dpaudit.auditing.pairs.smallest_pair as smallest_pair
import dpaudit.auditing.sampling.constant_parts as constant_parts
import dpaudit.auditing.sampling.first_calls as first_calls
import dpaudit.auditing.service.answer_checks as answer_checks
from dpaudit.auditing.audit_outcome import AuditOutcome
from dpaudit.auditing.estimators.estimator_choice import is_from_losses, measure_case
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.outcome.result import convert_to_claim_number, privacy_result, with_relation
from dpaudit.auditing.repeat.own_certificate import own_certificate
from dpaudit.auditing.repeat.plan import AuditPlan
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.auditing.sampling.schedule import (
    Schedule,
    require_shares_alike,
    require_what_decides,
    tell_plan,
)
from dpaudit.errors import MechanismError
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.execution import Executor
from dpaudit.execution.failures import DrawTimeout
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.mechanism import is_ours, layout_of, outside_of
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.schema import Result


def run_privacy(
    claim: Statement,
    case: PrivacyCase,
    settings: Settings,
    executor: Executor,
    plan: AuditPlan,
    trials: int,
) -> AuditOutcome:
    """Audit a mechanism on a pair; an audit that ends early returns a result that says so."""
    schedule = Schedule.of(case, settings, executor, trials)
    try:
        with schedule.ending():
            return _run_scheduled(claim, schedule, plan)
    except DrawTimeout:
        again = str(plan.updated(time=settings.time))
        result = privacy_result(claim, case, schedule.out_of_time(), settings, again)
        return AuditOutcome(with_relation(result, case), None, in_time=False)
    except MechanismError as error:
        if (found := answer_checks.make_ended_evidence(error, case.mechanism)) is None:
            raise
        result = privacy_result(claim, case, found, settings, str(plan))
        return AuditOutcome(with_relation(result, case), None, in_time=False)


def _run_scheduled(claim: Statement, schedule: Schedule, plan: AuditPlan) -> AuditOutcome:
    laid_out = _resolve_schedule_layout(schedule)
    if not laid_out.changes:
        return _audit_layout(claim, schedule, laid_out, plan)

    require_what_decides(schedule.executor)

    def run(own: Schedule) -> AuditOutcome:
        return _audit_layout(claim, own, _resolve_schedule_layout(own), plan)

    return calls.at_both(run, schedule)


def _resolve_schedule_layout(schedule: Schedule) -> output_parts.CaseLayout:
    return output_parts.resolve_case_layout(
        schedule.case,
        schedule.settings.seed,
        schedule.executor,
        schedule.first_trials,
        by_looks=schedule.by_looks,
    )


@dataclass(frozen=True, eq=False)
class PreparedPair:
    """The pair that an audit draws from.

    Parameters
    ----------
    schedule
        With the case that is drawn, whose constant parts are left out, and its trials.
    choice
        How the pair was chosen, where there were several.
    unjudged
        Why nothing is said of parts that every answer has in common; None where nothing is open.
    drawer
        What draws outputs.
    asking
        Checks of the answers of a service; None where it is no service.
    """

    schedule: Schedule
    choice: worst_pair.CaseChoice
    unjudged: CheckOutcome | None
    drawer: Drawer
    asking: answer_checks.Asking | None


@dataclass(frozen=True, eq=False)
class Measurement:
    """The measurement of a pair.

    Parameters
    ----------
    case
        At the delta that the evidence is about.
    evidence
        Measured numbers, and everything that supports them.
    unit
        Trials that share a seed.
    looks
        Trials and share of the error probability of each look; None without looks.
    """

    case: PrivacyCase
    evidence: MeasurementEvidence
    unit: int
    looks: Sequence[tuple[int, float]] | None


def _audit_layout(
    claim: Statement, schedule: Schedule, laid_out: output_parts.CaseLayout, plan: AuditPlan
) -> AuditOutcome:
    """Audit a case whose outputs have a known layout."""
    prepared = prepare_pair(schedule, laid_out)
    found = measure_pair(prepared)
    audited = judge_measurement(claim, prepared, found, plan)
    return audited if audited.result.verdict != "refuted" else explain(audited, prepared, found)


def prepare_pair(schedule: Schedule, laid_out: output_parts.CaseLayout) -> PreparedPair:
    """Choose the pair, leave out constant parts, and probe how outputs are drawn."""
    settings, began = schedule.settings, monotonic()
    chosen = worst_pair.choose_worst_pair(
        laid_out.case, schedule.executor, settings, schedule.trials
    )
    first = laid_out.first
    by = schedule.executor if first is not None and first.is_slow else None
    case, unjudged = constant_parts.remove_constant_parts(
        chosen.case, settings.seed, laid_out.count, by
    )
    drawer = make_drawer(
        case.mechanism,
        case.pair,
        schedule.executor,
        settings.seed,
        trials=0 if settings.until_refuted else chosen.trials,
        unit=settings.unit,
        first=first,
    )
    schedule = replace(schedule, case=case, trials=chosen.trials)
    require_shares_alike(drawer, settings)
    asking = answer_checks.Asking.of(outside_of(case.mechanism))
    if not is_from_losses(case, settings):
        tell_plan(schedule, drawer, began)
    return PreparedPair(schedule, chosen, unjudged, drawer, asking)


def measure_pair(prepared: PreparedPair) -> Measurement:
    """Measure a pair, look by look where there are looks, and check how it was measured."""
    schedule, drawer = prepared.schedule, prepared.drawer
    case, looks = schedule.case, None
    if schedule.by_looks:
        evidence, looks, unit = schedule.evidence(drawer, partial(measure_case, case))
    else:
        evidence = measure_case(case, drawer, schedule.settings, schedule.trials)
        unit = drawer.unit
        evidence = replace(evidence, unit=unit)
    evidence = _check_evidence(evidence, prepared)
    if evidence.at_delta is not None:
        case = replace(case, at_delta=evidence.at_delta)
    return Measurement(case, evidence, unit, looks)


def _check_evidence(evidence: MeasurementEvidence, prepared: PreparedPair) -> MeasurementEvidence:
    """Return evidence with the checks of answers, constant parts, bets and first calls."""
    schedule, drawer = prepared.schedule, prepared.drawer
    case = schedule.case
    against = convert_to_claim_number(case, case.claimed)
    evidence = answer_checks.add_answer_checks(
        evidence, drawer, prepared.asking, schedule.trials, against
    )
    evidence = constant_parts.of_the_rest(evidence, case, prepared.unjudged)
    evidence = _add_search_notes(evidence, prepared.choice, drawer)
    evidence = output_parts.of_bets_on_nothing(evidence, layout_of(case.mechanism))
    return first_calls.of_first_calls(evidence, case, schedule.settings.seed)


def judge_measurement(
    claim: Statement, prepared: PreparedPair, found: Measurement, plan: AuditPlan
) -> AuditOutcome:
    """Judge the claim by the measurement; the result says how to repeat the audit."""
    case, evidence = found.case, found.evidence
    again = str(_update_plan(plan, found))
    settings, search = prepared.schedule.settings, prepared.choice.search
    result = privacy_result(claim, case, evidence, settings, again, search)
    return AuditOutcome(with_relation(result, case), None, evidence.interrupted, found.looks)


def _update_plan(plan: AuditPlan, found: Measurement) -> AuditPlan:
    """Return a plan with the settings that the audit fixed while it ran."""
    if found.looks is not None:
        plan = plan.with_looks(found.looks)
    if not is_ours(found.case.mechanism):
        plan = plan.with_unit(found.unit)
    return plan.updated(trials=found.evidence.trials) if found.evidence.interrupted else plan


def explain(audited: AuditOutcome, prepared: PreparedPair, found: Measurement) -> AuditOutcome:
    """Return a refutation with its witness and, where outputs allow one, a certificate."""
    result, case = audited.result, found.case
    if not audited.interrupted:
        result = _add_explanation(result, case, prepared.drawer, prepared.schedule)
    certificate = None
    if case.certify is not None or not audited.interrupted:
        settings = _settle_settings(prepared, found)
        certificate = _make_case_certificate(result, case, settings)
    return replace(audited, result=result, certificate=certificate)


def _settle_settings(prepared: PreparedPair, found: Measurement) -> Settings:
    """Return the settings that repeat an audit, with those that it fixed while it ran."""
    settings = prepared.schedule.settings
    if prepared.drawer.chosen_by_pace:
        settings = replace(settings, unit=found.unit)
    if found.looks is not None:
        settings = replace(settings, time=None, looks=found.looks)
    if prepared.choice.search is not None:
        settings = replace(settings, trials=prepared.choice.trials)
    return settings


def _add_search_notes(
    evidence: MeasurementEvidence, chosen: worst_pair.CaseChoice, drawer: Drawer
) -> MeasurementEvidence:
    """Return evidence with the outputs of a search for pairs, and where nobody can repeat it."""
    if chosen.search is not None:
        ranked = {"ranking pairs, per dataset": chosen.search.transcripts}
        evidence = replace(
            evidence,
            counts=evidence.counts | ranked,
            notes=(worst_pair.format_pair_search(chosen.search), *evidence.notes),
        )
    if drawer.has_own_randomness:
        evidence = replace(evidence, repeatable=False, notes=(*evidence.notes, _OWN_RANDOMNESS))
    return evidence


def _make_case_certificate(
    result: Result, case: PrivacyCase, settings: Settings
) -> Certificate | None:
    """Return the certificate that a case makes itself, or that of its outputs."""
    if case.certify is not None:
        return case.certify(result.measured.lower)
    return own_certificate(result, case, settings)


def _add_explanation(
    result: Result, case: PrivacyCase, drawer: Drawer, schedule: Schedule
) -> Result:
    """Return a refutation with its witness, and on how small a pair where no time is set."""
    alpha = 1 - schedule.settings.confidence
    if schedule.has_time_to_explain(drawer):
        with suppress(DrawTimeout):
            result = noise_lines.add_noise_lines(
                witness.add_witness(result, case, drawer, alpha), case
            )
            return (
                result
                if schedule.by_looks
                else smallest_pair.add_smallest_pair(result, case, drawer, alpha)
            )
    return result.model_copy(update={"notes": [*result.notes, _UNEXPLAINED]})


_UNEXPLAINED = "The time was too short to look for which part of the output leaked."
_OWN_RANDOMNESS = (
    "Two calls with the same generator returned different outputs: the mechanism has randomness or "
    "a state of its own, and no seed repeats what was drawn."
)
