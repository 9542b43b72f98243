"""The pages that commands write, in a real browser: `make docs-test`."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import dpaudit.report
from dpaudit.cli.main import main

from .browser import Window, launched

sync_api = pytest.importorskip("playwright.sync_api", reason="run by make docs-test")
pytestmark = pytest.mark.slow

MECHANISMS = """
import numpy as np


def households_with_an_income_below_half_of_the_median_of_the_survey_of_2031(data, rng):
    return len(data) + rng.laplace(scale=0.3)


def count(data, rng):
    return len(data) + rng.laplace()


def total(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace()


SHARED = np.random.default_rng().laplace()


def cached(data, rng):
    return len(data) + SHARED
"""
LONG = "mine.py:households_with_an_income_below_half_of_the_median_of_the_survey_of_2031"
PAIR = "--dataset a.csv --neighbour b.csv --epsilon 1"
QUICK = "--trials 1000 --quiet"
DOMAIN = "--domain bounds=[0,1] --domain records=3 --relation replace-record --epsilon 1"
# A page, the command that writes it, and words of the verdict that it has to show.
WRITTEN = {
    "refuted/report.html": (f"audit {LONG} {PAIR} {QUICK}", 'class="badge refuted"'),
    "not-refuted/report.html": (f"audit mine.py:count {PAIR} {QUICK}", 'class="badge not-refuted"'),
    "proved/report.html": (f"audit mine.py:total {DOMAIN} {QUICK}", 'class="badge proved"'),
    "withheld/report.html": (f"audit mine.py:cached {PAIR} {QUICK}", 'class="badge withheld"'),
    "several/report.html": (f"audit mine.py:count {LONG} {PAIR} {QUICK}", 'class="badge refuted"'),
    "bets/report.html": (f"audit {LONG} {PAIR} {QUICK} --until-refuted", "wealth"),
    "outputs/report.html": (
        "audit --outputs in.csv out.csv --epsilon 1 --quiet",
        'class="badge refuted"',
    ),
    "replay/replay.html": (f"replay {LONG} {PAIR}", "refuted"),
    "sheet/sheet.html": ("sheet refuted not-refuted proved withheld", "not looked at"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the folder in which each command was run, in order."""
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        write_inputs(folder)
        for page, (command, _) in WRITTEN.items():
            with pytest.raises(SystemExit):
                main([*shlex.split(command), "--out", page.partition("/")[0]])
        yield folder


def write_inputs(folder):
    """Write mechanisms, two neighbours, and outputs of both."""
    (folder / "mine.py").write_text(MECHANISMS)
    rng = np.random.default_rng(0)
    for name, records in (("a", "0.2\n0.5\n0.9\n"), ("b", "0.2\n0.5\n")):
        (folder / f"{name}.csv").write_text(records)
    for name, count in (("in", 42), ("out", 41)):
        np.savetxt(folder / f"{name}.csv", count + rng.laplace(scale=0.5, size=2000), fmt="%.6f")


@pytest.fixture(scope="module")
def window():
    with launched(sync_api) as browser:
        yield Window(browser.new_context(offline=True).new_page())


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_fits_says_nothing_and_bars_nobody(window, written, page):
    assert WRITTEN[page][1] in (written / page).read_text(encoding="utf-8")
    assert window.faults(written / page) == []


def test_every_page_that_a_command_writes_is_one_of_these_or_of_the_site():
    templates = Path(dpaudit.report.__file__).with_name("templates").glob("*.html.j2")
    pages = {path.name.partition(".")[0] for path in templates if path.name != "badge.html.j2"}
    here = {Path(page).stem for page in WRITTEN}
    assert pages - here == {"index", "packages", "scan", "selftest"}  # of the site's reports/
