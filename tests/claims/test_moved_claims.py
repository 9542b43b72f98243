"""Certificates of installed claims, moved and restated: what verifies is true, to 50 digits.

Each file is moved in one field or two and then states whatever its verifier recomputes, as a forger
would. The truth is worked out here, from the paper's inequality and the moved file alone.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from mpmath import mp

from dpaudit.errors import DpauditError
from dpaudit.verification import Reader, judge
from dpaudit.verification.document import _parse_certificate
from dpaudit.verification.misstatements import find_disagreement
from dpaudit.verification.reals import UndecidedComparison
from dpaudit.verification.schema import COMPUTED
from tests.claims import oracles_of_claims as oracles
from tests.claims.made_certificates import MADE, REPAIRS, REPORTS, made, published
from tests.verification.test_moved import moved, verdict

LABELS = {"label": [1, 0], "other": [0, 1], "output": [1, 0]}
ONE_HOT = {"encoding": "one-hot", "coordinates": 2, "epsilon": 1.0, "deviation": 2.8285}
COMPOSED = {"epsilon": 1.0, "delta": 0.01, "iterations": 3, "slack": 0.2}
GAUSSIAN = {"epsilon": 1.0, "delta": 1e-5, "count": 10, "c0": 0.7, "algorithms": "gaussian"}


# Claims of which other oracles are, and how many certificates the gallery has of each.
PUBLISHED = {
    "hu2020-density": (oracles.density, 2),
    "hu2020-equation12": (oracles.equation12, 3),
    "zhang2018-footnote4": (oracles.footnote4, 1),
    "tables-equation38": (oracles.equation38, 1),
    "zhang2018-section3": (oracles.section3, 2),
    "zhang2018-equation23": (oracles.equation23, 2),
    "zhang2018-theorem32": (oracles.theorem32, 3),
    "hu2019-lemma2": (oracles.lemma2, 1),
    "hu2019-lemma3": (oracles.lemma3, 1),
    "hu2019-lemma4": (oracles.lemma4, 4),
    "hu2019-lemma5": (oracles.lemma5, 2),
    "hu2019-convergence": (oracles.convergence, 3),
    "hu2019-equation42": (oracles.equation42, 2),
}


# What is true of a file: whether what it assumes holds, and its ratio


def normal(mu, epsilon):
    half = mu / 2
    return mp.ncdf(half - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-half - epsilon / mu)


def law(values):
    numbers = [mp.mpf(value) for value in values]
    return [one / mp.fsum(numbers) for one in numbers]


def lost(pairs, epsilon):
    return mp.fsum(max(p - mp.exp(epsilon) * q, mp.mpf(0)) for p, q in pairs)


def is_private(one, other, epsilon, delta):
    there = zip(one, other, strict=True), zip(other, one, strict=True)
    return all(lost(pairs, epsilon) <= delta * (1 + mp.mpf(10) ** -30) for pairs in there)


def composed(one, other, count):
    """Return the pairs of probabilities of so many outcomes, those in another order together."""
    states = {(0,) * len(one): (mp.mpf(1), mp.mpf(1))}
    for _ in range(count):
        after = defaultdict(lambda: (mp.mpf(0), mp.mpf(0)))
        for (seen, (p, q)), k in itertools.product(states.items(), range(len(one))):
            key = (*seen[:k], seen[k] + 1, *seen[k + 1 :])
            after[key] = after[key][0] + p * one[k], after[key][1] + q * other[k]
        states = after
    return list(states.values())


def over(found, bound):
    return found / bound if bound > 0 else 1 + found


def theorem4(stated, instance):
    e, d, c, n = (mp.mpf(stated[name]) for name in ("epsilon", "delta", "c0", "count"))
    claimed = c * mp.sqrt(n) * e
    if stated["algorithms"] == "gaussian":
        mu = e / mp.sqrt(2 * mp.log(1.25 / d))
        holds, found = normal(mu, e) <= d, normal(mp.sqrt(n) * mu, claimed)
    else:
        one, other = law(instance["one"]), law(instance["other"])
        holds = is_private(one, other, e, d)
        found = lost(composed(one, other, stated["count"]), claimed)
    return holds, over(found, mp.mpf(stated["factor"]) * d)


def definition3(stated, instance):
    e, d, m = (mp.mpf(stated[name]) for name in ("epsilon", "delta", "multiple"))
    if stated["mechanism"] == "gaussian":
        mu = e / mp.sqrt(2 * mp.log(1.25 / d))
        holds, found = normal(mu, e) <= d, mp.ncdf(mu / 2 - m * e / mu)
    else:
        one, other = law(instance["one"]), law(instance["other"])
        holds = is_private(one, other, e, d)
        above = [p for p, q in zip(one, other, strict=True) if p > mp.exp(m * e) * q]
        found = mp.fsum(above)
    allowed = d / (1 - mp.exp(e - m * e)) if stated["version"] == "corrected" else d
    return holds, over(found, mp.mpf(stated["factor"]) * allowed)


def tables1(stated, instance):
    e, spread = mp.mpf(stated["epsilon"]), mp.mpf(stated["deviation"])
    label, other, output = ([mp.mpf(x) for x in instance[n]] for n in ("label", "other", "output"))
    pairs = list(zip(label, other, output, strict=True))
    scale = spread / mp.sqrt(2)
    loss = mp.fsum(abs(o - b) - abs(o - a) for a, b, o in pairs) / scale
    holds = scale * e >= 2 * (1 - mp.mpf(10) ** -30)
    for one in (label, other):
        match stated["encoding"]:
            case "one-hot":
                holds = holds and sorted(one) == [0] * (len(one) - 1) + [1]
            case "sign":
                holds = holds and len(one) == 1 and abs(one[0]) == 1
            case _:
                holds = holds and mp.fsum(map(abs, one)) <= 1
    return holds, loss / (mp.mpf(stated["factor"]) * e)


def corollary1(stated, instance):
    e, d, s = (mp.mpf(stated[name]) for name in ("epsilon", "delta", "slack"))
    n, at = stated["iterations"], mp.mpf(instance["epsilon"])
    root = mp.sqrt(2 * n * mp.log(1 / s))
    claimed = mp.mpf(stated["factor"]) * (root * e + n * e * mp.expm1(e))
    truth = mp.exp(e) / (1 + mp.exp(e))
    law_of_truths = (
        (mp.binomial(n, k) * truth**k * (1 - truth) ** (n - k), (2 * k - n) * e)
        for k in range(n + 1)
    )
    inside = mp.fsum(p * max(1 - mp.exp(at - loss), mp.mpf(0)) for p, loss in law_of_truths)
    exact = 1 - (1 - d) ** n * (1 - inside)
    return n * d + s <= exact, at / claimed


FILES = {
    "theorem 4": (lambda: published("huang2020-theorem4"), theorem4),
    "theorem 4, gaussian": (
        lambda: made("huang2020-theorem4", "approximate-dp", GAUSSIAN, {}, factor=1.0), theorem4,
    ),
    "definition 3": (lambda: published("huang2020-definition3"), definition3),
    "tables, theorem 1": (
        lambda: made("tables-theorem1", "pure-dp", ONE_HOT, LABELS, factor=0.5), tables1,
    ),
    "corollary 1": (
        lambda: made("hu2020-corollary1", "approximate-dp", COMPOSED, {"epsilon": 1.0}, factor=0.1),
        corollary1,
    ),
    **{
        f"{name}, file {number}": (partial(published, name, number), oracle)
        for name, (oracle, count) in PUBLISHED.items()
        for number in range(count)
    },
    **MADE,
}  # fmt: skip


def restated(content):
    """Return a file that states what its verifier recomputes; None where that is refused."""
    try:
        blank = _parse_certificate("c.json", content)
        verifier = judge._verifier(blank.claim)
        outcome = judge.decide_digits("c.json", lambda: certain(verifier(blank)))
        content = copy.deepcopy(content)
        content["quantities"] = {name: float(one) for name, one in outcome.quantities.items()}
        content["assumptions"] = [
            {"name": name, "value": float(value), "limit": float(limit)}
            for name, (value, limit) in outcome.assumptions.items()
        ]
    except DpauditError:
        return None
    return content


def certain(outcome):
    """Return an outcome whose numbers are known to as many digits as files have to agree in."""
    for name, one in outcome.quantities.items():
        if not np.isfinite(float(one)):
            raise UndecidedComparison
        find_disagreement(name, float(one), one)
    return outcome


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    homes = judge._homes()
    monkeypatch.setattr(judge, "_homes", lambda: homes)
    monkeypatch.setattr(judge, "SECONDS", 0.5)


def is_true(content, found, oracle):
    """Say that a verified file states what the oracle has of it, number by number."""
    stated = content["quantities"]
    with mp.workdps(50):
        judged = oracle(content["parameters"], content["instance"] | {"quantities": stated})
        if judged is None:  # more nodes than the oracle follows one by one
            return False
        holds, ratio, *others = judged
        assert holds, content
        assert ratio > 1, content
        assert found.ratio == pytest.approx(float(ratio), rel=1e-9), content
        for name, value in (others[0] if others else {}).items():
            assert stated[name] == pytest.approx(float(value), rel=1e-9, abs=1e-30), (name, content)
    return True


def nudged(content, rng):
    """Return a copy of a file one or two of whose numbers are some others, of a size alike."""
    found = copy.deepcopy(content)
    for _ in range(int(rng.integers(1, 3))):
        part = found[("parameters", "instance")[int(rng.integers(2))]]
        held = [*numbers_in(part)]
        if held:
            outer, last = held[int(rng.integers(len(held)))]
            outer[last] *= (0.5, 0.9, 0.999, 1.001, 1.1, 2.0, -1.0)[int(rng.integers(7))]
    return found


def numbers_in(value):
    """Yield where numbers stand that are no counts: what holds each, and its name or place."""
    for name, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, float):
            yield value, name
        elif isinstance(one, dict | list):
            yield from numbers_in(one)


def changed(name, content, rng, n):
    """Return the n-th moved file, as a forger would hand it in; None where it is refused."""
    one = nudged(content, rng) if n % 3 else moved(content, rng, 1 + n % 2)
    return restated(REPAIRS[name](one, rng) if name in REPAIRS else one)


def tried(name, number, seed):
    """Return how many moved files were verified, each of them true."""
    make, oracle = FILES[name]
    content, rng, stood, left = make(), np.random.default_rng(seed), 0, 0
    assert (first := restated(content)) is not None
    assert verdict(first, Reader()).verified, verdict(first, Reader()).failures
    for n in range(number):
        one = changed(name, content, rng, n)
        found = None if one is None else verdict(one, Reader())
        if found is None or not found.verified:
            continue
        stood += 1
        left += not is_true(one, found, oracle)
        if one["parameters"].get("factor", 1) < 1:
            assert not found.refutes_as_published, one
    assert left <= stood / 20
    return stood


def test_few_moved_files_of_every_claim_are_true_where_they_verify():
    assert sum(tried(name, 4, 0) for name in FILES) > len(FILES)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_moved_file_that_verifies_is_true(name):
    number = 4000 // PUBLISHED.get(name.partition(", file")[0], (None, 1))[1]
    number = min(number, 1000) if name in MADE else number
    assert 0 < tried(name, number, 1) < number


def test_every_claim_with_a_computed_certificate_has_an_oracle():
    listed = (json.loads(path.read_text()) for path in REPORTS.glob("*/certificate.json"))
    files = [one for content in listed for one in (content if type(content) is list else [content])]
    claims = {one["claim"] for one in files if one["kind"] in COMPUTED}
    assert len(claims) > 25
    assert claims <= {make()["claim"] for make, _ in FILES.values()}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FILES)
def test_an_oracle_of_half_the_ratio_is_found_out(name, monkeypatch):
    """A negative control: what compares the ratios sees another one."""
    make, oracle = FILES[name]
    half = lambda *given: (oracle(*given)[0], oracle(*given)[1] / 2)  # noqa: E731
    monkeypatch.setitem(FILES, name, (make, half))
    with pytest.raises(AssertionError):
        tried(name, 60, 0)
