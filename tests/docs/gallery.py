"""The pages of ``reports/``, made of its JSON in a folder of a test's own."""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports"
sys.path.insert(0, str(ROOT / "docs" / "site"))
try:
    import gallery as site
finally:
    sys.path.pop(0)


def build_pages(folder, names):
    """Build the index and the pages of some claims in a copy of the reports."""
    ignored = shutil.ignore_patterns("*.py", "certificate.json", "packages")
    shutil.copytree(REPORTS, folder, dirs_exist_ok=True, ignore=ignored)
    for name in names:
        site.write_page(folder / name / "report.json")
    catalogue = site.Catalogue.installed().add_ledger_counts(folder)
    site.write_index(site.published_reports(folder), folder, catalogue=catalogue)
    return folder
