"""Search for instances that break a claimed bound, make them small, and write certificates."""

from dpaudit.refutation.certificate import Certificate, certificates_text, write_certificates
from dpaudit.refutation.inequality import Condition, Evidence, Inequality, Sensitivity, exceeds
from dpaudit.refutation.search import BestInstance, Space, maximise
from dpaudit.refutation.shrinking import minimal
from dpaudit.refutation.theorems import (
    bounded_mean,
    clipped_sum,
    gradient_step,
    strongly_convex_minimiser,
)
from dpaudit.refutation.worst_instance import WorstInstance, certified, searched

__all__ = [
    "BestInstance",
    "Certificate",
    "Condition",
    "Evidence",
    "Inequality",
    "Sensitivity",
    "Space",
    "WorstInstance",
    "bounded_mean",
    "certificates_text",
    "certified",
    "clipped_sum",
    "exceeds",
    "gradient_step",
    "maximise",
    "minimal",
    "searched",
    "strongly_convex_minimiser",
    "write_certificates",
]
