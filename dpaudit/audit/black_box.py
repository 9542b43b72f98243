"""The event audit: an event is chosen on some transcripts, fresh ones certify it."""

from __future__ import annotations

import numpy as np

from dpaudit.audit.choosing import chosen_event
from dpaudit.audit.draws import Drawer
from dpaudit.audit.evidence import Evidence
from dpaudit.case import PrivacyCase
from dpaudit.estimation.event import EventBound, error_rates, event_bound
from dpaudit.estimation.model_based import EventCounts, model_based


def event(
    case: PrivacyCase, drawer: Drawer, trials: int, alpha: float, attack: str | None
) -> Evidence:
    """Return the event bound on epsilon at ``case.at_delta``, from outputs alone.

    All fitted attacks are compared on the transcripts that set thresholds; only the most promising
    one is certified, so the error probability is spent once.
    """
    chosen = chosen_event(case, drawer, trials, attack)
    on_p, on_q = (
        chosen.rounded(drawer.scores([chosen.score], side, trials, "certifying")[0])
        for side in (False, True)
    )
    bound = event_bound(on_p, on_q, chosen.event, case.at_delta, alpha)
    drawn = {"certifying, per dataset": trials} | chosen.counts
    return Evidence(
        lower=bound.lower,
        upper=None,
        upper_note="outputs alone bound epsilon from below only",
        estimate=bound.estimate if np.isfinite(bound.estimate) else None,
        estimator=f"event bound, {chosen.attack.name} attack",
        trials=trials,
        budget={"one exact test of the event's two counts": alpha},
        counts=drawn
        | {"outputs in all, of both datasets": 2 * sum(drawn.values())}
        | {f"event, {name.replace('_', ' ')}": n for name, n in bound.counts.items()},
        roc=error_rates(on_p, on_q),
        model_based=model_based(_counts(bound), case.at_delta, 1 - alpha),
        notes=(
            f"Direction, chosen beforehand: {chosen.event.direction}.",
            f"Attack: {chosen.attack.statement}.",
            f"Attacks tried: {', '.join(chosen.tried)}.",
        ),
    )


def _counts(bound: EventBound) -> EventCounts:
    names = ("favoured_hits", "favoured_trials", "other_hits", "other_trials")
    return EventCounts(*(bound.counts[name] for name in names))
