"""The site in a real browser, from the disk and without a network: `make docs-test`.

It needs what `make docs` builds, the Chromium that is installed, playwright, which drives it, and
axe-core, which says what bars readers who do not see, hear or point. Where playwright is not
installed these tests are skipped; where it is, whatever else is missing is a failure.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="run by make docs-test")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
# What a reader may have: a telephone by day, a desk by night.
READERS = {"narrow": (360, "light"), "wide": (1280, "dark")}
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.glob("**/*.html"))
OWN = [page for page in PAGES if not page.startswith("reports/")]
REPORTS = [f"reports/{name}.html" for name in ("index", "hu2020-theorem1/report")]
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SERIOUS = """async () => (await axe.run(document, {preload: false})).violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`)
"""


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
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    assert chromium, "apt-get install chromium"
    assert AXE.is_file(), "make docs-test installs axe-core"
    with sync_api.sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module", params=READERS)
def window(request, browser):
    width, scheme = READERS[request.param]
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda one: page.said.append(f"{one.type}: {one.text}"))
    page.on("pageerror", lambda one: page.said.append(str(one)))
    page.on("request", lambda one: page.asked.append(one.url))
    yield page
    context.close()


@pytest.mark.parametrize("name", [*OWN, *REPORTS])
def test_a_page_fits_says_nothing_and_bars_nobody(window, name):
    window.said.clear()
    window.asked.clear()
    window.goto((SITE / name).as_uri())
    assert window.evaluate(OVERFLOW) <= 0
    assert window.said == []
    assert [url for url in window.asked if not url.startswith(("file:", "data:"))] == []
    window.evaluate(AXE.read_text(encoding="utf-8"))  # no tag: a page's policy may refuse it
    assert window.evaluate(SERIOUS) == []


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
    window.said.clear()
    window.goto((SITE / "index.html").as_uri())
    window.goto((SITE / "search.html").as_uri() + f"?q={words}")
    window.wait_for_selector("#search-results p.search-summary:not(:empty)")
    window.wait_for_timeout(500)
    found = window.eval_on_selector_all("ul.search a", "some => some.map((one) => one.href)")
    names = [urlsplit(url).path.rpartition("/")[2] for url in found]
    assert (page in names) if page else names == []
    assert window.said == []


def test_what_is_wrong_would_be_seen(window, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<html><body><div style="width: 3000px">wide</div><img src="none.png">'
        '<p style="color: #ccc; background: #fff">faint</p>'
        '<script>console.error("no")</script></body></html>'
    )
    window.said.clear()
    window.goto(page.as_uri())
    assert window.evaluate(OVERFLOW) > 0
    assert any("no" in one for one in window.said)
    window.add_script_tag(path=AXE)
    found = window.evaluate(SERIOUS)
    assert {one.partition(":")[0] for one in found} >= {"image-alt", "color-contrast"}
