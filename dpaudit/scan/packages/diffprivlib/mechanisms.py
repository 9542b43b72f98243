"""Mechanisms of diffprivlib, each on two values as far apart as its sensitivity allows."""

from collections.abc import Callable
from typing import Any

from dpaudit.extension.package import MadePair, PackageClaim, Parameters, Subject

_REPLACE = "replace-record"
_Pairs = Callable[[Parameters], tuple[MadePair, ...]]


def _make_mechanism_claim(
    mechanism: str, delta: str | float = 0.0, epsilon: str | float = "epsilon"
) -> PackageClaim:
    where = (
        f"docstring of diffprivlib.mechanisms.{mechanism}: the mechanism is differentially "
        "private with its parameters, for values that differ by at most its sensitivity"
    )
    return PackageClaim(epsilon=epsilon, delta=delta, relation=_REPLACE, where=where)


def _make_value_pair(one: Any, other: Any) -> MadePair:
    return MadePair(
        dataset=[one], neighbour=[other], relation=_REPLACE, edit=f"the value {one!r} for {other!r}"
    )


def _make_pairs_from_starts(*starts: float) -> _Pairs:
    """Return pairs of values at the sensitivity, upwards of each start."""

    def pairs(given: Parameters) -> tuple[MadePair, ...]:
        apart = given["sensitivity"]
        return tuple(_make_value_pair(one, one + apart) for one in starts)

    return pairs


def _make_bounded_pairs(given: Parameters) -> tuple[MadePair, ...]:
    """Return pairs of values inside the bounds: at both ends, and in the middle."""
    low, high, apart = given["lower"], given["upper"], given["sensitivity"]
    middle = type(low)((low + high) / 2) if high < float("inf") else low + 2 * apart
    found = [_make_value_pair(low, low + apart), _make_value_pair(middle, middle + apart)]
    if high < float("inf"):
        found.append(_make_value_pair(high - apart, high))
    return tuple(found)


def _on_value(
    mechanism: str,
    *settings: dict[str, Any],
    pairs: Any,
    delta: str | float = 0.0,
    epsilon: str | float = "epsilon",
    additive: bool = False,
    words: str = "",
) -> Subject:
    return Subject(
        name=f"mechanisms.{mechanism}{words}",
        code="mechanism_on_value",
        parameters=tuple({"mechanism": mechanism, **one} for one in settings),
        pairs=pairs,
        relations=(_REPLACE,),
        nan=False,
        additive=additive,
        claims=(_make_mechanism_claim(mechanism, delta, epsilon),),
    )


def _on_utility(mechanism: str) -> Subject:
    candidates = {"candidates": ("a", "b", "c"), "mechanism": mechanism, "sensitivity": 1.0}
    return Subject(
        name=f"mechanisms.{mechanism}",
        code="mechanism_on_utility",
        parameters=(
            {"epsilon": 1.0, **candidates},
            {"epsilon": 5.0, **candidates},
            {"epsilon": 1.0, "monotonic": True, **candidates},
        ),
        datasets=(["a"], ["a", "b"], ["a", "a", "b", "c"]),
        relations=("add-remove-record",),
        nan=False,
        claims=(
            PackageClaim(
                epsilon="epsilon",
                relation="add-remove-record",
                where=f"docstring of diffprivlib.mechanisms.{mechanism}: epsilon for utilities "
                "that change by at most the sensitivity; here counts, which move one way",
            ),
        ),
    )


_LABELS = [["a", "b", 1.0], ["a", "c", 2.0], ["b", "c", 2.0]]
_TREE = [["a", "b"], ["c", "d"]]
_LABEL_PAIRS = (_make_value_pair("a", "b"), _make_value_pair("a", "c"))

_CONTINUOUS = (
    _on_value(
        "Laplace",
        {"epsilon": 1.0, "sensitivity": 1.0},
        {"epsilon": 0.1, "sensitivity": 2.0},
        {"epsilon": 5.0, "sensitivity": 1.0},
        pairs=_make_pairs_from_starts(0.0, -1.0),
        additive=True,
    ),
    _on_value(
        "Laplace",
        {"epsilon": 0.5, "delta": 0.1, "sensitivity": 1.0},
        pairs=_make_pairs_from_starts(0.0),
        delta="delta",
        additive=True,
        words=" with delta",
    ),
    _on_value(
        "LaplaceTruncated",
        {"epsilon": 1.0, "sensitivity": 1.0, "lower": 0.0, "upper": 3.0},
        {"epsilon": 1.0, "sensitivity": 1.0, "lower": 5.0, "upper": 10.0},
        pairs=_make_bounded_pairs,
        additive=True,
    ),
    _on_value(
        "LaplaceFolded",
        {"epsilon": 1.0, "sensitivity": 1.0, "lower": 0.0, "upper": 3.0},
        {"epsilon": 1.0, "sensitivity": 1.0, "lower": 0.0, "upper": float("inf")},
        pairs=_make_bounded_pairs,
        additive=True,
    ),
    _on_value(
        "LaplaceBoundedDomain",
        {"epsilon": 1.0, "sensitivity": 1.0, "lower": 0.0, "upper": 3.0},
        {"epsilon": 1.0, "sensitivity": 1.0, "lower": 0.0, "upper": 1.0},
        {"epsilon": 3.0, "sensitivity": 1.0, "lower": -5.0, "upper": 5.0},
        pairs=_make_bounded_pairs,
        additive=True,
    ),
    _on_value(
        "LaplaceBoundedNoise",
        {"epsilon": 1.0, "delta": 0.05, "sensitivity": 1.0},
        pairs=_make_pairs_from_starts(0.0),
        delta="delta",
        additive=True,
    ),
    _on_value(
        "Gaussian",
        {"epsilon": 1.0, "delta": 0.01, "sensitivity": 1.0},
        {"epsilon": 0.2, "delta": 0.2, "sensitivity": 1.0},
        pairs=_make_pairs_from_starts(0.0),
        delta="delta",
        additive=True,
    ),
    _on_value(
        "GaussianAnalytic",
        {"epsilon": 1.0, "delta": 0.01, "sensitivity": 1.0},
        {"epsilon": 5.0, "delta": 0.01, "sensitivity": 1.0},
        {"epsilon": 0.5, "delta": 0.4, "sensitivity": 1.0},
        {"epsilon": 30.0, "delta": 0.01, "sensitivity": 1.0},
        pairs=_make_pairs_from_starts(0.0),
        delta="delta",
        additive=True,
    ),
    _on_value(
        "Staircase",
        {"epsilon": 1.0, "sensitivity": 1.0},
        {"epsilon": 1.0, "sensitivity": 1.0, "gamma": 0.0},
        {"epsilon": 3.0, "sensitivity": 1.0, "gamma": 1.0},
        pairs=_make_pairs_from_starts(0.0),
        additive=True,
    ),
    _on_value(
        "Uniform",
        {"delta": 0.1, "sensitivity": 1.0},
        pairs=_make_pairs_from_starts(0.0),
        epsilon=0.0,
        delta="delta",
        additive=True,
    ),
    _on_value(
        "Snapping",
        {"epsilon": 1.0, "sensitivity": 1.0, "lower": 0.0, "upper": 10.0},
        {"epsilon": 1.5, "sensitivity": 1.0, "lower": -4.0, "upper": 4.0},
        pairs=_make_bounded_pairs,
        additive=True,
    ),
)

_DISCRETE = (
    _on_value(
        "Geometric",
        {"epsilon": 1.0, "sensitivity": 1},
        {"epsilon": 0.5, "sensitivity": 3},
        pairs=_make_pairs_from_starts(0, 2**53, 2**60 + 128),
        additive=True,
    ),
    _on_value(
        "GeometricTruncated",
        {"epsilon": 1.0, "sensitivity": 1, "lower": 0, "upper": 4},
        {"epsilon": 1.0, "sensitivity": 1, "lower": 2**60, "upper": 2**60 + 256},
        pairs=_make_bounded_pairs,
        additive=True,
    ),
    _on_value(
        "GeometricFolded",
        {"epsilon": 1.0, "sensitivity": 1, "lower": 0, "upper": 4},
        {"epsilon": 1.0, "sensitivity": 1, "lower": 2**60, "upper": 2**60 + 256},
        pairs=_make_bounded_pairs,
        additive=True,
    ),
    _on_value(
        "GaussianDiscrete",
        {"epsilon": 1.0, "delta": 0.01, "sensitivity": 1},
        {"epsilon": 0.5, "delta": 0.1, "sensitivity": 3},
        pairs=_make_pairs_from_starts(0, 2**60 + 128),
        delta="delta",
        additive=True,
    ),
    _on_value(
        "Binary",
        {"epsilon": 1.0, "value0": "a", "value1": "b"},
        {"epsilon": 4.0, "value0": "a", "value1": "b"},
        pairs=(_make_value_pair("a", "b"),),
    ),
    _on_value(
        "ExponentialCategorical",
        {"epsilon": 1.0, "utility_list": _LABELS},
        {"epsilon": 3.0, "utility_list": _LABELS},
        pairs=_LABEL_PAIRS,
    ),
    _on_value(
        "ExponentialHierarchical",
        {"epsilon": 1.0, "hierarchy": _TREE},
        {"epsilon": 1.0, "hierarchy": [["a", "b", "c"], ["d"]]},
        pairs=_LABEL_PAIRS,
    ),
    _on_utility("Exponential"),
    _on_utility("PermuteAndFlip"),
)

_EAST = (1.0, 0.0, 0.0)
_NORTH = (0.0, 1.0, 0.0)
_MATRIX = Subject(
    name="mechanisms.Bingham",
    code="mechanism_on_matrix",
    parameters=({"epsilon": 1.0}, {"epsilon": 5.0}),
    pairs=tuple(
        MadePair(
            dataset=[_EAST] * count,
            neighbour=[_EAST] * (count - 1) + [_NORTH],
            relation=_REPLACE,
            edit="one row for an orthogonal one",
        )
        for count in (1, 2, 4)
    ),
    relations=(_REPLACE,),
    nan=False,
    claims=(
        PackageClaim(
            epsilon="epsilon",
            relation=_REPLACE,
            where="docstring of diffprivlib.mechanisms.Bingham: for covariance matrices of rows of "
            "norm at most one, with sensitivity one",
        ),
    ),
)

MECHANISMS = (*_CONTINUOUS, *_DISCRETE, _MATRIX)
