"""``dpaudit verify``: re-checks certificates with code that shares nothing with what wrote them."""

from dpaudit.verify.document import Document, read
from dpaudit.verify.judge import Verdict, verify
from dpaudit.verify.outcome import Outcome

__all__ = ["Document", "Outcome", "Verdict", "read", "verify"]
