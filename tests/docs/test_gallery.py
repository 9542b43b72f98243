"""The pages of the gallery: none is kept, all are made, and their links lead somewhere."""

import re
import shutil
import subprocess
from urllib.parse import unquote

import pytest

from tests.docs.gallery import REPORTS, ROOT, build_pages, site

SHOWN = ["hu2019-lemma3", "zhang2018-footnote4"]
ALL = sorted(path.parent.name for path in REPORTS.glob("*/report.json"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return build_pages(tmp_path_factory.mktemp("gallery"), SHOWN)


def check_links(folder, source, names):
    """Fail if a link leads to no file, or to no place in a page that was built."""
    text = (folder / source).read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', text) + re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) >= len(ALL)
    for link in links:
        path, _, anchor = unquote(link).partition("#")
        target = (folder / source).parent / (path or source)
        if target.parent.name in names or target.suffix != ".html" or target.parent == folder:
            assert target.is_file() or (REPORTS / path).is_file(), link
        if target.is_file():
            assert not anchor or f'id="{anchor}"' in target.read_text(encoding="utf-8"), link
        else:
            assert target.with_suffix(".json").is_file() or (REPORTS / path).is_file(), link


@pytest.mark.parametrize("source", ["index.html", "index.md"])
def test_links_of_the_index_lead_somewhere(pages, source):
    check_links(pages, source, SHOWN)


def test_the_index_counts_what_its_json_lists(pages):
    page = (pages / "index.html").read_text(encoding="utf-8")
    assert page.count('<tr data-verdict="') == len(site.read_index(REPORTS / "index.json"))


def test_no_page_of_a_report_is_kept():
    said = subprocess.run(
        ["git", "ls-files", "reports/*.html"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if said.returncode:
        pytest.skip("this is no checkout")
    assert said.stdout.split() == ["reports/selftest/selftest.html"]


@pytest.mark.slow
def test_every_page_is_made_and_has_working_links(tmp_path):
    shutil.copytree(REPORTS, tmp_path / "reports", ignore=shutil.ignore_patterns("*.html"))
    site.write_pages(tmp_path / "reports")
    for source in ("index.html", "index.md"):
        check_links(tmp_path / "reports", source, ALL)
    for path in (tmp_path / "reports" / "packages").glob("*/scan.json"):
        assert path.with_suffix(".html").is_file()
