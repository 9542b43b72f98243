"""What a run says at its end, and with which status it ends."""

from __future__ import annotations

import signal

import pytest

import dpaudit.cli.ending as ending
from dpaudit.cli.ending import (
    CommandFailure,
    Interruption,
    add_error_name,
    convert_raised_errors,
    convert_termination_to_interrupt,
    report_run_end,
    set_listing_mode,
)
from dpaudit.errors import DataError, DpauditError


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Ask for nothing."""
    for name in ("traceback", "to_terminate", "only_lists"):
        monkeypatch.setattr(ending._Requests, name, False)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (DpauditError("it is broken"), 2, "error: it is broken\n"),
        (SystemExit(0), 2, "error: ended the program with sys.exit(0)\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (KeyboardInterrupt("words"), 130, "interrupted\n"),
        (Interruption("1 of 3 ended"), 130, "interrupted: 1 of 3 ended\n"),
    ],
)
def test_a_run_says_what_ended_it(capsys, error, status, said):
    assert report_run_end(error) == status
    found = capsys.readouterr()
    assert (found.out, found.err) == ("", said)


def test_a_request_to_terminate_is_said_and_has_its_own_status(capsys, monkeypatch):
    monkeypatch.setattr(ending._Requests, "to_terminate", True)
    assert report_run_end(KeyboardInterrupt()) == 143
    assert report_run_end(Interruption("1 of 3 ended")) == 143
    assert report_run_end(DpauditError("x")) == 2
    assert capsys.readouterr().err == "terminated\nterminated: 1 of 3 ended\nerror: x\n"


def test_what_nobody_foresaw_is_said_to_be_so(capsys):
    assert report_run_end(ZeroDivisionError("division")) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: an unexpected error, ")
    assert said.count("\n") == 1


def broken_pipe():
    error = DataError("standard output: cannot be written")
    error.__cause__ = BrokenPipeError()
    return error


@pytest.mark.parametrize(
    ("words", "quiet"),
    [
        ([], True),
        (["list"], True),
        (["store", "ls"], True),
        (["audit", "--help"], True),
        (["audit", "a-claim"], False),
    ],
)
def test_a_reader_who_has_seen_enough_of_a_list_is_no_error(capsys, words, quiet):
    with set_listing_mode(words):
        assert report_run_end(broken_pipe()) == 2
        assert (capsys.readouterr().err == "") is quiet
        report_run_end(DpauditError("another"))
        assert capsys.readouterr().err == "error: another\n"
    report_run_end(broken_pipe())
    assert capsys.readouterr().err.startswith("error: standard output")


def test_a_traceback_is_shown_above_the_error_where_it_was_asked_for(capsys):
    ending._ask_for_traceback(True)
    ending._ask_for_traceback(False)  # asked for before
    try:
        raise DpauditError("it is broken")
    except DpauditError as error:
        report_run_end(error)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("Traceback")
    assert last == "error: it is broken"


def test_an_error_says_to_what_it_happened():
    error = DpauditError("it is broken")
    longer = add_error_name(error, "second")
    assert str(longer) == "second: it is broken"
    assert longer.__cause__ is error


def test_whatever_a_command_raises_is_carried():
    @convert_raised_errors
    def command(value, *, more):
        if more is None:
            raise KeyboardInterrupt
        return value + more

    assert command(1, more=2) == 3
    with pytest.raises(CommandFailure) as raised:
        command(1, more=None)
    assert isinstance(raised.value.error, KeyboardInterrupt)


@convert_termination_to_interrupt()
def terminated():
    assert ending._Requests.traceback
    assert not ending._Requests.to_terminate
    signal.raise_signal(signal.SIGTERM)


def test_a_request_to_terminate_is_an_interrupt_in_the_block_alone(monkeypatch):
    monkeypatch.setenv("DPAUDIT_DEBUG", "1")
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt):
            terminated()
        assert ending._Requests.to_terminate
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with convert_termination_to_interrupt():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            assert not ending._Requests.to_terminate
    finally:
        signal.signal(signal.SIGTERM, before)
