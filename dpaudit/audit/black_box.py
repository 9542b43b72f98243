"""The event audit: attacks learn, then thresholds are set, then fresh transcripts certify."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

import dpaudit.registry as registry
from dpaudit.attack import Attack
from dpaudit.audit.draws import Drawer
from dpaudit.audit.evidence import Evidence
from dpaudit.case import PrivacyCase
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.event import EventBound, choose_event, error_rates, event_bound
from dpaudit.estimation.model_based import EventCounts, model_based
from dpaudit.execution import stream
from dpaudit.mechanism import HasLaw

Array = NDArray[np.float64]

# Transcripts an attack learns on are the only ones ever held together.
_TRAINING_BYTES = 64 * 2**20


def event(
    case: PrivacyCase, drawer: Drawer, trials: int, alpha: float, attack: str | None
) -> Evidence:
    """Return the event bound on epsilon at ``case.at_delta``, from outputs alone.

    All fitted attacks are compared on the transcripts that set thresholds; only the most promising
    one is certified, so the error probability is spent once.
    """
    attacks = applicable(case, attack)
    fitted, learned = _fit(case, drawer, trials, attacks)
    setting = max(trials // 2, 100)
    on_p, on_q = (drawer.scores(fitted, side, setting, "thresholds") for side in (False, True))
    grains = [_grain(p, q) for p, q in zip(on_p, on_q, strict=True)]
    on_p, on_q = (
        np.stack([_rounded(s, g) for s, g in zip(on, grains, strict=True)]) for on in (on_p, on_q)
    )
    delta = case.at_delta
    events = [choose_event(p, q, delta) for p, q in zip(on_p, on_q, strict=True)]
    best = int(np.argmax([event.promised for event in events]))
    certify = [
        drawer.scores([fitted[best]], side, trials, "certifying")[0] for side in (False, True)
    ]
    certify = [_rounded(scores, grains[best]) for scores in certify]
    bound = event_bound(certify[0], certify[1], events[best], delta, alpha)
    return Evidence(
        lower=bound.lower,
        upper=None,
        upper_note="outputs alone bound epsilon from below only",
        estimate=bound.estimate if np.isfinite(bound.estimate) else None,
        estimator=f"event bound, {attacks[best].name} attack",
        trials=trials,
        budget={"one exact test of the event's two counts": alpha},
        counts={
            "certifying, per dataset": trials,
            "setting thresholds, per dataset": setting,
            "fitting attacks, per dataset": learned,
        }
        | {f"event, {name.replace('_', ' ')}": n for name, n in bound.counts.items()},
        roc=error_rates(certify[0], certify[1]),
        model_based=model_based(_counts(bound), delta, 1 - alpha),
        notes=(
            f"Direction, chosen beforehand: {events[best].direction}.",
            f"Attack: {attacks[best].statement}.",
            f"Attacks tried: {', '.join(attack.name for attack in attacks)}.",
        ),
    )


def _counts(bound: EventBound) -> EventCounts:
    names = ("favoured_hits", "favoured_trials", "other_hits", "other_trials")
    return EventCounts(*(bound.counts[name] for name in names))


def _grain(p: Array, q: Array) -> float:
    """Return the step scores are rounded to, far above what rounding of floats leaves in them.

    Scores that are equal in real arithmetic would otherwise be told apart by their last bits, and
    the bound would be about the floats of the score and not about the mechanism.
    """
    finite = np.abs(np.concatenate([p, q]))
    finite = finite[np.isfinite(finite)]
    return 1e-9 * max(1e-290, float(finite.max(initial=0.0)))


def _rounded(scores: Array, grain: float) -> Array:
    return np.round(scores / grain) * grain


def applicable(case: PrivacyCase, name: str | None) -> list[Attack]:
    """Return the attack of that name, or all that an audit tries unasked on this mechanism.

    Raises
    ------
    InvalidArgument, UnknownName
        None works on the mechanism, or the named one does not.
    """
    has_law = isinstance(case.mechanism, HasLaw)
    if name is not None:
        chosen = registry.attack(name)
        if chosen.needs_law and not has_law:
            raise InvalidArgument("attack", name, "one that works without the mechanism's law")
        return [chosen]
    known = [attack for attack in registry.attacks().values() if attack.unasked]
    found = [attack for attack in known if has_law or not attack.needs_law]
    if not found:
        raise InvalidArgument("attack", None, "an installed attack that works on this mechanism")
    return found


def _fit(
    case: PrivacyCase, drawer: Drawer, trials: int, attacks: list[Attack]
) -> tuple[list[Any], int]:
    one = drawer.transcripts(False, 1, "fitting")
    learned = int(min(max(trials // 2, 100), max(50, _TRAINING_BYTES // max(one.nbytes, 1))))
    on_p, on_q = (drawer.transcripts(side, learned, "fitting") for side in (False, True))
    rng = default_rng(stream(drawer.seed, "attack"))
    fitted = [a.load()(case.mechanism, case.pair, on_p, on_q, rng) for a in attacks]
    return fitted, learned
