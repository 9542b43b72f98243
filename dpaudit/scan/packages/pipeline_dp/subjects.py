"""Aggregations of PipelineDP on its local backend, many trials in one job: a partition each.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import pipeline_dp


def aggregate(data, trials, metrics, noise, epsilon, delta, **bounds):
    """Every number is a person's, every trial a partition."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        metrics=[_get_pipeline_metric(one) for one in metrics],
        noise_kind=pipeline_dp.NoiseKind(noise),
        max_partitions_contributed=1,
        **bounds,
    )
    rows = [
        ((trial, person), trial, value)
        for trial in range(trials)
        for person, value in enumerate(data)
    ]
    found = engine.aggregate(rows, params, _EXTRACTORS, public_partitions=list(range(trials)))
    accountant.compute_budgets()
    return [one._asdict() for _, one in sorted(found, key=lambda pair: pair[0])]


def aggregate_partitions(data, trials, noise, epsilon, delta, strategy, **bounds):
    """Every text is the partition of a person; which partitions are kept is private."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        noise_kind=pipeline_dp.NoiseKind(noise),
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        partition_selection_strategy=_get_selection_strategy(strategy),
        **bounds,
    )
    rows = _of_persons(data, trials)
    found = engine.aggregate(rows, params, _EXTRACTORS)
    accountant.compute_budgets()
    tables = [{} for _ in range(trials)]
    for (trial, key), one in found:
        tables[trial][key] = one.privacy_id_count
    return tables


def select_partitions(data, trials, epsilon, delta, strategy):
    """Every text is the partition of a person."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.SelectPartitionsParams(
        max_partitions_contributed=1, partition_selection_strategy=_get_selection_strategy(strategy)
    )
    found = engine.select_partitions(_of_persons(data, trials), params, _EXTRACTORS)
    accountant.compute_budgets()
    kept = [[] for _ in range(trials)]
    for trial, key in found:
        kept[trial].append(key)
    return [sorted(one) for one in kept]


def contribution_bounds(data, epsilon, partitions, **parameters):
    """Every number is how many partitions a person contributes to."""
    engine = pipeline_dp.DPEngine(
        pipeline_dp.NaiveBudgetAccountant(1.0, 1e-6), pipeline_dp.LocalBackend()
    )
    params = pipeline_dp.CalculatePrivateContributionBoundsParams(
        aggregation_noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        calculation_eps=epsilon,
        **parameters,
    )
    rows = [(person, key, 0) for person, count in enumerate(data) for key in range(count)]
    found = engine.calculate_private_contribution_bounds(
        rows, params, _EXTRACTORS, list(range(partitions))
    )
    return int(next(iter(found)).max_partitions_contributed)


def _of_persons(data, trials):
    return [
        ((trial, person), (trial, key), 0)
        for trial in range(trials)
        for person, key in enumerate(data)
    ]


def _get_pipeline_metric(name):
    if name.startswith("PERCENTILE"):
        return pipeline_dp.Metrics.PERCENTILE(float(name.split()[1]))
    return getattr(pipeline_dp.Metrics, name)


def _get_selection_strategy(name):
    return getattr(pipeline_dp.PartitionSelectionStrategy, name)


_EXTRACTORS = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0],
    partition_extractor=lambda row: row[1],
    value_extractor=lambda row: row[2],
)
