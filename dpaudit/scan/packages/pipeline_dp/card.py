"""The scan of PipelineDP: metrics with public partitions, selection of private ones."""

from typing import Any

from dpaudit.extension.package import MadePair, Package, PackageClaim, Parameters, Subject

_ADD = "add-remove-record"
_UNIT = {"min_value": 0.0, "max_value": 1.0}
_ABOUT_ZERO = {"min_value": -1.0, "max_value": 1.0}
_AWAY = {"min_value": 5.0, "max_value": 10.0}
_ONCE = {"max_contributions_per_partition": 1}
_PURE = {"noise": "laplace", "epsilon": 1.0, "delta": 1e-10}
_LOUD = {"noise": "laplace", "epsilon": 3.0, "delta": 1e-10}
_GAUSSIAN = {"noise": "gaussian", "epsilon": 1.0, "delta": 1e-2}


def _make_pipeline_claim(what: str) -> PackageClaim:
    where = (
        f"docstrings of NaiveBudgetAccountant (total_epsilon and total_delta) and {what}; of "
        "AddDPNoiseParams: neighbours come by adding or removing one privacy unit"
    )
    return PackageClaim(epsilon="epsilon", delta="delta", relation=_ADD, where=where)


def _make_partition_values(given: Parameters) -> tuple[Any, ...]:
    low = given.get("min_value", given.get("min_sum_per_partition", 0.0))
    high = given.get("max_value", given.get("max_sum_per_partition", 1.0))
    middle = (low + high) / 2
    return ([high], [low, high], [middle] * 9 + [high])


def _get_partition_limits(given: Parameters) -> Any:
    values = _make_partition_values(given)
    return (min(values[1]), max(values[1]))


def _make_metric_subject(name: str, *settings: dict[str, Any], metrics: tuple[str, ...]) -> Subject:
    return Subject(
        name=f"aggregate {name}",
        code="aggregate",
        parameters=tuple({"metrics": metrics, **one} for one in settings),
        datasets=_make_partition_values,
        bounds=_get_partition_limits,
        relations=(_ADD,),
        claims=(_make_pipeline_claim("AggregateParams"),),
        trials=20_000,
    )


def _make_partition_subject(name: str, code: str, *strategies: str, **more: Any) -> Subject:
    return Subject(
        name=name,
        code=code,
        parameters=tuple(
            {"epsilon": 1.0, "delta": 1e-2, "strategy": one, **more} for one in strategies
        ),
        datasets=(["a"], ["a", "a", "b"], ["a"] * 6),
        relations=(_ADD,),
        nan=False,
        claims=(_make_pipeline_claim("SelectPartitionsParams"),),
        trials=20_000,
    )


def _make_crowd_pairs(given: Parameters) -> tuple[MadePair, ...]:
    """Return crowds of persons who contribute to all partitions, with and without one of them."""
    most = given["partitions"]
    return tuple(
        MadePair(
            dataset=[most] * count,
            neighbour=[most] * (count - 1),
            relation=_ADD,
            edit="without the last",
        )
        for count in (1, 5, 17)
    )


PACKAGE = Package(
    name="pipeline-dp",
    distribution="pipeline-dp",
    code="dpaudit.scan.packages.pipeline_dp.subjects",
    versions=("0.3.1",),
    home="https://github.com/OpenMined/PipelineDP",
    python=">=3.11",
    subjects=(
        _make_metric_subject("count", _PURE | _ONCE, _GAUSSIAN | _ONCE, metrics=("COUNT",)),
        _make_metric_subject("privacy id count", _PURE | _ONCE, metrics=("PRIVACY_ID_COUNT",)),
        _make_metric_subject(
            "sum",
            _PURE | _ONCE | _UNIT,
            _PURE | _ONCE | _AWAY,
            _GAUSSIAN | _ONCE | _ABOUT_ZERO,
            metrics=("SUM",),
        ),
        _make_metric_subject(
            "sum with bounds per partition",
            _PURE | {"min_sum_per_partition": 5.0, "max_sum_per_partition": 10.0} | _ONCE,
            metrics=("SUM",),
        ),
        _make_metric_subject(
            "mean", _PURE | _ONCE | _UNIT, _GAUSSIAN | _ONCE | _AWAY, metrics=("MEAN", "COUNT")
        ),
        _make_metric_subject(
            "variance",
            _LOUD | _ONCE | _UNIT,
            _LOUD | _ONCE | _ABOUT_ZERO,
            _LOUD | _ONCE | _AWAY,
            metrics=("VARIANCE", "MEAN", "COUNT"),
        ),
        _make_metric_subject("percentile", _PURE | _ONCE | _UNIT, metrics=("PERCENTILE 50",)),
        _make_partition_subject(
            "aggregate private partitions",
            "aggregate_partitions",
            "TRUNCATED_GEOMETRIC",
            "LAPLACE_THRESHOLDING",
            noise="laplace",
        ),
        _make_partition_subject(
            "select_partitions",
            "select_partitions",
            "TRUNCATED_GEOMETRIC",
            "LAPLACE_THRESHOLDING",
            "GAUSSIAN_THRESHOLDING",
        ),
        Subject(
            name="calculate_private_contribution_bounds",
            code="contribution_bounds",
            parameters=(
                {
                    "epsilon": 1.0,
                    "partitions": 5,
                    "aggregation_eps": 1.0,
                    "aggregation_delta": 0.0,
                    "max_partitions_contributed_upper_bound": 5,
                },
                {
                    "epsilon": 50.0,
                    "partitions": 20,
                    "aggregation_eps": 0.1,
                    "aggregation_delta": 0.0,
                    "max_partitions_contributed_upper_bound": 20,
                },
            ),
            pairs=_make_crowd_pairs,
            relations=(_ADD,),
            nan=False,
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    relation=_ADD,
                    where="docstring of CalculatePrivateContributionBoundsParams: calculation_eps "
                    "is the epsilon of computing the private bounds",
                ),
            ),
            trials=200,
        ),
    ),
)
