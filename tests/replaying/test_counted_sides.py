"""Counts on real runs: on the dataset that an event favours, for each kind of event."""

from __future__ import annotations

import copy
import pickle
import random
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.replaying.confirming as confirming
import dpaudit.replaying.counting as counting
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.freezing.observing import observe_runs, really
from dpaudit.freezing.outputs import flatten_output
from dpaudit.replaying.counting import (
    OutputEvent,
    constants,
    count_event,
    count_needed_runs,
    find_guided_event,
)
from dpaudit.replaying.findings import collect_findings
from dpaudit.replaying.request import ReplayRequest
from dpaudit.replaying.spending import _seeds_come_again

QUIET, LOUD = [0.0], [1.0]
ALPHA = 1e-3


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Count all runs also where the machine is busy."""
    monkeypatch.setattr("dpaudit.replaying.counting._SECONDS", 60.0)


def constant_when_quiet(data, rng):
    return 7.0 if data[0] == 0 else float(rng.normal())


def rare_text(data, rng):
    return "yes" if rng.random() < (0.05 if data[0] == 0 else 0.9) else "no"


def shifted(data, rng):
    return float(data[0] * 6 + rng.normal())


def breaks(data, rng):
    if data[0] == 0:
        raise ValueError
    return float(rng.normal())


@pytest.mark.parametrize(
    ("data", "favours"), [((QUIET, LOUD), "dataset"), ((LOUD, QUIET), "neighbour")]
)
@pytest.mark.parametrize("function", [constant_when_quiet, breaks])
def test_a_constant_is_counted_on_the_side_that_has_it(function, data, favours):
    outputs = [[really(function, side, seed) for seed in range(8)] for side in data]
    seen = next(one for one in constants(*outputs) if one.favours == favours)
    found = count_event(function, data, seen, 64, 0.0, seed=5, alpha=ALPHA)
    assert (found.hits, found.other_hits, found.runs) == (64, 0, 64)
    assert found.epsilon == joint_lower_bound(64, 0, 64, 64, delta=0.0, alpha=ALPHA)
    swapped = count_event(function, data[::-1], seen, 64, 0.0, seed=5, alpha=ALPHA)
    assert (swapped.hits, swapped.other_hits, swapped.epsilon) == (0, 64, 0.0)


@pytest.mark.parametrize("function", [rare_text, shifted])
@pytest.mark.parametrize("data", [(QUIET, LOUD), (LOUD, QUIET)])
def test_the_event_that_tells_most_is_found_whichever_side_it_favours(function, data):
    _, found = find_guided_event(function, data, 0.0, 400, seed=6, alpha=ALPHA)
    assert found.runs == 300  # a quarter of the runs chose it
    assert found.hits / found.runs - found.other_hits / found.runs > 0.5
    lower = joint_lower_bound(found.hits, found.other_hits, 300, 300, delta=0.0, alpha=ALPHA)
    assert found.epsilon == lower > 1.0


def test_runs_of_one_law_are_refuted_as_rarely_as_is_asked():
    """On the runs that chose it, the best of many events nearly always seems to tell."""

    def same(data, rng):
        return [float(x) for x in rng.normal(size=8)]

    wrong = 0
    for seed in range(40):
        found = find_guided_event(same, (QUIET, LOUD), 0.0, 160, seed=1000 * seed, alpha=0.2)
        wrong += found is not None and found[1].epsilon > 0
    assert wrong <= 9  # a tenth may be: half of alpha for either direction


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (3.0, 0.0), (1.0, 0.1)])
def test_so_many_runs_as_are_needed_refute(epsilon, delta):
    runs = count_needed_runs(epsilon, delta, ALPHA)
    assert joint_lower_bound(runs, 0, runs, runs, delta=delta, alpha=ALPHA) > epsilon
    half = runs // 2
    assert runs == 64 or (
        joint_lower_bound(half, 0, half, half, delta=delta, alpha=ALPHA) <= epsilon
    )


def test_what_a_count_may_certify_is_that_of_a_share_of_alpha_for_each_pair():
    for pairs in (1, 3, 10):
        share = counting.ALPHA / (counting.COUNTS * pairs)
        runs = max(count_needed_runs(1.0, 0.0, share), 3 * counting.GUIDED // 4)
        due = joint_lower_bound(runs, 0, runs, runs, delta=0.0, alpha=share)
        assert counting.most_of_counts(1.0, 0.0, pairs) == due


@pytest.mark.parametrize(
    ("given", "again"),
    [
        ([{"7"}, {"8"}, {"9"}], False),
        ([{"7"}, {"8"}, {"7"}], True),
        ([{"7", "1"}, {"1"}, set()], True),
        ([{"7", "1"}, set(), set()], False),
    ],
)
def test_two_runs_with_one_seed_are_enough(given, again):
    runs = [SimpleNamespace(seeds=[(one, "a.py:1") for one in seeds]) for seeds in given]
    assert _seeds_come_again(SimpleNamespace(runs=runs)) is again


def test_a_missing_number_is_a_constant_too():
    outputs = [really(lambda data, rng: float("nan"), QUIET, seed) for seed in range(3)]
    seen = OutputEvent("number", "dataset", "nan")
    assert all(map(seen.happened, outputs))
    assert not seen.happened(really(lambda data, rng: 1.0, QUIET, 1))
    assert np.isnan(outputs[0].numbers[0])


def by_state(data, rng):
    kept = rng.bit_generator.state
    first = data[0] + rng.laplace()
    rng.bit_generator.state = kept
    return [float(first), float(data[0] + rng.laplace())]


def by_a_copy(data, rng):
    other = copy.deepcopy(rng)
    return [float(data[0] + rng.laplace()), float(data[0] + other.laplace())]


def by_pickling(data, rng):
    other = pickle.loads(pickle.dumps(rng))
    return [float(data[0] + rng.laplace()), float(data[0] + other.laplace())]


def by_the_legacy_state(data):
    kept = np.random.get_state()  # noqa: NPY002
    first = data[0] + np.random.laplace()  # noqa: NPY002
    np.random.set_state(kept)  # noqa: NPY002
    return [float(first), float(data[0] + np.random.laplace())]  # noqa: NPY002


def by_the_standard_library(data):
    kept = random.getstate()
    first = data[0] + random.gauss(0, 1)
    random.setstate(kept)
    return [float(first), float(data[0] + random.gauss(0, 1))]


@pytest.mark.parametrize(
    "function", [by_state, by_a_copy, by_pickling, by_the_legacy_state, by_the_standard_library]
)
def test_a_draw_that_comes_again_is_no_second_noise(function, replay_here):
    """One draw twice spends once: nothing is proved of it, and nothing added up."""
    claim = {"epsilon": 1.2} if "standard" not in function.__name__ else {"epsilon": 6.0}
    found = replay_here(function, QUIET, LOUD, delta=1e-5, **claim)
    assert found.verdict != "refuted"
    assert found.composed is None


def test_a_generator_that_nobody_copies_is_no_hidden_state(replay_here):
    found = replay_here(
        lambda data, rng: [float(data[0] + rng.laplace()) for _ in range(2)],
        QUIET,
        LOUD,
        epsilon=1.2,
    )
    assert found.verdict == "refuted"


def returned(*values):
    return [flatten_output(value) for value in values]


@pytest.mark.parametrize(
    ("own", "others", "found"),
    [
        ((7.0, 7.0, 7.0), (1.0, 2.0), 1),
        ((7.0, 7.0, 8.0), (1.0, 2.0), 0),
        ((8.0, 7.0, 7.0), (1.0, 2.0), 0),
        ((7.0, 7.0, 7.0), (1.0, 7.0), 0),
        ((7.0, 7.0, 7.0), (7.0, 7.0), 0),
        (("a", "a"), ("b", "c"), 1),
        (("a", "b"), ("c", "c"), 0),
        ((float("nan"), float("nan")), (1.0, 2.0), 1),
    ],
)
def test_a_constant_is_in_all_outputs_of_one_side_and_in_none_of_the_other(own, others, found):
    for favours, pair in (("dataset", (own, others)), ("neighbour", (others, own))):
        seen = [one for one in constants(*(returned(*side) for side in pair))]
        assert sum(one.favours == favours for one in seen) == found


@pytest.mark.parametrize(
    ("kept", "gone", "stands"),
    [
        ((7.0, 7.0), (1.0, 2.0), True),
        ((7.0, 8.0), (1.0, 2.0), False),
        ((8.0, 7.0), (1.0, 2.0), False),
        ((7.0, 7.0), (1.0, 7.0), False),
        ((7.0, 7.0), (7.0, 1.0), False),
    ],
)
@pytest.mark.parametrize("favours", ["dataset", "neighbour"])
def test_a_constant_stays_where_no_far_draw_moves_it_on_either_side(
    monkeypatch, kept, gone, stands, favours
):
    def runs(function, data, *_):
        values = kept if (data is QUIET) == (favours == "dataset") else gone
        return SimpleNamespace(outputs=returned(*values))

    monkeypatch.setattr(confirming, "runs_that_spare", runs)
    none = SimpleNamespace(far=[], runs=[])
    seen = OutputEvent("number", favours, 7.0)
    assert confirming.is_unmoved_by_far_draws(seen, None, (QUIET, LOUD), (none, none), 0) is stands


@pytest.mark.parametrize("threaded", [0, 1])
def test_no_constant_stays_where_other_threads_draw_on_either_side(monkeypatch, threaded):
    """What they draw was never far out."""
    monkeypatch.setattr(
        confirming,
        "runs_that_spare",
        lambda function, data, *_: SimpleNamespace(outputs=returned(7.0 if data is QUIET else 1.0)),
    )
    sides = [
        SimpleNamespace(far=[], runs=[SimpleNamespace(elsewhere=side == threaded)])
        for side in range(2)
    ]
    seen = OutputEvent("number", "dataset", 7.0)
    assert not confirming.is_unmoved_by_far_draws(seen, None, (QUIET, LOUD), tuple(sides), 0)
    sides[threaded].runs[0].elsewhere = False
    assert confirming.is_unmoved_by_far_draws(seen, None, (QUIET, LOUD), tuple(sides), 0)


@pytest.mark.parametrize(
    ("kind", "declared", "shape", "probed"),
    [
        ("normal", {}, (3,), True),
        ("unknown", {"epsilon": 1.0}, (3,), True),
        ("integers", {}, (), True),
        ("integers", {}, (3,), False),
        ("unknown", {}, (), False),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_primitive_whose_ends_no_far_draw_had_hides_rare_choices(
    kind, declared, shape, probed, side
):
    call = SimpleNamespace(kind=kind, declared=declared, shape=shape)
    none = SimpleNamespace(far=[SimpleNamespace(calls=[])])
    sides = [none, none]
    sides[side] = SimpleNamespace(far=[SimpleNamespace(calls=[call])])
    assert bool(confirming._has_extreme_draws(tuple(sides))) is probed


@pytest.mark.parametrize("claimed", [0.0, 1.0, 1e6])
def test_an_event_has_to_prove_more_than_rounding_above_a_claim(claimed):
    def event(proved):
        return SimpleNamespace(proved=lambda *_: proved)

    laws = (None, None)
    assert not confirming.exceeds(event(claimed), laws, (claimed, 0.0))
    assert not confirming.exceeds(event(claimed + 0.9e-9 * (1 + claimed)), laws, (claimed, 0.0))
    assert confirming.exceeds(event(claimed + 1.1e-9 * (1 + claimed)), laws, (claimed, 0.0))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (3.0, 0.0), (1.0, 0.2)])
def test_so_many_runs_are_needed_as_refute_and_not_half_as_many(epsilon, delta):
    runs = count_needed_runs(epsilon, delta, ALPHA)
    assert joint_lower_bound(runs, 0, runs, runs, delta=delta, alpha=ALPHA) > epsilon
    half = runs // 2
    assert runs == 64 or (
        joint_lower_bound(half, 0, half, half, delta=delta, alpha=ALPHA) <= epsilon
    )


class EveryOther:
    """Says whether so many calls came before: nothing of its data."""

    def __init__(self):
        self.calls = 0

    def __call__(self, data, rng):
        self.calls += 1
        return float(self.calls % 2)


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("favours", ["dataset", "neighbour"])
def test_what_every_other_call_returns_is_no_event_of_a_dataset(favours, value):
    """In strict turns all such calls would be one dataset's; by chance they are half of each."""
    seen = OutputEvent("number", favours, value)
    found = count_event(EveryOther(), (QUIET, LOUD), seen, 400, 0.0, seed=3, alpha=ALPHA)
    assert found.epsilon == 0.0
    assert 120 < found.hits < 280
    assert found.hits + found.other_hits == 400


def test_no_guided_event_is_one_of_every_other_call():
    found = find_guided_event(EveryOther(), (QUIET, LOUD), 0.0, 800, seed=3, alpha=ALPHA)
    assert found is None or found[1].epsilon < 0.5


# Of a seed from 7,007 to 7,014 whole numbers in a row met those of the runs that count.
@pytest.mark.parametrize("seed", [0, 7_007])
def test_no_run_that_suggests_an_event_counts_it(seed):
    noted = []

    def constant_when_quiet_noted(data, rng):
        noted.append(float(rng.random()))
        return 7.0 if data[0] == 0 else 8.0 + noted[-1]

    sides = observe_runs(constant_when_quiet_noted, QUIET, LOUD, first=seed + 1).sides
    choosing, noted[:] = set(noted), []
    function, data = constant_when_quiet_noted, (QUIET, LOUD)
    collect_findings(function, data, sides, ReplayRequest(4.0, 0.0, seed=seed))
    assert len(set(noted)) > 100  # counts are among them
    assert choosing.isdisjoint(noted)
