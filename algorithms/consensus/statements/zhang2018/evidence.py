"""References to the checks beside these rows."""

from __future__ import annotations

from dpaudit.extension.ledger import CounterexampleEvidence, ProofEvidence

_CHECKS = "dpaudit.algorithms.consensus.statements.checks"


def make_zhang2018_proof(check: str) -> ProofEvidence:
    """Return a proof: ``module:function`` among the checks."""
    return ProofEvidence(f"{_CHECKS}.{check}")


def make_zhang2018_counterexample(check: str) -> CounterexampleEvidence:
    """Return a counterexample: ``module:function`` among the checks."""
    return CounterexampleEvidence(f"{_CHECKS}.{check}")


def make_repair_reference(check: str) -> str:
    """Return the reference of the proof of a repair."""
    return f"{_CHECKS}.{check}"
