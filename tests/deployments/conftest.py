"""The command line in this process."""

from tests.cli.conftest import dpaudit

__all__ = ["dpaudit"]
