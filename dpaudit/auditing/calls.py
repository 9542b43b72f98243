"""An audit of an instance that calls change: of its first call, and of its later ones.

A process has one first call and many later ones: outputs that are mixed hide what either leaks. The
two are two mechanisms, each audited with half of the error probability, as whoever releases the
output of a new instance needs the claim of the first, and whoever goes on with it of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

import dpaudit.auditing.explain.output_parts as output_parts
from dpaudit.auditing.sampling.schedule import Schedule
from dpaudit.execution.executor import of_each
from dpaudit.execution.failures import DrawTimeout
from dpaudit.mechanisms.foreign.calling import When
from dpaudit.report.schema import BudgetEntry, Result
from dpaudit.verdicts import VERDICTS

if TYPE_CHECKING:
    from dpaudit.auditing.audit_outcome import AuditOutcome

_WORDS: dict[When, str] = {
    "first": "the first call",
    "later": "the later calls",
}


def at_both(run: Callable[[Schedule], AuditOutcome], schedule: Schedule) -> AuditOutcome:
    """Return the graver of the two audits, with a note on the other.

    Parameters
    ----------
    run
        Audits the case of a schedule.
    schedule
        Of an instance that calls change; a time is shared out.
    """
    if schedule.executor.shard is not None:  # a share is drawn of both before either is missed
        both: tuple[When, When] = ("first", "later")
        first, later = of_each(both, lambda when: run(_halve_schedule(schedule, when)))
        return _select_graver_audit(first, later, schedule)
    first = run(_halve_schedule(schedule, "first"))
    if first.interrupted:
        return _merge_call_audits(first, None, "first", schedule)
    try:
        later = run(_halve_schedule(schedule, "later", first))
    except DrawTimeout:
        if first.result.verdict != "refuted":
            raise
        return _merge_call_audits(first, None, "first", schedule)
    return _select_graver_audit(first, later, schedule)


def _select_graver_audit(
    first: AuditOutcome, later: AuditOutcome, schedule: Schedule
) -> AuditOutcome:
    if _get_result_gravity(later.result) < _get_result_gravity(first.result):
        return _merge_call_audits(later, first, "later", schedule)
    return _merge_call_audits(first, later, "first", schedule)


def _get_result_gravity(result: Result) -> tuple[int, float]:
    return VERDICTS.index(result.verdict), -result.measured.lower


def _halve_schedule(schedule: Schedule, when: When, before: AuditOutcome | None = None) -> Schedule:
    """Return the schedule of one of the two: with half of the error probability, and of the time.

    The second takes the looks of the first, so that one list of them repeats both.
    """
    settings = schedule.settings
    asked = replace(settings, confidence=1 - (1 - settings.confidence) / 2)
    case, executor = output_parts.at_calls(schedule.case, when), schedule.executor
    if settings.time is None:
        return replace(schedule, case=case, settings=asked)
    if before is not None and before.looks is not None:
        asked = replace(asked, time=None, looks=tuple(before.looks))
        return replace(schedule, case=case, settings=asked, clock=None)
    assert schedule.clock is not None
    left = schedule.clock.began + settings.time - monotonic()
    asked = replace(asked, time=max(left / 2, 1e-3))
    own = Schedule.of(case, asked, replace(executor, since=monotonic()), schedule.trials)
    return replace(own, executor=replace(own.executor, until=executor.until))


def _merge_call_audits(
    one: AuditOutcome, other: AuditOutcome | None, when: When, schedule: Schedule
) -> AuditOutcome:
    """Return an audit as one of the whole, with notes on its call and on the other audit."""
    result, confidence = one.result, schedule.settings.confidence
    measured = result.measured
    if measured.confidence < 1:
        measured = measured.model_copy(update={"confidence": confidence})
    alpha = (1 - confidence) / 2
    rest: When = "later" if when == "first" else "first"
    verdict, reason = result.verdict, f"At {_WORDS[when]}: {result.reason}"
    if other is None and verdict != "refuted":
        verdict, reason = (
            "withheld",
            f"The audit covered only {_WORDS[when]}, and not the others. {reason}",
        )
    result = result.model_copy(
        update={
            "verdict": verdict,
            "reason": reason,
            "measured": measured,
            "budget": [*result.budget, BudgetEntry(purpose=_WORDS[rest], alpha=alpha)]
            if result.budget
            else [],
            "notes": [*result.notes, _format_calls_note(other, rest)],
            "counts": _merge_call_counts(result, other, rest),
        }
    )
    certificate = one.certificate
    if certificate is not None and certificate.kind == "mechanism":
        stated = {**certificate.instance["settings"], "confidence": confidence}
        certificate = replace(
            certificate,
            parameters={**certificate.parameters, "confidence": confidence},
            instance={**certificate.instance, "settings": stated},
        )
    interrupted = one.interrupted or (other is not None and other.interrupted)
    return replace(one, result=result, certificate=certificate, interrupted=interrupted)


def _merge_call_counts(result: Result, other: AuditOutcome | None, rest: When) -> dict[str, int]:
    if other is None:
        return result.counts
    there = other.result.counts
    return result.counts | {f"{_WORDS[rest]}: {name}": count for name, count in there.items()}


def _format_calls_note(other: AuditOutcome | None, rest: When) -> str:
    said = "did not take place" if other is None else f"said: {other.result.reason}"
    return (
        "Calls change a state that later calls use, so dpaudit audited the first call and the "
        "later calls separately, each with half of the error probability. The audit of "
        f"{_WORDS[rest]} {said}{'.' if other is None else ''}"
    )
