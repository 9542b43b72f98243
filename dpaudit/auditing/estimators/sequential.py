"""The audit that stops: draws until the wealth refutes the claim, or the cap is reached.

Bets on outputs as they come: attacks learn on earlier ones, the wealth grows on the next.

`Bettor` takes pairs of outputs from anywhere, an audit that draws them or a stream that
somebody else feeds, in pieces of any size: but for rounding, no number depends on the pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.random import default_rng

import dpaudit.auditing.sampling.contract_checks as contract_checks
from dpaudit._typing import Array
from dpaudit.auditing.distinguishers.learned_scores import Score, fit_scores_in_order, for_mechanism
from dpaudit.auditing.outcome.evidence import (
    BettingEvent,
    BettingRow,
    MeasurementEvidence,
    WealthHistory,
)
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.auditing.sampling.separate_processes import Against
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.estimation.independence import Outputs
from dpaudit.estimation.score_events import (
    ScoreEvent,
    ThresholdEvent,
    compute_score_grain,
    round_scores,
)
from dpaudit.estimation.sequential.game import (
    STAKES,
    BetCounts,
    BettingGame,
    BettingTarget,
    Wealth,
    make_bet_boundaries,
    most_of_bets,
)
from dpaudit.execution import Progress, Silent, stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.neighbours import Side
from dpaudit.report.formatting import format_significant, share_of

FitAll = Callable[[Array, Array], Sequence[Score]]

_ROOM = 64 * 2**20  # bytes of outputs that are kept to learn from
_REFIT = 3  # attacks learn again when so many times as many outputs have been seen


class Bettor:
    """Bets against a claim on pairs of outputs: one of the dataset, one of its neighbour.

    Formal guarantee: if the claim is true of the pair, `refuted_after` is ever above 0, or `lower`
    ever above the truth, with probability at most ``target.alpha``, however many attacks there are
    and whenever one looks; outputs must be independent
    (`dpaudit.estimation.sequential.game`).

    Parameters
    ----------
    target
        The claim and the error probability.
    fit
        Returns fitted scores from outputs of both datasets, shape ``(n, ...)`` each; always the
        same number of them.

    Attributes
    ----------
    pairs
        Pairs that were seen.
    learned_from
        Pairs of the pilot, which are not bet on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bettor = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
    >>> bettor.feed(rng.laplace(1, 0.5, (400, 1)), rng.laplace(0, 0.5, (400, 1)))
    >>> 0 < bettor.refuted_after < 400, 1 < bettor.lower < 2
    (True, True)
    """

    def __init__(self, target: BettingTarget, fit: FitAll) -> None:
        self.target, self.pairs, self.learned_from = target, 0, 0
        self._path: list[tuple[int, float]] = []
        self._point: tuple[int, float] | None = None
        self._counts: dict[tuple[int, int], BetCounts] = {}
        self._fit, self._scores, self._fitted_at = fit, list[Score](), 0
        self._steps: list[float] = []
        self._boundaries = make_bet_boundaries()
        self._due = next(self._boundaries)
        self._kept: list[tuple[Array, Array]] = []
        self._new: list[tuple[Array, Array]] = []
        self._kept_bytes, self._all_kept = 0, True
        self._game: BettingGame | None = None

    @property
    def path(self) -> list[tuple[int, float]]:
        """Pairs seen and the log-wealth against the claim, at every choice of bets and now."""
        return self._path if self._point is None else [*self._path, self._point]

    @property
    def until_due(self) -> int:
        """Pairs that are bet on before the bets are chosen anew."""
        return self._due - self.pairs

    @property
    def refuted_after(self) -> int:
        """After how many pairs, the pilot's included, the claim was refuted; 0 if it is not."""
        after = 0 if self._game is None else int(self._game.refuted_after)
        return after + self.learned_from if after else 0

    @property
    def lower(self) -> float:
        """The certified lower bound on epsilon, at every moment."""
        return 0.0 if self._game is None else float(self._game.lower)

    @property
    def log_wealth(self) -> float:
        """The logarithm of the wealth against the claim, 0 at the start."""
        return 0.0 if self._game is None else float(self._game.wealth.log_total[self._game.claim])

    @property
    def log_peak(self) -> float:
        """The largest that `log_wealth` has been."""
        return 0.0 if self._game is None else float(self._game.wealth.log_peak[self._game.claim])

    @property
    def shares(self) -> list[float]:
        """The share of the wealth that each score and direction started with, stakes together."""
        if self._game is None:
            return []
        share = np.exp(self._game.wealth.log_share)
        return [float(part.sum()) for part in np.split(share, 2 * len(self._scores))]

    @property
    def bet_counts(self) -> list[BetCounts]:
        """The results of the bets in order: a new row if bets changed or an epsilon fell."""
        return list(self._counts.values())

    @property
    def rates(self) -> list[tuple[float, float]]:
        """Rates of the present event of each score and direction on either side."""
        if self._game is None:
            return []
        chosen = self._game.chosen
        return list(zip(chosen.rate.tolist(), chosen.other_rate.tolist(), strict=True))

    @property
    def counted(self) -> ScoreEvent:
        """The event whose bets have won most, as it is now; there is a game."""
        game = self._game
        assert game is not None
        # Each bettor's wealth is weighed by the share that it started with.
        won = game.wealth.log_wealth[:, game.claim] + game.wealth.log_share
        direction, score = divmod(int(np.argmax(won)) // len(STAKES), len(self._scores))
        threshold = float(game.chosen.threshold[direction * len(self._scores) + score])
        event = (
            ThresholdEvent(True, threshold, 0.0)
            if not direction
            else ThresholdEvent(False, -threshold, 0.0)
        )
        return ScoreEvent(self._scores[score], event, self._steps[score])

    def feed(self, on_p: Array, on_q: Array) -> None:
        """Take pairs of outputs, ``on_p[i]`` with ``on_q[i]``, shape ``(n, ...)`` each."""
        start = 0
        while start < len(on_p):
            # Pieces end where the bets are due, so that no number depends on how a stream is cut.
            stop = min(len(on_p), start + self.until_due)
            self._take(on_p[start:stop], on_q[start:stop])
            start = stop

    def _take(self, on_p: Array, on_q: Array) -> None:
        if self._game is not None:
            scores = self._score_outputs(on_p), self._score_outputs(on_q)
            before = self._game
            # Bets come first: scores may be learned from only after they were bet on.
            self._game, path = before.play(*scores)
            self._count(before.bet_counts(*scores, self._game.wealth), before.wealth)
            self._new.append(scores)
            self._point = (self.pairs + len(on_p), float(path[-1]))
        self._keep(on_p, on_q)
        self.pairs += len(on_p)
        if self.pairs == self._due:
            self._path += [] if self._point is None else [self._point]
            self._point = None
            self._learn()
            self._due = next(self._boundaries)

    def _count(self, parts: Iterable[BetCounts], before: Wealth) -> None:
        """Add the counts of every part; pieces that a stream comes in are no parts."""
        fallen = len(set(before.first_over[before.first_over > 0].tolist()))
        for fallen_by_then, part in enumerate(parts, start=fallen):
            row = (self._due, fallen_by_then)
            self._counts[row] = self._counts[row] + part if row in self._counts else part

    def _keep(self, on_p: Array, on_q: Array) -> None:
        self._kept_bytes += on_p.nbytes + on_q.nbytes
        # The pilot is kept whatever its size: the first bets are learned from it.
        fits = self._game is None or self._kept_bytes <= _ROOM
        self._all_kept = self._all_kept and fits
        if self._all_kept:
            self._kept.append((on_p, on_q))
        else:
            self._kept.clear()

    def _learn(self) -> None:
        # Attacks learn anew only while every earlier output is there to be scored again.
        anew = self._all_kept and self.pairs >= _REFIT * self._fitted_at
        scores = (
            self._refit_scores() if anew else tuple(map(np.hstack, zip(*self._new, strict=True)))
        )
        self._new.clear()
        if self._game is None:
            self._open(*scores)
        else:
            self._game = self._game.learn(*scores, anew=anew)

    def _open(self, on_p: Array, on_q: Array) -> None:
        target = self.target
        self._game = BettingGame.open(
            on_p,
            on_q,
            epsilons=target.epsilons,
            claim=target.claim,
            delta=target.delta,
            alpha=target.alpha,
        )
        self.learned_from = self.pairs
        self._path.append((self.pairs, 0.0))

    def _refit_scores(self) -> tuple[Array, Array]:
        """Fit on the first outputs; return the scores of all others, which it did not see."""
        on_p, on_q = (np.concatenate(side) for side in zip(*self._kept, strict=True))
        # Scores of outputs that attacks have learned on would promise too much: these are left
        # out.
        first = self._fitted_at or self.pairs // 2
        self._scores = list(self._fit(on_p[:first], on_q[:first]))
        raw = [
            [_compute_checked_scores(score, side[first:]) for score in self._scores]
            for side in (on_p, on_q)
        ]
        self._steps = [compute_score_grain(np.concatenate(one)) for one in zip(*raw, strict=True)]
        self._fitted_at = self.pairs
        return self._rounded(raw[0]), self._rounded(raw[1])

    def _score_outputs(self, outputs: Array) -> Array:
        """Return the scores of every attack, shape ``(J, n)``."""
        return self._rounded([_compute_checked_scores(score, outputs) for score in self._scores])

    def _rounded(self, scores: Sequence[Array]) -> Array:
        return np.stack(
            [round_scores(one, step) for one, step in zip(scores, self._steps, strict=True)]
        )


def _compute_checked_scores(score: Score, outputs: Array) -> Array:
    values: Any = np.asarray(score(outputs), dtype=np.float64)
    if values.shape != (len(outputs),) or np.isnan(values).any():
        found = f"shape {values.shape}" if values.shape != (len(outputs),) else "NaN"
        raise MechanismError(
            f"score {type(score).__name__}: got {found}, expected {len(outputs)} numbers, "
            "one for each output"
        )
    return np.asarray(values)


Seen = list[tuple[Outputs, Outputs]]
_COMPARED = 2**17  # pairs that are remembered, to be compared
_BATCH_BYTES = 64 * 2**20
_INTERRUPTED = "Interrupted: this is what the bets had shown by then."


def until_refuted(
    case: PrivacyCase,
    drawer: Drawer,
    most: int,
    alpha: float,
    attack: str | None,
    bits: bool = False,
) -> MeasurementEvidence:
    """Return the certified bound when the claim was refuted, or after ``most`` outputs.

    An interrupt by the user ends it early and loses nothing: the bets hold whenever one looks.

    Formal guarantee: over all looks, attacks and directions, a true claim is refuted, or a lower
    bound above the truth certified, with probability at most alpha
    (`dpaudit.estimation.sequential.game`).

    Parameters
    ----------
    case, drawer
        What is audited, and what draws its outputs.
    most
        The cap: outputs of each dataset, those that attacks learn on included.
    alpha
        Error probability.
    attack
        The only attack to try, or None.
    bits
        Whether to try the lowest bits of doubles as well.

    Raises
    ------
    InvalidArgument
        The claimed epsilon is infinite, so nothing refutes it.
    """
    claimed = case.claimed.epsilon(case.at_delta)
    if not math.isfinite(claimed):
        raise InvalidArgument("claimed epsilon", claimed, "a finite number to bet against")
    attacks = for_mechanism(case, drawer, attack, bits=bits)
    bettor = Bettor(BettingTarget(claimed, case.at_delta, alpha), _Fit(case, drawer.seed, attacks))
    seen: Seen = []
    interrupted = not _draw_until_interrupted(bettor, drawer, most, seen)
    evidence = evidence_of(bettor, [one.name for one in attacks], most)
    if bettor.refuted_after and not interrupted:
        against = Against(claimed, case.at_delta, alpha)
        with contract_checks.make_separate_drawer(case, drawer) as other:
            kept = contract_checks.of_bets(other, seen, bettor.counted, against)
        remark = f"{evidence.remark} {kept.remark}".rstrip()
        notes = evidence.notes + kept.notes
        return replace(evidence, contract=kept.checks, notes=notes, remark=remark)
    if not interrupted:
        return evidence
    return replace(evidence, interrupted=True, remark=f"{_INTERRUPTED} {evidence.remark}")


@dataclass
class _Fit:
    """Fits every attack; each time with a generator of its own."""

    case: PrivacyCase
    seed: int
    attacks: list[Distinguisher]
    times: int = 0

    def __call__(self, on_p: Array, on_q: Array) -> list[Score]:
        rng = default_rng(stream(self.seed, "attack", str(self.times)))
        self.times += 1
        return fit_scores_in_order(
            self.attacks, self.case.mechanism, self.case.pair, on_p, on_q, rng
        )


def _draw_until_interrupted(bettor: Bettor, drawer: Drawer, most: int, seen: Seen) -> bool:
    """Draw and bet until the claim falls or the cap is reached; return False if interrupted."""
    try:
        _draw_and_bet(bettor, drawer, most, seen)
    except KeyboardInterrupt:
        # Without a bet there is nothing to show for the outputs that were drawn.
        if not bettor.learned_from:  # no bet was made
            raise
        return False
    return True


def _draw_and_bet(bettor: Bettor, drawer: Drawer, most: int, seen: Seen) -> None:
    """Draw and bet, and remember a number of each output in ``seen``."""
    progress: Progress = drawer.executor.progress
    # Every batch is a stage of its own: one bar of progress for all of them is enough.
    quiet = replace(drawer, executor=replace(drawer.executor, progress=Silent()))
    one = quiet.outputs(Side.DATASET, 1, "size of one")
    largest = max(10, _BATCH_BYTES // max(one.nbytes, 1))
    progress.start("betting, at most", most)
    while bettor.pairs < most and not bettor.refuted_after:
        batch = min(bettor.until_due, most - bettor.pairs, largest)
        name = f"betting from {bettor.pairs}"
        found = quiet.paired(batch, name)
        if bettor.pairs < _COMPARED:
            seen.append(found.outputs)
        bettor.feed(*found.scores)
        progress.advance(batch)


def evidence_of(bettor: Bettor, attacks: Sequence[str], most: int | None) -> MeasurementEvidence:
    """Return a bettor's results as evidence.

    Parameters
    ----------
    bettor
        After its last output.
    attacks
        The names of its scores.
    most
        The cap on the outputs of each dataset, or None.
    """
    allowed = {} if most is None else {"allowed at most, per dataset": most}
    pilot, target = bettor.learned_from or bettor.pairs, bettor.target  # nothing is bet on before
    bet = bettor.pairs - pilot
    words = "refuted" if bettor.refuted_after else "not refuted"
    return MeasurementEvidence(
        lower=bettor.lower,
        upper=None,
        upper_note="outputs alone bound epsilon from below only",
        estimate=None,
        estimator=f"bets on events, stopped when {words}",
        trials=bettor.pairs,
        budget={"one wealth: every look, attack, direction and lower bound": bettor.target.alpha},
        counts={
            "drawn, per dataset": bettor.pairs,
            "pilot, not bet on, per dataset": pilot,
            "bet on, per dataset": bet,
        }
        | allowed,
        wealth=WealthHistory(
            transcripts=tuple(pairs for pairs, _ in bettor.path),
            log10_wealth=tuple(wealth / math.log(10) for _, wealth in bettor.path),
            log10_goal=-math.log10(bettor.target.alpha),
            refuted_after=bettor.refuted_after or None,
            epsilons=tuple(target.epsilons.tolist()),
            events=_make_bet_events(bettor, attacks),
            stakes=STAKES,
            bets=tuple(map(_make_bet_row, bettor.bet_counts)),
        ),
        remark=_format_stop_reason(bettor, most),
        cap=min(most_of_bets(bet, target.delta, target.alpha), float(target.epsilons[-1])),
        notes=(_format_bet_shares(bettor, attacks),),
    )


def _make_bet_events(bettor: Bettor, attacks: Sequence[str]) -> tuple[BettingEvent, ...]:
    """Return the events of the bets, in the order of their shares."""
    sides: tuple[Literal["dataset", "neighbour"], ...] = ("dataset", "neighbour")
    found = list(product(sides, attacks))
    shares = bettor.shares or [1 / len(found)] * len(found)
    return tuple(
        BettingEvent(name, favours, share)
        for (favours, name), share in zip(found, shares, strict=True)
    )


def _make_bet_row(counts: BetCounts) -> BettingRow:
    return BettingRow(
        pairs=counts.pairs,
        rates=tuple(zip(counts.rate.tolist(), counts.other_rate.tolist(), strict=True)),
        hits=tuple(zip(counts.hits.tolist(), counts.other_hits.tolist(), strict=True)),
    )


def _format_stop_reason(bettor: Bettor, most: int | None) -> str:
    goal = 1 / bettor.target.alpha
    if bettor.refuted_after:
        allowed = "" if most is None else f", of {most} allowed"
        return (
            f"Refuted after {bettor.refuted_after} outputs of each dataset{allowed}: a "
            f"bettor against the claim reached a wealth of {goal:.6g}."
        )
    return (
        f"Not refuted by the {bettor.pairs} outputs of each dataset: a bettor against the claim "
        f"ended with a wealth of {_format_wealth(bettor.log_wealth)} and never had more than "
        f"{_format_wealth(bettor.log_peak)}; {goal:.6g} refutes."
    )


def _format_wealth(log_wealth: float) -> str:
    return format_significant(math.exp(min(log_wealth, 700)), 3)


def _format_bet_shares(bettor: Bettor, attacks: Sequence[str]) -> str:
    listed = ", ".join(
        f"{one.attack} for the {one.favours} {share_of(one.share, 1.0)}"
        for one in _make_bet_events(bettor, attacks)
    )
    return f"Shares of the one wealth, set on the pilot, {len(STAKES)} stakes each: {listed}."
