"""Streams, ends, meetings and structures of frozen runs, part by part."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.freezing import observing, primitives, recorder, states
from dpaudit.freezing.observing import REACHES, SideRuns, same
from dpaudit.freezing.outputs import flatten_output
from dpaudit.freezing.recorder import FAR, State, Stream, standard
from dpaudit.freezing.seeds import LARGEST_SEED, identity, stream_of, twins
from dpaudit.freezing.states import agree, are_unmoved, processes_for
from dpaudit.freezing.tracked_noise import MOST_MEETINGS, Call, follow_operation, remembering


def call():
    return Call(0, "laplace", "n", "p", (), (), "k")


# Meetings


def test_a_centre_is_what_it_was_when_the_noise_met_it():
    one, centre = call(), np.array([1.0, 2.0])
    one.meet(centre, 1.0)
    centre += 5.0
    assert one.meetings[0].centre.tolist() == [1.0, 2.0]
    assert one.meetings[0].centre.dtype == float


def test_so_many_meetings_are_noted_and_no_more():
    one = call()
    for n in range(MOST_MEETINGS + 3):
        one.meet(float(n), 1.0)
    assert [float(m.centre) for m in one.meetings] == list(range(MOST_MEETINGS))


@pytest.mark.parametrize(
    ("made", "centre", "factor", "met"),
    [
        (lambda x: x + 5.0, 6.0, 1.0, 1),
        (lambda x: 5.0 + x, 6.0, 1.0, 1),
        (lambda x: x - 5.0, -4.0, 1.0, 1),
        (lambda x: 5.0 - x, 4.0, -1.0, 1),
        (lambda x: x * 3.0, 3.0, 3.0, 0),
        (lambda x: -3.0 * x, -3.0, -3.0, 0),
        (lambda x: x / 4.0, 0.25, 0.25, 0),
        (lambda x: -x, -1.0, -1.0, 0),
        (lambda x: 5.0 - 2.0 * x, 3.0, -2.0, 1),
        (lambda x: -(x + 5.0) / 2.0, -3.0, -0.5, 1),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_a_linear_function_of_noise_has_its_centre_and_factor(made, centre, factor, met, several):
    own = call()
    noise = np.array([0.25, 1.25]) if several else 0.25
    found = made(remembering(noise, own, 1.0 if not several else np.ones(2)))
    assert np.all(np.asarray(found.centre) == centre)
    assert np.all(np.asarray(found.factor) == factor)
    assert len(own.meetings) == met
    if met and np.ndim(found.factor) == 0 and made(2.0) != made(2.0) + 1:
        assert abs(float(np.asarray(own.meetings[0].factor))) in (1.0, 2.0)
    assert np.array_equal(np.asarray(found), made(noise))


def test_two_noises_and_one_over_noise_are_not_followed():
    one, other = (remembering(0.5, call(), 1.0) for _ in range(2))
    assert type(follow_operation(np.add, (one, other), 1.0)) is float
    assert type(follow_operation(np.true_divide, (1.0, one), 2.0)) is float
    assert type(follow_operation(np.power, (one, 2.0), 0.25)) is float
    assert type(1.0 / one) is float
    assert type(one * one) is float


# Structures


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (1, 2.5, True),
        (True, 1, False),
        (np.bool_(True), 1.0, False),
        (np.bool_(True), False, True),
        (None, 0, False),
        ("a", b"a", True),
        ([1, 2], (1, 2), True),
        ([1, 2], [1, 2, 3], False),
        ([1, [2]], [[1], 2], False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({1, 2}, {2, 1}, True),
        ({1, 2}, {1, 3}, False),
        (np.zeros(3), np.zeros(4), False),
        (np.zeros((2, 2)), np.zeros(4), False),
        (np.array(["a"]), np.array(["b"]), True),
        (SimpleNamespace(a=1), SimpleNamespace(b=1), False),
        (SimpleNamespace(a=1, _b=1), SimpleNamespace(a=1, _c=1), True),
    ],
)
def test_a_structure_is_what_noise_may_not_change(one, other, alike):
    assert (flatten_output(one).structure == flatten_output(other).structure) is alike


def test_leaves_come_in_order_with_their_paths():
    found = flatten_output({"a": [1, "x", np.array([[2.0, 3.0]])], "b": b"\x01", "c": 10**400})
    assert found.numbers == [1.0, 2.0, 3.0, math.inf]
    assert found.paths == [
        "output['a'][0]", "output['a'][2][0, 0]", "output['a'][2][0, 1]", "output['c']",
    ]  # fmt: skip
    assert (found.texts, found.text_paths) == (["x", "01"], ["output['a'][1]", "output['b']"])
    assert flatten_output(-(10**400)).numbers == [-math.inf]
    assert flatten_output(1.0, "ValueError").structure == "raises ValueError"
    assert flatten_output(1.0, "ValueError").numbers == []
    assert flatten_output(None, "A").structure != flatten_output(None, "B").structure


def test_equal_outputs_have_equal_structures_numbers_and_texts():
    assert same(flatten_output([1.0, math.nan, "a"]), flatten_output([1.0, math.nan, "a"]))
    for other in ([1.0, math.nan, "b"], [1.0, 2.0, "a"], [2.0, math.nan, "a"], [1.0, math.nan]):
        assert not same(flatten_output([1.0, math.nan, "a"]), flatten_output(other))
    assert not same(flatten_output([True]), flatten_output([1.0]))


# Streams


@pytest.fixture
def state(monkeypatch):
    own = State(5)
    monkeypatch.setitem(recorder._STATE, 0, own) if isinstance(recorder._STATE, dict) else None
    before, recorder._STATE[0] = recorder._STATE[0], own
    yield own
    recorder._STATE[0] = before


def test_draws_of_one_key_are_numbered_and_other_counters_are_others(state):
    assert [state.counted(k) for k in ("a", "b", "a", "a")] == ["a#0", "b#0", "a#1", "a#2"]
    own = {}
    assert [state.counted("a", own), state.counted("a", own), state.counted("a")] == [
        "a#0", "a#1", "a#3",
    ]  # fmt: skip


def test_a_seed_is_noted_and_starts_over_and_none_is_the_runs_own(state):
    first, again, other = (Stream.of_seed(seed, str(seed)) for seed in (7, 7, 8))
    assert (first.name, again.name, other.name) == ("seed 0 ", "seed 0 ", "seed 1 ")
    assert first.counters == again.counters == {}
    assert first.counters is not again.counters
    assert [text for text, _ in state.run.seeds] == ["7", "7", "8"]
    assert Stream.of_seed(None, "n").counters is None
    assert len(state.run.seeds) == 3
    assert not state.run.copied


def test_entropy_of_the_system_that_comes_twice_is_a_copy(state):
    assert Stream.of_entropy("a").counters is None
    assert not state.run.copied
    Stream.of_entropy("b")
    assert not state.run.copied
    Stream.of_entropy("a")
    assert state.run.copied


def test_of_a_seed_generators_that_draw_otherwise_share_bits(state):
    one, same_again, other = (Stream.of_seed(7, "7") for _ in range(3))
    for stream in (one, same_again):
        for what in ("normal", "laplace"):
            state.follow(stream, what)
    assert not state.run.copied
    state.follow(other, "normal")
    state.follow(other, "normal")
    assert state.run.copied


@pytest.mark.parametrize(
    ("seed", "of_entropy"),
    [
        (7, False),
        (LARGEST_SEED - 1, False),
        (LARGEST_SEED, True),
        ([1, 2, 3, 4], False),
        ([1, 2, 3, 4, 5], True),
        (np.random.SeedSequence(7), False),
        (np.random.SeedSequence(), True),
    ],
)
def test_a_seed_that_nobody_writes_is_entropy(state, seed, of_entropy):
    stream = stream_of(seed, np.random.PCG64)
    assert (stream.counters is None) is of_entropy
    assert len(state.run.seeds) == (0 if of_entropy else 1)


def test_children_of_one_seed_are_other_streams(state):
    first, second = np.random.SeedSequence(7).spawn(2)
    names = {stream_of(one, np.random.PCG64).name for one in (first, second)}
    assert len(names) == 2
    assert stream_of(None, np.random.PCG64).counters is None
    assert identity(first, np.random.PCG64) != identity(second, np.random.PCG64)
    assert identity(7, np.random.PCG64) == identity(np.random.SeedSequence(7), np.random.PCG64)
    assert identity(7, np.random.PCG64) != identity(7, np.random.MT19937)
    assert identity("bad", np.random.PCG64) == "PCG64 'bad'"


def test_twins_are_two_generators_of_one_state():
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    assert twins([one, other])
    assert not twins([one, one])
    other.random()
    assert not twins([one, other])
    old = np.random.RandomState(5), np.random.RandomState(5)
    assert twins(old)
    assert not twins([one, old[0]])


def test_another_thread_is_noted_and_what_a_primitive_calls_is_not(state):
    assert recorder.active() is state
    with recorder.hidden(state):
        assert recorder.active() is None
    assert recorder.active() is state
    assert not state.run.elsewhere
    thread = threading.Thread(target=recorder.active)
    thread.start()
    thread.join()
    assert state.run.elsewhere


# Far draws


@pytest.mark.parametrize("seed", [-40, -41, -100])
@pytest.mark.parametrize("reach", [1.0, 64.0, FAR])
def test_far_draws_are_between_a_reach_and_twice_as_far(seed, reach):
    for kind in ("laplace", "normal", "gumbel", "logistic", "cauchy"):
        state = State(seed, reach=reach)
        drawn = standard(state, kind, state.fresh("k"), (50,))
        assert (reach <= np.abs(drawn)).all()
        assert (np.abs(drawn) <= 2 * reach).all()
        assert {-1.0, 1.0} == set(np.sign(drawn))
    state = State(seed, reach=reach)
    uniform = standard(state, "uniform", state.fresh("k"), (50,))
    end = max(2.0**-53, 0.5 * math.exp(-min(reach, 40.0)))
    assert set(uniform.tolist()) == {end, 1.0 - end}


def test_of_two_far_runs_one_is_up_where_the_other_is_down():
    up = [State(seed).up(State(seed).fresh("k"), (20,)) for seed in (-40, -41, -42)]
    assert np.array_equal(up[0], ~up[1])
    assert not np.array_equal(up[0], up[2])
    fresh = [State(seed).fresh("k").random() for seed in (-40, -41, 20, 21)]
    assert fresh[0] == fresh[1] == fresh[2] != fresh[3]
    assert State(20).fresh("k").random() != State(20).fresh("j").random()


def test_what_is_spared_is_ordinary_by_name_and_entry():
    spared = frozenset({("k", 1), ("j", 0), ("k", 9)})
    state = State(-40, spared)
    drawn = standard(state, "normal", state.fresh("k"), (3,), "k")
    assert (np.abs(drawn) >= FAR).tolist() == [True, False, True]
    again = State(-40, spared)
    assert (np.abs(standard(again, "normal", again.fresh("k"), (3,), "i")) >= FAR).all()
    ordinary = State(20)
    due = standard(ordinary, "normal", ordinary.fresh("k"), (3,), "k")
    assert (np.abs(due) < 10).all()


def test_runs_are_far_for_a_while_and_by_their_sign():
    assert [State(seed).far for seed in (1, 0, -4, -5)] == [False, False, True, True]
    state = State(-4, patience=2)
    for n, far in enumerate([True, True, True, False]):
        assert state.far is far, n
        state.run.calls.append(call())
    inside = State(-4, frozenset({("k", 0)}))
    inside.run.calls.append(call())
    assert inside.far
    inside.parents.append(0)
    assert not inside.far
    inside.spared = frozenset({("j", 0)})
    assert inside.far


@pytest.mark.parametrize("seed", range(-50, -40))
def test_ends_of_choices(seed):
    state = State(seed)

    def of_numpy(name, *given, **named):
        found = primitives._at_an_end(state, state.fresh("k"), name, given, named)
        return None if found is None else found[0]

    def of_python(name, *given):
        found = primitives._end_of_python(state, state.fresh("k"), name, given)
        return None if found is None else found[0]

    up = bool(state.up(state.fresh("k")))
    assert of_numpy("integers", 7) == (6 if up else 0)
    assert of_numpy("randint", 3, 7) == (6 if up else 3)
    assert of_numpy("integers", 3, 7, endpoint=True) is None
    assert of_numpy("integers", 3, 7, 5) is None
    assert of_numpy("choice", 4) == (3 if up else 0)
    assert of_numpy("choice", [5, 6, 8]) == (8 if up else 5)
    assert of_numpy("choice", [5, 6, 8, 9], p=[0.0, 0.5, 0.5, 0.0]) == (8 if up else 6)
    assert of_numpy("choice", [5, 6], size=3) is None
    assert of_numpy("permutation", 4) is None
    assert of_python("randrange", 7) == of_python("_randbelow", 7) == (6 if up else 0)
    assert of_python("randrange", 3, 7) is None
    assert of_python("randint", 3, 7) == (7 if up else 3)
    assert of_python("getrandbits", 4) == (15 if up else 0)
    assert of_python("choice", [5, 6, 8]) == (8 if up else 5)
    assert of_python("shuffle", [5, 6]) is None


def test_every_size_of_noise_is_in_so_many_runs(monkeypatch):
    asked = []

    def recorded(function, data, seed, rng, reach):
        asked.append((seed, reach))
        return SimpleNamespace(value=1.0, error=None)

    monkeypatch.setattr(recorder, "call_recorded", recorded)
    found = list(observing.runs_of_every_size(lambda data, rng: 1.0, None, 3, 60.0, 60.0))
    assert len(found) == len(asked) == 4 * len(REACHES)
    graded = [one for one in asked if one[0] < 0]
    assert len(graded) == 2 * len(REACHES)
    for half in (graded[: len(REACHES)], graded[len(REACHES) :]):
        assert {reach for _, reach in half} == set(REACHES)
    assert {seed % 2 for seed, _ in graded} == {0, 1}
    assert len({abs(seed) // 2 for seed, _ in graded}) == len(graded)
    assert max(REACHES) == 2.0**13


def test_a_side_says_whether_a_run_comes_again(monkeypatch):
    values = iter([1.0, 2.0, *range(100)])

    def recorded(function, data, seed, rng, **_):
        return SimpleNamespace(value=float(next(values)), error=None, seed=seed)

    monkeypatch.setattr(recorder, "call_recorded", recorded)
    side = SideRuns()
    observing._frozen(None, side, None, 5, 4, 3)
    assert not side.repeated
    assert [run.seed for run in side.runs] == [5, 6, 7, 8]
    assert [run.seed for run in side.far] == [-10, -11, -12]
    assert (len(side.outputs), len(side.far_outputs)) == (4, 3)


# What processes keep


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-13], True),
        ([1.0, 2.0], [1.0, 2.1], False),
        ([1.1, 2.0], [1.0, 2.0], False),
        ([0.0], [1e-300], False),
        ([math.nan], [math.nan], True),
        ([math.nan], [1.0], False),
        (["a"], ["b"], False),
        ([None], [None], False),
        ([1.0], ["1.0"], False),
        ([1e10], [1e10 * (1 + 1e-10)], False),
    ],
)
def test_processes_agree_where_every_run_is_the_same(one, other, equal):
    assert agree(one, other) is equal
    assert agree(other, one) is equal


def test_so_many_processes_are_needed_that_a_kept_coin_comes_up_otherwise():
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        count = processes_for(epsilon)
        rare = 1 / (1 + math.exp(epsilon))
        assert (1 - rare) ** count <= 1e-6
        assert count & (count - 1) == 0
        assert count < 2 * math.log(1e6) * (1 + math.exp(epsilon)) * 1.001


def unmoved(*rounds, epsilon=1.0, over=False):
    """Return what is unmoved in so many rounds of 16 processes, and how many were asked for."""
    asked = []

    def values_in(count):
        asked.append(count)
        return rounds[min(len(asked), len(rounds)) - 1]

    return are_unmoved(values_in, epsilon, lambda: over), sum(asked)


def test_what_any_process_shows_otherwise_is_moved():
    still = [[[1.0]] for _ in range(16)]
    first = [*still[:1], [[2.0]], *still[2:]]
    last = [*still[:-1], [[2.0]]]
    assert unmoved(still) == ([True], 64)
    assert unmoved(first) == ([False], 16)
    assert unmoved(last) == ([False], 16)
    assert unmoved(still, still, still, last) == ([False], 64)
    both = [[[1.0], [float(n)]] for n in range(16)]
    assert unmoved(both)[0] == [True, False]
    assert unmoved(both[::-1])[0] == [True, False]


def test_nothing_is_unmoved_of_too_few_processes():
    still = [[[1.0]] for _ in range(16)]
    assert unmoved(still, over=True) == ([False], 16)
    assert unmoved(still, epsilon=9.0) == ([False], 16)  # no machine has so many
    assert states._MOST >= processes_for(3.0)


def test_common_runs_come_after_others_of_the_process(monkeypatch):
    seeds = []

    def recorded(function, data, seed, rng):
        seeds.append((data, seed))
        return SimpleNamespace(value=[float(seed), "a"], error=None)

    monkeypatch.setattr(recorder, "call_recorded", recorded)
    reads = [["number", 0], ["text", 0], ["number", 5], ["structure", 0]]
    found = states.after_others(lambda data, rng: 1.0, ("d", "n"), 7, 100, reads)
    own, common = seeds[:4], seeds[4:]
    assert [data for data, _ in own].count("d") == 2
    assert min(seed for _, seed in own) >= 500_000_007
    assert common == [(data, 100 + n) for data in "dn" for n in range(12)]
    assert found[0] == [float(seed) for _, seed in common]
    assert found[1:3] == [["a"] * 24, [None] * 24]
    assert len(set(found[3])) == 1
