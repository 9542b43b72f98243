"""The site in a real browser, from the disk and without a network: `make docs-test`.

Every page is looked at, those of the reports as well. Where playwright is not installed these tests
are skipped; where it is, whatever else is missing is a failure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from .browser import Window, launched

sync_api = pytest.importorskip("playwright.sync_api", reason="run by make docs-test")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.glob("**/*.html"))
OWN = [page for page in PAGES if not page.startswith("reports/")]
KINDS = ("examples", "faults", "notebooks", "reports", "reports/packages")


class Read(HTMLParser):
    """What a page links to, what it loads, and what can be linked to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links, self.loads, self.anchors = [], [], {"", "top"}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        loaded = given.get("href") if tag == "link" else given.get("src")
        if loaded:
            self.loads.append(loaded)


@pytest.fixture(scope="module")
def read():
    assert len(OWN) > 40, "make docs builds the site"
    return {page: Read(SITE / page) for page in PAGES}


def test_every_link_leads_to_a_page_and_a_heading(read):
    missing = defaultdict(list)
    for page, found in read.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (SITE / page).parent / unquote(parts.path) if parts.path else SITE / page
            name = target.resolve().relative_to(SITE).as_posix()
            anchored = name not in read or unquote(parts.fragment) in read[name].anchors
            if not target.is_file() or not anchored:
                missing[page].append(link)
    assert missing == {}


def test_nothing_is_loaded_from_another_host(read):
    for page, found in read.items():
        assert [one for one in found.loads if "//" in one.split("?")[0]] == [], page


def test_options_have_two_hyphens_and_a_footer_says_something():
    wrong = re.compile(r"[\u2013\u2014][a-z]+(-[a-z]+)*\b|Copyright &#169;\s*<")
    found = {page: wrong.search((SITE / page).read_text(encoding="utf-8")) for page in OWN}
    assert {page: one[0] for page, one in found.items() if one} == {}
    assert wrong.search("with \u2013dataset")


def test_every_page_is_in_the_navigation_of_the_first(read):
    listed = {urlsplit(link).path for link in read["index.html"].links}
    made = {"index.html", "genindex.html", "py-modindex.html", "search.html"}
    assert [page for page in OWN if page not in made | listed] == []


@pytest.fixture(scope="module")
def browser():
    with launched(sync_api) as running:
        yield running


@pytest.fixture(scope="module")
def window(browser):
    context = browser.new_context(offline=True)
    yield Window(context.new_page())
    context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_every_kind_are_looked_at(kind):
    assert len([page for page in PAGES if page.startswith(f"{kind}/")]) > 3


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_says_nothing_and_bars_nobody(window, name):
    assert window.faults(SITE / name) == []


def test_the_scheme_is_dark_where_the_reader_asks(browser):
    seen = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, offline=True)
        page = context.new_page()
        page.goto((SITE / "index.html").as_uri())
        seen[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        context.close()
    light, dark = (sum(map(int, seen[one][4:-1].split(",")[:3])) for one in ("light", "dark"))
    assert light > 600 > 200 > dark


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("replace-record", "neighbours.html"),
        ("calibrate", "accounting.html"),
        ("neighbor", "neighbours.html"),
        ("p-value", "numbers.html"),
        ("windows", "exit-statuses.html"),
        ("docker", "ci.html"),
        ("zzyzx", None),
    ],
)
def test_a_search_finds_pages_without_a_network(window, words, page):
    window.open(SITE / "index.html")
    window.open(SITE / "search.html", query=f"?q={words}")
    window.page.wait_for_selector("#search-results p.search-summary:not(:empty)")
    window.page.wait_for_timeout(500)
    found = window.page.eval_on_selector_all("ul.search a", "some => some.map((one) => one.href)")
    names = [urlsplit(url).path.rpartition("/")[2] for url in found]
    assert (page in names) if page else names == []
    assert window.said == []


def test_what_is_wrong_would_be_seen(window, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<html><style>@media (prefers-color-scheme: dark) { em { background: #666 } }</style>"
        '<body><div style="width: 400px">wide</div><img src="none.png">'
        '<img src="http://127.0.0.1:9/far.png" alt="far"><em>dim</em>'
        '<script>console.error("no")</script></body></html>'
    )
    found = window.faults(page)
    assert any(one.startswith("360 px, light: image-alt: ") for one in found)
    assert [one[:13] for one in found if "too wide" in one] == ["360 px, light"]
    contrast = [one.partition(": ")[0] for one in found if ": color-contrast" in one]
    assert contrast == ["1280 px, dark"]
    assert "360 px, light: error: no" in found
    assert "asked for http://127.0.0.1:9/far.png" in found
