"""The audit of canaries' scores: which were included, and how each was scored afterwards.

The estimator that certifies and its plan of guesses are fixed before a score is read, by design,
claim and number of canaries: the exact p-value of the one-run game for (epsilon, delta), the curve
itself for a claim of Gaussian differential privacy. All other numbers stand beside it as estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR
from typing import Any

import numpy as np

import dpaudit.redaction as redaction
from dpaudit.auditing.outcome.result import format_verdict_reason
from dpaudit.auditing.samples.canary_table import (
    CanaryRequest,
    CanaryTable,
    as_table,
    game_of,
    resolve_canary_settings,
)
from dpaudit.auditing.samples.given_samples import audit_outputs
from dpaudit.errors import InvalidArgument
from dpaudit.estimation import canaries, inclusion
from dpaudit.estimation.canaries import CanaryGame, Design, GuessCount
from dpaudit.estimation.one_run import P_VALUE_ROUNDING
from dpaudit.estimation.self_check import CheckOutcome as Checked
from dpaudit.execution import Progress
from dpaudit.execution.executor import Silent
from dpaudit.guarantees.kinds import GaussianDP, Guarantee
from dpaudit.refutation.certificate import Certificate
from dpaudit.refutation.inequality import Condition
from dpaudit.report.document import Result
from dpaudit.report.formatting import format_significant
from dpaudit.report.schema import (
    AssumptionCheck,
    BudgetEntry,
    Claimed,
    Measured,
    ModelBased,
    SelfCheck,
)
from dpaudit.verdicts import judge_claimed_number

_FEW = 40  # canaries of a side below which an event bound is not tried
_KINDS = {
    "independent": "each canary is included by a fair coin of its own",
    "fixed-size": "so many canaries are included, each such set with the same probability",
    "pairs": "of each pair one canary is included, by a fair coin",
    "runs": "each canary of each run is included by a fair coin of its own; runs are independent",
}
_SOURCES = {
    "exact": "one run, exact p-value",
    "f-dp": "one run, the claim's trade-off curve",
}
_TRUST = (
    "This rests on the caller: that coins were drawn as the design says, with randomness that "
    "nothing else used, and that scores depend on them through what ran alone."
)


def audit_scores(
    scores: Any,
    included: Any,
    *,
    delta: float | None = None,
    confidence: float = 0.95,
    group: Any = None,
    design: Design | None = None,
    estimator: str | None = None,
    claim: float | Guarantee | None = None,
    seed: int = 0,
    guesses: Sequence[int] | None = None,
    epsilon: float | None = None,
    show_records: bool = False,
) -> Result:
    """Certify a lower bound on epsilon from the scores of canaries that chance included.

    Parameters
    ----------
    scores
        One number for each canary, shape ``(n,)``; a higher score speaks for its inclusion.
    included
        1 or True for each canary that was included, 0 or False for the others, shape ``(n,)``.
    delta
        The delta at which the result bounds epsilon; there is no default.
    confidence
        The confidence of the certified lower bound.
    group
        The pair of each canary (design ``pairs``), or its run (``runs``), by values of any type.
    design
        The way in which chance included canaries: ``"independent"``, each by a fair coin;
        ``"fixed-size"``, a fixed number of all; ``"pairs"``, one of each pair; ``"runs"``, by coins
        of their own in each of several runs. The default follows from ``group``: pairs or runs.
        Without groups it is fixed-size if half of the canaries were included (of an odd number, as
        near as possible), which is valid for coins too, and otherwise independent.
    estimator
        The estimator that certifies: ``"exact"`` (the default) for the exact p-value of the one-run
        game, or ``"f-dp"`` for the trade-off curve of the claim (the default for a Gaussian claim).
    claim
        A claimed epsilon at ``delta``, or a guarantee; the audit measures a Gaussian one in mu.
    seed
        The seed of the order in which ties are broken.
    guesses
        The numbers of guesses, fixed before anyone saw scores (by default from n alone).
    epsilon
        Part of the former call ``audit_scores(on_dataset, on_neighbour, epsilon=...)``, which
        `audit_outputs` answers now. With coins it is refused, as it is no claim about canaries.
    show_records
        True to let messages hold values of scores.

    Returns
    -------
    Result
        The result, as `audit` returns it. ``measured.lower`` is certified; the numbers in
        ``model_based`` are estimates.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here.

    Notes
    -----
    Formal guarantee: if canaries were included as the design says, ``measured.lower`` is at most
    the epsilon at ``delta`` of the training run, between datasets that differ in one coin, with a
    probability of at least ``confidence``. This holds for any scores, and even if canaries
    interfere with each other.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> included = rng.random(1000) < 0.5
    >>> result = audit_scores(rng.normal(size=1000) + 3 * included, included, delta=1e-5, claim=1)
    >>> result.verdict, 4 < result.measured.lower < 5
    ('refuted', True)
    """
    if epsilon is not None:
        _refuse_coins(included, epsilon)
        return audit_outputs(
            scores,
            included,
            epsilon=epsilon,
            delta=delta or 0.0,
            confidence=confidence,
            seed=seed,
            show_records=show_records,
        )
    with redaction.run(show_records):
        table = as_table(scores, included, group)
        asked = resolve_canary_settings(
            table, delta, confidence, design, estimator, claim, seed, guesses
        )
        rerun = _format_scores_rerun(asked, guesses, grouped=table.group is not None)
        return certify_canaries(table, asked, "given by the caller", rerun)


def _refuse_coins(included: Any, epsilon: float) -> None:
    """Refuse the former call where its second argument can be nothing but coins."""
    coins = np.asarray(included)
    if coins.dtype.kind in "biuf" and set(np.unique(coins).tolist()) <= {0, 1}:
        raise InvalidArgument("epsilon", epsilon, "claim= of canaries, or audit_outputs of outputs")


def certify_canaries(
    table: CanaryTable,
    asked: CanaryRequest,
    data: str,
    rerun: str,
    progress: Progress | None = None,
) -> Result:
    """Return the result: the certified bound, the estimates beside it, and the verdict."""
    contract = inclusion.check_inclusion(table.scores, table.included, table.groups, asked.design)
    # What coins can contradict is tested before anything is certified of them.
    game = game_of(table, asked)
    counted = game.counted(asked.plans)
    found = _CanaryFindings(table, asked, game, counted, tuple(contract), progress or Silent())
    result = found.result(data, rerun)
    return result.keep(found.certificate(result), holds_records=redaction.are_shown())


@dataclass(frozen=True)
class _CanaryFindings:
    """Everything that was found about canaries, on its way to a result."""

    table: CanaryTable
    asked: CanaryRequest
    game: CanaryGame
    counted: tuple[GuessCount, ...]
    contract: tuple[Checked, ...]
    progress: Progress

    @property
    def trusted(self) -> bool:
        return all(check.passed for check in self.contract)

    def bound(self, counted: Sequence[GuessCount]) -> float:
        """Return the bound that the chosen estimator certifies from such counts."""
        asked = self.asked
        if asked.in_mu:
            return canaries.gaussian_bound(self.game, counted, asked.alpha)
        of = canaries.exact_bound if asked.estimator == "exact" else canaries.approximate_bound
        return of(self.game, counted, asked.delta, asked.alpha)

    def result(self, data: str, rerun: str) -> Result:
        asked, table = self.asked, self.table
        self.progress.start("bounds", 5)
        # Where the coins were not as designed no count means anything.
        lower = self.bound(self.counted) if self.trusted else 0.0
        self.progress.advance(1)
        cap = self.bound(canaries.all_right(self.game, self.counted))
        self.progress.advance(1)
        claimed = asked.claimed
        verdict = judge_claimed_number(
            math.inf if claimed is None else claimed, lower, trusted=self.trusted
        )
        kept = int(table.included.sum())
        return Result(
            claim="canaries",
            kind="privacy",
            quantity="μ" if asked.in_mu else None,
            standing="question" if claimed is None else "claim",
            statement=_format_canary_statement(asked),
            source="whoever gave the scores",
            verdict=verdict,
            reason=self._reason(lower, cap),
            claimed=_make_canary_claim(asked),
            proved=None,
            measured=Measured(
                lower=lower,
                upper=None,
                confidence=asked.confidence,
                estimator=_SOURCES[asked.estimator],
                upper_note="scores bound nothing from above",
                cap=cap,
            ),
            trials=len(table.scores),
            seed=asked.seed,
            view="the scores that were given",
            relation=_format_canary_relation(asked.design),
            pair="two datasets in which the coin of one canary differs",
            data=data,
            parameters=self._parameters(cap),
            assumptions=self._assumptions(),
            self_checks=[],
            contract=[SelfCheck(**asdict(one)) for one in self.contract],
            budget=[
                BudgetEntry(purpose=f"{plan.guesses} guesses", alpha=plan.share * asked.alpha)
                for plan in asked.plans
            ],
            model_based=self._estimates(),
            notes=self._notes(),
            counts={"canaries": len(table.scores), "included": kept, "coins": len(self.game.coins)},
            rerun=rerun,
        )

    def certificate(self, result: Result) -> Certificate | None:
        """Return the certificate for `dpaudit.verification.canaries`, of a refuted epsilon."""
        asked, game = self.asked, self.game
        if result.verdict != "refuted" or asked.estimator != "exact" or asked.claimed is None:
            return None
        p = canaries.exact_p_value(game, self.counted, asked.claimed, asked.delta)
        # The file states it as it is, not rounded up.
        # The p-value was rounded up for the verdict; a verifier computes it itself.
        p = max(canaries.LEAST_P_VALUE, p * math.exp(-P_VALUE_ROUNDING))
        return Certificate(
            claim=result.claim,
            kind="canaries",
            source=result.source,
            relation=result.relation,
            parameters={
                "design": asked.design,
                **result.counts,
                "epsilon": asked.claimed,
                "delta": asked.delta,
                "alpha": asked.alpha,
            },
            instance={
                name: result.parameters[name] for name in ("guesses", "shares", "correct", "sha256")
            },
            quantities={"p_value": p, "ratio": asked.alpha / p},
            conditions=(
                Condition(name="shares", value=_sum_spent_shares(self.counted), limit=1.0),
            ),
            search={"seed": asked.seed},
        )

    def _reason(self, lower: float, cap: float) -> str:
        asked = self.asked
        if broken := [one for one in self.contract if not one.passed]:
            said = f"{broken[0].statement} (failed: {broken[0].name}; {broken[0].evidence})"
            return f"Nothing is certified, as every bound takes the coins as designed: {said}."
        name = "mu" if asked.in_mu else "epsilon"
        where = "" if asked.in_mu else f" at delta = {format_significant(asked.delta)}"
        counts = ", ".join(f"{one.correct} of {one.plan.guesses}" for one in self.counted)
        guessed = (
            f"Right were {counts} guesses; with all right {format_significant(cap)} is the most."
        )
        if asked.claimed is None:
            least = format_significant(lower, rounding=ROUND_FLOOR)
            return f"The {name}{where} is at least {least}; nothing is claimed. {guessed}"
        verdict = judge_claimed_number(asked.claimed, lower)
        return f"{format_verdict_reason(name, asked.claimed, lower, verdict)} {guessed}"

    def _parameters(self, cap: float) -> dict[str, Any]:
        return {
            "design": self.asked.design,
            "estimator": self.asked.estimator,
            "guesses": [one.plan.guesses for one in self.counted],
            "shares": [one.plan.share for one in self.counted],
            "correct": [one.correct for one in self.counted],
            "cap": cap,
            "sha256": self.table.digest,
        }

    def _assumptions(self) -> list[AssumptionCheck]:
        steady, evidence = inclusion.no_drift(self.table.scores, self.table.included)
        names = ", ".join(one.name for one in self.contract)
        return [
            AssumptionCheck(
                name="design",
                statement=_KINDS[self.asked.design],
                holds=self.trusted,
                evidence=f"tested: {names}",
            ),
            AssumptionCheck(
                name="no drift (of estimates only)",
                statement="scores of included canaries, and of others, keep their level",
                holds=steady,
                evidence=evidence,
            ),
        ]

    def _notes(self) -> list[str]:
        asked = self.asked
        fixed = (
            f"{_SOURCES[asked.estimator].capitalize()}, and numbers of guesses, were fixed by "
            "design, claim and number of canaries, before a score was read."
        )
        return [fixed, *_of_size(self.game), *self._check_score_sign(), _TRUST]

    def _check_score_sign(self) -> list[str]:
        """Return advice if scores are lower for included canaries."""
        half = np.sign(self.table.scores - np.median(self.table.scores))
        right = float(half @ np.where(self.table.included, 1.0, -1.0))
        # Four standard deviations of a sum of fair signs.
        if right >= -4 * np.sqrt(len(half)):
            return []
        return ["Scores are lower where canaries were included: give them with the other sign."]

    def _estimates(self) -> list[ModelBased]:
        if not self.trusted:
            return []
        return [ModelBased(**one) for one in (*self._curves(), *self._independent())]

    def _curves(self) -> list[dict[str, Any]]:
        asked, given = self.asked, (self.game, self.counted)
        found = []
        if asked.delta > 0:
            mu = canaries.gaussian_bound(*given, asked.alpha)
            self.progress.advance(1)
            found.append(
                {
                    "name": "Gaussian curve, one run",
                    "lower": GaussianDP(mu).epsilon(asked.delta),
                    "upper": None,
                    "confidence": None,
                    "assumes": "the trade-off curve is Gaussian: mu is certified at "
                    f"{format_significant(mu, rounding=ROUND_FLOOR)}, its epsilon is not",
                    "source": "dpaudit.estimation.one_run",
                }
            )
        other = "exact" if asked.estimator == "f-dp" else "f-dp"
        of = canaries.exact_bound if other == "exact" else canaries.approximate_bound
        found.append(
            {
                "name": "exact p-value, one run" if other == "exact" else "f-DP, one run",
                "lower": of(*given, asked.delta, asked.alpha),
                "upper": None,
                "confidence": None,
                "assumes": "that it was chosen before scores were read, which it was not",
                "source": "dpaudit.estimation.one_run",
            }
        )
        self.progress.advance(1)
        return found

    def _independent(self) -> list[dict[str, Any]]:
        """Return bounds that take canaries as independent runs of one mechanism."""
        from dpaudit.auditing.estimators.given_outputs import event_evidence
        from dpaudit.extension.settings import Settings

        there = self.table.scores[self.table.included]
        not_there = self.table.scores[~self.table.included]
        if min(len(there), len(not_there)) < _FEW:
            return []
        asked = self.asked
        settings = Settings(delta=asked.delta, confidence=asked.confidence, seed=asked.seed)
        evidence = event_evidence(there, not_there, settings)
        assumed = "canaries do not disturb each other, and are all alike"
        gaussian = []
        if asked.delta > 0:
            given = self.table.scores, self.table.included, asked.alpha
            mu = canaries.independent_gaussian_mu(*given)
            gaussian.append(
                {
                    "name": "Gaussian scores, independent canaries",
                    "lower": GaussianDP(mu).epsilon(asked.delta),
                    "upper": None,
                    "confidence": None,
                    "assumes": f"{assumed}; scores are Gaussian with one variance",
                    "source": "Hedges & Olkin 1985",
                }
            )
        counted = {
            "name": "event bound, independent canaries",
            "lower": evidence.lower,
            "upper": None,
            "confidence": None,
            "assumes": assumed,
            "source": "dpaudit.estimation.event",
        }
        models = [asdict(one) for one in evidence.model_based]
        for one in models:
            one["assumes"] = f"{one['assumes']}; {assumed}"
        return [*gaussian, counted, *models]


def _sum_spent_shares(counted: Sequence[GuessCount]) -> float:
    return math.fsum(one.plan.share for one in counted)


def _format_canary_statement(asked: CanaryRequest) -> str:
    if asked.claimed is None:
        return f"which epsilon at delta = {asked.delta:g} do these canaries certify?"
    if asked.in_mu:
        return f"what ran is {asked.claimed:g}-Gaussian DP"
    return f"what ran is ({asked.claimed:g}, {asked.delta:g})-DP"


def _make_canary_claim(asked: CanaryRequest) -> Claimed:
    if asked.in_mu:
        return Claimed(value=asked.claimed)
    return Claimed(epsilon=asked.claimed, delta=asked.delta)


def _format_canary_relation(design: Design) -> str:
    if design == "pairs":
        return "one canary takes the place of its partner"
    return "one canary is added or removed"


def _of_size(game: CanaryGame) -> list[str]:
    if game.log_given == 0:
        return []
    return [
        "The number of included canaries was fixed, or came out as half, so coins are not "
        "independent: the error probability is spent times the probability of that number under "
        f"fair coins, {format_significant(float(np.exp(game.log_given)))}."
    ]


def _format_scores_rerun(
    asked: CanaryRequest, guesses: Sequence[int] | None, *, grouped: bool
) -> str:
    words = [
        *(["group=group"] if grouped else []),
        f"delta={asked.delta!r}",
        f"confidence={asked.confidence!r}",
        f"design={asked.design!r}",
        f"estimator={asked.estimator!r}",
        f"claim={asked.claim if asked.in_mu else asked.claimed!r}",
        f"seed={asked.seed}",
    ]
    if guesses is not None:
        words.append(f"guesses={list(guesses)!r}")
    return f"dpaudit.audit_scores(scores, included, {', '.join(words)})"
