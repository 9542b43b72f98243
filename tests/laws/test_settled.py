"""What an import read counts where code may refer to it: by a number, a cache, or a late name."""

from __future__ import annotations

import sys
from functools import lru_cache, partial

import pytest

from dpaudit.watching.import_results import refers_to_results

MODULE = """
import json
from functools import lru_cache
from pathlib import Path

SCALE = 2.0
NOISE = json.loads(Path(__file__).with_name("noise.json").read_text())


class Vault:
    def __init__(self):
        self.noise = dict(NOISE)


class Config:
    seed = NOISE["1"]


class Written:
    def __call__(self, data):
        return sum(data)


VAULT = Vault()


@lru_cache
def key():
    return bytes(3)


@lru_cache
def cold():
    return bytes(3)


key()


def plain(data):
    return sum(data) / SCALE


def by_an_attribute(data):
    return sum(data) + VAULT.noise["1"]


def by_a_class(data):
    return sum(data) + Config.seed


def by_a_default(data, noise=NOISE["1"]):
    return sum(data) + noise


def by_a_cache(data):
    return sum(data) + len(key())


def by_a_cold_cache(data):
    return sum(data) + len(cold())


def by_an_import(data):
    from json import loads

    return sum(data) + loads("1")


def by_a_worked_out_name(data):
    return sum(data) + globals()["NO" + "ISE"]["1"]


def by_a_helper(data):
    return by_an_attribute(data)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a module of a user that read a file of small numbers."""
    (tmp_path / "noise.json").write_text('{"1": 3}')
    (tmp_path / "reads_noise.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "reads_noise", raising=False)
    import reads_noise

    yield reads_noise
    sys.modules.pop("reads_noise", None)


@pytest.mark.parametrize(
    ("name", "refers"),
    [
        ("plain", False),
        ("by_an_attribute", True),
        ("by_a_class", True),
        ("by_a_default", True),
        ("by_a_cache", True),
        ("by_a_cold_cache", False),
        ("by_an_import", True),
        ("by_a_worked_out_name", True),
        ("by_a_helper", True),
    ],
)
def test_code_refers_to_what_its_import_read(module, name, refers):
    assert refers_to_results(getattr(module, name)) is refers


def test_an_object_without_values_refers_to_none(module):
    assert not refers_to_results(module.Written())
    assert refers_to_results(partial(module.by_a_default, noise=4))
    assert refers_to_results(lru_cache(module.by_an_attribute))
