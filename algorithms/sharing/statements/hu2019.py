"""Every statement of Hu et al., Learning Privately over Distributed Features, arXiv 2019."""

from __future__ import annotations

from dpaudit.extension.ledger import Paper

PAPER = Paper(
    name="hu2019",
    title="Learning Privately over Distributed Features: An ADMM Sharing Approach",
    citation="Hu et al., Learning Privately over Distributed Features, arXiv 2019",
    causes=(),
    rows=(),
)
