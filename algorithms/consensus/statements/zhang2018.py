"""Every statement of Zhang, Khalili & Liu, ICML 2018."""

from __future__ import annotations

from dpaudit.extension.ledger import Paper

PAPER = Paper(
    name="zhang2018",
    title="ADMM with penalty perturbation",
    citation="Zhang, Khalili & Liu, ICML 2018",
    causes=(),
    rows=(),
)
