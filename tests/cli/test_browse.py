"""What is listed by kind, and what the shell completes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpaudit.cli import completion


def listed(dpaudit, *what):
    return json.loads(dpaudit("list", *what, "--json").out)


ROOMS = ("claims", "distinguishers", "attacks", "figures", "releases", "papers")


@pytest.mark.parametrize("what", ROOMS)
def test_one_room_is_listed_as_it_is_among_all(dpaudit, what):
    assert listed(dpaudit, what) == {what: listed(dpaudit)[what]}


def test_claims_of_a_kind_are_all_of_that_kind_and_together_all_claims(dpaudit):
    names = []
    for kind in ("privacy", "sensitivity", "property"):
        claims = listed(dpaudit, kind)["claims"]
        assert {claim["kind"] for claim in claims} == {kind}
        names += [claim["name"] for claim in claims]
    assert sorted(names) == [claim["name"] for claim in listed(dpaudit)["claims"]]


def test_the_tables_of_one_room_leave_the_others_out(dpaudit):
    ran = dpaudit("list", "attacks")
    assert "linear-classifier" not in ran.out
    assert "record-reconstruction" in ran.out


def test_an_unknown_kind_is_named_with_what_was_meant(dpaudit):
    ran = dpaudit("list", "claim")
    assert ran.status == 2
    assert "did you mean 'claims'?" in ran.err


def test_targets_are_claims_and_files_of_audits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "huang.toml").touch()
    (tmp_path / "huang.csv").touch()
    assert completion.complete_targets("huang2020-t") == [
        "huang2020-theorem4",
        "huang2020-theorem6",
        "huang2020-theorem7",
    ]
    assert "huang.toml" in completion.complete_targets("huang")
    assert "huang.csv" not in completion.complete_targets("huang")
    assert completion.complete_targets("[") == []


def test_every_name_of_what_is_installed_completes_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # holds no file
    from dpaudit.extension.registry import (
        ATTACKS,
        DISTINGUISHERS,
        FIGURES,
        PAPERS,
        RELEASES,
    )

    completions = {
        completion.complete_distinguishers: (DISTINGUISHERS,),
        completion.complete_attacks: (ATTACKS, DISTINGUISHERS),
        completion.complete_releases: (RELEASES,),
        completion.complete_figures: (FIGURES,),
        completion.complete_papers: (PAPERS,),
    }
    for complete, rooms in completions.items():
        names = [name for room in rooms for name in room.all()]
        assert complete("") == sorted(names)
        assert all(name in complete(name) for name in names)


def test_what_has_a_page_completes_itself(dpaudit):
    from dpaudit.extension.registry import ATTACKS, CLAIMS, DISTINGUISHERS, PAPERS, RELEASES

    names = {name for room in (CLAIMS, ATTACKS, DISTINGUISHERS, RELEASES) for name in room.all()}
    rows = {row.name for paper in PAPERS.all().values() for row in paper.rows}
    assert completion.complete_pages("") == sorted(names | rows)


def test_the_shell_completes_a_claim():
    asked = {
        "_DPAUDIT_COMPLETE": "complete_bash",
        "COMP_WORDS": "dpaudit audit huang2020-l",
        "COMP_CWORD": "2",
    }
    command = Path(sys.executable).with_name("dpaudit")
    ran = subprocess.run(
        [command], env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == ["huang2020-lemma5"]
