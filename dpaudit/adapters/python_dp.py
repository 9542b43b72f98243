"""Algorithms and mechanisms of PyDP as mechanisms.

PyDP wraps Google's C++ library, which draws from a secure generator and cannot be seeded. So an
audit of it does not repeat to the last digit: its verdicts hold with their confidence, but the same
seed gives other outputs, and a certificate that rests on counts cannot be drawn again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors, one_value


@dataclass(frozen=True)
class PyDPAlgorithm:
    """An algorithm of ``pydp.algorithms`` on a dataset, made anew in every trial.

    Parameters
    ----------
    build
        Returns the algorithm: one for each trial, as what was added to one is spent with it.

    Examples
    --------
    With ``pip install 'dpaudit[python-dp]'``, in a module that a TOML file names as
    ``mechanism = "my_module:mechanism"``::

        from pydp.algorithms.laplacian import BoundedSum
        from dpaudit.adapters.python_dp import PyDPAlgorithm

        def noisy_sum():
            return BoundedSum(epsilon=1.0, lower_bound=0.0, upper_bound=1.0, dtype="float")

        mechanism = PyDPAlgorithm(noisy_sum)
    """

    build: Callable[[], Any]

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return results, shape ``(trials,)``; ``rng`` is not used: PyDP has its own."""
        values = np.asarray(dataset).tolist()
        with convert_library_import_errors("pydp", "python-dp"):
            return collect_call_outputs(lambda _: self.build().quick_result(values), trials)


@dataclass(frozen=True)
class PyDPMechanism:
    """A mechanism of ``pydp.algorithms.numerical_mechanisms`` on the answer of a query.

    Parameters
    ----------
    build
        Returns the mechanism; called once a batch.
    query
        Maps a dataset to the number that is randomised; by default its only entry.

    Examples
    --------
    With PyDP installed::

        from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

        mechanism = PyDPMechanism(lambda: LaplaceMechanism(epsilon=1.0, sensitivity=1.0))
    """

    build: Callable[[], Any]
    query: Callable[[Any], float] = one_value

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return noisy values, shape ``(trials,)``; ``rng`` is not used: PyDP has its own."""
        with convert_library_import_errors("pydp", "python-dp"):
            mechanism = self.build()
        value = self.query(dataset)
        return collect_call_outputs(lambda _: mechanism.add_noise(value), trials)
