"""Plain Python, noise, lists and tables that are read, and the twins."""

from __future__ import annotations

import importlib
import math
import random
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaudit.domains.domain import Domain
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.reading import read_trace
from tests.own_examples import load_example
from tests.proving.readings import (
    ANY_SIZE,
    ARRAY,
    KINDS,
    LIST,
    TABLE,
    VALUE,
    operations,
    refusal,
)

replayed = load_example("replayed")

# --- plain Python ----------------------------------------------------------------------------


def clips_each(data: Any, rng: Any) -> Any:
    return sum(min(max(one, 0.2), 0.8) for one in data) + rng.laplace()


def clips_with_floats(data: Any, rng: Any) -> Any:
    return sum(float(min(1.0, max(0.0, one))) for one in data) / len(data) + rng.laplace()


def counts_large(data: Any, rng: Any) -> Any:
    return sum(one > 0.5 for one in data) + rng.laplace()


def adds_in_a_loop(data: Any, rng: Any) -> Any:
    total = 0.0
    for one in data:
        total += one * one
    return total + rng.laplace()


def takes_a_root(data: Any, rng: Any) -> Any:
    return math.sqrt(sum(one**2 for one in data)) + rng.laplace()


def takes_logs(data: Any, rng: Any) -> Any:
    return math.log(1 + sum(data)) + math.exp(-data[0]) + math.hypot(data[1], 1.0) + rng.laplace()


def takes_a_median(data: Any, rng: Any) -> Any:
    return sorted(data)[len(data) // 2] + rng.laplace()


def takes_largest(data: Any, rng: Any) -> Any:
    return max(data) - min(data) + rng.laplace()


def rounds(data: Any, rng: Any) -> Any:
    return round(sum(data) + rng.laplace(), 2), round(sum(data) + rng.laplace())


def cuts_off(data: Any, rng: Any) -> Any:
    return int(sum(data) + rng.laplace()), math.floor(sum(data) + rng.laplace())


def asks_any(data: Any, rng: Any) -> Any:
    return any(one > 0.9 for one in data) + rng.laplace(), all(one > 0.1 for one in data) * 1


def asks_for_kinds(data: Any, rng: Any) -> Any:
    first = data[0]
    known = isinstance(data, list) and isinstance(first, float) and not isinstance(first, str)
    return first + rng.laplace() if known else 0.0


def averages(data: Any, rng: Any) -> Any:
    import statistics

    return statistics.fmean(data) + statistics.pstdev(data) + rng.laplace()


def joins(data: Any, rng: Any) -> Any:
    return np.array(data).mean() + rng.laplace()


PLAIN = [
    clips_each, clips_with_floats, counts_large, adds_in_a_loop, takes_a_root, takes_logs,
    takes_a_median, takes_largest, rounds, cuts_off, asks_any, asks_for_kinds, averages,
]  # fmt: skip


@pytest.mark.parametrize("function", PLAIN, ids=lambda one: one.__name__)
@pytest.mark.parametrize("domain", [LIST, ARRAY], ids=["list", "array"])
def test_plain_python_is_followed(function: Callable[..., Any], domain: Domain) -> None:
    if function is asks_for_kinds and domain is ARRAY:
        pytest.skip("an array is no list")
    found = read_trace(function, domain, runs=24)
    assert len(found.paths) == 1


def test_builtins_are_put_back() -> None:
    read_trace(clips_each, LIST, runs=4)
    assert "sum" not in globals()
    assert math.sqrt is __import__("math").sqrt
    assert "built-in" in repr(math.sqrt)


def test_the_value_of_a_local_release() -> None:
    found = read_trace(lambda one, rng: float(one) + rng.laplace(), VALUE)
    assert operations(found)[0] == "data"
    assert found.universe.part("").shape == (1,)


# --- noise -----------------------------------------------------------------------------------

LAWS: dict[str, Callable[..., Any]] = {
    "normal": lambda x, rng: rng.normal(x.sum(), 2.0),
    "laplace": lambda x, rng: x + rng.laplace(0.0, 3.0, size=5),
    "gumbel": lambda x, rng: np.argmax(x + rng.gumbel(scale=2.0, size=5)),
    "exponential": lambda x, rng: x + rng.exponential(2.0, 5),
    "uniform": lambda x, rng: x.sum() + rng.uniform(-1, 2),
    "logistic": lambda x, rng: x.sum() + rng.logistic(),
    "cauchy": lambda x, rng: x.sum() + rng.standard_cauchy(),
    "geometric": lambda x, rng: rng.geometric(0.3) - rng.geometric(0.3) + (x > 0.5).sum(),
    "binomial": lambda x, rng: (x > 0.5).sum() + rng.binomial(10, 0.5),
    "poisson": lambda x, rng: x.sum() + rng.poisson(3.0, size=2),
    "integers": lambda x, rng: x.sum() + rng.integers(-3, 4, size=(2, 2)).sum(),
    "endpoint": lambda x, rng: x.sum() + rng.integers(0, 3, endpoint=True),
    "gamma": lambda x, rng: x.sum() + rng.gamma(2.0, 3.0),
    "choice": lambda x, rng: rng.choice(3, p=np.array([0.2, 0.3, 0.5])) + x.sum(),
    "private choice": lambda x, rng: rng.choice(
        2, p=np.exp(np.array([0.0, 1.0]) * x.sum()) / np.exp(np.array([0.0, 1.0]) * x.sum()).sum()
    ),
    "choice of texts": lambda x, rng: rng.choice(["a", "b"]),
    "mask": lambda x, rng: (x * (rng.random(5) < 0.5)).sum() + rng.normal(),
    "scale from noise": lambda x, rng: x.sum() + rng.laplace(scale=abs(rng.normal()) + 1),
    "old generator": lambda x: x.sum() + np.random.RandomState().laplace(0.0, 2.0),
    "global generator": lambda x: np.random.normal(x.sum(), 1.0),  # noqa: NPY002
    "module": lambda x: x.sum() + random.gauss(0.0, 1.0) + random.expovariate(2.0),
    "module choice": lambda x: random.choice([1.0, 2.0]) + random.randint(1, 6) + x.sum(),
    "choices": lambda x: random.choices([3.0, 4.0], weights=[1, 2], k=2),
    "secrets": lambda x: x.sum() + secrets.randbelow(10),
    "correlated": lambda x, rng: rng.multivariate_normal(x[:2], [[2.0, 0.5], [0.5, 1.0]]),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_followed(name: str) -> None:
    found = read_trace(LAWS[name], ARRAY, runs=24)
    assert "draw" in operations(found)


MODULES = {
    "seeds_all": ("np.random.seed(3)", "np.random", False),
    "has_an_old_one": ("OLD = np.random.RandomState(5)", "OLD", False),
    "has_one_of_a_seed": ("RNG = np.random.default_rng(5)", "RNG", False),
    "has_one_of_the_system": ("RNG = np.random.default_rng()", "RNG", True),
    "seeds_nothing": ("", "np.random", True),
}


@pytest.mark.parametrize("name", MODULES)
def test_generators_that_were_seeded_before_draw_no_noise(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, source, is_noise = MODULES[name]
    text = f"import numpy as np\n{line}\ndef f(x):\n    return x.sum() + {source}.laplace()\n"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, name, module)
    if is_noise:
        read_trace(module.f, ARRAY, runs=4)
    else:
        assert "seed" in refusal(module.f).refusal.reason


# --- lists of texts, tables, any number of records --------------------------------------------


def test_texts_are_counted_by_public_ones() -> None:
    def release(data: Any, rng: Any) -> Any:
        return {name: data.count(name) + rng.laplace() for name in ("a", "b", "q")}

    for relation in ("replace-record", "add-remove-record"):
        found = read_trace(release, Domain(around=["a", "b", "a"]), relation)
        assert "q" in (found.universe.part("").categories or ())


FOLLOWED: dict[str, Callable[..., Any]] = {
    "clip": lambda df, rng: df["v"].clip(0, 0.5).sum() + rng.laplace(),
    "counts": lambda df, rng: (
        df["kind"].value_counts().reindex(KINDS, fill_value=0) + rng.laplace(size=3)
    ),
    "groups": lambda df, rng: (
        df.groupby("kind")["v"].sum().reindex(KINDS, fill_value=0).to_numpy() + rng.laplace(size=3)
    ),
    "rows": lambda df, rng: df[df["kind"] == "x"]["v"].sum() + rng.laplace(),
    "located": lambda df, rng: df.loc[df.age > 4, "v"].sum() + rng.laplace(),
    "length": lambda df, rng: len(df[df.age > 4]) + rng.laplace(),
    "both": lambda df, rng: ((df.age > 2) & (df.kind != "y")).sum() + rng.laplace(),
    "among": lambda df, rng: df["age"].isin([1, 2]).sum() + rng.laplace(),
    "between": lambda df, rng: df["age"].between(1, 5).sum() + rng.laplace(),
    "columns": lambda df, rng: df[["v", "w"]].to_numpy().sum(axis=0) + rng.laplace(size=2),
    "new column": lambda df, rng: df.assign(u=df.v * df.w).u.clip(0, 1).sum() + rng.laplace(),
    "largest": lambda df, rng: (
        df.groupby("kind").size().reindex(KINDS, fill_value=0) + rng.gumbel(size=3)
    ).idxmax(),
    "truths": lambda df, rng: df["smokes"].sum() + rng.laplace(),
}


@pytest.mark.parametrize("relation", ["replace-record", "add-remove-record"])
@pytest.mark.parametrize("name", FOLLOWED)
def test_tables_are_followed(name: str, relation: str) -> None:
    read_trace(FOLLOWED[name], TABLE, relation, runs=16)


REFUSED: dict[str, Callable[..., Any]] = {
    "counts of whoever": lambda df, rng: df["kind"].value_counts(),
    "mean of some": lambda df, rng: df[df.kind == "x"]["v"].mean(),
    "apply": lambda df, rng: df.apply(lambda row: row.v, axis=1).sum(),
    "rows by place": lambda df, rng: df.iloc[0],
    "unique": lambda df, rng: len(df["kind"].unique()),
    "query": lambda df, rng: df.query("age > 3")["v"].sum(),
}


SUMS: dict[str, Callable[..., Any]] = {
    "noise of their size": lambda sums, rng: sums + rng.laplace(size=len(sums)),
    "noise of one": lambda sums, rng: sums + rng.laplace(),
    "noise before": lambda sums, rng: rng.laplace(size=3) + sums,
    "less noise": lambda sums, rng: sums - rng.laplace(),
    "in a loop": lambda sums, rng: [one + rng.laplace() for one in sums],
    "as an array": lambda sums, rng: np.asarray(sums) + rng.laplace(size=3),
    "scaled": lambda sums, rng: 2 * sums,
    "through numpy": lambda sums, rng: np.sum(sums) + rng.laplace(),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_unnamed_groups_are_refused_by_the_line_with_what_to_write(name: str) -> None:
    def release(df: Any, rng: Any) -> Any:
        return SUMS[name](df.groupby("kind")["v"].sum(), rng)

    with pytest.raises(NotProved, match=r"test_followed_functions\.py") as raised:
        read_trace(release, TABLE, "add-remove-record", runs=16)
    assert ".reindex(categories, fill_value=0)" in str(raised.value)


@pytest.mark.parametrize("name", REFUSED)
def test_other_uses_of_tables_are_refused(name: str) -> None:
    refusal(REFUSED[name], TABLE)


def test_nobody_goes_through_records_of_unknown_number() -> None:
    found = read_trace(lambda x, rng: len(x) + rng.laplace(), ANY_SIZE, "add-remove-record")
    assert "size" in operations(found)
    with pytest.raises(NotProved):
        read_trace(clips_each, ANY_SIZE, "add-remove-record")


SIZES: dict[str, Callable[..., Any]] = {
    "len": lambda x: len(x),
    "first length": lambda x: x.shape[0],
    "shape": lambda x: x.shape,
    "tuple": lambda x: (len(x),),
    "size": lambda x: x.size,
}


@pytest.mark.parametrize("size", SIZES)
def test_poisson_samples_of_unknown_number(size: str) -> None:
    def release(x: Any, rng: Any) -> Any:
        mask = rng.random(SIZES[size](x)) < 0.25
        return np.where(mask, x, 0).sum() + rng.normal(), x[mask].sum() + rng.normal()

    found = read_trace(release, ANY_SIZE, "add-remove-record", runs=24)
    draws = [one for one in found.paths[0].program.nodes if one.operation == "draw"]
    assert [one.shape for one in draws] == [(None,), (), ()]


def test_a_draw_for_each_record_is_not_returned() -> None:
    def release(x: Any, rng: Any) -> Any:
        return rng.random(len(x))

    with pytest.raises(NotProved, match="differ in the number"):
        read_trace(release, ANY_SIZE, "add-remove-record")


def test_empty_datasets_are_compared_where_there_may_be_such() -> None:
    def largest(x: Any, rng: Any) -> Any:
        return x.max() + rng.laplace()

    for records in ((0, 4), 1):
        with pytest.raises(NotProved):
            read_trace(largest, Domain(bounds=(0, 1), records=records), "add-remove-record")


# --- twins -----------------------------------------------------------------------------------

TRACED_TWINS = {
    "unclipped", "order of clip and sum", "wrong divisor", "scale upside down",
    "budget spent twice",
    "noise reused for two", "maximum of the data", "noise not used", "exception", "size from data",
    "bounds from data", "clipped to the data", "scale from data", "branch without noise",
    "exact threshold", "seed in the source", "global numpy", "centre as argument",
    "standard library", "gauss of the standard library", "secrets", "rounded", "comparison",
    "labels from data", "randomised response", "coordinates not counted", "exact mean inside",
    "a release a call",
}  # fmt: skip
UNTRACED = {
    "labels from data", "NaN", "exception", "size from data", "scale from data",
    "branch without noise", "exact threshold", "seed in the source", "seed used twice",
}  # fmt: skip


def _domain(data: Any) -> Domain:
    if isinstance(data, np.ndarray):
        return Domain(bounds=(0, 1), records=len(data))
    return Domain(around=data) if isinstance(data[0], str) else LIST


@pytest.mark.parametrize("twin", replayed.TWINS, ids=lambda one: one.flaw)
def test_twins(twin: replayed.Twin) -> None:
    if twin.flaw in TRACED_TWINS:
        read_trace(twin.repaired, _domain(twin.dataset), runs=16)
    if twin.flaw in UNTRACED:
        refusal(twin.broken, _domain(twin.dataset))
