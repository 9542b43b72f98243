"""The command line, as its own tests call it."""

from tests.cli.conftest import dpaudit

__all__ = ["dpaudit"]
