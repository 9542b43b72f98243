"""What one process found and others bear out: which finding each answer is about."""

from __future__ import annotations

import pytest

from dpaudit.freezing.outputs import flatten_output
from dpaudit.replaying import processes
from dpaudit.replaying.counting import OutputEvent
from dpaudit.replaying.digits import in_four_digits
from dpaudit.replaying.processes import (
    OtherProcesses,
    ProcessRepetition,
    constant_of,
    judge_in_processes,
    of_one_process,
)

COUNTED = {"constant": ["number", "dataset", 0, "x"], "evidence": {"counted": {}}}
BY_LAW = {"constant": None, "evidence": {"event": {"conditions": [{"place": 0}, {"place": 2}]}}}
VARIES = {"constant": None, "evidence": None, "reads": ("text", 0)}


def finding(tier="proof", epsilon=2.0, held=False, **given):
    plain = {"kind": "k", "words": "w", "reads": None, "constant": None, "evidence": None}
    return plain | {"tier": tier, "epsilon": epsilon, "held": held} | given


def tiers(*findings, kept=(), again=None, **said):
    """Return the tiers that are left, in the order of the findings, and what was asked for."""
    asked = []

    def answer(name, usual):
        def given(*what):
            asked.append((name, *what))
            return said.get(name, usual(*what))

        return given

    there = OtherProcesses(
        answer("again", lambda: list(findings) if again is None else again),
        answer("constants", lambda ones: [True for _ in ones]),
        answer("answers", lambda reads: [ProcessRepetition(True, False) for _ in reads]),
        answer("unmoved", lambda parts: [True for _ in parts]),
        answer("beyond_data", lambda: []),
    )
    held = [dict(one) for one in findings]
    found = judge_in_processes(held, kept, there)
    assert sorted(map(id, found)) == sorted(map(id, held))
    for one in held:
        assert (one["tier"] == "withheld") <= (one["epsilon"] is None and one["evidence"] is None)
    return [one["tier"] for one in held], asked


def test_what_every_process_bears_out_stands_and_each_is_asked_for_what_it_is_about():
    made = [finding(**COUNTED), finding(**BY_LAW), finding(**VARIES), finding("hint")]
    found, asked = tiers(*made)
    assert found == ["proof", "proof", "proof", "hint"]
    assert ("constants", [COUNTED["constant"]]) in asked
    assert ("answers", [["text", 0]]) in asked
    assert [name for name, *_ in asked].count("again") == 1
    assert tiers(finding("hint"))[1] == tiers(finding("withheld", None))[1] == []
    assert "again" not in [name for name, *_ in tiers(finding(**COUNTED))[1]]


def test_a_file_that_is_written_and_read_withholds_all_and_nothing_more_is_asked():
    found, asked = tiers(finding(**COUNTED), finding("violation", **BY_LAW), kept=["a.txt"])
    assert (found, asked) == (["withheld", "withheld"], [])


def test_each_answer_is_about_its_own_finding():
    made = [finding(**BY_LAW), finding(**COUNTED), finding("violation", **COUNTED)]
    assert tiers(*made, constants=[True, False])[0] == ["proof", "proof", "withheld"]
    assert tiers(*made, constants=[False, True])[0] == ["proof", "withheld", "violation"]
    assert tiers(*made, again=[])[0] == ["withheld", "proof", "violation"]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (finding(**BY_LAW), True),
        (finding(epsilon=2.09, **BY_LAW), True),
        (finding(epsilon=2.2, **BY_LAW), False),
        (finding(epsilon=float("inf"), **BY_LAW), False),
        (finding("violation", **BY_LAW), False),
        (finding(**VARIES), False),
        (finding("hint", **BY_LAW), False),
    ],
)
def test_a_second_replay_has_to_find_as_much_by_laws(other, same):
    found, _ = tiers(finding(**BY_LAW), again=[other])
    assert found == (["proof"] if same else ["withheld"])


def test_a_second_replay_has_to_find_the_same_sort_of_count():
    assert tiers(finding(**VARIES), again=[finding(epsilon=9.0, **VARIES)])[0] == ["proof"]
    assert tiers(finding(**VARIES), again=[finding(**VARIES | {"kind": "z"})])[0] == ["withheld"]
    infinite = finding(epsilon=float("inf"), **BY_LAW)
    assert tiers(infinite, again=[infinite])[0] == ["proof"]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("come_back", [True, False])
@pytest.mark.parametrize("beyond", [[], [("file", "a.txt")]])
def test_a_count_is_withheld_of_what_a_process_keeps_or_may_read(kept, come_back, beyond):
    said = {"answers": [ProcessRepetition(come_back, kept)], "beyond_data": beyond}
    stands = not kept and not (come_back and beyond)
    assert tiers(finding(**VARIES), **said)[0] == (["proof"] if stands else ["withheld"])


def test_a_constant_may_be_read_beside_the_data_and_a_law_may_not():
    beyond = {"beyond_data": [("file", "a.txt")]}
    assert tiers(finding(**COUNTED), finding(**BY_LAW), **beyond)[0] == ["withheld", "proof"]


def test_where_a_process_keeps_a_state_what_is_read_has_to_be_unmoved():
    two = [finding(held=True, **BY_LAW), finding(held=True, **COUNTED)]
    found, asked = tiers(*two)
    assert found == ["proof", "proof"]
    assert asked[0] == ("unmoved", [["number", 0], ["number", 2], ["number", 0]])
    assert tiers(*two, unmoved=[True, False, True])[0] == ["withheld", "proof"]
    assert tiers(*two, unmoved=[False, True, True])[0] == ["withheld", "proof"]
    assert tiers(*two, unmoved=[True, True, False])[0] == ["proof", "withheld"]
    along = {"beyond_data": [("value carried along", "x")]}
    assert tiers(*two, **along)[0] == ["withheld", "withheld"]
    assert tiers(finding(held=True, **VARIES))[0] == ["withheld"]
    free = [finding(**BY_LAW), finding(held=True, **BY_LAW)]
    assert tiers(*free, unmoved=[False, False])[0] == ["proof", "withheld"]


def test_code_that_no_other_process_has_proves_nothing():
    made = [finding(), finding("violation"), finding("hint")]
    assert [one["tier"] for one in of_one_process(made)] == ["withheld", "withheld", "hint"]


# Constants elsewhere


def outputs(*values):
    return [flatten_output(one) for one in values]


@pytest.mark.parametrize(
    ("own", "other", "holds"),
    [
        ((7.0, 7.0), (8.0, 9.0), True),
        ((7.0, 8.0), (8.0, 9.0), False),
        ((8.0, 7.0), (9.0, 9.0), False),
        ((7.0, 7.0), (8.0, 7.0), False),
        ((7.0, 7.0), (7.0, 8.0), False),
        ((8.0, 8.0), (9.0, 9.0), False),
    ],
)
@pytest.mark.parametrize("favours", ["dataset", "neighbour"])
def test_a_constant_holds_in_all_runs_of_its_side_and_in_none_of_the_other(
    own, other, holds, favours
):
    constant = constant_of(OutputEvent("number", favours, 7.0))
    sides = outputs(*own), outputs(*other)
    sides = sides if favours == "dataset" else sides[::-1]
    assert processes._is_constant_held(constant, *sides) is holds
    assert constant_of(None) is None
    assert constant_of(OutputEvent("number", favours, 8.0)) != constant


def test_a_constant_holds_where_every_process_says_so(monkeypatch):
    monkeypatch.setattr(
        processes, "_run_in_fresh_processes", lambda *_: [[True, True], [True, False]]
    )
    assert processes.in_processes(None, None, 0) == [True, False]


def test_calls_elsewhere_are_of_both_datasets_with_their_own_seeds(monkeypatch):
    seeds = []

    def really(function, data, seed):
        seeds.append((data, seed))
        return flatten_output(7.0 if data == "d" else 8.0)

    monkeypatch.setattr(processes, "really", really)
    constant = constant_of(OutputEvent("number", "dataset", 7.0))
    away = constant_of(OutputEvent("number", "neighbour", 7.0))
    assert processes.check_constants([constant, away], None, ("d", "n"), 100) == [True, False]
    assert seeds == [("d", 100), ("d", 101), ("n", 102), ("n", 103)]


def test_what_comes_back_and_what_is_kept_is_told_apart():
    fresh = [[["a", "b", "c"], ["d", "e", "f"]], [["g", "h", "i"], ["j", "k", "l"]]]
    assert processes._compare_process_answers(fresh) == ProcessRepetition(False, False)
    back = [[["a", "b", "c"], ["d", "d", "f"]], [["g", "h", "i"], ["j", "k", "l"]]]
    assert processes._compare_process_answers(back).come_back
    kept = [[[f"{n}"] * 32, [f"o{n}"] * 32] for n in range(8)]
    assert processes._compare_process_answers(kept) == ProcessRepetition(True, True)
    same = [[["a"] * 32, ["b"] * 32] for _ in range(8)]
    assert processes._compare_process_answers(same) == ProcessRepetition(True, False)
    one_side = [[[f"{n}-{m}" for m in range(32)], [f"o{n}"] * 32] for n in range(8)]
    assert processes._compare_process_answers(one_side) == ProcessRepetition(True, True)


# Files


def test_four_digits_are_rounded_as_is_said():
    assert in_four_digits(1.23451, "ROUND_FLOOR") == 1.234
    assert in_four_digits(1.23451, "ROUND_CEILING") == 1.235
    assert in_four_digits(-1.23451, "ROUND_FLOOR") == -1.235
    assert in_four_digits(0.0, "ROUND_CEILING") == 0.0
    assert in_four_digits(99995.0, "ROUND_HALF_EVEN") == 100000.0
