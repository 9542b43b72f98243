"""A package that is installed as a third party's is: a distribution with an entry point."""

import shutil
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return the card's module, installed beside dpaudit for one test."""
    site = tmp_path / "site"
    info = site / "toy-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dpaudit.packages]\ntoy = toy_card:PACKAGE\n")
    for name in ("toy_card.py", "toy_mechanisms.py"):
        shutil.copy(HERE / name, site / name)
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "toy_card", raising=False)
    import toy_card

    yield toy_card
    sys.modules.pop("toy_card", None)
