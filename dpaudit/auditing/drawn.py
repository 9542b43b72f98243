"""The audit of outputs, of scores of them, or of guesses, that somebody already drew.

An event is chosen on a part of them and certified on the rest, by the event bound
(`dpaudit.estimation.event`). Guesses leave nothing to choose but the side that a 1 favours: all of
them certify, once for either side.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.random import default_rng

import dpaudit.records as records
from dpaudit._typing import Array
from dpaudit.auditing.carrying import Said
from dpaudit.auditing.distinguishing import Score, for_outputs, learned, with_further
from dpaudit.auditing.event import certified, promising
from dpaudit.auditing.evidence import Evidence
from dpaudit.auditing.result import carrying_event, reason
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.estimation.counted import Event
from dpaudit.execution import stream
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.laws.outcomes import Inexact, as_doubles
from dpaudit.neighbours import Side
from dpaudit.records import Record
from dpaudit.report.document import Result
from dpaudit.report.schema import BudgetEntry, Claimed, Measured, ModelBased
from dpaudit.verdicts import judge

_LEAST = 40  # runs of a side, so that every part has some
# Where the runs are cut: what attacks learn on, what chooses the event, and what certifies it.
_SCORES, _OUTPUTS = (0.0, 1 / 3), (0.25, 0.5)
_TRUST = (
    "This rests on the caller: that the runs are independent, of one mechanism on two fixed "
    "neighbouring datasets, and that no score was chosen by looking at them."
)


def audit_outputs(
    on_dataset: Any,
    on_neighbour: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
    show_records: bool = False,
) -> Result:
    """Audit the claim that a mechanism is (epsilon, delta)-DP on outputs that somebody drew.

    The outputs of each side are put into a random order and cut: an event is chosen on one part and
    counted on the rest, so that nothing certifies what it chose. A third chooses where scores are
    given; where outputs are, attacks learn on a quarter, and another quarter chooses. Guesses, each
    0 or 1, are all counted: their order changes no number.

    Parameters
    ----------
    on_dataset, on_neighbour
        Independent runs on two neighbouring datasets: scores, shape ``(n,)``, one number a run that
        tends to be higher on one of the two, whichever; or guesses, all of them 0 or 1; or outputs,
        shape ``(n, ...)``, that the installed distinguishers learn to score. The two may differ in
        n, at least 40 each.
    epsilon, delta
        The claimed guarantee.
    confidence
        Of the certified lower bound.
    seed
        Of the order and of attacks that learn with randomness.
    show_records
        Whether messages may hold values of outputs.

    Returns
    -------
    Result
        As `audit` returns it.

    Raises
    ------
    InvalidArgument
        An argument is not what is described here.

    Notes
    -----
    Formal guarantee: if the runs are independent, scored by a rule that did not depend on them, and
    the mechanism is (epsilon, delta)-DP, the claim is refuted with a probability of at most
    ``1 - confidence``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> result = audit_outputs(rng.laplace(1, 0.5, 9000), rng.laplace(0, 0.5, 9000), epsilon=1.0)
    >>> result.verdict, 1 < result.measured.lower < 2
    ('refuted', True)

    A paper's attack guesses "in" in 471 of 500 runs with a record, and in 23 of 500 without:

    >>> inside, outside = np.repeat([1, 0], [471, 29]), np.repeat([1, 0], [23, 477])
    >>> round(audit_outputs(inside, outside, epsilon=2.0, delta=1e-5).measured.lower, 2)
    2.59
    """
    settings = Settings(epsilon=epsilon, delta=delta, confidence=confidence, seed=seed)
    with records.run(show_records):
        evidence = event_evidence(*_both(on_dataset, on_neighbour), settings)
    statement = Statement(
        name="drawn outputs",
        title="Outputs that somebody already drew",
        statement=f"the mechanism is ({epsilon:g}, {delta:g})-DP",
        source="the caller of dpaudit.audit_outputs",
        kind="privacy",
        relation="as given",
        assumptions={},
    )
    rerun = (
        f"dpaudit.audit_outputs(on_dataset, on_neighbour, epsilon={epsilon!r}, delta={delta!r}, "
        f"confidence={confidence!r}, seed={seed})"
    )
    return _result(statement, evidence, settings, rerun)


def _both(on_dataset: Any, on_neighbour: Any) -> tuple[Array, Array]:
    on_p, on_q = _runs("on_dataset", on_dataset), _runs("on_neighbour", on_neighbour)
    if on_p.shape[1:] != on_q.shape[1:]:
        shapes = Shown(f"runs of shapes {on_p.shape[1:]} and {on_q.shape[1:]}")
        raise InvalidArgument("on_neighbour", shapes, "runs of the same shape on both sides")
    return on_p, on_q


def _runs(name: str, given: Any) -> Array:
    try:
        runs = as_doubles(given)
    except Inexact as error:
        expected = f"{error.instead}: a run must not change when it becomes doubles"
        raise InvalidArgument(name, Shown(error.seen_in(given)), expected) from None
    except (TypeError, ValueError):
        raise InvalidArgument(name, Record(given), "an array of numbers, one run a row") from None
    if runs.ndim == 0 or len(runs) < _LEAST or not runs[0].size:
        shown = Shown(f"shape {runs.shape}")
        raise InvalidArgument(name, shown, f"at least {_LEAST} runs, one a row")
    if not np.isfinite(runs).all():
        raise InvalidArgument(name, Shown("NaN or infinity"), "finite numbers")
    return runs


def event_evidence(on_p: Array, on_q: Array, settings: Settings) -> Evidence:
    """Return the event bound of runs of two sides; which choose and which certify is drawn."""
    scored = on_p.ndim == 1
    if scored and all(np.isin(runs, (0.0, 1.0)).all() for runs in (on_p, on_q)):
        return _guess_evidence(on_p, on_q, settings)
    parts_p, parts_q = (
        _parts(runs, _SCORES if scored else _OUTPUTS, settings.seed, side)
        for runs, side in zip((on_p, on_q), Side, strict=True)
    )
    rules = _GIVEN if scored else _learned(parts_p[0], parts_q[0], settings.seed)
    scores = list(rules.values())
    tried = [np.stack([score(parts[1]) for score in scores]) for parts in (parts_p, parts_q)]
    sure = min(len(parts[2]) for parts in (parts_p, parts_q)), 1 - settings.confidence
    best = promising(tried[0], tried[1], settings.delta, sure=sure)
    counted = [best.rounded(scores[best.index](parts[2])) for parts in (parts_p, parts_q)]
    return certified(
        counted[0],
        counted[1],
        best.event,
        list(rules)[best.index],
        settings.delta,
        1 - settings.confidence,
        {
            "fitting attacks": len(parts_p[0]) + len(parts_q[0]),
            "setting thresholds": len(parts_p[1]) + len(parts_q[1]),
            "certifying": len(parts_p[2]) + len(parts_q[2]),
        },
    )


def _guess_evidence(on_p: Array, on_q: Array, settings: Settings) -> Evidence:
    """Return the bound of all guesses, of the better of the two sides that a 1 may favour."""
    alpha = (1 - settings.confidence) / len(_GUESSES)
    drawn = {"certifying": len(on_p) + len(on_q)}
    found = list[Evidence]()
    for words, (score, event) in _GUESSES.items():
        said, delta = Said(words, plain=True), settings.delta
        scores = score(on_p), score(on_q)
        found.append(certified(*scores, event, "given guesses", delta, alpha, drawn, said=said))
    budget = {f"one exact test of two counts: {words}": alpha for words in _GUESSES}
    note = "Nothing was chosen: both sides that a guess of 1 may favour were tested."
    return replace(max(found, key=lambda one: one.lower), budget=budget, notes=(note,))


def _learned(on_p: Array, on_q: Array, seed: int) -> dict[str, Score]:
    tried, rng = for_outputs(None), default_rng(stream(seed, "drawn outputs", "attack"))
    tried = with_further(tried, None, on_p, on_q)
    found = learned(tried, None, None, on_p, on_q, rng)
    return {f"{one.name} attack": score for one, score in found}


def _as_given(runs: Array) -> Array:
    return runs


def _turned(runs: Array) -> Array:
    return -runs


_GIVEN = {"given scores": _as_given, "given scores, lower on the dataset": _turned}
# Guesses of 1 favour the dataset, or those of 0 do.
_GUESSES = {
    "the guess 1": (_as_given, Event(True, 1.0, 0.0)),
    "the guess 0": (_turned, Event(True, 0.0, 0.0)),
}


def _parts(runs: Array, cuts: tuple[float, float], seed: int, side: Side) -> list[Array]:
    """Return the runs in a random order, cut in three.

    Somebody may have sorted them; the order drawn here makes the parts independent again.
    """
    order = default_rng(stream(seed, "drawn outputs", side.value)).permutation(len(runs))
    first, second = (int(cut * len(runs)) for cut in cuts)
    return [runs[part] for part in np.split(order, [first, second])]


def _result(statement: Statement, evidence: Evidence, settings: Settings, rerun: str) -> Result:
    verdict = judge(settings.epsilon, evidence.lower)
    event = carrying_event(evidence, verdict)
    carried = [] if event is None else [event.sentence]
    said = reason("epsilon", settings.epsilon, evidence.lower, verdict, cap=evidence.cap)
    refuted = verdict == "refuted"
    return Result(
        claim=statement.name,
        kind="privacy",
        statement=statement.statement,
        source=statement.source,
        verdict=verdict,
        reason=" ".join([said, *(carried if refuted else [])]),
        claimed=Claimed(epsilon=settings.epsilon, delta=settings.delta),
        proved=None,
        measured=Measured(
            lower=evidence.lower,
            upper=None,
            confidence=settings.confidence,
            estimate=evidence.estimate,
            estimator=evidence.estimator,
            upper_note=evidence.upper_note,
            cap=evidence.cap,
        ),
        trials=evidence.trials,
        seed=settings.seed,
        view="what was given",
        relation=statement.relation,
        pair="the two datasets that the runs are of",
        data="given by the caller",
        parameters={},
        assumptions=[],
        self_checks=[],
        budget=[BudgetEntry(purpose=p, alpha=a) for p, a in evidence.budget.items()],
        model_based=[ModelBased(**asdict(number)) for number in evidence.model_based],
        carrying_event=event,
        notes=[*([] if refuted else carried), *evidence.notes, _TRUST],
        counts=evidence.counts,
        rerun=rerun,
    )
