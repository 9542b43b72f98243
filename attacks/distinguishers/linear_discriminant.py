"""The direction in which two datasets are farthest apart, measured in the spread of the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.estimation.combinations import fit_discriminant
from dpaudit.extension.distinguisher import Distinguisher

LINEAR_DISCRIMINANT = Distinguisher(
    name="linear-discriminant",
    statement=(
        "Fisher's direction: the combination of entries in which the datasets are farthest apart, "
        "such as a sum in which the noise cancels"
    ),
    threat_model=(
        "can run the mechanism on both datasets but knows nothing about it; sees one output; "
        "wants to know which dataset produced it"
    ),
    needs_law=False,
    fit="dpaudit.attacks.distinguishers.linear_discriminant:fit",
    default=False,
    for_combinations=True,
)


@dataclass(frozen=True)
class Along:
    """Scores outputs by how far they lie along a direction."""

    direction: Array

    def __call__(self, outputs: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        flat = outputs.reshape(len(outputs), -1)
        # One entry that is no number would make the whole score NaN.
        return np.asarray(np.nan_to_num(flat) @ self.direction)


def fit(mechanism: Any, pair: Any, on_dataset: Array, on_neighbour: Array, rng: Generator) -> Along:
    """Return the score along Fisher's direction (Fisher 1936, section III).

    Parameters
    ----------
    mechanism, pair, rng
        Not used.
    on_dataset, on_neighbour
        Outputs, shape ``(R, ...)``.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(2, 99, 1)) * [1.0, -1.0]
    >>> score = fit(None, None, noise[0] + 0.1, noise[1], None)
    >>> bool(score(noise[0] + 0.1).min() > score(noise[1]).max())
    True
    """
    sides = [np.nan_to_num(one.reshape(len(one), -1)) for one in (on_dataset, on_neighbour)]
    return Along(fit_discriminant(*sides))
