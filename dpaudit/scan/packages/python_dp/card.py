"""The scan of PyDP: the algorithms and mechanisms of Google, and those of ``pydp.ml``."""

from typing import Any

from dpaudit.extension.package import MadePair, Package, PackageClaim, Parameters, Subject

_ADD = "add-remove-record"
_REPLACE = "replace-record"
_UNIT = {"lower_bound": 0.0, "upper_bound": 1.0}
_ABOUT_ZERO = {"lower_bound": -1.0, "upper_bound": 1.0}
_AWAY = {"lower_bound": 5.0, "upper_bound": 10.0}
_FLOAT = {"epsilon": 1.0, "dtype": "float"}


def _make_pydp_claim(what: str, delta: str | float = 0.0, relation: str = _ADD) -> PackageClaim:
    where = (
        f"documentation of pydp, {what}: differentially private with its epsilon and delta; "
        "Google's library bounds what adding or removing one user changes"
    )
    return PackageClaim(epsilon="epsilon", delta=delta, relation=relation, where=where)


def _make_typed_datasets(given: Parameters) -> tuple[Any, ...]:
    low, high = given.get("lower_bound", 0.0), given.get("upper_bound", 1.0)
    number = int if given["dtype"] == "int" else float
    return tuple(
        [number(one) for one in values]
        for values in ([high], [low, high], [low] * 4 + [high], [(low + high) / 2] * 10)
    )


def _get_pydp_limits(given: Parameters) -> Any:
    return (given.get("lower_bound", 0.0), given.get("upper_bound", 1.0))


def _make_algorithm_subject(
    name: str, *settings: dict[str, Any], code: str = "algorithm"
) -> Subject:
    return Subject(
        name=f"algorithms.{name}" if code == "algorithm" else f"algorithms.{name} by entries",
        code=code,
        parameters=tuple({"name": name, **one} for one in settings),
        datasets=_make_typed_datasets,
        bounds=_get_pydp_limits,
        relations=(_ADD,),
        nan=all(one["dtype"] == "float" for one in settings),
        claims=(_make_pydp_claim(f"algorithms.laplacian.{name}"),),
        trials=20_000,
    )


def _make_sensitivity_pairs(given: Parameters) -> tuple[MadePair, ...]:
    apart = given["sensitivity"]
    starts = (0, 2**53) if isinstance(apart, int) else (0.0,)
    return tuple(
        MadePair(
            dataset=[one],
            neighbour=[one + apart],
            relation=_REPLACE,
            edit=f"the value {one!r} for {one + apart!r}",
        )
        for one in starts
    )


def _make_mechanism_subject(
    name: str, code: str, *settings: dict[str, Any], delta: str | float = 0.0
) -> Subject:
    return Subject(
        name=name,
        code=code,
        parameters=settings,
        pairs=_make_sensitivity_pairs,
        relations=(_REPLACE,),
        nan=False,
        additive=True,
        claims=(
            _make_pydp_claim(
                f"{name}, for values as far apart as the sensitivity", delta, _REPLACE
            ),
        ),
        trials=20_000,
    )


def _make_user_count_pairs(given: Parameters) -> tuple[MadePair, ...]:
    return tuple(
        MadePair(
            dataset=["a"] * count, neighbour=["a"] * (count - 1), relation=_ADD, edit="without one"
        )
        for count in (1, 2, 4, 8)
    )


_SELECTED = {"epsilon": 1.0, "delta": 0.05, "max_partitions_contributed": 1}
_NUMBERS = {"epsilon": 1.0, "sensitivity": 1.0}

PACKAGE = Package(
    name="python-dp",
    distribution="python-dp",
    code="dpaudit.scan.packages.python_dp.subjects",
    versions=("1.1.5",),
    requirements=("numpy",),
    home="https://github.com/OpenMined/PyDP",
    subjects=(
        _make_algorithm_subject("Count", _FLOAT),
        _make_algorithm_subject("BoundedSum", _FLOAT | _UNIT, _FLOAT | _AWAY, _FLOAT | _ABOUT_ZERO),
        _make_algorithm_subject("BoundedMean", _FLOAT | _UNIT, _FLOAT | _AWAY),
        _make_algorithm_subject(
            "BoundedVariance", _FLOAT | _UNIT, _FLOAT | _ABOUT_ZERO, _FLOAT | _AWAY
        ),
        _make_algorithm_subject("BoundedStandardDeviation", _FLOAT | _ABOUT_ZERO),
        _make_algorithm_subject("Max", _FLOAT | _UNIT),
        _make_algorithm_subject("Min", _FLOAT | _UNIT),
        _make_algorithm_subject("Median", _FLOAT | _UNIT),
        _make_algorithm_subject("Percentile", _FLOAT | _UNIT | {"percentile": 0.9}),
        _make_algorithm_subject(
            "BoundedSum",
            {"epsilon": 1.0, "dtype": "int", "lower_bound": 0, "upper_bound": 10},
            {"epsilon": 1.0, "dtype": "int", "lower_bound": -5, "upper_bound": 2},
            code="algorithm_by_entries",
        ),
        _make_mechanism_subject(
            "numerical_mechanisms.LaplaceMechanism",
            "numerical_mechanism",
            {"name": "LaplaceMechanism", **_NUMBERS},
            {"name": "LaplaceMechanism", "epsilon": 5.0, "sensitivity": 3.0},
        ),
        _make_mechanism_subject(
            "numerical_mechanisms.GaussianMechanism",
            "numerical_mechanism",
            {"name": "GaussianMechanism", "delta": 0.01, **_NUMBERS},
            {"name": "GaussianMechanism", "delta": 0.2, "epsilon": 5.0, "sensitivity": 1.0},
            delta="delta",
        ),
        Subject(
            name="partition_selection",
            code="partition_selection",
            parameters=(
                {"strategy": "truncated_geometric", **_SELECTED},
                {"strategy": "laplace", **_SELECTED},
                {"strategy": "gaussian", **_SELECTED},
                {"strategy": "laplace", "pre_threshold": 3, **_SELECTED},
            ),
            pairs=_make_user_count_pairs,
            relations=(_ADD,),
            nan=False,
            claims=(_make_pydp_claim("create_partition_strategy", "delta"),),
        ),
        _make_mechanism_subject(
            "ml.mechanisms.Geometric",
            "ml_geometric",
            {"epsilon": 1.0, "sensitivity": 1, "probability": 0.5},
        ),
        _make_mechanism_subject(
            "ml.mechanisms.GeometricTruncated",
            "ml_geometric_truncated",
            {"epsilon": 1.0, "sensitivity": 1, "probability": 0.5, "lower": -5, "upper": 5},
        ),
        _make_mechanism_subject("ml.mechanisms.Laplace", "ml_laplace", _NUMBERS),
        _make_mechanism_subject(
            "ml.mechanisms.LaplaceBoundedDomain",
            "ml_laplace_bounded_domain",
            {"lower": 0.0, "upper": 3.0, **_NUMBERS},
        ),
    ),
)
