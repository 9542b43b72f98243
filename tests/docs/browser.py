"""A reader's browser: what a page overflows, says, asks for, and whom it bars.

It needs the Chromium that is installed, playwright, which drives it, and axe-core, which says what
bars readers who do not see, hear or point: `make docs-test` has the last two.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
# What a reader may have: a telephone by day, a desk by night.
READERS = [(360, "light"), (1280, "dark")]
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
VIOLATIONS = """async () => (await axe.run(document, {preload: false})).violations
  .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`)
"""


@dataclass
class Window:
    """A page of the browser, with what it said and what it asked for since it was opened last."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Listen to the page, which may take its time on a busy machine."""
        self.page.set_default_timeout(300_000)
        self.page.on("console", lambda one: self.said.append(f"{one.type}: {one.text}"))
        self.page.on("pageerror", lambda one: self.said.append(str(one)))
        self.page.on("request", lambda one: self.asked.append(one.url))

    def open(self, path: Path, query: str = "") -> None:
        """Open a file, and forget what another one said."""
        self.said.clear()
        self.asked.clear()
        self.page.goto(path.as_uri() + query)

    def faults(self, path: Path) -> list[str]:
        """Return what is wrong with a page for either reader."""
        found = []
        for width, scheme in READERS:
            self.page.set_viewport_size({"width": width, "height": 800})
            self.page.emulate_media(color_scheme=scheme)
            self.open(path)
            self.page.evaluate(AXE.read_text(encoding="utf-8"))  # no tag: a policy may refuse it
            wide = self.page.evaluate(OVERFLOW)
            away = [one for one in self.asked if not one.startswith(("file:", "data:", "blob:"))]
            seen = [f"{wide} px too wide"] if wide > 0 else []
            seen += [*self.page.evaluate(VIOLATIONS), *self.said]
            found += [f"{width} px, {scheme}: {one}" for one in seen]
            found += [f"asked for {url}" for url in away]
        return found


@contextmanager
def launched(sync_api: Any) -> Iterator[Any]:
    """Run the installed Chromium, or fail where it or axe-core is missing."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    assert chromium, "apt-get install chromium"
    assert AXE.is_file(), "make docs-test installs axe-core"
    with sync_api.sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()
