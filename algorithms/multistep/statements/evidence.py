"""Evidence of this paper's rows: references to the checks beside them."""

from __future__ import annotations

from dpaudit.extension.ledger import CounterexampleEvidence, ProofEvidence

CHECKS = "dpaudit.algorithms.multistep.statements.checks."


def make_multistep_proof(check: str) -> ProofEvidence:
    """Return that a check proves it: ``module:function``."""
    return ProofEvidence(CHECKS + check)


def make_multistep_counterexample(check: str) -> CounterexampleEvidence:
    """Return that a check refutes it: ``module:function``."""
    return CounterexampleEvidence(CHECKS + check)
