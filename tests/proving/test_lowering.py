"""What the checker reads does what the function does, on plain data and draws."""

import numpy as np
import pytest

from dpaudit.domains import Domain
from dpaudit.proving import checker
from dpaudit.proving.certificate import instance_of, program_of
from dpaudit.proving.lowering.lowering import find_needed_nodes
from dpaudit.proving.program import OtherPath, PathProgram, evaluate_program
from dpaudit.proving.runs.reading import read_trace
from dpaudit.proving.trace import FunctionTrace, Path
from tests.proving.attack import costs
from tests.proving.bent import number_universe
from tests.proving.core import run

ROWS = Domain(bounds=(-2, 3), columns=2, records=5)
COLUMN = Domain(bounds=(-2, 3), records=5)
SOME = Domain(bounds=(-2, 3), records=(1, 9))


def lengths(x):
    return np.linalg.norm(x, axis=1, keepdims=True)


def clipped_sum(x, rng):
    return (x * np.minimum(1, 1.5 / lengths(x))).sum(axis=0) + rng.normal(size=2)


def divided_by_lengths(x, rng):
    return 2 * (x / np.maximum(1, lengths(x) / 1.5)).mean(axis=0) + rng.normal(size=2)


def clipped_with_a_margin(x, rng):
    return (x * np.minimum(1, 1.5 / (lengths(x) + 0.25))).sum(axis=0) + rng.normal(size=2)


def clipped_over_the_larger(x, rng):
    return (x * (1.5 / np.maximum(lengths(x), 1.5))).sum(axis=0) + rng.normal(size=2)


def half_of_what_is_clipped(x, rng):
    return (x * np.minimum(0.5, 1 / lengths(x))).sum(axis=0) + rng.normal(size=2)


def deviations(x, rng):
    return x.std() + np.abs(x - x.mean()).sum() + np.linalg.norm(x) + rng.laplace()


def order(x, rng):
    return [np.median(x) + rng.laplace(), np.sort(x)[1] + rng.laplace(), x.max() + rng.laplace()]


def whole_numbers(x, rng):
    return (
        np.trunc(x).sum() + np.ceil(x).sum() + np.rint(x).sum() + np.sign(x).sum() + rng.laplace()
    )


def functions(x, rng):
    y = np.exp(x) / (1 + np.exp(x)) + np.tanh(x) + np.log1p(x**2) + np.expm1(x) + x**3
    return np.where(x > 0.5, y, x - 1).sum() + rng.laplace()


def counts(x, rng):
    both = (x > 0) & (x < 2) | (x == 3) ^ ~(x > 1)
    return np.histogram(x, bins=[-2.0, 0.0, 1.0, 3.0])[0] + rng.laplace(size=3), both.sum() + (
        rng.laplace()
    )


def steps(x, rng):
    return np.cumsum(x)[2] + np.abs(np.diff(x)).sum() + x[3] * x[1] + rng.laplace()


def products(x, rng):
    return np.ravel(x.T @ x) + rng.normal(size=4)


def choice(x, rng):
    return np.argmin(x.sum(axis=0) + rng.gumbel(size=2) * -2)


def sums(x, rng):
    return x.sum() + rng.laplace(), len(x) + (x**2).sum() + rng.laplace()


def random_data(universe, rng):
    n = universe.records or int(rng.integers(1, 9))
    data = {}
    for part in universe.parts:
        low, high = np.maximum(part.low, -10), np.minimum(part.high, 10)
        found = low + (high - low) * rng.random((n, *part.shape[1:]))
        corner = np.where(rng.random(found.shape) < 0.5, low, high)
        found = np.where(rng.random(found.shape) < 0.3, corner, found)
        data[part.name] = np.round(found) if part.is_integer else found
    return n, data


def random_draws(program, n, rng):
    nodes = [one for one in program.nodes if one.operation == "draw"]
    return {
        one.parameters["number"]: rng.random([n if k is None else k for k in one.shape])
        for one in nodes
    }


def noise_of(draws, lowered):
    """Return the draws as the checker counts them, some of which are one of each record."""
    noise = []
    for draw in draws:
        each = lowered["draws"][len(noise)]["each"]
        noise += list(draw.reshape(len(draw), -1).T) if each else np.ravel(draw).tolist()
    return noise


def outputs_of(trace, seed):
    """Return what a program of arrays gives, and what the checker reads of it."""
    rng = np.random.default_rng(seed)
    n, data = random_data(trace.universe, rng)
    program = trace.paths[0].program
    draws = random_draws(program, n, rng)
    listed = [draws.get(k, np.zeros(())) for k in range(max(draws, default=-1) + 1)]
    values = evaluate_program(program, data, listed)
    expected = [np.ravel(values[k]) for k in program.outputs]
    lowered = program_of(trace)
    (needed,) = find_needed_nodes([program])
    drawn = [one for one in program.nodes if one.operation == "draw" and one.index in needed]
    numbers = dict.fromkeys(one.parameters["number"] for one in drawn)
    noise = noise_of([draws[k] for k in numbers], lowered)
    found = run(lowered, lowered["paths"][0], data, noise)
    shown = [np.ravel(found[k]) for k in lowered["paths"][0]["outputs"]]
    return np.concatenate([*expected, []]), np.concatenate([*shown, []])


@pytest.mark.parametrize(
    ("function", "domain"),
    [(clipped_sum, ROWS), (divided_by_lengths, ROWS), (clipped_with_a_margin, ROWS),
     (clipped_over_the_larger, ROWS), (half_of_what_is_clipped, ROWS), (deviations, COLUMN),
     (order, COLUMN), (whole_numbers, COLUMN), (functions, COLUMN), (counts, COLUMN),
     (steps, COLUMN), (products, ROWS), (choice, ROWS), (sums, SOME)],
    ids=lambda one: getattr(one, "__name__", ""),
)  # fmt: skip
def test_numbers_are_those_of_arrays(function, domain):
    relation = "replace-record" if domain is not SOME else "add-remove-record"
    trace = read_trace(function, domain, relation, runs=2)
    for seed in range(4):
        expected, found = outputs_of(trace, seed)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def compare_generated(seeds):
    """Return how many generated programs the checker has, and does the same with."""
    count = 0
    for seed in seeds:
        universe, program, releases = costs.make_releases(seed)
        trace = FunctionTrace(universe, (Path(program),))
        try:
            expected, found = outputs_of(trace, seed)
        except (
            checker.NotVerified,
            ValueError,
            IndexError,
            KeyError,
            OtherPath,
            ZeroDivisionError,
        ):
            continue  # nothing to choose from, or what no rule knows
        expected, found = np.sort(expected), np.sort(found)  # a column after the other, or a row
        finite = np.isfinite(expected).all() and np.isfinite(found).all()  # `where` beside 1 / 0
        if releases and len(expected) == len(found) and finite:
            scale = np.abs(expected).max(initial=1.0)
            same = np.allclose(found, expected, rtol=1e-7, atol=1e-7 * scale)
            assert same or is_refused(trace), seed  # noise that its type rounds, say
            count += same
    return count


def is_refused(trace):
    """Return whether the checker follows none of what a certificate would say of a trace."""
    try:
        checker.check_instance(instance_of(trace))
    except checker.NotVerified:
        return True
    return False


def test_generated_programs_are_the_same():
    assert compare_generated(range(40)) > 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numpy, about empty slices
def test_many_generated_programs_are_the_same():
    assert compare_generated(range(1000, 3000)) > 300


def to_whole_numbers(operation, **given):
    """Return a trace of a sum of numbers that are written into an array of whole ones."""
    program = PathProgram()
    x = program.add("data", shape=(3,), part="")
    zeros = program.add("constant", shape=(3,), dtype="int64", value=np.zeros(3, dtype=int))
    operands = [zeros, x] if operation == "assign" else [x]
    whole = program.add(operation, operands, shape=(3,), dtype="int64", **given)
    total = program.add("sum", [whole], shape=(), dtype="int64", axis=None)
    noise = program.add("draw", shape=(), law="laplace", number=0)
    program.outputs = (program.add("add", [total, noise], shape=()),)
    return FunctionTrace(number_universe(), (Path(program),))


def test_a_length_of_whole_numbers_of_all_records_is_one_number():
    domain = Domain(bounds=(0, 9), records=5, integers=True)
    trace = read_trace(lambda x, rng: np.sqrt((x * x).sum()) + rng.laplace(), domain, runs=2)
    expected, found = outputs_of(trace, 0)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("operation", "given"), [("assign", {"key": [None]}), ("reshape", {}), ("negative", {})]
)
def test_what_a_type_would_round_is_refused(operation, given):
    with pytest.raises(checker.NotVerified):
        instance_of(to_whole_numbers(operation, **given))


def test_one_program_is_written_alike_each_time():
    trace = read_trace(deviations, COLUMN, runs=2)
    assert instance_of(trace) == instance_of(trace)
