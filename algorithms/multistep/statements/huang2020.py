"""Every statement of Huang & Gong, 2020."""

from __future__ import annotations

from dpaudit.algorithms.multistep.statements import algorithm, appendix, introduction, utility
from dpaudit.algorithms.multistep.statements.causes import CAUSES
from dpaudit.extension.ledger import Paper

PAPER = Paper(
    name="huang2020",
    title="Multi-step DP-ADMM",
    citation="Huang & Gong, 2020",
    causes=CAUSES,
    rows=(*introduction.ROWS, *algorithm.ROWS, *utility.ROWS, *appendix.ROWS),
)
