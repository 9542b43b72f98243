"""Looks by hand: what each takes, which of them fit, and what is said of a plan."""

from __future__ import annotations

import math

import pytest

from dpaudit.auditing.estimators import group_sequential as looks
from dpaudit.auditing.estimators.group_sequential import (
    Look,
    LookClock,
    Slowly,
    _make_look_sizes,
    _round_trials_down,
    alone_of,
    chosen_on,
    compute_epsilon_ceiling,
    format_duration,
    format_look_plan,
    make_look_seed,
    run_looks,
)
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.orders import ORDERS
from dpaudit.execution import stream

from .common import evidence_of

NOW = 3.0


def clock_of(seconds=103.0, trials=1000, pace=0.01, slow=None):
    """Return a clock that began at 0 and stands at 3."""
    return LookClock(seconds, trials, pace, 0.0, lambda: NOW, slow)


@pytest.mark.parametrize(
    ("trials", "alone", "chosen"),
    [
        (4, (16, 16), 10),
        (22, (16, 16), 11),
        (64, (16, 16), 32),
        (68, (16, 17), 34),
        (136, (17, 34), 68),
        (512, (64, 128), 256),
        (1000, (64, 250), 500),
    ],
)
def test_of_what_refutes_an_eighth_of_processes_and_a_quarter_of_calls_see_it_again(
    trials, alone, chosen
):
    assert alone_of(trials) == alone
    assert chosen_on(trials) == chosen


@pytest.mark.parametrize(
    ("trials", "outputs", "processes"),
    [
        (100, 20 + 2 * (100 + 50) + 2 * 25 + 20, 10 + 16),
        (199, 20 + 2 * (199 + 99) + 2 * 49 + 20, 10 + 24),
        (200, 20 + 4 * 200 + 2 * 50 + 20, 10 + 25),
    ],
)
def test_slow_outputs_are_those_before_of_both_datasets_again_and_of_what_varies(
    trials, outputs, processes
):
    seconds = (outputs * 0.5 + processes * 3.0) / 4
    assert Slowly(4, 3.0).seconds(trials, 0.5) == pytest.approx(seconds)


def test_what_fits_is_the_most_trials_that_take_no_longer():
    slowly = Slowly(2, 1.0)
    for trials in (4, 99, 100, 110, 2000):
        seconds = slowly.seconds(trials, 0.1)
        assert slowly.fitting(seconds, 0.1) == trials
        assert slowly.fitting(seconds * (1 - 1e-9), 0.1) < trials
    assert slowly.fitting(slowly.seconds(4, 0.1) * 0.999, 0.1) == 0


def test_sizes_have_two_digits():
    sizes = list(_make_look_sizes())
    assert sizes[:2] == [4, 5]
    assert sizes[94:98] == [98, 99, 100, 110]
    assert sizes[-1] == 99 * 10**7
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize(
    ("trials", "rounded"),
    [(0.9, 0), (7.9, 7), (99.9, 99), (109.0, 100), (119.0, 110), (12999.9, 12000)],
)
def test_trials_are_rounded_down_to_two_digits(trials, rounded):
    assert _round_trials_down(trials) == rounded


def test_a_time_is_over_a_little_later_than_it_was_asked_for():
    clock = clock_of()
    assert clock.until == 105.0
    assert clock._left() == 100.0
    clock.probed(0.0, Slowly(1, 0.0))
    assert (clock.pace, clock.slow) == (1e-9, Slowly(1, 0.0))


@pytest.mark.parametrize(
    ("pace", "trials", "first"),
    [
        (0.01, 1000, Look(250, 0.1)),  # 100 s of 8 outputs of .01 s are 1250: a fifth of them
        (0.01, 120, Look(120, 0.1)),
        (0.025, 1000, Look(100, 0.1)),  # 500 fit
        (0.0251, 1000, Look(420, 0.8)),  # no two looks, and .85 of what fits
        (1.0, 1000, Look(100, 0.8)),
    ],
)
def test_the_first_look_takes_a_fifth_of_the_time_or_all_of_it(pace, trials, first):
    assert clock_of(pace=pace, trials=trials).first == first


@pytest.mark.parametrize(("pace", "alone"), [(0.01, False), (0.6, True), (50.0, True)])
def test_slow_outputs_have_two_looks_where_a_fifth_is_a_hundred_trials(pace, alone):
    slowly = Slowly(2, 0.0)
    most = slowly.fitting(85.0, pace)
    fitting = most / 0.85
    assert (0.2 * fitting < 100) is alone
    found = clock_of(pace=pace, trials=10**6, slow=slowly).first
    whole, share = (
        Look(_round_trials_down(0.85 * fitting), 0.8),
        Look(_round_trials_down(0.2 * fitting), 0.1),
    )
    assert found == (whole if alone else share)
    assert clock_of(pace=pace, trials=50, slow=slowly).first.trials == min(most, 50)


LOOK = Look(100, 0.1)


@pytest.mark.parametrize(
    ("took", "pace", "following"),
    [
        (1.0, 0.01, Look(800, 0.2 / 4)),  # .85 of 100 s: room for 24 times as many
        (1.0, 84 / 2300, Look(800, 0.2 / 4)),  # just so many
        (1.0, 84 / 2299, Look(2300, 0.8)),
        (1.0, 0.05, Look(1700, 0.8)),
        (80.0, 0.01, Look(600, 0.8)),
        (85.0, 0.01, Look(0, 0.8)),
        (90.0, 0.01, Look(0, 0.8)),
        (40.0, 1e-3, Look(800, 0.2 / 4)),
        (42.0, 1e-3, Look(43_000, 0.8)),  # eight times as many take more than half of the time
    ],
)
def test_the_next_look_is_eight_times_as_large_or_the_last(took, pace, following):
    assert clock_of()._next(LOOK, took, pace, 2) == following


def test_slow_looks_are_planned_by_what_the_one_before_took_beside_its_plan():
    slowly = Slowly(1, 0.0)
    planned = slowly.seconds(100, 0.1)
    for late, slower in ((0.5, 1.0), (1.0, 1.0), (2.0, 2.0)):
        most = slowly.fitting(0.85 * 85.0 / slower, 0.1)
        found = clock_of(pace=0.1, slow=slowly)._next(LOOK, late * planned, 0.1, 3)
        assert found == Look(_round_trials_down(most), 0.8)


@pytest.mark.parametrize(
    ("lowers", "count", "shown"),
    [([0.25, 1.0, 0.5], 3, 1.0), ([1.0, 0.5, 0.75], 3, 1.0), ([0.5, 1.0 + 2**-52, 2.0], 2, 1)],
)
def test_what_meets_a_claim_goes_on_and_what_exceeds_it_ends(lowers, count, shown):
    looks = [Look(100, 0.1), Look(800, 0.05), Look(6400, 0.8)]
    found, made = run_looks(
        iter(looks),
        lambda number, look: evidence_of(lowers[number - 1], trials=look.trials),
        lambda evidence: evidence.lower - 1.0,
    )
    assert made == looks[:count]
    assert found.lower == pytest.approx(shown)
    names = [f"look {number}: all" for number in range(1, count + 1)]
    assert list(found.budget) == names
    assert f"the one shown has {looks[lowers.index(found.lower)].trials}." in found.notes[0]
    assert f"{looks[0].trials} ({looks[0].share:g})" in found.notes[0]


def test_an_interrupted_look_is_the_last_and_one_with_an_upper_end_is_shown():
    looks = [Look(100, 0.1), Look(800, 0.8)]
    whole = evidence_of(0.5, upper=2.0, trials=800)
    results = [evidence_of(0.75, trials=100), whole]
    found, _ = run_looks(iter(looks), lambda number, look: results[number - 1], lambda one: -1.0)
    assert (found.lower, found.upper) == (0.5, 2.0)
    _, made = run_looks(
        iter(looks), lambda *_: evidence_of(0.1, interrupted=True), lambda one: -1.0
    )
    assert made == looks[:1]


def test_looks_have_seeds_of_their_own():
    seeds = [make_look_seed(7, number) for number in (1, 2, 3)]
    assert seeds[0] == 7
    assert seeds[1] == int(stream(7, "look 2").generate_state(1, "uint64")[0])
    assert len(set(seeds)) == 3


def test_the_most_that_trials_certify_is_of_all_on_one_side_and_none_on_the_other():
    given = {"delta": 0.25, "alpha": 0.05}
    found = [joint_lower_bound(200, 0, 200, 200, **given, order=order) for order in ORDERS]
    assert compute_epsilon_ceiling(200, 0.05, 0.25) == max(found) > min(found)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (119.4, "119 s"), (120.0, "2 min"), (3570.0, "60 min")]
)
def test_a_duration_is_said_in_seconds_or_minutes(seconds, said):
    assert format_duration(seconds) == said


@pytest.fixture
def most(monkeypatch):
    """Let so many trials certify as many as their share of what may err has, less delta."""

    def certified(trials, alpha, delta):
        return round(trials * alpha, 9) - delta

    monkeypatch.setattr(looks, "compute_epsilon_ceiling", certified)


def test_a_plan_says_what_trials_can_certify_and_how_long_they_take(most):
    said = "100 outputs can certify an epsilon of 5 at most; "
    quick = format_look_plan(100, 0.05, (1.0, 0.0), 0.5, None)
    assert quick == f"{said}1 is claimed. A probe drew 2 outputs a second: about 7 min."
    slow = format_look_plan(100, 0.05, (5.0, 0.0), 1.0, None)
    short = "5 is claimed: too few to refute it."
    assert slow == f"{said}{short} A probe took 1 s an output: about 13 min."
    assert "of 4.5 at most; 4.25 is claimed." in format_look_plan(100, 0.05, (4.25, 0.5), 0.5, None)
    for_a_time = format_look_plan(9, 0.05, (1.0, 0.25), 0.5, 50.0, workers=2)
    assert for_a_time == (
        "A probe drew 2 outputs a second: up to 50 s are used, in looks at ever more outputs. "
        "These are about 42 outputs, which can certify an epsilon of 1.4 at most; 1 is claimed."
    )  # .04 of 42, less .25


@pytest.mark.parametrize(
    ("claimed", "enough"),
    [((1.0, 0.0), 26), ((1.0, 0.05), 27), ((0.19, 0.05), 7)],
)
def test_the_time_that_would_do_is_of_the_fewest_trials_that_exceed_the_claim(
    claimed, enough, most
):
    slowly = Slowly(2, 0.5)
    clock = clock_of(seconds=4.0, pace=1.0, slow=slowly)
    seconds = math.ceil(NOW + slowly.seconds(enough, 1.0) / 0.85)
    with pytest.raises(InvalidArgument, match=f"at least {seconds} seconds: an output takes 1 s, "):
        clock.require(0.05, claimed)


def test_a_time_in_which_a_claim_may_fall_is_enough_and_of_many_trials_any(most):
    few = clock_of(pace=1.0, slow=Slowly(2, 0.0))
    trials = few.first.trials
    assert 0 < trials < 200
    few.require(0.05, (trials * 0.04 * 0.999, 0.0))
    with pytest.raises(InvalidArgument):
        few.require(0.05, (round(trials * 0.04, 9), 0.0))  # it has to exceed it
    many = clock_of(pace=0.01, slow=Slowly(2, 0.0))
    assert many.first.trials >= 200
    many.require(0.05, (1e9, 0.0))
    clock_of(pace=1.0).require(0.05, (1e9, 0.0))
