r"""Norms of the variables of ADMM sharing over real runs, and what noise does to any bound on them.

| paper   | name          | meaning                                            | shape     |
|---------|---------------|----------------------------------------------------|-----------|
| x_m     | ``model``     | largest norm over the parties                      | (R, d_m)  |
| x~_m    | ``perturbed`` | with noise on the model; largest over the parties  | (R, d_m)  |
| y       | ``dual``      |                                                    | (R, N)    |
| z       | ``prediction``|                                                    | (R, N)    |
| b_1     | ``bound``     | which Assumption 1 puts on all of them             | scalar    |
| sigma_m | ``scales``    | of Theorem 1, with Lemma 1's sensitivity           | (M,)      |
| w       | ``weight``    | of a sample's loss: 1 or 1/N                       | scalar    |

**No bound survives Gaussian noise.** Given the history, what is sent is a fixed vector plus
Gaussian noise. A ball around 0 is symmetric and convex, so by Anderson's inequality the fixed
vector only makes it less likely that the sum stays inside: ``P(||a + g|| > b) >= P(||g|| > b)``.
At *every* iteration, whatever happened before, therefore

* noise on the models: ``P(||x~_m|| > b) >= P(chi^2_{d_m} > (b / sigma_m)^2)``;
* whitened: the covariance is at least ``sigma_m^2 / ||D_m||^2`` and ``||D_m|| <= sqrt(N)`` for unit
  rows, so ``P(||x~_m|| > b) >= P(chi^2_{d_m} > N (b / sigma_m)^2)``, for independent columns;
* noise on the messages, for a loss with slope at most 1: (9) and the optimality of (8) give
  ``y = l'(z)``, so ``||y|| <= Y = w sqrt(N)``, and ``z^{t+1} = S - (y^{t+1} - y^t) / rho``. With
  S^2 = sum_m sigma_m^2, ``P(||z|| > b) >= P(chi^2_N > ((b + 2 Y / rho) / S)^2)``.

All are above 0 for every b: over T iterations some norm exceeds b with probability at least
``1 - (1 - p)^T``, which tends to 1. (Where columns depend on each other, d_m is the rank.)

**A larger b_1 does not help.** Theorem 1's noise is made for b_1: ``sigma_m >= sqrt(2
ln(1.25/delta)) 3 (1 + M rho) b_1 / (d_m rho epsilon)``, in which b_1 is a factor. So with noise on
the models ``P(||x~_m|| > b_1)`` is at least a number that b_1 does not enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import log_ndtr
from scipy.stats import chi2

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import (
    MessageNoise,
    Noise,
    NoNoise,
    ParameterNoise,
    party_scales,
)
from dpaudit.algorithms.sharing.vertical import Party, column_slices, parties
from dpaudit.algorithms.sharing.views import Iterate
from dpaudit.datasets import Dataset
from dpaudit.errors import MechanismError

VARIABLES = ("model", "perturbed", "dual", "prediction")
_NUMBERS = 2**24  # in the messages of one block of runs


@dataclass
class Norms:
    """What was seen: the largest norm of each variable by iteration, and who first exceeded.

    Parameters
    ----------
    bound
        ``b_1``.
    largest
        By variable and iteration, shape ``(4, T)``.
    exceeding
        How many runs had a norm above the bound, by variable and iteration, shape ``(4, T)``.
    first
        Perturbed models and messages of the first iteration, of the run with the largest norm then.
    """

    bound: float
    largest: Array
    exceeding: NDArray[np.int64]
    first: tuple[Array, Array] | None = None
    first_norm: float = field(default=-1.0)

    @property
    def value(self) -> float:
        """The largest norm of all."""
        return float(self.largest.max())

    def words(self, runs: int) -> str:
        """Return what was seen of each variable, in words."""
        return "; ".join(self._of(index, name, runs) for index, name in enumerate(VARIABLES))

    def _of(self, index: int, name: str, runs: int) -> str:
        reached = self.largest[index]
        over = np.flatnonzero(self.exceeding[index])
        found = f"{name} up to {reached.max():.4g} (iteration {int(reached.argmax()) + 1}"
        if not len(over):
            return f"{found}; never above the bound)"
        share = self.exceeding[index, over[0]] / runs
        return f"{found}; above the bound from iteration {over[0] + 1}, {share:.0%} of runs)"


def measured_norms(
    algorithm: SharingADMM, data: Dataset, runs: int, bound: float, rng: Generator
) -> Norms:
    """Return the norms over ``runs`` runs, a block of them at a time.

    Raises
    ------
    MechanismError
        The iterations diverge: a norm is not a finite number.

    Examples
    --------
    >>> data = Dataset(np.ones((4, 2)), [1, 1, 1, -1])
    >>> algorithm = SharingADMM(block_sizes=(1, 1), iterations=3)
    >>> norms = measured_norms(algorithm, data, 1, 1.0, np.random.default_rng(0))
    >>> float(norms.largest[0, 0]), norms.value > 0
    (0.0, True)
    """
    shape = (len(VARIABLES), algorithm.iterations)
    found = Norms(bound=bound, largest=np.zeros(shape), exceeding=np.zeros(shape, dtype=np.int64))
    size = max(1, _NUMBERS // (len(data.labels) * len(algorithm.block_sizes)))
    for start in range(0, runs, size):
        iterates = algorithm.iterates(data, min(size, runs - start), rng)
        for t, iterate in enumerate(iterates):
            norms = _norms(algorithm, iterate)
            if not np.isfinite(norms).all():
                raise MechanismError(f"the iterations diverge: a norm of iteration {t + 1} is inf")
            found.largest[:, t] = np.maximum(found.largest[:, t], norms.max(axis=1))
            found.exceeding[:, t] += (norms > bound).sum(axis=1)
            if t == 0:
                _keep(found, iterate, norms.max(axis=0))
    return found


def log_exceeding(algorithm: SharingADMM, data: Dataset, bound: float) -> float | None:
    """Return a lower bound on the log-probability that a norm exceeds ``bound`` in an iteration.

    None without noise. Of several parties' models the likeliest counts.

    Examples
    --------
    >>> noisy = SharingADMM(block_sizes=(2,), iterations=1, noise=ParameterNoise(1.0))
    >>> round(log_exceeding(noisy, Dataset(np.eye(2), [1, -1]), 1.0), 6)
    -0.5
    """
    owners, samples = parties(data, algorithm.block_sizes), len(data.labels)
    scales = party_scales(algorithm.noise, len(owners))
    match algorithm.noise:
        case NoNoise():
            return None
        case MessageNoise():
            weight = algorithm.risk.sample_weight(samples)
            reach = bound + 2 * weight * math.sqrt(samples) / algorithm.penalty
            return _log_above(samples, reach / float(np.linalg.norm(scales)))
        case noise:
            widest = 1 if isinstance(noise, ParameterNoise) else math.sqrt(samples)
            found = [
                _log_above(_degrees(noise, party), widest * bound / float(scale))
                for party, scale in zip(owners, scales, strict=True)
            ]
            return max(found)


def _degrees(noise: Noise, party: Party) -> int:
    return party.dimension if isinstance(noise, ParameterNoise) else len(party.singular_values)


def _log_above(degrees: int, length: float) -> float:
    """Return the log-probability that so many standard normals are longer than ``length``.

    Where its tail underflows, that of one of them alone, which is less.
    """
    tail = float(chi2.sf(length**2, degrees))
    return math.log(tail) if tail > 0 else math.log(2) + float(log_ndtr(-length))


def _norms(algorithm: SharingADMM, iterate: Iterate) -> Array:
    """Return the norm of every variable of every run, shape ``(4, R)``."""
    slices = list(column_slices(algorithm.block_sizes))

    def widest(models: Array) -> Array:
        each = [np.linalg.norm(models[:, columns], axis=1) for columns in slices]
        return np.asarray(np.max(each, axis=0))

    state = iterate.state
    return np.stack(
        [
            widest(iterate.models),
            widest(iterate.perturbed),
            np.linalg.norm(state.dual, axis=1),
            np.linalg.norm(state.prediction, axis=1),
        ]
    )


def _keep(found: Norms, iterate: Iterate, norms: Array) -> None:
    run = int(norms.argmax())
    if norms[run] > found.first_norm:
        found.first_norm = float(norms[run])
        found.first = iterate.perturbed[run].copy(), iterate.state.messages[run].copy()
