"""The worst of several pairs: ranked on a part of the trials, certified on fresh ones.

The ranking only decides which pair is audited, and nothing that certifies was drawn for it: the
certified bound is valid for the pair that won, whichever that is, and no error probability is spent
on the choice. A lower bound for one pair is a lower bound for the mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
from numpy.random import default_rng

from dpaudit.auditing.distinguishers.learned_scores import (
    fit_distinguishers,
    for_mechanism,
    with_further,
)
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.sequential.events import Tallies, both_directions
from dpaudit.estimation.sequential.game import BettingTarget
from dpaudit.execution import Executor, Progress, Silent, stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.guarantees import gaussian
from dpaudit.mechanisms.mechanism import HasLaw
from dpaudit.neighbours import Side
from dpaudit.report.schema import PairSearch

_SHARE = 0.2  # of the trials
_OF_SHARE = 1e-4  # of a claim that is reached, beside how soon it falls
_LEAST = 20  # outputs of each dataset that a candidate is ranked on


@dataclass(frozen=True)
class CaseChoice:
    """The case to audit, the trials that are left, and how it was chosen."""

    case: PrivacyCase
    trials: int
    search: PairSearch | None


def at_most(trials: int) -> int:
    """Return how many pairs so many trials can rank."""
    return int(_SHARE * trials) // _LEAST


def choose_worst_pair(
    case: PrivacyCase, executor: Executor, settings: Settings, trials: int
) -> CaseChoice:
    """Return the candidate that promises the largest epsilon; the case itself if it has none.

    Raises
    ------
    InvalidArgument
        Pairs were asked for and the case has none, or the trials are too few to rank them.
    """
    if not case.candidates:
        if settings.candidate_pairs is not None:
            refuse_pair_ranking(settings.candidate_pairs)
        return CaseChoice(case, trials, None)
    count = len(case.candidates)
    if count == 1 and settings.candidate_pairs is None:
        return CaseChoice(case.candidates[0], trials, None)
    # Every candidate is ranked on as many outputs, and what they take is no longer there to
    # certify.
    each = int(_SHARE * trials) // count
    if each < _LEAST:
        expected = f"at least {math.ceil(_LEAST * count / _SHARE)}, to rank {count} pairs"
        raise InvalidArgument("trials", trials, expected)
    promised = _compute_pair_promises(case.candidates, executor, settings, each)
    best = int(np.argmax(promised))
    search = PairSearch(
        candidates=count,
        chosen=best + 1,
        promised=promised,
        transcripts=each * count,
        of_trials=trials,
    )
    return CaseChoice(case.candidates[best], trials - each * count, search)


def refuse_pair_ranking(asked: int) -> NoReturn:
    """Refuse to look for the worst of several pairs where there is one."""
    raise InvalidArgument("pairs", asked, "nothing: this audit has one pair")


def format_pair_search(search: PairSearch) -> str:
    """Return one sentence for the report on the pair that won and on the cost of the search.

    Examples
    --------
    >>> format_pair_search(
    ...     PairSearch(candidates=2, chosen=1, promised=[1, 0], transcripts=40, of_trials=200)
    ... )
    'The pair is number 1 of 2 candidates, ranked on 40 of 200 outputs of each dataset; what \
is certified was drawn afresh.'
    """
    return (
        f"The pair is number {search.chosen} of {search.candidates} candidates, ranked on "
        f"{search.transcripts} of {search.of_trials} outputs of each dataset; what is "
        "certified was drawn afresh."
    )


def _compute_pair_promises(
    cases: tuple[PrivacyCase, ...], executor: Executor, settings: Settings, each: int
) -> list[float]:
    progress: Progress = executor.progress
    progress.start("ranking pairs", each * len(cases))
    found = []
    for number, case in enumerate(cases, start=1):
        quiet = replace(executor, progress=Silent())
        drawer = make_drawer(
            case.mechanism, case.pair, quiet, settings.seed, trials=each, unit=settings.unit
        )
        found.append(_estimate_pair_promise(case, drawer, settings, each, f"ranking pair {number}"))
        progress.advance(each)
    return found


def _estimate_pair_promise(
    case: PrivacyCase, drawer: Drawer, settings: Settings, each: int, purpose: str
) -> float:
    exact = isinstance(case.mechanism, HasLaw) and settings.distinguisher is None
    exact = exact and not settings.are_bits_tried
    if exact and case.at_delta > 0:
        return max(_from_losses(case, drawer, each, purpose))
    return _from_events(case, drawer, settings, each, purpose)


def _from_losses(case: PrivacyCase, drawer: Drawer, each: int, purpose: str) -> list[float]:
    """Return epsilon of both directions, as if the losses were Gaussian."""
    on_p, on_q = (drawer.losses(side, each, purpose) for side in Side)
    # A Gaussian loss N(s/2, s) has second moment s + s^2/4: solve for s = mu^2.
    squares = [2 * (math.sqrt(1 + float(np.mean(loss**2))) - 1) for loss in (on_p, -on_q)]
    return [gaussian.epsilon_at(math.sqrt(s), math.log(case.at_delta)) for s in squares]


def _from_events(
    case: PrivacyCase, drawer: Drawer, settings: Settings, each: int, purpose: str
) -> float:
    """Return the largest epsilon that a bet may hope to exclude, and a little for how soon.

    Of a claim a unit of distance how soon it falls, and a little for how much of it is reached:
    other candidates have other claims.
    """
    on_p, on_q = (drawer.outputs(side, each, purpose) for side in Side)
    half = each // 2
    rng = default_rng(stream(drawer.seed, purpose, "attack"))
    tried = for_mechanism(
        case, drawer, settings.distinguisher, f"{purpose}: ", settings.are_bits_tried
    )
    if settings.distinguisher is None:
        tried = with_further(tried, case.mechanism, on_p[:half], on_q[:half])
    found = fit_distinguishers(tried, case.mechanism, case.pair, on_p[:half], on_q[:half], rng)
    # Attacks are judged on the half that they did not learn on.
    scores = [np.stack([score(on[half:]) for _, score in found]) for on in (on_p, on_q)]
    tallies = Tallies.of(*both_directions(scores[0], scores[1]))
    target = BettingTarget(case.claimed.epsilon(case.at_delta), case.at_delta, 0.5)
    epsilons, chosen = target.epsilons, tallies.choose(target.epsilons, case.at_delta)
    # The second term only breaks ties between events that reach the same epsilon.
    best = int(np.argmax(epsilons[chosen.aim] + 1e-3 * np.tanh(chosen.promise)))
    if case.a_unit is not None:  # epsilons of different claims are no measure
        against = epsilons[target.claim : target.claim + 1]
        falls = float(tallies.choose(against, case.at_delta).promise.max())
        return falls + _OF_SHARE * math.tanh(epsilons[chosen.aim[best]] / against[0])
    return float(epsilons[chosen.aim[best]] + 1e-3 * np.tanh(chosen.promise[best]))
