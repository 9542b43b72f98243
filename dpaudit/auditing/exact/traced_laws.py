"""Exact losses of plain code: a law is read from runs of it, and the audit certifies with it.

Outputs are drawn and compared as always, for a tenth of the error probability: what the code keeps
from call to call, or from process to process, no run beside another one shows. The rest goes to
exact losses. Where the code breaks the law, what outputs certify stands, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR

import dpaudit.auditing.estimators.event as event
import dpaudit.auditing.exact.exact_loss as exact_loss
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText
from dpaudit.execution import stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.redaction import are_shown
from dpaudit.report.formatting import format_significant
from dpaudit.report.law import NoisyLine, ReadLaw
from dpaudit.tracing.law import Profile
from dpaudit.tracing.placed_law import PlacedLaw, law_of
from dpaudit.tracing.runs import MissingLaw

OUTPUTS = 0.1  # share of the error probability that goes to outputs
_NAMED = 6  # lines
_VIEW = (
    "The outputs do not determine these noisy values, so their exact losses are not losses of "
    "outputs: the audit certifies bounds from outputs alone."
)


def losses_of_code(
    case: PrivacyCase, drawer: Drawer, settings: Settings, trials: int
) -> MeasurementEvidence:
    """Return the evidence of exact losses of plain code, by the law that its runs show.

    Parameters
    ----------
    case, drawer
        Of the code as it is.
    settings
        The confidence of everything certified, and the distinguisher of outputs.
    trials
        Certifying outputs per dataset.

    Raises
    ------
    InvalidArgument
        No law can be read: with the line that stopped it. Or there is a time, which looks at ever
        more outputs: the law would be read at each of them.
    """
    if settings.time is not None or settings.looks is not None:
        expected = "event where there is a time: exact losses of code take as long as they take"
        raise InvalidArgument("estimator", VerbatimText("exact-loss"), expected)
    alpha = 1 - settings.confidence
    drawer.executor.progress.start("reading the law", 1)
    law = law_of(case.mechanism, case.pair, _make_reading_seed(drawer.seed))
    drawer.executor.progress.advance(1)
    # Without a law that runs bear out there is nothing to compute losses with.
    if isinstance(law, MissingLaw):
        expected = f"event: no law can be read of this code ({law})"
        raise InvalidArgument("estimator", VerbatimText("exact-loss"), expected)
    if law.mechanism is None:
        outputs = event.bound_epsilon_by_event(case, drawer, trials, alpha, settings.distinguisher)
        read = lines_of(law)
        return replace(outputs, law=read, notes=(_format_read_law(read), _VIEW, *outputs.notes))
    outputs = event.bound_epsilon_by_event(
        case, drawer, trials, OUTPUTS * alpha, settings.distinguisher
    )
    # Outputs that break the contract may break the law too, unseen by a single run.
    if not outputs.trusted:
        return outputs
    own = replace(case, mechanism=law.mechanism)
    try:
        drawn = make_drawer(law.mechanism, case.pair, drawer.executor, drawer.seed, trials=trials)
        losses = exact_loss.exact_loss(own, drawn, trials, (1 - OUTPUTS) * alpha)
    except MechanismError as error:
        return _add_missing_loss_note(outputs, str(error))
    failed = [check.name for check in losses.self_checks if not check.passed]
    if failed:
        return _add_missing_loss_note(outputs, f"failed check: {failed[0]}")
    # Outputs need no law: where they certify more than it allows, it is not that of the code.
    if losses.upper is not None and outputs.lower > losses.upper:
        most = format_significant(losses.upper, rounding=ROUND_CEILING)
        least = format_significant(outputs.lower, rounding=ROUND_FLOOR)
        reason = f"the law that was read allows {most} at most, and outputs certify {least}"
        return _add_missing_loss_note(outputs, reason)
    return _merge_loss_evidence(losses, outputs, law)


def _add_missing_loss_note(outputs: MeasurementEvidence, reason: str) -> MeasurementEvidence:
    """Return the evidence of outputs, with the reason why there are no losses."""
    return replace(outputs, notes=(f"No exact losses ({reason}).", *outputs.notes))


def _make_reading_seed(seed: int) -> int:
    return int(stream(seed, "reading the law").generate_state(1)[0])


def lines_of(law: PlacedLaw) -> ReadLaw:
    """Return a law as a report states it, line by line in the order in which they first run."""
    total = sum(one.divergence for one in law.profile) or 1.0
    by_line = dict[tuple[str, str], list[Profile]]()
    for (kind, place, _), seen in zip(law.keys, law.profile, strict=True):
        by_line.setdefault((place, kind), []).append(seen)
    return ReadLaw(
        covers="noisy values" if law.mechanism is None else "outputs",
        lines=[_make_noisy_line(*line, seen, total) for line, seen in by_line.items()],
    )


def _make_noisy_line(place: str, kind: str, seen: Sequence[Profile], total: float) -> NoisyLine:
    """Return a line with the numbers that tell no record, or all where records are shown."""
    is_public = are_shown() or all(one.is_steady for one in seen)
    return NoisyLine(
        place=place,
        noise=kind,
        values=len(seen),
        scale=_round_to_digits(min(one.scale for one in seen), 4) if is_public else None,
        moved=_round_to_digits(max(one.moved for one in seen), 4) if are_shown() else None,
        share=_round_to_digits(sum(one.divergence for one in seen) / total, 2),
    )


def _round_to_digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _format_read_law(law: ReadLaw) -> str:
    """Return the law that was read, in one sentence."""
    values = [f"{one.values} with {one.noise} noise at `{one.place}`" for one in law.lines[:_NAMED]]
    more = len(law.lines) - _NAMED
    listed = ", ".join(values) + (f" and at {more} more lines" if more > 0 else "")
    return f"A law was read from the code: noisy values, {listed}."


def _merge_loss_evidence(
    losses: MeasurementEvidence, outputs: MeasurementEvidence, law: PlacedLaw
) -> MeasurementEvidence:
    """Return both as one: the larger lower end, and every check."""
    read = lines_of(law)
    notes = (
        _format_read_law(read),
        f"Outputs alone certify at least {format_significant(outputs.lower)}.",
    )
    both = Counter(losses.counts)
    both.update({f"outputs, {name}": count for name, count in outputs.counts.items()})
    budget = {f"outputs, {name}": share for name, share in outputs.budget.items()}
    best = losses if losses.lower >= outputs.lower else outputs
    return replace(
        losses,
        lower=best.lower,
        budget={**losses.budget, **budget},
        counts=dict(both),
        contract=outputs.contract,
        carrying=outputs.carrying if best is outputs else None,
        scores=outputs.scores,
        law=read,
        notes=(*notes, *losses.notes, *outputs.notes),
    )
