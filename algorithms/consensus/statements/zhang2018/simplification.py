"""Rows of appendix A: how ADMM is simplified."""

from __future__ import annotations

from dpaudit.algorithms.consensus.statements.zhang2018.evidence import make_zhang2018_proof
from dpaudit.extension.ledger import LedgerRow

ROWS = (
    LedgerRow(
        name="zhang2018-equation27",
        place="appendix A, eq. (27)",
        statement="w_ij(t+1), from the optimality condition of (5).",
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:pair_updates"),
    ),
    LedgerRow(
        name="zhang2018-equation28",
        place="appendix A, eq. (28) and (29)",
        statement=(
            "Both duals move to the same value; from zero they stay equal, and change their sign "
            "with the order of i and j."
        ),
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:pair_updates"),
    ),
    LedgerRow(
        name="zhang2018-equation30",
        place="appendix A, eq. (30) and (31)",
        statement="Then w_ij is the mean of both models, and one dual of a pair is left.",
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:pair_updates"),
    ),
    LedgerRow(
        name="zhang2018-equation32",
        place="appendix A, eq. (32) and (33)",
        statement=(
            "The Lagrangian with these; its second term is 2 sum lambda_ij'f_i, its last ones are "
            "the same."
        ),
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:check_simplified_lagrangian"),
    ),
)
