"""The event bound of outputs, scores or guesses that somebody already drew.

An event is chosen on a part of them and certified on the rest, by the event bound
(`dpaudit.estimation.event`). Guesses leave nothing to choose but the side that a 1 favours: all of
them certify, once for either side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.auditing.distinguishers.learned_scores import (
    Score,
    fit_distinguishers,
    for_outputs,
    with_further,
)
from dpaudit.auditing.estimators.event import (
    certify_event,
    choose_promising_event,
    format_tried_scores,
    words_of_tried,
)
from dpaudit.auditing.explain.carrying_event import EventDescription
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.execution import stream
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import Side

# Where the runs are cut: what attacks learn on, what chooses the event, and what certifies it.
_SCORES = (0.0, 1 / 3)  # outputs are scores, so nothing is learned
_OUTPUTS = (0.25, 0.5)


def event_evidence(on_p: Array, on_q: Array, settings: Settings) -> MeasurementEvidence:
    """Return the event bound of runs of two sides; which choose and which certify is drawn."""
    scored = on_p.ndim == 1
    if scored and all(np.isin(runs, (0.0, 1.0)).all() for runs in (on_p, on_q)):
        return _guess_evidence(on_p, on_q, settings)
    parts_p, parts_q = (
        _split_runs_at_random(runs, _SCORES if scored else _OUTPUTS, settings.seed, side)
        for runs, side in zip((on_p, on_q), Side, strict=True)
    )
    rules = _GIVEN if scored else _fit_output_scores(parts_p[0], parts_q[0], settings.seed)
    scores = [score for _, score in rules]
    tried = [np.stack([score(parts[1]) for score in scores]) for parts in (parts_p, parts_q)]
    sure = min(len(parts[2]) for parts in (parts_p, parts_q)), 1 - settings.confidence
    best = choose_promising_event(tried[0], tried[1], settings.delta, sure=sure)
    counted = [best.rounded(scores[best.index](parts[2])) for parts in (parts_p, parts_q)]
    notes = words_of_tried(format_tried_scores([name for name, _ in rules], best.promised))
    found = certify_event(
        counted[0],
        counted[1],
        best.event,
        rules[best.index][0],
        settings.delta,
        1 - settings.confidence,
        {
            "fitting attacks": len(parts_p[0]) + len(parts_q[0]),
            "setting thresholds": len(parts_p[1]) + len(parts_q[1]),
            "certifying": len(parts_p[2]) + len(parts_q[2]),
        },
    )
    return found if scored else replace(found, notes=(*found.notes, notes))


def _guess_evidence(on_p: Array, on_q: Array, settings: Settings) -> MeasurementEvidence:
    """Return the bound of all guesses, of the better of the two sides that a 1 may favour."""
    # Both sides are tested on the same guesses, so that each has half of the error probability.
    alpha = (1 - settings.confidence) / len(_GUESSES)
    drawn = {"certifying": len(on_p) + len(on_q)}
    found = list[MeasurementEvidence]()
    for words, (score, event) in _GUESSES.items():
        said, delta = EventDescription(words, plain=True), settings.delta
        scores = score(on_p), score(on_q)
        found.append(certify_event(*scores, event, "given guesses", delta, alpha, drawn, said=said))
    budget = {f"one exact test of two counts: {words}": alpha for words in _GUESSES}
    note = "Nothing was chosen: both sides that a value of 1 may favour were tested."
    return replace(max(found, key=lambda one: one.lower), budget=budget, notes=(note,))


def _fit_output_scores(on_p: Array, on_q: Array, seed: int) -> list[tuple[str, Score]]:
    tried, rng = for_outputs(None), default_rng(stream(seed, "drawn outputs", "attack"))
    tried = with_further(tried, None, on_p, on_q)
    found = fit_distinguishers(tried, None, None, on_p, on_q, rng)
    single = _SINGLE if on_p.shape[1:] == (1,) else []
    return [*single, *((f"{one.name} attack", score) for one, score in found)]


def _as_given(runs: Array) -> Array:
    return runs


def _negate_runs(runs: Array) -> Array:
    return -runs


def _get_only_column(runs: Array) -> Array:
    return np.asarray(runs[:, 0])


def _negate_only_column(runs: Array) -> Array:
    return -np.asarray(runs[:, 0])


# Of outputs of one number, that number itself is a score.
_SINGLE: list[tuple[str, Score]] = [
    ("the output", _get_only_column),
    ("the output, turned round", _negate_only_column),
]
_GIVEN: list[tuple[str, Score]] = [
    ("given scores", _as_given),
    ("given scores, lower on the dataset", _negate_runs),
]
# Guesses of 1 favour the dataset, or those of 0 do.
_GUESSES = {
    "the value 1": (_as_given, ThresholdEvent(True, 1.0, 0.0)),
    "the value 0": (_negate_runs, ThresholdEvent(True, 0.0, 0.0)),
}


def _split_runs_at_random(
    runs: Array, cuts: tuple[float, float], seed: int, side: Side
) -> list[Array]:
    """Return the runs in a random order, cut in three.

    Somebody may have sorted them; the order drawn here makes the parts independent again.
    """
    order = default_rng(stream(seed, "drawn outputs", side.value)).permutation(len(runs))
    first, second = (int(cut * len(runs)) for cut in cuts)
    return [runs[part] for part in np.split(order, [first, second])]
