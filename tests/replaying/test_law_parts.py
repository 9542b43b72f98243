"""Laws of numbers part by part: draws, lines, clips and roundings, each worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.freezing.observing import SideRuns
from dpaudit.freezing.outputs import flatten_output
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call, Meeting
from dpaudit.replaying import laws as module
from dpaudit.replaying.laws import (
    NumberLaw,
    StandardDraw,
    StandardDraws,
    _estimate_law_error,
    _estimate_precision,
    _find_candidate_lines,
    _find_constant_columns,
    _find_entry_hints,
    _fit_law,
    _is_law_explaining,
    _of_mechanism,
    draws_of,
    is_law_held,
    laws_of,
)

Z = np.random.default_rng(4).laplace(size=20)
FAR = np.array([-1e4, 1.5e4, -2e4, 1e4])
ALL = np.concatenate([Z, FAR])
KEY = "laplace(0;)#0"


def law(centre=3.0, factor=-2.0, **given):
    return NumberLaw("laplace", centre, factor, StandardDraw(KEY, 0), **given)


@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_of_a_clipped_number_the_ends_have_all_that_is_beyond(factor):
    one = law(0.0, factor, low=-1.0, high=2.0)
    tail = math.exp(-2.0) / 2
    assert one.at_least(2.0) == pytest.approx(tail)
    assert one.at_least(2.0 + 1e-9) == 0.0
    assert one.at_least(-1.0) == 1.0
    assert one.at_least(-1.0 + 1e-9) == pytest.approx(1 - math.exp(-1.0) / 2)
    assert one.at_most(2.0) == 1.0
    assert one.at_most(2.0 - 1e-9) == pytest.approx(1 - tail)
    assert one.at_most(-1.0) == pytest.approx(math.exp(-1.0) / 2)
    assert one.at_most(-1.0 - 1e-9) == 0.0


@pytest.mark.parametrize(
    ("post", "from_", "up_to"),
    [("round", 0.5, 1.5), ("floor", 1.0, 2.0), ("ceil", 0.0, 1.0), ("trunc", 1.0, 2.0)],
)
def test_a_rounded_number_is_1_from_one_edge_to_the_next(post, from_, up_to):
    one = law(0.0, 1.0, post=post)
    above = [math.exp(-edge) / 2 for edge in (from_, up_to)]
    for threshold in (1.0, 0.5, 0.1):
        assert one.at_least(threshold) == pytest.approx(above[0])
    for threshold in (1.0, 1.5, 1.9):
        assert one.at_most(threshold) == pytest.approx(1 - above[1])


def test_a_constant_is_at_its_value():
    one = NumberLaw("constant", 2.0)
    assert (one.at_least(2.0), one.at_least(2.1), one.at_most(2.0), one.at_most(1.9)) == (
        1,
        0,
        1,
        0,
    )


@pytest.mark.parametrize(
    ("kind", "said", "found"),
    [
        ("diffprivlib.Laplace", {"epsilon": 2.0, "sensitivity": 1.0}, ("laplace", 0.5)),
        (
            "diffprivlib.Laplace",
            {"epsilon": 2.0, "sensitivity": 1.0, "delta": 0.5},
            ("laplace", 1 / (2 + math.log(2))),
        ),
        (
            "diffprivlib.Gaussian",
            {"epsilon": 2.0, "sensitivity": 3.0, "delta": 1e-5},
            ("normal", math.sqrt(2 * math.log(1.25e5)) * 3.0 / 2.0),
        ),
        ("diffprivlib.Gaussian", {"epsilon": 2.0, "sensitivity": 3.0}, None),
        ("diffprivlib.Laplace", {"epsilon": 0.0, "sensitivity": 1.0}, None),
        ("diffprivlib.Laplace", {"epsilon": 2.0, "sensitivity": 0.0}, None),
        ("diffprivlib.Laplace", {"epsilon": 2.0}, None),
        ("diffprivlib.Laplace", {"epsilon": 2.0, "sensitivity": 1.0, "delta": 1.0}, None),
        ("diffprivlib.Geometric", {"epsilon": 2.0, "sensitivity": 1.0}, None),
    ],
)
def test_a_mechanism_of_a_package_has_the_law_that_it_documents(kind, said, found):
    made = _of_mechanism(Call(0, kind, "n", "p", (), (), "k", declared=said))
    assert made == (None if found is None else (found[0], pytest.approx(found[1])))


# Draws


def call(kind, draw, key=KEY, **given):
    return Call(0, kind, "n", "p", (), np.shape(draw), key, draw=draw, **given)


def side(*runs):
    return SideRuns(runs=[Run(seed=n, calls=list(calls)) for n, calls in enumerate(runs)])


def drawn(*runs):
    found = draws_of(side(*runs))
    named = zip(found.names, found.kinds, found.columns, strict=True)
    return {(one.entry, one.made): (kind, column.tolist()) for one, kind, column in named}


def test_every_entry_of_a_draw_that_all_runs_made_is_one():
    found = drawn([call("laplace", np.array([1.0, 2.0]))], [call("laplace", np.array([3.0, 4.0]))])
    assert found == {(0, ""): ("laplace", [1.0, 3.0]), (1, ""): ("laplace", [2.0, 4.0])}
    assert drawn([call("laplace", 1.0)], []) == {}
    assert drawn([call("laplace", 1.0)], [call("laplace", np.zeros(2))]) == {}
    assert drawn([call("laplace", None)], [call("laplace", 1.0)]) == {}
    assert drawn([call("laplace", 1.0)], [call("laplace", math.inf)]) == {}
    assert drawn([call("unheard", 1.0)], [call("unheard", 2.0)]) == {}


def test_people_make_noise_of_uniform_draws():
    found = drawn([call("uniform", 0.25)], [call("uniform", 0.9)])
    assert found[0, ""] == ("uniform", [0.25, 0.9])
    kind, inverted = found[0, "inverted"]
    assert kind == "laplace"
    assert inverted == pytest.approx([math.log(0.5), -math.log(0.2)])
    assert found[0, "-log(u)"] == ("exponential", pytest.approx([-math.log(0.25), -math.log(0.9)]))
    assert found[0, "-log(1-u)"] == (
        "exponential",
        pytest.approx([-math.log(0.75), -math.log(0.1)]),
    )


def test_two_exponential_draws_make_laplace_noise():
    first, second = call("exponential", 3.0, "a"), call("exponential", 1.0, "b")
    found = draws_of(side([first, second], [first, second]))
    (made,) = [n for n, one in enumerate(found.names) if one.made]
    assert found.names[made] == StandardDraw("a", 0, "less 0 of b")
    assert (found.kinds[made], found.columns[made].tolist()) == ("laplace", [2.0, 2.0])
    assert found.names[made].entries == {("a", 0), ("b", 0)}
    apart = draws_of(side(*[[first, call("laplace", 1.0), second]] * 2))
    assert not any(one.made for one in apart.names)


def test_a_mechanism_s_noise_is_in_its_scale():
    said = {"epsilon": 2.0, "sensitivity": 1.0}
    one = call("diffprivlib.Laplace", 3.0, declared=said)
    found = draws_of(side([one], [one]))
    assert (found.scales, found.declared, found.columns[0].tolist()) == ([0.5], [True], [6.0, 6.0])


def test_so_many_draws_are_read_and_more_are_said_to_be_cut(monkeypatch):
    monkeypatch.setattr(module, "_MOST_DRAWS", 2)
    found = StandardDraws()
    for n in range(3):
        found.add(StandardDraw("a", n), "laplace", np.zeros(2))
        assert found.cut is (n == 2)
    assert len(found.names) == 2
    assert found.matrix.shape == (2, 2)


def test_a_hint_is_a_sum_that_no_run_moves():
    def of(*calls):
        return _find_entry_hints(list(calls))

    place = call("laplace", np.zeros(2), location=np.array([1.0, 2.0]), scale=3.0)
    assert of(place, place) == [(1.0, 3.0), (2.0, 3.0)]
    moved = call("laplace", np.zeros(2), location=np.array([1.0, 2.1]), scale=3.0)
    assert of(place, moved) == of(moved, place) == [None, None]
    scaled = call("laplace", np.zeros(2), location=np.array([1.0, 2.0]), scale=3.1)
    assert of(place, scaled) == [None, None]
    met = call("laplace", 0.5, location=1.0, scale=3.0)
    met.meetings = [Meeting("p", 9.0, 9.0), Meeting("p", 5.0, -2.0)]
    assert of(met, met) == [(5.0, -6.0)]
    assert of(call("laplace", 0.5), call("laplace", 0.5)) == [None]
    assert of(met, call("laplace", 0.5)) == [None]


# Lines


def read(o, z=ALL, random=20, scale=1.0, hint=None):
    draws = StandardDraws()
    draws.add(StandardDraw(KEY, 0), "laplace", z, scale, False, hint)
    return _fit_law(o, random, z, draws, 0)


def test_a_line_is_read_with_its_sign_whatever_is_clipped():
    line = 3.0 - 2.0 * ALL
    for low, high in ((-math.inf, math.inf), (-5.0, math.inf), (-math.inf, 6.0), (-5.0, 6.0)):
        found = read(np.clip(line, low, high))
        assert (found.centre, found.factor) == (pytest.approx(3.0), pytest.approx(-2.0))
        assert (found.low, found.high, found.post) == (low, high, "")
    bent = np.where(line > 100, 100 + line / 10, line)
    assert read(bent) is None
    one_off = line.copy()
    one_off[3] += 1e-3
    assert read(one_off) is None
    assert read(np.where(np.arange(24) == 3, np.inf, line)) is None


@pytest.mark.parametrize("post", ["round", "floor", "ceil", "trunc"])
def test_a_rounded_line_needs_the_sum_that_was_seen(post):
    rounded = getattr(np, post)(3.3 + 20.0 * ALL)
    found = read(rounded, hint=(3.3, 20.0))
    assert (found.post, found.centre, found.factor) == (post, 3.3, 20.0)
    assert read(rounded) is None
    assert read(rounded, hint=(3.3, 10.0), scale=2.0).post == post
    if post != "trunc":
        assert read(rounded, hint=(4.8, 20.0)) is None


def test_lines_go_through_the_runs_that_are_not_clipped_and_as_they_were_seen():
    o = np.clip(3.0 - 2.0 * ALL, -5.0, 6.0)
    found = list(_find_candidate_lines(o, 20, ALL, (7.0, 1.0)))
    assert found[-1] == (7.0, 1.0)
    assert all(one == (pytest.approx(3.0), pytest.approx(-2.0)) for one in found[:-1])
    assert found[:-1]
    assert list(_find_candidate_lines(o, 20, ALL, (7.0, 0.0))) == found[:-1]
    assert list(_find_candidate_lines(o[:5], 5, ALL[:5], None)) == []


def test_a_law_holds_where_it_gives_every_number():
    o = 3.0 - 2.0 * Z
    assert is_law_held(law(), o, Z)
    for off in (1e-4, -1e-4, math.inf, math.nan):
        wrong = o.copy()
        wrong[11] += off
        assert not is_law_held(law(), wrong, Z)
    assert is_law_held(law(low=1.0), np.maximum(o, 1.0), Z)
    assert not is_law_held(law(), np.maximum(o, 1.0), Z)
    assert not is_law_held(law(low=1.0), o, Z)
    assert is_law_held(law(post="round"), np.round(o), Z)
    shifted = np.round(o)
    shifted[2] += 1
    assert not is_law_held(law(post="round"), shifted, Z)
    far = 3.0 - 2.0 * FAR
    assert is_law_held(law(), far + 1e-5, FAR)  # as far out a double has fewer digits
    assert not is_law_held(law(), 3.0 - 2.0 * Z + 1e-5, Z)


@pytest.mark.parametrize(("inside", "enough"), [(6, True), (5, False)])
def test_so_many_runs_have_to_be_inside_the_ends(inside, enough):
    z = np.linspace(-1.0, 1.0, 12)
    o = z.copy()
    high = (z[inside - 1] + z[inside]) / 2
    assert (
        _is_law_explaining(NumberLaw("laplace", 0.0, 1.0, high=high), np.minimum(o, high), z)
        is enough
    )
    assert (
        _is_law_explaining(NumberLaw("laplace", 0.0, -1.0, low=-high), np.maximum(-o, -high), z)
        is enough
    )
    assert not _is_law_explaining(NumberLaw("laplace", 0.0, 0.0), o, z)
    assert not _is_law_explaining(NumberLaw("laplace", 0.0, math.inf), o, z)


def test_a_centre_is_off_by_its_rounding_and_what_runs_miss():
    o = 3.0 - 2.0 * Z
    size = np.abs(o).max() + np.abs(2.0 * Z).max()
    assert _estimate_law_error(law(), o, Z) == pytest.approx(1e-15 * size, rel=0.3, abs=0.0)
    assert _estimate_law_error(law(), o + 1e-6, Z) == pytest.approx(1e-6, rel=1e-3)
    single = o.astype(np.float32).astype(float)
    assert _estimate_precision(single) == 3e-7
    assert _estimate_precision(o) == _estimate_precision(np.array([1.0, 2.0])) == 1e-13
    assert _estimate_law_error(law(), single, Z) > 1e-7


def test_a_constant_is_the_same_in_every_run_a_missing_number_too():
    nan = math.nan
    numbers = np.array([[1.0, nan, 1.0, nan], [1.0, nan, 2.0, 1.0], [1.0, nan, 1.0, nan]])
    assert _find_constant_columns(numbers) == [True, True, False, False]


def test_laws_are_of_outputs_of_one_structure():
    def of(*values, far=()):
        one = side(*[[call("laplace", float(z))] for z in [*Z, *FAR]])
        one.runs, one.far = one.runs[:20], one.runs[20:]
        one.outputs = [flatten_output(value) for value in values[:20]]
        one.far_outputs = [flatten_output(value) for value in values[20:]]
        return laws_of(one)

    line = [[3.0 - 2.0 * float(z), "a", 7.0] for z in ALL]
    found = of(*line)
    assert (found.texts, found.numbers[1].centre) == (("a",), 7.0)
    assert found.numbers[0].factor == pytest.approx(-2.0)
    changed = [*line[:-1], [line[-1][0], "b", 7.0]]
    assert of(*changed).texts is None
    assert of(*line[:-1], [1.0]).structure is None
    assert of(*line[:-1], [line[-1][0], "a", 7.5]).numbers[1] is None


@pytest.mark.parametrize("other", [None, (2.0, 1.0), (1.0, 2.0)])
def test_a_hint_is_given_where_every_call_met_the_same_centre_and_factor(other):
    def call(meets):
        made = Call(0, "laplace", "laplace", "", (), (2,), "", draw=np.zeros(2))
        made.meetings.extend([] if meets is None else [Meeting("", *meets)])
        return made

    same = call((1.0, 1.0))
    assert _find_entry_hints([same, same]) == [(1.0, 1.0)] * 2
    assert _find_entry_hints([same, call(other)]) == [None, None]
    assert _find_entry_hints([call(other), same]) == [None, None]
