"""Twelve examples: the broken is refuted, the repaired is not, and each page shows both."""

import ast
import math
import re

import pytest

from tests.examples import pages


def test_there_are_twelve_each_with_a_page():
    scripts = {path.stem for path in pages.SCRIPTS.glob("*.py")}
    assert scripts == set(pages.ORDER)
    assert len(pages.ORDER) == 12
    assert {path.stem for path in pages.PAGES.glob("*.md")} == {*scripts, "index"}


@pytest.mark.parametrize("name", pages.ORDER)
def test_a_page_is_that_of_its_script(name):
    there = (pages.PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert pages.page(name, pages.shown(there), pages.kept()[name]) == there


def test_the_index_is_that_of_the_pages():
    assert pages.index() == (pages.PAGES / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", pages.ORDER)
def test_a_script_defines_both_and_says_why(name):
    source = pages.script(name).read_text(encoding="utf-8")
    title, text, _ = pages.parts(source)
    assert title
    assert len(text) > 100
    defined = {one.name for one in ast.parse(source).body if isinstance(one, ast.FunctionDef)}
    assert {"broken", "repaired"} <= defined


def test_they_grow():
    lengths = [len(pages.script(name).read_text().splitlines()) for name in pages.ORDER]
    assert lengths[0] == min(lengths)
    assert lengths[-1] == max(lengths)


@pytest.mark.parametrize("name", pages.ORDER)
def test_the_broken_is_refuted_and_the_repaired_is_not(name):
    found = pages.kept()[name]
    assert list(found) == ["broken", "repaired"]
    broken, repaired = found.values()
    assert broken["verdict"] == "refuted"
    assert broken["measured"] > broken["claimed"]
    assert repaired["verdict"] == ("not refuted" if repaired["stop"] else "proved")
    assert repaired["measured"] <= repaired["claimed"]


@pytest.mark.parametrize("name", pages.ORDER)
def test_three_numbers_stand_in_order_and_a_dash_has_its_line(name):
    for one in pages.kept()[name].values():
        assert (one["proved"] is None) == bool(one["stop"])
        assert one["measured"] <= (math.inf if one["proved"] is None else one["proved"])
        assert not one["stop"] or one["stop"]["reason"] in pages.table({"f": one})


def test_ten_repairs_are_proved():
    assert sum(found["repaired"]["verdict"] == "proved" for found in pages.kept().values()) == 10


# `.ci/run` runs all of them.
QUICK = ("five_lines", "randomised_response", "threshold")
SLOW = [pytest.param(one, marks=pytest.mark.slow) for one in pages.ORDER if one not in QUICK]


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_a_script_prints_what_its_page_shows(name):
    there = pages.shown((pages.PAGES / f"{name}.md").read_text(encoding="utf-8"))
    printed, found = pages.ran(name)
    assert without_salt(printed) == without_salt(there)
    assert found == pages.kept()[name]


def without_salt(text):
    """Return a text whose hashes of outputs, salted anew each time, are all alike."""
    return re.sub(r"#[0-9a-f]{8}\b", "#", text)
