"""Certificates of an attack's table: its counts again, by two intervals in exact arithmetic.

The audit that writes them bounds epsilon by one exact test of both counts. Here another way is
taken, which needs no code of that: with an error probability of ``a = alpha / (2 k)`` each, of k
rows, the true-positive rate is at least ``p`` where ``P(Bin(n, p) >= hits) <= a``, and the
false-positive rate at most ``q`` where ``P(Bin(m, q) <= other hits) <= a`` (Clopper & Pearson
1934). The claim is false if for one row

    p - delta > e^epsilon q    or    1 - q - delta > e^epsilon (1 - p).

How small alpha is, is the reader's choice; that of the file is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import arb
from scipy.special import betaincinv

from dpaudit.verification.document import Document, Outcome
from dpaudit.verification.reals import Real, UndecidedComparison, exp, largest
from dpaudit.verification.redrawn_counts import Reader

_INSIDE = 1e-11  # of a rate: the interval is a little wider than its ends are computed
# Each row costs two tails of a binomial law in ball arithmetic; the limits bound the work that a
# file can ask for.
_MOST_ROWS = 1000
_MOST_RUNS = 10**6
Counts = tuple[int, int, int, int]


def judge_table(document: Document, reader: Reader) -> tuple[Outcome, Real, tuple[str, ...]]:
    """Return the outcome at the reader's confidence, the excess over the claim, and the failures.

    Raises
    ------
    DataError
        The certificate is not of this sort.
    """
    rows = rows_of(document, "attack-table")
    return judge_rows(document, reader, rows)


def judge_rows(
    document: Document, reader: Reader, rows: Sequence[Counts]
) -> tuple[Outcome, Real, tuple[str, ...]]:
    """Return the outcome of counts at the reader's confidence, their excess, and the failures."""
    epsilon, delta = document.at_least(0, "epsilon", "delta")
    alpha = 1 - Real(reader.of_scores)
    ratio = _largest_excess(rows, epsilon, delta, alpha)
    failures = (
        ()
        if ratio > 1
        else (f"rows: none of them exceeds the claim at {_format_scores_confidence(reader)}",)
    )
    summary = (
        f"counts of {len(rows)} row{'' if len(rows) == 1 else 's'} that "
        f"({float(epsilon):.10g}, {float(delta):.10g})-DP allows with a probability of at most "
        f"{float(alpha):.4g}"
    )
    # The file computed its ratio at its own alpha, so only that ratio can be compared with the
    # one that the file states. The verdict rests on the ratio at the reader's alpha alone.
    stated = _largest_excess(rows, epsilon, delta, _read_table_alpha(document))
    outcome = Outcome(assumptions={}, quantities={"ratio": stated}, summary=summary)
    return outcome, ratio, failures


def _largest_excess(rows: Sequence[Counts], epsilon: Real, delta: Real, alpha: Real) -> Real:
    # A union bound over both ends of every row lets the writer choose the best row after seeing
    # the counts.
    share = alpha / (2 * len(rows))
    return largest(_compute_claim_excess(row, epsilon, delta, share) for row in rows)


def _read_table_alpha(document: Document) -> Real:
    """Return the error probability that the file states: the ratio that it states is at that."""
    alpha: Real = document.positive("alpha")
    if not alpha < 1:
        raise document.refused("parameters.alpha", float(alpha), "below 1")
    return alpha


def _format_scores_confidence(reader: Reader) -> str:
    from dpaudit.report.formatting import as_certain

    return f"a confidence of {as_certain(reader.of_scores)} (--confidence)"


def rows_of(document: Document, kind: str) -> list[Counts]:
    """Return the counts that a certificate of a kind states.

    Raises
    ------
    DataError
        It is of another kind, or states none.
    """
    document.require_kind(kind)
    given: Any = document.instance.get("rows")
    if not isinstance(given, list) or not 0 < len(given) <= _MOST_ROWS:
        raise document.refused("instance.rows", given, f"1 to {_MOST_ROWS} rows of four counts")
    return [_read_counts_row(document, one) for one in given]


def _read_counts_row(document: Document, row: Any) -> Counts:
    # Python reads JSON's true and false as bool, a subclass of int. The exact type keeps them
    # from being counts of 0 and 1.
    if isinstance(row, list) and len(row) == 4 and all(type(one) is int for one in row):
        hits, runs, others, other_runs = row
        if 0 <= hits <= runs <= _MOST_RUNS and 0 <= others <= other_runs <= _MOST_RUNS:
            if runs and other_runs:
                return hits, runs, others, other_runs
    expected = f"counts of hits and runs, twice, of 1 to {_MOST_RUNS} runs"
    raise document.refused("instance.rows", row, expected)


def _compute_claim_excess(row: Counts, epsilon: Real, delta: Real, share: Real) -> Real:
    """Return by how much the ends of both intervals exceed the claim."""
    hits, runs, others, other_runs = row
    low, high = (
        _bound_rate_from_below(hits, runs, share),
        1 - _bound_rate_from_below(other_runs - others, other_runs, share),
    )
    # The second ratio is the first one for the complement of the event, which (epsilon,
    # delta)-DP bounds just as well and which no other error probability has to pay for.
    odds = exp(epsilon)
    return largest(((low - delta) / (odds * high), (1 - high - delta) / (odds * (1 - low))))


def _bound_rate_from_below(hits: int, runs: int, share: Real) -> Real:
    """Return a rate at which so many hits or more have at most that probability.

    It is looked for in doubles, and proved: an end that is a little too far inside is moved out.
    Where doubles find none, 0 is one.
    """
    if hits == 0:
        return Real(0)
    found = float(betaincinv(hits, runs - hits + 1, float(share)))
    if not math.isfinite(found):
        return Real(0)
    inside = _INSIDE
    # The quantile of SciPy has no proved error, so an enclosure of the tail decides whether the
    # rate is small enough. A smaller rate is always sound: it only widens the interval.
    while not binomial_above(hits, runs, found * (1 - inside)) <= share:
        inside *= 2
    return Real(found * (1 - inside))


def binomial_above(hits: int, runs: int, rate: float) -> Real:
    """Return the probability of at least so many hits, above 0, in runs that each hit at a rate.

    It is the regularised incomplete beta function of the rate.

    Raises
    ------
    UndecidedComparison
        More digits are needed.

    Examples
    --------
    >>> round(float(binomial_above(2, 3, 0.25)), 6)
    0.15625
    """
    ends = arb(hits), arb(runs - hits + 1)
    found = Real(rate).ball.beta_lower(*ends, regularized=True)
    if not found.is_finite():
        raise UndecidedComparison
    return Real(found)
