"""The page on adding a claim shows what `dpaudit new claim` writes, and that is what runs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dpaudit.extension.drafting import DraftName, draft_files, write_draft

from .blocks import ROOT, _install_in_place, blocks

PAGE = ROOT / "docs" / "add-a-claim.md"


def test_the_page_shows_every_file_as_it_is_written():
    shown = {block.file: block.text for block in blocks(PAGE) if block.file}
    assert shown == draft_files(DraftName("smith2031-lemma1"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a1-b", "z" * 24 + "-" + "equation-123-45"[:15]])
def test_what_is_written_passes_its_own_checks_whatever_it_is_called(name, tmp_path):
    write_draft(DraftName(name), tmp_path)
    _install_in_place(tmp_path)
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    for words in (
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy"],
        ["pytest", "-q"],
        ["dpaudit", "audit", name, "--trials", "100", "--out", "report"],
        ["dpaudit", "verify", "report/certificate.json"],
        ["dpaudit", "ledger", name.partition("-")[0]],
    ):
        asked = [sys.executable, "-m", *words]
        ran = subprocess.run(
            asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        expected = 1 if "audit" in words else 0
        assert ran.returncode == expected, f"{words}\n{ran.stdout}{ran.stderr}"
