"""An audit from settings to result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from numpy.random import default_rng

import dpaudit.auditing.estimators.worst_pair as worst_pair
import dpaudit.extension.registry as registry
import dpaudit.redaction as redaction
from dpaudit.auditing.audit_outcome import AuditOutcome
from dpaudit.auditing.estimators.estimator_choice import is_from_losses
from dpaudit.auditing.outcome.default_statement import make_case_statement
from dpaudit.auditing.outcome.search_result import search_result
from dpaudit.auditing.privacy import run_privacy
from dpaudit.auditing.repeat.certificate_draws import statistical_certificate
from dpaudit.auditing.repeat.plan import AuditPlan, CallPlan, CommandPlan, Wording
from dpaudit.auditing.repeat.store_key import what_determines, with_machines
from dpaudit.auditing.sampling.schedule import (
    noting_what_decides,
)
from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText
from dpaudit.execution import Executor, importable, one_thread, stream
from dpaudit.extension.case import Case, PrivacyCase, SearchCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.redaction import are_shown
from dpaudit.report.schema import Result
from dpaudit.store.keeping import keep_audit


def audit_claim(name: str, settings: Settings, executor: Executor | None = None) -> Result:
    """Audit an installed claim.

    Parameters
    ----------
    name
        The name of the claim.
    settings
        The settings of the audit.
    executor
        The executor that runs the audit's work; it never changes a number.

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


def run_claim(name: str, settings: Settings, executor: Executor) -> AuditOutcome:
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
class PreparedAudit:
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
        """Return whether the evidence depends on chance."""
        if not isinstance(self.case, PrivacyCase):
            return False
        return self.case.at_delta > 0 or not is_from_losses(self.case, self.settings)

    def run(self, executor: Executor) -> AuditOutcome:
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


def _without_records(audited: AuditOutcome, settings: Settings) -> AuditOutcome:
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


def prepare_claim(name: str, settings: Settings) -> PreparedAudit:
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
    return PreparedAudit(claim, case, settings)


def _refuse_for_search(settings: Settings) -> None:
    """Refuse settings that have a meaning only if outputs are drawn."""
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
        The claim in words, for the report; by default the statement of the case.
    executor
        The executor that runs the audit's work; it never changes a number.
    rerun
        The way to repeat this audit: a plan, to which the audit adds the decisions that it makes as
        it runs, or words, which the report shows as they are.

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
) -> AuditOutcome:
    """Audit a case; return the result, and the certificate that the case has for it, if any."""
    settings, executor = settings or Settings(), executor or Executor()
    claim, plan = statement or make_case_statement(case), _resolve_rerun_plan(rerun, settings)
    trials = case.default_trials if settings.trials is None else settings.trials
    known_by = what_determines(case, settings, trials)
    with one_thread(), _close_mechanism_after(case), redaction.run(settings.show_records):
        with keep_audit(claim.name, *known_by) as ledger, noting_what_decides(ledger):
            match case:
                case PrivacyCase():
                    found = run_privacy(claim, case, settings, executor, plan, trials)
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
        if isinstance(case, PrivacyCase) and isinstance(case.mechanism, IsolatedMechanism):
            case.mechanism.crew.close()


def _resolve_rerun_plan(rerun: AuditPlan | str | None, settings: Settings) -> AuditPlan:
    if rerun is None:
        return CallPlan.of_case(settings)
    return Wording(words=rerun) if isinstance(rerun, str) else rerun


def _run_search(
    claim: Statement,
    case: SearchCase,
    settings: Settings,
    executor: Executor,
    plan: AuditPlan,
    trials: int,
) -> AuditOutcome:
    executor.progress.start("searching", trials)
    attained = case.attain(trials, default_rng(stream(settings.seed, "search")))
    executor.progress.advance(trials)
    if math.isnan(attained.ratio):
        sides = f"{attained.value} <= {attained.bound}"
        raise MechanismError(f"{claim.name}: the search returned {sides}, expected two numbers")
    result = search_result(claim, case, attained, settings, trials, str(plan))
    return AuditOutcome(result, attained.certificate if result.verdict == "refuted" else None)
