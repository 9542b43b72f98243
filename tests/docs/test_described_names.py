"""Descriptions of the public names of docs/api.md: parameters are sentences or noun phrases."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/api.md"
NAMES = re.findall(r"`(dpaudit\.[\w.]+)`", PAGE.read_text(encoding="utf-8"))
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n[A-Z]\w+\n-{3,}|\Z)", re.DOTALL | re.MULTILINE)
# Words that begin half a sentence: "Of the draws.", "What is claimed there.", "Whether it is.".
NO_BEGINNING = re.compile(r"(As|By|How|Of|What|Where|Whether|Which|Who|Whose|With)\b")


def describe_parameters(text):
    """Return the descriptions of a docstring's parameters by their names."""
    section = SECTION.search(inspect.cleandoc(text))
    blocks = re.split(r"\n(?=\S)", section[1]) if section else []
    parts = (block.partition("\n") for block in blocks)
    return {name: " ".join(words.split()) for name, _, words in parts}


def find_fragments(text):
    """Return the parameters whose description is no sentence and no noun phrase."""
    found = describe_parameters(text).items()
    return [name for name, words in found if NO_BEGINNING.match(words) or words[-1:] != "."]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_of_a_public_name_are_sentences(name):
    module, _, last = name.rpartition(".")
    assert find_fragments(getattr(importlib.import_module(module), last).__doc__ or "") == []


@pytest.mark.parametrize(
    ("words", "caught"),
    [
        ("Of everything that is certified.", True),
        ("Who computes; never changes a number.", True),
        ("The confidence of everything that the audit certifies", True),
        ("The confidence of everything that the audit certifies.", False),
        ("Ways to end.", False),
    ],
)
def test_a_fragment_is_found(words, caught):
    sections = f"Parameters\n----------\ngiven\n    {words}\n\nReturns\n-------\nint"
    text = f"Audit.\n\n{sections}"
    assert bool(find_fragments(text)) is caught
