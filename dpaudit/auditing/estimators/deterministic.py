"""The audit of a mechanism that returns the same outputs whatever generator it is given.

One that seeds a generator by its data, or by a number, is a function of its data: what it returns
in one process it returns in all others, and outputs that are drawn alone show what it releases. One
that keeps its noise returns another output in each process, and nothing is certified of it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

import dpaudit.auditing.outcome.claim_point as claim_point
import dpaudit.auditing.sampling.constant_parts as constant_parts
import dpaudit.auditing.sampling.separate_processes as separate_processes
from dpaudit._typing import Array
from dpaudit.auditing.estimators.event import certify_event
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.sampling.sampler import Certifying, Drawer, not_its_rng
from dpaudit.auditing.sampling.separate_processes import Against
from dpaudit.estimation.score_events import ScoreEvent, Tally, ThresholdEvent
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.outputs.unit_draws import project_outputs

# What has to return the same.
_PROCESSES = 8  # processes
_CALLS = 2  # calls in each
_NOTE = (
    "For one dataset the mechanism returns the same output in every process, whatever generator it "
    "is given: it is a function of the data. If a seed is written in it, take all randomness from "
    "the rng argument."
)


def bound_repeating_event(
    case: PrivacyCase, drawer: Drawer, trials: int, alpha: float
) -> MeasurementEvidence:
    """Return the evidence of outputs drawn alone, for a mechanism that repeats itself.

    Raises
    ------
    MechanismError
        Processes return different outputs.
    """
    seen = drawer.draw_separately(project_outputs, _PROCESSES, _CALLS, "repeated outputs")
    if any(len(np.unique(side)) > 1 for side in seen.scores):
        raise not_its_rng(drawer.mechanism)
    against = Against(case.claimed.epsilon(case.at_delta), case.at_delta, alpha)
    counted = _telling_apart(seen)
    apart = len(np.unique(np.concatenate(seen.scores))) > 1
    # Before any counting the event is taken to tell always, or never: that decides how much is
    # redrawn.
    tally = Tally((trials, 0 if apart else trials), (trials, trials))
    again = separate_processes.check_lone_outputs(
        drawer, counted, tally, against, constant_parts.grid_of(drawer)
    )
    same = constant_parts.check_sameness(drawer, counted, again.answers, by_score=False)
    counts = {"certifying, per dataset": len(again.drawn.scores[0])}
    found = certify_event(
        *again.drawn.scores, counted.event, "the output itself", case.at_delta, alpha, counts
    )
    checked = (*same.checks, *again.checks)
    found = replace(found, contract=checked, notes=(*found.notes, _NOTE), remark=same.remark)
    return claim_point.in_currency(found, case)


def _telling_apart(seen: Certifying) -> ScoreEvent:
    """Return the event that tells two outputs apart, in the direction of the dataset's output."""
    on_p, on_q = (float(side[0]) for side in seen.scores)
    sign = 1.0 if on_p >= on_q else -1.0
    return ScoreEvent(
        partial(_compute_signed_projection, sign),
        # Halves are added, as the sum of two large outputs may overflow.
        ThresholdEvent(True, sign * (on_p / 2 + on_q / 2), 0.0),
    )


def _compute_signed_projection(sign: float, outputs: Array) -> Array:
    return sign * project_outputs(outputs)
