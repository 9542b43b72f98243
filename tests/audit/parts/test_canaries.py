"""What is found about canaries, by hand: designs, games, and what a broken design withholds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dpaudit.auditing.samples.canaries as auditing
from dpaudit.auditing.samples.canary_table import (
    CanaryTable,
    as_table,
    game_of,
    resolve_canary_settings,
    usual_design,
)
from dpaudit.estimation import canaries
from dpaudit.estimation.canaries import CanaryGame, GuessCount, Plan
from dpaudit.estimation.one_run import lower_bound, p_value
from dpaudit.execution.executor import Silent
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP

from .common import ALPHA, check_of

N = 60
COINS = np.arange(N) % 3 == 0
ALONE = {
    "delta": 1e-3,
    "confidence": 0.95,
    "design": "independent",
    "estimator": None,
    "claim": 0.5,
    "seed": 1,
    "guesses": [20, 60],
}


def table_of(scores, included=COINS, group=None):
    return as_table(scores, included, group)


def found_of(right=1.0, checks=(True,), **asked):
    """Return what was found where a share of the guesses is right, and these checks passed."""
    table = table_of(np.where(COINS, 1.0, -1.0) * np.linspace(2, 3, N))
    of = resolve_canary_settings(table, **(ALONE | asked))
    game = game_of(table, of)
    counted = tuple(
        GuessCount(one.plan, round(right * one.plan.guesses)) for one in game.counted(of.plans)
    )
    made = tuple(check_of(one, f"check {n}") for n, one in enumerate(checks))
    return auditing._CanaryFindings(table, of, game, counted, made, Silent())


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [((True, True), "refuted"), ((True, False), "withheld"), ((False, True), "withheld")],
)
def test_any_check_that_fails_withholds_the_verdict_and_all_numbers(checks, verdict):
    found = found_of(checks=checks).result("data", "again")
    assert found.verdict == verdict
    assert (found.measured.lower > 0) is (verdict == "refuted")
    assert bool(found.model_based) is (verdict == "refuted")
    assert found.assumptions[0].holds is (verdict == "refuted")
    if verdict == "withheld":
        name = f"check {checks.index(False)}"
        assert f"(failed: {name}; by hand)" in found.reason


def test_the_bound_is_that_of_the_plan_that_excludes_most_at_its_share():
    found = found_of()
    shares = [plan.share for plan in found.asked.plans]
    assert shares == [0.95, 0.05]
    expected = [
        lower_bound(size, size, N, delta=1e-3, alpha=ALPHA * share)
        for size, share in zip((20, 60), shares, strict=True)
    ]
    assert found.bound(found.counted) == pytest.approx(max(expected))
    result = found.result("data", "again")
    assert result.measured.lower == pytest.approx(max(expected))
    assert result.measured.cap == pytest.approx(max(expected))
    assert [one.alpha for one in result.budget] == pytest.approx([0.0475, 0.0025])
    assert result.counts == {"canaries": N, "included": 20, "coins": N}
    assert result.parameters["correct"] == [20, 60]


def test_the_cap_is_that_of_guesses_which_are_all_right():
    some, every = (found_of(right).result("data", "again").measured for right in (0.9, 1.0))
    assert 0 < some.lower < every.lower
    assert some.cap == every.cap == pytest.approx(every.lower)


def test_the_certificate_is_of_the_claim_and_states_its_p_value():
    found = found_of()
    stated = found.certificate(found.result("data", "again"))
    p = min(p_value(size, size, N, 0.5, 1e-3) / share for size, share in ((20, 0.95), (60, 0.05)))
    assert stated.quantities["p_value"] == pytest.approx(p, rel=1e-7)
    assert stated.quantities["p_value"] < p
    assert stated.quantities["ratio"] == pytest.approx(ALPHA / p, rel=1e-7)
    assert (stated.conditions[0].value, stated.conditions[0].limit) == (1.0, 1.0)
    assert (stated.parameters["epsilon"], stated.parameters["delta"]) == (0.5, 1e-3)
    assert stated.parameters["alpha"] == pytest.approx(ALPHA)


@pytest.mark.parametrize(
    "asked", [{"claim": None}, {"claim": 30.0}, {"estimator": "f-dp"}, {"claim": GaussianDP(0.1)}]
)
def test_only_a_refuted_epsilon_by_exact_p_values_has_a_certificate(asked):
    found = found_of(**asked)
    assert found.certificate(found.result("data", "again")) is None


def test_without_a_claim_there_is_a_bound_and_no_refutation():
    found = found_of(claim=None).result("data", "again")
    assert (found.verdict, found.standing) == ("not refuted", "question")
    assert found.measured.lower > 0
    assert "is at least" in found.reason
    assert found_of().result("data", "again").standing == "claim"


def test_a_gaussian_claim_is_bounded_by_its_own_curve():
    found = found_of(claim=GaussianDP(0.5))
    assert found.asked.estimator == "f-dp"
    assert found.bound(found.counted) == canaries.gaussian_bound(found.game, found.counted, ALPHA)
    epsilon = found_of(estimator="f-dp")
    assert epsilon.bound(epsilon.counted) == canaries.approximate_bound(
        epsilon.game, epsilon.counted, 1e-3, epsilon.asked.alpha
    )


def test_estimates_beside_are_of_the_other_estimator_and_of_independent_canaries():
    found = found_of()
    names = [one["name"] for one in found._curves()]
    assert names == ["Gaussian curve, one run", "f-DP, one run"]
    other = found_of(estimator="f-dp")._curves()[1]
    assert other["name"] == "exact p-value, one run"
    exact = canaries.exact_bound(found.game, found.counted, 1e-3, found.asked.alpha)
    assert other["lower"] == pytest.approx(exact)
    assert [one["name"] for one in found_of(delta=0.0)._curves()] == ["f-DP, one run"]
    assert found._independent() == []  # 20 are included, which are too few


@pytest.mark.parametrize(("flipped", "noted"), [(False, False), (True, True)])
def test_lower_scores_of_what_was_included_are_noted(flipped, noted):
    found = found_of()
    sign = -1.0 if flipped else 1.0
    turned = replace(found, table=table_of(sign * found.table.scores))
    assert bool(turned._check_score_sign()) is noted
    alike = replace(found, table=table_of(np.arange(N) % 7))
    assert alike._check_score_sign() == []


@pytest.mark.parametrize(
    ("group", "included", "design"),
    [
        (None, [1, 0, 1, 0], "fixed-size"),
        (None, [1, 0, 1, 0, 0], "fixed-size"),
        (None, [1, 0, 0, 0, 0, 0], "independent"),
        (None, [1, 1, 1, 0], "independent"),
        ([0, 0, 1, 1], [1, 0, 0, 1], "pairs"),
        ([0, 0, 1, 1], [1, 1, 0, 1], "runs"),
        ([0, 0, 1, 1], [1, 0, 0, 0], "runs"),
        ([0, 0, 0, 1], [1, 0, 0, 1], "runs"),
    ],
)
def test_the_usual_design_is_read_from_groups_and_sizes(group, included, design):
    assert usual_design(table_of(np.arange(len(included)), included, group)) == design


def test_what_a_design_needs_is_fixed_from_inclusion_alone():
    table = table_of(np.arange(N))
    assert resolve_canary_settings(table, **ALONE).alpha == pytest.approx(0.05)
    assert resolve_canary_settings(table, **(ALONE | {"delta": 0.0})).claim == PureDP(0.5)
    assert resolve_canary_settings(table, **ALONE).claim == ApproximateDP(0.5, 1e-3)
    assert resolve_canary_settings(table, **ALONE).claimed == 0.5
    assert resolve_canary_settings(table, **(ALONE | {"claim": GaussianDP(2.0)})).claimed == 2.0
    assert resolve_canary_settings(table, **(ALONE | {"claim": None})).claimed is None
    plans = resolve_canary_settings(table, **(ALONE | {"guesses": [60, 20]})).plans
    assert [plan.guesses for plan in plans] == [20, 60]


def test_a_pair_is_one_coin_and_the_farther_apart_it_is_the_sooner_it_is_guessed():
    scores = [5.0, 1.0, 2.0, 2.5, 7.0, 4.0]
    included = [1, 0, 1, 0, 0, 1]  # right by 4, wrong by 0.5, wrong by 3
    group = [0, 0, 1, 1, 2, 2]
    table = table_of(scores, included, group)
    for seed in range(6):
        asked = resolve_canary_settings(
            table, **(ALONE | {"design": "pairs", "guesses": [1, 2, 3], "seed": seed})
        )
        game = game_of(table, asked)
        assert game.highest
        assert sorted(game.scores.tolist()) == [0.5, 3.0, 4.0]
        by_gap = dict(zip(game.scores.tolist(), game.coins.tolist(), strict=True))
        assert by_gap == {4.0: 1, 0.5: -1, 3.0: -1}
        assert [one.correct for one in game.counted(asked.plans)] == [1, 1, 1]


def test_of_a_fixed_size_the_error_is_spent_times_its_probability():
    included = np.arange(8) < 3
    table = table_of(np.arange(8.0), included)
    asked = resolve_canary_settings(table, **(ALONE | {"design": "fixed-size", "guesses": [2]}))
    game = game_of(table, asked)
    assert math.exp(game.log_given) == pytest.approx(math.comb(8, 3) / 2**8)
    assert int((game.coins == 1).sum()) == 3
    alone = game_of(table, resolve_canary_settings(table, **(ALONE | {"guesses": [2]})))
    assert alone.log_given == 0.0
    assert sorted(zip(game.scores, game.coins, strict=True)) == [
        (float(n), 1 if n < 3 else -1) for n in range(8)
    ]


def test_ties_go_by_an_order_that_the_seed_draws():
    table = table_of(np.zeros(N))
    games = [
        game_of(table, resolve_canary_settings(table, **(ALONE | {"seed": seed})))
        for seed in (1, 1, 2)
    ]
    coins = [game.coins.tolist() for game in games]
    assert coins[0] == coins[1] != coins[2]


def test_the_hash_is_of_scores_inclusion_and_groups_in_their_order():
    scores, included = np.array([1.0, 2.0]), np.array([True, False])
    base = CanaryTable(scores=scores, included=included, group=None)
    others = [
        CanaryTable(scores=scores[::-1], included=included, group=None),
        CanaryTable(scores=scores, included=included[::-1], group=None),
        CanaryTable(scores=scores, included=included, group=np.array([0, 0])),
        CanaryTable(scores=scores, included=included, group=np.array([0, 1])),
    ]
    assert len({one.digest for one in (base, *others)}) == 5
    assert base.groups.tolist() == [0, 0]


def test_shares_add_up_and_the_most_is_that_of_all_right():
    counted = (GuessCount(Plan(4, 0.7), 1), GuessCount(Plan(9, 0.2), 3))
    assert auditing._sum_spent_shares(counted) == pytest.approx(0.9)
    game = CanaryGame(scores=np.zeros(9), coins=np.ones(9, dtype=np.int8))
    assert [one.correct for one in canaries.all_right(game, counted)] == [4, 9]


def test_canaries_as_independent_runs_are_compared_where_there_are_enough_of_either():
    rng = np.random.default_rng(2)
    for kept, enough in ((39, False), (40, True), (60, True), (61, False)):
        included = np.arange(100) < kept
        table = table_of(rng.normal(size=100) + 4 * included, included)
        asked = resolve_canary_settings(table, **(ALONE | {"guesses": [20]}))
        found = auditing._CanaryFindings(table, asked, game_of(table, asked), (), (), Silent())
        estimates = found._independent()
        assert bool(estimates) is enough
        if enough:
            assert [one["name"] for one in estimates][:2] == [
                "Gaussian scores, independent canaries",
                "event bound, independent canaries",
            ]
            assert estimates[1]["lower"] > 1
            mu = canaries.independent_gaussian_mu(table.scores, included, asked.alpha)
            assert estimates[0]["lower"] == GaussianDP(mu).epsilon(1e-3)
            assert all("do not disturb each other" in one["assumes"] for one in estimates)
    pure = replace(
        found, asked=resolve_canary_settings(table, **(ALONE | {"delta": 0.0, "guesses": [20]}))
    )
    assert "Gaussian scores" not in str(pure._independent())


def test_plans_are_of_coins_which_are_half_as_many_for_pairs():
    included = np.arange(40) % 2 == 0
    table = table_of(np.arange(40), included, np.arange(40) // 2)
    usual = {"guesses": None, "design": None}
    assert resolve_canary_settings(table, **(ALONE | usual)).plans == canaries.default_plans(20)
    runs = resolve_canary_settings(table, **(ALONE | usual | {"design": "runs"}))
    assert runs.plans == canaries.default_plans(40)


def test_a_result_says_which_datasets_are_neighbours_and_what_is_claimed():
    found = found_of().result("data", "again")
    assert found.relation == "one canary is added or removed"
    assert found.statement == "what ran is (0.5, 0.001)-DP"
    assert (found.claimed.epsilon, found.claimed.delta) == (0.5, 1e-3)
    mu = found_of(claim=GaussianDP(0.5)).result("data", "again")
    assert (mu.statement, mu.claimed.value, mu.quantity) == (
        "what ran is 0.5-Gaussian DP",
        0.5,
        "μ",
    )
    assert mu.reason.startswith("The certified lower bound")
    asked = found_of(claim=None).result("data", "again")
    assert asked.statement == "which epsilon at delta = 0.001 do these canaries certify?"
    assert "at delta = 0.001 is at least" in asked.reason
    assert auditing._format_canary_relation("pairs") == "one canary takes the place of its partner"
    assert not any("not independent" in note for note in found.notes)
    half = replace(found_of(), game=replace(found_of().game, log_given=math.log(0.25)))
    assert any("under fair coins, 0.25." in note for note in half._notes())


def test_the_call_that_repeats_an_audit_names_what_was_fixed():
    asked = found_of().asked
    said = auditing._format_scores_rerun(asked, [20, 60], grouped=True)
    assert "(scores, included, group=group, delta=0.001, confidence=0.95, " in said
    assert "claim=0.5, seed=1, guesses=[20, 60])" in said
    plain = auditing._format_scores_rerun(asked, None, grouped=False)
    assert "group" not in plain
    assert "guesses" not in plain
    mu = auditing._format_scores_rerun(found_of(claim=GaussianDP(0.5)).asked, None, grouped=False)
    assert "claim=GaussianDP(mu=0.5)" in mu
