"""One error probability for a whole scan: who gets how much of it, and that it is all there is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.execution.failures import DrawTimeout
from dpaudit.extension.package import PackageClaim
from dpaudit.guarantees.kinds import ApproximateDP, PureDP, ZeroConcentratedDP
from dpaudit.scan import scan as scan_module
from dpaudit.scan.candidates.corners import CORNERS
from dpaudit.scan.certification import events, floating
from dpaudit.scan.certification.certify import CertifiedBound
from dpaudit.scan.certification.events import deltas_of, is_guarantee_refuted
from dpaudit.scan.certification.floating import FloatingScan
from dpaudit.scan.hypotheses import Hypothesis, Ran, count_hypotheses
from dpaudit.scan.remote.foreign import SharedCall
from dpaudit.scan.scan import ScanBudget, scan_package

from .test_floating import subject as additive


@pytest.fixture
def shares(monkeypatch):
    """Return what each kind of look was given, by subject; nothing is drawn."""
    given = {"looks": [], "corners": []}

    class Looks:
        def __init__(self, subject, alpha, **_):
            self.subject = subject
            given["looks"].append(alpha * count_hypotheses(subject))

        def run(self):
            return Ran(self.subject)

    class Corners:
        def __init__(self, subject, alpha, **_):
            given["corners"].append(alpha * floating.count_floating_hypotheses(subject))

        def run(self):
            return floating.FloatingRan()

    monkeypatch.setattr(scan_module, "SubjectScan", Looks)
    monkeypatch.setattr(scan_module, "FloatingScan", Corners)
    return given


@pytest.mark.parametrize("confidence", [0.95, 1 - 1e-6])
def test_all_hypotheses_of_a_scan_share_one_error_probability(toy, shares, confidence):
    package = toy.package(*toy.CORRECT[:3])
    one = package.subjects[0]
    both = (*package.subjects, SimpleNamespace(**{**vars_of(one), "additive": True}))
    scan_package(
        SimpleNamespace(**{**vars_of(package), "subjects": both}),
        budget=ScanBudget(confidence=confidence),
        workers=1,
    )
    assert len(shares["looks"]) == len(both)
    assert len(shares["corners"]) == 1
    assert shares["corners"][0] > 0
    spent = sum(shares["looks"]) + sum(shares["corners"])
    assert spent == pytest.approx(1 - confidence, rel=1e-9)


def vars_of(one):
    """Return the fields and methods of a card, to make another one that differs in a field."""
    names = [name for name in dir(one) if not name.startswith("__")]
    return {name: getattr(one, name) for name in names}


@pytest.mark.parametrize(
    "guarantee", [PureDP(1.0), ApproximateDP(1.0, 1e-3), ZeroConcentratedDP(0.1)]
)
@pytest.mark.parametrize("hits", [(60, 50), (50, 60)])
def test_what_a_reproduction_may_try_is_paid_for(monkeypatch, guarantee, hits):
    """Both directions and every delta: either may have been the one that was tried."""
    spent = []

    def bound(*counts, delta, alpha):
        spent.append((delta, alpha))
        return joint_lower_bound(*counts, delta=delta, alpha=alpha)

    monkeypatch.setattr(events, "joint_lower_bound", bound)
    assert not is_guarantee_refuted(hits, (1000, 1000), guarantee, 0.1)
    assert {delta for delta, _ in spent} == set(deltas_of(guarantee))
    assert 2 * sum(alpha for _, alpha in spent) == pytest.approx(0.1)


def test_a_corner_that_starts_again_has_half_each_time(monkeypatch):
    one = additive("naive_laplace")
    given = []

    def look(self, mechanism, corner, candidates, claimed, seed, alpha):
        given.append(alpha)
        if len(given) == 1:
            raise SharedCall("as the test asks")
        raise DrawTimeout("as the test asks")

    monkeypatch.setattr(FloatingScan, "_by_corner_of", look)
    mechanism = SimpleNamespace(drawn_apart=lambda: None)
    run = FloatingScan(one, lambda _: mechanism, [], 0, 100, 0.1)
    with pytest.raises(DrawTimeout):
        run._tested(mechanism, CORNERS[1], [], PureDP(1.0), 0)
    assert sum(given) == pytest.approx(0.1)
    assert np.ptp(given) == 0


@pytest.mark.parametrize("lowers", [(0.2, 1.9), (1.9, 0.2)])
def test_a_line_shows_the_setting_that_exceeds_its_claim_most(lowers):
    """Not the largest number: 1.9 of 2 exceeds its claim by less than .2 of .1."""
    claim = PackageClaim(epsilon="epsilon", relation="replace-record", where="its docstring")
    claims = [2.0 if lower > 1 else 0.1 for lower in lowers]
    subject = replace(
        additive("naive_laplace"),
        claims=(claim,),
        parameters=tuple({"epsilon": one, "bounds": (0.0, 1.0)} for one in claims),
    )
    ran = Ran(subject)
    for place, (lower, claimed) in enumerate(zip(lowers, claims, strict=True)):
        candidate = SimpleNamespace(relation="replace-record", setting=place)
        found = CertifiedBound(lower > claimed, lower, claimed, 0.0, 100, 300)
        ran.tested.append(Hypothesis(candidate, claim, found))
    line = scan_module._Scan._line(None, ran, "replace-record", claim)
    assert (line.verdict, line.lower, line.claimed.epsilon) == ("refuted", 0.2, 0.1)
    assert "'epsilon': 0.1" in line.parameters
