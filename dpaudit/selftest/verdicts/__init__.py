"""Verdicts of whole audits, on mechanisms whose outputs alone do not tell the truth."""
