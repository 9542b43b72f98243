"""SIGKILL at any moment: what had ended is there and whole, and no process is left."""

import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dpaudit.report.document import read_index, read_report
from dpaudit.verification.judge import verify_file

SCRIPT = Path(__file__).with_name("killed.py")
ALL = ("audit", "--all", "--trials", "200", "--out", "out", "--quiet")
MARK = "WAYS_TO_END_MARK"
VERIFIED = {}


def bearing(mark):
    """Return the processes that were started with a mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in place.read_bytes().split(b"\0"):
                found.append(place.parent.name)
    return found


def surviving(mark, patience=30.0):
    """Return those that are there, after as long as they may take to end."""
    until = time.monotonic() + patience
    while (left := bearing(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def verified(path):
    """Return whether a certificate file stands; the same content is verified once."""
    content = path.read_bytes()
    if content not in VERIFIED:
        VERIFIED[content] = all(one.verified for one in verify_file(path))
    return VERIFIED[content]


def complaints(out):
    """Return what is not whole in a folder that a killed program wrote."""
    wrong = []
    for report in out.glob("*/report.json"):
        for result in read_report(report).results:  # it raises on what is no report
            if result.verdict not in ("refuted", "proved", "not refuted"):
                wrong.append(f"{report}: {result.verdict}")
        for name in ("report.html", "report.md"):
            if not report.with_name(name).read_text().strip():
                wrong.append(f"{report}: no {name}")
        if not report.with_name("report.html").read_text().rstrip().endswith("</html>"):
            wrong.append(f"{report}: half a page")
    wrong += [f"{one} fails" for one in out.glob("*/certificate.json") if not verified(one)]
    return wrong + missing_from(out)


def missing_from(out):
    """Return what an index speaks of and is not there, with a verdict of its own."""
    if not (out / "index.json").exists():
        return []
    wrong = []
    for entry in read_index(out / "index.json"):
        if entry["verdict"] is None:
            continue
        results = read_report(out / entry["claim"] / "report.json").results
        there = {one.variant: one.verdict for one in results}
        if there.get(entry["variant"]) != entry["verdict"]:
            wrong.append(f"the index claims {entry['label']}")
        if entry["certificate"] and not (out / entry["certificate"]).exists():
            wrong.append(f"the index claims {entry['certificate']}")
    return wrong


@pytest.mark.parametrize("moments", [6, pytest.param(0, marks=pytest.mark.slow)])
def test_what_had_ended_is_whole_at_any_look_at_a_file(tmp_path, moments):
    claims = "hu2019-lemma2,tables-theorem1"
    # A store is begun by what takes a second, so that how many looks there are would be a chance.
    words = (*ALL, "--workers", "1", "--no-store")
    command = [sys.executable, SCRIPT, tmp_path, claims, str(moments), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=600)
    outs = sorted(tmp_path.glob("*/out"))
    assert len(list(tmp_path.iterdir())) > 6
    assert [wrong for out in outs for wrong in complaints(out)] == []
    assert any(len(list(out.glob("*/report.json"))) == 1 for out in outs)
    assert not list((tmp_path / "whole").rglob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_program_that_is_killed_leaves_whole_reports_and_no_process(tmp_path, seed):
    mark = f"{os.getpid()}-{seed}"
    command = [sys.executable, "-m", "dpaudit", *ALL, "--workers", "2"]
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ | {MARK: mark}) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(random.Random(seed).uniform(0.5, 60))
        process.kill()
    assert complaints(tmp_path / "out") == []
    assert surviving(mark) == []
