"""References to the checks of this paper."""

from __future__ import annotations

from dpaudit.extension.ledger import CounterexampleEvidence, ProofEvidence

_CHECKS = "dpaudit.algorithms.sharing.statements.hu2019.checks"


def make_check_reference(check: str) -> str:
    """Return the full reference to a check: ``lemmas:slope_is_dual`` is in this paper's folder."""
    return f"{_CHECKS}.{check}"


def make_hu2019_proof(check: str) -> ProofEvidence:
    """Return a reference to a proof.

    Parameters
    ----------
    check
        Its module and function: ``lemmas:slope_is_dual``.

    Examples
    --------
    >>> make_hu2019_proof("lemmas:slope_is_dual").check.endswith(
    ...     "hu2019.checks.lemmas:slope_is_dual"
    ... )
    True
    """
    return ProofEvidence(make_check_reference(check))


def make_hu2019_counterexample(check: str) -> CounterexampleEvidence:
    """Return a reference to a counterexample, likewise."""
    return CounterexampleEvidence(make_check_reference(check))
