"""Search for instances that break a claimed bound, make them small, and write certificates."""

from dpaudit.refutation.certificate import Certificate, certificates_text, write_certificates
from dpaudit.refutation.inequality import Condition, Inequality, Refutable, exceeds
from dpaudit.refutation.search import Found, Space, maximise
from dpaudit.refutation.shrinking import minimal

__all__ = [
    "Certificate",
    "Condition",
    "Found",
    "Inequality",
    "Refutable",
    "Space",
    "certificates_text",
    "exceeds",
    "maximise",
    "minimal",
    "write_certificates",
]
