"""Many certificates: the same verdicts whoever checks which, and limits that no load changes."""

import json
import time
from pathlib import Path

import pytest

from dpaudit.cli.main import main
from dpaudit.errors import DataError, InvalidArgument, UnknownName
from dpaudit.reals import ComputationTimeout, Real, precision
from dpaudit.verification import Document, Reader, read
from dpaudit.verification.many import verify_many
from dpaudit.verification.redrawn_counts import AuditDeadline

REPORTS = Path(__file__).parents[2] / "reports"
QUICK = ("hu2020-density", "hu2020-equation12", "huang2020-theorem4", "zhang2018-section3")


def documents():
    found = [one for name in QUICK for one in read(REPORTS / name / "certificate.json")]
    nobodys = Document(
        path="c.json", claim="c", parameters={}, quantities={}, instance={}, assumptions={}
    )
    return [*found[:3], nobodys, *found[3:]]


def test_several_workers_reach_the_verdicts_of_one():
    asked, reader = documents(), Reader(seed=3)
    alone = dict(verify_many(asked, reader))
    shared = dict(verify_many(asked, reader, workers=2))
    assert sorted(shared) == list(range(len(asked)))
    errors = {place: one for place, one in shared.items() if isinstance(one, Exception)}
    assert {place: type(one) for place, one in errors.items()} == {3: UnknownName}
    assert str(errors[3]) == str(alone[3])
    assert {n: one for n, one in shared.items() if n != 3} == {
        n: one for n, one in alone.items() if n != 3
    }


def test_the_command_takes_workers_and_keeps_the_order(capsys):
    files = [str(REPORTS / name / "certificate.json") for name in QUICK]
    with pytest.raises(SystemExit, match="0"):
        main(["verify", *files, "--workers", "2", "--json"])
    shown = [one["path"].split("[")[0] for one in json.loads(capsys.readouterr().out)]
    assert sorted(set(shown), key=shown.index) == files


def test_no_worker_is_refused():
    with pytest.raises(InvalidArgument, match="workers"):
        list(verify_many(documents(), Reader(), workers=0))


def test_waiting_for_others_is_no_computing():
    """What a computation may take is counted in seconds of the processor."""
    with precision(60, 0.2):
        time.sleep(0.3)
        assert Real(1) < 2
    clock = AuditDeadline(time.process_time() + 0.2, "c.json")
    time.sleep(0.3)
    clock.advance(1)


def test_computing_for_too_long_is_refused():
    with precision(60, -1.0), pytest.raises(ComputationTimeout):
        bool(Real(1) < 2)
    with pytest.raises(DataError, match="takes too long"):
        AuditDeadline(time.process_time() - 1, "c.json").advance(1)
