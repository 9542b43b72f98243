"""The scan of OpenDP: common measurements, calibrated by its privacy maps.

OpenDP counts datasets apart by the symmetric distance: one where a record is added or removed, two
where one is replaced. A sized domain knows the second alone.
"""

import math
from typing import Any

from dpaudit.extension.package import MadePair, Package, PackageClaim, Parameters, Subject

_ADD = "add-remove-record"
_REPLACE = "replace-record"
_MAP = (
    "OpenDP's user guide, measurements: outputs on inputs at most d_in apart are at most map(d_in) "
    "apart; here d_in is "
)
_ONE = _MAP + "1 under the symmetric distance"
_TWO = _MAP + "2 under the symmetric distance, of a sized domain"
_APART = _MAP + "1 between the inputs of the mechanism"


def _make_opendp_datasets(given: Parameters) -> tuple[Any, ...]:
    low, high = given["bounds"]
    middle = (low + high) // 2 if isinstance(low, int) else (low + high) / 2
    return ([high], [low, high], [low] * 3 + [high], [middle] * 8)


def _two_or_more(given: Parameters) -> tuple[Any, ...]:
    return _make_opendp_datasets(given)[1:]


def _of_bounds(
    name: str, *settings: dict[str, Any], relation: str, currency: str = "epsilon", **more: Any
) -> Subject:
    where = _ONE if relation == _ADD else _TWO
    claim = PackageClaim(relation=relation, where=where, **{currency: currency})
    return Subject(
        name=name.replace("_", " "),
        code=name,
        parameters=settings,
        datasets=_two_or_more if name == "sized_variance" else _make_opendp_datasets,
        bounds="bounds",
        relations=(relation,),
        claims=(claim,),
        **{"nan": False, "additive": True} | more,
    )


def _make_currency_settings(
    currency: str, *bounds: tuple[float, float]
) -> tuple[dict[str, Any], ...]:
    return tuple({currency: 1.0, "bounds": one} for one in bounds)


_UNIT = (0.0, 1.0)
_AWAY = (5.0, 10.0)
_NEGATIVE = (-3.0, -1.0)
_INTEGERS = ((0, 1), (5, 10), (-3, -1), (0, 2**31 - 1))

_NUMBERS = (
    _of_bounds("integer_sum", *_make_currency_settings("epsilon", *_INTEGERS), relation=_ADD),
    _of_bounds(
        "integer_sum_zcdp", *_make_currency_settings("rho", (0, 1)), relation=_ADD, currency="rho"
    ),
    _of_bounds(
        "sized_sum", *_make_currency_settings("epsilon", _UNIT, _AWAY, _NEGATIVE), relation=_REPLACE
    ),
    _of_bounds("sized_mean", *_make_currency_settings("epsilon", _UNIT, _AWAY), relation=_REPLACE),
    _of_bounds(
        "sized_mean_zcdp", *_make_currency_settings("rho", _UNIT), relation=_REPLACE, currency="rho"
    ),
    _of_bounds(
        "sized_variance", *_make_currency_settings("epsilon", _UNIT, _AWAY), relation=_REPLACE
    ),
    _of_bounds(
        "imputed_mean", *_make_currency_settings("epsilon", _UNIT), relation=_REPLACE, nan=True
    ),
)


def _of_texts(name: str, *settings: dict[str, Any], claim: PackageClaim) -> Subject:
    return Subject(
        name=name.replace("_", " "),
        code=name,
        parameters=settings,
        datasets=(["a"], ["a", "b"], ["a", "a", "a", "b"]),
        relations=(_ADD,),
        nan=False,
        claims=(claim,),
    )


def _compute_threshold_delta(given: Parameters) -> float:
    """Return the delta of `map`: a count of one, with discrete noise, beyond the threshold."""
    ratio = math.exp(-1 / given["scale"])
    return float(ratio ** given["threshold"] / (1 + ratio))


_COUNTED = PackageClaim(epsilon="epsilon", relation=_ADD, where=_ONE)
_COUNTS = (
    _of_texts("count", {"epsilon": 1.0}, claim=_COUNTED),
    _of_texts("count_distinct", {"epsilon": 1.0}, claim=_COUNTED),
    _of_texts("count_by_categories", {"epsilon": 1.0, "categories": ("a", "b")}, claim=_COUNTED),
    _of_texts(
        "thresholded_counts",
        {"noise": "then_laplace_threshold", "scale": 1.0, "threshold": 3},
        claim=PackageClaim(
            epsilon=lambda given: 1 / given["scale"],
            delta=_compute_threshold_delta,
            relation=_ADD,
            where=_ONE + "; map(1) of then_laplace_threshold is this epsilon and delta",
        ),
    ),
    Subject(
        name="private quantile",
        code="private_quantile",
        parameters=(
            {"epsilon": 1.0, "candidates": (0, 5, 10), "alpha": 0.5},
            {"epsilon": 1.0, "candidates": (0, 5, 10), "alpha": 0.9},
        ),
        datasets=([0], [0, 10], [0, 0, 0, 5, 10]),
        bounds=(0, 10),
        relations=(_ADD,),
        nan=False,
        claims=(_COUNTED,),
    ),
)


def _make_input_pairs(*both: tuple[Any, Any]) -> tuple[MadePair, ...]:
    return tuple(
        MadePair(dataset=one, neighbour=other, relation=_REPLACE, edit="inputs one apart")
        for one, other in both
    )


_SCORES = _make_input_pairs(
    ([(0, 0)], [(1, -1)]),
    ([(1, 0)], [(0, 1)]),
    ([(0, 0, 0)], [(1, -1, -1)]),
    ([(2, 0, 0)], [(1, 1, 1)]),
)
_YES_NO = _make_input_pairs((["yes"], ["no"]))
_LETTERS = _make_input_pairs((["a"], ["b"]), (["a"], ["outside"]))
_WHOLE = _make_input_pairs(*(([one], [one + 1]) for one in (0, 2**53, 2**62, -(2**62), 2**63 - 2)))
_REAL = _make_input_pairs(*(([one], [one + 1.0]) for one in (0.0, -1.0, 1e15)))


def _on_input(
    name: str, *settings: dict[str, Any], pairs: Any, additive: bool = False, **claim: Any
) -> Subject:
    return Subject(
        name=name.replace("_", " "),
        code=name,
        parameters=settings,
        pairs=pairs,
        relations=(_REPLACE,),
        nan=False,
        additive=additive,
        claims=(PackageClaim(relation=_REPLACE, where=_APART, **claim),),
    )


def _compute_response_odds(given: Parameters) -> float:
    others = len(given.get("categories", ("yes", "no"))) - 1
    return math.log(given["prob"] * others / (1 - given["prob"]))


_PURE: Any = lambda given: 1 / given["scale"]  # noqa: E731  # of a sensitivity of one
_CONCENTRATED: Any = lambda given: 0.5 / given["scale"] ** 2  # noqa: E731

_INPUTS = (
    _on_input(
        "noisy_max",
        {"epsilon": 1.0},
        {"epsilon": 1.0, "negate": True},
        pairs=_SCORES,
        epsilon="epsilon",
    ),
    _on_input("noisy_max_zcdp", {"rho": 0.5}, {"rho": 2.0}, pairs=_SCORES, rho="rho"),
    _on_input("noisy_top_k", {"epsilon": 1.0, "k": 2}, pairs=_SCORES[2:], epsilon="epsilon"),
    _on_input(
        "randomized_response_bool", {"prob": 0.75}, pairs=_YES_NO, epsilon=_compute_response_odds
    ),
    _on_input(
        "randomized_response",
        {"prob": 0.75, "categories": ("a", "b", "c")},
        pairs=_LETTERS,
        epsilon=_compute_response_odds,
    ),
    _on_input(
        "laplace_on_integer",
        {"scale": 1.0},
        {"scale": 0.2},
        pairs=_WHOLE,
        additive=True,
        epsilon=_PURE,
    ),
    _on_input("laplace_on_float", {"scale": 1.0}, pairs=_REAL, additive=True, epsilon=_PURE),
    _on_input("gaussian_on_float", {"scale": 1.0}, pairs=_REAL, additive=True, rho=_CONCENTRATED),
    _on_input(
        "canonical_noise",
        {"epsilon": 1.0, "delta": 0.01},
        pairs=_REAL[:2],
        additive=True,
        epsilon="epsilon",
        delta="delta",
    ),
)

PACKAGE = Package(
    name="opendp",
    distribution="opendp",
    code="dpaudit.scan.packages.opendp.subjects",
    versions=("0.16.0", "0.15.1"),
    requirements=("numpy",),
    home="https://github.com/opendp/opendp",
    subjects=(*_NUMBERS, *_COUNTS, *_INPUTS),
)
