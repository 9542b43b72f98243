"""Verdicts of whole audits, on mechanisms of which outputs alone do not tell what is true."""
