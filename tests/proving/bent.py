"""Certificates that one fact is bent in, and a judge that knows nothing of the checker's rules."""

import copy
import math
from fractions import Fraction

import numpy as np

from dpaudit.proving.certificate import make_proof_certificate, universe_in
from dpaudit.proving.program import PathProgram
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Part, Universe
from dpaudit.verification.proofs import compare_program_paths
from tests.proving.core import number, run

LAWS = ("normal", "laplace", "exponential", "gumbel", "uniform", "logistic", "cauchy")
SAME_ARITY = (
    "order poly clip place".split(),
    "inverse sqrt exp log floor rint sin total rows".split(),
)


def number_universe(records=3, columns=None, low=0.0, high=1.0, **given):
    """Return datasets of numbers between two ends."""
    shape = () if columns is None else (columns,)
    known = {name: given.pop(name) for name in ("is_integer", "norm") if name in given}
    part = Part("", (records, *shape), np.full(shape, low), np.full(shape, high), **known)
    change = given.pop("change", "replace")
    given.setdefault("relation", relation_of(change, **given))
    return Universe((part,), records, change, **given)


def relation_of(change, count=1, *, of_cells=False, **others):
    """Return the name of a relation by what it changes."""
    unit = "user" if count > 1 else "record"
    return "replace-cell" if of_cells else f"{change}-{unit}"


class Built(PathProgram):
    """A program with the constants and the noise that tests need."""

    def constant(self, value):
        return self.add("constant", shape=np.shape(value), value=value)

    def noisy(self, centre, shape=(), law="laplace", scale=1.0):
        number = sum(one.operation == "draw" for one in self.nodes)
        draw = self.add("draw", shape=shape, law=law, number=number)
        noise = self.add("multiply", [draw, self.constant(scale)], shape=shape)
        return self.add("add", [centre, noise], shape=shape)

    def data(self, shape):
        return self.add("data", shape=shape, part="")


def noisy_sum():
    program = Built()
    total = program.add("sum", [program.data((3,))], shape=(), axis=None)
    program.outputs = (program.noisy(total),)
    return program, number_universe()


def noisy_means_of_columns():
    program = Built()
    means = program.add("mean", [program.data((3, 2))], shape=(2,), axis=0)
    program.outputs = (program.noisy(means, (2,), "normal", 0.5),)
    return program, number_universe(columns=2)


def histogram():
    program = Built()
    counts = program.add(
        "bin_counts", [program.data((3,))], shape=(2,), dtype="int64", edges=[0.0, 0.5, 1.0]
    )
    program.outputs = (program.noisy(counts, (2,), scale=2.0),)
    return program, number_universe()


def clipped_sum():
    program = Built()
    values = program.data((3,))
    capped = program.add("minimum", [values, program.constant(2.0)], shape=(3,))
    clipped = program.add("maximum", [capped, program.constant(-1.0)], shape=(3,))
    total = program.add("sum", [clipped], shape=(), axis=None)
    program.outputs = (program.noisy(total, scale=3.0),)
    return program, number_universe(low=-5.0, high=5.0)


def clipped_rows():
    program = Built()
    rows = program.data((3, 2))
    squares = program.add("multiply", [rows, rows], shape=(3, 2))
    lengths = program.add("sqrt", [program.add("sum", [squares], shape=(3,), axis=1)], shape=(3,))
    ratio = program.add("divide", [program.constant(1.0), lengths], shape=(3,))
    factor = program.add("minimum", [program.constant(1.0), ratio], shape=(3,))
    column = program.add("reshape", [factor], shape=(3, 1))
    clipped = program.add("multiply", [rows, column], shape=(3, 2))
    total = program.add("sum", [clipped], shape=(2,), axis=0)
    program.outputs = (program.noisy(total, (2,), "normal", 2.0),)
    return program, number_universe(columns=2, low=-5.0, high=5.0)


def two_releases():
    program = Built()
    values = program.data((3,))
    squares = program.add("multiply", [values, values], shape=(3,))
    totals = [program.add("sum", [one], shape=(), axis=None) for one in (values, squares)]
    program.outputs = tuple(program.noisy(one, scale=2.0) for one in totals)
    return program, number_universe()


def squared_deviations():
    program = Built()
    values = program.data((3,))
    mean = program.add("mean", [values], shape=(), axis=None)
    apart = program.add("subtract", [values, mean], shape=(3,))
    squares = program.add("multiply", [apart, apart], shape=(3,))
    total = program.add("sum", [squares], shape=(), axis=None)
    program.outputs = (program.noisy(total),)
    return program, number_universe()


def one_more_record():
    program = Built()
    total = program.add("sum", [program.data((None,))], shape=(), axis=None)
    program.outputs = (program.noisy(total, scale=2.0),)
    return program, number_universe(None, low=-1.0, high=2.0, change="add-remove")


def noisy_choice():
    program = Built()
    scores = program.add("sum", [program.data((3, 3))], shape=(3,), axis=0)
    noisy = program.noisy(scores, (3,), "gumbel", 2.0)
    program.outputs = (program.add("argmax", [noisy], shape=(), dtype="int64", axis=None),)
    return program, number_universe(columns=3)


MODELS = (noisy_sum, noisy_means_of_columns, histogram, clipped_sum, clipped_rows, two_releases,
          squared_deviations, one_more_record, noisy_choice)  # fmt: skip


def model_certificates():
    """Return certificates that hold, none of which could claim less."""
    found = []
    for model in MODELS:
        program, universe = model()
        found.append(make_proof_certificate(FunctionTrace(universe, (Path(program),)), None, None))
    return found


# --- bending --------------------------------------------------------------------------------------


def bend(document, rng):
    """Return a copy in which one fact is another, mostly towards an easier proof, and its name."""
    bent = copy.deepcopy(document)
    name = BENDS[rng.integers(len(BENDS))]
    name(bent["instance"], rng)
    return bent, name.__name__


def _pick(items, rng):
    return items[rng.integers(len(items))]


def _nodes(instance, rng, *operations):
    nodes = instance["paths"][0]["nodes"]
    found = [one for one in nodes if not operations or one["operation"] in operations]
    return _pick(found or nodes, rng)


def claim_less(instance, rng):
    name = "epsilon" if "epsilon" in instance["claim"] else next(iter(instance["claim"]))
    instance["claim"][name] *= _pick([0.0, 0.5, 0.9, 0.999, 1 - 1e-6], rng)


def narrow_ends(instance, rng):
    part = instance["universe"]["parts"][0]
    part["low"] = [(a + b) / 2 for a, b in zip(part["low"], part["high"], strict=True)]


def state_norm(instance, rng):
    instance["universe"]["parts"][0]["norm"] = float(_pick([0.0, 0.25, 1.0], rng))


def set_flag(instance, rng):
    part = instance["universe"]["parts"][0]
    name = _pick(["is_integer", "is_changed"], rng)
    part[name] = not part[name]


def change_relation(instance, rng):
    universe = instance["universe"]
    others = ["replace-record", "replace-cell", "replace-label", "add-remove-record"]
    name = _pick(["relation", "count", "records"], rng)
    universe[name] = {"relation": _pick(others, rng), "count": 2, "records": 2}[name]
    if name == "records" and rng.integers(2):
        universe["records"] = None
        for part in universe["parts"]:
            part["shape"][0] = None


def turn_to_added(instance, rng):
    universe = instance["universe"]
    universe |= {"relation": "add-remove-record", "records": None}
    universe["parts"][0]["shape"][0] = None


def change_constant(instance, rng):
    node = _nodes(instance, rng, "number", "release", "poly", "choose", "clip", "inside")
    factor = _pick([2.0, 10.0, -1.0, 0.0, 0.5, 1e9], rng)
    given = node["parameters"]
    for name in ("value", "factor", "by", "low", "high"):
        if name in given:
            given[name] = number(given[name]) * factor
    if "factors" in given:
        given["factors"] = [float(Fraction(one)) * factor for one in given["factors"]]
    if "terms" in given:
        term = _pick(given["terms"], rng)
        term[0] = float(Fraction(term[0])) * factor


def change_law(instance, rng):
    _pick(instance["draws"], rng)["law"] = _pick(LAWS, rng)


def reuse_draw(instance, rng):
    given = _nodes(instance, rng, "release", "choose")["parameters"]
    if "draws" in given:
        given["draws"] = [int(rng.integers(len(instance["draws"])))] * len(given["draws"])


def change_operand(instance, rng):
    node = _nodes(instance, rng)
    if node["operands"]:
        node["operands"][rng.integers(len(node["operands"]))] = int(rng.integers(12))


def swap_operands(instance, rng):
    _nodes(instance, rng)["operands"].reverse()


def change_operation(instance, rng):
    node = _nodes(instance, rng)
    kin = [names for names in SAME_ARITY if node["operation"] in names]
    node["operation"] = _pick(kin[0], rng) if kin else "negative"


def change_parameter(instance, rng):
    node = _nodes(instance, rng)
    for name in node["parameters"]:
        other = [None, 0, 1, [0], [0, 1], [0.0, 1.0], True, False, "1/2", [[1, [[0, 2]]]]]
        node["parameters"][name] = _pick(other, rng)


def change_hints(instance, rng):
    for path in instance["paths"]:
        for hints in path["hints"]:
            hints[:] = _pick([[], [None] * 3, [[[[], []]]] * 3, hints[::-1]], rng)


def cut_hints(instance, rng):
    """Look into half of a box, or forget a number that moves."""
    hints = [one for path in instance["paths"] for run in path["hints"] for one in run if one]
    if hints:
        search = _pick(_pick(hints, rng), rng)
        search[_pick([0, 1], rng)] = _pick([[], [0, [], []], [[0, 0]], [[0, 1], [0, 0]]], rng)


def change_flag_of_draws(instance, rng):
    one = _pick(instance["draws"], rng)
    one["each"] = not one["each"]
    instance["alike"] = _pick([True, True, False], rng)


def repeat_factor(instance, rng):
    """Write x * x as two factors, or as another power."""
    node = _nodes(instance, rng, "poly")
    if node["parameters"].get("terms"):
        powers = _pick(node["parameters"]["terms"], rng)[1]
        if powers:
            powers[:] = _pick([[*powers, powers[0]], [[powers[0][0], -1]], [[0, 0]], [[0, 3]]], rng)


def change_family(instance, rng):
    """Let sets that overlap be of one family, or a set be another."""
    node = _nodes(instance, rng, "inside")
    given = node["parameters"]
    if "family" in given:
        given[_pick(["family", "low", "high"], rng)] = _pick(["points", 0, 1], rng)
        given["closed"] = not given["closed"]


def drop_node(instance, rng):
    del instance["paths"][0]["nodes"][int(rng.integers(len(instance["paths"][0]["nodes"])))]


def skip_node(instance, rng):
    """Let whatever uses a node use its first operand."""
    nodes, outputs = instance["paths"][0]["nodes"], instance["paths"][0]["outputs"]
    index = int(rng.integers(len(nodes)))
    if nodes[index]["operands"]:
        other = nodes[index]["operands"][0]
        for node in nodes:
            node["operands"] = [other if one == index else one for one in node["operands"]]
        outputs[:] = [other if one == index else one for one in outputs]


def change_outputs(instance, rng):
    path = instance["paths"][0]
    extra = int(rng.integers(len(path["nodes"])))
    path["outputs"] = _pick([[], [extra], [*path["outputs"], extra]], rng)


def change_paths(instance, rng):
    paths = instance["paths"]
    paths[:] = _pick([[], paths * 2], rng)


def drop_field(instance, rng):
    node = _nodes(instance, rng)
    del node[_pick(sorted(node), rng)]


def add_field(instance, rng):
    _nodes(instance, rng)["trusted"] = True


BENDS = (claim_less, narrow_ends, state_norm, set_flag, change_relation, turn_to_added,
         change_constant, change_law, reuse_draw, change_operand, swap_operands, change_operation,
         change_parameter, change_hints, cut_hints, change_flag_of_draws, repeat_factor,
         change_family, drop_node, skip_node, change_outputs, change_paths, drop_field,
         add_field)  # fmt: skip


# --- the judge ------------------------------------------------------------------------------------


def is_of_the_code(bent, document):
    """Return whether a bent file states program, datasets and neighbours as they are."""
    stated, true = bent["instance"], document["instance"]
    same = stated["universe"] == true["universe"]
    return same and not list(compare_program_paths(stated, true))


def worst_loss(instance, rng, pairs=30):
    """Return a lower bound on what the claim would have to be, from plain runs on neighbours.

    Pure epsilon and squared mu of outputs that are affine in noise, pure epsilon of a choice by
    Gumbel noise; infinite where outputs without noise differ.
    """
    universe = universe_in(instance["universe"])
    pure = square = 0.0
    for _ in range(pairs):
        found = _loss(instance, *_neighbours(universe, rng))
        pure, square = max(pure, found[0]), max(square, found[1])
    return pure, square


def _neighbours(universe, rng):
    adds = universe.change == "add-remove"
    records = 3 if adds else universe.records
    one = {part.name: _values(part, records, rng) for part in universe.parts}
    other = {name: value.copy() for name, value in one.items()}
    for row in range(min(universe.count, records)):
        for part in universe.parts:
            new = _values(part, 1, rng)
            if adds:
                other[part.name] = np.concatenate([other[part.name], new])
            elif part.is_changed and universe.of_cells:
                other[part.name][row].flat[0] = new.flat[0]
            elif part.is_changed:
                other[part.name][row] = new[0]
    return one, other


def _values(part, records, rng):
    shape = (records, *part.shape[1:])
    corner = np.where(rng.integers(2, size=shape), part.high, part.low)
    found = corner if rng.integers(2) else part.low + (part.high - part.low) * rng.random(shape)
    found = np.round(found) if part.is_integer else found
    if math.isfinite(part.norm):
        lengths = np.sqrt((found**2).reshape(records, -1).sum(axis=1))
        factor = np.minimum(1, part.norm / np.maximum(lengths, 1e-300))
        found = found * factor.reshape(-1, *[1] * (len(shape) - 1))
    return np.asarray(found, dtype=float)


def _loss(instance, one, other):
    (path,) = instance["paths"]
    nodes = path["nodes"]
    chosen = [nodes[i] for i in path["outputs"] if nodes[i]["operation"] == "choose"]
    if chosen:
        return _loss_of_choice(instance, path, chosen[0], one, other)
    draws = instance["draws"]
    apart = _outputs(instance, path, other) - _outputs(instance, path, one)
    matrix = np.array([
        _outputs(instance, path, one, n) - _outputs(instance, path, one) for n in range(len(draws))
    ]).T.reshape(len(apart), len(draws))  # fmt: skip
    return _loss_of_sum(apart, matrix, [one["law"] for one in draws])


def _loss_of_sum(apart, matrix, laws):
    """Return pure epsilon and squared mu of a sum of a vector and a matrix times noise."""
    used = [n for n, column in enumerate(matrix.T) if column.any()]
    reach = np.linalg.lstsq(matrix, apart, rcond=None)[0] if used else np.zeros(len(laws))
    if not np.allclose(matrix @ reach, apart, rtol=1e-9, atol=1e-12):
        return math.inf, math.inf
    pure = square = 0.0
    for n in used:
        if (
            not (matrix[:, n] != 0).sum() == 1
            or not (matrix[np.argmax(matrix[:, n] != 0)] != 0).sum() == 1
        ):
            return 0.0, 0.0  # noise that is shared: another judge's
        if laws[n] == "normal":
            square += reach[n] ** 2
        elif laws[n] in ("laplace", "logistic"):
            pure += abs(reach[n])
        elif laws[n] in ("exponential", "uniform", "gumbel") and abs(reach[n]) > 1e-9:
            return math.inf, math.inf  # one side has outputs that the other has not, or nearly so
    return pure, square


def _outputs(instance, path, data, impulse=None):
    noise = [float(n == impulse) for n in range(len(instance["draws"]))]
    values = run(instance, path, data, noise)
    found = [np.ravel(values[i]) for i in path["outputs"]]
    return np.concatenate([np.zeros(0), *found]).astype(float)


def _loss_of_choice(instance, path, node, one, other):
    laws = {instance["draws"][n]["law"] for n in node["parameters"]["draws"]}
    scale = abs(number(node["parameters"]["factor"]))
    if laws != {"gumbel"} or scale <= 0:
        return 0.0, 0.0
    inner = {**path, "outputs": node["operands"]}
    logs = [_log_shares(_outputs(instance, inner, data) / scale) for data in (one, other)]
    return float(np.abs(logs[0] - logs[1]).max()), 0.0


def _log_shares(scores):
    return scores - scores.max() - math.log(np.exp(scores - scores.max()).sum())


def is_true(instance, rng):
    """Return whether no pair of neighbours shows more loss than a bent file claims."""
    with np.errstate(all="ignore"):
        pure, square = worst_loss(instance, rng)
    claim = instance["claim"]
    if "rho" in claim:
        return square / 2 <= claim["rho"] * (1 + 1e-7) and math.isfinite(pure)
    return square == 0 and pure <= claim["epsilon"] * (1 + 1e-7)
