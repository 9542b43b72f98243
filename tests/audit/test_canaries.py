"""The audit of canaries' scores: designs, claims, what is withheld, and what is refused."""

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.samples.canary_table import as_table
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.one_run import one_run_bound

DELTA = 1e-5


@pytest.fixture
def rng():
    return np.random.default_rng(20260119)


@pytest.fixture
def included(rng):
    return rng.random(1000) < 0.5


@pytest.fixture
def scores(rng, included):
    return rng.normal(size=1000) + 3 * included


def test_a_result_is_that_of_every_audit(scores, included):
    result = dpaudit.audit_scores(scores, included, delta=DELTA, claim=2.0)
    assert result.verdict == "refuted"
    assert result.claimed.epsilon == 2 < result.measured.lower < 5.2
    assert result.measured.label == "certificate"
    assert result.alpha == pytest.approx(0.05)
    assert {one.name for one in result.contract} == {"balance", "order", "duplicates"}
    assert all(one.label == "assumption" for one in result.model_based)
    assert result.measured.lower < result.parameters["cap"]


def test_without_a_claim_nothing_is_refuted(scores, included):
    result = dpaudit.audit_scores(scores, included, delta=DELTA)
    assert (result.verdict, result.standing) == ("not refuted", "question")
    assert result.claimed.epsilon is None
    assert "nothing is claimed" in str(result)


def test_one_plan_is_the_bound_of_one_run(scores, included):
    coins = np.where(included, 1, -1).astype(np.int8)
    result = dpaudit.audit_scores(scores, included, delta=DELTA, guesses=[200], confidence=0.9)
    known = one_run_bound(scores, coins, [200], delta=DELTA, alpha=0.1)
    assert result.measured.lower == pytest.approx(known.lower, rel=1e-9)


def test_a_gaussian_claim_is_measured_in_mu(scores, included):
    refuted = dpaudit.audit_scores(scores, included, delta=DELTA, claim=dpaudit.GaussianDP(1.0))
    assert refuted.verdict == "refuted"
    assert 1 < refuted.measured.lower < 3
    assert refuted.quantity == "μ"
    stands = dpaudit.audit_scores(scores, included, delta=DELTA, claim=dpaudit.GaussianDP(3.0))
    assert (stands.verdict, stands.claimed.value) == ("not refuted", 3)


def test_designs_are_read_from_groups(scores, included, rng):
    runs = dpaudit.audit_scores(scores, included, delta=DELTA, group=np.arange(1000) // 100)
    assert runs.parameters["design"] == "runs"
    alone = dpaudit.audit_scores(scores, included, delta=DELTA)
    assert runs.measured.lower == alone.measured.lower
    first = rng.random(500) < 0.5
    one_of_two = np.stack([first, ~first], axis=1).ravel()
    paired = rng.normal(size=1000) + 3 * one_of_two
    names = [f"pair {i // 2}" for i in range(1000)]
    pairs = dpaudit.audit_scores(paired, one_of_two, delta=DELTA, group=names)
    assert pairs.parameters["design"] == "pairs"
    assert pairs.counts["coins"] == 500
    assert 3 < pairs.measured.lower < alone.parameters["cap"]


def test_which_of_a_pair_comes_first_means_nothing(rng):
    first = rng.random(200) < 0.5
    one_of_two = np.stack([first, ~first], axis=1).ravel()
    paired, pairs = rng.normal(size=400) + 2 * one_of_two, np.arange(400) // 2
    turned = np.argsort(~one_of_two, kind="stable")
    one, other = (
        dpaudit.audit_scores(paired[rows], one_of_two[rows], delta=DELTA, group=pairs[rows])
        for rows in (np.arange(400), turned)
    )
    assert one.parameters["correct"] == other.parameters["correct"]
    assert 0 < one.measured.lower == other.measured.lower


@pytest.mark.parametrize(("size", "included"), [(1000, 500), (1001, 500), (1001, 501)])
def test_half_of_all_is_a_fixed_size_where_nothing_else_is_said(rng, size, included):
    chosen = rng.permutation(size) < included
    found = dpaudit.audit_scores(rng.normal(size=size), chosen, delta=DELTA)
    assert found.parameters["design"] == "fixed-size"
    more = rng.permutation(size) < included + 3
    apart = dpaudit.audit_scores(rng.normal(size=size), more, delta=DELTA)
    assert apart.parameters["design"] == "independent"


def test_a_fixed_size_costs_what_its_probability_says(scores, rng):
    half = rng.permutation(1000) < 500
    moved = rng.normal(size=1000) + 3 * half
    found = dpaudit.audit_scores(moved, half, delta=DELTA)
    assert found.parameters["design"] == "fixed-size"
    named = dpaudit.audit_scores(moved, half, delta=DELTA, design="independent")
    assert 0 < found.measured.lower < named.measured.lower
    unlikely = dpaudit.audit_scores(scores, np.arange(1000) < 2, delta=DELTA, design="fixed-size")
    assert unlikely.measured.lower == 0


@pytest.mark.parametrize("design", ["independent", "fixed-size", "pairs", "runs"])
def test_scores_of_nothing_certify_nothing_in_any_design(design, rng):
    half = np.stack([np.ones(500), np.zeros(500)], axis=1)
    kept = rng.permuted(half, axis=1).ravel()
    kept = kept if design == "pairs" else rng.permutation(kept)
    kept = rng.random(1000) < 0.5 if design in ("independent", "runs") else kept
    group = np.arange(1000) // 2 if design == "pairs" else np.arange(1000) // 100
    result = dpaudit.audit_scores(
        rng.normal(size=1000), kept, delta=DELTA, design=design, group=group, confidence=0.999
    )
    assert result.measured.lower == 0


def test_ties_say_nothing_of_rows_that_are_sorted(included):
    ordered = np.sort(included)
    result = dpaudit.audit_scores(np.zeros(1000), ordered, delta=DELTA, confidence=0.999)
    assert result.measured.lower == 0


def test_what_contradicts_the_design_withholds_the_verdict(scores):
    every_other = np.arange(1000) % 2 == 0
    found = dpaudit.audit_scores(scores, every_other, delta=DELTA, claim=0.1)
    assert (found.verdict, found.measured.lower) == ("withheld", 0)
    assert "order" in found.reason
    assert not found.model_based


def test_canaries_that_are_listed_twice_withhold_it(scores, included, rng):
    twice = rng.permutation(np.repeat(np.arange(1000), 2))
    found = dpaudit.audit_scores(
        scores[twice], included[twice], delta=DELTA, claim=0.1, design="independent"
    )
    assert found.verdict == "withheld"
    assert "duplicates" in found.reason


def test_scores_with_the_other_sign_are_noted(scores, included):
    found = dpaudit.audit_scores(-scores, included, delta=DELTA)
    assert found.measured.lower == 0
    assert any("other sign" in note for note in found.notes)


def test_one_seed_gives_one_result(scores, included):
    rounded = np.round(scores)
    one, same, other = (
        dpaudit.audit_scores(rounded, included, delta=DELTA, seed=seed) for seed in (0, 0, 1)
    )
    assert one == same
    assert one.parameters["correct"] != other.parameters["correct"]


def test_the_former_call_is_that_of_outputs(rng):
    on, off = rng.laplace(size=(2, 200))
    former = dpaudit.audit_scores(on, off, epsilon=1.0)
    assert former == dpaudit.audit_outputs(on, off, epsilon=1.0)


def test_the_former_call_takes_no_coins_for_outputs(scores, included):
    for coins in (included, included.astype(int), included.astype(float)):
        with pytest.raises(InvalidArgument, match=r"epsilon: got 1\.0, expected claim="):
            dpaudit.audit_scores(scores, coins, epsilon=1.0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"delta": None}, "delta: got None"),
        ({"delta": 1.5}, "delta: got 1.5"),
        ({"delta": -1e-5}, "delta: got -1e-05"),
        ({"confidence": 1.0}, "confidence: got 1.0"),
        ({"scores": [1.0, np.nan, 2.0, 3.0]}, r"scores\[1\]: got nan"),
        ({"scores": []}, "included: got 4 rows, expected 0"),
        ({"scores": [], "included": []}, "0 of 0 canaries are included"),
        ({"scores": [[1.0, 2.0]]}, "scores: got 'shape"),
        ({"scores": ["a", "b", "c", "d"]}, "scores: got"),
        ({"included": [0, 1, 2, 1]}, r"included\[2\]: got .*, expected 0 or 1"),
        ({"included": [0, 1, np.nan, 1]}, r"included\[2\]"),
        ({"included": ["yes", "no", "no", "no"]}, "included: got"),
        ({"included": [1, 1, 1, 1]}, "4 of 4 canaries are included"),
        ({"included": [0, 0, 0, 0]}, "0 of 4 canaries are included"),
        ({"included": [0, 1]}, "included: got 2 rows, expected 4"),
        ({"design": "coins"}, "design: got 'coins'"),
        ({"design": "pairs"}, "group: got None"),
        ({"design": "pairs", "group": [0, 0, 0, 1]}, "a group of 3 with 1 included"),
        ({"design": "runs"}, "group: got None"),
        ({"group": [0, 1]}, "group: got 2 rows, expected 4"),
        ({"estimator": "best"}, "estimator: got 'best'"),
        ({"claim": -1}, "claim: got -1"),
        ({"claim": dpaudit.GaussianDP(1.0), "estimator": "exact"}, "estimator: got 'exact'"),
        ({"guesses": [9]}, r"guesses: got \[9\]"),
        ({"guesses": []}, r"guesses: got \[\]"),
        ({"seed": -1}, "seed: got -1"),
    ],
)
def test_what_is_refused(changed, words):
    given = {"scores": [1.0, 2.0, 3.0, 4.0], "included": [0, 1, 0, 1], "delta": DELTA} | changed
    scores, included = given.pop("scores"), given.pop("included")
    with pytest.raises(InvalidArgument, match=words):
        dpaudit.audit_scores(scores, included, **given)


def test_the_hash_of_scores_holds_which_of_them_belong_together():
    scores, included = [3.0, 1.0, 2.0, 0.0], [1, 0, 1, 0]
    groups = (None, [0, 0, 1, 1], [0, 1, 1, 0])
    assert len({as_table(scores, included, one).digest for one in groups}) == 3
    assert as_table(scores, included, list("aabb")).digest == (
        as_table(scores, included, [0, 0, 1, 1]).digest
    )
