r"""The column space in which a message of ADMM sharing lies, from one message, whatever the noise.

**Threat model.** The attacker knows both designs, as the definition of privacy grants it, and how
the columns are dealt out over the parties; it sees the messages of the party whose column differs.
It knows neither models nor noise scale. It wants to know which dataset was used.

| paper   | code           | meaning                                        | shape       |
|---------|----------------|------------------------------------------------|-------------|
| D, D'   | the pair       | the party's columns; one differs               | (N, d_m)    |
| P, P'   | ``basis``      | projectors on their column spaces; P = Q Q'    | Q: (N, rank)|
| s       | ``messages``   | what the party sent in T iterations            | (R, T, N)   |

With the noise on the model (`ParameterNoise`, `WhitenedNoise`) the message ``s = D x~`` lies in
col(D), so ``r = ||(I - P) s|| / ||s||`` is 0 but for rounding, and ``r' = ||(I - P') s|| / ||s||``
is not where N > d_m, for all but special neighbours
(`dpaudit.algorithms.sharing.claims.hu2020.column_space`). The score of a message is ``log r' -
log r`` with both held in [`INSIDE`, `OUTSIDE`]: at most ``log(OUTSIDE / INSIDE)``, which every
message gets that is in the one space and not in the other, and 0 where it is in both or in neither.
Rounding makes r about ``2^-52`` times the condition number of D; one above `INSIDE` lowers the
score, and cannot turn its sign. With noise on the message, neither space holds it: every score is
0, and nothing is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.sharing.vertical import column_slices, party_of
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import REPLACE_COLUMN, Pair

INSIDE = 1e-10  # a relative residual up to here is rounding
OUTSIDE = 1e-6  # one from here on is not


@dataclass(frozen=True, eq=False)
class ColumnSpaceScore:
    """Scores messages by the column space they lie in: a fitted attack.

    Parameters
    ----------
    basis, other_basis
        Orthonormal bases of the column spaces, of the dataset and of its neighbour.
    party
        Whose messages are read; None where there is one party without an axis of its own.
    """

    basis: Array
    other_basis: Array
    party: int | None

    def __call__(self, outputs: Array) -> Array:
        """Return the scores, summed over iterations, shape ``(R,)``; 0 where nothing is told."""
        sent = messages_of(outputs, self.party, len(self.basis))
        here, there = (
            compute_relative_residuals(sent, basis) for basis in (self.basis, self.other_basis)
        )
        ratios = np.clip(there, INSIDE, OUTSIDE) / np.clip(here, INSIDE, OUTSIDE)
        return np.asarray(np.log(ratios).sum(axis=1))


def fit(
    mechanism: Mechanism[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> ColumnSpaceScore:
    """Return the score; it is computed from the designs, and nothing has to be learned.

    Raises
    ------
    InvalidArgument
        The pair is not of replaced columns, or the outputs hold no messages.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.algorithm import SharingADMM
    >>> from dpaudit.algorithms.sharing.noise import ParameterNoise
    >>> design = np.array([[0.6, 0.8], [0.0, 1.0], [1.0, 0.0]])
    >>> flipped = design * [[-1, 1], [1, 1], [1, 1]]
    >>> pair = Pair(Dataset(design, [1, -1, 1]), Dataset(flipped, [1, -1, 1]), REPLACE_COLUMN)
    >>> algorithm = SharingADMM(block_sizes=(2,), iterations=1, noise=ParameterNoise(100.0))
    >>> rng = np.random.default_rng(0)
    >>> seen = algorithm.messages()
    >>> here, there = (seen.sample(data, 4, rng) for data in (pair.dataset, pair.neighbour))
    >>> score = fit(seen, pair, here, there, rng)
    >>> score(here).round(2).tolist(), score(there).round(2).tolist()
    ([9.21, 9.21, 9.21, 9.21], [-9.21, -9.21, -9.21, -9.21])
    """
    if pair.relation != REPLACE_COLUMN:
        raise InvalidArgument("relation", VerbatimText(pair.relation.name), REPLACE_COLUMN.name)
    blocks = _find_column_blocks(mechanism)
    party = None if blocks is None else party_of(blocks, pair.index)
    here, there = (
        _select_party_design(data, blocks, party) for data in (pair.dataset, pair.neighbour)
    )
    score = ColumnSpaceScore(column_basis(here), column_basis(there), party)
    # Nothing is learned from these outputs; they are read so that a wrong shape is refused here and
    # not when fresh outputs are scored.
    for outputs in (on_dataset, on_neighbour):
        messages_of(outputs, party, len(score.basis))
    return score


def column_basis(design: Array) -> Array:
    """Return an orthonormal basis of a design's column space, shape ``(N, rank)``.

    Examples
    --------
    >>> column_basis(np.array([[1.0, 2.0], [0.0, 0.0]])).shape
    (2, 1)
    """
    found, values, _ = np.linalg.svd(design, full_matrices=False)
    # The threshold of numpy.linalg.matrix_rank: smaller singular values are rounding of the largest
    # one.
    smallest = max(design.shape) * np.finfo(np.float64).eps * values.max(initial=0.0)
    return np.ascontiguousarray(found[:, values > smallest])


def compute_relative_residuals(messages: Array, basis: Array) -> Array:
    """Return how far messages lie outside a space, relative to their lengths, shape ``(R, T)``.

    A message of zeros lies in every space.

    Examples
    --------
    >>> compute_relative_residuals(
    ...     np.array([[[3.0, 4.0], [0.0, 0.0]]]), np.array([[1.0], [0.0]])
    ... ).tolist()
    [[0.8, 0.0]]
    """
    rest = messages - (messages @ basis) @ basis.T
    rest -= (rest @ basis) @ basis.T  # once more: rounding leaves the space the first time
    outside, sent = np.linalg.norm(rest, axis=-1), np.linalg.norm(messages, axis=-1)
    return np.asarray(np.divide(outside, sent, out=np.zeros_like(sent), where=sent > 0))


def messages_of(outputs: Array, party: int | None, samples: int) -> Array:
    """Return a party's messages in outputs, shape ``(R, T, N)``.

    Parameters
    ----------
    outputs
        Shape ``(R, T, M, N)``, where rows of the centre may follow the parties'; ``(R, T, N)`` if
        there is no axis of parties.
    party, samples
        Whose messages, and ``N``.

    Raises
    ------
    InvalidArgument
        The outputs are of another shape.
    """
    shape = np.shape(outputs)
    fits = len(shape) == (3 if party is None else 4) and shape[-1] == samples
    if not fits or (party is not None and party >= shape[2]):
        axes = "(R, T" + (", M" if party is not None else "") + f", {samples})"
        raise InvalidArgument("outputs", VerbatimText(f"shape {shape}"), f"messages, shape {axes}")
    return np.asarray(outputs if party is None else outputs[:, :, party])


def _find_column_blocks(mechanism: Mechanism[Any]) -> tuple[int, ...] | None:
    """Return how the mechanism deals out columns; None where one party holds all of them."""
    for name in ("algorithm", "process"):
        blocks = getattr(getattr(mechanism, name, None), "block_sizes", None)
        if blocks is not None:
            return tuple(check.require_integer("block_sizes", size, least=1) for size in blocks)
    return None


def _select_party_design(data: Dataset, blocks: tuple[int, ...] | None, party: int | None) -> Array:
    if blocks is None or party is None:
        return data.features
    return data.features[:, tuple(column_slices(blocks))[party]]
