"""Paths that part at a coin are one path of the same law, and nothing else is put together."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpaudit.proving.events.bound import bound_trace
from dpaudit.proving.events.coin_paths import join_coin_paths
from dpaudit.proving.program import PathProgram, evaluate_program
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Part, Universe
from tests.proving.sketches import Sketch

TRUTH = 3  # of four


def _answers(
    decisions: tuple[bool, ...], *, shared: bool = False, biased: bool = False
) -> PathProgram:
    """Write a path of ``[x if coin else other for x in records]``."""
    own, outputs, lie = Sketch(len(decisions)), [], None
    for place, outcome in enumerate(decisions):
        if not shared or place == 0:
            coin = own("less", own.draw("integers", low=0, high=4), own.constant(TRUTH))
        own("decide", coin, outcome=outcome)
        if outcome:
            outputs.append(own.take(own.records, place))
        else:
            lie = own.draw("integers", low=0, high=3 if biased and place else 2)
            outputs.append(lie)
    return own.show(*outputs)


def _paths(count: int, **given: bool) -> tuple[Path, ...]:
    ways = itertools.product([True, False], repeat=count)
    return tuple(Path(_answers(one, **given), one) for one in ways)


def _law(program: PathProgram, data: NDArray[np.float64]) -> dict[tuple[float, ...], Fraction]:
    """Return the law of the outputs, over all values of draws."""
    laws = {
        n.parameters["number"]: range(n.parameters["low"], n.parameters["high"])
        for n in program.nodes
        if n.operation == "draw"
    }
    found: dict[tuple[float, ...], Fraction] = defaultdict(Fraction)
    for way in itertools.product(*(laws[k] for k in sorted(laws))):
        draws: list[int | None] = [None] * (1 + max(laws))
        for number, value in zip(sorted(laws), way, strict=True):
            draws[number] = value
        values = evaluate_program(program, {"": data}, draws)
        outputs = tuple(float(values[k]) for k in program.outputs)
        found[outputs] += Fraction(1, math.prod(map(len, laws.values())))
    return found


@pytest.mark.parametrize("data", [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
def test_joined_paths_have_the_law_of_all(data: list[float]) -> None:
    (path,) = join_coin_paths(_paths(2))
    found = _law(path.program, np.array(data))
    told = {x: {x: Fraction(7, 8), 1 - x: Fraction(1, 8)} for x in (0.0, 1.0)}
    assert found == {
        (a, b): told[data[0]][a] * told[data[1]][b] for a in (0.0, 1.0) for b in (0.0, 1.0)
    }


def _bound(paths: tuple[Path, ...], count: int) -> float:
    part = Part("", (count,), np.array(0.0), np.array(1.0), is_integer=True)
    return bound_trace(FunctionTrace(Universe((part,), count, "replace"), paths)).epsilon()


def test_truths_that_coins_of_python_tell_cost_what_a_record_s_does() -> None:
    assert _bound(_paths(3), 3) == pytest.approx(math.log(7), rel=1e-9)


def test_one_coin_for_all_records_is_not_proved() -> None:
    with pytest.raises(NotProved):
        _bound(_paths(2, shared=True), 2)


def test_sides_of_other_laws_are_not_put_together_as_if_they_were_alike() -> None:
    paths = list(_paths(2))
    changed: dict[tuple[bool, ...], PathProgram] = {
        (True, False): _answers((True, False), biased=True)
    }
    paths = [Path(changed.get(one.decisions, one.program), one.decisions) for one in paths]
    joined = join_coin_paths(paths)
    for path in joined:
        assert len(joined) == 4 or _law(path.program, np.zeros(2))[0.0, 2.0] > 0
    with pytest.raises(NotProved):
        _bound(tuple(paths), 2)


def test_paths_that_a_release_decides_stay_apart() -> None:
    paths = []
    for outcome in (True, False):
        own = Sketch()
        noisy = own("add", own.total(), own.draw())
        own("decide", own("less", noisy, own.constant(1.0)), outcome=outcome)
        paths.append(Path(own.show(own.constant(float(outcome))), (outcome,)))
    assert join_coin_paths(paths) == tuple(paths)


def test_paths_of_other_outputs_stay_apart() -> None:
    paths = _paths(1)
    assert join_coin_paths(paths, ([0], [0, 1])) == paths
