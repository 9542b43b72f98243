"""The parts of laws that are read from code, each worked out by hand and on either side alone."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from dpaudit.auditing.exact import traced_laws
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.errors import MechanismError
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import PureDP
from dpaudit.tracing import determined_values, draws, law, placed_law, reading, steps
from dpaudit.tracing.determined_values import ReadOff, RunOutput, learn_read_off, runs_to_learn
from dpaudit.tracing.draws import LawState
from dpaudit.tracing.law import Profile
from dpaudit.tracing.located_noise import PendingNoise
from dpaudit.tracing.runs import MissingLaw, find_unlawful_reason, nearly_same
from dpaudit.tracing.steps import LAWS, LocatedValue

OWN, OTHER = (
    LocatedValue(np.array([1.0]), np.array([0.5])),
    LocatedValue(np.array([2.0]), np.array([0.5])),
)


def outcome(*numbers, fixed=("a",)):
    return RunOutput(fixed, np.array(numbers, dtype=float))


# --- one noisy value ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "of"), [("normal", norm), ("laplace", laplace)])
def test_a_loss_is_the_log_density_here_less_that_there(kind, of):
    rows = np.array([0.3, -2.0])
    own = LocatedValue(np.array([0.0, 1.0]), np.array([1.0, 0.5]))
    other = LocatedValue(np.array([1.0, 1.0]), np.array([1.0, 2.0]))
    expected = of.logpdf(rows, *own) - of.logpdf(rows, *other)
    found = LAWS[kind]
    assert found.loss(rows, own, other) == pytest.approx(expected.sum(), rel=1e-12)
    assert float(found.enclosed_loss(rows, own, other)) == pytest.approx(expected.sum())
    assert found.uniforms(rows, own, np.random.default_rng(0)) == pytest.approx(of.cdf(rows, *own))


@pytest.mark.parametrize(("kind", "expected"), [("normal", 2.0), ("laplace", 1 + math.exp(-2))])
def test_an_expected_loss_is_that_of_the_distance_in_scales(kind, expected):
    found = LAWS[kind]
    assert found.divergence(OWN, OTHER) == pytest.approx(expected)
    assert found.divergence(OTHER, OWN) == pytest.approx(expected)
    assert found.divergence(OWN, OWN) == 0


@pytest.mark.parametrize("kind", LAWS)
def test_noise_of_a_law_has_scale_one(kind):
    of = norm if kind == "normal" else laplace
    drawn = LAWS[kind].standard(np.random.default_rng(0), (4000,))
    assert kstest(drawn, of.cdf).pvalue > 1e-3


@pytest.mark.parametrize("apart", [0.0, 1e-9, 0.7, 60.0])
@pytest.mark.parametrize("tilt", [0.0, 0.5, 3.0])
def test_masses_of_a_tilted_laplace_law_are_integrals(apart, tilt):
    below, between, beyond = np.exp(steps._log_pieces(np.array(apart), tilt))
    slope = 1 + 2 * tilt
    assert below == pytest.approx(math.exp(tilt * apart))
    inside = (math.exp(tilt * apart) - math.exp(-(1 + tilt) * apart)) / slope
    assert between == pytest.approx(inside, rel=1e-6, abs=1e-30)
    assert beyond == pytest.approx(math.exp(-(1 + tilt) * apart))


@pytest.mark.parametrize("kind", LAWS)
def test_values_are_tilted_away_from_the_neighbour(kind):
    rng = np.random.default_rng(3)
    many = [LocatedValue(np.full(400, one.centre[0]), np.full(400, 0.5)) for one in (OWN, OTHER)]
    for own, other, sign in ((many[0], many[1], -1), (many[1], many[0], 1)):
        value, loss, _ = LAWS[kind].tilted(own, other, 2.0, rng)
        assert sign * (np.mean(value) - own.centre[0]) > 0.05
        assert loss == pytest.approx(LAWS[kind].loss(value, own, other))


def test_where_one_scale_of_several_differs_nothing_is_tilted():
    own = LocatedValue(np.zeros(2), np.ones(2))
    other = LocatedValue(np.full(2, 9.0), np.array([1.0, 2.0]))
    value, loss, log_mgf = LAWS["normal"].tilted(own, other, 4.0, np.random.default_rng(0))
    assert np.abs(value).max() < 5
    assert log_mgf == 4 * loss


# --- noise that meets a value ---------------------------------------------------------------------


def a_state(answer=0.25, located=()):
    met = []

    def meet(meeting):
        met.append(meeting)
        return np.full(meeting.parameters.shape, answer)

    return LawState(0, meet, located), met


def a_call(kind="normal", shape=(3,), index=0):
    return SimpleNamespace(kind=kind, name=kind, shape=shape, index=index)


FORMS = {
    "plus": (lambda z: 5.0 + z, 5.0, 1.0),
    "from the right": (lambda z: z + 5.0, 5.0, 1.0),
    "less": (lambda z: 5.0 - z, 5.0, 1.0),
    "taken from": (lambda z: z - 5.0, -5.0, 1.0),
    "negative": (lambda z: 5.0 + -z, 5.0, 1.0),
    "twice": (lambda z: 5.0 - 2 * z, 5.0, 2.0),
    "half": (lambda z: z / 2 + 5.0, 5.0, 0.5),
    "by less than nothing": (lambda z: z * -3.0 + 5.0, 5.0, 3.0),
    "plain": (lambda z: +z + 5.0, 5.0, 1.0),
}


@pytest.mark.parametrize("form", FORMS)
def test_noise_meets_a_centre_with_a_scale(form):
    function, centre, scale = FORMS[form]
    state, met = a_state()
    found = function(state.form(a_call(), 0.0, 1.0))
    assert found.tolist() == [0.25] * 3
    (meeting,) = met
    assert meeting.parameters.centre.tolist() == [centre] * 3
    assert meeting.parameters.scale.tolist() == [scale] * 3


def test_parts_of_noise_meet_one_value_each():
    state, met = a_state()
    noise = state.form(a_call(shape=(2, 2)), 0.0, [[1.0, 2.0], [3.0, 4.0]])
    noise.T[0] + 1.0
    noise[:, 1] + 2.0
    assert [one.parameters.scale.tolist() for one in met] == [[1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(draws.NoLaw, match="used twice"):
        noise[0, :1] + 1.0
    assert state.refusal[1] == "a draw is used twice"


@pytest.mark.parametrize(
    "use",
    [
        lambda z: (z + 1.0, z[:1] + 1.0),
        lambda z: (z[1:] + 1.0, z + 1.0),
        lambda z: z + np.ones((2, 3)),
        lambda z: z[[0, 0]] + 1.0,
        lambda z: (z.reshape(3, 1) + 1.0, z[2:] * 2 + 1.0),
    ],
)
def test_no_entry_of_a_draw_is_used_again(use):
    state, _ = a_state()
    with pytest.raises(draws.NoLaw, match="used twice"):
        use(state.form(a_call(), 0.0, 1.0))


def test_entries_of_two_draws_are_not_taken_for_one():
    state, met = a_state()
    for index in (0, 1):
        state.form(a_call(index=index), 0.0, 1.0) + 1.0
    assert len(met) == 2


@pytest.mark.parametrize(("centre", "scale"), [(math.nan, 1.0), (math.inf, 1.0), (0.0, 0.0)])
def test_a_centre_that_is_no_number_and_a_scale_of_zero_are_refused(centre, scale):
    state, met = a_state()
    noise = state.form(a_call(), 0.0, [1.0, scale, 1.0])
    with pytest.raises(draws.NoLaw, match="not a number"):
        noise + np.array([1.0, centre, 1.0])
    assert met == []


@pytest.mark.parametrize("located", [(), (True,), (False,)])
@pytest.mark.parametrize("location", [0.0, 2.0])
def test_a_location_is_a_centre_where_one_was_expected_or_is_given(located, location):
    state, met = a_state(located=located)
    if located == (False,) and location:
        with pytest.raises(draws.NoLaw, match="as it was in other calls"):
            state.form(a_call(), location, 1.0)
        return
    found = state.form(a_call(), location, 1.0)
    is_centre = located == (True,) or (located == () and location != 0)
    assert state.located == [is_centre]
    assert isinstance(found, PendingNoise) is not is_centre
    assert [one.parameters.centre.tolist() for one in met] == [[location] * 3] * is_centre


def test_a_state_begins_with_nothing_and_is_a_run_of_its_seed():
    state = LawState(7, lambda meeting: meeting, [True])
    assert (state.run.seed, state.run.calls, state.counters, state.parents) == (7, [], {}, [])
    assert (state.spent, state.meetings, state.located, state.formed) == ({}, [], [], set())
    assert (state.refusal, state.look) == (None, None)
    assert not state.is_over
    assert not state.is_impossible


def test_a_draw_is_looked_at_first_by_one_line_and_only_while_the_run_goes_on():
    state, met = a_state()
    state.note_look()
    first = state.look
    state.note_look()
    assert state.look is first is not None
    state.is_over = True
    with pytest.raises(draws.NoLaw, match="the output holds a draw by itself"):
        PendingNoise(state, "normal", draws.list_call_sources(a_call()), np.ones(3)).plain()
    assert met == []
    assert state.refusal is None


def test_what_is_never_drawn_ends_a_run_as_impossible():
    state, _ = a_state()
    assert isinstance(state.end_as_impossible(), draws.NoLaw)
    assert state.is_impossible
    assert state.refusal[1] == "no draw ever gives this noisy value"


def test_the_first_refusal_stays():
    state, _ = a_state()
    state.refuse("one")
    state.refuse("two")
    assert state.refusal[1] == "one"


def test_a_value_is_drawn_around_its_centre_with_its_scale():
    where = LocatedValue(np.full(3000, 5.0), np.full(3000, 0.1))
    drawn = draws.draw_value(draws.NoisyValue("laplace", "", where), np.random.default_rng(0))
    assert kstest(drawn, laplace(5.0, 0.1).cdf).pvalue > 1e-3


# --- values that are read off outputs -------------------------------------------------------------


def test_how_many_runs_show_how_values_are_read_off():
    assert runs_to_learn(outcome(*range(5))) == 16
    assert runs_to_learn(outcome(*range(determined_values.MOST + 7))) == determined_values.MOST + 11


def test_a_value_that_stands_twice_is_read_where_it_stands_first_and_in_every_run():
    values = [np.array([float(n), 2.0 * n + 1]) for n in range(4)]
    outs = [outcome(v[1], v[0], v[1], 7.0) for v in values]
    found = learn_read_off(outs, values, np.ones(2))
    assert found.places.tolist() == [1, 0]
    assert found.values(outs[2]).tolist() == values[2].tolist()
    assert found.values(outcome(1.0, 2.0, 3.0, 4.0, fixed=("b",))) is None
    apart = [*outs[:3], outcome(0.0, *outs[3].numbers[1:])]
    assert learn_read_off(apart, values, np.ones(2)).places.tolist() == [1, 2]
    apart[0] = outcome(*outs[0].numbers[:2], 0.0, 7.0)
    assert learn_read_off(apart, values, np.ones(2)) is None


def test_places_agree_only_where_values_are_equal():
    read = ReadOff(("a",), np.array([1]))
    assert read.agrees(outcome(0.0, 2.0), np.array([2.0]), np.ones(1))
    assert not read.agrees(outcome(0.0, 2.0 + 1e-12), np.array([2.0]), np.ones(1))
    assert not read.agrees(outcome(0.0, math.nan), np.array([math.nan]), np.ones(1))
    assert not read.agrees(outcome(0.0, 2.0), np.array([2.0, 2.0]), np.ones(2))


def test_an_affine_map_agrees_within_a_millionth_of_the_scale_on_either_side():
    read = ReadOff(("a",), None, np.array([[2.0], [-1.0]]), np.array([3.0]))
    assert read.values(outcome(4.0, 1.0)).tolist() == [10.0]
    for moved, scale, close in ((0.9, 1, True), (1.1, 1, False), (0.9, 0.5, False), (1.9, 2, True)):
        for sign in (-1, 1):
            values = np.array([10.0 + sign * moved * 1e-6])
            assert read.agrees(outcome(4.0, 1.0), values, np.array([float(scale)])) is close
    assert not read.agrees(outcome(4.0, math.inf), np.array([10.0]), np.ones(1))


def affine_runs(count, length=3, shift=lambda n: 0.0):
    rng = np.random.default_rng(0)
    values = [rng.normal(size=2) for _ in range(count)]
    parts = [np.append(np.array([1.0, 2.0, 5.0]), np.zeros(length - 3))] * count
    outs = [
        outcome(v[0] + v[1] + parts[n][0], v[0] - v[1] + shift(n), *parts[n][2:])
        for n, v in enumerate(values)
    ]
    return outs, values


def test_an_affine_map_needs_runs_that_judge_it():
    assert learn_read_off(*affine_runs(11), np.ones(2)) is not None
    assert learn_read_off(*affine_runs(10), np.ones(2)) is not None
    assert learn_read_off(*affine_runs(9), np.ones(2)) is None


@pytest.mark.parametrize("at", [-1, -5])
def test_one_run_that_judges_is_enough_against_a_map(at):
    outs, values = affine_runs(20, shift=lambda n: 1e-3 * (n == 20 + at))
    assert learn_read_off(outs, values, np.ones(2)) is None


def test_outputs_that_are_no_numbers_or_too_many_tell_no_values():
    outs, values = affine_runs(20)
    outs[3] = outcome(*[math.nan] * len(outs[3].numbers))
    assert learn_read_off(outs, values, np.ones(2)) is None
    many = determined_values.MOST + 1
    assert learn_read_off(*affine_runs(many + 20, length=many + 1), np.ones(2)) is None


def test_arrays_of_another_shape_are_of_another_form():
    one, other = (RunOutput.of(np.zeros(shape), None) for shape in ((2, 3), (3, 2)))
    assert one.numbers.shape == other.numbers.shape
    assert one.fixed != other.fixed
    array = np.zeros(2)
    kept = RunOutput.of(array, None)
    array += 1
    assert kept.numbers.tolist() == [0, 0]


# --- runs -----------------------------------------------------------------------------------------


def test_a_run_given_values_that_were_read_off_may_differ_by_what_that_rounds():
    one = outcome(1.0, 1e6)
    for moved, close in (([0.9e-6, 0], True), ([0, 0.9e-3], True), ([2.1e-6, 0], False)):
        for sign in (-1, 1):
            far = RunOutput(("a",), one.numbers + sign * np.array(moved))
            assert nearly_same(far, one, 1.0) is close
    assert not nearly_same(outcome(1.0 + 0.9e-6, 1e6), one, 1e-3)
    assert not nearly_same(outcome(1.0, 1e6, fixed=("b",)), one, 1.0)
    assert not nearly_same(outcome(1.0), one, 1.0)
    assert not nearly_same(outcome(math.nan, 1e6), one, 1.0)


def test_runs_that_must_be_the_same_are_so_bit_for_bit():
    assert law.same_outcome(outcome(1.0, math.nan), outcome(1.0, math.nan))
    assert not law.same_outcome(outcome(1.0), outcome(1.0 + 1e-15))
    assert not law.same_outcome(outcome(1.0), outcome(1.0, fixed=("b",)))


def meetings(*pairs):
    return [
        tuple(
            draws.NoisyValue(kind, "line 1", LocatedValue(np.array(c), np.array(s)))
            for c, s in ((centre, scale), (other, other_scale))
        )
        for kind, centre, scale, other, other_scale in pairs
    ]


def test_a_profile_holds_the_least_scale_and_the_largest_movement():
    pairs = meetings(
        ("normal", [0.0, 0.0], [2.0, 3.0], [3.0, 4.0], [2.0, 3.0]),
        ("normal", [0.0, 0.0], [2.0, 3.0], [0.0, 1.0], [2.0, 3.0]),
    )
    found = reading._profile_of(pairs)
    assert (found.scale, found.moved, found.is_steady) == (2.0, 5.0, True)
    expected = [(9 / 4 + 16 / 9) / 2, 1 / 18]
    assert found.divergence == pytest.approx(np.mean(expected))
    one = ("laplace", [0.0, 0.0], [1.0, 1.0], [3.0, -4.0], [1.0, 1.0])
    in_l1 = reading._profile_of(meetings(one))
    assert in_l1.moved == 7.0


@pytest.mark.parametrize("which", [1, 2, 3, 4])
def test_a_scale_that_differs_in_one_run_or_on_one_side_is_not_steady(which):
    given = [[1.0], [1.0], [1.0], [1.0]]
    given[which - 1] = [1.5]
    pairs = meetings(
        ("normal", [0.0], given[0], [1.0], given[1]), ("normal", [0.0], given[2], [1.0], given[3])
    )
    assert not reading._profile_of(pairs).is_steady


def a_run(**given):
    facts = {"calls": [], "error": None, "seeds": [], "elsewhere": False, "copied": False}
    unread = given.pop("unread", [])
    run = SimpleNamespace(**(facts | given))
    return SimpleNamespace(run=run, refusal=None, unread=unread, is_impossible=False)


@pytest.mark.parametrize(
    ("given", "reason", "place"),
    [
        ({}, None, None),
        ({"calls": [a_call(), a_call("laplace")]}, None, None),
        (
            {"unread": [SimpleNamespace(name="random", place="l")]},
            "random",
            "l",
        ),
        ({"error": "KeyError"}, "KeyError", None),
        ({"seeds": [(1, "line 4")]}, "seeds a generator itself", "line 4"),
        ({"elsewhere": True}, "another thread", None),
        ({"copied": True}, "copied", None),
    ],
)
def test_why_a_run_has_no_law(given, reason, place):
    found = find_unlawful_reason(a_run(**given))
    if reason is None:
        assert found is None
    else:
        assert reason in found.reason
        assert found.place == place


def test_a_refusal_comes_first_with_its_line():
    run = a_run(error="ValueError")
    run.refusal = "line 7", "a draw is used twice"
    assert find_unlawful_reason(run) == MissingLaw(reason="a draw is used twice", place="line 7")
    assert str(MissingLaw(reason="why", place="line 7")) == "line 7: why"


# --- what a report and an audit take of it --------------------------------------------------------


def a_placed_law(*steady):
    keys = [("normal", "line 1", ()), ("laplace", "line 2", ()), ("normal", "line 1", ())]
    profile = [
        Profile(scale=s, is_steady=one, moved=m, divergence=d)
        for one, (s, m, d) in zip(
            steady, [(2.0, 1.0, 0.1), (1.0, 3.0, 0.6), (0.5, 4.0, 0.3)], strict=True
        )
    ]
    return placed_law.PlacedLaw(object(), keys, profile)


def test_lines_are_those_of_a_place_and_a_kind_in_order():
    first, second = traced_laws.lines_of(a_placed_law(True, True, True)).lines
    assert (first.place, first.noise, first.values, first.scale) == ("line 1", "normal", 2, 0.5)
    assert (second.place, second.noise, second.values, second.scale) == (
        "line 2",
        "laplace",
        1,
        1.0,
    )
    assert (first.share, second.share) == (0.4, 0.6)
    assert first.moved is None


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (6, ""), (7, " and at 1 more lines"), (9, " and at 3 more lines")]
)
def test_six_lines_are_named_and_the_others_counted(count, more):
    place = traced_laws.lines_of(a_placed_law(True, True, True))
    lines = [place.lines[0].model_copy(update={"place": f"line {n}"}) for n in range(count)]
    named = ", ".join(f"2 with normal noise at `line {n}`" for n in range(min(count, 6)))
    said = traced_laws._format_read_law(place.model_copy(update={"lines": lines}))
    assert said == f"A law was read from the code: noisy values, {named}{more}."


def test_of_lines_that_are_not_steady_no_scale_is_shown():
    assert [one.scale for one in traced_laws.lines_of(a_placed_law(True, True, False)).lines] == [
        None,
        1.0,
    ]
    assert [one.scale for one in traced_laws.lines_of(a_placed_law(True, False, True)).lines] == [
        0.5,
        None,
    ]


def test_the_largest_movement_is_shown_with_records(monkeypatch):
    monkeypatch.setattr(traced_laws, "are_shown", lambda: True)
    lines = traced_laws.lines_of(a_placed_law(False, True, True)).lines
    assert [(one.moved, one.scale) for one in lines] == [(4.0, 0.5), (3.0, 1.0)]


def evidence(lower, name, **given):
    facts = {"lower": lower, "upper": None, "estimate": None, "estimator": name, "trials": 9}
    facts |= {"budget": {name: 0.1}, "counts": {name: 3}, "notes": (f"of {name}",)}
    return MeasurementEvidence(**(facts | given))


@pytest.mark.parametrize(("losses", "outputs"), [(2.0, 1.0), (1.0, 2.0), (1.0, 1.0)])
def test_of_losses_and_outputs_the_larger_end_counts(losses, outputs):
    event = object()
    both = evidence(losses, "losses"), evidence(outputs, "event", carrying=event)
    found = traced_laws._merge_loss_evidence(*both, a_placed_law(True, True, True))
    assert found.lower == max(losses, outputs)
    assert found.carrying is (event if outputs > losses else None)
    assert found.budget == {"losses": 0.1, "outputs, event": 0.1}
    assert found.counts == {"losses": 3, "outputs, event": 3}
    assert found.notes[-2:] == ("of losses", "of event")


class Spent:
    """What an audit asks of outputs and of losses, and what they answer."""

    def __init__(self, monkeypatch, *, outputs, losses):
        self.alphas = {}
        monkeypatch.setattr(traced_laws, "law_of", lambda *_: a_placed_law(True, True, True))
        monkeypatch.setattr(traced_laws, "make_drawer", lambda *_, **__: None)
        monkeypatch.setattr(
            traced_laws.event, "bound_epsilon_by_event", self._answer("event", 3, outputs)
        )
        monkeypatch.setattr(traced_laws.exact_loss, "exact_loss", self._answer("losses", 3, losses))

    def _answer(self, name, at, found):
        def answer(*given):
            self.alphas[name] = given[at]
            if isinstance(found, Exception):
                raise found
            return found

        return answer

    def run(self):
        progress = SimpleNamespace(start=lambda *_: None, advance=lambda *_: None)
        drawer = SimpleNamespace(seed=0, executor=SimpleNamespace(progress=progress))
        case = PrivacyCase(
            mechanism=None,
            pair=None,
            claimed=PureDP(1.0),
            at_delta=0.0,
            view="",
            data="",
            default_trials=9,
            parameters={},
        )
        return traced_laws.losses_of_code(case, drawer, Settings(confidence=0.8), 9)


def test_outputs_and_losses_share_the_error_probability(monkeypatch):
    spent = Spent(monkeypatch, outputs=evidence(1.0, "event"), losses=evidence(2.0, "losses"))
    assert spent.run().lower == 2.0
    assert spent.alphas == pytest.approx({"event": 0.02, "losses": 0.18})


FAILED = CheckOutcome(
    name="uniforms", statement="D <= d", passed=False, statistic=2.0, threshold=1.0, evidence=""
)


def test_where_outputs_break_the_contract_no_losses_are_asked_for(monkeypatch):
    outputs = evidence(1.0, "event", contract=(FAILED,))
    spent = Spent(monkeypatch, outputs=outputs, losses=evidence(2.0, "losses"))
    assert spent.run() is outputs
    assert list(spent.alphas) == ["event"]


@pytest.mark.parametrize(
    "losses", [evidence(9.0, "losses", self_checks=(FAILED,)), MechanismError("it breaks")]
)
def test_where_a_law_does_not_hold_outputs_alone_count(monkeypatch, losses):
    found = Spent(monkeypatch, outputs=evidence(1.0, "event"), losses=losses).run()
    assert (found.lower, found.law) == (1.0, None)
    assert "No exact losses" in found.notes[0]


def test_where_outputs_certify_more_than_a_law_allows_they_alone_count(monkeypatch):
    outputs = evidence(2.0, "event")
    found = Spent(monkeypatch, outputs=outputs, losses=evidence(0.5, "losses", upper=1.23456)).run()
    assert (found.lower, found.upper, found.law) == (2.0, None, None)
    assert found.notes[0] == (
        "No exact losses (the law that was read allows 1.235 at most, and outputs certify 2)."
    )
    agreed = Spent(monkeypatch, outputs=outputs, losses=evidence(0.5, "losses", upper=2.0)).run()
    assert (agreed.lower, agreed.upper) == (2.0, 2.0)


# --- small ends -----------------------------------------------------------------------------------


def test_a_noisy_value_is_written_over_an_array_and_over_nothing_else():
    state, met = a_state()
    array = np.array([5.0, 6.0, 7.0])
    array += state.form(a_call(), 0.0, 1.0)
    assert array.tolist() == [0.25] * 3
    assert met[0].parameters.centre.tolist() == [5.0, 6.0, 7.0]
    with pytest.raises(draws.NoLaw, match="not an array"):
        state.form(a_call(index=1), 0.0, 1.0).written([0.0], array)


@pytest.mark.parametrize(
    ("kinds", "unbounded"),
    [(["normal"], True), (["laplace"], False), (["laplace", "normal"], True), ([], False)],
)
def test_outputs_have_any_loss_where_one_noisy_value_is_gaussian(kinds, unbounded):
    keys = tuple((kind, "line 1", ()) for kind in kinds)
    read = law.TracedLaw(None, keys, (), ReadOff((), np.zeros(0, dtype=int)))
    assert read.loss_is_unbounded is unbounded


def test_of_several_seeds_the_first_is_named():
    found = find_unlawful_reason(a_run(seeds=[(1, "line 4"), (2, "line 5")]))
    assert found.place == "line 4"
