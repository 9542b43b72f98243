"""``dpaudit verify``: re-checks certificates with code that shares nothing with what wrote them."""

from dpaudit.verification.document import Document, read
from dpaudit.verification.judge import Verdict, verify
from dpaudit.verification.outcome import Outcome

__all__ = ["Document", "Outcome", "Verdict", "read", "verify"]
