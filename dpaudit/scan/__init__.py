"""Scans of packages: every mechanism that a card names, audited by its own documentation."""
