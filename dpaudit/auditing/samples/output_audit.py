"""The audit of outputs that somebody already drew: their files, the checks, and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dpaudit.auditing.audit_outcome import AuditOutcome
from dpaudit.auditing.estimators.given_outputs import event_evidence
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.outcome.result import carrying_event, format_verdict_reason
from dpaudit.auditing.repeat.plan import AuditPlan
from dpaudit.auditing.samples.output_checks import checks_of, format_output_reservations
from dpaudit.auditing.samples.output_pairs import OutputPair, read_outputs
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.attack_table import AttackRow, excess_of_intervals
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.document import Result
from dpaudit.report.schema import BudgetEntry, Claimed, Measured, ModelBased, SelfCheck
from dpaudit.verdicts import judge_claimed_number

CLAIM = "drawn outputs"
_RELATION = "as given"
_TRUST = (
    "This rests on the caller: that the outputs are independent, of one mechanism on two fixed "
    "neighbouring datasets, and that no score was chosen by looking at them."
)
_NO_CERTIFICATE = (
    "No certificate: the exact test of both counts refutes the claim, and two Clopper-Pearson "
    "intervals, by which a certificate is checked, do not."
)


@dataclass(frozen=True)
class PreparedOutputs:
    """An audit of files of outputs that is ready to run.

    Parameters
    ----------
    claim, settings
        What is claimed, and how it is audited.
    pair
        The outputs.
    plan
        How the audit is repeated.
    data
        Which files they are.
    """

    claim: Statement
    settings: Settings
    pair: OutputPair
    plan: AuditPlan
    data: str

    draws = True

    def run(self, executor: Any = None) -> AuditOutcome:
        """Return the result, and a certificate of its counts if the claim is refuted.

        The executor is for audits that draw; nothing is drawn here.
        """
        evidence = evidence_of(self.pair, self.settings)
        found = outputs_result(self.claim, evidence, self.settings, str(self.plan), self.data)
        found = found.model_copy(update={"parameters": _get_output_parameters(self.pair)})
        if found.verdict != "refuted":
            return AuditOutcome(found, None)
        certificate = certificate_of(found, evidence, self.settings, self.pair)
        if certificate is None:
            noted = found.model_copy(update={"notes": [*found.notes, _NO_CERTIFICATE]})
            return AuditOutcome(noted, None)
        return AuditOutcome(found.keep(certificate, holds_records=False), certificate)


class OutputsAudit(BaseModel):
    """An audit, in a file of audits, of files of outputs that somebody drew."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    outputs: str | list[str] = Field(description="two files, or one with a column dataset")
    epsilon: float | None = None
    delta: float = 0.0
    confidence: float = 0.95
    seed: int = 0
    ignore: list[str] | str = []
    name: str | None = None
    source: str | None = None
    baseline: str | None = None

    @property
    def files(self) -> list[str]:
        """The files, by their names beside the file of audits."""
        return [self.outputs] if isinstance(self.outputs, str) else self.outputs

    def prepared(
        self, overrides: Mapping[str, Any], path: Path, plan: AuditPlan
    ) -> PreparedOutputs:
        """Return the audit, ready to run; ``overrides`` come first.

        Raises
        ------
        DataError, InvalidArgument
            A file is none of outputs, or a setting means nothing to outputs that are there.
        """
        own = self.model_dump(include={*TAKES} - {"ignore"}, exclude_none=True)
        ignore = [self.ignore] if isinstance(self.ignore, str) else self.ignore
        return prepare_output_audit(
            self.files,
            settings_for_outputs({**own, **overrides}),
            plan,
            ignore,
            folder=path.resolve().parent,
            name=self.name,
            source=self.source or f"specification {path.name}",
        )


TAKES = ("epsilon", "delta", "confidence", "seed", "ignore")


def settings_for_outputs(given: Mapping[str, Any]) -> Settings:
    """Return settings that mean something to outputs that are there already.

    Raises
    ------
    InvalidArgument
        One means nothing to them, or nothing is claimed.

    Examples
    --------
    >>> settings_for_outputs({"epsilon": 1.0, "trials": 10})
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: trials: got 10, expected nothing of outputs that are there \
already
    """
    for name, value in given.items():
        if name not in (*TAKES, "show_records"):
            raise InvalidArgument(name, value, "nothing of outputs that are there already")
    if given.get("epsilon") is None:
        raise InvalidArgument("epsilon", None, "the epsilon that is claimed: no default")
    kept = {name: one for name, one in given.items() if name in TAKES and name != "ignore"}
    return Settings(**{"delta": 0.0, **kept})


def prepare_output_audit(
    paths: Sequence[str],
    settings: Settings,
    plan: AuditPlan,
    ignore: Sequence[str] = (),
    *,
    folder: Path = Path(),
    name: str | None = None,
    source: str = "whoever gave the outputs",
) -> PreparedOutputs:
    """Return the audit of one or two files of outputs, ready to run.

    Raises
    ------
    DataError, InvalidArgument
        A file cannot be read, or is none of outputs: the file, the line and what was expected.
    """
    pair = read_outputs([folder / one for one in paths], ignore)
    statement = replace(outputs_statement(settings, source), name=name or CLAIM)
    return PreparedOutputs(statement, settings, pair, plan, ", ".join(paths))


def outputs_statement(settings: Settings, source: str) -> Statement:
    """Return the claim about outputs in words."""
    return Statement(
        name=CLAIM,
        title="Outputs that somebody already drew",
        statement=f"the mechanism is ({settings.epsilon:g}, {settings.delta:g})-DP",
        source=source,
        kind="privacy",
        relation=_RELATION,
        assumptions={},
    )


def evidence_of(pair: OutputPair, settings: Settings) -> MeasurementEvidence:
    """Return the event bound of two files, with the checks of their rows."""
    sides = pair.on_dataset, pair.on_neighbour
    # Guesses of one column go in as numbers, so that all of them are counted and none chooses.
    if pair.is_of_guesses:
        sides = sides[0][:, 0], sides[1][:, 0]
    evidence = event_evidence(*sides, settings)
    said = [f"Read: {one}." for one in pair.found]
    said += [
        f"{one[:1].upper()}{one[1:]}."
        for one in (*pair.left_out, *format_output_reservations(pair))
    ]
    notes = (*evidence.notes, *said)
    return replace(evidence, contract=tuple(checks_of(pair)), notes=notes)


def _get_output_parameters(pair: OutputPair) -> dict[str, Any]:
    return {
        "outputs": [len(pair.on_dataset), len(pair.on_neighbour)],
        "numbers": len(pair.names),
        "sha256": list(pair.digests),
    }


def certificate_of(
    result: Result, evidence: MeasurementEvidence, settings: Settings, pair: OutputPair
) -> Certificate | None:
    """Return the counts of the event, where two intervals of them refute the claim."""
    rows = rows_of(evidence, pair)
    alpha = 1 - settings.confidence
    ratio = excess_of_intervals(
        [AttackRow(*one) for one in rows], settings.epsilon, delta=settings.delta, alpha=alpha
    )
    if ratio <= 1:
        return None
    return Certificate(
        claim="outputs",
        kind="outputs",
        source=result.source,
        relation=result.relation,
        parameters={"epsilon": settings.epsilon, "delta": settings.delta, "alpha": alpha},
        instance={
            "rows": [list(one) for one in rows],
            "sha256": list(pair.digests),
            "outputs": [len(pair.on_dataset), len(pair.on_neighbour)],
            "ignore": list(pair.ignore),
            "seed": settings.seed,
            "confidence": settings.confidence,
        },
        quantities={"ratio": ratio},
        search={"seed": settings.seed},
    )


def rows_of(evidence: MeasurementEvidence, pair: OutputPair) -> list[tuple[int, int, int, int]]:
    """Return hits and runs of the event, of the dataset first that it was chosen to favour.

    Of guesses nothing was chosen: the row stands twice, for either side that a 1 may favour.
    """
    names = ("favoured hits", "favoured trials", "other hits", "other trials")
    hits, runs, others, other_runs = (evidence.counts[f"event, {name}"] for name in names)
    row = hits, runs, others, other_runs
    # Two rows halve the error probability of the certificate, as the two tests did that of the
    # bound.
    return [row, row] if pair.is_of_guesses else [row]


def outputs_result(
    statement: Statement,
    evidence: MeasurementEvidence,
    settings: Settings,
    rerun: str,
    data: str = "given by the caller",
) -> Result:
    """Return the result of an event bound of outputs that somebody drew."""
    trusted = evidence.trusted
    # Where a check failed nothing is certified, whatever the counts are.
    lower = evidence.lower if trusted else 0.0
    verdict = judge_claimed_number(settings.epsilon, lower, trusted=trusted)
    event = carrying_event(evidence, verdict)
    carried = [] if event is None else [event.sentence]
    said = format_verdict_reason("epsilon", settings.epsilon, lower, verdict, cap=evidence.cap)
    if broken := [one for one in evidence.contract if not one.passed]:
        said = (
            "The audit certifies nothing, because every bound assumes independent outputs: "
            f"{broken[0].statement} (failed: {broken[0].name}; {broken[0].evidence})."
        )
    refuted = verdict == "refuted"
    return Result(
        claim=statement.name,
        kind="privacy",
        statement=statement.statement,
        source=statement.source,
        verdict=verdict,
        reason=" ".join([said, *(carried if refuted else [])]),
        claimed=Claimed(epsilon=settings.epsilon, delta=settings.delta),
        proved=None,
        measured=Measured(
            lower=lower,
            upper=None,
            confidence=settings.confidence,
            estimate=evidence.estimate,
            estimator=evidence.estimator,
            upper_note=evidence.upper_note,
            cap=evidence.cap,
        ),
        trials=evidence.trials,
        seed=settings.seed,
        view="what was given",
        relation=statement.relation,
        pair="the two datasets that the outputs are of",
        data=data,
        parameters={},
        assumptions=[],
        self_checks=[],
        contract=[SelfCheck(**asdict(one)) for one in evidence.contract],
        budget=[BudgetEntry(purpose=p, alpha=a) for p, a in evidence.budget.items()],
        model_based=[ModelBased(**asdict(one)) for one in evidence.model_based if trusted],
        carrying_event=event,
        notes=[*([] if refuted else carried), *evidence.notes, _TRUST],
        counts=evidence.counts,
        rerun=rerun,
    )
