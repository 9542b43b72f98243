"""The page shows what the code computes: a part of it here, all of it in the slow suite."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.published import page, run
from benchmarks.published.graphs import GRAPHS

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHOWN = DOCS / "published-bounds.md"
FEW = ("ring", "complete", "star, a leaf looks", "hypercube of 4", "Florentine families")


@pytest.mark.parametrize("name", FEW)
def test_the_page_shows_noise_once(name):
    found = run.worst_of_each_distance(run.once(name, GRAPHS[name]()))
    shown = SHOWN.read_text(encoding="utf-8")
    assert all(f"\n{page.once_line(row)}\n" in shown for row in found)
    assert found


def test_the_page_shows_noise_in_every_round():
    found = list(run.every_round("complete", GRAPHS["complete"]()))
    shown = SHOWN.read_text(encoding="utf-8")
    assert all(f"\n{page.every_line(row)}\n" in shown for row in found)
    assert [row.proof for row in found] == ["exact"]


def test_the_page_shows_conversions():
    shown = SHOWN.read_text(encoding="utf-8")
    assert all(f"\n{page.conversion_line(row)}\n" in shown for row in run.conversions())


def test_a_theorem_is_looser_the_farther_away_one_looks_from():
    found = list(run.theorem(nodes=4, iterations=2, inner_steps=2))
    assert [row.distance for row in found] == [0, 1, 2]
    assert found[0].promised > found[0].exact > found[1].exact > found[2].exact > 0
    assert page.promise_line(found[0]).startswith("| an observer of all messages | 1 | ")
    assert page.promise_line(found[1]).startswith("| a neighbour | 1 | ")
    assert page.promise_line(found[2]).startswith("| a node, 2 edges away | 1 | ")


@pytest.mark.slow
def test_the_page_is_what_is_computed():
    assert run.found().page() == SHOWN.read_text(encoding="utf-8")


ONCE = run.Once(
    "ring", 4, 2, 1, 1, published=0.5, exact=Fraction(1), later=Fraction(1), misread=0.4
)
EVERY = run.Every("ring", 4, 2, 1, 1, summed=2.0, factored=3.0, exact=1.5, proof="exact")


def test_a_number_below_the_exact_one_stands_out():
    assert "| **0.5** |" in page.once_line(ONCE)
    assert "**" not in page.once_line(replace(ONCE, published=1.0))
    assert "| 1.333 | 2 |" in page.every_line(EVERY)


def test_what_is_below_is_counted():
    said = page.counted([ONCE, replace(ONCE, later=Fraction(1, 4)), replace(ONCE, published=1.0)])
    assert "have 3 nodes" in said
    assert "for **2**, for 1 of them" in said
    assert "for 0 if messages are misread" in said
    assert "2 times the published one" in said


def test_what_is_above_what_holds_by_itself_is_counted():
    far = replace(EVERY, distance=2, factored=1.5)
    assert "In 1 rows" in page.loosest([EVERY, far])
    assert "In 0 rows" in page.loosest([replace(EVERY, factored=2.0), far])
    assert "at most 1.000000000 times" in page.loosest([EVERY, far])


def test_a_distance_shows_its_least_ratio():
    other = replace(ONCE, node=3, published=0.25)
    away = replace(ONCE, distance=2)
    assert run.worst_of_each_distance([ONCE, away, other]) == [other, away]


def test_the_picture_has_both_settings_of_one_graph():
    grid = replace(ONCE, graph="grid", published=0.1)
    once, every = page.panels([ONCE, grid], [EVERY], "ring")
    assert [(curve.label, curve.x, curve.y) for curve in once.curves] == [
        ("published", [1], [0.5]),
        ("exact", [1], [1.0]),
    ]
    assert [(curve.label, curve.y) for curve in every.curves] == [
        ("sum", [2.0]),
        ("factored", [3.0]),
        ("exact", [1.5]),
    ]
