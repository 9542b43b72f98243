"""Interrupts and requests to terminate."""

import gc
import itertools
import os
import signal

import pytest

from dpaudit.report.document import read_report

from .ways import INTERRUPT, INTERRUPTED, TERMINATE, TERMINATED, Ways

WAYS = Ways()


@pytest.fixture(autouse=True)
def no_collection():
    """Let no interrupt arrive while rubbish is collected, where Python drops what is raised."""
    gc.disable()
    yield
    gc.enable()


def telling(signal_name):
    """Return code of a mechanism that sends a signal to the program, once."""
    told = f"os.kill(int(os.environ['WAYS_TO_END']), signal.{signal_name})"
    return f"import time\nDoing = doing(lambda: ({told}, time.sleep(60)))\n"


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt(here):
    return here.audit(here.audits("Doing", code=telling("SIGINT"), after=1))


@WAYS.end(143, TERMINATED, TERMINATE)
def _a_request_to_terminate(here):
    ran = here.audit(here.audits("Doing", code=telling("SIGTERM"), after=1))
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    return ran


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_that_they_raise(here):
    path = here.audits("Doing", code="Doing = raising(KeyboardInterrupt())\n")
    return here.audit(path, "--in-process")


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_at_import(here):
    return here.audit(here.audits("Broken", code="raise KeyboardInterrupt\n"), "--in-process")


BETS = """
import contextlib, time

def deed():
    \"\"\"Interrupt the program once, after so many calls in all processes together.\"\"\"
    with open("calls", "a") as calls:
        calls.write(".")
    if os.path.getsize("calls") > 600:
        with contextlib.suppress(FileExistsError), open("told", "x"):
            os.kill(int(os.environ["WAYS_TO_END"]), signal.SIGINT)
            time.sleep(60)

Doing = doing(deed)
Doing.sample.__globals__["Broken"].sample = Sound.sample
"""


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_of_bets(here):
    options = ("--until-refuted", "--trials", "100000", "--unit", "16", "--out", "out")
    ran = here.audit(here.audits("Doing", code=BETS), *options)
    result = read_report(here.folder / "out" / "report.json").results[0]
    assert result.verdict == "withheld"  # calls change the instance, and one of two audits is there
    assert result.reason.startswith("The audit covered only the first call, and not the others")
    return ran


def stopped_at_the_second(here, signal_name, out):
    path = here.audits("Broken", "Doing", "Sound", code=telling(signal_name), after=1)
    ran = here.audit(path, "--out", out)
    report = read_report(out / "report.json")
    assert [one.claim for one in report.results] == ["one"]
    assert report.missing == ["two", "three"]
    assert "one: The certified lower bound" in ran.out
    return ran


@WAYS.end(130, INTERRUPTED, "interrupted: 1 of 3 ended; missing: two, three")
def _an_interrupt_of_the_second_of_three(here):
    return stopped_at_the_second(here, "SIGINT", here.folder / "out")


@WAYS.end(143, TERMINATED, "terminated: 1 of 3 ended; missing: two, three")
def _a_request_to_terminate_at_the_second_of_three(here):
    return stopped_at_the_second(here, "SIGTERM", here.folder / "out")


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_while_the_report_is_written(here):
    out, moves, move = here.folder / "out", itertools.count(), os.replace

    def interrupted(old, new):
        if next(moves) == 1:
            raise KeyboardInterrupt
        move(old, new)

    here.monkeypatch.setattr(os, "replace", interrupted)
    ran = here.audit(here.audits("Broken"), "--out", out)
    assert read_report(out / "report.json").results[0].verdict == "refuted"
    assert "one: The certified lower bound" in ran.out
    return ran


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
