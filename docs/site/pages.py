"""The pages of the site: which there are, in which order, and where their links lead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from notebooks import as_markdown

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs"
HOME = "README.md"  # of docs/, which is the site's index.md
# What lies beside docs/ and is a page of the site.
PROJECT = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
}
LINK = re.compile(r"(?<![`!])\[([^\]]+)\]\(([^)\s#]*)(#[^)\s]*)?\)")
ITEM = re.compile(r"^[-*] \[[^\]]+\]\(([^)#:]+\.(?:md|ipynb))\)", re.MULTILINE)
NOTEBOOK = ".ipynb"


def found_pages() -> dict[str, Path]:
    """Return all pages but the first: their names on the site, and their files."""
    files = [*PAGES.rglob("*.md"), *PAGES.rglob(f"*{NOTEBOOK}")]
    pages = sorted(path for path in files if path != PAGES / HOME)
    named = {path.relative_to(PAGES).with_suffix("").as_posix(): path for path in pages}
    return named | {page: ROOT / name for name, page in PROJECT.items()}


def navigation(home: str, pages: list[str]) -> list[tuple[str, list[str]]]:
    r"""Return the sections of the navigation: what ``home`` lists, and a last one for the rest.

    Parameters
    ----------
    home
        The text of docs/README.md. Each heading of second degree is a section, with the pages
        that its list links to.
    pages
        The names of all pages, without their endings.

    Examples
    --------
    >>> navigation("## How\n\n- [One](one.md): first\n", ["one", "two"])
    [('How', ['one']), ('More', ['two'])]
    """
    _, *parts = re.split(r"^## (.+)$", home, flags=re.MULTILINE)
    listed = {
        title: [_name(PAGES / path) for path in ITEM.findall(text)]
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }
    rest = sorted(set(pages).difference(*listed.values()))
    return [(title, names) for title, names in {**listed, "More": rest}.items() if names]


def _name(file: Path) -> str:
    """Return what the page of a file is called on the site."""
    inside = file.resolve().relative_to(ROOT).as_posix()
    return PROJECT.get(inside, inside.removeprefix("docs/").removesuffix(file.suffix))


def with_links_of_the_site(file: Path, name: str, needed: Callable[[Path], None]) -> str:
    """Return the text of a page with links that lead to what the site has.

    Parameters
    ----------
    file
        The page as it stands in the repository.
    name
        What the page is called on the site, with its folder.
    needed
        Takes each file that the page offers and that is no page.
    """
    up = "../" * name.count("/")

    def replaced(found: re.Match[str]) -> str:
        words, path, anchor = found[1], found[2], found[3] or ""
        target = (file.parent / path).resolve()
        if not path or ":" in path or not target.is_relative_to(ROOT):
            return found[0]
        inside = target.relative_to(ROOT)
        if inside.parts[0] == "reports":  # pages of their own, which Sphinx does not know
            return f'<a href="{up}{_rendered(inside)}">{words}</a>'
        if inside.as_posix() in ("README.md", f"docs/{HOME}"):
            return f"[{words}]({up}index.md{anchor})"
        if inside.suffix in (".md", NOTEBOOK) and _name(target) in found_pages():
            return f"[{words}]({up}{_name(target)}.md{anchor})"
        if target.is_file():
            needed(target)
            return f"[{words}]({up}{inside.as_posix()})"
        return found[0]

    return LINK.sub(replaced, text_of(file))


def text_of(file: Path) -> str:
    """Return the Markdown of a page; a notebook is turned into some."""
    return as_markdown(file) if file.suffix == NOTEBOOK else file.read_text(encoding="utf-8")


def _rendered(report: Path) -> str:
    has_page = (ROOT / report.with_suffix(".json")).is_file()  # gallery.py makes one of it
    return (report.with_suffix(".html") if has_page else report).as_posix()
