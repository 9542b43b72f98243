"""Looks of a subject: what is drawn again where a process ended, and until when."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

import dpaudit.scan.subject as looks
from dpaudit.execution.failures import DrawTimeout, WorkerEnded
from dpaudit.scan import evidence
from dpaudit.scan.evidence import _Reproducing
from dpaudit.scan.remote.foreign import SharedCall
from dpaudit.scan.subject import SubjectScan

from .samples import finding
from .test_subject import REPLACED, candidate, scan_of


@dataclass
class Answers:
    """A mechanism that answers zeros, or fails as it is told to."""

    fails: type[Exception] | None = None
    alone: bool = False
    apart: bool = False
    asked: list[tuple[int, bool, bool]] = field(default_factory=list)

    def observations(self, dataset, count, seed):
        self.asked.append((count, self.alone, self.apart))
        if self.fails is not None and not (self.alone or self.apart):
            raise self.fails("as the test asks")
        return [0.0] * count

    def one_by_one(self):
        return Answers(self.fails, alone=True, asked=self.asked)

    def drawn_apart(self):
        return Answers(self.fails, apart=True, asked=self.asked)


def drawn(mechanism, count=200):
    scan = scan_of()
    scan._mechanisms[0] = mechanism
    found = scan._drawn(candidate(), [0.0], count, "second look", "dataset")
    return scan, found


def test_where_a_process_ended_few_outputs_are_drawn_and_each_alone_from_then_on():
    scan, found = drawn(Answers(WorkerEnded))
    assert scan._mechanisms[0].alone
    assert len(found) == 4
    assert [one for one in scan._mechanisms[0].asked] == [(200, False, False), (4, True, False)]
    assert scan.ran.drawn == {REPLACED: 4}
    assert len(scan._drawn(candidate(), [0.0], 200, "second look", "dataset")) == 4


def test_where_calls_share_what_they_say_each_output_has_a_call_for_this_once():
    scan, found = drawn(Answers(SharedCall))
    assert len(found) == 200
    assert scan._mechanisms[0].asked == [(200, False, False), (200, False, True)]
    assert not scan._mechanisms[0].apart
    assert scan.ran.drawn == {REPLACED: 200}


def test_outputs_of_the_first_dataset_are_drawn_once_for_a_group_and_purpose():
    scan = scan_of()
    scan._mechanisms[0] = Answers()
    for one, count, purpose in (
        (candidate(edit="a"), 6, "first look"),
        (candidate(edit="b"), 6, "first look"),
        (candidate(group=1), 6, "first look"),
        (candidate(), 6, "second look"),
        (candidate(), 9, "second look"),
    ):
        assert len(scan._of_dataset(one, count, purpose)) == count
    assert [count for count, *_ in scan._mechanisms[0].asked] == [6, 6, 6, 9]
    assert scan.ran.drawn == {REPLACED: 27}


@pytest.mark.parametrize(
    ("purpose", "first", "share"),
    [("first look", False, 0.3), ("second look", False, 0.6), ("first look", True, 1.0),
     ("second look", True, 1.0)],
)  # fmt: skip
@pytest.mark.parametrize("used", [-0.01, 0.01])
def test_looks_end_by_their_share_of_the_time(monkeypatch, purpose, first, share, used):
    until = []

    def by_share(self, given):
        until.append(given)
        return contextlib.nullcontext()

    monkeypatch.setattr(SubjectScan, "_by_share", by_share)
    monkeypatch.setattr(SubjectScan, "_used", lambda _: share + used)
    scan = scan_of()
    scan._mechanisms[0] = Answers()
    found = scan._looked_at(candidate(), 6, purpose, first=first)
    assert (found is None) is (used > 0)
    assert until == ([] if used > 0 else [share])


def test_the_first_pair_of_all_may_not_be_left_out(monkeypatch):
    def over(self, *_):
        raise DrawTimeout("over")

    monkeypatch.setattr(SubjectScan, "_of_dataset", over)
    scan = scan_of()
    scan._crew = SimpleNamespace(by=lambda until: contextlib.nullcontext())
    assert scan._looked_at(candidate(), 6, "first look", first=False) is None
    with pytest.raises(DrawTimeout):
        scan._looked_at(candidate(), 6, "first look", first=True)
    assert looks._FIRST_UNTIL < looks._SECOND_UNTIL < 1


# Reproductions of findings


def reproducing(monkeypatch, found):
    monkeypatch.setattr(evidence, "find_smallest_reproduction", lambda *_, seconds: found)
    return _Reproducing({"tools.alpha": None}, None, 0.0, 1)._one(finding("tools.alpha"), 9.0)


def test_a_finding_has_the_script_what_it_printed_and_the_event_that_it_counts(monkeypatch):
    shown = SimpleNamespace(script="s", printed="p", event="e")
    found = reproducing(monkeypatch, shown)
    assert (found.reproduction, found.reproduced, found.reproduction_event) == ("s", "p", "e")
    assert reproducing(monkeypatch, None) == finding("tools.alpha")


@pytest.mark.parametrize(("workers", "shares"), [(1, [10.0, 15.0, 30.0]), (2, [20.0, 30.0, 30.0])])
def test_findings_share_the_time_that_is_left_and_none_takes_too_long(monkeypatch, workers, shares):
    given = []

    def one(self, finding, seconds):
        given.append(seconds)
        return finding

    monkeypatch.setattr(_Reproducing, "_one", one)
    monkeypatch.setattr(evidence, "time", SimpleNamespace(monotonic=lambda: 0.0))
    progress = SimpleNamespace(advance=lambda _: None)
    three = [finding("tools.alpha")] * 3
    assert _Reproducing({}, None, 30.0, workers).all(three, progress) == three
    assert sorted(given) == pytest.approx(shares)
    given.clear()
    _Reproducing({}, None, 1e9, workers).all(three, progress)
    assert set(given) == {120.0}
