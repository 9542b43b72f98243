"""An audit from settings to result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic

from numpy.random import default_rng

import dpaudit.auditing.calls as calls
import dpaudit.auditing.estimators.worst_pair as worst_pair
import dpaudit.auditing.explain.noise_lines as noise_lines
import dpaudit.auditing.explain.output_parts as output_parts
import dpaudit.auditing.explain.witness as witness
import dpaudit.auditing.pairs.smallest_pair as smallest_pair
import dpaudit.auditing.sampling.constant_parts as constant_parts
import dpaudit.auditing.sampling.first_calls as first_calls
import dpaudit.auditing.service.answer_checks as answer_checks
import dpaudit.extension.registry as registry
import dpaudit.redaction as redaction
from dpaudit.auditing.estimators.estimator_choice import is_from_losses, measure_case
from dpaudit.auditing.outcome.default_statement import make_case_statement
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.outcome.result import convert_to_claim_number, privacy_result, with_relation
from dpaudit.auditing.outcome.search_result import search_result
from dpaudit.auditing.repeat.certificate_draws import statistical_certificate
from dpaudit.auditing.repeat.own_certificate import own_certificate
from dpaudit.auditing.repeat.plan import AuditPlan, CallPlan, CommandPlan, Wording
from dpaudit.auditing.repeat.store_key import what_determines, with_machines
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.auditing.sampling.schedule import (
    Schedule,
    noting_what_decides,
    require_shares_alike,
    require_what_decides,
    tell_plan,
)
from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText
from dpaudit.execution import Executor, importable, one_thread, stream
from dpaudit.execution.failures import DrawTimeout
from dpaudit.extension.case import Case, PrivacyCase, SearchCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.foreign.isolated import Isolated, is_ours
from dpaudit.redaction import are_shown
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.schema import Result
from dpaudit.store.keeping import keep_audit


@dataclass(frozen=True)
class Audited:
    """An audit's result, certificate if refuted, whether interrupted, and looks if several.

    ``in_time`` is False where the time was over before anything could be certified.
    """

    result: Result
    certificate: Certificate | None
    interrupted: bool = False
    looks: Sequence[tuple[int, float]] | None = None
    in_time: bool = True


def audit_claim(name: str, settings: Settings, executor: Executor | None = None) -> Result:
    """Audit an installed claim.

    Parameters
    ----------
    name
        The claim.
    settings
        What is asked of the audit.
    executor
        Who computes; never changes a number.

    Raises
    ------
    UnknownName, InvalidArgument, DataError, MechanismError
        One line each, naming what has to change.

    Examples
    --------
    >>> result = audit_claim("huang2020-theorem6", Settings(trials=500))
    >>> result.verdict, round(result.proved.epsilon, 4)
    ('proved', 0.751)
    >>> result.measured.lower < 0.751 < result.measured.upper
    True
    """
    return run_claim(name, settings, executor or Executor()).result


def run_claim(name: str, settings: Settings, executor: Executor) -> Audited:
    """Audit an installed claim; return the result and, if it refutes the claim, a certificate.

    A refutation by drawing that comes with no certificate of its own gets one with its counts and
    seed, to be drawn again.

    Examples
    --------
    >>> audited = run_claim("hu2020-lemma1", Settings(trials=400), Executor())
    >>> audited.result.verdict, audited.certificate.kind
    ('refuted', 'sensitivity')
    """
    with redaction.run(settings.show_records):
        return prepare_claim(name, settings).run(executor)


@dataclass(frozen=True)
class Prepared:
    """An audit that is ready to run.

    Parameters
    ----------
    claim, case, settings
        The claim in words, its case, and how it is audited.
    plan
        How an audit that a file specifies is repeated. An installed claim's is made of its
        settings, and its counts can be drawn again.
    folder
        The folder of that file: modules beside it can be imported while the audit runs.
    """

    claim: Statement
    case: Case
    settings: Settings
    plan: AuditPlan | None = None
    folder: Path | None = None

    @property
    def draws(self) -> bool:
        """Whether what it certifies depends on chance."""
        if not isinstance(self.case, PrivacyCase):
            return False
        return self.case.at_delta > 0 or not is_from_losses(self.case, self.settings)

    def run(self, executor: Executor) -> Audited:
        """Run the audit; a refutation by drawing gets its counts and seed as a certificate."""
        plan = self.plan or CommandPlan.of_claim(self.claim.name, self.settings)
        with importable(self.folder):
            audited = run_case(
                self.case, self.settings, statement=self.claim, executor=executor, rerun=plan
            )
        audited = _without_records(audited, self.settings)
        refuted = audited.result.verdict == "refuted"
        if self.plan is not None or not refuted or audited.certificate is not None:
            return audited
        settings = self.settings
        if audited.looks is not None:
            settings = replace(settings, time=None, looks=audited.looks)
        return replace(audited, certificate=statistical_certificate(audited.result, settings))


def _without_records(audited: Audited, settings: Settings) -> Audited:
    """Withhold a certificate that holds somebody's records, if nobody asked for them."""
    shown = settings.data_is_public or settings.show_records or are_shown()
    hidden = {"statistical", "mechanism"}  # these hold none that are not to be shown
    if audited.certificate is None or shown or audited.certificate.kind in hidden:
        return audited
    result = audited.result
    noted = result.model_copy(update={"notes": [*result.notes, _WITHHELD]})
    return replace(audited, result=noted, certificate=None)


_WITHHELD = (
    "A certificate that needs no drawing would hold records of the data: it is written with "
    "--show-records alone."
)


def prepare_claim(name: str, settings: Settings) -> Prepared:
    """Return the audit of an installed claim, ready to run.

    Raises
    ------
    UnknownName, InvalidArgument, DataError
        One line, naming what has to change.

    Examples
    --------
    >>> prepare_claim("hu2020-lemma1", Settings()).draws
    False
    """
    claim = registry.CLAIMS.get(name)
    parameters = parse_parameters(claim.parameters, settings.parameters)
    with one_thread(), redaction.run(settings.show_records):
        case = claim.prepare(settings, parameters)
    if isinstance(case, SearchCase):
        _refuse_for_search(settings)
    elif settings.candidate_pairs is not None and not case.candidates:
        worst_pair.refuse_pair_ranking(settings.candidate_pairs)
    return Prepared(claim, case, settings)


def _refuse_for_search(settings: Settings) -> None:
    """Refuse what only means something where outputs are drawn."""
    if settings.until_refuted:
        expected = "a claim that is audited by drawing outputs; this one is searched"
        raise InvalidArgument("until_refuted", VerbatimText("--until-refuted"), expected)
    if settings.time is not None or settings.looks is not None:
        expected = "nothing: this claim is searched, and --trials is its budget"
        raise InvalidArgument("time", settings.time or VerbatimText("looks"), expected)
    if settings.candidate_pairs is not None:
        expected = "nothing: this claim is searched, over instances of its own"
        raise InvalidArgument("pairs", settings.candidate_pairs, expected)


def audit_case(
    case: Case,
    settings: Settings | None = None,
    *,
    statement: Statement | None = None,
    executor: Executor | None = None,
    rerun: AuditPlan | str | None = None,
) -> Result:
    """Audit a case that is already prepared.

    Parameters
    ----------
    case
        A mechanism and a pair with a claimed guarantee, or a search.
    settings
        Trials, confidence, seed, estimator and attack; the claimed guarantee is the case's.
    statement
        The claim in words, for the report; by default what the case itself says.
    executor
        Who computes; never changes a number.
    rerun
        How this audit is repeated: a plan, in which the audit states what it settles as it runs, or
        words, which the report shows as they are.

    Raises
    ------
    InvalidArgument, MechanismError
        One line, naming what has to change.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.auditing.api import own_case
    >>> from dpaudit.guarantees.kinds import PureDP
    >>> from dpaudit.neighbours import REPLACE_RECORD, Pair
    >>> def noisy_sum(dataset, trials, rng):
    ...     return dataset.sum() + rng.laplace(scale=0.5, size=trials)
    >>> pair = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)
    >>> case, _ = own_case(noisy_sum, pair, claimed=PureDP(1.0))
    >>> audit_case(case, Settings(trials=2000)).verdict
    'refuted'
    """
    return run_case(case, settings, statement=statement, executor=executor, rerun=rerun).result


def run_case(
    case: Case,
    settings: Settings | None = None,
    *,
    statement: Statement | None = None,
    executor: Executor | None = None,
    rerun: AuditPlan | str | None = None,
) -> Audited:
    """Audit a case; return the result, and the certificate that the case has for it, if any."""
    settings, executor = settings or Settings(), executor or Executor()
    claim, plan = statement or make_case_statement(case), _resolve_rerun_plan(rerun, settings)
    trials = case.default_trials if settings.trials is None else settings.trials
    known_by = what_determines(case, settings, trials)
    with one_thread(), _close_mechanism_after(case), redaction.run(settings.show_records):
        with keep_audit(claim.name, *known_by) as ledger, noting_what_decides(ledger):
            match case:
                case PrivacyCase():
                    found = _run_privacy(claim, case, settings, executor, plan, trials)
                case SearchCase():
                    found = _run_search(claim, case, settings, executor, plan, trials)
            if found.in_time and not found.interrupted:
                ledger.end()
        return replace(found, result=with_machines(found.result, ledger, executor))


@contextmanager
def _close_mechanism_after(case: Case) -> Iterator[None]:
    """End the processes of a mechanism that has some after its audit."""
    try:
        yield
    finally:
        if isinstance(case, PrivacyCase) and isinstance(case.mechanism, Isolated):
            case.mechanism.crew.close()


def _resolve_rerun_plan(rerun: AuditPlan | str | None, settings: Settings) -> AuditPlan:
    if rerun is None:
        return CallPlan.of_case(settings)
    return Wording(words=rerun) if isinstance(rerun, str) else rerun


def _run_privacy(
    claim: Statement,
    case: PrivacyCase,
    settings: Settings,
    executor: Executor,
    plan: AuditPlan,
    trials: int,
) -> Audited:
    schedule = Schedule.of(case, settings, executor, trials)
    try:
        with schedule.ending():
            return _run_scheduled(claim, schedule, plan)
    except DrawTimeout:
        again = str(plan.updated(time=settings.time))
        result = privacy_result(claim, case, schedule.out_of_time(), settings, again)
        return Audited(with_relation(result, case), None, in_time=False)
    except MechanismError as error:
        if (found := answer_checks.make_ended_evidence(error, case.mechanism)) is None:
            raise
        result = privacy_result(claim, case, found, settings, str(plan))
        return Audited(with_relation(result, case), None, in_time=False)


def _run_scheduled(claim: Statement, schedule: Schedule, plan: AuditPlan) -> Audited:
    laid_out = _resolve_schedule_layout(schedule)
    if not laid_out.changes:
        return _run_laid_out(claim, schedule, laid_out, plan)

    require_what_decides(schedule.executor)

    def run(own: Schedule) -> Audited:
        return _run_laid_out(claim, own, _resolve_schedule_layout(own), plan)

    return calls.at_both(run, schedule)


def _resolve_schedule_layout(schedule: Schedule) -> output_parts.LaidOut:
    return output_parts.resolve_case_layout(
        schedule.case,
        schedule.settings.seed,
        schedule.executor,
        schedule.first_trials,
        by_looks=schedule.by_looks,
    )


def _run_laid_out(
    claim: Statement, schedule: Schedule, laid_out: output_parts.LaidOut, plan: AuditPlan
) -> Audited:
    settings, began = schedule.settings, monotonic()
    chosen = worst_pair.choose_worst_pair(
        laid_out.case, schedule.executor, settings, schedule.trials
    )
    first = laid_out.first
    by = schedule.executor if first is not None and first.is_slow else None
    case, unjudged = constant_parts.remove_constant_parts(
        chosen.case, settings.seed, laid_out.count, by
    )
    drawer = Drawer.probing(
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
    asked = answer_checks.Asking.of(case.mechanism)
    if not is_from_losses(case, settings):
        tell_plan(schedule, drawer, began)
    taken = None
    if schedule.by_looks:
        evidence, taken, unit = schedule.evidence(drawer, partial(measure_case, case))
        plan = plan.with_looks(taken)
    else:
        evidence, unit = measure_case(case, drawer, settings, chosen.trials), drawer.unit
        evidence = replace(evidence, unit=unit)
    if not is_ours(case.mechanism):
        plan = plan.with_unit(unit)
    against = convert_to_claim_number(case, case.claimed)
    evidence = answer_checks.judged(evidence, drawer, asked, chosen.trials, against)
    evidence = _add_search_notes(
        constant_parts.of_the_rest(evidence, case, unjudged), chosen, drawer
    )
    evidence = output_parts.of_bets_on_nothing(evidence, case.mechanism)
    evidence = first_calls.of_first_calls(evidence, case, settings.seed)
    if evidence.interrupted:
        plan = plan.updated(trials=evidence.trials)
    if evidence.at_delta is not None:
        case = replace(case, at_delta=evidence.at_delta)
    result = privacy_result(claim, case, evidence, settings, str(plan), chosen.search)
    result = with_relation(result, case)
    if result.verdict != "refuted":
        return Audited(result, None, evidence.interrupted, taken)
    if not evidence.interrupted:
        result = _add_explanation(result, case, drawer, schedule)
    if case.certify is None and evidence.interrupted:
        return Audited(result, None, evidence.interrupted, taken)
    again = replace(settings, unit=unit) if drawer.chosen_by_pace else settings
    again = again if taken is None else replace(again, time=None, looks=taken)
    again = again if chosen.search is None else replace(again, trials=chosen.trials)
    return Audited(result, _make_case_certificate(result, case, again), evidence.interrupted, taken)


def _add_search_notes(
    evidence: MeasurementEvidence, chosen: worst_pair.CaseChoice, drawer: Drawer
) -> MeasurementEvidence:
    """Return evidence with what a search for pairs drew, and where nobody can repeat it."""
    if chosen.search is not None:
        ranked = {"ranking pairs, per dataset": chosen.search.transcripts}
        evidence = replace(
            evidence,
            counts=evidence.counts | ranked,
            notes=(worst_pair.format_pair_search(chosen.search), *evidence.notes),
        )
    if drawer.own:
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
    """Return a refutation with what leaked, and on how small a pair where no time is set."""
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


def _run_search(
    claim: Statement,
    case: SearchCase,
    settings: Settings,
    executor: Executor,
    plan: AuditPlan,
    trials: int,
) -> Audited:
    executor.progress.start("searching", trials)
    attained = case.attain(trials, default_rng(stream(settings.seed, "search")))
    executor.progress.advance(trials)
    if math.isnan(attained.ratio):
        sides = f"{attained.value} <= {attained.bound}"
        raise MechanismError(f"{claim.name}: the search returned {sides}, expected two numbers")
    result = search_result(claim, case, attained, settings, trials, str(plan))
    return Audited(result, attained.certificate if result.verdict == "refuted" else None)
