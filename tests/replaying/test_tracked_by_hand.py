"""Numbers that remember their noise: what each operation notes, and what a glimpse makes of it."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from dpaudit.freezing import glimpse, outputs, packages, seeds, states, tracked_noise
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call, remembering


def a_call(index=0, **given):
    return Call(index, "normal", "n", "f.py:1 in f", (), (), "k", **given)


def noisy(value=0.5, centre=0.0, factor=1.0, index=0):
    call = a_call(index)
    return remembering(value, call, np.asarray(centre), factor), call


# --- meetings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.5, np.array([0.5, -2.0])])
@pytest.mark.parametrize(
    ("use", "centre", "factor"),
    [
        (lambda z: z + 3.0, 3.0, 1.0),
        (lambda z: 3.0 + z, 3.0, 1.0),
        (lambda z: z - 3.0, -3.0, 1.0),
        (lambda z: 3.0 - z, 3.0, -1.0),
        (lambda z: 2.0 * z + 3.0, 3.0, 2.0),
        (lambda z: z * -2.0 + 3.0, 3.0, -2.0),
        (lambda z: z / 4.0 + 3.0, 3.0, 0.25),
        (lambda z: -z + 3.0, 3.0, -1.0),
        (lambda z: 3.0 - 2.0 * z, 3.0, -2.0),
        (lambda z: z + np.float64(3.0), 3.0, 1.0),
        (lambda z: np.float64(3.0) - z, 3.0, -1.0),
        (lambda z: 3 - z, 3.0, -1.0),
    ],
)
def test_a_sum_notes_its_centre_and_what_the_noise_is_times(value, use, centre, factor):
    made, call = noisy(value, np.zeros(np.shape(value)))
    found = use(made)
    assert np.array_equal(tracked_noise.plain(found), use(value))
    (met,) = call.meetings
    assert np.array_equal(met.centre, np.full(np.shape(value), centre))
    assert met.factor == factor
    assert "test_tracked_by_hand.py" in met.place


@pytest.mark.parametrize(
    "use",
    [
        lambda z, y: z * z,
        lambda z, y: 1.0 / z,
        lambda z, y: z**2,
        lambda z, y: abs(z),
        lambda z, y: z + y,
        lambda z, y: z * y + 1.0,
        lambda z, y: z // 2 + 1.0,
        lambda z, y: float(z) + 1.0,
        lambda z, y: np.exp(z) + 1.0,
        lambda z, y: int(z) + 1.0,
    ],
)
def test_what_is_no_sum_of_one_noise_notes_nothing(use):
    (made, call), (other, met) = noisy(), noisy(0.25)
    assert tracked_noise.plain(use(made, other)) == use(0.5, 0.25)
    assert call.meetings == met.meetings == []


def test_a_sum_is_a_float_where_plain_ones_are_and_of_numpy_where_they_are():
    made, _ = noisy()
    for found in (made + 1.0, made - 1, 2 * made, -made, made + made, 1 + made):
        assert isinstance(found, float)
        assert not isinstance(found, np.generic)
    for found in (made + np.float64(1.0), np.int64(1) + made, np.float64(1.0) - made):
        assert isinstance(found, np.float64)
    assert (made + np.array([1.0, 2.0])).tolist() == [1.5, 2.5]
    assert made.__add__("a") is NotImplemented
    assert type(made + 1j) is complex


def test_further_sums_are_noted_with_what_was_added_before():
    made, call = noisy()
    _ = (made + 1.0) + 2.0
    assert [float(one.centre) for one in call.meetings] == [1.0, 3.0]
    for _ in range(100):
        made + 1.0
        call.compare(tracked_noise.Comparison(0.0, 0.0, ()))
    assert len(call.meetings) == len(call.comparisons) == tracked_noise.MOST_MEETINGS == 64


@pytest.mark.parametrize("one", [np.float64(1.0), np.int64(1)])
def test_sums_with_numbers_of_numpy_are_plain_to_the_last_bit_and_keep_their_noise(one):
    made, call = noisy()
    total = 2.0 * (one - made)
    assert (total.call, float(total.centre), total.factor) == (call, 2.0, -2.0)
    assert total == 1.0
    assert total.item() == 1.0
    assert type(total.item()) is float
    assert pickle.loads(pickle.dumps(total)) == 1.0
    assert type(copy.deepcopy(total)) is type(total)
    assert isinstance(np.exp(total), np.float64)
    assert total > made
    assert type(tracked_noise.plain(total)) is np.float64


def test_noise_is_written_into_arrays_with_its_memory():
    made, call = noisy(np.array([0.5, 1.5]), np.zeros(2))
    kept = made
    kept += 3.0
    assert kept is made
    assert (kept.call, kept.centre.tolist(), kept.factor) == (call, [3.0, 3.0], 1.0)
    assert kept.tolist() == [3.5, 4.5]
    kept *= 2.0
    assert (kept.centre.tolist(), kept.factor) == ([6.0, 6.0], 2.0)
    np.exp(kept, out=kept)
    assert (kept.call, kept.centre, kept.factor) == (None, None, 1.0)
    plain = np.array([1.0, 2.0])
    plain += noisy(np.array([0.5, 1.5]), np.zeros(2))[0]
    assert type(plain) is np.ndarray
    assert plain.tolist() == [1.5, 3.5]


def test_an_array_that_noise_is_written_over_is_a_centre_as_it_was():
    made, call = noisy(np.array([0.5, 1.5]), np.zeros(2))
    plain = np.array([1.0, 2.0])
    plain += made
    assert call.meetings[0].centre.tolist() == [1.0, 2.0]


def test_parts_and_copies_have_no_memory():
    made, _ = noisy(np.array([0.5, 1.5]), np.zeros(2))
    assert made[:1].call is None
    assert type(tracked_noise.plain(made)) is np.ndarray
    assert type(pickle.loads(pickle.dumps(made))) is np.ndarray
    one, _ = noisy()
    assert type(pickle.loads(pickle.dumps(one))) is float
    assert copy.deepcopy(one) is one
    assert made.sum() == 2.0
    assert np.add.reduce(made) == 2.0


@pytest.mark.parametrize(
    "value", [1, True, "a", None, np.array([1, 2]), np.array(0.5), np.float32(1)]
)
def test_what_is_no_float_and_no_array_of_floats_remembers_nothing(value):
    assert remembering(value, a_call(), 0.0) is value


# --- comparisons ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compare", "difference", "centre", "terms"),
    [
        (lambda z, y: z > 2.0, -1.5, -1.0, ((3, 4.0),)),
        (lambda z, y: z <= 2.0, -1.5, -1.0, ((3, 4.0),)),
        (lambda z, y: 2.0 < z, -1.5, -1.0, ((3, 4.0),)),
        (lambda z, y: np.float64(2.0) >= z, 1.5, 1.0, ((3, -4.0),)),
        (lambda z, y: z < y, 0.25, -4.0, ((3, 4.0), (5, -6.0))),
        (lambda z, y: y >= z, -0.25, 4.0, ((5, 6.0), (3, -4.0))),
    ],
)
def test_a_comparison_notes_both_differences_and_the_noise_in_them(
    compare, difference, centre, terms
):
    one, call = noisy(0.5, 1.0, 4.0, index=3)
    other, second = noisy(0.25, 5.0, 6.0, index=5)
    assert compare(one, other) == compare(0.5, 0.25)
    (found,) = call.comparisons or second.comparisons
    assert (float(found.difference), float(found.centre), found.terms) == (
        difference, centre, terms,
    )  # fmt: skip


def test_comparisons_of_arrays_are_of_every_entry():
    one, call = noisy(np.array([0.5, 1.5]), np.array([1.0, 2.0]))
    assert (one > 1.0).tolist() == [False, True]
    (found,) = call.comparisons
    assert (found.difference.tolist(), found.centre.tolist()) == ([-0.5, 0.5], [0.0, 1.0])
    single, met = noisy()
    assert single.__lt__("a") is NotImplemented
    assert met.comparisons == []
    assert np.maximum(one, 1.0).tolist() == [1.0, 1.5]
    assert len(call.comparisons) == 1


# --- places ---------------------------------------------------------------------------------------


def frames_of(monkeypatch, *calls):
    monkeypatch.setattr(tracked_noise, "_calls", lambda: iter(calls))
    return tracked_noise.frames(), tracked_noise.place()


def test_calls_of_installed_packages_are_left_out_where_there_is_other_code(monkeypatch):
    package = "/usr/lib/python3/site-packages/package/inner.py"
    own = ("/home/me/inner.py", 3, "inner"), ("/home/me/outer.py", 9, "outer")
    found = frames_of(monkeypatch, (package, 1, "of"), own[0], (package, 2, "to"), own[1])
    assert found == (["outer.py:9 in outer", "inner.py:3 in inner"], "inner.py:3 in inner")
    found = frames_of(monkeypatch, (package, 1, "of"), (package, 2, "to"))
    assert found == (["inner.py:2 in to", "inner.py:1 in of"], "inner.py:1 in of")
    assert frames_of(monkeypatch) == ([], "?")


def test_calls_are_those_of_neither_libraries_nor_these_modules():
    (file, line, name), *further = list(tracked_noise._calls())
    assert (file, name) == (__file__, "test_calls_are_those_of_neither_libraries_nor_these_modules")
    assert line > 0
    assert not any("numpy" in one for one, _, _ in further)


@pytest.mark.parametrize(
    ("file", "installed"),
    [
        (pickle.__file__, True),
        (np.__file__, True),
        (__file__, False),
        ("<frozen importlib>", True),
        ("<stdin>", False),
    ],
)
def test_installed_are_pythons_own_files_and_packages(file, installed):
    assert tracked_noise.is_installed(file) is installed


# --- glimpses -------------------------------------------------------------------------------------


def run(*calls, value=1.0, error=None, warned=()):
    return Run(seed=1, value=value, error=error, calls=list(calls), warned=list(warned))


def met(*centres, scale=2.0, factor=1.0, **given):
    call = a_call(scale=scale, **given)
    for one in centres:
        call.meet(one, factor)
    return call


@pytest.mark.parametrize(
    ("one", "other", "moved"),
    [
        (met(1.0), met(4.0), 1.5),
        (met(1.0, factor=-3.0), met(4.0, factor=-3.0), 0.5),
        (met(1.0, 5.0), met(4.0, 5.0), 1.5),
        (met(1.0, 5.0), met(1.0, 9.0), 2.0),
        (met(1.0), met(), None),
        (met(), met(), None),
        (met(location=1.0), met(location=4.0), 1.5),
        (met(location=1.0), met(), None),
        (met([1.0, 2.0]), met([2.0, 4.0]), 1.5),
        (met(1.0), met(1.0), 0.0),
    ],
)
def test_a_movement_is_the_largest_of_a_call_in_scales(one, other, moved):
    assert glimpse.compute_scaled_movement(one, other) == moved
    assert glimpse.compute_scaled_movement(other, one) == moved


def test_movements_of_entries_add_up_or_their_squares_do():
    one, other = met([0.0, 0.0, 7.0]), met([6.0, 8.0, 7.0])
    assert glimpse.compute_scaled_movement(one, other) == 7.0
    assert glimpse.compute_scaled_movement(one, other, squared=True) == 5.0


@pytest.mark.parametrize(
    ("one", "other", "moved"),
    [
        (run(met(1.0)), run(met(4.0)), 1.5),
        (run(met(1.0), met(0.0)), run(met(4.0), met(5.0)), 4.0),
        (run(met(1.0)), run(), 1e6),
        (run(met(1.0)), run(met(1.0), error="ValueError"), 1e6),
        (run(met(1.0)), run(met(1.0), warned=["w"]), 1e6),
        (run(met(1.0)), run(met(1.0), value=2.0), 1e3),
        (run(met(1.0)), run(met(4.0), value=2.0), 1.5),
        (run(met(1.0)), run(met(1.0)), 0.0),
        (run(met(0.0)), run(met(1e9)), 5e5),
    ],
)
def test_runs_are_apart_by_all_their_movements_or_by_what_nobody_saw(one, other, moved):
    assert glimpse._movement(one, other) == moved


def test_declared_is_the_epsilon_of_mechanisms_whose_value_moves():
    here = [
        met(location=1.0, declared={"epsilon": 0.5}),
        met(location=2.0, declared={"epsilon": 3}),
    ]
    then = [met(location=1.0), met(location=9.0)]
    assert glimpse._get_declared_epsilon(run(*here), run(*then)) == 3.0
    assert glimpse._get_declared_epsilon(run(*then), run(*here)) == 0.0
    assert glimpse._get_declared_epsilon(run(met()), run(met(location=1.0))) == 0.0


@pytest.mark.parametrize(
    ("scale", "declared", "found"),
    [
        (None, {"epsilon": 2.0, "sensitivity": 3.0}, 1.5),
        (None, {"epsilon": 0.0, "sensitivity": 3.0}, None),
        (None, {"epsilon": 2.0}, None),
        (5.0, {"epsilon": 2.0, "sensitivity": 3.0}, 5.0),
    ],
)
def test_the_scale_of_a_mechanism_of_a_package_is_what_it_declares(scale, declared, found):
    assert glimpse._scale(a_call(scale=scale, declared=declared)) == found


def test_a_function_is_given_a_generator_by_any_of_its_names_and_one_trial():
    def single(data, k, generator):
        return data + k + generator

    def several(data, trials, random_state):
        return [data * random_state] * trials

    assert glimpse.make_single_call(single, {"k": 10})(1, 100) == 111
    assert glimpse.make_single_call(several, {})(2, 5) == 10
    assert glimpse.make_single_call(lambda data: data, {})(7, None) == 7


# --- outputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "structure", "numbers", "paths", "texts"),
    [
        (None, "None", [], [], []),
        (True, "b", [1.0], ["output"], []),
        (np.bool_(False), "b", [0.0], ["output"], []),
        (np.int8(3), "f", [3.0], ["output"], []),
        (10**400, "f", [math.inf], ["output"], []),
        (-(10**400), "f", [-math.inf], ["output"], []),
        (b"\x01\xff", "t", [], [], ["01ff"]),
        ((1, [2.5, "a"]), "[f,[f,t]]", [1.0, 2.5], ["output[0]", "output[1][0]"], ["a"]),
        ({"b": 1, "a": 2}, "{'b':f,'a':f}", [1.0, 2.0], ["output['b']", "output['a']"], []),
        ({3, 1}, "{1,3}", [], [], []),
        (np.array([[1, 2]]), "array(1, 2)", [1.0, 2.0], ["output[0, 0]", "output[0, 1]"], []),
        (np.array(4.0), "array()", [4.0], ["output"], []),
        (np.array(["x"]), "array(1,)[t]", [], [], ["x"]),
        (print, "builtin_function_or_method", [], [], []),
    ],
)
def test_an_output_is_its_structure_its_numbers_and_its_texts(
    value, structure, numbers, paths, texts
):
    found = outputs.flatten_output(value)
    assert (found.structure, found.numbers, found.paths, found.texts) == (
        structure, numbers, paths, texts,
    )  # fmt: skip
    assert found.raised is None
    raised = outputs.flatten_output(value, "ValueError")
    assert (raised.structure, raised.numbers, raised.raised) == (
        "raises ValueError", [], "ValueError",
    )  # fmt: skip


def test_outputs_are_followed_twelve_deep_and_into_objects_and_tables():
    deep = 1.0
    for _ in range(12):
        deep = [deep]
    assert outputs.flatten_output(deep).numbers == [1.0]
    assert outputs.flatten_output([deep]).numbers == []
    import pandas as pd

    table = outputs.flatten_output(pd.DataFrame({"n": [1, 2], "s": ["x", "y"]}))
    assert table.structure == "table{'n':[f,f],'s':[t,t]}"
    assert table.paths == ["output['n'][0]", "output['n'][1]"]
    assert table.text_paths == ["output['s'][0]", "output['s'][1]"]
    series = outputs.flatten_output(pd.Series([1.5, 2.5]))
    assert (series.structure, series.numbers) == ("array(2,)", [1.5, 2.5])

    class Held:
        def __init__(self):
            self.n, self._hidden = 3, 4

    assert outputs.flatten_output(Held()).structure == "Held{'n':f}"
    assert outputs.flatten_output(Held()).numbers == [3.0]


# --- what a process keeps -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.5, 1.5 * (1 + 9e-12), True),
        (1.5, 1.5 * (1 + 3e-11), False),
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (math.inf, math.inf, True),
        ("a", "a", True),
        ("a", "b", False),
        (None, None, False),
        (None, 1.0, False),
        (1.0, "a", False),
    ],
)
def test_processes_agree_on_what_is_the_same_but_for_the_last_digits(one, other, same):
    assert states.agree([one], [other]) is same
    assert states.agree([one, 1.0], [other, 2.0]) is False


def test_what_is_read_of_an_output_is_its_structure_a_number_or_a_text():
    output = outputs.flatten_output([1.5, "a", 2.5])
    assert states._read(output, "structure", 0) == "[f,t,f]"
    assert [states._read(output, "number", n) for n in range(3)] == [1.5, 2.5, None]
    assert [states._read(output, "text", n) for n in range(2)] == ["a", None]


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0, 9.0])
def test_a_kept_coin_hardly_comes_up_the_same_in_so_many_processes(epsilon):
    needed = states.processes_for(epsilon)
    likely = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert likely**needed <= 1e-6 < likely ** (needed / 2.5)
    assert needed >= 16
    assert needed & (needed - 1) == 0


def processes(answers):
    """Return what gives further processes their answers, and how many were asked for."""
    asked = []

    def values_in(count):
        asked.append(count)
        first = sum(asked) - count
        return [answers(first + n) for n in range(count)]

    return values_in, asked


@pytest.mark.parametrize(
    ("differs_at", "asked", "unmoved"),
    [(None, [16] * 4, [True, True]), (3, [16] * 4, [True, False]), (40, [16] * 4, [True, False])],
)
def test_what_one_process_has_otherwise_is_moved(differs_at, asked, unmoved):
    values_in, found = processes(lambda n: [["a"], [1.0 if n != differs_at else 2.0]])
    assert states.are_unmoved(values_in, 1.0, lambda: False) == unmoved
    assert found == asked


def test_nothing_is_unmoved_in_too_few_processes():
    values_in, asked = processes(lambda n: [["a"]])
    assert states.are_unmoved(values_in, 1.0, lambda: True) == [False]
    assert asked == [16]
    values_in, asked = processes(lambda n: [["a"]])
    assert states.are_unmoved(values_in, 9.0, lambda: False) == [False]  # of 131072
    assert asked == [16]
    values_in, asked = processes(lambda n: [[n]])
    assert states.are_unmoved(values_in, 1.0, lambda: False) == [False]
    assert asked == [16]


# --- seeds and packages ---------------------------------------------------------------------------


def test_generators_of_one_seed_share_what_they_are_known_by():
    bits = np.random.PCG64(5)
    assert seeds.identity(bits, np.random.PCG64) == seeds.identity(5, np.random.PCG64)
    assert seeds.identity(5, np.random.PCG64) != seeds.identity(6, np.random.PCG64)
    assert seeds.identity(5, np.random.PCG64) != seeds.identity(5, np.random.Philox)
    assert seeds.identity("a", np.random.PCG64) == "PCG64 'a'"
    for one in (seeds._STATE, seeds._RANDOM):
        assert seeds.identity(5, one) == seeds.identity(5, one) != seeds.identity(6, one)


@pytest.mark.parametrize(
    ("given", "number"), [(1, 1.0), ("2.5", 2.5), (None, None), ([1], None), ("a", None)]
)
def test_what_a_mechanism_says_is_a_number_or_nothing(given, number):
    assert packages._number(given) == number


def test_the_noise_of_a_mechanism_is_what_it_returned_less_what_it_was_given():
    call = a_call()
    packages._note(call, [1.0, 2.0], np.array([1.5, 1.0]))
    assert (call.location.tolist(), call.draw.tolist(), call.shape) == ([1, 2], [0.5, -1.0], (2,))
    other = a_call()
    packages._note(other, [1.0, 2.0], 3.0)
    assert (other.location.tolist(), other.draw) == ([1.0, 2.0], None)
    text = a_call()
    packages._note(text, "a", "b")
    assert (text.location, text.draw) == (None, None)
    assert "value" in text.parameters


def test_mechanisms_of_a_package_are_those_that_randomise_themselves(monkeypatch):
    import sys
    import types

    class Laplace:
        def randomise(self, value):
            return value

    class Own(Laplace):
        pass

    home = types.ModuleType("diffprivlib.mechanisms")
    home.Laplace, home.Own, home.text = Laplace, Own, "randomise"
    monkeypatch.setitem(sys.modules, "diffprivlib.mechanisms", home)
    assert packages._diffprivlib() == [Laplace]
    undo, before = [], Laplace.randomise
    packages.replace(undo)
    assert Laplace.randomise is not before
    assert Laplace().randomise(3) == 3  # where nothing is recorded, as it was
    for one in undo:
        one()
    assert Laplace.randomise is before
    monkeypatch.delitem(sys.modules, "diffprivlib.mechanisms")
    assert packages._diffprivlib() == []


@pytest.mark.parametrize(
    ("file", "installed"),
    [
        ("/env/lib/site-packages/numpy/core.py", True),
        ("C:\\env\\site-packages\\numpy\\core.py", True),
        ("/usr/lib/python3/dist-packages/numpy/core.py", True),
        ("/home/me/privacy-packages/mine.py", False),
        ("/home/me/site-packages.py", False),
    ],
)
def test_only_a_folder_of_packages_holds_installed_files(file, installed):
    assert tracked_noise.is_installed(file) is installed
