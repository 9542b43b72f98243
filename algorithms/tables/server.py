r"""The server in ADMM over joined tables: eq. (32), (33) and (36).

| paper    | code            | meaning                                           | shape         |
|----------|-----------------|---------------------------------------------------|---------------|
| h_{i,j}  | ``predictions`` | of the tuples of every table, as they arrive      | (R, n_i, d_c) |
| z_j      | ``auxiliary``   | the server's copy of ``sum_i h_{i,p_i(j)}``       | (R, N, d_c)   |
| lambda_j | ``dual``        | dual variable                                     | (R, N, d_c)   |
| s_{i,j}  | ``others``      | ``sum_{k != i} h_{k,p_k(j)} - z_j``               | (R, N, d_c)   |
| Y_{i,j}  | ``pulls[i]``    | ``lambda + rho s_i`` summed over G_i(j), eq. (36) | (R, n_i, d_c) |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from dpaudit._typing import Array
from dpaudit.algorithms.tables.joined_tables import Index, JoinedTables
from dpaudit.algorithms.tables.loss import CrossEntropy


@dataclass(frozen=True, eq=False)
class ServerStep:
    """The results of the server in one iteration: z, lambda, and Y for every client."""

    auxiliary: Array
    dual: Array
    pulls: tuple[Array, ...]


@dataclass(frozen=True, kw_only=True)
class Server:
    """The server's side of an iteration.

    Parameters
    ----------
    loss, penalty
        As in `dpaudit.algorithms.tables.algorithm.TablesADMM`.
    reduced
        Send ``Y_i``, O(n_i), or ``lambda + rho s_i``, O(N).
    """

    loss: CrossEntropy
    penalty: float
    reduced: bool = True

    def serve(
        self, dataset: JoinedTables, predictions: tuple[Array, ...], dual: Array, targets: Array
    ) -> ServerStep:
        """Return z, the new lambda, and the message to each client.

        Parameters
        ----------
        dataset
            Only its mappings are looked at.
        predictions
            ``h_i`` of every table's tuples, each ``(R, n_i, d_c)``.
        dual
            ``lambda`` of the last iteration, ``(R, N, d_c)``.
        targets
            The labels the loss is linear in, ``(N, d_c)`` or ``(R, N, d_c)``.
        """
        mappings = dataset.mappings
        joined = [h[:, rows] for h, rows in zip(predictions, mappings, strict=True)]
        total = np.sum(joined, axis=0)
        auxiliary = self.loss.minimise(targets + dual + self.penalty * total, self.penalty)
        dual = dual + self.penalty * (total - auxiliary)
        pulls = []
        for i, own in enumerate(joined):
            others = total - own - auxiliary
            pull = dual + self.penalty * others
            gathered = (
                sum_over_tuple_rows(pull, mappings[i], dataset.tuples[i]) if self.reduced else pull
            )
            pulls.append(gathered)
        return ServerStep(auxiliary, dual, tuple(pulls))


@lru_cache(maxsize=16)
def _build_tuple_membership(mapping: bytes, kind: str, tuples: int) -> csr_array:
    """Return which rows of the join belong to each tuple; every iteration asks for the same."""
    # The mapping comes as bytes because lru_cache needs arguments that can be hashed.
    of = np.frombuffer(mapping, dtype=kind)
    return csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(tuples, len(of)))


def sum_over_tuple_rows(values: Array, mapping: Index, tuples: int) -> Array:
    """Return the sum of ``values`` over the rows of each tuple: (R, N, d_c) to (R, n_i, d_c).

    Examples
    --------
    >>> sum_over_tuple_rows(np.array([[[1.0], [2.0], [4.0]]]), np.array([1, 0, 1]), 3)[0, :, 0]
    array([2., 5., 0.])
    """
    rows = len(mapping)
    member = _build_tuple_membership(mapping.tobytes(), mapping.dtype.str, tuples)
    # A sparse matrix multiplies two-dimensional arrays only, so rows come first and the rest is
    # flattened.
    columns = np.moveaxis(values, 1, 0)
    summed = member @ columns.reshape(rows, -1)
    return np.asarray(np.moveaxis(summed.reshape(tuples, *columns.shape[1:]), 0, 1))
