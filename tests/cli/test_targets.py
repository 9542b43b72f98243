"""A mechanism of one's own is named by its module, or by its file below this folder."""

from __future__ import annotations

import pytest

from dpaudit.cli.options import reference_of
from dpaudit.errors import InvalidArgument


@pytest.mark.parametrize(
    ("target", "reference"),
    [
        ("mine.py:f", "mine:f"),
        ("./folder/mine.py:Class.method", "folder.mine:Class.method"),
        ("mine:f", "mine:f"),
        ("hu2019-lemma1", "hu2019-lemma1"),
        ("audits.toml", "audits.toml"),
        (".py:f", ".py:f"),
    ],
)
def test_a_file_stands_for_its_module(target, reference):
    assert reference_of(target) == reference


@pytest.mark.parametrize("target", ["/mine.py:f", "../mine.py:f", "my-own.py:f"])
def test_a_file_that_is_no_module_here_is_refused(target):
    with pytest.raises(InvalidArgument, match="a file below this folder, or module:function"):
        reference_of(target)
