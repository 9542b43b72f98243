"""What tools beside the code are told of a replay: which outcome, how many digits, which line."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

import dpaudit
from dpaudit.errors import InvalidArgument
from dpaudit.replaying import certificate
from dpaudit.replaying.api import _make_folder_importable
from dpaudit.replaying.entries import entries_of
from dpaudit.replaying.result import Replay, ReplayFinding
from dpaudit.replaying.running import Task
from dpaudit.replaying.spending import Spending
from dpaudit.report.entries import SourceLine


def replay(*findings, **given):
    fields = {
        "mechanism": "f", "epsilon": 0.5, "delta": 0.0, "relation": "r", "edit": None, "calls": (),
        "spending": Spending(), "unread": (), "runs": 1, "pairs": 1, "form": "f", "seed": 0,
    }  # fmt: skip
    return Replay(findings=tuple(findings), **fields | given)


def finding(tier="proof", epsilon=None, place=None, call=None):
    return ReplayFinding(
        kind="raw value", tier=tier, words="w", epsilon=epsilon, place=place, call=call
    )


@pytest.mark.parametrize(
    ("epsilon", "shown", "lower"),
    [
        (1.23456, False, {"lower": 1.234}),
        (1.23456, True, {"lower": 1.23456}),
        (math.inf, False, {"lower": "Infinity"}),
        (math.inf, True, {"lower": "Infinity"}),
        (None, False, {}),
    ],
)
def test_a_lower_end_has_the_digits_that_files_have(tmp_path, epsilon, shown, lower):
    found = replay(finding(epsilon=epsilon), shows_records=shown)
    (entry,) = entries_of(found, None, tmp_path, 0.0).entries
    assert entry.values == lower


@pytest.mark.parametrize(
    ("tiers", "outcomes"),
    [
        ([], ["not refuted"]),
        (
            ["proof", "violation", "withheld", "hint"],
            ["refuted", "withheld", "withheld", "hint"],
        ),
    ],
)
def test_every_finding_has_the_outcome_of_its_tier(tmp_path, tiers, outcomes):
    made = entries_of(replay(*map(finding, tiers)), None, tmp_path, 2.5)
    assert [one.outcome for one in made.entries] == outcomes
    assert made.seconds == 2.5
    assert made.summary == f"f is {replay(*map(finding, tiers)).verdict} as (0.5, 0)-DP by two " + (
        "calls with the same noise."
    )


def test_a_finding_is_at_its_line_where_one_file_can_be_meant(tmp_path):
    source = SourceLine(tmp_path / "own.py", 7)
    for name in ("own.py", "sub/one.py", "sub/two.py", "two.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def place(said, where=source):
        return entries_of(replay(finding(place=said)), where, tmp_path, 0.0).entries[0].place

    assert place("own.py:3 in f") == SourceLine(tmp_path / "own.py", 3)
    assert place("one.py:12 in g") == SourceLine(tmp_path / "sub/one.py", 12)
    assert place("two.py:12 in g") == source  # there are two of them
    assert place("gone.py:12 in g") == source
    assert place("no line") == source
    assert place(None) == source
    assert place("own.py:3 in f", None) is None


@pytest.mark.parametrize("tier", ["withheld", "violation"])
def test_what_holds_of_first_calls_alone_says_so(tier):
    assert finding(tier).heading == "raw value"
    assert finding(tier, call="first").heading == "at the first call, raw value"
    found = replay(finding(tier, call="first"), finding(tier), finding("hint"))
    assert found.reasons == ("at the first call, raw value: w", "raw value: w")
    assert replay(finding("hint")).reasons == ()


def test_only_what_states_evidence_about_two_datasets_has_a_certificate(monkeypatch):
    found = {
        "code": ("m:f", "ab" * 32),
        "findings": [
            {"kind": "a", "tier": "proof", "epsilon": 2.0, "evidence": {"event": 1}},
            {"kind": "b", "tier": "hint", "epsilon": None, "evidence": None},
            {"kind": "c", "tier": "violation", "epsilon": None, "evidence": {"declared": 2}},
        ],
    }
    sides = {"dataset": [1.0], "neighbour": [2.0]}
    salts = []
    stated = lambda _, salt, made: salts.append(salt) or dict(sides)  # noqa: E731
    monkeypatch.setattr(certificate, "of_pair", stated)
    pair = SimpleNamespace(relation=SimpleNamespace(name="replace-record"))
    task = Task("m:f", "f", "total", (), 0.5, 0.1, 3)
    made = certificate.certificates_of(found, pair, task, "f")
    assert [one.parameters for one in made] == [
        {"finding": "a", "tier": "proof"}, {"finding": "c", "tier": "violation"},
    ]  # fmt: skip
    assert [one.instance["evidence"] for one in made] == [{"event": 1}, {"declared": 2}]
    for one in made:
        assert (one.relation, one.kind, one.search) == ("replace-record", "replay", {"seed": 3})
        assert one.instance["claimed"] == {"epsilon": 0.5, "delta": 0.1}
        assert one.instance["mechanism"] == {"reference": "m:f", "sha256": "ab" * 32}
        assert one.instance["reading"] == {"form": "f", "read": ["total"], "observe": []}
        assert one.instance["pair"] == sides
    certificate.certificates_of(found, pair, replace(task, seed=4), "f")
    assert len({*salts}) == 2
    sides["neighbour"] = sides["dataset"]
    assert certificate.certificates_of(found, pair, task, "f") == ()
    assert certificate.certificates_of(found | {"code": None}, pair, task, "f") == ()


def test_a_folder_is_imported_from_while_a_replay_needs_it(tmp_path):
    (tmp_path / "module_of_a_replay.py").write_text("value = 3\n")
    with _make_folder_importable(None), pytest.raises(ImportError):
        __import__("module_of_a_replay")
    try:
        with _make_folder_importable(tmp_path):
            assert __import__("module_of_a_replay").value == 3
        assert str(tmp_path) not in sys.path
    finally:
        sys.modules.pop("module_of_a_replay", None)


def test_a_dataset_alone_needs_a_relation():
    with pytest.raises(InvalidArgument, match="relation"):
        dpaudit.replay(lambda data, rng: sum(data) + rng.normal(), [0.5, 1.0], epsilon=1.0)
