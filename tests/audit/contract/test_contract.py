"""A user's slip is not a refutation: outputs that depend on one another accuse nobody."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.api import own_case
from dpaudit.auditing.outcome.error_budget import whole_report
from dpaudit.auditing.run import audit_case
from dpaudit.errors import MechanismError
from dpaudit.execution import Executor, available_cores
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_reference
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.report import render
from dpaudit.report.schema import Environment

from . import slips
from .broken import BROKEN
from .slips import FILES, FLIPS, SLIPS

PAIR = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)
SEEDS = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
)


@pytest.fixture(autouse=True)
def noise_of_this_test(monkeypatch):
    """Give files of noise a name that only this test has."""
    name = uuid.uuid4().hex
    monkeypatch.setenv("SLIPS", name)
    monkeypatch.syspath_prepend(Path(__file__).parent)  # where workers find the modules too
    yield
    for path in FILES.glob(f"slip-{name}.*"):
        path.unlink()


def audited(reference, seed=0, isolation=None, **given):
    """Return the result for a mechanism that is named, or why there is none."""
    mechanism = isolate_reference(reference, isolation or Isolation())
    epsilon = given.pop("epsilon", 1.0)
    case, statement = own_case(mechanism, PAIR, claimed=ApproximateDP(epsilon, 0.0))
    settings = {"trials": 4096, "confidence": 0.999999, "seed": seed, "delta": 0.0} | given
    executor = Executor(workers=available_cores())
    try:
        return audit_case(case, Settings(**settings), statement=statement, executor=executor)
    except MechanismError as error:
        return str(error)


def verdict(reference, seed=0, **given):
    found = audited(reference, seed, **given)
    return "withheld" if isinstance(found, str) else found.verdict


@pytest.mark.sampled(4)
@SEEDS
@pytest.mark.parametrize("name", SLIPS)
def test_no_private_mechanism_is_accused_for_a_slip(name, seed):
    assert verdict(f"slips:{name}", seed) != "refuted"


@pytest.mark.slow
@SEEDS
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * one.startswith("Rare")) for one in FLIPS]
)
@pytest.mark.parametrize("until_refuted", [False, True])
def test_no_flip_that_is_kept_is_a_refutation(name, until_refuted, seed):
    given = {"epsilon": getattr(slips, name).epsilon, "until_refuted": until_refuted}
    sure = 0.95 if until_refuted else 0.999999
    assert verdict(f"slips:{name}", seed, confidence=sure, **given) != "refuted"


@pytest.mark.sampled(1)
@SEEDS
@pytest.mark.parametrize("name", BROKEN)
def test_no_broken_mechanism_that_keeps_the_contract_is_let_off(name, seed):
    assert verdict(f"broken:{name}", seed) == "refuted"


def test_there_are_thirty_of_either():
    assert (len(set(SLIPS)), len(set(BROKEN))) >= (30, 30)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("OncePerCall", "draw separate noise for every output"),
        ("OncePerInstance", "draw no noise while the mechanism is imported or made"),
        ("SharedByTheSides", "the two datasets share their noise"),
        ("OppositePairs", "not in pairs or in a chain"),
        ("SeededOnce", "seed no generator inside"),
        ("File", "a file may carry noise from call to call"),
    ],
)
def test_a_withheld_verdict_says_what_to_write_instead(name, words):
    found = audited(f"slips:{name}")
    assert found.verdict == "withheld"
    assert (found.measured.lower, found.measured.upper) == (0.0, None)
    assert words in found.reason


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "name",
    [
        *("OncePerCall", "OncePerInstance", "OncePerDataset", "Chain", "CommonHalfOfTheTime"),
        *("LongListInOrder", "FoursAlike"),
    ],
)
def test_bets_accuse_nobody_for_a_slip(name, seed):
    assert verdict(f"slips:{name}", seed, until_refuted=True, confidence=0.9999) != "refuted"


@pytest.mark.slow
def test_bets_still_refute():
    found = audited("broken:HalfTheNoise", until_refuted=True)
    assert found.verdict == "refuted"
    assert all(check.passed for check in found.contract)


@pytest.mark.slow
def test_certifying_outputs_come_from_eight_processes_with_instances_of_their_own():
    found = audited("broken:HalfTheNoise")
    assert any("drawn in 8 fresh processes, a call of each in turn" in note for note in found.notes)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["NoNoise", "SeededByTheData", "HalfTheNoise"])
def test_bets_let_nothing_off(name):
    assert verdict(f"broken:{name}", until_refuted=True) == "refuted"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NoNoise", "again on 1024 outputs on each dataset, one for each call, in 64 fresh"),
        ("SeededByTheData", "it is a function of the data"),
    ],
)
def test_what_hardly_varies_is_drawn_alone(name, words):
    found = audited(f"broken:{name}")
    assert words in found.notes[-1]
    names = [check.name for check in found.contract]
    assert any(name.startswith("outputs drawn alone") for name in names)
    assert any(name.startswith("the first outputs of") for name in names)


def test_noise_that_a_process_keeps_is_no_function_of_the_data():
    assert "the same outputs came from two different generators" in audited("slips:CachedBySize")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["OncePerCall", "OncePerInstance", "OppositePairs", "FlipPerCall"])
def test_without_a_process_of_its_own_the_calls_are_checked(name):
    assert verdict(f"slips:{name}", isolation=Isolation(in_process=True)) == "withheld"


@pytest.mark.slow
def test_the_package_itself_is_not_checked():
    assert dpaudit.auditing.audit_claim("huang2020-theorem6", Settings(trials=200)).contract == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "repeatable"),
    [("slips:GlobalGenerator", False), ("broken:HalfTheNoise", True), ("broken:NoNoise", True)],
)
def test_randomness_of_its_own_is_noted_and_the_seed_withdrawn(name, repeatable):
    found = audited(name, trials=500)
    assert found.repeatable == repeatable
    assert any("randomness or a state of its own" in note for note in found.notes) != repeatable
    report = whole_report([found], Environment.of_this_machine(1, 0.0))
    for page in (render.render_html(report), render.render_markdown(report)):
        assert ("Seed 0." in page) == repeatable
        assert ("which no seed repeats" in page) != repeatable


def test_files_that_are_only_read_or_made_in_a_call_are_no_state(monkeypatch, tmp_path):
    monkeypatch.setenv("SLIPS", str(tmp_path / "settings"))
    with closing(sqlite3.connect(tmp_path / "settings.sqlite")) as kept, kept:
        kept.execute("create table scale (value real)")
        kept.execute("insert into scale values (2.0)")
    found = audited("files:ReadsAndWrites", trials=500)
    assert found.verdict == "not refuted"
    assert found.contract[0].passed


@pytest.mark.sampled(1)
@pytest.mark.parametrize("trials", [100, 500])
def test_short_audits_have_calls_to_compare(trials):
    assert verdict("slips:OncePerCall", trials=trials, confidence=0.95) == "withheld"
    assert verdict("broken:NoNoise", trials=trials, confidence=0.95) == "refuted"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "words"),
    [("slips:OncePerCall", "checks failed."), ("broken:HalfTheNoise", "checks passed.")],
)
def test_a_report_shows_what_was_checked(name, words):
    report = whole_report([audited(name)], Environment.of_this_machine(1, 0.0))
    shown = render.render_html(report), render.render_markdown(report)
    assert all(words in page for page in shown)
    assert all(("✗ failed" in page) == ("slips" in name) for page in shown)
    assert ('class="badge withheld">? withheld' in shown[0]) == ("slips" in name)
