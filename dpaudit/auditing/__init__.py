"""From a claim or a case to a result: the pipelines, and the one significance budget."""

from dpaudit.auditing.audit_outcome import AuditOutcome
from dpaudit.auditing.run import audit_case, audit_claim, run_case, run_claim

__all__ = ["AuditOutcome", "audit_case", "audit_claim", "run_case", "run_claim"]
