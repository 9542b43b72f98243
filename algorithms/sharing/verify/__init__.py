"""Verifiers of certificates about ADMM sharing; they share nothing with the search."""
