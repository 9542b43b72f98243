"""What a self-test tries: each estimator on its laws, with their true numbers and their shares."""

from __future__ import annotations

import pytest

from dpaudit.selftest.estimators import CASES, CONTROLS

GAUSSIAN = 4.377178  # of mu = 1 at delta = 1e-5
# Estimator, law, true number, share of the audits, share tried at stricter errors, and whether
# a quick self-test runs it.
TRIED = [
    ("event bound", "event of 13%, ε = 1.9", 1.9, 10.0, 1.0, False),
    ("event bound", "ε = 1.8 at δ = 0.1", 1.8, 10.0, 1.0, True),
    ("event bound", "rare event, ε = 2.7", 2.7, 1.0, 1.0, False),
    ("event, chosen first", "Laplace, ε = 2", 2.0, 0.2, 0.2, True),
    ("exact loss, lower end", "Gaussian, μ = 1 at δ = 1e-5", GAUSSIAN, 0.2, 0.2, True),
    ("exact loss, lower end", "norm noise, d = 3, s = 2 at δ = 1e-3", 1.935905, 0.2, 0.2, True),
    ("exact loss, lower end", "20 coins, both directions, at δ = 1e-3", 6.784975, 0.2, 0.2, True),
    ("exact loss, upper end", "Gaussian, μ = 1 at δ = 1e-5", GAUSSIAN, 0.2, 0.2, True),
    ("one run", "200 canaries, ε = 2", 2.0, 20.0, 1.0, True),
    ("one run", "200 of 400 canaries, ε = 1.99 at δ = 1e-3", 1.99, 20.0, 1.0, True),
    ("canaries' scores", "scores of nothing, 120 canaries", 0.0, 10.0, 0.2, True),
    ("canaries' scores", "scores of nothing, 60 of 120", 0.0, 10.0, 0.2, True),
    ("canaries' scores", "mu bounded, scores of nothing, 120 canaries", 0.0, 10.0, 0.2, False),
    ("canaries' scores", "Gaussian scores, μ = 1, 200 canaries", GAUSSIAN, 1.0, 0.2, True),
    ("betting", "a bit told with ε = 1", 1.0, 0.2, 0.2, True),
]


def test_each_estimator_is_tried_on_its_laws_with_their_true_numbers():
    found = [(one.estimator, one.law, one.share, one.strict, one.quick) for one in CASES]
    assert found == [(*one[:2], *one[3:]) for one in TRIED]
    assert [one.true for one in CASES] == [pytest.approx(one[2], abs=1e-6) for one in TRIED]
    assert [one.estimator for one in CASES if one.upper] == ["exact loss, upper end"]
    assert not any(one.most for one in CASES)


def test_every_control_says_its_own_law():
    names = [(one.estimator, one.law) for one in CONTROLS]
    assert len(set(names)) == len(names) == 12
