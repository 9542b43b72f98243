"""The tools of the attack: what they compute, by themselves and beside one another."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from dpaudit.proving.distances.facts import Facts
from dpaudit.proving.program import EVALUATORS, OtherPath, PathProgram, evaluate_program
from dpaudit.proving.universe import Distance, Part, Universe

from .attack.choices import Stream
from .attack.exact import Undecided, evaluate_exact, is_above, to_ball, to_double, to_entries
from .attack.grammar import grow, programs
from .attack.pairs import Neighbours, constants_of
from .attack.search import Attack, Effort
from .attack.stacked import evaluate_stacked
from .attack.universes import make_universe

SEEDS = range(40)


def make_case(seed):
    choices = Stream(seed)
    universe = make_universe(choices)
    return universe, grow(choices, universe)


def make_pairs(universe, program, seed, many=6):
    rng = np.random.default_rng(seed)
    records = universe.records if universe.records is not None else int(rng.integers(1, 6))
    pairs = Neighbours(universe, constants_of(program), rng).make(many, records)
    return pairs, [
        rng.random((many, *(one for one in node.shape if one is not None)))
        for node in program.nodes
        if node.operation == "draw"
    ]


def typed(program, data):
    kinds = {n.parameters["part"]: n.dtype for n in program.nodes if n.operation == "data"}
    return {name: part.astype(kinds[name]) for name, part in data.items()}


@pytest.fixture(autouse=True)
def _without_warnings():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def evaluations(seed):
    """Yield each node with its value on six datasets, stacked and one by one."""
    universe, program = make_case(seed)
    pairs, draws = make_pairs(universe, program, seed)
    data = typed(program, pairs.other)
    try:
        stacked, _ = evaluate_stacked(program, data, draws)
    except ValueError:
        return
    for place in range(len(pairs)):
        one = {name: part[place] for name, part in data.items()}
        coins = [draw[place] for draw in draws]
        try:
            values = evaluate_program(program, one, coins)
        except OtherPath:  # a value does not lie where the program has it
            continue
        for node, value, whole in zip(program.nodes, values, stacked, strict=True):
            yield program, node, one, coins, np.asarray(value), whole[place % len(whole)]


def test_many_datasets_at_once_give_what_each_gives():
    for seed in SEEDS:
        for _, node, _, _, value, stacked in evaluations(seed):
            assert value.shape == stacked.shape, (seed, node)
            assert np.allclose(stacked, value, rtol=1e-9, atol=1e-12, equal_nan=True), (seed, node)


def test_the_exact_judge_agrees_with_doubles():
    compared = 0
    for seed in range(14):
        for program, node, one, coins, value, _ in list(evaluations(seed))[:60]:
            if value.dtype.kind not in "fi" or value.dtype.itemsize < 8 or "bool" in node.dtype:
                continue
            try:
                entries = evaluate_exact(program, node.index, one, coins)[node.index]
            except Undecided:
                continue
            found = np.array(list(map(to_double, entries.ravel()))).reshape(entries.shape)
            assert np.allclose(found, value, rtol=1e-6, atol=1e-6, equal_nan=True), (seed, node)
            compared += 1
    assert compared > 200


def test_every_operation_of_the_table_is_generated():
    found = {node.operation for seed in range(900) for node in make_case(seed)[1].nodes}
    followed = set(EVALUATORS) - {"call"}  # of public noise alone
    assert found == followed | {"data", "size", "constant", "draw"}


def test_pairs_are_neighbours():
    relations = set()
    for seed in range(60):
        universe, program = make_case(seed)
        first, _ = make_pairs(universe, program, seed)
        rng = np.random.default_rng(seed)
        after = Neighbours(universe, constants_of(program), rng).beside(first, [0, 1], 6)
        for pairs in (first, after):
            assert_neighbours(universe, pairs)
        relations.add(universe.relation)
    assert len(relations) == 4


def assert_neighbours(universe, pairs):
    for part in universe.parts:
        for value in (pairs.one[part.name], pairs.other[part.name]):
            assert (value >= part.low).all()
            assert (value <= part.high).all()
            assert not part.is_integer or (value == np.rint(value)).all()
            if np.isfinite(part.norm):
                assert (np.sqrt((value**2).sum(axis=-1)) <= part.norm).all()
    assert (pairs.differs.sum(axis=1) <= universe.count).all()
    if universe.change == "replace":
        assert_replaced(universe, pairs)
        return
    for name, part in pairs.other.items():
        kept = part[~pairs.differs]
        assert np.array_equal(kept.ravel(), pairs.one[name].ravel())


def assert_replaced(universe, pairs):
    cells = np.zeros(len(pairs))
    for part in universe.parts:
        moved = pairs.one[part.name] != pairs.other[part.name]
        assert part.is_changed or not moved.any()
        rows = moved.reshape(*moved.shape[:2], int(np.prod(moved.shape[2:])))
        assert (rows.any(axis=2) <= pairs.differs).all()
        cells += rows.sum(axis=(1, 2))
    assert not universe.of_cells or (cells <= 1).all()


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(programs())
def test_programs_of_hypothesis_run(case):
    universe, program = case
    pairs, draws = make_pairs(universe, program, 0)
    try:
        values, stays = evaluate_stacked(program, typed(program, pairs.one), draws)
    except ValueError:
        return
    assert len(values) == len(program.nodes)
    assert stays.all()


def test_entries_are_compared_exactly():
    third = to_entries([0.1])[0]
    assert third == Fraction(0.1)
    assert not is_above(third, third)
    assert is_above(to_ball(third).exp(), Fraction(1))
    assert to_double(third) == 0.1


# --- the judge, beside provers of which the truth is known


class Stated:
    """A prover that says of every node what it is told, and of data what they are."""

    def __init__(self, facts, distance):
        self.stated, self.stated_distance = facts, distance

    def facts(self, index):
        return self.stated

    def distance(self, index):
        return self.stated_distance


def a_sum(records=3, operation="sum"):
    program = PathProgram()
    x = program.add("data", shape=(records,), part="")
    program.add(operation, [x], shape=(), axis=None)
    universe = Universe((Part("", (records,), np.zeros(()), np.ones(())),), records, "replace")
    return program, universe


def attack_stated(program, universe, facts, distance):
    attack = Attack(program, universe, lambda *_: Stated(facts, distance), 0)
    attack.nodes = attack.nodes[1:]
    return attack.run(Effort(rounds=6))


def facts_of(low, high, change, **others):
    ends = (np.asarray(float(one)) for one in (low, high, change))
    moves = np.full((3, 1), float(change))
    return Facts(*ends, Distance(1, 1, 1), **({"moves": moves} | others))


def test_what_is_true_is_not_beaten_and_is_met():
    program, universe = a_sum()
    outcome = attack_stated(program, universe, facts_of(0, 3, 1), Distance(1, 1, 1))
    assert outcome.breaks == []
    assert outcome.tight == 1


@pytest.mark.parametrize("slip", [0.5, 1e-6])
@pytest.mark.parametrize("name", ["l1", "l2", "linf"])
def test_a_distance_that_is_too_small_is_beaten(name, slip):
    program, universe = a_sum()
    distance = Distance(**({"l1": 1, "l2": 1, "linf": 1} | {name: 1 - slip}))
    outcome = attack_stated(program, universe, facts_of(0, 3, 1), distance)
    assert [one.claim for one in outcome.breaks] == [name]
    assert name in str(outcome.breaks[0])


@pytest.mark.parametrize(
    ("claim", "facts"),
    [
        ("low", facts_of(0.5, 3, 1)),
        ("high", facts_of(0, 2.5, 1)),
        ("change", facts_of(0, 3, 0.5, moves=np.ones((3, 1)))),
        ("moves l1", facts_of(0, 3, 1, moves=np.full((3, 3), 0.25))),
        ("integer", facts_of(0, 3, 1, is_integer=True)),
    ],
)
def test_a_fact_that_is_false_is_beaten(claim, facts):
    program, universe = a_sum()
    outcome = attack_stated(program, universe, facts, Distance(1, 1, 1))
    assert claim in [one.claim for one in outcome.breaks]


def test_a_distance_for_one_record_is_beaten_by_two():
    program, universe = a_sum()
    two = Universe(universe.parts, 3, "replace", 2)
    outcome = attack_stated(
        program, two, facts_of(0, 3, 2, moves=np.ones((3, 1))), Distance(1, 1, 1)
    )
    assert {one.claim for one in outcome.breaks} == {"l1", "l2", "linf"}


def test_a_beaten_claim_within_rounding_is_left_to_fractions():
    program, universe = a_sum(records=1)
    part = Part("", (1,), np.asarray(0.1), np.asarray(0.3))
    universe = Universe((part,), 1, "replace")
    width = float(Fraction(0.3) - Fraction(0.1))  # of which 0.3 - 0.1 in doubles is another
    facts = facts_of(0.1, 0.3, 1)
    assert attack_stated(program, universe, facts, Distance(1, 1, width)).breaks == []
