"""The evidence in the lowest bits of doubles: a line of its own, beside a verdict on real numbers.

A number with noise is rounded to a double, and which doubles occur depends on the number: right
mechanisms are told apart by their last bits too (Mironov 2012). So this is a finding about how
noise is made, and never the verdict. It is looked for on the outputs that attacks learn on, which
certify nothing else: a quarter of them is learned on, a quarter chooses the event, and a half
certifies it, with an error probability of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR

import numpy as np
from numpy.random import Generator

import dpaudit.extension.registry as registry
from dpaudit._typing import Array
from dpaudit.auditing.distinguishers.learned_scores import fit_distinguishers
from dpaudit.estimation.event import choose_event, event_bound, with_order
from dpaudit.estimation.numeric_scores import flatten_first_rows
from dpaudit.estimation.score_events import compute_score_grain, round_scores
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.report.formatting import format_significant

_FEWEST = 200  # outputs of each dataset at least
_COLUMNS = 32  # numbers of an output that are looked at


def certify_lowest_bits(
    on_p: Array,
    on_q: Array,
    columns: Sequence[int],
    at: tuple[float, float],
    rng: Generator,
    tried: Sequence[Distinguisher] = (),
) -> tuple[str, ...]:
    """Return the certified evidence in the lowest bits of outputs, in words; nothing without any.

    Parameters
    ----------
    on_p, on_q
        Outputs of the dataset and of its neighbour that certify nothing else, shape ``(n, ...)``.
    columns
        Which of their flattened entries are numbers.
    at
        Delta, and the error probability of this line alone.
    rng
        For what learns with randomness.
    tried
        What the audit tries itself: where that reads bits, there is no line beside it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.laplace(size=(2, 2000))
    >>> said = certify_lowest_bits(noise[0] + 1.0, noise[1], [0], (0.0, 0.05), rng)
    >>> said[0][:80]
    'Doubles: of epsilon the lowest bits of these numbers certify at least 4.11 at de'
    >>> certify_lowest_bits(np.arange(900.0), np.arange(900.0), [0], (0.0, 0.05), rng)
    ()
    """
    p, q = (side[:, list(columns)[:_COLUMNS]] for side in flatten_first_rows(on_p, on_q))
    size = min(len(p), len(q))
    cards = [one for one in registry.DISTINGUISHERS.all().values() if one.of_bits]
    if size < _FEWEST or not cards or any(one.of_bits for one in tried):
        return ()
    if not _are_fractions(p, q):
        return ()
    lower, certifying = _certify_bit_event(cards, p[:size], q[:size], at, rng)
    least = (
        f"at least {format_significant(lower, 3, ROUND_FLOOR)}" if lower > 0 else "nothing above 0"
    )
    return (
        f"Doubles: of epsilon the lowest bits of these numbers certify {least} at delta "
        f"{format_significant(at[0])}, from {certifying} outputs of each dataset and with an "
        "error probability "
        f"of {format_significant(at[1])} of its own. This is about how noise is made of doubles "
        "and no part of "
        f"the verdict, which is about real numbers.",
    )


def _are_fractions(p: Array, q: Array) -> bool:
    """Return whether these are finite numbers that have lowest bits to speak of."""
    pooled = np.concatenate([p, q])
    return bool(pooled.size and np.isfinite(pooled).all() and (np.rint(pooled) != pooled).any())


def _certify_bit_event(
    cards: Sequence[Distinguisher],
    p: Array,
    q: Array,
    at: tuple[float, float],
    rng: Generator,
) -> tuple[float, int]:
    # Learned, chosen and certified on three parts that share no output, so that the bound holds
    # for the event whatever was tried.
    cuts = [len(p) // 4, len(p) // 2]
    (fit_p, choose_p, fresh_p), (fit_q, choose_q, fresh_q) = (np.split(s, cuts) for s in (p, q))
    found, sure = [], (len(fresh_p), at[1])
    for _, score in fit_distinguishers(cards, None, None, fit_p, fit_q, rng):
        on_p, on_q = score(choose_p), score(choose_q)
        # Scores are rounded on a grid that is fixed here, before the certifying outputs are
        # looked at.
        step = compute_score_grain(np.concatenate([on_p, on_q]))
        sides = round_scores(on_p, step), round_scores(on_q, step)
        found.append((choose_event(*sides, at[0], sure), sides, score, step))
    event, sides, score, step = max(found, key=lambda one: one[0].promised)
    event = with_order(event, *sides, at[0], sure)
    on_p, on_q = (round_scores(score(side), step) for side in (fresh_p, fresh_q))
    return event_bound(on_p, on_q, event, *at).lower, len(fresh_p)
