"""The event audit: an event is chosen on some outputs, and fresh ones certify it.

Attacks learn and thresholds are set on outputs that certify nothing. A pilot comes first, on a
thirtieth of the trials. Where it tells the datasets apart without an error and by far, its event
stands: nearly all outputs that are drawn then certify it. Else the attacks learn on half as many
outputs as certify, and thresholds are set on as many again; both within limits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import default_rng

import dpaudit.auditing.outcome.claim_point as claim_point
import dpaudit.auditing.sampling.contract_checks as contract_checks
import dpaudit.auditing.sampling.separate_processes as separate_processes
from dpaudit._typing import Array
from dpaudit.auditing.distinguishers.learned_scores import (
    ONE_PART,
    Score,
    fit_distinguishers,
    for_mechanism,
    tells_nothing,
    with_further,
)
from dpaudit.auditing.distinguishers.lowest_bits import certify_lowest_bits
from dpaudit.auditing.estimators.group_sequential import FEW, chosen_on
from dpaudit.auditing.explain.carrying_event import EventDescription, in_words
from dpaudit.auditing.explain.event_words import plainness_of
from dpaudit.auditing.outcome.evidence import EventEvidence, MeasurementEvidence
from dpaudit.auditing.sampling.contract_checks import ContractChecks
from dpaudit.auditing.sampling.sampler import Certifying, Drawer
from dpaudit.auditing.sampling.separate_processes import Against
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.event import (
    EventBound,
    bound_of_counts,
    choose_event,
    error_rates,
    most_of,
    score_counts,
    with_order,
)
from dpaudit.estimation.model_estimates import EventCounts, model_based
from dpaudit.estimation.score_events import (
    Order,
    ScoreEvent,
    Tally,
    ThresholdEvent,
    compute_score_grain,
    round_scores,
)
from dpaudit.execution import stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.guarantees.currency import Currency
from dpaudit.mechanisms.mechanism import layout_of, outside_of
from dpaudit.mechanisms.outputs.features import (
    Features,
    OfFeatures,
    few_valued_scores,
    one_part_scores,
    select_farthest_scores,
)
from dpaudit.mechanisms.outputs.layout import Layout
from dpaudit.neighbours import Side
from dpaudit.report.formatting import format_significant

# Outputs an attack learns on are the only ones ever held together.
_TRAINING_BYTES = 64 * 2**20
# As many outputs as are of use: more only take time.
_MOST_LEARNED = 2**17  # that attacks learn on
_MOST_SETTING = 2**20  # that set a threshold
_FEWER = 8  # certifying outputs for each one that is chosen on, where calls cost much
_FEWEST = 64  # outputs that are chosen on then, if half as many certify
_PILOT = 60  # certifying outputs for each one that the pilot learns on
_LEAST = 5  # outputs below which the pilot tells nothing
_MOST = 10_000  # outputs of the pilot at most
# Where a leak is clear, a point is chosen on so many times fewer outputs than certify.
_AT_POINT = 4
# Promises that differ by so small a share are the same: the event in plain words is taken.
_ALIKE = 0.005
_PARTS = 8  # of an output that are tried, where few outputs are drawn
# How far apart two sides are to be, in what scores spread within them.
_FAR = 2.0


_Attacks = Callable[[Array, Array], Sequence[Distinguisher]]


@dataclass(frozen=True)
class Promising:
    """The most promising event of several scores: its score, its rounding, and all the scores.

    ``promised`` is what each of them promised.
    """

    index: int
    event: ThresholdEvent
    step: float
    scores: tuple[Array, Array]
    promised: tuple[float, ...] = ()

    def rounded(self, scores: Array) -> Array:
        """Return scores without the last bits that tell equal ones apart."""
        return round_scores(scores, self.step)


def choose_promising_event(
    on_p: Array,
    on_q: Array,
    delta: float,
    plain: Collection[int] = (),
    sure: tuple[int, float] = (0, 1.0),
) -> Promising:
    """Return the most promising event of scores that certify nothing, shape ``(J, n)`` each.

    Of those that promise nearly as much, the first of the scores that are said in ``plain`` words.
    So many outputs certify it with an error probability, as ``sure`` says.
    """
    steps = [compute_score_grain(np.concatenate(pair)) for pair in zip(on_p, on_q, strict=True)]
    pairs = [
        (round_scores(p, step), round_scores(q, step))
        for p, q, step in zip(on_p, on_q, steps, strict=True)
    ]
    # All scores compete on the same outputs, and only the winner is certified on fresh ones.
    events = [choose_event(p, q, delta, sure) for p, q in pairs]
    promised = [event.promised for event in events]
    best = int(np.argmax(promised))
    # Among events that promise about as much, one in plain words explains more.
    alike = [j for j in plain if promised[j] >= (1 - _ALIKE) * promised[best]]
    best = alike[0] if alike else best
    event = with_order(events[best], *pairs[best], delta, sure)
    return Promising(best, event, steps[best], pairs[best], tuple(promised))


@dataclass(frozen=True)
class EventChoice:
    """An event and the score it is about, with the outputs that choosing it took.

    ``counts`` are outputs of each dataset, by purpose; epsilon is bounded at ``at_delta``.
    ``doubles`` says what lowest bits add.
    """

    attack: Distinguisher
    score: Any
    best: Promising
    tried: tuple[str, ...]
    counts: dict[str, int]
    at_delta: float
    doubles: tuple[str, ...] = ()


def chosen_event(
    case: PrivacyCase,
    drawer: Drawer,
    trials: int,
    alpha: float,
    attack: str | None,
    bits: bool = False,
) -> EventChoice:
    """Return the most promising event of all attacks, from outputs that certify nothing.

    Parameters
    ----------
    case, drawer
        What is audited, and what draws its outputs.
    trials, alpha
        How many will certify, of each dataset, and with which error probability.
    attack
        The only attack to try, or None.
    bits
        Whether to try the lowest bits of doubles as well.
    """
    if drawer.sparing and trials < FEW and attack is None and not bits:
        return _of_one_part(case, drawer, trials, alpha)
    attacks, sure = _to_try(case, drawer, attack, bits), (trials, alpha)
    # Outputs that attacks learn on are held together, so that their size limits how many they
    # are.
    most = max(50, _TRAINING_BYTES // max(drawer.outputs(Side.DATASET, 1, "fitting").nbytes, 1))
    size = min(trials // _PILOT, _MOST, most)
    if (
        size >= _LEAST
        and (leak := _find_errorless_event(case, drawer, attacks, size, sure)) is not None
    ):
        return leak
    half = count_choosing(drawer, trials)
    sizes = min(half, most, _MOST_LEARNED), min(half, _MOST_SETTING)
    found, _ = _choose_best_event(case, drawer, attacks, sizes, "", sure)
    if size < _LEAST:
        return found
    return replace(found, counts=found.counts | {"pilot, per dataset": 2 * size})


def count_choosing(drawer: Drawer, trials: int) -> int:
    """Return on how many outputs of a side attacks learn, and on how many thresholds are set.

    Fewer where calls cost much, as starts of a program do: that costs power, and no confidence.
    """
    outside = outside_of(drawer.mechanism)
    if outside is not None and outside.is_costly:
        return max(trials // _FEWER, min(trials // 2, _FEWEST))
    return max(trials // 2, 100)


def _to_try(case: PrivacyCase, drawer: Drawer, name: str | None, bits: bool) -> _Attacks:
    """Return the choice of attacks that learn on some outputs: one, if it is named."""
    asked = for_mechanism(case, drawer, name, bits=bits)
    if name is not None:
        return lambda on_p, on_q: asked
    return partial(with_further, asked, case.mechanism)


def _of_one_part(case: PrivacyCase, drawer: Drawer, trials: int, alpha: float) -> EventChoice:
    """Return the most promising event of one part of an output, chosen on as few as will do."""
    size, layout = chosen_on(trials), drawer.mechanism.layout
    on = [drawer.outputs(side, size, "choosing") for side in Side]
    features = Features.of(layout, *on)
    p, q = map(features, on)
    single = select_farthest_scores(one_part_scores(layout, p, q), p, q, layout, _PARTS)
    scores = [OfFeatures(features, one) for one in [*single, *few_valued_scores(layout, p, q)]]
    scores = scores or [OfFeatures(features, tells_nothing)]
    seen = [np.stack([score(side) for score in scores]) for side in on]
    delta = case.at_delta
    if case.currency is not None:
        delta = claim_point.choose_claim_delta(seen[0], seen[1], case.currency, (trials, alpha))
    best = choose_promising_event(seen[0], seen[1], delta, sure=(trials, alpha))
    counts = {"choosing, per dataset": size}
    said = format_tried_scores([ONE_PART.name] * len(scores), best.promised)
    return EventChoice(ONE_PART, scores[best.index], best, said, counts, delta)


def _find_errorless_event(
    case: PrivacyCase, drawer: Drawer, attacks: _Attacks, size: int, sure: tuple[int, float]
) -> EventChoice | None:
    """Return an event that tells the datasets apart without an error and by far, if any."""
    try:
        found, scores = _choose_best_event(case, drawer, attacks, (size, size), "pilot: ", sure)
    except InvalidArgument:  # an attack that needs more to learn on
        return None
    low, high = sorted(scores, key=lambda side: float(side.min()))
    # The pilot's event stands only if a wide gap separates the sides: few outputs cannot rank
    # events that err.
    spread = np.ptp(low) + np.ptp(high)
    gap = float(high.min() - low.max())
    if gap <= 0 or gap < _FAR * spread:
        return None
    return found if case.currency is None else _at_its_point(case.currency, drawer, found, sure)


def _at_its_point(
    currency: Currency, drawer: Drawer, found: EventChoice, sure: tuple[int, float]
) -> EventChoice:
    """Return the event at the delta where it shows most, of more outputs than a pilot's.

    How far up a delta may be is a matter of how many outputs were without an error.
    """
    size = max(_LEAST, sure[0] // _AT_POINT)
    on = [drawer.scores([found.score], side, size, "pilot: point") for side in Side]
    delta = claim_point.choose_claim_delta(on[0], on[1], currency, sure)
    best = choose_promising_event(on[0], on[1], delta, sure=sure)
    counts = found.counts | {"choosing the point, per dataset": size}
    return replace(found, best=replace(best, index=0), counts=counts, at_delta=delta)


def _choose_best_event(
    case: PrivacyCase,
    drawer: Drawer,
    attacks: _Attacks,
    sizes: tuple[int, int],
    purpose: str,
    sure: tuple[int, float],
) -> tuple[EventChoice, tuple[Array, Array]]:
    """Return the most promising event and the scores of both sides that set its threshold."""
    training, setting = sizes
    found, learned_on = _fit_event_scores(case, drawer, attacks, training, purpose)
    tried, scores = zip(*found, strict=True)
    on = [drawer.scores(scores, side, setting, f"{purpose}thresholds") for side in Side]
    delta = case.at_delta
    if case.currency is not None:
        delta = claim_point.choose_claim_delta(on[0], on[1], case.currency, sure)
    plain = _in_plain_words(tried, scores, layout_of(case.mechanism))
    best = choose_promising_event(on[0], on[1], delta, plain, sure)
    counts = {"setting thresholds, per dataset": setting, "fitting attacks, per dataset": training}
    said = format_tried_scores([attack.name for attack in tried], best.promised)
    # The pilot has too few outputs to say what lowest bits add.
    lines = _of_doubles(tried, drawer, learned_on, (delta, sure[1])) if not purpose else ()
    chosen = EventChoice(tried[best.index], scores[best.index], best, said, counts, delta, lines)
    return chosen, best.scores


def _of_doubles(
    tried: Sequence[Distinguisher],
    drawer: Drawer,
    learned_on: tuple[Array, Array],
    at: tuple[float, float],
) -> tuple[str, ...]:
    """Return the evidence in the lowest bits of the outputs on which attacks learn."""
    layout = layout_of(drawer.mechanism)
    size = learned_on[0][0].size
    discrete = [] if layout is None else [n for n, one in enumerate(layout.columns) if one.discrete]
    columns = sorted(set(range(size)) - set(discrete))
    rng = default_rng(stream(drawer.seed, "doubles"))
    return certify_lowest_bits(*learned_on, columns, at, rng, tried)


def words_of_tried(tried: Sequence[str]) -> str:
    """Return which attacks were tried, in words."""
    return f"Attacks tried, with the epsilon that each promised beforehand: {', '.join(tried)}."


def format_tried_scores(names: Sequence[str], promised: Sequence[float]) -> tuple[str, ...]:
    """Return each name once, with the largest epsilon that a score of that name promised.

    Examples
    --------
    >>> format_tried_scores(["one part", "signs", "one part"], [0.5, 0.0, 2.0])
    ('one part (2)', 'signs (0)')
    """
    best = dict[str, float]()
    for name, epsilon in zip(names, promised, strict=True):
        best[name] = max(epsilon, best.get(name, 0.0))
    return tuple(f"{name} ({format_significant(epsilon, 3)})" for name, epsilon in best.items())


def _in_plain_words(
    tried: Sequence[Distinguisher], scores: Sequence[Any], layout: Layout | None
) -> list[int]:
    """Return which scores are of one part, those first whose part says most."""
    if layout is None:
        return []
    columns = {j: scores[j].score for j, attack in enumerate(tried) if attack is ONE_PART}
    return sorted(
        columns, key=lambda j: plainness_of(layout.columns[columns[j].column], columns[j])
    )


def _fit_event_scores(
    case: PrivacyCase, drawer: Drawer, attacks: _Attacks, size: int, purpose: str
) -> tuple[list[tuple[Distinguisher, Score]], tuple[Array, Array]]:
    """Return the learned scores, and the outputs of both sides from which they were learned."""
    on_p, on_q = (drawer.outputs(side, size, f"{purpose}fitting") for side in Side)
    rng = default_rng(stream(drawer.seed, f"{purpose}attack"))
    found = fit_distinguishers(attacks(on_p, on_q), case.mechanism, case.pair, on_p, on_q, rng)
    return found, (on_p, on_q)


def bound_epsilon_by_event(
    case: PrivacyCase,
    drawer: Drawer,
    trials: int,
    alpha: float,
    attack: str | None,
    bits: bool = False,
) -> MeasurementEvidence:
    """Return the event bound on epsilon at ``case.at_delta``, from outputs alone.

    All fitted attacks are compared on the outputs that set thresholds; only the most promising
    one is certified, so the error probability is spent once.
    """
    chosen = chosen_event(case, drawer, trials, alpha, attack, bits)
    case = replace(case, at_delta=chosen.at_delta)
    counted = ScoreEvent(chosen.score, chosen.best.event, chosen.best.step)
    against = Against(case.claimed.epsilon(case.at_delta), case.at_delta, alpha)
    tally, certifying, kept = _draw_checked_event_counts(case, drawer, trials, counted, against)
    on_p, on_q = map(chosen.best.rounded, certifying.scores)
    drawn = {"certifying, per dataset": trials} | chosen.counts
    evidence = certify_event(
        on_p,
        on_q,
        chosen.best.event,
        f"{chosen.attack.name} attack",
        case.at_delta,
        alpha,
        drawn | {"outputs in all, of both datasets": 2 * sum(drawn.values())},
        tally,
        in_words(counted, drawer, tally)
        if separate_processes.is_claim_refuted(counted, tally, against)
        else None,
    )
    notes = (
        f"Attack: {chosen.attack.statement}.",
        words_of_tried(chosen.tried),
        *(chosen.doubles if all(one.passed for one in kept.checks) else ()),
    )
    said = (*evidence.notes, *notes, *kept.notes)
    found = replace(evidence, notes=said, contract=kept.checks, remark=kept.remark)
    return claim_point.in_currency(found, case)


def _draw_checked_event_counts(
    case: PrivacyCase, drawer: Drawer, trials: int, counted: ScoreEvent, against: Against
) -> tuple[Tally, Certifying, ContractChecks]:
    """Return the certifying counts: drawn again in own processes if they refute and had none."""
    tally, found = drawer.certifying(counted, trials, "certifying", certifies=True)
    # One error probability covers both draws. If the claim is true, a second draw is made only
    # where the first erred; if it is false, a first draw that does not refute lies below the truth.
    if not separate_processes.is_claim_refuted(counted, tally, against):
        return tally, found, contract_checks.of_event(drawer, found, tally, counted, against)
    with contract_checks.make_separate_drawer(case, drawer) as other:
        if other is not drawer:
            tally, found = other.certifying(counted, trials, "certifying", certifies=True)
        return tally, found, contract_checks.of_event(other, found, tally, counted, against)


def certify_event(
    on_p: Array,
    on_q: Array,
    event: ThresholdEvent,
    scorer: str,
    delta: float,
    alpha: float,
    drawn: dict[str, int],
    tally: Tally | None = None,
    said: EventDescription | None = None,
) -> MeasurementEvidence:
    """Return the event bound from scores that did not choose the event.

    Parameters
    ----------
    on_p, on_q
        Scores of independent outputs on the dataset and on its neighbour.
    event
        What is counted.
    scorer
        Whose scores they are, in words.
    delta, alpha
        At which epsilon is bounded, and the error probability.
    drawn
        Outputs by purpose.
    tally
        Of all outputs, where the scores are of some of them.
    said
        The event in words, where somebody has plainer ones than that its score is large or small.
    """
    tally = tally or Tally.of((event.happened(on_p), event.happened(on_q)))
    bound = bound_of_counts(tally, event, delta, alpha)
    return MeasurementEvidence(
        lower=bound.lower,
        upper=None,
        upper_note="outputs alone bound epsilon from below only",
        cap=most_of(bound.counts, delta, alpha),
        estimate=bound.estimate if np.isfinite(bound.estimate) else None,
        estimator=f"event bound, {scorer}",
        trials=min(tally.trials),
        budget={"one exact test of the event's two counts": alpha},
        counts=drawn | {f"event, {name.replace('_', ' ')}": n for name, n in bound.counts.items()},
        roc=error_rates(on_p, on_q),
        scores=score_counts(on_p, on_q, event),
        model_based=model_based(_to_event_counts(bound), delta, 1 - alpha),
        carrying=_make_carrying_event(
            said or EventDescription.of_score(scorer, event),
            tally,
            bound,
            (delta, alpha),
            event.order,
        ),
        notes=(f"Direction, chosen beforehand: {event.direction}.",),
    )


def _make_carrying_event(
    said: EventDescription, tally: Tally, bound: EventBound, at: tuple[float, float], order: Order
) -> EventEvidence:
    return EventEvidence(
        words=said.words,
        plain=said.plain,
        hits=tally.hits,
        runs=tally.trials,
        delta=at[0],
        alpha=at[1],
        epsilon=bound.lower,
        order=order,
    )


def _to_event_counts(bound: EventBound) -> EventCounts:
    names = ("favoured_hits", "favoured_trials", "other_hits", "other_trials")
    return EventCounts(*(bound.counts[name] for name in names))
