"""Verifiers of certificates about consensus ADMM; they share nothing with the search."""
