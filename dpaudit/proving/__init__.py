"""Proofs of privacy from a function's own code."""
