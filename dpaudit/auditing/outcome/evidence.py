"""The evidence of an audit: the measured numbers and everything that supports them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dpaudit.estimation.event import ScoreHistogram
from dpaudit.estimation.model_estimates import ModelBasedEstimate
from dpaudit.estimation.score_events import Order
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.report.law import ReadLaw


@dataclass(frozen=True, kw_only=True)
class Band:
    """Certified bounds on delta at each epsilon, all at once."""

    lower: tuple[float, ...]
    upper: tuple[float | None, ...]
    confidence: float


@dataclass(frozen=True)
class BettingEvent:
    """An event that is bet on: whose score, which dataset it favours, its share of the wealth."""

    attack: str
    favours: Literal["dataset", "neighbour"]
    share: float


@dataclass(frozen=True, kw_only=True)
class BettingRow:
    """The results of pairs that were bet on at the same rates, for each event in order.

    Parameters
    ----------
    pairs
        How many.
    rates
        What the rates were guessed to be, on the dataset that the event favours and on the other.
    hits
        Outputs in the event, on the same two.
    """

    pairs: int
    rates: tuple[tuple[float, float], ...]
    hits: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class WealthHistory:
    """The path of the wealth against a claim, and the counts that determine it.

    Parameters
    ----------
    transcripts, log10_wealth
        Decimal logarithms after so many outputs.
    log10_goal, refuted_after
        What refutes, and when it was reached.
    epsilons
        What is bet against, ascending: the bound is the largest whose wealth, and that of all
        before it, reached the goal at the end of a row.
    events, stakes
        Every event has a bettor for each stake; they share its share.
    bets
        The counts, in order.
    """

    transcripts: tuple[int, ...]
    log10_wealth: tuple[float, ...]
    log10_goal: float
    refuted_after: int | None
    epsilons: tuple[float, ...] = ()
    events: tuple[BettingEvent, ...] = ()
    stakes: tuple[float, ...] = ()
    bets: tuple[BettingRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DivergenceCounts:
    """The counts of bins that carry a bound on a divergence, and the bet that was fixed before.

    The bound is that of `dpaudit.estimation.divergence.RenyiBet` at ``alpha``, over ``unit`` where
    all orders are claimed.

    Parameters
    ----------
    favours
        The dataset whose divergence from the other it is.
    order, log_ratios, slope, centre, stake, trials
        The bet; a log-ratio for each bin.
    hits
        Outputs in each bin, on the favoured dataset and on the other: up to the unit of work after
        which the bet had won most.
    alpha, unit, bound
        Error probability; what the divergence is divided by; what follows.
    """

    favours: Literal["dataset", "neighbour"]
    order: float
    log_ratios: tuple[float, ...]
    slope: float
    centre: float
    stake: float
    trials: tuple[int, int]
    hits: tuple[tuple[int, ...], tuple[int, ...]]
    alpha: float
    unit: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class EventEvidence:
    """The event whose counts carry a bound, on the outputs that certify it.

    One exact test of the counts (`dpaudit.estimation.joint`) gives ``epsilon`` at ``delta`` with
    the error probability ``alpha``: whoever has these numbers can work it out again.

    Parameters
    ----------
    words
        What the event is.
    plain
        Whether they name one part of the output and a value of it.
    hits, runs
        How often it was seen, of how many, on the dataset and on its neighbour.
    delta, alpha, epsilon, order
        Of the test.
    """

    words: str
    plain: bool
    hits: tuple[int, int]
    runs: tuple[int, int]
    delta: float
    alpha: float
    epsilon: float
    order: Order = "likelihood"


@dataclass(frozen=True, kw_only=True)
class MeasurementEvidence:
    """The measured side of an audit.

    Parameters
    ----------
    lower, upper, estimate
        Certified ends (``upper`` may be None, ``upper_note`` says why) and the point estimate.
    estimator
        Its name.
    trials
        Certifying outputs per dataset.
    budget
        Error probability by purpose; the sum is what was asked for.
    counts
        Outputs drawn, by purpose.
    epsilons, band
        Where delta was bounded, and by what.
    roc
        Empirical (false-positive rate, false-negative rate) of the attack.
    wealth, remark
        Of an audit that bets until it refutes: how it went, and when it stopped, as a sentence.
    interrupted
        Whether the user stopped it; what is certified holds all the same.
    model_based
        Numbers that rest on a model: shown beside what is certified, and never judged.
    unit
        Outputs per unit of work.
    repeatable
        Whether its seed repeats it: not where a mechanism has randomness of its own.
    contract
        Checks that outputs were independent, which every bound on them assumes.
    at_delta
        Of a claim that names no point: the delta that was chosen.
    cap
        The most that so many outputs can certify, where outputs alone certify.
    scores
        Of an event: how the scores of either side lie around its threshold.
    carrying
        The event whose counts carry the bound, where one does.
    bins
        The counts that carry a bound on a divergence.
    law
        The law that was read from the code, where one was.
    """

    lower: float
    upper: float | None
    estimate: float | None
    estimator: str
    trials: int
    budget: dict[str, float]
    counts: dict[str, int]
    upper_note: str | None = None
    self_checks: tuple[CheckOutcome, ...] = ()
    epsilons: tuple[float, ...] = ()
    band: Band | None = None
    roc: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    wealth: WealthHistory | None = None
    remark: str = ""
    interrupted: bool = False
    model_based: tuple[ModelBasedEstimate, ...] = ()
    notes: tuple[str, ...] = field(default=())
    unit: int | None = None
    repeatable: bool = True
    contract: tuple[CheckOutcome, ...] = ()
    at_delta: float | None = None
    scores: ScoreHistogram | None = None
    cap: float | None = None
    carrying: EventEvidence | None = None
    bins: DivergenceCounts | None = None
    law: ReadLaw | None = None

    @property
    def trusted(self) -> bool:
        """Whether every check passed, of the law and of the contract."""
        return all(check.passed for check in (*self.self_checks, *self.contract))


def nothing_certified(check: CheckOutcome, estimator: str = "event") -> MeasurementEvidence:
    """Return evidence that certifies nothing, as a check has failed before anything was drawn."""
    return MeasurementEvidence(
        lower=0.0,
        upper=None,
        estimate=None,
        estimator=estimator,
        trials=0,
        budget={},
        counts={},
        contract=(check,),
        repeatable=False,
    )
