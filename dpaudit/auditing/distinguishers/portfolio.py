"""The portfolio: scores of numbers that an audit tries where the drawn outputs ask for them.

Each is looked for on outputs that certify nothing, and so is which of all scores promises most:
one event is certified, whatever was tried, so that nothing of this has a price in error
probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dpaudit.estimation.numeric_scores as numeric_scores
from dpaudit._typing import Array
from dpaudit.estimation.numeric_scores import Score
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.mechanisms.outputs.features import OnePart, distance

_ENTRIES = 4  # single entries that are tried
_LOOKED_AT = 16  # single entries to choose them from
_PER_ROW = 4  # outputs to a distinct one: with less the distinct ones are not few
_COMPARED = 4096  # outputs of a side that are compared
_KNOWS = "can run the mechanism on both datasets; sees the numbers of one output"


def _make_portfolio_card(name: str, statement: str, find: str) -> Distinguisher:
    return Distinguisher(
        name=name,
        statement=statement,
        threat_model=_KNOWS,
        needs_law=False,
        fit=f"dpaudit.estimation.numeric_scores:{find}",
        default=False,
    )


PORTFOLIO = _make_portfolio_card(
    "portfolio", "whatever stands out of the numbers of an output", "fit_nearness"
)
"""Stands for all of `CARDS`, of which those are tried that find something."""

CARDS: tuple[tuple[Distinguisher, Callable[[Array, Array], Score | None]], ...] = tuple(
    (_make_portfolio_card(name, statement, find.__name__), find)
    for name, statement, find in (
        (
            "mean difference",
            "the sum of all entries, each weighed by how far its means are apart",
            numeric_scores.fit_mean_difference,
        ),
        (
            "few entries",
            "the sum of the entries whose means are far apart",
            numeric_scores.fit_few_entries,
        ),
        (
            "product",
            "the product of two entries that depend on each other",
            numeric_scores.fit_entry_product,
        ),
        (
            "covariance",
            "the log-ratio of two normal laws of entries that depend on each other",
            numeric_scores.fit_normal_ratio,
        ),
        (
            "signs",
            "which entries lie above their middle, all together",
            numeric_scores.fit_sign_pattern,
        ),
        ("remainder", "what an integer leaves when it is divided", numeric_scores.fit_remainder),
        (
            "distance",
            "how near an output is to where those of a dataset are centred, or densest",
            numeric_scores.fit_nearness,
        ),
    )
)


@dataclass(frozen=True)
class ColumnScore:
    """A score of some columns, as a score of outputs."""

    columns: tuple[int, ...]
    score: Score

    def __call__(self, outputs: Array) -> Array:
        """Return the scores, shape ``(R,)``."""
        flat = outputs.reshape(len(outputs), -1)
        # A selection of all columns would copy every output.
        whole = len(self.columns) == flat.shape[1]
        return self.score(flat if whole else flat[:, self.columns])


def find_portfolio_scores(
    on_p: Array, on_q: Array, columns: tuple[int, ...]
) -> list[tuple[Distinguisher, Score]]:
    """Return every score of the portfolio that found something in these columns of outputs.

    Examples
    --------
    >>> numbers = np.random.default_rng(0).integers(0, 10**6, (2, 900, 1)).astype(float)
    >>> [card.name for card, _ in find_portfolio_scores(7 * numbers[0], 7 * numbers[1] + 1, (0,))]
    ['remainder']
    >>> find_portfolio_scores(numbers[0], numbers[1], (0,))
    []
    """
    # Means and covariances of infinite numbers say nothing; the scores of single parts see such
    # outputs.
    if not (np.isfinite(on_p).all() and np.isfinite(on_q).all()):
        return []
    found = ((card, find(on_p, on_q)) for card, find in CARDS)
    return [(card, ColumnScore(columns, score)) for card, score in found if score is not None]


def select_entry_scores(on_p: Array, on_q: Array) -> list[OnePart]:
    """Return scores of the single entries that tell two sides apart best.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(2, 400, 9))
    >>> select_entry_scores(noise[0] + (np.arange(9) == 4), noise[1])[0].column
    4
    """
    entries = numeric_scores.select_telling_entries(on_p, on_q, _LOOKED_AT)
    middles = np.median(np.concatenate([on_p[:, entries], on_q[:, entries]]), axis=0).tolist()
    found = [OnePart(n) for n in entries]
    # The distance from the middle shows noise of two sizes, which no threshold on the number
    # itself does.
    found += [OnePart(n, -1.0, middle) for n, middle in zip(entries, middles, strict=True)]
    return sorted(found, key=lambda one: distance(one, on_p, on_q), reverse=True)[:_ENTRIES]


def is_few_whole_outputs(on_p: Array, on_q: Array) -> bool:
    """Return whether arrays take few values as a whole, as patterns of bits do.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bits, numbers = rng.integers(0, 2, (2, 900, 8)), rng.random((2, 900, 8))
    >>> is_few_whole_outputs(bits[0], bits[1]), is_few_whole_outputs(numbers[0], numbers[1])
    (True, False)
    """
    rows = np.concatenate(
        [side[:_COMPARED] for side in numeric_scores.flatten_first_rows(on_p, on_q)]
    )
    # One column is quick to look at: if it repeats too little already, whole outputs repeat
    # even less.
    if rows.shape[1] == 1 or len(np.unique(rows[:, 0])) * _PER_ROW > len(rows):
        return False
    return len(np.unique(rows, axis=0)) * _PER_ROW <= len(rows)
