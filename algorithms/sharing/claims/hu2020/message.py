r"""One noisy message of ADMM sharing from a given state: what Theorem 1 of hu2020 is about.

| paper       | name             | meaning                                    | shape    |
|-------------|------------------|--------------------------------------------|----------|
| D_m         | dataset.features | what the neighbours differ in              | (N, d_m) |
| y           | ``dual``         | state of the centre, public                | (N,)     |
| s           | ``gap``          | ``sum_{k != m} D_k x~_k - z``, public      | (N,)     |
| sigma       | ``noise_scale``  | the message is ``N(D_m x_m, sigma^2 I)``   | scalar   |

The message's mean comes from the algorithm's own update, the shift from the formula with which
Lemma 1 is audited: an audit compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.claims.hu2020.update import Setting, local_model
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.algorithms.sharing.vertical import Risk, parties
from dpaudit.algorithms.sharing.views import State
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.laws.steps import Step
from dpaudit.neighbours import Pair

_TOLERANCE = 1e-6  # of an update's residual; what it leaves is compared with the exact shift


@dataclass(frozen=True, kw_only=True, eq=False)
class OneMessage:
    """A party's update (6) and its message with noise; state is the number of trials.

    Notes
    -----
    Formal guarantee: ``GaussianDP(C / noise_scale)`` for any C that bounds ``||D x - D' x'||``.

    Examples
    --------
    >>> from dpaudit.laws.steps import GaussianSteps
    >>> message = OneMessage(
    ...     setting=Setting(features=1, samples=2, penalty=1.0, regulariser_weight=2.0),
    ...     dual=np.ones(2),
    ...     gap=np.zeros(2),
    ...     noise_scale=1.0,
    ... )
    >>> message.step(3, Dataset([[1.0], [1.0]], [1, 1])).mean[0].tolist()
    [-0.5, -0.5]
    """

    setting: Setting
    dual: Array
    gap: Array
    noise_scale: float

    @property
    def steps(self) -> int:
        """One message."""
        return 1

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` unless the design has the setting's shape."""
        expected = (self.setting.samples, self.setting.features)
        if dataset.features.shape != expected:
            given = Shown(f"features of shape {dataset.features.shape}")
            raise InvalidArgument("dataset", given, f"shape {expected}")

    def start(self, dataset: Dataset, trials: int) -> int:
        """Return the number of trials."""
        return trials

    def step(self, state: int, dataset: Dataset) -> Step:
        """Return the law of the message, by the algorithm's update; means shape ``(R, N)``."""
        setting = self.setting
        algorithm = SharingADMM(
            block_sizes=(setting.features,),
            iterations=1,
            penalty=setting.penalty,
            noise=MessageNoise(self.noise_scale),
            risk=Risk(regulariser_weight=setting.regulariser_weight),
            tolerance=_TOLERANCE,
        )
        (party,) = parties(dataset, algorithm.block_sizes)
        zero = np.zeros((1, setting.samples))
        seen = State(zero[:, None], zero, self.dual[None], self.gap[None], dataset.labels)
        mean = algorithm.local_model(party, seen, 0) @ party.design.T
        return Step(np.repeat(mean, state, axis=0), np.asarray(self.noise_scale))

    def shift(self, state: int, pair: Pair[Dataset]) -> Array:
        """Return the neighbour's mean minus the dataset's, shape ``(R, N)``."""
        v = self.dual + self.setting.penalty * self.gap
        designs = pair.neighbour.features, pair.dataset.features
        there, here = (design @ local_model(self.setting, design, v) for design in designs)
        return np.tile(there - here, (state, 1))

    def advance(self, state: int, output: Array) -> int:
        """Return the state: nothing follows."""
        return state

    def squared_shift_bounds(self, pair: Pair[Dataset]) -> tuple[float, float]:
        """Return ``||D x - D' x'||^2 / sigma^2``, twice: it is exact."""
        square = float(np.sum(self.shift(1, pair) ** 2)) / self.noise_scale**2
        return square, square
