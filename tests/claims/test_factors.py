"""A claim that allows twice as much is broken half as far, and is told from the one as printed."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from importlib import import_module

import pytest
from numpy.random import default_rng

import dpaudit.extension.registry as registry
from dpaudit.algorithms.multistep.claims.proof.iteration import (
    EquationAudit,
    draw_integer_iteration,
)
from dpaudit.algorithms.sharing.claims.hu2019.growth import growth
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    IterationSetting,
    Problems,
    starting_point,
)
from dpaudit.verification.document import _parse_certificate
from dpaudit.verification.reals import precision
from tests.claims.made_certificates import MADE, published

# Ratios of other forms: one over the size of all terms, or a pair that no factor saves.
OTHER = ("equation2", "equation3", "a message", "theorem2", "theorem31, 3", "huang2020-section42")
PUBLISHED = (
    "hu2020-density hu2020-equation12 zhang2018-section3 zhang2018-equation23 zhang2018-theorem32 "
    "hu2019-lemma2 hu2019-lemma3 hu2019-lemma4 hu2019-lemma5 hu2019-convergence hu2019-equation42"
).split()
FILES = {name: file for name, (file, _) in MADE.items() if not any(map(name.count, OTHER))}
EQUATIONS = [name for name in MADE if "-equation" in name and name.startswith("huang2020")]
TOLD = {
    *("hu2020-density", "hu2020-equation12"),
    *("hu2019-lemma5", "hu2019-convergence", "hu2019-equation42"),
}


def outcome(content, factor):
    content = deepcopy(content)
    content["parameters"]["factor"] = factor
    home = registry.CLAIMS.get(content["claim"]).prepare.__module__
    verifier = import_module(home.replace(".claims.", ".verify."))
    with precision(60):
        return verifier.recompute(_parse_certificate("c.json", content))


@pytest.mark.parametrize("name", [*FILES, *PUBLISHED])
def test_twice_the_claim_is_broken_half_as_far(name):
    content = published(name) if name in PUBLISHED else FILES[name]()
    half, one, two = (outcome(content, factor) for factor in (0.5, 1.0, 2.0))
    ratio = float(one.quantities["ratio"])
    assert float(two.quantities["ratio"]) == pytest.approx(ratio / 2, rel=1e-9)
    assert float(half.quantities["ratio"]) == pytest.approx(2 * ratio, rel=1e-9)
    assert not [words for words in one.reservations if "times" in words or "allowed" in words]
    assert len(two.reservations) == len(one.reservations) + (name in TOLD)


@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_with_a_larger_right_side_are_told(name):
    content = MADE[name][0]()
    one, two, half = (outcome(content, factor) for factor in (1.0, 2.0, 0.5))
    assert len(two.reservations) == len(one.reservations) + 1
    assert half.reservations == one.reservations
    sides = [float(found.quantities["right side"]) for found in (half, one, two)]
    assert sides == pytest.approx([sides[1] / 2, sides[1], 2 * sides[1]])
    left = {float(found.quantities["left side"]) for found in (half, one, two)}
    assert len(left) == 1


@pytest.mark.parametrize("number", [29, 30, 32, 33, 34, 36])
@pytest.mark.parametrize("factor", [0.5, 1.0])
def test_an_equality_is_a_distance_and_the_others_are_an_excess(number, factor):
    rng, sizes = default_rng(0), {"inner_steps": 2, "neighbours": 1, "dimension": 2}
    audited = EquationAudit(number=number, version="published", factor=factor, **sizes)
    for _ in range(5):
        it = draw_integer_iteration(audited, rng)
        left, right = audited.values(it)
        plain = audited.sides(it)
        assert (left, right) == (sum(plain.left), sum(plain.right) * Fraction(factor))
        equality = number in (29, 30, 32)
        expected = (abs(left - right) if equality else left - right, 0)
        assert audited.compared(it) == tuple(map(float, expected))


@pytest.mark.parametrize(("given", "factor"), [((), 1.0), ((1.5,), 1.5)])
def test_the_measure_of_growth_allows_its_factor(given, factor):
    rng, setting = (
        default_rng(0),
        IterationSetting(parties=3, features=1, samples=2, loss_weight=4.0),
    )
    problems = Problems(
        setting=setting,
        designs=rng.normal(size=(2, 3, 2, 1)),
        labels=rng.choice([-1.0, 1.0], (2, 2)),
    )
    start = (rng.normal(size=shape) for shape in ((2, 3, 1), (2, 2), (2, 2)))
    before = starting_point(problems, *start)
    found = growth(*given)(problems, before, before)
    assert found.bound.tolist() == found.scale.tolist() == [factor] * 2
