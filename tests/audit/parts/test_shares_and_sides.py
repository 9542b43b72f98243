"""What certifies was not chosen on, whose side it is of, and what a look may spend: by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.distinguishers.learned_scores as learned_scores
import dpaudit.auditing.estimators.event as black_box
import dpaudit.auditing.estimators.given_outputs as given_outputs
import dpaudit.auditing.estimators.group_sequential as group_sequential
import dpaudit.auditing.exact.exact_loss as exact_loss
import dpaudit.auditing.explain.output_parts as output_parts
import dpaudit.auditing.explain.witness as witness
import dpaudit.auditing.sampling.schedule as schedule
from dpaudit.auditing.estimators.divergence import (
    BinnedEvent,
    DivergenceOutcome,
    _compute_largest_bet_bound,
)
from dpaudit.auditing.estimators.event import (
    Promising,
    _at_its_point,
    certify_event,
    choose_promising_event,
)
from dpaudit.auditing.estimators.given_outputs import event_evidence
from dpaudit.auditing.estimators.group_sequential import (
    Look,
    LookClock,
    Slowly,
    compute_epsilon_ceiling,
    format_look_plan,
)
from dpaudit.auditing.estimators.sequential import Bettor
from dpaudit.auditing.exact.largest_loss import (
    Peak,
    RecomputedEvidence,
    Winner,
    _make_enclosed_loss,
    largest_loss,
)
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.bet_choice import BetChoice
from dpaudit.estimation.divergence import Bins, choose_renyi_bet
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.score_events import Tally, ThresholdEvent
from dpaudit.estimation.sequential.game import BettingTarget, make_bet_boundaries
from dpaudit.execution.executor import ShareDrawn
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import REPLACE_RECORD, Pair, Side

from .common import case_of, drawer_of

SETTINGS = Settings(delta=0.0, confidence=0.95, seed=3)


# Outputs that somebody drew


def parts_of(monkeypatch):
    """Return what is asked about which outputs: those that choose, and those that certify."""
    asked = {}

    def chosen(on_p, on_q, delta, sure):
        asked["choosing"] = on_p[0], on_q[0]
        event, scores = ThresholdEvent(True, 0.5, 0.0), (on_p[0], on_q[0])
        return Promising(0, event, 0.0, scores, promised=(0.0,) * len(on_p))

    monkeypatch.setattr(given_outputs, "choose_promising_event", chosen)
    monkeypatch.setattr(Promising, "rounded", lambda self, scores: scores)
    monkeypatch.setattr(
        given_outputs, "certify_event", lambda *given: asked.update(certifying=given[:2])
    )
    return asked


def test_no_output_that_chose_an_event_certifies_it_and_each_is_used_once(monkeypatch):
    asked = parts_of(monkeypatch)
    on_p, on_q = np.arange(90.0), np.arange(100.0, 160.0)
    event_evidence(on_p, on_q, SETTINGS)
    for side, given in enumerate((on_p, on_q)):
        chose, certify = asked["choosing"][side], asked["certifying"][side]
        assert len(chose) == len(given) // 3
        assert sorted([*chose, *certify]) == given.tolist()
        assert sorted(certify) != certify.tolist()  # nobody's order
        assert not {*chose} & {*certify}
        assert 0 < np.mean(chose < np.median(given)) < 1  # of all of them


def test_the_two_sides_are_put_into_orders_of_their_own(monkeypatch):
    asked = parts_of(monkeypatch)
    given = np.arange(120.0)
    event_evidence(given, given, SETTINGS)
    assert asked["certifying"][0].tolist() != asked["certifying"][1].tolist()


@pytest.mark.parametrize("swapped", [False, True])
def test_guesses_of_either_number_certify_at_half_the_error_each(swapped):
    one, other = np.repeat([1.0, 0.0], [190, 10]), np.repeat([1.0, 0.0], [20, 180])
    on_p, on_q = (other, one) if swapped else (one, other)
    found = event_evidence(on_p, on_q, SETTINGS)
    hits = (180, 10) if swapped else (190, 20)  # of the number that the dataset has more of
    due = joint_lower_bound(*hits, 200, 200, delta=0.0, alpha=0.025)
    assert found.lower == pytest.approx(due)
    assert found.carrying.hits == hits
    assert sorted(found.budget.values()) == pytest.approx([0.025, 0.025])


# Events


@pytest.mark.parametrize("above", [True, False])
def test_what_carries_a_bound_is_counted_by_dataset_and_trials_are_those_of_the_smaller(above):
    on_p, on_q = np.repeat([1.0, -1.0], [60, 40]), np.repeat([1.0, -1.0], [30, 170])
    event = ThresholdEvent(above, 0.0, 0.0)
    found = certify_event(on_p, on_q, event, "one", 0.0, 0.05, {})
    assert found.trials == 100
    assert found.carrying.hits == ((60, 30) if above else (40, 170))
    assert found.carrying.runs == (100, 200)
    tally = Tally((600, 300), (1000, 2000))
    assert certify_event(on_p, on_q, event, "one", 0.0, 0.05, {}, tally).trials == 1000


def test_a_plain_event_is_taken_only_where_it_promises_nearly_as_much():
    rng = np.random.default_rng(0)
    strong, weak = rng.normal(3, 1, 400), rng.normal(1, 1, 400)
    none = rng.normal(0, 1, (2, 400))
    on_p, on_q = np.stack([weak, strong]), none
    assert choose_promising_event(on_p, on_q, 0.0, plain=[0]).index == 1
    assert (
        choose_promising_event(
            np.stack([strong, strong]), np.stack([none[0], none[0]]), 0.0, [1]
        ).index
        == 1
    )
    assert (
        choose_promising_event(np.stack([strong, strong]), np.stack([none[0], none[0]]), 0.0).index
        == 0
    )


def test_a_point_is_chosen_on_a_quarter_as_many_outputs_as_certify(monkeypatch):
    asked = []

    def scores(given, side, size, purpose):
        asked.append((side, size))
        return np.linspace(0, 1, size)[None] + 3 * (side is Side.DATASET)

    monkeypatch.setattr(black_box.claim_point, "choose_claim_delta", lambda *_: 0.25)
    chosen = black_box.EventChoice(None, len, None, (), {"pilot": 3}, 0.0)
    found = _at_its_point(None, SimpleNamespace(scores=scores), chosen, (4000, 0.05))
    assert asked == [(Side.DATASET, 1000), (Side.NEIGHBOUR, 1000)]
    assert found.counts == {"pilot": 3, "choosing the point, per dataset": 1000}
    assert found.at_delta == 0.25


# Draws


@pytest.mark.parametrize(
    ("layout", "timed", "unit", "sparing"),
    [(True, False, 1, True), (False, False, 1, False), (True, True, 1, False), (True, False, 2, 0)],
)
def test_no_output_is_spared_of_run_times(monkeypatch, layout, timed, unit, sparing):
    monkeypatch.setattr("dpaudit.auditing.sampling.sampler.find_clock_columns", lambda _: timed)
    monkeypatch.setattr("dpaudit.auditing.sampling.sampler.unit_size", lambda *_, **__: 8)
    mechanism = SimpleNamespace(layout=object() if layout else None)
    drawer = Drawer(mechanism, None, None, 1, 4)
    assert drawer.for_look(1000, 5, unit).sparing is bool(sparing)


def test_weights_of_a_direction_are_bounded_on_the_pair_seen_from_it(monkeypatch):
    class Law:
        def log_mgf_bounds(self, pair, tilt):
            return -1.0, float(pair.dataset[0]) + tilt

    pair = Pair(np.array([10.0]), np.array([20.0]), REPLACE_RECORD)
    drawer = Drawer(Law(), pair, None, 1, 4)
    parts = [(np.array([0.5]), np.array([0.1]))]
    monkeypatch.setattr(Drawer, "_map", lambda *_, **__: parts)
    for side, bound in ((Side.DATASET, 12.0), (Side.NEIGHBOUR, 22.0)):
        assert drawer.tilted(side, 2.0, 1, "one").log_mgf_bound == bound


# Looks


def test_a_time_has_to_be_enough_for_the_last_look_s_share():
    clock = LookClock(30.0, 1000, 0.1, 0.0, lambda: 0.0, Slowly(1, 0.0))
    trials = clock.first.trials
    assert 0 < trials < group_sequential.FEW
    most, whole = (compute_epsilon_ceiling(trials, share * 0.05, 0.0) for share in (0.8, 1.0))
    clock.require(0.05, (most * 0.999, 0.0))
    with pytest.raises(InvalidArgument, match="time"):
        clock.require(0.05, ((most + whole) / 2, 0.0))


def test_a_further_trial_takes_what_two_looks_differ_by():
    clock = LookClock(100.0, 1000, 1e-3, 0.0, lambda: 0.0)
    before, look = Look(100, 0.1), Look(800, 0.05)
    assert clock._marginal(look, 15.0, before, 8.0) == pytest.approx(7.0 / 700)
    assert clock._marginal(look, 8.0, before, 8.0) == pytest.approx(8.0 / 800 / 10)
    alone = Look(0, 0.0)
    assert clock._marginal(look, 8.0, alone, 0.0) == pytest.approx(8.0 / 800)
    assert clock._marginal(Look(100, 0.1), 8.0, alone, 0.0) == pytest.approx(0.016)


def test_a_plan_of_a_time_counts_on_the_last_look_s_share():
    said = format_look_plan(100, 0.05, (1.0, 0.0), 1e-2, 100.0)
    trials = 2100  # .85 of 100 s at 4 outputs of .01 s a trial
    assert f"about {trials:,} outputs" in said
    last, whole = (compute_epsilon_ceiling(trials, share * 0.05, 0.0) for share in (0.8, 1.0))
    assert f"{last:.2g}" in said
    one_percent = format_look_plan(100, 0.05, (1.0, 0.0), 1.25, 100.0)
    few = compute_epsilon_ceiling(17, 0.8 * 0.05, 0.0)
    assert f"of {few:.2g} at most" in one_percent
    assert f"{compute_epsilon_ceiling(17, 0.05, 0.0):.2g}" != f"{few:.2g}"
    assert whole > last


# Losses


def test_a_loss_between_no_two_ends_certifies_nothing_above_the_claim():
    for ends in ((math.nan, 3.0), (3.0, math.nan), (4.0, 3.0), (-math.inf, 3.0)):
        found = _make_enclosed_loss(2.5, ends, 1.0)
        assert (found.lower, found.checks) == (1.0, ())
    assert _make_enclosed_loss(2.5, (2.4, 2.6), 1.0).lower == 2.4
    assert _make_enclosed_loss(2.5, (2.6, math.inf), 1.0).lower == 2.5


@pytest.mark.parametrize(("lower", "told"), [(2.0, "a reservation"), (1.0, "")])
def test_a_reservation_is_told_of_what_is_above_the_claim(monkeypatch, lower, told):
    import dpaudit.auditing.exact.largest_loss as module

    losses = np.array([0.1, -0.2])
    peak = Winner(Peak(2.0, np.zeros(1), 5), None, "the dataset")
    for name, value in (
        ("plain_losses", lambda *_: {Side.DATASET: losses, Side.NEIGHBOUR: losses}),
        ("largest_over_outputs", lambda *_: peak),
        ("residual_trials", lambda *_: 10),
        ("certified_loss", lambda *_: RecomputedEvidence(lower, reservation="a reservation")),
        ("side_checks", lambda *_: []),
    ):
        monkeypatch.setattr(module, name, value)
    found = largest_loss(case_of(), drawer_of(seed=1), 1000)
    assert (found.lower, found.remark) == (lower, told)


def test_the_first_tilt_of_the_neighbour_is_by_its_own_losses(monkeypatch):
    """A loss of second moment m is that of s with ``s + s^2 / 4 = m``, whatever its sign is."""
    asked = []
    monkeypatch.setattr(exact_loss, "draw_aimed_direction", lambda *_: None)
    monkeypatch.setattr(exact_loss, "best_tilt", lambda mu, _: asked.append(mu) or 1.0)
    monkeypatch.setattr(exact_loss, "_compute_refined_tilt", lambda *_: 1.0)
    monkeypatch.setattr(exact_loss, "_has_enough_large_losses", lambda *_: True)
    drawer = SimpleNamespace(tilted=lambda *_, **__: SimpleNamespace(tilt=1.0))
    plain = {Side.DATASET: np.array([1.0, 3.0]), Side.NEIGHBOUR: np.array([-6.0, -2.0])}
    for side, moment in ((Side.DATASET, 5.0), (Side.NEIGHBOUR, 20.0)):
        exact_loss._draw_loss_direction(drawer, plain, side, -5.0, 10, 10)
        s = asked[-1] ** 2
        assert s + s * s / 4 == pytest.approx(moment)


# Divergences


@pytest.mark.parametrize("above", [True, False])
def test_a_divergence_of_either_side_is_of_its_own_rates_and_in_its_unit(above):
    p, q = np.array([0.75, 0.25]), np.array([0.25, 0.75])
    ratios = np.log(p / q) if above else np.log(q / p)
    rates = (p, q) if above else (q, p)
    bet = choose_renyi_bet(ratios, rates, (1000, 1000), 2.0, 0.05)
    chosen = BetChoice(Bins(np.zeros(1)), above, bet, 0.0)
    counted = BinnedEvent(None, ThresholdEvent(True, 0.0, 0.0), 0.0, chosen.bins)
    seen = DivergenceOutcome(counted, chosen, 0.1, (1000 * p[None], 1000 * q[None]), 0.05)
    assert [one.tolist() for one in seen._rates] == [one.tolist() for one in rates]
    assert seen.refuted
    assert 0.3 < seen.lower < math.log(p @ (p / q))
    assert seen.bin_counts(4.0).bound == pytest.approx(seen.lower / 4)
    assert seen.bin_counts(4.0).favours == ("dataset" if above else "neighbour")
    assert seen.lower < _compute_largest_bet_bound(bet, 0.05)


# Bets


def test_bets_that_changed_have_rows_of_their_own_and_rows_end_where_an_epsilon_fell():
    bettor = Bettor(BettingTarget(0.5, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
    rng = np.random.default_rng(4)
    on_p, on_q = rng.normal(1.5, 1, (300, 1)), rng.normal(0, 1, (300, 1))
    for start in range(0, 300, 7):  # whatever the pieces are
        bettor.feed(on_p[start : start + 7], on_q[start : start + 7])
    rows = bettor.bet_counts
    assert sum(row.pairs for row in rows) == 300 - 50
    due = make_bet_boundaries()
    ends = [next(due) for _ in range(20)]
    breaks = {one - 50 for one in ends if one < 300}
    first_over = bettor._game.wealth.first_over
    breaks |= {int(one) for one in first_over if one > 0}
    own = np.cumsum([row.pairs for row in rows]).tolist()
    assert {*own} == {*(one for one in breaks if one > 0), 250}
    rates = [row.rate.tolist() for row in rows]
    assert len({tuple(one) for one in rates}) > 3


def test_scores_are_rounded_to_a_step_of_both_datasets():
    huge = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
    huge.feed(np.full((50, 1), 1e-9), np.full((50, 1), 1e6))
    other = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
    other.feed(np.full((50, 1), 1e6), np.full((50, 1), 1e-9))
    assert huge._steps == other._steps == pytest.approx([1e-3])


# What leaked


def test_a_witness_is_counted_on_runs_that_chose_nothing(monkeypatch):
    handed = []

    def outputs(side, runs, purpose):
        return np.full((runs, 1), float(side is Side.DATASET) + 10 * purpose.endswith("counting"))

    mechanism = SimpleNamespace(layout=SimpleNamespace(columns=[SimpleNamespace(path="output")]))
    drawer = SimpleNamespace(mechanism=mechanism, outputs=outputs)
    monkeypatch.setattr(witness, "is_observed", lambda _: True)
    monkeypatch.setattr(witness.Features, "of", lambda *_: lambda one: one)
    monkeypatch.setattr(
        witness,
        "_count_tried_events",
        lambda layout, on, fresh, *_: handed.append((on, fresh)) or [],
    )
    assert witness.of(case_of(), drawer, 0.05, runs=100) is None
    ((on, fresh),) = handed
    assert [float(one[0, 0]) for one in on] == [1.0, 0.0]
    assert [float(one[0, 0]) for one in fresh] == [11.0, 10.0]


# Shares, layouts and attacks


@pytest.mark.parametrize("share", [0, 1])
def test_share_0_alone_has_drawn_what_decides(share):
    facts = []
    ledger = SimpleNamespace(fact=lambda name, decide: facts.append((name, decide())))
    error = ShareDrawn.__new__(ShareDrawn)
    error.shard = (share, 2)
    with pytest.raises(ShareDrawn), schedule.noting_what_decides(ledger):
        raise error
    assert facts == ([("share 0 has drawn what decides", True)] if share == 0 else [])


def test_a_layout_is_of_the_outputs_of_every_candidate(monkeypatch):
    asked = []
    mechanism = SimpleNamespace(laid_out=lambda datasets, count, rngs: asked.append(datasets))
    monkeypatch.setattr(output_parts, "_set_case_layout", lambda case, *_: case)
    pairs = [Pair(np.array([n]), np.array([-n]), REPLACE_RECORD) for n in (1.0, 2.0)]
    candidates = tuple(SimpleNamespace(pair=one) for one in pairs)
    case = SimpleNamespace(candidates=candidates, mechanism=mechanism, pair=pairs[0])
    output_parts.with_layout_of(case, 1, 4)
    assert [float(one[0]) for one in asked[0]] == [1.0, -1.0, 2.0, -2.0]


@pytest.mark.parametrize(("values", "few"), [(49, True), (50, False)])
def test_outputs_of_both_datasets_are_few_values_or_are_not(values, few):
    def outputs(side, trials, purpose):
        varied = np.arange(float(trials)) % values + 1
        return (varied if side is Side.NEIGHBOUR else np.zeros(trials))[:, None]

    drawer = SimpleNamespace(sparing=False, unit=2, outputs=outputs)
    assert learned_scores._few_values(drawer, "") is few
    assert not learned_scores._few_values(SimpleNamespace(sparing=True), "")


@pytest.mark.parametrize(("shape", "looked"), [((3, 501), False), ((600, 2), True), ((3, 500), 1)])
def test_no_single_entry_of_wide_outputs_is_looked_at(monkeypatch, shape, looked):
    asked = []
    for name in ("some_stand_out", "are_far_apart"):
        monkeypatch.setattr(learned_scores, name, lambda *_: asked.append(1))
    found = learned_scores.with_further(["one"], None, np.zeros(shape), np.zeros(shape))
    names = [getattr(one, "name", one) for one in found]
    assert names == ["one", "one part", "portfolio", *(["histogram"] if looked else [])]
    assert bool(asked) is bool(looked)
