"""Verifiers of certificates against the claims about joined tables; they share nothing with the search."""
