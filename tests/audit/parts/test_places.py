"""Where an audit belongs in a source: the line of a definition, followed as an import would."""

from __future__ import annotations

import sys

import pytest

from dpaudit.auditing.specification.source_places import place_of, table_of

SOURCE = """\
from beside import noisy, other as renamed, Kept
from . import own
import numpy

scale: float = 2.0
left, right = 1, 2
both = again = 3


def twice(data): pass


async def later(data): pass


class Sum:
    rate = 1

    def release(self): pass

    class Inner:
        def deep(self): pass


def twice(data):  # counts, as what is defined last
    def hidden(): pass
"""
BESIDE = """\
from further import Kept


def noisy(): pass
def other(): pass
"""
FURTHER = "class Kept:\n    here = 1\n\n    def release(self): pass\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    for name, text in (("mine", SOURCE), ("beside", BESIDE), ("further", FURTHER)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("attribute", "file", "line"),
    [
        ("scale", "mine", 5),
        ("both", "mine", 7),
        ("again", "mine", 7),
        ("twice", "mine", 25),
        ("later", "mine", 13),
        ("Sum", "mine", 16),
        ("Sum.rate", "mine", 17),
        ("Sum.release", "mine", 19),
        ("Sum.Inner.deep", "mine", 22),
        ("scale.anything", "mine", 5),  # of what is no class, where it is made
        ("numpy", "mine", 3),
        ("own", "mine", 2),
        ("noisy", "beside", 4),
        ("renamed", "beside", 5),
        ("Kept", "further", 1),
        ("Kept.release", "further", 4),
    ],
)
def test_a_name_has_the_line_that_gives_it_its_value(attribute, file, line, folder):
    found = place_of(f"mine:{attribute}", folder)
    assert (found.file.name, found.line) == (f"{file}.py", line)


@pytest.mark.parametrize(
    "reference",
    ["mine:gone", "mine:Sum.gone", "mine:twice.hidden.more", "nowhere:one", "mine:left"],
)
def test_what_no_source_shows_has_no_place(reference, folder):
    found = place_of(reference, folder)
    assert found is None or reference == "mine:twice.hidden.more"  # the function, and no further
    assert found is None or found.line == 25


def test_an_import_that_leads_nowhere_is_the_place_itself(folder):
    (folder / "mine.py").write_text("\nfrom gone import noisy\n")
    found = place_of("mine:noisy", folder)
    assert (found.file.name, found.line) == ("mine.py", 2)


@pytest.mark.parametrize(("links", "reached"), [(4, True), (5, False)])
def test_five_names_that_import_from_each_other_are_followed(links, reached, folder):
    for n in range(links):
        (folder / f"m{n}.py").write_text(f"from m{n + 1} import f\n")
    (folder / f"m{links}.py").write_text("\n\ndef f(): pass\n")
    found = place_of("m0:f", folder)
    last = (f"m{links}.py", 3) if reached else (f"m{links - 1}.py", 1)
    assert (found.file.name, found.line) == last


def test_folders_are_looked_through_in_the_order_of_an_import(folder, monkeypatch):
    first = folder / "first"
    (first / "package").mkdir(parents=True)
    (first / "package" / "__init__.py").write_text("\nthere = 1\n")
    (first / "package" / "inner.py").write_text("\n\nthere = 1\n")
    (first / "package.py").write_text("there = 1\n")
    (folder / "package.py").write_text("there = 1\n")
    monkeypatch.setattr(sys, "path", [str(first)])
    assert place_of("package:there", folder).line == 2
    assert place_of("package:there", folder).file.parent.name == "package"
    assert place_of("package.inner:there", folder).line == 3
    (folder / "faulty.py").write_text("def")
    assert place_of("faulty:f", folder) is None


def test_a_table_has_the_line_of_its_head(tmp_path):
    file = tmp_path / "audit.toml"
    file.write_text("name = 1\n\n[[audit]]\na = 1\n  [[ audit ]]\n[audit]\n[[audits]]\n")
    assert [table_of(file, n).line for n in range(4)] == [3, 5, 6, 1]
    assert table_of(file, 0).file == file
    assert table_of(tmp_path / "gone.toml", 0).line == 1
    file.write_bytes(b"\n[[audit]]\n\xff\xfe")
    assert table_of(file, 0).line == 1
