"""Certificates of views: an oracle agrees with them, moved ones fail or are true, code is compared.

The oracle works a file out in doubles, by dense matrices: it shares nothing with the engine, nor
with the verifier.
"""

import ast
import copy
import functools
import itertools
import json
import math
import tracemalloc
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import dpaudit
from dpaudit.affine import certificate as writing
from dpaudit.affine.certificate import certify_views
from dpaudit.affine.changes import Box
from dpaudit.errors import DataError, DpauditError
from dpaudit.verification import Reader, document, judge, reread
from dpaudit.verification.schema import certificate_schema
from tests.own_examples import EXAMPLES, load_example

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (EXAMPLES / "recursions").glob("*.py"))
THIRD = Fraction(1, 3)


def average(x, rng):
    sent = x + rng.normal(scale=2.0, size=3)
    return {"server": sent, "public": x.mean() + rng.normal(), "raw": x[:1] * 1.0}


def mixed(x, rng):
    weights = np.array([[0.5, 0.25, 0.25], [0.25, 0.75, 0.0], [0.25, 0.0, 0.75]])
    sent, state = [], x
    for _ in range(3):
        message = state + rng.normal(size=3)
        state = weights @ message / 3.0
        sent.append(message)
    return {"all": np.array(sent), "first": np.array(sent)[:, 0], "last": state}


def noisy_start(x, rng):
    """Rows that depend on each other: one normal, and later states are made of the first."""
    state = x + rng.normal(size=3)
    return {"states": [state, 0.5 * state, state.sum()], "sum": state.sum()}


def leaky(x, rng):
    noise = rng.normal(size=2)
    return {"both": [x[:2] + noise, x[0] + 0.5 * x[2] + noise[0]], "one": x[:2] + noise}


FUNCTIONS = (average, mixed, noisy_start, leaky)
CHANGES = {
    "l2": {"norm": "l2", "radius": 0.5},
    "l1": {"norm": "l1", "radius": 2.0},
    "box": {"norm": "box", "about": {"two": lambda x: x[:2], "all": lambda x: x}},
    "balls": {"about": {"two": lambda x: x[:2], "all": lambda x: x}},
    "direction": {"change": [THIRD, 0, 1]},
}


def written(function, **given):
    """Return the certificate of a function of three numbers, as a file holds it."""
    made = certify_views(dpaudit.views(function, private=np.zeros(3), **given))
    return json.loads(json.dumps(made, allow_nan=False))


@functools.cache
def averaged():
    return json.dumps(written(average))


def judged(content, **reader):
    return judge.verify(document._parse_certificate("c.json", content), Reader(**reader))


# --- the oracle -----------------------------------------------------------------------------------


def number(value):
    return float(Fraction(value)) if isinstance(value, str) else float(value)


def table(content):
    """Return what every coordinate of a program holds of its leaves, and which leaves those are."""
    instance, rows, leaves = content["instance"], [], {"data": [], "noise": []}
    size = sum(
        one.get("data", 0) + one.get("noise", 0)
        for one in instance["blocks"]
        if isinstance(one.get("data", one.get("noise")), int)
    )
    for block in instance["blocks"]:
        for kind in ("data", "noise"):
            for _ in range(block.get(kind, 0)):
                leaves[kind].append(len(leaves["data"]) + len(leaves["noise"]))
                rows.append(np.eye(size)[leaves[kind][-1]])
        if "sum" in block:
            rows += list(sum(term_of(instance, rows, one) for one in block["sum"]))
    return np.array(rows), leaves


def term_of(instance, rows, term):
    held = np.array([rows[one] if one >= 0 else np.zeros(len(rows[0])) for one in term["of"]])
    if "matrix" in term:
        stated = instance["matrices"][term["matrix"]]
        matrix = np.zeros((stated["rows"], stated["columns"]))
        places = stated["at_row"], stated["at_column"]
        np.add.at(matrix, places, [number(one) for one in stated["numbers"]])
        return matrix @ held
    if "over" in term:
        return held / np.array([number(one) for one in term["over"]])[:, None]
    return held * np.array([number(one) for one in term.get("times", [1] * len(held))])[:, None]


def true_mu(content, view):
    """Return mu of a view by a dense factorisation; infinite where the change leaves the range."""
    rows, leaves = table(content)
    instance = content["instance"]
    (observer,) = (one for one in instance["observers"] if one["name"] == view["observer"])
    (change,) = (one for one in instance["changes"] if one["name"] == view["about"])
    seen = rows[[one for one in observer["at"] if one >= 0]]
    noise, data = seen[:, leaves["noise"]], seen[:, leaves["data"]]
    return max(_mu(noise, data @ d) for d in directions(change, noise, data))


def directions(change, noise, data):
    """Return changes among which is the worst."""
    units = np.eye(data.shape[1])[change["at"]]
    by = [number(one) for one in change["by"]]
    if change["kind"] == "direction":
        return [np.array(by) @ units] if by else [np.zeros(data.shape[1])]
    if change["kind"] == "l1":
        return list(by[0] * units)
    if change["kind"] == "box":
        corners = itertools.product((1, -1), repeat=len(by))
        return [np.array(signs) * by @ units for signs in corners]
    whitened = np.linalg.pinv(noise, rcond=1e-9) @ data @ units.T
    worst = np.linalg.svd(whitened)[2][0] @ units
    return [by[0] * worst, *(by[0] * units)]  # those of units find what noise does not reach


def _mu(noise, moved):
    if not noise.size:
        return math.inf if np.abs(moved).max(initial=0) > 1e-12 else 0.0
    found = np.linalg.pinv(noise, rcond=1e-9) @ moved
    return math.inf if np.abs(noise @ found - moved).max(initial=0) > 1e-8 else norm(found)


def norm(vector):
    return float(np.linalg.norm(vector))


def is_true(content):
    """Return whether every view of a file lies where the oracle has it."""
    for view in content["instance"]["views"]:
        true = true_mu(content, view)
        ends = [float(view["lower"]), float(view["upper"])]
        if math.isinf(true) != all(map(math.isinf, ends)):
            return False
        if math.isfinite(true) and not ends == pytest.approx([true, true], rel=1e-6, abs=1e-12):
            return False
    return True


# --- what is written ------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_written_verifies_and_is_what_the_oracle_finds(function, change):
    content = written(function, **CHANGES[change])
    jsonschema.validate(content, certificate_schema())
    found = judged(content)
    assert found.failures == ()
    assert found.on_the_claim == "not refuted"  # only the file says what code it is
    assert is_true(content)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_published_recursions_verify(name):
    module = load_example(f"recursions/{name}")
    for function, by_change in module.MU.items():
        for title, by_observer in by_change.items():
            private, change = module.PRIVATE, module.CHANGES[title]
            found = dpaudit.views(getattr(module, function), private=private, change=change)
            content = json.loads(json.dumps(certify_views(found)))
            assert judged(content).failures == ()
            stated = {view["observer"]: view["upper"] for view in content["instance"]["views"]}
            for observer, mu in by_observer.items():
                assert float(stated[observer]) == pytest.approx(mu, rel=1e-9)


def test_exact_numbers_decide_what_doubles_do_not():
    """The sum .1 + .2 - .3 of doubles is not 0, and shows the data; that of .5 + .25 - .75 is."""

    def shown(x, rng, parts):
        noise = rng.normal()
        seen = [part * noise + part * x[0] for part in parts[:2]]
        return [*seen, sum(seen) - parts[2] * (noise + x[0]) + x[0] * 0.0]

    for parts, infinite in (((0.1, 0.2, 0.3), False), ((0.5, 0.25, 0.75), False)):
        content = written(lambda x, rng, parts=parts: shown(x, rng, parts))
        assert judged(content).failures == ()
        assert (content["instance"]["views"][0]["upper"] == "Infinity") is infinite

    def cancelled(x, rng):
        noise = rng.normal()
        return [0.1 * noise, 0.2 * noise + x[0], 0.3 * noise + x[0]]

    content = written(cancelled, about={"first": 0})
    assert content["instance"]["views"][0]["upper"] == "Infinity"
    assert judged(content).failures == ()
    content["instance"]["views"][0] |= {"lower": 1.0, "upper": 1.0}
    assert judged(content).failures


def test_views_that_are_too_large_are_left_out(monkeypatch):
    assert len(written(average)["instance"]["views"]) == 12
    monkeypatch.setattr(writing, "MOST_ROWS", 3)
    assert len(written(average)["instance"]["views"]) == 9
    assert certify_views(dpaudit.views(average, private=np.zeros(3), change=Box([0], 1)))
    monkeypatch.setattr(writing, "MOST_ROWS", 0)
    found = dpaudit.views(average, private=np.zeros(3))
    assert certify_views(found) is None
    assert "No certificate" in str(found)


# --- what is moved --------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", ["l2", "direction"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("factor", [0.9, 1.1, 1.0001])
def test_a_claim_that_is_moved_fails(function, change, factor):
    content = written(function, **CHANGES[change])
    for n, view in enumerate(content["instance"]["views"]):
        for end in ("lower", "upper"):
            other = copy.deepcopy(content)
            stated = view[end]
            moved = 1000.0 if stated == "Infinity" else float(stated) * factor or 1e-6
            other["instance"]["views"][n][end] = moved
            assert judged(other).failures, (view, end)
            if stated != "Infinity":
                other["instance"]["views"][n] |= {"lower": "Infinity", "upper": "Infinity"}
                assert judged(other).failures


def numbers_of(value, path=()):
    """Yield where every number of a file stands."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in items:
            yield from numbers_of(one, (*path, name))
    elif type(value) in (int, float) or value in ("1/3", "Infinity"):
        yield path


def moves(value):
    """Yield other numbers in the place of one."""
    if type(value) is int:
        return [value + 1, value - 1, 0]
    if value == "Infinity":
        return [3.0, 0.0]
    exact = number(value)
    return [0.5 * exact, -exact, 2.0 * exact, exact + 1e-3, 0.0, "1/3"]


def put(content, path, value):
    found = copy.deepcopy(content)
    place = found
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return found


@pytest.mark.parametrize(
    ("function", "change"),
    [
        pytest.param(average, "l2", marks=pytest.mark.slow, id="average"),
        pytest.param(noisy_start, "direction", id="noisy-start"),
        pytest.param(leaky, "box", marks=pytest.mark.slow, id="leaky"),
        pytest.param(mixed, "l1", marks=pytest.mark.slow, id="mixed"),
        pytest.param(mixed, "balls", marks=pytest.mark.slow, id="mixed-balls"),
    ],
)
def test_a_file_whose_numbers_are_moved_fails_or_is_true(function, change):
    content = written(function, **CHANGES[change])
    counts = {True: 0, False: 0}
    for path in numbers_of(content["instance"], ("instance",)):
        value = content
        for name in path:
            value = value[name]
        for other in moves(value):
            moved = put(content, path, other)
            try:
                stands = judged(moved).verified
            except DataError:
                continue
            counts[stands] += 1
            assert not stands or is_true(moved), (path, value, other)
    assert counts[False] > 20


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("blocks", [{"data": -1}]),
        ("blocks", [{"data": 3, "noise": 3}]),
        ("blocks", [{"sum": [{"of": [0]}]}]),
        ("blocks", [{"data": 3}, {"sum": [{"of": [0], "over": [0.0]}]}]),
        ("blocks", [{"data": 3}, {"sum": [{"of": [0], "times": ["1/0"]}]}]),
        ("blocks", [{"data": 3}, {"sum": [{"of": [0], "times": ["1" * 5000]}]}]),
        ("blocks", [{"data": 10**9}]),
        ("blocks", "none"),
        ("matrices", [{"rows": 10**9, "columns": 1}]),
        ("observers", [{"name": "server", "sees": None, "at": [10**6]}]),
        ("observers", [{"name": "server", "sees": 3, "at": []}]),
        ("changes", [{"name": "0", "kind": "l3", "at": [0], "by": [1]}]),
        ("changes", [{"name": "0", "kind": "l2", "at": [0, 0], "by": [1]}]),
        ("changes", [{"name": "0", "kind": "l2", "at": [0], "by": [-1]}]),
        ("views", [{"observer": "nobody", "about": "0", "lower": 0, "upper": 0}]),
        ("views", [{"observer": "server", "about": "0", "lower": True, "upper": 0}]),
        ("output", None),
        ("views", []),
        ("changes", 2 * [{"name": "0", "kind": "l2", "at": [0], "by": [1]}]),
    ],
)
def test_what_is_no_program_is_refused(part, value):
    content = json.loads(averaged())
    content["instance"][part] = value
    with pytest.raises(DataError):
        judged(content)


def test_empty_rows_of_many_matrices_take_no_memory():
    empty = {"rows": 200_000, "columns": 1, "at_row": [], "at_column": [], "numbers": []}
    content = json.loads(averaged())
    content["instance"]["matrices"] += [empty] * 9
    tracemalloc.start()
    assert judged(content).failures == ()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**25


@pytest.mark.parametrize("part", ["parameters", "quantities"])
def test_what_nobody_recomputes_does_not_stand(part):
    content = json.loads(averaged())
    content[part]["epsilon"] = 0.1
    assert judged(content).failures == ("'epsilon': is nothing that is recomputed",)


def test_a_number_beyond_doubles_is_no_accident():
    content = written(average, about={"first": 0})
    content["instance"]["changes"][0]["by"] = [f"{10**400}/1"]
    assert judged(content).failures


# --- the reader's own code ------------------------------------------------------------------------


def louder(x, rng):
    return average(x, rng) | {"server": x + rng.normal(scale=2.5, size=3)}


def renamed(x, rng):
    found = average(x, rng)
    return {"server": found["public"], "public": found["server"], "raw": found["raw"]}


def squared(x, rng):
    return {name: np.square(one) for name, one in average(x, rng).items()}


def test_the_code_of_the_reader_is_compared():
    content = json.loads(averaged())
    found = judged(content, mechanism=average)
    assert (found.failures, found.reservations, found.claim) == ((), (), "average")
    assert found.on_the_claim == "proved"
    assert not found.refutes_as_published
    for other in (louder, renamed, squared, mixed):
        assert judged(content, mechanism=other).failures


def hidden(x, rng):
    noise = 2.0**30 * rng.normal(size=3)
    return {"server": x + noise, "none": [x[0] * 0.0, x[0] - x[0], 0.1 * x[1] + 0.2 * x[1]]}


def test_large_noise_hides_no_other_coefficient():
    """A file whose program leaves the data out is not about code that has them."""
    content = written(hidden)
    assert judged(content, mechanism=hidden).failures == ()
    for change in ({"times": [0.0] * 3}, {"times": [1.00001] * 3}):
        moved = json.loads(json.dumps(content))
        terms = [term for one in moved["instance"]["blocks"] for term in one.get("sum", ())]
        (data,) = [one for one in terms if one == {"of": [0, 1, 2]}]
        data |= change
        assert any("output" in one for one in judged(moved, mechanism=hidden).failures)


def test_a_coefficient_that_cancels_has_no_room_beside_its_summands():
    """Rounding of what is summed is allowed for, by the code alone, and no more."""
    same = reread._is_same_row
    assert same({0: 1.0}, {"0": (1.0 + 1e-10, 1.0), "5": (1e-17, 0.6)})
    assert not same({0: 1e9}, {"0": (1e9, 1e9), "5": (1.0, 1.0)})
    assert not same({0: 1e9, 5: 1.0}, {"0": (1e9, 1e9)})
    assert not same({0: 1e9}, {"0": (1e9, 1e9), "5": (1.0, 1e9)})


def test_whose_numbers_an_observer_sees_is_no_choice_of_the_file():
    content = json.loads(averaged())
    first, second = content["instance"]["observers"][:2]
    first["at"], second["at"] = second["at"], first["at"]
    for view in content["instance"]["views"]:
        true = true_mu(content, view)
        view |= dict.fromkeys(("lower", "upper"), "Infinity" if math.isinf(true) else true)
    assert judged(content).verified  # true of the file, which says that it is only that
    assert judged(content).reservations
    failures = judged(content, mechanism=average).failures
    assert len(failures) == 2


def test_what_only_the_file_says_is_reserved():
    seen = {"half": lambda out: out["server"][:1], "pair": ["server", "public"]}
    content = written(average, observers=seen, about={"last": 2})
    found = judged(content, mechanism=average)
    assert found.failures == ()
    assert len(found.reservations) == 2
    assert "half" in found.reservations[0]
    assert "last" in found.reservations[1]
    assert "pair (server, public) about last" in found.summary


def test_the_shape_of_a_file_makes_no_large_array():
    content = json.loads(averaged())
    content["instance"]["private"] = {"array": [10**6, 10**6]}
    with pytest.raises(DpauditError, match=r"instance\.private"):
        judged(content, mechanism=average)


def test_the_verifier_uses_nothing_of_what_wrote_the_file():
    for name in ("views", "linear"):
        tree = ast.parse((ROOT / "dpaudit" / "verification" / f"{name}.py").read_text())
        nodes = list(ast.walk(tree))
        modules = [one.module or "" for one in nodes if isinstance(one, ast.ImportFrom)]
        modules += [each.name for one in nodes if isinstance(one, ast.Import) for each in one.names]
        assert not [one for one in modules if "affine" in one]
