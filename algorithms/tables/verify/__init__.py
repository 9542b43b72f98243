"""Verifiers of certificates about joined tables; they share nothing with the search."""
