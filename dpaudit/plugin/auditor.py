"""The fixture ``dp_audit``: an audit with the test's share of the confidence."""

from __future__ import annotations

import shlex
import sys
import sysconfig
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

from dpaudit.auditing.api import audit
from dpaudit.auditing.explain.output_parts import UNVARYING
from dpaudit.errors import DpauditError, InvalidArgument, VerbatimText
from dpaudit.execution import Executor
from dpaudit.neighbours import Metric, Pair
from dpaudit.neighbours.found_relations import chosen_relation
from dpaudit.plugin.failing import format_test_claim, format_test_failure
from dpaudit.plugin.marker import OF_TEST, PROVED, merge_marker_arguments
from dpaudit.plugin.snippets import replay_snippet
from dpaudit.refutation import certificates_text
from dpaudit.report.acceptance import format_acceptance
from dpaudit.report.schema import Result
from dpaudit.store.keeping import Storing, use_storing
from dpaudit.verdicts import status_of

if TYPE_CHECKING:
    from _pytest.outcomes import Failed

    from dpaudit.auditing.specification.baseline import Baseline
else:
    Failed = pytest.fail.Exception  # its public name, which has no type

_STANDARD = sysconfig.get_paths()["stdlib"]
_UNDER_WAY = "an audit was still under way when the test ended: wait for its thread"
_DECIDED = ("confidence", "seed", "store", "executor", "looks", "unit")


class Refuted(Failed, AssertionError):
    """The failure of a test: a claim was refuted, or nothing could be said of it."""

    __module__ = "builtins"  # as pytest's own: a summary has room for what leaked, not for a path


@dataclass(kw_only=True, repr=False)
class Auditor:
    """Audits for one test.

    Parameters
    ----------
    item
        The test.
    marker, options
        What its markers and the command line say, under the names that `dpaudit.audit` has.
    confidence
        Of each audit.
    planned
        How many audits were planned for it when collection had ended; 0 if it was not seen there.
    store
        The file of what is kept, if one was asked for.
    baseline
        The refutations that are accepted, if there are any.
    whole
        Whether whole results are wanted, for a report.

    Attributes
    ----------
    made
        How many audits were begun.
    thread, running, elsewhere
        The thread of the test, how many audits are under way, and what those of other threads
        raised.
    found
        What they found, as plain data.
    """

    item: pytest.Item
    marker: Mapping[str, Any]
    options: Mapping[str, Any]
    confidence: float
    planned: int
    store: str | None = None
    baseline: Baseline | None = None
    whole: bool = False
    made: int = 0
    thread: int = field(default_factory=threading.get_ident)
    running: int = 0
    elsewhere: list[BaseException] = field(default_factory=list)
    found: list[dict[str, Any]] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<dp_audit at {self.confidence!r} confidence>"

    def __call__(
        self, mechanism: Any, dataset: Any = None, neighbour: Any = None, **options: Any
    ) -> Result:
        """Audit a mechanism; fail the test if its claim is refuted, or nothing can be said of it.

        Parameters
        ----------
        mechanism, dataset, neighbour
            As `dpaudit.audit` takes them; a `dpaudit.Pair` may stand in the place of two datasets.
        options
            What else it takes, but for the confidence, the seed and the store, which are those of
            the whole run. They come before those of the marker.

        Raises
        ------
        Refuted
            The claim is refuted, or a check says that no bound holds; an `AssertionError`.
        DpauditError
            An argument is wrong, or the mechanism breaks its contract.

        Notes
        -----
        Formal guarantee: of a suite all of whose claims are true some test fails with a probability
        of at most 1 less the confidence of the run, where laws that mechanisms state are theirs.
        """
        __tracebackhide__ = True
        self.running += 1
        try:
            return self._judged(mechanism, dataset, neighbour, options)
        except BaseException as error:
            # An error in another thread ends that thread and not the test, which would then
            # pass.
            if threading.get_ident() != self.thread:
                self.elsewhere.append(error)
            raise
        finally:
            self.running -= 1

    def lost(self) -> BaseException | str | None:
        """Return the exception of an audit in another thread of which the test did not learn.

        What nobody but the library of the thread caught reached no code of the test's.
        """
        if self.running:
            return _UNDER_WAY
        return next((one for one in self.elsewhere if _caught_by_library(one)), None)

    def _judged(
        self, mechanism: Any, dataset: Any, neighbour: Any, options: Mapping[str, Any]
    ) -> Result:
        __tracebackhide__ = True
        try:
            self._begin(options)
            result, kept = self._audited(mechanism, dataset, neighbour, options)
            if self.baseline is not None:
                result = self.baseline.judge(result, self._name)
        except DpauditError as error:
            # Its words say it all: who reads a test's failure need not go through our calls.
            raise error.with_traceback(None) from None
        self._note(result, kept)
        unproved = result.verdict != "proved" and self.marker.get(PROVED, False)
        if unproved or (status_of([result.verdict]) and not result.is_accepted):
            snippet = self._snippet(dataset, options) if result.verdict == "refuted" else None
            raise Refuted(
                format_test_failure(result, self._place(), self._again(), snippet), pytrace=False
            )
        if result.verdict == "not refuted" and result.unvarying:
            warnings.warn(UNVARYING, stacklevel=3)
        return result

    def _begin(self, options: Mapping[str, Any]) -> None:
        """Refuse an audit that has no share of the run's error probability."""
        for name in _DECIDED:
            if name in options:
                expected = f"nothing: it is that of the whole run (--dpaudit-{name})"
                raise InvalidArgument(name, VerbatimText(type(options[name]).__name__), expected)
        if not self.planned:
            expected = "an argument of the test: confidence is shared when collection has ended"
            raise InvalidArgument("dp_audit", VerbatimText("a late request"), expected)
        # The shares were given out when collection ended; an audit beyond them would make the
        # run's error probability larger than it says.
        if self.made == self.planned:
            expected = f"at most {self.planned}; say how many: @pytest.mark.dp(audits=...)"
            raise InvalidArgument("audits", self.made + 1, expected)
        self.made += 1

    def _audited(
        self, mechanism: Any, dataset: Any, neighbour: Any, options: Mapping[str, Any]
    ) -> tuple[Result, bool]:
        """Return the result, and whether all of it was kept from before."""
        if isinstance(dataset, Pair):
            if not _is_of_distance(self._settings(options)):
                options = {"relation": dataset.relation, **options}
            dataset, neighbour = dataset.dataset, dataset.neighbour
        given = self._settings(options)
        counted = _TrialCounter()
        where = None if self.store is None else Storing(Path(self.store), at_once=False)
        with use_storing(where):
            result = audit(
                mechanism,
                dataset,
                neighbour,
                confidence=self.confidence,
                executor=Executor(progress=counted),
                **given,
            )
            return result, where is not None and 0 < counted.trials == where.taken

    def _settings(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the nearest settings: the call's own, else the marker's, else the command's."""
        marked = {name: value for name, value in self.marker.items() if name not in OF_TEST}
        return {**self.options, **merge_marker_arguments(marked, options)}

    def _note(self, result: Result, kept: bool) -> None:
        """Record the result for the report, and for machines that read JUnit's XML."""
        said = {
            "claimed": format_test_claim(result),
            "lower": f"{result.lower:.12g}",
            "verdict": result.verdict,
            "confidence": f"{self.confidence:.12g}",
            "trials": str(result.trials),
            "seed": str(result.seed),
        }
        if result.witness is not None:
            said["witness"] = result.witness.sentence
        if result.acceptance is not None:
            said["baseline"] = format_acceptance(result.acceptance)
        if kept:
            said["kept"] = "all of it was drawn before"
        number = f".{self.made}" if self.planned > 1 else ""
        self.item.user_properties += [(f"dpaudit{number}.{k}", v) for k, v in said.items()]
        entry = {"verdict": result.verdict, "alpha": 1 - self.confidence, "kept": kept}
        entry |= {} if self.baseline is None else self._compared(result)
        self.found.append(entry | (self._document(self._name, result) if self.whole else {}))

    def _compared(self, result: Result) -> dict[str, Any]:
        """Return the baseline's entry for a result, as plain data."""
        known = result.acceptance
        words = None if known is None else f"{self._name}: {format_acceptance(known)}"
        return {"audit": self._name, "accepted": result.is_accepted, "baseline": words}

    @property
    def _name(self) -> str:
        """The name of the audit under way: the test, and the number of its audit."""
        return self.item.nodeid + (f" ({self.made})" if self.planned > 1 else "")

    def _document(self, name: str, result: Result) -> dict[str, Any]:
        """Return the result as text that crosses the border of a process, with its certificate."""
        named = result.model_copy(update={"claim": name, "rerun": self._again()})
        certificate = result.certificate
        return {
            "result": named.model_dump_json(),
            "certificate": None if certificate is None else certificates_text((certificate,)),
            "private": result.holds_records,
        }

    def _again(self) -> str:
        """Return the command that repeats this test alone, at the confidence that it had here."""
        # Run alone, the test's own audits are all there are, and share this again: each gets
        # what it had here.
        alone = 1 - self.planned * (1 - self.confidence)
        said = {**self.options, "confidence": repr(alone)}
        options = " ".join(f"--dpaudit-{name}={value}" for name, value in said.items())
        return f"pytest {shlex.quote(self.item.nodeid)} {options}"

    def _snippet(self, dataset: Any, options: Mapping[str, Any]) -> str | None:
        """Return a snippet that names the line that leaks, if it is pasted into the test."""
        if (line := self._line()) is None:
            return None
        try:
            source = self.item.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return replay_snippet(source, line, dataset, self._settings(options))

    def _place(self) -> str:
        """Return the line of the test that asked for the audit."""
        line = self._line()
        return self.item.location[0] + ("" if line is None else f":{line}")

    def _line(self) -> int | None:
        """Return the number of that line; None where the test's file did not ask."""
        # The stack is walked by hand, as `inspect.stack` would read the source of every frame.
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and Path(frame.f_code.co_filename) != self.item.path:
            frame = frame.f_back
        return None if frame is None else frame.f_lineno


def _is_of_distance(settings: Mapping[str, Any]) -> bool:
    """Return whether a claim is stated a unit of distance: then any two datasets are its pair."""
    return isinstance(chosen_relation(settings.get("relation")), Metric)


def _caught_by_library(error: BaseException) -> bool:
    """Return whether an error came as far as Python's own code that runs threads, and no further.

    Its traceback begins where it was caught last: in the test, where it was raised there again.
    """
    trace = error.__traceback__
    return trace is not None and trace.tb_frame.f_code.co_filename.startswith(_STANDARD)


class _TrialCounter:
    """Counts the trials of all stages."""

    def __init__(self) -> None:
        self.trials = 0

    def start(self, stage: str, trials: int) -> None:
        """Begin a stage."""

    def advance(self, trials: int) -> None:
        """Count some."""
        self.trials += trials
