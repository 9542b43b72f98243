"""Exact losses of plain code: a law is read from runs of it, and the audit certifies with it.

Outputs are drawn and compared as always, for a tenth of the error probability: what the code keeps
from call to call, or from process to process, no run beside another one shows. The rest goes to
exact losses. Where the code breaks the law, what outputs certify stands, with the reason.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import dpaudit.auditing.event as black_box
import dpaudit.auditing.exact as white_box
from dpaudit.auditing.draws import Drawer
from dpaudit.auditing.evidence import Evidence
from dpaudit.errors import InvalidArgument, MechanismError, Shown
from dpaudit.execution import stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.laws.isolated import Isolated
from dpaudit.laws.observed import Observed
from dpaudit.records import are_shown
from dpaudit.report.formatting import number
from dpaudit.report.law import NoisyLine, ReadLaw
from dpaudit.tracing.bounded import Movement
from dpaudit.tracing.law import NoLawFound
from dpaudit.tracing.placed import PlacedLaw, law_of

OUTPUTS = 0.1  # share of the error probability that goes to outputs
_NAMED = 6  # lines


def is_code(mechanism: Any) -> bool:
    """Return whether a mechanism is code of which a law may be read."""
    return isinstance(mechanism, Observed) or (
        isinstance(mechanism, Isolated) and mechanism.called_as is not None
    )


def losses_of_code(
    case: PrivacyCase, drawer: Drawer, trials: int, alpha: float, distinguisher: str | None
) -> Evidence:
    """Return what exact losses certify of plain code, by the law that runs of it show.

    Parameters
    ----------
    case, drawer
        Of the code as it is.
    trials
        Certifying transcripts per dataset.
    alpha
        Error probability of everything certified.
    distinguisher
        Of outputs, if one was chosen.

    Raises
    ------
    InvalidArgument
        No law can be read: with the line that stopped it.
    """
    law = law_of(case.mechanism, case.pair, _seed(drawer.seed))
    if isinstance(law, NoLawFound):
        expected = f"event: no law can be read of this code ({law.place} {law.reason})"
        raise InvalidArgument("estimator", Shown("exact-loss"), expected)
    outputs = black_box.event(case, drawer, trials, OUTPUTS * alpha, distinguisher)
    if not outputs.trusted:
        return outputs
    own = replace(case, mechanism=law.mechanism)
    try:
        drawn = Drawer.probing(
            law.mechanism, case.pair, drawer.executor, drawer.seed, trials=trials
        )
        losses = white_box.exact_loss(own, drawn, trials, (1 - OUTPUTS) * alpha)
    except MechanismError as error:
        return _without(outputs, str(error))
    failed = [check.name for check in losses.self_checks if not check.passed]
    return (
        _without(outputs, f"failed check: {failed[0]}") if failed else _joined(losses, outputs, law)
    )


def _without(outputs: Evidence, reason: str) -> Evidence:
    """Return what outputs certify, and why there are no losses."""
    return replace(outputs, notes=(f"No exact losses ({reason}).", *outputs.notes))


def _seed(seed: int) -> int:
    return int(stream(seed, "reading the law").generate_state(1)[0])


def lines_of(law: PlacedLaw) -> ReadLaw:
    """Return a law as a report states it, line by line in the order in which they first run."""
    total = sum(one.divergence for one in law.profile) or 1.0
    found = dict[tuple[str, str], NoisyLine]()
    for at, ((kind, place, _), seen) in enumerate(zip(law.keys, law.profile, strict=True)):
        bound = None if law.movements is None else _bound(law.movements.movements[at])
        line = NoisyLine(
            place=place,
            noise=kind,
            values=1,
            scale=_four(seen.scale),
            moved=_four(seen.moved) if are_shown() else None,
            bound=None if bound is None else _four(bound),
            share=seen.divergence / total,
        )
        old = found.get((place, kind))
        found[place, kind] = line if old is None else _together(old, line)
    return ReadLaw(lines=[_rounded(one) for one in found.values()])


def _bound(one: Movement) -> float:
    return one.norms.l2 if one.kind == "normal" else one.norms.l1


def _together(one: NoisyLine, other: NoisyLine) -> NoisyLine:
    bounds = (one.bound, other.bound)
    return one.model_copy(
        update={
            "values": one.values + 1,
            "scale": min(one.scale, other.scale),
            "moved": None if one.moved is None else max(one.moved, other.moved or 0.0),
            "bound": None if None in bounds else max(filter(None, bounds), default=0.0),
            "share": one.share + other.share,
        }
    )


def _rounded(line: NoisyLine) -> NoisyLine:
    return line.model_copy(update={"share": _four(line.share)})


def _four(value: float) -> float:
    """Return a number in four digits: more would tell a record."""
    return float(f"{value:.4g}")


def _words(law: ReadLaw) -> str:
    """Return what was read, in one sentence."""
    values = [f"{one.values} with {one.noise} noise at `{one.place}`" for one in law.lines[:_NAMED]]
    more = len(law.lines) - _NAMED
    listed = ", ".join(values) + (f" and at {more} more lines" if more > 0 else "")
    return f"A law was read from the code: noisy values, {listed}."


def _joined(losses: Evidence, outputs: Evidence, law: PlacedLaw) -> Evidence:
    """Return both as one: the larger lower end, the upper end, and every check."""
    read = lines_of(law)
    notes = (
        _words(read),
        f"Outputs alone certify at least {number(outputs.lower)}.",
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
