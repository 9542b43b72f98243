"""Every statement of Zhang, Khalili & Liu, ICML 2018, in the order of its text."""

from __future__ import annotations

from dpaudit.algorithms.consensus.statements.zhang2018 import (
    causes,
    convergence,
    convergence_proofs,
    discussion,
    preliminaries,
    privacy,
    privacy_proofs,
    simplification,
)
from dpaudit.extension.ledger import Paper

PAPER = Paper(
    name="zhang2018",
    title="ADMM with penalty perturbation",
    citation="Zhang, Khalili & Liu, ICML 2018",
    causes=causes.CAUSES,
    rows=(
        *preliminaries.ROWS,
        *convergence.ROWS,
        *privacy.ROWS,
        *discussion.ROWS,
        *simplification.ROWS,
        *convergence_proofs.ROWS,
        *privacy_proofs.ROWS,
    ),
)
