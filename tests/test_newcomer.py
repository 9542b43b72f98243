"""A newcomer's path, from a fresh clone to a privacy test that passes: 12 lines, 3 minutes.

Each line is typed as it stands here; what an editor saves is copied from the README. The page is
opened in the browser that is installed, and read.
"""

import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpaudit.execution import importable

ROOT = Path(__file__).parents[1]
with importable(ROOT / "tests" / "docs"):
    from blocks import blocks

README = ROOT / "README.md"
PATH = """\
git clone {source} dpaudit
python3 -m venv own
own/bin/pip install -c dpaudit/constraints.txt './dpaudit[testing]'
edit average.py
own/bin/python average.py
browser report/report.html
edit test_average.py
own/bin/pytest test_average.py
edit average.py
own/bin/pytest test_average.py
"""
TYPED = [line for line in PATH.splitlines() if line]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "firefox"))), None)
LOOK = f"{BROWSER} --headless --no-sandbox --disable-gpu --virtual-time-budget=2000 --dump-dom"


def saved():
    """Return what the reader saves, one after the other: the function, its test, the repair."""
    text = README.read_text(encoding="utf-8")
    (code,) = (one.text for one in blocks(README) if one.file == "average.py")
    (test,) = (one.text for one in blocks(README) if "def test_" in one.text)
    ((clipped, scale),) = re.findall(r"`(np\.clip.+?)` and `(scale=.+?)`", text)
    repaired = code.replace("ages.mean()", f"{clipped}.mean()")
    return [code, test, repaired.replace("scale=widest / len(ages)", scale)]


def typed(line, folder, contents):
    """Carry out one line; return what it printed, and its status."""
    if line.startswith("edit "):
        (folder / line.removeprefix("edit ")).write_text(contents.pop(0))
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        return "", 0
    line = line.replace("python3", sys.executable).format(source=ROOT)
    if line.startswith("browser "):
        line = (
            f"{LOOK} --user-data-dir={folder / 'profile'} {folder / line.removeprefix('browser ')}"
        )
    done = subprocess.run(shlex.split(line), cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr, done.returncode


@pytest.mark.slow
def test_a_newcomer_gets_to_a_verdict_and_a_test_in_three_minutes(tmp_path):
    assert len(TYPED) <= 12
    assert BROWSER, "no browser is installed"
    contents, shown, start = saved(), [], time.monotonic()
    for line in TYPED:
        began = time.monotonic()
        text, status = typed(line, tmp_path, contents)
        shown.append((line, text, status))
        print(f"{time.monotonic() - began:6.1f} s  {line}")
        if not line.endswith("pytest test_average.py"):
            assert status == 0, text
    took = time.monotonic() - start
    print(f"{took:6.1f} s  in all, {len(TYPED)} lines")
    said = {line: (text, status) for line, text, status in shown}
    assert "average_age: refuted" in said["own/bin/python average.py"][0]
    page = said["browser report/report.html"][0]
    assert "<svg" in page
    assert "refuted" in page
    before, after = ((text, status) for line, text, status in shown if "pytest test_" in line)
    assert before[1] == 1
    assert "What leaked" in before[0]
    assert after[1] == 0, after[0]
    assert took <= 180
