"""Verifiers of certificates against the claims; they share nothing with the search."""
