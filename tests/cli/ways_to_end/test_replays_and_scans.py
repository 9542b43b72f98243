"""Replays, queries, and scans of a package."""

import shutil
from pathlib import Path

import pytest

from .ways import (
    CONTRADICTED,
    FARTHER,
    FELL,
    FOUND_NOTHING,
    FOUND_SOMETHING,
    HELD_TO,
    NO_PROOF,
    NOT_LINEAR,
    NOT_PROVED,
    NOT_RUN,
    STOOD,
    WRITTEN,
    Ways,
)

WAYS = Ways()
CARD = """
from toy_card import BROKEN, CORRECT, package, subject
LATE = subject("slow", parameters=({"epsilon": 1.0, "delay": 3.0},))
PACKAGE = package(*CORRECT, *BROKEN, *map(subject, ("fails", "draws_once")), LATE)
"""
TOY = Path(__file__).parents[2] / "scan"
MODULE = """
def clipped(data, rng):
    return data.clip(0, 1).sum() + rng.laplace(scale=1.0)

def unclipped(data, rng):
    return data.sum() + rng.laplace(scale=1.0)


def nothing(data, rng):
    data.sum() + rng.laplace(scale=1.0)
"""


def replay(here, function):
    (here.folder / "replayed_ways.py").write_text(MODULE)
    (here.folder / "a.csv").write_text("0.25\n0.5\n")
    (here.folder / "b.csv").write_text("0.25\n7.5\n")
    pair = ("--dataset", "a.csv", "--neighbour", "b.csv", "--epsilon", "1")
    return here.run("replay", f"replayed_ways:{function}", *pair)


@WAYS.end(0, STOOD, ".*")
def _a_replay_that_shows_nothing(here):
    return replay(here, "clipped")


@WAYS.end(1, FELL, ".*")
def _a_replay_that_shows_a_flaw(here):
    return replay(here, "unclipped")


@WAYS.end(2, CONTRADICTED, ".*")
def _a_replay_of_what_returns_nothing(here):
    return replay(here, "nothing")


def query(here, *more):
    (here.folder / "queried_ways.py").write_text("def total(data):\n    return data.sum()\n")
    domain = ("--domain", "bounds=[0,1]", "--domain", "records=2", "--relation", "replace-record")
    few = ("--in-process", "--search-calls", "40")
    return here.run("sensitivity", "queried_ways:total", *domain, *few, *more)


@WAYS.end(0, HELD_TO, ".*")
def _a_query_of_which_nobody_claims_anything(here):
    return query(here)


@WAYS.end(0, HELD_TO, ".*")
def _a_query_that_moves_as_far_as_somebody_claims(here):
    return query(here, "--claimed", "1")


@WAYS.end(1, FARTHER, ".*")
def _a_query_that_moves_further(here):
    return query(here, "--claimed", "0.9", "--json")


def views(here, body):
    (here.folder / "viewed_ways.py").write_text(f"def mine(x, rng):\n    return {body}\n")
    return here.run("views", "viewed_ways:mine", "--private", "2", "--in-process")


@WAYS.end(0, WRITTEN, ".*")
def _a_recursion_that_is_linear(here):
    return views(here, "x + rng.normal()")


@WAYS.end(2, NOT_LINEAR, r"error: not linear: viewed_ways\.py:2 in mine: .*")
def _a_recursion_that_is_not_linear(here):
    return views(here, "x * x + rng.normal()")


def proof(here, *words):
    (here.folder / "proved_ways.py").write_text(
        "def mine(x, rng):\n    return (1.0 if x[0] > 0.5 else 0.0) + rng.laplace()\n"
    )
    domain = ("--domain", "bounds=[0,1]", "--domain", "records=2", "--epsilon", "3")
    return here.run(words[0], "proved_ways:mine", *domain, *words[1:], "--in-process")


@WAYS.end(2, NOT_PROVED, ".*")
def _a_proof_that_a_branch_stops(here):
    return proof(here, "prove")


@WAYS.end(2, NO_PROOF, r"error: .*a proof is required.*")
def _an_audit_that_requires_a_proof(here):
    told = ("--relation", "replace-record", "--trials", "200", "--no-store", "--quiet")
    return proof(here, "audit", *told, "--require", "proved")


def scan(here, subject, *more):
    """Scan a package that is installed for this run alone."""
    site = here.folder / "site"
    information = site / "toy-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    entry = "[dpaudit.packages]\ntoy = card_of_ways:PACKAGE\n"
    (information / "entry_points.txt").write_text(entry)
    for name in ("toy_card.py", "toy_mechanisms.py"):
        shutil.copy(TOY / name, site / name)
    (site / "card_of_ways.py").write_text(CARD)
    here.monkeypatch.syspath_prepend(site)
    here.made += ["toy_card", "card_of_ways"]
    few = ("--time", "5", "--trials", "600", "--workers", "1")
    return here.run("scan", "toy", "--subject", subject, *few, *more)


@WAYS.end(0, FOUND_NOTHING, ".*")
def _a_scan_that_finds_nothing(here):
    return scan(here, "laplace_sum")


@WAYS.end(1, FOUND_SOMETHING, ".*")
def _a_scan_that_finds_something(here):
    return scan(here, "no_sensitivity")


@WAYS.end(2, NOT_RUN, "error: fails: withheld: .*")
def _a_scan_of_what_cannot_be_run(here):
    return scan(here, "fails")


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
