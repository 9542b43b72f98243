"""Audits that stop when a claim falls, audits of the worst of several pairs, and one budget."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

import dpaudit.auditing.estimators.sequential as sequential
from dpaudit.auditing import audit_case, audit_claim
from dpaudit.auditing.estimators.sequential import Bettor
from dpaudit.auditing.outcome.error_budget import Spender, split_error_probability, whole_report
from dpaudit.auditing.run import run_case
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.estimation.sequential.game import BettingTarget
from dpaudit.execution import Executor, importable
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.report.schema import Environment

CARD = Statement(
    name="own",
    title="own",
    statement="own",
    source="own",
    kind="privacy",
    relation="replace-record",
    assumptions={},
)
SURE = 1 - 1e-6


HERE = Path(__file__).parent

with importable(HERE):
    from quick_mechanisms import Laplace


@pytest.fixture(autouse=True)
def workers_find_mechanisms(monkeypatch):
    """Let workers import the mechanisms of this folder."""
    monkeypatch.syspath_prepend(HERE)


def pair(moved=1.0):
    return Pair(np.array([0.0, 1.0]), np.array([moved, 1.0]), REPLACE_RECORD)


def case(mechanism, epsilon=1.0, delta=0.0, **changes):
    return PrivacyCase(
        mechanism=mechanism,
        pair=pair(),
        claimed=ApproximateDP(epsilon, delta),
        at_delta=delta,
        view="v",
        data="d",
        default_trials=10_000,
        parameters={},
        **changes,
    )


def audited(audited_case, workers=1, **settings):
    return audit_case(
        audited_case,
        Settings(**settings),
        statement=CARD,
        executor=Executor(workers=workers, worth=-1.0),
        rerun="rerun",
    )


def stopped(mechanism, workers=1, **settings):
    return audited(case(mechanism), workers, until_refuted=True, **settings)


# Stopping


@pytest.mark.slow
def test_half_the_noise_is_refuted_long_before_the_cap():
    result = stopped(Laplace(0.5), trials=10_000)
    assert result.verdict == "refuted"
    assert result.trials < 400
    assert 1 < result.measured.lower < 2
    after = result.wealth.refuted_after
    assert result.counts["pilot, not bet on, per dataset"] < after <= result.trials
    assert f"Refuted after {after} outputs of each dataset, of 10000 allowed" in result.reason
    assert max(result.wealth.log10_wealth) >= result.wealth.log10_goal


def test_the_right_noise_is_not_refuted_and_the_cap_is_kept():
    result = stopped(Laplace(1.0), trials=1500, confidence=SURE)
    assert result.verdict == "not refuted"
    assert result.trials == 1500
    assert result.wealth.refuted_after is None
    assert 0.4 < result.measured.lower < 1
    assert "never over" in result.reason


@pytest.mark.slow
def test_one_error_probability_covers_all_looks():
    result = stopped(Laplace(0.5), confidence=0.99)
    assert sum(entry.alpha for entry in result.budget) == pytest.approx(0.01)
    assert result.wealth.log10_goal == pytest.approx(2)


def test_every_output_that_was_bet_on_is_compared():
    result = stopped(Laplace(0.5), trials=10_000)
    assert result.trials > result.counts["pilot, not bet on, per dataset"]
    assert any(f"{result.trials} bet on and " in note for note in result.notes)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 5])
def test_workers_change_no_number(seed):
    assert stopped(Laplace(0.6), 2, seed=seed) == stopped(Laplace(0.6), 1, seed=seed)


class Interrupted(Laplace):
    """Is interrupted while it draws."""

    drawn = 0

    def sample(self, dataset, trials, rng):
        type(self).drawn += 1
        if self.drawn == self.at:
            raise KeyboardInterrupt
        return super().sample(dataset, trials, rng)


def test_an_interrupt_shows_what_the_bets_had_shown():
    class Late(Interrupted):
        at = 300

    found = run_case(
        case(Late(1.0)),
        Settings(until_refuted=True, trials=10_000, confidence=SURE),
        statement=CARD,
        executor=Executor(workers=1),
        rerun="rerun",
    )
    assert found.interrupted
    assert "Interrupted: this is what the bets had shown by then." in found.result.reason
    assert 0 < found.result.trials < 10_000
    shorter = stopped(Laplace(1.0), trials=found.result.trials, confidence=SURE)
    assert found.result.measured.lower == shorter.measured.lower
    assert found.result.wealth == shorter.wealth


def test_an_interrupt_before_the_first_bet_is_an_interrupt():
    class AtOnce(Interrupted):
        at = 2

    with pytest.raises(KeyboardInterrupt):
        stopped(AtOnce(1.0))


def test_fewer_outputs_than_a_pilot_certify_nothing():
    result = audited(case(Laplace(0.1)), trials=100, until_refuted=True)
    assert result.trials <= 100
    two = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
    two.feed(np.ones((20, 1)), np.zeros((20, 1)))
    assert (two.lower, two.refuted_after, two.log_wealth, two.path) == (0.0, 0, 0.0, [])


def test_pieces_of_a_stream_change_nothing():
    rng = np.random.default_rng(0)
    on_p, on_q = rng.laplace(1, 0.7, (600, 1)), rng.laplace(0, 0.7, (600, 1))
    found = []
    for pieces in (1, 7, 600):
        bettor = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
        for one, other in zip(
            np.array_split(on_p, pieces), np.array_split(on_q, pieces), strict=True
        ):
            bettor.feed(one, other)
        found.append((bettor.refuted_after, bettor.lower, round(bettor.log_wealth, 9)))
    assert found[0] == found[1] == found[2]


def test_attacks_never_see_what_they_are_tested_on_first():
    """Every output that bets are chosen on was fitted before, or bet on before."""
    fitted = []

    def fit(on_p, on_q):
        fitted.append(len(on_p))
        return [lambda x: x[:, 0]]

    bettor = Bettor(BettingTarget(1.0, 0.0, 0.05), fit)
    rng = np.random.default_rng(0)
    bettor.feed(rng.normal(size=(1000, 1)), rng.normal(size=(1000, 1)))
    assert fitted[0] == bettor.learned_from // 2
    assert all(3 * size <= 1000 for size in fitted[1:])


def test_a_score_that_is_no_number_is_refused():
    bettor = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0] * np.nan])
    with pytest.raises(MechanismError, match="NaN"):
        bettor.feed(np.ones((60, 1)), np.ones((60, 1)))


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("hu2020-lemma1", {"until_refuted": True}, "drawing outputs"),
        ("hu2020-lemma1", {"candidate_pairs": 3}, "searched"),
        ("huang2020-broadcast", {"candidate_pairs": 3}, "pairs: got 3"),
    ],
)
def test_what_means_nothing_to_a_claim_is_refused(name, settings, words):
    with pytest.raises(InvalidArgument, match=words):
        audit_claim(name, Settings(**settings))


def test_exact_losses_are_not_bet_on():
    with pytest.raises(InvalidArgument, match="--until-refuted bets on outputs"):
        Settings(until_refuted=True, estimator="exact-loss")


# Labels


def test_a_model_that_over_claims_is_shown_and_decides_nothing():
    """Laplace noise keeps epsilon = 1 at any delta; the Gaussian fit says more than 3."""
    result = audited(case(Laplace(1.0), delta=1e-5), trials=4000, confidence=SURE)
    modelled = {one.name: one for one in result.model_based}
    assert modelled["Gaussian fit"].lower > 3
    assert {one.label for one in result.model_based} == {"assumption"}
    assert (result.verdict, result.measured.label) == ("not refuted", "certificate")
    assert result.measured.lower < 1


@pytest.mark.slow
def test_an_assumption_cannot_refute():
    result = audited(case(Laplace(0.5)), trials=2000)
    assert result.verdict == "refuted"
    assumed = result.model_dump() | {
        "measured": result.measured.model_dump() | {"label": "assumption"}
    }
    with pytest.raises(ValidationError, match="only a certificate refutes"):
        type(result).model_validate(assumed)


# The worst pair


def candidates(*moved, mechanism=None, epsilon=1.0):
    base = case(mechanism or Laplace(0.8), epsilon)
    cases = tuple(replace(base, pair=pair(by)) for by in moved)
    return replace(cases[0], candidates=cases)


def test_the_worst_of_several_pairs_is_audited():
    result = audited(candidates(0.1, 1.0, 0.4), trials=6000)
    assert result.pair_search.chosen == 2
    assert result.pair_search.candidates == 3
    assert result.pair_search.outputs == 1200
    assert result.trials == 6000 - 1200
    assert result.verdict == "refuted"
    assert np.argmax(result.pair_search.promised) == 1
    assert "number 2 of 3 candidates" in result.notes[0]


class Recording:
    """Remembers every output, to see whether one certifies that has been looked at before."""

    def __init__(self):
        self.drawn = []

    def sample(self, dataset, trials, rng):
        outputs = np.sum(dataset) + rng.laplace(scale=0.8, size=trials)
        self.drawn.append(outputs.copy())
        return outputs


def test_the_winner_is_certified_on_fresh_outputs():
    mechanism = Recording()
    audited(candidates(0.5, 1.0, mechanism=mechanism), trials=1000)
    seen = np.concatenate([batch for batch in mechanism.drawn if len(batch) > 3])
    assert len(np.unique(seen)) == len(seen)


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "most"), [(2, 1), pytest.param(6, 3, marks=pytest.mark.slow)])
def test_choosing_among_identical_pairs_accuses_no_true_claim(seeds, most):
    """Certifying on the ranking's outputs would: the best of eight looks too good."""
    alike = candidates(*[1.0] * 8, mechanism=Laplace(1.0))
    accused = sum(
        audited(alike, trials=1000, seed=seed, confidence=0.9).verdict == "refuted"
        for seed in range(seeds)
    )
    assert accused <= most


def test_too_few_trials_to_rank_the_pairs_are_refused():
    with pytest.raises(InvalidArgument, match="at least 300, to rank 3 pairs"):
        audited(candidates(0.1, 0.2, 0.3), trials=299)


# One budget


def test_the_shares_of_a_report_sum_to_its_error_probability():
    asked = [Spender(Settings(confidence=0.9), draws) for draws in (True, False, True, True)]
    alphas = [1 - one.confidence for one in split_error_probability(asked)]
    assert alphas[0] + alphas[2] + alphas[3] == pytest.approx(0.1)


def test_one_audit_keeps_the_whole():
    one = Spender(Settings(), draws=True)
    assert [s.confidence for s in split_error_probability([one])] == [0.95]


def test_an_audit_that_states_its_own_confidence_keeps_it():
    own = Spender(Settings(confidence=0.99), draws=True, own_confidence=True)
    others = [Spender(Settings(), draws=True)] * 2
    assert [round(s.confidence, 6) for s in split_error_probability([own, *others])] == [
        0.99,
        0.975,
        0.975,
    ]


def test_a_report_states_what_all_its_results_spend():
    results = [
        audited(case(Laplace()), trials=200, confidence=0.98),
        stopped(Laplace(), trials=200, confidence=0.97),
        audit_claim("hu2020-lemma1", Settings(trials=100)),
    ]
    report = whole_report(results, Environment.of_this_machine(1, 0.0))
    assert len(report.budget) == 2
    assert math.fsum(e.alpha for e in report.budget) == pytest.approx(0.05)
    assert report.confidence == pytest.approx(0.95)
    for result in results[:2]:
        assert result.alpha == pytest.approx(1 - result.measured.confidence)


def test_records_to_replace_are_candidates():
    settings = Settings(
        data="breast-cancer",
        candidate_pairs=5,
        trials=1000,
        parameters={"iterations": 2, "inner_steps": 1},
    )
    result = audit_claim("huang2020-theorem6", settings)
    assert result.pair_search.candidates == 5
    assert result.trials < 1000
    assert 0 < result.measured.lower <= result.proved.epsilon


def test_a_pilot_larger_than_the_room_is_learned_from(monkeypatch):
    monkeypatch.setattr(sequential, "_ROOM", 1000)
    rng = np.random.default_rng(0)
    bettor = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
    bettor.feed(rng.laplace(1, 0.5, (400, 5)), rng.laplace(0, 0.5, (400, 5)))
    assert 0 < bettor.refuted_after < 400


def test_the_path_does_not_depend_on_the_pieces():
    rng = np.random.default_rng(0)
    p, q = rng.laplace(0.1, 1, (2, 300, 1))
    paths = []
    for size in (1, 7, 300):
        bettor = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
        for start in range(0, 300, size):
            bettor.feed(p[start : start + size], q[start : start + size])
        paths.append(bettor.path)
    assert [at for at, _ in paths[0]] == [at for at, _ in paths[2]] == [at for at, _ in paths[1]]
    assert len(paths[0]) < 30


@pytest.mark.parametrize("claimed", [0.0, 1e-6])
def test_a_claim_of_nothing_is_bounded_far_above_it(claimed):
    rng = np.random.default_rng(0)
    bettor = Bettor(BettingTarget(claimed, 0.0, 0.05), lambda p, q: [lambda x: x[:, 0]])
    answers = (rng.random((2, 3000, 1)) < np.array([0.73, 0.27])[:, None, None]).astype(float)
    bettor.feed(*answers)
    assert bettor.refuted_after > 0
    assert 0.5 < bettor.lower < 1.0


def test_bets_are_set_on_outputs_that_the_attacks_did_not_learn_on():
    learned, judged = [], []

    def fit(on_p, on_q):
        learned.append({*on_p[:, 0], *on_q[:, 0]})
        judged.append(set())

        def score(outputs):
            judged[-1].update(outputs[:, 0])
            return outputs[:, 0]

        return [score]

    rng = np.random.default_rng(0)
    Bettor(BettingTarget(1.0, 0.0, 0.05), fit).feed(*rng.normal(size=(2, 1000, 1)))
    assert len(learned) > 1
    assert not any(seen & new for seen, new in zip(learned, judged, strict=True))


@pytest.mark.parametrize("usual", [5.0, -5.0])
@pytest.mark.parametrize("favours", ["dataset", "neighbour"])
def test_the_event_that_won_most_tells_apart_what_the_bets_were_won_with(favours, usual):
    """A third of the outputs on one side are far out, and none on the other."""
    sign = 1.0 if favours == "dataset" else -1.0
    alike = np.full((600, 1), usual)
    rare = alike + np.where(np.arange(600) % 3 == 0, 9.0 * sign, 0.0)[:, None]
    bettor = Bettor(BettingTarget(1.0, 0.0, 1e-6), lambda p, q: [lambda x: x[:, 0]])
    bettor.feed(*((rare, alike) if sign > 0 else (alike, rare)))
    assert 0 < bettor.refuted_after <= 600
    far, near = bettor.counted.happened(usual + np.array([9.0 * sign, 0.0])).tolist()
    assert (far, near) == ((1, 0) if bettor.counted.event.above == (sign > 0) else (0, 1))
