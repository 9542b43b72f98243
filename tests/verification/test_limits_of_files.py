"""What a certificate may ask for, and by what it knows records: ends of every limit."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

import dpaudit.verification.mechanism as mechanism
import dpaudit.verification.redrawn_counts as redrawn_counts
from dpaudit.errors import DataError
from dpaudit.extension.settings import Settings
from dpaudit.redaction import compute_data_fingerprint
from dpaudit.verification import Document


def document(**instance):
    return Document(
        path="c.json", claim="c", kind="mechanism", parameters={}, assumptions={}, quantities={},
        instance=instance,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"trials": 10**6 + 1}, "trials"),
        ({"candidate_pairs": 1001}, "pairs"),
        ({"unit": 10**6 + 1}, "unit"),
        ({"looks": [(100, 0.5), (10**6 + 1, 0.5)]}, "looks"),
        ({"parameters": {"rows": 10**5 + 1}}, "parameters.rows"),
        ({"parameters": {"rows": 1e9}}, "parameters.rows"),  # which is read as an integer
        ({"data_options": {"rows": 10**5 + 1}}, "data_options.rows"),
        ({"time": 5.0}, "time"),
    ],
)
def test_more_work_than_an_honest_file_asks_for_is_refused(settings, name):
    with pytest.raises(DataError, match=rf"settings\.{name}"):
        redrawn_counts._refuse_work(document(), Settings(**settings))
    most = {
        "trials": 10**6, "candidate_pairs": 1000, "unit": 10**6, "looks": [(10**6, 1.0)],
        "parameters": {"rows": 10**5, "scale": 1e5 + 0.5, "name": "a"},
        "data_options": {"rows": 10**5},
    }  # fmt: skip
    redrawn_counts._refuse_work(document(), Settings(**most))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", "breast-cancer"),
        ("data_options", {"rows": 3}),
        ("parameters", {"factor": 0.5}),
        ("candidate_pairs", 7),
    ],
)
def test_a_mechanism_of_ones_own_has_no_settings_of_a_claim(monkeypatch, name, value):
    usual = Settings(trials=500)
    monkeypatch.setattr(mechanism, "settings_of", lambda *_: usual)
    assert mechanism._settings(document(), None) is usual
    odd = replace(usual, **{name: value})
    monkeypatch.setattr(mechanism, "settings_of", lambda *_: odd)
    with pytest.raises(DataError, match=rf"settings\.{name}: .*no claim has it"):
        mechanism._settings(document(), None)


@pytest.mark.parametrize(
    ("salt", "right"),
    [("00" * 7, False), ("00" * 8, True), ("00" * 64, True), ("00" * 65, False), ("xy", False),
     (None, False), ("0" * 15, False)],
)  # fmt: skip
def test_records_are_known_by_hashes_with_a_salt_of_at_least_eight_bytes(salt, right):
    sides = {"dataset": [1.0], "neighbour": [2.0]}
    pair = SimpleNamespace(**sides)
    held = {"salt": salt}
    if right:
        held |= {
            name: compute_data_fingerprint(one, bytes.fromhex(salt)) for name, one in sides.items()
        }
        assert mechanism._other_records(document(pair=held), pair) == []
        swapped = SimpleNamespace(dataset=[2.0], neighbour=[1.0])
        found = mechanism._other_records(document(pair=held), swapped)
        assert [one.partition(":")[0] for one in found] == ["dataset", "neighbour"]
    else:
        with pytest.raises(DataError, match=r"pair\.salt"):
            mechanism._other_records(document(pair=held), pair)
