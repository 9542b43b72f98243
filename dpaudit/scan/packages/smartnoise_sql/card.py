"""The scan of SmartNoise SQL: queries over pandas frames, sessions, and mechanisms alone."""

from __future__ import annotations

from typing import Any

from dpaudit.extension.package import MadePair, Package, PackageClaim, Parameters, Subject

_BY_ROW = {"row_privacy": True}
_PUBLIC_GROUPS = {"row_privacy": True, "censor_dims": False}
_AGE = {"type": "int", "lower": 0, "upper": 100}
_CITY = {"type": "string"}
_PLAIN = {"age": _AGE}
_CITIES = {"city": _CITY, "age": _AGE}
_PERSONS = {"id": {"type": "int", "private_id": True}, "city": _CITY, "age": _AGE}
_COUNT = "SELECT COUNT(*) AS n FROM people"
_SUM = "SELECT SUM(age) AS s FROM people"
_AVERAGE = "SELECT AVG(age) AS a FROM people"
_VARIANCE = "SELECT VAR(age) AS v FROM people"
_BY_CITY = "SELECT city, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY city"
_BY_AGE = "SELECT age, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY age"
_DISTINCT = "SELECT COUNT(DISTINCT age) AS n FROM people"
_KEYS = "SELECT city, COUNT(DISTINCT id) AS n FROM people GROUP BY city"

# Noisy columns of each query, beside the count of persons that drops rare groups.
_NOISY = {
    _COUNT: 1,
    _SUM: 1,
    _AVERAGE: 2,
    _VARIANCE: 3,
    _BY_CITY: 2,
    _BY_AGE: 2,
    _DISTINCT: 1,
    _KEYS: 1,
}
_COUNTS_PERSONS = (_COUNT, _BY_CITY, _BY_AGE)  # by row, their count is that of persons


_NEWCOMERS = (("Oslo", 100), ("Oslo", 100_000), ("Bergen", 100), (None, 100))


def _is_table_censored(given: Parameters) -> bool:
    return bool(given["table"].get("censor_dims", True))


def _counts_persons(given: Parameters) -> bool:
    by_row = given["sql"] in _COUNTS_PERSONS and given["table"].get("row_privacy", False)
    return given["sql"] == _KEYS or bool(by_row)


def _count_noisy_columns(given: Parameters) -> int:
    another = _is_table_censored(given) and not _counts_persons(given)
    return _NOISY[given["sql"]] + (1 if another else 0)


def _compute_query_epsilon(given: Parameters) -> float:
    return float(given["epsilon"] * _count_noisy_columns(given))


def _compute_query_delta(given: Parameters) -> float:
    """Return the delta of `get_privacy_cost`: half a delta, and one where persons are counted."""
    counted = _is_table_censored(given) or _counts_persons(given)
    return float(given["delta"] * (1.5 if counted else 0.5))


def _gaussian_delta(given: Parameters) -> float:
    return float(given["delta"] * (_count_noisy_columns(given) + 0.5))


def _make_query_setting(
    sql: str, table: dict[str, Any], columns: dict[str, Any], **more: Any
) -> Parameters:
    return {
        "epsilon": 1.0,
        "delta": 1e-5,
        "columns": columns,
        "table": table,
        "sql": sql,
        **more,
    }


def _make_age_datasets(given: Parameters) -> tuple[Any, ...]:
    upper = given["columns"]["age"].get("upper", 100)
    lower = given["columns"]["age"].get("lower", 0)
    return (
        [{"age": upper}],
        [{"age": lower}] * 20 + [{"age": upper}] * 20,
        [{"age": None}] * 5 + [{"age": upper}] * 20,
    )


def _make_grouped_datasets(given: Parameters) -> tuple[Any, ...]:
    upper = given["columns"]["age"]["upper"]
    names = list(given["columns"])

    def person(number: int, city: str, age: float) -> dict[str, Any]:
        row = {"id": number, "city": city, "age": age}
        return {name: row[name] for name in names}

    common = [person(number, "Oslo", upper) for number in range(40)]
    return (
        [person(0, "Oslo", upper)],
        common,
        [*common, person(41, "Bergen", 1)],
        [person(number, "Oslo", 1000 * upper) for number in range(40)],
    )


def _make_newcomer_pairs(given: Parameters) -> tuple[MadePair, ...]:
    """Return persons with one row each, and one more, who is in a group or alone in one."""
    age = given["columns"]["age"]["upper"]
    rows = [{"id": number, "city": "Oslo", "age": age} for number in range(40)]
    more = ({"id": 99, "city": city, "age": value} for city, value in _NEWCOMERS)
    return tuple(
        MadePair(
            dataset=rows,
            neighbour=[*rows, one],
            relation=_ADD[0],
            edit=f"one more in {one['city']}",
        )
        for one in more
    )


def _within_cities(given: Parameters) -> tuple[MadePair, ...]:
    """Return one who is more in a city that others are in, so that groups stay the same."""
    rows = [{"city": "Oslo", "age": 50}, {"city": "Bergen", "age": 50}] * 20
    more = {"city": "Oslo", "age": 100}
    words = "one more in a city that others are in"
    pair = MadePair(dataset=rows, neighbour=[*rows, more], relation=_ADD[0], edit=words)
    return (pair,)


def _columns_of_age(**age: Any) -> dict[str, Any]:
    return {"age": {**_AGE, **age}}


_ADD = ("add-remove-record",)
_COST = (
    "README, Privacy Cost, and PrivateReader.get_privacy_cost: epsilon for each noisy column, and "
    "delta for dropping rare groups; the docstring of AdditiveNoiseMechanism: how much one "
    "individual, who is in the data or not, affects the output"
)
_CLAIM = PackageClaim(
    epsilon=_compute_query_epsilon, delta=_compute_query_delta, relation=_ADD[0], where=_COST
)
_BEYOND = {"age": (-1000.0, 1_000_000.0)}  # Metadata.md: values are clamped to the column's bounds

_QUERIES = (
    Subject(
        name="SELECT COUNT",
        code="query",
        claims=(_CLAIM,),
        parameters=(
            _make_query_setting(_COUNT, _BY_ROW, _PLAIN),
            _make_query_setting(_COUNT, _PUBLIC_GROUPS, _PLAIN),
            _make_query_setting(_DISTINCT, _PUBLIC_GROUPS, _PLAIN),
        ),
        datasets=_make_age_datasets,
        bounds=_BEYOND,
        relations=_ADD,
        trials=200,
        about="a count of all rows, or of distinct values",
    ),
    Subject(
        name="SELECT SUM",
        code="query",
        claims=(_CLAIM,),
        parameters=(
            _make_query_setting(_SUM, _PUBLIC_GROUPS, _PLAIN),
            _make_query_setting(_SUM, _BY_ROW, _PLAIN),
            _make_query_setting(_SUM, _PUBLIC_GROUPS, _columns_of_age(lower=50, upper=60)),
            _make_query_setting(_SUM, _PUBLIC_GROUPS, _columns_of_age(lower=-10, upper=-5)),
            _make_query_setting(_SUM, _PUBLIC_GROUPS, _columns_of_age(type="float")),
        ),
        datasets=_make_age_datasets,
        bounds=_BEYOND,
        relations=_ADD,
        trials=200,
        about="a sum of values that are clamped to the bounds of their column",
    ),
    Subject(
        name="SELECT SUM, where values may be missing",
        code="query",
        claims=(_CLAIM,),
        parameters=tuple(
            _make_query_setting(_SUM, _PUBLIC_GROUPS, _columns_of_age(**age))
            for age in (
                {"missing_value": 0},
                {"type": "float", "missing_value": 50.0},
                {"nullable": False},
            )
        ),
        datasets=_make_age_datasets,
        bounds=_BEYOND,
        relations=_ADD,
        trials=200,
        about="a sum where the column's metadata say what a missing value is",
    ),
    Subject(
        name="SELECT AVG",
        code="query",
        claims=(_CLAIM,),
        parameters=(
            _make_query_setting(_AVERAGE, _PUBLIC_GROUPS, _PLAIN),
            _make_query_setting(_AVERAGE, _PUBLIC_GROUPS, _columns_of_age(missing_value=0)),
        ),
        datasets=_make_age_datasets,
        bounds=_BEYOND,
        relations=_ADD,
        trials=200,
        about="an average: a noisy sum over a noisy count",
    ),
    Subject(
        name="SELECT VAR",
        code="query",
        claims=(_CLAIM,),
        parameters=(
            _make_query_setting(_VARIANCE, _PUBLIC_GROUPS, _PLAIN),
            _make_query_setting(_VARIANCE, _PUBLIC_GROUPS, _columns_of_age(lower=-50, upper=10)),
        ),
        datasets=_make_age_datasets,
        bounds=_BEYOND,
        relations=_ADD,
        trials=200,
        about="a variance, of two noisy sums and a noisy count",
    ),
    Subject(
        name="GROUP BY",
        code="query",
        claims=(_CLAIM,),
        parameters=(
            _make_query_setting(_BY_CITY, _BY_ROW, _CITIES),
            _make_query_setting(_BY_CITY, _PUBLIC_GROUPS, _CITIES),
        ),
        datasets=lambda given: (
            _make_grouped_datasets(given)[:-1] if _is_table_censored(given) else ()
        ),
        pairs=_within_cities,
        bounds=_BEYOND,
        relations=_ADD,
        trials=200,
        about="counts and sums in groups, of which rare ones are dropped unless they are public",
    ),
    Subject(
        name="GROUP BY a number",
        code="query",
        claims=(_CLAIM,),
        parameters=(_make_query_setting(_BY_AGE, _BY_ROW, _PLAIN),),
        datasets=lambda given: _make_grouped_datasets(given)[-1:],
        bounds=_BEYOND,
        relations=_ADD,
        trials=200,
        about="counts and sums in groups of equal numbers, of which rare ones are dropped",
    ),
    Subject(
        name="GROUP BY, of persons with several rows",
        code="query",
        claims=(_CLAIM,),
        parameters=(
            _make_query_setting(_BY_CITY, {"max_ids": 1}, _PERSONS),
            _make_query_setting(_KEYS, {"max_ids": 2}, _PERSONS),
        ),
        pairs=_make_newcomer_pairs,
        relations=_ADD,
        trials=200,
        about="counts and sums in groups where a column says whose a row is",
    ),
    Subject(
        name="queries with Gaussian noise",
        code="query_gaussian",
        claims=(
            PackageClaim(
                epsilon=_compute_query_epsilon, delta=_gaussian_delta, relation=_ADD[0], where=_COST
            ),
        ),
        parameters=(
            _make_query_setting(_COUNT, _BY_ROW, _PLAIN),
            _make_query_setting(_SUM, _PUBLIC_GROUPS, _PLAIN),
        ),
        datasets=_make_age_datasets,
        bounds=_BEYOND,
        relations=_ADD,
        trials=200,
        about="the same with the Gaussian mechanism, as the section Overriding Mechanisms shows",
    ),
)

_SESSIONS = (
    Subject(
        name="session within a budget",
        code="session",
        claims=(
            PackageClaim(
                epsilon="budget",
                delta=lambda given: float(given["delta"] * (given["most"] + 0.5)),
                relation=_ADD[0],
                where="README, Privacy Cost: privacy cost accrues as new queries are executed, and "
                "PrivateReader.odometer.spent is the total; advanced.rst, postprocess: what is "
                "left out happens after the noise",
            ),
        ),
        parameters=tuple(
            {
                **_make_query_setting(_COUNT, _BY_ROW, _PLAIN),
                "budget": 1.0,
                "most": 5,
                "postprocess": postprocess,
            }
            for postprocess in (True, False)
        ),
        datasets=([{"age": 30}] * 40,),
        pairs=(
            MadePair(
                dataset=[{"age": 30}] * 40,
                neighbour=[{"age": 30}] * 41,
                relation=_ADD[0],
                edit="a person more",
            ),
        ),
        relations=_ADD,
        trials=250,
        about="a query that is repeated as long as the odometer is within a budget",
    ),
)

_NUMBERS = ([0.5], [0.0, 1.0], [0.0] * 10 + [1.0] * 10)


def _make_sql_datasets(given: Parameters) -> tuple[Any, ...]:
    lower, upper = given["lower"], given["upper"]
    return ([upper], [lower, upper], [lower] * 10 + [upper] * 10)


def _get_sql_bounds(given: Parameters) -> tuple[float, float]:
    return given["lower"], given["upper"]


_LAPLACE = "docstring of AdditiveNoiseMechanism: epsilon is the total privacy budget of a release"
_GAUSSIAN = _LAPLACE + ", with delta"
_INTERVALS = (
    {"lower": 0.0, "upper": 1.0},
    {"lower": 5.0, "upper": 10.0},
    {"lower": -10.0, "upper": -5.0},
    {"lower": 0.0, "upper": 1e6},
)
_MECHANISMS = (
    Subject(
        name="Laplace on a count",
        code="laplace_count",
        claims=(PackageClaim(epsilon="epsilon", relation=_ADD[0], where=_LAPLACE),),
        parameters=({"epsilon": 1.0}, {"epsilon": 0.01}, {"epsilon": 10.0}),
        datasets=_NUMBERS,
        relations=_ADD,
        additive=True,
    ),
    Subject(
        name="Laplace on a sum",
        code="laplace_sum",
        claims=(PackageClaim(epsilon="epsilon", relation=_ADD[0], where=_LAPLACE),),
        parameters=tuple({"epsilon": 1.0, **one} for one in _INTERVALS),
        datasets=_make_sql_datasets,
        bounds=_get_sql_bounds,
        relations=_ADD,
        nan=False,
        additive=True,
    ),
    Subject(
        name="Gaussian on a count",
        code="gaussian_count",
        claims=(PackageClaim(epsilon="epsilon", delta="delta", relation=_ADD[0], where=_GAUSSIAN),),
        parameters=({"epsilon": 1.0, "delta": 1e-5}, {"epsilon": 4.0, "delta": 1e-5}),
        datasets=_NUMBERS,
        relations=_ADD,
        additive=True,
    ),
    Subject(
        name="Gaussian on a sum",
        code="gaussian_sum",
        claims=(PackageClaim(epsilon="epsilon", delta="delta", relation=_ADD[0], where=_GAUSSIAN),),
        parameters=tuple({"epsilon": 1.0, "delta": 1e-5, **one} for one in _INTERVALS[:3]),
        datasets=_make_sql_datasets,
        bounds=_get_sql_bounds,
        relations=_ADD,
        nan=False,
        additive=True,
    ),
    Subject(
        name="approx_bounds",
        code="bounds",
        claims=(
            PackageClaim(
                epsilon="epsilon",
                relation=_ADD[0],
                where="docstring of approx_bounds: epsilon is the privacy budget to spend",
            ),
        ),
        parameters=({"epsilon": 1.0}, {"epsilon": 0.1}),
        datasets=([1.0], [1.0, 2.0, 3.0] * 10, [-1.0] * 15 + [0.0] * 15 + [1000.0] * 15),
        bounds=(-1e30, 1e30),
        relations=_ADD,
        trials=300,
        about="bounds of a column, estimated from it",
    ),
)

PACKAGE = Package(
    name="smartnoise-sql",
    distribution="smartnoise-sql",
    code="dpaudit.scan.packages.smartnoise_sql.subjects",
    versions=("1.0.10", "1.0.1"),
    requirements_of={"1.0.1": ("numpy<2",)},
    home="https://github.com/opendp/smartnoise-sdk",
    subjects=_QUERIES + _SESSIONS + _MECHANISMS,
)
