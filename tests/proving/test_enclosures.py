"""Intervals with slopes: values of points lie within, and secants between them have such slopes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.proving.distances.refinements.enclosures import FUNCTIONS, Enclosure, raise_to_power
from dpaudit.proving.distances.refinements.polynomials import (
    ONE,
    AtomTable,
    make_constant_polynomial,
)
from dpaudit.proving.distances.refinements.ranges import Ranges
from dpaudit.proving.program import EVALUATORS

BOXES, POINTS = 400, 12
FROM_ZERO = {"log": 1e-3, "log1p": -0.999, "sqrt": 0.0, "reciprocal": 1e-2}
OPERANDS = {"maximum": 2, "minimum": 2, "less": 2, "less_equal": 2, "equal": 2, "where": 3}
OPERANDS |= {"logical_and": 2, "logical_or": 2}
Function = Callable[..., Any]


def _boxes(rng: Any, count: int, lowest: float) -> tuple[Any, Any]:
    """Return ends of boxes, shape ``(count, BOXES)``, some of them around zero, some at it."""
    ends = np.sort(rng.normal(0, 3, (2, count, BOXES)), axis=0)
    ends[:, :, ::5] = np.round(ends[:, :, ::5])
    return np.maximum(ends[0], lowest), np.maximum(ends[1], lowest)


def _assert_encloses(enclose: Function, evaluate: Function, count: int, lowest: float) -> None:
    rng = np.random.default_rng(len(str(enclose)) + count)
    low, high = _boxes(rng, count, lowest)
    slopes = np.eye(count)[:, :, None] * np.ones(BOXES)
    operands = [Enclosure(low[k], high[k], (slopes[k], slopes[k])) for k in range(count)]
    with np.errstate(all="ignore"):
        found = enclose(*operands)
    shares = rng.choice([0.0, 1.0, 0.5, 0.21], (POINTS, count, BOXES))
    points = np.clip(low + shares * (high - low), low, high)
    values = np.array([evaluate(*point) for point in points], dtype=float)
    assert (found.low <= values).all()
    assert (values <= found.high).all()
    steps = (points[1:] - points[:-1]).transpose(1, 0, 2)
    is_known = np.isfinite(found.slopes).all(axis=(0, 1))
    first, second = (np.where(is_known, end, 0.0)[:, None] * steps for end in found.slopes)
    change, slack = values[1:] - values[:-1], 1e-9 * (1 + np.abs(values).max())
    assert (change >= np.minimum(first, second).sum(axis=0) - slack)[:, is_known].all()
    assert (change <= np.maximum(first, second).sum(axis=0) + slack)[:, is_known].all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_boxes_encloses_values_and_secants(name: str) -> None:
    evaluate = np.reciprocal if name == "reciprocal" else EVALUATORS[name]
    lowest = FROM_ZERO.get(name, -np.inf)
    _assert_encloses(FUNCTIONS[name], evaluate, OPERANDS.get(name, 1), lowest)


@pytest.mark.parametrize("power", [1, 2, 3, 4, 7])
def test_a_power_encloses_values_and_secants(power: int) -> None:
    _assert_encloses(lambda x: raise_to_power(x, power), lambda x: x**power, 1, -np.inf)


def test_sums_and_products_enclose_values_and_secants() -> None:
    _assert_encloses(lambda x, y: x + y, lambda x, y: x + y, 2, -np.inf)
    _assert_encloses(lambda x, y: x * y, lambda x, y: x * y, 2, -np.inf)
    third = np.asarray(1 / 3)
    _assert_encloses(lambda x: x.scale((-third, -third)), lambda x: x * (-1 / 3), 1, -np.inf)


RANGES: dict[str, tuple[Function, tuple[float, float], tuple[float, float]]] = {
    "parabola": (lambda t, x: x * (ONE - x), (-2.0, 3.0), (-6.0, 0.25)),
    "quartic": (lambda t, x: x * x * (ONE - x) * (ONE - x), (-1.0, 1.0), (0.0, 4.0)),
    "jump": (
        lambda t, x: x + t.enter("less_equal", (x, make_constant_polynomial(0.5))),
        (0.0, 1.0),
        (0.5, 1.5),
    ),
    "bent": (lambda t, x: t.enter("absolute", (x,)) - x.scale(2), (-1.0, 2.0), (-2.0, 3.0)),
    "wave": (lambda t, x: x * x + t.enter("cos", (x.scale(4),)), (-1.0, 1.0), (-0.452328, 1.0)),
}


@pytest.mark.parametrize("name", RANGES)
def test_a_range_is_found_to_twelve_digits(name: str) -> None:
    function, ends, wanted = RANGES[name]
    table = AtomTable()
    cell = table.enter("cell", parameters=0, ends=ends, is_changing=True)
    low, high = Ranges(table, {}).find(function(table, cell))
    assert (low, high) == pytest.approx(wanted, rel=1e-6, abs=1e-11)


def test_a_function_that_may_not_be_defined_has_no_range() -> None:
    table = AtomTable()
    cell = table.enter("cell", parameters=0, ends=(-1.0, 1.0), is_changing=True)
    for name in ("log", "sqrt", "reciprocal"):
        assert Ranges(table, {}).find(table.enter(name, (cell,))) == (-np.inf, np.inf)
