"""Mechanisms, tools and models of diffprivlib as mechanisms to audit.

Everything of diffprivlib takes a seed, ``random_state``: it is drawn from the audit's generator, so
that one seed gives one result. Without a seed diffprivlib draws from the operating system's secure
generator; what is audited is the same arithmetic, fed by another generator.

diffprivlib 0.6.6 imports private names of scikit-learn and does not import next to scikit-learn 1.9
or later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors, one_value

# Seeds that scikit-learn's check accepts, from which diffprivlib makes its generators.
_SEEDS = 2**31


@dataclass(frozen=True)
class DiffprivlibMechanism:
    """A mechanism of ``diffprivlib.mechanisms`` on the answer of a query.

    Parameters
    ----------
    build
        ``build(seed)`` returns the mechanism, made with ``random_state=seed``; called once a batch.
    query
        Maps a dataset to the value that is randomised; by default its only entry.

    Examples
    --------
    With ``pip install 'dpaudit[diffprivlib]'``, in a module that a TOML file names as
    ``mechanism = "my_module:mechanism"``::

        from diffprivlib.mechanisms import Laplace
        from dpaudit.adapters.diffprivlib import DiffprivlibMechanism

        def laplace(seed):
            return Laplace(epsilon=1.0, sensitivity=1.0, random_state=seed)

        mechanism = DiffprivlibMechanism(laplace)
    """

    build: Callable[[int], Any]
    query: Callable[[Any], Any] = one_value

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return randomised values, shape ``(trials, ...)``."""
        with convert_library_import_errors("diffprivlib", "diffprivlib"):
            mechanism = self.build(_draw_library_seed(rng))
        value = self.query(dataset)
        return collect_call_outputs(lambda _: mechanism.randomise(value), trials)


@dataclass(frozen=True)
class DiffprivlibRelease:
    """A tool or a fitted model of diffprivlib, run anew in every trial.

    Parameters
    ----------
    release
        ``release(dataset, seed)`` runs it with ``random_state=seed`` and returns all that is
        published, as numbers: a tool's answer, a model's coefficients.

    Examples
    --------
    With diffprivlib installed::

        from diffprivlib import tools

        def mean(dataset, seed):
            return tools.mean(dataset, epsilon=1.0, bounds=(0, 1), random_state=seed)

        mechanism = DiffprivlibRelease(mean)

    Any function of a dataset and a seed will do:

    >>> import numpy as np
    >>> noisy = DiffprivlibRelease(lambda data, seed: data.sum() + seed)
    >>> noisy.sample(np.ones(3), 5, np.random.default_rng(0)).shape
    (5,)
    """

    release: Callable[[Any, int], Any]

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the published outputs, shape ``(trials, ...)``."""
        # All seeds are drawn before the first call, so that what a call does cannot change later
        # ones.
        seeds = rng.integers(_SEEDS, size=trials).tolist()
        with convert_library_import_errors("diffprivlib", "diffprivlib"):
            return collect_call_outputs(lambda trial: self.release(dataset, seeds[trial]), trials)


def _draw_library_seed(rng: Generator) -> int:
    return int(rng.integers(_SEEDS))
