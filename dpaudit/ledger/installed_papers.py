"""The ledger of all papers that are installed, with the audits and figures that are published."""

from __future__ import annotations

import os
from pathlib import Path

from dpaudit.extension.registry import CLAIMS, FIGURES, PAPERS
from dpaudit.ledger.audits import load_published_audits, read_audits
from dpaudit.ledger.figures import load_published_figures
from dpaudit.ledger.rules import Cards
from dpaudit.ledger.verdicts import Ledger


def make_installed_ledger(reports: str | os.PathLike[str] | None = None) -> Ledger:
    """Return the ledger of the installed papers; no row of it is judged yet.

    Parameters
    ----------
    reports
        A folder that ``dpaudit audit --all`` wrote. Its audits stand in for the published ones of
        the same claims, and give those of claims that the project does not publish.

    Raises
    ------
    DataError
        The folder has no index that can be read.
    InvalidArgument
        Two rows have one name.

    Examples
    --------
    >>> "huang2020-lemma5" in make_installed_ledger().audits
    True
    """
    audits = dict(load_published_audits())
    if reports is not None:
        # The audits of a claim are replaced as a whole: mixed with published ones, a claim
        # would be judged on two versions of its code.
        audits |= read_audits(Path(reports) / "index.json")
    return Ledger(PAPERS.all().values(), audits, load_published_figures())


def make_installed_cards() -> Cards:
    """Return the cards to which rows of a ledger may refer."""
    return Cards(claims=CLAIMS.all(), figures=FIGURES.all())
