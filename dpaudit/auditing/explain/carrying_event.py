"""The event that carries a bound, in words, with the counts that the bound is worked out of.

The words are about the event that was counted itself, and never about its complement: an event is
chosen as the one of the two that is rarer (`dpaudit.estimation.event.choose_event`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.auditing.explain.event_words import FeatureEvent, Words, path_of
from dpaudit.auditing.explain.threshold_words import format_threshold
from dpaudit.auditing.outcome.evidence import EventEvidence
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.estimation.score_events import Order, ScoreEvent, Tally, ThresholdEvent
from dpaudit.mechanisms.outputs.features import OfFeatures, OnePart
from dpaudit.neighbours import Side
from dpaudit.report.formatting import format_significant
from dpaudit.report.schema import CarryingEvent as Document

# Where a threshold is looked for.
_GRID = 256  # numbers between those that were seen, and as many beyond either end
_FAR = 1e3  # how far beyond, in ranges of what was seen
_HALVINGS = 60  # how often the place is halved
_DIGITS = 7  # of what a bound is worked out of again
_BY = {"likelihood": "", "interval": ", with outcomes ordered by two Clopper-Pearson intervals"}
_READ = 100  # outputs of each dataset that codes and oddities are read off


@dataclass(frozen=True)
class EventDescription:
    """An event in words, and whether these name one part of the output."""

    words: str
    plain: bool = False

    @classmethod
    def of_score(cls, scorer: str, event: ThresholdEvent) -> EventDescription:
        """Return the words for an event of a score that reads the whole output.

        Examples
        --------
        >>> EventDescription.of_score("linear attack", ThresholdEvent(True, 1.0, 0.0)).words
        'the score of the whole output (linear attack) above its threshold'
        """
        side = "above" if event.above else "below"
        return cls(f"the score of the whole output ({scorer}) {side} its threshold")


def in_words(counted: ScoreEvent, drawer: Drawer, tally: Tally) -> EventDescription | None:
    """Return the words for an event of one part of the output; None if it is about more.

    Parameters
    ----------
    counted
        The score and the event of it.
    drawer
        What draws outputs, to read off them what a code stands for.
    tally
        How often the event was seen.
    """
    layout, score = getattr(drawer.mechanism, "layout", None), counted.score
    if layout is None:
        return None
    read = [drawer.outputs(side, _READ, "words") for side in Side]
    if isinstance(score, OfFeatures) and isinstance(score.score, OnePart):
        tried = FeatureEvent(score.score, (score.score.column,), counted.event)
        features = [score.features(side) for side in read]
        # Infinitely many outputs before an event is usual: the counts are those of the event
        # itself, so words for what is rare would not go with them.
        words = Words(layout, score.features, drawer, features, float("inf"))
        said, flipped = words.of(tried, tally.hits)
        return EventDescription(f"anything but that {said}" if flipped else said, not flipped)
    if len(layout.columns) == 1 and read[0][0].size == 1 and not layout.columns[0].discrete:
        return _of_one_number(counted, path_of(layout.columns[0]), np.concatenate(read))
    return None


def _of_one_number(counted: ScoreEvent, path: str, read: Array) -> EventDescription | None:
    """Return between which values a number is in the event; None if there are many such ranges."""

    def inside(values: Array) -> NDArray[np.bool_]:
        scores = np.asarray(counted.score(values.reshape(-1, *read.shape[1:])), dtype=np.float64)
        return counted.happened(scores) > 0

    values = np.sort(read.ravel())
    # The places beyond the outputs lie ever farther apart, since an event may begin far out in
    # a tail.
    far = np.geomspace(1.0, _FAR, _GRID) * float(np.ptp(values) or 1.0)
    middle = np.linspace(values[0], values[-1], _GRID)
    ordered = np.unique(np.concatenate([values[0] - far, middle, values, values[-1] + far]))
    # Halving does not get anywhere between a number and infinity.
    if not np.isfinite(ordered).all():
        return None
    found = inside(ordered)
    changes = np.flatnonzero(found[1:] != found[:-1])
    edges = [_search_event_edge(inside, ordered[place : place + 2]) for place in changes]
    shown = [format_threshold(edge, np.split(read.ravel(), 2)) for edge in edges]
    match shown, bool(found[-1]):
        case [one], True:
            return EventDescription(f"{path} > {one}", plain=True)
        case [one], False:
            return EventDescription(f"{path} < {one}", plain=True)
        case [low, high], True:
            return EventDescription(f"{path} > {high} or < {low}", plain=True)
        case [low, high], False:
            return EventDescription(f"{path} between {low} and {high}", plain=True)
    return None


def _search_event_edge(inside: Callable[[Array], NDArray[np.bool_]], ends: Array) -> float:
    """Return where the event begins or ends between two numbers, one of which is in it."""
    low, high = map(float, ends)
    last = inside(np.array([high]))[0]
    for _ in range(_HALVINGS):
        # Halved first, so that the sum of two large numbers does not overflow.
        between = low / 2 + high / 2
        low, high = (low, between) if inside(np.array([between]))[0] == last else (between, high)
    return high


def sentence_of(event: EventEvidence, refutes: bool) -> str:
    """Return the sentence on the event that carries a bound, with its counts.

    Examples
    --------
    >>> one = EventEvidence(words="`output` > 2", plain=True, hits=(90, 4), runs=(1000, 1000),
    ...     delta=0.0, alpha=0.05, epsilon=2.1)
    >>> sentence_of(one, refutes=True)[:63]
    'What leaked: `output` > 2 in 90 of 1000 outputs on the dataset '
    """
    # Only an event of one part in words is a leak that a reader can look for in the code.
    begins = "What leaked" if refutes and event.plain else "The event that carries the bound"
    (on_p, on_q), (of_p, of_q) = event.hits, event.runs
    certified = format_certified_epsilon(event.epsilon, event.delta, event.alpha, event.order)
    said = (
        f"{begins}: {event.words} in {on_p} of {of_p} outputs on the dataset and in {on_q} of "
        f"{of_q} on its neighbour, which {certified}."
    )
    if min(event.hits) > 0 or not refutes:
        return said
    where = "neighbour" if on_q == 0 else "dataset"
    # Always on one side and never on the other is the strongest that counts can be.
    always = max(on_p / of_p, on_q / of_q) == 1
    most = "this is the most that so many outputs can certify, and " if always else ""
    return (
        f"{said} The event never occurred on the {where}: {most}the true epsilon may be infinite."
    )


def format_certified_epsilon(
    lower: float, delta: float, alpha: float, order: Order = "likelihood"
) -> str:
    """Return the certified epsilon of counts, with everything to compute it again.

    Examples
    --------
    >>> format_certified_epsilon(1.23456, 0.0, 0.01)
    'certifies an epsilon of at least 1.234 at delta 0 with an error probability of 0.01'
    >>> format_certified_epsilon(1.23456, 0.0, 0.01, "interval")[-63:]
    'of 0.01, with outcomes ordered by two Clopper-Pearson intervals'
    >>> format_certified_epsilon(0.0, 0.0, 0.01)
    'certifies no epsilon above 0'
    """
    if lower == 0:
        return "certifies no epsilon above 0"
    return (
        f"certifies an epsilon of at least {format_significant(lower, rounding=ROUND_FLOOR)} at "
        "delta "
        f"{format_significant(delta, _DIGITS)} with an error probability of "
        f"{format_significant(alpha, _DIGITS)}"
        f"{_BY[order]}"
    )


def in_document(event: EventEvidence, refutes: bool) -> Document:
    """Return the event that carries a bound, as a report has it."""
    return Document(**asdict(event), sentence=sentence_of(event, refutes))
