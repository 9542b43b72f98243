"""A result, by hand: what is withheld, which proof counts, and how its numbers are rounded."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit.accounting.strongest_guarantee import TabulatedDP
from dpaudit.auditing.outcome import claim_point, search_result
from dpaudit.auditing.outcome.error_budget import Spender, split_error_probability, whole_report
from dpaudit.auditing.outcome.evidence import EventEvidence
from dpaudit.auditing.outcome.result import (
    _estimate_rates_on_grid,
    _format_number_above,
    _format_number_within,
    _get_plotted_guarantee,
    _of_proof,
    carrying_event,
    convert_to_claim_number,
    format_verdict_reason,
    privacy_result,
    with_relation,
)
from dpaudit.auditing.repeat.certificate_draws import quantities_of, statistical_certificate
from dpaudit.estimation.event import fresh_errors
from dpaudit.estimation.model_estimates import ModelBasedEstimate
from dpaudit.extension.case import AssumptionOutcome, Proof, SearchCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.currency import currency_of
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP, RenyiDP
from dpaudit.neighbours import ADD_REMOVE_RECORD, Pair
from dpaudit.refutation import WorstInstance
from dpaudit.report.schema import BudgetEntry, Environment

from .common import ALPHA, case_of, check_of, evidence_of

WORDS = Statement(
    name="own",
    title="an example",
    statement="it is 1-DP",
    source="an example",
    kind="privacy",
    relation="replace-record",
    assumptions={"bounded": "records are in [0, 1]"},
)
EVENT = EventEvidence(
    words="`output` > 2",
    plain=True,
    hits=(90, 4),
    runs=(1000, 1000),
    delta=0.0,
    alpha=ALPHA,
    epsilon=1.5,
)


def judged(evidence, case=None, **settings):
    case = case_of() if case is None else case
    return privacy_result(WORDS, case, evidence, Settings(**settings), "again")


def test_a_failed_check_withholds_every_number_that_rests_on_it():
    for broken in ("self_checks", "contract"):
        found = judged(
            evidence_of(
                9.0, upper=10.0, estimate=9.5, carrying=EVENT, **{broken: (check_of(False),)}
            )
        )
        assert (found.verdict, found.measured.lower) == ("withheld", 0.0)
        assert found.measured.upper is found.measured.estimate is found.carrying_event is None
        assert found.measured.upper_note == "a check failed: nothing is certified"
        assert found.reason.startswith("Nothing is certified")
        assert "a check" in found.reason


def test_of_several_checks_the_ones_that_failed_are_named():
    checks = (check_of(True, "good"), check_of(False, "bad"), check_of(False, "worse"))
    contract = judged(evidence_of(9.0, contract=checks))
    assert "(failed check: bad)" in contract.reason
    law = judged(evidence_of(9.0, self_checks=checks))
    assert "the self-check of the bad, worse failed" in law.reason
    assert [one.passed for one in law.self_checks] == [True, False, False]


def test_the_numbers_of_a_good_audit_are_shown_as_they_are():
    found = judged(evidence_of(0.4, upper=0.9, estimate=0.6, cap=3.0, carrying=EVENT), seed=4)
    assert (found.verdict, found.seed) == ("not refuted", 4)
    assert (found.measured.lower, found.measured.upper, found.measured.estimate) == (0.4, 0.9, 0.6)
    assert (found.measured.cap, found.measured.confidence) == (3.0, 0.95)
    assert found.carrying_event.epsilon == 1.5
    assert found.carrying_event.sentence in found.notes
    assert found.carrying_event.sentence not in found.reason
    assert (
        "not evidence that the claim holds. This many outputs can certify at most 3."
        in found.reason
    )


def test_a_refutation_says_what_leaked_and_on_what_it_rests():
    found = judged(evidence_of(1.5, carrying=EVENT))
    assert found.verdict == "refuted"
    assert found.carrying_event.sentence in found.reason
    assert found.carrying_event.sentence not in found.notes
    assert "stated law" not in found.reason
    law = judged(evidence_of(1.5, self_checks=(check_of(True),)))
    assert "The bound rests on the stated law, which no self-check contradicted." in law.reason
    computed = judged(evidence_of(1.5, budget={}))
    assert computed.measured.confidence == 1.0


def test_what_certifies_nothing_carries_nothing():
    assert carrying_event(evidence_of(carrying=replace(EVENT, epsilon=0.0)), "not refuted") is None
    assert carrying_event(evidence_of(), "refuted") is None
    assert carrying_event(evidence_of(carrying=EVENT), "refuted").sentence.startswith("What leaked")


def test_assumptions_that_fail_are_named_and_no_theorem_counts():
    outcomes = tuple(
        AssumptionOutcome(name=name, holds=name == "public", evidence="seen")
        for name in ("public", "bounded")
    )
    proof = Proof(guarantee=PureDP(0.75), source="a theorem")
    found = judged(evidence_of(0.5), case_of(proved=proof, assumptions=outcomes))
    assert found.verdict == "not refuted"
    assert "Assumptions that do not hold here: bounded." in found.reason
    assert [one.statement for one in found.assumptions] == ["public", "records are in [0, 1]"]
    assert [one.holds for one in found.assumptions] == [True, False]


@pytest.mark.parametrize("smaller", ["proved", "pair_ceiling"])
def test_a_bound_above_the_smaller_proof_contradicts_it(smaller):
    proofs = {
        name: Proof(guarantee=PureDP(0.6 if name == smaller else 0.9), source="a theorem")
        for name in ("proved", "pair_ceiling")
    }
    assert (
        "exceeds the proved 0.6: either the proof or the law"
        in judged(evidence_of(0.7), case_of(**proofs)).reason
    )
    assert "the proof is wrong" not in judged(evidence_of(0.6), case_of(**proofs)).reason


def test_what_is_proved_of_a_declared_release_is_compared_and_proves_nothing():
    declared = Proof(guarantee=PureDP(0.6), source="the release as declared", declared=True)
    found = judged(evidence_of(0.7), case_of(proved=declared))
    assert found.verdict == "not refuted"
    assert "the code is not that release" in found.reason
    assert "the proof is wrong" not in found.reason
    assert found.proved.declared
    assert found.proved.epsilon == 0.6


@pytest.mark.parametrize(
    ("lower", "claimed", "shown"),
    [
        (20.0001, 20.0, "20.0001"),
        (25.37999, 20.0, "25.37"),
        (1.00009, 1.0, "1.00009"),
        (1.00000000009, 1.0, "1.00000000009"),
        (1.0, 1.0, "1"),
    ],
)
def test_a_bound_is_shown_above_the_claim_and_never_rounded_up(lower, claimed, shown):
    assert _format_number_above(lower, claimed) == shown


@pytest.mark.parametrize(
    ("proved", "claimed", "shown"),
    [
        (0.75001, 1.0, "0.7501"),
        (0.99999, 1.0, "1"),
        (0.50001, 0.50004, "0.50001"),
        (1.0, 1.0, "1"),
        (0.5, 1.0, "0.5"),
    ],
)
def test_a_proof_is_shown_within_the_claim_and_never_rounded_down(proved, claimed, shown):
    assert _format_number_within(proved, claimed) == shown


def test_reasons_round_a_bound_down_and_say_which_share_it_is():
    said = format_verdict_reason("epsilon", 2.0, 1.99999, "not refuted", cap=1.5)
    assert "1.999 does not exceed the claimed epsilon 2; it reaches 99" in said
    assert said.endswith("can certify at most 1.5, which is not enough to refute the claim.")
    assert format_verdict_reason("epsilon", 2.0, 1.0, "not refuted", cap=2.0).endswith(
        "which is not enough to refute the claim."
    )
    assert "it reaches" not in format_verdict_reason("epsilon", 0.0, 0.0, "not refuted")
    assert "it reaches 0%" in format_verdict_reason("excess", 1.0, -1.0, "not refuted")
    long = format_verdict_reason("rate of 5", 2.0, 3.0, "refuted", long=True)
    assert long.endswith("3 exceeds 2, the claimed rate of 5.")


@pytest.mark.parametrize(("lower", "more"), [(1.5, True), (2.0, True), (2.1, False), (0.9, False)])
def test_a_relation_that_was_read_is_said_with_what_another_would_say(lower, more):
    case = case_of(relation_was_read=True)
    found = with_relation(judged(evidence_of(lower), case), case)
    assert "The smallest relation that explains the difference is replace-record." in found.reason
    assert ("two steps apart" in found.reason) is more
    named = with_relation(judged(evidence_of(lower)), case_of())
    assert "smallest relation" not in named.reason


def test_add_remove_is_no_two_steps():
    pair = Pair(np.array([0.0]), np.array([0.0, 1.0]), ADD_REMOVE_RECORD)
    case = replace(case_of(relation_was_read=True), pair=pair)
    found = judged(evidence_of(1.5), case_of())
    assert "two steps apart" not in with_relation(found, case).reason


def test_outputs_that_never_varied_are_asked_about_where_nothing_is_refuted():
    for lower, asked in ((0.5, True), (1.5, False)):
        case = case_of(unvarying=True)
        assert (
            "outputs on both datasets were all the same"
            in with_relation(judged(evidence_of(lower), case), case).reason
        ) is asked


def test_a_curve_is_stated_in_its_own_number():
    case = case_of(GaussianDP(1.0), 0.01)
    assert convert_to_claim_number(case, GaussianDP(1.0)) == 1.0
    assert convert_to_claim_number(case, GaussianDP(2.0)) == pytest.approx(2.0)
    assert convert_to_claim_number(case_of(), PureDP(0.7)) == 0.7
    found = judged(evidence_of(1.2), case)
    assert (found.verdict, found.claimed.value, found.claimed.epsilon) == ("refuted", 1.0, None)
    assert "the claimed mu 1." in found.reason


def test_rates_outside_those_that_were_seen_are_none():
    found = _estimate_rates_on_grid((0.1, 0.5), (0.6, 0.2))
    rates = [value for value in found if value is not None]
    assert max(rates) <= 0.6
    assert min(rates) >= 0.2
    assert found[0] is None
    assert found[-1] is None
    assert _estimate_rates_on_grid((), ()) is None


def test_an_error_probability_is_shared_among_those_that_draw_and_have_none_of_their_own():
    def spender(draws, own=False):
        return Spender(Settings(confidence=0.9), draws, own)

    audits = [spender(True), spender(False), spender(True, own=True), spender(True)]
    assert [one.confidence for one in split_error_probability(audits)] == pytest.approx(
        [0.95, 0.9, 0.9, 0.95]
    )
    assert [one.confidence for one in split_error_probability(audits[:3])] == [0.9, 0.9, 0.9]


def test_a_report_spends_what_its_results_spend():
    results = [
        judged(evidence_of(budget={"one": 0.01, "two": 0.02}), confidence=0.97),
        judged(evidence_of(budget={})),
        judged(evidence_of(budget={"one": 0.05}), confidence=0.95),
    ]
    report = whole_report(results, Environment.model_construct(), ["gone"])
    assert [entry.alpha for entry in report.budget] == pytest.approx([0.03, 0.05])
    assert report.confidence == pytest.approx(0.92)
    assert list(report.missing) == ["gone"]
    many = whole_report([judged(evidence_of(), confidence=0.5)] * 3, Environment.model_construct())
    assert many.confidence in (0.0, pytest.approx(1 - 3 * ALPHA))


def test_a_certificate_of_draws_states_the_ratio():
    found = judged(evidence_of(1.5))
    stated = statistical_certificate(found, Settings(seed=3))
    assert stated.quantities == {
        "bound": 1.0,
        "value": 1.5,
        "ratio": 1.5,
        "count: certifying, per dataset": 1000.0,
    }
    assert (stated.kind, stated.search) == ("statistical", {"seed": 3, "trials": 1000})
    assert statistical_certificate(judged(evidence_of(math.inf)), Settings()) is None
    nothing = judged(evidence_of(0.5), case_of(ApproximateDP(0.0, 0.0)))
    assert statistical_certificate(nothing, Settings()) is None


@pytest.mark.parametrize(
    ("bound", "value", "ratio"), [(2.0, 3.0, 1.5), (-2.0, -1.0, 1.5), (-1.0, -2.0, 0.5)]
)
def test_a_negative_bound_has_an_excess_in_place_of_a_ratio(bound, value, ratio):
    found = judged(evidence_of(0.5))
    claimed = found.claimed.model_copy(update={"epsilon": bound})
    measured = found.measured.model_copy(update={"lower": value})
    other = found.model_copy(update={"claimed": claimed, "measured": measured})
    assert quantities_of(other)["ratio"] == pytest.approx(ratio)


@pytest.mark.parametrize(("seen", "trials"), [(100, 100), (400, 100), (100, 0)])
def test_a_promise_bears_the_errors_of_fresh_outputs(seen, trials):
    fresh = norm.isf(ALPHA) * math.sqrt(seen / trials) if trials else 0.0
    assert fresh_errors(seen, trials, ALPHA) == pytest.approx(fresh)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_point_is_chosen_on_the_score_that_reaches_most(place):
    rng = np.random.default_rng(0)
    on_p, on_q = rng.normal(size=(2, 3, 500))
    on_p[place] += 1.0
    currency = currency_of(GaussianDP(0.5))
    alone = claim_point.choose_claim_delta(on_p[[place]], on_q[[place]], currency, (500, ALPHA))
    assert claim_point.choose_claim_delta(on_p, on_q, currency, (500, ALPHA)) == alone
    errors = 3.0 + fresh_errors(500, 500, ALPHA)
    deltas = currency.deltas()
    reached = claim_point._compute_promised_shares(
        (on_p[place], on_q[place]), deltas, currency, errors
    )
    assert deltas[int(np.argmax(reached))] == alone
    assert reached.max() > 0


def test_evidence_on_epsilon_becomes_evidence_on_the_claim():
    model = ModelBasedEstimate(
        name="m", lower=1.0, upper=None, confidence=None, assumes="a", source="s"
    )
    one = GaussianDP(1.0).epsilon(0.01)
    two = GaussianDP(2.0).epsilon(0.01)
    evidence = evidence_of(one, estimate=two, cap=two, model_based=(model,), notes=("old",))
    found = claim_point.in_currency(evidence, case_of(GaussianDP(3.0), 0.01))
    assert (found.lower, found.estimate, found.cap) == pytest.approx((1.0, 2.0, 2.0))
    assert (found.model_based, found.at_delta) == ((), 0.01)
    assert found.notes[1:] == ("old",)
    assert f"of epsilon is {math.floor(one * 1000) / 1000:g} there." in found.notes[0]
    none = claim_point.in_currency(evidence_of(one), case_of(GaussianDP(3.0), 0.01))
    assert (none.estimate, none.cap) == (None, None)
    assert claim_point.in_currency(evidence, case_of()) is evidence
    curve = currency_of(ApproximateDP(1.0, 0.0))
    assert curve is None
    renyi = case_of(RenyiDP(2.0, 1.0), 0.01)
    assert claim_point.in_currency(evidence, renyi).model_based == ()


def searched(value, bound, *, kind="property", claimed=1.0, proved=None, **changed):
    case = SearchCase(
        bound=claimed,
        attain=lambda budget, rng: None,
        view="all",
        data="none",
        relation="replace-record",
        pair="none",
        default_trials=1,
        parameters={},
        quantity="a number",
        at_delta=0.125 if kind == "privacy" else None,
        is_ratio=changed.pop("is_ratio", False),
        proved=proved,
    )
    attained = WorstInstance(value=value, bound=bound, instance="here", **changed)
    words = Statement(**(vars(WORDS) | {"kind": kind}))
    return search_result.search_result(words, case, attained, Settings(seed=2), 7, "again")


def test_a_search_of_a_bound_that_is_one_for_all_shows_the_worst_ratio_times_it():
    found = searched(3.0, 2.0, kind="sensitivity", claimed=10.0)
    assert (found.claimed.sensitivity, found.measured.lower) == (10.0, 15.0)
    assert found.verdict == "refuted"
    ratio = searched(3.0, 4.0, is_ratio=True)
    assert (ratio.claimed.value, ratio.measured.lower) == (1.0, 0.75)
    scaled = searched(3.0, 2.0, kind="sensitivity", claimed=10.0, scale=4.0)
    assert (scaled.claimed.sensitivity, scaled.measured.lower) == (2.0, 3.0)


def test_a_search_spends_nothing_unless_it_counts():
    exact = searched(0.5, 1.0, scale=1.0)
    assert (exact.budget, exact.measured.confidence) == ([], 1.0)
    counted = searched(0.5, 1.0, scale=1.0, confidence=0.99)
    (entry,) = counted.budget
    assert entry == BudgetEntry(purpose="a count that chance alone exceeds", alpha=1 - 0.99)
    assert counted.measured.confidence == 0.99
    assert counted.reason.startswith("Measured:")
    assert exact.reason.startswith("Found by search:")


def test_a_search_says_where_and_why():
    found = searched(2.0, 1.0, scale=1.0, because="It is two.", minimal="the least")
    assert found.reason.endswith("It is two.")
    assert found.notes == ["Found at: here.", "Smallest instance that breaks the claim: the least."]
    assert (found.trials, found.seed, found.counts) == (7, 2, {"evaluated states": 7})
    met = searched(1.0, 1.0, scale=1.0, strict=True)
    assert met.verdict == "refuted"
    assert "1 is not below 1, the claimed a number." in met.reason
    privacy = searched(1.5, 1.0, kind="privacy", proved=(2.0, "a theorem"))
    assert (privacy.claimed.epsilon, privacy.claimed.delta) == (1.0, 0.125)
    assert (privacy.proved.epsilon, privacy.proved.source) == (2.0, "a theorem")


def test_curves_show_what_is_proved_as_it_is_and_of_a_declared_release_from_a_table():
    proof = Proof(guarantee=PureDP(0.6), source="a theorem")
    assert _of_proof(case_of()) is None
    assert _of_proof(case_of(proved=proof)) is proof.guarantee
    table = _of_proof(case_of(proved=replace(proof, declared=True)))
    assert isinstance(table, TabulatedDP)
    assert table.delta(0.3) == pytest.approx(proof.guarantee.delta(0.3), rel=1e-3)
    for claim in (ApproximateDP(1.0, 0.0), GaussianDP(1.0)):
        assert _get_plotted_guarantee(case_of(claim)) is claim
    renyi = RenyiDP(2.0, 1.0)
    assert isinstance(_get_plotted_guarantee(case_of(renyi, 0.01)), TabulatedDP)
