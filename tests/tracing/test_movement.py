"""Bounds on movements that are read from code: never below what a pair of runs shows, and close."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.tracing.movement import MovementBounds, TraceRefusal, read_movement_bounds
from tests.tracing.replayed_pairs import moved

REACHES = (0.1, 1.0, 30.0)


def a_pair(n=6, d=3, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    one = size * rng.normal(size=(n, d))
    other = one.copy()
    other[seed % n] = size * rng.normal(size=d) * 3
    return one, other


def require_sound(function, dataset, neighbour, bounds, seeds=6):
    """Compare every movement of pairs of runs with its bound."""
    rng = np.random.default_rng(11)
    for reach in REACHES:
        for _ in range(seeds):
            found = moved(function, dataset, neighbour, rng, reach)
            assert len(found) == len(bounds.movements)
            for one, bound in zip(found, bounds.movements, strict=True):
                if np.isfinite(one).all():
                    assert np.abs(one).sum() <= bound.norms.l1 * (1 + 1e-6) + 1e-9
                    assert np.linalg.norm(one) <= bound.norms.l2 * (1 + 1e-6) + 1e-9
                    assert np.abs(one).max(initial=0) <= bound.norms.linf * (1 + 1e-6) + 1e-9


# Functions that are written as people write them, and what bounds them by hand


def descent(clip, average=True):
    def function(data, rng):
        w = np.zeros(data.shape[1])
        for _ in range(4):
            g = clip(w - data)
            w = w - 0.5 * rng.normal(loc=g.mean(axis=0) if average else g.sum(axis=0), scale=1.0)
        return w

    return function


CLIPS = {
    "maximum": lambda g: g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True) / 0.5),
    "minimum": lambda g: g * np.minimum(1, 0.5 / np.linalg.norm(g, axis=1, keepdims=True)),
    "in a new axis": lambda g: g / np.maximum(np.linalg.norm(g, axis=1) / 0.5, 1.0)[:, None],
    "written out": lambda g: g / np.maximum(1, np.sqrt((g**2).sum(axis=1)) / 0.5)[:, None],
    "with an epsilon": lambda g: (
        g * np.minimum(1, 0.5 / (np.linalg.norm(g, axis=1, keepdims=True) + 1e-6))
    ),
    "of the larger": lambda g: 0.5 * g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 0.5),
    "row by row": lambda g: np.stack([row / np.maximum(1, np.linalg.norm(row) / 0.5) for row in g]),
}


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
@pytest.mark.parametrize("average", [True, False])
def test_clipped_gradients_move_by_twice_the_clip(clip, average):
    dataset, neighbour = a_pair(size=5.0)
    function = descent(clip, average)
    bounds = read_movement_bounds(function, dataset, neighbour)
    assert isinstance(bounds, MovementBounds), bounds
    expected = 1.0 / len(dataset) if average else 1.0
    assert [one.norms.l2 for one in bounds.movements[1:]] == pytest.approx([expected] * 3, rel=1e-6)
    require_sound(function, dataset, neighbour, bounds)


def test_clipping_moves_no_two_records_further_apart():
    dataset, neighbour = a_pair()
    neighbour = dataset.copy()
    neighbour[2] += [0.03, -0.04, 0.0]
    bounds = read_movement_bounds(descent(CLIPS["maximum"], False), dataset, neighbour)
    assert bounds.movements[-1].norms.l2 == pytest.approx(0.05, rel=1e-6)


def logistic(data, rng):
    x, y = data
    w = np.zeros(x.shape[1])
    for _ in range(3):
        p = 1.0 / (1.0 + np.exp(-(x @ w)))
        w = w - rng.normal(loc=x.T @ (p - y) / len(x), scale=0.1)
    return w


def corrections(data, rng):
    w, out = 0.0, []
    for _ in range(5):
        g = rng.laplace(loc=(w - data).mean(), scale=1.0)
        w -= 0.9 * g
        out.append(g)
    return np.array(out)


def power_iteration(data, rng):
    v = np.ones(data.shape[1]) / math.sqrt(data.shape[1])
    for _ in range(3):
        v = rng.normal(loc=data.T @ (data @ v), scale=1.0)
        v = np.clip(v, -1.0, 1.0)
    return v


def bounded_values(data, rng):
    w = rng.normal(loc=np.clip(data, -1, 1).sum(), scale=1.0)
    s = np.tanh(w - data).mean()
    return rng.laplace(loc=s, scale=1.0)


def states(data, rng):
    out = np.zeros((3, data.shape[1]))
    w = np.zeros(data.shape[1])
    for t in range(3):
        w += rng.normal(loc=np.clip(data - w, -1, 1).mean(axis=0), scale=1.0)
        out[t] = w
    return {"path": out, "last": w.tolist()}


def nodes(data, rng):
    w = [np.zeros(data.shape[1]) for _ in range(2)]
    for _ in range(2):
        for node in range(2):
            mine = data[3 * node : 3 * node + 3]
            g = CLIPS["maximum"](w[node] - mine).sum(axis=0)
            w[node] = w[node] - 0.1 * rng.normal(loc=g, scale=1.0)
        w = [(w[0] + w[1]) / 2] * 2
    return w


def prefix_sums(data, rng):
    return [rng.laplace(loc=data[: t + 1].sum(), scale=1.0) for t in range(len(data))]


WRITTEN = {
    "logistic": (logistic, lambda: _labelled(a_pair())),
    "corrections": (corrections, lambda: (np.arange(3.0), np.array([0.0, 1.0, 5.0]))),
    "power iteration": (power_iteration, a_pair),
    "bounded values": (bounded_values, lambda: tuple(x[:, 0] for x in a_pair(size=3.0))),
    "states": (states, lambda: a_pair(size=3.0)),
    "nodes": (nodes, lambda: a_pair(size=3.0)),
    "prefix sums": (prefix_sums, lambda: tuple(x[:, 0] for x in a_pair())),
}


def _labelled(pair):
    y = np.array([0.0, 1.0] * 3)
    flipped = y.copy()
    flipped[0] = 1.0
    return (pair[0], y), (pair[1], flipped)


@pytest.mark.parametrize("name", WRITTEN)
def test_no_pair_of_runs_moves_a_centre_further(name):
    function, make = WRITTEN[name]
    dataset, neighbour = make()
    bounds = read_movement_bounds(function, dataset, neighbour)
    assert isinstance(bounds, MovementBounds), bounds
    require_sound(function, dataset, neighbour, bounds, seeds=10)


def test_corrections_move_by_what_the_mean_moves():
    function, make = WRITTEN["corrections"]
    bounds = read_movement_bounds(function, *make())
    assert [one.norms.l1 for one in bounds.movements] == pytest.approx([1.0] * 5, rel=1e-8)
    assert proved_guarantee(bounds.event()).epsilon(0.0) == pytest.approx(5.0, rel=1e-6)


def test_a_node_that_holds_no_record_that_differs_does_not_move():
    function, make = WRITTEN["nodes"]
    bounds = read_movement_bounds(function, *make())
    assert [one.norms.l2 > 0 for one in bounds.movements] == [True, False, True, False]


# Added noise, in every way in which it is written


def added(form):
    def function(data, rng):
        w = np.zeros(2)
        for _ in range(3):
            w = form(w, np.clip(data - w, -1, 1).mean(axis=0), rng)
        return w

    return function


FORMS = {
    "sum": lambda w, g, rng: w + (g + rng.normal(size=2)),
    "reversed": lambda w, g, rng: w + (rng.normal(size=2) + g),
    "difference": lambda w, g, rng: w - (g - rng.normal(size=2)),
    "from noise": lambda w, g, rng: w + (rng.normal(size=2) - g),
    "scaled": lambda w, g, rng: w + (g + 0.5 * (2.0 * rng.standard_normal(2))),
    "divided": lambda w, g, rng: w + (g + rng.standard_normal(w.shape) / 1.0),
    "negative": lambda w, g, rng: w + (g + -rng.normal(0.0, 1.0, size=(2,))),
    "of each": lambda w, g, rng: np.array([g[i] + rng.normal() for i in range(2)]),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_noise_is_seen_however_it_is_added(form):
    dataset, neighbour = (x[:, :2] for x in a_pair(size=3.0))
    bounds = read_movement_bounds(added(form), dataset, neighbour)
    assert isinstance(bounds, MovementBounds), bounds
    total = [one for one in bounds.movements if one.kind == "normal"]
    assert {round(one.scale, 12) for one in total} == {1.0}
    at = len(total) // 3
    assert math.sqrt(sum(one.norms.l2**2 for one in total[-at:])) <= 2 * math.sqrt(2) / 6 + 1e-6


# What no rule covers, and what must never be covered


def refused(function, dataset=None, neighbour=None):
    pair = a_pair() if dataset is None else (dataset, neighbour)
    found = read_movement_bounds(function, *pair)
    assert isinstance(found, TraceRefusal), found
    return found.reason


def noisy(rng):
    """Return a noisy value that holds nothing of the data."""
    return rng.normal(loc=np.zeros(1))


def caught(data, rng):
    v = data.sum() + rng.normal()
    try:
        if v > 0:
            return 1.0
    except Exception:
        return 0.0
    return v


def cached(data, rng, kept={}):  # noqa: B006
    z = rng.normal()
    return data.sum() + z, data.mean() + z


DECEPTIONS = {
    "unclipped": (descent(lambda g: g * g), "nothing bounds"),
    "no noise": (lambda x, rng: x.sum(), "data reach it"),
    "beside noise": (lambda x, rng: (x.sum() + rng.normal(), x.max()), "data reach it"),
    "in a dict": (
        lambda x, rng: {"a": [rng.normal(), {"b": 2 * x.sum()}]},
        "data reach it",
    ),
    "twice": (cached, "used twice"),
    "broadcast": (lambda x, rng: x.sum(axis=0) + rng.normal(), "several values"),
    "looked at": (lambda x, rng: x.sum() + abs(rng.normal()), "by itself"),
    "compared": (
        lambda x, rng: x.sum() if rng.normal() > 3 else x.sum() + rng.normal(),
        "by itself",
    ),
    "as array": (lambda x, rng: x.sum() + np.asarray(rng.normal(size=1)), "by itself"),
    "as float": (lambda x, rng: x.sum() + float(rng.normal()), "by itself"),
    "a part": (lambda x, rng: x.sum() + rng.normal(size=3)[0], "by itself"),
    "branch on noise": (lambda x, rng: x.sum() + rng.normal() > 0 and 1, "branch"),
    "branch on data": (lambda x, rng: x.sum() + rng.normal() if x.max() > 2.5 else 0.0, "branch"),
    "caught": (caught, "branch"),
    "scale of data": (lambda x, rng: x.sum() + rng.normal(scale=x.std()), "scale of noise"),
    "scale of noise": (
        lambda x, rng: x.sum() + rng.normal(scale=np.exp(x.mean() + rng.normal())),
        "scale of noise",
    ),
    "plain number": (lambda x, rng: float(x.sum()) + rng.normal(), "plain number"),
    "noisy index": (
        lambda x, rng: x[np.argmax(x[0] + rng.normal(size=3))].sum() + rng.normal(),
        "which",
    ),
    "other generator": (lambda x, rng: x.sum() + np.random.default_rng(0).normal(), "another"),
    "global generator": (lambda x, rng: x.sum() + np.random.normal(), "another"),  # noqa: NPY002
    "other law": (lambda x, rng: x.sum() + rng.geometric(0.5), "geometric"),
    "rounded noise": (lambda x, rng: x.sum() + np.round(rng.normal()), "by itself"),
    "an object": (lambda x, rng: type("O", (), {"x": x})(), "no rule"),
    "objects": (lambda x, rng: np.array([x.sum() + rng.normal(), None], dtype=object), ""),
    "text": (lambda x, rng: f"{x.sum() + rng.normal()}", "text"),
    "two draws": (lambda x, rng: x.sum() + (rng.normal() + rng.normal()), "two draws"),
    "raises": (lambda x, rng: x.nothing, "attribute"),
    "a set": (lambda x, rng: {x.sum() + rng.normal()}, "hashed"),
    "wrong axis": (
        lambda x, rng: rng.normal(
            loc=(g := noisy(rng) - x[:3]) / np.maximum(1, np.linalg.norm(g, axis=1)),
        ),
        "nothing bounds",
    ),
    "norm of another": (
        lambda x, rng: rng.normal(
            loc=(g := noisy(rng) - x) / np.maximum(1, np.linalg.norm(x + g, axis=1, keepdims=True)),
        ),
        None,
    ),
    "written over": (lambda x, rng: _written_over(x, rng), None),
    "a view": (lambda x, rng: _through_a_view(x, rng), "in place"),
}


def _written_over(x, rng):
    g = noisy(rng) - x
    norms = np.linalg.norm(g, axis=1, keepdims=True)
    g *= 1000.0
    return rng.normal(loc=g / np.maximum(1, norms))


def _through_a_view(x, rng):
    g = noisy(rng) - x
    row = g[0]
    row *= 1e9
    return rng.normal(loc=np.clip(g, -1, 1).sum())


@pytest.mark.parametrize("name", DECEPTIONS)
def test_what_no_rule_covers_is_refused_with_its_reason(name):
    function, reason = DECEPTIONS[name]
    if reason is None:
        found = read_movement_bounds(function, *a_pair())
        if isinstance(found, MovementBounds):
            require_sound(function, *a_pair(), found)
        return
    assert reason in refused(function)


def test_a_refusal_names_the_line():
    found = read_movement_bounds(cached, *a_pair())
    assert "in cached" in found.place


def test_other_shapes_and_types_are_refused():
    dataset, neighbour = a_pair()
    assert "shapes" in refused(corrections, dataset, neighbour[1:])
    assert "types" in refused(corrections, dataset, neighbour.tolist())
    assert "keys" in refused(corrections, {"a": 1.0}, {"b": 1.0})
    assert "do not hold numbers" in refused(corrections, np.array(["a"]), np.array(["b"]))


def test_constructors_are_put_back():
    before = [np.zeros, np.array, np.asarray, np.full]
    read_movement_bounds(states, *a_pair())
    assert [np.zeros, np.array, np.asarray, np.full] == before


# Programs that nobody wrote

UNARY = {
    "negative": lambda a: -a,
    "absolute": np.abs,
    "tanh": np.tanh,
    "clip": lambda a: np.clip(a, -1.0, 2.0),
    "square": lambda a: a**2,
    "exp of clip": lambda a: np.exp(np.clip(a, -3.0, 1.0)),
    "logistic": lambda a: 1.0 / (1.0 + np.exp(-a)),
    "over": lambda a: a / (1.0 + np.abs(a)),
    "times": lambda a: a * 2.5,
    "by row": lambda a: a / np.maximum(1.0, np.linalg.norm(a, axis=1, keepdims=True) / 0.7),
    "by norm": lambda a: a * np.minimum(2.0, 3.0 / np.linalg.norm(a, axis=1, keepdims=True)),
    "unit": lambda a: a / (0.1 + np.sqrt((a * a).sum(axis=1, keepdims=True))),
    "reversed": lambda a: a[::-1],
    "first": lambda a: a * a[:, :1],
    "picked": lambda a: a[[0, 0, 2, 1, 3]],
    "matrix": lambda a: a @ np.array([[1.0, -2.0], [0.5, 1.0]]),
    "left": lambda a: np.tri(len(a)) @ a,
    "maximum": lambda a: np.maximum(a, 0.2),
}
BINARY = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
    "clipped times": lambda a, b: np.clip(a, -1, 1) * np.clip(b, -2, 1),
    "where": lambda a, b: np.where(np.arange(len(a))[:, None] % 2 == 0, a, b),
    "centred": lambda a, b: a - b.mean(axis=0),
    "by the other": lambda a, b: a / (1.0 + b * b),
}
REDUCED = {
    "sum": lambda a: a.sum(),
    "mean": lambda a: a.mean(),
    "rows": lambda a: a.sum(axis=0),
    "row": lambda a: a[1],
    "norms": lambda a: np.linalg.norm(a, axis=1),
    "norm": lambda a: np.linalg.norm(a),
    "in rows": lambda a: a.mean(axis=1),
    "all": lambda a: a,
    "gram": lambda a: np.clip(a, -1, 1).T @ np.clip(a, -1, 1),
    "column": lambda a: a[:, 0],
    "flat": lambda a: a.ravel(),
    "joined": lambda a: np.concatenate([a[:2], a[3:]]),
}


@st.composite
def programs(draw):
    """Draw a function of a (5, 2) array with three noisy values, each made of those before."""
    plan = [
        (
            [
                (draw(st.sampled_from(sorted(UNARY))), draw(st.sampled_from(sorted(BINARY))),
                 draw(st.integers(0, 9)))
                for _ in range(draw(st.integers(1, 3)))
            ],
            draw(st.sampled_from(sorted(REDUCED))),
        )
        for _ in range(3)
    ]  # fmt: skip

    def function(data, rng):
        known, out = [data], []
        for steps, last in plan:
            for unary, binary, at in steps:
                a = UNARY[unary](known[at % len(known)])
                known.append(BINARY[binary](a, known[(at + 1) % len(known)]))
            out.append(rng.normal(loc=REDUCED[last](known[-1]), scale=1.0))
            noisy = out[-1]
            known.append(data - np.sum(noisy))
        return out

    return plan, function


def check_a_program(program, seed):
    plan, function = program
    dataset, neighbour = a_pair(n=5, d=2, seed=seed)
    found = read_movement_bounds(function, dataset, neighbour)
    if isinstance(found, TraceRefusal):
        assert found.reason == "nothing bounds how far the centre moves", (plan, found)
        return
    require_sound(function, dataset, neighbour, found, seeds=2)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(programs(), st.integers(0, 99))
def test_no_program_moves_further_than_its_bound(program, seed):
    check_a_program(program, seed)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None, derandomize=True)
@given(programs(), st.integers(0, 99))
def test_no_program_of_many_moves_further_than_its_bound(program, seed):
    check_a_program(program, seed)
