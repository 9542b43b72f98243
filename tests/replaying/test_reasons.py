"""Every reason why nobody can say what noisy values spend, from either dataset."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.freezing.observing import SideRuns
from dpaudit.freezing.outputs import flatten_output
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call, Meeting
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.replaying import dependence, spending
from dpaudit.replaying.dependence import (
    DependenceCheck,
    _compare_runs,
    _has_lawful_runs,
    _is_same_call,
    make_call_names,
)
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw
from dpaudit.replaying.movement import CallMovement
from dpaudit.replaying.spending import Reason, compose_moved_epsilon, spending_of, total_mu

MOVED = CallMovement(
    index=0, key="k", place="a.py:3 in f", name="n", kind="laplace", shape=(), scale=1.0,
    other_scale=1.0, moved=0.5, seen="sum", steady=True, declared=None, epsilon=None, spent=0.5,
)  # fmt: skip
STILL = replace(MOVED, moved=0.0, spent=0.0)
DRAW = StandardDraw("laplace(0;)#0", 0)


def side(repeated=True, runs=(), far=(), outputs=()):
    return SideRuns(
        runs=[SimpleNamespace(elsewhere=False, seeds=[], **one) for one in runs],
        far=[SimpleNamespace(elsewhere=True, seeds=[]) for _ in far],
        outputs=[flatten_output(one) for one in outputs],
        repeated=repeated,
    )


def laws(*numbers, structure="[,]", texts=(), cut=False):
    return Laws(structure, texts, [], list(numbers), cut)


NOISY = NumberLaw("laplace", 1.0, 2.0, DRAW)
QUIET = laws(NOISY)


def found(moved=(MOVED,), sides=None, both=(QUIET, QUIET), looked=None, claimed=(1.0, 0.0), **own):
    looked = looked or DependenceCheck(ordinary=7, graded=5)
    return spending_of(list(moved), sides or (side(), side()), both, looked, claimed, **own)


def reasons(**given):
    told = found(**given)
    assert (told.epsilon is None) == bool(told.reasons)
    assert (told.ordinary, told.graded) == (7, 5)
    return {one.why for one in told.reasons}


def looked(**given):
    return DependenceCheck(ordinary=7, graded=5, **given)


def test_nothing_stands_in_the_way_of_a_total():
    told = found()
    assert (told.epsilon, told.mu, told.excess, told.reasons) == (0.5, None, 2.0, ())


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"repeated": False}, {"elsewhere"}),
        ({"far": [1]}, {"elsewhere"}),
        ({}, set()),
    ],
)
def test_what_is_drawn_past_the_runs_of_either_dataset_leaves_no_total(first, other, why):
    sides = (side(), side(**other))
    assert reasons(sides=sides if first else sides[::-1]) == why


def test_what_the_first_call_kept_and_other_calls_leave_no_total():
    assert reasons(hidden_state=True) == {"elsewhere"}
    assert reasons(looked=looked(same_calls=False)) == {"calls"}
    assert reasons(looked=looked(lawful=False)) == {"unread"}
    assert reasons(looked=looked(every_size=False)) == {"slow"}
    of_all = {"same_calls": False, "lawful": False, "every_size": False}
    assert reasons(looked=looked(**of_all), hidden_state=True) == {
        "calls", "elsewhere", "unread", "slow",
    }  # fmt: skip


def test_noise_that_hides_nothing_may_show():
    """Where nothing moved, what noise shows is of no data: other reasons alone are told."""
    assert reasons(moved=[STILL], looked=looked(lawful=False, every_size=False)) == set()
    assert found(moved=[STILL]).epsilon == 0.0


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "unread",
    [
        laws(NOISY, structure=None),
        laws(NOISY, texts=None),
        laws(NOISY, cut=True),
        laws(None),
    ],
)
def test_a_part_that_moves_with_noise_and_by_no_law_leaves_no_total(first, unread):
    both = (unread, unread) if unread.structure is None or unread.texts is None else (unread, QUIET)
    assert reasons(both=both if first else both[::-1]) == {"unread"}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("change", "past"),
    [
        ({"centre": 5.0}, False),
        ({"factor": 5.0}, False),
        ({"kind": "normal"}, True),
        ({"post": "round"}, True),
        ({"low": 0.0}, True),
        ({"high": 0.0}, True),
        ({"kind": "constant"}, True),
    ],
)
def test_data_that_pass_by_the_centre_leave_no_total(first, change, past):
    both = QUIET, laws(replace(NOISY, **change))
    assert reasons(both=both if first else both[::-1]) == ({"outputs"} if past else set())


def test_a_constant_that_differs_passes_by_the_noise():
    def constant(value):
        return laws(NOISY, NumberLaw("constant", value))

    assert reasons(both=(constant(1.0), constant(1.0))) == set()
    assert reasons(both=(constant(1.0), constant(1.0 + 1e-15))) == {"outputs"}
    assert reasons(both=(constant(math.nan), constant(math.nan))) == set()
    assert reasons(both=(constant(math.nan), constant(1.0))) == {"outputs"}
    assert reasons(both=(QUIET, laws(NOISY, structure="{}"))) == {"outputs"}
    assert reasons(both=(QUIET, laws(NOISY, texts=("a",)))) == {"outputs"}


@pytest.mark.parametrize("first", [True, False])
def test_a_seed_that_comes_again_on_either_dataset_leaves_no_total(first):
    again = side()
    again.runs = [SimpleNamespace(elsewhere=False, seeds=[("7", "a.py:1")]) for _ in range(2)]
    again.far = [SimpleNamespace(elsewhere=False, seeds=[("8", "a.py:1")]) for _ in range(2)]
    sides = (side(), again)
    assert reasons(sides=sides if first else sides[::-1]) == {"seeded"}
    again.runs = again.runs[:1]
    assert reasons(sides=sides if first else sides[::-1]) == set()


def test_outputs_that_differ_though_nothing_moved_leave_no_total():
    sides = side(outputs=[1.0, 2.0]), side(outputs=[1.0, 3.0])
    assert reasons(moved=[STILL], sides=sides) == {"outputs"}
    assert reasons(moved=[], sides=sides) == {"outputs"}
    assert reasons(moved=[STILL], sides=(sides[0], sides[0])) == set()
    assert reasons(sides=sides) == set()  # the noise is what they differ by


def test_every_sort_of_unknown_call_is_told_once_with_its_number_and_first_place():
    def unknown(why, place):
        return replace(MOVED, spent=None, unknown=why, place=place)

    calls = [MOVED, unknown("scale", "s:1"), unknown("shared", "h:1"), unknown("scale", "s:2")]
    told = found(moved=calls)
    assert told.reasons == (Reason("scale", 2, "s:1"), Reason("shared", 1, "h:1"))
    assert (told.epsilon, told.mu, told.excess) == (None, None, None)


def gaussian(mu):
    return replace(MOVED, kind="normal", spent=mu)


def test_a_total_of_gaussian_noise_alone_has_a_mu_even_where_no_epsilon_is_finite():
    told = found(moved=[gaussian(0.3), gaussian(0.4)], claimed=(1.0, 1e-5))
    assert told.mu == pytest.approx(0.5)
    assert told.epsilon == pytest.approx(GaussianDP(0.5).epsilon(1e-5), rel=1e-6)
    assert GaussianDP(0.5 * told.excess).epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)
    told = found(moved=[gaussian(0.5)])
    assert (told.epsilon, told.mu, told.excess) == (None, 0.5, None)
    assert told.reasons == (Reason("infinite"),)


@pytest.mark.parametrize("name", ["diffprivlib.Gaussian", "normal"])
def test_noise_of_a_package_is_of_its_law(name):
    one = replace(MOVED, kind=name, spent=0.5)
    assert total_mu([one]) == 0.5
    assert total_mu([one, replace(one, spent=0.0, kind="laplace")]) == 0.5
    assert compose_moved_epsilon([one], 1e-5) == pytest.approx(
        GaussianDP(0.5).epsilon(1e-5), rel=1e-6
    )


def test_noise_may_shrink_by_the_share_of_a_claim_that_laplace_noise_spends():
    told = found(moved=[MOVED, MOVED, gaussian(0.0)], claimed=(3.0, 1e-5))
    assert (told.mu, told.excess) == (None, 3.0)
    assert found(moved=[MOVED, gaussian(0.1)], claimed=(3.0, 1e-5)).excess is None
    assert found(moved=[STILL]).excess is None


def test_a_total_counts_every_call_and_none_that_did_not_move():
    assert compose_moved_epsilon([], 0.0) == compose_moved_epsilon([STILL], 0.0) == 0.0
    assert compose_moved_epsilon([MOVED] * 7, 0.0) == pytest.approx(3.5)
    assert compose_moved_epsilon([MOVED, replace(MOVED, spent=None)], 0.0) is None
    mixed = compose_moved_epsilon([MOVED, gaussian(0.5)], 1e-5)
    assert mixed <= 0.5 + GaussianDP(0.5).epsilon(1e-5) + 1e-9
    assert mixed > GaussianDP(0.5).epsilon(1e-5)


@pytest.mark.parametrize(
    ("first", "declared", "again"),
    [
        (spending.Spending(0.5), None, True),
        (spending.Spending(None, mu=0.5), None, True),
        (spending.Spending(None), None, False),
        (spending.Spending(None), 1.0, True),
    ],
)
def test_more_runs_are_made_where_a_number_or_a_declaration_is_at_stake(
    monkeypatch, first, declared, again
):
    last = spending.Spending(9.0)
    answers = [first, last]
    monkeypatch.setattr(spending, "look_for_dependence", lambda sides: DependenceCheck())
    monkeypatch.setattr(spending, "look_again", lambda *_: DependenceCheck())
    calls = [MOVED, replace(MOVED, declared=declared)]
    monkeypatch.setattr(spending, "compute_movements", lambda *_: calls)
    monkeypatch.setattr(spending, "spending_of", lambda *_: answers.pop(0))
    _, told = spending.measure_spending(
        None, (), (side(), side()), (QUIET, QUIET), (1.0, 0.0), seed=0, hidden_state=False
    )
    assert (told is last) == again


# Whether centres depend on noise


def call(centre=1.0, factor=2.0, key="a", **given):
    fields = {"index": 0, "kind": "laplace", "name": "n", "place": "p", "stack": (), "shape": ()}
    meetings = [Meeting("p", np.float64(centre), factor)]
    return Call(**fields | {"meetings": meetings, "key": key, "scale": 1.0, "draw": 0.5} | given)


def run(*calls, seed=1, error=None):
    return Run(seed=seed, value=None, error=error, calls=list(calls))


@pytest.mark.parametrize(
    ("change", "alike"),
    [
        ({}, True),
        ({"centre": 1.0 + 2**-52}, False),
        ({"factor": 2.0 + 2**-51}, False),
        ({"scale": 1.0 + 2**-52}, False),
        ({"scale": None}, False),
        ({"location": 0.0}, False),
        ({"meetings": []}, False),
        ({"draw": 0.7}, True),
    ],
)
def test_a_centre_that_moves_in_its_last_bit_depends_on_noise(change, alike):
    assert _is_same_call(call(), call(**change)) is alike
    assert _is_same_call(call(**change), call()) is alike
    first, other = call(), call(**change)
    assert (_compare_runs(run(first), [run(other)]).steady == {"a"}) is alike


def test_a_missing_centre_is_itself():
    assert _is_same_call(call(centre=np.nan), call(centre=np.nan))
    assert not _is_same_call(call(centre=np.nan), call(centre=1.0))


def test_one_run_of_many_is_enough():
    runs = [run(call()), run(call(centre=2.0)), run(call())]
    assert _compare_runs(run(call()), runs).steady == set()
    assert _compare_runs(run(call()), [run(call()), run()]).steady == set()
    assert _compare_runs(run(call()), [run(call()), run(call())]).steady == {"a"}


def test_runs_are_counted_by_their_sort():
    runs = [run(call()), run(call(), seed=0), run(call(), seed=-4), run(call(), seed=-5)]
    told = _compare_runs(run(call()), runs)
    assert (told.ordinary, told.graded, told.same_calls) == (3, 2, True)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (run(call()), True),
        (run(call(), call()), False),
        (run(call(), call(key="b")), False),
        (run(call(), call(key="b", parent=0)), True),
        (run(), False),
        (run(call(), error="ValueError"), False),
    ],
)
def test_runs_make_the_same_calls_where_no_outermost_one_is_another(other, same):
    assert _compare_runs(run(call()), [other]).same_calls is same
    assert _compare_runs(run(call()), [other, run(call())]).same_calls is same
    sides = SideRuns(runs=[run(call()), run(call())]), SideRuns(runs=[other])
    made = dependence.look_for_dependence(sides)
    assert made.same_calls is (same or other.error is not None)
    assert make_call_names(run(call(), call())).keys() == {"a", "a again"}


def test_both_datasets_have_to_be_steady_and_the_fewer_runs_count():
    moves = SideRuns(runs=[run(call()), run(call(centre=2.0))], far=[run(call(), seed=-4)])
    still = SideRuns(runs=[run(call())] * 3, far=[run(call(), seed=-4)] * 2)
    for sides in ((moves, still), (still, moves)):
        made = dependence.look_for_dependence(sides)
        assert (made.steady, made.ordinary, made.graded) == (set(), 2, 1)
    far = SideRuns(runs=[run(call())], far=[run(call(centre=2.0), seed=-4)])
    assert dependence.look_for_dependence((far, still)).steady == set()
    assert dependence.look_for_dependence((still, still)).steady == {"a"}


@pytest.mark.parametrize("graded", [13, 14])
def test_more_runs_are_added_to_those_that_are_there(monkeypatch, graded):
    made = [(run(call(key="laplace(0;)#0")), flatten_output([1.0 + 2.0 * 0.5]))]
    made += [(run(call(key="laplace(0;)#0"), seed=-4), flatten_output([2.0]))] * graded
    monkeypatch.setattr(dependence, "runs_of_every_size", lambda *_: iter(made))
    structure = flatten_output([1.0]).structure
    both = (laws(NumberLaw("laplace", 1.0, 2.0, DRAW), structure=structure),) * 2
    sides = (SideRuns(runs=[run(call(key="laplace(0;)#0"))]),) * 2
    before = DependenceCheck({"laplace(0;)#0", "b"}, ordinary=3, graded=2)
    told = dependence.look_again(before, None, ((), ()), (sides, both), 5)
    assert (told.steady, told.lawful) == ({"laplace(0;)#0"}, True)
    assert told.every_size is (graded >= 14)
    assert (told.ordinary, told.graded) == (4, 2 + graded)
    for name in ("same_calls", "lawful"):
        worse = replace(before, **{name: False})
        told = dependence.look_again(worse, None, ((), ()), (sides, both), 5)
        assert not getattr(told, name)


def test_runs_obey_laws_where_every_number_and_text_of_every_run_does():
    structure = flatten_output([1.0, "a", 1.0]).structure
    both = laws(NOISY, NumberLaw("constant", 7.0), structure=structure, texts=("a",))
    draws = [-0.5, 0.5, 3.0]
    own = [call(key=DRAW.key, draw=z) for z in draws]

    def obey(laws=both, **changes):
        outputs = [[1.0 + 2.0 * z, "a", 7.0] for z in draws]
        for place, value in changes.get("at", {}).items():
            outputs[2][place] = value
        made = [(run(one), flatten_output(out)) for one, out in zip(own, outputs, strict=True)]
        return _has_lawful_runs(laws, made[: changes.get("most", 3)])

    assert obey()
    assert not obey(at={0: 7.001})
    assert not obey(at={2: 7.001})
    assert not obey(at={1: "b"})
    assert not obey(at={1: 3.0})
    assert obey(replace(both, numbers=[None, NumberLaw("constant", 7.0)]), at={0: 7.001})
    assert not obey(replace(both, numbers=[None, NumberLaw("constant", 7.0)]), at={2: 7.001})
    assert not obey(replace(both, numbers=[replace(NOISY, draw=StandardDraw("b", 0)), None]))
    missing = replace(both, numbers=[None, NumberLaw("constant", math.nan)])
    assert not obey(missing)
