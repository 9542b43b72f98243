"""Every statement of Hu et al., Learning Privately over Distributed Features, arXiv 2019."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019 import (
    section_1_to_3,
    section_4,
    section_5,
    section_7_1,
    section_7_1_theorem,
    section_7_2,
    section_7_3,
    section_7_4,
)
from dpaudit.algorithms.sharing.statements.hu2019.causes import CAUSES
from dpaudit.extension.ledger import Paper

_SECTIONS = (
    section_1_to_3,
    section_4,
    section_5,
    section_7_1,
    section_7_1_theorem,
    section_7_2,
    section_7_3,
    section_7_4,
)

PAPER = Paper(
    name="hu2019",
    title="Learning Privately over Distributed Features: An ADMM Sharing Approach",
    citation="Hu et al., Learning Privately over Distributed Features, arXiv 2019",
    causes=CAUSES,
    rows=tuple(row for section in _SECTIONS for row in section.ROWS),
)
