"""Sparse vector: the bound of every path against integrals, and broken variants."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dpaudit.proving.events.bound import Bound, bound_trace, cost_of_path
from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Part, Universe
from tests.proving.sketches import Sketch

B1, B2 = 2.0, 4.0
COLUMNS = 16


def _universe(change: str = "replace", records: int | None = 5) -> Universe:
    part = Part("", (records, COLUMNS), np.zeros(COLUMNS), np.ones(COLUMNS))
    return Universe((part,), records, change)  # type: ignore[arg-type]


def _query(own: Sketch, place: int) -> int:
    """Write a sum that one record moves by 1 at most, whatever the other queries do."""
    (records, _) = own.program.nodes[0].shape
    column = own("take", own.records, shape=(records, 1), key=[None, [place]])
    return own("reshape", own("sum", column, shape=(1,), axis=0))


def _above_threshold(
    outcomes: tuple[bool, ...], *, records: int | None = 5, fresh: bool = True
) -> PathProgram:
    """Write the path of sparse vector that ends as the outcomes say, True for above."""
    own = Sketch(records, COLUMNS)
    threshold = own("add", own.constant(2.0), own.scaled("laplace", B1))
    reused = own.scaled("laplace", B2)
    for place, outcome in enumerate(outcomes):
        noise = own.scaled("laplace", B2) if fresh else reused
        noisy = own("add", _query(own, place), noise)
        own("decide", own("less_equal", threshold, noisy), outcome=outcome)
    return own.show(own.constant(float(len(outcomes))))


def _stop_at_first(count: int, **given: object) -> Bound:
    ways = [(False,) * n + (True,) for n in range(count)] + [(False,) * count]
    paths = tuple(Path(_above_threshold(one, **given), one) for one in ways)  # type: ignore[arg-type]
    records = given.get("records", 5)
    change = "replace" if records else "add-remove"
    return bound_trace(FunctionTrace(_universe(change, records), paths))  # type: ignore[arg-type]


def test_above_threshold_costs_what_the_theorem_says() -> None:
    assert _stop_at_first(5).epsilon() == pytest.approx(1 / B1 + 2 / B2, rel=1e-12)


def test_counts_of_added_records_cost_half_for_those_above() -> None:
    assert _stop_at_first(5, records=None).epsilon() == pytest.approx(1 / B1 + 1 / B2, rel=1e-12)


@pytest.mark.parametrize("above", [1, 2, 3])
def test_each_answer_above_is_paid(above: int) -> None:
    outcomes = (*(False,) * 6, *(True,) * above)
    cost = cost_of_path(_above_threshold(outcomes), _universe())
    assert cost.epsilon == pytest.approx(1 / B1 + above * 2 / B2, rel=1e-12)


def test_noise_that_all_queries_share_is_refused_or_dear() -> None:
    program = _above_threshold((*(False,) * 6, True), fresh=False)
    try:
        found = cost_of_path(program, _universe()).epsilon
    except NotProved:
        return
    assert found >= 1 / B1 + 1 / B2


def test_queries_without_noise_are_refused() -> None:
    own = Sketch(5, COLUMNS)
    threshold = own("add", own.constant(2.0), own.scaled("laplace", B1))
    for place, outcome in enumerate((False, True)):
        own("decide", own("less", threshold, _query(own, place)), outcome=outcome)
    with pytest.raises(NotProved):
        cost_of_path(own.show(own.constant(0.0)), _universe())


def _write(own: Sketch, threshold: int, *, below: int = 6) -> int:
    """Write a path that ends at the first query above, and return its noisy answer."""
    for place in range(below + 1):
        noisy = own("add", _query(own, place), own.scaled("laplace", B2))
        own("decide", own("less_equal", threshold, noisy), outcome=place == below)
    return noisy


def _threshold(own: Sketch) -> int:
    return own("add", own.constant(2.0), own.scaled("laplace", B1))


def test_a_noisy_answer_that_is_shown_makes_all_of_them_be_paid() -> None:
    own = Sketch(5, COLUMNS)
    noisy = _write(own, _threshold(own))
    assert cost_of_path(own.show(noisy), _universe()).epsilon == pytest.approx(7 / B2)


def test_a_fresh_answer_is_paid_beside() -> None:
    own = Sketch(5, COLUMNS)
    _write(own, _threshold(own))
    answer = own("add", _query(own, 1), own.scaled("laplace", 8.0))
    cost = cost_of_path(own.show(answer), _universe())
    assert cost.epsilon == pytest.approx(1 / B1 + 2 / B2 + 1 / 8, rel=1e-12)


def test_a_gap_is_free() -> None:
    own = Sketch(5, COLUMNS)
    threshold = _threshold(own)
    for place in range(7):
        noisy = own("add", _query(own, place), own.scaled("laplace", B2))
        gap = own("subtract", noisy, threshold)
        own("decide", own("less_equal", own.constant(0.0), gap), outcome=place == 6)
    cost = cost_of_path(own.show(gap), _universe())
    assert cost.epsilon == pytest.approx(1 / B1 + 2 / B2, rel=1e-12)


def test_thresholds_that_are_drawn_afresh_are_paid_each() -> None:
    own = Sketch(5, COLUMNS)
    for _ in range(3):
        _write(own, _threshold(own))
    cost = cost_of_path(own.show(own.constant(0.0)), _universe())
    assert cost.epsilon == pytest.approx(3 * (1 / B1 + 2 / B2), rel=1e-12)


def test_a_threshold_whose_noise_is_shown_makes_all_of_them_be_paid() -> None:
    own = Sketch(5, COLUMNS)
    threshold = _threshold(own)
    _write(own, threshold)
    cost = cost_of_path(own.show(threshold), _universe())
    assert cost.epsilon == pytest.approx(7 / B2)


def test_noise_of_a_centre_that_hides_something_too_is_refused() -> None:
    own = Sketch(5, COLUMNS)
    threshold = own("add", _query(own, 0), own.scaled("laplace", B1))
    many = [own.draw() for _ in range(5)]
    total = many[0]
    for one in many[1:]:
        total = own("add", total, one)
    for outcome in (False, True):
        noisy = own("add", total, own.scaled("laplace", B2))
        own("decide", own("less_equal", threshold, noisy), outcome=outcome)
    hides = own("add", _query(own, 1), many[0])
    with pytest.raises(NotProved):
        cost_of_path(own.show(hides), _universe())


# Against integrals: the probability of outcomes, for centres of neighbours at their worst.

_W = np.linspace(-60, 60, 12_001)


Array = NDArray[np.float64]


def _probability(
    centres: Array, outcomes: tuple[bool, ...], tail: Callable[[Array], Array]
) -> float:
    """Return the probability that queries with noise are above 0 + w where outcomes say."""
    density = np.exp(-np.abs(_W) / B1) / (2 * B1)
    for centre, outcome in zip(centres, outcomes, strict=True):
        above = tail(_W - centre)
        density = density * (above if outcome else 1 - above)
    return float(np.trapezoid(density, _W))


def _laplace_tail(t: Array) -> Array:
    half = np.exp(-np.abs(t) / B2) / 2
    return np.where(t > 0, half, 1 - half)


@pytest.mark.parametrize("outcomes", list(itertools.product([False, True], repeat=3)))
def test_no_pair_of_centres_is_worse_than_a_path_s_bound(outcomes: tuple[bool, ...]) -> None:
    bound = cost_of_path(_above_threshold(outcomes), _universe()).epsilon
    rng = np.random.default_rng(3)
    worst = 0.0
    for moves in itertools.product([-1.0, 0.0, 1.0], repeat=3):
        for level in (-9.0, 0.0, 4.0):
            centres = level + rng.choice([0.0, 3.0, -3.0], size=3)
            one = _probability(centres, outcomes, _laplace_tail)
            other = _probability(centres + moves, outcomes, _laplace_tail)
            worst = max(worst, abs(math.log(one / other)))
    assert 0.2 * bound < worst <= bound * (1 + 1e-4)


def test_the_bound_is_attained_where_one_query_moves_up_and_others_down() -> None:
    outcomes = (*(False,) * 12, True)
    bound = cost_of_path(_above_threshold(outcomes), _universe()).epsilon
    centres = np.array([*(6.0,) * 12, -30.0])
    moves = np.array([*(1.0,) * 12, -1.0])
    one = _probability(centres, outcomes, _laplace_tail)
    other = _probability(centres + moves, outcomes, _laplace_tail)
    assert math.log(one / other) > 0.85 * bound


# Comparisons drawn at random: signs, outcomes, and laws of several tails.

_LAWS: dict[str, Callable[[Array], Array]] = {
    "laplace": lambda t: np.where(t > 0, np.exp(-np.abs(t)) / 2, 1 - np.exp(-np.abs(t)) / 2),
    "logistic": lambda t: 0.5 - np.tanh(t / 2) / 2,
    "gumbel": lambda t: -np.expm1(-np.exp(-np.maximum(t, -500.0))),
    "exponential": lambda t: np.exp(-np.maximum(t, 0.0)),
}


def _random_path(
    rng: np.random.Generator, count: int
) -> tuple[PathProgram, Callable[[Array], float]]:
    """Write a path of comparisons, and return the probability of its outcomes by centres."""
    own = Sketch(5, COLUMNS)
    noise, signs = own.scaled("laplace", B1), rng.choice([-1, 1], size=count)
    if rng.random() < 0.5:
        signs[:] = signs[0]
    outcomes, turned = rng.random(count) < 0.5, rng.random(count) < 0.3
    laws = rng.choice(list(_LAWS), size=count, p=[0.55, 0.15, 0.15, 0.15])
    for n in range(count):
        fresh = own.scaled(str(laws[n]), B2)
        value = own("subtract" if turned[n] else "add", _query(own, n), fresh)
        whole = own("add" if signs[n] > 0 else "subtract", value, noise)
        above = own("less", own.constant(2.0), whole)
        own("decide", above, outcome=bool(outcomes[n]))

    def probability(centres: Array) -> float:
        density = np.exp(-np.abs(_W) / B1) / (2 * B1)
        for n, centre in enumerate(centres):
            edge = (2.0 - centre - signs[n] * _W) / B2
            tail = _LAWS[str(laws[n])]
            above = 1 - tail(-edge) if turned[n] else tail(edge)
            density = density * (above if outcomes[n] else 1 - above)
        return float(np.trapezoid(density, _W))

    return own.show(own.constant(0.0)), probability


def _count_bounded(seeds: range) -> int:
    bounded = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        program, probability = _random_path(rng, int(rng.integers(2, 5)))
        try:
            bound = cost_of_path(program, _universe()).epsilon
        except NotProved:
            continue
        bounded += 1
        count = sum(one.operation == "decide" for one in program.nodes)
        for _ in range(12):
            centres = rng.choice([-9.0, -3.0, 0.0, 2.0, 5.0, 12.0], size=count)
            moved = centres + rng.choice([-1.0, 1.0], size=count)
            one, other = probability(centres), probability(moved)
            if min(one, other) > 1e-9:
                assert abs(math.log(one / other)) <= bound * (1 + 1e-3), seed
    return bounded


def test_no_random_comparisons_are_worse_than_their_bound() -> None:
    assert _count_bounded(range(8)) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 6000, 500))
def test_no_comparisons_of_many_are_worse_than_their_bound(first: int) -> None:
    assert _count_bounded(range(first, first + 500)) >= 100
