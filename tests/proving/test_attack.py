"""The prover under attack: nothing that it proves is beaten, and whatever is wrong is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.program import PathProgram
from dpaudit.proving.universe import Part, Universe

from .attack import costs, planted
from .attack.__main__ import main
from .attack.campaign import Journal, Tally, attack_safely, run_campaign
from .attack.levels import attack_program
from .attack.search import CHEAP, FULL, Attack, Outcome
from .attack.selections import attack_choice
from .attack.traced import attack_function

QUICK = replace(CHEAP, refined=0)


def attack_all(first, end, effort):
    """Return the tally of a range of seeds."""
    tally = Tally()
    for seed in range(first, end):
        tally.add(seed, attack_program(seed, effort))
    return tally


# --- nothing is beaten


def test_no_claim_about_a_program_is_beaten():
    tally = attack_all(0, 300, QUICK)
    assert tally.breaks == {}
    assert tally.counts["with a proof"] > 200
    assert tally.counts["tight nodes"] > 1000


def test_no_refined_claim_about_a_program_is_beaten():
    tally = attack_all(1000, 1030, CHEAP)
    assert tally.breaks == {}


def test_no_cost_of_releases_is_beaten():
    found = [costs.attack_releases(seed) for seed in range(25)]
    assert [seed for seed, one in enumerate(found) if one.is_beaten] == []
    proved = [one for one in found if one.proved]
    assert len(proved) > 8
    assert sum(one.found > 0.999 * one.proved for one in proved) > 2


def test_no_cost_of_choices_is_beaten():
    found = [attack_choice(seed) for seed in range(12)]
    assert [seed for seed, one in enumerate(found) if one.is_beaten] == []
    assert sum(one.proved is not None for one in found) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 200))
def test_no_cost_of_many_choices_is_beaten(first):
    assert [seed for seed in range(first, first + 200) if attack_choice(seed, FULL).is_beaten] == []


@pytest.mark.parametrize("seed", [101201, 138591, 170964, 220406])
def test_a_product_of_truth_values_is_no_length(seed):
    """It is whether any is true: four programs of a campaign took it for their number."""
    assert not attack_program(seed).breaks


@pytest.mark.parametrize("seed", [400118, 563318])
def test_one_record_that_broadcasting_repeats_counts_as_often(seed):
    """A refinement read the only record's one row where the product with a mask has several."""
    assert not attack_program(seed).breaks


@pytest.mark.parametrize("seed", [405461, 751000])
def test_a_root_above_minus_zero_is_as_steep_as_one_above_zero(seed):
    """The slope at an end of -0.0 came out as minus infinity: a bound of 0, or a crash."""
    assert not attack_program(seed).breaks


@pytest.mark.parametrize("seed", [496905, 776986])
def test_the_judge_takes_whole_powers_of_negative_balls_as_balls(seed):
    """It took the nearest double for them, so that 0 was beaten by 1e-18."""
    assert not attack_program(seed).breaks


def test_nothing_is_read_of_an_empty_axis():
    assert not attack_program(80866).breaks


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10_000, 500))
def test_no_claim_about_many_programs_is_beaten(first):
    tally = attack_all(first, first + 500, FULL)
    assert tally.breaks == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 3000, 300))
def test_no_cost_of_many_releases_is_beaten(first):
    seeds = range(first, first + 300)
    assert [seed for seed in seeds if costs.attack_releases(seed, FULL).is_beaten] == []


def attack_functions(seeds):
    found = [attack_function(seed) for seed in seeds]
    assert [finding for one in found for finding in one.findings] == []
    assert [str(broken) for one in found for broken in one.breaks] == []
    return found


def test_no_proof_of_a_function_is_beaten():
    found = attack_functions(range(10))
    assert sum(one.stage == "proved" for one in found) >= 2
    assert sum(one.stage == "refused" for one in found) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 100))
def test_no_proof_of_many_functions_is_beaten(first):
    attack_functions(range(first, first + 100))


# --- what is wrong is found


@pytest.mark.parametrize("name", sorted(planted.PLANTED))
def test_a_wrong_rule_is_found_within_few_programs(name):
    with planted.PLANTED[name]():
        assert any(attack_program(seed, QUICK).breaks for seed in range(2000))


@pytest.mark.parametrize("name", sorted(planted.PLANTED_COSTS))
def test_a_wrong_cost_is_found_within_few_programs(name):
    with planted.PLANTED_COSTS[name]():
        assert any(costs.attack_releases(seed).is_beaten for seed in range(500))


@pytest.mark.parametrize("name", sorted(planted.PLANTED_CHOICES))
def test_a_wrong_cost_of_a_choice_is_found_within_few_programs(name):
    with planted.PLANTED_CHOICES[name]():
        assert any(attack_choice(seed).is_beaten for seed in range(300))


# --- the campaign


def test_what_a_journal_holds_is_not_done_again(tmp_path):
    journal, attacked = Journal(tmp_path / "attack.jsonl", "core"), []

    def attack(seed):
        attacked.append(seed)
        return Outcome(proved=1)

    for _ in range(2):
        *_, (stop, tally) = run_campaign(0, 1500, journal, attack)
    assert attacked == list(range(1500))
    assert (stop, tally.counts["programs"], tally.counts["proved nodes"]) == (1500, 1500, 1500)
    *_, (_, other) = run_campaign(0, 10, Journal(journal.path, "other"), attack)
    assert other.counts["programs"] == 10


def test_the_command_says_what_is_beaten(capsys, monkeypatch):
    assert main(["--seeds", "0:3"]) == 0
    with planted.PLANTED["half a sum"]():
        assert main(["--seeds", "0:3", "--show"]) == 1
    assert "sum" in capsys.readouterr().out


def test_a_prover_that_fails_is_told(monkeypatch):
    def fail(*_):
        raise RuntimeError("lost")

    monkeypatch.setattr(Attack, "run", fail)
    found = attack_safely(attack_program, 0)
    assert found.crash.startswith("RuntimeError: lost (test_attack.py:")


# --- what it has found


def test_an_entry_for_each_pair_of_unknown_records_is_refused():
    program = PathProgram()
    x = program.add("data", shape=(None,), part="")
    square = program.add("broadcast", [x], shape=(None, None))
    zero = program.add("constant", shape=(), value=0.0)
    masked = program.add(
        "where", [program.add("equal", [x, zero], shape=(None,)), square, zero], shape=(None, None)
    )
    total = program.add("sum", [masked], shape=(), axis=None)
    part = Part("", (None,), np.zeros(()), np.ones(()))
    analysis = Analysis(program, Universe((part,), None, "add-remove"))
    assert "each pair of records" in str(analysis.facts(total).refusal)


def test_a_total_of_public_rows_tells_how_many_records_there_are():
    program = PathProgram()
    x = program.add("data", shape=(None,), part="")
    ends = [program.add("constant", shape=(), value=one) for one in (-2.0, -0.3, 1.0)]
    is_below = program.add("less", [x, ends[0]], shape=(None,), dtype="bool")
    chosen = program.add("where", [is_below, *ends[1:]], shape=(None,))
    total = program.add("sum", [chosen], shape=(), axis=None)
    part = Part("", (None,), np.zeros(()), np.ones(()))
    analysis = Analysis(program, Universe((part,), None, "add-remove"))
    assert analysis.distance(total).l1 >= 1


def test_whole_numbers_that_may_wrap_around_are_refused():
    part = Part("", (3,), np.zeros(()), np.asarray(100.0), is_integer=True)
    for dtype, is_refused in (("int8", True), ("int16", False)):
        program = PathProgram()
        x = program.add("data", shape=(3,), dtype="int8", part="")
        twice = program.add("add", [x, x], shape=(3,), dtype=dtype)
        facts = Analysis(program, Universe((part,), 3, "replace")).facts(twice)
        assert (facts.refusal is not None) is is_refused


def test_a_floor_steps_between_ends_that_are_less_than_one_apart():
    program = PathProgram()
    x = program.add("data", shape=(1,), part="")
    floor = program.add("floor", [x], shape=(1,))
    part = Part("", (1,), np.asarray(0.5), np.asarray(1.25))
    assert Analysis(program, Universe((part,), 1, "replace")).distance(floor).linf == 1
