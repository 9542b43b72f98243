"""Every code block of every page runs, with the slow suite and in `make docs-test`."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

from .blocks import PAGES, READ_ONLY, ROOT, WITH_CODE, Block, blocks, elsewhere, inside, named, run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Run in an empty folder, whose modules can be imported and are forgotten afterwards."""
    monkeypatch.setenv("COLUMNS", "100")
    with inside(tmp_path):
        yield tmp_path


PROGRAM = "the program "  # of another language


def library(block: Block) -> str | None:
    """Return the library that a block asks for."""
    mark = block.mark or ""
    return mark.removeprefix("with ") if mark.startswith("with ") else None


def left_to_docs_test(block: Block) -> bool:
    """Return whether a block asks for a library that is not here, which `make docs-test` has."""
    name = library(block)
    if name is not None and name.startswith(PROGRAM):
        return which(name.removeprefix(PROGRAM)) is None
    # Where playwright is, that is the environment of docs-test: there, what lacks is a failure.
    absent = name is not None and find_spec(name.replace("-", "_")) is None
    return absent and find_spec("playwright") is None


def follow(page: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if not elsewhere(block) and not left_to_docs_test(block):
            run(block, names)
    tests = [one.file for one in blocks(page) if (one.file or "").startswith("test_")]
    runs = [one.text for one in blocks(page) if "$ pytest" in one.text]
    assert not tests or runs, "a test that a page shows is run there"
    left = [block.shown for block in blocks(page) if left_to_docs_test(block)]
    if left:
        pytest.skip(f"all but {', '.join(left)}, which make docs-test runs")


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=named)
def test_every_block_runs(page, folder):
    follow(page)


@pytest.mark.parametrize("page", WITH_CODE, ids=named)
def test_a_mark_says_why(page):
    marks = [block.mark for block in blocks(page) if block.mark]
    allowed = ("slow", "with ", "elsewhere, because ")
    assert [mark for mark in marks if not mark.startswith(allowed)] == []


def no_target_runs(pages: list[Path], environment: str) -> list[str]:
    """Return the blocks of code that neither `make test` nor `make docs-test` runs.

    ``environment`` lists what docs-test installs, one ``name==version`` a line.
    """
    there = {line.partition("==")[0] for line in environment.splitlines() if "==" in line}
    found = []
    for page in pages:
        inside = [block for block in blocks(page) if block.language not in READ_ONLY]
        asked = [(block.shown, library(block)) for block in inside]
        there |= {name for _, name in asked if name and name.startswith(PROGRAM)}
        found += [f"{shown}: needs {name}" for shown, name in asked if name and name not in there]
        fences = re.findall(r"^[ >]*(?:```|~~~)", page.read_text(encoding="utf-8"), flags=re.M)
        if len(fences) != 2 * len(blocks(page)):
            found.append(f"{page.name}: a fence that does not open or close a block")
    return found


EXTRAS = ROOT / "tests" / "docs" / "extras.txt"


def test_some_target_runs_every_block():
    assert no_target_runs(PAGES, EXTRAS.read_text(encoding="utf-8")) == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^docs-test:.*\.extras\b", makefile, flags=re.M)
    assert re.search(rf"--requirement {EXTRAS.relative_to(ROOT)}$", makefile, flags=re.M)


def test_a_block_that_no_target_runs_would_be_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- run: with nobodys -->\n```python\n1\n```\n\n~~~python\n2\n~~~\n")
    assert no_target_runs([page], "somebodys==1.0") == [
        "page.md:2: needs nobodys",
        "page.md: a fence that does not open or close a block",
    ]
    assert len(no_target_runs([page], "nobodys==1.0")) == 1


def test_an_example_that_is_wrong_would_be_seen(folder):
    page = folder / "page.md"
    for text in ("```python\n>>> 1 + 1\n3\n\n```", "```console\n$ dpaudit version\nnine\n```"):
        page.write_text(f"# Page\n\n{text}\n")
        with pytest.raises(AssertionError):
            follow(page)
