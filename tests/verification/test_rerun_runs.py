"""What a verifier reads off the runs of a reader's code, in the process where that is."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dpaudit.freezing.outputs import flatten_output
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call, Meeting
from dpaudit.verification import rerun_replay

KEY = "laplace(0;)#0"


def run(*calls):
    return Run(seed=1, calls=list(calls))


def call(kind="laplace", draw=0.5, key=KEY, **given):
    fields = {"index": 0, "name": kind, "place": "p", "stack": (), "shape": np.shape(draw)}
    return Call(kind=kind, key=key, draw=draw, **fields | given)


@pytest.mark.parametrize(
    ("kind", "made", "found"),
    [
        ("laplace", "", (0.3, "laplace")),
        ("uniform", "", (0.3, "uniform")),
        ("uniform", "inverted", (math.log(0.6), "laplace")),
        ("uniform", "-log(u)", (-math.log(0.3), "exponential")),
        ("uniform", "-log(1-u)", (-math.log(0.7), "exponential")),
        ("normal", "inverted", None),
        ("normal", "-log(u)", None),
        ("exponential", f"less 1 of {KEY}", (0.3 - 0.8, "laplace")),
        ("uniform", f"less 1 of {KEY}", (math.log(0.8) - math.log(0.3), "laplace")),
        ("normal", f"less 1 of {KEY}", None),
        ("exponential", f"less 2 of {KEY}", None),
        ("exponential", "less 1 of b", None),
    ],
)
def test_a_draw_is_made_as_the_file_says(kind, made, found):
    given = rerun_replay._find_standard_draw(run(call(kind, np.array([0.3, 0.8]))), KEY, 0, made)
    assert given == (None if found is None else (pytest.approx(found[0]), found[1]))


def test_the_inverse_of_a_uniform_draw_is_symmetric():
    for u in (0.1, 0.4, 0.49):
        low, high = (
            rerun_replay._find_standard_draw(run(call("uniform", x)), KEY, 0, "inverted")[0]
            for x in (u, 1 - u)
        )
        assert low == pytest.approx(math.log(2 * u))
        assert high == pytest.approx(-low)


def test_a_draw_of_two_sorts_or_beyond_its_entries_is_none():
    sorts = run(call("exponential", 0.3), call("uniform", 0.8, key="b"))
    assert rerun_replay._find_standard_draw(sorts, KEY, 0, "less 0 of b") is None
    one = run(call(draw=np.array([0.3, 0.8])), call(key="b", draw=None))
    assert rerun_replay._find_raw_draw(one, KEY, 1) == (0.8, "laplace")
    assert rerun_replay._find_raw_draw(one, KEY, 2) is None
    assert rerun_replay._find_raw_draw(one, KEY, -1) is None
    assert rerun_replay._find_raw_draw(one, "b", 0) is None
    declared = {"epsilon": 0.5, "sensitivity": 2.0, "delta": 0.0}
    of_package = run(call("diffprivlib.Laplace", 3.0, declared=declared))
    assert rerun_replay._find_raw_draw(of_package, KEY, 0) == (0.75, "laplace")


@pytest.mark.parametrize(
    ("said", "known"),
    [({"epsilon": 0.0, "sensitivity": 1.0}, False), ({"epsilon": 1.0, "sensitivity": 0.0}, False),
     ({"epsilon": 1.0}, False), ({"epsilon": 1.0, "sensitivity": 1.0}, True)],
)  # fmt: skip
def test_a_mechanism_without_numbers_has_no_law(said, known):
    assert (rerun_replay._get_documented_law("diffprivlib.Laplace", said) is not None) is known
    assert rerun_replay._get_documented_law("another.Laplace", said) is None


def test_a_hint_is_the_last_sum_or_the_place_of_the_entry():
    place = call(location=np.array([1.0, 2.0]), scale=3.0, draw=np.zeros(2))
    assert rerun_replay._get_draw_hint(run(place), (KEY, 1, "")) == (2.0, 3.0)
    place.meetings = [Meeting("p", 9.0, 9.0), Meeting("p", 5.0, -2.0)]
    assert rerun_replay._get_draw_hint(run(place), (KEY, 1, "")) == (5.0, -6.0)
    assert rerun_replay._get_draw_hint(run(call(draw=np.zeros(2))), (KEY, 1, "")) is None
    assert rerun_replay._get_draw_hint(run(call(key="b")), (KEY, 0, "")) is None
    assert rerun_replay._get_draw_hint(run(call(location=4.0)), (KEY, 0, "")) == (4.0, 1.0)
    assert rerun_replay._get_single_hint({(1.0, 2.0)}) == (1.0, 2.0)
    assert rerun_replay._get_single_hint({(1.0, 2.0), (1.0, 3.0)}) is None


Z = np.random.default_rng(3).laplace(size=30)


def test_the_line_of_most_runs_is_found_past_those_that_are_clipped():
    line = rerun_replay._through_most(3.0 - 2.0 * Z, Z)
    assert line == (pytest.approx(3.0), pytest.approx(-2.0))
    clipped = np.clip(3.0 - 2.0 * Z, 1.0, 5.0)
    line = rerun_replay._through_most(clipped, Z)
    assert line == (pytest.approx(3.0), pytest.approx(-2.0))
    assert rerun_replay._through_most(np.full(30, 3.0), Z) is None
    assert rerun_replay._through_most(Z, np.full(30, 3.0)) is None


@pytest.mark.parametrize(
    ("value", "ends"),
    [
        (lambda z: z, [None, None]),
        (lambda z: np.clip(z, -1.0, np.inf), [-1.0, None]),
        (lambda z: np.clip(z, -np.inf, 0.5), [None, 0.5]),
        (lambda z: np.clip(z, -1.0, 0.5), [-1.0, 0.5]),
        (lambda z: np.where(z > 0.5, 0.5 - 1e-3 * z, z), None),
        (lambda z: np.minimum(z, np.sort(z)[-2:].mean()), None),  # one run is no end
        (lambda z: np.maximum(z, np.sort(z)[:2].mean()), None),
    ],
)
def test_what_is_beyond_an_end_is_that_end_in_several_runs(value, ends):
    assert rerun_replay._find_clip_ends((0.0, 1.0), value(Z), Z, "") == ends


def test_every_run_is_on_its_line_or_at_the_end_of_the_clip():
    line, none = (3.0, -2.0), (None, None)
    right = 3.0 - 2.0 * Z

    def accounted(o, ends=none, post="", line=line):
        return rerun_replay._is_line_accounted(line, ends, o, Z, post)

    assert accounted(right)
    assert accounted(np.clip(right, 1.0, 5.0), (1.0, 5.0))
    assert accounted(np.clip(right, 1.0, np.inf), (1.0, None))
    assert accounted(np.clip(right, -np.inf, 5.0), (None, 5.0))
    assert not accounted(np.clip(right, 1.0, 5.0))
    assert not accounted(right, (1.0, 5.0))
    assert accounted(np.round(right), post="round")
    assert not accounted(np.floor(right), post="round")
    for wrong in (1e-4, -1e-4, np.inf, np.nan):
        o = right.copy()
        o[7] += wrong
        assert not accounted(o)
        assert not accounted(np.round(right) + np.where(np.arange(30) == 7, wrong, 0), post="round")


@pytest.mark.parametrize(
    ("off", "post", "due"),
    [
        (0.9e-8 * 2.0, "", True),  # 1e-8 of the scale, and of every scale that a draw is out
        (1.2e-8 * 2.0, "", False),
        (1e-10, "round", False),  # a whole number is one, or another number
        (-1e-10, "ceil", False),
    ],
)
def test_a_number_is_off_by_so_much_of_its_scale(off, post, due):
    z = np.zeros(3)
    line, none = (0.0, -2.0), (None, None)
    assert rerun_replay._is_line_accounted(line, none, z + off, z, post) is due
    far = np.array([1.0, -3.0])
    missed = off * (1 + np.abs(far))
    assert rerun_replay._is_line_accounted(line, none, -2.0 * far + missed, far, "") is (
        abs(off) < 2e-8
    )


def test_single_precision_is_seen_and_whole_numbers_are_none():
    assert rerun_replay._estimate_rounding_unit(Z) == 1e-13
    assert rerun_replay._estimate_rounding_unit(Z.astype(np.float32).astype(float)) == 6e-8
    assert rerun_replay._estimate_rounding_unit(np.array([1.0, 2.0])) == 1e-13


@pytest.mark.parametrize(("share", "explained"), [(0.5, True), (0.3, False)])
def test_a_line_explains_so_many_of_the_ordinary_runs(share, explained):
    o = 3.0 - 2.0 * Z
    wrong = o.copy()
    wrong[round(24 * share) :] += 100.0
    assert rerun_replay._is_line_explaining((3.0, -2.0), wrong, Z, "") is explained
    whole = np.round(o)
    whole[round(24 * share) :] += 100.0
    assert rerun_replay._is_line_explaining((3.0, -2.0), whole, Z, "round") is explained
    assert not rerun_replay._is_line_explaining((3.0, 0.0), o, Z, "")
    assert not rerun_replay._is_line_explaining((math.inf, -2.0), o, Z, "")


@pytest.mark.parametrize("first", [1, 2, 25, 2**40])
def test_runs_of_far_noise_are_others_than_those_that_spare_a_draw(monkeypatch, first):
    asked = []

    def once(function, data, seed, spared=frozenset()):
        asked.append((data, seed, spared))
        return run(call()), flatten_output([1.0])

    monkeypatch.setattr(rerun_replay, "_run_recorded", once)
    both = [KEY, 0, ""], [KEY, 1, ""]
    task = {"data": ("own", "other"), "conditions": [[0, list(both), ["", ""]]]}
    rerun_replay._fit_condition_laws(None, task, first)
    for n, data in enumerate(("own", "other")):
        plain = [seed for d, seed, spared in asked if d == data and not spared]
        sparing = [seed for d, seed, spared in asked if d == data and spared]
        assert plain[:24] == list(range(first, first + 24))
        assert sum(seed < 0 for seed in plain) == 6
        assert len(sparing) == 24
        assert max(sparing) < 0
        assert len({*plain, *sparing}) == 54
        assert {s for d, _, s in asked if d == data and s} == {frozenset({(KEY, n)})}
        # Both ends of the far draws: of two seeds that follow each other, one has each.
        assert {seed % 2 for seed in plain[24:]} == {seed % 2 for seed in sparing} == {0, 1}


# A declaration, and counts


def declared(monkeypatch, *centres, said=1.0):
    """Return the declaration of a call that had these centres on the two datasets."""
    made = {n: list(each) for n, each in enumerate(centres)}

    def once(function, data, seed, *_):
        places = made[data]
        value = places[seed % len(places)]
        calls = [call(location=one, declared={"sensitivity": said}) for one in value]
        return run(*calls), None

    monkeypatch.setattr(rerun_replay, "_run_recorded", once)
    return rerun_replay._measure_declared_movement(None, {"declared": KEY, "data": (0, 1)}, 1)


def test_a_declaration_is_of_one_call_whose_value_no_noise_moves(monkeypatch):
    assert declared(monkeypatch, [[1.0]], [[3.0]]) == (2.0, 1.0)
    vector = [np.array([1.0, 5.0])], [np.array([0.5, 8.0])]
    assert declared(monkeypatch, [vector[0]], [vector[1]]) == (3.0, 1.0)
    assert declared(monkeypatch, [[1.0], [1.1]], [[3.0]]) is None
    assert declared(monkeypatch, [[1.0]], [[3.0], [3.1]]) is None
    assert declared(monkeypatch, [[1.0, 1.0]], [[3.0]]) is None
    assert declared(monkeypatch, [[]], [[3.0]]) is None
    assert declared(monkeypatch, [[None]], [[3.0]]) is None
    assert declared(monkeypatch, [[1.0]], [[np.zeros(2)]]) is None
    assert declared(monkeypatch, [[math.inf]], [[3.0]]) is None
    assert declared(monkeypatch, [[1.0]], [[3.0]], said=None) is None


def hits(function, favours=0, count=40, **task):
    given = {"data": (0, 1), "favours": favours, "seed": 3, "count": count, "seconds": 60.0}
    return rerun_replay._count_fresh_hits(function, given | {"counted": ["number", 0]} | task)


@pytest.mark.parametrize("favours", [0, 1])
def test_counts_are_of_the_side_that_is_favoured(favours):
    assert hits(lambda data, rng: 7.0 if data == favours else rng.normal(), favours)[0] == (
        40,
        0,
        40,
    )
    assert hits(lambda data, rng: 7.0, favours) == ((40, 40, 40), 7.0)
    assert hits(lambda data, rng: str(data), favours, counted=["text", 0]) == ((40, 0, 40), None)


def test_counts_are_of_fresh_runs_alone_and_of_each_its_own():
    """Runs that chose a value are not counted, and no run is counted twice."""
    seen = []

    def release(data, rng):
        seen.append((data, float(rng.normal())))
        return 0.0

    assert hits(release)[0] == (40, 40, 40)
    assert len(seen) == 9 + 2 * 40
    assert len({value for _, value in seen}) == len(seen)
    assert sum(data == 0 for data, _ in seen) == 9 + 40
    assert seen[9:49] != [(n % 2, v) for n, (_, v) in enumerate(seen[9:49])]  # by chance


def test_what_every_other_call_returns_is_no_event():
    calls = iter(range(10**6))
    (own, other, made), _ = hits(lambda data, rng: float(next(calls) % 2), count=200)
    assert own + other == made == 200
    assert 60 < own < 140


def test_the_commonest_value_is_counted_whatever_the_first_run_gave():
    assert rerun_replay._find_commonest_value([1.0, 2.0, 2.0]) == 2.0
    assert rerun_replay._find_commonest_value(["a"]) == "a"


def test_values_are_of_their_place_and_a_missing_number_is_itself():
    output = flatten_output([1.0, float("nan"), "a", 4.0])

    def value(**task):
        return rerun_replay._get_counted_value(output, task)

    assert value(counted=["number", 0]) == 1.0
    assert value(counted=["number", 1]) == "nan"
    assert value(counted=["text", 0]) == "a"
    assert value(counted=["number", 9]) is None
    assert value(counted=["text", 1]) is None
    assert value(counted=["structure", 0]) == output.structure
    assert value(contrast=[0, 2, -0.5, 1e-7]) == 1.0 - 0.5 * 4.0
    assert value(contrast=[0, 3, 1.0, 1e-7]) is None
    assert value(contrast=[3, 0, 1.0, 1e-7]) is None
    close = {"contrast": [0, 2, 1.0, 1e-7]}
    assert rerun_replay._is_counted_equal(1.0, 1.0 + 0.9e-7, close)
    assert not rerun_replay._is_counted_equal(1.0, 1.0 + 1.1e-7, close)
    assert not rerun_replay._is_counted_equal(1.0, 1.0 - 1.1e-7, close)
    assert not rerun_replay._is_counted_equal(None, 1.0, close)
    assert not rerun_replay._is_counted_equal(1.0, 1.0 + 1e-15, {"counted": ["number", 0]})


def test_a_law_keeps_its_problem_and_gets_one_where_other_noise_moves_it():
    law = {"problem": None, "centre": 3.0, "factor": -2.0, "low": None, "high": None, "post": ""}

    def still(values, **given):
        runs = [
            (run(call(draw=float(z))), flatten_output([v])) for z, v in zip(Z, values, strict=True)
        ]
        return rerun_replay._require_unmoved_law(law | given, runs, 0, (KEY, 0, ""))["problem"]

    right = (3.0 - 2.0 * Z).tolist()
    assert still(right) is None
    assert still(right, problem="old") == "old"
    assert "other noise" in still([*right[:-1], 50.0])
    assert "other noise" in still(right, low=1.0)
    assert still(np.clip(right, 1.0, np.inf).tolist(), low=1.0) is None
    gone = [(run(), flatten_output([1.0]))]
    assert rerun_replay._require_unmoved_law(law, gone, 0, (KEY, 0, ""))["problem"]
    short = [(run(call()), flatten_output([]))]
    assert rerun_replay._require_unmoved_law(law, short, 0, (KEY, 0, ""))["problem"]


def test_a_law_is_that_of_every_run():
    def of(values, draws=Z, place=0, post=""):
        runs = [
            (run(call(draw=float(z), location=3.0, scale=2.0)), flatten_output([v]))
            for z, v in zip(draws, values, strict=True)
        ]
        return rerun_replay._fit_number_law(runs, place, (KEY, 0, ""), post)

    right = 3.0 + 2.0 * Z
    found = of(right)
    assert (found["problem"], found["kind"], found["post"]) == (None, "laplace", "")
    assert (found["centre"], found["factor"]) == (pytest.approx(3.0), pytest.approx(2.0))
    assert (found["low"], found["high"]) == (None, None)
    assert found["numbers"] == right.tolist()
    assert found["draws"] == Z.tolist()
    assert found["error"] == pytest.approx(
        1e-15 * (np.abs(right[:24]).max() + np.abs(2.0 * Z[:24]).max()), rel=1e-6, abs=0.0
    )
    assert of(np.clip(right, 1.0, 5.0))["low"] == 1.0
    assert of(np.round(right), post="round")["centre"] == 3.0
    assert "no line" in of(np.round(right) + 1, post="round")["problem"]
    assert "no such number" in of(right, place=1)["problem"]
    assert "structure" in of([*right[:-1], "a"])["problem"]
    assert "not finite" in of([*right[:-1], math.inf])["problem"]
    assert of([*right[:5], 50.0, *right[6:]])["problem"]


def noisy(data, rng):
    return sum(data) + rng.laplace()


def test_where_outputs_have_to_be_unmoved_they_are_looked_at_after_others_and_nothing_else(
    monkeypatch,
):
    asked = []

    def after_others(function, data, own, common, reads):
        asked.append((function([1.0, 2.0], np.random.default_rng(0)), data, own, common, reads))
        return [[0.5], [None]]

    monkeypatch.setattr(rerun_replay, "after_others", after_others)
    task = {
        "code": noisy, "form": None, "read": None, "unmoved": [["text", 2]], "own": 3,
        "data": [[1.0], [2.0]], "seed": 2**40 + 6,
    }  # fmt: skip
    found = json.loads(rerun_replay.run_replay_task(task))
    assert found == {"values": [[0.5], [None]]}
    due = 3.0 + np.random.default_rng(0).laplace()
    assert asked == [(due, ([1.0], [2.0]), 3, 7, [["text", 2]])]
