"""The audit that stops: draws until the wealth refutes the claim, or the cap is reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from dpaudit.attack import Attack
from dpaudit.audit.choosing import applicable
from dpaudit.audit.draws import Drawer
from dpaudit.audit.evidence import Evidence, WealthPath
from dpaudit.audit.sequential import Bettor, Score
from dpaudit.case import PrivacyCase
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.sequential_game import STAKES, Target
from dpaudit.execution import Progress, Silent, stream
from dpaudit.report.formatting import number

Array = NDArray[np.float64]

_BATCH_BYTES = 64 * 2**20
_INTERRUPTED = "Interrupted: this is what the bets had shown by then."


def until_refuted(
    case: PrivacyCase, drawer: Drawer, most: int, alpha: float, attack: str | None
) -> Evidence:
    """Return what was certified when the claim was refuted, or after ``most`` transcripts.

    An interrupt by the user ends it early and loses nothing: the bets hold whenever one looks.

    Formal guarantee: over all looks, attacks and directions, a true claim is refuted, or a lower
    bound above the truth certified, with probability at most alpha
    (`dpaudit.estimation.sequential`).

    Parameters
    ----------
    case, drawer
        What is audited, and what draws its transcripts.
    most
        The cap: transcripts of each dataset, those that attacks learn on included.
    alpha
        Error probability.
    attack
        The only attack to try, or None.

    Raises
    ------
    InvalidArgument
        The claimed epsilon is infinite, so nothing refutes it.
    """
    claimed = case.claimed.epsilon(case.at_delta)
    if not math.isfinite(claimed):
        raise InvalidArgument("claimed epsilon", claimed, "a finite number to bet against")
    attacks = applicable(case, drawer, attack)
    bettor = Bettor(Target(claimed, case.at_delta, alpha), _Fit(case, drawer.seed, attacks))
    interrupted = not _drawn(bettor, drawer, most)
    evidence = evidence_of(bettor, [one.name for one in attacks], most)
    if not interrupted:
        return evidence
    return replace(evidence, interrupted=True, remark=f"{_INTERRUPTED} {evidence.remark}")


@dataclass
class _Fit:
    """Fits every attack; each time with a generator of its own."""

    case: PrivacyCase
    seed: int
    attacks: list[Attack]
    times: int = 0

    def __call__(self, on_p: Array, on_q: Array) -> list[Score]:
        rng = default_rng(stream(self.seed, "attack", str(self.times)))
        self.times += 1
        mechanism, pair = self.case.mechanism, self.case.pair
        return [one.load()(mechanism, pair, on_p, on_q, rng) for one in self.attacks]


def _drawn(bettor: Bettor, drawer: Drawer, most: int) -> bool:
    """Draw and bet until the claim falls or the cap is reached; return False if interrupted."""
    try:
        _draw(bettor, drawer, most)
    except KeyboardInterrupt:
        if not bettor.learned_from:  # no bet was made
            raise
        return False
    return True


def _draw(bettor: Bettor, drawer: Drawer, most: int) -> None:
    progress: Progress = drawer.executor.progress
    quiet = replace(drawer, executor=replace(drawer.executor, progress=Silent()))
    one = quiet.transcripts(False, 1, "size of one")
    largest = max(10, _BATCH_BYTES // max(one.nbytes, 1))
    progress.start("betting, at most", most)
    while bettor.pairs < most and not bettor.refuted_after:
        batch = min(bettor.until_due, most - bettor.pairs, largest)
        name = f"betting from {bettor.pairs}"
        bettor.feed(*(quiet.transcripts(side, batch, name) for side in (False, True)))
        progress.advance(batch)


def evidence_of(bettor: Bettor, attacks: Sequence[str], most: int | None) -> Evidence:
    """Return what a bettor found as evidence.

    Parameters
    ----------
    bettor
        After its last transcript.
    attacks
        The names of its scores.
    most
        The cap on the transcripts of each dataset, or None.
    """
    allowed = {} if most is None else {"allowed at most, per dataset": most}
    bet = bettor.pairs - bettor.learned_from
    words = "refuted" if bettor.refuted_after else "not refuted"
    return Evidence(
        lower=bettor.lower,
        upper=None,
        upper_note="outputs alone bound epsilon from below only",
        estimate=None,
        estimator=f"bets on events, stopped when {words}",
        trials=bettor.pairs,
        budget={"one wealth: every look, attack, direction and lower bound": bettor.target.alpha},
        counts={
            "drawn, per dataset": bettor.pairs,
            "pilot, not bet on, per dataset": bettor.learned_from,
            "bet on, per dataset": bet,
        }
        | allowed,
        wealth=WealthPath(
            transcripts=tuple(pairs for pairs, _ in bettor.path),
            log10_wealth=tuple(wealth / math.log(10) for _, wealth in bettor.path),
            log10_goal=-math.log10(bettor.target.alpha),
            refuted_after=bettor.refuted_after or None,
        ),
        remark=_stopped(bettor, most),
        notes=(_shares(bettor, attacks),),
    )


def _stopped(bettor: Bettor, most: int | None) -> str:
    goal = 1 / bettor.target.alpha
    if bettor.refuted_after:
        allowed = "" if most is None else f", of {most} allowed"
        return (
            f"Refuted after {bettor.refuted_after} transcripts of each dataset{allowed}: against "
            f"the claim the wealth reached {goal:.6g}."
        )
    return (
        f"Not refuted by the {bettor.pairs} transcripts of each dataset: against the claim the "
        f"wealth ended at {_shown(bettor.log_wealth)} and was never over "
        f"{_shown(bettor.log_peak)}; {goal:.6g} refutes."
    )


def _shown(log_wealth: float) -> str:
    return number(math.exp(min(log_wealth, 700)), 3)


def _shares(bettor: Bettor, attacks: Sequence[str]) -> str:
    names = [f"{name} for the dataset" for name in attacks]
    names += [f"{name} for the neighbour" for name in attacks]
    shares = bettor.shares or [1 / len(names)] * len(names)
    listed = ", ".join(f"{name} {share:.0%}" for name, share in zip(names, shares, strict=True))
    return f"Shares of the one wealth, set on the pilot, {len(STAKES)} stakes each: {listed}."
