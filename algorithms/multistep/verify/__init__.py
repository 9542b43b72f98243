"""Verifiers of certificates about multi-step DP-ADMM; they share nothing with the search."""
