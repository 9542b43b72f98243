"""Descriptions of the public names of docs/api.md: sentences, or noun phrases of parameters."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/api.md"
NAMES = re.findall(r"`(dpaudit\.[\w.]+)`", PAGE.read_text(encoding="utf-8"))
SECTION = re.compile(
    r"^(?:Parameters|Returns|Yields|Raises)\n-+\n(.*?)(?=\n\n[A-Z]\w+\n-{3,}|\Z)",
    re.DOTALL | re.MULTILINE,
)
# Words that begin half a sentence: "Of the draws.", "What is claimed there.", "Whether it is.".
NO_BEGINNING = re.compile(r"(As|By|For|How|In|Not|Of|What|Where|Whether|Which|Who|Whose|With)\b")


def describe_entries(text):
    """Return the descriptions of parameters, results and errors of a docstring by their names."""
    sections = SECTION.findall(inspect.cleandoc(text))
    blocks = (block for section in sections for block in re.split(r"\n(?=\S)", section))
    parts = (block.partition("\n") for block in blocks)
    return [(name, " ".join(words.split())) for name, _, words in parts]


def find_fragments(text):
    """Return the entries whose description is no sentence and no noun phrase."""
    found = describe_entries(text)
    return [name for name, words in found if NO_BEGINNING.match(words) or words[-1:] != "."]


def list_docstrings(name):
    """Return the docstrings of a public name and of its public methods."""
    module, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(module), last)
    held = vars(found) if inspect.isclass(found) else {}
    methods = [inspect.unwrap(getattr(found, one)) for one in held if not one.startswith("_")]
    return [one.__doc__ or "" for one in (found, *filter(inspect.isroutine, methods))]


@pytest.mark.parametrize("name", NAMES)
def test_entries_of_a_public_name_are_sentences(name):
    assert [one for text in list_docstrings(name) for one in find_fragments(text)] == []


def test_methods_are_read():
    assert any("Parameters" in text for text in list_docstrings("dpaudit.Budget")[1:])


@pytest.mark.parametrize("heading", ["Parameters", "Returns", "Raises"])
@pytest.mark.parametrize(
    ("words", "caught"),
    [
        ("Of everything that is certified.", True),
        ("Who computes; never changes a number.", True),
        ("With the smallest pair.", True),
        ("Not an integer.", True),
        ("The confidence of everything that the audit certifies", True),
        ("The confidence of everything that the audit certifies.", False),
        ("Ways to end.", False),
    ],
)
def test_a_fragment_is_found(heading, words, caught):
    after = "Examples\n--------\n>>> 1"
    text = f"Audit.\n\n{heading}\n{'-' * len(heading)}\ngiven\n    {words}\n\n{after}"
    assert bool(find_fragments(text)) is caught
