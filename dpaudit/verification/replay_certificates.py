"""Certificates of replays: judged on calls of the reader's code with noise of the reader's.

The file names places in the output and draws, and no number of either. Centres, scales, thresholds
and counts are read off fresh calls, with code that shares nothing with the comparison but the
interception of primitives; probabilities have proved error bounds. Nothing that the file names is
imported or opened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpaudit.errors import VerbatimText, shorten_repr
from dpaudit.reals import Real, log, ncdf, sqrt
from dpaudit.verification.document import Document, format_rounded_down
from dpaudit.verification.mechanism import distance_of, other_distance
from dpaudit.verification.redrawn_counts import Reader
from dpaudit.verification.replay_claim import claim_of, get_instance_part
from dpaudit.verification.reruns import (
    beyond_data,
    find_rerun_disagreements,
    is_unmoved,
    run_task_elsewhere,
    task_of,
)
from dpaudit.verification.stated_draws import entries_of
from dpaudit.verification.tails import (
    LAWS_WITH_EDGE,
    bound_log_slope,
    compute_lower_tail,
    compute_upper_tail,
    find_unrounded_threshold,
)

if TYPE_CHECKING:
    from dpaudit.neighbours import Pair
from dpaudit.verification.replay_events import (
    EventCondition,
    StatedEvent,
    parse_counted_part,
    parse_replay_event,
)

# A share of epsilon by which a replay has to exceed the claim: laws that hold with equality
# come out this close to it after rounding.
_MARGIN = 1e-9
# A generator draws a uniform double from a grid of 2**-53, so that a tail near 1e-9 is still
# made of millions of its values, while the far tail of a law is not what such a sampler
# returns.
_LEAST_PROBABLE = 0.999e-9  # further out a sampler of doubles has no law
# JSON has no infinity, and a ratio is only shown to people.
_MOST_RATIO = 1e6


@dataclass(frozen=True)
class ReplayEvidence:
    """The evidence of fresh calls: failures, the ratio to the claim, words, and their assumptions.

    ``bound`` is the epsilon that is claimed of the pair.
    """

    failures: tuple[str, ...]
    ratio: float
    summary: str
    reservations: tuple[str, ...] = ()
    bound: float = 0.0


def replay_reader_mechanism(
    document: Document, reader: Reader, pair: Pair[Any], same: Any
) -> ReplayEvidence:
    """Return the judgement of fresh calls of the reader's mechanism on a certificate.

    Parameters
    ----------
    document, reader
        The certificate, and who reads it.
    pair
        The two datasets.
    same
        What the file states otherwise than the reader: records and reading.

    Raises
    ------
    DataError
        The file is not as it has to be, or the reader names no mechanism.
    """
    if reader.mechanism is None:
        stated = get_instance_part(document, "mechanism").get("reference")
        expected = "the mechanism that it is about: --mechanism module:object"
        raise document.refused("instance.mechanism", VerbatimText(stated), expected)
    apart = distance_of(pair, reader)
    evidence, claimed = get_instance_part(document, "evidence"), claim_of(document, apart)
    # Two sorts of evidence would be two tests at the full error probability.
    if len(evidence) != 1:
        raise document.refused("instance.evidence", sorted(evidence), "event, counted or declared")
    (kind, stated), *_ = evidence.items()
    match kind:
        case "event":
            found = _by_event(document, parse_replay_event(document, stated), claimed, reader, pair)
        case "counted":
            found = _by_counts(
                document, parse_counted_part(document, stated), claimed, reader, pair
            )
        case "declared":
            found = _by_declaration(document, stated, claimed, reader, pair, apart or 1.0)
        case _:
            raise document.refused("instance.evidence", kind, "event, counted or declared")
    other = [*same, *other_distance(document, apart), *_other_runs(reader)]
    return replace(found, failures=(*other, *found.failures), bound=claimed[0])


def _other_runs(reader: Reader) -> list[str]:
    """Return the reader's choices of calls that no replay heeds: it observes every part."""
    said = {"observe": reader.observe, "ignore": reader.ignore, "fresh": reader.fresh}
    return [
        f"{name}: a replay looks at all parts of an output, and at nothing else: leave out --{name}"
        for name, value in said.items()
        if value
    ]


# What the file states


# Runs


def _list_observed_parts(asked: Mapping[str, Any]) -> list[list[Any]]:
    """Return which parts of outputs a reader looks at."""
    if "contrast" in asked:
        return [["number", place] for place in asked["contrast"][:2]]
    if "counted" in asked:
        return [list(asked["counted"])]
    return [["number", place] for place, *_ in asked.get("conditions", ())]


def _run_reader_code(
    document: Document,
    claimed: tuple[float, float],
    reader: Reader,
    pair: Pair[Any],
    asked: Mapping[str, Any],
) -> Any:
    """Return runs of the reader's code in a process of its own, and whether it is the file's."""
    # The code runs in another process because it may patch modules, keep a state or end the
    # interpreter, none of which may reach the process that judges.
    seen = json.loads(run_task_elsewhere(task_of(reader, pair, asked), reader))
    stated = get_instance_part(document, "mechanism").get("sha256")
    seen["failures"] = []
    if seen["sha256"] is None or seen["sha256"] != stated:
        words = "no file holds it" if seen["sha256"] is None else f"SHA-256 {seen['sha256']}"
        seen["failures"].append(f"mechanism: its code is not that of the certificate ({words})")
    # Two uses of one copied generator share their noise. The replay would take the draws as
    # independent, and multiply probabilities that are not of a product.
    if seen["copies"]:
        words = "mechanism: it copies a generator, so that the same noise may come again"
        seen["failures"].append(words)
    if seen["keeps_state"] and not is_unmoved(
        reader, pair, _list_observed_parts(asked), claimed[0]
    ):
        seen["failures"].append("mechanism: it keeps a state between calls, which shows nothing")
    if kept := seen.get("kept_files"):
        named = ", ".join(map(shorten_repr, kept[:3]))
        words = f"mechanism: it writes and reads {named}, which may carry noise from call to call"
        seen["failures"].append(words)
    return seen


# Events


@dataclass(frozen=True)
class _OutputLaw:
    """A number of the output on one side: centre, factor, kind and post, and its rounding."""

    centre: float
    factor: float
    kind: str
    post: str
    error: float
    low: float = -math.inf
    high: float = math.inf


def _by_event(
    document: Document,
    event: StatedEvent,
    claimed: tuple[float, float],
    reader: Reader,
    pair: Pair[Any],
) -> ReplayEvidence:
    asked = {"conditions": [[c.place, list(c.draws), list(c.posts)] for c in event.conditions]}
    seen = _run_reader_code(document, claimed, reader, pair, asked)
    failures = [*seen["failures"], *find_rerun_disagreements(reader, pair, asked, seen)]
    laws = [[_convert_stated_law(one, failures) for one in side] for side in seen["laws"]]
    if any(law is None for side in laws for law in side):
        return ReplayEvidence(tuple(failures), 0.0, "")
    own = [[law for law in side if law is not None] for side in laws]
    if event.favours:
        # From here on, the first of the two is the side on which the event is likelier.
        own = own[::-1]
    failures += _find_dependent_conditions(event)
    if event.kind == "equal":
        return _by_contrast(document, event, own, claimed, reader, pair)
    if event.kind == "sum":
        if (unfit := _no_sum(own)) is not None:
            return ReplayEvidence((*failures, unfit), 0.0, "")
        probable, other = _compute_half_space_probability(event, own)
    else:
        probable, other = _all_of(event, own)
        failures += _not_equivalent(event, own, seen["laws"])
    # An error of a centre moves a threshold by that error over the scale. The rarer of both
    # probabilities has the steepest tail, and no condition is rarer than all of them together.
    rarest = other if 0 < other < probable else probable
    moved = [(one.kind, one.error / abs(one.factor)) for side in own for one in side]
    slack = 1e-12 + sum(bound_log_slope(kind, rarest) * by for kind, by in moved)
    declared = any(one["declared"] for side in seen["laws"] for one in side)
    return _judge_event_probabilities(own, probable, other, claimed, slack, failures, declared)


def _convert_stated_law(one: Mapping[str, Any], failures: list[str]) -> _OutputLaw | None:
    if one["problem"] is not None:
        failures.append(one["problem"])
        return None
    low = -math.inf if one["low"] is None else one["low"]
    high = math.inf if one["high"] is None else one["high"]
    numbers = (one["centre"], one["factor"], one["kind"], one["post"], one["error"], low, high)
    return _OutputLaw(*numbers)


def _find_dependent_conditions(event: StatedEvent) -> list[str]:
    """Return a failure where conditions that are multiplied share a draw."""
    if event.kind == "equal":
        return []
    for side in (0, 1):
        entries = [entries_of(one.draws[side]) for one in event.conditions]
        # The probabilities of conditions are multiplied, which only independent draws allow. A
        # draw that two conditions share would count its probability twice and prove too large
        # an epsilon.
        if len(frozenset().union(*entries)) < sum(map(len, entries)):
            return ["event: conditions share noise, and are not independent"]
    return []


def _compute_condition_threshold(condition: EventCondition, own: _OutputLaw) -> float:
    return own.centre + condition.steps * abs(own.factor)


def _all_of(event: StatedEvent, own: Sequence[Sequence[_OutputLaw]]) -> tuple[Real, Real]:
    found = [Real(1), Real(1)]
    for condition, *laws in zip(event.conditions, *own, strict=True):
        # One threshold serves both sides: an event is a set of outputs, and does not move with
        # the dataset.
        threshold = _compute_condition_threshold(condition, laws[0])
        own_line, other_line = (_half_line(one, threshold, above=condition.above) for one in laws)
        if not other_line > 0:
            other_line = _widen_half_line(laws[1], threshold, above=condition.above)
        found = [found[0] * own_line, found[1] * other_line]
    return found[0], found[1]


def _half_line(law: _OutputLaw, threshold: float, *, above: bool) -> Real:
    """Return the probability of ``clip(post(centre + factor z))`` at or beyond a threshold."""
    if not law.low <= threshold <= law.high:
        return Real(1 if (threshold < law.low) == above else 0)
    edge = find_unrounded_threshold(law.post, threshold, above=above)
    z = (Real(edge) - law.centre) / law.factor
    return (
        compute_upper_tail(law.kind, z)
        if above == (law.factor > 0)
        else compute_lower_tail(law.kind, z)
    )


def _widen_half_line(law: _OutputLaw, threshold: float, *, above: bool) -> Real:
    """Return the most that a half-line past the edge of noise may have, as its centre is off."""
    off = 10 * law.error
    moved = [
        _half_line(replace(law, centre=law.centre + by), threshold, above=above)
        for by in (-off, off)
    ]
    return moved[0] if moved[0] > moved[1] else moved[1]


def _not_equivalent(
    event: StatedEvent,
    own: Sequence[Sequence[_OutputLaw]],
    seen: Sequence[Sequence[Mapping[str, Any]]],
) -> list[str]:
    """Return a failure where a run is in the event and its draw says otherwise."""
    sides = seen[::-1] if event.favours else seen
    for n, condition in enumerate(event.conditions):
        threshold = _compute_condition_threshold(condition, own[0][n])
        for side, runs_of in zip(own, sides, strict=True):
            law, runs = side[n], runs_of[n]
            edge = find_unrounded_threshold(law.post, threshold, above=condition.above)
            for o, z in zip(runs["numbers"], runs["draws"], strict=True):
                line = law.centre + law.factor * z
                # A run whose line meets the edge may fall on either side by rounding, and
                # speaks neither for nor against the law.
                close = abs(line - edge) <= 1e-7 * (abs(law.factor) + abs(edge))
                inside = o >= threshold if condition.above else o <= threshold
                due = line >= edge if condition.above else line <= edge
                if not law.low <= threshold <= law.high:
                    due = (threshold < law.low) == condition.above
                if inside != due and not close:
                    return ["event: an output is in it, or not, against what its noise says"]
    return []


def _no_sum(own: Sequence[Sequence[_OutputLaw]]) -> str | None:
    """Return why numbers have no half-space across them, if they have none.

    A sum of numbers is Gaussian where every one of them is its line, without an end that it is
    clipped to and without rounding, and has one scale on both datasets.
    """
    for p, q in zip(*own, strict=True):
        if p.kind != "normal" or q.kind != "normal":
            return "event: a sum needs Gaussian noise in every number"
        if p.post or q.post:
            return "event: a sum needs numbers that are not rounded"
        if any(math.isfinite(end) for law in (p, q) for end in (law.low, law.high)):
            return "event: a sum needs numbers that are not clipped"
        # Different scales would make the best event an ellipsoid, of which a half-space's
        # formula says nothing.
        if abs(abs(p.factor) - abs(q.factor)) > 1e-9 * abs(p.factor):
            return "event: a sum needs the same scales on both datasets"
    return None


def _compute_half_space_probability(
    event: StatedEvent, own: Sequence[Sequence[_OutputLaw]]
) -> tuple[Real, Real]:
    """Return the probabilities of a half-space across Gaussian noise."""
    apart = Real(0)
    for p, q in zip(*own, strict=True):
        apart = apart + ((Real(p.centre) - q.centre) / p.factor) ** 2
    steps = event.conditions[0].steps
    # Along the line between both centres, in units of noise, the sum is one standard normal;
    # the neighbour's centre lies `apart` further out.
    return ncdf(Real(-steps)), ncdf(-sqrt(apart) - steps)


def _judge_event_probabilities(
    own: Sequence[Sequence[_OutputLaw]],
    probable: Real,
    other: Real,
    claimed: tuple[float, float],
    slack: float,
    failures: Sequence[str],
    declared: bool,
) -> ReplayEvidence:
    epsilon, delta = claimed
    # What rounding may have moved: of noise with an edge that much, of other noise relative to
    # itself. Next to the edge, the log of a tail has no slope that anything bounds.
    has_edge = any(law.kind in LAWS_WITH_EDGE for side in own for law in side)
    over = probable - (slack if has_edge else slack * probable) - delta
    if has_edge and other > 0:
        other = other + slack
    if not over > 0:
        return ReplayEvidence((*failures, "event: it is no more probable than delta"), 0.0, "")
    if not probable > _LEAST_PROBABLE:
        rare = (
            f"event: has a probability of {probable.shown()}, and samplers have no law so far out"
        )
        return ReplayEvidence((*failures, rare), 0.0, "")
    infinite = not other > 0
    proved = math.inf if infinite else float(log(over / other)) - slack
    if not proved > epsilon * (1 + _MARGIN) + _MARGIN:
        failures = (*failures, f"event: proves an epsilon of {proved:.6g}, which is claimed")
    ratio = min(proved / epsilon, _MOST_RATIO) if epsilon > 0 else _MOST_RATIO
    words = "infinite" if infinite else f"at least {format_rounded_down(proved)}"
    return ReplayEvidence(
        tuple(failures),
        ratio,
        f"epsilon is {words} at delta = {delta:g} on this pair, by the laws of the numbers that it "
        "returns",
        ("the package's samplers are taken to have the laws that it documents",)
        if declared
        else (),
    )


# Counts


def _by_contrast(
    document: Document,
    event: StatedEvent,
    own: Sequence[Sequence[_OutputLaw]],
    claimed: tuple[float, float],
    reader: Reader,
    pair: Pair[Any],
) -> ReplayEvidence:
    """Return the judgement of counts on a difference in which the same noise cancels."""
    if len(event.conditions) != 2:
        raise document.refused("instance.evidence.event", "equal", "two numbers")
    (first, second), places = own[0], [one.place for one in event.conditions]
    weight = -first.factor / second.factor
    unit = max(abs(first.factor), abs(first.centre), abs(weight * second.centre))
    asked = {"contrast": [*places, weight, 1e-7 * unit], "favours": event.favours}
    judged = _judge_event_counts(document, claimed, reader, pair, asked)
    if judged.failures:
        return judged
    return replace(judged, failures=tuple(beyond_data(reader, pair)))


def _by_counts(
    document: Document,
    counted: tuple[str, int, int],
    claimed: tuple[float, float],
    reader: Reader,
    pair: Pair[Any],
) -> ReplayEvidence:
    what, favours, place = counted
    asked = {"counted": [what, place], "favours": favours}
    judged = _judge_event_counts(document, claimed, reader, pair, asked)
    if judged.failures:
        return judged
    return replace(judged, failures=tuple(beyond_data(reader, pair)))


def _judge_event_counts(
    document: Document,
    claimed: tuple[float, float],
    reader: Reader,
    pair: Pair[Any],
    asked: Mapping[str, Any],
) -> ReplayEvidence:
    """Return the judgement of an event's counts."""
    from dpaudit.estimation.joint import joint_lower_bound
    from dpaudit.report.formatting import as_certain

    epsilon, delta = claimed
    alpha = 1 - reader.confidence
    runs = 64
    # The number of runs is fixed before any is counted: the fewest with which the clearest
    # outcome would refute, and at most 2**14, which is what a check may take.
    while runs < 2**14 and joint_lower_bound(
        runs, 0, runs, runs, delta=delta, alpha=alpha
    ) <= epsilon * (1 + _MARGIN):
        runs *= 2
    seen = _run_reader_code(document, claimed, reader, pair, {**asked, "count": runs})
    hits, other, made = seen["hits"]
    lower = joint_lower_bound(hits, other, made, made, delta=delta, alpha=alpha) if made else 0.0
    failures = list(seen["failures"])
    if "contrast" in asked:
        failures += find_rerun_disagreements(reader, pair, {**asked, "count": runs}, seen)
    if not lower > epsilon:
        failures.append(
            f"counts: {hits} and {other} of {made} fresh outputs certify an epsilon of "
            f"{format_rounded_down(lower)}, which is claimed"
        )
    ratio = min(lower / epsilon, _MOST_RATIO) if epsilon > 0 else _MOST_RATIO
    summary = (
        f"{hits} and {other} of {made} fresh outputs certify an epsilon of "
        f"{format_rounded_down(lower)} at "
        f"delta = {delta:g} (confidence {as_certain(reader.confidence)})"
    )
    return ReplayEvidence(tuple(failures), ratio, summary)


# Declarations


def _by_declaration(
    document: Document,
    stated: Any,
    claimed: tuple[float, float],
    reader: Reader,
    pair: Pair[Any],
    apart: float,
) -> ReplayEvidence:
    """Return whether a value moves further than is declared, times how far apart the pair is."""
    key = stated.get("draw") if isinstance(stated, dict) else None
    if not isinstance(key, str):
        raise document.refused("instance.evidence.declared", stated, "a draw")
    asked = {"declared": key}
    seen = _run_reader_code(document, claimed, reader, pair, asked)
    failures, found = list(seen["failures"]), seen["declaration"]
    if found is None:
        failures.append("declared: no such call, or its value depends on noise before it")
        return ReplayEvidence(tuple(failures), 0.0, "")
    failures += find_rerun_disagreements(reader, pair, asked, seen)
    moved, declared = found[0], found[1] * apart
    ratio = min(moved / declared, _MOST_RATIO) if declared > 0 else _MOST_RATIO
    if not ratio > 1 + _MARGIN:
        failures.append(f"declared: it moved by {moved:.6g}, and declares {declared:.6g}")
    summary = f"a call that declares a sensitivity of {declared:.6g} moved by {moved:.6g}"
    return ReplayEvidence(
        tuple(failures), ratio, summary, ("it is about the declaration of one call alone",)
    )
