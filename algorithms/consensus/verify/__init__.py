"""Verifiers of certificates against the claims about consensus ADMM; they share nothing with the search."""
