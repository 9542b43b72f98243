"""Hooks of pytest: options, the marker ``dp``, the fixture ``dp_audit``, the summary at the end.

A suite has one error probability. It is shared when collection has ended: every audit that the
selected tests are going to make gets the same share, whoever runs it. A test that was not seen
there, or that makes more audits than it declared, is refused, as nothing would be left for it.

This module is loaded by every run of pytest beside which dpaudit is installed. It imports pytest
alone, and does nothing where no test asks for an audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.unittest import TestCaseFunction

if TYPE_CHECKING:
    from dpaudit.auditing.specification.baseline import Baseline
    from dpaudit.plugin.auditor import Auditor

FIXTURE = "dp_audit"
MARKER = "dp"
CONFIDENCE = 0.999
_LINES = (
    "dp(*, epsilon=None, delta=0, claim=None, relation=None, trials=None, time=None, audits=1): "
    "what the mechanisms of a test claim, and how many audits it makes; see dp_audit."
)
_IDLE = f"marked {MARKER}, and nothing is audited: the test has to ask for {FIXTURE} and call it"
_UNUSED = f"asked for {FIXTURE} and never called it: nothing was audited"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("dpaudit", "audits of differential privacy (dp_audit)")

    def add(name: str, kind: Callable[[str], Any], metavar: str, words: str) -> None:
        group.addoption(f"--dpaudit-{name}", type=kind, metavar=metavar, default=None, help=words)

    add("trials", int, "N", "outputs on each dataset, where a test names none (10000)")
    add("time", float, "SECONDS", "that an audit may take, in place of trials")
    add("seed", int, "N", "the only source of randomness (0)")
    add("confidence", float, "C", f"of all audits of the run together ({CONFIDENCE})")
    add("report", str, "DIR", "write a report of the whole run into this directory")
    add("store", str, "FILE", "keep what is drawn, and take from there what is the same again")
    add("baseline", str, "FILE", "accepted refutations, which fail no test")
    add("accept", str, "REASON", "write what is refuted into the baseline, for this reason")


_RANGES: tuple[tuple[str, Callable[[float], bool], str], ...] = (
    ("trials", lambda value: value >= 100, "an integer, at least 100"),
    ("time", lambda value: 0 < value < math.inf, "a number of seconds above 0"),
    ("seed", lambda value: value >= 0, "an integer, at least 0"),
    ("confidence", lambda value: 0 < value < 1, "a number in (0, 1)"),
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse options that are out of range before anything runs."""
    config.addinivalue_line("markers", _LINES)
    for name, holds, expected in _RANGES:
        value = config.getoption(f"dpaudit_{name}")
        if value is not None and not holds(value):
            raise pytest.UsageError(f"--dpaudit-{name}: got {value}, expected {expected}")
    if config.getoption("dpaudit_accept") is not None:
        if config.getoption("dpaudit_baseline") is None:
            raise pytest.UsageError("--dpaudit-accept: expected --dpaudit-baseline=FILE beside it")
    config.stash[RUN] = PytestRun(config)
    config.pluginmanager.register(config.stash[RUN], "dpaudit-run")


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> Auditor:
    """Audit a mechanism; the test fails if the claim of its marker is refuted.

    ``dp_audit(mechanism, dataset, neighbour)`` or ``dp_audit(mechanism, pair)``, with what else
    `dpaudit.audit` takes; returns its result. That a test passes is no evidence of privacy.
    """
    from dpaudit.plugin.auditor import Auditor

    run, item = request.config.stash[RUN], request.node
    auditor = Auditor(
        item=item,
        marker=get_marker_arguments(item),
        options=run.options,
        confidence=run.confidence_of_each,
        planned=run.planned.get(item.nodeid, 0),
        store=request.config.getoption("dpaudit_store"),
        baseline=run.baseline,
        whole=request.config.getoption("dpaudit_report") is not None,
    )
    item.stash[AUDITOR] = auditor
    return auditor


def is_requesting_audits(item: pytest.Item) -> bool:
    """Return whether a test asks for audits, itself or through a fixture."""
    return FIXTURE in getattr(item, "fixturenames", ())


def get_marker_arguments(item: pytest.Item) -> dict[str, Any]:
    """Return the arguments of a test's markers; the nearest has the last word."""
    from dpaudit.plugin.marker import merge_marker_arguments

    given = dict[str, Any]()
    for mark in reversed(list(item.iter_markers(MARKER))):
        given = merge_marker_arguments(given, mark.kwargs)
    return given


def share_of(error: float, audits: int) -> float:
    """Return the confidence at which so many audits err with ``error`` together, at most.

    Examples
    --------
    >>> share_of(0.5, 2), share_of(0.001, 4)
    (0.75, 0.99975)
    >>> 7 * (1 - share_of(0.001, 7)) <= 0.001
    True
    """
    confidence = 1 - error / audits
    # The quotient may be rounded in favour of the audits; the next double closer to 1 takes
    # that back.
    while audits * (1 - confidence) > error:
        confidence = math.nextafter(confidence, 1.0)
    return confidence


class PytestRun:
    """One run of pytest: its planned audits, their results, and the words about them.

    Parameters
    ----------
    config
        Of the run; with pytest-xdist every worker has one, and the process that reports.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.planned = dict[str, int]()
        self.found = dict[str, list[dict[str, Any]]]()
        # How many workers run every test (pytest-xdist with --dist each).
        self.copies = int(getattr(config, "workerinput", {}).get("dpaudit_copies", 1))

    @property
    def error(self) -> float:
        """The error probability of the whole run."""
        stated = self.config.getoption("dpaudit_confidence")
        return 1 - (CONFIDENCE if stated is None else float(stated))

    @property
    def confidence_of_each(self) -> float:
        """The confidence of each audit of the run."""
        return share_of(self.error, max(1, sum(self.planned.values()) * self.copies))

    @property
    def options(self) -> dict[str, Any]:
        """The options of the command line, under the names that `dpaudit.audit` has."""
        given = {name: self.config.getoption(f"dpaudit_{name}") for name in _OF_AUDITS}
        return {name: value for name, value in given.items() if value is not None}

    @cached_property
    def baseline(self) -> Baseline | None:
        """The refutations that are accepted, read when a test asks for the first audit."""
        file, reason = (self.config.getoption(f"dpaudit_{name}") for name in ("baseline", "accept"))
        if file is None:
            return None
        from pathlib import Path

        from dpaudit.auditing.specification.baseline import Baseline, Consent

        return Baseline(Path(file), None if reason is None else Consent(reason))

    # Sharing

    @pytest.hookimpl(tryfirst=True)  # before pytest asks what is to be said of it
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the audits that the selected tests are going to make."""
        self.planned = {
            item.nodeid: _get_declared_audits(item)
            for item in session.items
            if is_requesting_audits(item)
        }

    def pytest_report_collectionfinish(self) -> str | list[str]:
        """Say how the error probability is shared."""
        if not self.planned:
            return []
        audits, tests = sum(self.planned.values()), len(self.planned)
        return (
            f"dpaudit: {audits} audit{'s' * (audits > 1)} in {tests} test{'s' * (tests > 1)} at "
            f"{self.confidence_of_each:.12g} confidence each, {1 - self.error:.12g} together"
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist how many workers run every test."""
        every = self.config.getoption("dist", "no") == "each"
        node.workerinput["dpaudit_copies"] = len(node.nodemanager.specs) if every else 1

    # One test

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Refuse a marker that no audit understands, or that nothing would come of."""
        marks = list(item.iter_markers(MARKER))
        if not marks:
            return
        from dpaudit.plugin.marker import wrong_marker

        wrong = wrong_marker(marks) or (
            _IDLE if _is_marked(item) and not is_requesting_audits(item) else None
        )
        if wrong is not None:
            pytest.fail(wrong, pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail a test that made no audit, or lost a failure that one found in another thread.

        Either would pass whatever its mechanism is. Tests of unittest come by here, too.
        """
        outcome = yield
        auditor = item.stash.get(AUDITOR, None)
        if auditor is not None and not auditor.made:
            pytest.fail(_UNUSED, pytrace=False)
        lost = None if auditor is None else auditor.lost()
        if isinstance(lost, BaseException):
            raise lost
        if lost is not None:
            pytest.fail(lost, pytrace=False)
        return outcome

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the report of a test carry the results, so that pytest-xdist takes them along."""
        report = yield
        auditor = item.stash.get(AUDITOR, None)
        if auditor is not None and report.when == "call":
            report.__dict__["dpaudit"] = auditor.found
            _shorten_report(report, call)
        return report

    # The end

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather the results."""
        found = getattr(report, "dpaudit", None)
        if found is not None and report.outcome != "skipped":
            self.found[report.nodeid] = found

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Summarise the audits and their confidence, and write the report on request."""
        if not self.found:
            return
        from dpaudit.plugin.session import format_session_summary

        file = self.config.getoption("dpaudit_baseline")
        for line in format_session_summary(
            self.found, self.config.getoption("dpaudit_report"), file
        ):
            terminalreporter.write_line(line)


def _shorten_report(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Leave the first line to the summary: on a CI machine pytest repeats all lines there."""
    from dpaudit.plugin.auditor import Refuted

    place = getattr(report.longrepr, "reprcrash", None)  # none where a test hides its own calls
    if place is not None and call.excinfo and isinstance(call.excinfo.value, Refuted):
        place.message = place.message.partition("\n")[0]


def _is_marked(item: pytest.Item) -> bool:
    """Return whether a test is marked itself, or is of a `unittest.TestCase` that is.

    There a fixture comes to all tests or to none, so that the class is what asks for it.
    """
    of_unittest = isinstance(item, TestCaseFunction)
    return any(
        node is item or (of_unittest and node is item.parent)
        for node, _ in item.iter_markers_with_node(MARKER)
    )


def _get_declared_audits(item: pytest.Item) -> int:
    """Return how many audits a test declares; a wrong number fails when the test begins."""
    declared = get_marker_arguments(item).get("audits", 1)
    # True is an int to Python, and would count as one audit.
    return declared if type(declared) is int and declared > 0 else 1


_OF_AUDITS = ("trials", "time", "seed")
RUN = pytest.StashKey[PytestRun]()
AUDITOR = pytest.StashKey["Auditor"]()
