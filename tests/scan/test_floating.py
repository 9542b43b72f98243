"""Floating point: naive primitives are refuted by their numbers alone, repaired ones are not."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.errors import MechanismError
from dpaudit.execution import Limits
from dpaudit.extension.package import Package, PackageClaim, Subject
from dpaudit.scan.candidates.corners import BITS, CORNERS, corner_pairs
from dpaudit.scan.candidates.pairs import make_subject_pairs
from dpaudit.scan.certification.certify import CertifiedBound
from dpaudit.scan.certification.floating import (
    CornerResult,
    FloatingRan,
    FloatingScan,
    Gap,
    HasNoNumbers,
    checks_of,
    count_floating_hypotheses,
    of_bits,
)
from dpaudit.scan.remote.environments import VersionEnvironment
from dpaudit.scan.remote.foreign import Foreign
from dpaudit.scan.scan import ScanBudget, scan_package
from dpaudit.scan.subject import PAIRS
from dpaudit.verdicts import status_of

from . import samples

HERE = Path(__file__).parent
NUMBERS = ([0.0, 1.0],)
WHOLE = 2**53
REPLACED = ("replace-record",)


def subject(code, *, datasets=NUMBERS, bounds=(0.0, 1.0), delta=0.0, **more):
    setting = {"epsilon": 1.0, "bounds": bounds} | ({"delta": delta} if delta else {})
    claim = PackageClaim(
        epsilon="epsilon", delta=delta, relation="replace-record", where="its docstring"
    )
    given = {"parameters": (setting,), "relations": REPLACED} | more
    return Subject(
        name=code,
        code=code,
        claims=(claim,),
        datasets=datasets,
        bounds="bounds",
        additive=True,
        nan=False,
        **given,
    )


HUGE = {"datasets": ([0.0, 0.0],), "bounds": (0.0, 1e200)}
WRAPPED = {"datasets": ([0, 2**62],), "bounds": (0, 2**62)}
ODD = {"datasets": ([WHOLE + 1],), "bounds": (WHOLE + 1, WHOLE + 2)}
BROKEN = {
    "naive_laplace": (BITS, subject("naive_laplace")),
    "naive_gaussian": (BITS, subject("naive_gaussian", delta=1e-5)),
    "squares": ("overflow", subject("squares", **HUGE)),
    "shares": ("subnormals", subject("shares", datasets=([0.0],))),
}
REPAIRED = {
    "on_a_grid": subject("on_a_grid"),
    "compared": subject("compared", **HUGE),
    "as_wide_as_needed": subject("as_wide_as_needed", **WRAPPED),
    "keeps": subject("keeps", **ODD),
}


@pytest.fixture
def scanned(monkeypatch):
    """Return what scans subjects of a package that is installed beside dpaudit."""
    monkeypatch.syspath_prepend(HERE)

    def run(one, trials=4000, seconds=60.0):
        package = Package(
            name="toy",
            distribution="numpy",
            code="floating_subjects",
            versions=(np.__version__,),
            subjects=(one,),
        )
        budget = ScanBudget(trials=trials, seconds=seconds)
        return scan_package(package, budget=budget, workers=1)

    return run


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_primitive_is_refuted_by_its_numbers(name):
    """By the stage alone: an ordinary scan may see the same before."""
    corner, one = BROKEN[name]
    with VersionEnvironment(None, "").crew(Limits(timeout=20.0)) as crew:

        def mechanism(parameters):
            return Foreign(crew, str(HERE / "floating_subjects.py"), name, parameters, many=True)

        pairs = make_subject_pairs(one, 0, most=PAIRS)
        ran = FloatingScan(one, mechanism, pairs, seed=0, trials=4000, alpha=1e-8).run()
    refuted = {each.corner.name for each in ran.tested if each.result.refuted}
    assert corner in refuted, ran
    lines = {line.corner: line.verdict for line in checks_of(one, ran)}
    assert lines[corner] == "refuted"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BROKEN)
def test_a_scan_finds_a_broken_primitive(scanned, name):
    found = scanned(BROKEN[name][1])
    assert found.findings
    assert all(each.violation for each in found.findings)


def test_lowest_bits_are_named_with_their_remedy(scanned):
    found = scanned(subject("naive_laplace"))
    (one,) = [each for each in found.findings if each.kind == "floating point"]
    assert "snapping" in one.remedy
    assert one.event.on_dataset != one.event.on_neighbour
    assert one.lower > 1
    assert of_bits()[0].name in one.event.words


@pytest.mark.parametrize("name", ["wraps", "collapses"])
def test_integers_that_wrap_or_collapse_are_refuted(scanned, name):
    given = WRAPPED if name == "wraps" else ODD
    found = scanned(subject(name, **given))
    assert found.findings, (found.checked, found.floating)
    assert all(each.violation for each in found.findings)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", REPAIRED)
def test_a_repaired_primitive_is_not_accused(scanned, name):
    found = scanned(REPAIRED[name])
    assert found.findings == []
    assert found.skipped == {}
    tried = {line.corner for line in found.floating if line.verdict == "not refuted"}
    assert tried, "what held has to have been tried"


def test_every_corner_says_what_came_of_it(scanned):
    found = scanned(REPAIRED["on_a_grid"])
    assert [line.corner for line in found.floating] == [one.name for one in CORNERS]
    for line in found.floating:
        assert (line.verdict is None) == bool(line.why)
    assert found.checks["corners of numbers"] == sum(line.runs > 0 for line in found.floating)


@pytest.mark.parametrize(
    ("seconds", "failure", "verdict", "why"),
    [
        (-1.0, None, "withheld", "no time"),
        (math.inf, MechanismError("it broke"), "withheld", "it broke"),
        (math.inf, HasNoNumbers("no output is a finite double"), None, "no output is a finite"),
    ],
)
def test_a_corner_that_was_not_reached_is_withheld(monkeypatch, seconds, failure, verdict, why):
    """Only where outputs are no numbers is there nothing to look at, and nothing withheld."""

    def tested(*given):
        raise failure

    monkeypatch.setattr(FloatingScan, "_tested", tested)
    one = subject("naive_laplace")
    mechanism = SimpleNamespace(parameters=one.parameters[0])
    candidates = make_subject_pairs(one, 0, most=4)
    scan = FloatingScan(one, lambda _: mechanism, candidates, 0, 100, 1e-6, seconds)
    lines = list(checks_of(one, scan.run()))
    bits = next(line for line in lines if line.corner == CORNERS[0].name)
    assert (bits.verdict, bits.runs, bits.why[: len(why)]) == (verdict, 0, why)
    found = samples.scan().model_copy(update={"floating": lines})
    assert status_of(found.verdicts) == (0 if verdict is None else 2)


def test_a_corner_that_one_setting_reached_has_the_verdict_of_that():
    """What held where it was tried is said of these settings, and how many they are."""
    one = subject("naive_laplace")
    (claim,) = one.claims
    result = CertifiedBound(False, 0.2, 1.0, 0.0, 500, 1000)
    candidate = make_subject_pairs(one, 0, most=1)[0]
    gap = Gap(CORNERS[0], candidate.relation, claim, "no time", has_numbers=True)
    ran = FloatingRan([CornerResult(CORNERS[0], candidate, claim, result)], [gap])
    first = next(checks_of(one, ran))
    assert (first.verdict, first.settings, first.why) == ("not refuted", 1, "")
    assert next(checks_of(one, FloatingRan([], [gap]))).verdict == "withheld"


def test_the_numbers_of_a_corner_are_those_of_the_test_that_shows_most_beyond_its_claim():
    one = subject("naive_laplace")
    (claim,) = one.claims
    candidate = make_subject_pairs(one, 0, most=1)[0]
    bounds = ((0.2, 1.0), (0.9, 1.0), (1.1, 3.0))  # what is certified, and claimed there
    tested = [
        CornerResult(
            CORNERS[0], candidate, claim, CertifiedBound(False, lower, claimed, 0.0, 500, 1000)
        )
        for lower, claimed in bounds
    ]
    first = next(checks_of(one, FloatingRan(tested)))
    assert (first.lower, first.claimed, first.runs) == (0.9, 1.0, 3000)


def test_hypotheses_are_counted_before_anything_is_drawn():
    one = subject("naive_laplace")
    assert count_floating_hypotheses(one) == len(CORNERS)
    assert count_floating_hypotheses(Subject(name="x", code="x", claims=one.claims)) == 0


def test_corners_stay_within_what_the_card_allows():
    for one in (subject("x"), subject("y", **HUGE), subject("z", **ODD)):
        low, high = one.parameters[0]["bounds"]
        for each in corner_pairs(one, one.parameters[0]):
            for side in (each.pair.dataset, each.pair.neighbour):
                assert all(low <= value <= high for value in side)
                assert type(side[0]) is type(one.datasets[0][0])
