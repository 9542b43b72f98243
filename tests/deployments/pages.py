"""Accounts of a registry: ``python -m tests.deployments.pages [FOLDER]`` makes them and their page.

With a folder of records, such as a checkout of the registry, each record's facts are stored in
``reports/deployments`` and letters about what does not agree in ``disclosure/deployments``. The
page ``docs/deployments.md`` is made of the stored facts alone, with or without a folder.
"""

import sys
from pathlib import Path

from dpaudit.deployments.judgement import make_judgement
from dpaudit.deployments.page import records_page
from dpaudit.deployments.publishing import (
    KNOWN,
    address_of,
    is_public,
    read_account,
    records_in,
    write_drafts,
    write_public_accounts,
)
from dpaudit.deployments.reading import read_facts
from dpaudit.deployments.registry import ADDRESS, COMMIT

ROOT = Path(__file__).resolve().parents[2]
ACCOUNTS = ROOT / "reports" / "deployments"
PAGE = ROOT / "docs" / "deployments.md"
SOURCE = f"[the registry]({ADDRESS}) at commit `{COMMIT[:12]}`"


def store(folder, accounts=ACCOUNTS, drafts=ROOT / "disclosure" / "deployments"):
    """Store the facts of all records of a folder, and write the letters."""
    paths = records_in(Path(folder))
    judgements = [make_judgement(read_facts(path, address_of(path.stem))) for path in paths]
    write_public_accounts(judgements, accounts)
    return write_drafts(judgements, drafts)


def judgements_of(accounts=ACCOUNTS):
    """Return the judgements of all stored facts, by record."""
    return [make_judgement(read_account(path)) for path in sorted(accounts.glob("*.json"))]


def page_of(accounts=ACCOUNTS, today=None):
    """Return the page of all stored facts."""
    lifted = is_public(accounts, today)
    return records_page(judgements_of(accounts), is_lifted=lifted, source=SOURCE)


def main(words):
    """Store what a folder holds, if one is given, and write the page."""
    assert (ACCOUNTS / KNOWN).exists()
    for folder in words:
        letters = store(folder)
        print(f"{len(records_in(Path(folder)))} records, {len(letters)} letters in disclosure/")
    PAGE.write_text(page_of(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
