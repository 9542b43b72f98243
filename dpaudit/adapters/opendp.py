"""Measurements of OpenDP as mechanisms.

OpenDP draws from the operating system's secure generator and cannot be seeded. So an audit of it
does not repeat to the last digit: its verdicts hold with their confidence, but the same seed gives
other outputs, and a certificate that rests on counts cannot be drawn again.

Every output is one call through a foreign-function interface, about 0.1 milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.redaction import Record

_INTEGERS = re.compile(r"\bT=(?:[iu]\d+|usize)\b")


class OpenDPMechanism:
    """An OpenDP measurement as a mechanism.

    Parameters
    ----------
    build
        Returns the measurement. It is called once in every process, as measurements do not pickle;
        so with several workers it must pickle itself: a function of a module.
    prepare
        Maps a dataset of the pair to the measurement's argument. By default a list of its entries,
        integers where the input domain has integers, or the only entry where the domain is an atom.

    Examples
    --------
    With ``pip install 'dpaudit[opendp]'``, in a module that a TOML file names as
    ``mechanism = "my_module:mechanism"``::

        import opendp.prelude as dp
        from dpaudit.adapters.opendp import OpenDPMechanism

        def noisy_sum():
            dp.enable_features("contrib")
            space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0)), size=3)
            sums = (space, dp.symmetric_distance()) >> dp.t.then_sum()
            return sums >> dp.m.then_laplace(scale=1.0)

        mechanism = OpenDPMechanism(noisy_sum)
    """

    def __init__(
        self, build: Callable[[], Any], prepare: Callable[[Any], Any] | None = None
    ) -> None:
        for name, function in (("build", build), ("prepare", prepare)):
            if function is not None and not callable(function):
                raise InvalidArgument(name, function, "a function")
        self.build, self.prepare = build, prepare
        self._measurement: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # A measurement is a pointer into a library of this process.
        return {"build": self.build, "prepare": self.prepare, "_measurement": None}

    @property
    def measurement(self) -> Any:
        """The measurement, built when it is first asked for."""
        if self._measurement is None:
            with convert_library_import_errors("opendp", "opendp"):
                self._measurement = self.build()
        return self._measurement

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return outputs, shape ``(trials, ...)``; ``rng`` is not used: OpenDP has its own."""
        measurement = self.measurement
        argument = (self.prepare or self._argument)(dataset)
        return collect_call_outputs(lambda _: measurement(argument), trials)

    def claimed_epsilon(self, distance: float) -> float:
        """Return the epsilon that OpenDP itself claims for inputs at most ``distance`` apart.

        The unit of ``distance`` is that of the measurement's input metric: 2 where one record is
        replaced under the symmetric distance.

        Raises
        ------
        UnsupportedEvent
            The measurement's privacy is not stated as a pure epsilon.
        """
        measure = str(self.measurement.output_measure)
        if not measure.startswith("MaxDivergence"):
            raise UnsupportedEvent(f"output measure: got {measure}, expected MaxDivergence")
        return float(self.measurement.map(distance))

    def _argument(self, dataset: Any) -> Any:
        domain = str(self.measurement.input_domain)
        values = np.asarray(dataset)
        # OpenDP checks types strictly: a list of Python's floats is no vector of integers.
        if _INTEGERS.search(domain):
            values = values.astype(np.int64)
        if domain.startswith("AtomDomain"):
            if values.size != 1:
                raise InvalidArgument(
                    "dataset", Record(dataset), "one entry, as the input domain is an atom"
                )
            return values.item()
        return values.tolist()
