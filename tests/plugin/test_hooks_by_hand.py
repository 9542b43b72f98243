"""What the hooks hand on and refuse, and how looks and marks are read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.extension.settings import _validate_looks
from dpaudit.plugin import hooks


def item(*marks, asks=True):
    """Return a test with markers of its own, the nearest first."""
    one = SimpleNamespace(nodeid="a.py::test_b", fixturenames=["dp_audit"] if asks else [])
    one.iter_markers = lambda name: iter([mark.mark for mark in marks])
    one.iter_markers_with_node = lambda name: iter([(one, mark.mark) for mark in marks])
    one.stash = {}
    return one


def setup_of(one):
    hooks.PytestRun.pytest_runtest_setup(None, one)


@pytest.mark.parametrize(
    ("marks", "asks", "wrong"),
    [
        ((), True, None),
        ((), False, None),
        ((pytest.mark.dp(epsilon=1.0),), True, None),
        ((pytest.mark.dp(epsilon=1.0),), False, "nothing is audited"),
        ((pytest.mark.dp(epsilom=1.0),), True, "epsilom"),
        ((pytest.mark.dp(epsilon=1.0), pytest.mark.dp(1.0)), True, "without a name"),
        ((pytest.mark.dp(audits=0),), True, "at least 1"),
    ],
)
def test_a_marker_that_nothing_would_come_of_fails(marks, asks, wrong):
    if wrong is None:
        setup_of(item(*marks, asks=asks))
    else:
        with pytest.raises(pytest.fail.Exception, match=wrong):
            setup_of(item(*marks, asks=asks))


@pytest.mark.parametrize("report", [None, "reports"])
def test_a_test_audits_with_what_the_run_says(report):
    one = item(pytest.mark.dp(epsilon=2.0), pytest.mark.dp(epsilon=1.0, trials=500))
    options = {"dpaudit_store": "kept.sqlite", "dpaudit_report": report}
    run = SimpleNamespace(
        options={"trials": 100},
        confidence_of_each=0.9995,
        planned={one.nodeid: 3},
        baseline=None,
    )
    config = SimpleNamespace(stash={hooks.RUN: run}, getoption=options.__getitem__)
    request = SimpleNamespace(config=config, node=one)
    made = hooks.dp_audit.__wrapped__(request)
    assert one.stash[hooks.AUDITOR] is made
    assert (made.store, made.whole) == ("kept.sqlite", report is not None)
    assert (made.confidence, made.planned, made.options) == (0.9995, 3, {"trials": 100})
    assert made.marker == {"epsilon": 2.0, "trials": 500}
    run.planned = {}
    assert hooks.dp_audit.__wrapped__(request).planned == 0


@pytest.mark.parametrize(
    ("marks", "audits"),
    [
        ((), 1),
        ((pytest.mark.dp(audits=4),), 4),
        ((pytest.mark.dp(audits=4), pytest.mark.dp(audits=2)), 4),
        ((pytest.mark.dp(audits=0),), 1),
        ((pytest.mark.dp(audits=True),), 1),
        ((pytest.mark.dp(audits=2.0),), 1),
    ],
)
def test_a_test_declares_as_many_audits_as_its_nearest_marker_says(marks, audits):
    assert hooks._get_declared_audits(item(*marks)) == audits


@pytest.mark.parametrize(
    ("looks", "right"),
    [
        ([(4, 1.0)], True),
        ([(4, 0.5), (100, 0.5)], True),
        ([(4, 0.5), (100, 0.5 + 5e-10)], True),  # rounding
        ([(4, 0.5), (100, 0.5 + 2e-9)], False),
        ([(3, 0.5)], False),
        ([(4, 0.0)], False),
        ([(4, 0.5), (100, -0.1)], False),
        ([(4, float("nan"))], False),
        ([], False),
        ([(4,)], False),
        ([(4, 0.5), (100,)], False),
        ([(100,), (4, 0.5)], False),
        ([(4, 0.5), (100, 0.2, 0.1)], False),
        ([(4.5, 0.5)], False),
    ],
)
def test_looks_are_trials_and_shares_of_one_error_probability(looks, right):
    if right:
        assert _validate_looks(looks) == tuple(looks)
    else:
        with pytest.raises(InvalidArgument, match="looks"):
            _validate_looks(looks)
