"""Every statement of Huang & Gong, 2020."""

from __future__ import annotations

from dpaudit.extension.ledger import Paper

PAPER = Paper(
    name="huang2020",
    title="Multi-step DP-ADMM",
    citation="Huang & Gong, 2020",
    causes=(),
    rows=(),
)
