"""Audits by events and by bets, by hand: what is learned on what, and which event is counted."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.estimators.event as black_box
from dpaudit.auditing.estimators import sequential
from dpaudit.auditing.estimators.sequential import Bettor, evidence_of
from dpaudit.auditing.estimators.worst_pair import at_most
from dpaudit.auditing.exact.stated_bounds import require_bound, require_payoffs
from dpaudit.auditing.explain import carrying_event, output_parts
from dpaudit.auditing.explain.carrying_event import (
    EventDescription,
    format_certified_epsilon,
    sentence_of,
)
from dpaudit.auditing.outcome.evidence import EventEvidence, MeasurementEvidence
from dpaudit.auditing.sampling.contract_checks import ContractChecks
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.estimation.event import choose_event, most_of
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.score_events import ScoreEvent, Tally, ThresholdEvent
from dpaudit.estimation.sequential.game import BettingTarget, most_of_bets
from dpaudit.guarantees.kinds import GaussianDP

from .common import ALPHA, case_of, certifying_of, check_of, drawer_of, outputs_of
from .common import evidence_of as evidence_by

EVENT = EventEvidence(
    words="`output` > 2",
    plain=True,
    hits=(90, 4),
    runs=(1000, 500),
    delta=0.01,
    alpha=0.05,
    epsilon=1.23456,
)


# What is said of an event


@pytest.mark.parametrize(
    ("hits", "refutes", "where", "most"),
    [
        ((90, 4), True, None, False),
        ((90, 0), True, "neighbour", False),
        ((0, 90), True, "dataset", False),
        ((1000, 0), True, "neighbour", True),
        ((0, 500), True, "dataset", True),
        ((1000, 0), False, None, False),
    ],
)
def test_an_event_never_seen_on_one_side_is_said_so_of_a_refutation(hits, refutes, where, most):
    said = sentence_of(EventEvidence(**(vars(EVENT) | {"hits": hits})), refutes)
    assert f"in {hits[0]} of 1000 outputs on the dataset and in {hits[1]} of 500 on its" in said
    assert ("never occurred" in said) is (where is not None)
    assert where is None or f"never occurred on the {where}:" in said
    assert ("the most that so many outputs can certify" in said) is most
    assert said.startswith("What leaked" if refutes else "The event that carries the bound")


def test_a_bound_is_said_rounded_down_with_what_it_is_worked_out_of():
    said = sentence_of(EVENT, refutes=True)
    assert "an epsilon of at least 1.234 at delta 0.01 with an error probability of 0.05." in said
    hidden = EventEvidence(**(vars(EVENT) | {"plain": False}))
    assert sentence_of(hidden, refutes=True).startswith("The event that carries the bound")
    assert format_certified_epsilon(0.0, 0.1, 0.05) == "certifies no epsilon above 0"
    assert "at least 1.999 " in format_certified_epsilon(1.9999, 0.0, 0.05)
    assert EventDescription.of_score("s", ThresholdEvent(False, 0.0, 0.0)).words.endswith(
        "(s) below its threshold"
    )


@pytest.mark.parametrize(
    ("score", "above", "threshold", "expected"),
    [
        (lambda x: x.ravel(), True, 1.0, ">"),
        (lambda x: x.ravel(), False, 1.0, "<"),
        (lambda x: -x.ravel(), True, -1.0, "<"),
        (lambda x: np.abs(x.ravel()), True, 1.0, "> or <"),
        (lambda x: np.abs(x.ravel()), False, 1.0, "between and"),
        (lambda x: np.cos(5 * x.ravel()), True, 0.0, None),
    ],
)
def test_a_number_is_in_an_event_between_values(score, above, threshold, expected):
    read = np.random.default_rng(0).normal(size=(400, 1))
    counted = ScoreEvent(score, ThresholdEvent(above, threshold, 0.0))
    found = carrying_event._of_one_number(counted, "`output`", read)
    assert (found is None) is (expected is None)
    if found is not None:
        words = [w for w in found.words.split() if w in (">", "<", "or", "between", "and")]
        assert " ".join(words) == expected
        assert found.plain


def test_an_edge_is_found_between_two_numbers():
    inside = lambda values: values >= 0.3  # noqa: E731
    assert carrying_event._search_event_edge(inside, np.array([0.0, 1.0])) == pytest.approx(
        0.3, abs=1e-15
    )
    assert carrying_event._search_event_edge(
        lambda v: v < 0.3, np.array([0.0, 1.0])
    ) == pytest.approx(0.3)


# What certifies


def test_evidence_of_an_event_is_of_its_counts_and_of_all_of_them():
    on_p, on_q = np.repeat([1.0, 0.0], [80, 20]), np.repeat([1.0, 0.0], [5, 195])
    one = ThresholdEvent(True, 0.5, 0.0)
    found = black_box.certify_event(on_p, on_q, one, "an attack", 0.01, ALPHA, {"drawn": 7})
    lower = joint_lower_bound(80, 5, 100, 200, delta=0.01, alpha=ALPHA)
    assert found.lower == lower
    assert found.trials == 100
    assert found.budget == {"one exact test of the event's two counts": ALPHA}
    assert found.counts["drawn"] == 7
    assert found.counts["event, favoured hits"] == 80
    assert found.counts["event, other trials"] == 200
    assert found.cap == most_of({"favoured_trials": 100, "other_trials": 200}, 0.01, ALPHA)
    assert found.upper is None
    event = found.carrying
    assert (event.hits, event.runs, event.epsilon) == ((80, 5), (100, 200), lower)
    assert (event.delta, event.alpha, event.plain) == (0.01, ALPHA, False)
    every = black_box.certify_event(
        on_p, on_q, one, "a", 0.0, ALPHA, {}, Tally((8, 0), (10, 10)), EventDescription("it", True)
    )
    assert every.lower == joint_lower_bound(8, 0, 10, 10, delta=0.0, alpha=ALPHA)
    assert (every.estimate, every.trials, every.carrying.plain) == (None, 10, True)


def test_the_most_promising_event_is_taken_or_the_first_that_is_plain_and_nearly_as_good():
    rng = np.random.default_rng(0)
    noise, far = rng.normal(size=(2, 90)), np.array([2.0, 0.0])[:, None]
    sides = [np.stack([noise[n], noise[n] + far[n], noise[n] + far[n]]) for n in (0, 1)]
    assert black_box.choose_promising_event(*sides, 0.0).index == 1
    assert black_box.choose_promising_event(*sides, 0.0, plain=(2,)).index == 2
    assert black_box.choose_promising_event(*sides, 0.0, plain=(0,)).index == 1
    found = black_box.choose_promising_event(*sides, 0.0, plain=(0, 2, 1))
    assert found.index == 2
    expected = choose_event(*(found.rounded(side[2]) for side in sides), 0.0)
    assert found.event == expected


@pytest.mark.parametrize(("lower", "times"), [(True, 2), (False, 1)])
def test_what_refutes_in_this_process_is_drawn_again_in_others(lower, times, monkeypatch):
    drawn, checked = [], []
    hits = (90, 0) if lower else (50, 50)

    def drawing(name):
        def certifying(counted, trials, purpose, *, certifies=False):
            drawn.append((name, trials, certifies))
            return Tally(hits, (100, 100)), name

        return drawer_of(certifying=certifying, name=name)

    here, there = drawing("here"), drawing("there")

    class Apart:
        def __enter__(self):
            return there

        def __exit__(self, *error):
            return False

    def of_event(drawer, found, tally, counted, against):
        checked.append((drawer.name, found))
        return ContractChecks()

    monkeypatch.setattr(
        black_box.contract_checks, "make_separate_drawer", lambda case, drawer: Apart()
    )
    monkeypatch.setattr(black_box.contract_checks, "of_event", of_event)
    counted = ScoreEvent(np.ravel, ThresholdEvent(True, 0.5, 0.0))
    against = black_box.Against(1.0, 0.0, ALPHA)
    tally, found, _ = black_box._draw_checked_event_counts(case_of(), here, 100, counted, against)
    where = ["here", "there"][:times]
    assert drawn == [(name, 100, True) for name in where]
    assert checked == [(where[-1], where[-1])]
    assert (found, tally.hits) == (where[-1], hits)


@pytest.mark.parametrize(
    ("low", "high", "stands"),
    [((0.0, 1.0), (5.1, 6.0), True), ((0.0, 1.0), (4.9, 6.0), False), ((0, 1), (0.5, 3), False)],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_pilot_stands_where_it_tells_without_an_error_and_by_far(
    low, high, stands, swapped, monkeypatch
):
    sides = [np.array(one, dtype=float) for one in (low, high)]
    sides = sides[::-1] if swapped else sides
    asked = []

    def best(case, drawer, attacks, sizes, purpose, sure):
        asked.append((sizes, purpose))
        return "found", tuple(sides)

    monkeypatch.setattr(black_box, "_choose_best_event", best)
    found = black_box._find_errorless_event(case_of(), None, None, 30, (1000, ALPHA))
    assert (found == "found") is stands
    assert asked == [((30, 30), "pilot: ")]

    def too_few(*given):
        raise InvalidArgument("trials", 30, "more")

    monkeypatch.setattr(black_box, "_choose_best_event", too_few)
    assert black_box._find_errorless_event(case_of(), None, None, 30, (1000, ALPHA)) is None


@pytest.mark.parametrize(("trials", "pilot"), [(299, None), (300, 5), (6000, 100)])
def test_attacks_learn_and_thresholds_are_set_on_half_as_many_as_certify(
    trials, pilot, monkeypatch
):
    asked = []

    def best(case, drawer, attacks, sizes, purpose, sure):
        asked.append((sizes, purpose, sure))
        chosen = black_box.EventChoice(None, None, None, (), {"fitting": sizes[0]}, 0.0)
        return chosen, (np.zeros(3), np.zeros(3))

    monkeypatch.setattr(black_box, "_choose_best_event", best)
    monkeypatch.setattr(black_box, "_to_try", lambda *given: "attacks")
    drawer = SimpleNamespace(sparing=False, mechanism=None, outputs=lambda *given: np.zeros(1))
    found = black_box.chosen_event(case_of(), drawer, trials, ALPHA, None)
    half = max(trials // 2, 100)
    assert asked[-1] == ((half, half), "", (trials, ALPHA))
    assert len(asked) == (1 if pilot is None else 2)
    if pilot is not None:
        assert asked[0][0] == (pilot, pilot)
        assert found.counts["pilot, per dataset"] == 2 * pilot
    large = SimpleNamespace(sparing=False, mechanism=None, outputs=lambda *_: np.zeros(2**20))
    black_box.chosen_event(case_of(), large, 6000, ALPHA, None)
    assert asked[-1][0] == (50, 3000)


# Bets


def laplace(rng, count, shift=0.0, scale=0.4):
    return rng.laplace(shift, scale, (count, 1))


def bettor_of(**claim):
    target = BettingTarget(**({"epsilon": 1.0, "delta": 0.0, "alpha": ALPHA} | claim))
    return Bettor(target, lambda p, q: [lambda x: x[:, 0]])


def test_evidence_of_bets_states_what_was_bet_on_and_not():
    rng = np.random.default_rng(0)
    bettor = bettor_of()
    bettor.feed(laplace(rng, 400, 1.0), laplace(rng, 400))
    found = evidence_of(bettor, ["one"], 1000)
    assert found.counts == {
        "drawn, per dataset": 400,
        "pilot, not bet on, per dataset": 50,
        "bet on, per dataset": 350,
        "allowed at most, per dataset": 1000,
    }
    assert found.trials == 400
    assert sum(found.budget.values()) == ALPHA
    assert found.cap == min(most_of_bets(350, 0.0, ALPHA), bettor.target.epsilons[-1])
    wealth = found.wealth
    assert wealth.log10_goal == pytest.approx(math.log10(20))
    assert wealth.log10_wealth[-1] == pytest.approx(bettor.path[-1][1] / math.log(10))
    assert wealth.transcripts[0] == 50
    assert wealth.log10_wealth[0] == 0.0
    assert wealth.refuted_after == bettor.refuted_after > 50
    assert found.lower == bettor.lower > 1.0
    assert found.remark.startswith(f"Refuted after {bettor.refuted_after} outputs")
    assert "of 1000 allowed" in found.remark
    assert "reached a wealth of 20." in found.remark
    assert "allowed" not in evidence_of(bettor, ["one"], None).remark


def test_bets_that_refute_nothing_say_how_far_they_came():
    rng = np.random.default_rng(1)
    bettor = bettor_of()
    bettor.feed(laplace(rng, 300, 0.5, 1.0), laplace(rng, 300, 0.0, 1.0))
    found = evidence_of(bettor, ["one"], None)
    assert (found.wealth.refuted_after, bettor.refuted_after) == (None, 0)
    assert found.remark.startswith("Not refuted by the 300 outputs")
    assert found.remark.endswith("20 refutes.")
    assert sum(bettor.shares) == pytest.approx(1.0)
    assert "not refuted" in found.estimator
    few = bettor_of()
    few.feed(laplace(rng, 30), laplace(rng, 30))
    none = evidence_of(few, ["one"], 30)
    assert (none.lower, none.cap, none.counts["bet on, per dataset"]) == (0.0, 0.0, 0)
    assert none.counts["pilot, not bet on, per dataset"] == 30


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize("refuted", [False, True])
def test_bets_that_refute_are_checked_unless_they_were_interrupted(
    interrupted, refuted, monkeypatch
):
    asked = []

    def drawn(bettor, drawer, most, seen):
        rng = np.random.default_rng(0)
        shift = 1.0 if refuted else 0.0
        bettor.feed(laplace(rng, 400, shift), laplace(rng, 400))
        return not interrupted

    class Apart:
        def __enter__(self):
            return "other"

        def __exit__(self, *error):
            return False

    def of_bets(drawer, seen, counted, against):
        asked.append((drawer, against))
        return ContractChecks((check_of(False),), ("a note",), "A remark.")

    monkeypatch.setattr(sequential, "_draw_until_interrupted", drawn)
    monkeypatch.setattr(
        sequential, "for_mechanism", lambda *given, bits: [SimpleNamespace(name="one")]
    )
    monkeypatch.setattr(sequential, "fit_scores_in_order", lambda *given: [lambda x: x[:, 0]])
    monkeypatch.setattr(
        sequential.contract_checks, "make_separate_drawer", lambda case, drawer: Apart()
    )
    monkeypatch.setattr(sequential.contract_checks, "of_bets", of_bets)
    drawer = SimpleNamespace(seed=0)
    found = sequential.until_refuted(case_of(), drawer, 500, ALPHA, None)
    assert found.interrupted is interrupted
    if refuted and not interrupted:
        assert asked == [("other", sequential.Against(1.0, 0.0, ALPHA))]
        assert found.contract == (check_of(False),)
        assert found.notes[-1] == "a note"
        assert found.remark.endswith("A remark.")
    else:
        assert asked == []
        assert found.contract == ()
    assert found.remark.startswith("Interrupted") is interrupted


def test_an_infinite_claim_is_refused():
    with pytest.raises(InvalidArgument, match="claimed epsilon: got inf"):
        sequential.until_refuted(
            case_of(SimpleNamespace(epsilon=lambda delta: math.inf)),
            SimpleNamespace(),
            9,
            ALPHA,
            None,
        )


# Nothing, and too much


def test_bets_on_nothing_are_broken(monkeypatch):
    wealth = evidence_of(bettor_of(), ["one"], None)
    for nothing in (True, False):
        monkeypatch.setattr(output_parts, "_is_nothing", lambda layout, found=nothing: found)
        assert output_parts.of_bets_on_nothing(wealth, None).trusted is not nothing
        assert output_parts.of_bets_on_nothing(evidence_by(0.0), None).trusted
        sides = [outputs_of([1.0, 1.0]), outputs_of([1.0, 1.0])]
        assert bool(output_parts.something_returned(None, sides)) is nothing
        for varied in (0, 1):
            sides = [outputs_of([1.0, 1.0 + (n == varied)]) for n in (0, 1)]
            assert output_parts.something_returned(None, sides) == []
    refuting = MeasurementEvidence(**(vars(wealth) | {"lower": 0.1}))
    monkeypatch.setattr(output_parts, "_is_nothing", lambda layout: True)
    assert output_parts.of_bets_on_nothing(refuting, None) is refuting


def test_a_bound_that_one_output_passes_is_refused():
    require_bound(None, np.array([0.0, 1.0]), 1.0)
    require_bound(None, np.array([0.0, 1.0 + 1e-9]), 1.0)
    with pytest.raises(MechanismError, match="log_mgf_bounds returned 1, expected at least"):
        require_bound(None, np.array([1.1, 0.0]), 1.0)
    pays = SimpleNamespace(
        log_payoffs=lambda at: np.array([-3.0, -1.0]), log_payoff_bound=lambda at: -1.0
    )
    require_payoffs(None, pays, 0.5)
    pays.log_payoff_bound = lambda at: -1.5
    with pytest.raises(MechanismError, match="log_payoff_bound"):
        require_payoffs(None, pays, 0.5)


def test_a_fifth_of_the_trials_ranks_pairs_of_twenty_each():
    assert [at_most(n) for n in (99, 100, 1000)] == [0, 1, 10]


def test_a_curve_s_event_is_audited_at_the_delta_that_was_chosen(monkeypatch):
    best = black_box.Promising(0, ThresholdEvent(True, 0.5, 0.0), 1e-9, (np.zeros(2), np.zeros(2)))
    attack = SimpleNamespace(name="one", statement="an attack")
    chosen = black_box.EventChoice(attack, np.ravel, best, ("one",), {"setting": 40}, 0.2)
    asked = []

    def drawn(case, drawer, trials, counted, against):
        asked.append((case.at_delta, against))
        scores = np.repeat([1.0, 0.0], [900, 100]), np.repeat([1.0, 0.0], [10, 990])
        kept = ContractChecks((check_of(True),), ("kept",), "so")
        return Tally((900, 10), (1000, 1000)), certifying_of(*scores), kept

    monkeypatch.setattr(black_box, "chosen_event", lambda *given: chosen)
    monkeypatch.setattr(black_box, "_draw_checked_event_counts", drawn)
    monkeypatch.setattr(black_box, "in_words", lambda *given: EventDescription("it", True))
    found = black_box.bound_epsilon_by_event(
        case_of(GaussianDP(1.0), 0.01), None, 1000, ALPHA, None
    )
    epsilon = GaussianDP(1.0).epsilon(0.2)
    assert asked == [(0.2, black_box.Against(epsilon, 0.2, ALPHA))]
    lower = joint_lower_bound(900, 10, 1000, 1000, delta=0.2, alpha=ALPHA)
    assert GaussianDP(found.lower).epsilon(0.2) == pytest.approx(lower)
    assert found.counts["outputs in all, of both datasets"] == 2 * 1040
    assert (found.contract, found.remark) == ((check_of(True),), "so")
    assert "kept" in found.notes
    assert found.at_delta == 0.2
