"""Processes of their own: what Python does after the last line is seen there only."""

import os
import re
import signal
import time

import pytest

from dpaudit.report.document import read_report

from .runs import Ran
from .ways import FULL, INTERRUPTED, PIPE, REFUTED, SHOWN, STREAM, TERMINATED, THEIRS, Ways, left

WAYS = Ways()


AWAY = "{} | true; exit ${{PIPESTATUS[0]}}"


@WAYS.end(2, STREAM, FULL)
def _a_process_on_a_full_disk(here):
    return here.process("version", shell="{} > /dev/full")


@WAYS.end(2, STREAM, "")
def _a_process_into_a_closed_pipe(here):
    return here.process("schema", shell=AWAY)


@WAYS.end(2, STREAM, FULL, pytest.mark.slow)
def _an_audit_on_a_full_disk(here):
    return here.process("audit", here.audits("Broken"), shell="{} > /dev/full")


@WAYS.end(2, STREAM, PIPE, pytest.mark.slow)
def _an_audit_into_a_closed_pipe(here):
    return here.process("audit", here.audits("Broken"), shell=AWAY)


@WAYS.end(1, REFUTED, SHOWN, pytest.mark.slow)
def _a_process_in_ascii(here):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    return here.process("audit", here.audits("Broken"), env=environment)


@WAYS.end(1, REFUTED, SHOWN, pytest.mark.slow)
def _a_process_in_the_locale_c(here):
    off = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    return here.process("audit", here.audits("Broken"), env=os.environ | off)


@WAYS.end(2, STREAM, "error: standard output: is closed, .*", pytest.mark.slow)
def _a_process_without_standard_output(here):
    return here.process("audit", here.audits("Broken"), shell="{} >&-")


@WAYS.end(1, REFUTED, SHOWN, pytest.mark.slow)
def _a_process_without_standard_error(here):
    return here.process("audit", here.audits("Broken"), shell="{} 2>&-")


@WAYS.end(2, STREAM, "", pytest.mark.slow)
def _the_help_of_a_process_into_a_closed_pipe(here):
    return here.process("--help", shell=AWAY)


@WAYS.end(2, THEIRS, left(0), pytest.mark.slow)
def _a_process_with_workers_that_leave(here):
    code = "Leaving = doing(lambda: sys.exit(0))\n"
    path = here.audits("Leaving", code=code, after=5)
    return here.process("audit", path, "--workers", "2")


def started_and_stopped(here, number):
    code = "import time\ndef deed():\n    print('drawing', file=sys.stderr, flush=True)\n"
    code += "    time.sleep(60)\nDoing = doing(deed)\n"
    path = here.audits("Broken", "Doing", code=code, after=1)
    with here.started("audit", path, "--out", "out", "--workers", "1") as process:
        assert process.stderr.readline() == "drawing\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    assert "one: The certified lower bound" in out
    assert read_report(here.folder / "out" / "report.json").results[0].claim == "one"
    return Ran(process.returncode, out, err, here.folder)


@WAYS.end(130, INTERRUPTED, "interrupted: 1 of 2 ended; missing: two", pytest.mark.slow)
def _a_process_that_is_interrupted(here):
    return started_and_stopped(here, signal.SIGINT)


@WAYS.end(143, TERMINATED, "terminated: 1 of 2 ended; missing: two", pytest.mark.slow)
def _a_process_that_is_terminated(here):
    return started_and_stopped(here, signal.SIGTERM)


def wait_for_an_index(here, process):
    """Wait until a process has written what its first audit found."""
    while not (here.folder / "out" / "index.json").exists():
        assert process.poll() is None
        time.sleep(0.05)


def stopped_gallery(here, number):
    """Stop a process that audits every installed claim once a few have ended."""
    with here.started("audit", "--all", "--trials", "200", "--out", "out", "--quiet") as process:
        wait_for_an_index(here, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    page = (here.folder / "out" / "index.html").read_text()
    assert re.search(r"Interrupted, \d+ of \d+\. Missing: ", page)
    return Ran(process.returncode, out, err, here.folder)


@WAYS.end(130, INTERRUPTED, r"interrupted: \d+ of \d+ ended; missing: .*", pytest.mark.slow)
def _a_gallery_that_is_interrupted(here):
    return stopped_gallery(here, signal.SIGINT)


@WAYS.end(143, TERMINATED, r"terminated: \d+ of \d+ ended; missing: .*", pytest.mark.slow)
def _a_gallery_that_is_terminated(here):
    return stopped_gallery(here, signal.SIGTERM)


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
