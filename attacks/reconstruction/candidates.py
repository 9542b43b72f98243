"""Which of several known candidates the missing record is: the likeliest one.

Threat model. The attacker knows the mechanism's law and all records but one, sees one transcript,
and wants to know which of K candidates the missing record is; all are alike to it before. No guess
is right more often than the one that takes the candidate under which the transcript is likeliest
(`dpaudit.attacks.reconstruction.bound.candidates_success` bounds it by a guarantee).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.laws.mechanism import HasLaw
from dpaudit.neighbours import REPLACE_RECORD, Pair

_ROW = 0  # whose place the candidates take, at the first node


def signed_directions(data: Dataset, count: int, rng: Generator) -> list[Dataset]:
    """Return the data with each candidate in one place: random directions and their opposites.

    Opposites are as far apart as records can be; other directions are orthogonal.

    Raises
    ------
    InvalidArgument
        There are more candidates than ``2 d``.

    Examples
    --------
    >>> data = Dataset(np.eye(3), np.ones(3))
    >>> found = signed_directions(data, 2, np.random.default_rng(0))
    >>> bool(np.allclose(found[0].signed_records[0], -found[1].signed_records[0]))
    True
    """
    most = 2 * data.dimension
    if not 2 <= check.integer("candidates", count, least=2) <= most:
        raise InvalidArgument("candidates", count, f"at most {most}, two a feature")
    directions = np.linalg.qr(rng.standard_normal((data.dimension, data.dimension)))[0]
    return [data.with_record(_ROW, directions[k // 2], 1.0 - 2 * (k % 2)) for k in range(count)]


def right_guesses(
    mechanism: HasLaw[Dataset], candidates: Sequence[Dataset], trials: int, rng: Generator
) -> int:
    """Return in how many runs the candidate that was in the data is the likeliest one.

    It is drawn anew for each run, so the count is binomial. Ties are broken at random.
    """
    drawn = rng.multinomial(trials, np.full(len(candidates), 1 / len(candidates)))
    right = 0
    for truth, runs in enumerate(drawn):
        transcripts = mechanism.sample(candidates[truth], int(runs), rng)
        likelihoods = _log_likelihoods(mechanism, candidates, transcripts)
        ties = likelihoods == likelihoods.max(axis=0)
        right += int((np.argmax(ties * rng.random(ties.shape), axis=0) == truth).sum())
    return right


def _log_likelihoods(
    mechanism: HasLaw[Dataset], candidates: Sequence[Dataset], transcripts: Array
) -> Array:
    """Return log densities of transcripts, less that of the first candidate, shape ``(K, R)``."""
    first, *others = candidates
    pairs = (Pair(other, first, REPLACE_RECORD) for other in others)
    losses = [mechanism.privacy_loss(transcripts, pair) for pair in pairs]
    return np.stack([np.zeros(len(transcripts)), *losses])
