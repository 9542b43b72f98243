"""``dpaudit verify``: re-checks certificates with code that shares nothing with what wrote them."""

from dpaudit.verify.document import Document, read
from dpaudit.verify.judge import Outcome, Verdict, verify

__all__ = ["Document", "Outcome", "Verdict", "read", "verify"]
