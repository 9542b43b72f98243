"""Builds the site in build/docs: the pages of docs/, the reference that code writes, the reports.

The pages are read as they stand on a code host, too. What only the site has is put together in
build/docs-source: the navigation, which is made of the links in docs/README.md; reference pages
from docstrings, from the command line and from the schemas; and what lies beside docs/.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import reference
from gallery import write_pages
from pages import HOME, PAGES, ROOT, found_pages, navigation, with_links_of_the_site
from sphinx.cmd.build import main as sphinx

SOURCE = ROOT / "build" / "docs-source"
SITE = ROOT / "build" / "docs"


def assembled() -> None:
    """Put together in build/docs-source what Sphinx reads."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    site = shutil.ignore_patterns(
        "__pycache__",
        *("build.py", "gallery.py", "notebooks.py", "pages.py", "reference.py", "*.txt"),
    )
    shutil.copytree(PAGES / "site", SOURCE, ignore=site)
    for name, path in found_pages().items():
        text = with_links_of_the_site(path, name, _copied)
        _written(name, reference.filled(name, text))
    shutil.copytree(PAGES / "pictures", SOURCE / "pictures")
    home = PAGES / HOME
    sections = navigation(home.read_text(encoding="utf-8"), list(found_pages()))
    trees = "".join(map(_tree, sections))
    _written("index", with_links_of_the_site(home, "index", _copied) + trees)


def _written(name: str, text: str) -> None:
    (SOURCE / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
    (SOURCE / f"{name}.md").write_text(text, encoding="utf-8")


def _copied(file: Path) -> None:
    target = SOURCE / file.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def _tree(section: tuple[str, list[str]]) -> str:
    caption, pages = section
    lines = [":hidden:", f":caption: {caption}", "", *pages]
    return "\n".join(["", "```{toctree}", *lines, "```", ""])


def main() -> int:
    """Build the site; every warning is an error."""
    assembled()
    shutil.rmtree(SITE, ignore_errors=True)  # pages that are no more
    strict = ["--fail-on-warning", "--keep-going", "--quiet", "--fresh-env"]
    status = sphinx(["-b", "html", *strict, "--jobs", "2", str(SOURCE), str(SITE)])
    scripts = shutil.ignore_patterns("*.py")
    shutil.copytree(ROOT / "reports", SITE / "reports", dirs_exist_ok=True, ignore=scripts)
    write_pages(SITE / "reports")
    if status == 0:
        print(f"The documentation is in {(SITE / 'index.html').relative_to(ROOT)}.")
    return status


if __name__ == "__main__":
    sys.exit(main())
