"""Queries of SmartNoise SQL and synthesisers of SmartNoise Synth as mechanisms to audit.

Both draw from the operating system's secure generator, and SmartNoise Synth from numpy's global one
as well, so that an audit does not repeat to the last digit. A query takes about 0.1 seconds, most
of them for its text: some hundreds of trials are what is bearable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors
from dpaudit.errors import InvalidArgument
from dpaudit.redaction import Record


def first_row(answer: Any) -> list[Any]:
    """Return the first row of an answer, below the names of its columns.

    Raises
    ------
    InvalidArgument
        There is none: every group was dropped as too rare.

    Examples
    --------
    >>> first_row([["n", "s"], [49, 1032]])
    [49, 1032]
    """
    rows = list(answer)
    if len(rows) < 2:
        expected = (
            "a row: give `read`, which maps an answer to numbers, where groups may be dropped"
        )
        raise InvalidArgument("answer", Record(rows), expected)
    return list(rows[1])


@dataclass(frozen=True)
class SmartNoiseQuery:
    """A query of SmartNoise SQL, answered anew in every trial.

    Parameters
    ----------
    connect
        ``connect(dataset)`` returns a private reader over it; called once a batch.
    query
        The text of the query.
    read
        Maps an answer, a list of rows below the names of the columns, to numbers; by default its
        first row. Groups that are dropped as too rare must become numbers too.

    Examples
    --------
    With ``pip install 'dpaudit[smartnoise-sql]'``, in a module that a TOML file names as
    ``mechanism = "my_module:mechanism"``::

        import pandas
        import snsql
        from dpaudit.adapters.smartnoise import SmartNoiseQuery

        AGE = {"type": "int", "lower": 0, "upper": 100}
        METADATA = {"": {"": {"people": {"row_privacy": True, "censor_dims": False, "age": AGE}}}}

        def connect(dataset):
            frame = pandas.DataFrame({"age": dataset})
            return snsql.from_df(frame, privacy=snsql.Privacy(epsilon=1.0), metadata=METADATA)

        mechanism = SmartNoiseQuery(connect, "SELECT SUM(age) AS total FROM people")
    """

    connect: Callable[[Any], Any]
    query: str
    read: Callable[[Any], Any] = first_row

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return answers as numbers, shape ``(trials, ...)``; ``rng`` is not used."""
        with convert_library_import_errors("snsql", "smartnoise-sql"):
            reader = self.connect(dataset)
        return collect_call_outputs(lambda _: self.read(reader.execute(self.query)), trials)

    def claimed_epsilon(self, dataset: Any) -> float:
        """Return the epsilon that SmartNoise states for one answer, whatever the dataset holds."""
        with convert_library_import_errors("snsql", "smartnoise-sql"):
            epsilon, _ = self.connect(dataset).get_privacy_cost(self.query)
        return float(epsilon)


@dataclass(frozen=True)
class SmartNoiseSynthesis:
    """A synthesiser or a transformer of SmartNoise Synth, fitted anew in every trial.

    Parameters
    ----------
    fit
        ``fit(dataset)`` makes one, fits it, and returns it.
    read
        Maps what was fitted to what is published of it, as numbers: counts of a synthetic sample,
        the bounds of a transformer.

    Examples
    --------
    With ``pip install 'dpaudit[smartnoise-synth]'``::

        from snsynth.transform import MinMaxTransformer

        def fit(dataset):
            transformer = MinMaxTransformer(epsilon=1.0)
            transformer.fit(dataset)
            return transformer

        mechanism = SmartNoiseSynthesis(fit, lambda fitted: [fitted.fit_lower, fitted.fit_upper])
    """

    fit: Callable[[Any], Any]
    read: Callable[[Any], Any]

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the published outputs, shape ``(trials, ...)``; ``rng`` is not used."""
        with convert_library_import_errors("snsynth", "smartnoise-synth"):
            return collect_call_outputs(lambda _: self.read(self.fit(dataset)), trials)
