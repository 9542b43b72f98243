"""The pages: all in the navigation, links and headings lead somewhere, words are spelled."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .blocks import ROOT

sys.path.insert(0, str(ROOT / "docs" / "site"))
try:
    import pages as site
finally:
    sys.path.pop(0)

PROSE = [ROOT / "README.md", site.PAGES / site.HOME, *site.found_pages().values()]
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`|<!--.*?-->", re.M | re.S)


def anchors(page: Path) -> set[str]:
    """Return what code hosts call the headings of a page."""
    text = re.sub(r"^( *)```.*?^\1```$", "", site.text_of(page), flags=re.M | re.S)
    named = set()
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        named.add(re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-"))
    return named


NAMED = re.compile(r"`(dpaudit(?:\.[A-Za-z_]\w*)+)[`(]")
DEFINED = r"^ *(?:def |class |){0} *[(:=]|^(?:from|import) .*\b{0}\b|^    {0},$"
# What a JUnit file calls a number, and a module that stands for any.
NO_OBJECTS = {"dpaudit.lower", "dpaudit.algorithms.x"}


def is_there(name: str) -> bool:
    """Return whether a module is there, or whether one defines or imports the rest of the name."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        home = ROOT.joinpath(*parts[:count])
        file = home / "__init__.py" if home.is_dir() else home.with_suffix(".py")
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            # A package imports the objects that it names.
            rule = r"\b{0}\b" if home.is_dir() else DEFINED
            return all(re.search(rule.format(one), text, re.M) for one in parts[count:][:1])
    return False


def entry_points() -> set[str]:
    """Return the groups of entry points, which are named like modules."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["entry-points"])


def test_objects_that_pages_name_are_there():
    today = [page for page in PROSE if page.name != "CHANGELOG.md"]  # it names what once was
    named = {(page.name, one) for page in today for one in NAMED.findall(site.text_of(page))}
    rows = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    for module, first, others in re.findall(r"^\|.*?\| `(\w+)\.(\w+)`(.*?)\|", rows, flags=re.M):
        named |= {
            ("adapters.md", f"dpaudit.adapters.{module}.{one}")
            for one in (first, *re.findall(r"`(\w+)`", others))
        }
    assert len(named) > 60
    known = NO_OBJECTS | entry_points()
    assert {one for one in named if one[1] not in known and not is_there(one[1])} == set()


def test_an_object_that_is_gone_would_be_seen():
    assert is_there("dpaudit.audit")
    assert not is_there("dpaudit.neighbours.candidates.candidates")
    assert not is_there("dpaudit.nowhere.at_all")


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page):
    text = CODE.sub("", site.text_of(page))
    missing = []
    for path, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
        target = page.parent / path if path else page
        there = target.exists() and (
            not anchor or target.suffix != ".md" or anchor in anchors(target)
        )
        missing += [] if there else [f"{path}#{anchor}"]
    assert missing == []


def test_a_link_to_nothing_would_be_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title, `code` and more\n\n[one](#title-code-and-more) [two](none.md)\n")
    assert anchors(page) == {"title-code-and-more"}


def test_the_navigation_has_every_page():
    home = (site.PAGES / site.HOME).read_text(encoding="utf-8")
    pages = list(site.found_pages())
    sections = site.navigation(home, pages)
    named = [page for _, some in sections for page in some]
    assert sorted(named) == sorted(pages)  # each once, and none that is not there
    assert len(sections) > 5


def test_a_page_that_nobody_listed_is_taken_in_and_one_that_is_not_there_is_seen():
    home = (site.PAGES / site.HOME).read_text(encoding="utf-8")
    assert site.navigation(home, ["new"])[-1] == ("More", ["new"])
    assert ("Gone", ["gone"]) in site.navigation(home + "\n## Gone\n\n- [Gone](gone.md): it\n", [])


def test_every_picture_is_there_and_says_what_it_shows():
    for page in PROSE:
        for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", site.text_of(page)):
            assert words
            assert (page.parent / path).is_file(), (page.name, path)


def test_words_are_spelled():
    checked = [*map(str, PROSE), str(ROOT / "examples")]
    words = ["--ignore-words", str(Path(__file__).with_name("words.txt"))]
    dictionaries = ["--builtin", "clear,rare,informal"]
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *dictionaries, *words, *checked],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_wrong_word_would_be_seen(tmp_path):
    (tmp_path / "page.md").write_text("The privcay of a recieved record.\n")
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "recieved ==> received" in done.stdout
