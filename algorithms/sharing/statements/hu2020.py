"""Every statement of Hu et al., NeurIPS 2020."""

from __future__ import annotations

from dpaudit.extension.ledger import Paper

PAPER = Paper(
    name="hu2020",
    title="ADMM sharing over vertically split features",
    citation="Hu et al., NeurIPS 2020",
    causes=(),
    rows=(),
)
