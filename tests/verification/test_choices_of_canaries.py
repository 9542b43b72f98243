"""Which choices in a certificate of canaries follow from the canaries, and which are the file's."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import dpaudit.verdicts as verdicts
from dpaudit.auditing.samples.canary_table import CanaryTable
from dpaudit.reals import Real
from dpaudit.verification import Reader, canaries
from dpaudit.verification.canaries import CanaryStatement, count_right_guesses
from dpaudit.verification.document import Verdict
from dpaudit.verification.judge import _stricter, _too_small

PLAN = CanaryStatement(
    design="independent", coins=100, rows=100, included=40, delta=Real(0), claimed=Real(0),
    alpha=Real(0.05), guesses=(50,), shares=(1.0,), correct=(40,),
)  # fmt: skip


def table(included, group=None):
    included = np.asarray(included, dtype=bool)
    return CanaryTable(scores=np.arange(float(len(included))), included=included, group=group)


def told(design, included, table=None, reader=None):
    stated = replace(PLAN, design=design, included=included)
    return canaries._chosen_design(stated, table, reader or Reader())


@pytest.mark.parametrize(
    ("design", "included", "follows"),
    [
        ("independent", 40, True),
        ("fixed-size", 40, True),
        ("fixed-size", 50, True),
        ("independent", 50, False),
        ("independent", 49, True),
        ("pairs", 50, False),
        ("pairs", 40, False),
        ("runs", 50, False),
        ("runs", 40, False),
    ],
)
def test_a_design_follows_from_how_many_are_included_or_is_a_reservation(design, included, follows):
    found = told(design, included)
    assert (found == []) == follows
    if not follows:
        assert f"the design is {design}" in found[0]
        assert f"{included} of 100 canaries are included" in found[0]
    assert told(design, included, reader=Reader(design=design)) == []


@pytest.mark.parametrize("odd", [49, 50, 51])
def test_half_of_an_odd_number_is_either_side_of_it(odd):
    stated = replace(PLAN, design="independent", rows=99, included=odd)
    usual = canaries._usual_design(stated, None)
    assert usual == ("fixed-size" if odd in (49, 50) else "independent")


def test_groups_of_scores_say_the_design_whatever_the_counts_are():
    coins = np.tile([True, False], 50)
    pairs, runs = np.repeat(np.arange(50), 2), np.repeat(np.arange(10), 10)
    assert told("pairs", 50, table(coins, pairs)) == []
    assert told("runs", 50, table(coins, runs)) == []
    for design in ("independent", "fixed-size", "runs"):
        assert told(design, 50, table(coins, pairs))
    assert told("fixed-size", 50, table(coins)) == []
    assert told("independent", 50, table(coins))
    assert told("independent", 40, table(np.arange(100) < 40)) == []


@pytest.mark.parametrize("design", canaries.DESIGNS)
@pytest.mark.parametrize("rows", [100, 101])
def test_only_pairs_have_half_as_many_coins(design, rows):
    true = rows // 2 if design == "pairs" else rows
    for coins in (rows // 2, rows):
        wrong = canaries._other_coins(replace(PLAN, design=design, rows=rows, coins=coins))
        assert (wrong == []) == (coins == true)


@pytest.mark.parametrize("design", canaries.DESIGNS)
def test_a_relation_is_that_of_the_design(design):
    for relation in (canaries._REPLACED, canaries._ADDED):
        document = SimpleNamespace(relation=relation)
        wrong = canaries._other_relation(document, replace(PLAN, design=design))
        assert (wrong == []) == ((relation == canaries._REPLACED) == (design == "pairs"))


@pytest.mark.parametrize("design", ["independent", "runs", "pairs", "fixed-size"])
def test_of_several_plans_the_least_counts_over_its_share_and_over_what_was_fixed(design):
    stated = replace(PLAN, design=design, guesses=(50, 80), shares=(0.25, 0.75), correct=(40, 52))
    tails = [binom.sf(v - 1, r, 0.5) / s for v, r, s in ((40, 50, 0.25), (52, 80, 0.75))]
    given = binom.pmf(40, 100, 0.5) if design == "fixed-size" else 1.0
    found = float(canaries._least_p_value(stated, stated.correct))
    assert found == pytest.approx(min(tails) / given, rel=1e-9)
    swapped = replace(stated, shares=(0.75, 0.25))
    due = min(tails[0] * 0.25 / 0.75, tails[1] * 0.75 / 0.25) / given
    found = float(canaries._least_p_value(swapped, swapped.correct))
    assert found == pytest.approx(due, rel=1e-9)


# Counts that equal scores leave


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("design", ["independent", "pairs"])
def test_counts_are_the_least_and_the_most_of_all_orders_of_equal_scores(seed, design):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, size=8).astype(float)
    if design == "pairs":
        first = rng.random(4) < 0.5
        included = np.stack([first, ~first], axis=1).ravel()
        group = np.repeat(np.arange(4), 2)
    else:
        included, group = rng.random(8) < 0.5, None
    given = CanaryTable(scores=scores, included=included, group=group)
    for guesses in range(1, 5):
        seen = {by_order(given, design, guesses, rng) for _ in range(300)}
        low, high = count_right_guesses(given, design, guesses)
        assert low <= min(seen)
        assert max(seen) <= high
        if design == "pairs":
            assert (low, high) == (min(seen), max(seen))


def by_order(given, design, guesses, rng):
    """Return the right guesses if equal scores are told apart by luck."""
    luck = rng.random(8)
    if design == "pairs":
        apart = given.scores[0::2] - given.scores[1::2]
        tie = np.where(rng.random(4) < 0.5, 1, -1)
        guess = np.where(apart == 0, tie, np.sign(apart))
        right = (guess > 0) == given.included[0::2]
        order = np.lexsort((luck[:4], -np.abs(apart)))
        return int(right[order[:guesses]].sum())
    order = np.lexsort((luck, given.scores))
    low, high = guesses // 2, (guesses + 1) // 2
    left, right = order[:low], order[8 - high :]
    return int((~given.included[left]).sum() + given.included[right].sum())


# What a certificate makes of a claim


@pytest.mark.parametrize(
    ("failures", "reservations", "said"),
    [
        ((), (), "refuted"),
        ((), ("another delta",), "not refuted"),
        (("bound: wrong",), (), "withheld"),
        (("bound: wrong",), ("another delta",), "withheld"),
    ],
)
def test_what_fails_says_nothing_and_what_is_reserved_refutes_nothing(failures, reservations, said):
    found = Verdict(claim="c", failures=failures, ratio=2.0, summary="", reservations=reservations)
    assert found.on_the_claim == said
    assert found.verified == (failures == ())
    assert found.refutes_as_published == (said == "refuted")
    assert said in verdicts.VERDICTS


@pytest.mark.parametrize(
    ("factor", "told"), [(0.5, True), (0.999, True), (1, False), (1.0, False), (1.5, False)]
)
def test_a_factor_below_one_is_a_reservation(factor, told):
    document = SimpleNamespace(parameters={"factor": factor})
    assert (_stricter(document) != ()) is told
    assert _stricter(SimpleNamespace(parameters={})) == ()


@pytest.mark.parametrize(
    ("ratio", "fails"), [(1.0, True), (1 + 0.9e-9, True), (1 + 1.1e-9, False), (0.5, True)]
)
def test_a_ratio_has_to_exceed_one_by_more_than_rounding(ratio, fails):
    outcome = SimpleNamespace(quantities={"ratio": Real(ratio)})
    assert (list(_too_small(outcome)) != []) is fails
