"""``dpaudit verify``: re-checks certificates with code that shares nothing with their writer."""

from dpaudit.verification.document import Document, Outcome, Verdict, read
from dpaudit.verification.judge import verify
from dpaudit.verification.redrawn_counts import Reader

__all__ = ["Document", "Outcome", "Reader", "Verdict", "read", "verify"]
