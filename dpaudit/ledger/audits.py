"""Published audits, as the index of a folder of reports lists them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from dpaudit.errors import DataError
from dpaudit.formats import read_json
from dpaudit.verdicts import Verdict

Audits = Mapping[str, Sequence["PublishedAudit"]]


@dataclass(frozen=True, kw_only=True)
class PublishedAudit:
    """One audit of a claim: its verdict and its three numbers.

    Parameters
    ----------
    claim, label
        The claim, and the claim with the name of the variant.
    verdict
        As its report gives it.
    standing
        ``claim`` where the claim was audited as its source prints it.
    claimed, proved, lower
        The numbers, None where there is none.
    unit
        What they measure.
    report
        Its page, below the folder of reports.
    variant
        Its name; None with default settings.
    """

    claim: str
    label: str
    verdict: Verdict
    standing: Literal["claim", "variant", "question"]
    claimed: float | None
    proved: float | None
    lower: float | None
    unit: str
    report: str
    variant: str | None = None


def load_published_audits() -> Audits:
    """Return the audits that the project publishes, by claim.

    Examples
    --------
    >>> {audit.standing for audit in load_published_audits()["huang2020-lemma5"]}
    {'claim'}
    """
    return read_audits(Path(str(files("dpaudit.ledger").joinpath("published.json"))))


def read_audits(path: Path) -> Audits:
    """Return the audits that an ``index.json`` lists, by claim.

    Raises
    ------
    DataError
        The file cannot be read, or is no index.
    """
    content = read_json(path, "index")
    entries = content.get("audits") if isinstance(content, dict) else content
    try:
        return group_audits(map(_read_entry, _with_verdict(entries)))
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path}: not the index of a folder of reports") from None


def group_audits(audits: Iterable[PublishedAudit]) -> dict[str, list[PublishedAudit]]:
    """Return audits by their claim, each in the order that is given."""
    found = defaultdict[str, list[PublishedAudit]](list)
    for audit in audits:
        found[audit.claim].append(audit)
    return dict(found)


def _with_verdict(entries: Any) -> Iterable[Mapping[str, Any]]:
    # An audit that failed stands in the index without a verdict, and is no evidence either way.
    return [entry for entry in entries if entry["verdict"] is not None]


def _read_entry(entry: Mapping[str, Any]) -> PublishedAudit:
    return PublishedAudit(
        claim=entry["claim"],
        label=entry["label"],
        variant=entry["variant"],
        verdict=entry["verdict"],
        standing=entry["standing"],
        claimed=_read_number(entry["claimed"]),
        proved=_read_number(entry["proved"]),
        lower=_read_number(entry["lower"]),
        unit=entry["unit"],
        report=entry["report"],
    )


def _read_number(value: float | str | None) -> float | None:
    infinite = {"Infinity": math.inf, "-Infinity": -math.inf}
    return infinite[value] if isinstance(value, str) else value
