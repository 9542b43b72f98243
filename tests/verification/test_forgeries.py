"""A search that tries to forge: certificates of true statements, none of which may verify.

Every statement below is a theorem for all instances within its assumptions. Hypothesis moves the
numbers of a small instance to the ends of what doubles hold, to ties and a last digit beside them,
and steers towards large ratios. Whatever the verifier recomputes is written into the file, so that
nothing but the mathematics can tell.
"""

from __future__ import annotations

import copy
import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, target
from hypothesis import strategies as st

import dpaudit.extension.registry as registry
from dpaudit.auditing.repeat.certificate_draws import statistical_certificate
from dpaudit.auditing.run import audit_claim
from dpaudit.errors import DataError
from dpaudit.extension.settings import Settings
from dpaudit.verification import Document, Reader, judge, verify
from dpaudit.verification.reals import Number, Real

PAIR = {"adjacency": [[0, 1], [1, 0]]}
TRIANGLE = {"adjacency": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}
NODE = {"nodes": 2, "edges": 1, "node": 0, "node_size": 2, "dimension": 2, "penalty": 1.0}
RECORDS = {"record": [0.6, 0.8], "replacement": [-1.0, 0.0], "edges": [[0, 1]]}
SHARING = {
    "parties": 1, "features": 1, "samples": 2, "penalty": 3.0, "regulariser_weight": 0.5,
    "loss_weight": 1.0, "iteration": 2, "factor": 1.0,
}  # fmt: skip
START = {
    "designs": [[[1.0], [0.5]]], "labels": [1.0, -1.0], "models": [[0.25]],
    "prediction": [0.0, 1.0], "dual": [0.5, -0.5],
}  # fmt: skip
TWO = START | {"designs": [[[1.0], [0.5]], [[0.5], [1.0]]], "models": [[0.25], [0.5]]}
MESSAGE = {
    "features": 2, "samples": 2, "parties": 1, "variant": "message", "sensitivity": "corrected",
    "epsilon": 1.0, "delta": 0.01, "factor": 1.0, "penalty": 1.0, "regulariser_weight": 1.0,
    "bound": 1.0, "curvature": 1.0,
}  # fmt: skip
DESIGNS = {
    "design": [[1.0, 0.0], [0.6, 0.8]], "neighbour": [[1.0, 0.0], [0.6, -0.8]],
    "dual": [0.5, 0.5], "prediction": [0.5, 0.0], "others": [], "models": [], "epsilon": 2.0,
}  # fmt: skip
TABLES = {
    "iterations": 2, "local_steps": 1, "sampling_ratio": 1.0, "first_constant": 1e3,
    "second_constant": 4.0, "tuple_norm": 2.0, "epsilon": 1.0, "delta": 1e-5, "factor": 1.0,
    "noise_multiplier": 20.0, "tuples": 2, "features": 2,
}  # fmt: skip
PERTURBED = {
    "nodes": 2, "records": 1, "dimension": 2, "iterations": 1, "loss": "logistic",
    "penalty": 1.0, "growth": 1.0, "dual_step": 1.0, "noise_rate": 30.0, "noise_growth": 1.0,
    "loss_weight": 0.5, "regulariser_weight": 1.0, "factor": 1.0,
}  # fmt: skip
OUTPUTS = {
    "others": [], "old": [0.6, 0.8], "new": [0.6, -0.8],
    "outputs": [[[0.0, -2.5], [0.0, -2.5]], [[-4.0, 0.0], [0.0, 0.0]]],
}  # fmt: skip
QUADRATIC = {"nodes": 3, "dual_step": 1.0, "penalties": "shared", "factor": 1.0}
QUADRATICS = TRIANGLE | {
    "penalty": [1.0, 1.0, 1.0], "curvature": [0.3, 1.0, 4.0], "slope": [1.0, 0.0, -2.0],
    "start": [1.0, 2.0, 0.5],
}  # fmt: skip
SETTLED = {name: QUADRATICS[name] for name in ("adjacency", "penalty", "curvature")}
STEP = {"epsilon": 1.0, "delta": 1e-5, "loss": "linear", "iterations": 1, "inner_steps": 1}
SIGMA = math.sqrt(2 * math.log(1.25e5))

# What is true, claim, kind, parameters, instance
TRUE: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    **{
        f"hu2019-lemma2 after the first iteration, {loss}": (
            "hu2019-lemma2", "property", SHARING | {"loss": loss}, START)
        for loss in ("squared", "logistic", "smoothed-hinge", "sigmoid")
    },
    "hu2019-lemma4 with one party": (
        "hu2019-lemma4", "property",
        SHARING | {"loss": "squared", "version": "published"}, START),
    "hu2019-lemma4 corrected": (
        "hu2019-lemma4", "property",
        SHARING | {"loss": "squared", "parties": 2, "version": "corrected", "penalty": 9.0}, TWO),
    "hu2020-theorem1 with a proved sensitivity": (
        "hu2020-theorem1", "approximate-dp", MESSAGE, DESIGNS),
    "hu2020-corollary1": (
        "hu2020-corollary1", "approximate-dp",
        {"epsilon": 0.1, "delta": 1e-9, "iterations": 20, "slack": 1e-6, "factor": 1.0},
        {"epsilon": 3.0}),
    "huang2020-lemma5": (
        "huang2020-lemma5", "sensitivity", NODE | {"loss": "logistic", "eta": 2.0, "factor": 1.0},
        RECORDS | {"model": [0.5, -0.5]}),
    "huang2020-theorem4 of one algorithm": (
        "huang2020-theorem4", "approximate-dp",
        {"epsilon": 1.0, "delta": 1e-3, "count": 1, "c0": 1.0, "algorithms": "all", "factor": 1.0},
        {"one": [0.7, 0.3, 0.0, 0.0], "other": [0.3, 0.7, 0.0, 0.0]}),
    "huang2020-theorem6 up to epsilon 1": (
        "huang2020-theorem6", "approximate-dp", NODE | STEP | {"c0": 1.0, "factor": 1.0},
        RECORDS | {"eta": [1.0], "shift": [0.2981423969999719], "scale": [SIGMA / 3]}),
    **{
        f"tables-theorem1, {encoding}": (
            "tables-theorem1", "pure-dp",
            {"encoding": encoding, "coordinates": 3, "epsilon": 1.0, "factor": 1.0,
             "deviation": 2.8284271247461903},
            {"label": one, "other": other, "output": [1.5, -0.5, 0.25]})
        for encoding, one, other in (
            ("one-hot", [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
            ("unit-l1", [0.5, 0.25, 0.25], [-0.5, -0.25, -0.25]),
        )
    },
    "tables-theorem2 where tables span everything": (
        "tables-theorem2", "support", TABLES,
        {"table": [[1.0, 1.0], [0.5, 0.2]], "neighbour": [[1.0, 1.0], [0.5, 0.1]],
         "model": [1.0, 2.0]}),
    "zhang2018-theorem31, shared bounded penalties": (
        "zhang2018-theorem31", "property", QUADRATIC | {"part": "bounded"}, SETTLED),
    "zhang2018, eq. (19) with a shared penalty": (
        "zhang2018-theorem31", "property", QUADRATIC | {"part": "inequality"}, QUADRATICS),
    "zhang2018-theorem32 at the proved rate": (
        "zhang2018-theorem32", "property", QUADRATIC | {"rate": "proved"},
        QUADRATICS | {"mu": 2.0}),
    "zhang2018-theorem41": ("zhang2018-theorem41", "pure-dp", PERTURBED, OUTPUTS),
}  # fmt: skip


def spans_everything(instance: dict[str, Any]) -> bool:
    (a, b), (c, d) = instance["neighbour"]
    return Fraction(a) * Fraction(d) != Fraction(b) * Fraction(c)


# What an instance has to be like for its statement to be true, beside the claim's assumptions.
PREMISES = {"tables-theorem2 where tables span everything": spans_everything}

FIXED = {"adjacency", "edges", "labels", "second_constant", "c0", "factor"}
EXPONENTS = st.integers(-300, 300)
CHANGES = st.one_of(
    st.tuples(st.just("scaled"), EXPONENTS),
    st.tuples(st.just("power"), EXPONENTS),
    st.tuples(st.just("last digit"), st.integers(-3, 3)),
    st.tuples(st.just("equal"), st.integers(0, 60)),
    st.tuples(st.just("opposite"), st.integers(0, 60)),
    st.tuples(st.just("number"), st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 1e-16, 1 - 2**-53])),
    st.tuples(st.just("number"), st.floats(-100, 100)),
)
MOVES = st.lists(st.tuples(st.integers(0, 60), CHANGES), max_size=6)


def places(content: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return where the doubles of a document are: containers and keys."""
    found: list[tuple[Any, Any]] = []

    def walk(container: Any, key: Any) -> None:
        value = container[key]
        if isinstance(value, float):
            found.append((container, key))
        elif isinstance(value, list):
            for i in range(len(value)):
                walk(value, i)

    for part in ("parameters", "instance"):
        for name in sorted(content[part].keys() - FIXED):
            walk(content[part], name)
    return found


def changed(value: float, change: tuple[str, Any], others: list[float]) -> float:
    kind, by = change
    match kind:
        case "scaled":
            moved = value * 10.0**by
        case "power":
            moved = math.copysign(10.0**by, value)
        case "last digit":
            moved = value + by * math.ulp(value)
        case "equal":
            moved = others[by % len(others)]
        case "opposite":
            moved = -others[by % len(others)]
        case _:
            moved = by
    return moved if abs(moved) < 1e300 else value


def moved(content: dict[str, Any], moves: list[tuple[int, tuple[str, Any]]]) -> dict[str, Any]:
    content = copy.deepcopy(content)
    found = places(content)
    for place, change in moves:
        container, key = found[place % len(found)]
        container[key] = changed(container[key], change, [c[k] for c, k in found])
    return content


def document(name: str) -> dict[str, Any]:
    claim, kind, parameters, instance = TRUE[name]
    card = registry.CLAIMS.get(claim)
    given = {"claim": claim, "kind": kind, "source": card.source, "relation": card.relation}
    return given | {"parameters": dict(parameters), "instance": dict(instance)}


def forged(content: dict[str, Any]) -> Document | None:
    """Return the file with every number that its verifier would want to read, if there are any."""
    quantities = {"epsilon": 2.0} if content["claim"] == "huang2020-theorem6" else {}
    blank = Document(path="c.json", quantities=quantities, assumptions={}, **content)
    verifier = judge._verifier(content["claim"])
    try:
        outcome = judge.decide_digits("c.json", lambda: verifier(blank))
        numbers = {name: _double(value) for name, value in outcome.quantities.items()}
        pairs = {name: tuple(map(_double, pair)) for name, pair in outcome.assumptions.items()}
    except DataError:
        return None
    stated = [*numbers.values(), *itertools.chain(*pairs.values())]
    if not all(abs(number) < 1e300 for number in stated):  # no file may state such a number
        return None
    return Document(path="c.json", quantities=numbers, assumptions=pairs, **content)


def _double(number: Number) -> float:
    """Return the nearest double; a fraction beyond the largest one would raise by itself."""
    return float(Real(number))


def verified(found: Document | None) -> bool:
    if found is None:
        return False
    target(min(float(found.quantities["ratio"]), 1e9))
    try:
        return verify(found).verified
    except DataError:
        return False


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Look entry points up once; what is not decided in half a second is refused."""
    homes = judge._homes()
    monkeypatch.setattr(judge, "_homes", lambda: homes)
    monkeypatch.setattr(judge, "SECONDS", 0.5)


def forge(name: str, count: int) -> tuple[int, list[Document]]:
    """Return how many forgeries were tried, and those that verified."""
    tried: list[Document | None] = []
    premise = PREMISES.get(name, lambda instance: True)

    @settings(max_examples=count, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(MOVES)
    def attempt(moves: list[tuple[int, tuple[str, Any]]]) -> None:
        content = moved(document(name), moves)
        assume(premise(content["instance"]))
        found = forged(content)
        tried.append(found if verified(found) else None)

    attempt()
    return len(tried), [found for found in tried if found is not None]


@pytest.mark.parametrize("name", TRUE)
def test_no_forgery_of_a_true_statement_verifies(name):
    tried, verifying = forge(name, 60)
    assert tried >= 30
    assert verifying == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUE)
def test_no_forgery_of_a_true_statement_verifies_however_long_one_tries(name):
    tried, verifying = forge(name, 5300)
    assert tried >= 2650
    assert verifying == []


def test_a_false_statement_beside_them_does_verify():
    """The search would see a forgery: with a claim that is made stricter it finds one at once."""
    content = document("hu2019-lemma2 after the first iteration, squared")
    content["parameters"]["factor"] = 0.5
    assert verified_plainly(forged(content))


def test_where_tables_do_not_span_everything_a_forgery_verifies():
    """The premise is what keeps them from verifying, not the search."""
    content = document("tables-theorem2 where tables span everything")
    content["instance"]["neighbour"] = [[1.0, 1.0], [0.5, 0.5]]
    assert not spans_everything(content["instance"])
    assert verified_plainly(forged(content))


def verified_plainly(found: Document | None) -> bool:
    return found is not None and verify(found).verified


ALL_SEEDS = [range(first, first + 1000) for first in range(0, 10_000, 1000)]


@pytest.mark.parametrize(
    "seeds", [range(20), *(pytest.param(some, marks=pytest.mark.slow) for some in ALL_SEEDS)]
)
def test_no_seed_of_a_true_claim_verifies(seeds):
    """Counts of a run whose noise is as published, whatever seed its author has chosen."""
    asked = Settings(
        trials=100,
        confidence=0.5,
        estimator="event",
        distinguisher="likelihood-ratio",
        parameters={"iterations": 1, "inner_steps": 1},
    )
    result = audit_claim("huang2020-theorem6", asked).model_copy(update={"verdict": "refuted"})
    certificate = statistical_certificate(result, asked)
    assert certificate is not None
    plain = certificate.document()
    names = ("claim", "kind", "source", "relation", "parameters", "quantities", "instance")
    found = Document(path="c.json", assumptions={}, **{name: plain[name] for name in names})
    verifying = [seed for seed in seeds if verify(found, Reader(seed=seed)).verified]
    assert verifying == []
