"""The scan of dpmm: its binning, its models, and pipelines of both."""

from __future__ import annotations

from typing import Any

from dpaudit.extension.package import MadePair, Package, PackageClaim, Parameters, Subject

_END_TO_END = (
    "README, Overview: end-to-end DP pipelines including data preprocessing, generative models and "
    "mechanisms; the data domain is provided as input or extracted with DP, and continuous data is "
    "discretised with DP"
)
_NUMBER = {"x": {"lower": 0.0, "upper": 1.0}}
_TABLE = {**_NUMBER, "c": {"categories": ["a", "b", "z"]}}
_BINS: tuple[dict[str, Any], ...] = (
    {"binner_type": "priv-tree", "n_bins": "auto"},
    {"binner_type": "uniform", "n_bins": "auto"},
    {"binner_type": "priv-tree", "n_bins": 4},
    {"binner_type": "uniform", "n_bins": 4},
)


def _make_letter_rows(count: int, letters: str) -> list[dict[str, Any]]:
    """Return rows over all of [0, 1] whose letters go round."""
    return [
        {"x": number / max(count - 1, 1), "c": letters[number % len(letters)]}
        for number in range(count)
    ]


def _make_letter_tables(given: Parameters) -> tuple[Any, ...]:
    sizes = (2, 24)
    made = [_make_letter_rows(size, letters) for size in sizes for letters in ("a", "ab")]
    return tuple(made)


def _in_domain(dataset: Any, given: Parameters) -> bool:
    """Return whether every category is one of the domain that was given."""
    allowed = given["domain"]["c"]["categories"]
    return all(row.get("c") is None or row["c"] in allowed for row in dataset)


def _spent_by_bins(given: Parameters) -> float:
    return float(given["epsilon"] if "epsilon" in given else 0.0)


def _sum_pipeline_epsilons(given: Parameters) -> float:
    return float(given["epsilon"] + given["proc_epsilon"])


_PAIRS = tuple(
    MadePair(dataset=few, neighbour=[*few[:kept], (1, 1, 0)], relation=relation, edit=words)
    for few, kept, relation, words in (
        ([(0, 0, 0)], 1, "add-remove-record", "one more, who has other values in two columns"),
        ([(0, 0, 0)], 0, "replace-record", "another one, who has other values in two columns"),
    )
)
_TWO = [{"a": number % 2} for number in range(20)]
# One record alone has a category, the largest.
_ALONE = tuple(
    MadePair(
        dataset=_TWO,
        neighbour=[*_TWO[:kept], {"a": 4}],
        relation=relation,
        edit=f"{words}, with a category of its own",
    )
    for kept, relation, words in (
        (20, "add-remove-record", "one more"),
        (19, "replace-record", "another one"),
    )
)
_MODEL = {"epsilon": 1.0, "delta": 1e-5}
_ARTICLE = "; docstring: epsilon is the privacy budget, delta the privacy parameter"

PACKAGE = Package(
    name="dpmm",
    distribution="dpmm",
    code="dpaudit.scan.packages.dpmm.subjects",
    versions=("0.1.9",),
    home="https://github.com/sassoftware/dpmm",
    python="<3.12",
    subjects=(
        Subject(
            name="approx_bounds",
            code="bounds",
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    where="docstring of approx_bounds: epsilon is the privacy budget to spend on "
                    "estimating the bounds",
                ),
            ),
            parameters=({"epsilon": 1.0}, {"epsilon": 0.1}),
            datasets=([1.0], [1.0, 2.0, 3.0] * 10, [-1.0] * 15 + [0.5] * 15 + [1000.0] * 15),
            bounds=(-1e30, 1e30),
            relations=("add-remove-record",),
            trials=300,
            about="bounds of a column, estimated from it",
        ),
        Subject(
            name="TableBinner, numbers",
            code="table_binner",
            claims=(PackageClaim(epsilon=_spent_by_bins, where=_END_TO_END),),
            parameters=tuple({"epsilon": 1.0, **bins, "domain": _NUMBER} for bins in _BINS),
            datasets=lambda given: tuple(
                [{"x": row["x"]} for row in rows] for rows in _make_letter_tables(given)[::2]
            ),
            bounds={"x": (0.0, 1.0)},
            trials=200,
            about="bins of a column with given bounds, and which columns are constant or have gaps",
        ),
        Subject(
            name="TableBinner, numbers and categories",
            code="table_binner",
            claims=(PackageClaim(epsilon=_spent_by_bins, where=_END_TO_END),),
            parameters=tuple({"epsilon": 1.0, **bins, "domain": _TABLE} for bins in _BINS[2:]),
            datasets=_make_letter_tables,
            domain=_in_domain,
            bounds={"x": (0.0, 1.0)},
            trials=200,
            about="bins of a table whose domain is given in full",
        ),
        Subject(
            name="TableBinner without categories",
            code="categories",
            claims=(PackageClaim(epsilon="epsilon", where=_END_TO_END),),
            parameters=({"epsilon": 1.0, "n_bins": 4},),
            datasets=(["a", "b"] * 10,),
            nan=False,
            trials=200,
            about="the categories of a column, where nobody has stated them",
        ),
        Subject(
            name="PrivBayesPipeline",
            code="pipeline",
            claims=(
                PackageClaim(
                    epsilon=_sum_pipeline_epsilons,
                    delta="delta",
                    where=_END_TO_END
                    + "; docstring of MMPipeline: epsilon is the budget of the model, proc_epsilon "
                    "that of the processing step",
                ),
            ),
            parameters=(
                {
                    **_MODEL,
                    "proc_epsilon": 0.5,
                    "binner_type": "uniform",
                    "n_bins": 3,
                    "domain": _TABLE,
                    "rows": 20,
                },
            ),
            datasets=(_make_letter_rows(20, "a"), _make_letter_rows(20, "ab")),
            domain=_in_domain,
            bounds={"x": (0.0, 1.0)},
            trials=60,
            about="synthetic rows of a table whose domain is given in full",
        ),
        Subject(
            name="PrivBayesGM, its network",
            code="priv_bayes_network",
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    delta="delta",
                    where=_END_TO_END + _ARTICLE + " of PrivBayesGM",
                ),
            ),
            parameters=({**_MODEL, "degree": 2, "others": 1000},),
            pairs=_PAIRS,
            nan=False,
            trials=250,
            about="which of three columns a model with a given domain joins, beside known records",
        ),
        Subject(
            name="PrivBayesGM, its marginals",
            code="priv_bayes",
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    delta="delta",
                    where=_END_TO_END + _ARTICLE + " of PrivBayesGM",
                ),
            ),
            parameters=({**_MODEL, "degree": 2, "domain": {"a": 2, "b": 2}},),
            datasets=([{"a": number % 2, "b": number // 2 % 2} for number in range(20)],),
            nan=False,
            trials=200,
        ),
        Subject(
            name="MSTGM, marginals of one column",
            code="mst",
            claims=(
                PackageClaim(
                    epsilon="epsilon", delta="delta", where=_END_TO_END + _ARTICLE + " of MSTGM"
                ),
            ),
            parameters=({**_MODEL, "domain": {"a": 3}},),
            datasets=([{"a": 0}], [{"a": number % 2} for number in range(20)]),
            bounds={"a": (0, 2)},
            nan=False,
            trials=300,
        ),
        Subject(
            name="MSTGM without a domain",
            code="mst_without_domain",
            claims=(
                PackageClaim(
                    epsilon="epsilon", delta="delta", where=_END_TO_END + _ARTICLE + " of MSTGM"
                ),
            ),
            parameters=({**_MODEL},),
            datasets=(_TWO,),
            pairs=_ALONE,
            bounds={"a": (0, 4)},
            nan=False,
            trials=400,
            about="marginals of a column whose categories nobody has stated",
        ),
        Subject(
            name="MSTGM without a domain, its table",
            code="mst_table_without_domain",
            claims=(
                PackageClaim(
                    epsilon="epsilon", delta="delta", where=_END_TO_END + _ARTICLE + " of MSTGM"
                ),
            ),
            parameters=({**_MODEL, "rows": 100},),
            pairs=_ALONE,
            nan=False,
            trials=400,
            about="which categories a synthetic table has, where nobody has stated them",
        ),
        Subject(
            name="AIMGM, marginals of single columns",
            code="aim",
            claims=(
                PackageClaim(
                    epsilon="epsilon", delta="delta", where=_END_TO_END + _ARTICLE + " of AIMGM"
                ),
            ),
            parameters=tuple(
                {**_MODEL, "degree": 1, "rounds": rounds, "columns": columns}
                for rounds, columns in ((16, 1), (1, 100))
            ),
            datasets=([0, 1],),
            bounds=(0, 1),
            nan=False,
            trials=250,
            about="what is counted of columns that are equal, in one round or several",
        ),
    ),
)
