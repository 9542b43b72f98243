"""Builds the pages of reports/ beside their JSON: what the JSON says, and nothing else.

Git keeps the JSON, the Markdown and the certificates. Pages are made of them with the site, or by
themselves into any folder that holds a copy of reports/:

    python docs/site/gallery.py reports
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpaudit.report.catalogue import Catalogue
from dpaudit.report.document import read_index, read_report, write_index
from dpaudit.report.render import render_html
from dpaudit.report.schema import Report
from dpaudit.scan.publication.gallery import SCAN, read_published
from dpaudit.scan.publication.gallery import write_index as write_index_of_packages
from dpaudit.scan.publication.pages import render_scan_page


def write_pages(folder: Path) -> None:
    """Write every page of a folder of reports: of claims, of packages, and both indices."""
    for path in sorted(folder.glob("*/report.json")):
        write_page(path)
    catalogue = Catalogue.installed().add_ledger_counts(folder)
    write_index(published_reports(folder), folder, catalogue=catalogue)
    for path in sorted((folder / "packages").glob(f"*/{SCAN}")):
        page = render_scan_page(read_published(path), html=True)
        path.with_suffix(".html").write_text(page, encoding="utf-8")
    write_index_of_packages(folder / "packages")


def write_page(path: Path) -> None:
    """Write the page of one ``report.json`` beside it."""
    path.with_suffix(".html").write_text(render_html(read_report(path)), encoding="utf-8")


def published_reports(folder: Path) -> dict[str, tuple[Report, list[bool]]]:
    """Return the reports that the index names, and for each result whether it has a certificate."""
    found: dict[str, tuple[Report, list[bool]]] = {}
    for entry in read_index(folder / "index.json"):
        name = Path(entry["report"]).parent.name
        if name not in found:
            found[name] = (read_report(folder / name / "report.json"), [])
        found[name][1].append(entry["certificate"] is not None)
    return found


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
