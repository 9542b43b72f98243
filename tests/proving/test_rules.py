"""Rules of facts: never below what neighbours do, and exact where a theorem is tight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dpaudit.proving.distances import settling, standing
from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.distances.facts import Facts, of_public
from dpaudit.proving.distances.rules import (
    RULES,
    clipping,
    counts,
    entrywise,
    matrices,
    products,
    structure,
)
from dpaudit.proving.program import PathProgram, evaluate_program
from dpaudit.proving.universe import Distance, Part, Universe
from tests.proving.rule_programs import (
    Grown,
    add,
    compute,
    constant,
    draw_dataset,
    draw_neighbours,
    grow,
    length_of,
    make_universe,
    search,
)

FAST, SLOW = 15, 4_000


def write(grown: Grown, operation: str, *operands: int, **given: Any) -> int:
    """Append an operation that numpy knows."""
    index = compute(grown, operation, list(operands), **given)
    assert index is not None
    return index


def start(
    low: float = 0.0,
    high: float = 1.0,
    inner: tuple[int, ...] = (),
    *,
    records: int | None = 5,
    seed: int = 0,
    with_labels: bool = False,
    **given: Any,
) -> Grown:
    """Return a program of a part ``X`` of so many records, and of labels if asked for."""
    options = {key: given.pop(key) for key in ("is_integer", "norm") if key in given}
    parts = [Part("X", (records, *inner), np.full(inner, low), np.full(inner, high), **options)]
    if with_labels:
        parts.append(Part("y", (records,), np.asarray(-1.0), np.asarray(1.0)))
    change = "replace" if records is not None else "add-remove"
    universe = Universe(tuple(parts), records, change, **given)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    sample = draw_dataset(rng, universe, 11 if records is None else records)
    grown = Grown(universe, PathProgram(), [])
    for part in parts:
        add(grown, "data", [], sample[part.name], part=part.name)
    return grown


@dataclass(frozen=True)
class Case:
    """A program, how far it moves, and whether corners attain that."""

    name: str
    build: Callable[[], tuple[Grown, int]]
    l1: float
    l2: float
    linf: float
    is_attained: bool = True


CASES: list[Case] = []


def case(
    l1: float, l2: float | None = None, linf: float | None = None, *, is_attained: bool = True
):
    """Return what registers a program under its name."""

    def register(build: Callable[[], tuple[Grown, int]]) -> Callable[[], tuple[Grown, int]]:
        second = l1 if l2 is None else l2
        largest = second if linf is None else linf
        CASES.append(Case(build.__name__, build, l1, second, largest, is_attained))
        return build

    return register


ROOT = math.sqrt(2)


@case(5)
def weighted_sum():
    g = start()
    product = write(g, "multiply", 0, constant(g, np.arange(1.0, 6.0)))
    return g, write(g, "sum", product, axis=None)


@case(0.2)
def mean():
    g = start()
    return g, write(g, "mean", 0, axis=None)


@case(0.4)
def mean_of_a_user_with_two():
    g = start(count=2)
    return g, write(g, "mean", 0, axis=None)


def _differences(g: Grown) -> int:
    return write(
        g, "subtract", *(write(g, "take", 0, key=[at]) for at in ([1, 2, 3, 4], [0, 1, 2, 3]))
    )


@case(2, ROOT, 1)
def differences():
    g = start()
    return g, _differences(g)


@case(2)
def total_variation():
    g = start()
    return g, write(g, "sum", write(g, "absolute", _differences(g)), axis=None)


@case(2, ROOT, 1)
def histogram():
    g = start()
    return g, write(g, "bin_counts", 0, edges=[0.0, 0.5, 1.0])


@case(4, 2 * ROOT, 2)
def histogram_of_a_user_with_two():
    g = start(count=2)
    return g, write(g, "bin_counts", 0, edges=[0.0, 0.5, 1.0])


@case(1, 1, 1)
def histogram_of_more_records():
    g = start(records=None)
    return g, write(g, "bin_counts", 0, edges=[0.0, 0.5, 1.0])


@case(6, 3 * ROOT, 3)
def histogram_of_rows():
    g = start(inner=(3,))
    return g, write(g, "bin_counts", 0, edges=[0.0, 0.5, 1.0])


@case(3)
def sum_of_more_records():
    g = start(-2, 3, records=None)
    return g, write(g, "sum", 0, axis=None)


@case(5)
def sum_of_replaced_records():
    g = start(-2, 3)
    return g, write(g, "sum", 0, axis=None)


@case(2)
def number_of_records():
    g = start(records=None, count=2)
    return g, add(g, "size", [], np.asarray(11), dtype="int64")


def _clipped_sum(g: Grown, form: int, bound: float = 1.0) -> int:
    length = length_of(g, 0, list(range(1, g.values[0].ndim)), 2)
    assert length is not None
    cap, one = constant(g, bound), constant(g, 1.0)
    if form == 0:
        factor = write(g, "minimum", one, write(g, "divide", cap, length))
        clipped = write(g, "multiply", 0, factor)
    elif form == 1:
        divisor = write(g, "maximum", one, write(g, "divide", length, cap))
        clipped = write(g, "divide", 0, divisor)
    elif form == 2:
        quotient = write(g, "divide", cap, write(g, "maximum", length, cap))
        clipped = write(g, "multiply", 0, quotient)
    else:
        is_long = write(g, "less", cap, length)
        factor = write(g, "where", is_long, write(g, "divide", cap, length), one)
        clipped = write(g, "multiply", factor, 0)
    return write(g, "sum", clipped, axis=0)


@pytest.mark.parametrize("form", range(4))
def test_every_way_to_write_a_clip_has_the_same_distance(form):
    replaced, added = start(-10, 10, (3,)), start(-10, 10, (3,), records=None)
    far, near = _clipped_sum(replaced, form, 2.0), _clipped_sum(added, form, 2.0)
    assert Analysis(replaced.program, replaced.universe).facts(far).distance.l2 == pytest.approx(4)
    assert Analysis(added.program, added.universe).facts(near).distance.l2 == pytest.approx(2)


@case(2 * math.sqrt(3), 2, 2, is_attained=False)
def clipped_sum():
    g = start(-10, 10, (3,))
    return g, _clipped_sum(g, 0)


@case(math.sqrt(3), 1, 1, is_attained=False)
def clipped_sum_of_more_records():
    g = start(-10, 10, (3,), records=None)
    return g, _clipped_sum(g, 0)


@case(math.sqrt(6), ROOT, 1, is_attained=False)
def clipped_sum_of_positive_rows():
    g = start(0, 10, (3,))
    return g, _clipped_sum(g, 1)


def _gram(g: Grown) -> int:
    return write(g, "matmul", write(g, "transpose", 0, axes=[1, 0]), 0)


@case(3 * ROOT, ROOT, 1, is_attained=False)
def gram_of_bounded_rows():
    g = start(-1, 1, (3,), norm=1.0)
    return g, _gram(g)


@case(3, 1, 1, is_attained=False)
def gram_of_more_bounded_rows():
    g = start(-1, 1, (3,), norm=1.0, records=None)
    return g, _gram(g)


@case(6, 2 * math.sqrt(3), 2)
def moments_with_labels():
    g = start(-1, 1, (3,), with_labels=True)
    return g, write(g, "matmul", write(g, "transpose", 0, axes=[1, 0]), 1)


@case(1)
def sum_of_cells():
    g = start(inner=(3,), of_cells=True)
    return g, write(g, "sum", 0, axis=0)


@case(math.log(2))
def logarithm_of_a_sum_of_squares():
    g = start()
    return g, write(g, "log1p", write(g, "sum", write(g, "multiply", 0, 0), axis=None))


@case(1 - math.exp(-1))
def exponential_of_a_sum():
    g = start()
    return g, write(g, "exp", write(g, "negative", write(g, "sum", 0, axis=None)))


@case(1)
def root_of_a_sum():
    g = start()
    return g, write(g, "sqrt", write(g, "sum", 0, axis=None))


@case(1, 1, 1)
def sorted_values():
    g = start()
    return g, write(g, "sort", 0, axis=0)


@case(5, math.sqrt(5), 1)
def running_sums():
    g = start()
    return g, write(g, "cumsum", 0, axis=0)


@case(5)
def product_with_the_first():
    g = start()
    return g, write(g, "sum", write(g, "multiply", 0, write(g, "take", 0, key=[[0]])), axis=None)


@case(1)
def median():
    g = start()
    return g, write(g, "median", 0, axis=None)


@case(5)
def highest_quantile_of_wide_data():
    g = start(-2, 3)
    return g, write(g, "quantile", 0, axis=None, q=0.9, method="lower")


@case(1)
def largest_of_more_records():
    g = start(records=None)
    return g, write(g, "maximum", write(g, "max", 0, axis=None), constant(g, 0.0))


@case(2, ROOT, 1)
def one_hot_codes():
    g = start(0, 2, is_integer=True)
    column = add(g, "reshape", [0], g.values[0].reshape(5, 1))
    return g, write(g, "sum", write(g, "equal", column, constant(g, np.arange(3.0))), axis=0)


@case(1)
def unrolled_loop():
    g = start(-5, 5)
    total = constant(g, 0.0)
    for record in range(5):
        one = write(g, "take", 0, key=[[record]])
        one = add(g, "reshape", [one], g.values[one].reshape(()))
        one = write(g, "maximum", write(g, "minimum", one, constant(g, 1.0)), constant(g, 0.0))
        total = write(g, "add", total, one)
    return g, total


@case(1)
def sum_of_chosen():
    g = start()
    is_large = write(g, "less", constant(g, 0.5), 0)
    return g, write(g, "sum", write(g, "where", is_large, 0, constant(g, 0.0)), axis=None)


@case(4)
def sum_of_whole_parts():
    g = start()
    return g, write(
        g, "sum", write(g, "floor", write(g, "multiply", 0, constant(g, 4.0))), axis=None
    )


@case(2, ROOT, 1)
def two_moments():
    g = start()
    moments = [write(g, "sum", one, axis=None) for one in (0, write(g, "multiply", 0, 0))]
    rows = [add(g, "reshape", [one], g.values[one].reshape(1)) for one in moments]
    return g, write(g, "concatenate", *rows, axis=0)


@case(2, ROOT, 1)
def repeated_entries():
    g = start()
    return g, write(g, "take", 0, key=[[0, 0, 1]])


@case(1)
def entries_written_one_by_one():
    g = start()
    array = constant(g, np.zeros(5))
    for record in range(5):
        array = write(g, "assign", array, write(g, "take", 0, key=[[record]]), key=[[4 - record]])
    return g, array


@case(3, math.sqrt(3), 1)
def repeated_rows():
    g = start()
    return g, add(g, "broadcast", [0], np.broadcast_to(g.values[0], (3, 5)))


@case(1)
def public_projection():
    g = start()
    weights = constant(g, [[1.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 1.0, 1.0, 1.0]])
    return g, write(g, "matmul", weights, 0)


@case(2 / 3)
def quotient_by_a_bounded_number():
    g = start(1, 3)
    one = write(g, "take", 0, key=[[0]])
    return g, write(g, "divide", constant(g, 1.0), one)


def _softmax(g: Grown) -> int:
    powers = write(g, "exp", 0)
    total = write(g, "sum", powers, axis=1)
    column = add(g, "reshape", [total], g.values[total].reshape(-1, 1))
    return write(g, "divide", powers, column)


@case(2, ROOT, 1, is_attained=False)
def sum_of_shares():
    g = start(-50, 50, (3,))
    return g, write(g, "sum", _softmax(g), axis=0)


@case(4, 2 * ROOT, 2, is_attained=False)
def shares_less_codes():
    g = start(-50, 50, (3,))
    column = write(g, "take", 0, key=[None, [0]])
    code = write(g, "equal", column, constant(g, np.arange(3.0)))
    residual = write(g, "subtract", _softmax(g), code)
    return g, write(g, "sum", residual, axis=0)


@case(2 * math.sqrt(3), 2, 2, is_attained=False)
def sum_of_directions():
    g = start(-10, 10, (3,))
    length = length_of(g, 0, [1], 2)
    assert length is not None
    zero = constant(g, 0.0)
    quotient = write(g, "divide", 0, length)
    guarded = write(g, "where", write(g, "less", zero, length), quotient, zero)
    return g, write(g, "sum", guarded, axis=0)


@case(2, 2, 2)
def sums_of_chosen_columns():
    g = start(0, 2, is_integer=True, with_labels=True)
    column = add(g, "reshape", [0], g.values[0].reshape(5, 1))
    weight = add(g, "reshape", [1], g.values[1].reshape(5, 1))
    code = write(g, "equal", column, constant(g, np.arange(3.0)))
    return g, write(g, "sum", write(g, "where", code, weight, constant(g, 0.0)), axis=0)


@case(3 * ROOT, ROOT, 1, is_attained=False)
def weighted_gram():
    g = start(-1, 1, (3,), norm=1.0)
    weight = write(g, "absolute", write(g, "take", 0, key=[None, [1]]))
    turned = write(g, "transpose", 0, axes=[1, 0])
    return g, write(g, "matmul", turned, write(g, "multiply", 0, weight))


@case(2, ROOT, 1)
def a_column_written_for_any_number_of_records():
    g = start(inner=(3,), records=None)
    written = write(g, "assign", 0, constant(g, 0.0), key=[None, [0]])
    return g, write(g, "sum", written, axis=0)


@pytest.mark.parametrize("known", CASES, ids=lambda known: known.name)
def test_distance_of_a_rule(known):
    grown, index = known.build()
    found = Analysis(grown.program, grown.universe).facts(index).distance
    assert found.l1 == pytest.approx(known.l1, rel=1e-9)
    assert found.l2 == pytest.approx(known.l2, rel=1e-9)
    assert found.linf == pytest.approx(known.linf, rel=1e-9)
    farthest = _farthest(grown, index)
    assert (farthest <= np.array([found.l1, found.l2, found.linf]) * (1 + 1e-9)).all()
    if known.is_attained:
        assert farthest[0] == pytest.approx(known.l1, rel=1e-9)


def _farthest(grown: Grown, index: int) -> Any:
    """Return how far random corners move a value."""
    rng, farthest = np.random.default_rng(1), np.zeros(3)
    program = PathProgram(grown.program.nodes[: index + 1])
    pairs = [draw_neighbours(rng, grown.universe)[:2] for _ in range(300)]
    for data, other in pairs + _ends_and_one_apart(grown.universe):
        if any(len(one) == 0 for one in (*data.values(), *other.values())):
            continue
        one, two = (evaluate_program(program, each, ())[index] for each in (data, other))
        apart = np.abs(np.asarray(one, dtype=float) - two)
        lengths = [apart.sum(), math.sqrt(np.square(apart).sum()), apart.max(initial=0)]
        farthest = np.maximum(farthest, lengths)
    return farthest


def _ends_and_one_apart(universe: Universe) -> list[tuple[Any, Any]]:
    """Return datasets at an end, and those with the first record at the other one."""
    part = universe.parts[0]
    if universe.records is None or math.isfinite(part.norm) or len(universe.parts) > 1:
        return []
    pairs = []
    for at, away in ((part.low, part.high), (part.high, part.low)):
        data = np.repeat(at[None], universe.records, axis=0)
        other = data.copy()
        other.reshape(universe.records, -1)[0, 0] = away.flat[0]
        pairs.append(({part.name: data}, {part.name: other}))
    return pairs


# --- against random programs -------------------------------------------------------------------


def test_rules_hold_for_random_programs():
    assert [found for seed in range(FAST) if (found := search(seed))] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_rules_hold_for_many_random_programs(block):
    size = SLOW // 10
    seeds = range(FAST + block * size, FAST + (block + 1) * size)
    assert [found for seed in seeds if (found := search(seed))] == []


def test_random_programs_meet_every_operation():
    met: dict[str, int] = {}
    for seed in range(90):
        rng = np.random.default_rng(seed)
        universe = make_universe(rng)
        grown = grow(rng, universe, 15)
        analysis = Analysis(grown.program, universe)
        for node in grown.program.nodes:
            if analysis.facts(node.index).refusal is None:
                met[node.operation] = met.get(node.operation, 0) + 1
    assert set(RULES) - set(met) == {"draw", "decide", "within"}


# --- wrong rules are caught --------------------------------------------------------------------


def _halve(facts: Facts) -> Facts:
    distance = Distance(*(getattr(facts.distance, one) / 2 for one in ("l1", "l2", "linf")))
    return replace(facts, distance=distance, moves=facts.moves / 2, change=facts.change / 2)


def _without_cross_term(knowledge: Any, node: Any, slopes: Any, *ends: Any, **given: Any) -> Facts:
    return entrywise.combine_entrywise_facts(
        knowledge, node, [slopes[0], 0.0][: len(slopes)], *ends, **given
    )


def _divide_by_anything(knowledge: Any, node: Any) -> Facts:
    found = products.bound_divide(knowledge, node)
    return found if found.refusal is None else of_public(np.zeros(()), np.ones(()))


def _halve_bound(knowledge: Any, node: Any, steps: int) -> Any:
    found = SHRINK(knowledge, node, steps)
    return found if found is None else replace(found, bound=found.bound / 2)


def _forget_users(moves: Any, universe: Universe, **given: Any) -> Distance:
    return TOTAL(moves, replace(universe, count=1), **given)


SHRINK, TOTAL = clipping._shrink_quotient, settling.total

WRONG: dict[str, tuple[Any, str, Any]] = {
    "a sum that moves half as far": (RULES, "sum", lambda k, n: _halve(SUM(k, n))),
    "a second record of a row that is forgotten": (
        standing,
        "merge_row_records",
        lambda one, other: one,
    ),
    "the larger of two movements for their sum": (
        entrywise,
        "sum_moves",
        lambda moves: np.maximum.reduce(np.broadcast_arrays(*moves)),
    ),
    "a histogram that moves by one": (
        counts,
        "_moves_of_counts",
        lambda counts, bins, *, is_added: np.stack([counts] * 3),
    ),
    "repeated entries that count once": (entrywise, "_count_copies", lambda shape, target: 1.0),
    "a product without its second term": (products, "combine", _without_cross_term),
    "a clip to half its bound": (clipping, "_shrink_quotient", _halve_bound),
    "a division by what may be 0": (RULES, "divide", _divide_by_anything),
    "users of one record": (settling, "total", _forget_users),
    "running sums of one": (matrices.np, "tri", np.eye),
    "positions that are taken once": (structure, "_most_often", lambda at: 1.0),
    "parts that lie on each other": (
        structure,
        "_beside",
        lambda moves: np.maximum.reduce(np.broadcast_arrays(*moves)),
    ),
    "rows that are added of no size": (
        settling,
        "compute_magnitude",
        lambda facts: np.abs(facts.high - facts.low),
    ),
    "numbers without ends": (RULES, "absolute", lambda k, n: k.facts(n.operands[0])),
    "steps as smooth as their argument": (RULES, "floor", lambda k, n: k.facts(n.operands[0])),
}
SUM = RULES["sum"]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_random_programs_catch_a_wrong_rule(monkeypatch, wrong):
    place, name, rule = WRONG[wrong]
    if isinstance(place, dict):
        monkeypatch.setitem(place, name, rule)
    else:
        monkeypatch.setattr(place, name, rule)
    assert any(search(seed) for seed in range(1_500))
