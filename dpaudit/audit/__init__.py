"""From a claim or a case to a result: the pipelines, and the one significance budget."""

from dpaudit.audit.run import audit_case, audit_claim

__all__ = ["audit_case", "audit_claim"]
