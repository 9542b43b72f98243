"""Every bound that is printed is worked out again from the numbers printed beside it."""

import json
import re
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.api import own_case
from dpaudit.auditing.run import audit_case, audit_claim
from dpaudit.extension.registry import DISTINGUISHERS
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.report.render import render_html, render_markdown
from dpaudit.report.schema import Environment, Report
from tests.audit.printed_bounds import Printed, printed

TRIALS = 150
HERE = Isolation(in_process=True)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


def one_number(data, rng):
    return sum(data) + rng.laplace(scale=0.4)


def an_array(data, rng):
    return sum(data) + rng.laplace(scale=[0.5, 0.7, 0.9])


def a_dict(data, rng):
    return {"total": sum(data) + rng.laplace(scale=0.5), "rows": len(data)}


def a_text(data, rng):
    return "yes" if sum(data) + rng.laplace(scale=0.4) > 0.5 else "no"


def a_rare_absence(data, rng):
    """Of the dataset, a list whose third part is there with 15%, of the neighbour never."""
    return [1, 2, 3] if sum(data) and rng.random() < 0.15 else [1, 2]


def many_parts(data, rng):
    """A dozen parts that tell a little each: one alone explains, all together certify."""
    return (sum(data) + rng.laplace(scale=2.0, size=12)).tolist()


OUTPUTS = {f.__name__: f for f in (one_number, an_array, a_dict, a_text, a_rare_absence)}


def read(result, *forms):
    """Return a result's report as Markdown, its JSON's words, and the text where it refutes."""
    here = Environment.of_this_machine(1, 0.0)
    report = Report(confidence=0.95, budget=[], results=[result], environment=here)
    of_json = " ".join(words_of(json.loads(result.model_dump_json())))
    text = [str(result)] if result.verdict == "refuted" else []
    return [render_markdown(report), of_json, *text, *(form(report) for form in forms)]


def words_of(document):
    match document:
        case dict():
            return [word for value in document.values() for word in words_of(value)]
        case list():
            return [word for value in document for word in words_of(value)]
        case str():
            return [document]
    return []


def require_carried(bound):
    """Require that the counts exclude what is printed, and nothing noticeably beyond."""
    assert bound.p_value(bound.epsilon) <= bound.alpha
    assert bound.p_value(1.02 * bound.epsilon + 0.01) > bound.alpha


def require_all_carried(result, *forms):
    """Require it of every bound in every form, the one of the verdict among them."""
    document = json.loads(result.model_dump_json())
    event, lower = document["carrying_event"], document["measured"]["lower"]
    if lower == 0:
        assert event is None
        return
    shown = [printed(text) for text in read(result, *forms)]
    for bound in {bound for form in shown for bound in form}:
        require_carried(bound)
    assert all(any(is_of(bound, event) for bound in form) for form in shown)
    if result.quantity is None:
        assert event["epsilon"] == lower
    explains = document["witness"]
    if explains and not explains["refutes"]:
        assert (
            "explains the difference and certifies no bound above the claim" in explains["sentence"]
        )


def is_of(bound, event):
    """Return whether a printed bound is that of the event of the JSON, with its counts."""
    counts = list(zip(event["hits"], event["runs"], strict=True))
    same = {(bound.x, bound.n), (bound.y, bound.m)} == set(counts)
    return same and bound.epsilon == pytest.approx(event["epsilon"], rel=1e-3)


def audited(mechanism, attack=None, claimed=None, **settings):
    pair = Pair([1.0, 0.0], [0.0, 0.0], REPLACE_RECORD)
    case, statement = own_case(mechanism, pair, claimed=claimed or PureDP(0.5), isolation=HERE)
    settings = {"trials": TRIALS, "distinguisher": attack} | settings
    return audit_case(case, Settings(**settings), statement=statement, rerun="none")


BY_OUTPUTS = [name for name, card in DISTINGUISHERS.all().items() if not card.needs_law]
BY_OUTPUTS.remove("column-space")  # of one relation, and so of one claim: below
OF_CLAIMS = {
    "column-space": ("hu2020-theorem1", 1.0, {"variant": "parameter", "features": 8}),
    "likelihood-ratio": ("huang2020-theorem6", 8.0, {}),
}
SHARES = [(name, None) for name in OUTPUTS] + [
    (name, attack) for name in OUTPUTS for attack in BY_OUTPUTS
]


def is_quick(output, attack):
    return attack is None or (output == "a_dict" and attack != "learned")


@pytest.mark.parametrize(
    ("output", "attack"), [one if is_quick(*one) else slow(*one) for one in SHARES]
)
def test_counts_carry_what_is_printed(output, attack):
    """What is not refuted prints its bound as well, and takes no process of its own."""
    require_all_carried(audited(OUTPUTS[output], attack, claimed=PureDP(20.0)))


@pytest.mark.slow
@pytest.mark.parametrize("output", OUTPUTS)
def test_counts_carry_what_is_refuted(output):
    require_all_carried(audited(OUTPUTS[output]), render_html)


@pytest.mark.parametrize("attack", OF_CLAIMS)
def test_counts_carry_what_attacks_on_claims_certify(attack):
    claim, epsilon, parameters = OF_CLAIMS[attack]
    asked = {"estimator": "event", "distinguisher": attack, "parameters": parameters}
    result = audit_claim(claim, Settings(epsilon=epsilon, trials=TRIALS, **asked))
    assert result.measured.lower > 0
    require_all_carried(result)


@pytest.mark.slow
def test_what_refutes_by_all_parts_stands_beside_what_only_explains():
    result = audited(many_parts, claimed=PureDP(1.2), trials=600)
    assert result.verdict == "refuted"
    assert not result.witness.refutes
    require_all_carried(result)


@pytest.mark.parametrize(
    "claimed", [slow(GaussianDP(9.0)), ApproximateDP(9.0, 1e-3)], ids=lambda one: type(one).__name__
)
def test_counts_carry_the_epsilon_behind_another_number(claimed):
    require_all_carried(audited(an_array, "linear-classifier", claimed))


def test_drawn_outputs_print_their_counts():
    rng = np.random.default_rng(0)
    on_p, on_q = rng.laplace(1, 0.4, 400), rng.laplace(0, 0.4, 300)
    require_all_carried(dpaudit.audit_outputs(on_p, on_q, epsilon=1.0))


@pytest.mark.parametrize(
    "moved",
    [{"x": 95}, {"y": 1}, {"n": 90}, {"m": 130}, {"alpha": 0.2}, {"delta": 0.2}],
    ids=lambda one: next(iter(one)),
)
def test_other_counts_carry_another_bound(moved):
    """The oracle itself: counts, sides or errors that are not those of the bound are told."""
    true = Printed(x=80, n=100, y=4, m=100, epsilon=1.7627, delta=0.0, alpha=0.05)
    require_carried(true)
    with pytest.raises(AssertionError):
        require_carried(replace(true, **moved))


@pytest.mark.slow
def test_bets_refute_where_their_printed_wealth_passes_the_printed_goal():
    """The goal is 1 over the error probability that is printed, and no event carries the bound."""
    result = audited(one_number, claimed=PureDP(0.7), trials=900, until_refuted=True)
    document = json.loads(result.model_dump_json())
    path, spent = document["wealth"], sum(one["alpha"] for one in document["budget"])
    assert path["log10_goal"] == pytest.approx(-mpmath.log10(spent))
    assert result.verdict == "refuted"
    first = min(n for n, won in passed(path) if won)
    last = max(n for n, won in passed(path) if not won and n < first)
    assert last < path["refuted_after"] <= first
    assert document["measured"]["lower"] > 0.7
    assert document["carrying_event"] is None
    for bound in printed(read(result)[0]):  # of a witness, by fresh outputs
        require_carried(bound)


def passed(path):
    """Return after how many outputs the wealth was printed, and whether it passed the goal."""
    points = zip(path["transcripts"], path["log10_wealth"], strict=True)
    return [(n, wealth >= path["log10_goal"]) for n, wealth in points]


@pytest.mark.parametrize(
    "claimed", [RenyiDP(2.0, 50.0), slow(RenyiDP(2.0, 0.5)), slow(ZeroConcentratedDP(0.1))]
)
def test_no_event_stands_beside_a_divergence_that_it_cannot_carry(claimed):
    """A divergence is bounded by bets on all bins: no counts of one event are shown to carry it."""
    result = audited(one_number, claimed=claimed, trials=800)
    document = json.loads(result.model_dump_json())
    assert result.measured.lower > 0
    assert document["carrying_event"] is None
    for bound in printed(read(result)[0]):  # of a witness, by fresh outputs
        require_carried(bound)
    if document["witness"] is not None:
        told = document["witness"]
        assert told["refutes"] or "explains the difference and certifies no" in told["sentence"]


_GUESSED = re.compile(
    r"at delta = ([\d.e-]+) is at least ([\d.]+); nothing is claimed\. Right were ([^;]*)"
)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 3e-3])
@pytest.mark.parametrize("design", ["independent", "fixed-size", "pairs"])
def test_counts_of_guesses_carry_what_canaries_certify(design, delta):
    """Steinke et al. 2023, each plan at its own share; at delta = 0 binomial, else with its sum."""
    rng = np.random.default_rng(3)
    included = rng.permutation(np.repeat([0, 1], [100, 100]))
    scores, given = rng.normal(size=200) + 2 * included, {}
    if design == "pairs":
        included = np.concatenate([rng.permutation([0, 1]) for _ in range(100)])
        scores, given = rng.normal(size=200) + 2 * included, {"group": np.repeat(np.arange(100), 2)}
    result = dpaudit.audit_scores(scores, included, delta=delta, design=design, **given)
    at, lower, guessed = _GUESSED.search(str(result).replace("\n  ", " ")).groups()
    assert float(at) == delta
    counts = [tuple(map(int, one.split(" of "))) for one in guessed[:-8].split(", ")]
    document = json.loads(result.model_dump_json())
    ways = mpmath.binomial(200, 100) / mpmath.mpf(2) ** 200 if design == "fixed-size" else 1
    spent = [ways * mpmath.mpf(one["alpha"]) for one in document["budget"]]
    assert document["parameters"]["correct"] == [correct for correct, _ in counts]
    assert document["parameters"]["guesses"] == [guesses for _, guesses in counts]
    coins = document["counts"]["coins"]
    assert coins == (100 if design == "pairs" else 200)
    used = [share_used(counts, spent, float(lower) + more, coins, delta) for more in (0, 0.01)]
    assert float(lower) > 0.3 or (delta == 3e-3 and design == "fixed-size")
    assert used[1] > 1  # no more is certified, and no less but for a bound of 0
    assert used[0] <= 1 or float(lower) == 0


def share_used(counts, spent, epsilon, coins, delta):
    """Return the least p-value of the plans, each as a share of what it may spend."""
    right = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
    values = []
    for (correct, guesses), most in zip(counts, spent, strict=True):
        law = [
            mpmath.binomial(guesses, k) * right**k * (1 - right) ** (guesses - k)
            for k in range(guesses + 1)
        ]
        tail, below = mpmath.fsum(law[correct:]), mpmath.fsum(law[:correct])
        more = coins * mpmath.mpf(delta) * tail * below / (correct * law[correct])
        values.append((tail + more) / most)
    return min(values)


def test_a_delta_that_is_not_the_one_printed_carries_another_bound():
    """The oracle itself: what delta adds is seen."""
    counts, spent = [(80, 100)], [mpmath.mpf("0.05")]
    with_delta, without = (share_used(counts, spent, 0.9, 200, delta) for delta in (3e-3, 0.0))
    assert with_delta > 1.02 * without
