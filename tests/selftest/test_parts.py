"""Laws, attacks and rates of the self-test by hand: its own mistakes would let others pass."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

from dpaudit.estimation import one_run
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.likelihood import likelihood_bound
from dpaudit.neighbours import Side
from dpaudit.selftest import black_box, laws, write
from dpaudit.selftest import run as run_module
from dpaudit.selftest.black_box import (
    SelfTestBudget,
    _AnswerDraws,
    _best_rule,
    _choose_best_attack,
    _choose_candidate_thresholds,
    _FittedAttack,
    _plan_output_count,
    _Rule,
    _select_promising_attacks,
    _select_rival_attacks,
)
from dpaudit.selftest.estimators import Case, Forgetful, SpoiledRun
from dpaudit.selftest.run import (
    FULL,
    QUICK,
    KnownAnswerAudit,
    MissingResult,
    Rate,
    SelfTest,
    _test_estimator_case,
)
from dpaudit.selftest.verdicts import mechanisms

# Laws


def test_losses_of_gaussians_are_drawn_tilted():
    """Under weights ``e^(tilt loss)`` a loss N(mu^2/2, mu^2) has the mean mu^2 (1/2 + tilt)."""
    for mu, tilt in ((1.0, 0.0), (0.5, 2.0), (2.0, 0.5)):
        found = laws.GaussianLawPair(mu).losses(Side.DATASET, tilt, 4000, np.random.default_rng(1))
        mean, spread = (0.5 + tilt) * mu**2, mu
        assert found.privacy_loss.mean() == pytest.approx(mean, abs=5 * spread / math.sqrt(4000))
        assert found.privacy_loss.std() == pytest.approx(spread, rel=0.1)
        assert np.allclose(found.log_mgf, tilt * (1 + tilt) / 2 * mu**2, rtol=1e-12)


@pytest.mark.parametrize("side", [Side.DATASET, Side.NEIGHBOUR])
def test_losses_of_coins_are_those_of_either_direction(side):
    pair, tilt = laws.CoinPair(0.5, 0.3, 4), 0.7
    p, q = (0.5, 0.3) if side is Side.DATASET else (0.3, 0.5)
    found = pair.losses(side, tilt, 3000, np.random.default_rng(2))
    counts = np.arange(5)
    losses = counts * math.log(p / q) + (4 - counts) * math.log((1 - p) / (1 - q))
    weights = binom.pmf(counts, 4, p) * np.exp(tilt * losses)
    assert found.log_mgf[0] == pytest.approx(math.log(weights.sum()))
    rates = [float(np.isclose(found.privacy_loss, loss).mean()) for loss in losses]
    assert rates == pytest.approx(weights / weights.sum(), abs=0.05)
    exact = pair._epsilon(side, 0.05)
    gain = np.maximum(binom.pmf(counts, 4, p) - math.exp(exact) * binom.pmf(counts, 4, q), 0)
    assert gain.sum() == pytest.approx(0.05, rel=1e-6)
    assert pair.epsilon(0.05) == max(pair._epsilon(one, 0.05) for one in Side)
    assert pair.epsilon(0.9999) == 0.0


def test_an_upper_end_that_is_none_is_infinite(monkeypatch):
    monkeypatch.setattr(laws, "upper_end", lambda *_: None)
    one = laws.ExactLoss(laws.GaussianLawPair(1.0), 1e-5, trials=10)
    assert one.upper(3, 0.05, np.random.default_rng(0)).tolist() == [math.inf] * 3


def test_every_direction_is_drawn_apart_from_what_chose_its_tilt():
    drawn = []

    class Pair:
        sides = (Side.DATASET, Side.NEIGHBOUR)

        def losses(self, side, tilt, trials, rng):
            found = laws.GaussianLawPair(1.0).losses(side, tilt, trials, rng)
            drawn.append((side, found.privacy_loss))
            return found

    first, second = laws.ExactLoss(Pair(), 1e-5, trials=20)._drawn(np.random.default_rng(0))
    assert [side for side, _ in drawn] == [Side.DATASET] * 4 + [Side.NEIGHBOUR] * 4
    assert len(np.unique(np.concatenate([losses for _, losses in drawn]))) == 160
    for place, found in ((3, first), (7, second)):
        assert found.losses.privacy_loss is drawn[place][1]
        assert found.pilot.privacy_loss is drawn[place - 1][1]


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_right_guesses_of_canaries_are_as_many_as_epsilon_and_delta_allow(delta):
    law = laws.Canaries(epsilon=1.0, guesses=20, canaries=30, at=16, delta=delta)
    found, right = law.law(), math.e / (1 + math.e)
    plain = binom.pmf(np.arange(21), 20, right)
    assert found.sum() == pytest.approx(1)
    assert found[16:].sum() - plain[16:].sum() == pytest.approx(
        30 * delta * plain[16:].sum() * plain[:16].sum() / (16 * plain[16]), rel=1e-9, abs=1e-15
    )
    inside = found[16:] / plain[16:]
    assert np.ptp(inside) < 1e-9
    assert bool(inside[0] > 1 + 1e-9) is (delta > 0)


def test_bounds_of_guesses_are_those_of_their_counts(monkeypatch):
    law = laws.Canaries(epsilon=1.0, guesses=20, canaries=30, at=16, delta=1e-3)
    rng = np.random.default_rng(4)
    counts = rng.choice(21, 6, p=law.law())
    expected = [one_run.lower_bound(int(n), 20, 30, delta=1e-3, alpha=0.1) for n in counts]
    assert law.run(6, 0.1, np.random.default_rng(4)).tolist() == expected


@pytest.mark.parametrize("fixed", [False, True])
def test_scores_of_included_canaries_are_moved_and_half_are_included_where_that_is_fixed(
    fixed, monkeypatch
):
    seen = []
    monkeypatch.setattr(
        laws.scored, "right_guesses", lambda scores, coins, sizes: seen.append((scores, coins))
    )
    laws.CanaryScores(canaries=40, mu=3.0, fixed=fixed)._right(200, [1], np.random.default_rng(5))
    ((scores, coins),) = seen
    assert scores[coins == 1].mean() == pytest.approx(3.0, abs=0.1)
    assert scores[coins == -1].mean() == pytest.approx(0.0, abs=0.1)
    assert bool(np.ptp((coins == 1).sum(axis=1)) == 0) is fixed
    assert (coins == 1).mean() == pytest.approx(0.5, abs=0.03)


def test_what_is_true_of_scores_is_mu_or_its_epsilon():
    assert laws.CanaryScores(canaries=9, mu=1.5, curve=True).true == 1.5
    epsilon = laws.CanaryScores(canaries=9, mu=1.5, delta=1e-3).true
    tail = norm.cdf(0.75 - epsilon / 1.5) - math.exp(epsilon) * norm.cdf(-0.75 - epsilon / 1.5)
    assert tail == pytest.approx(1e-3, rel=1e-6)
    assert laws.CanaryScores(canaries=9).true == 0.0


# Cases


def test_cases_run_their_share_of_audits_and_spoiled_ones_are_spoiled():
    def run(audits, alpha, rng):
        return np.full(audits, alpha)

    given = {"estimator": "e", "law": "l", "true": 1.0, "run": run}
    assert [Case(**given, share=one).audits(100) for one in (1.0, 0.2, 1e-9, 2.0)] == [
        100, 20, 1, 200,
    ]  # fmt: skip
    assert Case(**given, most=7).audits(100) == 7
    assert Case(**given, most=700).audits(100) == 100
    assert SpoiledRun(run, errors=2.0)(3, 0.1, None).tolist() == [0.2] * 3
    assert SpoiledRun(run, result=1.5)(1, 0.1, None)[0] == pytest.approx(0.15)
    coins = laws.Coins(epsilon=0.5, other=0.1, trials=20, delta=0.2)
    told, forgotten = (
        one(4, 0.1, np.random.default_rng(6)) for one in (coins.run, Forgetful(coins))
    )
    assert (forgotten >= told).all()
    assert (forgotten > told).any()


@pytest.mark.parametrize("control", [False, True])
def test_an_estimator_is_tried_at_each_error_probability_and_a_control_at_the_first(control):
    asked = []

    def run(audits, alpha, rng):
        asked.append((audits, alpha))
        return np.full(audits, 0.5 if alpha > 1e-3 else 2.0)

    case = Case(estimator="e", law="l", true=1.0, run=run, strict=0.5)
    found = _test_estimator_case(case, control, FULL, 3)
    rates = [(one.misses, one.audits, one.nominal) for one in found.rates]
    assert rates == [(0, 10_000, 0.05), (5000, 5000, 1e-7)][: 1 if control else 2]
    assert found.closeness == 0.5
    assert found.control is control
    assert sum(audits for audits, _ in asked) == sum(one[1] for one in rates)
    nothing = Case(estimator="e", law="l", true=0.0, run=run)
    assert _test_estimator_case(nothing, True, QUICK, 3).closeness is None


# Known answers


def measured(lower, event=2.0, claimed=1.0, true=2.0, nearly=None):
    found = SimpleNamespace(lower=lower, nearly_certain=lower if nearly is None else nearly)
    return KnownAnswerAudit(
        name="a", claimed=claimed, true=true, event=event, delta=0.0, published=None, found=found
    )


def test_an_answer_is_judged_by_its_own_claim_truth_and_event():
    one = measured(1.5)
    assert (one.broken, one.refuted, one.missed, one.wrong) == (True, True, False, False)
    assert one.closeness == 0.75
    equal = measured(2.0, claimed=2.0)
    assert (equal.broken, equal.refuted, equal.missed, equal.wrong) == (False,) * 4
    beyond = measured(2.5, nearly=2.0)
    assert (beyond.missed, beyond.wrong) == (True, False)
    assert measured(2.5, event=math.inf).closeness is None


def test_a_self_test_counts_what_was_asked_for_with_what_is_missing():
    found = SelfTest(
        full=True, seed=0, tested=(), measured=(measured(1.0), measured(1.0)), seconds=0.0,
        missing=(MissingResult("x", "it failed"),),
    )  # fmt: skip
    assert found.asked == 3
    assert (found.misses.misses, found.misses.audits, found.misses.nominal) == (0, 2, 0.05)
    assert Rate(3, 12, 0.05).observed == 0.25


# The black box

SMALL = SelfTestBudget(learning=100, judging=50, choosing=400, certifying=800, least=60)
ANSWER = SimpleNamespace(
    name="n",
    delta=0.0,
    mechanism=SimpleNamespace(
        sample=lambda dataset, trials, rng: rng.random((trials, 2)) + dataset
    ),
    pair=SimpleNamespace(dataset=np.zeros(2), neighbour=np.ones(2)),
)


def test_scores_below_thresholds_are_counted_on_either_side():
    draws = _AnswerDraws(ANSWER, seed=1, together=7)
    limits = np.array([0.25, 1.0, 1.5])
    (found,) = draws.below([(lambda rows: rows[:, 0], limits)], 40, "choosing")
    for side in (0, 1):
        scores = draws.outputs(side, 40, "choosing")[:, 0]
        assert found[side].tolist() == [(scores < one).sum() for one in limits]
    assert found[0].tolist()[1:] == [40, 40]
    assert found[1].tolist()[:2] == [0, 0]


def test_a_score_at_its_threshold_is_not_below_it():
    draws = _AnswerDraws(ANSWER, seed=1, together=50)
    (found,) = draws.below([(lambda rows: np.zeros(len(rows)), np.array([0.0]))], 9, "choosing")
    assert found.ravel().tolist() == [0, 0]
    assert _Rule(True, 0.0).hits(found, 9) == (9, 9)
    assert _Rule(False, 0.0).hits(found, 9) == (0, 0)


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize(("below", "rates"), [((0, 500), (1.0, 0.5)), ((500, 1000), (0.5, 0.0))])
def test_the_rule_that_promises_most_has_the_rates_of_its_own_threshold(below, rates, delta):
    """Half of one side is where the other never is: an event promises as its complement does."""
    counts = np.array([[below[0], 0], [below[1], 0]])
    promise, rule, found = _best_rule(np.array([0.5, 9.5]), counts, 1000, delta)
    nats = black_box.exponent(1e-4)
    assert promise == float(likelihood_bound(0.5, 0.0, 1000, 1000, delta, nats))
    assert (rule.above, rule.threshold, tuple(found)) == (True, 0.5, rates)


@pytest.mark.parametrize(
    ("promises", "left"),
    [([1.0], [0]), ([0.0], [0]), ([1.0, 1.03], [0]), ([1.0, 1.031], [0, 1]), ([0.59, 1.0], [1]),
     ([0.6, 1.0], [0, 1])],
)  # fmt: skip
def test_rivals_at_the_ends(promises, left):
    assert list(_select_rival_attacks(promises)) == left


@pytest.mark.parametrize(("rates", "delta"), [((0.5, 0.25), 0.0), ((0.5, 0.1), 0.1)])
def test_the_plan_is_the_first_size_whose_luck_is_a_small_share(rates, delta):
    size = _plan_output_count(rates, delta, 1000, 10**7)
    shown = float(likelihood_bound(*rates, 10**7, 10**7, delta, 1e-12))

    def lost(runs):
        return 1 - float(likelihood_bound(*rates, runs, runs, delta, 3.6**2 / 2)) / shown

    assert lost(size) <= 0.03 < lost(int(size / 1.45))
    assert _plan_output_count(rates, delta, 1000, 1200) == 1200


def test_many_scores_have_thresholds_at_both_ends():
    scores = np.random.default_rng(8).normal(size=5000)
    found = _choose_candidate_thresholds((scores[:2500], scores[2500:]))
    ordered = np.sort(scores)
    assert len(found) <= 400
    assert found[0] < ordered[0]
    assert ordered[-2] < found[-1] < ordered[-1]
    inside = [int((scores >= one).sum()) for one in found]
    assert len([n for n in inside if n < 50]) > 15
    assert len([n for n in inside if n > 4950]) > 15


class Attack:
    """An attack that remembers what it was fitted on."""

    def __init__(self, name, column, seen):
        self.name, self.column, self.seen = name, column, seen

    def load(self):
        def fit(mechanism, pair, on_p, on_q, rng):
            self.seen.append((self.name, on_p.shape, on_q.shape))
            return lambda rows: self.column(rows)

        return fit


def test_attacks_that_promise_little_are_left_out():
    seen = []
    learners = [
        SimpleNamespace(attack=Attack("first", lambda rows: -rows[:, 0], seen), most=None),
        SimpleNamespace(attack=Attack("blind", lambda rows: rows[:, 0] * 0, seen), most=10),
    ]
    found = _select_promising_attacks(_AnswerDraws(ANSWER, seed=1), learners, SMALL)
    assert [one.name for one in found] == ["first"]
    assert seen == [("first", (50, 2), (50, 2)), ("blind", (10, 2), (10, 2))]


def test_the_attack_that_shows_most_is_certified_by_its_own_event():
    tried = [
        _FittedAttack("weak", lambda rows: -rows[:, 0] * 0, 1.0, np.array([-0.5, 0.5])),
        _FittedAttack("strong", lambda rows: -rows[:, 0], 1.0, np.array([-1.0])),
    ]
    name, score, rule, (rate, other) = _choose_best_attack(_AnswerDraws(ANSWER, seed=1), tried, 200)
    assert (name, rule.threshold) == ("strong", -1.0)
    assert (rate, other) == (1.0, 0.0)
    counts = _AnswerDraws(ANSWER, seed=1).below(
        [(score, np.array([rule.threshold]))], 50, "certifying"
    )
    hits = rule.hits(counts[0], 50)
    assert joint_lower_bound(*hits, 50, 50, delta=0.0, alpha=0.05) > 2
    assert run_module.CERTAIN == 1e-6


def test_noise_of_a_key_is_laplace_of_scale_1_and_follows_from_key_and_data():
    drawn = [
        mechanisms._compute_keyed_laplace(bytes([n // 256, n % 256]), [1.0]) for n in range(4000)
    ]
    assert kstest(drawn, "laplace").pvalue > 1e-3
    assert mechanisms._compute_keyed_laplace(b"a", [1.0]) == mechanisms._compute_keyed_laplace(
        b"a", [1.0]
    )
    assert mechanisms._compute_keyed_laplace(b"a", [1.0]) != mechanisms._compute_keyed_laplace(
        b"b", [1.0]
    )
    assert mechanisms._compute_keyed_laplace(b"a", [1.0]) != mechanisms._compute_keyed_laplace(
        b"a", [2.0]
    )


def test_the_files_rates_are_those_that_were_observed():
    rates = [Rate(3, 12, 0.05), Rate(0, 8, 0.01)]
    one = SimpleNamespace(
        estimator="e", law="l", true=1.0, control=False, sound=True, closeness=0.5, seconds=1.0,
        rates=rates,
    )  # fmt: skip
    for rate, told in zip(rates, write._make_tested_document(one)["rates"], strict=True):
        assert told["observed"] == rate.misses / rate.audits
        assert told["alpha"] == rate.nominal
        assert told["interval"] == list(rate.interval)


def test_an_event_that_was_chosen_is_certified_by_the_counts_of_the_side_that_it_favours():
    on_p, on_q = np.array([0.0] * 3 + [5.0] * 17), np.array([0.0] * 16 + [5.0] * 4)
    above, below = laws.ThresholdEvent(True, 1.0, 0.0), laws.ThresholdEvent(False, 1.0, 0.0)
    expected = joint_lower_bound(17, 4, 20, 20, delta=0.0, alpha=0.1)
    assert laws._compute_event_bound(above, on_p, on_q, 0.1, {}) == pytest.approx(
        expected, rel=1e-9
    )
    mirrored = joint_lower_bound(16, 3, 20, 20, delta=0.0, alpha=0.1)
    assert laws._compute_event_bound(below, on_p, on_q, 0.1, {}) == pytest.approx(
        mirrored, rel=1e-9
    )


def test_events_that_are_chosen_on_what_certifies_are_the_best_there_are():
    learned = laws.LearnedEvent(epsilon=3.0, trials=40)
    found = learned.run_reusing(20, 0.1, np.random.default_rng(0))
    assert np.median(found) > 0.8
    assert found.shape == (20,)
