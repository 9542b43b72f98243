"""Sizes of the data in the experiments on ADMM sharing."""

from __future__ import annotations

from dpaudit.extension.ledger import Finding

CENSUS = (66, 57)  # features of a9a, by party
WIDE = (2000, 2000, 1000)  # of gisette


def splits() -> tuple[Finding, ...]:
    """Prove that the parties' features add up: 66 + 57 = 123, 2000 + 2000 + 1000 = 5000."""
    return (
        Finding(left=sum(CENSUS), relation="=", right=123, instance="features of a9a"),
        Finding(left=sum(WIDE), relation="=", right=5000, instance="features of gisette"),
    )


def features() -> tuple[Finding, ...]:
    """Prove that gisette has the more features: 123 < 5000."""
    return (Finding(left=sum(CENSUS), relation="<", right=sum(WIDE), instance="a9a and gisette"),)
