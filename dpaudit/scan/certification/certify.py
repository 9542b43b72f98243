"""The certification of one claim on one pair, on outputs that chose nothing.

A layout is made of some outputs, events of single parts and of a few together are chosen on others
(`dpaudit.auditing.explain.witness.make_event_attempts`), and then fresh outputs count them. How
many fresh ones are drawn is decided before they are, from those that chose.

Formal guarantee. Fix all that was drawn before the fresh outputs: pair, layout, events and the
number of outputs are then constants, and the fresh outputs are independent of them. By
`dpaudit.estimation.joint` each event's lower end exceeds the pair's epsilon at delta with
probability at most ``alpha / (2 ATTEMPTS)``. At most `ATTEMPTS` events are counted, and they are
counted at most twice: on outputs that share processes, and, if a process ended meanwhile, on others
that are drawn one by one, where an ended process is an outcome. In the first case the counts are
used only if no process ended: to refute *and* to see none end is no more probable than to refute
where an ended process counted as an outcome too. By the union bound the claim is refuted wrongly
with probability at most alpha, given what was drawn before, and so altogether.

Of a function that draws many outputs in one call, warnings and errors belong to the call. Its
outputs are counted only if no call failed and all of them, on both datasets, said the same: then
what they said is a constant, and tells nothing. Otherwise all starts again with half of alpha,
where each output has a call of its own.

Outputs of the two datasets are drawn in turn, in a random order, by the same processes. What a
package keeps between calls, such as a budget that ends or a warning that comes once, then falls on
both alike: a call that depends on those before it, but not on their data, has on the dataset and on
its neighbour rates that the claim bounds, and a random order gives either the same mean of them.

Outputs of one process may share a state, and what never varies may be noise that is kept elsewhere:
`dpaudit.scan.certification.keeping` looks at what seems to refute again. This can only withdraw a
refutation, so that it costs no error probability.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.auditing.explain.event_faults import find_tried_event_fault
from dpaudit.auditing.explain.event_words import FeatureEvent, Words
from dpaudit.auditing.explain.witness import ATTEMPTS, make_event_attempts
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.likelihood import compute_allowed_boundary
from dpaudit.execution import stream
from dpaudit.execution.failures import WorkerEnded
from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.mechanisms.outputs.features import Features, OneOf, OnePart, OneValue
from dpaudit.mechanisms.outputs.layout import INFINITE, NAN, Layout
from dpaudit.mechanisms.outputs.leaves import ABSENT
from dpaudit.neighbours import Pair, Side
from dpaudit.scan.candidates.screen import compute_best_event_nats, list_claim_points
from dpaudit.scan.certification.keeping import CountedOutputs, RefutationLook
from dpaudit.scan.finding import CarryingCounts, Kind, SeenEvent, Test
from dpaudit.scan.remote.foreign import Foreign, SharedCall

_LAID_OUT = 32  # observations of each dataset that a layout is made of
_FEWEST = 50  # fresh outputs
_SPARE = 2  # times as many as the events seem to take
_CAUTION = 2.0  # standard errors by which the rates that were seen are moved together
_OF_THE_REST = 0.5  # of the time that is left, for the fresh outputs
_USUALLY = 0.9  # of the outputs on either side: then what is rare is said
_ODD = 1e290
_ODDITIES = {NAN: "nan", INFINITE: "inf", -INFINITE: "-inf"}


class SampleSizes(NamedTuple):
    """Outputs of each dataset: that choose events, and at most so many that count them."""

    choosing: int
    counting: int


_ALONE = SampleSizes(16, 120)  # of outputs that are drawn one by one, at most


@dataclass(frozen=True)
class CertifiedBound:
    """The bound that fresh outputs certify for a claim on one pair.

    ``lower`` is at most the pair's epsilon at ``at_delta``, but for the error probability;
    ``claimed`` is the claim's there. ``event`` and ``kind`` are None where nothing was counted.
    ``kept`` says that outputs may have noise in common, and ``why``: they certify nothing then.
    ``tested`` are the counts that carry ``lower``. ``fault`` is the code of the kind of fault
    that the event shows, None if it does not decide one.
    """

    refuted: bool
    lower: float
    claimed: float
    at_delta: float
    counting: int
    drawn: int
    event: SeenEvent | None = None
    kind: Kind | None = None
    kept: bool = False
    tested: CarryingCounts | None = None
    why: str = ""
    fault: str | None = None


@dataclass(frozen=True)
class ForeignDraws:
    """Draws outputs of a mechanism on a pair, each purpose with a stream of its own."""

    mechanism: Foreign
    pair: Pair[Any]
    seed: int

    def outputs(self, trials: int, purpose: str) -> list[Array]:
        """Return outputs of both sides as rows, shape ``(trials, columns)`` each."""
        rng = default_rng(stream(self.seed, purpose))
        found = self.mechanism.in_turn([self.pair.on(side) for side in Side], trials, rng)
        return [np.asarray(one).reshape(trials, -1) for one in found]

    def laid_out(self, count: int) -> ForeignDraws:
        """Return draws whose outputs have a layout, of outputs that certify nothing."""
        rngs = [default_rng(stream(self.seed, "layout", side.value)) for side in Side]
        layout = self.mechanism.laid_out([self.pair.on(side) for side in Side], count, rngs)
        return replace(self, mechanism=self.mechanism.having(layout))


def certify_claim(
    mechanism: Foreign,
    pair: Pair[Any],
    claimed: Guarantee,
    sizes: SampleSizes,
    alpha: float,
    seed: int,
    until: float = math.inf,
) -> CertifiedBound:
    """Return the bound that fresh outputs certify for a claim on a pair.

    Parameters
    ----------
    mechanism, pair, claimed
        What is drawn from, and what is claimed of it.
    sizes
        How many outputs of each dataset.
    alpha
        Error probability of the whole certification, as the module says.
    seed
        Of all that is drawn here: another one than that of any screen.
    until
        A moment of `time.monotonic`: fewer fresh outputs are drawn where more would not be there
        by then, at the pace of those that chose.
    """
    few = SampleSizes(*map(min, sizes, _ALONE))
    try:
        usual = few if mechanism.alone else sizes
        return _try_certification(
            ForeignDraws(mechanism, pair, seed), claimed, usual, alpha / 2, until
        )
    except SharedCall:
        # Another stream: outputs that repeat the first ones would not be independent of the
        # reason for which all starts again.
        apart = int(stream(seed, "apart").generate_state(1, np.uint64)[0])
        return certify_claim(mechanism.drawn_apart(), pair, claimed, sizes, alpha / 2, apart, until)
    except WorkerEnded:
        again = int(stream(seed, "one by one").generate_state(1, np.uint64)[0])
        return _try_certification(
            ForeignDraws(mechanism.one_by_one(), pair, again), claimed, few, alpha / 2, until
        )


def _try_certification(
    draws: ForeignDraws, claimed: Guarantee, sizes: SampleSizes, alpha: float, until: float
) -> CertifiedBound:
    few = min(_LAID_OUT, sizes.choosing // 2)
    laid_out = draws.laid_out(few)
    layout = laid_out.mechanism.layout
    assert layout is not None
    began = time.monotonic()
    on = laid_out.outputs(sizes.choosing, "choosing events")
    pace = (time.monotonic() - began) / sizes.choosing  # of an output on either dataset
    features = Features.of(layout, *on)
    p, q = (features(side) for side in on)
    drawn = 2 * (few + sizes.choosing)
    point, found = _choose_certified_events(layout, p, q, claimed)
    if not found:
        return CertifiedBound(False, 0.0, *point, 0, drawn)
    most = int(min(sizes.counting, _estimate_output_budget(until, pace)))
    # From here on pair, layout, events and number are fixed. Whatever depended on the fresh
    # outputs, such as stopping early, would need an error probability of its own.
    counting = _choose_output_count(found, (p, q), point, most, alpha / ATTEMPTS)
    fresh = [features(side) for side in laid_out.outputs(counting, "counting events")]
    counted = [(one, _test_event_on_fresh(one, fresh, point[1], alpha / ATTEMPTS)) for one in found]
    # Of several refuting events the first is told: the event of a single part comes before
    # those of several, and is the easiest to understand. Each has its share of alpha.
    refuting = [one for one in counted if one[1].lower > point[0]]
    tried, tested = refuting[0] if refuting else max(counted, key=lambda one: one[1].lower)
    hits = (tested.on_dataset, tested.on_neighbour)
    drawn += 2 * counting
    if refuting and (why := _why_kept(laid_out, features, tried, fresh)):
        return CertifiedBound(False, 0.0, *point, counting, drawn, kept=True, why=why)
    words = Words(layout, features, laid_out, fresh, _USUALLY * counting)
    if not refuting:
        return CertifiedBound(False, tested.lower, *point, counting, drawn, tested=tested)
    event, flipped = _describe_event(tried, hits, words, counting)
    tested = tested.model_copy(update={"complement": flipped})
    kind = _classify_event(tried, layout, fresh)
    fault = find_tried_event_fault(tried, layout, features, hits, counting)
    return CertifiedBound(
        True, tested.lower, *point, counting, drawn, event, kind, tested=tested, fault=fault
    )


def _why_kept(
    draws: ForeignDraws, features: Features, tried: FeatureEvent, fresh: Sequence[Array]
) -> str:
    """Return why outputs that were counted refute nothing, as they may share noise."""

    def observe_numbers(on: Array) -> CountedOutputs:
        return CountedOutputs(on[:, list(tried.columns)], int(tried.event.hits(tried.score(on))))

    look = RefutationLook(
        draws.mechanism,
        draws.pair,
        draws.seed,
        draws.outputs,
        lambda rows: observe_numbers(features(np.asarray(rows).reshape(len(rows), -1))),
    )
    return look.why_kept([observe_numbers(side) for side in fresh])


def _estimate_output_budget(until: float, pace: float) -> float:
    """Return how many fresh outputs there can be by a moment; a few in any case."""
    return max(_FEWEST, _OF_THE_REST * (until - time.monotonic()) / max(pace, 1e-9))


def _choose_certified_events(
    layout: Layout, p: Array, q: Array, claimed: Guarantee
) -> tuple[tuple[float, float], list[FeatureEvent]]:
    """Return the point at which the claim is certified, and the events that are counted."""
    best = max(
        (
            (point, list(make_event_attempts(layout, p, q, point[1])))
            for point in list_claim_points(claimed)
        ),
        key=lambda one: max(
            (_compute_event_nats(tried, p, q, one[0]) for tried in one[1]), default=0.0
        ),
    )
    return best


def _compute_event_nats(
    tried: FeatureEvent, p: Array, q: Array, point: tuple[float, float]
) -> float:
    return compute_best_event_nats(tried.score(p), tried.score(q), point)


def _test_event_on_fresh(
    tried: FeatureEvent, fresh: Sequence[Array], delta: float, alpha: float
) -> CarryingCounts:
    """Return how often an event happened on either side, and the bound that this certifies."""
    hits = [tried.event.hits(tried.score(side)) for side in fresh]
    return CarryingCounts.of(hits, len(fresh[0]), tried.event.above, delta, alpha)


def _choose_output_count(
    found: Sequence[FeatureEvent],
    on: tuple[Array, Array],
    point: tuple[float, float],
    most: int,
    alpha: float,
) -> int:
    """Return how many fresh outputs would refute, by the rates that were seen; else the most."""
    best = max(found, key=lambda one: _compute_event_nats(one, *on, point))
    rates = [float(best.event.happened(best.score(side)).mean()) for side in on]
    favoured, other = rates if best.event.above else rates[::-1]
    size = len(on[0])
    # The best event was selected on these outputs, so that its rates look further apart than
    # they are.
    favoured -= _CAUTION * math.sqrt(favoured * (1 - favoured) / size)
    other += _CAUTION * math.sqrt(other * (1 - other) / size)
    if favoured <= compute_allowed_boundary(other, *point):
        return most  # at such rates no number of outputs refutes
    runs = _FEWEST
    while runs < most:
        hits, others = math.floor(max(0.0, favoured) * runs), math.ceil(min(1.0, other) * runs)
        bound = joint_lower_bound(hits, others, runs, runs, delta=point[1], alpha=alpha)
        if bound > point[0]:
            return min(most, _SPARE * runs)
        runs *= 2
    return most


# What was seen


def _classify_event(tried: FeatureEvent, layout: Layout, fresh: Sequence[Array]) -> Kind:
    """Return whether an event is about structure: a discrete value or no finite number."""
    structure = all(layout.columns[n].discrete for n in tried.columns)
    odd = isinstance(tried.score, OneValue) or abs(tried.event.threshold) > _ODD
    return "structure" if structure or odd else "distribution"


def _describe_event(
    tried: FeatureEvent, hits: tuple[int, int], words: Words, runs: int
) -> tuple[SeenEvent, bool]:
    """Return an event in words and as a test, and whether both are of its complement."""
    said, flipped = words.of(tried, hits)
    on_p, on_q = (runs - one for one in hits) if flipped else hits
    test, value = _make_event_test(tried, flipped, words)
    path = words.layout.columns[tried.columns[0]].path if len(tried.columns) == 1 else ""
    seen = SeenEvent(
        words=said,
        part=path,
        test=test,
        value=value,
        on_dataset=on_p,
        on_neighbour=on_q,
        runs=runs,
    )
    return seen, flipped


def _make_event_test(
    tried: FeatureEvent, flipped: bool, words: Words
) -> tuple[Test, float | str | None]:
    """Return an event of one part, as its words say it, as a test; several where it is none."""
    score = tried.score
    if isinstance(score, OneValue):
        return "equals", _ODDITIES.get(score.value, "-0.0")
    if isinstance(score, OneOf):
        return _of_codes(tried, score.ratios, flipped, words, known=False)
    if not isinstance(score, OnePart):
        return "several", None
    if (ratios := words.features.ratios.get(score.column)) is not None:
        return _of_codes(tried, ratios, flipped, words, known=True)
    above, threshold = tried.event.above == (score.sign > 0), tried.event.threshold * score.sign
    if score.centre is not None:
        return "several", None
    if abs(threshold) > _ODD:
        seen = np.concatenate([side[:, score.column] for side in words.fresh])
        # Layouts write NaN and infinities as huge doubles. A threshold that only one of them
        # passes is that value's event, and is said with its name.
        beyond = set(seen[seen > threshold] if threshold > 0 else seen[seen < threshold])
        one = beyond.pop() if len(beyond) == 1 else 0.0
        return ("equals", _ODDITIES[one]) if one in _ODDITIES else ("several", None)
    return ("above" if above != flipped else "below"), threshold


def _of_codes(
    tried: FeatureEvent, ratios: Any, flipped: bool, words: Words, *, known: bool
) -> tuple[Test, float | str | None]:
    inside = tried.event.happened(ratios.ratios) > 0
    codes = ratios.codes[~inside if flipped else inside]
    if len(codes) != 1:
        return "several", None
    if not known:
        return "equals", float(codes[0])
    if codes[0] == ABSENT.code:
        return "equals", "absent"
    kind, text = words.known(codes.tolist()).get(float(codes[0]), ("", ""))
    if kind == "raised":
        return "raised", text
    return ("equals", text) if kind and kind != "rest" else ("several", None)
