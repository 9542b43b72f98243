"""Pages that say what the ledger says: ``python -m tests.ledger.pages`` writes them again.

The page of every statement is made whole; the other pages have the headline in bold, once.
"""

import re
import sys
from pathlib import Path

from dpaudit.ledger.counts import count_rows
from dpaudit.ledger.installed_papers import make_installed_ledger
from dpaudit.report.statements import render_statements

ROOT = Path(__file__).resolve().parents[2]
STATEMENTS = ROOT / "docs" / "statements.md"
REPORTS = ROOT / "reports"
HEADED = (ROOT / "README.md", ROOT / "docs" / "gallery.md")
_HEADLINE = re.compile(r"\*\*\d+ independent faults? in [^*]*\*\*")


def headline():
    """Return what the ledger of all papers comes to."""
    return count_rows(make_installed_ledger().judge_all()).headline


def headlines_of(text):
    """Return every headline that a page has in bold, on one line each."""
    return [" ".join(found[2:-2].split()) for found in _HEADLINE.findall(text)]


def with_headline(text, words):
    """Return a page with these words for its headline."""
    return _HEADLINE.sub(lambda _: f"**{words}**", text)


def write_pages():
    """Write the page of every statement, the headlines, and the index of the published audits."""
    words = headline()
    STATEMENTS.write_text(render_statements(make_installed_ledger()), encoding="utf-8")
    for page in HEADED:
        page.write_text(with_headline(page.read_text(encoding="utf-8"), words), encoding="utf-8")
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    import gallery

    catalogue = gallery.Catalogue.installed().add_ledger_counts(REPORTS)
    gallery.write_index(gallery.published_reports(REPORTS), REPORTS, catalogue=catalogue)
    print(words)


if __name__ == "__main__":
    write_pages()
