"""Models of noisy marginals, as mbi estimates them, as mechanisms to audit.

mbi adds no noise: its user measures, with the audit's generator if it should repeat, and what mbi
makes of the measurements costs nothing more. What is audited is both together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors


def total_and_marginals(model: Any) -> list[float]:
    """Return the total of a model and its marginals of single columns, one after the other."""
    marginals = [np.ravel(model.project([name]).datavector()) for name in model.domain.attributes]
    return [float(model.total), *np.concatenate(marginals).tolist()]


@dataclass(frozen=True)
class MarginalModel:
    """A model estimated from noisy marginals, which are measured anew in every trial.

    Parameters
    ----------
    measure
        ``measure(dataset, rng)`` returns a domain of mbi and a list of its linear measurements.
    estimate
        ``estimate(domain, measurements)`` returns a model.
    read
        Maps a model to what is published of it, as numbers; by default its total and the marginals
        of single columns.

    Examples
    --------
    With ``pip install 'dpaudit[mbi]'``, a column of three values under rho-zCDP, rho = 1/2::

        import numpy as np
        from mbi import Domain, LinearMeasurement, estimation

        DOMAIN = Domain(["letter"], [3])

        def measure(dataset, rng):
            counts = np.bincount(dataset, minlength=3) + rng.normal(0, 1, 3)
            return DOMAIN, [LinearMeasurement(counts, ("letter",), 1.0)]

        def estimate(domain, measurements):
            return estimation.MirrorDescent().estimate(domain, measurements, iters=50)

        mechanism = MarginalModel(measure, estimate)
    """

    measure: Callable[[Any, Generator], tuple[Any, Any]]
    estimate: Callable[[Any, Any], Any]
    read: Callable[[Any], Any] = total_and_marginals

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the published outputs, shape ``(trials, ...)``."""
        with convert_library_import_errors("mbi", "mbi"):
            return collect_call_outputs(
                lambda _: self.read(self.estimate(*self.measure(dataset, rng))), trials
            )
