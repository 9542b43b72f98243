"""The command line. Commands import what they need when they run: help and lists stay quick."""

from dpaudit.cli import attacks, audits, browsing, proofs, selftests
from dpaudit.cli.main import main
from dpaudit.cli.options import app

__all__ = ["app", "attacks", "audits", "browsing", "main", "proofs", "selftests"]
