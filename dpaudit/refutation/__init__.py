"""Search for instances that break a claimed bound, make them small, and write certificates."""

from dpaudit.refutation.certificate import Certificate, certificates_text, write_certificates
from dpaudit.refutation.inequality import Condition, Evidence, Inequality, Refutable, exceeds
from dpaudit.refutation.search import Found, Space, maximise
from dpaudit.refutation.searched import Attained, certified, searched
from dpaudit.refutation.shrinking import minimal

__all__ = [
    "Attained",
    "Certificate",
    "Condition",
    "Evidence",
    "Found",
    "Inequality",
    "Refutable",
    "Space",
    "certificates_text",
    "certified",
    "exceeds",
    "maximise",
    "minimal",
    "searched",
    "write_certificates",
]
