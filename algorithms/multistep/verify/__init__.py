"""Verifiers of certificates against the claims about multi-step DP-ADMM; they share nothing with the search."""
