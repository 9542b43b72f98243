"""Every code block of every page runs; slow ones with the slow suite and in `make docs-test`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from .blocks import ROOT, blocks, elsewhere, is_slow, run

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
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
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def installed(mark: str) -> bool:
    return find_spec(mark.removeprefix("with ").replace("-", "_")) is not None


def follow(page: Path, *, slow: bool) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if elsewhere(block) or (is_slow(block) and not slow):
            continue
        if (block.mark or "").startswith("with ") and not installed(block.mark):
            continue
        run(block, names)
    tests = [one.file for one in blocks(page) if (one.file or "").startswith("test_")]
    runs = [one.text for one in blocks(page) if "$ pytest" in one.text]
    assert not tests or runs, "a test that a page shows is run there"


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


def test_an_example_that_is_wrong_would_be_seen(folder):
    page = folder / "page.md"
    for text in ("```python\n>>> 1 + 1\n3\n\n```", "```console\n$ dpaudit version\nnine\n```"):
        page.write_text(f"# Page\n\n{text}\n")
        with pytest.raises(AssertionError):
            follow(page, slow=False)
