"""The pages in a real browser: nothing overflows, nothing is missing, and the tools work.

It runs where Chromium is installed. A page stands in frames of several widths, as narrow ones are
no windows; what is wrong is what the frames, or the browser's console, say.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import pytest

from tests.docs.gallery import REPORTS, build_pages

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
PAGES = ["index.html", "hu2020-theorem1/report.html", "huang2020-theorem6/report.html"]
PAGES.append("selftest/selftest.html")
WIDTHS = (1280, 768, 360)
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-extensions "
    "--hide-scrollbars --disable-background-networking --disable-component-update --disable-sync "
    "--enable-logging=stderr --virtual-time-budget=5000 --dump-dom"
).split()
PROBE = """
addEventListener("load", () => {
  const look = (frame) => {
    const page = frame.contentDocument, root = page.documentElement;
    const drawings = [...page.querySelectorAll("svg, img")];
    const found = {
      width: root.clientWidth,
      overflow: root.scrollWidth - root.clientWidth,
      figures: drawings.length,
      empty: drawings.filter((one) => one.getBoundingClientRect().height < 20).length,
      links: [...page.querySelectorAll("a[href]")].map((one) => one.getAttribute("href")),
    };
    const words = page.getElementById("words");
    if (words !== null) {
      const rows = [...page.querySelectorAll("tr[data-verdict]")];
      const shown = () => rows.filter((row) => !row.hidden);
      const set = (name, value, event) => {
        page.getElementById(name).value = value;
        page.getElementById(name).dispatchEvent(new Event(event));
      };
      found.tools = !page.getElementById("tools").hidden;
      found.all = shown().length;
      set("words", "huang2020 theorem6", "input");
      found.sought = shown().map((row) => row.cells[0].textContent);
      set("words", "", "input");
      set("verdict", "withheld", "change");
      found.withheld = shown().length;
      set("verdict", "", "change");
      set("order", "ratio", "change");
      const ordered = [...page.querySelector("table.index tbody").rows];
      found.ratios = ordered.map((row) => row.dataset.ratio).filter((one) => one !== "");
      found.headings = ordered.filter((row) => row.className === "group" && !row.hidden).length;
    }
    return found;
  };
  const found = [...document.querySelectorAll("iframe")].map(look);
  document.getElementById("found").textContent = JSON.stringify(found);
});
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    if BROWSER is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    names = [page.partition("/")[0] for page in PAGES if page.endswith("/report.html")]
    return build_pages(tmp_path_factory.mktemp("gallery"), names)


@pytest.fixture(scope="module", params=PAGES)
def seen(request, reports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    page = html.escape((reports / request.param).read_text(encoding="utf-8"))
    frames = "".join(
        f'<iframe srcdoc="{page}" width="{width}" height="900" frameborder="0"></iframe>'
        for width in WIDTHS
    )
    harness = folder / "harness.html"
    harness.write_text(f'<pre id="found"></pre>{frames}<script>{PROBE}</script>', encoding="utf-8")
    asked = [BROWSER, *QUIET, f"--user-data-dir={folder / 'profile'}", harness.as_uri()]
    ran = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True)
    text = re.search(r'<pre id="found">(.*?)</pre>', ran.stdout, re.DOTALL)[1]
    return request.param, json.loads(html.unescape(text)), ran.stderr


def test_nothing_overflows_and_no_figure_is_missing(seen):
    _, found, _ = seen
    assert [one["width"] for one in found] == list(WIDTHS)
    for one in found:
        assert one["overflow"] <= 0, one["width"]
        assert one["figures"] > 0
        assert one["empty"] == 0


def test_the_console_says_nothing(seen):
    _, _, said = seen
    assert [line for line in said.splitlines() if "CONSOLE" in line] == []


def test_every_link_leads_somewhere(seen, reports):
    name, found, _ = seen
    page = reports / name
    for link in set(found[0]["links"]):
        path, _, anchor = link.partition("#")
        if "//" not in link:
            target = page if not path else page.parent / path
            built = target.is_file()
            kept = REPORTS / target.relative_to(reports)  # certificates are not copied
            assert built or kept.is_file() or target.with_suffix(".json").is_file(), link
            assert not (anchor and built) or f'id="{anchor}"' in target.read_text(
                encoding="utf-8"
            ), link


def test_the_index_is_filtered_and_sorted_by_its_own_script(seen, reports):
    name, found, _ = seen
    if name != "index.html":
        return
    for one in found:
        assert one["tools"], "the page's policy has to let its script run"
        assert one["all"] == len(json.loads((reports / "index.json").read_text())["audits"])
        assert one["sought"]
        assert all("huang2020-theorem6" in label for label in one["sought"])
        assert one["withheld"] == 0
        assert one["headings"] == 0, "a group has no heading in another order"
        ratios = [float(ratio) for ratio in one["ratios"]]
        assert len(ratios) > 20
        assert ratios == sorted(ratios, reverse=True)
