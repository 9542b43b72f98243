"""Certificates of canaries' scores: the p-value again, with proved error bounds, and the counts.

The certificate states counts of right guesses and the SHA-256 of the scores. The p-value of the
claim is recomputed from the counts (`dpaudit.estimation.one_run` has the theorem; no code of it is
used here): with W ~ Bin(r, e^epsilon / (1 + e^epsilon)), B = P(W >= v) and b = P(W = v),

    P(C >= v)  <=  B + m delta B (1 - B) / (v b),

over the share of the plan, and over the probability of the number of included canaries where that
was fixed. Of several plans the least counts; their shares add up to at most 1.

With the file of scores the guesses are counted again. Scores that are equal leave a range of
counts, of which the least has to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit.auditing.canary_files import read_table
from dpaudit.auditing.canary_table import Table
from dpaudit.verification.document import Document, Outcome
from dpaudit.verification.reals import Real, binomial, exp, smallest

DESIGNS = ("independent", "fixed-size", "pairs", "runs")
_SUM = 1 + 1e-12  # of shares that are doubles


@dataclass(frozen=True)
class Stated:
    """What a certificate says: m coins, and of each plan guesses, share and right guesses."""

    design: str
    coins: int
    rows: int
    included: int
    delta: Real
    claimed: Real
    alpha: Real
    guesses: tuple[int, ...]
    shares: tuple[Real, ...]
    correct: tuple[int, ...]


def rechecked(document: Document, scores: str | None) -> tuple[Outcome, tuple[str, ...]]:
    """Return what is recomputed, and what fails beside it.

    Raises
    ------
    DataError
        The certificate is not of this sort, or the file of scores cannot be read.
    """
    stated = _stated(document)
    if scores is None:
        told = ("the counts are taken as the file states them; --scores FILE counts them again",)
        return _outcome(stated, stated.correct, told), ()
    table = read_table(Path(scores))
    ranges = [counted_again(table, stated.design, size) for size in stated.guesses]
    wrong = _differences(document, stated, table, ranges)
    least = tuple(low for low, _ in ranges)
    ties = "where scores are equal, the least count was taken"
    return _outcome(stated, least, (ties,) if least != stated.correct else ()), wrong


def _stated(document: Document) -> Stated:
    document.require_kind("canaries")
    rows, included = document.count("canaries"), document.count("included")
    coins = document.count("coins")
    guesses = _integers(document, "guesses")
    correct, shares = _integers(document, "correct"), document.instance.get("shares")
    if not isinstance(shares, list) or not len(guesses) == len(correct) == len(shares) > 0:
        raise document.refused("instance.shares", shares, "a share for each plan of guesses")
    document.array("shares", (len(shares),))
    for r, v in zip(guesses, correct, strict=True):
        if not 0 <= v <= r <= coins or r == 0:
            raise document.refused("instance.correct", v, f"at most {r} of {coins}")
    if not included < rows:
        raise document.refused("parameters.included", included, f"fewer than {rows}")
    return Stated(
        design=document.choice("design", *DESIGNS),
        coins=coins,
        rows=rows,
        included=included,
        delta=document.at_least(0, "delta"),
        claimed=document.at_least(0, "epsilon"),
        alpha=document.positive("alpha"),
        guesses=guesses,
        shares=tuple(Real(float(share)) for share in shares),
        correct=correct,
    )


def _integers(document: Document, name: str) -> tuple[int, ...]:
    given: Any = document.instance.get(name)
    if not isinstance(given, list) or not all(type(one) is int for one in given):
        raise document.refused(f"instance.{name}", given, "integers, one a plan")
    return tuple(given)


def _outcome(stated: Stated, correct: Sequence[int], told: tuple[str, ...]) -> Outcome:
    found = [
        p_value(v, r, stated.coins, stated.claimed, stated.delta) / (share * _given(stated))
        for v, r, share in zip(correct, stated.guesses, stated.shares, strict=True)
    ]
    least = smallest(found)
    total = sum(stated.shares, Real(0))
    return Outcome(
        assumptions={"shares": (total, _SUM)},
        quantities={"p_value": least, "ratio": stated.alpha / least},
        summary=f"a p-value of {float(least):.4g} of epsilon {float(stated.claimed):g} at delta = "
        f"{float(stated.delta):g}, where {float(stated.alpha):g} refutes",
        reservations=told,
    )


def p_value(correct: int, guesses: int, coins: int, epsilon: Real, delta: Real) -> Real:
    """Return the p-value of so many right guesses, which may exceed 1.

    Examples
    --------
    >>> round(float(p_value(75, 100, 1000, Real(0.673), Real(1e-4))), 4)
    0.0408
    """
    if correct == 0:
        return Real(1)
    odds = exp(epsilon)
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
    return tail + delta * coins * tail * below / (term * correct)


def _given(stated: Stated) -> Real:
    if stated.design != "fixed-size":
        return Real(1)
    return binomial(stated.rows, stated.included) / Real(2) ** stated.rows


def counted_again(table: Table, design: str, guesses: int) -> tuple[int, int]:
    """Return the least and the greatest number of right guesses that equal scores leave.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False])
    >>> counted_again(Table(scores=rows[0], included=rows[1], group=None), "independent", 3)
    (2, 3)
    """
    if design == "pairs":
        return _of_pairs(table, guesses)
    game = sorted(_alone(table))
    low, high = guesses // 2, (guesses + 1) // 2
    lowest = _right([(score, not coin) for score, coin in game], low)
    highest = _right([(-score, coin) for score, coin in reversed(game)], high)
    return lowest[0] + highest[0], lowest[1] + highest[1]


def _alone(table: Table) -> list[tuple[float, bool]]:
    return list(zip(table.scores.tolist(), table.included.tolist(), strict=True))


def _of_pairs(table: Table, guesses: int) -> tuple[int, int]:
    """Return the range where the higher of two scores is guessed; equal ones are right or not."""
    first: dict[int, tuple[float, bool]] = {}
    game = []
    for code, (score, coin) in zip(table.groups.tolist(), _alone(table), strict=True):
        if code in first:
            other, kept = first[code]
            game.append((other - score, kept))
        first[code] = score, coin
    least, most = (
        sorted((-abs(apart), luck if apart == 0 else kept == (apart > 0)) for apart, kept in game)
        for luck in (False, True)
    )
    return _right(least, guesses)[0], _right(most, guesses)[1]


def _right(game: list[tuple[float, bool]], size: int) -> tuple[int, int]:
    """Return the range of right guesses among the first, where the last of them may be tied."""
    if size == 0:
        return 0, 0
    edge = game[size - 1][0]
    sure = [right for score, right in game if score < edge]
    tied = [right for score, right in game if score == edge]
    taken, good = size - len(sure), sum(tied)
    return sum(sure) + max(0, taken - (len(tied) - good)), sum(sure) + min(good, taken)


def _differences(
    document: Document, stated: Stated, table: Table, ranges: list[tuple[int, int]]
) -> tuple[str, ...]:
    """Return which statements are not those of the scores."""
    said = []
    if document.instance.get("sha256") != table.digest:
        said.append("sha256: the file of scores is another than the certificate's")
    coins = len(table.scores) // 2 if stated.design == "pairs" else len(table.scores)
    seen = {"canaries": len(table.scores), "included": int(table.included.sum()), "coins": coins}
    for name, number in seen.items():
        if document.parameters[name] != number:
            said.append(f"{name}: the file states {document.parameters[name]}, counted {number}")
    for size, right, (low, high) in zip(stated.guesses, stated.correct, ranges, strict=True):
        if not low <= right <= high:
            said.append(f"correct: the file states {right} of {size}, counted {low} to {high}")
    return tuple(said)
