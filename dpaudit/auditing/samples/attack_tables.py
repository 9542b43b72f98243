"""The audit of an attack's table: counts in, a certified lower bound on epsilon out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR

import dpaudit._check as check
from dpaudit.auditing.outcome.result import format_verdict_reason
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.attack_table import (
    AttackRow,
    RowBound,
    bound_rows,
    excess_of_intervals,
    largest_bound,
    rate_intervals,
)
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.document import Result
from dpaudit.report.formatting import format_percent, format_significant
from dpaudit.report.schema import (
    AssumptionCheck,
    BudgetEntry,
    CarryingEvent,
    Claimed,
    Measured,
    ModelBased,
)
from dpaudit.verdicts import judge_claimed_number

CLAIM = "attack-table"
_RELATION = "with the target, or without it"
_TRUST = (
    "This rests on the person who counted: the runs are independent, the rule that tells in from "
    "out was fixed before anyone saw these runs, and nobody left out a row because of its counts."
)
_TURNED = (
    'said "in" more often of runs without the target: if that is what it predicts, count its "out"'
)
_NO_CERTIFICATE = (
    "No certificate: the exact test of both counts refutes the claim, and two Clopper-Pearson "
    "intervals, by which a certificate is checked, do not."
)


def audit_table(
    rows: Sequence[Sequence[int]],
    *,
    delta: float,
    epsilon: float | None = None,
    confidence: float = 0.95,
) -> Result:
    """Certify a lower bound on epsilon from the counts of an attack, as papers print them.

    Parameters
    ----------
    rows
        Four counts in each row: of the runs with the target, those in which the attack said "in",
        and all of them; then the same two counts of the runs without the target.
    delta
        The delta at which the result bounds epsilon.
    epsilon
        The epsilon that is claimed at ``delta``, if there is a claim.
    confidence
        The confidence of all rows together, in any order.

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
    Formal guarantee: if runs are independent and the attack was fixed before them,
    ``measured.lower`` is at most the epsilon at ``delta`` of the pair of datasets, with and without
    the target, with a probability of at least ``confidence``.

    Examples
    --------
    >>> result = audit_table([(471, 500, 23, 500)], delta=1e-5, epsilon=2.0)
    >>> result.verdict, round(result.measured.lower, 2)
    ('refuted', 2.63)
    """
    asked = TableClaim(delta, epsilon, confidence)
    check_claim(asked)
    table = tuple(_require_attack_row(place, one) for place, one in enumerate(rows, 1))
    return certify_table(table, asked, "given by the caller")


@dataclass(frozen=True)
class TableClaim:
    """The claim about a table, and the confidence of its bound."""

    delta: float
    epsilon: float | None
    confidence: float

    @property
    def alpha(self) -> float:
        """The error probability of all rows together."""
        return 1 - self.confidence


def check_claim(asked: TableClaim) -> None:
    """Raise `InvalidArgument` for a number outside of its range."""
    check.require_delta("delta", asked.delta)
    check.require_probability("confidence", asked.confidence)
    if asked.epsilon is not None:
        check.non_negative("epsilon", asked.epsilon)


def certify_table(table: Sequence[AttackRow], asked: TableClaim, data: str) -> Result:
    """Return the result: the certified bound, the estimates beside it, and the verdict."""
    bounds = bound_rows(table, delta=asked.delta, alpha=asked.alpha)
    best = max(bounds, key=lambda one: one.epsilon)
    claimed = math.inf if asked.epsilon is None else asked.epsilon
    result = _make_table_result(table, asked, best, data, _format_table_rerun(table, asked))
    # Only a refuted claim needs a file from which others can check it again.
    if judge_claimed_number(claimed, best.epsilon) != "refuted":
        return result
    # Two intervals are weaker than the exact test, and may not refute what it does.
    certificate = _make_table_certificate(table, asked)
    if certificate is None:
        return result.model_copy(update={"notes": [*result.notes, _NO_CERTIFICATE]})
    return result.keep(certificate, holds_records=False)


def _require_attack_row(place: int, counts: Sequence[int]) -> AttackRow:
    if len(counts) != 4:
        raise InvalidArgument(f"rows[{place}]", counts, "four counts: hits, runs, hits, runs")
    try:
        return AttackRow(*counts)
    except InvalidArgument as error:
        raise InvalidArgument(f"rows[{place}]", counts, str(error)) from None


def _make_table_result(
    table: Sequence[AttackRow], asked: TableClaim, best: RowBound, data: str, rerun: str
) -> Result:
    lower, cap = best.epsilon, largest_bound(table, delta=asked.delta, alpha=asked.alpha)
    claimed = math.inf if asked.epsilon is None else asked.epsilon
    return Result(
        claim=CLAIM,
        kind="privacy",
        standing="question" if asked.epsilon is None else "claim",
        statement=_format_table_statement(asked),
        source="whoever counted",
        verdict=judge_claimed_number(claimed, lower),
        reason=_format_table_reason(asked, best, cap),
        claimed=Claimed(epsilon=asked.epsilon, delta=asked.delta),
        proved=None,
        measured=Measured(
            lower=lower,
            upper=None,
            confidence=asked.confidence,
            estimate=_plug_in(best.row, asked.delta),
            estimator="exact test of both counts",
            upper_note="an attack bounds nothing from above",
            cap=cap,
        ),
        trials=best.row.trials + best.row.other_trials,
        seed=0,
        view="what the attack said",
        relation=_RELATION,
        pair="the data with the target and without it",
        data=data,
        parameters={"rows": [_get_row_counts(row) for row in table]},
        assumptions=_check_attack_direction(table),
        self_checks=[],
        budget=[BudgetEntry(purpose="all rows, in equal shares", alpha=asked.alpha)],
        model_based=_estimate_plug_in_epsilon(best.row, asked),
        carrying_event=_make_attack_event(best, asked) if lower > 0 else None,
        notes=[_TRUST],
        counts=dict(
            zip(
                ("hits", "runs", "other_hits", "other_runs"), _get_row_counts(best.row), strict=True
            )
        ),
        rerun=rerun,
    )


def _format_table_statement(asked: TableClaim) -> str:
    if asked.epsilon is None:
        return f"which epsilon at delta = {asked.delta:g} do these counts certify?"
    return f"the attacked mechanism is ({asked.epsilon:g}, {asked.delta:g})-DP"


def _format_table_reason(asked: TableClaim, best: RowBound, cap: float) -> str:
    most = (
        f"With every answer right {format_significant(cap)} is the most that so many runs can show."
    )
    seen = f"{_format_attack_counts(best)} {most}"
    if asked.epsilon is None:
        least = format_significant(best.epsilon, rounding=ROUND_FLOOR)
        where = f"at delta = {format_significant(asked.delta)}"
        return f"Epsilon {where} is at least {least}; nothing is claimed. {seen}"
    verdict = judge_claimed_number(asked.epsilon, best.epsilon)
    return f"{format_verdict_reason('epsilon', asked.epsilon, best.epsilon, verdict)} {seen}"


def _format_attack_counts(best: RowBound) -> str:
    row = best.row
    return (
        f'The attack said "in" of {row.hits} of {row.trials} runs with the target, and of '
        f"{row.other_hits} of {row.other_trials} without it."
    )


def _make_attack_event(best: RowBound, asked: TableClaim) -> CarryingEvent:
    row = best.row
    return CarryingEvent(
        words='the attack says "in"',
        plain=True,
        hits=(row.hits, row.other_hits),
        runs=(row.trials, row.other_trials),
        delta=asked.delta,
        alpha=best.alpha,
        epsilon=best.epsilon,
        order=best.order,
        sentence=_format_attack_counts(best),
    )


def _check_attack_direction(table: Sequence[AttackRow]) -> list[AssumptionCheck]:
    turned = [place for place, row in enumerate(table, 1) if row.other_way]
    where = f"not of row {', '.join(map(str, turned))}" if turned else "of every row"
    return [
        AssumptionCheck(
            name="direction",
            statement='"in" is what the attack says of the target',
            holds=not turned,
            evidence=f"{where}" + (f"; it {_TURNED}" if turned else ""),
        )
    ]


def _plug_in(row: AttackRow, delta: float) -> float | None:
    """Return the epsilon of the rates as counted; None where it is infinite."""
    rate, other = row.rates
    found = max(
        _compute_log_ratio(rate - delta, other), _compute_log_ratio(1 - other - delta, 1 - rate)
    )
    return found if math.isfinite(found) else None


def _compute_log_ratio(above: float, below: float) -> float:
    if above <= below:
        return 0.0
    return math.inf if below == 0 else math.log(above / below)


def _estimate_plug_in_epsilon(row: AttackRow, asked: TableClaim) -> list[ModelBased]:
    """Return the epsilon of the rates as counted: it is no bound."""
    found = _plug_in(row, asked.delta)
    if found is None:
        return []
    (low, high), (other_low, other_high) = rate_intervals(row, asked.alpha)
    rates = (
        f"the true-positive rate is {format_percent(row.rates[0])} ({format_percent(low)} to "
        f"{format_percent(high)}), "
        f"the false-positive rate {format_percent(row.rates[1])} ({format_percent(other_low)} to "
        f"{format_percent(other_high)}), each at {format_percent(asked.confidence)} confidence"
    )
    return [
        ModelBased(
            name="rates as counted",
            lower=found,
            upper=None,
            confidence=None,
            assumes=f"that the rates are exactly those that were counted: {rates}",
            source="Kairouz, Oh & Viswanath 2015",
        )
    ]


def _make_table_certificate(table: Sequence[AttackRow], asked: TableClaim) -> Certificate | None:
    """Return the certificate for `dpaudit.verification.attack_tables`, if it can show it."""
    assert asked.epsilon is not None
    ratio = excess_of_intervals(table, asked.epsilon, delta=asked.delta, alpha=asked.alpha)
    if ratio <= 1:
        return None
    return Certificate(
        claim=CLAIM,
        kind="attack-table",
        source="whoever counted",
        relation=_RELATION,
        parameters={"epsilon": asked.epsilon, "delta": asked.delta, "alpha": asked.alpha},
        instance={"rows": [_get_row_counts(row) for row in table]},
        quantities={"ratio": ratio},
    )


def _get_row_counts(row: AttackRow) -> list[int]:
    return [row.hits, row.trials, row.other_hits, row.other_trials]


def _format_table_rerun(table: Sequence[AttackRow], asked: TableClaim) -> str:
    claim = "" if asked.epsilon is None else f", epsilon={asked.epsilon!r}"
    return (
        f"dpaudit.audit_table({[tuple(_get_row_counts(row)) for row in table]!r}, "
        f"delta={asked.delta!r}"
        f"{claim}, confidence={asked.confidence!r})"
    )
