"""Certificates made to look like refutations: numbers that are right, of a claim nobody made.

Every document below states exactly what its verifier recomputes, so that only what is checked
beyond the numbers can tell.
"""

import copy
import json
import os
from fractions import Fraction

import pytest
from mpmath import mp

import dpaudit.extension.registry as registry
from dpaudit.algorithms.tables.verify.theorem2 import share_outside
from dpaudit.errors import DataError
from dpaudit.verification import Outcome, judge, read, verify
from dpaudit.verification.reals import Real, log

PAIR = {"adjacency": [[0, 1], [1, 0]]}
NODE = {"nodes": 2, "edges": 1, "node": 0, "node_size": 2, "dimension": 1, "penalty": 1.0}
RECORDS = {"record": [1.0], "replacement": [-1.0], "edges": [[0, 1]]}
GAUSSIAN = {"epsilon": 0.5, "delta": 1e-5, "count": 10, "c0": 1.0, "algorithms": "gaussian"}
TABLES = {
    "iterations": 2, "local_steps": 1, "sampling_ratio": 1.0, "first_constant": 1e3,
    "second_constant": 4.0, "tuple_norm": 1.5, "epsilon": 1.0, "delta": 1e-5,
    "noise_multiplier": 20.0,
}  # fmt: skip
SHARING = {
    "parties": 1, "features": 1, "samples": 1, "penalty": 3.0, "regulariser_weight": 0.0,
    "loss": "squared", "loss_weight": 1.0, "iteration": 2,
}  # fmt: skip
START = {"designs": [[[1.0]]], "labels": [1.0], "models": [[0.0]], "prediction": [0], "dual": [0]}
FIRST = {
    "features": 2, "samples": 1, "parties": 1, "noise": "parameter", "scaling": "sum",
    "penalty": 1.0, "regulariser_weight": 1.0, "bound": 1.0, "epsilon": 1.0, "delta": 0.01,
}  # fmt: skip
QUADRATIC = {
    **PAIR, "penalty": [1.0, 1.0], "curvature": [1.0, 1.0], "slope": [1.0, 0.0],
    "start": [1.0, 2.0],
}  # fmt: skip
PERTURBED = {
    "nodes": 2, "records": 1, "dimension": 1, "iterations": 1, "loss": "logistic",
    "penalty": 1.0, "growth": 1.0, "dual_step": 1.0, "noise_rate": 1.0, "noise_growth": 1.0,
    "loss_weight": 1.0, "regulariser_weight": 1.0,
}  # fmt: skip

# claim, kind, parameters, instance: verified with a factor far below 1 only
STRICTER = [
    ("huang2020-lemma5", "sensitivity", NODE | {"loss": "linear", "eta": 2.0},
     RECORDS | {"model": [0.0]}),
    ("huang2020-theorem4", "approximate-dp", GAUSSIAN | {"epsilon": 1.0}, {}),
    ("tables-theorem1", "pure-dp",
     {"encoding": "one-hot", "coordinates": 2, "epsilon": 1.0, "deviation": 2.8285},
     {"label": [1, 0], "other": [0, 1], "output": [1, 0]}),
    ("zhang2018-theorem31", "property",
     {"part": "bounded", "penalties": "own", "nodes": 2, "dual_step": 1.0},
     PAIR | {"penalty": [1.0, 1.0], "curvature": [1.0, 1.0]}),
    ("zhang2018-theorem31", "property",
     {"part": "inequality", "penalties": "shared", "nodes": 2, "dual_step": 1.0}, QUADRATIC),
    ("zhang2018-theorem32", "property",
     {"nodes": 2, "dual_step": 1.0, "penalties": "shared", "rate": "printed"},
     QUADRATIC | {"mu": 2.0}),
    ("zhang2018-theorem41", "pure-dp", PERTURBED,
     {"others": [], "old": [1.0], "new": [-1.0], "outputs": [[[0.0], [0.25]], [[1.0], [0.25]]]}),
    ("hu2019-lemma2", "property", SHARING, START),
    ("hu2020-corollary1", "approximate-dp",
     {"epsilon": 1.0, "delta": 0.01, "iterations": 1, "slack": 0.2}, {"epsilon": 0.5}),
    ("hu2020-assumption1", "property", FIRST,
     {"design": [[0.0, 1.0]], "labels": [1.0], "perturbed": [0.1, 0.0]}),
]  # fmt: skip


def document(claim, kind, parameters, instance, factor=1.0):
    card = registry.CLAIMS.get(claim) if claim != "c" else None
    return {
        "format": "dpaudit-certificate",
        "version": 1,
        "claim": claim,
        "kind": kind,
        "source": card.source if card else "",
        "relation": card.relation if card else "",
        "parameters": parameters | {"factor": factor},
        "quantities": {},
        "assumptions": [],
        "instance": instance,
    }


@pytest.fixture
def written(tmp_path):
    def write(content, name="c.json"):
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return str(path)

    return write


@pytest.fixture
def forged(written):
    """Return the document with every number that its verifier would want to read."""

    def forge(content):
        (blank,) = read(written(content))
        verifier = judge._verifier(content["claim"])
        outcome = judge.decide_digits("c.json", lambda: verifier(blank))
        content = copy.deepcopy(content)
        content["quantities"] = {k: float(v) for k, v in outcome.quantities.items()}
        content["assumptions"] = [
            {"name": k, "value": float(v), "limit": float(limit)}
            for k, (v, limit) in outcome.assumptions.items()
        ]
        return content

    return forge


@pytest.fixture
def verdict(forged, written):
    def judged(*parts, factor=1.0):
        (found,) = read(written(forged(document(*parts, factor=factor))))
        return verify(found)

    return judged


@pytest.mark.parametrize("parts", STRICTER, ids=lambda parts: f"{parts[0]}-{parts[1]}")
def test_a_factor_below_one_is_no_refutation_of_the_claim_as_published(verdict, parts):
    assert not verdict(*parts).verified
    found = verdict(*parts, factor=0.01)
    assert found.verified
    assert not found.refutes_as_published
    assert found.reservations == ("factor 0.01 makes it stricter",)


def test_a_larger_factor_refutes_the_published_claim_all_the_more(verdict):
    found = verdict("hu2019-lemma2", "property", SHARING | {"iteration": 1}, START, factor=2.0)
    assert found.refutes_as_published
    assert "the start's, not yet a slope" in found.summary


def step(c0, epsilon=1.0, delta=1e-5):
    sigma = float(c0 * mp.sqrt(2 * mp.log(1.25 / delta)) / epsilon)
    parameters = NODE | {"loss": "linear", "iterations": 1, "inner_steps": 1}
    parameters |= {"c0": c0, "epsilon": epsilon, "delta": delta}
    return parameters, RECORDS | {"eta": [1.0], "shift": [1 / 3], "scale": [sigma / 3]}


CONSTANTS = {
    "theorem 4": ("huang2020-theorem4", "approximate-dp", GAUSSIAN | {"c0": 0.01}, {}),
    "theorem 4 of pure algorithms": (
        "huang2020-theorem4",
        "approximate-dp",
        {"epsilon": 1.0, "delta": 0.0, "count": 1, "c0": 1e-3, "algorithms": "all"},
        {"one": [0.7, 0.3, 0.0, 0.0], "other": [0.3, 0.7, 0.0, 0.0]},
    ),
    "lemma 4": (
        "hu2019-lemma4",
        "property",
        SHARING | {"parties": 2, "version": "with-penalty", "penalty": 2.5},
        START | {"designs": [[[1.0]]] * 2, "models": [[0.0]] * 2},
    ),
    "noise that is small for Theorem 1": (
        "hu2020-assumption1",
        "property",
        FIRST | {"epsilon": 1e9},
        {"design": [[0.0, 1.0]], "labels": [1.0], "perturbed": [3.0, 4.0]},
    ),
    "little noise for any constant": (
        "tables-theorem2",
        "approximate-dp",
        TABLES
        | {"rows": 2, "penalty": 1.0, "clip_norm": 1e-3, "learning_rate": 1e4}
        | {"second_constant": 1e-3, "noise_multiplier": 0.1},
        {"facts": [1.0, 1.0], "labels": [1, -1], "tuple": [1.0], "other": [-1.0]}
        | {"model_bound": [0.3], "model_least": [2.0]},
    ),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_another_constant_than_the_papers_is_named(verdict, name):
    found = verdict(*CONSTANTS[name])
    assert len(found.reservations) == 1
    assert not found.refutes_as_published


def test_the_constant_of_theorem_6_is_named(forged, written):
    parameters, instance = step(0.01)
    content = document("huang2020-theorem6", "approximate-dp", parameters, instance)
    content["quantities"]["epsilon"] = 50.0
    (found,) = read(written(forged(content)))
    assert verify(found).reservations == ("c_0 = 0.01, below the 0.990448 of the proof",)
    assert "with c_0 = 0.01" in verify(found).summary


def test_the_constant_of_the_proof_is_the_papers(verdict):
    own = float(mp.sqrt(mp.log(1e5) / mp.log(1.25e5)))
    assert (
        verdict("huang2020-theorem4", "approximate-dp", GAUSSIAN | {"c0": own}, {}).reservations
        == ()
    )


# --- instances that prove nothing


TABLE = [[1.0, 1.0], [0.5, 0.2]]


@pytest.mark.parametrize("tiny", [1e-50, 1e-250])
def test_columns_that_nearly_depend_still_span(verdict, tiny):
    """They span the plane, which holds every prediction: nothing is told apart."""
    instance = {"table": TABLE, "neighbour": [[1.0, 1.0], [tiny, 0.0]], "model": [1.0, 2.0]}
    found = verdict("tables-theorem2", "support", TABLES | {"tuples": 2, "features": 2}, instance)
    assert any(failure.startswith("ratio") for failure in found.failures)
    instance["neighbour"][1][0] = 0.0
    parts = ("tables-theorem2", "support", TABLES | {"tuples": 2, "features": 2}, instance)
    assert verdict(*parts).refutes_as_published


def test_a_share_outside_a_span_is_exact():
    chain = [[float(10 ** (-20 * max(i - j, 0))) for i in range(5)] for j in range(4)]
    inside = [sum(Fraction(column[i]) for column in chain) for i in range(5)]
    assert share_outside(inside, chain) == 0
    inside[4] += 1
    assert share_outside(inside, chain) > 0
    assert share_outside([Fraction(0)] * 2, [[1.0, 1.0]]) == 0


def test_tables_too_large_for_exact_numbers_are_refused(verdict):
    public = TABLES | {"tuples": 1001, "features": 1}
    with pytest.raises(DataError, match="at most 1000 numbers in a table"):
        verdict("tables-theorem2", "support", public, {})


def test_dependence_that_builds_up_over_columns_is_no_evidence(verdict):
    """Every column is millionths off the span of those before it."""
    design = [[1.0 + 9e-6 * (row == column) for column in range(9)] for row in range(10)]
    design = [[x / sum(y * y for y in row) ** 0.5 for x in row] for row in design]
    other = copy.deepcopy(design)
    other[9][0] *= -1
    public = {"features": 9, "samples": 10, "variant": "parameter", "epsilon": 1.0, "delta": 0.01}
    instance = {"design": design, "neighbour": other, "model": [1.0] * 9}
    found = verdict("hu2020-theorem1", "support", public, instance)
    assert any(failure.startswith("independent columns") for failure in found.failures)


def test_whitened_noise_needs_independent_columns(verdict):
    instance = {"design": [[0.0, 1.0]], "labels": [1.0], "perturbed": [3.0, 4.0]}
    with pytest.raises(DataError, match="columns of a party depend on one another"):
        verdict("hu2020-assumption1", "property", FIRST | {"noise": "whitened"}, instance)


def test_another_kind_of_certificate_is_refused(verdict):
    claim, _, parameters, instance = STRICTER[0]
    with pytest.raises(DataError, match="kind: got 'support', expected 'sensitivity'"):
        verdict(claim, "support", parameters, instance, factor=0.01)


def test_a_quantity_that_nobody_recomputes_is_named(forged, written):
    content = forged(document(*STRICTER[0], factor=0.01))
    content["quantities"]["bound as published"] = 1e-9
    (found,) = read(written(content))
    assert verify(found).failures == ("bound as published: is no quantity that is recomputed",)


@pytest.mark.parametrize("value", [1e299, 1e-299])
def test_numbers_far_apart_are_told_apart(verdict, value):
    """Labels that differ by less than any double shows, and by more than any output."""
    public = {"encoding": "unit-l1", "coordinates": 1, "epsilon": 1.0, "deviation": 2.8285}
    instance = {"label": [1.0], "other": [-1.0], "output": [value]}
    found = verdict("tables-theorem1", "pure-dp", public, instance)
    assert not found.verified


def test_a_logarithm_of_zero_is_refused(monkeypatch, written):
    monkeypatch.setattr(judge, "_verifier", lambda claim: lambda document: log(Real(0)))
    (found,) = read(written(document("c", "property", {}, {})))
    with pytest.raises(DataError, match=r"cannot be computed \(the logarithm of 0"):
        verify(found)


@pytest.mark.parametrize(
    ("excess", "fails"),
    [("-1e-12", True), ("0", True), ("5e-10", True), ("2e-9", False)],
)
def test_a_ratio_has_to_exceed_one_by_more_than_rounding(monkeypatch, written, excess, fails):
    outcome = Outcome(assumptions={}, quantities={"ratio": 1 + Fraction(excess)})
    monkeypatch.setattr(judge, "_verifier", lambda claim: lambda document: outcome)
    content = document("c", "property", {}, {})
    content["quantities"] = {"ratio": 1.0}
    (found,) = read(written(content))
    assert [f.split(":")[0] for f in verify(found).failures] == ["ratio"] * fails


@pytest.mark.parametrize("excess", ["0", "1e-14", "5e-9"])
def test_an_assumption_holds_up_to_its_limit_and_no_further(monkeypatch, written, excess):
    bounded = (1 + Fraction(excess), 1)
    outcome = Outcome(assumptions={"bounded": bounded}, quantities={"ratio": 2})
    monkeypatch.setattr(judge, "_verifier", lambda claim: lambda document: outcome)
    content = document("c", "property", {}, {})
    content["quantities"] = {"ratio": 2.0}
    content["assumptions"] = [{"name": "bounded", "value": 1.0, "limit": 1.0}]
    (found,) = read(written(content))
    assert [f.split(":")[0] for f in verify(found).failures] == ["bounded"] * (float(excess) > 0)


def test_what_no_digits_decide_is_refused(monkeypatch, written):
    """One third three times is 1, but every ball around it holds more and less."""
    monkeypatch.setattr(
        judge,
        "_verifier",
        lambda claim: (
            lambda document: Outcome(
                assumptions={}, quantities={"ratio": Real(1) / 3 * 3 + judge.MARGIN}
            )
        ),
    )
    content = document("c", "property", {}, {})
    content["quantities"] = {"ratio": 1.0}
    (found,) = read(written(content))
    with pytest.raises(DataError, match="cannot be decided with 4000 digits"):
        verify(found)


def test_what_takes_too_long_is_refused(monkeypatch, written):
    monkeypatch.setattr(judge, "SECONDS", 0.0)
    (found,) = read(written(document(*STRICTER[0])))
    with pytest.raises(DataError, match="cannot be decided within 0 seconds"):
        verify(found)


@pytest.mark.parametrize("word", ["source", "relation"])
def test_the_words_of_another_claim_are_named(forged, written, word):
    content = forged(document(*STRICTER[7], factor=0.01))
    content[word] = "none of its"
    (found,) = read(written(content))
    (failure,) = verify(found).failures
    assert failure.startswith(f"{word}: the file states 'none of its', of the claim it is ")


def test_a_pipe_or_a_huge_file_is_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="is not a regular file"):
        read(pipe)
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(2**25)
    with pytest.raises(DataError, match="has 33554432 bytes, expected at most 16777216"):
        read(huge)
