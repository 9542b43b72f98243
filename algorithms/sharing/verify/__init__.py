"""Verifiers of certificates against the claims about ADMM sharing; they share nothing with the search."""
