"""Random programs: what is proved of their noise is never below what it is worth exactly.

Of programs that are linear in records and in normal draws, mu is exact: the least length of a
movement of the draws that makes the movement of a record. So noise that is used twice, an entry
that is taken from a wrong place, or a lost sign shows at once. Of programs with coins, epsilon is
the largest log-ratio over all datasets and all values of the coins.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.proving.events.bound import bound_trace
from dpaudit.proving.events.draft import size_of
from dpaudit.proving.events.kinds import ReleaseReader
from dpaudit.proving.program import PathProgram, Shape, evaluate_program
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Part, Universe
from tests.proving.sketches import Sketch

RECORDS = 3
SHAPES = ((), (1,), (2,), (3,), (2, 2), (3, 1))
Array = NDArray[np.float64]


class RandomSketch(Sketch):
    """A program that is drawn at random."""

    def __init__(self, rng: Generator) -> None:
        super().__init__(RECORDS)
        self.rng = rng

    def shape(self, index: int) -> tuple[int, ...]:
        return tuple(one or 0 for one in self.program.nodes[index].shape)

    def pick(self) -> int:
        """Return one of the last nodes, or any."""
        count = len(self.program.nodes)
        return int(self.rng.integers(max(0, count - 6) if self.rng.random() < 0.7 else 0, count))

    def numbers(self, shape: tuple[int, ...]) -> int:
        values = self.rng.choice([-2.0, -1.0, 0.5, 1.0, 1.0, 3.0], size=shape)
        return self.constant(values.tolist(), shape)

    def any_shape(self) -> tuple[int, ...]:
        return SHAPES[int(self.rng.integers(len(SHAPES)))]

    def add_fitting(self, operation: str, one: int, other: int) -> None:
        try:
            shape = np.broadcast_shapes(self.shape(one), self.shape(other))
        except ValueError:
            return
        self(operation, one, other, shape=shape)


def _sum_two(own: RandomSketch) -> None:
    own.add_fitting(str(own.rng.choice(["add", "add", "subtract"])), own.pick(), own.pick())


def _scale(own: RandomSketch) -> None:
    one = own.pick()
    shape = own.shape(one) if own.rng.random() < 0.5 else ()
    own.add_fitting(str(own.rng.choice(["multiply", "divide"])), one, own.numbers(shape))


def _turn(own: RandomSketch) -> None:
    one = own.pick()
    shape = own.shape(one)
    way = own.rng.integers(3)
    if way == 0:
        own("negative", one, shape=shape)
    elif way == 1:
        axes = own.rng.permutation(len(shape))
        own("transpose", one, shape=tuple(shape[a] for a in axes), axes=axes.tolist())
    else:
        own("reshape", one, shape=(math.prod(shape),) if own.rng.random() < 0.6 else (*shape, 1))


def _take(own: RandomSketch) -> None:
    one = own.pick()
    key = [own.rng.integers(0, n, size=own.rng.integers(1, 3)).tolist() for n in own.shape(one)]
    own("take", one, shape=tuple(map(len, key)), key=key)


def _put(own: RandomSketch) -> None:
    array, value = own.pick(), own.pick()
    shape = own.shape(array)
    if shape and math.prod(own.shape(value)) == 1 and len(own.shape(value)) <= len(shape):
        key = [[int(own.rng.integers(n))] for n in shape]
        own("assign", array, value, shape=shape, key=key)


def _join(own: RandomSketch) -> None:
    some = [own.pick() for _ in range(own.rng.integers(2, 4))]
    rows = [own("reshape", one, shape=(math.prod(own.shape(one)),)) for one in some]
    own("concatenate", *rows, shape=(sum(own.shape(one)[0] for one in rows),), axis=0)


def _spread(own: RandomSketch) -> None:
    one = own.pick()
    own("broadcast", one, shape=(2, *own.shape(one)))


def _total(own: RandomSketch) -> None:
    own("sum", own.pick(), axis=None)


def _normal(own: RandomSketch) -> None:
    own.draw("normal", own.any_shape())


def _hide(own: RandomSketch) -> None:
    """Add fresh noise, or noise that was drawn before, to a value."""
    one = own.pick()
    noise = own.draw("normal", own.shape(one)) if own.rng.random() < 0.8 else own.pick()
    if own.rng.random() < 0.3:
        noise = own("multiply", noise, own.numbers(()), shape=own.shape(noise))
    own.add_fitting("add" if own.rng.random() < 0.7 else "subtract", one, noise)


STEPS: tuple[Callable[[RandomSketch], None], ...] = (
    *(_hide,) * 6, *(_sum_two,) * 3, *(_normal,) * 2, *(_take,) * 2,
    _scale, _turn, _turn, _put, _join, _spread, _total,
)  # fmt: skip


def _linear_program(rng: Generator) -> PathProgram:
    own = RandomSketch(rng)
    for _ in range(int(rng.integers(3, 14))):
        STEPS[int(rng.integers(len(STEPS)))](own)
    nodes = [n.index for n in own.program.nodes if n.operation not in ("data", "draw", "constant")]
    if not nodes:
        nodes = [0]
    count = min(len(nodes), int(rng.integers(1, 3)))
    return own.show(*(int(one) for one in rng.choice(nodes[-4:], size=count)))


def _exact_mu(program: PathProgram) -> float:
    """Return the least length of noise that makes what a record moves, for the worst record."""
    draws = [n for n in program.nodes if n.operation == "draw"]
    sizes = [math.prod(one or 0 for one in n.shape) for n in draws]

    def outputs(x: Array, z: Array) -> Array:
        parts = np.split(z, np.cumsum(sizes)[:-1]) if sizes else []
        given = [p.reshape([k or 0 for k in n.shape]) for p, n in zip(parts, draws, strict=True)]
        values = evaluate_program(program, {"": x}, given)
        return np.concatenate([np.ravel(values[one]) for one in program.outputs])

    none, still = np.zeros(RECORDS), np.zeros(sum(sizes))
    base = outputs(none, still)
    moved = [outputs(one, still) - base for one in np.eye(RECORDS)]
    noise = np.array([outputs(none, one) - base for one in np.eye(sum(sizes))]).T
    return max(_least_length(noise, one) for one in moved)


def _least_length(noise: Array, movement: Array) -> float:
    if not np.any(movement):
        return 0.0
    if not noise.size:
        return math.inf
    found = np.linalg.lstsq(noise, movement, rcond=1e-9)[0]
    return float(np.linalg.norm(found)) if np.allclose(noise @ found, movement) else math.inf


def _trace(program: PathProgram, *, whole: bool = False) -> FunctionTrace:
    part = Part("", (RECORDS,), np.array(0.0), np.array(1.0), is_integer=whole)
    return FunctionTrace(Universe((part,), RECORDS, "replace"), (Path(program),))


def _count_proved(seeds: range) -> tuple[int, int]:
    """Return of how many programs mu was proved, and of how many that exactly."""
    proved = exact = 0
    for seed in seeds:
        program = _linear_program(np.random.default_rng(seed))
        try:
            found = bound_trace(_trace(program)).mu
        except NotProved:
            continue
        truth = _exact_mu(program)
        assert found >= truth * (1 - 1e-9), f"seed {seed}: {found} is below {truth}"
        proved += 0 < truth < math.inf
        exact += 0 < truth < math.inf and found <= truth * (1 + 1e-6)
    return proved, exact


def test_no_mu_is_below_the_exact_one() -> None:
    proved, exact = _count_proved(range(80))
    assert proved >= 10
    assert exact >= 8


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 21_000, 1000))
def test_no_mu_of_many_is_below_the_exact_one(first: int) -> None:
    proved, _ = _count_proved(range(first, first + 1000))
    assert proved >= 150


def test_a_reader_that_forgets_used_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReleaseReader, "use", lambda self, atoms, node: None)
    with pytest.raises(AssertionError, match="is below"):
        _count_proved(range(2000))


# Coins


class CoinSketch(RandomSketch):
    """A program of coins and bits."""

    def coin_shape(self) -> tuple[int, ...]:
        return (RECORDS,) if self.rng.random() < 0.8 else ()

    def is_truth(self, index: int) -> bool:
        """Return whether a value may be a truth value of numpy's."""
        node = self.program.nodes[index]
        truths = node.operation in ("logical_xor", "less", "equal")
        return truths or any(self.is_truth(one) for one in node.operands)

    def choose(self) -> None:
        some = [self.pick() for _ in range(3)]
        self("where", *some, shape=np.broadcast_shapes(*map(self.shape, some)))


def _coin_step(own: CoinSketch) -> None:
    way = own.rng.integers(9)
    if way == 0:
        own.draw("integers", own.coin_shape(), low=0, high=int(own.rng.integers(2, 4)))
    elif way == 1:
        own.draw("bernoulli", own.coin_shape(), p=float(own.rng.choice([0.25, 0.5])))
    elif way in (2, 3, 4):
        own.choose()
    else:
        names = ["logical_xor", "add", "subtract", "multiply", "less", "equal", "minimum"]
        name, some = str(own.rng.choice(names)), (own.pick(), own.pick())
        if name != "subtract" or not any(map(own.is_truth, some)):  # numpy subtracts no truths
            own.add_fitting(name, *some)


def _coin_program(rng: Generator) -> PathProgram:
    own = CoinSketch(rng)
    own.draw("integers", (RECORDS,), low=0, high=2)
    own.draw("bernoulli", (RECORDS,), p=0.25)
    for _ in range(int(rng.integers(2, 7))):
        _coin_step(own)
    count = int(rng.integers(1, 3))
    return own.show(*(int(one) for one in rng.integers(2, len(own.program.nodes), size=count)))


Given = Mapping[str, Any]
_VALUES: dict[str, Callable[[Given], range]] = {
    "integers": lambda given: range(given["low"], given["high"]),
    "bernoulli": lambda given: range(2),
}


def _law(program: PathProgram, data: tuple[int, ...]) -> dict[tuple[float, ...], Fraction]:
    """Return the law of what is shown, over all values of the draws that matter."""
    needed = {k for one in program.outputs for k in program.slice(one)}
    draws = [n for n in program.nodes if n.operation == "draw"]
    ways = [_ways(n.parameters, n.shape if n.index in needed else ()) for n in draws]
    found: dict[tuple[float, ...], Fraction] = defaultdict(Fraction)
    for way in itertools.product(*ways):
        values = evaluate_program(
            program, {"": np.array(data, dtype=float)}, [one for one, _ in way]
        )
        shown = np.concatenate([np.ravel(values[one]) for one in program.outputs])
        found[tuple(shown.tolist())] += math.prod((p for _, p in way), start=Fraction(1))
    return found


def _ways(given: Given, shape: Shape) -> list[tuple[Array, Fraction]]:
    values, size = _VALUES[given["law"]](given), size_of(shape)
    odds = [Fraction(1, len(values))] * len(values)
    if "p" in given:
        odds = [1 - Fraction(given["p"]), Fraction(given["p"])]
    return [
        (_numbers(one, shape), math.prod((p for _, p in one), start=Fraction(1)))
        for one in itertools.product(zip(values, odds, strict=True), repeat=size)
    ]


def _numbers(drawn: Sequence[tuple[int, Fraction]], shape: Shape) -> Array:
    return np.array([v for v, _ in drawn], dtype=float).reshape([one or 0 for one in shape])


def _exact_epsilon(program: PathProgram) -> float:
    laws = {data: _law(program, data) for data in itertools.product((0, 1), repeat=RECORDS)}
    worst = 0.0
    for one, other in itertools.permutations(laws, 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) != 1:
            continue
        for shown, p in laws[one].items():
            q = laws[other].get(shown, Fraction(0))
            worst = max(worst, math.log(p / q) if q else math.inf)
    return worst


def _is_small(program: PathProgram) -> bool:
    needed = {k for one in program.outputs for k in program.slice(one)}
    count = 1
    for n in program.nodes:
        if n.operation == "draw" and n.index in needed:
            values = len(_VALUES[n.parameters["law"]](n.parameters))
            count *= values ** size_of(n.shape)
    return count <= 1500


def _count_proved_coins(seeds: range) -> int:
    proved = 0
    for seed in seeds:
        program = _coin_program(np.random.default_rng(seed))
        try:
            found = bound_trace(_trace(program, whole=True)).epsilon()
        except NotProved:
            continue
        if found == 0 or not _is_small(program):
            continue
        truth = _exact_epsilon(program)
        assert found >= truth * (1 - 1e-9), f"seed {seed}: {found} is below {truth}"
        proved += truth > 0
    return proved


def test_no_epsilon_of_coins_is_below_the_exact_one() -> None:
    assert _count_proved_coins(range(40)) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 250))
def test_no_epsilon_of_many_coins_is_below_the_exact_one(first: int) -> None:
    assert _count_proved_coins(range(first, first + 250)) >= 3
