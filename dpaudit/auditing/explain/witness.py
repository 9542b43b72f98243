"""The leak: the event of a refutation in words, on the fewest parts of the output that show it.

A refutation by an event of all outputs is certified already, and says little to whoever has to mend
the mechanism. So single parts are tried, and then a few together, on outputs drawn for this
alone: the event is chosen on some and counted on others, and each try spends a share of one error
probability. What is found here never changes the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR

import numpy as np

import dpaudit.auditing.sampling.contract_checks as contract_checks
from dpaudit._typing import Array
from dpaudit.auditing.explain.carrying_event import format_certified_epsilon
from dpaudit.auditing.explain.event_faults import find_tried_event_fault
from dpaudit.auditing.explain.event_words import (
    FeatureEvent,
    Words,
    first_said,
    path_of,
    plainness_of,
)
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.estimation.event import choose_event
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.mechanism import is_observed
from dpaudit.mechanisms.outputs.features import (
    Features,
    Part,
    distance,
    few_valued_scores,
    one_part_scores,
    select_farthest_scores,
)
from dpaudit.mechanisms.outputs.layout import Layout
from dpaudit.neighbours import Side
from dpaudit.report.formatting import format_significant
from dpaudit.report.schema import Result, Witness

_SHARE = 5  # certifying outputs for each one that counts an event
_USUAL = 3000  # outputs of each dataset, unless a rare event takes more
_LEAST = 100  # outputs of each dataset at least
_BYTES = 64 * 2**20  # bytes of all of them at most
_SPARE = 2  # times as many as the certified event took: one of fewer parts tells less
_ALIKE = 0.05  # promises that differ by so small a share are the same
_TRIED = 16  # single parts of which the most promising is counted
_TOGETHER = (2, 3, 5, 10)  # parts, where one alone refutes nothing
ATTEMPTS = 1 + len(_TOGETHER)
_USUALLY = 0.9  # of the outputs on either side: then what is rare is said
_LARGE = 1e70  # up to where the variance of numbers is one


@dataclass(frozen=True)
class _WitnessCount:
    """An event with its counts on fresh outputs, their bound, and whether that refutes."""

    tried: FeatureEvent
    hits: tuple[int, int]
    lower: float
    refutes: bool


def of(
    case: PrivacyCase,
    drawer: Drawer,
    alpha: float,
    *,
    runs: int = _USUAL,
    trials: int | None = None,
) -> Witness | None:
    """Return the leak: an event of the fewest parts that refutes, else the clearest one.

    Parameters
    ----------
    case, drawer
        What was refuted, and what draws its outputs.
    alpha
        The error probability of this witness alone.
    runs
        Outputs of each dataset that choose an event, and as many that count it; fewer if they
        are large.
    trials
        Certifying outputs of each dataset that the audit had; by default these.
    """
    layout = getattr(drawer.mechanism, "layout", None)
    if layout is None or not is_observed(drawer.mechanism):
        return None
    runs = max(_LEAST, min(runs, _BYTES // (8 * len(layout.columns))))
    trials = runs if trials is None else trials
    # An event that is counted on the outputs on which it was chosen would look better than it
    # is.
    on = [drawer.outputs(side, runs, "witness: choosing") for side in Side]
    features = Features.of(layout, *on)
    fresh = [features(drawer.outputs(side, runs, "witness: counting")) for side in Side]
    found = list(_count_tried_events(layout, [features(one) for one in on], fresh, case, alpha))
    if not found:
        return None
    # Of several parts none certifies anything: to name one of them would be a guess.
    if not any(one.lower > 0 for one in found) and len({one.path for one in layout.columns}) > 1:
        return None
    # The search stops at the first that refutes, which is of the fewest parts.
    best = found[-1] if found[-1].refutes else max(found, key=lambda one: one.lower)
    words = Words(layout, features, drawer, fresh, _USUALLY * runs)
    event, best = _choose_plain_event(best, words, case, runs, alpha)
    given = best.tried, layout, features, best.hits, runs
    fault = find_tried_event_fault(*given) if best.refutes else None
    witness = _make_witness(best, event, layout, case, (runs, trials), alpha)
    return witness.model_copy(update={"fault": fault})


def _count_tried_events(
    layout: Layout, on: list[Array], fresh: list[Array], case: PrivacyCase, alpha: float
) -> Iterator[_WitnessCount]:
    """Yield events of ever more parts with their counts, up to the first that refutes."""
    claimed = _get_claimed_number(case)
    for tried in make_event_attempts(layout, on[0], on[1], case.at_delta):
        on_p, on_q = (tried.event.hits(tried.score(side)) for side in fresh)
        favoured, other = (on_p, on_q) if tried.event.above else (on_q, on_p)
        # An equal share for every attempt that there may be, so that stopping early spends no
        # more.
        runs, share = len(fresh[0]), alpha / ATTEMPTS
        lower = joint_lower_bound(favoured, other, runs, runs, delta=case.at_delta, alpha=share)
        refutes = _in_currency(case, lower) > claimed
        yield _WitnessCount(tried, (on_p, on_q), lower, refutes)
        if refutes:
            return


def _in_currency(case: PrivacyCase, epsilon: float) -> float:
    """Return a bound on epsilon in the number of the claim."""
    return epsilon if case.currency is None else case.currency.value(epsilon, case.at_delta)


def _get_claimed_number(case: PrivacyCase) -> float:
    """Return the claimed number."""
    if case.currency is None:
        return case.claimed.epsilon(case.at_delta)
    return case.currency.claimed(case.at_delta)


def make_event_attempts(
    layout: Layout, on_p: Array, on_q: Array, delta: float
) -> Iterator[FeatureEvent]:
    """Yield the best event of one part, and then of ever more parts together.

    At most `ATTEMPTS` in all; none if no part varies.

    Parameters
    ----------
    layout
        Of the outputs.
    on_p, on_q
        Features of outputs that certify nothing, shape ``(n, columns)`` each.
    delta
        At which epsilon will be bounded.
    """
    alone = one_part_scores(layout, on_p, on_q)
    alone.sort(key=lambda score: first_said(layout.columns[score.column].path))
    alone = select_farthest_scores(alone, on_p, on_q, layout, _TRIED)
    by_value = few_valued_scores(layout, on_p, on_q)
    by_value.sort(key=lambda score: distance(score, on_p, on_q), reverse=True)
    parts: list[Part] = [*alone, *by_value[:_TRIED]]
    if not parts:
        return
    tried = [
        FeatureEvent(one, (one.column,), choose_event(one(on_p), one(on_q), delta)) for one in parts
    ]
    # Among parts that promise about the same, the plainest to say is the best explanation.
    most = (1 - _ALIKE) * max(one.event.promised for one in tried)
    alike = [one for one in tried if one.event.promised >= most]
    yield min(alike, key=lambda one: plainness_of(layout.columns[one.columns[0]], one.score))
    columns = list(dict.fromkeys(one.column for one in alone))
    for count in _TOGETHER:
        if len(columns) >= count:
            score = _FeatureSum.of(columns[:count], on_p, on_q)
            event = choose_event(score(on_p), score(on_q), delta)
            yield FeatureEvent(score, tuple(columns[:count]), event)


@dataclass(frozen=True)
class _FeatureSum:
    """A weighted sum of a few features: Fisher's linear discriminant."""

    columns: list[int]
    weights: Array

    @classmethod
    def of(cls, columns: list[int], on_p: Array, on_q: Array) -> _FeatureSum:
        p, q = (np.clip(side[:, columns], -_LARGE, _LARGE) for side in (on_p, on_q))
        within = np.atleast_2d(np.cov(p, rowvar=False) + np.cov(q, rowvar=False))
        # Parts that follow from one another make the matrix singular; the smallest number is
        # for parts that do not vary at all.
        ridge = 1e-9 * np.trace(within) / len(columns) + 1e-300
        weights = np.linalg.lstsq(
            within + ridge * np.eye(len(columns)), p.mean(axis=0) - q.mean(axis=0), rcond=None
        )[0]
        return cls(columns, weights)

    def __call__(self, features: Array) -> Array:
        found: Array = np.clip(features[:, self.columns], -_LARGE, _LARGE) @ self.weights
        return found


def _choose_plain_event(
    best: _WitnessCount, words: Words, case: PrivacyCase, runs: int, alpha: float
) -> tuple[str, _WitnessCount]:
    """Return the event with its counts, or its complement with those where that is said plainly.

    What is said of the complement is what either test certifies, so that whoever counts it finds
    as much.
    """
    event, flipped = words.of(best.tried, best.hits)
    if not flipped:
        return event, best
    on_p, on_q = (runs - hits for hits in best.hits)
    # The complement is favoured by the other side.
    counts = (on_q, on_p) if best.tried.event.above else (on_p, on_q)
    again = joint_lower_bound(*counts, runs, runs, delta=case.at_delta, alpha=alpha / ATTEMPTS)
    return event, replace(best, hits=(on_p, on_q), lower=min(best.lower, again))


def _make_witness(
    best: _WitnessCount,
    event: str,
    layout: Layout,
    case: PrivacyCase,
    sizes: tuple[int, int],
    alpha: float,
) -> Witness:
    (on_p, on_q), (runs, trials) = best.hits, sizes
    most = _bound_certifiable_number(case, trials, alpha)
    never = min(on_p, on_q) == 0 and best.refutes
    always = never and max(on_p, on_q) == runs and most is not None
    success = 0.5 + abs(on_p - on_q) / (2 * runs)
    begins = "What leaked" if best.refutes else "Where it shows best"
    explains = (
        ""
        if best.refutes
        else "; this event explains the difference and certifies no bound above the claim"
    )
    sentences = [
        f"{begins}: {event} in {on_p} of {runs} outputs on the dataset and in {on_q} of {runs} on "
        "its neighbour, which "
        f"{format_certified_epsilon(best.lower, case.at_delta, alpha / ATTEMPTS)} on fresh "
        f"outputs{explains}."
    ]
    if never:
        where = "neighbour" if on_q == 0 else "dataset"
        ceiling = (
            f" {trials} outputs on each dataset can certify at most "
            f"{_format_claim_number(case, most)};"
            if always and most is not None
            else ""
        )
        sentences.append(
            f"The event never occurred on the {where}:{ceiling} the true value may be infinite."
        )
    return Witness(
        event=event,
        parts=[path_of(layout.columns[n]) for n in best.tried.columns],
        on_dataset=on_p,
        on_neighbour=on_q,
        runs=runs,
        lower=best.lower,
        confidence=1 - alpha,
        refutes=best.refutes,
        ceiling=most if always else None,
        success=success,
        sentence=" ".join(sentences),
    )


def _bound_certifiable_number(case: PrivacyCase, trials: int, alpha: float) -> float | None:
    """Return the most that events certify in the claim's number; None where bets certify."""
    if case.currency is not None and case.currency.orders:
        return None
    most = joint_lower_bound(trials, 0, trials, trials, delta=case.at_delta, alpha=alpha)
    return _in_currency(case, most)


def _format_claim_number(case: PrivacyCase, value: float) -> str:
    shown = format_significant(value, rounding=ROUND_FLOOR)
    if case.currency is None or case.currency.name == "epsilon":
        return shown
    return f"a {case.currency.name} of {shown}"


def add_witness(result: Result, case: PrivacyCase, drawer: Drawer, alpha: float) -> Result:
    """Return a refutation with a witness, where a few outputs show one."""
    with contract_checks.make_separate_drawer(case, drawer) as other:
        runs = min(result.trials // _SHARE, _estimate_witness_runs(result, case, alpha))
        found = of(case, other, alpha, runs=runs, trials=result.trials)
    if found is None:
        return result
    event = result.carrying_event
    said = [] if event is not None and event.plain else [found.sentence]
    reason = " ".join([result.reason, *said]).rstrip()
    return result.model_copy(update={"witness": found, "reason": reason, "fault": found.fault})


def _estimate_witness_runs(result: Result, case: PrivacyCase, alpha: float) -> int:
    """Return on how many outputs an event as rare as the one that certified would refute."""
    counts = _get_certified_counts(result)
    runs, claimed = _USUAL, _get_claimed_number(case)
    while counts is not None and runs < result.trials:
        favoured, other, of = counts
        # Rounded against the bound: with fewer outputs, counts are not as good as their shares.
        hits, others = math.floor(favoured / of * runs), math.ceil(other / of * runs)
        share = alpha / ATTEMPTS
        lower = joint_lower_bound(hits, others, runs, runs, delta=case.at_delta, alpha=share)
        if claimed < _in_currency(case, lower):
            break
        runs *= 2
    return runs if runs == _USUAL else _SPARE * runs


def _get_certified_counts(result: Result) -> tuple[int, int, int] | None:
    """Return how often the event that certified was seen on either side, and of how many."""
    names = ("favoured hits", "other hits", "favoured trials")
    counts = [result.counts.get(f"event, {name}") for name in names]
    favoured, other, runs = counts
    if favoured is None or other is None or runs is None:
        return None
    return favoured, other, runs
