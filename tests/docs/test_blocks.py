"""Every code block of every page runs; slow ones with the slow suite and in `make docs-test`."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from types import ModuleType

import matplotlib.pyplot as plt
import pytest

from .blocks import READ_ONLY, ROOT, Block, blocks, elsewhere, is_slow, run

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if any(b.language not in ("text", "") for b in blocks(page))]
# The fast suite runs these but for what they mark as slow, and tests/test_readme.py the README;
# `make docs-test` runs every page.
QUICK = {
    *("accounting", "add-a-claim", "hidden-state", "isolation", "laws", "own-accountant"),
    *("papers", "replay", "schemas", "specifications", "views"),
}


def named(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Run in an empty folder, whose modules can be imported and are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    yield tmp_path
    plt.close("all")
    for name in [name for name, module in sys.modules.items() if is_below(tmp_path, module)]:
        del sys.modules[name]


def is_below(place: Path, module: ModuleType) -> bool:
    """Return whether a module is of a file there, or a package of a folder there."""
    files = [vars(module).get("__file__"), *vars(module).get("__path__", [])]
    return any(str(file).startswith(str(place)) for file in files)


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


def follow(page: Path, *, slow: bool) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if elsewhere(block) or (is_slow(block) and not slow) or left_to_docs_test(block):
            continue
        run(block, names)
    tests = [one.file for one in blocks(page) if (one.file or "").startswith("test_")]
    runs = [one.text for one in blocks(page) if "$ pytest" in one.text]
    assert not tests or runs, "a test that a page shows is run there"
    left = [block.shown for block in blocks(page) if slow and left_to_docs_test(block)]
    if left:
        pytest.skip(f"all but {', '.join(left)}, which make docs-test runs")


@pytest.mark.parametrize("page", [one for one in WITH_CODE if named(one) in QUICK], ids=named)
def test_what_a_page_shows_is_what_runs(page, folder):
    follow(page, slow=False)


def rest() -> list[Path]:
    """Return the pages that have more to run than the fast suite runs."""
    return [one for one in WITH_CODE if named(one) not in QUICK or any(map(is_slow, blocks(one)))]


@pytest.mark.slow
@pytest.mark.parametrize("page", rest(), ids=named)
def test_every_block_runs(page, folder):
    follow(page, slow=True)


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
    assert set(WITH_CODE) == {one for one in WITH_CODE if named(one) in QUICK} | set(rest())


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
            follow(page, slow=False)
