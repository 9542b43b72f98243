"""Aggregations of PipelineDP on its local backend, many trials in one job.

A job takes about as long for one partition as for a thousand, and gives every partition the noise
of its own. So each trial is a public partition, and every record is in all of them, each time as a
person of its own: no trial bounds what another one holds.

PipelineDP draws its noise by PyDP, from a secure generator that cannot be seeded; it samples
contributions by numpy's global one. So the same seed gives other outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors


@dataclass(frozen=True)
class PipelineDPAggregation:
    """An aggregation of ``pipeline_dp.DPEngine`` with public partitions.

    Parameters
    ----------
    parameters
        Returns ``pipeline_dp.AggregateParams``. The budget of a trial is the whole of ``epsilon``
        and ``delta``, as one person is in one of these partitions.
    epsilon, delta
        The budget.
    published
        Maps the metrics of a partition to numbers; by default all of them, in their order.

    Examples
    --------
    With ``pip install 'dpaudit[pipeline-dp]'``, in a module that a TOML file names as
    ``mechanism = "my_module:mechanism"``::

        import pipeline_dp
        from dpaudit.adapters.pipeline_dp import PipelineDPAggregation

        def noisy_sum():
            return pipeline_dp.AggregateParams(
                metrics=[pipeline_dp.Metrics.SUM],
                noise_kind=pipeline_dp.NoiseKind.LAPLACE,
                max_partitions_contributed=1,
                max_contributions_per_partition=1,
                min_value=0.0,
                max_value=1.0,
            )

        mechanism = PipelineDPAggregation(noisy_sum, epsilon=1.0, delta=1e-10)
    """

    parameters: Callable[[], Any]
    epsilon: float
    delta: float
    published: Callable[[Any], Any] = list

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the published output of each trial, shape ``(trials, ...)``.

        Parameters
        ----------
        dataset
            A sequence of values: each that of one person.
        trials
            How many partitions the job has.
        rng
            Not used: see the module.
        """
        with convert_library_import_errors("pipeline_dp", "pipeline-dp"):
            found = self._aggregate_trials(list(dataset), trials)
        return collect_call_outputs(lambda trial: self.published(found[trial]), trials)

    def _aggregate_trials(self, values: list[Any], trials: int) -> dict[int, Any]:
        import pipeline_dp  # type: ignore[import-not-found, import-untyped, unused-ignore]  # an extra

        accountant = pipeline_dp.NaiveBudgetAccountant(self.epsilon, self.delta)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        rows = [
            # A privacy id of its own for every trial: contributions are bounded per id, over all
            # partitions of the job.
            ((trial, person), trial, value)
            for trial in range(trials)
            for person, value in enumerate(values)
        ]
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: row[2],
        )
        given = self.parameters()
        lazily = engine.aggregate(rows, given, extractors, public_partitions=list(range(trials)))
        # Before anything is read: the engine's result is lazy, and its noise needs the budgets.
        accountant.compute_budgets()
        return dict(lazily)
