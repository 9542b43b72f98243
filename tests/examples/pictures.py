"""Thumbnails of the gallery: ``python -m tests.examples.pictures`` draws those of the page.

Every picture is made of numbers that are kept: of a report's JSON for a finding, of
``docs/examples/numbers.json`` for an example. So a test draws each again and compares.
"""

import re
from pathlib import Path

from dpaudit.report.charts import Picture, render_svg
from dpaudit.report.curves import show_delta, show_trade_off
from dpaudit.report.document import read_report
from dpaudit.report.figures import show_numbers
from dpaudit.report.schema import Claimed, Measured, Proved, Result
from tests.examples import pages

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "docs" / "gallery.md"
FOLDER = ROOT / "docs" / "pictures" / "gallery"
SHOWN = re.compile(r"\(pictures/gallery/(?P<name>[\w-]+)\.svg\)")
CURVES = {"delta": show_delta, "trade-off": show_trade_off}


def names() -> list[str]:
    """Return the pictures that the page of the gallery shows, in order."""
    return SHOWN.findall(GALLERY.read_text(encoding="utf-8"))


def drawn(name: str) -> str:
    """Return a picture by its name: of an example, of a report, or of a curve of a report."""
    kind, _, rest = name.partition("-")
    if kind == "example":
        return _svg(show_numbers(of_example(rest)))
    for curve, show in CURVES.items():
        if name.startswith(f"{curve}-"):
            return _svg(show(of_report(name.removeprefix(f"{curve}-"))))
    return _svg(show_numbers(of_report(name)))


def of_report(name: str) -> Result:
    """Return the first result of a report that is kept."""
    return read_report(ROOT / "reports" / name / "report.json").results[0]


def of_example(name: str) -> Result:
    """Return the numbers of a broken function as a result that can be drawn."""
    one = pages.kept()[name]["broken"]
    proved = one["proved"]
    return of_report("huang2020-theorem6").model_copy(
        update={
            "claim": name,
            "verdict": one["verdict"],
            "claimed": Claimed(epsilon=one["claimed"], delta=one["delta"]),
            "proved": proved and Proved(epsilon=proved, delta=one["delta"], source="its code"),
            "measured": Measured(
                lower=one["measured"], upper=None, confidence=0.95, estimator="counts"
            ),
        }
    )


def _svg(picture: Picture) -> str:
    text = render_svg(picture, prefix="thumbnail")  # a file of its own has to say its background
    return text.replace('style="', 'style="background: var(--drawn-ffffff, #ffffff); ', 1) + "\n"


def main() -> None:
    """Draw what the page shows, and nothing else."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.svg"):
        path.unlink()
    for name in names():
        (FOLDER / f"{name}.svg").write_text(drawn(name), encoding="utf-8")


if __name__ == "__main__":
    main()
