"""`dpaudit prove`, and audits that require a proof."""

from __future__ import annotations

import json

import pytest

SOURCE = """
import numpy as np


def noisy_sum(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)


def too_little(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=0.5)


def branching(data, rng):
    noise = rng.laplace(scale=1.0)
    if data[0] > 0.5:
        return 1.0 + noise
    return noise
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path


ASKED = ("--domain", "bounds=[0,10]", "--domain", "records=4", "--epsilon", "1")


def test_the_command_proves_and_ends_with_the_status(dpaudit, module):
    done = dpaudit("prove", "mine.py:noisy_sum", *ASKED, "--out", "here")
    assert (done.status, "proved" in done.out) == (0, True)
    assert json.loads((module / "here" / "report.json").read_text())["verdict"] == "proved"
    done = dpaudit("prove", "mine.py:too_little", *ASKED, "--json")
    assert (done.status, json.loads(done.out)["verdict"]) == (2, "withheld")
    done = dpaudit("prove", "mine.py:branching", *ASKED)
    assert (done.status, "in branching" in done.out) == (2, True)


def test_a_command_may_require_a_proof(dpaudit, module):
    told = ("--relation", "replace-record", "--trials", "400", "--no-store", "--quiet")
    for name, status in (("noisy_sum", 0), ("branching", 2)):
        asked = ("audit", f"mine.py:{name}", *ASKED[:-1], "3", *told, "--require", "proved")
        assert dpaudit(*asked).status == status
    done = dpaudit("audit", "mine.py:noisy_sum", *ASKED, *told, "--require", "proof")
    assert (done.status, "require: got" in done.err) == (2, True)
