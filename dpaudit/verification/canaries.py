"""Certificates of canaries' scores: the p-value again, with proved error bounds, and the counts.

The certificate states counts of right guesses and the SHA-256 of the scores. How small a p-value
refutes is the reader's choice: the error probability that the file states is not used, except to
see that the file agrees with itself. The p-value of the claim is recomputed from the counts
(`dpaudit.estimation.one_run` has the theorem; no code of it is used here): with W ~ Bin(r,
e^epsilon / (1 + e^epsilon)), B = P(W >= v) and b = P(W = v),

    P(C >= v)  <=  B + m delta B (1 - B) / (v b),

over the share of the plan, and over the probability of the number of included canaries where that
was fixed. Of several plans the least counts; their shares add up to at most 1.

With the file of scores the guesses are counted again, and the coins are tested as the audit tests
them. Scores that are equal leave a range of counts, of which the least has to do.

Who looks at scores first can choose the plan and the design that suit them. So both are the ones
that follow from the canaries alone, or those that the reader names, or the verdict has a
reservation that states them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit.auditing.files.canary_files import read_table
from dpaudit.auditing.samples.canary_table import CanaryTable, usual_design
from dpaudit.errors import shorten_repr
from dpaudit.estimation import canaries, inclusion
from dpaudit.estimation.canaries import Design
from dpaudit.verification.document import Document, Outcome
from dpaudit.verification.reals import (
    Real,
    binomial,
    exp,
    format_distinct_numbers,
    largest,
    smallest,
)
from dpaudit.verification.redrawn_counts import Reader

CLAIM = "canaries"
DESIGNS = canaries.DESIGNS
_REPLACED = "one canary takes the place of its partner"
_ADDED = "one canary is added or removed"
# Shares such as 0.1 have no exact double, and ten of them may add up to a little more than 1.
_SUM = 1 + 1e-12  # of shares that are doubles
_COUNTS_OF_FILE = "the counts are taken as the file states them; --scores FILE counts them again"
_TIES = "where scores are equal, the least count was taken"


@dataclass(frozen=True)
class CanaryStatement:
    """The numbers of a certificate: m coins, and guesses, share and right guesses of each plan."""

    design: Design
    coins: int
    rows: int
    included: int
    delta: Real
    claimed: Real
    alpha: Real
    guesses: tuple[int, ...]
    shares: tuple[float, ...]
    correct: tuple[int, ...]


@dataclass(frozen=True)
class RecomputedCanaries:
    """The recomputed numbers of a certificate, its failures, and its distance below the limit."""

    outcome: Outcome
    ratio: Real
    failures: tuple[str, ...]


def verify_canary_scores(document: Document, reader: Reader) -> RecomputedCanaries:
    """Return the recomputed numbers, and the failures.

    Raises
    ------
    DataError
        The certificate is not of this sort, or the file of scores cannot be read.
    """
    stated = _read_stated_canaries(document)
    table = None if reader.scores is None else read_table(Path(reader.scores))
    told, correct = [_COUNTS_OF_FILE], stated.correct
    wrong = [*_other_relation(document, stated)]
    if table is None:
        wrong += _other_coins(stated)
    else:
        ranges = _count_plan_ranges(document, stated, table)
        correct = tuple(least for least, _ in ranges)
        told = [_TIES] if correct != stated.correct else []
        wrong += [
            *_compare_canary_statements(document, stated, table, ranges),
            *_find_unfair_coins(table, stated.design),
        ]
    wrong += [*_other_plan(stated, reader), *_other_design(stated, reader)]
    told += [*_chosen_plan(stated, reader), *_chosen_design(stated, table, reader)]
    least = _least_p_value(stated, correct)
    alpha = 1 - Real(reader.of_scores)
    # A p-value that equals alpha does not refute: the comparison is strict, and a ball that
    # holds alpha is undecided and gets more digits.
    if not least < alpha:
        wrong.append(_too_likely(least, reader))
    return RecomputedCanaries(
        _make_canary_outcome(stated, least, alpha, tuple(told)), alpha / least, tuple(wrong)
    )


def _read_stated_canaries(document: Document) -> CanaryStatement:
    document.require_kind("canaries")
    # Otherwise a file could carry the name of a published claim, and its verdict would read as
    # one on it.
    if document.claim != CLAIM:  # an installed claim is verified in another way
        raise document.refused("claim", document.claim, repr(CLAIM))
    rows, included = document.count("canaries"), document.count("included")
    coins, design = document.count("coins"), _read_canary_design(document)
    guesses = _read_plan_integers(document, "guesses")
    correct, shares = _read_plan_integers(document, "correct"), document.instance.get("shares")
    if not isinstance(shares, list) or not len(guesses) == len(correct) == len(shares) > 0:
        raise document.refused("instance.shares", shares, "a share for each plan of guesses")
    for share in document.array("shares", (len(shares),)):
        if not 0 < share <= 1:
            raise document.refused("instance.shares", share, "above 0, and at most 1")
    for r, v in zip(guesses, correct, strict=True):
        if not 0 <= v <= r <= coins or r == 0:
            raise document.refused("instance.correct", v, f"at most {r} of {coins}")
    if not included < rows:
        raise document.refused("parameters.included", included, f"fewer than {rows}")
    return CanaryStatement(
        design=design,
        coins=coins,
        rows=rows,
        included=included,
        delta=document.at_least(0, "delta"),
        claimed=document.at_least(0, "epsilon"),
        alpha=document.positive("alpha"),
        guesses=guesses,
        shares=tuple(map(float, shares)),
        correct=correct,
    )


def _read_canary_design(document: Document) -> Design:
    named = document.choice("design", *DESIGNS)
    found: Design = next(one for one in DESIGNS if one == named)
    return found


def _other_relation(document: Document, stated: CanaryStatement) -> list[str]:
    # The relation follows from the design: the theorem bounds guesses about what one coin
    # changes.
    true = _REPLACED if stated.design == "pairs" else _ADDED
    if document.relation == true:
        return []
    given = shorten_repr(document.relation)
    return [f"relation: the file states {given}, of such a design it is {true!r}"]


def _other_coins(stated: CanaryStatement) -> list[str]:
    """Return a failure where so many canaries have another number of coins."""
    true = _coins_of(stated.design, stated.rows)
    if stated.coins == true:
        return []
    return [f"coins: the file states {stated.coins}, {stated.rows} canaries have {true}"]


# What the reader chooses


def _other_plan(stated: CanaryStatement, reader: Reader) -> list[str]:
    """Return the differences between the reader's guesses and the file's."""
    # A plan is compared with its shares: the same guesses under shares that were fitted to the
    # scores would spend the error probability where it happened to help.
    if reader.guesses is None or _build_stated_plans(stated) == canaries.make_plans(
        sorted(reader.guesses)
    ):
        return []
    own, given = (", ".join(map(str, one)) for one in (sorted(reader.guesses), stated.guesses))
    return [f"guesses: the file's plan is {given}, --guesses says {own}, with the usual shares"]


def _chosen_plan(stated: CanaryStatement, reader: Reader) -> list[str]:
    """Return a reservation where nobody but the file says which guesses were fixed beforehand."""
    if reader.guesses is not None or _build_stated_plans(stated) == canaries.default_plans(
        stated.coins
    ):
        return []
    plan = ", ".join(f"{r} at {share:g}" for r, share in _pair_guesses_with_shares(stated))
    usual = ", ".join(str(one.guesses) for one in canaries.default_plans(stated.coins))
    return [
        f"the plan of guesses ({plan} of the error probability) is not the usual one ({usual}), "
        "and could be chosen after the scores were seen; --guesses names one that was fixed before"
    ]


def _pair_guesses_with_shares(stated: CanaryStatement) -> list[tuple[int, float]]:
    return list(zip(stated.guesses, stated.shares, strict=True))


def _build_stated_plans(stated: CanaryStatement) -> tuple[canaries.Plan, ...]:
    return tuple(canaries.Plan(*one) for one in _pair_guesses_with_shares(stated))


def _other_design(stated: CanaryStatement, reader: Reader) -> list[str]:
    if reader.design in (None, stated.design):
        return []
    return [f"design: the file's is {stated.design}, --design says {shorten_repr(reader.design)}"]


def _chosen_design(stated: CanaryStatement, table: CanaryTable | None, reader: Reader) -> list[str]:
    """Return a reservation where a design that asks less is the file's alone."""
    usual = _usual_design(stated, table)
    # What holds of so many canaries, each such set as likely as another, holds of fair coins too.
    known = (usual, "fixed-size") if usual == "independent" else (usual,)
    if reader.design is not None or stated.design in known:
        return []
    return [
        f"the file says that the design is {stated.design}, where {stated.included} of "
        f"{stated.rows} canaries are included, which is usual of {usual}; --design names it"
    ]


def _usual_design(stated: CanaryStatement, table: CanaryTable | None) -> Design:
    # Without scores only the counts tell. Independent coins rarely include exactly half of many
    # canaries, so that a half points to a number that was fixed.
    if table is not None:
        return usual_design(table)
    half = abs(2 * stated.included - stated.rows) <= 1
    return "fixed-size" if half else "independent"


def _too_likely(least: Real, reader: Reader) -> str:
    from dpaudit.report.formatting import as_certain

    confidence = reader.of_scores
    p_value, alpha = format_distinct_numbers(least, 1 - Real(confidence))
    return (
        f"p_value: {p_value} is not below {alpha}, as a confidence of "
        f"{as_certain(confidence)} asks (--confidence)"
    )


# What is computed


def _least_p_value(stated: CanaryStatement, correct: Sequence[int]) -> Real:
    """Return the least p-value of the plans, each over its share; of tiny ones the least stated."""
    given = _compute_inclusion_probability(stated)
    least = smallest(
        p_value(v, r, stated.coins, stated.claimed, stated.delta) / (Real(share) * given)
        for v, (r, share) in zip(correct, _pair_guesses_with_shares(stated), strict=True)
    )
    # The audit states no smaller p-value, whose inverse would overflow. Raising the recomputed
    # one makes both agree, and a larger p-value never refutes more.
    return largest((least, Real(canaries.LEAST_P_VALUE)))


def _read_plan_integers(document: Document, name: str) -> tuple[int, ...]:
    given: Any = document.instance.get(name)
    if not isinstance(given, list) or not all(type(one) is int for one in given):
        raise document.refused(f"instance.{name}", given, "integers, one a plan")
    return tuple(given)


def _make_canary_outcome(
    stated: CanaryStatement, least: Real, alpha: Real, told: tuple[str, ...]
) -> Outcome:
    total = sum(map(Real, stated.shares), Real(0))
    return Outcome(
        assumptions={"shares": (total, _SUM)},
        quantities={"p_value": least, "ratio": stated.alpha / least},
        summary=f"a p-value of {float(least):.4g} of epsilon {float(stated.claimed):.10g} at delta "
        f"= {float(stated.delta):.10g}, where {float(alpha):.4g} refutes",
        reservations=told,
    )


def p_value(correct: int, guesses: int, coins: int, epsilon: Real, delta: Real) -> Real:
    """Return the p-value of so many right guesses, which may exceed 1.

    Examples
    --------
    >>> round(float(p_value(75, 100, 1000, Real(0.673), Real(1e-4))), 4)
    0.0408
    """
    # The formula divides by the number of right guesses, and P(C >= 0) is 1 in any case.
    if correct == 0:
        return Real(1)
    odds = exp(epsilon)
    # The loops build the terms of Bin(guesses, odds / (1 + odds)) by their ratios, which needs
    # no binomial coefficients of many digits.
    term = (1 / (1 + odds)) ** guesses
    below = Real(0)
    for count in range(correct):
        below = below + term
        term = term * odds * (guesses - count) / (count + 1)
    tail = term
    rest = term
    for count in range(correct, guesses):
        rest = rest * odds * (guesses - count) / (count + 1)
        tail = tail + rest
    # Every quantity is a ball, so that the sum is an enclosure and no term that rounding loses
    # can make the p-value too small.
    return tail + delta * coins * tail * below / (term * correct)


def _compute_inclusion_probability(stated: CanaryStatement) -> Real:
    # The theorem is about independent coins. A fixed number of included canaries is the law of
    # such coins under a condition, and P(A | B) is at most P(A) / P(B).
    if stated.design != "fixed-size":
        return Real(1)
    return binomial(stated.rows, stated.included) / Real(2) ** stated.rows


def _count_plan_ranges(
    document: Document, stated: CanaryStatement, table: CanaryTable
) -> list[tuple[int, int]]:
    if stated.design == "pairs" and usual_design(table) != "pairs":
        expected = "another: the file of scores has no pairs, of which one each is included"
        raise document.refused("parameters.design", stated.design, expected)
    coins = _coins_of(stated.design, len(table.scores))
    if max(stated.guesses) > coins:
        expected = f"at most {coins}, as the scores have coins"
        raise document.refused("instance.guesses", max(stated.guesses), expected)
    return [count_right_guesses(table, stated.design, size) for size in stated.guesses]


def _coins_of(design: Design, rows: int) -> int:
    return rows // 2 if design == "pairs" else rows


def count_right_guesses(table: CanaryTable, design: str, guesses: int) -> tuple[int, int]:
    """Return the least and the greatest number of right guesses that equal scores leave.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False])
    >>> count_right_guesses(
    ...     CanaryTable(scores=rows[0], included=rows[1], group=None), "independent", 3
    ... )
    (2, 3)
    """
    if design == "pairs":
        return _of_pairs(table, guesses)
    game = sorted(_list_scored_coins(table))
    # The audit guesses "out" for the lowest scores and "in" for the highest; an odd guess is an
    # "in".
    low, high = guesses // 2, (guesses + 1) // 2
    lowest = _bound_right_guesses([(score, not coin) for score, coin in game], low)
    highest = _bound_right_guesses([(-score, coin) for score, coin in reversed(game)], high)
    return lowest[0] + highest[0], lowest[1] + highest[1]


def _list_scored_coins(table: CanaryTable) -> list[tuple[float, bool]]:
    return list(zip(table.scores.tolist(), table.included.tolist(), strict=True))


def _of_pairs(table: CanaryTable, guesses: int) -> tuple[int, int]:
    """Return the range where the higher of two scores is guessed; equal ones are right or not."""
    first: dict[int, tuple[float, bool]] = {}
    game = []
    for code, (score, coin) in zip(table.groups.tolist(), _list_scored_coins(table), strict=True):
        if code in first:
            other, kept = first[code]
            # Only the difference matters, whose sign says which of the two is guessed to be
            # included.
            game.append((other - score, kept))
        first[code] = score, coin
    least, most = (
        # The widest differences come first, since they are guessed first. Equal scores say
        # nothing of a pair: the least count takes each such guess as wrong and the greatest
        # takes it as right.
        sorted((-abs(apart), luck if apart == 0 else kept == (apart > 0)) for apart, kept in game)
        for luck in (False, True)
    )
    return _bound_right_guesses(least, guesses)[0], _bound_right_guesses(most, guesses)[1]


def _bound_right_guesses(game: list[tuple[float, bool]], size: int) -> tuple[int, int]:
    """Return the range of right guesses among the first, where the last of them may be tied."""
    if size == 0:
        return 0, 0
    edge = game[size - 1][0]
    sure = [right for score, right in game if score < edge]
    tied = [right for score, right in game if score == edge]
    # Any choice among the tied ones would be as good, so the range covers them all; the verdict
    # rests on its lower end.
    taken, good = size - len(sure), sum(tied)
    return sum(sure) + max(0, taken - (len(tied) - good)), sum(sure) + min(good, taken)


def _find_unfair_coins(table: CanaryTable, design: Design) -> tuple[str, ...]:
    """Return the evidence of the rows against coins of this design, as in the audit."""
    if design == "runs" and table.group is None:
        return ("design: the file of scores has no runs",)
    made = inclusion.check_inclusion(table.scores, table.included, table.groups, design)
    return tuple(
        f"design: not {one.statement} ({one.name}: {one.evidence})"
        for one in made
        if not one.passed
    )


def _compare_canary_statements(
    document: Document, stated: CanaryStatement, table: CanaryTable, ranges: list[tuple[int, int]]
) -> tuple[str, ...]:
    """Return which statements are not those of the scores."""
    said = []
    if document.instance.get("sha256") != table.digest:
        said.append("sha256: the file of scores is another than the certificate's")
    coins = _coins_of(stated.design, len(table.scores))
    seen = {"canaries": len(table.scores), "included": int(table.included.sum()), "coins": coins}
    for name, number in seen.items():
        if document.parameters[name] != number:
            said.append(f"{name}: the file states {document.parameters[name]}, counted {number}")
    for size, right, (low, high) in zip(stated.guesses, stated.correct, ranges, strict=True):
        if not low <= right <= high:
            said.append(f"correct: the file states {right} of {size}, counted {low} to {high}")
    return tuple(said)
