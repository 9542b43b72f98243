"""Tools of diffprivlib: counts, means, variances, sums, quantiles and histograms."""

from typing import Any

from dpaudit.extension.package import PackageClaim, Parameters, Subject

_REPLACE = "replace-record"
_ADD = "add-remove-record"
_UNIT = (0.0, 1.0)
_AWAY = (5.0, 10.0)
_ONE_SIDED = (0.0, 100.0)
_NEGATIVE = (-3.0, -1.0)
_FAR = (100.0, 101.0)
_MANY = 2982  # equal records, of which a median is asked


def _make_tool_claim(tool: str, relation: str = _REPLACE) -> PackageClaim:
    where = (
        f"docstring of diffprivlib.tools.{tool}: the privacy parameter epsilon. It names no "
        f"neighbours; read as {relation}, under which the noise of the code is calibrated"
    )
    return PackageClaim(epsilon="epsilon", relation=relation, where=where)


def _make_bounded_datasets(given: Parameters) -> tuple[Any, ...]:
    """Return datasets of one, two, five and twelve records between the bounds of a setting."""
    low, high = given["bounds"]
    middle = (low + high) / 2
    return ([low], [low, high], [low] * 4 + [high], [middle] * 12)


def _with_gaps(given: Parameters) -> tuple[Any, ...]:
    """Return the same, and datasets in which most entries are missing."""
    low, high = given["bounds"]
    missing = float("nan")
    return (*_make_bounded_datasets(given), [low, *[missing] * 11], [low, high, *[missing] * 10])


def _make_bounds_settings(*bounds: tuple[float, float], **more: Any) -> tuple[dict[str, Any], ...]:
    return tuple({"epsilon": 1.0, "bounds": one, **more} for one in bounds)


def _make_statistic_subject(name: str, *bounds: tuple[float, float], **options: Any) -> Subject:
    return Subject(
        name=f"tools.{name}",
        code=f"tools_{name}",
        parameters=_make_bounds_settings(*bounds),
        datasets=_with_gaps if name.startswith("nan") else _make_bounded_datasets,
        bounds="bounds",
        claims=(_make_tool_claim(name),),
        additive=name not in ("std", "nanstd"),
        **options,
    )


def _make_two_column_rows(given: Parameters) -> tuple[Any, ...]:
    import numpy as np

    low, high = given["bounds"]
    return (np.array([[low, low], [high, low], [low, high]]),)


def _many_equal(given: Parameters) -> tuple[Any, ...]:
    low, high = given["bounds"]
    return ([low], [low] * 4 + [high], [(low + high) / 2] * _MANY)


def _make_bit_datasets(given: Parameters) -> tuple[Any, ...]:
    return ([1], [0, 1], [1] * 8)


def _make_high_datasets(given: Parameters) -> tuple[Any, ...]:
    low, high = given["bounds"]
    return ([low, high], [high] * 128, [high] * 256)


_STATISTICS = (
    _make_statistic_subject("mean", _UNIT, _AWAY, _NEGATIVE, (2.0, 2.0)),
    _make_statistic_subject("var", _UNIT, _AWAY),
    _make_statistic_subject("std", _UNIT, _AWAY),
    _make_statistic_subject("sum", _UNIT, _AWAY, _NEGATIVE, (2.0, 2.0)),
    _make_statistic_subject("nanmean", _UNIT, _AWAY),
    _make_statistic_subject("nanvar", _UNIT, _AWAY),
    _make_statistic_subject("nanstd", _UNIT),
    _make_statistic_subject("nansum", _UNIT, _FAR),
    Subject(
        name="tools.count_nonzero",
        code="tools_count_nonzero",
        parameters=({"epsilon": 1.0}, {"epsilon": 0.2}),
        datasets=_make_bit_datasets,
        bounds=(0, 1),
        claims=(_make_tool_claim("count_nonzero"),),
        nan=False,
    ),
    Subject(
        name="tools.mean by column",
        code="tools_mean",
        parameters=_make_bounds_settings(_UNIT, axis=0),
        datasets=_make_two_column_rows,
        bounds="bounds",
        claims=(_make_tool_claim("mean"),),
    ),
    Subject(
        name="tools.sum of integers",
        code="tools_sum",
        parameters=(
            *_make_bounds_settings((0, 1), dtype="int64"),
            *_make_bounds_settings((0, 1), dtype="int8"),
            *_make_bounds_settings((0, 1), dtype="uint8"),
            *_make_bounds_settings((5, 10), dtype="int64"),
        ),
        datasets=_make_high_datasets,
        bounds="bounds",
        claims=(_make_tool_claim("sum"),),
        nan=False,
    ),
)

_QUANTILES = (
    Subject(
        name="tools.median",
        code="tools_median",
        parameters=_make_bounds_settings(_ONE_SIDED),
        datasets=_many_equal,
        bounds="bounds",
        claims=(_make_tool_claim("median"),),
    ),
    Subject(
        name="tools.quantile",
        code="tools_quantile",
        parameters=(
            *_make_bounds_settings(_UNIT, quant=0.9),
            *_make_bounds_settings(_UNIT, quant=(0.25, 0.75)),
        ),
        datasets=_make_bounded_datasets,
        bounds="bounds",
        claims=(_make_tool_claim("quantile"),),
    ),
    Subject(
        name="tools.percentile",
        code="tools_percentile",
        parameters=_make_bounds_settings(_UNIT, percent=10),
        datasets=_make_bounded_datasets,
        bounds="bounds",
        claims=(_make_tool_claim("percentile"),),
    ),
)

_SAMPLES = ([0.1], [0.1, 0.6, 0.9], [0.1] * 9 + [0.9])


def _make_grid_datasets(given: Parameters) -> tuple[Any, ...]:
    import numpy as np

    return (np.array([[0.1, 0.1]]), np.array([[0.1, 0.1], [0.6, 0.9], [0.9, 0.1], [0.1, 0.9]]))


def _make_histogram_subject(name: str, *settings: dict[str, Any], **options: Any) -> Subject:
    return Subject(
        name=f"tools.{name}",
        code=f"tools_{name.split()[0]}",
        parameters=tuple({"epsilon": 1.0, **one} for one in settings),
        bounds=_UNIT,
        relations=(_ADD,),
        claims=(_make_tool_claim(name.split()[0], _ADD),),
        **options,
    )


_HISTOGRAMS = (
    _make_histogram_subject(
        "histogram",
        {"bins": 2, "range": _UNIT},
        {"bins": [0.0, 0.5, 1.0]},
        {"bins": 2, "range": _UNIT, "density": True},
        datasets=_SAMPLES,
    ),
    _make_histogram_subject(
        "histogram with weights", {"bins": 2, "range": _UNIT, "weight": 50}, datasets=_SAMPLES
    ),
    _make_histogram_subject(
        "histogram with a rule for bins",
        {"bins": "sqrt", "range": _UNIT},
        {"bins": "auto", "range": _UNIT},
        datasets=_SAMPLES,
    ),
    _make_histogram_subject(
        "histogram2d", {"bins": 2, "range": [_UNIT, _UNIT]}, datasets=_make_grid_datasets
    ),
    _make_histogram_subject(
        "histogramdd", {"bins": 2, "range": [_UNIT, _UNIT]}, datasets=_make_grid_datasets
    ),
)

TOOLS = (*_STATISTICS, *_QUANTILES, *_HISTOGRAMS)
